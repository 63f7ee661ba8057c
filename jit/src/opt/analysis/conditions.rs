//! What branches, checks and operations that did not throw say about integers, and from where on it holds.
//!
//! In: a function with its analyses. Out: [`Conditions`]: inequalities `x <= y + c` over whole numbers by value, each with the [`Place`] whose dominated code it holds in. An edge into a block that others lead to as well says nothing by place;
//! [`Conditions::edge_says`] is asked for it.

use super::bounds::{LIMIT, Side};
use super::induction::{Facts, MAX_LENGTH};
use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// Conditions taken apart for one branch.
const PARTS: usize = 16;

/// What is compared: a value, or 0, which constants are measured from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    Zero,
    Value(Value),
}

/// From before the instruction at `position` on.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub block: Block,
    pub position: usize,
}

impl Place {
    pub fn start(block: Block) -> Place {
        Place { block, position: 0 }
    }

    pub fn end(block: Block) -> Place {
        Place { block, position: usize::MAX }
    }
}

/// `value <= slack` (`Up`) or `value >= -slack` (`Down`) must be proven first.
pub type Need = (Side, Value, i128);

/// `x <= y + c`.
#[derive(Clone, Copy, Debug)]
pub struct Constraint {
    pub x: Term,
    pub y: Term,
    pub c: i128,
    pub needs: Option<Need>,
}

/// Of a value on one side: `value <= other + by`, or `value >= other - by`.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub other: Term,
    pub by: i128,
    pub place: Place,
    pub needs: Option<Need>,
}

pub struct Conditions<'a> {
    pub facts: Facts<'a>,
    above: SecondaryMap<Value, Vec<Known>>,
    below: SecondaryMap<Value, Vec<Known>>,
}

