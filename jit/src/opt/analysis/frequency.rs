//! How often functions run, guessed from the shape of the program: a step for each loop around a call and for each recursion (Y. Wu, J. R. Larus, "Static Branch Frequency and Program Profile Analysis", MICRO 1994, in orders of
//! magnitude only).
//!
//! In: a module. Out: [`Frequencies`] of the program as lowered. A function is as frequent as its most frequent call; a cycle of calls counts as one loop around all its functions.

use super::hierarchy::Hierarchy;
use super::loops::Loops;
use super::types::Types;
use crate::ir::dominators::Dominators;
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashSet;

/// Code this many steps in counts as the program's hottest, however deep other code is.
const HOT: u32 = 4;

/// In steps.
#[derive(Debug)]
pub struct Frequencies {
    of: SecondaryMap<FuncId, u32>,
    hottest: u32,
}

/// A function that may be called, from inside of this many loops.
#[derive(Clone, Copy)]
struct Call {
    callee: FuncId,
    loops: u32,
}

type Calls = SecondaryMap<FuncId, Vec<Call>>;

impl Frequencies {
    pub fn new(module: &Module, hierarchy: &Hierarchy) -> Frequencies {
        let mut calls: Calls = SecondaryMap::with_capacity(module.funcs.len());
        let mut deepest: SecondaryMap<FuncId, u32> = SecondaryMap::with_capacity(module.funcs.len());
        for (id, func) in module.funcs.iter().filter(|(_, f)| !f.layout.is_empty()) {
            (calls[id], deepest[id]) = look_at(module, hierarchy, id, func);
        }
        let mut of: SecondaryMap<FuncId, u32> = SecondaryMap::with_capacity(module.funcs.len());
        for cycle in cycles(module, &calls).into_iter().rev() {
            let inside: FxHashSet<FuncId> = cycle.iter().copied().collect();
            let own = || cycle.iter().flat_map(|&f| &calls[f]);
            let is_recursive = own().any(|c| inside.contains(&c.callee));
            let steps = cycle.iter().map(|&f| of[f]).max().unwrap_or(0) + u32::from(is_recursive);
            cycle.iter().for_each(|&f| of[f] = steps);
            own().filter(|c| !inside.contains(&c.callee)).for_each(|c| of[c.callee] = of[c.callee].max(steps + c.loops));
        }
        let hottest = module.funcs.keys().map(|f| of[f] + deepest[f]).max().unwrap_or(0).min(HOT);
        Frequencies { of, hottest }
    }

    /// How many steps less frequent than the program's hottest code is what stands in so many loops of a function.
    pub fn below_hottest(&self, func: FuncId, loops: u32) -> u32 {
        self.hottest.saturating_sub(self.of[func] + loops)
    }
}

/// Whom a function calls, and how deep its loops nest.
fn look_at(module: &Module, hierarchy: &Hierarchy, id: FuncId, func: &Function) -> (Vec<Call>, u32) {
    let loops = Loops::new(func, &Dominators::new(func));
    let types = Types::new(module, hierarchy, id, func);
    let mut calls = Vec::new();
    for &block in &func.layout {
        let depth = loops.depth(block);
        let mut call = |op: &Op| match op {
            Op::Call { func, .. } => calls.push(Call { callee: *func, loops: depth }),
            Op::CallVirtual { selector, args, .. } => {
                let receivers = types.of(args[0]).among(hierarchy.concrete(module.selectors[*selector].class));
                let callees = receivers.iter().filter_map(|&c| module.classes[c].methods.get(selector));
                calls.extend(callees.map(|&callee| Call { callee, loops: depth }));
            }
            _ => {}
        };
        let data = &func.blocks[block];
        data.insts.iter().for_each(|&i| call(&func.insts[i].op));
        if let Some(Terminator::Try { op, .. }) = &data.terminator {
            call(op);
        }
    }
    (calls, loops.loops.values().map(|l| l.depth).max().unwrap_or(0))
}

