//! What is collected is what the structures make of the same samples; profiles of random traces against the slow account.

use super::*;
use crate::event::Event;
use crate::profile::{self, Certainty, ContextId, Label};
use crate::program::{CallSite, Edge, Function};
use crate::replay::{self, Replay};
use crate::samplers::{Antibias, Parameters, Trigger};
use crate::structures::CallStructure;
use crate::structures::kccf::Kccf;
use crate::structures::reference::{any_events, any_samples, contexts, counted, edge, events, sample, trace};
use cranelift_entity::EntityRef;
use proptest::prelude::*;
use std::collections::BTreeMap;

const K: NonZeroU32 = NonZeroU32::new(2).unwrap();
const KINDS: [StructureKind; 5] =
    [StructureKind::Dcg, StructureKind::Cct, StructureKind::CcMap, StructureKind::Ksf(K), StructureKind::Kccf(K)];

/// As many edges as the random traces have: the first two begin threads.
fn program() -> Program {
    let mut program = Program::default();
    for number in 0..6u32 {
        let callee = program.functions.push(Function { name: format!("f{number}").into(), file: "".into(), line: 0 });
        let site = (number > 1).then(|| program.sites.push(CallSite { caller: callee, line: number }));
        program.edge(Edge { site: site.into(), callee });
    }
    program
}

fn collector(kind: StructureKind, weights: Weights, max_nodes: u32) -> Collector {
    let mut collector = Collector::new(Options { kind, weights, max_nodes }).expect("good options");
    collector.learn(&program()).expect("a good program");
    collector
}

fn collected(kind: StructureKind, samples: &[Sample]) -> Collector {
    let mut collector = collector(kind, Weights::Calls, 100_000);
    samples.iter().for_each(|sample| collector.add(sample));
    collector
}

fn profile(collector: &Collector, calls: Option<u64>) -> Profile {
    collector.profile(Meta::default(), program(), calls).expect("a good profile")
}

/// The weight of each path of a profile's tree, outermost first.
fn paths(profile: &Profile) -> BTreeMap<Vec<EdgeId>, f64> {
    let contexts = profile.contexts().expect("contexts");
    let label = |id: ContextId| match contexts.node(id).label {
        Label::Edge(edge) => edge,
        Label::Function(function) => panic!("{function} is no edge"),
    };
    let path = |id| {
        let mut path: Vec<EdgeId> = std::iter::successors(Some(id), |&id| contexts.node(id).parent.expand()).map(label).collect();
        path.reverse();
        path
    };
    contexts.nodes().map(|(id, node)| (path(id), node.weight)).collect()
}

#[test]
fn a_collector_can_be_another_threads() {
    fn is_send<T: Send>() {}
    is_send::<Collector>();
}

#[test]
fn edges_appear_as_they_are_seen() {
    for kind in KINDS {
        let mut collector = Collector::new(Options { kind, weights: Weights::Exact, max_nodes: 100 }).expect("good options");
        let mut known = Program::default();
        let whole = program();
        known.functions = whole.functions.clone();
        known.sites = whole.sites.clone();
        for number in [0, 2, 3] {
            let id = known.edge(whole.edges()[edge(number)]);
            collector.learn(&known).expect("a good program");
            collector.add(&trace(vec![Event::call(id)]));
        }
        let profile = collector.profile(Meta::default(), known, None).expect("a good profile");
        assert_eq!(profile.dcg_total(), 3.0);
        assert_eq!(profile.contexts().map_or(3.0, |contexts| contexts.total()), 3.0, "{kind:?}");
    }
}

#[test]
fn what_the_program_does_not_have_is_an_error() {
    for kind in KINDS {
        let collector = collected(kind, &[trace(events("af"))]);
        assert!(collector.profile(Meta::default(), Program::default(), None).is_err(), "{kind:?}");
    }
    let mut map = Collector::new(Options { kind: StructureKind::CcMap, weights: Weights::Calls, max_nodes: 9 }).expect("good options");
    let mut torn = Program::default();
    torn.edge(Edge { site: None.into(), callee: crate::ids::FuncId::from_u32(3) });
    assert!(matches!(map.learn(&torn), Err(CollectError::CcMap(_))));
}

