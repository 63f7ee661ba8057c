//! Variables to values while a function is built: M. Braun et al., "Simple and Efficient Construction of Static Single Assignment Form" (CC 2013).
//!
//! In: reads and writes of variables per block, edges, seals (sections 2.1–2.3 of the paper). Out ([`Ssa::finish`]): the function with block parameters for the variables that need them and arguments on every edge.
//! Two departures from the paper: nothing recurses, so functions may have any number of blocks; and parameters that turn out trivial are removed once, at the end, when unreachable blocks are known and do
//! not count. The result is minimal for reducible control flow, and pruned.

use super::builder::Variable;
use super::entities::*;
use super::inst::Op;
use super::module::{Function, InstData};
use super::rewrite::{Aliases, reachable_blocks, renumber};
use super::types::Ty;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use rustc_hash::FxHashMap;

/// A block parameter that stands for a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Phi(u32);
entity_impl!(Phi, "phi");

struct PhiData {
    var: Variable,
    block: Block,
    value: Value,
    /// One for each of the block's edges, once the block is sealed.
    args: Vec<Value>,
}

#[derive(Clone, Copy)]
struct Edge {
    from: Block,
    /// Position among the edges of `from`'s terminator.
    index: u32,
}

#[derive(Clone, Default)]
struct BlockState {
    edges: Vec<Edge>,
    phis: Vec<Phi>,
    sealed: bool,
    placed: bool,
    /// Of a sealed block all of whose edges come from one block: that one.
    only_pred: PackedOption<Block>,
}

#[derive(Default)]
pub(super) struct Ssa {
    vars: PrimaryMap<Variable, Ty>,
    blocks: SecondaryMap<Block, BlockState>,
    /// Value of a variable at the end of a block as built so far.
    defs: FxHashMap<(Block, Variable), Value>,
    /// Value of a variable at the start of a block that defines it.
    starts: FxHashMap<(Block, Variable), Value>,
    phis: PrimaryMap<Phi, PhiData>,
    /// Parameters of sealed blocks whose arguments are not looked up yet.
    pending: Vec<Phi>,
    /// Zero constants for variables never assigned, by type; placed at the start of the entry block if used.
    zeros: FxHashMap<Ty, Inst>,
}

impl Ssa {
    /// For variables of a function that has all its blocks and edges; unreachable ones may stand in the layout no longer.
    pub fn of_finished(func: &mut Function) -> Ssa {
        let mut ssa = Ssa::default();
        for &block in &func.layout {
            let mut index = 0;
            func.blocks[block].terminator.as_ref().expect("a finished block").for_each_edge(|edge| {
                ssa.add_edge(block, index, edge.block);
                index += 1;
            });
        }
        for i in 0..func.layout.len() {
            ssa.seal(func, func.layout[i]);
        }
        ssa
    }

    pub fn declare(&mut self, ty: Ty) -> Variable {
        self.vars.push(ty)
    }

    pub fn var_ty(&self, var: Variable) -> Ty {
        self.vars[var]
    }

    pub fn has_edges(&self, block: Block) -> bool {
        !self.blocks[block].edges.is_empty()
    }

    pub fn is_sealed(&self, block: Block) -> bool {
        self.blocks[block].sealed
    }

    /// False if it was placed before.
    pub fn place(&mut self, block: Block) -> bool {
        !std::mem::replace(&mut self.blocks[block].placed, true)
    }

    pub fn add_edge(&mut self, from: Block, index: u32, to: Block) {
        let state = &mut self.blocks[to];
        assert!(!state.sealed, "an edge from {from} to {to}, which is sealed");
        state.edges.push(Edge { from, index });
    }

    pub fn write(&mut self, block: Block, var: Variable, value: Value) {
        self.defs.insert((block, var), value);
    }

    pub fn read(&mut self, func: &mut Function, block: Block, var: Variable) -> Value {
        let value = self.look_up(func, block, var);
        self.fill_pending(func);
        value
    }

    /// The variable's value at the start of a sealed block that defines it later.
    pub fn read_at_start(&mut self, func: &mut Function, block: Block, var: Variable) -> Value {
        if let Some(&value) = self.starts.get(&(block, var)) {
            return value;
        }
        let state = &self.blocks[block];
        let value = match state.only_pred.expand() {
            Some(pred) => self.look_up(func, pred, var),
            None if state.edges.is_empty() => self.zero(func, self.vars[var]),
            None => self.add_phi(func, block, var),
        };
        self.starts.insert((block, var), value);
        self.fill_pending(func);
        value
    }

