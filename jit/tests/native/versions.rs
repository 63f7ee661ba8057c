//! Several versions of functions: installed while others run, freed when nobody does.

use crate::mock::*;
use jit::context::ThreadContext;
use jit::ir::{FuncId, Function};
use jit::native::{Engine, Level, NativeError, Profiling, Reclaimed, SiteKind, walk_raw};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Condvar, Mutex, PoisonError};

const LEVELS: [Level; 2] = Level::ALL;

/// A function as it stands in another program of the same declarations.
pub fn body(text: &str, name: &str) -> Function {
    let module = parse(text);
    module.funcs.values().find(|f| &*f.name == name).expect("a function").clone()
}

/// As the runtime does it, with all threads' contexts.
pub fn reclaim(engine: &Engine, decoded: u64, threads: &[&ThreadContext]) -> Reclaimed {
    let mut in_use = |f: &mut dyn FnMut(u64)| {
        for ctx in threads {
            let mut frame = |frame: jit::native::RawFrame| {
                f(frame.pc);
                ControlFlow::Continue(())
            };
            // SAFETY: their threads stand at safepoints, or run no code.
            unsafe { walk_raw(ctx, &mut frame) };
        }
    };
    // SAFETY: the caller gives all threads that run code.
    unsafe { engine.reclaim(decoded, &mut in_use) }
}

/// Calls `f` at each poll and each error, with how many there were before.
pub fn at_each_stop<'a>(thread: &mut Thread<'a>, mut f: impl FnMut(usize, &ThreadContext) + 'a) {
    thread.ctx.yield_flag.store(1, Ordering::Relaxed);
    let mut stops = 0;
    thread.at_stop = Some(Box::new(move |ctx| {
        ctx.yield_flag.store(1, Ordering::Relaxed);
        f(stops, ctx);
        stops += 1;
    }));
}

/// `run` calls `leaf` in both ways in each round, after a poll.
pub fn rounds(leaf: i64) -> String {
    format!(
        r#"
class7 "Box" extends class0 {{
  field2 "n": int
  sel0 -> fn0
}}
sel0 class7 "leaf"(class7) -> int
fn0 "leaf"(class7) -> int {{
block0(v0: ref):
  v1 = iconst {leaf}
  return v1
}}
fn1 "run"(int) -> int {{
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  v3 = new class7
  jump block1(v1, v1)
block1(v4: int, v5: int):
  v6 = icmp lt v4, v0
  branch v6, block2, block3
block2():
  poll
  v7 = call fn0(v3) site0
  v8 = call_virtual sel0(v3) site1
  v9 = iconst 100
  v10 = imul v8, v9
  v11 = iadd v7, v10
  v12 = iadd v5, v11
  v13 = iadd v4, v2
  jump block1(v13, v12)
block3():
  return v5
}}
"#
    )
}

#[test]
fn calls_go_to_the_new_version() {
    for level in LEVELS {
        let program = Program::new(&rounds(7), Config::default());
        let (leaf, run) = (program.func("leaf"), program.func("run"));
        let mut thread = Thread::new(&program, Config::default());
        let install = |polls: usize, _: &ThreadContext| {
            if polls > 0 {
                let version = program.engine.install(leaf, &body(&rounds(polls as i64), "leaf"), level).unwrap();
                assert_eq!((version.func, version.level, version.entry), (leaf, level, program.engine.compile(leaf).unwrap()));
            }
        };
        at_each_stop(&mut thread, install);
        assert_eq!(thread.native(run, &[10]), Outcome::Value(101 * (7 + (1..10).sum::<u64>())));
        let stats = program.engine.stats();
        let counts = (stats.baseline.versions, stats.optimized.versions);
        // `run` and the first `leaf` were compiled when they were called.
        assert_eq!(counts, if level == Level::Baseline { (2 + 9, 0) } else { (2, 9) });
        assert_eq!(thread.compiled, 2, "these came to the compiler once each");
    }
}

