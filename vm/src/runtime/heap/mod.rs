//! The heap: generational, copying in the young generation, sliding in the old one.
//!
//! Threads take buffers from the **nursery** and allocate in them. A **minor** collection ([`minor`]) copies what lives in the nursery to the survivor space, and what lived there before to the
//! **old generation**, one contiguous range that only grows at its top. A **major** collection ([`major`]) follows a minor one that promoted everything; it marks, then slides the old generation
//! together in place, so it needs no second copy of the live data. Where dead old objects keep much alive, it marks before the minor one, too. **Large** objects ([`large`]) have pages of their own and never move; they too are born young.
//!
//! In: allocation requests, roots, remembered objects. Out: objects, moved objects' new addresses in their roots.
//! Invariants: every reference in a young object is found by a minor collection through roots, other young objects or remembered old objects; an old object whose log byte is [`NOT_LOGGED`]
//! refers to no young one; what is counted against the maximum ([`policy`]) is never exceeded, not even in the middle of a collection.

mod large;
mod major;
mod minor;
pub mod object;
mod policy;
mod space;
#[cfg(test)]
mod tests;
mod verify;

use super::classes::ClassTable;
use super::metrics::Metrics;
use super::tuning;
use large::LargeObjects;
use object::*;
use space::{PAGE, Space};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What a heap is made with.
#[derive(Clone, Debug)]
pub struct HeapOptions {
    /// Bytes that everything counted may take.
    pub max: usize,
    /// Bytes of the nursery at most.
    pub nursery: usize,
    /// Bytes it begins with.
    pub first_nursery: usize,
    /// Entries of the mark stack at most; fewer in a small heap.
    pub mark_stack: usize,
    /// Collect at every Nth allocation and at a yield point soon after, minor and major in turn.
    pub stress: Option<std::num::NonZeroU32>,
    /// Re-trace the heap after every collection.
    pub verify: bool,
    /// A line to stderr for every collection, in the form of Java's `-Xlog:gc`.
    pub log: bool,
    /// Bytes outside the heap that count against `max`: literals, class table.
    pub fixed: usize,
}

impl HeapOptions {
    /// Whether filling freed memory with a pattern is worth its time.
    fn poisons(&self) -> bool {
        cfg!(debug_assertions) || self.stress.is_some() || self.verify
    }
}

/// The address space could not be reserved.
#[derive(Debug, PartialEq, Eq)]
pub struct NoSpace {
    pub bytes: usize,
}

/// Gives the collector every root slot outside the heap, stable during the collection.
pub trait Roots {
    fn visit(&mut self, f: &mut dyn FnMut(&mut u64));
}

/// Why a collection is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Want {
    /// Room for small objects.
    Nursery,
    /// Room for a large object of so many bytes.
    Large(usize),
    /// Fewer remembered objects; nobody waits for memory.
    Remembered,
    /// For stress and tests.
    Minor,
    Major,
}

/// What a request for a large object met with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LargeResult {
    Object(usize),
    Collect,
}

pub struct Heap {
    space: Space,
    /// Mark bits and the offset table of major collections.
    tables: Space,
    geometry: Geometry,
    pub(super) classes: Arc<ClassTable>,
    base: usize,
    options: HeapOptions,
    nursery_next: AtomicUsize,
    nursery_end: AtomicUsize,
    /// So much is remembered that the next yield point should collect.
    crowded: AtomicBool,
    inner: Mutex<Inner>,
    pub metrics: Arc<Metrics>,
    start: Instant,
}

/// Where the spaces lie; fixed for the heap's life.
#[derive(Clone, Copy, Debug)]
struct Geometry {
    nursery: usize,
    nursery_cap: usize,
    survivors: [usize; 2],
    survivor_cap: usize,
    old: usize,
    old_end: usize,
    large: usize,
    large_end: usize,
}

