//! Weights against the reference; standard errors against what many seeds show.

use super::*;
use crate::estimate::Heat;
use crate::program::{CallSite, Edge, Function};
use crate::structures::reference::{any_events, any_samples, contexts, counted, edge, events, sample};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn tick(tick: u64, weight: f64, calls: &str) -> Sample {
    Sample { tick, weight, ..sample("", Observed::burst(events(calls))) }
}

fn graph(samples: &[Sample]) -> Dcg {
    let mut graph = Dcg::new();
    samples.iter().for_each(|sample| graph.add(sample));
    graph
}

fn is_close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// Weight, its error, and samples.
fn figures(estimate: Estimate) -> (f64, f64, u64) {
    (estimate.weight, estimate.standard_error, estimate.samples)
}

#[test]
fn errors_by_hand() {
    // Edge 0 contributes 2, 4, 0 in three ticks, edge 1 contributes 2 in each, both together 4, 6, 2.
    let graph = graph(&[tick(1, 2.0, "a . b"), tick(2, 2.0, "a"), tick(2, 2.0, "b a . ."), tick(3, 2.0, "b")]);
    assert_eq!(graph.ticks(), 3);
    let estimate = graph.estimate(edge(0));
    assert_eq!((estimate.weight, estimate.samples, estimate.strata, estimate.share), (6.0, 3, 2, 0.5));
    assert!(is_close(estimate.standard_error, (1.5f64 * (20.0 - 36.0 / 3.0)).sqrt()));
    // Half of all: it contributes 0, 1, -1 more than that, by a total of 12.
    assert!(is_close(estimate.share_error, (1.5f64 * 2.0).sqrt() / 12.0));
    assert_eq!(figures(graph.estimate(edge(1))), (6.0, 0.0, 3));
    assert!(is_close(graph.total_estimate().standard_error, (1.5f64 * (56.0 - 144.0 / 3.0)).sqrt()));
    assert_eq!(graph.estimate(edge(7)), Estimate::default());
    assert_eq!((graph.total(), graph.share(edge(0)), graph.share(edge(7))), (12.0, 0.5, 0.0));
}

#[test]
fn exact_counts_have_no_error() {
    let mut graph = Dcg::new();
    graph.run(events("a b . . a").iter().filter_map(|event| event.edge()));
    graph.call(edge(1), 3.0);
    assert_eq!(figures(graph.estimate(edge(0))), (2.0, 0.0, 2));
    assert_eq!(figures(graph.estimate(edge(1))), (4.0, 0.0, 2));
    assert_eq!(graph.estimate(edge(1)).heat(0.6, 2.0), Heat::Hot);
    assert_eq!((graph.ticks(), graph.total()), (0, 6.0));
    // They add nothing to the error of what is sampled beside them.
    graph.add(&tick(1, 1.0, "a"));
    assert_eq!(graph.estimate(edge(0)).standard_error, f64::INFINITY, "one tick says nothing");
    graph.add(&tick(2, 1.0, ""));
    assert_eq!(figures(graph.estimate(edge(0))), (3.0, 1.0, 3));
}

#[test]
fn a_stack_walk_counts_the_edge_on_top() {
    let graph = graph(&[sample("abc", Observed::Top), sample("", Observed::Top)]);
    assert_eq!(graph.by_weight(), [(edge(2), 1.0)]);
}

#[test]
fn edges_beyond_the_limit_are_counted_as_dropped() {
    let mut small = Dcg::with_limit(2);
    small.add(&tick(1, 3.0, "a b c"));
    small.call(edge(3), 1.0);
    assert_eq!(small.by_weight(), [(edge(0), 3.0), (edge(1), 3.0)]);
    assert_eq!(small.dropped(), Dropped { calls: 2, weight: 4.0 });
    assert_eq!(small.total(), 10.0);
    let mut merged = Dcg::with_limit(1);
    merged.merge(&small);
    assert_eq!((merged.by_weight(), merged.total()), (vec![(edge(0), 3.0)], 10.0));
    assert_eq!(merged.dropped(), Dropped { calls: 3, weight: 7.0 });
    assert!(merged.edges.get(edge(1)).is_none(), "nor has it memory");
    assert!(small.bytes() >= 2 * size_of::<Sums>());
}

