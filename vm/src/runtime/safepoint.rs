//! Stopping the world: every program thread is Running, Blocked or at a safepoint, and a collection runs only when none is Running.
//!
//! In: state changes of threads, requests to stop, ticks of the timer. Out: exclusive access to all threads' data and the heap for the requester.
//! Invariants: a thread that is not Running touches neither heap nor its own roots; a Blocked thread becomes Running only while no stop is in force; states and the list of running threads
//! change under one lock, each change asserted, and there it is seen where no thread can go on. A stop is asked for by poisoning every thread's limits and yield flag, which their next yield point notices.

use super::metrics::Metrics;
use super::thread::Thread;
use super::timer::{Due, Ticks};
use std::sync::atomic::{AtomicIsize, AtomicU8, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ThreadState {
    /// Not yet started, or in a call that may take long: counts as stopped.
    Blocked,
    Running,
    /// Waits for the end of another thread's stop.
    AtSafepoint,
    /// Stopped the world itself.
    Stopper,
    Ended,
}

/// A thread's state; changes only under the world's lock.
#[derive(Debug)]
pub struct StateCell {
    state: AtomicU8,
    /// While it is Running: its place among those that are.
    place: AtomicUsize,
}

impl StateCell {
    pub fn new() -> Self {
        StateCell { state: AtomicU8::new(ThreadState::Blocked as u8), place: AtomicUsize::new(0) }
    }

    fn is(&self, state: ThreadState) -> bool {
        self.state.load(Relaxed) == state as u8
    }

    fn change(&self, from: ThreadState, to: ThreadState) {
        let was = self.state.swap(to as u8, Relaxed);
        assert_eq!(was, from as u8, "a thread went to {to:?} from the wrong state");
    }
}

impl Default for StateCell {
    fn default() -> Self {
        Self::new()
    }
}

/// All threads, each of which waits for what only another could do: none of them runs ever again.
pub struct Deadlock(Vec<*const Thread>);

impl Deadlock {
    pub fn threads(&self) -> impl Iterator<Item = &Thread> {
        // SAFETY: they are registered for good, since only running threads change that.
        self.0.iter().map(|&thread| unsafe { &*thread })
    }
}

/// All program threads of one runtime.
pub struct World {
    state: Mutex<State>,
    /// A running thread stopped.
    stopped: Condvar,
    /// A stop ended.
    resumed: Condvar,
    /// The timer's: its sleep, and its wait for a running thread.
    timer: Condvar,
    /// Blocked threads that only another thread lets go on, less those that one has let go on.
    waiting: AtomicIsize,
    metrics: Arc<Metrics>,
}

struct State {
    threads: Vec<*const Thread>,
    running: Running,
    stop: bool,
    /// No thread may run any more.
    closed: bool,
    timer_idle: bool,
    idle: Idle,
}

/// The threads that run. Each knows its place, so that many that wait cost those that run nothing, and the timer neither.
#[derive(Default)]
struct Running(Vec<*const Thread>);

impl Running {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, thread: &Thread) {
        thread.state.place.store(self.0.len(), Relaxed);
        self.0.push(thread);
    }

    fn remove(&mut self, thread: &Thread) {
        let place = thread.state.place.load(Relaxed);
        let removed = self.0.swap_remove(place);
        assert!(std::ptr::eq(removed, thread), "a thread that runs knows its place");
        if let Some(&moved) = self.0.get(place) {
            // SAFETY: threads that run are registered, and alive.
            unsafe { &*moved }.state.place.store(place, Relaxed);
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Thread> {
        // SAFETY: as above.
        self.0.iter().map(|&thread| unsafe { &*thread })
    }
}

/// Times in which no thread runs, for the timer.
struct Idle {
    /// This one has gone on since then.
    since: Option<Instant>,
    /// Those that are over, and the timer has not been told of.
    passed: Duration,
}

impl Idle {
    fn from_now() -> Idle {
        Idle { since: Some(Instant::now()), passed: Duration::ZERO }
    }

    /// All that is over.
    fn forget(&mut self) {
        *self = Idle { since: self.since.map(|_| Instant::now()), passed: Duration::ZERO };
    }

    fn end(&mut self) {
        self.passed += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }
}

// SAFETY: the thread pointers are valid while registered, and only used under the lock.
unsafe impl Send for State {}

impl World {
    pub fn new(metrics: Arc<Metrics>) -> World {
        let state = State {
            threads: Vec::new(),
            running: Running::default(),
            stop: false,
            closed: false,
            timer_idle: false,
            idle: Idle::from_now(),
        };
        let (stopped, resumed, timer) = (Condvar::new(), Condvar::new(), Condvar::new());
        World { state: Mutex::new(state), stopped, resumed, timer, waiting: AtomicIsize::new(0), metrics }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn wait<'a>(&self, condvar: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        condvar.wait(state).unwrap_or_else(|e| e.into_inner())
    }

    /// Makes a thread known, in state Blocked. From now on its roots are visited. The caller is Running or the world has no threads yet.
    ///
    /// # Safety
    /// The thread stays where it is until [`World::unregister`].
    pub unsafe fn register(&self, thread: *const Thread) {
        self.lock().threads.push(thread);
    }

    /// Forgets a Running thread. Gives the others, if they all wait for each other.
    pub fn unregister(&self, thread: &Thread) -> Option<Deadlock> {
        let mut state = self.lock();
        thread.state.change(ThreadState::Running, ThreadState::Ended);
        self.one_less_running(&mut state, thread);
        state.threads.retain(|&t| !std::ptr::eq(t, thread));
        self.deadlock(&state)
    }

    /// Forgets a thread that never ran.
    pub fn unregister_unstarted(&self, thread: &Thread) {
        let mut state = self.lock();
        thread.state.change(ThreadState::Blocked, ThreadState::Ended);
        state.threads.retain(|&t| !std::ptr::eq(t, thread));
    }

    fn one_less_running(&self, state: &mut State, thread: &Thread) {
        state.running.remove(thread);
        if !state.running.is_empty() {
            return;
        }
        state.idle.since = Some(Instant::now());
        if state.stop || state.closed {
            self.stopped.notify_all();
        }
    }

    fn one_more_running(&self, state: &mut State, thread: &Thread) {
        state.running.add(thread);
        state.idle.end();
        if std::mem::take(&mut state.timer_idle) {
            self.timer.notify_all();
        }
    }

    /// Running → Blocked: until [`World::leave_blocked`] the thread counts as stopped.
    pub fn enter_blocked(&self, thread: &Thread) {
        let mut state = self.lock();
        thread.state.change(ThreadState::Running, ThreadState::Blocked);
        self.one_less_running(&mut state, thread);
    }

    /// Running → Blocked, until another thread says [`World::woken`], perhaps before this. Gives all threads, if they all wait for each other.
    pub fn enter_waiting(&self, thread: &Thread) -> Option<Deadlock> {
        let mut state = self.lock();
        thread.state.change(ThreadState::Running, ThreadState::Blocked);
        self.one_less_running(&mut state, thread);
        self.waiting.fetch_add(1, Relaxed);
        self.deadlock(&state)
    }

    /// The caller, which is Running, lets so many waiting threads go on.
    pub fn woken(&self, threads: usize) {
        self.waiting.fetch_sub(threads as isize, Relaxed);
    }

    /// Where no thread runs, none is about to say that it has woken another: it has said so before it took the lock to change its state.
    fn deadlock(&self, state: &State) -> Option<Deadlock> {
        let all = state.threads.len();
        let is_deadlock = all > 0 && state.running.is_empty() && !state.closed && self.waiting.load(Relaxed) == all as isize;
        is_deadlock.then(|| Deadlock(state.threads.clone()))
    }

    /// Blocked → Running, after any stop in force. Never returns once the world is closed.
    pub fn leave_blocked(&self, thread: &Thread) {
        let mut state = self.lock();
        while state.stop || state.closed {
            state = self.wait(&self.resumed, state);
        }
        thread.state.change(ThreadState::Blocked, ThreadState::Running);
        self.one_more_running(&mut state, thread);
    }

    /// If a stop is asked for: waits until it is over.
    pub fn poll(&self, thread: &Thread) {
        drop(self.wait_while_stopped(thread, self.lock()));
    }

    /// Gives the lock back, and whether there was a stop to wait for.
    fn wait_while_stopped<'a>(&'a self, thread: &Thread, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
        if !state.stop && !state.closed {
            return (state, false);
        }
        let since = Instant::now();
        thread.state.change(ThreadState::Running, ThreadState::AtSafepoint);
        self.one_less_running(&mut state, thread);
        while state.stop || state.closed {
            state = self.wait(&self.resumed, state);
        }
        thread.stood_still(since.elapsed());
        thread.state.change(ThreadState::AtSafepoint, ThreadState::Running);
        self.one_more_running(&mut state, thread);
        (state, true)
    }

    /// Stops all other threads, runs `f` on all of them (the caller's included), and lets them go on. `None` if another thread's stop came first: the caller waited for its end, and should look again at why it wanted one.
    pub fn stop<R>(&self, thread: &Thread, f: impl FnOnce(&[*const Thread]) -> R) -> Option<R> {
        let begin = Instant::now();
        let (mut state, waited) = self.wait_while_stopped(thread, self.lock());
        if waited {
            drop(state);
            thread.resumed();
            return None;
        }
        state.stop = true;
        thread.state.change(ThreadState::Running, ThreadState::Stopper);
        self.one_less_running(&mut state, thread);
        // Not the caller: a tick that waits for it would have to wait for the next one.
        for &other in state.threads.iter().filter(|&&other| !std::ptr::eq(other, thread)) {
            // SAFETY: registered threads are alive.
            unsafe { (*other).poison() };
        }
        while !state.running.is_empty() {
            state = self.wait(&self.stopped, state);
        }
        let threads = state.threads.clone();
        drop(state);
        self.metrics.stops.add(1);
        self.metrics.stop_wait_nanos.add(begin.elapsed().as_nanos() as u64);
        // A panic in `f` leaves the world stopped: the heap may be broken. The runtime ends the process then.
        let result = f(&threads);
        let mut state = self.lock();
        state.stop = false;
        thread.state.change(ThreadState::Stopper, ThreadState::Running);
        self.one_more_running(&mut state, thread);
        self.resumed.notify_all();
        drop(state);
        thread.stood_still(begin.elapsed());
        thread.resumed();
        Some(result)
    }

    /// From now on no thread becomes Running, and running ones stop at their next yield point, for good.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        for &thread in &state.threads {
            // SAFETY: registered threads are alive.
            unsafe { (*thread).poison() };
        }
        self.timer.notify_all();
    }

    /// Once the world is closed: waits until no thread runs, but not for long, and gives `f` those that never run again. Tells how many it did not give.
    pub fn at_rest(&self, f: &mut dyn FnMut(&Thread)) -> usize {
        /// Yield points are close to each other; if no thread meets one for so long, those that run are in loops of builtins.
        const PATIENCE: Duration = Duration::from_millis(500);
        /// Whoever has stopped the others goes on for so long at most, in the same unit; if not, it has failed.
        const STOP: u32 = 10;
        let mut state = self.lock();
        assert!(state.closed, "threads come to rest when the world is closed");
        let mut waits = 0;
        loop {
            let running = state.running.len();
            let is_moving = |state: &mut State| !state.running.is_empty() || state.stop;
            state = self.stopped.wait_timeout_while(state, PATIENCE, is_moving).unwrap_or_else(|e| e.into_inner()).0;
            waits += 1;
            match (state.stop, state.running.len()) {
                // It looks at all threads.
                (true, _) if waits == STOP => return state.threads.len(),
                (true, _) => {}
                (false, now) if now == 0 || now == running => break,
                _ => {}
            }
        }
        for &thread in &state.threads {
            // SAFETY: registered threads are alive.
            let thread = unsafe { &*thread };
            if !thread.state.is(ThreadState::Running) {
                f(thread);
            }
        }
        state.running.len()
    }

    /// Ticks every running thread.
    fn tick(&self, ticks: &mut dyn Ticks) {
        let tick = ticks.before();
        let state = self.lock();
        for thread in state.running.iter() {
            thread.set_tick(tick);
            self.metrics.ticks.add(1);
        }
        drop(state);
        ticks.after();
    }

    /// The timer's life: ticks every running thread, again and again; sleeps while none runs; returns when the world is closed.
    pub fn run_timer(&self, ticks: &mut dyn Ticks) {
        let mut state = self.lock();
        state.idle.forget();
        let mut due = Due::after(ticks.interval());
        while !state.closed {
            let idle = std::mem::take(&mut state.idle.passed);
            if !idle.is_zero() {
                due.idled(idle);
                ticks.idled(idle);
            }
            if state.running.is_empty() {
                state.timer_idle = true;
                state = self.wait(&self.timer, state);
                continue;
            }
            let left = due.left();
            if !left.is_zero() {
                state = self.timer.wait_timeout(state, left).unwrap_or_else(|e| e.into_inner()).0;
                continue;
            }
            drop(state);
            // The system looks at all threads for that, so nobody waits for it meanwhile.
            if let Some(time) = due.put_off() {
                ticks.idled(time);
            } else {
                self.tick(ticks);
                due = due.next(ticks.interval());
            }
            state = self.lock();
        }
    }
}
