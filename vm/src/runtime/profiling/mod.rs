//! Live profiling: from yield points to structures.
//!
//! In: what to sample and how ([`ProfileOptions`]), a running program. Out: a [`Ledger`] that grows while the program runs, complete after [`Profiler::finish`].
//!
//! Each program thread has a [`ThreadProfiler`](thread::ThreadProfiler), which takes samples as the machine shows them and seals some at a time into a packet. The organizer, a thread of its own, takes packets over a channel, decodes them
//! and owns the structures. A full channel never makes a program wait: the packet's samples are dropped and counted. Only where nothing may be missing (exhaustive profiles, and those that must come out the same in every run) the program waits.
//! The interpreter, which sees every call and return anyway, runs the samplers over them as a replay does ([`interpreted`]).
//!
//! Invariant: locks are held for one packet or sample at a time, and never while a program thread is being stopped.

pub mod clock;
pub mod counting;
pub mod interpreted;
#[cfg(feature = "native")]
mod marks;
#[cfg(feature = "native")]
mod native;
#[cfg(feature = "native")]
mod organizer;
#[cfg(feature = "native")]
mod packet;
#[cfg(feature = "native")]
mod path;
#[cfg(feature = "native")]
mod queue;
#[cfg(feature = "native")]
mod schedule;
#[cfg(all(test, feature = "native"))]
mod tests;
#[cfg(feature = "native")]
pub mod thread;
#[cfg(feature = "native")]
mod warmup;
#[cfg(feature = "native")]
pub mod windows;

#[cfg(feature = "native")]
pub use native::start_organizer;
#[cfg(feature = "native")]
pub use organizer::Stacks;

use super::engine::Engine;
use super::thread::ThreadId;
use super::timer::{Tick, Ticks};
use clock::{CycleClock, CycleSource};
use counting::CallSource;
use interpreted::Interpreted;
use profiler::clock::Rate;
use profiler::collect::{self, CollectError, Collector, StructureKind, Weights};
use profiler::counters::Counters;
use profiler::ids::FuncId;
use profiler::program::Program;
use profiler::samplers::{Correction, Interval, Mode, Parameters, Random};
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What time is to a sampler.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Time {
    /// What passes.
    #[default]
    Real,
    /// Each thread's own calls, [`CALL`] each: the profile of a program with one thread is then the same in every run.
    Calls,
}

/// Of random numbers: those of threads have smaller numbers.
const TIMER_STREAM: u64 = u64::MAX;

/// What a call takes on the virtual clock, in nanoseconds: 100 million calls a second.
pub const CALL: u64 = 10;

#[derive(Clone, PartialEq, Debug)]
pub struct ProfileOptions {
    pub parameters: Parameters,
    pub structure: StructureKind,
    /// Most nodes of the structure.
    pub max_nodes: u32,
    pub time: Time,
    pub counting: Counting,
    /// Where calls are counted in windows: calls in a burst at most, while many have new contexts; `None`: bursts stay as long as they are.
    pub longest_burst: Option<u32>,
    /// Where calls are counted in windows: windows come for so long, then none for as long, and so on.
    pub rest: Option<Duration>,
    /// Of everything random.
    pub seed: u64,
    pub reader: Reader,
}

/// Who reads what is collected.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Reader {
    /// Somebody who wants the whole of it when the program has ended.
    #[default]
    Document,
    /// The compiler, while the program runs: the profiler starts at once, and its end is waited for by nobody.
    Compiler,
}

/// When calls are counted, for a sampler that counts calls.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Counting {
    /// All of them.
    #[default]
    Always,
    /// Those in some windows of time, where there are many.
    Windows,
    /// Those in short windows, however many there are: code that counts is not optimized, and threads come to it in windows alone.
    Beside,
}

/// What a run has brought home so far.
pub struct Ledger {
    /// The edges that were seen are added to it.
    pub program: Program,
    pub collector: Collector,
    /// Records of calls from frames that are not known: those of code that does not count, where code that does could not be made.
    pub lost: u64,
    #[cfg(feature = "native")]
    pub stacks: Stacks,
    /// Time that the organizer has worked.
    pub organizer: Duration,
}

