//! The dynamic call graph: how often each edge was called, whatever the calls around it (TACO'15 section 2.1), and how sure that is.
//!
//! In: exact counts, samples, or both. Out: weights by edge, their standard errors, and what the calls of one call site go to.
//!
//! Errors come from strata (see [`estimate`](crate::estimate)): what one tick of a thread brought home is one observation of the program, however many samples it is, and the next tick's is taken to be independent of it.
//!
//! Invariants: a sample is in the weights at once; samples of one thread come in the order of their ticks (one that comes late counts as a tick of its own). Edges from the limit on have no place, and are counted
//! in [`Dcg::dropped`]; they are part of the total, so that shares are of all calls.

#[cfg(test)]
mod tests;

use super::dropped::Dropped;
pub use crate::estimate::Estimate;
use crate::estimate::{Strata, Sums, share};
use crate::ids::{CallSiteId, EdgeId, FuncId, ThreadId};
use crate::program::Program;
use crate::sample::{Observed, Sample};
use cranelift_entity::{EntityRef, SecondaryMap};
use rustc_hash::FxHashMap;

/// What a thread's last tick has contributed so far.
#[derive(Clone, Default, Debug)]
struct OpenTick {
    tick: u64,
    stands_for: f64,
    edges: FxHashMap<EdgeId, f64>,
    total: f64,
}

/// What a tick has contributed to each edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contribution<'a> {
    pub edges: &'a FxHashMap<EdgeId, f64>,
    /// To all together.
    pub total: f64,
    /// What the tick stands for.
    pub stands_for: f64,
}

impl OpenTick {
    fn contribution(&self) -> Contribution<'_> {
        Contribution { edges: &self.edges, total: self.total, stands_for: self.stands_for }
    }
}

/// See the [module](self).
#[derive(Clone, Default, Debug)]
pub struct Dcg {
    edges: SecondaryMap<EdgeId, Sums>,
    total: Sums,
    closed_ticks: Strata,
    open: FxHashMap<ThreadId, OpenTick>,
    limit: Option<u32>,
    dropped: Dropped,
}

/// A function to which calls of a call site went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Receiver {
    /// From the call site to the function.
    pub edge: EdgeId,
    /// The function.
    pub callee: FuncId,
    /// Of the edge.
    pub weight: f64,
    /// Of the site's calls: 0 to 1.
    pub share: f64,
}

impl Dcg {
    /// A graph without a limit.
    pub fn new() -> Self {
        Dcg::default()
    }

    /// A graph of the edges with a number below `limit`.
    pub fn with_limit(limit: u32) -> Self {
        Dcg { limit: Some(limit), ..Dcg::default() }
    }

    /// Counts what a sample has observed.
    pub fn add(&mut self, sample: &Sample) {
        self.add_and_tell(sample, |_| {});
    }

