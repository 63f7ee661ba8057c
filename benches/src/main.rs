//! `cargo run --release -p benches -- WHAT`: prints the tables of `benches/README.md`.
//!
//! Every comparison interleaves its sides (A B A B …) and prints ratios with their spread, because the machines these run on are noisy. It runs the release `vm` that stands beside it
//! in the target folder; build that first (`cargo build --release`).

mod ablation;
mod accuracy;
mod bias;
mod compile;
mod events;
mod gc;
mod iterations;
mod jobs;
mod long_loop;
mod peers;
mod phases;
mod polls;
mod process;
mod profile;
mod reach;
mod record_traces;
mod startup;
mod suite;
mod traces;
mod turns;

use clap::{Parser, Subcommand};
use measure::stats;

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
    /// Processes of a tenth of a second, as a whole, against those of the twins
    Jobs(jobs::Options),
    /// How soon one long loop in `main` runs at optimized speed on the adaptive tier
    LongLoop(long_loop::Options),
    /// What the adaptive tier compiles while phases follow each other fast
    Phases(phases::Options),
    /// What each pass of the optimizer buys: each benchmark sample with all passes and with one of them left out
    Ablation(ablation::Options),
    /// Compile time of the optimizing tier against the baseline tier's
    Compile {
        #[arg(long, default_value_t = 5)]
        runs: usize,
    },
    /// Record the runs that `events` and `accuracy` replay
    RecordTraces(record_traces::Options),
    /// Calls and returns a second that the profiler's structures take in from recorded traces, and their memory
    Events(events::Options),
    /// Accuracy of the samplers on recorded traces, and what they would cost
    Accuracy(accuracy::Options),
    /// Accuracy and overhead of profiling running programs
    Profile(profile::Options),
    /// How true a profile of contexts can be by so many observed calls, whoever makes it
    Reach(reach::Options),
    /// What profiling costs while it goes on, against the times between in which it rests
    Turns(turns::Options),
    /// Sampling bias on the two examples of TACO'15, in several runs
    Bias(bias::Options),
}

fn main() -> std::process::ExitCode {
    let result = match Cli::parse().what {
        What::Startup { runs } => startup::run(runs),
        What::Polls { runs } => polls::run(runs),
        What::Gc { runs } => gc::run(runs),
        What::Ablation(options) => ablation::run(&options),
        What::Compile { runs } => compile::run(runs),
        What::Peers(options) => peers::run(&options),
        What::Jobs(options) => jobs::run(&options),
        What::LongLoop(options) => long_loop::run(&options),
        What::Phases(options) => phases::run(&options),
        What::RecordTraces(options) => record_traces::run(&options),
        What::Events(options) => events::run(&options),
        What::Accuracy(options) => accuracy::run(&options),
        What::Profile(options) => profile::run(&options),
        What::Reach(options) => reach::run(&options),
        What::Turns(options) => turns::run(&options),
        What::Bias(options) => bias::run(&options),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("benches: {message}");
            std::process::ExitCode::FAILURE
        }
    }
}
