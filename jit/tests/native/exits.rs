//! Running loops that go over into code that counts calls, and back, as the thread asks for it. (`agree` does so at random in every other test, too.)

use crate::mock::*;
use crate::versions::{at_each_stop, body, reclaim};
use jit::context::ThreadContext;
use jit::ir::dominators::Dominators;
use jit::ir::{Exit, Function, Loc, Terminator};
use jit::native::{Engine, Exits, Level, Osr, Profiling, WantedExit};
use jit::opt::analysis::loops::Loops;
use jit::opt::exits::{exits_around, long_loop, with_exits, without_exits};
use jit::opt::osr::{enter_at, enter_at_exit};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// `run` sums up `step` times what a new object holds, in as many rounds as it is told, of which each has four shorter ones of a loop with two calls of `leaf` that were inlined.
fn rounds(step: i64) -> String {
    format!(
        r#"
class7 "Box" extends class0 {{
  field2 "n": int
}}
fn0 "leaf"(int) -> int {{
block0(v0: int):
  return v0
}}
fn1 "run"(int) -> int {{
in0 fn0 @1 site0 @2
in1 fn0 @1 site1 @3
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  v3 = iconst {step}
  v4 = iconst 4
  jump block1(v1, v1)
block1(v5: int, v6: int):
  v7 = icmp lt v5, v0
  branch v7, block2, block5
block2():
  v8 = new class7
  store v8.field2, v3
  jump block3(v1, v6)
block3(v9: int, v10: int):
  probe @in0
  probe @in1
  v11 = load v8.field2
  v12 = iadd v10, v11
  v13 = iadd v9, v2
  poll @4
  v14 = icmp lt v13, v4
  branch v14, block3(v13, v12), block4
block4():
  v15 = iadd v5, v2
  poll @5
  jump block1(v15, v12)
block5():
  return v6
}}
"#
    )
}

fn config(stress: bool) -> Config {
    Config { profiling: Profiling::Inlined, stress, ..Config::default() }
}

fn program(step: i64, stress: bool) -> Program {
    program_of(&rounds(step), stress)
}

fn program_of(text: &str, stress: bool) -> Program {
    program_with(text, stress, Exits::InAllLoops)
}

fn program_with(text: &str, stress: bool, exits: Exits) -> Program {
    Program::adjusted(parse(text), config(stress), |options| {
        options.exits = exits;
        options.osr = Osr::Installed;
    })
}

/// As the compile thread does it.
fn make_exits(engine: &Engine) -> usize {
    let wanted = engine.wanted_exits();
    for WantedExit { exit, func, body } in &wanted {
        for exit in exits_around(body, *exit).into_iter().chain([*exit]).filter(|&exit| engine.is_exit_open(exit)) {
            let rest = enter_at_exit(engine.module(), body, exit, &|exit| engine.has_exit_code(exit)).expect("what is left of a call");
            assert!(engine.install_exit(exit, *func, Some(&rest)));
            assert!(engine.has_exit_code(exit) && !engine.is_exit_open(exit));
        }
    }
    wanted.len()
}

/// What goes on for the inner loop has that loop alone, and ends at the exit of the outer one; as long as no code is made for that, both.
#[test]
fn code_for_an_exit_ends_at_the_next_one_around() {
    let program = program(3, false);
    let mut exits = Vec::new();
    let reserve = &mut |count: usize| {
        exits = (7..).map(Exit::from_u32).take(count).collect();
        Some(exits[0])
    };
    let body = with_exits(program.func("run"), &body(&rounds(3), "run"), &|_, _| true, reserve).unwrap().body;
    let around: Vec<Vec<Exit>> = exits.iter().map(|&exit| exits_around(&body, exit)).collect();
    let (inner, outer) = if around[0].is_empty() { (exits[1], exits[0]) } else { (exits[0], exits[1]) };
    assert_eq!([exits_around(&body, inner), exits_around(&body, outer)], [vec![outer], vec![]]);
    let rest = |exit, has_code| enter_at_exit(&program.module, &body, exit, &|_| has_code).unwrap();
    let loops = |func: &Function| Loops::new(func, &Dominators::new(func)).loops.len();
    assert_eq!(
        [(inner, true), (inner, false), (outer, true), (outer, false)].map(|(exit, has_code)| loops(&rest(exit, has_code))),
        [1, 3, 2, 2]
    );
    let ends = rest(inner, true);
    let left: Vec<Exit> = ends
        .layout
        .iter()
        .filter_map(|&block| match ends.blocks[block].terminator {
            Some(Terminator::Leave { exit, .. }) => Some(exit),
            _ => None,
        })
        .collect();
    assert_eq!(left, [outer]);
}

