//! The entries: functions, constructors, globals, and types that are inferred from their initializers.

use super::{Body, Ret, VarKind, Want, expr, stmt};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::sema::decls::{BodyState, Checker, ClassSource, FunSource, Owner, Slot, TyScope};
use crate::sema::finish;
use crate::sema::hir::{self, ClassId, ExprKind, FieldId, FunId, GlobalId, LocalId, StmtKind};
use crate::sema::types::{Ty, TyKind};
use crate::source::Span;
use crate::syntax::ast::{self, FunBody, Member};

impl<'a> Checker<'a> {
    /// Checks a function's body, once.
    pub fn check_function(&mut self, fun: FunId) {
        if self.fun(fun).state == BodyState::Checked {
            return;
        }
        self.functions[fun.index()].state = BodyState::Checked;
        let body = match self.fun(fun).source {
            FunSource::Decl(decl) => self.check_decl(fun, decl),
            FunSource::Constructor(decl) => Some(self.check_constructor(fun, decl)),
        };
        self.functions[fun.index()].body = body;
    }

    fn scope_of(&self, fun: FunId) -> TyScope<'a> {
        let info = self.fun(fun);
        let mut params = match info.owner {
            Owner::Class(class) => self.type_params_of(class),
            _ => Vec::new(),
        };
        params.extend(info.type_params.iter().map(|&p| (self.type_params[p.0 as usize].name, p)));
        TyScope { params, library: info.library }
    }

    fn check_decl(&mut self, fun: FunId, decl: &'a ast::FunDecl) -> Option<hir::Body> {
        if matches!(decl.body, FunBody::None) {
            return None;
        }
        let info = self.fun(fun);
        let (owner, slot, param_types) = (info.owner, info.ret, info.params.clone());
        let ret = match slot {
            Slot::Known(ty) => Ret::Known(ty),
            _ => Ret::Inferring,
        };
        if slot == Slot::Unknown {
            self.functions[fun.index()].ret = Slot::InProgress;
        }
        let scope = self.scope_of(fun);
        let mut body = Body::new(self, owner, scope, ret);
        body.declare_this(decl.name.span);
        let names = decl.params.iter().map(|p| &p.name);
        match &decl.body {
            FunBody::Block(block) => body.assigned.scan_block(names, block),
            FunBody::Expr(e) => body.assigned.scan_expr(names, e),
            FunBody::None => {}
        }
        let mark = body.open_scope();
        let params = body.declare_params(decl.params.iter().map(|p| &p.name), &param_types);
        let block = match &decl.body {
            FunBody::Block(block) => body.function_block(block, slot),
            FunBody::Expr(e) => body.function_expr(e, slot, fun),
            FunBody::None => hir::Block { stmts: Vec::new(), value: None },
        };
        body.close_scope(mark);
        Some(body.finish(params, block))
    }

    /// A function without a result type needed its own.
    pub fn recursive_inference(&mut self, fun: FunId) -> Ty {
        let name = self.fun(fun).name;
        let problem = Diagnostic::new(Code::RecursiveInference, name.span, format!("the result type of `{}` depends on itself", name.text));
        self.report(problem.hint("write it after the parameters: `fun name(…): Type = …`"));
        self.functions[fun.index()].ret = Slot::Known(Ty::ERROR);
        Ty::ERROR
    }

    /// Base construction, header fields, then initializers and `init` blocks in order.
    fn check_constructor(&mut self, fun: FunId, decl: &'a ast::ClassDecl) -> hir::Body {
        let info = self.fun(fun);
        let (owner, param_types, scope) = (info.owner, info.params.clone(), self.scope_of(fun));
        let Owner::Class(class) = owner else { return empty_body() };
        let mut body = Body::new(self, owner, scope, Ret::None);
        body.scan_constructor(decl);
        body.declare_this(decl.name.span);
        let outer = body.open_scope();
        let params = body.declare_params(decl.params.iter().map(|p| &p.name), &param_types);
        let mut stmts = Vec::new();
        body.base_construction(class, decl, &mut stmts);
        body.store_header_fields(class, decl, &params, &mut stmts);
        body.hide_var_fields(decl);
        body.initializers(class, decl, None, &mut stmts);
        body.close_scope(outer);
        body.finish(params, hir::Block { stmts, value: None })
    }

    /// The type of a field, inferred from its initializer where it is not written.
    pub fn field_ty(&mut self, class: ClassId, field: FieldId) -> Ty {
        let info = &self.class(class).fields[field.index()];
        let (name, init) = (info.name, info.init);
        match info.ty {
            Slot::Known(ty) => return ty,
            Slot::InProgress => return self.recursive_variable(name),
            Slot::Unknown => {}
        }
        let (ClassSource::Class(decl), Some(constructor), Some(init)) = (self.class(class).source, self.class(class).constructor, init)
        else {
            return Ty::ERROR;
        };
        self.classes[class.index()].fields[field.index()].ty = Slot::InProgress;
        let outside = std::mem::take(&mut self.sink);
        let mut ty = self.infer_field(class, constructor, decl, (field, init), false);
        let found = std::mem::replace(&mut self.sink, outside);
        let span = init.init.span;
        let own = |d: &Diagnostic| span.lo <= d.primary.0.lo && d.primary.0.lo < span.hi;
        // By itself first: other inferred types may need this one while the constructor needs theirs. What is wrong then may be right where more is known.
        if found.iter().any(own) && self.sink.count() < Diagnostics::LIMIT {
            found.iter().filter(|d| !own(d)).for_each(|d| self.report(d.clone()));
            ty = self.infer_field(class, constructor, decl, (field, init), true);
        } else {
            self.sink.append(found);
        }
        self.classes[class.index()].fields[field.index()].ty = Slot::Known(ty);
        ty
    }

    /// What a field's initializer gives; `in_order`: after all that runs before it.
    fn infer_field(
        &mut self,
        class: ClassId,
        constructor: FunId,
        decl: &'a ast::ClassDecl,
        field: (FieldId, &'a ast::VarDecl),
        in_order: bool,
    ) -> Ty {
        let (param_types, scope) = (self.fun(constructor).params.clone(), self.scope_of(constructor));
        let mut body = Body::new(self, Owner::Class(class), scope, Ret::None);
        body.scan_constructor(decl);
        body.declare_this(decl.name.span);
        body.open_scope();
        body.declare_params(decl.params.iter().map(|p| &p.name), &param_types);
        body.hide_var_fields(decl);
        if in_order {
            body.initializers(class, decl, Some(field.0), &mut Vec::new());
        }
        body.initializer(field.1, None).1
    }

    /// The type of a global, inferred by checking its initializer where it is not written.
    pub fn global_ty(&mut self, global: GlobalId) -> Ty {
        match self.globals[global.index()].ty {
            Slot::Known(ty) => ty,
            Slot::InProgress => self.recursive_variable(&self.globals[global.index()].decl.name),
            Slot::Unknown => {
                self.check_global(global);
                match self.globals[global.index()].ty {
                    Slot::Known(ty) => ty,
                    _ => Ty::ERROR,
                }
            }
        }
    }

    fn recursive_variable(&mut self, name: &'a ast::Name) -> Ty {
        let problem = Diagnostic::new(Code::RecursiveInference, name.span, format!("the type of `{}` depends on itself", name.text));
        self.report(problem.hint("write it after the name"));
        Ty::ERROR
    }

    pub fn check_global(&mut self, global: GlobalId) {
        let info = &self.globals[global.index()];
        if info.init.is_some() {
            return;
        }
        let (decl, library, slot) = (info.decl, info.library, info.ty);
        let owner = info.owner.map_or(Owner::None, Owner::Object);
        let known = match slot {
            Slot::Known(ty) => Some(ty),
            Slot::InProgress => return,
            Slot::Unknown => {
                self.globals[global.index()].ty = Slot::InProgress;
                None
            }
        };
        let mut body = Body::new(self, owner, TyScope { params: Vec::new(), library }, Ret::None);
        body.assigned.scan_expr([], &decl.init);
        let (init, ty) = body.initializer(decl, known);
        let (block, _) = body.expr_block(init, Want::Any);
        let body = body.finish(Vec::new(), block);
        let info = &mut self.globals[global.index()];
        info.ty = Slot::Known(ty);
        info.init = Some(body);
    }
}

