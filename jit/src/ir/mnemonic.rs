//! The words of the text form, in one place for printer and parser: operations, comparisons, types.

use super::inst::{AtomicOp, BinaryOp, FloatCmp, IntCmp, UnaryOp};
use super::types::{ElemKind, Ty};

/// A set of words, one for each value of a type.
pub(super) trait Mnemonic: Copy + PartialEq + 'static {
    const WORDS: &'static [(Self, &'static str)];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(v, _)| *v == self).expect("every value has a word").1
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, w)| *w == word).map(|(v, _)| *v)
    }
}

macro_rules! words {
    ($ty:ident: $($variant:ident $word:literal),* $(,)?) => {
        impl Mnemonic for $ty {
            const WORDS: &'static [(Self, &'static str)] = &[$(($ty::$variant, $word)),*];
        }
        // Fails to compile where a variant has no word.
        const _: fn($ty) = |v| match v { $($ty::$variant => ()),* };
    };
}

words! { UnaryOp:
    INeg "ineg", INot "inot", BNot "bnot", FNeg "fneg", FAbs "fabs", FSqrt "fsqrt", FFloor "ffloor", FCeil "fceil", FTrunc "ftrunc", FNearest "fnearest",
    IntToFloat "int_to_float", FloatToInt "float_to_int", FloatBits "float_bits", FloatFromBits "float_from_bits", BoolToInt "bool_to_int",
    PopCount "popcount", LeadingZeros "leading_zeros", TrailingZeros "trailing_zeros",
}
words! { BinaryOp:
    IAdd "iadd", ISub "isub", IMul "imul", IDiv "idiv", IRem "irem", IAnd "iand", IOr "ior", IXor "ixor", IShl "ishl", IShr "ishr", IUShr "iushr",
    FAdd "fadd", FSub "fsub", FMul "fmul", FDiv "fdiv", BAnd "band", BOr "bor", BXor "bxor",
}
words! { IntCmp: Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge", Ult "ult" }
words! { FloatCmp: Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge" }
words! { AtomicOp: Load "load", Store "store", FetchAdd "fetch_add" }
words! { ElemKind: Int "int", Float "float", Bool "bool", Byte "byte", Ref "ref" }
words! { Ty: Int "int", Float "float", Bool "bool", Ref "ref" }
