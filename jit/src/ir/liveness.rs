//! Which references are live where the collector may run. All tiers ask it, so that memory lasts as long in each.
//!
//! In: a function and its reachable blocks. Out: for each safepoint the references that are needed after it, for each block those needed at its start.
//!
//! Constants (null, literals) are left out: they do not move. Results of `null_check` and `check_cast` are their operand. Values that never leave their block cost no space in the sets, which are dense.

use super::{Block, Function, Inst, InstData, Op, Terminator, Ty, Value};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use std::collections::{BTreeSet, HashMap};

/// Where the collector may run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Point {
    /// The function's entry, before its first operation.
    Entry,
    Inst(Inst),
    /// The operation of the `Try` that ends the block.
    Try(Block),
}

pub struct Liveness {
    same_as: SecondaryMap<Value, PackedOption<Value>>,
    at: HashMap<Point, Box<[Value]>>,
    /// Live at some point.
    crossing: EntitySet<Value>,
    /// Numbers of the values that are used outside of their block.
    global: SecondaryMap<Value, PackedOption<Value>>,
    /// By number.
    globals: Vec<Value>,
    live_in: SecondaryMap<Block, Box<[u64]>>,
}

impl Liveness {
    /// `order`: the reachable blocks, each after those that dominate it.
    pub fn new(source: &Function, order: &[Block]) -> Liveness {
        let mut analysis = Analysis::new(source, order);
        analysis.solve();
        analysis.collect()
    }

    /// The value whose register and slot it shares.
    pub fn root(&self, value: Value) -> Value {
        root(&self.same_as, value)
    }

    /// References needed after the point, in order.
    pub fn at(&self, point: Point) -> &[Value] {
        self.at.get(&point).map_or(&[], |v| v)
    }

    /// Whether the value must survive a collection somewhere.
    pub fn is_crossing(&self, value: Value) -> bool {
        self.crossing.contains(value)
    }

    /// All references for which [`Liveness::is_live_in`] holds, without order.
    pub fn live_in(&self, block: Block) -> impl Iterator<Item = Value> {
        let set = &self.live_in[block];
        self.globals.iter().zip(0..).filter(|&(_, number)| contains(set, number)).map(|(&value, _)| value)
    }

    /// Whether the block or one behind it needs the value (other than as an argument of an edge to it).
    pub fn is_live_in(&self, block: Block, value: Value) -> bool {
        self.global[value].expand().is_some_and(|g| contains(&self.live_in[block], g.as_u32()))
    }
}

fn root(same_as: &SecondaryMap<Value, PackedOption<Value>>, mut value: Value) -> Value {
    while let Some(other) = same_as[value].expand() {
        value = other;
    }
    value
}

fn contains(set: &[u64], index: u32) -> bool {
    set[index as usize / 64] >> (index % 64) & 1 != 0
}

fn insert(set: &mut [u64], index: u32) {
    set[index as usize / 64] |= 1 << (index % 64);
}

struct Analysis<'a> {
    source: &'a Function,
    order: &'a [Block],
    same_as: SecondaryMap<Value, PackedOption<Value>>,
    /// Where each tracked value is defined; `None` for all others.
    home: SecondaryMap<Value, PackedOption<Block>>,
    global: SecondaryMap<Value, PackedOption<Value>>,
    /// The global values by number.
    globals: Vec<Value>,
    live_in: SecondaryMap<Block, Box<[u64]>>,
}

/// Calls `f` on the operands of a terminator and on the arguments of its edges.
fn terminator_uses(terminator: &Terminator, mut f: impl FnMut(Value)) {
    match terminator {
        Terminator::Branch { cond: v, .. } | Terminator::Switch { index: v, .. } | Terminator::Return(Some(v)) | Terminator::Throw(v) => {
            f(*v)
        }
        Terminator::Try { op, .. } => op.for_each_arg(&mut f),
        Terminator::Leave { live, .. } => live.iter().for_each(|&v| f(v)),
        Terminator::Jump(_) | Terminator::Return(None) | Terminator::Unreachable => {}
    }
    terminator.for_each_edge(|edge| edge.args.iter().for_each(|&v| f(v)));
}

impl<'a> Analysis<'a> {
    fn new(source: &'a Function, order: &'a [Block]) -> Self {
        let mut analysis = Analysis {
            source,
            order,
            same_as: SecondaryMap::new(),
            home: SecondaryMap::with_capacity(source.values.len()),
            global: SecondaryMap::new(),
            globals: Vec::new(),
            live_in: SecondaryMap::with_capacity(source.blocks.len()),
        };
        for &block in order {
            let data = &source.blocks[block];
            data.params.iter().for_each(|&param| analysis.track(param, block));
            for inst in data.insts.iter().map(|&i| &source.insts[i]) {
                match (&inst.op, inst.result) {
                    (Op::NullCheck(v) | Op::CheckCast(_, v), Some(result)) => analysis.same_as[result] = (*v).into(),
                    (Op::Null | Op::StrConst(_), _) | (_, None) => {}
                    (_, Some(result)) => analysis.track(result, block),
                }
            }
        }
        analysis
    }

