//! One thread of a replay: its shadow stack, its timer, and what a virtual machine would do for its sampler at yield points.
//!
//! In: events in order. Out: samples. Invariants: the stack has one edge a frame and may be millions deep; frames that a walk has seen are at the bottom
//! of the stack, without gaps, since a walk goes down to the first seen one. In the steady state nothing is allocated but what longer stacks need.

mod jump;

pub use jump::Quiet;

use super::Time;
use crate::counters::Counters;
use crate::event::Event;
use crate::ids::{EdgeId, ThreadId};
use crate::sample::{BurstEvent, Moment, Observed, Sample};
use crate::samplers::{Action, Interval, Place, Random, Sampler, Signature, Span, Tick, Wake};
use std::ops::Range;

/// When ticks are raised.
struct Timer {
    random: Random,
    /// The next one, in cycles.
    next: u64,
    /// The oldest that was raised and not noticed.
    raised: Option<u64>,
}

impl Timer {
    fn is_due(&self, now: u64) -> bool {
        // At the end of time there are no more ticks.
        self.next <= now && self.next < u64::MAX
    }
}

/// Looks at a thread that stands still, at most: each stands for several of the ticks if these are more. A damaged time stamp must not take hours.
const LOOKS_BETWEEN_EVENTS: u64 = 10_000;

/// A burst that is being recorded into the thread's sample.
#[derive(Clone, Copy)]
struct Burst {
    calls: u64,
    until: Until,
}

#[derive(Clone, Copy)]
enum Until {
    Calls(u64),
    Time(u64),
}

pub(super) struct Thread {
    sampler: Sampler,
    timer: Option<Timer>,
    stack: Vec<EdgeId>,
    /// Frames at the bottom that a walk has seen.
    seen: usize,
    started: u64,
    now: u64,
    calls: u64,
    /// The call at which to ask the sampler without a tick.
    due: Option<u64>,
    burst: Option<Burst>,
    /// The sample being made; its memory serves for the next one too.
    sample: Sample,
    recorded: Vec<BurstEvent>,
    counters: Counters,
    /// Ticks that the next look stands for.
    alike: u64,
    has_begun: bool,
}

impl Thread {
    pub(super) fn new(id: ThreadId, sampler: Sampler, timer: Option<Random>, start: u64, interval: &Interval) -> Thread {
        let timer = timer.map(|mut random| {
            let next = start.saturating_add(interval.next(&mut random));
            Timer { random, next, raised: None }
        });
        Thread {
            sampler,
            timer,
            stack: Vec::new(),
            seen: 0,
            started: start,
            now: start,
            calls: 0,
            due: None,
            burst: None,
            sample: Sample { thread: id, stack: Vec::new(), observed: Observed::Top, weight: 0.0, tick: 0, stands_for: 1.0 },
            recorded: Vec::new(),
            counters: Counters::default(),
            alike: 1,
            has_begun: false,
        }
    }

    pub(super) fn event(&mut self, event: Event, stamp: u64, time: Time, interval: &mut Interval, sink: &mut impl FnMut(&Sample)) {
        self.now = self.time_of(event, stamp, time);
        self.start(interval, sink);
        self.pass(interval, sink);
        match event.edge() {
            Some(edge) => self.call(event, edge, interval, sink),
            None => self.ret(),
        }
    }