pub struct Profiler {
    options: ProfileOptions,
    cycles: CycleClock,
    call_source: Option<CallSource>,
    ledger: Mutex<Ledger>,
    /// Of threads that have ended.
    counters: Mutex<Counters>,
    /// Cycles that they have spent in slow paths.
    spent: AtomicU64,
    started: Instant,
    /// Nanoseconds in which the program did not run: [`Profiler::idled`].
    idle: AtomicU64,
    interpreted: Interpreted,
    #[cfg(feature = "native")]
    queue: queue::Queue,
    #[cfg(feature = "native")]
    marks: marks::Marks,
    #[cfg(feature = "native")]
    windows: Option<windows::Windows>,
}

impl ProfileOptions {
    /// Calls in a burst; 1 where bursts are not counted in calls.
    #[cfg(feature = "native")]
    fn burst(&self) -> u32 {
        if let Mode::Estimator { burst, .. } = self.parameters.mode { burst } else { 1 }
    }

    /// For tests: calls are counted in windows.
    #[cfg(all(test, feature = "native"))]
    fn windowed() -> ProfileOptions {
        ProfileOptions {
            parameters: Parameters::windowed_estimator(),
            structure: StructureKind::Dcg,
            max_nodes: 16,
            time: Time::Real,
            counting: Counting::Windows,
            longest_burst: None,
            rest: None,
            seed: 1,
            reader: Reader::Document,
        }
    }

    /// An empty one.
    ///
    /// # Errors
    /// The structure refuses its parameters.
    pub fn collector(&self) -> Result<Collector, CollectError> {
        let ProfileOptions { structure: kind, max_nodes, .. } = *self;
        Collector::new(collect::Options { kind, weights: Weights::of(&self.parameters.mode), max_nodes })
    }
}

impl Profiler {
    /// # Errors
    /// If parameters are out of range.
    pub fn new(options: ProfileOptions, program: Program) -> Result<Profiler, Box<dyn Error + Send + Sync>> {
        options.parameters.check()?;
        let cycles = match options.reader {
            Reader::Document => CycleClock::new(),
            Reader::Compiler => CycleClock::monotonic(),
        };
        let collector = options.collector()?;
        let call_source = call_source(&options);
        #[cfg(feature = "native")]
        let windows = (options.counting != Counting::Always).then(|| windows::Windows::new(options.burst(), options.longest_burst));
        let ledger = Ledger {
            program,
            collector,
            lost: 0,
            #[cfg(feature = "native")]
            stacks: Stacks::default(),
            organizer: Duration::ZERO,
        };
        Ok(Profiler {
            options,
            cycles,
            call_source,
            ledger: Mutex::new(ledger),
            counters: Mutex::default(),
            spent: AtomicU64::new(0),
            started: Instant::now(),
            idle: AtomicU64::new(0),
            interpreted: Interpreted::default(),
            #[cfg(feature = "native")]
            queue: queue::Queue::new(),
            #[cfg(feature = "native")]
            marks: marks::Marks::default(),
            #[cfg(feature = "native")]
            windows,
        })
    }

    /// The program, or its whole process, has not run for so long.
    #[cfg(feature = "native")]
    pub(super) fn idled(&self, time: Duration) {
        self.idle.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// A clock that stands still while the program does not run, as far as windows are opened by one.
    pub fn working_time(&self) -> Instant {
        self.started + self.started.elapsed().saturating_sub(Duration::from_nanos(self.idle.load(Relaxed)))
    }

    pub fn options(&self) -> &ProfileOptions {
        &self.options
    }

    /// What threads have not handed over when the program ends is wanted.
    pub fn is_read_at_the_end(&self) -> bool {
        self.options.reader == Reader::Document
    }

    /// Calls of the function that are in the profile so far.
    pub fn calls_of(&self, func: FuncId) -> f64 {
        let ledger = self.ledger();
        let edges = ledger.program.edges().iter().filter(|(_, edge)| edge.callee == func);
        edges.map(|(id, _)| ledger.collector.dcg().weight(id)).sum()
    }

    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// What all threads that have ended have counted.
    pub fn counters(&self) -> Counters {
        *self.counters.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Time that threads which have ended spent on their samples, in slow paths; what counting and recording take in the program's own code is not in it.
    pub fn spent(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.cycles.rate().nanoseconds(self.spent.load(Relaxed))).unwrap_or(u64::MAX))
    }

