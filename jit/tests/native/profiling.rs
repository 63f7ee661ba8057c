//! Calls as compiled code counts and records them, against the calls that the interpreter makes of the same program before it was optimized: number, order, sites, and frames.
//!
//! Programs of different shapes, all compared in the same way (`calls_agree`), so they stand together in one file; behind them what is special to versions that count.

use crate::mock::*;
use jit::context::CallSeen;
use jit::ir::{CallSiteId, Entry, FuncId, Module};
use jit::native::{Engine, FrameView, Level, Listener, NewCode, Profiling, STACK_RESERVE, SiteKind};
use jit::opt::{Options, Probes, optimize};
use profiler::oracle::{Accepted, CallSiteFacts, Oracle, Refused, Verdict};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier, Once};

/// Takes whatever fits, and functions into their own code a few times.
struct Greedy;

impl Oracle for Greedy {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        match facts {
            CallSiteFacts { recursion: 3.., .. } => Verdict::Call(Refused::Recursive),
            CallSiteFacts { root_size: 600.., .. } => Verdict::Call(Refused::CalleeTooLarge),
            _ => Verdict::Inline(Accepted::Small),
        }
    }
}

/// As compiled for `--profile-inlined`, with `func` as the program's entry.
fn probed(module: &Module, func: FuncId) -> Arc<Module> {
    let module = Module { entry: Some(Entry { main: func, thread: func }), ..module.clone() };
    let options = Options { verify: true, probes: Probes::Inlined, ..Options::default() };
    Arc::new(optimize(module, &Greedy, &options).module)
}

/// Who called, from where (`None`: Rust), and who was called.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Call {
    caller: Option<(FuncId, CallSiteId)>,
    callee: FuncId,
}

impl Call {
    fn told(context: &Context) -> Call {
        let caller = context.get(1).map(|&(func, site)| (func, site.expect("a call")));
        Call { caller, callee: context[0].0 }
    }

    fn seen(engine: &Engine, seen: &CallSeen) -> Call {
        let mut chain = engine.decode(seen.pc).expect("an entry or a probe");
        let callee = chain.next().expect("a frame");
        let caller = match callee.site {
            Some(SiteKind::Entry) => {
                assert_eq!(chain.next(), None, "an entry stands in no other function");
                engine.decode(seen.ret).and_then(|mut chain| chain.next())
            }
            Some(SiteKind::Probe) => Some(chain.next().expect("an inlined function has a caller")),
            other => panic!("a call was counted at {other:?}"),
        };
        let at_call = |view: FrameView| match view.site {
            Some(SiteKind::Call(site)) => (view.func, site),
            other => panic!("{} called at {other:?}", view.func),
        };
        Call { caller: caller.map(at_call), callee: callee.func }
    }
}

const CONFIGS: [Config; 6] = {
    let base = Config {
        stress: false,
        inline_alloc: true,
        polls: true,
        optimize: false,
        quick: false,
        buffer: 4096,
        profiling: Profiling::Calls,
        burst: 0,
        osr: None,
    };
    [
        base,
        Config { stress: true, buffer: 64, ..base },
        Config { quick: true, inline_alloc: false, ..base },
        Config { optimize: true, stress: true, ..base },
        Config { osr: Some(0), stress: true, ..base },
        Config { osr: Some(2), optimize: true, ..base },
    ]
};

/// Runs natively, the calls after the first `unseen` being seen, and compares.
fn compare(program: &Program, config: Config, func: FuncId, args: &[u64], unseen: usize, expected: &(Outcome, Vec<Context>)) {
    let mut thread = Thread::new(program, config);
    thread.ctx.calls_left = unseen as i64;
    let outcome = thread.native(func, args);
    let when = format!("{config:?}, the first {unseen} unseen, of\n{}", program.module);
    assert_eq!(outcome, expected.0, "{when}");
    let told = &expected.1;
    assert_eq!(unseen as i64 - thread.ctx.calls_left, told.len() as i64, "calls counted with {when}");
    let seen: Vec<Call> = thread.seen.iter().map(|s| Call::seen(&program.engine, s)).collect();
    let told_seen = &told[unseen.min(told.len())..];
    assert_eq!(seen, told_seen.iter().map(Call::told).collect::<Vec<_>>(), "{when}");
    let slowly: Vec<usize> = (0..told_seen.len()).step_by(config.burst + 1).collect();
    assert_eq!(thread.seen_slowly.iter().map(|s| s.0).collect::<Vec<_>>(), slowly, "calls without room with {when}");
    thread.seen_slowly.iter().for_each(|(i, context)| assert_eq!(*context, told_seen[*i], "frames at call {i} with {when}"));
}

