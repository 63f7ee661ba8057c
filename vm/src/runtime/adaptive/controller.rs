//! The compile thread: ticks in, optimized code out.
//!
//! In: addresses that threads have left, the profile so far (through a [`Policy`]). Out: versions of functions and loops, installed in the engine. Lives as long as the program; who ends the program does not wait for it.
//! Invariant: what it compiles replaces code that means the same, so it may be late, or never come.

use super::cold::Cold;
use super::forced::{Choice, Choices, Closes, Force};
use super::model::{At, Code, Facts, Job, Model, Seen};
use super::{Adaptive, Frames};
use crate::runtime::Runtime;
use crate::runtime::native::NativeEngine;
use crate::runtime::profiling::Profiler;
use crate::runtime::profiling::clock::thread_time;
use crate::runtime::tuning;
use jit::ir::polls::loop_polls;
use jit::ir::{Block, CallSiteId, FuncId, Module};
use jit::native::{Level, Renewed, SiteKind, WantedExit};
use jit::opt::exits::exits_around;
use jit::opt::osr::{enter_at_exit, loops_around_calls};
use jit::opt::{self, Entry, Optimizer};
use profiler::oracle::{Fallback, InlineDecision, Kept, Oracle, Questions, Version};
use profiler::plan::{Answers, Recorder};
use profiler::tuning::CALL_TIME;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long ticks are collected before they are looked at.
const PAUSE: Duration = Duration::from_millis(2);
/// Nanoseconds that the program runs from one look at what would now be decided otherwise to the next.
const LOOK: f64 = 1e8;

/// Who decides what is inlined.
pub trait Policy: Send {
    /// By the profile as it is now: asked for before each function.
    fn oracle(&mut self) -> Arc<dyn Oracle>;

    /// It goes by a profile of the program's own code, in which what has come in is no call any more: that comes in again.
    fn keeps(&self) -> bool {
        false
    }

    /// If there is a newer profile than when this was asked last, what it decides.
    fn newer(&mut self) -> Option<Newer> {
        None
    }
}

impl<F: FnMut() -> Arc<dyn Oracle> + Send> Policy for F {
    fn oracle(&mut self) -> Arc<dyn Oracle> {
        self()
    }
}

/// A policy by a newer profile.
pub struct Newer {
    pub oracle: Arc<Fallback>,
    /// For each call of the profile so many are expected to be made yet.
    pub ahead: f64,
}

/// What has been compiled.
#[derive(Clone, Default, Debug)]
pub struct Summary {
    /// Optimized versions of functions, and of loops.
    pub functions: u64,
    pub loops: u64,
    /// Of the functions, those that were compiled anew since the profile had moved.
    pub again: u64,
    /// What could not be compiled.
    pub refused: u64,
    /// Functions whose code was given up, since nothing ran it any more, and loops.
    pub discarded: u64,
    pub discarded_loops: u64,
    /// That the compile thread has worked.
    pub time: Duration,
    /// Of it, in the optimizer; and of that, for inlining.
    pub optimizing: Duration,
    pub inlining: Duration,
    /// Of what was installed, in order.
    pub decisions: Vec<InlineDecision>,
    /// Where that is wanted.
    pub answers: Option<PlanAnswers>,
}

/// What has to stand in a plan that leads to the same code.
#[derive(Clone, Default, Debug)]
pub struct PlanAnswers {
    /// About the forms in which functions are inlined.
    early: Vec<Answers>,
    /// About the last version of each function, and of each loop.
    last: BTreeMap<Job, Answers>,
}

impl PlanAnswers {
    /// Those of functions and loops in an order that does not depend on when they were compiled.
    pub fn all(&self) -> Vec<Answers> {
        self.early.iter().chain(self.last.values()).cloned().collect()
    }
}

/// The compile thread.
pub struct Controller {
    summary: Arc<Mutex<Summary>>,
    thread: JoinHandle<()>,
}

impl Controller {
    /// So far.
    pub fn summary(&self) -> Summary {
        lock(&self.summary).clone()
    }

    /// It has failed, which is a bug.
    pub fn has_failed(self) -> bool {
        if self.thread.is_finished() {
            return self.thread.join().is_err();
        }
        // Dropping one that still runs would detach it; see `OsThreads`.
        std::mem::forget(self.thread);
        false
    }
}

fn lock(summary: &Mutex<Summary>) -> MutexGuard<'_, Summary> {
    summary.lock().unwrap_or_else(|e| e.into_inner())
}

