//! The interpreter's access to the runtime, and whom it tells of calls.

use super::thread::{Ref, Thread};
use super::{builtins, errors, view};
use jit::context::ThreadContext;
use jit::interp::stack::Stack;
use jit::interp::{Host, Slot};
use jit::ir::*;
use jit::layout::ARRAY_DATA;
use jit::trap::{Thrown, Trap};
use std::sync::atomic::Ordering::*;

/// Who hears of one thread's instructions, calls and returns, as [`Host`] defines them.
pub trait Calls {
    fn step(&mut self) {}
    fn call(&mut self, _site: Option<CallSiteId>, _callee: FuncId) {}
    fn ret(&mut self) {}
}

/// Nobody does.
pub struct Unheard;

impl Calls for Unheard {}

/// One thread, as the interpreter sees it.
pub struct ThreadHost<'t, C = Unheard> {
    thread: &'t Thread,
    calls: C,
}

impl<'t> ThreadHost<'t> {
    pub fn new(thread: &'t Thread) -> Self {
        ThreadHost { thread, calls: Unheard }
    }
}

impl<'t, C: Calls> ThreadHost<'t, C> {
    pub fn heard_by(thread: &'t Thread, calls: C) -> Self {
        ThreadHost { thread, calls }
    }
}

impl<C: Calls> Host for ThreadHost<'_, C> {
    fn attach(&mut self, stack: *const Stack) {
        self.thread.set_interpreter_stack(stack);
    }

    fn detach(&mut self) {
        self.thread.set_interpreter_stack(std::ptr::null());
    }

    fn context(&self) -> &ThreadContext {
        self.thread.ctx()
    }

    fn take_error(&mut self) -> Slot {
        self.thread.take_error().0
    }

    fn throw(&mut self, error: Slot) -> Thrown {
        self.thread.set_error(Ref(error));
        Thrown
    }

    fn trap(&mut self, trap: Trap) -> Thrown {
        errors::trap(self.thread, trap)
    }

    fn new_object(&mut self, class: ClassId) -> Result<Slot, Thrown> {
        self.thread.alloc_object(class).map(|r| r.0).map_err(|_| errors::throw_out_of_memory(self.thread))
    }

    fn new_array(&mut self, class: ClassId, length: i64) -> Result<Slot, Thrown> {
        let length = usize::try_from(length).map_err(|_| errors::trap(self.thread, Trap::NegativeLength { length }))?;
        self.thread.alloc_array(class, length).map(|r| r.0).map_err(|_| errors::throw_out_of_memory(self.thread))
    }

    fn str_const(&mut self, str: StrId) -> Slot {
        self.thread.runtime.statics.literal(str)
    }

    fn class_of(&self, object: Slot) -> ClassId {
        view::class_of(self.thread, Ref(object))
    }

    fn load_field(&self, object: Slot, offset: i32) -> Slot {
        view::load(Ref(object), offset)
    }

    fn store_field(&mut self, object: Slot, offset: i32, ty: Ty, value: Slot) {
        view::store(Ref(object), offset, value);
        if ty == Ty::Ref {
            view::barrier(self.thread, Ref(object));
        }
    }

    fn atomic(&mut self, op: AtomicOp, object: Slot, offset: i32, value: Slot) -> Slot {
        let word = view::word(Ref(object), offset);
        match op {
            AtomicOp::Load => word.load(SeqCst),
            AtomicOp::Store => {
                word.store(value, SeqCst);
                0
            }
            AtomicOp::FetchAdd => word.fetch_add(value, SeqCst),
        }
    }

    fn atomic_cas(&mut self, object: Slot, offset: i32, expected: Slot, new: Slot) -> bool {
        view::word(Ref(object), offset).compare_exchange(expected, new, SeqCst, SeqCst).is_ok()
    }

    fn array_len(&self, array: Slot) -> i64 {
        view::len(Ref(array)) as i64
    }

    fn load_elem(&self, kind: ElemKind, array: Slot, index: i64) -> Slot {
        match kind {
            ElemKind::Bool | ElemKind::Byte => u64::from(view::byte(Ref(array), index as usize).load(Relaxed)),
            ElemKind::Int | ElemKind::Float | ElemKind::Ref => view::element(Ref(array), index as usize).load(Relaxed),
        }
    }

    fn store_elem(&mut self, kind: ElemKind, array: Slot, index: i64, value: Slot) {
        match kind {
            ElemKind::Bool | ElemKind::Byte => view::byte(Ref(array), index as usize).store(value as u8, Relaxed),
            ElemKind::Int | ElemKind::Float => view::element(Ref(array), index as usize).store(value, Relaxed),
            ElemKind::Ref => {
                view::element(Ref(array), index as usize).store(value, Relaxed);
                view::barrier(self.thread, Ref(array));
            }
        }
    }

    fn load_global(&self, global: GlobalId) -> Slot {
        self.global(global).load(Relaxed)
    }

    fn store_global(&mut self, global: GlobalId, value: Slot) {
        self.global(global).store(value, Relaxed);
    }

    fn builtin(&mut self, builtin: Builtin, args: &[Slot]) -> Result<Slot, Thrown> {
        builtins::call(self.thread, builtin, args)
    }

    fn yield_point(&mut self) -> Result<(), Thrown> {
        self.thread.yield_slow();
        Ok(())
    }

    fn step(&mut self) {
        self.calls.step();
    }

    fn call(&mut self, site: Option<CallSiteId>, callee: FuncId) {
        self.calls.call(site, callee);
    }

    fn ret(&mut self) {
        self.calls.ret();
    }
}

impl<C> ThreadHost<'_, C> {
    fn global(&self, global: GlobalId) -> &std::sync::atomic::AtomicU64 {
        // SAFETY: globals live as long as the runtime, 8-aligned.
        unsafe { std::sync::atomic::AtomicU64::from_ptr(self.thread.runtime.statics.global(global)) }
    }
}

/// Elements begin on a word, which `view::element` relies on.
const _: () = assert!(ARRAY_DATA % 8 == 0);
