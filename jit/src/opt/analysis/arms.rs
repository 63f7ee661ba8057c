//! Which direct calls, and which inlined bodies, stand for one call of the source: those behind the tests that a virtual call has got share its call site and its position.
//!
//! In: a function. Out: [`Arms`], true until the function changes.

use super::call_graph::for_each_op_at;
use crate::ir::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

#[derive(Debug)]
pub struct Arms {
    of: FxHashMap<(CallSiteId, Loc), SmallVec<[FuncId; 2]>>,
}

impl Arms {
    pub fn new(func: &Function) -> Arms {
        let mut arms = Arms { of: FxHashMap::default() };
        for_each_op_at(func, |op, loc| {
            if let Op::Call { func, site, .. } = *op {
                arms.add(site, loc, func);
            }
        });
        func.inlined.values().for_each(|inlined| arms.add(inlined.site, inlined.call, inlined.callee));
        arms
    }

    fn add(&mut self, site: CallSiteId, loc: Loc, callee: FuncId) {
        let callees = self.of.entry((site, loc)).or_default();
        if !callees.contains(&callee) {
            callees.push(callee);
        }
    }

    /// The functions that the call calls directly.
    pub fn of(&self, site: CallSiteId, loc: Loc) -> &[FuncId] {
        self.of.get(&(site, loc)).map_or(&[], |callees| callees)
    }
}
