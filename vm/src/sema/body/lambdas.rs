//! Closures: a frame of their own inside the function's, with captures and results.

use super::{Body, Frame, Ret, VarKind, Want, error_expr, expr, stmt};
use crate::diag::{Code, Diagnostic};
use crate::sema::hir::{self, ExprKind, StmtKind};
use crate::sema::show::{article, count};
use crate::sema::types::{Ty, TyKind};
use crate::source::Span;
use crate::syntax::ast::{self, LambdaBody, LambdaParam};

impl<'a> Body<'_, 'a> {
    pub fn lambda(
        &mut self,
        params: &'a [LambdaParam],
        ret: Option<&'a ast::TypeExpr>,
        body: &'a LambdaBody,
        want: Want,
        span: Span,
    ) -> hir::Expr {
        self.ck.check_param_count(params.iter().map(|p| &p.name));
        let expected = self.expected_fun(want, params.len(), span);
        let (wanted_params, wanted_ret) = match expected {
            Ok(found) => found,
            Err(()) => return error_expr(span),
        };
        let mut param_types = Vec::new();
        for (i, param) in params.iter().enumerate() {
            let ty = self.lambda_param(param, wanted_params.get(i).copied());
            param_types.push(ty);
        }
        let ret_ty = match ret {
            Some(written) => self.ck.resolve_result_type(&self.ty_scope, written),
            None => wanted_ret.unwrap_or_else(|| self.fresh(span, "result type of this closure")),
        };
        let ret = if self.bare_infer(ret_ty).is_some() { Ret::Collect(Vec::new()) } else { Ret::Known(ret_ty) };
        let (frame, block) = self.lambda_frame(params, &param_types, ret, ret_ty, body, span);
        let ty = self.types.fun(&param_types, ret_ty);
        let params = (0..params.len() as u32).map(hir::LocalId).collect();
        let body = hir::Body { locals: frame.locals, params, block };
        expr(ExprKind::Lambda(Box::new(hir::Lambda { captures: frame.captures, body, ret: ret_ty })), ty, span)
    }

    /// Parameter and result types from the wanted type, where it is a function type.
    fn expected_fun(&mut self, want: Want, given: usize, span: Span) -> Result<(Vec<Ty>, Option<Ty>), ()> {
        let Want::Type(want) = want else { return Ok((Vec::new(), None)) };
        let want = self.non_null(want).unwrap_or(want);
        let TyKind::Fun(params, ret) = self.kind_of(want) else { return Ok((Vec::new(), None)) };
        if params.len() != given {
            let (have, wanted) = (count(given, "parameter"), count(params.len(), "parameter"));
            let shown = self.show_ty(want);
            self.error(Code::ArgumentCount, span, format!("this closure has {have}, and one with {wanted} is needed: `{shown}`"));
            return Err(());
        }
        Ok((params.to_vec(), Some(ret)))
    }

    fn lambda_param(&mut self, param: &'a LambdaParam, wanted: Option<Ty>) -> Ty {
        if let Some(written) = &param.ty {
            return self.ck.resolve_type(&self.ty_scope, written);
        }
        match wanted {
            Some(ty) if self.bare_infer(ty).is_none() => ty,
            _ => {
                let name = &param.name.text;
                let problem = Diagnostic::new(Code::CannotInfer, param.name.span, format!("the type of `{name}` cannot be inferred here"));
                self.report(problem.hint(format!("write it: `({name}: Type) => …`")));
                Ty::ERROR
            }
        }
    }

    fn lambda_frame(
        &mut self,
        params: &'a [LambdaParam],
        param_types: &[Ty],
        ret: Ret,
        ret_ty: Ty,
        body: &'a LambdaBody,
        span: Span,
    ) -> (Frame, hir::Block) {
        let outside = self.state.clone();
        let mut loops: Vec<u32> = self.frame().outer_loops.clone();
        loops.extend(self.frame().repeating.iter().map(|span| span.lo));
        self.frames.push(Frame::new(ret, ret_ty, span.lo, loops));
        self.state.dead = false;
        self.widen_for_closure();
        let mark = self.open_scope();
        for (param, &ty) in params.iter().zip(param_types) {
            self.declare(&param.name, ty, VarKind::Param);
        }
        let block = match body {
            LambdaBody::Expr(e) => self.lambda_expr(e, ret_ty),
            LambdaBody::Block(b) => self.lambda_block(b, ret_ty),
        };
        self.close_scope(mark);
        self.state = outside;
        let frame = self.frames.pop().unwrap_or_else(|| Frame::new(Ret::None, Ty::ERROR, 0, Vec::new()));
        (frame, block)
    }

    fn lambda_expr(&mut self, e: &'a ast::Expr, ret_ty: Ty) -> hir::Block {
        let ret = self.shallow(ret_ty);
        if ret == Ty::UNIT {
            let e = self.expr(e, Want::Unused);
            let e = self.plain_null(e);
            let span = e.span;
            return hir::Block { stmts: vec![stmt(StmtKind::Expr(e), span)], value: None };
        }
        let value = self.expr(e, Want::Type(ret));
        if matches!(self.frame().ret, Ret::Collect(_)) {
            let ty = value.ty;
            if let Ret::Collect(found) = &mut self.frame().ret {
                found.push((ty, e.span));
            }
            self.decide_result(ret_ty);
        }
        let value = self.coerce(value, ret_ty);
        self.expr_block(value, Want::Any).0
    }

    fn lambda_block(&mut self, b: &'a ast::Block, ret_ty: Ty) -> hir::Block {
        let (block, _) = self.block(b, Want::Unused);
        let reaches_end = !self.state.dead;
        if matches!(self.frame().ret, Ret::Collect(_)) {
            let gives_value = matches!(&self.frame().ret, Ret::Collect(found) if found.iter().any(|f| f.0 != Ty::UNIT && f.0 != Ty::NEVER));
            if !gives_value && let Ret::Collect(found) = &mut self.frame().ret {
                found.push((Ty::UNIT, b.span));
            }
            self.decide_result(ret_ty);
        }
        let ret = self.shallow(ret_ty);
        if reaches_end && !matches!(ret, Ty::UNIT | Ty::ERROR) {
            self.missing_return(ret, b.span, "closure");
        }
        block
    }

    /// A result type that nothing wanted: the join of what is returned.
    fn decide_result(&mut self, ret_ty: Ty) {
        let Ret::Collect(found) = std::mem::replace(&mut self.frame().ret, Ret::Known(ret_ty)) else { return };
        let Some(var) = self.bare_infer(ret_ty) else {
            // Decided on the way, by an inner call.
            for (ty, span) in found {
                self.check_returned(ty, ret_ty, span);
            }
            return;
        };
        let mut joined = self.join_all(&found).unwrap_or_else(|clash| {
            let (a, b) = (self.show_ty(clash.joined), self.show_ty(clash.ty));
            let message = format!("the results of this closure have no common type: `{a}` and `{b}`");
            self.report(Diagnostic::new(Code::TypeMismatch, clash.span, message).hint("write its result type: `(…): Type => …`"));
            Ty::ERROR
        });
        match joined {
            Ty::NEVER => joined = Ty::UNIT,
            Ty::NULL => {
                let at = found.first().map_or(self.infer.origin(var).span, |f| f.1);
                let problem = Diagnostic::new(Code::CannotInfer, at, "the result type of this closure cannot be inferred from `null`");
                self.report(problem.hint("write it: `(…): Type? => …`"));
                joined = Ty::ERROR;
            }
            _ => {}
        }
        self.relate().unify(ret_ty, joined);
    }

    fn check_returned(&mut self, ty: Ty, ret: Ty, span: Span) {
        if !self.relate().assign(ty, ret) {
            let (a, b) = (self.show_ty(ty), self.show_ty(ret));
            self.error(Code::TypeMismatch, span, format!("this is {a_a}, and {a_b} is needed", a_a = article(&a), a_b = article(&b)));
        }
    }

    pub fn missing_return(&mut self, ret: Ty, body: Span, what: &str) {
        let end = Span::new(body.hi.saturating_sub(1).max(body.lo), body.hi);
        let shown = self.show_ty(ret);
        let problem = match ret {
            Ty::NEVER => {
                Diagnostic::new(Code::MissingReturn, end, format!("this {what} is declared never to end, but its end can be reached"))
            }
            _ => Diagnostic::new(
                Code::MissingReturn,
                end,
                format!("this {what} can reach its end without returning {a_shown}", a_shown = article(&shown)),
            ),
        };
        self.report(problem.hint("add a `return` or a `throw` on every way to the end"));
    }
}
