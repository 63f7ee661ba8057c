//! The file around the blocks: its header, and each block's kind, lengths, checksum and compression.
//!
//! In, out: blocks as they are before compression. Invariant: a block is looked into only when its checksum is right, and neither side's memory for it exceeds [`MAX_RAW`] by much.

use super::error::Problem;
use crate::clock::{Clock, Rate};
use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};
use std::io::{self, ErrorKind, Read, Write};
use std::num::NonZeroU64;

/// The first byte is not ASCII and a line break follows, so that a transfer that changes either is noticed.
const MAGIC: [u8; 8] = *b"\x89trace\r\n";
const VERSION: u16 = 1;
const HEADER: usize = 24;
const HEAD: usize = 16;
/// Bytes of a block before compression.
pub(super) const MAX_RAW: usize = 2 << 20;
/// Bytes of a block as stored: LZ4 adds 1 in 255 at worst.
const MAX_STORED: usize = MAX_RAW + MAX_RAW / 255 + 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Definitions = 1,
    Events = 2,
    End = 3,
}

/// Writes blocks.
pub(super) struct BlockWriter<W> {
    out: W,
    stored: Vec<u8>,
    table: CompressTable,
}

impl<W: Write> BlockWriter<W> {
    /// Writes the header.
    pub fn new(mut out: W, clock: Clock) -> io::Result<Self> {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..10].copy_from_slice(&VERSION.to_le_bytes());
        let (unit, per_second) = match clock {
            Clock::Cycles { per_second } => (0, per_second.map_or(0, NonZeroU64::get)),
            Clock::Nanoseconds => (1, Rate::NANOSECONDS.per_second()),
            Clock::Steps => (2, 0),
        };
        header[10] = unit;
        header[12..20].copy_from_slice(&per_second.to_le_bytes());
        let crc = crc32fast::hash(&header[..20]);
        header[20..].copy_from_slice(&crc.to_le_bytes());
        out.write_all(&header)?;
        Ok(BlockWriter { out, stored: Vec::new(), table: CompressTable::large() })
    }

    /// `raw` has at most [`MAX_RAW`] bytes.
    pub fn write(&mut self, kind: Kind, raw: &[u8]) -> io::Result<()> {
        debug_assert!(raw.len() <= MAX_RAW);
        let room = HEAD + get_maximum_output_size(raw.len());
        if self.stored.len() < room {
            self.stored.resize(room, 0);
        }
        let (head, stored) = self.stored.split_at_mut(HEAD);
        let length = compress_into_with_table(raw, stored, &mut self.table).map_err(io::Error::other)?;
        head[..4].copy_from_slice(&[kind as u8, 0, 0, 0]);
        head[4..8].copy_from_slice(&(raw.len() as u32).to_le_bytes());
        head[8..12].copy_from_slice(&(length as u32).to_le_bytes());
        let crc = checksum(&head[..12], &stored[..length]);
        head[12..].copy_from_slice(&crc.to_le_bytes());
        self.out.write_all(&self.stored[..HEAD + length])
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    pub fn into_inner(self) -> W {
        self.out
    }
}

/// Reads blocks.
pub(super) struct BlockReader<R> {
    source: R,
    /// Bytes read.
    pub offset: u64,
    /// Where the block that was read last begins.
    pub start: u64,
    /// The blocks that were understood, as whoever reads them counts.
    pub blocks: u64,
    stored: Vec<u8>,
    raw: Vec<u8>,
}

impl<R: Read> BlockReader<R> {
    pub fn new(source: R) -> Self {
        BlockReader { source, offset: 0, start: 0, blocks: 0, stored: Vec::new(), raw: Vec::new() }
    }

