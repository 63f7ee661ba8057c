//! Copies of a region of blocks, as peeling, rotating, unrolling and versioning of loops need them.
//!
//! In: a function, some of its blocks. Out: the same function with a second set of these blocks, and what stands for what ([`RegionCopy`]).
//! The copy's edges lead to the copy where the region's lead to the region, and otherwise to the same blocks; its operands are the copy's values where the region defines them, and otherwise the same values. Positions and call sites
//! are kept. The copy stands at the end of the layout, and nothing leads to it: that is for the caller to change, with [`retarget`]. Where values of the region are used outside of it, [`super::repair`] is needed afterwards.

use super::entities::*;
use super::inst::Terminator;
use super::module::{BlockData, Function};
use rustc_hash::FxHashMap;

#[derive(Default, Debug)]
pub struct RegionCopy {
    /// Block and copy, in the order in which the region was given.
    pub blocks: Vec<(Block, Block)>,
    copy_of_block: FxHashMap<Block, Block>,
    copy_of_value: FxHashMap<Value, Value>,
}

impl RegionCopy {
    /// The copy of a block; a block outside of the region is its own.
    pub fn block(&self, block: Block) -> Block {
        self.copy_of_block.get(&block).copied().unwrap_or(block)
    }

    /// The copy of a value; a value that is not defined in the region is its own.
    pub fn value(&self, value: Value) -> Value {
        self.copy_of_value.get(&value).copied().unwrap_or(value)
    }
}

/// Copies the blocks, each of which is given once.
pub fn copy_region(func: &mut Function, region: &[Block]) -> RegionCopy {
    let mut copy = RegionCopy::default();
    for &block in region {
        let new = func.blocks.push(BlockData::default());
        copy.blocks.push((block, new));
        copy.copy_of_block.insert(block, new);
        for value in defined_in(func, block) {
            let ty = func.values[value];
            copy.copy_of_value.insert(value, func.values.push(ty));
        }
    }
    for &(block, new) in &copy.blocks {
        func.layout.push(new);
        func.blocks[new] = copy_block(func, block, &copy);
    }
    copy
}

fn copy_block(func: &mut Function, block: Block, copy: &RegionCopy) -> BlockData {
    let BlockData { mut params, insts, mut terminator, terminator_loc } = func.blocks[block].clone();
    params.iter_mut().for_each(|v| *v = copy.value(*v));
    let insts = insts.into_iter().map(|inst| {
        let mut data = func.insts[inst].clone();
        data.op.for_each_arg_mut(|v| *v = copy.value(*v));
        data.result.iter_mut().for_each(|v| *v = copy.value(*v));
        func.insts.push(data)
    });
    let insts = insts.collect();
    let to = terminator.as_mut().expect("a finished block");
    to.for_each_arg_mut(|v| *v = copy.value(*v));
    to.for_each_edge_mut(|edge| edge.block = copy.block(edge.block));
    BlockData { params, insts, terminator, terminator_loc }
}

/// Parameters, then results.
pub fn defined_in(func: &Function, block: Block) -> Vec<Value> {
    let data = &func.blocks[block];
    data.params.iter().copied().chain(data.insts.iter().filter_map(|&i| func.insts[i].result)).collect()
}

/// Leads edges of `from` that went to `old` to `new`, with the same arguments.
pub fn retarget(func: &mut Function, from: Block, old: Block, new: Block) {
    let terminator: &mut Terminator = func.blocks[from].terminator.as_mut().expect("a finished block");
    terminator.for_each_edge_mut(|edge| {
        if edge.block == old {
            edge.block = new;
        }
    });
}
