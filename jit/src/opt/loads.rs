//! Loads that give what is known go: what was loaded or stored before, or the zeros of a new object. Then stores that nobody can see go ([`dead_stores`]).
//!
//! In: a function. Out: the same where a load whose place holds a known value on every way became that value; where ways with different values meet, a block parameter.
//! A forward dataflow problem over places ("available expressions": A. Aho et al., "Compilers: Principles, Techniques, and Tools", 2nd ed., section 9.2.6), then SSA construction for the values. The first [`PLACES`] places that
//! can profit are followed.
//!
//! Invariants: a place is forgotten where anything may have changed it, other threads included once this one synchronizes ([`Memory::clobbers`]). A place that was accessed belongs to an object, so a load that goes would not have thrown.
//! A name whose values are defined anew, in a loop, is known on no way that comes from outside of the loop, and so at no definition.

mod dead_stores;

use super::Context;
use super::analysis::loops::predecessors;
use super::analysis::memory::{Access, Memory, Place};
use super::analysis::summaries::Space;
use crate::ir::rewrite::{Aliases, reachable_blocks};
use crate::ir::variables::Variables;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

const PLACES: usize = 512;

pub fn run(func: &mut Function, cx: &Context<'_>) -> bool {
    let mut memory = Memory::new(func, cx.module, cx.summaries);
    let loads = redundant_loads(func, cx, &memory);
    if loads {
        memory = Memory::new(func, cx.module, cx.summaries);
    }
    let stores = dead_stores::run(func, &memory);
    loads || stores
}

fn redundant_loads(func: &mut Function, cx: &Context<'_>, memory: &Memory<'_>) -> bool {
    let places = Places::new(func, memory);
    if places.list.is_empty() {
        return false;
    }
    let steps = Steps::new(func, memory, &places);
    let known = steps.known_at_start(func, memory);
    let redundant = steps.redundant(&known);
    if redundant.insts.is_empty() {
        return false;
    }
    let order = memory.dominators.preorder().to_vec();
    replace(func, cx.module, &order, &places, &steps, &redundant);
    true
}

/// The type of what a place holds.
fn ty(module: &Module, space: Space) -> Ty {
    match space {
        Space::Field(field) => module.fields[field].ty.ty(),
        Space::Elems(kind) => kind.ty(),
        Space::Global(global) => module.globals[global].ty.ty(),
    }
}

/// The places that are followed.
struct Places {
    list: Vec<Place>,
    numbers: FxHashMap<Place, usize>,
    of_space: FxHashMap<Space, Vec<usize>>,
    of_object: FxHashMap<Value, Vec<usize>>,
}

impl Places {
    /// Those that are loaded, and known from somewhere else.
    fn new(func: &Function, memory: &Memory<'_>) -> Places {
        let mut seen: FxHashMap<Place, (u32, u32)> = FxHashMap::default();
        let mut places =
            Places { list: Vec::new(), numbers: FxHashMap::default(), of_space: FxHashMap::default(), of_object: FxHashMap::default() };
        for &inst in memory.dominators.preorder().iter().flat_map(|&b| &func.blocks[b].insts) {
            let Some((place, access)) = memory.access(&func.insts[inst].op) else { continue };
            let (loads, others) = seen.entry(place).or_default();
            match access {
                Access::Load => *loads += 1,
                Access::Store(_) => *others += 1,
            }
            let is_fresh = place.object.expand().is_some_and(|o| memory.is_fresh(o));
            if *loads > 0 && (*loads + *others > 1 || is_fresh) {
                places.add(place);
            }
        }
        places
    }

    fn add(&mut self, place: Place) {
        if self.list.len() == PLACES || self.numbers.contains_key(&place) {
            return;
        }
        let number = self.list.len();
        self.list.push(place);
        self.numbers.insert(place, number);
        self.of_space.entry(place.space).or_default().push(number);
        if let Some(object) = place.object.expand() {
            self.of_object.entry(object).or_default().push(number);
        }
    }
}

/// A set of places, by number.
#[derive(Clone, PartialEq)]
struct Set(SmallVec<[u64; 2]>);

impl Set {
    fn new(places: &Places, word: u64) -> Set {
        Set(SmallVec::from_elem(word, places.list.len().div_ceil(64)))
    }

    fn contains(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 != 0
    }

    fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&w| w == 0)
    }

    fn combine(&mut self, other: &Set, f: impl Fn(u64, u64) -> u64) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, &b)| *a = f(*a, b));
    }

    fn remove_all(&mut self, other: &Set) {
        self.combine(other, |a, b| a & !b);
    }
}

