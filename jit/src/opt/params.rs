//! Removes block parameters that say nothing new: those that can only be one value, and those that always get the same as another one of their block.
//!
//! In: a function. Out: the same without these parameters and the arguments for them; what they stood for is added to the aliases, which the caller applies with [`Function::rewrite`].
//! The values are found optimistically, as constants are in M. Wegman, F. K. Zadeck, "Constant Propagation with Conditional Branches", TOPLAS 13(2), 1991, section 3.1: so parameters of nested loops that only pass one value
//! around go away. The value dominates the parameter's block: every way into the cycle of parameters passes its definition.

use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// A block parameter, but for the function's own: there are far fewer than values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Param(u32);
entity_impl!(Param);

/// What each edge gives; `None` for what a `Try` gives.
type Arguments = SmallVec<[PackedOption<Value>; 4]>;

/// Changes of its value after which a parameter counts as having several.
const PATIENCE: u32 = 8;

/// Whether any went away.
pub fn simplify(func: &mut Function, aliases: &mut Aliases) -> bool {
    if func.layout[1..].iter().all(|&b| func.blocks[b].params.is_empty()) {
        return false;
    }
    let mut params = Params::new(func);
    params.solve();
    let mut removed = EntitySet::with_capacity(func.values.len());
    for &block in &func.layout[1..] {
        let mut seen: FxHashMap<Arguments, Value> = FxHashMap::default();
        for &param in &func.blocks[block].params {
            let only = params.value(param).filter(|&v| v != param);
            if let Some(by) = only.or_else(|| params.equal_before(&mut seen, param)) {
                aliases.replace(param, by);
                removed.insert(param);
            }
        }
    }
    if removed.is_empty() {
        return false;
    }
    func.drop_params(|p| removed.contains(p))
}

struct Params {
    all: PrimaryMap<Param, Value>,
    /// Which of them a value is.
    number: SecondaryMap<Value, PackedOption<Param>>,
    incoming: SecondaryMap<Param, Arguments>,
    /// The only value of each: `None` while no edge has given one, itself if there are several.
    found: SecondaryMap<Param, PackedOption<Value>>,
}

impl Params {
    fn new(func: &Function) -> Params {
        let mut all: PrimaryMap<Param, Value> = PrimaryMap::new();
        let mut number: SecondaryMap<Value, PackedOption<Param>> = SecondaryMap::with_capacity(func.values.len());
        for &param in func.layout[1..].iter().flat_map(|&b| &func.blocks[b].params) {
            number[param] = all.push(param).into();
        }
        let mut params = Params { all, number, incoming: SecondaryMap::new(), found: SecondaryMap::new() };
        for &block in &func.layout {
            func.blocks[block].terminator.as_ref().expect("a finished block").for_each_edge(|edge| params.add(func, edge));
        }
        params
    }

    fn add(&mut self, func: &Function, edge: &BlockCall) {
        let params = &func.blocks[edge.block].params;
        let implicit = params.len() - edge.args.len();
        for (i, &param) in params.iter().enumerate() {
            let Some(number) = self.number[param].expand() else { continue };
            self.incoming[number].push(i.checked_sub(implicit).map(|i| edge.args[i]).into());
        }
    }

    /// What a value is as far as that is found; any but a parameter is itself.
    fn value(&self, value: Value) -> Option<Value> {
        match self.number[value].expand() {
            Some(param) => self.found[param].expand(),
            None => Some(value),
        }
    }

    fn solve(&mut self) {
        let mut receivers: SecondaryMap<Param, SmallVec<[Param; 4]>> = SecondaryMap::new();
        for param in self.all.keys() {
            let given = self.incoming[param].iter().filter_map(|arg| self.number[arg.expand()?].expand());
            given.for_each(|arg| receivers[arg].push(param));
        }
        let mut changes: SecondaryMap<Param, u32> = SecondaryMap::with_capacity(self.all.len());
        let mut waiting: EntitySet<Param> = EntitySet::with_capacity(self.all.len());
        waiting.extend(self.all.keys());
        let mut work: VecDeque<Param> = self.all.keys().collect();
        while let Some(param) = work.pop_front() {
            waiting.remove(param);
            let itself = self.all[param].into();
            let new = if changes[param] >= PATIENCE { itself } else { self.meet(param) };
            if self.found[param] == itself || new == self.found[param] {
                continue;
            }
            self.found[param] = new;
            changes[param] += 1;
            work.extend(receivers[param].iter().filter(|&&r| waiting.insert(r)));
        }
    }

    fn meet(&self, param: Param) -> PackedOption<Value> {
        let itself = self.all[param];
        let mut only = None;
        for arg in &self.incoming[param] {
            let Some(arg) = arg.expand() else { return itself.into() };
            match self.value(arg) {
                None => {}
                Some(_) if arg == itself => {}
                Some(value) if only.is_some_and(|o| o != value) => return itself.into(),
                Some(value) => only = Some(value),
            }
        }
        only.into()
    }

    /// A parameter of the same block, seen before, that gets the same arguments.
    fn equal_before(&self, seen: &mut FxHashMap<Arguments, Value>, param: Value) -> Option<Value> {
        let args = self.incoming[self.number[param].expand()?].iter().map(|arg| self.value(arg.expand()?));
        // What no edge gave a value lies where control cannot come to.
        let args: Option<Arguments> = args.map(|a| a.map(PackedOption::from)).collect();
        let same = *seen.entry(args?).or_insert(param);
        (same != param).then_some(same)
    }
}