/// The outer loop alone is left, and the inner one, too, where that is to be: then the body keeps its exits, but looks at watched polls of its code are of that alone.
#[test]
fn inner_loops_are_left_where_they_are_long() {
    let program = program(3, false);
    let run = program.func("run");
    let plain = body(&rounds(3), "run");
    let [inner, outer] = [Loc(4), Loc(5)].map(|loc| (run, loc));
    let made = with_exits(run, &plain, &|_, is_outermost| is_outermost, &mut |_| Some(Exit::from_u32(7))).unwrap();
    let (exits, watched) = (made.exits.clone(), made.watched.clone());
    assert_eq!((exits.len(), watched.len()), (1, 1));
    assert_eq!(exits_around(&made.body, exits[0]), []);
    assert_eq!([long_loop(run, &made.body, watched[0]), long_loop(run, &made.body, Exit::from_u32(70))], [vec![inner], vec![]]);
    let mut new = Vec::new();
    let reserve = &mut |count| {
        new.push(count);
        Some(Exit::from_u32(70))
    };
    let anew = with_exits(run, &made.body, &|at, _| at == inner, reserve).unwrap();
    assert_eq!((new, anew.watched), (vec![1], vec![]));
    assert_eq!(exits_around(&anew.body, Exit::from_u32(70)), exits);
    let none_left = with_exits(run, &made.body, &|_, _| false, &mut |_| Some(Exit::from_u32(70))).unwrap();
    assert_eq!((none_left.exits, none_left.watched), (exits.clone(), vec![Exit::from_u32(70)]), "what was left still is");
    let at_once = with_exits(run, &plain, &|at, _| at == inner, &mut |_| Some(Exit::from_u32(7))).unwrap();
    assert_eq!((at_once.exits.len(), at_once.watched.len()), (2, 0));
    let none = with_exits(run, &without_exits(&made.body), &|_, _| false, &mut |_| Some(Exit::from_u32(7))).unwrap();
    assert_eq!((none.exits.len(), none.watched.len()), (0, 2));
    let other = with_exits(run, &plain, &|at, _| at == outer, &mut |_| Some(Exit::from_u32(7))).unwrap();
    assert_eq!((other.exits, other.watched), (exits, watched));
}

