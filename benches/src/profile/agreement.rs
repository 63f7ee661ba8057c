//! How well a profile agrees with the exact one of another run of the same program.
//!
//! In: two profiles of the same code, so that functions and call sites have the same numbers; edges are numbered as a run meets them, and are renumbered here. Out: [`Comparison`]s of edges and of contexts.

use profiler::ids::EdgeId;
use profiler::metrics::{Comparison, contexts};
use profiler::profile::{Contexts, Label, Labels, Profile};
use std::collections::HashMap;
use std::num::NonZeroUsize;

/// Part of the hottest edge's weight from which edges are hot, in the tables.
pub const HOT: f64 = 0.1;
/// Part of the threshold by which an edge lies clear above it.
pub const CLEAR: f64 = 0.1;

pub struct Agreement {
    pub dcg: Comparison,
    /// Children of a node are told apart by call site and callee.
    pub contexts: Comparison,
    /// By callee alone, as in PLDI'06 (section 2).
    pub methods: Comparison,
}

impl Agreement {
    /// `k`: contexts that agree in the last so many calls are the same, as in a k-CCF of routines (1: an edge profile). Fails where the profiles are of different code, or have no contexts of the same structure.
    pub fn new(sampled: &Profile, exact: &Profile, k: Option<NonZeroUsize>) -> Result<Agreement, String> {
        let (ours, theirs) = (sampled.program(), exact.program());
        if ours.functions != theirs.functions || ours.sites != theirs.sites {
            return Err(format!("{}: two runs have different code; this is a bug", exact.meta()));
        }
        let mut program = theirs.clone();
        let numbers: Vec<EdgeId> = ours.edges().values().map(|&edge| program.edge(edge)).collect();
        let number = |edge: EdgeId| numbers[edge.as_u32() as usize];
        let weights = |profile: &Profile| profile.dcg().iter().map(|edge| (edge.edge, edge.weight)).collect::<Vec<_>>();
        let dcg = Comparison::new(weights(sampled).into_iter().map(|(edge, weight)| (number(edge), weight)), weights(exact));
        let none = || format!("{}: contexts were not kept alike", sampled.meta());
        let (of_sampled, of_exact) = sampled.contexts().zip(exact.contexts()).ok_or_else(none)?;
        let callee = |edge: EdgeId| Label::Function(program.callee(edge));
        let methods =
            [relabelled(of_sampled, Labels::Functions, |edge| callee(number(edge)))?, relabelled(of_exact, Labels::Functions, callee)?];
        let methods = contexts::compare(&methods[0], &methods[1]).ok_or_else(none)?;
        let of_sampled = &relabelled(of_sampled, of_sampled.labels(), |edge| Label::Edge(number(edge)))?;
        let contexts = match k {
            None => contexts::compare(of_sampled, of_exact).ok_or_else(none)?,
            Some(k) => Comparison::new(reaching_back(of_sampled, k), reaching_back(of_exact, k)),
        };
        Ok(Agreement { dcg, contexts, methods })
    }
}

/// Observations from which an edge's error is looked at.
const OBSERVED: u64 = 20;

/// Of the edges that were observed often enough, the part in percent whose true weight, that of the exact profile so many `times`, lies within two stated standard errors: about 95 if errors are what they claim to be. `None` where
/// none is stated.
pub fn covered(sampled: &Profile, exact: &Profile, times: u32) -> Option<f64> {
    let key = |profile: &Profile, edge: EdgeId| {
        let edge = profile.program().edges()[edge];
        (edge.site.expand().map(|site| site.as_u32()), edge.callee.as_u32())
    };
    let truth: HashMap<_, f64> = exact.dcg().iter().map(|edge| (key(exact, edge.edge), edge.weight * f64::from(times))).collect();
    let stated = sampled.dcg().iter().filter(|edge| edge.samples >= OBSERVED);
    let scale_error = sampled.scale_error();
    let stated = stated.filter_map(|edge| Some((edge, edge.error.filter(|&error| error > 0.0)?.hypot(scale_error * edge.weight))));
    let is_within = |weight: f64, edge, error| (weight - truth.get(&edge).copied().unwrap_or(0.0)).abs() <= 2.0 * error;
    let within: Vec<bool> = stated.map(|(edge, error)| is_within(edge.weight, key(sampled, edge.edge), error)).collect();
    (!within.is_empty()).then(|| 100.0 * within.iter().filter(|&&within| within).count() as f64 / within.len() as f64)
}

fn relabelled(contexts: &Contexts, labels: Labels, label_of: impl Fn(EdgeId) -> Label) -> Result<Contexts, String> {
    let mut out = Contexts::new(contexts.structure(), labels);
    for (_, node) in contexts.nodes() {
        let label = match node.label {
            Label::Edge(edge) => label_of(edge),
            Label::Function(function) => Label::Function(function),
        };
        out.push(label, node.parent.expand(), node.weight).map_err(|error| error.to_string())?;
    }
    Ok(out)
}

