//! The adaptive tier: functions begin in baseline code, and those that matter are compiled again, optimized, while the program runs.
//!
//! In: ticks of the timer as threads notice them, each with the innermost frames of its thread; a profile of calls. Out: optimized code in place of baseline code, for calls that begin and for loops that run.
//!
//! Code that was replaced is freed at collections, and if these are rare, at a stop of its own that the compile thread asks for.
//!
//! Threads only leave addresses here ([`Adaptive::tick`]). The compile thread ([`controller`]) finds out what they mean, asks the [`model`] what is worth compiling, compiles it and installs it, while the program goes on. What is inlined is up to a
//! policy, by default one that asks the run's own profile ([`guide`]); what it would now decide otherwise may be worth another version. What nothing runs any more is given up ([`cold`]).
//! A tick tells what the program ran: one that comes while its thread compiles is forgotten ([`Thread::forget_pace`](super::thread::Thread::forget_pace)), and those that come while the compile thread compiles are of the time before that code.
//! Invariant: no program thread ever waits for the compile thread, but in tests ([`forced`]).

mod cold;
mod controller;
mod forced;
mod guide;
mod model;

pub use controller::{Controller, Newer, PlanAnswers, Policy, Summary, start};
pub use forced::Pace;
pub use guide::Guide;

use super::timer::{Tick, Ticks};
use jit::context::ThreadContext;
use jit::native::{self, RawFrame};
use smallvec::SmallVec;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Frames of a tick: who could take in what runs, and who has been waiting for it in a loop.
const FRAMES: usize = 24;
/// Times as long from one tick to the next, while all that runs is optimized: whoever else runs on this machine is disturbed less, and code that gets hot waits some milliseconds more.
const RARER: u32 = 8;
/// Ticks that wait to be looked at; more are dropped: they would say nothing new.
const WAITING: usize = 4096;

/// The frames of a thread at a tick, innermost first.
type Frames = SmallVec<[RawFrame; FRAMES]>;

/// What program threads and the compile thread share.
#[derive(Default, Debug)]
pub struct Adaptive {
    ticks: Mutex<Vec<Frames>>,
    /// Wakes the compile thread.
    news: Condvar,
    /// It waits for the next tick, however late that comes; changes under the lock of the ticks.
    sleeps: AtomicBool,
    is_closed: AtomicBool,
    /// Changes when threads are to look for loops that they can leave.
    leave: AtomicU32,
    /// All that runs is optimized.
    is_calm: AtomicBool,
    /// Much code is out of use.
    reclaim: AtomicBool,
    /// The last time that code was freed, when ticks were taken, and that before which all ticks have been decoded, by their numbers.
    freed: AtomicU64,
    taken: AtomicU64,
    decoded: AtomicU64,
    /// For tests: what is compiled when.
    forced: Option<forced::Force>,
}

impl Adaptive {
    /// Compiles at random moments, and what comes to mind: at the same yield points of a program with one thread always the same. For tests.
    pub fn forced(pace: Pace) -> Adaptive {
        Adaptive { forced: Some(forced::Force::new(pace)), ..Adaptive::default() }
    }

    fn ticks(&self) -> MutexGuard<'_, Vec<Frames>> {
        self.ticks.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A thread has noticed a tick.
    ///
    /// # Safety
    /// `ctx` is the current thread's, which stands outside compiled code.
    pub unsafe fn tick(&self, ctx: &ThreadContext) {
        // SAFETY: by contract.
        let frames = unsafe { innermost(ctx) };
        let mut ticks = self.ticks();
        if !frames.is_empty() && ticks.len() < WAITING {
            ticks.push(frames);
            if self.sleeps.swap(false, Relaxed) {
                self.news.notify_all();
            }
        }
    }

    pub fn is_forced(&self) -> bool {
        self.forced.is_some()
    }

    /// At a yield point, where optimization is forced. Says whether to free code now.
    ///
    /// # Safety
    /// As for [`Adaptive::tick`].
    pub unsafe fn force(&self, ctx: &ThreadContext) -> bool {
        // SAFETY: by contract.
        self.forced.as_ref().is_some_and(|force| unsafe { force.at_yield_point(ctx) })
    }

