//! A thread's windows: the times in which its calls are counted, and what they stand for.
//!
//! In: ticks at which windows begin and end, for all threads ([`super::super::windows`]); the thread's own clock and its counts of calls. Out: samples weighed by the time that their window stands for; the number of calls that the thread is
//! reckoned to have made.
//!
//! Invariant: times are the thread's own, on a processor and without what the profiler and collections took, but where it is said that they are those that passed.

use super::super::clock::{self, Switches};
use super::super::packet::Kind;
use super::super::warmup::Stretch;
use super::super::windows::{self, Before, Counted, First, Windows};
use super::{Cells, LARGE, NEVER, Recorded, ThreadProfiler, WINDOW_TICKS};
use profiler::tuning;
use std::time::Duration;

/// Frames of a window at most, but for one of deep stacks.
const FRAMES: usize = 640;
/// Bursts of a window at most, but for one that is much longer.
const BURSTS: usize = 20;

/// A time in which calls are counted, or several, where the thread has hardly run in the first ones.
#[derive(Clone, Copy)]
pub(super) struct Window {
    before: Seen,
    /// Samples in the packet before.
    samples: usize,
    /// Of its parts that are over; and calls for which their samples stand, before they stand for others.
    counted: Counted,
    told: f64,
    part: Part,
}

/// What was there when a window began, or the present part of it.
#[derive(Clone, Copy, Default)]
struct Part {
    /// In cycles of the thread's own time.
    began: u64,
    /// In cycles that pass, of the profiler's clock.
    at: u64,
    /// Calls counted before.
    calls: u64,
    /// The thread's, before.
    switches: Switches,
    /// Of a window that is longer than usual, a moment between two bursts once code has run for a while.
    middle: Option<Middle>,
}

/// What there was of a part of a window by then.
#[derive(Clone, Copy)]
struct Middle {
    /// In cycles of the thread's own time.
    at: u64,
    calls: u64,
    recorded: Recorded,
}

/// When a window, or a part of one, was over.
#[derive(Clone, Copy)]
struct End {
    /// In cycles of the thread's own time.
    at: u64,
    /// [`Windows::rested`] then.
    rested: u64,
}

/// A window that goes on in the next one.
#[derive(Clone, Copy)]
pub(super) struct Paused {
    window: Window,
    /// As in [`Seen::Window`].
    before: u64,
    end: End,
}

/// What was seen of the thread before a window.
#[derive(Clone, Copy)]
enum Seen {
    /// Another window: of the time since then, in nanoseconds, this one stands for so much.
    Window(u64),
    Nothing(First),
}

/// The last one, as long as there is no other.
#[derive(Clone, Copy)]
pub(super) struct EndedWindow {
    end: End,
    /// Samples in the packet before it began.
    samples: usize,
    /// What it stands for: nanoseconds, and calls.
    nanos: f64,
    /// Nanoseconds of what comes behind it that are in that already.
    ahead: u64,
    calls: f64,
    /// Of the calls, the part that makes up for what the window itself took.
    correction: f64,
    /// Of the calls, those for which no sample stands: all, if there is none.
    left: f64,
}

impl ThreadProfiler {
    /// Ends the present window, if there is one, and begins another if it is the time for it. What this takes is part of neither.
    pub(super) fn turn_window(&mut self, cells: &Cells) {
        if self.window.is_none() && !self.profiler.windows().is_some_and(Windows::is_open) {
            return;
        }
        self.turn_window_from(self.profiler.thread_ran(), cells);
    }

    /// The same; the thread left the program's work at this cycle of its time.
    pub(super) fn turn_window_from(&mut self, left: u64, cells: &Cells) {
        let began = self.profiler.cycles();
        self.turn_window_at(left.saturating_sub(self.taken), cells);
        self.spent += self.profiler.cycles().saturating_sub(began);
        self.returns(left);
    }

    /// The thread leaves the program's work for a while: the time, for [`ThreadProfiler::returns`], where that matters.
    pub fn leaves(&self) -> Option<u64> {
        self.profiler.windows().map(|_| self.profiler.thread_ran())
    }

    pub fn returns(&mut self, left: u64) {
        self.taken += self.profiler.thread_ran().saturating_sub(left);
    }

