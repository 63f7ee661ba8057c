//! Which objects to replace: those that never become real, and those that do so on some ways only, where that saves allocations and costs little code.
//!
//! In: [`Objects`] and their [`Flow`]. Out: allocations and parameters that are not worth it, with which the analysis starts again.
//! An object that becomes real pays off if it dies virtual on a way that does not just lead to an error. No way allocates more than before, but for rare code, where an object becomes real as often as control comes in: else it does so
//! once at most.

use super::flow::{Edge, Flow, State, Way};
use super::objects::{Birth, Object, ObjectId, Objects, terminator};
use crate::ir::*;
use crate::opt::analysis::cold::cold_blocks;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashSet;

/// Operations that making an object real at several places, and virtual again, may take in all.
const MAX_CODE: usize = 24;

pub fn not_worth(func: &Function, objects: &Objects<'_>, flow: &Flow) -> FxHashSet<Birth> {
    let cold = cold_blocks(func);
    let tries = objects.blocks.iter().any(|&b| matches!(terminator(func, b), Terminator::Try { .. }));
    let pays = paying(func, objects, flow, &cold);
    let mut refused = FxHashSet::default();
    for (id, object) in objects.live() {
        let way = &flow.ways[id];
        let (places, back) = (places(func, object, way), edges_back(func, object, way).len());
        let slots = object.shape.slots(objects.module);
        let fits = places + back <= 1 || places * (1 + slots) + back * slots <= MAX_CODE;
        if places > 0 && !(pays.contains(id) && fits && (!tries || may_fail_there(func, object, way))) {
            refused.insert(object.birth);
        }
    }
    if refused.is_empty() {
        refused = kept_by_others(func, objects, flow);
    }
    refused
}

/// Objects that die virtual where it counts, or go into such.
fn paying(func: &Function, objects: &Objects<'_>, flow: &Flow, cold: &EntitySet<Block>) -> EntitySet<ObjectId> {
    let mut pays = EntitySet::with_capacity(objects.objects.len());
    let mut givers: SecondaryMap<ObjectId, Vec<ObjectId>> = SecondaryMap::with_capacity(objects.objects.len());
    let mut work = Vec::new();
    for (id, object) in objects.live() {
        let way = &flow.ways[id];
        way.passed.iter().for_each(|&(_, to)| givers[to].push(id));
        if way.blocks(object.block).any(|block| !cold.contains(block) && dies_virtual(func, way, block, cold)) {
            work.push(id);
        }
    }
    while let Some(id) = work.pop() {
        if pays.insert(id) {
            work.extend(&givers[id]);
        }
    }
    pays
}

fn dies_virtual(func: &Function, way: &Way, block: Block, cold: &EntitySet<Block>) -> bool {
    if way.at_end(block) != State::Virtual {
        return false;
    }
    let (mut index, mut dies) = (0, false);
    let terminator = terminator(func, block);
    let is_try = matches!(terminator, Terminator::Try { .. });
    terminator.for_each_edge(|edge| {
        let this = (block, index);
        let goes_on = way.live.contains_key(&edge.block) || way.given.contains(&this) || way.passed.iter().any(|p| p.0 == this);
        let is_rare = cold.contains(edge.block) || is_try && index == 1;
        dies |= !goes_on && !is_rare;
        index += 1;
    });
    dies || index == 0
}

/// How often the object is made real in the code.
fn places(func: &Function, object: &Object, way: &Way) -> usize {
    let inside = way.blocks(object.block).filter(|&b| way.escapes_in(b)).count();
    inside + edges_made_real(func, object, way).len()
}

/// Edges on which the object is made real.
pub fn edges_made_real(func: &Function, object: &Object, way: &Way) -> Vec<Edge> {
    edges(func, object, way, |edge, to| way.escapes_on(edge, to))
}

/// Edges on which it becomes virtual again.
pub fn edges_back(func: &Function, object: &Object, way: &Way) -> Vec<Edge> {
    edges(func, object, way, |edge, to| way.comes_back_on(edge, to))
}

fn edges(func: &Function, object: &Object, way: &Way, is_one: impl Fn(Edge, Block) -> bool) -> Vec<Edge> {
    let mut found = Vec::new();
    for block in way.blocks(object.block) {
        let mut index = 0;
        terminator(func, block).for_each_edge(|edge| {
            if is_one((block, index), edge.block) {
                found.push((block, index));
            }
            index += 1;
        });
    }
    found
}

/// Whether memory may run out wherever the object becomes real, because there an error leaves the function anyway. (Inside of a handler's reach it must not.)
fn may_fail_there(func: &Function, object: &Object, way: &Way) -> bool {
    let leaves = |block: Block| {
        let data = &func.blocks[block];
        match data.insts.get(way.escapes[&block]) {
            Some(&inst) => func.insts[inst].op.may_throw(),
            None => matches!(terminator(func, block), Terminator::Return(_) | Terminator::Throw(_)),
        }
    };
    edges_made_real(func, object, way).is_empty() && way.blocks(object.block).filter(|&b| way.escapes_in(b)).all(leaves)
}

/// Objects stored into others that are virtual there: once those are replaced, there may be nothing left that keeps them.
fn kept_by_others(func: &Function, objects: &Objects<'_>, flow: &Flow) -> FxHashSet<Birth> {
    let mut kept = FxHashSet::default();
    for &block in objects.blocks {
        for (position, &inst) in func.blocks[block].insts.iter().enumerate() {
            let (Op::StoreField { object: into, value, .. } | Op::StoreElem(_, into, _, value, _)) = func.insts[inst].op else { continue };
            if let (Some(into), Some(stored)) = (objects.of(into), objects.of(value))
                && flow.ways[into].is_virtual_at(block, position)
            {
                kept.insert(objects.objects[stored].birth);
            }
        }
    }
    kept
}
