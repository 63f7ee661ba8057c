//! A block before each loop that does nothing but lead into it.
//!
//! In: a function. Out: the same in which every natural loop is entered by one jump; new blocks stand before the header in the layout. [`remove_empty`] takes back those that were of no use.

use super::super::analysis::loops::Loops;
use crate::ir::dominators::Dominators;
use crate::ir::*;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// The blocks that were added.
pub fn insert(func: &mut Function) -> Vec<Block> {
    let dominators = Dominators::new(func);
    let loops = Loops::new(func, &dominators);
    let mut entries: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for &block in &func.layout {
        terminator(func, block).for_each_edge(|edge| {
            let own = loops.around(edge.block).filter(|&id| loops.loops[id].header == edge.block);
            if own.is_some_and(|id| !loops.contains(id, block)) {
                entries[edge.block].push(block);
            }
        });
    }
    let mut before: SecondaryMap<Block, PackedOption<Block>> = SecondaryMap::new();
    let mut added = Vec::new();
    for header in loops.loops.values().map(|l| l.header) {
        if let [entry] = entries[header][..]
            && matches!(terminator(func, entry), Terminator::Jump(_))
        {
            continue;
        }
        let new = add(func, header, &entries[header]);
        before[header] = new.into();
        added.push(new);
    }
    let old = std::mem::take(&mut func.layout);
    func.layout = old.into_iter().flat_map(|block| before[block].expand().into_iter().chain([block])).collect();
    added
}

fn terminator(func: &Function, block: Block) -> &Terminator {
    func.blocks[block].terminator.as_ref().expect("a finished block")
}

fn add(func: &mut Function, header: Block, entries: &[Block]) -> Block {
    let types: Vec<Ty> = func.blocks[header].params.iter().map(|&p| func.values[p]).collect();
    let params: Vec<Value> = types.into_iter().map(|ty| func.values.push(ty)).collect();
    let jump = Terminator::Jump(BlockCall { block: header, args: params.iter().copied().collect() });
    let new = func.blocks.push(BlockData { params, terminator: Some(jump), ..BlockData::default() });
    entries.iter().for_each(|&entry| lead(func, entry, header, new));
    new
}

/// Leads the edges from `block` that go to `from` to `to`, which has the same parameters.
fn lead(func: &mut Function, block: Block, from: Block, to: Block) {
    let terminator = func.blocks[block].terminator.as_mut().expect("a finished block");
    terminator.for_each_edge_mut(|edge| {
        if edge.block == from {
            edge.block = to;
        }
    });
}

/// Leads around those of the blocks, which [`insert`] has added, that are still empty.
pub fn remove_empty(func: &mut Function, added: &[Block]) {
    let mut leads_to: SecondaryMap<Block, PackedOption<Block>> = SecondaryMap::new();
    for &block in added.iter().filter(|&&b| func.blocks[b].insts.is_empty()) {
        if let Terminator::Jump(to) = terminator(func, block) {
            leads_to[block] = to.block.into();
        }
    }
    for i in 0..func.layout.len() {
        let terminator = func.blocks[func.layout[i]].terminator.as_mut().expect("a finished block");
        terminator.for_each_edge_mut(|edge| edge.block = leads_to[edge.block].expand().unwrap_or(edge.block));
    }
    func.layout.retain(|&b| leads_to[b].is_none());
}
