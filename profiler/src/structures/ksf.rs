//! The k-slab forest (k-SF): all paths of at most k calls that a program takes, built while it runs in constant time a call (OOPSLA'12 section 5.2, Fig. 7).
//!
//! In: calls and returns. Out: a [`Forest`] from which [`Kccf::invert`](super::kccf::Kccf::invert) makes the k-CCF. The calling context tree is cut into slabs of k levels; each slab is kept joined with all others whose top
//! node has the same label, and with the slab under it, so that the k callers of any node are in the same tree. A thread therefore stands in two trees: in the top region (levels below k) of one and, while more than k calls
//! are open, in the bottom region (levels k to 2k-1) of the other.
//!
//! Invariants: a tree a label, its depth at most 2k-1 whatever the recursion; twice the nodes of the CCT at most (Lemma 2); for k greater than the CCT's depth it is the CCT.
//!
//! **Counts.** Fig. 7 counts a call at both places and has the top regions cleared before the inversion, except in the tree of the program's root. Here a call counts once: at its bottom place if it has one, else at its
//! top one. That is the same as counting twice and clearing where the root is called only once. Where it is called again, a multiple of k calls deep, its tree joins the first slab with a later one, and clearing cannot tell the two apart:
//! the later slab's calls stay counted twice. So it is with a function that is the first of one thread and called in another: cleared, its tree loses the one thread's calls, else it counts the other's twice. Counting once is right for these too, and is one addition less.
//!
//! ```
//! use profiler::ids::FuncId;
//! use profiler::structures::CallStructure;
//! use profiler::structures::kccf::Kccf;
//! use profiler::structures::ksf::SiblingKsf;
//!
//! let [main, parse, read] = [0, 1, 2].map(FuncId::from_u32);
//! let mut ksf = SiblingKsf::new(2, 1_000_000)?;
//! let mut thread = ksf.start();
//! ksf.call(&mut thread, main, 1.0);
//! for _ in 0..3 {
//!     ksf.call(&mut thread, parse, 1.0);
//!     ksf.call(&mut thread, read, 1.0);
//!     ksf.ret(&mut thread);
//!     ksf.ret(&mut thread);
//! }
//! let kccf = Kccf::invert(&ksf, 2, 1_000_000)?;
//! let context = kccf.find(&[parse, read]).expect("parse has called read");
//! assert_eq!(kccf.weight(context), 3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod arena;
pub mod indexed;
pub mod siblings;
pub mod slots;

use super::dropped::Dropped;
use super::forest::{Forest, Grown};
use super::{CallStructure, Label};
use crate::event::Event;
use crate::ids::EdgeId;
use arena::{Arena, LOST, NodeId};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::ReservedValue};
use indexed::Indexed;
use siblings::Siblings;
use slots::Slots;
use std::fmt;

/// The layout for few children a node.
pub type SiblingKsf<L> = KSlabForest<Siblings<L>>;

/// The layout for many children a node: small k, or routines with many callees.
pub type IndexedKsf<L> = KSlabForest<Indexed<L>>;

/// Events between two looks at the room on a cursor's stack.
const BATCH: usize = 4096;

/// k is 0: a slab has no level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZeroK;

impl fmt::Display for ZeroK {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a k-SF with k = 0 has no levels; k must be at least 1 (contexts of one call), 10 to 20 find most of what is hot")
    }
}

impl std::error::Error for ZeroK {}

/// The two nodes where a thread stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    top: NodeId,
    bottom: NodeId,
}

impl Place {
    /// Without open calls. The reserved node is in `bottom` as long as fewer than k + 1 calls are open.
    fn outside() -> Place {
        Place { top: NodeId::reserved_value(), bottom: NodeId::reserved_value() }
    }
}

/// Where a thread stands: its open calls.
#[derive(Clone, Debug)]
pub struct Cursor {
    place: Place,
    /// The places of all callers, outermost first: the stack S of Fig. 7. Only the first `depth` are valid.
    stack: Vec<Place>,
    depth: usize,
    /// `depth` modulo k.
    phase: u32,
}

impl Cursor {
    /// Open calls.
    pub fn depth(&self) -> usize {
        self.depth
    }

