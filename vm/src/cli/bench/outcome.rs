//! What was found out, as data: medians, speedups with their intervals, code, calls. Serialized, it is `bench.json`.
//!
//! In: [`Measured`] programs. Out: [`Report`]. A speedup is the baseline's time over the value's: above 1 the value is faster.

use super::axis::Axis;
use super::options::Setup;
use super::phases::{Phase, Time, WarmUp, seconds};
use super::programs::Program;
use super::rounds::{Measured, Stopped};
use super::runner::Sample;
use measure::ratio::Ratio;
use measure::stats;
use serde::Serialize;
use std::path::PathBuf;

/// Of the format of `bench.json`.
const VERSION: u32 = 1;

#[derive(Serialize)]
pub struct Report {
    pub version: u32,
    /// Of `vm`.
    pub vm: &'static str,
    /// This is a debug build.
    pub debug: bool,
    pub axis: Axis,
    pub values: Vec<String>,
    pub baseline: String,
    /// Arguments that all runs had.
    pub flags: Vec<String>,
    /// In each process.
    pub iterations: u32,
    pub seed: u64,
    /// What verdicts go by.
    pub phase: Phase,
    pub time: Time,
    /// The processes of a round took turns of so many milliseconds.
    pub slice_ms: Option<u64>,
    /// The processor counted instructions or cache misses.
    pub processor_counters: bool,
    pub programs: Vec<ProgramResult>,
    /// Programs that are not among these, since they could not be measured.
    pub failed: Vec<Failure>,
    /// Geometric means over the programs.
    pub means: Vec<Mean>,
}

#[derive(Serialize)]
pub struct ProgramResult {
    pub name: String,
    pub file: PathBuf,
    pub args: Vec<String>,
    pub rounds: usize,
    pub stopped: Stopped,
    /// That all its runs took together.
    pub seconds: f64,
    pub values: Vec<ValueResult>,
}

#[derive(Serialize)]
pub struct Failure {
    pub name: String,
    pub file: PathBuf,
    pub args: Vec<String>,
    /// As it was told.
    pub error: String,
}

/// A program under one value. Numbers that are no times are medians over the rounds, but for calls.
#[derive(Serialize)]
pub struct ValueResult {
    pub value: String,
    /// What each phase took by each clock.
    pub times: Vec<TimeResult>,
    /// `None` for the baseline.
    pub verdict: Option<Verdict>,
    /// `None` with a single iteration.
    pub warm_up: Option<WarmUp>,
    /// In the optimizer and the code generator; `None` where others had their turns meanwhile.
    pub compile_seconds: Option<f64>,
    pub code_bytes: Option<f64>,
    /// What the optimizer made of it.
    pub optimized_bytes: Option<f64>,
    /// Calls in the code that the optimizer inlined.
    pub inlined: Option<f64>,
    /// Calls that were made, from one run of its own; `None` on the adaptive tier.
    pub calls: Option<u64>,
    /// Of the baseline's calls, in percent; below 0 if more were made.
    pub calls_removed_percent: Option<f64>,
    /// In user mode.
    pub instructions: Option<f64>,
    /// Of the first-level instruction cache, in user mode.
    pub l1i_misses: Option<f64>,
}

#[derive(Serialize)]
pub struct TimeResult {
    pub phase: Phase,
    pub time: Time,
    /// By round.
    pub seconds: Vec<f64>,
    pub low_quartile: f64,
    pub median: f64,
    pub high_quartile: f64,
    /// `None` for the baseline.
    pub speedup: Option<Speedup>,
}

/// With the 95 % confidence interval; of a single round there is none.
#[derive(Clone, Copy, Serialize)]
pub struct Speedup {
    pub estimate: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    #[serde(skip)]
    ratio: Ratio,
}

#[derive(Serialize)]
pub struct Mean {
    pub value: String,
    pub phase: Phase,
    pub time: Time,
    pub programs: usize,
    pub speedup: Speedup,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Faster,
    Slower,
    /// The interval contains 1.
    NoDetectableDifference,
    /// With one round there is no interval.
    OneRound,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDetectableDifference => "no detectable difference",
            Verdict::OneRound => "one round tells nothing",
        })
    }
}

impl Speedup {
    fn new(ratio: Ratio) -> Speedup {
        let interval = ratio.interval();
        Speedup { estimate: ratio.estimate(), low: interval.map(|i| i.0), high: interval.map(|i| i.1), ratio }
    }

