//! Writes a trace while the program runs.
//!
//! In: definitions, calls, returns and times, of any number of threads in any order. Out: the file, block by block; nothing of what has been written is ever changed.
//! Memory: the [`Program`], and for each thread the events of its open block, at most [`MAX_EVENTS`] of four bytes each, and their stamps.
//!
//! Invariants: ids are given in the order of definitions, so that they are those of the program that a reader gets. A return without an open call is not written.

use super::definitions::{Thread, put_edge, put_end, put_function, put_site, put_start};
use super::error::WriteError;
use super::events::{Encoder, MAX_EVENTS};
use super::frame::{BlockWriter, Kind};
use super::times::Stamp;
use super::{bytes::put_number, frame::MAX_RAW};
use crate::clock::Clock;
use crate::event::Event;
use crate::ids::{CallSiteId, EdgeId, FuncId, ThreadId};
use crate::program::{CallSite, Edge, Function, Program};
use cranelift_entity::PrimaryMap;
use std::io::Write;

/// Definitions are written when they are as long, or used. One definition more must still fit into a block.
const PENDING: usize = MAX_RAW / 4;

/// Writes a trace. Without [`finish`](Self::finish) the events in open blocks are lost, and the file says that it has no end.
pub struct TraceWriter<W: Write> {
    blocks: BlockWriter<W>,
    program: Program,
    threads: PrimaryMap<ThreadId, Open>,
    /// Definitions that are not written yet.
    pending: Vec<u8>,
    encoder: Encoder,
    raw: Vec<u8>,
    lost: u64,
}

/// A thread and its open block.
struct Open {
    thread: Thread,
    events: Vec<Event>,
    stamps: Vec<Stamp>,
    /// The time where the block begins.
    base: u64,
    now: u64,
    /// Calls that have not returned.
    depth: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace of a program of which all, a part or nothing is known yet: its ids are valid in the trace.
    ///
    /// After an I/O error, here or later, the file ends where the error struck, and nothing more should be written.
    pub fn new(out: W, clock: Clock, program: &Program) -> Result<Self, WriteError> {
        let mut writer = TraceWriter {
            blocks: BlockWriter::new(out, clock)?,
            program: Program::default(),
            threads: PrimaryMap::new(),
            pending: Vec::new(),
            encoder: Encoder::default(),
            raw: Vec::new(),
            lost: 0,
        };
        for function in program.functions.values() {
            writer.function(function.clone())?;
        }
        for &site in program.sites.values() {
            writer.site(site)?;
        }
        for &edge in program.edges().values() {
            writer.edge(edge)?;
        }
        Ok(writer)
    }

    /// All that is defined so far.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Defines a function. Names of more than 65,535 bytes are cut in the file.
    pub fn function(&mut self, function: Function) -> Result<FuncId, WriteError> {
        put_function(&mut self.pending, &function);
        let id = self.program.functions.push(function);
        self.spill()?;
        Ok(id)
    }

    /// Defines a call site; two of the same caller and line are two.
    pub fn site(&mut self, site: CallSite) -> Result<CallSiteId, WriteError> {
        self.known_function(site.caller)?;
        put_site(&mut self.pending, site);
        let id = self.program.sites.push(site);
        self.spill()?;
        Ok(id)
    }

    /// The number of an edge, which is defined if it is new.
    pub fn edge(&mut self, edge: Edge) -> Result<EdgeId, WriteError> {
        if let Some(id) = self.program.find(edge) {
            return Ok(id);
        }
        self.known_function(edge.callee)?;
        if let Some(site) = edge.site.expand().filter(|&site| !self.program.sites.is_valid(site)) {
            return Err(WriteError::Site(site));
        }
        put_edge(&mut self.pending, edge);
        let id = self.program.edge(edge);
        self.spill()?;
        Ok(id)
    }

    /// A thread starts, at a time in the trace's clock.
    pub fn start_thread(&mut self, name: &str, cycles: u64) -> Result<ThreadId, WriteError> {
        put_start(&mut self.pending, name, cycles);
        self.spill()?;
        let thread = Thread { name: name.into(), start: cycles, end: None, events: 0 };
        Ok(self.threads.push(Open { thread, events: Vec::new(), stamps: Vec::new(), base: cycles, now: cycles, depth: 0 }))
    }

    /// A thread ends. Its calls that have not returned stay open for ever.
    pub fn end_thread(&mut self, thread: ThreadId, cycles: u64) -> Result<(), WriteError> {
        let open = self.running(thread)?;
        let cycles = cycles.max(open.now);
        open.thread.end = Some(cycles);
        self.seal(thread)?;
        self.threads[thread].events = Vec::new();
        self.threads[thread].stamps = Vec::new();
        put_end(&mut self.pending, thread, cycles);
        self.spill()
    }