    /// At this cycle of the thread's own time.
    fn turn_window_at(&mut self, now: u64, cells: &Cells) {
        let is_open = self.profiler.windows().is_some_and(Windows::is_open);
        if let Some(window) = self.window {
            // Noticed late: what the window stands for is not yet seen.
            if is_open && windows::is_short(self.nanos(window.part.began, now)) {
                return;
            }
            self.close_window(window, now, cells);
        }
        if !is_open {
            return;
        }
        let Some(windows) = self.profiler.windows() else { return };
        let (at, gap, burst) = (self.profiler.cycles(), windows.gap(), windows.burst().min(tuning::WINDOW_LONGEST));
        let expected = self.expected.unwrap_or(windows.calls());
        let window = match self.paused.take() {
            Some(paused) => self.go_on(paused, now),
            None => {
                let seen = self.share_gap(now).map(Seen::Window);
                self.hand_over_full();
                let before = seen.unwrap_or_else(|| Seen::Nothing(First { gap, at, ran: self.nanos(self.born, now) }));
                Window { before, samples: self.packet.len(), counted: Counted::default(), told: 0.0, part: Part::default() }
            }
        };
        if matches!(window.before, Seen::Window(_)) {
            let times = gap.times.max(1) as usize;
            self.packet.take_memory(times * FRAMES, times * BURSTS * burst as usize);
        }
        // What was counted since the last one was not meant to be.
        cells.set_left(self.armed);
        let calls = self.calls(cells);
        if !gap.is_none() {
            let next = self.sampler.begin_brief_window(self.at(calls), expected);
            self.wait(next, calls);
        }
        self.arm(calls, cells);
        let part = Part { began: now, at, calls, switches: clock::switches(), middle: None };
        self.window = Some(Window { part, ..window });
    }

    /// A window begins: the last one stands for half of the time in between. Gives the other half, in nanoseconds: so phases lose as much where they end as they gain where they begin.
    fn share_gap(&mut self, now: u64) -> Option<u64> {
        let last = self.last_window?;
        let gap = self.since(last.end, now);
        self.extend(last, gap / 2);
        Some((gap / 2).min(gap.saturating_sub(last.ahead)))
    }

    /// Nanoseconds of the thread's own time without rests. Of those in which it was blocked, what it did not run is left out as well.
    fn since(&self, end: End, now: u64) -> u64 {
        self.nanos(end.at + self.rested() - end.rested, now)
    }

    fn rested(&self) -> u64 {
        self.profiler.windows().map_or(0, Windows::rested)
    }

    /// For the time since it was paused, too, there is no other window.
    fn go_on(&self, paused: Paused, now: u64) -> Window {
        Window { before: Seen::Window(paused.before + self.since(paused.end, now)), ..paused.window }
    }

    /// The last window stands for so many nanoseconds behind it, which is all that it stands for.
    fn extend(&mut self, last: EndedWindow, nanos: u64) {
        let nanos = nanos.saturating_sub(last.ahead);
        let more = nanos as f64 / last.nanos;
        self.packet.scale(last.samples, 1.0 + more, last.nanos + nanos as f64);
        self.counters.calls += (last.calls * more) as u64;
        self.counters.time_told += nanos;
        self.counters.calls_corrected += (last.calls * last.correction * more) as u64;
        self.share_left(last.samples);
        self.left += last.left * (1.0 + more);
    }

    /// Samples of the packet from this one on, if there are any, stand for what others have left, too.
    fn share_left(&mut self, from: usize) {
        if self.left > 0.0 && self.packet.share_out(from, self.packet.told(from) + self.left) {
            self.left = 0.0;
        }
    }

    /// The window ends with this cycle of the thread's own time, or goes on in the next one.
    fn close_window(&mut self, mut window: Window, now: u64, cells: &Cells) {
        let switches = clock::switches().since(window.part.switches);
        let now = self.count_part(&mut window, now, switches, cells);
        match window.before {
            Seen::Window(before) if !self.is_enough(&window) => {
                self.window = None;
                self.paused = Some(Paused { window, before, end: End { at: now, rested: self.rested() } });
            }
            _ => self.end_window(window, now),
        }
    }

    /// A window ends with its present part. The first one of a thread does, those in which all calls are counted, and one that is too large to be kept.
    fn is_enough(&self, window: &Window) -> bool {
        let counts_all = self.profiler.windows().is_none_or(|windows| windows.gap().is_none());
        matches!(window.before, Seen::Nothing(_)) || counts_all || window.counted.is_enough() || self.packet.bytes() > LARGE
    }

