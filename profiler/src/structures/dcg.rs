//! The dynamic call graph: how often each edge was called, whatever the calls around it (TACO'15 section 2.1), and how sure that is.
//!
//! In: exact counts, samples, or both. Out: weights by edge, their standard errors, and what the calls of one call site go to.
//!
//! Errors come from strata: what one tick of a thread brought home is one observation of the program, however many samples it is, and the next tick's is taken to be independent of it. A weight is a sum over `n` ticks of
//! what they contribute, `x`, so its variance is estimated as `n / (n - 1) * (sum of x² - (sum of x)² / n)`. A tick that did not see an edge contributes 0 to it. Exact counts have no error.
//!
//! Invariants: a sample is in the weights at once; samples of one thread come in the order of their ticks (one that comes late counts as a tick of its own). Edges from the limit on have no place, and are counted
//! in [`Dcg::dropped`]; they are part of the total, so that shares are of all calls.

#[cfg(test)]
mod tests;

use super::dropped::Dropped;
use crate::event::Event;
use crate::ids::{CallSiteId, EdgeId, FuncId, ThreadId};
use crate::program::Program;
use crate::sample::{Observed, Sample};
use cranelift_entity::{EntityRef, SecondaryMap};
use rustc_hash::FxHashMap;

/// A sum of weights, and what its error follows from.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Tally {
    exact: f64,
    sampled: f64,
    /// Of what each closed tick contributed to `sampled`.
    squares: f64,
    samples: u64,
}

impl Tally {
    fn weight(&self) -> f64 {
        self.exact + self.sampled
    }

    fn merge(&mut self, other: &Tally) {
        self.exact += other.exact;
        self.sampled += other.sampled;
        self.squares += other.squares;
        self.samples += other.samples;
    }
}

/// What a thread's last tick has contributed so far.
#[derive(Clone, Default, Debug)]
struct OpenTick {
    tick: u64,
    edges: FxHashMap<EdgeId, f64>,
    total: f64,
}

/// See the [module](self).
#[derive(Clone, Default, Debug)]
pub struct Dcg {
    edges: SecondaryMap<EdgeId, Tally>,
    total: Tally,
    closed_ticks: u64,
    open: FxHashMap<ThreadId, OpenTick>,
    limit: Option<u32>,
    dropped: Dropped,
}

/// A weight as far as samples can tell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// In calls, if samples are weighted so that they stand for calls.
    pub weight: f64,
    /// Standard deviation of `weight`, in its unit: 0 if all is counted exactly, infinite if there was one tick only.
    pub standard_error: f64,
    /// Calls that were seen.
    pub samples: u64,
}

/// A function to which calls of a call site went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Receiver {
    pub edge: EdgeId,
    pub callee: FuncId,
    pub weight: f64,
    /// Of the site's calls: 0 to 1.
    pub share: f64,
}

impl Dcg {
    pub fn new() -> Self {
        Dcg::default()
    }

    /// A graph of the edges with a number below `limit`.
    pub fn with_limit(limit: u32) -> Self {
        Dcg { limit: Some(limit), ..Dcg::default() }
    }

    /// Counts what a sample has observed.
    pub fn add(&mut self, sample: &Sample) {
        self.enter_tick(sample.thread, sample.tick);
        match (&sample.observed, sample.stack.last()) {
            (Observed::Top, None) => {}
            (Observed::Top, Some(&edge)) => self.observe(sample, edge),
            (Observed::Burst(events), _) => events.iter().filter_map(|event| event.edge()).for_each(|edge| self.observe(sample, edge)),
        }
    }

    /// Counts a call exactly: this weight is not an estimate.
    pub fn call(&mut self, edge: EdgeId, weight: f64) {
        self.count(edge, Tally { exact: weight, samples: 1, ..Tally::default() });
    }

    /// Counts each call of a trace exactly, as 1.
    pub fn run(&mut self, events: &[Event]) {
        events.iter().filter_map(|event| event.edge()).for_each(|edge| self.call(edge, 1.0));
    }

    /// Adds another graph's weights. Its ticks are other ticks than this one's.
    pub fn merge(&mut self, other: &Dcg) {
        for (edge, tally) in other.seen() {
            if self.has_place(edge) {
                self.edges[edge].merge(tally);
            } else {
                self.dropped.count(tally.weight());
            }
        }
        self.total.merge(&other.total);
        self.closed_ticks += other.closed_ticks;
        self.dropped.merge(other.dropped);
        other.open.values().for_each(|open| self.close(open));
    }

