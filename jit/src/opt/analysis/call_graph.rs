//! Who may call whom, and the order in which callees come before their callers.
//!
//! In: a module. Out: orders and counts; cycles are broken where the search meets them, starting from the program's entries.

use super::hierarchy::Hierarchy;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Calls `f` on each operation of the function, those of `Try`s included.
pub fn for_each_op(func: &Function, mut f: impl FnMut(&Op)) {
    for_each_op_at(func, |op, _| f(op));
}

/// The same with their positions.
pub fn for_each_op_at(func: &Function, mut f: impl FnMut(&Op, Loc)) {
    for &block in &func.layout {
        let data = &func.blocks[block];
        data.insts.iter().for_each(|&i| f(&func.insts[i].op, func.insts[i].loc));
        if let Some(Terminator::Try { op, .. }) = &data.terminator {
            f(op, data.terminator_loc);
        }
    }
}

/// The functions that `op` may call.
pub fn callees(module: &Module, hierarchy: &Hierarchy, op: &Op) -> Vec<FuncId> {
    match op {
        Op::Call { func, .. } => vec![*func],
        Op::CallVirtual { selector, .. } => {
            let classes = hierarchy.concrete(module.selectors[*selector].class);
            let mut found: Vec<FuncId> = classes.iter().filter_map(|&c| module.classes[c].methods.get(selector).copied()).collect();
            found.sort_unstable();
            found.dedup();
            found
        }
        _ => Vec::new(),
    }
}

/// Every function with a body, callees first: in post-order of a depth-first search.
pub fn bottom_up(module: &Module, hierarchy: &Hierarchy) -> Vec<FuncId> {
    let mut order = Vec::with_capacity(module.funcs.len());
    let mut seen: EntitySet<FuncId> = EntitySet::with_capacity(module.funcs.len());
    let entries = module.entry.iter().flat_map(|e| [e.main, e.thread]);
    for start in entries.chain(module.funcs.keys()) {
        let mut work = vec![(start, true)];
        while let Some((func, enter)) = work.pop() {
            if !enter {
                order.push(func);
            } else if !module.funcs[func].layout.is_empty() && seen.insert(func) {
                work.push((func, false));
                for_each_op(&module.funcs[func], |op| work.extend(callees(module, hierarchy, op).into_iter().map(|c| (c, true))));
            }
        }
    }
    order
}

/// The functions with bodies that a call of `root` may reach, itself included, but for those that are done and what only they reach.
pub fn reachable(module: &Module, hierarchy: &Hierarchy, root: FuncId, is_done: impl Fn(FuncId) -> bool) -> Vec<FuncId> {
    let mut found = Vec::new();
    let mut seen: EntitySet<FuncId> = EntitySet::with_capacity(module.funcs.len());
    let mut work = vec![root];
    while let Some(func) = work.pop() {
        if !is_done(func) && !module.funcs[func].layout.is_empty() && seen.insert(func) {
            found.push(func);
            for_each_op(&module.funcs[func], |op| work.extend(callees(module, hierarchy, op)));
        }
    }
    found
}

/// How many call sites may reach each function.
pub fn caller_counts(module: &Module, hierarchy: &Hierarchy) -> SecondaryMap<FuncId, u32> {
    let mut counts: SecondaryMap<FuncId, u32> = SecondaryMap::with_capacity(module.funcs.len());
    for func in module.funcs.values() {
        for_each_op(func, |op| callees(module, hierarchy, op).into_iter().for_each(|c| counts[c] += 1));
    }
    counts
}
