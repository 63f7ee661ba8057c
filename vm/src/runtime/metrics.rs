//! All counters of the runtime: name, unit and meaning in one list. Read by `--stats` and by tests.
//!
//! Counters only grow (`heap.live` is set), are relaxed atomics, and cost nothing on paths that compiled code takes inline.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! metrics {
    ($($field:ident $name:literal $unit:literal $description:literal;)*) => {
        #[derive(Default, Debug)]
        pub struct Metrics { $(pub $field: Counter),* }

        impl Metrics {
            /// Every counter with its name, unit and description, in the order of the list.
            pub fn rows(&self) -> Vec<Row> {
                vec![$(Row { name: $name, unit: $unit, description: $description, value: self.$field.get() }),*]
            }
        }
    };
}

metrics! {
    minor_collections "gc.minor" "count" "collections of the young generation";
    major_collections "gc.major" "count" "collections of the whole heap (the minor part of each is not counted again)";
    gc_nanos "gc.time" "ns" "time with the world stopped for collections, all pauses together";
    minor_nanos "gc.minor_time" "ns" "the minor collections' share of it";
    major_nanos "gc.major_time" "ns" "the major collections' share of it";
    max_pause_nanos "gc.max_pause" "ns" "longest single pause";
    allocated_bytes "heap.allocated" "bytes" "taken from the nursery in buffers, and large objects";
    large_bytes "heap.allocated_large" "bytes" "large objects' share of it";
    survived_bytes "heap.survived" "bytes" "copied within the young generation";
    promoted_bytes "heap.promoted" "bytes" "moved to the old generation, large objects included";
    slid_bytes "heap.slid" "bytes" "moved by major collections";
    rescanned_objects "gc.rescanned" "count" "objects that major collections found again by their region, because the mark stack was full";
    peak_bytes "heap.peak" "bytes" "largest amount counted against --heap, without freed memory that is kept for what comes";
    live_bytes "heap.live" "bytes" "alive after the last major collection";
    stops "safepoint.stops" "count" "times the world was stopped";
    stop_wait_nanos "safepoint.wait" "ns" "from asking for a stop until every thread had stopped";
    polls_taken "yield.taken" "count" "yield points that took the slow path";
    ticks "yield.ticks" "count" "ticks of the timer that found a thread running";
    ticks_merged "yield.ticks_merged" "count" "ticks of the timer that found an earlier one waiting";
    threads "threads.started" "count" "threads started, the main one included";
    mutex_waits "mutex.parked" "count" "lock operations that had to park";
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    pub name: &'static str,
    pub unit: &'static str,
    pub description: &'static str,
    pub value: u64,
}

#[derive(Default, Debug)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    pub fn raise_to(&self, n: u64) {
        self.0.fetch_max(n, Relaxed);
    }

    pub fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
