//! Short inner loops do several rounds for one test and one poll.
//!
//! In: innermost rotated loops that count towards a bound in small steps, without calls. Out: before each a loop of [`ROUNDS`] copies of its body, which runs as long as that many rounds are left for sure; the loop itself does
//! what remains, at most `ROUNDS - 1` rounds, and so needs no poll. Other ways out stay in every copy, and nothing changes its order, sums of `Float` least of all.
//!
//! With `i` the variable and `s > 0` its step, all tests between the rounds hold if `i < bound - (ROUNDS - 1) * s`; where that would overflow, only the loop itself runs. Downwards likewise.
//! Left alone: loops that wait for a long operation in each round (a sum of `Float`, a division), where it buys nothing, and what this pass made (steps of [`ROUNDS`] or more; no poll).

use super::Context;
use super::analysis::cold::cold_blocks;
use super::analysis::defs::Defs;
use super::analysis::induction::{Counted, Facts, Tested};
use super::analysis::loops::{Loop, LoopId, Loops, predecessors};
use super::analysis::size::weight;
use crate::ir::copy::{RegionCopy, copy_region, retarget};
use crate::ir::dominators::Dominators;
use crate::ir::repair::Repair;
use crate::ir::*;
use cranelift_entity::EntitySet;

const ROUNDS: i64 = 4;

/// Of one round, by [`weight`].
const LIMIT: u32 = 16;

/// Loops of one function.
const LOOPS: usize = 50;

pub fn run(func: &mut Function, _cx: &Context<'_>) -> bool {
    let dominators = Dominators::new(func);
    let loops = Loops::new(func, &dominators);
    if loops.loops.is_empty() {
        return false;
    }
    let plans = plan(func, &dominators, &loops);
    let mut repair = Repair::default();
    for Plan { id, counted, test_moves } in &plans {
        let of = &loops.loops[*id];
        // Found anew, since one loop's copies may lead straight to the next loop; as often as [`LOOPS`] says.
        let outside: Vec<Block> = predecessors(func)[of.header].iter().copied().filter(|&p| !loops.contains(*id, p)).collect();
        Unroll { of, counted, test_moves: *test_moves }.apply(func, &outside, &mut repair);
    }
    if !plans.is_empty() {
        repair.run(func);
    }
    !plans.is_empty()
}

struct Plan {
    id: LoopId,
    counted: Counted,
    /// Nothing but the branch needs the test's result.
    test_moves: bool,
}

fn plan(func: &Function, dominators: &Dominators, loops: &Loops) -> Vec<Plan> {
    let (preds, defs, cold) = (predecessors(func), Defs::new(func), cold_blocks(func));
    let facts = Facts { func, preds: &preds, dominators, loops, defs: &defs };
    let mut has_inner: EntitySet<LoopId> = EntitySet::with_capacity(loops.loops.len());
    let mut plans = Vec::new();
    for (id, of) in loops.loops.iter() {
        of.parent.expand().into_iter().for_each(|parent| _ = has_inner.insert(parent));
        if has_inner.contains(id) || cold.contains(of.header) || !pays(func, of) {
            continue;
        }
        let counted = facts.counted(id).into_iter().find(|c| fits(&facts, id, c));
        plans.extend(counted.map(|counted| Plan { id, test_moves: defs.uses(counted.test.cond) == 1, counted }));
    }
    plans.truncate(LOOPS);
    plans
}

/// The body is small and has a poll, and no round waits long for the one before.
fn pays(func: &Function, of: &Loop) -> bool {
    let mut polls = false;
    let mut is_quick = |op: &Op| match op {
        Op::Poll => {
            polls = true;
            true
        }
        Op::Binary(BinaryOp::IDiv | BinaryOp::IRem | BinaryOp::FDiv, ..) | Op::Unary(UnaryOp::FSqrt, _) => false,
        op => !op.is_safepoint(),
    };
    let quick = of.blocks.iter().all(|&b| {
        let data = &func.blocks[b];
        let last = match &data.terminator {
            Some(Terminator::Try { op, .. }) => is_quick(op),
            _ => true,
        };
        last && data.insts.iter().all(|&i| is_quick(&func.insts[i].op))
    });
    let sums = func.blocks[of.header].params.iter().any(|&p| func.values[p] == Ty::Float);
    quick && polls && !sums && of.blocks.iter().map(|&b| weight(func, b)).sum::<u32>() <= LIMIT
}

fn fits(facts: &Facts<'_>, id: LoopId, counted: &Counted) -> bool {
    let bound_is_above = facts.defs.block(counted.bound).is_some_and(|b| !facts.loops.contains(id, b));
    let step = counted.induction.const_step().unwrap_or(ROUNDS);
    let at_the_end = facts.loops.loops[id].latches == [counted.test.block] && counted.test.inside == facts.loops.loops[id].header;
    let strict = matches!((counted.cmp, step > 0), (IntCmp::Lt, true) | (IntCmp::Gt, false));
    bound_is_above && step.unsigned_abs() < ROUNDS as u64 && at_the_end && strict && counted.tested == Tested::Next && !counted.wraps
}

struct Unroll<'a> {
    of: &'a Loop,
    counted: &'a Counted,
    test_moves: bool,
}

