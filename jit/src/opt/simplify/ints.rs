//! Integer arithmetic, modulo 2^64 throughout.
//!
//! In: an operation with at most one constant operand, which stands right if it can. Out: a cheaper one, or one in the form that others look for. Division by a constant stays a division unless the operand's sign is known: the
//! machine code has multiplications and shifts for it.

use super::{Rule, Simplifier, int, op, value};
use crate::ir::*;

impl Simplifier<'_> {
    pub(super) fn int_unary(&mut self, unary: UnaryOp, a: Value) -> Rule {
        match (unary, self.def(a)?) {
            (UnaryOp::INeg, &Op::Unary(UnaryOp::INeg, inner)) | (UnaryOp::INot, &Op::Unary(UnaryOp::INot, inner)) => value(inner),
            (UnaryOp::INeg, &Op::Binary(BinaryOp::ISub, x, y)) => op(Op::Binary(BinaryOp::ISub, y, x)),
            _ => None,
        }
    }

    pub(super) fn int_binary(&mut self, binary: BinaryOp, a: Value, b: Value) -> Rule {
        if let Some(c) = self.int(b) {
            return self.int_with_const(binary, a, c);
        }
        if a == b {
            return of_equal(binary, a);
        }
        match binary {
            BinaryOp::IAdd => self.add(a, b),
            BinaryOp::ISub => self.sub(a, b),
            // 0 shifted is 0; all ones stay all ones in an arithmetic shift right.
            BinaryOp::IShl | BinaryOp::IUShr if self.int(a) == Some(0) => int(0),
            BinaryOp::IShr => self.int(a).filter(|n| matches!(n, 0 | -1)).and_then(int),
            BinaryOp::IAnd | BinaryOp::IOr => self.absorbed(binary, a, b).or_else(|| self.absorbed(binary, b, a)),
            BinaryOp::IXor => self.cancelled(a, b).or_else(|| self.cancelled(b, a)),
            _ => None,
        }
    }

    fn add(&mut self, a: Value, b: Value) -> Rule {
        match (self.def(a), self.def(b)) {
            (_, Some(&Op::Unary(UnaryOp::INeg, y))) => op(Op::Binary(BinaryOp::ISub, a, y)),
            (Some(&Op::Unary(UnaryOp::INeg, x)), _) => op(Op::Binary(BinaryOp::ISub, b, x)),
            (Some(&Op::Binary(BinaryOp::ISub, x, y)), _) if y == b => value(x),
            (_, Some(&Op::Binary(BinaryOp::ISub, x, y))) if y == a => value(x),
            _ => None,
        }
    }

    fn sub(&mut self, a: Value, b: Value) -> Rule {
        if self.int(a) == Some(0) {
            return op(Op::Unary(UnaryOp::INeg, b));
        }
        if let (Some(c), Some((x, d))) = (self.int(a), self.with_const(BinaryOp::IAdd, b)) {
            let left = self.emit(Op::IConst(c.wrapping_sub(d)));
            return op(Op::Binary(BinaryOp::ISub, left, x));
        }
        match (self.def(a), self.def(b)) {
            (_, Some(&Op::Unary(UnaryOp::INeg, y))) => op(Op::Binary(BinaryOp::IAdd, a, y)),
            (Some(&Op::Binary(BinaryOp::IAdd, x, y)), _) if x == b => value(y),
            (Some(&Op::Binary(BinaryOp::IAdd, x, y)), _) if y == b => value(x),
            (_, Some(&Op::Binary(BinaryOp::ISub, x, y))) if x == a => value(y),
            (_, Some(&Op::Binary(BinaryOp::IAdd, x, y))) if x == a => op(Op::Unary(UnaryOp::INeg, y)),
            (_, Some(&Op::Binary(BinaryOp::IAdd, x, y))) if y == a => op(Op::Unary(UnaryOp::INeg, x)),
            _ => None,
        }
    }

    /// `a & (a | x)` and `a | (a & x)` are `a`; `a & (a & x)` and `a | (a | x)` are the inner one. Of bits and of truth values.
    pub(super) fn absorbed(&self, binary: BinaryOp, a: Value, b: Value) -> Rule {
        use BinaryOp::*;
        match *self.def(b)? {
            Op::Binary(inner, x, y) if inner == binary && (x == a || y == a) => value(b),
            Op::Binary(IAnd | IOr | BAnd | BOr, x, y) if x == a || y == a => value(a),
            _ => None,
        }
    }

    /// `a ^ (a ^ x)`
    fn cancelled(&self, a: Value, b: Value) -> Rule {
        match *self.def(b)? {
            Op::Binary(BinaryOp::IXor, x, y) if x == a => value(y),
            Op::Binary(BinaryOp::IXor, x, y) if y == a => value(x),
            _ => None,
        }
    }

    fn int_with_const(&mut self, binary: BinaryOp, a: Value, c: i64) -> Rule {
        use BinaryOp::*;
        match (binary, c) {
            (ISub, _) => self.with(IAdd, a, c.wrapping_neg()),
            (IAdd | IOr | IXor, 0) | (IMul | IDiv, 1) | (IAnd, -1) => value(a),
            (IMul | IAnd, 0) | (IRem, 1 | -1) => int(0),
            (IOr, -1) => int(-1),
            (IMul | IDiv, -1) => op(Op::Unary(UnaryOp::INeg, a)),
            (IXor, -1) => op(Op::Unary(UnaryOp::INot, a)),
            (IMul, _) if c.count_ones() == 1 => self.with(IShl, a, i64::from(c.trailing_zeros())),
            (IAdd | IMul | IAnd | IOr | IXor, _) => self.reassociated(binary, a, c),
            (IShl | IShr | IUShr, _) => self.shift(binary, a, c),
            (IDiv, _) => self.divide(a, c),
            (IRem, _) => self.remainder(a, c),
            _ => None,
        }
    }

    /// With a constant that is emitted.
    fn with(&mut self, binary: BinaryOp, a: Value, c: i64) -> Rule {
        let c = self.emit(Op::IConst(c));
        op(Op::Binary(binary, a, c))
    }

    /// `(x op d) op c`
    fn reassociated(&mut self, binary: BinaryOp, a: Value, c: i64) -> Rule {
        use BinaryOp::*;
        if let Some((x, d)) = self.with_const(binary, a) {
            let both = eval::binary(binary, d as u64, c as u64)?;
            return self.with(binary, x, both as i64);
        }
        match (binary, self.def(a)?) {
            (IAdd, &Op::Binary(ISub, d, x)) => {
                let d = self.int(d)?;
                let both = self.emit(Op::IConst(d.wrapping_add(c)));
                op(Op::Binary(ISub, both, x))
            }
            (IMul, &Op::Binary(IShl, x, by)) => {
                let factor = 1i64.wrapping_shl(self.int(by)? as u32);
                self.with(IMul, x, c.wrapping_mul(factor))
            }
            (IMul, &Op::Unary(UnaryOp::INeg, x)) => self.with(IMul, x, c.wrapping_neg()),
            // The bits that the mask would clear are clear.
            (IAnd, _) if is_low_mask(c) && self.range(a).is_natural() && self.range(a).hi <= c => value(a),
            _ => None,
        }
    }

    fn shift(&mut self, binary: BinaryOp, a: Value, count: i64) -> Rule {
        use BinaryOp::*;
        let by = count & 63;
        if by == 0 {
            return value(a);
        }
        if by != count {
            return self.with(binary, a, by);
        }
        if let Some((x, before)) = self.with_const(binary, a) {
            return match (before & 63) + by {
                sum @ 0..=63 => self.with(binary, x, sum),
                _ if binary == IShr => self.with(IShr, x, 63),
                _ => int(0),
            };
        }
        // The way there and back is a mask.
        match (binary, self.with_const(IShl, a), self.with_const(IUShr, a)) {
            (IUShr, Some((x, before)), _) if before & 63 == by => self.with(IAnd, x, (u64::MAX >> by) as i64),
            (IShl, _, Some((x, before))) if before & 63 == by => self.with(IAnd, x, (u64::MAX << by) as i64),
            _ => None,
        }
    }

    fn divide(&mut self, a: Value, c: i64) -> Rule {
        match c {
            // Only MIN reaches it.
            i64::MIN => {
                let min = self.emit(Op::IConst(i64::MIN));
                let equal = self.emit(Op::ICmp(IntCmp::Eq, a, min));
                op(Op::Unary(UnaryOp::BoolToInt, equal))
            }
            2.. if c.count_ones() == 1 && self.is_natural(a) => self.with(BinaryOp::IShr, a, i64::from(c.trailing_zeros())),
            2.. if self.is_natural(a) && self.range(a).hi < c => int(0),
            _ => None,
        }
    }

    /// The sign is the dividend's, whatever the divisor's.
    fn remainder(&mut self, a: Value, c: i64) -> Rule {
        match c {
            i64::MIN | 0 => None,
            ..0 => self.with(BinaryOp::IRem, a, -c),
            _ if !self.is_natural(a) => None,
            _ if self.range(a).hi < c => value(a),
            _ if c.count_ones() == 1 => self.with(BinaryOp::IAnd, a, c - 1),
            _ => None,
        }
    }
}

/// `x op x`
fn of_equal(binary: BinaryOp, x: Value) -> Rule {
    match binary {
        BinaryOp::ISub | BinaryOp::IXor => int(0),
        BinaryOp::IAnd | BinaryOp::IOr => value(x),
        // A division by zero must throw, so not x / x.
        _ => None,
    }
}

/// Ones below zeros.
fn is_low_mask(c: i64) -> bool {
    c > 0 && (c as u64 + 1).is_power_of_two()
}