/// Every call of a run is counted, and those that are seen are seen as what they are: in baseline code, and in optimized code with probes. Gives the outcome and the number of calls.
fn calls_agree(text: &str, name: &str, args: &[u64]) -> (Outcome, usize) {
    on_stack(4 << 20, || {
        let module = parse(text);
        let plain = Program::of(module.clone(), Config::default());
        let func = plain.func(name);
        let mut thread = Thread::new(&plain, Config::default());
        let expected = (thread.interpreted(func, args), std::mem::take(&mut thread.told));
        let total = expected.1.len();
        let probed = probed(&module, func);
        let modules = [(module.clone(), Profiling::Calls), (module, Profiling::Inlined), (probed, Profiling::Inlined)];
        for (module, profiling) in modules {
            for config in CONFIGS {
                let program = Program::of(module.clone(), Config { profiling, ..config });
                for (burst, unseen) in [(0, 0), (1, 0), (3, total / 3), (1000, 1), (7, total), (2, total + 5)] {
                    compare(&program, Config { profiling, burst, ..config }, func, args, unseen, &expected);
                }
                // There is code that does not count now, to which nothing leads.
                program.engine.complete_twins();
                compare(&program, Config { profiling, burst: 3, ..config }, func, args, total / 3, &expected);
            }
        }
        (expected.0, total)
    })
}

const FIB: &str = r#"
fn0 "fib"(int) -> int {
block0(v0: int):
  v1 = iconst 2
  v2 = icmp lt v0, v1
  branch v2, block1, block2
block1():
  return v0
block2():
  v3 = iconst 1
  v4 = isub v0, v3
  v5 = call fn0(v4) site0
  v6 = isub v0, v1
  v7 = call fn0(v6) site1
  v8 = iadd v5, v7
  return v8
}"#;

#[test]
fn recursion() {
    assert_eq!(calls_agree(FIB, "fib", &[11]), (Outcome::Value(89), 287));
}

/// Loops of all kinds around small callees: counted, with a test in the middle, with an invariant check, over an array, one in the other; objects that become values.
const LOOPS: &str = r#"
class7 "Counter" extends class0 {
  field2 "n": int
}
fn0 "bump"(class7?, int) -> int @1 {
block0(v0: ref, v1: int):
  v2 = load v0.field2 @2
  v3 = iadd v2, v1
  store v0.field2, v3 @3
  return v3
}
fn1 "is_more"(int, int) -> bool @10 {
block0(v0: int, v1: int):
  v2 = icmp gt v0, v1
  return v2
}
fn2 "get"(class3?, int) -> int @20 {
block0(v0: ref, v1: int):
  v2 = check_bounds v0, v1 @21
  v3 = load_elem int v0[v2]
  return v3
}
fn3 "limit"() -> int @30 {
block0():
  v0 = iconst 3
  return v0
}
fn4 "f"(int) -> int @40 {
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  v3 = new class7
  v4 = iconst 8
  v5 = new_array class3, v4
  jump block1(v1, v1)
block1(v10: int, v11: int):
  v12 = call fn1(v0, v10) site0 @41
  branch v12, block2, block9
block2():
  v13 = call fn0(v3, v10) site1 @42
  jump block3(v1, v11)
block3(v20: int, v21: int):
  v22 = call fn3() site2 @43
  v23 = icmp lt v20, v22
  branch v23, block4, block5
block4():
  poll
  v24 = call fn2(v5, v20) site3 @44
  v25 = iadd v21, v24
  v26 = call fn0(v3, v25) site4 @45
  v27 = iadd v20, v2
  jump block3(v27, v26)
block5():
  poll
  v30 = iadd v10, v2
  jump block1(v30, v21)
block9():
  v40 = call fn0(v3, v11) site5 @46
  return v40
}
fn5 "g"(int, class3?) -> int @50 {
block0(v0: int, v1: ref):
  v2 = iconst 0
  v3 = iconst 1
  jump block1(v2, v2)
block1(v4: int, v5: int):
  v6 = call fn2(v1, v0) site6 @51
  v7 = iadd v5, v6
  v8 = iadd v4, v3
  poll
  v9 = icmp lt v8, v0
  branch v9, block1(v8, v7), block2
block2():
  return v7
}
fn6 "h"(int) -> int @60 {
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  v3 = new class7
  v4 = iconst 9
  v5 = new_array class3, v4
  jump block1(v1, v1)
block1(v6: int, v7: int):
  v8 = icmp lt v6, v0
  branch v8, block2, block3
block2():
  poll
  v9 = call fn2(v5, v6) site7 @61
  v10 = call fn0(v3, v9) site8 @62
  v11 = iadd v6, v2
  jump block1(v11, v10)
block3():
  v12 = call fn5(v4, v5) site9 @63
  return v7
}
"#;

