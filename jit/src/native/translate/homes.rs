//! Values that live through a loop without being used in it, and stay in memory there: each has a slot of the frame, its home.
//!
//! In: a function whose loops are left by edges of their own ([`crate::opt::loop_edges`]), its references' liveness. Out: [`Homes`]: which values are at home where a block starts.
//!
//! A reference that lives across a safepoint is stored, and loaded again, where the collector may run. In a loop that makes calls that is so in each round. In one that only has safepoints in cold blocks it costs nothing by itself; but the
//! register allocator takes what is done there for as frequent as the loop's other blocks (regalloc2 0.15, `approx_loop_depth`), so such references keep registers from what the loop does use. The same is true of what is handed over at
//! exits. So where there is a call, or more lives than there are registers, these values are stored before the loop, and found in their slots by whoever needs them in the cold blocks; references are loaded again where the loop was left.
//! Of nested loops the outermost one for which that is so counts, and the store stands before the outermost one in which the value is not made: a slot that the collector knows stays valid, and all safepoints in between find the reference
//! stored.
//!
//! Invariants: a value has one home, so from loop to loop it can stay there. A reference that is at home is nowhere else. A home is valid in all of the blocks that [`Homes::has`] says; nothing leads into these from a `Try`, behind
//! whose operation nothing can be stored.

use super::{Translator, clif_type};
use crate::ir::dominators::Dominators;
use crate::ir::liveness::Liveness;
use crate::ir::{Block, Function, InstData, Op, Terminator, Ty, Value};
use crate::opt::analysis::loops::{LoopId, Loops, Predecessors, predecessors};
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::{InstBuilder, types};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashSet;

#[derive(Default)]
pub struct Homes {
    /// By block, in order.
    at: SecondaryMap<Block, Vec<Value>>,
    /// By block, in order: what else is in its home, and may be elsewhere, too.
    kept: SecondaryMap<Block, Vec<Value>>,
    /// The number of the home.
    number: SecondaryMap<Value, Option<u32>>,
    count: u32,
}

impl Homes {
    /// `registers`: so many may a loop's values take before others have to stay at home.
    pub fn new(facts: &Facts<'_>, registers: u32) -> Homes {
        let mut homes = Homes::default();
        // From the outside in.
        for id in facts.loops.loops.keys().rev() {
            let stay = facts.stay(id, &homes, registers);
            if !stay.is_empty() {
                homes.add(facts, id, &stay);
            }
        }
        homes.at.values_mut().for_each(|values| values.sort_unstable());
        for (block, kept) in homes.kept.iter_mut() {
            kept.retain(|value| homes.at[block].binary_search(value).is_err());
            kept.sort_unstable();
        }
        homes
    }

    fn add(&mut self, facts: &Facts<'_>, id: LoopId, stay: &[Value]) {
        let of = &facts.loops.loops[id];
        for &value in stay {
            if self.number[value].is_none() {
                self.number[value] = Some(self.count);
                self.count += 1;
            }
            let kept_in = &facts.loops.loops[facts.outermost(id, value)];
            if !self.kept[kept_in.header].contains(&value) {
                kept_in.blocks.iter().for_each(|&block| self.kept[block].push(value));
            }
        }
        of.blocks.iter().for_each(|&block| self.at[block].extend(stay));
        let mut left: Vec<Block> = of.exits.iter().map(|&(_, to)| to).collect();
        left.sort_unstable();
        left.dedup();
        for to in left {
            if facts.preds[to].iter().all(|&pred| facts.loops.contains(id, pred)) {
                let lives = stay.iter().filter(|&&value| facts.source.values[value] == Ty::Ref && facts.live.is_live_in(to, value));
                self.at[to].extend(lives);
            }
        }
    }

    /// Whether the value is at home where the block starts.
    pub fn is_at_home(&self, block: Block, value: Value) -> bool {
        self.at[block].binary_search(&value).is_ok()
    }

    /// Whether the value is in its home where the block starts, and perhaps elsewhere, too.
    pub fn has(&self, block: Block, value: Value) -> bool {
        self.kept[block].binary_search(&value).is_ok() || self.is_at_home(block, value)
    }

    /// The number of the home that the value has, if it has one.
    pub fn of(&self, value: Value) -> Option<usize> {
        self.number[value].map(|number| number as usize)
    }

    pub fn count(&self) -> usize {
        self.count as usize
    }
}

