//! A check of finished HIR against the invariants that `hir` states, for tests: every value has the type its place wants, no type is undecided.
//!
//! In: a program. Out: the places that are wrong, as text.

use super::hir::*;
use super::types::{Ty, TyKind, TypeParamId};

pub fn verify(program: &mut Program) -> Vec<String> {
    let mut problems = Vec::new();
    let functions = std::mem::take(&mut program.functions);
    let globals = std::mem::take(&mut program.globals);
    {
        let mut v = Verify {
            program,
            functions: &functions,
            globals: &globals,
            problems: &mut problems,
            locals: Vec::new(),
            ret: Ty::UNIT,
            name: String::new(),
        };
        for function in &functions {
            if let FunctionKind::Body(body) = &function.kind {
                v.name = function.name.to_string();
                v.whole_body(body, function.ret);
            }
        }
        for global in &globals {
            v.name = global.name.to_string();
            v.whole_body(&global.init, global.ty);
        }
    }
    program.functions = functions;
    program.globals = globals;
    problems
}

struct Verify<'v> {
    program: &'v mut Program,
    functions: &'v [Function],
    globals: &'v [Global],
    problems: &'v mut Vec<String>,
    locals: Vec<Ty>,
    ret: Ty,
    name: String,
}

impl Verify<'_> {
    fn problem(&mut self, what: &str, have: Ty, want: Ty) {
        let (have, want) = (super::dump::type_name(self.program, have), super::dump::type_name(self.program, want));
        self.problems.push(format!("{}: {what}: {have}, not {want}", self.name));
    }

    fn fits(&mut self, what: &str, e: &Expr, want: Ty) {
        self.expr(e);
        if e.ty != want && e.ty != Ty::NEVER {
            self.problem(what, e.ty, want);
        }
    }

    fn decided(&mut self, what: &str, ty: Ty) {
        if self.program.types.has_infer(ty) || self.program.types.has_error(ty) || ty == Ty::NULL {
            self.problem(what, ty, Ty::UNIT);
        }
    }

    fn whole_body(&mut self, body: &Body, ret: Ty) {
        let outer =
            (std::mem::replace(&mut self.locals, body.locals.iter().map(|l| l.ty).collect()), std::mem::replace(&mut self.ret, ret));
        for local in &body.locals {
            self.decided("local", local.ty);
        }
        self.block(&body.block, Some(ret));
        (self.locals, self.ret) = outer;
    }

    /// `want` is the type of the block's value, if it has one.
    fn block(&mut self, block: &Block, want: Option<Ty>) {
        block.stmts.iter().for_each(|s| self.stmt(&s.kind));
        match (&block.value, want) {
            (Some(value), Some(want)) => self.fits("block value", value, want),
            (Some(value), None) => self.problem("value of a block without one", value.ty, Ty::UNIT),
            (None, _) => {}
        }
    }

    fn local(&self, local: LocalId) -> Ty {
        self.locals[local.index()]
    }

    fn field(&mut self, object: &Expr, class: ClassId, field: FieldId) -> Ty {
        let ty = self.program.classes[class.index()].fields[field.index()].ty;
        let Some(args) = self.args_of(object.ty, class) else {
            self.problem("object of a field", object.ty, Ty::UNIT);
            return ty;
        };
        self.replace(ty, &self.program.classes[class.index()].type_params.clone(), &args)
    }

    fn replace(&mut self, ty: Ty, params: &[TypeParamId], args: &[Ty]) -> Ty {
        super::decls::substitute(&mut self.program.types, ty, params, args)
    }

    /// Arguments of `class` as a supertype of `ty`.
    fn args_of(&mut self, ty: Ty, class: ClassId) -> Option<Vec<Ty>> {
        let k = self.program.known.clone();
        match self.program.types.kind(ty).clone() {
            TyKind::Int => self.args_of_class(k.int, &[], class),
            TyKind::Float => self.args_of_class(k.float, &[], class),
            TyKind::Bool => self.args_of_class(k.bool, &[], class),
            TyKind::Class(c, args) => self.args_of_class(c, &args, class).or((class == k.object).then(Vec::new)),
            TyKind::Fun(..) => (class == k.object).then(Vec::new),
            TyKind::Param(p) => {
                let bounds = self.program.type_params[p.0 as usize].bounds.clone();
                bounds.into_iter().find_map(|b| self.args_of(b, class)).or((class == k.object).then(Vec::new))
            }
            _ => None,
        }
    }

    fn args_of_class(&mut self, c: ClassId, args: &[Ty], class: ClassId) -> Option<Vec<Ty>> {
        if c == class {
            return Some(args.to_vec());
        }
        let info = &self.program.classes[c.index()];
        let (params, supers) = (info.type_params.clone(), info.base.iter().chain(&info.interfaces).copied().collect::<Vec<_>>());
        supers.into_iter().find_map(|up| {
            let up = self.replace(up, &params, args);
            self.args_of(up, class)
        })
    }

    fn stmt(&mut self, stmt: &StmtKind) {
        match stmt {
            StmtKind::Let { local, init } | StmtKind::SetLocal { local, value: init } => self.fits("local", init, self.local(*local)),
            StmtKind::SetGlobal { global, value } => self.fits("global", value, self.globals[global.index()].ty),
            StmtKind::SetField { object, class, field, value } => {
                self.expr(object);
                let ty = self.field(object, *class, *field);
                self.fits("field", value, ty);
            }
            StmtKind::SetIndex { object, index, value } => {
                self.expr(object);
                self.fits("index", index, Ty::INT);
                let ty = self.element(object.ty);
                self.fits("element", value, ty);
            }
            StmtKind::Expr(e) => self.expr(e),
            StmtKind::While { cond, body } => {
                self.fits("condition", cond, Ty::BOOL);
                self.block(body, None);
            }
            StmtKind::ForRange { local, start, end, step, body, .. } => {
                self.fits("start", start, Ty::INT);
                self.fits("end", end, Ty::INT);
                if self.local(*local) != Ty::INT || *step == 0 {
                    self.problem("for", self.local(*local), Ty::INT);
                }
                self.block(body, None);
            }
            StmtKind::ForArray { local, array, body } => {
                self.expr(array);
                let ty = self.element(array.ty);
                if self.local(*local) != ty {
                    self.problem("for over an array", self.local(*local), ty);
                }
                self.block(body, None);
            }
            StmtKind::Lock { mutex, body } => {
                let ty = self.program.known.mutex;
                let ty = self.program.types.class(ty, &[]);
                self.fits("mutex", mutex, ty);
                self.block(body, None);
            }
        }
    }

    fn element(&mut self, ty: Ty) -> Ty {
        match self.program.types.kind(ty) {
            TyKind::Class(c, args) if *c == self.program.known.array => args[0],
            _ => Ty::INT,
        }
    }

    fn all(&mut self, what: &str, args: &[Expr], types: &[Ty]) {
        if args.len() != types.len() {
            self.problem(what, Ty::UNIT, Ty::UNIT);
        }
        args.iter().zip(types).for_each(|(a, &t)| self.fits(what, a, t));
    }

    fn call(&mut self, e: &Expr, fun: FunId, params: &[TypeParamId], given: &[Ty], args: &[Expr]) {
        let f = &self.functions[fun.index()];
        given.iter().for_each(|&t| self.decided("type argument", t));
        let types: Vec<Ty> = f.params.iter().map(|&p| self.replace(p, params, given)).collect();
        self.all(&f.name, args, &types);
        let ret = self.replace(f.ret, params, given);
        if ret != e.ty {
            self.problem("result", e.ty, ret);
        }
        if matches!(f.kind, FunctionKind::Unused) {
            self.problems.push(format!("{}: {} is called but was not checked", self.name, f.name));
        }
    }

    fn class_of(&self, ty: Ty) -> Option<(ClassId, Vec<Ty>)> {
        match self.program.types.kind(ty) {
            TyKind::Class(c, args) => Some((*c, args.to_vec())),
            _ => None,
        }
    }

    fn expr(&mut self, e: &Expr) {
        if self.program.types.has_infer(e.ty) || self.program.types.has_error(e.ty) || (e.ty == Ty::NULL) {
            self.problem("undecided type", e.ty, Ty::UNIT);
        }
        let str = self.program.types.class(self.program.known.str, &[]);
        match &e.kind {
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Unit
            | ExprKind::Str(_)
            | ExprKind::Break
            | ExprKind::Continue => {}
            ExprKind::Null => {
                if !matches!(self.program.types.kind(e.ty), TyKind::Nullable(_)) {
                    self.problem("null", e.ty, Ty::UNIT);
                }
            }
            ExprKind::Local(local) => {
                if self.local(*local) != e.ty {
                    self.problem("read of a local", e.ty, self.local(*local));
                }
            }
            ExprKind::Global(global) => {
                if self.globals[global.index()].ty != e.ty {
                    self.problem("read of a global", e.ty, self.globals[global.index()].ty);
                }
            }
            ExprKind::Field { object, class, field } => {
                self.expr(object);
                let ty = self.field(object, *class, *field);
                if ty != e.ty {
                    self.problem("read of a field", e.ty, ty);
                }
            }
            ExprKind::Length(object) => self.expr(object),
            ExprKind::Index { object, index } => {
                self.expr(object);
                self.fits("index", index, Ty::INT);
                let ty = self.element(object.ty);
                if ty != e.ty {
                    self.problem("element", e.ty, ty);
                }
            }
            ExprKind::CallFun { fun, type_args, args } => {
                let params = self.functions[fun.index()].type_params.clone();
                self.call(e, *fun, &params, type_args, args);
            }
            ExprKind::CallMethod { receiver, fun, type_args, args, .. } => {
                self.expr(receiver);
                let f = &self.functions[fun.index()];
                let Some(owner) = f.owner else { return self.problem("method without class", e.ty, e.ty) };
                let Some(mut given) = self.args_of(receiver.ty, owner) else { return self.problem("receiver", receiver.ty, e.ty) };
                given.extend(type_args);
                let params: Vec<TypeParamId> =
                    self.program.classes[owner.index()].type_params.iter().chain(&f.type_params).copied().collect();
                self.call(e, *fun, &params, &given, args);
            }
            ExprKind::CallClosure { callee, args } => {
                self.expr(callee);
                match self.program.types.kind(callee.ty).clone() {
                    TyKind::Fun(params, ret) if ret == e.ty => self.all("closure's argument", args, &params),
                    _ => self.problem("callee", callee.ty, e.ty),
                }
            }
            ExprKind::CallBaseInit { class, args } => self.construct(*class, args),
            ExprKind::New { args } => self.construct(e.ty, args),
            ExprKind::NewArray { len, fill } => {
                self.fits("length", len, Ty::INT);
                let ty = self.element(e.ty);
                fill.iter().for_each(|f| self.fits("fill", f, ty));
            }
            ExprKind::ArrayLit(items) => {
                let ty = self.element(e.ty);
                items.iter().for_each(|item| self.fits("item", item, ty));
            }
            ExprKind::Lambda(lambda) => {
                for capture in &lambda.captures {
                    let (outer, inner) = (self.local(capture.outer), lambda.body.locals[capture.inner.index()].ty);
                    if outer != inner {
                        self.problem("capture", inner, outer);
                    }
                }
                let params: Vec<Ty> = lambda.body.params.iter().map(|p| lambda.body.locals[p.index()].ty).collect();
                let ty = self.program.types.fun(&params, lambda.ret);
                if ty != e.ty {
                    self.problem("closure", e.ty, ty);
                }
                self.whole_body(&lambda.body, lambda.ret);
            }
            ExprKind::FunRef { type_args, .. } => type_args.iter().for_each(|&t| self.decided("type argument", t)),
            ExprKind::Concat(parts) => parts.iter().for_each(|p| self.expr(p)),
            ExprKind::Unary { operand, .. } => self.fits("operand", operand, e.ty),
            ExprKind::Binary { left, right, .. } => {
                self.expr(left);
                self.expr(right);
                let ok = left.ty == right.ty || left.ty == Ty::NEVER || right.ty == Ty::NEVER;
                if !ok || ![Ty::INT, Ty::FLOAT, Ty::BOOL, Ty::NEVER, str].contains(&left.ty) {
                    self.problem("operands", left.ty, right.ty);
                }
            }
            ExprKind::Equals { left, right, .. } | ExprKind::Same { left, right, .. } => {
                self.expr(left);
                self.expr(right);
                if left.ty != right.ty && left.ty != Ty::NEVER && right.ty != Ty::NEVER {
                    self.problem("compared", left.ty, right.ty);
                }
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.fits("condition", a, Ty::BOOL);
                self.fits("condition", b, Ty::BOOL);
            }
            ExprKind::If { cond, then, els } => {
                self.fits("condition", cond, Ty::BOOL);
                let want = Some(e.ty);
                self.block(then, if els.is_some() { want } else { None });
                els.iter().for_each(|b| self.block(b, want));
            }
            ExprKind::Match { subject, init, arms } => {
                self.fits("subject", init, self.local(*subject));
                arms.iter().for_each(|arm| self.block(&arm.body, Some(e.ty)));
            }
            ExprKind::Try { body, catches, finally } => {
                self.block(body, Some(e.ty));
                catches.iter().for_each(|c| self.block(&c.body, Some(e.ty)));
                finally.iter().for_each(|b| self.block(b, None));
            }
            ExprKind::Block(block) => self.block(block, Some(e.ty)),
            ExprKind::Convert(inner) => self.expr(inner),
            ExprKind::Cast { value, .. } | ExprKind::Is { value, .. } | ExprKind::NonNull(value) | ExprKind::Throw(value) => {
                self.expr(value)
            }
            ExprKind::Return(value) => {
                let ret = self.ret;
                match value {
                    Some(value) => self.fits("return", value, ret),
                    None if ret != Ty::UNIT => self.problem("return", Ty::UNIT, ret),
                    None => {}
                }
            }
        }
    }

    fn construct(&mut self, ty: Ty, args: &[Expr]) {
        let Some((class, given)) = self.class_of(ty) else { return self.problem("constructed", ty, ty) };
        given.iter().for_each(|&t| self.decided("type argument", t));
        let info = &self.program.classes[class.index()];
        let params = info.type_params.clone();
        let Some(constructor) = info.constructor else { return self.problem("constructed", ty, ty) };
        let types: Vec<Ty> = self.functions[constructor.index()].params.iter().map(|&p| self.replace(p, &params, &given)).collect();
        self.all("constructor's argument", args, &types);
    }
}
