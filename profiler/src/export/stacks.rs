//! Stacks of functions with weights: what flame graphs and tools for stack profiles show.
//!
//! In: a profile's contexts, or its DCG where it has none: then every edge is a stack of two frames. Out: [`Stacks`], a tree in which children differ by function; call sites are merged.
//! Each weight is its node's own, whatever the structure's nesting, so that the sum over all nodes is the total. Nodes on the way to no call are left out.

use super::links::{Links, Visit};
use super::{ExportError, Format};
use crate::ids::FuncId;
use crate::profile::{ContextId, Contexts, Profile};
use crate::program::Function;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use rustc_hash::FxHashMap;

/// Frames in all stacks together up to which formats are written that spell out every stack, and bytes of names up to which those are that spell out these too: some gigabytes.
pub(super) const FRAMES: u64 = 1 << 27;
pub(super) const BYTES: u64 = 1 << 32;

/// What stacks take that are spelled out.
#[derive(Clone, Copy, Default)]
pub(super) struct Size {
    frames: u64,
    /// Of names, as they are in the program.
    bytes: u64,
}

impl Size {
    pub fn of_frame(function: &Function) -> Size {
        Size { frames: 1, bytes: function.name.len() as u64 }
    }

    pub fn plus(self, other: Size) -> Size {
        Size { frames: self.frames.saturating_add(other.frames), bytes: self.bytes.saturating_add(other.bytes) }
    }

    /// Of the stacks of a profile.
    pub fn check(self, profile: &Profile, format: Format) -> Result<(), ExportError> {
        let is_reversed = || profile.contexts().is_some_and(|contexts| contexts.structure().is_reversed());
        let spells_names = matches!(format, Format::Folded | Format::Svg);
        match self {
            Size { frames, .. } if frames > FRAMES && is_reversed() => Err(ExportError::TooManyReversed(format)),
            Size { frames, .. } if frames > FRAMES => Err(ExportError::TooManyFrames(format)),
            Size { bytes, .. } if bytes > BYTES && spells_names => Err(ExportError::TooManyBytes(format)),
            _ => Ok(()),
        }
    }
}

/// A node of [`Stacks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StackId(u32);
entity_impl!(StackId, "stack");

#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    parent: PackedOption<StackId>,
    pub function: FuncId,
    /// In calls.
    pub weight: f64,
}

/// Which end of a context is the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// The outermost caller. A forest of reversed contexts is turned round.
    Calls,
    /// Whatever it is in the structure.
    Stored,
}

pub(super) struct Stacks {
    nodes: PrimaryMap<StackId, Stack>,
    links: Links<StackId>,
}

impl Stacks {
    pub fn new(profile: &Profile, order: Order) -> Stacks {
        let mut builder = Builder::default();
        match profile.contexts() {
            Some(contexts) if contexts.structure().is_reversed() && order == Order::Calls => builder.turn(profile, contexts),
            Some(contexts) => builder.copy(profile, contexts),
            None => builder.pairs(profile),
        }
        let nodes = builder.nodes;
        let links = link(&nodes, |_, total| total > 0.0);
        Stacks { nodes, links }
    }

    pub fn get(&self, id: StackId) -> &Stack {
        &self.nodes[id]
    }

    /// Callers are entered before their callees in [`Order::Calls`].
    pub fn walk(&self) -> impl Iterator<Item = Visit<StackId>> {
        self.links.walk()
    }

    pub fn parent(&self, id: StackId) -> Option<StackId> {
        self.links.parent(id)
    }

    /// In calls.
    pub fn total(&self) -> f64 {
        self.nodes.values().map(|node| node.weight).sum()
    }

    /// Gives what stands below `limit` calls with all its children to the parent. Roots stay.
    pub fn prune(&mut self, limit: f64) {
        let totals = totals(&self.nodes);
        for id in self.nodes.keys().rev() {
            if let (true, Some(parent)) = (totals[id] < limit, self.nodes[id].parent.expand()) {
                let weight = std::mem::take(&mut self.nodes[id].weight);
                self.nodes[parent].weight += weight;
            }
        }
        self.links = link(&self.nodes, |node, _| totals[node] > 0.0 && (totals[node] >= limit || self.nodes[node].parent.is_none()));
    }
}

