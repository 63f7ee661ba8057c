//! Samplers: who decides when a thread is looked at, and what that counts for.
//!
//! A [`Sampler`] belongs to one thread and is a state machine without a clock, threads or memory to allocate: time, call counts and ticks are passed in.
//! A virtual machine runs it at a yield point, a [`Replay`](crate::replay::Replay) on a trace; both keep to this contract:
//!
//! 1. When the thread starts: [`Sampler::start`].
//! 2. Do what the [`Action`] says. [`Action::Wait`]: call [`Sampler::poll`] at a call (after the callee's frame is there), when a timer tick has been
//!    raised for the thread, or when so many more calls have been made: one countdown cell a thread serves for that. Asking more often is harmless.
//!    [`Action::Top`]: hand over the stack with that weight, then wait. [`Action::Burst`]: keep the stack, record the events that follow without polling,
//!    and call [`Sampler::end_burst`], which says what the calls of the burst count for and what comes next.
//! 3. A tick that is raised before the one before it was noticed is lost (the older one stays); one raised during a burst waits for its end.
//!
//! All but the stack's signature take constant time. [`Sampler::place`] says whether any yield point will do, or only calls.
//!
//! Sources: PLDI'06 (stack walk, bursting), TACO'15 (CBS, antibias), CC-Map (self-tuning interval), the estimator is ours.

pub mod antibias;
mod bursting;
mod cbs;
mod estimator;
pub mod interval;
pub mod parameters;
pub mod random;
pub mod signature;

pub use antibias::{Antibias, Correction};
pub use estimator::Start;
pub use interval::Interval;
pub use parameters::{Length, Mode, ParameterError, Parameters, Trigger};
pub use random::Random;
pub use signature::{History, Signature};

use crate::clock::Rate;
use crate::counters::Counters;
use crate::sample::Moment;
use crate::tuning;
use bursting::{Adaptive, Bursting};
use cbs::Cbs;
use estimator::{Counted, Timed};

/// A timer tick as the thread finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tick {
    /// When it was raised, in cycles.
    pub raised: u64,
    /// The call counter that the density is taken from, as it stands now: the processor's retired calls, or [`Moment::calls`].
    pub counted: u64,
}

/// What ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Only the next tick.
    Tick,
    /// The so-manieth call from here, or a tick before it. 1 is the next one; with 0 a burst is to begin before that, which is its first call then.
    After(u64),
}

/// How long to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Span {
    /// Until so many calls are recorded.
    Calls(u64),
    /// For so many cycles.
    Cycles(u64),
}

/// What to do at this point of the program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Action {
    /// Go on until then.
    Wait(Wake),
    /// Take a sample of the call on top of the stack.
    Top {
        /// What it counts for, in calls.
        weight: f64,
        /// Then go on until then.
        next: Wake,
    },
    /// Walk the stack, then record what follows.
    Burst(Span),
}

/// What a burst counts for, and what comes after it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ended {
    /// Of each call of the burst; in windows as compared with the window's others, which stand for [`EndedWindow::told`] together.
    pub weight: f64,
    /// What to do now.
    pub next: Action,
}

/// What a window leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EndedWindow {
    /// Calls for which its samples stand together: those that were counted, but where a thread has made few: then it is what bursts stand for, which are to tell of threads without any, too. If there is no sample, a later window's.
    pub told: f64,
    /// What to wait for now.
    pub next: Wake,
}

/// Where a sampler wants to be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// At calls only.
    Call,
    /// At the first yield point of any kind after a tick.
    Any,
}

/// What all machines share.
#[derive(Clone, Debug)]
struct Common {
    random: Random,
    counters: Counters,
    /// The number of the tick or burst that samples now belong to.
    tick: u64,
    /// Calls until which no stack is walked again, since those of the last tick were deep.
    rests_until: u64,
    /// What the walks of a tick cost that has more to come, in calls.
    owed: u64,
}

impl Common {
    fn new(random: Random) -> Common {
        Common { random, counters: Counters::default(), tick: 0, rests_until: 0, owed: 0 }
    }
}

#[derive(Clone, Debug)]
enum Machine {
    Exhaustive,
    Cbs(Cbs),
    Bursting(Bursting),
    Counted(Counted),
    Timed(Timed),
}

/// The sampler of one thread.
#[derive(Clone, Debug)]
pub struct Sampler {
    machine: Machine,
    place: Place,
    common: Common,
    /// The part of the program's calls that [`Moment::calls`] counts.
    counted_share: f64,
}

impl Sampler {
    /// `clock`: of the [moments](Moment) and ticks that it will be told. The thread's `random` should be a [stream](Random::stream) of its own.
    ///
    /// # Errors
    /// If parameters are out of range.
    pub fn new(parameters: &Parameters, clock: Rate, random: Random) -> Result<Sampler, ParameterError> {
        parameters.check()?;
        let span = |length| match length {
            Length::Time(time) => Span::Cycles(clock.cycles(time).max(1)),
            Length::Calls(calls) => Span::Calls(calls),
        };
        let machine = match parameters.mode {
            Mode::Exhaustive => Machine::Exhaustive,
            Mode::StackWalk { antibias } => Machine::Cbs(Cbs::new(1, 1, antibias)),
            Mode::Cbs { samples, stride, antibias } => Machine::Cbs(Cbs::new(samples, stride, antibias)),
            Mode::StaticBursting { length } => Machine::Bursting(Bursting::new(span(length), None)),
            Mode::AdaptiveBursting { length, history, re_enable } => {
                Machine::Bursting(Bursting::new(span(length), Some(Adaptive { history: History::new(history), re_enable })))
            }
            Mode::Estimator { trigger: Trigger::Timer(start), burst } => Machine::Timed(Timed::new(burst, start)),
            Mode::Estimator { trigger: Trigger::Calls { mean }, burst } => Machine::Counted(Counted::new(mean, burst)),
        };
        let place = if matches!(parameters.mode, Mode::StackWalk { .. }) { Place::Any } else { Place::Call };
        Ok(Sampler { machine, place, common: Common::new(random), counted_share: 1.0 })
    }

