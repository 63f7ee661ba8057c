//! The contexts of a profile, looked up by a call site and the call sites around it.
//!
//! In: [`Contexts`] whose nodes are edges, from any structure. Out: for each callee of a site its calls behind the innermost 0, 1, 2… calls of a chain.
//!
//! Where a node's parent is its caller, the contexts of a site are divided by their callers as chains ask for it, one call further out each time: what is divided stays so for the next chain, which often begins alike. Where a node's parent is
//! what it calls (k-CCF), the chain leads down from the site's roots.

use crate::ids::{CallSiteId, FuncId};
use crate::matching::Mapping;
use crate::profile::{Certainty, ContextId, Contexts, Label, Structure};
use crate::program::Program;
use cranelift_entity::{PrimaryMap, packed_option::PackedOption};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};

/// Calls in contexts that agree as far as they are told apart.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct InContexts {
    pub weight: f64,
    /// The sum of the squares of their standard errors: what the error's square is if they are independent. 0 where errors are unknown.
    pub variance: f64,
}

impl std::ops::AddAssign for InContexts {
    fn add_assign(&mut self, other: InContexts) {
        self.weight += other.weight;
        self.variance += other.variance;
    }
}

/// Callees with their calls behind the innermost 0, 1, … calls of a chain; shorter where nothing is known of longer ones.
pub type Levels = Vec<(FuncId, Vec<InContexts>)>;

#[derive(Clone, Debug)]
struct Node {
    /// `None`: the start of a thread, or a call that the program no longer has.
    site: PackedOption<CallSiteId>,
    callee: PackedOption<FuncId>,
    parent: PackedOption<ContextId>,
    calls: InContexts,
}

/// Contexts that end with a call of one site and agree in the calls around it, as far as these are told apart.
#[derive(Default, Debug)]
struct Behind {
    /// Their calls by callee, in no order.
    calls: Vec<(FuncId, InContexts)>,
    /// Until they are divided: each by its outermost call that they agree in.
    undivided: Vec<Member>,
    /// By the next call outwards.
    divided: FxHashMap<CallSiteId, Behind>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    context: ContextId,
    outermost: ContextId,
}

impl Behind {
    fn push(&mut self, nodes: &PrimaryMap<ContextId, Node>, member: Member) {
        let Node { callee, calls, .. } = nodes[member.context];
        let Some(callee) = callee.expand() else { return };
        match self.calls.iter_mut().find(|(known, _)| *known == callee) {
            Some((_, sum)) => *sum += calls,
            None => self.calls.push((callee, calls)),
        }
        self.undivided.push(member);
    }

    /// Those of which this is the next call outwards, if there are any.
    fn next(&mut self, nodes: &PrimaryMap<ContextId, Node>, site: CallSiteId) -> Option<&mut Behind> {
        for Member { context, outermost } in std::mem::take(&mut self.undivided) {
            let Some(outermost) = nodes[outermost].parent.expand() else { continue };
            let Some(caller) = nodes[outermost].site.expand() else { continue };
            self.divided.entry(caller).or_default().push(nodes, Member { context, outermost });
        }
        self.divided.get_mut(&site)
    }
}

#[derive(Clone, Debug)]
enum Links {
    /// Parents are callers. By the site of those that count calls; shared, since it follows from the nodes alone.
    Callers(Arc<Mutex<FxHashMap<CallSiteId, Behind>>>),
    /// Children are callers: the roots of each site, and by a node and the site of a call to it those behind it.
    Callees { roots: FxHashMap<CallSiteId, Vec<ContextId>>, children: FxHashMap<(ContextId, CallSiteId), Vec<ContextId>> },
}

#[derive(Clone, Debug)]
pub struct ContextIndex {
    nodes: PrimaryMap<ContextId, Node>,
    links: Links,
    reach: usize,
}

