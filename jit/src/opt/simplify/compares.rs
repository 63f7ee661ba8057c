//! Comparisons of integers.
//!
//! In: two operands. Out: a constant where their ranges decide, a comparison of what they were computed from, or a Boolean that the answer depends on. What would be wrong for a sum that wraps around is not done: `x + 1 < c` stays.

use super::{Rule, Simplifier, bool, op, value};
use crate::ir::*;

impl Simplifier<'_> {
    pub(super) fn int_compare(&mut self, cmp: IntCmp, a: Value, b: Value) -> Rule {
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            return bool(eval::int_cmp(cmp, x, y));
        }
        if a == b {
            return bool(matches!(cmp, IntCmp::Eq | IntCmp::Le | IntCmp::Ge));
        }
        if let (Some(_), Some(swapped)) = (self.int(a), cmp.swapped()) {
            return op(Op::ICmp(swapped, b, a));
        }
        if let Some(known) = self.range(a).compare(cmp, self.range(b)) {
            return bool(known);
        }
        match self.int(b) {
            Some(c) => self.compare_const(cmp, a, c),
            None => self.compare_values(cmp, a, b),
        }
    }

    fn compare_values(&mut self, cmp: IntCmp, a: Value, b: Value) -> Rule {
        if !matches!(cmp, IntCmp::Eq | IntCmp::Ne) {
            return None;
        }
        // Equal sums with one equal part have equal other parts, wrapped or not.
        match (self.def(a)?, self.def(b)?) {
            (&Op::Binary(f, x, p), &Op::Binary(g, y, q)) if f == g && matches!(f, BinaryOp::IAdd | BinaryOp::IXor | BinaryOp::ISub) => {
                if p == q || self.int(p).is_some() && self.int(p) == self.int(q) {
                    op(Op::ICmp(cmp, x, y))
                } else if x == y {
                    op(Op::ICmp(cmp, p, q))
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    fn compare_const(&mut self, cmp: IntCmp, a: Value, c: i64) -> Rule {
        match (cmp, c) {
            (IntCmp::Eq | IntCmp::Ne, _) => {
                if let Some(rule) = self.equal_const(cmp, a, c) {
                    return Some(rule);
                }
            }
            (IntCmp::Ult, 1) => return self.compare_with(IntCmp::Eq, a, 0),
            (IntCmp::Le, i64::MIN) => return self.compare_with(IntCmp::Eq, a, c),
            (IntCmp::Ge, i64::MAX) => return self.compare_with(IntCmp::Eq, a, c),
            _ => {}
        }
        self.compare_choice(cmp, a, c)
    }

    /// `x op d == c`, where `op` with `d` can be undone.
    fn equal_const(&mut self, cmp: IntCmp, a: Value, c: i64) -> Rule {
        use BinaryOp::*;
        match *self.def(a)? {
            Op::Unary(UnaryOp::INeg, x) => self.compare_with(cmp, x, c.wrapping_neg()),
            Op::Unary(UnaryOp::INot, x) => self.compare_with(cmp, x, !c),
            Op::Binary(ISub | IXor, x, y) if c == 0 => op(Op::ICmp(cmp, x, y)),
            Op::Binary(IAdd, x, d) => {
                let d = self.int(d)?;
                self.compare_with(cmp, x, c.wrapping_sub(d))
            }
            Op::Binary(IXor, x, d) => {
                let d = self.int(d)?;
                self.compare_with(cmp, x, c ^ d)
            }
            Op::Binary(ISub, d, x) => {
                let d = self.int(d)?;
                self.compare_with(cmp, x, d.wrapping_sub(c))
            }
            // Whether a power of two divides is in the low bits, for negative numbers too.
            Op::Binary(IRem, x, d) if c == 0 => {
                let d = self.int(d).filter(|d| *d != 0 && d.unsigned_abs().is_power_of_two())?;
                let mask = self.emit(Op::IConst((d.unsigned_abs() - 1) as i64));
                let low = self.emit(Op::Binary(IAnd, x, mask));
                self.compare_with(cmp, low, 0)
            }
            _ => None,
        }
    }

    fn compare_with(&mut self, cmp: IntCmp, a: Value, c: i64) -> Rule {
        let c = self.emit(Op::IConst(c));
        op(Op::ICmp(cmp, a, c))
    }

    /// A choice between constants, or between a constant and another choice, is answered by its condition.
    fn compare_choice(&mut self, cmp: IntCmp, a: Value, c: i64) -> Rule {
        let holds = |n: i64| eval::int_cmp(cmp, n as u64, c as u64);
        match *self.def(a)? {
            Op::Unary(UnaryOp::BoolToInt, b) => self.choice(b, holds(1), holds(0)),
            Op::Select { cond, then, els } => match (self.int(then), self.int(els)) {
                (Some(t), Some(e)) => self.choice(cond, holds(t), holds(e)),
                (Some(t), None) if self.is_choice(els) => {
                    let rest = self.emit_compare(cmp, els, c);
                    self.choice_or(cond, holds(t), rest)
                }
                (None, Some(e)) if self.is_choice(then) => {
                    let rest = self.emit_compare(cmp, then, c);
                    let negated = self.emit(Op::Unary(UnaryOp::BNot, cond));
                    self.choice_or(negated, holds(e), rest)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn emit_compare(&mut self, cmp: IntCmp, a: Value, c: i64) -> Value {
        let c = self.emit(Op::IConst(c));
        self.emit(Op::ICmp(cmp, a, c))
    }

    /// Whether a comparison with a constant becomes something Boolean.
    fn is_choice(&self, value: Value) -> bool {
        match self.def(value) {
            Some(&Op::Unary(UnaryOp::BoolToInt, _)) => true,
            Some(&Op::Select { then, els, .. }) => self.int(then).is_some() && self.int(els).is_some(),
            _ => false,
        }
    }

    /// `cond ? then : els`
    fn choice(&mut self, cond: Value, then: bool, els: bool) -> Rule {
        match (then, els) {
            (true, false) => value(cond),
            (false, true) => op(Op::Unary(UnaryOp::BNot, cond)),
            (both, _) => bool(both),
        }
    }

    /// `cond ? then : rest`
    fn choice_or(&mut self, cond: Value, then: bool, rest: Value) -> Rule {
        if then {
            return op(Op::Binary(BinaryOp::BOr, cond, rest));
        }
        let negated = self.emit(Op::Unary(UnaryOp::BNot, cond));
        op(Op::Binary(BinaryOp::BAnd, negated, rest))
    }

    /// Two comparisons of the same operands, joined by `binary`.
    pub(super) fn joined_compares(&mut self, binary: BinaryOp, a: Value, b: Value) -> Rule {
        let (&Op::ICmp(f, x, y), &Op::ICmp(g, p, q)) = (self.def(a)?, self.def(b)?) else { return None };
        let same = |v: Value, w: Value| v == w || self.int(v).is_some() && self.int(v) == self.int(w);
        let g = match (same(x, p) && same(y, q), same(x, q) && same(y, p)) {
            (true, _) => g,
            (_, true) => g.swapped()?,
            _ => return self.interval(binary, (f, x, y), (g, p, q)),
        };
        let (f, g) = (f.outcomes()?, g.outcomes()?);
        match IntCmp::with_outcomes(match binary {
            BinaryOp::BAnd => f & g,
            BinaryOp::BOr => f | g,
            _ => f ^ g,
        }) {
            Ok(cmp) => op(Op::ICmp(cmp, x, y)),
            Err(known) => bool(known),
        }
    }

    /// `lo <= x && x <= hi` is one unsigned comparison of `x - lo`, and its opposite too.
    fn interval(&mut self, binary: BinaryOp, f: (IntCmp, Value, Value), g: (IntCmp, Value, Value)) -> Rule {
        let is_and = match binary {
            BinaryOp::BAnd => true,
            BinaryOp::BOr => false,
            _ => return None,
        };
        let x = f.1;
        if x != g.1 {
            return None;
        }
        let bound = |(cmp, _, c): (IntCmp, Value, Value)| {
            let cmp = if is_and { Some(cmp) } else { cmp.negated() };
            Bound::new(cmp?, self.int(c)?)
        };
        let (lo, hi) = match (bound(f)?, bound(g)?) {
            (Bound::Low(lo), Bound::High(hi)) | (Bound::High(hi), Bound::Low(lo)) => (lo, hi),
            _ => return None,
        };
        if lo > hi {
            return bool(!is_and);
        }
        // Too wide for an `Int` is rare; then it stays two comparisons.
        let width = hi.checked_sub(lo)?.checked_add(1)?;
        let from_lo = {
            let minus = self.emit(Op::IConst(lo.wrapping_neg()));
            self.emit(Op::Binary(BinaryOp::IAdd, x, minus))
        };
        let width = self.emit(Op::IConst(width));
        let inside = Op::ICmp(IntCmp::Ult, from_lo, width);
        if is_and {
            return op(inside);
        }
        let inside = self.emit(inside);
        op(Op::Unary(UnaryOp::BNot, inside))
    }
}

/// What a comparison with a constant says of the other side; the bound is included.
enum Bound {
    Low(i64),
    High(i64),
}

impl Bound {
    fn new(cmp: IntCmp, c: i64) -> Option<Bound> {
        match cmp {
            IntCmp::Lt => c.checked_sub(1).map(Bound::High),
            IntCmp::Le => Some(Bound::High(c)),
            IntCmp::Gt => c.checked_add(1).map(Bound::Low),
            IntCmp::Ge => Some(Bound::Low(c)),
            IntCmp::Eq | IntCmp::Ne | IntCmp::Ult => None,
        }
    }
}
