//! Polls at which running code is left for other code made of the same body, which counts calls or does not: exits.
//!
//! In: a body, behind all passes. Out: the same with exits, which hold what lives behind them. Code that goes on for one of them ([`super::osr`]) has copies of those that it comes to, so from it each can be left again for code that goes on there: as
//! many pieces of code as there are exits, in two kinds each, are enough, however often running code goes over.
//!
//! Only loops in which something is counted are left. One inside of such a loop in which nothing is, soon ends, or has nothing to tell of: the next poll of the loop around it is enough, and registers are not taken from it.
//! Of nested ones the outermost alone is left at first: what is handed over is stored before each loop that is left, and most inner loops have few rounds. Of functions whose calls are known to be brief not even that is. Others are
//! left where they are known to be long. Whoever asks says so ([`IsLeft`]). Polls of the rest are watched; where threads stay for long in code of the wrong kind, one more of the loops around is known to be long, and the body is made anew.
//! Invariant: a body that is made anew has the exits that it had, and at each of them the same is handed over.

use super::analysis::loops::{LoopId, Loops};
use crate::ir::dominators::Dominators;
use crate::ir::polls::{LoopPoll, loop_polls};
use crate::ir::*;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A loop in the source: a function, and the position of a poll.
pub type LoopAt = (FuncId, Loc);

/// Whether one is to be left, inlined or not; and whether it is the outermost one.
pub type IsLeft<'a> = &'a dyn Fn(LoopAt, bool) -> bool;

/// A body, with exits where it has a use for some.
#[derive(Clone, Debug)]
pub struct WithExits {
    pub body: Arc<Function>,
    /// Of loops that are left.
    pub exits: Vec<Exit>,
    /// Of loops that would be left at them.
    pub watched: Vec<Exit>,
}

/// For a body of the function `own`. `reserve`: gives the first of so many new exits. `None`: it has none to give, or no running code need be left.
///
/// Of a body that has some already, those of loops that are left are kept; watched polls get other ones: what is told of them is to be of the new body's code.
pub fn with_exits(own: FuncId, func: &Function, is_left: IsLeft<'_>, reserve: &mut dyn FnMut(usize) -> Option<Exit>) -> Option<WithExits> {
    let nests = Nests::new(func)?;
    let left = nests.left(own, is_left);
    let kept = |poll: &LoopPoll| left_at(&func.insts[poll.inst].op);
    let missing = nests.polls.iter().filter(|(_, poll)| kept(poll).is_none()).count();
    let mut new = (reserve(missing)?.as_u32()..).map(Exit::from_u32);
    let mut body = func.clone();
    let (mut exits, mut watched) = (Vec::new(), Vec::new());
    for (id, poll) in nests.polls {
        if let Op::ExitPoll { live, .. } = &func.insts[poll.inst].op {
            assert_eq!(live.as_slice(), poll.live, "what is handed over");
        }
        let exit = kept(&poll).unwrap_or_else(|| new.next().expect("there is no end of them"));
        let op = if left.contains(&id) { Op::ExitPoll { exit, live: poll.live.into() } } else { Op::WatchedPoll { exit } };
        if left.contains(&id) { &mut exits } else { &mut watched }.push(exit);
        body.insts[poll.inst].op = op;
    }
    Some(WithExits { body: Arc::new(body), exits, watched })
}

/// The body as it was before.
pub fn without_exits(func: &Function) -> Function {
    let mut body = func.clone();
    let polls = loop_polls(func).into_iter().map(|poll| poll.inst);
    polls.for_each(|inst| body.insts[inst].op = Op::Poll);
    body
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

    /// What is around a loop that is left is as long.
    fn left(&self, own: FuncId, is_left: IsLeft<'_>) -> FxHashSet<LoopId> {
        let was_left = |poll: &LoopPoll| left_at(&self.func.insts[poll.inst].op).is_some();
        let is_outermost = |id: LoopId| self.around(id).last() == Some(id);
        let left = self.polls.iter().filter(|(id, poll)| was_left(poll) || is_left(loop_at(own, self.func, poll), is_outermost(*id)));
        left.flat_map(|&(id, _)| self.around(id)).collect()
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
