//! A profile for people and scripts: what was sampled, what it cost, what is hot, and how true it is.
//!
//! In: a [`Profile`], what the profiler counted, and for [`Accuracy`] the exact profile of the same run. Out: [`Report`], as data, as a table ([`Display`](std::fmt::Display)) and as JSON.

mod hot;
mod table;

pub use hot::{HotContext, HotEdge, HotFunction, PolymorphicSite, Target, Weighed};

use crate::collect::Collected;
use crate::counters::Counters;
use crate::diff::Diff;
use crate::ids::EdgeId;
use crate::metrics::{Comparison, contexts};
use crate::profile::{Contexts, Label, Profile, ProfileError};
use cranelift_entity::PrimaryMap;
use serde::Serialize;
use std::collections::BTreeMap;

/// What there is to say about a profile.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct Report {
    /// Program, mode and parameters.
    pub title: String,
    /// How long the run was, in nanoseconds of its clock.
    pub nanoseconds: f64,
    /// What profiling took, in percent of the time that threads have lived, by a model; `None` of a run, which has no other to be compared with.
    pub cost: Option<f64>,
    /// What the program's threads spent on samples in slow paths, in nanoseconds; what counting and recording take in the program's own code is not in it. `None` where a model tells the cost, or nobody does.
    pub slow_paths: Option<f64>,
    /// What the profiler's own thread worked beside the program, in nanoseconds; `None` where there is none.
    pub organizer: Option<f64>,
    /// What the profiler counted, by name.
    pub counters: BTreeMap<&'static str, u64>,
    /// Weight of all edges, in calls.
    pub calls: f64,
    /// Edges that were seen.
    pub edges: usize,
    /// `None` where only edges were kept.
    pub contexts: Option<Structure>,
    /// By weight.
    pub hottest_functions: Vec<HotFunction>,
    /// By weight.
    pub hottest_edges: Vec<HotEdge>,
    /// Call sites at which more than one function was called.
    pub polymorphic: usize,
    /// By weight.
    pub polymorphic_sites: Vec<PolymorphicSite>,
    /// By weight.
    pub hottest_contexts: Vec<HotContext>,
    /// Against the exact profile, where there is one.
    pub accuracy: Option<Accuracy>,
    /// Of all calls, those that the profile could not see since the optimizer had replaced them by the code they go to, in percent; `None` where that was not measured.
    pub unseen: Option<f64>,
    /// How much inlining there is where calls were observed; `None` where inlined calls are counted, or none are inlined.
    pub inlined: Option<Inlined>,
    /// Against an earlier profile, where there is one.
    pub diff: Option<Diff>,
    /// What a reader of the numbers has to know.
    pub notes: Vec<String>,
    /// Why what was profiled is not complete, if it is not.
    pub damage: Option<String>,
}

/// A context structure in figures.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Structure {
    /// Of the structure.
    pub name: String,
    /// Contexts that were seen.
    pub nodes: usize,
    /// While it grew, with edges and threads' stacks.
    pub bytes: usize,
    /// Observed calls that found no room, and frames of stacks behind which there were such.
    pub dropped: u64,
    /// The calls that they stand for.
    pub dropped_weight: f64,
}

/// Frames of inlined functions on the stacks of observed calls, while calls of inlined functions are not observed.
///
/// It is no share of calls: how often a frame's function was called is not known from its being on a stack, and inlined functions that call nothing which is not inlined are on none. 0 does not mean that no call was inlined.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Inlined {
    /// Part of the frames that are of inlined functions, in percent.
    pub share: f64,
    /// On all stacks together, that of the observed call's own function included.
    pub frames: u64,
    /// Observed calls, each with a stack.
    pub calls: u64,
}

/// How well a profile agrees with the exact one.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Accuracy {
    /// Of the DCGs.
    pub edges: Agreement,
    /// `None` without contexts, where the exact profile has no room for all of them, and where the limit on nodes has made two structures of them.
    pub contexts: Option<Agreement>,
}