/// Cranelift divides by a constant without a division only where it optimizes.
#[test]
fn levels_make_different_code() {
    let text = "fn0 \"f\"(int) -> int {\nblock0(v0: int):\n  v1 = iconst 10\n  v2 = idiv v0, v1\n  return v2\n}";
    for first in LEVELS {
        let program = Program::new(text, Config { optimize: first == Level::Optimized, ..Config::default() });
        let func = program.func("f");
        let mut thread = Thread::new(&program, Config::default());
        let mut has_division = || {
            assert_eq!(thread.native(func, &[-57i64 as u64]), Outcome::Value(-5i64 as u64));
            program.engine.dump_asm(func).unwrap().contains("idiv")
        };
        assert_eq!(has_division(), first == Level::Baseline);
        for level in LEVELS {
            program.engine.install(func, &body(text, "f"), level).unwrap();
            assert_eq!(has_division(), level == Level::Baseline);
        }
    }
}

/// A version that is installed before the first call is not compiled a second time.
#[test]
fn a_version_can_come_before_the_first_call() {
    let program = Program::new(&rounds(7), Config::default());
    let mut thread = Thread::new(&program, Config::default());
    program.engine.install(program.func("leaf"), &body(&rounds(5), "leaf"), Level::Optimized).unwrap();
    assert_eq!(thread.native(program.func("run"), &[2]), Outcome::Value(2 * 505));
    assert_eq!(program.engine.stats().baseline.versions, 1, "`run`");
    assert_eq!(reclaim(&program.engine, u64::MAX, &[]), Reclaimed { number: 1, ..Reclaimed::default() });
}

/// `outer` calls `work` in each round, which polls in two rounds of its own and gives `work`.
fn nested(work: i64) -> String {
    format!(
        r#"
fn0 "work"() -> int {{
block0():
  v0 = iconst {work}
  v1 = iconst 0
  jump block1(v1)
block1(v2: int):
  v3 = iconst 2
  v4 = icmp lt v2, v3
  branch v4, block2, block3
block2():
  poll
  v5 = iconst 1
  v6 = iadd v2, v5
  jump block1(v6)
block3():
  return v0
}}
fn1 "outer"(int) -> int {{
block0(v0: int):
  v1 = iconst 0
  jump block1(v1, v1)
block1(v2: int, v3: int):
  v4 = icmp lt v2, v0
  branch v4, block2, block3
block2():
  poll
  v5 = call fn0() site0
  v6 = iadd v3, v5
  v7 = iconst 1
  v8 = iadd v2, v7
  jump block1(v8, v6)
block3():
  return v3
}}
"#
    )
}

#[test]
fn code_with_frames_stays_and_is_then_used_again() {
    for level in LEVELS {
        let program = Program::new(&nested(1), Config { optimize: level == Level::Optimized, ..Config::default() });
        let (engine, work) = (&program.engine, program.func("work"));
        let first = engine.compile(work).unwrap();
        let code = engine.stats().code_bytes;
        let mut freed = 0;
        let mut thread = Thread::new(&program, Config::default());
        at_each_stop(&mut thread, |polls, ctx| match polls {
            // `outer` polls at 0, 3, 6, 9, and `work` in between.
            0 => {}
            1 => {
                engine.install(work, &body(&nested(10), "work"), level).unwrap();
                let found = reclaim(engine, u64::MAX, &[ctx]);
                assert_eq!((found.number, found.freed, found.in_use, found.waiting), (1, 0, 1, 0));
            }
            2 => assert_eq!(reclaim(engine, u64::MAX, &[ctx]).in_use, 1),
            3 => {
                let found = reclaim(engine, u64::MAX, &[ctx]);
                assert_eq!((found.number, found.freed, found.in_use, found.waiting), (3, 1, 0, 0));
                freed = found.bytes;
                // Of the same length, so it goes where the first was.
                assert_eq!(engine.install(work, &body(&nested(2), "work"), level).unwrap().entry, first);
            }
            4 => assert_eq!(reclaim(engine, u64::MAX, &[ctx]).freed, 1, "the second version"),
            _ => assert_eq!(reclaim(engine, u64::MAX, &[ctx]), Reclaimed { number: polls as u64, ..Reclaimed::default() }),
        });
        // The first round goes on in the old version, and the second calls a new one that lies where it was.
        assert_eq!(thread.native(program.func("outer"), &[4]), Outcome::Value(1 + 3 * 2));
        drop(thread);
        let stats = engine.stats();
        assert_eq!((stats.freed, freed), (2, code), "{stats:?}");
    }
}

