//! Multiplications of induction variables become additions (F. Allen, J. Cocke, K. Kennedy, "Reduction of Operator Strength", 1981): `i * n + j` of an inner loop is one value that grows by `step * n` a round.
//!
//! In: innermost loops with induction variables. Out: for each product `(i + c) * n` of one of them, or product plus `j`, that every round computes (`n`, `j` do not change in the loop) a parameter of the header, which takes its place.
//! `Int` wraps, and modulo 2^64 the sum is the product, also where the variable overflows.
//!
//! Factors that an address mode or `lea` takes for nothing stay. No more than [`LIMIT`] induction variables a loop, as each takes a register. Only numbers are reduced, never addresses: no pointer into an object would survive a safepoint.

use super::Context;
use super::analysis::defs::{Def, Defs};
use super::analysis::induction::{Facts, Induction, Step};
use super::analysis::loops::{LoopId, Loops, predecessors};
use crate::ir::dominators::Dominators;
use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::EntitySet;

const LIMIT: usize = 4;

pub fn run(func: &mut Function, _cx: &Context<'_>) -> bool {
    let products = find(func);
    let mut aliases = Aliases::default();
    for product in &products {
        product.reduce(func, &mut aliases);
    }
    if !products.is_empty() {
        func.rewrite(&aliases);
    }
    !products.is_empty()
}

/// `(induction + offset) * factor`, with `plus` added or taken away.
struct Product {
    /// The result that goes, and its instruction.
    of: Value,
    at: (Block, Inst),
    start: Value,
    step: Step,
    offset: i64,
    factor: Value,
    plus: Option<(BinaryOp, Value)>,
    header: Block,
    above: Block,
    /// Of the header: inside of the loop or not.
    preds: Vec<(Block, bool)>,
    loc: Loc,
}

fn find(func: &Function) -> Vec<Product> {
    let dominators = Dominators::new(func);
    let loops = Loops::new(func, &dominators);
    let mut products = Vec::new();
    if loops.loops.is_empty() {
        return products;
    }
    let (preds, defs) = (predecessors(func), Defs::new(func));
    let facts = Facts { func, preds: &preds, dominators: &dominators, loops: &loops, defs: &defs };
    let mut has_inner: EntitySet<LoopId> = EntitySet::with_capacity(loops.loops.len());
    for (id, of) in loops.loops.iter() {
        of.parent.expand().into_iter().for_each(|parent| _ = has_inner.insert(parent));
        if !has_inner.contains(id) {
            find_in(&facts, id, &mut products);
        }
    }
    products
}

fn find_in(facts: &Facts<'_>, id: LoopId, products: &mut Vec<Product>) {
    let of = &facts.loops.loops[id];
    let inductions = facts.inductions(id);
    if inductions.is_empty() || inductions.len() >= LIMIT {
        return;
    }
    let every_round = of.blocks.iter().filter(|&&b| of.latches.iter().all(|&latch| facts.dominators.dominates(b, latch)));
    let insts = every_round.flat_map(|&b| facts.func.blocks[b].insts.iter().map(move |&i| (b, i)));
    let mut found: Vec<Product> = insts.filter_map(|at| product(facts, id, &inductions, at)).collect();
    // A product that only a sum needs is reduced with the sum.
    let covered: Vec<Value> = found.iter().filter(|p| p.plus.is_some()).map(|p| p.of).collect();
    found.retain(|p| p.plus.is_some() || !is_part(facts, p.of, &covered));
    found.truncate(LIMIT - inductions.len());
    products.extend(found);
}

/// Whether the value is used once, in one of `sums`.
fn is_part(facts: &Facts<'_>, value: Value, sums: &[Value]) -> bool {
    let mut found = false;
    for &sum in sums {
        facts.defs.op(facts.func, sum).into_iter().for_each(|op| op.for_each_arg(|v| found |= v == value));
    }
    found && facts.defs.uses(value) == 1
}

