//! The calling context tree: calls counted by all the calls that were open when they were made (PLDI'06 section 2).
//!
//! In: calls and returns of any number of threads, or samples. Out: one node a context, with the weight of the calls made in it.
//! With [`FuncId`](crate::ids::FuncId) as label a context is a chain of functions (call-site-insensitive), with [`EdgeId`] a chain of calls (call-site-sensitive). Fed with every event the tree is the complete CCT,
//! fed with samples an approximate one.
//!
//! A node is 24 bytes: its children are a list through their siblings, in which a child that is called moves to the front. A call of the child that was called last, and a return, are then a few instructions, and
//! what is called often is found soon. A node with very many children keeps those at the end of its list in a hash table, so that no trace takes quadratic time.
//!
//! Invariants: children of a node have different labels; a node's parent has a lower id than the node; ids never change. The tree has at most as many nodes as its limit: what finds no room is counted in
//! [`Cct::dropped`], with all that is called below it.

mod query;
#[cfg(test)]
mod tests;

use super::dropped::Dropped;
use super::{CallStructure, Label};
use crate::event::Event;
use crate::ids::EdgeId;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, entity_impl};
use rustc_hash::FxHashMap;
use std::marker::PhantomData;

/// A context: a node of one [`Cct`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);
entity_impl!(NodeId, "context");

/// The hidden root, whose children are the first functions of threads. As a child or sibling it means that there is none: its own label is no call's, and its links lead to itself, so that nobody has to ask.
const ROOT: NodeId = NodeId(0);
const NO_LABEL: u32 = u32::MAX;

/// So many children of a node are searched one by one, the others by hash. Tests have few children a node.
const SEARCHED: usize = if cfg!(test) { 3 } else { 128 };

#[derive(Clone, Debug)]
struct Node {
    label: u32,
    parent: NodeId,
    first_child: NodeId,
    next_sibling: NodeId,
    weight: f64,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Cct<L> {
    nodes: PrimaryMap<NodeId, Node>,
    /// Children at positions beyond [`SEARCHED`], by parent and label.
    far: FxHashMap<(NodeId, u32), NodeId>,
    limit: u32,
    dropped: Dropped,
    label: PhantomData<L>,
}

/// Where a thread stands in a [`Cct`]. It belongs to that tree.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    /// The context of the last open call that has a node.
    node: NodeId,
    /// Open calls above it: they found no room.
    dropped: u64,
}

impl<L: Label> Default for Cct<L> {
    fn default() -> Self {
        Cct::new()
    }
}

impl<L: Label> Cct<L> {
    /// Memory of one context, in bytes.
    pub const NODE_BYTES: usize = size_of::<Node>();
    /// The most nodes that ids can tell apart, apart from the hidden root.
    const MOST: u32 = u32::MAX - 2;

    pub fn new() -> Self {
        Cct::with_limit(Self::MOST)
    }

    /// A tree of at most `limit` nodes.
    pub fn with_limit(limit: u32) -> Self {
        let root = Node { label: NO_LABEL, parent: ROOT, first_child: ROOT, next_sibling: ROOT, weight: 0.0 };
        let nodes = [root].into_iter().collect();
        Cct { nodes, far: FxHashMap::default(), limit: limit.min(Self::MOST), dropped: Dropped::default(), label: PhantomData }
    }

    /// What found no room.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// The thread makes these calls and returns, each call counting for `weight`. The same as [`CallStructure::call`] and [`CallStructure::ret`] one after the other, but faster.
    pub fn run(&mut self, at: &mut Cursor, events: &[Event], weight: f64, label: impl Fn(EdgeId) -> L) {
        let mut here = *at;
        for event in events {
            match event.edge() {
                Some(edge) => self.call(&mut here, label(edge), weight),
                None => self.ret(&mut here),
            }
        }
        *at = here;
    }

    /// Counts for a context, given by the calls that lead to it, outermost first. Without calls nothing happens.
    pub fn count(&mut self, path: impl IntoIterator<Item = L>, weight: f64) {
        let mut path = path.into_iter().peekable();
        let mut at = self.start();
        while let Some(label) = path.next() {
            let weight = if path.peek().is_none() { weight } else { 0.0 };
            self.call(&mut at, label, weight);
        }
    }