    /// A sampler with the same parameters for another thread; this one must not have been used yet.
    pub fn for_thread(&self, random: Random) -> Sampler {
        Sampler { machine: self.machine.clone(), common: Common::new(random), ..*self }
    }

    /// The calls of the thread will be counted in windows, and each will be [ended](Sampler::end_window), the last one when the thread ends. To be called before it [starts](Sampler::start).
    pub fn use_windows(&mut self) {
        if let Machine::Counted(counted) = &mut self.machine {
            counted.use_windows();
        }
    }

    /// Where the sampler wants to be asked.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The thread begins, and has made no call yet.
    pub fn start(&mut self, at: Moment) -> Action {
        match &mut self.machine {
            Machine::Exhaustive => self.common.next_chunk(),
            Machine::Counted(counted) => counted.start(at, &mut self.common),
            Machine::Cbs(_) | Machine::Bursting(_) | Machine::Timed(_) => Action::Wait(Wake::Tick),
        }
    }

    /// The thread stands at a yield point, not in a burst. `tick`: the one that waits for the thread, if any; it is spent by this. `signature` is asked
    /// only where the mode needs it, and walks the stack.
    pub fn poll(&mut self, at: Moment, tick: Option<Tick>, signature: impl FnOnce() -> u32) -> Action {
        let common = &mut self.common;
        common.counters.ticks += u64::from(tick.is_some());
        if at.calls < common.rests_until {
            common.counters.ticks_unaffordable += u64::from(tick.is_some());
            return Action::Wait(Wake::Tick);
        }
        match &mut self.machine {
            Machine::Exhaustive => common.next_chunk(),
            Machine::Cbs(cbs) => cbs.poll(at, tick, common),
            Machine::Bursting(bursting) => bursting.poll(tick, signature, common),
            Machine::Counted(counted) => counted.poll(at, common),
            Machine::Timed(timed) => timed.poll(at, tick, common),
        }
    }

    /// A burst is over, in which so many calls were recorded. It may end before its span does, as when the thread ends.
    pub fn end_burst(&mut self, at: Moment, calls: u64) -> Ended {
        let common = &mut self.common;
        common.counters.bursts += 1;
        common.counters.burst_calls += calls;
        match &mut self.machine {
            Machine::Bursting(bursting) => bursting.end_burst(),
            Machine::Counted(counted) => counted.end_burst(at, calls, common),
            Machine::Timed(timed) => timed.end_burst(calls),
            Machine::Exhaustive => Ended { weight: 1.0, next: common.next_chunk() },
            // CBS begins no bursts: a driver that ends one all the same gets nothing for it.
            Machine::Cbs(_) => Ended { weight: 0.0, next: Action::Wait(Wake::Tick) },
        }
    }

    /// A stack of so many frames was walked, for a sample or a signature. Deep stacks are walked less often, so that time spent on walks stays a small share of any program's.
    pub fn walked(&mut self, at: Moment, frames: u64) {
        let price = frames.saturating_sub(tuning::WALK_FREE).saturating_mul(tuning::WALK_CALLS);
        match &mut self.machine {
            Machine::Exhaustive => {}
            Machine::Counted(counted) => counted.walked((price as f64 * self.counted_share) as u64),
            // All samples of a tick are taken, with its weight, before the rest.
            Machine::Cbs(cbs) if cbs.is_in_tick() => self.common.owed = self.common.owed.saturating_add(price),
            Machine::Cbs(_) | Machine::Bursting(_) | Machine::Timed(_) => {
                let owed = price.saturating_add(std::mem::take(&mut self.common.owed));
                self.common.rests_until = if owed > 0 { at.calls.saturating_add(owed) } else { 0 };
            }
        }
    }

    /// A window is over, or a part of one, outside of which calls are neither counted nor sampled: what it has counted, and for how many times as many it stands. The driver shares
    /// [`EndedWindow::told`] out and multiplies weights by what the window stands for in the end. `burst`: calls in a burst of the next one.
    pub fn end_window(&mut self, at: Moment, calls: u64, stands_for: f64, burst: u32) -> EndedWindow {
        self.counted_share = 1.0 / stands_for;
        match &mut self.machine {
            Machine::Counted(counted) => counted.end_window(at, calls, stands_for > 1.0, burst, &mut self.common.random),
            _ => EndedWindow { told: calls as f64, next: Wake::Tick },
        }
    }

    /// A window begins, before which no calls were counted, in which about so many calls are expected if the last one was longer. When to ask next.
    pub fn begin_brief_window(&mut self, at: Moment, calls: u64) -> Wake {
        match &mut self.machine {
            Machine::Counted(counted) => counted.begin_brief_window(at, calls, &mut self.common.random),
            _ => Wake::Tick,
        }
    }

    /// The number that samples taken now carry, for [`Sample::tick`](crate::sample::Sample::tick).
    pub fn tick(&self) -> u64 {
        self.common.tick
    }

    /// What this sampler has counted: ticks, bursts, skipped and re-enabled ones.
    pub fn counters(&self) -> &Counters {
        &self.common.counters
    }
}

impl Common {
    fn next_chunk(&mut self) -> Action {
        self.tick += 1;
        Action::Burst(Span::Calls(tuning::EXHAUSTIVE_CHUNK))
    }
}
