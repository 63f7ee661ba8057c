//! Mutexes and conditions.

use super::harness::*;
use crate::runtime::RuntimeOptions;
use crate::runtime::thread::{Ref, Thread};
use crate::runtime::view;
use jit::ir::Builtin::{self, *};
use jit::ir::GlobalId;
use jit::trap::Thrown;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::Mutex as RustMutex;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// A mutex that all threads of a test share: each keeps it in a global of the test, a node's field.
fn on(t: &Thread, builtin: Builtin, mutex: u64) -> Result<(), Thrown> {
    call(t, builtin, &[mutex]).map(|_| ())
}

/// References that live as long as the program: the module has one global.
struct Shared(Arc<Runtime>);
type Runtime = crate::runtime::Runtime;

impl Shared {
    fn get(&self) -> u64 {
        // SAFETY: a global that is set before the threads start.
        unsafe { *self.0.statics.global(GlobalId::from_u32(0)) }
    }
}

fn share_mutex(t: &Thread) -> Shared {
    let mutex = t.alloc_object(ids().mutex).unwrap();
    // SAFETY: no other thread runs yet.
    unsafe { *t.runtime.statics.global(GlobalId::from_u32(0)) = mutex.0 };
    Shared(t.runtime.clone())
}

/// Runs `body` in several threads and waits for all.
fn all(
    t: &Thread,
    count: usize,
    body: impl Fn(&Thread, usize) -> Result<i64, Thrown> + Send + Sync + Clone + 'static,
) -> Result<(), Thrown> {
    let mut numbers = Vec::new();
    for i in 0..count {
        let body = body.clone();
        numbers.push(spawn(t, move |t| body(t, i))?);
    }
    for n in numbers {
        let error = join(t, n);
        if !error.is_null() {
            t.set_error(error);
            return Err(Thrown);
        }
    }
    Ok(())
}

#[test]
fn a_held_mutex_keeps_others_out() {
    for stress in [None, NonZeroU32::new(40)] {
        let options = RuntimeOptions { gc_stress: stress, ..options() };
        let rounds = if stress.is_some() { 100 } else { 3000 };
        let outcome = run_with(options, vec![], move |t| {
            let mutex = Arc::new(share_mutex(t));
            let counter = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
            let (m, c) = (mutex.clone(), counter.clone());
            all(t, 6, move |t, _| {
                for i in 0..rounds {
                    on(t, MutexLock, m.get())?;
                    if i % 5 == 0 {
                        // Re-entrant, and the object may move while held and awaited.
                        on(t, MutexLock, m.get())?;
                        str(t, "garbage");
                        on(t, MutexUnlock, m.get())?;
                    }
                    assert_eq!(c.0.fetch_add(1, SeqCst), 0, "two threads hold the mutex");
                    c.1.store(c.1.load(Relaxed) + 1, Relaxed);
                    poll(t);
                    c.0.fetch_sub(1, SeqCst);
                    on(t, MutexUnlock, m.get())?;
                    poll(t);
                }
                Ok(0)
            })?;
            assert_eq!(counter.1.load(Relaxed), 6 * rounds);
            Ok(0)
        });
        assert_eq!(outcome.errors, "");
    }
}

#[test]
fn only_the_holder_may_unlock_wait_and_notify() {
    let outcome = run(|t| {
        let mutex = Arc::new(share_mutex(t));
        for builtin in [MutexUnlock, MutexWait, MutexNotify, MutexNotifyAll] {
            on(t, builtin, mutex.get()).unwrap_err();
            assert_eq!(error(t).0, "StateError");
        }
        on(t, MutexLock, mutex.get())?;
        let m = mutex.clone();
        all(t, 1, move |t, _| {
            on(t, MutexUnlock, m.get()).unwrap_err();
            assert_eq!(error(t).1, "a mutex was unlocked by a thread that does not hold it");
            Ok(0)
        })?;
        on(t, MutexUnlock, mutex.get())?;
        on(t, MutexUnlock, mutex.get()).unwrap_err();
        t.take_error();
        Ok(0)
    });
    assert_eq!(outcome.errors, "");
}

#[test]
fn waiting_threads_are_notified() {
    let outcome = run(|t| {
        let mutex = Arc::new(share_mutex(t));
        // A queue of one place between producers and consumers.
        let place = Arc::new(RustMutex::new(None::<u64>));
        let sum = Arc::new(AtomicU64::new(0));
        let (m, p, s) = (mutex.clone(), place.clone(), sum.clone());
        all(t, 8, move |t, i| {
            for k in 0..500 {
                // Held twice: waiting gives up all of it, and takes all of it again.
                on(t, MutexLock, m.get())?;
                on(t, MutexLock, m.get())?;
                if i % 2 == 0 {
                    while p.lock().unwrap().is_some() {
                        on(t, MutexWait, m.get())?;
                    }
                    *p.lock().unwrap() = Some(k);
                } else {
                    while p.lock().unwrap().is_none() {
                        on(t, MutexWait, m.get())?;
                    }
                    s.fetch_add(p.lock().unwrap().take().unwrap(), Relaxed);
                }
                on(t, MutexNotifyAll, m.get())?;
                on(t, MutexUnlock, m.get())?;
                on(t, MutexUnlock, m.get())?;
            }
            Ok(0)
        })?;
        assert_eq!(sum.load(Relaxed), 4 * (0..500).sum::<u64>());
        assert_eq!(view::load(Ref(mutex.get()), 8), 0, "free at the end");
        Ok(0)
    });
    assert_eq!(outcome.errors, "");
}

#[test]
fn nobody_starves() {
    let outcome = run(|t| {
        let mutex = Arc::new(share_mutex(t));
        let done = Arc::new(AtomicU64::new(0));
        let (m, d) = (mutex, done);
        // Two threads release and take at once; the third must get its turns between them.
        all(t, 3, move |t, i| {
            let mut turns = 0;
            while if i == 2 { turns < 50 } else { d.load(SeqCst) == 0 } {
                on(t, MutexLock, m.get())?;
                turns += 1;
                on(t, MutexUnlock, m.get())?;
                poll(t);
            }
            if i == 2 {
                d.store(1, SeqCst);
            }
            Ok(0)
        })?;
        Ok(0)
    });
    assert_eq!(outcome.errors, "");
}
