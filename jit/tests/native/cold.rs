//! Code that is given up once nobody calls it any more.

use crate::mock::*;
use crate::versions::{RaisedAtEnd, World, at_each_stop, body, reclaim, rounds};
use jit::ir::Block;
use jit::native::{Engine, Level, Profiling};
use jit::opt::osr::enter_at;
use std::sync::atomic::{AtomicBool, Ordering};

/// Of optimized code that was armed, whether it goes is up to calls in between; without it calls run what they would have run before.
#[test]
fn code_is_given_up_that_nobody_has_called() {
    for profiling in [Profiling::Off, Profiling::Calls] {
        let config = Config { profiling, ..Config::default() };
        let program = Program::adjusted(parse(&rounds(7)), config, |options| options.profile_optimized = false);
        let (engine, leaf, run) = (&program.engine, program.func("leaf"), program.func("run"));
        // A window in which calls are counted runs code that counts.
        engine.count_calls(false);
        let mut thread = Thread::new(&program, config);
        thread.ctx.calls_left = i64::MAX;
        assert!(!engine.arm(leaf), "there is no code at all");
        assert!(!engine.arm(leaf) && !engine.discard_armed(leaf));
        assert_eq!(thread.native(run, &[1]), Outcome::Value(707));
        engine.arm(leaf);
        assert!(!engine.discard_armed(leaf), "code of the first level stays");
        let optimized = engine.install(leaf, &body(&rounds(5), "leaf"), Level::Optimized).unwrap();
        assert!(!engine.discard_armed(leaf), "it is not armed");
        for _ in 0..2 {
            assert!(!engine.arm(leaf), "it is not armed, or was called since");
            assert!(engine.arm(leaf), "nobody has called it");
            assert_eq!(thread.native(run, &[1]), Outcome::Value(505));
            assert!(!engine.discard_armed(leaf), "it was called");
        }
        assert_eq!(engine.stats().baseline.versions, 2, "to notice a call makes no code");
        _ = reclaim(engine, u64::MAX, &[]);
        engine.arm(leaf);
        assert!(engine.discard_armed(leaf));
        assert!(!engine.discard_armed(leaf), "it is gone");
        assert_eq!((engine.retired_bytes(), engine.bytes_in_use(Level::Optimized)), (u64::from(optimized.len), 0));
        assert_eq!(reclaim(engine, u64::MAX, &[]).freed, 1);
        assert_eq!(thread.native(run, &[1]), Outcome::Value(707));
        // What counts was there all the time.
        assert_eq!(engine.stats().baseline.versions, if profiling == Profiling::Off { 3 } else { 2 });
        engine.install(leaf, &body(&rounds(6), "leaf"), Level::Optimized).unwrap();
        assert_eq!(thread.native(run, &[1]), Outcome::Value(606));
    }
}

/// As the compile thread asks once and again.
fn settle(engine: &Engine) {
    (0..4).for_each(|_| _ = engine.arm_held());
}

/// Windows open and close between arming and the call: what is counted runs other code, and what is called right behind a window may be called by code that is about to return. Later calls are noticed.
#[test]
fn calls_in_windows_and_right_behind_them_are_not_noticed() {
    let config = Config { profiling: Profiling::Calls, ..Config::default() };
    let program = Program::adjusted(parse(&rounds(7)), config, |options| options.profile_optimized = false);
    let (engine, leaf, run) = (&program.engine, program.func("leaf"), program.func("run"));
    let mut thread = Thread::new(&program, config);
    thread.ctx.calls_left = i64::MAX;
    let mut call = || thread.native(run, &[1]);
    assert_eq!(call(), Outcome::Value(707));
    engine.install(leaf, &body(&rounds(5), "leaf"), Level::Optimized).unwrap();
    assert_eq!(call(), Outcome::Value(707), "`run` counts, and calls what counts");
    engine.count_calls(false);
    assert!(!engine.arm(leaf));
    engine.count_calls(true);
    settle(engine);
    assert!(!engine.arm_held());
    assert_eq!(call(), Outcome::Value(707));
    engine.count_calls(false);
    assert_eq!([engine.arm_held(), engine.arm_held()], [false; 2]);
    assert_eq!(call(), Outcome::Value(505));
    assert!(engine.arm(leaf), "as if nobody had called it");
    engine.count_calls(true);
    engine.count_calls(false);
    assert_eq!([engine.arm_held(), engine.arm_held()], [false; 2], "from the beginning again");
    assert_eq!(call(), Outcome::Value(505));
    assert!(engine.arm(leaf));
    assert!(!engine.arm_held(), "only from now on calls are noticed");
    assert!(engine.arm_held());
    assert_eq!(call(), Outcome::Value(505));
    assert!(!engine.discard_armed(leaf), "it was called");
    // What is armed in a window, too.
    engine.count_calls(true);
    assert!(!engine.arm(leaf));
    engine.count_calls(false);
    assert_eq!(call(), Outcome::Value(505));
    assert!(engine.discard_armed(leaf));
    assert_eq!(call(), Outcome::Value(707));
}

