//! Removes block parameters that say nothing new: those that can only be one value, and those that always get the same as another one of their block.
//!
//! In: a function. Out: the same without these parameters and the arguments for them; what they stood for is added to the aliases, which the caller applies with [`Function::rewrite`].
//! The values are found optimistically, as constants are in M. Wegman, F. K. Zadeck, "Constant Propagation with Conditional Branches", TOPLAS 13(2), 1991, section 3.1: so parameters of nested loops that only pass one value
//! around go away. The value dominates the parameter's block: every way into the cycle of parameters passes its definition.

use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// By parameter, what each edge gives it; `None` for what a `Try` gives.
type Incoming = SecondaryMap<Value, Arguments>;

type Arguments = SmallVec<[PackedOption<Value>; 4]>;

/// The only value of a parameter: `None` while no edge has given one, itself if there are several.
type Found = SecondaryMap<Value, PackedOption<Value>>;

/// Changes of its value after which a parameter counts as having several.
const PATIENCE: u32 = 8;

/// Whether any went away.
pub fn simplify(func: &mut Function, aliases: &mut Aliases) -> bool {
    if func.layout[1..].iter().all(|&b| func.blocks[b].params.is_empty()) {
        return false;
    }
    let incoming = incoming(func);
    let found = solve(func, &incoming);
    let mut removed = EntitySet::with_capacity(func.values.len());
    for &block in &func.layout[1..] {
        let mut seen: FxHashMap<Arguments, Value> = FxHashMap::default();
        for &param in &func.blocks[block].params {
            let only = found[param].expand().filter(|&v| v != param);
            if let Some(by) = only.or_else(|| equal_before(&mut seen, &incoming, &found, param)) {
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

fn incoming(func: &Function) -> Incoming {
    let mut incoming = Incoming::new();
    incoming.resize(func.values.len());
    for &block in &func.layout {
        func.blocks[block].terminator.as_ref().expect("a finished block").for_each_edge(|edge| {
            let params = &func.blocks[edge.block].params;
            let implicit = params.len() - edge.args.len();
            for (i, &param) in params.iter().enumerate() {
                incoming[param].push(i.checked_sub(implicit).map(|i| edge.args[i]).into());
            }
        });
    }
    incoming
}

fn solve(func: &Function, incoming: &Incoming) -> Found {
    let params: Vec<Value> = func.layout[1..].iter().flat_map(|&b| func.blocks[b].params.iter().copied()).collect();
    let mut found = Found::new();
    found.resize(func.values.len());
    func.values.keys().for_each(|v| found[v] = v.into());
    let mut receivers: SecondaryMap<Value, SmallVec<[Value; 4]>> = SecondaryMap::new();
    receivers.resize(func.values.len());
    for &param in &params {
        found[param] = None.into();
        incoming[param].iter().filter_map(|a| a.expand()).for_each(|arg| receivers[arg].push(param));
    }
    let mut changes: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.values.len());
    let mut waiting: EntitySet<Value> = EntitySet::with_capacity(func.values.len());
    waiting.extend(params.iter().copied());
    let mut work: VecDeque<Value> = params.into();
    while let Some(param) = work.pop_front() {
        waiting.remove(param);
        let new = if changes[param] >= PATIENCE { param.into() } else { meet(param, &incoming[param], &found) };
        if found[param] == param.into() || new == found[param] {
            continue;
        }
        found[param] = new;
        changes[param] += 1;
        work.extend(receivers[param].iter().filter(|&&r| waiting.insert(r)));
    }
    found
}

fn meet(param: Value, args: &[PackedOption<Value>], found: &Found) -> PackedOption<Value> {
    let mut only = None;
    for arg in args {
        let Some(arg) = arg.expand() else { return param.into() };
        match found[arg].expand() {
            None => {}
            Some(_) if arg == param => {}
            Some(value) if only.is_some_and(|o| o != value) => return param.into(),
            Some(value) => only = Some(value),
        }
    }
    only.into()
}

/// A parameter of the same block, seen before, that gets the same arguments.
fn equal_before(seen: &mut FxHashMap<Arguments, Value>, incoming: &Incoming, found: &Found, param: Value) -> Option<Value> {
    let args = incoming[param].iter().map(|a| a.expand().and_then(|a| found[a].expand()));
    // What no edge gave a value lies where control cannot come to.
    let args: Option<Arguments> = args.map(|a| a.map(PackedOption::from)).collect();
    let same = *seen.entry(args?).or_insert(param);
    (same != param).then_some(same)
}
