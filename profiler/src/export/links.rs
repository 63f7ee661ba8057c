//! Children of nodes that know only their parents, and a walk over them without recursion.
//!
//! In: nodes with their parents. Out: [`Links`]. Siblings keep the order in which they were given.

use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption, packed_option::ReservedValue};

#[derive(Clone, Copy)]
struct Link<K: ReservedValue> {
    parent: PackedOption<K>,
    first_child: PackedOption<K>,
    next_sibling: PackedOption<K>,
}

impl<K: ReservedValue> Default for Link<K> {
    fn default() -> Self {
        Link { parent: PackedOption::default(), first_child: PackedOption::default(), next_sibling: PackedOption::default() }
    }
}

pub(super) struct Links<K: EntityRef + ReservedValue> {
    links: SecondaryMap<K, Link<K>>,
    first_root: PackedOption<K>,
}

/// A step of a walk: every node is entered before and left after its children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Visit<K> {
    Enter(K),
    Leave(K),
}

impl<K: EntityRef + ReservedValue> Links<K> {
    pub fn new(nodes: impl DoubleEndedIterator<Item = (K, PackedOption<K>)>) -> Self {
        let mut links: SecondaryMap<K, Link<K>> = SecondaryMap::new();
        let mut first_root: PackedOption<K> = PackedOption::default();
        for (id, parent) in nodes.rev() {
            let first = match parent.expand() {
                Some(parent) => &mut links[parent].first_child,
                None => &mut first_root,
            };
            let next_sibling = std::mem::replace(first, id.into());
            links[id].parent = parent;
            links[id].next_sibling = next_sibling;
        }
        Links { links, first_root }
    }

    pub fn parent(&self, id: K) -> Option<K> {
        self.links[id].parent.expand()
    }

    pub fn next_sibling(&self, id: K) -> Option<K> {
        self.links[id].next_sibling.expand()
    }

    /// From the first root to the last, depth first.
    pub fn walk(&self) -> impl Iterator<Item = Visit<K>> {
        let mut next = self.first_root.expand().map(Visit::Enter);
        std::iter::from_fn(move || {
            let visit = next?;
            next = match visit {
                Visit::Enter(id) => Some(self.links[id].first_child.expand().map_or(Visit::Leave(id), Visit::Enter)),
                Visit::Leave(id) => self.next_sibling(id).map(Visit::Enter).or_else(|| self.parent(id).map(Visit::Leave)),
            };
            Some(visit)
        })
    }
}
