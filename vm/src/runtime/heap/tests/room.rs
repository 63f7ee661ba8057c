//! How much memory the heap takes, and when it collects what: the maximum, what is kept for later, the nursery's size, what dead objects keep.

use super::*;

#[test]
fn memory_runs_out_only_when_live_data_fills_it_and_dropping_helps() {
    let mut f = Fixture::new(8 << 20, 1 << 20);
    f.heap.options.verify = false;
    for _ in 0..3 {
        let nodes = list(&mut f, usize::MAX);
        let live = nodes * 32;
        assert!(live > (8 << 20) * 85 / 100, "only {live} bytes of 8 MiB could be used");
        assert!(live < 8 << 20);
        assert_eq!(list_len(&f), nodes);
        // What an error handler may use; then full is full.
        let more = (0..).take_while(|&i| push(&mut f, nodes as u64 + i)).count();
        assert!((32 << 10..256 << 10).contains(&(32 * more)), "{more} nodes more");
        assert_eq!(list_len(&f), nodes + more);
        assert!(!push(&mut f, 0));
        let reserved = f.heap.allocate_large(f.heap.classes.word(ClassId::from_u32(LEAF)), 16, true);
        assert!(matches!(reserved, LargeResult::Object(_)), "error objects still fit");
        f.roots[0] = 0;
        assert!(!f.alloc(BYTES, 4 << 20).is_null(), "after dropping the list there is room again");
    }
    assert!(f.heap.metrics.peak_bytes.get() <= 8 << 20);
}

#[test]
fn the_nursery_is_as_large_as_asked_for_from_the_first() {
    for nursery in [64 << 10, 64 << 20, 512 << 20] {
        let mut f = Fixture::new(2 << 30, nursery);
        assert_eq!(f.heap.lock().nursery_size, nursery);
        f.collect(Want::Major);
        assert_eq!(f.heap.lock().nursery_size, nursery);
    }
}

#[test]
fn large_objects_are_reused_and_limited() {
    let mut f = Fixture::new(16 << 20, 1 << 20);
    f.roots = vec![0; 8];
    for round in 0..400 {
        let obj = f.alloc(BYTES, 1 << 20);
        assert!(!obj.is_null(), "round {round}: garbage of large objects is collected");
        // SAFETY: the array's bytes.
        assert!((0..1 << 20).step_by(4096).all(|i| unsafe { *((obj.0 as usize + 16 + i) as *const u8) } == 0), "new arrays are zero");
        view::bytes_mut(obj, |b| b.fill(7));
        f.roots[round % 8] = obj.0;
    }
    f.roots = vec![0; 16];
    let mut fit = 0;
    while fit < 16 {
        f.roots[fit] = f.alloc(BYTES, 1 << 20).0;
        if f.roots[fit] == 0 {
            break;
        }
        fit += 1;
    }
    assert!((13..16).contains(&fit), "{fit} arrays of 1 MiB in 16 MiB");
}

/// Bytes of the heap's space that the system has pages for.
#[cfg(all(feature = "native", unix))]
fn resident(heap: &Heap) -> usize {
    let mut pages = vec![0u8; heap.space.size() / PAGE];
    // SAFETY: a mapped range, and a byte for each of its pages.
    let result = unsafe { libc::mincore(heap.space.base() as *mut _, heap.space.size(), pages.as_mut_ptr()) };
    assert_eq!(result, 0);
    PAGE * pages.iter().filter(|&&page| page & 1 != 0).count()
}

#[cfg(all(feature = "native", unix))]
#[test]
fn what_is_kept_for_later_counts_against_the_maximum() {
    let max = 64 << 20;
    let mut f = Fixture::new(max, 4 << 20);
    f.heap.options.verify = false;
    let mut most = 0;
    for round in 0..6 {
        // All small, then all large, of one size in one round and of another in the next.
        let nodes = list(&mut f, 1_200_000);
        assert_eq!(nodes, 1_200_000);
        most = most.max(resident(&f.heap));
        f.roots = vec![0; 33];
        for i in 0..200 {
            let bytes = if round % 2 == 0 { 1 << 20 } else { 700_000 };
            f.roots[1 + i % 32] = f.alloc(BYTES, bytes).0;
            assert_ne!(f.roots[1 + i % 32], 0, "garbage is collected");
            view::bytes_mut(Ref(f.roots[1 + i % 32]), |b| b.fill(7));
            most = most.max(resident(&f.heap));
        }
    }
    assert!(most <= max, "{most} bytes of {max}");
    assert!(most > max / 4 * 3, "{most} bytes of {max}: the maximum is not what held it");
}

