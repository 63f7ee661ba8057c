//! What can be wrong with a trace file, and with what a writer is told.
//!
//! Invariant: each message names the place and the cause, and says what to do about it where something can be done.

use crate::ids::{CallSiteId, EdgeId, FuncId, ThreadId};
use std::fmt;
use std::io;

/// Where a trace file stops being readable, and why. All before the place is good.
#[derive(Debug)]
pub struct TraceError {
    /// Where the block that cannot be read begins, in bytes from the start of the file.
    pub offset: u64,
    /// The blocks before it.
    pub blocks: u64,
    /// The cause.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug)]
pub enum Problem {
    /// The file could not be read.
    Io(io::Error),
    /// The file does not begin as a trace does.
    NotATrace,
    /// A version of the format that this reader does not know.
    Version(u16),
    /// The file ends inside of the header or of a block.
    Truncated {
        /// Bytes that were to follow.
        expected: u64,
        /// Bytes that do.
        found: u64,
    },
    /// The file ends after a block, but that is not the last one.
    NoEnd,
    /// The bytes are not those that were written.
    Checksum {
        /// As the file says.
        expected: u32,
        /// Of the bytes in it.
        found: u32,
    },
    /// No block is as long.
    Length(u32),
    /// No block of this kind is known.
    Kind(u8),
    /// The block cannot be decompressed.
    Compression(lz4_flex::block::DecompressError),
    /// The block says what no trace can say: a fault of the writer, as the checksum is right.
    Malformed(&'static str),
    /// The last block counts other events than there are.
    Count {
        /// As the last block says.
        expected: u64,
        /// In the blocks.
        found: u64,
    },
    /// Something follows the last block.
    Trailing,
    /// The reader's own limit: more functions, call sites, edges and threads, or more events than it may keep.
    Limit {
        /// Of what there are too many.
        what: &'static str,
        /// How many there may be.
        limit: u64,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, blocks, problem } = self;
        write!(f, "trace unreadable from byte {offset} (after {blocks} good blocks): {problem}")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Io(error) => write!(f, "{error}"),
            Problem::NotATrace => {
                f.write_str("this is not a trace file, which begins with the bytes 89 'trace' 0d 0a; a transfer as text changes these")
            }
            Problem::Version(version) => {
                write!(f, "it is of version {version} of the format, this reader knows only 1; record it again, or use a newer reader")
            }
            Problem::Truncated { expected, found } => {
                write!(f, "{expected} bytes were to follow, the file has {found}; it was cut off, or its writer was stopped while writing")
            }
            Problem::NoEnd => f.write_str(
                "the file ends without its last block; the recorded program was killed, is still running, or the file was cut off",
            ),
            Problem::Checksum { expected, found } => {
                write!(f, "the checksum is {found:08x} where {expected:08x} was written; the file is damaged here")
            }
            Problem::Length(length) => write!(f, "a block of {length} bytes is longer than any; the file is damaged here"),
            Problem::Kind(kind) => {
                write!(f, "there is no block of kind {kind}; the file is damaged here or was written for a newer reader")
            }
            Problem::Compression(error) => write!(f, "the block cannot be decompressed: {error}; its writer is at fault"),
            Problem::Malformed(what) => write!(f, "{what}; its writer is at fault"),
            Problem::Count { expected, found } => write!(f, "it should hold {expected} events, but holds {found}; its writer is at fault"),
            Problem::Trailing => f.write_str("something follows the last block; are these two files in one?"),
            Problem::Limit { what, limit } => write!(f, "there are more than {limit} {what}, the limit that was set for reading"),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Io(error) => Some(error),
            Problem::Compression(error) => Some(error),
            _ => None,
        }
    }
}

/// Why something was not written.
#[derive(Debug)]
pub enum WriteError {
    /// The file takes no more.
    Io(io::Error),
    /// Not defined in this trace.
    Function(FuncId),
    /// Not defined in this trace.
    Site(CallSiteId),
    /// Not defined in this trace.
    Edge(EdgeId),
    /// Not started in this trace, or ended already.
    Thread(ThreadId),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io(error) => write!(f, "cannot write the trace: {error}"),
            WriteError::Function(id) => write!(f, "{id} is not a function of this trace; define it before it is used"),
            WriteError::Site(id) => write!(f, "{id} is not a call site of this trace; define it before it is used"),
            WriteError::Edge(id) => write!(f, "{id} is not an edge of this trace; define it before it is used"),
            WriteError::Thread(id) => write!(f, "{id} was not started in this trace, or has ended"),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WriteError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Io(error)
    }
}