/// What a place holds.
#[derive(Clone, Copy)]
enum Content {
    Value(Value),
    /// It is new.
    Zero,
}

/// What one operation means to the places.
#[derive(Clone)]
enum Step {
    Load(usize, Inst),
    Known(usize, Content),
    Forget(Set),
}

struct Steps {
    of: SecondaryMap<Block, Vec<Step>>,
    none: Set,
    all: Set,
}

/// What a block means to the places: what it forgets, and what it then knows at its end.
#[derive(Clone)]
struct Effect {
    forgotten: Set,
    known: Set,
}

/// Loads whose place is known where they stand.
struct Redundant {
    insts: EntitySet<Inst>,
    /// By number of the place, whether any of its loads is.
    places: Vec<bool>,
}

impl Steps {
    fn new(func: &Function, memory: &Memory<'_>, places: &Places) -> Steps {
        let mut steps = Steps { of: SecondaryMap::new(), none: Set::new(places, 0), all: Set::new(places, u64::MAX) };
        for &block in memory.dominators.preorder() {
            let mut list = Vec::new();
            let data = &func.blocks[block];
            for &inst in &data.insts {
                let InstData { op, result, .. } = &func.insts[inst];
                if let Some((place, Access::Load)) = memory.access(op) {
                    list.extend(places.numbers.get(&place).map(|&number| Step::Load(number, inst)));
                    continue;
                }
                list.extend(steps.forgotten(op, memory, places));
                match (op, *result) {
                    (Op::New(_) | Op::NewArray(..), Some(object)) => list.extend(zeros(object, memory, places)),
                    _ => list.extend(stored(op, memory, places)),
                }
            }
            if let Some(Terminator::Try { op, .. }) = &data.terminator {
                list.extend(steps.forgotten(op, memory, places));
            }
            steps.of[block] = list;
        }
        steps
    }

    fn forgotten(&self, op: &Op, memory: &Memory<'_>, places: &Places) -> Option<Step> {
        let mut forgotten = self.none.clone();
        let mut look = |number: usize| {
            if memory.clobbers(op, &places.list[number]) {
                forgotten.insert(number);
            }
        };
        match (memory.access(op), op) {
            (Some((place, Access::Store(_))), _) => places.of_space.get(&place.space)?.iter().for_each(|&n| look(n)),
            (None, Op::Call { .. } | Op::CallVirtual { .. } | Op::CallBuiltin { .. } | Op::Atomic(..) | Op::AtomicCas(..)) => {
                (0..places.list.len()).for_each(look);
            }
            _ => return None,
        }
        (!forgotten.is_empty()).then_some(Step::Forget(forgotten))
    }

    fn effect(&self, steps: &[Step]) -> Effect {
        let mut effect = Effect { forgotten: self.none.clone(), known: self.none.clone() };
        for step in steps {
            match step {
                Step::Load(place, _) | Step::Known(place, _) => effect.known.insert(*place),
                Step::Forget(places) => {
                    effect.known.remove_all(places);
                    effect.forgotten.combine(places, |a, b| a | b);
                }
            }
        }
        effect
    }

    fn known_at_start(&self, func: &Function, memory: &Memory<'_>) -> SecondaryMap<Block, Set> {
        let preds = predecessors(func);
        let order = memory.dominators.preorder();
        let mut effects: SecondaryMap<Block, Effect> = SecondaryMap::with_default(self.effect(&[]));
        order.iter().for_each(|&block| effects[block] = self.effect(&self.of[block]));
        let mut ends: SecondaryMap<Block, Set> = SecondaryMap::with_default(self.all.clone());
        let mut starts: SecondaryMap<Block, Set> = SecondaryMap::with_default(self.none.clone());
        let mut waiting: EntitySet<Block> = EntitySet::with_capacity(func.blocks.len());
        waiting.extend(order.iter().copied());
        let mut work: std::collections::VecDeque<Block> = order.iter().copied().collect();
        while let Some(block) = work.pop_front() {
            waiting.remove(block);
            let mut start = if block == func.entry() { self.none.clone() } else { self.all.clone() };
            let reached = preds[block].iter().filter(|&&p| memory.dominators.is_reachable(p));
            reached.for_each(|&pred| start.combine(&ends[pred], |a, b| a & b));
            let mut end = start.clone();
            end.remove_all(&effects[block].forgotten);
            end.combine(&effects[block].known, |a, b| a | b);
            starts[block] = start;
            if end != ends[block] {
                ends[block] = end;
                func.blocks[block].terminator.as_ref().expect("a finished block").for_each_edge(|edge| {
                    if waiting.insert(edge.block) {
                        work.push_back(edge.block);
                    }
                });
            }
        }
        starts
    }

