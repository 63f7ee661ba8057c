//! Which sampler, and with which numbers: the sources' defaults, and a check that turns bad numbers into errors.
//!
//! In: what a user asks for. Out: [`Parameters`] that a [`Sampler`](super::Sampler) takes after [`Parameters::check`].
//! Invariant: times are durations here and become cycles of a clock in samplers.

use super::antibias::Antibias;
use super::estimator::Start;
use crate::clock::{Clock, Rate};
use crate::tuning;
use std::fmt;
use std::time::Duration;

/// How long a burst is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// So long, by the clock.
    Time(Duration),
    /// Until so many calls are recorded.
    Calls(u64),
}

impl Length {
    /// Counted in calls, so that a burst records as much in any phase of a program.
    pub const DEFAULT: Length = Length::Calls(tuning::BURST_CALLS);
    /// As PLDI'06 has it.
    pub const SOURCE: Length = Length::Time(Duration::from_nanos(tuning::BURST_TIME));
}

/// What makes the estimator begin a burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// A timer tick; the thread's calls are counted.
    Timer(Start),
    /// The thread's own calls: a burst in every so many, at random.
    Calls {
        /// In calls, at least twice the burst.
        mean: u64,
    },
}

/// A sampler with its own numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mode {
    /// Every call and return.
    Exhaustive,
    /// The top of the stack, wherever the thread stands at the tick.
    StackWalk {
        /// What a sample counts for.
        antibias: Antibias,
    },
    /// Counter-based sampling (TACO'15 section 2.2): after a tick, some of the next calls.
    Cbs {
        /// Samples taken at a tick.
        samples: u32,
        /// Calls from one of them to the next.
        stride: u32,
        /// What a sample counts for.
        antibias: Antibias,
    },
    /// A burst at every tick (PLDI'06 section 5.1).
    StaticBursting {
        /// Of a burst.
        length: Length,
    },
    /// A burst where the stack is not known yet (PLDI'06 sections 5.2 and 5.3).
    AdaptiveBursting {
        /// Of a burst.
        length: Length,
        /// Entries of the history table (eight bytes a thread each).
        history: u32,
        /// The chance that a known signature bursts all the same (RR); `None`: no re-enablement.
        re_enable: Option<f64>,
    },
    /// Ours: short bursts at random calls, weighted so that no call counts more than another.
    Estimator {
        /// What begins a burst.
        trigger: Trigger,
        /// Calls in a burst; 1: a sample of the call itself.
        burst: u32,
    },
}

/// A sampler and its timer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// Which sampler.
    pub mode: Mode,
    /// Time between ticks. Without meaning where there is no timer ([`Parameters::has_timer`]).
    pub interval: Duration,
    /// How far a tick may come before or after its time, as a share of the interval.
    pub jitter: f64,
    /// The interval follows the share of stack walks that repeat (CC-Map, Tuning Sampling Interval). For stack walks only: at a call the top frame is always new.
    pub self_tuning: bool,
}

impl Parameters {
    /// The mode with its source's interval.
    pub const fn new(mode: Mode) -> Parameters {
        let interval = match mode {
            Mode::Cbs { .. } => tuning::CBS_INTERVAL,
            Mode::Estimator { .. } => tuning::ESTIMATOR_INTERVAL,
            _ => tuning::BURST_INTERVAL,
        };
        Parameters { mode, interval: Duration::from_nanos(interval), jitter: tuning::JITTER, self_tuning: false }
    }

    /// Every call and return.
    pub const fn exhaustive() -> Parameters {
        Parameters::new(Mode::Exhaustive)
    }

    /// One stack walk every 10 ms (PLDI'06 section 4.2 and Table 2).
    pub const fn stack_walk() -> Parameters {
        Parameters::new(Mode::StackWalk { antibias: Antibias::OFF })
    }

    /// CBS every 4 ms. CBS(8, 2) is Jikes RVM's default, CBS(1, 1) plain timer sampling.
    pub const fn cbs(samples: u32, stride: u32, antibias: Antibias) -> Parameters {
        Parameters::new(Mode::Cbs { samples, stride, antibias })
    }

    /// A burst every 10 ms (PLDI'06 section 5.1 and Table 2), counted in calls.
    pub const fn static_bursting() -> Parameters {
        Parameters::new(Mode::StaticBursting { length: Length::DEFAULT })
    }

    /// Bursts where the stack is new (PLDI'06 section 5.2).
    pub const fn adaptive_bursting() -> Parameters {
        Parameters::new(Mode::AdaptiveBursting { length: Length::DEFAULT, history: tuning::HISTORY_ENTRIES, re_enable: None })
    }

    /// Bursts where the stack is new, and in 5 % of the other cases (PLDI'06 section 5.3).
    pub const fn adaptive_re_enable() -> Parameters {
        let re_enable = Some(tuning::RE_ENABLE_RATIO);
        Parameters::new(Mode::AdaptiveBursting { length: Length::DEFAULT, history: tuning::HISTORY_ENTRIES, re_enable })
    }

