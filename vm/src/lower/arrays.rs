//! Arrays made: zeroed, filled, and from literals.

use super::body::{Flow, FnLower};
use super::expr::loc;
use crate::sema::hir::{Expr, ExprKind};
use crate::sema::types::Ty;
use jit::ir::{self, IntCmp, Loc, Op, Value};

impl<'a> FnLower<'_, 'a> {
    /// A zeroed `Array<elem>`.
    pub(super) fn new_array(&mut self, elem: Ty, length: Value, at: Loc) -> Value {
        let ty = self.cx.types.class(self.cx.program.known.array, &[elem]);
        let class = self.cx.class_of(ty);
        self.value(Op::NewArray(class, length), at)
    }

    pub(super) fn new_filled_array(&mut self, expr: &'a Expr, len: &'a Expr, fill: Option<&'a Expr>) -> Flow<Value> {
        let at = loc(expr);
        let ty = self.ty(expr.ty);
        let class = self.cx.class_of(ty);
        let length = self.expr(len)?;
        let Some(fill) = fill else { return Ok(self.value(Op::NewArray(class, length), at)) };
        let value = self.expr(fill)?;
        let array = self.value(Op::NewArray(class, length), at);
        let is_zero = match &fill.kind {
            ExprKind::Int(v) => *v == 0,
            ExprKind::Float(v) => v.to_bits() == 0,
            ExprKind::Bool(v) => !v,
            ExprKind::Null | ExprKind::Unit => true,
            _ => false,
        };
        if !is_zero {
            self.fill_array(array, expr.ty, length, value, at);
        }
        Ok(array)
    }

    fn fill_array(&mut self, array: Value, ty: Ty, length: Value, value: Value, at: Loc) {
        let kind = self.elem_kind(ty);
        let (head, exit) = (self.b.create_block(), self.b.create_block());
        let index = self.b.declare_var(ir::Ty::Int);
        let zero = self.int(0, at);
        self.b.def_var(index, zero);
        let enter = self.op_safe(Op::ICmp(IntCmp::Lt, zero, length), at);
        self.b.branch(enter, head, exit, at);
        self.b.switch_to_block(head);
        let i = self.b.use_var(index);
        self.op_safe_effect(Op::store_elem(kind, array, i, value), at);
        self.op(Op::Poll, at);
        self.count_up(index, length, head, exit, at);
        self.b.seal_block(head);
        self.b.seal_block(exit);
        self.b.switch_to_block(exit);
    }

    pub(super) fn array_literal(&mut self, expr: &'a Expr, items: &'a [Expr]) -> Flow<Value> {
        let at = loc(expr);
        let kind = self.elem_kind(expr.ty);
        let ty = self.ty(expr.ty);
        let class = self.cx.class_of(ty);
        let length = self.int(items.len() as i64, at);
        let array = self.value(Op::NewArray(class, length), at);
        for (i, item) in items.iter().enumerate() {
            let value = self.expr(item)?;
            let index = self.int(i as i64, at);
            self.op_safe_effect(Op::store_elem(kind, array, index, value), at);
        }
        Ok(array)
    }
}
