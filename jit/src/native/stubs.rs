//! The hand-written assembly between Rust and compiled code: the way in, the ways out, and what they call.
//!
//! Compiled code reaches a stub by a direct call of a short jump in the code region ([`Thunks`]). Stubs that stand for rare events keep all registers (`PreserveAll`) and take no arguments, so that the call costs the code around it nothing:
//! operands and result travel in `stub_args`. Every stub that comes to Rust records frame pointer and return address first, so that whatever runs can walk the stack; afterwards, if an error is pending, it does not return but unwinds.
//! They are one file, since all of them stand on the same frames and registers, and the jumps to them on their order.
//!
//! Registers: r15 is the thread's context throughout. Rust's functions keep rbx, rbp, r12–r15. Stack alignment at each stub's entry: 8 modulo 16.

use super::api::{NativeError, RuntimeFns};
use super::engine::Engine;
use super::frames::{self, Resume};
use super::region::CodeRegion;
use super::trap::TrapKind;
use crate::context::{CallSeen, ThreadContext, offset};
use crate::ir::{Builtin, FuncId};
use std::arch::naked_asm;
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;

/// What compiled code may call besides functions. The order is that of [`Thunks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Stub {
    /// At a function's entry: the stack limit is passed, or poisoned.
    Entry,
    /// At a loop's back-edge: the yield flag is set.
    Poll,
    /// `stub_args`: class index. Result in `stub_args[0]`.
    NewObject,
    /// `stub_args`: class index, length. Result in `stub_args[0]`.
    NewArray,
    /// `stub_args`: object.
    Barrier,
    /// `stub_args`: a [`TrapKind`]. Does not return.
    Fail,
    /// Throws the pending error. Does not return.
    Throw,
    /// A call is counted and none are left: records it.
    Call,
    /// At a watched poll: the yield flag is set, or the thread is in code of the wrong kind. Counts that, and has a look taken each time the count has doubled. `stub_args`: 1 if the code counts calls.
    WatchedPoll,
    /// The same at an exit. `stub_args`: where the cells lie, as [`ExitCells::offsets`](super::exits::ExitCells::offsets) has them. Result in `stub_args[0]`: the code to go over into, or 0.
    ExitPoll,
}

impl Stub {
    pub const ALL: [Stub; 10] = [
        Stub::Entry,
        Stub::Poll,
        Stub::NewObject,
        Stub::NewArray,
        Stub::Barrier,
        Stub::Fail,
        Stub::Throw,
        Stub::Call,
        Stub::WatchedPoll,
        Stub::ExitPoll,
    ];

    fn code(self) -> *const () {
        match self {
            Stub::Entry => stub_entry as *const (),
            Stub::Poll => stub_poll as *const (),
            Stub::NewObject => stub_new_object as *const (),
            Stub::NewArray => stub_new_array as *const (),
            Stub::Barrier => stub_barrier as *const (),
            Stub::Fail => stub_fail as *const (),
            Stub::Throw => stub_throw as *const (),
            Stub::Call => stub_call as *const (),
            Stub::WatchedPoll => stub_watched_poll as *const (),
            Stub::ExitPoll => stub_exit_poll as *const (),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Stub::Entry => "entry_slow",
            Stub::Poll => "poll_slow",
            Stub::NewObject => "new_object",
            Stub::NewArray => "new_array",
            Stub::Barrier => "barrier",
            Stub::Fail => "fail",
            Stub::Throw => "throw",
            Stub::Call => "call_seen",
            Stub::WatchedPoll => "watched_poll",
            Stub::ExitPoll => "exit_poll",
        }
    }

    /// Whether compiled code goes on as if nothing had happened: no error comes out, and no object moves.
    pub fn is_silent(self) -> bool {
        matches!(self, Stub::Barrier | Stub::Call)
    }

    /// Whether the number of calls that are left is looked at, or changed.
    pub fn looks_at_calls(self) -> bool {
        !matches!(self, Stub::Barrier)
    }
}

/// Registers that the trampoline loads before the call and stores after it.
#[repr(C)]
#[derive(Default)]
pub struct Registers {
    pub ints: [u64; 6],
    pub floats: [f64; 8],
    pub int_result: u64,
    pub float_result: u64,
    /// 1 where an error left the code.
    pub thrown: u64,
}

