//! Bounds checks that conditions, earlier checks and the way indices change prove; and branches that the same proofs decide.
//!
//! In: a function with accesses split ([`super::null_checks`]), equal lengths merged ([`super::gvn`]). Out: proven checks are their indices, conditions of branches that are decided are constants.
//! A check of which only one side is proven stays as it is. A proof speaks of the program as it is before the pass: that a check has passed holds behind it, whether or not it is one that goes.

use super::Context;
use super::analysis::bounds::{Bounds, Extra, Point};
use super::analysis::call_graph::for_each_op;
use super::analysis::conditions::{Conditions, Place, Term};
use super::analysis::defs::Defs;
use super::analysis::induction::Facts;
use super::analysis::loops::{Loops, predecessors};
use super::versions::{self, Site, drop_check};
use crate::ir::dominators::Dominators;
use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::EntitySet;

/// Of a proof that a check passes.
const CHECK_STEPS: u32 = 400;
/// Of one that decides a branch, of which there are many more, and few are decided.
const BRANCH_STEPS: u32 = 40;

pub fn run(func: &mut Function, _cx: &Context<'_>) -> bool {
    let has_checks = has_checks(func);
    let proven = drop_proven(func);
    let split = has_checks && versions::run(func);
    proven || split
}

fn has_checks(func: &Function) -> bool {
    let mut any = false;
    for_each_op(func, |op| any |= matches!(op, Op::CheckIndex { .. }));
    any
}

fn drop_proven(func: &mut Function) -> bool {
    let found = prove(func);
    if found.is_empty() {
        return false;
    }
    let (mut aliases, mut gone) = (Aliases::default(), EntitySet::with_capacity(func.insts.len()));
    for proven in found {
        match proven {
            Proven::Check(site) => drop_check(func, &mut aliases, &mut gone, site),
            Proven::Branch(block, value) => decide_branch(func, block, value),
        }
    }
    func.blocks.values_mut().for_each(|data| data.insts.retain(|&i| !gone.contains(i)));
    func.rewrite(&aliases);
    true
}

enum Proven {
    Check(Site),
    /// The block's branch has this condition.
    Branch(Block, bool),
}

fn prove(func: &Function) -> Vec<Proven> {
    let dominators = Dominators::new(func);
    let (preds, loops, defs) = (predecessors(func), Loops::new(func, &dominators), Defs::new(func));
    let conditions = Conditions::new(Facts { func, preds: &preds, dominators: &dominators, loops: &loops, defs: &defs });
    let (bounds, quick) = (Bounds::new(&conditions, CHECK_STEPS), Bounds::new(&conditions, BRANCH_STEPS));
    let mut found = Vec::new();
    for &block in func.layout.iter().filter(|&&b| dominators.is_reachable(b)) {
        let data = &func.blocks[block];
        for (position, &inst) in data.insts.iter().enumerate() {
            let at = Point { place: Place { block, position }, extra: Extra::None };
            if passes(&bounds, &func.insts[inst].op, at) {
                found.push(Proven::Check(Site::Inst(inst)));
            }
        }
        let at = Point { place: Place::end(block), extra: Extra::None };
        match &data.terminator {
            Some(Terminator::Try { op, .. }) if passes(&bounds, op, at) => found.push(Proven::Check(Site::Try(block))),
            Some(Terminator::Branch { cond, .. }) => {
                let decided = defs.op(func, *cond).and_then(|op| decide(&quick, op, at));
                found.extend(decided.map(|value| Proven::Branch(block, value)));
            }
            _ => {}
        }
    }
    found
}

/// Whether it is a check that does not fail.
fn passes(bounds: &Bounds<'_>, op: &Op, at: Point) -> bool {
    let &Op::CheckIndex { index, length, .. } = op else { return false };
    bounds.at_most(index, Term::Value(length), -1, at) && bounds.at_least(index, Term::Zero, 0, at)
}

/// The value of a comparison, if it can have one only.
fn decide(bounds: &Bounds<'_>, op: &Op, at: Point) -> Option<bool> {
    let &Op::ICmp(cmp, a, b) = op else { return None };
    let b = Term::Value(b);
    // `a` below `b` by at least so much, or not below it.
    let order = |by: i128| match () {
        () if bounds.at_most(a, b, -by, at) => Some(true),
        () if bounds.at_least(a, b, 1 - by, at) => Some(false),
        () => None,
    };
    match cmp {
        IntCmp::Lt => order(1),
        IntCmp::Ge => order(1).map(|is| !is),
        IntCmp::Le => order(0),
        IntCmp::Gt => order(0).map(|is| !is),
        IntCmp::Ult if bounds.at_least(a, Term::Zero, 0, at) => (bounds.at_most(a, b, -1, at)).then_some(true),
        IntCmp::Ult => None,
        IntCmp::Eq | IntCmp::Ne => {
            let differ = bounds.at_most(a, b, -1, at) || bounds.at_least(a, b, 1, at);
            differ.then_some(cmp == IntCmp::Ne)
        }
    }
}

fn decide_branch(func: &mut Function, block: Block, value: bool) {
    let Some(Terminator::Branch { then, els, .. }) = func.blocks[block].terminator.take() else { return };
    func.blocks[block].terminator = Some(Terminator::Jump(if value { then } else { els }));
}
