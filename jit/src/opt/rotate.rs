//! Loops that test at the top test at the bottom: what decides at the head whether there is one more round is copied to before the loop, and the head becomes the end. One taken branch a round instead of two, and inside of the loop it is
//! known that the test held.
//!
//! In: loops none of whose latches decides whether to leave. Out: the same loops behind a copy of their test; the block after the test is the new header. The test runs as often as before and in the same order, so it may do anything.
//!
//! What is copied ([`Rotation::test`]) is the header, or where its branch alone decides nothing (a condition with `||`, calls with an unwind edge, what was inlined) the blocks behind it up to one that does. They are as few as will do,
//! small ([`LIMIT`]), lead into the loop at one block only, lest it get two heads, and not to the head of another loop, lest the two become one.
//! Ways that only throw are not what a loop is left by.

use super::Context;
use super::analysis::cold::cold_blocks;
use super::analysis::loops::{Loop, LoopId, Loops, Predecessors, predecessors};
use super::analysis::size::weight;
use crate::ir::copy::{copy_region, retarget};
use crate::ir::dominators::Dominators;
use crate::ir::repair::Repair;
use crate::ir::*;
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};

/// Of what is copied, by [`weight`].
const LIMIT: u32 = 32;

/// Blocks that are copied of one loop.
const BLOCKS: usize = 8;

pub fn run(func: &mut Function, _cx: &Context<'_>) -> bool {
    let dominators = Dominators::new(func);
    let loops = Loops::new(func, &dominators);
    if loops.loops.is_empty() {
        return false;
    }
    let rotations = plan(func, &loops);
    if rotations.is_empty() {
        return false;
    }
    apply(func, &loops, &rotations);
    true
}

struct Rotation {
    id: LoopId,
    /// What is copied, the header first.
    test: Vec<Block>,
}

struct Planner<'a> {
    func: &'a Function,
    loops: &'a Loops,
    preds: Predecessors,
    cold: EntitySet<Block>,
    /// Headers of loops that are not going to be rotated, so that they stay headers.
    stays: EntitySet<Block>,
}

/// The loops to rotate, inner ones first.
fn plan(func: &Function, loops: &Loops) -> Vec<Rotation> {
    let mut planner = Planner { func, loops, preds: predecessors(func), cold: cold_blocks(func), stays: EntitySet::new() };
    let mut rotations = Vec::new();
    for (id, Loop { header, latches, .. }) in loops.loops.iter() {
        let is_rotated = latches.iter().any(|&latch| planner.is_test(id, latch));
        match planner.find_test(id).filter(|_| !is_rotated) {
            Some(test) => rotations.push(Rotation { id, test }),
            None => _ = planner.stays.insert(*header),
        }
    }
    rotations
}

impl Planner<'_> {
    /// The block ends in a branch of which one way leaves the loop, and not by a throw.
    fn is_test(&self, id: LoopId, block: Block) -> bool {
        match self.func.blocks[block].terminator.as_ref().expect("a finished block") {
            terminator @ (Terminator::Branch { .. } | Terminator::Switch { .. }) => {
                let mut leaves = false;
                terminator.for_each_edge(|edge| leaves |= !self.loops.contains(id, edge.block) && !self.cold.contains(edge.block));
                leaves
            }
            _ => false,
        }
    }

    /// The blocks to copy.
    fn find_test(&self, id: LoopId) -> Option<Vec<Block>> {
        let header = self.loops.loops[id].header;
        let (mut test, mut size) = (vec![header], weight(self.func, header));
        loop {
            if size > LIMIT || test.len() > BLOCKS {
                return None;
            }
            // Where the test leads to inside of the loop.
            let mut targets: Vec<Block> = Vec::new();
            for &block in &test {
                self.func.blocks[block].terminator.as_ref().expect("a finished block").for_each_edge(|edge| {
                    let inside = self.loops.contains(id, edge.block) && !targets.contains(&edge.block);
                    if inside && (edge.block == header || !test.contains(&edge.block)) {
                        targets.push(edge.block);
                    }
                });
            }
            if targets.contains(&header) {
                return None;
            }
            if let &[target] = targets.as_slice()
                && test.iter().any(|&b| self.is_test(id, b) && self.leads_to(b, target))
            {
                return (!self.stays.contains(target)).then_some(test);
            }
            let next = targets.into_iter().find(|&t| self.loops.around(t) == Some(id) && self.preds[t].iter().all(|p| test.contains(p)))?;
            size += weight(self.func, next);
            test.push(next);
        }
    }

    fn leads_to(&self, block: Block, target: Block) -> bool {
        let mut found = false;
        self.func.blocks[block].terminator.as_ref().expect("a finished block").for_each_edge(|edge| found |= edge.block == target);
        found
    }
}

/// Inner loops first, since an outer loop's test may lead to what was an inner loop's header.
fn apply(func: &mut Function, loops: &Loops, rotations: &[Rotation]) {
    let mut preds = predecessors(func);
    // Copies stand in the loop around the one that they are the test of.
    let mut home: FxHashMap<Block, Option<LoopId>> = FxHashMap::default();
    let mut repair = Repair::default();
    for Rotation { id, test } in rotations {
        let Loop { header, parent, .. } = loops.loops[*id];
        let copy = copy_region(func, test);
        let inside = |block: Block| match home.get(&block) {
            Some(around) => std::iter::successors(*around, |&l| loops.loops[l].parent.expand()).any(|l| l == *id),
            None => loops.contains(*id, block),
        };
        let outside: FxHashSet<Block> = preds[header].iter().copied().filter(|&p| !inside(p)).collect();
        for &pred in &outside {
            retarget(func, pred, header, copy.block(header));
        }
        preds[header].retain(|p| !outside.contains(p));
        for &(_, new) in &copy.blocks {
            home.insert(new, parent.expand());
            func.blocks[new].terminator.as_ref().expect("a finished block").for_each_edge(|edge| preds[edge.block].push(new));
        }
        preds[copy.block(header)].extend(outside);
        repair.copied(func, &copy);
    }
    repair.run(func);
}
