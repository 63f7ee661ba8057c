//! The loops of a function: natural loops of back-edges to a dominating block, nested by containment.
//!
//! In: a function, its dominators. Out: [`Loops`], true until the control flow changes. Irreducible cycles are no loops here: nothing is known about them.

use crate::ir::dominators::Dominators;
use crate::ir::*;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use smallvec::SmallVec;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(u32);
entity_impl!(LoopId, "loop");

#[derive(Debug)]
pub struct Loop {
    pub header: Block,
    /// Blocks with an edge back to the header.
    pub latches: Vec<Block>,
    /// Everything inside, loops within included; the header first.
    pub blocks: Vec<Block>,
    /// The loop around this one.
    pub parent: PackedOption<LoopId>,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// Edges that leave: from a block inside to one outside.
    pub exits: Vec<(Block, Block)>,
}

#[derive(Debug)]
pub struct Loops {
    /// A loop comes before those around it.
    pub loops: PrimaryMap<LoopId, Loop>,
    innermost: SecondaryMap<Block, PackedOption<LoopId>>,
}

pub type Predecessors = SecondaryMap<Block, SmallVec<[Block; 4]>>;

/// Predecessors of each block, once for each edge, in layout order.
pub fn predecessors(func: &Function) -> Predecessors {
    let mut preds = Predecessors::new();
    preds.resize(func.blocks.len());
    for &block in &func.layout {
        func.blocks[block].terminator.as_ref().expect("a finished block").for_each_edge(|edge| preds[edge.block].push(block));
    }
    preds
}

impl Loops {
    pub fn new(func: &Function, dominators: &Dominators) -> Loops {
        let preds = predecessors(func);
        let mut loops: PrimaryMap<LoopId, Loop> = PrimaryMap::new();
        let mut innermost: SecondaryMap<Block, PackedOption<LoopId>> = SecondaryMap::with_capacity(func.blocks.len());
        // A header inside of a loop comes later in dominator preorder than that loop's: backwards, inner loops are found first.
        for &header in dominators.preorder().iter().rev() {
            let mut latches: Vec<Block> = preds[header].iter().copied().filter(|&p| dominators.dominates(header, p)).collect();
            latches.dedup();
            if latches.is_empty() {
                continue;
            }
            let mut seen: EntitySet<Block> = EntitySet::with_capacity(func.blocks.len());
            seen.insert(header);
            let (mut blocks, mut work) = (vec![header], latches.clone());
            while let Some(block) = work.pop() {
                if seen.insert(block) {
                    blocks.push(block);
                    work.extend(preds[block].iter().filter(|&&p| dominators.is_reachable(p)));
                }
            }
            let mut exits = Vec::new();
            for &block in &blocks {
                let terminator = func.blocks[block].terminator.as_ref().expect("a finished block");
                terminator.for_each_edge(|edge| {
                    if !seen.contains(edge.block) {
                        exits.push((block, edge.block));
                    }
                });
            }
            let id = loops.push(Loop { header, latches, blocks, parent: None.into(), depth: 0, exits });
            for i in 0..loops[id].blocks.len() {
                let block = loops[id].blocks[i];
                match innermost[block].expand() {
                    None => innermost[block] = id.into(),
                    // The outermost loop found so far around the block lies in this one.
                    Some(mut inner) => {
                        while let Some(parent) = loops[inner].parent.expand() {
                            inner = parent;
                        }
                        if inner != id {
                            loops[inner].parent = id.into();
                        }
                    }
                }
            }
        }
        for id in loops.keys().rev() {
            loops[id].depth = loops[id].parent.expand().map_or(1, |p| loops[p].depth + 1);
        }
        Loops { loops, innermost }
    }

    /// The innermost loop around a block.
    pub fn around(&self, block: Block) -> Option<LoopId> {
        self.innermost[block].expand()
    }

    /// How many loops are around a block.
    pub fn depth(&self, block: Block) -> u32 {
        self.around(block).map_or(0, |l| self.loops[l].depth)
    }

    /// Whether the edge from the one block to the other leaves a loop.
    pub fn is_left(&self, from: Block, to: Block) -> bool {
        self.around(from).is_some_and(|id| !self.contains(id, to))
    }

    pub fn contains(&self, id: LoopId, block: Block) -> bool {
        let mut at = self.around(block);
        while let Some(inner) = at {
            if inner == id {
                return true;
            }
            at = self.loops[inner].parent.expand();
        }
        false
    }
}