/// A thread that is late in the inner loop goes over at the outer one's exit to code in which it can leave both, though it runs a call that began before there was any.
#[test]
fn who_is_late_finds_more_exits() {
    // Whether there is code for the exit before, in which it is late, too.
    for (stress, counts, has_code) in
        [false, true].map(|code| [(false, true, code), (false, false, code), (true, true, code), (true, false, code)]).concat()
    {
        on_stack(4 << 20, || {
            let program = program_with(&rounds(3), stress, Exits::InLongLoops { patience: Duration::ZERO, looks: 8 });
            let (engine, run) = (&program.engine, program.func("run"));
            engine.count_calls(!counts);
            engine.install(run, &body(&rounds(3), "run"), Level::Optimized).unwrap();
            let mut thread = Thread::new(&program, config(stress));
            want(&thread.ctx, !counts);
            let mut renewed = None;
            let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
            let told = seen.clone();
            at_each_stop(&mut thread, move |stop, ctx| {
                let is_other = match renewed {
                    None => {
                        renewed = engine.leave_long_loops().map(|_| stop);
                        assert_eq!(engine.retired_bytes(), 0, "who stands in the code that there was comes to the new one");
                        if has_code {
                            make_exits(engine);
                        }
                        !has_code || stop % 10 < 5
                    }
                    Some(_) => {
                        make_exits(engine);
                        stop < 100 || stop % 3 == 0
                    }
                };
                engine.count_calls(is_other == counts);
                want(ctx, is_other == counts);
                told.borrow_mut().push((is_other, ctx.calls_left));
            });
            assert_eq!(thread.native(run, &[60]), Outcome::Value(720));
            let stops = seen.borrow().clone();
            assert_eq!(stops.len(), 300);
            let counted = |stop: usize| stops[stop].1 - stops[stop + 1].1;
            // Four stops in the inner loop, and one behind it, before which nothing is called.
            let calls = |stop: usize| if stop % 5 == 3 { 0 } else { 2 };
            for stop in 0..10 {
                assert!(has_code || counted(stop) == if counts { 0 } else { calls(stop) }, "there is no code to go over into: {stop}");
            }
            for (stop, &(is_other, _)) in stops.iter().enumerate().take(299).skip(150) {
                let is_counted = is_other == counts;
                assert_eq!(counted(stop), if is_counted { calls(stop) } else { 0 }, "{stop}");
            }
            drop(thread.at_stop.take());
            // All of it is one family.
            let all = engine.stats().optimized.versions;
            engine.install(run, &body(&rounds(4), "run"), Level::Optimized).unwrap();
            assert_eq!(reclaim(engine, u64::MAX, &[]).freed, all);
            assert!(engine.leave_long_loops().is_none());
            assert_eq!(thread.native(run, &[10]), Outcome::Value(160));
        });
    }
}

/// Calls go to the other kind of code before the thread has noticed that: then all are in the wrong one, however brief.
#[test]
fn who_has_yet_to_notice_a_change_is_not_late() {
    on_stack(4 << 20, || {
        let program = program_with(&rounds(3), false, Exits::InLongLoops { patience: Duration::ZERO, looks: 1 });
        let (engine, run) = (&program.engine, program.func("run"));
        engine.install(run, &body(&rounds(3), "run"), Level::Optimized).unwrap();
        let is_late = |calls_are_counted| {
            engine.count_calls(true);
            let mut thread = Thread::new(&program, config(false));
            want(&thread.ctx, false);
            at_each_stop(&mut thread, |_, _| engine.count_calls(calls_are_counted));
            assert_eq!(thread.native(run, &[10]), Outcome::Value(120));
            engine.leave_long_loops().is_some()
        };
        assert!(!is_late(true) && is_late(false));
    });
}