/// PLDI'06 sections 3.1 and 3.2, CC-Map section 5 for the correlation.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Agreement {
    /// Degree of overlap, in percent; `None` where the exact profile counts no calls.
    pub overlap: Option<f64>,
    /// Of the profile over the exact one.
    pub hot_edge_coverage: Vec<Coverage>,
    /// Pearson's, of weights: -1 to 1. `None` where it is not defined.
    pub correlation: Option<f64>,
}

/// Hot-edge coverage (PLDI'06 section 3.2).
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Coverage {
    /// Part of the hottest weight from which an edge is hot.
    pub threshold: f64,
    /// In percent; `None` where the exact profile counts no calls.
    pub covered: Option<f64>,
}

impl Report {
    /// With the `most` hottest functions, edges, polymorphic sites and contexts.
    pub fn new(profile: &Profile, counters: &Counters, collected: &Collected, most: usize) -> Report {
        let Collected { size, sums, .. } = collected;
        let structure = |contexts: &Contexts| Structure {
            name: contexts.structure().to_string(),
            nodes: contexts.len(),
            bytes: size.bytes,
            dropped: size.dropped.calls,
            dropped_weight: size.dropped.weight,
        };
        let (polymorphic, polymorphic_sites) = hot::polymorphic_sites(profile, sums, most);
        Report {
            title: profile.meta().to_string(),
            nanoseconds: 0.0,
            cost: None,
            slow_paths: None,
            organizer: None,
            counters: counters.all().map(|(counter, value)| (counter.name, value)).collect(),
            calls: profile.dcg_total(),
            edges: profile.dcg().len(),
            contexts: profile.contexts().map(structure),
            hottest_functions: hot::functions(profile, sums, most),
            hottest_edges: hot::edges(profile, most),
            polymorphic,
            polymorphic_sites,
            hottest_contexts: profile.contexts().map_or(vec![], |contexts| hot::contexts(profile, contexts, most)),
            accuracy: None,
            unseen: None,
            inlined: None,
            diff: None,
            notes: Vec::new(),
            damage: None,
        }
    }

    /// One JSON object with the fields of this struct.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Accuracy {
    /// Both profiles are of the same program, functions and call sites with the same numbers; edges may have others.
    ///
    /// # Errors
    /// The contexts of one of them are no good ones.
    pub fn new(profile: &Profile, exact: &Profile, thresholds: &[f64]) -> Result<Accuracy, ProfileError> {
        let mut program = profile.program().clone();
        let edges: PrimaryMap<EdgeId, EdgeId> = exact.program().edges().values().map(|&edge| program.edge(edge)).collect();
        let ours = profile.dcg().iter().map(|edge| (edge.edge, edge.weight));
        let theirs = exact.dcg().iter().map(|edge| (edges[edge.edge], edge.weight));
        let agreement = |comparison: Comparison| Agreement {
            overlap: known(&comparison, Comparison::overlap),
            hot_edge_coverage: thresholds
                .iter()
                .map(|&threshold| Coverage { threshold, covered: known(&comparison, |all| all.hot_edge_coverage(threshold)) })
                .collect(),
            correlation: comparison.correlation(),
        };
        let theirs_in_contexts = exact.contexts().map(|contexts| renumbered(contexts, &edges)).transpose()?;
        let both = profile.contexts().zip(theirs_in_contexts.as_ref().filter(|_| is_whole(exact)));
        Ok(Accuracy {
            edges: agreement(Comparison::new(ours, theirs)),
            contexts: both.and_then(|(ours, theirs)| contexts::compare(ours, theirs)).map(agreement),
        })
    }
}

/// Every call has a context, if the profile has any.
fn is_whole(exact: &Profile) -> bool {
    exact.contexts().is_none_or(|contexts| contexts.dropped == 0)
}

/// The same contexts with other numbers for edges.
fn renumbered(contexts: &Contexts, edges: &PrimaryMap<EdgeId, EdgeId>) -> Result<Contexts, ProfileError> {
    let nodes = contexts.nodes().map(|(id, node)| {
        let label = match node.label {
            Label::Edge(edge) => Label::Edge(edges[edge]),
            Label::Function(_) => node.label,
        };
        (id, node.parent.expand(), label, node.weight)
    });
    Contexts::from_nodes(contexts.structure(), contexts.labels(), nodes)
}

