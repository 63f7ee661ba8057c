//! A whole trace in memory, for replaying it many times.
//!
//! In: a trace file. Out: the program, and each thread's events in one piece. Memory: 4 bytes an event, 16 a stamp, up to [`Limits::loaded`] of them.

use super::error::{Problem, TraceError};
use super::reader::{Limits, TraceReader};
use super::times::{Stamp, Times};
use crate::clock::Clock;
use crate::event::Event;
use crate::ids::ThreadId;
use crate::program::Program;
use cranelift_entity::PrimaryMap;
use std::io::Read;

/// All that a trace file says.
#[derive(Debug)]
pub struct Trace {
    /// Of all times in it.
    pub clock: Clock,
    /// All that events refer to.
    pub program: Program,
    /// By id, in the order in which they started.
    pub threads: PrimaryMap<ThreadId, ThreadTrace>,
    /// Events that happened but are not in the trace, as its writer says.
    pub lost: u64,
    /// Why the trace is not complete, if it is not. All above is what stands before the damage.
    pub damage: Option<TraceError>,
}

/// What one thread did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadTrace {
    /// Any characters.
    pub name: Box<str>,
    /// In the trace's clock.
    pub start: u64,
    /// In the trace's clock. `None`: it did not end, or its end was not recorded.
    pub end: Option<u64>,
    /// All of them, in order.
    pub events: Vec<Event>,
    /// Their positions count from the thread's first event. Two have the same position only where blocks meet.
    pub stamps: Vec<Stamp>,
}

impl ThreadTrace {
    /// The time of each event, in the trace's clock.
    pub fn times(&self) -> Times<'_> {
        Times::new(self.start, &self.stamps, self.end, self.events.len() as u64)
    }
}

impl Trace {
    /// Reads a whole trace, or the good part of a damaged one.
    ///
    /// # Errors
    /// The header is damaged or not a trace's. All other errors are in [`damage`](Self::damage).
    pub fn load(source: impl Read, limits: Limits) -> Result<Trace, TraceError> {
        let mut reader = TraceReader::new(source, limits)?;
        let mut parts = PrimaryMap::new();
        let damage = collect(&mut reader, &mut parts).err();
        let (clock, lost) = (reader.clock(), reader.lost());
        let defined = reader.into_defined();
        let mut parts = parts.into_iter().map(|(_, part)| part);
        let thread = |thread: super::Thread| {
            let (events, stamps) = parts.next().unwrap_or_default();
            ThreadTrace { name: thread.name, start: thread.start, end: thread.end, events, stamps }
        };
        let threads = defined.threads.into_iter().map(|(_, it)| it).map(thread).collect();
        Ok(Trace { clock, program: defined.program, threads, lost, damage })
    }

    /// Events of all threads.
    pub fn events(&self) -> u64 {
        self.threads.values().map(|thread| thread.events.len() as u64).sum()
    }

    /// Bytes of memory that events and stamps take.
    pub fn bytes(&self) -> usize {
        let bytes = |thread: &ThreadTrace| thread.events.capacity() * size_of::<Event>() + thread.stamps.capacity() * size_of::<Stamp>();
        self.threads.values().map(bytes).sum()
    }
}

fn collect<R: Read>(reader: &mut TraceReader<R>, parts: &mut PrimaryMap<ThreadId, (Vec<Event>, Vec<Stamp>)>) -> Result<(), TraceError> {
    let limit = reader.limits().loaded;
    let mut loaded: u64 = 0;
    let mut before = (reader.offset(), reader.blocks());
    while let Some(block) = reader.next_block()? {
        loaded += (block.events.len() + block.stamps.len()) as u64;
        if loaded > limit {
            let (offset, blocks) = before;
            return Err(TraceError { offset, blocks, problem: Problem::Limit { what: "events and stamps", limit } });
        }
        while !parts.is_valid(block.thread) {
            parts.push(Default::default());
        }
        let (events, stamps) = &mut parts[block.thread];
        events.extend_from_slice(block.events);
        stamps.extend(block.stamps.iter().map(|stamp| Stamp { at: block.first + stamp.at, ..*stamp }));
        before = (reader.offset(), reader.blocks());
    }
    Ok(())
}
