//! Counting calls some of the time: where calls are so frequent that counting each would be felt, code that counts runs in short windows only, and code that does not in between.
//!
//! In: how many calls a second threads have made in windows; how far the profile may still be off, and how many contexts are new; when windows begin and end
//! ([`Schedule`](super::schedule::Schedule), on the timer's thread). Out: whether there is one now, and how long bursts are in it ([`Windows`], for all threads); what a window's calls stand for ([`share`], [`First`]), and whether they do so alone ([`Counted::is_enough`]).
//!
//! While a window is open all calls go to code that counts them ([`jit::native::Engine::count_calls`]); a thread counts from when it has noticed that. A window stands for itself and for half of the
//! time on either side (several that go together, for all of the time between them, too): windows are farther apart where counting costs more, and so phases lose as much where they end as they gain where they begin.
//!
//! Where optimized code does not count ([`Counting::Beside`](super::Counting::Beside)), windows go by time alone: what code they lead to is slower, so they are a small part of the time, once something is optimized.
//!
//! A window begins and ends at ticks. Each thread takes note of its calls and of its own time when it notices the tick, so what a window stands for is known however late that is. Windows come at random times, so what they
//! see is what the thread does at any time; within a window calls are counted one by one, so dense times and sparse ones have their right weights.
//! Invariant: time is that for which the thread was on a processor, without what the profiler and collections took.

use super::clock::Switches;
use super::warmup::Warmup;
use profiler::tuning;
use std::ops::{AddAssign, Range};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Whether calls are counted now, and how fast they come.
#[derive(Debug)]
pub struct Windows {
    is_open: AtomicBool,
    /// The largest number of calls a second that a thread has told of since the timer asked, weighed as in [`Windows::tell_pace`].
    pace: AtomicU64,
    /// Of a [`Gap`].
    gap: AtomicU64,
    opened: AtomicU64,
    lasts: AtomicU64,
    times: AtomicU32,
    /// See [`Windows::length`].
    length: AtomicU64,
    /// See [`Windows::calls`].
    calls: AtomicU64,
    /// See [`Windows::rested`].
    rested: AtomicU64,
    /// [`Dcg::doubt`](profiler::structures::dcg::Dcg::doubt) of the profile so far: bits of a [`f64`].
    doubt: AtomicU64,
    /// New contexts for each of the calls recorded last: bits of a [`f64`].
    novelty: AtomicU64,
    /// Windows that go by time alone come so many times rarer.
    rarer: AtomicU32,
    warmup: Warmup,
    /// Calls in a burst, at least and at most.
    bursts: (u32, u32),
}

impl Windows {
    /// Open: a program begins with code that counts. Bursts are of `burst` calls; while contexts are new, of up to `longest`, where there is one.
    pub fn new(burst: u32, longest: Option<u32>) -> Windows {
        Windows {
            is_open: AtomicBool::new(true),
            pace: AtomicU64::new(0),
            gap: AtomicU64::new(0),
            opened: AtomicU64::new(0),
            lasts: AtomicU64::new(0),
            times: AtomicU32::new(0),
            length: AtomicU64::new(tuning::WINDOW_LENGTH),
            calls: AtomicU64::new(u64::MAX),
            rested: AtomicU64::new(0),
            doubt: AtomicU64::new(f64::INFINITY.to_bits()),
            novelty: AtomicU64::new(0f64.to_bits()),
            rarer: AtomicU32::new(1),
            warmup: Warmup::default(),
            bursts: (burst, longest.map_or(burst, |longest| longest.max(burst))),
        }
    }

    pub fn is_open(&self) -> bool {
        self.is_open.load(Relaxed)
    }

    /// How far the profile may be off.
    pub fn set_doubt(&self, doubt: f64) {
        self.doubt.store(doubt.to_bits(), Relaxed);
    }

    /// See [`Novelty`](super::organizer::Novelty).
    pub fn set_novelty(&self, contexts: f64) {
        self.novelty.store(contexts.to_bits(), Relaxed);
    }

    /// Calls in a burst of the next window: the more, the more new contexts they bring.
    pub fn burst(&self) -> u32 {
        let (least, most) = self.bursts;
        ((f64::from(least) * self.novelty()) as u32).clamp(least, most)
    }

    /// In units of that beyond which bursts are longer.
    fn novelty(&self) -> f64 {
        f64::from_bits(self.novelty.load(Relaxed)) / tuning::WINDOW_NOVELTY
    }

