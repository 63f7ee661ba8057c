//! Partial calling context trees: what was seen of a call is its caller, the caller's caller, and so on, up to a fixed length (CC-Map paper section 3.1.1, after Whaley).
//!
//! In: samples, or calls and returns of any number of threads. Out: one tree for each outermost caller seen, with the counts of the suffixes that begin there. However deep the stack, a call costs at most `length` steps.
//!
//! A node's weight is of the calls that it stands for itself; its inclusive weight counts a sample at each call of its suffix, as the paper's figures do. What was called most often in all contexts cannot be read off one
//! node: all trees have to be searched ([`Pcct::encounters`]). That is the paper's reason for the CC-Map.
//!
//! Invariants: no path is longer than `length`; a call that is only passed (weight 0) leaves no node. Nodes are those of one [`Cct`] whose roots are the trees; what finds no room there is counted as dropped. With a
//! call-site-sensitive label a root is a call too: it tells its outermost function's callers apart.

use super::cct::{Cct, NodeId};
use super::dropped::Dropped;
use super::{CallStructure, Label};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use std::fmt;
use std::num::NonZeroU32;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Pcct<L: Label> {
    trees: Cct<L>,
    /// The trees' roots: there are as many as labels, too many to search.
    roots: SecondaryMap<L, PackedOption<NodeId>>,
    length: NonZeroU32,
}

/// A thread's open calls, outermost first: a suffix alone would not know to where a call returns.
#[derive(Clone, Default, Debug)]
pub struct Stack<L>(Vec<L>);

/// Trees of suffixes of different lengths have no common meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LengthsDiffer {
    /// Of the tree that was to take the other.
    pub ours: NonZeroU32,
    /// Of the other.
    pub theirs: NonZeroU32,
}

impl fmt::Display for LengthsDiffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LengthsDiffer { ours, theirs } = self;
        write!(f, "partial trees of suffixes of {ours} and of {theirs} calls cannot be merged: record both with one length")
    }
}

impl std::error::Error for LengthsDiffer {}

impl<L: Label> Pcct<L> {
    /// Trees of suffixes of at most `length` calls.
    pub fn new(length: NonZeroU32) -> Self {
        Pcct::of(Cct::new(), length)
    }

    /// With at most `limit` nodes in all trees together.
    pub fn with_limit(length: NonZeroU32, limit: u32) -> Self {
        Pcct::of(Cct::with_limit(limit), length)
    }

    fn of(trees: Cct<L>, length: NonZeroU32) -> Self {
        Pcct { trees, roots: SecondaryMap::new(), length }
    }

    /// The most calls on a path.
    pub fn length(&self) -> NonZeroU32 {
        self.length
    }

    /// All trees side by side, with the queries of a [`Cct`].
    pub fn trees(&self) -> &Cct<L> {
        &self.trees
    }

    /// The tree of the suffixes that begin with this outermost caller.
    pub fn root(&self, outermost: L) -> Option<NodeId> {
        self.roots.get(outermost)?.expand()
    }

    /// How often a call was encountered directly below another, at any place in any suffix: a sample counts at each.
    pub fn encounters(&self, caller: L, callee: L) -> f64 {
        let inclusive = self.trees.inclusive_weights();
        let is_called = |node: NodeId| self.trees.parent(node).is_some_and(|parent| self.trees.label(parent) == caller);
        let nodes = self.trees.nodes().filter(|&node| self.trees.label(node) == callee && is_called(node));
        nodes.map(|node| inclusive[node]).sum()
    }

    /// Counts a call by the calls that lead to it, outermost first, of which the last ones matter.
    pub fn count(&mut self, path: &[L], weight: f64) {
        let suffix = &path[path.len().saturating_sub(self.length.get() as usize)..];
        let Some((&outermost, calls)) = suffix.split_first() else { return };
        let root = self.root(outermost).or_else(|| self.plant(outermost));
        let node = calls.iter().fold(root, |node, label| self.trees.enter_child(node?, *label));
        self.trees.count_at(node, weight);
    }

    /// Adds other trees' weights.
    ///
    /// # Errors
    /// If their suffixes have another length: nothing is added then.
    pub fn merge(&mut self, other: &Self) -> Result<(), LengthsDiffer> {
        if self.length != other.length {
            return Err(LengthsDiffer { ours: self.length, theirs: other.length });
        }
        self.trees.merge(&other.trees);
        for root in self.trees.roots() {
            self.roots[self.trees.label(root)] = root.into();
        }
        Ok(())
    }

    /// What found no room.
    pub fn dropped(&self) -> Dropped {
        self.trees.dropped()
    }

    /// Memory in use, in bytes. What is reserved for growth is at most as much again.
    pub fn bytes(&self) -> usize {
        self.trees.bytes() + self.roots.capacity() * size_of::<PackedOption<NodeId>>()
    }

    fn plant(&mut self, outermost: L) -> Option<NodeId> {
        let root = self.trees.enter_root(outermost)?;
        self.roots[outermost] = root.into();
        Some(root)
    }
}

/// The same suffixes, of the same length, with the same weights.
impl<L: Label> PartialEq for Pcct<L> {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.trees == other.trees
    }
}

impl<L: Label> CallStructure for Pcct<L> {
    type Label = L;
    type Cursor = Stack<L>;

    fn start(&mut self) -> Stack<L> {
        Stack(Vec::new())
    }

    fn call(&mut self, at: &mut Stack<L>, label: L, weight: f64) {
        at.0.push(label);
        if weight != 0.0 {
            self.count(&at.0, weight);
        }
    }