/// The strongly connected components of the call graph, callees first (R. Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1(2), 1972).
fn cycles(module: &Module, calls: &Calls) -> Vec<Vec<FuncId>> {
    const UNSEEN: u32 = 0;
    const DONE: u32 = u32::MAX;
    // Number in the order of discovery, from 1; the lowest that is reached from the function.
    let mut number: SecondaryMap<FuncId, u32> = SecondaryMap::with_capacity(module.funcs.len());
    let mut lowest: SecondaryMap<FuncId, u32> = SecondaryMap::with_capacity(module.funcs.len());
    let (mut found, mut open, mut count) = (Vec::new(), Vec::new(), 0);
    for start in module.funcs.keys() {
        // Functions on the way down, with the call that is next.
        let mut way = vec![(start, 0)];
        while let Some((func, next)) = way.pop() {
            if next == 0 {
                if number[func] != UNSEEN {
                    continue;
                }
                count += 1;
                (number[func], lowest[func]) = (count, count);
                open.push(func);
            } else {
                let below = lowest[calls[func][next - 1].callee];
                lowest[func] = lowest[func].min(below);
            }
            if let Some(call) = calls[func].get(next) {
                way.push((func, next + 1));
                way.push((call.callee, 0));
            } else if lowest[func] == number[func] {
                let first = open.iter().rposition(|&f| f == func).expect("it was opened");
                let cycle = open.split_off(first);
                cycle.iter().for_each(|&f| lowest[f] = DONE);
                found.push(cycle);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parser::parse;
    use crate::ir::verifier::verify;

    /// A function with `calls` inside of so many nested loops.
    fn function(id: u32, loops: u32, calls: &[u32]) -> String {
        let mut text = format!("fn{id} \"f\"() {{\nblock0():\n  v0 = bconst true\n  jump block1\n");
        for i in 1..=loops {
            text += &format!("block{i}():\n  jump block{}\n", i + 1);
        }
        text += &format!("block{}():\n", loops + 1);
        for (i, callee) in calls.iter().enumerate() {
            text += &format!("  call fn{callee}() site{}\n", 100 * id + i as u32);
        }
        // Back to each header, from the innermost on.
        for i in 0..loops {
            text += &format!("  branch v0, block{}, block{}\nblock{}():\n", loops - i, loops + 2 + i, loops + 2 + i);
        }
        text + "  return\n}\n"
    }

    /// By function, how far it is below the hottest code.
    fn below(functions: &[(u32, &[u32])]) -> Vec<u32> {
        let text: String = functions.iter().enumerate().map(|(i, (loops, calls))| function(i as u32, *loops, calls)).collect();
        let module = parse(&text).unwrap();
        assert_eq!(verify(&module), []);
        let frequencies = Frequencies::new(&module, &Hierarchy::new(&module));
        module.funcs.keys().map(|f| frequencies.below_hottest(f, 0)).collect()
    }

    #[test]
    fn loops_around_calls_count() {
        assert_eq!(below(&[(1, &[1]), (0, &[2]), (1, &[])]), [2, 1, 1]);
        assert_eq!(below(&[(0, &[2]), (2, &[2]), (0, &[])]), [2, 2, 0], "the most frequent call");
    }

    #[test]
    fn a_cycle_of_calls_is_one_loop() {
        assert_eq!(below(&[(0, &[1]), (0, &[1])]), [1, 0]);
        assert_eq!(below(&[(0, &[1]), (0, &[2]), (0, &[3]), (0, &[1, 4]), (0, &[])]), [1, 0, 0, 0, 0]);
        assert_eq!(below(&[(0, &[1]), (3, &[1])]), [4, 3], "loops inside of it do not add up");
    }

    #[test]
    fn what_is_hot_enough_is_equal() {
        assert_eq!(below(&[(0, &[1]), (3, &[2]), (3, &[])]), [4, 4, 1]);
    }
}
