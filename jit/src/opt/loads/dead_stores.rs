//! Stores that the same block overwrites before anybody can look.
//!
//! In: a function. Out: the same without such stores.
//! Between the two stands nothing that may throw, call, or synchronize (whoever catches or is called may look), and no load that may be of the same place. Other threads need not see the first value, also over a poll.

use super::super::analysis::effects::is_pure;
use super::super::analysis::memory::{Access, Memory, Place};
use crate::ir::*;

/// Later stores that are kept in mind at a time.
const KEPT: usize = 32;

pub fn run(func: &mut Function, memory: &Memory<'_>) -> bool {
    let mut changed = false;
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        let before = insts.len();
        let mut overwritten: Vec<Place> = Vec::new();
        insts.reverse();
        insts.retain(|&inst| !is_dead(&func.insts[inst].op, memory, &mut overwritten));
        insts.reverse();
        changed |= insts.len() < before;
        func.blocks[block].insts = insts;
    }
    changed
}

/// `overwritten`: the places that are stored to after the operation, before anybody looks.
fn is_dead(op: &Op, memory: &Memory<'_>, overwritten: &mut Vec<Place>) -> bool {
    let access = memory.access(op);
    if op.may_throw() || access.is_none() && !is_silent(op) {
        overwritten.clear();
    }
    match access {
        Some((place, Access::Load)) => overwritten.retain(|o| !memory.may_alias(o, &place)),
        Some((place, Access::Store(_))) if overwritten.contains(&place) => return true,
        Some((place, Access::Store(_))) if overwritten.len() < KEPT => overwritten.push(place),
        _ => {}
    }
    false
}

/// It looks at no memory that changes.
fn is_silent(op: &Op) -> bool {
    is_pure(op) || matches!(op, Op::ArrayLen(..) | Op::HasClass(..) | Op::Poll | Op::Probe)
}
