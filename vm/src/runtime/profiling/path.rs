//! The calls that are open on a thread, followed through what it records: stack walks, and calls without returns.
//!
//! In: raw frames and [`CallSeen`] records of one thread, in order, and what addresses mean ([`Code`]). Out: the stack as edges, and the calls and returns between two records.
//!
//! Returns are not recorded; the stack grows downward, so at a call every frame at or below the callee's frame pointer has returned (or was left by an error). The return address then says where in its own code the
//! caller stands, inlined functions included. Those have no frame: with probes each of their calls is a record of its own, without them they are seen only when something is called from inside, and such a frame is entered
//! without a call that counts.
//!
//! Each piece of code has one frame size, so all that a frame calls have the same frame pointer. A frame may go on as one of other code (on-stack replacement), of another size, and keeps its own frame pointer: so what it calls from then on may lie deeper
//! than what it had called before. A return address tells the size of the frame that is returned to, and with it that frame's pointer: all below have returned.
//!
//! Invariants: frames are ordered by their frame pointers, the outermost first; each has one edge, and one more for each inlined function it stands in.

use jit::context::CallSeen;
use jit::native::RawFrame;
use profiler::ids::{CallSiteId, EdgeId, FuncId};
use profiler::sample::Sample;
use smallvec::SmallVec;
use std::rc::Rc;

/// What an address in compiled code stands in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// Innermost first, the function that has the frame last: each with the call site at which it stands. The innermost has none where it is no call: at a prologue, a probe, a loop's end.
    pub chain: SmallVec<[(FuncId, Option<CallSiteId>); 4]>,
    /// The call of an inlined function begins here.
    pub is_probe: bool,
    /// Bytes of the frame, from its frame pointer down to the stack pointer at its calls.
    pub frame_size: u32,
}

/// Return address and saved frame pointer, between the stack pointer at a call and the callee's frame pointer.
const LINK: u64 = 16;

/// What is known of compiled code and of edges, and where samples go.
pub trait Code {
    /// `None`: not in compiled code, so whoever returns there was called from outside.
    fn position(&mut self, pc: u64) -> Option<Rc<Position>>;

    fn edge(&mut self, site: Option<CallSiteId>, callee: FuncId) -> EdgeId;

    fn add(&mut self, sample: &Sample);
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    raw: RawFrame,
    /// Edges below its own.
    base: usize,
}

/// The open calls of a thread.
#[derive(Default, Debug)]
pub struct Path {
    frames: Vec<Frame>,
    edges: Vec<EdgeId>,
}

/// What a record does to the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// So many returns, then so many inlined functions entered whose calls were not seen, then a call. Their edges are the path's last ones.
    Call { returns: usize, entered: usize },
    /// The record fits to nothing that is known: the path is empty.
    Lost,
}

impl Path {
    /// Outermost first.
    pub fn edges(&self) -> &[EdgeId] {
        &self.edges
    }

    /// How many there are of inlined functions, which have no frame of their own on the machine's stack.
    pub fn inlined(&self) -> usize {
        self.edges.len() - self.frames.len()
    }

    /// Takes over a stack walk; what it shares with the path from before is not looked up again.
    pub fn walked(&mut self, frames: &[RawFrame], code: &mut impl Code) {
        let outermost_first = || frames.iter().rev();
        let shared = self.frames.iter().zip(outermost_first()).take_while(|(ours, theirs)| ours.raw == **theirs).count();
        // The last shared frame's inlined functions are part of its position.
        let shared_edges = self.frames.get(shared).map_or(self.edges.len(), |frame| frame.base);
        self.frames.truncate(shared);
        self.edges.truncate(shared_edges);
        let mut caller = self.frames.last().and_then(|frame| code.position(frame.raw.pc));
        for &raw in outermost_first().skip(shared) {
            let Some(position) = code.position(raw.pc) else { continue };
            self.frames.push(Frame { raw, base: self.edges.len() });
            let mut site = caller.filter(|_| !raw.is_entry).and_then(|at| at.chain[0].1);
            for &(func, at) in position.chain.iter().rev() {
                self.edges.push(code.edge(site, func));
                site = at;
            }
            caller = Some(position);
        }
    }

    /// A call was recorded.
    pub fn call(&mut self, call: CallSeen, code: &mut impl Code) -> Step {
        let Some(callee) = code.position(call.pc) else { return self.lost() };
        let open = self.edges.len();
        let caller = if callee.is_probe { None } else { code.position(call.ret) };
        let is_gone = |frame: &Frame| match &caller {
            Some(caller) => frame.raw.fp < call.fp + LINK + u64::from(caller.frame_size),
            // A probe stands in a frame that is there already.
            None if callee.is_probe => frame.raw.fp < call.fp,
            None => frame.raw.fp <= call.fp,
        };
        while let Some(frame) = self.frames.pop_if(|frame| is_gone(frame)) {
            self.edges.truncate(frame.base);
        }
        let func = callee.chain[0].0;
        if callee.is_probe {
            let Some(frame) = self.frames.last_mut().filter(|frame| frame.raw.fp == call.fp) else { return self.lost() };
            frame.raw.pc = call.pc;
            let site = callee.chain.get(1).and_then(|caller| caller.1);
            let kept = self.stand_at(&callee.chain[1..], code);
            return self.enter(site, func, open, kept, code);
        }
        let (site, kept) = match (&caller, self.frames.last_mut()) {
            (None, _) => (None, self.edges.len()),
            // Else the caller was called by code that does not count, and whoever stands below it has not called here.
            (Some(caller), Some(frame)) if frame.raw.fp == call.fp + LINK + u64::from(caller.frame_size) => {
                frame.raw.pc = call.ret;
                (caller.chain[0].1, self.stand_at(&caller.chain, code))
            }
            (Some(_), _) => return self.lost(),
        };
        self.frames.push(Frame { raw: RawFrame { pc: call.pc, fp: call.fp, is_entry: caller.is_none() }, base: self.edges.len() });
        self.enter(site, func, open, kept, code)
    }

    /// The innermost frame stands in these functions, innermost first. Gives how many edges of the path were there before.
    fn stand_at(&mut self, chain: &[(FuncId, Option<CallSiteId>)], code: &mut impl Code) -> usize {
        let base = self.frames.last().map_or(0, |frame| frame.base);
        // The frame's own edge stays as it is.
        let mut depth = base + 1;
        let mut kept = depth;
        let pairs = chain.iter().rev().zip(chain.iter().rev().skip(1));
        for (caller, inlined) in pairs {
            let edge = code.edge(caller.1, inlined.0);
            if self.edges.get(depth) == Some(&edge) {
                kept += 1;
            } else {
                self.edges.truncate(depth);
                self.edges.push(edge);
            }
            depth += 1;
        }
        self.edges.truncate(depth);
        kept
    }

    /// Calls. The path had so many edges that were open at the last record, of which so many were kept.
    fn enter(&mut self, site: Option<CallSiteId>, func: FuncId, open: usize, kept: usize, code: &mut impl Code) -> Step {
        let entered = self.edges.len() - kept;
        self.edges.push(code.edge(site, func));
        Step::Call { returns: open - kept, entered }
    }

    fn lost(&mut self) -> Step {
        self.frames.clear();
        self.edges.clear();
        Step::Lost
    }
}
