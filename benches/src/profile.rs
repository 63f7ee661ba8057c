//! Accuracy and overhead of live profiling: the benchmark samples under the profiler's modes, interleaved with runs without it.
//!
//! In: the release `vm`. Out: tables on stdout and, on request, as files with plots. Accuracy is against an exhaustive run with the same arguments; definitions as in `profiler::metrics`.

mod agreement;
pub mod bars;
mod measure;
mod modes;
mod overhead;
mod plot;
pub mod subject;
mod sweep;
mod table;

use crate::suite::{self, Benchmark};
use clap::ValueEnum;
use measure::Row;
use modes::Mode;
use plot::{Chart, Curve};
use std::fs;
use std::path::{Path, PathBuf};
use subject::{Subject, Tier};
use sweep::Sweep;

#[derive(clap::Args)]
pub struct Options {
    #[arg(long, value_enum, default_value = "baseline")]
    tier: Tier,
    /// Length of each run; by default 5, with --quick and --sweep 1
    #[arg(long, value_parser = positive)]
    seconds: Option<f64>,
    /// Runs in each mode, and as many without profiling; by default 3, with --quick 1
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MODE,…", default_value = "adaptive")]
    modes: Vec<Mode>,
    #[arg(long, conflicts_with = "modes")]
    all_modes: bool,
    /// Only these samples; with --quick and --sweep by default four that differ much
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Few samples, short runs: whether all works, not what it measures
    #[arg(long)]
    quick: bool,
    /// Vary a number and show what becomes of accuracy, instead of the table
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT,…", conflicts_with_all = ["modes", "all_modes", "check", "rounds"])]
    sweep: Vec<Sweep>,
    /// Write tables and plots into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Fail unless `adaptive` reaches what it has to
    #[arg(long)]
    check: bool,
    /// Measure run lengths and exact profiles anew
    #[arg(long)]
    again: bool,
}

/// Few contexts; phases; very many contexts; closures.
const FEW: [&str; 4] = ["richards", "deltablue", "recursive_descent", "event_simulation"];

pub fn positive(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&x: &f64| x > 0.0 && x <= 600.0).ok_or_else(|| "a number of seconds above 0 and up to 600".into())
}

pub fn run(options: &Options) -> Result<(), String> {
    let benchmarks = benchmarks(options)?;
    if let Some(folder) = &options.out {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let short = options.quick || !options.sweep.is_empty();
    let seconds = options.seconds.unwrap_or(if short { 1.0 } else { 5.0 });
    let subjects: Vec<Subject<'_>> =
        benchmarks.into_iter().map(|benchmark| Subject::new(benchmark, options.tier, seconds, options.again)).collect::<Result<_, _>>()?;
    if !options.sweep.is_empty() {
        return options.sweep.iter().try_for_each(|&sweep| sweep::run(sweep, &subjects, seconds, options.again, options.out.as_deref()));
    }
    let modes = if options.all_modes { Mode::value_variants() } else { &options.modes };
    let rounds = options.rounds.unwrap_or(if options.quick { 1 } else { 3 });
    let mut rows = Vec::new();
    for subject in &subjects {
        rows.push(measure::measure(subject, modes, rounds, options.again)?);
        eprintln!("{} measured", subject.benchmark.name);
    }
    let markdown = table::markdown(&rows);
    print!("{markdown}");
    if let Some(folder) = &options.out {
        write(folder, "profile.md", &markdown)?;
        write(folder, "profile.csv", &table::csv(&rows, options.tier.name()))?;
        plot::write(&folder.join("profile.svg"), &charts(&rows))?;
    }
    check(&rows, options.check)
}

/// Bars are always shown; whether they fail the command is the caller's choice.
fn check(rows: &[Row], fails: bool) -> Result<(), String> {
    let bars = bars::bars(rows);
    if !bars.is_empty() {
        println!("\n### Bars\n");
    }
    bars.iter().for_each(|bar| println!("- {bar}"));
    match bars.iter().filter(|bar| !bar.holds).count() {
        _ if !fails => Ok(()),
        0 if bars.is_empty() => Err("--check needs the mode adaptive".into()),
        0 => Ok(()),
        failed => Err(format!("{failed} of {} bars fail", bars.len())),
    }
}

fn benchmarks(options: &Options) -> Result<Vec<&'static Benchmark>, String> {
    let few = options.only.is_empty() && (options.quick || !options.sweep.is_empty());
    if few { suite::chosen(&FEW.map(String::from)) } else { suite::chosen(&options.only) }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Overheads below this, and those that are noise below 0, are drawn here, wherever the axis begins: it is logarithmic.
const LEAST_OVERHEAD: f64 = 0.01;

/// Overhead against accuracy, a point for each mode.
fn charts(rows: &[Row]) -> Vec<Chart> {
    let summaries = table::summaries(rows);
    let chart = |title: &str, accuracy: fn(&measure::Quality) -> f64| Chart {
        title: title.into(),
        x: format!("overhead in percent; at {LEAST_OVERHEAD}: that or less"),
        logarithmic: true,
        y: "percent".into(),
        curves: summaries
            .iter()
            .map(|s| Curve {
                title: s.mode.title().replace(['*', '`'], ""),
                points: vec![(s.overhead.estimate().max(LEAST_OVERHEAD), accuracy(&s.quality))],
            })
            .collect(),
    };
    vec![chart("Overlap of DCGs", |q| q.dcg), chart("Overlap of CCTs", |q| q.cct), chart("Hot-edge coverage of CCTs", |q| q.hot_cct)]
}
