//! Finding and making nodes: general ones when an edge is first called, nodes in context when it is first called there.
//!
//! A node's call sites and a site's targets are lists that move what was found to the front: calls repeat, so the first entry is mostly the right one. Of very long ones there is a table.

use super::CcMap;
use super::nodes::{CallSiteRef, CallSiteRefNode, CalleeRef, CalleeRefNode, Presence};
use crate::ids::{CallSiteId, EdgeId};
use crate::structures::many::SEARCHED;
use cranelift_entity::packed_option::PackedOption;

/// Where the list of a context's call sites begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Spot {
    parent: PackedOption<CalleeRef>,
    site: PackedOption<CallSiteId>,
}

impl CcMap {
    /// Puts an edge into the lists of its site, its caller and its callee, if it is not there yet.
    pub(super) fn link(&mut self, edge: EdgeId) {
        let callee = &mut self.callees[edge];
        if callee.presence == Presence::Linked {
            return;
        }
        callee.presence = Presence::Linked;
        let method = &mut self.methods[callee.callee];
        callee.next_caller = std::mem::replace(&mut method.callers, edge.into());
        let Some(id) = callee.site.expand() else { return };
        let site = &mut self.sites[id];
        let is_new = site.callees.is_none();
        callee.next = std::mem::replace(&mut site.callees, edge.into());
        if let (true, Some(caller)) = (is_new, site.caller.expand()) {
            site.next = std::mem::replace(&mut self.methods[caller].sites, id.into());
        }
    }

    /// The node of an edge below a context, made if necessary. `None`: the limit is reached.
    pub(super) fn place(&mut self, parent: PackedOption<CalleeRef>, edge: EdgeId) -> Option<CalleeRef> {
        let spot = Spot { parent, site: self.callees[edge].site };
        let site = self.pull_site(spot);
        if let Some(node) = site.and_then(|site| self.pull_callee(site, edge)) {
            return Some(node);
        }
        let needed = if site.is_some() { 1 } else { 2 };
        if self.nodes() + needed > self.limits.nodes {
            return None;
        }
        let site = site.unwrap_or_else(|| self.push_site(spot));
        Some(self.push_callee(parent, site, edge, 0.0))
    }

    /// The node of an edge below a context, if there is one. `None` as the parent: at the top of a tree.
    pub(crate) fn find_below(&self, parent: Option<CalleeRef>, edge: EdgeId) -> Option<CalleeRef> {
        let spot = Spot { parent: parent.into(), site: self.callees.get(edge)?.site };
        let mut next = self.head(spot);
        while let Some(site) = next.expand() {
            if self.site_refs[site].site == spot.site {
                return self.targets_of(site).find(|&node| self.callee_refs[node].edge == edge);
            }
            next = self.site_refs[site].next;
        }
        None
    }

    /// Nodes in context: CallSiteRefs and CalleeRefs.
    pub fn nodes(&self) -> u32 {
        (self.site_refs.len() + self.callee_refs.len()) as u32
    }

    fn head(&self, spot: Spot) -> PackedOption<CallSiteRef> {
        match (spot.parent.expand(), spot.site.expand()) {
            (Some(parent), _) => self.callee_refs[parent].sites,
            (None, Some(site)) => self.sites[site].caller.expand().map_or(None.into(), |caller| self.methods[caller].roots),
            (None, None) => self.starts,
        }
    }

    fn set_head(&mut self, spot: Spot, first: CallSiteRef) {
        match (spot.parent.expand(), spot.site.expand()) {
            (Some(parent), _) => self.callee_refs[parent].sites = first.into(),
            (None, Some(site)) => {
                if let Some(caller) = self.sites[site].caller.expand() {
                    self.methods[caller].roots = first.into();
                }
            }
            (None, None) => self.starts = first.into(),
        }
    }

