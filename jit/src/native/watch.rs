//! Whether functions are called: tells one long call from many short ones, whose frames may lie in the same place.
//!
//! In: functions. Out: whether one was called since this was asked before. Entries are led to the compiler's thunk as for code that nobody calls (`cold`), so the program pays for the first call after each question (some hundred
//! nanoseconds), and for nothing else.

use super::engine::Engine;
use crate::ir::FuncId;

impl Engine {
    /// Whether a call of the function has begun since this was asked about it before, on any thread and in whichever of its versions; or nobody has asked since the last of these was installed.
    pub fn was_called(&self, func: FuncId) -> bool {
        let versions = &mut *self.versions();
        let calls = versions.calls;
        let Some(twins) = versions.twins(func) else { return true };
        if std::mem::replace(&mut twins.is_watched, true) {
            return false;
        }
        self.connect(twins, calls);
        true
    }
}