/// Calls compiled code at `target`, with `stack_words` (even) words of arguments on the stack.
///
/// Frame, in words from its frame pointer: 0 and 1 are the caller's; −1…−5 saved registers, −6 `registers`, −7…−10 what the context held of an outer entry (`last_fp`, `last_pc`, `entry_sp`, `engine`), −11 where an uncaught error goes, −12 padding.
///
/// # Safety
/// `ctx` is the thread's, `target` an entry point whose parameters the registers and words fit.
#[unsafe(naked)]
pub unsafe extern "C" fn enter(
    ctx: *mut ThreadContext,
    target: u64,
    registers: *mut Registers,
    stack: *const u64,
    stack_words: u64,
    engine: *const Engine,
) {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rdx",
        "push qword ptr [rdi + {last_fp}]",
        "push qword ptr [rdi + {last_pc}]",
        "push qword ptr [rdi + {entry_sp}]",
        "push qword ptr [rdi + {engine}]",
        "lea rax, [rip + 4f]",
        "push rax",
        "push rax",
        "mov r15, rdi",
        "mov [r15 + {engine}], r9",
        "mov [r15 + {entry_sp}], rbp",
        // Stack arguments, last first.
        "2:",
        "test r8, r8",
        "jz 3f",
        "dec r8",
        "push qword ptr [rcx + 8 * r8]",
        "jmp 2b",
        "3:",
        "mov rax, rsi",
        "mov r10, rdx",
        "mov rdi, [r10]",
        "mov rsi, [r10 + 8]",
        "mov rdx, [r10 + 16]",
        "mov rcx, [r10 + 24]",
        "mov r8, [r10 + 32]",
        "mov r9, [r10 + 40]",
        "movsd xmm0, [r10 + 48]",
        "movsd xmm1, [r10 + 56]",
        "movsd xmm2, [r10 + 64]",
        "movsd xmm3, [r10 + 72]",
        "movsd xmm4, [r10 + 80]",
        "movsd xmm5, [r10 + 88]",
        "movsd xmm6, [r10 + 96]",
        "movsd xmm7, [r10 + 104]",
        "call rax",
        "mov rdx, [rbp - 48]",
        "mov [rdx + 112], rax",
        "movsd [rdx + 120], xmm0",
        "mov qword ptr [rdx + 128], 0",
        "jmp 5f",
        // An uncaught error comes here, with rbp restored.
        "4:",
        "mov rdx, [rbp - 48]",
        "mov qword ptr [rdx + 128], 1",
        "5:",
        "mov rax, [rbp - 56]",
        "mov [r15 + {last_fp}], rax",
        "mov rax, [rbp - 64]",
        "mov [r15 + {last_pc}], rax",
        "mov rax, [rbp - 72]",
        "mov [r15 + {entry_sp}], rax",
        "mov rax, [rbp - 80]",
        "mov [r15 + {engine}], rax",
        "lea rsp, [rbp - 40]",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        last_fp = const offset::LAST_FP,
        last_pc = const offset::LAST_PC,
        entry_sp = const offset::ENTRY_SP,
        engine = const offset::ENGINE,
    )
}

/// Throws the pending error from the frame that `last_fp` and `last_pc` name.
#[unsafe(naked)]
unsafe extern "C" fn unwind() -> ! {
    naked_asm!(
        "and rsp, -16",
        "sub rsp, 32",
        "mov rdi, r15",
        "mov rsi, rsp",
        "call {find}",
        "mov rcx, [rsp]",
        "mov rbp, [rsp + 16]",
        "mov rsp, [rsp + 8]",
        "jmp rcx",
        find = sym resume_after_throw,
    )
}

