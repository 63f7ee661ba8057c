//! What changes by a fixed amount in each round of a loop, and the tests that decide how many rounds there are.
//!
//! In: a function, its dominators, loops and definitions. Out: [`Induction`]s, [`Test`]s, and where one test on one of them controls the loop, [`Counted`]; true until the function changes.
//! `Int` wraps around: nothing here says that a value stays in range but [`Counted::wraps`] and what is computed from constants.

use super::defs::Defs;
use super::loops::{Loop, LoopId, Loops, Predecessors};
use crate::ir::dominators::Dominators;
use crate::ir::*;

/// Dominating blocks that are searched for the test before a rotated loop.
const GUARD_SEARCH: usize = 64;

/// Lengths of arrays are below this.
pub const MAX_LENGTH: i64 = 1 << 48;

/// What analyses of loops look at.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    pub func: &'a Function,
    pub preds: &'a Predecessors,
    pub dominators: &'a Dominators,
    pub loops: &'a Loops,
    pub defs: &'a Defs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Const(i64),
    /// Of the same value in every round.
    Invariant(Value),
}

/// A header's parameter that every way back to the header adds `step` to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Induction {
    pub param: Value,
    /// Among the header's parameters.
    pub position: usize,
    /// What it is before the first round, once for each different value that comes in.
    pub starts: Vec<Value>,
    pub step: Step,
    /// The values `param + step` that go back to the header, each once.
    pub nexts: Vec<Value>,
}

impl Induction {
    pub fn start(&self) -> Option<Value> {
        single(&self.starts)
    }

    pub fn next(&self) -> Option<Value> {
        single(&self.nexts)
    }

    pub fn const_step(&self) -> Option<i64> {
        match self.step {
            Step::Const(step) => Some(step),
            Step::Invariant(_) => None,
        }
    }
}

fn single(values: &[Value]) -> Option<Value> {
    match values {
        &[value] => Some(value),
        _ => None,
    }
}

/// A branch that runs once in every round that comes to an end, with one way out of the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Test {
    pub block: Block,
    pub cond: Value,
    /// Which value of `cond` stays in the loop.
    pub stays: bool,
    pub inside: Block,
    pub outside: Block,
}

/// Which value of an induction variable a test looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tested {
    /// The one that the round began with.
    Param,
    /// The one for the next round.
    Next,
}

/// The loop goes on as long as `tested cmp bound`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    pub induction: Induction,
    pub test: Test,
    pub tested: Tested,
    pub cmp: IntCmp,
    /// Of the same value in every round.
    pub bound: Value,
    /// Before the first round the variable is within: `start cmp bound`, for a test of the parameter for equality with the last value `start cmp bound or start == bound`.
    pub guarded: bool,
    /// Whether what the header gets may be other than `start + k * step` in whole numbers.
    pub wraps: bool,
}

/// The argument that an edge passes for the parameter at `position` of its target; `None` for a `Try`'s result and error.
pub fn edge_arg(func: &Function, edge: &BlockCall, position: usize) -> Option<Value> {
    let implied = func.blocks[edge.block].params.len() - edge.args.len();
    Some(edge.args[position.checked_sub(implied)?])
}

