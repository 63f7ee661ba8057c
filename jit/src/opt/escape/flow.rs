//! Where each object is needed as an object: on which ways, from where on.
//!
//! In: [`Objects`]. Out ([`Flow`]): for each object the blocks at whose start it is live, in which of them it exists in memory already, and where it first must. An object is virtual from its birth; from where it escapes it is real, and
//! stays so: where ways meet and it is real on one, the others make it real on their edge. (L. Stadler, T. Würthinger, H. Mössenböck, "Partial Escape Analysis and Scalar Replacement for Java", CGO 2014, with the states solved
//! as a dataflow problem first, so that loops need no second look.)
//!
//! Invariants: a parameter that is an object of its own is virtual at its birth: every object that comes in is virtual on its edge and is not used under its old name behind it. Where that cannot be, [`Flow::refused`] names it.

use super::objects::{Birth, ObjectId, Objects, terminator};
use crate::ir::*;
use crate::opt::analysis::loops::predecessors;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};

/// Pairs of an object and a block at whose start it is live, in one function; objects for which there is no room are not looked at.
const MAX_LIVE: usize = 50_000;

/// Where an edge stands: its block and its number there.
pub type Edge = (Block, usize);

/// What is known of one object.
#[derive(Default)]
pub struct Way {
    /// Blocks at whose start it is live; whether it is real there.
    pub live: FxHashMap<Block, bool>,
    /// By block the first operation that needs it real; the terminator counts as the last.
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
    pub fn is_real_at_end(&self, block: Block) -> bool {
        self.escapes.contains_key(&block) || self.live.get(&block) == Some(&true)
    }

    /// Whether it is virtual when the operation at `position` is executed.
    pub fn is_virtual_at(&self, block: Block, position: usize) -> bool {
        self.live.get(&block) != Some(&true) && self.escapes.get(&block).is_none_or(|&first| position < first)
    }

    /// Blocks in which it may be virtual at the end: that of its birth, and those at whose start it is live.
    pub fn blocks(&self, birth: Block) -> impl Iterator<Item = Block> {
        self.live.keys().copied().chain((!self.live.contains_key(&birth)).then_some(birth))
    }

    /// Whether it becomes real inside of a block.
    pub fn escapes_in(&self, block: Block) -> bool {
        self.live.get(&block) != Some(&true) && self.escapes.contains_key(&block)
    }

    /// Whether it must be made real on an edge to `to`.
    pub fn escapes_on(&self, edge: Edge, to: Block) -> bool {
        !self.is_real_at_end(edge.0) && (self.given.contains(&edge) || self.live.get(&to) == Some(&true))
    }
}

impl Flow {
    pub fn new(func: &Function, objects: &Objects<'_>) -> Flow {
        let mut flow = Flow { ways: objects.objects.values().map(|_| Way::default()).collect(), refused: FxHashSet::default() };
        let uses = flow.collect_uses(func, objects);
        flow.find_live(func, objects, uses);
        for (id, _) in objects.live() {
            flow.spread(func, id);
        }
        flow.refuse_unsound(func, objects);
        flow
    }

    /// Fills in everything but `live`; gives for each object the blocks that use it.
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
                objects.for_each_escaping(func, &func.insts[inst].op, |id| self.escape(id, block, position));
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
    fn find_live(&mut self, func: &Function, objects: &Objects<'_>, uses: SecondaryMap<ObjectId, EntitySet<Block>>) {
        let preds = predecessors(func);
        let mut room = MAX_LIVE;
        for (id, object) in objects.live() {
            let mut work: Vec<Block> = uses[id].iter().collect();
            let live = &mut self.ways[id].live;
            while let Some(block) = work.pop() {
                if block != object.block && live.insert(block, false).is_none() {
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
            if way.live.get(&to) == Some(&false) {
                way.live.insert(to, true);
                work.push(to);
            }
        }
        while let Some(block) = work.pop() {
            terminator(func, block).for_each_edge(|edge| {
                if let Some(real @ false) = way.live.get_mut(&edge.block) {
                    *real = true;
                    work.push(edge.block);
                }
            });
        }
    }

    /// Parameters that cannot be objects of their own.
    fn refuse_unsound(&mut self, func: &Function, objects: &Objects<'_>) {
        for (id, _) in objects.live() {
            let way = &self.ways[id];
            let mut edges: FxHashSet<Edge> = FxHashSet::default();
            for &(edge, to) in &way.passed {
                let is_known_behind = way.live.contains_key(&target(func, edge));
                if way.is_real_at_end(edge.0) || way.given.contains(&edge) || is_known_behind || !edges.insert(edge) {
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
