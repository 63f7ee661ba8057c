//! Code that hardly ever runs, as far as whoever decides about inlining knows: blocks that come to a call which a profile has not seen, though it knows the function around it, or only to an error.
//!
//! In: decisions; later a function in which the calls still stand. Out: [`RareCalls`], and where they are: [`RareCode`], true until the function changes.

use super::cold::cold_from;
use crate::ir::*;
use crate::opt::inline::calls_around;
use cranelift_entity::EntitySet;
use profiler::oracle::{InlineDecision, Refused, Verdict};
use rustc_hash::FxHashSet;

/// Calls that stay because they have not been seen, with the calls that were inlined to get there.
#[derive(Default, Debug)]
pub struct RareCalls(FxHashSet<(Box<[CallSiteId]>, CallSiteId, FuncId)>);

impl RareCalls {
    /// Whether any is new.
    pub fn add(&mut self, decisions: &[InlineDecision]) -> bool {
        let before = self.0.len();
        let unseen = decisions.iter().filter(|d| d.verdict == Verdict::Call(Refused::ColdByProfile));
        self.0.extend(unseen.map(|d| (d.chain.clone(), d.site, d.callee)));
        self.0.len() > before
    }

    fn contains(&self, func: &Function, op: &Op, loc: Loc) -> bool {
        match *op {
            Op::Call { func: callee, site, .. } => self.0.contains(&(calls_around(func, loc).into(), site, callee)),
            _ => false,
        }
    }
}

/// Where [`RareCalls`] stand in a function.
#[derive(Default, Debug)]
pub struct RareCode {
    calls: EntitySet<Inst>,
    /// From which control comes to such a call or throws, on whatever way, or has come through such a block, on whatever way. None in a function without such calls.
    blocks: EntitySet<Block>,
}

impl RareCode {
    pub fn new(func: &Function, rare: &RareCalls) -> RareCode {
        let mut code = RareCode::default();
        if rare.0.is_empty() {
            return code;
        }
        let mut seeds = Vec::new();
        for &block in &func.layout {
            for &inst in &func.blocks[block].insts {
                let InstData { op, loc, .. } = &func.insts[inst];
                if rare.contains(func, op, *loc) {
                    code.calls.insert(inst);
                    seeds.push(block);
                }
            }
        }
        if seeds.is_empty() {
            return code;
        }
        let before = cold_from(func, seeds);
        let mut often = EntitySet::with_capacity(func.blocks.len());
        let mut work = vec![func.entry()];
        while let Some(block) = work.pop() {
            if !before.contains(block) && often.insert(block) {
                func.blocks[block].terminator.as_ref().expect("a finished block").for_each_edge(|edge| work.push(edge.block));
            }
        }
        code.blocks.extend(func.layout.iter().copied().filter(|&b| !often.contains(b)));
        code
    }

    pub fn is_call(&self, inst: Inst) -> bool {
        self.calls.contains(inst)
    }

    pub fn has(&self, block: Block) -> bool {
        self.blocks.contains(block)
    }
}
