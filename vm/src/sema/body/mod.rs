//! Checking of bodies: syntax to typed HIR, one function (with the closures in it), initializer or constructor at a time.
//!
//! In: a declaration whose signature is known. Out: its [`hir::Body`], with every type decided. Types flow both ways: an expression is checked with a [`Want`], and what
//! comes out is made to fit by `coerce`, the one place where conversions arise. Each expression is checked once, so nesting costs no more than length.
//! Invariant: after each statement the inference variables made in it are decided, or reported and bound to `Error`.

mod calls;
mod coerce;
mod control;
mod exprs;
mod functions;
mod lambdas;
mod locals;
mod members;
mod narrow;
mod operators;
mod patterns;
mod stmts;

use super::assigned::Assigned;
use super::decls::{Checker, Owner, TyScope};
use super::flow::{State, VarId};
use super::hir::{self, Capture, ClassId, LocalId};
use super::infer::{Infer, Relate};
use super::types::{InferVar, Ty, TyKind, TypeParamId};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use rustc_hash::FxHashMap;
use std::ops::{Deref, DerefMut};

/// What the place of an expression wants of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Want {
    /// A value of any type.
    Any,
    /// A value that will be made to fit this type (which may contain undecided variables).
    Type(Ty),
    /// Nothing: the value is dropped.
    Unused,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VarKind {
    Let,
    Var,
    /// Named by a pattern.
    Bound,
    Param,
    Loop,
    This,
}

pub struct Var<'a> {
    name: &'a str,
    span: Span,
    ty: Ty,
    kind: VarKind,
    /// Index of the frame that declares it.
    frame: usize,
    local: LocalId,
    scope: u32,
}

/// What `return` means in a frame.
#[derive(Clone, Debug)]
pub enum Ret {
    Known(Ty),
    /// A closure without a known result: types of what it returns.
    Collect(Vec<(Ty, Span)>),
    /// An expression body whose result is being inferred.
    Inferring,
    /// Not in a function.
    None,
}

/// A type that has none in common with those before it.
struct Clash {
    joined: Ty,
    ty: Ty,
    span: Span,
}

/// A loop that is open.
pub struct Loop {
    /// States at its `break`s.
    breaks: State,
}

/// The function, or a closure in it.
pub struct Frame {
    locals: Vec<hir::Local>,
    captures: Vec<Capture>,
    captured: FxHashMap<VarId, LocalId>,
    ret: Ret,
    /// Type for the values returned, where it is being collected.
    ret_ty: Ty,
    loops: Vec<Loop>,
    /// The loops that run again what is being checked, outermost first: also one whose condition that is, in which `break` does not mean it.
    repeating: Vec<Span>,
    /// For each open `finally`: how many loops were open around it.
    finally: Vec<usize>,
    /// For each open `try` or `catch` with a `finally` behind it: how many loops were open around it, and that `finally`.
    guarded: Vec<(usize, Span)>,
    /// Position at which a closure starts.
    start: u32,
    /// Starts of the loops around a closure, in the frames outside, outermost first.
    outer_loops: Vec<u32>,
}

/// Type arguments whose bounds are checked once they are decided.
struct PendingBounds {
    params: Vec<TypeParamId>,
    args: Vec<Ty>,
    /// The class whose method it is, with its arguments.
    class: Option<(ClassId, Box<[Ty]>)>,
    span: Span,
    what: String,
}

/// How deep expressions may nest, counted over all bodies that are being checked (a result type that is inferred starts another body).
const MAX_DEPTH: u32 = 2000;

pub struct Body<'c, 'a> {
    ck: &'c mut Checker<'a>,
    infer: Infer,
    ty_scope: TyScope<'a>,
    owner: Owner,
    vars: Vec<Var<'a>>,
    names: FxHashMap<&'a str, VarId>,
    undo: Vec<(&'a str, Option<VarId>)>,
    scope: u32,
    scopes_made: u32,
    frames: Vec<Frame>,
    state: State,
    this: Option<VarId>,
    /// In the arguments of the base class: there is no `this` yet.
    before_this: bool,
    assigned: Assigned,
    pending: Vec<PendingBounds>,
    /// Element types of arrays of zeros, and where to complain about them.
    pending_zeros: Vec<(Ty, Span)>,
}

impl<'a> Deref for Body<'_, 'a> {
    type Target = Checker<'a>;

    fn deref(&self) -> &Checker<'a> {
        self.ck
    }
}

