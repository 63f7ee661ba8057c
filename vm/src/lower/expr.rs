//! Expressions and simple statements.
//!
//! In: HIR expressions. Out: values, operands evaluated from left to right. An expression whose value is not used is lowered for its effects alone ([`FnLower::effect`]): its arms need no common value.

use super::body::{Dead, Exit, Flow, FnLower};
use crate::sema::hir::{BinaryOp, Dispatch, Expr, ExprKind, GlobalId, Stmt, StmtKind, UnaryOp};
use crate::sema::types::{Ty, TyKind};
use jit::ir::{self, BinaryOp as Bin, Builtin, ElemKind, FloatCmp, IntCmp, Loc, Op, UnaryOp as Un, Value};

pub(super) fn loc(expr: &Expr) -> Loc {
    Loc(expr.at)
}

impl<'a> FnLower<'_, 'a> {
    pub(super) fn stmt(&mut self, stmt: &'a Stmt) -> Flow<()> {
        let loc = Loc(stmt.span.lo);
        match &stmt.kind {
            StmtKind::Let { local, init } => {
                let value = self.expr(init)?;
                self.bind(*local, value, loc);
            }
            StmtKind::SetLocal { local, value } => {
                let value = self.expr(value)?;
                self.write_local(*local, value, loc);
            }
            StmtKind::SetGlobal { global, value } => {
                let value = self.expr(value)?;
                let global = self.cx.global(*global);
                self.op(Op::StoreGlobal(global, value), loc);
            }
            StmtKind::SetField { object, class, field, value } => {
                let owner = self.ty(object.ty);
                let safe = self.never_null(object);
                let object = self.expr(object)?;
                let value = self.expr(value)?;
                let Some(field) = self.cx.field(owner, *class, *field) else { return self.no_field(stmt.span) };
                match safe {
                    true => self.op_safe_effect(Op::store_field(field, object, value), loc),
                    false => _ = self.op(Op::store_field(field, object, value), loc),
                }
            }
            StmtKind::SetIndex { object, index, value } => {
                let kind = self.elem_kind(object.ty);
                let array = self.expr(object)?;
                let index = self.expr(index)?;
                let value = self.expr(value)?;
                let index = self.value(Op::CheckBounds(array, index), loc);
                self.op(Op::store_elem(kind, array, index, value), loc);
            }
            StmtKind::Expr(expr) => self.effect(expr)?,
            StmtKind::While { cond, body } => self.while_loop(cond, body, loc)?,
            StmtKind::ForRange { .. } => self.for_range(stmt)?,
            StmtKind::ForArray { local, array, body } => self.for_array(*local, array, body, loc)?,
            StmtKind::Lock { mutex, body } => self.lock(mutex, body, loc)?,
        }
        Ok(())
    }

    fn no_field<T>(&mut self, span: crate::source::Span) -> Flow<T> {
        self.cx.bug(span, "a field of an unrelated class");
        self.dead(Loc(span.lo))
    }

    /// The expression's value; of type `Unit`: `Int` 0.
    pub(super) fn expr(&mut self, expr: &'a Expr) -> Flow<Value> {
        let value = self.lower(expr, true)?;
        let ty = self.ty(expr.ty);
        match value {
            Some(value) if ty != Ty::NEVER => Ok(value),
            None if ty == Ty::UNIT => Ok(self.unit(loc(expr))),
            // The checker knows that control never comes here.
            _ => self.dead(loc(expr)),
        }
    }

    /// The expression's effects.
    pub(super) fn effect(&mut self, expr: &'a Expr) -> Flow<()> {
        self.lower(expr, false)?;
        if expr.ty == Ty::NEVER { self.dead(loc(expr)) } else { Ok(()) }
    }

    pub(super) fn exprs(&mut self, exprs: &'a [Expr]) -> Flow<Vec<Value>> {
        exprs.iter().map(|e| self.expr(e)).collect()
    }

    /// With `want`, `None` stands for the value of type `Unit`.
    fn lower(&mut self, expr: &'a Expr, want: bool) -> Flow<Option<Value>> {
        let at = loc(expr);
        Ok(Some(match &expr.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::Unit | ExprKind::Str(_) if !want => {
                return Ok(None);
            }
            ExprKind::Int(value) => self.int(*value, at),
            ExprKind::Float(value) => self.op_safe(Op::FConst(value.to_bits()), at),
            ExprKind::Bool(value) => self.bool(*value, at),
            ExprKind::Null => self.null(at),
            ExprKind::Unit => return Ok(None),
            ExprKind::Str(text) => self.str(text, at),
            ExprKind::Local(local) => self.read_local(*local, at),
            ExprKind::Global(global) => self.read_global(*global, at),
            ExprKind::Field { object, class, field } => {
                let owner = self.ty(object.ty);
                let safe = self.never_null(object);
                let object = self.expr(object)?;
                let Some(field) = self.cx.field(owner, *class, *field) else { return self.no_field(expr.span) };
                match safe {
                    true => self.op_safe(Op::load_field(field, object), at),
                    false => self.value(Op::load_field(field, object), at),
                }
            }
            ExprKind::Length(array) => {
                let array = self.expr(array)?;
                self.value(Op::array_len(array), at)
            }
            ExprKind::Index { object, index } => {
                let kind = self.elem_kind(object.ty);
                let array = self.expr(object)?;
                let index = self.expr(index)?;
                let index = self.value(Op::CheckBounds(array, index), at);
                self.value(Op::LoadElem(kind, array, index), at)
            }
            ExprKind::CallFun { fun, type_args, args } => return self.call_fun(*fun, type_args, args, at),
            ExprKind::CallMethod { .. } => return self.call_method(expr),
            ExprKind::CallClosure { callee, args } => return self.call_closure(callee, args, at),
            ExprKind::CallBaseInit { class, args } => return self.call_base_init(*class, args, at),
            ExprKind::New { args } => self.new_object(expr, args)?,
            ExprKind::NewArray { len, fill } => self.new_filled_array(expr, len, fill.as_deref())?,
            ExprKind::ArrayLit(items) => self.array_literal(expr, items)?,
            ExprKind::Lambda(lambda) => self.closure(expr, lambda),
            ExprKind::FunRef { fun, type_args } => self.fun_ref(expr, *fun, type_args),
            ExprKind::Concat(parts) => self.concat(parts, at)?,
            ExprKind::Unary { op, operand } => self.unary(*op, operand, at)?,
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right, at)?,
            ExprKind::Equals { left, right, negated } => self.equals(left, right, *negated, at)?,
            ExprKind::Same { left, right, negated } => self.same(left, right, *negated, at)?,
            ExprKind::And(..) | ExprKind::Or(..) => self.short_circuit(expr)?,
            ExprKind::If { cond, then, els } => return self.if_else(expr, cond, then, els.as_ref(), want),
            ExprKind::Match { subject, init, arms } => return self.match_arms(expr, *subject, init, arms, want),
            ExprKind::Try { body, catches, finally } => return self.try_expr(expr, body, catches, finally.as_ref(), want),
            ExprKind::Block(block) => return self.block(block, want),
            ExprKind::Convert(inner) if !want => return self.effect(inner).map(|()| None),
            ExprKind::Convert(inner) => {
                let (from, to) = (self.ty(inner.ty), self.ty(expr.ty));
                let value = self.expr(inner)?;
                self.convert(value, from, to, at)
            }
            ExprKind::Cast { value, safe } => self.cast(expr, value, *safe)?,
            ExprKind::Is { value, ty } => {
                let (from, to) = (self.ty(value.ty), self.ty(*ty));
                let value = self.expr(value)?;
                self.is_instance(value, from, to, at)
            }
            ExprKind::NonNull(inner) => self.non_null(expr, inner, at)?,
            ExprKind::Return(value) => return self.return_value(value.as_deref(), at),
            ExprKind::Throw(error) => {
                let error = self.expr(error)?;
                self.op(Op::CallBuiltin { builtin: Builtin::FillTrace, args: [error].into_iter().collect() }, at);
                self.raise(error, at);
                return Err(Dead);
            }
            ExprKind::Break => return self.leave_loop(Exit::Break, at),
            ExprKind::Continue => return self.leave_loop(Exit::Continue, at),
        }))
    }

    /// Whether the value cannot be null whatever has been initialized so far, so that its fields can be reached without a check.
    pub(super) fn never_null(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Local(local) => self.this == Some(*local),
            ExprKind::New { .. } | ExprKind::NewArray { .. } | ExprKind::ArrayLit(_) | ExprKind::Lambda(_) => true,
            ExprKind::FunRef { .. } | ExprKind::Str(_) | ExprKind::Concat(_) | ExprKind::NonNull(_) => true,
            ExprKind::Convert(inner) => self.never_null(inner),
            _ => false,
        }
    }

    /// A field that has no value yet holds null, whatever its type says.
    pub(super) fn check_not_null(&mut self, expr: &Expr, value: Value, at: Loc) {
        let ty = self.ty(expr.ty);
        if !self.never_null(expr) && self.cx.value_ty(ty) == ir::Ty::Ref {
            self.op(Op::NullCheck(value), at);
        }
    }

    fn read_global(&mut self, id: GlobalId, at: Loc) -> Value {
        let global = &self.cx.program.globals[id.index()];
        if let Some(value) = (!global.mutable).then(|| constant(global)).flatten() {
            return self.literal(value, global.ty, at);
        }
        let global = self.cx.global(id);
        self.op_safe(Op::LoadGlobal(global), at)
    }

    /// The value as a `ty`: a number that may be null gets a box of its own, for boxes have no identity.
    pub(super) fn literal(&mut self, value: Literal<'a>, ty: Ty, at: Loc) -> Value {
        let (value, from) = match value {
            Literal::Int(v) => (self.int(v, at), Ty::INT),
            Literal::Float(v) => (self.op_safe(Op::FConst(v.to_bits()), at), Ty::FLOAT),
            Literal::Bool(v) => (self.bool(v, at), Ty::BOOL),
            Literal::Str(v) => (self.str(v, at), self.str_ty()),
        };
        self.convert(value, from, ty, at)
    }

    /// How the elements of the array (or text) type lie in memory.
    pub(super) fn elem_kind(&mut self, array: Ty) -> ElemKind {
        let ty = self.ty(array);
        let class = self.cx.class_of(ty);
        match self.cx.module.classes[class].kind {
            ir::ClassKind::Array(kind) => kind,
            _ => {
                self.cx.bug(self.cx.blame, "an index on something that is no array");
                ElemKind::Int
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &'a Expr, at: Loc) -> Flow<Value> {
        let float = self.ty(operand.ty) == Ty::FLOAT;
        let value = self.expr(operand)?;
        let op = match op {
            UnaryOp::Neg if float => Un::FNeg,
            UnaryOp::Neg => Un::INeg,
            UnaryOp::Not => Un::BNot,
            UnaryOp::BitNot => Un::INot,
        };
        Ok(self.op_safe(Op::Unary(op, value), at))
    }

    fn binary(&mut self, op: BinaryOp, left: &'a Expr, right: &'a Expr, at: Loc) -> Flow<Value> {
        let ty = self.ty(left.ty);
        let a = self.expr(left)?;
        let b = self.expr(right)?;
        let op = match *self.cx.types.kind(ty) {
            TyKind::Float => float_op(op, a, b),
            TyKind::Bool => bool_op(op, a, b),
            TyKind::Int => int_op(op, a, b),
            _ => {
                self.check_not_null(left, a, at);
                self.check_not_null(right, b, at);
                let order = self.value(Op::CallBuiltin { builtin: Builtin::StrCmp, args: [a, b].into_iter().collect() }, at);
                let zero = self.int(0, at);
                int_op(op, order, zero)
            }
        };
        Ok(self.value(op, at))
    }

    pub(super) fn new_object(&mut self, expr: &'a Expr, args: &'a [Expr]) -> Flow<Value> {
        let ty = self.ty(expr.ty);
        let values = self.exprs(args)?;
        let class = self.cx.class_of(ty);
        let object = self.value(Op::New(class), loc(expr));
        self.call_constructor(ty, object, &values, loc(expr));
        Ok(object)
    }

    /// A call of `receiver.name(args)` where `receiver` is an expression.
    fn call_method(&mut self, expr: &'a Expr) -> Flow<Option<Value>> {
        let ExprKind::CallMethod { receiver, fun, type_args, args, dispatch } = &expr.kind else { return Err(Dead) };
        let at = loc(expr);
        let ty = self.ty(receiver.ty);
        let never_null = self.never_null(receiver);
        let exact = matches!(receiver.kind, ExprKind::New { .. });
        let receiver = self.expr(receiver)?;
        let mut values = vec![receiver];
        for arg in args {
            values.push(self.expr(arg)?);
        }
        let want = self.ty(expr.ty);
        let (value, ret) = match dispatch {
            Dispatch::Static => self.call_static(ty, *fun, type_args, &values, never_null, at)?,
            Dispatch::Virtual => self.call_virtual(ty, *fun, &values, never_null, exact, at)?,
        };
        Ok(value.map(|v| self.convert(v, ret, want, at)))
    }
}

/// A global's value known without running anything.
#[derive(Clone, Copy, Debug)]
pub(super) enum Literal<'a> {
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(&'a str),
}

/// The value of a `let` whose initializer is a literal, or arithmetic on `Float` literals (`1.0 / 0.0`).
pub(super) fn constant(global: &crate::sema::hir::Global) -> Option<Literal<'_>> {
    let block = &global.init.block;
    block.stmts.is_empty().then_some(block.value.as_deref()).flatten().and_then(literal)
}