    fn ret(&mut self, at: &mut Stack<L>) {
        at.0.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::ids::EdgeId;
    use crate::sample::{Observed, Sample};
    use crate::structures::reference::{any_events, any_samples, counted, edge, path, sample, trace};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Path = Vec<EdgeId>;

    fn length(length: u32) -> NonZeroU32 {
        NonZeroU32::new(length).unwrap()
    }

    fn of_stacks(calls: u32, stacks: &[(&str, u32)]) -> Pcct<EdgeId> {
        let mut trees = Pcct::new(length(calls));
        for &(stack, times) in stacks {
            (0..times).for_each(|_| trees.add(&sample(stack, Observed::Top), |edge| edge));
        }
        trees
    }

    /// Only what was counted, not the callers on the way.
    fn weights(trees: &Pcct<EdgeId>) -> BTreeMap<Path, f64> {
        let trees = trees.trees();
        trees.nodes().filter(|&node| trees.weight(node) != 0.0).map(|node| (trees.path(node), trees.weight(node))).collect()
    }

    /// The paper's figure 2b: below A and B it is D that C calls, below E and B it is F, and only the trees know.
    #[test]
    fn trees_keep_contexts_apart_and_totals_have_to_be_searched() {
        let trees = of_stacks(4, &[("abcd", 6), ("ebcf", 6), ("bcd", 2)]);
        assert_eq!(trees.trees().roots().count(), 3);
        let weight = |text: &str| trees.trees().find(&path(text)).map(|node| trees.trees().weight(node));
        assert_eq!([weight("abcd"), weight("ebcf"), weight("bcd")], [6.0, 6.0, 2.0].map(Some));
        assert_eq!([weight("abcf"), weight("ebcd")], [None, None]);
        assert_eq!(trees.encounters(edge(2), edge(3)), 8.0, "c calls d");
        assert_eq!(trees.encounters(edge(1), edge(2)), 14.0, "b calls c");
        assert_eq!(trees.encounters(edge(3), edge(2)), 0.0);
        let root = trees.root(edge(4)).unwrap();
        assert_eq!(trees.trees().inclusive_weight(root), 6.0);
        assert_eq!(trees.root(edge(9)), None);
    }

    #[test]
    fn only_the_last_calls_matter() {
        let trees = of_stacks(2, &[("abc", 1), ("bc", 1), ("xyzbc", 1), ("c", 1)]);
        assert_eq!(weights(&trees), [(path("bc"), 3.0), (path("c"), 1.0)].into());
        assert_eq!(trees.trees().len(), 3);
    }

    #[test]
    fn lengths_must_agree_to_merge() {
        let mut two = of_stacks(2, &[("ab", 1)]);
        let three = of_stacks(3, &[("abc", 1)]);
        let error = two.merge(&three).unwrap_err();
        assert_eq!(error, LengthsDiffer { ours: length(2), theirs: length(3) });
        assert_eq!(error.to_string(), "partial trees of suffixes of 2 and of 3 calls cannot be merged: record both with one length");
        assert_eq!(two, of_stacks(2, &[("ab", 1)]));
    }

    #[test]
    fn what_is_over_the_limit_is_counted() {
        let mut trees = Pcct::with_limit(length(3), 2);
        for stack in ["ab", "abc", "b", "ab"] {
            trees.add(&sample(stack, Observed::Top), |edge| edge);
        }
        assert_eq!(weights(&trees), [(path("ab"), 2.0)].into());
        assert_eq!(trees.dropped(), Dropped { calls: 2, weight: 2.0 });
        assert!(trees.bytes() >= 3 * 24);
    }

    #[test]
    fn recursion_a_million_deep() {
        let mut trees = Pcct::new(length(3));
        let mut events = vec![Event::call(edge(0)); 1_000_000];
        events.extend(std::iter::repeat_n(Event::RETURN, 999_999));
        events.push(Event::call(edge(1)));
        trees.add(&trace(events), |edge| edge);
        assert_eq!(weights(&trees), [("a", 1.0), ("aa", 1.0), ("aaa", 999_998.0), ("ab", 1.0)].map(|(text, w)| (path(text), w)).into());
    }

    proptest! {
        #[test]
        fn suffixes(samples in any_samples(), calls in 1..8u32) {
            let mut expected: BTreeMap<Path, f64> = BTreeMap::new();
            let mut trees = Pcct::new(length(calls));
            for sample in &samples {
                trees.add(sample, |edge| edge);
                for path in counted(sample) {
                    let suffix = path[path.len().saturating_sub(calls as usize)..].to_vec();
                    *expected.entry(suffix).or_default() += sample.weight;
                }
            }
            prop_assert!(trees.trees().roots().all(|root| trees.root(trees.trees().label(root)) == Some(root)));
            prop_assert!(trees.trees().walk().all(|(_, depth)| depth < calls));
            prop_assert_eq!(weights(&trees), expected);
        }

        #[test]
        fn long_suffixes_make_the_cct(events in any_events()) {
            let sample = trace(events);
            let (mut trees, mut cct) = (Pcct::new(length(1000)), Cct::new());
            trees.add(&sample, |edge| edge);
            cct.add(&sample, |edge| edge);
            prop_assert_eq!(trees.trees(), &cct);
        }

        #[test]
        fn merged_trees_are_the_trees_of_both(one in any_samples(), other in any_samples()) {
            let trees = |samples: &[Sample]| {
                let mut trees = Pcct::new(length(3));
                samples.iter().for_each(|sample| trees.add(sample, |edge| edge));
                trees
            };
            let mut merged = trees(&one);
            merged.merge(&trees(&other)).unwrap();
            let both = trees(&[one, other].concat());
            prop_assert_eq!(&merged, &both);
            prop_assert!(merged.trees().roots().all(|root| merged.root(merged.trees().label(root)) == Some(root)));
        }
    }
}
