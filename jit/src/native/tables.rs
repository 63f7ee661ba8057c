//! What is known of compiled code, by program counter: frames by return address, functions and trap sites by any address.
//!
//! In: the metadata of each compiled function. Out: lookups from any thread at any time, from signal handlers too: they take no lock and allocate nothing. Writers (compilations) take turns.
//! Code is forgotten ([`CodeTables::remove`]) while the program is stopped, when nobody looks anything up but decoders, which hold a lock of their own ([`CodeTables::decoding`]).
//!
//! Return addresses are in a hash table, because walking a frame takes one lookup: 1–2 ns, against 10 and more by binary search. Other addresses are rare (a trap, a tool): a map from each 64-byte granule of the region to its
//! function, then binary search in that function's list.
//!
//! Invariants: while the program runs an entry does not change once its key is stored (release); a table that grew too small stays readable until code is forgotten.

use super::api::{Level, NativeError};
use super::region::{GRANULE, Pages};
use super::trap::TrapKind;
use crate::ir::{Block, CallSiteId, Exit, FuncId, Inlined, InlinedId, Loc, MAX_EXITS};
use cranelift_entity::{EntityRef, PrimaryMap};
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, TryLockError};

/// What a return address returns from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SiteKind {
    /// A call in the source.
    Call(CallSiteId),
    /// The poll of a loop's back-edge.
    Poll,
    /// The same where other code can go on for the loop ([`Engine::install_osr`](super::Engine::install_osr)): the poll in this block of the function as it was compiled.
    Loop(Block),
    /// A poll that is no exit, where the thread is in code of the wrong kind ([`Op::WatchedPoll`](crate::ir::Op::WatchedPoll)).
    Watched(Exit),
    /// A function's entry: the check for attention, or where its call is counted.
    Entry,
    /// An inlined function's entry, where its call is counted.
    Probe,
    /// Anything else compiled code calls: builtins, allocation, the barrier, throwing.
    Runtime,
}

/// Marks a block's number. Code has fewer call sites and blocks than that.
const LOOP: u32 = 1 << 31;
/// Marks an exit's, of which there are [`MAX_EXITS`] at most.
const WATCHED: u32 = 0xfffe << 16;
const _: () = assert!(MAX_EXITS <= 1 << 16);

impl SiteKind {
    fn encode(self) -> u32 {
        match self {
            SiteKind::Call(site) => site.as_u32(),
            SiteKind::Loop(block) => LOOP | block.as_u32(),
            SiteKind::Watched(exit) => WATCHED | exit.as_u32(),
            SiteKind::Poll => u32::MAX,
            SiteKind::Entry => u32::MAX - 1,
            SiteKind::Runtime => u32::MAX - 2,
            SiteKind::Probe => u32::MAX - 3,
        }
    }

    fn decode(word: u32) -> SiteKind {
        match word {
            u32::MAX => SiteKind::Poll,
            0xffff_fffe => SiteKind::Entry,
            0xffff_fffd => SiteKind::Runtime,
            0xffff_fffc => SiteKind::Probe,
            word if word & 0xffff_0000 == WATCHED => SiteKind::Watched(Exit::from_u32(word & 0xffff)),
            word if word & LOOP != 0 => SiteKind::Loop(Block::from_u32(word & !LOOP)),
            site => SiteKind::Call(CallSiteId::from_u32(site)),
        }
    }
}

/// A compiled frame that stands at a call.
#[derive(Clone, Copy, Debug)]
pub struct FrameInfo<'a> {
    pub func: FuncId,
    /// In inlined code, [`CodeVersion::inlined`] says what it means.
    pub loc: Loc,
    pub site: SiteKind,
    /// Bytes from the stack pointer at the call up to the frame pointer.
    pub size: u32,
    /// Address of the landing pad, if the call stands in a `Try`.
    pub handler: Option<u64>,
    /// Where the live references lie: bytes below the frame pointer.
    pub roots: &'a [u32],
}

/// The same as it is handed in.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// Offset in the function's code.
    pub return_offset: u32,
    pub loc: Loc,
    pub site: SiteKind,
    pub handler_offset: Option<u32>,
    /// Bytes below the frame pointer.
    pub roots: Vec<u32>,
}

/// An instruction that may trap.
#[derive(Clone, Copy, Debug)]
pub struct TrapRecord {
    /// Offset in the function's code.
    pub offset: u32,
    pub kind: TrapKind,
    pub loc: Loc,
}

