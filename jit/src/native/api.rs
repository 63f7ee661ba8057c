//! What the runtime gives to native code, and gets from it: plain data and function pointers.

use crate::context::ThreadContext;
use crate::ir::*;
use crate::trap::Trap;
use cranelift_entity::PrimaryMap;
use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// Stack, in bytes, that compiled code leaves to whatever it calls: builtins, the collector, the compiler of the next function. The runtime puts `real_stack_limit` at least this far above the guard pages.
pub const STACK_RESERVE: usize = 512 * 1024;

/// Where the program's parts lie. All of it stays where it is while the engine lives, and is neither moved nor freed by the collector.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// The class table: descriptors at the offsets `Layout::class_word`, written by the runtime; the engine fills their virtual tables and changes them while code runs, so they are writable.
    pub class_table: u64,
    /// Class words in objects are addresses minus this. 0 where the table lies in the low 4 GiB, so that a class word is its descriptor's address; otherwise `class_table`.
    pub class_base: u64,
    /// 8 bytes for each [`GlobalId`].
    pub globals: u64,
    /// Objects of the string literals.
    pub strings: PrimaryMap<StrId, u64>,
}

/// What the runtime does for compiled code. All are called on the thread's own stack with `last_fp` and `last_pc` set, so they may walk it. To throw, leave the error in `pending_error`; what they return is then ignored.
#[derive(Clone, Debug)]
pub struct RuntimeFns {
    /// *Safepoint.* A yield point asks for attention: the flag is set or the limits poisoned. Clears all, unless they were set anew.
    pub yield_slow: unsafe extern "C" fn(*mut ThreadContext),
    /// *Safepoint.* A zeroed object of the class with this index.
    pub new_object: unsafe extern "C" fn(*mut ThreadContext, class: u32) -> u64,
    /// *Safepoint.* A zeroed array of the class with this index; the length is not negative.
    pub new_array: unsafe extern "C" fn(*mut ThreadContext, class: u32, length: i64) -> u64,
    /// Remembers an object whose log bit is set, and clears the bit. Neither throws nor stops.
    pub barrier: unsafe extern "C" fn(*mut ThreadContext, object: u64),
    /// *Safepoint.* Makes the error object for a failed check, trace filled, and leaves it pending. Always throws.
    pub trap: unsafe extern "C" fn(*mut ThreadContext, trap: &Trap),
    /// A call was counted when `calls_left` was used up and there is no room to record it: `last_pc` and `last_fp` name the callee, as in [`CallSeen`](crate::context::CallSeen). May set `calls_left` and the room anew.
    /// Neither throws nor stops nor moves: the callee's references are in registers.
    pub call_slow: unsafe extern "C" fn(*mut ThreadContext),
    /// A call came to [`Engine::compile`](super::Engine::compile), and goes on now: the thread may have been away from the program for long. Neither throws nor stops.
    pub compiled: unsafe extern "C" fn(*mut ThreadContext),
    /// For each [`Builtin`] in order, a function of its signature in C: the context, then `Int` and `Ref` as 64-bit integers, `Float` as `double`, `Bool` as `uint8_t`.
    pub builtins: Vec<*const c_void>,
}

// SAFETY: function pointers without captured state.
unsafe impl Send for RuntimeFns {}
// SAFETY: as above.
unsafe impl Sync for RuntimeFns {}

/// What compiled code tells of calls, through `ThreadContext::calls_left` and the records of bursts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Profiling {
    #[default]
    Off,
    /// Every call that is made: each prologue counts.
    Calls,
    /// Calls that were inlined, too, where the optimizer left probes ([`Op::Probe`]).
    Inlined,
}

/// How much work goes into a function's code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Level {
    /// Compiled quickly, operations where they are.
    #[default]
    Baseline,
    /// Cranelift optimizes, too, and the code's place in memory is chosen for its loops: for what the optimizer has been through.
    Optimized,
}

impl Level {
    pub const ALL: [Level; 2] = [Level::Baseline, Level::Optimized];
}

/// Whether code of loops can be left for other code that goes on there: on-stack replacement.
#[derive(Clone, Copy, Debug)]
pub enum Osr {
    Off,
    /// Once such code is installed ([`Engine::install_osr`](super::Engine::install_osr)), at the next poll that asks for attention.
    Installed,
    /// At the first poll of every loop, in what this makes of the function and the block that holds the poll. For tests.
    Always(fn(&Module, FuncId, Block) -> Option<Function>),
}

/// Where optimized code is left for code of the other kind ([`crate::opt::exits`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exits {
    Off,
    /// Where calls are counted in outermost loops, but of functions whose calls are brief ([`Engine::expect_brief`](super::Engine::expect_brief)), and in loops that are long: in which threads stay for so long in code of the wrong kind before they come to an exit, as so many looks have found: one each time the rounds have doubled.
    InLongLoops {
        patience: Duration,
        looks: u64,
    },
    /// In all loops in which calls are counted. For tests.
    InAllLoops,
}

