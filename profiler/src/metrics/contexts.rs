//! How well the contexts of two profiles agree (PLDI'06 sections 3.1 and 3.2).
//!
//! In: contexts of two profiles of one program, whose edges and functions have the same numbers in both. (For others see [`diff`](crate::diff).) Out: a [`Comparison`] of nodes: those with the same label and equivalent parents are the same.
//! Where a node's weight includes its children's, it counts with what they leave.

use super::Comparison;
use crate::profile::{ContextId, Contexts, Label};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};
use rustc_hash::FxHashMap;

/// `None` where structures or labels differ: then nodes do not mean the same.
pub fn compare(a: &Contexts, b: &Contexts) -> Option<Comparison> {
    if a.structure() != b.structure() || a.labels() != b.labels() {
        return None;
    }
    let mut numbers: FxHashMap<(PackedOption<ContextId>, Label), ContextId> = FxHashMap::default();
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    for (contexts, is_first) in [(a, true), (b, false)] {
        let own = contexts.own_weights();
        let mut common: SecondaryMap<ContextId, PackedOption<ContextId>> = SecondaryMap::with_capacity(contexts.len());
        for (id, node) in contexts.nodes() {
            let parent = node.parent.expand().map_or(PackedOption::default(), |parent| common[parent]);
            let next = ContextId::from_u32(pairs.len() as u32);
            let number = *numbers.entry((parent, node.label)).or_insert(next);
            if number == next {
                pairs.push((0.0, 0.0));
            }
            common[id] = number.into();
            let pair = &mut pairs[number.as_u32() as usize];
            *(if is_first { &mut pair.0 } else { &mut pair.1 }) += own[id];
        }
    }
    Some(Comparison::of_pairs(pairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EdgeId;
    use crate::profile::{Labels, Structure};

    /// Label, parent and weight of each node.
    fn contexts(structure: Structure, nodes: &[(u32, Option<u32>, f64)]) -> Contexts {
        let mut contexts = Contexts::new(structure, Labels::Edges);
        for &(label, parent, weight) in nodes {
            contexts.push(Label::Edge(EdgeId::from_u32(label)), parent.map(ContextId::from_u32), weight).expect("a good node");
        }
        contexts
    }

    #[test]
    fn nodes_are_matched_by_their_paths() {
        // Shares: 0 25 %, 0-1 50 %, 0-2 25 %, and 0 50 %, 0-1 25 %, 0-1-2 25 %.
        let a = contexts(Structure::Cct, &[(0, None, 1.0), (1, Some(0), 2.0), (2, Some(0), 1.0)]);
        let b = contexts(Structure::Cct, &[(0, None, 4.0), (1, Some(0), 2.0), (2, Some(1), 2.0)]);
        let comparison = compare(&a, &b).expect("the same structure");
        assert_eq!((comparison.overlap(), comparison.totals()), (50.0, (4.0, 8.0)));
        assert_eq!(compare(&b, &b).map(|same| same.overlap()), Some(100.0));
        assert_eq!(compare(&a, &contexts(Structure::Pcct, &[])), None);
    }

    #[test]
    fn weights_that_include_others_count_without_them() {
        let a = contexts(Structure::Kccf { k: None }, &[(0, None, 10.0), (1, Some(0), 4.0)]);
        let comparison = compare(&a, &a).expect("the same structure");
        assert_eq!(comparison.totals(), (10.0, 10.0));
    }
}
