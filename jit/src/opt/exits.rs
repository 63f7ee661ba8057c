//! Polls at which running code is left for other code made of the same body, which counts calls or does not: exits.
//!
//! In: a body, behind all passes. Out: the same with exits, which hold what lives behind them. Code that goes on for one of them ([`super::osr`]) has copies of those that it comes to, so from it each can be left again for code that goes on there: as
//! many pieces of code as there are exits, in two kinds each, are enough, however often running code goes over.
//!
//! Only loops in which something is counted are left. One inside of such a loop in which nothing is, soon ends, or has nothing to tell of: the next poll of the loop around it is enough, and registers are not taken from it.
//! Of nested ones the outermost alone is left at first: what is handed over is stored before each loop that is left, and most inner loops have few rounds. Others are left where they are known to be long ([`IsLong`]). Polls of the rest are
//! watched; where threads stay for long in code of the wrong kind, one more of the loops around is known to be long, and the body is made anew.
//! Invariant: a body that is made anew has the exits that it had, and at each of them the same is handed over.

use super::analysis::loops::{LoopId, Loops};
use crate::ir::dominators::Dominators;
use crate::ir::polls::{LoopPoll, loop_polls};
use crate::ir::*;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A loop in the source: a function, and the position of a poll.
pub type LoopAt = (FuncId, Loc);

/// Whether one is long, inlined or not.
pub type IsLong<'a> = &'a dyn Fn(LoopAt) -> bool;

/// A body, with exits where it has a use for some.
#[derive(Clone, Debug)]
pub struct WithExits {
    pub body: Arc<Function>,
    /// Of loops that are left.
    pub exits: Vec<Exit>,
    /// Of loops that would be left at them.
    pub watched: Vec<Exit>,
}

/// For a body of the function `own`. `reserve`: gives the first of so many exits that no code has yet; it is not asked where the body has some already. `None`: it has none to give, or no running code need be left.
pub fn with_exits(own: FuncId, func: &Function, is_long: IsLong<'_>, reserve: &mut dyn FnMut(usize) -> Option<Exit>) -> Option<WithExits> {
    let nests = Nests::new(func)?;
    let left = nests.left(own, is_long);
    let old: Option<Vec<Exit>> = nests.polls.iter().map(|(_, poll)| exit_of(&func.insts[poll.inst].op)).collect();
    let exits = match old {
        Some(old) => old,
        None => (reserve(nests.polls.len())?.as_u32()..).map(Exit::from_u32).take(nests.polls.len()).collect(),
    };
    let mut body = func.clone();
    let (mut open, mut watched) = (Vec::new(), Vec::new());
    for (exit, (id, poll)) in exits.into_iter().zip(nests.polls) {
        if let Op::ExitPoll { live, .. } = &func.insts[poll.inst].op {
            assert_eq!(live.as_slice(), poll.live, "what is handed over");
        }
        let op = if left.contains(&id) { Op::ExitPoll { exit, live: poll.live.into() } } else { Op::WatchedPoll { exit } };
        if left.contains(&id) { &mut open } else { &mut watched }.push(exit);
        body.insts[poll.inst].op = op;
    }
    Some(WithExits { body: Arc::new(body), exits: open, watched })
}

/// Where threads stay for long at this watched poll of a body: of the loops around it that are not left, itself included, the outermost is long.
pub fn long_loop(own: FuncId, func: &Function, late: Exit) -> Vec<LoopAt> {
    let Some(nests) = Nests::new(func) else { return Vec::new() };
    let op = |poll: &LoopPoll| &func.insts[poll.inst].op;
    let is_watched = |id: LoopId| nests.polls.iter().any(|(of, poll)| *of == id && matches!(op(poll), Op::WatchedPoll { .. }));
    let Some(&(id, _)) = nests.polls.iter().find(|(_, poll)| exit_of(op(poll)) == Some(late)) else { return Vec::new() };
    let long = nests.around(id).filter(|&id| is_watched(id)).last();
    nests.polls.iter().filter(|(of, _)| Some(*of) == long).map(|(_, poll)| loop_at(own, func, poll)).collect()
}

/// The loop whose poll stands in this block of the function.
pub fn loop_at_block(own: FuncId, func: &Function, block: Block) -> Option<LoopAt> {
    let poll = loop_polls(func).into_iter().find(|poll| poll.block == block)?;
    Some(loop_at(own, func, &poll))
}

/// Where the loop of this poll stands.
fn loop_at(own: FuncId, func: &Function, poll: &LoopPoll) -> LoopAt {
    frames_at(&func.inlined, own, func.insts[poll.inst].loc).next().expect("a position has a frame")
}

/// Loops in which calls may be counted.
struct Nests<'a> {
    func: &'a Function,
    loops: Loops,
    /// With the innermost loop around each.
    polls: Vec<(LoopId, LoopPoll)>,
}

impl<'a> Nests<'a> {
    /// `None`: there are none that have a poll.
    fn new(func: &'a Function) -> Option<Nests<'a>> {
        let counts = |block: &Block| func.blocks[*block].insts.iter().any(|&inst| func.insts[inst].op == Op::Probe);
        if !func.layout.iter().any(counts) {
            return None;
        }
        let loops = Loops::new(func, &Dominators::new(func));
        let in_loop = |poll: LoopPoll| loops.around(poll.block).map(|id| (id, poll));
        let mut polls: Vec<(LoopId, LoopPoll)> = loop_polls(func).into_iter().filter_map(in_loop).collect();
        polls.retain(|(id, _)| loops.loops[*id].blocks.iter().any(counts));
        (!polls.is_empty()).then_some(Nests { func, loops, polls })
    }

    /// Of the loop itself and those around it the ones that could be left, from the inside out.
    fn around(&self, id: LoopId) -> impl Iterator<Item = LoopId> {
        let all = std::iter::successors(Some(id), |&id| self.loops.loops[id].parent.expand());
        all.filter(|id| self.polls.iter().any(|(of, _)| of == id))
    }

    fn left(&self, own: FuncId, is_long: IsLong<'_>) -> FxHashSet<LoopId> {
        let is_left = |(id, poll): &&(LoopId, LoopPoll)| self.around(*id).last() == Some(*id) || is_long(loop_at(own, self.func, poll));
        self.polls.iter().filter(is_left).map(|&(id, _)| id).collect()
    }
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
        let of_block = func.blocks[block].insts.iter().filter_map(|&inst| left_at(&func.insts[inst].op));
        exits.extend(of_block.map(|exit| (loops.loops[id].depth, exit)));
    }
    exits.sort_by_key(|&(depth, _)| depth);
    exits.into_iter().map(|(_, exit)| exit).collect()
}

fn left_at(op: &Op) -> Option<Exit> {
    if let Op::ExitPoll { exit, .. } = op { Some(*exit) } else { None }
}

/// The poll's, whether the code is left there or not.
fn exit_of(op: &Op) -> Option<Exit> {
    match op {
        Op::ExitPoll { exit, .. } | Op::WatchedPoll { exit } => Some(*exit),
        _ => None,
    }
}

/// The block that holds the exit, in a body that [`with_exits`] made.
pub fn block_of(func: &Function, exit: Exit) -> Option<Block> {
    let holds = |block: &Block| func.blocks[*block].insts.iter().any(|&inst| left_at(&func.insts[inst].op) == Some(exit));
    func.layout.iter().copied().find(holds)
}
