//! How accurate the samplers are on recorded traces, and at what modelled cost: the papers' with their own numbers, and our estimator beside each at the same cost.
//!
//! Each trace is replayed at 100 million calls a second, as often as the time asked for takes, with several seeds. Time goes forward as recorded, but faster; `--even`: by the same for each call and return.
//! The cost is that of `profiler::replay::Cost`. Ours gets the mean interval at which its cost is that of the other, from what one of its bursts costs on that trace.

mod order;
mod outcome;
mod run;
mod samplers;
mod tape;

use crate::traces::{Traced, recorded};
use outcome::Outcome;
use profiler::samplers::Parameters;
use run::{Accuracy, Subject};
use samplers::{Paper, estimator};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tape::NANOSECONDS_A_CALL;

#[derive(clap::Args)]
pub struct Options {
    /// Modelled length of each run
    #[arg(long, default_value_t = 30.0, value_parser = positive)]
    seconds: f64,
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Each call takes the same time, whatever was recorded
    #[arg(long)]
    even: bool,
    /// Only these traces
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
}

/// A sampler of the papers and ours at its cost.
#[derive(Clone, Copy, Debug)]
struct Pair {
    theirs: Outcome,
    ours: Outcome,
    /// Calls from burst to burst of ours.
    mean_calls: u64,
}

/// All of one trace.
struct Measured {
    name: &'static str,
    /// In the order of [`Paper::ALL`].
    pairs: Vec<Pair>,
    /// Ours as it is by default: the trigger that counts calls, and the one with a timer.
    defaults: [Outcome; 2],
}

impl Measured {
    fn of(&self, paper: Paper) -> &Pair {
        &self.pairs[paper as usize]
    }
}

fn positive(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&x: &f64| x > 0.0 && x <= 3600.0).ok_or_else(|| "a number of seconds above 0 and up to 3600".into())
}

pub fn run(options: &Options) -> Result<(), String> {
    let mut measured = Vec::new();
    for traced in recorded(&options.only)? {
        measured.push(measure(traced, options)?);
    }
    println!("\n### Mean over {} traces\n", measured.len());
    let pairs: Vec<Pair> = Paper::ALL.iter().map(|&paper| mean_of(&measured, paper)).collect();
    let defaults = [0, 1].map(|i| Outcome::mean(&measured.iter().map(|m| m.defaults[i]).collect::<Vec<_>>()));
    table(&pairs, &defaults);
    order::print(&measured);
    Ok(())
}

fn mean_of(measured: &[Measured], paper: Paper) -> Pair {
    let mean = |f: fn(&Pair) -> Outcome| Outcome::mean(&measured.iter().map(|m| f(m.of(paper))).collect::<Vec<_>>());
    let calls = measured.iter().map(|m| (m.of(paper).mean_calls as f64).ln()).sum::<f64>() / measured.len() as f64;
    Pair { theirs: mean(|pair| pair.theirs), ours: mean(|pair| pair.ours), mean_calls: calls.exp() as u64 }
}

fn measure(traced: &Traced, options: &Options) -> Result<Measured, String> {
    let subject = Subject::new(&traced.load()?, options.even)?;
    let mut parameters = Paper::ALL.map(Paper::parameters).to_vec();
    parameters.extend([Parameters::estimator(), Parameters::timed_estimator()]);
    let outcomes = outcomes(&subject, &parameters, options)?;
    let (theirs, defaults) = outcomes.split_at(Paper::ALL.len());
    let defaults = [defaults[0], defaults[1]];
    let means: Vec<u64> = theirs.iter().map(|outcome| calls_at_cost(outcome.cost.mean, defaults[0].sample_cost.mean)).collect();
    let parameters: Vec<Parameters> = means.iter().map(|&mean| estimator(mean)).collect();
    let ours = self::outcomes(&subject, &parameters, options)?;
    let pairs = theirs.iter().zip(ours).zip(means).map(|((&theirs, ours), mean_calls)| Pair { theirs, ours, mean_calls });
    let measured = Measured { name: traced.name, pairs: pairs.collect(), defaults };
    println!("\n### {} ({}): {} calls, {} contexts\n", traced.name, traced.shape, subject.calls(), subject.contexts());
    table(&measured.pairs, &measured.defaults);
    Ok(measured)
}

/// Calls from burst to burst at which bursts of this cost in nanoseconds take so many percent of the run.
fn calls_at_cost(percent: f64, burst: f64) -> u64 {
    (burst * 100.0 / (percent * NANOSECONDS_A_CALL)).round() as u64
}

/// One for each parameters, over all seeds; all processors work.
fn outcomes(subject: &Subject, parameters: &[Parameters], options: &Options) -> Result<Vec<Outcome>, String> {
    let jobs: Vec<(usize, u32)> = (0..parameters.len()).flat_map(|i| (0..options.seeds).map(move |seed| (i, seed))).collect();
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<Accuracy, String>)>> = Mutex::default();
    let work = || {
        while let Some(&(index, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = subject.measure(parameters[index], options.seconds, u64::from(seed) + 1);
            results.lock().expect("no job panics").push((index, result));
        }
    };
    std::thread::scope(|scope| (0..std::thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work))));
    let mut samples = vec![Vec::new(); parameters.len()];
    for (index, result) in results.into_inner().expect("no job panics") {
        samples[index].push(result?);
    }
    Ok(samples.iter().map(|sample| Outcome::of(sample)).collect())
}

fn table(pairs: &[Pair], defaults: &[Outcome; 2]) {
    println!("| sampler | samples | disabled % | cost % | DCG | CCT | hot CCT | ours: every … calls | cost % | DCG | CCT | hot CCT |");
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let row = |o: &Outcome| format!("{:.4} | {} | {} | {}", o.cost.mean, o.dcg, o.cct, o.hot);
    for (paper, pair) in Paper::ALL.iter().zip(pairs) {
        let Pair { theirs, ours, mean_calls } = pair;
        let (samples, disabled) = (theirs.samples.mean, theirs.disabled.mean);
        println!("| {} | {samples:.0} | {disabled:.1} | {} | {mean_calls} | {} |", paper.name(), row(theirs), row(ours));
    }
    for (name, outcome) in ["ours, every 10,000 calls", "ours, timer of 0.2 ms"].iter().zip(defaults) {
        println!("| {name} | {:.0} | | {} | | | | | |", outcome.samples.mean, row(outcome));
    }
}
