//! The major collection: marks from the roots, then slides the old generation together in place.
//!
//! In: an empty young generation (but for marking that only asks what is dead), roots. Out: an old generation without (but for some dead wood at its bottom) dead objects, large objects swept.
//! Where an object goes is never stored: it follows from the mark bits, which cover all words of live objects, and a table with the destination of each 512-byte region's first live word
//! (the Compressor: Kermany and Petrank, PLDI 2006). So one pass over the bits and one over the objects suffice, and the tables are 1/32 of the old generation.
//! An object for which the mark stack has no room makes its region grey: the table of destinations, of which marking makes no use otherwise, links grey regions, and they are scanned once the stack is empty.
//! Invariants: an object never moves up; one whose identity hash was taken in place grows by a word when it moves, which fits because it moves down by at least one word.

use super::*;
use jit::layout::{ARRAY_DATA, ClassDesc, Shape};

/// Bytes of old generation for each word of mark bits and entry of the offset table.
const REGION: usize = 512;
/// In the offset table: objects in this region grow, or end here after growing.
const GROWS: u64 = 1;
/// The end of the list of grey regions; 0 in the table: the region is not grey.
const LAST_GREY: u64 = 1 << 6;
/// In the table's entry of a grey region: the word of its first object that was not scanned. The rest is the number of the next grey region, counted from 2.
const GREY_WORD: u64 = LAST_GREY - 1;

/// Bytes of tables for so much old generation.
pub(super) fn table_bytes(old: usize) -> usize {
    2 * (old.div_ceil(REGION) + 1) * 8
}

struct Tables {
    /// What they cover, called the old generation here, which it is but in [`Heap::forget_dead`].
    old: usize,
    old_len: usize,
    regions: usize,
    bits: *mut u64,
    offsets: *mut u64,
    /// Everything below stays where it is.
    fixed_end: usize,
    /// Ends of the objects that grow, ascending.
    growth: Vec<usize>,
}

struct Marker<'a> {
    base: usize,
    tables: &'a Tables,
    large: usize,
    large_len: usize,
    stack: Vec<usize>,
    stack_max: usize,
    /// Reference arrays marked as far as the index.
    arrays: Vec<(usize, usize)>,
    /// The first of the grey regions, as in their table.
    grey: u64,
    rescanned: u64,
    live_words: usize,
    /// Objects whose hash was taken where they stand.
    hashed: Vec<usize>,
}

impl Heap {
    /// For the objects between two addresses. They have to be clear.
    fn tables_for(&self, from: usize, to: usize) -> Tables {
        let regions = (to - from).div_ceil(REGION) + 1;
        Tables {
            old: from,
            old_len: to - from,
            regions,
            bits: self.tables.base() as *mut u64,
            offsets: (self.tables.base() + regions * 8) as *mut u64,
            fixed_end: from,
            growth: Vec::new(),
        }
    }

    fn clear(&self, tables: &Tables) {
        let end = self.tables.base() + table_bytes(tables.old_len);
        // SAFETY: nothing is looked up in the tables any more.
        unsafe { self.tables.release(self.tables.base(), end.next_multiple_of(PAGE)) };
    }

