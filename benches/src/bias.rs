//! Sampling bias on TACO'15's two examples: `call_density` (Figure 1) and `lock_latency` (Figure 3) each have two edges to `compute` that are called equally often.
//!
//! Out: the share of the first of the two in each of several runs, in percent: 50 in truth. `adaptive` has to come near it in every run; plain timer sampling shows the paper's bias.

use crate::process;
use crate::profile::positive;
use crate::profile::subject::Tier;
use profiler::export;
use profiler::profile::Profile;
use std::fs;
use std::process::Command;

#[derive(clap::Args)]
pub struct Options {
    /// By default baseline and opt
    #[arg(long, value_enum)]
    tier: Option<Tier>,
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// About how long each run takes on the baseline tier
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    seconds: f64,
    /// Fail unless `adaptive` is near the truth in every run, and plain sampling is not in the mean
    #[arg(long)]
    check: bool,
}

struct Example {
    name: &'static str,
    /// What stands before the number that its time goes with.
    args: &'static [&'static str],
    /// That number for a second on the baseline tier.
    a_second: f64,
    /// How far from 50 % a share may be.
    tolerance: f64,
}

const EXAMPLES: [Example; 2] = [
    Example { name: "call_density", args: &[], a_second: 2_800_000.0, tolerance: 2.0 },
    Example { name: "lock_latency", args: &["4"], a_second: 110_000.0, tolerance: 3.0 },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Plain timer sampling at calls, as in the paper.
    Plain,
    /// Shown for comparison.
    Other,
    /// The one that is judged.
    Adaptive,
}

const SAMPLERS: [(&str, Kind, &[&str]); 5] = [
    ("stack walk", Kind::Other, &["--profile", "stackwalk"]),
    ("CBS(1,1)", Kind::Plain, &["--profile", "cbs", "--samples", "1", "--stride", "1"]),
    ("CBS(8,2), density and latency", Kind::Other, &["--profile", "cbs", "--antibias", "latency"]),
    ("ours, `adaptive --counting always`", Kind::Adaptive, &["--profile", "adaptive", "--counting", "always"]),
    ("**ours, `adaptive`**", Kind::Adaptive, &["--profile", "adaptive"]),
];

pub fn run(options: &Options) -> Result<(), String> {
    println!("| program | tier | sampler | share of the first edge %: mean | least | most | runs within | |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut failed = 0;
    for example in &EXAMPLES {
        for tier in options.tier.map_or(vec![Tier::Baseline, Tier::Opt], |only| vec![only]) {
            for (title, kind, flags) in SAMPLERS {
                let shares: Vec<f64> =
                    (1..=options.runs).map(|seed| share(example, tier, flags, options.seconds, seed)).collect::<Result<_, _>>()?;
                let is_near = |share: f64| (share - 50.0).abs() <= example.tolerance;
                let near = shares.iter().filter(|&&share| is_near(share)).count();
                let mean = shares.iter().sum::<f64>() / shares.len() as f64;
                let (verdict, fails) = match kind {
                    Kind::Adaptive if near == shares.len() => ("hold", false),
                    Kind::Adaptive => ("fail", true),
                    Kind::Plain if is_near(mean) => ("no bias", true),
                    Kind::Plain => ("biased", false),
                    Kind::Other => ("", false),
                };
                failed += u32::from(fails);
                let (least, most) = shares.iter().fold((100.0f64, 0.0f64), |(least, most), &share| (least.min(share), most.max(share)));
                let (name, tier, tolerance) = (example.name, tier.name(), example.tolerance);
                println!(
                    "| {name} | {tier} | {title} | {mean:.2} | {least:.2} | {most:.2} | {near} of {} in 50 ± {tolerance} | {verdict} |",
                    shares.len()
                );
            }
        }
    }
    if options.check && failed > 0 { Err(format!("{failed} rows are not as they have to be")) } else { Ok(()) }
}

/// In percent, of one run.
fn share(example: &Example, tier: Tier, flags: &[&str], seconds: f64, seed: u32) -> Result<f64, String> {
    let out = std::env::temp_dir().join(format!("bias-{}.json", std::process::id()));
    let sample = process::root().join("lang-samples").join(format!("{}.lang", example.name));
    let mut command = Command::new(process::vm()?);
    command.arg("run").args(tier.profiled()).args(flags).args(["--seed", &seed.to_string(), "--profile-out"]).arg(&out).arg(&sample);
    command.arg("--").args(example.args).arg(((example.a_second * seconds) as u64).to_string());
    let profile = process::run(&mut command).and_then(|_| export::read(&out).map_err(|error| error.to_string()));
    _ = fs::remove_file(&out);
    let text = fs::read_to_string(&sample).map_err(|e| format!("{}: {e}", sample.display()))?;
    first_share(&profile?, &text).ok_or_else(|| format!("{}: no calls of `compute` were seen", example.name))
}

/// Of the calls that the source's lines with a call of `compute` make, those of the first of these lines.
fn first_share(profile: &Profile, source: &str) -> Option<f64> {
    let first = source.lines().position(|line| line.contains("sum += compute("))? as u32 + 1;
    let program = profile.program();
    let (mut at_first, mut total) = (0.0, 0.0);
    for edge in profile.dcg() {
        let Some(site) = program.edges()[edge.edge].site.expand() else { continue };
        if &*program.functions[program.callee(edge.edge)].name == "compute" {
            total += edge.weight;
            at_first += if program.sites[site].line == first { edge.weight } else { 0.0 };
        }
    }
    (total > 0.0).then(|| 100.0 * at_first / total)
}