    fn merge_counters(&self, counters: &Counters) {
        self.counters.lock().unwrap_or_else(|e| e.into_inner()).merge(counters);
    }

    /// So many threads were still running when all others had given what they had.
    #[cfg(feature = "native")]
    pub fn threads_left(&self, threads: usize) {
        self.merge_counters(&Counters { threads_left: threads as u64, ..Counters::default() });
    }

    /// Since the profiler was made.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub fn cycle_source(&self) -> CycleSource {
        self.cycles.source()
    }

    /// Where the call density comes from that weights correct; `None`: they correct none.
    pub fn call_source(&self) -> Option<CallSource> {
        self.call_source
    }

    /// The sampler needs ticks of the real timer.
    pub fn has_timer(&self) -> bool {
        self.options.parameters.has_timer() && self.options.time == Time::Real
    }

    /// What the timer does for the profiler; `None`: the sampler needs no ticks.
    pub fn ticks(self: &Arc<Self>, engine: &Arc<dyn Engine>) -> Option<Box<dyn Ticks>> {
        let random = Random::stream(self.options.seed, TIMER_STREAM);
        #[cfg(feature = "native")]
        if self.windows.is_some() {
            return Some(Box::new(schedule::Schedule::new(self.clone(), engine.clone(), random)));
        }
        _ = engine;
        let ticks = SamplerTicks { profiler: self.clone(), interval: self.interval(), random };
        self.has_timer().then(|| Box::new(ticks) as Box<dyn Ticks>)
    }

    /// When calls are counted, if not always.
    #[cfg(feature = "native")]
    pub fn windows(&self) -> Option<&windows::Windows> {
        self.windows.as_ref()
    }

    fn interval(&self) -> Interval {
        let Parameters { interval, jitter, .. } = self.options.parameters;
        Interval::new(interval, jitter, false, self.rate())
    }

    fn rate(&self) -> Rate {
        match self.options.time {
            Time::Real => self.cycles.rate(),
            Time::Calls => Rate::NANOSECONDS,
        }
    }

    /// Cycles of the real clock.
    pub fn cycles(&self) -> u64 {
        self.cycles.now()
    }

    /// No program thread runs any more: everything that is under way is taken over, after which the ledger is complete once the organizer has ended.
    pub fn finish(&self) {
        self.finish_interpreted();
        #[cfg(feature = "native")]
        self.finish_organizer();
    }
}

/// The ticks of a sampler that has a timer.
struct SamplerTicks {
    profiler: Arc<Profiler>,
    interval: Interval,
    random: Random,
}

impl Ticks for SamplerTicks {
    fn interval(&mut self) -> Duration {
        let nanos = self.profiler.rate().nanoseconds(self.interval.next(&mut self.random));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn before(&mut self) -> Tick {
        Tick { sampled: Some(self.profiler.cycles()), is_pace: false }
    }
}

fn call_source(options: &ProfileOptions) -> Option<CallSource> {
    let (Mode::StackWalk { antibias } | Mode::Cbs { antibias, .. }) = options.parameters.mode else { return None };
    if antibias.correction == Correction::Off {
        return None;
    }
    #[cfg(all(feature = "native", target_os = "linux", target_arch = "x86_64"))]
    if options.time == Time::Real && counting::RetiredCalls::open().is_some() {
        return Some(CallSource::Retired);
    }
    Some(CallSource::Prologues)
}

/// The number of a thread in profiles.
pub fn thread_id(id: ThreadId) -> profiler::ids::ThreadId {
    profiler::ids::ThreadId::from_u32(u32::try_from(id.0).unwrap_or(u32::MAX - 1))
}

impl std::fmt::Debug for Profiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profiler").field("options", &self.options).finish_non_exhaustive()
    }
}
