//! Where each object is needed as an object: on which ways, from where on.
//!
//! In: [`Objects`]. Out ([`Flow`]): for each object the blocks at whose start it is live, in which of them it exists in memory already, and where it first must. An object is virtual from its birth; from where it escapes it is real, and
//! stays so: where ways meet and it is real on one, the others make it real on their edge. (L. Stadler, T. Würthinger, H. Mössenböck, "Partial Escape Analysis and Scalar Replacement for Java", CGO 2014, with the states solved
//! as a dataflow problem first, so that loops need no second look.)
//! Rare calls that only borrow an object are no reason for it to be real elsewhere: it is so in the rare code around them, and virtual again where that comes back to other code.
//!
//! Invariants: nobody but the function knows a lent object where it becomes virtual again. A parameter that is an object of its own is virtual at its birth: every object that comes in is virtual on its edge and is not used under its old name behind it. Where that cannot be, [`Flow::refused`] names it.

use super::objects::{Birth, Need, ObjectId, Objects, terminator};
use crate::ir::*;
use crate::opt::analysis::loops::{Predecessors, predecessors};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};

/// Pairs of an object and a block at whose start it is live, in one function; objects for which there is no room are not looked at.
const MAX_LIVE: usize = 50_000;

/// Where an edge stands: its block and its number there.
pub type Edge = (Block, usize);

/// What an object is at some point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Values.
    Virtual,
    /// An object that only this function knows.
    Lent,
    /// An object.
    Real,
}

/// What is known of one object.
#[derive(Default)]
pub struct Way {
    /// Blocks at whose start it is live; what it is there.
    pub live: FxHashMap<Block, State>,
    /// Blocks with calls that borrow it.
    pub borrowed: EntitySet<Block>,
    /// Blocks in which it becomes virtual again, once there are blocks for that on edges.
    pub back: EntitySet<Block>,
    /// By block the first operation that keeps it; the terminator counts as the last.
    pub escapes: FxHashMap<Block, usize>,
    /// Edges, of several of their block, that give it to something that is no object.
    pub given: FxHashSet<Edge>,
    /// Edges that give it to a parameter which is an object of its own.
    pub passed: Vec<(Edge, ObjectId)>,
}

pub struct Flow {
    pub ways: PrimaryMap<ObjectId, Way>,
    /// Allocations and parameters that the analysis can say nothing of; it must start again without them.
    pub refused: FxHashSet<Birth>,
}

impl Way {
    pub fn at_end(&self, block: Block) -> State {
        if self.escapes.contains_key(&block) { State::Real } else { self.at_start(block) }
    }

    /// Virtual where it is not live.
    fn at_start(&self, block: Block) -> State {
        self.live.get(&block).copied().unwrap_or(State::Virtual)
    }

    /// Whether it is virtual when the operation at `position` is executed.
    pub fn is_virtual_at(&self, block: Block, position: usize) -> bool {
        self.at_start(block) == State::Virtual && self.escapes.get(&block).is_none_or(|&first| position < first)
    }

    /// Blocks in which it may be virtual at the end: that of its birth, and those at whose start it is live.
    pub fn blocks(&self, birth: Block) -> impl Iterator<Item = Block> {
        self.live.keys().copied().chain((!self.live.contains_key(&birth)).then_some(birth))
    }

    /// Whether it becomes real inside of a block.
    pub fn escapes_in(&self, block: Block) -> bool {
        self.at_start(block) == State::Virtual && self.escapes.contains_key(&block)
    }

    pub fn is_lent(&self) -> bool {
        self.live.values().any(|&state| state == State::Lent)
    }

    /// Whether it must be made real on an edge to `to`.
    pub fn escapes_on(&self, edge: Edge, to: Block) -> bool {
        self.at_end(edge.0) == State::Virtual && (self.given.contains(&edge) || self.at_start(to) != State::Virtual)
    }

    /// Whether it becomes virtual again on an edge to `to`.
    pub fn comes_back_on(&self, edge: Edge, to: Block) -> bool {
        self.at_end(edge.0) == State::Lent && self.live.get(&to) == Some(&State::Virtual)
    }
}

impl Flow {
    pub fn new(func: &Function, objects: &Objects<'_>) -> Flow {
        let mut flow = Flow { ways: objects.objects.values().map(|_| Way::default()).collect(), refused: FxHashSet::default() };
        let uses = flow.collect_uses(func, objects);
        let preds = predecessors(func);
        flow.find_live(&preds, objects, uses);
        for (id, _) in objects.live() {
            flow.spread(func, id);
            flow.lend(func, &preds, objects, id);
        }
        flow.refuse_unsound(func, objects);
        flow
    }

