//! Loop-invariant code moves before the loop, out of inner loops first; then places that a loop only loads and stores become values in it ([`promote`]).
//!
//! In: a function. Out: the same with operations of which all operands are defined outside of a loop in a block before it ([`preheaders`]), as far out as they can go (A. Aho et al., "Compilers: Principles, Techniques, and
//! Tools", 2nd ed., section 9.1.7). Constants move only with what uses them.
//!
//! Invariants, for each kind of operation:
//! - What is pure moves from anywhere; a builtin only from where each round comes by.
//! - A load moves if nothing in the loop may change its place, other threads' stores counted only where the loop synchronizes. Its object is checked where the object is defined, and an element's index where that is; and the object must have such a field or such elements by its origin ([`Shapes`]), not by a test of its class. Or
//!   the load is something that every entry of the loop comes by first.
//! - What may throw moves only from the start of the round, before any effect, exit or other operation that may throw: so the same error is thrown in the same state.

mod preheaders;
mod promote;

use super::analysis::defs::{Def, Defs};
use super::analysis::effects::{cannot_throw, is_pure};
use super::analysis::loops::{LoopId, Loops, Predecessors, predecessors};
use super::analysis::memory::Memory;
use super::analysis::shape::{Shape, Shapes};
use super::analysis::types::Types;
use super::{Context, Probes};
use crate::ir::dominators::Dominators;
use crate::ir::rewrite::{Aliases, reachable_blocks};
use crate::ir::*;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// Operations of a loop that may write; in a loop with more, loads stay.
const WRITES: usize = 256;

pub fn run(func: &mut Function, cx: &Context<'_>) -> bool {
    if Loops::new(func, &Dominators::new(func)).loops.is_empty() {
        return false;
    }
    let mut work = func.clone();
    let reachable = reachable_blocks(&work);
    work.layout.retain(|&b| reachable.contains(b));
    let added = preheaders::insert(&mut work);
    let mut hoisting = Hoisting::new(&work, cx);
    hoisting.run(&mut work);
    let hoisted = hoisting.finish(&mut work);
    let promoted = promote::run(&mut work, cx);
    if !hoisted && !promoted {
        return false;
    }
    if !promoted {
        preheaders::remove_empty(&mut work, &added);
        work.rewrite(&Aliases::default());
    }
    *func = work;
    true
}

/// What a round of the loop does first, up to where an operation stands.
#[derive(Clone, Copy)]
struct Start {
    /// Nothing left the loop: every entry comes by.
    is_certain: bool,
    /// Neither did anything have an effect.
    is_silent: bool,
}

struct Hoisting<'a> {
    cx: &'a Context<'a>,
    defs: Defs,
    memory: Memory<'a>,
    loops: Loops,
    preds: Predecessors,
    types: Types,
    /// Where operations that moved stand now.
    moved: SecondaryMap<Inst, PackedOption<Block>>,
    changed: bool,
}

impl<'a> Hoisting<'a> {
    fn new(func: &Function, cx: &'a Context<'a>) -> Self {
        let memory = Memory::new(func, cx.module, cx.summaries);
        let loops = Loops::new(func, &memory.dominators);
        let (defs, preds, moved) = (Defs::new(func), predecessors(func), SecondaryMap::with_capacity(func.insts.len()));
        let types = Types::new(cx.module, cx.hierarchy, cx.func, func);
        Hoisting { cx, types, defs, memory, loops, preds, moved, changed: false }
    }

    fn run(&mut self, func: &mut Function) {
        // By innermost loop, definitions before uses.
        let mut own: SecondaryMap<LoopId, Vec<Block>> = SecondaryMap::new();
        for &block in self.memory.dominators.preorder() {
            self.loops.around(block).into_iter().for_each(|id| own[id].push(block));
        }
        for id in self.loops.loops.keys().collect::<Vec<_>>() {
            Round::new(self, func, id).run(func, &own[id]);
        }
    }

