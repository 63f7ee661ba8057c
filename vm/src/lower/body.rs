//! One function's lowering: its locals, the operations it emits, and how control leaves it.
//!
//! In: a HIR body with concrete substitution. Out: the function's blocks.
//! Invariants: operations that may throw are emitted through [`FnLower::op`], so that inside a `try` they unwind to the innermost handler; [`FnLower::op_safe`] is for those that cannot fail where they stand
//! (fields of objects known not to be null).
//! Code that control never reaches is not lowered: whatever ends it gives [`Dead`], which `?` carries out to the next place that control can come to.

use super::functions::Captured;
use super::{Cx, Subst};
use crate::sema::hir::{Block as HirBlock, Body, LocalId};
use crate::sema::types::Ty;
use crate::source::Span;
use jit::ir::builder::{FunctionBuilder, Variable};
use jit::ir::{self, Block, BlockCall, CallSite, CallSiteId, FieldId, FuncId, Loc, Op, Terminator, UnaryOp, Value};
use rustc_hash::FxHashMap;

/// Control does not come past what was just lowered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dead;

pub(super) type Flow<T> = Result<T, Dead>;

/// Where a local lives.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Variable(Variable),
    /// The variable holds the cell; its field the value.
    Cell(Variable, FieldId),
}

/// What surrounds the code being lowered, innermost last.
pub(super) enum Scope {
    Loop {
        on_break: Block,
        on_continue: Block,
    },
    /// Where errors go: a landing block.
    Handler(Block),
    /// A `finally`: every way out goes through `entry`, saying in `way` where to go on.
    Finally {
        entry: Block,
        way: Variable,
        exits: Vec<Exit>,
    },
}

/// A way out of a `try` with `finally` other than its end or an error. Loops are named by their place in the scopes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Break(usize),
    Continue(usize),
    Return,
}

pub(super) struct FnLower<'c, 'a> {
    pub cx: &'c mut Cx<'a>,
    pub b: FunctionBuilder,
    pub func: FuncId,
    body: Option<&'a Body>,
    pub subst: Subst,
    concrete: FxHashMap<Ty, Ty>,
    locals: Vec<Option<Place>>,
    pub scopes: Vec<Scope>,
    pub unwind: Option<Block>,
    /// The function's result type; `Unit` and `Never` return nothing.
    pub ret_ty: Ty,
    /// The result on its way through a `finally`.
    pub ret_var: Option<Variable>,
    pub this: Option<LocalId>,
}

impl<'c, 'a> FnLower<'c, 'a> {
    pub(super) fn new(cx: &'c mut Cx<'a>, func: FuncId, body: Option<&'a Body>, subst: Subst, ret_ty: Ty) -> Self {
        let b = FunctionBuilder::new(cx.module.funcs[func].clone());
        let locals = vec![None; body.map_or(0, |b| b.locals.len())];
        FnLower {
            cx,
            b,
            func,
            body,
            subst,
            concrete: FxHashMap::default(),
            locals,
            scopes: Vec::new(),
            unwind: None,
            ret_ty,
            ret_var: None,
            this: None,
        }
    }

    pub(super) fn finish(self) {
        if self.cx.failure.is_some() {
            return; // There will be no module.
        }
        self.cx.module.funcs[self.func] = self.b.finish();
    }

    // Bodies.

    pub(super) fn function_body(&mut self, body: &'a Body, is_method: bool) {
        self.this = body.params.first().copied().filter(|_| is_method);
        self.bind_params(body, 0);
        self.run_body(body);
    }

    /// Parameter 0 is the closure itself.
    pub(super) fn closure_body(&mut self, body: &'a Body, captures: &[Captured]) {
        let closure = self.param(0);
        for capture in captures {
            let loc = Loc(body.locals[capture.local.index()].span.lo);
            let value = self.op_safe(Op::load_field(capture.field, closure), loc);
            match capture.boxed {
                true => {
                    let ty = self.local_ty(capture.local);
                    let (_, field) = self.cx.cell(ty);
                    let variable = self.b.declare_var(ir::Ty::Ref);
                    self.b.def_var(variable, value);
                    self.locals[capture.local.index()] = Some(Place::Cell(variable, field));
                }
                false => self.bind_plain(capture.local, value),
            }
            if capture.is_this {
                self.this = Some(capture.local);
            }
        }
        self.bind_params(body, 1);
        self.run_body(body);
    }

    pub(super) fn initializer_body(&mut self, body: &'a Body) {
        self.run_body(body);
    }

