//! The thread context: what compiled code, the interpreter and the runtime share about one thread. Compiled code reaches it through the pinned register r15.
//!
//! Invariant: `#[repr(C)]`, pinned in memory for the thread's life. The timer and other threads touch only the atomics; everything else belongs to the owning thread.

use std::sync::atomic::{AtomicU8, AtomicU64};

#[repr(C)]
pub struct ThreadContext {
    /// Lowest stack address compiled code may use, compared in every prologue. `u64::MAX` ("poisoned") makes the next prologue take the slow path: a yield.
    pub stack_limit: AtomicU64,
    /// Polled at loop back-edges; not 0: take the slow path.
    pub yield_flag: AtomicU8,
    /// The real limit, to restore `stack_limit` from and to tell a yield from an overflow.
    pub real_stack_limit: u64,
    /// Nursery allocation: next free byte and end of the thread's buffer. `cursor + size > limit` takes the slow path.
    pub alloc_cursor: u64,
    pub alloc_limit: u64,
    /// The error that a builtin threw, or null; a root of the collector.
    pub pending_error: u64,
    /// Frame pointer and return address of the innermost compiled frame while the thread runs outside compiled code.
    pub last_fp: u64,
    pub last_pc: u64,
    /// Operands that a failing check leaves for the error's message: index, array, object. `trap_object` is a root of the collector.
    pub trap_value: u64,
    pub trap_object: u64,
    /// Scratch for stubs: where to continue, and the stack pointer of the Rust code that entered compiled code.
    pub resume_pc: u64,
    pub entry_sp: u64,
    /// Operands of stubs that compiled code calls without arguments (so that the call disturbs no registers); the first also carries their result.
    pub stub_args: [u64; 2],
    /// The native engine whose code runs; set on entry.
    pub engine: *const std::ffi::c_void,
    /// The runtime's own data for this thread.
    pub runtime: *mut std::ffi::c_void,
}

impl ThreadContext {
    /// All zero but for the runtime's data.
    pub fn new(runtime: *mut std::ffi::c_void) -> Self {
        ThreadContext {
            stack_limit: AtomicU64::new(0),
            yield_flag: AtomicU8::new(0),
            real_stack_limit: 0,
            alloc_cursor: 0,
            alloc_limit: 0,
            pending_error: 0,
            last_fp: 0,
            last_pc: 0,
            trap_value: 0,
            trap_object: 0,
            resume_pc: 0,
            entry_sp: 0,
            stub_args: [0; 2],
            engine: std::ptr::null(),
            runtime,
        }
    }
}

macro_rules! offsets {
    ($($name:ident = $field:ident;)*) => {
        /// Byte offsets for generated code.
        pub mod offset {
            use super::ThreadContext;
            $(pub const $name: i32 = std::mem::offset_of!(ThreadContext, $field) as i32;)*
        }
    };
}
offsets! {
    STACK_LIMIT = stack_limit;
    YIELD_FLAG = yield_flag;
    ALLOC_CURSOR = alloc_cursor;
    ALLOC_LIMIT = alloc_limit;
    PENDING_ERROR = pending_error;
    LAST_FP = last_fp;
    LAST_PC = last_pc;
    TRAP_VALUE = trap_value;
    TRAP_OBJECT = trap_object;
    RESUME_PC = resume_pc;
    ENTRY_SP = entry_sp;
    STUB_ARGS = stub_args;
    ENGINE = engine;
}