    fn redundant(&self, known: &SecondaryMap<Block, Set>) -> Redundant {
        let mut redundant = Redundant { insts: EntitySet::new(), places: vec![false; 64 * self.none.0.len()] };
        for (block, steps) in self.of.iter() {
            let mut now = known[block].clone();
            for step in steps {
                match step {
                    Step::Load(place, inst) if now.contains(*place) => {
                        redundant.insts.insert(*inst);
                        redundant.places[*place] = true;
                    }
                    Step::Load(place, _) | Step::Known(place, _) => now.insert(*place),
                    Step::Forget(places) => now.remove_all(places),
                }
            }
        }
        redundant
    }
}

/// What a store says of its place. A byte in memory is not all of the value that was stored.
fn stored(op: &Op, memory: &Memory<'_>, places: &Places) -> Option<Step> {
    match memory.access(op) {
        Some((place, Access::Store(value))) if place.space != Space::Elems(ElemKind::Byte) => {
            places.numbers.get(&place).map(|&number| Step::Known(number, Content::Value(value)))
        }
        _ => None,
    }
}

/// What an allocation says. An index that is defined later may be defined again while the array stays the same.
fn zeros<'a>(object: Value, memory: &'a Memory<'_>, places: &'a Places) -> impl Iterator<Item = Step> + 'a {
    let numbers = places.of_object.get(&object).map(Vec::as_slice).unwrap_or_default();
    let named = move |&number: &usize| places.list[number].index.base.expand().is_none_or(|base| memory.defined_before(base, object));
    numbers.iter().copied().filter(named).map(|number| Step::Known(number, Content::Zero))
}

fn replace(func: &mut Function, module: &Module, order: &[Block], places: &Places, steps: &Steps, redundant: &Redundant) {
    let reachable = reachable_blocks(func);
    func.layout.retain(|&b| reachable.contains(b));
    let mut variables = Variables::new(func);
    let held: Vec<Variable> = places.list.iter().map(|p| variables.declare(ty(module, p.space))).collect();
    let mut zeros = Zeros::default();
    let mut aliases = Aliases::default();
    // Loads of what the block starts with: they are looked up when all that is known at ends is.
    let mut from_start: Vec<(Block, usize, Value)> = Vec::new();
    for &block in order {
        let mut now: FxHashMap<usize, Value> = FxHashMap::default();
        for step in &steps.of[block] {
            match step {
                Step::Load(place, inst) => {
                    let result = func.insts[*inst].result.expect("a load has a result");
                    match now.get(place) {
                        _ if !redundant.insts.contains(*inst) => _ = now.insert(*place, result),
                        Some(&value) => aliases.replace(result, value),
                        None => from_start.push((block, *place, result)),
                    }
                }
                Step::Known(place, _) if !redundant.places[*place] => {}
                Step::Known(place, Content::Value(value)) => _ = now.insert(*place, *value),
                Step::Known(place, Content::Zero) => _ = now.insert(*place, zeros.get(func, ty(module, places.list[*place].space))),
                Step::Forget(places) => now.retain(|&place, _| !places.contains(place)),
            }
        }
        now.into_iter().for_each(|(place, value)| variables.define(block, held[place], value));
        func.blocks[block].insts.retain(|&i| !redundant.insts.contains(i));
    }
    for (block, place, result) in from_start {
        let value = variables.at_start(func, block, held[place]);
        aliases.replace(result, value);
    }
    let entry = func.entry();
    func.blocks[entry].insts.splice(0..0, zeros.insts);
    let aliases = variables.finish(func, aliases);
    func.rewrite(&aliases);
}

/// What new objects hold; stands at the start of the function.
#[derive(Default)]
struct Zeros {
    values: FxHashMap<Ty, Value>,
    insts: Vec<Inst>,
}

impl Zeros {
    fn get(&mut self, func: &mut Function, ty: Ty) -> Value {
        *self.values.entry(ty).or_insert_with(|| {
            let op = match ty {
                Ty::Int => Op::IConst(0),
                Ty::Float => Op::FConst(0),
                Ty::Bool => Op::BConst(false),
                Ty::Ref => Op::Null,
            };
            let value = func.values.push(ty);
            self.insts.push(func.insts.push(InstData { op, result: Some(value), loc: Loc::default() }));
            value
        })
    }
}
