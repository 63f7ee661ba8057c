//! CC-Map: totals of methods, call sites and edges, and their counts in context, tied both ways (CC-Map, section 3.1).
//!
//! In: calls and returns ([`CallStructure`]) or samples with full, bounded or continued stacks. Out: totals, targets, contexts and hot chains (the methods of [`CcMap`]).
//!
//! A *general* node says how often something happened in whatever context: MethodProfile → CallSite → Callee, by method, call site and edge.
//! A *node in context* says it for one chain of callers: CallSiteRef and CalleeRef make trees, whose roots are the starts of threads and, for stacks that were only
//! seen in part, the outermost method that was seen. Each general node lists its contexts, and each node in context names its general node, so "where does
//! this hot edge come from" and "how hot is this edge elsewhere" are both answered by following links.
//!
//! The paper's pseudocode files a stack once for every frame on it, as a chain of its own that begins there: memory and time grow with the square of the depth. Here a stack is
//! filed once, from its root; what the paper reads from those shorter chains, the total of a chain in any context, is a sum over the links from edges to contexts
//! ([`CcMap::path_count`], [`CcMap::chain_through`]).
//!
//! Of a sample's stack the innermost call alone counts, where the paper (section 3.1.4) counts each frame that no earlier walk saw: weights stand for
//! calls, a sample's for those like the innermost one, and the calls below it are counted by samples of their own.
//! [`CcMap::walk`] counts as the paper does.
//!
//! Invariants, checked by [`CcMap::check`], up to the rounding of sums:
//! - the count of an edge = the sum over its contexts + what is `without_context` (removed as cold, or dropped for the limit; 0 as long as nothing was);
//! - the total of a method = the sum over the edges that lead to it + what is `without_edge` (0 as long as no edge was removed);
//! - the sum over all methods + the totals of removed methods = all that was ever counted.
//!
//! ```
//! use profiler::program::{CallSite, Edge, Function, Program};
//! use profiler::structures::{CallStructure, ccmap::{CcMap, Limits}};
//!
//! let mut program = Program::default();
//! let mut function = |name: &str| program.functions.push(Function { name: name.into(), file: "".into(), line: 0 });
//! let (main, square, circle) = (function("main"), function("Square.area"), function("Circle.area"));
//! let site = program.sites.push(CallSite { caller: main, line: 7 });
//! let start = program.edge(Edge { site: None.into(), callee: main });
//! let to_square = program.edge(Edge { site: Some(site).into(), callee: square });
//! let to_circle = program.edge(Edge { site: Some(site).into(), callee: circle });
//!
//! let mut map = CcMap::new(&program, Limits::default())?;
//! let mut thread = map.start();
//! map.call(&mut thread, start, 1.0);
//! for target in [to_square, to_square, to_circle] {
//!     map.call(&mut thread, target, 1.0);
//!     map.ret(&mut thread);
//! }
//! let targets: Vec<_> = map.targets(site).iter().map(|target| (target.callee, target.count)).collect();
//! assert_eq!(targets, [(square, 2.0), (circle, 1.0)]);
//! # Ok::<(), profiler::structures::ccmap::CcMapError>(())
//! ```

mod chains;
mod check;
mod error;
mod merge;
mod nodes;
mod query;
mod samples;
#[cfg(test)]
pub(crate) mod tests;
mod tree;
mod upkeep;

pub use chains::{Chain, HotPath};
pub use check::Inconsistency;
pub use error::CcMapError;
pub use nodes::{CallSiteRef, CalleeRef};
pub use query::{Count, Target};
pub use upkeep::Removed;

use super::CallStructure;
use super::dropped::Dropped;
use super::many::Many;
use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::program::{Edge, Program};
use crate::sample::Sample;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, packed_option::PackedOption};
use nodes::{CallSite, CallSiteRefNode, Callee, CalleeRefNode, MethodProfile, Presence};

/// How large a map may become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Nodes in context, CallSiteRefs and CalleeRefs together. General nodes are as many as the program has.
    pub nodes: u32,
    /// Frames of a sample's stack that are used, from the innermost; the rest makes it a suffix, as in a PCCT (CC-Map section 3.1.1).
    pub frames: u32,
}

impl Default for Limits {
    /// No limits but those of 32-bit links.
    fn default() -> Limits {
        Limits { nodes: u32::MAX - 2, frames: u32::MAX }
    }
}

/// Where a thread stands in a map. It belongs to that map only.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    /// The last open call that has a node.
    node: PackedOption<CalleeRef>,
    /// Open calls above it that have none.
    lost: u32,
    /// All open calls, those below the root of a suffix too.
    depth: u32,
    /// The map's state of removals for which `node` is valid.
    epoch: u32,
}

impl Cursor {
    /// The number of open calls.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The context the thread is in; `None` outside of all calls, and where the context is not in the map.
    pub fn context(&self) -> Option<CalleeRef> {
        self.node.expand().filter(|_| self.lost == 0)
    }
}

