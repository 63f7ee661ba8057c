//! Keeping a map small and recent: removal of cold nodes (CC-Map section 3.1.3) and decay.
//!
//! Removal renumbers the nodes in context and makes their links anew, in one pass over all of them; no node keeps a link to one that is gone.

use super::nodes::{CallSite, Presence};
use super::{CallSiteRef, CalleeRef, CcMap, CcMapError, Cursor};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// How much a removal has removed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Removed {
    /// Edges in context.
    pub contexts: u32,
    /// Edges, whatever the context.
    pub edges: u32,
    /// Methods.
    pub methods: u32,
}

impl CcMap {
    /// Removes what was counted less than `least` times:
    /// 1. edges in context, unless something in the tree below them stays, or a cursor stands there or below: an open call is not over. Their counts stay in
    ///    their edges' totals, as `unexplained`;
    /// 2. then edges of which no context is left; their counts stay in their callees' totals, as `unexplained`;
    /// 3. then methods to which no edge leads and from which none starts; their counts stay in [`CcMap::removed`].
    ///
    /// `cursors` are those that go on. If any context goes, a cursor that is not among them forgets its own: what it calls next makes suffixes.
    pub fn remove_cold<'c>(&mut self, least: f64, cursors: impl IntoIterator<Item = &'c mut Cursor>) -> Removed {
        let mut cursors: Vec<&mut Cursor> = cursors.into_iter().filter(|at| at.epoch == self.epoch).collect();
        let stays = self.staying(least, cursors.iter().filter_map(|at| at.node.expand()));
        let contexts = self.callee_refs.keys().filter(|&node| !stays[node]).count() as u32;
        if contexts > 0 {
            let moved = self.rebuild_trees(&stays);
            self.epoch = self.epoch.wrapping_add(1);
            for at in &mut cursors {
                at.node = at.node.expand().map_or(None.into(), |node| moved[node]);
                at.epoch = self.epoch;
            }
        }
        Removed { contexts, edges: self.remove_edges(least), methods: self.remove_methods(least) }
    }

    /// Which nodes stay: children decide before their parents.
    fn staying(&self, least: f64, open: impl Iterator<Item = CalleeRef>) -> SecondaryMap<CalleeRef, bool> {
        let mut stays = SecondaryMap::with_capacity(self.callee_refs.len());
        open.for_each(|node| stays[node] = true);
        for (id, node) in self.callee_refs.iter().rev() {
            if node.count >= least {
                stays[id] = true;
            }
            if let (true, Some(parent)) = (stays[id], node.parent.expand()) {
                stays[parent] = true;
            }
        }
        stays
    }

    /// Makes the trees again from the nodes that stay. Returns what became of each.
    fn rebuild_trees(&mut self, stays: &SecondaryMap<CalleeRef, bool>) -> SecondaryMap<CalleeRef, PackedOption<CalleeRef>> {
        let nodes = std::mem::take(&mut self.callee_refs);
        let old_sites = std::mem::take(&mut self.site_refs);
        self.many_sites.clear();
        self.many_callees.clear();
        self.starts = None.into();
        self.methods.values_mut().for_each(|method| method.roots = None.into());
        self.sites.values_mut().for_each(|site| site.contexts = None.into());
        self.callees.values_mut().for_each(|callee| callee.contexts = None.into());
        let mut moved: SecondaryMap<CalleeRef, PackedOption<CalleeRef>> = SecondaryMap::with_capacity(nodes.len());
        let mut sites: SecondaryMap<CallSiteRef, PackedOption<CallSiteRef>> = SecondaryMap::with_capacity(old_sites.len());
        for (id, node) in nodes.iter() {
            if !stays[id] {
                self.callees[node.edge].without_context += node.count;
                continue;
            }
            let parent = node.parent.expand().map_or(None.into(), |parent| moved[parent]);
            let new = self.rebuild(parent, sites[node.up].expand(), node.edge, node.count);
            sites[node.up] = self.callee_refs[new].up.into();
            moved[id] = new.into();
        }
        moved
    }

    fn remove_edges(&mut self, least: f64) -> u32 {
        let mut removed = 0;
        for callee in self.callees.values_mut() {
            if callee.presence == Presence::Linked && callee.contexts.is_none() && callee.count < least {
                self.methods[callee.callee].without_edge += callee.count;
                (callee.count, callee.without_context) = (0.0, 0.0);
                callee.presence = Presence::Known;
                removed += 1;
            }
        }
        if removed > 0 {
            self.link_again();
        }
        removed
    }

    /// Makes the lists of all general nodes again.
    fn link_again(&mut self) {
        for method in self.methods.values_mut() {
            (method.sites, method.callers) = (None.into(), None.into());
        }
        for site in self.sites.values_mut() {
            *site = CallSite { callees: None.into(), next: None.into(), ..*site };
        }
        let linked: Vec<_> = self.edges().map(|(edge, _)| edge).collect();
        for edge in linked {
            let callee = &mut self.callees[edge];
            (callee.next, callee.next_caller, callee.presence) = (None.into(), None.into(), Presence::Known);
            self.link(edge);
        }
    }

    fn remove_methods(&mut self, least: f64) -> u32 {
        let mut removed = 0;
        for method in self.methods.values_mut() {
            if method.total > 0.0 && method.total < least && !method.is_linked() {
                self.removed += method.total;
                (method.total, method.without_edge) = (0.0, 0.0);
                removed += 1;
            }
        }
        removed
    }

    /// Multiplies all counts by `factor`, so that what happened long ago weighs less. Does not change what was dropped. Fails on a factor that is not in 0..=1.
    pub fn decay(&mut self, factor: f64) -> Result<(), CcMapError> {
        if !(0.0..=1.0).contains(&factor) {
            return Err(CcMapError::BadFactor { factor });
        }
        for method in self.methods.values_mut() {
            method.total *= factor;
            method.without_edge *= factor;
        }
        for callee in self.callees.values_mut() {
            callee.count *= factor;
            callee.without_context *= factor;
        }
        self.callee_refs.values_mut().for_each(|node| node.count *= factor);
        self.added *= factor;
        self.removed *= factor;
        Ok(())
    }
}