impl DerefMut for Body<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.ck
    }
}

pub(super) fn expr(kind: hir::ExprKind, ty: Ty, span: Span) -> hir::Expr {
    hir::Expr { kind, ty, span, at: span.lo }
}

/// Of a member.
pub(super) fn member_expr(kind: hir::ExprKind, ty: Ty, span: Span, name: Span) -> hir::Expr {
    hir::Expr { kind, ty, span, at: name.lo }
}

/// What stands for an expression that was reported.
pub(super) fn error_expr(span: Span) -> hir::Expr {
    expr(hir::ExprKind::Unit, Ty::ERROR, span)
}

pub(super) fn unit_expr(span: Span) -> hir::Expr {
    expr(hir::ExprKind::Unit, Ty::UNIT, span)
}

pub(super) fn stmt(kind: hir::StmtKind, span: Span) -> hir::Stmt {
    hir::Stmt { kind, span }
}

impl<'c, 'a> Body<'c, 'a> {
    pub fn new(ck: &'c mut Checker<'a>, owner: Owner, ty_scope: TyScope<'a>, ret: Ret) -> Self {
        let ret_ty = if let Ret::Known(ty) = ret { ty } else { Ty::ERROR };
        Body {
            ck,
            infer: Infer::default(),
            ty_scope,
            owner,
            vars: Vec::new(),
            names: FxHashMap::default(),
            undo: Vec::new(),
            scope: 0,
            scopes_made: 0,
            frames: vec![Frame::new(ret, ret_ty, 0, Vec::new())],
            state: State::default(),
            this: None,
            before_this: false,
            assigned: Assigned::default(),
            pending: Vec::new(),
            pending_zeros: Vec::new(),
        }
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a body has a frame until it is finished")
    }

    fn library(&self) -> bool {
        self.ty_scope.library
    }

    // Types.

    fn shallow(&mut self, ty: Ty) -> Ty {
        self.infer.shallow(&mut self.ck.types, ty)
    }

    fn resolved(&mut self, ty: Ty) -> Ty {
        self.infer.resolve(&mut self.ck.types, ty)
    }

    fn kind_of(&mut self, ty: Ty) -> TyKind {
        let ty = self.shallow(ty);
        self.ck.types.kind(ty).clone()
    }

