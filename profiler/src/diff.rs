//! Two profiles compared: how much they agree, and which edges differ most.
//!
//! In: two [`Profile`]s, of one program or of two versions of it. Out: [`Diff`], as data, as a table ([`Display`](std::fmt::Display)) and, with feature `export`, as JSON.
//! Two runs may number functions differently, so these are matched by name, file and line, call sites by caller and line, edges by call site and callee, and what has moved is known again ([`MatchedBy`]); what then coincides is added up.
//! Degree of overlap and hot-edge coverage as in PLDI'06 section 3 (for CCTs; here for DCGs too, as TACO'15 section 5.2 has the overlap), on shares of each profile's own total: runs may differ in length.

mod matching;
mod table;

use crate::ids::EdgeId;
use crate::metrics::Comparison;
use crate::names;
use crate::profile::{Contexts, Profile};
use crate::program::{Function, Program};
use cranelift_entity::SecondaryMap;
use matching::{Union, known_as};
#[cfg(feature = "export")]
pub(crate) use table::arrow;
#[cfg(feature = "export")]
pub(crate) use table::percent;
pub(crate) use table::{printable, text};

/// What a comparison shows.
#[derive(Clone, PartialEq, Debug)]
pub struct DiffOptions {
    /// Edges are hot from this part of the hottest edge's weight on (0 to 1).
    pub thresholds: Vec<f64>,
    /// How many of the edges that changed most are listed.
    pub changes: usize,
}

impl Default for DiffOptions {
    fn default() -> Self {
        DiffOptions { thresholds: vec![0.01, 0.1, 0.5], changes: 20 }
    }
}

/// How two profiles differ.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "export", derive(serde::Serialize))]
pub struct Diff {
    /// The first.
    pub before: Side,
    /// The second.
    pub after: Side,
    /// What it takes to be the same.
    pub matched_by: MatchedBy,
    /// Degree of overlap of the DCGs, in percent; `None` where one of them counts no calls.
    pub overlap: Option<f64>,
    /// Of the contexts, where both profiles have the same structure.
    pub context_overlap: Option<f64>,
    /// For each of the thresholds that were asked for.
    pub hot_edge_coverage: Vec<HotEdgeCoverage>,
    /// Edges with calls.
    pub edges: EdgeCounts,
    /// Edges whose shares differ.
    pub changed: usize,
    /// Those whose shares differ most, the largest difference first.
    pub changes: Vec<EdgeChange>,
}

/// What the same functions and call sites of two profiles have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "export", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum MatchedBy {
    /// Functions: name, file and line; call sites: caller and line.
    Places,
    /// Names: one of the profiles knows no more. All calls from one function to another are one edge.
    Names,
}

impl MatchedBy {
    fn of(before: &Profile, after: &Profile) -> MatchedBy {
        let knows_names_alone = |profile: &Profile| {
            let Program { functions, sites, .. } = profile.program();
            names::know_no_places(functions.values(), sites.values().map(|site| site.line))
        };
        if knows_names_alone(before) || knows_names_alone(after) { MatchedBy::Names } else { MatchedBy::Places }
    }
}

/// One of the two profiles.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "export", derive(serde::Serialize))]
pub struct Side {
    /// Program, mode and parameters.
    pub title: String,
    /// In the DCG.
    pub calls: f64,
    /// Observations that have no context, as [`Contexts::dropped`]: what overlap is told of is the rest.
    pub dropped: u64,
}

impl Side {
    fn of(profile: &Profile) -> Side {
        let dropped = profile.contexts().map_or(0, |contexts| contexts.dropped);
        Side { title: profile.meta().to_string(), calls: profile.dcg_total(), dropped }
    }
}

/// In percent; `None` where no edge is hot.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "export", derive(serde::Serialize))]
pub struct HotEdgeCoverage {
    /// Part of the hottest edge's weight from which edges are hot.
    pub threshold: f64,
    /// Of the edges that are hot after, those that were hot before.
    pub before_over_after: Option<f64>,
    /// Of the edges that were hot before, those that are hot after.
    pub after_over_before: Option<f64>,
}

/// How many edges are in which profile.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "export", derive(serde::Serialize))]
pub struct EdgeCounts {
    /// In both.
    pub both: usize,
    /// In the first alone.
    pub only_before: usize,
    /// In the second alone.
    pub only_after: usize,
}

/// A function as it is matched.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "export", derive(serde::Serialize))]
pub struct FunctionName {
    /// As the program calls it.
    pub name: Box<str>,
    /// Empty where unknown.
    pub file: Box<str>,
    /// 1-based, 0 where unknown.
    pub line: u32,
}

impl From<&Function> for FunctionName {
    fn from(Function { name, file, line }: &Function) -> Self {
        FunctionName { name: name.clone(), file: file.clone(), line: *line }
    }
}

/// An edge's part in both profiles.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "export", derive(serde::Serialize))]
pub struct EdgeChange {
    /// `None` for the first function of a thread.
    pub caller: Option<FunctionName>,
    /// Of the call, 0 where unknown.
    pub line: u32,
    /// The function that is called.
    pub callee: FunctionName,
    /// In calls.
    pub calls_before: f64,
    /// In calls.
    pub calls_after: f64,
    /// In percent of all calls.
    pub share_before: f64,
    /// In percent of all calls.
    pub share_after: f64,
    /// Standard error of the shares' difference in percentage points, `None` where an error is unknown.
    pub error: Option<f64>,
}

