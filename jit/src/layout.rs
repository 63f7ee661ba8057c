//! Where things lie in memory: object headers, fields, arrays, class descriptors, virtual tables. The one place that the interpreter's host, the code
//! generator and the collector take offsets from.
//!
//! In: a [`Module`]. Out: [`Layout`], and the [`ClassDesc`]s it writes into memory.
//!
//! An object:
//! ```text
//! +0  u8   GC state (the collector's own: mark, age, identity-hash states)
//! +1  u8   log bit: 1 = old and not yet remembered; a reference store into such an object takes the barrier's slow path, which clears it
//! +2  u16  reserved for the collector
//! +4  u32  class word: address of the class descriptor minus the table's base
//! +8       fields, 8 bytes each, in the order of `Class::fields`;  or for arrays: u64 length, then the elements at +16
//! ```
//! Sizes are multiples of 8, at least 16 (a forwarding pointer fits).
//!
//! A virtual call is `load class word; load [base + class word + VTABLE + 8 * slot]; call`. Slots come from selector colouring: two selectors that one class understands never share a slot, so interface
//! calls cost the same as class calls. Code installs a function by storing its entry into every virtual table slot that answers with it.

use crate::ir::*;
use cranelift_entity::SecondaryMap;

pub const HEADER_SIZE: usize = 8;
pub const GC_BYTE: i32 = 0;
pub const LOG_BYTE: i32 = 1;
pub const CLASS_WORD: i32 = 4;
pub const FIRST_FIELD: i32 = 8;
pub const ARRAY_LENGTH: i32 = 8;
pub const ARRAY_DATA: i32 = 16;

/// How the collector walks an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Shape {
    /// Fixed size, references given by the reference map.
    Object = 0,
    /// Array of references.
    RefArray = 1,
    /// Array of 8-byte words without references.
    WordArray = 2,
    /// Array of bytes.
    ByteArray = 3,
}

/// Fixed part of a class descriptor; the virtual table (`usize` entries) follows it.
#[repr(C)]
#[derive(Debug)]
pub struct ClassDesc {
    /// `ClassId`'s index.
    pub id: u32,
    /// Bytes of an instance (`Shape::Object`), header included.
    pub size: u32,
    pub shape: Shape,
    /// Pre-order number in the tree of superclasses, and one past the last subclass's: `x is C` is `C.lo <= x.lo < C.hi`.
    pub lo: u32,
    pub hi: u32,
    /// For the first 63 fields: bit `i` set where field `i` is a reference. Bit 63: see `more_refs`.
    pub ref_map: u64,
    /// Field indices of the references from field 63 on; null where there are none.
    pub more_refs: *const u32,
    pub more_refs_len: u32,
    /// Byte `i / 8`, bit `i % 8` set where the class implements the interface numbered `i`.
    pub interfaces: *const u8,
}

pub const DESC_LO: i32 = std::mem::offset_of!(ClassDesc, lo) as i32;
pub const DESC_INTERFACES: i32 = std::mem::offset_of!(ClassDesc, interfaces) as i32;
pub const VTABLE: i32 = std::mem::size_of::<ClassDesc>() as i32;

/// Numbers derived from the module, before anything is written to memory.
#[derive(Debug)]
pub struct Layout {
    /// Byte offset in the object.
    pub field_offset: SecondaryMap<FieldId, i32>,
    /// Virtual table slot.
    pub slot: SecondaryMap<SelectorId, u32>,
    /// Pre-order interval, as in [`ClassDesc`].
    pub range: SecondaryMap<ClassId, (u32, u32)>,
    /// Dense number among the interfaces; only for interfaces.
    pub interface_index: SecondaryMap<ClassId, u32>,
    pub interface_count: u32,
    /// Slots in the class's virtual table.
    pub vtable_len: SecondaryMap<ClassId, u32>,
    /// Offset of the class's descriptor from the table's base: the class word.
    pub class_word: SecondaryMap<ClassId, u32>,
    /// Bytes of all descriptors with their tables.
    pub table_size: usize,
}