    /// At a yield point, where optimization is forced: which code is to run from now on, if that changes ([`ThreadContext::counts_calls`]).
    pub fn other_kind(&self) -> Option<bool> {
        self.forced.as_ref().and_then(forced::Force::other_kind)
    }

    /// Another number than before: there is new code for loops.
    pub fn leave(&self) -> u32 {
        self.leave.load(Relaxed)
    }

    fn set_calm(&self, is_calm: bool) {
        self.is_calm.store(is_calm, Relaxed);
    }

    fn let_loops_be_left(&self) {
        self.leave.fetch_add(1, Relaxed);
    }

    /// The next thread that notices a tick is to free code.
    fn ask_for_reclaim(&self) {
        self.reclaim.store(true, Relaxed);
    }

    pub fn wants_reclaim(&self) -> bool {
        self.reclaim.swap(false, Relaxed)
    }

    /// The program is stopped, and code is about to be freed for the time with this number: all ticks that were left before the time with the number that this gives have been decoded.
    pub fn decoded(&self, number: u64) -> u64 {
        self.freed.store(number, SeqCst);
        // Who waits for the compile thread is not stopped.
        if self.is_forced() { u64::MAX } else { self.decoded.load(SeqCst) }
    }

    /// The program has ended: nothing more is compiled.
    pub fn close(&self) {
        // With the lock, so that nobody misses it who is about to wait.
        let ticks = self.ticks();
        self.is_closed.store(true, Relaxed);
        drop(ticks);
        self.news.notify_all();
        self.forced.iter().for_each(forced::Force::close);
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// The ticks that have come, after so long or when there is one; `None`: the program has ended. Those that it gave before have been decoded.
    fn take(&self, wait: Duration) -> Option<Vec<Frames>> {
        let ticks = self.ticks();
        self.all_are_decoded();
        if self.is_closed() {
            return None;
        }
        let (ticks, _) = self.news.wait_timeout(ticks, wait).unwrap_or_else(|e| e.into_inner());
        // A program that waits itself is not looked at.
        let waits = |ticks: &mut Vec<Frames>| {
            let waits = ticks.is_empty() && !self.is_closed();
            self.sleeps.store(waits, Relaxed);
            waits
        };
        let mut ticks = self.news.wait_while(ticks, waits).unwrap_or_else(|e| e.into_inner());
        (!self.is_closed()).then(|| self.give(&mut ticks))
    }

    /// The ticks that have come, perhaps none. Those that were given before have been decoded.
    fn waiting(&self) -> Vec<Frames> {
        let mut ticks = self.ticks();
        self.all_are_decoded();
        self.give(&mut ticks)
    }

    /// That were given so far.
    fn all_are_decoded(&self) {
        self.decoded.store(self.taken.load(SeqCst), SeqCst);
    }

    fn give(&self, ticks: &mut Vec<Frames>) -> Vec<Frames> {
        // Threads that left ticks before code was freed have done so: they were stopped then.
        self.taken.store(self.freed.load(SeqCst), SeqCst);
        std::mem::take(ticks)
    }
}

/// The timer's ticks: so far apart while something may be worth compiling, and farther while all that runs is optimized.
pub struct AdaptivePace {
    pub shared: Arc<Adaptive>,
    pub tick: Duration,
}

impl Ticks for AdaptivePace {
    fn interval(&mut self) -> Duration {
        if self.shared.is_calm.load(Relaxed) { self.tick * RARER } else { self.tick }
    }

    fn before(&mut self) -> Tick {
        self.tick.before()
    }
}

/// # Safety
/// As for [`Adaptive::tick`].
unsafe fn innermost(ctx: &ThreadContext) -> Frames {
    let mut frames = Frames::new();
    // SAFETY: by contract.
    unsafe {
        native::walk_raw(ctx, |frame| {
            frames.push(frame);
            if frames.len() < FRAMES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_kept_until_the_ticks_that_were_left_before_are_given_and_decoded() {
        let shared = Adaptive::default();
        shared.ticks().push(Frames::new());
        assert_eq!(shared.decoded(5), 0);
        assert_eq!(shared.waiting().len(), 1);
        assert_eq!(shared.decoded(6), 0, "they were given, and are looked at now");
        assert_eq!(shared.waiting().len(), 0, "they are given once");
        assert_eq!(shared.decoded(7), 5);
    }
}
