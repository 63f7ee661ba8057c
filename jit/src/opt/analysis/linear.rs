//! Indices that are linear expressions of an induction variable: `base + factor * i`, where base and factor do not change in the loop.
//!
//! In: a loop, its counted tests, an index in it. Out: the [`Span`] of the index: where it begins, where it ends at the latest, and what must be tested for that to be all.
//!
//! Why first and last index are enough. Let the variable go from `low` to `high` (whole numbers: it does not wrap), D = high - low. The index is low index + factor * (i - low) modulo 2^64. If factor is 1 or -1, or factor < 2^31 and D < 2^32
//! (which is tested), that is less than 2^64 above the low index; if 0 <= low index <= high index < 2^48, then the high index is the low one plus factor * D without a wrap, and all others lie between them.

use super::conditions::Place;
use super::induction::{Counted, Facts, Step, Tested};
use super::loops::LoopId;
use crate::ir::*;

/// Nested operations of an index.
const DEPTH: usize = 6;
/// Factors are below this.
pub const MAX_FACTOR: i64 = 1 << 31;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Factor {
    Const(i64),
    /// Of the same value in every round; not known to be positive.
    Value(Value),
}

/// A check's index is within the array in all rounds if it is for the first and the last value of `param`.
#[derive(Clone, PartialEq, Debug)]
pub struct Span {
    /// The header's parameter that changes.
    pub param: Value,
    /// The last value is at most (or, for a step down, at least) this, plus `beyond`.
    pub bound: Value,
    pub beyond: i64,
    pub is_up: bool,
    /// `start cmp bound`, where that is not known.
    pub guard: Option<IntCmp>,
    pub index: Value,
    pub length: Value,
    pub factor: Factor,
}

/// The span of a check's index, if the check runs for values within the bound of one of the loop's tests only.
pub fn span(facts: &Facts<'_>, id: LoopId, counted: &[Counted], index: Value, length: Value, place: Place) -> Option<Span> {
    if !is_outside(facts, id, length) {
        return None;
    }
    counted.iter().find_map(|c| {
        let (beyond, guard) = last_value(facts, c, place)?;
        let factor = factor(facts, id, c.induction.param, index, DEPTH)?;
        let is_used = match factor {
            Factor::Const(n) => n != 0 && n.unsigned_abs() < MAX_FACTOR.unsigned_abs(),
            Factor::Value(_) => true,
        };
        let is_up = matches!(c.induction.step, Step::Const(1..));
        let span = Span { param: c.induction.param, bound: c.bound, beyond, is_up, guard, index, length, factor };
        (is_used && is_outside(facts, id, c.bound)).then_some(span)
    })
}

/// The value is there before the loop: constants are placed anew.
fn is_outside(facts: &Facts<'_>, id: LoopId, value: Value) -> bool {
    facts.is_invariant(id, value)
}

/// How far past `bound` the variable goes at most where the check stands, and what must be tested first.
fn last_value(facts: &Facts<'_>, counted: &Counted, place: Place) -> Option<(i64, Option<IntCmp>)> {
    let Counted { cmp, tested, wraps, guarded, .. } = counted;
    let step = counted.induction.const_step()?;
    let (strict, toward) = match cmp {
        IntCmp::Lt => (true, 1),
        IntCmp::Gt => (true, -1),
        IntCmp::Le => (false, 1),
        IntCmp::Ge => (false, -1),
        _ => return None,
    };
    if step.signum() != toward {
        return None;
    }
    let single = strict && step.unsigned_abs() == 1;
    let within = if strict { -toward } else { 0 };
    match tested {
        // Within the bound at the header too, once it begins there. A single step from there does not wrap.
        Tested::Next => (!wraps || single).then_some((within, (!guarded).then_some(*cmp))),
        Tested::Param if *wraps => None,
        Tested::Param if is_behind(facts, counted, place) => Some((within, None)),
        // The round after the last value within the bound.
        Tested::Param => single.then_some((0, (!guarded).then_some(cmp.or_equal()))),
    }
}

/// Whether only the way on from the test leads to the place.
fn is_behind(facts: &Facts<'_>, counted: &Counted, place: Place) -> bool {
    let inside = counted.test.inside;
    facts.preds[inside].len() == 1 && facts.dominators.dominates(inside, place.block)
}

/// What the index gains when `param` grows by 1, if all else in it comes from outside, and the whole can be computed before the loop.
fn factor(facts: &Facts<'_>, id: LoopId, param: Value, value: Value, depth: usize) -> Option<Factor> {
    if value == param {
        return Some(Factor::Const(1));
    }
    if is_outside(facts, id, value) {
        return Some(Factor::Const(0));
    }
    let of = |v| factor(facts, id, param, v, depth.checked_sub(1)?);
    match *facts.defs.op(facts.func, value)? {
        Op::CheckIndex { index, .. } => of(index),
        Op::Binary(BinaryOp::IAdd, a, b) => match (of(a)?, of(b)?) {
            (Factor::Const(x), Factor::Const(y)) => Some(Factor::Const(x.checked_add(y)?)),
            (Factor::Const(0), other) | (other, Factor::Const(0)) => Some(other),
            _ => None,
        },
        Op::Binary(BinaryOp::ISub, a, b) => match (of(a)?, of(b)?) {
            (Factor::Const(x), Factor::Const(y)) => Some(Factor::Const(x.checked_sub(y)?)),
            (other, Factor::Const(0)) => Some(other),
            _ => None,
        },
        Op::Binary(BinaryOp::IMul, a, b) => match (of(a)?, of(b)?) {
            (Factor::Const(0), Factor::Const(0)) => Some(Factor::Const(0)),
            (Factor::Const(n), Factor::Const(0)) => times(facts, id, n, b),
            (Factor::Const(0), Factor::Const(n)) => times(facts, id, n, a),
            _ => None,
        },
        Op::Binary(BinaryOp::IShl, a, b) => match (of(a)?, facts.defs.int_const(facts.func, b)?) {
            (Factor::Const(n), by @ 0..31) => Some(Factor::Const(n.checked_mul(1 << by)?)),
            _ => None,
        },
        _ => None,
    }
}

/// A factor that is no constant is looked at before the loop.
fn times(facts: &Facts<'_>, id: LoopId, n: i64, by: Value) -> Option<Factor> {
    match facts.defs.int_const(facts.func, by) {
        Some(m) => Some(Factor::Const(n.checked_mul(m)?)),
        None => (n == 1 && is_outside(facts, id, by)).then_some(Factor::Value(by)),
    }
}
