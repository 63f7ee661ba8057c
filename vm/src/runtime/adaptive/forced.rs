//! Optimization that is forced: at random yield points a thread waits until some function or loop has been compiled anew and installed, and now and then frees what is out of use. For tests.
//!
//! In: a seed, yield points. Out: moments, with the frames of the thread; what to compile at each ([`Choices`]). What happens depends on the seed and on the yield points that threads meet alone: for a program with one thread it is the
//! same in every run.
//!
//! Invariant: a thread that waits counts as running, so no other stops the program meanwhile; the compile thread waits for no program thread.

use super::Frames;
use super::innermost;
use super::model::{Code, Facts, Job, Seen};
use jit::context::ThreadContext;
use jit::ir::FuncId;
use jit::opt::Entry;
use profiler::samplers::Random;
use std::sync::{Condvar, Mutex, MutexGuard};

/// How often, and how many times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    pub seed: u64,
    /// Yield points from one time to the next, at most.
    pub gap: u64,
    /// Times in all: a program has many yield points, and each time takes milliseconds.
    pub times: u32,
}

#[derive(Debug)]
pub(super) struct Force {
    pub seed: u64,
    state: Mutex<State>,
    /// Something was asked for, or done.
    news: Condvar,
}

#[derive(Debug)]
struct State {
    random: Random,
    /// Of which code is to run.
    kinds: Random,
    gap: u64,
    /// Yield points until the next time.
    left: u64,
    times: u32,
    asked: Option<Frames>,
    /// How often something was asked for, and done.
    tickets: u64,
    done: u64,
    is_closed: bool,
}

impl Force {
    pub fn new(pace: Pace) -> Force {
        let mut random = Random::stream(pace.seed, 0);
        let left = 1 + random.below(pace.gap);
        let kinds = Random::stream(pace.seed, 2);
        let state = State { random, kinds, gap: pace.gap, left, times: pace.times, asked: None, tickets: 0, done: 0, is_closed: false };
        Force { seed: pace.seed, state: Mutex::new(state), news: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, until: impl Fn(&State) -> bool) -> MutexGuard<'a, State> {
        self.news.wait_while(state, |state| !state.is_closed && !until(state)).unwrap_or_else(|e| e.into_inner())
    }

    /// At a yield point: waits for what is compiled, if it is the time for it. Says whether to free code now.
    ///
    /// # Safety
    /// `ctx` is the current thread's, which stands outside compiled code.
    pub unsafe fn at_yield_point(&self, ctx: &ThreadContext) -> bool {
        let mut state = self.lock();
        state.left = state.left.saturating_sub(1);
        if state.left > 0 || state.times == 0 {
            return false;
        }
        let gap = state.gap;
        state.left = 1 + state.random.below(gap);
        state.times -= 1;
        let frees = state.random.below(3) == 0;
        state = self.wait(state, |state| state.asked.is_none());
        // SAFETY: by contract.
        state.asked = Some(unsafe { innermost(ctx) });
        state.tickets += 1;
        let ticket = state.tickets;
        self.news.notify_all();
        drop(self.wait(state, |state| state.done >= ticket));
        frees
    }

    /// At a yield point: perhaps it is from now on code that counts calls that is to run, or code that does not.
    pub fn other_kind(&self) -> Option<bool> {
        let kinds = &mut self.lock().kinds;
        (kinds.below(4) == 0).then(|| kinds.below(2) == 0)
    }

    /// The frames of the thread that waits, after a while; `None`: the program has ended.
    pub fn next(&self) -> Option<Frames> {
        let state = self.wait(self.lock(), |state| state.tickets > state.done);
        state.asked.clone().filter(|_| !state.is_closed)
    }

    /// What the last one waits for is done.
    pub fn done(&self) {
        let mut state = self.lock();
        state.asked = None;
        state.done = state.tickets;
        self.news.notify_all();
    }

    pub fn close(&self) {
        self.lock().is_closed = true;
        self.news.notify_all();
    }
}

/// Lets threads go on when the compile thread ends, however it does.
pub(super) struct Closes<'a>(pub &'a Force);

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What is compiled.
pub(super) struct Choices(Random);

/// To install.
pub(super) enum Choice {
    Optimized(Job),
    /// The function as it was at first, whose loops can be left again.
    Baseline(FuncId),
    /// The next call of the function is noticed.
    Armed(FuncId),
    /// Calls of the function count as brief.
    Brief(FuncId),
    /// Not to install, but to give up: all that nobody has called since it was armed, and code for loops.
    Discarded,
}

impl Choices {
    pub fn new(seed: u64) -> Choices {
        Choices(Random::stream(seed, 1))
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.0.below(of.len() as u64) as usize)
    }

    /// For a thread with these frames, in a program of so many functions.
    pub fn next(&mut self, frames: &[Seen], funcs: usize, facts: &dyn Facts) -> Choice {
        let any = FuncId::from_u32(self.0.below(funcs as u64) as u32);
        let kind = self.0.below(11);
        let start = |func| Choice::Optimized(Job { func, entry: Entry::Start });
        let Some(&frame) = self.pick(frames) else { return start(any) };
        match kind {
            0..=1 => Choice::Baseline(frame.func),
            2 => start(any),
            3 => start(frame.func),
            8 => Choice::Armed(frame.func),
            9 => Choice::Discarded,
            10 => Choice::Brief(frame.func),
            _ => {
                let innermost = frames[0];
                let running = innermost.at.in_loop().filter(|_| kind < 7).map(|block| (innermost.func, block));
                let known = || Some((frame.func, *self.pick(facts.loops(frame.func))?)).filter(|_| frame.code == Code::Baseline);
                match running.or_else(known) {
                    Some((func, block)) => Choice::Optimized(Job { func, entry: Entry::Loop(block) }),
                    None => start(frame.func),
                }
            }
        }
    }
}