    pub fn seal(&mut self, func: &mut Function, block: Block) {
        let state = &mut self.blocks[block];
        if std::mem::replace(&mut state.sealed, true) {
            return;
        }
        if let Some((first, rest)) = state.edges.split_first() {
            state.only_pred = rest.iter().all(|e| e.from == first.from).then_some(first.from).into();
        }
        self.pending.extend(&state.phis);
        self.fill_pending(func);
    }

    fn fill_pending(&mut self, func: &mut Function) {
        while let Some(phi) = self.pending.pop() {
            let PhiData { var, block, .. } = self.phis[phi];
            for i in 0..self.blocks[block].edges.len() {
                let from = self.blocks[block].edges[i].from;
                let arg = self.look_up(func, from, var);
                self.phis[phi].args.push(arg);
            }
        }
    }

    /// The variable's value at the end of `block`: walks up to where it is known, or to where ways meet.
    fn look_up(&mut self, func: &mut Function, block: Block, var: Variable) -> Value {
        let mut passed = Vec::new();
        let mut at = block;
        let value = loop {
            if let Some(&value) = self.defs.get(&(at, var)) {
                break value;
            }
            passed.push(at);
            let state = &self.blocks[at];
            match state.only_pred.expand() {
                // More steps than blocks: a cycle that nothing leads into.
                Some(pred) if passed.len() <= func.blocks.len() => at = pred,
                Some(_) => break self.zero(func, self.vars[var]),
                None if state.sealed && state.edges.is_empty() => break self.zero(func, self.vars[var]),
                None => break self.add_phi(func, at, var),
            }
        };
        self.defs.extend(passed.into_iter().map(|b| ((b, var), value)));
        value
    }

    fn add_phi(&mut self, func: &mut Function, block: Block, var: Variable) -> Value {
        let value = func.values.push(self.vars[var]);
        let phi = self.phis.push(PhiData { var, block, value, args: Vec::new() });
        let state = &mut self.blocks[block];
        state.phis.push(phi);
        if state.sealed {
            self.pending.push(phi);
        }
        value
    }

    fn zero(&mut self, func: &mut Function, ty: Ty) -> Value {
        let inst = *self.zeros.entry(ty).or_insert_with(|| {
            let op = match ty {
                Ty::Int => Op::IConst(0),
                Ty::Float => Op::FConst(0),
                Ty::Bool => Op::BConst(false),
                Ty::Ref => Op::Null,
            };
            let result = Some(func.values.push(ty));
            func.insts.push(InstData { op, result, loc: Loc::default() })
        });
        func.insts[inst].result.expect("a constant has a result")
    }

    /// Cleans up: see [`super::builder::FunctionBuilder::finish`].
    pub fn finish(self, mut func: Function) -> Function {
        let mut alias = self.add_params(&mut func, Aliases::default());
        super::straighten::straighten(&mut func, &mut |param, arg| alias.replace(param, arg));
        renumber(func, &alias)
    }

    /// Drops unreachable blocks and gives the others the parameters that are needed; `alias` says what some values stand for already. The function is in order once values stand for what the result says.
    pub fn add_params(mut self, func: &mut Function, alias: Aliases) -> Aliases {
        let reachable = reachable_blocks(func);
        func.layout.retain(|&b| reachable.contains(b));
        let alias = self.simplify(func, &reachable, alias);
        let used = self.used_values(func, &reachable, &alias);
        let mut zeros: Vec<Inst> = self.zeros.values().copied().filter(|&i| used.contains(func.insts[i].result.unwrap())).collect();
        zeros.sort_unstable();
        let entry = func.entry();
        func.blocks[entry].insts.splice(0..0, zeros);
        self.write_params(func, &reachable, &alias, &used);
        alias
    }

