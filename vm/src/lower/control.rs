//! Branches: conditions, `if`, short circuits, and ways out of loops and functions through the `finally`s around.

use super::body::{Dead, Exit, Flow, FnLower, Scope};
use super::expr::loc;
use crate::sema::hir::{Block as HirBlock, Expr, ExprKind, UnaryOp};
use jit::ir::builder::Variable;
use jit::ir::{self, Block, Loc, Value};

/// Where the arms of an expression meet, and the variable that holds its value there.
pub(super) struct Join {
    pub block: Block,
    pub result: Option<Variable>,
}

impl<'a> FnLower<'_, 'a> {
    /// Branches on a condition, through `&&`, `||` and `!` without making values of them.
    pub(super) fn cond(&mut self, expr: &'a Expr, then: Block, els: Block) -> Flow<()> {
        let at = loc(expr);
        match &expr.kind {
            ExprKind::Bool(value) => {
                self.jump(if *value { then } else { els }, at);
                Ok(())
            }
            ExprKind::Unary { op: UnaryOp::Not, operand } => self.cond(operand, els, then),
            ExprKind::And(left, right) => {
                let middle = self.b.create_block();
                self.cond(left, middle, els)?;
                // Where the left side decides alone, the right one is never lowered.
                if self.enter(middle).is_ok() { self.cond(right, then, els).or(Ok(())) } else { Ok(()) }
            }
            ExprKind::Or(left, right) => {
                let middle = self.b.create_block();
                self.cond(left, then, middle)?;
                if self.enter(middle).is_ok() { self.cond(right, then, els).or(Ok(())) } else { Ok(()) }
            }
            _ => {
                let value = self.expr(expr)?;
                self.b.branch(value, then, els, at);
                Ok(())
            }
        }
    }

    pub(super) fn short_circuit(&mut self, expr: &'a Expr) -> Flow<Value> {
        let at = loc(expr);
        let (yes, no, join) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let result = self.b.append_param(join, ir::Ty::Bool);
        self.cond(expr, yes, no)?;
        for (block, value) in [(yes, true), (no, false)] {
            if self.enter(block).is_ok() {
                let value = self.bool(value, at);
                self.b.jump(join, &[value], at);
            }
        }
        self.enter(join)?;
        Ok(result)
    }

    /// A join for the arms of `expr`, with a variable for its value if there is to be one.
    pub(super) fn join(&mut self, expr: &'a Expr, want: bool) -> Join {
        let ty = self.ty(expr.ty);
        let result = (want && !self.cx.is_void(ty)).then(|| self.b.declare_var(self.cx.value_ty(ty)));
        Join { block: self.b.create_block(), result }
    }

    /// Lowers one arm; control goes on to the join if it comes to the arm's end.
    pub(super) fn arm(&mut self, block: &'a HirBlock, join: &Join, at: Loc) {
        let Ok(value) = self.block(block, join.result.is_some()) else { return };
        match (join.result, value) {
            (Some(_), None) => return self.b.unreachable(at),
            (Some(result), Some(value)) => self.b.def_var(result, value),
            (None, _) => {}
        }
        self.jump(join.block, at);
    }

    pub(super) fn enter_join(&mut self, join: Join) -> Flow<Option<Value>> {
        self.enter(join.block)?;
        Ok(join.result.map(|r| self.b.use_var(r)))
    }

    pub(super) fn if_else(
        &mut self,
        expr: &'a Expr,
        cond: &'a Expr,
        then: &'a HirBlock,
        els: Option<&'a HirBlock>,
        want: bool,
    ) -> Flow<Option<Value>> {
        let at = loc(expr);
        let join = self.join(expr, want);
        let then_block = self.b.create_block();
        let els_block = if els.is_some() { self.b.create_block() } else { join.block };
        self.cond(cond, then_block, els_block)?;
        if self.enter(then_block).is_ok() {
            self.arm(then, &join, at);
        }
        if let Some(els) = els
            && self.enter(els_block).is_ok()
        {
            self.arm(els, &join, at);
        }
        self.enter_join(join)
    }

    // Ways out.

    pub(super) fn return_value(&mut self, value: Option<&'a Expr>, at: Loc) -> Flow<Option<Value>> {
        let void = self.cx.is_void(self.ret_ty);
        let value = match value {
            Some(value) if void => {
                self.effect(value)?;
                None
            }
            Some(value) => Some(self.expr(value)?),
            None => None,
        };
        if !self.scopes.iter().any(|s| matches!(s, Scope::Finally { .. })) {
            self.ret(value, at);
            return Err(Dead);
        }
        if let (Some(value), Some(variable)) = (value, self.ret_var) {
            self.b.def_var(variable, value);
        }
        self.leave(Exit::Return, at);
        Err(Dead)
    }

    pub(super) fn leave_loop(&mut self, exit: fn(usize) -> Exit, at: Loc) -> Flow<Option<Value>> {
        match self.scopes.iter().rposition(|s| matches!(s, Scope::Loop { .. })) {
            Some(index) => self.leave(exit(index), at),
            None => {
                self.cx.bug(self.cx.blame, "break or continue outside of a loop");
                return self.dead(at);
            }
        }
        Err(Dead)
    }

    /// Goes where `exit` leads, or to the innermost `finally` on the way, which will go on from there.
    pub(super) fn leave(&mut self, exit: Exit, at: Loc) {
        let bottom = match exit {
            Exit::Break(index) | Exit::Continue(index) => index,
            Exit::Return => 0,
        };
        for scope in self.scopes[bottom..].iter_mut().rev() {
            let Scope::Finally { entry, way, exits } = scope else { continue };
            let number = exits.iter().position(|e| *e == exit).unwrap_or_else(|| {
                exits.push(exit);
                exits.len() - 1
            });
            let (entry, way) = (*entry, *way);
            return self.enter_finally(entry, way, super::tries::FIRST_EXIT + number as i64, at);
        }
        match (exit, self.scopes.get(bottom)) {
            (Exit::Break(_), Some(&Scope::Loop { on_break, .. })) => self.jump(on_break, at),
            (Exit::Continue(_), Some(&Scope::Loop { on_continue, .. })) => self.jump(on_continue, at),
            _ => {
                let value = self.ret_var.map(|v| self.b.use_var(v));
                self.ret(value, at);
            }
        }
    }

    pub(super) fn enter_finally(&mut self, entry: Block, way: Variable, number: i64, at: Loc) {
        let number = self.int(number, at);
        self.b.def_var(way, number);
        self.jump(entry, at);
    }
}
