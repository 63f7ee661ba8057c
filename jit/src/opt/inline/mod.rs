//! Puts the bodies of callees in place of calls, as an [`Oracle`] decides: the mechanism, without heuristics.
//!
//! In: a function, and in its context the bodies of its callees. Out: the function with those callees inside that the oracle took; every answer as an [`InlineDecision`], a refusal that is given again for the same
//! reason only once for each root.
//!
//! One run is one round: it asks about each direct call that stands in the function, the innermost loops first and small callees before large ones, and puts all accepted bodies in at once. Calls that come in with
//! them are the next round's, after what lies between rounds has made some of them certain and others vanish.

mod facts;
mod positions;
pub(super) mod size;
mod splice;

use super::Context;
use crate::ir::*;
use facts::Facts;
use positions::frames_above;
pub use positions::{calls_around, drop_unused};
use profiler::oracle::{CallSiteFacts, InlineDecision, Oracle, Verdict};
use rustc_hash::{FxHashMap, FxHashSet};
use splice::{Accepted, splice};
use std::cmp::Reverse;

/// A direct call that can be reached and whose callee has a body.
#[derive(Clone, Copy, Debug)]
struct Call {
    block: Block,
    /// `None`: the operation of the block's `Try`.
    inst: Option<Inst>,
    loc: Loc,
    site: CallSiteId,
    callee: FuncId,
    callee_size: u32,
    loop_depth: u32,
}

pub fn run(func: &mut Function, cx: &Context<'_>, oracle: &dyn Oracle, decisions: &mut Vec<InlineDecision>) -> bool {
    let Some(facts) = Facts::of(func) else { return false };
    let mut calls = calls(func, cx.module, &facts);
    calls.sort_by_key(|c| (Reverse(c.loop_depth), c.callee_size));
    let of_root = decisions.iter().rev().take_while(|d| d.root == cx.func);
    let mut known: FxHashSet<_> = of_root.map(|d| (d.site, d.callee, d.chain.clone(), d.verdict)).collect();
    let mut root_size = size::function(func);
    let mut accepted = Accepted::default();
    for call in calls {
        let chain = calls_around(func, call.loc);
        let op = facts::op(func, &call);
        let certainty = facts.certainty(func, cx, &call);
        let args = facts.known_args(func, cx, &call);
        let asked = CallSiteFacts {
            site: call.site,
            root: cx.func,
            form: cx.form,
            callee: call.callee,
            chain: &chain,
            certainty,
            callee_size: call.callee_size,
            root_size,
            recursion: recursion(func, cx.func, &call),
            loop_depth: call.loop_depth,
            below_hottest: cx.frequencies.below_hottest(cx.func, call.loop_depth),
            constant_args: facts.constant_args(func, op),
            fresh_args: facts.fresh_args(op),
            deciding_args: args.deciding,
            known_class_args: args.known_class,
            closure_args: args.closures,
            callers: cx.callers[call.callee],
            is_cold: facts.is_cold(call.block),
        };
        let verdict = oracle.decide(&asked);
        let taken = matches!(verdict, Verdict::Inline(_));
        if taken {
            root_size = root_size.saturating_add(call.callee_size);
            accepted.add(call.block, call.inst);
        }
        if known.insert((call.site, call.callee, asked.chain.into(), verdict)) || taken {
            decisions.push(InlineDecision::new(&asked, verdict, oracle.evidence(&asked, verdict)));
        }
    }
    if accepted.is_empty() {
        return false;
    }
    splice(func, cx.module, &accepted, cx.probes);
    true
}

/// In layout order.
fn calls(func: &Function, module: &Module, facts: &Facts) -> Vec<Call> {
    let mut sizes: FxHashMap<FuncId, u32> = FxHashMap::default();
    let mut calls = Vec::new();
    for &block in func.layout.iter().filter(|&&b| facts.is_reachable(b)) {
        let mut add = |inst, op: &Op, loc| {
            let Op::Call { func: callee, site, .. } = *op else { return };
            let body = &module.funcs[callee];
            if !body.layout.is_empty() {
                let callee_size = *sizes.entry(callee).or_insert_with(|| size::function(body));
                calls.push(Call { block, inst, loc, site, callee, callee_size, loop_depth: facts.loop_depth(block) });
            }
        };
        let data = &func.blocks[block];
        data.insts.iter().for_each(|&i| add(Some(i), &func.insts[i].op, func.insts[i].loc));
        if let Some(Terminator::Try { op, .. }) = &data.terminator {
            add(None, op, data.terminator_loc);
        }
    }
    calls
}

/// How often the callee of a call stands among those that were inlined to get there, and the root.
fn recursion(func: &Function, root: FuncId, call: &Call) -> u32 {
    let inside = frames_above(func, call.loc).filter(|inlined| inlined.callee == call.callee).count();
    u32::from(root == call.callee) + inside as u32
}
