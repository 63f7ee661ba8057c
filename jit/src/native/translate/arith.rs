//! Operations on numbers.

use super::Translator;
use crate::ir::{self, BinaryOp, FloatCmp, IntCmp, UnaryOp};
use crate::native::trap::TrapKind;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{BlockArg, InstBuilder, MemFlagsData, Value, types};

/// Bits that every NaN has when it is looked at: see [`UnaryOp::FloatBits`].
const NAN_BITS: i64 = 0x7ff8_0000_0000_0000;

impl Translator<'_, '_> {
    pub(super) fn unary(&mut self, op: UnaryOp, a: ir::Value) -> Value {
        use UnaryOp::*;
        let a = self.value(a);
        let i = self.b.ins();
        match op {
            INeg => i.ineg(a),
            INot => i.bnot(a),
            BNot => i.bxor_imm_u(a, 1),
            FNeg => i.fneg(a),
            FAbs => i.fabs(a),
            FSqrt => i.sqrt(a),
            FFloor => i.floor(a),
            FCeil => i.ceil(a),
            FTrunc => i.trunc(a),
            FNearest => i.nearest(a),
            IntToFloat => i.fcvt_from_sint(types::F64, a),
            FloatToInt => i.fcvt_to_sint_sat(types::I64, a),
            FloatFromBits => i.bitcast(types::F64, MemFlagsData::new(), a),
            BoolToInt => i.uextend(types::I64, a),
            PopCount => i.popcnt(a),
            LeadingZeros => i.clz(a),
            TrailingZeros => i.ctz(a),
            FloatBits => {
                let bits = i.bitcast(types::I64, MemFlagsData::new(), a);
                let canonical = self.iconst(NAN_BITS);
                let is_nan = self.b.ins().fcmp(FloatCC::Unordered, a, a);
                self.b.ins().select(is_nan, canonical, bits)
            }
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: ir::Value, b: ir::Value) -> Value {
        use BinaryOp::*;
        let (a, b) = (self.value(a), self.value(b));
        let i = self.b.ins();
        match op {
            IAdd => i.iadd(a, b),
            ISub => i.isub(a, b),
            IMul => i.imul(a, b),
            IAnd | BAnd => i.band(a, b),
            IOr | BOr => i.bor(a, b),
            IXor | BXor => i.bxor(a, b),
            // Cranelift, too, takes counts modulo 64.
            IShl => i.ishl(a, b),
            IShr => i.sshr(a, b),
            IUShr => i.ushr(a, b),
            FAdd => i.fadd(a, b),
            FSub => i.fsub(a, b),
            FMul => i.fmul(a, b),
            FDiv => i.fdiv(a, b),
            IDiv => self.divide(a, b),
            IRem => self.remainder(a, b),
        }
    }

    /// The machine traps on MIN / -1, too.
    fn divide(&mut self, a: Value, b: Value) -> Value {
        match self.const_of(b) {
            Some(-1) => return self.b.ins().ineg(a),
            Some(0) | None => self.check_divisor(b),
            Some(_) => return self.b.ins().sdiv(a, b),
        }
        let minus_one = self.b.ins().icmp_imm_s(IntCC::Equal, b, -1);
        let done = self.b.create_block();
        let result = self.b.append_block_param(done, types::I64);
        let on = self.branch_to_cold(minus_one);
        let negated = self.b.ins().ineg(a);
        self.b.ins().jump(done, &[BlockArg::Value(negated)]);
        self.enter(on);
        let quotient = self.b.ins().sdiv(a, b);
        self.b.ins().jump(done, &[BlockArg::Value(quotient)]);
        self.enter(done);
        result
    }

    /// Cranelift gives MIN % -1 = 0.
    fn remainder(&mut self, a: Value, b: Value) -> Value {
        if matches!(self.const_of(b), Some(0) | None) {
            self.check_divisor(b);
        }
        self.b.ins().srem(a, b)
    }

    /// Outside of a `Try`, the division's own check will do.
    fn check_divisor(&mut self, b: Value) {
        if self.unwind.is_none() {
            return self.show_countdown_to_trap();
        }
        let zero = self.b.ins().icmp_imm_s(IntCC::Equal, b, 0);
        let on = self.branch_to_cold(zero);
        self.fail(TrapKind::DivisionByZero);
        self.enter(on);
    }

    pub(super) fn int_compare(&mut self, cmp: IntCmp, a: ir::Value, b: ir::Value) -> Value {
        let (a, b) = (self.value(a), self.value(b));
        let cc = match cmp {
            IntCmp::Eq => IntCC::Equal,
            IntCmp::Ne => IntCC::NotEqual,
            IntCmp::Lt => IntCC::SignedLessThan,
            IntCmp::Le => IntCC::SignedLessThanOrEqual,
            IntCmp::Gt => IntCC::SignedGreaterThan,
            IntCmp::Ge => IntCC::SignedGreaterThanOrEqual,
            IntCmp::Ult => IntCC::UnsignedLessThan,
        };
        self.b.ins().icmp(cc, a, b)
    }

    pub(super) fn float_compare(&mut self, cmp: FloatCmp, a: ir::Value, b: ir::Value) -> Value {
        let (a, b) = (self.value(a), self.value(b));
        let cc = match cmp {
            FloatCmp::Eq => FloatCC::Equal,
            FloatCmp::Ne => FloatCC::NotEqual,
            FloatCmp::Lt => FloatCC::LessThan,
            FloatCmp::Le => FloatCC::LessThanOrEqual,
            FloatCmp::Gt => FloatCC::GreaterThan,
            FloatCmp::Ge => FloatCC::GreaterThanOrEqual,
        };
        self.b.ins().fcmp(cc, a, b)
    }
}
