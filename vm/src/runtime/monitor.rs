//! Mutexes: re-entrant, with wait and notify.
//!
//! A free mutex is taken with one compare-and-swap on its `state` field. Everything else happens under one lock per runtime, in queues keyed by the mutex's `key` field (a number, for the object may move).
//! Who finds the mutex held looks at it for about as long as parking takes before it parks; who is notified goes on waiting, for the mutex, and is woken when that is released: not before, to find it held.
//! Invariants: `state` is 0 free, 1 held, 2 held and perhaps awaited; a thread parks only after it has set 2 under the lock, one that was woken takes the mutex by setting 2, and a holder that finds 2 looks at the queue under the lock, so no wake-up is lost;
//! `owner` and `depth` are written only by whoever holds the mutex. Fairness: a woken thread that finds the mutex taken again stands first in the queue, and once it has waited for [`tuning::MUTEX_PATIENCE`] an unlock hands the mutex to it.

use super::errors::Failure;
use super::safepoint::World;
use super::thread::{Handle, Ref, Thread};
use super::{tuning, view};
use jit::ir::FieldId;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

const FREE: u64 = 0;
const HELD: u64 = 1;
const AWAITED: u64 = 2;

#[derive(Default)]
pub struct Monitors {
    queues: Mutex<HashMap<u64, Queues>>,
    keys: AtomicU64,
}

#[derive(Default)]
struct Queues {
    /// Want the mutex.
    entry: VecDeque<Waiter>,
    /// Wait for a notification.
    condition: VecDeque<Waiter>,
}

struct Waiter {
    signal: Arc<Signal>,
    /// Value of the `owner` field when the thread holds the mutex.
    owner: u64,
    /// Has waited for long: gets the mutex itself, not just a wake-up.
    hand_over: bool,
}

/// A parked thread.
struct Signal {
    thread: std::thread::Thread,
    woken: AtomicBool,
    /// The mutex is the woken thread's already.
    owns: AtomicBool,
}

impl Signal {
    fn new() -> Arc<Signal> {
        Arc::new(Signal { thread: std::thread::current(), woken: AtomicBool::new(false), owns: AtomicBool::new(false) })
    }

    fn wake(&self, world: &World) {
        world.woken(1);
        self.woken.store(true, Release);
        self.thread.unpark();
    }

    fn wait(&self) {
        while !self.woken.load(Acquire) {
            std::thread::park();
        }
    }
}

/// The fields of one mutex object, until the next safepoint.
struct Fields {
    state: &'static AtomicU64,
    owner: &'static AtomicU64,
    depth: &'static AtomicU64,
    key: &'static AtomicU64,
}

fn fields(thread: &Thread, mutex: Ref) -> Fields {
    let (layout, known) = (&thread.runtime.layout, thread.runtime.known.mutex);
    let field = |f: FieldId| view::word(mutex, layout.field_offset[f]);
    Fields { state: field(known.state), owner: field(known.owner), depth: field(known.depth), key: field(known.key) }
}

fn owner_word(thread: &Thread) -> u64 {
    thread.id.0 as u64 + 1
}

