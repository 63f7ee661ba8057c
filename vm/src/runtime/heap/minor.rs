//! The minor collection: copies the live young objects, breadth-first with the copies themselves as the work list (Cheney, CACM 1970), into the survivor space and the old generation.
//!
//! In: roots, remembered objects. Out: an empty nursery, survivors that are one collection old, promoted objects, a new remembered set.
//! Invariant: the caller has made sure that all young bytes fit where they may be copied to.

use super::*;

struct Scavenger {
    base: usize,
    young: usize,
    young_len: usize,
    nursery_len: usize,
    to: usize,
    to_len: usize,
    to_top: usize,
    to_end: usize,
    old_top: usize,
    old_end: usize,
    large: usize,
    large_len: usize,
    /// Large young objects reached but not yet scanned.
    pending: Vec<usize>,
    remembered: Vec<usize>,
}

impl Heap {
    pub(super) fn minor(&self, inner: &mut Inner, promote_all: bool, roots: &mut dyn Roots) {
        let g = &self.geometry;
        let from = inner.survivor;
        let to = g.survivors[1 - from];
        let old_start = inner.old_top;
        let mut s = Scavenger {
            base: self.base,
            young: g.nursery,
            young_len: g.old - g.nursery,
            nursery_len: g.nursery_cap,
            to,
            to_len: g.survivor_cap,
            to_top: to,
            to_end: if promote_all { to } else { to + g.survivor_cap },
            old_top: old_start,
            old_end: g.old_end,
            large: g.large,
            large_len: g.large_end - g.large,
            pending: Vec::new(),
            remembered: Vec::new(),
        };
        let remembered = std::mem::take(&mut inner.remembered);
        // SAFETY: the world is stopped, roots and remembered objects are valid, and there is room by the policy.
        unsafe {
            roots.visit(&mut |slot| _ = s.slot(slot));
            // They lie anywhere in the old generation: without looking ahead each would be a cache miss.
            for (i, &obj) in remembered.iter().enumerate() {
                prefetch(remembered.get(i + tuning::PREFETCH_OBJECTS).copied().unwrap_or(obj));
                s.scan_old(obj);
            }
            s.run(old_start);
        }
        let promoted = s.old_top - old_start;
        let survived = s.to_top - to;
        inner.old_top = s.old_top;
        inner.remembered = s.remembered;
        let large = inner.large.sweep_young(&self.space);
        inner.reserve_used = 0;
        self.metrics.promoted_bytes.add((promoted + large) as u64);
        self.metrics.survived_bytes.add(survived as u64);
        let nursery_top = self.nursery_next.load(Relaxed);
        // SAFETY: everything live in the nursery and the old survivor space has been copied.
        unsafe {
            self.poison(g.nursery, nursery_top);
            self.poison(g.survivors[from], inner.survivor_top);
        }
        inner.idle_survivors = inner.idle_survivors.max(survived).max(inner.survivor_top - g.survivors[from]);
        inner.survivor = 1 - from;
        inner.survivor_top = s.to_top;
        self.nursery_next.store(g.nursery, Relaxed);
    }
}

impl Scavenger {
    /// Treats one reference; true if it is to a young object afterwards.
    #[inline(always)]
    unsafe fn slot(&mut self, slot: *mut u64) -> bool {
        // SAFETY: by the caller a slot with null or an object's address.
        unsafe {
            let obj = *slot as usize;
            if obj.wrapping_sub(self.young) < self.young_len {
                if obj.wrapping_sub(self.to) < self.to_len {
                    return true;
                }
                let new = self.evacuate(obj);
                *slot = new as u64;
                return new.wrapping_sub(self.to) < self.to_len;
            }
            if obj.wrapping_sub(self.large) < self.large_len {
                let h = header(obj);
                if gc_byte(h) & (YOUNG | MARKED) == YOUNG {
                    // From now on an old object that refers to no young one, until its scan shows otherwise.
                    set_header(obj, with_log(h | u64::from(MARKED), NOT_LOGGED));
                    self.pending.push(obj);
                }
            }
            false
        }
    }

    #[inline(always)]
    unsafe fn evacuate(&mut self, obj: usize) -> usize {
        // SAFETY: `obj` is in the nursery or the survivor space being emptied; the copy's place is free.
        unsafe {
            let h = header(obj);
            if gc_byte(h) & FORWARDED != 0 {
                return (h & !u64::from(FORWARDED)) as usize;
            }
            let desc = desc(self.base, h);
            let size = full_size(obj, h, desc);
            let grows = gc_byte(h) & (HASHED | HASH_WORD) == HASHED;
            let total = if grows { size + 8 } else { size };
            let is_new = obj.wrapping_sub(self.young) < self.nursery_len;
            let (new, log) = if is_new && total <= self.to_end - self.to_top {
                let new = self.to_top;
                self.to_top += total;
                (new, LOGGED)
            } else {
                let new = self.old_top;
                self.old_top += total;
                assert!(self.old_top <= self.old_end, "the policy left too little room for a minor collection");
                (new, NOT_LOGGED)
            };
            copy_words(obj + 8, new + 8, size - 8);
            let mut h = with_log(h, log);
            if grows {
                h |= u64::from(HASH_WORD);
                *((new + size) as *mut u64) = address_hash(obj);
            }
            set_header(new, h);
            set_header(obj, new as u64 | u64::from(FORWARDED));
            new
        }
    }

    /// Scans everything copied or reached until nothing is left.
    unsafe fn run(&mut self, old_start: usize) {
        let (mut to_scan, mut old_scan) = (self.to, old_start);
        // SAFETY: between the scan pointers and the tops lie complete copies.
        unsafe {
            loop {
                while to_scan < self.to_top {
                    let h = header(to_scan);
                    let desc = desc(self.base, h);
                    for_each_ref(to_scan, desc, |slot| _ = self.slot(slot));
                    to_scan += full_size(to_scan, h, desc);
                }
                while old_scan < self.old_top {
                    let h = header(old_scan);
                    let desc = desc(self.base, h);
                    self.scan_promoted(old_scan, desc);
                    old_scan += full_size(old_scan, h, desc);
                }
                if let Some(obj) = self.pending.pop() {
                    self.scan_promoted(obj, desc(self.base, header(obj)));
                } else if to_scan == self.to_top {
                    return;
                }
            }
        }
    }

    /// Scans an old object, and remembers it if it refers to a young one afterwards.
    #[inline(always)]
    unsafe fn scan_promoted(&mut self, obj: usize, desc: &jit::layout::ClassDesc) {
        // SAFETY: by the caller.
        unsafe {
            let mut young = false;
            for_each_ref(obj, desc, |slot| young |= self.slot(slot));
            if young {
                set_log(obj, LOGGED);
                self.remembered.push(obj);
            }
        }
    }

    unsafe fn scan_old(&mut self, obj: usize) {
        // SAFETY: a remembered object is an old one.
        unsafe {
            set_log(obj, NOT_LOGGED);
            self.scan_promoted(obj, desc(self.base, header(obj)));
        }
    }
}

/// Most objects are a few words: a loop beats a call.
#[inline(always)]
unsafe fn copy_words(from: usize, to: usize, bytes: usize) {
    // SAFETY: by the caller: separate ranges of whole words.
    unsafe {
        if bytes > 96 {
            std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes);
            return;
        }
        let mut i = 0;
        while i < bytes {
            *((to + i) as *mut u64) = *((from + i) as *const u64);
            i += 8;
        }
    }
}
