//! A profile as policies ask it: how often a call goes where, in whatever context or behind the calls that were inlined around it.
//!
//! In: a [`Profile`], or what a [`Collector`] has collected so far; the program that is compiled, whose numbers are the answers'. Out: [`ProfileView`], which does not change any more and may be asked from any thread.
//!
//! How often one *copy* of a call runs, that is, behind a chain of inlined calls, follows from the longest part of the chain, counted outwards from the call, for which contexts are known well enough; for the rest of the chain
//! it is assumed that a function does the same whoever calls it: a copy has that part of the calls in the context which the copy of the call around it has of the entries. So what came in with a call that never runs never runs either.
//! With [`Weighting::Edges`] that is assumed for the whole chain.

mod contexts;

use super::evidence::Seen;
use crate::collect::{CollectError, Collector};
use crate::estimate::share;
use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::matching::{Mapping, Names};
use crate::profile::{ContextId, DcgEdge, Label, Meta, Profile};
use crate::program::Program;
use crate::tuning;
use contexts::{ContextIndex, InContexts, Levels};
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use rustc_hash::FxHashMap;

/// Calls of one kind, as far as they are known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Calls {
    /// In calls.
    pub weight: f64,
    /// Standard error of the weight: 0 where every call was counted, `None` where unknown.
    pub error: Option<f64>,
    /// Observed calls, `None` where unknown.
    pub samples: Option<u64>,
}

/// No calls.
impl Default for Calls {
    fn default() -> Self {
        Calls { weight: 0.0, error: Some(0.0), samples: Some(0) }
    }
}

impl Calls {
    /// Both kinds, which are independent of each other.
    fn plus(self, other: Calls) -> Calls {
        Calls {
            weight: self.weight + other.weight,
            error: self.error.zip(other.error).map(|(a, b)| a.hypot(b)),
            samples: self.samples.zip(other.samples).map(|(a, b)| a.saturating_add(b)),
        }
    }

    /// Those to all receivers.
    pub(super) fn sum(receivers: &[Receiver]) -> Calls {
        receivers.iter().fold(Calls::default(), |sum, receiver| sum.plus(receiver.calls))
    }

    /// There are calls, and it is not known of them that they are fewer than so many independent samples: those of one burst come from one moment, and are as many as their weight's error says.
    pub fn is_sure(&self, samples: u64) -> bool {
        let independent = self.error.map_or(f64::INFINITY, |error| (self.weight / error).powi(2));
        self.weight > 0.0 && (self.error == Some(0.0) || self.samples.is_none_or(|known| known >= samples) && independent >= samples as f64)
    }

    /// The part of an edge's calls that was made in a context. Its error is at least that of its part of the edge's, and of which samples those were by chance, as if they were independent; samples of one burst are not, which the errors of
    /// contexts tell.
    fn part(self, InContexts { weight, variance }: InContexts) -> Calls {
        let part = share(weight, self.weight).clamp(0.0, 1.0);
        let error = match (self.error, self.samples) {
            (Some(0.0), _) => Some(0.0),
            (Some(error), Some(samples)) if samples > 0 => {
                let chance = self.weight * (part * (1.0 - part) / samples as f64).sqrt();
                Some((part * error).hypot(chance).max(variance.sqrt()))
            }
            _ => None,
        };
        Calls { weight, error, samples: self.samples.map(|samples| (part * samples as f64).round() as u64) }
    }
}

/// A function to which calls of a site went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Receiver {
    /// The function.
    pub callee: FuncId,
    /// The calls.
    pub calls: Calls,
}

/// Which weights a policy goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weighting {
    /// Those of edges, the same in all contexts.
    Edges,
    /// Those in context, as far as contexts are known.
    Contexts,
}

/// What a call site does in a context.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Local {
    /// Calls of the chain that make the context, counted outwards.
    pub context: usize,
    /// Where the site's calls went, the heaviest first; of equal ones that with the lower number.
    pub receivers: Vec<Receiver>,
    /// Of the function around the site.
    pub entered: Calls,
}

impl Local {
    /// All calls of the site.
    pub fn calls(&self) -> Calls {
        Calls::sum(&self.receivers)
    }
}

/// Of something, 0 to 1, with its standard error.
#[derive(Clone, Copy)]
struct Part {
    size: f64,
    error: Option<f64>,
    /// Not 0 because nothing is known of it.
    is_known: bool,
}

