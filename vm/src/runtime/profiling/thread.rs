//! What one program thread does for its profile: it runs the thread's [`Sampler`] at yield points, by the contract in [`profiler::samplers`].
//!
//! In: calls at which compiled code's countdown has run out, ticks of the timer, the thread's end. Out: packets to the organizer.
//!
//! The countdown cell serves for everything. Each prologue takes one from it; once it is below zero, every call takes the slow path of its prologue, where compiled code records calls by itself while a burst has room for records, and comes here
//! otherwise. So the number of calls is exact, and a burst costs one visit at its beginning and one at the first call after it.
//!
//! Invariants: only the thread itself comes here, or one that has stopped it for good; nothing here allocates program memory, throws, or is a safepoint.

mod window;

use super::Profiler;
use super::clock::ThreadClock;
use super::counting::RetiredCalls;
use super::packet::{Kind, Packet};
use jit::context::{CallSeen, ThreadContext};
use jit::native;
use profiler::counters::Counters;
use profiler::ids::ThreadId;
use profiler::sample::Moment;
use profiler::samplers::{Action, Interval, Place, Random, Sampler, Signature, Span, Tick, Wake};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;
use window::{EndedWindow, Paused, Window};

/// More calls than a program makes.
const NEVER: i64 = i64::MAX / 2;
/// Nanoseconds that a slow path takes at most, besides those for each [`FRAME`] of a stack walk, if nobody takes the processor away.
const SLOW_PATH: u64 = 5_000;
const FRAME: u64 = 20;
/// Numbers of windows, as ticks: more than there are bursts.
const WINDOW_TICKS: u64 = 1 << 40;
/// Bytes of samples after which a window ends early.
const LARGE: usize = 1 << 20;
/// Records that compiled code makes before it comes here in between: longer bursts get room piece by piece.
const PIECE: u64 = 1 << 16;

pub struct ThreadProfiler {
    profiler: Arc<Profiler>,
    sampler: Sampler,
    /// Calls made when the countdown was set last, and what it was set to.
    counted: u64,
    armed: i64,
    /// The call at which to ask the sampler without a tick.
    due: Option<u64>,
    /// When the tick that waits was raised, in cycles.
    tick: Option<u64>,
    /// Where the sampler goes by the processor's count.
    retired: Option<RetiredCalls>,
    /// Ticks of the virtual clock.
    timer: Option<VirtualTimer>,
    burst: Option<Burst>,
    packet: Packet,
    counters: Counters,
    /// Cycles that were spent here.
    spent: u64,
    /// Of the present window, or part of one, what bursts have recorded in the program's own code.
    recorded: Recorded,
    /// The present window, if calls are counted only in some.
    window: Option<Window>,
    /// The one that goes on in the next one.
    paused: Option<Paused>,
    /// The last one that has ended, whose samples are still in the packet while there is none.
    last_window: Option<EndedWindow>,
    /// Calls in a usual brief window, going by the last one, if there was one.
    expected: Option<u64>,
    /// Calls of windows before it for which no sample stands: the next one will.
    left: f64,
    /// Cycles of the processor's time that were spent here, what is due to other programs left out, and in collections.
    taken: u64,
    /// When the thread's profile began, in cycles of the processor's time.
    born: u64,
    clock: ThreadClock,
}

/// Calls that compiled code has recorded.
#[derive(Clone, Copy, Default)]
struct Recorded {
    calls: u64,
    /// What that took, in cycles.
    cycles: u64,
    /// When it began or went on, while it does.
    since: Option<u64>,
}

#[derive(Clone, Copy)]
struct Burst {
    until: Until,
    /// It has begun with the call on top of the stack that was walked.
    from_top: bool,
}

/// When a burst is over.
#[derive(Clone, Copy)]
enum Until {
    Calls(u64),
    /// In cycles.
    Time(u64),
}

