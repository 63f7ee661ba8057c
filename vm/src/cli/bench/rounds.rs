//! The runs of one program: each value once in a round, in random order, until there are enough rounds.
//!
//! In: a program, a [`Goal`]. Out: [`Measured`]. Invariant: all runs printed the same.
//!
//! Rounds that end as soon as the intervals are narrow enough end where they are narrow by chance, and too sure: of those of 95 % only 88 % held the truth, of their geometric mean over six programs 83 %. [`MORE`] rounds, which are measured
//! whatever they bring, take most of that away.

use super::options::{Goal, Setup};
use super::outcome::speedup;
use super::programs::Program;
use super::runner::{Runner, Sample};
use profiler::samplers::Random;
use serde::Serialize;
use std::time::Instant;

/// Rounds before intervals are looked at.
const FEWEST: usize = 5;
/// Rounds after those that were the first to have narrow intervals. In simulations, as few as hold what intervals promise: half as many again cost more where programs are noisy, and bring less where they are not.
const MORE: usize = 8;

/// Why there are no more rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stopped {
    /// There are as many as were asked for.
    Rounds,
    /// The intervals were narrow enough, and [`MORE`] rounds came after that.
    Precision,
    /// Time was over before.
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
    let mut end = End::new(setup.goal);
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
        let is_narrow = |part| setup.others().all(|value| has_precision(setup, &samples, value, part));
        if let Some(why) = end.after(samples[setup.baseline].len(), start.elapsed().as_secs_f64(), is_narrow) {
            break why;
        }
    };
    Ok(Measured { samples, calls, stopped, seconds: begun.elapsed().as_secs_f64() })
}

/// Asked after each round whether it is the last.
struct End {
    goal: Goal,
    /// After so many rounds, once the intervals have been narrow enough.
    planned: Option<usize>,
}

impl End {
    fn new(goal: Goal) -> End {
        End { goal, planned: None }
    }

    /// `is_narrow`: whether no interval reaches further than this part of the estimate.
    fn after(&mut self, rounds: usize, elapsed: f64, is_narrow: impl FnOnce(f64) -> bool) -> Option<Stopped> {
        let (part, seconds) = match self.goal {
            Goal::Rounds(asked) => return (rounds >= asked as usize).then_some(Stopped::Rounds),
            Goal::Precision { part, seconds } => (part, seconds),
        };
        if self.planned.is_none() && rounds >= FEWEST && is_narrow(part) {
            self.planned = Some(rounds + MORE);
        }
        if self.planned.is_some_and(|planned| rounds >= planned) {
            return Some(Stopped::Precision);
        }
        (elapsed >= seconds).then_some(Stopped::Time)
    }
}

fn has_precision(setup: &Setup, samples: &[Vec<Sample>], value: usize, part: f64) -> bool {
    let sides = [&samples[setup.baseline], &samples[value]];
    let speedup = speedup(sides.map(Vec::as_slice), setup.phase(), setup.time);
    // What has no speedup gets none by more rounds.
    speedup.is_none_or(|speedup| speedup.precision().is_some_and(|reached| reached <= part))
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
            "{name} with {} does not print what it prints with {}: {difference}\nhint: if its output depends neither on time nor on how many calls the stack holds, which differs with the code (--stack sets its size), this is a bug in vm",
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
    use measure::ratio::Ratio;

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

    /// Asked after each round, with what it says of the intervals.
    fn stopped(narrow: impl Fn(usize) -> bool, seconds: impl Fn(usize) -> f64) -> (usize, Stopped) {
        let mut end = End::new(Goal::Precision { part: 0.01, seconds: 60.0 });
        let after = |rounds| Some((rounds, end.after(rounds, seconds(rounds), |_| narrow(rounds))?));
        (1..).find_map(after).unwrap()
    }

    #[test]
    fn more_rounds_come_after_those_with_narrow_intervals() {
        let quick = |_| 0.0;
        assert_eq!(stopped(|_| true, quick), (FEWEST + MORE, Stopped::Precision));
        assert_eq!(stopped(|rounds| rounds == 9, quick), (9 + MORE, Stopped::Precision), "whatever they bring");
        assert_eq!(stopped(|_| true, |rounds| 10.0 * rounds as f64), (6, Stopped::Time));
        assert_eq!(stopped(|_| false, |rounds| rounds as f64), (60, Stopped::Time));
    }

    /// Of programs whose rounds differ by 2 % intervals hold the truth nearly as often as they say, and so do those of geometric means.
    #[test]
    fn ending_with_narrow_intervals_makes_them_little_too_sure() {
        const SETS: usize = 1500;
        const PROGRAMS: usize = 6;
        let mut random = Random::new(1);
        let mut normal = || (0..12).map(|_| random.below(1 << 32) as f64 / 2f64.powi(32)).sum::<f64>() - 6.0;
        let mut program = || {
            let mut end = End::new(Goal::Precision { part: 0.01, seconds: f64::INFINITY });
            let mut pairs = Vec::new();
            loop {
                pairs.push(((0.02 * normal()).exp(), 1.0));
                let ratio = Ratio::of(pairs.iter().copied()).unwrap();
                if end.after(pairs.len(), 0.0, |part| ratio.precision().is_some_and(|reached| reached <= part)).is_some() {
                    return ratio;
                }
            }
        };
        let holds = |ratio: &Ratio| ratio.interval().is_some_and(|(low, high)| (low..=high).contains(&1.0));
        let sets: Vec<Vec<Ratio>> = (0..SETS).map(|_| (0..PROGRAMS).map(|_| program()).collect()).collect();
        let held = sets.iter().flatten().filter(|ratio| holds(ratio)).count() as f64 / (SETS * PROGRAMS) as f64;
        let means_held = sets.iter().filter(|set| Ratio::mean(set).is_some_and(|mean| holds(&mean))).count() as f64 / SETS as f64;
        assert!(held > 0.93 && means_held > 0.91, "{held} {means_held}");
    }

    #[test]
    fn differences_are_shown() {
        assert_eq!(first_difference(b"a\nb\nc\n", b"a\nx\nc\n"), "line 2 is `x`, and was `b`");
        assert_eq!(first_difference(b"a\nb\n", b"a\n"), "line 2 is missing, and was `b`");
        assert!(first_difference(b"a\n", b"a").contains("last line's end"));
    }
}