/// What is to be known of loops.
pub struct Facts<'a> {
    source: &'a Function,
    live: &'a Liveness,
    loops: &'a Loops,
    dominators: &'a Dominators,
    preds: Predecessors,
    /// Each value's block; `None` for constants.
    defined: SecondaryMap<Value, PackedOption<Block>>,
    /// Used in the loop, other than by what is handed over at exits.
    used: FxHashSet<(LoopId, Value)>,
    /// Values that are no references and are handed over at exits of the loop.
    handed_over: SecondaryMap<LoopId, Vec<Value>>,
    has_safepoint: SecondaryMap<LoopId, bool>,
    /// In each round.
    has_call: SecondaryMap<LoopId, bool>,
    /// Values in general registers, if all were, where most are at the start of a block of the loop.
    pressure: SecondaryMap<LoopId, u32>,
}

impl<'a> Facts<'a> {
    pub fn new(source: &'a Function, order: &[Block], live: &'a Liveness, dominators: &'a Dominators, loops: &'a Loops) -> Facts<'a> {
        let mut facts = Facts {
            source,
            live,
            loops,
            dominators,
            preds: predecessors(source),
            defined: SecondaryMap::with_capacity(source.values.len()),
            used: FxHashSet::default(),
            handed_over: SecondaryMap::new(),
            has_safepoint: SecondaryMap::new(),
            has_call: SecondaryMap::new(),
            pressure: SecondaryMap::new(),
        };
        order.iter().for_each(|&block| facts.define(block));
        let mut uses: SecondaryMap<Value, Vec<Block>> = SecondaryMap::with_capacity(source.values.len());
        order.iter().for_each(|&block| facts.look_at(block, &mut uses));
        facts.find_pressure(order, uses);
        facts
    }

    fn define(&mut self, block: Block) {
        let data = &self.source.blocks[block];
        data.params.iter().for_each(|&param| self.defined[param] = block.into());
        for InstData { op, result, .. } in data.insts.iter().map(|&inst| &self.source.insts[inst]) {
            if let Some(result) = result.filter(|_| !op.is_constant()) {
                self.defined[result] = block.into();
            }
        }
    }

    /// Loops around the block, the innermost first.
    fn around(&self, block: Block) -> impl Iterator<Item = LoopId> + use<'a> {
        let loops = self.loops;
        std::iter::successors(loops.around(block), |&id| loops.loops[id].parent.expand())
    }

    fn look_at(&mut self, block: Block, uses: &mut SecondaryMap<Value, Vec<Block>>) {
        let around: Vec<LoopId> = self.around(block).collect();
        let (source, live) = (self.source, self.live);
        let data = &source.blocks[block];
        let mut note = |used: &mut FxHashSet<(LoopId, Value)>, value: Value, is_use: bool| {
            let value = live.root(value);
            if is_use {
                around.iter().for_each(|&id| _ = used.insert((id, value)));
            }
            if uses[value].last() != Some(&block) {
                uses[value].push(block);
            }
        };
        for inst in data.insts.iter().map(|&inst| &source.insts[inst]) {
            let is_exit = matches!(inst.op, Op::ExitPoll { .. });
            inst.op.for_each_arg(|value| {
                note(&mut self.used, value, !is_exit);
                if is_exit && source.values[value] != Ty::Ref {
                    around.iter().for_each(|&id| self.handed_over[id].push(value));
                }
            });
        }
        let terminator = data.terminator.as_ref().expect("a finished block");
        terminator.for_each_operand(|value| note(&mut self.used, value, true));
        terminator.for_each_edge(|edge| edge.args.iter().for_each(|&value| note(&mut self.used, value, true)));
        let ops = data.insts.iter().map(|&inst| &source.insts[inst].op);
        let tried = if let Terminator::Try { op, .. } = terminator { Some(op) } else { None };
        for op in ops.chain(tried).filter(|op| op.is_safepoint()) {
            let is_call = matches!(op, Op::Call { .. } | Op::CallVirtual { .. } | Op::CallBuiltin { .. });
            for &id in &around {
                self.has_safepoint[id] = true;
                self.has_call[id] |= is_call && self.loops.loops[id].latches.iter().all(|&latch| self.dominators.dominates(block, latch));
            }
        }
    }

    /// Goes from the uses of each value up to its definition.
    fn find_pressure(&mut self, order: &[Block], uses: SecondaryMap<Value, Vec<Block>>) {
        let mut live_in: SecondaryMap<Block, u32> = SecondaryMap::with_capacity(self.source.blocks.len());
        let mut seen: SecondaryMap<Block, PackedOption<Value>> = SecondaryMap::with_capacity(self.source.blocks.len());
        for (value, blocks) in uses.iter() {
            let Some(defined) = self.defined[value].expand().filter(|_| self.is_general(value)) else { continue };
            let mut work = blocks.clone();
            while let Some(block) = work.pop() {
                if block != defined && seen[block].expand() != Some(value) {
                    seen[block] = value.into();
                    live_in[block] += 1;
                    work.extend(&self.preds[block]);
                }
            }
        }
        for &block in order {
            let params = self.source.blocks[block].params.iter().filter(|&&param| self.is_general(param)).count();
            let pressure = live_in[block] + params as u32;
            for id in self.around(block) {
                self.pressure[id] = self.pressure[id].max(pressure);
            }
        }
    }

    fn is_general(&self, value: Value) -> bool {
        matches!(self.source.values[value], Ty::Int | Ty::Ref)
    }

    /// What is to stay at home in the loop, besides what does so around it.
    fn stay(&self, id: LoopId, homes: &Homes, registers: u32) -> Vec<Value> {
        let header = self.loops.loops[id].header;
        let excess = if self.has_call[id] { usize::MAX } else { self.pressure[id].saturating_sub(registers) as usize };
        if !self.has_safepoint[id] || excess == 0 || self.is_entered_from_try(id) {
            return Vec::new();
        }
        let stays = |value: Value| !homes.at[header].contains(&value) && !self.used.contains(&(id, value));
        let references = self.live.live_in(header).filter(|&value| self.live.is_crossing(value) && stays(value));
        let is_outside = |value: Value| self.defined[value].expand().is_some_and(|block| !self.loops.contains(id, block));
        let mut seen = EntitySet::new();
        let others = self.handed_over[id].iter().copied().filter(|&value| is_outside(value) && stays(value));
        let mut stay: Vec<Value> = others.filter(|&value| seen.insert(value)).collect();
        stay.extend(references);
        stay.truncate(excess);
        stay
    }

    /// Of the loops around this one in which nothing makes the value, the outermost.
    fn outermost(&self, id: LoopId, value: Value) -> LoopId {
        let block = self.defined[value].expand().expect("what lives through a loop is defined before it");
        let is_outside = |&id: &LoopId| !self.loops.contains(id, block) && !self.is_entered_from_try(id);
        std::iter::successors(Some(id), |&id| self.loops.loops[id].parent.expand()).take_while(is_outside).last().expect("the loop itself")
    }

    /// A `Try` leads into the loop.
    fn is_entered_from_try(&self, id: LoopId) -> bool {
        let mut outside = self.preds[self.loops.loops[id].header].iter().filter(|&&pred| !self.loops.contains(id, pred));
        outside.any(|&pred| matches!(self.source.blocks[pred].terminator, Some(Terminator::Try { .. })))
    }
}

