//! What could be reached: how true a profile of contexts can be expected to be by so many observed calls, and what an observation may then cost.
//!
//! In: the exact profiles of the benchmark samples, made once (`profile/subject.rs`). Out: a table. Nothing is timed.

use crate::profile::bars;
use crate::profile::subject::{Subject, Tier};
use crate::suite;
use profiler::metrics::expected::Shares;

#[derive(clap::Args)]
pub struct Options {
    /// Only these samples
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
}

/// Of a run, in seconds.
const RUN: f64 = 5.0;
const OBSERVATIONS: [f64; 4] = [1e4, 1e5, 1e6, 1e7];

pub fn run(options: &Options) -> Result<(), String> {
    println!(
        "| sample | contexts | overlap % by 10,000 calls | by 100,000 | by a million | by ten million | bar | calls it needs | ns that one may take |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for benchmark in suite::chosen(&options.only)? {
        let exact = Subject::new(benchmark, Tier::Baseline, RUN, false)?.exact(false)?;
        let contexts = exact.contexts().ok_or_else(|| format!("{}: no contexts were kept", benchmark.name))?;
        let shares = Shares::new(contexts.own_weights().values().copied());
        let bar = bars::least_overlap(contexts.len());
        let needed = shares.needed(bar);
        let overlaps = OBSERVATIONS.map(|observations| format!("{:.1}", shares.overlap(observations))).join(" | ");
        let affordable = RUN * 1e9 * bars::MEAN_OVERHEAD / 100.0 / needed;
        println!("| {} | {} | {overlaps} | {bar} | {needed:.0} | {affordable:.0} |", benchmark.name, contexts.len());
    }
    Ok(())
}