    /// Adds the present part of a window to what it has counted; the thread was off its processor so often meanwhile. Says when it ends.
    fn count_part(&mut self, window: &mut Window, now: u64, switches: Switches, cells: &Cells) -> u64 {
        let (calls, at) = (self.calls(cells), self.profiler.cycles());
        self.recorded_until(at);
        if let Some(burst) = self.burst {
            let next = self.end_burst(burst, calls, cells);
            self.follow(next, calls, false, cells);
        }
        self.set_countdown(NEVER, cells);
        let (part, recorded) = (window.part, std::mem::take(&mut self.recorded));
        let windows = self.profiler.windows().expect("it was one of them");
        if switches == Switches::default() {
            self.parts(part, now, calls, recorded).into_iter().for_each(|[first, second]| windows.warmup().tell(first, second));
        }
        // Who was off the processor during a slow path seems to have been there for longer than it took, but each call was counted at least.
        let counting = tuning::COUNT_COST * (calls - part.calls) as f64;
        let now = now.max(part.began + self.profiler.rate().cycles(Duration::from_nanos(counting as u64)));
        let counted = Counted {
            windows: 1,
            passed: self.nanos(part.at, at),
            length: self.nanos(part.began, now),
            calls: calls - part.calls,
            recording: self.nanos(0, recorded.cycles),
            recorded: recorded.calls,
            switches,
            warmup: windows.warmup().nanos(),
        };
        windows.tell_pace(counted);
        window.counted += counted;
        let stands_for = windows::share(self.before(window).nanos, window.counted);
        // Bursts would be so far apart behind a window that was late, or longer, that the next one might have none.
        let usual = counted.calls_in(windows.length());
        self.expected = Some(usual);
        let like_this = if windows.gap().is_none() { counted.calls } else { usual };
        let ended = self.sampler.end_window(self.at(calls), like_this, stands_for, windows.burst());
        self.wait(ended.next, calls);
        window.told += ended.told;
        now
    }

    /// Up to the middle of a window, or of its present part, and from there to now, after so many calls, of which so many were recorded.
    fn parts(&self, part: Part, now: u64, calls: u64, recorded: Recorded) -> Option<[Stretch; 2]> {
        let Middle { at, calls: before, recorded: first } = part.middle?;
        let stretch = |from: u64, to, calls: u64, recorded_calls: u64, recording: u64| Stretch {
            nanos: self.nanos(from + recording, to),
            calls: calls.saturating_sub(recorded_calls),
        };
        let (recorded_calls, recording) = (recorded.calls - first.calls, recorded.cycles - first.cycles);
        let second = stretch(at, now, calls - before, recorded_calls, recording);
        Some([stretch(part.began, at, before - part.calls, first.calls, first.cycles), second])
    }

    /// Between two calls at which something was to be done, in a slow path that began at this cycle.
    pub(super) fn note_middle(&mut self, began: u64, cells: &Cells) {
        let Some(Window { part: Part { at, middle: None, .. }, .. }) = self.window else { return };
        let is_longer = self.profiler.windows().is_some_and(|windows| windows.gap().times > 1);
        if !is_longer || self.burst.is_some() || self.nanos(at, began) < tuning::WINDOW_MIDDLE {
            return;
        }
        let taken = self.taken + self.profiler.cycles().saturating_sub(began);
        let middle = Middle { at: self.profiler.thread_ran().saturating_sub(taken), calls: self.calls(cells), recorded: self.recorded };
        self.window.as_mut().expect("it is there").part.middle = Some(middle);
    }

    fn before(&self, window: &Window) -> Before {
        match window.before {
            Seen::Window(nanos) => Before { nanos, ahead: 0 },
            // As if it had run without a break since it noticed the window: by the time that passes, one that was blocked until long after the window would hardly have been in it.
            Seen::Nothing(first) => {
                let length = window.counted.length;
                first.before(length, first.at + self.profiler.rate().cycles(Duration::from_nanos(length)))
            }
        }
    }

