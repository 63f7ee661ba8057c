//! What is worth compiling: costs against expected benefit, in time (Arnold et al., "Adaptive optimization in the Jalapeño JVM", section 4).
//!
//! In: ticks, each with the functions that stand on its thread's stack and what they ran. Out: what to compile next, if anything ([`Model::next`]).
//!
//! A function that has run so long is expected to run as long again, if it still runs: its share of the last tenths of a second counts, of what the whole program has run; but no more than it has run itself ([`Time`]). Optimized, it takes
//! [`SPEEDUP`] times less; what that saves must be more than what compiling it takes, which follows from its size and from what compiling has taken so far: time on a processor, so a machine with much else to do delays code, but does not
//! make it look dear. A function that has been optimized is compiled again if other decisions, by the profile as it has become, save that much ([`Model::moved`]), and as at first if its code was given up ([`Model::discarded`]). Doing nothing is what else there is. A callee that would be inlined counts
//! for its caller, too: what is worth compiling is the outermost function that takes it in. So does a tick at an entry, which came before the call ([`reach`]).
//! Invariant: a pure state machine without a clock.

use super::RARER;
use jit::ir::{Block, FuncId};
use jit::opt::Entry;
use rustc_hash::{FxHashMap, FxHashSet};

/// How much faster optimized code is than baseline code: measured, in the mean of the samples.
const SPEEDUP: f64 = 3.0;
/// Callers that may take in what runs, one into the other.
const CLIMB: usize = 6;
/// The size up to which a callee is expected to be inlined.
const INLINED: u32 = 120;
/// Of evidence for what runs now, when as much time has passed as [`ROUND`]: what a phase was like is forgotten in some tenths of a second.
const DECAY: f64 = 0.95;
/// Ticks until evidence decays.
const ROUND: u32 = 8;
/// Looks at which one call must have been seen for its loops to be worth code of their own: it has begun before one of them, and still runs after the next, which is milliseconds later.
const LONG: u32 = 3;
/// Calls seen at so many looks are remembered, up to so many of them.
const LASTS: u32 = 64;
const CALLS: usize = 1024;
/// Ticks in optimized code after which nothing new is expected soon; one in baseline code takes back so many of them.
const CALM: u32 = 48;
const STIR: u32 = 8;
/// Times that a function is optimized, each time after the second for four times as much as before.
const VERSIONS: u32 = 4;
/// Nanoseconds for each unit of size, before anything was compiled.
const FIRST_COST: f64 = 30_000.0;
/// Units of size that this counts for beside what was compiled.
const FIRST_SIZE: f64 = 300.0;

/// Code that a frame runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    Baseline,
    Optimized,
}

/// One physical frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    pub func: FuncId,
    pub code: Code,
    /// Where the frame lies, which tells calls apart that run at the same time.
    pub fp: u64,
    pub at: At,
}

/// Where a frame stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// Its call has just begun.
    Entry,
    /// In the loop with this poll, by which it can be left: the innermost frame at the poll itself, the others at a call.
    Loop(Block),
    Elsewhere,
}

impl At {
    pub fn in_loop(self) -> Option<Block> {
        match self {
            At::Loop(block) => Some(block),
            At::Entry | At::Elsewhere => None,
        }
    }
}

/// Something to compile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Job {
    pub func: FuncId,
    pub entry: Entry,
}

/// Nanoseconds that something has run.
#[derive(Clone, Copy, Default, Debug)]
struct Time {
    /// Of the last tenths of a second.
    recent: f64,
    /// In all.
    long: f64,
}

impl Time {
    fn add(&mut self, time: f64) {
        self.recent += time;
        self.long += time;
    }

    fn decay(&mut self) {
        self.recent *= DECAY;
    }

    /// That it is expected to run, in a program that has run for this time.
    fn expected(&self, program: &Time) -> f64 {
        let share = if program.recent > 0.0 { self.recent / program.recent } else { 0.0 };
        self.long.min(share * program.long)
    }
}

#[derive(Clone, Default)]
struct State {
    /// In its baseline code, and in that of callees it would take in.
    baseline: Time,
    /// In its optimized code.
    optimized: Time,
    versions: u32,
    /// The last of them was given up.
    is_discarded: bool,
    /// Nanoseconds that another version is expected to save, by the profile as it is now.
    moved: f64,
    /// It cannot be compiled.
    is_refused: bool,
    /// A call of it that stood in a loop was followed by others.
    has_others: bool,
}