#[test]
fn loops() {
    // n rounds: test, bump, 4 limits, 3 gets and bumps; test and bump at the end.
    assert_eq!(calls_agree(LOOPS, "f", &[6]).1, 1 + 6 * 12 + 2);
    assert_eq!(calls_agree(LOOPS, "f", &[0]).1, 3);
}

/// Checks of what does not change in the loop fail inside of the call, in the first round or a later one.
#[test]
fn errors_in_callees() {
    let (outcome, calls) = calls_agree(LOOPS, "g", &[5, 0]);
    let trace = [("get", 21), ("g", 51)].map(|(f, l)| (f.to_string(), l)).to_vec();
    assert_eq!((outcome, calls), (Outcome::Error { kind: 1, operand: 0, trace }, 2));
    let (outcome, calls) = calls_agree(LOOPS, "h", &[30]);
    assert!(matches!(outcome, Outcome::Error { kind: 2, operand: 9009, .. }), "{outcome:?}");
    assert_eq!(calls, 1 + 2 * 9 + 1);
}

const ERRORS: &str = r#"
class7 "Shape" extends class0 {
  field2 "n": int
  sel0 -> fn0
}
class8 "Odd" extends class7 {
  sel0 -> fn1
}
sel0 class7 "area"(class7) -> int
fn0 "Shape.area"(class7) -> int @1 {
block0(v0: ref):
  v1 = load v0.field2
  return v1
}
fn1 "Odd.area"(class8) -> int @2 {
block0(v0: ref):
  v1 = load v0.field2
  v2 = iconst 7
  v3 = idiv v2, v1 @3
  v4 = call fn2(v3) site0 @4
  return v4
}
fn2 "half"(int) -> int @10 {
block0(v0: int):
  v1 = iconst 1
  v2 = ishr v0, v1
  v3 = icmp eq v2, v1
  branch v3, block1, block2
block1():
  call_builtin exit(v2) @11
  return v2
block2():
  return v2
}
fn3 "make"(int) -> class7? @20 {
block0(v0: int):
  v1 = iconst 3
  v2 = iand v0, v1
  switch v2, [block1, block2, block3], block3
block1():
  v3 = new class7
  store v3.field2, v0
  return v3
block2():
  v4 = null
  return v4
block3():
  v5 = new class8
  v6 = iconst 6
  v7 = isub v0, v6
  store v5.field2, v7
  return v5
}
fn4 "one"(int) -> int @30 {
block0(v0: int):
  v1 = call fn3(v0) site1 @31
  v2 = call_virtual sel0(v1) site2 @32
  return v2
}
fn5 "all"(int) -> int @40 {
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  jump block1(v1, v1)
block1(v3: int, v4: int):
  v5 = icmp lt v3, v0
  branch v5, block2, block6
block2():
  poll
  try call fn4(v3) site3 normal block3 unwind block4 @41
block3(v6: int):
  jump block5(v6)
block4(v7: ref):
  v8 = load v7.field0
  try call fn2(v8) site4 normal block3 unwind block7 @42
block7(v9: ref):
  v10 = load v9.field1
  jump block5(v10)
block5(v11: int):
  v12 = iadd v4, v11
  v13 = iadd v3, v2
  jump block1(v13, v12)
block6():
  return v4
}
fn6 "checked"(class7?) -> int @50 {
block0(v0: ref):
  v1 = null_check v0 @51
  v2 = call fn0(v1) site5 @52
  return v2
}
"#;

