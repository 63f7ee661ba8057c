//! Hot chains of calls: in one context ([`CcMap::hottest_chains`]), and summed over all of them ([`CcMap::path_count`], [`CcMap::chain_through`]).
//!
//! The second are what the paper's Figure 2 is about: B → C → D may be the hottest path of a program although no single context of it is hot. The map has no node for
//! that sum; it follows the links from an edge to its contexts and from there up and down, which costs time in the number of contexts.

use super::{CalleeRef, CcMap};
use crate::ids::EdgeId;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

/// A way down a tree on which every edge in context is hot, as long as possible at both ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Chain {
    /// Its outermost edge in context.
    pub first: CalleeRef,
    /// Its innermost one.
    pub last: CalleeRef,
    /// Edges from `first` to `last`.
    pub length: u32,
    /// The smallest count on the way: how often at most the whole chain was walked.
    pub count: f64,
}

/// A sequence of calls, each made by the one before, in whatever context.
#[derive(Clone, PartialEq, Debug)]
pub struct HotPath {
    /// Outermost first.
    pub edges: Vec<EdgeId>,
    /// How often its last call was made at the end of the sequence.
    pub count: f64,
}

/// A context of the edge where a path ends, and where the path begins above it.
#[derive(Clone, Copy)]
struct Strand {
    top: CalleeRef,
    bottom: CalleeRef,
}

impl CcMap {
    /// The largest count of an edge in context.
    pub fn hottest_context(&self) -> f64 {
        self.callee_refs.values().map(|node| node.count).fold(0.0, f64::max)
    }

    /// The `most` hottest chains of edges in context. Hot is what has at least `share` (above 0, at most 1) of the hottest count in context, as in hot-edge coverage.
    /// Sorted by count; then the longer one comes first. Chains that begin together and end apart are listed one by one.
    pub fn hottest_chains(&self, share: f64, most: usize) -> Vec<Chain> {
        let hottest = self.hottest_context();
        if hottest <= 0.0 {
            return Vec::new();
        }
        let least = share * hottest;
        let mut above: SecondaryMap<CalleeRef, Option<Chain>> = SecondaryMap::with_capacity(self.callee_refs.len());
        let mut goes_on: SecondaryMap<CalleeRef, bool> = SecondaryMap::with_capacity(self.callee_refs.len());
        for (id, node) in self.callee_refs.iter().filter(|(_, node)| node.count >= least) {
            let parent = node.parent.expand();
            above[id] = Some(match parent.and_then(|parent| above[parent]) {
                Some(chain) => Chain { last: id, length: chain.length + 1, count: chain.count.min(node.count), ..chain },
                None => Chain { first: id, last: id, length: 1, count: node.count },
            });
            if let Some(parent) = parent {
                goes_on[parent] = true;
            }
        }
        let mut chains: Vec<Chain> = above.values().flatten().filter(|chain| !goes_on[chain.last]).copied().collect();
        chains.sort_unstable_by(|a, b| b.count.total_cmp(&a.count).then(b.length.cmp(&a.length)).then(a.last.cmp(&b.last)));
        chains.truncate(most);
        chains
    }

    /// The edges of a chain, outermost first.
    pub fn chain_edges(&self, chain: &Chain) -> Vec<EdgeId> {
        let mut edges: Vec<_> = self.ancestors(chain.last).take(chain.length as usize).map(|node| self.general(node)).collect();
        edges.reverse();
        edges
    }

    /// How often the last of these edges was called at the end of this sequence, in whatever context. 0 for an empty one.
    pub fn path_count(&self, path: &[EdgeId]) -> f64 {
        let Some(&last) = path.last() else { return 0.0 };
        let is_end = |&context: &CalleeRef| {
            let mut upwards = self.ancestors(context).map(|node| self.general(node));
            path.iter().rev().all(|&edge| upwards.next() == Some(edge))
        };
        self.contexts(last).filter(is_end).map(|context| self.count_in(context)).sum()
    }

    /// The path that an edge is mostly on, in whatever context: from the edge down along the hottest callee, then up along the hottest caller, as long as the whole path
    /// has at least `share` of the edge's count in its contexts. Callees and callers are compared by their sums over all contexts of the path so far, so a path is found
    /// that is hot in no single context; it is a greedy search, not the best of all paths. `None` if the edge has no counts in context.
    pub fn chain_through(&self, edge: EdgeId, share: f64) -> Option<HotPath> {
        let mut strands: Vec<Strand> = self.contexts(edge).map(|node| Strand { top: node, bottom: node }).collect();
        let mut count: f64 = strands.iter().map(|strand| self.count_in(strand.bottom)).sum();
        if count <= 0.0 {
            return None;
        }
        let least = share * count;
        let mut edges = vec![edge];
        while let Some((next, sum, further)) = self.hottest_step(self.steps_down(&strands), least) {
            edges.push(next);
            (count, strands) = (sum, further);
        }
        edges.reverse();
        while let Some((next, sum, further)) = self.hottest_step(self.steps_up(&strands), least) {
            edges.push(next);
            (count, strands) = (sum, further);
        }
        edges.reverse();
        Some(HotPath { edges, count })
    }

    fn steps_down(&self, strands: &[Strand]) -> Vec<(EdgeId, Strand)> {
        let step = |&Strand { top, bottom }| self.children(bottom).map(move |child| (self.general(child), Strand { top, bottom: child }));
        strands.iter().flat_map(step).collect()
    }

    fn steps_up(&self, strands: &[Strand]) -> Vec<(EdgeId, Strand)> {
        let step = |&Strand { top, bottom }| self.parent(top).map(|parent| (self.general(parent), Strand { top: parent, bottom }));
        strands.iter().filter_map(step).collect()
    }

    /// Of all ways to lengthen a path by an edge, the hottest one, if it is hot enough: the edge, the count of the longer path, and its strands.
    fn hottest_step(&self, steps: Vec<(EdgeId, Strand)>, least: f64) -> Option<(EdgeId, f64, Vec<Strand>)> {
        let mut sums = FxHashMap::<EdgeId, f64>::default();
        for (edge, strand) in &steps {
            *sums.entry(*edge).or_default() += self.count_in(strand.bottom);
        }
        let (&edge, &sum) = sums.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)))?;
        if sum < least || sum <= 0.0 {
            return None;
        }
        Some((edge, sum, steps.into_iter().filter(|step| step.0 == edge).map(|step| step.1).collect()))
    }
}
