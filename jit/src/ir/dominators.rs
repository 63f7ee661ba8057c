//! Control flow of one function: predecessors, depth-first order, dominators.
//!
//! In: a function with terminated blocks. Out: [`Dominators`]; nothing recurses, and no shape of graph takes long: Semi-NCA (L. Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005,
//! section 2.3), which stays near-linear where thousands of `Try`s share a landing block.
//! Blocks that cannot be reached have no number and dominate nothing.

use super::entities::Block;
use super::module::Function;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

const NONE: u32 = u32::MAX;

/// A step of a walk through the dominator tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visit {
    Enter(Block),
    /// After everything it dominates.
    Leave(Block),
}

/// Dominator tree of the blocks that can be reached.
#[derive(Debug)]
pub struct Dominators {
    /// Depth-first preorder.
    order: Vec<Block>,
    /// Index in `order`.
    number: SecondaryMap<Block, u32>,
    /// By number; the entry's is itself.
    idom: Vec<u32>,
    /// By number: interval of the dominator tree's own preorder that the block's subtree takes.
    interval: Vec<(u32, u32)>,
}

impl Dominators {
    pub fn new(func: &Function) -> Self {
        let (order, number, parent) = depth_first(func);
        let preds = predecessors(func, &order, &number);
        let idom = immediate_dominators(&parent, &preds);
        let interval = intervals(&idom);
        Dominators { order, number, idom, interval }
    }

    pub fn is_reachable(&self, block: Block) -> bool {
        self.number[block] != NONE
    }

    /// Every way from the entry to `b` passes `a` (also where they are the same). False if either cannot be reached.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let (a, b) = (self.number[a], self.number[b]);
        if a == NONE || b == NONE {
            return false;
        }
        let (lo, hi) = self.interval[a as usize];
        (lo..hi).contains(&self.interval[b as usize].0)
    }

    /// `None` for the entry and for blocks that cannot be reached.
    pub fn idom(&self, block: Block) -> Option<Block> {
        let number = self.number[block];
        (number != NONE && number != 0).then(|| self.order[self.idom[number as usize] as usize])
    }

    /// The dominator tree, depth first: each block is entered after those that dominate it, and left after those it dominates.
    pub fn walk(&self) -> Vec<Visit> {
        let mut placed = vec![0; self.order.len()];
        for (number, &(place, _)) in self.interval.iter().enumerate() {
            placed[place as usize] = number;
        }
        let mut walk = Vec::with_capacity(2 * placed.len());
        let mut open: Vec<usize> = Vec::new();
        for (place, number) in placed.into_iter().enumerate() {
            while let Some(done) = open.pop_if(|&mut above| self.interval[above].1 as usize <= place) {
                walk.push(Visit::Leave(self.order[done]));
            }
            walk.push(Visit::Enter(self.order[number]));
            open.push(number);
        }
        walk.extend(open.into_iter().rev().map(|above| Visit::Leave(self.order[above])));
        walk
    }

    /// The blocks that can be reached, in depth-first preorder.
    pub fn preorder(&self) -> &[Block] {
        &self.order
    }
}

/// The blocks that can be reached, in depth-first preorder: each after those that dominate it.
pub fn preorder(func: &Function) -> Vec<Block> {
    depth_first(func).0
}

fn for_each_successor(func: &Function, block: Block, mut f: impl FnMut(Block)) {
    func.blocks[block].terminator.iter().for_each(|t| t.for_each_edge(|edge| f(edge.block)));
}

/// Preorder, its inverse, and each block's parent in the tree (by number).
fn depth_first(func: &Function) -> (Vec<Block>, SecondaryMap<Block, u32>, Vec<u32>) {
    let (mut order, mut parent) = (Vec::with_capacity(func.layout.len()), Vec::with_capacity(func.layout.len()));
    let mut number = SecondaryMap::with_default(NONE);
    number.resize(func.blocks.len());
    let mut work = vec![(func.entry(), 0)];
    while let Some((block, from)) = work.pop() {
        if number[block] != NONE {
            continue;
        }
        let this = order.len() as u32;
        number[block] = this;
        order.push(block);
        parent.push(from);
        for_each_successor(func, block, |to| {
            if number[to] == NONE {
                work.push((to, this));
            }
        });
    }
    (order, number, parent)
}

/// By number.
fn predecessors(func: &Function, order: &[Block], number: &SecondaryMap<Block, u32>) -> Vec<SmallVec<[u32; 4]>> {
    let mut preds = vec![SmallVec::new(); order.len()];
    for (i, &block) in order.iter().enumerate() {
        for_each_successor(func, block, |to| preds[number[to] as usize].push(i as u32));
    }
    preds
}

