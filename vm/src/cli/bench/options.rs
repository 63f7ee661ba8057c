//! The command line of `vm bench`, and what it means.

use super::axis::{Axis, Comparison, name_of};
use super::phases::{Phase, Time};
use super::programs::{self, Program};
#[cfg(feature = "native")]
use crate::cli::args::InlineArg;
use crate::cli::args::{MemoryArgs, TierArg};
use clap::Args;
use clap::ValueEnum;
use jit::opt::PassSet;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct BenchArgs {
    #[arg(value_name = "FILE", required_unless_present = "suite")]
    pub files: Vec<PathBuf>,
    /// What differs between the runs, and the values to compare: inline, plan, tier, profile or passes, with values as of the argument of vm run with that name
    ///
    /// Inlining policies that ask a profile get one of an untimed run of the program; with --tier adaptive they have that of the run itself. The values of plan are files for --plan-in, of one program. In a value of passes + stands for a comma: passes=all,-gvn,-gvn+-licm.
    #[arg(long, value_name = "AXIS=A,B,…", value_parser = str::parse::<Comparison>, allow_hyphen_values = true)]
    pub compare: Comparison,
    /// The value that the others are compared with, by default the first
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub baseline: Option<String>,
    /// Arguments of the programs FILE…, with spaces between them
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub args: Option<String>,
    /// Programs from a list: on each line a file, relative to the list, and its arguments; what follows a # is a comment
    #[arg(long, value_name = "LIST")]
    pub suite: Option<PathBuf>,
    /// Of all these programs only those with such names
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub only: Vec<String>,
    #[command(flatten)]
    pub effort: Effort,
    /// Seed of the order of runs within rounds
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write bench.md, bench.csv, bench.json and bench.svg into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How programs are executed, by default with the optimizer where its arguments are compared
    #[arg(long, value_enum)]
    pub tier: Option<TierArg>,
    /// Which calls the optimizer replaces by the code they go to, in all runs
    #[cfg(feature = "native")]
    #[arg(long, value_enum)]
    pub inline: Option<InlineArg>,
    /// Passes of the optimizer, in all runs
    #[cfg(feature = "native")]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = parse_passes)]
    pub passes: Option<String>,
    #[command(flatten)]
    pub memory: MemoryArgs,
}

/// How long is measured, and what.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct Effort {
    /// Measure so many rounds, however wide the intervals are
    #[arg(long, value_name = "N", conflicts_with_all = ["precision", "max_time"])]
    pub rounds: Option<NonZeroU32>,
    /// Measure a program until the intervals of its speedups reach at most so far to both sides, and some rounds more
    ///
    /// Intervals at which one stops as soon as they are narrow are too sure; rounds after that correct this.
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = parse_percent)]
    pub precision: f64,
    /// Begin no further round of a program after so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds)]
    pub max_time: f64,
    /// Run the program so often in each process; the speedup is then that of the steady state, and the first iteration is told beside it
    ///
    /// Each iteration begins with globals as at the program's start, in code and with a heap as the last one left them. The last half of the iterations, and those before it that are not more than 5 % slower, are the steady state.
    #[arg(long, value_name = "N", default_value = "1")]
    pub iterations: NonZeroU32,
    /// The time that --precision and verdicts go by, and plots of vm bench: on the clock, or on processors
    #[arg(long, value_enum, default_value = "wall")]
    pub time: Time,
    /// Let the processes of a round take turns of so many milliseconds, instead of running one after the other (Linux)
    ///
    /// What slows the machine for longer than that then slows all of them. The time in which a process is stopped is not its own.
    #[arg(long, value_name = "MS", value_parser = parse_slices)]
    pub slices: Option<Duration>,
}

impl Effort {
    /// Without arguments.
    #[cfg(feature = "native")]
    pub fn usual() -> Effort {
        Effort { rounds: None, precision: 1.0, max_time: 60.0, iterations: NonZeroU32::MIN, time: Time::Wall, slices: None }
    }

    pub fn goal(&self) -> Goal {
        match self.rounds {
            Some(rounds) => Goal::Rounds(rounds.get()),
            None => Goal::Precision { part: self.precision / 100.0, seconds: self.max_time },
        }
    }
}

/// When a program has been measured enough.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Goal {
    Rounds(u32),
    Precision {
        /// Part of the estimate that the interval may reach to both sides.
        part: f64,
        /// Of all runs of a program that are timed.
        seconds: f64,
    },
}

/// What is to be measured, checked.
pub struct Setup {
    pub programs: Vec<Program>,
    pub comparison: Comparison,
    /// Index among the values.
    pub baseline: usize,
    /// Arguments of `vm run` that all runs have.
    pub flags: Vec<String>,
    /// Those of them that say how much a program may take.
    pub memory: Vec<String>,
    /// Of all runs, where that is not what is compared.
    pub tier: TierArg,
    /// Of all runs, where that is not what is compared.
    #[cfg(feature = "native")]
    pub inline: Option<InlineArg>,
    pub goal: Goal,
    pub iterations: NonZeroU32,
    pub time: Time,
    /// The processes of a round take turns of this length.
    pub slices: Option<Duration>,
    pub seed: u64,
}

impl Setup {
    pub fn new(args: &BenchArgs) -> Result<Setup, String> {
        let comparison = args.compare.clone();
        let named = args.baseline.as_ref().map_or(Some(0), |name| comparison.values.iter().position(|value| value == name));
        let baseline = named.ok_or_else(|| format!("--baseline has to be one of the values compared: {}", comparison.values.join(", ")))?;
        let programs = programs::programs(args)?;
        #[cfg(feature = "native")]
        check_plans(args, comparison.axis, &programs)?;
        let memory = memory(&args.memory);
        Ok(Setup {
            programs,
            baseline,
            flags: [flags(args, comparison.axis)?, memory.clone()].concat(),
            memory,
            tier: args.tier.unwrap_or(comparison.axis.usual_tier()),
            #[cfg(feature = "native")]
            inline: args.inline,
            comparison,
            goal: args.effort.goal(),
            iterations: args.effort.iterations,
            time: args.effort.time,
            slices: args.effort.slices,
            seed: args.seed,
        })
    }

