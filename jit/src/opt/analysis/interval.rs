//! Sets of `Int`s from one number to another.
//!
//! In: bounds, comparisons. Out: what comparisons give for all of a set, and what they leave of it.

use crate::ir::IntCmp;

/// Both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    pub lo: i64,
    pub hi: i64,
}

impl Interval {
    pub const ALL: Interval = Interval { lo: i64::MIN, hi: i64::MAX };

    pub fn new(lo: i64, hi: i64) -> Interval {
        Interval { lo, hi }
    }

    /// Nothing in it is negative.
    pub fn is_natural(self) -> bool {
        self.lo >= 0
    }

    /// `None`: a sum may wrap around.
    pub fn checked_add(self, other: Interval) -> Option<Interval> {
        Some(Interval::new(self.lo.checked_add(other.lo)?, self.hi.checked_add(other.hi)?))
    }

    /// Whether `cmp` holds for all or for no pair of values.
    pub fn compare(self, cmp: IntCmp, other: Interval) -> Option<bool> {
        let below = |a: Interval, b: Interval| match (a.hi < b.lo, a.lo >= b.hi) {
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

    /// What is left of the interval where `cmp` with `c` holds; `None`: nothing.
    pub fn where_holds(self, cmp: IntCmp, c: i64) -> Option<Interval> {
        let Interval { lo, hi } = self;
        let (lo, hi) = match cmp {
            IntCmp::Eq => (lo.max(c), hi.min(c)),
            IntCmp::Ne if c == lo => (lo.checked_add(1)?, hi),
            IntCmp::Ne if c == hi => (lo, hi.checked_sub(1)?),
            IntCmp::Lt => (lo, hi.min(c.checked_sub(1)?)),
            IntCmp::Le => (lo, hi.min(c)),
            IntCmp::Gt => (lo.max(c.checked_add(1)?), hi),
            IntCmp::Ge => (lo.max(c), hi),
            IntCmp::Ult if c > 0 => (lo.max(0), hi.min(c - 1)),
            IntCmp::Ne | IntCmp::Ult => (lo, hi),
        };
        (lo <= hi).then_some(Interval { lo, hi })
    }
}