/// Functions in a row in memory, each of which fails at its own position.
fn failing(position: u32) -> String {
    let each = |i: u32| {
        let position = 10 * i + position;
        format!("fn{i} \"f{i}\"(class1?) -> int {{\nblock0(v0: ref):\n  v1 = load v0.field1 @{position}\n  return v1\n}}\n")
    };
    (0..20).map(each).collect()
}

#[test]
fn faults_are_known_next_to_freed_code() {
    let program = Program::new(&failing(1), Config::default());
    let mut thread = Thread::new(&program, Config::default());
    let ids: Vec<FuncId> = program.module.funcs.keys().collect();
    let mut fails = |i: usize, position: u32| {
        let trace = vec![(format!("f{i}"), 10 * i as u32 + position)];
        assert_eq!(thread.native(ids[i], &[0]), Outcome::Error { kind: 1, operand: 0, trace });
    };
    (0..ids.len()).for_each(|i| fails(i, 1));
    for version in 2..6 {
        for i in (0..ids.len()).step_by(2) {
            let level = LEVELS[(i / 2 + version as usize) % 2];
            program.engine.install(ids[i], &body(&failing(version), &format!("f{i}")), level).unwrap();
        }
        assert_eq!(reclaim(&program.engine, u64::MAX, &[]).freed, 10);
        (0..ids.len()).for_each(|i| fails(i, if i % 2 == 0 { version } else { 1 }));
    }
    let stats = program.engine.stats();
    assert_eq!(stats.freed, 40);
    let mut all = 0;
    program.engine.each_code(|_, _, len| all += u64::from(len));
    assert_eq!(all, stats.code_bytes);
}

/// `f` polls, then fails; `g` calls it and catches, `h` calls it and does not.
fn catching(caught: i64) -> String {
    format!(
        r#"
fn0 "f"(class1?) -> int {{
block0(v0: ref):
  poll
  v1 = load v0.field1 @5
  return v1
}}
fn1 "g"(class1?) -> int {{
block0(v0: ref):
  try call fn0(v0) site0 normal block1 unwind block2 @7
block1(v1: int):
  return v1
block2(v2: ref):
  v3 = iconst {caught}
  return v3
}}
fn2 "h"(class1?) -> int {{
block0(v0: ref):
  v1 = call fn0(v0) site1 @8
  return v1
}}
"#
    )
}

#[test]
fn errors_unwind_through_old_versions() {
    for level in LEVELS {
        let program = Program::new(&catching(1), Config::default());
        let engine = &program.engine;
        let new = catching(2);
        let mut gone = Vec::new();
        let mut thread = Thread::new(&program, Config::default());
        at_each_stop(&mut thread, |stops, ctx| {
            // First `f` polls, then it fails.
            for name in ["f", "g", "h"].into_iter().filter(|_| stops % 2 == 0) {
                engine.install(program.func(name), &body(&new, name), level).unwrap();
            }
            let found = reclaim(engine, u64::MAX, &[ctx]);
            gone.push((found.in_use, found.freed));
        });
        assert_eq!(thread.native(program.func("g"), &[0]), Outcome::Value(1), "the old handler");
        let trace = vec![("f".into(), 5), ("h".into(), 8)];
        assert_eq!(thread.native(program.func("h"), &[0]), Outcome::Error { kind: 1, operand: 0, trace });
        assert_eq!(thread.native(program.func("g"), &[0]), Outcome::Value(2));
        drop(thread);
        // Each time two are in use. At first `h` has none to replace; later what an earlier run used is free, and one that no run has used.
        assert_eq!(gone, [(2, 0), (2, 0), (2, 3), (2, 0), (2, 3), (2, 0)]);
    }
}

