//! Short jobs: whole processes of about a tenth of a second, from start to end, ours over those of the twins in Java and JavaScript and over the binary of C++.
//!
//! Start-up, compiling and warming up are in it, and what a compiler did before is not. As in `peers`, a round runs each side once, and every run must print the same.

use crate::peers::twins::{Language, Twins};
use crate::peers::{cell, chosen, mean, side_name};
use crate::suite::Benchmark;
use crate::{process, stats};

#[derive(clap::Args)]
pub struct Options {
    /// Our tier; without it, the vm's default
    #[arg(long)]
    tier: Option<String>,
    /// Processes of each program in each language
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only these programs
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
}

/// Sizes at which ours takes about a tenth of a second.
const SIZES: &[(&str, &[&str])] = &[
    ("richards", &["130", "10000"]),
    ("deltablue", &["800", "30"]),
    ("splay", &["4000", "20000"]),
    ("raytrace", &["600"]),
    ("nbody", &["900000"]),
    ("fannkuch", &["9"]),
    ("spectral_norm", &["800"]),
    ("mandelbrot", &["900"]),
    ("binary_trees", &["15"]),
    ("word_count", &["600000"]),
    ("matrix_multiply", &["350"]),
    ("merge_sort", &["40000"]),
    ("bytecode_interpreter", &["12000"]),
    ("expression_tree", &["150000"]),
    ("event_simulation", &["700000", "3"]),
    ("recursive_descent", &["22000"]),
    ("work_queue", &["20000", "4"]),
];

pub fn run(options: &Options) -> Result<(), String> {
    let benchmarks = chosen(&options.only)?;
    let twins = Twins::build(benchmarks.iter().map(|b| b.name))?;
    let languages = twins.languages();
    languages.iter().for_each(|language| println!("{}: {}  ", language.name(), twins.version(*language)));
    let titles: String = languages.iter().map(|l| format!(" ours / {} |", l.name())).collect();
    println!("\n| program | size | ours: ms |{titles}\n|---|---|---|{}", "---|".repeat(languages.len()));
    let mut medians = vec![vec![]; languages.len()];
    for benchmark in benchmarks {
        let sizes = sizes(benchmark.name).ok_or_else(|| format!("{} has no size for a short job", benchmark.name))?;
        let (ours, ratios) = measure(benchmark, sizes, options, &twins, &languages)?;
        let columns: String = ratios.iter().zip(&mut medians).map(|(ratios, medians)| cell(ratios, medians)).collect();
        println!("| {} | {} | {:.1} |{columns}", benchmark.name, sizes.join(" "), stats::spread(ours).median);
    }
    let means: String = medians.iter().map(|medians| mean(medians)).collect();
    println!("| **geometric mean** | | |{means}");
    Ok(())
}

fn sizes(name: &str) -> Option<&'static [&'static str]> {
    SIZES.iter().find(|(known, _)| *known == name).map(|(_, sizes)| *sizes)
}

/// Milliseconds of ours, and ours over each language's, in the order of the columns; none where there is no twin.
fn measure(
    benchmark: &Benchmark,
    sizes: &[&str],
    options: &Options,
    twins: &Twins,
    languages: &[Language],
) -> Result<(Vec<f64>, Vec<Vec<f64>>), String> {
    let peers = languages.iter().map(|&language| twins.has(language, benchmark.name).then_some(language));
    let sides: Vec<Option<Language>> = [None].into_iter().chain(peers.flatten().map(Some)).collect();
    let (mut ours, mut ratios) = (Vec::new(), vec![Vec::new(); languages.len()]);
    let mut expected: Option<String> = None;
    for round in 0..options.rounds as usize {
        let mut seconds = vec![0.0; sides.len()];
        for turn in 0..sides.len() {
            let at = (round + turn) % sides.len();
            let mut command = match sides[at] {
                None => {
                    let tier: Vec<&str> = options.tier.iter().flat_map(|tier| ["--tier", tier.as_str()]).collect();
                    let mut command = benchmark.command_at_default_size(&tier)?;
                    command.arg("--");
                    command
                }
                Some(language) => twins.command(language, benchmark.name),
            };
            let run = process::run(command.args(sizes))?;
            seconds[at] = run.wall.as_secs_f64();
            if *expected.get_or_insert_with(|| run.stdout.clone()) != run.stdout {
                return Err(format!("{} prints something else than the others:\n{}", side_name(benchmark, sides[at]), run.stdout));
            }
        }
        ours.push(seconds[0] * 1e3);
        for (language, peer) in sides.iter().zip(&seconds).filter_map(|(side, seconds)| Some(((*side)?, seconds))) {
            let column = languages.iter().position(|&l| l == language).expect("sides are chosen from the columns");
            ratios[column].push(seconds[0] / peer);
        }
    }
    Ok((ours, ratios))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_with_twins_has_a_size() {
        let programs = chosen(&[]).unwrap();
        assert!(programs.iter().all(|benchmark| sizes(benchmark.name).is_some()) && programs.len() == SIZES.len());
    }
}
