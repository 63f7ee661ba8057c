//! A run once more, under any sampler: what a profile would have been, and what it would have cost.
//!
//! In: the calls and returns of each thread, in order, with time stamps or without. Out: the [`Sample`]s that the sampler takes, handed to a sink as they
//! are made; counters; and the modelled cost of profiling.
//!
//! Invariants: the same input and seed give the same samples, whatever the order in which threads' events are mixed (but for a self-tuning interval, which
//! all threads share); nothing recurses, and an event costs constant time but for walks, which copy the stack.
//!
//! ```
//! use profiler::{event::Event, ids::{EdgeId, ThreadId}, replay::{Options, Replay}, samplers::Parameters};
//!
//! // A loop that calls edge 0 a million times.
//! let call = Event::call(EdgeId::from_u32(0));
//! let trace = std::iter::repeat_n([call, Event::RETURN], 1_000_000).flatten();
//! let mut calls = 0.0;
//! let options = Options::new(Parameters::estimator(), 42);
//! let summary = Replay::run(options, trace.map(|event| (ThreadId::from_u32(0), event, 0)), |sample| {
//!     calls += 8.0 * sample.weight; // bursts of 8 calls
//! })?;
//! assert!((calls / 1e6 - 1.0).abs() < 0.05);
//! assert!(summary.share() < 0.005); // half a percent of the run
//! # Ok::<(), profiler::samplers::ParameterError>(())
//! ```

mod cost;
mod thread;

pub use cost::{Cost, Summary};
pub use thread::Quiet;

use crate::clock::{Clock, Rate};
use crate::counters::Counters;
use crate::event::Event;
use crate::ids::{EdgeId, ThreadId};
use crate::sample::{Moment, Sample};
use crate::samplers::{Interval, ParameterError, Parameters, Random, Sampler};
use rustc_hash::FxHashMap;
use thread::Thread;

/// Where time comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Time {
    /// Each event's own stamp, in cycles. A stamp below the thread's last one counts as that.
    Stamps,
    /// So many cycles a call with its return, half of them each; stamps are ignored, and each thread starts at 0.
    PerCall(u64),
}

/// How to replay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Which sampler.
    pub parameters: Parameters,
    /// Where time comes from.
    pub time: Time,
    /// Of the stamps. It must have a [rate](Clock::rate).
    pub clock: Clock,
    /// Prices for the modelled cost.
    pub cost: Cost,
    /// Of everything random.
    pub seed: u64,
}

impl Options {
    /// 100 million calls a second, as compiled code makes them, by a clock of nanoseconds.
    pub fn new(parameters: Parameters, seed: u64) -> Options {
        Options { parameters, time: Time::PerCall(10), clock: Clock::Nanoseconds, cost: Cost::default(), seed }
    }
}

/// What there is to tell of threads together.
#[derive(Clone, Copy, Default)]
struct Lives {
    counters: Counters,
    threads: usize,
    /// From the first start to the last end, if there was a thread, in cycles.
    span: Option<(u64, u64)>,
    /// The sum of their lives, in cycles.
    lived: u64,
}

impl Lives {
    fn add(&mut self, thread: &Thread) {
        let life = thread.life();
        self.counters.merge(&thread.counters());
        self.threads += 1;
        self.span = Some(self.span.map_or((life.start, life.end), |(start, end)| (start.min(life.start), end.max(life.end))));
        self.lived = self.lived.saturating_add(life.end - life.start);
    }
}

/// A run that is being replayed.
pub struct Replay {
    options: Options,
    rate: Rate,
    /// What threads' samplers are copied from.
    sampler: Sampler,
    /// How long to the next tick: for all threads.
    interval: Interval,
    /// Those that have not ended.
    threads: Vec<Thread>,
    indices: FxHashMap<ThreadId, usize>,
    ended: Lives,
    /// The thread of the last event, and its index.
    last: Option<(ThreadId, usize)>,
}

impl Replay {
    /// # Errors
    /// If parameters are out of range, or the clock does not measure time.
    pub fn new(options: Options) -> Result<Replay, ParameterError> {
        let rate = options.clock.rate().ok_or(ParameterError::Clock(options.clock))?;
        let sampler = Sampler::new(&options.parameters, rate, Random::new(options.seed))?;
        let Parameters { interval, jitter, self_tuning, .. } = options.parameters;
        let interval = Interval::new(interval, jitter, self_tuning, rate);
        Ok(Replay {
            options,
            rate,
            sampler,
            interval,
            threads: Vec::new(),
            indices: FxHashMap::default(),
            ended: Lives::default(),
            last: None,
        })
    }

