//! Fast changes of phase on the adaptive tier: does what is compiled stay bounded, and what is it worth when each phase proves the last one's profile wrong?
//!
//! In: `benches/programs/phases.lang`, whose phases last so many milliseconds each, for a while and for four times as long. Out: versions and time of compiling, code in use at the end, and the work done against that of the opt tier, which
//! compiles once. What is bounded is no more after four times the phases.

use crate::{process, stats};
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub struct Options {
    /// Milliseconds that a phase lasts, one table row each
    #[arg(long, value_delimiter = ',', default_value = "5,50,500", value_parser = clap::value_parser!(u32).range(1..))]
    phases: Vec<u32>,
    /// Of the shorter runs
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

/// Of the longer runs' phases to the shorter ones'.
const LONGER: u32 = 4;

/// What a run told of itself.
struct Run {
    /// Versions of functions and loops, baseline ones included.
    versions: f64,
    compile_ms: f64,
    optimized_kib: f64,
    /// That was replaced and is not freed yet.
    retired_kib: f64,
    /// Rounds of work.
    work: f64,
}

pub fn run(options: &Options) -> Result<(), String> {
    println!(
        "| ms a phase | seconds | versions | compile ms | optimized KiB | retired KiB | work / opt tier's |\n|---|---|---|---|---|---|---|"
    );
    for &length in &options.phases {
        for seconds in [options.seconds, options.seconds * LONGER] {
            let mut runs = Vec::new();
            let mut speedups = Vec::new();
            for _ in 0..options.rounds {
                let (opt, adaptive) = (one("opt", length, seconds)?, one("adaptive", length, seconds)?);
                speedups.push(adaptive.work / opt.work);
                runs.push(adaptive);
            }
            let column = |of: fn(&Run) -> f64| stats::spread(runs.iter().map(of).collect());
            println!(
                "| {length} | {seconds} | {:.0} | {:.0} | {:.1} | {:.1} | {:.2} |",
                column(|run| run.versions),
                column(|run| run.compile_ms),
                column(|run| run.optimized_kib),
                column(|run| run.retired_kib),
                stats::spread(speedups),
            );
        }
    }
    Ok(())
}

fn one(tier: &str, length: u32, seconds: u32) -> Result<Run, String> {
    let file = std::env::temp_dir().join(format!("phases-{}.json", std::process::id()));
    let phases = (seconds * 1000).div_ceil(length);
    let mut command = Command::new(process::vm()?);
    command.args(["run", "--tier", tier, "--stats-out"]).arg(&file).arg(program());
    let run = process::run(command.args(["--", &length.to_string(), &phases.to_string()]));
    let stats = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()));
    // Nothing is lost where it stays.
    let _ = std::fs::remove_file(&file);
    let work = run?.stdout.split(' ').next().and_then(|rounds| rounds.parse().ok());
    told(&stats?, work.ok_or("phases.lang did not say what it has done")?)
}

fn program() -> PathBuf {
    process::root().join("benches/programs/phases.lang")
}

fn told(stats: &str, work: f64) -> Result<Run, String> {
    let stats: serde_json::Value = serde_json::from_str(stats).map_err(|e| format!("statistics: {e}"))?;
    let number =
        |path: &str| stats.pointer(path).and_then(serde_json::Value::as_f64).ok_or_else(|| format!("the statistics have no {path}"));
    Ok(Run {
        versions: number("/code/functions")?,
        compile_ms: (number("/code/compile_ns")? + number("/optimizer/time_ns")?) / 1e6,
        optimized_kib: number("/code/optimized_bytes")? / 1024.0,
        retired_kib: number("/code/retired_bytes")? / 1024.0,
        work,
    })
}
