//! The polls at which running code may be left for another version of it, and what lives there.
//!
//! In: a function. Out: [`LoopPoll`]s. Whoever leaves the code at a poll and whoever goes on there both ask here, so they agree on the values and their order.
//! A block that holds a poll names it. A loop of the front end has one, at its back-edge; of several in one block the first counts.

use super::entities::*;
use super::inst::Op;
use super::module::{Function, InstData};
use super::rewrite::reachable_blocks;
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};
use smallvec::SmallVec;

/// Values that are handed over at most; loops with more are not left. (None that a person has written has so many.)
pub const MAX_LIVE: usize = 128;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopPoll {
    pub block: Block,
    pub inst: Inst,
    /// Needed behind the poll and not constant, in order.
    pub live: Vec<Value>,
    /// Needed there and constant, in order.
    pub constants: Vec<Value>,
}

/// Every poll with at most [`MAX_LIVE`] values, in layout order.
pub fn loop_polls(func: &Function) -> Vec<LoopPoll> {
    let reachable = reachable_blocks(func);
    let blocks: Vec<Block> = func.layout.iter().copied().filter(|&b| reachable.contains(b)).collect();
    let mut polls: Vec<LoopPoll> = blocks.iter().filter_map(|&block| first_poll(func, block)).collect();
    if !polls.is_empty() {
        Liveness::new(func, &blocks, &polls).solve(&mut polls);
    }
    polls.retain(|poll| poll.live.len() <= MAX_LIVE);
    polls
}

/// The number of the loop whose poll is in this block, among the function's.
pub fn loop_number(func: &Function, block: Block) -> u32 {
    let before = func.layout.iter().take_while(|&&b| b != block);
    before.filter(|&&b| first_poll(func, b).is_some()).count() as u32
}

fn first_poll(func: &Function, block: Block) -> Option<LoopPoll> {
    let inst = func.blocks[block].insts.iter().copied().find(|&i| is_poll(&func.insts[i].op))?;
    Some(LoopPoll { block, inst, live: Vec::new(), constants: Vec::new() })
}

fn is_poll(op: &Op) -> bool {
    matches!(op, Op::Poll | Op::ExitPoll { .. } | Op::WatchedPoll { .. })
}

/// A block, and on which side of its poll; without a poll everything lies before it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    block: Block,
    is_behind: bool,
}

struct Liveness {
    preds: SecondaryMap<Block, SmallVec<[Block; 4]>>,
    /// Index of the block's poll.
    poll_of: SecondaryMap<Block, Option<usize>>,
    definitions: SecondaryMap<Value, Option<Place>>,
    constants: EntitySet<Value>,
    /// Uses that the definition does not stand right before.
    uses: SecondaryMap<Value, SmallVec<[Place; 2]>>,
}

impl Liveness {
    fn new(func: &Function, blocks: &[Block], polls: &[LoopPoll]) -> Liveness {
        let mut live = Liveness {
            preds: SecondaryMap::with_capacity(func.blocks.len()),
            poll_of: SecondaryMap::with_capacity(func.blocks.len()),
            definitions: SecondaryMap::with_capacity(func.values.len()),
            constants: EntitySet::with_capacity(func.values.len()),
            uses: SecondaryMap::with_capacity(func.values.len()),
        };
        polls.iter().enumerate().for_each(|(index, poll)| live.poll_of[poll.block] = Some(index));
        blocks.iter().for_each(|&block| live.define(func, block, polls));
        blocks.iter().for_each(|&block| live.note_uses(func, block, polls));
        live
    }

    fn define(&mut self, func: &Function, block: Block, polls: &[LoopPoll]) {
        let data = &func.blocks[block];
        let mut place = Place { block, is_behind: false };
        data.params.iter().for_each(|&param| self.definitions[param] = Some(place));
        for &inst in &data.insts {
            place.is_behind |= self.poll_of[block].is_some_and(|index| polls[index].inst == inst);
            let InstData { op, result, .. } = &func.insts[inst];
            let Some(result) = *result else { continue };
            self.definitions[result] = Some(place);
            if op.is_constant() {
                self.constants.insert(result);
            }
        }
        let terminator = data.terminator.as_ref().expect("a finished block");
        terminator.for_each_edge(|edge| self.preds[edge.block].push(block));
    }

    fn note_uses(&mut self, func: &Function, block: Block, polls: &[LoopPoll]) {
        let data = &func.blocks[block];
        let mut place = Place { block, is_behind: false };
        for &inst in &data.insts {
            place.is_behind |= self.poll_of[block].is_some_and(|index| polls[index].inst == inst);
            func.insts[inst].op.for_each_arg(|v| self.note_use(v, place));
        }
        let terminator = data.terminator.as_ref().expect("a finished block");
        terminator.for_each_operand(|v| self.note_use(v, place));
        terminator.for_each_edge(|edge| edge.args.iter().for_each(|&v| self.note_use(v, place)));
    }

    fn note_use(&mut self, value: Value, place: Place) {
        let is_new = self.definitions[value].is_some_and(|definition| definition != place);
        if is_new && self.uses[value].last() != Some(&place) {
            self.uses[value].push(place);
        }
    }

    /// Goes from the uses of each value up to its definition.
    fn solve(self, polls: &mut [LoopPoll]) {
        // The value for which a block was seen last.
        let mut seen: SecondaryMap<Block, PackedOption<Value>> = SecondaryMap::new();
        let mut work: Vec<Block> = Vec::new();
        for value in self.uses.keys() {
            let Some(definition) = self.definitions[value] else { continue };
            // The value is needed at the end of this part of a block.
            let mut needed = |Place { block, is_behind }: Place, work: &mut Vec<Block>| {
                if definition == (Place { block, is_behind }) {
                    return;
                }
                if let Some(index) = self.poll_of[block].filter(|_| is_behind) {
                    let LoopPoll { live, constants, .. } = &mut polls[index];
                    let list = if self.constants.contains(value) { constants } else { live };
                    if list.last() != Some(&value) {
                        list.push(value);
                    }
                }
                if definition.block != block && seen[block].expand() != Some(value) {
                    seen[block] = value.into();
                    work.push(block);
                }
            };
            self.uses[value].iter().for_each(|&place| needed(place, &mut work));
            while let Some(block) = work.pop() {
                for &pred in &self.preds[block] {
                    needed(Place { block: pred, is_behind: self.poll_of[pred].is_some() }, &mut work);
                }
            }
        }
    }
}
