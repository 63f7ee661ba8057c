//! A thread's windows: the times in which its calls are counted, and what they stand for.
//!
//! In: ticks at which windows begin and end, for all threads ([`super::super::windows`]); the thread's own clock and its counts of calls. Out: samples weighed by the time that their window stands for; the number of calls that the thread is
//! reckoned to have made.
//!
//! Invariant: times are the thread's own, on a processor and without what the profiler and collections took.

use super::super::clock;
use super::super::packet::Kind;
use super::super::windows::{self, Before, Counted, First, Windows};
use super::{Cells, NEVER, ThreadProfiler, WINDOW_TICKS};
use profiler::tuning;
use std::time::Duration;

/// Frames of a window at most, but for one of deep stacks.
const FRAMES: usize = 640;
/// Bursts of a window at most, but for one that is much longer.
const BURSTS: usize = 20;

/// A time in which calls are counted.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// In cycles of the thread's own time.
    began: u64,
    before: Seen,
    /// Calls counted before.
    counted: u64,
    /// [`clock::preemptions`] before.
    preemptions: u64,
    /// Samples in the packet before.
    samples: usize,
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
    /// In cycles of the thread's own time.
    at: u64,
    /// [`Windows::rested`] when it ended.
    rested: u64,
    /// Samples in the packet before it began.
    samples: usize,
    /// [`profiler::samplers::EndedWindow::is_even`].
    is_even: bool,
    /// What it stands for: nanoseconds, and calls.
    nanos: f64,
    /// Nanoseconds of what comes behind it that are in that already.
    ahead: u64,
    calls: f64,
    /// Of the calls, the part that makes up for what the window itself took.
    correction: f64,
    /// Of the calls, those for which no sample stands: all, if there is none.
    left: f64,
    /// Hardly anything was seen in it, so it stands for nothing: the next one does for the time up to here, of so many nanoseconds.
    unseen: Option<u64>,
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
            if is_open && windows::is_short(self.nanos(window.began, now)) {
                return;
            }
            self.end_window(window, now, clock::preemptions().saturating_sub(window.preemptions), cells);
        }
        if !is_open {
            return;
        }
        let Some(windows) = self.profiler.windows() else { return };
        let (at, gap, burst) = (self.profiler.cycles(), windows.gap(), windows.burst().min(tuning::WINDOW_LONGEST));
        let before = match self.share_gap(now) {
            Some(before) => Seen::Window(before),
            None => Seen::Nothing(First { gap, at, ran: self.nanos(self.born, now) }),
        };
        self.hand_over_full();
        if matches!(before, Seen::Window(_)) {
            self.packet.take_memory(FRAMES, BURSTS * burst as usize);
        }
        // What was counted since the last one was not meant to be.
        cells.set_left(self.armed);
        let counted = self.calls(cells);
        if !gap.is_none() {
            let next = self.sampler.begin_brief_window(self.at(counted));
            self.wait(next, counted);
        }
        self.arm(counted, cells);
        let preemptions = clock::preemptions();
        self.window = Some(Window { began: now, before, counted, preemptions, samples: self.packet.len() });
    }

    /// A window begins: the last one stands for half of the time in between. Gives the other half, in nanoseconds: so phases lose as much where they end as they gain where they begin.
    fn share_gap(&mut self, now: u64) -> Option<u64> {
        let last = self.last_window?;
        let gap = self.since(last, now);
        if let Some(unseen) = last.unseen {
            return Some(gap + unseen);
        }
        self.extend(last, gap / 2);
        Some((gap / 2).min(gap.saturating_sub(last.ahead)))
    }

    /// Nanoseconds of the thread's own time without rests. Of one in which it was blocked, what it did not run is left out as well.
    fn since(&self, last: EndedWindow, now: u64) -> u64 {
        let rested = self.profiler.windows().map_or(0, Windows::rested) - last.rested;
        self.nanos(last.at + rested, now)
    }

    /// The last window stands for so many nanoseconds behind it, which is all that it stands for.
    fn extend(&mut self, last: EndedWindow, nanos: u64) {
        let nanos = nanos.saturating_sub(last.ahead);
        let more = nanos as f64 / last.nanos;
        self.packet.scale(last.samples, 1.0 + more, last.nanos + nanos as f64);
        self.counters.calls += (last.calls * more) as u64;
        self.counters.time_told += nanos;
        self.counters.calls_corrected += (last.calls * last.correction * more) as u64;
        if self.packet.share_out(last.samples, self.left, last.is_even) {
            self.left = 0.0;
        }
        self.left += last.left * (1.0 + more);
    }

    /// The thread was taken off its processor so often meanwhile.
    fn end_window(&mut self, window: Window, now: u64, preempted: u64, cells: &Cells) {
        let calls = self.calls(cells);
        self.recorded_until(self.profiler.cycles());
        if let Some(burst) = self.burst {
            let next = self.end_burst(burst, calls, cells);
            self.follow(next, calls, false, cells);
        }
        self.set_countdown(NEVER, cells);
        let windows = self.profiler.windows().expect("it was one of them");
        // Who was off the processor during a slow path seems to have been there for longer than it took, but each call was counted at least.
        let counting = tuning::COUNT_COST * (calls - window.counted) as f64;
        let now = now.max(window.began + self.profiler.rate().cycles(Duration::from_nanos(counting as u64)));
        let recorded = std::mem::take(&mut self.recorded);
        let counted = Counted {
            length: self.nanos(window.began, now),
            calls: calls - window.counted,
            recording: self.nanos(0, recorded.cycles),
            recorded: recorded.calls,
            preempted,
        };
        let before = match window.before {
            Seen::Window(nanos) => Before { nanos, ahead: 0 },
            Seen::Nothing(first) => first.before(counted.length, self.profiler.cycles()),
        };
        if windows::says_nothing(before.nanos, counted.length, windows.gap()) && matches!(window.before, Seen::Window(_)) {
            return self.forget_window(window, now, counted, before.nanos);
        }
        let (stands_for, nanos) = (windows::share(before.nanos, counted), (before.nanos + counted.length).max(1) as f64);
        let correction = counted.correction(before.nanos, stands_for);
        windows.tell_pace(counted);
        let rested = windows.rested();
        let at = self.at(calls);
        let ended = self.sampler.end_window(at, counted.calls, stands_for, windows.burst());
        self.wait(ended.next, calls);
        if counted.calls == 0 && stands_for > 1.0 && self.profiler.is_read_at_the_end() {
            // Without such windows a program that calls in some of its phases alone would look as if it always did. The compiler asks for shares, which that does not change.
            self.packet.seal(Kind::Nothing, 0.0, WINDOW_TICKS + self.counters.windows);
        }
        let is_even = ended.is_even;
        let left = if self.packet.share_out(window.samples, ended.left as f64, is_even) { 0.0 } else { ended.left as f64 * stands_for };
        self.packet.scale(window.samples, stands_for, nanos);
        self.window = None;
        self.counters.windows += 1;
        self.counters.calls_counted += counted.calls;
        self.counters.time_told += before.nanos + counted.length;
        let calls = counted.calls as f64 * stands_for;
        self.counters.calls += calls as u64;
        self.counters.calls_corrected += (calls * correction) as u64;
        let ahead = before.ahead;
        self.last_window =
            Some(EndedWindow { at: now, rested, samples: window.samples, is_even, nanos, ahead, calls, correction, left, unseen: None });
    }

    /// A window that was noticed when it was about to end. What it has seen would stand for a thousand times as much, or nothing for all.
    fn forget_window(&mut self, window: Window, now: u64, counted: Counted, before: u64) {
        self.packet.forget(window.samples);
        self.sampler.forget(self.at(window.counted + counted.calls));
        self.window = None;
        self.counters.windows += 1;
        self.counters.calls_counted += counted.calls;
        let rested = self.profiler.windows().map_or(0, Windows::rested);
        let (samples, unseen) = (self.packet.len(), Some(before + counted.length));
        self.last_window = Some(EndedWindow {
            at: now,
            rested,
            samples,
            is_even: true,
            nanos: 1.0,
            ahead: 0,
            calls: 0.0,
            correction: 0.0,
            left: 0.0,
            unseen,
        });
    }

    /// What came behind the last window that has seen something, up to now, is as what was before.
    fn stand_for_unseen(&mut self, unseen: u64, now: u64) {
        let seen = self.nanos(self.born, now).saturating_sub(unseen).max(1);
        let more = unseen as f64 / seen as f64;
        self.packet.weigh(1.0 + more);
        self.counters.calls += (self.counters.calls as f64 * more) as u64;
        self.counters.time_told += unseen;
    }

    fn nanos(&self, from: u64, to: u64) -> u64 {
        u64::try_from(self.profiler.rate().nanoseconds(to.saturating_sub(from))).unwrap_or(u64::MAX)
    }

    pub(super) fn finish_window(&mut self, cells: &Cells) {
        let now = self.own_time();
        match (self.window, self.last_window) {
            (Some(window), _) => {
                // Another thread may be here, which does not know.
                self.end_window(window, now, 0, cells);
                match self.last_window {
                    Some(EndedWindow { unseen: Some(unseen), .. }) => self.stand_for_unseen(unseen, now),
                    Some(last) => self.extend(last, 0),
                    None => {}
                }
            }
            (None, last) => {
                cells.set_left(self.armed);
                // What has run since the last window has none of its own.
                if let Some(last) = last {
                    let behind = self.since(last, now);
                    match last.unseen {
                        Some(unseen) => self.stand_for_unseen(unseen + behind, now),
                        None => self.extend(last, behind),
                    }
                }
            }
        }
        // How much the thread has run, beside what windows have told of it.
        let has_rests = self.profiler.options().rest.is_some();
        self.counters.time_ran += if has_rests { self.counters.time_told } else { self.nanos(self.born, now) };
    }

    /// Cycles for which the thread was on a processor, but not here. On whichever thread: at the program's end this one may be blocked for good.
    fn own_time(&self) -> u64 {
        let last = self.window.map(|window| window.began).or(self.last_window.map(|last| last.at));
        let ran = self.clock.read().map_or(0, |time| self.profiler.rate().cycles(time));
        ran.saturating_sub(self.taken).max(last.unwrap_or(self.born))
    }
}

#[cfg(test)]
mod tests {
    use crate::runtime::profiling::packet::Kind;
    use crate::runtime::profiling::{ProfileOptions, Profiler, clock};
    use jit::context::ThreadContext;
    use profiler::ids::ThreadId;
    use profiler::program::Program;
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
