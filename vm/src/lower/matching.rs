//! `match`: a jump table for dense `Int` constants, else one test after the other.

use super::body::{Flow, FnLower};
use super::control::Join;
use super::expr::loc;
use crate::sema::hir::{Arm, Expr, LocalId, Pattern};
use crate::sema::types::Ty;
use jit::ir::{Block, Builtin, FloatCmp, IntCmp, Loc, Op, Value};

/// Fewest cases of a jump table.
const MIN_TABLE_CASES: usize = 4;
/// Largest jump table.
const MAX_TABLE: i64 = 1024;

/// A jump table: what each value from `min` on leads to.
struct Table {
    min: i64,
    /// Arm for each value.
    arms: Vec<Option<usize>>,
    els: Option<usize>,
}

impl<'a> FnLower<'_, 'a> {
    pub(super) fn match_arms(
        &mut self,
        expr: &'a Expr,
        subject: LocalId,
        init: &'a Expr,
        arms: &'a [Arm],
        want: bool,
    ) -> Flow<Option<Value>> {
        let at = loc(expr);
        let ty = self.local_ty(subject);
        let value = self.expr(init)?;
        self.bind(subject, value, at);
        let join = self.join(expr, want);
        match (ty == Ty::INT).then(|| table(arms)).flatten() {
            Some(table) => self.match_table(value, arms, table, &join, at),
            None => self.match_chain(value, ty, arms, &join, at),
        }
        self.enter_join(join)
    }

    /// No arm fits: nothing happens. Where a value is wanted, the checker has proved that one fits.
    fn no_arm(&mut self, join: &Join, at: Loc) {
        match join.result {
            Some(_) => self.b.unreachable(at),
            None => self.jump(join.block, at),
        }
    }

    fn match_table(&mut self, value: Value, arms: &'a [Arm], table: Table, join: &Join, at: Loc) {
        let blocks: Vec<Block> = arms.iter().map(|_| self.b.create_block()).collect();
        let none = self.b.create_block();
        let min = self.int(table.min, at);
        let index = self.op_safe(Op::Binary(jit::ir::BinaryOp::ISub, value, min), at);
        let block_of = |arm: Option<usize>| arm.or(table.els).map_or(none, |a| blocks[a]);
        let targets: Vec<Block> = table.arms.iter().map(|&a| block_of(a)).collect();
        self.b.switch(index, &targets, block_of(None), at);
        for (arm, &block) in arms.iter().zip(&blocks) {
            if self.enter(block).is_ok() {
                self.arm(&arm.body, join, Loc(arm.span.lo));
            }
        }
        if self.enter(none).is_ok() {
            self.no_arm(join, at);
        }
    }

    fn match_chain(&mut self, value: Value, ty: Ty, arms: &'a [Arm], join: &Join, at: Loc) {
        for arm in arms {
            let arm_loc = Loc(arm.span.lo);
            if arm.patterns.is_empty() {
                return self.arm(&arm.body, join, arm_loc);
            }
            let (body, next) = (self.b.create_block(), self.b.create_block());
            for (i, pattern) in arm.patterns.iter().enumerate() {
                let fits = self.pattern_fits(value, ty, pattern, arm_loc);
                let other = if i + 1 == arm.patterns.len() { next } else { self.b.create_block() };
                self.b.branch(fits, body, other, arm_loc);
                if other != next {
                    self.b.seal_block(other);
                    self.b.switch_to_block(other);
                }
            }
            self.b.seal_block(body);
            self.b.switch_to_block(body);
            if let [Pattern::Is { bind: Some(local), .. }] = arm.patterns[..] {
                let to = self.local_ty(local);
                let bound = self.convert(value, ty, to, arm_loc);
                self.bind(local, bound, arm_loc);
            }
            self.arm(&arm.body, join, arm_loc);
            self.b.seal_block(next);
            self.b.switch_to_block(next);
        }
        self.no_arm(join, at);
    }

    fn pattern_fits(&mut self, value: Value, ty: Ty, pattern: &'a Pattern, at: Loc) -> Value {
        if let Pattern::Is { ty: target, .. } = pattern {
            let target = self.ty(*target);
            return self.is_instance(value, ty, target, at);
        }
        if let Pattern::Null = pattern {
            return if self.cx.is_word(ty) { self.bool(false, at) } else { self.is_null(value, at) };
        }
        let Some(word) = self.cx.boxed_word(ty) else { return self.constant_fits(value, pattern, at) };
        let null = self.is_null(value, at);
        self.choose(
            null,
            jit::ir::Ty::Bool,
            at,
            |l| l.bool(false, at),
            |l| {
                let content = l.unbox(value, word, at);
                l.constant_fits(content, pattern, at)
            },
        )
    }

    fn constant_fits(&mut self, value: Value, pattern: &'a Pattern, at: Loc) -> Value {
        match pattern {
            Pattern::Int(k) => {
                let k = self.int(*k, at);
                self.op_safe(Op::ICmp(IntCmp::Eq, value, k), at)
            }
            Pattern::IntRange(low, high) => {
                let (low, high) = (self.int(*low, at), self.int(*high, at));
                let above = self.op_safe(Op::ICmp(IntCmp::Ge, value, low), at);
                let below = self.op_safe(Op::ICmp(IntCmp::Le, value, high), at);
                self.op_safe(Op::Binary(jit::ir::BinaryOp::BAnd, above, below), at)
            }
            Pattern::Float(k) => {
                let k = self.op_safe(Op::FConst(k.to_bits()), at);
                self.op_safe(Op::FCmp(FloatCmp::Eq, value, k), at)
            }
            Pattern::Bool(true) => value,
            Pattern::Bool(false) => self.not(value, at),
            Pattern::Str(text) => {
                let text = self.str(text, at);
                self.op_safe(Op::CallBuiltin { builtin: Builtin::StrEq, args: [value, text].into_iter().collect() }, at)
            }
            Pattern::Null | Pattern::Is { .. } => self.bool(false, at),
        }
    }
}

/// The jump table of arms that test for `Int` constants only, if it is worth its room.
fn table(arms: &[Arm]) -> Option<Table> {
    let mut cases: Vec<(i64, i64, usize)> = Vec::new();
    let mut els = None;
    for (i, arm) in arms.iter().enumerate() {
        if arm.patterns.is_empty() {
            els = Some(i);
            break; // What follows is never reached.
        }
        for pattern in &arm.patterns {
            match pattern {
                Pattern::Int(k) => cases.push((*k, *k, i)),
                Pattern::IntRange(low, high) => cases.push((*low, *high, i)),
                _ => return None,
            }
        }
    }
    let min = cases.iter().map(|c| c.0).min()?;
    let max = cases.iter().map(|c| c.1).max()?;
    let length = max.checked_sub(min).filter(|&l| l < MAX_TABLE)? + 1;
    if cases.len() < MIN_TABLE_CASES || length > 4 * cases.len() as i64 {
        return None;
    }
    let mut table = vec![None; length as usize];
    for (low, high, arm) in cases {
        for place in &mut table[(low - min) as usize..=(high - min) as usize] {
            place.get_or_insert(arm); // The first fitting arm wins.
        }
    }
    Some(Table { min, arms: table, els })
}
