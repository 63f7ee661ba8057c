//! Scalar promotion: a place that a loop only loads and stores is a value in the loop, and stored where the loop is left (K. Cooper, J. Lu, "Register Promotion in C Programs", PLDI 1997).
//!
//! In: a function whose loops have preheaders. Out: the same in which such loops load the place before and store it at each exit.
//! Only for loops in which nothing throws, calls or synchronizes: nobody but other threads can look meanwhile, and they need not see what this one stored before it synchronizes.
//! No store is made up: on every way out the loop itself has stored. No load either goes to a place that was not checked.

use super::super::Context;
use super::super::analysis::defs::Defs;
use super::super::analysis::effects::is_pure;
use super::super::analysis::loops::{Loop, Loops, Predecessors, predecessors};
use super::super::analysis::memory::{Access, Memory, Place};
use super::super::analysis::shape::{Shape, Shapes};
use super::super::analysis::summaries::Space;
use super::is_index_of;
use crate::ir::rewrite::Aliases;
use crate::ir::variables::Variables;
use crate::ir::*;
use rustc_hash::FxHashSet;

/// Loops that are looked through for one.
const ROUNDS: usize = 32;

/// Accesses of a loop; in a loop with more, nothing is promoted.
const ACCESSES: usize = 64;

pub fn run(func: &mut Function, cx: &Context<'_>) -> bool {
    for round in 0..ROUNDS {
        let Some(found) = find(func, cx) else { return round > 0 };
        promote(func, cx, &found);
    }
    true
}

struct Promotion {
    place: Place,
    /// A store of the loop whose operands are defined outside.
    store: Op,
    preheader: Block,
    blocks: Vec<Block>,
    exits: Vec<(Block, Block)>,
}

fn find(func: &Function, cx: &Context<'_>) -> Option<Promotion> {
    let memory = Memory::new(func, cx.module, cx.summaries);
    let loops = Loops::new(func, &memory.dominators);
    let (defs, preds) = (Defs::new(func), predecessors(func));
    loops.loops.values().find_map(|l| {
        let set = l.blocks.iter().copied().collect();
        Candidate { cx, func, memory: &memory, defs: &defs, preds: &preds, inside: l, set }.find()
    })
}

struct Candidate<'a> {
    cx: &'a Context<'a>,
    func: &'a Function,
    memory: &'a Memory<'a>,
    defs: &'a Defs,
    preds: &'a Predecessors,
    inside: &'a Loop,
    set: FxHashSet<Block>,
}

impl Candidate<'_> {
    fn find(&self) -> Option<Promotion> {
        let accesses = self.accesses()?;
        let preheader = self.preheader()?;
        let fits = |&(block, _, place, access): &(Block, &Op, Place, Access)| {
            access != Access::Load
                && self.is_stored_on_all_ways(block)
                && accesses.iter().all(|a| a.2 == place || !self.memory.may_alias(&a.2, &place))
        };
        let (_, store, place, _) = accesses.iter().filter(|a| fits(a)).find(|a| self.can_be_outside(a.0, a.1))?;
        let exits = self.inside.exits.clone();
        Some(Promotion { place: *place, store: (*store).clone(), preheader, blocks: self.inside.blocks.clone(), exits })
    }

    /// `None` if anything in the loop may throw, call or synchronize.
    fn accesses(&self) -> Option<Vec<(Block, &Op, Place, Access)>> {
        let mut accesses = Vec::new();
        for &block in &self.inside.blocks {
            let data = &self.func.blocks[block];
            if matches!(data.terminator, Some(Terminator::Try { .. })) {
                return None;
            }
            for op in data.insts.iter().map(|&i| &self.func.insts[i].op) {
                match self.memory.access(op) {
                    _ if op.may_throw() => return None,
                    Some((place, access)) => accesses.push((block, op, place, access)),
                    None if is_pure(op) || matches!(op, Op::ArrayLen(..) | Op::HasClass(..) | Op::Poll | Op::Probe) => {}
                    None => return None,
                }
            }
            if accesses.len() > ACCESSES {
                return None;
            }
        }
        Some(accesses)
    }

    fn preheader(&self) -> Option<Block> {
        let mut outside = self.preds[self.inside.header].iter().copied().filter(|b| !self.set.contains(b));
        let only = outside.next().filter(|_| outside.next().is_none())?;
        matches!(self.func.blocks[only].terminator, Some(Terminator::Jump(_))).then_some(only)
    }

    /// Whoever leaves the loop has come by the block.
    fn is_stored_on_all_ways(&self, block: Block) -> bool {
        !self.inside.exits.is_empty() && self.inside.exits.iter().all(|e| self.memory.dominators.dominates(block, e.0))
    }

    /// The place can be named, and may be accessed, before and after the loop. What a byte holds is not what was stored.
    fn can_be_outside(&self, block: Block, store: &Op) -> bool {
        let outside = |v: Value| self.defs.block(v).is_some_and(|b| !self.set.contains(&b));
        let has_shape = || {
            let shapes = Shapes { module: self.cx.module, func: self.func, defs: self.defs, preds: self.preds, types: None };
            Shape::of_access(store).is_some_and(|(object, shape)| shapes.has(object, shape))
        };
        // Nothing in the loop throws or calls: every entry of it comes by the header's accesses.
        let is_certain = block == self.inside.header;
        match *store {
            Op::StoreField { object, .. } => outside(object) && (is_certain || has_shape()),
            Op::StoreElem(ElemKind::Byte, ..) => false,
            Op::StoreElem(_, array, index, ..) => {
                let is_checked = || is_index_of(self.func, self.defs, self.memory, array, index) && has_shape();
                outside(array) && outside(index) && (is_certain || is_checked())
            }
            Op::StoreGlobal(..) => true,
            _ => false,
        }
    }
}

