//! Calls: functions, methods, closures, constructors.
//!
//! Direct calls go to what can have no override: functions, constructors, `super` calls, methods with type parameters of their own, methods of primitives, of the built-in final classes, and of an object made
//! on the spot. Every other method call stays virtual, even where only one function can answer: finding that out is the optimizer's work, whose effect is to be measured.

use super::body::{Flow, FnLower};
use super::methods::simple_name;
use super::natives;
use crate::sema::hir::{Expr, FunId, FunctionKind};
use crate::sema::types::{Ty, TyKind};
use jit::ir::{FuncId, Loc, Op, SelectorId, Value};

/// A call's result, if it has one, and its type.
pub(super) type Called = (Option<Value>, Ty);

impl<'a> FnLower<'_, 'a> {
    pub(super) fn tys(&mut self, types: &[Ty]) -> Vec<Ty> {
        types.iter().map(|&t| self.ty(t)).collect()
    }

    pub(super) fn call_fun(&mut self, fun: FunId, type_args: &[Ty], args: &'a [Expr], at: Loc) -> Flow<Option<Value>> {
        let type_args = self.tys(type_args);
        let values = self.exprs(args)?;
        let program = self.cx.program;
        let function = &program.functions[fun.index()];
        if matches!(function.kind, FunctionKind::Native)
            && let Some(native) = natives::find(&function.name)
        {
            let subst: Vec<_> = function.type_params.iter().copied().zip(type_args.iter().copied()).collect();
            let params: Vec<Ty> = function.params.iter().map(|&p| self.cx.substitute(&subst, p)).collect();
            if natives::takes_null_silently(native) {
                args.iter().zip(&values).for_each(|(arg, &value)| self.check_not_null(arg, value, at));
            }
            return self.native_call(native, function, &type_args, &params, &values, at);
        }
        let func = self.cx.function(fun, None, &type_args);
        self.call_direct(func, &values, at).map(|(value, _)| value)
    }

    /// Calls a function; what returns never ends the block.
    pub(super) fn call_direct(&mut self, func: FuncId, args: &[Value], at: Loc) -> Flow<Called> {
        let ret = self.cx.function_ret(func);
        let site = self.call_site(at);
        let value = self.op(Op::Call { func, args: args.into(), site }, at);
        if ret == Ty::NEVER { self.dead(at) } else { Ok((value, ret)) }
    }

    pub(super) fn call_selector(&mut self, selector: SelectorId, args: &[Value], at: Loc) -> Flow<Called> {
        let ret = self.cx.selector_info[selector].ret;
        let site = self.call_site(at);
        let value = self.op(Op::CallVirtual { selector, args: args.into(), site }, at);
        if ret == Ty::NEVER { self.dead(at) } else { Ok((value, ret)) }
    }

    /// Exactly the method `fun`, declared by the class of `ty` or one above.
    pub(super) fn call_static(&mut self, ty: Ty, fun: FunId, type_args: &[Ty], args: &[Value], never_null: bool, at: Loc) -> Flow<Called> {
        let type_args = self.tys(type_args);
        let program = self.cx.program;
        let function = &program.functions[fun.index()];
        let owner = match *self.cx.types.kind(ty) {
            TyKind::Int | TyKind::Float | TyKind::Bool => Some(ty),
            _ => function.owner.and_then(|class| self.cx.as_super(ty, class)),
        };
        let Some(owner) = owner else {
            self.cx.bug(function.span, format!("{} is called on an unrelated class", function.name));
            return Ok((Some(self.unit(at)), Ty::UNIT));
        };
        if !never_null && !self.cx.is_word(ty) {
            self.op(Op::NullCheck(args[0]), at);
        }
        let func = self.cx.function(fun, Some(owner), &type_args);
        self.call_direct(func, args, at)
    }

    /// Whatever the receiver `args[0]` of static type `ty` answers to the name of `fun`.
    pub(super) fn call_virtual(&mut self, ty: Ty, fun: FunId, args: &[Value], never_null: bool, exact: bool, at: Loc) -> Flow<Called> {
        let program = self.cx.program;
        let function = &program.functions[fun.index()];
        let name = simple_name(function);
        if self.cx.is_nullable(ty) || self.cx.is_void(ty) {
            return self.call_on_any(ty, name, args, at);
        }
        if exact || self.is_final(ty) {
            let Some(method) = self.cx.find_method(ty, name) else { return self.call_on_any(ty, name, args, at) };
            if !never_null && !self.cx.is_word(ty) {
                self.op(Op::NullCheck(args[0]), at);
            }
            let func = self.cx.function(method.fun, Some(method.owner), &[]);
            return self.call_direct(func, args, at);
        }
        let Some(selector) = self.cx.selector(ty, fun) else {
            self.cx.bug(function.span, format!("no class declares {name}"));
            return Ok((Some(self.unit(at)), Ty::UNIT));
        };
        self.call_selector(selector, args, at)
    }

    /// Whether no class can be below the type's.
    fn is_final(&self, ty: Ty) -> bool {
        let known = &self.cx.program.known;
        match *self.cx.types.kind(ty) {
            TyKind::Class(class, _) => class == known.str || class == known.bytes || class == known.array,
            TyKind::Int | TyKind::Float | TyKind::Bool => true,
            _ => false,
        }
    }

    /// `Object`'s methods on values that are no objects (in generic code a `T` may be `Unit` or nullable): by the rules of interpolation, null and `Unit` hashing to 0. `equals` is no
    /// such method: what it is given is an `Object?`, and not of the value's type.
    fn call_on_any(&mut self, ty: Ty, name: &str, args: &[Value], at: Loc) -> Flow<Called> {
        match (name, args) {
            ("toString", &[value]) => Ok((Some(self.text_of(value, ty, at)), self.str_ty())),
            ("hash", &[value]) => self.hash(value, ty, at),
            _ => {
                let message = format!("{} has no method {name}", self.cx.type_name(ty));
                self.cx.bug(self.cx.blame, message);
                Ok((Some(self.unit(at)), Ty::UNIT))
            }
        }
    }

    /// Null hashes to 0.
    fn hash(&mut self, value: Value, ty: Ty, at: Loc) -> Flow<Called> {
        let inner = self.cx.non_null(ty);
        if inner == ty {
            return Ok((Some(self.int(0, at)), Ty::INT)); // `Unit`
        }
        let Some(&fun) = self.cx.method_table.get(&(self.cx.program.known.object, "hash")) else {
            self.cx.bug(self.cx.blame, "Object has no method hash");
            return Ok((Some(self.int(0, at)), Ty::INT));
        };
        let null = self.is_null(value, at);
        let hash = self.choose(
            null,
            jit::ir::Ty::Int,
            at,
            |l| l.int(0, at),
            |l| {
                let value = l.convert(value, ty, inner, at);
                let called = l.call_virtual(inner, fun, &[value], true, false, at);
                called.ok().and_then(|(v, _)| v).unwrap_or_else(|| l.int(0, at))
            },
        );
        Ok((Some(hash), Ty::INT))
    }

    pub(super) fn call_closure(&mut self, callee: &'a Expr, args: &'a [Expr], at: Loc) -> Flow<Option<Value>> {
        let ty = self.ty(callee.ty);
        let mut values = vec![self.expr(callee)?];
        for arg in args {
            values.push(self.expr(arg)?);
        }
        let Some(selector) = self.cx.invoke_selector(ty) else {
            self.cx.bug(self.cx.blame, "a call of something that is no function");
            return Ok(None);
        };
        self.call_selector(selector, &values, at).map(|(value, _)| value)
    }

    pub(super) fn call_base_init(&mut self, class: Ty, args: &'a [Expr], at: Loc) -> Flow<Option<Value>> {
        let ty = self.ty(class);
        let values = self.exprs(args)?;
        if let Some(this) = self.this {
            let this = self.read_local(this, at);
            self.call_constructor(ty, this, &values, at);
        }
        Ok(None)
    }

    pub(super) fn call_constructor(&mut self, ty: Ty, object: Value, args: &[Value], at: Loc) {
        let TyKind::Class(class, _) = *self.cx.types.kind(ty) else {
            return self.cx.bug(self.cx.blame, "an object of a type that is no class");
        };
        let program = self.cx.program;
        let Some(constructor) = program.classes[class.index()].constructor else { return };
        let func = self.cx.function(constructor, Some(ty), &[]);
        let args: Vec<Value> = std::iter::once(object).chain(args.iter().copied()).collect();
        let site = self.call_site(at);
        self.op(Op::Call { func, args: args.as_slice().into(), site }, at);
    }
}