/// What is known of a function in advance.
pub trait Facts {
    /// As policies count it.
    fn size(&self, func: FuncId) -> u32;
    /// Its loops that can be left, by their polls.
    fn loops(&self, func: FuncId) -> &[Block];
}

/// A baseline call that stands in a loop, for as long as its function is not called anew.
#[derive(Clone, Copy, Default)]
struct Call {
    /// Looks at which it was seen, and the last of them.
    looks: u32,
    last: u32,
    /// Nanoseconds that it has run that its loops do not have yet.
    time: f64,
}

impl Call {
    fn is_long(&self) -> bool {
        self.looks >= LONG
    }
}

pub struct Model {
    funcs: FxHashMap<FuncId, State>,
    /// Of calls that stand in loops.
    loops: FxHashMap<(FuncId, Block), Time>,
    /// Of loops: there is code, or there cannot be.
    settled: FxHashMap<(FuncId, Block), bool>,
    /// By their frames.
    calls: FxHashMap<(u64, FuncId), Call>,
    /// The number of the present look, and the functions that have come to `calls` since.
    look: u32,
    watched: Vec<FuncId>,
    /// Nanoseconds between ticks, unless it is calm: then it is [`RARER`] times as long.
    tick: f64,
    /// So often has this time passed.
    ticks: u32,
    /// Up to [`CALM`].
    calm: u32,
    /// Of all threads.
    program: Time,
    /// Nanoseconds that compiling has taken, and the size of what was compiled.
    spent: f64,
    compiled: f64,
}

impl Model {
    pub fn new(tick: f64) -> Model {
        let (funcs, loops, settled, calls, watched) = Default::default();
        let (spent, compiled) = (FIRST_COST * FIRST_SIZE, FIRST_SIZE);
        Model { funcs, loops, settled, calls, look: 0, watched, tick, ticks: 0, calm: 0, program: Time::default(), spent, compiled }
    }

    /// Ticks have come. `was_called`: a function, since the last look or [`Model::watch`]. What lies where a call of it was seen may be another call.
    pub fn look(&mut self, mut was_called: impl FnMut(FuncId) -> bool) {
        self.look += 1;
        let mut called = FxHashMap::default();
        self.calls.retain(|&(_, func), _| !*called.entry(func).or_insert_with(|| was_called(func)));
        for func in called.into_iter().filter(|&(_, was_called)| was_called).map(|(func, _)| func) {
            self.funcs.entry(func).or_default().has_others = true;
        }
    }

    /// The functions of which it has to be known from now on whether they are called.
    pub fn watch(&mut self) -> impl Iterator<Item = FuncId> {
        self.watched.drain(..)
    }

    /// A thread's frames at a tick, innermost first. Says whether one of its calls stands in a loop for which there is code.
    pub fn tick(&mut self, frames: &[Seen], facts: &dyn Facts) -> bool {
        let Some(top) = frames.first() else { return false };
        let passed = if self.is_calm() { RARER } else { 1 };
        let tick = self.tick * f64::from(passed);
        self.program.add(tick);
        let state = self.funcs.entry(top.func).or_default();
        match top.code {
            Code::Baseline => state.baseline.add(tick),
            Code::Optimized => state.optimized.add(tick),
        }
        let reach = reach(frames, facts);
        for caller in &frames[1..=reach] {
            self.funcs.entry(caller.func).or_default().baseline.add(tick);
        }
        let is_optimized = frames[..=reach].iter().all(|frame| frame.code == Code::Optimized);
        self.calm = if is_optimized { CALM.min(self.calm + 1) } else { self.calm.saturating_sub(STIR) };
        let waits = self.look_for_loops(frames, reach, tick);
        for _ in 0..passed {
            self.ticks += 1;
            if self.ticks.is_multiple_of(ROUND) {
                self.decay();
            }
        }
        waits
    }

