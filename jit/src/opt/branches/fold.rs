//! Branches and switches that have only one way to go; switches that are cheaper as branches.
//!
//! In: a function. Out: the same with jumps in their place; blocks that this cuts off still stand in the layout.

use super::append;
use crate::ir::*;
use crate::opt::analysis::defs::Defs;

/// So few cases are compared with one after the other faster than a table is looked up.
const FEW_CASES: usize = 3;

/// Whether anything changed.
pub(super) fn run(func: &mut Function, defs: &Defs) -> bool {
    let (mut changed, blocks) = (false, func.blocks.len());
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let terminator = func.blocks[block].terminator.as_ref().expect("a finished block");
        if let Some(jump) = only_way(func, defs, terminator) {
            func.blocks[block].terminator = Some(Terminator::Jump(jump));
            changed = true;
        } else if matches!(terminator, Terminator::Switch { targets, .. } if targets.len() <= FEW_CASES) {
            compare_cases(func, block);
            changed = true;
        }
    }
    if func.blocks.len() > blocks {
        func.sort_layout();
    }
    changed
}

fn only_way(func: &Function, defs: &Defs, terminator: &Terminator) -> Option<BlockCall> {
    match terminator {
        Terminator::Branch { then, els, .. } if then == els => Some(then.clone()),
        Terminator::Branch { cond, then, els } => match defs.op(func, *cond)? {
            Op::BConst(true) => Some(then.clone()),
            Op::BConst(false) => Some(els.clone()),
            _ => None,
        },
        Terminator::Switch { targets, default, .. } if targets.iter().all(|t| t == default) => Some(default.clone()),
        Terminator::Switch { index, targets, default } => {
            let case = defs.int_const(func, *index)?;
            let target = usize::try_from(case).ok().and_then(|case| targets.get(case));
            Some(target.unwrap_or(default).clone())
        }
        _ => None,
    }
}

/// A switch as a chain of comparisons.
fn compare_cases(func: &mut Function, block: Block) {
    let loc = func.blocks[block].terminator_loc;
    let Some(Terminator::Switch { index, targets, default }) = func.blocks[block].terminator.take() else {
        unreachable!("the caller saw a switch")
    };
    let last = targets.len() - 1;
    let mut at = block;
    for (case, then) in targets.into_iter().enumerate() {
        let number = append(func, at, Op::IConst(case as i64), Ty::Int);
        let cond = append(func, at, Op::ICmp(IntCmp::Eq, index, number), Ty::Bool);
        let els =
            if case == last { default.clone() } else { BlockCall { block: func.blocks.push(BlockData::default()), args: Args::new() } };
        let next = els.block;
        func.blocks[at].terminator = Some(Terminator::Branch { cond, then, els });
        func.blocks[at].terminator_loc = loc;
        if case != last {
            func.layout.push(next);
            at = next;
        }
    }
}