/// The last k calls of each context of a CCT, the innermost first, with the context's weight.
fn reaching_back(contexts: &Contexts, k: NonZeroUsize) -> impl Iterator<Item = (Vec<Label>, f64)> {
    let own = contexts.own_weights();
    contexts.nodes().map(move |(id, _)| {
        let path = std::iter::successors(Some(id), |&id| contexts.node(id).parent.expand());
        (path.take(k.get()).map(|id| contexts.node(id).label).collect(), own[id])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use profiler::profile::{DcgEdge, Meta, Structure};
    use profiler::program::{CallSite, Edge, Function, Program};

    /// main calls a, then b, or b, then a: the edges' numbers differ. `weights`: of a and b.
    fn profile(a_first: bool, weights: [f64; 2]) -> Profile {
        let mut program = Program::default();
        let [main, a, b] = ["main", "a", "b"].map(|name| program.functions.push(Function { name: name.into(), file: "".into(), line: 1 }));
        let site = program.sites.push(CallSite { caller: main, line: 2 });
        let start = program.edge(Edge { site: None.into(), callee: main });
        let mut calls = vec![(a, weights[0]), (b, weights[1])];
        if !a_first {
            calls.reverse();
        }
        let mut contexts = Contexts::new(Structure::Cct, Labels::Edges);
        let root = contexts.push(Label::Edge(start), None, 0.0).expect("a node");
        for (callee, weight) in calls {
            let edge = program.edge(Edge { site: Some(site).into(), callee });
            contexts.push(Label::Edge(edge), Some(root), weight).expect("a node");
        }
        Profile::builder(Meta::default(), program).contexts(contexts).dcg_from_contexts().build().expect("a profile")
    }

    #[test]
    fn edges_are_matched_by_what_they_are() {
        let agreement = Agreement::new(&profile(false, [30.0, 10.0]), &profile(true, [1.0, 1.0]), None).expect("the same code");
        assert_eq!((agreement.dcg.overlap(), agreement.contexts.overlap()), (75.0, 75.0));
        let same = Agreement::new(&profile(false, [3.0, 1.0]), &profile(true, [3.0, 1.0]), None).expect("the same code");
        assert_eq!((same.dcg.overlap(), same.contexts.overlap()), (100.0, 100.0));
    }

    #[test]
    fn errors_cover_the_truth_or_do_not() {
        let with = |weight: f64, error: f64| {
            let program = profile(false, [1.0, 1.0]).program().clone();
            let edges = program.edges().keys().skip(1).map(|edge| DcgEdge {
                edge,
                weight,
                error: Some(error),
                share_error: None,
                samples: OBSERVED,
            });
            Profile::builder(Meta::default(), program.clone()).dcg(edges).build().expect("a profile")
        };
        let exact = profile(true, [10.0, 20.0]);
        assert_eq!(covered(&with(33.0, 2.0), &exact, 3), Some(50.0), "30 is near, 60 is not");
        assert_eq!(covered(&with(15.0, 2.6), &exact, 1), Some(100.0));
        assert_eq!(covered(&with(15.0, 0.0), &exact, 1), None);
    }

    #[test]
    fn call_sites_tell_contexts_apart_and_methods_do_not() {
        // main calls f from two sites.
        let of = |weights: [f64; 2]| {
            let mut program = Program::default();
            let [main, f] = ["main", "f"].map(|name| program.functions.push(Function { name: name.into(), file: "".into(), line: 1 }));
            let sites = [2, 3].map(|line| program.sites.push(CallSite { caller: main, line }));
            let start = program.edge(Edge { site: None.into(), callee: main });
            let mut contexts = Contexts::new(Structure::Cct, Labels::Edges);
            let root = contexts.push(Label::Edge(start), None, 0.0).expect("a node");
            for (site, weight) in sites.into_iter().zip(weights) {
                let edge = program.edge(Edge { site: Some(site).into(), callee: f });
                contexts.push(Label::Edge(edge), Some(root), weight).expect("a node");
            }
            Profile::builder(Meta::default(), program).contexts(contexts).dcg_from_contexts().build().expect("a profile")
        };
        let agreement = Agreement::new(&of([1.0, 3.0]), &of([3.0, 1.0]), None).expect("the same code");
        assert_eq!((agreement.contexts.overlap(), agreement.methods.overlap()), (50.0, 100.0));
    }

    #[test]
    fn contexts_that_end_alike_are_one_where_k_is_small() {
        // main calls f directly and through itself: two contexts of one edge.
        let of = |weights: [f64; 2]| {
            let mut program = Program::default();
            let [main, f] = ["main", "f"].map(|name| program.functions.push(Function { name: name.into(), file: "".into(), line: 1 }));
            let site = program.sites.push(CallSite { caller: main, line: 2 });
            let [start, again, call] = [(None, main), (Some(site), main), (Some(site), f)]
                .map(|(site, callee)| Label::Edge(program.edge(Edge { site: site.into(), callee })));
            let mut contexts = Contexts::new(Structure::Cct, Labels::Edges);
            let outer = contexts.push(start, None, 0.0).expect("a node");
            let inner = contexts.push(again, Some(outer), 0.0).expect("a node");
            for (parent, weight) in [outer, inner].into_iter().zip(weights) {
                contexts.push(call, Some(parent), weight).expect("a node");
            }
            Profile::builder(Meta::default(), program).contexts(contexts).dcg_from_contexts().build().expect("a profile")
        };
        let overlap = |k| Agreement::new(&of([1.0, 3.0]), &of([2.0, 2.0]), NonZeroUsize::new(k)).expect("the same code").contexts.overlap();
        assert_eq!([overlap(0), overlap(1), overlap(2), overlap(9)], [75.0, 100.0, 75.0, 75.0]);
    }
}
