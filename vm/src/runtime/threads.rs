//! Starting, ending and joining program threads.
//!
//! In: closures to run. Out: numbers to join by. Invariants: a thread is registered with the world before its OS thread exists, so its closure is always rooted; the error that ended a thread is rooted
//! until the thread is joined or the program ends; a thread without a record ended without an error, or was joined.

use super::errors;
use super::program::{End, ExitStatus, Runtime};
use super::thread::{Ref, Thread, ThreadId};
use super::tuning;
use jit::trap::Thrown;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

#[derive(Default)]
pub struct Threads {
    table: Mutex<Table>,
    ended: Condvar,
    os: Mutex<OsThreads>,
}

/// The OS threads of program threads, which are joined once they have ended: none is detached, because in glibc's `pthread_detach` a thread that ends meanwhile may free what is still looked at.
#[derive(Default)]
struct OsThreads {
    handles: Vec<JoinHandle<()>>,
    /// Handles from which on those that have ended are looked for again.
    enough: usize,
}

impl OsThreads {
    const FEW: usize = 16;

    fn keep(&mut self, handle: JoinHandle<()>) {
        self.handles.push(handle);
        if self.handles.len() < self.enough.max(Self::FEW) {
            return;
        }
        for handle in self.handles.extract_if(.., |handle| handle.is_finished()) {
            // A panic of it has been told.
            _ = handle.join();
        }
        self.enough = 2 * self.handles.len();
    }
}

impl Drop for OsThreads {
    fn drop(&mut self) {
        // Dropping one that still runs would detach it.
        self.handles.drain(..).for_each(std::mem::forget);
    }
}

#[derive(Default)]
struct Table {
    /// Number of the next thread.
    next: i64,
    /// Threads besides the main one that have not ended.
    others: usize,
    /// The main one waits for these.
    is_awaited: bool,
    /// Of running threads, and of those that an error ended and nobody has joined since.
    records: BTreeMap<i64, Record>,
}

#[derive(Default)]
struct Record {
    done: bool,
    /// Threads that wait for its end.
    joiners: usize,
    /// What ended it.
    error: u64,
}

impl Threads {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// `None`: there are too many.
    fn add(&self) -> Option<ThreadId> {
        let mut table = self.lock();
        if table.others == tuning::MAX_THREADS {
            return None;
        }
        table.next += 1;
        table.others += 1;
        let id = table.next;
        table.records.insert(id, Record::default());
        Some(ThreadId(id))
    }

    /// The thread is Running. Gives how many others wait for that.
    fn end(&self, id: ThreadId, error: Ref) -> usize {
        let mut table = self.lock();
        table.others -= 1;
        let ended = Record { done: true, joiners: 0, error: error.0 };
        let record = if error.is_null() { table.records.remove(&id.0) } else { table.records.insert(id.0, ended) };
        let is_last = table.others == 0 && std::mem::take(&mut table.is_awaited);
        self.ended.notify_all();
        record.map_or(0, |record| record.joiners) + usize::from(is_last)
    }

    /// Whether it has yet to end; if so, the caller waits for it.
    fn is_to_come(&self, id: ThreadId) -> bool {
        let mut table = self.lock();
        let Some(record) = table.records.get_mut(&id.0).filter(|record| !record.done) else { return false };
        record.joiners += 1;
        true
    }

    /// Waits for a thread's end; the caller is Blocked.
    fn wait_for(&self, id: ThreadId) {
        let table = self.lock();
        let runs = |table: &mut Table| table.records.get(&id.0).is_some_and(|r| !r.done);
        drop(self.ended.wait_while(table, runs));
    }

    /// The error that ended a thread, or null; from now on nobody but the thread's object knows it. The caller is Running.
    fn take_result(&self, id: ThreadId) -> Ref {
        self.lock().records.remove(&id.0).map_or(Ref::NULL, |record| Ref(record.error))
    }

    /// Whether others than the main thread, which is the caller, have yet to end; if so, it waits for them.
    fn others_are_to_come(&self) -> bool {
        let mut table = self.lock();
        table.is_awaited = table.others > 0;
        table.is_awaited
    }

    /// Waits until only the main thread is left; the caller is Blocked.
    fn wait_for_others(&self) {
        let table = self.lock();
        drop(self.ended.wait_while(table, |table| table.others > 0));
    }

    /// An error that ended a thread which nobody joined, and which nobody is told of again.
    pub fn next_unseen(&self) -> Option<(ThreadId, Ref)> {
        let mut table = self.lock();
        let id = table.records.iter().find(|(_, record)| record.error != 0).map(|(&id, _)| id)?;
        table.records.remove(&id).map(|record| (ThreadId(id), Ref(record.error)))
    }

    /// The world is stopped.
    pub fn visit_roots(&self, f: &mut dyn FnMut(&mut u64)) {
        self.lock().records.values_mut().for_each(|r| f(&mut r.error));
    }
}

