//! Virtual calls become direct ones where the receiver's classes leave few functions to call; tests of the class that its types decide become constants.
//!
//! In: a function and the program's type facts. Out: a call with one target: a null check and a direct call. With several, of which the policy names some: tests of the class, and a direct call behind each ([`guards`]);
//! where these do not cover all targets, the virtual call stays behind them. All others stay. The calls that one virtual call becomes share its call site and its position.
//!
//! Invariants: a null receiver throws NullError where the virtual call did, a cast of null CastError. A test is decided only by classes that an object there can have; where none is left the code cannot be reached, and is left alone.

mod expand;
mod folds;
mod guards;

use super::Context;
use super::analysis::arms::Arms;
use super::analysis::defs::Defs;
use super::analysis::loops::predecessors;
use super::analysis::non_null::NonNull;
use super::analysis::type_scopes::TypeScopes;
use super::analysis::types::Types;
use crate::ir::dominators::{Dominators, Visit};
use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use guards::{Place, Plan, plan};

pub fn run(func: &mut Function, cx: &Context<'_>) -> bool {
    if !folds::has_work(func) {
        return false;
    }
    let (plans, folds) = decide(func, cx);
    if plans.is_empty() && folds.is_empty() {
        return false;
    }
    let mut aliases = Aliases::default();
    folds.into_iter().for_each(|fold| folds::apply(func, &mut aliases, fold));
    expand::expand(func, plans);
    func.rewrite(&aliases);
    true
}

/// What to do with each virtual call: by instruction, and by block for those of `Try`s.
#[derive(Default)]
struct Plans {
    insts: SecondaryMap<Inst, Option<Plan>>,
    tries: SecondaryMap<Block, Option<Plan>>,
    count: usize,
}

impl Plans {
    fn is_empty(&self) -> bool {
        self.count == 0
    }
}

fn decide(func: &Function, cx: &Context<'_>) -> (Plans, Vec<folds::Fold>) {
    let dominators = Dominators::new(func);
    let defs = Defs::new(func);
    let preds = predecessors(func);
    let types = Types::new(cx.module, cx.hierarchy, cx.func, func);
    let non_null = NonNull::new(func, &Aliases::default(), |_, _, _| false);
    let arms = Arms::new(func);
    let mut scopes = TypeScopes::new(cx.module, cx.hierarchy, &types);
    let (mut plans, mut found) = (Plans::default(), Vec::new());
    for visit in dominators.walk() {
        let Visit::Enter(block) = visit else {
            scopes.leave();
            continue;
        };
        let only = <&[Block; 1]>::try_from(preds[block].as_slice()).ok();
        scopes.enter(func, &defs, block, only.map(|p| p[0]));
        let targets = |op: &Op, loc: Loc| match *op {
            Op::CallVirtual { selector, ref args, site } => {
                let classes = scopes.among(func, &defs, args[0], cx.module.selectors[selector].class);
                plan(cx, Place { func, arms: &arms, selector, site, loc, classes: &classes })
            }
            _ => None,
        };
        let data = &func.blocks[block];
        for &inst in &data.insts {
            let InstData { op, loc, .. } = &func.insts[inst];
            plans.insts[inst] = targets(op, *loc);
            plans.count += usize::from(plans.insts[inst].is_some());
            found.extend(folds::decide(func, &defs, &scopes, &non_null, block, inst));
        }
        if let Some(Terminator::Try { op, .. }) = &data.terminator {
            plans.tries[block] = targets(op, data.terminator_loc);
            plans.count += usize::from(plans.tries[block].is_some());
            found.extend(folds::decide_try(func, &scopes, &non_null, block));
        }
    }
    (plans, found)
}