    /// For how many times as much windows may be paid as for a profile that is as sure as it is to be. One whose call graph is surer may still lack contexts.
    pub(super) fn worth(&self) -> f64 {
        let doubt = f64::from_bits(self.doubt.load(Relaxed)) / tuning::WINDOW_DOUBT;
        doubt.max(self.novelty().min(1.0)).clamp(tuning::WINDOW_LEAST, tuning::WINDOW_MOST)
    }

    /// From the next window on, those that go by time alone come so many times as rarely as at the beginning.
    pub fn set_rarer(&self, times: u32) {
        self.rarer.store(times, Relaxed);
    }

    pub fn warmup(&self) -> &Warmup {
        &self.warmup
    }

    pub fn gap(&self) -> Gap {
        Gap {
            cycles: self.gap.load(Relaxed),
            opened: self.opened.load(Relaxed),
            lasts: self.lasts.load(Relaxed),
            times: self.times.load(Relaxed),
        }
    }

    pub(super) fn set_gap(&self, Gap { cycles, opened, lasts, times }: Gap) {
        self.gap.store(cycles, Relaxed);
        self.opened.store(opened, Relaxed);
        self.lasts.store(lasts, Relaxed);
        self.times.store(times, Relaxed);
    }

    /// Nanoseconds for which a usual window lasts that is to be brief.
    pub fn length(&self) -> u64 {
        self.length.load(Relaxed)
    }

    /// Calls that a thread makes in such a window, by the pace of others.
    pub fn calls(&self) -> u64 {
        self.calls.load(Relaxed)
    }

    /// Nanoseconds, and calls a second; 0 where nobody has told of any.
    pub(super) fn set_usual(&self, length: u64, pace: f64) {
        self.length.store(length, Relaxed);
        let calls = if pace > 0.0 { (pace * length as f64 / 1e9) as u64 } else { u64::MAX };
        self.calls.store(calls, Relaxed);
    }

    /// In all rests that are over, in cycles of the profiler's clock: times in which there was to be no window, for which none stands.
    pub fn rested(&self) -> u64 {
        self.rested.load(Relaxed)
    }

    pub(super) fn add_rest(&self, cycles: u64) {
        self.rested.fetch_add(cycles, Relaxed);
    }

    pub(super) fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Relaxed);
    }

    /// What [`Windows::tell_pace`] was told since the last time, in calls a second; 0: nothing.
    pub(super) fn take_pace(&self) -> u64 {
        self.pace.swap(0, Relaxed)
    }

    pub(super) fn rarer(&self) -> u32 {
        self.rarer.load(Relaxed)
    }

    /// Waits for the end of a window, but not for long: where there are few processors, whoever works beside the program keeps the timer from ending it in time.
    pub fn let_pass(&self) {
        const LOOKS: u32 = 8;
        let is_brief = || self.is_open() && !self.gap().is_none();
        (0..LOOKS).take_while(|_| is_brief()).for_each(|_| std::thread::sleep(Duration::from_nanos(tuning::WINDOW_LENGTH)));
    }

    /// What a thread has done in a window.
    pub fn tell_pace(&self, window: Counted) {
        // A thread that has only just come to it says nothing.
        if !is_short(window.length) {
            let pace = window.calls as f64 / window.length as f64 * 1e9;
            self.pace.fetch_max((pace as u64).max(1), Relaxed);
        }
    }
}

/// The time before the present window in which no calls were counted, for threads that have seen no window before. In cycles of the profiler's clock.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Gap {
    /// 0 where all calls are counted, and were before.
    pub cycles: u64,
    /// When the window began.
    pub opened: u64,
    /// How long it lasts at least. How long it really does is not known as long as it does, and threads end in it: so it is its first part that stands for the gap.
    pub lasts: u64,
    /// So many times as long as usual.
    pub times: u32,
}

impl Gap {
    pub fn is_none(self) -> bool {
        self.cycles == 0
    }

    /// For how many times as much as they are a thread's calls at these times of the window stand, if none of it was seen before: each moment of the window's first part stands for so many of the gap.
    pub fn share(self, seen: Range<u64>) -> f64 {
        if self.is_none() {
            return 1.0;
        }
        let first = self.opened.saturating_add(self.lasts);
        // A thread that is seen for no time at all is seen at its first moment.
        let (length, within) = ((seen.end.max(seen.start + 1) - seen.start) as f64, first.saturating_sub(seen.start) as f64);
        1.0 + self.cycles as f64 / self.lasts.max(1) as f64 * (within / length).min(1.0)
    }
}

