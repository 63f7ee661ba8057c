//! Children of nodes that have so many that a list is no place to look for them: a side table for lists that move to the front what is found.
//!
//! In: what a search has not found among the first [`SEARCHED`]. Out: the child, if there is one. So no trace takes quadratic time, and a node with few children costs nothing here.
//! Invariant: the table has all children of a list or none of them.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// A list with more is not searched further. Tests have few children a node.
pub(super) const SEARCHED: usize = if cfg!(test) { 3 } else { 128 };

/// By list and label.
#[derive(Clone, Debug)]
pub(super) struct Many<K, C>(FxHashMap<K, C>);

impl<K, C> Default for Many<K, C> {
    fn default() -> Self {
        Many(FxHashMap::default())
    }
}

impl<K: Eq + Hash, C: Copy> Many<K, C> {
    /// The child with this key. `list`: all of the list.
    #[cold]
    pub fn find(&mut self, key: &K, list: impl Iterator<Item = (K, C)>) -> Option<C> {
        let mut list = list.peekable();
        if !list.peek().is_some_and(|(first, _)| self.0.contains_key(first)) {
            self.0.extend(list);
        }
        self.0.get(key).copied()
    }

    /// A new child of the list to which `sibling` belongs.
    pub fn add(&mut self, sibling: Option<K>, key: K, child: C) {
        if sibling.is_some_and(|sibling| self.0.contains_key(&sibling)) {
            self.0.insert(key, child);
        }
    }

    /// Nothing is in it: [`Many::add`] would do nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn bytes(&self) -> usize {
        self.0.capacity() * (size_of::<(K, C)>() + 1)
    }
}
