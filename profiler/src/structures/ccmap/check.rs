//! Whether a map is what it should be: both directions of every link agree, and the counts add up (see the invariants of [`super`]).
//!
//! Sums are compared up to a relative error of 1e-9, for counts are added in different orders.

use super::nodes::Presence;
use super::{CallSiteRef, CalleeRef, CcMap};
use crate::ids::{CallSiteId, EdgeId, FuncId};
use cranelift_entity::{EntityRef, SecondaryMap};
use std::fmt;

/// A broken invariant: a fault in the map's code, not in what it was given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Inconsistency {
    /// A list of contexts holds a stranger, or one context twice or not at all.
    Contexts(EdgeId),
    /// As `Contexts`, for a call site.
    SiteContexts(CallSiteId),
    /// The node is older than its parent, not in its parent's list, or there twice.
    Tree(CalleeRef),
    /// As `Tree`, for a call site in context.
    SiteTree(CallSiteRef),
    /// Two nodes below one parent stand for the same edge or site.
    Twins(CallSiteRef),
    /// A general node is missing in a list of its site, its caller or its callee, or is there twice.
    General(EdgeId),
    /// An edge counts other than its contexts and what it has without context.
    EdgeCount {
        /// Which.
        edge: EdgeId,
        /// Its count.
        total: f64,
        /// That of its parts.
        sum: f64,
    },
    /// A method counts other than the edges that lead to it and what it has without edge.
    MethodCount {
        /// Which.
        method: FuncId,
        /// Its count.
        total: f64,
        /// That of its parts.
        sum: f64,
    },
    /// All methods count other than was counted.
    Total {
        /// What was counted.
        total: f64,
        /// In methods, removed ones included.
        sum: f64,
    },
    /// More nodes in context than allowed.
    Nodes {
        /// How many there are.
        nodes: u32,
        /// How many there may be.
        limit: u32,
    },
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inconsistency::Contexts(edge) => write!(f, "the contexts of {edge} and its list of them differ"),
            Inconsistency::SiteContexts(site) => write!(f, "the contexts of {site} and its list of them differ"),
            Inconsistency::Tree(node) => write!(f, "{node} and its parent disagree"),
            Inconsistency::SiteTree(node) => write!(f, "{node} and its parent disagree"),
            Inconsistency::Twins(node) => write!(f, "{node} or something in it stands twice in one context"),
            Inconsistency::General(edge) => write!(f, "{edge} does not stand exactly once in each of its lists"),
            Inconsistency::EdgeCount { edge, total, sum } => write!(f, "{edge} was counted {total} times, in its contexts {sum} times"),
            Inconsistency::MethodCount { method, total, sum } => {
                write!(f, "{method} was counted {total} times, over edges to it {sum} times")
            }
            Inconsistency::Total { total, sum } => write!(f, "{total} calls were counted, in methods {sum}"),
            Inconsistency::Nodes { nodes, limit } => write!(f, "{nodes} nodes, where {limit} are the limit"),
        }
    }
}

impl std::error::Error for Inconsistency {}

impl CcMap {
    /// Checks all invariants. Takes time in the size of the map.
    pub fn check(&self) -> Result<(), Inconsistency> {
        if self.nodes() > self.limits.nodes {
            return Err(Inconsistency::Nodes { nodes: self.nodes(), limit: self.limits.nodes });
        }
        self.check_general()?;
        self.check_trees()?;
        self.check_contexts()?;
        self.check_counts()
    }

    fn check_general(&self) -> Result<(), Inconsistency> {
        let mut seen = Tally::default();
        for method in self.methods.keys() {
            for edge in self.callers(method) {
                if self.callees[edge].callee != method {
                    return Err(Inconsistency::General(edge));
                }
                seen.add(edge);
            }
        }
        let mut started = Tally::default();
        for site in self.methods.keys().flat_map(|method| self.sites(method)) {
            for edge in self.site_edges(site) {
                if self.callees[edge].site.expand() != Some(site) {
                    return Err(Inconsistency::General(edge));
                }
                started.add(edge);
            }
        }
        let wrong = self.callees.iter().find(|(edge, callee)| {
            let is_linked = callee.presence == Presence::Linked;
            !seen.is(*edge, is_linked) || !started.is(*edge, is_linked && callee.site.is_some())
        });
        wrong.map_or(Ok(()), |(edge, _)| Err(Inconsistency::General(edge)))
    }

