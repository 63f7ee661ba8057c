//! Loops.
//!
//! A loop is *rotated*: its condition is tested once before it and again at its end, so that one branch closes each round and what the condition computes is known inside. The condition is lowered twice then,
//! so only small ones without calls are (a call site in the source stays one call site); others are tested in one place, at the loop's head. Every back-edge has a `Poll`.

use super::body::{Dead, Flow, FnLower, Scope};
use super::expr::loc;
use crate::sema::hir::{Block as HirBlock, Expr, ExprKind, LocalId, Stmt, StmtKind};
use jit::ir::{self, BinaryOp, Block, IntCmp, Loc, Op, Value};

/// Nodes of a condition that may be lowered twice.
const SMALL_CONDITION: u32 = 16;

impl<'a> FnLower<'_, 'a> {
    pub(super) fn while_loop(&mut self, cond: &'a Expr, body: &'a HirBlock, at: Loc) -> Flow<()> {
        if self.is_small(cond, &mut SMALL_CONDITION.clone()) {
            self.rotated_while(cond, body, at)
        } else {
            self.plain_while(cond, body, at)
        }
    }

    fn rotated_while(&mut self, cond: &'a Expr, body: &'a HirBlock, at: Loc) -> Flow<()> {
        let (start, next, exit) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.cond(cond, start, exit)?;
        self.b.switch_to_block(start); // Sealed once its back-edge is there.
        self.loop_body(body, exit, next, at);
        if self.enter(next).is_ok() {
            self.op(Op::Poll, at);
            let _ = self.cond(cond, start, exit);
        }
        self.b.seal_block(start);
        self.enter(exit)
    }

    fn plain_while(&mut self, cond: &'a Expr, body: &'a HirBlock, at: Loc) -> Flow<()> {
        let (head, start, next, exit) = (self.b.create_block(), self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.jump(head, at);
        self.b.switch_to_block(head);
        if self.cond(cond, start, exit).is_ok() && self.enter(start).is_ok() {
            self.loop_body(body, exit, next, at);
        }
        if self.enter(next).is_ok() {
            self.op(Op::Poll, at);
            self.jump(head, at);
        }
        self.b.seal_block(head);
        self.enter(exit)
    }

    /// The body, once; control goes on to `next`.
    fn loop_body(&mut self, body: &'a HirBlock, on_break: Block, on_continue: Block, at: Loc) {
        self.scopes.push(Scope::Loop { on_break, on_continue });
        if self.block(body, false).is_ok() {
            self.jump(on_continue, at);
        }
        self.scopes.pop();
    }

    /// No calls, nothing nested that would be doubled again and again.
    fn is_small(&mut self, expr: &'a Expr, budget: &mut u32) -> bool {
        let Some(left) = budget.checked_sub(1) else { return false };
        *budget = left;
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::Str(_) => true,
            ExprKind::Local(_) | ExprKind::Global(_) => true,
            ExprKind::Field { object: e, .. } | ExprKind::Length(e) | ExprKind::Unary { operand: e, .. } | ExprKind::NonNull(e) => {
                self.is_small(e, budget)
            }
            ExprKind::Convert(e) => {
                let (from, to) = (self.ty(e.ty), self.ty(expr.ty));
                self.cx.is_word(from) == self.cx.is_word(to) && self.is_small(e, budget)
            }
            ExprKind::Index { object: a, index: b } | ExprKind::Binary { left: a, right: b, .. } => {
                self.is_small(a, budget) && self.is_small(b, budget)
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => self.is_small(a, budget) && self.is_small(b, budget),
            ExprKind::Same { left, right, .. } => self.is_small(left, budget) && self.is_small(right, budget),
            ExprKind::Equals { left, right, .. } => {
                let ty = self.ty(left.ty);
                (self.cx.is_word(ty) || self.is_class(ty, self.cx.program.known.str))
                    && self.is_small(left, budget)
                    && self.is_small(right, budget)
            }
            _ => false,
        }
    }

    /// `for i in start..end step k`. The next index is only computed where it cannot pass the end, so that loops to the ends of `Int` end.
    pub(super) fn for_range(&mut self, stmt: &'a Stmt) -> Flow<()> {
        let StmtKind::ForRange { local, start, end, inclusive, step, body } = &stmt.kind else { return Err(Dead) };
        let at = Loc(stmt.span.lo);
        let first = self.expr(start)?;
        let last = self.expr(end)?;
        let index = self.b.declare_var(ir::Ty::Int);
        self.b.def_var(index, first);

        let (head, next, exit) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let compare = match (*step > 0, *inclusive) {
            (true, true) => IntCmp::Le,
            (true, false) => IntCmp::Lt,
            (false, true) => IntCmp::Ge,
            (false, false) => IntCmp::Gt,
        };
        let enter = self.op_safe(Op::ICmp(compare, first, last), loc(start));
        self.b.branch(enter, head, exit, at);
        self.b.switch_to_block(head);
        let value = self.b.use_var(index);
        self.bind(*local, value, at);
        self.loop_body(body, exit, next, at);
        if self.enter(next).is_ok() {
            self.op(Op::Poll, at);
            let value = self.b.use_var(index);
            let (more, value) = self.advance(value, last, *step, *inclusive, at);
            self.b.def_var(index, value);
            self.b.branch(more, head, exit, at);
        }
        self.b.seal_block(head);
        self.enter(exit)
    }

    /// Whether there is an index after `index`, and that index. `index` is within the range.
    fn advance(&mut self, index: Value, last: Value, step: i64, inclusive: bool, at: Loc) -> (Value, Value) {
        let by = self.int(step, at);
        let following = self.op_safe(Op::Binary(BinaryOp::IAdd, index, by), at);
        let up = step > 0;
        let more = match (step, inclusive) {
            // One step from within a range that excludes its end cannot overflow.
            (1, false) => self.op_safe(Op::ICmp(IntCmp::Lt, following, last), at),
            (-1, false) => self.op_safe(Op::ICmp(IntCmp::Gt, following, last), at),
            (1, true) => self.op_safe(Op::ICmp(IntCmp::Lt, index, last), at),
            (-1, true) => self.op_safe(Op::ICmp(IntCmp::Gt, index, last), at),
            _ => {
                // The way left, 0 … 2^64 - 1, against the step's size, both unsigned.
                let (high, low) = if up { (last, index) } else { (index, last) };
                let left = self.op_safe(Op::Binary(BinaryOp::ISub, high, low), at);
                let size = self.int(if up { step } else { step.wrapping_neg() }, at);
                match inclusive {
                    true => {
                        let too_far = self.op_safe(Op::ICmp(IntCmp::Ult, left, size), at);
                        self.not(too_far, at)
                    }
                    false => self.op_safe(Op::ICmp(IntCmp::Ult, size, left), at),
                }
            }
        };
        (more, following)
    }

    /// `for x in array`: the length cannot change, so no index needs a check.
    pub(super) fn for_array(&mut self, local: LocalId, array: &'a Expr, body: &'a HirBlock, at: Loc) -> Flow<()> {
        let kind = self.elem_kind(array.ty);
        let array_loc = loc(array);
        let array = self.expr(array)?;
        let length = self.value(Op::array_len(array), array_loc);
        let index = self.b.declare_var(ir::Ty::Int);
        let zero = self.int(0, at);
        self.b.def_var(index, zero);

        let (head, next, exit) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let enter = self.op_safe(Op::ICmp(IntCmp::Lt, zero, length), at);
        self.b.branch(enter, head, exit, at);
        self.b.switch_to_block(head);
        let i = self.b.use_var(index);
        let value = self.op_safe(Op::LoadElem(kind, array, i), at);
        self.bind(local, value, at);
        self.loop_body(body, exit, next, at);
        if self.enter(next).is_ok() {
            self.op(Op::Poll, at);
            self.count_up(index, length, head, exit, at);
        }
        self.b.seal_block(head);
        self.enter(exit)
    }

    pub(super) fn count_up(&mut self, index: ir::builder::Variable, length: Value, head: Block, exit: Block, at: Loc) {
        let i = self.b.use_var(index);
        let one = self.int(1, at);
        let i = self.op_safe(Op::Binary(BinaryOp::IAdd, i, one), at);
        self.b.def_var(index, i);
        let more = self.op_safe(Op::ICmp(IntCmp::Lt, i, length), at);
        self.b.branch(more, head, exit, at);
    }
}
