//! Where a program starts, and what the runtime knows of it.
//!
//! The entry function makes the objects of function references, gives globals their first values in order, and calls `main`; its result is the exit code. A global `let` with a literal needs no code: uses of it are the
//! literal.

use super::Cx;
use super::body::FnLower;
use super::expr::constant;
use crate::sema::hir::{self, GlobalId};
use crate::sema::types::Ty;
use jit::ir::{self, ClassId, Entry, FieldId, FuncId, Known, Loc, MutexFields, Op};

/// The object of a top-level function's name.
#[derive(Clone, Copy, Debug)]
pub(super) struct FunRef {
    pub global: ir::GlobalId,
    pub class: ClassId,
}

impl Cx<'_> {
    /// Declares the classes that the runtime makes objects of.
    pub(super) fn declare_known(&mut self) {
        let known = self.program.known.clone();
        let object = self.object_class(); // Class 0.
        let str_ty = self.types.class(known.str, &[]);
        let str_array = self.types.class(known.array, &[str_ty]);
        let int_array = self.types.class(known.array, &[Ty::INT]);
        let (str_array, int_array) = (self.class_of(str_array), self.class_of(int_array));
        let plain = |cx: &mut Self, class: hir::ClassId| {
            let ty = cx.types.class(class, &[]);
            let class = cx.class_of(ty);
            cx.complete(class);
            class
        };
        let (error, mutex) = (plain(self, known.error), plain(self, known.mutex));
        let field = |cx: &mut Self, class: ClassId, name: &str| cx.field_by_name(class, name);
        let module_known = Known {
            object,
            str: plain(self, known.str),
            bytes: plain(self, known.bytes),
            str_array,
            int_array,
            error,
            error_message: field(self, error, "message"),
            error_trace: field(self, error, "__trace"),
            null_error: plain(self, known.null_error),
            bounds_error: plain(self, known.bounds_error),
            division_error: plain(self, known.division_error),
            cast_error: plain(self, known.cast_error),
            stack_overflow_error: plain(self, known.stack_overflow_error),
            out_of_memory_error: plain(self, known.out_of_memory_error),
            argument_error: plain(self, known.argument_error),
            state_error: plain(self, known.state_error),
            io_error: plain(self, known.io_error),
            mutex: MutexFields {
                state: field(self, mutex, "__state"),
                owner: field(self, mutex, "__owner"),
                depth: field(self, mutex, "__depth"),
                key: field(self, mutex, "__key"),
            },
        };
        let k = module_known;
        let made = [k.str, k.bytes, k.str_array, k.int_array, k.null_error, k.bounds_error, k.division_error, k.cast_error];
        let made = made.into_iter().chain([k.stack_overflow_error, k.out_of_memory_error, k.argument_error, k.state_error, k.io_error]);
        made.for_each(|class| self.instantiate(class));
        self.module.known = Some(module_known);
    }

    fn field_by_name(&mut self, class: ClassId, name: &str) -> FieldId {
        let module = &self.module;
        match module.classes[class].fields.iter().find(|&&f| &*module.fields[f].name == name) {
            Some(&field) => field,
            None => {
                let message = format!("{} has no field {name}", module.classes[class].name);
                self.bug(self.blame, message);
                FieldId::from_u32(0)
            }
        }
    }

    /// Declares `main`, the initializers, and what threads start with.
    pub(super) fn declare_main(&mut self) {
        self.function(self.program.main, None, &[]);
        let globals = &self.program.globals;
        for (i, global) in globals.iter().enumerate() {
            if constant(global).is_none() {
                let init = self.initializer(GlobalId(i as u32));
                self.initializers.push((GlobalId(i as u32), init));
            }
        }
        self.build_thread_entry();
    }

    fn build_thread_entry(&mut self) {
        let ty = self.types.fun(&[], Ty::UNIT);
        let closure = self.desc(ty);
        let thread = self.declare_function("<thread>", vec![closure], Ty::UNIT, Loc::default());
        let Some(selector) = self.invoke_selector(ty) else { return };
        let mut lowering = FnLower::new(self, thread, None, [].into(), Ty::UNIT);
        let closure = lowering.param(0);
        let _ = lowering.call_selector(selector, &[closure], Loc::default());
        lowering.ret(None, Loc::default());
        lowering.finish();
        self.thread_entry = Some(thread);
    }

    /// Builds the entry function, once everything else is known.
    pub(super) fn build_entry(&mut self) {
        let main = self.function(self.program.main, None, &[]);
        let entry = self.declare_function("<start>", Vec::new(), Ty::INT, Loc::default());
        let at = Loc::default();
        let mut refs: Vec<FunRef> = self.fun_refs.values().copied().collect();
        refs.sort_by_key(|r| r.global);
        let globals = self.program.globals.iter().enumerate();
        let literals: Vec<_> =
            globals.filter(|(_, g)| g.mutable).filter_map(|(i, g)| Some((GlobalId(i as u32), constant(g)?, g.ty))).collect();
        let initializers = std::mem::take(&mut self.initializers);

        let mut lowering = FnLower::new(self, entry, None, [].into(), Ty::INT);
        for reference in refs {
            let object = lowering.value(Op::New(reference.class), at);
            lowering.op(Op::StoreGlobal(reference.global, object), at);
        }
        // Both lists are in program order; a literal is stored when its turn comes.
        let mut literals = literals.into_iter().peekable();
        let mut calls = initializers.into_iter().peekable();
        loop {
            let literal_first = match (literals.peek(), calls.peek()) {
                (Some((a, ..)), Some((b, _))) => a < b,
                (a, None) => a.is_some(),
                (None, Some(_)) => false,
            };
            if literal_first && let Some((id, literal, ty)) = literals.next() {
                let value = lowering.literal(literal, ty, at);
                let global = lowering.cx.global(id);
                lowering.op(Op::StoreGlobal(global, value), at);
            } else if let Some((id, init)) = calls.next() {
                if lowering.initialize(id, init, at).is_err() {
                    break;
                }
            } else {
                break;
            }
        }
        if let Ok((code, ret)) = lowering.call_direct(main, &[], at) {
            let code = match code {
                Some(code) if ret == Ty::INT => code,
                _ => lowering.int(0, at),
            };
            lowering.ret(Some(code), at);
        }
        lowering.finish();
        if let Some(thread) = self.thread_entry {
            self.module.entry = Some(Entry { main: entry, thread });
        }
    }
}

impl FnLower<'_, '_> {
    fn initialize(&mut self, id: GlobalId, init: FuncId, at: Loc) -> super::body::Flow<()> {
        let (value, _) = self.call_direct(init, &[], at)?;
        let value = self.value_or_unit(value, at);
        let global = self.cx.global(id);
        self.op(Op::StoreGlobal(global, value), at);
        Ok(())
    }
}