fn promote(func: &mut Function, cx: &Context<'_>, found: &Promotion) {
    let memory = Memory::new(func, cx.module, cx.summaries);
    let exits = split_exits(func, found);
    let before = load_before(func, cx.module, found);
    let mut variables = Variables::new(func);
    let held = variables.declare(func.values[before]);
    variables.define(found.preheader, held, before);
    let mut aliases = Aliases::default();
    let mut from_start: Vec<(Block, Value)> = Vec::new();
    for &block in &found.blocks {
        let mut now = None;
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let stays = |&inst: &Inst| {
            let InstData { op, result, .. } = &func.insts[inst];
            match memory.access(op).filter(|a| a.0 == found.place) {
                None => return true,
                Some((_, Access::Store(value))) => now = Some(value),
                Some((_, Access::Load)) => {
                    let result = result.expect("a load has a result");
                    match now {
                        Some(value) => aliases.replace(result, value),
                        None => from_start.push((block, result)),
                    }
                }
            }
            false
        };
        func.blocks[block].insts = insts.into_iter().filter(stays).collect();
        now.into_iter().for_each(|value| variables.define(block, held, value));
    }
    for (block, result) in from_start {
        let value = variables.at_start(func, block, held);
        aliases.replace(result, value);
    }
    for block in exits {
        let value = variables.at_start(func, block, held);
        let op = store_of(&found.store, value);
        let inst = func.insts.push(InstData { op, result: None, loc: Loc::default() });
        func.blocks[block].insts.push(inst);
    }
    let aliases = variables.finish(func, aliases);
    func.rewrite(&aliases);
}

/// A block on each edge that leaves the loop.
fn split_exits(func: &mut Function, found: &Promotion) -> Vec<Block> {
    let mut new = Vec::new();
    let mut from: Vec<Block> = found.exits.iter().map(|e| e.0).collect();
    from.dedup();
    for block in from {
        let mut terminator = func.blocks[block].terminator.take().expect("a finished block");
        terminator.for_each_edge_mut(|edge| {
            if found.exits.contains(&(block, edge.block)) {
                let onward = std::mem::replace(edge, BlockCall { block: edge.block, args: Args::new() });
                edge.block = func.blocks.push(BlockData { terminator: Some(Terminator::Jump(onward)), ..BlockData::default() });
                func.layout.push(edge.block);
                new.push(edge.block);
            }
        });
        func.blocks[block].terminator = Some(terminator);
    }
    new
}

fn load_before(func: &mut Function, module: &Module, found: &Promotion) -> Value {
    let load = match found.store {
        Op::StoreField { field, object, .. } => Op::LoadField(field, object, Null::Never),
        Op::StoreElem(kind, array, index, ..) => Op::LoadElem(kind, array, index),
        Op::StoreGlobal(global, _) => Op::LoadGlobal(global),
        ref op => unreachable!("{op:?} is no store"),
    };
    let ty = match found.place.space {
        Space::Field(field) => module.fields[field].ty.ty(),
        Space::Elems(kind) => kind.ty(),
        Space::Global(global) => module.globals[global].ty.ty(),
    };
    let (inst, value) = func.add_inst(load, ty, Loc::default());
    func.blocks[found.preheader].insts.push(inst);
    value
}

fn store_of(store: &Op, new: Value) -> Op {
    let mut store = store.clone();
    match &mut store {
        Op::StoreField { value, barrier, .. } | Op::StoreElem(_, _, _, value, barrier) => (*value, *barrier) = (new, Barrier::Needed),
        Op::StoreGlobal(_, value) => *value = new,
        op => unreachable!("{op:?} is no store"),
    }
    store
}
