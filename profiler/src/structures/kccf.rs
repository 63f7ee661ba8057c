//! The k-calling context forest (k-CCF): for every path of at most k calls how often it was taken, whatever led to it (OOPSLA'12 section 4).
//!
//! In: a CCT, or a k-SF ([`Forest`]). Out: one tree for each routine: its root counts the routine's calls, a node's children say who called before. So a path from a root is a context read backwards, and contexts that end
//! alike share the nodes of what they have in common. Where labels are routines, k = 0 is a vertex profile, k = 1 an edge profile (where they are calls, an edge profile is k = 0); [`UNBOUNDED`]: all contexts.
//!
//! Invariants: roots, and children of a node, have distinct labels; nodes lie level by level, the children of one node together and by their labels. So equal forests are equal arrays, the forest for a smaller k is the front of
//! the array, and a node needs no link but to its first child.
//!
//! Weights are of the calls with that path, so a node's is at least the sum of its children's (property (a)). They differ (property (b) does not hold) by the calls before which the thread had made no more calls: only where
//! a first function is also called by others.

mod invert;
mod levels;
mod order;
pub mod pruned;

use super::Label;
use super::forest::Forest;
use cranelift_entity::{EntityRef, PrimaryMap, entity_impl, packed_option::PackedOption};
use invert::{Keep, invert};
use levels::Levels;
use std::fmt;
use std::ops::Range;

/// A node of a k-CCF: a context of its tree's routine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(u32);
entity_impl!(ContextId, "context");

/// As k: contexts of any length, the ∞-CCF.
pub const UNBOUNDED: u32 = u32::MAX;

/// What of a node's weight is taken for an error of addition.
const ROUNDING: f64 = 1e-9;

/// Why there is no such forest.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum KccfError {
    /// The contexts asked for are longer than those in the k-SF.
    BeyondReach {
        /// Calls of the contexts asked for.
        k: u32,
        /// Calls of those in the k-SF.
        reach: u32,
    },
    /// Not a percentage.
    Percent(f64),
}

impl fmt::Display for KccfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KccfError::BeyondReach { k: UNBOUNDED, reach } => {
                write!(f, "the k-SF has contexts of {reach} calls only; for unbounded ones start from a CCT")
            }
            KccfError::BeyondReach { k, reach } => {
                write!(f, "the k-SF has contexts of {reach} calls only, not of {k}; build it with k = {k}, or start from a CCT")
            }
            KccfError::Percent(percent) => write!(f, "{percent} is not a percentage; similarity goes from 0 (all contexts) to 100"),
        }
    }
}

impl std::error::Error for KccfError {}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Node<L> {
    label: L,
    parent: PackedOption<ContextId>,
    /// Number 0 if there are none.
    first_child: ContextId,
    children: u32,
    weight: f64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Kccf<L: Label> {
    nodes: PrimaryMap<ContextId, Node<L>>,
    /// Where each level ends in `nodes`, the roots' first.
    level_ends: Vec<usize>,
    k: u32,
    cut: u64,
}

/// The same contexts with the same weights, for whatever k. Weights are compared exactly: counts are exact up to 2^53, fractions depend on the order of addition.
impl<L: Label> PartialEq for Kccf<L> {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
    }
}

impl<L: Label> Kccf<L> {
    /// inv_k (Definition 6): the k-CCF of the calls in a CCT (Property 1) or in a k-SF for the same k or a larger one (Property 2). Time O(n log n log k) for n nodes, and what the k-CCF
    /// has, which is O(kn) (Theorem 1).
    ///
    /// If it would have more than `max_nodes` nodes it is the k-CCF for the largest k with which it has not: see [`k`](Self::k) and [`cut`](Self::cut).
    pub fn invert<F: Forest<Label = L>>(forest: &F, k: u32, max_nodes: u32) -> Result<Self, KccfError> {
        within_reach(forest, k)?;
        Ok(invert(forest, k, Keep::All, max_nodes).kccf)
    }

    /// The x %-similar k-CCF (OOPSLA'12 section 6): without the nodes that have less than `percent` % of their root's weight. With [`UNBOUNDED`] its leaves are the contexts of maximal length in which most calls of each
    /// routine occur. What is left out is never built: time O(n log n log d) for a CCT of depth d, and what is left in.
    ///
    /// Nodes other than roots that have no weight at all are left out even at 0 %.
    pub fn similar<F: Forest<Label = L>>(forest: &F, percent: f64, k: u32, max_nodes: u32) -> Result<Self, KccfError> {
        within_reach(forest, k)?;
        if !(0.0..=100.0).contains(&percent) {
            return Err(KccfError::Percent(percent));
        }
        Ok(invert(forest, k, Keep::Similar(percent), max_nodes).kccf)
    }

    /// The longest contexts that are all here, in calls: as asked for, or shorter if [`cut`](Self::cut) is not 0.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// How many contexts are here only in a shorter form than asked for, because of the limit on nodes: of those in the CCT or k-SF, or of maximal ones where the forest was made from other k-CCFs.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// There are no contexts.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Calls in the longest context here; 0 too if there is none.
    pub fn depth(&self) -> usize {
        self.level_ends.len().saturating_sub(1)
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node<L>>() + self.level_ends.len() * size_of::<usize>()
    }