    /// Finds a call site in a context and moves it to the front.
    fn pull_site(&mut self, spot: Spot) -> Option<CallSiteRef> {
        let head = self.head(spot);
        let mut before = None;
        let mut at = head.expand()?;
        let mut passed = 0;
        while self.site_refs[at].site != spot.site {
            before = Some(at);
            at = self.site_refs[at].next.expand()?;
            passed += 1;
            if passed == SEARCHED {
                return self.one_of_many_sites(spot);
            }
        }
        if let Some(before) = before {
            self.site_refs[before].next = self.site_refs[at].next;
            self.site_refs[at].next = head;
            self.set_head(spot, at);
        }
        Some(at)
    }

    /// Finds a target of a call site in a context and moves it to the front.
    fn pull_callee(&mut self, site: CallSiteRef, edge: EdgeId) -> Option<CalleeRef> {
        let head = self.site_refs[site].callees;
        let mut before = None;
        let mut at = head.expand()?;
        let mut passed = 0;
        while self.callee_refs[at].edge != edge {
            before = Some(at);
            at = self.callee_refs[at].next.expand()?;
            passed += 1;
            if passed == SEARCHED {
                return self.one_of_many_callees(site, edge);
            }
        }
        if let Some(before) = before {
            self.callee_refs[before].next = self.callee_refs[at].next;
            self.callee_refs[at].next = head;
            self.site_refs[site].callees = at.into();
        }
        Some(at)
    }

    /// As [`CcMap::pull_site`], where it is none of the first: it stays where it is.
    fn one_of_many_sites(&mut self, spot: Spot) -> Option<CallSiteRef> {
        let head = self.head(spot).expand();
        let CcMap { site_refs, many_sites, .. } = self;
        let list = std::iter::successors(head, |&at| site_refs[at].next.expand());
        many_sites.find(&spot, list.map(|at| (Spot { site: site_refs[at].site, ..spot }, at)))
    }

    /// As [`CcMap::pull_callee`], where it is none of the first: it stays where it is.
    fn one_of_many_callees(&mut self, site: CallSiteRef, edge: EdgeId) -> Option<CalleeRef> {
        let CcMap { site_refs, callee_refs, many_callees, .. } = self;
        let list = std::iter::successors(site_refs[site].callees.expand(), |&at| callee_refs[at].next.expand());
        many_callees.find(&(site, edge), list.map(|at| ((site, callee_refs[at].edge), at)))
    }

    fn push_site(&mut self, spot: Spot) -> CallSiteRef {
        let node = CallSiteRefNode {
            site: spot.site,
            parent: spot.parent,
            callees: PackedOption::default(),
            next: self.head(spot),
            next_context: spot.site.expand().map_or(None.into(), |site| self.sites[site].contexts),
        };
        let id = self.site_refs.push(node);
        if !self.many_sites.is_empty() {
            let sibling = self.head(spot).expand().map(|first| Spot { site: self.site_refs[first].site, ..spot });
            self.many_sites.add(sibling, spot, id);
        }
        self.set_head(spot, id);
        if let Some(site) = spot.site.expand() {
            self.sites[site].contexts = id.into();
        }
        id
    }

    fn push_callee(&mut self, parent: PackedOption<CalleeRef>, up: CallSiteRef, edge: EdgeId, count: f64) -> CalleeRef {
        let node = CalleeRefNode {
            count,
            edge,
            up,
            parent,
            sites: PackedOption::default(),
            next: self.site_refs[up].callees,
            next_context: self.callees[edge].contexts,
        };
        let id = self.callee_refs.push(node);
        if !self.many_callees.is_empty() {
            let sibling = self.site_refs[up].callees.expand().map(|first| (up, self.callee_refs[first].edge));
            self.many_callees.add(sibling, (up, edge), id);
        }
        self.site_refs[up].callees = id.into();
        self.callees[edge].contexts = id.into();
        id
    }

    /// Makes a node again while the trees are rebuilt. `up`: its call site, if that is there already.
    pub(super) fn rebuild(&mut self, parent: PackedOption<CalleeRef>, up: Option<CallSiteRef>, edge: EdgeId, count: f64) -> CalleeRef {
        let site = self.callees[edge].site;
        let up = up.unwrap_or_else(|| self.push_site(Spot { parent, site }));
        self.push_callee(parent, up, edge, count)
    }
}
