//! What the two layouts of a k-SF's nodes have in common: an arena that finds or makes the child of a node.
//!
//! Node 0 of each arena stands for contexts that did not fit: nothing has its label, it has no children and gets none, so that the search for a child needs no test for it, nor for the end of a list, which it is too.

use crate::structures::Label;
use crate::structures::many::{Many, SEARCHED};
use cranelift_entity::{PrimaryMap, entity_impl};
use std::ops::{Index, IndexMut};

/// A node of a k-SF.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);
entity_impl!(NodeId, "slab");

/// The node of what did not fit, and the end of lists.
pub const LOST: NodeId = NodeId(0);

/// Nodes that an arena can have at most: what 32-bit links can name, but for two values that mean something else.
pub const MAX_NODES: u32 = u32::MAX - 2;

/// A label's number, with a value that no label has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tag(u32);

impl Tag {
    /// Of node 0.
    pub const NOBODY: Tag = Tag(u32::MAX);

    /// The number of a label.
    pub fn of<L: Label>(label: L) -> Tag {
        Tag(label.index() as u32)
    }

    /// The label of this number. Not for [`Tag::NOBODY`].
    pub fn label<L: Label>(self) -> L {
        L::new(self.0 as usize)
    }
}

/// A node: what both layouts keep, and what one of them adds.
#[derive(Clone, Debug)]
pub struct Node<More> {
    pub(super) tag: Tag,
    pub(super) parent: NodeId,
    /// The first of its children that are found in a list.
    pub(super) first: NodeId,
    /// The next one in its parent's list.
    pub(super) next: NodeId,
    pub(super) weight: f64,
    pub(super) more: More,
}

/// All nodes of an arena, and their lists of children. A child that is found moves to the front of its list: calls repeat.
#[derive(Clone, Debug)]
pub struct Nodes<More> {
    nodes: PrimaryMap<NodeId, Node<More>>,
    many: Many<(NodeId, Tag), NodeId>,
    max_nodes: usize,
}

impl<More: Default> Nodes<More> {
    /// Node 0 alone, and with never more than `max_nodes` beside it.
    pub(super) fn new(max_nodes: u32) -> Self {
        let mut nodes = Nodes { nodes: PrimaryMap::new(), many: Many::default(), max_nodes: usize::MAX };
        nodes.push(Tag::NOBODY, LOST);
        Nodes { max_nodes: max_nodes.min(MAX_NODES) as usize, ..nodes }
    }

    /// A node that is in no list yet; [`LOST`] if there is no room.
    pub(super) fn push(&mut self, tag: Tag, parent: NodeId) -> NodeId {
        if self.nodes.len() > self.max_nodes {
            return LOST;
        }
        self.nodes.push(Node { tag, parent, first: LOST, next: LOST, weight: 0.0, more: More::default() })
    }

    /// Puts a new child at the front of its parent's list.
    pub(super) fn link(&mut self, child: NodeId) {
        let Node { parent, tag, .. } = self.nodes[child];
        let first = std::mem::replace(&mut self.nodes[parent].first, child);
        self.nodes[child].next = first;
        if !self.many.is_empty() {
            self.many.add((first != LOST).then(|| (parent, self.nodes[first].tag)), (parent, tag), child);
        }
    }

    /// The child in the parent's list; [`LOST`] if there is none.
    #[inline]
    pub(super) fn find(&mut self, parent: NodeId, tag: Tag) -> NodeId {
        let first = self.nodes[parent].first;
        let (mut before, mut at) = (LOST, first);
        for _ in 0..SEARCHED {
            if at == LOST {
                return LOST;
            }
            let node = &self.nodes[at];
            let next = node.next;
            if node.tag == tag {
                if at != first {
                    self.nodes[before].next = next;
                    self.nodes[at].next = first;
                    self.nodes[parent].first = at;
                }
                return at;
            }
            before = at;
            at = next;
        }
        if at == LOST { LOST } else { self.find_one_of_many(parent, tag) }
    }

    /// As [`Nodes::find`], where it is none of the first children. It stays where it is in the list.
    fn find_one_of_many(&mut self, parent: NodeId, tag: Tag) -> NodeId {
        let Nodes { nodes, many, .. } = self;
        let list = std::iter::successors(Some(nodes[parent].first), |&child| Some(nodes[child].next)).take_while(|&child| child != LOST);
        many.find(&(parent, tag), list.map(|child| ((parent, nodes[child].tag), child))).unwrap_or(LOST)
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node<More>>() + self.many.bytes()
    }
}

impl<More> Index<NodeId> for Nodes<More> {
    type Output = Node<More>;

    #[inline]
    fn index(&self, node: NodeId) -> &Node<More> {
        &self.nodes[node]
    }
}

impl<More> IndexMut<NodeId> for Nodes<More> {
    #[inline]
    fn index_mut(&mut self, node: NodeId) -> &mut Node<More> {
        &mut self.nodes[node]
    }
}

/// A layout: how children are found. All else is the same in each.
pub trait Arena {
    /// What nodes are told apart by.
    type Label: Label;
    /// A label, made ready to be looked for among the children of several nodes.
    type Key: Copy;
    /// What the layout adds to a node.
    type More: Default;

    /// All nodes.
    fn nodes(&self) -> &Nodes<Self::More>;

    /// All nodes, to be changed.
    fn nodes_mut(&mut self) -> &mut Nodes<Self::More>;

    /// What to look for.
    fn key(&self, label: Self::Label) -> Self::Key;

    /// The parent's child with this label: a new one if there was none, [`LOST`] if there is no room for it or the parent is lost.
    fn child(&mut self, parent: NodeId, key: Self::Key) -> NodeId;

    /// Memory in bytes.
    fn bytes(&self) -> usize;

    /// A new node without a parent; [`LOST`] if there is no room.
    fn add_root(&mut self, label: Self::Label) -> NodeId {
        self.nodes_mut().push(Tag::of(label), LOST)
    }

    /// Adds to the node's weight.
    #[inline]
    fn count(&mut self, node: NodeId, weight: f64) {
        self.nodes_mut()[node].weight += weight;
    }

    /// Of any node but [`LOST`].
    fn label(&self, node: NodeId) -> Self::Label {
        self.nodes()[node].tag.label()
    }

    /// [`LOST`] for a root.
    fn parent(&self, node: NodeId) -> NodeId {
        self.nodes()[node].parent
    }

    /// What its calls count for.
    fn weight(&self, node: NodeId) -> f64 {
        self.nodes()[node].weight
    }

    /// Nodes, without node 0. Their ids are 1, 2, and so on.
    fn node_count(&self) -> usize {
        self.nodes().nodes.len() - 1
    }
}
