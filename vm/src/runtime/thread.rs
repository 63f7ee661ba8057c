//! One program thread: its context, its roots, its yield points. How it allocates stands in `thread/allocation.rs`.
//!
//! Invariants: a [`Thread`] stays where it is from registration to its end; everything but its atomics is touched only by its own OS thread, or by another one while the world is stopped;
//! raw references live in no Rust variable across an allocation (but one in place), a blocking call or a yield point: they are kept in [`Handle`]s.

#[cfg(feature = "native")]
mod adapting;
mod allocation;

use super::heap::Want;
use super::heap::object::*;
#[cfg(feature = "native")]
use super::profiling::thread::ThreadProfiler;
use super::program::Runtime;
use super::safepoint::{StateCell, World};
use super::timer::Tick;
use super::{metrics, tuning};
use jit::context::ThreadContext;
use jit::interp::stack::Stack;
use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

/// A program thread's number: 0 for the main thread, never used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ThreadId(pub i64);

/// There is no memory for an object, not even after collecting everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory;

/// Address of an object, or 0 for null; may be wrong after the next safepoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Ref(pub u64);

impl Ref {
    pub const NULL: Ref = Ref(0);

    pub fn is_null(self) -> bool {
        self.0 == 0
    }
}

#[repr(C)]
pub struct Thread {
    /// First, so that a context's address is its thread's.
    ctx: UnsafeCell<ThreadContext>,
    pub id: ThreadId,
    pub runtime: Arc<Runtime>,
    pub state: StateCell,
    /// When the profiler's tick was raised that waits for the thread, in its cycles, at least 1; 0: none does. Set by the timer together with the yield flag, so that a yield point can tell a tick from a stop.
    tick: AtomicU64,
    /// A tick of the program's own pace waits, too.
    pace: AtomicBool,
    /// In a window of the profiler's, or all calls are counted.
    counts_calls: Cell<bool>,
    /// The last [`Adaptive::leave`](super::adaptive::Adaptive::leave) that the thread has seen, and at how many of its next yield points loops are looked for that can go on in other code.
    #[cfg(feature = "native")]
    left: Cell<u32>,
    #[cfg(feature = "native")]
    leaving: Cell<u32>,
    /// It was in a short window since the last tick of the program's own pace.
    #[cfg(feature = "native")]
    was_counted: Cell<bool>,
    /// While the thread runs compiled code that is profiled.
    #[cfg(feature = "native")]
    profile: UnsafeCell<Option<ThreadProfiler>>,
    /// See [`Thread::blocked_time`].
    blocked_time: Cell<Duration>,
    handles: UnsafeCell<Vec<u64>>,
    remembered: UnsafeCell<Vec<usize>>,
    /// The interpreter's, while it runs.
    stack: Cell<*const Stack>,
    /// Allocations until the next collection under stress.
    stress_left: Cell<u32>,
    /// Yield points until the next collection at one, 0 for none; the turn that this is of.
    stress_yields: Cell<u32>,
    stress_turn: Cell<u32>,
    /// The allocation with this number from now on fails; 0: none.
    #[cfg(test)]
    pub fail_allocation: Cell<u32>,
}

// SAFETY: see the module's invariants: other threads touch the non-atomic parts only while this one is stopped.
unsafe impl Send for Thread {}
// SAFETY: as above.
unsafe impl Sync for Thread {}

impl Thread {
    pub fn new(runtime: Arc<Runtime>, id: ThreadId) -> Box<Thread> {
        let stress = runtime.heap.stress().map_or(0, |n| n.get());
        let thread = Box::new(Thread {
            ctx: UnsafeCell::new(ThreadContext::new(std::ptr::null_mut())),
            id,
            runtime,
            state: StateCell::new(),
            tick: AtomicU64::new(0),
            pace: AtomicBool::new(false),
            counts_calls: Cell::new(false),
            #[cfg(feature = "native")]
            left: Cell::new(0),
            #[cfg(feature = "native")]
            leaving: Cell::new(0),
            #[cfg(feature = "native")]
            was_counted: Cell::new(false),
            #[cfg(feature = "native")]
            profile: UnsafeCell::new(None),
            blocked_time: Cell::new(Duration::ZERO),
            handles: UnsafeCell::new(Vec::new()),
            remembered: UnsafeCell::new(Vec::new()),
            stack: Cell::new(std::ptr::null()),
            stress_left: Cell::new(stress),
            stress_yields: Cell::new(0),
            stress_turn: Cell::new(0),
            #[cfg(test)]
            fail_allocation: Cell::new(0),
        });
        // SAFETY: nobody else has it yet.
        unsafe { (*thread.ctx.get()).runtime = (&raw const *thread).cast_mut().cast() };
        thread
    }