    fn track(&mut self, value: Value, block: Block) {
        if self.source.values[value] == Ty::Ref {
            self.home[value] = block.into();
        }
    }

    /// The tracked value behind an operand.
    fn tracked(&self, value: Value) -> Option<Value> {
        let value = root(&self.same_as, value);
        self.home[value].is_some().then_some(value)
    }

    /// Calls `f` on the tracked operands of everything in the block.
    fn uses(&self, block: Block, mut f: impl FnMut(Value)) {
        let data = &self.source.blocks[block];
        let mut each = |v| {
            if let Some(v) = self.tracked(v) {
                f(v);
            }
        };
        data.insts.iter().for_each(|&i| self.source.insts[i].op.for_each_arg(&mut each));
        terminator_uses(data.terminator.as_ref().expect("a finished block"), each);
    }

    /// Live sets at the blocks' starts.
    fn solve(&mut self) {
        let mut foreign: Vec<Vec<Value>> = Vec::with_capacity(self.order.len());
        for &block in self.order {
            let mut here = Vec::new();
            self.uses(block, |v| {
                if self.home[v].expand() != Some(block) {
                    here.push(v);
                }
            });
            foreign.push(here);
        }
        for &value in foreign.iter().flatten() {
            if self.global[value].is_none() {
                self.global[value] = Value::from_u32(self.globals.len() as u32).into();
                self.globals.push(value);
            }
        }
        let words = self.globals.len().div_ceil(64);
        for (&block, foreign) in self.order.iter().zip(&foreign) {
            let mut set = vec![0; words].into_boxed_slice();
            foreign.iter().for_each(|&v| insert(&mut set, self.global[v].unwrap().as_u32()));
            self.live_in[block] = set;
        }
        let homes: Vec<Block> = self.globals.iter().map(|&v| self.home[v].unwrap()).collect();
        let mut defined: SecondaryMap<Block, Vec<u32>> = SecondaryMap::new();
        homes.iter().enumerate().for_each(|(i, &home)| defined[home].push(i as u32));
        let mut changed = words > 0;
        while changed {
            changed = false;
            for &block in self.order.iter().rev() {
                let mut set = self.live_out(block);
                defined[block].iter().for_each(|&i| set[i as usize / 64] &= !(1 << (i % 64)));
                for (old, new) in self.live_in[block].iter_mut().zip(&set) {
                    changed |= new & !*old != 0;
                    *old |= new;
                }
            }
        }
    }

    fn live_out(&self, block: Block) -> Vec<u64> {
        let mut set = vec![0; self.globals.len().div_ceil(64)];
        let terminator = self.source.blocks[block].terminator.as_ref().expect("a finished block");
        terminator.for_each_edge(|edge| set.iter_mut().zip(&self.live_in[edge.block]).for_each(|(s, l)| *s |= l));
        set
    }

    /// Live references at the safepoints.
    fn collect(self) -> Liveness {
        let mut at = HashMap::new();
        let mut crossing = EntitySet::with_capacity(self.source.values.len());
        let mut record = |point, live: &BTreeSet<Value>| {
            if !live.is_empty() {
                live.iter().for_each(|&v| _ = crossing.insert(v));
                at.insert(point, live.iter().copied().collect());
            }
        };
        for &block in self.order {
            let data = &self.source.blocks[block];
            let out = self.live_out(block);
            let mut live: BTreeSet<Value> =
                (0..self.globals.len()).filter(|&i| contains(&out, i as u32)).map(|i| self.globals[i]).collect();
            let terminator = data.terminator.as_ref().expect("a finished block");
            if let Terminator::Try { op, .. } = terminator {
                terminator.for_each_edge(|edge| live.extend(edge.args.iter().filter_map(|&v| self.tracked(v))));
                record(Point::Try(block), &live);
                op.for_each_arg(|v| live.extend(self.tracked(v)));
            } else {
                terminator_uses(terminator, |v| live.extend(self.tracked(v)));
            }
            for &inst in data.insts.iter().rev() {
                let InstData { op, result, .. } = &self.source.insts[inst];
                if let Some(result) = result {
                    live.remove(result);
                }
                if op.is_safepoint() {
                    record(Point::Inst(inst), &live);
                }
                op.for_each_arg(|v| live.extend(self.tracked(v)));
            }
            if block == self.source.entry() {
                record(Point::Entry, &live);
            }
        }
        Liveness { same_as: self.same_as, at, crossing, global: self.global, globals: self.globals, live_in: self.live_in }
    }
}
