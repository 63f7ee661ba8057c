//! A runtime small enough to be obviously right: a bump heap of two halves, a collector that copies everything reachable to the other half and fills the old one with garbage, errors that carry their kind and operand.
//!
//! One [`Thread`] has one heap; it serves both tiers: as the interpreter's [`Host`], and through `extern "C"` functions. All in one file, because these are three views of the
//! same few fields.

use jit::context::{CallSeen, ThreadContext};
use jit::interp::{Host, Interpreter, Slot, Stack};
use jit::ir::*;
use jit::layout::*;
use jit::native::*;
use jit::opt::{Pass, Probes, run_inlining, run_pass};
use jit::trap::{Thrown, Trap};
use profiler::oracle::{Accepted, CallSiteFacts, Oracle, Verdict};
use std::cell::Cell;
use std::ffi::c_void;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Classes that every test module begins with.
pub const PRELUDE: &str = r#"
class0 "Object"
class1 "Error" extends class0 {
  field0 "kind": int
  field1 "operand": int
}
class2 array byte "Str" extends class0
class3 array int "Array<Int>" extends class0
class4 array float "Array<Float>" extends class0
class5 array bool "Array<Bool>" extends class0
class6 array ref "Array<Object>" extends class0
"#;

const ERROR: u32 = 1;
const STR: u32 = 2;

pub fn parse(text: &str) -> Arc<Module> {
    let text = format!("{PRELUDE}{text}");
    Arc::new(jit::ir::parser::parse(&text).unwrap_or_else(|e| panic!("{e}")))
}

/// A program with its class table, globals and literals in memory.
pub struct Program {
    pub module: Arc<Module>,
    pub layout: Arc<Layout>,
    pub engine: Engine,
    interpreter: Interpreter,
    _table: Vec<u64>,
    base: u64,
    globals: Vec<u64>,
    strings: Vec<Vec<u64>>,
    _interfaces: Vec<Vec<u8>>,
}

// SAFETY: memory that only the engine and the mock's threads touch.
unsafe impl Sync for Program {}
// SAFETY: as above.
unsafe impl Send for Program {}

#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Collect at every safepoint.
    pub stress: bool,
    pub inline_alloc: bool,
    pub polls: bool,
    /// As the optimizing tier.
    pub optimize: bool,
    /// All functions count as large.
    pub quick: bool,
    /// Bytes a thread may allocate before the slow path is taken.
    pub buffer: usize,
    pub profiling: Profiling,
    /// Calls that a slow call makes room to record.
    pub burst: usize,
    /// After so many arrivals at loops' polls, each loop is left at the next one for code that goes on there.
    pub osr: Option<usize>,
}

impl Default for Config {
    fn default() -> Self {
        let (optimize, profiling) = (false, Profiling::Off);
        Config { stress: false, inline_alloc: true, polls: true, optimize, quick: false, buffer: 4096, profiling, burst: 0, osr: None }
    }
}

impl Config {
    fn level(&self) -> Level {
        if self.optimize { Level::Optimized } else { Level::Baseline }
    }
}

impl Program {
    pub fn new(text: &str, config: Config) -> Program {
        Self::of(parse(text), config)
    }

    pub fn of(module: Arc<Module>, config: Config) -> Program {
        Self::adjusted(module, config, |_| {})
    }

    /// What else the engine is told is up to `adjust`.
    pub fn adjusted(module: Arc<Module>, config: Config, adjust: impl FnOnce(&mut Options)) -> Program {
        let layout = Arc::new(Layout::new(&module));
        let table = vec![0u64; layout.table_size.div_ceil(8) + 1];
        let base = table.as_ptr() as u64;
        let mut interfaces = Vec::new();
        for class in module.classes.keys() {
            let description = layout.describe(&module, class);
            let at = (base + u64::from(layout.class_word[class])) as *mut ClassDesc;
            interfaces.push(description.interfaces.clone());
            // SAFETY: inside the table; the interfaces live as long as it.
            unsafe { at.write(description.fixed_part(std::ptr::null(), interfaces.last().unwrap().as_ptr())) };
        }
        let globals = vec![0u64; module.globals.len().max(1)];
        let word = |class: u32| u64::from(layout.class_word[ClassId::from_u32(class)]) << 32;
        let strings: Vec<Vec<u64>> = module
            .strings
            .values()
            .map(|text| {
                let mut object = vec![word(STR), text.len() as u64];
                object.extend(text.as_bytes().chunks(8).map(|c| {
                    let mut bytes = [0; 8];
                    bytes[..c.len()].copy_from_slice(c);
                    u64::from_le_bytes(bytes)
                }));
                object
            })
            .collect();
        let addresses = Addresses {
            class_table: base,
            class_base: base,
            globals: globals.as_ptr() as u64,
            strings: strings.iter().map(|s| s.as_ptr() as u64).collect(),
        };
        let large_function = if config.quick { 0 } else { 10_000 };
        let mut options = Options {
            polls: config.polls,
            inline_alloc: config.inline_alloc,
            level: config.level(),
            profiling: config.profiling,
            profile_optimized: true,
            osr: if config.osr.is_some() { Osr::Installed } else { Osr::Off },
            exits: Exits::Off,
            verify: true,
            large_function,
            loop_registers: if config.stress { 0 } else { Options::default().loop_registers },
            code_size: 16 << 20,
            listener: None,
        };
        adjust(&mut options);
        let engine = Engine::new(module.clone(), layout.clone(), addresses, runtime_fns(), options).unwrap();
        let interpreter = Interpreter::new(&module, &layout);
        Program { module, layout, engine, interpreter, _table: table, base, globals, strings, _interfaces: interfaces }
    }

