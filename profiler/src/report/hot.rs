//! What is hot: functions, edges, call sites with several callees, contexts, each by weight.
//!
//! In: a [`Profile`], errors of shares and of sums of its edges. Out: rows of a [`Report`](super::Report).

use crate::collect::{Errors, SumErrors};
use crate::diff::FunctionName;
use crate::estimate::share;
use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::profile::{Certainty, ContextId, Contexts, DcgEdge, Profile, Seen};
use cranelift_entity::PrimaryMap;
use serde::Serialize;

/// Frames that are shown of a context: the innermost.
const FRAMES: usize = 12;

/// Calls, and how sure their number is.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Weighed {
    /// In calls.
    pub weight: f64,
    /// Standard error of the weight, `None` where unknown. What all weights have in common is part of it ([`Profile::scale_error`]).
    pub error: Option<f64>,
    /// In percent of all calls.
    pub share: f64,
    /// Standard error of the share, in percent of all calls, `None` where unknown. Mostly smaller than the weight's: how many calls there were is no part of it.
    pub share_error: Option<f64>,
    /// Observed calls.
    pub samples: u64,
}

/// A function and how often it was called, from wherever.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HotFunction {
    /// The function that is called.
    pub function: FunctionName,
    /// Its calls.
    #[serde(flatten)]
    pub calls: Weighed,
    /// Edges that lead to it.
    pub edges: usize,
}

/// An edge and its weight.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HotEdge {
    /// `None` for the first function of a thread.
    pub caller: Option<FunctionName>,
    /// Of the call, 0 where unknown.
    pub line: u32,
    /// The function that is called.
    pub callee: FunctionName,
    /// Its calls.
    #[serde(flatten)]
    pub calls: Weighed,
}

/// A call site at which more than one function was called.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PolymorphicSite {
    /// The function it is in.
    pub caller: FunctionName,
    /// Of the call, 0 where unknown.
    pub line: u32,
    /// Its calls.
    #[serde(flatten)]
    pub calls: Weighed,
    /// By weight.
    pub targets: Vec<Target>,
}

/// Where calls of a site go.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Target {
    /// The function that is called.
    pub callee: FunctionName,
    /// In calls.
    pub weight: f64,
    /// In percent of the site's calls.
    pub share: f64,
    /// Observed calls.
    pub samples: u64,
}

/// A context and the weight of the calls made in it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HotContext {
    /// Functions, outermost first.
    pub frames: Vec<FunctionName>,
    /// Frames further out that are not shown.
    pub omitted: usize,
    /// Its calls, in percent of those that contexts have.
    #[serde(flatten)]
    pub calls: Weighed,
}

/// What the errors of all rows follow from, beside their own.
#[derive(Clone, Copy)]
struct Whole {
    /// Of which rows have shares.
    calls: f64,
    /// In all, of which errors are told.
    all_calls: f64,
    /// [`Profile::scale_error`].
    scale_error: f64,
}

impl Whole {
    /// `errors`: if the factor were known.
    fn part(self, weight: f64, errors: Errors, samples: u64) -> Weighed {
        Weighed {
            weight,
            error: errors.weight.map(|error| error.hypot(self.scale_error * weight)),
            share: percent(weight, self.calls),
            share_error: errors.share.map(|error| percent(error * self.all_calls, self.calls)),
            samples,
        }
    }
}

/// Of several edges together.
#[derive(Clone, Copy, Default)]
struct Sum {
    weight: f64,
    samples: u64,
    edges: usize,
}

impl Sum {
    fn add(&mut self, edge: &DcgEdge) {
        self.weight += edge.weight;
        self.samples += edge.samples;
        self.edges += 1;
    }
}

pub(super) fn functions(profile: &Profile, errors: &SumErrors, most: usize) -> Vec<HotFunction> {
    let (program, whole) = (profile.program(), whole(profile));
    let mut sums: PrimaryMap<FuncId, Sum> = program.functions.values().map(|_| Sum::default()).collect();
    seen(profile).for_each(|edge| sums[program.callee(edge.edge)].add(edge));
    let named = |(function, weight): (FuncId, f64)| HotFunction {
        function: (&program.functions[function]).into(),
        calls: whole.part(weight, errors.functions[function], sums[function].samples),
        edges: sums[function].edges,
    };
    hottest(sums.iter().map(|(function, sum)| (function, sum.weight)).collect(), most).into_iter().map(named).collect()
}