    fn end_window(&mut self, window: Window, now: u64) {
        let (counted, before) = (window.counted, self.before(&window));
        let (stands_for, nanos) = (windows::share(before.nanos, counted), (before.nanos + counted.length).max(1) as f64);
        let correction = counted.correction(before.nanos, stands_for);
        if counted.calls == 0 && stands_for > 1.0 && self.profiler.is_read_at_the_end() {
            // Without such windows a program that calls in some of its phases alone would look as if it always did. The compiler asks for shares, which that does not change.
            self.packet.seal(Kind::Nothing, 0.0, WINDOW_TICKS + self.counters.windows);
        }
        let left = if self.packet.share_out(window.samples, window.told) { 0.0 } else { window.told * stands_for };
        self.packet.scale(window.samples, stands_for, nanos);
        self.window = None;
        self.counters.windows += 1;
        self.counters.calls_counted += counted.calls;
        self.counters.time_told += before.nanos + counted.length;
        let calls = counted.calls as f64 * stands_for;
        self.counters.calls += calls as u64;
        self.counters.calls_corrected += (calls * correction) as u64;
        let ahead = before.ahead;
        let end = End { at: now, rested: self.rested() };
        self.last_window = Some(EndedWindow { end, samples: window.samples, nanos, ahead, calls, correction, left });
    }

    fn nanos(&self, from: u64, to: u64) -> u64 {
        u64::try_from(self.profiler.rate().nanoseconds(to.saturating_sub(from))).unwrap_or(u64::MAX)
    }

    pub(super) fn finish_window(&mut self, cells: &Cells) {
        let now = self.own_time();
        let unfinished = match (self.window, self.paused.take()) {
            (Some(mut window), _) => {
                // Another thread may be here, which does not know how often this one was off its processor.
                self.count_part(&mut window, now, Switches::default(), cells);
                Some(window)
            }
            (None, paused) => paused.map(|paused| self.go_on(paused, now)),
        };
        cells.set_left(self.armed);
        // It stands for what is left, however little it has seen.
        if let Some(window) = unfinished {
            self.end_window(window, now);
        }
        if let Some(last) = self.last_window {
            self.extend(last, self.since(last.end, now));
        }
        // There are no later samples.
        self.share_left(0);
        // How much the thread has run, beside what windows have told of it.
        let has_rests = self.profiler.options().rest.is_some();
        self.counters.time_ran += if has_rests { self.counters.time_told } else { self.nanos(self.born, now) };
    }

    /// Cycles for which the thread was on a processor, but not here. On whichever thread: at the program's end this one may be blocked for good.
    fn own_time(&self) -> u64 {
        let last = self
            .window
            .map(|window| window.part.began)
            .or(self.paused.map(|paused| paused.end.at))
            .or(self.last_window.map(|last| last.end.at));
        let ran = self.clock.read().map_or(0, |time| self.profiler.rate().cycles(time));
        ran.saturating_sub(self.taken).max(last.unwrap_or(self.born))
    }
}

#[cfg(test)]
mod tests {
    use crate::runtime::profiling::packet::Kind;
    use crate::runtime::profiling::thread::{Cells, ThreadProfiler};
    use crate::runtime::profiling::windows::Gap;
    use crate::runtime::profiling::{ProfileOptions, Profiler, clock};
    use jit::context::ThreadContext;
    use profiler::ids::ThreadId;
    use profiler::program::Program;
    use profiler::sample::Moment;
    use profiler::tuning;
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    /// Keeps the processor busy for so long.
    fn work(milliseconds: u64) {
        let end = clock::thread_time() + Duration::from_millis(milliseconds);
        while clock::thread_time() < end {}
    }

    /// Compiled code would write its records into a packet that the next window hands over.
    #[test]
    fn no_burst_begins_between_windows() {
        let profiler = Arc::new(Profiler::new(ProfileOptions::windowed(), Program::default()).expect("the presets are in range"));
        for is_open in [false, true] {
            profiler.windows().expect("there are windows").set_open(is_open);
            let mut profile = profiler.thread(ThreadId::from_u32(0));
            let mut ctx = ThreadContext::new(std::ptr::null_mut());
            // SAFETY: the context is of nobody else; no code runs.
            unsafe { profile.start(&raw mut ctx) };
            assert_eq!(ctx.calls_left < i64::MAX / 4, is_open, "calls until something is to be done");
            assert_eq!(profile.counts_calls(), is_open);
        }
    }