    /// Adds another tree's weights: the result is the tree of both trees' calls.
    pub fn merge(&mut self, other: &Self) {
        let mut ours = PrimaryMap::with_capacity(other.nodes.len());
        ours.push(PackedOption::from(ROOT));
        for Node { label, parent, weight, .. } in other.nodes.values().skip(1) {
            let node = ours[*parent].expand().and_then(|parent| self.enter(parent, *label));
            self.count_at(node, *weight);
            ours.push(node.into());
        }
        self.dropped.merge(other.dropped);
    }

    /// The child with this label, which is made if there is none, and room; it is the first child then. The parent may be the hidden root.
    #[inline(always)]
    fn enter(&mut self, parent: NodeId, label: u32) -> Option<NodeId> {
        let first = self.nodes[parent].first_child;
        if self.nodes[first].label == label { Some(first) } else { self.enter_another(parent, label) }
    }

    /// As [`Cct::enter`], where it is not the first child.
    #[inline(never)]
    fn enter_another(&mut self, parent: NodeId, label: u32) -> Option<NodeId> {
        let first = self.nodes[parent].first_child;
        let mut before = first;
        for _ in 1..SEARCHED {
            let child = self.nodes[before].next_sibling;
            if child == ROOT {
                return self.push(parent, label);
            }
            if self.nodes[child].label == label {
                self.nodes[before].next_sibling = self.nodes[child].next_sibling;
                self.nodes[child].next_sibling = first;
                self.nodes[parent].first_child = child;
                return Some(child);
            }
            before = child;
        }
        self.enter_far(parent, label, before)
    }

    /// As [`Cct::enter`], where it is none of the children that are searched, the last of which is given. What is beyond them stays there: moving it would take a search for its elder sibling.
    #[cold]
    fn enter_far(&mut self, parent: NodeId, label: u32, last_searched: NodeId) -> Option<NodeId> {
        if let Some(&child) = self.far.get(&(parent, label)) {
            return Some(child);
        }
        let child = self.push(parent, label)?;
        self.far.insert((parent, self.nodes[last_searched].label), last_searched);
        Some(child)
    }

    fn push(&mut self, parent: NodeId, label: u32) -> Option<NodeId> {
        if self.len() >= self.limit {
            return None;
        }
        let next_sibling = self.nodes[parent].first_child;
        let child = self.nodes.push(Node { label, parent, first_child: ROOT, next_sibling, weight: 0.0 });
        self.nodes[parent].first_child = child;
        Some(child)
    }

    /// For structures that keep their trees in one of these: a thread's first function, or `None` if there is no room.
    pub(super) fn enter_root(&mut self, label: L) -> Option<NodeId> {
        self.enter(ROOT, label.index() as u32)
    }

    /// As [`Cct::enter_root`], a call in a context.
    pub(super) fn enter_child(&mut self, parent: NodeId, label: L) -> Option<NodeId> {
        self.enter(parent, label.index() as u32)
    }

    /// Counts a call in a context, or as dropped.
    #[inline(always)]
    pub(super) fn count_at(&mut self, node: Option<NodeId>, weight: f64) {
        match node {
            Some(node) => self.nodes[node].weight += weight,
            None => self.dropped.count(weight),
        }
    }
}

impl<L: Label> CallStructure for Cct<L> {
    type Label = L;
    type Cursor = Cursor;

    fn start(&mut self) -> Cursor {
        Cursor { node: ROOT, dropped: 0 }
    }

    #[inline]
    fn call(&mut self, at: &mut Cursor, label: L, weight: f64) {
        if at.dropped > 0 {
            at.dropped += 1;
            return self.dropped.count(weight);
        }
        let node = self.enter(at.node, label.index() as u32);
        self.count_at(node, weight);
        match node {
            Some(node) => at.node = node,
            None => at.dropped = 1,
        }
    }

    #[inline]
    fn ret(&mut self, at: &mut Cursor) {
        if at.dropped > 0 {
            at.dropped -= 1;
            return;
        }
        at.node = self.nodes[at.node].parent;
    }
}

const _: () = assert!(size_of::<Node>() <= 24);
