//! Whether the samplers come out in the papers' order, and ours above all of them.
//!
//! In: outcomes on each trace. Out: lines of text. PLDI'06 compares degrees of overlap of the CCT (Figure 5), TACO'15 of the DCG.

use super::outcome::Outcome;
use super::samplers::Paper;
use super::{Measured, mean_of};

/// A claim of a paper: the second is more accurate than the first.
struct Claim {
    less: Paper,
    more: Paper,
    metric: Metric,
}

#[derive(Clone, Copy)]
enum Metric {
    Cct,
    Dcg,
}

impl Metric {
    fn name(self) -> &'static str {
        match self {
            Metric::Cct => "CCT overlap",
            Metric::Dcg => "DCG overlap",
        }
    }

    fn of(self, outcome: &Outcome) -> f64 {
        match self {
            Metric::Cct => outcome.cct.mean,
            Metric::Dcg => outcome.dcg.mean,
        }
    }
}

const CLAIMS: &[Claim] = &[
    Claim { less: Paper::StackWalk, more: Paper::Adaptive, metric: Metric::Cct },
    Claim { less: Paper::Adaptive, more: Paper::AdaptiveReEnable, metric: Metric::Cct },
    Claim { less: Paper::AdaptiveReEnable, more: Paper::Static, metric: Metric::Cct },
    Claim { less: Paper::Cbs, more: Paper::CbsDensity, metric: Metric::Dcg },
    Claim { less: Paper::Cbs, more: Paper::CbsLatency, metric: Metric::Dcg },
];

pub fn print(measured: &[Measured]) {
    println!("\n### The papers' order\n");
    println!("| claim | metric | in the mean | holds | differs on |");
    println!("|---|---|---|---|---|");
    for Claim { less, more, metric } in CLAIMS {
        let pair = |m: &Measured| (metric.of(&m.of(*less).theirs), metric.of(&m.of(*more).theirs));
        let means = (metric.of(&mean_of(measured, *less).theirs), metric.of(&mean_of(measured, *more).theirs));
        let differing: Vec<String> = measured
            .iter()
            .map(|m| (m.name, pair(m)))
            .filter(|(_, (a, b))| a > b)
            .map(|(name, (a, b))| format!("{name} ({a:.1}, {b:.1})"))
            .collect();
        println!(
            "| {} < {} | {} | {:.1}, {:.1} | {} | {} |",
            less.name(),
            more.name(),
            metric.name(),
            means.0,
            means.1,
            if means.0 < means.1 { "yes" } else { "no" },
            if differing.is_empty() { "–".into() } else { differing.join(", ") }
        );
    }
    println!("\n### Ours at the same modelled cost\n");
    println!("| sampler | theirs: DCG, CCT, hot | ours: DCG, CCT, hot | above in the mean | not above on (CCT) |");
    println!("|---|---|---|---|---|");
    for paper in Paper::ALL {
        let mean = mean_of(measured, paper);
        let is_above = |theirs: &Outcome, ours: &Outcome| ours.cct.mean >= theirs.cct.mean && ours.dcg.mean >= theirs.dcg.mean;
        let below = measured.iter().filter(|m| m.of(paper).ours.cct.mean < m.of(paper).theirs.cct.mean);
        let below: Vec<String> =
            below.map(|m| format!("{} ({:.1}, {:.1})", m.name, m.of(paper).theirs.cct.mean, m.of(paper).ours.cct.mean)).collect();
        let numbers = |o: &Outcome| format!("{:.1}, {:.1}, {:.1}", o.dcg.mean, o.cct.mean, o.hot.mean);
        println!(
            "| {} | {} | {} | {} | {} |",
            paper.name(),
            numbers(&mean.theirs),
            numbers(&mean.ours),
            if is_above(&mean.theirs, &mean.ours) { "yes" } else { "no" },
            if below.is_empty() { "–".into() } else { below.join(", ") }
        );
    }
}
