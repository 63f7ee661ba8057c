//! A replay that jumps over quiet events takes the samples of one that sees all of them, at the same cost.

mod common;

use common::{random_trace, stamped};
use profiler::event::Event;
use profiler::ids::{EdgeId, ThreadId};
use profiler::replay::{Replay, Summary};
use profiler::sample::{Moment, Sample};
use profiler::samplers::{Antibias, Correction, Length, Mode, Parameters, Start, Trigger};
use std::time::Duration;

/// Short intervals, so that much happens in a short trace.
fn modes() -> Vec<Mode> {
    let antibias = Antibias::with(Correction::DensityAndLatency);
    let adaptive = |length, re_enable| Mode::AdaptiveBursting { length, history: 16, re_enable };
    vec![
        Mode::Exhaustive,
        Mode::StackWalk { antibias: Antibias::OFF },
        Mode::Cbs { samples: 3, stride: 4, antibias },
        Mode::StaticBursting { length: Length::Time(Duration::from_nanos(300)) },
        adaptive(Length::Calls(5), None),
        adaptive(Length::Calls(5), Some(0.3)),
        Mode::Estimator { trigger: Trigger::Timer(Start::Random), burst: 3 },
        Mode::Estimator { trigger: Trigger::Calls { mean: 50 }, burst: 4 },
        Mode::Estimator { trigger: Trigger::Calls { mean: 50 }, burst: 1 },
    ]
}

/// Two threads, one after the other, without returns that have no call.
fn trace(seed: u64) -> Vec<(ThreadId, Event, u64)> {
    let mut depth = [0u32; 2];
    let mut events = random_trace(seed, 20_000, 2);
    events.retain(|&(thread, event, _)| {
        let depth = &mut depth[thread.as_u32() as usize];
        let matched = event != Event::RETURN || *depth > 0;
        *depth = if event == Event::RETURN { depth.saturating_sub(1) } else { *depth + 1 };
        matched
    });
    events.sort_by_key(|&(thread, ..)| thread);
    events
}

/// What one event does to a thread.
fn pass(stack: &mut Vec<EdgeId>, at: &mut Moment, event: Event, stamp: u64) {
    at.cycles = stamp;
    match event.edge() {
        Some(edge) => {
            stack.push(edge);
            at.calls += 1;
        }
        None => drop(stack.pop()),
    }
}

/// Summary, samples, and events that were jumped over.
fn replayed(parameters: Parameters, trace: &[(ThreadId, Event, u64)], jumps: bool) -> (Summary, Vec<Sample>, usize) {
    let mut replay = Replay::new(stamped(parameters, 3)).expect("good parameters");
    let (mut samples, mut jumped) = (Vec::new(), 0);
    let mut sink = |sample: &Sample| samples.push(sample.clone());
    for thread in trace.chunk_by(|a, b| a.0 == b.0) {
        let (mut stack, mut at, mut next) = (Vec::new(), Moment::default(), 0);
        while let Some(&(id, event, stamp)) = thread.get(next) {
            let quiet = if jumps && next > 0 { replay.quiet() } else { None };
            let is_quiet = |at: &Moment, event: Event, stamp: u64| {
                quiet.is_some_and(|quiet| stamp < quiet.cycles && (event == Event::RETURN || at.calls + 1 < quiet.calls))
            };
            let before = next;
            while let Some(&(_, event, stamp)) = thread.get(next).filter(|&&(_, event, stamp)| is_quiet(&at, event, stamp)) {
                pass(&mut stack, &mut at, event, stamp);
                next += 1;
            }
            if next > before {
                replay.jump(at, stack.iter().copied());
                jumped += next - before;
                continue;
            }
            replay.event(id, event, stamp, &mut sink);
            pass(&mut stack, &mut at, event, stamp);
            next += 1;
        }
    }
    let mut summary = replay.finish(&mut sink);
    summary.counters.repetitions = 0;
    (summary, samples, jumped)
}

#[test]
fn jumping_over_quiet_events_changes_nothing() {
    for mode in modes() {
        let parameters = Parameters { interval: Duration::from_nanos(2_000), ..Parameters::new(mode) };
        for seed in 0..5 {
            let trace = trace(seed);
            let (summary, samples, _) = replayed(parameters, &trace, false);
            let (jumping_summary, jumping_samples, jumped) = replayed(parameters, &trace, true);
            assert!(samples.len() > 10 || mode == Mode::Exhaustive, "{mode:?}: {} samples", samples.len());
            assert_eq!(summary, jumping_summary, "{mode:?}, seed {seed}");
            assert!(samples == jumping_samples, "{mode:?}, seed {seed}");
            assert!(jumped > trace.len() / 4 || mode == Mode::Exhaustive, "{mode:?} jumped over {jumped} events");
        }
    }
}

#[test]
fn a_self_tuning_interval_is_never_quiet() {
    let parameters = Parameters { self_tuning: true, ..Parameters::stack_walk() };
    let (_, _, jumped) = replayed(parameters, &trace(1), true);
    assert_eq!(jumped, 0);
}
