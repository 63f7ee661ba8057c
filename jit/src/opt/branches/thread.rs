//! Branches whose outcome is known: where they stand, or on some of the ways to them.
//!
//! In: a function. Out: the same in which a branch that dominating branches decide is none, and ways into a block that decides nothing for them lead to a copy of it without the branch (jump threading): so a truth value that was put
//! together over several blocks, or a result that is compared with a constant, is never looked at where it is certain.
//! A walk down the dominator tree with [`Facts`]; each edge is looked at with what it tells and the arguments it passes. SSA form is repaired once after.
//!
//! Invariants: blocks are copied only up to [`COPIED`] instructions, none that calls, allocates or polls; never through a loop's header, where what is known on the way back would be of the round before, nor from outside of a loop to
//! its header: loops keep their entries.

use super::Shape;
use super::facts::Facts;
use crate::ir::copy::copy_region;
use crate::ir::dominators::Visit;
use crate::ir::repair::Repair;
use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::EntitySet;
use std::collections::BTreeMap;

/// Instructions of a block that may be copied, constants not counted.
const COPIED: usize = 6;

/// Parameters of such a block.
const PARAMS: usize = 32;

/// Instructions that one run copies.
const BUDGET: usize = 400;

/// Whether anything changed.
pub(super) fn run(func: &mut Function, shape: &Shape) -> bool {
    let Plan { constants, decided, threads } = Walk { func, shape, facts: Facts::default(), plan: Plan::default() }.run();
    if constants.is_empty() && decided.is_empty() && threads.is_empty() {
        return false;
    }
    constants.into_iter().for_each(|(inst, holds)| func.insts[inst].op = Op::BConst(holds));
    let copied = thread(func, &threads, &decided);
    for (block, edge) in decided {
        jump(func, block, edge);
    }
    match copied {
        Some(repair) => repair.run(func),
        None => func.rewrite(&Aliases::default()),
    }
    true
}

/// The block goes the way of one of its edges.
fn jump(func: &mut Function, block: Block, edge: usize) {
    let terminator = func.blocks[block].terminator.as_ref().expect("a finished block");
    let to = terminator.edges().nth(edge).expect("an edge of the terminator").clone();
    func.blocks[block].terminator = Some(Terminator::Jump(to));
}

/// Leads edges to copies that go one way; `None` if there are none.
fn thread(func: &mut Function, threads: &BTreeMap<(Block, usize), Vec<(Block, usize)>>, decided: &[(Block, usize)]) -> Option<Repair> {
    let mut has_one_way = EntitySet::with_capacity(func.blocks.len());
    has_one_way.extend(decided.iter().map(|d| d.0));
    let mut repair = None;
    let mut budget = BUDGET;
    for (&(through, way), from) in threads.iter().filter(|((through, _), _)| !has_one_way.contains(*through)) {
        let size = func.blocks[through].insts.len();
        let Some(left) = budget.checked_sub(size) else { break };
        budget = left;
        let copy = copy_region(func, &[through]);
        let new = copy.block(through);
        jump(func, new, way);
        for &(pred, edge) in from {
            let terminator = func.blocks[pred].terminator.as_mut().expect("a finished block");
            terminator.edge_mut(edge).expect("an edge of the terminator").block = new;
        }
        repair.get_or_insert_with(Repair::default).copied(func, &copy);
    }
    repair
}

#[derive(Default)]
struct Plan {
    /// Comparisons that always give this.
    constants: Vec<(Inst, bool)>,
    /// Blocks that always go this way.
    decided: Vec<(Block, usize)>,
    /// By block and the way it goes: the edges that know so, as block and position.
    threads: BTreeMap<(Block, usize), Vec<(Block, usize)>>,
}

/// What an operand is on some way.
#[derive(Clone, Copy)]
enum Operand {
    Open(Value),
    /// A number, a truth value, or null as 0.
    Slot(u64),
}

struct Walk<'a> {
    func: &'a Function,
    shape: &'a Shape,
    facts: Facts,
    plan: Plan,
}