/// Looks, whenever roots are visited, how much is resident: a major collection does so once a minor one has copied everything.
#[cfg(all(feature = "native", unix))]
struct Watched<'a> {
    heap: &'a Heap,
    roots: &'a mut [u64],
    most: usize,
}

#[cfg(all(feature = "native", unix))]
impl Roots for Watched<'_> {
    fn visit(&mut self, f: &mut dyn FnMut(&mut u64)) {
        self.most = self.most.max(resident(self.heap));
        self.roots.iter_mut().for_each(f);
    }
}

#[cfg(all(feature = "native", unix))]
#[test]
fn what_earlier_survivors_touched_counts_against_the_maximum() {
    let (max, nursery, survivors) = (64 << 20, 16 << 20, 4 << 20);
    let mut idle = Vec::new();
    // Somewhere between there is as much as just may stay.
    for arrays in 32..56 {
        let mut f = Fixture::new(max, nursery);
        f.heap.options.verify = false;
        for _ in 0..2 {
            list(&mut f, survivors / 32);
            f.collect(Want::Minor);
        }
        f.roots = vec![0; arrays];
        for i in 0..arrays {
            f.roots[i] = f.alloc(BYTES, (512 << 10) - 16).0;
            view::bytes_mut(Ref(f.roots[i]), |b| b.fill(7));
        }
        f.roots.fill(0);
        f.collect(Want::Major);
        idle.push(f.heap.lock().large.idle_bytes());
        list(&mut f, nursery / 32 - 1);
        let outside = tuning::ERROR_RESERVE + f.heap.mark_stack() * 8;
        let mut roots = std::mem::take(&mut f.roots);
        let mut watched = Watched { heap: &f.heap, roots: &mut roots, most: 0 };
        f.heap.collect(Want::Major, [], &mut watched);
        assert!(watched.most + outside <= max, "{} bytes and {outside} of {max} with {arrays} arrays", watched.most);
    }
    assert!(idle.iter().any(|&bytes| bytes >= max / 4) && idle.contains(&0), "{idle:?}");
}

#[test]
fn the_nursery_grows_where_much_survives() {
    let mut f = Fixture::new(1 << 30, 16 << 20);
    f.heap.options.verify = false;
    let size = |f: &Fixture| f.heap.lock().nursery_size;
    f.heap.lock().nursery_wish = 1 << 20;
    f.collect(Want::Minor);
    for _ in 0..1_000_000 {
        f.alloc(NODE, 0);
    }
    assert_eq!(size(&f), 1 << 20, "nothing survives");
    list(&mut f, 300_000);
    assert!((4 << 20..=16 << 20).contains(&size(&f)), "{}", size(&f));
    list(&mut f, 2_000_000);
    assert_eq!(size(&f), 16 << 20, "not above what it may be");
}

#[test]
fn the_nursery_grows_where_there_are_many_roots() {
    let mut f = Fixture::new(1 << 30, 16 << 20);
    f.heap.lock().nursery_wish = 1 << 20;
    f.roots = vec![0; 50_000];
    f.collect(Want::Minor);
    for _ in 0..100_000 {
        f.alloc(NODE, 0);
    }
    assert!(f.heap.lock().nursery_size > 1 << 20);
}

/// A queue whose dead entries, once some of them are old, refer to all that came after them.
#[test]
fn what_dead_old_objects_refer_to_is_not_kept() {
    let mut f = Fixture::new(256 << 20, 4 << 20);
    f.heap.options.verify = false;
    f.roots = vec![0; 2];
    (f.roots[0], f.roots[1]) = (f.alloc(NODE, 0).0, f.alloc(NODE, 0).0);
    let (entries, queued) = (20_000_000, 1000);
    for i in 0..entries {
        let entry = f.alloc(NODE, 0);
        let last = Ref(f.roots[1]);
        f.store(last, (last.0 + 8) as *mut u64, entry.0);
        f.roots[1] = entry.0;
        if i == 0 {
            f.roots[0] = entry.0;
        } else if i >= queued {
            // SAFETY: an entry's successor.
            f.roots[0] = unsafe { *((f.roots[0] + 8) as *const u64) };
        }
        if i == 2 * queued {
            f.collect(Want::Major);
        }
    }
    let copied = (f.heap.metrics.promoted_bytes.get() + f.heap.metrics.survived_bytes.get()) as usize;
    assert!(copied < 32 * entries / 2, "{copied} bytes of {}", 32 * entries);
    f.collect(Want::Major);
    assert!(f.heap.metrics.live_bytes.get() < 64 * queued as u64);
}