/// Whatever the calls run, and beside arming.
#[test]
fn calls_since_a_question_are_noticed() {
    let config = Config { profiling: Profiling::Calls, ..Config::default() };
    let program = Program::adjusted(parse(&rounds(7)), config, |options| options.profile_optimized = false);
    let (engine, leaf, run) = (&program.engine, program.func("leaf"), program.func("run"));
    let mut thread = Thread::new(&program, config);
    thread.ctx.calls_left = i64::MAX;
    assert!(engine.was_called(leaf), "nothing is known of it");
    assert_eq!(thread.native(run, &[1]), Outcome::Value(707));
    let mut notices = |counts: bool, rounds: u64| {
        assert!(engine.was_called(leaf), "it was called before, or nobody has asked");
        engine.count_calls(!counts);
        engine.count_calls(counts);
        assert!(!engine.was_called(leaf) && !engine.was_called(leaf), "nobody calls it");
        assert_eq!(thread.native(run, &[1]), Outcome::Value(101 * rounds));
    };
    notices(true, 7);
    notices(false, 7);
    engine.install(leaf, &body(&rounds(5), "leaf"), Level::Optimized).unwrap();
    notices(false, 5);
    engine.arm(leaf);
    // Code that counts is not what is armed.
    notices(true, 7);
    assert!(engine.arm(leaf));
    notices(false, 5);
    assert!(engine.arm(leaf), "right behind a window");
    settle(engine);
    assert_eq!(thread.native(run, &[1]), Outcome::Value(505));
    assert!(!engine.discard_armed(leaf), "its optimized code was called");
}

/// Of a program in which only loops are compiled anew, too.
#[test]
fn memory_of_code_for_loops_is_used_again() {
    let program = Program::adjusted(parse(&rounds(7)), Config::default(), |options| options.osr = jit::native::Osr::Installed);
    let (engine, run, block) = (&program.engine, program.func("run"), Block::from_u32(2));
    let made = enter_at(&program.module, &program.module.funcs[run], block).expect("a loop that can be left");
    let mut spans = (0..5).map(|_| {
        engine.install_osr(run, block, &made, Level::Optimized).unwrap();
        engine.discard_osr(run, block);
        assert_eq!(reclaim(engine, u64::MAX, &[]).freed, 1);
        engine.stats().code_span
    });
    let first = spans.next();
    assert!(spans.all(|span| Some(span) == first));
}

/// A call that runs goes on in code that was given up meanwhile, for as long as it runs.
#[test]
fn frames_keep_code_that_was_given_up() {
    let config = Config { optimize: true, ..Config::default() };
    let program = Program::new(&rounds(7), config);
    let (engine, run) = (&program.engine, program.func("run"));
    let mut thread = Thread::new(&program, config);
    at_each_stop(&mut thread, |polls, ctx| {
        engine.arm(run);
        assert_eq!(engine.discard_armed(run), polls == 0);
        assert_eq!(reclaim(engine, u64::MAX, &[ctx]).in_use, 1);
    });
    assert_eq!(thread.native(run, &[3]), Outcome::Value(3 * 707));
    drop(thread);
    assert_eq!(reclaim(engine, u64::MAX, &[]).freed, 1);
}

#[test]
fn code_for_a_loop_is_given_up() {
    let program = Program::adjusted(parse(&rounds(7)), Config::default(), |options| options.osr = jit::native::Osr::Installed);
    let (engine, run) = (&program.engine, program.func("run"));
    let mut thread = Thread::new(&program, Config::default());
    thread.ctx.calls_left = i64::MAX;
    let block = Block::from_u32(2);
    engine.discard_osr(run, block);
    let cell = || engine.osr_cell(run, block).unwrap().load(Ordering::Relaxed);
    let made = enter_at(&program.module, &program.module.funcs[run], block).expect("a loop that can be left");
    let version = engine.install_osr(run, block, &made, Level::Optimized).unwrap();
    assert_eq!(cell(), version.entry);
    engine.discard_osr(run, block);
    assert_eq!((cell(), engine.retired_bytes()), (0, u64::from(version.len)));
    engine.discard_osr(run, block);
    assert_eq!(reclaim(engine, u64::MAX, &[]).freed, 1);
    assert_eq!(thread.native(run, &[2]), Outcome::Value(2 * 707));
}

/// Threads call what is armed, given up and installed again all the time: they find code of either level, and it is freed.
#[test]
fn code_is_given_up_under_threads() {
    let program = Program::new(&rounds(7), Config::default());
    let (engine, leaf, run) = (&program.engine, program.func("leaf"), program.func("run"));
    let (world, done) = (World::default(), AtomicBool::new(false));
    let better = body(&rounds(7), "leaf");
    let (mut called, mut given_up) = (0, 0);
    std::thread::scope(|s| {
        let call = || {
            let mut thread = Thread::new(&program, Config::default());
            thread.at_stop = Some(Box::new(|_| world.poll()));
            while !done.load(Ordering::Relaxed) {
                assert_eq!(world.run(&mut thread, |thread| thread.native(run, &[20])), Outcome::Value(20 * 707));
            }
        };
        let _end = RaisedAtEnd(&done);
        (0..3).for_each(|_| _ = s.spawn(call));
        for round in 0..2000 {
            engine.install(leaf, &better, Level::Optimized).unwrap();
            engine.arm(leaf);
            if round % 2 == 0 {
                std::thread::yield_now();
            }
            *(if engine.discard_armed(leaf) { &mut given_up } else { &mut called }) += 1;
            if round % 10 == 0 {
                world.stop(|contexts| reclaim(engine, u64::MAX, contexts));
            }
        }
    });
    assert!(called > 0 && given_up > 0, "{called} times it was called, {given_up} times given up");
    _ = reclaim(engine, u64::MAX, &[]);
    let mut code = 0;
    engine.each_code(|_, _, len| code += u64::from(len));
    assert_eq!((code, engine.retired_bytes()), (engine.stats().code_bytes, 0));
}
