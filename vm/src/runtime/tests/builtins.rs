//! Edge cases of builtins, and memory running out at each of their allocations.

use super::harness::*;
use crate::runtime::thread::{Ref, Thread};
use crate::runtime::{Input, view};
use jit::ir::Builtin::{self, *};
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

/// An argument as a test writes it.
enum Arg {
    S(&'static str),
    I(i64),
    F(f64),
    Null,
    Bytes(&'static [u8]),
}
use Arg::*;

/// A result as a test expects it.
#[derive(PartialEq, Debug)]
enum Res {
    Str(String),
    Int(i64),
    Error(String, String),
}

fn text(t: &str) -> Res {
    Res::Str(t.into())
}

fn fails(class: &str, message: &str) -> Res {
    Res::Error(class.into(), message.into())
}

fn eval(thread: &Thread, builtin: Builtin, args: &[Arg]) -> Res {
    let scope = thread.scope();
    let handles: Vec<_> = args
        .iter()
        .map(|arg| match arg {
            S(text) => Ok(scope.root(str(thread, text))),
            Bytes(bytes) => {
                let array = thread.alloc_array(thread.runtime.known.bytes, bytes.len()).unwrap();
                view::bytes_mut(array, |b| b.copy_from_slice(bytes));
                Ok(scope.root(array))
            }
            I(n) => Err(*n as u64),
            F(x) => Err(x.to_bits()),
            Null => Err(0),
        })
        .collect();
    let slots: Vec<u64> = handles.iter().map(|h| h.as_ref().map_or_else(|s| *s, |h| h.get().0)).collect();
    match call(thread, builtin, &slots) {
        Err(_) => {
            let (class, message) = error(thread);
            Res::Error(class, message)
        }
        Ok(result) if builtin.signature().ret == Some(jit::ir::Ty::Ref) && result != 0 => {
            assert_eq!(view::class_of(thread, Ref(result)), thread.runtime.known.str);
            Res::Str(view::text(Ref(result)).to_string())
        }
        Ok(result) => Res::Int(result as i64),
    }
}

#[test]
fn edge_cases() {
    let mut options = options();
    options.input = Input::Bytes(b"first\n\xff\n".to_vec());
    let outcome = run_with(options, vec![], |t| {
        let check = |builtin, args: &[Arg], expected: Res| assert_eq!(eval(t, builtin, args), expected, "{builtin:?}");
        let null = "null where an object is needed";
        check(StrConcat, &[S("ab"), S("")], text("ab"));
        check(StrConcat, &[S("ab"), Null], fails("NullError", null));
        check(StrConcat3, &[S("ä"), S("€"), S("😀")], text("ä€😀"));
        check(StrEq, &[Null, Null], Res::Int(1));
        check(StrEq, &[Null, S("")], Res::Int(0));
        check(StrEq, &[S("x"), S("x")], Res::Int(1));
        check(StrCmp, &[S("a"), S("ab")], Res::Int(-1));
        check(StrCmp, &[S("ä"), S("z")], Res::Int(1));
        check(StrSubstring, &[S("héllo"), I(1), I(3)], text("é"));
        check(StrSubstring, &[S("héllo"), I(2), I(3)], fails("ArgumentError", "index 2 is inside a character"));
        check(StrSubstring, &[S("abc"), I(0), I(4)], fails("BoundsError", "index 4 out of bounds for length 3"));
        check(StrSubstring, &[S("abc"), I(-1), I(2)], fails("BoundsError", "index -1 out of bounds for length 3"));
        check(StrSubstring, &[S("abc"), I(2), I(1)], fails("BoundsError", "range from 2 to 1 runs backwards"));
        check(StrSubstring, &[S("abc"), I(3), I(3)], text(""));
        check(StrIndexOf, &[S("banana"), S("an"), I(2)], Res::Int(3));
        check(StrIndexOf, &[S("banana"), S("x"), I(0)], Res::Int(-1));
        check(StrIndexOf, &[S("aä"), S("ä"), I(2)], Res::Int(-1));
        check(StrIndexOf, &[S("abc"), S(""), I(3)], Res::Int(3));
        check(StrIndexOf, &[S("abc"), S(""), I(i64::MAX)], Res::Int(-1));
        check(StrIndexOf, &[S("abc"), S("a"), I(i64::MIN)], Res::Int(0));
        check(StrTrim, &[S(" \t\u{a0}x y\n")], text("x y"));
        check(StrTrim, &[S("   ")], text(""));
        check(StrToUpper, &[S("straße")], text("STRASSE"));
        check(StrReplace, &[S("aaa"), S("a"), S("bb")], text("bbbbbb"));
        check(StrReplace, &[S("abcabc"), S("bc"), S("")], text("aa"));
        check(StrReplace, &[S("äx"), S(""), S("-")], text("-ä-x-"));
        check(StrRepeat, &[S("ab"), I(3)], text("ababab"));
        check(StrRepeat, &[S(""), I(i64::MAX)], text(""));
        check(StrRepeat, &[S("ab"), I(-1)], fails("ArgumentError", "cannot repeat a text -1 times"));
        check(StrRepeat, &[S("ab"), I(i64::MAX)], fails("OutOfMemoryError", "out of memory"));
        check(StrRepeat, &[S("ab"), I(10 << 20)], fails("OutOfMemoryError", "out of memory"));
        check(StrFromBytes, &[Bytes(b"a\xc3\xa4b"), I(1), I(3)], text("ä"));
        check(StrFromBytes, &[Bytes(b"a\xc3\xa4b"), I(0), I(2)], fails("ArgumentError", "the bytes are not UTF-8 text: wrong at index 1"));
        check(CharToStr, &[I(0x1f600)], text("😀"));
        check(CharToStr, &[I(0xd800)], fails("ArgumentError", "55296 is not a code point"));
        check(CharToStr, &[I(-1)], fails("ArgumentError", "-1 is not a code point"));
        check(IntToStr, &[I(i64::MIN)], text("-9223372036854775808"));
        check(IntToRadix, &[I(255), I(16)], text("ff"));
        check(IntToRadix, &[I(255), I(1)], fails("ArgumentError", "the base must be from 2 to 36, not 1"));
        check(FloatToStr, &[F(0.1)], text("0.1"));
        check(FloatFormat, &[F(2.5), I(0)], text("2"));
        check(FloatFormat, &[F(-1.005), I(2)], text("-1.00"));
        check(FloatFormat, &[F(f64::NAN), I(2)], text("NaN"));
        check(FloatFormat, &[F(1.0), I(101)], fails("ArgumentError", "the number of decimals must be from 0 to 100, not 101"));
        check(MathRound, &[F(-2.5)], Res::Int((-3.0f64).to_bits() as i64));
        check(FloatRem, &[F(-5.5), F(2.0)], Res::Int((-1.5f64).to_bits() as i64));
        check(ClassName, &[Bytes(b"")], text("Bytes"));
        check(ClassName, &[Null], fails("NullError", null));
        check(ReadLine, &[], text("first"));
        check(ReadLine, &[], fails("IoError", "cannot read from the standard input: not UTF-8 text"));
        check(ReadLine, &[], Res::Int(0));
        check(ReadFile, &[S("/no/such/file")], fails("IoError", "cannot read /no/such/file: No such file or directory"));
        check(ReadFile, &[S("/")], fails("IoError", "cannot read /: Is a directory"));
        check(ReadFile, &[S("/dev/zero")], fails("OutOfMemoryError", "out of memory"));
        check(WriteFile, &[S("/no/such/file"), S("x")], fails("IoError", "cannot write /no/such/file: No such file or directory"));
        check(ReadFile, &[S("a\0b")], fails("IoError", "cannot read a\0b: file name contained an unexpected NUL byte"));
        check(MutexLock, &[Null], fails("NullError", null));
        Ok(0)
    });
    assert_eq!((outcome.status.code, outcome.errors.as_str()), (0, ""));
}

/// Around the ends of words, with bytes of all orders, among them zeros, which also follow texts in memory.
#[test]
fn texts_compare_as_their_bytes_do() {
    let ends = ["", "\0", "\0\0", "a", "b", "ab", "é", "\u{7f}", "\u{10ffff}"];
    let starts = ["", "x", "xxxxxx", "xxxxxxx", "xxxxxxxx", "xxxxxxxxxxxxxxx", "xxxxxxxxxxxxxxxx"];
    let texts: Vec<String> = starts.iter().flat_map(|start| ends.iter().map(move |end| format!("{start}{end}"))).collect();
    let outcome = run(move |t| {
        let scope = t.scope();
        let objects: Vec<_> = texts.iter().map(|text| scope.root(str(t, text))).collect();
        let copies: Vec<_> = texts.iter().map(|text| scope.root(str(t, text))).collect();
        for (a, text) in objects.iter().zip(&texts) {
            for (b, other) in copies.iter().zip(&texts) {
                let of = |builtin| call(t, builtin, &[a.get().0, b.get().0]).unwrap_or_else(|_| panic!("{builtin:?}")) as i64;
                assert_eq!(of(StrEq) != 0, text == other, "{text:?} {other:?}");
                assert_eq!(of(StrCmp), text.cmp(other) as i64, "{text:?} {other:?}");
                let found = call(t, StrIndexOf, &[a.get().0, b.get().0, 0]).unwrap_or(0) as i64;
                assert_eq!(usize::try_from(found).ok(), text.find(other.as_str()), "{text:?} {other:?}");
            }
        }
        let hashes: HashSet<u64> = objects.iter().map(|object| call(t, StrHash, &[object.get().0]).unwrap_or(0)).collect();
        assert_eq!(hashes.len(), texts.len());
        Ok(0)
    });
    assert_eq!((outcome.status.code, outcome.errors.as_str()), (0, ""));
}

#[test]
fn arrays_are_copied_within_bounds() {
    let outcome = run(|t| {
        let scope = t.scope();
        let known = t.runtime.known;
        let a = scope.root(t.alloc_array(known.int_array, 5).unwrap());
        let b = scope.root(t.alloc_array(known.int_array, 3).unwrap());
        (0..5).for_each(|i| view::element(a.get(), i).store(i as u64, Relaxed));
        let copy = |from: i64, to: Ref, at: i64, count: i64| {
            call(t, ArrayCopy, &[a.get().0, from as u64, to.0, at as u64, count as u64]).map_err(|_| error(t))
        };
        let elements = |r: Ref| (0..view::len(r)).map(|i| view::element(r, i).load(Relaxed)).collect::<Vec<_>>();
        let bounds = |i: i64, n: i64| Err(("BoundsError".to_string(), format!("index {i} out of bounds for length {n}")));
        assert_eq!(copy(0, a.get(), 1, 4), Ok(0));
        assert_eq!(elements(a.get()), [0, 0, 1, 2, 3]);
        assert_eq!(copy(2, b.get(), 0, 3), Ok(0));
        assert_eq!(elements(b.get()), [1, 2, 3]);
        assert_eq!(copy(2, b.get(), 1, 3), bounds(4, 3));
        assert_eq!(copy(3, b.get(), 0, 3), bounds(6, 5));
        assert_eq!(copy(-1, b.get(), 0, 1), bounds(-1, 5));
        assert_eq!(copy(1, b.get(), 0, i64::MAX), bounds(i64::MAX, 5));
        assert_eq!(copy(5, b.get(), 3, 0), Ok(0));
        assert!(copy(0, b.get(), 0, -1).is_err());
        let bytes = t.alloc_array(known.bytes, 8).unwrap();
        assert_eq!(copy(0, bytes, 0, 1).unwrap_err().0, "ArgumentError");
        Ok(0)
    });
    assert_eq!(outcome.errors, "");
}

#[test]
fn copied_references_are_remembered() {
    run(|t| {
        let scope = t.scope();
        let refs = ids().ref_array;
        let old = scope.root(t.alloc_array(refs, 3000).unwrap());
        t.collect(crate::runtime::heap::Want::Major);
        let young = scope.root(t.alloc_array(refs, 10).unwrap());
        for i in 0..10 {
            let text = str(t, &format!("text {i}"));
            view::element(young.get(), i).store(text.0, Relaxed);
            view::barrier(t, young.get());
        }
        call(t, ArrayCopy, &[young.get().0, 0, old.get().0, 2990, 10]).unwrap();
        t.collect(crate::runtime::heap::Want::Minor);
        t.collect(crate::runtime::heap::Want::Minor);
        for i in 0..10 {
            assert_eq!(view::text(Ref(view::element(old.get(), 2990 + i).load(Relaxed))), format!("text {i}"));
        }
        Ok(0)
    });
}

#[test]
fn arguments_and_text_into_bytes() {
    let mut options = options();
    options.args = vec!["a".into(), "ü b".into()];
    run_with(options, vec![], |t| {
        let args = Ref(call(t, Args, &[]).unwrap());
        let texts: Vec<&str> = (0..2).map(|i| view::text(Ref(view::element(args, i).load(Relaxed)))).collect();
        assert_eq!(texts, ["a", "ü b"]);
        let scope = t.scope();
        let bytes = scope.root(t.alloc_array(t.runtime.known.bytes, 4).unwrap());
        let text = str(t, "xyz").0;
        for (at, expected) in [(1, b"\0xyz"), (2, b"\0xyz"), (-1, b"\0xyz"), (0, b"xyzz")] {
            call(t, StrCopyInto, &[text, bytes.get().0, at as u64]).unwrap();
            assert_eq!(view::bytes(bytes.get()), expected);
        }
        Ok(0)
    });
}

#[test]
fn files_and_time() {
    let path = std::env::temp_dir().join(format!("vm-runtime-test-{}", std::process::id()));
    let name = path.to_str().unwrap().to_string();
    run(move |t| {
        let scope = t.scope();
        let path = scope.root(str(t, &name));
        let text = str(t, "zwölf\n");
        call(t, WriteFile, &[path.get().0, text.0]).unwrap();
        assert_eq!(view::text(Ref(call(t, ReadFile, &[path.get().0]).unwrap())), "zwölf\n");
        std::fs::write(&name, b"ok\xff").unwrap();
        call(t, ReadFile, &[path.get().0]).unwrap_err();
        assert_eq!(error(t).1, format!("cannot read {name}: not UTF-8 text (byte 2)"));
        let before = call(t, ClockNanos, &[]).unwrap();
        call(t, Sleep, &[5]).unwrap();
        call(t, Sleep, &[-5i64 as u64]).unwrap();
        assert!(call(t, ClockNanos, &[]).unwrap() - before >= 5_000_000);
        Ok(0)
    });
    std::fs::remove_file(path).unwrap();
}

/// Every builtin that allocates, on arguments that make it do so.
fn allocating() -> Vec<(Builtin, Vec<Arg>)> {
    vec![
        (StrConcat, vec![S("a"), S("b")]),
        (StrConcat3, vec![S("a"), S("b"), S("c")]),
        (StrSubstring, vec![S("abc"), I(1), I(2)]),
        (StrTrim, vec![S(" a ")]),
        (StrToUpper, vec![S("a")]),
        (StrToLower, vec![S("A")]),
        (StrReplace, vec![S("abc"), S("b"), S("x")]),
        (StrRepeat, vec![S("abc"), I(4)]),
        (StrFromBytes, vec![Bytes(b"abc"), I(0), I(2)]),
        (CharToStr, vec![I(65)]),
        (IntToStr, vec![I(65)]),
        (FloatToStr, vec![F(6.5)]),
        (FloatFormat, vec![F(6.5), I(3)]),
        (ClassName, vec![S("x")]),
        (ReadFile, vec![S("/dev/null")]),
        // These make an error object, its message and its trace.
        (StrSubstring, vec![S("abc"), I(1), I(9)]),
        (ReadFile, vec![S("/no/such/file")]),
        (StrConcat, vec![Null, Null]),
    ]
}

#[test]
fn memory_may_run_out_at_every_allocation() {
    let frames = vec![(jit::ir::FuncId::from_u32(2), jit::ir::Loc(7)); 30];
    let outcome = run_with(options(), frames, |t| {
        for (builtin, args) in allocating() {
            let usual = eval(t, builtin, &args);
            let mut failures = 0;
            for point in 1.. {
                let result = eval_failing(t, builtin, &args, point);
                if t.fail_allocation.replace(0) > 0 {
                    assert_eq!(result, usual, "{builtin:?}");
                    break;
                }
                assert!(result == fails("OutOfMemoryError", "out of memory") || result == usual, "{builtin:?}: {result:?}");
                failures += 1;
                t.collect(crate::runtime::heap::Want::Minor);
            }
            assert!(failures > 0, "{builtin:?} allocates nothing");
        }
        Ok(0)
    });
    assert_eq!(outcome.errors, "");
}

/// As [`eval`], but the arguments are made before the count begins.
fn eval_failing(t: &Thread, builtin: Builtin, args: &[Arg], point: u32) -> Res {
    t.fail_allocation.set(0);
    let made = args.iter().filter(|a| matches!(a, S(_) | Bytes(_))).count() as u32;
    t.fail_allocation.set(point + made);
    eval(t, builtin, args)
}
