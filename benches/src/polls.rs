//! What yield points in loops cost: CPU time with them over CPU time without, on the benchmark set.

use crate::suite::SUITE;
use crate::{process, stats};

pub fn run(runs: usize) -> Result<(), String> {
    println!("| sample | with polls / without, median (quartiles) |");
    println!("|---|---|");
    let mut medians = Vec::new();
    // Without polls nothing can stop a running thread, so programs with several threads are not comparable.
    for benchmark in SUITE.iter().filter(|b| b.name != "work_queue") {
        let mut ratios = Vec::new();
        for i in 0..runs.max(1) {
            let with = || process::run(&mut benchmark.command(&["--tier", "baseline"])?);
            let without = || process::run(&mut benchmark.command(&["--tier", "baseline", "--no-polls"])?);
            let (a, b) = if i % 2 == 0 {
                let a = with()?;
                (a, without()?)
            } else {
                let b = without()?;
                (with()?, b)
            };
            ratios.push(a.cpu.as_secs_f64() / b.cpu.as_secs_f64());
        }
        let ratio = stats::spread(ratios);
        println!("| {} | {ratio:.3} |", benchmark.name);
        medians.push(ratio.median);
    }
    println!("| **geometric mean** | **{:.3}** |", stats::geometric_mean(&medians));
    Ok(())
}
