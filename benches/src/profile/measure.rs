//! Runs of one subject in several modes, in turns with an unprofiled one, and what they give together.

use super::agreement::{Agreement, CLEAR, HOT, covered};
use super::modes::Mode;
use super::overhead::Overhead;
use super::subject::{Profiled, Subject};
use profiler::profile::Profile;

/// What a profile is worth; percentages from 0 to 100.
#[derive(Clone, Copy, Default, Debug)]
pub struct Quality {
    /// Degree of overlap of the call graphs.
    pub dcg: f64,
    /// Of the calling context trees.
    pub cct: f64,
    /// Of calling context trees without call sites, as in PLDI'06.
    pub methods: f64,
    /// Hot-edge coverage of the call graph.
    pub hot_dcg: f64,
    /// Of the calling context tree.
    pub hot_cct: f64,
    /// Of that without call sites, as in PLDI'06.
    pub hot_methods: f64,
    /// Of the first and the second, of edges that lie clear above the threshold.
    pub clear_dcg: f64,
    pub clear_cct: f64,
    /// Edges of the call graph whose true weight lies within two stated standard errors; `None` where weights are no numbers of calls.
    pub covered: Option<f64>,
    /// Bursts that the history has prevented, in percent of the ticks.
    pub disabled: f64,
    /// Handed over.
    pub samples: f64,
    /// Lost on the way.
    pub dropped: f64,
}

impl Quality {
    pub fn of(profile: &Profile, agreement: &Agreement, threshold: f64) -> Quality {
        let counters = &profile.meta().counters;
        Quality {
            dcg: agreement.dcg.overlap(),
            cct: agreement.contexts.overlap(),
            methods: agreement.methods.overlap(),
            hot_dcg: agreement.dcg.hot_edge_coverage(threshold),
            hot_cct: agreement.contexts.hot_edge_coverage(threshold),
            hot_methods: agreement.methods.hot_edge_coverage(threshold),
            clear_dcg: agreement.dcg.clear_hot_edge_coverage(threshold, CLEAR),
            clear_cct: agreement.contexts.clear_hot_edge_coverage(threshold, CLEAR),
            covered: None,
            disabled: counters.bursts_skipped as f64 * 100.0 / (counters.ticks as f64).max(1.0),
            samples: counters.samples as f64,
            dropped: counters.samples_dropped as f64,
        }
    }

    /// There is at least one.
    pub fn mean(all: impl Iterator<Item = Quality> + Clone) -> Quality {
        let count = all.clone().count() as f64;
        let mean = |value: fn(&Quality) -> f64| all.clone().map(|quality| value(&quality)).sum::<f64>() / count;
        Quality {
            dcg: mean(|q| q.dcg),
            cct: mean(|q| q.cct),
            methods: mean(|q| q.methods),
            hot_dcg: mean(|q| q.hot_dcg),
            hot_cct: mean(|q| q.hot_cct),
            hot_methods: mean(|q| q.hot_methods),
            clear_dcg: mean(|q| q.clear_dcg),
            clear_cct: mean(|q| q.clear_cct),
            covered: {
                let known: Vec<f64> = all.clone().filter_map(|q| q.covered).collect();
                (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
            },
            disabled: mean(|q| q.disabled),
            samples: mean(|q| q.samples),
            dropped: mean(|q| q.dropped),
        }
    }
}

/// A sample in a mode.
pub struct Cell {
    pub mode: Mode,
    /// The mean of the rounds.
    pub quality: Quality,
    pub overhead: Overhead,
    /// From the sum of all iterations, in percent, where the other is from their median.
    pub overhead_of_sums: f64,
}

/// A sample.
pub struct Row {
    pub name: &'static str,
    pub iterations: u32,
    /// Of a run without profiling, the mean.
    pub seconds: f64,
    pub calls: f64,
    /// With calls.
    pub contexts: usize,
    /// In the order of the modes that were asked for.
    pub cells: Vec<Cell>,
}

pub fn measure(subject: &Subject<'_>, modes: &[Mode], rounds: u32, again: bool) -> Result<Row, String> {
    let exact = subject.exact(again)?;
    let flags: Vec<Vec<&str>> = modes.iter().map(|mode| mode.flags().to_vec()).collect();
    let mut unprofiled: Vec<Vec<f64>> = Vec::new();
    let mut runs: Vec<Vec<(Vec<f64>, Quality)>> = modes.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        let (seconds, profiled) = subject.round(&flags, round + 1)?;
        unprofiled.push(seconds);
        for ((mode, runs), Profiled { seconds, profile }) in modes.iter().zip(&mut runs).zip(profiled) {
            let quality = Quality::of(&profile, &Agreement::new(&profile, &exact, None)?, HOT);
            let covered = mode.counts_calls().then(|| covered(&profile, &exact, subject.iterations)).flatten();
            runs.push((seconds, Quality { covered, ..quality }));
        }
    }
    let cells: Option<Vec<Cell>> = modes.iter().zip(&runs).map(|(&mode, runs)| cell(mode, &unprofiled, runs)).collect();
    let cells = cells.ok_or_else(|| format!("{}: an iteration takes no time", subject.benchmark.name))?;
    let contexts = exact.contexts().map_or(0, |contexts| contexts.own_weights().values().filter(|&&weight| weight > 0.0).count());
    let seconds = unprofiled.iter().flatten().sum::<f64>() / f64::from(rounds);
    Ok(Row { name: subject.benchmark.name, iterations: subject.iterations, seconds, calls: exact.dcg_total(), contexts, cells })
}

fn cell(mode: Mode, unprofiled: &[Vec<f64>], runs: &[(Vec<f64>, Quality)]) -> Option<Cell> {
    let rounds: Vec<_> = unprofiled.iter().cloned().zip(runs.iter().map(|run| run.0.clone())).collect();
    let (off, on) = rounds.iter().fold((0.0, 0.0), |sums, (off, on)| (sums.0 + off.iter().sum::<f64>(), sums.1 + on.iter().sum::<f64>()));
    Some(Cell {
        mode,
        quality: Quality::mean(runs.iter().map(|run| run.1)),
        overhead: Overhead::of(&rounds)?,
        overhead_of_sums: 100.0 * (on / off - 1.0),
    })
}