    /// The thread whose context this is.
    ///
    /// # Safety
    /// `ctx` is the context of a live thread.
    pub unsafe fn from_context<'a>(ctx: *const ThreadContext) -> &'a Thread {
        // SAFETY: the context is the thread's first field.
        unsafe { &*ctx.cast::<Thread>() }
    }

    pub fn context(&self) -> *mut ThreadContext {
        self.ctx.get()
    }

    /// The context for reading; only on the thread itself, or with the world stopped.
    pub fn ctx(&self) -> &ThreadContext {
        // SAFETY: writes go through short-lived pointers on the same thread.
        unsafe { &*self.ctx.get() }
    }

    /// Called on the new OS thread: where its stack ends.
    pub fn set_stack_limit(&self, limit: u64) {
        // SAFETY: on the thread itself, before it runs anything.
        unsafe { (*self.ctx.get()).real_stack_limit = limit };
        self.unpoison();
    }

    pub fn set_interpreter_stack(&self, stack: *const Stack) {
        self.stack.set(stack);
    }

    pub fn interpreter_stack(&self) -> *const Stack {
        self.stack.get()
    }

    /// Roots the closure a new thread will run; before the thread is registered.
    pub fn start_with(&self, closure: Ref) {
        self.push_handle(closure);
    }

    /// The closure, once the thread runs; from now on the caller roots it.
    pub fn start_closure(&self) -> Ref {
        // SAFETY: on the thread itself; the borrow ends here.
        Ref(unsafe { (*self.handles.get()).pop() }.expect("started with a closure"))
    }

    // --- errors

    pub fn set_error(&self, error: Ref) {
        // SAFETY: on the thread itself.
        unsafe { (*self.ctx.get()).pending_error = error.0 };
    }

    /// Takes the pending error.
    pub fn take_error(&self) -> Ref {
        // SAFETY: on the thread itself.
        Ref(unsafe { std::mem::take(&mut (*self.ctx.get()).pending_error) })
    }

    // --- yield points

    /// Makes the thread's next yield point take the slow path. Any thread may call this.
    pub fn poison(&self) {
        // SAFETY: only the atomics are touched.
        let ctx = unsafe { &*self.ctx.get() };
        ctx.stack_limit.store(u64::MAX, SeqCst);
        ctx.yield_flag.store(1, SeqCst);
    }

    pub fn unpoison(&self) {
        let ctx = self.ctx();
        ctx.stack_limit.store(ctx.real_stack_limit, SeqCst);
        ctx.yield_flag.store(0, SeqCst);
    }

    /// The timer's tick. One that finds another of its kind waiting is lost.
    pub fn set_tick(&self, tick: Tick) {
        let finds_sampled = tick.sampled.is_some_and(|raised| self.tick.compare_exchange(0, raised.max(1), SeqCst, SeqCst).is_err());
        let finds_pace = tick.is_pace && self.pace.swap(true, SeqCst);
        if finds_sampled || finds_pace {
            self.metrics().ticks_merged.add(1);
        }
        self.poison();
    }

    /// The thread comes back from the compiler. A tick that waits for it would be noticed at the entry of what was compiled, and say that this has run so long: so programs' first functions, which run once, would be the first to be optimized.
    pub fn forget_pace(&self) {
        self.pace.store(false, SeqCst);
    }

    /// *Safepoint.* The slow path of a yield point.
    pub fn yield_slow(&self) {
        // First re-arm, then look: whoever asks afterwards poisons anew.
        self.unpoison();
        self.runtime.metrics.polls_taken.add(1);
        let raised = self.tick.swap(0, SeqCst);
        self.yielded((raised > 0).then_some(raised));
        let is_pace = self.pace.swap(false, SeqCst);
        self.adapt(is_pace);
        self.runtime.world.poll(self);
        if self.runtime.heap.is_crowded() {
            self.collect(Want::Remembered);
        }
        self.stress_yield();
        self.resumed();
    }

    // --- profiling

    #[cfg(not(feature = "native"))]
    fn yielded(&self, _raised: Option<u64>) {}

    #[cfg(not(feature = "native"))]
    fn adapt(&self, _is_tick: bool) {}

