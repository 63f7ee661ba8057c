//! What a policy wants to know of the calls in a function.
//!
//! In: a function. Out: [`Facts`], true until the function changes.

use super::Call;
use crate::ir::dominators::Dominators;
use crate::ir::*;
use crate::opt::analysis::call_graph::for_each_op;
use crate::opt::analysis::defs::Defs;
use crate::opt::analysis::loops::{Loops, predecessors};
use cranelift_entity::{EntitySet, SecondaryMap};

/// Calls that may get an object, besides accesses to it, for the object to count as fresh: the constructor's, and another.
const CALLS_OF_FRESH: u32 = 2;

pub struct Facts {
    dominators: Dominators,
    loops: Loops,
    defs: Defs,
    cold: EntitySet<Block>,
    /// Objects that may become values.
    fresh: SecondaryMap<Value, bool>,
}

/// The operation of a call.
pub fn op<'a>(func: &'a Function, call: &Call) -> &'a Op {
    match (call.inst, &func.blocks[call.block].terminator) {
        (Some(inst), _) => &func.insts[inst].op,
        (None, Some(Terminator::Try { op, .. })) => op,
        (None, _) => unreachable!("a call stands in a block or a `Try`"),
    }
}

impl Facts {
    /// `None` if the function calls no function directly.
    pub fn of(func: &Function) -> Option<Facts> {
        let mut calls = false;
        for_each_op(func, |op| calls |= matches!(op, Op::Call { .. }));
        if !calls {
            return None;
        }
        let dominators = Dominators::new(func);
        let loops = Loops::new(func, &dominators);
        let defs = Defs::new(func);
        let fresh = fresh_objects(func, &defs);
        Some(Facts { dominators, loops, defs, cold: cold_blocks(func), fresh })
    }

    pub fn is_reachable(&self, block: Block) -> bool {
        self.dominators.is_reachable(block)
    }

    pub fn loop_depth(&self, block: Block) -> u32 {
        self.loops.depth(block)
    }

    pub fn is_cold(&self, block: Block) -> bool {
        self.cold.contains(block)
    }

    pub fn constant_args(&self, func: &Function, call: &Op) -> u32 {
        let mut count = 0;
        call.for_each_arg(|v| {
            let op = self.defs.op(func, v);
            count += u32::from(matches!(op, Some(Op::IConst(_) | Op::FConst(_) | Op::BConst(_) | Op::Null | Op::StrConst(_))));
        });
        count
    }

    pub fn fresh_args(&self, call: &Op) -> u32 {
        let mut count = 0;
        call.for_each_arg(|v| count += u32::from(self.fresh[v]));
        count
    }
}

/// Blocks from which control only goes to throw an error: those that end so, those that give an error its trace, and those that lead to nothing else. What a `Try` does with its own errors does not count.
fn cold_blocks(func: &Function) -> EntitySet<Block> {
    let mut from: SecondaryMap<Block, Vec<Block>> = SecondaryMap::with_capacity(func.blocks.len());
    // Ways on that are not known to be cold.
    let mut open: SecondaryMap<Block, u32> = SecondaryMap::with_capacity(func.blocks.len());
    let mut work = Vec::new();
    for &block in &func.layout {
        let mut way = |to: &BlockCall| {
            from[to.block].push(block);
            open[block] += 1;
        };
        let data = &func.blocks[block];
        match data.terminator.as_ref().expect("a finished block") {
            Terminator::Try { op, normal, .. } => {
                way(normal);
                if fills_trace(op) {
                    work.push(block);
                }
            }
            Terminator::Throw(_) | Terminator::Unreachable => work.push(block),
            other => other.for_each_edge(way),
        }
        if data.insts.iter().any(|&i| fills_trace(&func.insts[i].op)) {
            work.push(block);
        }
    }
    let mut cold = EntitySet::with_capacity(func.blocks.len());
    while let Some(block) = work.pop() {
        if !cold.insert(block) {
            continue;
        }
        for &before in &from[block] {
            open[before] -= 1;
            if open[before] == 0 {
                work.push(before);
            }
        }
    }
    cold
}

fn fills_trace(op: &Op) -> bool {
    matches!(op, Op::CallBuiltin { builtin: Builtin::FillTrace, .. })
}

/// Objects made in the function that only accesses and few direct calls use: they may become values once the callees are inside.
fn fresh_objects(func: &Function, defs: &Defs) -> SecondaryMap<Value, bool> {
    let mut accesses: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.values.len());
    let mut calls: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.values.len());
    for_each_op(func, |op| match op {
        Op::LoadField(_, object, _) | Op::StoreField { object, .. } | Op::ArrayLen(object, _) => accesses[*object] += 1,
        Op::CheckBounds(array, _) | Op::CheckIndex { array, .. } | Op::LoadElem(_, array, _) | Op::StoreElem(_, array, ..) => {
            accesses[*array] += 1;
        }
        Op::Call { args, .. } => args.iter().for_each(|&arg| calls[arg] += 1),
        _ => {}
    });
    let mut fresh: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(func.values.len());
    for made in new_objects(func) {
        fresh[made] = calls[made] <= CALLS_OF_FRESH && accesses[made] + calls[made] == defs.uses(made);
    }
    fresh
}

fn new_objects(func: &Function) -> Vec<Value> {
    let mut made: Vec<Value> = Vec::new();
    let preds = predecessors(func);
    for &block in &func.layout {
        let data = &func.blocks[block];
        let insts = data.insts.iter().map(|&i| &func.insts[i]);
        made.extend(insts.filter(|i| makes_object(&i.op)).filter_map(|i| i.result));
        if let Some(Terminator::Try { op, normal, .. }) = &data.terminator
            && makes_object(op)
            && preds[normal.block].len() == 1
        {
            made.extend(func.blocks[normal.block].params.first());
        }
    }
    made
}

fn makes_object(op: &Op) -> bool {
    matches!(op, Op::New(_) | Op::NewArray(..))
}
