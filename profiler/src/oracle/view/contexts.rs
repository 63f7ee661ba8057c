//! The contexts of a profile, looked up by a call site and the call sites around it.
//!
//! In: [`Contexts`] whose nodes are edges, from any structure. Out: for each callee of a site its calls behind the innermost 0, 1, 2… calls of a chain.
//!
//! Where a node's parent is its caller, all nodes of the site are compared with the chain: time for the contexts of one site, no memory but the nodes. Where a node's parent is what it calls (k-CCF), the chain leads down from the
//! site's roots.

use crate::ids::{CallSiteId, FuncId};
use crate::matching::Mapping;
use crate::profile::{ContextId, Contexts, Label, Structure};
use crate::program::Program;
use cranelift_entity::{PrimaryMap, packed_option::PackedOption};
use rustc_hash::FxHashMap;

/// Callees with their calls behind the innermost 0, 1, … calls of a chain; shorter where nothing is known of longer ones.
pub type Levels = Vec<(FuncId, Vec<f64>)>;

#[derive(Clone, Debug)]
struct Node {
    /// `None`: the start of a thread, or a call that the program no longer has.
    site: PackedOption<CallSiteId>,
    callee: PackedOption<FuncId>,
    parent: PackedOption<ContextId>,
    weight: f64,
}

#[derive(Clone, Debug)]
enum Links {
    /// Parents are callers.
    Callers,
    /// Children are callers.
    Callees { children: FxHashMap<(ContextId, CallSiteId), Vec<ContextId>> },
}

#[derive(Clone, Debug)]
pub struct ContextIndex {
    nodes: PrimaryMap<ContextId, Node>,
    /// Those that count calls; of reversed contexts the roots.
    by_site: FxHashMap<CallSiteId, Vec<ContextId>>,
    links: Links,
    reach: usize,
}

impl ContextIndex {
    /// `None` where nodes are functions.
    pub fn new(contexts: &Contexts, program: &Program, mapping: &Mapping) -> Option<ContextIndex> {
        let is_reversed = contexts.structure().is_reversed();
        let mut index = ContextIndex {
            nodes: PrimaryMap::with_capacity(contexts.len()),
            by_site: FxHashMap::default(),
            links: Links::Callers,
            reach: match contexts.structure() {
                Structure::Ksf { k } | Structure::Kccf { k: Some(k) } => k.get() as usize,
                _ => usize::MAX,
            },
        };
        let mut children: FxHashMap<(ContextId, CallSiteId), Vec<ContextId>> = FxHashMap::default();
        for (id, node) in contexts.nodes() {
            let Label::Edge(edge) = node.label else { return None };
            let edge = program.edges()[edge];
            let site = edge.site.expand().and_then(|site| mapping.site(site));
            let callee = mapping.function(edge.callee).into();
            index.nodes.push(Node { site: site.into(), callee, parent: node.parent, weight: node.weight });
            let Some(site) = site else { continue };
            match node.parent.expand() {
                Some(parent) if is_reversed => children.entry((parent, site)).or_default().push(id),
                _ if node.weight > 0.0 => index.by_site.entry(site).or_default().push(id),
                _ => {}
            }
        }
        if is_reversed {
            index.links = Links::Callees { children };
        }
        Some(index)
    }

    /// Calls of a chain that contexts reach back.
    pub fn reach(&self) -> usize {
        self.reach
    }

    pub fn levels(&self, site: CallSiteId, chain: &[CallSiteId]) -> Levels {
        let mut levels: FxHashMap<FuncId, Vec<f64>> = FxHashMap::default();
        for &id in self.by_site.get(&site).into_iter().flatten() {
            let Some(callee) = self.nodes[id].callee.expand() else { continue };
            let weights = levels.entry(callee).or_insert_with(|| vec![0.0; chain.len().min(self.reach) + 1]);
            match &self.links {
                Links::Callers => {
                    let known = self.common(id, chain).min(weights.len() - 1);
                    weights[..=known].iter_mut().for_each(|weight| *weight += self.nodes[id].weight);
                }
                Links::Callees { children } => {
                    let mut nodes = vec![id];
                    let outwards = [None].into_iter().chain(chain.iter().rev().map(Some));
                    for (weight, site) in weights.iter_mut().zip(outwards) {
                        if let Some(&site) = site {
                            nodes = nodes.iter().flat_map(|&node| children.get(&(node, site)).into_iter().flatten()).copied().collect();
                        }
                        *weight += nodes.iter().map(|&node| self.nodes[node].weight).sum::<f64>();
                    }
                }
            }
        }
        let mut levels: Levels = levels.into_iter().collect();
        levels.sort_unstable_by_key(|&(callee, _)| callee);
        levels
    }

    /// How many calls of the chain, counted outwards, lead to a node.
    fn common(&self, node: ContextId, chain: &[CallSiteId]) -> usize {
        let mut at = node;
        let is_next = |&&site: &&CallSiteId| match self.nodes[at].parent.expand() {
            Some(parent) if self.nodes[parent].site.expand() == Some(site) => {
                at = parent;
                true
            }
            _ => false,
        };
        chain.iter().rev().take_while(is_next).count()
    }
}
