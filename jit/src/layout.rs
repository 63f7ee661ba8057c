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
//! A virtual call is `load class word; load [base + class word + offset of the slot]; call`. The virtual table stands behind the descriptor. Slots come from selector colouring: two selectors that one class understands never share a slot, so interface
//! calls cost the same as class calls. Code installs a function by storing its entry into every virtual table slot that answers with it.

use crate::ir::*;
use cranelift_entity::{PrimaryMap, SecondaryMap};

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

/// Fixed part of a class descriptor; the virtual table (`usize` entries) lies behind it.
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
const VTABLE: i32 = std::mem::size_of::<ClassDesc>() as i32;

/// Bytes from a class's descriptor to a slot of its virtual table.
pub fn slot_offset(slot: u32) -> i32 {
    VTABLE + 8 * slot as i32
}

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
    /// Slots in the class's virtual table; 0 for classes without instances.
    pub vtable_len: SecondaryMap<ClassId, u32>,
    /// Offset of the class's descriptor from the table's base: the class word. A multiple of 8, never 0.
    pub class_word: SecondaryMap<ClassId, u32>,
    /// Bytes of all descriptors with their virtual tables.
    pub table_size: usize,
}

/// Contents of a class's descriptor, for whoever owns the memory to write there.
#[derive(Clone, PartialEq, Debug)]
pub struct Description {
    pub id: ClassId,
    pub size: u32,
    pub shape: Shape,
    pub lo: u32,
    pub hi: u32,
    pub ref_map: u64,
    pub more_refs: Vec<u32>,
    /// One bit an interface.
    pub interfaces: Vec<u8>,
    /// What each slot of the virtual table answers with; `None` in holes, which no call reaches.
    pub vtable: Vec<Option<FuncId>>,
}

impl Description {
    /// The fixed part, with copies of `more_refs` and `interfaces` at the given addresses (null where empty).
    pub fn fixed_part(&self, more_refs: *const u32, interfaces: *const u8) -> ClassDesc {
        ClassDesc {
            id: self.id.as_u32(),
            size: self.size,
            shape: self.shape,
            lo: self.lo,
            hi: self.hi,
            ref_map: self.ref_map,
            more_refs,
            more_refs_len: self.more_refs.len() as u32,
            interfaces,
        }
    }
}

impl Layout {
    pub fn new(module: &Module) -> Layout {
        let (slot, vtable_len) = color_selectors(module);
        let mut layout = Layout {
            field_offset: field_offsets(module),
            slot,
            range: number_classes(module),
            interface_index: SecondaryMap::new(),
            interface_count: 0,
            vtable_len,
            class_word: SecondaryMap::new(),
            table_size: 8,
        };
        for (id, class) in module.classes.iter() {
            if class.kind == ClassKind::Interface {
                layout.interface_index[id] = layout.interface_count;
                layout.interface_count += 1;
            }
            layout.class_word[id] = layout.table_size as u32;
            layout.table_size += (VTABLE as usize + 8 * layout.vtable_len[id] as usize).next_multiple_of(8);
        }
        layout
    }

    pub fn describe(&self, module: &Module, id: ClassId) -> Description {
        let class = &module.classes[id];
        let refs = class.fields.iter().enumerate().filter(|(_, f)| module.fields[**f].ty.ty() == Ty::Ref).map(|(i, _)| i as u32);
        let (first, more_refs): (Vec<u32>, Vec<u32>) = refs.partition(|&i| i < 63);
        let mut interfaces = vec![0; self.interface_count.div_ceil(8) as usize];
        for &interface in &class.interfaces {
            let bit = self.interface_index[interface] as usize;
            interfaces[bit / 8] |= 1 << (bit % 8);
        }
        let (lo, hi) = self.range[id];
        Description {
            id,
            size: self.object_size(module, id),
            shape: shape(class.kind),
            lo,
            hi,
            ref_map: first.iter().fold(0, |map, i| map | 1 << i) | if more_refs.is_empty() { 0 } else { 1 << 63 },
            more_refs,
            interfaces,
            vtable: self.vtable(module, id),
        }
    }

    /// Bytes of an instance, header included; of an array, without its elements.
    pub fn object_size(&self, module: &Module, id: ClassId) -> u32 {
        let fields = module.classes[id].fields.len();
        (HEADER_SIZE + 8 * fields).max(16) as u32
    }

    /// What each slot of the class's virtual table answers with.
    pub fn vtable(&self, module: &Module, id: ClassId) -> Vec<Option<FuncId>> {
        let mut table = vec![None; self.vtable_len[id] as usize];
        if !table.is_empty() {
            module.classes[id].methods.iter().for_each(|(&selector, &func)| table[self.slot[selector] as usize] = Some(func));
        }
        table
    }