    fn verdict(&self) -> Verdict {
        match (self.low, self.high) {
            (Some(low), Some(_)) if low > 1.0 => Verdict::Faster,
            (Some(_), Some(high)) if high < 1.0 => Verdict::Slower,
            (Some(_), Some(_)) => Verdict::NoDetectableDifference,
            _ => Verdict::OneRound,
        }
    }
}

/// Of the second of two values to the first, from rounds in the same order, behind the longer warm-up of both: iterations that are slow on either side would else count on the other. `None` where there are no such times.
pub fn speedup(samples: [&[Sample]; 2], phase: Phase, time: Time) -> Option<Ratio> {
    let [a, b] = samples.map(WarmUp::of);
    let warm_up = if a.iterations < b.iterations { b } else { a };
    let [baseline, value] = samples.map(|samples| samples.iter().map(move |s| seconds(s, phase, time, warm_up)));
    let pairs: Option<Vec<(f64, f64)>> = baseline.zip(value).map(|(baseline, value)| baseline.zip(value)).collect();
    Ratio::of(pairs?)
}

impl ProgramResult {
    pub fn new(setup: &Setup, program: &Program, measured: &Measured) -> ProgramResult {
        ProgramResult {
            name: program.name.clone(),
            file: program.file.clone(),
            args: program.args.clone(),
            rounds: measured.rounds(),
            stopped: measured.stopped,
            seconds: measured.seconds,
            values: (0..measured.samples.len()).map(|value| ValueResult::new(setup, measured, value)).collect(),
        }
    }
}

impl Failure {
    pub fn new(program: &Program, error: &str) -> Failure {
        let Program { name, file, args } = program.clone();
        Failure { name, file, args, error: error.to_owned() }
    }
}

impl ValueResult {
    fn new(setup: &Setup, measured: &Measured, value: usize) -> ValueResult {
        let (samples, baseline) = (&measured.samples[value], &measured.samples[setup.baseline]);
        let warm_up = WarmUp::of(samples);
        let phases = if setup.iterations.get() > 1 { &[Phase::Process, Phase::First, Phase::Steady][..] } else { &[Phase::Process] };
        let mut times = Vec::new();
        for (&phase, time) in phases.iter().flat_map(|phase| [(phase, Time::Wall), (phase, Time::Cpu)]) {
            let own: Option<Vec<f64>> = samples.iter().map(|sample| seconds(sample, phase, time, warm_up)).collect();
            let Some(seconds) = own else { continue };
            let ratio = (value != setup.baseline).then(|| speedup([baseline, samples], phase, time)).flatten();
            times.push(TimeResult::new(phase, time, seconds, ratio));
        }
        let calls = measured.calls[value];
        let removed = |(calls, before): (u64, u64)| (before > 0).then(|| 100.0 * (1.0 - calls as f64 / before as f64));
        let mut result = ValueResult {
            value: setup.comparison.values[value].clone(),
            times,
            verdict: None,
            warm_up: (setup.iterations.get() > 1).then_some(warm_up),
            compile_seconds: median(samples, |s| s.compile),
            code_bytes: median(samples, |s| s.code),
            optimized_bytes: median(samples, |s| s.optimized),
            inlined: median(samples, |s| s.inlined),
            calls,
            calls_removed_percent: calls.zip(measured.calls[setup.baseline]).filter(|_| value != setup.baseline).and_then(removed),
            instructions: median(samples, |s| s.counts.instructions),
            l1i_misses: median(samples, |s| s.counts.l1i_misses),
        };
        result.verdict = result.time(setup.phase(), setup.time).and_then(|time| time.speedup).map(|speedup| speedup.verdict());
        result
    }

    pub fn time(&self, phase: Phase, time: Time) -> Option<&TimeResult> {
        self.times.iter().find(|result| (result.phase, result.time) == (phase, time))
    }
}

impl TimeResult {
    fn new(phase: Phase, time: Time, seconds: Vec<f64>, ratio: Option<Ratio>) -> TimeResult {
        let spread = stats::spread(seconds.clone());
        let (low_quartile, median, high_quartile) = (spread.low, spread.median, spread.high);
        TimeResult { phase, time, seconds, low_quartile, median, high_quartile, speedup: ratio.map(Speedup::new) }
    }
}

/// `None` if a round has no such number.
fn median(samples: &[Sample], of: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
    let all: Option<Vec<f64>> = samples.iter().map(of).collect();
    all.filter(|all| !all.is_empty()).map(|all| stats::spread(all).median)
}

