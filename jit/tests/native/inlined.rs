//! Traces through inlined code: every kind of stop shows the frames that the source has, on both tiers.

use crate::mock::*;
use jit::ir::{CallSiteId, Loc};
use jit::native::{FrameView, SiteKind};

/// `f` calls `outer`, which calls `inner`, both inlined into it; what `inner` does at 31 stands in `f` at `@in1`. `g` calls `f`.
fn program(body: &str) -> String {
    format!(
        r#"
fn0 "inner"(class1?, int) -> int @30 {{
block0(v0: ref, v1: int):
  return v1
}}
fn1 "outer"(class1?, int) -> int @40 {{
block0(v0: ref, v1: int):
  v2 = call fn0(v0, v1) site0 @41
  return v2
}}
fn2 "thrower"(int) -> int @50 {{
block0(v0: int):
  v1 = iconst 0
  v2 = idiv v0, v1 @51
  return v2
}}
fn3 "f"(class1?, int) -> int @10 {{
in0 fn1 @41 site1 @11
in1 fn0 @31 site0 @in0
block0(v0: ref, v1: int):
{body}}}
fn4 "g"(int) -> int @20 {{
block0(v0: int):
  v1 = null
  v2 = call fn3(v1, v0) site2 @21
  return v2
}}
fn5 "thread"() {{
block0():
  return
}}
"#
    )
}

type Frames<'a> = &'a [(&'a str, u32)];

const INNER: [(&str, u32); 4] = [("inner", 31), ("outer", 41), ("f", 11), ("g", 21)];

fn error(kind: i64, operand: i64, inner: Frames<'_>) -> Outcome {
    let trace = inner.iter().chain(&INNER).map(|&(f, l)| (f.to_string(), l)).collect();
    Outcome::Error { kind, operand, trace }
}

#[test]
fn every_stop_in_inlined_code_shows_its_frames() {
    let stops: [(&str, i64, i64, Frames<'_>); 7] = [
        ("  v2 = load v0.field0 @in1\n", 1, 0, &[]),
        ("  v9 = null_check v0 @in1\n  v2 = load v9.field0 nonnull\n", 1, 0, &[]),
        ("  v9 = null_check v0 @in1\n  v2 = iconst 4\n", 1, 0, &[]),
        ("  v9 = iconst 0\n  v2 = irem v1, v9 @in1\n", 3, 0, &[]),
        ("  v9 = iconst 3\n  v8 = new_array class3, v9\n  v2 = check_bounds v8, v1 @in1\n", 2, 77_003, &[]),
        ("  v9 = iconst -1\n  v8 = new_array class3, v9 @in1\n  v2 = array_len v8\n", 5, -1, &[]),
        ("  v2 = call fn2(v1) site3 @in1\n", 3, 0, &[("thrower", 51)]),
    ];
    for (body, kind, operand, inner) in stops {
        let text = program(&format!("{body}  return v2\n"));
        assert_eq!(agree(&text, "g", &[77]), error(kind, operand, inner), "{body}");
    }
}

/// Two positions of one function, one inlined and one its own.
#[test]
fn own_code_next_to_inlined_code_stands_for_itself() {
    let text = program("  v2 = call fn0(v0, v1) site3 @12\n  v3 = load v0.field0 @13\n  v4 = idiv v2, v3 @in0\n  return v4\n");
    let trace = vec![("f".to_string(), 13), ("g".to_string(), 21)];
    assert_eq!(agree(&text, "g", &[1]), Outcome::Error { kind: 1, operand: 0, trace });
}

#[test]
fn polls_in_inlined_code_know_their_chain() {
    let text = program("  poll @in1\n  return v1\n");
    for optimize in [false, true] {
        let config = Config { optimize, ..Config::default() };
        let program = Program::new(&text, config);
        let mut thread = Thread::new(&program, config);
        thread.ctx.yield_flag.store(1, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(thread.native(program.func("g"), &[5]), Outcome::Value(5));
        let view = |name, loc, site| FrameView { func: program.func(name), loc: Loc(loc), site: Some(site) };
        let call = |site| SiteKind::Call(CallSiteId::from_u32(site));
        let expected = [view("inner", 31, SiteKind::Poll), view("outer", 41, call(0)), view("f", 11, call(1)), view("g", 21, call(2))];
        assert_eq!(thread.yielded_at, expected);
    }
}