#[test]
fn receivers_of_a_call_site() {
    let mut program = Program::default();
    let function = |name: &str| Function { name: name.into(), file: "".into(), line: 0 };
    let functions: Vec<FuncId> = ["main", "a", "b"].map(|name| program.functions.push(function(name))).to_vec();
    let sites: Vec<CallSiteId> = [1, 2].map(|line| program.sites.push(CallSite { caller: functions[0], line })).to_vec();
    let start = program.edge(Edge { site: None.into(), callee: functions[0] });
    let [to_a, to_b] = [1, 2].map(|callee| program.edge(Edge { site: sites[0].into(), callee: functions[callee] }));
    let other = program.edge(Edge { site: sites[1].into(), callee: functions[1] });
    let mut graph = Dcg::new();
    for (edge, weight) in [(start, 1.0), (to_a, 10.0), (to_b, 30.0), (other, 5.0)] {
        graph.call(edge, weight);
    }
    let expected = [
        Receiver { edge: to_b, callee: functions[2], weight: 30.0, share: 0.75 },
        Receiver { edge: to_a, callee: functions[1], weight: 10.0, share: 0.25 },
    ];
    assert_eq!(graph.receivers(&program, sites[0]), expected);
    let all = graph.receivers_by_site(&program);
    assert_eq!(all.len(), 2);
    assert_eq!(all[&sites[0]], expected);
    assert_eq!(all[&sites[1]], graph.receivers(&program, sites[1]));
}

/// Numbers from 0 to 1.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as f64 / 2f64.powi(64)
    }
}

/// An estimate from `ticks` intervals, each seen with what it contributes: edge 0 with a weight drawn anew, edge 1 in a tenth of the ticks only.
fn simulated(seed: u64, ticks: u64) -> Dcg {
    let mut random = random(seed);
    let mut graph = Dcg::new();
    for number in 0..ticks {
        graph.add(&tick(number, random(), "a"));
        graph.add(&tick(number, 1.0, if random() < 0.1 { "b . b" } else { "" }));
    }
    graph
}

/// If the standard error is what it says, the squared deviations from the true mean in units of it are 1 in the mean. Over 1000 runs that mean strays by about 0.045.
#[test]
fn standard_errors_are_as_large_as_errors() {
    const RUNS: u64 = 1000;
    const TICKS: u64 = 100;
    for (number, truth) in [(0, 0.5 * TICKS as f64), (1, 0.2 * TICKS as f64)] {
        let squared = |seed: u64| {
            let Estimate { weight, standard_error, .. } = simulated(seed << 32, TICKS).estimate(edge(number));
            ((weight - truth) / standard_error).powi(2)
        };
        let mean = (0..RUNS).map(squared).sum::<f64>() / RUNS as f64;
        assert!((0.85..1.25).contains(&mean), "edge {number}: {mean}");
    }
}

/// Over 1000 runs, of which each says by how much it expects to be off.
#[test]
fn doubt_is_what_overlap_lacks() {
    const RUNS: u64 = 1000;
    // 0.5 a tick of one edge, 0.2 of the other.
    let truth = [5.0 / 7.0, 2.0 / 7.0];
    let (mut said, mut lacks) = (0.0, 0.0);
    for seed in 0..RUNS {
        let graph = simulated(seed << 32, 100);
        said += graph.doubt();
        lacks += 1.0 - truth.iter().enumerate().map(|(number, share)| graph.share(edge(number as u32)).min(*share)).sum::<f64>();
    }
    assert!((0.9..1.1).contains(&(said / lacks)), "{said} instead of {lacks}");
    assert_eq!(graph(&[tick(1, 1.0, "a . b")]).doubt(), f64::INFINITY, "one tick says nothing");
    assert_eq!(Dcg::new().doubt(), 0.0);
    // One edge has all calls, but how many those are is another thing in each tick: a phase that follows would show it.
    let mut graph = Dcg::new();
    (0..8).for_each(|number| graph.add(&tick(number, if number % 2 == 0 { 1.0 } else { 3.0 }, "a")));
    let total = graph.total_estimate();
    assert_eq!(graph.doubt(), total.standard_error / total.weight / 4.0);
    assert!(graph.doubt() > 0.04);
}

/// Windows that stand for very different times, in which a program calls at a pace that is drawn anew for each: the sum's error is that of the paces alone, since the times are known.
#[test]
fn times_that_differ_are_no_error() {
    const RUNS: u64 = 1000;
    const WINDOWS: u64 = 30;
    let (mut covered, mut ratio) = (0, 0.0);
    for seed in 0..RUNS {
        let mut random = random(seed << 32);
        let (mut graph, mut truth, mut variance) = (Dcg::new(), 0.0, 0.0);
        for number in 0..WINDOWS {
            let stands_for = 1.0 + 9.0 * random();
            let pace = 100.0 + 10.0 * (random() - 0.5);
            graph.add(&Sample { stands_for, ..tick(number, pace * stands_for, "a") });
            truth += 100.0 * stands_for;
            variance += (10.0 * stands_for).powi(2) / 12.0;
        }
        let Estimate { weight, standard_error, .. } = graph.estimate(edge(0));
        covered += u64::from((weight - truth).abs() <= 2.0 * standard_error);
        ratio += standard_error.powi(2) / variance / RUNS as f64;
    }
    let covered = covered as f64 / RUNS as f64;
    // 0.945, by Student's distribution of 29 degrees of freedom; three standard deviations of what 1000 runs show are 0.022. The stated variance leaves out what large windows take from the ratio themselves: a part in thirty or so.
    assert!((0.91..=0.97).contains(&covered), "the truth is within two standard errors in {covered} of all runs");
    assert!((0.9..=1.1).contains(&ratio), "variances are stated as {ratio} of what they are");
}