fn empty_body() -> hir::Body {
    hir::Body { locals: Vec::new(), params: Vec::new(), block: hir::Block { stmts: Vec::new(), value: None } }
}

fn stmts_span(block: &hir::Block) -> Option<Span> {
    let (first, last) = (block.stmts.first()?, block.stmts.last()?);
    Some(first.span.to(last.span))
}

impl<'a> Body<'_, 'a> {
    fn declare_this(&mut self, span: Span) {
        if let Owner::Class(class) = self.owner {
            let ty = self.class(class).ty;
            let (var, _) = self.declare_hidden("this", ty, VarKind::This, span);
            self.this = Some(var);
        }
    }

    /// Declares the parameters; gives the body's parameters, `this` first.
    fn declare_params(&mut self, names: impl Iterator<Item = &'a ast::Name>, types: &[Ty]) -> Vec<LocalId> {
        let mut params: Vec<LocalId> = self.this.map(|this| self.var(this).local).into_iter().collect();
        for (name, &ty) in names.zip(types) {
            params.push(self.declare_hidden(&name.text, ty, VarKind::Param, name.span).1);
        }
        params
    }

    fn function_block(&mut self, block: &'a ast::Block, slot: Slot) -> hir::Block {
        let (hir, _) = self.block(block, Want::Unused);
        if let Slot::Known(ret) = slot
            && !self.state.dead
            && !matches!(ret, Ty::UNIT | Ty::ERROR)
        {
            self.missing_return(ret, block.span, "function");
        }
        hir
    }

    fn function_expr(&mut self, e: &'a ast::Expr, slot: Slot, fun: FunId) -> hir::Block {
        let mark = self.infer.mark();
        let value = match slot {
            Slot::Known(Ty::NEVER) => {
                let value = self.expr(e, Want::Any);
                if !self.state.dead {
                    self.missing_return(Ty::NEVER, e.span, "function");
                }
                value
            }
            Slot::Known(ty) => self.value(e, ty),
            _ => self.expr(e, Want::Any),
        };
        self.settle(mark);
        if !matches!(slot, Slot::Known(_)) {
            let mut ty = self.resolved(value.ty);
            if ty == Ty::NULL {
                let problem = Diagnostic::new(Code::CannotInfer, e.span, "the result type cannot be inferred from `null`");
                self.report(problem.hint("write it after the parameters: `fun name(…): Type? = …`"));
                ty = Ty::ERROR;
            }
            let info = &mut self.ck.functions[fun.index()];
            if info.ret == Slot::InProgress {
                info.ret = Slot::Known(ty);
            }
        }
        self.expr_block(value, Want::Any).0
    }

    /// The initializer of a field or global, and the variable's type.
    fn initializer(&mut self, decl: &'a ast::VarDecl, known: Option<Ty>) -> (hir::Expr, Ty) {
        let mark = self.infer.mark();
        let (init, ty) = match known {
            Some(ty) => (self.value(&decl.init, ty), ty),
            None => {
                let init = self.expr(&decl.init, Want::Any);
                let ty = init.ty;
                (init, ty)
            }
        };
        self.settle(mark);
        let ty = self.resolved(ty);
        let ty = if known.is_none() { self.check_inferred(ty, decl) } else { ty };
        (init, ty)
    }

    fn scan_constructor(&mut self, decl: &'a ast::ClassDecl) {
        let names = || decl.params.iter().map(|p| &p.name);
        for member in &decl.members {
            match member {
                Member::Field(var) => self.assigned.scan_expr(names(), &var.init),
                Member::Init(block) => self.assigned.scan_block(names(), block),
                Member::Fun(_) => {}
            }
        }
        for arg in decl.supers.iter().filter_map(|s| s.args.as_ref()).flatten() {
            self.assigned.scan_expr(names(), arg);
        }
    }

    fn base_construction(&mut self, class: ClassId, decl: &'a ast::ClassDecl, out: &mut Vec<hir::Stmt>) {
        let Some(base) = self.class(class).base else { return };
        let TyKind::Class(base_class, base_args) = self.kind_of(base) else { return };
        let written = decl.supers.iter().find(|s| s.args.is_some());
        let (args, span): (&'a [ast::Expr], Span) = match written {
            Some(s) => (s.args.as_deref().unwrap_or(&[]), s.span),
            None => (&[], decl.name.span),
        };
        if base_class == self.known.object && args.is_empty() {
            return;
        }
        let Some(constructor) = self.class(base_class).constructor else { return };
        let names_it =
            |s: &ast::Super| matches!(&s.ty.kind, ast::TypeKind::Named { name, .. } if name.text == self.class(base_class).name.text);
        if !written.is_some_and(names_it) {
            // What is wrong was reported with the header.
            return;
        }
        self.before_this = true;
        let mark = self.infer.mark();
        let (params, _) = self.ck.signature(constructor, base_class, &base_args, &[]);
        let site = super::calls::CallSite { type_args: &[], args, want: Want::Unused, span };
        let name = self.class(base_class).name;
        let args = self.args(&params, Ty::UNIT, site, &name.text, name.span);
        self.settle(mark);
        self.before_this = false;
        self.ck.reach_class(base_class);
        out.push(stmt(StmtKind::Expr(expr(ExprKind::CallBaseInit { class: base, args }, Ty::UNIT, span)), span));
    }

    fn store_header_fields(&mut self, class: ClassId, decl: &'a ast::ClassDecl, params: &[LocalId], out: &mut Vec<hir::Stmt>) {
        let mut field = FieldId(0);
        for (param, &local) in decl.params.iter().zip(&params[1..]) {
            if param.field.is_none() {
                continue;
            }
            let span = param.name.span;
            let Some(object) = self.read_this(span) else { return };
            let ty = self.frame().locals[local.index()].ty;
            let value = expr(ExprKind::Local(local), ty, span);
            out.push(stmt(StmtKind::SetField { object, class, field, value }, span));
            field.0 += 1;
        }
    }

    /// From here on the name of a `var` parameter means the field, which may change.
    fn hide_var_fields(&mut self, decl: &'a ast::ClassDecl) {
        for param in decl.params.iter().filter(|p| p.field == Some(ast::Mutability::Var)) {
            self.names.remove(&*param.name.text);
        }
    }

    /// Field initializers and `init` blocks in order, as far as the initializer of `end`.
    fn initializers(&mut self, class: ClassId, decl: &'a ast::ClassDecl, end: Option<FieldId>, out: &mut Vec<hir::Stmt>) {
        let mut field = FieldId(decl.params.iter().filter(|p| p.field.is_some()).count() as u32);
        for member in &decl.members {
            match member {
                Member::Field(_) if end == Some(field) => return,
                Member::Field(var) => {
                    self.field_initializer(class, field, var, out);
                    field.0 += 1;
                }
                Member::Init(block) => {
                    let (block, ty) = self.block(block, Want::Unused);
                    let span = stmts_span(&block).unwrap_or(decl.name.span);
                    out.push(stmt(StmtKind::Expr(expr(ExprKind::Block(block), ty, span)), span));
                }
                Member::Fun(_) => {}
            }
        }
    }

    fn field_initializer(&mut self, class: ClassId, field: FieldId, decl: &'a ast::VarDecl, out: &mut Vec<hir::Stmt>) {
        let ty = self.ck.field_ty(class, field);
        let (value, _) = self.initializer(decl, Some(ty));
        let Some(object) = self.read_this(decl.name.span) else { return };
        out.push(stmt(StmtKind::SetField { object, class, field, value }, decl.span));
    }

    /// Hands over the finished body: types decided, closures' variables classified.
    fn finish(mut self, params: Vec<LocalId>, block: hir::Block) -> hir::Body {
        self.settle(0);
        let frame = self.frames.pop();
        let mut body = hir::Body { locals: frame.map_or_else(Vec::new, |f| f.locals), params, block };
        let object = self.object_ty();
        let any = self.types.nullable(object);
        finish::finish(&mut body, &mut self.ck.types, &self.infer, any);
        body
    }
}
