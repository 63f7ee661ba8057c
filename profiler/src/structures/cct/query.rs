//! What a calling context tree can be asked.
//!
//! Nothing here recurses: a context may be a million calls deep. Where a [`NodeId`] is taken it must be one of this tree; another's panics or names another context.

use super::super::Label;
use super::{Cct, Cursor, Node, NodeId, ROOT, SEARCHED};
use crate::structures::dropped::Dropped;
use crate::structures::forest::{Forest, Grown};
use cranelift_entity::PrimaryMap;
use cranelift_entity::packed_option::PackedOption;
use std::iter::successors;

/// Contexts without the hidden root.
fn some(node: NodeId) -> Option<NodeId> {
    (node != ROOT).then_some(node)
}

/// A tree in figures.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// How many there are.
    pub contexts: u32,
    /// Of calls, all contexts together.
    pub weight: f64,
    /// Calls that are open in the deepest context.
    pub height: u32,
    /// Memory in use.
    pub bytes: usize,
    /// What found no room.
    pub dropped: Dropped,
}

/// Contexts and how many of the calls that lead to them lie below the place where the walk began, callers before callees.
pub struct Walk<'a, L> {
    tree: &'a Cct<L>,
    top: NodeId,
    next: Option<(NodeId, u32)>,
}

impl<L> Iterator for Walk<'_, L> {
    type Item = (NodeId, u32);

    fn next(&mut self) -> Option<(NodeId, u32)> {
        let (node, depth) = self.next?;
        self.next = self.after(node, depth);
        Some((node, depth))
    }
}

impl<L> Walk<'_, L> {
    fn after(&self, mut node: NodeId, mut depth: u32) -> Option<(NodeId, u32)> {
        let nodes = &self.tree.nodes;
        if let Some(child) = some(nodes[node].child) {
            return Some((child, depth + 1));
        }
        while node != self.top {
            if let Some(sibling) = self.tree.sibling(node) {
                return Some((sibling, depth));
            }
            node = nodes[node].parent;
            depth = depth.saturating_sub(1);
        }
        None
    }
}

impl<L: Label> Forest for Cct<L> {
    type Label = L;
    type Node = NodeId;

    fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        Cct::nodes(self)
    }

    fn label(&self, node: NodeId) -> L {
        Cct::label(self, node)
    }

    fn parent(&self, node: NodeId) -> Option<NodeId> {
        Cct::parent(self, node)
    }

    fn weight(&self, node: NodeId) -> f64 {
        Cct::weight(self, node)
    }
}

impl<L: Label> Grown for Cct<L> {
    fn counted_at(&self, at: &Cursor) -> Option<NodeId> {
        self.context(at)
    }
}

impl<L> Cct<L> {
    /// The next child of the same parent, if one takes the child that was called last for the first.
    fn sibling(&self, node: NodeId) -> Option<NodeId> {
        let Node { parent, sibling, .. } = self.nodes[node];
        (sibling != self.nodes[parent].child).then_some(sibling)
    }
}

impl<L: Label> Cct<L> {
    /// How many contexts there are.
    pub fn len(&self) -> u32 {
        (self.nodes.len() - 1) as u32
    }

    /// No call has been made.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory in use, in bytes. What is reserved for growth is at most as much again.
    pub fn bytes(&self) -> usize {
        // A hash table keeps a byte a slot beside its entries.
        let many = self.many.capacity() * (size_of::<((NodeId, u32), NodeId)>() + 1);
        self.nodes.len() * Self::NODE_BYTES + many
    }

    /// The tree in figures. Walks it once.
    pub fn summary(&self) -> Summary {
        let height = self.walk().map(|(_, depth)| depth + 1).max().unwrap_or(0);
        Summary { contexts: self.len(), weight: self.total(), height, bytes: self.bytes(), dropped: self.dropped() }
    }

