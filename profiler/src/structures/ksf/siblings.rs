//! Nodes linked first child, next sibling (OOPSLA'12 section 6, the standard representation): 24 bytes a node.
//!
//! Invariant: the child that was found last is the first (move-to-front), so that a call that repeats costs one comparison.

use super::arena::{Arena, LOST, MAX_NODES, NodeId, Tag};
use crate::structures::Label;
use cranelift_entity::PrimaryMap;
use std::marker::PhantomData;

#[derive(Clone, Debug)]
struct Node {
    tag: Tag,
    parent: NodeId,
    first: NodeId,
    next: NodeId,
    weight: f64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Siblings<L> {
    nodes: PrimaryMap<NodeId, Node>,
    max_nodes: usize,
    labels: PhantomData<L>,
}

impl<L: Label> Siblings<L> {
    /// Without nodes, and with never more than `max_nodes`.
    pub fn new(max_nodes: u32) -> Self {
        let mut nodes = PrimaryMap::new();
        nodes.push(Node { tag: Tag::NOBODY, parent: LOST, first: LOST, next: LOST, weight: 0.0 });
        Siblings { nodes, max_nodes: max_nodes.min(MAX_NODES) as usize, labels: PhantomData }
    }

    /// Looks at all children but the first.
    #[inline(never)]
    fn search(&mut self, parent: NodeId, tag: Tag) -> NodeId {
        let first = self.nodes[parent].first;
        let mut before = first;
        let mut at = self.nodes[first].next;
        while at != LOST {
            let node = &self.nodes[at];
            let next = node.next;
            if node.tag == tag {
                self.nodes[before].next = next;
                self.nodes[at].next = first;
                self.nodes[parent].first = at;
                return at;
            }
            before = at;
            at = next;
        }
        self.add_child(parent, tag)
    }

    fn add_child(&mut self, parent: NodeId, tag: Tag) -> NodeId {
        if parent == LOST {
            return LOST;
        }
        let first = self.nodes[parent].first;
        let child = self.push(Node { tag, parent, first: LOST, next: first, weight: 0.0 });
        if child != LOST {
            self.nodes[parent].first = child;
        }
        child
    }

    fn push(&mut self, node: Node) -> NodeId {
        if self.node_count() >= self.max_nodes {
            return LOST;
        }
        self.nodes.push(node)
    }
}

impl<L: Label> Arena for Siblings<L> {
    type Label = L;
    type Key = Tag;

    #[inline]
    fn key(&self, label: L) -> Tag {
        Tag::of(label)
    }

    #[inline]
    fn child(&mut self, parent: NodeId, tag: Tag) -> NodeId {
        let first = self.nodes[parent].first;
        if self.nodes[first].tag == tag {
            return first;
        }
        self.search(parent, tag)
    }

    fn add_root(&mut self, label: L) -> NodeId {
        self.push(Node { tag: Tag::of(label), parent: LOST, first: LOST, next: LOST, weight: 0.0 })
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
        self.nodes.len() * size_of::<Node>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FuncId;

    #[test]
    fn a_node_is_24_bytes() {
        assert_eq!(size_of::<Node>(), 24);
    }

    #[test]
    fn children_move_to_the_front_and_none_is_lost() {
        let mut arena = Siblings::<FuncId>::new(100);
        let f = FuncId::from_u32;
        let root = arena.add_root(f(0));
        let children: Vec<NodeId> = (1..6).map(|n| arena.child(root, Tag::of(f(n)))).collect();
        for n in [2, 5, 1, 3, 3, 4, 1, 2] {
            let child = arena.child(root, Tag::of(f(n)));
            assert_eq!(child, children[n as usize - 1]);
            assert_eq!(arena.nodes[root].first, child);
        }
        assert_eq!(arena.node_count(), 6);
    }
}