/// Weight, error and number of samples of each edge from what each tick of each thread contributed, by the two-pass formula.
fn slow(samples: &[Sample]) -> BTreeMap<EdgeId, (f64, f64, u64)> {
    let mut ticks: BTreeMap<(ThreadId, u64), BTreeMap<EdgeId, f64>> = BTreeMap::new();
    let mut seen: BTreeMap<EdgeId, u64> = BTreeMap::new();
    for sample in samples {
        let tick = ticks.entry((sample.thread, sample.tick)).or_default();
        for path in counted(sample) {
            let edge = path[path.len() - 1];
            *tick.entry(edge).or_default() += sample.weight;
            *seen.entry(edge).or_default() += 1;
        }
    }
    let n = ticks.len() as f64;
    let stand_for: BTreeMap<(ThreadId, u64), f64> =
        samples.iter().map(|sample| ((sample.thread, sample.tick), sample.stands_for)).collect();
    let all: f64 = stand_for.values().sum();
    let estimate = |edge, samples| {
        let parts: Vec<f64> = ticks.values().map(|tick| tick.get(&edge).copied().unwrap_or(0.0)).collect();
        let weight: f64 = parts.iter().sum();
        let deviations: f64 =
            parts.iter().zip(stand_for.values()).map(|(part, stands_for)| (part - weight / all * stands_for).powi(2)).sum();
        let standard_error = if n < 2.0 { f64::INFINITY } else { (n * deviations / (n - 1.0)).sqrt() };
        (edge, (weight, standard_error, samples))
    };
    seen.into_iter().map(|(edge, samples)| estimate(edge, samples)).collect()
}

proptest! {
    #[test]
    fn weights_and_errors(samples in any_samples()) {
        let graph = graph(&samples);
        let slow = slow(&samples);
        for (&edge, expected) in &slow {
            let (weight, error, samples) = figures(graph.estimate(edge));
            prop_assert_eq!((weight, samples), (expected.0, expected.2));
            // Roots magnify what rounding leaves where the error is 0.
            let expected = expected.1;
            prop_assert!(is_close(error, expected) || is_close(error * error, expected * expected), "{} {}", error, expected);
        }
        let sorted = graph.by_weight();
        prop_assert_eq!(sorted.len(), slow.len());
        prop_assert!(sorted.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        prop_assert_eq!(graph.total(), sorted.iter().map(|(_, weight)| weight).sum::<f64>());
    }

    /// Whether one graph gets all samples or each thread's go to a graph of their own.
    #[test]
    fn merged_graphs_are_the_graph_of_all(samples in any_samples()) {
        let all = graph(&samples);
        let mut merged = Dcg::new();
        for thread in (0..3).map(ThreadId::from_u32) {
            let own: Vec<Sample> = samples.iter().filter(|sample| sample.thread == thread).cloned().collect();
            let mut own = graph(&own);
            if thread.as_u32() == 1 {
                own.end(thread);
            }
            merged.merge(&own);
        }
        prop_assert_eq!((merged.ticks(), merged.by_weight()), (all.ticks(), all.by_weight()));
        for (edge, _) in all.by_weight() {
            prop_assert!(is_close(merged.estimate(edge).standard_error, all.estimate(edge).standard_error));
        }
        prop_assert!(is_close(merged.total_estimate().standard_error, all.total_estimate().standard_error));
    }

    #[test]
    fn exact_counts_are_the_contexts_weights(trace in any_events()) {
        let mut graph = Dcg::new();
        graph.run(trace.iter().filter_map(|event| event.edge()));
        let mut weights: BTreeMap<EdgeId, f64> = BTreeMap::new();
        for (path, weight) in contexts(&[sample("", Observed::burst(trace))]) {
            *weights.entry(path[path.len() - 1]).or_default() += weight;
        }
        prop_assert_eq!(graph.by_weight().into_iter().collect::<BTreeMap<_, _>>(), weights);
    }
}
