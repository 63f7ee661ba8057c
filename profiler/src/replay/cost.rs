//! What profiling would have cost: a model with a price for each thing that is done.
//!
//! In: counters of a replay. Out: nanoseconds, and the share of the run.

use crate::counters::Counters;
use crate::tuning;

/// Prices, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// A call recorded in a burst, with its return.
    pub call: f64,
    /// A stack walk without its frames, whether for a sample or for a signature.
    pub walk: f64,
    /// A frame of a walk.
    pub frame: f64,
    /// A tick that a thread notices. Countdowns of calls that fire cost nothing of their own.
    pub tick: f64,
}

impl Default for Cost {
    fn default() -> Cost {
        Cost { call: tuning::COST_CALL, walk: tuning::COST_WALK, frame: tuning::COST_FRAME, tick: tuning::COST_TICK }
    }
}

impl Cost {
    /// Nanoseconds for all that was counted.
    pub fn of(&self, counters: &Counters) -> f64 {
        let of = |count: u64, price: f64| count as f64 * price;
        of(counters.burst_calls, self.call)
            + of(counters.walks, self.walk)
            + of(counters.frames, self.frame)
            + of(counters.ticks, self.tick)
    }
}

/// What a replay was like.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Summary {
    /// Of all threads together.
    pub counters: Counters,
    /// How long the run was, in cycles: from the first thread's start to the last one's end where events have stamps; else what all threads have run, as if one after the other.
    pub cycles: u64,
    /// That had events.
    pub threads: usize,
    /// [`Summary::cycles`] in nanoseconds.
    pub nanoseconds: f64,
    /// How long all threads together have lived, in nanoseconds.
    pub lived: f64,
    /// Modelled cost of profiling, in nanoseconds, of all threads together.
    pub cost: f64,
}

impl Summary {
    /// The cost as a share of the time that the threads have lived: 0.01 is 1 %. 0 for a run that took no time.
    pub fn share(&self) -> f64 {
        if self.lived > 0.0 { self.cost / self.lived } else { 0.0 }
    }
}