    /// Of the first frames up to `reach`, which would take in what runs, the loops count that they stand in: the others' would wait in optimized code as they do now. For the rest of its call the code of a loop is also that of the loops around it.
    /// Short calls come to code from the start soon, and need none for their loops.
    ///
    /// A loop at whose poll a thread stands is left at once. One that waits for what it calls is so when that returns, which may be soon or never, and asking costs time at every poll until then: so each such call is asked for less and less often.
    fn look_for_loops(&mut self, frames: &[Seen], reach: usize, tick: f64) -> bool {
        let mut waits = false;
        for (depth, frame) in frames.iter().enumerate().filter(|(_, frame)| frame.code == Code::Baseline) {
            let Some(block) = frame.at.in_loop() else { continue };
            let has_code = self.settled.get(&(frame.func, block)) == Some(&true);
            if depth > reach && !has_code {
                continue;
            }
            let call = self.calls.entry((frame.fp, frame.func)).or_insert_with(|| {
                self.watched.push(frame.func);
                Call::default()
            });
            let is_new = std::mem::replace(&mut call.last, self.look) != self.look;
            call.looks += u32::from(is_new);
            if depth <= reach {
                call.time += tick;
            }
            if !call.is_long() {
                continue;
            }
            let time = std::mem::take(&mut call.time);
            self.loops.entry((frame.func, block)).or_default().add(time);
            waits |= has_code && (depth == 0 || is_new && call.looks.is_power_of_two());
        }
        waits
    }

    /// What runs is optimized: ticks tell little now.
    pub fn is_calm(&self) -> bool {
        self.calm == CALM
    }

    fn decay(&mut self) {
        for state in self.funcs.values_mut() {
            state.baseline.decay();
            state.optimized.decay();
        }
        self.loops.values_mut().for_each(Time::decay);
        self.program.decay();
        if self.ticks.is_multiple_of(64 * ROUND) {
            self.calls.retain(|_, call| call.looks >= LASTS);
            if self.calls.len() > CALLS {
                self.calls.clear();
            }
            self.funcs.retain(|_, state| state.versions > 0 || state.is_refused || state.baseline.long > 1.0);
        }
    }

    /// Nanoseconds that compiling takes.
    fn cost(&self, func: FuncId, facts: &dyn Facts) -> f64 {
        // What comes in by inlining is not known yet; the cost for each unit holds it in the mean.
        units(func, facts) * self.spent / self.compiled
    }

    /// Functions whose only call stands in a loop, as far as is known, and may turn out to be a long one.
    fn undecided(&self) -> FxHashSet<FuncId> {
        let new = self.calls.iter().filter(|(_, call)| call.last == self.look && !call.is_long()).map(|(&(_, func), _)| func);
        new.filter(|func| self.funcs.get(func).is_none_or(|state| !state.has_others)).collect()
    }

    /// What saves most, if anything saves more than it costs. A function's loop comes before its start where both are worth it: who runs in the loop waits for that code, and the next call, if there is one, begins later.
    pub fn next(&self, facts: &dyn Facts) -> Option<Job> {
        let undecided = self.undecided();
        let can_start = |func: &FuncId, state: &State| !state.is_refused && state.versions < VERSIONS && !undecided.contains(func);
        let starts = self.funcs.iter().filter(|(func, state)| can_start(func, state)).map(|(&func, state)| {
            let is_baseline = state.versions == 0 || state.is_discarded;
            let saved = if is_baseline { state.baseline.expected(&self.program) * (1.0 - 1.0 / SPEEDUP) } else { state.moved };
            let saved = saved / f64::from(4u32.pow(state.versions.saturating_sub(1)));
            (Job { func, entry: Entry::Start }, saved - self.cost(func, facts))
        });
        let loops = self.loops.iter().filter(|(key, _)| !self.settled.contains_key(key)).map(|(&(func, block), time)| {
            let saved = time.expected(&self.program) * (1.0 - 1.0 / SPEEDUP);
            (Job { func, entry: Entry::Loop(block) }, saved - self.cost(func, facts))
        });
        let (job, _) = best(starts.chain(loops.clone()))?;
        let own = best(loops.filter(|(other, _)| other.func == job.func));
        Some(own.map_or(job, |(own, _)| own))
    }

