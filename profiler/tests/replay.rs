//! The replay driver: events, time, ticks and samples by hand; the same result for the same seed; nothing that a trace can do breaks it.

mod common;

use common::{Edges, Paths, Script, edge, random_trace, samples, stamped, thread};
use profiler::clock::Clock;
use profiler::event::Event;
use profiler::ids::ThreadId;
use profiler::metrics::{Comparison, OverTime, Strata};
use profiler::replay::{Options, Replay, Time};
use profiler::sample::{Observed, Sample};
use profiler::samplers::{Antibias, Correction, Length, Mode, ParameterError, Parameters, Start, Trigger};
use profiler::structures::CallStructure;
use proptest::prelude::*;
use std::time::Duration;

type Trace = Vec<(ThreadId, Event, u64)>;

/// Ticks every so many cycles of a clock of nanoseconds, exactly.
fn exactly(mode: Mode, interval: u64) -> Parameters {
    Parameters { interval: Duration::from_nanos(interval), jitter: 0.0, ..Parameters::new(mode) }
}

const WALK: Mode = Mode::StackWalk { antibias: Antibias::OFF };

fn bursts(length: Length) -> Mode {
    Mode::StaticBursting { length }
}

fn cbs(samples: u32, stride: u32) -> Mode {
    Mode::Cbs { samples, stride, antibias: Antibias::OFF }
}

#[test]
fn a_sample_of_a_call_is_taken_at_the_first_call_after_the_tick() {
    // Ticks at 100, 200 and 300. The second and the third wait for the same call.
    let mut script = Script::default();
    script.call(0).pass(90).call(1).pass(30).ret().pass(10).call(2).pass(200).ret().call(3);
    let (samples, summary) = samples(stamped(exactly(cbs(1, 1), 100), 0), &script.events);
    let stacks: Vec<_> = samples.iter().map(|sample| sample.stack.clone()).collect();
    assert_eq!(stacks, [[edge(0), edge(2)], [edge(0), edge(3)]]);
    assert_eq!((samples[0].tick, samples[1].tick, samples[1].weight), (1, 2, 1.0));
    let counters = summary.counters;
    assert_eq!((counters.ticks, counters.ticks_merged, counters.samples, counters.calls), (2, 1, 2, 4));
    assert_eq!(summary.cycles, 330);
}

#[test]
fn a_stack_walk_sees_where_the_thread_stands_at_the_tick() {
    let mut script = Script::default();
    script.call(0).pass(90).call(1).pass(30).ret().pass(110).ret().pass(100).call(2);
    let (samples, summary) = samples(stamped(exactly(WALK, 100), 0), &script.events);
    let stacks: Vec<_> = samples.iter().map(|sample| sample.stack.clone()).collect();
    // At 100 in 1, at 200 in 0, at 300 nowhere.
    assert_eq!(stacks, [vec![edge(0), edge(1)], vec![edge(0)]]);
    assert!(samples.iter().all(|sample| sample.observed == Observed::Top));
    assert_eq!((summary.counters.samples_empty, summary.counters.repetitions), (1, 1), "the frame of 0 was seen at 100");
}

#[test]
fn a_burst_of_calls_begins_after_the_call_that_notices_the_tick() {
    let mut script = Script::default();
    script.call(0).pass(100).call(1).call(2).ret().ret().call(3).ret().call(4);
    let (samples, _) = samples(stamped(exactly(bursts(Length::Calls(2)), 100), 0), &script.events);
    let [sample] = samples.as_slice() else { panic!("{samples:?}") };
    assert_eq!(sample.stack, [edge(0), edge(1)]);
    let events = [Event::call(edge(2)), Event::RETURN, Event::RETURN, Event::call(edge(3))];
    assert_eq!(sample.observed, Observed::burst(events));
}

#[test]
fn a_burst_in_time_takes_what_happens_before_its_end_and_is_cut_by_the_end_of_the_thread() {
    let mut script = Script::default();
    script.call(0).pass(100).call(1).pass(19).call(2).pass(1).call(3).pass(90).call(4).pass(5).ret();
    let (samples, summary) = samples(stamped(exactly(bursts(Length::Time(Duration::from_nanos(20))), 100), 0), &script.events);
    let [first] = samples.as_slice() else { panic!("{samples:?}") };
    assert_eq!(first.observed, Observed::burst(vec![Event::call(edge(2))]), "3 comes as the burst is over");
    assert_eq!(first.stack, [edge(0), edge(1)]);
    // The second burst begins at 4 and sees only a return: nothing was called in it.
    assert_eq!(summary.counters.samples_empty, 1);
}

