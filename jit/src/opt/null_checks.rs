//! Null checks made explicit, then merged and dropped.
//!
//! In: accesses as the front end emits them. Out: each [`Null::Throws`] access split into a [`Op::NullCheck`] and an access that stands on its result, [`Op::CheckBounds`] into a check of the array, its length, and [`Op::CheckIndex`];
//! of checks of one value where the first dominates the others only the first; none of a value that is not null by its origin.
//!
//! Invariants: a check has the position of the access it was split from. An access gets a value whose definition proves that it is not null ([`NonNull`]), so code that stands below the definition stands below the proof;
//! where only a branch proves it, the check stays for that reason: it never fails, so it needs no `Try`.

mod merge;

use super::Context;
use super::analysis::non_null::NonNull;
use crate::ir::rewrite::reachable_blocks;
use crate::ir::*;
use merge::Checked;

pub fn run(func: &mut Function, cx: &Context<'_>) -> bool {
    let blocks = func.layout.len();
    // In code that is not reached values may go round in circles.
    let reachable = reachable_blocks(func);
    func.layout.retain(|&b| reachable.contains(b));
    let shrunk = func.layout.len() != blocks;
    let split = split(func, cx.module);
    let mut checked = merge::run(func);
    let non_null = NonNull::new(func, &checked.aliases, |block, edge, arg| checked.find(block, edge, arg).is_some());
    let dropped = drop_proven(func, &mut checked, &non_null);
    let changed = shrunk | split | checked.changed | dropped;
    if changed {
        func.rewrite(&checked.aliases);
    }
    changed
}

/// The object of an access that checks it itself.
fn unchecked_object(op: &Op) -> Option<Value> {
    match *op {
        Op::LoadField(_, object, Null::Throws) | Op::StoreField { object, null: Null::Throws, .. } => Some(object),
        Op::ArrayLen(object, Null::Throws) | Op::CheckBounds(object, _) => Some(object),
        _ => None,
    }
}

fn split(func: &mut Function, module: &Module) -> bool {
    let mut changed = false;
    for block in std::mem::take(&mut func.layout) {
        func.layout.push(block);
        changed |= split_insts(func, block);
        changed |= split_try(func, module, block);
    }
    changed
}

fn split_insts(func: &mut Function, block: Block) -> bool {
    if !func.blocks[block].insts.iter().any(|&i| unchecked_object(&func.insts[i].op).is_some()) {
        return false;
    }
    let old = std::mem::take(&mut func.blocks[block].insts);
    let mut insts = Vec::with_capacity(2 * old.len());
    for inst in old {
        if let Some(object) = unchecked_object(&func.insts[inst].op) {
            let loc = func.insts[inst].loc;
            let (check, object) = func.add_inst(Op::NullCheck(object), Ty::Ref, loc);
            insts.push(check);
            let op = access(func, &mut insts, func.insts[inst].op.clone(), object, loc);
            func.insts[inst].op = op;
        }
        insts.push(inst);
    }
    func.blocks[block].insts = insts;
    true
}

/// The access on its checked object; what it needs besides is appended to `insts`.
fn access(func: &mut Function, insts: &mut Vec<Inst>, op: Op, object: Value, loc: Loc) -> Op {
    match op {
        Op::LoadField(field, ..) => Op::LoadField(field, object, Null::Never),
        Op::StoreField { field, value, barrier, .. } => Op::StoreField { field, object, value, null: Null::Never, barrier },
        Op::ArrayLen(..) => Op::ArrayLen(object, Null::Never),
        Op::CheckBounds(_, index) => {
            let (inst, length) = func.add_inst(Op::ArrayLen(object, Null::Never), Ty::Int, loc);
            insts.push(inst);
            Op::CheckIndex { array: object, index, length }
        }
        other => other,
    }
}

/// A `Try` of an access: of the check alone; the access follows in a block of its own.
fn split_try(func: &mut Function, module: &Module, block: Block) -> bool {
    let data = &func.blocks[block];
    let loc = data.terminator_loc;
    let Some(Terminator::Try { op, normal, unwind }) = data.terminator.clone() else { return false };
    let Some(object) = unchecked_object(&op) else { return false };
    let checked = func.values.push(Ty::Ref);
    let next = func.blocks.push(BlockData { params: vec![checked], terminator_loc: loc, ..Default::default() });
    func.layout.push(next);
    let check = Terminator::Try { op: Op::NullCheck(object), normal: BlockCall { block: next, args: Args::new() }, unwind: unwind.clone() };
    func.blocks[block].terminator = Some(check);
    let mut insts = Vec::new();
    let op = access(func, &mut insts, op, checked, loc);
    let terminator = if op.may_throw() {
        Terminator::Try { op, normal, unwind }
    } else {
        let ty = op.result_ty(module, |v| func.values[v]);
        let result = ty.map(|ty| func.values.push(ty));
        insts.push(func.insts.push(InstData { op, result, loc }));
        Terminator::Jump(BlockCall { block: normal.block, args: result.into_iter().chain(normal.args).collect() })
    };
    func.blocks[next].insts = insts;
    func.blocks[next].terminator = Some(terminator);
    true
}

/// Drops checks of what is not null by its origin, and gives checked values to block parameters that count on it.
fn drop_proven(func: &mut Function, checked: &mut Checked, non_null: &NonNull) -> bool {
    let mut changed = false;
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        let before = insts.len();
        insts.retain(|&inst| {
            let InstData { op, result, .. } = &mut func.insts[inst];
            match (&*op, *result) {
                (&Op::NullCheck(object), Some(result)) if non_null.proves(checked.aliases.get(object)) => {
                    checked.aliases.replace(result, object);
                    false
                }
                (&Op::RefEq(a, b), _) if [(a, b), (b, a)].into_iter().any(|(a, b)| non_null.differ(&checked.aliases, a, b)) => {
                    *op = Op::BConst(false);
                    changed = true;
                    true
                }
                _ => true,
            }
        });
        changed |= insts.len() != before;
        func.blocks[block].insts = insts;
        changed |= drop_proven_try(func, block, checked, non_null);
        changed |= give_checked(func, block, checked, non_null);
    }
    changed
}

fn drop_proven_try(func: &mut Function, block: Block, checked: &Checked, non_null: &NonNull) -> bool {
    let terminator = func.blocks[block].terminator.as_mut().expect("a finished block");
    match terminator {
        Terminator::Try { op: Op::NullCheck(object), normal, .. } if non_null.proves(checked.aliases.get(*object)) => {
            normal.args.insert(0, *object);
            *terminator = Terminator::Jump(normal.clone());
            true
        }
        _ => false,
    }
}

fn give_checked(func: &mut Function, block: Block, checked: &Checked, non_null: &NonNull) -> bool {
    let mut changed = false;
    for &(edge, from_end, value) in checked.edges(block) {
        let mut terminator = func.blocks[block].terminator.take().expect("a finished block");
        if let Some(to) = terminator.edge_mut(edge) {
            // Counted from the end: what a `Try` gives comes first.
            let params = &func.blocks[to.block].params;
            let param = params[params.len() - from_end];
            let position = to.args.len() - from_end;
            if non_null.proves(param) && !non_null.proves(checked.aliases.get(to.args[position])) {
                to.args[position] = value;
                changed = true;
            }
        }
        func.blocks[block].terminator = Some(terminator);
    }
    changed
}
