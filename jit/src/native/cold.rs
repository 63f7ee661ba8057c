//! Code that nobody calls any more: found by arming entries, as HotSpot finds cold methods by arming their entry barriers, and given up.
//!
//! In: functions with optimized code, loops with code of their own. Out: whether a function was called since it was armed; code that is retired. The program pays for the first call after arming, which goes through the compiler's
//! thunk (some hundred nanoseconds), and for nothing else.
//! Invariant: giving up changes what is fast, not what runs: calls find code of the first level, or compile it, as a first call does.

use super::api::{Level, VersionInfo};
use super::engine::{Engine, Twins, Versions};
use crate::ir::{Block, FuncId};
use std::sync::atomic::Ordering;

/// Whether a function's next call is noticed.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) enum Arming {
    #[default]
    Off,
    Armed,
    /// It was armed when calls were counted last. Code that counts still runs behind such a window until it returns, and what it calls then would seem to be in use; so for a while calls are not noticed.
    Held,
}

/// [`Versions::holding`] when calls are counted, and when what was held is armed again.
const HELD: u32 = 4;
const ARMED: u32 = 1;

impl Versions {
    /// Calls are counted from now on.
    pub fn hold(&mut self) {
        self.holding = HELD;
        for twins in self.all_twins().iter_mut().filter(|twins| twins.arming == Arming::Armed) {
            twins.arming = Arming::Held;
        }
    }
}

impl Twins {
    /// What can be given up: optimized code beside which there is none that counts and is optimized, too.
    fn optimized(&self) -> Option<VersionInfo> {
        let only = self.counted.is_none_or(|counted| counted.level == Level::Baseline);
        self.plain.filter(|plain| only && plain.level == Level::Optimized)
    }
}

impl Engine {
    /// The next call of the function that would run its optimized code is noticed. Calls that are counted do not run it, and are not noticed. Says whether the function was armed already: nobody has called it since.
    pub fn arm(&self, func: FuncId) -> bool {
        let versions = &mut *self.versions();
        let (is_plain, is_held) = (versions.is_plain, versions.holding > ARMED);
        let Some(twins) = versions.twins(func).filter(|twins| twins.optimized().is_some()) else { return false };
        if twins.arming != Arming::Off {
            return true;
        }
        twins.arming = if is_held { Arming::Held } else { Arming::Armed };
        self.connect(twins, is_plain);
        false
    }

    /// Asked once and again: what is held is armed, once no calls have been counted for some times. Says whether calls of all that is armed were noticed since the last time.
    pub fn arm_held(&self) -> bool {
        let versions = &mut *self.versions();
        if versions.holding == 0 || !versions.is_plain {
            return versions.holding == 0;
        }
        versions.holding -= 1;
        if versions.holding == ARMED {
            for twins in versions.all_twins().iter_mut().filter(|twins| twins.arming == Arming::Held) {
                twins.arming = Arming::Armed;
                self.connect(twins, true);
            }
        }
        versions.holding == 0
    }

    /// Gives the function's optimized code up if nobody has called it since it was armed, and says whether that is so. Calls that run go on in it. Code for its loops stays.
    pub fn discard_armed(&self, func: FuncId) -> bool {
        let versions = &mut *self.versions();
        let is_plain = versions.is_plain;
        let Some(twins) = versions.twins(func).filter(|twins| twins.arming != Arming::Off) else { return false };
        twins.arming = Arming::Off;
        let version = twins.plain.take();
        self.connect(twins, is_plain);
        version.iter().for_each(|version| versions.out_of_use.retire(version.entry, version.len));
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
