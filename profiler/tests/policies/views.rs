//! What a view says of a profile, whichever structure its contexts come from.

use super::support::{World, by_hand, func, site, view, worlds};
use profiler::collect::{Collector, Options, StructureKind, Weights};
use profiler::event::Event;
use profiler::ids::{CallSiteId, ThreadId};
use profiler::oracle::ProfileView;
use profiler::oracle::view::{Calls, Local, Weighting};
use profiler::profile::{Contexts, DcgEdge, Label, Labels, Meta, Profile, Structure};
use profiler::program::{Edge, Program};
use profiler::sample::{Observed, Sample};
use profiler::samplers::Random;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// A run of a world: at each call site it calls one of the callees, some times, at random; and each call's sites, outermost first, with its callee.
fn run(world: &World, program: &mut Program, seed: u64) -> (Vec<Event>, Vec<(Vec<CallSiteId>, usize)>) {
    let mut random = Random::new(seed);
    let start = program.edge(Edge { site: None.into(), callee: func(0) });
    let (mut events, mut calls) = (vec![Event::call(start)], vec![(vec![], 0)]);
    // What is still to be done: calls of a function's sites, or a return.
    let mut work: Vec<Option<(Vec<CallSiteId>, usize, usize)>> = (0..world.0[0].sites.len()).map(|nth| Some((vec![], 0, nth))).collect();
    while let Some(next) = work.pop() {
        let Some((chain, f, nth)) = next else {
            events.push(Event::RETURN);
            continue;
        };
        let callees = &world.0[f].sites[nth];
        let (g, _) = callees[random.below(callees.len() as u64) as usize];
        let at = world.site(f, nth, false);
        if calls.len() < 300 && random.chance(0.6) {
            work.push(Some((chain.clone(), f, nth)));
        }
        let chain = [chain.as_slice(), &[at]].concat();
        events.push(Event::call(program.edge(Edge { site: Some(at).into(), callee: func(g) })));
        calls.push((chain.clone(), g));
        work.push(None);
        if calls.len() < 300 {
            work.extend((0..world.0[g].sites.len()).map(|nth| Some((chain.clone(), g, nth))));
        }
    }
    events.push(Event::RETURN);
    (events, calls)
}

fn weights(local: &Local) -> Vec<(u32, f64)> {
    let mut weights: Vec<_> = local.receivers.iter().map(|receiver| (receiver.callee.as_u32(), receiver.calls.weight)).collect();
    weights.sort_by_key(|&(callee, _)| callee);
    weights
}