    /// Fills in how it is used; gives for each object the blocks that use it.
    fn collect_uses(&mut self, func: &Function, objects: &Objects<'_>) -> SecondaryMap<ObjectId, EntitySet<Block>> {
        let mut uses: SecondaryMap<ObjectId, EntitySet<Block>> = SecondaryMap::with_capacity(objects.objects.len());
        for &block in objects.blocks {
            let data = &func.blocks[block];
            let mut used = |value: Value| {
                if let Some(id) = objects.of(value) {
                    uses[id].insert(block);
                }
            };
            for &inst in &data.insts {
                func.insts[inst].op.for_each_arg(&mut used);
            }
            let terminator = terminator(func, block);
            terminator.for_each_operand(&mut used);
            for (position, &inst) in data.insts.iter().enumerate() {
                objects.for_each_needed(func, inst, |id, need| match need {
                    Need::Keeps => self.escape(id, block, position),
                    Need::Borrows => _ = self.ways[id].borrowed.insert(block),
                });
            }
            let end = data.insts.len();
            terminator.for_each_operand(|v| objects.of(v).into_iter().for_each(|id| self.escape(id, block, end)));
            let mut index = 0;
            terminator.for_each_edge(|edge| {
                let params = &func.blocks[edge.block].params;
                let own = params.len() - edge.args.len();
                for (i, &param) in params.iter().enumerate() {
                    let given = if i >= own { objects.of(edge.args[i - own]) } else { objects.of_try(block).filter(|_| index == 0) };
                    let Some(id) = given else { continue };
                    match objects.of(param) {
                        // Another name of the same object, which has its own uses.
                        Some(to) if to == id && objects.objects[id].birth != Birth::Param(param) => continue,
                        Some(to) => self.ways[id].passed.push(((block, index), to)),
                        None if matches!(terminator, Terminator::Jump(_)) => self.escape(id, block, end),
                        None => _ = self.ways[id].given.insert((block, index)),
                    }
                    uses[id].insert(block);
                }
                index += 1;
            });
        }
        uses
    }

    fn escape(&mut self, id: ObjectId, block: Block, position: usize) {
        let first = self.ways[id].escapes.entry(block).or_insert(position);
        *first = position.min(*first);
    }

    /// From uses backwards to the birth.
    fn find_live(&mut self, preds: &Predecessors, objects: &Objects<'_>, uses: SecondaryMap<ObjectId, EntitySet<Block>>) {
        let mut room = MAX_LIVE;
        for (id, object) in objects.live() {
            let mut work: Vec<Block> = uses[id].iter().collect();
            let live = &mut self.ways[id].live;
            while let Some(block) = work.pop() {
                if block != object.block && live.insert(block, State::Virtual).is_none() {
                    work.extend(&preds[block]);
                }
                if live.len() > room {
                    self.refused.insert(object.birth);
                    break;
                }
            }
            room = room.saturating_sub(live.len());
        }
    }

    /// Carries "real" forward.
    fn spread(&mut self, func: &Function, id: ObjectId) {
        let way = &mut self.ways[id];
        let mut work: Vec<Block> = way.escapes.keys().copied().collect();
        for &(block, index) in &way.given {
            let to = target(func, (block, index));
            if let Some(state @ State::Virtual) = way.live.get_mut(&to) {
                *state = State::Real;
                work.push(to);
            }
        }
        while let Some(block) = work.pop() {
            terminator(func, block).for_each_edge(|edge| {
                if let Some(state @ State::Virtual) = way.live.get_mut(&edge.block) {
                    *state = State::Real;
                    work.push(edge.block);
                }
            });
        }
    }

    /// Carries "lent" through the rare code around calls that borrow the object: back to where control comes in, so that it becomes real there once, and forward to where it leaves.
    fn lend(&mut self, func: &Function, preds: &Predecessors, objects: &Objects<'_>, id: ObjectId) {
        let way = &mut self.ways[id];
        let mut lend = |block: Block| match way.live.get_mut(&block) {
            Some(state @ State::Virtual) if objects.rare.has(block) => {
                *state = State::Lent;
                true
            }
            _ => false,
        };
        let mut work: Vec<Block> = way.borrowed.iter().filter(|&block| lend(block)).collect();
        let mut lent = Vec::new();
        while let Some(block) = work.pop() {
            lent.push(block);
            work.extend(preds[block].iter().copied().filter(|&pred| lend(pred)));
        }
        while let Some(block) = lent.pop() {
            terminator(func, block).for_each_edge(|edge| {
                if lend(edge.block) {
                    lent.push(edge.block);
                }
            });
        }
    }

    /// Parameters that cannot be objects of their own, and objects that cannot come in since they are lent.
    fn refuse_unsound(&mut self, func: &Function, objects: &Objects<'_>) {
        for (id, object) in objects.live() {
            let way = &self.ways[id];
            let mut edges: FxHashSet<Edge> = FxHashSet::default();
            for &(edge, to) in &way.passed {
                let is_known_behind = way.live.contains_key(&target(func, edge));
                if way.at_end(edge.0) == State::Lent {
                    self.refused.insert(object.birth);
                } else if way.at_end(edge.0) == State::Real || way.given.contains(&edge) || is_known_behind || !edges.insert(edge) {
                    self.refused.insert(objects.objects[to].birth);
                }
            }
        }
    }
}

pub fn target(func: &Function, edge: Edge) -> Block {
    let mut targets = Vec::new();
    terminator(func, edge.0).for_each_edge(|e| targets.push(e.block));
    targets[edge.1]
}
