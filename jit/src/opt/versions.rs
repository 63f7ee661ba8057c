//! Loops in two versions: one test before the loop chooses between a copy without the bounds checks that the test replaces, and the loop as it was, where an error comes with the state and the position that it always had.
//!
//! In: a function of which [`super::ranges`] has dropped the checks that need no test. Out: innermost loops that still hold checks, in two versions where something that can be said before the loop proves some of them:
//! inequalities between values from outside, which a proof lacks ([`Bounds::assuming`]), or, of an index that is a linear expression of one induction variable, that its first and last values are within the array.
//!
//! Invariants: the test has no effects and throws nothing. A loop whose test has failed gets no second one. Only loops of up to [`SIZE`] operations without calls; the function grows by [`GROWTH`] at most.

use super::analysis::bounds::{Assumption, Bounds, Extra, Point};
use super::analysis::conditions::{Conditions, Place, Term};
use super::analysis::defs::Defs;
use super::analysis::induction::{Facts, MAX_LENGTH};
use super::analysis::linear::{self, Span};
use super::analysis::loops::{Loop, LoopId, Loops, predecessors};
use super::version_test::Emitter;
use crate::ir::copy::{copy_region, retarget};
use crate::ir::dominators::Dominators;
use crate::ir::repair::Repair;
use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Operations of a loop that is copied.
const SIZE: usize = 300;
/// Operations that all copies in a function may have.
const GROWTH: usize = 3000;
/// Of the proof that a check passes.
const STEPS: u32 = 400;
/// Things that the test before a loop looks at.
const TESTS: usize = 12;
/// Dominating branches that are searched for a test that has failed.
const SEARCH: usize = 64;

/// Where a check stands.
#[derive(Clone, Copy)]
pub enum Site {
    Inst(Inst),
    Try(Block),
}

/// What has to hold before a loop.
#[derive(Clone, PartialEq, Debug)]
pub enum Wanted {
    Assumption(Assumption),
    Span(Span),
}

struct Plan {
    header: Block,
    blocks: Vec<Block>,
    tests: Vec<Wanted>,
    checks: Vec<Site>,
}

pub fn run(func: &mut Function) -> bool {
    let plans = plan(func);
    if plans.is_empty() {
        return false;
    }
    let mut repair = Repair::default();
    let mut gone = EntitySet::with_capacity(func.insts.len());
    let mut aliases = Aliases::default();
    for plan in plans {
        // What the pass did before may have made a check provable as it is.
        if !plan.tests.is_empty() {
            split(func, &plan, &mut repair);
        }
        plan.checks.into_iter().for_each(|site| drop_check(func, &mut aliases, &mut gone, site));
    }
    func.blocks.values_mut().for_each(|data| data.insts.retain(|&i| !gone.contains(i)));
    replace_all(func, &aliases);
    repair.run(func);
    true
}

/// The repair takes uses as they are, so what was replaced must not be used any more.
fn replace_all(func: &mut Function, aliases: &Aliases) {
    for &block in &func.layout {
        let data = &mut func.blocks[block];
        data.insts.iter().for_each(|&i| func.insts[i].op.for_each_arg_mut(|v| *v = aliases.get(*v)));
        data.terminator.as_mut().expect("a finished block").for_each_arg_mut(|v| *v = aliases.get(*v));
    }
}

pub fn drop_check(func: &mut Function, aliases: &mut Aliases, gone: &mut EntitySet<Inst>, site: Site) {
    match site {
        Site::Inst(inst) => {
            gone.insert(inst);
            if let (&Op::CheckIndex { index, .. }, Some(result)) = (&func.insts[inst].op, func.insts[inst].result) {
                aliases.replace(result, index);
            }
        }
        Site::Try(block) => {
            let terminator = func.blocks[block].terminator.take();
            let Some(Terminator::Try { op: Op::CheckIndex { index, .. }, mut normal, .. }) = terminator else { return };
            if func.blocks[normal.block].params.len() > normal.args.len() {
                normal.args.insert(0, index);
            }
            func.blocks[block].terminator = Some(Terminator::Jump(normal));
        }
    }
}

