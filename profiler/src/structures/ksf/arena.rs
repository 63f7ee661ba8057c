//! What the two layouts of a k-SF's nodes have in common: an arena that finds or makes the child of a node.
//!
//! Node 0 of each arena stands for contexts that did not fit: nothing has its label, it has no children and gets none, so that the search for a child needs no test for it, nor for the end of a list, which it is too.

use crate::structures::Label;
use cranelift_entity::entity_impl;

/// A node of a k-SF.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);
entity_impl!(NodeId, "slab");

/// The node of what did not fit, and the end of lists.
pub const LOST: NodeId = NodeId(0);

/// Nodes that an arena can have at most: what 32-bit links can name, but for two values that mean something else.
pub const MAX_NODES: u32 = u32::MAX - 2;

/// A label's number, with a value that no label has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag(u32);

impl Tag {
    /// Of node 0.
    pub const NOBODY: Tag = Tag(u32::MAX);

    pub fn of<L: Label>(label: L) -> Tag {
        Tag(label.index() as u32)
    }

    pub fn label<L: Label>(self) -> L {
        L::new(self.0 as usize)
    }
}

/// Nodes, and how children are found.
pub trait Arena {
    type Label: Label;
    /// A label, made ready to be looked for among the children of several nodes.
    type Key: Copy;

    fn key(&self, label: Self::Label) -> Self::Key;

    /// The parent's child with this label: a new one if there was none, [`LOST`] if there is no room for it or the parent is lost.
    fn child(&mut self, parent: NodeId, key: Self::Key) -> NodeId;

    /// A new node without a parent; [`LOST`] if there is no room.
    fn add_root(&mut self, label: Self::Label) -> NodeId;

    /// Adds to the node's weight.
    fn count(&mut self, node: NodeId, weight: f64);

    fn label(&self, node: NodeId) -> Self::Label;

    /// [`LOST`] for a root.
    fn parent(&self, node: NodeId) -> NodeId;

    fn weight(&self, node: NodeId) -> f64;

    /// Nodes, without node 0. Their ids are 1, 2, and so on.
    fn node_count(&self) -> usize;

    /// Memory in bytes.
    fn bytes(&self) -> usize;
}
