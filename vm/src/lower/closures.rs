//! Closures and function references.
//!
//! A closure is an object of a class of its own, below the class of its function type; captured variables are its fields: their values, or the cells of those that are assigned.
//! A function reference is such an object without fields, made once when the program starts.

use super::body::{FnLower, Place};
use super::entry::FunRef;
use super::functions::{Captured, Code, Job};
use crate::sema::hir::{Expr, FunId, Lambda};
use crate::sema::types::{Ty, TyKind};
use jit::ir::{self, ClassId, FuncId, Loc, Op, TypeDesc, Value};

impl<'a> FnLower<'_, 'a> {
    pub(super) fn closure(&mut self, expr: &'a Expr, lambda: &'a Lambda) -> Value {
        let at = Loc(expr.span.lo);
        let ty = self.ty(expr.ty);
        // The function type's result: a body that never returns may have it too.
        let ret = match *self.cx.types.kind(ty) {
            TyKind::Fun(_, ret) => ret,
            _ => self.ty(lambda.ret),
        };
        let function_class = self.cx.class_of(ty);
        let name = self.cx.closure_name(at);
        let params: Vec<Ty> = lambda.body.params.iter().map(|p| lambda.body.locals[p.index()].ty).collect();
        let params: Vec<Ty> = params.into_iter().map(|t| self.ty(t)).collect();

        let (fields, values) = self.captures(lambda);
        let func = self.cx.declare_function(&name, Vec::new(), ret, at);
        let class = self.cx.closure_class(&name, function_class, func, &fields);
        let params = params.into_iter().map(|t| self.cx.desc(t)).collect();
        self.cx.set_closure_params(func, class, params);
        let field_ids = self.cx.module.classes[class].fields.clone();
        let captures = lambda.captures.iter().zip(&field_ids).map(|(capture, &field)| Captured {
            field,
            local: capture.inner,
            boxed: matches!(self.place(capture.outer), Place::Cell(..)),
            is_this: self.this == Some(capture.outer),
        });
        let captures = captures.collect();
        let code = Code::Closure { body: &lambda.body, captures };
        self.cx.jobs.push_back(Job { func, subst: self.subst.clone(), code, ret, span: expr.span });

        let object = self.value(Op::New(class), at);
        for (&field, value) in field_ids.iter().zip(values) {
            self.op_safe_effect(Op::store_field(field, object, value), at);
        }
        object
    }

    /// Fields for the captured variables, and what goes into them.
    fn captures(&mut self, lambda: &'a Lambda) -> (Vec<(Box<str>, TypeDesc)>, Vec<Value>) {
        let (mut fields, mut values) = (Vec::new(), Vec::new());
        for capture in &lambda.captures {
            let name = lambda.body.locals[capture.inner.index()].name.clone();
            let ty = self.local_ty(capture.outer);
            let (desc, value) = match self.place(capture.outer) {
                Place::Variable(variable) => (self.cx.desc(ty), self.b.use_var(variable)),
                Place::Cell(variable, _) => {
                    let (class, _) = self.cx.cell(ty);
                    (TypeDesc::Ref { class, nullable: false }, self.b.use_var(variable))
                }
            };
            fields.push((name, desc));
            values.push(value);
        }
        (fields, values)
    }

    pub(super) fn fun_ref(&mut self, expr: &'a Expr, fun: FunId, type_args: &[Ty]) -> Value {
        let type_args = self.tys(type_args);
        let ty = self.ty(expr.ty);
        let target = self.cx.function(fun, None, &type_args);
        let reference = self.cx.fun_ref(target, ty);
        self.op_safe(Op::LoadGlobal(reference.global), Loc(expr.span.lo))
    }
}

impl super::Cx<'_> {
    /// `closure at main.lang:3`
    fn closure_name(&self, at: Loc) -> String {
        let Some((file, place)) = self.map.line_col(at.0) else { return "closure".to_string() };
        let path = &self.map.file(file).path;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        format!("closure at {name}:{}", place.line)
    }

    /// A method of a closure's class: the closure itself comes before the parameters.
    fn set_closure_params(&mut self, func: FuncId, class: ClassId, params: Vec<TypeDesc>) {
        let this = TypeDesc::Ref { class, nullable: false };
        self.module.funcs[func].params = std::iter::once(this).chain(params).collect();
    }

    /// The object that stands for the name of `target`, as a value of function type `ty`.
    fn fun_ref(&mut self, target: FuncId, ty: Ty) -> FunRef {
        if let Some(&known) = self.fun_refs.get(&target) {
            return known;
        }
        let data = &self.module.funcs[target];
        let (name, params, loc) = (data.name.clone(), data.params.clone(), data.loc);
        let ret = self.function_ret(target);
        let function_class = self.class_of(ty);
        let wrapper = self.declare_function(&format!("{name} (reference)"), Vec::new(), ret, loc);
        let class = self.closure_class(&name, function_class, wrapper, &[]);
        let arity = params.len();
        self.set_closure_params(wrapper, class, params);

        let mut lowering = FnLower::new(self, wrapper, None, [].into(), ret);
        let args: Vec<Value> = (0..arity).map(|i| lowering.param(i + 1)).collect();
        if let Ok((value, _)) = lowering.call_direct(target, &args, loc) {
            lowering.ret(value, loc);
        }
        lowering.finish();

        let ty = TypeDesc::Ref { class, nullable: false };
        let global = self.module.globals.push(ir::Global { name: format!("reference to {name}").into(), ty });
        let reference = FunRef { global, class };
        self.fun_refs.insert(target, reference);
        reference
    }
}
