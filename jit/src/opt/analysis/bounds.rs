//! Inequalities between integers, proven on demand: R. Bodík, R. Gupta, V. Sarkar, "ABCD: Eliminating Array Bounds Checks on Demand" (PLDI 2000), sections 4–5.
//!
//! In: a function with its analyses. Out: [`Bounds::at_most`] and [`Bounds::at_least`], over whole numbers, true until the function changes.
//! Departures: no extra names for values behind a branch: what branches and checks say is kept by value, with the place from which on it holds. And `Int` wraps around, so that an addition bounds its result only where that is proven
//! harmless: `y + 3 <= y + 3` holds even if it wraps, `y + 3 >= y + 3` does not.
//!
//! Why a parameter may be assumed within its bound on the way back to itself: whatever is asked below its expansion is asked at the edges that lead to it, so it is about an earlier visit of its block. The other side of the inequality must be
//! the same on all these visits: its definition strictly dominates the block.

mod operations;

use super::conditions::{Conditions, Constraint, Known, Place, Term};
use super::defs::Def;
use super::induction::{Facts, edge_arg};
use super::loops::LoopId;
use crate::ir::*;
use std::cell::{Cell, RefCell};

/// Nested steps of a proof.
const DEPTH: usize = 40;

/// Conditions on one value that are looked at.
const KNOWN: usize = 64;
/// Things that one proof may assume.
const ASSUMPTIONS: usize = 6;
/// Blocks that lead to a parameter.
const WAYS: usize = 16;

/// 2^63: no `Int` is larger in size.
pub(super) const LIMIT: i128 = 1 << 63;

/// A question about the same value with so much more slack is another one: whether a sum wraps.
const APART: i128 = 1 << 61;

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
    /// What is not known of values from outside of the loop may be assumed.
    assuming: bool,
    /// It is a parameter, and its arguments are looked at.
    expanding: bool,
}

/// What has to be tested before a loop so that a proof holds in it: `x <= target + slack` or `x >= target - slack`, of values from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assumption {
    pub side: Side,
    pub x: Value,
    pub target: Term,
    pub slack: i128,
}

impl Assumption {
    /// What is added to the target, if it is a number that code can have.
    pub fn offset(&self) -> Option<i64> {
        i64::try_from(if self.side == Side::Up { self.slack } else { -self.slack }).ok()
    }
}

pub struct Bounds<'a> {
    conditions: &'a Conditions<'a>,
    limit: u32,
    open: RefCell<Vec<Open>>,
    steps: Cell<u32>,
    /// The loop before which more can be tested, while the proof is about values in it.
    assuming: Cell<Option<LoopId>>,
    assumed: RefCell<Vec<Assumption>>,
}

impl<'a> Bounds<'a> {
    /// No question takes more than so many steps.
    pub fn new(conditions: &'a Conditions<'a>, limit: u32) -> Bounds<'a> {
        let (open, assumed) = (RefCell::default(), RefCell::default());
        Bounds { conditions, limit, open, steps: Cell::new(0), assuming: Cell::new(None), assumed }
    }

    /// What `proof` gives, where what is asked of values from outside of the loop may be assumed; and what was.
    /// An assumption is about the values when the loop is entered. So proofs about values in the loop, which other rounds of an outer loop may have left without a test, are not part of proofs about values outside.
    pub fn assuming(&self, id: LoopId, proof: impl FnOnce() -> bool) -> Option<Vec<Assumption>> {
        self.assumed.borrow_mut().clear();
        self.assuming.set(Some(id));
        let proven = proof();
        self.assuming.set(None);
        proven.then(|| self.assumed.take())
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
        self.steps.set(self.limit);
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
        match self.assuming.get() {
            Some(id) if self.is_outside(id, x, goal.target) => {
                self.assuming.set(None);
                let proven = self.search(x, goal);
                self.assuming.set(Some(id));
                proven || self.assume(x, goal)
            }
            _ => self.attempt(|| self.search(x, goal)),
        }
    }

    fn is_outside(&self, id: LoopId, x: Value, target: Term) -> bool {
        let Facts { loops, defs, dominators, .. } = self.conditions.facts;
        let header = loops.loops[id].header;
        let outside = |v| defs.block(v).is_some_and(|b| !loops.contains(id, b) && dominators.dominates(b, header));
        outside(x) && !matches!(target, Term::Value(t) if !outside(t))
    }

    fn assume(&self, x: Value, goal: Goal) -> bool {
        let Goal { side, target, slack, .. } = goal;
        let assumed = self.assumed.borrow().clone();
        let mode = self.assuming.take();
        // One that was made before may say more.
        let is_implied = assumed.iter().filter(|a| (a.side, a.x) == (side, x)).any(|a| match a.target {
            t if t == target => a.slack <= slack,
            Term::Value(t) => target == Term::Zero && self.prove(t, goal.with(-a.slack)),
            Term::Zero => false,
        });
        self.assuming.set(mode);
        if !is_implied {
            self.assumed.borrow_mut().push(Assumption { side, x, target, slack });
        }
        self.assumed.borrow().len() <= ASSUMPTIONS
    }

    /// Forgets what a proof that fails has assumed.
    fn attempt(&self, proof: impl FnOnce() -> bool) -> bool {
        let before = self.assumed.borrow().len();
        let proven = proof();
        if !proven {
            self.assumed.borrow_mut().truncate(before);
        }
        proven
    }

    fn search(&self, x: Value, goal: Goal) -> bool {
        let Some(steps) = self.steps.get().checked_sub(1) else { return false };
        self.steps.set(steps);
        let assuming = self.assuming.get().is_some();
        {
            let mut open = self.open.borrow_mut();
            if open.len() >= DEPTH {
                return false;
            }
            let mut same_visit = true;
            for open in open.iter().rev() {
                let is_same = (open.x, open.goal.side, open.goal.target) == (x, goal.side, goal.target);
                if is_same && open.expanding {
                    return goal.slack >= open.goal.slack && open.assuming == assuming;
                }
                if is_same && same_visit && goal.slack <= open.goal.slack + APART {
                    return false;
                }
                same_visit &= !open.expanding;
            }
            open.push(Open { x, goal, assuming, expanding: false });
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
            || found.iter().filter(|k| !is_direct(k)).any(|k| self.attempt(|| self.via(k.other, k.by, goal) && is_granted(k)))
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
        preds.retain(|&mut p| facts.dominators.is_reachable(p));
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
}
