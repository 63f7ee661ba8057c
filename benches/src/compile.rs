//! What the optimizing tier's compile time is against the baseline tier's: all a run compiles, passes and machine code together, from the `--stats` of runs of the benchmark samples.
//!
//! Both tiers compile the same program, so the ratio of the times is that of the times for each function of it, though in the optimizing tier most functions end up inside of others. The baseline tier compiles only what is called,
//! the optimizing tier everything that might be.

use crate::suite::{Benchmark, SUITE};
use crate::{process, stats};

/// Of one run.
#[derive(Clone, Copy)]
struct Cost {
    /// That got machine code of their own.
    functions: f64,
    /// Milliseconds in the optimizer.
    passes: f64,
    /// Milliseconds in the code generator.
    code: f64,
}

impl Cost {
    fn ms(self) -> f64 {
        self.passes + self.code
    }
}

pub fn run(runs: usize) -> Result<(), String> {
    println!(
        "| sample | functions, baseline | left by opt | µs a function, baseline | opt / baseline | of it passes | of it machine code |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut medians: [Vec<f64>; 3] = Default::default();
    for benchmark in SUITE.iter() {
        let costs: Vec<(Cost, Cost)> =
            (0..runs.max(1)).map(|_| Ok((cost(benchmark, "baseline")?, cost(benchmark, "opt")?))).collect::<Result<_, String>>()?;
        let spread = |f: &dyn Fn(&(Cost, Cost)) -> f64| stats::spread(costs.iter().map(f).collect());
        let each = spread(&|(baseline, _)| 1000.0 * baseline.ms() / baseline.functions);
        let ratios = [
            spread(&|(baseline, opt)| opt.ms() / baseline.ms()),
            spread(&|(baseline, opt)| opt.passes / baseline.ms()),
            spread(&|(baseline, opt)| opt.code / baseline.ms()),
        ];
        let (baseline, opt) = costs[0];
        println!(
            "| {} | {} | {} | {:.0} | {:.2} | {:.2} | {:.2} |",
            benchmark.name, baseline.functions, opt.functions, each.median, ratios[0], ratios[1].median, ratios[2].median
        );
        ratios.iter().zip(&mut medians).for_each(|(ratio, medians)| medians.push(ratio.median));
    }
    let [all, passes, code] = medians.map(|m| stats::spread(m).median);
    println!("| **median** | | | | **{all:.2}** | {passes:.2} | {code:.2} |");
    Ok(())
}

fn cost(benchmark: &Benchmark, tier: &str) -> Result<Cost, String> {
    // At its own, small size: only compiling counts.
    let run = process::run(&mut benchmark.command_at_default_size(&["--tier", tier, "--stats"])?)?;
    let row = |name: &str| run.stderr.lines().find_map(|l| l.strip_prefix(name)?.split_whitespace().next()?.parse::<f64>().ok());
    let missing = || format!("{}: no statistics in\n{}", benchmark.name, run.stderr);
    let functions = row("native.functions ").ok_or_else(missing)?;
    Ok(Cost { functions, passes: row("opt.time ").unwrap_or(0.0), code: row("native.compile ").ok_or_else(missing)? })
}
