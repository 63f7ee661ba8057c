//! The ways a program ends, and what it says then.

use super::harness::*;
use crate::runtime::{End, ExitStatus, RuntimeOptions};
use jit::ir::{Builtin, FuncId, Loc};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

#[test]
fn uncaught_errors_are_reported_with_their_trace() {
    let frames = vec![(FuncId::from_u32(2), Loc(3)), (FuncId::from_u32(3), Loc(12)), (FuncId::from_u32(0), Loc(0))];
    let outcome = run_with(options(), frames, |t| {
        println(t, "before");
        call(t, Builtin::CharToStr, &[u64::MAX])?;
        Ok(0)
    });
    assert_eq!(outcome.status, ExitStatus { code: 1, end: End::Uncaught });
    assert_eq!(outcome.out, "before\n");
    assert_eq!(outcome.errors, "error: ArgumentError: -1 is not a code point\n  at inner (test.lang:3)\n  at outer (test.lang:12)\n");
}

#[test]
fn errors_of_unjoined_threads_are_reported() {
    let outcome = run(|t| {
        spawn(t, |t| call(t, Builtin::CharToStr, &[u64::MAX]).map(|_| 0))?;
        let seen = spawn(t, |t| call(t, Builtin::CharToStr, &[u64::MAX]).map(|_| 0))?;
        join(t, seen);
        Ok(0)
    });
    assert_eq!((outcome.status.code, outcome.errors.as_str()), (1, "error in thread 1: ArgumentError: -1 is not a code point\n"));
}

#[test]
fn exit_ends_all_threads_at_once() {
    let outcome = run(|t| {
        spawn(t, |t| {
            println(t, "leaving");
            call(t, Builtin::Exit, &[300])?;
            unreachable!("exit does not return");
        })?;
        loop {
            poll(t);
        }
    });
    assert_eq!(outcome.status, ExitStatus { code: 44, end: End::Exit });
    assert_eq!(outcome.out, "leaving\n");
}

#[test]
fn a_panic_ends_the_program() {
    let outcome = run_panicking(|t| {
        spawn(t, |_| panic!("a bug in the virtual machine"))?;
        loop {
            poll(t);
        }
    });
    assert_eq!(outcome.status, ExitStatus { code: 101, end: End::Panic });
}

#[test]
fn a_panic_while_the_world_is_stopped_ends_the_program() {
    let outcome = run_panicking(|t| {
        spawn(t, |t| {
            t.runtime.world.stop(t, |_| panic!("a bug in the collector"));
            Ok(0)
        })?;
        loop {
            poll(t);
        }
    });
    assert_eq!(outcome.status.end, End::Panic);
}

#[test]
fn who_meets_no_yield_point_is_told_of_when_the_program_has_ended() {
    let (told, is_over) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
    let (seen, over) = (told.clone(), is_over.clone());
    run(move |t| {
        let (over, runs) = (over.clone(), Arc::new(AtomicBool::new(false)));
        let begun = runs.clone();
        spawn(t, move |_| {
            runs.store(true, Relaxed);
            while !over.load(Relaxed) {
                std::hint::spin_loop();
            }
            Ok(0)
        })?;
        while !begun.load(Relaxed) {
            poll(t);
        }
        let (runtime, seen) = (t.runtime.clone(), seen.clone());
        std::thread::spawn(move || {
            runtime.world.close();
            let mut at_rest = 0;
            let left = runtime.world.at_rest(&mut |_| at_rest += 1);
            *seen.lock().unwrap() = Some((at_rest, left));
            runtime.end_with(ExitStatus { code: 0, end: End::Exit });
        });
        loop {
            poll(t);
        }
    });
    is_over.store(true, Relaxed);
    assert_eq!(*told.lock().unwrap(), Some((1, 1)));
}

#[test]
fn deep_traces_keep_both_ends() {
    let frames = (0..5000).map(|i| (FuncId::from_u32(2 + i / 4999), Loc(i + 1))).collect();
    let outcome = run_with(RuntimeOptions { verify_heap: true, ..options() }, frames, |t| {
        call(t, Builtin::CharToStr, &[u64::MAX])?;
        Ok(0)
    });
    let lines: Vec<&str> = outcome.errors.lines().collect();
    assert_eq!((lines.len(), lines[21], lines[31]), (32, "  … 4970 more frames", "  at outer (test.lang:5000)"));
}
