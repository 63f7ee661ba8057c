//! Entry cells: where calls of each function go.
//!
//! In: entries of code as versions are installed. Out: for each function an 8-byte cell through which compiled code calls it, and the slots of virtual tables that answer with it, which hold the same.
//! Invariant: cells and slots are only used as atomics, by Rust and by compiled code; a release store publishes.

use super::api::{Addresses, NativeError};
use super::region::Pages;
use crate::ir::{FuncId, Module};
use crate::layout::{Layout, slot_offset};
use cranelift_entity::{EntityRef, PrimaryMap};
use std::sync::atomic::{AtomicU64, Ordering};

pub struct EntryCells {
    /// Low in memory where there is room.
    pages: Pages,
    /// For each function the slots that answer with it.
    slots: PrimaryMap<FuncId, Vec<u64>>,
}

impl EntryCells {
    pub fn new(module: &Module, layout: &Layout, addresses: &Addresses) -> Result<EntryCells, NativeError> {
        let mut slots: PrimaryMap<FuncId, Vec<u64>> = module.funcs.values().map(|_| Vec::new()).collect();
        for class in module.classes.keys() {
            let descriptor = addresses.class_table + u64::from(layout.class_word[class]);
            for (slot, func) in layout.vtable(module, class).into_iter().enumerate() {
                if let Some(func) = func {
                    slots[func].push(descriptor.wrapping_add_signed(slot_offset(slot as u32).into()));
                }
            }
        }
        Ok(EntryCells { pages: Pages::zeroed_low((8 * slots.len()).max(8))?, slots })
    }

    /// Where the function's cell lies.
    pub fn address(&self, func: FuncId) -> u64 {
        assert!(func.index() < self.slots.len(), "{func} is not in the module");
        self.pages.address() + 8 * func.index() as u64
    }

    /// Where calls of the function go.
    pub fn entry(&self, func: FuncId) -> u64 {
        // SAFETY: inside the pages, by the module's invariant.
        unsafe { &*(self.address(func) as *const AtomicU64) }.load(Ordering::Acquire)
    }

    /// Lets calls of the function go to `entry`.
    pub fn point(&self, func: FuncId, entry: u64) {
        for address in [self.address(func)].into_iter().chain(self.slots[func].iter().copied()) {
            // SAFETY: inside the pages, or a slot of a virtual table in the class table, writable by the contract of `Addresses`; by the module's invariant.
            let cell = unsafe { &*(address as *const AtomicU64) };
            // A store takes the line from the processors that call through it, whatever it stores.
            if cell.load(Ordering::Relaxed) != entry {
                cell.store(entry, Ordering::Release);
            }
        }
    }

    /// The function whose cell lies at an address.
    pub fn find(&self, address: u64) -> Option<FuncId> {
        let index = usize::try_from(address.wrapping_sub(self.pages.address()) / 8).ok()?;
        (index < self.slots.len()).then(|| FuncId::new(index)).filter(|&func| self.address(func) == address)
    }
}
