//! Floats, to the bit: only what IEEE 754 gives for every operand, -0.0, infinities and NaN (whichever) included.

use super::{Rule, Simplifier, op, value};
use crate::ir::*;

const ONE: f64 = 1.0;

impl Simplifier<'_> {
    pub(super) fn float_unary(&mut self, unary: UnaryOp, a: Value) -> Rule {
        use UnaryOp::*;
        match (unary, self.def(a)?) {
            (FNeg, &Op::Unary(FNeg, inner)) => value(inner),
            (FAbs, &Op::Unary(FAbs, _)) => value(a),
            (FAbs, &Op::Unary(FNeg, inner)) => op(Op::Unary(FAbs, inner)),
            _ => None,
        }
    }

    pub(super) fn float_binary(&mut self, binary: BinaryOp, a: Value, b: Value) -> Rule {
        use BinaryOp::*;
        if let Some(&Op::FConst(bits)) = self.def(b) {
            return self.float_with_const(binary, a, f64::from_bits(bits));
        }
        match (binary, self.def(a), self.def(b)) {
            (FAdd, _, Some(&Op::Unary(UnaryOp::FNeg, y))) => op(Op::Binary(FSub, a, y)),
            (FAdd, Some(&Op::Unary(UnaryOp::FNeg, x)), _) => op(Op::Binary(FSub, b, x)),
            (FSub, _, Some(&Op::Unary(UnaryOp::FNeg, y))) => op(Op::Binary(FAdd, a, y)),
            (FMul | FDiv, Some(&Op::Unary(UnaryOp::FNeg, x)), Some(&Op::Unary(UnaryOp::FNeg, y))) => op(Op::Binary(binary, x, y)),
            _ => None,
        }
    }

    fn float_with_const(&mut self, binary: BinaryOp, a: Value, c: f64) -> Rule {
        use BinaryOp::*;
        let is_zero = |sign: bool| c == 0.0 && c.is_sign_negative() == sign;
        match binary {
            // x + 0.0 and x - -0.0 turn -0.0 into 0.0.
            FAdd if is_zero(true) => value(a),
            FSub if is_zero(false) => value(a),
            FMul | FDiv if c == ONE => value(a),
            FMul | FDiv if c == -ONE => op(Op::Unary(UnaryOp::FNeg, a)),
            // A sum is there sooner than a product on many processors.
            FMul if c == 2.0 => op(Op::Binary(FAdd, a, a)),
            FDiv => {
                let reciprocal = self.emit(Op::FConst(exact_reciprocal(c)?.to_bits()));
                op(Op::Binary(FMul, a, reciprocal))
            }
            _ => None,
        }
    }

    pub(super) fn float_compare(&mut self, cmp: FloatCmp, a: Value, b: Value) -> Rule {
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            return super::bool(eval::float_cmp(cmp, x, y));
        }
        self.constant(a)?;
        op(Op::FCmp(cmp.swapped(), b, a))
    }
}

/// `1 / c` where both are powers of two and normal: then `x * (1 / c)` is `x / c` rounded once, too.
fn exact_reciprocal(c: f64) -> Option<f64> {
    let reciprocal = ONE / c;
    let is_power = |f: f64| f.is_normal() && f.to_bits() << 12 == 0;
    (is_power(c) && is_power(reciprocal)).then_some(reciprocal)
}