    fn marker<'a>(&self, tables: &'a Tables) -> Marker<'a> {
        Marker {
            base: self.base,
            tables,
            large: self.geometry.large,
            large_len: self.geometry.large_end - self.geometry.large,
            stack: Vec::new(),
            stack_max: self.mark_stack(),
            arrays: Vec::new(),
            grey: LAST_GREY,
            rescanned: 0,
            live_words: 0,
            hashed: Vec::new(),
        }
    }

    /// Forgets remembered objects that are dead, so that the minor collection before a major one does not keep and promote what only they refer to. Marks the whole heap for it, the young generation too.
    pub(super) fn forget_dead(&self, inner: &mut Inner, roots: &mut dyn Roots) {
        let tables = self.tables_for(self.geometry.nursery, inner.old_top);
        // SAFETY: the world is stopped, the tables are zero and large enough.
        unsafe {
            let mut marker = self.marker(&tables);
            roots.visit(&mut |slot| marker.mark(*slot as usize));
            marker.run();
            self.metrics.rescanned_objects.add(marker.rescanned);
            inner.remembered.retain(|&obj| marker.is_marked(obj));
        }
        inner.large.unmark();
        self.clear(&tables);
    }

    pub(super) fn major(&self, inner: &mut Inner, roots: &mut dyn Roots) {
        let g = &self.geometry;
        let old_len = inner.old_top - g.old;
        let mut tables = self.tables_for(g.old, inner.old_top);
        // SAFETY: the world is stopped, the young generation is empty, and the tables are zero and large enough.
        unsafe {
            let mut marker = self.marker(&tables);
            roots.visit(&mut |slot| marker.mark(*slot as usize));
            marker.run();
            self.metrics.rescanned_objects.add(marker.rescanned);
            let (live, mut hashed) = (marker.live_words * 8, std::mem::take(&mut marker.hashed));
            inner.large.sweep();
            hashed.sort_unstable();
            let roomy = inner.limit < self.options.max || live < self.options.max / 2;
            let allowance = if roomy && self.options.stress.is_none() { (old_len - live) / tuning::DEAD_WOOD_SHARE } else { 0 };
            let new_top = tables.plan(allowance, &hashed, self.base);
            roots.visit(&mut |slot| tables.update(slot));
            for obj in inner.large.all() {
                for_each_ref(obj, desc(self.base, header(obj)), |slot| tables.update(slot));
            }
            let live = live + 8 * tables.growth.len();
            inner.dead_wood = new_top - g.old - live;
            inner.live = Some(live + inner.large.bytes());
            self.metrics.live_bytes.set((live + inner.large.bytes()) as u64);
            let slid = tables.slide(self.base);
            self.metrics.slid_bytes.add(slid as u64);
            self.poison(new_top, inner.old_top);
            inner.old_top = new_top;
        }
        self.clear(&tables);
    }
}