impl<'a> Walk<'a> {
    fn run(mut self) -> Plan {
        let mut marks = Vec::new();
        for visit in self.shape.dominators.walk() {
            match visit {
                Visit::Enter(block) => {
                    marks.push(self.facts.mark());
                    self.enter(block);
                }
                Visit::Leave(_) => self.facts.undo(marks.pop().expect("entered before")),
            }
        }
        self.plan
    }

    fn enter(&mut self, block: Block) {
        let func = self.func;
        if let &[pred] = self.shape.preds[block].as_slice() {
            let terminator = self.terminator(pred);
            let edge = terminator.edges().position(|e| e.block == block).expect("a predecessor has an edge");
            self.facts.learn_edge(func, &self.shape.defs, terminator, edge);
        }
        for &inst in &func.blocks[block].insts {
            if let op @ Op::ICmp(..) = &func.insts[inst].op
                && let Some(Operand::Slot(slot)) = self.evaluate(op, &[])
            {
                self.plan.constants.push((inst, slot != 0));
            }
        }
        let terminator = self.terminator(block);
        if let Some(way) = self.way(terminator, &[]) {
            self.plan.decided.push((block, way));
            return;
        }
        for (i, edge) in terminator.edges().enumerate() {
            self.edge(block, terminator, i, edge);
        }
    }

