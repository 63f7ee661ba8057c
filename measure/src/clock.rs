//! The clock by which processes agree, and slices of its time.

use std::ops::Range;
use std::time::Duration;

/// Nanoseconds that only grow, the same in all processes of the system; `None` where there is no such clock.
#[cfg(unix)]
pub fn monotonic() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time to a place of our own.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (result == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(not(unix))]
pub fn monotonic() -> Option<u64> {
    None
}

/// Times that do not overlap, by [`monotonic`].
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Slices(Vec<Range<u64>>);

impl Slices {
    pub fn push(&mut self, slice: Range<u64>) {
        self.0.push(slice);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Range<u64>> {
        self.0.iter()
    }

    pub fn total(&self) -> Duration {
        self.within(0..u64::MAX)
    }

    /// How much of this time is in them.
    pub fn within(&self, time: Range<u64>) -> Duration {
        let common = |slice: &Range<u64>| slice.end.min(time.end).saturating_sub(slice.start.max(time.start));
        Duration::from_nanos(self.0.iter().map(common).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_was_a_childs_own() {
        let slices = Slices(vec![10..20, 40..60]);
        let within = |time| slices.within(time).as_nanos();
        assert_eq!([within(0..100), within(15..45), within(20..40), within(45..50)], [30, 10, 0, 5]);
        assert_eq!(slices.total().as_nanos(), 30);
    }
}
