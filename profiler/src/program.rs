//! What a profile talks about: functions, call sites, and the call edges that were seen, with names for people.
//!
//! In: definitions, in any order in which ids are dense. Out: [`Program`], to which every event, structure and report refers by index.
//! Invariant: an edge is in the table once; ids never change their meaning.

use crate::ids::{CallSiteId, EdgeId, FuncId};
use cranelift_entity::{PrimaryMap, packed_option::PackedOption};
use rustc_hash::FxHashMap;

/// A function, or one instantiation of a generic one, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// As the program writes it; any characters.
    pub name: Box<str>,
    /// Empty where unknown.
    pub file: Box<str>,
    /// 1-based; 0 where unknown.
    pub line: u32,
}

/// A place in a function that calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CallSite {
    /// The function it is in.
    pub caller: FuncId,
    /// 1-based; 0 where unknown. In the caller's file.
    pub line: u32,
}

/// What a call event says: caller and call site (both by the site), and callee. DCG edges are these (TACO'15 section 2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    /// `None`: the first function of a thread, which nobody calls.
    pub site: PackedOption<CallSiteId>,
    /// The function that is called.
    pub callee: FuncId,
}

/// All functions, call sites and edges that are known so far.
#[derive(Clone, Default, Debug)]
pub struct Program {
    /// By id.
    pub functions: PrimaryMap<FuncId, Function>,
    /// By id.
    pub sites: PrimaryMap<CallSiteId, CallSite>,
    edges: PrimaryMap<EdgeId, Edge>,
    ids: FxHashMap<Edge, EdgeId>,
}

impl Program {
    /// The edge's number: a new one if it was not seen before.
    pub fn edge(&mut self, edge: Edge) -> EdgeId {
        let edges = &mut self.edges;
        *self.ids.entry(edge).or_insert_with(|| edges.push(edge))
    }

    /// The edge's number, if it was seen.
    pub fn find(&self, edge: Edge) -> Option<EdgeId> {
        self.ids.get(&edge).copied()
    }

    /// All edges by id.
    pub fn edges(&self) -> &PrimaryMap<EdgeId, Edge> {
        &self.edges
    }

    /// The function that is called over the edge. The edge must be one of this program.
    pub fn callee(&self, edge: EdgeId) -> FuncId {
        self.edges[edge].callee
    }

    /// `None` for the first function of a thread.
    pub fn caller(&self, edge: EdgeId) -> Option<FuncId> {
        self.edges[edge].site.expand().map(|site| self.sites[site].caller)
    }
}