#[test]
fn recorded_addresses_are_known_until_they_are_decoded() {
    let config = Config { profiling: Profiling::Calls, ..Config::default() };
    let program = Program::new(&rounds(3), config);
    let (engine, leaf) = (&program.engine, program.func("leaf"));
    let mut thread = Thread::new(&program, config);
    assert_eq!(thread.native(program.func("run"), &[1]), Outcome::Value(303));
    let seen: Vec<u64> = thread.seen.iter().map(|s| s.pc).collect();
    assert_eq!(seen.len(), 3);
    let decoded = |pc: u64| engine.decode(pc).map(|mut views| views.next().map(|v| (v.func, v.site)));
    let entry = |func| Some(Some((func, Some(SiteKind::Entry))));
    engine.install(leaf, &body(&rounds(4), "leaf"), Level::Optimized).unwrap();
    let found = reclaim(engine, 0, &[]);
    assert_eq!((found.number, found.freed, found.in_use, found.waiting), (1, 0, 0, 1));
    assert_eq!(seen.iter().map(|&pc| decoded(pc)).collect::<Vec<_>>(), [entry(program.func("run")), entry(leaf), entry(leaf)]);
    // What was recorded between the first reclaim and the second cannot be in it.
    let views = engine.decode(seen[1]);
    assert_eq!(reclaim(engine, 1, &[]).freed, 0, "an address is being decoded");
    drop(views);
    assert_eq!(decoded(seen[1]), entry(leaf));
    let found = reclaim(engine, 1, &[]);
    assert_eq!((found.number, found.freed, found.waiting), (3, 1, 0));
    assert_eq!((decoded(seen[0]), decoded(seen[1])), (entry(program.func("run")), None));
    assert_eq!(thread.native(program.func("run"), &[1]), Outcome::Value(404));
}

#[test]
fn a_full_region_leaves_the_program_as_it_is() {
    let program = Program::adjusted(parse(&rounds(1)), Config::default(), |options| options.code_size = 0);
    let (engine, leaf, run) = (&program.engine, program.func("leaf"), program.func("run"));
    let mut thread = Thread::new(&program, Config::default());
    assert_eq!(thread.native(run, &[1]), Outcome::Value(101));
    let mut last = 1;
    let error = loop {
        match engine.install(leaf, &body(&rounds(last + 1), "leaf"), Level::Baseline) {
            Ok(_) => last += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(&error, NativeError::Memory(_)) && last > 100, "{error}");
    assert_eq!(engine.failures(), [], "no call failed");
    assert_eq!(thread.native(run, &[1]), Outcome::Value(101 * last as u64));
    assert_eq!(reclaim(engine, u64::MAX, &[]).freed, last as u64 - 1);
    engine.install(leaf, &body(&rounds(5), "leaf"), Level::Baseline).unwrap();
    assert_eq!(thread.native(run, &[1]), Outcome::Value(505));
}

/// Whoever comes first, calls end in what was installed.
#[test]
fn first_calls_and_installations_race() {
    // A prime: each step goes through all.
    const N: usize = 199;
    let text = |more: usize| -> String {
        let each = |i: usize| format!("fn{i} \"f{i}\"() -> int {{\nblock0():\n  v0 = iconst {}\n  return v0\n}}\n", i + more);
        (0..N).map(each).collect()
    };
    let module = parse(&text(0));
    let new = parse(&text(1000));
    for round in 0..5 {
        let program = Program::of(module.clone(), Config::default());
        let start = Barrier::new(4);
        let order = |i: usize| FuncId::from_u32(((i * (2 * round + 1)) % N) as u32);
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    let mut thread = Thread::new(&program, Config::default());
                    start.wait();
                    for i in 0..N {
                        let func = order(i);
                        let values = [0, 1000].map(|more| Outcome::Value(u64::from(func.as_u32()) + more));
                        assert!(values.contains(&thread.native(func, &[])));
                    }
                });
            }
            start.wait();
            for i in 0..N {
                program.engine.install(order(i), &new.funcs[order(i)], LEVELS[i % 2]).unwrap();
            }
        });
        let mut thread = Thread::new(&program, Config::default());
        for i in 0..N as u32 {
            assert_eq!(thread.native(FuncId::from_u32(i), &[]), Outcome::Value(u64::from(i) + 1000));
        }
        let stats = program.engine.stats();
        let lazily = stats.baseline.versions - N.div_ceil(2) as u64;
        assert_eq!(reclaim(&program.engine, u64::MAX, &[]).freed, lazily, "each was replaced, or came too late");
    }
}