/// Of a call behind a chain of inlined calls.
struct SiteCopy {
    /// Those to one callee, and whoever they go to.
    calls: Calls,
    at_site: Calls,
    /// The function around the call was seen so often that the call would have been seen if it mattered, and it is not only here that the call was not: whether the function runs at all behind this chain is known.
    knows_caller: bool,
    /// What this follows from.
    local: Local,
}

/// See the [module](self).
#[derive(Clone, Default, Debug)]
pub struct ProfileView {
    /// As [`Local::receivers`].
    receivers: FxHashMap<CallSiteId, Vec<Receiver>>,
    entries: FxHashMap<FuncId, Calls>,
    callers: SecondaryMap<CallSiteId, PackedOption<FuncId>>,
    contexts: Option<ContextIndex>,
    total: Calls,
    /// Every call was counted.
    is_exact: bool,
    /// Of the edges that the program does not have, in calls.
    unmatched: f64,
}

impl ProfileView {
    /// What a profile says of the program `now`. What the program no longer has counts in the total only; [`Staleness`](crate::profile::Staleness) can name it.
    /// Contexts whose nodes are functions say nothing of call sites and are left out.
    pub fn new(profile: &Profile, now: &Program) -> ProfileView {
        ProfileView::mapped(profile, now, &Names::of(profile.program()).find_in(now))
    }

    /// What a profile says of its own program, whose names it need not have.
    pub fn of_own(profile: &Profile) -> ProfileView {
        ProfileView::mapped(profile, profile.program(), &Mapping::same())
    }

    fn mapped(profile: &Profile, now: &Program, mapping: &Mapping) -> ProfileView {
        let program = profile.program();
        let mut view = ProfileView::default();
        for (site, known) in &now.sites {
            view.callers[site] = Some(known.caller).into();
        }
        let edges = edges(profile);
        view.is_exact = !edges.is_empty() && edges.iter().all(|(_, calls)| calls.error == Some(0.0));
        for (edge, calls) in edges {
            let known = program.edges()[edge];
            view.total = view.total.plus(calls);
            let site = known.site.expand().map(|site| mapping.site(site));
            let (Some(callee), false) = (mapping.function(known.callee), site == Some(None)) else {
                view.unmatched += calls.weight;
                continue;
            };
            let entries = view.entries.entry(callee).or_default();
            *entries = entries.plus(calls);
            if let Some(site) = site.flatten() {
                let receivers = view.receivers.entry(site).or_default();
                match receivers.iter_mut().find(|receiver| receiver.callee == callee) {
                    Some(receiver) => receiver.calls = receiver.calls.plus(calls),
                    None => receivers.push(Receiver { callee, calls }),
                }
            }
        }
        view.receivers.values_mut().for_each(|receivers| sort(receivers));
        view.contexts = profile.contexts().and_then(|contexts| ContextIndex::new(contexts, program, mapping));
        view
    }

    /// What was collected so far of the program `now`, which has all edges that samples had; `calls` as of [`Collector::profile`]. Takes time and memory for all contexts.
    ///
    /// # Errors
    /// A sample had an edge that the program does not have.
    pub fn of_collector(collector: &Collector, now: &Program, calls: Option<u64>) -> Result<ProfileView, CollectError> {
        Ok(ProfileView::of_own(&collector.profile(Meta::default(), now.clone(), calls)?))
    }

    /// Of all edges, those too that the program no longer has.
    pub fn total(&self) -> Calls {
        self.total
    }

    /// The part of the total over edges that the program no longer has: 0 to 1.
    pub fn unmatched(&self) -> f64 {
        share(self.unmatched, self.total.weight)
    }

    /// Whether there are contexts to look calls up in.
    pub fn has_contexts(&self) -> bool {
        self.contexts.is_some()
    }

    /// The calls over an edge, in whatever context.
    pub fn edge(&self, site: CallSiteId, callee: FuncId) -> Calls {
        self.find(self.receivers(site), callee)
    }

    fn find(&self, receivers: &[Receiver], callee: FuncId) -> Calls {
        receivers.iter().find(|receiver| receiver.callee == callee).map_or(self.unseen(), |receiver| receiver.calls)
    }

    /// That a sampler saw nothing says little.
    fn unseen(&self) -> Calls {
        Calls { error: self.is_exact.then_some(0.0), ..Calls::default() }
    }

