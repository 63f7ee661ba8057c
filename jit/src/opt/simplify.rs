//! One operation at a time: constants folded, algebra, questions about objects whose origin is known, block parameters that always have one value.
//!
//! In: a function. Out: the same with operations that are cheaper, or in the one form that other passes look for: a constant operand stands right, `isub x, c` is `iadd x, -c`.
//! Operations are visited in an order in which definitions come before uses, so one round sees every operand in its final form, but for block parameters; a few more rounds settle these.
//!
//! Invariants: every rule gives an operation that no rule leads back from; nothing is computed that the replaced operation would not have computed or thrown; a NaN may become another NaN, which no program can tell.
//! Rules look a fixed number of operands deep.

mod bools;
mod compares;
mod floats;
mod ints;
mod objects;
mod params;
mod range;

use super::Context;
use crate::ir::dominators::preorder;
use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// What one round finds for block parameters may simplify more in the next.
const ROUNDS: usize = 4;

/// Rules that are applied to one operation in a row: a bound in case they chase each other.
const STEPS: usize = 16;

pub fn run(func: &mut Function, cx: &Context<'_>) -> bool {
    let mut changed = false;
    for round in 0..ROUNDS {
        let mut aliases = Aliases::default();
        let copies = super::params::simplify(func, &mut aliases);
        let params = copies | params::replace_constants(func, &mut aliases);
        if round > 0 && !params {
            break;
        }
        changed |= self::round(func, cx, aliases, params);
    }
    changed
}

/// `aliases`: what block parameters stand for that went away; `changed`: whether any did.
fn round(func: &mut Function, cx: &Context<'_>, aliases: Aliases, changed: bool) -> bool {
    let order = preorder(func);
    let mut defs = SecondaryMap::with_capacity(func.values.len());
    for &inst in order.iter().flat_map(|&b| &func.blocks[b].insts) {
        func.insts[inst].result.iter().for_each(|&result| defs[result] = inst.into());
    }
    let mut simplifier = Simplifier { func, module: cx.module, defs, changed, aliases, out: Vec::new(), loc: Loc::default() };
    order.into_iter().for_each(|block| simplifier.block(block));
    let Simplifier { changed, aliases, .. } = simplifier;
    if changed {
        func.drop_params(|p| aliases.is_replaced(p));
        func.rewrite(&aliases);
    }
    changed
}

/// What an operation becomes.
enum Reduced {
    Value(Value),
    Op(Op),
}

/// What a rule says; `None` where it does not apply.
type Rule = Option<Reduced>;

fn value(value: Value) -> Rule {
    Some(Reduced::Value(value))
}

fn op(op: Op) -> Rule {
    Some(Reduced::Op(op))
}

fn int(n: i64) -> Rule {
    op(Op::IConst(n))
}

fn bool(b: bool) -> Rule {
    op(Op::BConst(b))
}

struct Simplifier<'a> {
    func: &'a mut Function,
    module: &'a Module,
    aliases: Aliases,
    /// The operation that computes each value.
    defs: SecondaryMap<Value, PackedOption<Inst>>,
    /// What the block that is worked on consists of so far.
    out: Vec<Inst>,
    /// Of the operation that is worked on.
    loc: Loc,
    changed: bool,
}

