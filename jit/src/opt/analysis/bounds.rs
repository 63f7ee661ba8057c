//! Inequalities between integers, proven on demand: R. Bodík, R. Gupta, V. Sarkar, "ABCD: Eliminating Array Bounds Checks on Demand" (PLDI 2000), sections 4–5.
//!
//! In: a function with its analyses. Out: [`Bounds::at_most`] and [`Bounds::at_least`], over whole numbers, true until the function changes.
//! Departures: no extra names for values behind a branch: what branches and checks say is kept by value, with the place from which on it holds. And `Int` wraps around, so that an addition bounds its result only where that is proven
//! harmless: `y + 3 <= y + 3` holds even if it wraps, `y + 3 >= y + 3` does not.
//!
//! Why a parameter may be assumed within its bound on the way back to itself: whatever is asked below its expansion is asked at the edges that lead to it, so it is about an earlier visit of its block. The other side of the inequality must be
//! the same on all these visits: its definition strictly dominates the block.

use super::conditions::{Conditions, Constraint, Known, Place, Term};
use super::defs::Def;
use super::induction::{MAX_LENGTH, edge_arg};
use crate::ir::*;
use std::cell::{Cell, RefCell};

/// Nested steps of a proof.
const DEPTH: usize = 40;
/// All steps of a proof.
const STEPS: u32 = 600;

/// Conditions on one value that are looked at.
const KNOWN: usize = 64;
/// Blocks that lead to a parameter.
const WAYS: usize = 16;

/// 2^63: no `Int` is larger in size.
pub(super) const LIMIT: i128 = 1 << 63;

/// Sums of two integers below this (in size) do not wrap.
const HALF: i128 = 1 << 62;

/// `Up`: x <= t + slack. `Down`: x >= t - slack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Up,
    Down,
}

impl Side {
    fn sign(self) -> i128 {
        match self {
            Side::Up => 1,
            Side::Down => -1,
        }
    }

    fn other(self) -> Side {
        match self {
            Side::Up => Side::Down,
            Side::Down => Side::Up,
        }
    }
}

/// Where something is asked: what holds before an operation, and what an edge out of the block or an arm of a `Select` adds.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub place: Place,
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug)]
pub enum Extra {
    None,
    /// By its index among those of the block's terminator.
    Edge(usize),
    Cond(Value, bool),
}

/// Of some value `v`: `v <= target + slack`, or `v >= target - slack`; with `sign` 1 or -1, `sign * v <= sign * target + slack`.
#[derive(Clone, Copy)]
struct Goal {
    side: Side,
    target: Term,
    slack: i128,
    at: Point,
}

impl Goal {
    fn with(self, more: i128) -> Goal {
        Goal { slack: self.slack + more, ..self }
    }

    /// `v <= slack`, or `v >= -slack`.
    fn absolute(self, side: Side, slack: i128) -> Goal {
        Goal { side, target: Term::Zero, slack, ..self }
    }
}

/// A question that is being answered.
struct Open {
    x: Value,
    goal: Goal,
    /// It is a parameter, and its arguments are looked at.
    expanding: bool,
}

pub struct Bounds<'a> {
    conditions: &'a Conditions<'a>,
    open: RefCell<Vec<Open>>,
    steps: Cell<u32>,
}

