//! The heap against a shadow model: random object graphs, every object's contents compared after collections of both kinds.

mod room;

use super::*;
use crate::runtime::thread::Ref;
use crate::runtime::view;
use jit::ir::{Class, ClassId, ClassKind, ElemKind, Field, Module, TypeDesc};
use jit::layout::{ARRAY_DATA, ARRAY_LENGTH, Layout, Shape};
use std::collections::HashMap;

/// A small generator with a seed (xorshift64*).
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
}

struct Fixture {
    heap: Heap,
    roots: Vec<u64>,
    remembered: Vec<usize>,
}

struct Slots<'a>(&'a mut Vec<u64>);

impl Roots for Slots<'_> {
    fn visit(&mut self, f: &mut dyn FnMut(&mut u64)) {
        self.0.iter_mut().for_each(f);
    }
}

const LEAF: u32 = 0;
const NODE: u32 = 1;
const WIDE: u32 = 2;
const REFS: u32 = 3;
const WORDS: u32 = 4;
const BYTES: u32 = 5;

fn class(module: &mut Module, kind: ClassKind, fields: usize, is_ref: impl Fn(usize) -> bool) {
    let id = ClassId::from_u32(module.classes.len() as u32);
    let fields = (0..fields).map(|i| {
        let ty = if is_ref(i) { TypeDesc::Ref { class: id, nullable: true } } else { TypeDesc::Int };
        module.fields.push(Field { name: "f".into(), class: id, ty, is_final: false })
    });
    let fields = fields.collect();
    let methods = Default::default();
    module.classes.push(Class { name: "C".into(), kind, superclass: None, interfaces: vec![], fields, methods });
}

impl Fixture {
    fn new(max: usize, nursery: usize) -> Fixture {
        let mut module = Module::default();
        class(&mut module, ClassKind::Concrete, 0, |_| false);
        class(&mut module, ClassKind::Concrete, 3, |i| i != 1);
        class(&mut module, ClassKind::Concrete, 70, |i| i % 2 == 0);
        class(&mut module, ClassKind::Array(ElemKind::Ref), 0, |_| false);
        class(&mut module, ClassKind::Array(ElemKind::Int), 0, |_| false);
        class(&mut module, ClassKind::Array(ElemKind::Byte), 0, |_| false);
        let layout = Layout::new(&module);
        let classes = Arc::new(ClassTable::new(&module, &layout));
        let options = HeapOptions {
            max,
            nursery,
            first_nursery: nursery,
            mark_stack: tuning::MARK_STACK,
            stress: None,
            verify: true,
            log: false,
            fixed: 0,
        };
        let heap = Heap::new(classes, options, Arc::default()).unwrap();
        Fixture { heap, roots: Vec::new(), remembered: Vec::new() }
    }

    fn collect(&mut self, want: Want) -> bool {
        self.heap.collect(want, std::mem::take(&mut self.remembered), &mut Slots(&mut self.roots))
    }

    fn size(&self, class: u32, length: usize) -> usize {
        let desc = self.heap.classes.desc(ClassId::from_u32(class));
        match desc.shape {
            Shape::Object => desc.size as usize,
            Shape::ByteArray => 16 + length.next_multiple_of(8),
            _ => 16 + 8 * length,
        }
    }

    /// Null if there is no memory.
    fn alloc(&mut self, class: u32, length: usize) -> Ref {
        let size = self.size(class, length);
        let word = self.heap.classes.word(ClassId::from_u32(class));
        let obj = if size > tuning::LARGE { self.alloc_large(word, size) } else { self.alloc_small(word, size) };
        if obj != 0 && class >= REFS {
            // SAFETY: a fresh array.
            unsafe { *((obj + ARRAY_LENGTH as usize) as *mut usize) = length };
        }
        Ref(obj as u64)
    }

    fn alloc_small(&mut self, word: u32, size: usize) -> usize {
        let buffer = self.heap.take_buffer(size, true);
        let buffer = if buffer.is_none() && self.collect(Want::Nursery) { self.heap.take_buffer(size, true) } else { buffer };
        let Some((obj, _)) = buffer else { return 0 };
        // SAFETY: fresh memory.
        unsafe { set_header(obj, make_header(word, 0, LOGGED)) };
        obj
    }