/// What a compilation knows of its code.
#[derive(Clone, Debug)]
pub struct CodeMetadata {
    pub func: FuncId,
    pub level: Level,
    /// Position of the function itself.
    pub loc: Loc,
    /// What positions of inlined code mean.
    pub inlined: PrimaryMap<InlinedId, Inlined>,
    /// Bytes from the stack pointer in the body up to the frame pointer.
    pub frame_size: u32,
    pub calls: Vec<CallRecord>,
    /// Sorted by offset.
    pub traps: Vec<TrapRecord>,
}

/// One installed piece of code.
pub struct CodeVersion {
    pub func: FuncId,
    pub level: Level,
    pub loc: Loc,
    pub start: u64,
    pub len: u32,
    pub frame_size: u32,
    /// What positions of inlined code mean: those of its calls and traps may be such.
    pub inlined: PrimaryMap<InlinedId, Inlined>,
    traps: Box<[TrapRecord]>,
    /// For each call its offset, as the key of its entry.
    returns: Box<[u32]>,
    /// For each call with roots: their number, then the roots.
    roots: Box<[u32]>,
}

impl CodeVersion {
    pub fn trap_at(&self, pc: u64) -> Option<TrapRecord> {
        let offset = (pc - self.start) as u32;
        self.traps.binary_search_by_key(&offset, |t| t.offset).ok().map(|i| self.traps[i])
    }

    /// Bytes of all that is kept for it.
    fn table_bytes(&self) -> u64 {
        let own =
            size_of::<CodeVersion>() + self.inlined.len() * size_of::<Inlined>() + size_of_val(&*self.traps) + size_of_val(&*self.roots);
        (own + self.returns.len() * (size_of::<u32>() + size_of::<Entry>()) + self.len as usize / GRANULE * 8) as u64
    }

    /// An address in each granule that it lies in.
    fn granules(&self) -> impl Iterator<Item = u64> + use<> {
        // The region starts at a page.
        let first = self.start - self.start % GRANULE as u64;
        (first..self.start + u64::from(self.len)).step_by(GRANULE)
    }
}

static NO_ROOTS: [u32; 1] = [0];

/// 32 bytes: one lookup touches one cache line.
#[repr(align(32))]
#[derive(Default)]
struct Entry {
    /// Offset of the return address in the region; 0 is free (nothing returns to the region's first byte).
    key: AtomicU32,
    func: AtomicU32,
    loc: AtomicU32,
    site: AtomicU32,
    size: AtomicU32,
    /// Offset of the landing pad in the region, or 0.
    handler: AtomicU32,
    /// Their number, then the roots.
    roots: AtomicPtr<u32>,
}

struct Slots {
    shift: u32,
    entries: Box<[Entry]>,
}

impl Slots {
    fn new(log2: u32) -> Slots {
        Slots { shift: 32 - log2, entries: (0..1usize << log2).map(|_| Entry::default()).collect() }
    }

    /// Where the search for a key begins.
    fn home(&self, key: u32) -> usize {
        // Fibonacci hashing: the high bits of the product depend on all bits of the key.
        (key.wrapping_mul(0x9e37_79b9) >> self.shift) as usize
    }

    /// The entry with this key, or the free one where it would go.
    fn probe(&self, key: u32) -> &Entry {
        let mask = self.entries.len() - 1;
        let mut i = self.home(key);
        loop {
            let entry = &self.entries[i & mask];
            let found = entry.key.load(Ordering::Acquire);
            if found == key || found == 0 {
                return entry;
            }
            i += 1;
        }
    }

    fn insert(&self, from: &Entry) {
        let key = from.key.load(Ordering::Relaxed);
        Self::fill(self.probe(key), from, key);
    }

    fn fill(to: &Entry, from: &Entry, key: u32) {
        let copy = |to: &AtomicU32, from: &AtomicU32| to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        copy(&to.func, &from.func);
        copy(&to.loc, &from.loc);
        copy(&to.site, &from.site);
        copy(&to.size, &from.size);
        copy(&to.handler, &from.handler);
        to.roots.store(from.roots.load(Ordering::Relaxed), Ordering::Relaxed);
        to.key.store(key, Ordering::Release);
    }

