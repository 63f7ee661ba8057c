//! What a sampler brings home: where the thread stood, and what it did from there on.
//!
//! A sample is made on the thread that is profiled and used by whoever owns the structures: nothing in it refers to either.

use crate::event::Event;
use crate::ids::{EdgeId, ThreadId};

/// When something happens to a thread, by the clocks that samplers use.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Moment {
    /// Cycles of some clock that only goes forward: `rdtsc` live, the trace's clock in a replay.
    pub cycles: u64,
    /// Calls that the thread has made.
    pub calls: u64,
}

/// One observation: a stack, and the events that followed it.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// Who was looked at.
    pub thread: ThreadId,
    /// The calls that are open where the sample begins, outermost first.
    pub stack: Vec<EdgeId>,
    /// What was seen there.
    pub observed: Observed,
    /// What each observed call counts for.
    pub weight: f64,
    /// Samples of one tick have one number and are not independent of each other: for error estimates.
    pub tick: u64,
    /// What the tick stands for of something whose total is known: nanoseconds of the thread's time, where calls are counted in windows only; 1 where a tick stands for itself. Above 0, and the same in all samples of the tick.
    pub stands_for: f64,
}

/// What of a sample counts.
#[derive(Clone, PartialEq, Debug)]
pub enum Observed {
    /// The last call on the stack (a stack walk, or a counter-based sample of one call).
    Top,
    /// Each call of a burst, in the context in which it was made. The stack itself counts nothing.
    Burst(Vec<BurstEvent>),
}

impl Observed {
    /// A burst in which nothing was entered unseen.
    pub fn burst(events: impl IntoIterator<Item = Event>) -> Observed {
        Observed::Burst(events.into_iter().map(BurstEvent::from).collect())
    }
}

/// What happens while a burst lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BurstEvent {
    /// A call over the edge, which counts.
    Call(EdgeId),
    /// The thread is found in a function that was called over the edge, but the call itself was not seen: it counts nothing.
    Entry(EdgeId),
    /// The return from the innermost function that was called or entered.
    Return,
}

impl BurstEvent {
    /// The edge of a call that counts.
    pub fn counted(self) -> Option<EdgeId> {
        match self {
            BurstEvent::Call(edge) => Some(edge),
            BurstEvent::Entry(_) | BurstEvent::Return => None,
        }
    }
}

impl From<Event> for BurstEvent {
    fn from(event: Event) -> Self {
        event.edge().map_or(BurstEvent::Return, BurstEvent::Call)
    }
}