    fn alloc_large(&mut self, word: u32, size: usize) -> usize {
        let first = self.heap.allocate_large(word, size, false);
        let result = if first == LargeResult::Collect && self.collect(Want::Large(size)) {
            self.heap.allocate_large(word, size, false)
        } else {
            first
        };
        match result {
            LargeResult::Object(obj) => obj,
            LargeResult::Collect => 0,
        }
    }

    fn store(&mut self, obj: Ref, slot: *mut u64, value: u64) {
        // SAFETY: a slot of the object.
        unsafe {
            *slot = value;
            if log_byte(header(obj.0 as usize)) & NOT_LOGGED != 0 {
                set_log(obj.0 as usize, LOGGED);
                self.remembered.push(obj.0 as usize);
            }
        }
    }

    fn desc(&self, obj: Ref) -> &'static jit::layout::ClassDesc {
        // SAFETY: a live object.
        unsafe { desc(self.heap.classes.base(), header(obj.0 as usize)) }
    }

    fn ref_slots(&self, obj: Ref) -> Vec<*mut u64> {
        let mut slots = Vec::new();
        // SAFETY: a live object.
        unsafe { for_each_ref(obj.0 as usize, self.desc(obj), |s| slots.push(s)) };
        slots
    }
}

/// What an object should look like.
struct Model {
    class: u32,
    length: usize,
    refs: Vec<Option<usize>>,
    /// Fills everything that is no reference.
    stamp: u8,
    hash: Option<u64>,
}

struct Shadow {
    fixture: Fixture,
    models: Vec<Model>,
    /// Model of each root.
    roots: Vec<Option<usize>>,
    rng: Rng,
}

impl Shadow {
    fn new(seed: u64, max: usize, nursery: usize) -> Shadow {
        let mut fixture = Fixture::new(max, nursery);
        fixture.roots = vec![0; 40];
        Shadow { fixture, models: Vec::new(), roots: vec![None; 40], rng: Rng(seed | 1) }
    }