    /// Our own: a burst of 8 in every 10,000 calls or so, at random.
    pub const fn estimator() -> Parameters {
        let trigger = Trigger::Calls { mean: tuning::ESTIMATOR_MEAN };
        Parameters::new(Mode::Estimator { trigger, burst: tuning::ESTIMATOR_BURST })
    }

    /// Our own where calls are counted in windows: there are fewer to choose from, so bursts are longer and closer to each other.
    pub const fn windowed_estimator() -> Parameters {
        Parameters::new(Mode::Estimator { trigger: Trigger::Calls { mean: tuning::WINDOW_MEAN }, burst: tuning::WINDOW_BURST })
    }

    /// The same in windows that are short since code that counts is slower.
    pub const fn beside_estimator() -> Parameters {
        Parameters::new(Mode::Estimator { trigger: Trigger::Calls { mean: tuning::BESIDE_MEAN }, burst: tuning::BESIDE_BURST })
    }

    /// Our own with a timer: a burst of 8 in every interval of 0.2 ms, at a random call of it.
    pub const fn timed_estimator() -> Parameters {
        Parameters::new(Mode::Estimator { trigger: Trigger::Timer(Start::Random), burst: tuning::ESTIMATOR_BURST })
    }

    /// Every mode with its defaults and a name for command lines.
    pub const fn presets() -> [(&'static str, Parameters); 8] {
        [
            ("exhaustive", Parameters::exhaustive()),
            ("stack-walk", Parameters::stack_walk()),
            ("cbs", Parameters::cbs(tuning::CBS_SAMPLES, tuning::CBS_STRIDE, Antibias::OFF)),
            ("static", Parameters::static_bursting()),
            ("adaptive", Parameters::adaptive_bursting()),
            ("adaptive-re-enable", Parameters::adaptive_re_enable()),
            ("estimator", Parameters::estimator()),
            ("estimator-timer", Parameters::timed_estimator()),
        ]
    }

    /// The mode needs timer ticks.
    pub const fn has_timer(&self) -> bool {
        !matches!(self.mode, Mode::Exhaustive | Mode::Estimator { trigger: Trigger::Calls { .. }, .. })
    }

    /// Nothing but numbers that samplers can work with.
    ///
    /// # Errors
    /// The first number that is out of its range.
    pub fn check(&self) -> Result<(), ParameterError> {
        range("interval in seconds", self.interval.as_secs_f64(), 1e-9, LONGEST.as_secs_f64())?;
        range("jitter", self.jitter, 0.0, 1.0)?;
        if self.self_tuning && !matches!(self.mode, Mode::StackWalk { .. }) {
            return Err(ParameterError::NothingToTune);
        }
        match self.mode {
            Mode::Exhaustive => Ok(()),
            Mode::StackWalk { antibias } => check_antibias(antibias),
            Mode::Cbs { samples, stride, antibias } => {
                range("samples", f64::from(samples), 1.0, MOST)?;
                range("stride", f64::from(stride), 1.0, MOST)?;
                check_antibias(antibias)
            }
            Mode::StaticBursting { length } => check_length(length),
            Mode::AdaptiveBursting { length, history, re_enable } => {
                range("history entries", f64::from(history), 1.0, MOST)?;
                range("re-enable ratio", re_enable.unwrap_or(1.0), 1e-6, 1.0)?;
                check_length(length)
            }
            Mode::Estimator { trigger, burst } => {
                range("burst calls", f64::from(burst), 1.0, MOST)?;
                let Trigger::Calls { mean } = trigger else { return Ok(()) };
                range("mean calls from burst to burst", mean as f64, 1.0, FARTHEST)?;
                if mean < 2 * u64::from(burst) {
                    return Err(ParameterError::BurstsOverlap { mean, burst });
                }
                Ok(())
            }
        }
    }
}

/// No interval and no burst is longer.
const LONGEST: Duration = Duration::from_secs(3600);
/// The largest sensible count of samples, entries and short bursts.
const MOST: f64 = 1_048_576.0;
/// The largest sensible count of calls.
const FARTHEST: f64 = 1e12;

fn range(what: &'static str, value: f64, least: f64, most: f64) -> Result<(), ParameterError> {
    // A number that is none is in no range.
    if (least..=most).contains(&value) { Ok(()) } else { Err(ParameterError::OutOfRange { what, value, least, most }) }
}

fn check_length(length: Length) -> Result<(), ParameterError> {
    match length {
        Length::Time(time) => range("burst length in seconds", time.as_secs_f64(), 1e-9, LONGEST.as_secs_f64()),
        Length::Calls(calls) => range("burst length in calls", calls as f64, 1.0, FARTHEST),
    }
}

fn check_antibias(antibias: Antibias) -> Result<(), ParameterError> {
    range("antibias lambda", antibias.lambda, 1e-3, 1e18)?;
    range("antibias alpha", antibias.alpha, 0.0, 1e18)
}

/// What is wrong with parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ParameterError {
    /// A number that samplers cannot work with.
    OutOfRange {
        /// Its name and unit.
        what: &'static str,
        /// What was given.
        value: f64,
        /// The smallest number that is allowed.
        least: f64,
        /// The largest.
        most: f64,
    },
    /// A burst is longer than half of the calls from one to the next.
    BurstsOverlap {
        /// Calls from burst to burst.
        mean: u64,
        /// Calls in a burst.
        burst: u32,
    },
    /// Self-tuning asked of a mode that cannot see repetitions.
    NothingToTune,
    /// A clock that does not measure time, or is faster than any.
    Clock(Clock),
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ParameterError::OutOfRange { what, value, least, most } => {
                write!(f, "{what} is {value}; it must be from {least} to {most}")
            }
            ParameterError::BurstsOverlap { mean, burst } => {
                write!(
                    f,
                    "bursts of {burst} calls do not fit into every {mean} calls; take at least {} calls, or profile exhaustively",
                    2 * u64::from(burst)
                )
            }
            ParameterError::NothingToTune => f.write_str("only stack walks can tune their interval; drop self-tuning or walk stacks"),
            ParameterError::Clock(clock) => {
                write!(
                    f,
                    "a clock that counts {clock} does not measure time; say how many cycles a second has (1 to {}), or give each call a fixed time",
                    Rate::FASTEST
                )
            }
        }
    }
}

