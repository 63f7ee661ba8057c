//! What a policy wants to know of the calls in a function.
//!
//! In: a function. Out: [`Facts`], true until the function changes.

use super::Call;
use crate::ir::dominators::Dominators;
use crate::ir::*;
use crate::opt::Context;
use crate::opt::analysis::arms::Arms;
use crate::opt::analysis::call_graph::{for_each_op, for_each_op_at};
use crate::opt::analysis::classes::Classes;
use crate::opt::analysis::cold::cold_blocks;
use crate::opt::analysis::defs::Defs;
use crate::opt::analysis::loops::{Loops, Predecessors, predecessors};
use crate::opt::analysis::types::Types;
use cranelift_entity::{EntitySet, SecondaryMap};
use profiler::oracle::Certainty;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

/// Calls that may get an object, besides accesses to it, for the object to count as fresh: the constructor's, and another.
const CALLS_OF_FRESH: u32 = 2;

pub struct Facts {
    dominators: Dominators,
    loops: Loops,
    defs: Defs,
    preds: Predecessors,
    cold: EntitySet<Block>,
    arms: Arms,
    /// Virtual calls behind tests: what is called on what.
    rest: FxHashMap<(CallSiteId, Loc), (SelectorId, Value)>,
    /// Made when somebody asks: many functions have no call that needs it.
    types: OnceCell<Types>,
    /// Objects that the function makes.
    made: EntitySet<Value>,
    /// Objects that may become values.
    fresh: SecondaryMap<Value, bool>,
}

/// Arguments of which something is known that the callee could do something with.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KnownArgs {
    pub deciding: u32,
    pub known_class: u32,
    pub closures: u32,
}

/// The operation of a call.
pub fn op<'a>(func: &'a Function, call: &Call) -> &'a Op {
    match (call.inst, &func.blocks[call.block].terminator) {
        (Some(inst), _) => &func.insts[inst].op,
        (None, Some(Terminator::Try { op, .. })) => op,
        (None, _) => unreachable!("a call stands in a block or a `Try`"),
    }
}

impl Facts {
    /// `None` if the function calls no function directly.
    pub fn of(func: &Function) -> Option<Facts> {
        let mut calls = false;
        for_each_op(func, |op| calls |= matches!(op, Op::Call { .. }));
        if !calls {
            return None;
        }
        let dominators = Dominators::new(func);
        let loops = Loops::new(func, &dominators);
        let defs = Defs::new(func);
        let (preds, arms) = (predecessors(func), Arms::new(func));
        let mut rest = FxHashMap::default();
        for_each_op_at(func, |op, loc| {
            if let Op::CallVirtual { selector, ref args, site } = *op
                && !arms.of(site, loc).is_empty()
            {
                rest.insert((site, loc), (selector, args[0]));
            }
        });
        let new = new_objects(func, &preds);
        let fresh = fresh_objects(func, &defs, &new);
        let mut made = EntitySet::with_capacity(func.values.len());
        new.into_iter().for_each(|v| _ = made.insert(v));
        Some(Facts { dominators, loops, defs, preds, cold: cold_blocks(func), arms, rest, types: OnceCell::new(), made, fresh })
    }

    pub fn is_reachable(&self, block: Block) -> bool {
        self.dominators.is_reachable(block)
    }

    pub fn loop_depth(&self, block: Block) -> u32 {
        self.loops.depth(block)
    }

    pub fn is_cold(&self, block: Block) -> bool {
        self.cold.contains(block)
    }

    /// Whether the call stands behind tests of the class, and how many functions there were to tell apart.
    pub fn certainty(&self, func: &Function, cx: &Context<'_>, call: &Call) -> Certainty {
        let mut targets = self.arms.of(call.site, call.loc).to_vec();
        if let Some(&(selector, receiver)) = self.rest.get(&(call.site, call.loc)) {
            let bound = cx.hierarchy.concrete(cx.module.selectors[selector].class);
            let classes = self.types(func, cx).of(receiver).among(bound);
            targets.extend(classes.iter().filter_map(|&class| cx.module.classes[class].methods.get(&selector)));
            targets.sort_unstable();
            targets.dedup();
        }
        match targets.len() {
            0 | 1 => Certainty::Only,
            targets => Certainty::Guarded { targets: targets as u32 },
        }
    }

