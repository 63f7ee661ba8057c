//! Objects, arrays, globals.

use super::{Translator, clif_type};
use crate::context::offset;
use crate::ir::{self, AtomicOp, Barrier, ClassId, ClassKind, ElemKind, FieldId, GlobalId, Null, Ty};
use crate::layout::{ARRAY_DATA, ARRAY_LENGTH, CLASS_WORD, LOG_BYTE};
use crate::native::stubs::Stub;
use crate::native::tables::SiteKind;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, BlockArg, InstBuilder, MemFlagsData, Value, types};

/// Larger objects are the runtime's business.
const INLINE_LIMIT: usize = 8 * 1024;

impl Translator<'_, '_> {
    pub(super) fn new_object(&mut self, class: ClassId) -> Value {
        let size = self.env.layout.object_size(self.env.module, class) as usize;
        if !self.env.options.inline_alloc || size > INLINE_LIMIT {
            return self.allocate_slowly(Stub::NewObject, class, None);
        }
        let done = self.b.create_block();
        let result = self.b.append_block_param(done, types::I64);
        let size = self.iconst(size as i64);
        let (cursor, slow) = self.bump(size);
        self.write_class(class, cursor);
        self.b.ins().jump(done, &[BlockArg::Value(cursor)]);
        self.enter(slow);
        let object = self.allocate_slowly(Stub::NewObject, class, None);
        self.b.ins().jump(done, &[BlockArg::Value(object)]);
        self.enter(done);
        result
    }