    /// Calls are counted from the thread's first one on: nobody has to guess.
    #[test]
    fn a_window_that_is_open_when_a_thread_begins_is_exact() {
        let profiler = Arc::new(Profiler::new(ProfileOptions::windowed(), Program::default()).expect("the presets are in range"));
        let mut profile = profiler.thread(ThreadId::from_u32(0));
        work(1);
        let mut ctx = ThreadContext::new(std::ptr::null_mut());
        // SAFETY: the context is of nobody else; no code runs.
        unsafe { profile.start(&raw mut ctx) };
        work(1);
        ctx.calls_left -= 1_000_000;
        profiler.windows().expect("there are windows").set_open(false);
        // SAFETY: as above.
        unsafe { profile.tick(&raw mut ctx, 1) };
        assert_eq!((profile.counters.calls, profile.counters.calls_counted), (1_000_000, 1_000_000));
    }

    #[test]
    fn slow_paths_that_seem_longer_than_the_window_leave_it_some_time() {
        let profiler = Arc::new(Profiler::new(ProfileOptions::windowed(), Program::default()).expect("the presets are in range"));
        let mut profile = profiler.thread(ThreadId::from_u32(0));
        let mut ctx = ThreadContext::new(std::ptr::null_mut());
        // SAFETY: the context is of nobody else; no code runs.
        unsafe { profile.start(&raw mut ctx) };
        const CALLS: i64 = 1_000_000;
        ctx.calls_left -= CALLS;
        profile.taken += profiler.rate().cycles(Duration::from_secs(10));
        profiler.windows().expect("there are windows").set_open(false);
        // SAFETY: as above.
        unsafe { profile.tick(&raw mut ctx, 1) };
        let last = profile.last_window.expect("it was closed");
        let least = 0.99 * tuning::COUNT_COST * CALLS as f64;
        assert!(last.nanos >= least && last.calls <= 2.0 * CALLS as f64, "{} ns, {} calls", last.nanos, last.calls);
    }

    /// Several calls a nanosecond, as of loops in which they are inlined.
    #[test]
    fn a_window_is_as_long_as_it_was_however_many_calls_there_are() {
        let profiler = Arc::new(Profiler::new(ProfileOptions::windowed(), Program::default()).expect("the presets are in range"));
        let mut profile = profiler.thread(ThreadId::from_u32(0));
        let mut ctx = ThreadContext::new(std::ptr::null_mut());
        // SAFETY: the context is of nobody else; no code runs.
        unsafe { profile.start(&raw mut ctx) };
        work(2);
        ctx.calls_left -= 8_000_000;
        profiler.windows().expect("there are windows").set_open(false);
        // SAFETY: as above.
        unsafe { profile.tick(&raw mut ctx, 1) };
        let nanos = profile.last_window.expect("it was closed").nanos;
        assert!((1.5e6..6e6).contains(&nanos), "{nanos} ns");
    }

    /// A thread that calls in the first of three windows, which stand for more than themselves.
    #[test]
    fn windows_without_a_call_are_told_of() {
        let profiler = Arc::new(Profiler::new(ProfileOptions::windowed(), Program::default()).expect("the presets are in range"));
        let windows = profiler.windows().expect("there are windows");
        windows.set_open(false);
        let mut profile = profiler.thread(ThreadId::from_u32(0));
        let mut ctx = ThreadContext::new(std::ptr::null_mut());
        // SAFETY: the context is of nobody else; no code runs.
        unsafe { profile.start(&raw mut ctx) };
        for calls in [10, 0, 0] {
            for is_open in [true, false] {
                work(2);
                windows.set_open(is_open);
                ctx.calls_left -= if is_open { 0 } else { calls };
                // SAFETY: as above.
                unsafe { profile.tick(&raw mut ctx, 1) };
            }
        }
        let told: Vec<_> = profile.packet.samples().map(|(sample, ..)| (sample.kind, sample.weight)).collect();
        assert_eq!(told, [(Kind::Nothing, 0.0); 2], "calls of which none was recorded are left to later windows");
        assert!(profile.packet.samples().all(|(sample, ..)| sample.stands_for > 2.5e6), "two milliseconds, and some of the time around");
    }

    /// A thread that begins where windows are brief and there is none.
    fn between_windows(thread: u32) -> (ThreadProfiler, ThreadContext) {
        let profiler = Arc::new(Profiler::new(ProfileOptions::windowed(), Program::default()).expect("the presets are in range"));
        let windows = profiler.windows().expect("there are windows");
        windows.set_gap(Gap { cycles: 1, opened: 0, lasts: 1, times: 1 });
        windows.set_open(false);
        let mut profile = profiler.thread(ThreadId::from_u32(thread));
        let mut ctx = ThreadContext::new(std::ptr::null_mut());
        // SAFETY: the context is of nobody else; no code runs.
        unsafe { profile.start(&raw mut ctx) };
        (profile, ctx)
    }

