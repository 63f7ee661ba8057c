//! When windows are open: on the timer's thread, which calls at the times that [`Schedule`] asks for.
//!
//! In: how many calls a second threads have made in windows, what a profile that is so sure is worth. Out: [`Windows`] open and closed, code that counts calls in use or not, and what threads have to know of the time between windows ([`Gap`]), the organizer woken where it disturbs none.
//!
//! Invariant: a window is open for at least as long as its [`Gap`] says, if no rest begins in it.

use super::windows::{Gap, Windows};
use super::{Counting, Profiler};
use crate::runtime::engine::Engine;
use crate::runtime::timer::{Tick, Ticks};
use profiler::samplers::Random;
use profiler::tuning;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// Windows over which the timer's lateness is averaged.
const LATE_OVER: f64 = 16.0;

/// Opens windows and closes them.
pub struct Schedule {
    profiler: Arc<Profiler>,
    engine: Arc<dyn Engine>,
    random: Random,
    /// Calls a second, over many windows. Not in the last one: a dense window that is followed by a longer time than a sparse one would stand for more.
    pace: f64,
    /// In the last window or, where there were more before, over the last ones.
    most: f64,
    /// When it began: [`Profiler::working_time`].
    started: Instant,
    /// When the last window ended, in cycles: later by what the program has been idle since.
    closed: u64,
    /// How long the present one is to be, where it is brief.
    lasts: Duration,
    /// Nanoseconds by which it is closed late in the mean, as machines differ in it.
    late: f64,
    rests: Option<Rests>,
}

impl Schedule {
    pub fn new(profiler: Arc<Profiler>, engine: Arc<dyn Engine>, random: Random) -> Schedule {
        let rests = profiler.options().rest.map(|turn| Rests { turn, is_resting: false });
        let (started, closed) = (profiler.working_time(), profiler.cycles());
        Schedule { profiler, engine, random, pace: 0.0, most: 0.0, started, closed, lasts: Duration::ZERO, late: 0.0, rests }
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
        let pace = self.windows().take_pace() as f64;
        if pace > 0.0 {
            self.pace = if self.pace == 0.0 { pace } else { self.pace + (pace - self.pace) / 16.0 };
            // A phase that calls more counts at once: all its calls are counted until then. One that calls less does so after a time, however often windows come in it.
            let part = 4.0 * self.windows().worth().max(1.0);
            self.most = if self.most < pace { pace } else { self.most + (pace - self.most) / part };
        }
    }

    /// Calls a second up to which all are counted.
    fn exact(&self) -> f64 {
        if self.engine.has_optimized_code() { tuning::WINDOW_EXACT_OPTIMIZED } else { tuning::WINDOW_EXACT }
    }

    /// More calls than may be counted.
    fn is_excessive(&self) -> bool {
        self.most > self.exact()
    }

    /// From one window to the next, in nanoseconds: so long that they take the part of the time that they may, but for what a profile is worth that is more or less sure.
    fn gap(&self) -> u64 {
        let longer = f64::from(tuning::WINDOW_LONGER - 1) / tuning::WINDOW_LONGER_OF as f64;
        let calls = self.pace * tuning::WINDOW_LENGTH as f64 * (1.0 + longer) / 1e9;
        let taken = tuning::WINDOW_COLD + tuning::COUNT_COST * calls;
        (taken / (tuning::WINDOW_PART * self.windows().worth())).min(tuning::WINDOW_GAP as f64) as u64
    }

    /// Of a window of a program whose calls are all counted: the longer, the farther they are from being too many.
    fn turn(&self) -> u64 {
        let far = (self.exact() / self.most.max(1.0)).clamp(1.0, tuning::WINDOW_TURNS);
        (tuning::WINDOW_TURN as f64 * far) as u64
    }

    /// How long there are to be no windows yet, after so much time.
    fn rest(&mut self, elapsed: Duration) -> Option<Duration> {
        let rests = self.rests.as_mut()?;
        let (was_resting, turn) = (rests.is_resting, rests.turn);
        let left = rests.left(elapsed);
        if was_resting && left.is_none() {
            self.rested(turn);
        }
        left
    }

    /// No window stands for a rest that was so long: it would outweigh all others, and the profile look less sure than it is.
    fn rested(&mut self, rest: Duration) {
        let cycles = self.profiler.rate().cycles(rest);
        self.closed += cycles;
        self.windows().add_rest(cycles);
    }

    /// Without the time in which the program did not run.
    fn elapsed(&self) -> Duration {
        self.profiler.working_time() - self.started
    }

