//! The pruned k-CCF: chains that lead to a leaf are replaced by their first node and a pointer (OOPSLA'12 section 6).
//!
//! In: a CCT or k-SF, which it keeps borrowed: a leaf points to a node there from whose callers its chain can be read. Out: the branching part of the k-CCF, and the whole k-CCF again on demand.
//!
//! Invariant: all nodes of a pruned chain have the weight of its first one, so that reconstruction is exact. Where a first function of a thread is called by others too, weights can fall along a chain; its front down to the last
//! such fall stays.

use super::invert::{Inverse, Keep, invert};
use super::levels::{Growth, Levels};
use super::{ContextId, Kccf, KccfError, within_reach};
use crate::structures::forest::Forest;
use cranelift_entity::{EntityRef, SecondaryMap};

/// See the module.
#[derive(Clone, Debug)]
pub struct PrunedKccf<'f, F: Forest> {
    forest: &'f F,
    kept: Kccf<F::Label>,
    /// For each node one of the forest; of use at the leaves.
    origins: Vec<F::Node>,
}

/// What a node of the reconstructed forest is made from.
#[derive(Clone, Copy)]
enum Source<N> {
    /// A node that was kept and branches.
    Kept(ContextId),
    /// A node of a chain: its place in the forest, and the chain's weight.
    Chain(N, f64),
}

impl<'f, F: Forest> PrunedKccf<'f, F> {
    /// As [`Kccf::invert`], but chains of a single context are never built.
    pub fn invert(forest: &'f F, k: u32, max_nodes: u32) -> Result<Self, KccfError> {
        within_reach(forest, k)?;
        let Inverse { kccf, origins } = invert(forest, k, Keep::Branching, max_nodes);
        Ok(prune(forest, &kccf, origins))
    }

    /// The nodes that are left. A leaf may stand for a chain of contexts with its weight.
    pub fn kept(&self) -> &Kccf<F::Label> {
        &self.kept
    }

    /// The node in the forest from which a leaf's chain is read: the call itself, whose callers are the chain.
    pub fn origin(&self, leaf: ContextId) -> F::Node {
        self.origins[leaf.index()]
    }

    /// Memory in bytes, without the forest.
    pub fn bytes(&self) -> usize {
        self.kept.bytes() + self.origins.len() * size_of::<F::Node>()
    }

    /// The k-CCF with all its chains; for a smaller k if it would have more than `max_nodes` nodes.
    pub fn reconstruct(&self, max_nodes: u32) -> Kccf<F::Label> {
        let (k, cut) = (self.kept.k(), self.kept.cut());
        let mut levels = Levels::new(max_nodes);
        let mut level: Vec<(ContextId, Source<F::Node>)> = Vec::new();
        let mut parents: Vec<(ContextId, Source<F::Node>)> = Vec::new();
        for root in self.kept.roots() {
            let id = levels.push(None, self.kept.label(root), self.kept.weight(root));
            level.push((id, self.source(root, 0)));
        }
        loop {
            let depth = levels.depth();
            match levels.close() {
                Growth::Open if levels.depth() < k => {}
                Growth::Open | Growth::Ended => return levels.finish(k, cut),
                Growth::Full => {
                    let lost =
                        if parents.is_empty() { level.len() } else { parents.iter().filter(|(_, source)| self.goes_on(*source)).count() };
                    return levels.finish(depth, cut + lost as u64);
                }
            }
            let calls = levels.depth() + 1;
            parents = std::mem::take(&mut level);
            for &(id, source) in &parents {
                self.push_children(&mut levels, id, source, calls, &mut level);
                if levels.is_full() {
                    break;
                }
            }
        }
    }

    fn push_children(
        &self,
        levels: &mut Levels<F::Label>,
        parent: ContextId,
        source: Source<F::Node>,
        calls: u32,
        level: &mut Vec<(ContextId, Source<F::Node>)>,
    ) {
        match source {
            Source::Kept(node) => {
                for child in self.kept.children(node) {
                    let id = levels.push(Some(parent), self.kept.label(child), self.kept.weight(child));
                    level.push((id, self.source(child, calls)));
                }
            }
            Source::Chain(node, weight) => {
                if let Some(next) = self.forest.parent(node) {
                    let id = levels.push(Some(parent), self.forest.label(next), weight);
                    level.push((id, Source::Chain(next, weight)));
                }
            }
        }
    }

    fn goes_on(&self, source: Source<F::Node>) -> bool {
        match source {
            Source::Kept(node) => self.kept.children(node).next().is_some(),
            Source::Chain(node, _) => self.forest.parent(node).is_some(),
        }
    }

    /// Where a kept node that lies this many calls from its root goes on.
    fn source(&self, node: ContextId, calls: u32) -> Source<F::Node> {
        if self.kept.children(node).next().is_some() {
            return Source::Kept(node);
        }
        let mut up = std::iter::successors(Some(self.origin(node)), |&node| self.forest.parent(node));
        match up.nth(calls as usize) {
            Some(at) => Source::Chain(at, self.kept.weight(node)),
            None => Source::Kept(node),
        }
    }
}

/// Takes out the chains that are still there, of contexts that are alike up to their end, and lets their first nodes point to where they came from.
fn prune<'f, F: Forest>(forest: &'f F, kccf: &Kccf<F::Label>, mut origins: Vec<F::Node>) -> PrunedKccf<'f, F> {
    let mut is_chain: SecondaryMap<ContextId, bool> = SecondaryMap::new();
    for node in (0..kccf.len()).rev().map(ContextId::new) {
        let mut children = kccf.children(node);
        match (children.next(), children.next()) {
            (None, _) => is_chain[node] = true,
            (Some(child), None) if is_chain[child] && kccf.weight(child) == kccf.weight(node) => {
                is_chain[node] = true;
                origins[node.index()] = origins[child.index()];
            }
            _ => {}
        }
    }
    let mut levels = Levels::new(u32::MAX);
    let mut ids: SecondaryMap<ContextId, ContextId> = SecondaryMap::with_default(ContextId::new(0));
    let mut kept_origins = Vec::new();
    let mut start = 0;
    for &end in &kccf.level_ends {
        for node in (start..end).map(ContextId::new) {
            let parent = kccf.parent(node);
            if parent.is_some_and(|parent| is_chain[parent]) {
                continue;
            }
            ids[node] = levels.push(parent.map(|parent| ids[parent]), kccf.label(node), kccf.weight(node));
            kept_origins.push(origins[node.index()]);
        }
        levels.close();
        start = end;
    }
    PrunedKccf { forest, kept: levels.finish(kccf.k(), kccf.cut()), origins: kept_origins }
}