    /// Where a site's calls went in whatever context, the heaviest first.
    pub fn receivers(&self, site: CallSiteId) -> &[Receiver] {
        self.receivers.get(&site).map_or(&[], Vec::as_slice)
    }

    /// All calls of a function.
    pub fn entries(&self, function: FuncId) -> Calls {
        self.entries.get(&function).copied().unwrap_or(self.unseen())
    }

    /// What a site does behind a chain of calls, outermost first: by the longest part of the chain that is known from at least [`tuning::INLINE_CONTEXT_SAMPLES`], or by the edges alone, as where contexts are not known of
    /// [`tuning::INLINE_CONTEXTS_KNOWN`] of the site's calls, or of those of the call before it.
    pub fn local(&self, chain: &[CallSiteId], site: CallSiteId, weighting: Weighting) -> Local {
        let known = match (weighting, &self.contexts) {
            (Weighting::Contexts, Some(contexts)) => self.in_context(contexts, chain, site),
            _ => None,
        };
        known.unwrap_or_else(|| Local {
            context: 0,
            receivers: self.receivers(site).to_vec(),
            entered: self.callers[site].map(|caller| self.entries(caller)).unwrap_or_default(),
        })
    }

    fn in_context(&self, contexts: &ContextIndex, chain: &[CallSiteId], site: CallSiteId) -> Option<Local> {
        let (&last, outer) = chain.split_last()?;
        let caller = self.callers[site].expand()?;
        let levels = contexts.levels(site, chain);
        let entries = contexts.levels(last, outer);
        if !self.knows_contexts(site, &levels) || !self.knows_contexts(last, &entries) {
            return None;
        }
        let entries = entries.iter().find(|(callee, _)| *callee == caller).map(|(_, levels)| levels.as_slice());
        let entered = |context: usize| {
            let known = entries.and_then(|levels| levels.get(context - 1)).copied();
            self.edge(last, caller).part(known.unwrap_or_default())
        };
        let at = |context: usize| {
            let known = levels.iter().filter_map(|(callee, levels)| Some((*callee, *levels.get(context)?)));
            let known = known.filter(|(_, calls)| calls.weight > 0.0);
            let mut receivers: Vec<Receiver> =
                known.map(|(callee, calls)| Receiver { callee, calls: self.edge(site, callee).part(calls) }).collect();
            sort(&mut receivers);
            Local { context, receivers, entered: entered(context) }
        };
        let is_sure = |calls: Calls| calls.is_sure(tuning::INLINE_CONTEXT_SAMPLES);
        let reach = contexts.reach().min(chain.len());
        (1..=reach).rev().map(at).find(|local| is_sure(local.entered) || is_sure(local.calls()))
    }

    /// Most calls of a site have a context. A full structure has no place for new ones, and what is missing would pass for calls that are never made.
    fn knows_contexts(&self, site: CallSiteId, levels: &Levels) -> bool {
        let known: f64 = levels.iter().filter_map(|(_, levels)| levels.first()).map(|calls| calls.weight).sum();
        known >= tuning::INLINE_CONTEXTS_KNOWN * Calls::sum(self.receivers(site)).weight
    }

    /// The part of what a site does in a context that its copy behind the whole chain does: 0 to 1. Of a copy that came in with a call of which nothing is known, nothing is known either.
    fn part_of_copy(&self, chain: &[CallSiteId], site: CallSiteId, local: &Local, weighting: Weighting) -> Part {
        let Some((&last, outer)) = chain.split_last().filter(|_| local.context < chain.len()) else {
            return Part { size: 1.0, error: Some(0.0), is_known: true };
        };
        let Some(caller) = self.callers[site].expand() else { return Part { size: 0.0, error: None, is_known: false } };
        let copy = self.copy(outer, last, caller, weighting);
        let entered = local.entered.weight;
        Part {
            size: share(copy.calls.weight, entered).min(1.0),
            error: copy.calls.error.map(|error| share(error, entered)),
            is_known: self.is_exact || copy.at_site.weight > 0.0 || copy.knows_caller,
        }
    }