    fn check_trees(&self) -> Result<(), Inconsistency> {
        let mut below = Tally::default();
        self.check_sites(self.starts().into_iter(), None, &mut below)?;
        for method in self.methods.keys() {
            self.check_sites(self.suffixes(method), None, &mut below)?;
            let caller = |site| self.general_site(site).and_then(|site| self.sites[site].caller.expand());
            if let Some(stranger) = self.suffixes(method).find(|&site| caller(site) != Some(method)) {
                return Err(Inconsistency::SiteTree(stranger));
            }
        }
        for node in self.refs() {
            self.check_sites(self.sites_of(node), Some(node), &mut below)?;
        }
        let mut within = Tally::default();
        for site in self.site_refs.keys() {
            if !below.is(site, true) {
                return Err(Inconsistency::SiteTree(site));
            }
            let targets: Vec<_> = self.targets_of(site).collect();
            if targets.is_empty() || has_twins(targets.iter().map(|&node| self.general(node))) {
                return Err(Inconsistency::Twins(site));
            }
            if let Some(&stranger) = targets.iter().find(|&&node| self.site_of(node) != site) {
                return Err(Inconsistency::Tree(stranger));
            }
            targets.into_iter().for_each(|node| within.add(node));
        }
        for (id, node) in self.callee_refs.iter() {
            let up = &self.site_refs[node.up];
            let is_young = node.parent.expand().is_none_or(|parent| parent < id);
            if !within.is(id, true) || up.parent != node.parent || up.site != self.callees[node.edge].site || !is_young {
                return Err(Inconsistency::Tree(id));
            }
        }
        Ok(())
    }

    fn check_sites(
        &self,
        sites: impl Iterator<Item = CallSiteRef>,
        parent: Option<CalleeRef>,
        below: &mut Tally<CallSiteRef>,
    ) -> Result<(), Inconsistency> {
        let sites: Vec<_> = sites.collect();
        for &site in &sites {
            if self.site_refs[site].parent.expand() != parent {
                return Err(Inconsistency::SiteTree(site));
            }
            below.add(site);
        }
        if has_twins(sites.iter().map(|&site| self.site_refs[site].site)) {
            return Err(Inconsistency::Twins(sites[0]));
        }
        Ok(())
    }

    fn check_contexts(&self) -> Result<(), Inconsistency> {
        let mut listed = Tally::default();
        for (edge, callee) in self.callees.iter() {
            for node in self.contexts(edge) {
                if self.general(node) != edge || callee.presence == Presence::Known {
                    return Err(Inconsistency::Contexts(edge));
                }
                listed.add(node);
            }
        }
        if let Some((_, node)) = self.callee_refs.iter().find(|(id, _)| !listed.is(*id, true)) {
            return Err(Inconsistency::Contexts(node.edge));
        }
        let mut listed = Tally::default();
        for site in self.sites.keys() {
            for node in self.site_contexts(site) {
                if self.general_site(node) != Some(site) {
                    return Err(Inconsistency::SiteContexts(site));
                }
                listed.add(node);
            }
        }
        let unlisted = self.site_refs.iter().find(|(id, node)| !listed.is(*id, node.site.is_some()));
        unlisted.and_then(|(_, node)| node.site.expand()).map_or(Ok(()), |site| Err(Inconsistency::SiteContexts(site)))
    }

    fn check_counts(&self) -> Result<(), Inconsistency> {
        for (edge, callee) in self.callees.iter() {
            let sum = self.contexts(edge).map(|node| self.count_in(node)).sum::<f64>() + callee.without_context;
            if !is_near(callee.count, sum) {
                return Err(Inconsistency::EdgeCount { edge, total: callee.count, sum });
            }
        }
        for (id, method) in self.methods.iter() {
            let sum = self.callers(id).map(|edge| self.callees[edge].count).sum::<f64>() + method.without_edge;
            if !is_near(method.total, sum) {
                return Err(Inconsistency::MethodCount { method: id, total: method.total, sum });
            }
        }
        let sum = self.methods.values().map(|method| method.total).sum::<f64>() + self.removed;
        if is_near(self.added, sum) { Ok(()) } else { Err(Inconsistency::Total { total: self.added, sum }) }
    }
}

/// How often each node was met in the lists that should have it once.
struct Tally<K: EntityRef>(SecondaryMap<K, u8>);

impl<K: EntityRef> Default for Tally<K> {
    fn default() -> Self {
        Tally(SecondaryMap::new())
    }
}

impl<K: EntityRef> Tally<K> {
    fn add(&mut self, key: K) {
        self.0[key] = self.0[key].saturating_add(1);
    }

    /// Met once if it should be there, else never.
    fn is(&self, key: K, is_there: bool) -> bool {
        self.0[key] == u8::from(is_there)
    }
}

fn has_twins<K: Ord>(keys: impl Iterator<Item = K>) -> bool {
    let mut keys: Vec<K> = keys.collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(f64::MIN_POSITIVE)
}