    /// Takes what moved from where it stood. Says whether anything did.
    fn finish(self, func: &mut Function) -> bool {
        for i in 0..func.layout.len() {
            let block = func.layout[i];
            func.blocks[block].insts.retain(|&inst| self.moved[inst].expand().is_none_or(|now| now == block));
        }
        self.changed
    }

    fn block(&self, value: Value) -> Option<Block> {
        match self.defs.def(value) {
            Def::Inst(block, inst) => Some(self.moved[inst].expand().unwrap_or(block)),
            _ => self.defs.block(value),
        }
    }
}

/// One loop.
struct Round<'a, 'b> {
    at: &'a mut Hoisting<'b>,
    id: LoopId,
    preheader: Block,
    /// `None`: too many.
    writes: Option<Vec<Op>>,
}

impl<'a, 'b> Round<'a, 'b> {
    fn new(at: &'a mut Hoisting<'b>, func: &Function, id: LoopId) -> Self {
        let header = at.loops.loops[id].header;
        let outside = at.preds[header].iter().copied().find(|&p| !at.loops.contains(id, p));
        let preheader = outside.expect("a loop is entered");
        let mut writes = Vec::new();
        for &block in &at.loops.loops[id].blocks {
            let data = &func.blocks[block];
            let tried = data.terminator.iter().filter_map(|t| if let Terminator::Try { op, .. } = t { Some(op) } else { None });
            let ops = data.insts.iter().map(|&i| &func.insts[i].op).chain(tried);
            writes.extend(ops.filter(|op| may_write(op)).take(WRITES + 1).cloned());
            if writes.len() > WRITES {
                return Round { at, id, preheader, writes: None };
            }
        }
        Round { at, id, preheader, writes: Some(writes) }
    }

    fn run(&mut self, func: &mut Function, blocks: &[Block]) {
        let mut next = Some(self.at.loops.loops[self.id].header);
        let mut start = Start { is_certain: true, is_silent: true };
        for &block in blocks {
            let is_start = next == Some(block);
            let mut here = if is_start { start } else { Start { is_certain: false, is_silent: false } };
            for inst in func.blocks[block].insts.clone() {
                if self.at.moved[inst].expand().is_some_and(|now| now != block) {
                    continue;
                }
                if self.may_move(func, block, &func.insts[inst].op, here) {
                    self.hoist(func, inst);
                } else {
                    here = self.after(&func.insts[inst].op, here);
                }
            }
            if is_start {
                start = here;
                next = match &func.blocks[block].terminator {
                    Some(Terminator::Jump(to)) if self.at.loops.around(to.block) == Some(self.id) => Some(to.block),
                    _ => None,
                };
            }
        }
    }

    fn may_move(&self, func: &Function, block: Block, op: &Op, start: Start) -> bool {
        let mut invariant = true;
        op.for_each_arg(|v| invariant &= self.is_invariant(func, v));
        if !invariant {
            return false;
        }
        match op {
            _ if op.is_constant() => false,
            Op::CallBuiltin { .. } if !is_pure(op) => false,
            Op::CallBuiltin { .. } => start.is_certain || self.is_in_each_round(block) && self.takes_texts(func, op),
            _ if is_pure(op) => true,
            Op::Binary(..) => start.is_silent || cannot_throw(func, &self.at.defs, op),
            Op::NullCheck(_) | Op::CheckIndex { .. } | Op::CheckBounds(..) | Op::CheckCast(..) => start.is_silent,
            Op::ArrayLen(_, Null::Throws) => start.is_silent,
            Op::ArrayLen(_, Null::Never) => start.is_certain || self.has_shape(func, op),
            Op::HasClass(_, object) => start.is_certain || self.is_checked(func, *object),
            Op::LoadField(_, _, Null::Throws) => start.is_silent && self.keeps_place(op),
            Op::LoadField(_, _, Null::Never) => (start.is_certain || self.has_shape(func, op)) && self.keeps_place(op),
            Op::LoadElem(_, array, index) => {
                let is_checked = || self.is_index(func, *array, *index) && self.has_shape(func, op);
                (start.is_certain || is_checked()) && self.keeps_place(op)
            }
            Op::LoadGlobal(_) => self.keeps_place(op),
            _ => false,
        }
    }

