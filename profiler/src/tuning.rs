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

    /// Calls a second up to which all are counted; beyond that, they are counted in windows.
    WINDOW_EXACT: f64 = 16e6, "window-exact", "calls/s", "ours: counting so many costs 0.6 percent, and is worth it: what windows stand for is time, and code that counts may be faster or slower than code that does not (the dense calls of call_density: by an eighth)";
    /// The same once there is optimized code.
    WINDOW_EXACT_OPTIMIZED: f64 = 13e6, "window-exact-optimized", "calls/s", "ours: optimized code that counts has probes in its loops, which may cost more than the counting, and then fewer calls come in a second (bytecode_interpreter, 23e6 without counting and some 17e6 with it, took a third longer for whole iterations); but with 8e6 the dense calls of call_density, 11e6, come in windows, which are off by 6 percent, and with 2e6 the call graph of work_queue overlaps by 83 percent instead of 99";
    /// What windows may take of the time, for a profile that is as sure as it is to be.
    WINDOW_PART: f64 = 0.0007, "window-part", "share of the time", "ours: of programs whose windows take what window-cold says; with 0.001 call graphs overlapped by 98.64 percent, with this by 98.60, with 0.0005 by 98.11, in two runs of three seconds of each program";
    /// Length of a window in which calls are counted.
    WINDOW_LENGTH: u64 = 80_000, "window-length", "ns", "ours: the shorter windows are, the more of them can be paid for, and the more phases of a program are met; with 40 us, most of which were their own bursts and warm-up, half of the calls were told (an Emerald Rapids)";
    /// How far a profile may be off for which just so much is spent; for one that is farther off windows come more often, and the other way round.
    WINDOW_DOUBT: f64 = 0.012, "window-doubt", "1 less the degree of overlap", "ours: somewhat more than half of what the call graph may lack; with 0.01 and window-most higher, too, overlaps differed by less than they do from run to run";
    /// How many times as often they come at least.
    WINDOW_LEAST: f64 = 0.2, "window-least", "times", "ours: a program that changes is still followed, within some tenths of a second; what a window costs may be felt for as long";
    /// How many times as often they come at most.
    WINDOW_MOST: f64 = 2.0, "window-most", "times", "ours: before anything is known, and while a profile is far off";
    /// Longest time between windows.
    WINDOW_GAP: u64 = 100_000_000, "window-gap", "ns", "ours: fifty windows in five seconds";
    /// What a thread is to have run in windows, if it was blocked in one of them, before they stand for anything.
    WINDOW_TOGETHER: u64 = 200_000, "window-together", "ns", "ours: with each window for itself, the threads of lock_latency were told as making 0.55 of their calls, and 48.3 percent at the first of two equal edges";
    /// Length of a window of a program whose calls are all counted.
    WINDOW_TURN: u64 = 4_000_000, "window-turn", "ns", "ours: a phase that calls much is noticed before all of its calls have cost a millisecond, or a few where turns are longer";
    /// How many times as long where calls are few.
    WINDOW_TURNS: f64 = 4.0, "window-turns", "times", "ours: of threads that share a processor with the timer, each look takes tens of microseconds";
    /// Calls from burst to burst where calls are counted in windows, in the mean.
    WINDOW_MEAN: u64 = 4_000, "window-mean", "calls", "ours: about ten bursts in a window of a program that does little but call";
    /// Bursts in a window where that makes them closer.
    WINDOW_BURSTS: u64 = 6, "window-bursts", "bursts", "ours: with window-burst; the shares of the two equal edges of lock_latency have a standard deviation of 1.05 percent over 24 runs of a second each, with three bursts of 32 calls of 2.07";
    /// Bursts in a window after which they come half as often, and again after as many more, up to window-mean.
    WINDOW_MANY: u64 = 24, "window-many", "bursts", "ours: twice those in a usual window; few have more whose bursts are closer than window-mean, but where a program begins to call much more: half of the calls of dense phases behind sparse ones were recorded";
    /// Calls in one of these bursts at least.
    WINDOW_BURST: u32 = 64, "window-burst", "calls", "ours: with window-bursts, see there; recording a call takes a hundredth of what a burst takes besides";
    /// Calls in the longest of these bursts.
    WINDOW_LONGEST: u32 = 512, "window-longest", "calls", "ours: of programs with very many contexts each call that is recorded shows more of them; what these bursts take beyond short ones could not be told from noise";
    /// New contexts a recorded call, beyond which bursts are longer, in proportion.
    WINDOW_NOVELTY: f64 = 0.002, "window-novelty", "contexts a call", "ours: so low that bursts of programs with very many contexts are all of the same length";
    /// Length of a window in which threads leave optimized code for code that counts.
    BESIDE_LENGTH: u64 = 1_000_000, "beside-length", "ns", "ours: a loop of optimized code that was entered before shows nothing of what it has inlined, so most loops must come to their end; code that counts takes three times as long";
    /// Longest time between these windows.
    BESIDE_GAP: u64 = 200_000_000, "beside-gap", "ns", "ours: half a percent of the time is windows, which costs a percent";
    /// The part of the time that the program has run, up to which the next of these windows is put off.
    BESIDE_PART: f64 = 1.0, "beside-part", "share of the time so far", "ours: when the program begins little is optimized, so windows cost little and tell most";
    /// So many times as long between these windows, and from one profile to the next, in a program for which nothing was compiled for long; before, between windows as long as that was.
    BESIDE_SETTLED: u32 = 8, "beside-settled", "times", "ours: an eighth of what windows, organizer and compile thread take of a program that has settled; a change in what its optimized code does is seen within some seconds instead of one";
    /// Calls from burst to burst in these windows, in the mean.
    BESIDE_MEAN: u64 = 500, "beside-mean", "calls", "ours: some bursts in each window";
    /// Calls in one of these bursts.
    BESIDE_BURST: u32 = 32, "beside-burst", "calls", "ours: the compiler asks about many calls, and trusts a profile by how many were recorded";
    /// What counting a call takes, in optimized code for one that was inlined, too.
    COUNT_COST: f64 = 0.15, "count-cost", "ns", "ours: on a Zen 4 the best fit to the exact numbers of calls of the benchmark set on both tiers was 0.1; on an Emerald Rapids programs that count all calls take 0 to 0.2 more a call where optimized, 0.1 to 0.7 in baseline code";
    /// What a window takes from the calls it could have counted: code that was not run just before it.
    WINDOW_WARMUP: f64 = 5e3, "window-warmup", "ns", "ours: found with count-cost on a Zen 4, before any window has told of it";
    /// Longer windows of which what is lost is the median.
    WINDOW_WARMUP_WINDOWS: usize = 32, "window-warmup-windows", "windows", "ours: those of some seconds; those in which a phase begins or ends are to be few";
    /// Calls in the warm part of such a window that say how fast they come.
    WINDOW_PACE_CALLS: u64 = 50, "window-pace-calls", "calls", "ours: the pace is then known to a seventh, and it is one window of many";
    /// After so long code in a window is warm: what it lost before is found by how fast it is from then on.
    WINDOW_MIDDLE: u64 = 100_000, "window-middle", "ns", "ours: on an Emerald Rapids merge_sort calls half as fast as usual after 30 us, and nearly as fast after 70 to 100";
    /// How many times as long as others those windows are that tell how fast warm code is.
    WINDOW_LONGER: u32 = 4, "window-longer", "times", "ours: twice as much is warm as is not";
    /// Of so many windows one is such.
    WINDOW_LONGER_OF: u64 = 8, "window-longer-of", "windows", "ours: some twenty in five seconds; all windows together are three eighths longer for it";
    /// What a thread loses of its own time where it is taken off its processor in a window, and comes back.
    PREEMPTION: f64 = 9e3, "preemption", "ns", "ours: what windows of steady calls lack in which others kept the thread from a processor for 10 to 100 us, with two busy processes beside it; the system counts the switch as the thread's time, and caches have others' data";
    /// How far windows are off besides, all numbers of calls alike.
    WINDOW_SCALE: f64 = 0.05, "window-scale", "share of the calls", "ours: what is left where counting takes next to nothing (bytecode_interpreter and splay: 3 to 8 percent too few); with it two of 34 runs were off by more than two errors";
    /// By how much the calls between windows may be other than one window says, in the mean; of several, that by their number.
    WINDOW_FEW: f64 = 0.5, "window-few", "share of the calls", "ours: of programs that run for a tenth of a second, with two to five windows, the numbers of calls are off by 10 to 40 percent";
    /// What a window takes besides counting: its ticks, and code that was not run just before it.
    WINDOW_COLD: f64 = 15e3, "window-cold", "ns", "ours: by it windows of programs that call little are at least 5 ms apart";

    /// What a call takes in code that does little else.
    CALL_TIME: u64 = 3, "call-time", "ns", "ours: measured on call-heavy samples, baseline tier";

    /// Frames that cost nothing to speak of at any interval.
    WALK_FREE: u64 = 200, "walk-free", "frames", "ours: 0.3 us";
    /// Calls that a program makes for each frame of a stack walk beyond those, before the next walk: about 600 ns for 1.5.
    WALK_CALLS: u64 = 200, "walk-calls", "calls a frame", "ours: walks cost less than 0.3 % however deep stacks are";

    /// Samples after which the self-tuning interval is judged.
    TUNING_SAMPLES: u32 = 1_000, "tuning-samples", "samples", "CC-Map, Tuning Sampling Interval";
    /// Below this share of repetitions the interval shrinks.
    TUNING_FEW: f64 = 0.01, "tuning-few", "share of samples", "CC-Map section 5";
    /// Above this share of repetitions the interval grows.
    TUNING_MANY: f64 = 0.15, "tuning-many", "share of samples", "CC-Map section 5";
    /// Factor by which the interval changes.
    TUNING_FACTOR: f64 = 1.5, "tuning-factor", "1", "ours: the source names none";
    /// The interval never gets shorter than this.
    TUNING_SHORTEST: u64 = 100_000, "tuning-shortest", "ns", "ours: what timers can do";
    /// The interval never gets longer than this.
    TUNING_LONGEST: u64 = 1_000_000_000, "tuning-longest", "ns", "ours: a sample a second still follows a program";

    /// Calls that exhaustive profiling hands over at once.
    EXHAUSTIVE_CHUNK: u64 = 65_536, "exhaustive-chunk", "calls", "ours: fits into the second-level cache";

    /// Callees up to this size are always inlined by policies after Jikes RVM.
    INLINE_TRIVIAL: u32 = 11, "inline-trivial", "instructions", "Jikes RVM, TACO'15 section 4.2";
    /// Callees up to this size are inlined by the dynamic policy where the profile has not seen the call.
    INLINE_UNSEEN: u32 = 23, "inline-unseen", "instructions", "Jikes RVM, TACO'15 section 4.2";
    /// The same for the weakened static heuristics.
    INLINE_UNSEEN_WEAK: u32 = 17, "inline-unseen-weak", "instructions", "TACO'15 section 4.2";
    /// Callees up to this size are inlined where the call is hot.
    INLINE_HOT_SIZE: u32 = 119, "inline-hot-size", "instructions", "Jikes RVM: 20 calls of 6, less 1";
    /// From this share of all calls on, a call is hot; below, the limit grows with the share from twice that of calls that were not seen.
    INLINE_HOT_SHARE: f64 = 0.01, "inline-hot-share", "share of calls", "Jikes RVM";
    /// What a constant argument takes from the callee's size.
    INLINE_CONSTANT_BONUS: f64 = 0.05, "inline-constant-bonus", "share of the size", "Jikes RVM";
    /// What an argument of a known class takes from the callee's size.
    INLINE_CLASS_BONUS: f64 = 0.15, "inline-class-bonus", "share of the size", "Jikes RVM";
    /// What arguments take from the callee's size at most.
    INLINE_LARGEST_BONUS: f64 = 0.4, "inline-largest-bonus", "share of the size", "Jikes RVM";

    /// What an inlined call saves: the call, the return, the prologue with its checks, and values that would be saved around it.
    INLINE_SAVED_CALL: f64 = 10.0, "inline-saved-call", "instructions", "ours: instructions of a call and a prologue of compiled code";
    /// What a constant argument saves besides.
    INLINE_SAVED_CONSTANT: f64 = 2.0, "inline-saved-constant", "instructions", "ours: an operation folded, and the register";
    /// What one saves besides that decides a branch.
    INLINE_SAVED_DECIDING: f64 = 3.0, "inline-saved-deciding", "instructions", "ours: a comparison, a branch, and room for the way that is not taken";
    /// What an object saves that may vanish.
    INLINE_SAVED_FRESH: f64 = 15.0, "inline-saved-fresh", "instructions", "ours: an allocation and some accesses";
    /// What an argument of a known class saves, a closure for one: a virtual call becomes a direct one.
    INLINE_SAVED_CLASS: f64 = 5.0, "inline-saved-class", "instructions", "ours: the loads and the jump of a virtual call";
    /// What a closure saves besides that is called: its body comes in where it is called.
    INLINE_SAVED_CLOSURE: f64 = 10.0, "inline-saved-closure", "instructions", "ours: as a call";
    /// Instructions that go when the callee comes in.
    INLINE_CALL_SIZE: f64 = 8.0, "inline-call-size", "instructions", "ours: as the static policy, a call with its arguments and what is saved around it";
    /// What a further instruction in a small root must save, in instructions for each call that the program makes: it has to be compiled.
    INLINE_WORTH: f64 = 0.0001, "inline-worth", "instructions saved", "ours: at 1 % of all calls ten times Jikes RVM's limit for hot calls, at 0.01 % its limit for small ones";
    /// The same where static rules inline what is small anyway, and the profile adds to that: mostly large callees, whose calls are a small part of what they do.
    INLINE_WORTH_BESIDE: f64 = 0.003, "inline-worth-beside", "instructions saved", "ours: at 10 % of all calls HotSpot's limit for hot ones; with a thirtieth of it recursive_descent is 3 % slower";
    /// Calls each second below which that price rises in proportion, where it is known how long calls were counted: what calls cost is then a small part of the program's time.
    INLINE_CALL_RATE: f64 = 2e7, "inline-call-rate", "calls per second", "ours: what a hundred instructions must save is then 0.2 % of 3e9 instructions a second; at 3e7 it touches programs that call much, while they run baseline code";
    /// Instructions of the root that double this: they fill the cache of instructions and the budget.
    INLINE_PRESSURE: f64 = 200.0, "inline-pressure", "instructions", "ours: as A. Prokopec et al., CGO 2019, whose threshold grows exponentially with the root";

    /// Samples of a context from which its own distribution is used.
    INLINE_CONTEXT_SAMPLES: u64 = 20, "inline-context-samples", "samples", "ours: shares are then sure to a tenth";
    /// The part of a site's calls whose contexts are known, from which contexts are asked of it.
    INLINE_CONTEXTS_KNOWN: f64 = 0.9, "inline-contexts-known", "share of the site", "ours: what has no context, for a full structure, is then no more than what a receiver must have to count";
    /// Samples from which a profile is asked at all.
    INLINE_LEAST_SAMPLES: u64 = 1_000, "inline-least-samples", "samples", "ours: thirty bursts of beside-burst calls, the first milliseconds of a program that calls much";
    /// Standard errors between a call's share and the one at which the decision flips, from which a function is compiled again for it.
    INLINE_SURE: f64 = 2.0, "inline-sure", "standard errors", "ours: one of twenty is then due to chance";
    /// Samples of a call site from which its receivers are known.
    INLINE_GUARD_SAMPLES: u64 = 10, "inline-guard-samples", "samples", "ours: a receiver of 90 % is then not one of 40 %";
    /// A receiver with this share of its site's calls is tested for.
    INLINE_GUARD_SHARE: f64 = 0.4, "inline-guard-share", "share of the site", "Jikes RVM";
    /// Receivers that together have this share of their site's calls are tested for.
    INLINE_GUARD_TOGETHER: f64 = 0.9, "inline-guard-together", "share of the site", "ours: the virtual call behind the tests is then rare";
    /// No receiver with a smaller share of its site's calls is tested for.
    INLINE_GUARD_EACH: f64 = 0.1, "inline-guard-each", "share of the site", "ours: all others pay for the test";
    /// Receivers that are tested for at a site.
    INLINE_GUARD_MOST: u32 = 3, "inline-guard-most", "receivers", "ours: more tests take as long as the virtual call";
    /// No test where the site has a smaller share of all calls.
    INLINE_GUARD_SITE: f64 = 0.0001, "inline-guard-site", "share of calls", "ours: ten instructions of tests must save a thousandth of one";

    /// Nodes of a context structure at most.
    CONTEXT_NODES: u32 = 16_777_216, "context-nodes", "nodes", "ours: 400 MB of a CCT, 30 times the contexts of the largest recorded program";
    /// Calls that contexts of a k-SF and k-CCF reach back.
    K: u32 = 10, "k", "calls", "OOPSLA'12 Figure 11: up to 12 all its structures are smaller than the CCT (of firefox alone, call sites not told apart)";

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