/// A timer that goes by the thread's own calls.
struct VirtualTimer {
    random: Random,
    interval: Interval,
    /// Of the next tick, in cycles.
    next: u64,
}

/// The cells of a thread's context that profiling uses, for the thread itself.
///
/// Invariant: made from the context of the current thread (or of one that never runs again), which lives while the value is used; the cells are the thread's own, and no reference to them exists.
struct Cells(*mut ThreadContext);

impl Cells {
    fn left(&self) -> i64 {
        // SAFETY: by the invariant.
        unsafe { (*self.0).calls_left }
    }

    fn set_left(&self, calls: i64) {
        // SAFETY: by the invariant.
        unsafe { (*self.0).calls_left = calls };
    }

    fn cursor(&self) -> *const CallSeen {
        // SAFETY: by the invariant.
        unsafe { (*self.0).record_cursor }
    }

    fn set_room(&self, room: Range<*mut CallSeen>) {
        // SAFETY: by the invariant.
        unsafe {
            (*self.0).record_cursor = room.start;
            (*self.0).record_end = room.end;
        }
    }

    /// The call whose prologue is here.
    fn call(&self) -> CallSeen {
        // SAFETY: by the invariant, and the thread stands in the slow path of a prologue or probe: its frame is complete.
        unsafe {
            let (pc, fp) = ((*self.0).last_pc, (*self.0).last_fp);
            CallSeen { pc, fp, ret: (fp as *const u64).add(1).read() }
        }
    }
}

const NO_ROOM: Range<*mut CallSeen> = std::ptr::null_mut()..std::ptr::null_mut();

impl ThreadProfiler {
    pub fn new(profiler: Arc<Profiler>, thread: ThreadId) -> ThreadProfiler {
        let stream = 2 * u64::from(thread.as_u32());
        let sampler = profiler.sampler(Random::stream(profiler.options.seed, stream));
        let packet = profiler.empty_packet(thread);
        let timer = profiler.virtual_interval().map(|interval| {
            let mut random = Random::stream(profiler.options.seed, stream + 1);
            VirtualTimer { next: interval.next(&mut random), random, interval }
        });
        let counters = Counters::default();
        ThreadProfiler {
            profiler,
            born: 0,
            sampler,
            counted: 0,
            armed: NEVER,
            due: None,
            tick: None,
            retired: None,
            timer,
            burst: None,
            packet,
            counters,
            spent: 0,
            recorded: Recorded::default(),
            window: None,
            paused: None,
            last_window: None,
            expected: None,
            left: 0.0,
            taken: 0,
            clock: ThreadClock::current(),
        }
    }

    /// The thread runs code that counts calls now, where there is any.
    pub fn counts_calls(&self) -> bool {
        self.window.is_some() || self.profiler.windows().is_none()
    }

    /// Before the thread runs compiled code.
    ///
    /// # Safety
    /// `ctx` is the current thread's.
    pub unsafe fn start(&mut self, ctx: *mut ThreadContext) {
        let cells = Cells(ctx);
        self.retired = self.profiler.retired_calls();
        self.born = self.profiler.thread_ran();
        cells.set_left(self.armed);
        let action = self.sampler.start(self.at(0));
        if self.profiler.windows().is_some() {
            // No burst begins between windows, even where code counts there: a window begins with none under way.
            self.due = match action {
                Action::Wait(Wake::After(calls)) => Some(calls),
                _ => Some(0),
            };
            // A window that is open stands for all that the thread has done, which is nothing: so it is exact.
            return self.turn_window_from(self.born, &cells);
        }
        self.follow(action, 0, false, &cells);
        self.arm(0, &cells);
    }

    /// The slow path of a prologue, or of the probe of an inlined one: the countdown has run out, and there is no room for a record.
    ///
    /// # Safety
    /// `ctx` is the current thread's, its `last_fp` and `last_pc` those of the function that is called.
    pub unsafe fn call(&mut self, ctx: *mut ThreadContext) {
        let cells = Cells(ctx);
        let began = self.begins();
        self.recorded_until(began.0);
        self.visit(&cells);
        self.note_middle(began.0, &cells);
        self.spend(began);
        if self.window.is_some() && self.burst.is_none() && self.packet.bytes() > LARGE {
            self.turn_window(&cells);
        }
    }

