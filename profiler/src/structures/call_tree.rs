//! The call tree: one node an invocation, in the order of the calls (PLDI'06 section 2). For teaching, and for looking at small traces: it grows with every call.
//!
//! In: calls and returns of any number of threads. Out: the invocations, each with what it called; [`CallTree::cct`] merges those with the same callers into contexts. Of a sample the stack becomes invocations too,
//! of weight 0 and never those of another sample: what a call tree says, it says of complete traces.
//!
//! Invariants: an invocation's caller has a lower id than it; children stand in the order of the calls. The tree has at most as many nodes as its limit: what finds no room is counted in [`CallTree::dropped`], with
//! all that is called below it.

use super::cct::{self, Cct};
use super::dropped::Dropped;
use super::{CallStructure, Label};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, entity_impl};
use std::iter::successors;

/// One call of a function: a node of one [`CallTree`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InvocationId(u32);
entity_impl!(InvocationId, "invocation");

type Link = PackedOption<InvocationId>;

#[derive(Clone, Debug)]
struct Node<L> {
    label: L,
    caller: Link,
    first_child: Link,
    last_child: Link,
    next_sibling: Link,
    weight: f64,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct CallTree<L> {
    nodes: PrimaryMap<InvocationId, Node<L>>,
    roots: Vec<InvocationId>,
    limit: u32,
    dropped: Dropped,
}

/// Where a thread stands in a [`CallTree`], as long as that has room: then no call will ever get a node again, and it does not matter any more. It belongs to that tree.
#[derive(Clone, Copy, Debug)]
pub struct Cursor(Link);

impl<L: Label> CallTree<L> {
    /// A tree of at most `limit` invocations (32 bytes each).
    pub fn with_limit(limit: u32) -> Self {
        CallTree { nodes: PrimaryMap::new(), roots: Vec::new(), limit: limit.min(u32::MAX - 1), dropped: Dropped::default() }
    }

    /// How many invocations there are.
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// No call has been made.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What found no room.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Memory in use, in bytes. What is reserved for growth is at most as much again.
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node<L>>() + self.roots.len() * size_of::<InvocationId>()
    }

    /// What was called.
    pub fn label(&self, node: InvocationId) -> L {
        self.nodes[node].label
    }

    /// What the call counts for.
    pub fn weight(&self, node: InvocationId) -> f64 {
        self.nodes[node].weight
    }

    /// `None` for a thread's first function.
    pub fn caller(&self, node: InvocationId) -> Option<InvocationId> {
        self.nodes[node].caller.expand()
    }

    /// What an invocation called, in the order of the calls.
    pub fn children(&self, node: InvocationId) -> impl Iterator<Item = InvocationId> {
        successors(self.nodes[node].first_child.expand(), |&child| self.nodes[child].next_sibling.expand())
    }

    /// Threads' first functions, in the order in which they were called.
    pub fn roots(&self) -> &[InvocationId] {
        &self.roots
    }

    /// All invocations with the number of their callers, each followed by all that is below it: a thread's calls in their order.
    pub fn walk(&self) -> impl Iterator<Item = (InvocationId, u32)> {
        self.roots.iter().flat_map(|&root| successors(Some((root, 0)), |&(node, depth)| self.after(node, depth)))
    }

    /// The invocation that follows in a walk of one root.
    fn after(&self, mut node: InvocationId, mut depth: u32) -> Option<(InvocationId, u32)> {
        if let Some(child) = self.nodes[node].first_child.expand() {
            return Some((child, depth + 1));
        }
        loop {
            if let Some(sibling) = self.nodes[node].next_sibling.expand() {
                return Some((sibling, depth));
            }
            node = self.caller(node)?;
            depth -= 1;
        }
    }

    /// The calling context tree: invocations of the same label whose callers are merged are one context.
    pub fn cct(&self) -> Cct<L> {
        let mut cct = Cct::new();
        let mut contexts: PrimaryMap<InvocationId, cct::Cursor> = PrimaryMap::with_capacity(self.nodes.len());
        for node in self.nodes.values() {
            let mut at = match node.caller.expand() {
                Some(caller) => contexts[caller],
                None => cct.start(),
            };
            cct.call(&mut at, node.label, node.weight);
            contexts.push(at);
        }
        cct
    }

    fn push(&mut self, caller: Link, label: L, weight: f64) -> Option<InvocationId> {
        if self.len() >= self.limit {
            return None;
        }
        let none = Link::default();
        let node = self.nodes.push(Node { label, caller, first_child: none, last_child: none, next_sibling: none, weight });
        let Some(caller) = caller.expand() else {
            self.roots.push(node);
            return Some(node);
        };
        let elder = std::mem::replace(&mut self.nodes[caller].last_child, node.into());
        match elder.expand() {
            Some(elder) => self.nodes[elder].next_sibling = node.into(),
            None => self.nodes[caller].first_child = node.into(),
        }
        Some(node)
    }
}

