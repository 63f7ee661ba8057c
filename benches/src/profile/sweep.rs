//! One number of a sampler varied: accuracy and cost over it, in the mean over samples.
//!
//! Out: a table on stdout and, with a folder, as `sweep-NAME.csv` and a plot `sweep-NAME.svg`.

use super::agreement::{Agreement, HOT};
use super::measure::Quality;
use super::overhead::Overhead;
use super::plot::{self, Chart, Curve};
use super::subject::Subject;
use profiler::profile::Profile;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Sweep {
    /// Length of a burst: ours, and adaptive bursting with RR 5 %
    Burst,
    /// Re-enable ratio of adaptive bursting
    Reenable,
    /// From which part of the hottest edge's weight edges are hot
    Threshold,
    /// How far contexts reach back: k of k-CCFs
    K,
    /// Length of the run
    Time,
}

/// A point of a curve.
struct Point {
    curve: &'static str,
    x: f64,
    flags: String,
    /// How far contexts reach back; 0: all the way.
    k: usize,
    threshold: f64,
    /// Part of the run's full length.
    length: f64,
}

/// What became of it, in the mean over the samples.
struct Outcome {
    quality: Quality,
    overhead: Overhead,
}

const RE_ENABLE: &str = "adaptive bursts, RR 5 %";
const OURS: &str = "ours, adaptive";
/// Who is compared where what varies is not the sampler's.
const SAMPLERS: [(&str, &str); 4] = [
    (OURS, "--profile adaptive"),
    (RE_ENABLE, "--profile adaptive --reenable 0.05"),
    ("CBS(8,2)", "--profile cbs"),
    ("stack walk", "--profile stackwalk"),
];

impl Sweep {
    fn name(self) -> String {
        clap::ValueEnum::to_possible_value(&self).map_or(String::new(), |value| value.get_name().to_owned())
    }

    fn axis(self) -> &'static str {
        match self {
            Sweep::Burst => "calls in a burst",
            Sweep::Reenable => "re-enable ratio",
            Sweep::Threshold => "threshold",
            Sweep::K => "k",
            Sweep::Time => "part of the run",
        }
    }

    fn is_logarithmic(self) -> bool {
        matches!(self, Sweep::Burst | Sweep::Threshold | Sweep::Time)
    }

    fn points(self) -> Vec<Point> {
        let point = |curve, flags: &str, x| Point { curve, x, flags: flags.into(), k: 0, threshold: HOT, length: 1.0 };
        let each = |xs: &[f64], of: fn(f64, Point) -> Point| {
            SAMPLERS.iter().flat_map(|&(curve, flags)| xs.iter().map(move |&x| of(x, point(curve, flags, x)))).collect()
        };
        match self {
            Sweep::Burst => {
                let ours =
                    [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0].map(|x| point(OURS, &format!("--profile adaptive --burst {x}"), x));
                let theirs = [20.0, 200.0, 2000.0, 20000.0, 200000.0];
                let theirs = theirs.map(|x| point(RE_ENABLE, &format!("--profile adaptive --reenable 0.05 --burst {x}"), x));
                ours.into_iter().chain(theirs).collect()
            }
            Sweep::Reenable => {
                let ratios = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];
                ratios.iter().map(|&x| point("adaptive bursts", &format!("--profile adaptive --reenable {x}"), x)).collect()
            }
            Sweep::Threshold => each(&[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.9], |x, point| Point { threshold: x, ..point }),
            Sweep::K => each(&[1.0, 2.0, 3.0, 5.0, 10.0], |x, point| Point { k: x as usize, ..point }),
            Sweep::Time => each(&[0.1, 0.2, 0.4, 1.0], |x, point| Point { length: x, ..point }),
        }
    }
}

