//! What a compilation controller asks a CC-Map (CC-Map section 3.1.3): totals, callees, targets of call sites, and contexts, by following links.
//!
//! Lists that are sorted have the largest count first, and equal counts in the order of ids.

use super::nodes::Presence;
use super::{CallSiteRef, CalleeRef, CcMap, Cursor, Limits};
use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::program::Edge;
use crate::structures::dropped::Dropped;
use crate::structures::forest::{Forest, Grown};
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::FxHashMap;
use std::iter::successors;

/// How often something happened, and how much of that cannot be broken down any more.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Count {
    /// The weight of all calls.
    pub total: f64,
    /// For an edge: the part whose contexts are not in the map. For a method: the part that came over edges which are not in the map.
    pub unexplained: f64,
}

/// Where a call site went to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Target {
    /// Site and callee.
    pub edge: EdgeId,
    /// The function that was called.
    pub callee: FuncId,
    /// What these calls count for.
    pub count: f64,
}

/// General nodes: counts in whatever context.
impl CcMap {
    /// How often a method was called; all 0 if it was not seen.
    pub fn method(&self, method: FuncId) -> Count {
        self.methods.get(method).map_or(Count::default(), |m| Count { total: m.total, unexplained: m.without_edge })
    }

    /// The methods in the map with the weight of all calls to them: those that were called, and those that called.
    pub fn methods(&self) -> impl Iterator<Item = (FuncId, f64)> + '_ {
        self.methods.iter().filter(|(id, _)| self.has_method(*id)).map(|(id, m)| (id, m.total))
    }

    /// It was called, or it called.
    pub fn has_method(&self, method: FuncId) -> bool {
        self.methods.get(method).is_some_and(|m| m.is_linked() || m.total > 0.0)
    }

    /// How often an edge was called; all 0 if it was not seen.
    pub fn edge(&self, edge: EdgeId) -> Count {
        self.callees.get(edge).map_or(Count::default(), |c| Count { total: c.count, unexplained: c.without_context })
    }

    /// The edges in the map with their counts, in the order of their ids.
    pub fn edges(&self) -> impl Iterator<Item = (EdgeId, f64)> + '_ {
        self.callees.iter().filter(|(_, c)| c.presence == Presence::Linked).map(|(id, c)| (id, c.count))
    }

    /// The `most` hottest edges, sorted.
    pub fn hottest_edges(&self, most: usize) -> Vec<(EdgeId, f64)> {
        hottest(self.edges().collect(), most)
    }

    /// The call sites of a method that called.
    pub fn sites(&self, method: FuncId) -> impl Iterator<Item = CallSiteId> + '_ {
        let first = self.methods.get(method).and_then(|m| m.sites.expand());
        successors(first, |&site| self.sites[site].next.expand())
    }

    /// The edges that start at a call site.
    pub fn site_edges(&self, site: CallSiteId) -> impl Iterator<Item = EdgeId> + '_ {
        let first = self.sites.get(site).and_then(|s| s.callees.expand());
        successors(first, |&edge| self.callees[edge].next.expand())
    }

    /// What a method calls, by call site.
    pub fn callees(&self, method: FuncId) -> impl Iterator<Item = Target> + '_ {
        self.sites(method).flat_map(|site| self.site_edges(site)).map(|edge| self.target(edge, self.callees[edge].count))
    }

    /// The edges that lead to a method, the starts of threads included.
    pub fn callers(&self, method: FuncId) -> impl Iterator<Item = EdgeId> + '_ {
        let first = self.methods.get(method).and_then(|m| m.callers.expand());
        successors(first, |&edge| self.callees[edge].next_caller.expand())
    }

    /// Where a call site goes to in whatever context, sorted.
    pub fn targets(&self, site: CallSiteId) -> Vec<Target> {
        sorted(self.site_edges(site).map(|edge| self.target(edge, self.callees[edge].count)).collect())
    }

    fn target(&self, edge: EdgeId, count: f64) -> Target {
        Target { edge, callee: self.callees[edge].callee, count }
    }

    /// What identifies an edge in every table of this program. `None` if it was not registered.
    pub fn identity(&self, edge: EdgeId) -> Option<Edge> {
        self.callees.get(edge).map(|c| Edge { site: c.site, callee: c.callee })
    }

    /// The edges in the map by what identifies them.
    pub(crate) fn by_identity(&self) -> FxHashMap<Edge, EdgeId> {
        self.edges().filter_map(|(id, _)| Some((self.identity(id)?, id))).collect()
    }

    /// All weight that was counted, without what was dropped as unknown.
    pub fn total(&self) -> f64 {
        self.added
    }

    /// The part of [`CcMap::total`] in methods that were removed as cold.
    pub fn removed(&self) -> f64 {
        self.removed
    }

    /// Calls that are counted in general, but in no context: the limit of nodes was reached there or below, or a call below was unknown.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Calls of a weight above 0 that are counted nowhere: over an edge that was not registered, or seen again ([`CcMap::resume`]) where the context is not known.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// How large the map may become.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Memory of all nodes in bytes. The tables may have reserved up to as much again for what is to come.
    pub fn bytes(&self) -> usize {
        fn size<V>(values: &[V]) -> usize {
            size_of_val(values)
        }
        size(self.methods.as_values_slice())
            + size(self.sites.as_values_slice())
            + size(self.callees.as_values_slice())
            + size(self.site_refs.as_values_slice())
            + size(self.callee_refs.as_values_slice())
            + self.many_sites.bytes()
            + self.many_callees.bytes()
    }
}