/// Of what was not called nothing can be seen or missed.
fn known(comparison: &Comparison, of: impl Fn(&Comparison) -> f64) -> Option<f64> {
    (comparison.totals().1 > 0.0).then(|| of(comparison))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::{Errors, Size, SumErrors};
    use crate::ids::{EdgeId, FuncId};
    use crate::profile::{Certainty, DcgEdge, Labels, Meta, Seen, Structure as Kind};
    use crate::program::{CallSite, Edge, Function, Program};
    use crate::structures::dropped::Dropped;

    /// main calls itself, so deep that not all of it can be shown. Weights by edge and by depth.
    fn profile(calls: [f64; 2], depths: &[f64]) -> Profile {
        profile_of(Meta::default(), calls, depths)
    }

    fn profile_of(meta: Meta, calls: [f64; 2], depths: &[f64]) -> Profile {
        let mut program = Program::default();
        let main = program.functions.push(Function { name: "ma\nin".into(), file: "a.x".into(), line: 1 });
        let site = program.sites.push(CallSite { caller: main, line: 3 });
        let start = program.edge(Edge { site: None.into(), callee: main });
        let again = program.edge(Edge { site: Some(site).into(), callee: main });
        let mut contexts = Contexts::new(Kind::Cct, Labels::Edges);
        let mut parent = None;
        for &weight in depths {
            let label = Label::Edge(if parent.is_none() { start } else { again });
            parent = Some(contexts.push(label, parent, weight).expect("a good node"));
        }
        let seen = |&weight: &f64| {
            let known = weight > 1.0;
            Seen { error: known.then_some(weight / 8.0), share_error: known.then_some(0.25), samples: weight as u64 }
        };
        let seen = depths.iter().map(seen);
        let contexts = contexts.with_certainty(Certainty::Sampled(seen.collect())).expect("as many as nodes");
        let edge =
            |(edge, weight): (EdgeId, f64)| DcgEdge { edge, weight, error: Some(weight / 4.0), share_error: Some(0.125), samples: 7 };
        let edges = [start, again].into_iter().zip(calls).map(edge);
        Profile::builder(meta, program).dcg(edges).contexts(contexts).build().expect("a good profile")
    }

    fn report(profile: &Profile, most: usize) -> Report {
        let counters = Counters { calls: 1234, bursts_skipped: 5, time_ran: 1_500_000, ..Counters::default() };
        let size = Size { nodes: 20, bytes: 2048, dropped: Dropped { calls: 9, weight: 4.0 } };
        let mut sums = SumErrors::default();
        sums.functions[FuncId::from_u32(0)] = Errors { weight: Some(21.5), share: Some(0.0) };
        Report::new(profile, &counters, &Collected { size, sums }, most)
    }

    #[test]
    fn the_hottest_come_first_with_names_errors_and_shares() {
        let depths: Vec<f64> = (0..20).map(|depth| f64::from(depth % 7)).collect();
        let report = report(&profile([25.0, 75.0], &depths), 1);
        let [HotEdge { caller: Some(caller), line: 3, callee, calls }] = report.hottest_edges.as_slice() else {
            panic!("{:?}", report.hottest_edges)
        };
        assert_eq!(*calls, Weighed { weight: 75.0, error: Some(18.75), share: 75.0, share_error: Some(12.5), samples: 7 });
        assert_eq!((&*caller.name, caller), ("ma\nin", callee));
        let [hottest] = report.hottest_contexts.as_slice() else { panic!("{:?}", report.hottest_contexts) };
        assert_eq!((hottest.calls.weight, hottest.frames.len(), hottest.omitted), (6.0, 7, 0), "of equal ones the first");
        assert_eq!((hottest.calls.error, hottest.calls.samples), (Some(0.75), 6));
        let [function] = report.hottest_functions.as_slice() else { panic!("{:?}", report.hottest_functions) };
        assert_eq!(
            (function.calls.weight, function.calls.error, function.calls.samples, function.edges),
            (100.0, Some(21.5), 14, 2),
            "not from the edges' errors"
        );
    }

    #[test]
    fn what_all_weights_have_in_common_is_an_error_of_calls_and_not_of_shares() {
        let counters = Counters { calls: 100, calls_counted: 10, calls_corrected: 40, windows: 2, ..Counters::default() };
        let report = report(&profile_of(Meta { counters, ..Meta::default() }, [25.0, 75.0], &[1.0, 6.0]), 1);
        let (edge, context) = (report.hottest_edges[0].calls, report.hottest_contexts[0].calls);
        let common = counters.scale_error();
        assert!(common > 0.4, "what makes up for counting, and more");
        assert!((edge.error.expect("known") - (75.0 * common).hypot(18.75)).abs() < 1e-9, "{edge:?}");
        assert!((context.error.expect("known") - (6.0 * common).hypot(0.75)).abs() < 1e-9, "{context:?}");
        // A quarter of all 100 calls, in percent of the 7 that have contexts.
        assert_eq!((edge.share_error, context.share_error), (Some(12.5), Some(2500.0 / 7.0)));
    }

    #[test]
    fn a_sum_that_is_not_the_number_of_calls_is_an_error_in_both_directions() {
        for calls in [80, 120] {
            let counters = Counters { calls, ..Counters::default() };
            let edge = report(&profile_of(Meta { counters, ..Meta::default() }, [25.0, 75.0], &[1.0]), 1).hottest_edges[0].calls;
            assert!((edge.error.expect("known") - (75.0f64 * 0.2).hypot(18.75)).abs() < 1e-9, "{calls}: {edge:?}");
            assert_eq!(edge.share_error, Some(12.5));
        }
    }

    #[test]
    fn deep_contexts_show_their_innermost_frames() {
        let mut depths = vec![0.0; 19];
        depths.push(1.0);
        let report = report(&profile([25.0, 75.0], &depths), 5);
        assert_eq!(report.hottest_contexts.len(), 1, "contexts without calls are not hot");
        assert_eq!((report.hottest_contexts[0].frames.len(), report.hottest_contexts[0].omitted), (12, 8));
        let text = report.to_string();
        assert!(text.contains("(8 more) → ma\\nin → ma\\nin"), "{text}");
        let row = text.lines().find(|line| line.contains("(8 more)")).expect("the context");
        assert_eq!(
            row.split_whitespace().take(6).collect::<Vec<_>>(),
            ["1", "unknown", "100.00", "%", "unknown", "1"],
            "calls, error, share, its error, samples"
        );
        for part in [
            "100 calls",
            "1,234",
            "bursts-skipped",
            "time-ran                   1.500 ms",
            "CCT, 2,048 bytes, 9 observations dropped since it is full: 4.00 % of all calls have no context",
            "ma\\nin (a.x:1) line 3 → ma\\nin (a.x:1)",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(!text.contains("bursts-re-enabled"), "what did not happen: {text}");
    }

    #[test]
    fn accuracy_is_of_edges_and_of_contexts() {
        let (ours, exact) = (profile([25.0, 75.0], &[1.0, 1.0]), profile([50.0, 50.0], &[1.0, 3.0]));
        let accuracy = Accuracy::new(&ours, &exact, &[0.1, 0.9]).expect("good profiles");
        assert_eq!((accuracy.edges.overlap, accuracy.edges.correlation), (Some(75.0), None));
        assert_eq!(accuracy.edges.hot_edge_coverage.iter().filter_map(|c| c.covered).collect::<Vec<_>>(), [100.0, 50.0]);
        assert_eq!(accuracy.contexts.as_ref().and_then(|contexts| contexts.overlap), Some(75.0));
        let mut report = report(&ours, 3);
        report.accuracy = Some(accuracy);
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("JSON");
        assert_eq!(json["accuracy"]["edges"]["overlap"], 75.0);
        assert_eq!(json["counters"]["bursts-re-enabled"], 0);
        assert_eq!(json["hottest_edges"][0]["callee"]["name"], "ma\nin");
        assert!(report.to_string().contains("hot, T = 0.9"));
    }
}
