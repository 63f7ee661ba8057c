//! How a thread allocates: from its own buffer, else from the heap, which may have to collect for that.
//!
//! In: classes, lengths. Out: zeroed objects with their headers, and arrays with their lengths; or that there is no memory, not even after collecting everything.
//! Invariant: every allocation may collect, and move what is not rooted, but [`Thread::alloc_str_in_place`] and those from the reserve.

use super::{OutOfMemory, Ref, Thread};
use crate::runtime::heap::object::*;
use crate::runtime::heap::{LargeResult, Want};
use crate::runtime::tuning;
use jit::ir::ClassId;
use jit::layout::{ARRAY_LENGTH, ClassDesc, Shape};

impl Thread {
    pub fn alloc_object(&self, class: ClassId) -> Result<Ref, OutOfMemory> {
        let classes = &self.runtime.classes;
        self.allocate(classes.word(class), classes.desc(class).size as usize).map(Ref)
    }

    /// A zeroed array; the length is not negative.
    pub fn alloc_array(&self, class: ClassId, length: usize) -> Result<Ref, OutOfMemory> {
        let classes = &self.runtime.classes;
        let size = array_bytes(classes.desc(class), length).ok_or(OutOfMemory)?;
        let obj = self.allocate(classes.word(class), size)?;
        Ok(with_length(obj, length))
    }

    /// As [`Thread::alloc_array`], of a text: these are made most often, and from Rust only.
    pub fn alloc_str(&self, length: usize) -> Result<Ref, OutOfMemory> {
        let obj = self.allocate(self.runtime.str_word, str_bytes(length)?)?;
        Ok(with_length(obj, length))
    }

    /// As [`Thread::alloc_str`], if that takes no collection: references stay where they are.
    pub fn alloc_str_in_place(&self, length: usize) -> Option<Ref> {
        let size = str_bytes(length).ok().filter(|&size| size <= tuning::LARGE && !self.is_watched())?;
        self.bump(self.runtime.str_word, size).map(|obj| with_length(obj, length))
    }

    /// Each allocation counts.
    fn is_watched(&self) -> bool {
        #[cfg(test)]
        if self.fail_allocation.get() > 0 {
            return true;
        }
        self.stress_left.get() > 0
    }

    /// From the thread's buffer.
    #[inline(always)]
    fn bump(&self, class_word: u32, size: usize) -> Option<u64> {
        let ctx = self.ctx.get();
        // SAFETY: on the thread itself; the buffer is its own and zero.
        unsafe {
            let obj = (*ctx).alloc_cursor;
            if (*ctx).alloc_limit - obj < size as u64 {
                return None;
            }
            (*ctx).alloc_cursor = obj + size as u64;
            set_header(obj as usize, make_header(class_word, 0, LOGGED));
            Some(obj)
        }
    }

    fn allocate(&self, class_word: u32, size: usize) -> Result<u64, OutOfMemory> {
        if self.stress_left.get() > 0 {
            self.stress();
        }
        #[cfg(test)]
        if self.fail_allocation.get() > 0 {
            self.fail_allocation.set(self.fail_allocation.get() - 1);
            if self.fail_allocation.get() == 0 {
                return Err(OutOfMemory);
            }
        }
        if size > tuning::LARGE {
            return self.allocate_large(class_word, size);
        }
        if let Some(obj) = self.bump(class_word, size) {
            return Ok(obj);
        }
        let obj = self.allocate_slow(size)?;
        // SAFETY: fresh zeroed memory of this size.
        unsafe { set_header(obj as usize, make_header(class_word, 0, LOGGED)) };
        Ok(obj)
    }

    #[cold]
    fn allocate_slow(&self, size: usize) -> Result<u64, OutOfMemory> {
        loop {
            if let Some(obj) = self.take(size) {
                return Ok(obj);
            }
            if self.collect(Want::Nursery) == Some(false) {
                return Err(OutOfMemory);
            }
        }
    }

