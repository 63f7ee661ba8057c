//! Operations that fail, and how.
//!
//! Outside of a `Try` a check costs a trapping instruction: an access that faults, or a jump to an `ud2` behind cold code that leaves the message's operands in the context. In a `Try` it is an explicit branch to a cold block
//! that calls [`Stub::Fail`] with the landing pad as exceptional successor.

use super::{Env, Translator};
use crate::context::offset;
use crate::ir::{self, ClassId, ClassKind, Null, Op};
use crate::layout::{ARRAY_LENGTH, CLASS_WORD, DESC_INTERFACES, DESC_LO};
use crate::native::signals::NULL_ZONE;
use crate::native::stubs::Stub;
use crate::native::tables::SiteKind;
use crate::native::trap::TrapKind;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlagsData, Value, types};

/// Whether an access so far into a null object faults.
fn is_near(offset: i32) -> bool {
    u64::from(offset.unsigned_abs()) + 8 <= NULL_ZONE
}

/// The operand that the operation finds to be null by an access that faults, before it does anything else.
pub(super) fn faults(env: &Env<'_>, op: &Op) -> Option<ir::Value> {
    match *op {
        Op::LoadField(field, object, _) | Op::StoreField { field, object, .. } => is_near(env.layout.field_offset[field]).then_some(object),
        Op::ArrayLen(object, _) | Op::HasClass(_, object) | Op::CheckBounds(object, _) => Some(object),
        Op::CallVirtual { ref args, .. } => Some(args[0]),
        _ => None,
    }
}

impl Translator<'_, '_> {
    /// Ends the (cold) block: the check has failed, its operands are in the context.
    pub(super) fn fail(&mut self, kind: TrapKind) {
        if self.unwind.is_none() {
            self.show_countdown();
            self.b.ins().trap(kind.code());
            return;
        }
        let kind = self.iconst(kind as i64);
        self.store_context(offset::STUB_ARGS, kind);
        self.call_stub_without_return(Stub::Fail);
    }

    /// Ends the block with a call that only leaves by an error.
    pub(super) fn call_stub_without_return(&mut self, stub: Stub) {
        let dead = self.dead_block();
        if self.unwind.is_some() {
            self.show_countdown();
            let spilled = self.spill_cold();
            self.try_call_stub(stub, dead, &spilled);
        } else {
            self.call_stub(stub, SiteKind::Runtime);
            self.b.ins().jump(dead, &[]);
        }
    }

    fn dead_block(&mut self) -> Block {
        if self.dead.is_none() {
            self.dead = Some(self.b.create_block());
        }
        self.dead.unwrap()
    }

    /// Ends the block: fails if `object` is null.
    fn branch_if_null(&mut self, object: Value) {
        let null = self.b.ins().icmp_imm_s(IntCC::Equal, object, 0);
        let on = self.branch_to_cold(null);
        self.fail(TrapKind::Null);
        self.enter(on);
    }

    /// The reference is not null from here to the end of the block.
    pub(super) fn mark_checked(&mut self, object: ir::Value) {
        self.checked[self.live.root(object)] = self.current.into();
    }

    fn is_checked(&self, object: ir::Value) -> bool {
        self.free_checks.is_never_null(object) || self.checked[self.live.root(object)].expand() == Some(self.current)
    }

    /// Flags for an access at `object + offset`, which fails there or cannot fail. (Leaving out what cannot fail matters for traces, too: Cranelift makes one instruction of a load and a store to the same place if both may trap,
    /// and its position would be the store's.)
    pub(super) fn access(&mut self, object: ir::Value, address: Value, offset: i32, null: Null) -> MemFlagsData {
        if let Some(check) = self.access_checks.take() {
            self.mark_checked(object);
            let own = std::mem::replace(&mut self.loc, check);
            self.mark(SiteKind::Runtime);
            self.loc = own;
            return self.faulting();
        }
        if null == Null::Never {
            return MemFlagsData::trusted();
        }
        if is_near(offset) && self.unwind.is_none() && !self.is_checked(object) {
            self.mark_checked(object);
            return self.faulting();
        }
        self.require(object, address);
        MemFlagsData::trusted()
    }

    /// Flags of an access that faults at the present site if its object is null.
    fn faulting(&mut self) -> MemFlagsData {
        self.show_countdown_to_trap();
        MemFlagsData::new().with_aligned().with_trap_code(Some(self.sites.fault_code()))
    }

    /// The object, which is at `address`, is not null from here on.
    pub(super) fn require(&mut self, object: ir::Value, address: Value) {
        if self.is_checked(object) {
            return;
        }
        self.mark_checked(object);
        if self.unwind.is_some() {
            return self.branch_if_null(address);
        }
        // Loads the object's header, which faults if it is null.
        let flags = self.faulting();
        self.b.ins().load(types::I32, flags, address, CLASS_WORD);
    }

