//! Functions that the runtime implements, with their signatures and effects: the one list that the front end's `native` functions, the interpreter,
//! the code generator and the runtime agree on.
//!
//! A builtin's text name is the IR's and what `native fun` declarations map to; the order of the list is the index into the runtime's table of function pointers.

use super::types::Ty;

/// What code generation must know of a builtin.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    pub params: &'static [Ty],
    pub ret: Option<Ty>,
    /// May set a pending error.
    pub may_throw: bool,
    /// May allocate, block, or stop for the collector.
    pub is_safepoint: bool,
    /// No effects, and the result depends on the arguments alone: may be moved, merged and dropped.
    pub is_pure: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Result depends on its arguments alone.
    Pure,
    /// Touches memory or the outside, but neither throws nor stops.
    Leaf,
    /// Allocates or blocks, and may throw.
    Full,
}

macro_rules! builtins {
    ($($(#[$doc:meta])* $variant:ident $name:literal ($($param:ident),*) $(-> $ret:ident)? , $effect:ident;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u16)]
        pub enum Builtin { $($(#[$doc])* $variant),* }

        impl Builtin {
            pub const ALL: &'static [Builtin] = &[$(Builtin::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Builtin::$variant => $name),* }
            }

            pub fn signature(self) -> Signature {
                match self {
                    $(Builtin::$variant => {
                        #[allow(unused_mut, unused_assignments)]
                        let mut ret = None;
                        $(ret = Some(Ty::$ret);)?
                        Signature {
                            params: &[$(Ty::$param),*],
                            ret,
                            may_throw: Effect::$effect == Effect::Full,
                            is_safepoint: Effect::$effect == Effect::Full,
                            is_pure: Effect::$effect == Effect::Pure,
                        }
                    })*
                }
            }
        }
    };
}

builtins! {
    // Text. A null argument gives NullError in `Full` ones; `Pure` and `Leaf` ones take a null `Str` as empty (the front end checks first where a null could show).
    StrConcat "str_concat" (Ref, Ref) -> Ref, Full;
    StrConcat3 "str_concat3" (Ref, Ref, Ref) -> Ref, Full;
    /// All of an `Array<Str>`.
    StrConcatAll "str_concat_all" (Ref) -> Ref, Full;
    /// Bytewise; null equals null only.
    StrEq "str_eq" (Ref, Ref) -> Bool, Pure;
    /// Bytewise; negative, 0, positive.
    StrCmp "str_cmp" (Ref, Ref) -> Int, Pure;
    StrHash "str_hash" (Ref) -> Int, Pure;
    /// `from`, `to`; BoundsError outside, ArgumentError inside a character.
    StrSubstring "str_substring" (Ref, Int, Int) -> Ref, Full;
    /// Text, pattern, from → index or -1.
    StrIndexOf "str_index_of" (Ref, Ref, Int) -> Int, Pure;
    StrTrim "str_trim" (Ref) -> Ref, Full;
    StrToUpper "str_to_upper" (Ref) -> Ref, Full;
    StrToLower "str_to_lower" (Ref) -> Ref, Full;
    StrReplace "str_replace" (Ref, Ref, Ref) -> Ref, Full;
    StrRepeat "str_repeat" (Ref, Int) -> Ref, Full;
    /// An `Array<Int>`.
    StrCodePoints "str_code_points" (Ref) -> Ref, Full;
    StrToBytes "str_to_bytes" (Ref) -> Ref, Full;
    /// `Bytes`, from, to; ArgumentError if not UTF-8.
    StrFromBytes "str_from_bytes" (Ref, Int, Int) -> Ref, Full;
    /// Text, `Bytes`, at; copies nothing where it would not fit.
    StrCopyInto "str_copy_into" (Ref, Ref, Int), Leaf;
    /// ArgumentError if no code point.
    CharToStr "char_to_str" (Int) -> Ref, Full;
    IntToStr "int_to_str" (Int) -> Ref, Full;
    /// Value, radix 2–36.
    IntToRadix "int_to_radix" (Int, Int) -> Ref, Full;
    FloatToStr "float_to_str" (Float) -> Ref, Full;
    /// Value, decimals 0–100.
    FloatFormat "float_format" (Float, Int) -> Ref, Full;
    StrIsInt "str_is_int" (Ref) -> Bool, Pure;
    /// 0 where `str_is_int` is false.
    StrParseInt "str_parse_int" (Ref) -> Int, Pure;
    StrIsFloat "str_is_float" (Ref) -> Bool, Pure;
    /// NaN where `str_is_float` is false.
    StrParseFloat "str_parse_float" (Ref) -> Float, Pure;

    // Arrays.
    /// Source, from, destination, at, count; both of one array class; may overlap. BoundsError.
    ArrayCopy "array_copy" (Ref, Int, Ref, Int, Int), Full;

    // Objects.
    /// Stable for the object's life.
    IdentityHash "identity_hash" (Ref) -> Int, Leaf;
    ClassName "class_name" (Ref) -> Ref, Full;

    // Float functions without an operation of their own.
    MathSin "math_sin" (Float) -> Float, Pure;
    MathCos "math_cos" (Float) -> Float, Pure;
    MathTan "math_tan" (Float) -> Float, Pure;
    MathAsin "math_asin" (Float) -> Float, Pure;
    MathAcos "math_acos" (Float) -> Float, Pure;
    MathAtan "math_atan" (Float) -> Float, Pure;
    MathAtan2 "math_atan2" (Float, Float) -> Float, Pure;
    MathExp "math_exp" (Float) -> Float, Pure;
    MathLog "math_log" (Float) -> Float, Pure;
    MathLog10 "math_log10" (Float) -> Float, Pure;
    MathPow "math_pow" (Float, Float) -> Float, Pure;
    MathHypot "math_hypot" (Float, Float) -> Float, Pure;
    /// Halfway cases away from zero.
    MathRound "math_round" (Float) -> Float, Pure;
    /// `%` on floats, C's `fmod`.
    FloatRem "float_rem" (Float, Float) -> Float, Pure;

    // Outside world.
    Print "print" (Ref), Full;
    /// With a line end, in one piece.
    PrintLine "print_line" (Ref), Full;
    EprintLine "eprint_line" (Ref), Full;
    /// Null at the end of input. IoError.
    ReadLine "read_line" () -> Ref, Full;
    /// Path. IoError.
    ReadFile "read_file" (Ref) -> Ref, Full;
    /// Path, text. IoError.
    WriteFile "write_file" (Ref, Ref), Full;
    /// An `Array<Str>`.
    Args "args" () -> Ref, Full;
    /// Ends the process; does not return.
    Exit "exit" (Int), Full;
    ClockNanos "clock_nanos" () -> Int, Leaf;
    Sleep "sleep" (Int), Full;

    // Errors.
    /// Records the stack trace if the error has none yet.
    FillTrace "fill_trace" (Ref), Full;
    /// The trace as text, one `  at` line a frame.
    TraceText "trace_text" (Ref) -> Ref, Full;

    // Threads.
    /// A closure `() -> Unit`; gives the thread's number. StateError if the system has no more threads.
    ThreadStart "thread_start" (Ref) -> Int, Full;
    /// Waits; gives the error that ended the thread, or null. Marks it as seen.
    ThreadJoin "thread_join" (Int) -> Ref, Full;
    MutexLock "mutex_lock" (Ref), Full;
    /// StateError where this thread does not hold it.
    MutexUnlock "mutex_unlock" (Ref), Full;
    MutexWait "mutex_wait" (Ref), Full;
    MutexNotify "mutex_notify" (Ref), Full;
    MutexNotifyAll "mutex_notify_all" (Ref), Full;
}

impl Builtin {
    pub fn by_name(name: &str) -> Option<Builtin> {
        Self::ALL.iter().copied().find(|b| b.name() == name)
    }

    /// Whether a reference that it gives can be null.
    pub fn may_give_null(self) -> bool {
        matches!(self, Builtin::ReadLine | Builtin::ThreadJoin)
    }
}