    /// The thread works for a while, and then in a window, or is blocked in it, and makes so many calls there.
    fn pass_window(profile: &mut ThreadProfiler, ctx: &mut ThreadContext, is_blocked: bool, calls: i64) {
        for is_open in [true, false] {
            match is_blocked && !is_open {
                true => std::thread::sleep(Duration::from_millis(2)),
                false => work(2),
            }
            profile.profiler.windows().expect("there are windows").set_open(is_open);
            ctx.calls_left -= if is_open { 0 } else { calls };
            // SAFETY: the context is of nobody else; no code runs.
            unsafe { profile.tick(ctx, 1) };
        }
    }

    /// A thread that calls three times as fast once it has run for a while.
    #[test]
    fn a_longer_window_tells_what_its_first_part_lost() {
        let (mut profile, mut ctx) = between_windows(0);
        let profiler = profile.profiler.clone();
        let windows = profiler.windows().expect("there are windows");
        windows.set_gap(Gap { times: 4, ..windows.gap() });
        // Some tell nothing, in which others had the processor; what is known beforehand is to be outvoted.
        for _ in 0..200 {
            windows.set_open(true);
            // SAFETY: the context is of nobody else; no code runs.
            unsafe { profile.tick(&raw mut ctx, 1) };
            for calls in [1_000, 3_000] {
                work(1);
                ctx.calls_left -= calls;
                profile.note_middle(profiler.cycles(), &Cells(&raw mut ctx));
            }
            windows.set_open(false);
            // SAFETY: as above.
            unsafe { profile.tick(&raw mut ctx, 1) };
            if windows.warmup().nanos() > 4e5 {
                break;
            }
        }
        // Two thirds of a millisecond.
        let told = windows.warmup().nanos();
        assert!((5e5..9e5).contains(&told), "{told} ns");
    }

    /// Two of its milliseconds lie in the first forty of the window, which stand for four seconds.
    #[test]
    fn a_thread_that_is_blocked_in_its_first_window_stands_for_others_by_what_it_ran() {
        let (mut profile, mut ctx) = between_windows(0);
        let profiler = profile.profiler.clone();
        let windows = profiler.windows().expect("there are windows");
        let milliseconds = |time| profiler.rate().cycles(Duration::from_millis(time));
        windows.set_gap(Gap { cycles: milliseconds(4_000), opened: profiler.cycles(), lasts: milliseconds(40), times: 1 });
        windows.set_open(true);
        // SAFETY: the context is of nobody else; no code runs.
        unsafe { profile.tick(&raw mut ctx, 1) };
        work(2);
        std::thread::sleep(Duration::from_millis(160));
        windows.set_open(false);
        // SAFETY: as above.
        unsafe { profile.tick(&raw mut ctx, 1) };
        let told = profile.counters.time_told;
        assert!((150_000_000..600_000_000).contains(&told), "{told} ns");
    }

    /// A thread that is blocked in some windows: those go together with the next.
    #[test]
    fn a_window_in_which_a_thread_was_blocked_stands_for_nothing_alone() {
        let (mut profile, mut ctx) = between_windows(0);
        let mut ended = Vec::new();
        for (is_blocked, calls) in [(false, 10), (true, 0), (true, 0), (false, 1000), (false, 10), (true, 0)] {
            pass_window(&mut profile, &mut ctx, is_blocked, calls);
            ended.push(profile.counters.windows);
        }
        assert_eq!(ended, [1, 1, 1, 2, 3, 3]);
        assert!(profile.packet.samples().all(|(sample, ..)| sample.kind != Kind::Nothing), "the thread calls whenever it runs");
        work(2);
        // SAFETY: the context is of nobody else; no code runs, nor will.
        unsafe { profile.finish(&raw mut ctx) };
        let counters = profile.counters;
        assert_eq!(counters.windows, 4, "the last one has nothing to go together with");
        let off = counters.time_ran.abs_diff(counters.time_told);
        assert!(off * 100 < counters.time_ran, "{} ns told of {}", counters.time_told, counters.time_ran);
    }

