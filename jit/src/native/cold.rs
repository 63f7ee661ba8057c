//! Code that nobody calls any more: found by arming entries, as HotSpot finds cold methods by arming their entry barriers, and given up.
//!
//! In: functions with optimized code, loops with code of their own. Out: whether a function was called since it was armed; code that is retired. The program pays for the first call after arming, which goes through the compiler's
//! thunk (some hundred nanoseconds), and for nothing else.
//! Invariant: giving up changes what is fast, not what runs: calls find code of the first level, or compile it, as a first call does.

use super::api::Level;
use super::engine::{Engine, Twins};
use crate::ir::{Block, FuncId};
use std::sync::atomic::Ordering;

/// What becomes of calls at present.
#[derive(Clone, Copy, Default)]
pub(super) struct Calls {
    /// They are not to be counted.
    pub are_plain: bool,
    /// How often [`Engine::arm_held`] has to be asked yet before it says yes.
    holding: u32,
}

/// [`Calls::holding`] while calls are counted, and when those of armed code are noticed again.
const HELD: u32 = 4;
const NOTICED: u32 = 1;

impl Calls {
    /// From now on they are to be counted, or not.
    pub fn set_counted(&mut self, counts: bool) {
        self.are_plain = !counts;
        if counts {
            self.holding = HELD;
        }
    }

    /// Those of armed code. Behind a window code that counts still runs until it returns, and what it calls would seem to be in use; so for a while they are not.
    pub fn are_noticed(self) -> bool {
        self.holding <= NOTICED
    }
}

impl Twins {
    /// Calls run optimized code while they are not counted.
    fn is_optimized(&self) -> bool {
        self.plain.is_some_and(|plain| plain.level == Level::Optimized)
    }
}

impl Engine {
    /// The next call of the function that would run its optimized code is noticed, but for those behind a window ([`Engine::arm_held`]). Calls that are counted do not run it, and are not noticed. Says whether the function was armed already: no call was noticed since.
    pub fn arm(&self, func: FuncId) -> bool {
        let versions = &mut *self.versions();
        let calls = versions.calls;
        let Some(twins) = versions.twins(func).filter(|twins| twins.is_optimized()) else { return false };
        if std::mem::replace(&mut twins.is_armed, true) {
            return true;
        }
        self.connect(twins, calls);
        false
    }

    /// Asked once and again: once no calls have been counted for some times, those of armed code are noticed again. Says whether they were since the last time.
    pub fn arm_held(&self) -> bool {
        let versions = &mut *self.versions();
        let calls = &mut versions.calls;
        if calls.holding == 0 || !calls.are_plain {
            return calls.holding == 0;
        }
        calls.holding -= 1;
        if calls.holding == NOTICED {
            self.connect_all(versions);
        }
        versions.calls.holding == 0
    }

    /// Gives the function's optimized code up if nobody has called it since it was armed, and says whether that is so. Calls that run go on in it. Code for its loops stays.
    pub fn discard_armed(&self, func: FuncId) -> bool {
        let versions = &mut *self.versions();
        let calls = versions.calls;
        let Some(twins) = versions.twins(func).filter(|twins| twins.is_armed) else { return false };
        twins.is_armed = false;
        let counted = twins.counted.take_if(|counted| counted.level == Level::Optimized);
        let code: Vec<_> = twins.plain.take().into_iter().chain(counted).map(|version| (version.entry, version.len)).collect();
        self.connect(twins, calls);
        versions.retire(&code);
        true
    }

    /// Gives the code for a loop up, if there is any: calls of the function do not go over into it any more.
    pub fn discard_osr(&self, func: FuncId, block: Block) {
        match self.osr_cell(func, block).map_or(0, |cell| cell.swap(0, Ordering::AcqRel)) {
            0 => {}
            entry => self.retire_entry(entry),
        }
    }
}
