//! What operations bound their results by, for [`Bounds`].
//!
//! In: an operation and a goal for its result. Out: whether the goal follows from goals for the operands, which are asked in turn; everything that may wrap around asks for room first.

use super::super::conditions::Term;
use super::super::induction::MAX_LENGTH;
use super::{Bounds, Extra, Goal, LIMIT, Point, Side};
use crate::ir::*;

/// Sums of two integers below this (in size) do not wrap.
const HALF: i128 = 1 << 62;

impl Bounds<'_> {
    pub(super) fn by_op(&self, op: &Op, goal: Goal) -> bool {
        let between = |low: i128, high: i128| self.constant(if goal.side == Side::Up { high } else { low }, goal);
        match *op {
            Op::ArrayLen(..) => between(0, i128::from(MAX_LENGTH) - 1),
            Op::LoadElem(ElemKind::Byte, ..) => between(0, 255),
            Op::Unary(UnaryOp::BoolToInt, _) => between(0, 1),
            Op::Unary(UnaryOp::PopCount | UnaryOp::LeadingZeros | UnaryOp::TrailingZeros, _) => between(0, 64),
            Op::CheckIndex { index, length, .. } => {
                let within = match goal.side {
                    Side::Up => self.prove(length, goal.with(1)),
                    Side::Down => self.constant(0, goal),
                };
                within || self.prove(index, goal)
            }
            Op::Select { cond, then, els } => {
                let arm = |v, is| self.prove(v, Goal { at: Point { extra: Extra::Cond(cond, is), ..goal.at }, ..goal });
                arm(then, true) && arm(els, false)
            }
            Op::Binary(BinaryOp::IAdd, a, b) => match self.conditions.facts.plus_const(op) {
                Some((y, n)) => self.offset(y, n.into(), goal),
                None => self.sum(a, b, goal) || self.sum(b, a, goal),
            },
            Op::Binary(BinaryOp::ISub, a, b) => match self.conditions.facts.plus_const(op) {
                // The negation of the smallest `Int` does not fit.
                Some((_, i64::MIN)) => false,
                Some((y, n)) => self.offset(y, n.into(), goal),
                None => self.difference(a, b, goal),
            },
            Op::Binary(op, a, b) => self.by_binary(op, a, b, goal),
            _ => false,
        }
    }

    fn by_binary(&self, op: BinaryOp, a: Value, b: Value, goal: Goal) -> bool {
        let fixed = |n: i128| self.constant(n, goal);
        let like = |v: Value| self.prove(v, goal) && self.not_negative(v, goal);
        let from_zero = || fixed(0) && self.not_negative(a, goal);
        let right = self.conditions.int_const(b);
        let up = goal.side == Side::Up;
        match op {
            BinaryOp::IAnd if up => like(a) || like(b),
            BinaryOp::IAnd => fixed(0) && (self.not_negative(a, goal) || self.not_negative(b, goal)),
            BinaryOp::IRem if up => like(a) || self.below_divisor(b, goal),
            BinaryOp::IRem => from_zero() || right.is_some_and(|n| n != 0 && fixed(1 - i128::from(n).abs())),
            BinaryOp::IUShr if right.is_some_and(|n| n & 63 != 0) => {
                let bits = 64 - (right.unwrap_or(0) & 63);
                if up { fixed((1 << bits) - 1) || like(a) } else { fixed(0) }
            }
            BinaryOp::IDiv | BinaryOp::IShr if self.is_half(op, right) && self.middle(a, goal) => true,
            BinaryOp::IDiv if right.is_none_or(|n| n <= 0) => false,
            BinaryOp::IDiv | BinaryOp::IShr | BinaryOp::IUShr => {
                if up {
                    like(a)
                } else {
                    from_zero()
                }
            }
            BinaryOp::IMul => {
                let is_small = |v| self.not_negative(v, goal) && self.prove(v, goal.absolute(Side::Up, 1 << 31));
                !up && fixed(0) && is_small(a) && is_small(b)
            }
            _ => false,
        }
    }

    /// A remainder that exists is smaller than what is divided by.
    fn below_divisor(&self, divisor: Value, goal: Goal) -> bool {
        match self.conditions.int_const(divisor) {
            Some(n) => n != 0 && self.constant(i128::from(n).abs() - 1, goal),
            None => self.prove(divisor, goal.with(1)) && self.not_negative(divisor, goal),
        }
    }

    fn is_half(&self, op: BinaryOp, right: Option<i64>) -> bool {
        right == Some(if op == BinaryOp::IDiv { 2 } else { 1 })
    }

    /// `y + n`, which may wrap.
    fn offset(&self, y: Value, n: i128, goal: Goal) -> bool {
        let by = goal.side.sign() * n;
        let room = LIMIT - i128::from(goal.side == Side::Down) - n.abs();
        self.prove(y, goal.with(-by)) && (by >= 0 || self.prove(y, goal.absolute(goal.side.other(), room)))
    }

    /// `p + q`, where `q` can only help, and nothing wraps.
    fn sum(&self, p: Value, q: Value, goal: Goal) -> bool {
        // An index that goes up from a base is bounded by the base only if it does not go up: nothing to count on.
        if goal.side == Side::Up && self.assuming.get().is_some() {
            return false;
        }
        let has_room = |v| self.prove(v, goal.absolute(goal.side.other(), HALF - 1));
        self.prove(p, goal) && self.prove(q, goal.absolute(goal.side, 0)) && has_room(p) && has_room(q)
    }

    /// `a - b`, where nothing negative is subtracted.
    fn difference(&self, a: Value, b: Value, goal: Goal) -> bool {
        match (goal.side, goal.target) {
            (Side::Up, _) => self.prove(a, goal) && self.not_negative(b, goal) && self.not_negative(a, goal),
            (Side::Down, Term::Zero) => {
                let (target, c) = self.conditions.term(Term::Value(a));
                let slack = goal.slack + c;
                self.prove(b, Goal { side: Side::Up, target, slack, ..goal }) && self.not_negative(b, goal)
            }
            (Side::Down, Term::Value(_)) => false,
        }
    }

    /// Half of a sum of what is not negative lies between its parts.
    fn middle(&self, sum: Value, goal: Goal) -> bool {
        let facts = &self.conditions.facts;
        let Some(&Op::Binary(BinaryOp::IAdd, a, b)) = facts.defs.op(facts.func, sum) else { return false };
        let fits = |v| self.prove(v, goal) && self.not_negative(v, goal) && self.prove(v, goal.absolute(Side::Up, HALF - 1));
        fits(a) && fits(b)
    }
}