/// Defines a stub that keeps all registers and calls `helper(ctx, sp)`, `sp` being the compiled code's stack pointer.
macro_rules! preserving_stub {
    ($name:ident, $helper:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "push rax", "push rcx", "push rdx", "push rsi", "push rdi", "push r8", "push r9", "push r10", "push r11",
                "sub rsp, 256",
                "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
                "movups [rsp + 128], xmm8", "movups [rsp + 144], xmm9", "movups [rsp + 160], xmm10", "movups [rsp + 176], xmm11",
                "movups [rsp + 192], xmm12", "movups [rsp + 208], xmm13", "movups [rsp + 224], xmm14", "movups [rsp + 240], xmm15",
                "mov rax, [rsp + 256 + 72]",
                "mov [r15 + {last_pc}], rax",
                "mov [r15 + {last_fp}], rbp",
                "mov rdi, r15",
                "lea rsi, [rsp + 256 + 80]",
                "call {helper}",
                "cmp qword ptr [r15 + {pending}], 0",
                "jne {unwind}",
                "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
                "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
                "movups xmm8, [rsp + 128]", "movups xmm9, [rsp + 144]", "movups xmm10, [rsp + 160]", "movups xmm11, [rsp + 176]",
                "movups xmm12, [rsp + 192]", "movups xmm13, [rsp + 208]", "movups xmm14, [rsp + 224]", "movups xmm15, [rsp + 240]",
                "add rsp, 256",
                "pop r11", "pop r10", "pop r9", "pop r8", "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop rax",
                "ret",
                last_pc = const offset::LAST_PC,
                last_fp = const offset::LAST_FP,
                pending = const offset::PENDING_ERROR,
                helper = sym $helper,
                unwind = sym unwind,
            )
        }
    };
}

preserving_stub!(stub_poll, poll_slow);
preserving_stub!(stub_new_object, new_object);
preserving_stub!(stub_new_array, new_array);
preserving_stub!(stub_barrier, barrier);
preserving_stub!(stub_call_slow, call_slow);
preserving_stub!(stub_watch_slow, watch_slow);
preserving_stub!(stub_watched_poll_slow, watched_poll_slow);
preserving_stub!(stub_exit_poll_slow, exit_poll_slow);

/// The slow path of a prologue: a yield, or the stack's end. Then the error is made on the caller's part of the stack, which leaves room enough: the function's own frame, which may be larger than what is kept free, is not there yet.
#[unsafe(naked)]
unsafe extern "C" fn stub_entry() {
    naked_asm!(
        "push rax",
        "lea rax, [rsp + 16]",
        "cmp rax, [r15 + {limit}]",
        "pop rax",
        "jae {poll}",
        "pop rax",
        "mov [r15 + {last_pc}], rax",
        "mov [r15 + {last_fp}], rbp",
        "mov rsp, rbp",
        "and rsp, -16",
        "mov rdi, r15",
        "call {overflow}",
        "jmp {unwind}",
        limit = const offset::REAL_STACK_LIMIT,
        last_pc = const offset::LAST_PC,
        last_fp = const offset::LAST_FP,
        poll = sym stub_poll,
        overflow = sym overflow,
        unwind = sym unwind,
    )
}

/// Stores a [`CallSeen`] of the callee whose prologue or probe this is, and goes on as if nothing had happened; where there is no room for it, [`call_slow`] is asked.
#[unsafe(naked)]
unsafe extern "C" fn stub_call() {
    naked_asm!(
        "push rax",
        "mov rax, [r15 + {cursor}]",
        "cmp rax, [r15 + {end}]",
        "jae 2f",
        "push rcx",
        "mov rcx, [rsp + 16]",
        "mov [rax + {pc}], rcx",
        "mov [rax + {fp}], rbp",
        "mov rcx, [rbp + 8]",
        "mov [rax + {ret}], rcx",
        "add rax, {size}",
        "mov [r15 + {cursor}], rax",
        "pop rcx",
        "pop rax",
        "ret",
        "2:",
        "pop rax",
        "jmp {slow}",
        cursor = const offset::RECORD_CURSOR,
        end = const offset::RECORD_END,
        pc = const offset_of!(CallSeen, pc),
        fp = const offset_of!(CallSeen, fp),
        ret = const offset_of!(CallSeen, ret),
        size = const size_of::<CallSeen>(),
        slow = sym stub_call_slow,
    )
}

/// Attends, or adds one to the rounds in loops of the wrong kind. Here, not in the loop's own code: what is computed there, however rarely, takes registers from the loop (as in `event_simulation`).
#[unsafe(naked)]
unsafe extern "C" fn stub_watched_poll() {
    naked_asm!(
        "cmp byte ptr [r15 + {asked}], 0",
        "jne {attend}",
        "push rax",
        "push rcx",
        "mov rax, [r15 + {rounds}]",
        "lea rcx, [rax + 1]",
        "mov [r15 + {rounds}], rcx",
        "test rax, rcx",
        "pop rcx",
        "pop rax",
        "jz {watch}",
        "ret",
        asked = const offset::YIELD_FLAG,
        rounds = const offset::WATCHED_ROUNDS,
        attend = sym stub_watched_poll_slow,
        watch = sym stub_watch_slow,
    )
}