    /// What speedups are of, first of all.
    pub fn phase(&self) -> Phase {
        if self.iterations.get() > 1 { Phase::Steady } else { Phase::Process }
    }

    /// How programs are executed under this value.
    pub fn tier(&self, value: usize) -> TierArg {
        let Comparison { axis, values } = &self.comparison;
        let compared = (*axis == Axis::Tier).then(|| TierArg::from_str(&values[value], false).ok()).flatten();
        compared.unwrap_or(self.tier)
    }

    /// Whether programs run under this value with a policy that asks an earlier profile: on a tier that has not the run's own.
    #[cfg(feature = "native")]
    pub fn asks_profile(&self, value: usize) -> bool {
        let Comparison { axis, values } = &self.comparison;
        let inline = if *axis == Axis::Inline { InlineArg::from_str(&values[value], false).ok() } else { self.inline };
        !self.tier(value).adapts() && inline.is_some_and(InlineArg::asks_profile)
    }

    #[cfg(not(feature = "native"))]
    pub fn asks_profile(&self, _: usize) -> bool {
        false
    }

    /// Indices of all values, the baseline first.
    pub fn values_from_baseline(&self) -> impl Iterator<Item = usize> + use<'_> {
        [self.baseline].into_iter().chain(self.others())
    }

    /// Indices of the values but the baseline.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<'_> {
        (0..self.comparison.values.len()).filter(|&value| value != self.baseline)
    }
}

/// A plan is one of a program, and decides alone.
#[cfg(feature = "native")]
fn check_plans(args: &BenchArgs, axis: Axis, programs: &[Program]) -> Result<(), String> {
    if axis != Axis::Plan {
        return Ok(());
    }
    if args.inline.is_some() {
        return Err("--inline cannot be given with --compare plan=…: a plan decides what is inlined".into());
    }
    match programs {
        [_] => Ok(()),
        _ => Err("--compare plan=… goes with one program, that of the plans; --only chooses one".into()),
    }
}

pub fn memory(MemoryArgs { heap, nursery, stack }: &MemoryArgs) -> Vec<String> {
    let sizes = [("--heap", *heap), ("--nursery", *nursery), ("--stack", Some(*stack).filter(|&stack| stack != DEFAULT_STACK))];
    sizes.into_iter().filter_map(|(flag, bytes)| Some(format!("{flag}={}", bytes?))).collect()
}

/// Without those of [`memory`].
fn flags(args: &BenchArgs, axis: Axis) -> Result<Vec<String>, String> {
    let fixed = [
        (Axis::Tier, args.tier.map(|tier| name_of(&tier))),
        #[cfg(feature = "native")]
        (Axis::Inline, args.inline.map(|inline| name_of(&inline))),
        #[cfg(feature = "native")]
        (Axis::Passes, args.passes.clone()),
    ];
    if fixed.iter().any(|(fixed, value)| *fixed == axis && value.is_some()) {
        return Err(format!("--{0} cannot be given with --compare {0}=…, which varies it", axis.name()));
    }
    let mut flags: Vec<String> = fixed.into_iter().filter_map(|(axis, value)| Some(axis.argument(&value?))).collect();
    if axis != Axis::Tier && args.tier.is_none() {
        flags.insert(0, Axis::Tier.argument(&name_of(&axis.usual_tier())));
    }
    Ok(flags)
}

/// As without an argument.
const DEFAULT_STACK: u64 = crate::runtime::tuning::DEFAULT_STACK as u64;

/// A list of passes as it was given.
pub fn parse_passes(text: &str) -> Result<String, jit::opt::UnknownPass> {
    text.parse::<PassSet>().map(|_| text.to_owned())
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end().trim_end_matches('%').trim_end().parse().ok().filter(|&percent: &f64| percent > 0.0 && percent <= 1000.0);
    number.ok_or_else(|| "a number of percent above 0 and up to 1000 is needed, such as 1%".into())
}

fn parse_slices(text: &str) -> Result<Duration, String> {
    if !cfg!(target_os = "linux") {
        return Err("it is for Linux".into());
    }
    let number = text.trim_end_matches("ms").parse().ok().filter(|ms| (1..=10_000).contains(ms));
    number.map(Duration::from_millis).ok_or_else(|| "a number of milliseconds from 1 to 10000 is needed, such as 20".into())
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('s').parse().ok().filter(|&seconds: &f64| (0.0..=1e6).contains(&seconds));
    number.ok_or_else(|| "a number of seconds is needed, such as 60".into())
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        effort: Effort,
    }

    #[test]
    fn what_is_usual_is_what_the_command_line_gives() {
        assert_eq!(Alone::parse_from(["vm"]).effort, Effort::usual());
        let asked = Alone::parse_from(["vm", "--rounds", "3"]).effort;
        assert!(asked != Effort::usual() && asked.goal() == Goal::Rounds(3));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn slices_are_milliseconds() {
        let slices = |ms: &str| Alone::try_parse_from(["vm", "--slices", ms]).map(|alone| alone.effort.slices);
        assert_eq!(["20", "5ms"].map(|ms| slices(ms).unwrap()), [20, 5].map(|ms| Some(Duration::from_millis(ms))));
        assert!(["0", "x", "99999"].iter().all(|ms| slices(ms).is_err()));
    }
}
