//! Labelled forests, as everything sees them that is computed from one: nodes with a label, a parent and a weight.
//!
//! Invariants: a parent comes before its children; siblings, and roots, may or may not have distinct labels (those of a CCT and of a k-SF do).

use super::{CallStructure, Label};
use cranelift_entity::EntityRef;

/// A structure with one node for each path from a root.
pub trait Forest {
    /// What nodes are told apart by.
    type Label: Label;
    /// A node's number.
    type Node: EntityRef;

    /// All nodes, parents before their children.
    fn nodes(&self) -> impl Iterator<Item = Self::Node> + '_;

    /// What was called.
    fn label(&self, node: Self::Node) -> Self::Label;

    /// `None` for a root.
    fn parent(&self, node: Self::Node) -> Option<Self::Node>;

    /// What the calls count for that were made in this context: each call is in the weight of one node.
    fn weight(&self, node: Self::Node) -> f64;

    /// The length, in calls, up to which the paths that end in a node tell the context of its calls. `None`: from the thread's first call on, whatever the length.
    fn reach(&self) -> Option<u32> {
        None
    }
}

/// A forest that grows by calls.
pub trait Grown: CallStructure + Forest<Label = <Self as CallStructure>::Label> {
    /// Where the thread's last call has counted; `None` if nowhere, since there was no room.
    fn counted_at(&self, at: &Self::Cursor) -> Option<Self::Node>;
}