impl ContextIndex {
    /// `None` where nodes are functions.
    pub fn new(contexts: &Contexts, program: &Program, mapping: &Mapping) -> Option<ContextIndex> {
        let mut nodes = PrimaryMap::with_capacity(contexts.len());
        // Where a node counts its children's calls too, errors are not those of its weight.
        let seen = match contexts.certainty() {
            Certainty::Sampled(seen) if !contexts.structure().is_reversed() => Some(seen),
            _ => None,
        };
        for (id, node) in contexts.nodes() {
            let Label::Edge(edge) = node.label else { return None };
            let edge = program.edges()[edge];
            let site = edge.site.expand().and_then(|site| mapping.site(site));
            let callee = mapping.function(edge.callee).into();
            let error = seen.and_then(|seen| seen[id].error).unwrap_or(0.0);
            let calls = InContexts { weight: node.weight, variance: error * error };
            nodes.push(Node { site: site.into(), callee, parent: node.parent, calls });
        }
        let links = if contexts.structure().is_reversed() { Links::to_callees(&nodes) } else { Links::to_callers(&nodes) };
        let reach = match contexts.structure() {
            Structure::Ksf { k } | Structure::Kccf { k: Some(k) } => k.get() as usize,
            _ => usize::MAX,
        };
        Some(ContextIndex { nodes, links, reach })
    }

    /// Calls of a chain that contexts reach back.
    pub fn reach(&self) -> usize {
        self.reach
    }

    pub fn levels(&self, site: CallSiteId, chain: &[CallSiteId]) -> Levels {
        let count = chain.len().min(self.reach) + 1;
        let mut levels: FxHashMap<FuncId, Vec<InContexts>> = FxHashMap::default();
        let mut add = |level: usize, callee, calls| {
            levels.entry(callee).or_insert_with(|| vec![InContexts::default(); count])[level] += calls;
        };
        match &self.links {
            Links::Callers(sites) => {
                let mut sites = sites.lock().unwrap_or_else(|e| e.into_inner());
                let mut outwards = chain.iter().rev().take(count - 1);
                let mut at = sites.get_mut(&site);
                for level in 0..count {
                    let Some(behind) = at else { break };
                    behind.calls.iter().for_each(|&(callee, calls)| add(level, callee, calls));
                    at = outwards.next().and_then(|&site| behind.next(&self.nodes, site));
                }
            }
            Links::Callees { roots, children } => {
                for &root in roots.get(&site).into_iter().flatten() {
                    let Some(callee) = self.nodes[root].callee.expand() else { continue };
                    let mut nodes = vec![root];
                    for (level, site) in [None].into_iter().chain(chain.iter().rev().map(Some)).take(count).enumerate() {
                        if let Some(&site) = site {
                            nodes = nodes.iter().flat_map(|&node| children.get(&(node, site)).into_iter().flatten()).copied().collect();
                        }
                        nodes.iter().for_each(|&node| add(level, callee, self.nodes[node].calls));
                    }
                }
            }
        }
        let mut levels: Levels = levels.into_iter().collect();
        levels.sort_unstable_by_key(|&(callee, _)| callee);
        levels
    }
}

impl Links {
    fn to_callers(nodes: &PrimaryMap<ContextId, Node>) -> Links {
        let mut sites: FxHashMap<CallSiteId, Behind> = FxHashMap::default();
        for (id, node) in nodes.iter().filter(|(_, node)| node.calls.weight > 0.0) {
            let Some(site) = node.site.expand() else { continue };
            sites.entry(site).or_default().push(nodes, Member { context: id, outermost: id });
        }
        Links::Callers(Arc::new(Mutex::new(sites)))
    }

    fn to_callees(nodes: &PrimaryMap<ContextId, Node>) -> Links {
        let (mut roots, mut children): (FxHashMap<_, Vec<_>>, FxHashMap<_, Vec<_>>) = Default::default();
        for (id, node) in nodes {
            let Some(site) = node.site.expand() else { continue };
            match node.parent.expand() {
                Some(parent) => children.entry((parent, site)).or_default().push(id),
                None if node.calls.weight > 0.0 => roots.entry(site).or_default().push(id),
                None => {}
            }
        }
        Links::Callees { roots, children }
    }
}
