//! The values an `Int` can have, as far as the operations that compute it tell at once.
//!
//! In: a value. Out: an interval that holds wherever the value is defined; everything, if nothing is known. Looks a few operands deep, through no block parameter: what conditions and loops tell is others' work.

use super::Simplifier;
use crate::ir::*;
use crate::opt::analysis::induction::MAX_LENGTH;

const DEPTH: u32 = 4;

/// Both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub lo: i64,
    pub hi: i64,
}

impl Range {
    const ALL: Range = Range { lo: i64::MIN, hi: i64::MAX };

    fn new(lo: i64, hi: i64) -> Range {
        Range { lo, hi }
    }

    pub fn is_natural(self) -> bool {
        self.lo >= 0
    }

    fn add(self, other: Range) -> Option<Range> {
        Some(Range::new(self.lo.checked_add(other.lo)?, self.hi.checked_add(other.hi)?))
    }

    /// Whether `cmp` holds for all or for no pair of values.
    pub fn compare(self, cmp: IntCmp, other: Range) -> Option<bool> {
        let below = |a: Range, b: Range| match (a.hi < b.lo, a.lo >= b.hi) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        match cmp {
            IntCmp::Lt => below(self, other),
            IntCmp::Gt => below(other, self),
            IntCmp::Ge => below(self, other).map(|b| !b),
            IntCmp::Le => below(other, self).map(|b| !b),
            IntCmp::Eq => (self.hi < other.lo || other.hi < self.lo).then_some(false),
            IntCmp::Ne => (self.hi < other.lo || other.hi < self.lo).then_some(true),
            // A negative number is above all others.
            IntCmp::Ult => match (self.is_natural(), self.hi < 0, other.is_natural(), other.hi < 0) {
                (true, _, true, _) => below(self, other),
                (true, _, _, true) => Some(true),
                (_, true, true, _) => Some(false),
                _ => None,
            },
        }
    }
}

impl Simplifier<'_> {
    pub(super) fn range(&self, value: Value) -> Range {
        self.range_at(value, DEPTH).unwrap_or(Range::ALL)
    }

    pub(super) fn is_natural(&self, value: Value) -> bool {
        self.range(value).is_natural()
    }

    fn range_at(&self, value: Value, depth: u32) -> Option<Range> {
        let depth = depth.checked_sub(1)?;
        let of = |value| self.range_at(value, depth).unwrap_or(Range::ALL);
        match *self.def(value)? {
            Op::IConst(n) => Some(Range::new(n, n)),
            Op::ArrayLen(..) => Some(Range::new(0, MAX_LENGTH)),
            // What was checked lies in an array.
            Op::CheckBounds(..) | Op::CheckIndex { .. } => Some(Range::new(0, MAX_LENGTH)),
            Op::LoadElem(ElemKind::Byte, ..) => Some(Range::new(0, 255)),
            Op::Unary(UnaryOp::BoolToInt, _) => Some(Range::new(0, 1)),
            Op::Unary(UnaryOp::PopCount | UnaryOp::LeadingZeros | UnaryOp::TrailingZeros, _) => Some(Range::new(0, 64)),
            Op::Select { then, els, .. } => {
                let (then, els) = (self.range_at(then, depth)?, self.range_at(els, depth)?);
                Some(Range::new(then.lo.min(els.lo), then.hi.max(els.hi)))
            }
            Op::Binary(op, a, b) => binary(op, of(a), of(b)),
            _ => None,
        }
    }
}

fn binary(op: BinaryOp, a: Range, b: Range) -> Option<Range> {
    let constant = (b.lo == b.hi).then_some(b.lo);
    match op {
        BinaryOp::IAdd => a.add(b),
        BinaryOp::ISub => a.add(Range::new(b.hi.checked_neg()?, b.lo.checked_neg()?)),
        // The mask's bits are all that is left.
        BinaryOp::IAnd if b.is_natural() => Some(Range::new(0, if a.is_natural() { a.hi.min(b.hi) } else { b.hi })),
        BinaryOp::IAnd if a.is_natural() => Some(Range::new(0, a.hi)),
        BinaryOp::IOr | BinaryOp::IXor if a.is_natural() && b.is_natural() => {
            let bits = 64 - (a.hi | b.hi).leading_zeros();
            Some(Range::new(0, ((1u128 << bits) - 1) as i64))
        }
        BinaryOp::IUShr => match constant? & 63 {
            0 => Some(a),
            by if a.is_natural() => Some(Range::new(a.lo >> by, a.hi >> by)),
            by => Some(Range::new(0, (u64::MAX >> by) as i64)),
        },
        BinaryOp::IShr => constant.map(|by| Range::new(a.lo >> (by & 63), a.hi >> (by & 63))),
        BinaryOp::IDiv => constant.filter(|&d| d > 0).map(|d| Range::new(a.lo / d, a.hi / d)),
        BinaryOp::IRem => {
            let limit = constant?.checked_abs().filter(|&d| d > 0)? - 1;
            Some(Range::new(if a.is_natural() { 0 } else { -limit }, if a.hi < limit && a.is_natural() { a.hi } else { limit }))
        }
        _ => None,
    }
}
