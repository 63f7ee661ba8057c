//! Making values fit their places: conversions, joins of branches, and the messages where nothing fits.

use super::{Body, Want, expr, unit_expr};
use crate::diag::{Code, Diagnostic};
use crate::sema::hir::{self, ClassId, ClassKind, ExprKind};
use crate::sema::show::article;
use crate::sema::types::{Ty, TyKind};
use crate::source::Span;
use crate::syntax::ast;

/// A block with what the checker found out about it.
pub struct Branch {
    pub block: hir::Block,
    pub ty: Ty,
    /// Where to complain about its value.
    pub span: Span,
}

impl<'a> Body<'_, 'a> {
    /// Checks an expression and makes it fit.
    pub fn value(&mut self, e: &'a ast::Expr, to: Ty) -> hir::Expr {
        let found = self.expr(e, Want::Type(to));
        self.coerce(found, to)
    }

    /// Converts to `to`, or reports that it cannot be done.
    pub fn coerce(&mut self, e: hir::Expr, to: Ty) -> hir::Expr {
        let (from, to) = (self.shallow(e.ty), self.shallow(to));
        if from == to || from == Ty::NEVER {
            return e;
        }
        if from == Ty::ERROR || to == Ty::ERROR {
            self.relate().unify(from, to);
            return e;
        }
        if from == Ty::NULL && self.bare_infer(to).is_some() {
            let inner = self.infer.fresh(&mut self.ck.types, e.span, None);
            let nullable = self.types.nullable(inner);
            self.relate().unify(to, nullable);
            return self.convert(e, nullable);
        }
        if !self.relate().assign(from, to) {
            if let Some(declared) = self.as_declared(&e)
                && self.relate().assign(declared.ty, to)
            {
                return self.coerce(declared, to);
            }
            self.mismatch(&e, from, to);
            // What it would have told is not asked for as well.
            self.relate().give_up(to);
            return super::error_expr(e.span);
        }
        self.convert(e, to)
    }

    /// Wraps in a conversion, unless there is nothing to convert.
    fn convert(&mut self, mut e: hir::Expr, to: Ty) -> hir::Expr {
        let span = e.span;
        if let ExprKind::Null = e.kind {
            e.ty = to;
            return e;
        }
        // A narrowed read that becomes wide again is a plain read.
        if let ExprKind::Convert(inner) = &mut e.kind
            && inner.ty == to
            && matches!(inner.kind, ExprKind::Local(_))
        {
            let local = std::mem::replace(&mut inner.kind, ExprKind::Unit);
            return expr(local, to, span);
        }
        expr(ExprKind::Convert(Box::new(e)), to, span)
    }

    /// A `null` literal in a place that takes any type.
    pub fn plain_null(&mut self, e: hir::Expr) -> hir::Expr {
        if self.shallow(e.ty) != Ty::NULL {
            return e;
        }
        let object = self.object_ty();
        let object = self.types.nullable(object);
        self.convert(e, object)
    }

    pub fn coerce_block(&mut self, block: &mut hir::Block, to: Ty) {
        if let Some(value) = block.value.take() {
            block.value = Some(Box::new(self.coerce(*value, to)));
        }
    }

    fn mismatch(&mut self, e: &hir::Expr, from: Ty, to: Ty) {
        let (shown, wanted) = (self.show_ty(from), self.show_ty(to));
        if from == Ty::UNIT {
            let problem = Diagnostic::new(
                Code::UnitValue,
                e.span,
                format!("this gives no value, and {a_wanted} is needed", a_wanted = article(&wanted)),
            );
            return self.report(problem);
        }
        if let Some(inner) = self.non_null(from)
            && self.relate().assign(inner, to)
        {
            let problem = Diagnostic::new(
                Code::MaybeNull,
                e.span,
                format!(
                    "this is {a_shown}, which may be null, and {a_wanted} is needed",
                    a_shown = article(&shown),
                    a_wanted = article(&wanted)
                ),
            );
            let test = self.null_test_hint(e);
            return self.report(problem.hint(format!("{test}, give another value by `?: …`, or insist with `!!`")));
        }
        if from == Ty::NULL {
            return self.error(Code::MaybeNull, e.span, format!("null is no `{wanted}`"));
        }
        let hint = self.conversion_hint(e, from, to);
        let problem = Diagnostic::new(
            Code::TypeMismatch,
            e.span,
            format!("this is {a_shown}, and {a_wanted} is needed", a_shown = article(&shown), a_wanted = article(&wanted)),
        );
        self.report(problem.maybe_hint(hint));
    }

    /// How to get from one type to another by hand.
    pub fn conversion_hint(&mut self, e: &hir::Expr, from: Ty, to: Ty) -> Option<String> {
        let str = self.str_ty();
        let target = self.non_null(to).unwrap_or(to);
        match (from, target) {
            (Ty::INT, Ty::FLOAT) => Some(match e.kind {
                ExprKind::Int(n) => format!("write `{n}.0`"),
                _ => format!("write `.toFloat()` after it{}", in_parentheses(e)),
            }),
            (Ty::FLOAT, Ty::INT) => {
                Some(format!("write `.toInt()` after it{} (it truncates), or use `Math.round`, `Math.floor` first", in_parentheses(e)))
            }
            (Ty::BOOL, Ty::INT) => Some("write `if … { 1 } else { 0 }`".to_string()),
            (Ty::INT, Ty::BOOL) => Some("compare it: `… != 0`".to_string()),
            (_, t) if t == str => Some("write it as text: `\"${…}\"`".to_string()),
            (f, Ty::INT) if f == str => Some("read a number out of it with `parseInt(…)`".to_string()),
            (f, Ty::FLOAT) if f == str => Some("read a number out of it with `parseFloat(…)`".to_string()),
            _ => self.invariance_hint(from, target),
        }
    }

    fn invariance_hint(&mut self, from: Ty, to: Ty) -> Option<String> {
        let (TyKind::Class(c, _), TyKind::Class(d, _)) = (self.kind_of(from), self.kind_of(to)) else { return None };
        let name = &self.class(c).name.text;
        (c == d).then(|| {
            format!(
                "type arguments must be the same: {a_name} of one type is no `{name}` of another, even of a supertype",
                a_name = article(name)
            )
        })
    }

    /// Gives all branches one type and returns it: the wanted one, or the widest of theirs. `Never` where none of them ends.
    pub fn unite(&mut self, branches: &mut [Branch], want: Want, what: &str) -> Ty {
        let to = match want {
            Want::Unused => return if branches.iter().all(|b| b.ty == Ty::NEVER) { Ty::NEVER } else { Ty::UNIT },
            Want::Type(t) if self.bare_infer(t).is_none() => Some(t),
            _ => None,
        };
        if branches.iter().all(|b| self.shallow(b.ty) == Ty::NEVER) {
            return Ty::NEVER;
        }
        let to = match to {
            Some(to) => to,
            None => match self.join_branches(branches, what) {
                Some(to) => to,
                None => return Ty::ERROR,
            },
        };
        for branch in branches {
            self.coerce_block(&mut branch.block, to);
        }
        to
    }

    fn join_branches(&mut self, branches: &[Branch], what: &str) -> Option<Ty> {
        let types: Vec<_> = branches.iter().map(|branch| (branch.ty, branch.span)).collect();
        let clash = match self.join_all(&types) {
            Ok(joined) => return Some(joined),
            Err(clash) => clash,
        };
        let (a, b) = (self.show_ty(clash.joined), self.show_ty(clash.ty));
        let message = format!("the branches of this `{what}` have no common type: `{a}` and `{b}`");
        let hint = match (clash.joined, clash.ty) {
            (Ty::INT, Ty::FLOAT) | (Ty::FLOAT, Ty::INT) => "write the whole number with a point, or convert it with `.toFloat()`",
            _ => "say which type is meant: `let name: Type = …`",
        };
        self.report(Diagnostic::new(Code::TypeMismatch, clash.span, message).hint(hint));
        None
    }

    /// A block whose only content is one expression.
    pub fn expr_block(&mut self, e: hir::Expr, want: Want) -> (hir::Block, Ty) {
        let ty = self.shallow(e.ty);
        let span = e.span;
        if want == Want::Unused || ty == Ty::NEVER {
            let ty = if self.state.dead { Ty::NEVER } else { Ty::UNIT };
            return (hir::Block { stmts: vec![super::stmt(hir::StmtKind::Expr(e), span)], value: None }, ty);
        }
        (hir::Block { stmts: Vec::new(), value: Some(Box::new(e)) }, ty)
    }

    /// The value of a block that ends in a statement.
    pub fn no_value(&mut self, span: Span) -> (Option<Box<hir::Expr>>, Ty) {
        if self.state.dead { (None, Ty::NEVER) } else { (Some(Box::new(unit_expr(span))), Ty::UNIT) }
    }

    // Casts and type tests.

    /// Reports a test or cast that can never succeed, or that cannot be done at run time.
    pub fn check_testable(&mut self, from: Ty, to: Ty, span: Span, what: &str) {
        let (from, to) = (self.resolved(from), self.resolved(to));
        let (s, t) = (self.non_null(from).unwrap_or(from), self.non_null(to).unwrap_or(to));
        // What no reference can tell is only known when the cast is tried.
        let tried = what != "is" && self.is_reference(s) && self.is_reference(t);
        if tried || self.can_be(s, t) || (from == Ty::NULL && to != t) {
            return;
        }
        let (a, b) = (self.show_ty(from), self.show_ty(to));
        let hint = match (s, t) {
            (Ty::INT, Ty::FLOAT) => Some("numbers are converted, not cast: `.toFloat()`"),
            (Ty::FLOAT, Ty::INT) => Some("numbers are converted, not cast: `.toInt()`"),
            (Ty::INT | Ty::FLOAT | Ty::BOOL, _) => Some("numbers and Bools are no objects"),
            _ => None,
        };
        let problem =
            Diagnostic::new(Code::ImpossibleCast, span, format!("`{what} {b}` can never succeed: the value is {a_a}", a_a = article(&a)));
        self.report(problem.maybe_hint(hint.map(str::to_string)));
    }

    /// Whether a value of type `from` may turn out to be a `to` (neither is nullable).
    pub fn can_be(&mut self, from: Ty, to: Ty) -> bool {
        if from == to || self.types.has_error(from) || self.types.has_error(to) || from == Ty::NEVER {
            return true;
        }
        match (self.kind_of(from), self.kind_of(to)) {
            (TyKind::Param(_), _) | (_, TyKind::Param(_)) | (TyKind::Infer(_), _) => true,
            (TyKind::Class(c, xs), TyKind::Class(d, ys)) if c == d => {
                let open = xs.iter().chain(ys.iter()).any(|&t| self.types.has_param(t));
                open || self.relate().unify(from, to)
            }
            (TyKind::Class(c, _), TyKind::Class(d, _)) => self.may_share(c, d),
            (TyKind::Fun(..), TyKind::Class(d, _)) => d == self.known.object,
            (TyKind::Class(c, _), TyKind::Fun(..)) => c == self.known.object,
            _ => false,
        }
    }

    /// Whether an object may be an instance of both.
    fn may_share(&self, c: ClassId, d: ClassId) -> bool {
        let object = self.known.object;
        let related = c == object || d == object || self.is_subclass(c, d) || self.is_subclass(d, c);
        let open = |id: ClassId| self.class(id).kind == ClassKind::Interface || self.class(id).half_known;
        let closed = self.is_builtin(c) || self.is_builtin(d);
        related || (!closed && (open(c) || open(d)))
    }

    /// Whether `==` may compare the two types, and the type to compare at.
    pub fn common_type(&mut self, a: Ty, b: Ty) -> Option<Ty> {
        if let Some(ty) = self.join_types(a, b) {
            return Some(ty);
        }
        let (x, y) = (self.non_null(a), self.non_null(b));
        let (s, t) = (x.unwrap_or(a), y.unwrap_or(b));
        if !(self.is_reference(s) && self.is_reference(t) && self.can_be(s, t)) {
            return None;
        }
        let object = self.object_ty();
        Some(if x.is_some() || y.is_some() { self.types.nullable(object) } else { object })
    }
}

/// A member binds closer than an operator.
fn in_parentheses(e: &hir::Expr) -> &'static str {
    if matches!(e.kind, ExprKind::Binary { .. } | ExprKind::Unary { .. }) { ", with parentheses around it" } else { "" }
}
