//! Stores into objects that the collector knows are new, or will look at anyway, need no barrier.
//!
//! In: a function. Out: the same with [`Barrier::Elided`] on reference stores whose object is clean: its log bit (see `layout`) is clear, because it was allocated, or went through a barrier, and no safepoint lies between. Stores of
//! null and of string literals, which are never young objects, get it everywhere.
//! A forward dataflow problem: sets of clean objects, intersected where ways meet. Inside of a block the sets have any size; across blocks the first [`FOLLOWED`] objects that could profit are followed.
//!
//! Invariants: objects are born with a clear log bit, large ones too; only a collection sets it, and it runs only inside of a safepoint or while an error is made, so an unwind edge forgets everything.
//! An elided barrier relies on an earlier store or allocation: this pass comes after those that drop or move them.

use super::Context;
use crate::ir::dominators::Dominators;
use crate::ir::*;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};
use rustc_hash::{FxHashMap, FxHashSet};

/// Objects of a function that are followed across blocks: the bits of a [`Set`].
const FOLLOWED: usize = 128;

/// Clean ones of the followed objects.
type Set = u128;

pub fn run(func: &mut Function, cx: &Context<'_>) -> bool {
    let facts = Facts::new(func, cx.module);
    let ends: Vec<End> = facts.blocks.iter().map(|&block| facts.sweep(func, block, FxHashSet::default())).collect();
    let mut elided: Vec<Inst> = ends.iter().flat_map(|end| end.elided.iter().copied()).collect();
    let followed = Followed::new(func, &facts, &ends);
    if !followed.objects.is_empty() {
        let clean = followed.solve(func, &facts, &ends);
        for &block in &facts.blocks {
            let start = followed.objects.iter().enumerate().filter(|&(i, _)| clean[block] >> i & 1 != 0).map(|(_, &v)| v);
            elided.extend(facts.sweep(func, block, start.collect()).elided);
        }
    }
    elided.iter().for_each(|&inst| match &mut func.insts[inst].op {
        Op::StoreField { barrier, .. } | Op::StoreElem(.., barrier) => *barrier = Barrier::Elided,
        op => unreachable!("{op:?} has no barrier"),
    });
    !elided.is_empty()
}

/// What is known of the function's values everywhere.
struct Facts<'a> {
    module: &'a Module,
    /// Those that can be reached.
    blocks: Vec<Block>,
    /// What went into a check, which gives the same object.
    unchecked: SecondaryMap<Value, PackedOption<Value>>,
    /// Null and string literals.
    never_young: FxHashSet<Value>,
}

/// How a block ends, before its terminator.
struct End {
    clean: FxHashSet<Value>,
    /// What was clean at the start need not be so here.
    forgets: bool,
    /// Stores whose barrier is not needed.
    elided: Vec<Inst>,
    /// Objects of stores whose barrier is.
    kept: Vec<Value>,
}

impl<'a> Facts<'a> {
    fn new(func: &Function, module: &'a Module) -> Self {
        let blocks = Dominators::new(func).preorder().to_vec();
        let mut facts = Facts { module, blocks, unchecked: SecondaryMap::new(), never_young: FxHashSet::default() };
        for inst in facts.blocks.iter().flat_map(|&b| &func.blocks[b].insts) {
            let InstData { op, result: Some(result), .. } = &func.insts[*inst] else { continue };
            facts.unchecked[*result] = checked(op).into();
            if matches!(op, Op::Null | Op::StrConst(_)) {
                facts.never_young.insert(*result);
            }
        }
        facts
    }

    fn object(&self, mut value: Value) -> Value {
        while let Some(before) = self.unchecked[value].expand() {
            value = before;
        }
        value
    }

    /// Object and value of a reference store that has its barrier.
    fn store(&self, op: &Op) -> Option<(Value, Value)> {
        match *op {
            Op::StoreField { field, object, value, barrier: Barrier::Needed, .. } if self.module.fields[field].ty.ty() == Ty::Ref => {
                Some((self.object(object), value))
            }
            Op::StoreElem(ElemKind::Ref, array, _, value, Barrier::Needed) => Some((self.object(array), value)),
            _ => None,
        }
    }

    /// Goes through a block, at whose start `clean` is.
    fn sweep(&self, func: &Function, block: Block, clean: FxHashSet<Value>) -> End {
        let mut end = End { clean, forgets: false, elided: Vec::new(), kept: Vec::new() };
        for &inst in &func.blocks[block].insts {
            let InstData { op, result, .. } = &func.insts[inst];
            match self.store(op) {
                Some((object, value)) if self.never_young.contains(&value) || end.clean.contains(&object) => end.elided.push(inst),
                Some((object, _)) => {
                    end.kept.push(object);
                    end.clean.insert(object);
                }
                None if op.is_safepoint() => {
                    end.clean.clear();
                    end.forgets = true;
                    end.clean.extend(result.filter(|_| is_birth(op)));
                }
                None => {}
            }
        }
        end
    }
}

fn is_birth(op: &Op) -> bool {
    matches!(op, Op::New(_) | Op::NewArray(..))
}

