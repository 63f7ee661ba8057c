//! What a trace speaks of: functions, call sites, edges, and threads as they start and end.
//!
//! In: entries of a definitions block, in the order in which they got their ids. Out: [`Program`] and [`Thread`]s.
//! Invariant: an entry refers only to what was defined before it.

use super::bytes::{Cursor, put_number, put_text};
use super::error::Problem;
use super::reader::Limits;
use crate::ids::{CallSiteId, EdgeId, FuncId, ThreadId};
use crate::program::{CallSite, Edge, Function, Program};
use cranelift_entity::{EntityRef, PrimaryMap};

const FUNCTION: u8 = 1;
const SITE: u8 = 2;
const EDGE: u8 = 3;
const START: u8 = 4;
const END: u8 = 5;

/// A thread of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Any characters.
    pub name: Box<str>,
    /// In the trace's clock.
    pub start: u64,
    /// In the trace's clock. `None`: it has not ended, or its end was not recorded.
    pub end: Option<u64>,
    /// Read or written so far.
    pub events: u64,
}

pub(super) fn put_function(out: &mut Vec<u8>, function: &Function) {
    out.push(FUNCTION);
    put_text(out, &function.name);
    put_text(out, &function.file);
    put_number(out, function.line.into());
}

pub(super) fn put_site(out: &mut Vec<u8>, site: CallSite) {
    out.push(SITE);
    put_number(out, site.caller.as_u32().into());
    put_number(out, site.line.into());
}

pub(super) fn put_edge(out: &mut Vec<u8>, edge: Edge) {
    out.push(EDGE);
    put_number(out, edge.site.expand().map_or(0, |site| u64::from(site.as_u32()) + 1));
    put_number(out, edge.callee.as_u32().into());
}

pub(super) fn put_start(out: &mut Vec<u8>, name: &str, cycles: u64) {
    out.push(START);
    put_number(out, cycles);
    put_text(out, name);
}

pub(super) fn put_end(out: &mut Vec<u8>, thread: ThreadId, cycles: u64) {
    out.push(END);
    put_number(out, thread.as_u32().into());
    put_number(out, cycles);
}

/// All that is defined so far.
#[derive(Default)]
pub(super) struct Defined {
    pub program: Program,
    pub threads: PrimaryMap<ThreadId, Thread>,
    /// Those that have ended, in order.
    pub ended: Vec<ThreadId>,
    /// Bytes of all names.
    names: u64,
}

impl Defined {
    /// Adds a block's entries, up to the one that cannot be understood or exceeds the limit.
    pub fn read(&mut self, raw: &[u8], limits: Limits) -> Result<(), Problem> {
        let mut bytes = Cursor(raw);
        while !bytes.is_empty() {
            self.entry(&mut bytes)?;
            if self.count() > limits.definitions {
                return Err(Problem::Limit { what: "functions, call sites, edges and threads", limit: limits.definitions });
            }
            if self.names > limits.names {
                return Err(Problem::Limit { what: "bytes of names", limit: limits.names });
            }
        }
        Ok(())
    }

    fn count(&self) -> u64 {
        (self.program.functions.len() + self.program.sites.len() + self.program.edges().len() + self.threads.len()) as u64
    }

    fn entry(&mut self, bytes: &mut Cursor) -> Result<(), Problem> {
        match bytes.byte()? {
            FUNCTION => {
                let (name, file, line) = (self.text(bytes)?, self.text(bytes)?, bytes.short()?);
                self.program.functions.push(Function { name, file, line });
            }
            SITE => {
                let (caller, line) = (self.function(bytes.number()?)?, bytes.short()?);
                self.program.sites.push(CallSite { caller, line });
            }
            EDGE => {
                let (site, callee) = (bytes.number()?, bytes.number()?);
                let edge = Edge { site: self.site(site)?.into(), callee: self.function(callee)? };
                let next = self.program.edges().len();
                if self.program.edge(edge).index() != next {
                    return Err(Problem::Malformed("an edge is defined twice"));
                }
            }
            START => {
                let (start, name) = (bytes.number()?, self.text(bytes)?);
                self.threads.push(Thread { name, start, end: None, events: 0 });
            }
            END => {
                let (thread, cycles) = (bytes.number()?, bytes.number()?);
                self.running(thread)?.end = Some(cycles);
                self.ended.push(ThreadId::new(thread as usize));
            }
            _ => return Err(Problem::Malformed("there is no definition of such a kind")),
        }
        Ok(())
    }

    fn text(&mut self, bytes: &mut Cursor) -> Result<Box<str>, Problem> {
        let text = bytes.text()?;
        self.names += text.len() as u64;
        Ok(text.into())
    }

    /// The thread with this number, which must have started and not ended.
    pub fn running(&mut self, number: u64) -> Result<&mut Thread, Problem> {
        let thread = below(number, self.threads.len()).map(ThreadId::new).and_then(|thread| self.threads.get_mut(thread));
        let thread = thread.ok_or(Problem::Malformed("it speaks of a thread that has not started"))?;
        if thread.end.is_some() {
            return Err(Problem::Malformed("it speaks of a thread that has ended"));
        }
        Ok(thread)
    }

    fn function(&self, number: u64) -> Result<FuncId, Problem> {
        let index = below(number, self.program.functions.len());
        index.map(FuncId::new).ok_or(Problem::Malformed("it speaks of a function that is not defined"))
    }

    /// 0 is none, others are one more than the site's id.
    fn site(&self, number: u64) -> Result<Option<CallSiteId>, Problem> {
        let Some(number) = number.checked_sub(1) else { return Ok(None) };
        let index = below(number, self.program.sites.len());
        index.map(|index| Some(CallSiteId::new(index))).ok_or(Problem::Malformed("it speaks of a call site that is not defined"))
    }
}

/// An edge's id that a block of events uses.
pub(super) fn edge(number: u64, program: &Program) -> Result<EdgeId, Problem> {
    let index = below(number, program.edges().len());
    index.map(EdgeId::new).ok_or(Problem::Malformed("it speaks of an edge that is not defined"))
}

fn below(number: u64, length: usize) -> Option<usize> {
    usize::try_from(number).ok().filter(|&index| index < length)
}
