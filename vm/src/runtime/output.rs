//! What a program prints: buffered, whole lines at a time, written from any thread.
//!
//! In: bytes. Out: the process's streams, or a buffer for tests. Invariants: one call's bytes stay together; a terminal sees every line when it ends; what was printed before an error message stands before it;
//! after [`Writers::close`] nothing is written any more.

use super::program::{End, ExitStatus};
use super::tuning;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// When the reader of the output is gone.
pub const CLOSED: ExitStatus = ExitStatus { code: 141, end: End::OutputClosed };

/// An error's cause in words, without the number that Rust adds.
pub fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}

/// Where a stream goes.
#[derive(Clone, Debug)]
pub enum Output {
    Stdout,
    Stderr,
    Buffer(Arc<Mutex<Vec<u8>>>),
    Nowhere,
}

impl Output {
    /// A stream into memory, and the memory.
    pub fn buffer() -> (Output, Arc<Mutex<Vec<u8>>>) {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        (Output::Buffer(bytes.clone()), bytes)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            // The lock of Rust's own stream is not held between calls, and its line buffer is flushed at once.
            Output::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            Output::Stderr => io::stderr().lock().write_all(bytes),
            Output::Buffer(buffer) => {
                buffer.lock().unwrap_or_else(|e| e.into_inner()).extend_from_slice(bytes);
                Ok(())
            }
            Output::Nowhere => Ok(()),
        }
    }

    fn is_terminal(&self) -> bool {
        match self {
            Output::Stdout => io::stdout().is_terminal(),
            Output::Stderr => io::stderr().is_terminal(),
            Output::Buffer(_) | Output::Nowhere => false,
        }
    }
}

/// The program's output and error streams.
pub struct Writers {
    out: Mutex<Stream>,
    errors: Output,
}

pub struct Stream {
    output: Output,
    buffer: Vec<u8>,
    by_line: bool,
    closed: bool,
    /// The last byte of all is no line break.
    is_in_line: bool,
}

impl Stream {
    /// Appends; true if it is time to flush.
    pub fn push(&mut self, parts: &[&[u8]]) -> bool {
        if self.closed {
            return false;
        }
        parts.iter().for_each(|p| self.buffer.extend_from_slice(p));
        self.is_in_line = self.buffer.last().map_or(self.is_in_line, |&last| last != b'\n');
        self.buffer.len() >= tuning::OUTPUT_BUFFER || self.by_line && parts.iter().any(|p| p.contains(&b'\n'))
    }

    pub fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() || self.closed {
            return Ok(());
        }
        let result = self.output.write(&self.buffer);
        // Whether or not it worked: the same bytes are not written twice.
        self.buffer.clear();
        self.buffer.shrink_to(2 * tuning::OUTPUT_BUFFER);
        result
    }
}

impl Writers {
    pub fn new(output: &Output, errors: &Output) -> Writers {
        let by_line = output.is_terminal();
        Writers {
            out: Mutex::new(Stream { output: output.clone(), buffer: Vec::new(), by_line, closed: false, is_in_line: false }),
            errors: errors.clone(),
        }
    }

    /// The output stream if nobody else writes now.
    pub fn try_out(&self) -> Option<MutexGuard<'_, Stream>> {
        match self.out.try_lock() {
            Ok(stream) => Some(stream),
            Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// What was printed ends within a line, or a write is under way that never ends.
    pub fn is_in_line(&self) -> bool {
        self.try_out().is_none_or(|out| out.is_in_line)
    }

    /// Waits for the output stream; the caller is Blocked, or ends the program.
    pub fn out(&self) -> MutexGuard<'_, Stream> {
        self.out.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Writes what is buffered, then the message to the error stream. The caller is Blocked. A lost error stream is nothing to stop for.
    pub fn error(&self, text: &str) -> io::Result<()> {
        let mut out = self.out();
        let result = out.flush();
        if !out.closed {
            _ = self.errors.write(text.as_bytes());
        }
        result
    }

    /// To the error stream, past everything else.
    pub fn error_now(&self, text: &str) {
        _ = self.errors.write(text.as_bytes());
    }

    /// Writes what is buffered; afterwards nothing is written any more.
    pub fn close(&self) -> io::Result<()> {
        let mut out = self.out();
        let result = out.flush();
        out.closed = true;
        result
    }
}
