//! What every change of a function needs: which blocks are left, which values stand for others, and dense numbers again afterwards.
//!
//! Invariant: after [`renumber`] blocks, instructions and values are numbered densely in layout order, as the text form wants them; nothing unreachable may stand in the layout then.

use super::entities::*;
use super::inst::Op;
use super::module::{BlockData, Function, InstData};
use super::types::Ty;
use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap, packed_option::PackedOption};

/// Blocks that control can come to.
pub fn reachable_blocks(func: &Function) -> EntitySet<Block> {
    let mut seen = EntitySet::with_capacity(func.blocks.len());
    let mut work = vec![func.entry()];
    seen.insert(func.entry());
    while let Some(block) = work.pop() {
        let terminator = func.blocks[block].terminator.as_ref();
        terminator.unwrap_or_else(|| panic!("{block} has no terminator in {}", func.name)).for_each_edge(|edge| {
            if seen.insert(edge.block) {
                work.push(edge.block);
            }
        });
    }
    seen
}

/// Numbers blocks, values and instructions densely in layout order, and replaces values by what they stand for.
pub fn renumber(mut func: Function, alias: &Aliases) -> Function {
    let mut block_map: SecondaryMap<Block, Block> = SecondaryMap::with_default(Block::new(0));
    block_map.resize(func.blocks.len());
    let mut value_map: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    value_map.resize(func.values.len());
    let mut values: PrimaryMap<Value, Ty> = PrimaryMap::with_capacity(func.values.len());
    for (i, &block) in func.layout.iter().enumerate() {
        block_map[block] = Block::new(i);
        let data = &func.blocks[block];
        let results = data.insts.iter().filter_map(|&i| func.insts[i].result);
        for value in data.params.iter().copied().chain(results) {
            value_map[value] = values.push(func.values[value]).into();
        }
    }
    let rename = |v: &mut Value| *v = value_map[alias.get(*v)].expect("a used value is defined");
    let mut insts = PrimaryMap::with_capacity(func.insts.len());
    let mut blocks = PrimaryMap::with_capacity(func.layout.len());
    for &block in &func.layout {
        let BlockData { mut params, insts: old, terminator, terminator_loc } = std::mem::take(&mut func.blocks[block]);
        params.iter_mut().for_each(rename);
        let new = old.into_iter().map(|inst| {
            // An instruction stands in one place.
            let InstData { op, result, loc } = &mut func.insts[inst];
            let mut op = std::mem::replace(op, Op::Poll);
            op.for_each_arg_mut(rename);
            result.iter_mut().for_each(rename);
            insts.push(InstData { op, result: *result, loc: *loc })
        });
        let new = new.collect();
        let mut terminator = terminator.expect("reachable blocks have one");
        terminator.for_each_arg_mut(rename);
        terminator.for_each_edge_mut(|edge| edge.block = block_map[edge.block]);
        blocks.push(BlockData { params, insts: new, terminator: Some(terminator), terminator_loc });
    }
    let layout = blocks.keys().collect();
    Function { layout, blocks, insts, values, ..func }
}

/// What values that are no longer defined stand for.
#[derive(Default)]
pub struct Aliases {
    of: SecondaryMap<Value, PackedOption<Value>>,
}

impl Aliases {
    /// `value` is `by` from now on; it has not been replaced before, and `by` does not lead back to it.
    pub fn replace(&mut self, value: Value, by: Value) {
        self.of[value] = by.into();
    }

    pub fn is_replaced(&self, value: Value) -> bool {
        self.of[value].is_some()
    }

    /// What `value` stands for: itself, if it was not replaced.
    pub fn get(&self, mut value: Value) -> Value {
        while let Some(next) = self.of[value].expand() {
            value = next;
        }
        value
    }

    /// [`Aliases::get`], which shortens the chain for the next time.
    pub fn find(&mut self, value: Value) -> Value {
        let end = self.get(value);
        let mut at = value;
        while let Some(next) = self.of[at].expand() {
            self.of[at] = end.into();
            at = next;
        }
        end
    }
}

impl Function {
    /// A new operation with a result, which stands in no block yet.
    pub fn add_inst(&mut self, op: Op, ty: Ty, loc: Loc) -> (Inst, Value) {
        let result = self.values.push(ty);
        (self.insts.push(InstData { op, result: Some(result), loc }), result)
    }

    /// Drops blocks that cannot be reached, puts what `aliases` says in place of values, and numbers everything densely.
    pub fn rewrite(&mut self, aliases: &Aliases) {
        let reachable = reachable_blocks(self);
        self.layout.retain(|&b| reachable.contains(b));
        let (name, params) = (self.name.clone(), self.params.clone());
        let empty = Function::new(name, params, self.ret, self.loc);
        *self = renumber(std::mem::replace(self, empty), aliases);
    }

    /// Puts the blocks in reverse post-order; drops those that cannot be reached.
    pub fn sort_layout(&mut self) {
        self.layout = self.reverse_postorder();
    }

    /// The blocks that can be reached, each before those behind it, but for back-edges, and after those that dominate it; `then` before `els`.
    pub fn reverse_postorder(&self) -> Vec<Block> {
        let mut seen: EntitySet<Block> = EntitySet::with_capacity(self.blocks.len());
        let mut order = Vec::with_capacity(self.layout.len());
        // A block is on the stack twice: to enter it, and below its successors to leave it.
        let mut work = vec![(self.entry(), true)];
        while let Some((block, enter)) = work.pop() {
            if !enter {
                order.push(block);
            } else if seen.insert(block) {
                work.push((block, false));
                let terminator = self.blocks[block].terminator.as_ref().expect("a finished block");
                terminator.for_each_edge(|edge| work.push((edge.block, true)));
            }
        }
        order.reverse();
        order
    }

    /// Drops parameters of blocks, and the arguments for them on every edge; says whether there were any. The place for a `Try`'s result or error is never dead.
    pub fn drop_params(&mut self, dead: impl Fn(Value) -> bool) -> bool {
        if !self.layout.iter().any(|&b| self.blocks[b].params.iter().any(|&p| dead(p))) {
            return false;
        }
        for i in 0..self.layout.len() {
            let block = self.layout[i];
            let mut terminator = self.blocks[block].terminator.take().expect("a finished block");
            terminator.for_each_edge_mut(|edge| {
                let params = &self.blocks[edge.block].params;
                let own = &params[params.len() - edge.args.len()..];
                let mut stays = own.iter().map(|&p| !dead(p));
                edge.args.retain(|_| stays.next() == Some(true));
            });
            self.blocks[block].terminator = Some(terminator);
        }
        self.layout.iter().for_each(|&b| self.blocks[b].params.retain(|&p| !dead(p)));
        true
    }
}