    /// A job is done: it took so many nanoseconds, and these came in.
    pub fn done(&mut self, job: Job, nanos: f64, inlined: impl Iterator<Item = FuncId>, facts: &dyn Facts) {
        self.spent += nanos;
        self.compiled += units(job.func, facts);
        let state = self.funcs.entry(job.func).or_default();
        // Who runs in a loop goes on in its code: whether there are other calls is to be seen.
        state.baseline = Time::default();
        match job.entry {
            Entry::Start => {
                state.versions += 1;
                (state.optimized, state.moved, state.is_discarded) = Default::default();
            }
            Entry::Loop(block) => _ = self.settled.insert((job.func, block), true),
        }
        // Whether they still run on their own is to be seen.
        for func in inlined.filter(|&func| func != job.func) {
            self.funcs.entry(func).or_default().baseline = Time::default();
        }
    }

    /// It has run in the last tenths of a second.
    pub fn has_just_run(&self, func: FuncId) -> bool {
        self.funcs.get(&func).is_some_and(|state| state.baseline.recent.max(state.optimized.recent) > self.tick / 2.0)
    }

    /// By the profile as it is now, another version of a function that has been optimized would save so many nanoseconds.
    pub fn moved(&mut self, func: FuncId, saved: f64) {
        self.funcs.entry(func).or_default().moved = saved;
    }

    /// Nanoseconds that the program has run, all threads together.
    pub fn ran(&self) -> f64 {
        self.program.long
    }

    /// It can be compiled again if it matters once more.
    pub fn can_discard(&self, job: Job) -> bool {
        job.entry != Entry::Start || self.funcs.get(&job.func).is_some_and(|state| state.versions < VERSIONS)
    }

    /// What was compiled for this was given up.
    pub fn discarded(&mut self, job: Job) {
        match job.entry {
            Entry::Start => {
                let state = self.funcs.entry(job.func).or_default();
                (state.baseline, state.optimized, state.moved) = Default::default();
                state.is_discarded = true;
            }
            Entry::Loop(block) => {
                self.loops.remove(&(job.func, block));
                self.settled.remove(&(job.func, block));
            }
        }
    }

    /// There can be no code for it.
    pub fn refused(&mut self, job: Job) {
        match job.entry {
            Entry::Start => self.funcs.entry(job.func).or_default().is_refused = true,
            Entry::Loop(block) => _ = self.settled.insert((job.func, block), false),
        }
    }
}

/// How many callers, the innermost first, would save some of this time if they were compiled: baseline code that would take in what runs, and small callees one in the other; and who has just called, since a tick that is noticed at an entry
/// came before it (as in Jikes RVM, whose ticks in prologues count for caller and callee).
fn reach(frames: &[Seen], facts: &dyn Facts) -> usize {
    let takes_in = |pair: &[Seen]| pair.iter().all(|frame| frame.code == Code::Baseline) && facts.size(pair[0].func) <= INLINED;
    let taking = frames.windows(2).take(CLIMB).take_while(|pair| takes_in(pair)).count();
    let has_called = matches!(frames, [top, caller, ..] if top.at == At::Entry && caller.code == Code::Baseline);
    taking.max(usize::from(has_called))
}

/// The job that gains most, if any gains something.
fn best(jobs: impl Iterator<Item = (Job, f64)>) -> Option<(Job, f64)> {
    let worth = jobs.filter(|(_, gain)| *gain > 0.0);
    worth.max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.cmp(&a.0)))
}