    /// Whether an instance of `class` is one of `target`.
    pub fn instance_of(&self, module: &Module, class: ClassId, target: ClassId) -> bool {
        if module.classes[target].kind == ClassKind::Interface {
            return class == target || module.classes[class].interfaces.binary_search(&target).is_ok();
        }
        let (lo, hi) = self.range[target];
        (lo..hi).contains(&self.range[class].0)
    }
}

fn shape(kind: ClassKind) -> Shape {
    match kind {
        ClassKind::Concrete | ClassKind::Abstract | ClassKind::Interface => Shape::Object,
        ClassKind::Array(ElemKind::Ref) => Shape::RefArray,
        ClassKind::Array(ElemKind::Int | ElemKind::Float) => Shape::WordArray,
        ClassKind::Array(ElemKind::Bool | ElemKind::Byte) => Shape::ByteArray,
    }
}

fn field_offsets(module: &Module) -> SecondaryMap<FieldId, i32> {
    let mut offsets = SecondaryMap::with_capacity(module.fields.len());
    for class in module.classes.values() {
        for (i, &field) in class.fields.iter().enumerate() {
            offsets[field] = FIRST_FIELD + 8 * i as i32;
        }
    }
    offsets
}

/// Pre-order intervals over the trees of superclasses.
fn number_classes(module: &Module) -> SecondaryMap<ClassId, (u32, u32)> {
    let mut children: PrimaryMap<ClassId, Vec<ClassId>> = module.classes.values().map(|_| Vec::new()).collect();
    let mut roots = Vec::new();
    for (id, class) in module.classes.iter() {
        class.superclass.map_or(&mut roots, |sup| &mut children[sup]).push(id);
    }
    let mut range: SecondaryMap<ClassId, (u32, u32)> = SecondaryMap::with_capacity(module.classes.len());
    let mut next = 0;
    // A class is on the stack twice: to enter it, and below its children to leave it.
    let mut work: Vec<(ClassId, bool)> = roots.into_iter().rev().map(|c| (c, true)).collect();
    while let Some((class, enter)) = work.pop() {
        if !enter {
            range[class].1 = next;
            continue;
        }
        range[class].0 = next;
        next += 1;
        work.push((class, false));
        work.extend(children[class].iter().rev().map(|&c| (c, true)));
    }
    range
}

