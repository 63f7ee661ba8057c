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
        let writer = TraceWriter::new(out, Clock::Steps, program)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use profiler::program::{CallSite, Function};
    use profiler::trace::{Limits, Stamp, Trace};
    use std::io;

    /// A file in memory with room for so many bytes.
    #[derive(Clone)]
    struct Disk {
        bytes: Arc<Mutex<Vec<u8>>>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut file = lock(&self.bytes);
            if file.len() + bytes.len() > self.room {
                return Err(io::ErrorKind::StorageFull.into());
            }
            file.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Disk {
        fn new(room: usize) -> Disk {
            Disk { bytes: Arc::default(), room }
        }

        fn load(&self) -> Trace {
            Trace::load(lock(&self.bytes).as_slice(), Limits::default()).unwrap()
        }
    }

    const MAIN: thread::ThreadId = thread::ThreadId(0);

    /// A function that calls itself.
    fn recorder(disk: &Disk, stride: u32) -> (Arc<Recorder>, FuncId, CallSiteId) {
        let mut program = Program::default();
        let func = program.functions.push(Function { name: "f".into(), file: "".into(), line: 0 });
        let site = program.sites.push(CallSite { caller: func, line: 0 });
        (Recorder::new(Box::new(disk.clone()), &program, NonZeroU32::new(stride).unwrap()).unwrap(), func, site)
    }

    #[test]
    fn a_call_that_takes_long_is_in_the_file() {
        let disk = Disk::new(usize::MAX);
        let (recorder, func, _) = recorder(&disk, 32);
        let mut thread = recorder.thread(MAIN);
        thread.call(None, func);
        (0..FLUSH_STEPS - 1).for_each(|_| thread.step());
        assert_eq!(disk.load().events(), 0);
        thread.step();
        let trace = disk.load();
        assert_eq!((trace.events(), trace.damage.is_some()), (1, true));
        let stamps = trace.threads.values().next().unwrap().stamps.clone();
        assert_eq!(stamps, [Stamp { at: 0, cycles: 0 }, Stamp { at: 1, cycles: FLUSH_STEPS }]);
    }

    #[test]
    fn a_full_disk_ends_the_trace_with_what_was_written() {
        let disk = Disk::new(2000);
        let (recorder, func, site) = recorder(&disk, 1);
        let mut thread = recorder.thread(MAIN);
        thread.call(None, func);
        for i in 0..500_000 {
            thread.call(Some(site), func);
            (0..i % 7).for_each(|_| thread.step());
            thread.ret();
        }
        thread.ret();
        drop(thread);
        drop(recorder.thread(thread::ThreadId(1)));
        assert!(matches!(recorder.finish(), Err(WriteError::Io(e)) if e.kind() == io::ErrorKind::StorageFull));
        let trace = disk.load();
        assert!(trace.damage.is_some() && trace.events() < 1_000_000);
        assert!(recorder.finish().is_ok(), "the error is told once");
    }

    #[test]
    fn what_is_open_or_late_is_written_or_not() {
        let disk = Disk::new(usize::MAX);
        let (recorder, func, site) = recorder(&disk, 2);
        let mut open = recorder.thread(MAIN);
        open.call(None, func);
        open.step();
        open.call(Some(site), func);
        let mut ended = recorder.thread(thread::ThreadId(1));
        ended.call(None, func);
        (0..5).for_each(|_| ended.step());
        ended.ret();
        drop(ended);
        recorder.finish().unwrap();
        let whole = lock(&disk.bytes).len();
        open.ret();
        drop(open);
        drop(recorder.thread(thread::ThreadId(2)));
        assert_eq!(lock(&disk.bytes).len(), whole);

        let trace = disk.load();
        assert!(trace.damage.is_none());
        let threads: Vec<_> = trace.threads.values().map(|t| (&*t.name, t.events.len(), t.start, t.end)).collect();
        // The first thread's one instruction has not been added when the second begins: it took the time before its first event.
        assert_eq!(threads, [("main", 2, 0, None), ("thread 1", 2, 0, Some(5))]);
    }

    #[test]
    fn threads_write_at_once() {
        let disk = Disk::new(usize::MAX);
        let (recorder, func, site) = recorder(&disk, 32);
        const CALLS: usize = 40_000;
        std::thread::scope(|scope| {
            for id in 0..4 {
                let recorder = &recorder;
                scope.spawn(move || {
                    let mut thread = recorder.thread(thread::ThreadId(id));
                    thread.call(None, func);
                    for _ in 0..CALLS {
                        thread.step();
                        thread.call(Some(site), func);
                        thread.ret();
                    }
                    thread.ret();
                });
            }
        });
        recorder.finish().unwrap();
        let trace = disk.load();
        assert!(trace.damage.is_none());
        assert!(trace.threads.values().all(|thread| thread.events.len() == 2 * (CALLS + 1)));
        assert_eq!(trace.threads.values().filter_map(|thread| thread.end).max(), Some(4 * CALLS as u64));
    }
}
