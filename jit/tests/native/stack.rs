//! Deep stacks: overflow is an error like any other.

use crate::mock::*;
use jit::native::{NativeError, STACK_RESERVE};
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
fn3 "deep"(int) -> int {
block0(v0: int):
  v1 = iconst 1
  v2 = iadd v0, v1
  try call fn3(v2) site3 normal block1 unwind block2 @4
block1(v3: int):
  return v3
block2(v4: ref):
  v5 = call fn4(v0) site4
  v6 = icmp eq v5, v0
  v7 = bool_to_int v6
  return v7
}
fn4 "id"(int) -> int {
block0(v0: int):
  v1 = iconst 3
  v2 = new_array class3, v1
  v3 = array_len v2
  v4 = iadd v0, v3
  v5 = isub v4, v1
  return v5
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
            // A function that finds no room has not begun: the trace starts at its call, as in the interpreter.
            assert!(trace.iter().all(|f| *f == ("down".into(), 2)), "{trace:?}");
            assert_eq!(thread.native(program.func("caught"), &[0]), Outcome::Value(6));
        }
        // The innermost handler gets it.
        let Outcome::Value(depth) = thread.native(program.func("each"), &[0]) else { panic!("not caught") };
        assert!(depth > 1000, "{depth} frames in 256 KiB");
    });
}

/// The compiler itself finds room at the end of the stack.
#[test]
fn first_calls_at_the_end_of_the_stack() {
    natively(RECURSION, 256 << 10, |program, thread| {
        assert_eq!(thread.native(program.func("deep"), &[0]), Outcome::Value(1));
        assert!(program.engine.failures().is_empty());
    });
}

/// What the compiler cannot do is an error, too.
#[test]
fn code_that_cannot_be_compiled() {
    let params = vec!["int"; 5000].join(", ");
    let block: Vec<String> = (0..5000).map(|i| format!("v{i}: int")).collect();
    let args = vec!["v0"; 5000].join(", ");
    let text = format!(
        "fn0 \"wide\"({params}) -> int {{\nblock0({}):\n  return v4999\n}}\nfn1 \"f\"(int) -> int {{\nblock0(v0: int):\n  v1 = call fn0({args}) site0 @3\n  return v1\n}}",
        block.join(", ")
    );
    natively(&text, 256 << 10, |program, thread| {
        for _ in 0..2 {
            let trace = vec![("f".into(), 3)];
            assert_eq!(thread.native(program.func("f"), &[1]), Outcome::Error { kind: 7, operand: 0, trace });
        }
        assert!(matches!(&program.engine.failures()[..], [NativeError::Compile { .. }]), "the reason is kept once");
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
            // The large one does not fit even once: `raw`'s call of it throws.
            let first = if n < 80_000 { ("big".into(), 2) } else { ("raw".into(), 9) };
            assert_eq!(trace[0], first);
            assert!(n < 80_000 || trace.len() == 1, "{} frames", trace.len());
        });
    }
}