    fn stamp(&self, obj: Ref, stamp: u8) {
        let desc = self.fixture.desc(obj);
        // SAFETY: the object's own data.
        unsafe {
            let size = base_size(obj.0 as usize, desc);
            let from = if desc.shape == Shape::Object { 8 } else { ARRAY_DATA as usize };
            let used = if desc.shape == Shape::ByteArray { ARRAY_DATA as usize + view::len(obj) } else { size };
            let refs: Vec<*mut u64> = self.fixture.ref_slots(obj);
            for i in (from..used).filter(|i| !refs.contains(&((obj.0 as usize + i / 8 * 8) as *mut u64))) {
                *((obj.0 as usize + i) as *mut u8) = stamp;
            }
        }
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..45 => self.allocate(),
            45..75 => self.connect(),
            75..90 => {
                let i = self.rng.below(self.roots.len());
                (self.roots[i], self.fixture.roots[i]) = (None, 0);
            }
            90..95 => self.hash(),
            _ => {
                // A root is moved along a reference, so that old structures become reachable from few places.
                let i = self.rng.below(self.roots.len());
                let Some(model) = self.roots[i] else { return };
                let slots = self.fixture.ref_slots(Ref(self.fixture.roots[i]));
                if !slots.is_empty() {
                    let k = self.rng.below(slots.len());
                    // SAFETY: a slot of a live object.
                    (self.roots[i], self.fixture.roots[i]) = (self.models[model].refs[k], unsafe { *slots[k] });
                }
            }
        }
    }

    fn allocate(&mut self) {
        let class = [LEAF, NODE, NODE, NODE, WIDE, REFS, WORDS, BYTES][self.rng.below(8)];
        let length = match self.rng.below(40) {
            _ if class < REFS => 0,
            0 => 1000 + self.rng.below(3000),
            n => n % 9,
        };
        let obj = self.fixture.alloc(class, length);
        assert!(!obj.is_null(), "the test's objects fit");
        let stamp = 1 + self.rng.below(250) as u8;
        self.stamp(obj, stamp);
        let refs = vec![None; self.fixture.ref_slots(obj).len()];
        self.models.push(Model { class, length, refs, stamp, hash: None });
        let root = self.rng.below(self.roots.len());
        (self.roots[root], self.fixture.roots[root]) = (Some(self.models.len() - 1), obj.0);
    }

    fn connect(&mut self) {
        let (from, to) = (self.rng.below(self.roots.len()), self.rng.below(self.roots.len()));
        let Some(model) = self.roots[from] else { return };
        let obj = Ref(self.fixture.roots[from]);
        let slots = self.fixture.ref_slots(obj);
        if !slots.is_empty() {
            let k = self.rng.below(slots.len());
            let value = self.fixture.roots[to];
            self.fixture.store(obj, slots[k], value);
            self.models[model].refs[k] = self.roots[to];
        }
    }

    fn hash(&mut self) {
        let i = self.rng.below(self.roots.len());
        let Some(model) = self.roots[i] else { return };
        // SAFETY: a live object.
        let hash = unsafe { self.fixture.heap.identity_hash(self.fixture.roots[i] as usize) };
        assert_eq!(*self.models[model].hash.get_or_insert(hash), hash, "an identity hash changed");
    }

    /// Every object reachable from the roots is as its model says, and identities agree.
    fn check(&self) {
        let mut model_of = HashMap::new();
        let mut object_of = HashMap::new();
        let mut work: Vec<(u64, Option<usize>)> = self.fixture.roots.iter().copied().zip(self.roots.iter().copied()).collect();
        while let Some((obj, model)) = work.pop() {
            let Some(id) = model else {
                assert_eq!(obj, 0);
                continue;
            };
            let seen = model_of.insert(obj, id);
            assert!(seen.is_none_or(|m| m == id), "two objects became one");
            assert_eq!(*object_of.entry(id).or_insert(obj), obj, "an object became two");
            if seen.is_none() {
                self.check_object(Ref(obj), &self.models[id], &mut work);
            }
        }
    }

    fn check_object(&self, obj: Ref, model: &Model, work: &mut Vec<(u64, Option<usize>)>) {
        let desc = self.fixture.desc(obj);
        assert_eq!(desc.id, model.class);
        let slots = self.fixture.ref_slots(obj);
        // SAFETY: slots and bytes of a live object.
        unsafe {
            work.extend(slots.iter().zip(&model.refs).map(|(&s, &m)| (*s, m)));
            let base = obj.0 as usize;
            let (from, to) = match desc.shape {
                Shape::Object => (8, desc.size as usize),
                Shape::ByteArray => (16, 16 + model.length),
                _ => (16, 16 + 8 * model.length),
            };
            if model.class == LEAF {
                return;
            }
            if desc.shape != Shape::Object {
                assert_eq!(view::len(obj), model.length);
            }
            for i in (from..to).filter(|i| !slots.contains(&((base + i / 8 * 8) as *mut u64))) {
                assert_eq!(*((base + i) as *const u8), model.stamp, "byte {i} of an object of class {}", desc.id);
            }
            if let Some(hash) = model.hash {
                assert_eq!(self.fixture.heap.identity_hash(base), hash);
            }
        }
    }

    fn run(&mut self, steps: usize, collect_every: usize) {
        for step in 0..steps {
            self.step();
            if step % collect_every == collect_every - 1 {
                let want = if self.rng.below(4) == 0 { Want::Major } else { Want::Minor };
                // Whether dead remembered objects are looked for must make no difference.
                self.fixture.heap.lock().copied = [0, usize::MAX][self.rng.below(2)];
                self.fixture.collect(want);
                self.check();
            }
        }
    }
}

#[test]
fn random_graphs_survive_collections() {
    for seed in 1..40 {
        Shadow::new(seed * 7919, 16 << 20, 1 << 20).run(3000, 61);
    }
}

#[test]
fn random_graphs_with_natural_collections() {
    for seed in 1..6 {
        let mut shadow = Shadow::new(seed * 104_729, 8 << 20, 256 << 10);
        shadow.run(40_000, 9973);
        shadow.check();
        assert!(shadow.fixture.heap.metrics.minor_collections.get() > 4);
    }
}

/// A list of nodes, each holding its successor.
fn list(fixture: &mut Fixture, nodes: usize) -> usize {
    fixture.roots = vec![0, 0];
    (0..nodes).take_while(|&i| push(fixture, i as u64)).count()
}

