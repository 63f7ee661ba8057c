//! What a bounded structure had no room for: part of every answer that it gives, since shares and errors are of what it holds.

use crate::words::counted;
use std::fmt;

/// Calls without a place, and what they would have counted for.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Dropped {
    /// Calls that have no node, those that were only passed (weight 0) included. Where a structure was merged into a full one: its nodes that have no node there.
    pub calls: u64,
    /// The sum of their weights.
    pub weight: f64,
}

impl Dropped {
    /// Everything had a place.
    pub fn is_empty(&self) -> bool {
        self.calls == 0
    }

    pub(super) fn count(&mut self, weight: f64) {
        self.calls += 1;
        self.weight += weight;
    }

    pub(super) fn merge(&mut self, other: Dropped) {
        self.calls += other.calls;
        self.weight += other.weight;
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing dropped");
        }
        write!(f, "{} of weight {} dropped: the limit is reached, a higher one keeps them", counted(self.calls, "observation"), self.weight)
    }
}
