//! What the operations without effects compute, on raw 64-bit slots: the one definition that the interpreter runs and constant folding uses.
//!
//! In: operands as slots (an `Int`, the bits of a `Float`, 0 or 1 for a `Bool`). Out: the result's slot; `None` where the operation throws.

use super::inst::{BinaryOp, FloatCmp, IntCmp, UnaryOp};

#[inline(always)]
pub fn unary(op: UnaryOp, a: u64) -> u64 {
    let int = a as i64;
    let float = f64::from_bits(a);
    match op {
        UnaryOp::INeg => int.wrapping_neg() as u64,
        UnaryOp::INot => !a,
        UnaryOp::BNot => a ^ 1,
        UnaryOp::FNeg => a ^ (1 << 63),
        UnaryOp::FAbs => a & !(1 << 63),
        UnaryOp::FSqrt => float.sqrt().to_bits(),
        UnaryOp::FFloor => float.floor().to_bits(),
        UnaryOp::FCeil => float.ceil().to_bits(),
        UnaryOp::FTrunc => float.trunc().to_bits(),
        UnaryOp::FNearest => float.round_ties_even().to_bits(),
        UnaryOp::IntToFloat => (int as f64).to_bits(),
        // Rust's cast saturates and takes NaN to 0.
        UnaryOp::FloatToInt => (float as i64) as u64,
        UnaryOp::FloatBits => {
            if float.is_nan() {
                0x7ff8_0000_0000_0000
            } else {
                a
            }
        }
        UnaryOp::FloatFromBits | UnaryOp::BoolToInt => a,
        UnaryOp::PopCount => u64::from(a.count_ones()),
        UnaryOp::LeadingZeros => u64::from(a.leading_zeros()),
        UnaryOp::TrailingZeros => u64::from(a.trailing_zeros()),
    }
}

/// `None`: division by zero.
#[inline(always)]
pub fn binary(op: BinaryOp, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (a as i64, b as i64);
    let float = |f: fn(f64, f64) -> f64| f(f64::from_bits(a), f64::from_bits(b)).to_bits();
    Some(match op {
        BinaryOp::IAdd => a.wrapping_add(b),
        BinaryOp::ISub => a.wrapping_sub(b),
        BinaryOp::IMul => a.wrapping_mul(b),
        BinaryOp::IDiv if y == 0 => return None,
        BinaryOp::IRem if y == 0 => return None,
        BinaryOp::IDiv => x.wrapping_div(y) as u64,
        BinaryOp::IRem => x.wrapping_rem(y) as u64,
        BinaryOp::IAnd | BinaryOp::BAnd => a & b,
        BinaryOp::IOr | BinaryOp::BOr => a | b,
        BinaryOp::IXor | BinaryOp::BXor => a ^ b,
        BinaryOp::IShl => a.wrapping_shl(b as u32),
        BinaryOp::IShr => x.wrapping_shr(b as u32) as u64,
        BinaryOp::IUShr => a.wrapping_shr(b as u32),
        BinaryOp::FAdd => float(|x, y| x + y),
        BinaryOp::FSub => float(|x, y| x - y),
        BinaryOp::FMul => float(|x, y| x * y),
        BinaryOp::FDiv => float(|x, y| x / y),
    })
}

#[inline(always)]
pub fn int_cmp(cmp: IntCmp, a: u64, b: u64) -> bool {
    let (x, y) = (a as i64, b as i64);
    match cmp {
        IntCmp::Eq => x == y,
        IntCmp::Ne => x != y,
        IntCmp::Lt => x < y,
        IntCmp::Le => x <= y,
        IntCmp::Gt => x > y,
        IntCmp::Ge => x >= y,
        IntCmp::Ult => a < b,
    }
}

#[inline(always)]
pub fn float_cmp(cmp: FloatCmp, a: u64, b: u64) -> bool {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    match cmp {
        FloatCmp::Eq => x == y,
        FloatCmp::Ne => x != y,
        FloatCmp::Lt => x < y,
        FloatCmp::Le => x <= y,
        FloatCmp::Gt => x > y,
        FloatCmp::Ge => x >= y,
    }
}
