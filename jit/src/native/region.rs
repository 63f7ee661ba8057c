//! Memory for machine code: one reserved region, mapped twice.
//!
//! In: finished code; code that nobody runs any more. Out: the address at which code runs. The region is shared anonymous memory, mapped once writable and once executable, so no mapping is ever both, and publishing code neither changes
//! protections nor stalls running threads. (A memory file would do as well, but to `perf` it is a file: names of functions in files are looked up in these, and not where a program that makes its own code can leave them.) Everything compiled code calls directly (stubs included) lies inside, so 32-bit relative calls reach.
//!
//! Relocations are applied by hand in [`super::compile`]: only direct calls of stubs occur, while `cranelift-jit` would bring a linker, symbol tables by name and a finalization step that this scheme has no use for.
//!
//! Invariants: code is written before its address leaves [`CodeRegion::place`], and not changed until it is freed. Between writing code where other code has been and handing out its address, every processor that runs a thread of the
//! program executes a serializing instruction, as the processor's makers ask for code that another processor has modified (Intel SDM volume 3, section 8.1.3): none goes on with instructions it fetched before.

use super::api::NativeError;
use std::collections::BTreeMap;
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, MutexGuard, OnceLock};

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
    fn map(size: usize, protection: i32, flags: i32) -> Result<Pages, NativeError> {
        // SAFETY: a fresh mapping at an address of the system's choice disturbs nothing.
        let start = unsafe { libc::mmap(null_mut(), size, protection, flags | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0) };
        Self::mapped(start, size)
    }

    fn mapped(start: *mut libc::c_void, size: usize) -> Result<Pages, NativeError> {
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => Ok(Pages { start, size }),
            _ => Err(Self::refused(size)),
        }
    }

    fn refused(size: usize) -> NativeError {
        NativeError::Memory(format!("a mapping of {size} bytes: {}", std::io::Error::last_os_error()))
    }

    /// The same pages, which are shared ones, at a second address.
    fn again(&self, protection: i32) -> Result<Pages, NativeError> {
        // SAFETY: an old size of 0 leaves our mapping as it is; the new one lies at an address of the system's choice.
        let start = unsafe { libc::mremap(self.start().cast(), 0, self.size, libc::MREMAP_MAYMOVE) };
        let pages = Self::mapped(start, self.size)?;
        // SAFETY: the mapping just made, whose address nobody knows yet.
        let is_set = unsafe { libc::mprotect(pages.start().cast(), pages.size, protection) } == 0;
        if is_set { Ok(pages) } else { Err(Self::refused(self.size)) }
    }

    /// Zeroed pages, touched only when used.
    pub fn zeroed(size: usize) -> Result<Pages, NativeError> {
        Self::map(size, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE)
    }

    /// Zeroed pages in the low 2 GiB where there is room, so that code can name addresses in them with short instructions; else anywhere.
    pub fn zeroed_low(size: usize) -> Result<Pages, NativeError> {
        let flags = libc::MAP_PRIVATE | libc::MAP_32BIT;
        Self::map(size, libc::PROT_READ | libc::PROT_WRITE, flags).or_else(|_| Self::zeroed(size))
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
    free: Mutex<Free>,
}

/// Which bytes are free, by offsets that are multiples of [`GRANULE`].
struct Free {
    /// Length of each free extent; no two touch.
    extents: BTreeMap<usize, usize>,
    /// From here on no code has been yet.
    untouched: usize,
}

/// Where code goes.
struct Place {
    offset: usize,
    /// Other code has been there.
    is_reused: bool,
}

impl Free {
    /// The lowest place: so memory that was touched once is used again first.
    fn take(&mut self, len: usize, align: usize, lead: usize) -> Option<Place> {
        let (from, at, end, to) = self.extents.iter().find_map(|(&from, &size)| {
            let at = from.next_multiple_of(align.max(GRANULE));
            let end = at.checked_add(lead)?.checked_add(len)?.next_multiple_of(GRANULE);
            (end <= from + size).then_some((from, at, end, from + size))
        })?;
        self.extents.remove(&from);
        for (from, to) in [(from, at), (end, to)] {
            if from < to {
                self.extents.insert(from, to - from);
            }
        }
        let is_reused = at < self.untouched;
        self.untouched = self.untouched.max(end);
        Some(Place { offset: at + lead, is_reused })
    }

    fn give_back(&mut self, mut from: usize, mut to: usize) {
        if let Some((&before, &size)) = self.extents.range(..from).next_back()
            && before + size == from
        {
            from = before;
        }
        if let Some(size) = self.extents.remove(&to) {
            to += size;
        }
        self.extents.insert(from, to - from);
    }
}

/// What freed memory is filled with: whoever runs there stops at once.
const BREAKPOINT: u8 = 0xcc;

impl CodeRegion {
    pub fn new(size: usize) -> Result<CodeRegion, NativeError> {
        let size = size.clamp(1 << 16, 1 << 30).next_multiple_of(1 << 16);
        // First executable: systems that let no writable memory become executable let executable memory become writable instead.
        let executable = Pages::map(size, libc::PROT_READ | libc::PROT_EXEC, libc::MAP_SHARED)?;
        let writable = executable.again(libc::PROT_READ | libc::PROT_WRITE)?;
        let free = Mutex::new(Free { extents: BTreeMap::from([(0, size)]), untouched: 0 });
        Ok(CodeRegion { writable, executable, size, free })
    }