pub fn run(sweep: Sweep, subjects: &[Subject<'_>], seconds: f64, again: bool, folder: Option<&Path>) -> Result<(), String> {
    let points = sweep.points();
    let mut by_sample: Vec<Vec<(Quality, Overhead)>> = Vec::new();
    for subject in subjects {
        by_sample.push(sample(&points, subject, seconds, again)?);
        eprintln!("{} measured", subject.benchmark.name);
    }
    let outcome = |at: usize| {
        let overhead = Overhead::mean(by_sample.iter().map(|points| points[at].1))?;
        Some(Outcome { quality: Quality::mean(by_sample.iter().map(|points| points[at].0)), overhead })
    };
    let outcomes: Option<Vec<Outcome>> = (0..points.len()).map(outcome).collect();
    let outcomes = outcomes.ok_or("no samples")?;
    let names: Vec<&str> = subjects.iter().map(|subject| subject.benchmark.name).collect();
    println!("\n### {}, {} s a run: {}\n", sweep.axis(), seconds, names.join(", "));
    println!("| sampler | {} | DCG | contexts | hot contexts | disabled % | overhead % |", sweep.axis());
    println!("|---|---|---|---|---|---|---|");
    for (Point { curve, x, .. }, Outcome { quality: q, overhead }) in points.iter().zip(&outcomes) {
        println!("| {curve} | {x} | {:.2} | {:.2} | {:.1} | {:.1} | {overhead} |", q.dcg, q.cct, q.hot_cct, q.disabled);
    }
    let Some(folder) = folder else { return Ok(()) };
    super::write(folder, &format!("sweep-{}.csv", sweep.name()), &csv(&points, &names, &by_sample))?;
    plot::write(&folder.join(format!("sweep-{}.svg", sweep.name())), &charts(sweep, &points, &outcomes))
}

/// All points of one sample. Points that differ only in what is computed from a profile share the run.
fn sample(points: &[Point], subject: &Subject<'_>, seconds: f64, again: bool) -> Result<Vec<(Quality, Overhead)>, String> {
    let exact = subject.exact(again)?;
    let mut runs: HashMap<(&str, u32), (Profile, Overhead)> = HashMap::new();
    let mut out = Vec::new();
    for point in points {
        let subject = &subject.lasting(seconds * point.length);
        let (profile, overhead) = match runs.entry((&point.flags, subject.iterations)) {
            Entry::Occupied(known) => &*known.into_mut(),
            Entry::Vacant(unknown) => {
                let (unprofiled, mut runs) = subject.round(&[point.flags.split_whitespace().collect()], 1)?;
                let run = runs.pop().ok_or("no profiled run")?;
                let overhead = Overhead::of(&[(unprofiled, run.seconds)]).ok_or("an iteration takes no time")?;
                unknown.insert((run.profile, overhead))
            }
        };
        let agreement = Agreement::new(profile, &exact, NonZeroUsize::new(point.k))?;
        out.push((Quality::of(profile, &agreement, point.threshold), *overhead));
    }
    Ok(out)
}

fn csv(points: &[Point], names: &[&str], by_sample: &[Vec<(Quality, Overhead)>]) -> String {
    let mut text = "sampler,x,sample,dcg_overlap,context_overlap,hot_contexts,hot_dcg,disabled,samples,overhead\n".to_owned();
    for (name, outcomes) in names.iter().zip(by_sample) {
        for (Point { curve, x, .. }, (q, overhead)) in points.iter().zip(outcomes) {
            _ = write!(text, "\"{curve}\",{x},{name},{:.4},{:.4},{:.2},{:.2},", q.dcg, q.cct, q.hot_cct, q.hot_dcg);
            _ = writeln!(text, "{:.2},{},{:.4}", q.disabled, q.samples, overhead.estimate());
        }
    }
    text
}

fn charts(sweep: Sweep, points: &[Point], outcomes: &[Outcome]) -> Vec<Chart> {
    let mut names: Vec<&str> = points.iter().map(|point| point.curve).collect();
    names.dedup();
    let chart = |title: &str, accuracy: fn(&Quality) -> f64| {
        let curve = |name: &str| {
            let own = points.iter().zip(outcomes).filter(|(point, _)| point.curve == name);
            Curve { title: name.into(), points: own.map(|(point, outcome)| (point.x, accuracy(&outcome.quality))).collect() }
        };
        Chart {
            title: title.into(),
            x: sweep.axis().into(),
            logarithmic: sweep.is_logarithmic(),
            y: "percent".into(),
            curves: names.iter().map(|name| curve(name)).collect(),
        }
    };
    vec![
        chart("Overlap of DCGs", |q| q.dcg),
        chart("Overlap of contexts", |q| q.cct),
        chart("Hot-edge coverage of contexts", |q| q.hot_cct),
    ]
}