    fn visit(&mut self, cells: &Cells) {
        let calls = self.calls(cells);
        if let Some(burst) = self.burst {
            if self.goes_on(burst, cells) {
                return;
            }
            // It ended with the call before this one.
            let next = self.end_burst(burst, calls - 1, cells);
            self.follow(next, calls - 1, true, cells);
            if self.burst.is_some() {
                return;
            }
        }
        self.raise_virtual_tick(calls);
        if self.tick.is_some() || self.due.is_some_and(|due| calls >= due) {
            // Where a window begins no call is visited, so a burst that was to begin there does with the first one.
            let at_next = self.due == Some(calls - 1);
            self.poll(calls - u64::from(at_next), at_next, cells);
        }
        self.arm(calls, cells);
    }

    /// A yield point at which a tick is noticed that the timer raised.
    ///
    /// # Safety
    /// As for [`ThreadProfiler::call`]; the yield point may also be that of a loop.
    pub unsafe fn tick(&mut self, ctx: *mut ThreadContext, raised: u64) {
        let cells = Cells(ctx);
        if self.profiler.windows().is_some() {
            return self.turn_window(&cells);
        }
        self.counters.ticks_merged += u64::from(self.tick.is_some());
        self.tick.get_or_insert(raised);
        if self.burst.is_some() {
            return;
        }
        let began = self.begins();
        let calls = self.calls(&cells);
        if self.sampler.place() == Place::Any {
            self.poll(calls, false, &cells);
        }
        self.arm(calls, &cells);
        self.spend(began);
    }

    /// The thread goes on after it was stopped or blocked: it may have missed the tick with which a window began or ended.
    ///
    /// # Safety
    /// As for [`ThreadProfiler::tick`].
    pub unsafe fn resumed(&mut self, ctx: *mut ThreadContext) {
        if self.profiler.windows().is_some_and(|windows| windows.is_open() != self.window.is_some()) {
            self.turn_window(&Cells(ctx));
        }
    }

    /// Takes note of what a slow path has taken since it began, at this cycle and with so many frames looked at before.
    fn spend(&mut self, (began, frames): (u64, u64)) {
        let spent = self.profiler.cycles().saturating_sub(began);
        self.spent += spent;
        let most = self.profiler.rate().cycles(Duration::from_nanos(SLOW_PATH + FRAME * (self.counters.frames - frames)));
        self.taken += spent.min(most);
        self.recorded.since = self.burst.map(|_| began + spent);
    }

    /// Bursts have been recorded up to this cycle, if there was one.
    fn recorded_until(&mut self, cycle: u64) {
        if let Some(since) = self.recorded.since.take() {
            self.recorded.cycles += cycle.saturating_sub(since);
        }
    }

    fn begins(&self) -> (u64, u64) {
        (self.profiler.cycles(), self.counters.frames)
    }

    /// The program is stopped, and code is about to be freed for the time with this number: the last such stop before anything was recorded that has not been handed over.
    ///
    /// # Safety
    /// `ctx` is the context of the thread, which is stopped or the current one.
    pub unsafe fn held_since(&mut self, ctx: *mut ThreadContext, number: u64) -> u64 {
        let cells = Cells(ctx);
        if self.packet.is_blank() && cells.cursor().is_null() {
            self.packet.begun = number;
        }
        self.packet.begun
    }

