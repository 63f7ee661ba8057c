//! Flow analysis: conditions with the states in which they hold and fail, and what may be narrowed at all.
//!
//! A `let`, a parameter, or a `var` that no closure assigns is narrowed; in a closure only where nothing assigns it after the closure is made.

use super::{Body, VarKind, Want, expr};
use crate::diag::{Code, Diagnostic};
use crate::sema::flow::{State, VarId};
use crate::sema::hir::{self, ExprKind};
use crate::sema::show::article;
use crate::sema::types::{Ty, TyKind};
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp, UnaryOp};

/// A condition and the states after it.
pub struct Cond {
    pub expr: hir::Expr,
    pub holds: State,
    pub fails: State,
}

impl<'a> Body<'_, 'a> {
    /// The local variable that an expression is just the name of.
    pub fn named_var(&self, e: &ast::Expr) -> Option<VarId> {
        match &e.kind {
            ast::ExprKind::Name(name) => self.lookup_var(&name.text),
            _ => None,
        }
    }

    fn can_narrow(&self, var: VarId) -> bool {
        let v = self.var(var);
        if v.kind != VarKind::Var {
            return true;
        }
        let Some(assigned) = self.assigned.of(v.span) else { return true };
        if assigned.in_closure {
            return false;
        }
        // Read in a closure: it may run whenever, so no assignment may come after it was made, nor in a loop that makes it again.
        let Some(closure) = self.frames.get(v.frame + 1) else { return true };
        let made = closure.outer_loops.iter().copied().find(|&start| start > v.span.lo).unwrap_or(closure.start);
        !assigned.any_after(made)
    }

    /// What helps where the value of `e` may be null: all but a variable that can be narrowed is tested as a copy.
    pub fn null_test_hint(&self, e: &hir::Expr) -> &'static str {
        let var = match e.kind {
            ExprKind::Local(local) => self.var_of(local),
            ExprKind::Null => return "test it for null first",
            _ => None,
        };
        match var.filter(|&var| self.can_narrow(var)) {
            Some(var) if self.changes_in_loop(var) => "test it for null in the loop, which assigns it",
            Some(_) => "test it for null first",
            None => "copy it to a `let` and test that for null",
        }
    }

    /// Whether a loop around here assigns a variable of outside, so that what was known of it before is not in the loop.
    fn changes_in_loop(&self, var: VarId) -> bool {
        let declared = self.var(var).span;
        let loops = self.frames.last().map_or(&[][..], |frame| &frame.repeating);
        let Some(assigned) = self.assigned.of(declared) else { return false };
        loops.iter().any(|around| declared.lo < around.lo && assigned.any_within(*around))
    }

    /// What a variable is known to be here.
    pub fn current_type(&mut self, var: VarId) -> Ty {
        let ty = self.state.get(var).unwrap_or(self.var(var).ty);
        self.shallow(ty)
    }

    pub fn narrow(&mut self, state: &mut State, var: VarId, ty: Ty) {
        if self.can_narrow(var) {
            state.set(var, ty);
        }
    }

    /// Narrows in the current state.
    pub fn narrow_here(&mut self, var: VarId, ty: Ty) {
        let mut state = std::mem::take(&mut self.state);
        self.narrow(&mut state, var, ty);
        self.state = state;
    }

    pub fn narrow_non_null(&mut self, state: &mut State, var: VarId) {
        let ty = self.current_type(var);
        if let Some(ty) = self.non_null(ty) {
            self.narrow(state, var, ty);
        }
    }

    /// After `var = value`: the old fact is gone, and a value that cannot be null is a new one.
    pub fn narrow_assigned(&mut self, var: VarId, value: Ty) {
        self.state.forget(var);
        let declared = self.var(var).ty;
        let Some(inner) = self.non_null(declared) else { return };
        if matches!(self.kind_of(value), TyKind::Nullable(_) | TyKind::Null | TyKind::Error | TyKind::Infer(_) | TyKind::Never) {
            return;
        }
        self.narrow_here(var, inner);
    }

    /// Forgets what is known of variables that code within `span` assigns.
    pub fn widen(&mut self, span: Span) {
        let mut state = std::mem::take(&mut self.state);
        state.retain(|var| !self.assigned.of(self.var(var).span).is_some_and(|a| a.any_within(span)));
        self.state = state;
    }

    /// Drops facts that do not hold in a closure.
    pub fn widen_for_closure(&mut self) {
        let mut state = std::mem::take(&mut self.state);
        state.retain(|var| self.can_narrow(var));
        self.state = state;
    }

    /// Checks a condition. The current state afterwards is unspecified: take one of the two.
    pub fn cond(&mut self, e: &'a ast::Expr) -> Cond {
        if !self.enter(e.span) {
            self.leave();
            return self.simple_cond(super::error_expr(e.span));
        }
        let cond = self.cond_inner(e);
        self.leave();
        cond
    }

    fn cond_inner(&mut self, e: &'a ast::Expr) -> Cond {
        match &e.kind {
            ast::ExprKind::Bool(value) => {
                let mut cond = self.simple_cond(expr(ExprKind::Bool(*value), Ty::BOOL, e.span));
                (if *value { &mut cond.fails } else { &mut cond.holds }).dead = true;
                cond
            }
            ast::ExprKind::Unary { op: UnaryOp::Not, operand, .. } => {
                let c = self.cond(operand);
                let not = ExprKind::Unary { op: hir::UnaryOp::Not, operand: Box::new(c.expr) };
                Cond { expr: expr(not, Ty::BOOL, e.span), holds: c.fails, fails: c.holds }
            }
            ast::ExprKind::Binary { op: BinaryOp::And, left, right, .. } => {
                let l = self.cond(left);
                self.state = l.holds;
                let r = self.cond(right);
                let fails = self.join_states(l.fails, r.fails);
                Cond { expr: expr(ExprKind::And(Box::new(l.expr), Box::new(r.expr)), Ty::BOOL, e.span), holds: r.holds, fails }
            }
            ast::ExprKind::Binary { op: BinaryOp::Or, left, right, .. } => {
                let l = self.cond(left);
                self.state = l.fails;
                let r = self.cond(right);
                let holds = self.join_states(l.holds, r.holds);
                Cond { expr: expr(ExprKind::Or(Box::new(l.expr), Box::new(r.expr)), Ty::BOOL, e.span), holds, fails: r.fails }
            }
            ast::ExprKind::Binary { op, op_span, left, right }
                if matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::RefEq | BinaryOp::RefNe) =>
            {
                let test = self.equality(*op, *op_span, left, right, e.span);
                let mut cond = self.simple_cond(test);
                let tested = match (&left.kind, &right.kind) {
                    (_, ast::ExprKind::Null) => self.named_var(left),
                    (ast::ExprKind::Null, _) => self.named_var(right),
                    _ => None,
                };
                if let Some(var) = tested {
                    let is_null = matches!(op, BinaryOp::Eq | BinaryOp::RefEq);
                    self.narrow_non_null(if is_null { &mut cond.fails } else { &mut cond.holds }, var);
                }
                cond
            }
            ast::ExprKind::Is { value, ty, negated } => {
                let (test, target) = self.type_test(value, ty, *negated, e.span);
                let mut cond = self.simple_cond(test);
                if let (Some(var), Some(target)) = (self.named_var(value), target) {
                    let state = if *negated { &mut cond.fails } else { &mut cond.holds };
                    self.narrow_to(state, var, target);
                }
                cond
            }
            _ => {
                let value = self.value(e, Ty::BOOL);
                self.simple_cond(value)
            }
        }
    }

    fn simple_cond(&mut self, expr: hir::Expr) -> Cond {
        Cond { expr, holds: self.state.clone(), fails: self.state.clone() }
    }

    /// After a type test that succeeded.
    pub fn narrow_to(&mut self, state: &mut State, var: VarId, target: Ty) {
        let now = self.current_type(var);
        // What has no null has none either if it is a `T?`.
        let target = match self.kind_of(now) {
            TyKind::Class(..) | TyKind::Fun(..) => self.non_null(target).unwrap_or(target),
            _ => target,
        };
        let already = now != target && self.relate().assign(now, target);
        if !already && now != target && now != Ty::ERROR && target != Ty::ERROR {
            self.narrow(state, var, target);
        }
    }

    /// A narrowed read as what the variable was declared as, which the narrower type need not be below: after `shape is Named` it is both.
    pub fn as_declared(&mut self, read: &hir::Expr) -> Option<hir::Expr> {
        let ExprKind::Convert(inner) = &read.kind else { return None };
        let ExprKind::Local(local) = inner.kind else { return None };
        // Casts to wider types are conversions, too.
        let known = self.var_of(local).and_then(|var| self.state.get(var));
        if known != Some(read.ty) {
            return None;
        }
        let declared = self.shallow(inner.ty);
        let plain = expr(ExprKind::Local(local), declared, read.span);
        // A type parameter may stand for a nullable type.
        let may_be_null = self.without_null(read.ty).is_some();
        match self.non_null(declared).filter(|_| !may_be_null) {
            Some(ty) => Some(expr(ExprKind::Convert(Box::new(plain)), ty, read.span)),
            None => Some(plain),
        }
    }

    /// A condition as a value: the two states meet again.
    pub fn cond_value(&mut self, e: &'a ast::Expr) -> hir::Expr {
        let cond = self.cond(e);
        self.state = self.join_states(cond.holds, cond.fails);
        cond.expr
    }

    /// `x is T`: the test, and the type that is known where it succeeds.
    fn type_test(&mut self, value: &'a ast::Expr, written: &'a ast::TypeExpr, negated: bool, span: Span) -> (hir::Expr, Option<Ty>) {
        let target = self.ck.resolve_type(&self.ty_scope, written);
        let inner = self.non_null(target).unwrap_or(target);
        if matches!(value.kind, ast::ExprKind::Unary { op: UnaryOp::Not, .. }) && !self.can_be(Ty::BOOL, inner) {
            let message =
                format!("`!` binds tighter than `is`, and a `Bool` is never {a_target}", a_target = article(&self.show_ty(target)));
            self.report(Diagnostic::new(Code::ImpossibleCast, span, message).hint("write `x !is T`, or `!(x is T)`"));
            return (expr(ExprKind::Bool(true), Ty::BOOL, span), None);
        }
        let value = self.expr(value, Want::Any);
        if target == Ty::ERROR || self.shallow(value.ty) == Ty::ERROR {
            return (expr(ExprKind::Bool(true), Ty::BOOL, span), None);
        }
        self.check_testable(value.ty, target, written.span, "is");
        let value = self.plain_null(value);
        let test = expr(ExprKind::Is { value: Box::new(value), ty: target }, Ty::BOOL, span);
        let test = if negated { expr(ExprKind::Unary { op: hir::UnaryOp::Not, operand: Box::new(test) }, Ty::BOOL, span) } else { test };
        (test, Some(target))
    }
}
