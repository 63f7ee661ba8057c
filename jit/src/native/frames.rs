//! Walks compiled frames: for stack traces, for the collector, and to find where a thrown error is caught.
//!
//! In: a context whose thread stands outside compiled code, so that `last_fp` and `last_pc` name the innermost compiled frame. Frames are linked by their frame pointers; a frame pointer equal to `entry_sp` is the trampoline's
//! through which Rust entered, and what it saved leads to the entry before it, if there is one.
//!
//! A frame that trapped stands at an instruction instead of a call. It has no live values, and the same address may also be some call's return address: `last_pc` has its highest bit set then ([`TRAPPED`]).

use super::api::Level;
use super::tables::{CodeTables, CodeVersion, FrameInfo, SiteKind};
use crate::context::ThreadContext;
use crate::ir::{FuncId, Inlined, InlinedId, Loc, frames_at};
use cranelift_entity::PrimaryMap;
use std::ops::ControlFlow;

/// Set in `last_pc` where the innermost frame stands at a trapping instruction.
pub const TRAPPED: u64 = 1 << 63;

/// What the trampoline keeps below its frame pointer, in words: see `stubs::enter`.
pub mod entry_slot {
    pub const LAST_FP: isize = -7;
    pub const LAST_PC: isize = -8;
    pub const ENTRY_SP: isize = -9;
    pub const UNWOUND_PC: isize = -11;
}

/// One frame: where it stands and its frame pointer.
#[derive(Clone, Copy)]
struct Frame {
    pc: u64,
    fp: u64,
}

struct Frames {
    next: Frame,
    entry: u64,
}

/// # Safety
/// `fp` is the frame pointer of a live compiled or entry frame.
unsafe fn word(fp: u64, index: isize) -> u64 {
    // SAFETY: by contract.
    unsafe { (fp as *const u64).offset(index).read() }
}

impl Frames {
    /// # Safety
    /// The context's thread stands outside compiled code and stays there while frames are read.
    unsafe fn new(ctx: &ThreadContext) -> Frames {
        Frames { next: Frame { pc: ctx.last_pc, fp: ctx.last_fp }, entry: ctx.entry_sp }
    }

    /// # Safety
    /// As for [`Frames::new`].
    unsafe fn next(&mut self) -> Option<Frame> {
        while self.next.fp == self.entry && self.entry != 0 {
            let entry = self.entry;
            // SAFETY: the entry's own frame, which is live.
            unsafe {
                self.next = Frame { pc: word(entry, entry_slot::LAST_PC), fp: word(entry, entry_slot::LAST_FP) };
                self.entry = word(entry, entry_slot::ENTRY_SP);
            }
        }
        if self.next.fp == 0 {
            return None;
        }
        let frame = self.next;
        // SAFETY: a compiled frame: its caller's frame pointer and the return address stand at its own.
        self.next = unsafe { Frame { pc: word(frame.fp, 1), fp: word(frame.fp, 0) } };
        Some(frame)
    }
}

/// What stands in a frame, as a trace shows it: code that was inlined stands in frames of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameView {
    pub func: FuncId,
    /// In the function's own source.
    pub loc: Loc,
    /// `None` for a frame that trapped.
    pub site: Option<SiteKind>,
}

/// # Safety
/// The thread stands outside compiled code.
pub unsafe fn walk(tables: &CodeTables, ctx: &ThreadContext, f: &mut dyn FnMut(FrameView) -> ControlFlow<()>) {
    // SAFETY: by contract.
    let mut frames = unsafe { Frames::new(ctx) };
    // SAFETY: as above.
    while let Some(frame) = unsafe { frames.next() } {
        if views(tables, frame.pc, f).is_break() {
            return;
        }
    }
}

fn views(tables: &CodeTables, pc: u64, f: &mut dyn FnMut(FrameView) -> ControlFlow<()>) -> ControlFlow<()> {
    if pc & TRAPPED == 0 {
        return at_return(tables, known(tables, pc), pc).try_for_each(f);
    }
    let pc = pc & !TRAPPED;
    let version = version(tables, pc);
    let loc = version.trap_at(pc).map_or(version.loc, |t| t.loc);
    inlined_views(&version.inlined, version.func, loc, None).try_for_each(f)
}

/// What stands at a return address, innermost first; `None` if no call in compiled code returns there. For other threads than those that run the code, too.
pub fn decode(tables: &CodeTables, pc: u64) -> Option<impl Iterator<Item = FrameView>> {
    let decoding = tables.decoding();
    let mut views = tables.frame(pc).map(|info| at_return(tables, info, pc))?;
    Some(std::iter::from_fn(move || {
        let _known = &decoding;
        views.next()
    }))
}

