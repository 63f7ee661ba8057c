//! The last pass over a checked body: inference variables replaced by what they were bound to, the type of null by a type that has null, conversions that convert nothing removed, captured variables
//! that are assigned marked as boxed.
//!
//! In: a body fresh from the checker and its bindings. Out: the same body, obeying the invariants of `hir`.

use super::hir::*;
use super::infer::Infer;
use super::types::{Ty, Types};

/// `any` is the type `Object?`.
pub fn finish(body: &mut Body, types: &mut Types, infer: &Infer, any: Ty) {
    let mut pass = Pass { types, infer, any, uses: Vec::new() };
    pass.body(body);
    mark_boxed(body);
}

/// What happens to a local in its body and the closures in it.
#[derive(Clone, Copy, Default)]
struct Use {
    captured: bool,
    assigned: bool,
}

struct Pass<'p> {
    types: &'p mut Types,
    infer: &'p Infer,
    any: Ty,
    /// Of the body being walked, by local.
    uses: Vec<Use>,
}

impl Pass<'_> {
    fn ty(&mut self, ty: &mut Ty) {
        if self.types.has_infer(*ty) {
            *ty = self.infer.resolve(self.types, *ty);
        }
        if *ty == Ty::NULL {
            *ty = self.any;
        }
    }

    /// Gives the uses of the body's locals.
    fn body(&mut self, body: &mut Body) -> Vec<Use> {
        let outer = std::mem::replace(&mut self.uses, vec![Use::default(); body.locals.len()]);
        self.block(&mut body.block);
        for local in &mut body.locals {
            self.ty(&mut local.ty);
        }
        let uses = std::mem::replace(&mut self.uses, outer);
        for (local, used) in body.locals.iter_mut().zip(&uses) {
            local.boxed = used.captured && used.assigned;
        }
        uses
    }

    fn block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            self.stmt(&mut stmt.kind);
        }
        if let Some(value) = &mut block.value {
            self.expr(value);
        }
    }

    fn stmt(&mut self, stmt: &mut StmtKind) {
        match stmt {
            StmtKind::Let { init: e, .. } | StmtKind::SetGlobal { value: e, .. } | StmtKind::Expr(e) => self.expr(e),
            StmtKind::SetLocal { local, value } => {
                self.uses[local.index()].assigned = true;
                self.expr(value);
            }
            StmtKind::SetField { object, value, .. } => {
                self.expr(object);
                self.expr(value);
            }
            StmtKind::SetIndex { object, index, value } => {
                self.expr(object);
                self.expr(index);
                self.expr(value);
            }
            StmtKind::While { cond, body } => {
                self.expr(cond);
                self.block(body);
            }
            StmtKind::ForRange { start, end, body, .. } => {
                self.expr(start);
                self.expr(end);
                self.block(body);
            }
            StmtKind::ForArray { array: e, body, .. } | StmtKind::Lock { mutex: e, body } => {
                self.expr(e);
                self.block(body);
            }
        }
    }

    fn exprs(&mut self, exprs: &mut [Expr]) {
        exprs.iter_mut().for_each(|e| self.expr(e));
    }

    fn tys(&mut self, types: &mut [Ty]) {
        types.iter_mut().for_each(|t| self.ty(t));
    }

    fn expr(&mut self, e: &mut Expr) {
        self.ty(&mut e.ty);
        self.parts(&mut e.kind);
        if let ExprKind::Convert(inner) = &mut e.kind {
            if matches!(inner.kind, ExprKind::Null) {
                e.kind = ExprKind::Null;
            } else if inner.ty == e.ty {
                let inner = std::mem::replace(&mut **inner, Expr { kind: ExprKind::Unit, ty: Ty::UNIT, span: e.span, at: e.at });
                *e = inner;
            }
        }
    }

    fn parts(&mut self, kind: &mut ExprKind) {
        match kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::Unit | ExprKind::Str(_) => {}
            ExprKind::Local(_) | ExprKind::Global(_) | ExprKind::Break | ExprKind::Continue | ExprKind::Return(None) => {}
            ExprKind::Field { object: e, .. }
            | ExprKind::Length(e)
            | ExprKind::Unary { operand: e, .. }
            | ExprKind::Convert(e)
            | ExprKind::Cast { value: e, .. }
            | ExprKind::NonNull(e)
            | ExprKind::Return(Some(e))
            | ExprKind::Throw(e) => self.expr(e),
            ExprKind::Is { value, ty } => {
                self.expr(value);
                self.ty(ty);
            }
            ExprKind::Index { object: a, index: b }
            | ExprKind::Binary { left: a, right: b, .. }
            | ExprKind::Equals { left: a, right: b, .. }
            | ExprKind::Same { left: a, right: b, .. }
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::CallFun { type_args, args, .. } => {
                self.tys(type_args);
                self.exprs(args);
            }
            ExprKind::CallMethod { receiver, type_args, args, .. } => {
                self.expr(receiver);
                self.tys(type_args);
                self.exprs(args);
            }
            ExprKind::CallClosure { callee, args } => {
                self.expr(callee);
                self.exprs(args);
            }
            ExprKind::CallBaseInit { class, args } => {
                self.ty(class);
                self.exprs(args);
            }
            ExprKind::New { args } | ExprKind::ArrayLit(args) | ExprKind::Concat(args) => self.exprs(args),
            ExprKind::NewArray { len, fill } => {
                self.expr(len);
                fill.iter_mut().for_each(|e| self.expr(e));
            }
            ExprKind::FunRef { type_args, .. } => self.tys(type_args),
            ExprKind::Lambda(lambda) => self.lambda(lambda),
            ExprKind::If { cond, then, els } => {
                self.expr(cond);
                self.block(then);
                els.iter_mut().for_each(|b| self.block(b));
            }
            ExprKind::Match { init, arms, .. } => {
                self.expr(init);
                for arm in arms {
                    for pattern in &mut arm.patterns {
                        if let Pattern::Is { ty, .. } = pattern {
                            self.ty(ty);
                        }
                    }
                    self.block(&mut arm.body);
                }
            }
            ExprKind::Try { body, catches, finally } => {
                self.block(body);
                catches.iter_mut().for_each(|c| self.block(&mut c.body));
                finally.iter_mut().for_each(|b| self.block(b));
            }
            ExprKind::Block(block) => self.block(block),
        }
    }

    fn lambda(&mut self, lambda: &mut Lambda) {
        self.ty(&mut lambda.ret);
        let inner = self.body(&mut lambda.body);
        for capture in &lambda.captures {
            let outer = &mut self.uses[capture.outer.index()];
            outer.captured = true;
            outer.assigned |= inner[capture.inner.index()].assigned;
        }
    }
}