proptest! {
    /// Behind each chain that was run, and each end of one, a view knows the calls that were made there, and no others.
    #[test]
    fn all_structures_know_the_same_contexts(world in worlds(), seed in any::<u64>()) {
        let mut program = world.program(false);
        let (events, calls) = run(&world, &mut program, seed);
        let sample = Sample { thread: ThreadId::from_u32(0), stack: vec![], observed: Observed::burst(events), weight: 1.0, tick: 1, stands_for: 1.0 };
        let k = NonZeroU32::new(3).expect("not 0");
        for (kind, reach) in [
            (StructureKind::Cct, 9),
            (StructureKind::CcMap, 9),
            (StructureKind::Ksf(k), 3),
            (StructureKind::Kccf(k), 3),
        ] {
            let mut collector = Collector::new(Options { kind, weights: Weights::Exact, max_nodes: 1 << 20 }).expect("a collector");
            collector.learn(&program).expect("good edges");
            collector.add(&sample);
            let view = ProfileView::of_collector(&collector, &program, Some(calls.len() as u64)).expect("a view");
            prop_assert_eq!(view.total(), Calls { weight: calls.len() as f64, error: Some(0.0), samples: Some(calls.len() as u64) });
            for (path, _) in calls.iter().filter(|(path, _)| !path.is_empty()) {
                let (&at, chain) = path.split_last().expect("not empty");
                for from in 0..=chain.len() {
                    let suffix = &path[from..];
                    if suffix.len() > reach + 1 {
                        continue;
                    }
                    let mut expected: BTreeMap<u32, f64> = BTreeMap::new();
                    for (path, callee) in &calls {
                        if path.ends_with(suffix) {
                            *expected.entry(*callee as u32).or_default() += 1.0;
                        }
                    }
                    let local = view.local(&chain[from..], at, Weighting::Contexts);
                    prop_assert_eq!(local.context, chain.len() - from, "{:?}", kind);
                    prop_assert_eq!(weights(&local), expected.into_iter().collect::<Vec<_>>(), "{:?} {:?}", kind, suffix);
                }
            }
        }
    }

    /// Of an exact profile, a copy's weight is what was counted behind its chain, whether that was run or not.
    #[test]
    fn copies_of_an_exact_profile_are_exact(world in worlds(), seed in any::<u64>()) {
        let mut program = world.program(false);
        let (events, calls) = run(&world, &mut program, seed);
        let sample = Sample { thread: ThreadId::from_u32(0), stack: vec![], observed: Observed::burst(events), weight: 1.0, tick: 1, stands_for: 1.0 };
        let options = Options { kind: StructureKind::Cct, weights: Weights::Exact, max_nodes: 1 << 20 };
        let mut collector = Collector::new(options).expect("a collector");
        collector.learn(&program).expect("good edges");
        collector.add(&sample);
        let view = ProfileView::of_collector(&collector, &program, None).expect("a view");
        for (chain, f, _) in world.contexts() {
            for (nth, callees) in world.0[f].sites.iter().enumerate() {
                let path = [chain.as_slice(), &[world.site(f, nth, false)]].concat();
                for &(g, _) in callees {
                    let expected = calls.iter().filter(|(known, callee)| known.ends_with(&path) && *callee == g).count() as f64;
                    let seen = view.look(&chain, world.site(f, nth, false), func(g), Weighting::Contexts);
                    prop_assert!((seen.weight - expected).abs() < 1e-9, "{} calls at {:?}, not {}", expected, path, seen.weight);
                    prop_assert_eq!(seen.error, Some(0.0));
                }
            }
        }
    }

    /// A profile of the same program under other numbers says the same.
    #[test]
    fn numbers_of_the_profile_do_not_matter(world in worlds()) {
        let profile = world.profile(&[], 1.0, true);
        let now = world.program(true);
        let (same, other) = (view(&profile), ProfileView::new(&profile, &now));
        prop_assert_eq!(other.unmatched(), 0.0);
        for (chain, f, _) in world.contexts() {
            let renamed = |id: CallSiteId| site(now.sites.len() - 1 - id.as_u32() as usize);
            let there: Vec<CallSiteId> = chain.iter().map(|&id| renamed(id)).collect();
            for (nth, callees) in world.0[f].sites.iter().enumerate() {
                for &(g, _) in callees {
                    let a = same.look(&chain, world.site(f, nth, false), func(g), Weighting::Contexts);
                    let b = other.look(&there, world.site(f, nth, true), func(world.number(g, true)), Weighting::Contexts);
                    prop_assert_eq!(a, b);
                }
            }
        }
    }

    /// Where each invocation of a function does the same, the part of a copy follows from the edges alone.
    #[test]
    fn copies_of_calls_have_their_part_of_the_edge(world in worlds()) {
        let view = view(&world.profile(&[], 1.0, true));
        for (chain, f, runs) in world.contexts() {
            for (nth, callees) in world.0[f].sites.iter().enumerate() {
                for &(g, calls) in callees {
                    let at = world.site(f, nth, false);
                    // Twins: the same chain of sites leads to the function only once, since a site and the next one's function name the callee.
                    let expected = runs * f64::from(calls);
                    for weighting in [Weighting::Edges, Weighting::Contexts] {
                        let seen = view.look(&chain, at, func(g), weighting);
                        prop_assert!((seen.weight - expected).abs() <= 1e-9 * expected, "{:?}: {} of {}", weighting, seen.weight, expected);
                    }
                }
            }
        }
    }
}

#[test]
fn what_the_program_no_longer_has_counts_in_the_total() {
    let (_, profile) = by_hand(&[0, 0], 3, &[(&[], 0, 10.0), (&[0], 1, 100.0), (&[1], 2, 300.0)]);
    let mut now = Program::default();
    for id in [0, 2] {
        now.functions.push(profile.program().functions[func(id)].clone());
    }
    profile.program().sites.values().for_each(|&at| _ = now.sites.push(at));
    let view = ProfileView::new(&profile, &now);
    assert_eq!((view.total().weight, view.unmatched()), (410.0, 100.0 / 410.0));
    assert_eq!(view.edge(site(1), func(1)).weight, 300.0, "its second function is the third of then");
    assert!(view.receivers(site(0)).is_empty());
}