    /// Takes an entry out that is there, and moves others into the gap, so that each is still found (D. Knuth, "The Art of Computer Programming", volume 3, section 6.4, algorithm R). Nobody may be reading.
    fn remove(&self, key: u32) {
        let mask = self.entries.len() - 1;
        let key_at = |i: usize| self.entries[i].key.load(Ordering::Relaxed);
        let mut gap = self.home(key);
        while key_at(gap) != key {
            gap = (gap + 1) & mask;
        }
        let mut i = gap;
        loop {
            i = (i + 1) & mask;
            let key = key_at(i);
            if key == 0 {
                break;
            }
            // Looking for it passes the gap.
            if i.wrapping_sub(self.home(key)) & mask >= i.wrapping_sub(gap) & mask {
                Self::fill(&self.entries[gap], &self.entries[i], key);
                gap = i;
            }
        }
        self.entries[gap].key.store(0, Ordering::Relaxed);
    }
}

/// Owned by the writer; readers hold pointers, so each has its place on the heap.
#[derive(Default)]
struct Owned {
    /// The last is the current one.
    #[expect(clippy::vec_box)]
    slots: Vec<Box<Slots>>,
    entries: usize,
    /// By start.
    versions: BTreeMap<u64, Box<CodeVersion>>,
}

pub struct CodeTables {
    base: u64,
    size: u64,
    current: AtomicPtr<Slots>,
    /// An `AtomicPtr<CodeVersion>` for each granule of the region.
    granules: Pages,
    owned: Mutex<Owned>,
    /// Read by those who look something up for other threads than their own.
    decoders: RwLock<()>,
    table_bytes: AtomicU64,
}

/// Keeps all code known that is known.
pub struct Decoding<'a> {
    _guard: RwLockReadGuard<'a, ()>,
}

impl CodeTables {
    /// For a region of `size` bytes that runs at `base`.
    pub fn new(base: u64, size: usize) -> Result<CodeTables, NativeError> {
        let granules = Pages::zeroed(size / GRANULE * size_of::<AtomicPtr<CodeVersion>>())?;
        let tables = CodeTables {
            base,
            size: size as u64,
            current: AtomicPtr::new(null_mut()),
            granules,
            owned: Mutex::default(),
            decoders: RwLock::default(),
            table_bytes: AtomicU64::new(0),
        };
        tables.grow(&mut tables.owned(), 8);
        Ok(tables)
    }

