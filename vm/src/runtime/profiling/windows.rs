//! Counting calls some of the time: where calls are so frequent that counting each would be felt, code that counts runs in short windows only, and code that does not in between.
//!
//! In: how many calls a second threads have made in windows, and how many of them went over from code that does not count; how far the profile may still be off, and how many contexts are new. Out: when windows begin and end ([`Schedule`],
//! on the timer's thread); whether there is one now, and how long bursts are in it ([`Windows`], for all threads); what a window's calls stand for ([`share`], [`Gap`]).
//!
//! Code that counts and code that does not each call their own kind ([`jit::layout::Side`]); a thread goes over to code that counts at the next entry once it has noticed that a window is open. A window stands for itself and for half of the
//! time on either side: windows are farther apart where counting costs more, and so phases lose as much where they end as they gain where they begin.
//!
//! Where optimized code does not count ([`Counting::Beside`]), windows go by time alone: what code they lead to is slower, so they are a small part of the time, once something is optimized.
//!
//! A window begins and ends at ticks. Each thread takes note of its calls and of its own time when it notices the tick, so what a window stands for is known however late that is. Windows come at random times, so what they
//! see is what the thread does at any time; within a window calls are counted one by one, so dense times and sparse ones have their right weights.
//! Invariant: time is that for which the thread was on a processor, without what the profiler and collections took.

use super::{Counting, Profiler};
use crate::runtime::engine::Engine;
use crate::runtime::safepoint::{Tick, Ticks};
use profiler::samplers::Random;
use profiler::tuning;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Whether calls are counted now, and how fast they come.
#[derive(Debug)]
pub struct Windows {
    is_open: AtomicBool,
    /// The largest number of calls a second that a thread has told of since the timer asked, weighed as in [`Windows::tell_pace`].
    pace: AtomicU64,
    /// Of a [`Gap`], in nanoseconds.
    gap: AtomicU64,
    lasts: AtomicU64,
    /// [`Dcg::doubt`](profiler::structures::dcg::Dcg::doubt) of the profile so far: bits of a [`f64`].
    doubt: AtomicU64,
    /// New contexts for each of the calls recorded last: bits of a [`f64`].
    novelty: AtomicU64,
    /// Windows that go by time alone come so many times rarer.
    rarer: AtomicU32,
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
            lasts: AtomicU64::new(0),
            doubt: AtomicU64::new(f64::INFINITY.to_bits()),
            novelty: AtomicU64::new(0f64.to_bits()),
            rarer: AtomicU32::new(1),
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

    /// Calls in a burst of the next window: the more, the more new contexts they bring. Bursts of one window are of one length, and its calls weigh the same.
    pub fn burst(&self) -> u32 {
        let longer = f64::from_bits(self.novelty.load(Relaxed)) / tuning::WINDOW_NOVELTY;
        let (least, most) = self.bursts;
        ((f64::from(least) * longer) as u32).clamp(least, most)
    }

    /// For how many times as much windows may be paid as for a profile that is as sure as it is to be.
    fn worth(&self) -> f64 {
        (f64::from_bits(self.doubt.load(Relaxed)) / tuning::WINDOW_DOUBT).clamp(tuning::WINDOW_LEAST, tuning::WINDOW_MOST)
    }

    /// From the next window on, those that go by time alone come so many times as rarely as at the beginning.
    pub fn set_rarer(&self, times: u32) {
        self.rarer.store(times, Relaxed);
    }

    pub fn gap(&self) -> Gap {
        Gap { nanos: self.gap.load(Relaxed), lasts: self.lasts.load(Relaxed) }
    }

    fn set_gap(&self, Gap { nanos, lasts }: Gap) {
        self.gap.store(nanos, Relaxed);
        self.lasts.store(lasts, Relaxed);
    }

    /// Waits for the end of a window, but not for long: where there are few processors, whoever works beside the program keeps the timer from ending it in time.
    pub fn let_pass(&self) {
        const LOOKS: u32 = 8;
        let is_brief = || self.is_open() && !self.gap().is_none();
        (0..LOOKS).take_while(|_| is_brief()).for_each(|_| std::thread::sleep(Duration::from_nanos(tuning::WINDOW_LENGTH)));
    }