    pub fn func(&self, name: &str) -> FuncId {
        let found = self.module.funcs.iter().find(|(_, f)| &*f.name == name);
        found.unwrap_or_else(|| panic!("no function {name}")).0
    }

    fn description(&self, object: u64) -> &ClassDesc {
        // SAFETY: a live object's class word.
        unsafe { &*((self.base + u64::from(*((object + CLASS_WORD as u64) as *const u32))) as *const ClassDesc) }
    }

    fn size(&self, object: u64) -> usize {
        let class = self.description(object);
        // SAFETY: arrays have a length.
        let length = || unsafe { *((object + ARRAY_LENGTH as u64) as *const u64) as usize };
        match class.shape {
            Shape::Object => class.size as usize,
            Shape::RefArray | Shape::WordArray => ARRAY_DATA as usize + 8 * length(),
            Shape::ByteArray => (ARRAY_DATA as usize + length()).next_multiple_of(8),
        }
    }
}

/// What the optimizer makes of a function; where calls that are inlined can be counted, some are.
fn optimized(module: &Module, func: Function, profiling: Profiling) -> Function {
    let mut module = module.clone();
    let id = module.funcs.push(func);
    if profiling == Profiling::Inlined {
        _ = run_inlining(&mut module, &Everything, Probes::Inlined);
    }
    Pass::ALL.iter().chain(Pass::ALL).for_each(|&pass| _ = run_pass(&mut module, pass, &profiler::oracle::StaticOracle::default()));
    std::mem::replace(&mut module.funcs[id], Function::new("", Vec::new(), None, Loc::default()))
}

struct Everything;

impl Oracle for Everything {
    fn decide(&self, _: &CallSiteFacts<'_>) -> Verdict {
        Verdict::Inline(Accepted::Small)
    }
}

/// How a run ended: a result, or an error's kind, operand and trace.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    Value(u64),
    Error { kind: i64, operand: i64, trace: Vec<(String, u32)> },
}

/// Error kinds.
pub fn kind_of(trap: Trap) -> (i64, i64) {
    match trap {
        Trap::Null => (1, 0),
        Trap::Bounds { index, length } => (2, index * 1000 + length),
        Trap::DivisionByZero => (3, 0),
        Trap::Cast { object, target } => (4, i64::from(target.as_u32()) * 2 + i64::from(object != 0)),
        Trap::NegativeLength { length } => (5, length),
        Trap::StackOverflow => (6, 0),
        Trap::OutOfMemory => (7, 0),
    }
}

/// Frames, innermost first: functions, and the calls at which all but the first stand.
pub type Context = Vec<(FuncId, Option<CallSiteId>)>;

const HALF: usize = 4 << 20;

pub type AtStop<'a> = Box<dyn FnMut(&ThreadContext) + 'a>;
type AtCall<'a> = Box<dyn FnOnce(&mut ThreadContext) + 'a>;

/// One thread: context, heap, what it printed.
pub struct Thread<'a> {
    pub ctx: Box<ThreadContext>,
    program: &'a Program,
    config: Config,
    halves: [Vec<u64>; 2],
    current: usize,
    /// Free part of the current half, from which buffers are cut.
    free: usize,
    /// Bytes of each half that may not be zero.
    dirty: [usize; 2],
    pub output: Vec<String>,
    pub collections: usize,
    pub yields: usize,
    /// Frames of compiled code at the last of them.
    pub yielded_at: Vec<FrameView>,
    /// Yields at polls of loops that can be left.
    pub arrivals: usize,
    /// Loops that were left.
    pub left: usize,
    /// What a yield sets `calls_left` to.
    pub calls_left_at_yield: Option<i64>,
    /// Called at each yield in compiled code, after nobody asks for one any more, and for each error that is made.
    pub at_stop: Option<AtStop<'a>>,
    /// Calls that came to the compiler.
    pub compiled: usize,
    /// Called once, at the next call that is seen.
    pub at_call: Option<AtCall<'a>>,
    /// The interpreter's frames, outermost first, each with the call that made it.
    open: Vec<(FuncId, Option<CallSiteId>)>,
    /// All calls that the interpreter told of.
    pub told: Vec<Context>,
    /// All calls that compiled code told of, in their order.
    pub seen: Vec<CallSeen>,
    /// Those that it found no room for, with the frames of compiled code.
    pub seen_slowly: Vec<(usize, Context)>,
    room: Vec<CallSeen>,
    pub remembered: usize,
    /// Frames of the last error made.
    trace: Vec<(FuncId, Loc)>,
    stack: Option<*const Stack>,
    /// Frames that traces hold at most.
    pub trace_limit: usize,
}