/// Virtual calls with few targets, errors that pass through callers, handlers, null receivers.
#[test]
fn virtual_calls_and_exceptions() {
    let (outcome, calls) = calls_agree(ERRORS, "all", &[24]);
    assert!(matches!(outcome, Outcome::Value(_)), "{outcome:?}");
    // Each round `one` and `make`; `area` in 3 of 4, with `half` in 2 of 4 but where it divides by 0; the handler's `half` once for each error.
    assert!(calls > 1 + 24 * 3, "{calls}");
    let (outcome, calls) = calls_agree(ERRORS, "one", &[6]);
    assert!(matches!(&outcome, Outcome::Error { kind: 3, trace, .. } if trace.len() == 2), "{outcome:?}");
    assert_eq!(calls, 3);
    assert_eq!(calls_agree(ERRORS, "one", &[1]).1, 2, "a call of null is none");
    // The access in the inlined callee could make the check.
    let (outcome, calls) = calls_agree(ERRORS, "checked", &[0]);
    assert!(matches!(&outcome, Outcome::Error { kind: 1, trace, .. } if trace.len() == 1), "{outcome:?}");
    assert_eq!(calls, 1);
}

/// All registers that carry arguments, arguments on the stack, and as many values alive across the call (or around the probe) as there are registers; each is worth something else.
#[test]
fn registers_survive() {
    use std::fmt::Write;
    let ty = |i: usize| if i.is_multiple_of(2) { "int" } else { "float" };
    let list = |n: usize, f: &dyn Fn(usize) -> String| (0..n).map(f).collect::<Vec<_>>().join(", ");
    let (params, live) = (24, 40);
    // Sums up values from `first` on, weighted.
    let weigh = |text: &mut String, first: usize, n: usize, at: usize| {
        let mut sum = format!("v{at}");
        _ = writeln!(text, "  v{at} = fconst 0.0");
        for i in 0..n {
            let base = at + 4 * i + 1;
            let value = if ty(i) == "int" {
                format!("  v{base} = int_to_float v{}\n", first + i)
            } else {
                format!("  v{base} = fneg v{}\n", first + i)
            };
            _ = write!(
                text,
                "{value}  v{} = fconst {}.5\n  v{} = fmul v{base}, v{}\n  v{} = fadd {sum}, v{}\n",
                base + 1,
                3 * i + 1,
                base + 2,
                base + 1,
                base + 3,
                base + 2
            );
            sum = format!("v{}", base + 3);
        }
        sum
    };
    let mut text = format!(
        "fn0 \"callee\"({}) -> float {{\nblock0({}):\n",
        list(params, &|i| ty(i).into()),
        list(params, &|i| format!("v{i}: {}", ty(i)))
    );
    let sum = weigh(&mut text, 0, params, 100);
    _ = write!(text, "  return {sum}\n}}\nfn1 \"caller\"(int, float) -> float {{\nblock0(v0: int, v1: float):\n");
    for i in 0..live {
        let (at, of) = (1000 + i, 2000 + i);
        match ty(i) {
            "int" => _ = writeln!(text, "  v{of} = iconst {}\n  v{at} = imul v0, v{of}", 5 * i + 3),
            _ => _ = writeln!(text, "  v{of} = fconst {}.25\n  v{at} = fmul v1, v{of}", 5 * i + 3),
        }
    }
    _ = writeln!(text, "  v3000 = call fn0({}) site0", list(params, &|i| format!("v{}", 1000 + (i + 6) % live)));
    _ = writeln!(text, "  v3001 = call fn0({}) site1", list(params, &|i| format!("v{}", 1000 + i)));
    let sum = weigh(&mut text, 1000, live, 4000);
    _ = write!(text, "  v5000 = fadd v3000, {sum}\n  v5001 = fsub v5000, v3001\n  return v5001\n}}\n");
    let (outcome, calls) = calls_agree(&text, "caller", &[77, 1.375f64.to_bits()]);
    assert!(matches!(outcome, Outcome::Value(_)));
    assert_eq!(calls, 3);
}