/// Attends, or looks for code to go over into. As long as there is none, that is asked for, and costs little, however often it is.
#[unsafe(naked)]
unsafe extern "C" fn stub_exit_poll() {
    naked_asm!(
        "cmp byte ptr [r15 + {asked}], 0",
        "jne {attend}",
        "mov qword ptr [r15 + {rounds}], 0",
        "push rax",
        "mov rax, [r15 + {args}]",
        "add rax, [r15 + {cells}]",
        "mov rax, [rax]",
        "mov [r15 + {args}], rax",
        "test rax, rax",
        "jnz 2f",
        "mov rax, [r15 + {args} + 8]",
        "add rax, [r15 + {cells}]",
        "mov [rax], rax",
        "2:",
        "pop rax",
        "ret",
        asked = const offset::YIELD_FLAG,
        rounds = const offset::WATCHED_ROUNDS,
        args = const offset::STUB_ARGS,
        cells = const offset::EXIT_CELLS,
        attend = sym stub_exit_poll_slow,
    )
}

/// Makes the error and throws it; called by compiled code.
#[unsafe(naked)]
unsafe extern "C" fn stub_fail() -> ! {
    naked_asm!(
        "pop rax",
        "mov [r15 + {last_pc}], rax",
        "mov [r15 + {last_fp}], rbp",
        "mov rdi, r15",
        "call {fail}",
        "jmp {unwind}",
        last_pc = const offset::LAST_PC,
        last_fp = const offset::LAST_FP,
        fail = sym fail,
        unwind = sym unwind,
    )
}

/// Throws the pending error; called by compiled code.
#[unsafe(naked)]
unsafe extern "C" fn stub_throw() -> ! {
    naked_asm!(
        "pop rax",
        "mov [r15 + {last_pc}], rax",
        "mov [r15 + {last_fp}], rbp",
        "jmp {unwind}",
        last_pc = const offset::LAST_PC,
        last_fp = const offset::LAST_FP,
        unwind = sym unwind,
    )
}

/// Where the signal handler lets a trapped thread go on: the context says what failed, the stack pointer is aligned.
#[unsafe(naked)]
pub unsafe extern "C" fn stub_trapped() -> ! {
    naked_asm!(
        "mov rdi, r15",
        "call {fail}",
        "jmp {unwind}",
        fail = sym fail,
        unwind = sym unwind,
    )
}

/// Calls the builtin in rax: it may walk the stack, and it may throw.
#[unsafe(naked)]
unsafe extern "C" fn stub_builtin() {
    naked_asm!(
        "mov r10, [rsp]",
        "mov [r15 + {last_pc}], r10",
        "mov [r15 + {last_fp}], rbp",
        "sub rsp, 8",
        "call rax",
        "add rsp, 8",
        "cmp qword ptr [r15 + {pending}], 0",
        "jne {unwind}",
        "ret",
        last_pc = const offset::LAST_PC,
        last_fp = const offset::LAST_FP,
        pending = const offset::PENDING_ERROR,
        unwind = sym unwind,
    )
}

/// A call of the function in eax that finds no code, or is to be noticed: compiles it if there is none, and goes on there with the same arguments. The compiler neither moves nor frees objects, so those in registers need no map.
#[unsafe(naked)]
unsafe extern "C" fn stub_lazy() {
    naked_asm!(
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
        "sub rsp, 136",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "mov rcx, [rsp + 136 + 48]",
        "mov [r15 + {last_pc}], rcx",
        "mov [r15 + {last_fp}], rbp",
        "mov rdi, r15",
        "mov esi, eax",
        "call {compile}",
        "cmp qword ptr [r15 + {pending}], 0",
        "jne {unwind}",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "add rsp, 136",
        "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
        "jmp rax",
        last_pc = const offset::LAST_PC,
        last_fp = const offset::LAST_FP,
        pending = const offset::PENDING_ERROR,
        compile = sym compile,
        unwind = sym unwind,
    )
}

// What the stubs call. All run on the thread's own stack, with its context.

/// The engine whose code runs.
///
/// # Safety
/// Called from a stub: the thread is inside [`Engine::enter`], which borrows the engine.
unsafe fn engine<'a>(ctx: *mut ThreadContext) -> &'a Engine {
    // SAFETY: set by `enter`.
    unsafe { &*(*ctx).engine.cast() }
}