/// Nodes in context.
impl CcMap {
    /// The contexts of an edge.
    pub fn contexts(&self, edge: EdgeId) -> impl Iterator<Item = CalleeRef> + '_ {
        let first = self.callees.get(edge).and_then(|c| c.contexts.expand());
        successors(first, |&node| self.callee_refs[node].next_context.expand())
    }

    /// The contexts of a call site.
    pub fn site_contexts(&self, site: CallSiteId) -> impl Iterator<Item = CallSiteRef> + '_ {
        let first = self.sites.get(site).and_then(|s| s.contexts.expand());
        successors(first, |&node| self.site_refs[node].next_context.expand())
    }

    /// All edges in context; parents come before children.
    pub fn refs(&self) -> impl Iterator<Item = CalleeRef> + '_ {
        self.callee_refs.keys()
    }

    /// The call sites that called in a context.
    pub fn sites_of(&self, context: CalleeRef) -> impl Iterator<Item = CallSiteRef> + '_ {
        self.site_list(self.callee_refs[context].sites)
    }

    /// The trees of stacks that were seen from a method on only: the call sites of the method that they begin with.
    pub fn suffixes(&self, method: FuncId) -> impl Iterator<Item = CallSiteRef> + '_ {
        self.site_list(self.methods.get(method).map_or(None.into(), |m| m.roots))
    }

    /// The tree of full stacks: the starts of threads are the targets of this site, which is nobody's.
    pub fn starts(&self) -> Option<CallSiteRef> {
        self.starts.expand()
    }

    pub(super) fn site_list(&self, first: PackedOption<CallSiteRef>) -> impl Iterator<Item = CallSiteRef> + '_ {
        successors(first.expand(), |&site| self.site_refs[site].next.expand())
    }

    /// The edges that a call site in context went over.
    pub fn targets_of(&self, site: CallSiteRef) -> impl Iterator<Item = CalleeRef> + '_ {
        successors(self.site_refs[site].callees.expand(), |&node| self.callee_refs[node].next.expand())
    }

    /// The edges that were called in a context.
    pub fn children(&self, context: CalleeRef) -> impl Iterator<Item = CalleeRef> + '_ {
        self.sites_of(context).flat_map(|site| self.targets_of(site))
    }

    /// The context of the caller; `None` at the top of a tree.
    pub fn parent(&self, context: CalleeRef) -> Option<CalleeRef> {
        self.callee_refs[context].parent.expand()
    }

    /// The call site in context that an edge in context starts from.
    pub fn site_of(&self, context: CalleeRef) -> CallSiteRef {
        self.callee_refs[context].up
    }

    /// The general node of a call site in context; `None` for the one that starts threads.
    pub fn general_site(&self, site: CallSiteRef) -> Option<CallSiteId> {
        self.site_refs[site].site.expand()
    }

    /// The general node of an edge in context.
    pub fn general(&self, context: CalleeRef) -> EdgeId {
        self.callee_refs[context].edge
    }

    /// How often the edge was called in this context.
    pub fn count_in(&self, context: CalleeRef) -> f64 {
        self.callee_refs[context].count
    }

    /// The context itself, then its callers, up to the top of the tree.
    pub fn ancestors(&self, context: CalleeRef) -> impl Iterator<Item = CalleeRef> + '_ {
        successors(Some(context), |&node| self.parent(node))
    }

    /// The edges from the top of the tree to a context, outermost first.
    pub fn path(&self, context: CalleeRef) -> Vec<EdgeId> {
        let mut path: Vec<_> = self.ancestors(context).map(|node| self.general(node)).collect();
        path.reverse();
        path
    }

    /// The context with this path from the top of a tree.
    pub fn find(&self, path: &[EdgeId]) -> Option<CalleeRef> {
        let (&first, rest) = path.split_first()?;
        rest.iter().try_fold(self.find_below(None, first)?, |parent, &edge| self.find_below(Some(parent), edge))
    }

    /// Where a call site goes to when it was reached through a chain of call sites, outermost first, whatever is above them; sorted. This is what an inliner asks that has
    /// inlined the chain. An empty chain asks for all contexts that are in the map.
    pub fn targets_in(&self, site: CallSiteId, chain: &[CallSiteId]) -> Vec<Target> {
        let mut counts = FxHashMap::<EdgeId, f64>::default();
        for context in self.site_contexts(site).filter(|&context| self.is_below(context, chain)) {
            for node in self.targets_of(context) {
                *counts.entry(self.general(node)).or_default() += self.count_in(node);
            }
        }
        sorted(counts.into_iter().map(|(edge, count)| self.target(edge, count)).collect())
    }

    /// Whether the call sites above one in context end with a chain.
    fn is_below(&self, mut site: CallSiteRef, chain: &[CallSiteId]) -> bool {
        chain.iter().rev().all(|&above| {
            let Some(parent) = self.site_refs[site].parent.expand() else { return false };
            site = self.site_of(parent);
            self.general_site(site) == Some(above)
        })
    }
}

/// The nodes in context: the trees of full stacks, and those of suffixes.
impl Forest for CcMap {
    type Label = EdgeId;
    type Node = CalleeRef;

    fn nodes(&self) -> impl Iterator<Item = CalleeRef> + '_ {
        self.refs()
    }

    fn label(&self, node: CalleeRef) -> EdgeId {
        self.general(node)
    }

    fn parent(&self, node: CalleeRef) -> Option<CalleeRef> {
        CcMap::parent(self, node)
    }

    fn weight(&self, node: CalleeRef) -> f64 {
        self.count_in(node)
    }
}

impl Grown for CcMap {
    fn counted_at(&self, at: &Cursor) -> Option<CalleeRef> {
        at.context()
    }
}

fn sorted(mut targets: Vec<Target>) -> Vec<Target> {
    targets.sort_unstable_by(|a, b| b.count.total_cmp(&a.count).then(a.edge.cmp(&b.edge)));
    targets
}

/// The `most` entries with the largest counts, sorted.
fn hottest<K: Ord>(mut counts: Vec<(K, f64)>, most: usize) -> Vec<(K, f64)> {
    counts.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    counts.truncate(most);
    counts
}