impl Marker<'_> {
    /// Of an old object.
    unsafe fn is_marked(&self, obj: usize) -> bool {
        // SAFETY: by the caller.
        unsafe {
            if obj.wrapping_sub(self.large) < self.large_len { gc_byte(header(obj)) & MARKED != 0 } else { self.tables.is_marked(obj) }
        }
    }

    #[inline(always)]
    unsafe fn mark(&mut self, obj: usize) {
        // SAFETY: by the caller null or an object.
        unsafe {
            if obj.wrapping_sub(self.tables.old) < self.tables.old_len {
                if self.tables.is_marked(obj) {
                    return;
                }
                let h = header(obj);
                let desc = desc(self.base, h);
                let size = full_size(obj, h, desc);
                self.tables.set_marks(obj, size / 8);
                self.live_words += size / 8;
                if gc_byte(h) & (HASHED | HASH_WORD) == HASHED {
                    self.hashed.push(obj);
                }
                self.push(obj, desc);
            } else if obj.wrapping_sub(self.large) < self.large_len {
                let h = header(obj);
                if gc_byte(h) & MARKED == 0 {
                    set_header(obj, h | u64::from(MARKED));
                    self.push(obj, desc(self.base, h));
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn push(&mut self, obj: usize, desc: &ClassDesc) {
        if !has_refs(desc) {
            return;
        }
        // The stack may grow by large objects: they are few for the memory they take.
        if self.stack.len() < self.stack_max || obj.wrapping_sub(self.large) < self.large_len {
            self.stack.push(obj);
        } else {
            // SAFETY: an object of the old generation.
            unsafe { self.make_grey(obj) };
        }
    }

    /// Puts off the scan of an object of the old generation.
    #[cold]
    unsafe fn make_grey(&mut self, obj: usize) {
        let (region, word) = self.tables.position(obj);
        // SAFETY: the object's region has an entry.
        let entry = unsafe { &mut *self.tables.offsets.add(region) };
        if *entry == 0 {
            *entry = self.grey | u64::from(word);
            self.grey = (region as u64 + 2) << 6;
        } else if u64::from(word) < *entry & GREY_WORD {
            *entry = *entry & !GREY_WORD | u64::from(word);
        }
    }

    /// Takes a grey region off the list: where its first grey object lies, and where it ends.
    unsafe fn take_grey(&mut self) -> Option<(usize, usize)> {
        let region = (self.grey >> 6).checked_sub(2)? as usize;
        // SAFETY: a region in the list has an entry.
        let entry = unsafe { std::mem::take(&mut *self.tables.offsets.add(region)) };
        self.grey = entry & !GREY_WORD;
        let start = self.tables.old + region * REGION;
        Some((start + 8 * (entry & GREY_WORD) as usize, start + REGION))
    }

    /// Each turn scans an object at least for the first time, and a few besides, so all turns together take time for the objects alone.
    unsafe fn run(&mut self) {
        // SAFETY: by the caller: everything pushed is an object, and so is the first in a grey region.
        unsafe {
            self.drain();
            while let Some((from, to)) = self.take_grey() {
                let tables = self.tables;
                tables.for_each_live(self.base, from, to, |obj, desc, _| {
                    self.rescanned += 1;
                    for_each_ref(obj, desc, |slot| self.mark(*slot as usize));
                });
                self.drain();
            }
        }
    }

    unsafe fn drain(&mut self) {
        // SAFETY: everything on the stacks is an object.
        unsafe {
            loop {
                if let Some(obj) = self.stack.pop() {
                    let desc = desc(self.base, header(obj));
                    if desc.shape == Shape::RefArray && array_len(obj) > tuning::MARK_CHUNK {
                        self.arrays.push((obj, 0));
                    } else {
                        for_each_ref(obj, desc, |slot| self.mark(*slot as usize));
                    }
                } else if let Some((array, from)) = self.arrays.pop() {
                    // In pieces, so that a wide array does not fill the stack.
                    let to = (from + tuning::MARK_CHUNK).min(array_len(array));
                    if to < array_len(array) {
                        self.arrays.push((array, to));
                    }
                    let data = (array + ARRAY_DATA as usize) as *const u64;
                    (from..to).for_each(|i| self.mark(*data.add(i) as usize));
                } else {
                    return;
                }
            }
        }
    }
}

impl Tables {
    #[inline(always)]
    fn position(&self, obj: usize) -> (usize, u32) {
        let word = (obj - self.old) >> 3;
        (word >> 6, (word & 63) as u32)
    }

    #[inline(always)]
    unsafe fn is_marked(&self, obj: usize) -> bool {
        let (i, bit) = self.position(obj);
        // SAFETY: objects of the old generation have bits.
        unsafe { *self.bits.add(i) >> bit & 1 != 0 }
    }

    #[inline(always)]
    unsafe fn set_marks(&self, obj: usize, words: usize) {
        let (mut i, bit) = self.position(obj);
        // SAFETY: objects of the old generation have bits.
        unsafe {
            let here = (64 - bit as usize).min(words);
            *self.bits.add(i) |= (u64::MAX >> (64 - here)) << bit;
            let mut left = words - here;
            while left > 0 {
                i += 1;
                let here = left.min(64);
                *self.bits.add(i) |= u64::MAX >> (64 - here);
                left -= here;
            }
        }
    }

    /// The first marked word at or above an address, or the end of the old generation.
    #[inline(always)]
    unsafe fn next_live(&self, from: usize) -> usize {
        let end = self.old + self.old_len;
        if from >= end {
            return end;
        }
        let (mut i, bit) = self.position(from);
        // SAFETY: below the end there are bits; one more word of zeros follows them.
        unsafe {
            let mut word = *self.bits.add(i) & (u64::MAX << bit);
            while word == 0 {
                i += 1;
                if self.old + i * REGION >= end {
                    return end;
                }
                word = *self.bits.add(i);
            }
            self.old + i * REGION + word.trailing_zeros() as usize * 8
        }
    }

    /// Calls `f` with every marked object of the old generation that begins between two addresses (the first is in no object's middle), its descriptor and size, in address order.
    unsafe fn for_each_live(&self, base: usize, from: usize, to: usize, mut f: impl FnMut(usize, &ClassDesc, usize)) {
        let end = to.min(self.old + self.old_len);
        // SAFETY: after an object's last word the next marked word begins an object.
        unsafe {
            let mut obj = self.next_live(from);
            while obj < end {
                let h = header(obj);
                let desc = desc(base, h);
                let size = full_size(obj, h, desc);
                f(obj, desc, size);
                obj = self.next_live(obj + size);
            }
        }
    }

    /// Fills the offset table; gives the new top. Up to `allowance` dead bytes at the bottom stay.
    unsafe fn plan(&mut self, allowance: usize, hashed: &[usize], base: usize) -> usize {
        let (mut dead, mut first) = (0, 0);
        // SAFETY: the tables have an entry for each region; hashed objects are live objects.
        unsafe {
            while first < self.regions {
                dead += REGION - 8 * (*self.bits.add(first)).count_ones() as usize;
                if dead > allowance {
                    break;
                }
                first += 1;
            }
            self.fixed_end = self.old + first * REGION;
            if self.fixed_end >= self.old + self.old_len {
                return self.old + self.old_len;
            }
            let mut hashed = &hashed[hashed.partition_point(|&h| h < self.fixed_end)..];
            let mut to = self.fixed_end;
            let mut passed = 0;
            for i in first..self.regions {
                let (start, end) = (self.old + i * REGION, self.old + (i + 1) * REGION);
                // Growth whose object ends at or before this region's start is in `to`.
                *self.offsets.add(i) = to as u64 | if passed < self.growth.len() { GROWS } else { 0 };
                while let [obj, rest @ ..] = hashed
                    && *obj < end
                {
                    hashed = rest;
                    if self.forward(*obj) < *obj {
                        let size = base_size(*obj, desc(base, header(*obj)));
                        self.growth.push(*obj + size);
                        *self.offsets.add(i) |= GROWS;
                    }
                }
                let grown = self.growth[passed..].iter().take_while(|&&e| e <= end).count();
                debug_assert!(start < end);
                passed += grown;
                to += 8 * ((*self.bits.add(i)).count_ones() as usize + grown);
            }
            to
        }
    }

    /// Where a marked object of the old generation goes.
    #[inline(always)]
    unsafe fn forward(&self, obj: usize) -> usize {
        if obj < self.fixed_end {
            return obj;
        }
        let (i, bit) = self.position(obj);
        // SAFETY: the object's region has an entry.
        unsafe {
            let offset = *self.offsets.add(i);
            let below = (*self.bits.add(i) & ((1 << bit) - 1)).count_ones() as usize;
            let to = (offset & !GROWS) as usize + 8 * below;
            if offset & GROWS == 0 { to } else { to + 8 * self.growth_in_region(i, obj) }
        }
    }

    #[cold]
    fn growth_in_region(&self, region: usize, obj: usize) -> usize {
        let start = self.old + region * REGION;
        self.growth.partition_point(|&e| e <= obj) - self.growth.partition_point(|&e| e <= start)
    }

    #[inline(always)]
    unsafe fn update(&self, slot: *mut u64) {
        // SAFETY: by the caller a slot with null or a live object's address.
        unsafe {
            let obj = *slot as usize;
            if obj.wrapping_sub(self.old) < self.old_len {
                *slot = self.forward(obj) as u64;
            }
        }
    }

    /// Updates every live object's references and moves it; gives the bytes moved.
    unsafe fn slide(&self, base: usize) -> usize {
        let mut moved = 0;
        // SAFETY: objects move down in address order, so none overwrites one that has not moved yet; the walk reads an object before it moves.
        unsafe {
            self.for_each_live(base, self.old, self.old + self.old_len, |obj, desc, size| {
                for_each_ref(obj, desc, |slot| self.update(slot));
                let to = self.forward(obj);
                let mut h = with_log(header(obj), NOT_LOGGED);
                if to != obj {
                    let hash = (gc_byte(h) & (HASHED | HASH_WORD) == HASHED).then(|| address_hash(obj));
                    if hash.is_some() {
                        h |= u64::from(HASH_WORD);
                    }
                    move_down(obj, to, size);
                    if let Some(hash) = hash {
                        *((to + size) as *mut u64) = hash;
                    }
                    moved += size;
                }
                set_header(to, h);
            });
        }
        moved
    }
}

#[inline(always)]
unsafe fn move_down(from: usize, to: usize, bytes: usize) {
    // SAFETY: by the caller; ascending word copies are right for overlapping ranges that move down.
    unsafe {
        if bytes > 128 {
            std::ptr::copy(from as *const u8, to as *mut u8, bytes);
            return;
        }
        let mut i = 0;
        while i < bytes {
            *((to + i) as *mut u64) = *((from + i) as *const u64);
            i += 8;
        }
    }
}