fn plan(func: &Function) -> Vec<Plan> {
    let dominators = Dominators::new(func);
    let loops = Loops::new(func, &dominators);
    let mut has_inner: SecondaryMap<LoopId, bool> = SecondaryMap::with_capacity(loops.loops.len());
    loops.loops.values().filter_map(|l| l.parent.expand()).for_each(|parent| has_inner[parent] = true);
    let mut left = GROWTH;
    let mut candidates = Vec::new();
    for (id, data) in loops.loops.iter().filter(|&(id, _)| !has_inner[id]) {
        let checks = checks_in(func, data);
        let size: usize = data.blocks.iter().map(|&b| func.blocks[b].insts.len() + 1).sum();
        if !checks.is_empty() && size <= SIZE && size <= left && !has_calls(func, data) {
            left -= size;
            candidates.push((id, checks));
        }
    }
    if candidates.is_empty() {
        return Vec::new();
    }
    let (preds, defs) = (predecessors(func), Defs::new(func));
    let conditions = Conditions::new(Facts { func, preds: &preds, dominators: &dominators, loops: &loops, defs: &defs });
    let bounds = Bounds::new(&conditions, STEPS);
    candidates.into_iter().filter_map(|(id, checks)| plan_loop(&conditions, &bounds, id, checks)).collect()
}

fn checks_in(func: &Function, data: &Loop) -> Vec<(Site, Place)> {
    let mut checks = Vec::new();
    let is_check = |op: &Op| matches!(op, Op::CheckIndex { .. });
    for &block in &data.blocks {
        let insts = func.blocks[block].insts.iter().enumerate().filter(|&(_, &i)| is_check(&func.insts[i].op));
        checks.extend(insts.map(|(position, &i)| (Site::Inst(i), Place { block, position })));
        if matches!(&func.blocks[block].terminator, Some(Terminator::Try { op, .. }) if is_check(op)) {
            checks.push((Site::Try(block), Place::end(block)));
        }
    }
    checks
}

fn has_calls(func: &Function, data: &Loop) -> bool {
    let is_call = |op: &Op| matches!(op, Op::Call { .. } | Op::CallVirtual { .. });
    data.blocks.iter().map(|&b| &func.blocks[b]).any(|block| {
        let in_try = matches!(&block.terminator, Some(Terminator::Try { op, .. }) if is_call(op));
        in_try || block.insts.iter().any(|&i| is_call(&func.insts[i].op))
    })
}

fn plan_loop(conditions: &Conditions<'_>, bounds: &Bounds<'_>, id: LoopId, checks: Vec<(Site, Place)>) -> Option<Plan> {
    let Facts { func, loops, .. } = conditions.facts;
    let Loop { header, blocks, .. } = &loops.loops[id];
    let counted = conditions.facts.counted(id);
    let (mut tests, mut proven): (Vec<Wanted>, Vec<Site>) = (Vec::new(), Vec::new());
    for (site, place) in checks {
        let op = match site {
            Site::Inst(inst) => &func.insts[inst].op,
            Site::Try(block) => match &func.blocks[block].terminator {
                Some(Terminator::Try { op, .. }) => op,
                _ => continue,
            },
        };
        let &Op::CheckIndex { index, length, .. } = op else { continue };
        let at = Point { place, extra: Extra::None };
        let by_assumptions = || assumptions(conditions, bounds, id, index, length, at);
        let by_span = || Some(vec![Wanted::Span(linear::span(&conditions.facts, id, &counted, index, length, place)?)]);
        let Some(wanted) = by_assumptions().or_else(by_span) else { continue };
        let new: Vec<Wanted> = wanted.into_iter().filter(|w| !tests.contains(w)).collect();
        if tests.len() + new.len() <= TESTS {
            tests.extend(new);
            proven.push(site);
        }
    }
    let is_new = !proven.is_empty() && !has_failed(&conditions.facts, *header, &tests);
    is_new.then(|| Plan { header: *header, blocks: blocks.clone(), tests, checks: proven })
}

