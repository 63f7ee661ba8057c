//! The class table: every class's descriptor and virtual table in memory, at addresses that fit an object's 32-bit class word.
//!
//! In: a [`Module`] and its [`Layout`]. Out: a [`ClassTable`]. A class word plus [`ClassTable::base`] is a descriptor's address; where the system gives memory
//! below 4 GiB, `base` is 0 and the word is the address itself.
//! Invariant: nothing moves, and everything but the entries of the virtual tables stays as written.

use jit::ir::{ClassId, Module};
use jit::layout::{ClassDesc, Layout};

pub struct ClassTable {
    memory: Memory,
    base: usize,
    bias: u32,
    words: Vec<u32>,
    /// What the descriptors point to.
    _more_refs: Vec<Box<[u32]>>,
    _interfaces: Vec<Box<[u8]>>,
}

// SAFETY: the table is written while it is built; afterwards only virtual table entries change, through raw pointers by whoever installs code.
unsafe impl Send for ClassTable {}
// SAFETY: as above.
unsafe impl Sync for ClassTable {}

impl ClassTable {
    pub fn new(module: &Module, layout: &Layout) -> ClassTable {
        let memory = Memory::new(layout.table_size);
        // Absolute addresses if they fit; offsets otherwise.
        let end = memory.start as usize + layout.table_size;
        let (base, bias) = if u32::try_from(end).is_ok() { (0, memory.start as u32) } else { (memory.start as usize, 0) };
        let mut table = ClassTable { memory, base, bias, words: Vec::new(), _more_refs: Vec::new(), _interfaces: Vec::new() };
        for id in module.classes.keys() {
            let d = layout.describe(module, id);
            table.words.push(layout.class_word[id] + bias);
            let (more_refs, interfaces) = (d.more_refs.clone().into_boxed_slice(), d.interfaces.clone().into_boxed_slice());
            let pointer_or_null = |empty: bool, p: *const u32| if empty { std::ptr::null() } else { p };
            let fixed = d.fixed_part(pointer_or_null(more_refs.is_empty(), more_refs.as_ptr()), interfaces.as_ptr());
            // SAFETY: the layout reserved room for a descriptor and its table at this offset, 8-aligned.
            unsafe { table.memory.start.add(layout.class_word[id] as usize).cast::<ClassDesc>().write(fixed) };
            table._more_refs.push(more_refs);
            table._interfaces.push(interfaces);
        }
        table
    }

    /// Address of the table: descriptors lie at the layout's offsets from it.
    pub fn start(&self) -> usize {
        self.memory.start as usize
    }

    /// What is added to a class word to get a descriptor's address.
    pub fn base(&self) -> usize {
        self.base
    }

    /// What was added to the layout's class words to get the ones in headers.
    pub fn bias(&self) -> u32 {
        self.bias
    }

    /// The word in headers of the class's instances.
    pub fn word(&self, class: ClassId) -> u32 {
        self.words[class.as_u32() as usize]
    }

    pub fn desc(&self, class: ClassId) -> &ClassDesc {
        // SAFETY: written in `new`, and lives as long as `self`.
        unsafe { &*((self.base + self.word(class) as usize) as *const ClassDesc) }
    }

    /// Whether `word` is a class's, for checks of the heap.
    pub fn is_word(&self, word: u32) -> bool {
        self.words.binary_search(&word).is_ok()
    }

    pub fn bytes(&self) -> usize {
        self.memory.size
    }
}

/// Zeroed memory, below 4 GiB if possible.
struct Memory {
    start: *mut u8,
    size: usize,
    mapped: bool,
}

impl Memory {
    fn new(size: usize) -> Memory {
        #[cfg(all(feature = "native", target_os = "linux", target_arch = "x86_64"))]
        {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
            // SAFETY: a fresh private mapping.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
            if start != libc::MAP_FAILED {
                return Memory { start: start.cast(), size, mapped: true };
            }
        }
        let layout = Self::layout(size);
        // SAFETY: the layout's size is not 0 (tables begin at offset 8).
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        if start.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Memory { start, size, mapped: false }
    }

    fn layout(size: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(size, 16).expect("tables are far below the address space's size")
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        #[cfg(unix)]
        if self.mapped {
            // SAFETY: mapped in `new` with this size, and nothing refers to it any more.
            unsafe { libc::munmap(self.start.cast(), self.size) };
            return;
        }
        if !self.mapped {
            // SAFETY: allocated in `new` with this layout.
            unsafe { std::alloc::dealloc(self.start, Self::layout(self.size)) };
        }
    }
}