unsafe extern "C" fn overflow(ctx: *mut ThreadContext) {
    // SAFETY: called from a stub, frames recorded; no operands.
    unsafe { raise(ctx, TrapKind::StackOverflow) }
}

unsafe extern "C" fn poll_slow(ctx: *mut ThreadContext, _sp: u64) {
    // SAFETY: called from a stub, frames recorded.
    unsafe {
        (engine(ctx).runtime().yield_slow)(ctx);
        engine(ctx).polled(&*ctx);
    }
}

unsafe extern "C" fn new_object(ctx: *mut ThreadContext, _sp: u64) {
    // SAFETY: called from a stub, frames recorded; the operand is a class's index.
    unsafe { (*ctx).stub_args[0] = (engine(ctx).runtime().new_object)(ctx, (*ctx).stub_args[0] as u32) }
}

unsafe extern "C" fn new_array(ctx: *mut ThreadContext, _sp: u64) {
    // SAFETY: called from a stub, frames recorded; the operands are a class's index and a length.
    unsafe {
        let [class, length] = (*ctx).stub_args;
        if (length as i64) < 0 {
            (*ctx).trap_value = length;
            return raise(ctx, TrapKind::NegativeLength);
        }
        (*ctx).stub_args[0] = (engine(ctx).runtime().new_array)(ctx, class as u32, length as i64);
    }
}

unsafe extern "C" fn barrier(ctx: *mut ThreadContext, _sp: u64) {
    // SAFETY: called from a stub; the operand is an object.
    unsafe { (engine(ctx).runtime().barrier)(ctx, (*ctx).stub_args[0]) }
}

unsafe extern "C" fn call_slow(ctx: *mut ThreadContext, _sp: u64) {
    // SAFETY: called from a stub, frames recorded.
    unsafe { (engine(ctx).runtime().call_slow)(ctx) }
}

unsafe extern "C" fn watched_poll_slow(ctx: *mut ThreadContext, sp: u64) {
    // SAFETY: called from a stub, frames recorded.
    unsafe {
        let [counts, _] = (*ctx).stub_args;
        poll_slow(ctx, sp);
        // It may be to count calls since then, or not to.
        if counts != u64::from((*ctx).counts_calls.load(Relaxed)) && (*ctx).watch.adds_round() {
            watch_slow(ctx, sp);
        }
    }
}

unsafe extern "C" fn exit_poll_slow(ctx: *mut ThreadContext, sp: u64) {
    // SAFETY: called from a stub, frames recorded; the operands are offsets of an exit's cells.
    unsafe {
        let [cell, _] = (*ctx).stub_args;
        poll_slow(ctx, sp);
        let counts = (*ctx).counts_calls.load(Relaxed) != 0;
        (*ctx).stub_args[0] = engine(ctx).exits().go_over(cell, counts, &mut (*ctx).watch);
    }
}

unsafe extern "C" fn watch_slow(ctx: *mut ThreadContext, _sp: u64) {
    // SAFETY: called from a stub, frames recorded; what the context has for it is the thread's own.
    unsafe {
        let counts = (*ctx).counts_calls.load(Relaxed) != 0;
        engine(ctx).watched(counts, (*ctx).last_pc, (*ctx).last_fp, &mut (*ctx).watch);
    }
}

unsafe extern "C" fn fail(ctx: *mut ThreadContext) {
    // SAFETY: the thread's own context; whoever set the kind also set its operands.
    unsafe {
        let kind = TrapKind::from_u8((*ctx).stub_args[0] as u8).expect("a kind of trap");
        raise(ctx, kind);
    }
}

/// Has the runtime make the error.
///
/// # Safety
/// Frames are recorded, and the operands of the kind set.
unsafe fn raise(ctx: *mut ThreadContext, kind: TrapKind) {
    // SAFETY: by contract.
    unsafe {
        if kind == TrapKind::StackOverflow {
            // The function has not begun: its call throws, as in the interpreter.
            let frame = (*ctx).last_fp as *const u64;
            (*ctx).last_fp = frame.read();
            (*ctx).last_pc = frame.add(1).read();
        }
        let trap = kind.describe(&*ctx);
        (engine(ctx).runtime().trap)(ctx, &trap);
        (*ctx).trap_object = 0;
        assert!((*ctx).pending_error != 0, "the runtime made no error for {trap:?}");
    }
}