    /// The thread calls: from a call site of its innermost open call, or from outside of the program (`None`), as the first call of a thread does.
    pub fn call(&mut self, thread: ThreadId, site: Option<CallSiteId>, callee: FuncId) -> Result<(), WriteError> {
        let edge = self.edge(Edge { site: site.into(), callee })?;
        self.call_edge(thread, edge)
    }

    /// As [`call`](Self::call), over an edge whose number is known: cheaper by a look-up.
    pub fn call_edge(&mut self, thread: ThreadId, edge: EdgeId) -> Result<(), WriteError> {
        if !self.program.edges().is_valid(edge) {
            return Err(WriteError::Edge(edge));
        }
        self.running(thread)?.depth += 1;
        self.push(thread, Event::call(edge))
    }

    /// The thread's last open call returns. Nothing is written if none is open.
    pub fn ret(&mut self, thread: ThreadId) -> Result<(), WriteError> {
        let open = self.running(thread)?;
        let Some(depth) = open.depth.checked_sub(1) else { return Ok(()) };
        open.depth = depth;
        self.push(thread, Event::RETURN)
    }

    /// The thread's time, in the trace's clock, before its next event. Of several times without an event between them the last one counts. A time before the last one is taken as the last one.
    pub fn time(&mut self, thread: ThreadId, cycles: u64) -> Result<(), WriteError> {
        let open = self.running(thread)?;
        open.now = open.now.max(cycles);
        let stamp = Stamp { at: open.events.len() as u64, cycles: open.now };
        match open.stamps.last_mut() {
            Some(last) if last.at == stamp.at => *last = stamp,
            _ => open.stamps.push(stamp),
        }
        Ok(())
    }

    /// Tells readers that so many events happened that are not in the trace.
    pub fn lost(&mut self, events: u64) {
        self.lost = self.lost.saturating_add(events);
    }

    /// Writes the open blocks of all threads, so that what has happened so far is in the file.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        for thread in self.threads.keys() {
            self.seal(thread)?;
        }
        self.write_pending()?;
        Ok(self.blocks.flush()?)
    }

    /// Writes all that is left and the last block. Threads that have not ended remain so.
    pub fn finish(mut self) -> Result<W, WriteError> {
        for thread in self.threads.keys() {
            self.seal(thread)?;
        }
        self.write_pending()?;
        self.raw.clear();
        put_number(&mut self.raw, self.threads.values().map(|open| open.thread.events).sum());
        put_number(&mut self.raw, self.lost);
        self.blocks.write(Kind::End, &self.raw)?;
        self.blocks.flush()?;
        Ok(self.blocks.into_inner())
    }

    fn running(&mut self, thread: ThreadId) -> Result<&mut Open, WriteError> {
        self.threads.get_mut(thread).filter(|open| open.thread.end.is_none()).ok_or(WriteError::Thread(thread))
    }

    fn known_function(&self, function: FuncId) -> Result<(), WriteError> {
        if !self.program.functions.is_valid(function) {
            return Err(WriteError::Function(function));
        }
        Ok(())
    }

    fn push(&mut self, thread: ThreadId, event: Event) -> Result<(), WriteError> {
        let open = &mut self.threads[thread];
        open.events.push(event);
        if open.events.len() == MAX_EVENTS {
            return self.seal(thread);
        }
        Ok(())
    }

    /// Writes a thread's open block.
    fn seal(&mut self, thread: ThreadId) -> Result<(), WriteError> {
        self.write_pending()?;
        let open = &mut self.threads[thread];
        if open.events.is_empty() && open.stamps.is_empty() {
            return Ok(());
        }
        self.raw.clear();
        self.encoder.encode(&mut self.raw, thread, open.base, &open.events, &open.stamps);
        open.thread.events += open.events.len() as u64;
        open.events.clear();
        open.stamps.clear();
        open.base = open.now;
        Ok(self.blocks.write(Kind::Events, &self.raw)?)
    }

    /// Keeps the definitions that wait from outgrowing a block.
    fn spill(&mut self) -> Result<(), WriteError> {
        if self.pending.len() >= PENDING {
            self.write_pending()?;
        }
        Ok(())
    }

    fn write_pending(&mut self) -> Result<(), WriteError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let result = self.blocks.write(Kind::Definitions, &self.pending);
        self.pending.clear();
        Ok(result?)
    }
}
