//! The interpreter's stack: frames and their slots, in memory that the collector and the stack walker can read while the thread stands at a safepoint.
//!
//! A frame's slots lie in one piece. All access goes through shared references and cells, so the runtime may look at (and update) the slots while the interpreter is inside a call to it.
//! Invariant: while the interpreter is outside its loop, `pc` is the innermost frame's instruction, and every other frame's is its call.

use super::code::{Code, FuncCode, Reg};
use crate::ir::{FuncId, Loc, frames_at};
use std::cell::{Cell, Ref, RefCell};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What a frame costs besides its slots, in slots: keeps recursion of functions without values from going deeper than compiled code would.
const FRAME_OVERHEAD: u32 = 4;
const FIRST_SLOTS: usize = 1024;

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub func: FuncId,
    /// Its first slot.
    pub base: u32,
    /// Where the caller goes on from: its call instruction. The innermost frame's is in `Stack::pc`.
    pub pc: u32,
    /// The caller's slot for the result.
    pub dst: Reg,
}

#[derive(Debug)]
pub struct Stack {
    code: Arc<Code>,
    slots: RefCell<Box<[Cell<u64>]>>,
    frames: RefCell<Vec<Frame>>,
    pub(super) pc: Cell<u32>,
    /// Slots, [`FRAME_OVERHEAD`]s included.
    limit: u32,
}

/// No room for another frame.
pub(super) struct Overflow;

impl Stack {
    pub(super) fn new(code: Arc<Code>, limit_bytes: usize) -> Self {
        let limit = (limit_bytes / 8).min(u32::MAX as usize / 2) as u32;
        let slots = RefCell::new(zeroed(FIRST_SLOTS.min(limit as usize)));
        Stack { code, slots, frames: RefCell::new(Vec::new()), pc: Cell::new(0), limit }
    }

    /// Calls `f` on every reference that a frame still needs, nulls included, which it may replace.
    pub fn for_each_root(&self, mut f: impl FnMut(&mut u64)) {
        let slots = self.slots.borrow();
        let mut pc = self.pc.get();
        for frame in self.frames.borrow().iter().rev() {
            for &reg in self.func(frame.func).live_at(pc) {
                let slot = &slots[(frame.base + reg) as usize];
                let mut value = slot.get();
                f(&mut value);
                slot.set(value);
            }
            pc = frame.pc;
        }
    }

    /// Calls `f` on every frame's function and present position, innermost first, until it breaks.
    pub fn walk(&self, mut f: impl FnMut(FuncId, Loc) -> ControlFlow<()>) {
        let mut pc = self.pc.get();
        for frame in self.frames.borrow().iter().rev() {
            let code = self.func(frame.func);
            for (func, loc) in frames_at(&code.inlined, frame.func, code.locs[pc as usize]) {
                if f(func, loc).is_break() {
                    return;
                }
            }
            pc = frame.pc;
        }
    }

    /// Frames on the stack.
    pub fn depth(&self) -> usize {
        self.frames.borrow().len()
    }

    fn func(&self, func: FuncId) -> &FuncCode {
        &self.code.funcs[func.as_u32() as usize]
    }

    pub(super) fn slots(&self) -> Ref<'_, Box<[Cell<u64>]>> {
        self.slots.borrow()
    }

    pub(super) fn top(&self) -> Option<Frame> {
        self.frames.borrow().last().copied()
    }

    /// Where the next frame's slots start, if `slots` more fit under the limit.
    pub(super) fn next_base(&self, slots: u32) -> Result<u32, Overflow> {
        let frames = self.frames.borrow();
        let base = frames.last().map_or(0, |f| f.base + self.func(f.func).slots);
        let overhead = (frames.len() as u32 + 1).saturating_mul(FRAME_OVERHEAD);
        let end = base.checked_add(slots).and_then(|n| n.checked_add(overhead)).ok_or(Overflow)?;
        if end > self.limit { Err(Overflow) } else { Ok(base) }
    }

    pub(super) fn push(&self, frame: Frame) {
        self.frames.borrow_mut().push(frame);
    }

    pub(super) fn pop(&self) -> Option<Frame> {
        self.frames.borrow_mut().pop()
    }

    /// Makes the memory reach to slot `end`. No one holds [`Stack::slots`].
    pub(super) fn grow(&self, end: usize) {
        let mut slots = self.slots.borrow_mut();
        let larger = zeroed(end.max(2 * slots.len()));
        slots.iter().zip(&larger).for_each(|(old, new)| new.set(old.get()));
        *slots = larger;
    }
}

fn zeroed(len: usize) -> Box<[Cell<u64>]> {
    (0..len).map(|_| Cell::new(0)).collect()
}
