//! Reading and writing headers, sizes and reference slots of objects: the collector's view of `jit::layout`.
//!
//! All functions take the address of an object (or of what was one, for forwarded ones) and are unsafe for that reason alone.

use jit::layout::{ARRAY_DATA, ARRAY_LENGTH, ClassDesc, FIRST_FIELD, LOG_BYTE, Shape};

/// The header word is a forwarding pointer: new address plus this bit.
pub const FORWARDED: u8 = 1;
/// The identity hash, computed from the address, has been asked for.
pub const HASHED: u8 = 2;
/// The object moved after that: its hash stands in a hidden word at its end (Bacon, Fink, Grove: Space- and time-efficient implementation of the Java object model, ECOOP 2002, as in Jikes RVM).
pub const HASH_WORD: u8 = 4;
/// A large object reached in this collection.
pub const MARKED: u8 = 8;
/// A large object allocated since the last collection.
pub const YOUNG: u8 = 16;

/// Log bytes: see `jit::layout`.
pub const NOT_LOGGED: u8 = 1;
pub const LOGGED: u8 = 0;

/// # Safety
/// `obj` is an object's address.
#[inline(always)]
pub unsafe fn header(obj: usize) -> u64 {
    // SAFETY: by the caller.
    unsafe { *(obj as *const u64) }
}

/// # Safety
/// `obj` is an object's address.
#[inline(always)]
pub unsafe fn set_header(obj: usize, header: u64) {
    // SAFETY: by the caller.
    unsafe { *(obj as *mut u64) = header }
}

#[inline(always)]
pub fn class_word(header: u64) -> u32 {
    (header >> 32) as u32
}

#[inline(always)]
pub fn gc_byte(header: u64) -> u8 {
    header as u8
}

#[inline(always)]
pub fn log_byte(header: u64) -> u8 {
    (header >> 8) as u8
}

pub fn make_header(class_word: u32, gc: u8, log: u8) -> u64 {
    u64::from(class_word) << 32 | u64::from(log) << 8 | u64::from(gc)
}

#[inline(always)]
pub fn with_log(header: u64, log: u8) -> u64 {
    header & !0xff00 | u64::from(log) << 8
}

/// # Safety
/// `obj` is an object's address.
#[inline(always)]
pub unsafe fn set_log(obj: usize, log: u8) {
    // SAFETY: by the caller; the log byte is its own location.
    unsafe { *((obj + LOG_BYTE as usize) as *mut u8) = log }
}

/// The descriptor of an object with this header.
///
/// # Safety
/// `header` is an object's, `base` its class table's base.
#[inline(always)]
pub unsafe fn desc<'a>(base: usize, header: u64) -> &'a ClassDesc {
    // SAFETY: class words lead to descriptors, which live as long as the heap.
    unsafe { &*((base + class_word(header) as usize) as *const ClassDesc) }
}

/// # Safety
/// `obj` is an array.
#[inline(always)]
pub unsafe fn array_len(obj: usize) -> usize {
    // SAFETY: by the caller.
    unsafe { *((obj + ARRAY_LENGTH as usize) as *const usize) }
}

/// Bytes without the hidden word.
///
/// # Safety
/// `obj` is an object of the descriptor's class whose header may already be a forwarding pointer.
#[inline(always)]
pub unsafe fn base_size(obj: usize, desc: &ClassDesc) -> usize {
    // SAFETY: by the caller.
    unsafe {
        match desc.shape {
            Shape::Object => desc.size as usize,
            Shape::RefArray | Shape::WordArray => ARRAY_DATA as usize + 8 * array_len(obj),
            Shape::ByteArray => ARRAY_DATA as usize + array_len(obj).next_multiple_of(8),
        }
    }
}

/// Bytes, a hidden hash word included.
///
/// # Safety
/// `obj` is an object with this header.
#[inline(always)]
pub unsafe fn full_size(obj: usize, header: u64, desc: &ClassDesc) -> usize {
    // SAFETY: by the caller.
    unsafe { base_size(obj, desc) + if gc_byte(header) & HASH_WORD != 0 { 8 } else { 0 } }
}

/// Whether objects of the class can hold references.
#[inline(always)]
pub fn has_refs(desc: &ClassDesc) -> bool {
    match desc.shape {
        Shape::Object => desc.ref_map != 0,
        Shape::RefArray => true,
        Shape::WordArray | Shape::ByteArray => false,
    }
}

/// Calls `f` with the address of every reference slot.
///
/// # Safety
/// `obj` is an object of the descriptor's class.
#[inline(always)]
pub unsafe fn for_each_ref(obj: usize, desc: &ClassDesc, mut f: impl FnMut(*mut u64)) {
    // SAFETY: by the caller: the maps name fields of the object.
    unsafe {
        match desc.shape {
            Shape::Object => {
                let fields = (obj + FIRST_FIELD as usize) as *mut u64;
                let mut map = desc.ref_map & !(1 << 63);
                while map != 0 {
                    f(fields.add(map.trailing_zeros() as usize));
                    map &= map - 1;
                }
                if desc.ref_map >> 63 != 0 {
                    let more = std::slice::from_raw_parts(desc.more_refs, desc.more_refs_len as usize);
                    more.iter().for_each(|&i| f(fields.add(i as usize)));
                }
            }
            Shape::RefArray => {
                let data = (obj + ARRAY_DATA as usize) as *mut u64;
                (0..array_len(obj)).for_each(|i| f(data.add(i)));
            }
            Shape::WordArray | Shape::ByteArray => {}
        }
    }
}

/// The identity hash of an object that still stands where it was first hashed. Never negative.
pub fn address_hash(obj: usize) -> u64 {
    let mut x = (obj as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 32;
    x & (i64::MAX as u64)
}

/// Asks for the cache line of an address that will soon be read. Any address will do.
#[inline(always)]
pub fn prefetch(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address as *const i8);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