    /// What a thread has done in a window: a call that goes over counts as many as cost the same.
    pub fn tell_pace(&self, window: Counted) {
        // A thread that has only just come to it says nothing.
        if !is_short(window.length) {
            let pace = window.cost() / tuning::COUNT_COST / window.length as f64 * 1e9;
            self.pace.fetch_max((pace as u64).max(1), Relaxed);
        }
    }
}

/// The time before the present window in which no calls were counted, for threads that have seen no window before.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Gap {
    /// 0 where all calls are counted.
    nanos: u64,
    /// How long the window is expected to be, in nanoseconds.
    lasts: u64,
}

impl Gap {
    pub fn is_none(self) -> bool {
        self.nanos == 0
    }

    /// For how many times its own length a thread's first window stands, of so many nanoseconds: briefer ones are of threads that have begun or ended in it, and stand for others that did so before.
    pub fn share(self, length: u64) -> f64 {
        1.0 + self.nanos as f64 / length.max(self.lasts).max(1) as f64
    }
}

/// A window of so many nanoseconds has hardly begun.
pub fn is_short(length: u64) -> bool {
    length < tuning::WINDOW_LENGTH / 8
}

/// What a thread has done in a window.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// In nanoseconds.
    pub length: u64,
    pub calls: u64,
    /// Of the calls, those from code that does not count.
    pub gone_over: u64,
}

impl Counted {
    /// The part of `share` that makes up for what the window itself took.
    pub fn correction(self, before: u64, share: f64) -> f64 {
        1.0 - (1.0 + before as f64 / self.length.max(1) as f64) / share
    }

    /// Nanoseconds that counting took.
    fn cost(self) -> f64 {
        tuning::COUNT_COST * self.calls as f64 + tuning::GO_OVER_COST * self.gone_over as f64
    }

    /// Nanoseconds that the thread would not have taken without the window.
    fn slowdown(self) -> f64 {
        // It takes time, but never all of it.
        self.cost().min(self.length as f64 / 2.0)
    }
}

/// For how much of a thread's time one unit of a window's time stands, which is told with so many nanoseconds before it, half of those since the last one.
/// The half of the time behind it is added when the next one begins.
pub fn share(before: u64, window: Counted) -> f64 {
    1.0 + before as f64 / (window.length as f64 - window.slowdown()).max(1.0)
}

/// Times without any window, as long as the times between them, for measuring what windows cost: [`super::ProfileOptions::rest`].
struct Rests {
    turn: Duration,
    is_resting: bool,
}

impl Rests {
    /// How long the present rest still lasts, if there is one, after so much time. Says on stderr what has begun, for whoever measures; nothing is lost if nobody hears it.
    fn left(&mut self, elapsed: Duration) -> Option<Duration> {
        let turns = elapsed.as_nanos() / self.turn.as_nanos().max(1);
        let is_resting = turns % 2 == 1;
        if is_resting != self.is_resting {
            self.is_resting = is_resting;
            _ = writeln!(std::io::stderr(), "profiling {}", if is_resting { "rests" } else { "goes on" });
        }
        is_resting.then(|| self.turn.mul_f64((turns + 1) as f64).saturating_sub(elapsed))
    }
}

/// When windows are open.
pub struct Schedule {
    profiler: Arc<Profiler>,
    engine: Arc<dyn Engine>,
    random: Random,
    /// Calls a second, over many windows. Not in the last one: a dense window that is followed by a longer time than a sparse one would stand for more.
    pace: f64,
    /// In the last window or, where there were more before, over the last ones.
    most: f64,
    started: Instant,
    /// When the last window ended.
    closed: Instant,
    /// When it began: not known of the first one, which is another.
    opened: Option<Instant>,
    /// How long it was: timers are late.
    lasted: Duration,
    rests: Option<Rests>,
}