/// Stops the threads of a test.
#[derive(Default)]
pub struct World {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    stop: bool,
    running: usize,
    /// Addresses of the contexts of threads that are in compiled code.
    contexts: Vec<usize>,
}

impl World {
    pub fn run<R>(&self, thread: &mut Thread<'_>, f: impl FnOnce(&mut Thread<'_>) -> R) -> R {
        let ctx = &raw const *thread.ctx as usize;
        let mut state = self.changed.wait_while(self.state.lock().unwrap(), |s| s.stop).unwrap();
        state.running += 1;
        state.contexts.push(ctx);
        drop(state);
        let _running = Running { world: self, ctx };
        f(thread)
    }

    pub fn poll(&self) {
        let mut state = self.state.lock().unwrap();
        if state.stop {
            state.running -= 1;
            self.changed.notify_all();
            state = self.changed.wait_while(state, |s| s.stop).unwrap();
            state.running += 1;
        }
    }

    pub fn stop<R>(&self, f: impl FnOnce(&[&ThreadContext]) -> R) -> R {
        let mut state = self.state.lock().unwrap();
        state.stop = true;
        for &ctx in &state.contexts {
            // SAFETY: their threads are in `run`; only atomics are touched.
            let (limit, flag) = unsafe {
                let ctx = ctx as *const ThreadContext;
                (&(*ctx).stack_limit, &(*ctx).yield_flag)
            };
            limit.store(u64::MAX, Ordering::Relaxed);
            flag.store(1, Ordering::Relaxed);
        }
        let mut state = self.changed.wait_while(state, |s| s.running > 0).unwrap();
        // SAFETY: they are stopped.
        let contexts: Vec<&ThreadContext> = state.contexts.iter().map(|&c| unsafe { &*(c as *const ThreadContext) }).collect();
        let result = f(&contexts);
        state.stop = false;
        self.changed.notify_all();
        result
    }
}

/// A thread in [`World::run`], until it returns or panics: who stops the world waits for no other.
struct Running<'a> {
    world: &'a World,
    ctx: usize,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = self.world.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running -= 1;
        state.contexts.retain(|&c| c != self.ctx);
        self.world.changed.notify_all();
    }
}

/// Raises a flag in the end, also that of a panic: threads that wait for it are joined.
pub struct RaisedAtEnd<'a>(pub &'a AtomicBool);

