//! A trace one event at a time.
//!
//! In: a [`TraceReader`]. Out: [`Record`]s, of each thread in its own order; threads take turns as their blocks stand in the file.

use super::error::TraceError;
use super::reader::TraceReader;
use crate::ids::{EdgeId, ThreadId};
use std::io::Read;

/// Something that a trace says of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    /// The time of the thread's next event, in the trace's clock.
    Time {
        /// Whose.
        thread: ThreadId,
        /// What the clock said.
        cycles: u64,
    },
    /// A call.
    Call {
        /// Whose.
        thread: ThreadId,
        /// Site and callee.
        edge: EdgeId,
    },
    /// The return of the last open call.
    Return {
        /// Whose.
        thread: ThreadId,
    },
}

/// The records of a trace. An error is the last item.
pub struct Records<R: Read> {
    reader: TraceReader<R>,
    thread: Option<ThreadId>,
    event: usize,
    stamp: usize,
}

impl<R: Read> Records<R> {
    pub(super) fn new(reader: TraceReader<R>) -> Self {
        Records { reader, thread: None, event: 0, stamp: 0 }
    }

    /// For the definitions so far, which include all that the records so far speak of.
    pub fn reader(&self) -> &TraceReader<R> {
        &self.reader
    }

    /// The next record of the block.
    fn step(&mut self, thread: ThreadId) -> Option<Record> {
        let block = self.reader.block(thread, 0);
        if let Some(stamp) = block.stamps.get(self.stamp).filter(|stamp| stamp.at == self.event as u64) {
            self.stamp += 1;
            return Some(Record::Time { thread, cycles: stamp.cycles });
        }
        let event = block.events.get(self.event)?;
        self.event += 1;
        Some(event.edge().map_or(Record::Return { thread }, |edge| Record::Call { thread, edge }))
    }
}

impl<R: Read> Iterator for Records<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.thread.and_then(|thread| self.step(thread)) {
                return Some(Ok(record));
            }
            (self.event, self.stamp) = (0, 0);
            self.thread = match self.reader.advance() {
                Ok(Some((thread, _))) => Some(thread),
                Ok(None) => {
                    self.thread = None;
                    return None;
                }
                Err(error) => {
                    self.thread = None;
                    return Some(Err(error));
                }
            };
        }
    }
}
