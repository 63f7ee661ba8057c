//! Keeps references where the collector can find and change them whenever it may run, and in registers otherwise.
//!
//! Around a call, references that are needed afterwards are stored to stack slots, which the call's stack map names; their registers are out of date then, and the first use behind the call loads them again. Around a rare event
//! (a poll's, an allocation's, an entry's slow path, a failing check) the storing and loading happens in the cold block alone, so that it costs loops nothing. (Cranelift's own pass would keep every such value in its slot
//! throughout: that makes a loop over an array 1.7 times slower.)
//!
//! Each reference that must survive a collection somewhere is a variable of Cranelift's builder, which makes block parameters where two versions of it meet.
//!
//! Invariants: at the start of every block of the IR all live references are in variables, but for those at home ([`super::homes`]), whose slots are the first ones and theirs alone. Any other slot that holds a reference keeps it until the
//! block's end, unless the reference is dead.

use super::Translator;
use crate::ir;
use crate::ir::liveness::Point;
use cranelift_codegen::ir::{Inst, InstBuilder, StackSlot, StackSlotData, StackSlotKind, UserStackMapEntry, Value, types};
use cranelift_frontend::Variable;
use std::collections::BTreeMap;

/// Where references are, besides their variables.
#[derive(Default)]
pub struct Refs {
    /// Slots of the frame that hold references at calls; each may be used for several.
    slots: Vec<StackSlot>,
    /// Of the current block: which slot holds a valid copy.
    held: BTreeMap<ir::Value, Held>,
}

#[derive(Clone, Copy)]
struct Held {
    slot: usize,
    /// Only the slot is valid, not the variable.
    stale: bool,
}

/// A reference and the slot it is in.
pub type Spilled = Vec<(ir::Value, StackSlot)>;

impl Refs {
    /// Forgets the slots at a block's start.
    pub fn start_block(&mut self) {
        self.held.clear();
    }

    /// From here on the slot holds a valid copy of the reference; `stale`: the only one.
    pub fn is_in_slot(&mut self, value: ir::Value, slot: usize, stale: bool) {
        self.held.insert(value, Held { slot, stale });
    }

    /// Whether the slot holds a valid copy of the reference.
    pub fn is_in(&self, value: ir::Value, slot: usize) -> bool {
        self.held.get(&value).is_some_and(|held| held.slot == slot)
    }
}

impl Translator<'_, '_> {
    pub(super) fn variable(&self, value: ir::Value) -> Option<Variable> {
        self.variables[value].expand()
    }

    /// The current version of a reference that is a variable.
    pub(super) fn use_reference(&mut self, value: ir::Value, variable: Variable) -> Value {
        if let Some(held) = self.refs.held.get_mut(&value).filter(|h| h.stale) {
            held.stale = false;
            let slot = self.refs.slots[held.slot];
            self.reload(value, slot);
        }
        self.b.use_var(variable)
    }

    fn reload(&mut self, value: ir::Value, slot: StackSlot) {
        let variable = self.variable(value).expect("a reference that crosses safepoints");
        let loaded = self.b.ins().stack_load(types::I64, types::I64, slot, 0);
        self.b.def_var(variable, loaded);
    }

