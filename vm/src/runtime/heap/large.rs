//! Large objects: whole pages each, never moved, freed one by one.
//!
//! Invariants: free ranges are coalesced, and read as zero; every object starts on a page.

use super::object::*;
use super::space::{PAGE, Space};
use std::collections::{BTreeMap, BTreeSet};

pub struct LargeObjects {
    /// Start → bytes.
    objects: BTreeMap<usize, usize>,
    /// Allocated since the last collection.
    young: Vec<usize>,
    young_bytes: usize,
    bytes: usize,
    /// Start → bytes, and the same ordered by size for best fit.
    free: BTreeMap<usize, usize>,
    by_size: BTreeSet<(usize, usize)>,
}

impl LargeObjects {
    pub fn new(start: usize, end: usize) -> Self {
        let mut large = LargeObjects {
            objects: BTreeMap::new(),
            young: Vec::new(),
            young_bytes: 0,
            bytes: 0,
            free: BTreeMap::new(),
            by_size: BTreeSet::new(),
        };
        large.add_free(start, end - start);
        large
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

    fn add_free(&mut self, start: usize, bytes: usize) {
        self.free.insert(start, bytes);
        self.by_size.insert((bytes, start));
    }

    fn take_free(&mut self, start: usize, bytes: usize) {
        self.free.remove(&start);
        self.by_size.remove(&(bytes, start));
    }

    /// Some free range is as long.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.by_size.last().is_some_and(|&(longest, _)| longest >= bytes)
    }

    /// Zeroed pages. `None` if no free range is long enough.
    pub fn allocate(&mut self, bytes: usize) -> Option<usize> {
        debug_assert!(bytes > 0 && bytes.is_multiple_of(PAGE));
        let &(found, start) = self.by_size.range((bytes, 0)..).next()?;
        self.take_free(start, found);
        if found > bytes {
            self.add_free(start + bytes, found - bytes);
        }
        self.objects.insert(start, bytes);
        self.young.push(start);
        self.young_bytes += bytes;
        self.bytes += bytes;
        Some(start)
    }

    /// After a minor collection: young objects reached become old, the others are freed. Gives the bytes that became old.
    pub fn sweep_young(&mut self, space: &Space) -> usize {
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
        self.free_all(&dead, space);
        promoted
    }

    /// After marking: frees what was not reached.
    pub fn sweep(&mut self, space: &Space) {
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
        self.free_all(&dead, space);
    }

    fn free_all(&mut self, dead: &[usize], space: &Space) {
        for &obj in dead {
            let bytes = self.objects.remove(&obj).expect("freed once");
            self.bytes -= bytes;
            // SAFETY: no reference to the object is left.
            unsafe { space.release(obj, obj + bytes) };
            let (mut start, mut size) = (obj, bytes);
            if let Some((&before, &len)) = self.free.range(..obj).next_back()
                && before + len == obj
            {
                self.take_free(before, len);
                (start, size) = (before, size + len);
            }
            if let Some(&after) = self.free.get(&(start + size)) {
                self.take_free(start + size, after);
                size += after;
            }
            self.add_free(start, size);
        }
    }
}
