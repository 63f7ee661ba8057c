//! Loops' cells: where the code is that goes on for a loop of a running function.
//!
//! In: functions made by [`crate::opt::osr`], to be compiled and installed. Out: for each poll of a function an 8-byte cell that compiled code looks at; 0 as long as there is nothing. A release store installs, as with entry cells;
//! calls of the function go through its entry cell as ever, and do not come here.

use super::api::{Level, NativeError, Osr, Profiling, VersionInfo};
use super::engine::Engine;
use super::region::Pages;
use super::tables::SiteKind;
use crate::context::ThreadContext;
use crate::ir::{Block, FuncId, Function, Start};
use crate::opt::exits::{WithExits, loop_at_block};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Loops that can have cells; those of further ones are never left. (8 bytes of address space each.)
const MAX_LOOPS: usize = 1 << 17;

/// Bytes that the frame of code for a loop may take. It makes place for a frame that had passed the stack's check, and makes no check itself: it may lie in the reserve below the limit, of which this is a small part.
pub(super) const MAX_FRAME: u32 = 32 << 10;

/// One for each poll that was compiled, by the function and the block that holds it. Low in memory where there is room, like entry cells.
pub struct OsrCells {
    pages: Option<Pages>,
    index: Mutex<FxHashMap<(FuncId, Block), usize>>,
}

impl OsrCells {
    pub fn new(osr: Osr) -> Result<OsrCells, NativeError> {
        let pages = if matches!(osr, Osr::Off) { None } else { Some(Pages::zeroed_low(8 * MAX_LOOPS)?) };
        Ok(OsrCells { pages, index: Mutex::default() })
    }

    fn index(&self) -> MutexGuard<'_, FxHashMap<(FuncId, Block), usize>> {
        self.index.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Where the cell of a loop lies, which has one from now on. `None` where loops are not left, or there are too many.
    pub fn address(&self, func: FuncId, block: Block) -> Option<u64> {
        let pages = self.pages.as_ref()?;
        let mut index = self.index();
        let next = index.len();
        let index = *index.entry((func, block)).or_insert(next);
        (index < MAX_LOOPS).then(|| pages.address() + 8 * index as u64)
    }

    fn cell(&self, func: FuncId, block: Block) -> Option<&AtomicU64> {
        let address = self.address(func, block)?;
        // SAFETY: inside the pages, which are only used as atomics, by Rust and by compiled code.
        Some(unsafe { &*(address as *const AtomicU64) })
    }
}

impl Engine {
    /// The cell of a loop, by the function and the block that holds the loop's poll ([`SiteKind::Loop`]): the address of the code that goes on for it, or 0. `None` where the options say that loops are not left.
    pub fn osr_cell(&self, func: FuncId, block: Block) -> Option<&AtomicU64> {
        self.osr_cells().cell(func, block)
    }

    /// Compiles what [`crate::opt::osr::enter_at`] has made for a loop, and lets running calls of the function go over into it at the loop's next slow poll. Code that was there for the loop before is retired, unless it is of the same family.
    ///
    /// # Errors
    /// As for [`Engine::compile`]; [`NativeError::Compile`] also where the frame is too large, or loops are not left.
    pub fn install_osr(&self, func: FuncId, block: Block, body: &Function, level: Level) -> Result<VersionInfo, NativeError> {
        assert_eq!(body.start, Start::Loop, "{} begins at a call", body.name);
        if self.makes_both(level) {
            let entered = loop_at_block(func, &self.module().funcs[func], block);
            self.versions().families.long.extend(entered);
            return self.install_osr_with_exits(func, block, self.leavable(func, body));
        }
        self.install_for_loop(func, block, |engine| engine.compile_version(func, body, level, engine.profiling(level), MAX_FRAME))
    }

    /// The same where optimized code is made in both kinds: of these one is enough here, from its exits the other one is come to.
    pub(super) fn install_osr_with_exits(&self, func: FuncId, block: Block, made: WithExits) -> Result<VersionInfo, NativeError> {
        self.install_for_loop(func, block, |engine| {
            let version = engine.compile_version(func, &made.body, Level::Optimized, Profiling::Off, MAX_FRAME)?;
            engine.add_family(&mut engine.versions(), made, Some(block), &[version]);
            Ok(version)
        })
    }

    fn install_for_loop(
        &self,
        func: FuncId,
        block: Block,
        compile: impl FnOnce(&Engine) -> Result<VersionInfo, NativeError>,
    ) -> Result<VersionInfo, NativeError> {
        let never_left = || NativeError::Compile { func, message: "its loops are not left".into() };
        let cell = self.osr_cell(func, block).ok_or_else(never_left)?;
        let version = compile(self)?;
        // Who loads the cell jumps there before the next safepoint.
        match cell.swap(version.entry, Ordering::AcqRel) {
            0 => {}
            replaced if self.versions().families.are_one(replaced, version.entry) => {}
            replaced => self.retire_entry(replaced),
        }
        Ok(version)
    }

    /// Where every loop is to be left: installs code for the one that the thread stands in.
    pub(super) fn polled(&self, ctx: &ThreadContext) {
        let Osr::Always(make) = self.osr() else { return };
        let Some(frame) = self.tables().frame(ctx.last_pc) else { return };
        let SiteKind::Loop(block) = frame.site else { return };
        let is_empty = self.osr_cell(frame.func, block).is_some_and(|cell| cell.load(Ordering::Acquire) == 0);
        if let Some(body) = is_empty.then(|| make(self.module(), frame.func, block)).flatten() {
            // Where it cannot be compiled, the loop goes on as it is.
            _ = self.install_osr(frame.func, block, &body, self.options().level);
        }
    }
}
