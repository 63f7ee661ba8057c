//! Nodes with an array of children (OOPSLA'12 section 6, the indexed representation): a direct call finds its child with one look, an indirect one in a list.
//!
//! 32 bytes a node, and four for each slot of a node that has direct calls.
//! Invariants: a node's array, once made, stays where it is; a label is in the list only if its slot lies beyond the array or belongs to another child, so the search is right whatever the slots are.

use super::arena::{Arena, LOST, NodeId, Nodes, Tag};
use super::slots::Slots;
use crate::structures::Label;

/// A node's slots.
#[derive(Clone, Copy, Default, Debug)]
pub struct Array {
    /// Where they begin in [`Indexed::links`].
    start: u32,
    /// Their number; 0 until the first child comes that has one.
    degree: u32,
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
    nodes: Nodes<Array>,
    links: Vec<NodeId>,
    slots: Slots<L>,
}

impl<L: Label> Indexed<L> {
    /// Without nodes, and with never more than `max_nodes`.
    pub fn new(slots: Slots<L>, max_nodes: u32) -> Self {
        Indexed { nodes: Nodes::new(max_nodes), links: Vec::new(), slots }
    }

    /// Looks in the list, or makes the child.
    #[inline(never)]
    fn search(&mut self, parent: NodeId, key: Key) -> NodeId {
        let found = self.nodes.find(parent, key.tag);
        if found != LOST || parent == LOST {
            return found;
        }
        let child = self.nodes.push(key.tag, parent);
        if child == LOST {
            return LOST;
        }
        match self.slot(parent, key.slot) {
            Some(link) if *link == LOST => *link = child,
            _ => self.nodes.link(child),
        }
        child
    }

    /// The slot in the node's array, which is made if need be; `None` if it lies beyond.
    fn slot(&mut self, node: NodeId, slot: u32) -> Option<&mut NodeId> {
        if self.nodes[node].more.degree == 0 {
            let degree = self.slots.degree(self.label(node));
            let start = self.links.len();
            let end = start + degree as usize;
            if slot >= degree || end > u32::MAX as usize {
                return None;
            }
            self.links.resize(end, LOST);
            self.nodes[node].more = Array { start: start as u32, degree };
        }
        let Array { start, degree } = self.nodes[node].more;
        if slot < degree { self.links.get_mut((start + slot) as usize) } else { None }
    }
}

impl<L: Label> Arena for Indexed<L> {
    type Label = L;
    type Key = Key;
    type More = Array;

    #[inline]
    fn nodes(&self) -> &Nodes<Array> {
        &self.nodes
    }

    #[inline]
    fn nodes_mut(&mut self) -> &mut Nodes<Array> {
        &mut self.nodes
    }

    #[inline]
    fn key(&self, label: L) -> Key {
        Key { tag: Tag::of(label), slot: self.slots.slot(label) }
    }

    #[inline]
    fn child(&mut self, parent: NodeId, key: Key) -> NodeId {
        let Array { start, degree } = self.nodes[parent].more;
        if key.slot < degree {
            let child = self.links[(start + key.slot) as usize];
            if self.nodes[child].tag == key.tag {
                return child;
            }
        }
        self.search(parent, key)
    }

    fn bytes(&self) -> usize {
        self.nodes.bytes() + self.links.len() * size_of::<NodeId>() + self.slots.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::arena::Node;
    use super::*;

    #[test]
    fn a_node_is_32_bytes() {
        assert_eq!(size_of::<Node<Array>>(), 32);
    }
}