    pub(super) fn slot(&mut self, index: usize) -> StackSlot {
        while self.refs.slots.len() <= index {
            let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3));
            self.refs.slots.push(slot);
        }
        self.refs.slots[index]
    }

    fn live_here(&self) -> Vec<ir::Value> {
        self.live.at(self.point).to_vec()
    }

    /// Before a call: stores the references needed after it that are in no slot yet.
    pub(super) fn spill(&mut self) -> Spilled {
        let live = self.live_here();
        self.refs.held.retain(|v, _| live.binary_search(v).is_ok());
        self.store_missing(&live, true)
    }

    /// Stores what is in no slot yet, in free ones; `keep`: remembers where.
    fn store_missing(&mut self, live: &[ir::Value], keep: bool) -> Spilled {
        let mut taken: Vec<bool> = Vec::new();
        for held in self.refs.held.values() {
            taken.resize(taken.len().max(held.slot + 1), false);
            taken[held.slot] = true;
        }
        let mut next = self.homes.count();
        let mut spilled = Vec::with_capacity(live.len());
        for &value in live {
            if let Some(held) = self.refs.held.get(&value) {
                spilled.push((value, self.refs.slots[held.slot]));
                continue;
            }
            while taken.get(next).copied().unwrap_or(false) {
                next += 1;
            }
            let slot = self.slot(next);
            let variable = self.variable(value).expect("a reference that crosses safepoints");
            let current = self.b.use_var(variable);
            self.b.ins().stack_store(types::I64, current, slot, 0);
            spilled.push((value, slot));
            if keep {
                self.refs.held.insert(value, Held { slot: next, stale: false });
            }
            next += 1;
        }
        spilled
    }

    /// After the call: what it may have moved is in the slots alone.
    pub(super) fn after_call(&mut self) {
        self.refs.held.values_mut().for_each(|h| h.stale = true);
    }

    /// In a cold block before its call: as [`Translator::spill`], but the state of the path that goes around stays.
    pub(super) fn spill_cold(&mut self) -> Spilled {
        let live = self.live_here();
        self.store_missing(&live, false)
    }

    /// In a cold block after its call: loads the references that the other path has in registers.
    pub(super) fn reload_cold(&mut self, spilled: &Spilled) {
        for &(value, slot) in spilled {
            if !self.is_stale(value) {
                self.reload(value, slot);
            }
        }
    }

    /// In a cold block where that was done: a value, without the state of the other path being changed.
    pub(super) fn value_in_cold(&mut self, value: ir::Value) -> Value {
        let value = self.live.root(value);
        let Some(variable) = self.variable(value) else { return self.plain(value) };
        match self.refs.held.get(&value) {
            Some(held) if held.stale => self.b.ins().stack_load(types::I64, types::I64, self.refs.slots[held.slot], 0),
            _ => self.b.use_var(variable),
        }
    }

    fn is_stale(&self, value: ir::Value) -> bool {
        self.refs.held.get(&value).is_some_and(|h| h.stale)
    }

    /// Loads what `block` needs of the spilled references, and what edges to it pass.
    pub(super) fn reload_for(&mut self, to: &ir::BlockCall, spilled: &Spilled) {
        for &(value, slot) in spilled {
            let is_needed = self.live.is_live_in(to.block, value) && !self.homes.is_at_home(to.block, value);
            if is_needed || to.args.iter().any(|&a| self.live.root(a) == value) {
                self.reload(value, slot);
            }
        }
    }

    /// Before the block's end: brings what is needed behind it back into variables.
    pub(super) fn settle(&mut self, terminator: &ir::Terminator) {
        let stale: Vec<(ir::Value, usize)> = self.refs.held.iter().filter(|(_, h)| h.stale).map(|(&v, h)| (v, h.slot)).collect();
        for (value, slot) in stale {
            let mut needed = false;
            terminator.for_each_edge(|to| needed |= self.live.is_live_in(to.block, value) && !self.homes.is_at_home(to.block, value));
            if needed {
                self.refs.held.get_mut(&value).expect("held").stale = false;
                let slot = self.refs.slots[slot];
                self.reload(value, slot);
            }
        }
    }

    /// Lets the call's stack map name the slots.
    pub(super) fn add_map(&mut self, call: Inst, spilled: &Spilled) {
        for &(_, slot) in spilled {
            let entry = UserStackMapEntry { ty: types::I64, slot, offset: 0 };
            self.b.func.dfg.append_user_stack_map_entry(call, entry);
        }
    }

    /// Where the collector may run next.
    pub(super) fn at_point(&mut self, point: Point) {
        self.point = point;
    }
}
