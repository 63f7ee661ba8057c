//! The rest of a call from a loop on, as a function of its own: what running code goes over into by on-stack replacement.
//!
//! In: a function, and one of its blocks that hold a poll ([`crate::ir::polls`]). Out: a function whose parameters are what lives behind the poll, in that order, and which does what is left to do ([`Start::Loop`]). Constants are made anew.
//!
//! The code behind the poll stands in the middle of a loop, and perhaps of loops around that one. To jump there from outside would spoil their shape: no block would be entered first any more, and the innermost loop would be one with
//! those around it. So each loop, the innermost first, gets a copy of what can be reached of it before its header is passed again (the rest of the round, with loops inside entire), and is then entered at its header as ever.
//! (Loop peeling, at the cost of one copy of the inner loops for each one around; beyond [`LIMIT`] the outer loops are entered in their middle, which is only slower.)
//!
//! Of code that has exits ([`super::exits`]), which is left and entered many times, the way ends at the next exit of a loop around, where it goes over into the code for that one. So no loop shares its registers with copies of those
//! around it. (With copies of all loops in one function values that live throughout were in memory, in the innermost loops, too: so in `matrix_multiply`.)
//!
//! Invariants: operations and their positions are those of the function; the order in which they are executed is the same.

use super::analysis::declared::Declared;
use super::analysis::loops::{LoopId, Loops};
use super::exits::block_of;
use crate::ir::copy::{copy_region, defined_in};
use crate::ir::dominators::Dominators;
use crate::ir::polls::{LoopPoll, loop_polls};
use crate::ir::repair::Repair;
use crate::ir::rewrite::{Aliases, reachable_blocks};
use crate::ir::straighten::straighten;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};

/// Instructions that are copied.
const LIMIT: usize = 4000;

/// `None` where running code is not left: the block holds no poll, or too much lives behind it.
pub fn enter_at(module: &Module, func: &Function, block: Block) -> Option<Function> {
    enter(module, func, block, &|_| false)
}

/// What goes on for an exit of the function, where there is code already that does so for some of its others.
pub fn enter_at_exit(module: &Module, func: &Function, exit: Exit, has_code: &dyn Fn(Exit) -> bool) -> Option<Function> {
    enter(module, func, block_of(func, exit)?, has_code)
}

/// Goes over at these exits of loops around that of the block.
fn enter(module: &Module, func: &Function, block: Block, goes_over: &dyn Fn(Exit) -> bool) -> Option<Function> {
    let poll = loop_polls(func).into_iter().find(|poll| poll.block == block)?;
    let declared = Declared::new(module, func);
    let params = poll.live.iter().map(|&value| declared.of(value)).collect();
    let mut rest = Rest { func: func.clone(), repair: Repair::default(), new: Vec::new() };
    let target = rest.split(&poll);
    let loops = Loops::new(&rest.func, &Dominators::new(&rest.func));
    rest.begin_at(target, &poll);
    rest.peel(&loops, target, goes_over);
    let Rest { mut func, repair, .. } = rest;
    (func.params, func.start) = (params, Start::Loop);
    repair.run(&mut func);
    let mut aliases = Aliases::default();
    straighten(&mut func, &mut |param, arg| aliases.replace(param, arg));
    func.rewrite(&aliases);
    Some(func)
}

/// The calls in loops that running code may leave, each with the block of the poll of the innermost such loop around it.
pub fn loops_around_calls(func: &Function) -> Vec<(CallSiteId, Block)> {
    let polls = loop_polls(func);
    if polls.is_empty() {
        return Vec::new();
    }
    let loops = Loops::new(func, &Dominators::new(func));
    let mut poll_of: SecondaryMap<LoopId, PackedOption<Block>> = SecondaryMap::new();
    polls.iter().rev().filter_map(|poll| Some((loops.around(poll.block)?, poll.block))).for_each(|(id, block)| poll_of[id] = block.into());
    let poll_around = |block: Block| {
        let mut around = std::iter::successors(loops.around(block), |&id| loops.loops[id].parent.expand());
        around.find_map(|id| poll_of[id].expand())
    };
    let mut calls = Vec::new();
    for &block in &func.layout {
        let mut add = |op: &Op| {
            if let Op::Call { site, .. } | Op::CallVirtual { site, .. } = *op
                && let Some(poll) = poll_around(block)
            {
                calls.push((site, poll));
            }
        };
        let data = &func.blocks[block];
        data.insts.iter().for_each(|&inst| add(&func.insts[inst].op));
        if let Some(Terminator::Try { op, .. }) = &data.terminator {
            add(op);
        }
    }
    calls
}

struct Rest {
    func: Function,
    repair: Repair,
    /// The new entry, and the copies that it leads to.
    new: Vec<Block>,
}