    fn owned(&self) -> MutexGuard<'_, Owned> {
        self.owned.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// For threads that look up addresses while the program may be stopped by others: until the result is dropped no code is forgotten. Does not wait for more than that some code is forgotten.
    pub fn decoding(&self) -> Decoding<'_> {
        Decoding { _guard: self.decoders.read().unwrap_or_else(|e| e.into_inner()) }
    }

    fn grow(&self, owned: &mut Owned, log2: u32) {
        let mut larger = Box::new(Slots::new(log2));
        if let Some(old) = owned.slots.last() {
            old.entries.iter().filter(|e| e.key.load(Ordering::Relaxed) != 0).for_each(|e| larger.insert(e));
        }
        self.current.store(&raw mut *larger, Ordering::Release);
        owned.slots.push(larger);
    }

    fn granule(&self, pc: u64) -> Option<&AtomicPtr<CodeVersion>> {
        let offset = pc.wrapping_sub(self.base);
        if offset >= self.size {
            return None;
        }
        let cells: *const AtomicPtr<CodeVersion> = self.granules.start().cast();
        // SAFETY: in bounds by the check above; zeroed memory is null pointers; only ever used as atomics.
        Some(unsafe { &*cells.add(offset as usize / GRANULE) })
    }

    /// Makes code that was placed at `start` known. Must come before any thread can run it.
    pub fn add(&self, start: u64, len: u32, meta: CodeMetadata) {
        let offset = (start - self.base) as u32;
        let mut roots = Vec::new();
        let at: Vec<usize> = meta
            .calls
            .iter()
            .map(|call| {
                let at = roots.len();
                roots.push(call.roots.len() as u32);
                roots.extend_from_slice(&call.roots);
                at
            })
            .collect();
        let CodeMetadata { func, level, loc, inlined, frame_size, calls, traps } = meta;
        let returns = calls.iter().map(|call| offset + call.return_offset).collect();
        let (traps, roots) = (traps.into(), roots.into());
        let version = CodeVersion { func, level, loc, start, len, frame_size, inlined, traps, returns, roots };
        let version = Box::new(version);
        let mut owned = self.owned();
        owned.entries += calls.len();
        let capacity = owned.slots.last().unwrap().entries.len();
        if owned.entries * 3 > capacity * 2 {
            let log2 = (owned.entries * 2).next_power_of_two().ilog2();
            self.grow(&mut owned, log2);
        }
        for (call, at) in calls.iter().zip(at) {
            let roots = if call.roots.is_empty() { NO_ROOTS.as_ptr() } else { &version.roots[at] };
            owned.slots.last().unwrap().insert(&Entry {
                key: AtomicU32::new(offset + call.return_offset),
                func: AtomicU32::new(func.index() as u32),
                loc: AtomicU32::new(call.loc.0),
                site: AtomicU32::new(call.site.encode()),
                size: AtomicU32::new(frame_size),
                handler: AtomicU32::new(call.handler_offset.map_or(0, |h| offset + h)),
                roots: AtomicPtr::new(roots.cast_mut()),
            });
        }
        let pointer = (&raw const *version).cast_mut();
        version.granules().for_each(|pc| self.granule(pc).unwrap().store(pointer, Ordering::Release));
        self.table_bytes.fetch_add(version.table_bytes(), Ordering::Relaxed);
        owned.versions.insert(start, version);
    }

    /// Forgets the code that was added at these addresses. `false` if a decoder is at work: then nothing happens.
    ///
    /// # Safety
    /// No thread reads the tables meanwhile, unless it has asked for [`CodeTables::decoding`]; and none looks up addresses in this code afterwards, unless it can do with `None`.
    pub unsafe fn remove(&self, starts: impl Iterator<Item = u64>) -> bool {
        let _alone = match self.decoders.try_write() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let owned = &mut *self.owned();
        let superseded = owned.slots.len() - 1;
        owned.slots.drain(..superseded);
        for start in starts {
            let version = owned.versions.remove(&start).expect("code that was added");
            version.returns.iter().for_each(|&key| owned.slots[0].remove(key));
            owned.entries -= version.returns.len();
            version.granules().for_each(|pc| self.granule(pc).unwrap().store(null_mut(), Ordering::Release));
            self.table_bytes.fetch_sub(version.table_bytes(), Ordering::Relaxed);
        }
        true
    }

    /// Calls `f` on all code there is, by address.
    pub fn each(&self, mut f: impl FnMut(&CodeVersion)) {
        self.owned().versions.values().for_each(|version| f(version));
    }

    /// The frame that a call with this return address stands in.
    #[inline]
    pub fn frame(&self, return_address: u64) -> Option<FrameInfo<'_>> {
        let key = return_address.wrapping_sub(self.base);
        if key >= self.size {
            return None;
        }
        // SAFETY: set to a live table in `new`; tables live until `remove`, which readers exclude.
        let slots = unsafe { &*self.current.load(Ordering::Acquire) };
        let entry = slots.probe(key as u32);
        if entry.key.load(Ordering::Acquire) != key as u32 || key == 0 {
            return None;
        }
        let roots = entry.roots.load(Ordering::Relaxed);
        // SAFETY: points to a length with as many words behind it, in a version (or static) that lives until `remove`, which readers exclude.
        let roots = unsafe { std::slice::from_raw_parts(roots.add(1), *roots as usize) };
        let handler = entry.handler.load(Ordering::Relaxed);
        Some(FrameInfo {
            func: FuncId::new(entry.func.load(Ordering::Relaxed) as usize),
            loc: Loc(entry.loc.load(Ordering::Relaxed)),
            site: SiteKind::decode(entry.site.load(Ordering::Relaxed)),
            size: entry.size.load(Ordering::Relaxed),
            handler: (handler != 0).then(|| self.base + u64::from(handler)),
            roots,
        })
    }

    /// The code that an address lies in.
    pub fn version(&self, pc: u64) -> Option<&CodeVersion> {
        let version = self.granule(pc)?.load(Ordering::Acquire);
        // SAFETY: null, or a version that lives until `remove`, which readers exclude.
        let version = unsafe { version.as_ref() }?;
        (pc < version.start + u64::from(version.len)).then_some(version)
    }

    /// Addresses of the region.
    pub fn range(&self) -> (u64, u64) {
        (self.base, self.base + self.size)
    }

    pub fn table_bytes(&self) -> u64 {
        self.table_bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(return_offset: u32, roots: &[u32]) -> CallRecord {
        CallRecord { return_offset, loc: Loc(return_offset * 2), site: SiteKind::Poll, handler_offset: Some(1), roots: roots.to_vec() }
    }

    const BASE: u64 = 0x7000_0000_0000;

    /// Of function `f`: addresses are dense, so entries of the table lie in long runs.
    fn start(f: u64) -> u64 {
        BASE + f * 192 + f % 64
    }

    fn add(tables: &CodeTables, f: u64) {
        let calls: Vec<_> = (1..=f as u32 % 7).map(|i| call(i * 9, &[i, f as u32])).collect();
        let traps = vec![TrapRecord { offset: 3, kind: TrapKind::Null, loc: Loc(9) }];
        let func = FuncId::new(f as usize);
        tables.add(
            start(f),
            70,
            CodeMetadata { func, level: Level::Baseline, loc: Loc(1), inlined: PrimaryMap::new(), frame_size: 32, calls, traps },
        );
    }

    /// All that the tables say of a function's addresses is as it was added, or nothing.
    fn look_up(tables: &CodeTables, f: u64, is_known: bool) {
        for at in 0..128u64 {
            let pc = start(f) + at;
            let found = tables.frame(pc);
            assert_eq!(found.is_some(), is_known && at > 0 && at % 9 == 0 && at / 9 <= f % 7, "function {f} at {at}");
            if let Some(frame) = found {
                assert_eq!((frame.func.index() as u64, frame.loc.0), (f, at as u32 * 2));
                assert_eq!(frame.roots, [at as u32 / 9, f as u32]);
                assert_eq!(frame.handler, Some(start(f) + 1));
            }
            let version = tables.version(pc);
            assert_eq!(version.map(|v| v.func.index() as u64), (is_known && at < 70).then_some(f));
            assert_eq!(version.is_some_and(|v| v.trap_at(pc).is_some()), is_known && at == 3);
        }
    }

    #[test]
    fn every_return_address_is_found_and_no_other() {
        let tables = CodeTables::new(BASE, 1 << 24).unwrap();
        (0..2000).for_each(|f| add(&tables, f));
        (0..2000).for_each(|f| look_up(&tables, f, true));
        assert!(tables.frame(BASE - 1).is_none() && tables.frame(BASE).is_none() && tables.version(BASE + (1 << 24)).is_none());
    }

    #[test]
    fn what_is_removed_is_gone_and_the_rest_is_there() {
        let tables = CodeTables::new(BASE, 1 << 24).unwrap();
        // SAFETY: nobody else reads.
        let remove = |funcs: &[u64]| unsafe { tables.remove(funcs.iter().map(|&f| start(f))) };
        let mut known = vec![true; 2000];
        (0..2000).for_each(|f| add(&tables, f));
        let full = tables.table_bytes();
        for step in [3, 7, 2, 5] {
            let gone: Vec<u64> = (0..2000).filter(|f| f % step == 0 && known[*f as usize]).collect();
            assert!(remove(&gone));
            gone.iter().for_each(|&f| known[f as usize] = false);
            (0..2000).for_each(|f| look_up(&tables, f, known[f as usize]));
            let back: Vec<u64> = gone.into_iter().filter(|f| f % 4 == 0).collect();
            back.iter().for_each(|&f| add(&tables, f));
            back.iter().for_each(|&f| known[f as usize] = true);
            (0..2000).for_each(|f| look_up(&tables, f, known[f as usize]));
        }
        (0..2000).filter(|&f| !known[f as usize]).for_each(|f| add(&tables, f));
        assert_eq!(tables.table_bytes(), full);
        let all: Vec<u64> = (0..2000).collect();
        let decoding = tables.decoding();
        assert!(!remove(&all));
        look_up(&tables, 13, true);
        drop(decoding);
        assert!(remove(&all));
        assert_eq!((tables.table_bytes(), tables.owned().entries), (0, 0));
    }

    #[test]
    fn sites_survive_their_encoding() {
        let calls = [0, 77].map(|site| SiteKind::Call(CallSiteId::new(site)));
        let loops = [0, 77].map(|block| SiteKind::Loop(Block::new(block)));
        let exits = [0, MAX_EXITS as u32 - 1].map(|exit| SiteKind::Watched(Exit::from_u32(exit)));
        for site in calls.into_iter().chain(loops).chain(exits).chain([SiteKind::Poll, SiteKind::Entry, SiteKind::Probe, SiteKind::Runtime])
        {
            assert_eq!(SiteKind::decode(site.encode()), site);
        }
    }
}