    /// Defined outside of the loop, or a constant that can be taken along.
    fn is_invariant(&self, func: &Function, value: Value) -> bool {
        self.at.defs.op(func, value).is_some_and(Op::is_constant)
            || self.at.block(value).is_some_and(|block| !self.at.loops.contains(self.id, block))
    }

    fn is_in_each_round(&self, block: Block) -> bool {
        self.at.loops.loops[self.id].latches.iter().all(|&latch| self.at.memory.dominators.dominates(block, latch))
    }

    fn is_checked(&self, func: &Function, object: Value) -> bool {
        let op = self.at.defs.op(func, object);
        matches!(op, Some(Op::NullCheck(_) | Op::CheckCast(..) | Op::New(_) | Op::NewArray(..)))
    }

    fn has_shape(&self, func: &Function, op: &Op) -> bool {
        Shape::of_access(op).is_some_and(|(object, shape)| self.shapes(func).has(object, shape))
    }

    fn shapes<'f>(&'f self, func: &'f Function) -> Shapes<'f> {
        Shapes { module: self.at.cx.module, func, defs: &self.at.defs, preds: &self.at.preds, types: Some(&self.at.types) }
    }

    /// All objects that the operation takes are texts, and not only behind a test in the loop. (What a pure builtin takes is a text or null.)
    fn takes_texts(&self, func: &Function, op: &Op) -> bool {
        let shapes = self.shapes(func);
        let mut all = true;
        op.for_each_arg(|v| all &= func.values[v] != Ty::Ref || shapes.has(v, Shape::Text));
        all
    }

    fn is_index(&self, func: &Function, array: Value, index: Value) -> bool {
        is_index_of(func, &self.at.defs, &self.at.memory, array, index)
    }

    /// What is known of the round's start after an operation that stays.
    fn after(&self, op: &Op, before: Start) -> Start {
        let is_certain = before.is_certain && !op.may_throw();
        // Whether an error comes before a call or behind it can be counted.
        let is_counted = *op == Op::Probe && self.at.cx.probes != Probes::Sampled;
        let is_silent = is_certain && !may_write(op) && !is_counted;
        Start { is_certain, is_silent: before.is_silent && is_silent }
    }

    fn keeps_place(&self, op: &Op) -> bool {
        let Some((place, _)) = self.at.memory.access(op) else { return false };
        self.writes.as_ref().is_some_and(|writes| !writes.iter().any(|w| self.at.memory.clobbers(w, &place)))
    }

    fn hoist(&mut self, func: &mut Function, inst: Inst) {
        let mut with = Vec::new();
        func.insts[inst].op.for_each_arg(|v| {
            let inside = self.at.block(v).is_some_and(|block| self.at.loops.contains(self.id, block));
            if let Def::Inst(_, constant) = self.at.defs.def(v)
                && inside
            {
                with.push(constant);
            }
        });
        with.dedup();
        for inst in with.into_iter().chain([inst]) {
            // A constant may be both operands.
            if self.at.moved[inst].expand() != Some(self.preheader) {
                self.at.moved[inst] = self.preheader.into();
                func.blocks[self.preheader].insts.push(inst);
            }
        }
        self.at.changed = true;
    }
}

/// The index is the result of a check of this array.
fn is_index_of(func: &Function, defs: &Defs, memory: &Memory<'_>, array: Value, index: Value) -> bool {
    match defs.op(func, index) {
        Some(Op::CheckIndex { array: checked, .. } | Op::CheckBounds(checked, _)) => memory.root(*checked) == memory.root(array),
        _ => false,
    }
}

/// It may have an effect that somebody can see: all but loads, checks and what is pure.
fn may_write(op: &Op) -> bool {
    match op {
        Op::StoreField { .. } | Op::StoreElem(..) | Op::StoreGlobal(..) | Op::Atomic(..) | Op::AtomicCas(..) => true,
        Op::Call { .. } | Op::CallVirtual { .. } => true,
        Op::CallBuiltin { .. } => !is_pure(op),
        _ => false,
    }
}