    pub(super) fn null_check(&mut self, object: ir::Value) -> Value {
        let address = self.value(object);
        self.require(object, address);
        address
    }

    pub(super) fn check_bounds(&mut self, array: ir::Value, index: ir::Value) -> Value {
        let (address, index) = (self.value(array), self.value(index));
        let flags = self.access(array, address, ARRAY_LENGTH, Null::Throws);
        let length = self.b.ins().load(types::I64, flags, address, ARRAY_LENGTH);
        self.mark(SiteKind::Runtime);
        self.require_below(address, index, length)
    }

    pub(super) fn check_index(&mut self, array: ir::Value, index: ir::Value, length: ir::Value) -> Value {
        let (address, index, length) = (self.value(array), self.value(index), self.value(length));
        self.require_below(address, index, length)
    }

    fn require_below(&mut self, address: Value, index: Value, length: Value) -> Value {
        let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, length);
        let on = self.branch_to_cold(outside);
        self.store_context(offset::TRAP_VALUE, index);
        self.store_context(offset::TRAP_OBJECT, address);
        self.fail(TrapKind::Bounds);
        self.enter(on);
        index
    }

    pub(super) fn check_cast(&mut self, class: ClassId, object: ir::Value) -> Value {
        let address = self.value(object);
        let fails = self.cold_block();
        let test = self.b.create_block();
        let done = self.b.create_block();
        self.b.ins().brif(address, test, &[], fails, &[]);
        self.enter(test);
        let is_instance = self.is_instance(class, address);
        self.b.ins().brif(is_instance, done, &[], fails, &[]);
        self.enter(fails);
        let target = self.iconst(i64::from(class.as_u32()));
        self.store_context(offset::TRAP_VALUE, target);
        self.store_context(offset::TRAP_OBJECT, address);
        self.fail(TrapKind::Cast);
        self.enter(done);
        self.mark_checked(object);
        address
    }

    pub(super) fn instance_of(&mut self, class: ClassId, object: ir::Value) -> Value {
        let object = self.value(object);
        let test = self.b.create_block();
        let done = self.b.create_block();
        let result = self.b.append_block_param(done, types::I8);
        let no = self.b.ins().iconst(types::I8, 0);
        self.b.ins().brif(object, test, &[], done, &[BlockArg::Value(no)]);
        self.enter(test);
        let is_instance = self.is_instance(class, object);
        self.b.ins().jump(done, &[BlockArg::Value(is_instance)]);
        self.enter(done);
        result
    }

    pub(super) fn has_class(&mut self, class: ClassId, object: ir::Value) -> Value {
        let address = self.value(object);
        let flags = self.access(object, address, CLASS_WORD, Null::Never);
        let word = self.b.ins().load(types::I32, flags, address, CLASS_WORD);
        self.b.ins().icmp_imm_u(IntCC::Equal, word, i64::from(self.env.class_word(class)))
    }

    /// Whether an object that is not null is of the class or below it.
    fn is_instance(&mut self, class: ClassId, object: Value) -> Value {
        let trusted = MemFlagsData::trusted();
        let (lo, hi) = self.env.layout.range[class];
        let is_interface = self.env.module.classes[class].kind == ClassKind::Interface;
        if !is_interface && hi == lo + 1 {
            let word = self.b.ins().load(types::I32, trusted, object, CLASS_WORD);
            return self.b.ins().icmp_imm_u(IntCC::Equal, word, i64::from(self.env.class_word(class)));
        }
        let descriptor = self.descriptor(trusted, object);
        if is_interface {
            let index = self.env.layout.interface_index[class];
            let table = self.b.ins().load(types::I64, trusted, descriptor, DESC_INTERFACES);
            let byte = self.b.ins().uload8(types::I32, trusted, table, (index / 8) as i32);
            let bit = self.b.ins().band_imm_u(byte, 1 << (index % 8));
            return self.b.ins().icmp_imm_u(IntCC::NotEqual, bit, 0);
        }
        let number = self.b.ins().load(types::I32, trusted, descriptor, DESC_LO);
        let distance = self.b.ins().iadd_imm_s(number, -i64::from(lo));
        self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, distance, i64::from(hi - lo))
    }

    /// Address of the descriptor that the object's class word names.
    pub(super) fn descriptor(&mut self, flags: MemFlagsData, object: Value) -> Value {
        let word = self.b.ins().uload32(flags, object, CLASS_WORD);
        match self.env.addresses.class_base {
            0 => word,
            base => {
                let base = self.iconst(base as i64);
                self.b.ins().iadd(word, base)
            }
        }
    }

    /// `throw`: leaves the function.
    pub(super) fn throw(&mut self, error: ir::Value) {
        let address = self.value(error);
        if !self.is_checked(error) {
            self.branch_if_null(address);
        }
        self.store_context(offset::PENDING_ERROR, address);
        self.call_stub_without_return(Stub::Throw);
    }
}