/// Puts a node in front of the list; false if there is no memory.
fn push(fixture: &mut Fixture, number: u64) -> bool {
    let node = fixture.alloc(NODE, 0);
    if node.is_null() {
        return false;
    }
    let next = fixture.roots[0];
    view::store(node, 8, next);
    view::store(node, 16, number);
    fixture.roots[0] = node.0;
    true
}

fn list_len(fixture: &Fixture) -> usize {
    let mut node = Ref(fixture.roots[0]);
    let mut count = 0;
    let mut expected = None;
    while !node.is_null() {
        let number = view::load(node, 16);
        assert!(expected.is_none_or(|e| e == number), "the list's order");
        expected = number.checked_sub(1);
        node = view::load_ref(node, 8);
        count += 1;
    }
    count
}

/// Wherever they were before, and whether they stay young or not.
#[test]
fn elements_of_long_arrays_take_along_what_they_refer_to() {
    let mut f = Fixture::new(8 << 20, 256 << 10);
    let count = 100;
    f.roots = (0..count).map(|_| f.alloc(LEAF, 0).0).collect();
    let array = f.alloc(REFS, count);
    for i in 0..count {
        let element = f.alloc(NODE, 0);
        view::store(element, 8, f.roots[count - 1 - i]);
        view::store(array, ARRAY_DATA + 8 * i as i32, element.0);
    }
    f.roots = vec![array.0];
    let size = f.size(NODE, 0) as u64;
    for _ in 0..3 {
        assert!(f.collect(Want::Nursery));
        let beside = |i: usize| {
            let element = view::load_ref(Ref(f.roots[0]), ARRAY_DATA + 8 * i as i32);
            view::load(element, 8) == element.0 + size
        };
        assert!((0..count).all(beside));
    }
}

/// What an element refers to is fetched ahead, if it was not copied already.
#[test]
fn elements_stand_in_a_long_array_more_than_once() {
    let mut f = Fixture::new(8 << 20, 256 << 10);
    let count = 100;
    f.roots = vec![f.alloc(LEAF, 0).0];
    let array = f.alloc(REFS, count);
    f.roots.push(array.0);
    let elements = [f.alloc(NODE, 0), f.alloc(NODE, 0)];
    elements.iter().for_each(|&element| view::store(element, 8, f.roots[0]));
    for i in 0..count {
        view::store(array, ARRAY_DATA + 8 * i as i32, elements[i % 2].0);
    }
    for _ in 0..3 {
        assert!(f.collect(Want::Nursery));
        let element = |i: usize| view::load_ref(Ref(f.roots[1]), ARRAY_DATA + 8 * i as i32);
        assert!((2..count).all(|i| element(i).0 == element(i - 2).0) && element(0).0 != element(1).0);
        assert!((0..2).all(|i| view::load(element(i), 8) == f.roots[0]));
    }
}

#[test]
fn dead_objects_that_stay_are_not_told_as_live() {
    let mut f = Fixture::new(64 << 20, 1 << 20);
    f.heap.options.verify = false;
    list(&mut f, 300_000);
    f.roots[1] = f.alloc(WORDS, 5000).0;
    let alone = f.alloc(NODE, 0);
    f.roots[0] = alone.0;
    f.collect(Want::Major);
    let (live, used) = {
        let inner = f.heap.lock();
        assert!(inner.dead_wood > 0, "the list lay at the bottom");
        (f.heap.metrics.live_bytes.get() as usize, f.heap.used(&inner))
    };
    assert_eq!(live, 32 + f.size(WORDS, 5000).next_multiple_of(PAGE));
    assert_eq!(used, live);
}

#[test]
fn large_arrays_remember_young_elements() {
    let mut f = Fixture::new(16 << 20, 1 << 20);
    let array = f.alloc(REFS, 5000);
    f.roots = vec![array.0];
    f.collect(Want::Minor);
    for i in 0..5000 {
        let node = f.alloc(NODE, 0);
        view::store(node, 16, i as u64);
        let array = Ref(f.roots[0]);
        let slot = view::element(array, i).as_ptr();
        f.store(array, slot, node.0);
        if i % 701 == 0 {
            f.collect(if i % 2 == 0 { Want::Minor } else { Want::Major });
        }
    }
    for i in 0..5000 {
        assert_eq!(view::load(view::load_ref(Ref(f.roots[0]), ARRAY_DATA + 8 * i), 16), i as u64);
    }
}