    /// From a new buffer, or past the buffer if that has much left.
    fn take(&self, size: usize) -> Option<u64> {
        let ctx = self.ctx.get();
        let stress = self.stress_left.get() > 0;
        // SAFETY: on the thread itself.
        unsafe {
            let left = (*ctx).alloc_limit - (*ctx).alloc_cursor;
            let alone = stress || size > tuning::BUFFER_BYPASS && left > 2 * tuning::BUFFER_BYPASS as u64;
            let (start, end) = self.runtime.heap.take_buffer(size, alone)?;
            if !alone {
                (*ctx).alloc_cursor = (start + size) as u64;
                (*ctx).alloc_limit = end as u64;
            }
            Some(start as u64)
        }
    }

    fn allocate_large(&self, class_word: u32, size: usize) -> Result<u64, OutOfMemory> {
        let heap = &self.runtime.heap;
        if size > heap.max() {
            return Err(OutOfMemory);
        }
        loop {
            if let LargeResult::Object(obj) = heap.allocate_large(class_word, size, false) {
                return Ok(obj as u64);
            }
            if self.collect(Want::Large(size)) == Some(false) {
                return Err(OutOfMemory);
            }
        }
    }

    /// For error objects when memory has run out: from the reserve kept for them. Never collects.
    fn allocate_reserved(&self, class_word: u32, size: usize) -> Result<u64, OutOfMemory> {
        if size <= tuning::LARGE
            && let Some(obj) = self.take(size)
        {
            // SAFETY: fresh zeroed memory of this size.
            unsafe { set_header(obj as usize, make_header(class_word, 0, LOGGED)) };
            return Ok(obj);
        }
        match self.runtime.heap.allocate_large(class_word, size, true) {
            LargeResult::Object(obj) => Ok(obj as u64),
            LargeResult::Collect => Err(OutOfMemory),
        }
    }

    pub fn alloc_object_reserved(&self, class: ClassId) -> Result<Ref, OutOfMemory> {
        let classes = &self.runtime.classes;
        self.allocate_reserved(classes.word(class), classes.desc(class).size as usize).map(Ref)
    }

    pub fn alloc_array_reserved(&self, class: ClassId, length: usize) -> Result<Ref, OutOfMemory> {
        let classes = &self.runtime.classes;
        let size = array_bytes(classes.desc(class), length).ok_or(OutOfMemory)?;
        let obj = self.allocate_reserved(classes.word(class), size)?;
        Ok(with_length(obj, length))
    }

    fn stress(&self) {
        let left = self.stress_left.get() - 1;
        self.stress_left.set(left.max(1));
        if left == 0 {
            self.stress_left.set(self.runtime.heap.stress().map_or(0, |n| n.get()));
            self.collect(Want::Nursery);
            // And soon at a yield point: code keeps references there in a way of its own.
            let turn = (self.stress_turn.get() + 1) % (2 * STRESS_YIELDS);
            self.stress_turn.set(turn);
            self.stress_yields.set(turn % STRESS_YIELDS + 1);
            self.poison();
        }
    }

    /// At a yield point.
    pub(super) fn stress_yield(&self) {
        let left = self.stress_yields.get();
        if left == 0 {
            return;
        }
        self.stress_yields.set(left - 1);
        if left == 1 {
            // In a turn of its own, so that allocations meet both kinds, too.
            self.collect(if self.stress_turn.get().is_multiple_of(2) { Want::Minor } else { Want::Major });
        } else {
            self.poison();
        }
    }
}

/// Under stress, a collection at a yield point follows one at an allocation: at the first yield point behind it, the next time at the second, and so on to this one. (Odd, so that each of them has minor and major ones.)
const STRESS_YIELDS: u32 = 5;

/// Bytes of an array of so many elements; `None` past the address space.
fn array_bytes(desc: &ClassDesc, length: usize) -> Option<usize> {
    sized(match desc.shape {
        Shape::ByteArray => length.checked_next_multiple_of(8),
        _ => length.checked_mul(8),
    })
}

fn str_bytes(length: usize) -> Result<usize, OutOfMemory> {
    sized(length.checked_next_multiple_of(8)).ok_or(OutOfMemory)
}

/// Of an array with so many bytes of data.
fn sized(data: Option<usize>) -> Option<usize> {
    data?.checked_add(16).filter(|&b| b <= isize::MAX as usize)
}

/// A fresh array.
#[inline(always)]
fn with_length(obj: u64, length: usize) -> Ref {
    // SAFETY: every array has its length there.
    unsafe { *((obj as usize + ARRAY_LENGTH as usize) as *mut u64) = length as u64 };
    Ref(obj)
}
