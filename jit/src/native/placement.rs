//! Where a function starts within a line of the instruction cache, so that its innermost loops lie well.
//!
//! In: finished code. Out: how far into a line it is to start. Blocks and edges come from decoding it: what Cranelift tells of them (`machine_code_cfg_info`) is wrong where there are cold blocks. Jumps through tables and to handlers
//! are not seen; loops that need them count for nothing.
//!
//! The processor takes decoded instructions from a cache whose entries cover aligned pieces of code: a short loop that touches one piece more than it must can take twice as long. Moving the whole function moves all of its loops; what
//! suits the deepest ones wins.

use super::region::GRANULE;
use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind};
use std::collections::{BTreeMap, BTreeSet};

/// Code beyond this many bytes behind a loop's header does not count: long loops are bound by other things, and handlers that go back to a loop stand far away.
const LONGEST: u32 = 4 * GRANULE as u32;

/// Functions with more blocks start at a line: finding loops takes time in proportion to blocks times nesting.
const MOST_BLOCKS: usize = 4096;

/// A loop without loops inside, as it lies in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Loop {
    start: u32,
    end: u32,
    depth: u32,
}

/// Bytes from the start of a line to the start of the code, a multiple of `align`.
pub fn start_in_line(code: &[u8], align: usize) -> usize {
    let Flow { blocks, edges } = Flow::of(code);
    best_start(&blocks, &edges, code.len() as u32, align)
}

fn best_start(blocks: &[u32], edges: &[(u32, u32)], end: u32, align: usize) -> usize {
    if edges.iter().all(|(from, to)| to > from) || blocks.len() > MOST_BLOCKS {
        return 0;
    }
    let loops = innermost_loops(blocks, edges, end);
    let starts = (0..GRANULE).step_by(align.max(1));
    starts.min_by_key(|&start| loops.iter().map(|l| cost(*l, start as u32)).sum::<u64>()).unwrap_or(0)
}

/// Offsets of blocks, in order, and edges between them.
#[derive(Default)]
struct Flow {
    blocks: Vec<u32>,
    edges: Vec<(u32, u32)>,
}

impl Flow {
    fn of(code: &[u8]) -> Flow {
        // Where each instruction that ends a block ends, with the block it jumps to and whether it may go on.
        let mut ends: Vec<(u32, Option<u32>, bool)> = Vec::new();
        let mut blocks = BTreeSet::from([0]);
        for instruction in Decoder::new(64, code, DecoderOptions::NONE).iter() {
            let goes_on = match instruction.mnemonic() {
                Mnemonic::Call => continue,
                Mnemonic::Jmp | Mnemonic::Ret | Mnemonic::Ud2 => false,
                _ if instruction.op0_kind() == OpKind::NearBranch64 => true,
                _ => continue,
            };
            let is_near = instruction.op0_kind() == OpKind::NearBranch64;
            let target = is_near.then(|| instruction.near_branch64()).filter(|&t| t < code.len() as u64).map(|t| t as u32);
            let end = instruction.next_ip() as u32;
            blocks.extend(target.into_iter().chain([end]));
            ends.push((end, target, goes_on));
        }
        let blocks: Vec<u32> = blocks.into_iter().filter(|&b| b < code.len() as u32).collect();
        let mut edges = Vec::new();
        let mut ends = ends.into_iter().peekable();
        for (i, &block) in blocks.iter().enumerate() {
            let next = blocks.get(i + 1).copied();
            let jump = ends.next_if(|&(end, ..)| Some(end) == next || next.is_none());
            let (target, goes_on) = jump.map_or((None, true), |(_, target, goes_on)| (target, goes_on));
            edges.extend(target.into_iter().chain(next.filter(|_| goes_on)).map(|to| (block, to)));
        }
        Flow { blocks, edges }
    }
}

/// How many lines and half lines the loop touches, by its depth.
fn cost(l: Loop, start: u32) -> u64 {
    let pieces = |size: u32| u64::from((start + l.end - 1) / size - (start + l.start) / size);
    (2 * pieces(GRANULE as u32) + pieces(GRANULE as u32 / 2)) << (3 * l.depth.min(8))
}

struct Graph {
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

impl Graph {
    fn new(blocks: &[u32], edges: &[(u32, u32)]) -> Graph {
        let mut graph = Graph { successors: vec![Vec::new(); blocks.len()], predecessors: vec![Vec::new(); blocks.len()] };
        for (from, to) in edges {
            if let (Ok(from), Ok(to)) = (blocks.binary_search(from), blocks.binary_search(to)) {
                graph.successors[from].push(to);
                graph.predecessors[to].push(from);
            }
        }
        graph
    }

