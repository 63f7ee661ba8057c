//! The clock of the profiler: processor cycles where they can serve as time, nanoseconds elsewhere.
//!
//! Out: a count that only goes forward, on all threads alike, and its rate; of single threads how long they were on a processor, and how often they were off it. `rdtsc` takes part of what the system's clock does, but only counts time if its rate never changes (the invariant TSC, CPUID 8000_0007 EDX bit 8).

use profiler::clock::Rate;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// How long the counter is held against the system's clock to find its rate: it is then known to about 0.01 %.
const CALIBRATION: Duration = Duration::from_millis(2);

/// Where cycles come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CycleSource {
    /// The processor's time-stamp counter.
    Tsc,
    /// The system's monotonic clock, in nanoseconds.
    Monotonic,
}

impl std::fmt::Display for CycleSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CycleSource::Tsc => "rdtsc",
            CycleSource::Monotonic => "the monotonic clock",
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub struct CycleClock {
    source: CycleSource,
    rate: Rate,
    origin: Instant,
}

impl CycleClock {
    /// The best one that this machine has.
    pub fn new() -> CycleClock {
        if !tsc::is_invariant() {
            return CycleClock::monotonic();
        }
        let (first, origin) = tsc::moment();
        while origin.elapsed() < CALIBRATION {
            std::hint::spin_loop();
        }
        let (last, end) = tsc::moment();
        let (cycles, nanos) = (last.wrapping_sub(first), (end - origin).as_nanos().max(1));
        let per_second = u64::try_from(u128::from(cycles) * 1_000_000_000 / nanos).unwrap_or(0);
        match Rate::new(per_second) {
            Some(rate) => CycleClock { source: CycleSource::Tsc, rate, origin },
            None => CycleClock { source: CycleSource::Monotonic, rate: Rate::NANOSECONDS, origin },
        }
    }

    /// One that needs no time to be set up, and a little more each time it is read.
    pub fn monotonic() -> CycleClock {
        CycleClock { source: CycleSource::Monotonic, rate: Rate::NANOSECONDS, origin: Instant::now() }
    }

    pub fn now(&self) -> u64 {
        match self.source {
            CycleSource::Tsc => tsc::read(),
            CycleSource::Monotonic => self.origin.elapsed().as_nanos() as u64,
        }
    }

    pub fn source(&self) -> CycleSource {
        self.source
    }

    pub fn rate(&self) -> Rate {
        self.rate
    }
}

impl Default for CycleClock {
    fn default() -> Self {
        CycleClock::new()
    }
}

/// How long the current thread has been on a processor.
#[cfg(all(feature = "native", target_os = "linux"))]
pub fn thread_time() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID).expect("a clock of every Linux")
}

/// How often a thread was off its processor.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Switches {
    /// Because it had to wait for something.
    pub blocked: u64,
    /// For others, while it could have run.
    pub preempted: u64,
}

impl Switches {
    pub fn since(self, before: Switches) -> Switches {
        Switches { blocked: self.blocked.saturating_sub(before.blocked), preempted: self.preempted.saturating_sub(before.preempted) }
    }
}

impl AddAssign for Switches {
    fn add_assign(&mut self, other: Switches) {
        self.blocked += other.blocked;
        self.preempted += other.preempted;
    }
}

/// Of the current thread, so far.
#[cfg(all(feature = "native", target_os = "linux"))]
pub fn switches() -> Switches {
    // SAFETY: `rusage` is plain data for which all zeros is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it is ours to be written to. Where nothing is told it stays as it is.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let count = |switches| u64::try_from(switches).unwrap_or(0);
    Switches { blocked: count(usage.ru_nvcsw), preempted: count(usage.ru_nivcsw) }
}

#[cfg(all(feature = "native", target_os = "linux"))]
fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is ours to be written to.
    let is_known = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    is_known.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// The same of a thread, for others to read.
#[cfg(all(feature = "native", target_os = "linux"))]
pub struct ThreadClock(libc::clockid_t);

#[cfg(all(feature = "native", target_os = "linux"))]
impl ThreadClock {
    /// The current thread's.
    pub fn current() -> ThreadClock {
        let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
        // SAFETY: the thread is alive, and the clock ours to be written to. Where there is none it stays as it is.
        unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
        ThreadClock(clock)
    }

    /// `None` once the thread has ended.
    pub fn read(&self) -> Option<Duration> {
        read(self.0)
    }
}

#[cfg(target_arch = "x86_64")]
mod tsc {
    use std::arch::x86_64::{__cpuid, _rdtsc};
    use std::time::{Duration, Instant};

    /// How closely the counter is read to the system's clock: far from it, and the rate is wrong by the time for which the thread was kept from the processor in between.
    const CLOSE: Duration = Duration::from_micros(1);
    const TRIES: u32 = 100;

    /// The counter and the time at one moment, as nearly as both can be read.
    pub fn moment() -> (u64, Instant) {
        let mut best: Option<(Duration, u64, Instant)> = None;
        for _ in 0..TRIES {
            let before = Instant::now();
            let cycles = read();
            let took = before.elapsed();
            if best.is_none_or(|(least, ..)| took < least) {
                best = Some((took, cycles, before + took / 2));
            }
            if took < CLOSE {
                break;
            }
        }
        best.map(|(_, cycles, at)| (cycles, at)).expect("it was tried")
    }

    pub fn is_invariant() -> bool {
        const POWER: u32 = 0x8000_0007;
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & 1 << 8 != 0
    }

    pub fn read() -> u64 {
        // SAFETY: every x86-64 processor has the instruction, and Linux leaves it to programs.
        unsafe { _rdtsc() }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod tsc {
    pub fn is_invariant() -> bool {
        false
    }

    pub fn moment() -> (u64, std::time::Instant) {
        (0, std::time::Instant::now())
    }

    pub fn read() -> u64 {
        0
    }
}
