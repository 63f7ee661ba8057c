//! Short loops need no poll: a thread that is asked to yield waits for such a loop at most about as long as for a cache miss or two.
//!
//! In: a function. Out: the same without the polls of innermost loops that run only [`OPERATIONS`] operations in all before they leave. At three operations a nanosecond that is about a microsecond, and below ten where each fourth
//! operation waits for the cache. Loops with calls, allocations or builtins keep their polls, as do loops whose number of rounds is not known to be small: also where it is almost always.

use super::Context;
use super::analysis::bounds::{Bounds, Extra, Point};
use super::analysis::conditions::{Conditions, Place, Term};
use super::analysis::defs::Defs;
use super::analysis::induction::{Counted, Facts};
use super::analysis::loops::{Loop, LoopId, Loops, predecessors};
use crate::ir::dominators::Dominators;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

/// That a thread may run without a poll.
const OPERATIONS: u64 = 4096;
/// Of the proof that a loop is short.
const STEPS: u32 = 100;

pub fn run(func: &mut Function, _cx: &Context<'_>) -> bool {
    let blocks = in_short_loops(func);
    let is_poll = |i: &Inst| func.insts[*i].op == Op::Poll;
    let mut changed = false;
    for block in blocks {
        let insts = &mut func.blocks[block].insts;
        let before = insts.len();
        insts.retain(|i| !is_poll(i));
        changed |= insts.len() != before;
    }
    changed
}

/// Blocks of the loops that need no poll.
fn in_short_loops(func: &Function) -> Vec<Block> {
    let dominators = Dominators::new(func);
    let (preds, loops, defs) = (predecessors(func), Loops::new(func, &dominators), Defs::new(func));
    let facts = Facts { func, preds: &preds, dominators: &dominators, loops: &loops, defs: &defs };
    let mut has_inner: SecondaryMap<LoopId, bool> = SecondaryMap::with_capacity(loops.loops.len());
    loops.loops.values().filter_map(|l| l.parent.expand()).for_each(|parent| has_inner[parent] = true);
    let candidates = loops.loops.keys().filter(|&id| !has_inner[id]).filter_map(|id| Some((id, rounds_allowed(&facts, id)?)));
    let candidates: Vec<(LoopId, u64)> = candidates.collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let conditions = Conditions::new(facts);
    let bounds = Bounds::new(&conditions, STEPS);
    let is_short = |&(id, rounds): &(LoopId, u64)| facts.counted(id).iter().any(|c| is_within(&facts, &bounds, id, c, rounds));
    candidates.into_iter().filter(is_short).flat_map(|(id, _)| loops.loops[id].blocks.clone()).collect()
}

/// How many rounds are short enough, if the loop has a poll, and does nothing that may take longer than an instruction.
fn rounds_allowed(facts: &Facts<'_>, id: LoopId) -> Option<u64> {
    let (mut size, mut polls) = (0u64, false);
    for &block in &facts.loops.loops[id].blocks {
        let data = &facts.func.blocks[block];
        for op in data.insts.iter().map(|&i| &facts.func.insts[i].op) {
            polls |= *op == Op::Poll;
            if *op != Op::Poll && is_long(op) {
                return None;
            }
        }
        size += data.insts.len() as u64 + 1;
        if matches!(&data.terminator, Some(Terminator::Try { op, .. }) if is_long(op)) || size > OPERATIONS {
            return None;
        }
    }
    (polls && has_one_cycle(facts, id)).then_some(OPERATIONS / size)
}

fn is_long(op: &Op) -> bool {
    op.is_safepoint() || matches!(op, Op::CallBuiltin { .. })
}

/// Whether each way around leads through the header: blocks can be put in an order in which all other edges lead forward.
fn has_one_cycle(facts: &Facts<'_>, id: LoopId) -> bool {
    let Loop { header, blocks, .. } = &facts.loops.loops[id];
    let mut inside: EntitySet<Block> = EntitySet::with_capacity(facts.func.blocks.len());
    blocks.iter().for_each(|&b| _ = inside.insert(b));
    let entering = |b: Block| facts.preds[b].iter().filter(|&&p| inside.contains(p)).count();
    let mut waiting: SecondaryMap<Block, usize> = SecondaryMap::new();
    blocks.iter().filter(|&b| b != header).for_each(|&b| waiting[b] = entering(b));
    let (mut work, mut done) = (vec![*header], 0);
    while let Some(block) = work.pop() {
        done += 1;
        facts.func.blocks[block].terminator.as_ref().expect("a finished block").for_each_edge(|edge| {
            if edge.block != *header && inside.contains(edge.block) {
                waiting[edge.block] -= 1;
                if waiting[edge.block] == 0 {
                    work.push(edge.block);
                }
            }
        });
    }
    done == blocks.len()
}

/// Whether the test leaves after at most so many rounds.
fn is_within(facts: &Facts<'_>, bounds: &Bounds<'_>, id: LoopId, counted: &Counted, rounds: u64) -> bool {
    if let Some(runs) = facts.test_runs(counted) {
        return runs <= rounds;
    }
    let (Some(start), Some(step)) = (counted.induction.start(), counted.induction.const_step()) else { return false };
    if counted.wraps {
        return false;
    }
    // The last of `rounds` tests must see a value past the bound; that of the next round may be one step further.
    let way = i128::from(rounds - u64::from(rounds > 0)) * i128::from(step);
    let at = Point { place: Place::start(facts.loops.loops[id].header), extra: Extra::None };
    match counted.cmp {
        IntCmp::Lt | IntCmp::Le => bounds.at_most(counted.bound, Term::Value(start), way - 1, at),
        IntCmp::Gt | IntCmp::Ge => bounds.at_least(counted.bound, Term::Value(start), way + 1, at),
        _ => false,
    }
}
