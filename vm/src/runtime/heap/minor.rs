//! The minor collection: copies the live young objects, breadth-first with the copies themselves as the work list (Cheney, CACM 1970), into the survivor space and the old generation.
//!
//! Elements of long arrays take along what they refer to: who looks at an element finds its fields' objects beside it, where breadth-first they would lie as far away as the array is long (approximately depth-first, as Moon, "Garbage
//! collection in a large Lisp system", LFP 1984, though by one level only). Scanning an element again when its turn comes finds nothing left to copy.
//!
//! In: roots, remembered objects. Out: an empty nursery, survivors that are one collection old, promoted objects, a new remembered set.
//! Invariant: the caller has made sure that all young bytes fit where they may be copied to.

use super::*;
use jit::layout::{ARRAY_DATA, ClassDesc, Shape};

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
    /// The last copy of an object with references; 0: none.
    copied: usize,
    /// Bytes of roots and of remembered objects.
    scanned: usize,
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
            copied: 0,
            scanned: 0,
        };
        let remembered = std::mem::take(&mut inner.remembered);
        // SAFETY: the world is stopped, roots and remembered objects are valid, and there is room by the policy.
        unsafe {
            roots.visit(&mut |slot| {
                s.scanned += 8;
                _ = s.slot(slot);
            });
            // They lie anywhere in the old generation, and what they refer to anywhere in the nursery: without looking ahead each would be two cache misses.
            for (i, &obj) in remembered.iter().enumerate() {
                if let Some(&far) = remembered.get(i + 2 * tuning::PREFETCH_OBJECTS) {
                    prefetch(far);
                }
                if let Some(&near) = remembered.get(i + tuning::PREFETCH_OBJECTS) {
                    s.prefetch_referents(near);
                }
                s.scan_old(obj);
            }
            s.run(old_start);
        }
        let promoted = s.old_top - old_start;
        let survived = s.to_top - to;
        inner.old_top = s.old_top;
        inner.old_resident = inner.old_resident.max(s.old_top);
        inner.remembered = s.remembered;
        let large = inner.large.sweep_young();
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
        if promote_all {
            inner.full_since += 1;
        } else {
            (inner.copied, inner.full_since) = (promoted + survived, 0);
            self.judge_nursery(inner, nursery_top - g.nursery, inner.copied + s.scanned);
        }
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
            if desc.shape == Shape::Object && desc.ref_map != 0 {
                self.copied = new;
            }
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
                    let size = full_size(to_scan, h, desc);
                    self.prefetch_ahead(to_scan, size, self.to_top);
                    self.for_each_slot(to_scan, desc, |s, slot| _ = s.slot(slot));
                    to_scan += size;
                }
                while old_scan < self.old_top {
                    let h = header(old_scan);
                    let desc = desc(self.base, h);
                    let size = full_size(old_scan, h, desc);
                    self.prefetch_ahead(old_scan, size, self.old_top);
                    self.scan_promoted(old_scan, desc);
                    old_scan += size;
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
    unsafe fn scan_promoted(&mut self, obj: usize, desc: &ClassDesc) {
        // SAFETY: by the caller.
        unsafe {
            let mut young = false;
            self.for_each_slot(obj, desc, |s, slot| young |= s.slot(slot));
            if young {
                set_log(obj, LOGGED);
                self.remembered.push(obj);
            }
        }
    }

    /// As [`for_each_ref`]; in long arrays it looks ahead, and copies what an element refers to right after it.
    #[inline(always)]
    unsafe fn for_each_slot(&mut self, obj: usize, desc: &ClassDesc, mut f: impl FnMut(&mut Self, *mut u64)) {
        // SAFETY: by the caller an object of the descriptor's class; copies are complete.
        unsafe {
            if desc.shape != Shape::RefArray || array_len(obj) <= tuning::PREFETCH_OBJECTS {
                return for_each_ref(obj, desc, |slot| f(self, slot));
            }
            let (data, len) = ((obj + ARRAY_DATA as usize) as *mut u64, array_len(obj));
            for i in 0..len {
                let ahead = |objects: usize| *data.add((i + objects).min(len - 1)) as usize;
                self.prefetch_young(ahead(2 * tuning::PREFETCH_OBJECTS));
                self.prefetch_with_element(ahead(tuning::PREFETCH_OBJECTS));
                self.copied = 0;
                f(self, data.add(i));
                let element = self.copied;
                if element != 0 {
                    for_each_ref(element, super::desc(self.base, header(element)), |slot| _ = self.slot(slot));
                }
            }
        }
    }

    #[inline(always)]
    fn prefetch_young(&self, obj: usize) {
        if obj.wrapping_sub(self.young) < self.young_len {
            prefetch(obj);
        }
    }

    #[inline(always)]
    unsafe fn prefetch_referents(&self, obj: usize) {
        // SAFETY: by the caller an object that was not copied.
        unsafe {
            let desc = desc(self.base, header(obj));
            if desc.shape == Shape::Object {
                for_each_ref(obj, desc, |slot| self.prefetch_young(*slot as usize));
            }
        }
    }

    /// What comes along with an element of a long array, if that is copied: the element itself has been fetched.
    #[inline(always)]
    unsafe fn prefetch_with_element(&self, element: usize) {
        // SAFETY: a young reference is one to an object, whose header says whether it was copied.
        unsafe {
            if element.wrapping_sub(self.young) < self.young_len && gc_byte(header(element)) & FORWARDED == 0 {
                self.prefetch_referents(element);
            }
        }
    }

    /// The copies' words some way ahead: those that look like young references are.
    #[inline(always)]
    unsafe fn prefetch_ahead(&self, scan: usize, size: usize, top: usize) {
        let from = scan + tuning::PREFETCH_BYTES;
        let to = (from + size.min(64)).min(top);
        let mut at = from;
        while at < to {
            // SAFETY: below the top lie complete copies.
            self.prefetch_young(unsafe { *(at as *const usize) });
            at += 8;
        }
    }

    unsafe fn scan_old(&mut self, obj: usize) {
        // SAFETY: a remembered object is an old one.
        unsafe {
            set_log(obj, NOT_LOGGED);
            let h = header(obj);
            let desc = desc(self.base, h);
            self.scanned += full_size(obj, h, desc);
            self.scan_promoted(obj, desc);
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