pub(super) fn edges(profile: &Profile, most: usize) -> Vec<HotEdge> {
    let (program, whole) = (profile.program(), whole(profile));
    let named = |&DcgEdge { edge, weight, error, share_error, samples }: &DcgEdge| HotEdge {
        caller: program.caller(edge).map(|caller| (&program.functions[caller]).into()),
        line: program.edges()[edge].site.expand().map_or(0, |site| program.sites[site].line),
        callee: (&program.functions[program.callee(edge)]).into(),
        calls: whole.part(weight, Errors { weight: error, share: share_error }, samples),
    };
    let edges = profile.dcg().iter().map(|edge| (edge, edge.weight)).collect();
    hottest(edges, most).into_iter().map(|(edge, _)| named(edge)).collect()
}

/// How many there are, and the hottest of them.
pub(super) fn polymorphic_sites(profile: &Profile, errors: &SumErrors, most: usize) -> (usize, Vec<PolymorphicSite>) {
    let program = profile.program();
    let mut sites: PrimaryMap<CallSiteId, (Sum, Vec<&DcgEdge>)> = program.sites.values().map(|_| (Sum::default(), Vec::new())).collect();
    for edge in seen(profile) {
        if let Some(site) = program.edges()[edge.edge].site.expand() {
            sites[site].0.add(edge);
            sites[site].1.push(edge);
        }
    }
    let polymorphic: Vec<_> = sites.iter().filter(|(_, (_, edges))| edges.len() > 1).map(|(site, (sum, _))| (site, sum.weight)).collect();
    let named = |(site, weight): (CallSiteId, f64)| {
        let (sum, edges) = &sites[site];
        PolymorphicSite {
            caller: (&program.functions[program.sites[site].caller]).into(),
            line: program.sites[site].line,
            calls: whole(profile).part(weight, errors.sites[site], sum.samples),
            targets: targets(profile, edges, weight, most),
        }
    };
    (polymorphic.len(), hottest(polymorphic, most).into_iter().map(named).collect())
}

fn targets(profile: &Profile, edges: &[&DcgEdge], total: f64, most: usize) -> Vec<Target> {
    let callee = |edge: EdgeId| (&profile.program().functions[profile.program().callee(edge)]).into();
    let named =
        |&DcgEdge { edge, weight, samples, .. }: &DcgEdge| Target { callee: callee(edge), weight, share: percent(weight, total), samples };
    hottest(edges.iter().map(|edge| (edge, edge.weight)).collect(), most).into_iter().map(|(edge, _)| named(edge)).collect()
}

pub(super) fn contexts(profile: &Profile, contexts: &Contexts, most: usize) -> Vec<HotContext> {
    let (own, whole) = (contexts.own_weights(), Whole { calls: contexts.total(), ..whole(profile) });
    let nodes = contexts.nodes().map(|(id, _)| (id, own[id])).collect();
    let named = |(id, weight): (ContextId, f64)| {
        let (frames, omitted) = frames(profile, contexts, id);
        let (errors, samples) = match contexts.certainty() {
            Certainty::Unknown => (Errors::default(), 0),
            // Each call counts 1.
            Certainty::Exact => (Errors { weight: Some(0.0), share: Some(0.0) }, weight.round() as u64),
            Certainty::Sampled(seen) => {
                let Seen { error, share_error, samples } = seen[id];
                (Errors { weight: error, share: share_error }, samples)
            }
        };
        HotContext { frames, omitted, calls: whole.part(weight, errors, samples) }
    };
    hottest(nodes, most).into_iter().map(named).collect()
}

/// The innermost functions of a context, outermost first, and how many there are around them.
fn frames(profile: &Profile, contexts: &Contexts, id: ContextId) -> (Vec<FunctionName>, usize) {
    let path = std::iter::successors(Some(id), |&id| contexts.node(id).parent.expand());
    let mut path: Vec<ContextId> = path.collect();
    if !contexts.structure().is_reversed() {
        path.reverse();
    }
    let omitted = path.len().saturating_sub(FRAMES);
    let function = |&id: &ContextId| (&profile.program().functions[profile.function(contexts.node(id).label)]).into();
    (path[omitted..].iter().map(function).collect(), omitted)
}

fn whole(profile: &Profile) -> Whole {
    let calls = profile.dcg_total();
    Whole { calls, all_calls: calls, scale_error: profile.scale_error() }
}

/// Edges with calls.
fn seen(profile: &Profile) -> impl Iterator<Item = &DcgEdge> {
    profile.dcg().iter().filter(|edge| edge.weight > 0.0)
}

/// The heaviest, in order; of equal ones those that came first.
fn hottest<K>(mut entries: Vec<(K, f64)>, most: usize) -> Vec<(K, f64)> {
    entries.retain(|(_, weight)| *weight > 0.0);
    entries.sort_by(|a, b| b.1.total_cmp(&a.1));
    entries.truncate(most);
    entries
}

fn percent(part: f64, whole: f64) -> f64 {
    100.0 * share(part, whole)
}