    /// Removes trivial parameters (section 2.2, `tryRemoveTrivialPhi`): maps each to the one value it can have.
    fn simplify(&self, func: &Function, reachable: &EntitySet<Block>, mut alias: Aliases) -> Aliases {
        let mut phi_of: SecondaryMap<Value, PackedOption<Phi>> = SecondaryMap::new();
        for (phi, data) in self.phis.iter() {
            phi_of[data.value] = phi.into();
        }
        let mut users: SecondaryMap<Phi, Vec<Phi>> = SecondaryMap::with_capacity(self.phis.len());
        for (phi, data) in self.phis.iter() {
            for arg in data.args.iter().filter_map(|&a| phi_of[alias.get(a)].expand()) {
                users[arg].push(phi);
            }
        }
        let order: SecondaryMap<Block, u32> = {
            let mut order = SecondaryMap::with_default(u32::MAX);
            func.layout.iter().enumerate().for_each(|(i, &b)| order[b] = i as u32);
            order
        };
        let mut work: Vec<Phi> = self.phis.keys().filter(|&p| reachable.contains(self.phis[p].block)).collect();
        // Popped from the end: blocks that come first are looked at first, so most uses see their arguments resolved.
        work.sort_by_key(|&p| std::cmp::Reverse(order[self.phis[p].block]));
        while let Some(phi) = work.pop() {
            let data = &self.phis[phi];
            if alias.is_replaced(data.value) {
                continue;
            }
            let Some(same) = self.only_arg(phi, reachable, &mut alias) else { continue };
            alias.replace(data.value, same);
            let mut moved = std::mem::take(&mut users[phi]);
            work.extend(&moved);
            if let Some(heir) = phi_of[same].expand() {
                let kept = &mut users[heir];
                if kept.len() < moved.len() {
                    std::mem::swap(kept, &mut moved);
                }
                kept.append(&mut moved);
            }
        }
        self.phis.values().for_each(|data| _ = alias.find(data.value));
        alias
    }

    /// The one value, other than itself, that comes in over reachable edges.
    fn only_arg(&self, phi: Phi, reachable: &EntitySet<Block>, alias: &mut Aliases) -> Option<Value> {
        let data = &self.phis[phi];
        let mut same = None;
        for (edge, &arg) in self.blocks[data.block].edges.iter().zip(&data.args) {
            if !reachable.contains(edge.from) {
                continue;
            }
            let arg = alias.find(arg);
            if arg != data.value && same.replace(arg).is_some_and(|s| s != arg) {
                return None;
            }
        }
        same
    }

    /// Values that instructions and terminators of reachable blocks need, directly or through parameters.
    fn used_values(&self, func: &Function, reachable: &EntitySet<Block>, alias: &Aliases) -> EntitySet<Value> {
        let mut phi_of: SecondaryMap<Value, PackedOption<Phi>> = SecondaryMap::new();
        for (phi, data) in self.phis.iter() {
            phi_of[data.value] = phi.into();
        }
        let mut used = EntitySet::with_capacity(func.values.len());
        let mut work = Vec::new();
        let mut mark = |v: Value, work: &mut Vec<Phi>| {
            let v = alias.get(v);
            if used.insert(v) {
                work.extend(phi_of[v].expand());
            }
        };
        for &block in &func.layout {
            let data = &func.blocks[block];
            data.insts.iter().for_each(|&i| func.insts[i].op.for_each_arg(|v| mark(v, &mut work)));
            let terminator = data.terminator.as_ref().expect("reachable blocks have one");
            terminator.for_each_operand(|v| mark(v, &mut work));
            terminator.for_each_edge(|e| e.args.iter().for_each(|&v| mark(v, &mut work)));
        }
        while let Some(phi) = work.pop() {
            let data = &self.phis[phi];
            for (edge, &arg) in self.blocks[data.block].edges.iter().zip(&data.args) {
                if reachable.contains(edge.from) {
                    mark(arg, &mut work);
                }
            }
        }
        used
    }

    /// Writes the parameters that remain into their blocks, and their arguments on the edges.
    fn write_params(&mut self, func: &mut Function, reachable: &EntitySet<Block>, alias: &Aliases, used: &EntitySet<Value>) {
        for i in 0..func.layout.len() {
            let block = func.layout[i];
            let state = &self.blocks[block];
            let kept = |phi: &&Phi| !alias.is_replaced(self.phis[**phi].value) && used.contains(self.phis[**phi].value);
            let phis: Vec<&PhiData> = state.phis.iter().filter(kept).map(|&p| &self.phis[p]).collect();
            func.blocks[block].params.extend(phis.iter().map(|p| p.value));
            for (i, edge) in state.edges.iter().enumerate().filter(|(_, e)| reachable.contains(e.from)) {
                let terminator = func.blocks[edge.from].terminator.as_mut().expect("has edges");
                let call = terminator.edge_mut(edge.index as usize).expect("recorded with this index");
                debug_assert_eq!(call.block, block);
                call.args.extend(phis.iter().map(|p| alias.get(p.args[i])));
            }
        }
    }
}
