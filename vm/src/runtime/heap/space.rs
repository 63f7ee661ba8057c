//! Address space for the heap: reserved at once, paid for page by page as it is touched, given back by range.
//!
//! Invariant: untouched and released memory reads as zero. With feature `native` on Unix the system's memory maps do this; otherwise the allocator's zeroed memory, and releasing overwrites with zeros.

pub const PAGE: usize = 4096;

/// A range of addresses that belongs to one heap.
pub struct Space {
    base: usize,
    size: usize,
    raw: *mut u8,
    raw_size: usize,
}

// SAFETY: the space is plain memory; who touches it when is the heap's business.
unsafe impl Send for Space {}
// SAFETY: as above.
unsafe impl Sync for Space {}

impl Space {
    /// `None` if the system has no such range.
    pub fn reserve(size: usize) -> Option<Space> {
        let size = size.next_multiple_of(PAGE);
        let raw_size = size.checked_add(PAGE)?;
        let raw = imp::reserve(raw_size)?;
        Some(Space { base: (raw as usize).next_multiple_of(PAGE), size, raw, raw_size })
    }

    pub fn base(&self) -> usize {
        self.base
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// Gives the whole pages between two addresses of the space back.
    ///
    /// # Safety
    /// Nothing in them is used any more.
    pub unsafe fn release(&self, from: usize, to: usize) {
        let (from, to) = (from.next_multiple_of(PAGE), to & !(PAGE - 1));
        debug_assert!(from >= self.base && to <= self.base + self.size);
        if from < to {
            // SAFETY: inside the space, by the caller's promise unused.
            unsafe { imp::release(from, to - from) };
        }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        // SAFETY: reserved in `reserve` with this size.
        unsafe { imp::free(self.raw, self.raw_size) };
    }
}

#[cfg(all(feature = "native", unix))]
mod imp {
    pub fn reserve(size: usize) -> Option<*mut u8> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh private mapping.
        let p = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        (p != libc::MAP_FAILED).then_some(p.cast())
    }

    pub unsafe fn release(from: usize, size: usize) {
        // SAFETY: whole pages of a private anonymous mapping: they read as zero afterwards.
        let result = unsafe { libc::madvise(from as *mut _, size, libc::MADV_DONTNEED) };
        assert_eq!(result, 0, "madvise on the heap's own pages");
    }

    pub unsafe fn free(raw: *mut u8, size: usize) {
        // SAFETY: by the caller.
        unsafe { libc::munmap(raw.cast(), size) };
    }
}

#[cfg(not(all(feature = "native", unix)))]
mod imp {
    use std::alloc::Layout;

    fn layout(size: usize) -> Option<Layout> {
        Layout::from_size_align(size, 16).ok()
    }

    pub fn reserve(size: usize) -> Option<*mut u8> {
        // SAFETY: the size is at least a page.
        let p = unsafe { std::alloc::alloc_zeroed(layout(size)?) };
        (!p.is_null()).then_some(p)
    }

    pub unsafe fn release(from: usize, size: usize) {
        // SAFETY: by the caller.
        unsafe { std::ptr::write_bytes(from as *mut u8, 0, size) };
    }

    pub unsafe fn free(raw: *mut u8, size: usize) {
        // SAFETY: by the caller.
        unsafe { std::alloc::dealloc(raw, layout(size).expect("checked when reserved")) };
    }
}
