//! How a profile came about: the run, the sampler and its parameters, and what it counted.
//!
//! In: whatever made the profile. Out: [`Meta`], and one line of it for titles.

use std::fmt;
use std::num::NonZeroU64;

/// The clock that durations are told in.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Clock {
    /// Time.
    #[default]
    Nanoseconds,
    /// Of a cycle counter.
    Cycles {
        /// `None` where the rate is unknown.
        per_second: Option<NonZeroU64>,
    },
    /// Calls that were made.
    Calls,
}

/// How much was done to get the profile.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Observed calls that count.
    pub samples: u64,
    /// How often the sampler was triggered.
    pub ticks: u64,
    /// Bursts that were traced.
    pub bursts: u64,
    /// Samples that were thrown away because a queue was full.
    pub drops: u64,
}

/// The run, the sampler, and what it counted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Meta {
    /// The program that ran.
    pub program: Box<str>,
    /// The sampler ("exhaustive", "static bursting").
    pub mode: Box<str>,
    /// The sampler's parameters, name and value with unit, in the order they are shown; names differ.
    pub parameters: Vec<(Box<str>, Box<str>)>,
    /// Of the random numbers, if there are any.
    pub seed: Option<u64>,
    /// What durations are told in.
    pub clock: Clock,
    /// How long the run took, by `clock`.
    pub duration: u64,
    /// How much was done.
    pub counters: Counters,
}

impl Meta {
    /// The duration in nanoseconds, where the clock measures time at a known rate.
    pub fn nanoseconds(&self) -> Option<u64> {
        match self.clock {
            Clock::Nanoseconds => Some(self.duration),
            Clock::Cycles { per_second } => {
                let nanoseconds = u128::from(self.duration) * 1_000_000_000 / u128::from(per_second?.get());
                u64::try_from(nanoseconds).ok()
            }
            Clock::Calls => None,
        }
    }
}

/// Program, mode, parameters, and what was lost, in a line.
impl fmt::Display for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Meta { program, mode, parameters, seed, counters, .. } = self;
        let or_unknown = |text: &str, what: &str| if text.is_empty() { what.to_owned() } else { text.to_owned() };
        write!(f, "{}: {}", or_unknown(program, "unknown program"), or_unknown(mode, "unknown mode"))?;
        let mut shown: Vec<String> = parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
        shown.extend(seed.map(|seed| format!("seed {seed}")));
        if !shown.is_empty() {
            write!(f, " ({})", shown.join(", "))?;
        }
        if counters.samples > 0 {
            write!(f, ", {} samples", counters.samples)?;
        }
        if counters.drops > 0 {
            write!(f, ", {} samples dropped", counters.drops)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_known() {
        assert_eq!(Meta::default().to_string(), "unknown program: unknown mode");
        let meta = Meta {
            program: "fib".into(),
            mode: "CBS".into(),
            parameters: vec![("samples".into(), "8".into()), ("stride".into(), "2".into())],
            seed: Some(7),
            counters: Counters { samples: 10, drops: 1, ..Counters::default() },
            ..Meta::default()
        };
        assert_eq!(meta.to_string(), "fib: CBS (samples 8, stride 2, seed 7), 10 samples, 1 samples dropped");
    }

    #[test]
    fn time_is_known_where_the_clocks_rate_is() {
        let meta = |clock, duration| Meta { clock, duration, ..Meta::default() }.nanoseconds();
        let cycles = |rate| Clock::Cycles { per_second: NonZeroU64::new(rate) };
        assert_eq!(meta(Clock::Nanoseconds, 5), Some(5));
        assert_eq!(meta(cycles(2_000_000_000), 3_000_000_001), Some(1_500_000_000));
        assert_eq!(meta(cycles(1), u64::MAX), None, "more than 64 bits of nanoseconds");
        assert_eq!(meta(cycles(0), 5), None);
        assert_eq!(meta(Clock::Calls, 5), None);
    }
}
