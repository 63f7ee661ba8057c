//! Small choices computed instead of branched for (J. R. Allen et al., "Conversion of Control Dependence to Data Dependence", POPL 1983, for the smallest shapes only).
//!
//! In: a branch whose two sides, each empty or of a few cheap operations, lead on to the same block. Out: both sides' operations in a line, and a `select` for each argument that differs.
//! Also two branches in a row that bound the same value by constants and share a target: one branch on both conditions, which become one comparison later.
//!
//! Invariants: only operations that neither throw, load nor take long are computed where they were not; a branch that leaves a loop stays, as its sides do not meet again.

use super::append;
use crate::ir::*;
use crate::opt::analysis::defs::Defs;
use crate::opt::analysis::loops::Predecessors;

/// Operations of one side.
const SIDE: usize = 2;

/// Arguments that are chosen.
const SELECTS: usize = 2;

/// Whether anything changed. Blocks that were taken in are cut off, but still stand in the layout.
pub(super) fn run(func: &mut Function, preds: &Predecessors, defs: &Defs) -> bool {
    let mut changed = false;
    // Backwards, so that what is inside is converted before what is around it.
    for i in (0..func.layout.len()).rev() {
        let block = func.layout[i];
        changed |= join_sides(func, preds, block) || join_bounds(func, preds, defs, block);
    }
    changed
}

/// Where a side leads, and what it computes on the way.
struct Side {
    insts: Vec<Inst>,
    to: BlockCall,
}

/// The side that begins with an edge of a branch.
fn side(func: &Function, preds: &Predecessors, edge: &BlockCall) -> Side {
    let direct = || Side { insts: Vec::new(), to: edge.clone() };
    let data = &func.blocks[edge.block];
    let Some(Terminator::Jump(to)) = &data.terminator else { return direct() };
    if preds[edge.block].len() != 1 || !data.params.is_empty() || !is_cheap_block(func, data) {
        return direct();
    }
    Side { insts: data.insts.clone(), to: to.clone() }
}

fn is_cheap_block(func: &Function, data: &BlockData) -> bool {
    let ops = || data.insts.iter().map(|&i| &func.insts[i].op);
    ops().all(is_cheap) && ops().filter(|op| !is_constant(op)).count() <= SIDE
}

fn is_constant(op: &Op) -> bool {
    matches!(op, Op::IConst(_) | Op::FConst(_) | Op::BConst(_) | Op::Null)
}

/// About a cycle, whatever the operands.
fn is_cheap(op: &Op) -> bool {
    use BinaryOp::*;
    match op {
        Op::Unary(op, _) => {
            matches!(op, UnaryOp::INeg | UnaryOp::INot | UnaryOp::BNot | UnaryOp::FNeg | UnaryOp::FAbs | UnaryOp::BoolToInt)
        }
        Op::Binary(op, ..) => matches!(op, IAdd | ISub | IAnd | IOr | IXor | IShl | IShr | IUShr | BAnd | BOr | BXor),
        Op::ICmp(..) | Op::RefEq(..) | Op::Select { .. } => true,
        _ => is_constant(op),
    }
}

fn join_sides(func: &mut Function, preds: &Predecessors, block: Block) -> bool {
    let Some(Terminator::Branch { cond, then, els }) = &func.blocks[block].terminator else { return false };
    let cond = *cond;
    let (then, els) = (side(func, preds, then), side(func, preds, els));
    if then.to.block != els.to.block || then.to.block == block {
        return false;
    }
    let differ = then.to.args.iter().zip(&els.to.args).filter(|(a, b)| a != b).count();
    if differ > SELECTS {
        return false;
    }
    func.blocks[block].insts.extend(then.insts.into_iter().chain(els.insts));
    let target = then.to.block;
    let pairs: Vec<(Value, Value)> = then.to.args.into_iter().zip(els.to.args).collect();
    let choose = |(then, els)| if then == els { then } else { append(func, block, Op::Select { cond, then, els }, func.values[then]) };
    let args = pairs.into_iter().map(choose).collect();
    func.blocks[block].terminator = Some(Terminator::Jump(BlockCall { block: target, args }));
    true
}

/// `branch a, next, other; next: branch b, on, other` → `branch a && b, on, other`, and the same where `other` is the first target.
fn join_bounds(func: &mut Function, preds: &Predecessors, defs: &Defs, block: Block) -> bool {
    let Some(Terminator::Branch { cond, then, els }) = func.blocks[block].terminator.clone() else { return false };
    for (next, other, is_and) in [(&then, &els, true), (&els, &then, false)] {
        let data = &func.blocks[next.block];
        if preds[next.block].len() != 1 || next.block == block || !next.args.is_empty() || !is_cheap_block(func, data) {
            continue;
        }
        let Some(Terminator::Branch { cond: second, then: on, els: off }) = data.terminator.clone() else { continue };
        let shared = if is_and { &off } else { &on };
        if shared != other || !bound_same(func, defs, cond, second) {
            continue;
        }
        let insts = data.insts.clone();
        func.blocks[block].insts.extend(insts);
        let op = if is_and { BinaryOp::BAnd } else { BinaryOp::BOr };
        let both = append(func, block, Op::Binary(op, cond, second), Ty::Bool);
        func.blocks[block].terminator = Some(Terminator::Branch { cond: both, then: on, els: off });
        return true;
    }
    false
}

/// Both compare the same value with constants.
fn bound_same(func: &Function, defs: &Defs, a: Value, b: Value) -> bool {
    let bounded = |cond: Value| match *defs.op(func, cond)? {
        Op::ICmp(IntCmp::Lt | IntCmp::Le | IntCmp::Gt | IntCmp::Ge, x, c) => defs.int_const(func, c).map(|_| x),
        _ => None,
    };
    bounded(a).is_some_and(|x| bounded(b) == Some(x))
}