    fn bind_params(&mut self, body: &'a Body, first: usize) {
        for (i, &local) in body.params.iter().enumerate() {
            let value = self.param(first + i);
            let loc = Loc(body.locals[local.index()].span.lo);
            self.bind(local, value, loc);
        }
    }

    fn run_body(&mut self, body: &'a Body) {
        let end = body.block.value.as_ref().map_or(self.cx.module.funcs[self.func].loc, |e| Loc(e.span.lo));
        let Ok(value) = self.block(&body.block, !self.cx.is_void(self.ret_ty)) else { return };
        self.ret(value, end);
    }

    /// Leaves the function. Without a value in a function that has a result, this place is never reached.
    pub(super) fn ret(&mut self, value: Option<Value>, loc: Loc) {
        match (self.cx.is_void(self.ret_ty), value) {
            (true, _) => self.b.ret(None, loc),
            (false, Some(value)) => self.b.ret(Some(value), loc),
            (false, None) => self.b.unreachable(loc),
        }
    }

    /// Statements, then the value: `Some` where it is wanted and there is one.
    pub(super) fn block(&mut self, block: &'a HirBlock, want: bool) -> Flow<Option<Value>> {
        for stmt in &block.stmts {
            self.stmt(stmt)?;
        }
        match &block.value {
            Some(value) if want => self.expr(value).map(Some),
            Some(value) => self.effect(value).map(|()| None),
            None => Ok(None),
        }
    }

    // Types.

    /// A type of the body with the instance's types for parameters.
    pub(super) fn ty(&mut self, ty: Ty) -> Ty {
        if !self.cx.types.has_param(ty) {
            return ty;
        }
        if let Some(&known) = self.concrete.get(&ty) {
            return known;
        }
        let concrete = self.cx.substitute(&self.subst, ty);
        self.concrete.insert(ty, concrete);
        concrete
    }

    pub(super) fn local_ty(&mut self, local: LocalId) -> Ty {
        let ty = self.body.map_or(Ty::ERROR, |b| b.locals[local.index()].ty);
        self.ty(ty)
    }

    // Locals.

    /// Declares a local and gives it its first value.
    pub(super) fn bind(&mut self, local: LocalId, value: Value, loc: Loc) {
        if !self.body.is_some_and(|b| b.locals[local.index()].boxed) {
            return self.bind_plain(local, value);
        }
        let ty = self.local_ty(local);
        let (class, field) = self.cx.cell(ty);
        let cell = self.value(Op::New(class), loc);
        self.op_safe_effect(Op::store_field(field, cell, value), loc);
        let variable = self.b.declare_var(ir::Ty::Ref);
        self.b.def_var(variable, cell);
        self.locals[local.index()] = Some(Place::Cell(variable, field));
    }

    fn bind_plain(&mut self, local: LocalId, value: Value) {
        let variable = self.b.declare_var(self.b.value_ty(value));
        self.b.def_var(variable, value);
        self.locals[local.index()] = Some(Place::Variable(variable));
    }

    pub(super) fn place(&mut self, local: LocalId) -> Place {
        if let Some(place) = self.locals[local.index()] {
            return place;
        }
        let (span, name) = self.body.map_or((Span::default(), ""), |b| (b.locals[local.index()].span, &*b.locals[local.index()].name));
        self.cx.bug(span, format!("the local {name} is used before it is declared"));
        let ty = self.local_ty(local);
        Place::Variable(self.b.declare_var(self.cx.value_ty(ty)))
    }

    pub(super) fn read_local(&mut self, local: LocalId, loc: Loc) -> Value {
        match self.place(local) {
            Place::Variable(variable) => self.b.use_var(variable),
            Place::Cell(variable, field) => {
                let cell = self.b.use_var(variable);
                self.op_safe(Op::load_field(field, cell), loc)
            }
        }
    }

    pub(super) fn write_local(&mut self, local: LocalId, value: Value, loc: Loc) {
        match self.place(local) {
            Place::Variable(variable) => self.b.def_var(variable, value),
            Place::Cell(variable, field) => {
                let cell = self.b.use_var(variable);
                self.op_safe_effect(Op::store_field(field, cell, value), loc);
            }
        }
    }

    pub(super) fn param(&self, index: usize) -> Value {
        self.b.param(index)
    }

    // Operations.