/// The objects looked at across blocks, each with its bit in a [`Set`].
struct Followed {
    objects: Vec<Value>,
    bit: FxHashMap<Value, usize>,
}

impl Followed {
    /// Objects whose stores keep their barriers, and what comes in for them where they are block parameters.
    fn new(func: &Function, facts: &Facts<'_>, ends: &[End]) -> Followed {
        let mut followed = Followed { objects: Vec::new(), bit: FxHashMap::default() };
        ends.iter().flat_map(|end| &end.kept).for_each(|&object| followed.add(object));
        let mut incoming: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
        if followed.objects.is_empty() {
            return followed;
        }
        for &block in &facts.blocks {
            let terminator = terminator(func, block);
            if let Terminator::Try { op, normal, .. } = terminator
                && let Some(value) = checked(op)
            {
                incoming.entry(func.blocks[normal.block].params[0]).or_default().push(facts.object(value));
            }
            terminator.for_each_edge(|edge| {
                let params = func.blocks[edge.block].params.iter().rev().zip(edge.args.iter().rev());
                params.for_each(|(&param, &arg)| incoming.entry(param).or_default().push(facts.object(arg)));
            });
        }
        let mut i = 0;
        while let Some(object) = followed.objects.get(i) {
            incoming.remove(object).unwrap_or_default().into_iter().for_each(|arg| followed.add(arg));
            i += 1;
        }
        followed
    }

    fn add(&mut self, object: Value) {
        let next = self.objects.len();
        if next < FOLLOWED && !self.bit.contains_key(&object) {
            self.bit.insert(object, next);
            self.objects.push(object);
        }
    }

    fn bit(&self, object: Value) -> Set {
        self.bit.get(&object).map_or(0, |&i| 1 << i)
    }

    /// What is clean at the start of each block on every way there.
    fn solve(&self, func: &Function, facts: &Facts<'_>, ends: &[End]) -> SecondaryMap<Block, Set> {
        let mut clean: SecondaryMap<Block, Set> = SecondaryMap::with_default(Set::MAX);
        clean[func.entry()] = 0;
        let born = |end: &End| end.clean.iter().fold(0, |set, &v| set | self.bit(v));
        let born: Vec<Set> = ends.iter().map(born).collect();
        let mut index: SecondaryMap<Block, usize> = SecondaryMap::with_capacity(func.blocks.len());
        facts.blocks.iter().enumerate().for_each(|(i, &block)| index[block] = i);
        let mut work: Vec<Block> = facts.blocks.iter().rev().copied().collect();
        let mut waits: SecondaryMap<Block, bool> = SecondaryMap::with_default(true);
        while let Some(block) = work.pop() {
            waits[block] = false;
            let i = index[block];
            let end = if ends[i].forgets { born[i] } else { clean[block] | born[i] };
            for (to, set) in self.over_edges(func, facts, block, end) {
                let met = clean[to] & set;
                if met != clean[to] {
                    clean[to] = met;
                    if !std::mem::replace(&mut waits[to], true) {
                        work.push(to);
                    }
                }
            }
        }
        clean
    }

    /// What is clean where each edge of a block arrives, if `end` is before its terminator.
    fn over_edges(&self, func: &Function, facts: &Facts<'_>, block: Block, end: Set) -> Vec<(Block, Set)> {
        let mut sets = Vec::new();
        let terminator = terminator(func, block);
        let Terminator::Try { op, normal, unwind } = terminator else {
            terminator.for_each_edge(|edge| sets.push((edge.block, self.over_edge(func, facts, edge, end, false))));
            return sets;
        };
        let after = match (facts.store(op), op) {
            _ if op.is_safepoint() => 0,
            (Some((object, value)), _) if !facts.never_young.contains(&value) => end | self.bit(object),
            _ => end,
        };
        let result = is_birth(op) || checked(op).is_some_and(|v| end & self.bit(facts.object(v)) != 0);
        sets.extend([(normal.block, self.over_edge(func, facts, normal, after, result)), (unwind.block, 0)]);
        sets
    }

    /// The target's parameters are what they get; `result` says whether what a `Try` gives is clean.
    fn over_edge(&self, func: &Function, facts: &Facts<'_>, edge: &BlockCall, end: Set, result: bool) -> Set {
        let params = &func.blocks[edge.block].params;
        let own = params.len() - edge.args.len();
        params.iter().enumerate().fold(end, |set, (i, &param)| {
            let clean = if i < own { result } else { end & self.bit(facts.object(edge.args[i - own])) != 0 };
            if clean { set | self.bit(param) } else { set & !self.bit(param) }
        })
    }
}

/// The operand of an operation that gives back what it checks.
fn checked(op: &Op) -> Option<Value> {
    match op {
        Op::NullCheck(value) | Op::CheckCast(_, value) => Some(*value),
        _ => None,
    }
}

fn terminator(func: &Function, block: Block) -> &Terminator {
    func.blocks[block].terminator.as_ref().expect("a finished block")
}
