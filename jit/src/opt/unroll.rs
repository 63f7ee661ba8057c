//! Short loops whose number of rounds is known become straight code: each round is a copy of the body, in which folding finds the induction variable constant.
//!
//! In: innermost loops with a test that constants decide (`analysis::induction`). Out: as many copies of the loop as the test has runs, each leading to the next; the test is decided in all of them and the polls are gone, as there is
//! nothing left that goes round. Other ways out stay in each copy. The order of operations is the same.
//!
//! Bounded by [`MAX_RUNS`], [`BUDGET`] of one loop and [`TOTAL`] of a function; loops around what became straight are looked at again, [`LEVELS`] deep.

use super::Context;
use super::analysis::cold::cold_blocks;
use super::analysis::defs::Defs;
use super::analysis::induction::{Facts, Test};
use super::analysis::loops::{LoopId, Loops, predecessors};
use super::analysis::size::weight;
use crate::ir::copy::{RegionCopy, copy_region, retarget};
use crate::ir::dominators::Dominators;
use crate::ir::repair::Repair;
use crate::ir::*;
use cranelift_entity::EntitySet;

/// Of the test; a test at the top runs once more than the body.
const MAX_RUNS: u32 = 9;

/// What one loop may grow by, by [`weight`].
const BUDGET: u32 = 128;

/// What a function may grow by.
const TOTAL: u32 = 2000;

const LEVELS: usize = 3;

pub fn run(func: &mut Function, _cx: &Context<'_>) -> bool {
    let mut left = TOTAL;
    let mut changed = false;
    for _ in 0..LEVELS {
        let plans = plan(func, &mut left);
        if plans.is_empty() {
            break;
        }
        let mut repair = Repair::default();
        plans.iter().for_each(|plan| plan.apply(func, &mut repair));
        repair.run(func);
        changed = true;
    }
    changed
}

struct Plan {
    header: Block,
    latches: Vec<Block>,
    blocks: Vec<Block>,
    /// Without those of loops within.
    own: Vec<Block>,
    test: Test,
    /// Of the test.
    runs: u32,
}

fn plan(func: &Function, left: &mut u32) -> Vec<Plan> {
    let dominators = Dominators::new(func);
    let loops = Loops::new(func, &dominators);
    if loops.loops.is_empty() {
        return Vec::new();
    }
    let (preds, defs, cold) = (predecessors(func), Defs::new(func), cold_blocks(func));
    let facts = Facts { func, preds: &preds, dominators: &dominators, loops: &loops, defs: &defs };
    let mut has_inner: EntitySet<LoopId> = EntitySet::with_capacity(loops.loops.len());
    let mut plans = Vec::new();
    for (id, of) in loops.loops.iter() {
        of.parent.expand().into_iter().for_each(|parent| _ = has_inner.insert(parent));
        let Some((test, runs)) = runs(&facts, id) else { continue };
        if runs > 1 && (has_inner.contains(id) || cold.contains(of.header)) {
            continue;
        }
        let growth = of.blocks.iter().map(|&b| weight(func, b)).sum::<u32>().saturating_mul(runs - 1);
        if growth > BUDGET.min(*left) {
            continue;
        }
        *left -= growth;
        let own = of.blocks.iter().copied().filter(|&b| loops.around(b) == Some(id)).collect();
        plans.push(Plan { header: of.header, latches: of.latches.clone(), blocks: of.blocks.clone(), own, test, runs });
    }
    plans
}

/// The test that ends the loop first, and how often it runs.
fn runs(facts: &Facts<'_>, id: LoopId) -> Option<(Test, u32)> {
    let counted = facts.counted(id);
    let known = counted.iter().filter_map(|c| Some((c.test, u32::try_from(facts.test_runs(c)?).ok()?)));
    known.filter(|&(_, runs)| runs <= MAX_RUNS).min_by_key(|&(_, runs)| runs)
}

impl Plan {
    fn apply(&self, func: &mut Function, repair: &mut Repair) {
        let mut rounds = vec![RegionCopy::default()];
        rounds.extend((1..self.runs).map(|_| copy_region(func, &self.blocks)));
        for (i, round) in rounds.iter().enumerate() {
            for &block in &self.own {
                remove_polls(func, round.block(block));
            }
            let next = rounds.get(i + 1);
            decide(func, round.block(self.test.block), self.test.stays == next.is_some());
            if let Some(next) = next {
                self.latches.iter().for_each(|&l| retarget(func, round.block(l), round.block(self.header), next.block(self.header)));
            }
            repair.copied(func, round);
        }
    }
}

fn remove_polls(func: &mut Function, block: Block) {
    let Function { blocks, insts, .. } = func;
    blocks[block].insts.retain(|&i| insts[i].op != Op::Poll);
}

/// The branch at the end of the block goes one way only.
fn decide(func: &mut Function, block: Block, cond: bool) {
    let terminator = &mut func.blocks[block].terminator;
    if let Some(Terminator::Branch { then, els, .. }) = terminator {
        let to = if cond { then } else { els };
        *terminator = Some(Terminator::Jump(to.clone()));
    }
}
