//! Nodes with an array of children (OOPSLA'12 section 6, the indexed representation): a direct call finds its child with one look, an indirect one in a list.
//!
//! 32 bytes a node, and four for each slot of a node that has direct calls.
//! Invariants: a node's array, once made, stays where it is; a label is in the list only if its slot lies beyond the array or belongs to another child, so the search is right whatever the slots are.

use super::arena::{Arena, LOST, MAX_NODES, NodeId, Tag};
use super::slots::Slots;
use crate::structures::Label;
use cranelift_entity::PrimaryMap;

#[derive(Clone, Debug)]
struct Node {
    tag: Tag,
    parent: NodeId,
    /// Where its slots begin in [`Indexed::links`].
    slots: u32,
    /// Number of slots; 0 until the first child comes that has one.
    degree: u32,
    /// The first child of those without a slot.
    others: NodeId,
    /// The next one in such a list.
    next: NodeId,
    weight: f64,
}

impl Node {
    fn new(tag: Tag, parent: NodeId) -> Node {
        Node { tag, parent, slots: 0, degree: 0, others: LOST, next: LOST, weight: 0.0 }
    }
}

/// A label and its slot.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    tag: Tag,
    slot: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Indexed<L: Label> {
    nodes: PrimaryMap<NodeId, Node>,
    links: Vec<NodeId>,
    slots: Slots<L>,
    max_nodes: usize,
}

impl<L: Label> Indexed<L> {
    /// Without nodes, and with never more than `max_nodes`.
    pub fn new(slots: Slots<L>, max_nodes: u32) -> Self {
        let mut nodes = PrimaryMap::new();
        nodes.push(Node::new(Tag::NOBODY, LOST));
        Indexed { nodes, links: Vec::new(), slots, max_nodes: max_nodes.min(MAX_NODES) as usize }
    }

    /// Looks in the list, of which it moves to the front what it finds.
    #[inline(never)]
    fn search(&mut self, parent: NodeId, key: Key) -> NodeId {
        let first = self.nodes[parent].others;
        let (mut before, mut at) = (LOST, first);
        while at != LOST {
            let node = &self.nodes[at];
            let next = node.next;
            if node.tag == key.tag {
                if at != first {
                    self.nodes[before].next = next;
                    self.nodes[at].next = first;
                    self.nodes[parent].others = at;
                }
                return at;
            }
            before = at;
            at = next;
        }
        self.add_child(parent, key)
    }

    fn add_child(&mut self, parent: NodeId, key: Key) -> NodeId {
        if parent == LOST || self.node_count() >= self.max_nodes {
            return LOST;
        }
        let child = self.nodes.push(Node::new(key.tag, parent));
        match self.slot(parent, key.slot) {
            Some(link) if *link == LOST => *link = child,
            _ => {
                self.nodes[child].next = self.nodes[parent].others;
                self.nodes[parent].others = child;
            }
        }
        child
    }

    /// The slot in the node's array, which is made if need be; `None` if it lies beyond.
    fn slot(&mut self, node: NodeId, slot: u32) -> Option<&mut NodeId> {
        let Node { tag, degree, .. } = self.nodes[node];
        if degree == 0 {
            let degree = self.slots.degree(tag.label());
            let start = self.links.len();
            let end = start + degree as usize;
            if slot >= degree || end > u32::MAX as usize {
                return None;
            }
            self.links.resize(end, LOST);
            self.nodes[node].slots = start as u32;
            self.nodes[node].degree = degree;
        }
        let Node { slots, degree, .. } = self.nodes[node];
        if slot < degree { self.links.get_mut((slots + slot) as usize) } else { None }
    }
}

impl<L: Label> Arena for Indexed<L> {
    type Label = L;
    type Key = Key;

    #[inline]
    fn key(&self, label: L) -> Key {
        Key { tag: Tag::of(label), slot: self.slots.slot(label) }
    }

    #[inline]
    fn child(&mut self, parent: NodeId, key: Key) -> NodeId {
        let node = &self.nodes[parent];
        if key.slot < node.degree {
            let child = self.links[(node.slots + key.slot) as usize];
            if self.nodes[child].tag == key.tag {
                return child;
            }
        }
        self.search(parent, key)
    }

    fn add_root(&mut self, label: L) -> NodeId {
        if self.node_count() >= self.max_nodes { LOST } else { self.nodes.push(Node::new(Tag::of(label), LOST)) }
    }

    #[inline]
    fn count(&mut self, node: NodeId, weight: f64) {
        self.nodes[node].weight += weight;
    }

    fn label(&self, node: NodeId) -> L {
        self.nodes[node].tag.label()
    }

    fn parent(&self, node: NodeId) -> NodeId {
        self.nodes[node].parent
    }

    fn weight(&self, node: NodeId) -> f64 {
        self.nodes[node].weight
    }

    fn node_count(&self) -> usize {
        self.nodes.len() - 1
    }

    fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node>() + self.links.len() * size_of::<NodeId>() + self.slots.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_32_bytes() {
        assert_eq!(size_of::<Node>(), 32);
    }
}