impl Schedule {
    pub fn new(profiler: Arc<Profiler>, engine: Arc<dyn Engine>, random: Random) -> Schedule {
        let now = Instant::now();
        let rests = profiler.options().rest.map(|turn| Rests { turn, is_resting: false });
        Schedule { profiler, engine, random, pace: 0.0, most: 0.0, started: now, closed: now, opened: None, lasted: Duration::ZERO, rests }
    }

    /// Windows go by time alone. As long as nothing is optimized, code that counts is no slower than other code.
    fn is_beside(&self) -> bool {
        self.profiler.options().counting == Counting::Beside && self.engine.has_optimized_code()
    }

    /// Of a window, in nanoseconds.
    fn length(&self) -> u64 {
        if self.is_beside() { tuning::BESIDE_LENGTH } else { tuning::WINDOW_LENGTH }
    }

    fn windows(&self) -> &Windows {
        self.profiler.windows().expect("the schedule is theirs")
    }

    /// Between half of it and one and a half times as long: windows keep step with nothing.
    fn about(&mut self, nanos: u64) -> Duration {
        Duration::from_nanos(nanos / 2 + self.random.below(nanos.max(1)))
    }

    fn take_pace(&mut self) {
        let pace = self.windows().pace.swap(0, Relaxed) as f64;
        if pace > 0.0 {
            self.pace = if self.pace == 0.0 { pace } else { self.pace + (pace - self.pace) / 16.0 };
            // A phase that calls more counts at once: all its calls are counted until then.
            self.most = if self.most < pace { pace } else { self.most + (pace - self.most) / 4.0 };
        }
    }

    /// More calls than may be counted.
    fn is_excessive(&self) -> bool {
        self.most > tuning::WINDOW_EXACT
    }

    /// From one window to the next, in nanoseconds: so long that what they take is as large a part of the time as counting as many calls as may be counted, but for what a profile is worth that is more or less sure.
    fn gap(&self) -> u64 {
        let counting = tuning::WINDOW_LENGTH as f64 * (self.pace / tuning::WINDOW_CALLS - 1.0).max(0.0);
        let besides = tuning::WINDOW_COLD / (tuning::COUNT_COST * tuning::WINDOW_CALLS) * 1e9;
        ((counting + besides) / self.windows().worth()).min(tuning::WINDOW_GAP as f64) as u64
    }

    /// Of a window of a program whose calls are all counted: the longer, the farther they are from being too many.
    fn turn(&self) -> u64 {
        let far = (tuning::WINDOW_EXACT / self.most.max(1.0)).clamp(1.0, tuning::WINDOW_TURNS);
        (tuning::WINDOW_TURN as f64 * far) as u64
    }

    fn is_resting(&self) -> bool {
        self.rests.as_ref().is_some_and(|rests| rests.is_resting)
    }

    fn open(&mut self) {
        let length = Duration::from_nanos(self.length());
        // One in which all calls were counted for a while says nothing of those to come.
        let lasts = self.lasted.clamp(length, 4 * length);
        self.opened = Some(Instant::now());
        self.windows().set_gap(Gap { nanos: nanos(self.closed.elapsed()), lasts: nanos(lasts) });
        self.windows().is_open.store(true, Relaxed);
    }

