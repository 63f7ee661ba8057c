//! The heap as programs see it: collections under running threads, running out of memory and going on.

use super::harness::*;
use crate::runtime::heap::Want;
use crate::runtime::thread::{Ref, Thread};
use crate::runtime::{RuntimeOptions, StartError, view};
use jit::ir::Builtin;
use jit::ir::{FuncId, Loc};
use std::num::NonZeroU32;

/// A list of numbered nodes in a handle of the scope; stops when memory runs out.
fn build<'s>(t: &'s Thread, scope: &'s crate::runtime::thread::Scope<'s>, count: usize) -> (crate::runtime::thread::Handle<'s>, usize) {
    let node = ids().node;
    let list = scope.root(Ref::NULL);
    for i in 0..count {
        let Ok(new) = t.alloc_object(node) else { return (list, i) };
        view::store(new, NUMBER, i as u64);
        view::store_ref(t, new, NEXT, list.get());
        list.set(new);
    }
    (list, count)
}

fn length(list: Ref) -> usize {
    let (mut at, mut n) = (list, 0);
    while !at.is_null() {
        n += 1;
        at = view::load_ref(at, NEXT);
    }
    n
}

#[test]
fn out_of_memory_is_an_error_that_a_program_survives() {
    let options = RuntimeOptions { heap: Some(4 << 20), verify_heap: false, ..options() };
    let frames = vec![(FuncId::from_u32(2), Loc(3)); 2000];
    let outcome = run_with(options, frames, |t| {
        for _ in 0..5 {
            let scope = t.scope();
            let (list, count) = build(t, &scope, usize::MAX);
            assert_eq!(length(list.get()), count);
            assert!(count * 24 > 3 << 20, "{count} nodes");
            // What a handler usually does first.
            println(t, "caught");
            // The interpreter and compiled code throw like this, again and again if need be.
            for _ in 0..3 {
                let mut host = crate::runtime::host::ThreadHost::new(t);
                let result = jit::interp::Host::new_array(&mut host, t.runtime.known.int_array, 1 << 16);
                assert!(result.is_err());
                assert_eq!(error(t), ("OutOfMemoryError".into(), "out of memory".into()));
            }
            list.set(Ref::NULL);
            println(t, "still here");
        }
        Ok(0)
    });
    assert_eq!(outcome.out, "caught\nstill here\n".repeat(5));
    assert!(outcome.runtime.metrics.peak_bytes.get() <= 4 << 20);
}

#[test]
fn uncaught_out_of_memory_is_reported() {
    let options = RuntimeOptions { heap: Some(2 << 20), verify_heap: false, ..options() };
    let frames = vec![(FuncId::from_u32(2), Loc(9))];
    let outcome = run_with(options, frames, |t| {
        let scope = t.scope();
        let (_list, _) = build(t, &scope, usize::MAX);
        Err(crate::runtime::errors::throw_out_of_memory(t))
    });
    assert_eq!((outcome.status.code, outcome.errors.as_str()), (1, "error: OutOfMemoryError: out of memory\n  at inner (test.lang:9)\n"));
}

#[test]
fn every_allocation_may_collect() {
    let options = RuntimeOptions { gc_stress: NonZeroU32::new(1), ..options() };
    let outcome = run_with(options, vec![(FuncId::from_u32(2), Loc(1)); 5], |t| {
        let scope = t.scope();
        let (list, _) = build(t, &scope, 300);
        let hash = call(t, Builtin::IdentityHash, &[list.get().0]).unwrap();
        let text = scope.root(str(t, ""));
        for i in 0..100 {
            let part = str(t, &format!("{i},"));
            let joined = call(t, Builtin::StrConcat, &[text.get().0, part.0]).unwrap();
            text.set(Ref(joined));
        }
        call(t, Builtin::StrSubstring, &[text.get().0, 5, 1]).unwrap_err();
        assert_eq!(error(t).0, "BoundsError");
        assert_eq!(length(list.get()), 300);
        assert_eq!(call(t, Builtin::IdentityHash, &[list.get().0]).unwrap(), hash);
        assert!(view::text(text.get()).ends_with("98,99,"));
        Ok(0)
    });
    assert_eq!(outcome.errors, "");
    assert!(outcome.runtime.metrics.major_collections.get() > 200);
}

