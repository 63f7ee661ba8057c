//! Kinds of failing checks as code and tables name them, and how their operands come out of the context.
//!
//! A check that fails in hardware (a null access, a division) or by an `ud2` tells its kind by the program counter; the operands for the message were left in the context by the cold code before it.

use crate::context::ThreadContext;
use crate::ir::ClassId;
use crate::layout::ARRAY_LENGTH;
use crate::trap::Trap;
use cranelift_codegen::ir::TrapCode;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TrapKind {
    Null = 1,
    /// `trap_value`: index, `trap_object`: array.
    Bounds,
    DivisionByZero,
    /// `trap_object`: object or null, `trap_value`: index of the target class.
    Cast,
    /// `trap_value`: length.
    NegativeLength,
    StackOverflow,
    OutOfMemory,
    /// Code that cannot run: a bug of ours if it does.
    Unreachable,
}

impl TrapKind {
    const ALL: [TrapKind; 8] = {
        use TrapKind::*;
        [Null, Bounds, DivisionByZero, Cast, NegativeLength, StackOverflow, OutOfMemory, Unreachable]
    };

    pub fn from_u8(code: u8) -> Option<TrapKind> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// How many codes mean a null object.
    pub const NULL_NUMBERS: u32 = 200;
    /// The first of them.
    const NULL_FIRST: u8 = 16;

    /// A code for a null object, one of [`TrapKind::NULL_NUMBERS`].
    pub const fn null_code(number: u32) -> TrapCode {
        TrapCode::unwrap_user(Self::NULL_FIRST + (number % Self::NULL_NUMBERS) as u8)
    }

    /// Which one of [`TrapKind::null_code`] it is.
    pub fn null_number(code: TrapCode) -> Option<u32> {
        let number = u32::from(code.as_raw().get().checked_sub(Self::NULL_FIRST)?);
        (number < Self::NULL_NUMBERS).then_some(number)
    }

    pub const fn code(self) -> TrapCode {
        TrapCode::unwrap_user(self as u8)
    }

    /// The kind that Cranelift's trap code stands for; `None` for those that our code cannot raise.
    pub fn from_code(code: TrapCode) -> Option<TrapKind> {
        match code {
            TrapCode::INTEGER_DIVISION_BY_ZERO => Some(TrapKind::DivisionByZero),
            TrapCode::STACK_OVERFLOW => Some(TrapKind::StackOverflow),
            code if Self::null_number(code).is_some() => Some(TrapKind::Null),
            code => Self::from_u8(code.as_raw().get()),
        }
    }

    /// The failure with its operands.
    ///
    /// # Safety
    /// The context's operands are those of this kind.
    pub unsafe fn describe(self, ctx: &ThreadContext) -> Trap {
        match self {
            TrapKind::Null => Trap::Null,
            TrapKind::Bounds => {
                // SAFETY: the object is the array that was indexed, which is not null.
                let length = unsafe { ((ctx.trap_object + ARRAY_LENGTH as u64) as *const i64).read() };
                Trap::Bounds { index: ctx.trap_value as i64, length }
            }
            TrapKind::DivisionByZero => Trap::DivisionByZero,
            TrapKind::Cast => Trap::Cast { object: ctx.trap_object, target: ClassId::from_u32(ctx.trap_value as u32) },
            TrapKind::NegativeLength => Trap::NegativeLength { length: ctx.trap_value as i64 },
            TrapKind::StackOverflow => Trap::StackOverflow,
            TrapKind::OutOfMemory => Trap::OutOfMemory,
            TrapKind::Unreachable => unreachable!("unreachable code ran"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_survive_their_codes() {
        for kind in TrapKind::ALL {
            assert_eq!(TrapKind::from_u8(kind as u8), Some(kind));
            assert_eq!(TrapKind::from_code(kind.code()), Some(kind));
        }
        for number in [0, 1, TrapKind::NULL_NUMBERS - 1] {
            assert_eq!(TrapKind::null_number(TrapKind::null_code(number)), Some(number));
            assert_eq!(TrapKind::from_code(TrapKind::null_code(number + TrapKind::NULL_NUMBERS)), Some(TrapKind::Null));
        }
        assert_eq!(TrapKind::from_u8(0), None);
        assert_eq!(TrapKind::from_u8(9), None);
    }
}