impl Monitors {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Queues>> {
        self.queues.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The mutex's number; assigned when it is first needed.
    fn key(&self, fields: &Fields) -> u64 {
        match fields.key.load(Acquire) {
            0 => {
                let new = self.keys.fetch_add(1, Relaxed) + 1;
                fields.key.compare_exchange(0, new, AcqRel, Acquire).map_or_else(|other| other, |_| new)
            }
            key => key,
        }
    }
}

/// *Safepoint.*
pub fn lock(thread: &Thread, mutex: Ref) {
    let f = fields(thread, mutex);
    let me = owner_word(thread);
    if f.state.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok() {
        own(thread, &f, 1);
    } else if f.owner.load(Relaxed) == me {
        f.depth.fetch_add(1, Relaxed);
    } else {
        let scope = thread.scope();
        lock_slow(thread, scope.root(mutex), 1);
    }
}

/// Takes a mutex that this thread does not hold, and sets its depth.
fn lock_slow(thread: &Thread, mutex: Handle<'_>, depth: u64) {
    if !take_soon(thread, &fields(thread, mutex.get()), HELD, depth) {
        lock_parked(thread, mutex, depth, None);
    }
}

/// Takes the mutex, into this state, if it becomes free within the time that parking would take. No safepoint: a stop waits for no more than that.
fn take_soon(thread: &Thread, f: &Fields, state: u64, depth: u64) -> bool {
    for _ in 0..tuning::MUTEX_SPINS {
        if f.state.load(Relaxed) == FREE && f.state.compare_exchange(FREE, state, Acquire, Relaxed).is_ok() {
            own(thread, f, depth);
            return true;
        }
        std::hint::spin_loop();
    }
    false
}

/// The thread has just taken the mutex.
fn own(thread: &Thread, f: &Fields, depth: u64) {
    f.owner.store(owner_word(thread), Relaxed);
    f.depth.store(depth, Relaxed);
}

/// Takes the mutex as [`lock_slow`], parked for as long as it is held. `woken`: the thread was parked before, and since when.
fn lock_parked(thread: &Thread, mutex: Handle<'_>, depth: u64, mut woken: Option<Instant>) {
    let monitors = &thread.runtime.monitors;
    loop {
        let f = fields(thread, mutex.get());
        // Others may stand in the queue.
        if woken.is_some() && take_soon(thread, &f, AWAITED, depth) {
            return;
        }
        let key = monitors.key(&f);
        let mut queues = monitors.lock();
        if f.state.swap(AWAITED, Acquire) == FREE {
            return own(thread, &f, depth);
        }
        let signal = Signal::new();
        let hand_over = woken.is_some_and(|since| since.elapsed() > tuning::MUTEX_PATIENCE);
        let waiter = Waiter { signal: signal.clone(), owner: owner_word(thread), hand_over };
        let entry = &mut queues.entry(key).or_default().entry;
        if woken.is_some() {
            entry.push_front(waiter)
        } else {
            entry.push_back(waiter)
        }
        drop(queues);
        if woken.is_none() {
            thread.metrics().mutex_waits.add(1);
            woken = Some(Instant::now());
        }
        if park(thread, mutex, depth, &signal) {
            return;
        }
    }
}

/// Waits to be woken; says whether the mutex is the thread's then.
fn park(thread: &Thread, mutex: Handle<'_>, depth: u64, signal: &Signal) -> bool {
    thread.waiting(|| signal.wait());
    let owns = signal.owns.load(Acquire);
    if owns {
        fields(thread, mutex.get()).depth.store(depth, Relaxed);
    }
    owns
}

/// `StateError` unless this thread holds the mutex.
pub fn unlock(thread: &Thread, mutex: Ref) -> Result<(), Failure> {
    let f = fields(thread, mutex);
    check_owner(thread, &f, "unlocked")?;
    let depth = f.depth.load(Relaxed);
    if depth > 1 {
        f.depth.store(depth - 1, Relaxed);
        return Ok(());
    }
    release(thread, &f);
    Ok(())
}

fn check_owner(thread: &Thread, f: &Fields, action: &str) -> Result<(), Failure> {
    if f.owner.load(Relaxed) == owner_word(thread) {
        return Ok(());
    }
    Err(Failure::Error(thread.runtime.known.state_error, format!("a mutex was {action} by a thread that does not hold it")))
}

fn release(thread: &Thread, f: &Fields) {
    f.depth.store(0, Relaxed);
    f.owner.store(0, Relaxed);
    if f.state.compare_exchange(HELD, FREE, Release, Relaxed).is_ok() {
        return;
    }
    let monitors = &thread.runtime.monitors;
    let mut table = monitors.lock();
    let key = monitors.key(f);
    let Some(waiter) = table.get_mut(&key).and_then(|q| q.entry.pop_front()) else {
        f.state.store(FREE, Release);
        return;
    };
    if table.get(&key).is_some_and(|q| q.entry.is_empty() && q.condition.is_empty()) {
        table.remove(&key);
    }
    if waiter.hand_over {
        // The state stays as it is: held, and perhaps awaited.
        f.owner.store(waiter.owner, Relaxed);
        waiter.signal.owns.store(true, Release);
    } else {
        f.state.store(FREE, Release);
    }
    drop(table);
    waiter.signal.wake(&thread.runtime.world);
}

/// *Safepoint.* Releases the mutex however often it is held, sleeps until notified and the mutex is released, takes it again.
pub fn wait(thread: &Thread, mutex: Ref) -> Result<(), Failure> {
    let f = fields(thread, mutex);
    check_owner(thread, &f, "waited for")?;
    let scope = thread.scope();
    let mutex = scope.root(mutex);
    let monitors = &thread.runtime.monitors;
    let depth = f.depth.load(Relaxed);
    let signal = Signal::new();
    let key = monitors.key(&f);
    let waiter = Waiter { signal: signal.clone(), owner: owner_word(thread), hand_over: false };
    monitors.lock().entry(key).or_default().condition.push_back(waiter);
    release(thread, &f);
    if !park(thread, mutex, depth, &signal) {
        lock_parked(thread, mutex, depth, Some(Instant::now()));
    }
    Ok(())
}

/// Lets one thread that waits go on, or all: from now on they want the mutex, which the caller holds.
pub fn notify(thread: &Thread, mutex: Ref, all: bool) -> Result<(), Failure> {
    let f = fields(thread, mutex);
    check_owner(thread, &f, "notified")?;
    let key = f.key.load(Acquire);
    let mut table = thread.runtime.monitors.lock();
    let Some(Queues { entry, condition }) = table.get_mut(&key) else { return Ok(()) };
    let count = if all { condition.len() } else { 1.min(condition.len()) };
    if count > 0 {
        entry.extend(condition.drain(..count));
        f.state.store(AWAITED, Relaxed);
    }
    Ok(())
}
