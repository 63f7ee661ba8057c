//! Structures as parts of a [`Profile`](crate::profile::Profile).
//!
//! In: a DCG, a forest with what errors follow from, a factor for all weights. Out: edges and nodes with errors; parents before children.

use super::CollectError;
use super::follow::Follower;
use super::spread::{Errors, Scale, Squares};
use crate::ids::EdgeId;
use crate::profile::{Certainty, ContextId, Contexts, DcgEdge, Label, Labels, ProfileError, Seen, Structure};
use crate::structures::CallStructure;
use crate::structures::dcg::Dcg;
use crate::structures::forest::{Forest, Grown};
use crate::structures::kccf::{self, Kccf};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};
use std::hash::Hash;
use std::num::NonZeroU32;

/// Edges that were called, the heaviest first.
pub(super) fn edges(dcg: &Dcg, scale: Scale) -> Vec<DcgEdge> {
    let dcg = dcg.ended();
    let edge = |(edge, _)| {
        let estimate = dcg.estimate(edge);
        let Errors { weight: error, share: share_error } = scale.errors(estimate);
        DcgEdge { edge, weight: estimate.weight * scale.factor, error, share_error, samples: estimate.samples }
    };
    dcg.by_weight().into_iter().map(edge).collect()
}

/// The nodes as they are.
pub(super) fn forest<F>(follower: &Follower<F>, structure: Structure, scale: Scale) -> Result<Contexts, ProfileError>
where
    F: Grown + CallStructure<Label = EdgeId>,
    F::Node: Hash,
{
    let (forest, spread) = (follower.structure(), follower.spread());
    let rows = forest.nodes().map(|node| (node, forest.parent(node), forest.label(node), forest.weight(node) * scale.factor));
    let contexts = contexts(structure, rows)?;
    let Some(spread) = spread else { return Ok(contexts) };
    with_errors(contexts, forest.nodes().map(|node| (forest.weight(node), spread.get(node))), scale)
}

/// The k-CCF of a k-SF; of a smaller k if there would be more than `max_nodes` nodes, and then without errors.
pub(super) fn inverse<F>(follower: &Follower<F>, k: NonZeroU32, max_nodes: u32, scale: Scale) -> Result<Contexts, CollectError>
where
    F: Grown + CallStructure<Label = EdgeId>,
    F::Node: Hash,
{
    let ksf = follower.structure();
    let kccf = Kccf::invert(ksf, k.get(), max_nodes)?;
    // No room but for the roots: that is part of the forest for 1.
    let found = NonZeroU32::new(kccf.k()).unwrap_or(NonZeroU32::MIN);
    let rows = kccf.nodes().map(|node| (node, kccf.parent(node), kccf.label(node), kccf.weight(node) * scale.factor));
    let contexts = contexts(Structure::Kccf { k: Some(found) }, rows)?;
    let Some(spread) = follower.spread().filter(|_| kccf.k() == k.get()) else { return Ok(contexts) };
    let mut sums: SecondaryMap<kccf::ContextId, (f64, Squares)> = SecondaryMap::new();
    for node in ksf.nodes() {
        let squares = spread.get(node);
        if let Some(place) = place(&kccf, ksf, node).filter(|_| squares.samples > 0) {
            sums[place].0 += ksf.weight(node);
            sums[place].1.add(squares);
        }
    }
    Ok(with_errors(contexts, kccf.nodes().map(|node| sums[node]), scale)?)
}

/// `own`: of each node in order, what was counted of it alone.
fn with_errors(contexts: Contexts, own: impl Iterator<Item = (f64, Squares)>, scale: Scale) -> Result<Contexts, ProfileError> {
    let seen = own.map(|(weight, squares)| {
        let Errors { weight: error, share: share_error } = scale.errors_of(weight, squares);
        Seen { error, share_error, samples: squares.samples }
    });
    contexts.with_certainty(Certainty::Sampled(seen.collect()))
}

/// Which of the longest contexts a node's calls were made in.
fn place<F: Forest<Label = EdgeId>>(kccf: &Kccf<EdgeId>, ksf: &F, node: F::Node) -> Option<kccf::ContextId> {
    let mut place = kccf.root(ksf.label(node))?;
    let callers = std::iter::successors(ksf.parent(node), |&node| ksf.parent(node));
    for caller in callers.take(kccf.k() as usize) {
        place = kccf.child(place, ksf.label(caller))?;
    }
    Some(place)
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