fn current_stack_limit() -> u64 {
    // SAFETY: asks for the current thread's stack.
    unsafe {
        let mut attr: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_getattr_np(libc::pthread_self(), &mut attr);
        let (mut low, mut size) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attr, &mut low, &mut size);
        libc::pthread_attr_destroy(&mut attr);
        low as u64 + STACK_RESERVE as u64
    }
}

/// Runs `f` on a thread whose stack has exactly `size` bytes above a guard page. (The system's own threads get a used stack of any larger size.)
pub fn on_stack<R: Send>(size: usize, f: impl FnOnce() -> R + Send) -> R {
    struct Job<F, R> {
        f: Option<F>,
        result: Option<std::thread::Result<R>>,
    }
    extern "C" fn run<F: FnOnce() -> R, R>(job: *mut c_void) -> *mut c_void {
        // SAFETY: the job outlives the thread, which alone uses it.
        let job = unsafe { &mut *job.cast::<Job<F, R>>() };
        let f = job.f.take().expect("started once");
        job.result = Some(std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)));
        std::ptr::null_mut()
    }
    fn start<F: FnOnce() -> R, R>(job: &mut Job<F, R>, size: usize) {
        const GUARD: usize = 4096;
        // SAFETY: fresh memory, used as a stack until the thread has ended.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let memory = libc::mmap(std::ptr::null_mut(), size + GUARD, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            libc::mprotect(memory, GUARD, libc::PROT_NONE);
            let mut attr: libc::pthread_attr_t = std::mem::zeroed();
            libc::pthread_attr_init(&mut attr);
            assert_eq!(libc::pthread_attr_setstack(&mut attr, memory.byte_add(GUARD), size), 0);
            let mut thread = 0;
            assert_eq!(libc::pthread_create(&mut thread, &attr, run::<F, R>, (&raw mut *job).cast()), 0);
            libc::pthread_join(thread, std::ptr::null_mut());
            libc::pthread_attr_destroy(&mut attr);
            libc::munmap(memory, size + GUARD);
        }
    }
    let mut job = Job { f: Some(f), result: None };
    start(&mut job, size.next_multiple_of(4096));
    job.result.expect("the thread ran").unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl<'a> Thread<'a> {
    pub fn new(program: &'a Program, config: Config) -> Box<Thread<'a>> {
        let mut thread = Box::new(Thread {
            ctx: Box::new(ThreadContext::new(std::ptr::null_mut())),
            program,
            config,
            halves: [vec![0; HALF / 8], vec![0; HALF / 8]],
            current: 0,
            free: 0,
            dirty: [0; 2],
            output: Vec::new(),
            collections: 0,
            yields: 0,
            yielded_at: Vec::new(),
            arrivals: 0,
            left: 0,
            calls_left_at_yield: None,
            at_stop: None,
            compiled: 0,
            at_call: None,
            open: Vec::new(),
            told: Vec::new(),
            seen: Vec::new(),
            seen_slowly: Vec::new(),
            room: Vec::new(),
            remembered: 0,
            trace: Vec::new(),
            stack: None,
            trace_limit: 64,
        });
        thread.ctx.runtime = (&raw mut *thread).cast();
        thread.ctx.real_stack_limit = current_stack_limit();
        thread.ctx.stack_limit.store(thread.ctx.real_stack_limit, Ordering::Relaxed);
        thread.ctx.yield_flag.store(u8::from(config.osr.is_some()), Ordering::Relaxed);
        thread
    }

    /// At a yield: the loop that the thread stands in is left, if it is time.
    fn leave_loop(&mut self) {
        let Some(FrameView { func, site: Some(SiteKind::Loop(block)), .. }) = self.yielded_at.first().copied() else { return };
        self.arrivals += 1;
        if self.config.osr.is_none_or(|after| self.arrivals <= after) {
            return;
        }
        let Program { module, engine, .. } = self.program;
        let mut body = jit::opt::osr::enter_at(module, &module.funcs[func], block).expect("a poll that can be left");
        if self.config.optimize {
            body = optimized(module, body, self.config.profiling);
        }
        if engine.osr_cell(func, block).expect("a cell").load(Ordering::Relaxed) == 0 {
            engine.install_osr(func, block, &body, self.config.level()).unwrap();
        }
        self.left += 1;
    }

    pub fn native(&mut self, func: FuncId, args: &[u64]) -> Outcome {
        let ctx = &raw mut *self.ctx;
        // SAFETY: this thread's context.
        let result = unsafe { self.program.engine.enter(ctx, func, args) };
        assert_eq!((self.ctx.last_fp, self.ctx.last_pc, self.ctx.entry_sp), (0, 0, 0));
        self.take_records();
        self.outcome(result)
    }

    /// Ends the burst.
    fn take_records(&mut self) {
        if !self.room.is_empty() {
            let bytes = self.ctx.record_cursor as usize - self.room.as_ptr() as usize;
            self.seen.extend(&self.room[..bytes / size_of::<CallSeen>()]);
            self.room.clear();
        }
        (self.ctx.record_cursor, self.ctx.record_end) = (std::ptr::null_mut(), std::ptr::null_mut());
    }

    /// Notes the call that the thread stands at, and begins a burst.
    fn call_slow(&mut self) {
        self.take_records();
        let (pc, fp) = (self.ctx.last_pc, self.ctx.last_fp);
        // SAFETY: the callee's frame.
        let ret = unsafe { *(fp as *const u64).add(1) };
        let context = self.compiled_frames();
        self.seen_slowly.push((self.seen.len(), context));
        self.seen.push(CallSeen { pc, fp, ret });
        self.room.resize(self.config.burst, CallSeen::default());
        if self.config.burst > 0 {
            let room = self.room.as_mut_ptr_range();
            (self.ctx.record_cursor, self.ctx.record_end) = (room.start, room.end);
        }
        self.at_call.take().into_iter().for_each(|f| f(&mut self.ctx));
    }

    /// The frames of compiled code, as the raw walk and decoding give them.
    fn compiled_frames(&self) -> Context {
        let engine = &self.program.engine;
        let (mut context, mut views) = (Vec::new(), Vec::new());
        let mut was_entry = true;
        let mut frame = |frame: RawFrame| {
            was_entry = frame.is_entry;
            let start = context.len();
            for view in engine.decode(frame.pc).expect("a call's return address") {
                views.push(view);
                let site = match view.site {
                    Some(SiteKind::Call(site)) => Some(site),
                    _ => None,
                };
                context.push((view.func, site));
            }
            assert!(context.len() > start);
            ControlFlow::Continue(())
        };
        // SAFETY: this thread's context; it stands outside compiled code.
        unsafe { jit::native::walk_raw(&self.ctx, &mut frame) };
        assert!(was_entry, "the outermost frame was entered from Rust");
        let mut walked = Vec::new();
        // SAFETY: as above.
        unsafe {
            engine.walk_sites(&*self.ctx, &mut |view| {
                walked.push(view);
                ControlFlow::Continue(())
            });
        }
        assert_eq!(views, walked);
        context
    }

    pub fn interpreted(&mut self, func: FuncId, args: &[u64]) -> Outcome {
        let program = self.program;
        let result = program.interpreter.run(self, func, args);
        self.outcome(result.map(|r| r.unwrap_or(0)))
    }

    fn outcome(&mut self, result: Result<u64, Thrown>) -> Outcome {
        match result {
            Ok(value) => {
                assert_eq!(self.ctx.pending_error, 0);
                Outcome::Value(value)
            }
            Err(Thrown) => {
                let error = std::mem::take(&mut self.ctx.pending_error);
                assert_ne!(error, 0);
                let name = |&(f, loc): &(FuncId, Loc)| (self.program.module.funcs[f].name.to_string(), loc.0);
                let trace = self.trace.iter().map(name).collect();
                // SAFETY: an error object.
                let field = |i: u64| unsafe { *((error + 8 + 8 * i) as *const i64) };
                Outcome::Error { kind: field(0), operand: field(1), trace }
            }
        }
    }

    fn half(&self, which: usize) -> u64 {
        self.halves[which].as_ptr() as u64
    }

    fn allocate(&mut self, class: ClassId, size: usize) -> u64 {
        self.close_buffer();
        if self.config.stress || self.free + size > HALF {
            self.collect();
        }
        assert!(self.free + size <= HALF, "the mock's heap is full");
        let object = self.half(self.current) + self.free as u64;
        self.free += size;
        // SAFETY: free, zeroed memory of the current half.
        unsafe { *((object + CLASS_WORD as u64) as *mut u32) = self.program.layout.class_word[class] };
        self.open_buffer();
        object
    }

    fn close_buffer(&mut self) {
        if self.ctx.alloc_limit != 0 {
            self.free = (self.ctx.alloc_cursor - self.half(self.current)) as usize;
        }
        (self.ctx.alloc_cursor, self.ctx.alloc_limit) = (0, 0);
    }

    fn open_buffer(&mut self) {
        if self.config.inline_alloc {
            self.ctx.alloc_cursor = self.half(self.current) + self.free as u64;
            self.ctx.alloc_limit = self.ctx.alloc_cursor + self.config.buffer.min(HALF - self.free) as u64;
        }
    }

    /// Moves everything reachable to the other half.
    pub fn collect(&mut self) {
        self.collections += 1;
        let reopen = self.ctx.alloc_limit != 0;
        self.close_buffer();
        let (from, to) = (self.half(self.current), self.half(1 - self.current));
        let used = self.free;
        let program = self.program;
        let next = Cell::new(to);
        let mut forward = |slot: &mut u64| {
            let object = *slot;
            if object < from || object >= from + HALF as u64 {
                let is_literal = program.strings.iter().any(|s| s.as_ptr() as u64 == object);
                assert!(object == 0 || is_literal, "a root holds {object:#x}");
                return;
            }
            assert!(object < from + used as u64 && object.is_multiple_of(8), "a root holds {object:#x}");
            // SAFETY: an object of the half that is left; a class word of 0 marks a moved one, whose new place stands behind it.
            unsafe {
                let header = object as *mut u64;
                if *header >> 32 == 0 {
                    *slot = *header.add(1);
                    return;
                }
                let size = program.size(object);
                std::ptr::copy_nonoverlapping(header, next.get() as *mut u64, size / 8);
                *header = 0;
                *header.add(1) = next.get();
                *slot = next.replace(next.get() + size as u64);
            }
        };
        let ctx = &raw mut *self.ctx;
        // SAFETY: this thread's context; it stands at a safepoint.
        unsafe {
            forward(&mut (*ctx).pending_error);
            forward(&mut (*ctx).trap_object);
            program.engine.visit_roots(ctx, &mut forward);
            if let Some(stack) = self.stack {
                (*stack).for_each_root(&mut forward);
            }
            for (i, global) in program.module.globals.values().enumerate() {
                if global.ty.ty() == Ty::Ref {
                    forward(&mut *(program.globals.as_ptr().add(i).cast_mut()));
                }
            }
        }
        let mut scan = to;
        while scan < next.get() {
            let class = program.description(scan);
            // SAFETY: a copied object's own slots.
            let slot = |i: u64| unsafe { &mut *((scan + 8 + 8 * i) as *mut u64) };
            match class.shape {
                Shape::Object => {
                    let fields = u64::from(class.size) / 8 - 1;
                    (0..fields.min(63)).filter(|i| class.ref_map >> i & 1 != 0).for_each(|i| forward(slot(i)));
                }
                Shape::RefArray => (1..=*slot(0)).for_each(|i| forward(slot(i))),
                Shape::WordArray | Shape::ByteArray => {}
            }
            scan += program.size(scan) as u64;
        }
        self.halves[self.current][..used / 8].fill(0xdead_dead_dead_dead);
        self.dirty[self.current] = self.dirty[self.current].max(used);
        self.current = 1 - self.current;
        self.free = (scan - to) as usize;
        let dirty = self.dirty[self.current].max(self.free);
        self.halves[self.current][self.free / 8..dirty / 8].fill(0);
        if reopen {
            self.open_buffer();
        }
    }

    fn safepoint(&mut self) {
        if self.config.stress {
            self.collect();
        }
    }

    fn throw_error(&mut self, kind: i64, operand: i64) {
        self.record_trace();
        let object = self.allocate(ClassId::from_u32(ERROR), 24);
        // SAFETY: a fresh error.
        unsafe {
            *((object + 8) as *mut i64) = kind;
            *((object + 16) as *mut i64) = operand;
        }
        self.ctx.pending_error = object;
    }

    fn record_trace(&mut self) {
        let limit = self.trace_limit;
        let mut trace = Vec::new();
        let mut f = |func, loc| {
            trace.push((func, loc));
            if trace.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        match self.stack {
            // SAFETY: attached.
            Some(stack) => unsafe { (*stack).walk(&mut f) },
            // SAFETY: this thread's context.
            None => unsafe { self.program.engine.walk(&*self.ctx, &mut f) },
        }
        self.trace = trace;
    }

    fn stop(&mut self) {
        if let Some(mut f) = self.at_stop.take() {
            f(&self.ctx);
            self.at_stop = Some(f);
        }
    }

    pub fn string(&self, object: u64) -> String {
        // SAFETY: a `Str`.
        let bytes = unsafe { std::slice::from_raw_parts((object + 16) as *const u8, *((object + 8) as *const u64) as usize) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    pub fn new_string(&mut self, text: &str) -> u64 {
        let object = self.allocate(ClassId::from_u32(STR), (16 + text.len()).next_multiple_of(8));
        // SAFETY: a fresh array of that length.
        unsafe {
            *((object + 8) as *mut u64) = text.len() as u64;
            std::ptr::copy_nonoverlapping(text.as_ptr(), (object + 16) as *mut u8, text.len());
        }
        object
    }

    fn array(&mut self, class: ClassId, length: i64) -> u64 {
        let ClassKind::Array(kind) = self.program.module.classes[class].kind else { panic!("{class} is no array") };
        let object = self.allocate(class, (16 + length as usize * kind.size()).next_multiple_of(8));
        // SAFETY: a fresh array.
        unsafe { *((object + 8) as *mut i64) = length };
        object
    }
}

impl Host for Thread<'_> {
    fn attach(&mut self, stack: *const Stack) {
        self.stack = Some(stack);
    }
    fn detach(&mut self) {
        self.stack = None;
    }
    fn context(&self) -> &ThreadContext {
        &self.ctx
    }
    fn take_error(&mut self) -> Slot {
        std::mem::take(&mut self.ctx.pending_error)
    }
    fn throw(&mut self, error: Slot) -> Thrown {
        self.ctx.pending_error = error;
        Thrown
    }
    fn trap(&mut self, trap: Trap) -> Thrown {
        let (kind, operand) = kind_of(trap);
        self.throw_error(kind, operand);
        Thrown
    }
    fn new_object(&mut self, class: ClassId) -> Result<Slot, Thrown> {
        Ok(self.allocate(class, self.program.layout.object_size(&self.program.module, class) as usize))
    }
    fn new_array(&mut self, class: ClassId, length: i64) -> Result<Slot, Thrown> {
        if length > 1 << 20 {
            return Err(self.trap(Trap::OutOfMemory));
        }
        Ok(self.array(class, length))
    }
    fn str_const(&mut self, str: StrId) -> Slot {
        self.program.strings[str.as_u32() as usize].as_ptr() as u64
    }
    fn class_of(&self, object: Slot) -> ClassId {
        ClassId::from_u32(self.program.description(object).id)
    }
    fn load_field(&self, object: Slot, offset: i32) -> Slot {
        // SAFETY: a live object's field.
        unsafe { *((object + offset as u64) as *const u64) }
    }
    fn store_field(&mut self, object: Slot, offset: i32, _: Ty, value: Slot) {
        // SAFETY: as above.
        unsafe { *((object + offset as u64) as *mut u64) = value }
    }
    fn atomic(&mut self, op: AtomicOp, object: Slot, offset: i32, value: Slot) -> Slot {
        // SAFETY: as above.
        let field = unsafe { &*((object + offset as u64) as *const AtomicU64) };
        match op {
            AtomicOp::Load => field.load(Ordering::SeqCst),
            AtomicOp::Store => {
                field.store(value, Ordering::SeqCst);
                0
            }
            AtomicOp::FetchAdd => field.fetch_add(value, Ordering::SeqCst),
        }
    }
    fn atomic_cas(&mut self, object: Slot, offset: i32, expected: Slot, new: Slot) -> bool {
        // SAFETY: as above.
        unsafe { &*((object + offset as u64) as *const AtomicU64) }
            .compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }
    fn array_len(&self, array: Slot) -> i64 {
        // SAFETY: a live array.
        unsafe { *((array + 8) as *const i64) }
    }
    fn load_elem(&self, kind: ElemKind, array: Slot, index: i64) -> Slot {
        // SAFETY: a checked element.
        unsafe {
            match kind.size() {
                1 => u64::from(*((array + 16 + index as u64) as *const u8)),
                _ => *((array + 16 + 8 * index as u64) as *const u64),
            }
        }
    }
    fn store_elem(&mut self, kind: ElemKind, array: Slot, index: i64, value: Slot) {
        // SAFETY: a checked element.
        unsafe {
            match kind.size() {
                1 => *((array + 16 + index as u64) as *mut u8) = value as u8,
                _ => *((array + 16 + 8 * index as u64) as *mut u64) = value,
            }
        }
    }
    fn load_global(&self, global: GlobalId) -> Slot {
        self.program.globals[global.as_u32() as usize]
    }
    fn store_global(&mut self, global: GlobalId, value: Slot) {
        // SAFETY: inside the globals, used by this thread alone.
        unsafe { *self.program.globals.as_ptr().add(global.as_u32() as usize).cast_mut() = value }
    }
    fn builtin(&mut self, builtin: Builtin, args: &[Slot]) -> Result<Slot, Thrown> {
        let result = self.run_builtin(builtin, args);
        if self.ctx.pending_error != 0 { Err(Thrown) } else { Ok(result) }
    }
    fn yield_point(&mut self) -> Result<(), Thrown> {
        self.yields += 1;
        self.calls_left_at_yield.into_iter().for_each(|n| self.ctx.calls_left = n);
        self.ctx.yield_flag.store(u8::from(self.config.osr.is_some()), Ordering::Relaxed);
        self.ctx.stack_limit.store(self.ctx.real_stack_limit, Ordering::Relaxed);
        self.safepoint();
        Ok(())
    }
    fn call(&mut self, site: Option<CallSiteId>, callee: FuncId) {
        self.open.push((callee, site));
        let sites = std::iter::once(None).chain(self.open.iter().rev().map(|f| f.1));
        self.told.push(self.open.iter().rev().map(|f| f.0).zip(sites).collect());
    }
    fn ret(&mut self) {
        self.open.pop();
    }
}

impl Thread<'_> {
    /// The builtins that tests use; some stand for something else.
    fn run_builtin(&mut self, builtin: Builtin, args: &[u64]) -> u64 {
        let float = |i: usize| f64::from_bits(args[i]);
        match builtin {
            Builtin::IntToStr => {
                self.safepoint();
                self.new_string(&(args[0] as i64).to_string())
            }
            Builtin::PrintLine => {
                let text = self.string(args[0]);
                self.output.push(text);
                self.safepoint();
                0
            }
            // Back into compiled code.
            Builtin::Sleep if (args[0] as i64) < 0 => {
                let ctx = &raw mut *self.ctx;
                // SAFETY: this thread's context; functions called so take nothing.
                _ = unsafe { self.program.engine.enter(ctx, FuncId::from_u32(-(args[0] as i64) as u32), &[]) };
                0
            }
            // A collection.
            Builtin::Sleep => {
                self.collect();
                0
            }
            // An error.
            Builtin::Exit => {
                self.throw_error(100, args[0] as i64);
                0
            }
            // Asks for yields from now on.
            Builtin::ClockNanos => {
                self.ctx.yield_flag.store(1, Ordering::Relaxed);
                self.ctx.stack_limit.store(u64::MAX, Ordering::Relaxed);
                7
            }
            Builtin::IdentityHash => self.program.description(args[0]).id.into(),
            Builtin::StrEq => u64::from(self.string(args[0]) == self.string(args[1])),
            Builtin::StrSubstring => {
                // All arguments, in order.
                let text = format!("{}|{}|{}", self.string(args[0]), args[1] as i64, args[2] as i64);
                self.safepoint();
                self.new_string(&text)
            }
            Builtin::ArrayCopy => {
                let text = format!("{} {} {}", args[1] as i64, args[3] as i64, args[4] as i64);
                self.output.push(text);
                0
            }
            Builtin::FloatFormat => {
                self.safepoint();
                self.new_string(&format!("{}/{}", float(0), args[1]))
            }
            Builtin::FloatRem => (float(0) % float(1)).to_bits(),
            Builtin::MathPow => float(0).powf(float(1)).to_bits(),
            Builtin::StrParseFloat => 1.5f64.to_bits(),
            other => panic!("the mock has no {}", other.name()),
        }
    }
}

unsafe fn thread<'a>(ctx: *mut ThreadContext) -> &'a mut Thread<'a> {
    // SAFETY: set by `Thread::new`.
    unsafe { &mut *(*ctx).runtime.cast() }
}

unsafe extern "C" fn yield_slow(ctx: *mut ThreadContext) {
    // SAFETY: the engine passes the thread's context, here and below.
    let thread = unsafe { thread(ctx) };
    thread.yielded_at.clear();
    let mut note = |frame| {
        thread.yielded_at.push(frame);
        ControlFlow::Continue(())
    };
    // SAFETY: the thread's own context; it stands outside compiled code.
    unsafe { thread.program.engine.walk_sites(ctx, &mut note) };
    thread.leave_loop();
    _ = thread.yield_point();
    thread.stop();
}
unsafe extern "C" fn call_slow(ctx: *mut ThreadContext) {
    // SAFETY: see `yield_slow`.
    unsafe { thread(ctx) }.call_slow();
}
unsafe extern "C" fn compiled(ctx: *mut ThreadContext) {
    // SAFETY: see `yield_slow`.
    unsafe { thread(ctx) }.compiled += 1;
}
unsafe extern "C" fn new_object(ctx: *mut ThreadContext, class: u32) -> u64 {
    // SAFETY: see `yield_slow`.
    unsafe { thread(ctx) }.new_object(ClassId::from_u32(class)).unwrap_or(0)
}
unsafe extern "C" fn new_array(ctx: *mut ThreadContext, class: u32, length: i64) -> u64 {
    // SAFETY: see `yield_slow`.
    Host::new_array(unsafe { thread(ctx) }, ClassId::from_u32(class), length).unwrap_or(0)
}
unsafe extern "C" fn barrier(ctx: *mut ThreadContext, object: u64) {
    // SAFETY: see `yield_slow`; a live object's header.
    unsafe {
        thread(ctx).remembered += 1;
        assert_eq!(*((object + 1) as *const u8), 1);
        *((object + 1) as *mut u8) = 0;
    }
}
unsafe extern "C" fn trap(ctx: *mut ThreadContext, trap: &Trap) {
    // SAFETY: see `yield_slow`.
    let thread = unsafe { thread(ctx) };
    thread.trap(*trap);
    thread.stop();
}

/// A C value as a slot.
trait Bits {
    fn bits(self) -> u64;
}
impl Bits for i64 {
    fn bits(self) -> u64 {
        self as u64
    }
}
impl Bits for u64 {
    fn bits(self) -> u64 {
        self
    }
}
impl Bits for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

macro_rules! builtin {
    ($name:ident, $builtin:ident, ($($arg:ident: $ty:ty),*), $ret:ty, $convert:expr) => {
        unsafe extern "C" fn $name(ctx: *mut ThreadContext, $($arg: $ty),*) -> $ret {
            // SAFETY: see `yield_slow`.
            let result = unsafe { thread(ctx) }.run_builtin(Builtin::$builtin, &[$($arg.bits()),*]);
            ($convert)(result)
        }
    };
}
builtin!(int_to_str, IntToStr, (a: i64), u64, |r| r);
builtin!(print_line, PrintLine, (a: u64), (), |_| ());
builtin!(sleep, Sleep, (a: i64), (), |_| ());
builtin!(exit, Exit, (a: i64), (), |_| ());
builtin!(clock_nanos, ClockNanos, (), i64, |r| r as i64);
builtin!(identity_hash, IdentityHash, (a: u64), i64, |r| r as i64);
builtin!(str_eq, StrEq, (a: u64, b: u64), u8, |r| r as u8);
builtin!(str_substring, StrSubstring, (a: u64, b: i64, c: i64), u64, |r| r);
builtin!(array_copy, ArrayCopy, (a: u64, b: i64, c: u64, d: i64, e: i64), (), |_| ());
builtin!(float_format, FloatFormat, (a: f64, b: i64), u64, |r| r);
builtin!(float_rem, FloatRem, (a: f64, b: f64), f64, f64::from_bits);
builtin!(math_pow, MathPow, (a: f64, b: f64), f64, f64::from_bits);
builtin!(str_parse_float, StrParseFloat, (a: u64), f64, f64::from_bits);

fn runtime_fns() -> RuntimeFns {
    let function = |builtin: &Builtin| match builtin {
        Builtin::IntToStr => int_to_str as *const c_void,
        Builtin::PrintLine => print_line as *const c_void,
        Builtin::Sleep => sleep as *const c_void,
        Builtin::Exit => exit as *const c_void,
        Builtin::ClockNanos => clock_nanos as *const c_void,
        Builtin::IdentityHash => identity_hash as *const c_void,
        Builtin::StrEq => str_eq as *const c_void,
        Builtin::StrSubstring => str_substring as *const c_void,
        Builtin::ArrayCopy => array_copy as *const c_void,
        Builtin::FloatFormat => float_format as *const c_void,
        Builtin::FloatRem => float_rem as *const c_void,
        Builtin::MathPow => math_pow as *const c_void,
        Builtin::StrParseFloat => str_parse_float as *const c_void,
        _ => std::ptr::null(),
    };
    RuntimeFns {
        yield_slow,
        new_object,
        new_array,
        barrier,
        trap,
        call_slow,
        compiled,
        builtins: Builtin::ALL.iter().map(function).collect(),
    }
}

/// Runs a function on both tiers, natively in several configurations; all must agree in outcome and output.
pub fn agree_on(text: &str, func: &str, args: &[u64]) -> (Outcome, Vec<String>) {
    let module = parse(text);
    on_stack(4 << 20, || {
        let run = |config: Config, native: bool| {
            let program = Program::of(module.clone(), config);
            let mut thread = Thread::new(&program, config);
            let func = program.func(func);
            let outcome = if native { thread.native(func, args) } else { thread.interpreted(func, args) };
            (outcome, std::mem::take(&mut thread.output))
        };
        let expected = run(Config::default(), false);
        assert_eq!(run(Config { stress: true, ..Config::default() }, false), expected, "interpreter under stress");
        for (after, stress, optimize) in [(0, true, false), (0, false, true), (1, true, true), (3, true, false), (4, false, false)] {
            let config = Config { osr: Some(after), stress, optimize, ..Config::default() };
            assert_eq!(run(config, true), expected, "native with {config:?}");
        }
        for inline_alloc in [true, false] {
            for stress in [false, true] {
                for (buffer, quick, optimize) in [(64, false, false), (4096, true, false), (64, false, true)] {
                    let config = Config { stress, inline_alloc, buffer, quick, optimize, ..Config::default() };
                    assert_eq!(run(config, true), expected, "native with {config:?}");
                }
            }
        }
        expected
    })
}

pub fn agree(text: &str, func: &str, args: &[u64]) -> Outcome {
    agree_on(text, func, args).0
}
