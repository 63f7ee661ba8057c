//! Control flow: what decides nothing goes.
//!
//! In: a function. Out: the same with fewer branches: those on constants and on what dominating branches tell ([`facts`]), ways through blocks that decide nothing for them ([`thread`], [`pass_on`]), small diamonds whose two sides are cheaper
//! computed than chosen between ([`convert`]), straight lines joined, chains of comparisons
//! with constants made switches.
//!
//! Invariants: no loop gains an entry; what throws, loads or is seen is never computed where it was not.

mod convert;
mod facts;
mod fold;
mod pass_on;
mod switch;
mod thread;

use super::analysis::defs::Defs;
use super::analysis::loops::{Loops, Predecessors, predecessors};
use super::{Context, dce};
use crate::ir::dominators::Dominators;
use crate::ir::rewrite::Aliases;
use crate::ir::straighten::straighten;
use crate::ir::*;
use cranelift_entity::EntitySet;

/// What one round joins may be threaded through in the next.
const ROUNDS: usize = 4;

pub fn run(func: &mut Function, cx: &Context<'_>) -> bool {
    if func.layout.len() == 1 {
        return false;
    }
    let rounds = (0..ROUNDS).take_while(|_| round(func, cx)).count();
    rounds > 0
}

/// What all of these ask, true until the function changes.
struct Shape {
    defs: Defs,
    preds: Predecessors,
    dominators: Dominators,
    loops: Loops,
    headers: EntitySet<Block>,
}

impl Shape {
    fn new(func: &Function) -> Shape {
        let dominators = Dominators::new(func);
        let loops = Loops::new(func, &dominators);
        let mut headers = EntitySet::with_capacity(func.blocks.len());
        headers.extend(loops.loops.values().map(|l| l.header));
        Shape { defs: Defs::new(func), preds: predecessors(func), dominators, loops, headers }
    }
}

fn round(func: &mut Function, cx: &Context<'_>) -> bool {
    let mut shape = Shape::new(func);
    let folded = fold::run(func, &shape.defs);
    if folded {
        shape = Shape::new(func);
    }
    let passed = pass_on::run(func, &shape);
    if folded || passed {
        func.rewrite(&Aliases::default());
        shape = Shape::new(func);
    }
    let threaded = thread::run(func, &shape);
    if threaded {
        // What decided in copied blocks is computed for nobody now, and would make them look large.
        dce::run(func, cx);
    }
    let folded_again = (folded || passed || threaded) && fold::run(func, &Defs::new(func));
    let joined = join(func, folded_again);
    if threaded || joined {
        (shape.defs, shape.preds) = (Defs::new(func), predecessors(func));
    }
    let Shape { defs, preds, .. } = &shape;
    let converted = convert::run(func, preds, defs) || switch::run(func, preds, defs);
    if converted {
        join(func, true);
    }
    folded | passed | threaded | joined | converted
}

/// Joins straight lines, skips empty blocks, drops what cannot be reached; puts the function in order if it `is_changed` or that changed it, and says so.
fn join(func: &mut Function, is_changed: bool) -> bool {
    let before = func.layout.len();
    let mut aliases = Aliases::default();
    straighten(func, &mut |param, arg| aliases.replace(param, arg));
    let is_changed = is_changed || func.layout.len() != before;
    if is_changed {
        func.rewrite(&aliases);
    }
    is_changed
}

/// Computes `op`, which cannot throw, at the block's end.
fn append(func: &mut Function, block: Block, op: Op, ty: Ty) -> Value {
    let (result, loc) = (func.values.push(ty), func.blocks[block].terminator_loc);
    let inst = func.insts.push(InstData { op, result: Some(result), loc });
    func.blocks[block].insts.push(inst);
    result
}