/// Selector colouring: gives each selector the lowest slot that is free in all classes that understand it, most understood selectors first. Only classes with instances count.
fn color_selectors(module: &Module) -> (SecondaryMap<SelectorId, u32>, SecondaryMap<ClassId, u32>) {
    let mut understood_by: PrimaryMap<SelectorId, Vec<ClassId>> = module.selectors.values().map(|_| Vec::new()).collect();
    for (id, class) in module.classes.iter() {
        if matches!(class.kind, ClassKind::Concrete | ClassKind::Array(_)) {
            class.methods.keys().for_each(|&selector| understood_by[selector].push(id));
        }
    }
    let mut order: Vec<SelectorId> = module.selectors.keys().collect();
    order.sort_by_key(|&s| (std::cmp::Reverse(understood_by[s].len()), s));
    let mut used: SecondaryMap<ClassId, Vec<u64>> = SecondaryMap::with_capacity(module.classes.len());
    let mut slots = SecondaryMap::with_capacity(module.selectors.len());
    let mut lengths: SecondaryMap<ClassId, u32> = SecondaryMap::with_capacity(module.classes.len());
    let mut taken: Vec<u64> = Vec::new();
    for selector in order {
        taken.clear();
        for &class in &understood_by[selector] {
            let used = &used[class];
            taken.resize(taken.len().max(used.len()), 0);
            taken.iter_mut().zip(used).for_each(|(t, u)| *t |= u);
        }
        let word = taken.iter().position(|&w| w != u64::MAX).unwrap_or(taken.len());
        let slot = word as u32 * 64 + taken.get(word).map_or(0, |w| w.trailing_ones());
        slots[selector] = slot;
        for &class in &understood_by[selector] {
            let used = &mut used[class];
            used.resize(used.len().max(word + 1), 0);
            used[word] |= 1 << (slot % 64);
            lengths[class] = lengths[class].max(slot + 1);
        }
    }
    (slots, lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(module: &mut Module, kind: ClassKind, superclass: Option<ClassId>, interfaces: &[ClassId]) -> ClassId {
        let (fields, methods) = superclass.map_or_else(Default::default, |s| {
            let s = &module.classes[s];
            (s.fields.clone(), s.methods.clone())
        });
        module.classes.push(Class { name: "C".into(), kind, superclass, interfaces: interfaces.to_vec(), fields, methods })
    }

    fn field(module: &mut Module, class: ClassId, ty: TypeDesc) -> FieldId {
        let id = module.fields.push(Field { name: "f".into(), class, ty, is_final: false });
        module.classes[class].fields.push(id);
        id
    }

    fn method(module: &mut Module, class: ClassId) -> SelectorId {
        let params = vec![TypeDesc::Ref { class, nullable: false }];
        let selector = module.selectors.push(Selector { name: "m".into(), class, params: params.clone(), ret: None });
        let func = module.funcs.push(Function::new("m", params, None, Loc::default()));
        module.classes[class].methods.insert(selector, func);
        selector
    }

    #[test]
    fn selectors_of_one_class_never_share_a_slot() {
        let mut m = Module::default();
        // Chains of classes, each with methods of its own and some from a pool shared in a scattered way.
        let pool: Vec<SelectorId> = (0..40)
            .map(|_| {
                let interface = class(&mut m, ClassKind::Interface, None, &[]);
                method(&mut m, interface)
            })
            .collect();
        let mut last = None;
        for i in 0..300 {
            let id = class(&mut m, ClassKind::Concrete, last.filter(|_| i % 7 != 0), &[]);
            method(&mut m, id);
            let func = m.funcs.push(Function::new("m", vec![], None, Loc::default()));
            (0..5).for_each(|k| _ = m.classes[id].methods.insert(pool[(i * i + k * 11) % pool.len()], func));
            last = Some(id);
        }
        let layout = Layout::new(&m);
        let mut most = 0;
        for (id, class) in m.classes.iter().filter(|(_, c)| c.kind == ClassKind::Concrete) {
            let table = layout.vtable(&m, id);
            for (&selector, &func) in &class.methods {
                assert_eq!(table[layout.slot[selector] as usize], Some(func));
            }
            most = most.max(class.methods.len());
        }
        let longest = layout.vtable_len.values().max().unwrap();
        assert!(*longest as usize <= 2 * most, "{longest} slots for at most {most} methods a class");
    }

    #[test]
    fn subclasses_interfaces_and_sizes() {
        let mut m = Module::default();
        let object = class(&mut m, ClassKind::Concrete, None, &[]);
        let shape = class(&mut m, ClassKind::Interface, None, &[]);
        let base = class(&mut m, ClassKind::Abstract, Some(object), &[shape]);
        let x = field(&mut m, base, TypeDesc::Int);
        let left = class(&mut m, ClassKind::Concrete, Some(base), &[shape]);
        let right = class(&mut m, ClassKind::Concrete, Some(base), &[shape]);
        let y = field(&mut m, right, TypeDesc::Ref { class: object, nullable: true });
        let layout = Layout::new(&m);
        let all = [object, shape, base, left, right];
        for class in all {
            for target in all {
                assert_eq!(layout.instance_of(&m, class, target), m.is_subclass(class, target), "{class} is {target}");
            }
        }
        assert_eq!((layout.field_offset[x], layout.field_offset[y]), (8, 16));
        let right = layout.describe(&m, right);
        assert_eq!((right.size, right.ref_map, right.interfaces.as_slice()), (24, 0b10, &[1u8][..]));
        assert_eq!(layout.describe(&m, object).size, 16, "room for a forwarding pointer");
    }

    #[test]
    fn references_past_the_map_are_listed() {
        let mut m = Module::default();
        let wide = class(&mut m, ClassKind::Concrete, None, &[]);
        for i in 0..70 {
            let ty = if i % 2 == 0 { TypeDesc::Ref { class: wide, nullable: true } } else { TypeDesc::Float };
            field(&mut m, wide, ty);
        }
        let d = Layout::new(&m).describe(&m, wide);
        assert_eq!(d.more_refs, [64, 66, 68]);
        assert_eq!(d.ref_map, (0..63).step_by(2).fold(1 << 63, |map: u64, i| map | 1 << i));
    }

    #[test]
    fn class_words_are_aligned_and_apart() {
        let mut m = Module::default();
        let a = class(&mut m, ClassKind::Concrete, None, &[]);
        (0..3).for_each(|_| _ = method(&mut m, a));
        let b = class(&mut m, ClassKind::Array(ElemKind::Bool), Some(a), &[]);
        let layout = Layout::new(&m);
        let end = |c| layout.class_word[c] + VTABLE as u32 + 8 * layout.vtable_len[c];
        assert!(layout.class_word[a] > 0 && layout.class_word[a].is_multiple_of(8) && layout.class_word[b].is_multiple_of(8));
        assert!(end(a) <= layout.class_word[b]);
        assert!(end(b) as usize <= layout.table_size);
        assert_eq!(layout.describe(&m, b).shape, Shape::ByteArray);
    }
}