    /// All nodes, level by level.
    pub fn nodes(&self) -> impl Iterator<Item = ContextId> + use<L> {
        self.nodes.keys()
    }

    /// One a routine, by label.
    pub fn roots(&self) -> impl Iterator<Item = ContextId> + use<L> {
        ids(0..self.level_ends.first().copied().unwrap_or(0))
    }

    /// The root of the routine's tree.
    pub fn root(&self, label: L) -> Option<ContextId> {
        self.among(0..self.level_ends.first().copied().unwrap_or(0), label)
    }

    /// The outermost call of the context: for a root, its routine.
    pub fn label(&self, node: ContextId) -> L {
        self.nodes[node].label
    }

    /// The context without its outermost call. `None` for a root.
    pub fn parent(&self, node: ContextId) -> Option<ContextId> {
        self.nodes[node].parent.expand()
    }

    /// The contexts that are one call longer, by label.
    pub fn children(&self, node: ContextId) -> impl Iterator<Item = ContextId> + use<L> {
        ids(self.child_range(node))
    }

    /// The context that is longer by this caller.
    pub fn child(&self, node: ContextId, label: L) -> Option<ContextId> {
        self.among(self.child_range(node), label)
    }

    /// What the calls in this context count for: c(ω).
    pub fn weight(&self, node: ContextId) -> f64 {
        self.nodes[node].weight
    }

    /// The part of the node's weight that none of its children has: of calls in whose thread nothing was called before; in the x %-similar forest of all dissimilar contexts too. A leaf has all its weight.
    pub fn own_weight(&self, node: ContextId) -> f64 {
        self.children(node).fold(self.weight(node), |rest, child| rest - self.weight(child))
    }

    /// Nodes without children.
    pub fn leaves(&self) -> impl Iterator<Item = ContextId> {
        self.nodes.iter().filter(|(_, node)| node.children == 0).map(|(id, _)| id)
    }

    /// The functions on the path, the outermost first and the tree's routine last.
    pub fn context(&self, node: ContextId) -> Vec<L> {
        std::iter::successors(Some(node), |&node| self.parent(node)).map(|node| self.label(node)).collect()
    }

    /// The node of a path, outermost function first. `None` if it was not taken, is longer than k, or empty.
    pub fn find(&self, path: &[L]) -> Option<ContextId> {
        let (&routine, callers) = path.split_last()?;
        callers.iter().rev().try_fold(self.root(routine)?, |node, &caller| self.child(node, caller))
    }

    /// The routine's contexts of maximal length with what they count for, the heaviest first; together they have the routine's weight.
    pub fn contexts(&self, label: L) -> Vec<(ContextId, f64)> {
        let Some(root) = self.root(label) else { return Vec::new() };
        let is_context = |&(node, own): &(ContextId, f64)| own > ROUNDING * self.weight(node) || self.child_range(node).is_empty();
        let mut found: Vec<_> = self.subtree(root).map(|node| (node, self.own_weight(node))).filter(is_context).collect();
        found.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        found
    }

    /// The node and all below it, level by level.
    pub fn subtree(&self, node: ContextId) -> impl Iterator<Item = ContextId> {
        let first = node.index()..node.index() + 1;
        std::iter::successors(Some(first), |level| self.level_below(level.clone())).flatten().map(ContextId::new)
    }

    /// The forest for a smaller k (property 4).
    pub fn truncated(&self, k: u32) -> Kccf<L> {
        let mut short = Levels::new(u32::MAX);
        let mut start = 0;
        for &end in self.level_ends.iter().take((k as usize).saturating_add(1)) {
            for node in ids(start..end) {
                short.push(self.parent(node), self.label(node), self.weight(node));
            }
            short.close();
            start = end;
        }
        short.finish(self.k.min(k), if k > self.k { self.cut } else { 0 })
    }

    /// The contexts of both with the sums of their weights: for the smaller k of the two, or less if there would be more than `max_nodes` nodes.
    pub fn merged(&self, other: &Self, max_nodes: u32) -> Kccf<L> {
        levels::merge(self, other, max_nodes)
    }

    fn child_range(&self, node: ContextId) -> Range<usize> {
        let Node { first_child, children, .. } = self.nodes[node];
        first_child.index()..first_child.index() + children as usize
    }

    /// The children of neighbours are neighbours.
    fn level_below(&self, level: Range<usize>) -> Option<Range<usize>> {
        let mut children = ids(level).map(|node| self.child_range(node)).filter(|range| !range.is_empty());
        let first = children.next()?;
        Some(first.start..children.last().map_or(first.end, |last| last.end))
    }

    fn among(&self, range: Range<usize>, label: L) -> Option<ContextId> {
        let start = range.start;
        let nodes = &self.nodes.as_values_slice()[range];
        nodes.binary_search_by_key(&label.index(), |node| node.label.index()).ok().map(|index| ContextId::new(start + index))
    }
}

fn ids(range: Range<usize>) -> impl Iterator<Item = ContextId> {
    range.map(ContextId::new)
}

fn within_reach<F: Forest>(forest: &F, k: u32) -> Result<(), KccfError> {
    match forest.reach() {
        Some(reach) if k > reach => Err(KccfError::BeyondReach { k, reach }),
        _ => Ok(()),
    }
}