#[test]
fn exact_counts_have_no_error_and_estimates_have_theirs() {
    let ticks: Vec<Sample> =
        (0..4).map(|tick| Sample { tick, weight: 5.0, ..trace(events(if tick < 3 { "ab.." } else { "a." })) }).collect();
    let error = |weights, calls| {
        let mut collector = collector(StructureKind::Dcg, weights, 0);
        ticks.iter().for_each(|sample| collector.add(sample));
        profile(&collector, calls).dcg().iter().map(|edge| (edge.weight, edge.error)).collect::<Vec<_>>()
    };
    assert_eq!(error(Weights::Exact, Some(7)), [(4.0, Some(0.0)), (3.0, Some(0.0))]);
    // Of b: 5, 5, 5 and 0 a tick, so 4 / 3 · (75 - 225 / 4).
    assert_eq!(error(Weights::Calls, None), [(20.0, Some(0.0)), (15.0, Some(5.0))]);
    // 70 calls were made, and 35 told: all counts twice.
    // How many a tick saw is then no error: what is left of b is 5 / 7 three times, and -15 / 7.
    for weights in [Weights::Calls, Weights::Shares] {
        let [(40.0, Some(a)), (30.0, Some(b))] = error(weights, Some(70))[..] else { panic!("{:?}", error(weights, Some(70))) };
        assert!((a - 2.0 * 20.0 / 7.0).abs() < 1e-9 && (b - a).abs() < 1e-9, "two edges: {a} {b}");
    }
    let mut once = collector(StructureKind::Dcg, Weights::Calls, 0);
    once.add(&ticks[0]);
    assert_eq!(profile(&once, None).dcg()[0].error, None, "one tick tells no error");
}

/// Of each key: what its calls add up to, the standard error of that by the two-pass formula, and how many there are. A key is made of the calls that were open. `calls`: that were made, if that is known.
fn slow<K: Ord>(samples: &[Sample], calls: Option<u64>, key: impl Fn(&[EdgeId]) -> Option<K>) -> BTreeMap<K, (f64, Option<f64>, u64)> {
    let mut ticks: BTreeMap<(ThreadId, u64), BTreeMap<K, f64>> = BTreeMap::new();
    let mut seen: BTreeMap<K, u64> = BTreeMap::new();
    let mut stand_for: BTreeMap<(ThreadId, u64), f64> =
        samples.iter().map(|sample| ((sample.thread, sample.tick), sample.stands_for)).collect();
    let mut totals: BTreeMap<(ThreadId, u64), f64> = stand_for.keys().map(|&tick| (tick, 0.0)).collect();
    samples.iter().for_each(|it| *totals.entry((it.thread, it.tick)).or_default() += counted(it).len() as f64 * it.weight);
    let total: f64 = totals.values().sum();
    let factor = calls.filter(|_| total > 0.0).map_or(1.0, |calls| calls as f64 / total);
    // Of whose calls those are that were made, a tick without a call says nothing.
    let tells = |sum: &f64| calls.is_none() || total == 0.0 || *sum > 0.0;
    let n = totals.values().filter(|sum| tells(sum)).count() as f64;
    if calls.is_some() && total > 0.0 {
        stand_for = totals;
    }
    let all: f64 = stand_for.values().sum();
    for sample in samples {
        let tick = ticks.entry((sample.thread, sample.tick)).or_default();
        for path in counted(sample) {
            let (Some(of_tick), Some(of_all)) = (key(&path), key(&path)) else { continue };
            *tick.entry(of_tick).or_default() += sample.weight;
            *seen.entry(of_all).or_default() += 1;
        }
    }
    let estimate = |(key, samples)| {
        let parts: Vec<f64> = ticks.values().map(|tick| tick.get(&key).copied().unwrap_or(0.0)).collect();
        let weight: f64 = parts.iter().sum();
        let deviations: f64 =
            parts.iter().zip(stand_for.values()).map(|(part, stands_for)| (part - weight / all * stands_for).powi(2)).sum();
        (key, (factor * weight, (n > 1.0).then(|| factor * (n * deviations / (n - 1.0)).sqrt()), samples))
    };
    seen.into_iter().map(estimate).collect()
}

/// Roots magnify what rounding leaves where an error is 0.
fn is_close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-6 || (a * a - b * b).abs() < 1e-9 * a.max(b).max(1.0).powi(2),
        (a, b) => a == b,
    }
}

