//! Memory for machine code: one reserved region, mapped twice.
//!
//! In: finished code. Out: the address at which it runs. The region is an anonymous file mapped once writable and once executable, so no page is ever both, and publishing code neither changes
//! protections nor stalls running threads. Everything compiled code calls directly (stubs included) lies inside, so 32-bit relative calls reach.
//!
//! Relocations are applied by hand in [`super::compile`]: only direct calls of stubs occur, while `cranelift-jit` would bring a linker, symbol tables by name and a finalization step that this scheme has no use for.
//!
//! Invariant: code is written before its address leaves [`CodeRegion::place`], and never changed afterwards. Nothing is freed yet: the baseline tier compiles each function once.

use super::api::NativeError;
use std::ptr::{NonNull, null_mut};
use std::sync::Mutex;

/// Code starts at multiples of this, so that every granule of this size belongs to at most one function.
pub const GRANULE: usize = 64;

/// Pages obtained from the system, given back when dropped.
pub struct Pages {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: a range of addresses; whoever dereferences them keeps the rules.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    fn map(size: usize, protection: i32, flags: i32, file: i32) -> Result<Pages, NativeError> {
        // SAFETY: a fresh mapping at an address of the system's choice disturbs nothing.
        let start = unsafe { libc::mmap(null_mut(), size, protection, flags | libc::MAP_NORESERVE, file, 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => Ok(Pages { start, size }),
            _ => Err(NativeError::Memory(format!("a mapping of {size} bytes: {}", std::io::Error::last_os_error()))),
        }
    }

    /// Zeroed pages, touched only when used.
    pub fn zeroed(size: usize) -> Result<Pages, NativeError> {
        Self::map(size, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// Zeroed pages in the low 2 GiB where there is room, so that code can name addresses in them with short instructions; else anywhere.
    pub fn zeroed_low(size: usize) -> Result<Pages, NativeError> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        Self::map(size, libc::PROT_READ | libc::PROT_WRITE, flags | libc::MAP_32BIT, -1).or_else(|_| Self::zeroed(size))
    }

    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of this size.
        unsafe { libc::munmap(self.start().cast(), self.size) };
    }
}

pub struct CodeRegion {
    writable: Pages,
    executable: Pages,
    size: usize,
    /// Offset of the first free byte.
    next: Mutex<usize>,
}

impl CodeRegion {
    pub fn new(size: usize) -> Result<CodeRegion, NativeError> {
        let size = size.clamp(1 << 16, 1 << 30).next_multiple_of(1 << 16);
        // SAFETY: the name is a C string.
        let file = unsafe { libc::memfd_create(c"machine code".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(NativeError::Unsupported(format!("memfd_create: {}", std::io::Error::last_os_error())));
        }
        // SAFETY: our own file.
        let sized = unsafe { libc::ftruncate(file, size as libc::off_t) } == 0;
        let map = |protection| Pages::map(size, protection, libc::MAP_SHARED, file);
        let maps = if sized {
            map(libc::PROT_READ | libc::PROT_WRITE).and_then(|w| Ok((w, map(libc::PROT_READ | libc::PROT_EXEC)?)))
        } else {
            Err(NativeError::Memory(format!("{size} bytes of code: {}", std::io::Error::last_os_error())))
        };
        // SAFETY: our own file, which the mappings keep alive.
        unsafe { libc::close(file) };
        let (writable, executable) = maps?;
        Ok(CodeRegion { writable, executable, size, next: Mutex::new(0) })
    }

    /// Address at which the region's first byte runs.
    pub fn base(&self) -> u64 {
        self.executable.address()
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// Copies code in, `lead` bytes behind the start of a granule; `fix` gets the code's address and the copy, to apply relocations. Returns the address; `None` when the region is full.
    pub fn place(&self, code: &[u8], align: usize, lead: usize, fix: impl FnOnce(u64, &mut [u8])) -> Option<u64> {
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
        let offset = next.next_multiple_of(align.max(GRANULE)) + lead;
        let end = offset.checked_add(code.len()).filter(|&end| end <= self.size)?;
        *next = end;
        drop(next);
        // SAFETY: inside the writable mapping, and the lock handed these bytes to this call alone.
        let copy = unsafe { std::slice::from_raw_parts_mut(self.writable.start().add(offset), code.len()) };
        copy.copy_from_slice(code);
        let address = self.base() + offset as u64;
        fix(address, copy);
        Some(address)
    }

    /// The bytes at an address that [`CodeRegion::place`] returned.
    pub fn bytes(&self, address: u64, len: usize) -> &[u8] {
        let offset = (address - self.base()) as usize;
        assert!(offset + len <= self.size);
        // SAFETY: inside the mapping; placed code does not change.
        unsafe { std::slice::from_raw_parts(self.executable.start().add(offset), len) }
    }
}
