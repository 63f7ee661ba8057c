//! Code that nobody calls any more: found by arming entries, as HotSpot finds cold methods by arming their entry barriers, and given up.
//!
//! In: functions with optimized code, loops with code of their own. Out: whether a function was called since it was armed; code that is retired. The program pays for the first call after arming, which goes through the compiler's
//! thunk (some hundred nanoseconds), and for each one of a thread that is leaving its code ([`ThreadContext::leaving`]), which does not count.
//! Invariant: giving up changes what is fast, not what runs: calls find code of the first level, or compile it, as a first call does.

use super::api::{Level, VersionInfo};
use super::engine::{Engine, Twins};
#[cfg(doc)]
use crate::context::ThreadContext;
use crate::ir::{Block, FuncId};
use std::sync::atomic::Ordering;

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
        let is_plain = versions.is_plain;
        let Some(twins) = versions.twins(func).filter(|twins| twins.optimized().is_some()) else { return false };
        if std::mem::replace(&mut twins.is_armed, true) {
            return true;
        }
        self.connect(twins, is_plain);
        false
    }

    /// The armed code that a call would run, if there is some: it stays armed, as if this call had not been.
    pub(super) fn armed(&self, func: FuncId) -> Option<u64> {
        let versions = &mut *self.versions();
        let is_plain = versions.is_plain;
        let twins = versions.twins(func).filter(|twins| twins.is_armed && (is_plain || twins.counted.is_none()))?;
        twins.is_watched = false;
        twins.plain.map(|plain| plain.entry)
    }

    /// Gives the function's optimized code up if nobody has called it since it was armed, and says whether that is so. Calls that run go on in it. Code for its loops stays.
    pub fn discard_armed(&self, func: FuncId) -> bool {
        let versions = &mut *self.versions();
        let is_plain = versions.is_plain;
        let Some(twins) = versions.twins(func).filter(|twins| twins.is_armed) else { return false };
        twins.is_armed = false;
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
