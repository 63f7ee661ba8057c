//! Machine code as an [`Engine`]: the runtime's functions in C form for compiled code, and compiled code's frames for the runtime.

use super::classes::ClassTable;
use super::engine::{Engine, Frames};
use super::program::Runtime;
use super::thread::{Ref, Thread};
use super::{builtins, errors};
use jit::context::ThreadContext;
use jit::interp::Slot;
use jit::ir::{ClassId, FuncId, Loc, StrId};
use jit::native::{self, Addresses, NativeError, Options, RuntimeFns};
use jit::trap::{Thrown, Trap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Compiled code of one runtime's program.
pub struct NativeEngine {
    engine: native::Engine,
    /// Holds the virtual tables, which the engine writes: other threads may do so until after the runtime is gone.
    _classes: Arc<ClassTable>,
    /// How often code was freed, or could have been.
    reclaims: AtomicU64,
}

impl NativeEngine {
    pub fn new(runtime: &Runtime, options: Options) -> Result<NativeEngine, NativeError> {
        let addresses = addresses(runtime);
        let engine = native::Engine::new(runtime.module.clone(), runtime.layout.clone(), addresses, functions(), options)?;
        Ok(NativeEngine { engine, _classes: runtime.classes.clone(), reclaims: AtomicU64::new(0) })
    }

    /// Compiles these before they are called. What cannot be compiled throws when it is called.
    pub fn compile_ahead(&self, funcs: &[FuncId]) {
        funcs.iter().for_each(|&func| _ = self.engine.compile(func));
    }

    pub fn inner(&self) -> &native::Engine {
        &self.engine
    }
}

/// Where the program's parts lie, for compiled code.
pub fn addresses(runtime: &Runtime) -> Addresses {
    let classes = &runtime.classes;
    let mut strings = cranelift_entity::PrimaryMap::new();
    for &literal in runtime.statics.literals() {
        let _: StrId = strings.push(literal);
    }
    Addresses { class_table: classes.start() as u64, class_base: classes.base() as u64, globals: runtime.statics.globals(), strings }
}

/// What the runtime does for compiled code.
pub fn functions() -> RuntimeFns {
    RuntimeFns { yield_slow, call_slow, compiled, new_object, new_array, barrier, trap, builtins: builtins::table() }
}

impl Frames for NativeEngine {
    fn visit_roots(&self, thread: &Thread, f: &mut dyn FnMut(&mut u64)) {
        // SAFETY: the thread is stopped, or the caller's own and outside compiled code.
        unsafe { self.engine.visit_roots(thread.context(), f) }
    }

    fn walk(&self, thread: &Thread, f: &mut dyn FnMut(FuncId, Loc) -> ControlFlow<()>) {
        // SAFETY: as above.
        unsafe { self.engine.walk(thread.context(), f) }
    }
}

impl Engine for NativeEngine {
    fn run(&self, thread: &Thread, func: FuncId, args: &[Slot]) -> Result<Slot, Thrown> {
        // SAFETY: the thread's own context, limits set before it first ran; the caller passes arguments that fit.
        unsafe { self.engine.enter(thread.context(), func, args) }
    }

    fn samples_at_yield_points(&self) -> bool {
        true
    }

    fn count_calls(&self, counts: bool) {
        self.engine.count_calls(counts);
    }

    fn has_optimized_code(&self) -> bool {
        self.engine.stats().optimized.versions > 0
    }

    fn complete_twins(&self) {
        self.engine.complete_twins();
    }

    unsafe fn reclaim(&self, runtime: &Runtime, threads: &[&Thread]) {
        if self.engine.retired_bytes() == 0 {
            return;
        }
        let number = self.reclaims.fetch_add(1, Relaxed) + 1;
        // SAFETY: by contract, the threads are stopped, or the caller's own.
        let held = threads.iter().filter_map(|thread| unsafe { thread.held_since(number) });
        let profiled = runtime.options.profiler.as_ref().map_or(u64::MAX, |profiler| profiler.decoded(number, held));
        let seen = runtime.options.adaptive.as_ref().map_or(u64::MAX, |adaptive| adaptive.decoded(number));
        let mut in_use = |f: &mut dyn FnMut(u64)| {
            for thread in threads {
                let frame = |frame: native::RawFrame| {
                    f(frame.pc);
                    ControlFlow::Continue(())
                };
                // SAFETY: as above.
                unsafe { native::walk_raw(thread.ctx(), frame) };
            }
        };
        // SAFETY: as above, and these are all threads. Entries are in no hands at safepoints.
        let found = unsafe { self.engine.reclaim(profiled.min(seen), &mut in_use) };
        debug_assert_eq!(found.number, number, "somebody else frees code");
    }
}

unsafe extern "C" fn yield_slow(ctx: *mut ThreadContext) {
    // SAFETY: compiled code passes its thread's context.
    unsafe { Thread::from_context(ctx) }.yield_slow();
}

unsafe extern "C" fn call_slow(ctx: *mut ThreadContext) {
    // SAFETY: as above.
    unsafe { Thread::from_context(ctx) }.on_call();
}

unsafe extern "C" fn compiled(ctx: *mut ThreadContext) {
    // SAFETY: as above.
    unsafe { Thread::from_context(ctx) }.forget_pace();
}

unsafe extern "C" fn new_object(ctx: *mut ThreadContext, class: u32) -> u64 {
    // SAFETY: as above.
    let thread = unsafe { Thread::from_context(ctx) };
    match thread.alloc_object(ClassId::from_u32(class)) {
        Ok(object) => object.0,
        Err(_) => {
            let Thrown = errors::throw_out_of_memory(thread);
            0
        }
    }
}

unsafe extern "C" fn new_array(ctx: *mut ThreadContext, class: u32, length: i64) -> u64 {
    // SAFETY: as above.
    let thread = unsafe { Thread::from_context(ctx) };
    let Ok(count) = usize::try_from(length) else {
        let Thrown = errors::trap(thread, Trap::NegativeLength { length });
        return 0;
    };
    match thread.alloc_array(ClassId::from_u32(class), count) {
        Ok(object) => object.0,
        Err(_) => {
            let Thrown = errors::throw_out_of_memory(thread);
            0
        }
    }
}

unsafe extern "C" fn barrier(ctx: *mut ThreadContext, object: u64) {
    // SAFETY: as above.
    unsafe { Thread::from_context(ctx) }.remember(Ref(object));
}

unsafe extern "C" fn trap(ctx: *mut ThreadContext, trap: &Trap) {
    // SAFETY: as above.
    let Thrown = errors::trap(unsafe { Thread::from_context(ctx) }, *trap);
}
