//! What the program has from the start and keeps to the end: global variables, the objects of string literals, and the error for when there is no memory left for an error.
//!
//! In: a [`Module`], its [`Layout`] and [`ClassTable`]. Out: addresses. Invariant: nothing here moves or is freed; globals and the error's fields are roots of the collector.

use super::classes::ClassTable;
use super::heap::object::{LOGGED, make_header};
use jit::ir::{GlobalId, Known, Module, StrId, Ty};
use jit::layout::Layout;
use std::cell::UnsafeCell;

pub struct Statics {
    globals: Box<[UnsafeCell<u64>]>,
    ref_globals: Vec<usize>,
    literals: Vec<u64>,
    /// The literals' objects.
    _memory: Box<[u64]>,
    /// An `OutOfMemoryError` without a trace.
    last_error: Box<[UnsafeCell<u64>]>,
    last_error_refs: Vec<usize>,
}

// SAFETY: globals are shared mutable words by design; accesses are single words. The rest does not change.
unsafe impl Send for Statics {}
// SAFETY: as above.
unsafe impl Sync for Statics {}

fn words_of_str(len: usize) -> usize {
    2 + len.div_ceil(8)
}

/// Writes a `Str` object.
fn put_str(words: &mut [u64], class_word: u32, text: &str) {
    words[0] = make_header(class_word, 0, LOGGED);
    words[1] = text.len() as u64;
    for (word, bytes) in words[2..].iter_mut().zip(text.as_bytes().chunks(8)) {
        let mut b = [0; 8];
        b[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(b);
    }
}

impl Statics {
    pub fn new(module: &Module, known: &Known, layout: &Layout, classes: &ClassTable, last_message: &str) -> Statics {
        let str_word = classes.word(known.str);
        let texts = || module.strings.values().map(|s| &**s).chain([last_message]);
        let mut memory = vec![0u64; texts().map(|t| words_of_str(t.len())).sum()].into_boxed_slice();
        let mut literals = Vec::new();
        let mut at = 0;
        for text in texts() {
            let end = at + words_of_str(text.len());
            put_str(&mut memory[at..end], str_word, text);
            literals.push(memory[at..].as_ptr() as u64);
            at = end;
        }
        let message = literals.pop().expect("the last message was added");
        let class = known.out_of_memory_error;
        let last_error: Box<[UnsafeCell<u64>]> = (0..layout.object_size(module, class) / 8).map(|_| UnsafeCell::new(0)).collect();
        let slot = |offset: i32| offset as usize / 8;
        let fields = &module.classes[class].fields;
        let last_error_refs =
            fields.iter().filter(|f| module.fields[**f].ty.ty() == Ty::Ref).map(|f| slot(layout.field_offset[*f])).collect();
        // SAFETY: not shared yet.
        unsafe {
            *last_error[0].get() = make_header(classes.word(class), 0, LOGGED);
            *last_error[slot(layout.field_offset[known.error_message])].get() = message;
        }
        let ref_globals = module.globals.iter().filter(|(_, g)| g.ty.ty() == Ty::Ref).map(|(id, _)| id.as_u32() as usize).collect();
        Statics {
            globals: module.globals.keys().map(|_| UnsafeCell::new(0)).collect(),
            ref_globals,
            literals,
            _memory: memory,
            last_error,
            last_error_refs,
        }
    }

    pub fn literal(&self, id: StrId) -> u64 {
        self.literals[id.as_u32() as usize]
    }

    pub fn literals(&self) -> &[u64] {
        &self.literals
    }

    pub fn global(&self, id: GlobalId) -> *mut u64 {
        self.globals[id.as_u32() as usize].get()
    }

    /// Address of the first global; 8 bytes each.
    pub fn globals(&self) -> u64 {
        self.globals.as_ptr() as u64
    }

    /// As before the program started.
    ///
    /// # Safety
    /// No program thread runs but the caller's, which stands outside program code, and no collection.
    pub unsafe fn clear_globals(&self) {
        for global in &self.globals {
            // SAFETY: nobody else touches the slots.
            unsafe { *global.get() = 0 };
        }
    }

    pub fn last_error(&self) -> u64 {
        self.last_error.as_ptr() as u64
    }

    pub fn bytes(&self) -> usize {
        self._memory.len() * 8 + self.globals.len() * 8
    }

    /// Calls `f` with every root slot; the world is stopped.
    pub fn visit_roots(&self, f: &mut dyn FnMut(&mut u64)) {
        // SAFETY: no thread runs, so nobody else touches the slots.
        unsafe {
            self.ref_globals.iter().for_each(|&i| f(&mut *self.globals[i].get()));
            self.last_error_refs.iter().for_each(|&i| f(&mut *self.last_error[i].get()));
        }
    }
}