    fn terminator(&self, block: Block) -> &'a Terminator {
        self.func.blocks[block].terminator.as_ref().expect("a finished block")
    }

    /// Looks whether the edge's target knows where to go when control comes this way.
    fn edge(&mut self, from: Block, terminator: &Terminator, index: usize, edge: &BlockCall) {
        let through = edge.block;
        if self.shape.preds[through].len() < 2 || !self.may_copy(through) {
            return;
        }
        let mark = self.facts.mark();
        self.facts.learn_edge(self.func, &self.shape.defs, terminator, index);
        let way = self.way_through(edge);
        self.facts.undo(mark);
        let Some(way) = way else { return };
        let target = self.terminator(through).edges().nth(way).expect("a way of the terminator").block;
        if !self.enters_loop(through, target) {
            self.plan.threads.entry((through, way)).or_default().push((from, index));
        }
    }

    fn enters_loop(&self, from: Block, to: Block) -> bool {
        self.shape.headers.contains(to) && self.shape.loops.around(to).is_some_and(|l| !self.shape.loops.contains(l, from))
    }

    fn may_copy(&self, block: Block) -> bool {
        let data = &self.func.blocks[block];
        let ops = || data.insts.iter().map(|&i| &self.func.insts[i].op);
        matches!(data.terminator, Some(Terminator::Branch { .. } | Terminator::Switch { .. }))
            && !self.shape.headers.contains(block)
            && data.params.len() <= PARAMS
            && ops().filter(|op| !op.is_constant()).take(COPIED + 1).count() <= COPIED
            && !ops().any(Op::is_safepoint)
    }

    fn way_through(&self, edge: &BlockCall) -> Option<usize> {
        let data = &self.func.blocks[edge.block];
        let own = &data.params[data.params.len() - edge.args.len()..];
        let mut known: Vec<(Value, Operand)> = own.iter().zip(&edge.args).map(|(&param, &arg)| (param, self.resolve(arg, &[]))).collect();
        for &inst in &data.insts {
            let InstData { op, result, .. } = &self.func.insts[inst];
            if let (Some(result), Some(value)) = (*result, self.evaluate(op, &known)) {
                known.push((result, value));
            }
        }
        self.way(self.terminator(edge.block), &known)
    }

    /// The way that a terminator goes.
    fn way(&self, terminator: &Terminator, known: &[(Value, Operand)]) -> Option<usize> {
        match terminator {
            Terminator::Branch { cond, .. } => match self.resolve(*cond, known) {
                Operand::Slot(slot) => Some(usize::from(slot == 0)),
                Operand::Open(_) => None,
            },
            Terminator::Switch { index, targets, .. } => match self.resolve(*index, known) {
                Operand::Slot(slot) => Some(usize::try_from(slot).map_or(targets.len(), |case| case.min(targets.len()))),
                Operand::Open(_) => None,
            },
            _ => None,
        }
    }

    fn resolve(&self, value: Value, known: &[(Value, Operand)]) -> Operand {
        let value = match known.iter().find(|k| k.0 == value) {
            Some((_, Operand::Open(stands_for))) => *stands_for,
            Some((_, slot)) => return *slot,
            None => value,
        };
        let slot = match self.shape.defs.op(self.func, value) {
            Some(Op::IConst(n)) => Some(*n as u64),
            Some(Op::FConst(bits)) => Some(*bits),
            Some(Op::BConst(b)) => Some(u64::from(*b)),
            Some(Op::Null) => Some(0),
            _ => match self.func.values[value] {
                Ty::Bool => self.facts.bool(value).map(u64::from),
                Ty::Int => self.facts.int(value).map(|n| n as u64),
                Ty::Float | Ty::Ref => None,
            },
        };
        slot.map_or(Operand::Open(value), Operand::Slot)
    }

    fn evaluate(&self, op: &Op, known: &[(Value, Operand)]) -> Option<Operand> {
        use Operand::{Open, Slot};
        let of = |v| self.resolve(v, known);
        let bool = |b: bool| Some(Slot(u64::from(b)));
        match *op {
            Op::IConst(n) => Some(Slot(n as u64)),
            Op::FConst(bits) => Some(Slot(bits)),
            Op::BConst(b) => bool(b),
            Op::Null => Some(Slot(0)),
            Op::Unary(op, a) => match of(a) {
                Slot(slot) => Some(Slot(eval::unary(op, slot))),
                Open(_) => None,
            },
            Op::Binary(op, a, b) => match (op, of(a), of(b)) {
                (_, Slot(a), Slot(b)) => eval::binary(op, a, b).map(Slot),
                (BinaryOp::BAnd, Slot(0), _) | (BinaryOp::BAnd, _, Slot(0)) => bool(false),
                (BinaryOp::BOr, Slot(1), _) | (BinaryOp::BOr, _, Slot(1)) => bool(true),
                (BinaryOp::BAnd, Slot(1), other) | (BinaryOp::BAnd, other, Slot(1)) => Some(other),
                (BinaryOp::BOr, Slot(0), other) | (BinaryOp::BOr, other, Slot(0)) => Some(other),
                _ => None,
            },
            Op::ICmp(cmp, a, b) => match (of(a), of(b)) {
                (Slot(a), Slot(b)) => bool(eval::int_cmp(cmp, a, b)),
                (Open(a), Slot(c)) => self.facts.compare_const(cmp, a, c as i64).and_then(bool),
                (Slot(c), Open(b)) => self.facts.compare_const(cmp.swapped()?, b, c as i64).and_then(bool),
                (Open(a), Open(b)) => self.facts.compare(cmp, a, b).and_then(bool),
            },
            Op::FCmp(cmp, a, b) => match (of(a), of(b)) {
                (Slot(a), Slot(b)) => bool(eval::float_cmp(cmp, a, b)),
                _ => None,
            },
            Op::RefEq(a, b) => match (of(a), of(b)) {
                (Slot(_), Slot(_)) => bool(true),
                (Open(a), Open(b)) if a == b => bool(true),
                (Open(v), Slot(_)) | (Slot(_), Open(v)) => self.is_null(v).and_then(bool),
                _ => None,
            },
            Op::Select { cond, then, els } => match of(cond) {
                Slot(slot) => Some(of(if slot != 0 { then } else { els })),
                Open(_) => None,
            },
            _ => None,
        }
    }

    fn is_null(&self, value: Value) -> Option<bool> {
        match self.shape.defs.op(self.func, value) {
            Some(Op::New(_) | Op::NewArray(..) | Op::StrConst(_) | Op::NullCheck(_) | Op::CheckCast(..)) => Some(false),
            _ => self.facts.compare_const(IntCmp::Eq, value, 0),
        }
    }
}