    fn close(&mut self) {
        self.closed = Instant::now();
        self.lasted = self.opened.map_or(Duration::ZERO, |opened| self.closed - opened);
        self.windows().is_open.store(false, Relaxed);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Ticks for Schedule {
    fn interval(&mut self) -> Duration {
        self.take_pace();
        let is_open = self.windows().is_open();
        let elapsed = self.started.elapsed();
        if let Some(left) = self.rests.as_mut().and_then(|rests| rests.left(elapsed)) {
            return if is_open { Duration::ZERO } else { left };
        }
        self.about(match is_open {
            false if self.is_beside() => {
                let part = tuning::BESIDE_PART * elapsed.as_nanos() as f64;
                (part as u64).clamp(tuning::BESIDE_LENGTH, tuning::BESIDE_GAP) * u64::from(self.windows().rarer.load(Relaxed))
            }
            false => self.gap(),
            true if self.is_beside() || self.is_excessive() => self.length(),
            true => {
                // All calls are counted: threads that begin from now on stand for themselves.
                self.windows().set_gap(Gap::default());
                self.turn()
            }
        })
    }

    fn before(&mut self) -> Tick {
        if !self.windows().is_open() {
            self.engine.complete_twins();
            self.engine.count_calls(true);
            self.open();
        } else if self.is_resting() || self.is_beside() || self.is_excessive() {
            self.engine.complete_twins();
            self.close();
        }
        Tick { sampled: Some(self.profiler.cycles()), is_pace: false }
    }

    fn after(&mut self) {
        if !self.windows().is_open() {
            self.engine.count_calls(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_stands_for_the_time_that_is_told_with_it() {
        let window = |length, calls, gone_over| Counted { length, calls, gone_over };
        assert_eq!(share(0, window(100, 50, 0)), 1.0);
        assert_eq!(share(900_000, window(100_000, 0, 0)), 10.0);
        // Counting has taken some of it, and more where code that does not count was called first.
        let slow = 100.0 * tuning::COUNT_COST + 10.0 * tuning::GO_OVER_COST;
        assert!((share(900_000, window(100_000, 100, 10)) - (1.0 + 900_000.0 / (100_000.0 - slow))).abs() < 1e-9);
        let half = window(100, 1_000_000, 0);
        assert_eq!(half.correction(1000, share(1000, half)), 1.0 - 11.0 / 21.0);
        assert_eq!(share(1000, half), 1.0 + 1000.0 / 50.0, "most of a window is never its cost");
        assert!(share(0, window(0, 1_000_000, 0)) >= 1.0, "a window that took no time");
    }

    #[test]
    fn a_threads_first_window_stands_for_what_was_not_seen_of_others_or_of_itself() {
        let gap = Gap { nanos: 9_900_000, lasts: 100_000 };
        assert_eq!([0, 1000, 100_000].map(|length| gap.share(length)), [100.0; 3], "one of a hundred such threads is seen");
        assert_eq!(gap.share(9_900_000), 2.0, "the window has become a long one");
        assert_eq!([0, 1000].map(|length| Gap::default().share(length)), [1.0; 2], "all are seen");
    }

    #[test]
    fn every_second_turn_is_a_rest_to_its_end() {
        let mut rests = Rests { turn: Duration::from_millis(200), is_resting: false };
        let mut left = |milliseconds| rests.left(Duration::from_millis(milliseconds)).map(|left| left.as_millis());
        assert_eq!([0, 199, 200, 250, 399, 400, 700].map(&mut left), [None, None, Some(200), Some(150), Some(1), None, Some(100)]);
    }

    #[test]
    fn a_profile_that_is_sure_is_worth_less() {
        let windows = Windows::new(1, None);
        assert_eq!(windows.worth(), tuning::WINDOW_MOST, "nothing is known when a program begins");
        let mut worth = |doubt| {
            windows.set_doubt(doubt * tuning::WINDOW_DOUBT);
            windows.worth()
        };
        assert_eq!([100.0, 1.0, 0.75, 0.0].map(&mut worth), [tuning::WINDOW_MOST, 1.0, 0.75, tuning::WINDOW_LEAST]);
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
        let tell = |calls, gone_over, length| windows.tell_pace(Counted { length, calls, gone_over });
        tell(1000, 0, 1_000_000);
        tell(5000, 0, 1_000_000);
        tell(2000, 0, 1_000_000);
        tell(1_000_000, 0, 10);
        assert_eq!(windows.pace.load(Relaxed), 5_000_000);
        tell(2000, 2000, 1_000_000);
        let dear = 2e6 * (1.0 + tuning::GO_OVER_COST / tuning::COUNT_COST);
        assert!((windows.pace.load(Relaxed) as f64 - dear).abs() < 2.0, "calls that go over cost more");
    }
}
