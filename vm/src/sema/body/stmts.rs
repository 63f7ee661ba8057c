//! Statements: declarations, assignments, loops.

use super::members::Resolved;
use super::{Body, Loop, VarKind, Want, expr, stmt};
use crate::diag::{Code, Diagnostic};
use crate::sema::decls::{ClassSource, Owner, ValueName};
use crate::sema::flow::{State, VarId};
use crate::sema::hir::{self, ExprKind, LocalId, StmtKind};
use crate::sema::members::Found;
use crate::sema::show::article;
use crate::sema::types::{Ty, TyKind};
use crate::source::Span;
use crate::syntax::ast::{self, Mutability};

/// Something that can be assigned to, its parts evaluated.
enum Place {
    Local(VarId),
    Global(hir::GlobalId),
    Field {
        object: hir::Expr,
        class: hir::ClassId,
        field: hir::FieldId,
    },
    /// Of an `Array` or `Bytes`.
    Element {
        object: hir::Expr,
        index: hir::Expr,
    },
    /// `get` and `set` methods.
    Methods {
        object: hir::Expr,
        index: hir::Expr,
    },
}

impl<'a> Body<'_, 'a> {
    /// Checks a block in a scope of its own.
    pub fn block(&mut self, block: &'a ast::Block, want: Want) -> (hir::Block, Ty) {
        let mark = self.open_scope();
        let result = self.block_here(block, want);
        self.close_scope(mark);
        result
    }

    fn block_here(&mut self, block: &'a ast::Block, want: Want) -> (hir::Block, Ty) {
        let mut out = Vec::new();
        let last = match (want, block.stmts.split_last()) {
            (Want::Any | Want::Type(_), Some((last, rest))) if matches!(last.kind, ast::StmtKind::Expr(_)) => {
                rest.iter().for_each(|s| self.stmt(s, &mut out));
                Some(last)
            }
            _ => {
                block.stmts.iter().for_each(|s| self.stmt(s, &mut out));
                None
            }
        };
        if want == Want::Unused {
            let ty = if self.state.dead { Ty::NEVER } else { Ty::UNIT };
            return (hir::Block { stmts: out, value: None }, ty);
        }
        let Some(ast::Stmt { kind: ast::StmtKind::Expr(e), .. }) = last else {
            let end = Span::new(block.span.hi.saturating_sub(1).max(block.span.lo), block.span.hi);
            let (value, ty) = self.no_value(end);
            return (hir::Block { stmts: out, value }, ty);
        };
        let value = match want {
            Want::Type(t) if self.bare_infer(t).is_none() => self.value(e, t),
            _ => self.expr(e, want),
        };
        let (mut block, ty) = self.expr_block(value, want);
        out.append(&mut block.stmts);
        (hir::Block { stmts: out, value: block.value }, ty)
    }

    pub fn stmt(&mut self, s: &'a ast::Stmt, out: &mut Vec<hir::Stmt>) {
        let mark = self.infer.mark();
        match &s.kind {
            ast::StmtKind::Var(decl) => self.var_stmt(decl, s.span, out),
            ast::StmtKind::Assign { target, op, op_span, value } => self.assign_stmt(target, *op, *op_span, value, s.span, out),
            ast::StmtKind::Expr(e) => {
                let e = self.expr(e, Want::Unused);
                let e = self.plain_null(e);
                out.push(stmt(StmtKind::Expr(e), s.span));
            }
            ast::StmtKind::While { cond, body } => self.while_stmt(cond, body, s.span, out),
            ast::StmtKind::For { var, iter, step, body } => self.for_stmt(var, iter, step.as_ref(), body, s.span, out),
            ast::StmtKind::Lock { mutex, body } => {
                let wanted = self.known.mutex;
                let wanted = self.types.class(wanted, &[]);
                let mutex = self.value(mutex, wanted);
                let (body, _) = self.block(body, Want::Unused);
                out.push(stmt(StmtKind::Lock { mutex, body }, s.span));
            }
            // It may have been meant to return, or to be a value.
            ast::StmtKind::Error => self.state.dead = true,
        }
        self.settle(mark);
    }

    fn var_stmt(&mut self, decl: &'a ast::VarDecl, span: Span, out: &mut Vec<hir::Stmt>) {
        let kind = if decl.mutability == Mutability::Let { VarKind::Let } else { VarKind::Var };
        let mark = self.infer.mark();
        let (init, ty, found) = match &decl.ty {
            Some(written) => {
                let ty = self.ck.resolve_type(&self.ty_scope, written);
                let init = self.expr(&decl.init, Want::Type(ty));
                let found = init.ty;
                (self.coerce(init, ty), ty, found)
            }
            None => {
                let init = self.expr(&decl.init, Want::Any);
                self.settle(mark);
                let ty = self.resolved(init.ty);
                let ty = self.check_inferred(ty, decl);
                (init, ty, ty)
            }
        };
        let (var, local) = self.declare(&decl.name, ty, kind);
        self.narrow_assigned(var, found);
        out.push(stmt(StmtKind::Let { local, init }, span));
    }

    /// A type found for a variable without one; `Error` where nothing can have it (reported).
    pub fn check_inferred(&mut self, ty: Ty, decl: &ast::VarDecl) -> Ty {
        let problem = match ty {
            Ty::NULL => Diagnostic::new(
                Code::CannotInfer,
                decl.name.span,
                format!("the type of `{}` cannot be inferred from `null`", decl.name.text),
            )
            .hint(format!("write it: `{}: Type? = null`", decl.name.text)),
            Ty::NEVER => Diagnostic::new(Code::CannotInfer, decl.name.span, format!("`{}` never gets a value", decl.name.text)),
            _ => return ty,
        };
        self.report(problem);
        Ty::ERROR
    }

    // Assignments.

    fn assign_stmt(
        &mut self,
        target: &'a ast::Expr,
        op: Option<ast::BinaryOp>,
        op_span: Span,
        value: &'a ast::Expr,
        span: Span,
        out: &mut Vec<hir::Stmt>,
    ) {
        let Some((mut place, ty)) = self.place(target) else {
            self.expr(value, Want::Any);
            return;
        };
        let Some(op) = op else {
            let value = self.expr(value, Want::Type(ty));
            return self.store(place, value, ty, span, out);
        };
        self.evaluate_once(&mut place, out);
        let read = self.read_place(&place, ty, target.span);
        let right = self.expr(value, Want::Any);
        let result = self.arithmetic(op, read, right, op_span, span);
        self.store(place, result, ty, span, out);
    }

    fn place(&mut self, target: &'a ast::Expr) -> Option<(Place, Ty)> {
        match &target.kind {
            ast::ExprKind::Name(name) => self.named_place(name),
            ast::ExprKind::Field { object, name, safe } => {
                if *safe {
                    self.expr(object, Want::Any);
                    let problem = Diagnostic::new(Code::BadAssignTarget, target.span, "`?.` cannot be assigned to");
                    self.report(problem.hint("test the object for null first"));
                    return None;
                }
                if let Some(value) = self.namespace_member(object, name) {
                    return self.value_place(value?, name);
                }
                let object = self.expr(object, Want::Any);
                let (object, found, field) = self.find_field(object, name)?;
                self.field_place(object, (found, field), name)
            }
            ast::ExprKind::Index { object, index } => self.index_place(object, index),
            ast::ExprKind::Error => None,
            _ => {
                self.error(Code::BadAssignTarget, target.span, "this cannot be assigned to");
                None
            }
        }
    }

    fn named_place(&mut self, name: &'a ast::Name) -> Option<(Place, Ty)> {
        if let Some(var) = self.lookup_var(&name.text) {
            let v = self.var(var);
            let (ty, kind, first) = (v.ty, v.kind, v.span);
            let what = match kind {
                VarKind::Var => return Some((Place::Local(var), ty)),
                VarKind::Let => "declared with `let`",
                VarKind::Bound => "bound by a pattern",
                VarKind::Param => "a parameter",
                VarKind::Loop => "the variable of a loop",
                VarKind::This => "`this`",
            };
            let problem = Diagnostic::new(Code::AssignImmutable, name.span, format!("`{}` cannot be assigned: it is {what}", name.text));
            let hint = match kind {
                VarKind::Let => "declare it with `var`",
                VarKind::Param if self.is_header_field(first) => "write `var` before it in the class's header",
                _ => "copy it to a `var` first",
            };
            self.report(problem.secondary(first, "declared here").hint(hint));
            return None;
        }
        if self.find_name(&name.text).is_none() && self.near_name(&name.text).is_none() && !self.may_inherit_names() {
            let problem = Diagnostic::new(Code::UnknownName, name.span, format!("there is no `{}` here", name.text));
            self.report(problem.hint(format!("declare it: `var {} = …`", name.text)));
            return None;
        }
        match self.resolve_name(name)? {
            Resolved::Member(found) => {
                let this = self.read_this(name.span)?;
                let field = self.as_field(&found, name)?;
                self.field_place(this, (found, field), name)
            }
            Resolved::Value(value) => self.value_place(value, name),
            Resolved::Class(_) => {
                self.error(Code::BadAssignTarget, name.span, format!("`{}` is a class and cannot be assigned to", name.text));
                None
            }
        }
    }

    /// Whether the parameter declared there is a field as well, as those of a class's header may be.
    fn is_header_field(&self, declared: Span) -> bool {
        let Owner::Class(class) = self.owner else { return false };
        let ClassSource::Class(decl) = self.class(class).source else { return false };
        decl.params.iter().any(|p| p.field.is_some() && p.name.span == declared)
    }

    fn value_place(&mut self, value: ValueName, name: &'a ast::Name) -> Option<(Place, Ty)> {
        let ValueName::Global(global) = value else {
            self.error(Code::BadAssignTarget, name.span, format!("`{}` is no variable", name.text));
            return None;
        };
        let decl = self.globals[global.index()].decl;
        if decl.mutability == Mutability::Let {
            let library = self.globals[global.index()].library;
            self.immutable(name, decl.name.span, if library { "copy it to a `var` first" } else { "declare it with `var`" });
        }
        Some((Place::Global(global), self.ck.global_ty(global)))
    }

    fn field_place(&mut self, object: hir::Expr, found: (Found, hir::FieldId), name: &'a ast::Name) -> Option<(Place, Ty)> {
        let (found, field) = found;
        let info = &self.class(found.class).fields[field.index()];
        let (mutable, first) = (info.mutable, info.name.span);
        if !mutable {
            let library = self.class(found.class).library;
            self.immutable(name, first, if library { "make a new object with the other value" } else { "declare it with `var`" });
        }
        let ty = self.field_type(&found, field);
        Some((Place::Field { object, class: found.class, field }, ty))
    }

    fn immutable(&mut self, name: &ast::Name, first: Span, hint: &str) {
        let problem =
            Diagnostic::new(Code::AssignImmutable, name.span, format!("`{}` cannot be assigned: it is declared with `let`", name.text));
        self.report(problem.secondary(first, "declared here").hint(hint));
    }

    fn index_place(&mut self, object: &'a ast::Expr, index: &'a ast::Expr) -> Option<(Place, Ty)> {
        let object = self.expr(object, Want::Any);
        match self.element_type(&object) {
            Some(ty) => {
                let index = self.value(index, Ty::INT);
                let str = self.str_ty();
                if self.shallow(object.ty) == str {
                    let problem = Diagnostic::new(Code::AssignImmutable, object.span, "a `Str` cannot be changed");
                    self.report(problem.hint("collect the pieces in a `StringBuilder`, or change its `toBytes()`"));
                    return None;
                }
                Some((Place::Element { object, index }, ty))
            }
            None => {
                let (params, _) = self.accessor(&object, "set", 2, object.span)?;
                let index = self.value(index, params[0]);
                Some((Place::Methods { object, index }, params[1]))
            }
        }
    }

    /// Puts the parts of a place into variables, so that reading and writing it evaluates them once.
    fn evaluate_once(&mut self, place: &mut Place, out: &mut Vec<hir::Stmt>) {
        match place {
            Place::Local(_) | Place::Global(_) => {}
            Place::Field { object, .. } => self.hold(object, out),
            Place::Element { object, index } | Place::Methods { object, index } => {
                self.hold(object, out);
                self.hold(index, out);
            }
        }
    }

    fn hold(&mut self, e: &mut hir::Expr, out: &mut Vec<hir::Stmt>) {
        if matches!(e.kind, ExprKind::Int(_)) {
            return;
        }
        let (ty, span) = (e.ty, e.span);
        let value = std::mem::replace(e, super::unit_expr(span));
        let local = self.temp(value, out);
        *e = expr(ExprKind::Local(local), ty, span);
    }

    /// Reads a place that is held.
    fn read_place(&mut self, place: &Place, ty: Ty, span: Span) -> hir::Expr {
        match place {
            Place::Local(var) => self.read_var(*var, span),
            Place::Global(global) => expr(ExprKind::Global(*global), ty, span),
            Place::Field { object, class, field } => {
                expr(ExprKind::Field { object: Box::new(held(object)), class: *class, field: *field }, ty, span)
            }
            Place::Element { object, index } => {
                expr(ExprKind::Index { object: Box::new(held(object)), index: Box::new(held(index)) }, ty, span)
            }
            Place::Methods { object, index } => match self.accessor(object, "get", 1, span) {
                Some(_) => self.call_accessor("get", held(object), vec![held(index)], span),
                None => super::error_expr(span),
            },
        }
    }

    fn store(&mut self, place: Place, value: hir::Expr, ty: Ty, span: Span, out: &mut Vec<hir::Stmt>) {
        let found = value.ty;
        let value = self.coerce(value, ty);
        let kind = match place {
            Place::Local(var) => {
                self.narrow_assigned(var, found);
                StmtKind::SetLocal { local: self.local_of(var), value }
            }
            Place::Global(global) => StmtKind::SetGlobal { global, value },
            Place::Field { object, class, field } => StmtKind::SetField { object, class, field, value },
            Place::Element { object, index } => StmtKind::SetIndex { object, index, value },
            Place::Methods { object, index } => StmtKind::Expr(self.call_accessor("set", object, vec![index, value], span)),
        };
        out.push(stmt(kind, span));
    }

    // Loops.

    fn while_stmt(&mut self, cond: &'a ast::Expr, body: &'a ast::Block, span: Span, out: &mut Vec<hir::Stmt>) {
        self.widen(span);
        self.frame().repeating.push(span);
        let cond = self.cond(cond);
        self.state = cond.holds;
        let (body, breaks) = self.loop_body(body);
        self.frame().repeating.pop();
        self.state = self.join_states(cond.fails, breaks);
        out.push(stmt(StmtKind::While { cond: cond.expr, body }, span));
    }

    /// Checks the body of a loop; also gives the state at its `break`s.
    fn loop_body(&mut self, body: &'a ast::Block) -> (hir::Block, State) {
        self.frame().loops.push(Loop { breaks: State::unreachable() });
        let (block, _) = self.block(body, Want::Unused);
        let breaks = self.frame().loops.pop().map_or_else(State::unreachable, |l| l.breaks);
        (block, breaks)
    }

    fn for_stmt(
        &mut self,
        var: &'a ast::Name,
        iter: &'a ast::Expr,
        step: Option<&'a ast::Expr>,
        body: &'a ast::Block,
        span: Span,
        out: &mut Vec<hir::Stmt>,
    ) {
        if let ast::ExprKind::Range { start, end, inclusive } = &iter.kind {
            let start = self.value(start, Ty::INT);
            let end = self.value(end, Ty::INT);
            let step = self.step(step);
            let (local, body) = self.for_body(var, Ty::INT, body, span);
            return out.push(stmt(StmtKind::ForRange { local, start, end, inclusive: *inclusive, step, body }, span));
        }
        let source = self.expr(iter, Want::Any);
        if let Some(step) = step {
            let problem = Diagnostic::new(Code::BadStep, step.span, "`step` is only for ranges that stand in the `for`");
            self.report(problem.hint("write the range as `a..b`"));
        }
        let array = match self.kind_of(source.ty) {
            TyKind::Class(c, args) if c == self.known.array => Some(args[0]),
            TyKind::Class(c, _) if c == self.known.bytes => Some(Ty::INT),
            _ => None,
        };
        match array {
            Some(element) => {
                let (local, body) = self.for_body(var, element, body, span);
                out.push(stmt(StmtKind::ForArray { local, array: source, body }, span));
            }
            None => self.for_iterable(var, source, body, span, out),
        }
    }

    fn for_body(&mut self, var: &'a ast::Name, ty: Ty, body: &'a ast::Block, span: Span) -> (LocalId, hir::Block) {
        self.widen(span);
        let before = self.state.clone();
        let mark = self.open_scope();
        let (_, local) = self.declare(var, ty, VarKind::Loop);
        self.frame().repeating.push(span);
        let (body, breaks) = self.loop_body(body);
        self.frame().repeating.pop();
        self.close_scope(mark);
        self.state = self.join_states(before, breaks);
        (local, body)
    }

    /// `let it = e.iterator(); while it.hasNext() { let x = it.next(); … }`
    fn for_iterable(&mut self, var: &'a ast::Name, source: hir::Expr, body: &'a ast::Block, span: Span, out: &mut Vec<hir::Stmt>) {
        let at = source.span;
        let Some(element) = self.iterated_type(&source) else {
            self.for_body(var, Ty::ERROR, body, span);
            return;
        };
        let iterator = self.call_named("iterator", source, at);
        let iterator = self.temp(iterator, out);
        let iterator_ty = self.frame().locals[iterator.index()].ty;
        let read = |local| expr(ExprKind::Local(local), iterator_ty, at);
        let cond = self.call_named("hasNext", read(iterator), at);
        let next = self.call_named("next", read(iterator), at);
        let (local, mut body) = self.for_body(var, element, body, span);
        let next = self.coerce(next, element);
        body.stmts.insert(0, stmt(StmtKind::Let { local, init: next }, var.span));
        out.push(stmt(StmtKind::While { cond, body }, span));
    }

    /// The element type of an `Iterable`; reports other things.
    fn iterated_type(&mut self, source: &hir::Expr) -> Option<Ty> {
        let ty = self.resolved(source.ty);
        let iterable = self.known.iterable;
        let found = match self.kind_of(ty) {
            TyKind::Error => return None,
            TyKind::Class(c, args) => self.as_super(c, &args, iterable),
            TyKind::Param(p) => self.param_as_super(p, iterable),
            _ => None,
        };
        if let Some(args) = found {
            return args.first().copied();
        }
        if self.is_half_known(ty) {
            return None;
        }
        let (shown, str) = (self.show_ty(ty), self.str_ty());
        let problem = Diagnostic::new(Code::NotIterable, source.span, format!("`for` cannot walk {a_shown}", a_shown = article(&shown)));
        let is_map = matches!(self.kind_of(ty), TyKind::Class(c, _) if self.class(c).library && &*self.class(c).name.text == "Map");
        let hint = match ty {
            _ if is_map => Some("walk its `entries()`, each a `Pair` with `first` and `second`, its `keys()` or its `values()`"),
            Ty::INT => Some("to count, write a range: `0..<n`"),
            t if t == str => Some("walk its `toBytes()` or its `codePoints()`"),
            t if self.non_null(t).is_some() => Some(self.null_test_hint(source)),
            _ => Some("only ranges, arrays, `Bytes` and what implements `Iterable<T>` can be walked"),
        };
        self.report(problem.maybe_hint(hint.map(str::to_string)));
        None
    }

    fn step(&mut self, step: Option<&'a ast::Expr>) -> i64 {
        let Some(e) = step else { return 1 };
        match self.constant(e) {
            Some(hir::Pattern::Int(0)) => {
                self.error(Code::BadStep, e.span, "a step of 0 never ends");
                1
            }
            Some(hir::Pattern::Int(n)) => n,
            Some(_) => {
                self.error(Code::TypeMismatch, e.span, "a step is an `Int`");
                1
            }
            None => 1,
        }
    }
}

fn held(e: &hir::Expr) -> hir::Expr {
    let kind = match e.kind {
        ExprKind::Local(local) => ExprKind::Local(local),
        ExprKind::Int(n) => ExprKind::Int(n),
        _ => ExprKind::Unit,
    };
    expr(kind, e.ty, e.span)
}