    /// At this cycle.
    fn open(&mut self, now: u64) {
        let times = if !self.is_beside() && self.random.below(tuning::WINDOW_LONGER_OF) == 0 { tuning::WINDOW_LONGER } else { 1 };
        let planned = self.about(u64::from(times) * self.length());
        self.lasts = planned - Duration::from_nanos(self.late as u64).min(planned / 2);
        // A timer that is late makes up for half of what it is to wait.
        let lasts = self.profiler.rate().cycles(self.lasts / 2);
        self.windows().set_usual(self.length(), self.pace);
        self.windows().set_gap(Gap { cycles: now.saturating_sub(self.closed), opened: now, lasts, times });
        self.windows().set_open(true);
    }

    fn close(&mut self, now: u64) {
        let gap = self.windows().gap();
        if !gap.is_none() {
            let lasted = self.profiler.rate().nanoseconds(now.saturating_sub(gap.opened)) as f64;
            // Who was kept from a processor for long is late by a whole window at most.
            let late = (lasted - self.lasts.as_nanos() as f64).clamp(0.0, tuning::WINDOW_LENGTH as f64);
            self.late += (late - self.late) / LATE_OVER;
        }
        self.closed = now;
        self.windows().set_open(false);
    }

    /// From the end of a window to the next.
    fn pause(&mut self, elapsed: Duration) -> Duration {
        if !self.is_beside() {
            return self.about(self.gap());
        }
        let part = tuning::BESIDE_PART * elapsed.as_nanos() as f64;
        self.about((part as u64).clamp(tuning::BESIDE_LENGTH, tuning::BESIDE_GAP) * u64::from(self.windows().rarer()))
    }
}

impl Ticks for Schedule {
    fn interval(&mut self) -> Duration {
        self.take_pace();
        let is_open = self.windows().is_open();
        let elapsed = self.elapsed();
        if let Some(left) = self.rest(elapsed) {
            return if is_open { Duration::ZERO } else { left };
        }
        if !is_open {
            return self.pause(elapsed);
        }
        if self.is_beside() || self.is_excessive() {
            return self.lasts;
        }
        self.about(self.turn())
    }

    /// Nothing happened in this time, so nothing was missed.
    fn idled(&mut self, time: Duration) {
        let cycles = self.profiler.rate().cycles(time);
        self.profiler.idled(time);
        self.closed += cycles;
        let gap = self.windows().gap();
        self.windows().set_gap(Gap { opened: gap.opened + cycles, ..gap });
    }

    fn before(&mut self) -> Tick {
        // A rest may have ended meanwhile: whoever notices the window has to know.
        let is_resting = self.rest(self.elapsed()).is_some();
        if !self.windows().is_open() {
            if !is_resting {
                self.engine.complete_twins();
                self.engine.count_calls(true);
                self.open(self.profiler.cycles());
            }
        } else if is_resting || self.is_beside() || self.is_excessive() {
            self.engine.complete_twins();
            self.close(self.profiler.cycles());
        } else {
            // All calls are counted, and go on to be: threads that begin from now on stand for themselves. Not before: those that are yet to notice this window stand for the time before it.
            self.windows().set_gap(Gap::default());
        }
        Tick { sampled: Some(self.profiler.cycles()), is_pace: false }
    }