#[test]
fn an_allocation_under_stress_has_a_collection_at_a_yield_point_behind_it() {
    let options = RuntimeOptions { gc_stress: NonZeroU32::new(1), ..options() };
    run_with(options, vec![], |t| {
        let metrics = &t.runtime.metrics;
        let collections = || metrics.minor_collections.get() + metrics.major_collections.get();
        let mut kinds = std::collections::BTreeSet::new();
        for _ in 0..10 {
            str(t, "text");
            let (before, majors) = (collections(), metrics.major_collections.get());
            let polls = (1..=10).find(|_| {
                poll(t);
                collections() > before
            });
            kinds.insert((polls.expect("it comes"), metrics.major_collections.get() > majors));
        }
        assert_eq!(kinds, (1..=5).flat_map(|polls| [(polls, false), (polls, true)]).collect());
        Ok(0)
    });
}

#[test]
fn huge_arrays_are_no_memory_not_a_crash() {
    run(|t| {
        let known = t.runtime.known;
        for class in [known.int_array, known.bytes, ids().ref_array] {
            for length in [1 << 24, 1 << 40, i64::MAX as usize, usize::MAX / 8] {
                assert!(t.alloc_array(class, length).is_err());
            }
        }
        assert!(t.alloc_array(known.bytes, 10 << 20).is_ok());
        Ok(0)
    });
}

#[test]
fn counters_add_up() {
    let outcome = run(|t| {
        for _ in 0..10 {
            let scope = t.scope();
            build(t, &scope, 20_000);
        }
        t.collect(Want::Major);
        Ok(7)
    });
    let m = &outcome.runtime.metrics;
    assert_eq!(outcome.status.code, 7);
    assert!(m.allocated_bytes.get() >= 10 * 20_000 * 24);
    assert!(m.promoted_bytes.get() <= m.allocated_bytes.get());
    assert!(m.minor_collections.get() >= 2);
    assert_eq!(m.major_collections.get(), 1);
    assert!(m.max_pause_nanos.get() <= m.gc_nanos.get());
    assert_eq!(m.threads.get(), 1);
    assert!(m.rows().iter().all(|r| r.name.contains('.') && !r.description.is_empty()));
}

#[test]
fn stores_into_old_objects_bring_collections_before_they_take_much_memory() {
    const NODES: usize = 200_000;
    let options = RuntimeOptions { heap: Some(16 << 20), verify_heap: false, ..options() };
    let outcome = run_with(options, vec![], |t| {
        let scope = t.scope();
        let (list, count) = build(t, &scope, NODES);
        assert_eq!(count, NODES);
        t.collect(Want::Major);
        let before = t.metrics().minor_collections.get();
        let at = scope.root(list.get());
        while !at.get().is_null() {
            view::store_ref(t, at.get(), NEXT, view::load_ref(at.get(), NEXT));
            at.set(view::load_ref(at.get(), NEXT));
            if t.ctx().yield_flag.load(std::sync::atomic::Ordering::Relaxed) != 0 {
                t.yield_slow();
            }
        }
        let collections = t.metrics().minor_collections.get() - before;
        assert!((2..NODES as u64 / 4096).contains(&collections), "{collections} collections");
        assert_eq!(length(list.get()), NODES);
        Ok(0)
    });
    assert_eq!(outcome.errors, "");
    let peak = outcome.runtime.metrics.peak_bytes.get();
    assert!(peak <= 16 << 20, "{peak} bytes");
}

#[test]
fn impossible_options_are_errors() {
    let (module, _) = module();
    let module = std::sync::Arc::new(module);
    let layout = std::sync::Arc::new(jit::layout::Layout::new(&module));
    let start = |change: fn(&mut RuntimeOptions)| {
        let mut o = options();
        change(&mut o);
        crate::runtime::Runtime::new(module.clone(), layout.clone(), Box::new(crate::runtime::NoSymbols), o).err()
    };
    assert!(matches!(start(|o| o.heap = Some(100)), Some(StartError::HeapTooSmall { bytes: 100, .. })));
    assert!(matches!(start(|o| o.heap = Some(u64::MAX)), Some(StartError::NoSpace { .. })));
    assert!(matches!(start(|o| o.stack = 1), Some(StartError::StackTooSmall { .. })));
    assert!(start(|o| o.nursery = Some(0)).is_none());
    assert!(start(|o| o.nursery = Some(u64::MAX)).is_none());
}
