//! SSA form again after code was copied: where several definitions of what was one value meet, a block parameter takes what comes in.
//!
//! In: a function, and for some values further definitions of the same variable in other blocks ([`Repair::also`], [`Repair::copied`]); any of them may be used anywhere. Out ([`Repair::run`]): the function in which each use is of the
//! definition that reaches it, or of a block parameter that merges those which do; unreachable blocks dropped, blocks in reverse post-order, everything numbered densely.
//! The way is that of `ssa`, which builds functions. It looks only at blocks between uses and definitions: as much work as there are blocks in which the variables are live.
//!
//! Invariants: on every way to a use lies a definition; a block holds at most one definition of a variable, before its uses there.

use super::builder::Variable;
use super::copy::{RegionCopy, defined_in};
use super::entities::*;
use super::module::Function;
use super::rewrite::{Aliases, reachable_blocks};
use super::ssa::Ssa;
use cranelift_entity::PrimaryMap;
use rustc_hash::{FxHashMap, FxHashSet};

/// Variables with several definitions.
#[derive(Default)]
pub struct Repair {
    variable_of: FxHashMap<Value, Variable>,
    definitions: PrimaryMap<Variable, Vec<(Block, Value)>>,
}

impl Repair {
    /// `other` is a definition of the same variable as `value`, for which this may be said several times. Each comes with the block that defines it.
    pub fn also(&mut self, value: (Block, Value), other: (Block, Value)) {
        let variable = *self.variable_of.entry(value.1).or_insert_with(|| self.definitions.push(vec![value]));
        self.variable_of.insert(other.1, variable);
        self.definitions[variable].push(other);
    }

    /// What a copy defines is what the region defines.
    pub fn copied(&mut self, func: &Function, copy: &RegionCopy) {
        for &(block, new) in &copy.blocks {
            let values = defined_in(func, block).into_iter().zip(defined_in(func, new));
            values.for_each(|(value, other)| self.also((block, value), (new, other)));
        }
    }

    pub fn run(self, func: &mut Function) {
        let reachable = reachable_blocks(func);
        func.layout.retain(|&b| reachable.contains(b));
        let mut ssa = self.ssa(func);
        let mut read: FxHashMap<(Block, Variable), Value> = FxHashMap::default();
        for (block, variable) in self.uses(func) {
            let value = ssa.read(func, block, variable);
            read.insert((block, variable), value);
        }
        let rename = |block: Block, v: &mut Value| {
            let variable = self.variable_of.get(v);
            variable.and_then(|&x| read.get(&(block, x))).into_iter().for_each(|&reaching| *v = reaching);
        };
        for &block in &func.layout {
            let data = &mut func.blocks[block];
            data.insts.iter().for_each(|&i| func.insts[i].op.for_each_arg_mut(|v| rename(block, v)));
            data.terminator.as_mut().expect("a finished block").for_each_arg_mut(|v| rename(block, v));
        }
        let alias = ssa.add_params(func, Aliases::default());
        func.sort_layout();
        func.rewrite(&alias);
    }

    /// Knows all edges and definitions.
    fn ssa(&self, func: &mut Function) -> Ssa {
        let mut ssa = Ssa::of_finished(func);
        for definitions in self.definitions.values() {
            let variable = ssa.declare(func.values[definitions[0].1]);
            definitions.iter().for_each(|&(block, value)| ssa.write(block, variable, value));
        }
        ssa
    }

    /// Blocks with a use of a variable that they do not define, each pair once, in layout order.
    fn uses(&self, func: &Function) -> Vec<(Block, Variable)> {
        let defined = self.definitions.iter().flat_map(|(x, of)| of.iter().map(move |&(block, _)| (block, x)));
        let mut known: FxHashSet<(Block, Variable)> = defined.collect();
        let mut uses = Vec::new();
        for &block in &func.layout {
            let mut visit = |v: Value| {
                let found = self.variable_of.get(&v).map(|&x| (block, x)).filter(|&at| known.insert(at));
                uses.extend(found);
            };
            let data = &func.blocks[block];
            data.insts.iter().for_each(|&i| func.insts[i].op.for_each_arg(&mut visit));
            let terminator = data.terminator.as_ref().expect("a finished block");
            terminator.for_each_operand(&mut visit);
            terminator.for_each_edge(|edge| edge.args.iter().for_each(|&v| visit(v)));
        }
        uses
    }
}