    /// Emits `op`; inside a handler's reach it unwinds there.
    pub(super) fn op(&mut self, op: Op, loc: Loc) -> Option<Value> {
        if let Op::New(class) | Op::NewArray(class, _) = op {
            self.cx.instantiate(class);
        }
        self.b.emit_guarded(&self.cx.module, op, self.unwind, loc)
    }

    /// As [`Self::op`], for operations with a result.
    pub(super) fn value(&mut self, op: Op, loc: Loc) -> Value {
        let value = self.op(op, loc);
        self.value_or_unit(value, loc)
    }

    /// An operation that cannot fail here, whatever [`Op::may_throw`] says of it in general.
    pub(super) fn op_safe(&mut self, op: Op, loc: Loc) -> Value {
        let value = self.b.emit(&self.cx.module, op, loc);
        self.value_or_unit(value, loc)
    }

    pub(super) fn op_safe_effect(&mut self, op: Op, loc: Loc) {
        self.b.emit(&self.cx.module, op, loc);
    }

    pub(super) fn value_or_unit(&mut self, value: Option<Value>, loc: Loc) -> Value {
        value.unwrap_or_else(|| self.unit(loc))
    }

    pub(super) fn int(&mut self, value: i64, loc: Loc) -> Value {
        self.op_safe(Op::IConst(value), loc)
    }

    pub(super) fn bool(&mut self, value: bool, loc: Loc) -> Value {
        self.op_safe(Op::BConst(value), loc)
    }

    pub(super) fn null(&mut self, loc: Loc) -> Value {
        self.op_safe(Op::Null, loc)
    }

    /// What a field of the type holds before anything is stored.
    pub(super) fn zero(&mut self, ty: Ty, loc: Loc) -> Value {
        match self.cx.value_ty(ty) {
            ir::Ty::Int => self.int(0, loc),
            ir::Ty::Float => self.op_safe(Op::FConst(0), loc),
            ir::Ty::Bool => self.bool(false, loc),
            ir::Ty::Ref => self.null(loc),
        }
    }

    /// The value of type `Unit`.
    pub(super) fn unit(&mut self, loc: Loc) -> Value {
        self.int(0, loc)
    }

    pub(super) fn str(&mut self, text: &'a str, loc: Loc) -> Value {
        let id = self.cx.string(text);
        self.op_safe(Op::StrConst(id), loc)
    }

    pub(super) fn not(&mut self, value: Value, loc: Loc) -> Value {
        self.op_safe(Op::Unary(UnaryOp::BNot, value), loc)
    }

    pub(super) fn is_null(&mut self, value: Value, loc: Loc) -> Value {
        let null = self.null(loc);
        self.op_safe(Op::RefEq(value, null), loc)
    }

    pub(super) fn call_site(&mut self, loc: Loc) -> CallSiteId {
        self.cx.module.call_sites.push(CallSite { caller: self.func, loc })
    }

    // Control.

    /// What was emitted last does not come back.
    pub(super) fn dead<T>(&mut self, loc: Loc) -> Flow<T> {
        self.b.unreachable(loc);
        Err(Dead)
    }

    pub(super) fn jump(&mut self, block: Block, loc: Loc) {
        self.b.jump(block, &[], loc);
    }

    /// Goes on in a block that all edges are known of; [`Dead`] if there are none.
    pub(super) fn enter(&mut self, block: Block) -> Flow<()> {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
        if self.b.is_unreachable() { Err(Dead) } else { Ok(()) }
    }

    /// Throws an error that has its trace, to the innermost handler or out of the function.
    pub(super) fn raise(&mut self, error: Value, loc: Loc) {
        match self.unwind {
            Some(landing) => self.b.terminate(Terminator::Jump(BlockCall { block: landing, args: [error].into_iter().collect() }), loc),
            None => self.b.throw(error, loc),
        }
    }

    /// `cond ? then : els`, where neither arm leaves.
    pub(super) fn choose(
        &mut self,
        cond: Value,
        ty: ir::Ty,
        loc: Loc,
        then: impl FnOnce(&mut Self) -> Value,
        els: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let (then_block, els_block, join) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let result = self.b.append_param(join, ty);
        self.b.branch(cond, then_block, els_block, loc);
        for (block, arm) in [(then_block, Box::new(then) as Box<dyn FnOnce(&mut Self) -> Value + '_>), (els_block, Box::new(els))] {
            self.b.seal_block(block);
            self.b.switch_to_block(block);
            let value = arm(self);
            self.b.jump(join, &[value], loc);
        }
        self.b.seal_block(join);
        self.b.switch_to_block(join);
        result
    }
}