/// Starts the thread, which ends after [`Adaptive::close`]. `records`: what a plan needs is kept.
///
/// # Errors
/// The system has no thread.
pub fn start(
    shared: Arc<Adaptive>,
    engine: Arc<NativeEngine>,
    runtime: &Runtime,
    options: opt::Options,
    policy: Box<dyn Policy>,
    records: bool,
) -> io::Result<Controller> {
    let summary = Arc::new(Mutex::new(Summary { answers: records.then(PlanAnswers::default), ..Summary::default() }));
    let told = Arc::clone(&summary);
    let (module, profiler) = (runtime.module.clone(), runtime.options.profiler.clone());
    // From one tick of the timer to the next.
    let tick = runtime.options.tick.as_nanos() as f64;
    // Compiling wants a deep stack.
    let builder = std::thread::Builder::new().name("compiler".into()).stack_size(16 << 20);
    let thread = builder.spawn(move || {
        let stopwatch = Stopwatch::new();
        let known = Known::new(&module);
        let optimizer = Optimizer::new(module, &options);
        let (summary, made, cold) = (told, FxHashMap::default(), Cold::default());
        let mut worker = Worker { shared, engine, optimizer, known, policy, records, profiler, summary, stopwatch, made, cold };
        worker.work(Model::new(tick));
    })?;
    Ok(Controller { summary, thread })
}

/// Time that has not been told yet.
struct Stopwatch(Instant);

impl Stopwatch {
    fn new() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    fn take(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.0, now)
    }
}

/// Of each function its size and loops.
struct Known {
    sizes: Vec<u32>,
    loops: FxHashMap<FuncId, Vec<Block>>,
    /// The innermost loop around a call.
    around: FxHashMap<CallSiteId, Block>,
}

impl Known {
    fn new(module: &Module) -> Known {
        let sizes = module.funcs.values().map(opt::size).collect();
        let loops = module.funcs.iter().map(|(id, func)| (id, loop_polls(func).iter().map(|poll| poll.block).collect::<Vec<_>>()));
        let around = module.funcs.values().flat_map(loops_around_calls).collect();
        Known { sizes, loops: loops.filter(|(_, loops)| !loops.is_empty()).collect(), around }
    }
}

impl Facts for Known {
    fn size(&self, func: FuncId) -> u32 {
        self.sizes[func.as_u32() as usize]
    }

    fn loops(&self, func: FuncId) -> &[Block] {
        self.loops.get(&func).map_or(&[], |loops| loops)
    }
}

struct Worker {
    shared: Arc<Adaptive>,
    engine: Arc<NativeEngine>,
    optimizer: Optimizer,
    known: Known,
    policy: Box<dyn Policy>,
    records: bool,
    profiler: Option<Arc<Profiler>>,
    summary: Arc<Mutex<Summary>>,
    /// Runs while there is something to do.
    stopwatch: Stopwatch,
    /// Of each function and loop the last version, unless it was given up.
    made: FxHashMap<Job, Version>,
    cold: Cold,
}

impl Worker {
    fn work(&mut self, model: Model) {
        let shared = Arc::clone(&self.shared);
        self.tell_time();
        match &shared.forced {
            Some(force) => self.obey(force),
            None => self.decide(model),
        }
    }

    fn decide(&mut self, mut model: Model) {
        let (mut asked, mut looked) = (0.0, 0.0);
        // A stop frees what was out of use at the one before; what a thread still holds on to, none does.
        let mut pause = tuning::RECLAIM_PAUSE;
        while let Some(ticks) = self.wait(&model) {
            self.look(&ticks, &mut model);
            self.shared.set_calm(model.is_calm());
            self.discard_cold(&mut model);
            if model.ran() > looked + LOOK {
                looked = model.ran();
                self.look_again(&mut model);
                self.look_for_brief(model.ran());
            }
            while let Some(job) = self.next(&model) {
                if self.shared.is_closed() {
                    return self.tell_time();
                }
                self.compile(job, &mut model);
            }
            self.make_exits();
            if self.engine.inner().retired_bytes() <= tuning::RETIRED {
                pause = tuning::RECLAIM_PAUSE;
            } else if model.ran() > asked + pause {
                (asked, pause) = (model.ran(), 2.0 * pause);
                self.shared.ask_for_reclaim();
            }
        }
    }

    /// The next ticks; `None`: the program has ended.
    fn wait(&mut self, model: &Model) -> Option<Vec<Frames>> {
        self.tell_time();
        let ticks = self.shared.take(if model.is_calm() { PAUSE * super::RARER } else { PAUSE });
        self.stopwatch = Stopwatch::new();
        ticks
    }

    fn look(&mut self, ticks: &[Frames], model: &mut Model) {
        // Without ticks nothing is seen, and nothing follows from that.
        if ticks.is_empty() {
            return;
        }
        model.look(|func| self.engine.inner().was_called(func));
        let mut can_leave = false;
        for frames in ticks {
            let seen = self.look_up(frames);
            can_leave |= model.tick(&seen, &self.known);
        }
        model.watch().for_each(|func| _ = self.engine.inner().was_called(func));
        if can_leave {
            self.shared.let_loops_be_left();
        }
    }

