//! The test before a loop in two versions, as operations.
//!
//! In: an empty block, values for the loop's parameters there, and what must hold. Out: the block with operations that compute it: none of them has an effect or throws.
//! What wraps around in them gives a wrong answer on the safe side only: see [`super::analysis::linear`] for spans; assumptions add constants only to what is known to leave room.

use super::analysis::bounds::{Assumption, Side};
use super::analysis::conditions::Term;
use super::analysis::linear::{Factor, MAX_FACTOR, Span};
use super::versions::Wanted;
use crate::ir::*;
use rustc_hash::FxHashMap;

/// Of a variable whose factor is not 1 or -1, between its first and last value.
const MAX_DISTANCE: i64 = 1 << 32;

pub struct Emitter<'a> {
    func: &'a mut Function,
    block: Block,
    /// The loop's parameters before the first round.
    starts: FxHashMap<Value, Value>,
    defined: FxHashMap<Value, Inst>,
}

impl<'a> Emitter<'a> {
    /// `inside`: the operations of the loop's blocks by result.
    pub fn new(func: &'a mut Function, block: Block, starts: FxHashMap<Value, Value>, inside: &[Block]) -> Emitter<'a> {
        let insts = inside.iter().flat_map(|&b| &func.blocks[b].insts);
        let defined = insts.filter_map(|&i| Some((func.insts[i].result?, i))).collect();
        Emitter { func, block, starts, defined }
    }

    fn emit(&mut self, op: Op, ty: Ty) -> Value {
        let result = self.func.values.push(ty);
        let inst = self.func.insts.push(InstData { op, result: Some(result), loc: Loc::default() });
        self.func.blocks[self.block].insts.push(inst);
        result
    }

    fn int(&mut self, n: i64) -> Value {
        self.emit(Op::IConst(n), Ty::Int)
    }

    fn compare(&mut self, cmp: IntCmp, a: Value, b: Value) -> Value {
        self.emit(Op::ICmp(cmp, a, b), Ty::Bool)
    }

    fn plus(&mut self, value: Value, n: i64) -> Value {
        if n == 0 {
            return value;
        }
        let n = self.int(n);
        self.emit(Op::Binary(BinaryOp::IAdd, value, n), Ty::Int)
    }

    /// All of the conditions, of which there is at least one.
    pub fn all(&mut self, conds: &[Value]) -> Value {
        conds.iter().copied().reduce(|a, b| self.emit(Op::Binary(BinaryOp::BAnd, a, b), Ty::Bool)).expect("a condition")
    }

    pub fn wanted(&mut self, wanted: &Wanted) -> Vec<Value> {
        match wanted {
            Wanted::Assumption(assumption) => vec![self.assumption(assumption)],
            Wanted::Span(span) => self.span(span),
        }
    }

    fn assumption(&mut self, assumption: &Assumption) -> Value {
        let &Assumption { side, x, target, slack } = assumption;
        let by = assumption.offset().expect("checked when it was planned");
        let (or_equal, strict) = if side == Side::Up { (IntCmp::Le, IntCmp::Lt) } else { (IntCmp::Ge, IntCmp::Gt) };
        match target {
            Term::Zero => {
                let n = self.int(by);
                self.compare(or_equal, x, n)
            }
            Term::Value(t) if slack == -1 => self.compare(strict, x, t),
            Term::Value(t) => {
                let limit = self.plus(t, by);
                self.compare(or_equal, x, limit)
            }
        }
    }

    fn span(&mut self, span: &Span) -> Vec<Value> {
        let start = self.starts[&span.param];
        let bound = self.outside(span.bound);
        let length = self.outside(span.length);
        let end = self.plus(bound, span.beyond);
        let mut conds: Vec<Value> = span.guard.into_iter().map(|cmp| self.compare(cmp, start, bound)).collect();
        let (low, high) = if span.is_up { (start, end) } else { (end, start) };
        if !matches!(span.factor, Factor::Const(1 | -1)) {
            let distance = self.emit(Op::Binary(BinaryOp::ISub, high, low), Ty::Int);
            let limit = self.int(MAX_DISTANCE);
            conds.push(self.compare(IntCmp::Ult, distance, limit));
        }
        if let Factor::Value(factor) = span.factor {
            let (factor, limit) = (self.outside(factor), self.int(MAX_FACTOR));
            conds.push(self.compare(IntCmp::Ult, factor, limit));
        }
        let (low, high) = if matches!(span.factor, Factor::Const(..0)) { (high, low) } else { (low, high) };
        let (low, high) = (self.with_param(span.index, span.param, low), self.with_param(span.index, span.param, high));
        let zero = self.int(0);
        conds.push(self.compare(IntCmp::Ge, low, zero));
        conds.push(self.compare(IntCmp::Le, low, high));
        conds.push(self.compare(IntCmp::Ult, high, length));
        conds
    }

    /// A value that does not change in the loop.
    fn outside(&mut self, value: Value) -> Value {
        match self.defined.get(&value).map(|&i| self.func.insts[i].op.clone()) {
            Some(op @ Op::IConst(_)) => self.emit(op, Ty::Int),
            _ => value,
        }
    }

    /// `value` as it is where `param` is `with`. As deep as [`super::analysis::linear`] looks.
    fn with_param(&mut self, value: Value, param: Value, with: Value) -> Value {
        if value == param {
            return with;
        }
        let Some(&inst) = self.defined.get(&value) else { return value };
        match self.func.insts[inst].op.clone() {
            Op::CheckIndex { index, .. } => self.with_param(index, param, with),
            Op::Binary(op, a, b) => {
                let (a, b) = (self.with_param(a, param, with), self.with_param(b, param, with));
                self.emit(Op::Binary(op, a, b), Ty::Int)
            }
            op => self.emit(op, Ty::Int),
        }
    }
}
