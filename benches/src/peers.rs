//! The benchmark samples against their twins in `benches/peers/`: how long one iteration takes, the first one and in the steady state, in ours over in the peer's.
//!
//! Each run is one process that does the work `--iterations` times over (`lang-samples/bench.lang` has the protocol). A round runs ours and every peer once, each
//! round beginning with another of them; a round gives one ratio for each peer, and the table the median of the rounds with the quartiles. Every run must print what
//! ours prints, byte for byte.

pub mod twins;

use crate::iterations::Times;
use crate::suite::{Benchmark, SUITE};
use crate::{process, stats};
use twins::{Language, Twins};

#[derive(clap::Args)]
pub struct Options {
    /// Our tier; without it, the vm's default
    #[arg(long)]
    tier: Option<String>,
    /// Processes of each program in each language
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Iterations in each process; the last half of them are the steady state
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// Only these programs
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
}

/// Ours over the peer's, one number for each round.
#[derive(Default)]
struct Ratios {
    steady: Vec<f64>,
    first: Vec<f64>,
}

/// What all rounds of one program gave. `peers` stands in the order of the columns, and is empty for languages without a twin.
struct Measured {
    steady_ms: Vec<f64>,
    first_ms: Vec<f64>,
    peers: Vec<Ratios>,
}

pub fn run(options: &Options) -> Result<(), String> {
    let benchmarks = chosen(&options.only)?;
    let twins = Twins::build(benchmarks.iter().map(|b| b.name))?;
    let languages = twins.languages();
    for language in &languages {
        println!("{}: {}  ", language.name(), twins.version(*language));
    }
    println!();
    header(&languages);
    let (mut steady, mut first) = (vec![vec![]; languages.len()], vec![vec![]; languages.len()]);
    for benchmark in benchmarks {
        let measured = measure(benchmark, options, &twins, &languages)?;
        let ratios = |of: fn(&Ratios) -> &Vec<f64>, medians: &mut [Vec<f64>]| -> String {
            measured.peers.iter().zip(medians).map(|(ratios, medians)| cell(of(ratios), medians)).collect()
        };
        let columns = ratios(|r| &r.steady, &mut steady) + &ratios(|r| &r.first, &mut first);
        let ms = |sample: &[f64]| stats::spread(sample.to_vec()).median;
        println!("| {} | {:.1} | {:.1} |{columns}", benchmark.name, ms(&measured.steady_ms), ms(&measured.first_ms));
    }
    let means: String = steady.iter().chain(&first).map(|medians| mean(medians)).collect();
    println!("| **geometric mean** | | |{means}");
    Ok(())
}

/// The programs that have twins, or those of them that are asked for.
pub fn chosen(only: &[String]) -> Result<Vec<&'static Benchmark>, String> {
    let known: Vec<&Benchmark> = SUITE.iter().filter(|b| twins::java_class(b.name).is_some()).collect();
    if let Some(name) = only.iter().find(|name| !known.iter().any(|b| b.name == name.as_str())) {
        let names: Vec<&str> = known.iter().map(|b| b.name).collect();
        return Err(format!("no program {name:?} with twins; there are {}", names.join(", ")));
    }
    Ok(known.into_iter().filter(|b| only.is_empty() || only.iter().any(|name| name == b.name)).collect())
}

fn header(languages: &[Language]) {
    let titles = |when: &str| -> String { languages.iter().map(|l| format!(" ours / {}, {when} |", l.name())).collect() };
    println!("| program | ours, steady: ms | ours, first: ms |{}{}", titles("steady"), titles("first"));
    println!("|---|---|---|{}", "---|".repeat(2 * languages.len()));
}

pub fn cell(sample: &[f64], medians: &mut Vec<f64>) -> String {
    if sample.is_empty() {
        return " – |".into();
    }
    let ratio = stats::spread(sample.to_vec());
    medians.push(ratio.median);
    format!(" {ratio:.2} |")
}

pub fn mean(medians: &[f64]) -> String {
    if medians.is_empty() { " – |".into() } else { format!(" **{:.2}** |", stats::geometric_mean(medians)) }
}

fn measure(benchmark: &Benchmark, options: &Options, twins: &Twins, languages: &[Language]) -> Result<Measured, String> {
    // Ours is `None`.
    let sides: Vec<Option<Language>> =
        [None].into_iter().chain(languages.iter().filter(|l| twins.has(**l, benchmark.name)).map(|l| Some(*l))).collect();
    let mut measured = Measured { steady_ms: vec![], first_ms: vec![], peers: languages.iter().map(|_| Ratios::default()).collect() };
    let mut expected: Option<String> = None;
    for round in 0..options.rounds as usize {
        let mut times: Vec<Option<Times>> = sides.iter().map(|_| None).collect();
        for turn in 0..sides.len() {
            let at = (round + turn) % sides.len();
            let run = run_side(benchmark, sides[at], options, twins)?;
            times[at] =
                Some(Times::read(&run.stderr, options.iterations).map_err(|e| format!("{}: {e}", side_name(benchmark, sides[at])))?);
            let expected = expected.get_or_insert_with(|| run.stdout.clone());
            if *expected != run.stdout {
                return Err(format!("{} prints something else than the others:\n{}", side_name(benchmark, sides[at]), run.stdout));
            }
        }
        let mut times = times.into_iter().flatten();
        let ours = times.next().expect("ours is the first side");
        measured.steady_ms.push(ours.steady / 1e6);
        measured.first_ms.push(ours.first / 1e6);
        for (language, peer) in sides.iter().flatten().zip(times) {
            let column = languages.iter().position(|l| l == language).expect("sides are chosen from the columns");
            measured.peers[column].steady.push(ours.steady / peer.steady);
            measured.peers[column].first.push(ours.first / peer.first);
        }
    }
    Ok(measured)
}

fn run_side(benchmark: &Benchmark, side: Option<Language>, options: &Options, twins: &Twins) -> Result<process::Run, String> {
    let mut command = match side {
        None => {
            let tier: Vec<&str> = options.tier.iter().flat_map(|tier| ["--tier", tier.as_str()]).collect();
            benchmark.command(&tier)?
        }
        Some(language) => {
            let mut command = twins.command(language, benchmark.name);
            command.args(&benchmark.args);
            command
        }
    };
    process::run(command.args(["--iterations", &options.iterations.to_string()]))
}

pub fn side_name(benchmark: &Benchmark, side: Option<Language>) -> String {
    format!("{} in {}", benchmark.name, side.map_or("our language", Language::name))
}