    fn tell_time(&mut self) {
        lock(&self.summary).time += self.stopwatch.take();
    }

    /// Asks anew about functions that run, if the profile has moved: what would be saved by other decisions is the model's to weigh.
    fn look_again(&mut self, model: &mut Model) {
        let Some(Newer { oracle, ahead }) = self.policy.newer() else { return };
        for (job, version) in &self.made {
            if job.entry != Entry::Start {
                continue;
            }
            // What was found when it ran is worth nothing once it does not.
            let asked = if model.has_just_run(job.func) { &version.asked[..] } else { &[] };
            let calls: f64 = asked.iter().map(|question| oracle.gain(question)).sum();
            model.moved(job.func, calls * ahead * CALL_TIME as f64);
        }
    }

    /// What is called so often, by the profile of the nanoseconds that the program has run, need not be left in its loops.
    fn look_for_brief(&mut self, ran: f64) {
        let (engine, Some(profiler)) = (self.engine.inner(), &self.profiler) else { return };
        for func in engine.left_functions() {
            if profiler.calls_of(func) * tuning::BRIEF > ran
                && self.has_room()
                && let Some(version) = engine.expect_brief(func)
            {
                self.cold.installed(Job { func, entry: Entry::Start }, version.entry);
            }
        }
    }

    /// Gives up what nothing has run for long. From one look to the next the first call of each function is noticed, but for those right behind a window; there is no look meanwhile.
    fn discard_cold(&mut self, model: &mut Model) {
        let engine = self.engine.inner();
        if !engine.arm_held() {
            return;
        }
        let was_called = |job: Job| job.entry == Entry::Start && !engine.arm(job.func);
        for job in self.cold.look(model.ran(), was_called) {
            if model.can_discard(job) && self.discard(job) {
                model.discarded(job);
            }
        }
    }

    /// Says whether there was something that nobody has called.
    fn discard(&mut self, job: Job) -> bool {
        let engine = self.engine.inner();
        let mut summary = lock(&self.summary);
        match job.entry {
            Entry::Start if !engine.discard_armed(job.func) => return false,
            Entry::Start => summary.discarded += 1,
            Entry::Loop(block) => {
                engine.discard_osr(job.func, block);
                summary.discarded_loops += 1;
            }
        }
        self.made.remove(&job);
        self.cold.gone(job);
        true
    }

    /// Functions that are called for the first time need some room, too.
    fn has_room(&self) -> bool {
        self.engine.inner().stats().code_bytes < tuning::ADAPTIVE_CODE
    }

    /// Something to compile, if there is room.
    fn next(&self, model: &Model) -> Option<Job> {
        self.has_room().then(|| model.next(&self.known)).flatten()
    }

    /// Where threads have wanted to go over to code that counts calls, or does not, they can from now on, if there is room. Code for exits of loops around comes first: it is where that code ends.
    /// Loops in which threads stay for long get exits of their own.
    fn make_exits(&mut self) {
        let engine = self.engine.inner();
        while self.has_room()
            && !self.shared.is_closed()
            && let Some(Renewed { entered, version }) = engine.leave_long_loops()
        {
            let entry = entered.map_or(Entry::Start, Entry::Loop);
            self.cold.installed(Job { func: version.func, entry }, version.entry);
        }
        for WantedExit { exit, func, body } in engine.wanted_exits() {
            if !self.has_room() || self.shared.is_closed() {
                return;
            }
            for exit in exits_around(&body, exit).into_iter().chain([exit]).filter(|&exit| engine.is_exit_open(exit)) {
                let rest = enter_at_exit(engine.module(), &body, exit, &|exit| engine.has_exit_code(exit));
                engine.install_exit(exit, func, rest.as_ref());
            }
        }
    }

    /// Compiles what the seed says when threads wait for it.
    fn obey(&mut self, force: &Force) {
        let _closes = Closes(force);
        let mut choices = Choices::new(force.seed);
        while let Some(frames) = force.next() {
            self.stopwatch = Stopwatch::new();
            let seen = self.look_up(&frames);
            self.make_exits();
            self.engine.inner().arm_held();
            match choices.next(&seen, self.engine.inner().module().funcs.len(), &self.known) {
                Choice::Optimized(job) => _ = self.make(job),
                Choice::Baseline(func) => {
                    let engine = self.engine.inner();
                    _ = engine.install(func, &engine.module().funcs[func], Level::Baseline);
                }
                Choice::Armed(func) => {
                    let engine = self.engine.inner();
                    _ = (engine.arm(func), engine.was_called(func));
                }
                Choice::Brief(func) => _ = self.engine.inner().expect_brief(func),
                Choice::Discarded => self.cold.jobs().into_iter().for_each(|job| _ = self.discard(job)),
            }
            self.tell_time();
            force.done();
        }
    }

