//! `vm diff` and `vm convert`: profiles as files.
//!
//! In: profiles in a format that can be read, or traces. Out: what differs, on stdout; the same profile in another format.

use super::args::{ConvertArgs, DiffArgs};
use super::{replay, text};
use profiler::collect::StructureKind;
use profiler::diff::{DiffOptions, diff};
use profiler::export::{self, Format};
use profiler::profile::{Profile, Structure};
use std::path::Path;

/// Prints how two profiles differ; differences are no failure.
pub fn compare(args: &DiffArgs) -> u8 {
    let ((before, first), (after, second)) = match (read(&args.before, args.json), read(&args.after, args.json)) {
        (Ok(before), Ok(after)) => (before, after),
        // Both files may be wrong: all errors are shown.
        (before, after) => {
            return [before.err(), after.err()].iter().flatten().map(text::fail).max().unwrap_or(super::FAILURE);
        }
    };
    let defaults = DiffOptions::default();
    let thresholds = if args.thresholds.is_empty() { defaults.thresholds } else { args.thresholds.clone() };
    let found = diff(&before, &after, &DiffOptions { thresholds, changes: args.changes.unwrap_or(defaults.changes) });
    let printed = if args.json { text::print(&(found.to_json() + "\n")) } else { text::print(&found.to_string()) };
    printed.max(first).max(second)
}

pub fn convert(args: &ConvertArgs) -> u8 {
    let written = Format::of(&args.output).map_err(|error| error.to_string()).and_then(|_| {
        let (profile, code) = read(&args.input, false)?;
        export::write(&profile, &args.output).map_err(|error| error.to_string())?;
        Ok(code)
    });
    written.unwrap_or_else(|error| text::fail(&error))
}

/// What can be seen before there is a profile of why it could not be written.
pub fn check_output(path: &Path, kind: StructureKind) -> Result<(), String> {
    let format = Format::of(path).map_err(|error| error.to_string())?;
    if let StructureKind::Kccf(k) = kind {
        export::check_structure(Structure::Kccf { k: Some(k) }, format).map_err(|error| error.to_string())?;
    }
    text::check_folder(path)
}

/// A profile, or the exact one of a trace. With it the exit code: only a part of a trace may be readable, which is told here.
fn read(path: &Path, quiet: bool) -> Result<(Profile, u8), String> {
    if Format::of(path).is_ok() {
        return export::read(path).map(|profile| (profile, 0)).map_err(|error| error.to_string());
    }
    let hint = |error| format!("{error}\nhint: profiles are read from .json and .folded files, traces from all others");
    let (profile, damage) = replay::exact(path, quiet).map_err(hint)?;
    Ok((profile, damage.map_or(0, |damage| replay::complain(path, &damage))))
}
