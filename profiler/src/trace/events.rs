//! A block of one thread's events.
//!
//! In: up to [`MAX_EVENTS`] events and the stamps between them. Out: the same. Codes are of one width within a block, each a number in the block's own list of edges: one byte
//! where the list has up to 255 of them, else two. So decoding is a table look-up an event, without a branch, and one comparison a block proves that no code is wrong.
//!
//! Stamps are two columns after the codes, of distances between events and between times: a block without stamps has nothing there, and where every event has one, the first column is all ones.

use super::bytes::{Cursor, put_number};
use super::definitions::edge;
use super::error::Problem;
use super::times::Stamp;
use crate::event::Event;
use crate::ids::{EdgeId, ThreadId};
use crate::program::Program;
use cranelift_entity::EntityRef;

/// Events in a block at most: so many that two bytes suffice for a code, and that LZ4's window of 64 KiB sees most of them.
pub const MAX_EVENTS: usize = u16::MAX as usize;
/// Edges that codes of one byte can name, beside the return.
const NARROW: usize = u8::MAX as usize;

/// Turns events to bytes.
#[derive(Default)]
pub(super) struct Encoder {
    /// Where each edge stands in the list of the block that used it last.
    marks: Vec<Mark>,
    block: u64,
    edges: Vec<EdgeId>,
    codes: Vec<u16>,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    block: u64,
    code: u16,
}

impl Encoder {
    /// Appends the block of at most [`MAX_EVENTS`] events. `base` is the thread's time where the block begins, not after the first stamp. The stamps' positions increase.
    pub fn encode(&mut self, out: &mut Vec<u8>, thread: ThreadId, base: u64, events: &[Event], stamps: &[Stamp]) {
        self.number(events);
        put_number(out, thread.as_u32().into());
        put_number(out, base);
        put_number(out, events.len() as u64);
        put_number(out, self.edges.len() as u64);
        put_number(out, stamps.len() as u64);
        for edge in &self.edges {
            put_number(out, edge.as_u32().into());
        }
        if self.edges.len() <= NARROW {
            out.extend(self.codes.iter().map(|&code| code as u8));
        } else {
            out.extend(self.codes.iter().flat_map(|code| code.to_le_bytes()));
        }
        put_distances(out, 0, stamps.iter().map(|stamp| stamp.at));
        put_distances(out, base, stamps.iter().map(|stamp| stamp.cycles));
    }

    /// Gives each edge of the events a code, in the order in which they appear.
    fn number(&mut self, events: &[Event]) {
        self.block += 1;
        self.edges.clear();
        self.codes.clear();
        for event in events {
            let Some(edge) = event.edge() else {
                self.codes.push(0);
                continue;
            };
            if edge.index() >= self.marks.len() {
                self.marks.resize((edge.index() + 1).next_power_of_two(), Mark::default());
            }
            let mark = &mut self.marks[edge.index()];
            if mark.block != self.block {
                self.edges.push(edge);
                *mark = Mark { block: self.block, code: self.edges.len() as u16 };
            }
            self.codes.push(mark.code);
        }
    }
}

fn put_distances(out: &mut Vec<u8>, mut last: u64, values: impl Iterator<Item = u64>) {
    for value in values {
        put_number(out, value - last);
        last = value;
    }
}

/// Turns bytes to events.
pub(super) struct Decoder {
    narrow: Box<[Event; 1 << 8]>,
    wide: Box<[Event; 1 << 16]>,
    pub events: Vec<Event>,
    pub stamps: Vec<Stamp>,
    pub base: u64,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder {
            narrow: Box::new([Event::RETURN; _]),
            wide: Box::new([Event::RETURN; _]),
            events: Vec::new(),
            stamps: Vec::new(),
            base: 0,
        }
    }
}

impl Decoder {
    /// The number of the thread whose events the block holds.
    pub fn decode(&mut self, raw: &[u8], program: &Program) -> Result<u64, Problem> {
        let mut bytes = Cursor(raw);
        let thread = bytes.number()?;
        self.base = bytes.number()?;
        let (events, edges, stamps) = (bytes.number()?, bytes.number()?, bytes.number()?);
        if events > MAX_EVENTS as u64 || edges > events || stamps > events + 1 {
            return Err(Problem::Malformed("a block of events has too many events, edges or stamps"));
        }
        let (events, edges, stamps) = (events as usize, edges as usize, stamps as usize);
        self.events.clear();
        if edges <= NARROW {
            // A list of fixed length lets the loop do without checks.
            list(&mut self.narrow[1..=edges], &mut bytes, program)?;
            let codes = bytes.take(events)?;
            check(codes.iter().copied().max().map(usize::from), edges)?;
            self.events.extend(codes.iter().map(|&code| self.narrow[usize::from(code)]));
        } else {
            list(&mut self.wide[1..=edges], &mut bytes, program)?;
            let (codes, _) = bytes.take(2 * events)?.as_chunks::<2>();
            check(codes.iter().map(|&code| u16::from_le_bytes(code)).max().map(usize::from), edges)?;
            self.events.extend(codes.iter().map(|&code| self.wide[usize::from(u16::from_le_bytes(code))]));
        }
        self.decode_stamps(&mut bytes, stamps)?;
        if !bytes.is_empty() {
            return Err(Problem::Malformed("a block of events goes on after its end"));
        }
        Ok(thread)
    }

    fn decode_stamps(&mut self, bytes: &mut Cursor, count: usize) -> Result<(), Problem> {
        let Decoder { stamps, events, base, .. } = self;
        stamps.clear();
        let (mut at, last) = (0, events.len() as u64);
        bytes.numbers(count, |distance| {
            if distance > last - at || (distance == 0 && !stamps.is_empty()) {
                return Err(Problem::Malformed("a time stamp is out of order"));
            }
            at += distance;
            stamps.push(Stamp { at, cycles: 0 });
            Ok(())
        })?;
        let (mut cycles, mut stamps) = (*base, stamps.iter_mut());
        bytes.numbers(count, |passed| {
            cycles = cycles.checked_add(passed).ok_or(Problem::Malformed("a time stamp is too large for 64 bits"))?;
            if let Some(stamp) = stamps.next() {
                stamp.cycles = cycles;
            }
            Ok(())
        })
    }
}

/// Reads a block's list of edges.
fn list(into: &mut [Event], bytes: &mut Cursor, program: &Program) -> Result<(), Problem> {
    for event in into {
        *event = Event::call(edge(bytes.number()?, program)?);
    }
    Ok(())
}

fn check(highest: Option<usize>, edges: usize) -> Result<(), Problem> {
    if highest.is_some_and(|highest| highest > edges) {
        return Err(Problem::Malformed("an event's code is not in its block's list of edges"));
    }
    Ok(())
}