fn totals(nodes: &PrimaryMap<StackId, Stack>) -> SecondaryMap<StackId, f64> {
    let mut totals: SecondaryMap<StackId, f64> = SecondaryMap::with_capacity(nodes.len());
    for (id, node) in nodes.iter().rev() {
        totals[id] += node.weight;
        if let Some(parent) = node.parent.expand() {
            let total = totals[id];
            totals[parent] += total;
        }
    }
    totals
}

fn link(nodes: &PrimaryMap<StackId, Stack>, keep: impl Fn(StackId, f64) -> bool) -> Links<StackId> {
    let totals = totals(nodes);
    Links::new(nodes.iter().filter(|&(id, _)| keep(id, totals[id])).map(|(id, node)| (id, node.parent)))
}

#[derive(Default)]
struct Builder {
    nodes: PrimaryMap<StackId, Stack>,
    children: FxHashMap<(PackedOption<StackId>, FuncId), StackId>,
}

impl Builder {
    fn child(&mut self, parent: PackedOption<StackId>, function: FuncId) -> StackId {
        let nodes = &mut self.nodes;
        *self.children.entry((parent, function)).or_insert_with(|| nodes.push(Stack { parent, function, weight: 0.0 }))
    }

    fn copy(&mut self, profile: &Profile, contexts: &Contexts) {
        let own = contexts.own_weights();
        let mut copies: SecondaryMap<ContextId, PackedOption<StackId>> = SecondaryMap::with_capacity(contexts.len());
        for (id, node) in contexts.nodes() {
            let parent = node.parent.expand().map_or(PackedOption::default(), |parent| copies[parent]);
            let copy = self.child(parent, profile.function(node.label));
            self.nodes[copy].weight += own[id];
            copies[id] = copy.into();
        }
    }

    /// Each node is a whole context, from itself, the outermost caller, to the root, the callee.
    fn turn(&mut self, profile: &Profile, contexts: &Contexts) {
        let own = contexts.own_weights();
        for (id, _) in contexts.nodes().filter(|&(id, _)| own[id] > 0.0) {
            let mut stack = PackedOption::default();
            for label in upwards(contexts, id).map(|id| contexts.node(id).label) {
                stack = self.child(stack, profile.function(label)).into();
            }
            if let Some(stack) = stack.expand() {
                self.nodes[stack].weight += own[id];
            }
        }
    }

    fn pairs(&mut self, profile: &Profile) {
        for edge in profile.dcg() {
            let caller = profile.program().caller(edge.edge).map(|caller| self.child(PackedOption::default(), caller));
            let callee = self.child(caller.into(), profile.program().callee(edge.edge));
            self.nodes[callee].weight += edge.weight;
        }
    }
}

/// The node, its parent, and so on to the root.
pub(super) fn upwards(contexts: &Contexts, from: ContextId) -> impl Iterator<Item = ContextId> {
    std::iter::successors(Some(from), |&id| contexts.node(id).parent.expand())
}

/// Of all stacks that have calls of their own, each in full.
fn size(profile: &Profile) -> Size {
    let program = profile.program();
    let of = |function: FuncId| Size::of_frame(&program.functions[function]);
    let Some(contexts) = profile.contexts() else {
        let ends = profile.dcg().iter().flat_map(|edge| program.caller(edge.edge).into_iter().chain([program.callee(edge.edge)]));
        return ends.map(of).fold(Size::default(), Size::plus);
    };
    let own = contexts.own_weights();
    let mut stacks: SecondaryMap<ContextId, Size> = SecondaryMap::with_capacity(contexts.len());
    for (id, node) in contexts.nodes() {
        let above = node.parent.expand().map_or(Size::default(), |parent| stacks[parent]);
        stacks[id] = above.plus(of(profile.function(node.label)));
    }
    contexts.nodes().filter(|&(id, _)| own[id] > 0.0).map(|(id, _)| stacks[id]).fold(Size::default(), Size::plus)
}

/// For formats that spell out every stack.
pub(super) fn check_size(profile: &Profile, format: Format) -> Result<(), ExportError> {
    size(profile).check(profile, format)
}

/// For formats that take a tree in call order: turning reversed contexts round spells out every stack.
pub(super) fn check_reversible(profile: &Profile, format: Format) -> Result<(), ExportError> {
    match profile.contexts() {
        Some(contexts) if contexts.structure().is_reversed() => check_size(profile, format),
        _ => Ok(()),
    }
}