/// References in registers and on the stack, where the same prologue yields (and everything moves), counts, and finds no room.
#[test]
fn yields_where_calls_are_counted() {
    let params = ["class1"; 10].join(", ");
    let block = (0..10).map(|i| format!("v{i}: ref")).collect::<Vec<_>>().join(", ");
    let weigh = (0..10)
        .map(|i| {
            format!(
                "  v{a} = load v{i}.field1\n  v{b} = iadd v{p}, v{a}\n  v{c} = iadd v{b}, v{b}\n",
                a = 21 + 3 * i,
                b = 22 + 3 * i,
                c = 23 + 3 * i,
                p = 20 + 3 * i
            )
        })
        .collect::<String>();
    let make = (0..10)
        .map(|i| format!("  v{} = new class1\n  v{n} = iconst {i}\n  store v{}.field1, v{n}\n", 100 + i, 100 + i, n = 200 + i))
        .collect::<String>();
    let args = |from: usize| (0..10).map(|i| format!("v{}", 100 + (i + from) % 10)).collect::<Vec<_>>().join(", ");
    let text = format!(
        "fn0 \"weigh\"({params}) -> int {{\nblock0({block}):\n  v20 = iconst 0\n{weigh}  return v50\n}}\n\
         fn1 \"f\"() -> int {{\nblock0():\n{make}  v300 = call_builtin clock_nanos()\n  v301 = call fn0({}) site0\n  v302 = call_builtin clock_nanos()\n  v303 = call fn0({}) site1\n  \
         v304 = call fn0({}) site2\n  v305 = isub v301, v303\n  v306 = imul v305, v304\n  return v306\n}}\n",
        args(0),
        args(3),
        args(7)
    );
    assert_eq!(calls_agree(&text, "f", &[]).1, 4);
}

/// A yield that arms the count is followed by the very call at whose prologue it is.
#[test]
fn a_yield_arms_the_count_for_the_call_it_is_in() {
    let config = Config { profiling: Profiling::Calls, burst: 2, ..Config::default() };
    let program = Program::new(FIB, config);
    let mut thread = Thread::new(&program, config);
    thread.ctx.calls_left = i64::MAX;
    thread.calls_left_at_yield = Some(1);
    thread.ctx.stack_limit.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(thread.native(program.func("fib"), &[4]), Outcome::Value(3));
    assert_eq!((thread.yields, 1 - thread.ctx.calls_left, thread.seen.len()), (1, 9, 8));
}

const EACH: &str = r#"
fn0 "each"(int) -> int {
block0(v0: int):
  v1 = iconst 1
  v2 = iadd v0, v1
  try call fn0(v2) site0 normal block1 unwind block2
block1(v3: int):
  return v3
block2(v4: ref):
  return v0
}"#;

/// A call that finds no stack is not made, and not counted.
#[test]
fn overflow() {
    on_stack((128 << 10) + STACK_RESERVE, || {
        let config = Config { profiling: Profiling::Calls, ..Config::default() };
        let program = Program::new(EACH, config);
        let mut thread = Thread::new(&program, config);
        thread.ctx.calls_left = i64::MAX;
        let Outcome::Value(deepest) = thread.native(program.func("each"), &[0]) else { panic!("not caught") };
        assert_eq!((i64::MAX - thread.ctx.calls_left) as u64, deepest + 1);
    });
}

