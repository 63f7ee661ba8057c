//! How large code is, for passes that copy it.
//!
//! In: blocks. Out: a weight that stands for bytes of machine code and time to compile.

use crate::ir::*;

/// Of a call or whatever else the collector may run in: the references around it are kept in a table.
const SAFEPOINT: u32 = 6;

/// Of a block's operations, terminator included.
pub fn weight(func: &Function, block: Block) -> u32 {
    let data = &func.blocks[block];
    let last = match &data.terminator {
        Some(Terminator::Try { op, .. }) => of(op),
        _ => 1,
    };
    data.insts.iter().map(|&i| of(&func.insts[i].op)).sum::<u32>() + last
}

fn of(op: &Op) -> u32 {
    match op {
        Op::IConst(_) | Op::FConst(_) | Op::BConst(_) | Op::Null => 0,
        // The same code is copied with probes as without.
        Op::Probe => 0,
        Op::Poll => 1,
        _ if op.is_safepoint() => SAFEPOINT,
        _ => 1,
    }
}