fn product(facts: &Facts<'_>, id: LoopId, inductions: &[Induction], at: (Block, Inst)) -> Option<Product> {
    let InstData { op, result, loc } = &facts.func.insts[at.1];
    let &Op::Binary(binary, a, b) = op else { return None };
    let (a, plus) = match binary {
        BinaryOp::IMul => (result.as_ref().copied()?, None),
        BinaryOp::IAdd if facts.is_invariant(id, a) => (b, Some((binary, a))),
        BinaryOp::IAdd | BinaryOp::ISub if facts.is_invariant(id, b) => (a, Some((binary, b))),
        _ => return None,
    };
    let &Op::Binary(BinaryOp::IMul, x, y) = facts.defs.op(facts.func, a)? else { return None };
    // Where others use the product too, it stays, and the sum is cheap.
    if plus.is_some() && facts.defs.uses(a) > 1 {
        return None;
    }
    let (variable, factor) = if facts.is_invariant(id, y) { (x, y) } else { (y, x) };
    if !facts.is_invariant(id, factor) || facts.defs.int_const(facts.func, factor).is_some_and(is_cheap) {
        return None;
    }
    if ![Some(factor), plus.map(|(_, v)| v)].into_iter().flatten().all(|v| is_above(facts, id, v)) {
        return None;
    }
    let (base, offset) = facts.split_const(variable);
    let induction = inductions.iter().find(|i| i.param == base)?;
    let header = facts.loops.loops[id].header;
    let mut preds: Vec<(Block, bool)> = facts.preds[header].iter().map(|&p| (p, facts.loops.contains(id, p))).collect();
    preds.dedup();
    let Induction { step, .. } = *induction;
    let above = facts.dominators.idom(header)?;
    Some(Product { of: (*result)?, at, start: induction.start()?, step, offset, factor, plus, header, above, preds, loc: *loc })
}

/// The value is there before the loop; a constant may stand inside.
fn is_above(facts: &Facts<'_>, id: LoopId, value: Value) -> bool {
    match facts.defs.def(value) {
        Def::Inst(block, _) | Def::Param(block, _) => !facts.loops.contains(id, block),
        Def::None => false,
    }
}

/// One `lea` or shift, or part of an address.
fn is_cheap(factor: i64) -> bool {
    matches!(factor, -1 | 3 | 5 | 9) || factor.count_ones() <= 1
}

impl Product {
    fn reduce(&self, func: &mut Function, aliases: &mut Aliases) {
        let param = func.values.push(Ty::Int);
        func.blocks[self.header].params.push(param);
        let growth = self.growth(func);
        for &(pred, inside) in &self.preds {
            let arg = if inside { self.push(func, pred, Op::Binary(BinaryOp::IAdd, param, growth)) } else { self.first(func, pred) };
            func.blocks[pred].terminator.as_mut().expect("a finished block").for_each_edge_mut(|edge| {
                if edge.block == self.header {
                    edge.args.push(arg);
                }
            });
        }
        let (block, inst) = self.at;
        func.blocks[block].insts.retain(|&i| i != inst);
        aliases.replace(self.of, param);
    }

    /// `step * factor`, computed before the loop.
    fn growth(&self, func: &mut Function) -> Value {
        let step = match self.step {
            Step::Const(1) => return self.factor,
            Step::Const(-1) => return self.push(func, self.above, Op::Unary(UnaryOp::INeg, self.factor)),
            Step::Const(step) => self.push(func, self.above, Op::IConst(step)),
            Step::Invariant(step) => step,
        };
        self.push(func, self.above, Op::Binary(BinaryOp::IMul, step, self.factor))
    }

    /// What the value is in the first round.
    fn first(&self, func: &mut Function, pred: Block) -> Value {
        let mut start = self.start;
        if self.offset != 0 {
            let offset = self.push(func, pred, Op::IConst(self.offset));
            start = self.push(func, pred, Op::Binary(BinaryOp::IAdd, start, offset));
        }
        let product = self.push(func, pred, Op::Binary(BinaryOp::IMul, start, self.factor));
        self.plus.map_or(product, |(op, plus)| self.push(func, pred, Op::Binary(op, product, plus)))
    }

    /// Appends to a block.
    fn push(&self, func: &mut Function, block: Block, op: Op) -> Value {
        let result = func.values.push(Ty::Int);
        let inst = func.insts.push(InstData { op, result: Some(result), loc: self.loc });
        func.blocks[block].insts.push(inst);
        result
    }
}
