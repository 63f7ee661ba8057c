//! `vm bench FILE… --compare AXIS=A,B`: what a way of running programs is worth against another.
//!
//! In: programs, and an [`Axis`](axis::Axis) with the values to compare. Out: a table on stdout; with `--out` also as Markdown, CSV and JSON, and a plot. Invariants: all that is compared within a program did the same work, since it
//! printed the same; nothing is called a difference whose confidence interval contains 1.

mod axis;
mod chart;
mod csv;
mod options;
mod outcome;
mod phases;
#[cfg(feature = "native")]
mod plans;
mod programs;
mod rounds;
mod runner;
mod table;

#[cfg(feature = "native")]
pub use axis::name_of;
#[cfg(feature = "native")]
pub use options::Effort;
pub use options::{BenchArgs, parse_passes};
#[cfg(feature = "native")]
pub use plans::{Compared, PlanPair};
#[cfg(feature = "native")]
pub use table::phase_title;

use super::compile::compile;
use super::{temporary, text};
use options::Setup;
use outcome::{Failure, ProgramResult, Report};
use std::path::Path;

/// Programs that could not be measured, though they compile.
const FAILED: u8 = 1;

pub fn run(args: &BenchArgs) -> u8 {
    bench(args).unwrap_or_else(text::fail)
}

fn bench(args: &BenchArgs) -> Result<u8, String> {
    let setup = Setup::new(args)?;
    // A mistake in the last program shows before hours have gone into the first.
    if !setup.programs.iter().all(|program| compile(&program.file, false).is_some()) {
        return Ok(super::FAILURE);
    }
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).map_err(|e| format!("cannot make the folder {}: {e}", folder.display()))?;
    }
    if cfg!(debug_assertions) {
        text::complain("warning: this is a debug build of vm, whose times say nothing about a release build\n");
    }
    temporary::end_when_interrupted();
    let (mut results, mut failed) = (Vec::new(), Vec::new());
    for program in &setup.programs {
        match rounds::measure(&setup, program) {
            Ok(measured) => {
                let (rounds, plural) = (measured.rounds(), if measured.rounds() == 1 { "" } else { "s" });
                text::complain(&format!("{}: {rounds} round{plural} in {:.1} s\n", program.name, measured.seconds));
                results.push(ProgramResult::new(&setup, program, &measured));
            }
            Err(message) => {
                failed.push(Failure::new(program, &message));
                text::fail(message);
            }
        }
    }
    let code = if failed.is_empty() { 0 } else { FAILED };
    let has_results = !results.is_empty();
    let report = Report::new(&setup, results, failed);
    let printed = if has_results { text::print(&table::text(&report)) } else { 0 };
    if let Some(folder) = &args.out {
        write(folder, &report)?;
    }
    Ok(if code == 0 { printed } else { code })
}

fn write(folder: &Path, report: &Report) -> Result<(), String> {
    let json = serde_json::to_string_pretty(report).map_err(|e| format!("cannot write the results as JSON: {e}"))?;
    let files = [
        ("bench.md", table::markdown(report)),
        ("bench.csv", csv::csv(report)),
        ("bench.json", json + "\n"),
        ("bench.svg", chart::svg(report)),
    ];
    files.into_iter().try_for_each(|(name, text)| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
    })
}
