//! How far what is counted of something differs from tick to tick, for standard errors (see [`estimate`](crate::estimate)).
//!
//! In: what each tick of a thread contributed to nodes of a structure, or to any other parts of the calls. Out: of each part the sum of squares over ticks.
//!
//! A side table, so that structures stay as small as they are where nobody asks for errors: it takes 32 bytes for each node up to the last one that a sample has counted in, and is written to once a tick and node. Where every call is
//! counted there is none. Nodes that the profile will make one of (those of a k-SF that end in the same k + 1 calls, for a k-CCF) are not independent of each other: what they contribute to the same tick is added before it is squared, and the
//! difference that this makes is kept at one of them. So a sum of squares over all of them is that of the one node they become, and no node of the k-CCF needs to be known before the end.

use crate::estimate::{Estimate, Strata, Sums};
use crate::sample::Sample;
use crate::structures::forest::Forest;
use cranelift_entity::{EntityRef, SecondaryMap};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::hash::Hash;

/// What a thread's last tick has contributed so far.
#[derive(Clone, Debug)]
pub(super) struct OpenTick<N> {
    tick: u64,
    stands_for: f64,
    /// Of all calls, those without a node included.
    total: f64,
    parts: FxHashMap<N, Part>,
}

/// What a tick contributes to a node.
#[derive(Clone, Copy, Default, Debug)]
struct Part {
    weight: f64,
    samples: u64,
}

/// Over closed ticks.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Squares {
    /// Of each tick's contribution.
    pub squares: f64,
    /// Of that with what all calls of the tick contributed.
    pub products: f64,
    /// Of that with what the tick stands for.
    pub parts: f64,
    /// Calls that were seen.
    pub samples: u64,
}

impl Squares {
    /// Of one tick, which contributed `weight` to this of the total.
    pub fn of(weight: f64, total: f64, stands_for: f64, samples: u64) -> Squares {
        Squares { squares: weight * weight, products: weight * total, parts: weight * stands_for, samples }
    }

    pub fn add(&mut self, other: Squares) {
        self.squares += other.squares;
        self.products += other.products;
        self.parts += other.parts;
        self.samples += other.samples;
    }
}

/// Of what the total is known: how much of it a tick stands for is no error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// Of the calls that were made: a tick stands for all that it contributes.
    Calls,
    /// Of what samples say that they [stand for](Sample::stands_for).
    Parts,
}

/// What weights stand for, and how many observations they come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// What a weight is multiplied with.
    pub factor: f64,
    /// All calls together.
    pub all: Sums,
    /// Those that saw no call included, with what each stands for.
    pub ticks: Strata,
    pub known: Known,
}

/// Standard errors of a number of calls: 0 where every call was counted, `None` where unknown.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Errors {
    /// Of the number, in calls.
    pub weight: Option<f64>,
    /// Of its share of all calls, which is from 0 to 1. What makes all numbers too large makes no share too large.
    pub share: Option<f64>,
}

impl Scale {
    /// From one tick nothing follows.
    pub fn errors(self, estimate: Estimate) -> Errors {
        let error = match self.known {
            Known::Calls => estimate.share_error * self.all.weight(),
            Known::Parts => estimate.standard_error,
        };
        let known = |error: f64| Some(error).filter(|error| error.is_finite());
        Errors { weight: known(error * self.factor), share: known(estimate.share_error) }
    }

    /// Of what has been counted with this sum.
    pub fn errors_of(self, weight: f64, Squares { squares, products, parts, .. }: Squares) -> Errors {
        self.errors(Sums::of(weight, squares, products, parts).estimate(&self.all, &self.ticks))
    }
}

impl<N: EntityRef + Hash> OpenTick<N> {
    pub fn new() -> Self {
        OpenTick { tick: 0, stands_for: 0.0, total: 0.0, parts: FxHashMap::default() }
    }

    /// A call, which has no node where there was no room.
    pub fn count(&mut self, node: Option<N>, weight: f64) {
        self.total += weight;
        let Some(node) = node else { return };
        let part = self.parts.entry(node).or_default();
        part.weight += weight;
        part.samples += 1;
    }

    pub fn bytes(&self) -> usize {
        self.parts.capacity() * (size_of::<(N, Part)>() + 1)
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Spread<N: EntityRef> {
    nodes: SecondaryMap<N, Squares>,
    /// Nodes that end in the same so many calls are one.
    reach: Option<usize>,
}

impl<N: EntityRef + Hash> Spread<N> {
    pub fn new(reach: Option<usize>) -> Self {
        Spread { nodes: SecondaryMap::new(), reach }
    }

    /// From here on what the thread contributes is this tick's.
    pub fn enter(&mut self, open: &mut OpenTick<N>, sample: &Sample, forest: &impl Forest<Node = N>) {
        if open.tick != sample.tick {
            self.close(open, forest);
            // The table's memory serves the next tick.
            open.parts.clear();
            open.total = 0.0;
            open.tick = sample.tick;
        }
        open.stands_for = sample.stands_for;
    }

    pub fn close(&mut self, open: &OpenTick<N>, forest: &impl Forest<Node = N>) {
        for (&node, part) in &open.parts {
            self.nodes[node].add(Squares::of(part.weight, open.total, open.stands_for, part.samples));
        }
        if let Some(calls) = self.reach {
            self.join(open, |a, b| compare(forest, a, b, calls));
        }
    }

    /// Makes the squares of nodes that are one those of their sum.
    fn join(&mut self, open: &OpenTick<N>, compare: impl Fn(N, N) -> Ordering) {
        let mut nodes: Vec<(N, f64)> = open.parts.iter().map(|(&node, part)| (node, part.weight)).collect();
        nodes.sort_by(|a, b| compare(a.0, b.0));
        for same in nodes.chunk_by(|a, b| compare(a.0, b.0).is_eq()).filter(|same| same.len() > 1) {
            let sum: f64 = same.iter().map(|(_, weight)| weight).sum();
            let squares: f64 = same.iter().map(|(_, weight)| weight * weight).sum();
            self.nodes[same[0].0].squares += sum * sum - squares;
        }
    }

    pub fn get(&self, node: N) -> Squares {
        self.nodes[node]
    }

    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Squares>()
    }
}

/// By the last so many calls, the last one first.
fn compare<F: Forest>(forest: &F, a: F::Node, b: F::Node, calls: usize) -> Ordering {
    let labels = |node| std::iter::successors(Some(node), |&node| forest.parent(node)).map(|node| forest.label(node)).take(calls);
    labels(a).cmp(labels(b))
}
