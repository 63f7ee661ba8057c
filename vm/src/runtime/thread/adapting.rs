//! What a thread does for adaptive optimization at its yield points: it leaves its frames at ticks, frees code, and looks for code that its loops can go on in.

use super::Thread;
use crate::runtime::profiling::Counting;
use crate::runtime::tuning;
use jit::context::Watch;
use std::sync::atomic::Ordering::Relaxed;

impl Thread {
    /// At a yield point, perhaps with a tick of the program's own pace.
    pub(super) fn adapt(&self, is_tick: bool) {
        let Some(adaptive) = &self.runtime.options.adaptive else { return };
        if adaptive.is_forced() {
            // SAFETY: on the thread itself, outside compiled code.
            if unsafe { adaptive.force(self.ctx()) } {
                self.runtime.reclaim_code(self);
            }
            adaptive.other_kind().into_iter().for_each(|counts| self.choose_code(counts));
            return self.keep_adapting();
        }
        if is_tick {
            if adaptive.wants_reclaim() {
                self.runtime.reclaim_code(self);
            }
            let is_counted = self.is_in_short_window();
            // What it ran then it may still run, until that returns.
            if !(self.was_counted.replace(is_counted) || is_counted) {
                // SAFETY: on the thread itself, outside compiled code.
                unsafe { adaptive.tick(self.ctx()) };
            }
            if self.left.replace(adaptive.leave()) != adaptive.leave() {
                self.leave_loops(tuning::LEAVING);
            }
        }
        // A loop looks for other code only where its poll takes the slow path. If it calls much, the tick is noticed in what it calls.
        if let Some(rest) = self.leaving.get().checked_sub(1) {
            self.leaving.set(rest);
            self.poison();
        }
    }

    /// Where there is code that counts calls and code that does not, this is to run from now on. On the thread itself.
    pub(super) fn choose_code(&self, counts: bool) {
        self.ctx().counts_calls.store(counts.into(), Relaxed);
        // SAFETY: on the thread itself, outside compiled code.
        unsafe { (*self.context()).watch = Watch::default() };
    }

    /// At so many of the next yield points, at least, loops are looked for that can go on in other code. (Where optimization is forced, at all.)
    pub(super) fn leave_loops(&self, yield_points: u32) {
        if self.runtime.options.adaptive.as_ref().is_none_or(|adaptive| adaptive.is_forced()) {
            return;
        }
        self.leaving.set(self.leaving.get().max(yield_points));
        self.poison();
    }

    /// Code that counts is never optimized.
    pub(super) fn is_counted_beside(&self) -> bool {
        self.runtime.options.profiler.as_ref().is_some_and(|profiler| profiler.options().counting == Counting::Beside)
    }

    /// It runs such code, only for a moment: that says nothing of what is worth compiling.
    pub(super) fn is_in_short_window(&self) -> bool {
        let windows = self.runtime.options.profiler.as_ref().and_then(|profiler| profiler.windows());
        self.is_counted_beside() && self.counts_calls.get() && windows.is_some_and(|windows| !windows.gap().is_none())
    }

    /// Where optimization is forced, every yield point takes the slow path: to be called on the thread itself before it runs program code, and at each of them.
    pub fn keep_adapting(&self) {
        if self.runtime.options.adaptive.as_ref().is_some_and(|adaptive| adaptive.is_forced()) {
            self.poison();
        }
    }
}