/// What holds for all code of an engine.
#[derive(Clone, Debug)]
pub struct Options {
    /// Poll for yields at loop back-edges. Without it, loops that call nothing cannot be stopped: only for measuring what polls cost.
    pub polls: bool,
    /// Allocate in compiled code; off, every allocation goes to the runtime.
    pub inline_alloc: bool,
    /// Of a function that is compiled because it is called ([`Engine::compile`](super::Engine::compile)).
    pub level: Level,
    pub profiling: Profiling,
    /// Code of [`Level::Optimized`] tells of calls, too. If not, each function keeps code of the other level beside it, which does: calls go there until [`Engine::count_calls`](super::Engine::count_calls) says otherwise.
    pub profile_optimized: bool,
    pub osr: Osr,
    /// Optimized code is made in both kinds at once, one that tells of calls and one that does not, and its loops are left for the other kind as [`ThreadContext::counts_calls`] says, once such code is installed
    /// ([`Engine::wanted_exits`](super::Engine::wanted_exits)). For [`Engine::count_calls`](super::Engine::count_calls), with [`Profiling::Inlined`].
    pub exits: Exits,
    /// Run Cranelift's verifier on every function.
    pub verify: bool,
    /// Functions with more instructions than this get the register allocator that is quick instead of good: the good one takes time quadratic in the values that are live at once (7 s for 16 000 of them). Nor does
    /// anybody think about what might stay in memory in their loops.
    pub large_function: usize,
    /// In optimized code, general registers that the values of a loop may take before those that it does not use stay in memory. The machine has 13 for them, and some are for what is computed. (By hand, on seven programs:
    /// with 8 code is faster than with 10, with 12 `fannkuch` is slower; 3 and 6 could not be told from 8 in the three programs with which they were tried.)
    pub loop_registers: u32,
    /// Bytes reserved for code, at most 1 GiB.
    pub code_size: usize,
    /// Is told of all code.
    pub listener: Option<Arc<dyn Listener>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            polls: true,
            inline_alloc: true,
            level: Level::Baseline,
            profiling: Profiling::Off,
            profile_optimized: true,
            osr: Osr::Off,
            exits: Exits::Off,
            verify: cfg!(debug_assertions),
            large_function: 10_000,
            loop_registers: 8,
            code_size: 128 << 20,
            listener: None,
        }
    }
}

/// Somebody outside who wants to know what lies where.
pub trait Listener: Debug + Send + Sync {
    /// Is called for every piece of code once it lies in its place, before anybody runs it, on the thread that asked for it; no two calls for code of one [`Level`] overlap.
    fn compiled(&self, code: &NewCode<'_>);

    /// The program has ended: code that is told of from now on, nobody runs.
    fn ended(&self);
}

/// A piece of code at the time at which it is made: a version of a function, or what goes on for one of its loops.
#[derive(Clone, Copy, Debug)]
pub struct NewCode<'a> {
    pub func: FuncId,
    pub name: &'a str,
    /// Where its first byte runs. Another piece may have lain there before.
    pub address: u64,
    /// As they run.
    pub bytes: &'a [u8],
    /// By offset, from 0; each holds up to the next.
    pub positions: &'a [Position],
}

/// Where the code from an offset on comes from: the innermost function, if it was inlined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    pub offset: u32,
    pub func: FuncId,
    /// In that function's own source.
    pub loc: Loc,
}

/// Why there is no machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NativeError {
    /// This machine or system cannot run it; says what is missing.
    Unsupported(String),
    /// The system refused memory; says for what.
    Memory(String),
    /// The compiler gave up on this function.
    Compile { func: FuncId, message: String },
}

impl std::fmt::Display for NativeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NativeError::Unsupported(what) => write!(f, "native code is not supported here: {what}"),
            NativeError::Memory(what) => write!(f, "no memory for {what}"),
            NativeError::Compile { func, message } => write!(f, "cannot compile {func}: {message}"),
        }
    }
}

impl std::error::Error for NativeError {}

/// One compiled body of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VersionInfo {
    pub func: FuncId,
    pub level: Level,
    /// Where it begins.
    pub entry: u64,
    /// Bytes of machine code with its constants.
    pub len: u32,
    /// Time in Cranelift and its lowering.
    pub time: Duration,
}

/// Calls its argument with each address at which a frame of a thread stands.
pub type FrameAddresses<'a> = dyn FnMut(&mut dyn FnMut(u64)) + 'a;

/// What a [`Engine::reclaim`](super::Engine::reclaim) did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reclaimed {
    /// Its number, from 1.
    pub number: u64,
    /// Versions whose memory is free now, and the bytes of their code.
    pub freed: u64,
    pub bytes: u64,
    /// Retired versions in which threads have frames.
    pub in_use: u64,
    /// Retired versions without frames of which there may still be recorded addresses.
    pub waiting: u64,
}

/// What was compiled at one [`Level`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Compiled {
    pub versions: u64,
    /// Time in Cranelift and its lowering.
    pub nanos: u64,
}

/// Counters of one engine.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    pub baseline: Compiled,
    pub optimized: Compiled,
    /// Versions that were freed.
    pub freed: u64,
    /// Bytes of machine code that there is, with its constants.
    pub code_bytes: u64,
    /// Bytes of the code region up to the highest that code, stubs included, has ever lain at.
    pub code_span: u64,
    /// Bytes of the tables that describe the code that there is.
    pub table_bytes: u64,
}

impl Stats {
    /// At all levels.
    pub fn compiled(&self) -> Compiled {
        let (a, b) = (self.baseline, self.optimized);
        Compiled { versions: a.versions + b.versions, nanos: a.nanos + b.nanos }
    }
}