/// Totals of methods and edges, and their counts in context. See the [module](self).
#[derive(Clone)]
pub struct CcMap {
    methods: SecondaryMap<FuncId, MethodProfile>,
    sites: SecondaryMap<CallSiteId, CallSite>,
    /// All edges that were registered.
    callees: PrimaryMap<EdgeId, Callee>,
    site_refs: PrimaryMap<CallSiteRef, CallSiteRefNode>,
    callee_refs: PrimaryMap<CalleeRef, CalleeRefNode>,
    /// Of contexts with very many call sites, and call sites with very many targets.
    many_sites: Many<tree::Spot, CallSiteRef>,
    many_callees: Many<(CallSiteRef, EdgeId), CalleeRef>,
    /// The tree of full stacks.
    starts: PackedOption<CallSiteRef>,
    limits: Limits,
    dropped: Dropped,
    unknown: u64,
    /// All weight that was counted.
    added: f64,
    /// The part of `added` in the totals of methods that were removed.
    removed: f64,
    /// Grows when nodes in context are renumbered.
    epoch: u32,
}

impl CcMap {
    /// An empty map that knows the program's edges of now. Fails on an edge that refers to something the program does not have.
    pub fn new(program: &Program, limits: Limits) -> Result<CcMap, CcMapError> {
        let mut map = CcMap {
            methods: SecondaryMap::new(),
            sites: SecondaryMap::new(),
            callees: PrimaryMap::new(),
            site_refs: PrimaryMap::new(),
            callee_refs: PrimaryMap::new(),
            many_sites: Many::default(),
            many_callees: Many::default(),
            starts: PackedOption::default(),
            limits: Limits { nodes: limits.nodes.min(u32::MAX - 2), ..limits },
            dropped: Dropped::default(),
            unknown: 0,
            added: 0.0,
            removed: 0.0,
            epoch: 0,
        };
        map.register(program)?;
        Ok(map)
    }

    /// Learns the edges that the program got since the last time: necessary before they are called. Takes time for the new ones only.
    /// On an error the edges before the bad one are registered.
    pub fn register(&mut self, program: &Program) -> Result<(), CcMapError> {
        for index in self.callees.len()..program.edges().len() {
            let id = EdgeId::new(index);
            let edge = program.edges()[id];
            let caller = caller_of(program, id, edge)?;
            if let Some(site) = edge.site.expand() {
                self.sites[site].caller = caller;
            }
            self.callees.push(Callee {
                count: 0.0,
                without_context: 0.0,
                callee: edge.callee,
                site: edge.site,
                next: PackedOption::default(),
                next_caller: PackedOption::default(),
                contexts: PackedOption::default(),
                presence: Presence::Known,
            });
        }
        Ok(())
    }

    /// Counts a call in general.
    fn count(&mut self, edge: EdgeId, weight: f64) {
        let callee = &mut self.callees[edge];
        callee.count += weight;
        let method = callee.callee;
        self.methods[method].total += weight;
        self.added += weight;
    }

    /// A call without a place in the trees.
    fn lose(&mut self, edge: EdgeId, weight: f64) {
        self.callees[edge].without_context += weight;
        self.dropped.count(weight);
    }

    /// A cursor from before a removal that did not know of it: its context is forgotten, and what it calls makes suffixes.
    fn renew(&self, at: &mut Cursor) {
        if at.epoch != self.epoch {
            *at = Cursor { depth: at.depth, node: PackedOption::default(), lost: 0, epoch: self.epoch };
        }
    }
}

impl CallStructure for CcMap {
    type Label = EdgeId;
    type Cursor = Cursor;

    fn start(&mut self) -> Cursor {
        Cursor { node: PackedOption::default(), lost: 0, depth: 0, epoch: self.epoch }
    }

    /// `weight` is finite and not negative. The first call of a cursor makes a full stack if nobody calls its callee (the start of a thread), else a suffix
    /// under the edge's caller.
    fn call(&mut self, at: &mut Cursor, edge: EdgeId, weight: f64) {
        self.renew(at);
        at.depth = at.depth.saturating_add(1);
        if !self.callees.is_valid(edge) {
            self.unknown += u64::from(weight > 0.0);
            at.lost = at.lost.saturating_add(1);
            return;
        }
        self.link(edge);
        self.count(edge, weight);
        let place = if at.lost == 0 { self.place(at.node, edge) } else { None };
        match place {
            Some(node) => {
                self.callee_refs[node].count += weight;
                at.node = node.into();
            }
            None => {
                self.lose(edge, weight);
                at.lost = at.lost.saturating_add(1);
            }
        }
    }

    fn ret(&mut self, at: &mut Cursor) {
        self.renew(at);
        at.depth = at.depth.saturating_sub(1);
        if at.lost > 0 {
            at.lost -= 1;
        } else if let Some(node) = at.node.expand() {
            at.node = self.callee_refs[node].parent;
        }
    }

    fn add(&mut self, sample: &Sample, label: impl Fn(EdgeId) -> EdgeId) {
        let mut at = self.start();
        self.observe(&mut at, sample, label);
    }
}

/// The edge's caller, if the program has all that the edge refers to.
fn caller_of(program: &Program, id: EdgeId, edge: Edge) -> Result<PackedOption<FuncId>, CcMapError> {
    let function = |function| program.functions.get(function).map(|_| function).ok_or(CcMapError::NoSuchFunction { edge: id, function });
    function(edge.callee)?;
    let Some(site) = edge.site.expand() else { return Ok(None.into()) };
    let caller = program.sites.get(site).ok_or(CcMapError::NoSuchSite { edge: id, site })?.caller;
    Ok(Some(function(caller)?).into())
}
