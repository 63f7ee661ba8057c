//! How much memory everything may take, when to collect what, and how large the nursery is: the arithmetic of `--heap`.
//!
//! Counted are the nursery, survivors, the old generation, large objects (in pages), the tables and mark stack of a major collection, remembered objects, the error reserve and
//! the fixed parts. Invariant kept between collections: `free − survivors ≥ 2 × nursery` (and a little for tables and remembered objects), so that a minor collection has room for all it may copy. What is resident but idle is kept for what comes, and given
//! back where the limit might be exceeded with it ([`Heap::trim`]). When memory gets scarce the nursery shrinks; below its smallest useful size memory is exhausted, the program gets its error, and the handler a little that was kept back.

use super::{Heap, Inner, PAGE};
use crate::runtime::tuning;
use std::sync::atomic::Ordering::Relaxed;

fn remembered_bytes(inner: &Inner) -> usize {
    inner.remembered.capacity() * 8
}

impl Heap {
    /// Entries of the mark stack.
    pub(super) fn mark_stack(&self) -> usize {
        self.options.mark_stack.min(self.options.max / 64 / 16)
    }

    /// What an error handler may still use once memory has run out.
    fn grace_bytes(&self) -> usize {
        (self.options.max / tuning::GRACE_SHARE).clamp(16 * PAGE, 1 << 20)
    }

    fn fixed(&self, inner: &Inner) -> usize {
        let grace = if inner.grace { 0 } else { self.grace_bytes() };
        self.options.fixed + tuning::ERROR_RESERVE + self.mark_stack() * 8 + grace
    }

    fn old_bytes(&self, inner: &Inner) -> usize {
        inner.old_top - self.geometry.old
    }

    pub(super) fn survivor_bytes(&self, inner: &Inner) -> usize {
        inner.survivor_top - self.geometry.survivors[inner.survivor]
    }

    /// Bytes of objects, nursery as far as it has been handed out, without what is known to be dead.
    pub(super) fn used(&self, inner: &Inner) -> usize {
        let nursery = self.nursery_next.load(Relaxed) - self.geometry.nursery;
        nursery + self.survivor_bytes(inner) + self.old_bytes(inner) - inner.dead_wood + inner.large.bytes()
    }

    /// Bytes below the limit once everything but the nursery and the survivors is counted.
    pub(super) fn free(&self, inner: &Inner) -> usize {
        let old = self.old_bytes(inner);
        let used =
            self.fixed(inner) + old + super::major::table_bytes(old) + inner.large.bytes() + remembered_bytes(inner) + inner.idle_survivors;
        inner.limit.saturating_sub(used)
    }

    /// The smallest nursery that is worth running with.
    fn smallest_nursery(&self, inner: &Inner) -> usize {
        if inner.grace { 4 * PAGE } else { (self.options.max / 256).clamp(8 * PAGE, 1 << 20) }
    }

    /// What a nursery of this size needs: itself, room to copy all of it, that room's share of tables, and what is remembered until the next collection.
    fn cost_of_nursery(size: usize) -> usize {
        2 * size + super::major::table_bytes(size) + size / tuning::REMEMBERED_SHARE + PAGE
    }

    /// What a nursery of this size and the survivors need until the next collection has ended.
    fn needed(&self, inner: &Inner, nursery: usize) -> usize {
        Self::cost_of_nursery(nursery) + 2 * self.survivor_bytes(inner)
    }

    /// Whether what is remembered takes so much that it might not stay below its share when it is doubled.
    pub(super) fn remembers_much(&self, inner: &Inner) -> bool {
        2 * remembered_bytes(inner) > inner.nursery_size / tuning::REMEMBERED_SHARE
    }

    fn nursery_for(&self, room: usize) -> usize {
        // The inverse of `cost_of_nursery`, rounded down.
        let size = room.saturating_sub(2 * PAGE) / 35 * 16;
        size & !(PAGE - 1)
    }

    /// After a minor collection that found so many bytes in the nursery and went through so many, copies, remembered objects and roots: where that is much, collections should be rare, and objects get more time to die in;
    /// where it is little, a small nursery stays in the caches.
    pub(super) fn judge_nursery(&self, inner: &mut Inner, filled: usize, work: usize) {
        let times = tuning::WORK_SHARE * work / filled.max(1);
        if filled > inner.nursery_size / 2 && times > 0 {
            self.enlarge_nursery(inner, (1 + times).min(tuning::NURSERY_STEP));
        }
    }

    /// Whether minor collections copy much more than is alive, since dead old objects refer to it (nepotism: Ungar and Jackson, OOPSLA 1988): then a major one takes less time than the next minor one would, and promotes nothing that is dead.
    /// What was alive after the last major collection says so, and now and then a minor one tells whether it is still so.
    pub(super) fn suspects_nepotism(&self, inner: &Inner) -> bool {
        let Some(live) = inner.live else { return false };
        inner.full_since < tuning::NEPOTISM_TRUST && inner.copied > (2 * live).max(inner.nursery_size / 4)
    }

    pub(super) fn enlarge_nursery(&self, inner: &mut Inner, times: usize) {
        inner.nursery_wish = inner.nursery_wish.saturating_mul(times).min(self.geometry.nursery_cap);
    }

