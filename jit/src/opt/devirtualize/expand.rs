//! Puts tests and direct calls in place of virtual calls.
//!
//! In: a function, a [`Plan`] for some of its virtual calls. Out: blocks split behind each call that got tests: every direct call, and the virtual one where that stays as the last, jumps to the rest with its result; in a `Try` each is a
//! `Try` with the same two edges.

use super::Plans;
use super::guards::Plan;
use crate::ir::*;

/// A virtual call to be replaced.
struct Site {
    selector: SelectorId,
    args: Args,
    site: CallSiteId,
}

impl Site {
    /// `None`: as it was.
    fn call(&self, func: Option<FuncId>, receiver: Value) -> Op {
        let Site { selector, site, .. } = *self;
        let mut args = self.args.clone();
        args[0] = receiver;
        match func {
            Some(func) => Op::Call { func, args, site },
            None => Op::CallVirtual { selector, args, site },
        }
    }
}

fn site(op: &Op) -> Site {
    match op {
        Op::CallVirtual { selector, args, site } => Site { selector: *selector, args: args.clone(), site: *site },
        _ => unreachable!("only virtual calls are planned"),
    }
}

pub(super) fn expand(func: &mut Function, mut plans: Plans) {
    for block in std::mem::take(&mut func.layout) {
        func.layout.push(block);
        let mut end = block;
        let insts = std::mem::take(&mut func.blocks[block].insts);
        for inst in insts {
            match plans.insts[inst].take() {
                Some(plan) => end = expand_inst(func, end, inst, plan),
                None => func.blocks[end].insts.push(inst),
            }
        }
        if let Some(plan) = plans.tries[block].take() {
            expand_try(func, end, plan);
        }
    }
}

/// The block in which the code goes on.
fn expand_inst(func: &mut Function, block: Block, inst: Inst, plan: Plan) -> Block {
    let InstData { op, result, loc } = func.insts[inst].clone();
    let site = site(&op);
    let (check, receiver) = func.add_inst(Op::NullCheck(site.args[0]), Ty::Ref, loc);
    func.blocks[block].insts.push(check);
    if plan.guarded.is_empty() {
        func.insts[inst].op = site.call(plan.last, receiver);
        func.blocks[block].insts.push(inst);
        return block;
    }
    let rest = func.blocks.push(BlockData { params: result.into_iter().collect(), ..Default::default() });
    let data = &mut func.blocks[block];
    let (terminator, terminator_loc) = (data.terminator.take(), data.terminator_loc);
    let ty = result.map(|r| func.values[r]);
    decide(func, block, receiver, &plan, loc, |func, callee, at| {
        let result = ty.map(|ty| func.values.push(ty));
        let call = func.insts.push(InstData { op: site.call(callee, receiver), result, loc });
        func.blocks[at].insts.push(call);
        func.blocks[at].terminator = Some(Terminator::Jump(BlockCall { block: rest, args: result.into_iter().collect() }));
    });
    func.layout.push(rest);
    (func.blocks[rest].terminator, func.blocks[rest].terminator_loc) = (terminator, terminator_loc);
    rest
}

fn expand_try(func: &mut Function, block: Block, plan: Plan) {
    let loc = func.blocks[block].terminator_loc;
    let Some(Terminator::Try { op, normal, unwind }) = func.blocks[block].terminator.take() else { unreachable!("planned for a `Try`") };
    let site = site(&op);
    let receiver = func.values.push(Ty::Ref);
    let tests = func.blocks.push(BlockData { params: vec![receiver], terminator_loc: loc, ..Default::default() });
    func.layout.push(tests);
    let check =
        Terminator::Try { op: Op::NullCheck(site.args[0]), normal: BlockCall { block: tests, args: Args::new() }, unwind: unwind.clone() };
    func.blocks[block].terminator = Some(check);
    decide(func, tests, receiver, &plan, loc, |func, callee, at| {
        let call = Terminator::Try { op: site.call(callee, receiver), normal: normal.clone(), unwind: unwind.clone() };
        func.blocks[at].terminator = Some(call);
    });
}

/// Tests from `block` on; `call` ends the block it is given.
fn decide(
    func: &mut Function,
    block: Block,
    receiver: Value,
    plan: &Plan,
    loc: Loc,
    mut call: impl FnMut(&mut Function, Option<FuncId>, Block),
) {
    let mut at = block;
    for (tests, callee) in &plan.guarded {
        let target = func.blocks.push(BlockData { terminator_loc: loc, ..Default::default() });
        for test in tests {
            let next = func.blocks.push(BlockData { terminator_loc: loc, ..Default::default() });
            let (inst, passed) = func.add_inst(test.op(receiver), Ty::Bool, loc);
            let to = |block| BlockCall { block, args: Args::new() };
            func.blocks[at].insts.push(inst);
            func.blocks[at].terminator = Some(Terminator::Branch { cond: passed, then: to(target), els: to(next) });
            func.blocks[at].terminator_loc = loc;
            func.layout.push(next);
            at = next;
        }
        call(func, Some(*callee), target);
        func.layout.push(target);
    }
    call(func, plan.last, at);
}