impl Unroll<'_> {
    fn apply(&self, func: &mut Function, outside: &[Block], repair: &mut Repair) {
        let rounds: Vec<RegionCopy> = (0..ROUNDS).map(|_| copy_region(func, &self.of.blocks)).collect();
        rounds.iter().for_each(|round| repair.copied(func, round));
        let (header, latch) = (self.of.header, self.counted.test.block);
        let limit = self.guard(func, outside, rounds[0].block(header));
        for pair in rounds.windows(2) {
            self.chain(func, &pair[0], &pair[1]);
        }
        for round in rounds.iter().rev().skip(1) {
            self.of.blocks.iter().for_each(|&b| remove_polls(func, round.block(b)));
        }
        self.of.blocks.iter().for_each(|&b| remove_polls(func, b));
        let last = &rounds[rounds.len() - 1];
        let next = last.value(self.counted.induction.next().expect("tested"));
        let again = BlockCall { block: rounds[0].block(header), ..self.inside(func, last.block(latch)) };
        self.finish(func, last, (next, limit), again);
    }

    /// A block before both loops, which computes the limit and picks one. The limit is the result.
    fn guard(&self, func: &mut Function, outside: &[Block], main: Block) -> Value {
        let header = self.of.header;
        let guard = func.blocks.push(BlockData::default());
        func.layout.push(guard);
        outside.iter().for_each(|&p| retarget(func, p, header, guard));
        let types: Vec<Ty> = func.blocks[header].params.iter().map(|&p| func.values[p]).collect();
        let params: Vec<Value> = types.into_iter().map(|ty| func.values.push(ty)).collect();
        let start = params[self.counted.induction.position];
        let args: Args = params.iter().copied().collect();
        func.blocks[guard].params = params;
        let distance = (ROUNDS - 1) * self.counted.induction.const_step().expect("checked");
        // Where `bound - distance` overflows, nothing is within the limit.
        let (end, holds) = if distance > 0 { (i64::MIN, IntCmp::Ge) } else { (i64::MAX, IntCmp::Le) };
        let mut push = |op| self.push(func, guard, op);
        let by = push(Op::IConst(distance));
        let room = push(Op::IConst(end + distance));
        let end = push(Op::IConst(end));
        let cond = push(Op::ICmp(holds, self.counted.bound, room));
        let then = push(Op::Binary(BinaryOp::ISub, self.counted.bound, by));
        let limit = push(Op::Select { cond, then, els: end });
        let cond = push(Op::ICmp(self.counted.cmp, start, limit));
        func.blocks[guard].terminator_loc = func.blocks[self.counted.test.block].terminator_loc;
        let (then, els) = (BlockCall { block: main, args: args.clone() }, BlockCall { block: header, args });
        func.blocks[guard].terminator = Some(Terminator::Branch { cond, then, els });
        limit
    }

    /// The test after a round is known to hold: the next one follows.
    fn chain(&self, func: &mut Function, round: &RegionCopy, next: &RegionCopy) {
        let latch = round.block(self.counted.test.block);
        let to = self.inside(func, latch);
        func.blocks[latch].terminator = Some(Terminator::Jump(BlockCall { block: next.block(self.of.header), ..to }));
    }

    /// After the last round: again, if there are enough rounds left; else the loop's own test decides about the rest.
    fn finish(&self, func: &mut Function, last: &RegionCopy, (next, limit): (Value, Value), again: BlockCall) {
        let latch = last.block(self.counted.test.block);
        let rest = func.blocks.push(BlockData::default());
        func.layout.push(rest);
        let mut own = func.blocks[latch].terminator.clone();
        if let Some(Terminator::Branch { then, els, .. }) = &mut own {
            let stays = if self.counted.test.stays { then } else { els };
            stays.block = self.of.header;
        }
        if self.test_moves {
            let cond = last.value(self.counted.test.cond);
            let Function { blocks, insts, .. } = func;
            let moved: Vec<Inst> = blocks[latch].insts.extract_if(.., |i| insts[*i].result == Some(cond)).collect();
            blocks[rest].insts = moved;
        }
        func.blocks[rest].terminator = own;
        func.blocks[rest].terminator_loc = func.blocks[latch].terminator_loc;
        let cond = self.push(func, latch, Op::ICmp(self.counted.cmp, next, limit));
        let els = BlockCall { block: rest, args: Args::new() };
        func.blocks[latch].terminator = Some(Terminator::Branch { cond, then: again, els });
    }

    /// The edge that goes on at the end of a latch's copy.
    fn inside(&self, func: &Function, latch: Block) -> BlockCall {
        let Some(Terminator::Branch { then, els, .. }) = &func.blocks[latch].terminator else { unreachable!("a test is a branch") };
        if self.counted.test.stays { then.clone() } else { els.clone() }
    }

    fn push(&self, func: &mut Function, block: Block, op: Op) -> Value {
        let ty = if matches!(op, Op::ICmp(..)) { Ty::Bool } else { Ty::Int };
        let result = func.values.push(ty);
        let loc = func.blocks[self.counted.test.block].terminator_loc;
        let inst = func.insts.push(InstData { op, result: Some(result), loc });
        func.blocks[block].insts.push(inst);
        result
    }
}

fn remove_polls(func: &mut Function, block: Block) {
    let Function { blocks, insts, .. } = func;
    blocks[block].insts.retain(|&i| insts[i].op != Op::Poll);
}