#[test]
fn deep_and_wide_structures_need_no_recursion() {
    let mut f = Fixture::new(256 << 20, 4 << 20);
    f.heap.options.verify = false;
    assert_eq!(list(&mut f, 1_000_000), 1_000_000);
    f.collect(Want::Major);
    assert_eq!(list_len(&f), 1_000_000);
    // More objects at once than the mark stack holds, each with something of its own behind it.
    let count = 3 * tuning::MARK_STACK;
    f.roots = vec![0];
    for _ in 0..count / 100 {
        f.roots.push(0);
        f.roots.push(0);
        let at = f.roots.len() - 1;
        f.roots[at] = f.alloc(REFS, 100).0;
        for i in 0..100 {
            let node = f.alloc(NODE, 0);
            f.roots[at - 1] = node.0;
            let leaf = f.alloc(NODE, 0);
            view::store(leaf, 16, i);
            let (node, array) = (Ref(f.roots[at - 1]), Ref(f.roots[at]));
            let slot = view::word(node, 8).as_ptr();
            f.store(node, slot, leaf.0);
            let slot = view::element(array, i as usize).as_ptr();
            f.store(array, slot, node.0);
        }
        f.roots[at - 1] = 0;
    }
    f.collect(Want::Major);
    for &array in f.roots.iter().filter(|&&r| r != 0) {
        for i in 0..100 {
            let node = view::load_ref(Ref(array), ARRAY_DATA + 8 * i);
            assert_eq!(view::load(view::load_ref(node, 8), 16), i as u64);
        }
    }
}

#[test]
fn random_graphs_survive_a_tiny_mark_stack() {
    for seed in 1..20 {
        let mut shadow = Shadow::new(seed * 7907, 16 << 20, 1 << 20);
        shadow.fixture.heap.options.mark_stack = seed as usize % 3;
        shadow.run(3000, 61);
        assert!(shadow.fixture.heap.metrics.rescanned_objects.get() > 0);
    }
}

#[test]
fn a_full_mark_stack_costs_time_for_the_objects_alone() {
    const NODES: usize = 100_000;
    let mut f = Fixture::new(64 << 20, 1 << 20);
    f.heap.options.verify = false;
    f.heap.options.mark_stack = 16;
    // Each node has one of its own besides the next: those wait on the stack until the list ends, which lies below what leads to it.
    f.roots = vec![0; 2];
    for _ in 0..NODES {
        f.roots[1] = f.alloc(NODE, 0).0;
        let node = f.alloc(NODE, 0);
        view::store(node, 24, f.roots[0]);
        view::store(node, 8, f.roots[1]);
        f.roots[0] = node.0;
    }
    for _ in 0..2 {
        f.collect(Want::Major);
    }
    let rescanned = f.heap.metrics.rescanned_objects.get() as usize;
    assert!((1..100 * NODES).contains(&rescanned), "{rescanned} objects were scanned again");
}

#[test]
fn hashes_taken_in_the_old_generation_survive_sliding() {
    let mut f = Fixture::new(16 << 20, 1 << 20);
    // Pairs of garbage and hashed objects, promoted side by side.
    f.roots = (0..2000).map(|_| 0).collect();
    for i in 0..2000 {
        f.roots[i] = f.alloc([LEAF, NODE, WIDE][i % 3], 0).0;
    }
    f.collect(Want::Major);
    // SAFETY: live objects.
    let hashes: Vec<u64> = f.roots.iter().map(|&r| unsafe { f.heap.identity_hash(r as usize) }).collect();
    (0..2000).filter(|i| i % 7 == 3).for_each(|i| f.roots[i] = 0);
    let check = |f: &Fixture| {
        for (i, &r) in f.roots.iter().enumerate().filter(|(_, r)| **r != 0) {
            // SAFETY: live objects.
            assert_eq!(unsafe { f.heap.identity_hash(r as usize) }, hashes[i]);
            assert_eq!(f.desc(Ref(r)).id, [LEAF, NODE, WIDE][i % 3]);
        }
    };
    f.heap.options.stress = std::num::NonZeroU32::new(1);
    f.collect(Want::Major);
    check(&f);
    (0..2000).filter(|i| i % 5 == 1).for_each(|i| f.roots[i] = 0);
    f.collect(Want::Major);
    check(&f);
}
