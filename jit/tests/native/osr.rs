//! Loops that are left while they run: what goes on there does the rest, under collections, errors and counting. (`agree` leaves loops in every other test, too.)

use crate::mock::*;
use jit::ir::{Block, CallSiteId, Loc};
use jit::native::{FrameView, Level, NativeError, Profiling, SiteKind};
use jit::opt::osr::enter_at;
use std::fmt::Write;

/// Runs in the interpreter, and natively with the first loop left after so many arrivals, which must happen.
fn left_after(text: &str, func: &str, args: &[u64], after: usize) -> Outcome {
    on_stack(4 << 20, || {
        let run = |config: Config, native: bool| {
            let program = Program::new(text, config);
            let mut thread = Thread::new(&program, config);
            let func = program.func(func);
            let outcome = if native { thread.native(func, args) } else { thread.interpreted(func, args) };
            assert_eq!(thread.left > 0, native, "after {after} arrivals, of {}", thread.arrivals);
            (outcome, std::mem::take(&mut thread.output))
        };
        let expected = run(Config::default(), false);
        for (stress, optimize, quick) in [(false, false, false), (true, false, true), (true, true, false), (false, true, false)] {
            let config = Config { osr: Some(after), stress, optimize, quick, ..Config::default() };
            assert_eq!(run(config, true), expected, "{config:?}");
        }
        expected.0
    })
}

/// Integers, floats, bools and objects that live in a loop: some from before it, some made anew in each round; the objects in turn are null.
#[test]
fn everything_that_lives_is_handed_over() {
    let count = 12;
    let (mut before, mut header, mut again, mut after) = (String::new(), String::new(), String::new(), String::new());
    let (mut first, mut next) = (String::from("v1"), String::from("v90"));
    for i in 0..count {
        let (a, b, c, d) = (100 + 10 * i, 101 + 10 * i, 102 + 10 * i, 103 + 10 * i);
        write!(before, "  v{a} = iadd v0, v{}\n  v{b} = int_to_float v{a}\n", if i == 0 { 1 } else { a - 10 }).unwrap();
        write!(before, "  v{c} = icmp gt v{a}, v2\n  v{d} = new class1\n  store v{d}.field0, v{a}\n").unwrap();
        write!(first, ", v{a}, v{b}, v{c}, v{d}").unwrap();
        let (pa, pb, pc, pd) = (a + 4, b + 4, c + 4, d + 4);
        write!(header, ", v{pa}: int, v{pb}: float, v{pc}: bool, v{pd}: ref").unwrap();
        let n = 1000 + 10 * i;
        write!(again, "  v{n} = iadd v{pa}, v{a}\n  v{} = fadd v{pb}, v{b}\n  v{} = bnot v{pc}\n", n + 1, n + 2).unwrap();
        write!(again, "  v{} = new class1\n  store v{}.field0, v{n}\n", n + 3, n + 3).unwrap();
        write!(next, ", v{n}, v{}, v{}, v{}", n + 1, n + 2, n + 3).unwrap();
        let s = 2000 + 10 * i;
        let sum = if i == 0 { "v50".to_string() } else { format!("v{}", s - 10 + 6) };
        write!(after, "  v{s} = iadd {sum}, v{pa}\n  v{} = float_to_int v{pb}\n  v{} = iadd v{s}, v{}\n", s + 1, s + 2, s + 1).unwrap();
        write!(after, "  v{} = bool_to_int v{pc}\n  v{} = iadd v{}, v{}\n", s + 3, s + 4, s + 2, s + 3).unwrap();
        write!(after, "  v{} = load v{pd}.field0\n  v{} = iadd v{}, v{}\n", s + 5, s + 6, s + 4, s + 5).unwrap();
    }
    let text = format!(
        "fn0 \"f\"(int) -> int {{\nblock0(v0: int):\n  v1 = iconst 0\n  v2 = iconst 5\n{before}  jump block1({first})\n\
         block1(v50: int{header}):\n  v51 = icmp lt v50, v0\n  branch v51, block2, block3\n\
         block2():\n{again}  v89 = iconst 1\n  v90 = iadd v50, v89\n  poll\n  jump block1({next})\n\
         block3():\n{after}  return v{}\n}}\n",
        2000 + 10 * (count - 1) + 6
    );
    // Nine rounds; of the twelve numbers from before, 9, 18, ... 108, each counts ten times in three ways, and the bools have become false.
    let sum = 9 + 3 * 10 * (1..=12).map(|i| 9 * i).sum::<u64>();
    for rounds in [0, 5] {
        assert_eq!(left_after(&text, "f", &[9], rounds), Outcome::Value(sum), "after {rounds} rounds");
    }
}