    /// None of the calls was recorded: samples of later windows are to stand for all.
    #[test]
    fn what_parts_of_a_window_have_counted_is_told_together() {
        let (mut profile, mut ctx) = between_windows(0);
        // The first burst of a thread, which stands for the calls among which it was placed.
        profile.sampler.end_burst(Moment::default(), 1);
        for (is_blocked, calls) in [(false, 100_000), (true, 100), (false, 100)] {
            pass_window(&mut profile, &mut ctx, is_blocked, calls);
        }
        let last = profile.last_window.expect("it has ended");
        assert_eq!((profile.counters.windows, profile.counters.calls_counted), (2, 100_200));
        assert!(last.calls > 200.0 && (last.left / last.calls - 1.0).abs() < 1e-9, "{} of {} calls", last.left, last.calls);
    }

    /// The last window of a thread has no sample.
    #[test]
    fn what_a_thread_leaves_at_its_end_is_told_by_samples_before() {
        let (mut profile, mut ctx) = between_windows(0);
        profile.sampler.end_burst(Moment::default(), 1);
        for is_sampled in [true, false] {
            pass_window(&mut profile, &mut ctx, false, 100);
            if is_sampled {
                profile.packet.seal(Kind::Top, profile.last_window.expect("it has ended").calls, 0);
                profile.last_window.as_mut().expect("it has ended").left = 0.0;
            }
        }
        profile.finish_window(&Cells(&raw mut ctx));
        let (told, calls) = (profile.packet.told(0), profile.counters.calls as f64);
        assert!(calls > 390.0 && (told / calls - 1.0).abs() < 0.01, "{told} of {calls}");
    }

    #[test]
    fn the_first_burst_of_a_thread_comes_as_soon_as_those_of_others() {
        const CALLS: u64 = 300;
        for thread in 0..20 {
            let (mut profile, mut ctx) = between_windows(thread);
            let profiler = profile.profiler.clone();
            let windows = profiler.windows().expect("there are windows");
            windows.set_usual(1_000, CALLS as f64 * 1e6);
            windows.set_open(true);
            // SAFETY: the context is of nobody else; no code runs.
            unsafe { profile.tick(&raw mut ctx, 1) };
            assert!((0..CALLS as i64).contains(&ctx.calls_left), "{} calls until then", ctx.calls_left);
        }
    }

    /// Another thread finishes its profile. (All its calls are counted, so the window goes on.)
    #[test]
    fn a_thread_that_is_blocked_until_the_end_does_not_run() {
        let profiler = Arc::new(Profiler::new(ProfileOptions::windowed(), Program::default()).expect("the presets are in range"));
        let (end, ended) = mpsc::channel::<()>();
        let (hand_over, handed_over) = mpsc::channel();
        let blocked = std::thread::spawn({
            let profiler = profiler.clone();
            move || {
                let mut profile = profiler.thread(ThreadId::from_u32(0));
                let ctx = Box::leak(Box::new(ThreadContext::new(std::ptr::null_mut())));
                // SAFETY: the context is of nobody else; no code runs.
                unsafe { profile.start(ctx) };
                work(2);
                hand_over.send((profile, std::ptr::from_mut(ctx).expose_provenance())).expect("somebody waits");
                _ = ended.recv();
            }
        });
        let (mut profile, ctx) = handed_over.recv().expect("it is sent");
        work(30);
        // SAFETY: as above, and the thread never runs again.
        unsafe { profile.finish(std::ptr::with_exposed_provenance_mut(ctx)) };
        let ran = profile.counters.time_ran;
        assert!((2_000_000..20_000_000).contains(&ran) && profile.counters.time_told <= ran, "{ran} ns");
        drop(end);
        blocked.join().expect("it does nothing");
    }

    #[test]
    fn collections_are_no_part_of_a_threads_own_time() {
        let profiler = Arc::new(Profiler::new(ProfileOptions::windowed(), Program::default()).expect("the presets are in range"));
        let mut profile = profiler.thread(ThreadId::from_u32(0));
        let began = profile.own_time();
        work(2);
        let left = profile.leaves().expect("there are windows");
        work(20);
        profile.returns(left);
        let own = profile.nanos(began, profile.own_time());
        assert!((1_000_000..10_000_000).contains(&own), "{own} ns of 2 ms");
    }
}
