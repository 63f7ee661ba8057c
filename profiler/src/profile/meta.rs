//! How a profile came about: the run, the sampler and its parameters, and what it counted.
//!
//! In: whatever made the profile. Out: [`Meta`], and one line of it for titles.

use crate::clock::Clock;
use crate::counters::Counters;
use crate::words::counted;
use std::fmt;

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
    /// How much was done to get the profile.
    pub counters: Counters,
}

impl Meta {
    /// The duration in nanoseconds, where the clock measures time at a known rate.
    pub fn nanoseconds(&self) -> Option<u64> {
        u64::try_from(self.clock.rate()?.nanoseconds(self.duration)).ok()
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
        // A record of every call is handed over in pieces, which are no samples.
        let is_complete = counters.calls > 0 && counters.burst_calls == counters.calls;
        if counters.samples > 0 && !is_complete {
            write!(f, ", {}", counted(counters.samples, "sample"))?;
        }
        if counters.samples_dropped > 0 {
            write!(f, ", {} dropped", counted(counters.samples_dropped, "sample"))?;
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
            counters: Counters { samples: 10, samples_dropped: 1, ..Counters::default() },
            ..Meta::default()
        };
        assert_eq!(meta.to_string(), "fib: CBS (samples 8, stride 2, seed 7), 10 samples, 1 sample dropped");
        let counters = Counters { calls: 1105, burst_calls: 1105, samples: 1, ..Counters::default() };
        let all = Meta { mode: "exhaustive".into(), counters, ..Meta::default() };
        assert_eq!(all.to_string(), "unknown program: exhaustive", "every call is no sample");
    }

    #[test]
    fn time_is_known_where_the_clocks_rate_is() {
        let meta = |clock, duration| Meta { clock, duration, ..Meta::default() }.nanoseconds();
        assert_eq!(meta(Clock::Nanoseconds, 5), Some(5));
        assert_eq!(meta(Clock::cycles(2_000_000_000), 3_000_000_001), Some(1_500_000_000));
        assert_eq!(meta(Clock::cycles(1), u64::MAX), None, "more than 64 bits of nanoseconds");
        assert_eq!(meta(Clock::cycles(0), 5), None);
        assert_eq!(meta(Clock::Steps, 5), None);
    }
}