    /// The edges that lead to a block on the depth-first search's own path.
    fn back_edges(&self) -> Vec<(usize, usize)> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            OnPath,
            Done,
        }
        let mut state = vec![State::New; self.successors.len()];
        let mut found = Vec::new();
        let mut path = Vec::new();
        let mut roots = 0..self.successors.len();
        loop {
            if path.is_empty() {
                let Some(root) = roots.find(|&r| state[r] == State::New) else { return found };
                state[root] = State::OnPath;
                path.push((root, 0));
            }
            let Some((block, next)) = path.last_mut() else { continue };
            let block = *block;
            let Some(&to) = self.successors[block].get(*next) else {
                state[block] = State::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match state[to] {
                State::New => {
                    state[to] = State::OnPath;
                    path.push((to, 0));
                }
                State::OnPath => found.push((block, to)),
                State::Done => {}
            }
        }
    }

    /// The blocks from which `latches` are reached without passing the header.
    fn body(&self, header: usize, latches: &[usize]) -> Vec<usize> {
        let mut inside = vec![false; self.successors.len()];
        inside[header] = true;
        let mut body = vec![header];
        let mut work = latches.to_vec();
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut inside[block], true) {
                body.push(block);
                work.extend(&self.predecessors[block]);
            }
        }
        body
    }
}

fn innermost_loops(blocks: &[u32], edges: &[(u32, u32)], end: u32) -> Vec<Loop> {
    let graph = Graph::new(blocks, edges);
    let mut latches: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    graph.back_edges().into_iter().for_each(|(from, to)| latches.entry(to).or_default().push(from));
    let bodies: Vec<(usize, Vec<usize>)> = latches.iter().map(|(&header, from)| (header, graph.body(header, from))).collect();
    let mut depth = vec![0; blocks.len()];
    bodies.iter().flat_map(|(_, body)| body).for_each(|&block| depth[block] += 1);
    let block_end = |block: usize| blocks.get(block + 1).copied().unwrap_or(end);
    let is_innermost = |(header, body): &&(usize, Vec<usize>)| body.iter().all(|&b| depth[b] <= depth[*header]);
    let as_it_lies = |(header, _): &(usize, Vec<usize>)| {
        let start = blocks[*header];
        // Latches far away are handlers.
        let ends = latches[header].iter().map(|&latch| block_end(latch));
        let end = ends.filter(|&e| e > start && e - start <= LONGEST).max().unwrap_or(start + LONGEST);
        Loop { start, end, depth: depth[*header] }
    };
    bodies.iter().filter(is_innermost).map(as_it_lies).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nested loops and a cold block at the end that comes back to the inner one.
    const BLOCKS: [u32; 6] = [0, 20, 50, 70, 90, 100];
    const EDGES: [(u32, u32); 8] = [(0, 20), (20, 50), (50, 70), (50, 100), (100, 70), (70, 50), (70, 90), (90, 20)];

    #[test]
    fn the_inner_loop_is_found() {
        assert_eq!(innermost_loops(&BLOCKS, &EDGES, 110), [Loop { start: 50, end: 90, depth: 2 }]);
    }

    #[test]
    fn the_inner_loop_fits_its_line() {
        for align in [1, 2, 4, 8, 16] {
            let start = best_start(&BLOCKS, &EDGES, 110, align);
            assert_eq!((start % align, (start + 50) / 64), (0, (start + 89) / 64), "aligned to {align}");
        }
        assert_eq!(best_start(&BLOCKS, &EDGES, 110, 64), 0);
    }

    #[test]
    fn straight_code_starts_a_line() {
        assert_eq!(best_start(&[0, 20, 50], &[(0, 20), (0, 50), (20, 50)], 60, 1), 0);
        assert_eq!(start_in_line(&[0x90, 0xc3], 1), 0);
        assert_eq!(start_in_line(&[], 1), 0);
    }

    /// The deeper of two loops counts more than one that is not nested.
    #[test]
    fn the_deeper_loop_wins() {
        let blocks = [0, 10, 70, 80, 144];
        let edges = [(0, 10), (10, 10), (10, 70), (70, 80), (80, 80), (80, 70), (80, 144)];
        let start = best_start(&blocks, &edges, 150, 1);
        assert_eq!((start + 80) % 64, 0);
    }

    #[test]
    fn code_is_decoded() {
        // 0: je 9; 2: inc eax; 4: nop; 5: dec eax; 7: jne 2; 9: jmp 12; 11: nop; 12: ret
        let code = [0x74, 7, 0xff, 0xc0, 0x90, 0xff, 0xc8, 0x75, 0xf9, 0xeb, 1, 0x90, 0xc3];
        let Flow { blocks, edges } = Flow::of(&code);
        assert_eq!(blocks, [0, 2, 9, 11, 12]);
        assert_eq!(edges, [(0, 9), (0, 2), (2, 2), (2, 9), (9, 12), (11, 12)]);
        assert_eq!(innermost_loops(&blocks, &edges, 13), [Loop { start: 2, end: 9, depth: 1 }]);
    }
}