fn literal(expr: &Expr) -> Option<Literal<'_>> {
    Some(match &expr.kind {
        ExprKind::Int(v) => Literal::Int(*v),
        ExprKind::Float(v) => Literal::Float(*v),
        ExprKind::Bool(v) => Literal::Bool(*v),
        ExprKind::Str(v) => Literal::Str(v),
        ExprKind::Unary { op: UnaryOp::Neg, operand } => match literal(operand)? {
            Literal::Int(v) => Literal::Int(v.wrapping_neg()),
            Literal::Float(v) => Literal::Float(-v),
            _ => return None,
        },
        ExprKind::Binary { op, left, right } => match (literal(left)?, literal(right)?) {
            (Literal::Float(a), Literal::Float(b)) => Literal::Float(match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                BinaryOp::Mul => a * b,
                BinaryOp::Div => a / b,
                BinaryOp::Rem => a % b,
                _ => return None,
            }),
            _ => return None,
        },
        ExprKind::Convert(inner) => literal(inner)?,
        _ => return None,
    })
}

pub(super) fn int_op(op: BinaryOp, a: Value, b: Value) -> Op {
    Op::Binary(
        match op {
            BinaryOp::Add => Bin::IAdd,
            BinaryOp::Sub => Bin::ISub,
            BinaryOp::Mul => Bin::IMul,
            BinaryOp::Div => Bin::IDiv,
            BinaryOp::Rem => Bin::IRem,
            BinaryOp::Shl => Bin::IShl,
            BinaryOp::Shr => Bin::IShr,
            BinaryOp::UShr => Bin::IUShr,
            BinaryOp::And => Bin::IAnd,
            BinaryOp::Or => Bin::IOr,
            BinaryOp::Xor => Bin::IXor,
            BinaryOp::Lt => return Op::ICmp(IntCmp::Lt, a, b),
            BinaryOp::Le => return Op::ICmp(IntCmp::Le, a, b),
            BinaryOp::Gt => return Op::ICmp(IntCmp::Gt, a, b),
            BinaryOp::Ge => return Op::ICmp(IntCmp::Ge, a, b),
        },
        a,
        b,
    )
}

fn float_op(op: BinaryOp, a: Value, b: Value) -> Op {
    Op::Binary(
        match op {
            BinaryOp::Add => Bin::FAdd,
            BinaryOp::Sub => Bin::FSub,
            BinaryOp::Mul => Bin::FMul,
            BinaryOp::Div => Bin::FDiv,
            BinaryOp::Lt => return Op::FCmp(FloatCmp::Lt, a, b),
            BinaryOp::Le => return Op::FCmp(FloatCmp::Le, a, b),
            BinaryOp::Gt => return Op::FCmp(FloatCmp::Gt, a, b),
            BinaryOp::Ge => return Op::FCmp(FloatCmp::Ge, a, b),
            // The checker lets no other operator than `%` come to floats.
            _ => return Op::CallBuiltin { builtin: Builtin::FloatRem, args: [a, b].into_iter().collect() },
        },
        a,
        b,
    )
}

fn bool_op(op: BinaryOp, a: Value, b: Value) -> Op {
    let op = match op {
        BinaryOp::And => Bin::BAnd,
        BinaryOp::Or => Bin::BOr,
        _ => Bin::BXor,
    };
    Op::Binary(op, a, b)
}