#[test]
fn the_modelled_cost_by_hand() {
    // Two ticks: at call 2 with a stack of two, at call 6 with one of three. Bursts of two calls.
    let mut script = Script::default();
    script.call(0).pass(100).call(1).call(2).ret().call(3).ret().pass(100).call(4).call(5).ret().call(6).pass(800);
    script.ret();
    let (samples, summary) = samples(stamped(exactly(bursts(Length::Calls(2)), 100), 0), &script.events);
    assert_eq!(samples.len(), 2);
    let counters = summary.counters;
    assert_eq!((counters.ticks, counters.walks, counters.frames, counters.burst_calls, counters.bursts), (2, 2, 2 + 3, 4, 2));
    assert_eq!(summary.cost, 2.0 * 150.0 + 2.0 * 30.0 + 5.0 * 1.5 + 4.0 * 20.0);
    assert_eq!((summary.nanoseconds, summary.share()), (1000.0, summary.cost / 1000.0));
}

#[test]
fn a_skipped_burst_costs_its_signature() {
    let mode = Mode::AdaptiveBursting { length: Length::Calls(1), history: 16, re_enable: None };
    let mut script = Script::default();
    for _ in 0..3 {
        script.pass(100).call(0).call(1).ret().ret();
    }
    let (samples, summary) = samples(stamped(exactly(mode, 100), 0), &script.events);
    // The first event stands at 100 already: the thread begins there, and its first tick comes at 200.
    assert_eq!((samples.len(), summary.counters.bursts_skipped, summary.counters.walks, summary.counters.frames), (1, 1, 2, 2));
}

#[test]
fn time_per_call_is_split_between_call_and_return() {
    // Ten cycles a call: a tick at 26 comes between the third call, at 25, and its return, at 30.
    let trace = {
        let mut script = Script::default();
        script.leaves(0, 2, 0).leaves(1, 1, 0).leaves(2, 10, 0);
        script.events
    };
    let options = Options { time: Time::PerCall(10), ..Options::new(exactly(WALK, 26), 0) };
    let (samples, summary) = samples(options, &trace);
    assert_eq!(samples[0].stack, [edge(1)]);
    assert_eq!(summary.cycles, 130);
}

#[test]
fn threads_have_stacks_ticks_and_samplers_of_their_own() {
    let mut script = Script::default();
    script.call(0);
    script.thread = 1;
    script.call(1).pass(100);
    script.call(2);
    script.thread = 0;
    script.pass(7).call(3);
    let (samples, summary) = samples(stamped(exactly(cbs(1, 1), 100), 0), &script.events);
    assert_eq!((summary.threads, summary.cycles), (2, 107), "of one clock: both run at the same time");
    assert_eq!((summary.nanoseconds, summary.lived, summary.share()), (107.0, 207.0, summary.cost / 207.0));
    let found: Vec<_> = samples.iter().map(|sample| (sample.thread, sample.stack.clone())).collect();
    assert_eq!(found, [(thread(1), vec![edge(1), edge(2)]), (thread(0), vec![edge(0), edge(3)])]);
}

#[test]
fn a_thread_that_stands_still_for_ever_so_many_ticks_has_all_their_weight() {
    // A million ticks in one call, then as many in a thousand calls.
    let mut script = Script::default();
    script.call(0).call(1).pass(100_000_000).ret().call(2);
    script.leaves(3, 1000, 100_000);
    let mut edges = Edges::default();
    let mut samples = 0;
    let summary = Replay::run(stamped(exactly(WALK, 100), 0), script.events.iter().copied(), |sample| {
        samples += 1;
        edges.add(sample);
    });
    let counters = summary.unwrap().counters;
    assert_eq!((counters.ticks, counters.ticks_merged), (2_000_000, 0));
    assert_eq!((counters.samples, counters.walks, edges.0.iter().sum()), (2_000_000, 2_000_000, 2e6));
    assert!((edges.0[1] - 1e6).abs() < 2.0 && samples < 1_020_000, "{:?}, {samples} looks", edges.0);
}

#[test]
fn a_tick_on_a_deep_stack_has_all_its_samples_before_the_rest() {
    let mut script = Script::default();
    (0..300).for_each(|_| {
        script.call(0);
    });
    script.leaves(1, 400_000, 10);
    let mode = Mode::Cbs { samples: 8, stride: 2, antibias: Antibias::with(Correction::Density) };
    let (samples, summary) = samples(stamped(exactly(mode, 50_000), 0), &script.events);
    let mut ticks: Vec<(u64, f64)> = samples.iter().map(|sample| (sample.tick, sample.weight)).collect();
    assert!(ticks.len().is_multiple_of(8) && ticks.len() > 8, "{}", ticks.len());
    ticks.dedup();
    assert_eq!(ticks.len(), samples.len() / 8, "one weight a tick");
    // 101 frames too many a sample, for 200 calls each.
    let rest = 8 * 101 * 200;
    assert!(samples.len() as u64 / 8 <= 400_000 / rest + 1 && summary.counters.ticks_unaffordable > 0);
}

