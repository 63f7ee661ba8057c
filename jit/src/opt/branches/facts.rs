//! What is known at a place because of the branches on the way there.
//!
//! In: conditions that hold, in the order of a walk down the dominator tree. Out: answers to whether other conditions hold; [`Facts::undo`] forgets what was learned since a mark.
//! Comparisons are kept as intervals of values compared with constants, and as what is left of less, equal, greater for pairs of values.

use crate::ir::*;
use crate::opt::analysis::defs::Defs;
use crate::opt::analysis::interval::Interval;
use rustc_hash::FxHashMap;

/// How deep a condition made of others is taken apart.
const DEPTH: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Key {
    Bool(Value),
    Int(Value),
    Pair(Value, Value),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fact {
    Bool(bool),
    Int(Interval),
    /// Outcomes that are possible, as [`IntCmp::outcomes`] numbers them.
    Pair(u8),
}

/// Any of less, equal, greater.
const ANY: u8 = 0b111;

#[derive(Default)]
pub(super) struct Facts {
    known: FxHashMap<Key, Fact>,
    /// What was known before, for each change.
    log: Vec<(Key, Option<Fact>)>,
}

#[derive(Clone, Copy)]
pub(super) struct Mark(usize);

impl Facts {
    pub fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    pub fn undo(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            let (key, before) = self.log.pop().expect("longer than the mark");
            match before {
                Some(fact) => _ = self.known.insert(key, fact),
                None => _ = self.known.remove(&key),
            }
        }
    }

    fn set(&mut self, key: Key, fact: Fact) {
        let before = self.known.insert(key, fact);
        self.log.push((key, before));
    }

    /// What the edge of a terminator tells those who come over it.
    pub fn learn_edge(&mut self, func: &Function, defs: &Defs, terminator: &Terminator, edge: usize) {
        match terminator {
            Terminator::Branch { cond, .. } => self.learn(func, defs, *cond, edge == 0),
            Terminator::Switch { index, targets, .. } if edge < targets.len() => {
                self.set(Key::Int(*index), Fact::Int(Interval::new(edge as i64, edge as i64)));
            }
            _ => {}
        }
    }

    /// `cond` is `holds`.
    fn learn(&mut self, func: &Function, defs: &Defs, cond: Value, holds: bool) {
        let mut work = vec![(cond, holds, DEPTH)];
        while let Some((cond, holds, depth)) = work.pop() {
            self.set(Key::Bool(cond), Fact::Bool(holds));
            let Some(depth) = depth.checked_sub(1) else { continue };
            match defs.op(func, cond) {
                Some(&Op::Unary(UnaryOp::BNot, inner)) => work.push((inner, !holds, depth)),
                Some(&Op::Binary(BinaryOp::BAnd, a, b)) if holds => work.extend([(a, true, depth), (b, true, depth)]),
                Some(&Op::Binary(BinaryOp::BOr, a, b)) if !holds => work.extend([(a, false, depth), (b, false, depth)]),
                Some(&Op::ICmp(cmp, a, b)) => {
                    let cmp = if holds { Some(cmp) } else { cmp.negated() };
                    cmp.into_iter().for_each(|cmp| self.learn_compare(func, defs, cmp, a, b));
                }
                Some(&Op::RefEq(a, b)) if matches!(defs.op(func, b), Some(Op::Null)) => self.learn_null(a, holds),
                _ => {}
            }
        }
    }

    /// Null is 0, and every object more.
    fn learn_null(&mut self, value: Value, is_null: bool) {
        let interval = if is_null { Interval::new(0, 0) } else { Interval::new(1, i64::MAX) };
        self.set(Key::Int(value), Fact::Int(interval));
    }

    fn learn_compare(&mut self, func: &Function, defs: &Defs, cmp: IntCmp, a: Value, b: Value) {
        if let Some(c) = defs.int_const(func, b) {
            let before = self.interval(a);
            // Nothing left: control does not come here.
            before.where_holds(cmp, c).into_iter().for_each(|left| self.set(Key::Int(a), Fact::Int(left)));
        } else if let Some(possible) = cmp.outcomes() {
            let (key, turned) = pair(a, b);
            let before = self.outcomes_of(key);
            self.set(key, Fact::Pair(before & if turned { reversed(possible) } else { possible }));
        }
    }

    fn interval(&self, value: Value) -> Interval {
        match self.known.get(&Key::Int(value)) {
            Some(&Fact::Int(interval)) => interval,
            _ => Interval::ALL,
        }
    }

    fn outcomes_of(&self, key: Key) -> u8 {
        match self.known.get(&key) {
            Some(&Fact::Pair(possible)) => possible,
            _ => ANY,
        }
    }

    /// A condition that was branched on, or follows from one.
    pub fn bool(&self, cond: Value) -> Option<bool> {
        match self.known.get(&Key::Bool(cond)) {
            Some(&Fact::Bool(holds)) => Some(holds),
            _ => None,
        }
    }

    /// The number a value must be.
    pub fn int(&self, value: Value) -> Option<i64> {
        let Interval { lo, hi } = self.interval(value);
        (lo == hi).then_some(lo)
    }

    pub fn compare_const(&self, cmp: IntCmp, a: Value, c: i64) -> Option<bool> {
        self.interval(a).compare(cmp, Interval::new(c, c))
    }

    pub fn compare(&self, cmp: IntCmp, a: Value, b: Value) -> Option<bool> {
        if a == b {
            return Some(matches!(cmp, IntCmp::Eq | IntCmp::Le | IntCmp::Ge));
        }
        let (key, turned) = pair(a, b);
        let known = self.outcomes_of(key);
        let wanted = cmp.outcomes().map(|w| if turned { reversed(w) } else { w });
        match wanted {
            // What cannot be is anything.
            Some(wanted) if known & !wanted == 0 => Some(true),
            Some(wanted) if known & wanted == 0 => Some(false),
            _ => self.interval(a).compare(cmp, self.interval(b)),
        }
    }
}

/// In one order, and whether that is the other one.
fn pair(a: Value, b: Value) -> (Key, bool) {
    if a <= b { (Key::Pair(a, b), false) } else { (Key::Pair(b, a), true) }
}

/// With less and greater exchanged.
fn reversed(outcomes: u8) -> u8 {
    outcomes & 0b010 | (outcomes & 1) << 2 | outcomes >> 2
}
