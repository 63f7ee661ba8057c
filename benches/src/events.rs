//! What the profiler's structures take in: events (calls and returns) a second on recorded traces, bytes a node, and k-CCFs from CCTs and from k-SFs.
//!
//! Each trace is repeated until there are enough events. Rates are by the time that the thread was on a processor.

mod kccf;
mod speed;

use crate::traces::recorded;
use speed::Rates;

#[derive(clap::Args)]
pub struct Options {
    /// Events that each structure takes in, at least, in millions
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    millions: u64,
    /// Times that each is built from nothing
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only these traces
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
}

/// Fails where a k-CCF from the CCT and one from the k-SF differ.
pub fn run(options: &Options) -> Result<(), String> {
    let chosen = recorded(&options.only)?;
    println!("Million events a second, median (quartiles) of {} rounds:\n", options.rounds);
    speed::header();
    let mut rows = Vec::new();
    for traced in &chosen {
        for rates in speed::measure(traced, &traced.load()?, options.millions * 1_000_000, options.rounds)? {
            rates.print();
            rows.push(rates);
        }
    }
    print_bars(&rows);
    kccf::time(&chosen)?;
    println!("\n### The same k-CCF from the CCT and from the k-SF, for each k from 1 to {}\n", kccf::LONGEST);
    println!("| trace | contexts of functions | |\n|---|---|---|");
    for traced in &chosen {
        let nodes = kccf::agree(&traced.load()?).map_err(|e| format!("{}: {e}", traced.name))?;
        println!("| {} | {nodes} | agree |", traced.name);
    }
    Ok(())
}

/// A rate or size that was promised, and over which traces.
struct Bar {
    name: &'static str,
    value: fn(&Rates) -> f64,
    few: f64,
    many: f64,
}

/// At most so many contexts are few, and at least so many are many.
const FEW: u32 = 10_000;
const MANY: u32 = 400_000;

const BARS: &[Bar] = &[
    Bar { name: "CCT", value: |r| r.cct.median, few: 300.0, many: 150.0 },
    Bar { name: "k-SF, siblings", value: |r| r.siblings.median, few: 250.0, many: 100.0 },
    Bar { name: "k-SF, indexed", value: |r| r.indexed.median, few: 250.0, many: 100.0 },
    Bar { name: "CCT from the file", value: |r| r.cct_file.median, few: 100.0, many: 100.0 },
];

/// Bytes a node of a CCT.
const NODE_BYTES: f64 = 24.0;

fn print_bars(rows: &[Rates]) {
    println!("\n| bar | few contexts | met by | many contexts | met by |\n|---|---|---|---|---|");
    for Bar { name, value, few, many } in BARS {
        let met = |bar: f64, wanted: &dyn Fn(u32) -> bool| {
            let rows: Vec<f64> = rows.iter().filter(|r| wanted(r.nodes)).map(value).collect();
            let (met, least) = (rows.iter().filter(|&&v| v >= bar).count(), rows.iter().copied().fold(f64::INFINITY, f64::min));
            if rows.is_empty() { "no such trace".into() } else { format!("{met} of {} (least {least:.0})", rows.len()) }
        };
        println!("| {name} | ≥ {few} | {} | ≥ {many} | {} |", met(*few, &|n| n <= FEW), met(*many, &|n| n >= MANY));
    }
    let most = rows.iter().map(|r| r.node_bytes).fold(0.0, f64::max);
    println!("| bytes a CCT node | ≤ {NODE_BYTES} | at most {most:.1} | | |");
}
