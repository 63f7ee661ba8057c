//! Threads: starting, joining, stopping for collections in every state.

use super::harness::*;
use crate::runtime::heap::Want;
use crate::runtime::thread::{Ref, Thread};
use crate::runtime::timer::Tick;
use crate::runtime::{RuntimeOptions, view};
use jit::ir::Builtin;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;

#[test]
fn a_tick_that_came_while_its_thread_compiled_is_forgotten() {
    run_with(RuntimeOptions { tick: Duration::from_secs(1000), ..options() }, vec![], |t| {
        let tick = || {
            t.set_tick(Tick { sampled: Some(1), is_pace: false });
            t.set_tick(Tick { sampled: None, is_pace: true });
        };
        let merged = || t.runtime.metrics.ticks_merged.get();
        tick();
        t.forget_pace();
        t.set_tick(Tick { sampled: None, is_pace: true });
        assert_eq!(merged(), 0, "there was none of the program's own");
        t.forget_pace();
        tick();
        assert_eq!(merged(), 1, "but the profiler's");
        Ok(0)
    });
}

#[test]
fn collections_meet_threads_in_every_state() {
    for stress in [None, NonZeroU32::new(25)] {
        let options = RuntimeOptions { gc_stress: stress, tick: Duration::from_micros(300), ..options() };
        let outcome = run_with(options, vec![], |t| {
            let stop = Arc::new(AtomicBool::new(false));
            // One computes without allocating, one sleeps for long: neither may hold up a collection.
            let s = stop.clone();
            let spinner = spawn(t, move |t| {
                while !s.load(Relaxed) {
                    poll(t);
                }
                Ok(0)
            })?;
            let sleeper = spawn(t, |t| call(t, Builtin::Sleep, &[300]).map(|_| 0))?;
            let mut numbers = Vec::new();
            for i in 0..6u64 {
                numbers.push(spawn(t, move |t| {
                    for round in 0..40 {
                        let scope = t.scope();
                        let list = scope.root(Ref::NULL);
                        for k in 0..50 {
                            let node = t.alloc_object(ids().node).unwrap();
                            view::store(node, NUMBER, i * 1000 + k);
                            view::store_ref(t, node, NEXT, list.get());
                            list.set(node);
                            poll(t);
                        }
                        match round % 8 {
                            0 => _ = call(t, Builtin::Sleep, &[0]).unwrap(),
                            1 => println(t, "line of one thread"),
                            2 => {
                                let inner = spawn(t, |t| {
                                    str(t, "short life");
                                    Ok(0)
                                })?;
                                assert!(join(t, inner).is_null());
                            }
                            3 if i == 0 => _ = t.collect(Want::Major),
                            _ => {}
                        }
                        let (mut node, mut expected) = (list.get(), 50);
                        while !node.is_null() {
                            expected -= 1;
                            assert_eq!(view::load(node, NUMBER), i * 1000 + expected);
                            node = view::load_ref(node, NEXT);
                        }
                        assert_eq!(expected, 0);
                    }
                    Ok(0)
                })?);
            }
            for n in numbers {
                assert!(join(t, n).is_null());
            }
            stop.store(true, Relaxed);
            assert!(join(t, spinner).is_null());
            assert!(join(t, sleeper).is_null());
            Ok(0)
        });
        assert_eq!((outcome.status.code, outcome.errors.as_str()), (0, ""));
        assert_eq!(outcome.out, "line of one thread\n".repeat(30));
        assert!(outcome.runtime.metrics.polls_taken.get() > 0);
    }
}

#[test]
fn many_threads_one_after_the_other() {
    let outcome = run(|t| {
        for _ in 0..2000 {
            let n = spawn(t, |_| Ok(0))?;
            assert!(join(t, n).is_null());
        }
        Ok(0)
    });
    assert_eq!(outcome.runtime.metrics.threads.get(), 2001);
}

#[test]
fn many_threads_at_once() {
    let outcome = run(|t| {
        let (arrived, count) = (Arc::new(AtomicU64::new(0)), 300);
        let mut numbers = Vec::new();
        for i in 0..count {
            let arrived = arrived.clone();
            numbers.push(spawn(t, move |t| {
                let scope = t.scope();
                let text = scope.root(str(t, &format!("thread {i}")));
                arrived.fetch_add(1, SeqCst);
                while arrived.load(SeqCst) < count {
                    call(t, Builtin::Sleep, &[1])?;
                }
                (0..100).for_each(|_| _ = str(t, "more"));
                assert_eq!(view::text(text.get()), format!("thread {i}"));
                Ok(0)
            })?);
        }
        t.collect(Want::Minor);
        numbers.into_iter().for_each(|n| assert!(join(t, n).is_null()));
        Ok(0)
    });
    assert_eq!(outcome.errors, "");
}

#[test]
fn errors_reach_whoever_joins() {
    let outcome = run(|t| {
        let failing = spawn(t, |t| {
            call(t, Builtin::CharToStr, &[u64::MAX])?;
            Ok(0)
        })?;
        t.collect(Want::Major);
        t.set_error(join(t, failing));
        assert_eq!(error(t), ("ArgumentError".into(), "-1 is not a code point".into()));
        assert!(join(t, failing).is_null(), "the library's thread object keeps it");
        assert!(join(t, 12345).is_null(), "no such thread: nothing to report");
        Ok(3)
    });
    assert_eq!((outcome.status.code, outcome.errors.as_str()), (3, ""));
}

#[test]
fn a_program_ends_with_its_last_thread() {
    let outcome = run(|t| {
        let ends = Arc::new(AtomicBool::new(false));
        let mut before = None;
        for i in 0..3 {
            let ends = ends.clone();
            let turn = move |t: &Thread| match before {
                Some(thread) => assert!(join(t, thread).is_null()),
                None => {
                    while !ends.load(SeqCst) {
                        call(t, Builtin::Sleep, &[1]).unwrap();
                    }
                    // Now it has printed, and is about to return.
                    call(t, Builtin::Sleep, &[20]).unwrap();
                }
            };
            before = Some(spawn(t, move |t| {
                turn(t);
                println(t, &format!("thread {i} ends"));
                Ok(0)
            })?);
        }
        println(t, "main ends");
        ends.store(true, SeqCst);
        Ok(5)
    });
    assert_eq!(outcome.status.code, 5);
    assert_eq!(outcome.out, "main ends\nthread 0 ends\nthread 1 ends\nthread 2 ends\n");
}
