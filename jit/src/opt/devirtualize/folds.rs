//! Tests and casts that the types decide.
//!
//! In: what an object can be of at a place. Out: [`Fold`]s, which are applied after all were found.

use crate::ir::rewrite::Aliases;
use crate::ir::*;
use crate::opt::analysis::call_graph::for_each_op;
use crate::opt::analysis::classes::Classes;
use crate::opt::analysis::defs::Defs;
use crate::opt::analysis::non_null::NonNull;
use crate::opt::analysis::type_scopes::TypeScopes;

pub(super) enum Fold {
    Constant(Inst, bool),
    /// The test says only whether there is an object.
    NotNull(Block, Inst, Value),
    /// The cast gives back what it got.
    Cast(Block, Inst, Value),
    TryCast(Block, Value),
}

pub(super) fn has_work(func: &Function) -> bool {
    let mut found = false;
    for_each_op(func, |op| found |= matches!(op, Op::CallVirtual { .. } | Op::InstanceOf(..) | Op::HasClass(..) | Op::CheckCast(..)));
    found
}

/// Whether all objects of these classes are at or below `class` (`Some(true)`), or none.
fn decided(scopes: &TypeScopes<'_>, classes: &Classes, class: ClassId) -> Option<bool> {
    let Classes::Of(classes) = classes else { return None };
    let first = scopes.is_below(*classes.first()?, class);
    classes.iter().all(|&c| scopes.is_below(c, class) == first).then_some(first)
}

pub(super) fn decide(func: &Function, defs: &Defs, scopes: &TypeScopes<'_>, non_null: &NonNull, block: Block, inst: Inst) -> Option<Fold> {
    match func.insts[inst].op {
        Op::InstanceOf(class, value) => match decided(scopes, &scopes.of(func, defs, value), class)? {
            true if non_null.proves(value) => Some(Fold::Constant(inst, true)),
            true => Some(Fold::NotNull(block, inst, value)),
            false => Some(Fold::Constant(inst, false)),
        },
        Op::HasClass(class, value) => match scopes.of(func, defs, value) {
            Classes::Of(classes) if classes.is_empty() => None,
            Classes::Of(classes) if *classes == [class] => Some(Fold::Constant(inst, true)),
            classes => (!classes.contains(class)).then_some(Fold::Constant(inst, false)),
        },
        Op::CheckCast(class, value) => keeps(scopes, non_null, class, value).then_some(Fold::Cast(block, inst, value)),
        _ => None,
    }
}

pub(super) fn decide_try(func: &Function, scopes: &TypeScopes<'_>, non_null: &NonNull, block: Block) -> Option<Fold> {
    let Some(Terminator::Try { op: Op::CheckCast(class, value), .. }) = func.blocks[block].terminator else { return None };
    keeps(scopes, non_null, class, value).then_some(Fold::TryCast(block, value))
}

/// The cast cannot fail. Its result is where accesses may stand, so what only a branch proves is not enough.
fn keeps(scopes: &TypeScopes<'_>, non_null: &NonNull, class: ClassId, value: Value) -> bool {
    non_null.proves(value) && decided(scopes, scopes.everywhere(value), class) == Some(true)
}

pub(super) fn apply(func: &mut Function, aliases: &mut Aliases, fold: Fold) {
    match fold {
        Fold::Constant(inst, value) => func.insts[inst].op = Op::BConst(value),
        Fold::NotNull(block, inst, value) => {
            let loc = func.insts[inst].loc;
            let (null, nothing) = func.add_inst(Op::Null, Ty::Ref, loc);
            let (eq, is_null) = func.add_inst(Op::RefEq(value, nothing), Ty::Bool, loc);
            func.insts[inst].op = Op::Unary(UnaryOp::BNot, is_null);
            let insts = &mut func.blocks[block].insts;
            let place = insts.iter().position(|&i| i == inst).expect("it was found there");
            insts.splice(place..place, [null, eq]);
        }
        Fold::Cast(block, inst, value) => {
            let result = func.insts[inst].result.expect("a cast has a result");
            func.blocks[block].insts.retain(|&i| i != inst);
            aliases.replace(result, value);
        }
        Fold::TryCast(block, value) => {
            let terminator = func.blocks[block].terminator.as_mut().expect("a finished block");
            if let Terminator::Try { normal, .. } = terminator {
                normal.args.insert(0, value);
                *terminator = Terminator::Jump(normal.clone());
            }
        }
    }
}