    /// Once: later calls do nothing.
    pub(super) fn start(&mut self, interval: &mut Interval, sink: &mut impl FnMut(&Sample)) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let action = self.sampler.start(self.at());
        self.follow(action, interval, sink);
    }

    pub(super) fn end(&mut self, stamp: u64, time: Time, interval: &mut Interval, sink: &mut impl FnMut(&Sample)) {
        if time == Time::Stamps {
            self.now = stamp.max(self.now);
            self.pass(interval, sink);
        }
        self.close_burst(sink);
    }

    /// Time has passed since the last event.
    fn pass(&mut self, interval: &mut Interval, sink: &mut impl FnMut(&Sample)) {
        self.raise_ticks(interval, sink);
        if let Some(Burst { until: Until::Time(end), .. }) = self.burst
            && self.now >= end
        {
            self.end_burst(interval, sink);
        }
    }

    fn time_of(&self, event: Event, stamp: u64, time: Time) -> u64 {
        match time {
            Time::Stamps => stamp.max(self.now),
            Time::PerCall(cycles) if event == Event::RETURN => self.now.saturating_add(cycles / 2),
            Time::PerCall(cycles) => self.now.saturating_add(cycles - cycles / 2),
        }
    }

    fn call(&mut self, event: Event, edge: EdgeId, interval: &mut Interval, sink: &mut impl FnMut(&Sample)) {
        self.stack.push(edge);
        self.calls += 1;
        match &mut self.burst {
            Some(burst) => {
                self.recorded.push(BurstEvent::from(event));
                burst.calls += 1;
                if matches!(burst.until, Until::Calls(calls) if burst.calls >= calls) {
                    self.end_burst(interval, sink);
                }
            }
            None => {
                let has_tick = self.timer.as_ref().is_some_and(|timer| timer.raised.is_some());
                if has_tick || self.due.is_some_and(|due| self.calls >= due) {
                    self.poll(interval, sink);
                }
            }
        }
    }

    fn ret(&mut self) {
        if self.stack.pop().is_none() {
            self.counters.unmatched += 1;
            return;
        }
        self.seen = self.seen.min(self.stack.len());
        if self.burst.is_some() {
            self.recorded.push(BurstEvent::Return);
        }
    }

    /// Raises the ticks that came since the last event, before this event happens.
    fn raise_ticks(&mut self, interval: &mut Interval, sink: &mut impl FnMut(&Sample)) {
        if self.timer.as_ref().is_some_and(|timer| timer.is_due(self.now)) {
            self.raise_due_ticks(interval, sink);
        }
    }

    fn raise_due_ticks(&mut self, interval: &mut Interval, sink: &mut impl FnMut(&Sample)) {
        let now = self.now;
        for look in 0..LOOKS_BETWEEN_EVENTS {
            let Some(timer) = self.timer.as_mut().filter(|timer| timer.is_due(now)) else { break };
            if timer.raised.is_some() {
                break;
            }
            let tick = timer.next;
            timer.raised = Some(tick);
            timer.next = tick.saturating_add(interval.next(&mut timer.random));
            if self.sampler.place() != Place::Any || self.burst.is_some() {
                continue;
            }
            // The first tick is the only one with calls since the one before.
            self.alike = if look == 0 { 1 } else { (now - tick) / interval.cycles() / (LOOKS_BETWEEN_EVENTS - look) + 1 };
            timer.next = timer.next.saturating_add((self.alike - 1).saturating_mul(interval.cycles()));
            // The thread stands here since the last event: it is asked as of the tick.
            self.now = tick;
            self.poll(interval, sink);
            self.now = now;
            self.alike = 1;
        }
        self.skip_ticks(interval.cycles());
    }

    /// However long the thread slept, the ticks that it could not notice are counted in one step.
    fn skip_ticks(&mut self, interval: u64) {
        let Some(timer) = self.timer.as_mut().filter(|timer| timer.is_due(self.now)) else { return };
        let skipped = (self.now - timer.next) / interval + 1;
        timer.next = timer.next.saturating_add(skipped.saturating_mul(interval));
        self.counters.ticks_merged = self.counters.ticks_merged.saturating_add(skipped);
    }

    fn at(&self) -> Moment {
        Moment { cycles: self.now, calls: self.calls }
    }

    fn poll(&mut self, interval: &mut Interval, sink: &mut impl FnMut(&Sample)) {
        let raised = self.timer.as_mut().and_then(|timer| timer.raised.take());
        let tick = raised.map(|raised| Tick { raised, counted: self.calls });
        let at = self.at();
        let mut has_walked = false;
        let stack = &self.stack;
        let action = self.sampler.poll(at, tick, || {
            has_walked = true;
            let mut signature = Signature::default();
            stack.iter().rev().for_each(|edge| signature.frame(u64::from(edge.as_u32())));
            signature.finish()
        });
        if has_walked && !matches!(action, Action::Burst(_)) {
            // Else the burst's own walk is the one.
            self.walk(interval);
        }
        self.follow(action, interval, sink);
    }

    /// Does what the sampler says.
    fn follow(&mut self, action: Action, interval: &mut Interval, sink: &mut impl FnMut(&Sample)) {
        match action {
            Action::Wait(wake) => {
                self.counters.ticks_merged = self.counters.ticks_merged.saturating_add(self.alike - 1);
                self.wait(wake);
            }
            Action::Top { weight, next } => {
                self.counters.ticks = self.counters.ticks.saturating_add(self.alike - 1);
                self.walk(interval);
                self.keep_stack();
                self.sample.observed = Observed::Top;
                self.sample.weight = weight * self.alike as f64;
                self.hand_over(self.stack.is_empty(), sink);
                self.wait(next);
            }
            Action::Burst(span) => {
                self.walk(interval);
                self.keep_stack();
                self.recorded.clear();
                self.due = None;
                let until = match span {
                    Span::Calls(calls) => Until::Calls(calls),
                    Span::Cycles(cycles) => Until::Time(self.now.saturating_add(cycles)),
                };
                self.burst = Some(Burst { calls: 0, until });
            }
        }
    }

    fn wait(&mut self, wake: Wake) {
        self.due = match wake {
            Wake::Tick => None,
            Wake::After(calls) => Some(self.calls.saturating_add(calls)),
        };
    }

    fn end_burst(&mut self, interval: &mut Interval, sink: &mut impl FnMut(&Sample)) {
        if let Some(next) = self.close_burst(sink) {
            self.follow(next, interval, sink);
        }
    }

    fn close_burst(&mut self, sink: &mut impl FnMut(&Sample)) -> Option<Action> {
        let burst = self.burst.take()?;
        let ended = self.sampler.end_burst(self.at(), burst.calls);
        self.sample.weight = ended.weight;
        self.sample.observed = Observed::Burst(std::mem::take(&mut self.recorded));
        self.hand_over(burst.calls == 0, sink);
        if let Observed::Burst(events) = std::mem::replace(&mut self.sample.observed, Observed::Top) {
            self.recorded = events;
        }
        Some(ended.next)
    }

    fn hand_over(&mut self, is_empty: bool, sink: &mut impl FnMut(&Sample)) {
        if is_empty {
            self.counters.samples_empty = self.counters.samples_empty.saturating_add(self.alike);
            return;
        }
        self.counters.samples = self.counters.samples.saturating_add(self.alike);
        sink(&self.sample);
    }

    /// A stack walk, as far as its cost and marks go.
    ///
    /// A walk for a self-tuning interval stops at the first frame that was seen before, which it looks at too. Others go to the bottom.
    fn walk(&mut self, interval: &mut Interval) {
        let depth = self.stack.len();
        let has_repeated = depth > 0 && self.seen == depth;
        let frames = if interval.is_self_tuning() { depth - self.seen + usize::from(self.seen > 0) } else { depth };
        self.counters.walks = self.counters.walks.saturating_add(self.alike);
        self.counters.frames = self.counters.frames.saturating_add(self.alike.saturating_mul(frames as u64));
        self.counters.repetitions = self.counters.repetitions.saturating_add(self.alike * u64::from(has_repeated));
        self.seen = depth;
        self.sampler.walked(self.at(), frames as u64);
        interval.walked(has_repeated);
    }

    fn keep_stack(&mut self) {
        self.sample.tick = self.sampler.tick();
        self.sample.stack.clear();
        self.sample.stack.extend_from_slice(&self.stack);
    }

    pub(super) fn finish(&mut self, sink: &mut impl FnMut(&Sample)) {
        self.close_burst(sink);
    }

    pub(super) fn counters(&self) -> Counters {
        let mut counters = self.counters;
        counters.merge(self.sampler.counters());
        counters.calls += self.calls;
        counters
    }

    pub(super) fn id(&self) -> ThreadId {
        self.sample.thread
    }

    /// From the thread's start, or its first event, to its end or last event, in cycles.
    pub(super) fn life(&self) -> Range<u64> {
        self.started..self.now
    }
}