    /// The thread will have no more samples: frees what was kept for its last tick.
    pub fn end(&mut self, thread: ThreadId) {
        if let Some(open) = self.open.remove(&thread) {
            self.close(&open);
        }
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

    pub fn estimate(&self, edge: EdgeId) -> Estimate {
        let open = self.open.values().filter_map(|open| open.edges.get(&edge));
        self.estimate_of(&self.edges[edge], open)
    }

    /// Of all edges together, dropped ones included.
    pub fn total_estimate(&self) -> Estimate {
        self.estimate_of(&self.total, self.open.values().map(|open| &open.total))
    }

    /// How many ticks there were, those that saw no call included.
    pub fn ticks(&self) -> u64 {
        self.closed_ticks + self.open.len() as u64
    }

    /// Edges that were seen, heaviest first; of equal ones that with the lower number.
    pub fn by_weight(&self) -> Vec<(EdgeId, f64)> {
        let mut edges: Vec<_> = self.seen().map(|(edge, tally)| (edge, tally.weight())).collect();
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
        self.edges.capacity() * size_of::<Tally>() + table(self.open.capacity(), size_of::<(ThreadId, OpenTick)>()) + open
    }

    fn seen(&self) -> impl Iterator<Item = (EdgeId, &Tally)> {
        self.edges.iter().filter(|(_, tally)| tally.samples > 0)
    }

    /// Their shares are not yet known.
    fn all_receivers(&self, program: &Program) -> impl Iterator<Item = (CallSiteId, Receiver)> {
        self.seen().filter_map(move |(edge, tally)| {
            let known = program.edges().get(edge)?;
            Some((known.site.expand()?, Receiver { edge, callee: known.callee, weight: tally.weight(), share: 0.0 }))
        })
    }

    fn has_place(&self, edge: EdgeId) -> bool {
        self.limit.is_none_or(|limit| edge.index() < limit as usize)
    }

    fn count(&mut self, edge: EdgeId, call: Tally) {
        self.total.merge(&call);
        if self.has_place(edge) {
            self.edges[edge].merge(&call);
        } else {
            self.dropped.count(call.weight());
        }
    }

    fn observe(&mut self, sample: &Sample, edge: EdgeId) {
        self.count(edge, Tally { sampled: sample.weight, samples: 1, ..Tally::default() });
        let has_place = self.has_place(edge);
        let open = self.open.entry(sample.thread).or_default();
        open.total += sample.weight;
        if has_place {
            *open.edges.entry(edge).or_default() += sample.weight;
        }
    }

    /// From here on what the thread contributes is this tick's.
    fn enter_tick(&mut self, thread: ThreadId, tick: u64) {
        let Some(open) = self.open.get_mut(&thread) else {
            self.open.insert(thread, OpenTick { tick, ..OpenTick::default() });
            return;
        };
        if open.tick == tick {
            return;
        }
        let mut last = std::mem::take(open);
        self.close(&last);
        // The table's memory serves the next tick.
        last.edges.clear();
        self.open.insert(thread, OpenTick { tick, edges: last.edges, total: 0.0 });
    }

    fn close(&mut self, open: &OpenTick) {
        for (&edge, sum) in open.edges.iter() {
            if self.has_place(edge) {
                self.edges[edge].squares += sum * sum;
            }
        }
        self.total.squares += open.total * open.total;
        self.closed_ticks += 1;
    }

    fn estimate_of<'a>(&self, tally: &Tally, open: impl Iterator<Item = &'a f64>) -> Estimate {
        let squares = tally.squares + open.map(|sum| sum * sum).sum::<f64>();
        let standard_error = standard_error(self.ticks(), tally.sampled, squares);
        Estimate { weight: tally.weight(), standard_error, samples: tally.samples }
    }
}

/// Of a sum over independent ticks; what was not sampled is exact.
fn standard_error(ticks: u64, sum: f64, squares: f64) -> f64 {
    if squares == 0.0 {
        return 0.0;
    }
    if ticks < 2 {
        return f64::INFINITY;
    }
    let n = ticks as f64;
    // Rounding may make it negative where all ticks contribute the same.
    let variance = n / (n - 1.0) * (squares - sum * sum / n);
    variance.max(0.0).sqrt()
}

fn share(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

fn distribution(mut receivers: Vec<Receiver>) -> Vec<Receiver> {
    let whole = receivers.iter().map(|receiver| receiver.weight).sum();
    receivers.iter_mut().for_each(|receiver| receiver.share = share(receiver.weight, whole));
    receivers.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    receivers
}
