//! All knobs of the runtime: name, unit, where the value comes from. Options of the command line override the `DEFAULT_` ones.

use std::time::Duration;

/// Bytes of the nursery at most, unless `--nursery` says otherwise. On binary-trees (`benches gc`) 64 MiB halve the time in collections of 16 MiB; twice as many gain a fifth in splay, nothing in other samples, and take 40 to 100 MiB more.
pub const LARGEST_NURSERY: usize = 64 << 20;
/// Bytes it begins with, unless `--nursery` says otherwise.
pub const FIRST_NURSERY: usize = 8 << 20;
/// Where a minor collection goes through this share of the nursery's bytes, the nursery is doubled; where it goes through n times as much, it grows n times as far.
pub const WORK_SHARE: usize = 32;
/// But not to more than so many times its size at once: what is alive at a program's start may soon be dead.
pub const NURSERY_STEP: usize = 8;
/// Share of the heap that the nursery takes at most.
pub const NURSERY_SHARE: usize = 4;
/// Bytes a thread takes from the nursery at once.
pub const BUFFER: usize = 32 << 10;
/// Bytes; objects above have pages of their own and never move.
pub const LARGE: usize = 8 << 10;
/// An object above this many bytes does not throw away a thread's half-empty buffer.
pub const BUFFER_BYPASS: usize = 1 << 10;
/// The largest nursery is divided by this for the room that objects age in; what does not fit is promoted at once.
pub const SURVIVOR_SHARE: usize = 4;
/// Bytes the heap may take before the first major collection, if the maximum allows; more if the nursery needs it.
pub const FIRST_LIMIT: usize = 320 << 20;
/// After a major collection the heap may grow to this multiple (in quarters) of the live bytes before the next.
pub const GROWTH_QUARTERS: usize = 10;
/// So many major collections in a row may come for what dead objects keep, until a minor one looks again how much that is.
pub const NEPOTISM_TRUST: u32 = 8;
/// Bytes kept back for error objects once everything else is taken.
pub const ERROR_RESERVE: usize = 64 << 10;
/// This share of the maximum (at least 64 KiB, at most 1 MiB) is kept back until memory has run out once, so that a handler can allocate before it has dropped what filled the heap.
pub const GRACE_SHARE: usize = 64;
/// Entries of the mark stack at most; what it has no room for is found again by its region.
pub const MARK_STACK: usize = 128 << 10;
/// Array elements marked before the rest of the array is put off.
pub const MARK_CHUNK: usize = 256;
/// Old objects that a thread remembers before it tells the heap of them.
pub const REMEMBERED_CHUNK: usize = 1 << 10;
/// What is remembered may take this share of the nursery; it is kept free for that.
pub const REMEMBERED_SHARE: usize = 8;
/// How far ahead remembered objects and elements are fetched into the cache, in objects, and copies' references, in bytes. An array with more elements is a long one.
pub const PREFETCH_OBJECTS: usize = 16;
pub const PREFETCH_BYTES: usize = 256;
/// With room to spare, this share of the old generation's dead bytes may stay at its bottom to spare sliding everything above.
pub const DEAD_WOOD_SHARE: usize = 64;
/// Smallest `--heap`, in bytes.
pub const MIN_HEAP: usize = 2 << 20;
/// Largest `--heap`, in bytes: what is reserved for it must fit the address space.
pub const MAX_HEAP: usize = 1 << 44;
/// A smaller `--nursery` is taken as this, in bytes.
pub const MIN_NURSERY: usize = 64 << 10;

/// Bytes of stack a program thread reserves; only touched pages cost memory.
pub const DEFAULT_STACK: usize = 64 << 20;
/// Smallest `--stack`, in bytes.
pub const MIN_STACK: usize = 64 << 10;
/// Bytes at the end of a stack that program code leaves to the runtime and the compiler (`jit::native::STACK_RESERVE`), and the guard.
pub const STACK_SLACK: usize = 576 << 10;
/// Between two ticks of the timer. 4 ms is Jikes RVM's default (TACO'15 section 3.3); 10 ms is the classic scheduler tick.
pub const DEFAULT_TICK: Duration = Duration::from_millis(4);

