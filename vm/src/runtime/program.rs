//! One running program: the runtime's parts put together, from start to exit status.
//!
//! In: a lowered [`Module`], [`Symbols`], [`RuntimeOptions`], an [`Engine`]. Out: output, and an [`ExitStatus`]. Any number of runtimes may exist in one process; they share nothing.
//! Every program thread, the main one included, is an OS thread with a stack of its own; [`Runtime::run_main`] waits for them on the caller's thread, which never runs program code.

#[cfg(feature = "native")]
use super::adaptive::{Adaptive, AdaptivePace};
use super::classes::ClassTable;
use super::engine::Engine;
use super::heap::{Heap, HeapOptions, NoSpace, Roots, Want};
use super::input::{Input, Reader};
use super::iterations::Iterations;
use super::metrics::Metrics;
use super::monitor::Monitors;
use super::output::{Output, Writers};
use super::profiling::Profiler;
use super::safepoint::{Deadlock, World};
use super::statics::Statics;
use super::symbols::Symbols;
use super::thread::Thread;
use super::threads::Threads;
#[cfg(feature = "native")]
use super::timer::Both;
use super::timer::{self, Ticks};
use super::{errors, report, tuning};
use jit::ir::{Entry, Known, Module};
use jit::layout::Layout;
use jit::trap::Thrown;
use std::num::NonZeroU32;
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// How to run a program. `default()` is what `vm run` does without options, on the process's standard streams.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// Bytes the heap may take; `None`: [`tuning::default_heap`], less where the address space is limited.
    pub heap: Option<u64>,
    /// Bytes of the nursery at most; `None`: [`tuning::default_nursery`].
    pub nursery: Option<u64>,
    /// Bytes of each program thread's stack.
    pub stack: u64,
    /// Collect at every Nth allocation and at a yield point soon after, and check the heap afterwards.
    pub gc_stress: Option<NonZeroU32>,
    /// Check the heap after each collection.
    pub verify_heap: bool,
    /// A line to stderr for each collection.
    pub gc_log: bool,
    /// Between two ticks of the program's own pace. They come where no profiler has ticks, and, with them, for adaptive optimization.
    pub tick: Duration,
    /// Who samples the program's calls.
    pub profiler: Option<Arc<Profiler>>,
    /// Who compiles anew what matters, and is told of ticks.
    #[cfg(feature = "native")]
    pub adaptive: Option<Arc<Adaptive>>,
    /// How long the program may run; `None`: as long as it wants. For checks of programs that may not end: what its threads hold stays until the process ends.
    pub time_limit: Option<Duration>,
    /// How often the program is run in this process, one time after the other ([`Iterations`]). It ends before if it ends with anything but 0.
    pub repeat: NonZeroU32,
    /// What `args()` gives.
    pub args: Vec<String>,
    pub output: Output,
    pub errors: Output,
    pub input: Input,
    /// End the program on SIGINT, with its output written and a word about it. Only for processes that run one program.
    pub handle_interrupt: bool,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        RuntimeOptions {
            heap: None,
            nursery: None,
            stack: tuning::DEFAULT_STACK as u64,
            gc_stress: None,
            verify_heap: false,
            gc_log: false,
            tick: tuning::DEFAULT_TICK,
            profiler: None,
            #[cfg(feature = "native")]
            adaptive: None,
            time_limit: None,
            repeat: NonZeroU32::MIN,
            args: Vec::new(),
            output: Output::Stdout,
            errors: Output::Stderr,
            input: Input::Stdin,
            handle_interrupt: false,
        }
    }
}