    fn relate(&mut self) -> Relate<'_, '_, 'a> {
        Relate::new(self.ck, &mut self.infer)
    }

    fn fresh(&mut self, span: Span, what: impl Into<String>) -> Ty {
        self.infer.fresh(&mut self.ck.types, span, Some(what.into()))
    }

    fn show_ty(&mut self, ty: Ty) -> String {
        let ty = self.resolved(ty);
        self.ck.show(ty)
    }

    /// The undecided variable that the type is, if it is one.
    fn bare_infer(&mut self, ty: Ty) -> Option<InferVar> {
        match self.kind_of(ty) {
            TyKind::Infer(v) => Some(v),
            _ => None,
        }
    }

    /// `T` of a `T?`.
    fn non_null(&mut self, ty: Ty) -> Option<Ty> {
        match self.kind_of(ty) {
            TyKind::Nullable(t) => Some(self.shallow(t)),
            _ => None,
        }
    }

    /// What a value is that is not null, of a type that has null: one that is written so, and a type parameter that may stand for such a one.
    fn without_null(&mut self, ty: Ty) -> Option<Ty> {
        let shallow = self.shallow(ty);
        match self.kind_of(shallow) {
            TyKind::Param(param) if self.type_params[param.0 as usize].bounds.is_empty() => Some(shallow),
            _ => self.non_null(shallow),
        }
    }

    /// The type to which both are assignable, where it is one of them (or its nullable).
    fn join_types(&mut self, a: Ty, b: Ty) -> Option<Ty> {
        let (a, b) = (self.shallow(a), self.shallow(b));
        match (a, b) {
            _ if a == b => return Some(a),
            (Ty::NEVER, t) | (t, Ty::NEVER) => return Some(t),
            (Ty::ERROR, _) | (_, Ty::ERROR) => return Some(Ty::ERROR),
            (Ty::NULL, t) | (t, Ty::NULL) => return Some(self.types.nullable(t)),
            _ => {}
        }
        let (x, y) = (self.non_null(a), self.non_null(b));
        let (s, t) = (x.unwrap_or(a), y.unwrap_or(b));
        let wider = if self.relate().assign(t, s) {
            s
        } else if self.relate().assign(s, t) {
            t
        } else {
            return None;
        };
        Some(if x.is_some() || y.is_some() { self.types.nullable(wider) } else { wider })
    }

    /// The type to which all are assignable, where it is one of them (or its nullable), in whatever order they come.
    fn join_all(&mut self, items: &[(Ty, Span)]) -> Result<Ty, Clash> {
        // What is undecided takes the type of the others, and not that of whichever comes next to it.
        let (open, mut items): (Vec<_>, Vec<_>) = items.iter().partition(|item| {
            let inner = self.non_null(item.0).unwrap_or(item.0);
            self.bare_infer(inner).is_some()
        });
        items.extend(open);
        let before = self.infer.snapshot();
        if let Ok(joined) = self.join_onto(Ty::NEVER, &items) {
            return Ok(joined);
        }
        // Two that clash may both be below a later one, which then prevails over all that follow.
        self.infer.undo_to(before);
        let widest = items.iter().fold(Ty::NEVER, |widest, &(ty, _)| self.join_types(widest, ty).unwrap_or(ty));
        self.infer.undo_to(before);
        if let Ok(joined) = self.join_onto(widest, &items) {
            return Ok(joined);
        }
        self.infer.undo_to(before);
        self.join_onto(Ty::NEVER, &items)
    }

    fn join_onto(&mut self, start: Ty, items: &[(Ty, Span)]) -> Result<Ty, Clash> {
        items.iter().try_fold(start, |joined, &(ty, span)| self.join_types(joined, ty).ok_or(Clash { joined, ty, span }))
    }

    fn join_states(&mut self, a: State, b: State) -> State {
        a.join(b, |x, y| self.join_types(x, y))
    }

    // Inference at the ends of statements.

    /// Decides what was made since `mark`: reports variables that nothing bound, then checks what waited for their types.
    fn settle(&mut self, mark: usize) {
        for var in self.infer.undecided_since(mark) {
            let origin = self.infer.origin(var).clone();
            let Some(what) = origin.what else {
                let object = self.object_ty();
                self.infer.bind(var, object);
                continue;
            };
            let problem = Diagnostic::new(Code::CannotInfer, origin.span, format!("the {what} cannot be inferred"));
            let hint = if what.starts_with("type argument") { "write the type arguments: `name<…>(…)`" } else { "write its type" };
            self.report(problem.hint(hint));
            self.infer.bind(var, Ty::ERROR);
        }
        let mut later = Vec::new();
        for mut pending in std::mem::take(&mut self.pending) {
            for i in 0..pending.args.len() {
                pending.args[i] = self.resolved(pending.args[i]);
            }
            if pending.args.iter().any(|&a| self.types.has_infer(a)) {
                later.push(pending);
                continue;
            }
            let class = pending.class.map(|(c, args)| (self.class(c).type_params.clone(), args));
            let class = class.map(|(params, args)| (params, args.iter().map(|&a| self.resolved(a)).collect::<Vec<_>>()));
            let outer = class.as_ref().map(|(params, args)| (&params[..], &args[..]));
            self.ck.check_bounds(&pending.params, &pending.args, outer, pending.span, &pending.what);
        }
        self.pending = later;
        for (element, span) in std::mem::take(&mut self.pending_zeros) {
            self.expect_zero(element, span);
        }
        if !self.written.is_empty() {
            self.ck.check_written_types();
        }
    }

    /// Counts a level of nesting; false where there are too many (reported).
    fn enter(&mut self, span: Span) -> bool {
        self.ck.depth += 1;
        if self.ck.depth > MAX_DEPTH {
            let problem = Diagnostic::new(Code::TooDeep, span, "expressions are nested too deeply here");
            self.report(problem.hint("break it up, or write the result types of the functions that call each other"));
            return false;
        }
        true
    }

    fn leave(&mut self) {
        self.ck.depth -= 1;
    }
}

impl Frame {
    fn new(ret: Ret, ret_ty: Ty, start: u32, outer_loops: Vec<u32>) -> Self {
        Frame {
            locals: Vec::new(),
            captures: Vec::new(),
            captured: FxHashMap::default(),
            ret,
            ret_ty,
            loops: Vec::new(),
            repeating: Vec::new(),
            finally: Vec::new(),
            guarded: Vec::new(),
            start,
            outer_loops,
        }
    }
}
