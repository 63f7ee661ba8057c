//! One running program's machine code.

use super::api::*;
use crate::context::ThreadContext;
use crate::ir::*;
use crate::layout::Layout;
use crate::trap::Thrown;
use std::ops::ControlFlow;
use std::sync::Arc;

/// One running program's machine code: compiles functions on their first call, enters them, and knows their frames. Shared by all threads.
pub struct Engine {
    module: Arc<Module>,
}

impl Engine {
    /// # Errors
    /// [`NativeError::Unsupported`] off x86-64 Linux or without SSE 4.1, [`NativeError::Memory`] where the system refuses to map code memory.
    pub fn new(
        module: Arc<Module>,
        _layout: Arc<Layout>,
        _addresses: Addresses,
        _runtime: RuntimeFns,
        _options: Options,
    ) -> Result<Engine, NativeError> {
        Ok(Engine { module })
    }

    /// Calls a function. A `Float` argument or result travels as its bits, a `Bool` as 0 or 1. On `Err` the error is in `pending_error`.
    ///
    /// # Safety
    /// `ctx` is the current thread's, stays where it is, and its limits are set; arguments fit the function's parameters, references among them alive.
    pub unsafe fn enter(&self, _ctx: *mut ThreadContext, _func: FuncId, _args: &[u64]) -> Result<u64, Thrown> {
        unimplemented!()
    }

    /// Calls `f` on every reference in the compiled frames of the thread. Those of the context itself (`pending_error`, `trap_object`) are the runtime's.
    ///
    /// # Safety
    /// The thread stands outside compiled code (this thread, in something compiled code called; or another one that is stopped), and `f` leaves valid references.
    pub unsafe fn visit_roots(&self, _ctx: *const ThreadContext, _f: &mut dyn FnMut(&mut u64)) {
        unimplemented!()
    }

    /// Calls `f` on the thread's frames, innermost first, until it breaks.
    ///
    /// # Safety
    /// As for [`Engine::visit_roots`].
    pub unsafe fn walk(&self, _ctx: *const ThreadContext, _f: &mut dyn FnMut(FuncId, Loc) -> ControlFlow<()>) {
        unimplemented!()
    }

    /// The function in Cranelift's text form.
    pub fn dump_clif(&self, _func: FuncId) -> Result<String, NativeError> {
        unimplemented!()
    }

    /// The function's machine code with addresses.
    pub fn dump_asm(&self, _func: FuncId) -> Result<String, NativeError> {
        unimplemented!()
    }

    pub fn stats(&self) -> Stats {
        Stats::default()
    }

    pub fn module(&self) -> &Module {
        &self.module
    }
}
