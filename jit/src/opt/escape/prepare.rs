//! The control flow that the replacement needs.
//!
//! In: a function, the objects that will be replaced. Out: the function without the `Try`s of their allocations (their edges lack the argument for the result, whose parameter will go too), with blocks on the edges on which objects
//! become real or virtual again, and without what nothing leads to any more; [`Flow`] knows the new blocks.

use super::flow::{Edge, Flow, target};
use super::objects::{Birth, ObjectId, Objects, terminator};
use super::worth;
use crate::ir::rewrite::reachable_blocks;
use crate::ir::*;
use std::collections::BTreeMap;

pub fn prepare(func: &mut Function, objects: &Objects<'_>, flow: &mut Flow) {
    drop_tries(func, objects);
    split_edges(func, objects, flow);
    let reachable = reachable_blocks(func);
    func.layout.retain(|&b| reachable.contains(b));
}

fn drop_tries(func: &mut Function, objects: &Objects<'_>) {
    for (_, object) in objects.live() {
        if let (Birth::Try(block), Terminator::Try { normal, .. }) = (object.birth, terminator(func, object.block)) {
            func.blocks[block].terminator = Some(Terminator::Jump(normal.clone()));
        }
    }
}

/// Objects that become something else on an edge.
#[derive(Default)]
struct Changes {
    real: Vec<ObjectId>,
    back: Vec<ObjectId>,
}

/// Gives edges on which objects become real or virtual again a block of their own.
fn split_edges(func: &mut Function, objects: &Objects<'_>, flow: &mut Flow) {
    let mut changes: BTreeMap<Edge, Changes> = BTreeMap::new();
    for (id, object) in objects.live() {
        let way = &flow.ways[id];
        worth::edges_made_real(func, object, way).into_iter().for_each(|edge| changes.entry(edge).or_default().real.push(id));
        worth::edges_back(func, object, way).into_iter().for_each(|edge| changes.entry(edge).or_default().back.push(id));
    }
    for (edge, Changes { real, back }) in changes {
        let to = target(func, edge);
        let new = func.blocks.push(BlockData { terminator_loc: func.blocks[edge.0].terminator_loc, ..BlockData::default() });
        func.layout.push(new);
        let way = func.blocks[edge.0].terminator.as_mut().and_then(|t| t.edge_mut(edge.1)).expect("found before");
        let old = std::mem::replace(way, BlockCall { block: new, args: Args::new() });
        for (id, _) in objects.live() {
            let way = &mut flow.ways[id];
            if way.live.contains_key(&to) || old.args.iter().any(|&v| objects.of(v) == Some(id)) {
                way.live.insert(new, way.at_end(edge.0));
            }
        }
        real.into_iter().for_each(|id| _ = flow.ways[id].escapes.insert(new, 0));
        back.into_iter().for_each(|id| _ = flow.ways[id].back.insert(new));
        func.blocks[new].terminator = Some(Terminator::Jump(old));
    }
}
