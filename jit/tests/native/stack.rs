//! Deep stacks: overflow is an error like any other.

use crate::mock::*;
use jit::native::STACK_RESERVE;
use std::fmt::Write;

const RECURSION: &str = r#"
fn0 "down"(int) -> int {
block0(v0: int):
  v1 = iconst 1
  v2 = iadd v0, v1
  v3 = call fn0(v2) site0 @2
  v4 = iadd v3, v1
  return v4
}
fn1 "caught"(int) -> int {
block0(v0: int):
  try call fn0(v0) site1 normal block1 unwind block2 @3
block1(v1: int):
  return v1
block2(v2: ref):
  v3 = load v2.field0
  return v3
}
fn2 "each"(int) -> int {
block0(v0: int):
  v1 = iconst 1
  v2 = iadd v0, v1
  try call fn2(v2) site2 normal block1 unwind block2 @4
block1(v3: int):
  return v3
block2(v4: ref):
  return v0
}
"#;

fn natively<R: Send>(text: &str, stack: usize, f: impl FnOnce(&Program, &mut Thread) -> R + Send) -> R {
    on_stack(stack + STACK_RESERVE, || {
        let config = Config::default();
        let program = Program::new(text, config);
        let mut thread = Thread::new(&program, config);
        f(&program, &mut thread)
    })
}

#[test]
fn overflow_is_thrown_and_caught() {
    natively(RECURSION, 256 << 10, |program, thread| {
        for _ in 0..3 {
            let Outcome::Error { kind: 6, trace, .. } = thread.native(program.func("down"), &[0]) else { panic!("no overflow") };
            assert_eq!(trace.len(), thread.trace_limit);
            assert_eq!(trace[0], ("down".into(), 0), "the frame that found no room stands at its entry");
            assert!(trace[1..].iter().all(|f| *f == ("down".into(), 2)));
            assert_eq!(thread.native(program.func("caught"), &[0]), Outcome::Value(6));
        }
        // The innermost handler gets it.
        let Outcome::Value(depth) = thread.native(program.func("each"), &[0]) else { panic!("not caught") };
        assert!(depth > 1000, "{depth} frames in 256 KiB");
    });
}

/// A poisoned limit is no overflow.
#[test]
fn a_yield_at_entry_is_no_overflow() {
    natively(RECURSION, 256 << 10, |program, thread| {
        thread.ctx.stack_limit.store(u64::MAX, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(thread.native(program.func("caught"), &[0]), Outcome::Value(6));
        assert_eq!(thread.yields, 1);
    });
}

/// Frames so large that their probes run into the guard page before the check at the entry can see them.
#[test]
fn huge_frames_overflow_too() {
    // All loaded before any is used, across a call: each takes a stack slot.
    for (n, stack) in [(600usize, 1 << 20), (80_000, 64 << 10)] {
        let mut text = String::from("fn0 \"big\"(class3, int) -> int {\nblock0(v0: ref, v1: int):\n  v2 = iconst 1\n");
        for i in 0..n {
            _ = writeln!(text, "  v{} = load_elem int v0[v1]", 10 + i);
        }
        text += "  v3 = iadd v1, v2\n  v4 = call fn0(v0, v1) site0 @2\n";
        let mut sum = "v4".to_string();
        for i in 0..n {
            _ = writeln!(text, "  v{} = iadd {sum}, v{}", 10 + n + i, 10 + i);
            sum = format!("v{}", 10 + n + i);
        }
        _ = write!(
            text,
            "  return {sum}\n}}\nfn1 \"start\"() -> int {{\nblock0():\n  v0 = iconst 4\n  v1 = new_array class3, v0\n  v2 = iconst 0\n  try call fn0(v1, v2) site1 normal block1 unwind block2\nblock1(v3: int):\n  return v3\nblock2(v4: ref):\n  v5 = load v4.field0\n  return v5\n}}\nfn2 \"raw\"() -> int {{\nblock0():\n  v0 = iconst 4\n  v1 = new_array class3, v0\n  v2 = iconst 0\n  v3 = call fn0(v1, v2) site2 @9\n  return v3\n}}\n"
        );
        natively(&text, stack, |program, thread| {
            assert_eq!(thread.native(program.func("start"), &[]), Outcome::Value(6), "{n} values");
            let Outcome::Error { kind: 6, trace, .. } = thread.native(program.func("raw"), &[]) else { panic!("no overflow") };
            assert_eq!(trace[0], ("big".into(), 0));
            assert!(n < 80_000 || trace.len() == 2, "{} frames", trace.len());
        });
    }
}