    pub(super) fn new_array(&mut self, class: ClassId, length: ir::Value) -> Value {
        let length = self.value(length);
        let ClassKind::Array(kind) = self.env.module.classes[class].kind else {
            panic!("{class} is no array class");
        };
        let max = (INLINE_LIMIT - ARRAY_DATA as usize) / kind.size();
        let constant = self.const_of(length);
        if !self.env.options.inline_alloc || constant.is_some_and(|n| !(0..=max as i64).contains(&n)) {
            return self.allocate_slowly(Stub::NewArray, class, Some(length));
        }
        let done = self.b.create_block();
        let result = self.b.append_block_param(done, types::I64);
        let (cursor, slow) = match constant {
            Some(n) => {
                let size = self.iconst((ARRAY_DATA as i64 + n * kind.size() as i64 + 7) & !7);
                self.bump(size)
            }
            None => {
                // Negative lengths are large, unsigned.
                let large = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, length, max as i64);
                let slow = self.cold_block();
                let on = self.b.create_block();
                self.b.ins().brif(large, slow, &[], on, &[]);
                self.enter(on);
                let size = self.array_size(kind, length);
                self.bump_or(size, slow)
            }
        };
        self.write_class(class, cursor);
        self.b.ins().store(MemFlagsData::trusted(), length, cursor, ARRAY_LENGTH);
        self.b.ins().jump(done, &[BlockArg::Value(cursor)]);
        self.enter(slow);
        let array = self.allocate_slowly(Stub::NewArray, class, Some(length));
        self.b.ins().jump(done, &[BlockArg::Value(array)]);
        self.enter(done);
        result
    }

    fn array_size(&mut self, kind: ElemKind, length: Value) -> Value {
        if kind.size() == 8 {
            let bytes = self.b.ins().ishl_imm_u(length, 3);
            return self.b.ins().iadd_imm_s(bytes, i64::from(ARRAY_DATA));
        }
        let bytes = self.b.ins().iadd_imm_s(length, i64::from(ARRAY_DATA) + 7);
        self.b.ins().band_imm_s(bytes, !7)
    }

    /// Takes memory from the thread's buffer, which is zeroed; the other block is where there is too little.
    fn bump(&mut self, size: Value) -> (Value, cranelift_codegen::ir::Block) {
        let slow = self.cold_block();
        self.bump_or(size, slow)
    }

    fn bump_or(&mut self, size: Value, slow: cranelift_codegen::ir::Block) -> (Value, cranelift_codegen::ir::Block) {
        let fast = self.b.create_block();
        let cursor = self.load_context(types::I64, offset::ALLOC_CURSOR);
        let end = self.b.ins().iadd(cursor, size);
        let limit = self.load_context(types::I64, offset::ALLOC_LIMIT);
        let full = self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, limit);
        self.b.ins().brif(full, slow, &[], fast, &[]);
        self.enter(fast);
        self.store_context(offset::ALLOC_CURSOR, end);
        (cursor, slow)
    }

    /// The rest of the header is zero already.
    fn write_class(&mut self, class: ClassId, object: Value) {
        let word = self.b.ins().iconst(types::I32, i64::from(self.env.class_word(class)));
        self.b.ins().store(MemFlagsData::trusted(), word, object, CLASS_WORD);
    }

    fn allocate_slowly(&mut self, stub: Stub, class: ClassId, length: Option<Value>) -> Value {
        let class = self.iconst(i64::from(class.as_u32()));
        self.store_context(offset::STUB_ARGS, class);
        if let Some(length) = length {
            self.store_context(offset::STUB_ARGS + 8, length);
        }
        self.call_stub(stub, SiteKind::Runtime);
        self.load_context(types::I64, offset::STUB_ARGS)
    }

    pub(super) fn load_field(&mut self, field: FieldId, object: ir::Value, null: Null) -> Value {
        let address = self.value(object);
        let (ty, at) = (self.env.module.fields[field].ty.ty(), self.env.layout.field_offset[field]);
        let flags = self.access(object, address, at, null);
        self.b.ins().load(clif_type(ty), flags, address, at)
    }

    pub(super) fn store_field(
        &mut self,
        field: FieldId,
        object: ir::Value,
        value: ir::Value,
        null: Null,
        barrier: Barrier,
    ) -> Option<Value> {
        let (address, value) = (self.value(object), self.value(value));
        let (ty, at) = (self.env.module.fields[field].ty.ty(), self.env.layout.field_offset[field]);
        let flags = self.access(object, address, at, null);
        self.b.ins().store(flags, value, address, at);
        if ty == Ty::Ref && barrier == Barrier::Needed {
            self.barrier(address, value);
        }
        None
    }

    /// Has the runtime remember an old object that got a reference.
    fn barrier(&mut self, object: Value, value: Value) {
        if self.const_of(value) == Some(0) {
            return;
        }
        let log = self.b.ins().load(types::I8, MemFlagsData::trusted(), object, LOG_BYTE);
        let log = self.b.ins().band_imm_u(log, 1);
        let on = self.branch_to_cold(log);
        self.store_context(offset::STUB_ARGS, object);
        self.call_stub(Stub::Barrier, SiteKind::Runtime);
        self.b.ins().jump(on, &[]);
        self.enter(on);
    }

    pub(super) fn array_len(&mut self, array: ir::Value, null: Null) -> Value {
        let address = self.value(array);
        let flags = self.access(array, address, ARRAY_LENGTH, null);
        self.b.ins().load(types::I64, flags, address, ARRAY_LENGTH)
    }

    fn elem_address(&mut self, kind: ElemKind, array: Value, index: Value) -> Value {
        let distance = if kind.size() == 8 { self.b.ins().ishl_imm_u(index, 3) } else { index };
        self.b.ins().iadd(array, distance)
    }

    pub(super) fn load_elem(&mut self, kind: ElemKind, array: ir::Value, index: ir::Value) -> Value {
        let (array, index) = (self.value(array), self.value(index));
        let address = self.elem_address(kind, array, index);
        let flags = MemFlagsData::trusted();
        match kind {
            ElemKind::Byte => self.b.ins().uload8(types::I64, flags, address, ARRAY_DATA),
            _ => self.b.ins().load(clif_type(kind.ty()), flags, address, ARRAY_DATA),
        }
    }

    pub(super) fn store_elem(
        &mut self,
        kind: ElemKind,
        array: ir::Value,
        index: ir::Value,
        value: ir::Value,
        barrier: Barrier,
    ) -> Option<Value> {
        let (array, index, value) = (self.value(array), self.value(index), self.value(value));
        let address = self.elem_address(kind, array, index);
        let flags = MemFlagsData::trusted();
        match kind {
            ElemKind::Byte => self.b.ins().istore8(flags, value, address, ARRAY_DATA),
            _ => self.b.ins().store(flags, value, address, ARRAY_DATA),
        };
        if kind == ElemKind::Ref && barrier == Barrier::Needed {
            self.barrier(array, value);
        }
        None
    }

    fn global_address(&mut self, global: GlobalId) -> (Value, Ty) {
        let address = self.env.addresses.globals + 8 * u64::from(global.as_u32());
        (self.iconst(address as i64), self.env.module.globals[global].ty.ty())
    }

    pub(super) fn load_global(&mut self, global: GlobalId) -> Value {
        let (address, ty) = self.global_address(global);
        self.b.ins().load(clif_type(ty), MemFlagsData::trusted(), address, 0)
    }

    /// Globals are roots: no barrier.
    pub(super) fn store_global(&mut self, global: GlobalId, value: ir::Value) -> Option<Value> {
        let value = self.value(value);
        let (address, _) = self.global_address(global);
        self.b.ins().store(MemFlagsData::trusted(), value, address, 0);
        None
    }

    fn atomic_address(&mut self, field: FieldId, object: ir::Value) -> Value {
        let address = self.value(object);
        self.require(object, address);
        self.b.ins().iadd_imm_s(address, i64::from(self.env.layout.field_offset[field]))
    }

    pub(super) fn atomic(&mut self, op: AtomicOp, field: FieldId, object: ir::Value, value: Option<ir::Value>) -> Option<Value> {
        let address = self.atomic_address(field, object);
        let flags = MemFlagsData::trusted();
        let value = value.map(|v| self.value(v));
        match op {
            AtomicOp::Load => Some(self.b.ins().atomic_load(types::I64, flags, address)),
            AtomicOp::Store => {
                self.b.ins().atomic_store(flags, value.expect("a value to store"), address);
                None
            }
            AtomicOp::FetchAdd => {
                Some(self.b.ins().atomic_rmw(types::I64, flags, AtomicRmwOp::Add, address, value.expect("a value to add")))
            }
        }
    }

    pub(super) fn atomic_cas(&mut self, field: FieldId, object: ir::Value, expected: ir::Value, new: ir::Value) -> Value {
        let address = self.atomic_address(field, object);
        let (expected, new) = (self.value(expected), self.value(new));
        let old = self.b.ins().atomic_cas(MemFlagsData::trusted(), address, expected, new);
        self.b.ins().icmp(IntCC::Equal, old, expected)
    }
}