impl<L: Label> CallStructure for CallTree<L> {
    type Label = L;
    type Cursor = Cursor;

    fn start(&mut self) -> Cursor {
        Cursor(Link::default())
    }

    fn call(&mut self, at: &mut Cursor, label: L, weight: f64) {
        match self.push(at.0, label, weight) {
            Some(node) => at.0 = node.into(),
            None => self.dropped.count(weight),
        }
    }

    fn ret(&mut self, at: &mut Cursor) {
        if let Some(node) = at.0.expand() {
            at.0 = self.nodes[node].caller;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EdgeId;
    use crate::structures::reference::{any_events, any_samples, edge, events, trace};
    use proptest::prelude::*;

    fn tree(text: &str, limit: u32) -> CallTree<EdgeId> {
        let mut tree = CallTree::with_limit(limit);
        tree.add(&trace(events(text)), |edge| edge);
        tree
    }

    /// As the events were written, without the returns at the end.
    fn text(tree: &CallTree<EdgeId>) -> String {
        let mut text = String::new();
        let mut open = 0;
        for (node, depth) in tree.walk() {
            (depth..open).for_each(|_| text.push('.'));
            text.push(char::from(b'a' + tree.label(node).as_u32() as u8));
            open = depth + 1;
        }
        text
    }

    #[test]
    fn invocations_stand_in_the_order_of_the_calls() {
        let tree = tree("a b c . d . . d b c . c . . . .", 100);
        assert_eq!(text(&tree), "abc.d..dbc.c");
        assert_eq!(tree.len(), 8);
        let root = tree.roots()[0];
        let labels: Vec<EdgeId> = tree.children(root).map(|node| tree.label(node)).collect();
        assert_eq!(labels, [edge(1), edge(3)]);
        assert!(tree.children(root).all(|node| tree.caller(node) == Some(root) && tree.weight(node) == 1.0));
        assert_eq!(tree.caller(root), None);
        assert_eq!(tree.cct().len(), 7, "the last two calls have one context");
        assert_eq!(tree.bytes(), 8 * 32 + 4);
    }

    #[test]
    fn what_is_over_the_limit_is_counted() {
        let tree = tree("a b . c d . . b e . . . a", 3);
        assert_eq!(text(&tree), "ab.c");
        assert_eq!(tree.dropped(), Dropped { calls: 4, weight: 4.0 });
    }

    #[test]
    fn recursion_a_million_deep() {
        let calls = "a".repeat(1_000_000);
        let deep = tree(&calls, u32::MAX);
        assert_eq!(deep.walk().last().map(|(_, depth)| depth), Some(999_999));
        assert_eq!(deep.cct().summary().height, 1_000_000);
        let returned = tree(&format!("{calls}{}b", ".".repeat(1_000_001)), 1);
        assert_eq!(returned.dropped().calls, 1_000_000, "all but the first, and what comes after them");
    }

    proptest! {
        #[test]
        fn a_limit_keeps_the_first_invocations(events in any_events(), limit in 0..40u32) {
            let sample = trace(events);
            let [mut all, mut first] = [1000, limit].map(CallTree::with_limit);
            all.add(&sample, |edge| edge);
            first.add(&sample, |edge| edge);
            let invocation = |tree: &CallTree<EdgeId>, node| (tree.label(node), tree.caller(node));
            let dropped = all.len().saturating_sub(limit);
            prop_assert_eq!(first.len(), all.len() - dropped);
            prop_assert!(first.nodes.keys().all(|node| invocation(&first, node) == invocation(&all, node)));
            prop_assert_eq!(first.dropped(), Dropped { calls: dropped.into(), weight: dropped.into() });
        }

        #[test]
        fn a_trace_can_be_read_off(events in any_events()) {
            let mut open = 0u32;
            let mut expected = String::new();
            for event in &events {
                match event.edge() {
                    Some(edge) => {
                        expected.push(char::from(b'a' + edge.as_u32() as u8));
                        open += 1;
                    }
                    None if open > 0 => {
                        expected.push('.');
                        open -= 1;
                    }
                    None => {}
                }
            }
            let mut tree = CallTree::with_limit(1000);
            tree.add(&trace(events), |edge| edge);
            // Where a root follows on another, all have returned.
            prop_assert_eq!(text(&tree), expected.trim_end_matches('.'));
        }

        #[test]
        fn merged_it_is_the_cct(samples in any_samples()) {
            let mut tree = CallTree::with_limit(u32::MAX);
            let mut cct = Cct::new();
            for sample in &samples {
                tree.add(sample, |edge| edge);
                cct.add(sample, |edge| edge);
            }
            prop_assert_eq!(tree.cct(), cct);
        }
    }
}
