//! Which samplers are biased, and how: each bias that a paper describes is shown on a program made for it, with the sampler that has it and those that
//! have not. Bounds are about four standard deviations of what an unbiased sampler gives, and far from what a biased one gives.

mod common;

use common::{Edges, Script, mean_profile, profile, stamped};
use profiler::clock::Rate;
use profiler::event::Event;
use profiler::ids::ThreadId;
use profiler::sample::Moment;
use profiler::samplers::{
    Action, Antibias, Correction, Length, Mode, Parameters, Random, Sampler, Start, Tick, Trigger, signature::Signature,
};
use std::time::Duration;

type Trace = Vec<(ThreadId, Event, u64)>;

fn every(parameters: Parameters, interval: Duration) -> Parameters {
    Parameters { interval, ..parameters }
}

fn counted(mean: u64, burst: u32) -> Parameters {
    Parameters::new(Mode::Estimator { trigger: Trigger::Calls { mean }, burst })
}

fn timed(start: Start, burst: u32) -> Parameters {
    Parameters::new(Mode::Estimator { trigger: Trigger::Timer(start), burst })
}

fn near(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "found {found}, expected {expected} ± {within}");
}

/// TACO'15 Figure 1: as many calls of edge 1 as of edge 2, but these take twice as long.
#[test]
fn call_density() {
    const CALLS: usize = 100_000;
    let mut script = Script::default();
    script.call(0).leaves(1, CALLS, 1000).leaves(2, CALLS, 2000).ret();
    let trace = script.events;
    let share = |parameters| profile(stamped(every(parameters, Duration::from_micros(100)), 1), &trace).share(1);
    let cbs = |correction| Parameters::cbs(1, 1, Antibias::with(correction));

    near(share(cbs(Correction::Off)), 1.0 / 3.0, 0.02);
    near(share(Parameters::stack_walk()), 1.0 / 3.0, 0.02);
    near(share(Parameters::cbs(8, 2, Antibias::OFF)), 1.0 / 3.0, 0.02);
    near(share(cbs(Correction::Density)), 0.5, 0.03);
    near(share(Parameters::cbs(8, 2, Antibias::with(Correction::Density))), 0.5, 0.03);
    near(share(timed(Start::Random, 8)), 0.5, 0.03);
    near(share(timed(Start::Tick, 8)), 0.5, 0.03);
    near(share(counted(100, 8)), 0.5, 0.02);
}

/// TACO'15 Figure 3: a thread waits for a lock, then makes 50 calls of edge 1 and 50 of edge 2. Nearly every tick falls into the wait, so the sample
/// is the first call of edge 1. A tick in the wait has a latency of half a million cycles in the mean.
#[test]
fn sampling_latency() {
    let mut script = Script::default();
    script.call(0);
    for _ in 0..4000 {
        script.pass(1_000_000).leaves(1, 50, 1000).leaves(2, 50, 1000);
    }
    let trace = script.events;
    let share = |parameters| {
        let edges = profile(stamped(every(parameters, Duration::from_micros(1500)), 1), &trace);
        edges.0[1] / (edges.0[1] + edges.0[2])
    };
    let cbs = |samples, correction| Parameters::cbs(samples, 2, Antibias::with(correction));

    for samples in [1, 8] {
        let uncorrected = share(cbs(samples, Correction::Off));
        assert!(uncorrected > 0.93, "{uncorrected}");
        near(share(cbs(samples, Correction::Density)), uncorrected, 0.02);
        // By the formula, weighted over the latencies and the calls between ticks that this loop gives, 0.56: far better, and not quite right.
        near(share(cbs(samples, Correction::DensityAndLatency)), 0.57, 0.09);
    }
    near(share(counted(100, 8)), 0.5, 0.032);
    near(share(timed(Start::Random, 8)), 0.5, 0.05);
    assert!(share(timed(Start::Tick, 8)) > 0.93, "the exact weight alone does not move the sample");
}

/// A loop that runs in step with the timer: 500 calls of edge 1, 500 of edge 2, a tick always before the first.
#[test]
fn alignment() {
    let mut script = Script::default();
    script.call(0);
    for _ in 0..1000 {
        script.leaves(1, 500, 100).leaves(2, 500, 100);
    }
    let trace = script.events;
    let aligned = |parameters| Parameters { interval: Duration::from_micros(100), jitter: 0.0, ..parameters };
    let share = |parameters| profile(stamped(aligned(parameters), 1), &trace).share(1);

    for correction in [Correction::Off, Correction::Density, Correction::DensityAndLatency] {
        let biased = share(Parameters::cbs(8, 2, Antibias::with(correction)));
        assert!(!(0.01..0.99).contains(&biased), "{biased}");
    }
    let biased = share(timed(Start::Tick, 8));
    assert!(!(0.01..0.99).contains(&biased), "{biased}");
    // With 1000 bursts a standard deviation of 1.6 %. Were a burst to count for the calls since the last burst rather than since the last tick,
    // the early half would get 3/8.
    near(share(timed(Start::Random, 8)), 0.5, 0.064);
    near(share(counted(1000, 8)), 0.5, 0.064);
    // Jitter that adds up breaks the step, too.
    let jittered = Parameters { interval: Duration::from_micros(100), jitter: 0.5, ..Parameters::cbs(1, 1, Antibias::OFF) };
    near(profile(stamped(jittered, 1), &trace).share(1), 0.5, 0.1);
}

