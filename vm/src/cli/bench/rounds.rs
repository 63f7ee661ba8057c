//! The runs of one program: each value once in a round, in random order, until there are enough rounds.
//!
//! In: a program, a [`Goal`]. Out: [`Measured`]. Invariant: all runs printed the same.
//!
//! Looking at the intervals after each round to see whether they are narrow enough makes them a little too sure; that the fewest rounds are [`FEWEST`] bounds this.

use super::options::{Goal, Setup};
use super::outcome::speedup;
use super::phases::WarmUp;
use super::programs::Program;
use super::runner::{Runner, Sample};
use profiler::samplers::Random;
use serde::Serialize;
use std::time::Instant;

/// Rounds before intervals are looked at.
const FEWEST: usize = 5;

/// Why there are no more rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stopped {
    /// There are as many as were asked for.
    Rounds,
    /// The intervals are narrow enough.
    Precision,
    /// Time was over before they were.
    Time,
}

/// Of one program.
pub struct Measured {
    /// By value, then by round.
    pub samples: Vec<Vec<Sample>>,
    /// By value, from a run of its own; `None` where that would say nothing.
    pub calls: Vec<Option<u64>>,
    pub stopped: Stopped,
    /// That all its runs took together.
    pub seconds: f64,
}

impl Measured {
    pub fn rounds(&self) -> usize {
        self.samples.first().map_or(0, Vec::len)
    }
}

pub fn measure(setup: &Setup, program: &Program) -> Result<Measured, String> {
    let begun = Instant::now();
    let mut runner = Runner::new(setup)?;
    let profiled = runner.make_profile(program)?;
    let mut output = Output { setup, program, runner: &runner, expected: None };
    let mut calls = vec![None; setup.comparison.values.len()];
    for value in setup.values_from_baseline() {
        let printed = match runner.counted(program, value)? {
            Some((printed, counted)) => {
                calls[value] = counted.calls;
                printed
            }
            None => runner.timed(program, value)?.0,
        };
        output.check(value, printed)?;
    }
    // A profile of other work would be none of this.
    profiled.map_or(Ok(()), |printed| output.check(setup.baseline, printed))?;
    let mut samples = vec![Vec::new(); setup.comparison.values.len()];
    let mut random = Random::new(setup.seed);
    let start = Instant::now();
    let stopped = loop {
        let order = shuffled(samples.len(), &mut random);
        let round = match setup.slices {
            #[cfg(target_os = "linux")]
            Some(slice) => runner.timed_in_turns(program, &order, slice)?,
            _ => order.iter().map(|&value| runner.timed(program, value)).collect::<Result<_, _>>()?,
        };
        for (value, (printed, sample)) in order.into_iter().zip(round) {
            output.check(value, printed)?;
            samples[value].push(sample);
        }
        if let Some(why) = enough(setup, &samples, start.elapsed().as_secs_f64()) {
            break why;
        }
    };
    Ok(Measured { samples, calls, stopped, seconds: begun.elapsed().as_secs_f64() })
}

fn enough(setup: &Setup, samples: &[Vec<Sample>], elapsed: f64) -> Option<Stopped> {
    let rounds = samples[0].len();
    match setup.goal {
        Goal::Rounds(asked) => (rounds >= asked as usize).then_some(Stopped::Rounds),
        Goal::Precision { part, seconds } => {
            let narrow = || {
                setup.others().all(|value| {
                    let warm_ups = [WarmUp::of(&samples[setup.baseline]), WarmUp::of(&samples[value])];
                    let speedup = speedup([&samples[setup.baseline], &samples[value]], setup.phase(), setup.time, warm_ups);
                    // What has no speedup gets none by more rounds.
                    speedup.is_none_or(|speedup| speedup.precision().is_some_and(|reached| reached <= part))
                })
            };
            if rounds >= FEWEST && narrow() {
                return Some(Stopped::Precision);
            }
            (elapsed >= seconds).then_some(Stopped::Time)
        }
    }
}

/// The numbers below `count` in random order (Fisher and Yates).
fn shuffled(count: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}

/// What all runs of a program have to print.
struct Output<'a> {
    setup: &'a Setup,
    program: &'a Program,
    runner: &'a Runner<'a>,
    expected: Option<Vec<u8>>,
}

impl Output<'_> {
    /// The first that comes is the baseline's.
    fn check(&mut self, value: usize, printed: Vec<u8>) -> Result<(), String> {
        let Some(expected) = &self.expected else {
            self.expected = Some(printed);
            return Ok(());
        };
        if *expected == printed {
            return Ok(());
        }
        let (name, comparison) = (&self.program.name, &self.setup.comparison);
        let under = |value: usize| format!("{}={}", comparison.axis.name(), comparison.values[value]);
        let difference = first_difference(expected, &printed);
        // Whether the value is to blame, or the program prints what it likes.
        let (again, _) = self.runner.timed(self.program, self.setup.baseline)?;
        if value == self.setup.baseline || again != *expected {
            return Err(format!(
                "{name} does not print the same in each run with {}: {difference}\nhint: what a program to measure prints must depend on its arguments alone, not on time or the order of threads",
                under(self.setup.baseline)
            ));
        }
        Err(format!(
            "{name} with {} does not print what it prints with {}: {difference}\nhint: if its output does not depend on time, this is a bug in vm",
            under(value),
            under(self.setup.baseline)
        ))
    }
}

fn first_difference(expected: &[u8], printed: &[u8]) -> String {
    const MOST: usize = 60;
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().map(str::to_owned).collect::<Vec<_>>();
    let (expected, printed) = (lines(expected), lines(printed));
    let at = (0..expected.len().max(printed.len())).find(|&at| expected.get(at) != printed.get(at));
    // Lines can be the same where the bytes are not: at the end of the last line, and in what is no text.
    let Some(at) = at else { return "in bytes that are no text, or in the last line's end".into() };
    let show = |line: Option<&String>| line.map_or("missing".into(), |line| format!("`{}`", line.chars().take(MOST).collect::<String>()));
    format!("line {} is {}, and was {}", at + 1, show(printed.get(at)), show(expected.get(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_permutations_and_differ() {
        let mut random = Random::new(1);
        let orders: Vec<Vec<usize>> = (0..20).map(|_| shuffled(3, &mut random)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort();
            assert_eq!(sorted, [0, 1, 2]);
        }
        for first in 0..3 {
            assert!(orders.iter().any(|order| order[0] == first), "{first} is never first: {orders:?}");
        }
    }

    #[test]
    fn differences_are_shown() {
        assert_eq!(first_difference(b"a\nb\nc\n", b"a\nx\nc\n"), "line 2 is `x`, and was `b`");
        assert_eq!(first_difference(b"a\nb\n", b"a\n"), "line 2 is missing, and was `b`");
        assert!(first_difference(b"a\n", b"a").contains("last line's end"));
    }
}