    /// All contexts, in the order in which they were first entered: callers before callees.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<L> {
        (1..=self.len()).map(NodeId::from_u32)
    }

    /// The context in which a thread is: `None` without open calls, and where the last one was dropped.
    pub fn context(&self, at: &Cursor) -> Option<NodeId> {
        if at.dropped == 0 { some(at.node) } else { None }
    }

    /// The last call that leads to the context.
    pub fn label(&self, node: NodeId) -> L {
        L::new(self.nodes[node].label as usize)
    }

    /// Of the calls that were made in this context and are its last: calls that it made itself are its children's.
    pub fn weight(&self, node: NodeId) -> f64 {
        self.nodes[node].weight
    }

    /// The caller's context, `None` for a thread's first function.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        some(self.nodes[node].parent)
    }

    /// In no order that means something.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        successors(some(self.nodes[node].child), |&child| self.sibling(child))
    }

    /// The contexts of threads' first functions, in no order that means something.
    pub fn roots(&self) -> impl Iterator<Item = NodeId> {
        self.children(ROOT)
    }

    /// The context itself, its caller's, and so on up to a thread's first function.
    pub fn ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        successors(Some(node), |&node| self.parent(node))
    }

    /// The calls that lead to the context, outermost first.
    pub fn path(&self, node: NodeId) -> Vec<L> {
        let mut path: Vec<L> = self.ancestors(node).map(|node| self.label(node)).collect();
        path.reverse();
        path
    }

    /// The context to which these calls lead, outermost first.
    pub fn find(&self, path: &[L]) -> Option<NodeId> {
        let node = path.iter().try_fold(ROOT, |node, label| self.child(node, label.index() as u32))?;
        some(node)
    }

    /// How many callers a context has: 0 for a thread's first function.
    pub fn depth(&self, node: NodeId) -> u32 {
        self.ancestors(node).count() as u32 - 1
    }

    /// All contexts with their depths, callers before callees, each followed by all that is below it.
    pub fn walk(&self) -> Walk<'_, L> {
        Walk { tree: self, top: ROOT, next: self.roots().next().map(|root| (root, 0)) }
    }

    /// A context and all below it, with their depths below it.
    pub fn subtree(&self, node: NodeId) -> Walk<'_, L> {
        Walk { tree: self, top: node, next: Some((node, 0)) }
    }

    /// Of all calls.
    pub fn total(&self) -> f64 {
        self.nodes.values().map(|node| node.weight).sum()
    }

    /// The weight of a context and of all below it. For all contexts at once see [`Cct::inclusive_weights`].
    pub fn inclusive_weight(&self, node: NodeId) -> f64 {
        self.subtree(node).map(|(node, _)| self.weight(node)).sum()
    }

    /// The weight of each context and of all below it.
    pub fn inclusive_weights(&self) -> PrimaryMap<NodeId, f64> {
        let mut weights: PrimaryMap<NodeId, f64> = self.nodes.values().map(|node| node.weight).collect();
        // A node's children have higher ids, so they are complete when it is their parent's turn.
        for node in self.nodes().rev() {
            let weight = weights[node];
            weights[self.nodes[node].parent] += weight;
        }
        weights
    }

    /// All contexts, heaviest first; of equal ones the one that was entered first.
    pub fn by_weight(&self) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.nodes().collect();
        nodes.sort_by(|&a, &b| self.weight(b).total_cmp(&self.weight(a)));
        nodes
    }

    /// For each context of this tree the other tree's equivalent: the same calls lead to both (PLDI'06 definition 1).
    pub fn equivalents(&self, other: &Self) -> PrimaryMap<NodeId, PackedOption<NodeId>> {
        let mut theirs = PrimaryMap::with_capacity(self.nodes.len());
        theirs.push(PackedOption::from(ROOT));
        for node in self.nodes.values().skip(1) {
            let parent: PackedOption<NodeId> = theirs[node.parent];
            theirs.push(parent.expand().and_then(|parent| other.child(parent, node.label)).into());
        }
        theirs
    }

    fn child(&self, parent: NodeId, label: u32) -> Option<NodeId> {
        let searched = self.children(parent).take(SEARCHED).find(|&child| self.nodes[child].label == label);
        searched.or_else(|| self.many.get(&(parent, label)).copied())
    }
}

/// The same contexts with the same weights, whatever the order of children.
impl<L: Label> PartialEq for Cct<L> {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        let theirs = self.equivalents(other);
        self.nodes().all(|node| theirs[node].expand().is_some_and(|their| self.weight(node) == other.weight(their)))
    }
}