fn assumptions(
    conditions: &Conditions<'_>,
    bounds: &Bounds<'_>,
    id: LoopId,
    index: Value,
    length: Value,
    at: Point,
) -> Option<Vec<Wanted>> {
    let in_range = || bounds.at_most(index, Term::Value(length), -1, at) && bounds.at_least(index, Term::Zero, 0, at);
    let assumed = bounds.assuming(id, in_range)?;
    let entry = Point { place: Place::start(conditions.facts.loops.loops[id].header), extra: Extra::None };
    // The test adds the slack to the target.
    let can_be_tested = |a: &Assumption| match a.target {
        Term::Zero => a.offset().is_some(),
        Term::Value(_) if matches!(a.slack, 0 | -1) => true,
        Term::Value(t) => {
            let limit = i128::from(MAX_LENGTH);
            a.slack.abs() <= limit && bounds.at_most(t, Term::Zero, limit, entry) && bounds.at_least(t, Term::Zero, -limit, entry)
        }
    };
    assumed.iter().all(can_be_tested).then(|| assumed.into_iter().map(Wanted::Assumption).collect())
}

/// Whether the loop stands on the way that a test of the same values leaves to the slow version.
fn has_failed(facts: &Facts<'_>, header: Block, tests: &[Wanted]) -> bool {
    let mut block = header;
    for _ in 0..SEARCH {
        let Some(above) = facts.dominators.idom(block) else { return false };
        if let Some(Terminator::Branch { cond, els, .. }) = &facts.func.blocks[above].terminator
            && els.block == block
        {
            let mut work = vec![*cond];
            for _ in 0..2 * TESTS {
                match work.pop().map(|c| (c, facts.defs.op(facts.func, c))) {
                    Some((_, Some(&Op::Binary(BinaryOp::BAnd, a, b)))) => work.extend([a, b]),
                    Some((cond, _)) if is_about(facts, cond, tests) => return true,
                    Some(_) => {}
                    None => break,
                }
            }
        }
        block = above;
    }
    false
}

/// Whether `cond` is one of the comparisons that the tests are made of.
fn is_about(facts: &Facts<'_>, cond: Value, tests: &[Wanted]) -> bool {
    let Some(&Op::ICmp(cmp, a, b)) = facts.defs.op(facts.func, cond) else { return false };
    let is_const = |v| facts.defs.int_const(facts.func, v).is_some();
    tests.iter().any(|test| match *test {
        Wanted::Assumption(Assumption { x, target: Term::Value(t), .. }) => [(x, t), (t, x)].contains(&(a, b)),
        Wanted::Assumption(Assumption { x, .. }) => a == x && is_const(b) || b == x && is_const(a),
        // No loop of the source begins with such a comparison.
        Wanted::Span(Span { length, .. }) => cmp == IntCmp::Ult && b == length,
    })
}

/// Puts the test before the loop, and a copy of the loop behind its failure.
fn split(func: &mut Function, plan: &Plan, repair: &mut Repair) {
    // The copy of a loop that was split before may lead here, too.
    let entering: Vec<Block> = predecessors(func)[plan.header].iter().copied().filter(|block| !plan.blocks.contains(block)).collect();
    let copy = copy_region(func, &plan.blocks);
    repair.copied(func, &copy);
    let test = func.blocks.push(BlockData::default());
    func.layout.push(test);
    let params: Vec<Value> = func.blocks[plan.header].params.clone().into_iter().map(|p| func.values.push(func.values[p])).collect();
    func.blocks[test].params.clone_from(&params);
    for pred in entering {
        retarget(func, pred, plan.header, test);
    }
    let starts = func.blocks[plan.header].params.iter().copied().zip(params.iter().copied()).collect();
    let mut emitter = Emitter::new(func, test, starts, &plan.blocks);
    let conds: Vec<Value> = plan.tests.iter().flat_map(|t| emitter.wanted(t)).collect();
    let cond = emitter.all(&conds);
    let to = |block| BlockCall { block, args: params.iter().copied().collect() };
    let terminator = Terminator::Branch { cond, then: to(plan.header), els: to(copy.block(plan.header)) };
    func.blocks[test].terminator = Some(terminator);
}
