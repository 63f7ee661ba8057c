//! Clocks: what the times of traces, samplers and profiles are counted in.
//!
//! In: what a clock counts and, where that is known, how fast. Out: its [`Rate`], which turns durations into what the clock counts, and that into nanoseconds.
//! Invariant: what has a rate measures time; a clock that counts the program's own steps has none.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

/// What a clock counts. Its counts are called cycles, whatever they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[cfg_attr(feature = "export", derive(serde::Serialize))]
#[cfg_attr(feature = "export", serde(tag = "unit", rename_all = "lowercase"))]
pub enum Clock {
    /// Time on the wall.
    #[default]
    Nanoseconds,
    /// Cycles of the processor, or of its time stamp counter.
    Cycles {
        /// `None` where nobody knows.
        per_second: Option<NonZeroU64>,
    },
    /// Calls, instructions, or whatever else goes forward with the program and not with the wall clock.
    Steps,
}

impl Clock {
    /// A clock of so many cycles a second; 0 where nobody knows.
    pub const fn cycles(per_second: u64) -> Clock {
        Clock::Cycles { per_second: NonZeroU64::new(per_second) }
    }

    /// How fast it goes. `None`: nobody knows, it has nothing to do with time, or it claims more than [`Rate::FASTEST`].
    pub fn rate(self) -> Option<Rate> {
        match self {
            Clock::Nanoseconds => Some(Rate::NANOSECONDS),
            Clock::Cycles { per_second } => Rate::new(per_second?.get()),
            Clock::Steps => None,
        }
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clock::Nanoseconds => f.write_str("nanoseconds"),
            Clock::Cycles { per_second: Some(rate) } => write!(f, "{rate} cycles a second"),
            Clock::Cycles { per_second: None } => f.write_str("cycles of unknown length"),
            Clock::Steps => f.write_str("steps of the program"),
        }
    }
}

/// Cycles a second: 1 to [`Rate::FASTEST`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rate(u64);

impl Rate {
    /// Of a clock that counts nanoseconds.
    pub const NANOSECONDS: Rate = Rate(1_000_000_000);
    /// Cycles a second that no clock exceeds: above, the times that samplers are allowed would overflow.
    pub const FASTEST: u64 = 1_000_000_000_000;

    /// `None` for a clock that stands, or is faster than any.
    pub fn new(per_second: u64) -> Option<Rate> {
        (1..=Rate::FASTEST).contains(&per_second).then_some(Rate(per_second))
    }

    /// Cycles a second.
    pub fn per_second(self) -> u64 {
        self.0
    }

    /// Cycles in a time, rounded down; the largest number if there are more.
    pub fn cycles(self, time: Duration) -> u64 {
        u64::try_from(time.as_nanos().saturating_mul(u128::from(self.0)) / 1_000_000_000).unwrap_or(u64::MAX)
    }

    /// Nanoseconds of so many cycles, rounded down.
    pub fn nanoseconds(self, cycles: u64) -> u128 {
        u128::from(cycles) * 1_000_000_000 / u128::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_convert() {
        let rate = Clock::cycles(2_500_000_000).rate().unwrap();
        assert_eq!(rate.cycles(Duration::from_millis(4)), 10_000_000);
        assert_eq!(rate.nanoseconds(10_000_001), 4_000_000);
        assert_eq!(Rate(Rate::FASTEST).cycles(Duration::MAX), u64::MAX);
        assert_eq!(Rate(1).nanoseconds(u64::MAX), u128::from(u64::MAX) * 1_000_000_000);
    }

    #[test]
    fn what_does_not_measure_time_has_no_rate() {
        assert_eq!(Clock::Nanoseconds.rate().map(Rate::per_second), Some(1_000_000_000));
        assert_eq!(Clock::cycles(7).rate(), Rate::new(7));
        for clock in [Clock::Steps, Clock::cycles(0), Clock::cycles(Rate::FASTEST + 1)] {
            assert_eq!(clock.rate(), None, "{clock}");
        }
    }
}