    /// Address at which the region's first byte runs.
    pub fn base(&self) -> u64 {
        self.executable.address()
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes from the region's start to the end of the highest code there has been.
    pub fn touched(&self) -> usize {
        self.free().untouched
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Copies code in, `lead` bytes behind the start of a granule; `fix` gets the code's address and the copy, to apply relocations. Returns the address; `None` when the region has no such room.
    pub fn place(&self, code: &[u8], align: usize, lead: usize, fix: impl FnOnce(u64, &mut [u8])) -> Option<u64> {
        let Place { offset, is_reused } = self.free().take(code.len(), align, lead)?;
        // SAFETY: inside the writable mapping, and these bytes were handed to this call alone.
        let copy = unsafe { std::slice::from_raw_parts_mut(self.writable.start().add(offset), code.len()) };
        copy.copy_from_slice(code);
        let address = self.base() + offset as u64;
        fix(address, copy);
        if is_reused && !membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) {
            // SAFETY: nobody has got the address.
            unsafe { self.release(address, code.len()) };
            return None;
        }
        Some(address)
    }

    /// Makes the memory of code free that [`CodeRegion::place`] put at an address. Unless it can be used again, it stays as it is.
    ///
    /// # Safety
    /// Nobody runs this code any more or looks at its bytes, and it is released once.
    pub unsafe fn release(&self, address: u64, len: usize) {
        if !can_reuse_code_memory() {
            return;
        }
        let offset = (address - self.base()) as usize;
        let (from, to) = (offset - offset % GRANULE, (offset + len).next_multiple_of(GRANULE));
        // SAFETY: inside the writable mapping; these granules belong to this code alone, which is nobody's by contract.
        unsafe { self.writable.start().add(from).write_bytes(BREAKPOINT, to - from) };
        self.free().give_back(from, to);
    }

    /// The bytes at an address that [`CodeRegion::place`] returned.
    ///
    /// # Safety
    /// They are not released while the result is in use.
    pub unsafe fn bytes(&self, address: u64, len: usize) -> &[u8] {
        let offset = (address - self.base()) as usize;
        assert!(offset + len <= self.size);
        // SAFETY: inside the mapping; placed code does not change.
        unsafe { std::slice::from_raw_parts(self.executable.start().add(offset), len) }
    }
}

/// Whether memory can be used again for other code: the system can have all processors that run threads of this process execute a serializing instruction. Without that no memory is used twice.
///
/// The first call tells the system that this will be asked for. While the process has one thread, that takes microseconds; later it waits for all processors, ten milliseconds and more.
pub fn can_reuse_code_memory() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE))
}

/// Whether the system did it: a barrier for all processors that run threads of this process.
fn membarrier(command: i32) -> bool {
    // SAFETY: takes no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_keeps_its_place_until_it_is_released() {
        const SIZE: usize = 1 << 16;
        let region = CodeRegion::new(SIZE).unwrap();
        let mut placed: Vec<(u64, Vec<u8>)> = Vec::new();
        let (mut full, mut state) = (0, 1u64);
        for round in 0..20_000u32 {
            // Multiplicative congruential numbers: enough to mix lengths and orders.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (state >> 33) as usize;
            let code = vec![round as u8; 1 + number % 3000];
            let (align, lead) = ([1, 16, 64, 256][number % 4], number / 4 % 4 * 16);
            match region.place(&code, align, lead, |_, _| {}) {
                Some(address) => {
                    assert_eq!((address - lead as u64) % align.max(GRANULE) as u64, 0);
                    placed.push((address, code));
                }
                None => full += 1,
            }
            let keep = if number.is_multiple_of(4) { placed.len().saturating_sub(2) } else { 50 };
            while placed.len() > keep {
                let (address, code) = placed.swap_remove(number % placed.len());
                // SAFETY: placed, not released yet, and not in use.
                assert_eq!(unsafe { region.bytes(address, code.len()) }, code);
                // SAFETY: as above.
                unsafe { region.release(address, code.len()) };
            }
        }
        assert!(full > 0 && region.touched() <= SIZE);
        for (address, code) in placed {
            // SAFETY: as above.
            assert_eq!(unsafe { region.bytes(address, code.len()) }, code);
            // SAFETY: as above.
            unsafe { region.release(address, code.len()) };
        }
        assert_eq!(region.free().extents, BTreeMap::from([(0, SIZE)]), "all of it is one piece again");
    }

    /// `perf` looks names up in a map of the process for mappings of this name only.
    #[test]
    fn tools_see_anonymous_memory_that_can_be_executed_and_not_written() {
        let region = CodeRegion::new(0).unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.starts_with(&format!("{:x}-", region.base()))).expect("a mapping");
        assert!(line.contains(" r-xs ") && line.ends_with(" /dev/zero (deleted)"), "{line}");
    }

    #[test]
    fn released_code_does_not_run_on() {
        let region = CodeRegion::new(0).unwrap();
        let address = region.place(&[0xc3; 100], 1, 0, |_, _| {}).unwrap();
        // SAFETY: nobody runs it.
        unsafe { region.release(address, 100) };
        // SAFETY: not released again.
        assert_eq!(unsafe { region.bytes(address, 100) }, [BREAKPOINT; 100]);
    }
}