/// Returns the error for the landing pad, and takes it from the context if it is caught.
unsafe extern "C" fn resume_after_throw(ctx: *mut ThreadContext, resume: *mut Resume) -> u64 {
    // SAFETY: called from `unwind`: frames recorded, an error pending, room for the result.
    unsafe {
        let found = frames::find_handler(engine(ctx).tables(), &*ctx);
        resume.write(found);
        let error = (*ctx).pending_error;
        if found.caught {
            (*ctx).pending_error = 0;
        }
        error
    }
}

/// The address to go on at; or an error is pending.
unsafe extern "C" fn compile(ctx: *mut ThreadContext, func: u32) -> u64 {
    // SAFETY: called from a stub, frames recorded.
    let engine = unsafe { engine(ctx) };
    let compiled = engine.compile(FuncId::from_u32(func));
    // SAFETY: as above.
    unsafe { (engine.runtime().compiled)(ctx) };
    match compiled {
        Ok(entry) => entry,
        Err(_) => {
            // SAFETY: as above; no operands. The engine keeps the reason.
            unsafe { raise(ctx, TrapKind::OutOfMemory) };
            0
        }
    }
}

/// The short pieces of code in the region through which compiled code reaches stubs, builtins and functions that are not compiled yet.
pub struct Thunks {
    stubs: u64,
    builtins: u64,
    lazy: u64,
}

const STUB_SIZE: u64 = 16;
const BUILTIN_SIZE: u64 = 32;
const LAZY_SIZE: u64 = 16;

/// `jmp [rip]` to an absolute address: 14 bytes.
fn jump(code: &mut Vec<u8>, target: *const ()) {
    code.extend([0xff, 0x25, 0, 0, 0, 0]);
    code.extend((target as u64).to_le_bytes());
}

fn pad(code: &mut Vec<u8>, size: u64) {
    code.resize(code.len().next_multiple_of(size as usize), 0xcc);
}

impl Thunks {
    pub fn new(region: &CodeRegion, runtime: &RuntimeFns, funcs: usize) -> Result<Thunks, NativeError> {
        let full = || NativeError::Memory("the code region's stubs".into());
        let mut code = Vec::new();
        for stub in Stub::ALL {
            jump(&mut code, stub.code());
            pad(&mut code, STUB_SIZE);
        }
        let lazy_target = code.len() as i64;
        jump(&mut code, stub_lazy as *const ());
        pad(&mut code, BUILTIN_SIZE);
        let builtins = code.len() as u64;
        assert_eq!(runtime.builtins.len(), Builtin::ALL.len(), "one function for each builtin");
        for (&builtin, &function) in Builtin::ALL.iter().zip(&runtime.builtins) {
            // mov rax, function
            code.extend([0x48, 0xb8]);
            code.extend((function as u64).to_le_bytes());
            match builtin.signature().may_throw || builtin.signature().is_safepoint {
                true => jump(&mut code, stub_builtin as *const ()),
                // jmp rax
                false => code.extend([0xff, 0xe0]),
            }
            pad(&mut code, BUILTIN_SIZE);
        }
        let lazy = code.len() as u64;
        for func in 0..funcs as u32 {
            // mov eax, func
            code.push(0xb8);
            code.extend(func.to_le_bytes());
            // jmp to the jump to `stub_lazy`
            let distance = i32::try_from(lazy_target - (code.len() as i64 + 5)).map_err(|_| full())?;
            code.push(0xe9);
            code.extend(distance.to_le_bytes());
            pad(&mut code, LAZY_SIZE);
        }
        let start = region.place(&code, 64, 0, |_, _| {}).ok_or_else(full)?;
        Ok(Thunks { stubs: start, builtins: start + builtins, lazy: start + lazy })
    }

    pub fn stub(&self, stub: Stub) -> u64 {
        self.stubs + STUB_SIZE * stub as u64
    }

    pub fn builtin(&self, builtin: Builtin) -> u64 {
        self.builtins + BUILTIN_SIZE * builtin as u64
    }

    /// What stands for a function while it has no code, or while its next call is to be noticed.
    pub fn lazy(&self, func: FuncId) -> u64 {
        self.lazy + LAZY_SIZE * u64::from(func.as_u32())
    }
}