/// No loop of brief calls is left, and their code is no family of what was there before; once a thread was late in one it is left in later calls.
#[test]
fn loops_of_brief_calls_are_left_once_threads_were_late() {
    on_stack(4 << 20, || {
        let program = program_with(&rounds(3), false, Exits::InLongLoops { patience: Duration::ZERO, looks: 8 });
        let (engine, run) = (&program.engine, program.func("run"));
        engine.count_calls(false);
        assert!(engine.expect_brief(run).is_none(), "there is no code");
        engine.install(run, &body(&rounds(3), "run"), Level::Optimized).unwrap();
        assert!(engine.left_functions().is_empty(), "it was made for brief calls");
        let program = program_with(&rounds(3), false, Exits::InLongLoops { patience: Duration::ZERO, looks: 8 });
        let engine = &program.engine;
        engine.count_calls(false);
        engine.install(run, &body(&rounds(3), "run"), Level::Optimized).unwrap();
        assert_eq!(engine.left_functions(), [run]);
        let before = engine.stats().optimized.versions;
        assert!(engine.expect_brief(run).is_some() && engine.left_functions().is_empty());
        assert!(engine.expect_brief(run).is_none(), "it is so already");
        assert_eq!(reclaim(engine, u64::MAX, &[]).freed, before);
        let mut thread = Thread::new(&program, config(false));
        let mut calls = || {
            engine.count_calls(false);
            want(&thread.ctx, false);
            thread.ctx.calls_left = 0;
            at_each_stop(&mut thread, |stop, ctx| {
                engine.count_calls(stop >= 10);
                want(ctx, stop >= 10);
                engine.leave_long_loops();
                make_exits(engine);
            });
            assert_eq!(thread.native(run, &[60]), Outcome::Value(720));
            drop(thread.at_stop.take());
            -thread.ctx.calls_left
        };
        assert_eq!(calls(), 0, "it never comes out of the code that it has begun in");
        assert!(calls() > 300, "it is left");
    });
}

fn want(ctx: &ThreadContext, counts: bool) {
    ctx.counts_calls.store(counts.into(), Relaxed);
}

/// Two calls a round of the inner loop are counted exactly while that is asked for, beginning with the poll at which it is, whether the call itself was counted or not.
#[test]
fn calls_are_counted_while_that_is_asked_for() {
    // Also where no call is seen, so that the countdown goes over in a register.
    for (stress, is_counted, left) in
        [(false, false, 0), (false, true, 0), (true, false, 0), (true, true, 0), (false, false, 1000), (false, true, 1000)]
    {
        on_stack(4 << 20, || {
            let program = program(3, stress);
            let (engine, run) = (&program.engine, program.func("run"));
            engine.count_calls(is_counted);
            engine.install(run, &body(&rounds(3), "run"), Level::Optimized).unwrap();
            let mut thread = Thread::new(&program, config(stress));
            thread.ctx.calls_left = left;
            want(&thread.ctx, is_counted);
            // Five polls a round. Nothing has to be made for the first stop, at which the thread is in code of the right kind.
            at_each_stop(&mut thread, |stop, ctx| {
                // Inner polls: 3 and 17; outer: 9 and 24. The thread stays in the other kind for 6 + 7 polls.
                let is_other = (3..9).contains(&stop) || (17..24).contains(&stop);
                want(ctx, is_counted != is_other);
                // The first time at each there is no code yet: it is made for the next poll.
                make_exits(engine);
            });
            assert_eq!(thread.native(run, &[10]), Outcome::Value(120));
            let counted = left - thread.ctx.calls_left;
            drop(thread.at_stop.take());
            // The same again, when there is code from the start.
            thread.ctx.calls_left = left;
            want(&thread.ctx, is_counted);
            at_each_stop(&mut thread, |stop, ctx| want(ctx, is_counted != ((3..9).contains(&stop) || (17..24).contains(&stop))));
            assert_eq!(thread.native(run, &[10]), Outcome::Value(120));
            assert_eq!(make_exits(engine), 0, "each has code");
            // Behind the fourth poll come a poll of the outer loop and four rounds of the inner one to the tenth; behind the eighteenth a round, an outer poll, four rounds, and an outer poll.
            let other = 2 * (4 + 5);
            let all = 2 * 40;
            let exact = if is_counted { 1 + all - other } else { other };
            assert_eq!(left - thread.ctx.calls_left, exact);
            assert_ne!(counted, if is_counted { 1 + all } else { 0 }, "it went over the first time, too");
        });
    }
}

