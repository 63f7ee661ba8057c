//! Polls at which running code is left for other code made of the same body, which counts calls or does not: exits.
//!
//! In: a body, behind all passes. Out: the same with exits, which hold what lives behind them. Code that goes on for one of them ([`super::osr`]) has copies of those that it comes to, so from it each can be left again for code that goes on there: as
//! many pieces of code as there are exits, in two kinds each, are enough, however often running code goes over.
//!
//! Only loops in which something is counted are left. One inside of such a loop in which nothing is, soon ends, or has nothing to tell of: the next poll of the loop around it is enough, and registers are not taken from it.

use super::analysis::loops::{LoopId, Loops};
use crate::ir::dominators::Dominators;
use crate::ir::polls::{LoopPoll, loop_polls};
use crate::ir::*;

/// `reserve`: gives the first of so many exits that no code has yet. `None`: it has none to give, or no running code need be left.
pub fn with_exits(func: &Function, reserve: &mut dyn FnMut(usize) -> Option<Exit>) -> Option<(Function, Vec<Exit>)> {
    let polls = counting_polls(func);
    if polls.is_empty() {
        return None;
    }
    let first = reserve(polls.len())?.as_u32();
    let exits: Vec<Exit> = (first..).map(Exit::from_u32).take(polls.len()).collect();
    let mut func = func.clone();
    for (&exit, poll) in exits.iter().zip(polls) {
        func.insts[poll.inst].op = Op::ExitPoll { exit, live: poll.live.into() };
    }
    Some((func, exits))
}

/// Those of loops in which calls may be counted.
fn counting_polls(func: &Function) -> Vec<LoopPoll> {
    let counts = |block: &Block| func.blocks[*block].insts.iter().any(|&inst| func.insts[inst].op == Op::Probe);
    if !func.layout.iter().any(counts) {
        return Vec::new();
    }
    let loops = Loops::new(func, &Dominators::new(func));
    let mut polls = loop_polls(func);
    polls.retain(|poll| loops.around(poll.block).is_some_and(|id| loops.loops[id].blocks.iter().any(counts)));
    polls
}

/// The exits of loops around that of this exit, outermost first.
pub fn exits_around(func: &Function, exit: Exit) -> Vec<Exit> {
    let Some(block) = block_of(func, exit) else { return Vec::new() };
    let loops = Loops::new(func, &Dominators::new(func));
    let parent = |id: &LoopId| loops.loops[*id].parent.expand();
    let around: Vec<LoopId> = std::iter::successors(loops.around(block).and_then(|id| parent(&id)), parent).collect();
    let mut exits: Vec<(u32, Exit)> = Vec::new();
    for &block in &func.layout {
        let Some(id) = loops.around(block).filter(|id| around.contains(id)) else { continue };
        let of_block = func.blocks[block].insts.iter().filter_map(|&inst| exit_of(&func.insts[inst].op));
        exits.extend(of_block.map(|exit| (loops.loops[id].depth, exit)));
    }
    exits.sort_by_key(|&(depth, _)| depth);
    exits.into_iter().map(|(_, exit)| exit).collect()
}

fn exit_of(op: &Op) -> Option<Exit> {
    if let Op::ExitPoll { exit, .. } = op { Some(*exit) } else { None }
}

/// The block that holds the exit, in a body that [`with_exits`] made.
pub fn block_of(func: &Function, exit: Exit) -> Option<Block> {
    let holds = |block: &Block| func.blocks[*block].insts.iter().any(|&inst| exit_of(&func.insts[inst].op) == Some(exit));
    func.layout.iter().copied().find(holds)
}
