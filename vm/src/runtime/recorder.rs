//! Writes every call and return of a running program to a trace file.
//!
//! In: calls, returns and instructions of each interpreted thread. Out: a file in the format of `docs/trace-format.md`, complete and exact: each frame's call with its site, and its return however the frame is left.
//! Ids of functions and sites are those of the module.
//!
//! The clock counts the interpreter's instructions, those of all threads together, as if one processor ran them: it does not depend on the machine, so a program with one thread that reads the same input has the
//! same trace, byte for byte. A thread adds its instructions to the clock when it takes the time, so that its stamps are never before those of another thread that it had to wait for.
//!
//! Invariants: a thread locks its own buffer, then the file, never the other way round; what happens after [`Recorder::finish`] is not recorded; an error in writing ends the trace and never the program.

use super::host::Calls;
use super::thread;
use jit::ir::{CallSiteId, FuncId};
use profiler::ids::ThreadId;
use profiler::program::Program;
use profiler::trace::{Clock, TraceWriter, WriteError};
use std::io::Write;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// Entries that a thread gathers before it asks for the file, which other threads may be writing to.
const BUFFER: usize = 4096;
/// After so many instructions a thread has all written that it did, so that little is missing if the process is killed. About a second; time itself would make the file differ from run to run.
const FLUSH_STEPS: u64 = 1 << 26;

/// A trace in the making.
pub struct Recorder {
    /// Instructions of all threads, as far as they have been added.
    clock: AtomicU64,
    /// Events between two stamps of a thread.
    stride: NonZeroU32,
    /// Of threads that have not ended.
    buffers: Mutex<Vec<Arc<Buffer>>>,
    sink: Mutex<Sink>,
}

enum Sink {
    Open(Box<TraceWriter<Box<dyn Write + Send>>>),
    Failed(WriteError),
    Finished,
}

/// What a thread has done and not yet written. Another thread locks it only to finish the trace.
struct Buffer {
    thread: ThreadId,
    entries: Mutex<Vec<Entry>>,
}

#[derive(Clone, Copy)]
enum Entry {
    Call(Option<CallSiteId>, FuncId),
    Return,
    /// Before the entry that follows.
    Time(u64),
}

impl Recorder {
    /// Begins a trace of this program. Each thread takes the time before every `stride`-th event.
    ///
    /// # Errors
    /// The header cannot be written.
    pub fn new(out: Box<dyn Write + Send>, program: &Program, stride: NonZeroU32) -> Result<Arc<Self>, WriteError> {
        let writer = TraceWriter::new(out, Clock::STEPS, program)?;
        let sink = Mutex::new(Sink::Open(Box::new(writer)));
        Ok(Arc::new(Recorder { clock: AtomicU64::new(0), stride, buffers: Mutex::default(), sink }))
    }

    /// Writes what all threads have done so far, and the file's end. Threads that still run, or stand still since `exit`, keep their calls open.
    ///
    /// # Errors
    /// The first one that struck since the trace began; the file then ends there, and what stands before it can be read.
    pub fn finish(&self) -> Result<(), WriteError> {
        let buffers = std::mem::take(&mut *lock(&self.buffers));
        for buffer in buffers {
            self.drain(buffer.thread, &mut lock(&buffer.entries));
        }
        match std::mem::replace(&mut *lock(&self.sink), Sink::Finished) {
            Sink::Open(writer) => writer.finish().map(drop),
            Sink::Failed(error) => Err(error),
            Sink::Finished => Ok(()),
        }
    }

    /// A program thread starts on the current OS thread; it ends when what is given is dropped.
    pub(super) fn thread(&self, id: thread::ThreadId) -> ThreadRecorder<'_> {
        let name = if id.0 == 0 { "main".to_string() } else { format!("thread {}", id.0) };
        let started = self.write(|writer| writer.start_thread(&name, self.clock.load(Relaxed)));
        let buffer = started.map(|thread| Arc::new(Buffer { thread, entries: Mutex::default() }));
        lock(&self.buffers).extend(buffer.clone());
        ThreadRecorder { recorder: self, buffer, steps: 0, added: 0, flush_at: FLUSH_STEPS, until_stamp: 0 }
    }

    /// `None` once the trace is finished or has failed.
    fn write<T>(&self, what: impl FnOnce(&mut TraceWriter<Box<dyn Write + Send>>) -> Result<T, WriteError>) -> Option<T> {
        let mut sink = lock(&self.sink);
        let Sink::Open(writer) = &mut *sink else { return None };
        match what(writer) {
            Ok(result) => Some(result),
            Err(error) => {
                *sink = Sink::Failed(error);
                None
            }
        }
    }

    fn drain(&self, thread: ThreadId, entries: &mut Vec<Entry>) {
        self.write(|writer| {
            entries.iter().try_for_each(|&entry| match entry {
                Entry::Call(site, callee) => writer.call(thread, site, callee),
                Entry::Return => writer.ret(thread),
                Entry::Time(steps) => writer.time(thread, steps),
            })
        });
        entries.clear();
    }
}

/// The calls of one thread.
pub(super) struct ThreadRecorder<'r> {
    recorder: &'r Recorder,
    /// `None` if the trace had ended before the thread began.
    buffer: Option<Arc<Buffer>>,
    /// Instructions that this thread has begun.
    steps: u64,
    /// Those that the clock knows of.
    added: u64,
    flush_at: u64,
    until_stamp: u32,
}

impl ThreadRecorder<'_> {
    /// The time now, with all of this thread's instructions.
    fn now(&mut self) -> u64 {
        let new = self.steps - std::mem::replace(&mut self.added, self.steps);
        self.recorder.clock.fetch_add(new, Relaxed) + new
    }

    fn event(&mut self, event: Entry) {
        let time = (self.until_stamp == 0).then(|| self.now());
        if time.is_some() {
            self.until_stamp = self.recorder.stride.get();
        }
        self.until_stamp -= 1;
        let Some(buffer) = &self.buffer else { return };
        let mut entries = lock(&buffer.entries);
        entries.extend(time.map(Entry::Time));
        entries.push(event);
        if entries.len() >= BUFFER {
            self.recorder.drain(buffer.thread, &mut entries);
        }
    }

    #[cold]
    fn flush(&mut self) {
        self.flush_at += FLUSH_STEPS;
        let now = self.now();
        let Some(buffer) = &self.buffer else { return };
        let mut entries = lock(&buffer.entries);
        entries.push(Entry::Time(now));
        self.recorder.drain(buffer.thread, &mut entries);
        self.recorder.write(|writer| writer.flush());
    }
}

impl Calls for ThreadRecorder<'_> {
    fn step(&mut self) {
        self.steps += 1;
        if self.steps == self.flush_at {
            self.flush();
        }
    }

    fn call(&mut self, site: Option<CallSiteId>, callee: FuncId) {
        self.event(Entry::Call(site, callee));
    }

    fn ret(&mut self) {
        self.event(Entry::Return);
    }
}

impl Drop for ThreadRecorder<'_> {
    fn drop(&mut self) {
        let now = self.now();
        let Some(buffer) = self.buffer.take() else { return };
        lock(&self.recorder.buffers).retain(|other| !Arc::ptr_eq(other, &buffer));
        self.recorder.drain(buffer.thread, &mut lock(&buffer.entries));
        self.recorder.write(|writer| writer.end_thread(buffer.thread, now));
    }
}

/// A panic elsewhere is no reason to lose the trace.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
