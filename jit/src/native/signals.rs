//! Turns hardware faults in compiled code into traps.
//!
//! In: SIGSEGV, SIGBUS, SIGILL, SIGFPE. If the program counter is at an instruction that some engine's tables know as a trap site, the thread goes on in [`super::stubs::stub_trapped`], on its own stack, with the kind of trap
//! in its context. Anything else goes to whoever handled the signal before us: real crashes still crash.
//!
//! Invariant: the handler takes no lock and allocates nothing; it reads what compilations publish atomically, and the context, which belongs to the interrupted thread (r15 in compiled code).

use super::frames::TRAPPED;
use super::stubs::stub_trapped;
use super::tables::CodeTables;
use super::trap::TrapKind;
use crate::context::ThreadContext;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Once, OnceLock};

const SIGNALS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

/// Addresses below this belong to nobody: an access there is one to a null object. Larger offsets from a reference are checked explicitly.
pub const NULL_ZONE: u64 = 4096;

/// Bytes of stack a handler gets at least; the kernel's frame alone may take several thousand.
const SIGNAL_STACK: usize = 64 * 1024;

/// One engine's code region; `tables` is null when the engine is gone. Nodes are never freed: a handler may be looking at them.
struct Node {
    start: u64,
    end: u64,
    tables: AtomicPtr<CodeTables>,
    next: *const Node,
}

static ENGINES: AtomicPtr<Node> = AtomicPtr::new(null_mut());

/// Keeps an engine's tables known to the handler.
pub struct Registration(&'static Node);

// SAFETY: a node's only changing part is atomic.
unsafe impl Send for Registration {}
// SAFETY: as above.
unsafe impl Sync for Registration {}

impl Registration {
    /// # Safety
    /// The tables outlive the registration.
    pub unsafe fn new(tables: &CodeTables) -> Registration {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(install);
        let (start, end) = tables.range();
        let mut head = ENGINES.load(Ordering::Acquire);
        let node = Box::into_raw(Box::new(Node { start, end, tables: AtomicPtr::new((&raw const *tables).cast_mut()), next: head }));
        while let Err(now) = ENGINES.compare_exchange(head, node, Ordering::AcqRel, Ordering::Acquire) {
            head = now;
            // SAFETY: not published yet, so it is ours alone.
            unsafe { (*node).next = now };
        }
        // SAFETY: never freed.
        Registration(unsafe { &*node })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.0.tables.store(null_mut(), Ordering::Release);
    }
}

/// The tables of the engine whose region the interrupted thread runs in: that thread keeps the engine alive.
fn tables_at<'a>(pc: u64) -> Option<&'a CodeTables> {
    // SAFETY: nodes are never freed.
    let follow = |p: *const Node| unsafe { p.as_ref() };
    let mut nodes = std::iter::successors(follow(ENGINES.load(Ordering::Acquire)), |n| follow(n.next));
    let tables = nodes.find_map(|n| {
        let tables = n.tables.load(Ordering::Acquire);
        ((n.start..n.end).contains(&pc) && !tables.is_null()).then_some(tables)
    })?;
    // SAFETY: by the registration's contract they live.
    Some(unsafe { &*tables })
}

/// What handled each of [`SIGNALS`] before us; set before our handler is installed.
static PREVIOUS: OnceLock<[libc::sigaction; 4]> = OnceLock::new();

fn install() {
    PREVIOUS.get_or_init(|| {
        SIGNALS.map(|signal| {
            // SAFETY: asks for the present action, which is plain data.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, null(), &mut action);
                action
            }
        })
    });
    for signal in SIGNALS {
        // SAFETY: the handler takes three arguments, as the flags say.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, null_mut());
        }
    }
}

unsafe extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a siginfo and a ucontext.
    let handled = unsafe { recover(signal, &*info, &mut *context.cast()) };
    if !handled {
        // SAFETY: as above.
        unsafe { pass_on(signal, info, context) };
    }
}