#[test]
fn time_passes_from_a_threads_start_to_its_end() {
    let main = thread(0);
    let run = |time| {
        let options = Options { time, ..stamped(exactly(WALK, 100), 0) };
        let (mut replay, mut stacks) = (Replay::new(options).unwrap(), Vec::new());
        let mut sink = |sample: &Sample| stacks.push(sample.stack.clone());
        replay.start(main, 1000, &mut sink);
        replay.event(main, Event::call(edge(0)), 1150, &mut sink);
        replay.end(main, 1450, &mut sink);
        let summary = replay.finish(&mut sink);
        (stacks, summary)
    };
    let (stacks, summary) = run(Time::Stamps);
    assert_eq!(stacks, [[edge(0)], [edge(0)], [edge(0)]], "at 1200, 1300 and 1400");
    assert_eq!((summary.cycles, summary.counters.ticks, summary.counters.samples_empty), (450, 4, 1));
    assert_eq!(run(Time::PerCall(10)).1.cycles, 5);
}

#[test]
fn exhaustive_profiling_is_complete() {
    // More calls than are handed over at once.
    let trace = random_trace(5, 300_000, 2);
    let mut edges = Edges::default();
    let mut handed = 0;
    let summary = Replay::run(stamped(Parameters::exhaustive(), 0), trace.iter().copied(), |sample| {
        edges.add(sample);
        handed += 1;
    });
    assert_eq!(edges.0, Edges::exact(&trace).0);
    assert!(handed > 2);
    let counters = summary.unwrap().counters;
    assert_eq!(counters.calls, counters.burst_calls);
}

#[test]
fn a_million_frames() {
    let depth = 1_000_000;
    let mut script = Script::default();
    (0..depth).for_each(|_| {
        script.pass(10).call(1);
    });
    script.leaves(2, 10, 10);
    (0..depth).for_each(|_| {
        script.ret();
    });
    let mode = exactly(cbs(1, 1), 10 * depth);
    let (samples, summary) = samples(stamped(mode, 0), &script.events);
    let [sample] = samples.as_slice() else { panic!("{} samples", samples.len()) };
    assert_eq!(sample.stack.len() as u64, depth + 1);
    assert_eq!((summary.counters.frames, summary.counters.unmatched), (depth + 1, 0));
}

#[test]
fn walks_for_a_self_tuning_interval_stop_at_frames_seen_before() {
    let mut script = Script::default();
    script.call(0).call(1).call(2).pass(100).ret().call(3).call(4).pass(100).ret().ret().pass(100).ret();
    let tuned = Parameters { self_tuning: true, ..exactly(WALK, 100) };
    let (_, summary) = samples(stamped(tuned, 0), &script.events);
    // Three frames; 4, 3 and the seen 1; the seen 1 alone.
    assert_eq!((summary.counters.frames, summary.counters.repetitions), (3 + 3 + 1, 1));
    let (_, summary) = samples(stamped(exactly(WALK, 100), 0), &script.events);
    assert_eq!(summary.counters.frames, 3 + 4 + 2);
}

#[test]
fn the_interval_tunes_itself_to_the_program() {
    let tuned = Parameters { self_tuning: true, ..exactly(WALK, 1_000_000) };
    let interval = |trace: &Trace| {
        let mut replay = Replay::new(stamped(tuned, 0)).unwrap();
        trace.iter().for_each(|&(thread, event, stamp)| replay.event(thread, event, stamp, &mut |_| {}));
        replay.interval()
    };
    let mut quick = Script::default();
    quick.call(0).leaves(1, 30_000, 200_000);
    assert!(interval(&quick.events) < 1_000_000, "always new frames: sample more often");
    let mut slow = Script::default();
    slow.call(0).leaves(1, 100, 50_000_000);
    assert!(interval(&slow.events) > 1_000_000, "always the same frames: sample less often");
}