    /// What the addresses of a tick mean.
    fn look_up(&mut self, frames: &Frames) -> Vec<Seen> {
        let mut seen = Vec::with_capacity(frames.len());
        let engine = self.engine.inner();
        for frame in frames {
            let Some(chain) = engine.decode(frame.pc) else { continue };
            let mut chain = chain.peekable();
            let at = match chain.peek().and_then(|view| view.site) {
                Some(SiteKind::Entry) => At::Entry,
                Some(SiteKind::Loop(block)) => At::Loop(block),
                Some(SiteKind::Call(site)) => self.known.around.get(&site).map_or(At::Elsewhere, |&block| At::Loop(block)),
                _ => At::Elsewhere,
            };
            let Some(root) = chain.last() else { continue };
            let code = match engine.version_at(frame.pc) {
                Some((entry, Level::Optimized)) => {
                    self.cold.met(engine.home(entry));
                    Code::Optimized
                }
                _ => Code::Baseline,
            };
            seen.push(Seen { func: root.func, code, fp: frame.fp, at });
        }
        seen
    }

    fn compile(&mut self, job: Job, model: &mut Model) {
        // The time that this thread has: it may have to wait for a processor.
        let begun = thread_time();
        let made = self.make(job);
        let took = thread_time() - begun;
        // What has run until now has not run this code: it says nothing of what is worth compiling besides.
        self.look(&self.shared.waiting(), model);
        match made {
            Some(inlined) => model.done(job, took.as_nanos() as f64, inlined.into_iter(), &self.known),
            None => model.refused(job),
        }
    }

    /// Makes the early forms that the function needs apart from its own code: they are made once, so what was said of them holds when the function is compiled anew.
    fn prepare(&mut self, func: FuncId, oracle: &dyn Oracle) {
        let recorder = Recorder::new(oracle);
        self.optimizer.prepare(func, &recorder);
        if let Some(answers) = &mut lock(&self.summary).answers {
            answers.early.push(recorder.into_answers());
        }
    }

    /// Compiles and installs. Gives the functions that came in; `None`: there can be no such code.
    fn make(&mut self, job: Job) -> Option<Vec<FuncId>> {
        let oracle = self.policy.oracle();
        let begun = Instant::now();
        if self.records {
            self.prepare(job.func, &*oracle);
        }
        let versions = if self.policy.keeps() { before(&self.made, job) } else { Vec::new() };
        let kept = Kept::new(&*oracle, job.func, versions);
        let recorder = Recorder::new(&kept);
        let questions = Questions::new(if self.records { &recorder } else { &kept }, job.func);
        let root = self.optimizer.root(job.func, job.entry, &questions);
        let optimizing = begun.elapsed();
        let engine = self.engine.inner();
        let installed = root.and_then(|root| {
            let version = match job.entry {
                Entry::Start => engine.install(job.func, &root.func, Level::Optimized),
                Entry::Loop(block) => engine.install_osr(job.func, block, &root.func, Level::Optimized),
            };
            version.ok().map(|version| (version.entry, root.decisions))
        });
        let mut summary = lock(&self.summary);
        // Together, so that whoever asks meanwhile finds no part that is more than the whole.
        summary.time += self.stopwatch.take();
        summary.optimizing += optimizing;
        summary.inlining = self.optimizer.inlining().time;
        let Some((entry, decisions)) = installed else {
            summary.refused += 1;
            return None;
        };
        self.cold.installed(job, entry);
        match job.entry {
            Entry::Start => {
                summary.functions += 1;
                summary.again += u64::from(self.made.contains_key(&job));
            }
            Entry::Loop(_) => {
                summary.loops += 1;
                self.shared.let_loops_be_left();
            }
        }
        let asked = questions.into_list();
        if let Some(answers) = &mut summary.answers {
            answers.last.insert(job, recorder.into_answers());
        }
        summary.decisions.extend_from_slice(&decisions);
        let inlined: Vec<_> = decisions.into_iter().filter(|decision| decision.verdict.is_inlined()).collect();
        let callees = inlined.iter().map(|decision| decision.callee).collect();
        self.made.insert(job, Version { asked, inlined });
        Some(callees)
    }
}

/// The versions of the function and its loops that there are, that of the same job first.
fn before(made: &FxHashMap<Job, Version>, job: Job) -> Vec<&Version> {
    let mut before: Vec<(&Job, &Version)> = made.iter().filter(|(made, _)| made.func == job.func).collect();
    before.sort_by_key(|(made, _)| (**made != job, **made));
    before.into_iter().map(|(_, version)| version).collect()
}