#[test]
fn samples_and_errors_of_contexts_are_the_edges_in_part() {
    // f1 and f2 call f3, a library function, whose site calls f4.
    let calls: &[(&[usize], usize, f64)] =
        &[(&[], 0, 0.0), (&[0], 1, 0.0), (&[0, 1], 3, 500.0), (&[0, 1, 3], 4, 3_000.0), (&[2], 3, 500.0), (&[2, 3], 4, 1_000.0)];
    let (_, profile) = by_hand(&[0, 1, 0, 3], 5, calls);
    let view = view(&profile);
    let seen = view.look(&[site(1)], site(3), func(4), Weighting::Contexts);
    assert_eq!((seen.weight, seen.samples, seen.context), (3_000.0, Some(300), 1));
    // 3/4 of 400 samples: the edge's error of 200 calls in part, and that of a proportion.
    let expected = (0.75f64 * 200.0).hypot(4_000.0 * (0.75f64 * 0.25 / 400.0).sqrt());
    assert!((seen.error.expect("known") - expected).abs() < 1e-9);
    assert_eq!(seen.raw_weight, Some(4_000.0), "of the edge");
    assert_eq!(seen.total, 5_000.0);
}

#[test]
fn contexts_of_few_samples_are_not_used() {
    let with = |calls: f64| {
        let calls: &[(&[usize], usize, f64)] =
            &[(&[], 0, 0.0), (&[0], 1, calls), (&[0, 2], 2, calls), (&[1], 1, 1_000.0), (&[1, 2], 3, 1_000.0)];
        view(&by_hand(&[0, 0, 1], 4, calls).1).local(&[site(0)], site(2), Weighting::Contexts)
    };
    let (few, many) = (with(190.0), with(200.0));
    assert_eq!((few.context, weights(&few)), (0, vec![(2, 190.0), (3, 1_000.0)]));
    assert_eq!((many.context, weights(&many)), (1, vec![(2, 200.0)]));
}

#[test]
fn what_came_in_with_a_call_that_never_runs_never_runs() {
    // f0 calls f1 at two sites; only behind the second one it calls f2, which calls f3.
    let calls: &[(&[usize], usize, f64)] =
        &[(&[], 0, 0.0), (&[0], 1, 1_000.0), (&[1], 1, 1_000.0), (&[1, 2], 2, 500.0), (&[1, 2, 3], 3, 500.0)];
    let view = view(&by_hand(&[0, 0, 1, 2], 4, calls).1);
    let of = |first: usize, weighting| {
        let seen = view.look(&[site(first), site(2)], site(3), func(3), weighting);
        (seen.weight, seen.samples, seen.site_samples)
    };
    assert_eq!([0, 1].map(|first| of(first, Weighting::Contexts)), [(0.0, Some(0), Some(0)), (500.0, Some(50), Some(50))]);
    assert_eq!([0, 1].map(|first| of(first, Weighting::Edges)), [(250.0, Some(25), Some(25)); 2]);
}

/// As when a call came in by its size alone, in a loop that has run since before the profile was begun.
#[test]
fn of_what_came_in_with_a_call_of_which_nothing_is_known_nothing_is_known() {
    // f0 could call f1 or, from the same site, f4; f2 does so. f1 calls f3, and could call f4.
    let view = |calls_of_f0: &[f64]| {
        let of_f0: Vec<(&[usize], usize, f64)> = calls_of_f0.iter().map(|&calls| (&[][..], 0, calls)).collect();
        let others: [(&[usize], usize, f64); 3] = [(&[], 2, 0.0), (&[2], 1, 1_000.0), (&[2, 1], 3, 1_000.0)];
        view(&by_hand(&[0, 1, 2, 1], 5, &[of_f0.as_slice(), &others].concat()).1)
    };
    for weighting in [Weighting::Edges, Weighting::Contexts] {
        let knows = |view: &ProfileView, first: usize, last: usize, callee: usize| {
            view.look(&[site(first)], site(last), func(callee), weighting).knows_caller
        };
        let unknown = view(&[]);
        assert!(knows(&unknown, 2, 1, 3));
        assert!(!knows(&unknown, 0, 1, 3), "f0 may be running all the time");
        assert!(knows(&unknown, 0, 3, 4), "f1 never makes this call");
        assert_eq!(unknown.distribution(&[site(0)], site(1), weighting), (0.0, vec![]));
        let known = view(&[1_000.0]);
        assert!(knows(&known, 0, 1, 3), "f0 never calls f1");
        assert_eq!(known.distribution(&[site(0)], site(1), weighting).1.len(), 1);
    }
}