    /// As [`Dcg::add`]; if the sample is of another tick than the thread's last one, that one's contribution to each edge is told.
    pub(crate) fn add_and_tell(&mut self, sample: &Sample, closed: impl FnOnce(Contribution<'_>)) {
        self.enter_tick(sample, closed);
        match (&sample.observed, sample.stack.last()) {
            (Observed::Top, None) => {}
            (Observed::Top, Some(&edge)) => self.observe(sample, edge),
            (Observed::Burst(events), _) => events.iter().filter_map(|event| event.counted()).for_each(|edge| self.observe(sample, edge)),
        }
    }

    /// Counts a call exactly: this weight is not an estimate.
    pub fn call(&mut self, edge: EdgeId, weight: f64) {
        self.total.count(weight);
        match self.place(edge) {
            Some(sums) => sums.count(weight),
            None => self.dropped.count(weight),
        }
    }

    /// Counts each call exactly, as 1.
    pub fn run(&mut self, calls: impl IntoIterator<Item = EdgeId>) {
        calls.into_iter().for_each(|edge| self.call(edge, 1.0));
    }

    /// Adds another graph's weights. Its ticks are other ticks than this one's.
    pub fn merge(&mut self, other: &Dcg) {
        for (edge, sums) in other.seen() {
            match self.place(edge) {
                Some(place) => place.merge(sums),
                None => self.dropped.count(sums.weight()),
            }
        }
        self.total.merge(&other.total);
        self.closed_ticks.merge(&other.closed_ticks);
        self.dropped.merge(other.dropped);
        other.open.values().for_each(|open| self.close(open));
    }

    /// The thread will have no more samples: frees what was kept for its last tick.
    pub fn end(&mut self, thread: ThreadId) {
        self.end_and_tell(thread, |_| {});
    }

    /// As [`Dcg::end`]; the last tick's contribution to each edge is told.
    pub(crate) fn end_and_tell(&mut self, thread: ThreadId, closed: impl FnOnce(Contribution<'_>)) {
        if let Some(open) = self.open.remove(&thread) {
            closed(open.contribution());
            self.close(&open);
        }
    }

    /// What each thread's last tick has contributed to each edge so far.
    pub(crate) fn open_ticks(&self) -> impl Iterator<Item = Contribution<'_>> {
        self.open.values().map(OpenTick::contribution)
    }

    /// The graph with all ticks closed: what is open costs each estimate a look at every thread.
    pub(crate) fn ended(&self) -> Dcg {
        let mut ended = Dcg { open: FxHashMap::default(), ..self.clone() };
        self.open.values().for_each(|open| ended.close(open));
        ended
    }

    /// The sum of the edge's weights.
    pub fn weight(&self, edge: EdgeId) -> f64 {
        self.edges[edge].weight()
    }

    /// Of all edges, dropped ones included.
    pub fn total(&self) -> f64 {
        self.total.weight()
    }

    /// The edge's part of all calls: 0 to 1, and 0 if there are none.
    pub fn share(&self, edge: EdgeId) -> f64 {
        share(self.weight(edge), self.total())
    }

    /// The edge's weight and share, with their errors.
    pub fn estimate(&self, edge: EdgeId) -> Estimate {
        let mut sums = self.edges[edge];
        for open in self.open.values() {
            open.edges.get(&edge).into_iter().for_each(|&sum| sums.close(sum, open.total, open.stands_for));
        }
        sums.estimate(&self.all(), &self.strata())
    }

    /// Of all edges together, dropped ones included.
    pub fn total_estimate(&self) -> Estimate {
        self.all().estimate(&self.all(), &self.strata())
    }

    /// By how much the degree of overlap with the true distribution over edges is to be expected below 1, as far as strata can tell; or will be, once there are as many calls of another phase, for which those of this one may be too many
    /// or too few. Infinite if there was one stratum only.
    pub fn doubt(&self) -> f64 {
        let dcg = self.ended();
        let errors: f64 = dcg.seen().map(|(_, sums)| sums.estimate(&dcg.total, &dcg.closed_ticks).share_error).sum();
        // What some edges have too much others have too little of, and a normal error is sqrt(2/π) of its deviation in the mean.
        let now = errors / std::f64::consts::TAU.sqrt();
        // Of two phases with half of the calls each, shares are off by a quarter of what the number of calls of one is.
        let total = dcg.total.estimate(&dcg.total, &dcg.closed_ticks);
        now.max(share(total.standard_error, total.weight) / 4.0)
    }

    /// The total, open ticks included.
    pub(crate) fn all(&self) -> Sums {
        let mut all = self.total;
        self.open.values().for_each(|open| all.close(open.total, open.total, open.stands_for));
        all
    }

    /// Ticks, those that saw no call included.
    pub(crate) fn strata(&self) -> Strata {
        let mut strata = self.closed_ticks;
        self.open.values().for_each(|open| strata.add(open.stands_for));
        strata
    }

    /// How many ticks there were, those that saw no call included.
    pub fn ticks(&self) -> u64 {
        self.closed_ticks.count() + self.open.len() as u64
    }

    /// Edges that were seen, heaviest first; of equal ones that with the lower number.
    pub fn by_weight(&self) -> Vec<(EdgeId, f64)> {
        let mut edges: Vec<_> = self.seen().map(|(edge, sums)| (edge, sums.weight())).collect();
        edges.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        edges
    }

    /// What the calls of a call site went to, heaviest first. For many sites see [`Dcg::receivers_by_site`].
    pub fn receivers(&self, program: &Program, site: CallSiteId) -> Vec<Receiver> {
        let receivers = self.all_receivers(program).filter(|&(of, _)| of == site).map(|(_, receiver)| receiver);
        distribution(receivers.collect())
    }

    /// The receivers of all call sites that were seen.
    pub fn receivers_by_site(&self, program: &Program) -> FxHashMap<CallSiteId, Vec<Receiver>> {
        let mut sites: FxHashMap<CallSiteId, Vec<Receiver>> = FxHashMap::default();
        self.all_receivers(program).for_each(|(site, receiver)| sites.entry(site).or_default().push(receiver));
        sites.into_iter().map(|(site, receivers)| (site, distribution(receivers))).collect()
    }

    /// What found no place.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Memory in use and reserved, in bytes.
    pub fn bytes(&self) -> usize {
        let table = |capacity, entry| capacity * (entry + 1);
        let open: usize = self.open.values().map(|open| table(open.edges.capacity(), size_of::<(EdgeId, f64)>())).sum();
        self.edges.capacity() * size_of::<Sums>() + table(self.open.capacity(), size_of::<(ThreadId, OpenTick)>()) + open
    }

    fn seen(&self) -> impl Iterator<Item = (EdgeId, &Sums)> {
        self.edges.iter().filter(|(_, sums)| sums.samples() > 0)
    }

    /// Their shares are not yet known.
    fn all_receivers(&self, program: &Program) -> impl Iterator<Item = (CallSiteId, Receiver)> {
        self.seen().filter_map(move |(edge, sums)| {
            let known = program.edges().get(edge)?;
            Some((known.site.expand()?, Receiver { edge, callee: known.callee, weight: sums.weight(), share: 0.0 }))
        })
    }

    fn has_place(&self, edge: EdgeId) -> bool {
        self.limit.is_none_or(|limit| edge.index() < limit as usize)
    }

    /// `None`: beyond the limit.
    fn place(&mut self, edge: EdgeId) -> Option<&mut Sums> {
        if self.has_place(edge) { Some(&mut self.edges[edge]) } else { None }
    }

    fn observe(&mut self, sample: &Sample, edge: EdgeId) {
        let weight = sample.weight;
        self.total.observe(weight, 1);
        match self.place(edge) {
            Some(sums) => sums.observe(weight, 1),
            None => self.dropped.count(weight),
        }
        let has_place = self.has_place(edge);
        let open = self.open.entry(sample.thread).or_default();
        open.total += weight;
        if has_place {
            *open.edges.entry(edge).or_default() += weight;
        }
    }

    /// From here on what the thread contributes is this tick's.
    fn enter_tick(&mut self, sample: &Sample, closed: impl FnOnce(Contribution<'_>)) {
        let &Sample { thread, tick, stands_for, .. } = sample;
        let Some(open) = self.open.get_mut(&thread) else {
            self.open.insert(thread, OpenTick { tick, stands_for, ..OpenTick::default() });
            return;
        };
        if open.tick == tick {
            return;
        }
        let mut last = std::mem::take(open);
        closed(last.contribution());
        self.close(&last);
        // The table's memory serves the next tick.
        last.edges.clear();
        self.open.insert(thread, OpenTick { tick, stands_for, edges: last.edges, total: 0.0 });
    }

    fn close(&mut self, open: &OpenTick) {
        for (&edge, &sum) in open.edges.iter() {
            self.place(edge).into_iter().for_each(|sums| sums.close(sum, open.total, open.stands_for));
        }
        self.total.close(open.total, open.total, open.stands_for);
        self.closed_ticks.add(open.stands_for);
    }
}

fn distribution(mut receivers: Vec<Receiver>) -> Vec<Receiver> {
    let whole = receivers.iter().map(|receiver| receiver.weight).sum();
    receivers.iter_mut().for_each(|receiver| receiver.share = share(receiver.weight, whole));
    receivers.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    receivers
}
