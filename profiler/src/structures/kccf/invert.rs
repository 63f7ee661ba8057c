//! The k-inverse of a forest (OOPSLA'12 Definition 6), level by level from the sorted contexts: time O(n log n log k) and what is put out, so no more for contexts of any length than for short ones.
//!
//! In: a forest. Out: a k-CCF, and for pruning an origin of each node. A node of the k-CCF is an interval of the order: the nodes of the forest whose paths end alike. What is not kept (dissimilar nodes, and for pruning the
//! callers of single contexts) is never built. (The paper's algorithm, Lemma 1, joins each path with the tree of its last label: O(kn), which for unbounded k in a deep recursion is quadratic.)

use super::levels::{Growth, Levels};
use super::order::{Flat, Interval, Order};
use super::{ContextId, Kccf};
use crate::structures::Label;
use crate::structures::forest::Forest;

/// Which nodes are wanted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Keep {
    All,
    /// Those with at least these percent of their root's weight.
    Similar(f64),
    /// A node that has the contexts of one origin only is kept without those below it, and every node's origin is kept.
    Branching,
}

/// A node of the k-CCF whose children are to be made.
#[derive(Clone, Copy)]
struct Open {
    context: ContextId,
    interval: Interval,
    /// The caller that the node is labelled with, of the interval's first node.
    at: Flat,
    root_weight: f64,
}

/// A k-CCF and where its nodes come from.
pub(super) struct Inverse<F: Forest> {
    pub(super) kccf: Kccf<F::Label>,
    /// For [`Keep::Branching`]: for each node of the k-CCF a node of the forest whose path to the root begins with the node's path. Else empty.
    pub(super) origins: Vec<F::Node>,
}

pub(super) fn invert<F: Forest>(forest: &F, k: u32, keep: Keep, max_nodes: u32) -> Inverse<F> {
    let (order, nodes) = Order::new(forest, k.saturating_add(1));
    let inversion = Inversion { order, keep, levels: Levels::new(max_nodes), open: Vec::new(), origins: Vec::new() };
    let (kccf, origins) = inversion.run(k);
    Inverse { kccf, origins: origins.into_iter().map(|origin| nodes[origin]).collect() }
}

struct Inversion<L: Label> {
    order: Order<L>,
    keep: Keep,
    levels: Levels<L>,
    /// Of the level that is being made.
    open: Vec<Open>,
    origins: Vec<Flat>,
}

impl<L: Label> Inversion<L> {
    fn run(mut self, k: u32) -> (Kccf<L>, Vec<Flat>) {
        self.push_roots();
        let mut level = Vec::new();
        let (k, cut) = loop {
            let depth = self.levels.depth();
            match self.levels.close() {
                Growth::Open if self.levels.depth() == k => break (k, 0),
                Growth::Open => {}
                Growth::Ended => break (k, 0),
                Growth::Full => break (depth, self.longer(&level)),
            }
            std::mem::swap(&mut level, &mut self.open);
            self.open.clear();
            let labels = self.levels.depth() + 1;
            for &open in &level {
                self.push_children(open, labels);
                if self.levels.is_full() {
                    break;
                }
            }
        };
        self.origins.truncate(self.levels.len());
        (self.levels.finish(k, cut), self.origins)
    }

    fn push_roots(&mut self) {
        let Some(all) = self.order.all() else { return };
        let mut trees = Vec::new();
        if self.order.common(all) > 0 {
            trees.push(all);
        } else {
            self.order.split(all, |tree| trees.push(tree));
        }
        for tree in trees {
            self.push(None, tree, self.order.first(tree));
        }
    }

    /// The children of a node that stands for paths of so many labels.
    fn push_children(&mut self, parent: Open, labels: u32) {
        if labels < self.order.common(parent.interval) {
            if let Some(at) = self.order.parent(parent.at) {
                self.push(Some(parent), parent.interval, at);
            }
            return;
        }
        let mut parts: smallvec::SmallVec<[Interval; 8]> = smallvec::SmallVec::new();
        self.order.split(parent.interval, |part| parts.push(part));
        for part in parts {
            // Nothing for a path that ends here.
            if let Some(at) = self.order.ancestor(self.order.first(part), labels) {
                self.push(Some(parent), part, at);
            }
        }
    }

    fn push(&mut self, parent: Option<Open>, interval: Interval, at: Flat) {
        let weight = self.order.weight(interval);
        let root_weight = parent.map_or(weight, |parent| parent.root_weight);
        if parent.is_some() && !self.keeps(weight, root_weight) {
            return;
        }
        let context = self.levels.push(parent.map(|parent| parent.context), self.order.label(at), weight);
        if self.keep == Keep::Branching {
            self.origins.push(self.order.first(interval));
            if interval.is_single() {
                return;
            }
        }
        self.open.push(Open { context, interval, at, root_weight });
    }

    fn keeps(&self, weight: f64, root_weight: f64) -> bool {
        match self.keep {
            Keep::All | Keep::Branching => true,
            // Multiplied rather than divided: exact for counts and whole percents.
            Keep::Similar(percent) => weight > 0.0 && weight * 100.0 >= percent * root_weight,
        }
    }

    /// How many of the forest's contexts reach beyond the last level that fits; `parents` are the open nodes of that level.
    fn longer(&self, parents: &[Open]) -> u64 {
        let levels = if self.levels.len() == 0 { 0 } else { self.levels.depth() + 1 };
        let roots = self.order.all().filter(|_| levels == 0);
        let intervals = parents.iter().map(|open| open.interval).chain(roots);
        intervals.map(|interval| self.order.nodes(interval).iter().filter(|&&node| self.order.len(node) > levels).count() as u64).sum()
    }
}