/// PLDI'06 section 4.2: a stack walk sees where time goes, not what is called.
#[test]
fn stack_walks_count_time() {
    let mut script = Script::default();
    script.call(0);
    for _ in 0..20_000 {
        script.leaves(1, 9, 100).leaves(2, 1, 9_100);
    }
    let trace = script.events;
    let share = |parameters| profile(stamped(every(parameters, Duration::from_micros(100)), 1), &trace).share(2);
    near(share(Parameters::stack_walk()), 0.91, 0.03);
    near(share(counted(100, 8)), 0.1, 0.01);
}

/// Phases far shorter than the interval: dense, sparse and rare calls, 60 to 20 to 1.
fn short_phases() -> Trace {
    let mut script = Script::default();
    script.call(0);
    for _ in 0..1500 {
        script.leaves(1, 60, 10).leaves(2, 20, 100).leaves(3, 1, 500);
    }
    script.events
}

/// About 19 rounds of the phases.
const INTERVAL: Duration = Duration::from_micros(60);

#[test]
fn the_estimators_are_unbiased_edge_by_edge() {
    const SEEDS: u64 = 25;
    let trace = short_phases();
    let exact = Edges::exact(&trace);
    let worst = |parameters| {
        let mean = mean_profile(stamped(every(parameters, INTERVAL), 0), &trace, SEEDS);
        (1..4).map(|index| (mean.share(index) - exact.share(index)).abs()).fold(0.0, f64::max)
    };
    for parameters in [counted(500, 8), counted(500, 1), counted(300, 64), timed(Start::Random, 8), timed(Start::Random, 1)] {
        let worst = worst(parameters);
        assert!(worst < 0.04, "{parameters:?} is off by {worst}");
    }
    let biased = [
        Parameters::cbs(1, 1, Antibias::OFF),
        Parameters::cbs(1, 1, Antibias::with(Correction::DensityAndLatency)),
        timed(Start::Tick, 8),
        Parameters::new(Mode::StaticBursting { length: Length::Calls(8) }),
    ];
    for parameters in biased {
        let worst = worst(parameters);
        assert!(worst > 0.2, "{parameters:?} is off by {worst} only");
    }
}

#[test]
fn the_estimators_weights_add_up_to_the_calls_made() {
    let trace = short_phases();
    let calls = Edges::exact(&trace).total();
    // The timer leaves out the calls since the last tick, and those of the tick before: 2 % here.
    let cases =
        [(counted(500, 8), 0.01), (counted(500, 1), 0.01), (counted(5_000, 64), 0.02), (every(timed(Start::Random, 8), INTERVAL), 0.04)];
    for (parameters, within) in cases {
        let total = mean_profile(stamped(parameters, 0), &trace, 20).total();
        near(total / calls, 1.0, within);
    }
}

/// Many threads, each far shorter than the mean: few are sampled, and count for the others.
#[test]
fn short_threads_are_represented() {
    let mut script = Script::default();
    for thread in 0..2000 {
        script.thread = thread;
        script.leaves(1, 30, 10).leaves(2, 20, 10);
    }
    let mean = mean_profile(stamped(counted(1000, 4), 0), &script.events, 20);
    // 2000 sampled threads: 2 % of standard deviation for the total, 1 % for the share.
    near(mean.total(), 100_000.0, 9_000.0);
    near(mean.share(1), 0.6, 0.05);
}

/// Ticks that find one stack in nine cases of ten, another in the tenth; a burst counts what stack it began with.
fn adaptive_share(re_enable: Option<f64>) -> (f64, f64) {
    const TICKS: u32 = 200_000;
    let mode = Mode::AdaptiveBursting { length: Length::Calls(1), history: 64, re_enable };
    let mut sampler = Sampler::new(&Parameters::new(mode), Rate::NANOSECONDS, Random::new(7)).unwrap();
    let (mut random, mut weights) = (Random::new(8), [0.0; 2]);
    for call in 0..u64::from(TICKS) {
        let stack = usize::from(random.chance(0.1));
        let signature = || {
            let mut signature = Signature::default();
            signature.frame(stack as u64);
            signature.finish()
        };
        let at = Moment { cycles: call, calls: call };
        if let Action::Burst(_) = sampler.poll(at, Some(Tick { raised: call, counted: call }), signature) {
            weights[stack] += sampler.end_burst(at, 1).weight;
        }
    }
    ((weights[0] + weights[1]) / f64::from(TICKS), weights[1] / (weights[0] + weights[1]))
}

/// PLDI'06 section 5.3: without re-enablement hot and rare stacks count alike; compensation by 1 / RR gives each its due.
#[test]
fn re_enabled_bursts_count_for_the_skipped() {
    assert_eq!(adaptive_share(None).1, 0.5);
    for ratio in [0.05, 0.2, 1.0] {
        let (total, share) = adaptive_share(Some(ratio));
        near(total, 1.0, 0.04);
        near(share, 0.1, 0.013);
    }
}
