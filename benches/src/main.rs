//! `cargo run --release -p benches -- WHAT`: prints the tables of `benches/README.md`.
//!
//! Every comparison interleaves its sides (A B A B …) and prints ratios with their spread, because the machines these run on are noisy. It runs the release `vm` that stands beside it
//! in the target folder; build that first (`cargo build --release`).

mod ablation;
mod compile;
mod gc;
mod iterations;
mod peers;
mod polls;
mod process;
mod startup;
mod stats;
mod suite;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Measures the VM; each table of benches/README.md names its command")]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Time and resident memory of `vm run hello.lang` as a whole process
    Startup {
        #[arg(long, default_value_t = 101)]
        runs: usize,
    },
    /// What yield points cost: each benchmark sample with and without polls
    Polls {
        #[arg(long, default_value_t = 9)]
        runs: usize,
    },
    /// Time spent in collections against Java's SerialGC, and resident memory under a heap limit
    Gc {
        #[arg(long, default_value_t = 5)]
        runs: usize,
    },
    /// Benchmark samples against their twins in Java, C++ and JavaScript, as far as these are on the machine
    Peers(peers::Options),
    /// What each pass of the optimizer buys: each benchmark sample with all passes and with one of them left out
    Ablation(ablation::Options),
    /// Compile time of the optimizing tier against the baseline tier's
    Compile {
        #[arg(long, default_value_t = 5)]
        runs: usize,
    },
}

fn main() -> std::process::ExitCode {
    let result = match Cli::parse().what {
        What::Startup { runs } => startup::run(runs),
        What::Polls { runs } => polls::run(runs),
        What::Gc { runs } => gc::run(runs),
        What::Ablation(options) => ablation::run(&options),
        What::Compile { runs } => compile::run(runs),
        What::Peers(options) => peers::run(&options),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("benches: {message}");
            std::process::ExitCode::FAILURE
        }
    }
}
