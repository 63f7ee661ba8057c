//! Function instances: a declaration with concrete type arguments becomes an IR function, declared at its first mention and lowered as a job later.
//!
//! In: declarations and type arguments. Out: [`FuncId`]s whose signatures are final at once (so that calls can be emitted), bodies as the worklist reaches them.

use super::body::FnLower;
use super::methods::simple_name;
use super::{Cx, Subst, natives};
use crate::sema::hir::{self, FunId, FunctionKind, GlobalId, LocalId};
use crate::sema::types::Ty;
use crate::source::Span;
use jit::ir::{self, FieldId, FuncId, Loc, SelectorId, TypeDesc};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct FunctionKey {
    fun: FunId,
    /// Methods and constructors: the instance of the declaring class.
    owner: Option<Ty>,
    type_args: Box<[Ty]>,
}

/// A body to lower.
pub(super) struct Job<'a> {
    pub func: FuncId,
    pub subst: Subst,
    pub code: Code<'a>,
    pub ret: Ty,
    pub span: Span,
}

pub(super) enum Code<'a> {
    Function {
        function: &'a hir::Function,
        body: &'a hir::Body,
    },
    /// The method of a closure's class. Its captured variables are in fields.
    Closure {
        body: &'a hir::Body,
        captures: Vec<Captured>,
    },
    /// Gives the global's first value.
    Initializer(&'a hir::Body),
}

pub(super) struct Captured {
    pub field: FieldId,
    /// The closure's own local.
    pub local: LocalId,
    /// The field holds the variable's cell.
    pub boxed: bool,
    /// It is the `this` of the function around.
    pub is_this: bool,
}

impl<'a> Cx<'a> {
    pub(super) fn declare_function(&mut self, name: &str, params: Vec<TypeDesc>, ret: Ty, loc: Loc) -> FuncId {
        self.check_instances();
        let ret_desc = self.ret_desc(ret);
        let func = self.module.funcs.push(ir::Function::new(name, params, ret_desc, loc));
        self.function_rets[func] = Some(ret);
        func
    }

    /// The result type, as the language has it.
    pub(super) fn function_ret(&self, func: FuncId) -> Ty {
        self.function_rets[func].unwrap_or(Ty::UNIT)
    }

    /// The instance of `fun` with these type arguments; `owner` is the instance of the class that declares it.
    pub(super) fn function(&mut self, fun: FunId, owner: Option<Ty>, type_args: &[Ty]) -> FuncId {
        let key = FunctionKey { fun, owner, type_args: type_args.into() };
        if let Some(&func) = self.function_ids.get(&key) {
            return func;
        }
        let program = self.program;
        let function = &program.functions[fun.index()];
        for &arg in type_args.iter().chain(&owner) {
            if !self.check_size(arg) {
                break;
            }
        }
        let mut subst = owner.map_or(Vec::new(), |t| self.class_subst(t));
        subst.extend(function.type_params.iter().copied().zip(type_args.iter().copied()));
        let name = self.function_name(function, owner, type_args);
        let params = owner.into_iter().chain(function.params.iter().copied()).collect::<Vec<_>>();
        let params = params.into_iter().map(|t| self.substitute(&subst, t)).collect::<Vec<_>>();
        let descs = params.iter().map(|&t| self.desc(t)).collect();
        let ret = self.substitute(&subst, function.ret);
        let func = self.declare_function(&name, descs, ret, Loc(function.span.lo));
        self.function_ids.insert(key, func);
        match &function.kind {
            FunctionKind::Body(body) => {
                self.jobs.push_back(Job { func, subst: subst.into(), code: Code::Function { function, body }, ret, span: function.span });
            }
            FunctionKind::Native => self.build_native_wrapper(func, function, type_args, &params, ret),
            FunctionKind::Abstract | FunctionKind::Unused => self.bug(function.span, format!("{name} is called but has no body")),
        }
        func
    }

    fn function_name(&mut self, function: &hir::Function, owner: Option<Ty>, type_args: &[Ty]) -> String {
        if self.failure.is_some() {
            return String::new(); // Names of types that grew without end could be exponentially long.
        }
        let mut name = match owner {
            Some(owner) => format!("{}.{}", self.type_name(owner), simple_name(function)),
            None => function.name.to_string(),
        };
        if !type_args.is_empty() {
            name = format!("{name}<{}>", self.type_list(type_args));
        }
        name
    }

    pub(super) fn run_job(&mut self, job: Job<'a>) {
        self.blame = job.span;
        let body = match &job.code {
            Code::Function { body, .. } | Code::Closure { body, .. } | Code::Initializer(body) => *body,
        };
        let mut lowering = FnLower::new(self, job.func, Some(body), job.subst.clone(), job.ret);
        match job.code {
            Code::Function { function, .. } => lowering.function_body(body, function.owner.is_some()),
            Code::Closure { captures, .. } => lowering.closure_body(body, &captures),
            Code::Initializer(_) => lowering.initializer_body(body),
        }
        lowering.finish();
    }

    /// A function of its own for a native one, where a value or a method table needs it.
    fn build_native_wrapper(&mut self, func: FuncId, function: &'a hir::Function, type_args: &[Ty], params: &[Ty], ret: Ty) {
        let Some(native) = natives::find(&function.name) else {
            return self.bug(function.span, format!("the VM has no native function {}", function.name));
        };
        let loc = Loc(function.span.lo);
        let mut lowering = FnLower::new(self, func, None, [].into(), ret);
        let args: Vec<ir::Value> = (0..params.len()).map(|i| lowering.param(i)).collect();
        if let Ok(value) = lowering.native_call(native, function, type_args, params, &args, loc) {
            lowering.ret(value, loc);
        }
        lowering.finish();
    }

    /// `function` itself, if its result is represented as the selector's; else a function that gives the other representation (for one that never returns, where the overridden method does).
    pub(super) fn bridge(&mut self, function: FuncId, selector: SelectorId) -> FuncId {
        let (from, to) = (self.function_ret(function), self.selector_info[selector].ret);
        let same = match (self.is_void(from), self.is_void(to)) {
            (false, false) => self.value_ty(from) == self.value_ty(to),
            (a, b) => a == b,
        };
        if same {
            return function;
        }
        let target = &self.module.funcs[function];
        let (name, params, loc) = (format!("{} (bridge)", target.name), target.params.clone(), target.loc);
        let bridge = self.declare_function(&name, params.clone(), to, loc);
        let mut lowering = FnLower::new(self, bridge, None, [].into(), to);
        let args: Vec<ir::Value> = (0..params.len()).map(|i| lowering.param(i)).collect();
        if let Ok((value, _)) = lowering.call_direct(function, &args, loc) {
            let value = lowering.value_or_unit(value, loc);
            let value = lowering.convert(value, from, to, loc);
            lowering.ret(Some(value), loc);
        }
        lowering.finish();
        bridge
    }

    /// The function that gives a global its first value.
    pub(super) fn initializer(&mut self, id: GlobalId) -> FuncId {
        let program = self.program;
        let global = &program.globals[id.index()];
        let span = global.init.block.value.as_ref().map_or(Span::default(), |e| e.span);
        let func = self.declare_function(&format!("init {}", global.name), Vec::new(), global.ty, Loc(span.lo));
        self.jobs.push_back(Job { func, subst: [].into(), code: Code::Initializer(&global.init), ret: global.ty, span });
        func
    }
}