/// Why a program could not be started.
#[derive(Debug, PartialEq, Eq)]
pub enum StartError {
    /// The module has no entry or does not name the classes the runtime needs.
    Incomplete,
    HeapTooSmall {
        bytes: u64,
        least: u64,
    },
    StackTooSmall {
        bytes: u64,
        least: u64,
    },
    /// The system has no address space for a heap of this size.
    NoSpace {
        bytes: u64,
    },
    /// The system gives no thread (or no memory for its stack).
    NoThread {
        cause: String,
    },
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Incomplete => write!(f, "the module has no entry point or lacks the library's classes"),
            StartError::HeapTooSmall { bytes, least } => write!(f, "a heap of {bytes} bytes is too small: the least is {least}"),
            StartError::StackTooSmall { bytes, least } => write!(f, "a stack of {bytes} bytes is too small: the least is {least}"),
            StartError::NoSpace { bytes } => {
                write!(f, "no address space for a heap of {bytes} bytes: choose a smaller one with --heap, or raise the limit (ulimit -v)")
            }
            StartError::NoThread { cause } => write!(f, "cannot start the program's thread: {cause}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Why a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// `main` returned and all threads ended.
    Finished,
    /// `exit(code)`.
    Exit,
    /// An error that nothing caught.
    Uncaught,
    /// No thread could go on: code 1.
    Deadlock,
    /// SIGINT.
    Interrupted,
    /// Whoever read the output is gone: the code is 141, what a shell shows for a process that SIGPIPE ended.
    OutputClosed,
    /// The output could not be written (a full disk).
    OutputFailed,
    /// [`RuntimeOptions::time_limit`] was over: code 124, as of the `timeout` command.
    TimedOut,
    /// A bug in the virtual machine.
    Panic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExitStatus {
    /// The process's exit code, 0–255.
    pub code: u8,
    pub end: End,
}

pub struct Runtime {
    pub module: Arc<Module>,
    pub layout: Arc<Layout>,
    pub known: Known,
    /// The class word of `Str`.
    pub str_word: u32,
    pub entry: Entry,
    pub options: RuntimeOptions,
    pub symbols: Arc<dyn Symbols>,
    pub classes: Arc<ClassTable>,
    pub statics: Statics,
    pub heap: Heap,
    pub world: Arc<World>,
    pub metrics: Arc<Metrics>,
    pub iterations: Iterations,
    pub(super) threads: Threads,
    pub(super) monitors: Monitors,
    pub(super) writers: Writers,
    pub(super) reader: Reader,
    pub(super) start: Instant,
    engine: OnceLock<Arc<dyn Engine>>,
    status: Mutex<Option<ExitStatus>>,
    ended: Condvar,
}

impl Runtime {
    pub fn new(
        module: Arc<Module>,
        layout: Arc<Layout>,
        symbols: Box<dyn Symbols>,
        options: RuntimeOptions,
    ) -> Result<Arc<Runtime>, StartError> {
        let (Some(entry), Some(known)) = (module.entry, module.known) else { return Err(StartError::Incomplete) };
        let least = tuning::MIN_HEAP as u64;
        if let Some(bytes) = options.heap.filter(|&b| b < least) {
            return Err(StartError::HeapTooSmall { bytes, least });
        }
        let least = tuning::MIN_STACK as u64;
        if options.stack < least {
            return Err(StartError::StackTooSmall { bytes: options.stack, least });
        }
        let metrics = Arc::new(Metrics::default());
        let classes = Arc::new(ClassTable::new(&module, &layout));
        let statics = Statics::new(&module, &known, &layout, &classes, errors::OUT_OF_MEMORY);
        let heap = make_heap(&classes, &statics, &options, &metrics)?;
        Ok(Arc::new(Runtime {
            entry,
            known,
            str_word: classes.word(known.str),
            symbols: symbols.into(),
            statics,
            heap,
            classes,
            world: Arc::new(World::new(metrics.clone())),
            metrics,
            iterations: Iterations::default(),
            threads: Threads::default(),
            monitors: Monitors::default(),
            writers: Writers::new(&options.output, &options.errors),
            reader: Reader::new(&options.input),
            start: Instant::now(),
            engine: OnceLock::new(),
            status: Mutex::new(None),
            ended: Condvar::new(),
            module,
            layout,
            options,
        }))
    }

    /// Runs the program with the engine, to its end. Only once for each runtime.
    ///
    /// # Errors
    /// [`StartError::NoThread`].
    pub fn run_main(self: &Arc<Self>, engine: Arc<dyn Engine>) -> Result<ExitStatus, StartError> {
        assert!(self.engine.set(engine).is_ok(), "a runtime runs its program once");
        if self.options.handle_interrupt {
            super::interrupt::watch(self);
        }
        self.start_timer().map_err(|e| StartError::NoThread { cause: e.to_string() })?;
        self.start_main_thread().map_err(|e| StartError::NoThread { cause: e.to_string() })?;
        let mut status = self.status.lock().unwrap_or_else(|e| e.into_inner());
        loop {
            if let Some(status) = *status {
                self.world.close();
                self.finish_profile();
                return Ok(status);
            }
            status = match self.options.time_limit.map(|limit| limit.saturating_sub(self.start.elapsed())) {
                None => self.ended.wait(status).unwrap_or_else(|e| e.into_inner()),
                Some(Duration::ZERO) => {
                    *status = Some(ExitStatus { code: 124, end: End::TimedOut });
                    status
                }
                Some(left) => self.ended.wait_timeout(status, left).unwrap_or_else(|e| e.into_inner()).0,
            };
        }
    }

    fn start_timer(&self) -> std::io::Result<()> {
        let world = self.world.clone();
        let mut ticks = self.ticks();
        let run = move || {
            timer::be_punctual();
            world.run_timer(&mut *ticks)
        };
        // It compiles, too, for profiles.
        std::thread::Builder::new().name("timer".into()).stack_size(8 << 20).spawn(run).map(drop)
    }

    fn ticks(&self) -> Box<dyn Ticks> {
        let of_profiler: Option<Box<dyn Ticks>> = self.options.profiler.as_ref().and_then(|profiler| profiler.ticks(self.engine()));
        #[cfg(feature = "native")]
        if let Some(shared) = self.options.adaptive.clone() {
            let pace = Box::new(AdaptivePace { shared, tick: self.options.tick });
            return match of_profiler {
                None => pace,
                Some(of_profiler) => Box::new(Both::new(of_profiler, pace)),
            };
        }
        of_profiler.unwrap_or_else(|| Box::new(self.options.tick))
    }

    /// The world is closed: takes over what the threads that are left have sampled.
    fn finish_profile(&self) {
        let Some(profiler) = &self.options.profiler else { return };
        #[cfg(feature = "native")]
        if profiler.is_read_at_the_end() {
            let left = self.world.at_rest(&mut |thread| {
                // SAFETY: the thread never runs again.
                unsafe { thread.finish_profile() }
            });
            profiler.threads_left(left);
        }
        profiler.finish();
    }

    /// The program's output ends within a line. Only once it has ended.
    pub fn output_ends_in_line(&self) -> bool {
        self.writers.is_in_line()
    }

    pub fn engine(&self) -> &Arc<dyn Engine> {
        self.engine.get().expect("set before the first thread starts")
    }

    /// Ends the program with this status, unless it has ended already. Output is written first.
    pub(super) fn finish(&self, status: ExitStatus) {
        let written = self.writers.close();
        self.end_with(written.map_or_else(|e| self.unwritten(&e, status), |()| status));
    }

    /// How a program ends, with this status otherwise, whose output cannot be written; prints that.
    pub(super) fn unwritten(&self, error: &std::io::Error, status: ExitStatus) -> ExitStatus {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return super::output::CLOSED;
        }
        if status.end == End::Panic {
            return status;
        }
        let cause = super::output::cause(error);
        self.writers.error_now(&format!("error: cannot write to the standard output: {cause}\n"));
        ExitStatus { code: status.code.max(1), end: End::OutputFailed }
    }

    pub(super) fn end_with(&self, status: ExitStatus) {
        self.status.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(status);
        self.ended.notify_all();
    }

    /// Ends the program from one of its threads, which stands still until the process or test is over. The thread is Running.
    pub(super) fn finish_from(&self, thread: &Thread, status: ExitStatus) -> ! {
        #[cfg(feature = "native")]
        // SAFETY: the thread's own, which never comes back to the program.
        unsafe {
            thread.finish_profile();
        }
        self.world.enter_blocked(thread);
        self.finish(status);
        self.world.close();
        loop {
            std::thread::park();
        }
    }

    /// Ends the program where no thread can go on. The caller is not Running.
    pub(super) fn end_deadlock(&self, deadlock: &Deadlock) {
        let status = ExitStatus { code: 1, end: End::Deadlock };
        let written = self.writers.error(&report::deadlock(deadlock));
        self.finish(written.map_or_else(|e| self.unwritten(&e, status), |()| status));
        self.world.close();
    }

    /// What the main thread does: the program, as often as asked for. Gives how it ends.
    pub(super) fn main_thread(self: &Arc<Self>, thread: &Thread) -> ExitStatus {
        const GOOD: ExitStatus = ExitStatus { code: 0, end: End::Finished };
        let mut status = self.iterations.time(|| self.iteration(thread));
        for _ in 1..self.options.repeat.get() {
            if status != GOOD {
                break;
            }
            // SAFETY: this is the only thread that is left, and the collector runs at none of its safepoints here.
            unsafe { self.statics.clear_globals() };
            status = self.iterations.time(|| self.iteration(thread));
        }
        status
    }

    /// `main`, waiting for the other threads, reporting.
    fn iteration(self: &Arc<Self>, thread: &Thread) -> ExitStatus {
        let result = self.engine().run(thread, self.entry.main, &[]);
        let code = match result {
            Ok(code) => Some(if self.module.funcs[self.entry.main].ret.is_some() { code as u8 } else { 0 }),
            Err(Thrown) => {
                report::uncaught(thread, None, thread.take_error());
                None
            }
        };
        super::threads::join_others(thread);
        let failed = report::unjoined(thread) || code.is_none();
        let end = if failed { End::Uncaught } else { End::Finished };
        ExitStatus { code: if failed { 1 } else { code.unwrap_or(0) }, end }
    }

    pub(super) fn collect(&self, thread: &Thread, want: Want) -> Option<bool> {
        self.stop(thread, |threads| {
            self.reclaim(threads);
            let mut remembered = Vec::new();
            for &t in threads {
                // SAFETY: the thread is registered and stopped.
                remembered.append(&mut unsafe { (*t).give_up_buffer() });
            }
            self.heap.collect(want, remembered, &mut AllRoots { runtime: self, threads })
        })
    }

    /// Stops all other threads to free code that is out of use. To be called at a safepoint.
    #[cfg(feature = "native")]
    pub(super) fn reclaim_code(&self, thread: &Thread) {
        // If another stop came first, so will another time.
        _ = self.stop(thread, |threads| self.reclaim(threads));
    }

    fn reclaim(&self, threads: &[*const Thread]) {
        // SAFETY: the threads are registered and stopped.
        let threads: Vec<&Thread> = threads.iter().map(|&thread| unsafe { &*thread }).collect();
        // SAFETY: as above, and all are.
        unsafe { self.engine().reclaim(self, &threads) };
    }

    fn stop<R>(&self, thread: &Thread, f: impl FnOnce(&[*const Thread]) -> R) -> Option<R> {
        self.world.stop(thread, |threads| thread.aside(|| f(threads)))
    }
}

/// Every root of a stopped program.
struct AllRoots<'a> {
    runtime: &'a Runtime,
    threads: &'a [*const Thread],
}