/// Sends the thread on to the trap stub, if the fault is one of ours.
///
/// # Safety
/// Called from the signal handler with its arguments.
unsafe fn recover(signal: i32, info: &libc::siginfo_t, context: &mut libc::ucontext_t) -> bool {
    let registers = &mut context.uc_mcontext.gregs;
    let pc = registers[libc::REG_RIP as usize] as u64;
    let fp = registers[libc::REG_RBP as usize] as u64;
    let Some(tables) = tables_at(pc) else { return false };
    let Some(version) = tables.version(pc) else { return false };
    // SAFETY: the field is there for faults.
    let address = unsafe { info.si_addr() } as u64;
    let is_access = signal == libc::SIGSEGV || signal == libc::SIGBUS;
    let by_hardware = is_access && info.si_code != SI_KERNEL;
    let kind = match version.trap_at(pc).map(|t| t.kind) {
        Some(TrapKind::Unreachable) => return false,
        Some(kind) if is_access && !(by_hardware && kind == TrapKind::Null && address < NULL_ZONE) => return false,
        Some(kind) => kind,
        // The probes of a large frame, before the function's own check of the stack.
        None if by_hardware && (fp.saturating_sub(u64::from(version.frame_size) + 4096)..fp).contains(&address) => TrapKind::StackOverflow,
        None => return false,
    };
    let ctx = registers[libc::REG_R15 as usize] as *mut ThreadContext;
    // SAFETY: r15 is the context in compiled code, and the interrupted thread owns it.
    unsafe {
        (*ctx).last_pc = pc | TRAPPED;
        (*ctx).last_fp = fp;
        (*ctx).stub_args[0] = kind as u64;
    }
    // The frame has no live values: the stub may use its stack. Above it stands the caller, which left `STACK_RESERVE`.
    registers[libc::REG_RSP as usize] = (fp & !15) as i64;
    registers[libc::REG_RIP as usize] = stub_trapped as *const () as i64;
    true
}

/// `si_code` of faults without an address.
const SI_KERNEL: i32 = 0x80;

/// # Safety
/// Called from the signal handler with its arguments.
unsafe fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let index = SIGNALS.iter().position(|&s| s == signal).expect("a signal of ours");
    let previous = &PREVIOUS.get().expect("set before our handler was installed")[index];
    match previous.sa_sigaction {
        // Taking the default action: the instruction faults again.
        // SAFETY: restores a handler.
        libc::SIG_DFL | libc::SIG_IGN => unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &action, null_mut());
        },
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: what was installed as a handler of three arguments.
            let handler: unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = unsafe { std::mem::transmute(handler) };
            // SAFETY: as the kernel would call it.
            unsafe { handler(signal, info, context) }
        }
        handler => {
            // SAFETY: what was installed as a handler of one argument.
            let handler: unsafe extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            // SAFETY: as the kernel would call it.
            unsafe { handler(signal) }
        }
    }
}

/// The current thread's signal stack, if we made it.
struct SignalStack(*mut libc::c_void);

impl Drop for SignalStack {
    fn drop(&mut self) {
        // The one before, which was Rust's, is gone by now.
        let none = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: SIGNAL_STACK };
        // SAFETY: the thread's own signal stack; nothing runs on it now.
        unsafe {
            libc::sigaltstack(&none, null_mut());
            libc::munmap(self.0, SIGNAL_STACK);
        }
    }
}

impl SignalStack {
    /// `None` where the thread has one that suffices, or there is no memory for one.
    fn install() -> Option<SignalStack> {
        // SAFETY: asks for, then sets, the thread's own signal stack; the new one is fresh memory.
        unsafe {
            let mut previous: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(null(), &mut previous);
            if previous.ss_flags & libc::SS_DISABLE == 0 && previous.ss_size >= SIGNAL_STACK {
                return None;
            }
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
            let memory = libc::mmap(null_mut(), SIGNAL_STACK, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                return None;
            }
            let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: SIGNAL_STACK };
            libc::sigaltstack(&stack, null_mut());
            Some(SignalStack(memory))
        }
    }
}

/// Gives the current thread a signal stack, once.
pub fn prepare_thread() {
    thread_local!(static STACK: Option<SignalStack> = SignalStack::install());
    STACK.with(|_| ());
}
