//! Booleans and choices.
//!
//! In: Boolean operations with at most one constant operand, which stands right, and `select`s. Out: the condition itself, a comparison, or fewer operations.

use super::{Rule, Simplifier, bool, op, value};
use crate::ir::*;

impl Simplifier<'_> {
    /// Of a comparison of floats only `==` and `!=` have an opposite: NaN is neither less nor not less.
    pub(super) fn bool_not(&mut self, a: Value) -> Rule {
        match *self.def(a)? {
            Op::Unary(UnaryOp::BNot, inner) => value(inner),
            Op::ICmp(cmp, x, y) => op(Op::ICmp(cmp.negated()?, x, y)),
            Op::FCmp(FloatCmp::Eq, x, y) => op(Op::FCmp(FloatCmp::Ne, x, y)),
            Op::FCmp(FloatCmp::Ne, x, y) => op(Op::FCmp(FloatCmp::Eq, x, y)),
            _ => None,
        }
    }

    pub(super) fn bool_binary(&mut self, binary: BinaryOp, a: Value, b: Value) -> Rule {
        use BinaryOp::*;
        if let Some(&Op::BConst(c)) = self.def(b) {
            return match (binary, c) {
                (BAnd, true) | (BOr | BXor, false) => value(a),
                (BAnd, false) => bool(false),
                (BOr, true) => bool(true),
                _ => op(Op::Unary(UnaryOp::BNot, a)),
            };
        }
        if a == b {
            return if binary == BXor { bool(false) } else { value(a) };
        }
        if self.is_opposite(a, b) {
            return bool(binary != BAnd);
        }
        let absorbed = if binary == BXor { None } else { self.absorbed(binary, a, b).or_else(|| self.absorbed(binary, b, a)) };
        absorbed.or_else(|| self.joined_compares(binary, a, b))
    }

    fn is_opposite(&self, a: Value, b: Value) -> bool {
        let is_not = |a, b| matches!(self.def(a), Some(&Op::Unary(UnaryOp::BNot, inner)) if inner == b);
        is_not(a, b) || is_not(b, a)
    }

    pub(super) fn select(&mut self, cond: Value, then: Value, els: Value) -> Rule {
        if let Some(&Op::BConst(c)) = self.def(cond) {
            return value(if c { then } else { els });
        }
        if then == els {
            return value(then);
        }
        match *self.def(cond).unwrap_or(&Op::Null) {
            Op::Unary(UnaryOp::BNot, inner) => return op(Op::Select { cond: inner, then: els, els: then }),
            Op::ICmp(IntCmp::Eq, x, y) | Op::RefEq(x, y) if is_pair((x, y), (then, els)) => return value(els),
            Op::ICmp(IntCmp::Ne, x, y) if is_pair((x, y), (then, els)) => return value(then),
            _ => {}
        }
        if let (Some(t), Some(e)) = (self.constant(then), self.constant(els))
            && self.func.values[then] != Ty::Bool
        {
            return self.select_const(cond, (then, t), (els, e));
        }
        if self.func.values[then] == Ty::Bool {
            return self.select_bool(cond, then, els);
        }
        self.nested_select(cond, then, els)
    }

    fn select_const(&mut self, cond: Value, (then, t): (Value, u64), (_, e): (Value, u64)) -> Rule {
        match (self.func.values[then], t, e) {
            (_, t, e) if t == e => value(then),
            (Ty::Int, 1, 0) => op(Op::Unary(UnaryOp::BoolToInt, cond)),
            (Ty::Int, 0, 1) => {
                let negated = self.emit(Op::Unary(UnaryOp::BNot, cond));
                op(Op::Unary(UnaryOp::BoolToInt, negated))
            }
            _ => None,
        }
    }

    fn select_bool(&mut self, cond: Value, then: Value, els: Value) -> Rule {
        let constant = |v| self.constant(v).map(|slot| slot != 0);
        match (constant(then), constant(els)) {
            (Some(true), Some(false)) => value(cond),
            (Some(false), Some(true)) => op(Op::Unary(UnaryOp::BNot, cond)),
            (Some(both), Some(_)) => bool(both),
            (Some(true), None) => op(Op::Binary(BinaryOp::BOr, cond, els)),
            (None, Some(false)) => op(Op::Binary(BinaryOp::BAnd, cond, then)),
            (Some(false), None) => {
                let negated = self.emit(Op::Unary(UnaryOp::BNot, cond));
                op(Op::Binary(BinaryOp::BAnd, negated, els))
            }
            (None, Some(true)) => {
                let negated = self.emit(Op::Unary(UnaryOp::BNot, cond));
                op(Op::Binary(BinaryOp::BOr, negated, then))
            }
            (None, None) => self.nested_select(cond, then, els),
        }
    }

    /// An arm that chooses by the same condition has chosen already.
    fn nested_select(&mut self, cond: Value, then: Value, els: Value) -> Rule {
        let inner = |arm: Value| match self.def(arm) {
            Some(&Op::Select { cond: same, then, els }) if same == cond => Some((then, els)),
            _ => None,
        };
        match (inner(then), inner(els)) {
            (Some((then, _)), _) => op(Op::Select { cond, then, els }),
            (_, Some((_, els))) => op(Op::Select { cond, then, els }),
            _ => self.shared_arm(cond, then, els),
        }
    }

    /// Two choices with an arm in common are one by both conditions, if the first may be negated for nothing.
    fn shared_arm(&mut self, cond: Value, then: Value, els: Value) -> Rule {
        let inner = |arm: Value| match self.def(arm) {
            Some(&Op::Select { cond, then, els }) => Some((cond, then, els)),
            _ => None,
        };
        let is_free = matches!(self.def(cond), Some(Op::ICmp(cmp, ..)) if cmp.negated().is_some());
        let (negate, join, (second, x, y)) = match (inner(then), inner(els)) {
            (_, Some(arm)) if arm.1 == then => (false, BinaryOp::BOr, arm),
            (_, Some(arm)) if arm.2 == then && is_free => (true, BinaryOp::BAnd, arm),
            (Some(arm), _) if arm.2 == els => (false, BinaryOp::BAnd, arm),
            (Some(arm), _) if arm.1 == els && is_free => (true, BinaryOp::BOr, arm),
            _ => return None,
        };
        let first = if negate { self.emit(Op::Unary(UnaryOp::BNot, cond)) } else { cond };
        let both = self.emit(Op::Binary(join, first, second));
        op(Op::Select { cond: both, then: x, els: y })
    }
}

/// In either order.
fn is_pair(a: (Value, Value), b: (Value, Value)) -> bool {
    a == b || (a.1, a.0) == b
}