    /// The thread makes no more calls.
    ///
    /// # Safety
    /// `ctx` is the current thread's, or that of a thread that never runs again.
    pub unsafe fn finish(&mut self, ctx: *mut ThreadContext) {
        let cells = Cells(ctx);
        if self.profiler.windows().is_some() {
            self.finish_window(&cells);
        }
        let calls = self.calls(&cells);
        if let Some(burst) = self.burst {
            self.end_burst(burst, calls, &cells);
        }
        self.set_countdown(NEVER, &cells);
        if self.profiler.windows().is_none() {
            self.counters.calls = calls;
        }
        self.counters.merge(self.sampler.counters());
        let empty = Packet::new(self.packet.thread);
        let rest = std::mem::replace(&mut self.packet, empty);
        self.profiler.thread_ended(rest, self.counters, self.spent);
    }

    /// Calls that the thread has made, the one at whose prologue it stands included.
    fn calls(&self, cells: &Cells) -> u64 {
        self.counted + (self.armed - cells.left()) as u64
    }

    fn at(&self, calls: u64) -> Moment {
        Moment { cycles: self.profiler.now(calls), calls }
    }

    fn set_countdown(&mut self, left: i64, cells: &Cells) {
        self.counted = self.calls(cells);
        self.armed = left;
        cells.set_left(left);
    }

    /// Sets the countdown to the next call at which something is to be done.
    fn arm(&mut self, calls: u64, cells: &Cells) {
        let tick = self.timer.as_ref().map(|timer| self.profiler.call_at(timer.next));
        let next = self.due.into_iter().chain(tick).min();
        let left = match next {
            _ if self.burst.is_some() => -1,
            _ if self.tick.is_some() => 0,
            // The call that brings the countdown below zero is the one that is asked for.
            Some(next) => i64::try_from(next.saturating_sub(calls + 1)).unwrap_or(NEVER).min(NEVER),
            None => NEVER,
        };
        self.set_countdown(left, cells);
    }

    fn raise_virtual_tick(&mut self, calls: u64) {
        let Some(timer) = &mut self.timer else { return };
        let now = self.profiler.now(calls);
        while timer.next <= now {
            self.counters.ticks_merged += u64::from(self.tick.is_some());
            self.tick.get_or_insert(timer.next);
            timer.next = timer.next.saturating_add(timer.interval.next(&mut timer.random));
        }
    }

    /// As in [`ThreadProfiler::follow`].
    fn poll(&mut self, calls: u64, at_next: bool, cells: &Cells) {
        let counted = || self.retired.as_ref().and_then(RetiredCalls::read).unwrap_or(calls);
        let tick = self.tick.take().map(|raised| Tick { raised, counted: counted() });
        let at = self.at(calls);
        let mut signed = 0;
        let action = self.sampler.poll(at, tick, || {
            let mut signature = Signature::default();
            // Where the code lies is another thing in each run; how far its parts are from each other is not, and all stacks begin in the same place.
            let mut above = None;
            // SAFETY: the thread stands at a yield point, outside compiled code.
            unsafe {
                native::walk_raw(&*cells.0, |frame| {
                    signature.frame(frame.pc.wrapping_sub(above.replace(frame.pc).unwrap_or(frame.pc)));
                    signed += 1;
                    ControlFlow::Continue(())
                });
            }
            signature.finish()
        });
        if signed > 0 && !matches!(action, Action::Burst(_)) {
            self.walked(calls, signed);
        }
        self.follow(action, calls, at_next, cells);
    }

    /// Does what the sampler says, after so many calls. `at_next`: the thread has made one more since.
    fn follow(&mut self, action: Action, calls: u64, at_next: bool, cells: &Cells) {
        match action {
            Action::Wait(wake) => self.wait(wake, calls),
            Action::Top { weight, next } => {
                self.walk(calls, cells);
                self.hand_over(Kind::Top, weight);
                self.wait(next, calls);
            }
            Action::Burst(span) => {
                self.walk(calls, cells);
                self.due = None;
                self.set_countdown(-1, cells);
                let until = match span {
                    Span::Calls(calls) => Until::Calls(calls),
                    Span::Cycles(cycles) => Until::Time(self.at(calls).cycles.saturating_add(cycles)),
                };
                self.burst = Some(Burst { until, from_top: at_next });
                self.make_room(cells);
            }
        }
    }