    /// Reads the header.
    pub fn header(&mut self) -> Result<Clock, Problem> {
        let mut header = [0; HEADER];
        let found = self.fill(&mut header)?;
        let magic = &MAGIC[..found.min(8)];
        if header[..magic.len()] != *magic || found == 0 {
            return Err(Problem::NotATrace);
        }
        complete(HEADER, found)?;
        let [.., v0, v1, unit, zero, p0, p1, p2, p3, p4, p5, p6, p7, c0, c1, c2, c3] = header;
        let (expected, found) = (u32::from_le_bytes([c0, c1, c2, c3]), crc32fast::hash(&header[..20]));
        if expected != found {
            return Err(Problem::Checksum { expected, found });
        }
        let version = u16::from_le_bytes([v0, v1]);
        if version != VERSION {
            return Err(Problem::Version(version));
        }
        let clock = match (unit, zero) {
            (0, 0) => Clock::cycles(u64::from_le_bytes([p0, p1, p2, p3, p4, p5, p6, p7])),
            (1, 0) => Clock::Nanoseconds,
            (2, 0) => Clock::Steps,
            _ => return Err(Problem::Malformed("the clock's unit is unknown")),
        };
        self.start = self.offset;
        Ok(clock)
    }

    /// The next block's kind, `None` where the file ends. Its bytes are in [`raw`](Self::raw).
    pub fn read(&mut self) -> Result<Option<(Kind, &[u8])>, Problem> {
        self.start = self.offset;
        let mut head = [0; HEAD];
        let found = self.fill(&mut head)?;
        if found == 0 {
            return Ok(None);
        }
        complete(HEAD, found)?;
        let [kind, zeros @ .., r0, r1, r2, r3, s0, s1, s2, s3, c0, c1, c2, c3] = head;
        let (raw, stored) = (u32::from_le_bytes([r0, r1, r2, r3]), u32::from_le_bytes([s0, s1, s2, s3]));
        if raw as usize > MAX_RAW {
            return Err(Problem::Length(raw));
        }
        if stored as usize > MAX_STORED {
            return Err(Problem::Length(stored));
        }
        self.read_stored(stored as usize)?;
        let (expected, found) = (u32::from_le_bytes([c0, c1, c2, c3]), checksum(&head[..12], &self.stored));
        if expected != found {
            return Err(Problem::Checksum { expected, found });
        }
        let kind = match (kind, zeros) {
            (1, [0, 0, 0]) => Kind::Definitions,
            (2, [0, 0, 0]) => Kind::Events,
            (3, [0, 0, 0]) => Kind::End,
            _ => return Err(Problem::Kind(kind)),
        };
        self.decompress(raw as usize)?;
        Ok(Some((kind, &self.raw[..raw as usize])))
    }

    /// Whether the file ends here.
    pub fn is_at_end(&mut self) -> Result<bool, Problem> {
        self.start = self.offset;
        Ok(self.fill(&mut [0])? == 0)
    }

    fn read_stored(&mut self, length: usize) -> Result<(), Problem> {
        self.stored.clear();
        let found = self.source.by_ref().take(length as u64).read_to_end(&mut self.stored).map_err(Problem::Io)?;
        self.offset += found as u64;
        complete(length, found)
    }

    fn decompress(&mut self, length: usize) -> Result<(), Problem> {
        if self.raw.len() < length {
            self.raw.resize(length, 0);
        }
        let found = decompress_into(&self.stored, &mut self.raw[..length]).map_err(Problem::Compression)?;
        if found != length {
            return Err(Problem::Malformed("a block is shorter than it says"));
        }
        Ok(())
    }

    /// Reads as much of `bytes` as there is.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, Problem> {
        let mut found = 0;
        while found < bytes.len() {
            match self.source.read(&mut bytes[found..]) {
                Ok(0) => break,
                Ok(more) => found += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Problem::Io(error)),
            }
        }
        self.offset += found as u64;
        Ok(found)
    }
}

fn checksum(head: &[u8], stored: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(head);
    crc.update(stored);
    crc.finalize()
}

fn complete(expected: usize, found: usize) -> Result<(), Problem> {
    if found < expected {
        return Err(Problem::Truncated { expected: expected as u64, found: found as u64 });
    }
    Ok(())
}
