//! Entry cells: where calls of each function go.
//!
//! In: entries of code as versions are installed. Out: for each function two 8-byte cells, one for each [`Side`], through which compiled code calls it, and the slots of virtual tables that answer with it, which hold the same.
//! Invariant: cells and slots are only used as atomics, by Rust and by compiled code; a release store publishes.

use super::api::{Addresses, NativeError};
use super::region::Pages;
use crate::ir::{FuncId, Module};
use crate::layout::{Layout, Side};
use cranelift_entity::{EntityRef, PrimaryMap};
use std::sync::atomic::{AtomicU64, Ordering};

pub struct EntryCells {
    /// First all of one side, then all of the other; low in memory where there is room.
    pages: Pages,
    /// For each function the descriptors of classes whose tables answer with it, and the slot.
    slots: PrimaryMap<FuncId, Vec<(u64, u32)>>,
}

impl EntryCells {
    pub fn new(module: &Module, layout: &Layout, addresses: &Addresses) -> Result<EntryCells, NativeError> {
        let mut slots: PrimaryMap<FuncId, Vec<(u64, u32)>> = module.funcs.values().map(|_| Vec::new()).collect();
        for class in module.classes.keys() {
            let descriptor = addresses.class_table + u64::from(layout.class_word[class]);
            for (slot, func) in layout.vtable(module, class).into_iter().enumerate() {
                if let Some(func) = func {
                    slots[func].push((descriptor, slot as u32));
                }
            }
        }
        Ok(EntryCells { pages: Pages::zeroed_low((16 * slots.len()).max(8))?, slots })
    }

    /// Where the function's cell lies.
    pub fn address(&self, func: FuncId, side: Side) -> u64 {
        assert!(func.index() < self.slots.len(), "{func} is not in the module");
        self.pages.address() + 8 * (side as usize * self.slots.len() + func.index()) as u64
    }

    /// Where calls of the function go from code of this side.
    pub fn entry(&self, func: FuncId, side: Side) -> u64 {
        // SAFETY: inside the pages, by the module's invariant.
        unsafe { &*(self.address(func, side) as *const AtomicU64) }.load(Ordering::Acquire)
    }

    /// Lets calls of the function from code of this side go to `entry`.
    pub fn point(&self, func: FuncId, side: Side, entry: u64) {
        let slots = self.slots[func].iter().map(|&(descriptor, slot)| descriptor.wrapping_add_signed(side.slot_offset(slot).into()));
        for address in [self.address(func, side)].into_iter().chain(slots) {
            // SAFETY: inside the pages, or a slot of a virtual table in the class table, writable by the contract of `Addresses`; by the module's invariant.
            let cell = unsafe { &*(address as *const AtomicU64) };
            // A store takes the line from the processors that call through it, whatever it stores.
            if cell.load(Ordering::Relaxed) != entry {
                cell.store(entry, Ordering::Release);
            }
        }
    }

    /// The function whose cell lies at an address, and whose calls it is for.
    pub fn find(&self, address: u64) -> Option<(FuncId, Side)> {
        let index = usize::try_from(address.wrapping_sub(self.pages.address()) / 8).ok()?;
        let (side, func) = (*Side::ALL.get(index.checked_div(self.slots.len())?)?, FuncId::new(index % self.slots.len()));
        (self.address(func, side) == address).then_some((func, side))
    }
}
