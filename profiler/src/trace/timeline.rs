//! Times of events while a trace is read block by block: those that [`ThreadTrace::times`](super::ThreadTrace::times) gives, without the trace in memory.
//!
//! In: a reader's blocks. Out: when each thread starts and ends, and its events in order with their times. What comes after a thread's last stamp so far is held back until its next stamp, its end or the end of the file tells how time
//! passed. Memory: 4 bytes an event that is held back, up to a limit for all threads together. What exceeds it is given out as of the thread's last stamp, and the time up to the next one passes over the rest of the stretch.

use super::definitions::Thread;
use super::reader::{EventBlock, TraceReader};
use super::times::Times;
use crate::event::Event;
use crate::ids::ThreadId;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use std::io::Read;

/// What a thread does, and when, in the trace's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It starts. Comes first.
    Start(u64),
    /// A call or return.
    Event(Event, u64),
    /// It ends. Comes last, if the trace knows of it.
    End(u64),
}

/// See the [module](self).
pub struct Timeline {
    threads: SecondaryMap<ThreadId, Stretch>,
    /// How many starts and ends have been told.
    started: usize,
    ended: usize,
    /// Events that are held back now, and at most.
    held: usize,
    limit: usize,
}

/// What a thread has done since its last stamp or its start.
#[derive(Clone, Default)]
struct Stretch {
    since: u64,
    events: Vec<Event>,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline::with_limit(Timeline::LIMIT)
    }
}

impl Timeline {
    /// Events held back, in 256 MiB.
    const LIMIT: usize = 1 << 26;

    /// Holds so many events back. None: for those who do not look at times.
    pub fn with_limit(limit: usize) -> Timeline {
        Timeline { threads: SecondaryMap::new(), started: 0, ended: 0, held: 0, limit }
    }

    /// The next block of a file, after all before it.
    pub fn block(&mut self, block: &EventBlock<'_>, sink: &mut impl FnMut(ThreadId, Step)) {
        self.starts_and_ends(block.threads, block.ended, sink);
        let thread = block.thread;
        let (Some(first), Some(last)) = (block.stamps.first(), block.stamps.last()) else { return self.hold(thread, block.events, sink) };
        let (from, to) = (first.at as usize, last.at as usize);
        self.threads[thread].events.extend_from_slice(&block.events[..from]);
        self.held += from;
        self.release(thread, Some(first.cycles), sink);
        let between = block.events.iter().zip(block.times()).take(to).skip(from);
        between.for_each(|(&event, time)| sink(thread, Step::Event(event, time)));
        self.threads[thread].since = last.cycles;
        self.hold(thread, &block.events[to..], sink);
    }

    /// The file is over, or what can be read of it.
    pub fn finish<R: Read>(mut self, reader: &TraceReader<R>, sink: &mut impl FnMut(ThreadId, Step)) {
        self.starts_and_ends(reader.threads(), reader.ended(), sink);
        reader.threads().keys().for_each(|thread| self.release(thread, None, sink));
    }

    fn starts_and_ends(&mut self, threads: &PrimaryMap<ThreadId, Thread>, ended: &[ThreadId], sink: &mut impl FnMut(ThreadId, Step)) {
        for (thread, started) in threads.iter().skip(self.started) {
            self.threads[thread].since = started.start;
            sink(thread, Step::Start(started.start));
        }
        self.started = threads.len();
        for &thread in &ended[self.ended..] {
            let Some(end) = threads[thread].end else { continue };
            self.release(thread, Some(end), sink);
            sink(thread, Step::End(end));
        }
        self.ended = ended.len();
    }

    fn hold(&mut self, thread: ThreadId, events: &[Event], sink: &mut impl FnMut(ThreadId, Step)) {
        self.threads[thread].events.extend_from_slice(events);
        self.held += events.len();
        if self.held > self.limit {
            self.release(thread, None, sink);
        }
    }

    /// Gives out what a thread has done up to a time, or while time stood still.
    fn release(&mut self, thread: ThreadId, until: Option<u64>, sink: &mut impl FnMut(ThreadId, Step)) {
        let Stretch { since, events } = &mut self.threads[thread];
        self.held -= events.len();
        let times = Times::new(*since, &[], until, events.len() as u64);
        events.drain(..).zip(times).for_each(|(event, time)| sink(thread, Step::Event(event, time)));
    }
}