#[test]
fn samples_of_one_burst_are_not_sure_of_much() {
    // 40 samples, whose weight is known as well as 25 or 16 independent ones say.
    let calls = |independent: f64| Calls { weight: 400.0, error: Some(400.0 / independent.sqrt()), samples: Some(40) };
    assert!(calls(25.0).is_sure(20) && !calls(16.0).is_sure(20));
    assert!(!Calls { samples: Some(19), ..calls(25.0) }.is_sure(20));
    assert!(Calls { samples: Some(1), error: Some(0.0), ..calls(25.0) }.is_sure(20), "each call was counted");
    assert!(Calls { samples: None, error: None, ..calls(25.0) }.is_sure(20) && !Calls::default().is_sure(20));
}

#[test]
fn samples_that_all_say_the_same_are_no_certainty() {
    let (_, profile) = by_hand(&[0], 3, &[(&[], 0, 0.0), (&[0], 1, 1_000.0)]);
    let of = |error, samples| {
        let edge = DcgEdge { weight: 1_000.0, error, samples, ..profile.dcg()[1] };
        view(&Profile::builder(Meta::default(), profile.program().clone()).dcg([edge]).build().expect("a good profile"))
    };
    let error = |view: &ProfileView, callee| view.edge(site(0), func(callee)).error;
    let (counted, alike, spread) = (of(Some(0.0), 1_000), of(Some(1e-7), 100), of(Some(30.0), 100));
    assert_eq!([error(&counted, 1), error(&alike, 1), error(&spread, 1)], [Some(0.0), Some(100.0), Some(30.0)]);
    assert_eq!([error(&counted, 2), error(&alike, 2), error(&spread, 2)], [Some(0.0), None, None], "of what was not seen");
}

#[test]
fn a_profile_of_contexts_alone_has_edges_too() {
    let (program, profile) = by_hand(&[0, 1], 3, &[(&[], 0, 1.0), (&[0], 1, 7.0), (&[0, 1], 2, 30.0)]);
    let contexts = profile.contexts().expect("has contexts").clone();
    let alone = Profile::builder(Meta::default(), profile.program().clone()).contexts(contexts).build().expect("a good profile");
    let edge = ProfileView::new(&alone, &program).edge(site(1), func(2));
    assert_eq!(edge, Calls { weight: 30.0, error: None, samples: None });
    let unknown = DcgEdge { samples: 0, error: None, ..profile.dcg()[2] };
    let unknown = Profile::builder(Meta::default(), profile.program().clone()).dcg([unknown]).build().expect("a good profile");
    assert_eq!(view(&unknown).edge(site(1), func(2)).samples, None, "not none seen");
}

/// Each node counts a call over the edge at its root, however far that is.
#[test]
fn deep_reversed_contexts_alone_have_edges_too() {
    const DEPTH: u32 = 100_000;
    let (program, profile) = by_hand(&[0, 1], 3, &[(&[], 0, 1.0), (&[0], 1, 1.0), (&[0, 1], 2, 1.0)]);
    let [above, root] = [1, 2].map(|at: usize| Label::Edge(profile.dcg()[at].edge));
    let mut contexts = Contexts::new(Structure::Kccf { k: None }, Labels::Edges);
    let mut last = None;
    for weight in (1..=DEPTH).rev() {
        let label = if last.is_none() { root } else { above };
        last = Some(contexts.push(label, last, f64::from(weight)).expect("a good node"));
    }
    let alone = Profile::builder(Meta::default(), profile.program().clone()).contexts(contexts).build().expect("a good profile");
    let view = ProfileView::new(&alone, &program);
    assert_eq!((view.edge(site(1), func(2)).weight, view.edge(site(0), func(1)).weight), (f64::from(DEPTH), 0.0));
}