/// A thread's first window: it stands for what the thread has done before, and for threads that were never seen because they began and ended before it.
#[derive(Clone, Copy, Debug)]
pub struct First {
    pub gap: Gap,
    /// When the thread noticed the window, in cycles of the profiler's clock.
    pub at: u64,
    /// What the thread had run before, in nanoseconds.
    pub ran: u64,
}

/// In nanoseconds, besides itself: what a window stands for that lies before it, and how much of what comes behind it is in that already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Before {
    pub nanos: u64,
    pub ahead: u64,
}

impl First {
    /// Of a window of so many nanoseconds of the thread's time, in which it ran until this cycle.
    ///
    /// Of threads that live for a shorter time than the gap, the part that meets the window stands for all, by how much of the window it meets; one that lives for longer would have been seen in any case, and stands for
    /// itself. So it is the longer of the thread's life, of which the rest is yet to come, and of the gap.
    pub fn before(self, length: u64, left: u64) -> Before {
        let gap = ((self.gap.share(self.at..left) - 1.0) * length as f64) as u64;
        Before { nanos: gap.max(self.ran), ahead: gap.saturating_sub(self.ran) }
    }
}

/// Nanoseconds in which a call is recorded, at most.
const RECORDING: u64 = 200;

/// The part of a window that it takes itself, at most.
const MOST: f64 = 0.75;

/// A window of so many nanoseconds has hardly begun.
pub fn is_short(length: u64) -> bool {
    length < tuning::WINDOW_LENGTH / 8
}

/// What a thread has done in a window, or in several.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counted {
    pub windows: u32,
    /// In nanoseconds, by the time that passes, and by the thread's own.
    pub passed: u64,
    pub length: u64,
    pub calls: u64,
    /// Of the calls, those that were recorded in bursts.
    pub recorded: u64,
    /// Of the length, the time in which they were, by the time that passes.
    pub recording: u64,
    /// How often the thread was off its processor in it.
    pub switches: Switches,
    /// What is reckoned to be lost of the length to code that was not run just before: [`Warmup::nanos`].
    pub warmup: f64,
}

impl AddAssign for Counted {
    fn add_assign(&mut self, other: Counted) {
        self.windows += other.windows;
        self.passed += other.passed;
        self.length += other.length;
        self.calls += other.calls;
        self.recorded += other.recorded;
        self.recording += other.recording;
        self.switches += other.switches;
        self.warmup += other.warmup;
    }
}

impl Counted {
    /// Whether that says what the thread does. In a window that it noticed when it was about to end, or was blocked in for most of the time, a thread does other things than it does usually: it may have woken for nothing. What it has done
    /// in several such windows stands for all of the time before them; in one alone, for a thousand times as much.
    pub fn is_enough(self) -> bool {
        let was_blocked = self.switches.blocked > 0 && 2 * self.length < self.passed;
        let is_usual = self.windows == 1 && !is_short(self.length) && !was_blocked;
        is_usual || self.length >= tuning::WINDOW_TOGETHER
    }

    /// The calls of a window that is as long, but of no more than so many nanoseconds.
    pub fn calls_in(self, nanos: u64) -> u64 {
        (self.calls as f64 * (nanos as f64 / self.length.max(1) as f64).min(1.0)) as u64
    }

    /// The part of `share` that makes up for what the window itself took.
    pub fn correction(self, before: u64, share: f64) -> f64 {
        1.0 - (1.0 + before as f64 / self.length.max(1) as f64) / share
    }

    /// Nanoseconds that the thread would not have taken without the window.
    fn slowdown(self) -> f64 {
        let preempted = tuning::PREEMPTION * self.switches.preempted as f64;
        let taken = self.warmup + tuning::COUNT_COST * self.calls as f64 + self.recording_took() + preempted;
        // It takes time, but never all of it.
        taken.min(MOST * self.length as f64)
    }

    /// What bursts have taken longer than as many of the window's other calls. Who was off the processor in one seems to have recorded for longer than it did.
    fn recording_took(self) -> f64 {
        let Some(others) = self.calls.checked_sub(self.recorded).filter(|&others| others > 0) else { return 0.0 };
        let recording = self.recording.min(RECORDING * self.recorded).min(self.length);
        let usual = (self.length - recording) as f64 / others as f64;
        (recording as f64 - usual * self.recorded as f64).max(0.0)
    }
}

