//! Looking into objects from Rust: fields, elements, bytes, classes, with the write barrier.
//!
//! Invariant: the addresses are those of live objects and the offsets those of the layout; no allocation, blocking or yield point happens while a reference from here is in use. Fields and elements that program threads may
//! race on are read and written as single (relaxed) words, so a race in the program is none in Rust.

use super::heap::object;
use super::thread::{Ref, Thread};
use jit::ir::ClassId;
use jit::layout::{ARRAY_DATA, LOG_BYTE, Shape};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::*};

pub fn word(obj: Ref, offset: i32) -> &'static AtomicU64 {
    debug_assert!(!obj.is_null() && offset >= 8);
    // SAFETY: a field of a live object, 8-aligned; the caller uses it before the next safepoint.
    unsafe { AtomicU64::from_ptr((obj.0 + offset as u64) as *mut u64) }
}

pub fn byte(array: Ref, index: usize) -> &'static AtomicU8 {
    debug_assert!(index < len(array));
    // SAFETY: an element of a live byte array; the caller uses it before the next safepoint.
    unsafe { AtomicU8::from_ptr((array.0 as usize + ARRAY_DATA as usize + index) as *mut u8) }
}

pub fn load(obj: Ref, offset: i32) -> u64 {
    word(obj, offset).load(Relaxed)
}

pub fn load_ref(obj: Ref, offset: i32) -> Ref {
    Ref(load(obj, offset))
}

pub fn store(obj: Ref, offset: i32, value: u64) {
    word(obj, offset).store(value, Relaxed);
}

/// Stores a reference, with the barrier.
#[inline]
pub fn store_ref(thread: &Thread, obj: Ref, offset: i32, value: Ref) {
    store(obj, offset, value.0);
    barrier(thread, obj);
}

/// What has to follow (or precede, with no safepoint in between) a store of a reference.
#[inline]
pub fn barrier(thread: &Thread, obj: Ref) {
    // SAFETY: the log byte of a live object.
    let log = unsafe { AtomicU8::from_ptr((obj.0 as usize + LOG_BYTE as usize) as *mut u8) };
    if log.load(Relaxed) & object::NOT_LOGGED != 0 {
        thread.remember(obj);
    }
}

pub fn class_of(thread: &Thread, obj: Ref) -> ClassId {
    // SAFETY: a live object.
    let id = unsafe { object::desc(thread.runtime.classes.base(), object::header(obj.0 as usize)) }.id;
    ClassId::from_u32(id)
}

/// Elements of an array.
pub fn len(array: Ref) -> usize {
    // SAFETY: a live array; lengths never change.
    unsafe { object::array_len(array.0 as usize) }
}

/// The bytes of a `Str` or `Bytes`, until the next safepoint. Null is empty.
pub fn bytes<'a>(array: Ref) -> &'a [u8] {
    if array.is_null() {
        return &[];
    }
    // SAFETY: a live byte array. (Another thread's racing stores into a `Bytes` show as old or new bytes.)
    unsafe { std::slice::from_raw_parts((array.0 as usize + ARRAY_DATA as usize) as *const u8, len(array)) }
}

/// The data of a `Str` as whole words, until the next safepoint: zeros follow the text. Null is empty.
pub fn words<'a>(str: Ref) -> &'a [u64] {
    let count = bytes(str).len().div_ceil(8);
    if count == 0 {
        return &[];
    }
    // SAFETY: a live array of bytes, which takes whole words, all of them written. (Texts are filled once, and not beyond their length.)
    unsafe { std::slice::from_raw_parts((str.0 as usize + ARRAY_DATA as usize) as *const u64, count) }
}

/// The text of a `Str`, until the next safepoint. Null is empty.
pub fn text<'a>(str: Ref) -> &'a str {
    // SAFETY: every `Str` is made from text.
    unsafe { std::str::from_utf8_unchecked(bytes(str)) }
}

/// Fills the bytes of a fresh array.
pub fn bytes_mut(array: Ref, f: impl FnOnce(&mut [u8])) {
    // SAFETY: nobody else knows the array yet.
    f(unsafe { std::slice::from_raw_parts_mut((array.0 as usize + ARRAY_DATA as usize) as *mut u8, len(array)) });
}

pub fn element(array: Ref, index: usize) -> &'static AtomicU64 {
    debug_assert!(index < len(array));
    // SAFETY: an element of a live array of words; the caller uses it before the next safepoint.
    unsafe { AtomicU64::from_ptr((array.0 as usize + ARRAY_DATA as usize + 8 * index) as *mut u64) }
}

/// Copies elements between arrays of one shape, which may be the same array; both ranges are within bounds. Word elements are copied as whole words. For references the barrier is the caller's.
pub fn copy_elements(shape: Shape, source: Ref, from: usize, target: Ref, at: usize, count: usize) {
    debug_assert!(from + count <= len(source) && at + count <= len(target));
    let data = |array: Ref| array.0 as usize + ARRAY_DATA as usize;
    // SAFETY: both ranges are within their arrays.
    unsafe {
        match shape {
            Shape::ByteArray => std::ptr::copy((data(source) + from) as *const u8, (data(target) + at) as *mut u8, count),
            _ => std::ptr::copy((data(source) as *const u64).add(from), (data(target) as *mut u64).add(at), count),
        }
    }
}

/// Copies bytes into a byte array at an index from which they fit.
pub fn copy_bytes(from: &[u8], target: Ref, at: usize) {
    debug_assert!(at + from.len() <= len(target));
    // SAFETY: within the array; `from` may be part of the same array only in a `Bytes` seen as text, which there is not.
    unsafe { std::ptr::copy(from.as_ptr(), (target.0 as usize + ARRAY_DATA as usize + at) as *mut u8, from.len()) };
}