    /// Gives back what is resident but idle, as far as with it more might become resident than the limit says: while threads fill the nursery and the next collection copies it. Copies
    /// take the old generation's idle pages first, except those that go to the survivor space.
    pub(super) fn trim(&self, inner: &mut Inner) {
        let survivors = self.survivor_bytes(inner);
        // The survivor space in use has been touched as far as the other one, at most.
        let touched = inner.idle_survivors.saturating_sub(survivors);
        let spare = self.free(inner).saturating_sub(self.needed(inner, inner.nursery_size) + touched);
        if inner.large.idle_bytes() > spare {
            inner.large.release_idle(&self.space);
        }
        let copies = (inner.nursery_size + survivors).saturating_sub(self.geometry.survivor_cap);
        let keep = (inner.old_top + spare - inner.large.idle_bytes() + copies).next_multiple_of(PAGE);
        if keep < inner.old_resident {
            // SAFETY: nothing lies above the old generation's top.
            unsafe { self.space.release(keep, inner.old_resident.next_multiple_of(PAGE)) };
            inner.old_resident = keep;
        }
    }

    /// Sets the nursery to what the free memory allows, with `large` bytes to spare. The nursery is empty. False if there is not enough.
    pub(super) fn resize_nursery(&self, inner: &mut Inner, large: usize) -> bool {
        if self.free(inner) < self.needed(inner, inner.nursery_wish) + large {
            let [used, idle] = [inner.survivor, 1 - inner.survivor].map(|space| self.geometry.survivors[space]);
            // SAFETY: nothing lives in the space that is not in use, nor above the other's top.
            unsafe {
                self.space.release(idle, idle + self.geometry.survivor_cap);
                self.space.release(inner.survivor_top, used + self.geometry.survivor_cap);
            }
            inner.idle_survivors = 0;
        }
        let room = self.free(inner).saturating_sub(2 * self.survivor_bytes(inner));
        let size_for = |room: usize| self.nursery_for(room).min(inner.nursery_wish);
        let (with, without) = (size_for(room.saturating_sub(large)), size_for(room));
        let smallest = self.smallest_nursery(inner).min(inner.nursery_wish);
        let fits = with >= smallest && large <= room;
        let size = if fits {
            with
        } else if without >= smallest {
            without
        } else {
            0
        };
        let start = self.geometry.nursery;
        if size < inner.nursery_size {
            // SAFETY: the nursery is empty.
            unsafe { self.space.release(start + size, start + inner.nursery_size) };
        }
        inner.nursery_size = size;
        self.nursery_next.store(start, Relaxed);
        self.nursery_end.store(start + size, Relaxed);
        self.note_peak(inner);
        self.trim(inner);
        fits
    }

    /// Whether a large object fits beside the nursery as it is. Young large objects beyond the largest nursery's worth ask for a collection too.
    pub(super) fn large_fits(&self, inner: &Inner, bytes: usize) -> bool {
        let young = inner.large.young_bytes();
        if young > 0 && young + bytes > self.geometry.nursery_cap {
            return false;
        }
        self.free(inner).checked_sub(bytes).is_some_and(|left| left >= self.needed(inner, inner.nursery_size))
    }

    /// Whether to collect the old generation now, with `large` bytes to spare. As long as the heap may still grow, when the nursery would have to shrink; at its maximum, when free memory has shrunk so far that the nursery
    /// would soon have to shrink much: more would be spent on what is alive than is won.
    pub(super) fn wants_major(&self, inner: &Inner, large: usize) -> bool {
        let trigger = if inner.limit < self.options.max {
            self.needed(inner, inner.nursery_wish) + large
        } else {
            (inner.free_after_major / 4).min(3 * self.geometry.nursery_cap)
        };
        self.free(inner) < trigger
    }

    /// After a major collection that left too little. The first time memory runs out, what was kept back for handlers becomes the nursery, and `false` lets the error be thrown; from then on that is
    /// what there is, until a collection finds room again.
    pub(super) fn grant_grace(&self, inner: &mut Inner, had_grace: bool, large: usize) -> bool {
        inner.grace = true;
        self.resize_nursery(inner, large) && had_grace
    }

    /// How far a heap with so much in it may grow until the next major collection: far enough for the nursery that is wished for.
    pub(super) fn limit_for(&self, inner: &Inner, taken: usize) -> usize {
        let wished = taken / 4 * tuning::GROWTH_QUARTERS + 5 * inner.nursery_wish + self.fixed(inner);
        wished.max(tuning::FIRST_LIMIT).min(self.options.max)
    }

    /// After a major collection.
    pub(super) fn set_limit(&self, inner: &mut Inner, want: usize) {
        let taken = self.old_bytes(inner) + inner.large.bytes();
        inner.limit = self.limit_for(inner, taken + want);
        inner.free_after_major = self.free(inner);
    }

    /// Records the most that was ever counted, the copies of the coming collection not included.
    pub(super) fn note_peak(&self, inner: &Inner) {
        let unused = tuning::ERROR_RESERVE + if inner.grace { 0 } else { self.grace_bytes() };
        let counted = (inner.limit - self.free(inner)).saturating_sub(unused) + inner.nursery_size + self.survivor_bytes(inner);
        self.metrics.peak_bytes.raise_to(counted as u64);
    }
}
