//! Typed indices for functions and call sites, the vocabulary of every profile.
//!
//! Invariant: ids are dense, start at 0, and stay the same for one compiled program whatever tier runs it.

use cranelift_entity::entity_impl;

/// A function of the compiled program (one instantiation of a generic function).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FuncId(u32);
entity_impl!(FuncId, "fn");

/// A call instruction in the program as lowered, before any inlining; unique in the whole program, so it names its caller too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallSiteId(u32);
entity_impl!(CallSiteId, "site");

/// A call edge that was seen: a number in a [`Program`](crate::program::Program)'s table of edges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EdgeId(u32);
entity_impl!(EdgeId, "edge");

/// A thread of the program that is profiled, in the order of their starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(u32);
entity_impl!(ThreadId, "thread");
