//! Builds a k-CCF level by level, and whatever can be built in one pass that way: the sum of two.
//!
//! Invariant of the caller: the children of one node are appended together, by their labels, and parents in the order of their level.

use super::{ContextId, Kccf, Node};
use crate::structures::Label;
use cranelift_entity::{EntityRef, PrimaryMap};
use std::cmp::Ordering;

/// How it goes on after a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Growth {
    /// The level has nodes, and there may be more.
    Open,
    /// The level is empty: it was the end.
    Ended,
    /// The level did not fit and is not there.
    Full,
}

/// A k-CCF in the making.
pub(super) struct Levels<L> {
    nodes: Vec<Node<L>>,
    ends: Vec<usize>,
    max_nodes: usize,
}

impl<L: Label> Levels<L> {
    pub(super) fn new(max_nodes: u32) -> Self {
        // One id less than there are numbers: the last one is reserved.
        Levels { nodes: Vec::new(), ends: Vec::new(), max_nodes: max_nodes.min(u32::MAX - 1) as usize }
    }

    pub(super) fn push(&mut self, parent: Option<ContextId>, label: L, weight: f64) -> ContextId {
        let id = ContextId::new(self.nodes.len());
        if let Some(parent) = parent {
            let parent = &mut self.nodes[parent.index()];
            if parent.children == 0 {
                parent.first_child = id;
            }
            parent.children += 1;
        }
        self.nodes.push(Node { label, parent: parent.into(), first_child: ContextId::new(0), children: 0, weight });
        id
    }

    /// There are too many nodes: the level that is being appended will be dropped, so there is no need to complete it.
    pub(super) fn is_full(&self) -> bool {
        self.nodes.len() > self.max_nodes
    }

    /// Nodes so far.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Ends a level.
    pub(super) fn close(&mut self) -> Growth {
        let start = self.ends.last().copied().unwrap_or(0);
        if self.is_full() {
            self.drop_from(start);
            return Growth::Full;
        }
        if self.nodes.len() == start {
            return Growth::Ended;
        }
        self.ends.push(self.nodes.len());
        Growth::Open
    }

    fn drop_from(&mut self, start: usize) {
        self.nodes.truncate(start);
        let parents = self.ends.len().checked_sub(2).map_or(0, |level| self.ends[level]);
        for node in &mut self.nodes[parents..] {
            (node.first_child, node.children) = (ContextId::new(0), 0);
        }
    }

    /// Levels so far.
    fn levels(&self) -> usize {
        self.ends.len()
    }

    /// The longest context, in calls, that the levels so far can hold.
    pub(super) fn depth(&self) -> u32 {
        self.ends.len().saturating_sub(1) as u32
    }

    pub(super) fn finish(self, k: u32, cut: u64) -> Kccf<L> {
        Kccf { nodes: PrimaryMap::from(self.nodes), level_ends: self.ends, k, cut }
    }
}

/// A node of the sum: its nodes in the two forests, of which at least one is there.
type Pair = (Option<ContextId>, Option<ContextId>);

pub(super) fn merge<L: Label>(a: &Kccf<L>, b: &Kccf<L>, max_nodes: u32) -> Kccf<L> {
    let k = a.k.min(b.k);
    let cut: u64 = [a, b].into_iter().filter(|forest| forest.k == k).map(|forest| forest.cut).sum();
    let mut sum = Levels::new(max_nodes);
    let mut level = Vec::new();
    let roots = pairs(a, a.roots(), b, b.roots());
    push_pairs(&mut sum, None, roots, a, b, &mut level);
    loop {
        let depth = sum.depth();
        match sum.close() {
            Growth::Open if sum.depth() < k => {}
            Growth::Open | Growth::Ended => return sum.finish(k, cut),
            Growth::Full => {
                let cut = cut + longer(a, sum.levels()) + longer(b, sum.levels());
                return sum.finish(depth, cut);
            }
        }
        for (id, (x, y)) in std::mem::take(&mut level) {
            let children = pairs(a, x.into_iter().flat_map(|x| a.children(x)), b, y.into_iter().flat_map(|y| b.children(y)));
            push_pairs(&mut sum, Some(id), children, a, b, &mut level);
            if sum.is_full() {
                break;
            }
        }
    }
}

/// Maximal contexts that do not end within this many levels.
fn longer<L: Label>(forest: &Kccf<L>, levels: usize) -> u64 {
    let end = levels.checked_sub(1).map_or(0, |last| forest.level_ends.get(last).copied().unwrap_or(forest.len()));
    forest.leaves().filter(|leaf| leaf.index() >= end).count() as u64
}

fn push_pairs<L: Label>(
    sum: &mut Levels<L>,
    parent: Option<ContextId>,
    pairs: Vec<Pair>,
    a: &Kccf<L>,
    b: &Kccf<L>,
    level: &mut Vec<(ContextId, Pair)>,
) {
    for (x, y) in pairs {
        let Some(label) = x.map(|x| a.label(x)).or(y.map(|y| b.label(y))) else { continue };
        let weight = x.map_or(0.0, |x| a.weight(x)) + y.map_or(0.0, |y| b.weight(y));
        level.push((sum.push(parent, label, weight), (x, y)));
    }
}

/// Two lists by label, side by side.
fn pairs<L: Label>(a: &Kccf<L>, xs: impl Iterator<Item = ContextId>, b: &Kccf<L>, ys: impl Iterator<Item = ContextId>) -> Vec<Pair> {
    let (mut xs, mut ys) = (xs.peekable(), ys.peekable());
    let mut pairs = Vec::new();
    loop {
        let order = match (xs.peek(), ys.peek()) {
            (Some(&x), Some(&y)) => a.label(x).index().cmp(&b.label(y).index()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return pairs,
        };
        pairs.push(match order {
            Ordering::Less => (xs.next(), None),
            Ordering::Greater => (None, ys.next()),
            Ordering::Equal => (xs.next(), ys.next()),
        });
    }
}