impl EdgeChange {
    /// In percentage points.
    pub fn change(&self) -> f64 {
        self.share_after - self.share_before
    }
}

/// What one profile says of an edge.
#[derive(Clone, Copy, Default)]
struct Weight {
    calls: f64,
    /// Square of the standard error of their share of all calls; NaN where unknown.
    share_variance: f64,
}

type Weights = SecondaryMap<EdgeId, Weight>;

/// Compares two profiles.
pub fn diff(before: &Profile, after: &Profile, options: &DiffOptions) -> Diff {
    let matched_by = MatchedBy::of(before, after);
    let mut union = Union::new(matched_by);
    let own = [before.program(), after.program()];
    let renamed = (matched_by == MatchedBy::Names).then(|| [names::as_in(own[0], own[1]), names::as_in(own[1], own[0])]);
    let [first, second] = renamed.as_ref().map_or(own, |[first, second]| [first, second]);
    let programs = [first, &known_as(second, first)];
    let (edges_before, edges_after) = (union.edges(programs[0]), union.edges(programs[1]));
    let weights = [weights(before, &edges_before), weights(after, &edges_after)];
    let pairs = || union.program.edges().keys().map(|edge| (weights[0][edge].calls, weights[1][edge].calls));
    let forth = Comparison::of_pairs(pairs());
    let back = Comparison::of_pairs(pairs().map(|(before, after)| (after, before)));
    let mut edges = EdgeCounts::default();
    for (before, after) in pairs() {
        match (before > 0.0, after > 0.0) {
            (true, true) => edges.both += 1,
            (true, false) => edges.only_before += 1,
            (false, true) => edges.only_after += 1,
            (false, false) => {}
        }
    }
    let mut changes = changes(&union, &weights, [before.dcg_total(), after.dcg_total()]);
    let changed = changes.len();
    changes.truncate(options.changes);
    Diff {
        before: Side::of(before),
        after: Side::of(after),
        matched_by,
        overlap: overlap(&forth),
        context_overlap: context_overlap(before.contexts().zip(after.contexts()), &mut union, programs, [&edges_before, &edges_after]),
        hot_edge_coverage: options.thresholds.iter().map(|&threshold| coverage(&forth, &back, threshold)).collect(),
        edges,
        changed,
        changes,
    }
}

fn weights(profile: &Profile, edges: &SecondaryMap<EdgeId, EdgeId>) -> Weights {
    let mut weights = Weights::new();
    for edge in profile.dcg() {
        let weight = &mut weights[edges[edge.edge]];
        weight.calls += edge.weight;
        weight.share_variance += edge.share_error.map_or(f64::NAN, |error| error * error);
    }
    weights
}

/// Degree of overlap; `None` where one of the two counts no calls.
fn overlap(of: &Comparison) -> Option<f64> {
    let (before, after) = of.totals();
    (before > 0.0 && after > 0.0).then(|| of.overlap())
}

fn context_overlap(
    contexts: Option<(&Contexts, &Contexts)>,
    union: &mut Union,
    programs: [&Program; 2],
    edges: [&SecondaryMap<EdgeId, EdgeId>; 2],
) -> Option<f64> {
    let alike = |a: &Contexts, b: &Contexts| a.structure() == b.structure() && a.labels() == b.labels();
    let (a, b) = contexts.filter(|(a, b)| alike(a, b))?;
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    union.contexts(programs[0], a, edges[0], |node, calls| at(&mut pairs, node).0 += calls);
    union.contexts(programs[1], b, edges[1], |node, calls| at(&mut pairs, node).1 += calls);
    overlap(&Comparison::of_pairs(pairs))
}

fn at(pairs: &mut Vec<(f64, f64)>, node: crate::profile::ContextId) -> &mut (f64, f64) {
    let index = node.as_u32() as usize;
    if pairs.len() <= index {
        pairs.resize(index + 1, (0.0, 0.0));
    }
    &mut pairs[index]
}

/// Hot-edge coverage both ways. No edge is hot where no calls are.
fn coverage(forth: &Comparison, back: &Comparison, threshold: f64) -> HotEdgeCoverage {
    let of = |side: &Comparison| (side.totals().1 > 0.0).then(|| side.hot_edge_coverage(threshold));
    HotEdgeCoverage { threshold, before_over_after: of(forth), after_over_before: of(back) }
}

/// The largest first.
fn changes(union: &Union, weights: &[Weights; 2], totals: [f64; 2]) -> Vec<EdgeChange> {
    let percent = |part: f64, total: f64| if total > 0.0 { 100.0 * part / total } else { 0.0 };
    let change = |edge: EdgeId| {
        let [before, after] = [weights[0][edge], weights[1][edge]];
        let error = 100.0 * (before.share_variance + after.share_variance).sqrt();
        let program = &union.program;
        EdgeChange {
            caller: program.caller(edge).map(|caller| (&program.functions[caller]).into()),
            line: program.edges()[edge].site.expand().map_or(0, |site| program.sites[site].line),
            callee: (&program.functions[program.callee(edge)]).into(),
            calls_before: before.calls,
            calls_after: after.calls,
            share_before: percent(before.calls, totals[0]),
            share_after: percent(after.calls, totals[1]),
            error: (!error.is_nan()).then_some(error),
        }
    };
    let mut changes: Vec<EdgeChange> = union.program.edges().keys().map(change).filter(|change| change.change() != 0.0).collect();
    changes.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
    changes
}

#[cfg(feature = "export")]
impl Diff {
    /// One JSON object with the fields of this struct; percentages are in percent, weights in calls.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
