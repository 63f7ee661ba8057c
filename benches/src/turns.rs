//! What `--profile adaptive` costs a program, measured inside of one process: it profiles and rests in turns (`--rest`), many times.
//!
//! Processes differ by more than a profiler may cost, and the machine by more still within seconds; neighbouring turns of one process differ by little but the profiler. What is compared is therefore an iteration in turns with profiling
//! against one in the turns beside them, in programs whose iterations take some milliseconds. In a rest a program runs the
//! code of one that is not profiled.

use crate::profile::subject::Tier;
use crate::suite::{Benchmark, chosen};
use crate::{iterations, process};
use measure::ratio::Ratio;
use std::process::Command;

#[derive(clap::Args)]
pub struct Options {
    #[arg(long, value_enum, default_value = "baseline")]
    tier: Tier,
    /// Length of a turn in milliseconds
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..))]
    turn: u32,
    /// About so long for each program
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Only these programs
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
}

/// Sizes at which an iteration takes some milliseconds of baseline code, or some ten.
const SIZES: &[(&str, &[&str])] = &[
    ("richards", &["25", "10000"]),
    ("deltablue", &["800", "4"]),
    ("splay", &["8000", "3000"]),
    ("raytrace", &["150"]),
    ("nbody", &["50000"]),
    ("fannkuch", &["8"]),
    ("spectral_norm", &["250"]),
    ("mandelbrot", &["200"]),
    ("binary_trees", &["12"]),
    ("word_count", &["60000"]),
    ("matrix_multiply", &["110"]),
    ("merge_sort", &["5000"]),
    ("bytecode_interpreter", &["8000"]),
    ("expression_tree", &["8000"]),
    ("event_simulation", &["50000", "3"]),
    ("recursive_descent", &["4000"]),
    ("work_queue", &["5000", "4"]),
];

/// Iterations that tell how long one takes; the first of them are slower.
const CALIBRATION: u32 = 20;
/// Turns at the beginning that do not count: code is compiled, and how often calls come is found out.
const WARM_UP: usize = 2;

pub fn run(options: &Options) -> Result<(), String> {
    println!("| sample | size | ms an iteration | turns | overhead % |\n|---|---|---|---|---|");
    let mut all = Vec::new();
    for benchmark in chosen(&options.only)? {
        let size = SIZES.iter().find(|(name, _)| *name == benchmark.name).ok_or_else(|| format!("{} has no size", benchmark.name))?.1;
        let rest = format!("{}ms", options.turn);
        let calibration = iterations::nanoseconds(&run_once(benchmark, size, options.tier, &rest, CALIBRATION)?, CALIBRATION)?;
        let shortest = calibration.into_iter().fold(f64::INFINITY, f64::min);
        let count = (f64::from(options.seconds) * 1e9 / shortest).ceil() as u32;
        let pairs = pairs(&turns(&run_once(benchmark, size, options.tier, &rest, count)?));
        let ratio = Ratio::of(pairs.iter().copied()).ok_or_else(|| format!("{}: no turn was long enough", benchmark.name))?;
        println!("| {} | {} | {:.1} | {} | {} |", benchmark.name, size.join(" "), shortest / 1e6, pairs.len(), percent(ratio));
        all.push(ratio);
    }
    if let Some(mean) = Ratio::mean(&all) {
        println!("| **mean** | | | | **{}** |", percent(mean));
    }
    Ok(())
}

/// With the 95 % interval.
fn percent(ratio: Ratio) -> String {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let interval = ratio.interval().map_or(String::new(), |(low, high)| format!(" ({:.2} to {:.2})", percent(low), percent(high)));
    format!("{:.2}{interval}", percent(ratio.estimate()))
}

/// What the run says on stderr.
fn run_once(benchmark: &Benchmark, size: &[&str], tier: Tier, rest: &str, iterations: u32) -> Result<String, String> {
    let profile = std::env::temp_dir().join(format!("turns-{}.json", std::process::id()));
    let mut command = Command::new(process::vm()?);
    command.args(["run", "--tier", tier.name(), "--profile", "adaptive", "--rest", rest, "--profile-out"]).arg(&profile);
    let run = process::run(command.arg(benchmark.path()).arg("--").args(size).args(["--iterations", &iterations.to_string()]));
    // Nothing is lost where it stays.
    _ = std::fs::remove_file(&profile);
    Ok(run?.stderr)
}

/// A time in which the profiler worked, or rested.
#[derive(Default, PartialEq, Debug)]
struct Turn {
    rests: bool,
    /// Nanoseconds of iterations.
    iterations: Vec<f64>,
}

/// In their order, without the first ones and the last, which is not complete.
fn turns(stderr: &str) -> Vec<Turn> {
    let mut turns = vec![Turn::default()];
    for line in stderr.lines() {
        match line {
            "profiling rests" => turns.push(Turn { rests: true, iterations: vec![] }),
            "profiling goes on" => turns.push(Turn::default()),
            _ => turns.last_mut().expect("there is one").iterations.extend(iterations::iteration(line).map(|(_, nanoseconds)| nanoseconds)),
        }
    }
    turns.pop();
    turns.drain(..WARM_UP.min(turns.len()));
    // The first one of each was begun in the turn before.
    turns.iter_mut().for_each(|turn| drop(turn.iterations.drain(..1.min(turn.iterations.len()))));
    turns
}

/// An iteration while the profiler worked and one while it rested, each the mean of its turn: of every three turns, whose outer ones count together. No turn is in two pairs, so these are independent; and what changes steadily hits both sides alike.
fn pairs(turns: &[Turn]) -> Vec<(f64, f64)> {
    let mean = |turn: &Turn| (!turn.iterations.is_empty()).then(|| turn.iterations.iter().sum::<f64>() / turn.iterations.len() as f64);
    let pair = |three: &[Turn]| {
        let (inner, outer) = (mean(&three[1])?, (mean(&three[0])? * mean(&three[2])?).sqrt());
        Some(if three[1].rests { (outer, inner) } else { (inner, outer) })
    };
    turns.chunks_exact(3).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::SUITE;

    #[test]
    fn an_iteration_belongs_to_the_turn_in_which_it_began_and_ended() {
        let text = "iteration 1: 900 ns\nprofiling rests\niteration 2: 800 ns\nprofiling goes on\nother: 5 ns\niteration 3: 70 ns\niteration 4: 30 ns\n\
             profiling rests\niteration 5: 75 ns\niteration 6: 10 ns\niteration 7: 30 ns\nprofiling goes on\niteration 8: 1 ns\n";
        let turn = |rests, iterations: &[f64]| Turn { rests, iterations: iterations.to_vec() };
        assert_eq!(turns(text), [turn(false, &[30.0]), turn(true, &[10.0, 30.0])]);
    }

    #[test]
    fn each_turn_is_compared_once_with_those_beside_it() {
        let turn = |rests, nanoseconds: f64| Turn { rests, iterations: vec![nanoseconds] };
        let empty = Turn { rests: true, iterations: vec![] };
        let turns = [turn(true, 1.0), turn(false, 6.0), turn(true, 4.0), turn(false, 1.0), turn(true, 5.0), turn(false, 9.0)];
        assert_eq!(pairs(&turns), [(6.0, 2.0), (3.0, 5.0)]);
        assert_eq!(pairs(&[turn(true, 1.0), turn(false, 6.0), empty]), []);
    }

    #[test]
    fn every_sample_has_a_size() {
        assert!(SUITE.iter().all(|b| SIZES.iter().any(|(name, _)| *name == b.name)));
    }
}
