//! How soon one long loop in `main` runs at optimized speed: the adaptive tier has to leave it in the middle (on-stack replacement).
//!
//! In: `benches/programs/long_loop.lang`, which says when each slice of its loop ended. Out: the time from the loop's start to the end of the last slice before [`STEADY`] slices in a row that take less than the geometric mean of what
//! the same run's slices take at its beginning and in its last half. A run is measured by itself because the speed of a shared machine changes from one process to the next, by up to two; what the speeds at its ends are beside code of one
//! tier from start to end stands in the other columns.

use crate::{process, stats};
use std::process::Command;

#[derive(clap::Args)]
pub struct Options {
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Fail unless every run is there within so many milliseconds
    #[arg(long, value_name = "MS")]
    within: Option<f64>,
}

/// About half a second of baseline code.
const SLICES: usize = 10_000;
/// The run's beginning: some three milliseconds, which are over before anything is compiled anew.
const BEGINNING: usize = 50;
/// A run that is not this much faster at its end was never optimized: baseline code that has warmed up is faster than at its start, too, but by less.
const FASTER: f64 = 1.5;
/// So many in a row, at least half of which are: a slice takes microseconds, and some are disturbed.
const STEADY: usize = 100;

pub fn run(options: &Options) -> Result<(), String> {
    let (mut waits, mut begins, mut ends, mut speedups) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.runs {
        let (optimized, baseline) = (median(&slices("opt")?), median(&slices("baseline")?));
        let adaptive = slices("adaptive")?;
        let (begin, end) = (median(&adaptive[..BEGINNING]), median(&adaptive[SLICES / 2..]));
        if end * FASTER > begin {
            return Err(format!(
                "a run began with {begin} ns for a slice and ended with {end}: that is baseline code to its end, or the machine was disturbed"
            ));
        }
        waits.push(reached(&adaptive, (begin * end).sqrt()).ok_or("a run never stayed faster than it began")? / 1e6);
        begins.push(begin / optimized);
        ends.push(end / optimized);
        speedups.push(baseline / optimized);
    }
    let slowest = waits.iter().copied().fold(0.0, f64::max);
    println!(
        "| runs | ms to optimized speed, median (quartiles) | slowest | a slice at the beginning / on the opt tier | in the last half / on the opt tier | on the baseline tier / on the opt tier |"
    );
    println!("|---|---|---|---|---|---|");
    let [waits, begins, ends, speedups] = [waits, begins, ends, speedups].map(stats::spread);
    println!("| {} | {waits:.1} | {slowest:.1} | {begins:.2} | {ends:.2} | {speedups:.2} |", options.runs);
    match options.within {
        Some(bar) if slowest > bar => Err(format!("a run took {slowest:.1} ms, and not {bar}")),
        _ => Ok(()),
    }
}

/// Nanoseconds of each slice.
fn slices(tier: &str) -> Result<Vec<f64>, String> {
    let program = process::root().join("benches/programs/long_loop.lang");
    let run = process::run(Command::new(process::vm()?).args(["run", "--tier", tier]).arg(program).args(["--", &SLICES.to_string()]))?;
    let ends: Vec<f64> = run.stdout.lines().skip(1).filter_map(|line| line.parse().ok()).collect();
    if ends.len() != SLICES {
        return Err(format!("{SLICES} slices expected, {} told", ends.len()));
    }
    Ok(differences(&ends))
}

fn differences(ends: &[f64]) -> Vec<f64> {
    let before = [0.0].into_iter().chain(ends.iter().copied());
    ends.iter().zip(before).map(|(end, before)| end - before).collect()
}

fn median(slices: &[f64]) -> f64 {
    stats::spread(slices.to_vec()).median
}

/// The time of all slices before the first of many that take at most `most`. `None` if there are none such.
fn reached(slices: &[f64], most: f64) -> Option<f64> {
    let at = (0..slices.len().saturating_sub(STEADY - 1)).find(|&at| slices[at] <= most && median(&slices[at..at + STEADY]) <= most)?;
    Some(slices[..at].iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_ends_where_slices_stay_short() {
        let slow = [10.0; 50];
        let fast = [2.0; STEADY];
        // A short slice among long ones is none, and a long one among short ones is a disturbance.
        let all = [&slow[..], &[2.0], &slow[..], &fast[..40], &[99.0], &fast[..]].concat();
        assert_eq!(reached(&all, 2.5), Some(100.0 * 10.0 + 2.0));
        assert_eq!(reached(&slow, 2.5), None);
        assert_eq!(differences(&[3.0, 5.0, 9.0]), [3.0, 2.0, 4.0]);
    }
}