impl std::error::Error for ParameterError {}

#[cfg(test)]
mod tests {
    use super::super::antibias::Correction;
    use super::*;

    #[test]
    fn defaults_are_the_sources_and_pass() {
        for (name, parameters) in Parameters::presets() {
            assert_eq!(parameters.check(), Ok(()), "{name}");
        }
        assert_eq!(Parameters::stack_walk().interval, Duration::from_millis(10));
        assert_eq!(Parameters::static_bursting().interval, Duration::from_millis(10));
        assert_eq!(Parameters::cbs(8, 2, Antibias::OFF).interval, Duration::from_millis(4));
        assert!(matches!(
            Parameters::adaptive_re_enable().mode,
            Mode::AdaptiveBursting { history: 2048, re_enable: Some(0.05), length: Length::Calls(20_000) }
        ));
        assert!(Parameters::stack_walk().has_timer() && Parameters::timed_estimator().has_timer());
        assert!(!Parameters::exhaustive().has_timer() && !Parameters::estimator().has_timer());
    }

    #[test]
    fn bad_numbers_are_errors_that_name_them() {
        let timed = |length| Parameters::new(Mode::StaticBursting { length });
        let adaptive = |history, re_enable| Mode::AdaptiveBursting { length: Length::Calls(1), history, re_enable };
        let estimator = |mean, burst| Parameters::new(Mode::Estimator { trigger: Trigger::Calls { mean }, burst });
        let antibias = |lambda, alpha| Antibias { correction: Correction::Density, lambda, alpha };
        let cases = [
            (Parameters { interval: Duration::ZERO, ..Parameters::stack_walk() }, "interval"),
            (Parameters { interval: Duration::MAX, ..Parameters::stack_walk() }, "interval"),
            (Parameters { jitter: f64::NAN, ..Parameters::stack_walk() }, "jitter"),
            (Parameters { jitter: 1.5, ..Parameters::stack_walk() }, "jitter"),
            (Parameters { self_tuning: true, ..Parameters::static_bursting() }, "self-tuning"),
            (Parameters::cbs(0, 2, Antibias::OFF), "samples"),
            (Parameters::cbs(8, 0, Antibias::OFF), "stride"),
            (Parameters::cbs(8, 2, antibias(0.0, 1.0)), "lambda"),
            (Parameters::cbs(8, 2, antibias(1.0, f64::INFINITY)), "alpha"),
            (timed(Length::Calls(0)), "burst length in calls"),
            (timed(Length::Time(Duration::ZERO)), "burst length in seconds"),
            (timed(Length::Time(Duration::MAX)), "burst length in seconds"),
            (Parameters::new(adaptive(0, None)), "history"),
            (Parameters::new(adaptive(u32::MAX, None)), "history"),
            (Parameters::new(adaptive(1, Some(0.0))), "re-enable"),
            (Parameters::new(adaptive(1, Some(f64::NAN))), "re-enable"),
            (estimator(0, 1), "mean"),
            (estimator(100, 0), "burst calls"),
            (estimator(15, 8), "fit"),
            (estimator(u64::MAX, 8), "mean"),
        ];
        for (parameters, word) in cases {
            let error = parameters.check().expect_err(word).to_string();
            assert!(error.contains(word), "{error} does not say {word}");
        }
    }
}