impl Facts<'_> {
    /// Whether the value is the same in every round: defined outside, or a constant.
    pub fn is_invariant(&self, id: LoopId, value: Value) -> bool {
        match self.defs.block(value) {
            Some(block) => !self.loops.contains(id, block) || self.defs.int_const(self.func, value).is_some(),
            None => false,
        }
    }

    /// `base + c`, where an operation adds a constant.
    pub fn plus_const(&self, op: &Op) -> Option<(Value, i64)> {
        let &Op::Binary(op, a, b) = op else { return None };
        match (op, self.defs.int_const(self.func, a), self.defs.int_const(self.func, b)) {
            (BinaryOp::IAdd, _, Some(c)) => Some((a, c)),
            (BinaryOp::IAdd, Some(c), None) => Some((b, c)),
            (BinaryOp::ISub, _, Some(c)) => Some((a, c.wrapping_neg())),
            _ => None,
        }
    }

    /// `value` as `base + c`, through any number of additions of constants; exact modulo 2^64.
    pub fn split_const(&self, mut value: Value) -> (Value, i64) {
        let mut sum = 0i64;
        while let Some((base, c)) = self.defs.op(self.func, value).and_then(|op| self.plus_const(op)) {
            (value, sum) = (base, sum.wrapping_add(c));
        }
        (value, sum)
    }

    pub fn inductions(&self, id: LoopId) -> Vec<Induction> {
        let header = self.loops.loops[id].header;
        let params = &self.func.blocks[header].params;
        let mut found: Vec<Option<Induction>> = params.iter().enumerate().map(|(i, &p)| self.candidate(p, i)).collect();
        let mut preds = self.preds[header].clone();
        preds.dedup();
        for pred in preds {
            let inside = self.loops.contains(id, pred);
            let terminator = self.func.blocks[pred].terminator.as_ref().expect("a finished block");
            terminator.for_each_edge(|edge| {
                if edge.block == header {
                    found.iter_mut().for_each(|slot| self.take_edge(id, slot, edge, inside));
                }
            });
        }
        found.into_iter().flatten().filter(|i| !i.nexts.is_empty() && !i.starts.is_empty()).collect()
    }

    fn candidate(&self, param: Value, position: usize) -> Option<Induction> {
        let is_int = self.func.values[param] == Ty::Int;
        is_int.then(|| Induction { param, position, starts: Vec::new(), step: Step::Const(0), nexts: Vec::new() })
    }

    /// Adds what an edge to the header says of a candidate, or drops the candidate.
    fn take_edge(&self, id: LoopId, slot: &mut Option<Induction>, edge: &BlockCall, inside: bool) {
        let Some(candidate) = slot else { return };
        let Some(arg) = edge_arg(self.func, edge, candidate.position) else {
            *slot = None;
            return;
        };
        if !inside {
            if !candidate.starts.contains(&arg) {
                candidate.starts.push(arg);
            }
            return;
        }
        let step = self.step(id, candidate.param, arg);
        match step {
            Some(step) if candidate.nexts.is_empty() || candidate.step == step => {
                candidate.step = step;
                if !candidate.nexts.contains(&arg) {
                    candidate.nexts.push(arg);
                }
            }
            _ => *slot = None,
        }
    }

    /// What `next` adds to `param`, if that is the same in every round and not nothing.
    fn step(&self, id: LoopId, param: Value, next: Value) -> Option<Step> {
        let (base, sum) = self.split_const(next);
        if base == param {
            return (sum != 0).then_some(Step::Const(sum));
        }
        match *self.defs.op(self.func, next)? {
            Op::Binary(BinaryOp::IAdd, a, b) if a == param && self.is_invariant(id, b) => Some(Step::Invariant(b)),
            Op::Binary(BinaryOp::IAdd, b, a) if a == param && self.is_invariant(id, b) => Some(Step::Invariant(b)),
            _ => None,
        }
    }

    /// The tests that every round which comes to its end has passed.
    pub fn tests(&self, id: LoopId) -> Vec<Test> {
        let Loop { exits, latches, .. } = &self.loops.loops[id];
        let in_every_round =
            |b: Block| self.loops.around(b) == Some(id) && latches.iter().all(|&latch| self.dominators.dominates(b, latch));
        exits.iter().filter(|(block, _)| in_every_round(*block)).filter_map(|&(block, outside)| self.test(block, outside)).collect()
    }

    fn test(&self, block: Block, outside: Block) -> Option<Test> {
        let Some(Terminator::Branch { cond, then, els }) = &self.func.blocks[block].terminator else { return None };
        if then.block == els.block {
            return None;
        }
        let stays = els.block == outside;
        let inside = if stays { then.block } else { els.block };
        // Where both ways leave, another test decides.
        (self.loops.contains(self.loops.around(block)?, inside)).then_some(Test { block, cond: *cond, stays, inside, outside })
    }

    /// The loop's tests of an induction variable against something that does not change, for steps by a constant.
    pub fn counted(&self, id: LoopId) -> Vec<Counted> {
        let inductions = self.inductions(id);
        let mut found = Vec::new();
        for test in self.tests(id) {
            for induction in inductions.iter().filter(|i| i.const_step().is_some()) {
                found.extend(self.count(id, induction, test));
            }
        }
        found
    }

    fn count(&self, id: LoopId, induction: &Induction, test: Test) -> Option<Counted> {
        let (cond, stays) = self.without_not(test.cond, test.stays);
        let &Op::ICmp(cmp, a, b) = self.defs.op(self.func, cond)? else { return None };
        if cmp == IntCmp::Ult {
            return self.count_distance(id, induction, test, (a, b), stays);
        }
        let cmp = if stays { cmp } else { cmp.negated()? };
        let (value, cmp, bound) = if self.is_invariant(id, b) { (a, cmp, b) } else { (b, cmp.swapped()?, a) };
        if !self.is_invariant(id, bound) {
            return None;
        }
        let tested = match value {
            v if v == induction.param => Tested::Param,
            v if Some(v) == induction.next() => Tested::Next,
            _ => return None,
        };
        let step = induction.const_step()?;
        let guard = if tested == Tested::Param && !self.is_header_test(id, test) { cmp.or_equal() } else { cmp };
        let guarded = self.starts_hold(id, induction, guard, bound);
        let towards = match cmp {
            IntCmp::Lt | IntCmp::Le => step > 0,
            IntCmp::Gt | IntCmp::Ge => step < 0,
            _ => false,
        };
        let in_range = tested == Tested::Param || guarded;
        let wraps = !(towards && in_range && self.leaves_room(cmp, bound, step));
        Some(Counted { induction: induction.clone(), test, tested, cmp, bound, guarded, wraps })
    }

    /// Whether `step` more than what is within the bound cannot overflow.
    fn leaves_room(&self, cmp: IntCmp, bound: Value, step: i64) -> bool {
        let strict = matches!(cmp, IntCmp::Lt | IntCmp::Gt);
        if strict && step.unsigned_abs() == 1 {
            return true;
        }
        let (low, high) = self.const_range(bound);
        let last = if step > 0 { i128::from(high) - i128::from(strict) } else { i128::from(low) + i128::from(strict) };
        i64::try_from(last + i128::from(step)).is_ok()
    }

    /// What a value is for sure, looking at its operation only.
    fn const_range(&self, value: Value) -> (i64, i64) {
        match self.defs.op(self.func, value) {
            Some(Op::IConst(n)) => (*n, *n),
            Some(Op::ArrayLen(..)) => (0, MAX_LENGTH - 1),
            _ => (i64::MIN, i64::MAX),
        }
    }

    /// `size <u bound - param` or `!(bound - param <u size)`: there is room for one more step. Says what it seems to say only where the variable is within the bound.
    fn count_distance(&self, id: LoopId, induction: &Induction, test: Test, (a, b): (Value, Value), stays: bool) -> Option<Counted> {
        let (size, left) = if stays { (a, b) } else { (b, a) };
        let step = induction.const_step()?;
        if self.defs.int_const(self.func, size)? as u64 != step.unsigned_abs() {
            return None;
        }
        let &Op::Binary(BinaryOp::ISub, high, low) = self.defs.op(self.func, left)? else { return None };
        let (bound, param) = if step > 0 { (high, low) } else { (low, high) };
        if param != induction.param || !self.is_invariant(id, bound) {
            return None;
        }
        let cmp = match (step > 0, stays) {
            (true, true) => IntCmp::Lt,
            (true, false) => IntCmp::Le,
            (false, true) => IntCmp::Gt,
            (false, false) => IntCmp::Ge,
        };
        let guarded = self.starts_hold(id, induction, cmp, bound);
        guarded.then(|| Counted { induction: induction.clone(), test, tested: Tested::Next, cmp, bound, guarded, wraps: false })
    }

    fn is_header_test(&self, id: LoopId, test: Test) -> bool {
        test.block == self.loops.loops[id].header && !self.loops.loops[id].latches.contains(&test.block)
    }

    /// Whether `start cmp bound` is known before the loop for every start.
    fn starts_hold(&self, id: LoopId, induction: &Induction, cmp: IntCmp, bound: Value) -> bool {
        induction.starts.iter().all(|&start| self.holds_before(id, start, cmp, bound))
    }

    /// Whether constants or a dominating branch say `a cmp b`.
    fn holds_before(&self, id: LoopId, a: Value, cmp: IntCmp, b: Value) -> bool {
        if let (Some(x), Some(y)) = (self.defs.int_const(self.func, a), self.defs.int_const(self.func, b)) {
            return eval::int_cmp(cmp, x as u64, y as u64);
        }
        let mut block = self.loops.loops[id].header;
        for _ in 0..GUARD_SEARCH {
            let Some(above) = self.dominators.idom(block) else { return false };
            if self.branch_says(above, block, a, cmp, b) {
                return true;
            }
            block = above;
        }
        false
    }

    /// Whether the branch at the end of `from` leads to `to` (which it dominates) only where `a cmp b`.
    fn branch_says(&self, from: Block, to: Block, a: Value, cmp: IntCmp, b: Value) -> bool {
        let Some(Terminator::Branch { cond, then, els }) = &self.func.blocks[from].terminator else { return false };
        if then.block == els.block {
            return false;
        }
        // The one edge that leads on, if the other way cannot come to `to` around the loop's header: `to` has this edge only, or the rest come from blocks below it.
        let leads = |edge: &BlockCall| edge.block == to && self.preds[to].iter().all(|&p| p == from || self.dominators.dominates(to, p));
        let taken = match (leads(then), leads(els)) {
            (true, false) => true,
            (false, true) => false,
            _ => return false,
        };
        let (cond, taken) = self.without_not(*cond, taken);
        let Some(&Op::ICmp(known, x, y)) = self.defs.op(self.func, cond) else { return false };
        let known = if taken { Some(known) } else { known.negated() };
        let known = match ((x, y) == (a, b), (x, y) == (b, a)) {
            (true, _) => known,
            (_, true) => known.and_then(IntCmp::swapped),
            _ => None,
        };
        known.is_some_and(|k| k.implies(cmp))
    }

    /// Peels negations off a condition and its wanted value.
    pub fn without_not(&self, mut cond: Value, mut value: bool) -> (Value, bool) {
        while let Some(&Op::Unary(UnaryOp::BNot, inner)) = self.defs.op(self.func, cond) {
            (cond, value) = (inner, !value);
        }
        (cond, value)
    }

    /// How often the test runs if start and bound are constants and nothing else leaves the loop: once for each time it stays, once for leaving. Of a test at the end that is the number of rounds.
    pub fn test_runs(&self, counted: &Counted) -> Option<u64> {
        let int = |v| self.defs.int_const(self.func, v).map(i128::from);
        let (start, bound, step) = (int(counted.induction.start()?)?, int(counted.bound)?, i128::from(counted.induction.const_step()?));
        let first = if counted.tested == Tested::Next { start + step } else { start };
        // Rounds that stay: the values first, first + step, … that are within the bound.
        let stays = match (counted.cmp, step > 0) {
            (IntCmp::Lt, true) => (bound - first + step - 1).div_euclid(step),
            (IntCmp::Le, true) => (bound - first + step).div_euclid(step),
            (IntCmp::Gt, false) => (first - bound - step - 1).div_euclid(-step),
            (IntCmp::Ge, false) => (first - bound - step).div_euclid(-step),
            (IntCmp::Ne, _) if (bound - first) % step == 0 && (bound - first) / step >= 0 => (bound - first) / step,
            _ => return None,
        };
        let stays = stays.max(0);
        // The value that leaves must be one that the test can see.
        i64::try_from(first + stays * step).ok()?;
        u64::try_from(stays + 1).ok()
    }
}

#[cfg(test)]
mod tests;