    /// At a yield point, perhaps with a tick of the profiler's.
    #[cfg(feature = "native")]
    fn yielded(&self, raised: Option<u64>) {
        // SAFETY: on the thread itself, outside compiled code; nothing that the profiler calls comes back here.
        let profile = unsafe { &mut *self.profile.get() };
        if let (Some(profile), Some(raised)) = (profile, raised) {
            // SAFETY: the thread's own context.
            unsafe { profile.tick(self.context(), raised) };
            self.count_calls(profile.counts_calls());
        }
    }

    #[cfg(not(feature = "native"))]
    pub fn resumed(&self) {}

    /// After the thread was stopped or blocked, when it may have missed a tick.
    #[cfg(feature = "native")]
    pub fn resumed(&self) {
        // SAFETY: as above.
        if let Some(profile) = unsafe { &mut *self.profile.get() } {
            // SAFETY: as above.
            unsafe { profile.resumed(self.context()) };
            self.count_calls(profile.counts_calls());
        }
    }

    #[cfg(not(feature = "native"))]
    pub fn aside<R>(&self, f: impl FnOnce() -> R) -> R {
        f()
    }

    /// Does what is no part of the program's own work, such as a collection: hardly any of these falls into a window of the profiler's, so with them the time between windows would stand for more calls than it has. On the thread itself.
    #[cfg(feature = "native")]
    pub fn aside<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: as above; the borrows end before and begin after `f`, which looks at the profiles of all threads.
        let began = unsafe { (*self.profile.get()).as_ref().and_then(ThreadProfiler::leaves) };
        let result = f();
        if let Some(began) = began {
            // SAFETY: as above.
            unsafe { (*self.profile.get()).as_mut().expect("it was there before").returns(began) };
        }
        result
    }

    /// Whether the next calls are counted. On the thread itself.
    #[cfg(feature = "native")]
    fn count_calls(&self, counts: bool) {
        if self.counts_calls.replace(counts) == counts {
            return;
        }
        self.choose_code(counts);
        if counts && self.is_in_short_window() {
            self.was_counted.set(true);
        }
        if !counts && self.is_counted_beside() {
            // Loops that were entered in code that counts go on in optimized code, where there is some.
            self.leave_loops(tuning::LEAVING_WINDOW);
        }
    }

    /// The countdown of calls has run out at a prologue.
    #[cfg(feature = "native")]
    pub fn on_call(&self) {
        // SAFETY: as above.
        if let Some(profile) = unsafe { &mut *self.profile.get() } {
            // SAFETY: as above.
            unsafe { profile.call(self.context()) };
            self.count_calls(profile.counts_calls());
        }
    }

    /// Before the thread runs compiled code that counts its calls.
    #[cfg(feature = "native")]
    pub fn start_profile(&self) {
        let Some(profiler) = &self.runtime.options.profiler else { return };
        let mut profile = profiler.thread(super::profiling::thread_id(self.id));
        // SAFETY: the thread's own context.
        unsafe { profile.start(self.context()) };
        self.count_calls(profile.counts_calls());
        // SAFETY: on the thread itself; the borrow ends here.
        unsafe { *self.profile.get() = Some(profile) };
    }

    /// What [`ThreadProfiler::held_since`] says, if the thread is profiled.
    ///
    /// # Safety
    /// The thread is stopped or the caller's.
    #[cfg(feature = "native")]
    pub unsafe fn held_since(&self, number: u64) -> Option<u64> {
        // SAFETY: by contract; the borrow ends here.
        unsafe { (*self.profile.get()).as_mut().map(|profile| profile.held_since(self.context(), number)) }
    }

    /// Hands over what the profile of the thread has not handed over yet.
    ///
    /// # Safety
    /// On the thread itself, or one that never runs again.
    #[cfg(feature = "native")]
    pub unsafe fn finish_profile(&self) {
        // SAFETY: by contract.
        if let Some(mut profile) = unsafe { (*self.profile.get()).take() } {
            // SAFETY: by contract.
            unsafe { profile.finish(self.context()) };
        }
    }

    /// Runs `f`, which may take long and touches no object, while the thread counts as stopped.
    pub fn blocked<R>(&self, f: impl FnOnce() -> R) -> R {
        self.stopped(|world| world.enter_blocked(self), f)
    }

    /// Runs `f`, in which the thread waits until another one has said [`World::woken`]. Never returns if no thread can go on.
    pub fn waiting<R>(&self, f: impl FnOnce() -> R) -> R {
        let enter = |world: &World| {
            if let Some(deadlock) = world.enter_waiting(self) {
                self.runtime.end_deadlock(&deadlock);
            }
        };
        self.stopped(enter, f)
    }

    fn stopped<R>(&self, enter: impl FnOnce(&World), f: impl FnOnce() -> R) -> R {
        let since = Instant::now();
        enter(&self.runtime.world);
        let result = f();
        self.runtime.world.leave_blocked(self);
        self.stood_still(since.elapsed());
        self.resumed();
        result
    }

    /// It was blocked, or the world was stopped, for so long. On the thread itself.
    pub fn stood_still(&self, time: Duration) {
        self.blocked_time.set(self.blocked_time.get() + time);
    }

    /// How long that was so far, all together. On the thread itself.
    pub fn blocked_time(&self) -> Duration {
        self.blocked_time.get()
    }

    // --- roots

    /// Calls `f` with every root slot of the thread but those in its frames; with the world stopped.
    ///
    /// # Safety
    /// The thread is stopped or the caller's.
    pub unsafe fn visit_own_roots(&self, f: &mut dyn FnMut(&mut u64)) {
        // SAFETY: by the caller.
        unsafe {
            (*self.handles.get()).iter_mut().for_each(&mut *f);
            let ctx = self.ctx.get();
            f(&mut (*ctx).pending_error);
            f(&mut (*ctx).trap_object);
        }
    }

    /// Gives up the rest of the allocation buffer and what the thread has remembered.
    ///
    /// # Safety
    /// The thread is stopped or the caller's.
    pub unsafe fn give_up_buffer(&self) -> Vec<usize> {
        // SAFETY: by the caller.
        unsafe {
            let ctx = self.ctx.get();
            (*ctx).alloc_cursor = 0;
            (*ctx).alloc_limit = 0;
            std::mem::take(&mut *self.remembered.get())
        }
    }

    /// The barrier's slow path: an old object with a set log bit was or will be stored into.
    pub fn remember(&self, obj: Ref) {
        // SAFETY: `obj` is an object; its log byte is a location of its own. The swap lets one of several threads remember it.
        let was = unsafe {
            std::sync::atomic::AtomicU8::from_ptr((obj.0 as usize + jit::layout::LOG_BYTE as usize) as *mut u8).swap(LOGGED, Relaxed)
        };
        if was == LOGGED {
            return;
        }
        // SAFETY: on the thread itself; the borrow ends before the next call of this function.
        let remembered = unsafe { &mut *self.remembered.get() };
        remembered.push(obj.0 as usize);
        if remembered.len() == tuning::REMEMBERED_CHUNK && self.runtime.heap.remember_all(remembered.drain(..)) {
            self.poison();
        }
    }

    // --- collection

    /// Stops the world and collects. `None`: another thread did meanwhile; otherwise whether what is wanted is there now.
    pub fn collect(&self, want: Want) -> Option<bool> {
        self.runtime.collect(self, want)
    }

    // --- handles

    fn push_handle(&self, obj: Ref) -> usize {
        // SAFETY: on the thread itself; the borrow ends here.
        let handles = unsafe { &mut *self.handles.get() };
        handles.push(obj.0);
        handles.len() - 1
    }

    /// A scope for handles: they are rooted until it is dropped.
    pub fn scope(&self) -> Scope<'_> {
        // SAFETY: on the thread itself; the borrow ends here.
        let mark = unsafe { (*self.handles.get()).len() };
        Scope { thread: self, mark }
    }

    pub fn metrics(&self) -> &metrics::Metrics {
        &self.runtime.metrics
    }
}

/// Roots references of Rust code while it is alive. Scopes nest.
pub struct Scope<'t> {
    thread: &'t Thread,
    mark: usize,
}

/// A reference that the collector updates.
#[derive(Clone, Copy)]
pub struct Handle<'s> {
    thread: &'s Thread,
    index: usize,
}

impl Scope<'_> {
    pub fn root(&self, obj: Ref) -> Handle<'_> {
        Handle { thread: self.thread, index: self.thread.push_handle(obj) }
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        // SAFETY: on the thread itself; the borrow ends here.
        unsafe { (*self.thread.handles.get()).truncate(self.mark) };
    }
}

impl Handle<'_> {
    pub fn get(&self) -> Ref {
        // SAFETY: on the thread itself; the scope keeps the index valid.
        Ref(unsafe { (&(*self.thread.handles.get()))[self.index] })
    }

    pub fn set(&self, obj: Ref) {
        // SAFETY: as in `get`.
        unsafe { (&mut (*self.thread.handles.get()))[self.index] = obj.0 };
    }
}
