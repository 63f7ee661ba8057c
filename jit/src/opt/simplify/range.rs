//! The values an `Int` can have, as far as the operations that compute it tell at once.
//!
//! In: a value. Out: an interval that holds wherever the value is defined; everything, if nothing is known. Looks a few operands deep, through no block parameter: what conditions and loops tell is others' work.

use super::Simplifier;
use crate::ir::*;
use crate::opt::analysis::induction::MAX_LENGTH;
use crate::opt::analysis::interval::Interval;

const DEPTH: u32 = 4;

impl Simplifier<'_> {
    pub(super) fn range(&self, value: Value) -> Interval {
        self.range_at(value, DEPTH).unwrap_or(Interval::ALL)
    }

    pub(super) fn is_natural(&self, value: Value) -> bool {
        self.range(value).is_natural()
    }

    fn range_at(&self, value: Value, depth: u32) -> Option<Interval> {
        let depth = depth.checked_sub(1)?;
        let of = |value| self.range_at(value, depth).unwrap_or(Interval::ALL);
        match *self.def(value)? {
            Op::IConst(n) => Some(Interval::new(n, n)),
            Op::ArrayLen(..) => Some(Interval::new(0, MAX_LENGTH)),
            // What was checked lies in an array.
            Op::CheckBounds(..) | Op::CheckIndex { .. } => Some(Interval::new(0, MAX_LENGTH)),
            Op::LoadElem(ElemKind::Byte, ..) => Some(Interval::new(0, 255)),
            Op::Unary(UnaryOp::BoolToInt, _) => Some(Interval::new(0, 1)),
            Op::Unary(UnaryOp::PopCount | UnaryOp::LeadingZeros | UnaryOp::TrailingZeros, _) => Some(Interval::new(0, 64)),
            Op::Select { then, els, .. } => {
                let (then, els) = (self.range_at(then, depth)?, self.range_at(els, depth)?);
                Some(Interval::new(then.lo.min(els.lo), then.hi.max(els.hi)))
            }
            Op::Binary(op, a, b) => binary(op, of(a), of(b)),
            _ => None,
        }
    }
}

fn binary(op: BinaryOp, a: Interval, b: Interval) -> Option<Interval> {
    let constant = (b.lo == b.hi).then_some(b.lo);
    match op {
        BinaryOp::IAdd => a.checked_add(b),
        BinaryOp::ISub => a.checked_add(Interval::new(b.hi.checked_neg()?, b.lo.checked_neg()?)),
        // The mask's bits are all that is left.
        BinaryOp::IAnd if b.is_natural() => Some(Interval::new(0, if a.is_natural() { a.hi.min(b.hi) } else { b.hi })),
        BinaryOp::IAnd if a.is_natural() => Some(Interval::new(0, a.hi)),
        BinaryOp::IOr | BinaryOp::IXor if a.is_natural() && b.is_natural() => {
            let bits = 64 - (a.hi | b.hi).leading_zeros();
            Some(Interval::new(0, ((1u128 << bits) - 1) as i64))
        }
        BinaryOp::IUShr => match constant? & 63 {
            0 => Some(a),
            by if a.is_natural() => Some(Interval::new(a.lo >> by, a.hi >> by)),
            by => Some(Interval::new(0, (u64::MAX >> by) as i64)),
        },
        BinaryOp::IShr => constant.map(|by| Interval::new(a.lo >> (by & 63), a.hi >> (by & 63))),
        BinaryOp::IDiv => constant.filter(|&d| d > 0).map(|d| Interval::new(a.lo / d, a.hi / d)),
        BinaryOp::IRem => {
            let limit = constant?.checked_abs().filter(|&d| d > 0)? - 1;
            Some(Interval::new(if a.is_natural() { 0 } else { -limit }, if a.hi < limit && a.is_natural() { a.hi } else { limit }))
        }
        _ => None,
    }
}