impl Roots for AllRoots<'_> {
    fn visit(&mut self, f: &mut dyn FnMut(&mut u64)) {
        self.runtime.statics.visit_roots(f);
        self.runtime.threads.visit_roots(f);
        for &thread in self.threads {
            // SAFETY: the thread is registered and stopped.
            unsafe {
                (*thread).visit_own_roots(f);
                self.runtime.engine().visit_roots(&*thread, f);
            }
        }
    }
}

fn make_heap(classes: &Arc<ClassTable>, statics: &Statics, options: &RuntimeOptions, metrics: &Arc<Metrics>) -> Result<Heap, StartError> {
    let bytes = |b: u64| usize::try_from(b).unwrap_or(usize::MAX);
    let max = options.heap.map_or_else(tuning::default_heap, bytes);
    let mut heap_options = HeapOptions {
        max,
        nursery: options.nursery.map_or_else(|| tuning::default_nursery(max), bytes),
        first_nursery: options.nursery.map_or(tuning::FIRST_NURSERY, bytes),
        mark_stack: tuning::MARK_STACK,
        stress: options.gc_stress,
        verify: options.verify_heap || options.gc_stress.is_some(),
        log: options.gc_log,
        fixed: classes.bytes() + statics.bytes(),
    };
    if heap_options.fixed + tuning::MIN_HEAP / 2 > heap_options.max {
        return Err(StartError::HeapTooSmall { bytes: heap_options.max as u64, least: (heap_options.fixed + tuning::MIN_HEAP) as u64 });
    }
    loop {
        match Heap::new(classes.clone(), heap_options.clone(), metrics.clone()) {
            Ok(heap) => return Ok(heap),
            // Nobody asked for this size: take what is there.
            Err(NoSpace { .. }) if options.heap.is_none() && heap_options.max > 64 << 20 => heap_options.max /= 2,
            Err(NoSpace { .. }) => return Err(StartError::NoSpace { bytes: heap_options.max as u64 }),
        }
    }
}