/// References that a call has moved just before the poll, and that nobody has looked at since.
#[test]
fn references_in_slots_alone() {
    let text = r#"
fn0 "f"(int) -> int {
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  v3 = new class1
  store v3.field0, v0
  jump block1(v1, v3)
block1(v4: int, v5: ref):
  v6 = new class1
  v7 = load v5.field0
  v8 = iadd v7, v4
  store v6.field0, v8
  call_builtin sleep(v4)
  call fn1() site0
  poll
  v9 = iadd v4, v2
  v10 = icmp lt v9, v0
  branch v10, block1(v9, v6), block2
block2():
  v11 = load v6.field0
  v12 = load v5.field0
  v13 = load v3.field0
  v14 = iadd v11, v12
  v15 = iadd v14, v13
  return v15
}
fn1 "collects"() {
block0():
  v0 = iconst 1
  call_builtin sleep(v0)
  return
}
"#;
    for after in [0, 1, 4] {
        assert_eq!(left_after(text, "f", &[7], after), Outcome::Value(28 + 22 + 7));
    }
}

/// A nest with a `try` in the inner loop, whose handler goes on with the outer one; `f` throws from time to time, `g` catches what leaves it.
const ERRORS: &str = r#"
fn0 "f"(int, int) -> int @10 {
block0(v0: int, v1: int):
  v2 = iconst 0
  v3 = iconst 1
  v4 = iconst 100
  jump block1(v2, v2)
block1(v5: int, v6: int):
  v7 = icmp lt v5, v0
  branch v7, block2(v2, v6), block8
block2(v8: int, v9: int):
  v10 = icmp le v8, v5
  branch v10, block3, block6(v9)
block3():
  v11 = isub v8, v1
  try idiv v4, v11 normal block4 unwind block5 @11
block4(v12: int):
  v13 = iadd v9, v12
  v14 = iadd v8, v3
  poll @12
  jump block2(v14, v13)
block5(v15: ref):
  v16 = load v15.field0
  v17 = iadd v9, v16
  jump block6(v17)
block6(v18: int):
  v19 = iadd v5, v3
  v20 = isub v19, v1
  v21 = isub v20, v1
  v22 = isub v21, v1
  v23 = idiv v4, v22 @13
  v24 = iadd v18, v23
  poll @14
  jump block1(v19, v24)
block8():
  return v6
}
fn1 "g"(int, int) -> int @20 {
block0(v0: int, v1: int):
  try call fn0(v0, v1) site0 normal block1 unwind block2 @21
block1(v2: int):
  return v2
block2(v3: ref):
  v4 = load v3.field0
  return v4
}
"#;

#[test]
fn errors_find_their_handlers() {
    for after in [0, 1, 4, 7] {
        // Caught inside.
        left_after(ERRORS, "f", &[9, 4], after);
        // Not caught, and caught by the caller.
        let Outcome::Error { kind: 3, trace, .. } = left_after(ERRORS, "f", &[20, 5], after) else { panic!("division by zero") };
        assert_eq!(trace, [("f".to_string(), 13)]);
        assert_eq!(left_after(ERRORS, "g", &[20, 5], after), Outcome::Value(3));
    }
}

/// Whoever walks the stack sees the function once, where it stands.
#[test]
fn the_frame_that_was_left_is_gone() {
    let text = r#"
fn0 "f"(int) -> int @10 {
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  jump block1(v1)
block1(v3: int):
  poll @12
  v4 = iadd v3, v2
  v5 = icmp lt v4, v0
  branch v5, block1(v4), block2
block2():
  return v4
}
fn1 "g"(int) -> int @20 {
block0(v0: int):
  v1 = call fn0(v0) site0 @21
  return v1
}
"#;
    let config = Config { osr: Some(2), ..Config::default() };
    let program = Program::new(text, config);
    let stands_at = |thread: &Thread<'_>| thread.yielded_at.clone();
    let caller = FrameView { func: program.func("g"), loc: Loc(21), site: Some(SiteKind::Call(CallSiteId::from_u32(0))) };
    let callee = |site| FrameView { func: program.func("f"), loc: Loc(12), site: Some(site) };
    let mut thread = Thread::new(&program, config);
    thread.native(program.func("g"), &[2]);
    assert_eq!(stands_at(&thread), [callee(SiteKind::Loop(Block::from_u32(1))), caller]);
    thread.native(program.func("g"), &[9]);
    assert_eq!((thread.left, thread.arrivals, thread.yields), (1, 3, 11));
    assert_eq!(stands_at(&thread), [callee(SiteKind::Poll), caller]);
}