impl Report {
    /// There may be no program that could be measured.
    pub fn new(setup: &Setup, programs: Vec<ProgramResult>, failed: Vec<Failure>) -> Report {
        let counted = |value: &ValueResult| value.instructions.is_some() || value.l1i_misses.is_some();
        Report {
            version: VERSION,
            vm: env!("CARGO_PKG_VERSION"),
            debug: cfg!(debug_assertions),
            axis: setup.comparison.axis,
            values: setup.comparison.values.clone(),
            baseline: setup.comparison.values[setup.baseline].clone(),
            flags: setup.flags.clone(),
            iterations: setup.iterations.get(),
            seed: setup.seed,
            phase: setup.phase(),
            time: setup.time,
            slice_ms: setup.slices.map(|slice| slice.as_millis() as u64),
            processor_counters: programs.iter().flat_map(|program| &program.values).any(counted),
            means: means(setup, &programs),
            programs,
            failed,
        }
    }

    /// That some program has.
    pub fn mean(&self, value: &str, phase: Phase, time: Time) -> Option<&Mean> {
        self.means.iter().find(|mean| mean.value == value && (mean.phase, mean.time) == (phase, time))
    }

    /// Of a value to the baseline's: the geometric mean over the programs; `None` where one has no such size, or none at all of it.
    pub fn relative_size(&self, value: &str, size: fn(&ValueResult) -> Option<f64>) -> Option<f64> {
        let of =
            |program: &ProgramResult, name: &str| size(program.values.iter().find(|value| value.value == name)?).filter(|&size| size > 0.0);
        let log = |program| Some((of(program, value)? / of(program, &self.baseline)?).ln());
        let logs: Option<Vec<f64>> = self.programs.iter().map(log).collect();
        logs.filter(|logs| !logs.is_empty()).map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }
}

/// Only over all programs that could be measured: a mean over others would compare different things.
fn means(setup: &Setup, programs: &[ProgramResult]) -> Vec<Mean> {
    let mut means = Vec::new();
    let Some(first) = programs.first() else { return means };
    for value in setup.others() {
        for &TimeResult { phase, time, .. } in &first.values[value].times {
            let speedup = |program: &ProgramResult| program.values[value].time(phase, time)?.speedup.map(|speedup| speedup.ratio);
            let ratios: Option<Vec<Ratio>> = programs.iter().map(speedup).collect();
            let Some(ratio) = ratios.and_then(|ratios| Ratio::mean(&ratios)) else { continue };
            let speedup = Speedup::new(ratio);
            let value = setup.comparison.values[value].clone();
            means.push(Mean { value, phase, time, programs: programs.len(), verdict: speedup.verdict(), speedup });
        }
    }
    means
}

#[cfg(all(test, feature = "native"))]
pub mod examples {
    use super::*;
    use crate::cli::bench::BenchArgs;
    use crate::cli::bench::runner::Times;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        bench: BenchArgs,
    }

    /// What comes of these arguments if a run takes so many seconds, by value and round; none where it is 0.
    pub fn report(args: &[&str], rounds: usize, seconds: impl Fn(usize, usize) -> f64) -> Report {
        let args = Alone::parse_from([&["vm"], args].concat()).bench;
        let setup = Setup::new(&args).unwrap();
        let sample = |value, round| {
            let process = Times { wall: Some(seconds(value, round)).filter(|&seconds| seconds > 0.0), cpu: None };
            Sample { process, ..Sample::default() }
        };
        let values = setup.comparison.values.len();
        let samples = (0..values).map(|value| (0..rounds).map(|round| sample(value, round)).collect()).collect();
        let measured = Measured { samples, calls: vec![None; values], stopped: Stopped::Rounds, seconds: 1.0 };
        let results = setup.programs.iter().map(|program| ProgramResult::new(&setup, program, &measured)).collect();
        Report::new(&setup, results, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::super::runner::Times;
    use super::*;

    #[test]
    fn what_is_warm_up_on_either_side_counts_on_neither() {
        let sample = |first: f64| {
            let walls = [first, 1.04, 1.04, 1.0, 1.0, 1.0];
            Sample { iterations: walls.map(|wall| Times { wall: Some(wall), cpu: None }).into(), ..Sample::default() }
        };
        // Its first iteration is just no warm-up, or just one: else the median of six would be compared with that of five.
        let [just_not, just] = [1.04, 1.06].map(|first| vec![sample(first)]);
        assert_eq!([&just_not, &just].map(|samples| WarmUp::of(samples).iterations), [0, 1]);
        let ratio = speedup([&just_not, &just], Phase::Steady, Time::Wall).unwrap();
        assert_eq!(ratio.estimate(), 1.0);
    }
}
