//! The builtins of `jit::ir::builtin`: one implementation each, reached from the interpreter through [`call`] and from compiled code through [`table`].
//!
//! In: arguments as the signature says. Out: a result, or a [`Failure`] that becomes the pending error. Implementations take raw references and root them in a scope before anything that may allocate or block.

mod io;
mod math;
mod number;
mod objects;
mod text;

use super::errors::{self, Failure};
use super::thread::{Ref, Thread};
use super::{monitor, threads, view};
use jit::context::ThreadContext;
use jit::interp::Slot;
use jit::ir::{Builtin, Ty};
use jit::trap::Thrown;

type Result<T> = std::result::Result<T, Failure>;

/// A type of arguments and results, in the interpreter's slots and in C's calling convention.
trait Value: Sized {
    type C;
    #[cfg_attr(not(test), allow(dead_code))]
    const TY: Option<Ty>;
    fn from_slot(slot: Slot) -> Self;
    fn to_slot(self) -> Slot;
    fn from_c(c: Self::C) -> Self;
    fn to_c(self) -> Self::C;
}

macro_rules! values {
    ($($rust:ty, $c:ty, $ty:expr, $from_slot:expr, $to_slot:expr, $from_c:expr, $to_c:expr;)*) => {$(
        impl Value for $rust {
            type C = $c;
            const TY: Option<Ty> = $ty;
            fn from_slot(slot: Slot) -> Self { $from_slot(slot) }
            fn to_slot(self) -> Slot { $to_slot(self) }
            fn from_c(c: $c) -> Self { $from_c(c) }
            fn to_c(self) -> $c { $to_c(self) }
        }
    )*};
}
values! {
    i64, i64, Some(Ty::Int), |s| s as i64, |v| v as u64, |c| c, |v| v;
    f64, f64, Some(Ty::Float), f64::from_bits, f64::to_bits, |c| c, |v| v;
    bool, u8, Some(Ty::Bool), |s| s != 0, |v| v as u64, |c| c != 0, |v| v as u8;
    Ref, u64, Some(Ty::Ref), Ref, |v: Ref| v.0, Ref, |v: Ref| v.0;
    (), (), None, |_| (), |_| 0, |_| (), |_| ();
}

macro_rules! outcome {
    (full, $call:expr) => {
        $call
    };
    (plain, $call:expr) => {
        Result::Ok($call)
    };
}

