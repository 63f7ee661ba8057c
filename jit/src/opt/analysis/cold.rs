//! Blocks from which control only goes where it hardly ever goes, such as to throw an error.
//!
//! In: a function. Out: those blocks that end in a throw, those that give an error its trace (an error that is caught nearby is rare all the same), and those that lead to nothing else. What a `Try` does with the errors of its own
//! operation does not count. Linear.

use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

pub fn cold_blocks(func: &Function) -> EntitySet<Block> {
    cold_from(func, Vec::new())
}

/// As [`cold_blocks`], with other blocks that are known to be cold.
pub fn cold_from(func: &Function, known: Vec<Block>) -> EntitySet<Block> {
    let mut from: SecondaryMap<Block, Vec<Block>> = SecondaryMap::with_capacity(func.blocks.len());
    // Ways on that are not known to be cold.
    let mut open: SecondaryMap<Block, u32> = SecondaryMap::with_capacity(func.blocks.len());
    let mut work = known;
    for &block in &func.layout {
        if is_cold_itself(func, block) {
            work.push(block);
        }
        let mut way = |to: &BlockCall| {
            from[to.block].push(block);
            open[block] += 1;
        };
        match func.blocks[block].terminator.as_ref().expect("a finished block") {
            Terminator::Try { normal, .. } => way(normal),
            other => other.for_each_edge(way),
        }
    }
    let mut cold = EntitySet::with_capacity(func.blocks.len());
    while let Some(block) = work.pop() {
        if !cold.insert(block) {
            continue;
        }
        for &before in &from[block] {
            open[before] -= 1;
            if open[before] == 0 {
                work.push(before);
            }
        }
    }
    cold
}

fn is_cold_itself(func: &Function, block: Block) -> bool {
    let data = &func.blocks[block];
    let fills_trace = |op: &Op| matches!(op, Op::CallBuiltin { builtin: Builtin::FillTrace, .. });
    let ends = match data.terminator.as_ref().expect("a finished block") {
        Terminator::Try { op, .. } => fills_trace(op),
        Terminator::Throw(_) | Terminator::Unreachable => true,
        _ => false,
    };
    ends || data.insts.iter().any(|&i| fills_trace(&func.insts[i].op))
}