    pub fn known_args(&self, func: &Function, cx: &Context<'_>, call: &Call) -> KnownArgs {
        let mut known = KnownArgs::default();
        let Op::Call { args, .. } = op(func, call) else { return known };
        for (&arg, uses) in args.iter().zip(cx.param_uses.of(call.callee)) {
            let has_class = uses.is_invoked || uses.is_tested;
            known.deciding += u32::from(uses.decides && self.is_constant(func, arg));
            known.known_class += u32::from(has_class && self.has_known_class(func, cx, call.block, arg));
            known.closures += u32::from(uses.is_invoked && self.made.contains(self.defs.unchecked(func, arg)));
        }
        known
    }

    fn types(&self, func: &Function, cx: &Context<'_>) -> &Types {
        self.types.get_or_init(|| Types::new(cx.module, cx.hierarchy, cx.func, func))
    }

    /// Wherever it comes from, or by the test that leads to the block.
    fn has_known_class(&self, func: &Function, cx: &Context<'_>, block: Block, value: Value) -> bool {
        if let Classes::Of(classes) = self.types(func, cx).of(value)
            && classes.len() == 1
        {
            return true;
        }
        let [pred] = self.preds[block][..] else { return false };
        let Some(Terminator::Branch { cond, then, .. }) = &func.blocks[pred].terminator else { return false };
        let test = self.defs.op(func, *cond);
        then.block == block
            && matches!(test, Some(Op::HasClass(_, tested)) if self.defs.unchecked(func, *tested) == self.defs.unchecked(func, value))
    }

    fn is_constant(&self, func: &Function, value: Value) -> bool {
        self.defs.op(func, value).is_some_and(Op::is_constant)
    }

    pub fn constant_args(&self, func: &Function, call: &Op) -> u32 {
        let mut count = 0;
        call.for_each_arg(|v| count += u32::from(self.is_constant(func, v)));
        count
    }

    pub fn fresh_args(&self, call: &Op) -> u32 {
        let mut count = 0;
        call.for_each_arg(|v| count += u32::from(self.fresh[v]));
        count
    }
}

/// Objects made in the function that only accesses and few direct calls use: they may become values once the callees are inside.
fn fresh_objects(func: &Function, defs: &Defs, made: &[Value]) -> SecondaryMap<Value, bool> {
    let mut accesses: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.values.len());
    let mut calls: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.values.len());
    for_each_op(func, |op| match op {
        Op::LoadField(_, object, _) | Op::StoreField { object, .. } | Op::ArrayLen(object, _) => accesses[*object] += 1,
        Op::CheckBounds(array, _) | Op::CheckIndex { array, .. } | Op::LoadElem(_, array, _) | Op::StoreElem(_, array, ..) => {
            accesses[*array] += 1;
        }
        Op::Call { args, .. } => args.iter().for_each(|&arg| calls[arg] += 1),
        _ => {}
    });
    let mut fresh: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(func.values.len());
    for &made in made {
        fresh[made] = calls[made] <= CALLS_OF_FRESH && accesses[made] + calls[made] == defs.uses(made);
    }
    fresh
}

fn new_objects(func: &Function, preds: &Predecessors) -> Vec<Value> {
    let mut made: Vec<Value> = Vec::new();
    for &block in &func.layout {
        let data = &func.blocks[block];
        let insts = data.insts.iter().map(|&i| &func.insts[i]);
        made.extend(insts.filter(|i| makes_object(&i.op)).filter_map(|i| i.result));
        if let Some(Terminator::Try { op, normal, .. }) = &data.terminator
            && makes_object(op)
            && preds[normal.block].len() == 1
        {
            made.extend(func.blocks[normal.block].params.first());
        }
    }
    made
}

fn makes_object(op: &Op) -> bool {
    matches!(op, Op::New(_) | Op::NewArray(..))
}