    /// All events of a run at once.
    ///
    /// # Errors
    /// As [`Replay::new`].
    pub fn run(
        options: Options,
        events: impl IntoIterator<Item = (ThreadId, Event, u64)>,
        mut sink: impl FnMut(&Sample),
    ) -> Result<Summary, ParameterError> {
        let mut replay = Replay::new(options)?;
        for (thread, event, stamp) in events {
            replay.event(thread, event, stamp, &mut sink);
        }
        Ok(replay.finish(&mut sink))
    }

    /// The thread starts. Its time counts from here; without this, from its first event.
    pub fn start(&mut self, thread: ThreadId, stamp: u64, sink: &mut impl FnMut(&Sample)) {
        let index = self.index(thread, stamp);
        self.threads[index].start(&mut self.interval, sink);
    }

    /// The thread ends, and has no event after that: where time is that of [stamps](Time::Stamps), it went on until now.
    pub fn end(&mut self, thread: ThreadId, stamp: u64, sink: &mut impl FnMut(&Sample)) {
        let index = self.index(thread, stamp);
        let mut ended = self.threads.swap_remove(index);
        ended.end(stamp, self.options.time, &mut self.interval, sink);
        self.ended.add(&ended);
        self.indices.remove(&thread);
        self.last = None;
        if let Some(moved) = self.threads.get(index) {
            self.indices.insert(moved.id(), index);
        }
    }

    /// The thread's next event. Samples go to the sink when they are complete.
    pub fn event(&mut self, thread: ThreadId, event: Event, stamp: u64, sink: &mut impl FnMut(&Sample)) {
        let index = match self.last {
            Some((last, index)) if last == thread => index,
            _ => self.index(thread, stamp),
        };
        self.threads[index].event(event, stamp, self.options.time, &mut self.interval, sink);
    }

    /// How long the events of the thread that had the last one only move its stack; `None` if the next one may matter. They need not be replayed: see [`jump`](Self::jump).
    pub fn quiet(&self) -> Option<Quiet> {
        let (_, index) = self.last?;
        self.threads[index].quiet(&self.interval)
    }

    /// The thread that had the last event has gone on, without events that matter ([`quiet`](Self::quiet)), to where it has made so many calls, at the time of its last event, with these
    /// calls open, outermost first.
    pub fn jump(&mut self, to: Moment, stack: impl IntoIterator<Item = EdgeId>) {
        if let Some((_, index)) = self.last {
            self.threads[index].jump(to, stack.into_iter());
        }
    }

    /// The end of all threads: bursts that are open end here.
    pub fn finish(mut self, sink: &mut impl FnMut(&Sample)) -> Summary {
        self.threads.iter_mut().for_each(|thread| thread.finish(sink));
        self.summary()
    }

    /// Counters and cost up to here.
    pub fn summary(&self) -> Summary {
        let mut lives = self.ended;
        self.threads.iter().for_each(|thread| lives.add(thread));
        let cycles = match self.options.time {
            // Of one clock: lives overlap.
            Time::Stamps => lives.span.map_or(0, |(start, end)| end - start),
            Time::PerCall(_) => lives.lived,
        };
        let nanoseconds = |cycles| self.rate.nanoseconds(cycles) as f64;
        Summary {
            counters: lives.counters,
            cycles,
            threads: lives.threads,
            nanoseconds: nanoseconds(cycles),
            lived: nanoseconds(lives.lived),
            cost: self.options.cost.of(&lives.counters),
        }
    }

    /// The interval of the timer as it is now, in cycles: self-tuning changes it.
    pub fn interval(&self) -> u64 {
        self.interval.cycles()
    }

    fn index(&mut self, id: ThreadId, stamp: u64) -> usize {
        let index = match self.indices.get(&id) {
            Some(&index) => index,
            None => {
                self.threads.push(self.thread(id, stamp));
                self.indices.insert(id, self.threads.len() - 1);
                self.threads.len() - 1
            }
        };
        self.last = Some((id, index));
        index
    }

    fn thread(&self, id: ThreadId, stamp: u64) -> Thread {
        let Options { parameters, time, seed, .. } = self.options;
        let stream = 2 * u64::from(id.as_u32());
        let sampler = self.sampler.for_thread(Random::stream(seed, stream));
        let timer = parameters.has_timer().then(|| Random::stream(seed, stream + 1));
        let start = match time {
            Time::Stamps => stamp,
            Time::PerCall(_) => 0,
        };
        Thread::new(id, sampler, timer, start, &self.interval)
    }
}