/// Each thread has its own count and its own records; the code is shared, first compiled while they run, and decoded by another.
#[test]
fn threads() {
    let config = Config { profiling: Profiling::Inlined, burst: 50, ..Config::default() };
    let module = parse(FIB);
    let program = Program::of(probed(&module, FuncId::from_u32(0)), config);
    let seen: Vec<Vec<CallSeen>> = std::thread::scope(|s| {
        let run = |n: u64| {
            let program = &program;
            s.spawn(move || {
                let mut thread = Thread::new(program, config);
                thread.native(program.func("fib"), &[n]);
                assert_eq!(-thread.ctx.calls_left, thread.seen.len() as i64);
                std::mem::take(&mut thread.seen)
            })
        };
        let threads: Vec<_> = (8..12).map(run).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for (seen, n) in seen.iter().zip(8..12) {
        let mut thread = Thread::new(&program, config);
        let plain = Program::of(module.clone(), Config::default());
        let mut plain = Thread::new(&plain, config);
        plain.interpreted(FuncId::from_u32(0), &[n]);
        thread.native(FuncId::from_u32(0), &[n]);
        let calls = |seen: &[CallSeen]| seen.iter().map(|s| Call::seen(&program.engine, s)).collect::<Vec<_>>();
        assert_eq!(calls(seen), plain.told.iter().map(Call::told).collect::<Vec<_>>());
    }
}

/// The raw walk passes from compiled code into Rust and back, and says where.
#[test]
fn frames_across_entries_from_rust() {
    let text = r#"
fn0 "outer"() -> int {
block0():
  v0 = iconst -2
  v1 = call fn1(v0) site0 @1
  return v1
}
fn1 "through"(int) -> int {
block0(v0: int):
  call_builtin sleep(v0) @2
  return v0
}
fn2 "inner"() {
block0():
  call fn3() site1 @3
  return
}
fn3 "leaf"() {
block0():
  return
}
"#;
    let config = Config { profiling: Profiling::Calls, ..Config::default() };
    let program = Program::new(text, config);
    let mut thread = Thread::new(&program, config);
    thread.native(program.func("outer"), &[]);
    let [outer, through, inner, leaf] = [0, 1, 2, 3].map(FuncId::from_u32);
    let site = |i| Some(CallSiteId::from_u32(i));
    let expected = [
        vec![(outer, None)],
        vec![(through, None), (outer, site(0))],
        vec![(inner, None), (through, None), (outer, site(0))],
        vec![(leaf, None), (inner, site(1)), (through, None), (outer, site(0))],
    ];
    assert_eq!(thread.seen_slowly.iter().map(|s| s.1.clone()).collect::<Vec<_>>(), expected);
    // What Rust called returns to no compiled code.
    let returns = thread.seen.iter().map(|s| program.engine.decode(s.ret).is_some());
    assert_eq!(returns.collect::<Vec<_>>(), [false, true, false, true]);
    assert!(program.engine.decode(0).is_none() && program.engine.decode(thread.seen[0].pc + 1).is_none());
}

#[test]
fn listings_show_where_calls_are_counted() {
    let module = parse(LOOPS);
    let func = FuncId::from_u32(4);
    let listing = |module: &Arc<Module>, profiling| {
        let program = Program::of(module.clone(), Config { profiling, ..Config::default() });
        program.engine.dump_asm(func).unwrap()
    };
    let count = |text: &str, what: &str| text.matches(what).count();
    let probes = probed(&module, func);
    assert_eq!(count(&listing(&module, Profiling::Off), "call_seen"), 0);
    assert_eq!(count(&listing(&module, Profiling::Calls), "call_seen"), 1);
    assert_eq!(count(&listing(&probes, Profiling::Off), "call_seen"), 0);
    assert_eq!(count(&listing(&probes, Profiling::Calls), "call_seen"), 1);
    let inlined = listing(&probes, Profiling::Inlined);
    assert_eq!(count(&inlined, "call_seen"), 1 + count(&inlined, " probe"), "{inlined}");
    assert!(count(&inlined, " probe") >= 6 && inlined.contains("in bump"), "{inlined}");
}

/// Both versions do the same, and only one counts: which of them runs is the engine's choice. Virtual calls get to them, too.
#[test]
fn functions_have_a_version_that_counts_and_one_that_does_not() {
    on_stack(4 << 20, || {
        let config = Config { profiling: Profiling::Calls, ..CONFIGS[0] };
        let program = Program::of(parse(ERRORS), config);
        let func = program.func("all");
        let run = || {
            let mut thread = Thread::new(&program, config);
            thread.ctx.calls_left = 1_000_000;
            (thread.native(func, &[24]), 1_000_000 - thread.ctx.calls_left)
        };
        let counted = run();
        assert!(counted.1 > 24, "{counted:?}");
        program.engine.count_calls(false);
        assert_eq!(run(), counted, "there is no other version yet");
        program.engine.complete_twins();
        assert_eq!(run(), (counted.0.clone(), 0));
        program.engine.count_calls(true);
        assert_eq!(run(), counted);
    });
}

/// Functions that are first called while nothing is counted get the version that counts afterwards.
#[test]
fn code_that_counts_comes_when_it_is_asked_for() {
    let config = Config { profiling: Profiling::Calls, ..CONFIGS[0] };
    let program = Program::new(FIB, config);
    let run = || {
        let mut thread = Thread::new(&program, config);
        assert_eq!(thread.native(program.func("fib"), &[11]), Outcome::Value(89));
        -thread.ctx.calls_left
    };
    program.engine.count_calls(false);
    assert_eq!(run(), 0);
    program.engine.count_calls(true);
    assert_eq!(run(), 0, "there is no code that counts");
    program.engine.complete_twins();
    assert_eq!(run(), 287);
    let versions = |engine: &Engine| engine.stats().baseline.versions;
    assert_eq!(versions(&program.engine), 2);
    program.engine.complete_twins();
    assert_eq!(versions(&program.engine), 2, "nothing is missing any more");
}

/// Who compiles first waits here, with code that nobody has got yet, for somebody to do something.
#[derive(Debug)]
struct Meanwhile {
    once: Once,
    compiled: Barrier,
    done: Barrier,
}

impl Listener for Meanwhile {
    fn compiled(&self, _: &NewCode<'_>) {
        self.once.call_once(|| _ = (self.compiled.wait(), self.done.wait()));
    }

    fn ended(&self) {}
}

/// A window opens while a function is compiled for the first time, outside of windows.
#[test]
fn code_that_comes_late_counts_where_calls_are_counted_by_then() {
    let config = Config { profiling: Profiling::Calls, ..CONFIGS[0] };
    let meanwhile = Arc::new(Meanwhile { once: Once::new(), compiled: Barrier::new(2), done: Barrier::new(2) });
    let program = Program::adjusted(parse(FIB), config, |options| options.listener = Some(meanwhile.clone()));
    let (engine, fib) = (&program.engine, program.func("fib"));
    engine.count_calls(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            meanwhile.compiled.wait();
            engine.count_calls(true);
            meanwhile.done.wait();
        });
        engine.compile(fib).unwrap();
    });
    let mut thread = Thread::new(&program, config);
    assert_eq!((thread.native(fib, &[11]), -thread.ctx.calls_left), (Outcome::Value(89), 287));
}