/// What the time for compiling a function grows with.
fn units(func: FuncId, facts: &dyn Facts) -> f64 {
    f64::from(facts.size(func).max(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sizes;

    impl Facts for Sizes {
        fn size(&self, func: FuncId) -> u32 {
            func.as_u32() % 100 * 10
        }

        fn loops(&self, _: FuncId) -> &[Block] {
            &[]
        }
    }

    fn sizes() -> Sizes {
        Sizes
    }

    const MILLISECOND: f64 = 1e6;

    fn frame(func: u32, fp: u64) -> Seen {
        Seen { func: FuncId::from_u32(func), code: Code::Baseline, fp, at: At::Entry }
    }

    fn start(func: u32) -> Job {
        Job { func: FuncId::from_u32(func), entry: Entry::Start }
    }

    #[test]
    fn it_is_calm_while_all_that_counts_is_optimized() {
        let mut model = Model::new(MILLISECOND);
        let optimized = |func| Seen { code: Code::Optimized, ..frame(func, 1) };
        let mut run = |frames: &[Seen], ticks: u32| {
            (0..ticks).for_each(|_| _ = model.tick(frames, &sizes()));
            model.is_calm()
        };
        let called = Seen { at: At::Elsewhere, ..optimized(15) };
        // Whoever called it does not count.
        assert!(!run(&[called, frame(10, 2)], CALM - 1));
        assert!(run(&[called, frame(10, 2)], 1000));
        assert!(!run(&[frame(10, 2)], 1));
        assert!(!run(&[called], STIR - 1) && run(&[called], 1));
        // At its entry it was still the caller that ran.
        assert!(!run(&[optimized(15), frame(10, 2)], 1));
    }

    #[test]
    fn nothing_is_compiled_before_it_pays() {
        let mut model = Model::new(MILLISECOND);
        let mut ticks = 0;
        while model.next(&sizes()).is_none() {
            model.tick(&[frame(10, ticks)], &sizes());
            ticks += 1;
        }
        assert_eq!(model.next(&sizes()), Some(start(10)));
        // 100 units cost 3 ms, of 5 ms two thirds are saved.
        assert!((4..=6).contains(&ticks), "{ticks}");
    }

    #[test]
    fn the_outermost_function_that_takes_in_what_runs_is_compiled_first() {
        let mut model = Model::new(MILLISECOND);
        for i in 0..40 {
            // 5 is small, 15 above the limit for callees: 2 does not take it in.
            model.tick(&[frame(5, 3 * i), frame(15, 3 * i + 1), frame(2, 3 * i + 2)], &sizes());
        }
        let first = model.next(&sizes()).unwrap();
        assert!(first == start(5) || first == start(15), "{first:?}");
        model.done(start(15), 4e6, [FuncId::from_u32(5)].into_iter(), &sizes());
        assert_eq!(model.next(&sizes()), None, "what was taken in waits for new evidence");
    }

    fn optimized(frame: Seen) -> Seen {
        Seen { code: Code::Optimized, ..frame }
    }

    /// In the loop at this block.
    fn within(frame: Seen) -> Seen {
        Seen { at: At::Loop(Block::from_u32(7)), ..frame }
    }

    /// At a look of its own. None of the functions was called meanwhile.
    fn look(model: &mut Model, frames: &[Seen]) -> bool {
        model.look(|_| false);
        model.tick(frames, &sizes())
    }

    fn all_jobs(model: &mut Model) -> Vec<Job> {
        let mut jobs = Vec::new();
        while let Some(job) = model.next(&sizes()) {
            jobs.push(job);
            model.done(job, 1e5, std::iter::empty(), &sizes());
        }
        jobs
    }

    #[test]
    fn a_call_that_lasts_gets_code_for_its_loop() {
        let mut model = Model::new(MILLISECOND);
        let job = Job { func: FuncId::from_u32(101), entry: Entry::Loop(Block::from_u32(7)) };
        let waiting = [frame(5, 1), within(frame(101, 2))];
        let left = (0..20).filter(|_| look(&mut model, &waiting)).count();
        assert_eq!(left, 0, "there is no code yet");
        let jobs = all_jobs(&mut model);
        assert!(jobs.contains(&job), "{jobs:?}");
        // The loop waits for what it calls.
        let mut asked = |ticks: u32| (0..ticks).filter(|_| look(&mut model, &waiting)).count();
        assert!(asked(20) > 0, "there is code for a loop that runs");
        assert!(asked(5000) < 10, "asking costs time");
        assert!((0..3).all(|_| look(&mut model, &[within(frame(101, 2))])), "it goes on");
    }

    #[test]
    fn one_call_that_runs_in_a_loop_gets_no_code_from_the_start() {
        let mut model = Model::new(MILLISECOND);
        let mut jobs = |was_called: bool| {
            for _ in 0..100 {
                model.look(|_| was_called);
                model.tick(&[within(frame(101, 2))], &sizes());
            }
            all_jobs(&mut model).iter().map(|job| job.entry == Entry::Start).collect::<Vec<_>>()
        };
        assert_eq!(jobs(false), [false]);
        assert_eq!(jobs(true), [true], "there are others");
    }

    /// They come one after the other, from one place: their frames do, too.
    #[test]
    fn short_calls_get_no_code_for_their_loops() {
        let mut model = Model::new(MILLISECOND);
        let mut ticks = 0;
        while model.next(&sizes()).is_none() {
            model.look(|_| true);
            model.tick(&[within(frame(110, 2))], &sizes());
            ticks += 1;
        }
        assert_eq!(all_jobs(&mut model), [start(110)]);
        assert!(ticks <= 6, "as soon as what begins anew each time: {ticks}");
        for _ in 0..100 {
            model.look(|_| true);
            (0..50).for_each(|_| assert!(!model.tick(&[within(frame(110, 2))], &sizes()), "nobody waits"));
            all_jobs(&mut model).iter().for_each(|job| assert_eq!(job.entry, Entry::Start));
        }
    }

    #[test]
    fn code_from_the_start_waits_until_it_is_known_whether_there_is_one_long_call() {
        let mut model = Model::new(MILLISECOND);
        let seen = [within(frame(101, 2))];
        (0..LONG - 1).for_each(|_| {
            model.look(|_| false);
            (0..50).for_each(|_| _ = model.tick(&seen, &sizes()));
            assert_eq!(model.next(&sizes()), None);
        });
        let watched: Vec<FuncId> = model.watch().collect();
        assert_eq!(watched, [FuncId::from_u32(101)]);
        look(&mut model, &seen);
        assert!(model.next(&sizes()).is_some_and(|job| job.entry != Entry::Start));
    }

    #[test]
    fn a_tick_at_an_entry_is_also_that_of_who_has_called() {
        let jobs = |top: Seen| {
            let mut model = Model::new(MILLISECOND);
            (0..100).for_each(|_| _ = look(&mut model, &[top, within(frame(101, 2)), within(frame(102, 3))]));
            all_jobs(&mut model).iter().map(|job| job.func.as_u32()).collect::<Vec<_>>()
        };
        assert_eq!(jobs(optimized(frame(5, 1))), [101]);
        assert_eq!(jobs(optimized(within(frame(5, 1)))), [0; 0], "it runs in a loop of the callee");
    }

    #[test]
    fn loops_that_would_not_take_in_what_runs_wait_as_they_are() {
        // 15 is too large to come in.
        for callee in [within(frame(15, 1)), optimized(within(frame(5, 1)))] {
            let mut model = Model::new(MILLISECOND);
            (0..100).for_each(|_| _ = look(&mut model, &[callee, within(frame(101, 2)), within(frame(102, 3))]));
            let jobs = all_jobs(&mut model);
            assert!(jobs.iter().all(|job| job.entry == Entry::Start || job.func == callee.func), "{jobs:?}");
        }
        // Of the call whose loop takes in what runs, and of the one around it.
        let mut model = Model::new(MILLISECOND);
        (0..100).for_each(|_| _ = look(&mut model, &[frame(5, 1), within(frame(101, 2)), within(frame(102, 3))]));
        let loops = all_jobs(&mut model).iter().filter(|job| job.entry != Entry::Start).count();
        assert_eq!(loops, 2);
    }

    #[test]
    fn what_cannot_be_compiled_is_not_tried_again() {
        let mut model = Model::new(MILLISECOND);
        (0..50).for_each(|i| _ = model.tick(&[frame(1, i)], &sizes()));
        assert_eq!(model.next(&sizes()), Some(start(1)));
        model.refused(start(1));
        assert_eq!(model.next(&sizes()), None);
    }

    #[test]
    fn what_was_optimized_is_compiled_again_for_what_that_saves() {
        let mut model = Model::new(MILLISECOND);
        (0..20).for_each(|i| _ = model.tick(&[frame(10, i)], &sizes()));
        model.done(start(10), 3e6, std::iter::empty(), &sizes());
        let after_more = |model: &mut Model| {
            (0..50).for_each(|i| _ = model.tick(&[optimized(frame(10, i))], &sizes()));
            model.next(&sizes())
        };
        assert_eq!(after_more(&mut model), None, "nothing has changed");
        assert!(model.has_just_run(FuncId::from_u32(10)) && !model.has_just_run(FuncId::from_u32(11)));
        model.moved(FuncId::from_u32(10), 2e6);
        assert_eq!(model.next(&sizes()), None, "that is less than compiling takes");
        model.moved(FuncId::from_u32(10), 5e6);
        assert_eq!(model.next(&sizes()), Some(start(10)));
        model.moved(FuncId::from_u32(10), 0.0);
        assert_eq!(model.next(&sizes()), None, "it has moved back");
        let mut versions = 1;
        for _ in 0..20 {
            model.moved(FuncId::from_u32(10), 1e8);
            let Some(job) = after_more(&mut model) else { continue };
            model.done(job, 3e6, std::iter::empty(), &sizes());
            versions += 1;
        }
        assert_eq!(versions, VERSIONS, "however often phases change");
    }

    /// As often as a function is optimized at most: then what there is stays.
    #[test]
    fn what_was_given_up_is_compiled_again_if_it_matters_again() {
        let mut model = Model::new(MILLISECOND);
        let mut versions = 0;
        let mut ticks_until_compiled = Vec::new();
        while model.can_discard(start(10)) || versions == 0 {
            let mut ticks = 0;
            while model.next(&sizes()).is_none() {
                assert!(ticks < 10_000, "version {versions}");
                model.tick(&[frame(10, ticks)], &sizes());
                ticks += 1;
            }
            assert_eq!(model.next(&sizes()), Some(start(10)));
            model.done(start(10), 3e6, std::iter::empty(), &sizes());
            assert_eq!(model.next(&sizes()), None);
            versions += 1;
            ticks_until_compiled.push(ticks);
            if model.can_discard(start(10)) {
                model.discarded(start(10));
                assert_eq!(model.next(&sizes()), None, "what it ran before counts no more");
            }
        }
        assert_eq!(versions, VERSIONS);
        let [first, second, third, fourth] = ticks_until_compiled[..] else { panic!("{ticks_until_compiled:?}") };
        assert!(first.abs_diff(second) <= 2 && third > 3 * second && fourth > 3 * third, "{ticks_until_compiled:?}");
    }

    #[test]
    fn a_loop_whose_code_was_given_up_is_compiled_again() {
        let mut model = Model::new(MILLISECOND);
        let job = Job { func: FuncId::from_u32(101), entry: Entry::Loop(Block::from_u32(7)) };
        for _ in 0..3 {
            (0..50).for_each(|_| _ = look(&mut model, &[within(frame(101, 2))]));
            assert!(all_jobs(&mut model).contains(&job));
            assert!(model.can_discard(job));
            model.discarded(job);
            assert_eq!(model.next(&sizes()), None, "what it ran before counts no more");
        }
    }

    #[test]
    fn evidence_fades() {
        let after = |pause: u64| {
            let mut model = Model::new(MILLISECOND);
            (0..40).for_each(|i| _ = model.tick(&[frame(99, i)], &sizes()));
            assert_eq!(model.next(&sizes()), None, "990 units cost 30 ms");
            (0..pause).for_each(|i| _ = model.tick(&[optimized(frame(98, 100 + i))], &sizes()));
            // Compiling turns out to be cheap.
            model.done(start(98), 0.0, std::iter::empty(), &sizes());
            model.next(&sizes())
        };
        assert_eq!(after(0), Some(start(99)));
        assert_eq!(after(400), None);
    }

    #[test]
    fn ticks_that_come_rarer_stand_for_more_time() {
        let mut model = Model::new(MILLISECOND);
        (0..u64::from(CALM)).for_each(|i| _ = model.tick(&[optimized(frame(98, i))], &sizes()));
        assert!(model.is_calm() && model.next(&sizes()).is_none());
        model.tick(&[frame(10, 0)], &sizes());
        assert_eq!(model.next(&sizes()), Some(start(10)), "8 ms, of which 5 are saved");
    }

    /// What a function costs is never so much that it does not pay in the end.
    #[test]
    fn what_runs_on_and_on_is_compiled_however_dear_it_is() {
        let mut model = Model::new(MILLISECOND);
        (0..50).for_each(|i| _ = model.tick(&[frame(1, i)], &sizes()));
        // Half a second for 10 units: the next one, of 990, looks like 13 s / 10.
        model.done(start(1), 5e8, std::iter::empty(), &sizes());
        let mut ticks = 0;
        while model.next(&sizes()).is_none() && ticks < 100_000 {
            model.tick(&[frame(99, 7)], &sizes());
            ticks += 1;
        }
        assert!((1000..5000).contains(&ticks), "{ticks}");
    }
}
