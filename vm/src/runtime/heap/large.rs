//! Large objects: whole pages each, never moved, freed one by one.
//!
//! What is freed stays resident and is taken first, since pages that are given back and touched anew cost more than clearing them; the policy says when too much is idle ([`LargeObjects::release_idle`]).
//! Invariants: free ranges are coalesced with others of their kind; fresh ones read as zero; every object starts on a page.

use super::object::*;
use super::space::{PAGE, Space};
use std::collections::{BTreeMap, BTreeSet};

/// Ranges of addresses, coalesced.
#[derive(Default)]
struct FreeRanges {
    /// Start → bytes, and the same ordered by size for best fit.
    by_start: BTreeMap<usize, usize>,
    by_size: BTreeSet<(usize, usize)>,
    bytes: usize,
}

impl FreeRanges {
    fn insert(&mut self, start: usize, bytes: usize) {
        self.by_start.insert(start, bytes);
        self.by_size.insert((bytes, start));
        self.bytes += bytes;
    }

    fn remove(&mut self, start: usize, bytes: usize) {
        self.by_start.remove(&start);
        self.by_size.remove(&(bytes, start));
        self.bytes -= bytes;
    }

    /// Adds a range that is not in it, joined with its neighbours.
    fn add(&mut self, mut start: usize, mut bytes: usize) {
        if let Some((&before, &len)) = self.by_start.range(..start).next_back()
            && before + len == start
        {
            self.remove(before, len);
            (start, bytes) = (before, bytes + len);
        }
        if let Some(&len) = self.by_start.get(&(start + bytes)) {
            self.remove(start + bytes, len);
            bytes += len;
        }
        self.insert(start, bytes);
    }

    /// The beginning of the shortest range that is long enough.
    fn take(&mut self, bytes: usize) -> Option<usize> {
        let &(found, start) = self.by_size.range((bytes, 0)..).next()?;
        self.remove(start, found);
        if found > bytes {
            self.insert(start + bytes, found - bytes);
        }
        Some(start)
    }

    fn longest(&self) -> usize {
        self.by_size.last().map_or(0, |&(longest, _)| longest)
    }
}

/// Pages for an object.
pub struct Pages {
    pub start: usize,
    pub are_zero: bool,
}

pub struct LargeObjects {
    /// Start → bytes.
    objects: BTreeMap<usize, usize>,
    /// Allocated since the last collection.
    young: Vec<usize>,
    young_bytes: usize,
    bytes: usize,
    /// Never used, or given back to the system.
    fresh: FreeRanges,
    /// Resident, with the contents of objects that were there.
    idle: FreeRanges,
    /// Fill them with a pattern.
    poisons: bool,
}

impl LargeObjects {
    pub fn new(start: usize, end: usize, poisons: bool) -> Self {
        let mut fresh = FreeRanges::default();
        fresh.insert(start, end - start);
        LargeObjects { objects: BTreeMap::new(), young: Vec::new(), young_bytes: 0, bytes: 0, fresh, idle: FreeRanges::default(), poisons }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn young_bytes(&self) -> usize {
        self.young_bytes
    }

    pub fn contains(&self, obj: usize) -> bool {
        self.objects.contains_key(&obj)
    }

    pub fn all(&self) -> impl Iterator<Item = usize> {
        self.objects.keys().copied()
    }

    /// Resident bytes that no object has.
    pub fn idle_bytes(&self) -> usize {
        self.idle.bytes
    }

    /// Gives all idle pages back.
    pub fn release_idle(&mut self, space: &Space) {
        for (start, bytes) in std::mem::take(&mut self.idle).by_start {
            // SAFETY: no object lies in a free range.
            unsafe { space.release(start, start + bytes) };
            self.fresh.add(start, bytes);
        }
    }

    /// Some free range is as long; if need be, once the idle ones are given back and joined with the others.
    pub fn has_room(&mut self, bytes: usize, space: &Space) -> bool {
        let longest = |large: &Self| large.fresh.longest().max(large.idle.longest());
        if longest(self) < bytes {
            self.release_idle(space);
        }
        longest(self) >= bytes
    }

    /// `None` if no free range is long enough.
    pub fn allocate(&mut self, bytes: usize, space: &Space) -> Option<Pages> {
        debug_assert!(bytes > 0 && bytes.is_multiple_of(PAGE));
        if !self.has_room(bytes, space) {
            return None;
        }
        let idle = self.idle.take(bytes);
        let start = idle.or_else(|| self.fresh.take(bytes))?;
        self.objects.insert(start, bytes);
        self.young.push(start);
        self.young_bytes += bytes;
        self.bytes += bytes;
        Some(Pages { start, are_zero: idle.is_none() })
    }

    /// After a minor collection: young objects reached become old, the others are freed. Gives the bytes that became old.
    pub fn sweep_young(&mut self) -> usize {
        let (mut promoted, mut dead) = (0, Vec::new());
        for obj in std::mem::take(&mut self.young) {
            // SAFETY: a large object that is still allocated.
            unsafe {
                let h = header(obj);
                if gc_byte(h) & MARKED == 0 {
                    dead.push(obj);
                    continue;
                }
                set_header(obj, h & !u64::from(MARKED | YOUNG));
            }
            promoted += self.objects[&obj];
        }
        self.young_bytes = 0;
        self.free_all(&dead);
        promoted
    }

    /// After marking that was not for [`Self::sweep`].
    pub fn unmark(&mut self) {
        for &obj in self.objects.keys() {
            // SAFETY: a large object that is still allocated.
            unsafe { set_header(obj, header(obj) & !u64::from(MARKED)) };
        }
    }

    /// After marking: frees what was not reached.
    pub fn sweep(&mut self) {
        let mut dead = Vec::new();
        for &obj in self.objects.keys() {
            // SAFETY: a large object that is still allocated.
            unsafe {
                let h = header(obj);
                if gc_byte(h) & MARKED == 0 {
                    dead.push(obj);
                } else {
                    set_header(obj, h & !u64::from(MARKED));
                }
            }
        }
        self.free_all(&dead);
    }

    fn free_all(&mut self, dead: &[usize]) {
        for &obj in dead {
            let bytes = self.objects.remove(&obj).expect("freed once");
            self.bytes -= bytes;
            if self.poisons {
                // SAFETY: no reference to the object is left.
                unsafe { super::poison(obj, obj + bytes) };
            }
            self.idle.add(obj, bytes);
        }
    }
}
