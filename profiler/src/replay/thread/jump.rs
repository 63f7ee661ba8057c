//! Jumps over what a thread does while its sampler asks for nothing, for traces that can be entered anywhere: between ticks nearly all events only move the stack.
//!
//! In: the state of a thread, and where a jump leads. Out: how far nothing can happen. Samples, ticks and cost are those of a replay of every event.
//! Invariant: a jump lands before the first event that the sampler could ask about. Marks of seen frames do not survive it, so [`Counters::repetitions`](crate::counters::Counters::repetitions)
//! stays too small, and a thread whose interval tunes itself by them is never quiet.

use super::Thread;
use crate::ids::EdgeId;
use crate::sample::Moment;
use crate::samplers::Interval;

/// How long a thread's events only move its stack: all before both of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quiet {
    /// The first event at this time or later matters.
    pub cycles: u64,
    /// The call of this number, counted from 1, matters.
    pub calls: u64,
}

impl Thread {
    /// `None` if the next event may matter.
    pub(in super::super) fn quiet(&self, interval: &Interval) -> Option<Quiet> {
        let is_waiting = self.timer.as_ref().is_some_and(|timer| timer.raised.is_some());
        if !self.has_begun || is_waiting || self.burst.is_some() || interval.is_self_tuning() {
            return None;
        }
        let cycles = self.timer.as_ref().map_or(u64::MAX, |timer| timer.next);
        Some(Quiet { cycles, calls: self.due.unwrap_or(u64::MAX) })
    }

    pub(in super::super) fn jump(&mut self, to: Moment, stack: impl Iterator<Item = EdgeId>) {
        self.now = to.cycles.max(self.now);
        self.calls = to.calls.max(self.calls);
        self.stack.clear();
        self.stack.extend(stack);
        self.seen = 0;
    }
}
