//! How large code is, for policies: about one for each machine instruction that does work.
//!
//! In: a function. Out: the sum of its operations' weights. Constants become operands, jumps mostly vanish, and a null check is part of the access behind it: they weigh nothing. Nor do probes: the same calls are to be inlined with
//! them as without.

use crate::ir::*;

pub fn function(func: &Function) -> u32 {
    func.layout.iter().map(|&b| block(func, &func.blocks[b])).fold(0, u32::saturating_add)
}

fn block(func: &Function, data: &BlockData) -> u32 {
    let insts: u32 = data.insts.iter().map(|&i| operation(&func.insts[i].op)).sum();
    insts + data.terminator.as_ref().map_or(0, terminator)
}

fn terminator(terminator: &Terminator) -> u32 {
    match terminator {
        Terminator::Jump(_) | Terminator::Return(_) | Terminator::Leave { .. } | Terminator::Unreachable => 0,
        Terminator::Branch { .. } | Terminator::Throw(_) => 1,
        Terminator::Switch { targets, .. } => 2 + targets.len() as u32,
        Terminator::Try { op, .. } => operation(op),
    }
}

fn operation(op: &Op) -> u32 {
    match op {
        Op::IConst(_) | Op::FConst(_) | Op::BConst(_) | Op::Null | Op::NullCheck(_) | Op::Probe => 0,
        Op::CheckBounds(..) => 2,
        Op::InstanceOf(..) | Op::CheckCast(..) | Op::HasClass(..) => 3,
        Op::StoreField { barrier, .. } | Op::StoreElem(.., barrier) => match barrier {
            Barrier::Needed => 2,
            Barrier::Elided => 1,
        },
        // The fast path stands in the code.
        Op::New(_) | Op::NewArray(..) => 5,
        Op::CallBuiltin { args, .. } | Op::Call { args, .. } => 3 + args.len() as u32,
        Op::CallVirtual { args, .. } => 5 + args.len() as u32,
        _ => 1,
    }
}