    fn reserve(&mut self, calls: usize) {
        let len = self.depth + calls;
        if self.stack.len() < len {
            self.stack.resize(len, Place::outside());
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct KSlabForest<A: Arena> {
    k: u32,
    arena: A,
    /// R of Fig. 7. Labels are dense numbers, so it is an array.
    roots: SecondaryMap<A::Label, NodeId>,
    dropped_calls: u64,
}

impl<L: Label> SiblingKsf<L> {
    /// An empty forest that will never have more than `max_nodes` nodes.
    pub fn new(k: u32, max_nodes: u32) -> Result<Self, ZeroK> {
        Self::with_arena(k, Siblings::new(max_nodes))
    }
}

impl<L: Label> IndexedKsf<L> {
    /// As [`SiblingKsf::new`], with the children's places in their parents' arrays.
    pub fn indexed(k: u32, slots: Slots<L>, max_nodes: u32) -> Result<Self, ZeroK> {
        Self::with_arena(k, Indexed::new(slots, max_nodes))
    }
}

impl<A: Arena> KSlabForest<A> {
    fn with_arena(k: u32, arena: A) -> Result<Self, ZeroK> {
        if k == 0 {
            return Err(ZeroK);
        }
        Ok(KSlabForest { k, arena, roots: SecondaryMap::with_default(LOST), dropped_calls: 0 })
    }

    /// Calls that a context reaches back at least, unless the thread began later.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Nodes.
    pub fn len(&self) -> usize {
        self.arena.node_count()
    }

    /// No call has been made.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The root of the tree of this label.
    pub fn root(&self, label: A::Label) -> Option<NodeId> {
        Some(self.roots[label]).filter(|&root| root != LOST)
    }

    /// What found no room.
    pub fn dropped(&self) -> Dropped {
        Dropped { calls: self.dropped_calls, weight: self.arena.weight(LOST) }
    }

    /// Memory in bytes, without cursors.
    pub fn bytes(&self) -> usize {
        self.arena.bytes() + self.roots.capacity() * size_of::<NodeId>()
    }

    /// All events of one thread, from where it stands: the same as a [`call`](CallStructure::call) or [`ret`](CallStructure::ret) for each, but faster.
    pub fn run(&mut self, at: &mut Cursor, events: &[Event], weight: f64, label: impl Fn(EdgeId) -> A::Label) {
        for batch in events.chunks(BATCH) {
            at.reserve(batch.len());
            self.run_batch(at, batch, weight, &label);
        }
    }

    /// There is room on the stack for as many calls as events. The cursor is copied so that it stays in registers.
    fn run_batch(&mut self, at: &mut Cursor, events: &[Event], weight: f64, label: impl Fn(EdgeId) -> A::Label) {
        let k = self.k;
        let stack = at.stack.as_mut_slice();
        let (mut place, mut depth, mut phase) = (at.place, at.depth, at.phase);
        for event in events {
            match event.edge() {
                Some(edge) => {
                    stack[depth] = place;
                    place = self.enter(place, phase, label(edge), weight);
                    depth += 1;
                    phase = after(phase, k);
                }
                None if depth > 0 => {
                    depth -= 1;
                    place = stack[depth];
                    phase = before(phase, k);
                }
                None => {}
            }
        }
        (at.place, at.depth, at.phase) = (place, depth, phase);
    }

    /// Fig. 7, lines 1 to 25.
    #[inline(always)]
    fn enter(&mut self, from: Place, phase: u32, label: A::Label, weight: f64) -> Place {
        let key = self.arena.key(label);
        let (top, bottom) = if phase == 0 { (self.find_root(label), from.top) } else { (self.arena.child(from.top, key), from.bottom) };
        if bottom.is_reserved_value() {
            self.count(top, weight);
            return Place { top, bottom };
        }
        let bottom = self.arena.child(bottom, key);
        self.count(bottom, weight);
        Place { top, bottom }
    }

    #[inline(always)]
    fn count(&mut self, node: NodeId, weight: f64) {
        self.arena.count(node, weight);
        if node == LOST {
            self.dropped_calls += 1;
        }
    }

    #[inline]
    fn find_root(&mut self, label: A::Label) -> NodeId {
        let root = self.roots[label];
        if root == LOST { self.add_root(label) } else { root }
    }

    #[cold]
    fn add_root(&mut self, label: A::Label) -> NodeId {
        let root = self.arena.add_root(label);
        if root != LOST {
            self.roots[label] = root;
        }
        root
    }
}

/// The phase one call deeper.
#[inline(always)]
fn after(phase: u32, k: u32) -> u32 {
    if phase + 1 == k { 0 } else { phase + 1 }
}

/// The phase one call less deep.
#[inline(always)]
fn before(phase: u32, k: u32) -> u32 {
    if phase == 0 { k - 1 } else { phase - 1 }
}

impl<A: Arena> CallStructure for KSlabForest<A> {
    type Label = A::Label;
    type Cursor = Cursor;

    fn start(&mut self) -> Cursor {
        Cursor { place: Place::outside(), stack: Vec::new(), depth: 0, phase: 0 }
    }

    fn call(&mut self, at: &mut Cursor, label: A::Label, weight: f64) {
        at.reserve(1);
        at.stack[at.depth] = at.place;
        at.place = self.enter(at.place, at.phase, label, weight);
        at.depth += 1;
        at.phase = after(at.phase, self.k);
    }

    fn ret(&mut self, at: &mut Cursor) {
        if at.depth == 0 {
            return;
        }
        at.depth -= 1;
        at.place = at.stack[at.depth];
        at.phase = before(at.phase, self.k);
    }
}

impl<A: Arena> Forest for KSlabForest<A> {
    type Label = A::Label;
    type Node = NodeId;

    fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        (1..=self.len()).map(NodeId::new)
    }

    fn label(&self, node: NodeId) -> A::Label {
        self.arena.label(node)
    }

    fn parent(&self, node: NodeId) -> Option<NodeId> {
        Some(self.arena.parent(node)).filter(|&parent| parent != LOST)
    }

    /// Calls are in the weight of one node each: see the module on counts. Nodes of the top regions have a weight only where a thread has fewer than k calls open.
    fn weight(&self, node: NodeId) -> f64 {
        self.arena.weight(node)
    }

    fn reach(&self) -> Option<u32> {
        Some(self.k)
    }
}

impl<A: Arena> Grown for KSlabForest<A> {
    fn counted_at(&self, at: &Cursor) -> Option<NodeId> {
        let Place { top, bottom } = at.place;
        let node = if bottom.is_reserved_value() { top } else { bottom };
        Some(node).filter(|&node| node != LOST && !node.is_reserved_value())
    }
}