impl Drop for RaisedAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// `watch` calls `leaf` in each round, which gives the number of its version, and fails if that ever becomes less. `leaf` allocates, polls, calls `fault`, which fails in hardware and whose error it catches, and is longer in some versions.
fn watched(version: u64) -> String {
    let mut more = String::new();
    let mut last = 2;
    for i in 0..20 * (version % 7) {
        _ = writeln!(more, "  v{} = iadd v{last}, v3", 50 + i);
        last = 50 + i;
    }
    format!(
        r#"
fn0 "fault"(class3?, int) -> int {{
block0(v0: ref, v1: int):
  v2 = array_len v0 @3
  v3 = iconst {version}
  v4 = iadd v2, v3
  return v4
}}
fn1 "leaf"(int) -> int {{
block0(v0: int):
  v1 = iconst 3
  v2 = iconst {version}
  v3 = iconst 0
  v4 = new_array class3, v1
  v5 = null
  poll
{more}  try call fn0(v5, v0) site0 normal block1 unwind block2
block1(v6: int):
  v7 = iconst -1
  return v7
block2(v8: ref):
  v9 = array_len v4
  v10 = isub v{last}, v1
  v11 = iadd v10, v9
  return v11
}}
fn2 "watch"(int) -> int {{
block0(v0: int):
  v1 = iconst 0
  jump block1(v1, v1)
block1(v2: int, v3: int):
  v4 = icmp lt v2, v0
  branch v4, block2, block3
block2():
  v5 = call fn1(v2) site1
  v6 = icmp lt v5, v3
  branch v6, block4, block5
block5():
  v7 = iconst 1
  v8 = iadd v2, v7
  jump block1(v8, v5)
block3():
  return v3
block4():
  v9 = iconst -2
  return v9
}}
"#
    )
}

/// Four threads call functions whose versions change all the time; the memory for code stays small.
#[test]
fn versions_come_and_go_under_threads() {
    const VERSIONS: u64 = 300;
    let program = Program::new(&watched(0), Config { stress: true, ..Config::default() });
    let engine = &program.engine;
    let (world, done, calls) = (World::default(), AtomicBool::new(false), AtomicU64::new(0));
    let (mut placed, mut freed, mut seen_in_use, span) = (0, 0, 0, engine.stats().code_span);
    std::thread::scope(|s| {
        let watch = || {
            let config = Config { stress: true, ..Config::default() };
            let mut thread = Thread::new(&program, config);
            thread.at_stop = Some(Box::new(|_| world.poll()));
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let Outcome::Value(version) = world.run(&mut thread, |thread| thread.native(program.func("watch"), &[50])) else {
                    panic!("it throws")
                };
                assert!((last..=VERSIONS).contains(&version), "version {} after {last}", version as i64);
                last = version;
                calls.fetch_add(1, Ordering::Relaxed);
            }
        };
        let _end = RaisedAtEnd(&done);
        let watchers: Vec<_> = (0..4).map(|_| s.spawn(watch)).collect();
        for version in 1..=VERSIONS {
            let before = calls.load(Ordering::Relaxed);
            for name in ["leaf", "fault", "watch"] {
                let level = LEVELS[version as usize / 2 % 2];
                let version = engine.install(program.func(name), &body(&watched(version), name), level).unwrap();
                placed += u64::from(version.len);
            }
            // Somebody has seen something of it.
            while version % 10 == 0 && calls.load(Ordering::Relaxed) == before {
                assert!(!watchers.iter().any(|watcher| watcher.is_finished()), "a thread has failed");
                std::thread::yield_now();
            }
            let found = world.stop(|contexts| reclaim(engine, u64::MAX, contexts));
            freed += found.bytes;
            seen_in_use += found.in_use;
        }
    });
    // At each stop four threads stand in at most three functions each, and three are current.
    const LIMIT: u64 = 16 * 1024;
    let grown = engine.stats().code_span - span;
    assert!(grown < LIMIT && placed > 8 * LIMIT, "{placed} bytes were placed in {grown}");
    assert!(seen_in_use > 0, "no stop met an old version");
    let rest = reclaim(engine, u64::MAX, &[]);
    assert_eq!((rest.in_use, rest.waiting), (0, 0));
    let stats = engine.stats();
    assert!(freed <= placed && stats.code_bytes < 8 * 1024, "{stats:?}");
    let mut code = 0;
    engine.each_code(|_, _, len| code += u64::from(len));
    assert_eq!(code, stats.code_bytes);
}