/// A function that calls itself in its loop is left at each level; calls are counted once.
#[test]
fn recursion_and_counts() {
    let text = r#"
fn0 "f"(int, int) -> int {
block0(v0: int, v1: int):
  v2 = iconst 0
  v3 = iconst 1
  jump block1(v2, v2)
block1(v4: int, v5: int):
  v6 = icmp lt v4, v0
  branch v6, block2, block3
block2():
  poll
  v7 = isub v0, v3
  v8 = iadd v1, v4
  v9 = call fn0(v7, v8) site0
  v10 = iadd v5, v9
  v11 = iadd v4, v3
  jump block1(v11, v10)
block3():
  v12 = iadd v5, v1
  return v12
}
"#;
    for after in [0, 3, 10] {
        left_after(text, "f", &[5, 1], after);
        let config = Config { osr: Some(after), profiling: Profiling::Calls, ..Config::default() };
        let program = Program::new(text, config);
        let mut thread = Thread::new(&program, config);
        let expected = thread.interpreted(program.func("f"), &[5, 1]);
        thread.ctx.calls_left = 1_000_000;
        assert_eq!(thread.native(program.func("f"), &[5, 1]), expected);
        assert_eq!(1_000_000 - thread.ctx.calls_left, thread.told.len() as i64);
    }
}

/// A loop over so many values that live behind its poll, with `body` in each round.
fn wide(live: usize, body: &str) -> String {
    let (mut start, mut params, mut args) = (String::new(), String::new(), String::new());
    for i in 0..live {
        write!(start, ", v0").unwrap();
        write!(params, ", v{}: int", 100 + i).unwrap();
        write!(args, ", v{}", 100 + (i + 1) % live).unwrap();
    }
    format!(
        "fn0 \"f\"(int) -> int {{\nblock0(v0: int):\n  v1 = iconst 0\n  v2 = iconst 1\n  jump block1(v1{start})\n\
         block1(v3: int{params}):\n  poll\n{body}  v4 = iadd v3, v2\n  v5 = icmp lt v4, v0\n  branch v5, block1(v4{args}), block2\n\
         block2():\n  return v100\n}}\n"
    )
}

#[test]
fn loops_that_hold_too_much_stay() {
    let config = Config { osr: Some(0), ..Config::default() };
    for (live, is_left) in [(126, true), (127, false)] {
        let program = Program::new(&wide(live, ""), config);
        let mut thread = Thread::new(&program, config);
        let f = program.func("f");
        assert_eq!(thread.native(f, &[3]), Outcome::Value(3));
        assert_eq!(thread.left > 0, is_left, "{live} values, the counter and the end");
        assert_eq!(enter_at(&program.module, &program.module.funcs[f], Block::from_u32(1)).is_some(), is_left);
    }
}

/// A call with nearly as many arguments as there may be, and objects that live across it.
#[test]
fn frames_that_are_too_large_are_refused() {
    let (arguments, objects) = (3990, 200);
    let mut body = String::new();
    (0..objects).for_each(|i| writeln!(body, "  v{} = new class1", 1000 + i).unwrap());
    writeln!(body, "  call fn1(v0{}) site0", ", v0".repeat(arguments - 1)).unwrap();
    (0..objects).for_each(|i| writeln!(body, "  store v{}.field0, v3", 1000 + i).unwrap());
    let params: Vec<String> = (0..arguments).map(|i| format!("v{i}: int")).collect();
    let callee = format!("fn1 \"many\"(int{}) {{\nblock0({}):\n  return\n}}\n", ", int".repeat(arguments - 1), params.join(", "));
    let config = Config { osr: Some(usize::MAX), quick: true, ..Config::default() };
    let program = Program::new(&(wide(1, &body) + &callee), config);
    let (f, block) = (program.func("f"), Block::from_u32(1));
    let body = enter_at(&program.module, &program.module.funcs[f], block).unwrap();
    let refused = program.engine.install_osr(f, block, &body, Level::Baseline);
    assert!(matches!(&refused, Err(NativeError::Compile { message, .. }) if message.contains("frame")), "{refused:?}");
    let mut thread = Thread::new(&program, config);
    assert_eq!(thread.native(f, &[2]), Outcome::Value(2));
}

/// What lives at the polls of a better body may be something else than what code for the loop takes over.
#[test]
fn only_the_function_as_it_was_declared_is_left() {
    let config = Config { osr: Some(usize::MAX), ..Config::default() };
    let program = Program::new(&wide(3, ""), config);
    let f = program.func("f");
    let arrivals = || {
        let mut thread = Thread::new(&program, config);
        assert_eq!(thread.native(f, &[3]), Outcome::Value(3));
        thread.arrivals
    };
    assert!(arrivals() > 0);
    let declared = &program.module.funcs[f];
    program.engine.install(f, &declared.clone(), Level::Optimized).unwrap();
    assert_eq!(arrivals(), 0, "another body");
    program.engine.install(f, declared, Level::Baseline).unwrap();
    assert!(arrivals() > 0);
}