impl Rest {
    /// Gives what stands behind the poll a block of its own.
    fn split(&mut self, poll: &LoopPoll) -> Block {
        let Function { layout, blocks, .. } = &mut self.func;
        let data = &mut blocks[poll.block];
        let place = data.insts.iter().position(|&i| i == poll.inst).expect("the block's poll");
        let insts = data.insts.split_off(place + 1);
        let (terminator, terminator_loc) = (data.terminator.take(), data.terminator_loc);
        let behind = blocks.push(BlockData { params: Vec::new(), insts, terminator, terminator_loc });
        blocks[poll.block].terminator = Some(jump(behind));
        layout.push(behind);
        behind
    }

    /// Puts an entry before everything, with the parameters, and the constants that are needed.
    fn begin_at(&mut self, target: Block, poll: &LoopPoll) {
        let func = &mut self.func;
        let block = func.blocks.push(BlockData { terminator: Some(jump(target)), ..BlockData::default() });
        for (home, value) in homes(func, &poll.live) {
            let param = func.values.push(func.values[value]);
            func.blocks[block].params.push(param);
            self.repair.also((home, value), (block, param));
        }
        for (home, value) in homes(func, &poll.constants) {
            let insts = &mut func.blocks[home].insts;
            let place = insts.iter().position(|&i| func.insts[i].result == Some(value)).expect("constants are instructions");
            let inst = insts.remove(place);
            func.blocks[block].insts.push(inst);
        }
        func.layout.insert(0, block);
        self.new.push(block);
    }

    /// Makes the loops around the target be entered at their headers. They are those that the function had without the new entry.
    fn peel(&mut self, loops: &Loops, target: Block, goes_over: &dyn Fn(Exit) -> bool) {
        let mut copied = 0;
        let innermost = loops.around(target);
        for id in std::iter::successors(innermost, |&id| loops.loops[id].parent.expand()) {
            let region = self.entered_inside(loops, id);
            copied += region.iter().map(|&b| self.func.blocks[b].insts.len() + 1).sum::<usize>();
            if copied > LIMIT {
                return;
            }
            let copy = copy_region(&mut self.func, &region);
            for &block in &self.new {
                let terminator = self.func.blocks[block].terminator.as_mut().expect("a finished block");
                terminator.for_each_edge_mut(|edge| edge.block = copy.block(edge.block));
            }
            self.new.extend(copy.blocks.iter().map(|&(_, new)| new));
            self.repair.copied(&self.func, &copy);
            if innermost != Some(id) {
                let own = copy.blocks.iter().filter(|&&(block, _)| loops.around(block) == Some(id));
                own.for_each(|&(_, new)| self.leave(new, goes_over));
                let reachable = reachable_blocks(&self.func);
                self.new.retain(|&block| reachable.contains(block));
            }
        }
    }

    /// Ends the block at such an exit in it, behind the poll.
    fn leave(&mut self, block: Block, goes_over: &dyn Fn(Exit) -> bool) {
        let Function { blocks, insts, .. } = &mut self.func;
        let data = &mut blocks[block];
        let place = data.insts.iter().position(|&inst| matches!(insts[inst].op, Op::ExitPoll { exit, .. } if goes_over(exit)));
        let Some(place) = place else { return };
        let InstData { op: Op::ExitPoll { exit, live }, loc, .. } = insts[data.insts[place]].clone() else { return };
        insts[data.insts[place]].op = Op::Poll;
        data.insts.truncate(place + 1);
        (data.terminator, data.terminator_loc) = (Some(Terminator::Leave { exit, live }), loc);
    }

    /// Blocks of the loop that new blocks lead to without passing its header.
    fn entered_inside(&self, loops: &Loops, id: LoopId) -> Vec<Block> {
        let mut seen = EntitySet::with_capacity(self.func.blocks.len());
        seen.insert(loops.loops[id].header);
        let (mut region, mut work) = (Vec::new(), self.new.clone());
        while let Some(block) = work.pop() {
            self.func.blocks[block].terminator.as_ref().expect("a finished block").for_each_edge(|edge| {
                if loops.contains(id, edge.block) && seen.insert(edge.block) {
                    region.push(edge.block);
                    work.push(edge.block);
                }
            });
        }
        region
    }
}

fn jump(to: Block) -> Terminator {
    Terminator::Jump(BlockCall { block: to, args: Args::new() })
}

/// Each of the values with the block that defines it.
fn homes(func: &Function, values: &[Value]) -> Vec<(Block, Value)> {
    let mut home: SecondaryMap<Value, PackedOption<Block>> = SecondaryMap::with_capacity(func.values.len());
    for &block in &func.layout {
        defined_in(func, block).into_iter().for_each(|value| home[value] = block.into());
    }
    values.iter().map(|&value| (home[value].expect("a live value is defined"), value)).collect()
}