impl<'a> Bounds<'a> {
    pub fn new(conditions: &'a Conditions<'a>) -> Bounds<'a> {
        Bounds { conditions, open: RefCell::default(), steps: Cell::new(0) }
    }

    /// Whether `x <= target + more` is proven.
    pub fn at_most(&self, x: Value, target: Term, more: i128, at: Point) -> bool {
        self.ask(x, Goal { side: Side::Up, target, slack: more, at })
    }

    /// Whether `x >= target + more` is proven.
    pub fn at_least(&self, x: Value, target: Term, more: i128, at: Point) -> bool {
        self.ask(x, Goal { side: Side::Down, target, slack: -more, at })
    }

    fn ask(&self, x: Value, goal: Goal) -> bool {
        self.steps.set(STEPS);
        let (target, c) = self.conditions.term(goal.target);
        self.prove(x, Goal { target, slack: goal.slack + goal.side.sign() * c, ..goal })
    }

    fn not_negative(&self, x: Value, goal: Goal) -> bool {
        self.prove(x, goal.absolute(Side::Down, 0))
    }

    fn prove(&self, x: Value, goal: Goal) -> bool {
        if goal.target == Term::Value(x) {
            return goal.slack >= 0;
        }
        if let Some(n) = self.conditions.int_const(x) {
            return self.constant(n.into(), goal);
        }
        if goal.target == Term::Zero && goal.slack >= LIMIT - i128::from(goal.side == Side::Up) {
            return true;
        }
        let Some(steps) = self.steps.get().checked_sub(1) else { return false };
        self.steps.set(steps);
        {
            let mut open = self.open.borrow_mut();
            if open.len() >= DEPTH {
                return false;
            }
            if let Some(open) = open.iter().rev().find(|o| (o.x, o.goal.side, o.goal.target) == (x, goal.side, goal.target)) {
                return open.expanding && goal.slack >= open.goal.slack;
            }
            open.push(Open { x, goal, expanding: false });
        }
        let proven = self.by_conditions(x, goal) || self.by_definition(x, goal);
        self.open.borrow_mut().pop();
        proven
    }

    /// The same for a constant: what is left is a question about the target, from the other side.
    fn constant(&self, n: i128, goal: Goal) -> bool {
        let left = goal.slack - goal.side.sign() * n;
        match goal.target {
            Term::Zero => left >= 0,
            Term::Value(t) => self.prove(t, goal.absolute(goal.side.other(), left)),
        }
    }

    /// `sign * x <= sign * bound + by`, so the rest must hold of `bound`.
    fn via(&self, bound: Term, by: i128, goal: Goal) -> bool {
        match bound {
            Term::Zero => self.constant(goal.side.sign() * by, goal),
            Term::Value(z) => self.prove(z, goal.with(-by)),
        }
    }

    fn by_conditions(&self, x: Value, goal: Goal) -> bool {
        let at = goal.at;
        let mut found: Vec<Known> = Vec::new();
        let mut take = |c: Constraint| {
            let (mine, other) = if goal.side == Side::Up { (c.x, c.y) } else { (c.y, c.x) };
            if mine == Term::Value(x) {
                found.push(Known { other, by: c.c, place: at.place, needs: c.needs });
            }
        };
        match at.extra {
            Extra::None => {}
            Extra::Edge(index) => self.conditions.edge_says(at.place.block, index, &mut take),
            Extra::Cond(cond, value) => self.conditions.cond_says(cond, value, &mut take),
        }
        // The nearest say most.
        let known = self.conditions.known(goal.side, x).iter().rev().take(KNOWN);
        found.extend(known.filter(|k| self.conditions.holds(k.place, at.place)).copied());
        let is_direct = |k: &&Known| k.other == goal.target && k.by <= goal.slack;
        let is_granted = |k: &Known| k.needs.is_none_or(|(side, value, slack)| self.prove(value, goal.absolute(side, slack)));
        found.iter().filter(is_direct).any(is_granted)
            || found.iter().filter(|k| !is_direct(k)).any(|k| self.via(k.other, k.by, goal) && is_granted(k))
    }

    fn by_definition(&self, x: Value, goal: Goal) -> bool {
        let facts = &self.conditions.facts;
        match facts.defs.def(x) {
            Def::None => false,
            Def::Inst(_, inst) => self.by_op(&facts.func.insts[inst].op, goal),
            Def::Param(block, position) => self.by_arguments(block, position as usize, goal),
        }
    }

    fn by_arguments(&self, block: Block, position: usize, goal: Goal) -> bool {
        let facts = &self.conditions.facts;
        let same_on_all_visits = match goal.target {
            Term::Zero => true,
            Term::Value(t) => facts.defs.block(t).is_some_and(|b| b != block && facts.dominators.dominates(b, block)),
        };
        let mut preds = facts.preds[block].clone();
        preds.dedup();
        preds.retain(|&p| facts.dominators.is_reachable(p));
        if !same_on_all_visits || preds.is_empty() || preds.len() > WAYS {
            return false;
        }
        self.open.borrow_mut().last_mut().expect("the question about the parameter").expanding = true;
        preds.into_iter().all(|pred| {
            let terminator = facts.func.blocks[pred].terminator.as_ref().expect("a finished block");
            let (mut index, mut proven) = (0, true);
            terminator.for_each_edge(|edge| {
                if edge.block == block && proven {
                    let goal = Goal { at: Point { place: Place::end(pred), extra: Extra::Edge(index) }, ..goal };
                    proven = match (edge_arg(facts.func, edge, position), terminator) {
                        (Some(arg), _) => self.prove(arg, goal),
                        (None, Terminator::Try { op, .. }) => self.by_op(op, goal),
                        (None, _) => false,
                    };
                }
                index += 1;
            });
            proven
        })
    }

    fn by_op(&self, op: &Op, goal: Goal) -> bool {
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
