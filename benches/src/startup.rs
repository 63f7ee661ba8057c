//! Time and memory of the smallest program, process start to process end.

use crate::{process, stats};
use std::process::Command;

pub fn run(runs: usize) -> Result<(), String> {
    let hello = process::root().join("lang-samples/hello.lang");
    println!("| tier | ms, median (quartiles) | resident MB |");
    println!("|---|---|---|");
    let mut tiers = ["interp", "baseline", "opt", "adaptive"].map(|tier| (tier, Vec::new(), Vec::new()));
    for _ in 0..runs.max(1) {
        for (tier, times, memory) in &mut tiers {
            let run = process::run(Command::new(process::vm()?).args(["run", "--tier", tier]).arg(&hello))?;
            times.push(run.wall.as_secs_f64() * 1e3);
            memory.push(run.max_rss_kib as f64 * 1024.0 / 1e6);
        }
    }
    for (tier, times, memory) in tiers {
        println!("| {tier} | {:.1} | {:.1} |", stats::spread(times), stats::spread(memory));
    }
    Ok(())
}
