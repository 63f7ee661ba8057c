//! The nodes of a CC-Map and how they are linked (CC-Map section 3.1.2, Figure 3).
//!
//! General nodes are numbered by what they stand for (method, call site, edge); nodes in context by their place in an arena. All lists are chains of 32-bit links.
//! Invariant: a node in context is younger than its parent, so a pass in the order of numbers sees parents first, and one backwards children first.

use crate::ids::{CallSiteId, EdgeId, FuncId};
use cranelift_entity::{entity_impl, packed_option::PackedOption};

/// A call site in one context: the calls that were made from it while a certain chain of calls was open. Valid in its map until cold nodes are removed,
/// which renumbers what stays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallSiteRef(u32);
entity_impl!(CallSiteRef, "siteref");

/// An edge in one context, which makes it a context too: the chain of calls from the root of its tree down to this one.
/// Valid in its map until cold nodes are removed, which renumbers what stays; a query with one of another time or map answers about another node, or panics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CalleeRef(u32);
entity_impl!(CalleeRef, "ref");

/// What is known of a method in whatever context. The hash of the paper is a direct table here, for methods have dense numbers.
#[derive(Clone, Copy, Default)]
pub(super) struct MethodProfile {
    pub total: f64,
    /// The part of `total` that came over edges which were removed since.
    pub without_edge: f64,
    /// The call sites in the method that called.
    pub sites: PackedOption<CallSiteId>,
    /// The edges that lead here.
    pub callers: PackedOption<EdgeId>,
    /// The trees of stack suffixes whose outermost frame is the method.
    pub roots: PackedOption<CallSiteRef>,
}

impl MethodProfile {
    /// Whether an edge in the map starts or ends here.
    pub fn is_linked(&self) -> bool {
        self.sites.is_some() || self.callers.is_some()
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct CallSite {
    pub caller: PackedOption<FuncId>,
    /// The first of the edges that start here; none if the site is not in the map.
    pub callees: PackedOption<EdgeId>,
    /// The next site of the same caller.
    pub next: PackedOption<CallSiteId>,
    pub contexts: PackedOption<CallSiteRef>,
}

/// What is known of an edge in whatever context.
#[derive(Clone, Copy)]
pub(super) struct Callee {
    pub count: f64,
    /// The part of `count` whose contexts are not in the map: removed as cold, or dropped for the limit.
    pub without_context: f64,
    pub callee: FuncId,
    pub site: PackedOption<CallSiteId>,
    /// The next edge of the same site.
    pub next: PackedOption<EdgeId>,
    /// The next edge to the same method.
    pub next_caller: PackedOption<EdgeId>,
    pub contexts: PackedOption<CalleeRef>,
    pub presence: Presence,
}

/// Whether a general node is in the map. The others are only known: the program has them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Known,
    Linked,
}

#[derive(Clone, Copy)]
pub(super) struct CallSiteRefNode {
    /// None: nobody's call, the start of a thread.
    pub site: PackedOption<CallSiteId>,
    /// None at the top of a tree.
    pub parent: PackedOption<CalleeRef>,
    /// Its targets.
    pub callees: PackedOption<CalleeRef>,
    /// The next site in the same context.
    pub next: PackedOption<CallSiteRef>,
    /// The next context of the same site.
    pub next_context: PackedOption<CallSiteRef>,
}

#[derive(Clone, Copy)]
pub(super) struct CalleeRefNode {
    pub count: f64,
    pub edge: EdgeId,
    pub up: CallSiteRef,
    /// The parent of `up`, here too because every return asks for it.
    pub parent: PackedOption<CalleeRef>,
    /// The call sites that called in this context.
    pub sites: PackedOption<CallSiteRef>,
    /// The next target of the same site in the same context.
    pub next: PackedOption<CalleeRef>,
    /// The next context of the same edge.
    pub next_context: PackedOption<CalleeRef>,
}

const _: () = assert!(size_of::<CallSiteRefNode>() == 20 && size_of::<CalleeRefNode>() == 32);
