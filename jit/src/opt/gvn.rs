//! Global value numbering: an operation goes away where an equal one dominates it.
//!
//! In: a function. Out: the same without operations that compute or check again what is known, and without block parameters that say nothing new ([`params`]).
//! A hash table scoped by the dominator tree (P. Briggs, K. Cooper, L. T. Simpson, "Value Numbering", Software: Practice and Experience 27(6), 1997, section 4.1).
//!
//! Invariants: what depends on memory is not looked at (a length and a class never change); a check or a division goes away only where one that would have thrown the same error dominates it, and its users take that one's result,
//! on which accesses stand. A `Try` of such an operation becomes a jump.

use super::analysis::effects;
use super::analysis::loops::{Predecessors, predecessors};
use super::{Context, params};
use crate::ir::dominators::{Dominators, Visit};
use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};
use rustc_hash::FxHashMap;

/// A merged operation makes parameters equal and a `Try` that went away makes blocks dominate others, so there can be more to find.
const ROUNDS: usize = 4;

pub fn run(func: &mut Function, _cx: &Context<'_>) -> bool {
    let mut changed = false;
    for round in 0..ROUNDS {
        let mut aliases = Aliases::default();
        let simplified = params::simplify(func, &mut aliases);
        if round > 0 && !simplified {
            return changed;
        }
        let numbered = Numbering::new(func, &mut aliases).run();
        if !simplified && !numbered {
            return changed;
        }
        func.rewrite(&aliases);
        changed = true;
    }
    changed
}

struct Numbering<'a> {
    func: &'a mut Function,
    aliases: &'a mut Aliases,
    dominators: Dominators,
    preds: Predecessors,
    /// What a check gave back is the same value as what it checked.
    unchecked: SecondaryMap<Value, PackedOption<Value>>,
    known: FxHashMap<Op, Value>,
    /// In the order in which they became known.
    keys: Vec<Op>,
    changed: bool,
}

impl<'a> Numbering<'a> {
    fn new(func: &'a mut Function, aliases: &'a mut Aliases) -> Self {
        let dominators = Dominators::new(func);
        let preds = predecessors(func);
        let (unchecked, known, keys) = (SecondaryMap::with_capacity(func.values.len()), FxHashMap::default(), Vec::new());
        Numbering { func, aliases, dominators, preds, unchecked, known, keys, changed: false }
    }

    fn run(mut self) -> bool {
        let mut scopes = Vec::new();
        for visit in self.dominators.walk() {
            match visit {
                Visit::Enter(block) => {
                    scopes.push(self.keys.len());
                    self.enter(block);
                }
                Visit::Leave(_) => {
                    let outer = scopes.pop().expect("entered before");
                    for key in self.keys.drain(outer..) {
                        self.known.remove(&key);
                    }
                }
            }
        }
        self.changed
    }

    fn enter(&mut self, block: Block) {
        self.learn_from_try(block);
        let mut insts = std::mem::take(&mut self.func.blocks[block].insts);
        let before = insts.len();
        insts.retain(|&inst| {
            let InstData { op, result: Some(result), .. } = &self.func.insts[inst] else { return true };
            let result = *result;
            let Some(key) = self.key(op) else { return true };
            if let Some(&same) = self.known.get(&key) {
                self.aliases.replace(result, same);
                return false;
            }
            self.learn(key, result);
            true
        });
        self.changed |= insts.len() < before;
        self.func.blocks[block].insts = insts;
        self.drop_try(block);
    }

    /// The result of a `Try`, in a block that nothing else leads to.
    fn learn_from_try(&mut self, block: Block) {
        let [pred] = self.preds[block][..] else { return };
        let Some(Terminator::Try { op, normal, .. }) = &self.func.blocks[pred].terminator else { return };
        if normal.block != block {
            return;
        }
        if let (Some(key), Some(&result)) = (self.key(op), self.func.blocks[block].params.first()) {
            // Known already where the `Try` is about to go away.
            if !self.known.contains_key(&key) {
                self.learn(key, result);
            }
        }
    }

    fn drop_try(&mut self, block: Block) {
        let Some(Terminator::Try { op, normal, .. }) = &self.func.blocks[block].terminator else { return };
        let Some(&same) = self.key(op).and_then(|key| self.known.get(&key)) else { return };
        let mut to = normal.clone();
        to.args.insert(0, same);
        self.func.blocks[block].terminator = Some(Terminator::Jump(to));
        self.changed = true;
    }

    fn learn(&mut self, key: Op, result: Value) {
        match key {
            Op::NullCheck(value) | Op::CheckBounds(_, value) => self.unchecked[result] = value.into(),
            Op::CheckCast(_, value) => {
                self.unchecked[result] = value.into();
                // It throws for null, too.
                if !self.known.contains_key(&Op::NullCheck(value)) {
                    self.learn(Op::NullCheck(value), result);
                }
            }
            _ => {}
        }
        self.keys.push(key.clone());
        self.known.insert(key, result);
    }

    /// What equal operations have in common; `None` for operations whose result depends on more than their operands.
    fn key(&self, op: &Op) -> Option<Op> {
        let mut key = match op {
            // The length is the array's.
            Op::CheckIndex { array, index, .. } => Op::CheckBounds(*array, *index),
            Op::ArrayLen(array, _) => Op::ArrayLen(*array, Null::Never),
            Op::CheckBounds(..) | Op::NullCheck(_) | Op::CheckCast(..) | Op::HasClass(..) => op.clone(),
            Op::Binary(BinaryOp::IDiv | BinaryOp::IRem, ..) => op.clone(),
            // It never changes, though the first call may write to the object's header.
            Op::CallBuiltin { builtin: Builtin::IdentityHash, .. } => op.clone(),
            _ if effects::is_pure(op) => op.clone(),
            _ => return None,
        };
        match &mut key {
            // What is chosen from checked values is proven by that: it is no choice of the unchecked ones, which may stand anywhere.
            Op::Select { .. } => key.for_each_arg_mut(|v| *v = self.aliases.get(*v)),
            _ => key.for_each_arg_mut(|v| *v = self.root(*v)),
        }
        order_operands(&mut key);
        Some(key)
    }

    fn root(&self, value: Value) -> Value {
        let value = self.aliases.get(value);
        self.unchecked[value].expand().unwrap_or(value)
    }
}

/// Of the ways to write an operation with two operands, one.
fn order_operands(op: &mut Op) {
    match op {
        Op::Binary(op, a, b) if op.is_commutative() && *a > *b => std::mem::swap(a, b),
        Op::RefEq(a, b) if *a > *b => std::mem::swap(a, b),
        Op::ICmp(cmp, a, b) => {
            if let Some(swapped) = cmp.swapped().filter(|_| *a > *b) {
                *cmp = swapped;
                std::mem::swap(a, b);
            }
        }
        Op::FCmp(cmp, a, b) if *a > *b => {
            *cmp = cmp.swapped();
            std::mem::swap(a, b);
        }
        _ => {}
    }
}
