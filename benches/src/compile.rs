//! What the optimizing tier's compile time is against the baseline tier's: nanoseconds for each function that is compiled, passes and machine code together, both from the `--stats` of runs of the benchmark samples.

use crate::suite::{Benchmark, SUITE};
use crate::{process, stats};

/// Compile time of one run.
struct Cost {
    functions: f64,
    ms: f64,
}

pub fn run(runs: usize) -> Result<(), String> {
    println!("| sample | functions, baseline | functions, opt | time a function, opt / baseline | time in all, opt / baseline |");
    println!("|---|---|---|---|---|");
    let (mut each, mut all) = (Vec::new(), Vec::new());
    for benchmark in SUITE {
        let (mut per_function, mut total) = (Vec::new(), Vec::new());
        let mut functions = (0.0, 0.0);
        for _ in 0..runs.max(1) {
            let (baseline, opt) = (cost(benchmark, "baseline")?, cost(benchmark, "opt")?);
            per_function.push((opt.ms / opt.functions) / (baseline.ms / baseline.functions));
            total.push(opt.ms / baseline.ms);
            functions = (baseline.functions, opt.functions);
        }
        let (per_function, total) = (stats::spread(per_function), stats::spread(total));
        println!("| {} | {} | {} | {per_function:.2} | {total:.2} |", benchmark.name, functions.0, functions.1);
        each.push(per_function.median);
        all.push(total.median);
    }
    println!("| **median** | | | **{:.2}** | **{:.2}** |", stats::spread(each).median, stats::spread(all).median);
    Ok(())
}

fn cost(benchmark: &Benchmark, tier: &str) -> Result<Cost, String> {
    let run = process::run(&mut benchmark.command(&["--tier", tier, "--stats"])?)?;
    let row = |name: &str| run.stderr.lines().find_map(|l| l.strip_prefix(name)?.split_whitespace().next()?.parse::<f64>().ok());
    let missing = || format!("{}: no statistics in\n{}", benchmark.name, run.stderr);
    let functions = row("native.functions ").ok_or_else(missing)?;
    let ms = row("native.compile ").ok_or_else(missing)? + row("opt.time ").unwrap_or(0.0);
    Ok(Cost { functions, ms })
}
