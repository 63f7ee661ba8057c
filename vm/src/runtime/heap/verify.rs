//! The heap's self-check: traces everything again after a collection and holds it against the invariants.
//!
//! In: roots. Out: nothing, or a panic that names object and slot: a broken heap is never the program's fault.

use super::*;
use jit::layout::{ARRAY_DATA, Shape};
use std::collections::HashSet;

impl Heap {
    /// The world is stopped and a collection has just ended: the nursery is empty.
    pub(super) fn verify(&self, inner: &Inner, roots: &mut dyn Roots) {
        let remembered: HashSet<usize> = inner.remembered.iter().copied().collect();
        assert_eq!(remembered.len(), inner.remembered.len(), "an object is remembered twice");
        let mut seen = HashSet::new();
        let mut work = Vec::new();
        // SAFETY: `check` looks at an address only once it is known to lie in a space in use.
        unsafe {
            roots.visit(&mut |slot| self.check(inner, *slot as usize, &format_args!("root {slot:p}"), &mut seen, &mut work));
            remembered.iter().for_each(|&obj| self.check(inner, obj, &"the remembered set", &mut seen, &mut work));
            while let Some(obj) = work.pop() {
                let h = header(obj);
                let mut young = false;
                for_each_ref(obj, desc(self.base, h), |slot| {
                    let to = *slot as usize;
                    self.check(inner, to, &format_args!("{obj:#x}+{}", slot as usize - obj), &mut seen, &mut work);
                    young |= self.is_young(to);
                });
                let is_old = self.is_heap(obj) && !self.is_young(obj);
                assert!(!(is_old && young) || log_byte(h) == LOGGED, "{obj:#x} is old, refers to a young object, and is not logged");
                assert_eq!(is_old && log_byte(h) == LOGGED, remembered.contains(&obj), "{obj:#x}: log byte and remembered set differ");
            }
        }
    }

    fn is_heap(&self, obj: usize) -> bool {
        (self.geometry.nursery..self.geometry.large_end).contains(&obj)
    }

    fn is_young(&self, obj: usize) -> bool {
        (self.geometry.nursery..self.geometry.old).contains(&obj)
    }

    unsafe fn check(&self, inner: &Inner, obj: usize, from: &dyn std::fmt::Display, seen: &mut HashSet<usize>, work: &mut Vec<usize>) {
        if obj == 0 || !seen.insert(obj) {
            return;
        }
        assert!(obj.is_multiple_of(8), "{from}: {obj:#x} is no object's address");
        let g = &self.geometry;
        let survivors = g.survivors[inner.survivor];
        let space_end = if (survivors..inner.survivor_top).contains(&obj) {
            inner.survivor_top
        } else if (g.old..inner.old_top).contains(&obj) {
            inner.old_top
        } else if (g.large..g.large_end).contains(&obj) {
            assert!(inner.large.contains(obj), "{from}: {obj:#x} is in no live large object");
            g.large_end
        } else {
            assert!(!self.is_heap(obj), "{from}: {obj:#x} lies in a space that is not in use");
            usize::MAX
        };
        // SAFETY: the address is inside a space in use (or an object outside the heap).
        unsafe {
            let h = header(obj);
            assert_eq!(gc_byte(h) & (FORWARDED | MARKED), 0, "{from}: {obj:#x} has a header from the middle of a collection: {h:#x}");
            assert!(self.classes.is_word(class_word(h)), "{from}: {obj:#x} has no class: {h:#x}");
            let d = desc(self.base, h);
            if d.shape == Shape::Object {
                assert!(d.size >= 16, "{from}: {obj:#x} has class {} without instances", d.id);
            }
            assert!(full_size(obj, h, d) <= space_end - obj, "{from}: {obj:#x} is longer than its space");
            if d.shape == Shape::ByteArray {
                let (data, len) = ((obj + ARRAY_DATA as usize) as *const u8, array_len(obj));
                let is_clear = (len..len.next_multiple_of(8)).all(|i| *data.add(i) == 0);
                assert!(is_clear, "{from}: {obj:#x} has bytes behind its end, which texts are compared by");
            }
            if self.is_young(obj) {
                assert_eq!(log_byte(h), LOGGED, "{from}: {obj:#x} is young and has a set log byte");
            }
        }
        work.push(obj);
    }
}