#[test]
fn a_damaged_trace_does_no_harm() {
    let call = |index| Event::call(edge(index));
    let trace = [
        (thread(0), Event::RETURN, 0),
        (thread(0), call(0), 10),
        (thread(0), call(1), u64::MAX - 1),
        (thread(0), call(2), 3),
        (thread(0), call(2), u64::MAX),
        (thread(0), Event::RETURN, 0),
        (thread(u32::MAX as usize - 1), Event::RETURN, u64::MAX),
        (thread(0), call(2), u64::MAX),
    ];
    for (name, parameters) in Parameters::presets() {
        let (_, summary) = samples(stamped(parameters, 0), &trace);
        assert_eq!((summary.counters.calls, summary.counters.unmatched), (5, 2), "{name}");
        let (_, summary) = samples(Options { time: Time::PerCall(u64::MAX), ..Options::new(parameters, 0) }, &trace);
        assert_eq!(summary.counters.calls, 5, "{name}");
        assert!(summary.share().is_finite());
    }
}

#[test]
fn bad_parameters_are_errors() {
    let parameters = Parameters { jitter: f64::NAN, ..Parameters::stack_walk() };
    let error = Replay::new(Options::new(parameters, 0)).err();
    assert!(matches!(error, Some(ParameterError::OutOfRange { what: "jitter", .. })));
    let options = Options { clock: Clock::Steps, ..Options::new(Parameters::exhaustive(), 0) };
    assert_eq!(Replay::run(options, [], |_| {}).err(), Some(ParameterError::Clock(Clock::Steps)));
}

#[test]
fn overlap_over_time_and_errors_come_from_the_same_replay() {
    let mut trace = random_trace(9, 40_000, 1);
    let mut depth = 0;
    // Deep stacks would be walked less often.
    trace.retain(|(_, event, _)| {
        let stays = *event == Event::RETURN || depth < 100;
        depth = if *event == Event::RETURN { usize::saturating_sub(depth, 1) } else { depth + usize::from(stays) };
        stays
    });
    let parameters = Parameters::new(Mode::Estimator { trigger: Trigger::Calls { mean: 100 }, burst: 8 });
    let (mut replay, mut exact, mut found) = (Replay::new(stamped(parameters, 1)).unwrap(), Edges::default(), Edges::default());
    let (mut curve, mut strata) = (OverTime::new(4_000), Strata::default());
    for &(thread, event, stamp) in &trace {
        event.edge().into_iter().for_each(|edge| exact.count(edge, 1.0));
        replay.event(thread, event, stamp, &mut |sample: &Sample| {
            found.add(sample);
            let Observed::Burst(events) = &sample.observed else { return };
            events.iter().filter_map(|event| event.counted()).for_each(|edge| strata.add(sample.thread, sample.tick, edge, sample.weight));
        });
        let calls = exact.total() as u64;
        if curve.is_due(calls) {
            curve.record(calls, found.overlap(&exact));
        }
    }
    strata.close();
    assert_eq!(curve.points().len(), 4);
    assert!(curve.points().last().unwrap().overlap > 90.0);
    assert_eq!(strata.strata(), replay.summary().counters.samples);
    assert!((strata.total() - found.total()).abs() < 1e-6);
    for index in 0..7 {
        let estimate = strata.estimate(&edge(index));
        assert!((estimate.weight - exact.0[index]).abs() < 4.0 * estimate.standard_error, "{estimate:?}");
    }
}

/// Every mode with numbers small enough for short traces.
fn small_parameters() -> Vec<Parameters> {
    let lengths = [Length::Calls(5), Length::Time(Duration::from_nanos(150))];
    let adaptive = |length, re_enable| Mode::AdaptiveBursting { length, history: 8, re_enable };
    let timer = |start| Mode::Estimator { trigger: Trigger::Timer(start), burst: 3 };
    let counted = |mean, burst| Mode::Estimator { trigger: Trigger::Calls { mean }, burst };
    let mut modes = vec![Mode::Exhaustive, WALK, cbs(1, 1), cbs(3, 2), counted(20, 4), counted(2, 1)];
    modes.extend(lengths.map(bursts));
    modes.extend(lengths.map(|length| adaptive(length, None)));
    modes.extend(lengths.map(|length| adaptive(length, Some(0.3))));
    modes.extend([Start::Random, Start::Tick].map(timer));
    modes.into_iter().map(|mode| Parameters { interval: Duration::from_nanos(300), ..Parameters::new(mode) }).collect()
}

