//! Structures as parts of a [`Profile`](crate::profile::Profile).
//!
//! In: a DCG, a forest, a factor for all weights. Out: edges with errors; nodes, parents before children.

use super::CollectError;
use crate::ids::EdgeId;
use crate::profile::{ContextId, Contexts, DcgEdge, Label, Labels, ProfileError, Structure};
use crate::structures::dcg::Dcg;
use crate::structures::forest::Forest;
use crate::structures::kccf::Kccf;
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};
use std::num::NonZeroU32;

pub(super) fn edges(dcg: &Dcg, scale: f64) -> Vec<DcgEdge> {
    let dcg = dcg.ended();
    let edge = |(edge, _)| {
        let estimate = dcg.estimate(edge);
        // From one tick nothing follows about the error.
        let error = Some(estimate.standard_error * scale).filter(|error| error.is_finite());
        DcgEdge { edge, weight: estimate.weight * scale, error, samples: estimate.samples }
    };
    dcg.by_weight().into_iter().map(edge).collect()
}

pub(super) fn forest<F: Forest<Label = EdgeId>>(forest: &F, structure: Structure, scale: f64) -> Result<Contexts, ProfileError> {
    contexts(structure, forest.nodes().map(|node| (node, forest.parent(node), forest.label(node), forest.weight(node) * scale)))
}

/// The k-CCF of a k-SF; of a smaller k if there would be more than `max_nodes` nodes.
pub(super) fn inverse<F: Forest<Label = EdgeId>>(ksf: &F, k: NonZeroU32, max_nodes: u32, scale: f64) -> Result<Contexts, CollectError> {
    let kccf = Kccf::invert(ksf, k.get(), max_nodes)?;
    // No room but for the roots: that is part of the forest for 1.
    let k = NonZeroU32::new(kccf.k()).unwrap_or(NonZeroU32::MIN);
    let rows = kccf.nodes().map(|node| (node, kccf.parent(node), kccf.label(node), kccf.weight(node) * scale));
    Ok(contexts(Structure::Kccf { k: Some(k) }, rows)?)
}

fn contexts<N: EntityRef>(structure: Structure, rows: impl Iterator<Item = (N, Option<N>, EdgeId, f64)>) -> Result<Contexts, ProfileError> {
    let mut contexts = Contexts::new(structure, Labels::Edges);
    let mut numbers: SecondaryMap<N, PackedOption<ContextId>> = SecondaryMap::new();
    for (node, parent, label, weight) in rows {
        let parent = parent.and_then(|parent| numbers[parent].expand());
        numbers[node] = contexts.push(Label::Edge(label), parent, weight)?.into();
    }
    Ok(contexts)
}