/// For how much of a thread's time one unit of a window's time stands, which is told with so many nanoseconds before it: half of those since the last one, and all between windows that go together.
/// The half of the time behind it is added when the next one begins.
pub fn share(before: u64, window: Counted) -> f64 {
    1.0 + before as f64 / (window.length as f64 - window.slowdown()).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use profiler::samplers::Random;

    #[test]
    fn a_window_stands_for_the_time_that_is_told_with_it() {
        let warmup = 7_000.0;
        let window = |length, calls| Counted { windows: 1, length, calls, warmup, ..Counted::default() };
        assert_eq!(share(0, window(100, 50)), 1.0);
        // It was cold, and counting has taken some of it.
        let is = |window: Counted, slow: f64| (share(900_000, window) - (1.0 + 900_000.0 / (100_000.0 - slow))).abs() < 1e-9;
        let counted = warmup + 1_000.0 * tuning::COUNT_COST;
        assert!(is(window(100_000, 0), warmup) && is(window(100_000, 1_000), counted));
        // Half of the calls were recorded, in 60 of 100 microseconds instead of 40.
        let recorded = Counted { recorded: 500, recording: 60_000, ..window(100_000, 1_000) };
        assert!(is(recorded, counted + 20_000.0));
        assert!(is(Counted { recording: 30_000, ..recorded }, counted), "recording is no faster");
        assert!(
            is(Counted { recording: 1 << 40, recorded: 10, ..recorded }, counted + 2_000.0 - 98_000.0 / 99.0),
            "it was off the processor"
        );
        assert!(is(Counted { recorded: 1_000, ..recorded }, counted), "nothing to compare with");
        let preempted = Switches { preempted: 2, blocked: 0 };
        assert!(is(Counted { switches: preempted, ..window(100_000, 1_000) }, counted + 2.0 * tuning::PREEMPTION));
        let half = window(100, 1_000_000);
        assert_eq!(half.correction(1000, share(1000, half)), 1.0 - 11.0 / 41.0);
        assert_eq!(share(1000, half), 1.0 + 1000.0 / 25.0, "all of a window is never its cost");
        assert!(share(0, window(0, 1_000_000)) >= 1.0, "a window that took no time");
    }

    #[test]
    fn windows_of_a_thread_that_is_blocked_in_them_go_together() {
        let switches = Switches { blocked: 1, preempted: 1 };
        let window = |length| Counted { windows: 1, passed: 60_000, length, switches, ..Counted::default() };
        assert!(window(60_000).is_enough() && window(30_000).is_enough());
        assert!(!Counted { passed: 2_000, ..window(2_000) }.is_enough(), "noticed at its end");
        let preempted = Switches { blocked: 0, ..switches };
        assert!(Counted { switches: preempted, ..window(10_000) }.is_enough(), "others had its processor, but it does what it always does");
        let mut blocked = window(10_000);
        let mut windows = 1;
        while !blocked.is_enough() {
            blocked += window(60_000);
            windows += 1;
        }
        assert_eq!(windows, 5, "what it has done where it ran is not the whole of it");
    }

    #[test]
    fn the_first_part_of_a_window_stands_for_the_gap() {
        let gap = Gap { cycles: 9_900, opened: 1_000, lasts: 100, times: 1 };
        let share = |seen| gap.share(seen);
        assert_eq!([share(1_000..1_000), share(1_000..1_010), share(1_090..1_100)], [100.0; 3], "one of a hundred such threads is seen");
        assert_eq!([share(1_000..1_200), share(1_050..1_150)], [50.5; 2], "half of it in the first part");
        assert_eq!([share(1_100..1_100), share(1_150..5_000)], [1.0; 2], "the window should be over");
        assert_eq!(Gap::default().share(0..5), 1.0, "all are seen");
    }

    #[test]
    fn the_next_window_is_not_taken_for_as_long_as_one_that_was_late() {
        let calls = |length| Counted { length, calls: 5_000, ..Counted::default() }.calls_in(100);
        assert_eq!([50, 100, 400, 10_000].map(calls), [5_000, 5_000, 1_250, 50]);
    }

    /// Threads that begin at any time and live for so many cycles, of which they are seen in windows of many lengths, late or not.
    fn told_of_threads(life: u64, mut window: impl FnMut(&mut Random) -> (u64, u64)) -> f64 {
        const THREADS: u64 = 100_000;
        let mut random = Random::stream(1, 2);
        let mut windows = Vec::new();
        let mut end = 0;
        while end < THREADS * 200 {
            let (lasts, late) = window(&mut random);
            let cycles = 5_000 + random.below(10_000);
            let gap = Gap { cycles, opened: end + cycles, lasts, times: 1 };
            end = gap.opened + lasts + late;
            windows.push((gap, end));
        }
        let told: u64 = (0..THREADS).map(|_| told_of(life, random.below(THREADS * 200 - 200_000), &windows)).sum();
        told as f64 / (THREADS * life) as f64
    }

    /// What the windows of a thread that lives from then on stand for.
    fn told_of(life: u64, begins: u64, windows: &[(Gap, u64)]) -> u64 {
        let ends = begins + life;
        let first = windows.partition_point(|&(_, closed)| closed <= begins);
        let (gap, closed) = windows[first];
        let (at, left) = (gap.opened.max(begins), closed.min(ends));
        if at >= ends {
            return 0;
        }
        let before = First { gap, at, ran: at - begins }.before(left - at, left);
        before.nanos + (left - at) + (ends - left).saturating_sub(before.ahead)
    }

    #[test]
    fn threads_stand_for_those_that_were_never_seen_however_long_they_live_and_however_late_windows_end() {
        for life in [20, 300, 2_000, 9_000, 30_000] {
            let timely = told_of_threads(life, |random| (100 + random.below(200), 0));
            let late = told_of_threads(life, |random| (100 + random.below(200), random.below(10) * random.below(1_000)));
            // Of threads that begin in the late part and end before the next window, the rest is in what that stands for, too.
            assert!((timely - 1.0).abs() < 0.05 && (late - 1.0).abs() < 0.15, "{life}: {timely} {late}");
        }
    }

    #[test]
    fn a_profile_that_is_sure_is_worth_less() {
        let windows = Windows::new(1, None);
        assert_eq!(windows.worth(), tuning::WINDOW_MOST, "nothing is known when a program begins");
        let worth = |doubt| {
            windows.set_doubt(doubt * tuning::WINDOW_DOUBT);
            windows.worth()
        };
        let about = |found: f64, wanted: f64| (found - wanted).abs() < 1e-9;
        let wanted = [(100.0, tuning::WINDOW_MOST), (1.0, 1.0), (0.75, 0.75), (0.0, tuning::WINDOW_LEAST)];
        assert!(wanted.into_iter().all(|(doubt, wanted)| about(worth(doubt), wanted)));
        let with_news = |doubt, novelty| {
            windows.set_doubt(doubt * tuning::WINDOW_DOUBT);
            windows.set_novelty(novelty * tuning::WINDOW_NOVELTY);
            windows.worth()
        };
        let wanted = [(0.0, 0.5, 0.5), (0.0, 100.0, 1.0), (1.2, 100.0, 1.2)];
        assert!(wanted.into_iter().all(|(doubt, novelty, wanted)| about(with_news(doubt, novelty), wanted)));
    }

    #[test]
    fn bursts_are_longer_where_contexts_are_new() {
        let windows = Windows::new(32, Some(512));
        let mut burst = |novelty| {
            windows.set_novelty(novelty * tuning::WINDOW_NOVELTY);
            windows.burst()
        };
        assert_eq!([0.0, 1.0, 2.0, 15.5, 17.0].map(&mut burst), [32, 32, 64, 496, 512]);
        let fixed = [Windows::new(8, None), Windows::new(8, Some(4))];
        fixed.iter().for_each(|windows| windows.set_novelty(1.0));
        assert_eq!(fixed.map(|windows| windows.burst()), [8, 8], "somebody asked for just so many");
    }

    #[test]
    fn the_pace_is_that_of_the_fastest_thread() {
        let windows = Windows::new(1, None);
        let tell = |calls, length| windows.tell_pace(Counted { length, calls, ..Counted::default() });
        tell(1000, 1_000_000);
        tell(5000, 1_000_000);
        tell(2000, 1_000_000);
        tell(1_000_000, 10);
        assert_eq!(windows.pace.load(Relaxed), 5_000_000);
    }
}