/// Starts a thread that calls the closure. `StateError` if there are too many, or the system has no more.
pub fn start(parent: &Thread, closure: Ref) -> Result<i64, Thrown> {
    let runtime = &parent.runtime;
    let refuse = |cause: &str| Err(errors::throw(parent, runtime.known.state_error, &format!("cannot start a thread: {cause}")));
    let Some(id) = runtime.threads.add() else { return refuse(&format!("{} are running", tuning::MAX_THREADS)) };
    let thread = Thread::new(runtime.clone(), id);
    thread.start_with(closure);
    // SAFETY: the box is kept until the thread has unregistered itself; the parent is Running.
    unsafe { runtime.world.register(&raw const *thread) };
    let started = spawn(format!("thread {}", id.0), runtime.options.stack, thread, |runtime, thread| {
        let closure = thread.start_closure();
        let result = runtime.engine().run(thread, runtime.entry.thread, &[closure.0]);
        let error = if result.is_err() { thread.take_error() } else { Ref::NULL };
        runtime.world.woken(runtime.threads.end(thread.id, error));
        None
    });
    match started {
        Ok(()) => Ok(id.0),
        Err((cause, thread)) => {
            runtime.world.unregister_unstarted(&thread);
            runtime.world.woken(runtime.threads.end(id, Ref::NULL));
            refuse(&cause.to_string())
        }
    }
}

/// *Safepoint.* Waits for the thread with this number; the error that ended it, or null: also if it was joined before.
pub fn join(thread: &Thread, number: i64) -> Ref {
    let threads = &thread.runtime.threads;
    let id = ThreadId(number);
    if threads.is_to_come(id) {
        thread.waiting(|| threads.wait_for(id));
    }
    threads.take_result(id)
}

/// Waits until only the main thread is left, which is the caller.
pub fn join_others(thread: &Thread) {
    let threads = &thread.runtime.threads;
    if threads.others_are_to_come() {
        thread.waiting(|| threads.wait_for_others());
    }
}

/// What a thread does; the main one's gives the status with which the program ends.
type Body = fn(&Arc<Runtime>, &Thread) -> Option<ExitStatus>;

impl Runtime {
    pub(super) fn start_main_thread(self: &Arc<Self>) -> std::io::Result<()> {
        let thread = Thread::new(self.clone(), ThreadId(0));
        // SAFETY: the box is kept until the thread has unregistered itself; the world has no threads yet.
        unsafe { self.world.register(&raw const *thread) };
        spawn("main".into(), self.options.stack, thread, |runtime, thread| Some(runtime.main_thread(thread))).map_err(|(e, _)| e)
    }
}

/// An OS thread for a registered program thread. On failure the thread is given back.
fn spawn(name: String, stack: u64, thread: Box<Thread>, body: Body) -> Result<(), (std::io::Error, Box<Thread>)> {
    let runtime = thread.runtime.clone();
    let stack = usize::try_from(stack).unwrap_or(usize::MAX).min(isize::MAX as usize / 2) + tuning::STACK_SLACK;
    // The closure is dropped if the OS has no thread; the box must survive that.
    let slot = Arc::new(Mutex::new(Some(thread)));
    let taken = slot.clone();
    let run = move || {
        let thread = taken.lock().unwrap_or_else(|e| e.into_inner()).take().expect("taken once");
        run_thread(thread, stack, body);
    };
    match std::thread::Builder::new().name(name).stack_size(stack).spawn(run) {
        Ok(handle) => {
            runtime.metrics.threads.add(1);
            runtime.threads.os.lock().unwrap_or_else(|e| e.into_inner()).keep(handle);
            Ok(())
        }
        Err(e) => Err((e, slot.lock().unwrap_or_else(|e| e.into_inner()).take().expect("not started"))),
    }
}

const BUG: ExitStatus = ExitStatus { code: 101, end: End::Panic };

fn run_thread(thread: Box<Thread>, stack: usize, body: Body) {
    thread.set_stack_limit(stack_end(stack) + tuning::STACK_SLACK as u64);
    let runtime = thread.runtime.clone();
    runtime.world.leave_blocked(&thread);
    #[cfg(feature = "native")]
    if runtime.engine().samples_at_yield_points() {
        thread.start_profile();
        thread.keep_adapting();
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&runtime, &thread)));
    let Ok(status) = result else {
        // A bug. The message has been printed; what this thread held may be broken, so nothing of the program goes on. The thread's data stays, for it is still registered.
        runtime.end_with(BUG);
        runtime.world.close();
        std::mem::forget(thread);
        return;
    };
    #[cfg(feature = "native")]
    // SAFETY: the caller's own thread.
    unsafe {
        thread.finish_profile();
    }
    // SAFETY: as above.
    let remembered = unsafe { thread.give_up_buffer() };
    // If that is much, a thread that has more to remember sees to it.
    _ = runtime.heap.remember_all(remembered);
    if let Some(deadlock) = runtime.world.unregister(&thread) {
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.end_deadlock(&deadlock)));
        if told.is_err() {
            runtime.end_with(BUG);
        }
    }
    // Once the program has ended no thread becomes Running again, so the main one leaves first, or it would keep the runtime for ever.
    if let Some(status) = status {
        runtime.finish(status);
    }
}

/// The lowest usable address of the current OS thread's stack of this size.
fn stack_end(size: usize) -> u64 {
    #[cfg(all(feature = "native", target_os = "linux"))]
    {
        // SAFETY: the attributes are initialized by the call that fills them and destroyed after use.
        unsafe {
            let mut attr: libc::pthread_attr_t = std::mem::zeroed();
            if libc::pthread_getattr_np(libc::pthread_self(), &mut attr) == 0 {
                let (mut start, mut len) = (std::ptr::null_mut(), 0);
                let result = libc::pthread_attr_getstack(&attr, &mut start, &mut len);
                libc::pthread_attr_destroy(&mut attr);
                if result == 0 {
                    return start as u64;
                }
            }
        }
    }
    // Near the top of the stack: all of it is below, but for what the thread's start took.
    let here = &raw const size as u64;
    here.saturating_sub(size as u64) + 16 * 1024
}
