//! `vm diff` and `vm convert`: profiles as files.
//!
//! In: profiles in a format that can be read. Out: what differs, on stdout; the same profile in another format.

use super::args::{ConvertArgs, DiffArgs};
use super::text;
use profiler::diff::{DiffOptions, diff};
use profiler::export::{self, ExportError};

/// Prints how two profiles differ; differences are no failure.
pub fn compare(args: &DiffArgs) -> u8 {
    let (before, after) = match (export::read(&args.before), export::read(&args.after)) {
        (Ok(before), Ok(after)) => (before, after),
        // Both files may be wrong: all errors are shown.
        (before, after) => return [before.err(), after.err()].into_iter().flatten().map(fail).max().unwrap_or(super::FAILURE),
    };
    let defaults = DiffOptions::default();
    let thresholds = if args.thresholds.is_empty() { defaults.thresholds } else { args.thresholds.clone() };
    let found = diff(&before, &after, &DiffOptions { thresholds, changes: args.changes.unwrap_or(defaults.changes) });
    if args.json { text::print(&(found.to_json() + "\n")) } else { text::print(&found.to_string()) }
}

pub fn convert(args: &ConvertArgs) -> u8 {
    let written =
        export::Format::of(&args.output).and_then(|_| export::read(&args.input)).and_then(|profile| export::write(&profile, &args.output));
    written.map_or_else(fail, |()| 0)
}

fn fail(error: ExportError) -> u8 {
    text::complain(&format!("error: {error}\n"));
    super::FAILURE
}
