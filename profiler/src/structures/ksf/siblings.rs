//! Nodes linked first child, next sibling (OOPSLA'12 section 6, the standard representation): 24 bytes a node.
//!
//! Invariant: the child that was found last is the first (move-to-front), so that a call that repeats costs one comparison.

use super::arena::{Arena, LOST, NodeId, Nodes, Tag};
use crate::structures::Label;
use std::marker::PhantomData;

/// See the module.
#[derive(Clone, Debug)]
pub struct Siblings<L> {
    nodes: Nodes<()>,
    labels: PhantomData<L>,
}

impl<L: Label> Siblings<L> {
    /// Without nodes, and with never more than `max_nodes`.
    pub fn new(max_nodes: u32) -> Self {
        Siblings { nodes: Nodes::new(max_nodes), labels: PhantomData }
    }

    /// Looks at all children.
    #[inline(never)]
    fn search(&mut self, parent: NodeId, tag: Tag) -> NodeId {
        let found = self.nodes.find(parent, tag);
        if found != LOST || parent == LOST {
            return found;
        }
        let child = self.nodes.push(tag, parent);
        if child != LOST {
            self.nodes.link(child);
        }
        child
    }
}

impl<L: Label> Arena for Siblings<L> {
    type Label = L;
    type Key = Tag;
    type More = ();

    #[inline]
    fn nodes(&self) -> &Nodes<()> {
        &self.nodes
    }

    #[inline]
    fn nodes_mut(&mut self) -> &mut Nodes<()> {
        &mut self.nodes
    }

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

    fn bytes(&self) -> usize {
        self.nodes.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::arena::Node;
    use super::*;
    use crate::ids::FuncId;

    #[test]
    fn a_node_is_24_bytes() {
        assert_eq!(size_of::<Node<()>>(), 24);
    }

    #[test]
    fn children_move_to_the_front_and_none_is_lost() {
        let mut arena = Siblings::<FuncId>::new(100);
        let f = FuncId::from_u32;
        let root = arena.add_root(f(0));
        let children: Vec<NodeId> = (1..4).map(|n| arena.child(root, Tag::of(f(n)))).collect();
        for n in [2, 1, 3, 3, 1, 2] {
            let child = arena.child(root, Tag::of(f(n)));
            assert_eq!(child, children[n as usize - 1]);
            assert_eq!(arena.nodes[root].first, child);
        }
        assert_eq!(arena.node_count(), 4);
    }

    #[test]
    fn very_many_children_are_found_without_a_search() {
        let mut arena = Siblings::<FuncId>::new(1_000_000);
        let f = FuncId::from_u32;
        let root = arena.add_root(f(0));
        let all = |arena: &mut Siblings<FuncId>| (1..200_000).map(|n| arena.child(root, Tag::of(f(n)))).collect::<Vec<_>>();
        let children = all(&mut arena);
        assert_eq!(all(&mut arena), children);
        assert_eq!(arena.node_count(), 200_000);
    }
}
