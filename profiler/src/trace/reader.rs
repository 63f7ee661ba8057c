//! Reads a trace block by block.
//!
//! In: the file, from any [`Read`]. Out: a thread's events at a time, as a slice that a structure or sampler can run over, and the definitions so far.
//! Memory: what is defined, and one block, however long the run.
//!
//! Invariant: after an error, or the end, nothing more is read.

use super::bytes::Cursor;
use super::definitions::{Defined, Thread};
use super::error::{Problem, TraceError};
use super::events::Decoder;
use super::frame::{BlockReader, Kind};
use super::records::Records;
use super::times::{Stamp, Times};
use crate::clock::Clock;
use crate::event::Event;
use crate::ids::ThreadId;
use crate::program::Program;
use cranelift_entity::{EntityRef, PrimaryMap};
use std::io::{BufReader, Read};

/// What a reader may keep in memory of a file that it cannot trust.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Functions, call sites, edges and threads together, of up to 64 bytes each without their names.
    pub definitions: u64,
    /// Bytes of the names of functions, files and threads.
    pub names: u64,
    /// Events and stamps that [`Trace::load`](super::Trace::load) takes into memory, of 4 and 16 bytes. Reading block by block keeps none.
    pub loaded: u64,
}

impl Default for Limits {
    /// About 1 GB of definitions, as much of names, and 16 GB of events.
    fn default() -> Self {
        Limits { definitions: 1 << 24, names: 1 << 30, loaded: 1 << 32 }
    }
}

/// A part of what one thread did.
#[derive(Clone, Copy)]
pub struct EventBlock<'a> {
    /// Whose events these are.
    pub thread: ThreadId,
    /// The events of this thread before this block.
    pub first: u64,
    /// In order.
    pub events: &'a [Event],
    /// Their positions count from the block's first event, and increase.
    pub stamps: &'a [Stamp],
    /// The thread's time where the block begins, in the trace's clock: its last stamp or its start.
    pub base: u64,
    /// All edges in `events` are edges of it.
    pub program: &'a Program,
    /// The threads so far.
    pub threads: &'a PrimaryMap<ThreadId, Thread>,
    /// Those that have ended so far, in order.
    pub ended: &'a [ThreadId],
}

impl<'a> EventBlock<'a> {
    /// The time of each event as far as this block's stamps tell.
    pub fn times(&self) -> Times<'a> {
        Times::new(self.base, self.stamps, None, self.events.len() as u64)
    }
}

/// Reads a trace.
pub struct TraceReader<R: Read> {
    blocks: BlockReader<BufReader<R>>,
    clock: Clock,
    limits: Limits,
    defined: Defined,
    decoder: Decoder,
    events: u64,
    lost: u64,
    is_over: bool,
}

impl<R: Read> TraceReader<R> {
    /// Reads the header. What is read further on is buffered here.
    pub fn new(source: R, limits: Limits) -> Result<Self, TraceError> {
        let mut blocks = BlockReader::new(BufReader::with_capacity(1 << 18, source));
        let clock = blocks.header().map_err(|problem| TraceError { offset: 0, blocks: 0, problem })?;
        let (defined, decoder) = (Defined::default(), Decoder::default());
        Ok(TraceReader { blocks, clock, limits, defined, decoder, events: 0, lost: 0, is_over: false })
    }

    /// Of all times in the file.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// As they were given.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// All that has been defined so far.
    pub fn program(&self) -> &Program {
        &self.defined.program
    }

    /// The threads that have started so far.
    pub fn threads(&self) -> &PrimaryMap<ThreadId, Thread> {
        &self.defined.threads
    }

    /// The threads that have ended so far, in order.
    pub fn ended(&self) -> &[ThreadId] {
        &self.defined.ended
    }

    /// Events read so far, of all threads.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Events that happened but are not in the trace, as the writer says in the last block.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Blocks of the file read so far.
    pub fn blocks(&self) -> u64 {
        self.blocks.blocks
    }

    /// Bytes of the file read so far.
    pub fn offset(&self) -> u64 {
        self.blocks.offset
    }

    /// The next events; `None` at the end, and after an error.
    pub fn next_block(&mut self) -> Result<Option<EventBlock<'_>>, TraceError> {
        let Some((thread, first)) = self.advance()? else { return Ok(None) };
        Ok(Some(self.block(thread, first)))
    }

    /// Every event and time, one by one: slower than blocks, but simpler.
    pub fn records(self) -> Records<R> {
        Records::new(self)
    }

    /// The program and the threads.
    pub(super) fn into_defined(self) -> Defined {
        self.defined
    }

    /// Decodes the next events: their thread, and how many it had before.
    pub(super) fn advance(&mut self) -> Result<Option<(ThreadId, u64)>, TraceError> {
        if self.is_over {
            return Ok(None);
        }
        let result = self.read();
        if !matches!(result, Ok(Some(_))) {
            self.is_over = true;
        }
        result.map_err(|problem| TraceError { offset: self.blocks.start, blocks: self.blocks.blocks, problem })
    }

    /// The events that were decoded last.
    pub(super) fn block(&self, thread: ThreadId, first: u64) -> EventBlock<'_> {
        let Decoder { events, stamps, base, .. } = &self.decoder;
        EventBlock {
            thread,
            first,
            events,
            stamps,
            base: *base,
            program: &self.defined.program,
            threads: &self.defined.threads,
            ended: &self.defined.ended,
        }
    }

    fn read(&mut self) -> Result<Option<(ThreadId, u64)>, Problem> {
        loop {
            let (kind, raw) = self.blocks.read()?.ok_or(Problem::NoEnd)?;
            match kind {
                Kind::Definitions => {
                    self.defined.read(raw, self.limits)?;
                    self.blocks.blocks += 1;
                }
                Kind::Events => {
                    let number = self.decoder.decode(raw, &self.defined.program)?;
                    let thread = self.defined.running(number)?;
                    let (first, count) = (thread.events, self.decoder.events.len() as u64);
                    thread.events += count;
                    self.events += count;
                    self.blocks.blocks += 1;
                    return Ok(Some((ThreadId::new(number as usize), first)));
                }
                Kind::End => {
                    let mut bytes = Cursor(raw);
                    let (expected, lost) = (bytes.number()?, bytes.number()?);
                    self.lost = lost;
                    if !bytes.is_empty() {
                        return Err(Problem::Malformed("the last block goes on after its end"));
                    }
                    if expected != self.events {
                        return Err(Problem::Count { expected, found: self.events });
                    }
                    self.blocks.blocks += 1;
                    return if self.blocks.is_at_end()? { Ok(None) } else { Err(Problem::Trailing) };
                }
            }
        }
    }
}
