//! Where in its parent's array a child stands: the integer keys of OOPSLA'12 section 6.
//!
//! In: what the program's call sites call. Out: for each label a slot, for each label the number of slots that its nodes need.
//! A label's slot is the same under all parents. The direct callees of one routine have different slots, except that rare ones may lie beyond the routine's array: the layout then uses its list, as it does for indirect calls.

use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::program::Program;
use crate::structures::Label;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;

/// The slot of a label that has none.
pub const NO_SLOT: u32 = u32::MAX;

/// See the module.
#[derive(Clone, Debug)]
pub struct Slots<L: Label> {
    slot: SecondaryMap<L, u32>,
    degree: SecondaryMap<L, u32>,
}

impl<L: Label> Default for Slots<L> {
    /// No label has a slot.
    fn default() -> Self {
        Slots { slot: SecondaryMap::with_default(NO_SLOT), degree: SecondaryMap::with_default(0) }
    }
}

impl<L: Label> Slots<L> {
    /// [`NO_SLOT`] if it has none.
    #[inline]
    pub fn slot(&self, label: L) -> u32 {
        self.slot[label]
    }

    /// Slots that a node of this label needs.
    pub fn degree(&self, label: L) -> u32 {
        self.degree[label]
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        (self.slot.capacity() + self.degree.capacity()) * size_of::<u32>()
    }
}

impl Slots<EdgeId> {
    /// For nodes of edges: a slot for each call site that has only one callee among the program's edges, numbered within its routine.
    pub fn of_edges(program: &Program) -> Self {
        let mut slots = Self::default();
        let mut sites: SecondaryMap<FuncId, u32> = SecondaryMap::new();
        for (edge, caller, _) in direct_calls(program) {
            slots.slot[edge] = sites[caller];
            sites[caller] += 1;
        }
        for (edge, definition) in program.edges() {
            slots.degree[edge] = sites[definition.callee];
        }
        slots
    }
}

impl Slots<FuncId> {
    /// For nodes of functions: two functions that one routine calls directly get different slots, those with most callers the lowest.
    pub fn of_functions(program: &Program) -> Self {
        let mut callers: SecondaryMap<FuncId, Vec<FuncId>> = SecondaryMap::new();
        for (_, caller, callee) in direct_calls(program) {
            callers[callee].push(caller);
        }
        let mut callees: SecondaryMap<FuncId, u32> = SecondaryMap::new();
        for callers in callers.values_mut() {
            callers.sort_unstable();
            callers.dedup();
            callers.iter().for_each(|&caller| callees[caller] += 1);
        }
        let mut order: Vec<FuncId> = callers.keys().filter(|&function| !callers[function].is_empty()).collect();
        order.sort_by_key(|&function| Reverse(callers[function].len()));

        let mut slots = Self::default();
        let mut taken = FxHashSet::default();
        for function in order {
            let callers = &callers[function];
            let is_free = |slot: &u32| callers.iter().all(|&caller| !taken.contains(&(caller, *slot)));
            let Some(slot) = (0..NO_SLOT).find(is_free) else { continue };
            slots.slot[function] = slot;
            for &caller in callers {
                taken.insert((caller, slot));
                // An array may be half empty, not more: what would stand far behind goes to the list.
                slots.degree[caller] = slots.degree[caller].max(slot + 1).min(2 * callees[caller]);
            }
        }
        slots
    }
}

/// The calls of sites that have only one callee: edge, caller, callee.
fn direct_calls(program: &Program) -> impl Iterator<Item = (EdgeId, FuncId, FuncId)> {
    let mut targets: SecondaryMap<CallSiteId, u32> = SecondaryMap::new();
    for edge in program.edges().values() {
        if let Some(site) = edge.site.expand() {
            targets[site] += 1;
        }
    }
    program.edges().iter().filter_map(move |(id, edge)| {
        let site = edge.site.expand().filter(|&site| targets[site] == 1)?;
        Some((id, program.sites[site].caller, edge.callee))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{CallSite, Edge, Function};

    /// 0 calls 1, 2 and 3 directly (2 from two places); 1 calls 3 directly, and 0 or 2 indirectly.
    fn program() -> (Program, Vec<EdgeId>) {
        let mut program = Program::default();
        let functions: Vec<FuncId> =
            (0..4).map(|n| program.functions.push(Function { name: format!("f{n}").into(), file: "".into(), line: 0 })).collect();
        let mut call = |caller: usize, callees: &[usize]| -> Vec<EdgeId> {
            let site = program.sites.push(CallSite { caller: functions[caller], line: 0 });
            callees.iter().map(|&callee| program.edge(Edge { site: site.into(), callee: functions[callee] })).collect()
        };
        let edges = [call(0, &[1]), call(0, &[2]), call(0, &[2]), call(0, &[3]), call(1, &[3]), call(1, &[0, 2])].concat();
        (program, edges)
    }

    #[test]
    fn sites_are_numbered_in_their_routine() {
        let (program, edges) = program();
        let slots = Slots::of_edges(&program);
        let found: Vec<u32> = edges.iter().map(|&edge| slots.slot(edge)).collect();
        assert_eq!(found, [0, 1, 2, 3, 0, NO_SLOT, NO_SLOT]);
        let degrees: Vec<u32> = edges.iter().map(|&edge| slots.degree(edge)).collect();
        assert_eq!(degrees, [1, 0, 0, 0, 0, 4, 0], "edges to 1, 2, 2, 3, 3, 0, 2");
    }

    #[test]
    fn functions_of_one_caller_differ() {
        let (program, _) = program();
        let slots = Slots::of_functions(&program);
        let slot = |n| slots.slot(FuncId::from_u32(n));
        assert_eq!(slot(3), 0, "most callers");
        assert_eq!(slot(0), NO_SLOT, "only called indirectly");
        let mut of_root = [slot(1), slot(2), slot(3)];
        of_root.sort();
        assert_eq!(of_root, [0, 1, 2]);
        let degrees: Vec<u32> = (0..4).map(|n| slots.degree(FuncId::from_u32(n))).collect();
        assert_eq!(degrees, [3, 1, 0, 0]);
    }
}
