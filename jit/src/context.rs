//! The thread context: what compiled code, the interpreter and the runtime share about one thread. Compiled code reaches it through the pinned register r15.
//!
//! Invariant: `#[repr(C)]`, pinned in memory for the thread's life. The timer and other threads touch only the atomics; everything else belongs to the owning thread.

use crate::ir::polls::MAX_LIVE;
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::time::{Duration, Instant};

#[repr(C)]
pub struct ThreadContext {
    /// Lowest stack address compiled code may use, compared in every prologue. `u64::MAX` ("poisoned") makes the next prologue take the slow path: a yield.
    pub stack_limit: AtomicU64,
    /// Polled at loop back-edges; not 0: take the slow path.
    pub yield_flag: AtomicU8,
    /// 1: where there is code that counts calls and code that does not, the former is to run; otherwise 0. Exits ([`Op::ExitPoll`](crate::ir::Op::ExitPoll)) and watched polls look at this and the yield flag at once, as one word with what lies behind it.
    pub counts_calls: AtomicU8,
    /// 0.
    pub rest_of_flags: [u8; 2],
    /// Calls until the next one that is seen: code that is compiled to count them (`native::Profiling`) takes one off for each call, and below zero tells the runtime of it. What was put here minus what is left is the exact number of
    /// calls since; the runtime sets it anew whenever it likes.
    pub calls_left: i64,
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
    /// Where its exits' cells lie, or 0; set on entry.
    pub exit_cells: u64,
    /// The runtime's own data for this thread.
    pub runtime: *mut std::ffi::c_void,
    /// The real limit, to restore the others from and to tell a yield from an overflow.
    pub real_stack_limit: u64,
    /// Where the next call of a burst is recorded, and the end of the room, a whole number of records away. Equal: no burst, or no room left.
    pub record_cursor: *mut CallSeen,
    pub record_end: *mut CallSeen,
    /// Rounds in loops of the wrong kind.
    pub watch: Watch,
    /// What a loop's code hands over to the code that goes on for it, in the order of [`LoopPoll::live`](crate::ir::polls::LoopPoll::live). Read at once: nothing runs in between that could move an object.
    pub osr_values: [u64; MAX_LIVE],
}

/// What a thread does in loops that are not left ([`Op::WatchedPoll`](crate::ir::Op::WatchedPoll)), while code of the other kind is to run.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Watch {
    /// Since it was to run, or the thread has gone over elsewhere. A stub adds them up, and has a look taken at each power of two.
    pub rounds: u64,
    /// Of the call in which the first was.
    frame: u64,
    first: Option<Instant>,
}

impl Watch {
    /// One more round; whether a look is to be taken. `stub_watched_poll` does the same.
    pub fn adds_round(&mut self) -> bool {
        self.rounds += 1;
        self.rounds.is_power_of_two()
    }

    /// A look, in the call with this frame: whether it has been at this for so long. The longer a stay is, the more looks find that.
    pub fn is_late(&mut self, frame: u64, patience: Duration) -> bool {
        let now = Instant::now();
        if self.rounds <= 1 || self.frame != frame {
            *self = Watch { rounds: 1, frame, first: Some(now) };
            return false;
        }
        self.first.is_some_and(|first| now - first >= patience)
    }
}

/// A call as compiled code records it during a burst. All three are known without a look into any table.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CallSeen {
    /// A return address in the callee, behind its prologue or an inlined body's: says which function was called, and for an inlined one from where.
    pub pc: u64,
    /// Frame pointer of the frame it stands in. Frames of callers have larger ones.
    pub fp: u64,
    /// Where that frame will return to: the call site. Of an inlined call it is that of the function around it.
    pub ret: u64,
}

impl ThreadContext {
    /// All zero but for the runtime's data.
    pub fn new(runtime: *mut std::ffi::c_void) -> Self {
        ThreadContext {
            stack_limit: AtomicU64::new(0),
            yield_flag: AtomicU8::new(0),
            counts_calls: AtomicU8::new(0),
            rest_of_flags: [0; 2],
            calls_left: 0,
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
            exit_cells: 0,
            runtime,
            real_stack_limit: 0,
            record_cursor: std::ptr::null_mut(),
            record_end: std::ptr::null_mut(),
            watch: Watch::default(),
            osr_values: [0; MAX_LIVE],
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
    COUNTS_CALLS = counts_calls;
    CALLS_LEFT = calls_left;
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
    EXIT_CELLS = exit_cells;
    RECORD_CURSOR = record_cursor;
    RECORD_END = record_end;
    REAL_STACK_LIMIT = real_stack_limit;
    OSR_VALUES = osr_values;
    WATCHED_ROUNDS = watch;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_one_call_for_long_is_late() {
        let (none, long) = (Duration::ZERO, Duration::from_secs(3600));
        let mut watch = Watch { rounds: 1, ..Watch::default() };
        assert!(!watch.is_late(100, none), "the first round");
        watch.rounds = 2;
        assert!(!watch.is_late(100, long) && watch.is_late(100, none));
        assert!(!watch.is_late(200, none) && watch.rounds == 1, "another call");
        watch.rounds = 2;
        assert!(watch.is_late(200, none) && watch.is_late(200, none), "a long stay");
        watch.rounds = 0;
        assert!(!watch.is_late(200, none), "it has gone over meanwhile");
    }
}