/// Nodes that have counted by themselves, by their path, outermost node first: own weight, error, samples.
fn certain(profile: &Profile) -> BTreeMap<Vec<EdgeId>, (f64, Option<f64>, u64)> {
    let contexts = profile.contexts().expect("contexts");
    let Certainty::Sampled(seen) = contexts.certainty() else { panic!("{:?}", contexts.certainty()) };
    let own = contexts.own_weights();
    let label = |id: ContextId| if let Label::Edge(edge) = contexts.node(id).label { edge } else { panic!("no edge") };
    let path = |id| {
        let mut path: Vec<EdgeId> = std::iter::successors(Some(id), |&id| contexts.node(id).parent.expand()).map(label).collect();
        path.reverse();
        path
    };
    let nodes = contexts.nodes().map(|(id, _)| (path(id), (own[id], seen[id].error, seen[id].samples)));
    nodes.filter(|(_, (_, _, samples))| *samples > 0).collect()
}

#[test]
fn exact_contexts_are_certain_and_cut_ones_unknown() {
    let exact = {
        let mut collector = collector(StructureKind::Cct, Weights::Exact, 100);
        collector.add(&trace(events("a b . b")));
        profile(&collector, None)
    };
    assert_eq!(exact.contexts().map(|contexts| contexts.certainty()), Some(&Certainty::Exact));
    // All 3-SF nodes have room, but not all nodes of the 2-CCF.
    let samples: Vec<Sample> = (0..3).map(|tick| Sample { tick, ..trace(events("a b c d e f c b d f")) }).collect();
    let found = |max_nodes| {
        let mut collector = collector(StructureKind::Kccf(K), Weights::Calls, max_nodes);
        samples.iter().for_each(|sample| collector.add(sample));
        let profile = profile(&collector, None);
        let contexts = profile.contexts().expect("contexts");
        (contexts.structure(), matches!(contexts.certainty(), Certainty::Sampled(_)), collector.size().dropped.calls)
    };
    assert_eq!(found(1000), (profile::Structure::Kccf { k: Some(K) }, true, 0));
    let (cut, is_sampled, dropped) = found(19);
    assert!(cut != (profile::Structure::Kccf { k: Some(K) }) && !is_sampled && dropped == 0, "{cut:?} {is_sampled} {dropped}");
}

#[test]
fn what_found_no_room_is_told() {
    let samples = [trace(events("a b c d . . . . b"))];
    for kind in KINDS {
        let mut collector = collector(kind, Weights::Calls, 3);
        samples.iter().for_each(|sample| collector.add(sample));
        let profile = profile(&collector, None);
        assert_eq!(profile.dcg_total(), 5.0, "edges have no limit");
        let Some(contexts) = profile.contexts() else { continue };
        let Size { nodes, dropped, bytes } = collector.size();
        assert!(nodes <= 3 && contexts.len() <= 3 && bytes > 0, "{kind:?}");
        assert!(dropped.calls > 0 && contexts.dropped == dropped.calls, "{kind:?}");
        if kind != StructureKind::CcMap {
            assert_eq!(dropped.weight + contexts.total(), 5.0, "{kind:?}");
        }
    }
}

#[test]
fn a_thread_that_has_ended_leaves_its_counts_only() {
    for kind in KINDS {
        let last = |tick| Sample { tick, ..sample("abce", Observed::Top) };
        let mut collector = collected(kind, &[sample("abc", Observed::burst(events("d"))), last(1), last(2)]);
        let (before, bytes) = (profile(&collector, None), collector.size().bytes);
        collector.end(ThreadId::from_u32(0));
        assert_eq!(profile(&collector, None), before);
        assert!(collector.size().bytes < bytes || kind == StructureKind::Dcg, "{kind:?}");
    }
}

#[test]
fn modes_say_what_their_weights_mean() {
    let weights = |parameters: Parameters| Weights::of(&parameters.mode);
    assert_eq!(weights(Parameters::exhaustive()), Weights::Exact);
    assert_eq!(weights(Parameters::timed_estimator()), Weights::Calls);
    assert_eq!(weights(Parameters::cbs(8, 2, Antibias::OFF)), Weights::Shares);
}