/// What changes under the lock, or with the world stopped.
struct Inner {
    nursery_size: usize,
    /// Its size where there is room for it.
    nursery_wish: usize,
    /// Which of the survivor spaces is in use, and its end.
    survivor: usize,
    survivor_top: usize,
    /// Touched bytes of the survivor space that is not in use, at most.
    idle_survivors: usize,
    old_top: usize,
    /// The old generation has been touched up to here; what lies above its top is idle.
    old_resident: usize,
    /// Bytes that the last major collection found alive.
    live: Option<usize>,
    /// Bytes that the last minor collection copied of those that no major one followed, and how many major ones there have been since.
    copied: usize,
    full_since: u32,
    /// Bytes of dead objects that the last major collection left where they were.
    dead_wood: usize,
    large: LargeObjects,
    /// Old objects whose log byte is [`LOGGED`].
    remembered: Vec<usize>,
    /// Bytes the heap may take now; grows up to the maximum.
    limit: usize,
    free_after_major: usize,
    /// Bytes of the error reserve in use since the last collection.
    reserve_used: usize,
    /// Memory has run out, and what is kept back for handlers is in use.
    grace: bool,
    /// Alternates under stress.
    next_is_major: bool,
}

impl Heap {
    /// Errors: no address space of the needed size (about four times the maximum).
    pub fn new(classes: Arc<ClassTable>, options: HeapOptions, metrics: Arc<Metrics>) -> Result<Heap, NoSpace> {
        let max = options.max;
        if max > tuning::MAX_HEAP {
            return Err(NoSpace { bytes: max });
        }
        let nursery_cap = options.nursery.max(tuning::MIN_NURSERY).min(max / 4).next_multiple_of(PAGE);
        let survivor_cap = (nursery_cap / tuning::SURVIVOR_SHARE).next_multiple_of(PAGE);
        let old_size = (max + nursery_cap + survivor_cap).next_multiple_of(PAGE);
        let large_size = (2 * max).next_multiple_of(PAGE);
        let total = nursery_cap + 2 * survivor_cap + old_size + large_size;
        let space = Space::reserve(total).ok_or(NoSpace { bytes: total })?;
        let tables = Space::reserve(major::table_bytes(nursery_cap + 2 * survivor_cap + old_size)).ok_or(NoSpace { bytes: total })?;
        let nursery = space.base();
        let first = nursery + nursery_cap;
        let old = first + 2 * survivor_cap;
        let geometry = Geometry {
            nursery,
            nursery_cap,
            survivors: [first, first + survivor_cap],
            survivor_cap,
            old,
            old_end: old + old_size,
            large: old + old_size,
            large_end: space.base() + space.size(),
        };
        let inner = Inner {
            nursery_size: 0,
            nursery_wish: options.first_nursery.clamp(tuning::MIN_NURSERY.min(nursery_cap), nursery_cap).next_multiple_of(PAGE),
            survivor: 0,
            survivor_top: first,
            idle_survivors: 0,
            old_top: old,
            old_resident: old,
            live: None,
            copied: 0,
            full_since: 0,
            dead_wood: 0,
            large: LargeObjects::new(geometry.large, geometry.large_end, options.poisons()),
            remembered: Vec::new(),
            limit: 0,
            free_after_major: 0,
            reserve_used: 0,
            grace: false,
            next_is_major: false,
        };
        let base = classes.base();
        let heap = Heap {
            space,
            tables,
            geometry,
            classes,
            base,
            options,
            nursery_next: AtomicUsize::new(nursery),
            nursery_end: AtomicUsize::new(nursery),
            crowded: AtomicBool::new(false),
            inner: Mutex::new(inner),
            metrics,
            start: Instant::now(),
        };
        {
            let mut inner = heap.lock();
            inner.limit = heap.limit_for(&inner, 0);
            heap.resize_nursery(&mut inner, 0);
            inner.free_after_major = heap.free(&inner);
        }
        Ok(heap)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic with the lock held ends the process anyway; the data stays readable for the way there.
        self.inner.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn max(&self) -> usize {
        self.options.max
    }

    pub fn stress(&self) -> Option<std::num::NonZeroU32> {
        self.options.stress
    }

    /// A zeroed piece of the nursery of at least `size` bytes: `size` exactly if `exact`, otherwise about [`tuning::BUFFER`]. `None`: collect first.
    pub fn take_buffer(&self, size: usize, exact: bool) -> Option<(usize, usize)> {
        let end = self.nursery_end.load(Relaxed);
        let wanted = if exact { size } else { size.max(tuning::BUFFER.min((end - self.geometry.nursery) / 8)) }.next_multiple_of(8);
        let mut start = self.nursery_next.load(Relaxed);
        loop {
            let take = wanted.min(end.saturating_sub(start));
            if take < size {
                return None;
            }
            match self.nursery_next.compare_exchange_weak(start, start + take, Relaxed, Relaxed) {
                Err(now) => start = now,
                Ok(_) => {
                    self.metrics.allocated_bytes.add(take as u64);
                    // SAFETY: the range is inside the nursery and was given to this caller alone.
                    unsafe { std::ptr::write_bytes(start as *mut u8, 0, take) };
                    return Some((start, start + take));
                }
            }
        }
    }

    /// A zeroed large object with its header (`size` bytes, array length not yet set). `reserve`: even if nothing is left, as long as the error reserve holds.
    pub fn allocate_large(&self, class_word: u32, size: usize, reserve: bool) -> LargeResult {
        let mut inner = self.lock();
        let pages = size.next_multiple_of(PAGE);
        if reserve {
            if inner.reserve_used + pages > tuning::ERROR_RESERVE {
                return LargeResult::Collect;
            }
            inner.reserve_used += pages;
        } else if !self.large_fits(&inner, pages) {
            return LargeResult::Collect;
        }
        let Some(large::Pages { start: object, are_zero }) = inner.large.allocate(pages, &self.space) else { return LargeResult::Collect };
        self.metrics.allocated_bytes.add(pages as u64);
        self.metrics.large_bytes.add(pages as u64);
        self.note_peak(&inner);
        self.trim(&mut inner);
        // Clearing may take long, and other threads want the lock; none can collect before this one is at a yield point.
        drop(inner);
        // SAFETY: pages that nobody else knows.
        unsafe {
            if !are_zero {
                std::ptr::write_bytes(object as *mut u8, 0, pages);
            }
            set_header(object, make_header(class_word, YOUNG, LOGGED));
        }
        LargeResult::Object(object)
    }

    /// Collects; the world is stopped, the threads' buffers are given up, and `remembered` holds what they remembered. True if what was wanted is there now.
    pub fn collect(&self, want: Want, remembered: impl IntoIterator<Item = usize>, roots: &mut dyn Roots) -> bool {
        let begin = Instant::now();
        let mut inner = self.lock();
        inner.remembered.extend(remembered);
        self.crowded.store(false, Relaxed);
        let had_grace = std::mem::take(&mut inner.grace);
        let large = if let Want::Large(bytes) = want { bytes.next_multiple_of(PAGE) } else { 0 };
        let full = match want {
            Want::Major => true,
            Want::Minor | Want::Remembered => false,
            Want::Nursery | Want::Large(_) if self.options.stress.is_some() => {
                inner.next_is_major = !inner.next_is_major;
                !inner.next_is_major || self.wants_major(&inner, large)
            }
            Want::Nursery | Want::Large(_) => self.wants_major(&inner, large) || self.suspects_nepotism(&inner),
        };
        if want == Want::Remembered {
            self.enlarge_nursery(&mut inner, 2);
        }
        self.run(&mut inner, full, large, roots);
        let mut fits = self.resize_nursery(&mut inner, large);
        if !(full || fits && inner.large.has_room(large, &self.space) || want == Want::Remembered) {
            self.run(&mut inner, true, large, roots);
            fits = self.resize_nursery(&mut inner, large);
        }
        // Where nobody waits for memory, nobody throws the error that goes with it.
        if inner.nursery_size == 0 && (had_grace || want != Want::Remembered) {
            fits = self.grant_grace(&mut inner, had_grace, large);
        }
        // Large objects do not move: there may be bytes enough, and no range of addresses that is long enough.
        fits &= inner.large.has_room(large, &self.space);
        if self.options.verify {
            self.verify(&inner, roots);
        }
        let nanos = begin.elapsed().as_nanos() as u64;
        self.metrics.gc_nanos.add(nanos);
        self.metrics.max_pause_nanos.raise_to(nanos);
        fits
    }

    fn run(&self, inner: &mut Inner, full: bool, want: usize, roots: &mut dyn Roots) {
        let (begin, before) = (Instant::now(), self.used(inner));
        if full && self.suspects_nepotism(inner) {
            self.forget_dead(inner, roots);
        }
        let forgot = begin.elapsed();
        self.minor(inner, full, roots);
        let minor = begin.elapsed() - forgot;
        self.metrics.minor_nanos.add(minor.as_nanos() as u64);
        if full {
            self.major(inner, roots);
            self.set_limit(inner, want);
            self.metrics.major_collections.add(1);
            self.metrics.major_nanos.add((begin.elapsed() - minor).as_nanos() as u64);
        } else {
            self.metrics.minor_collections.add(1);
        }
        if self.options.log {
            self.log(inner, full, before, begin.elapsed());
        }
    }

    /// The line of the collection that has just ended.
    fn log(&self, inner: &Inner, full: bool, before: usize, time: Duration) {
        let kind = if full { "Full" } else { "Young" };
        let number = self.metrics.minor_collections.get() + self.metrics.major_collections.get() - 1;
        let [before, after, limit] = [before, self.used(inner), inner.limit].map(|b| b as f64 / (1 << 20) as f64);
        let (at, millis) = (self.start.elapsed().as_secs_f64(), time.as_secs_f64() * 1e3);
        // A closed stderr is no reason to stop.
        _ = writeln!(std::io::stderr(), "[{at:.3}s][gc] GC({number}) Pause {kind} {before:.1}M->{after:.1}M({limit:.1}M) {millis:.3}ms");
    }

    /// Takes over what a thread has remembered; true if a collection should come soon.
    pub fn remember_all(&self, remembered: impl IntoIterator<Item = usize>) -> bool {
        let mut inner = self.lock();
        inner.remembered.extend(remembered);
        self.note_peak(&inner);
        let crowded = self.remembers_much(&inner);
        self.crowded.store(crowded, Relaxed);
        crowded
    }

    /// Whether the next yield point should collect, with [`Want::Remembered`].
    pub fn is_crowded(&self) -> bool {
        self.crowded.load(Relaxed)
    }

    /// Whether the object may move.
    fn is_movable(&self, obj: usize) -> bool {
        (self.geometry.nursery..self.geometry.old_end).contains(&obj)
    }

    /// The object's identity hash: the same for its whole life, never negative.
    ///
    /// # Safety
    /// `obj` is an object, and the caller's thread counts as running.
    pub unsafe fn identity_hash(&self, obj: usize) -> u64 {
        if !self.is_movable(obj) {
            return address_hash(obj);
        }
        // SAFETY: an object's first byte is the collector's; threads only ever set this bit in it.
        unsafe {
            let gc = std::sync::atomic::AtomicU8::from_ptr(obj as *mut u8).fetch_or(HASHED, Relaxed);
            if gc & HASH_WORD != 0 {
                let desc = desc(self.base, header(obj));
                return *((obj + base_size(obj, desc)) as *const u64);
            }
        }
        address_hash(obj)
    }

    unsafe fn poison(&self, from: usize, to: usize) {
        if self.options.poisons() {
            // SAFETY: by the caller, an unused range of the heap.
            unsafe { poison(from, to) };
        }
    }
}

/// Fills freed memory with what no class has as its word.
unsafe fn poison(from: usize, to: usize) {
    // SAFETY: by the caller, an unused range of the heap.
    unsafe { std::ptr::write_bytes(from as *mut u8, 0xdb, to - from) };
}