    /// The copy of a call behind a chain, to a callee.
    fn copy(&self, chain: &[CallSiteId], site: CallSiteId, callee: FuncId, weighting: Weighting) -> SiteCopy {
        let local = self.local(chain, site, weighting);
        let part = self.part_of_copy(chain, site, &local, weighting);
        let of_copy = |calls: Calls| Calls {
            weight: calls.weight * part.size,
            error: calls.error.zip(part.error).map(|(error, of_part)| (error * part.size).hypot(calls.weight * of_part)),
            samples: calls.samples.map(|samples| (samples as f64 * part.size).round() as u64),
        };
        let calls = self.find(&local.receivers, callee);
        let is_told = part.is_known || calls.weight <= 0.0;
        SiteCopy {
            calls: of_copy(calls),
            at_site: of_copy(local.calls()),
            knows_caller: is_told && local.entered.is_sure(tuning::INLINE_CONTEXT_SAMPLES),
            local,
        }
    }

    /// What there is to say of a call behind a chain of inlined calls.
    pub fn look(&self, chain: &[CallSiteId], site: CallSiteId, callee: FuncId, weighting: Weighting) -> Seen {
        self.seen(&self.copy(chain, site, callee, weighting), self.edge(site, callee))
    }

    /// What there is to say of an edge, however often it is copied.
    pub fn look_at_edge(&self, site: CallSiteId, callee: FuncId) -> Seen {
        self.seen(&self.copy(&[], site, callee, Weighting::Edges), self.edge(site, callee))
    }

    fn seen(&self, copy: &SiteCopy, edge: Calls) -> Seen {
        let SiteCopy { calls, at_site, .. } = copy;
        let raw = |(samples, all): (u64, u64)| share(samples as f64, all as f64) * self.total.weight;
        Seen {
            weight: calls.weight,
            error: calls.error.filter(|_| calls.weight > 0.0 || self.is_exact),
            samples: calls.samples,
            raw_weight: edge.samples.zip(self.total.samples).map(raw),
            site_weight: at_site.weight,
            site_samples: at_site.samples,
            total: self.total.weight,
            total_samples: self.total.samples,
            context: copy.local.context as u32,
            knows_caller: copy.knows_caller,
        }
    }

    /// The part of all calls that the copy of a site behind a chain makes (0 to 1), and where they go; nowhere if nothing is known of that copy.
    pub fn distribution(&self, chain: &[CallSiteId], site: CallSiteId, weighting: Weighting) -> (f64, Vec<Receiver>) {
        let local = self.local(chain, site, weighting);
        let part = self.part_of_copy(chain, site, &local, weighting);
        if !part.is_known {
            return (0.0, Vec::new());
        }
        (share(local.calls().weight * part.size, self.total.weight), local.receivers)
    }
}

/// The edges of a profile; those of its contexts if it has no others.
fn edges(profile: &Profile) -> Vec<(EdgeId, Calls)> {
    if !profile.dcg().is_empty() {
        return profile.dcg().iter().map(|edge| (edge.edge, calls(edge))).collect();
    }
    let Some(contexts) = profile.contexts() else { return Vec::new() };
    let own = contexts.own_weights();
    let mut edges: FxHashMap<EdgeId, f64> = FxHashMap::default();
    let mut counted: PrimaryMap<ContextId, Label> = PrimaryMap::with_capacity(contexts.len());
    for (id, node) in contexts.nodes() {
        // What is counted in reversed contexts is a call over the edge at the root.
        let parent = node.parent.expand().filter(|_| contexts.structure().is_reversed());
        let label = parent.map_or(node.label, |parent| counted[parent]);
        counted.push(label);
        if let Label::Edge(edge) = label {
            *edges.entry(edge).or_default() += own[id];
        }
    }
    edges.into_iter().map(|(edge, weight)| (edge, Calls { weight, error: None, samples: None })).collect()
}

/// Samples that all say the same are no certainty: they say as much as so many that are independent.
fn calls(edge: &DcgEdge) -> Calls {
    /// Of the weight: below it, an error comes from rounding.
    const ROUNDING: f64 = 1e-6;
    // No samples: their number is unknown.
    let samples = (edge.samples > 0 || edge.weight == 0.0).then_some(edge.samples);
    let is_counted = edge.error == Some(0.0) && edge.samples as f64 == edge.weight;
    let least = samples.filter(|&samples| samples > 0 && !is_counted).map_or(0.0, |samples| edge.weight / (samples as f64).sqrt());
    let error = edge.error.map(|error| if error <= ROUNDING * edge.weight { least } else { error });
    Calls { weight: edge.weight, error, samples }
}

fn sort(receivers: &mut [Receiver]) {
    receivers.sort_by(|a, b| b.calls.weight.total_cmp(&a.calls.weight).then(a.callee.cmp(&b.callee)));
}
