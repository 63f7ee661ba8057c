//! The calling context tree: calls counted by all the calls that were open when they were made (PLDI'06 section 2).
//!
//! In: calls and returns of any number of threads, or samples. Out: one node a context, with the weight of the calls made in it.
//! With [`FuncId`](crate::ids::FuncId) as label a context is a chain of functions (call-site-insensitive), with [`EdgeId`] a chain of calls (call-site-sensitive). Fed with every event the tree is the complete CCT,
//! fed with samples an approximate one.
//!
//! A node is 24 bytes: its children form a ring through their siblings, and it remembers which of them was called last. From there on a called child is searched, and a new one is put behind it. So the ring has the order in
//! which the function calls them, and the next call is mostly of the same child or of the next one. (With a list in which the called child moves to the front, the next one stands at its end: on a recorded program 1.9
//! siblings were passed a call, here 0.6.) A node with very many children has them in a hash table too, so that no trace takes quadratic time.
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
use cranelift_entity::{PrimaryMap, entity_impl};
use rustc_hash::FxHashMap;
use std::marker::PhantomData;

/// A context: a node of one [`Cct`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);
entity_impl!(NodeId, "context");

/// The hidden root, whose children are the first functions of threads. As a child it means that there is none: its own label is no call's, and its links lead to itself, so that nobody has to ask.
const ROOT: NodeId = NodeId(0);
const NO_LABEL: u32 = u32::MAX;

/// A node with more children has them in a hash table. Tests have few children a node.
const SEARCHED: usize = if cfg!(test) { 3 } else { 128 };

#[derive(Clone, Debug)]
struct Node {
    label: u32,
    parent: NodeId,
    /// The child that was called last.
    child: NodeId,
    /// In the ring of the parent's children.
    sibling: NodeId,
    weight: f64,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Cct<L> {
    nodes: PrimaryMap<NodeId, Node>,
    /// All children of nodes that have more than [`SEARCHED`], by parent and label.
    many: FxHashMap<(NodeId, u32), NodeId>,
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

    /// A tree without a limit but that of 32-bit links.
    pub fn new() -> Self {
        Cct::with_limit(Self::MOST)
    }

    /// A tree of at most `limit` nodes.
    pub fn with_limit(limit: u32) -> Self {
        let root = Node { label: NO_LABEL, parent: ROOT, child: ROOT, sibling: ROOT, weight: 0.0 };
        let nodes = [root].into_iter().collect();
        Cct { nodes, many: FxHashMap::default(), limit: limit.min(Self::MOST), dropped: Dropped::default(), label: PhantomData }
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

    /// The child with this label, which is made if there is none, and room. The parent may be the hidden root.
    #[inline(always)]
    fn enter(&mut self, parent: NodeId, label: u32) -> Option<NodeId> {
        let last = self.nodes[parent].child;
        if self.nodes[last].label == label { Some(last) } else { self.enter_another(parent, label) }
    }

    /// As [`Cct::enter`], where it is not the child that was called last.
    #[inline(never)]
    fn enter_another(&mut self, parent: NodeId, label: u32) -> Option<NodeId> {
        let last = self.nodes[parent].child;
        let mut child = self.nodes[last].sibling;
        for _ in 1..SEARCHED {
            if child == last {
                return self.push(parent, label);
            }
            let node = &self.nodes[child];
            if node.label == label {
                self.nodes[parent].child = child;
                return Some(child);
            }
            child = node.sibling;
        }
        self.enter_one_of_many(parent, label)
    }

    /// As [`Cct::enter`], where it is none of the first children.
    #[cold]
    fn enter_one_of_many(&mut self, parent: NodeId, label: u32) -> Option<NodeId> {
        if let Some(&child) = self.many.get(&(parent, label)) {
            self.nodes[parent].child = child;
            return Some(child);
        }
        let is_first = !self.many.contains_key(&(parent, self.nodes[self.nodes[parent].child].label));
        let new = self.push(parent, label)?;
        let mut child = new;
        loop {
            self.many.insert((parent, self.nodes[child].label), child);
            child = self.nodes[child].sibling;
            if !is_first || child == new {
                return Some(new);
            }
        }
    }

    /// A child behind the one that was called last.
    fn push(&mut self, parent: NodeId, label: u32) -> Option<NodeId> {
        if self.len() >= self.limit {
            return None;
        }
        let last = self.nodes[parent].child;
        let new = self.nodes.next_key();
        let sibling = if last == ROOT { new } else { std::mem::replace(&mut self.nodes[last].sibling, new) };
        self.nodes.push(Node { label, parent, child: ROOT, sibling, weight: 0.0 });
        self.nodes[parent].child = new;
        Some(new)
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