#[test]
fn the_same_seed_gives_the_same_samples_however_threads_are_mixed() {
    let trace = random_trace(3, 6_000, 3);
    let mut apart = trace.clone();
    apart.sort_by_key(|&(thread, ..)| thread);
    for parameters in small_parameters() {
        let of = |seed, trace: &Trace| {
            let (mut samples, summary) = samples(stamped(parameters, seed), trace);
            samples.sort_by_key(|sample| sample.thread);
            (samples, summary)
        };
        assert_eq!(of(1, &trace), of(1, &trace), "{parameters:?}");
        assert_eq!(of(1, &trace), of(1, &apart), "{parameters:?}");
        if parameters.mode != Mode::Exhaustive {
            assert_ne!(of(1, &trace).0, of(2, &trace).0, "{parameters:?}");
        }
    }
}

/// Any number at all: mostly small ones, which are good, but often those at the ends of ranges.
fn wild() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![1 => Just(0), 2 => Just(1), 20 => 2..10_000u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn wild_float() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![20 => 0.001..1.0f64, 1 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(0.0), 1 => Just(1.0)]
}

fn wild_parameters() -> impl Strategy<Value = Parameters> {
    let antibias = (0..3usize, wild_float(), wild_float()).prop_map(|(which, lambda, alpha)| {
        let corrections = [Correction::Off, Correction::Density, Correction::DensityAndLatency];
        Antibias { correction: corrections[which], lambda, alpha }
    });
    let length = (any::<bool>(), wild()).prop_map(|(is_time, number)| match is_time {
        true => Length::Time(Duration::from_nanos(number)),
        false => Length::Calls(number),
    });
    let trigger = (0..3usize, wild()).prop_map(|(which, mean)| match which {
        0 => Trigger::Timer(Start::Tick),
        1 => Trigger::Timer(Start::Random),
        _ => Trigger::Calls { mean },
    });
    let small = || wild().prop_map(|number| number as u32);
    let mode = prop_oneof![
        Just(Mode::Exhaustive),
        antibias.clone().prop_map(|antibias| Mode::StackWalk { antibias }),
        (small(), small(), antibias).prop_map(|(samples, stride, antibias)| Mode::Cbs { samples, stride, antibias }),
        length.clone().prop_map(|length| Mode::StaticBursting { length }),
        (length, small(), proptest::option::of(wild_float())).prop_map(|(length, history, re_enable)| Mode::AdaptiveBursting {
            length,
            history,
            re_enable
        }),
        (trigger, small()).prop_map(|(trigger, burst)| Mode::Estimator { trigger, burst }),
    ];
    (mode, wild(), wild_float(), proptest::bool::weighted(0.1)).prop_map(|(mode, interval, jitter, self_tuning)| {
        let interval = Duration::from_nanos(interval);
        Parameters { mode, interval, jitter, self_tuning }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    /// Whatever the numbers and the clock: an error, or a replay with a finite cost.
    #[test]
    fn any_parameters_are_errors_or_work(parameters in wild_parameters(), hz in wild(), cycles in wild(), seed in any::<u64>()) {
        let trace = random_trace(seed, 60, 2);
        for time in [Time::Stamps, Time::PerCall(cycles)] {
            let options = Options { time, clock: Clock::cycles(hz), ..Options::new(parameters, seed) };
            let Ok(summary) = Replay::run(options, trace.iter().copied(), |sample| assert!(sample.weight.is_finite())) else { continue };
            prop_assert!(summary.share().is_finite());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
    /// Every context that a sampler reports is one that the program was in, and recorded calls are no more than were made.
    #[test]
    fn samples_tell_no_lies(seed in any::<u64>(), events in 0usize..1500, threads in 1u64..4) {
        let trace = random_trace(seed, events, threads);
        let exact = Paths::exact(&trace);
        for parameters in small_parameters() {
            let mut paths = Paths::default();
            let mut unweighted = Paths::default();
            let summary = Replay::run(stamped(parameters, seed), trace.iter().copied(), |sample| {
                paths.add(sample, |edge| edge);
                let once = Sample { weight: 1.0, ..sample.clone() };
                unweighted.add(&once, |edge| edge);
            }).unwrap();
            for (path, &count) in &unweighted.0 {
                let made = exact.0.get(path);
                prop_assert!(made.is_some(), "{:?}: {:?} was never called", parameters, path);
                // A stack walk may see one call at many ticks.
                prop_assert!(count <= *made.unwrap() || parameters.mode == WALK, "{:?}: {:?}", parameters, path);
            }
            let counters = summary.counters;
            prop_assert!(counters.burst_calls <= counters.calls);
            if parameters.mode == Mode::Exhaustive {
                prop_assert!(Comparison::new(paths.weights(), exact.weights()).overlap() > 99.999);
                prop_assert_eq!(&paths.0, &exact.0);
            }
        }
    }
}