/// Looks at a held mutex before a thread parks: some microseconds, as parking and waking take.
pub const MUTEX_SPINS: u32 = 100;
/// A thread that has waited for a mutex for so long gets it next, whoever else wants it. So is a mutex in its starving mode in Go.
pub const MUTEX_PATIENCE: Duration = Duration::from_millis(1);

/// Frames that a stack trace keeps at each end.
pub const TRACE_INNER: usize = 512;
pub const TRACE_OUTER: usize = 512;
/// Frames that a printed trace shows at each end.
pub const PRINTED_INNER: usize = 20;
pub const PRINTED_OUTER: usize = 10;

/// Bytes of output gathered before they are written when the output is no terminal.
pub const OUTPUT_BUFFER: usize = 64 << 10;

/// Bytes of the nursery in a heap of this size when `--nursery` is not given.
pub fn default_nursery(heap: usize) -> usize {
    (heap / NURSERY_SHARE).min(LARGEST_NURSERY)
}

/// Bytes of the heap when `--heap` is not given: a quarter of the machine's memory, at least 512 MiB; under a limit of the address space (`ulimit -v`) a sixteenth of that at most, for a heap reserves about
/// three times its size, and threads' stacks and machine code want room too.
pub fn default_heap() -> usize {
    (physical_memory() / 4).max(512 << 20).min(address_space() / 16).max(MIN_HEAP)
}

#[cfg(unix)]
fn address_space() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is valid for the call.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    if result != 0 || limit.rlim_cur == libc::RLIM_INFINITY { usize::MAX } else { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) }
}

#[cfg(not(unix))]
fn address_space() -> usize {
    usize::MAX
}

#[cfg(unix)]
fn physical_memory() -> usize {
    // SAFETY: sysconf only reads.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let machine = usize::try_from(pages).unwrap_or(0).saturating_mul(usize::try_from(size).unwrap_or(0));
    // A container's limit, where there is one.
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|t| t.trim().parse().ok());
    limit.map_or(machine, |l: usize| machine.min(l))
}

#[cfg(not(unix))]
fn physical_memory() -> usize {
    2 << 30
}
/// Threads of a program at a time, besides the main one. A system that still starts more has no memory mappings left for them (Linux: 65,530 in a process; a thread takes four, and two from its end until it is joined), and what fails then is no
/// error that could be told.
pub const MAX_THREADS: usize = 10_000;
/// Between ticks of the adaptive tier: a long loop is noticed within a few milliseconds, and a tick takes a microsecond.
pub const ADAPTIVE_TICK: Duration = Duration::from_millis(1);
/// Bytes of code of all kinds above which nothing is compiled anew: half of what there is room for.
pub const ADAPTIVE_CODE: u64 = 64 << 20;
/// Bytes of code out of use for which the program is stopped if no collection comes: much less than a program's code, much more than a function's.
pub const RETIRED: u64 = 256 << 10;
/// Nanoseconds that the program runs from one such stop to the next, twice as many each time until less is out of use.
pub const RECLAIM_PAUSE: f64 = 1e8;
/// Yield points that a thread looks at for a loop that it can leave: about a millisecond in all.
pub const LEAVING: u32 = 10_000;
/// The same when a window has ended in which calls were counted by code that is not optimized: there are many windows, and in loops that call little the next poll is near.
pub const LEAVING_WINDOW: u32 = 200;
/// A thread that stays for so long in a loop of code that counts calls, or does not, where the other is to run, is late: a thirtieth of a window, and a hundred times what is stored before a loop that is left. One that was taken off its processor may be
/// found late anywhere, but not eight times; a loop in which two windows pass is, and one that is as long in only one of a hundred windows distorts the profile by as much (`deltablue`).
#[cfg(feature = "native")]
pub const EXITS: jit::native::Exits = jit::native::Exits::InLongLoops { patience: Duration::from_micros(2), looks: 8 };
/// Nanoseconds of a program's time for each call of a function whose calls are brief: they take less than a fifth of a window in the mean.
pub const BRIEF: f64 = 1e4;
