//! What an operation does besides giving its result, as far as its operands tell: sharper than [`Op::may_throw`], which knows only the operation.
//!
//! In: an operation and where its operands come from. Out: answers that hold for good: no later change of other code makes them wrong.

use super::defs::Defs;
use crate::ir::*;

/// Arrays up to this length are too small for their allocation to be worth an OutOfMemoryError.
const SMALL_ARRAY: i64 = 1 << 16;

/// The operation throws for no operands, or not for these: a division by a constant that is not zero.
pub fn cannot_throw(func: &Function, defs: &Defs, op: &Op) -> bool {
    match op {
        Op::Binary(BinaryOp::IDiv | BinaryOp::IRem, _, divisor) => defs.int_const(func, *divisor).is_some_and(|d| d != 0),
        _ => !op.may_throw(),
    }
}

/// Nobody sees it missing if nobody uses its result. An allocation may go, and the OutOfMemoryError with it.
pub fn is_unseen(func: &Function, defs: &Defs, op: &Op) -> bool {
    match op {
        Op::StoreField { .. } | Op::StoreElem(..) | Op::StoreGlobal(..) => false,
        Op::Poll | Op::ExitPoll { .. } | Op::WatchedPoll { .. } | Op::Probe => false,
        Op::New(_) => true,
        Op::NewArray(_, length) => defs.int_const(func, *length).is_some_and(|n| (0..=SMALL_ARRAY).contains(&n)),
        Op::CallBuiltin { builtin, .. } => builtin.signature().is_pure,
        _ => cannot_throw(func, defs, op),
    }
}

/// Its result depends on its operands alone, and it has neither an effect nor a condition: it may be executed wherever its operands are what it takes. (Builtins take texts: a reference may be one behind a test only.)
pub fn is_pure(op: &Op) -> bool {
    match op {
        Op::IConst(_) | Op::FConst(_) | Op::BConst(_) | Op::Null | Op::StrConst(_) => true,
        Op::Unary(..) | Op::ICmp(..) | Op::FCmp(..) | Op::RefEq(..) | Op::Select { .. } | Op::InstanceOf(..) => true,
        Op::Binary(op, ..) => !matches!(op, BinaryOp::IDiv | BinaryOp::IRem),
        Op::CallBuiltin { builtin, .. } => builtin.signature().is_pure,
        _ => false,
    }
}