    fn wait(&mut self, wake: Wake, calls: u64) {
        self.due = match wake {
            Wake::Tick => None,
            Wake::After(more) => Some(calls.saturating_add(more)),
        };
    }

    /// Whether the call at whose prologue the thread stands belongs to the burst: it is recorded then.
    fn goes_on(&mut self, burst: Burst, cells: &Cells) -> bool {
        self.take_records(cells);
        let goes_on = match burst.until {
            Until::Calls(calls) => self.recorded(burst) < calls,
            Until::Time(end) => self.at(self.calls(cells)).cycles < end,
        };
        if goes_on {
            self.packet.call(cells.call());
            self.make_room(cells);
        }
        goes_on
    }

    /// Calls of the burst so far.
    fn recorded(&self, burst: Burst) -> u64 {
        self.packet.recorded() as u64 + u64::from(burst.from_top)
    }

    /// Lets compiled code record what is left of a burst, but not more than a piece; nothing where the time has to be looked at.
    fn make_room(&mut self, cells: &Cells) {
        let Some(burst) = self.burst else { return };
        let left = match burst.until {
            Until::Calls(calls) => calls.saturating_sub(self.recorded(burst)).min(PIECE),
            Until::Time(_) => 0,
        };
        cells.set_room(self.packet.room(left as usize));
    }

    fn take_records(&mut self, cells: &Cells) {
        if !cells.cursor().is_null() {
            // SAFETY: the cursor was set to the packet's room, and compiled code moves it on behind each record it has written there.
            unsafe { self.packet.recorded_up_to(cells.cursor()) };
        }
        cells.set_room(NO_ROOM);
    }

    /// The burst ended when so many calls had been made.
    fn end_burst(&mut self, burst: Burst, calls: u64, cells: &Cells) -> Action {
        self.take_records(cells);
        self.burst = None;
        let recorded = self.recorded(burst);
        self.recorded.calls += recorded;
        let ended = self.sampler.end_burst(self.at(calls), recorded);
        if recorded == 0 {
            self.counters.samples_empty += 1;
            self.packet.discard();
        } else {
            self.hand_over(if burst.from_top { Kind::BurstFromTop } else { Kind::Burst }, ended.weight);
        }
        ended.next
    }

    /// Walks the stack into the packet.
    fn walk(&mut self, calls: u64, cells: &Cells) {
        let packet = &mut self.packet;
        let mut frames = 0;
        // SAFETY: the thread stands at a yield point, outside compiled code.
        unsafe {
            native::walk_raw(&*cells.0, |frame| {
                packet.frame(frame);
                frames += 1;
                ControlFlow::Continue(())
            });
        }
        self.walked(calls, frames);
    }

    fn walked(&mut self, calls: u64, frames: u64) {
        self.counters.walks += 1;
        self.counters.frames += frames;
        self.sampler.walked(self.at(calls), frames);
    }

    fn hand_over(&mut self, kind: Kind, weight: f64) {
        self.counters.samples += 1;
        // All samples of a window stand and fall together, once there is time between windows.
        let is_windowed = self.profiler.windows().is_some_and(|windows| !windows.gap().is_none());
        let tick = if is_windowed { WINDOW_TICKS + self.counters.windows } else { self.sampler.tick() };
        self.packet.seal(kind, weight, tick);
        // Weights are known when the window ends.
        if self.window.is_none() {
            self.hand_over_full();
        }
    }

    /// Not in a burst: compiled code writes into the packet then.
    fn hand_over_full(&mut self) {
        debug_assert!(self.burst.is_none(), "records of a burst go to the packet");
        if self.profiler.is_full(&self.packet) {
            self.counters.samples_dropped += self.profiler.hand_over(&mut self.packet);
        }
    }
}