proptest! {
    #[test]
    fn the_structures_are_those_that_samples_make(samples in any_samples()) {
        let mut dcg = Dcg::new();
        let mut cct = Cct::new();
        let mut map = CcMap::new(&program(), Limits::default()).expect("a good program");
        let mut ksf = SiblingKsf::new(K.get(), 100_000).expect("a good k");
        for sample in &samples {
            dcg.add(sample);
            cct.add(sample, |edge| edge);
            map.add(sample, |edge| edge);
            ksf.add(sample, |edge| edge);
        }
        for kind in KINDS {
            let collector = collected(kind, &samples);
            prop_assert_eq!(collector.dcg().by_weight(), dcg.by_weight());
            match &collector.contexts {
                Contexts::None => {}
                Contexts::Cct(found) => prop_assert_eq!(found.structure(), &cct),
                Contexts::CcMap(found) => {
                    let nodes = |map: &CcMap| map.refs().map(|node| (map.path(node), map.count_in(node))).collect::<BTreeMap<_, _>>();
                    prop_assert_eq!(nodes(found.structure()), nodes(&map));
                    prop_assert!(found.structure().check().is_ok());
                }
                Contexts::Ksf(found) => {
                    let inverse = |ksf| Kccf::invert(ksf, K.get(), 100_000).expect("the same k");
                    prop_assert_eq!(inverse(found.structure()), inverse(&ksf));
                    prop_assert_eq!(found.structure().len(), ksf.len());
                }
            }
        }
    }

    #[test]
    fn profiles_tell_what_samples_count(samples in any_samples()) {
        let total: f64 = samples.iter().map(|sample| counted(sample).len() as f64 * sample.weight).sum();
        let all = contexts(&samples);
        prop_assert_eq!(paths(&profile(&collected(StructureKind::Cct, &samples), None)), all.clone());
        // In a CC-Map suffixes of stacks have trees too, but a path is there once.
        prop_assert_eq!(paths(&profile(&collected(StructureKind::CcMap, &samples), None)), all.clone());
        for kind in KINDS {
            let profile = profile(&collected(kind, &samples), None);
            prop_assert_eq!(profile.dcg_total(), total);
            prop_assert_eq!(profile.contexts().map_or(total, |contexts| contexts.total()), total);
        }
        // The weights of a k-CCF's nodes are those of all paths that end so.
        let kccf = profile(&collected(StructureKind::Kccf(K), &samples), None);
        for (reversed, weight) in paths(&kccf) {
            let ends_so = |path: &Vec<EdgeId>| path.iter().rev().zip(&reversed).filter(|(a, b)| a == b).count() == reversed.len();
            prop_assert_eq!(all.iter().filter(|(path, _)| ends_so(path)).map(|(_, weight)| weight).sum::<f64>(), weight);
        }
    }

    #[test]
    fn errors_of_contexts_are_those_of_ticks(samples in any_samples(), ends in any::<bool>(), calls in prop_oneof![Just(None), Just(Some(1000))]) {
        for (kind, reach) in [(StructureKind::Cct, None), (StructureKind::CcMap, None), (StructureKind::Kccf(K), Some(3))] {
            let mut collector = collected(kind, &samples);
            if ends {
                (0..3).for_each(|thread| collector.end(ThreadId::from_u32(thread)));
            }
            let key = |path: &[EdgeId]| match reach {
                None => path.to_vec(),
                Some(reach) => path.iter().rev().take(reach).copied().collect(),
            };
            let (found, expected) = (certain(&profile(&collector, calls)), slow(&samples, calls, |path| Some(key(path))));
            prop_assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{:?}", kind);
            for (path, &(weight, error, seen)) in &found {
                let expected = expected[path];
                prop_assert_eq!(seen, expected.2, "{:?} {:?}", kind, path);
                prop_assert!((weight - expected.0).abs() < 1e-6, "{:?} {:?}: {} instead of {}", kind, path, weight, expected.0);
                prop_assert!(is_close(error, expected.1), "{:?} {:?}: {:?} instead of {:?}", kind, path, error, expected.1);
            }
        }
    }

    #[test]
    fn errors_of_sums_are_those_of_ticks(samples in any_samples(), ends in any::<bool>(), calls in prop_oneof![Just(None), Just(Some(1000))]) {
        // Two edges lead to each function, and two from each site.
        let mut program = Program::default();
        let functions: Vec<_> =
            (0..3u32).map(|n| program.functions.push(Function { name: format!("f{n}").into(), file: "".into(), line: 0 })).collect();
        let sites: Vec<_> = (0..2).map(|line| program.sites.push(CallSite { caller: functions[0], line })).collect();
        for number in 0..6usize {
            program.edge(Edge { site: number.checked_sub(2).map(|number| sites[number / 2]).into(), callee: functions[number % 3] });
        }
        let mut collector = Collector::new(Options { kind: StructureKind::Dcg, weights: Weights::Calls, max_nodes: 0 }).expect("good options");
        collector.learn(&program).expect("a good program");
        samples.iter().for_each(|sample| collector.add(sample));
        if ends {
            (0..3).for_each(|thread| collector.end(ThreadId::from_u32(thread)));
        }
        let (profile, Collected { sums, .. }) = collector.finish(Meta::default(), program.clone(), calls).expect("a good profile");
        let last = |path: &[EdgeId]| path[path.len() - 1];
        let callee = |path: &[EdgeId]| Some(program.edges()[last(path)].callee);
        let site = |path: &[EdgeId]| program.edges()[last(path)].site.expand();
        for (function, (_, error, _)) in slow(&samples, calls, callee) {
            prop_assert!(is_close(sums.functions[function].weight, error), "{}: {:?} {:?}", function, sums.functions[function], error);
        }
        for (site, (_, error, _)) in slow(&samples, calls, site) {
            prop_assert!(is_close(sums.sites[site].weight, error), "{}: {:?} {:?}", site, sums.sites[site], error);
        }
        // If it is known that there was one call, a share is a number.
        for (function, (_, error, _)) in slow(&samples, Some(1), callee) {
            prop_assert!(is_close(sums.functions[function].share, error), "{}: {:?} {:?}", function, sums.functions[function], error);
        }
        for (site, (_, error, _)) in slow(&samples, Some(1), site) {
            prop_assert!(is_close(sums.sites[site].share, error), "{}: {:?} {:?}", site, sums.sites[site], error);
        }
        for (edge, (_, error, _)) in slow(&samples, Some(1), |path| Some(last(path))) {
            let found = profile.dcg().iter().find(|found| found.edge == edge).and_then(|found| found.share_error);
            prop_assert!(is_close(found, error), "{}: {:?} {:?}", edge, found, error);
        }
    }

    #[test]
    fn an_exhaustive_replay_is_exact(events in any_events(), other in any_events()) {
        let samples = [trace(events.clone()), trace(other.clone())];
        let threads = [0, 1].map(ThreadId::from_u32);
        let run = threads.into_iter().zip([events, other]).flat_map(|(thread, events)| events.into_iter().map(move |event| (thread, event, 0)));
        let mut collector = collector(StructureKind::Cct, Weights::Exact, 100_000);
        let options = replay::Options::new(Parameters::exhaustive(), 1);
        let summary = Replay::run(options, run, |sample| collector.add(sample)).expect("good parameters");
        let profile = profile(&collector, Some(summary.counters.calls));
        prop_assert_eq!(paths(&profile), contexts(&samples));
        prop_assert!(profile.dcg().iter().all(|edge| edge.error == Some(0.0) && edge.samples as f64 == edge.weight));
    }

    #[test]
    fn samples_stand_for_the_calls_that_were_made(events in any_events(), seed in 0..9u64) {
        let calls = events.iter().filter(|event| event.edge().is_some()).count() as u64;
        for (mode, weights) in [
            (Mode::Estimator { trigger: Trigger::Calls { mean: 2 }, burst: 1 }, Weights::Calls),
            (Mode::Cbs { samples: 2, stride: 1, antibias: Antibias::OFF }, Weights::Shares),
        ] {
            let parameters = Parameters { interval: std::time::Duration::from_nanos(30), ..Parameters::new(mode) };
            let run = events.iter().map(|&event| (ThreadId::new(0), event, 0));
            let mut collector = collector(StructureKind::Cct, weights, 100_000);
            Replay::run(replay::Options::new(parameters, seed), run, |sample| collector.add(sample)).expect("good parameters");
            let profile = profile(&collector, Some(calls));
            let told = if profile.dcg().is_empty() { 0.0 } else { calls as f64 };
            prop_assert!((profile.dcg_total() - told).abs() < 1e-6);
            prop_assert!((profile.contexts().expect("a CCT").total() - told).abs() < 1e-6);
        }
    }
}