    fn after(&mut self) {
        let windows = self.windows();
        let is_brief = !windows.gap().is_none();
        if !windows.is_open() {
            self.engine.count_calls(false);
        } else if is_brief {
            return;
        }
        // Threads hand over when windows begin; the organizer would keep the timer from ending them.
        self.profiler.wake_organizer();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::engine::Frames;
    use crate::runtime::profiling::ProfileOptions;
    use crate::runtime::profiling::windows::Counted;
    use crate::runtime::thread::Thread;
    use jit::interp::Slot;
    use jit::ir::{FuncId, Loc};
    use jit::trap::Thrown;
    use profiler::program::Program;
    use std::ops::ControlFlow;

    /// Runs nothing.
    struct Idle {
        is_optimized: bool,
    }

    impl Frames for Idle {
        fn visit_roots(&self, _: &Thread, _: &mut dyn FnMut(&mut u64)) {}
        fn walk(&self, _: &Thread, _: &mut dyn FnMut(FuncId, Loc) -> ControlFlow<()>) {}
    }

    impl Engine for Idle {
        fn run(&self, _: &Thread, _: FuncId, _: &[Slot]) -> Result<Slot, Thrown> {
            Ok(0)
        }

        fn has_optimized_code(&self) -> bool {
            self.is_optimized
        }
    }

    fn schedule_of(options: ProfileOptions, is_optimized: bool) -> Schedule {
        let profiler = Arc::new(Profiler::new(options, Program::default()).expect("the presets are in range"));
        Schedule::new(profiler, Arc::new(Idle { is_optimized }), Random::stream(1, 1))
    }

    fn schedule() -> Schedule {
        schedule_of(ProfileOptions::windowed(), false)
    }

    #[test]
    fn a_gap_is_the_time_from_window_to_window_in_which_something_ran() {
        let mut schedule = schedule();
        let rate = schedule.profiler.rate();
        let cycles = |microseconds| rate.cycles(Duration::from_micros(microseconds));
        let start = cycles(1_000_000);
        schedule.close(start);
        schedule.idled(Duration::from_micros(700));
        let opened = start + cycles(5_000);
        schedule.open(opened);
        let gap = schedule.windows().gap();
        assert!(gap.cycles.abs_diff(cycles(4_300)) <= 2 && gap.opened == opened, "{gap:?}");
        let most = rate.cycles(Duration::from_nanos(tuning::WINDOW_LENGTH));
        assert!(
            (most / 4..most).contains(&(gap.lasts / u64::from(gap.times))) && 2 * gap.lasts <= rate.cycles(schedule.lasts),
            "half of what the timer is to wait: {gap:?}"
        );
        schedule.idled(Duration::from_micros(100));
        assert_eq!(schedule.windows().gap(), Gap { opened: opened + cycles(100), ..gap }, "so long nobody could have been seen in it");
    }

    #[test]
    fn a_timer_that_is_late_waits_for_so_much_less() {
        let mut schedule = schedule();
        let rate = schedule.profiler.rate();
        let mut now = schedule.closed;
        // The mean of the last of many windows that last as long as the timer waits, and so much longer.
        let mut lasted = |late: u64| {
            let mut sum = Duration::ZERO;
            for window in 0..3000 {
                now += rate.cycles(Duration::from_millis(5));
                schedule.open(now);
                let lasts = schedule.lasts + Duration::from_micros(late);
                assert!(rate.cycles(lasts) + 2 >= schedule.windows().gap().lasts, "as long as was said");
                now += rate.cycles(lasts);
                schedule.close(now);
                sum += if window < 1000 { Duration::ZERO } else { lasts };
            }
            sum.as_micros() as u64 / 2000
        };
        let [usual, late, very_late] = [0, 20, 1_000].map(&mut lasted);
        assert!(late.abs_diff(usual) < usual / 10, "{usual} and {late} us");
        assert!(very_late > 1_000 + usual / 4, "it never waits for less than half: {very_late} us");
    }

    #[test]
    fn bursts_are_placed_for_windows_of_the_length_that_there_is() {
        let beside = |is_optimized| {
            let mut schedule = schedule_of(ProfileOptions { counting: Counting::Beside, ..ProfileOptions::windowed() }, is_optimized);
            schedule.open(schedule.closed + 1_000_000);
            schedule.windows().length()
        };
        assert_eq!([false, true].map(beside), [tuning::WINDOW_LENGTH, tuning::BESIDE_LENGTH]);
    }

    #[test]
    fn where_all_calls_are_counted_there_is_no_gap() {
        let mut schedule = schedule();
        schedule.open(schedule.closed + 1_000_000);
        assert!(!schedule.windows().gap().is_none());
        schedule.interval();
        assert!(!schedule.windows().gap().is_none(), "threads are yet to notice the window");
        schedule.before();
        assert!(schedule.windows().gap().is_none());
        schedule.windows().tell_pace(Counted { length: 1_000_000, calls: 1_000_000, ..Counted::default() });
        schedule.open(schedule.closed + 1_000_000);
        assert_eq!(schedule.interval(), schedule.lasts);
        assert!(!schedule.windows().gap().is_none(), "a billion calls a second");
    }

    #[test]
    fn no_window_stands_for_a_rest() {
        let mut schedule = schedule();
        let turn = Duration::from_millis(200);
        schedule.rests = Some(Rests { turn, is_resting: false });
        let begun = schedule.closed;
        let cycles = |milliseconds| schedule.profiler.rate().cycles(Duration::from_millis(milliseconds));
        let (rest, gap) = (cycles(200), cycles(7));
        let mut left = |milliseconds| schedule.rest(Duration::from_millis(milliseconds)).is_some();
        assert_eq!([199, 201, 399].map(&mut left), [false, true, true]);
        assert_eq!(schedule.windows().rested(), 0, "it is not over");
        assert!(schedule.rest(Duration::from_millis(401)).is_none() && schedule.rest(Duration::from_millis(599)).is_none());
        assert_eq!(schedule.windows().rested(), rest);
        schedule.open(begun + rest + gap);
        assert_eq!(schedule.windows().gap().cycles, gap);
    }

    #[test]
    fn every_second_turn_is_a_rest_to_its_end() {
        let mut rests = Rests { turn: Duration::from_millis(200), is_resting: false };
        let mut left = |milliseconds| rests.left(Duration::from_millis(milliseconds)).map(|left| left.as_millis());
        assert_eq!([0, 199, 200, 250, 399, 400, 700].map(&mut left), [None, None, Some(200), Some(150), Some(1), None, Some(100)]);
    }
}