/// A thread goes over at a poll at which nobody asks for its attention. The last call before it is in its count, which it had in a register.
#[test]
fn what_was_counted_since_the_last_stop_is_kept() {
    on_stack(4 << 20, || {
        let program = program(3, false);
        let (engine, run) = (&program.engine, program.func("run"));
        engine.count_calls(true);
        engine.install(run, &body(&rounds(3), "run"), Level::Optimized).unwrap();
        let mut thread = Thread::new(&program, config(false));
        thread.ctx.calls_left = 1000;
        at_each_stop(&mut thread, |stop, ctx| {
            want(ctx, stop % 2 == 0);
            make_exits(engine);
        });
        assert_eq!(thread.native(run, &[10]), Outcome::Value(120));
        drop(thread.at_stop.take());
        thread.ctx.yield_flag.store(0, Relaxed);
        want(&thread.ctx, true);
        // The first call of the tenth round of the inner loop, behind that of `run` and two a round.
        thread.ctx.calls_left = 1 + 2 * 9;
        thread.at_call = Some(Box::new(|ctx| {
            ctx.calls_left = 1000;
            want(ctx, false);
        }));
        assert_eq!(thread.native(run, &[10]), Outcome::Value(120));
        assert_eq!(thread.ctx.calls_left, 999);
    });
}

/// While a thread stands in what has gone over, the function gets another version: it can still go back, so all is kept, and all is freed when it has returned.
#[test]
fn code_is_kept_that_running_code_can_come_to() {
    on_stack(4 << 20, || {
        let program = program(3, false);
        let (engine, run) = (&program.engine, program.func("run"));
        engine.count_calls(false);
        engine.install(run, &body(&rounds(3), "run"), Level::Optimized).unwrap();
        let mut thread = Thread::new(&program, config(false));
        at_each_stop(&mut thread, |stop, ctx| {
            want(ctx, (2..30).contains(&stop));
            let made = make_exits(engine);
            if stop == 20 {
                engine.install(run, &body(&rounds(4), "run"), Level::Optimized).unwrap();
            }
            if stop >= 20 {
                assert_eq!(made, 0, "nothing is made for what was replaced");
                let reclaimed = reclaim(engine, u64::MAX, &[ctx]);
                assert_eq!((reclaimed.freed, reclaimed.in_use > 2), (0, true), "stop {stop}: {reclaimed:?}");
            }
        });
        assert_eq!(thread.native(run, &[10]), Outcome::Value(120));
        let counted = -thread.ctx.calls_left;
        assert!((30..60).contains(&counted), "it went there and back: {counted}");
        drop(thread.at_stop.take());
        let (freed, optimized) = (reclaim(engine, u64::MAX, &[]).freed, engine.stats().optimized.versions);
        assert_eq!(freed, optimized - 2, "all but the new versions");
        assert_eq!(thread.native(run, &[10]), Outcome::Value(160));
    });
}

/// What goes on for a loop of the first code has exits, too, though it was made in one kind only.
#[test]
fn loops_that_were_entered_in_the_middle_have_exits() {
    on_stack(4 << 20, || {
        // Without what was inlined, as at first.
        let text = rounds(3);
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("in") && !line.contains("probe")).collect();
        let program = program_of(&lines.join("\n"), false);
        let (engine, run) = (&program.engine, program.func("run"));
        engine.count_calls(false);
        let block = jit::ir::polls::loop_polls(&program.module.funcs[run])[0].block;
        let rest = enter_at(&program.module, &body(&text, "run"), block).unwrap();
        let mut thread = Thread::new(&program, config(false));
        at_each_stop(&mut thread, |stop, ctx| {
            if stop == 1 {
                engine.install_osr(run, block, &rest, Level::Optimized).unwrap();
            }
            want(ctx, (10..20).contains(&stop));
            make_exits(engine);
        });
        assert_eq!(thread.native(run, &[10]), Outcome::Value(120));
        let counted = -thread.ctx.calls_left;
        assert!((10..20).contains(&counted), "{counted}");
        drop(thread.at_stop.take());
        engine.discard_osr(run, block);
        assert_eq!(engine.bytes_in_use(Level::Optimized), 0, "all that was made of it is out of use");
    });
}
