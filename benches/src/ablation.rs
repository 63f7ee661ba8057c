//! What each pass of the optimizer buys on the benchmark set: time of an iteration in the steady state without the pass, over the time with all of them.
//!
//! A round runs each sample once with all passes and once without each of them, and begins each time with another of these; the ratio is formed within the round. Above 1: the pass makes programs faster.

use crate::iterations::Times;
use crate::suite::{Benchmark, SUITE};
use crate::{process, stats};
use jit::opt::Pass;

#[derive(clap::Args)]
pub struct Options {
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Iterations in each process; the last half of them count
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// Only these passes; `inline` is inlining
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
}

/// A pass, or inlining, which is none, with the flag that switches it off.
struct Variant {
    name: &'static str,
    flag: String,
}

/// Samples named in a row: those that lose most.
const NAMED: usize = 3;

pub fn run(options: &Options) -> Result<(), String> {
    let variants = variants(&options.only)?;
    // By variant, then by sample: the median of the rounds.
    let mut medians: Vec<Vec<(&str, f64)>> = variants.iter().map(|_| Vec::new()).collect();
    for benchmark in SUITE.iter() {
        let mut ratios: Vec<Vec<f64>> = variants.iter().map(|_| Vec::new()).collect();
        let flags: Vec<&str> = ["--inline=static"].into_iter().chain(variants.iter().map(|variant| &*variant.flag)).collect();
        for round in 0..options.rounds as usize {
            let mut times = vec![0.0; flags.len()];
            for at in (0..flags.len()).map(|i| (i + round) % flags.len()) {
                times[at] = steady(benchmark, flags[at], options.iterations)?;
            }
            ratios.iter_mut().zip(&times[1..]).for_each(|(ratios, time)| ratios.push(time / times[0]));
        }
        for (ratios, medians) in ratios.into_iter().zip(&mut medians) {
            medians.push((benchmark.name, stats::spread(ratios).median));
        }
        eprintln!("{} measured", benchmark.name);
    }
    println!("| without | time, geometric mean | samples with the largest differences |");
    println!("|---|---|---|");
    for (variant, mut medians) in variants.iter().zip(medians) {
        let mean = stats::geometric_mean(&medians.iter().map(|m| m.1).collect::<Vec<_>>());
        medians.sort_by(|a, b| b.1.ln().abs().total_cmp(&a.1.ln().abs()));
        let named: Vec<String> = medians.iter().take(NAMED).map(|(name, ratio)| format!("{name} {ratio:.2}")).collect();
        println!("| {} | {mean:.3} | {} |", variant.name, named.join(", "));
    }
    Ok(())
}

fn variants(only: &[String]) -> Result<Vec<Variant>, String> {
    let passes = Pass::ALL.iter().map(|p| Variant { name: p.name(), flag: format!("--passes=-{}", p.name()) });
    let all: Vec<Variant> = [Variant { name: "inline", flag: "--inline=none".into() }].into_iter().chain(passes).collect();
    if let Some(name) = only.iter().find(|n| !all.iter().any(|v| v.name == n.as_str())) {
        let names: Vec<&str> = all.iter().map(|v| v.name).collect();
        return Err(format!("no pass {name:?}; there are {}", names.join(", ")));
    }
    Ok(all.into_iter().filter(|v| only.is_empty() || only.iter().any(|n| n == v.name)).collect())
}

/// Nanoseconds of an iteration.
fn steady(benchmark: &Benchmark, flag: &str, iterations: u32) -> Result<f64, String> {
    let mut command = benchmark.command(&["--tier", "opt", flag])?;
    let run = process::run(command.args(["--iterations", &iterations.to_string()]))?;
    Ok(Times::read(&run.stderr, iterations).map_err(|e| format!("{}: {e}", benchmark.name))?.steady)
}