impl<'a> Conditions<'a> {
    pub fn new(facts: Facts<'a>) -> Conditions<'a> {
        let values = facts.func.values.len();
        let (above, below) = (SecondaryMap::with_capacity(values), SecondaryMap::with_capacity(values));
        let mut this = Conditions { facts, above, below };
        for &block in facts.dominators.preorder() {
            let mut found: Vec<(Place, Constraint)> = Vec::new();
            if let Some((pred, edge)) = this.only_entry(block) {
                this.entry_says(pred, edge, &mut |c| found.push((Place::start(block), c)));
            }
            for (i, &inst) in facts.func.blocks[block].insts.iter().enumerate() {
                let InstData { op, result, .. } = &facts.func.insts[inst];
                let place = Place { block, position: i + 1 };
                this.op_says(op, *result, &mut |c| found.push((place, c)));
                if let (Some((base, c)), &Some(result)) = (facts.plus_const(op), result) {
                    this.record_sum(place, base, c, result);
                }
            }
            found.into_iter().for_each(|(place, c)| this.record(place, c));
        }
        this
    }

    fn record(&mut self, place: Place, Constraint { x, y, c, needs }: Constraint) {
        if let Term::Value(v) = x {
            self.above[v].push(Known { other: y, by: c, place, needs });
        }
        if let Term::Value(v) = y {
            self.below[v].push(Known { other: x, by: c, place, needs });
        }
    }

    /// What `result = base + c` says of `base` where it has not wrapped: a sum that wrapped is at the other end of `Int`.
    fn record_sum(&mut self, place: Place, base: Value, c: i64, result: Value) {
        let c = i128::from(c);
        let room = LIMIT - c.abs();
        let needs = Some(if c > 0 { (Side::Down, result, room) } else { (Side::Up, result, room - 1) });
        self.above[base].push(Known { other: Term::Value(result), by: -c, place, needs });
        self.below[base].push(Known { other: Term::Value(result), by: c, place, needs });
    }

    /// The inequalities with `value` on this side.
    pub fn known(&self, side: Side, value: Value) -> &[Known] {
        match side {
            Side::Up => &self.above[value],
            Side::Down => &self.below[value],
        }
    }

    /// Whether what holds from `from` on holds at `at`.
    pub fn holds(&self, from: Place, at: Place) -> bool {
        if from.block == at.block { from.position <= at.position } else { self.facts.dominators.dominates(from.block, at.block) }
    }

    pub fn int_const(&self, value: Value) -> Option<i64> {
        self.facts.defs.int_const(self.facts.func, value)
    }

    /// A constant as its distance from 0.
    pub fn term(&self, term: Term) -> (Term, i128) {
        match term {
            Term::Value(v) => self.int_const(v).map_or((term, 0), |n| (Term::Zero, n.into())),
            Term::Zero => (term, 0),
        }
    }

    /// The one edge that leads into a block from outside of what the block dominates: its block, and its place there.
    fn only_entry(&self, block: Block) -> Option<(Block, usize)> {
        let mut entries = self.facts.preds[block]
            .iter()
            .filter(|&&p| self.facts.dominators.is_reachable(p) && !self.facts.dominators.dominates(block, p));
        let (&pred, None) = (entries.next()?, entries.next()) else { return None };
        let (mut index, mut found) = (0, None);
        self.facts.func.blocks[pred].terminator.as_ref()?.for_each_edge(|edge| {
            if edge.block == block {
                found = Some((pred, index));
            }
            index += 1;
        });
        found
    }

    /// What holds where the one edge that leads to a block has been taken: of the result of a [`Terminator::Try`], too.
    fn entry_says(&self, block: Block, edge: usize, say: &mut impl FnMut(Constraint)) {
        let (Some(Terminator::Try { op, normal, .. }), 0) = (&self.facts.func.blocks[block].terminator, edge) else {
            return self.edge_says(block, edge, say);
        };
        let params = &self.facts.func.blocks[normal.block].params;
        let result = if params.len() > normal.args.len() { params.first().copied() } else { None };
        // Where others lead to the block too, the parameter is not this operation's result alone.
        self.op_says(op, result.filter(|_| self.facts.preds[normal.block].len() == 1), say);
    }

    /// What holds where control takes an edge. Of the parameters of the block that it leads to nothing is said: on the edge they still are what they were on an earlier visit.
    pub fn edge_says(&self, block: Block, edge: usize, say: &mut impl FnMut(Constraint)) {
        match self.facts.func.blocks[block].terminator.as_ref().expect("a finished block") {
            Terminator::Branch { cond, then, els } if then.block != els.block || then.args != els.args => {
                self.cond_says(*cond, edge == 0, say)
            }
            Terminator::Switch { index, targets, .. } if edge < targets.len() => {
                self.say(Term::Value(*index), Term::Zero, edge as i128, None, say);
                self.say(Term::Zero, Term::Value(*index), -(edge as i128), None, say);
            }
            Terminator::Try { op, .. } if edge == 0 => self.op_says(op, None, say),
            _ => {}
        }
    }

    /// What a condition says by being `value`.
    pub fn cond_says(&self, cond: Value, value: bool, say: &mut impl FnMut(Constraint)) {
        let mut work = vec![(cond, value)];
        for _ in 0..PARTS {
            let Some((cond, value)) = work.pop() else { return };
            match (self.facts.defs.op(self.facts.func, cond), value) {
                (Some(&Op::Unary(UnaryOp::BNot, inner)), _) => work.push((inner, !value)),
                (Some(&Op::Binary(BinaryOp::BAnd, a, b)), true) | (Some(&Op::Binary(BinaryOp::BOr, a, b)), false) => {
                    work.extend([(a, value), (b, value)])
                }
                (Some(&Op::ICmp(cmp, a, b)), _) => self.cmp_says(cmp, a, b, value, say),
                _ => {}
            }
        }
    }

    fn cmp_says(&self, cmp: IntCmp, a: Value, b: Value, value: bool, say: &mut impl FnMut(Constraint)) {
        let (x, y) = (Term::Value(a), Term::Value(b));
        let mut less = |x, y, c| self.say(x, y, c, None, say);
        match if value { Some(cmp) } else { cmp.negated() } {
            Some(IntCmp::Eq) => {
                less(x, y, 0);
                less(y, x, 0);
            }
            Some(IntCmp::Lt) => less(x, y, -1),
            Some(IntCmp::Le) => less(x, y, 0),
            Some(IntCmp::Gt) => less(y, x, -1),
            Some(IntCmp::Ge) => less(y, x, 0),
            Some(IntCmp::Ne) => {}
            Some(IntCmp::Ult) => self.unsigned_says(a, b, say),
            // Not below a bound that is not negative, and not negative itself.
            None => {
                self.say(y, x, 0, Some((Side::Down, a, 0)), say);
                self.say(Term::Zero, y, 0, Some((Side::Down, a, 0)), say);
            }
        }
    }

    /// `a <u b`, where `b` is not negative: 0 <= a < b.
    fn unsigned_says(&self, a: Value, b: Value, say: &mut impl FnMut(Constraint)) {
        let needs = Some((Side::Down, b, 0));
        self.say(Term::Zero, Term::Value(a), 0, needs, say);
        self.say(Term::Value(a), Term::Value(b), -1, needs, say);
    }

    /// What holds after an operation that did not throw.
    fn op_says(&self, op: &Op, result: Option<Value>, say: &mut impl FnMut(Constraint)) {
        match *op {
            Op::CheckIndex { index, length, .. } => {
                for v in result.into_iter().chain([index]) {
                    self.say(Term::Zero, Term::Value(v), 0, None, say);
                    self.say(Term::Value(v), Term::Value(length), -1, None, say);
                }
                // The length is at least 1.
                self.say(Term::Zero, Term::Value(length), -1, None, say);
            }
            Op::NewArray(_, length) => {
                self.say(Term::Zero, Term::Value(length), 0, None, say);
                self.say(Term::Value(length), Term::Zero, i128::from(MAX_LENGTH) - 1, None, say);
            }
            _ => {}
        }
    }

    fn say(&self, x: Term, y: Term, c: i128, needs: Option<Need>, say: &mut impl FnMut(Constraint)) {
        let ((x, by), (y, plus)) = (self.term(x), self.term(y));
        if x != y {
            say(Constraint { x, y, c: c + plus - by, needs });
        }
    }
}