/// Captured locals of closures are boxed where the variable they stand for is.
fn mark_boxed(body: &mut Body) {
    let boxed: Vec<bool> = body.locals.iter().map(|l| l.boxed).collect();
    let mut lambdas = Vec::new();
    collect_lambdas(&mut body.block, &mut lambdas);
    for lambda in lambdas {
        for capture in &lambda.captures {
            lambda.body.locals[capture.inner.index()].boxed = boxed[capture.outer.index()];
        }
        mark_boxed(&mut lambda.body);
    }
}

/// The closures directly in a block, not those in closures.
fn collect_lambdas<'b>(block: &'b mut Block, out: &mut Vec<&'b mut Lambda>) {
    for stmt in &mut block.stmts {
        match &mut stmt.kind {
            StmtKind::Let { init: e, .. }
            | StmtKind::SetGlobal { value: e, .. }
            | StmtKind::SetLocal { value: e, .. }
            | StmtKind::Expr(e) => in_expr(e, out),
            StmtKind::SetField { object, value, .. } => in_all([object, value], out),
            StmtKind::SetIndex { object, index, value } => in_all([object, index, value], out),
            StmtKind::While { cond: e, body } | StmtKind::ForArray { array: e, body, .. } | StmtKind::Lock { mutex: e, body } => {
                in_expr(e, out);
                collect_lambdas(body, out);
            }
            StmtKind::ForRange { start, end, body, .. } => {
                in_all([start, end], out);
                collect_lambdas(body, out);
            }
        }
    }
    if let Some(value) = &mut block.value {
        in_expr(value, out);
    }
}

fn in_all<'b>(exprs: impl IntoIterator<Item = &'b mut Expr>, out: &mut Vec<&'b mut Lambda>) {
    exprs.into_iter().for_each(|e| in_expr(e, out));
}

fn in_expr<'b>(e: &'b mut Expr, out: &mut Vec<&'b mut Lambda>) {
    match &mut e.kind {
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::Unit | ExprKind::Str(_) => {}
        ExprKind::Local(_)
        | ExprKind::Global(_)
        | ExprKind::Break
        | ExprKind::Continue
        | ExprKind::Return(None)
        | ExprKind::FunRef { .. } => {}
        ExprKind::Field { object: e, .. }
        | ExprKind::Length(e)
        | ExprKind::Unary { operand: e, .. }
        | ExprKind::Convert(e)
        | ExprKind::Cast { value: e, .. }
        | ExprKind::Is { value: e, .. }
        | ExprKind::NonNull(e)
        | ExprKind::Return(Some(e))
        | ExprKind::Throw(e) => in_expr(e, out),
        ExprKind::Index { object: a, index: b }
        | ExprKind::Binary { left: a, right: b, .. }
        | ExprKind::Equals { left: a, right: b, .. }
        | ExprKind::Same { left: a, right: b, .. }
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b) => in_all([&mut **a, &mut **b], out),
        ExprKind::CallMethod { receiver: e, args, .. } | ExprKind::CallClosure { callee: e, args } => {
            in_expr(e, out);
            in_all(args, out);
        }
        ExprKind::CallFun { args, .. }
        | ExprKind::CallBaseInit { args, .. }
        | ExprKind::New { args }
        | ExprKind::ArrayLit(args)
        | ExprKind::Concat(args) => in_all(args, out),
        ExprKind::NewArray { len, fill } => {
            in_expr(len, out);
            in_all(fill.as_deref_mut(), out);
        }
        ExprKind::Lambda(lambda) => out.push(lambda),
        ExprKind::If { cond, then, els } => {
            in_expr(cond, out);
            collect_lambdas(then, out);
            if let Some(els) = els {
                collect_lambdas(els, out);
            }
        }
        ExprKind::Match { init, arms, .. } => {
            in_expr(init, out);
            arms.iter_mut().for_each(|arm| collect_lambdas(&mut arm.body, out));
        }
        ExprKind::Try { body, catches, finally } => {
            collect_lambdas(body, out);
            catches.iter_mut().for_each(|c| collect_lambdas(&mut c.body, out));
            if let Some(finally) = finally {
                collect_lambdas(finally, out);
            }
        }
        ExprKind::Block(block) => collect_lambdas(block, out),
    }
}
