//! The adaptive tier: functions begin in baseline code, and those that matter are compiled again, optimized, while the program runs.
//!
//! In: ticks of the timer as threads notice them, each with the innermost frames of its thread; a profile of calls. Out: optimized code in place of baseline code, for calls that begin and for loops that run.
//!
//! Threads only leave addresses here ([`Adaptive::tick`]). The compile thread ([`controller`]) finds out what they mean, asks the [`model`] what is worth compiling, compiles it and installs it, while the program goes on.
//! Invariant: no program thread ever waits for the compile thread.

mod controller;
mod model;

pub use controller::{Controller, Policy, Summary, start};

use jit::context::ThreadContext;
use jit::native::{self, RawFrame};
use smallvec::SmallVec;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Frames of a tick: who could take in what runs, and who has been waiting for it in a loop.
const FRAMES: usize = 24;
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
    is_closed: AtomicBool,
    /// Changes when threads are to look for loops that they can leave.
    leave: AtomicU32,
}

impl Adaptive {
    fn ticks(&self) -> MutexGuard<'_, Vec<Frames>> {
        self.ticks.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A thread has noticed a tick.
    ///
    /// # Safety
    /// `ctx` is the current thread's, which stands outside compiled code.
    pub unsafe fn tick(&self, ctx: &ThreadContext) {
        let mut frames = Frames::new();
        // SAFETY: by contract.
        unsafe {
            native::walk_raw(ctx, |frame| {
                frames.push(frame);
                if frames.len() < FRAMES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        }
        let mut ticks = self.ticks();
        if !frames.is_empty() && ticks.len() < WAITING {
            ticks.push(frames);
        }
    }

    /// Another number than before: there is new code for loops.
    pub fn leave(&self) -> u32 {
        self.leave.load(Relaxed)
    }

    fn let_loops_be_left(&self) {
        self.leave.fetch_add(1, Relaxed);
    }

    /// The program has ended: nothing more is compiled.
    pub fn close(&self) {
        self.is_closed.store(true, Relaxed);
        self.news.notify_all();
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// The ticks that have come, after so long; `None`: the program has ended.
    fn take(&self, wait: Duration) -> Option<Vec<Frames>> {
        let ticks = self.ticks();
        if self.is_closed() {
            return None;
        }
        let (mut ticks, _) = self.news.wait_timeout(ticks, wait).unwrap_or_else(|e| e.into_inner());
        (!self.is_closed()).then(|| std::mem::take(&mut *ticks))
    }
}