impl Simplifier<'_> {
    fn block(&mut self, block: Block) {
        for inst in std::mem::take(&mut self.func.blocks[block].insts) {
            self.inst(inst);
        }
        let mut terminator = self.func.blocks[block].terminator.take().expect("a finished block");
        terminator.for_each_arg_mut(|v| *v = self.aliases.find(*v));
        self.loc = self.func.blocks[block].terminator_loc;
        let terminator = self.terminator(terminator);
        let data = &mut self.func.blocks[block];
        data.terminator = Some(terminator);
        data.insts = std::mem::take(&mut self.out);
    }

    fn inst(&mut self, inst: Inst) {
        self.loc = self.func.insts[inst].loc;
        // The place is filled again below.
        let mut old = std::mem::replace(&mut self.func.insts[inst].op, Op::Poll);
        old.for_each_arg_mut(|v| *v = self.aliases.find(*v));
        let result = self.func.insts[inst].result;
        match (self.reduce(old), result) {
            (Reduced::Op(new), _) => self.func.insts[inst].op = new,
            (Reduced::Value(by), Some(result)) => {
                self.changed = true;
                return self.aliases.replace(result, by);
            }
            (Reduced::Value(_), None) => unreachable!("what has no result is no value"),
        }
        self.out.push(inst);
    }

    /// Applies rules until none applies.
    fn reduce(&mut self, mut op: Op) -> Reduced {
        for _ in 0..STEPS {
            match self.rule(&op) {
                None => break,
                Some(Reduced::Op(next)) => op = next,
                Some(Reduced::Value(value)) => return Reduced::Value(value),
            }
            self.changed = true;
        }
        Reduced::Op(op)
    }

    fn rule(&mut self, op: &Op) -> Rule {
        match *op {
            Op::Unary(op, a) => self.unary(op, a),
            Op::Binary(op, a, b) => self.binary(op, a, b),
            Op::ICmp(cmp, a, b) => self.int_compare(cmp, a, b),
            Op::FCmp(cmp, a, b) => self.float_compare(cmp, a, b),
            Op::Select { cond, then, els } => self.select(cond, then, els),
            _ => self.object(op),
        }
    }

    fn unary(&mut self, op: UnaryOp, a: Value) -> Rule {
        use UnaryOp::*;
        if let Some(slot) = self.constant(a) {
            return constant_op(result_ty(op), eval::unary(op, slot));
        }
        match op {
            INeg | INot => self.int_unary(op, a),
            BNot => self.bool_not(a),
            FNeg | FAbs => self.float_unary(op, a),
            _ => None,
        }
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Rule {
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            // `None`: throws.
            return eval::binary(op, x, y).and_then(|slot| constant_op(op.operand_ty(), slot));
        }
        if op.is_commutative() && self.constant(a).is_some() {
            return self::op(Op::Binary(op, b, a));
        }
        match op.operand_ty() {
            Ty::Float => self.float_binary(op, a, b),
            Ty::Bool => self.bool_binary(op, a, b),
            _ => self.int_binary(op, a, b),
        }
    }

    fn terminator(&mut self, terminator: Terminator) -> Terminator {
        match terminator {
            Terminator::Branch { cond, then, els } => match self.def(cond) {
                Some(&Op::Unary(UnaryOp::BNot, inner)) => {
                    self.changed = true;
                    Terminator::Branch { cond: inner, then: els, els: then }
                }
                _ => Terminator::Branch { cond, then, els },
            },
            Terminator::Try { op, normal, unwind } => self.guarded(op, normal, unwind),
            other => other,
        }
    }

    /// A `Try` of something that cannot throw is none.
    fn guarded(&mut self, op: Op, mut normal: BlockCall, unwind: BlockCall) -> Terminator {
        let result = match self.reduce(op) {
            Reduced::Value(value) => value,
            Reduced::Op(op) if self.cannot_throw(&op) => self.append(op),
            Reduced::Op(op) => return Terminator::Try { op, normal, unwind },
        };
        self.changed = true;
        normal.args.insert(0, result);
        Terminator::Jump(normal)
    }

    /// Of operations that have a result.
    fn cannot_throw(&self, op: &Op) -> bool {
        match op {
            Op::Binary(BinaryOp::IDiv | BinaryOp::IRem, _, divisor) => self.int(*divisor).is_some_and(|d| d != 0),
            _ => !op.may_throw(),
        }
    }

    /// Computes `op`, simplified, before the operation that is worked on.
    fn emit(&mut self, op: Op) -> Value {
        match self.reduce(op) {
            Reduced::Value(value) => value,
            Reduced::Op(op) => self.append(op),
        }
    }

    fn append(&mut self, op: Op) -> Value {
        let ty = op.result_ty(self.module, |v| self.func.values[v]).expect("an operation with a result");
        let result = self.func.values.push(ty);
        let inst = self.func.insts.push(InstData { op, result: Some(result), loc: self.loc });
        self.defs[result] = inst.into();
        self.out.push(inst);
        result
    }

    /// The operation that computes a value.
    fn def(&self, value: Value) -> Option<&Op> {
        self.defs[value].expand().map(|inst| &self.func.insts[inst].op)
    }

    fn int(&self, value: Value) -> Option<i64> {
        match self.def(value) {
            Some(Op::IConst(n)) => Some(*n),
            _ => None,
        }
    }

    /// What `op` is applied to, with a constant on the right.
    fn with_const(&self, op: BinaryOp, value: Value) -> Option<(Value, i64)> {
        match *self.def(value)? {
            Op::Binary(found, x, c) if found == op => Some((x, self.int(c)?)),
            _ => None,
        }
    }

    /// The slot of a number or truth value.
    fn constant(&self, value: Value) -> Option<u64> {
        match *self.def(value)? {
            Op::IConst(n) => Some(n as u64),
            Op::FConst(bits) => Some(bits),
            Op::BConst(b) => Some(u64::from(b)),
            _ => None,
        }
    }
}

fn constant_op(ty: Ty, slot: u64) -> Rule {
    match ty {
        Ty::Int => int(slot as i64),
        Ty::Bool => bool(slot != 0),
        // Which NaN comes out depends on the machine that computes.
        Ty::Float if f64::from_bits(slot).is_nan() => op(Op::FConst(f64::NAN.to_bits())),
        Ty::Float => op(Op::FConst(slot)),
        Ty::Ref => None,
    }
}

fn result_ty(op: UnaryOp) -> Ty {
    use UnaryOp::*;
    match op {
        INeg | INot | FloatToInt | FloatBits | BoolToInt | PopCount | LeadingZeros | TrailingZeros => Ty::Int,
        BNot => Ty::Bool,
        FNeg | FAbs | FSqrt | FFloor | FCeil | FTrunc | FNearest | IntToFloat | FloatFromBits => Ty::Float,
    }
}