macro_rules! builtins {
    ($($variant:ident: $kind:ident $path:path, ($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        /// Runs a builtin on slots; the error is pending if it throws.
        pub fn call(thread: &Thread, builtin: Builtin, args: &[Slot]) -> std::result::Result<Slot, Thrown> {
            match builtin {
                $(Builtin::$variant => {
                    let [$($arg),*] = *args else { unreachable!("the verifier counts arguments") };
                    let result: Result<$ret> = outcome!($kind, $path(thread $(, <$ty as Value>::from_slot($arg))*));
                    result.map(Value::to_slot).map_err(|failure| failure.throw(thread))
                })*
            }
        }

        /// The functions for compiled code, in the order of [`Builtin::ALL`].
        #[cfg_attr(not(any(test, feature = "native")), allow(dead_code))]
        pub fn table() -> Vec<*const std::ffi::c_void> {
            Builtin::ALL.iter().map(|builtin| match builtin {
                $(Builtin::$variant => {
                    unsafe extern "C" fn function(ctx: *mut ThreadContext $(, $arg: <$ty as Value>::C)*) -> <$ret as Value>::C {
                        // SAFETY: compiled code passes its thread's context.
                        let thread = unsafe { Thread::from_context(ctx) };
                        let result: Result<$ret> = outcome!($kind, $path(thread $(, <$ty as Value>::from_c($arg))*));
                        match result {
                            Ok(value) => value.to_c(),
                            Err(failure) => {
                                let Thrown = failure.throw(thread);
                                <$ret as Value>::from_slot(0).to_c()
                            }
                        }
                    }
                    function as *const std::ffi::c_void
                })*
            }).collect()
        }

        /// Parameters and result as implemented here, and whether it may throw.
        #[cfg(test)]
        fn signature(builtin: Builtin) -> (Vec<Option<Ty>>, Option<Ty>, bool) {
            match builtin {
                $(Builtin::$variant => (vec![$(<$ty as Value>::TY),*], <$ret as Value>::TY, stringify!($kind) == "full"),)*
            }
        }
    };
}

builtins! {
    StrConcat: full text::concat, (a: Ref, b: Ref) -> Ref;
    StrConcat3: full text::concat3, (a: Ref, b: Ref, c: Ref) -> Ref;
    StrConcatAll: full text::concat_all, (parts: Ref) -> Ref;
    StrEq: plain text::eq, (a: Ref, b: Ref) -> bool;
    StrCmp: plain text::cmp, (a: Ref, b: Ref) -> i64;
    StrHash: plain text::hash, (a: Ref) -> i64;
    StrSubstring: full text::substring, (a: Ref, from: i64, to: i64) -> Ref;
    StrIndexOf: plain text::index_of, (a: Ref, part: Ref, from: i64) -> i64;
    StrTrim: full text::trim, (a: Ref) -> Ref;
    StrToUpper: full text::to_upper, (a: Ref) -> Ref;
    StrToLower: full text::to_lower, (a: Ref) -> Ref;
    StrReplace: full text::replace, (a: Ref, from: Ref, to: Ref) -> Ref;
    StrRepeat: full text::repeat, (a: Ref, count: i64) -> Ref;
    StrCodePoints: full text::code_points, (a: Ref) -> Ref;
    StrToBytes: full text::to_bytes, (a: Ref) -> Ref;
    StrFromBytes: full text::from_bytes, (bytes: Ref, from: i64, to: i64) -> Ref;
    StrCopyInto: plain text::copy_into, (a: Ref, bytes: Ref, at: i64) -> ();
    CharToStr: full text::from_char, (code: i64) -> Ref;
    IntToStr: full number::int_to_str, (value: i64) -> Ref;
    IntToRadix: full number::int_to_radix, (value: i64, radix: i64) -> Ref;
    FloatToStr: full number::float_to_str, (value: f64) -> Ref;
    FloatFormat: full number::float_format, (value: f64, decimals: i64) -> Ref;
    StrIsInt: plain number::is_int, (a: Ref) -> bool;
    StrParseInt: plain number::parse_int, (a: Ref) -> i64;
    StrIsFloat: plain number::is_float, (a: Ref) -> bool;
    StrParseFloat: plain number::parse_float, (a: Ref) -> f64;

    ArrayCopy: full objects::array_copy, (source: Ref, from: i64, target: Ref, at: i64, count: i64) -> ();
    IdentityHash: plain objects::identity_hash, (object: Ref) -> i64;
    ClassName: full objects::class_name, (object: Ref) -> Ref;

    MathSin: plain math::sin, (x: f64) -> f64;
    MathCos: plain math::cos, (x: f64) -> f64;
    MathTan: plain math::tan, (x: f64) -> f64;
    MathAsin: plain math::asin, (x: f64) -> f64;
    MathAcos: plain math::acos, (x: f64) -> f64;
    MathAtan: plain math::atan, (x: f64) -> f64;
    MathAtan2: plain math::atan2, (y: f64, x: f64) -> f64;
    MathExp: plain math::exp, (x: f64) -> f64;
    MathLog: plain math::ln, (x: f64) -> f64;
    MathLog10: plain math::log10, (x: f64) -> f64;
    MathPow: plain math::powf, (x: f64, y: f64) -> f64;
    MathHypot: plain math::hypot, (x: f64, y: f64) -> f64;
    MathRound: plain math::round, (x: f64) -> f64;
    FloatRem: plain math::rem, (x: f64, y: f64) -> f64;

    Print: full io::print, (a: Ref) -> ();
    PrintLine: full io::print_line, (a: Ref) -> ();
    EprintLine: full io::eprint_line, (a: Ref) -> ();
    ReadLine: full io::read_line, () -> Ref;
    ReadFile: full io::read_file, (path: Ref) -> Ref;
    WriteFile: full io::write_file, (path: Ref, text: Ref) -> ();
    Args: full io::args, () -> Ref;
    Exit: full io::exit, (code: i64) -> ();
    ClockNanos: plain io::clock_nanos, () -> i64;
    Sleep: full io::sleep, (millis: i64) -> ();

    FillTrace: full objects::fill_trace, (error: Ref) -> ();
    TraceText: full objects::trace_text, (error: Ref) -> Ref;

    ThreadStart: full thread_start, (closure: Ref) -> i64;
    ThreadJoin: full thread_join, (number: i64) -> Ref;
    MutexLock: full mutex_lock, (mutex: Ref) -> ();
    MutexUnlock: full mutex_unlock, (mutex: Ref) -> ();
    MutexWait: full mutex_wait, (mutex: Ref) -> ();
    MutexNotify: full mutex_notify, (mutex: Ref) -> ();
    MutexNotifyAll: full mutex_notify_all, (mutex: Ref) -> ();
}

/// `NullError` for null.
fn not_null(thread: &Thread, object: Ref) -> Result<Ref> {
    if object.is_null() {
        return Err(Failure::Error(thread.runtime.known.null_error, errors::NULL.to_string()));
    }
    Ok(object)
}

fn argument_error(thread: &Thread, message: String) -> Failure {
    Failure::Error(thread.runtime.known.argument_error, message)
}

/// `from <= to`, both within the length; otherwise a `BoundsError`.
fn check_range(thread: &Thread, from: i64, to: i64, length: usize) -> Result<(usize, usize)> {
    if 0 <= from && from <= to && to <= length as i64 {
        return Ok((from as usize, to as usize));
    }
    let message = if from < 0 || from > length as i64 {
        errors::bounds(from, length as i64)
    } else if to > length as i64 {
        errors::bounds(to, length as i64)
    } else {
        format!("range from {from} to {to} runs backwards")
    };
    Err(Failure::Error(thread.runtime.known.bounds_error, message))
}

fn new_str(thread: &Thread, length: usize, fill: impl FnOnce(&mut [u8])) -> Result<Ref> {
    let str = thread.alloc_str(length)?;
    view::bytes_mut(str, fill);
    Ok(str)
}

/// A text made of others (or of bytes), which `fill` gets where they lie then.
fn new_str_of<const N: usize>(thread: &Thread, length: usize, of: [Ref; N], fill: impl FnOnce([Ref; N], &mut [u8])) -> Result<Ref> {
    if let Some(str) = thread.alloc_str_in_place(length) {
        view::bytes_mut(str, |to| fill(of, to));
        return Ok(str);
    }
    let scope = thread.scope();
    let of = of.map(|r| scope.root(r));
    new_str(thread, length, |to| fill(of.map(|r| r.get()), to))
}

fn str_from(thread: &Thread, text: &str) -> Result<Ref> {
    new_str(thread, text.len(), |b| b.copy_from_slice(text.as_bytes()))
}

fn thread_start(thread: &Thread, closure: Ref) -> Result<i64> {
    let closure = not_null(thread, closure)?;
    threads::start(thread, closure).map_err(|Thrown| Failure::Thrown)
}

fn thread_join(thread: &Thread, number: i64) -> Result<Ref> {
    Ok(threads::join(thread, number))
}

fn mutex_lock(thread: &Thread, mutex: Ref) -> Result<()> {
    monitor::lock(thread, not_null(thread, mutex)?);
    Ok(())
}

fn mutex_unlock(thread: &Thread, mutex: Ref) -> Result<()> {
    monitor::unlock(thread, not_null(thread, mutex)?)
}

fn mutex_wait(thread: &Thread, mutex: Ref) -> Result<()> {
    monitor::wait(thread, not_null(thread, mutex)?)
}

fn mutex_notify(thread: &Thread, mutex: Ref) -> Result<()> {
    monitor::notify(thread, not_null(thread, mutex)?, false)
}

fn mutex_notify_all(thread: &Thread, mutex: Ref) -> Result<()> {
    monitor::notify(thread, not_null(thread, mutex)?, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implementations_have_the_signatures_of_the_list() {
        assert_eq!(table().len(), Builtin::ALL.len());
        for &builtin in Builtin::ALL {
            let (declared, (params, ret, full)) = (builtin.signature(), signature(builtin));
            assert_eq!(params, declared.params.iter().map(|&t| Some(t)).collect::<Vec<_>>(), "{builtin:?}");
            assert_eq!((ret, full), (declared.ret, declared.is_safepoint), "{builtin:?}");
        }
    }
}