fn immediate_dominators(parent: &[u32], preds: &[SmallVec<[u32; 4]>]) -> Vec<u32> {
    let count = parent.len();
    let mut idom = parent.to_vec();
    let mut semi: Vec<u32> = (0..count as u32).collect();
    let mut forest = Forest { ancestor: parent.to_vec(), label: semi.clone(), path: Vec::new() };
    for w in (1..count).rev() {
        semi[w] = parent[w];
        for &pred in &preds[w] {
            let candidate = semi[forest.lowest(pred, w as u32 + 1, &semi) as usize];
            semi[w] = semi[w].min(candidate);
        }
    }
    for w in 1..count {
        let mut candidate = idom[w];
        while candidate > semi[w] {
            candidate = idom[candidate as usize];
        }
        idom[w] = candidate;
    }
    idom
}

/// The part of the depth-first tree already visited, with compressed paths.
struct Forest {
    ancestor: Vec<u32>,
    /// The block with the lowest semidominator on the compressed path.
    label: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    /// The block with the lowest semidominator among `v` and those ancestors that are numbered `linked` or higher.
    fn lowest(&mut self, v: u32, linked: u32, semi: &[u32]) -> u32 {
        if self.ancestor[v as usize] < linked {
            return self.label[v as usize];
        }
        let mut at = v;
        while self.ancestor[at as usize] >= linked {
            self.path.push(at);
            at = self.ancestor[at as usize];
        }
        let mut best = self.label[at as usize];
        let root = self.ancestor[at as usize];
        while let Some(below) = self.path.pop() {
            self.ancestor[below as usize] = root;
            let own = self.label[below as usize];
            if semi[best as usize] < semi[own as usize] {
                self.label[below as usize] = best;
            } else {
                best = own;
            }
        }
        best
    }
}

/// Preorder intervals of the tree that `idom` gives; a block's number is higher than its dominator's.
fn intervals(idom: &[u32]) -> Vec<(u32, u32)> {
    let mut size = vec![1; idom.len()];
    for w in (1..idom.len()).rev() {
        size[idom[w] as usize] += size[w];
    }
    // The first free place in the interval of each block.
    let mut next = vec![1; idom.len()];
    let mut interval = vec![(0, size[0]); idom.len()];
    for w in 1..idom.len() {
        let place = &mut next[idom[w] as usize];
        let lo = *place;
        *place += size[w];
        interval[w] = (lo, lo + size[w]);
        next[w] = lo + 1;
    }
    interval
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BlockCall, Loc, Terminator};
    use cranelift_entity::EntityRef;

    fn graph(edges: &[Vec<usize>]) -> Function {
        let mut func = Function::new("f", vec![], None, Loc::default());
        for targets in edges {
            let call = |&t: &usize| BlockCall { block: Block::new(t), args: Default::default() };
            let v = crate::ir::Value::new(0);
            let terminator = match targets.as_slice() {
                [] => Terminator::Return(None),
                [default, targets @ ..] => {
                    Terminator::Switch { index: v, targets: targets.iter().map(call).collect(), default: call(default) }
                }
            };
            let block = func.blocks.push(Default::default());
            func.blocks[block].terminator = Some(terminator);
            func.layout.push(block);
        }
        func
    }

    /// By definition: `a` dominates `b` if `b` cannot be reached around `a`.
    fn dominates_by_definition(edges: &[Vec<usize>], a: usize, b: usize) -> bool {
        let reach = |without: usize| {
            let mut seen = vec![false; edges.len()];
            let mut work = if without == 0 { vec![] } else { vec![0] };
            while let Some(n) = work.pop() {
                if !std::mem::replace(&mut seen[n], true) {
                    work.extend(edges[n].iter().filter(|&&t| t != without));
                }
            }
            seen
        };
        let all = reach(usize::MAX);
        all[a] && all[b] && (a == b || !reach(a)[b])
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for _ in 0..500 {
            let n = 1 + random(12);
            let edges: Vec<Vec<usize>> = (0..n).map(|_| (0..random(4)).map(|_| random(n)).collect()).collect();
            let dominators = Dominators::new(&graph(&edges));
            for a in 0..n {
                for b in 0..n {
                    let expected = dominates_by_definition(&edges, a, b);
                    assert_eq!(dominators.dominates(Block::new(a), Block::new(b)), expected, "{a} dom {b} in {edges:?}");
                }
            }
            let mut open = Vec::new();
            for visit in dominators.walk() {
                match visit {
                    Visit::Enter(block) => {
                        assert_eq!(dominators.idom(block), open.last().copied(), "{block} in {edges:?}");
                        open.push(block);
                    }
                    Visit::Leave(block) => assert_eq!(open.pop(), Some(block)),
                }
            }
            assert!(open.is_empty());
        }
    }

    #[test]
    fn a_long_chain_into_one_landing_block() {
        let n = 200_000;
        let edges: Vec<Vec<usize>> = (0..n).map(|i| if i + 2 < n { vec![i + 1, n - 1] } else { vec![] }).collect();
        let dominators = Dominators::new(&graph(&edges));
        assert_eq!(dominators.idom(Block::new(n - 1)), Some(Block::new(0)));
        assert!(dominators.dominates(Block::new(5), Block::new(n - 2)));
    }
}
