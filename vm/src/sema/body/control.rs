//! `if`, `match` and `try`, as statements and as values.

use super::coerce::Branch;
use super::patterns::Coverage;
use super::{Body, VarKind, Want, expr, stmt};
use crate::diag::{Code, Diagnostic};
use crate::sema::flow::State;
use crate::sema::hir::{self, ExprKind, LocalId, Pattern, StmtKind};
use crate::sema::show::article;
use crate::sema::types::Ty;
use crate::source::Span;
use crate::syntax::ast;

impl<'a> Body<'_, 'a> {
    pub fn if_expr(&mut self, cond: &'a ast::Expr, then: &'a ast::Block, els: Option<&'a ast::Else>, want: Want, span: Span) -> hir::Expr {
        let cond = self.cond(cond);
        self.state = cond.holds;
        let then = self.branch(then, want);
        let after_then = std::mem::replace(&mut self.state, cond.fails);
        let Some(els) = els else {
            let after = std::mem::take(&mut self.state);
            self.state = self.join_states(after_then, after);
            let kind = ExprKind::If { cond: Box::new(cond.expr), then: drop_value(then.block), els: None };
            let gives_nothing = matches!(self.shallow(then.ty), Ty::UNIT | Ty::NEVER);
            let used = match want {
                Want::Unused => false,
                // A closure's result that nothing has decided may be none.
                Want::Type(to) => self.shallow(to) != Ty::UNIT && !(gives_nothing && self.bare_infer(to).is_some()),
                Want::Any => true,
            };
            if used {
                let problem = Diagnostic::new(Code::NoElse, span, "an `if` whose value is used needs an `else`");
                self.report(problem.hint("add `else { … }`"));
                return super::error_expr(span);
            }
            return expr(kind, Ty::UNIT, span);
        };
        let els = match els {
            ast::Else::Block(block) => self.branch(block, want),
            ast::Else::If(e) => {
                let e = self.expr(e, want);
                let at = e.span;
                let (block, ty) = self.expr_block(e, want);
                Branch { block, ty, span: at }
            }
        };
        let after = std::mem::take(&mut self.state);
        self.state = self.join_states(after_then, after);
        let mut branches = [then, els];
        let ty = self.unite(&mut branches, want, "if");
        let [then, els] = branches.map(|b| b.block);
        expr(ExprKind::If { cond: Box::new(cond.expr), then, els: Some(els) }, ty, span)
    }

    fn branch(&mut self, block: &'a ast::Block, want: Want) -> Branch {
        let (hir, ty) = self.block(block, want);
        let span = hir.value.as_ref().map_or(block.span, |v| v.span);
        Branch { block: hir, ty, span }
    }

    // match

    pub fn match_expr(&mut self, subject: &'a ast::Expr, arms: &'a [ast::Arm], want: Want, span: Span) -> hir::Expr {
        let subject_var = self.named_var(subject);
        let at = subject.span;
        let init = self.expr(subject, Want::Any);
        let init = self.plain_null(init);
        let ty = self.shallow(init.ty);
        if ty == Ty::NEVER {
            return init;
        }
        let matched = ty;
        let local = self.new_local("", ty, at);
        let mut coverage = Coverage::new(self, ty);
        let mut branches = Vec::new();
        let mut patterns = Vec::new();
        let mut end = State::unreachable();
        let mut rest = self.state.clone();
        for arm in arms {
            self.state = if coverage.complete() { State::unreachable() } else { rest.clone() };
            let mark = self.open_scope();
            let checked = self.arm_patterns(arm, ty, subject_var, &mut coverage);
            let branch = self.arm_body(&arm.body, want);
            self.close_scope(mark);
            if let Some(var) = subject_var.filter(|_| checked.takes_null) {
                // What the arm has done to it is nothing to those that are taken in its place.
                let after = std::mem::replace(&mut self.state, rest.clone());
                self.narrow_non_null(&mut rest, var);
                self.state = after;
            }
            // Nothing fits an arm without patterns: not to be taken for an `else`.
            if !checked.patterns.is_empty() || checked.is_else {
                let after = std::mem::take(&mut self.state);
                end = self.join_states(end, after);
                patterns.push((checked.patterns, arm.span));
                branches.push(branch);
            }
        }
        let complete = coverage.complete();
        if !complete {
            end = self.join_states(end, rest);
        }
        self.state = end;
        if !complete && want != Want::Unused && ty != Ty::ERROR {
            let missing = coverage.missing();
            let problem =
                Diagnostic::new(Code::MatchNotComplete, span, format!("this `match` gives a value, but does not cover {missing}"));
            self.report(problem.hint("add `else => …`"));
        }
        let united = self.unite(&mut branches, want, "match");
        let ty = match united {
            Ty::NEVER if !complete => Ty::UNIT,
            ty => ty,
        };
        let mut arms: Vec<hir::Arm> =
            patterns.into_iter().zip(branches).map(|((patterns, span), branch)| hir::Arm { patterns, body: branch.block, span }).collect();
        if let Some(last) = arms.last_mut().filter(|_| coverage.leaves_nothing()) {
            self.take_rest(last, local, matched);
        }
        expr(ExprKind::Match { subject: local, init: Box::new(init), arms }, ty, span)
    }

    /// The last arm takes what the others leave, which is what it tests for, or a null where none was allowed: that of a field without a value yet.
    fn take_rest(&self, arm: &mut hir::Arm, subject: LocalId, ty: Ty) {
        if let [Pattern::Is { ty: bound, bind: Some(local) }] = arm.patterns[..] {
            let read = expr(ExprKind::Local(subject), ty, arm.span);
            let init = if bound == ty { read } else { expr(ExprKind::Convert(Box::new(read)), bound, arm.span) };
            arm.body.stmts.insert(0, stmt(StmtKind::Let { local, init }, arm.span));
        }
        arm.patterns.clear();
    }

    fn arm_body(&mut self, body: &'a ast::ArmBody, want: Want) -> Branch {
        match body {
            ast::ArmBody::Block(block) => self.branch(block, want),
            ast::ArmBody::Expr(e) => {
                let value = match want {
                    Want::Type(t) if self.bare_infer(t).is_none() => self.value(e, t),
                    _ => self.expr(e, want),
                };
                let (block, ty) = self.expr_block(value, want);
                Branch { block, ty, span: e.span }
            }
            ast::ArmBody::Stmt(s) => {
                let mut stmts = Vec::new();
                self.stmt(s, &mut stmts);
                if want == Want::Unused {
                    let ty = if self.state.dead { Ty::NEVER } else { Ty::UNIT };
                    return Branch { block: hir::Block { stmts, value: None }, ty, span: s.span };
                }
                let (value, ty) = self.no_value(s.span);
                Branch { block: hir::Block { stmts, value }, ty, span: s.span }
            }
        }
    }

    // try

    pub fn try_expr(
        &mut self,
        body: &'a ast::Block,
        catches: &'a [ast::Catch],
        finally: Option<&'a ast::Block>,
        want: Want,
        span: Span,
    ) -> hir::Expr {
        let start = self.state.clone();
        if let Some(block) = finally {
            let loops = self.frame().loops.len();
            self.frame().guarded.push((loops, block.span));
        }
        let mut branches = vec![self.branch(body, want)];
        let mut end = std::mem::replace(&mut self.state, start.clone());
        // An error may come from anywhere in the body, between any two of its assignments.
        self.widen(body.span);
        let thrown = std::mem::take(&mut self.state);
        let mut heads = Vec::new();
        let mut caught: Vec<Ty> = Vec::new();
        for catch in catches {
            self.state = thrown.clone();
            let mark = self.open_scope();
            let ty = self.caught_type(catch, &caught);
            caught.push(ty);
            let (_, local) = self.declare(&catch.name, ty, VarKind::Param);
            branches.push(self.branch(&catch.body, want));
            self.close_scope(mark);
            let after = std::mem::take(&mut self.state);
            end = self.join_states(end, after);
            heads.push((local, ty));
        }
        let ty = self.unite(&mut branches, want, "try");
        self.state = end;
        if finally.is_some() {
            self.frame().guarded.pop();
        }
        let finally = finally.map(|block| self.finally(block, start, body, catches));
        let finally_never_ends = finally.is_some() && self.state.dead;
        let mut blocks = branches.into_iter().map(|b| b.block);
        let body = blocks.next().unwrap_or(hir::Block { stmts: Vec::new(), value: None });
        let catches = heads.into_iter().zip(blocks).map(|((local, ty), body)| hir::Catch { local, ty, body }).collect();
        let ty = if finally_never_ends { Ty::NEVER } else { ty };
        expr(ExprKind::Try { body, catches, finally }, ty, span)
    }

    fn caught_type(&mut self, catch: &'a ast::Catch, before: &[Ty]) -> Ty {
        let ty = self.ck.resolve_type(&self.ty_scope, &catch.ty);
        let error = self.known.error;
        let wanted = self.types.class(error, &[]);
        if !self.relate().assign(ty, wanted) {
            let shown = self.show_ty(ty);
            let problem = Diagnostic::new(
                Code::NotAnError,
                catch.ty.span,
                format!("{a_shown} is never thrown: it is no `Error`", a_shown = article(&shown)),
            );
            self.report(problem.hint("only `Error` and classes that extend it are caught"));
            return Ty::ERROR;
        }
        if self.is_half_known(ty) {
            return ty;
        }
        if let Some(&earlier) = before.iter().find(|&&b| b != Ty::ERROR && self.relate().assign(ty, b)) {
            let (shown, earlier) = (self.show_ty(ty), self.show_ty(earlier));
            let problem = Diagnostic::new(
                Code::UnreachableArm,
                catch.ty.span,
                format!("this clause is never reached: `{earlier}` before it takes every `{shown}`"),
            );
            self.report(problem.hint("put the more special error first"));
        }
        ty
    }

    /// Checks `finally`: it starts from anywhere in what comes before it, and goes on where that ended.
    fn finally(&mut self, block: &'a ast::Block, start: State, body: &'a ast::Block, catches: &'a [ast::Catch]) -> hir::Block {
        let end = std::mem::replace(&mut self.state, start);
        self.widen(body.span);
        catches.iter().for_each(|c| self.widen(c.body.span));
        let loops = self.frame().loops.len();
        self.frame().finally.push(loops);
        let (hir, _) = self.block(block, Want::Unused);
        self.frame().finally.pop();
        let never_ends = self.state.dead;
        self.state = if never_ends { State::unreachable() } else { end };
        self.widen(block.span);
        hir
    }
}

/// A block whose value nobody uses.
fn drop_value(mut block: hir::Block) -> hir::Block {
    if let Some(value) = block.value.take()
        && !matches!(value.kind, ExprKind::Unit)
    {
        let span = value.span;
        block.stmts.push(stmt(StmtKind::Expr(*value), span));
    }
    block
}
