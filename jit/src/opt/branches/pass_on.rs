//! Blocks that only pass their parameters on.
//!
//! In: a function. Out: the same with edges that lead past such blocks to where they jump, with the arguments put in place of the parameters.
//! A block that leads to a loop's header stays: it may be the loop's only entry.

use super::Shape;
use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// Parameters of such a block.
const PARAMS: usize = 32;

/// Such blocks in a row; they may even go round.
const CHAIN: usize = 16;

/// Whether anything changed. Blocks that were passed still stand in the layout.
pub(super) fn run(func: &mut Function, shape: &Shape) -> bool {
    let passing = passing_blocks(func, shape);
    if passing.values().all(Option::is_none) {
        return false;
    }
    let mut changed = false;
    for i in 0..func.layout.len() {
        let mut terminator = func.blocks[func.layout[i]].terminator.take().expect("a finished block");
        terminator.for_each_edge_mut(|edge| {
            for _ in 0..CHAIN {
                let Some(past) = past(func, &passing, edge) else { break };
                *edge = past;
                changed = true;
            }
        });
        func.blocks[func.layout[i]].terminator = Some(terminator);
    }
    changed
}

/// By block: where it jumps, if that is all it does.
fn passing_blocks(func: &Function, shape: &Shape) -> SecondaryMap<Block, Option<BlockCall>> {
    let mut passing = SecondaryMap::new();
    for (block, to) in func.layout[1..].iter().filter_map(|&b| Some((b, jump_only(func, b)?))) {
        let own = |param: Value| to.args.iter().filter(|&&arg| arg == param).count();
        let used_here_only = func.blocks[block].params.iter().all(|&p| shape.defs.uses(p) as usize == own(p));
        if used_here_only && !shape.headers.contains(to.block) {
            passing[block] = Some(to.clone());
        }
    }
    passing
}

fn jump_only(func: &Function, block: Block) -> Option<&BlockCall> {
    let data = &func.blocks[block];
    match &data.terminator {
        Some(Terminator::Jump(to)) if data.insts.is_empty() && (1..=PARAMS).contains(&data.params.len()) => Some(to),
        _ => None,
    }
}

/// The edge that leads past the block; `None` where it does more, or a `Try` gives it something.
fn past(func: &Function, passing: &SecondaryMap<Block, Option<BlockCall>>, edge: &BlockCall) -> Option<BlockCall> {
    let to = passing[edge.block].as_ref()?;
    let params = &func.blocks[edge.block].params;
    if params.len() != edge.args.len() {
        return None;
    }
    let given = |arg: &Value| params.iter().position(|p| p == arg).map_or(*arg, |i| edge.args[i]);
    Some(BlockCall { block: to.block, args: to.args.iter().map(given).collect() })
}
