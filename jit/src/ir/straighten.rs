//! Removes blocks that only the way a function was built has made: empty ones that jump on, and ones that continue their only predecessor.
//!
//! In: a function whose edges have all their arguments. Out: the same function with fewer blocks; parameters of blocks that were joined to their predecessor are reported as replaced by their arguments.
//! Invariants: no instruction is added, dropped or moved past another; the layout order of what remains is kept; takes linear time.

use super::entities::*;
use super::inst::{BlockCall, Terminator};
use super::module::Function;
use cranelift_entity::SecondaryMap;

/// `replace` is called for each block parameter that goes away, with the value it always had.
pub(crate) fn straighten(func: &mut Function, replace: &mut dyn FnMut(Value, Value)) {
    skip_empty_blocks(func);
    join_successors(func, replace);
}

fn terminator(func: &mut Function, block: Block) -> &mut Terminator {
    func.blocks[block].terminator.as_mut().expect("finished blocks have one")
}

/// Leads edges to a block that does nothing but jump to where it jumps.
fn skip_empty_blocks(func: &mut Function) {
    let mut forward: SecondaryMap<Block, Option<BlockCall>> = SecondaryMap::new();
    // Backwards, so that most chains are resolved when they are looked at.
    for i in (1..func.layout.len()).rev() {
        let block = func.layout[i];
        let data = &func.blocks[block];
        let (true, true, Some(Terminator::Jump(to))) = (data.params.is_empty(), data.insts.is_empty(), &data.terminator) else { continue };
        let end = forward[to.block].clone().filter(|_| to.args.is_empty()).unwrap_or_else(|| to.clone());
        if end.block != block {
            forward[block] = Some(end);
        }
    }
    for i in 0..func.layout.len() {
        let terminator = terminator(func, func.layout[i]);
        terminator.for_each_edge_mut(|edge| {
            // Only edges without arguments lead to blocks without parameters.
            if let Some(end) = &forward[edge.block] {
                *edge = end.clone();
            }
        });
        if let Terminator::Branch { then, els, .. } = terminator
            && then == els
        {
            *terminator = Terminator::Jump(then.clone());
        }
    }
}

/// Appends to each block that ends in a jump the block it jumps to, if nothing else leads there.
fn join_successors(func: &mut Function, replace: &mut dyn FnMut(Value, Value)) {
    let edges = reachable_edges(func);
    func.layout.retain(|&b| edges[b] > 0);
    let continuation = |func: &Function, block: Block| match &func.blocks[block].terminator {
        Some(Terminator::Jump(to)) if edges[to.block] == 1 => Some(to.clone()),
        _ => None,
    };
    let mut continues: SecondaryMap<Block, bool> = SecondaryMap::with_capacity(func.blocks.len());
    func.layout.iter().filter_map(|&b| continuation(func, b)).for_each(|to| continues[to.block] = true);
    // What is reached is no closed chain, so each has a head that continues nothing.
    func.layout.retain(|&b| !continues[b]);
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        while let Some(to) = continuation(func, block) {
            let next = std::mem::take(&mut func.blocks[to.block]);
            next.params.iter().zip(&to.args).for_each(|(&param, &arg)| replace(param, arg));
            let data = &mut func.blocks[block];
            data.insts.extend(next.insts);
            (data.terminator, data.terminator_loc) = (next.terminator, next.terminator_loc);
        }
    }
}

/// How many edges lead to each block that can be reached; the entry counts as reached from outside.
fn reachable_edges(func: &Function) -> SecondaryMap<Block, u32> {
    let mut edges: SecondaryMap<Block, u32> = SecondaryMap::with_capacity(func.blocks.len());
    edges[func.entry()] = 1;
    let mut work = vec![func.entry()];
    while let Some(block) = work.pop() {
        func.blocks[block].terminator.as_ref().expect("finished blocks have one").for_each_edge(|edge| {
            edges[edge.block] += 1;
            if edges[edge.block] == 1 {
                work.push(edge.block);
            }
        });
    }
    edges
}
