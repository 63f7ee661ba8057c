//! Every knob of the profiler in one place: name, unit, default and where the default comes from.
//!
//! In: nothing. Out: constants for code, and [`KNOBS`], the same as a table for people and for `--help`.
//! Invariant: a number that somebody could want to change stands here and nowhere else.

/// One number that can be tuned.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Knob {
    /// Lower case, with hyphens.
    pub name: &'static str,
    /// Of the number.
    pub unit: &'static str,
    /// In the unit.
    pub default: f64,
    /// A paper and section, or why we chose it.
    pub source: &'static str,
}

macro_rules! knobs {
    ($($(#[$doc:meta])* $constant:ident: $type:ty = $value:literal, $name:literal, $unit:literal, $source:literal;)*) => {
        $(
            $(#[$doc])*
            #[doc = ""]
            #[doc = concat!("Unit: ", $unit, ". Source: ", $source, ".")]
            pub const $constant: $type = $value;
        )*

        /// All knobs, in the order of this file.
        pub const KNOBS: &[Knob] = &[$(Knob { name: $name, unit: $unit, default: $constant as f64, source: $source }),*];
    };
}

knobs! {
    /// Time between the stack walks and bursts of PLDI'06.
    BURST_INTERVAL: u64 = 10_000_000, "burst-interval", "ns", "PLDI'06 Table 2";
    /// Time between the ticks of CBS.
    CBS_INTERVAL: u64 = 4_000_000, "cbs-interval", "ns", "TACO'15 section 2.2, Jikes RVM";
    /// Time between the ticks of the estimator with a timer.
    ESTIMATOR_INTERVAL: u64 = 200_000, "estimator-interval", "ns", "ours: many short bursts beat few long ones at the same cost";
    /// How far a tick may come before or after its time, as a share of the interval.
    JITTER: f64 = 0.05, "jitter", "share of the interval", "ours: as a sleeping timer thread; keeps ticks out of step with programs";

    /// Samples that CBS takes at a tick.
    CBS_SAMPLES: u32 = 8, "cbs-samples", "samples a tick", "Jikes RVM, TACO'15 section 6";
    /// Calls from one sample of CBS to the next.
    CBS_STRIDE: u32 = 2, "cbs-stride", "calls", "Jikes RVM, TACO'15 section 6";

    /// Length of a burst counted in calls: PLDI'06's 0.2 ms at the 100 million calls a second of compiled code.
    BURST_CALLS: u64 = 20_000, "burst-calls", "calls", "PLDI'06 Table 2 in calls";
    /// Length of a burst in time.
    BURST_TIME: u64 = 200_000, "burst-time", "ns", "PLDI'06 Table 2";
    /// Entries of the table of signatures.
    HISTORY_ENTRIES: u32 = 2_048, "history", "entries", "PLDI'06 Table 2";
    /// Chance that a known signature bursts all the same.
    RE_ENABLE_RATIO: f64 = 0.05, "re-enable", "probability", "PLDI'06 Table 2";

    /// Sampling period that the antibias weight assumes (lambda).
    ANTIBIAS_LAMBDA: f64 = 10_000_000.0, "antibias-lambda", "cycles", "TACO'15 section 3.2";
    /// What a cycle of latency counts against a cycle of the period (alpha).
    ANTIBIAS_ALPHA: f64 = 1_000.0, "antibias-alpha", "1", "TACO'15 section 3.2";

    /// Calls from burst to burst of the estimator, in the mean.
    ESTIMATOR_MEAN: u64 = 10_000, "estimator-mean", "calls", "ours: many short bursts beat few long ones at the same cost";
    /// Calls in one burst of the estimator.
    ESTIMATOR_BURST: u32 = 8, "estimator-burst", "calls", "ours: many short bursts beat few long ones at the same cost";

    /// Time between the ticks of the estimator that counts no calls.
    CLOCK_INTERVAL: u64 = 1_000_000, "clock-interval", "ns", "ours: many times the cost of a tick and its burst";
    /// Calls in one of its bursts.
    CLOCK_BURST: u32 = 64, "clock-burst", "calls", "ours: long enough to tell the program's pace";
    /// The burst begins less than so many calls after its tick, at random.
    CLOCK_SKIP: u64 = 256, "clock-skip", "calls", "ours: more than the period of most loops, and costs a tenth of a percent";
    /// What recording a call takes in compiled code, which is not the program's pace.
    CLOCK_RECORD: u64 = 7, "clock-record", "ns", "ours: between 5 and 9 on call-heavy samples, by the number of calls they really make";

    /// What a call takes in code that does little else.
    CALL_TIME: u64 = 3, "call-time", "ns", "ours: measured on call-heavy samples, baseline tier";

    /// Frames that cost nothing to speak of at any interval.
    WALK_FREE: u64 = 200, "walk-free", "frames", "ours: 0.3 us";
    /// Calls that a program makes for each frame of a stack walk beyond those, before the next walk: about 600 ns for 1.5.
    WALK_CALLS: u64 = 200, "walk-calls", "calls a frame", "ours: walks cost less than 0.3 % however deep stacks are";

    /// Samples after which the self-tuning interval is judged.
    TUNING_SAMPLES: u32 = 1_000, "tuning-samples", "samples", "CC-Map section 3.1.4";
    /// Below this share of repetitions the interval shrinks.
    TUNING_FEW: f64 = 0.01, "tuning-few", "share of samples", "CC-Map section 3.1.4";
    /// Above this share of repetitions the interval grows.
    TUNING_MANY: f64 = 0.15, "tuning-many", "share of samples", "CC-Map section 3.1.4";
    /// Factor by which the interval changes.
    TUNING_FACTOR: f64 = 1.5, "tuning-factor", "1", "ours: the source names none";
    /// The interval never gets shorter than this.
    TUNING_SHORTEST: u64 = 100_000, "tuning-shortest", "ns", "ours: what timers can do";
    /// The interval never gets longer than this.
    TUNING_LONGEST: u64 = 1_000_000_000, "tuning-longest", "ns", "ours: a sample a second still follows a program";

    /// Calls that exhaustive profiling hands over at once.
    EXHAUSTIVE_CHUNK: u64 = 65_536, "exhaustive-chunk", "calls", "ours: fits into the second-level cache";

    /// Nodes of a context structure at most.
    CONTEXT_NODES: u32 = 16_777_216, "context-nodes", "nodes", "ours: 400 MB of a CCT, 30 times the contexts of the largest recorded program";
    /// Calls that contexts of a k-SF and k-CCF reach back.
    K: u32 = 10, "k", "calls", "OOPSLA'12 Figure 11: up to 12 all its structures are smaller than the CCT";

    /// Modelled cost of a call in a burst.
    COST_CALL: f64 = 20.0, "cost-call", "ns", "ours: what this costs a program that runs 100 million calls a second";
    /// Modelled cost of a stack walk without its frames.
    COST_WALK: f64 = 30.0, "cost-walk", "ns", "ours: what this costs a program that runs 100 million calls a second";
    /// Modelled cost of a frame of a walk.
    COST_FRAME: f64 = 1.5, "cost-frame", "ns", "ours: what this costs a program that runs 100 million calls a second";
    /// Modelled cost of a timer tick.
    COST_TICK: f64 = 150.0, "cost-tick", "ns", "ours: what this costs a program that runs 100 million calls a second";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_says_what_it_is_and_has_a_name_of_its_own() {
        let mut names: Vec<&str> = KNOBS.iter().map(|knob| knob.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KNOBS.len());
        for knob in KNOBS {
            assert!(!knob.unit.is_empty() && !knob.source.is_empty() && knob.default > 0.0, "{}", knob.name);
        }
    }
}
