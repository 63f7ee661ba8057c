//! Threads: first calls race, timers ask for yields, errors stay with their thread.

use crate::mock::*;
use std::fmt::Write;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

/// Hundreds of functions, each calling the next two: threads that start together meet uncompiled functions at once.
#[test]
fn racing_first_calls_compile_once() {
    const N: usize = 300;
    let mut text = String::new();
    for i in 0..N {
        let (a, b) = (i + 1, (i * 7 + 3) % (N - i) + i + 1);
        if b >= N {
            _ = write!(text, "fn{i} \"f{i}\"(int) -> int {{\nblock0(v0: int):\n  v1 = iconst {i}\n  v2 = iadd v0, v1\n  return v2\n}}\n");
            continue;
        }
        // The first half calls the next function, too, one level at a time.
        let call = if i % 2 == 0 { b } else { a.min(N - 1) };
        _ = write!(
            text,
            "fn{i} \"f{i}\"(int) -> int {{\nblock0(v0: int):\n  v1 = call fn{call}(v0) site{i}\n  v2 = iconst {i}\n  v3 = imul v1, v2\n  v4 = iadd v3, v0\n  return v4\n}}\n"
        );
    }
    let module = parse(&sites_dense(&text));
    for round in 0..5 {
        let program = Program::of(module.clone(), Config::default());
        let start = Barrier::new(4);
        let results: Vec<Vec<Outcome>> = std::thread::scope(|s| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    s.spawn(|| {
                        let mut thread = Thread::new(&program, Config::default());
                        start.wait();
                        (0..N).map(|i| thread.native(program.func(&format!("f{i}")), &[round])).collect()
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(results.iter().all(|r| *r == results[0]));
        let mut thread = Thread::new(&program, Config::default());
        let expected: Vec<_> = (0..N).map(|i| thread.interpreted(program.func(&format!("f{i}")), &[round])).collect();
        assert_eq!(results[0], expected);
        assert_eq!(program.engine.stats().baseline.versions, N as u64);
    }
}

/// Renumbers call sites without gaps.
fn sites_dense(text: &str) -> String {
    let mut next = 0;
    let mut out = String::new();
    for (i, part) in text.split(" site").enumerate() {
        if i == 0 {
            out += part;
            continue;
        }
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        _ = write!(out, " site{next}{}", &part[digits..]);
        next += 1;
    }
    out
}

const LOOPS: &str = r#"
fn0 "spin"(int) -> int {
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  v9 = new class1
  store v9.field1, v0
  jump block1(v1, v1)
block1(v3: int, v4: int):
  v5 = icmp lt v3, v0
  branch v5, block2, block3
block2():
  poll
  v6 = iadd v3, v2
  v7 = ixor v4, v3
  jump block1(v6, v7)
block3():
  v8 = load v9.field1
  v10 = isub v4, v8
  return v10
}
fn1 "calls"(int) -> int {
block0(v0: int):
  v1 = iconst 30
  v2 = icmp lt v0, v1
  branch v2, block1, block2
block1():
  v3 = iconst 1
  v4 = iadd v0, v3
  v5 = call fn1(v4) site0
  v6 = call fn1(v4) site1
  v7 = iadd v5, v6
  return v7
block2():
  v8 = iconst 1
  return v8
}"#;

/// Another thread sets the flag and poisons the limit again and again while this one loops and recurses; each yield moves everything.
#[test]
fn timers() {
    for stress in [false, true] {
        let config = Config { stress, ..Config::default() };
        let program = Program::new(LOOPS, config);
        let done = AtomicBool::new(false);
        on_stack(4 << 20, || {
            let mut thread = Thread::new(&program, config);
            let ctx = &*thread.ctx as *const _ as usize;
            std::thread::scope(|s| {
                s.spawn(|| {
                    // SAFETY: the context outlives the scope; only its atomics are touched.
                    let (limit, flag) = unsafe {
                        let ctx = ctx as *const jit::context::ThreadContext;
                        (&(*ctx).stack_limit, &(*ctx).yield_flag)
                    };
                    while !done.load(Ordering::Relaxed) {
                        limit.store(u64::MAX, Ordering::Relaxed);
                        flag.store(1, Ordering::Relaxed);
                        std::thread::yield_now();
                    }
                });
                let n = 3_000_000i64;
                let mut outcomes = Vec::new();
                // On a busy machine the other thread may not run at all before the code is through once.
                while thread.yields < 10 {
                    outcomes.push(thread.native(program.func("spin"), &[n as u64]));
                    outcomes.push(thread.native(program.func("calls"), &[10]));
                }
                done.store(true, Ordering::Relaxed);
                for outcome in outcomes.chunks(2) {
                    // 0 ^ 1 ^ … ^ (n − 1) for n divisible by 4 is 0.
                    assert_eq!(outcome, [Outcome::Value(-n as u64), Outcome::Value(1 << 20)]);
                }
            });
            assert_eq!(thread.collections > 0, stress);
        });
    }
}

/// Threads that trap at once, on the signal path, keep their errors apart.
#[test]
fn traps_on_many_threads() {
    let text = r#"
fn0 "get"(class3, int) -> int {
block0(v0: ref, v1: int):
  v2 = check_bounds v0, v1 @5
  v3 = load_elem int v0[v2]
  return v3
}
fn1 "f"(int) -> int {
block0(v0: int):
  v1 = iconst 3
  v2 = new_array class3, v1
  try call fn0(v2, v0) site0 normal block1 unwind block2
block1(v3: int):
  return v3
block2(v4: ref):
  v5 = load v4.field1
  return v5
}"#;
    let program = Program::new(text, Config::default());
    std::thread::scope(|s| {
        for t in 1..5u64 {
            let program = &program;
            s.spawn(move || {
                let mut thread = Thread::new(program, Config::default());
                for i in 0..2000 {
                    let index = t * 10_000 + i;
                    assert_eq!(thread.native(program.func("f"), &[index]), Outcome::Value(index * 1000 + 3));
                }
            });
        }
    });
}

/// Engines come and go; faults find the right one.
#[test]
fn engines_come_and_go() {
    let text = "fn0 \"f\"(class1?) -> int {\nblock0(v0: ref):\n  v1 = load v0.field1 @7\n  return v1\n}";
    let keep = Program::new(text, Config::default());
    let mut kept = Thread::new(&keep, Config::default());
    for _ in 0..20 {
        let program = Program::new(text, Config::default());
        let mut thread = Thread::new(&program, Config::default());
        let expected = Outcome::Error { kind: 1, operand: 0, trace: vec![("f".into(), 7)] };
        assert_eq!(thread.native(program.func("f"), &[0]), expected);
        assert_eq!(kept.native(keep.func("f"), &[0]), expected);
    }
}