impl Translator<'_, '_> {
    /// At a block's start: what is at home there is nowhere else.
    pub(super) fn start_at_home(&mut self, block: Block) {
        self.refs.start_block();
        for (values, stale) in [(&self.homes.kept[block], false), (&self.homes.at[block], true)] {
            for &value in values.iter().filter(|&&value| self.source.values[value] == Ty::Ref) {
                let home = self.homes.of(value).expect("it is at home");
                self.refs.is_in_slot(value, home, stale);
            }
        }
    }

    /// Before a block's end: stores what is at home where that leads to, and is not yet.
    pub(super) fn go_home(&mut self, terminator: &Terminator) {
        let mut leads_to = Vec::new();
        terminator.for_each_edge(|to| leads_to.push(to.block));
        leads_to.dedup();
        leads_to.into_iter().for_each(|to| self.go_home_for(to));
    }

    fn go_home_for(&mut self, to: Block) {
        for value in [&self.homes.kept[to][..], &self.homes.at[to]].concat() {
            let home = self.homes.of(value).expect("it is at home");
            let is_reference = self.source.values[value] == Ty::Ref;
            let is_there = if is_reference { self.refs.is_in(value, home) } else { self.homes.has(self.current, value) };
            if !is_there {
                let current = self.value(value);
                let slot = self.slot(home);
                self.b.ins().stack_store(types::I64, current, slot, 0);
            }
        }
    }

    /// The value, which is in its home here.
    pub(super) fn load_home(&mut self, value: Value) -> clif::Value {
        let home = self.homes.of(value).expect("it is at home");
        let (slot, ty) = (self.slot(home), clif_type(self.source.values[value]));
        self.b.ins().stack_load(types::I64, ty, slot, 0)
    }
}
