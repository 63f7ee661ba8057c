//! Measurements as Markdown and as CSV.

use super::measure::{Cell, Quality, Row};
use super::modes::Mode;
use super::overhead::Overhead;
use std::fmt::Write;

/// A mode over all samples.
pub struct Summary {
    pub mode: Mode,
    pub quality: Quality,
    pub overhead: Overhead,
}

/// In the order in which rows have them.
pub fn summaries(rows: &[Row]) -> Vec<Summary> {
    let modes = rows.first().map_or(0, |row| row.cells.len());
    let summary = |at: usize| {
        let overhead = Overhead::mean(rows.iter().map(|row| row.cells[at].overhead))?;
        Some(Summary { mode: rows[0].cells[at].mode, quality: Quality::mean(rows.iter().map(|row| row.cells[at].quality)), overhead })
    };
    (0..modes).filter_map(summary).collect()
}

/// The mean over the samples beside the papers', then the samples mode by mode.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = format!("### Mean over {} samples\n\n", rows.len());
    text += "| mode | overhead %, 95 % interval | DCG | CCT | CCT of methods | hot CCT (clear) | hot CCT of methods | hot DCG (clear) | within 2 errors | disabled % | samples | dropped | the paper's |\n";
    text += "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for Summary { mode, quality, overhead } in summaries(rows) {
        _ = writeln!(text, "| {} | {overhead} | {} | {} |", mode.title(), columns(&quality), mode.paper());
    }
    for at in 0..rows.first().map_or(0, |row| row.cells.len()) {
        _ = write!(text, "\n### By sample: {}\n\n", rows[0].cells[at].mode.title());
        text += "| sample | s | million calls, one iteration | contexts | overhead %, 95 % interval | DCG | CCT | CCT of methods | hot CCT (clear) | hot CCT of methods | hot DCG (clear) | within 2 errors | disabled % | samples | dropped |\n";
        text += "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
        for Row { name, seconds, calls, contexts, cells, .. } in rows {
            let Cell { quality, overhead, .. } = &cells[at];
            _ = writeln!(text, "| {name} | {seconds:.1} | {:.1} | {contexts} | {overhead} | {} |", calls / 1e6, columns(quality));
        }
    }
    text
}

fn columns(quality: &Quality) -> String {
    let Quality { dcg, cct, methods, hot_dcg, hot_cct, hot_methods, clear_dcg, clear_cct, covered, disabled, samples, dropped } = quality;
    let hot = format!("{hot_cct:.1} ({clear_cct:.1}) | {hot_methods:.1} | {hot_dcg:.1} ({clear_dcg:.1})");
    let covered = covered.map_or("–".into(), |covered| format!("{covered:.1}"));
    format!("{dcg:.2} | {cct:.2} | {methods:.2} | {hot} | {covered} | {disabled:.1} | {samples:.0} | {dropped:.0}")
}

/// One line for each sample in each mode.
pub fn csv(rows: &[Row], tier: &str) -> String {
    let mut text = "sample,tier,seconds,iterations,calls_of_an_iteration,contexts,mode,overhead,overhead_low,overhead_high,overhead_of_sums,\
         dcg_overlap,cct_overlap,cct_of_methods,hot_cct,hot_cct_of_methods,hot_dcg,clear_cct,clear_dcg,within_2_errors,disabled,samples,dropped\n"
        .to_owned();
    for Row { name, iterations, seconds, calls, contexts, cells } in rows {
        for Cell { mode, quality, overhead, overhead_of_sums } in cells {
            let (low, high) = overhead.interval().map_or_else(Default::default, |(low, high)| (format!("{low:.4}"), format!("{high:.4}")));
            let Quality { dcg, cct, methods, hot_dcg, hot_cct, hot_methods, clear_dcg, clear_cct, covered, disabled, samples, dropped } =
                quality;
            let covered = covered.map_or(String::new(), |covered| format!("{covered:.2}"));
            let mode = clap::ValueEnum::to_possible_value(mode).map_or(String::new(), |value| value.get_name().to_owned());
            _ = write!(text, "{name},{tier},{seconds:.3},{iterations},{calls},{contexts},{mode},");
            _ = write!(text, "{:.4},{low},{high},{overhead_of_sums:.4},", overhead.estimate());
            _ = writeln!(
                text,
                "{dcg:.4},{cct:.4},{methods:.4},{hot_cct:.2},{hot_methods:.2},{hot_dcg:.2},{clear_cct:.2},{clear_dcg:.2},{covered},{disabled:.2},{samples},{dropped}"
            );
        }
    }
    text
}