/// Where the code begins that a return address lies in, and how it was compiled. For other threads, too.
pub fn version_at(tables: &CodeTables, pc: u64) -> Option<(u64, Level)> {
    let _known = tables.decoding();
    tables.version(pc - 1).map(|version| (version.start, version.level))
}

/// Bytes of the frame that the call stands in which returns there. For other threads, too.
pub fn size(tables: &CodeTables, pc: u64) -> Option<u32> {
    let _known = tables.decoding();
    tables.frame(pc).map(|frame| frame.size)
}

fn at_return<'a>(tables: &'a CodeTables, info: FrameInfo<'a>, pc: u64) -> impl Iterator<Item = FrameView> + use<'a> {
    // The byte before: a call may be the last instruction.
    inlined_views(&version(tables, pc - 1).inlined, info.func, info.loc, Some(info.site))
}

/// The frames that one position stands for, innermost first; the outer ones stand at calls.
fn inlined_views(
    inlined: &PrimaryMap<InlinedId, Inlined>,
    func: FuncId,
    loc: Loc,
    site: Option<SiteKind>,
) -> impl Iterator<Item = FrameView> {
    let outward = std::iter::successors(loc.inlined(), |&id| inlined[id].call.inlined());
    let sites = std::iter::once(site).chain(outward.map(|id| Some(SiteKind::Call(inlined[id].site))));
    frames_at(inlined, func, loc).zip(sites).map(|((func, loc), site)| FrameView { func, loc, site })
}

/// A frame of compiled code as it lies on the stack: what was inlined into its function shares it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawFrame {
    /// The return address at which it stands.
    pub pc: u64,
    pub fp: u64,
    /// Rust called it: it returns to no compiled code.
    pub is_entry: bool,
}

/// Calls `f` on the thread's frames, innermost first, until it breaks: a few instructions each, no table is looked at.
///
/// # Safety
/// As for [`walk`].
#[inline]
pub unsafe fn walk_raw(ctx: &ThreadContext, mut f: impl FnMut(RawFrame) -> ControlFlow<()>) {
    // SAFETY: by contract.
    let mut frames = unsafe { Frames::new(ctx) };
    // SAFETY: as above.
    while let Some(Frame { pc, fp }) = unsafe { frames.next() } {
        let is_entry = frames.next.fp == frames.entry;
        if f(RawFrame { pc, fp, is_entry }).is_break() {
            return;
        }
    }
}

fn version(tables: &CodeTables, pc: u64) -> &CodeVersion {
    tables.version(pc).unwrap_or_else(|| panic!("no code is at {pc:#x}"))
}

fn known(tables: &CodeTables, pc: u64) -> FrameInfo<'_> {
    tables.frame(pc).unwrap_or_else(|| panic!("no call returns to {pc:#x}"))
}

/// Calls `f` on every reference in the thread's compiled frames.
///
/// # Safety
/// As for [`walk`]; `f` leaves valid references.
pub unsafe fn visit_roots(tables: &CodeTables, ctx: &ThreadContext, f: &mut dyn FnMut(&mut u64)) {
    // SAFETY: by contract.
    let mut frames = unsafe { Frames::new(ctx) };
    // SAFETY: as above.
    while let Some(frame) = unsafe { frames.next() } {
        if frame.pc & TRAPPED != 0 {
            continue;
        }
        for &below in known(tables, frame.pc).roots {
            // SAFETY: the compiler put a live reference there, and the thread does not touch it now.
            f(unsafe { &mut *((frame.fp - u64::from(below)) as *mut u64) });
        }
    }
}

/// Where a thrown error goes on: what the stub loads into pc, sp and fp.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resume {
    pub pc: u64,
    pub sp: u64,
    pub fp: u64,
    /// Whether it is caught; otherwise it leaves to Rust.
    pub caught: bool,
}

/// Finds the innermost landing pad, or the way back to Rust.
///
/// # Safety
/// As for [`walk`]; the thread is inside an entry.
pub unsafe fn find_handler(tables: &CodeTables, ctx: &ThreadContext) -> Resume {
    let (mut pc, mut fp) = (ctx.last_pc, ctx.last_fp);
    while fp != ctx.entry_sp {
        if pc & TRAPPED == 0 {
            let info = known(tables, pc);
            if let Some(handler) = info.handler {
                return Resume { pc: handler, sp: fp - u64::from(info.size), fp, caught: true };
            }
        }
        // SAFETY: a live compiled frame inside the entry.
        (pc, fp) = unsafe { (word(fp, 1), word(fp, 0)) };
    }
    // SAFETY: the entry's frame. The trampoline restores the stack pointer from its frame pointer.
    let pc = unsafe { word(fp, entry_slot::UNWOUND_PC) };
    Resume { pc, sp: fp - 8 * 16, fp, caught: false }
}
