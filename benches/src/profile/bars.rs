//! What `--profile adaptive` has to reach over the benchmark samples; each bar holds or fails.

use super::measure::Row;
use super::modes::Mode;
use super::table::summaries;

/// Overlaps and coverage in percent, at least; overhead in percent, at most.
const DCG: f64 = 98.0;
const CCT: f64 = 95.0;
const COVERAGE: f64 = 98.0;
pub const MEAN_OVERHEAD: f64 = 0.5;
const WORST_OVERHEAD: f64 = 2.0;
/// Of each sample: with so many contexts or fewer, and with more.
const CONTEXTS: usize = 10_000;
const EACH: f64 = 90.0;
const EACH_OF_MANY: f64 = 75.0;

/// Bars on means of overlap and coverage.
const OF_MEANS: usize = 6;

pub struct Bar {
    pub holds: bool,
    pub text: String,
}

impl std::fmt::Display for Bar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", if self.holds { "hold" } else { "fail" }, self.text)
    }
}

/// In percent, of a sample with so many contexts.
pub fn least_overlap(contexts: usize) -> f64 {
    if contexts > CONTEXTS { EACH_OF_MANY } else { EACH }
}

/// Empty if that mode was not measured.
pub fn bars(rows: &[Row]) -> Vec<Bar> {
    let summaries = summaries(rows);
    let Some(at) = summaries.iter().position(|summary| summary.mode == Mode::Adaptive) else { return vec![] };
    let (mean, overhead) = (summaries[at].quality, summaries[at].overhead);
    let cells = || rows.iter().map(|row| (row, &row.cells[at]));
    let least = |what: &str, is: f64, bar: f64| Bar { holds: is >= bar, text: format!("{what} {is:.2} %, at least {bar} %") };
    let coverage = |what: &str, clear: f64| format!("mean hot-edge coverage of {what} ({clear:.2} of edges clear above the threshold)");
    let mut bars = vec![
        least("mean DCG overlap", mean.dcg, DCG),
        least("mean CCT overlap, contexts told apart by methods as in PLDI'06", mean.methods, CCT),
        least("mean CCT overlap, contexts told apart by call sites", mean.cct, CCT),
        least("mean hot-edge coverage of CCTs, contexts told apart by methods as in PLDI'06", mean.hot_methods, COVERAGE),
        least(&coverage("CCTs by call sites", mean.clear_cct), mean.hot_cct, COVERAGE),
        least(&coverage("DCGs", mean.clear_dcg), mean.hot_dcg, COVERAGE),
    ];
    for (row, cell) in cells() {
        let bar = least_overlap(row.contexts);
        for (what, is) in [("methods", cell.quality.methods), ("call sites", cell.quality.dcg.min(cell.quality.cct))] {
            if is < bar {
                bars.push(least(&format!("overlap of {} with {} contexts, by {what},", row.name, row.contexts), is, bar));
            }
        }
    }
    if bars.len() == OF_MEANS {
        bars.push(Bar { holds: true, text: format!("no sample under {EACH} %, or {EACH_OF_MANY} % with more than {CONTEXTS} contexts") });
    }
    let most = |what: &str, shown: String, is: f64, bar: f64| Bar { holds: is <= bar, text: format!("{what} {shown} %, at most {bar} %") };
    bars.push(most("mean overhead", overhead.to_string(), overhead.estimate(), MEAN_OVERHEAD));
    if let Some((row, cell)) = cells().max_by(|a, b| a.1.overhead.estimate().total_cmp(&b.1.overhead.estimate())) {
        let worst = cell.overhead;
        bars.push(most(&format!("worst overhead, {}:", row.name), worst.to_string(), worst.estimate(), WORST_OVERHEAD));
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::measure::{Cell, Quality};
    use crate::profile::overhead::Overhead;

    fn row(contexts: usize, cct: f64, ratio: f64) -> Row {
        let quality = Quality { dcg: 99.0, cct, methods: cct, hot_dcg: 100.0, hot_cct: 100.0, hot_methods: 100.0, ..Quality::default() };
        let overhead = Overhead::of(&[(vec![1.0], vec![ratio])]).unwrap();
        let cell = Cell { mode: Mode::Adaptive, quality, overhead, overhead_of_sums: 0.0 };
        Row { name: "sample", iterations: 1, seconds: 1.0, calls: 1.0, contexts, cells: vec![cell] }
    }

    fn failing(rows: &[Row]) -> Vec<String> {
        bars(rows).into_iter().filter(|bar| !bar.holds).map(|bar| bar.text).collect()
    }

    #[test]
    fn each_bar_can_fail() {
        let good = || (0..9).map(|_| row(1, 99.0, 1.0));
        let with = |other| failing(&good().chain([other]).collect::<Vec<_>>());
        assert!(with(row(1, 90.0, 1.019)).is_empty());
        assert!(with(row(10_001, 75.0, 1.0)).is_empty());
        assert!(with(row(10_000, 89.9, 1.0))[0].starts_with("overlap of sample"));
        assert!(with(row(10_001, 74.9, 1.0))[0].starts_with("overlap of sample"));
        assert!(with(row(1, 99.0, 1.021))[0].starts_with("worst overhead"));
        assert!(with(row(1, 99.0, 1.06))[0].starts_with("mean overhead"));
        assert!(failing(&[row(1, 94.9, 1.0)])[0].starts_with("mean CCT overlap"));
    }
}