/// The same in code that counts and in code that does not.
#[test]
fn overflow_in_either_version() {
    on_stack((128 << 10) + STACK_RESERVE, || {
        let config = Config { profiling: Profiling::Calls, ..Config::default() };
        let program = Program::new(EACH, config);
        let run = || {
            let mut thread = Thread::new(&program, config);
            let Outcome::Value(deepest) = thread.native(program.func("each"), &[0]) else { panic!("not caught") };
            assert!(deepest > 100);
            (deepest as i64, -thread.ctx.calls_left)
        };
        let (deepest, counted) = run();
        assert_eq!(counted, deepest + 1);
        program.engine.complete_twins();
        program.engine.count_calls(false);
        assert_eq!(run().1, 0);
    });
}

/// Optimized code never counts here, and what is beside it always does: where calls go is the engine's choice.
#[test]
fn code_that_counts_beside_optimized_code() {
    on_stack(4 << 20, || {
        let config = Config { profiling: Profiling::Calls, ..CONFIGS[0] };
        let program = Program::adjusted(parse(FIB), config, |options| options.profile_optimized = false);
        let func = program.func("fib");
        let run = || {
            let mut thread = Thread::new(&program, config);
            assert_eq!(thread.native(func, &[11]), Outcome::Value(89));
            -thread.ctx.calls_left
        };
        program.engine.count_calls(false);
        assert_eq!(run(), 287, "there is one version, which counts");
        program.engine.install(func, &program.module.funcs[func], Level::Optimized).unwrap();
        assert_eq!(run(), 0);
        program.engine.count_calls(true);
        assert_eq!(run(), 287);
        program.engine.count_calls(false);
        assert_eq!(run(), 0);
        program.engine.count_calls(true);
        program.engine.complete_twins();
        let stats = program.engine.stats();
        assert_eq!((stats.baseline.versions, stats.optimized.versions), (1, 1), "nothing is missing");
    });
}

/// All of a program is optimized, some of it in a window, and calls are virtual: a window counts all calls, and behind it none.
#[test]
fn windows_beside_optimized_code_count_all_calls() {
    on_stack(4 << 20, || {
        let config = Config { profiling: Profiling::Calls, ..CONFIGS[0] };
        let program = Program::adjusted(parse(ERRORS), config, |options| options.profile_optimized = false);
        let engine = &program.engine;
        let run = || {
            let mut thread = Thread::new(&program, config);
            thread.ctx.calls_left = 1_000_000;
            (thread.native(program.func("all"), &[24]), 1_000_000 - thread.ctx.calls_left)
        };
        let counted = run();
        assert!(counted.1 > 24, "{counted:?}");
        let plain = (counted.0.clone(), 0);
        let functions: Vec<FuncId> = program.module.funcs.keys().collect();
        engine.count_calls(false);
        for (i, &func) in functions.iter().enumerate() {
            engine.count_calls(i % 2 == 0);
            engine.install(func, &program.module.funcs[func], Level::Optimized).unwrap();
        }
        for _ in 0..2 {
            engine.count_calls(true);
            assert_eq!(run(), counted);
            engine.count_calls(false);
            assert_eq!(run(), plain);
            functions.iter().for_each(|&func| _ = engine.arm(func));
        }
    });
}
