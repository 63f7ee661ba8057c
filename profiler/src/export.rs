//! Profiles as files, in formats of our own and of other tools; the format is chosen by the file's extension.
//!
//! In: a [`Profile`] and a path, or a path alone. Out: a file, or a [`Profile`].
//! Every format says its unit, calls. Those that need integers get whole calls, rounded so that the total and the sum over any subtree stay within one call of the truth.
//! Names may hold any characters; each format escapes what it must.
//! Only `.json` keeps everything (see `docs/profile-format.md`) and, with `.folded`, is read back.
//!
//! ```
//! use profiler::export::{self, Format};
//!
//! // Three stacks from elsewhere, as a document that tells calls by edge and by context.
//! let profile = export::parse(Format::Folded, b"main;parse 20\nmain;run;step 75\nmain;run 5\n")?;
//! assert_eq!(profile.dcg_total(), 100.0);
//!
//! let mut graph = Vec::new();
//! export::render(&profile, Format::Dot, &mut graph)?;
//! assert!(String::from_utf8_lossy(&graph).contains(r#"[label="75 calls\n75.00 %""#));
//! # Ok::<(), export::ExportError>(())
//! ```

mod dot;
mod error;
mod firefox;
mod folded;
mod json;
mod links;
pub mod pprof;
mod speedscope;
mod stacks;
mod svg;
mod text;
mod xml;

pub use error::{ExportError, ReadError};
pub(crate) use text::{counted, grouped};

use crate::profile::{Profile, Structure};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// Our own, complete and versioned.
    Json,
    /// A line a stack: frames from the outermost, separated by `;`, then a number.
    Folded,
    /// A flame graph.
    Svg,
    /// `profile.proto` of pprof, compressed.
    Pprof,
    /// For <https://www.speedscope.app>.
    Speedscope,
    /// The Firefox profiler's processed profile.
    Firefox,
    /// A CC-Map: general nodes and context trees.
    Xml,
    /// The DCG for Graphviz.
    Dot,
}

impl Format {
    /// All of them; where one extension ends another, the longer stands first.
    pub const ALL: [Format; 8] =
        [Format::Speedscope, Format::Firefox, Format::Json, Format::Folded, Format::Svg, Format::Pprof, Format::Xml, Format::Dot];

    /// With its dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Json => ".json",
            Format::Folded => ".folded",
            Format::Svg => ".svg",
            Format::Pprof => ".pb.gz",
            Format::Speedscope => ".speedscope.json",
            Format::Firefox => ".firefox.json",
            Format::Xml => ".xml",
            Format::Dot => ".dot",
        }
    }

    /// The format that a path's extension asks for; letter case does not matter.
    ///
    /// # Errors
    ///
    /// The extension is none of [`Format::ALL`]'s.
    pub fn of(path: &Path) -> Result<Format, ExportError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let known = Format::ALL.into_iter().find(|format| name.ends_with(format.extension()));
        known.ok_or_else(|| ExportError::UnknownExtension(path.into()))
    }
}

/// Writes a profile in the format of the path's extension.
///
/// # Errors
///
/// An unknown extension, a profile that the format cannot show (then the file is not touched), or a failing write.
pub fn write(profile: &Profile, path: &Path) -> Result<(), ExportError> {
    write_as(profile, Format::of(path)?, path)
}

/// Writes a profile in a given format, whatever the path.
///
/// # Errors
///
/// As [`write()`].
pub fn write_as(profile: &Profile, format: Format, path: &Path) -> Result<(), ExportError> {
    check(profile, format)?;
    let failed = |error| ExportError::Write { path: path.into(), error };
    let file = File::create(path).map_err(|error| ExportError::Create { path: path.into(), error })?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    render_checked(profile, format, &mut out).map_err(|error| match error {
        ExportError::Stream(error) => failed(error),
        other => other,
    })?;
    out.flush().map_err(failed)
}

/// Writes a profile to a stream. The stream should be buffered; it is not flushed.
///
/// # Errors
///
/// The profile cannot be shown in the format, or writing fails.
pub fn render(profile: &Profile, format: Format, out: &mut dyn Write) -> Result<(), ExportError> {
    check(profile, format)?;
    render_checked(profile, format, out)
}

fn render_checked(profile: &Profile, format: Format, out: &mut dyn Write) -> Result<(), ExportError> {
    match format {
        Format::Json => json::write(profile, out),
        Format::Folded => folded::write(profile, out),
        Format::Svg => svg::write(profile, out),
        Format::Pprof => pprof::write(profile, out),
        Format::Speedscope => speedscope::write(profile, out),
        Format::Firefox => firefox::write(profile, out),
        Format::Xml => xml::write(profile, out),
        Format::Dot => dot::write(profile, out),
    }
}

/// Whether the format can show the profile.
///
/// # Errors
///
/// The profile cannot be shown in the format; the error says which formats can.
pub fn check(profile: &Profile, format: Format) -> Result<(), ExportError> {
    match format {
        Format::Folded | Format::Pprof => stacks::check_size(profile, format),
        Format::Svg => svg::check(profile),
        Format::Xml => xml::check(profile),
        Format::Speedscope | Format::Firefox => stacks::check_reversible(profile, format),
        Format::Dot => dot::check(profile),
        Format::Json => Ok(()),
    }
}

/// Whether the format can show contexts of this structure, whatever they are: what is known before there is a profile.
///
/// # Errors
///
/// As [`check`].
pub fn check_structure(structure: Structure, format: Format) -> Result<(), ExportError> {
    if format == Format::Xml { xml::check_structure(structure) } else { Ok(()) }
}

/// Reads a profile from a `.json` or `.folded` file.
///
/// # Errors
///
/// Another extension, a file that cannot be read, or content that is not a profile, with the place of the first fault.
pub fn read(path: &Path) -> Result<Profile, ExportError> {
    let format = Format::of(path)?;
    if !matches!(format, Format::Json | Format::Folded) {
        return Err(ExportError::OutputOnly(format));
    }
    let bytes = std::fs::read(path).map_err(|error| ExportError::Open { path: path.into(), error })?;
    parse(format, &bytes).map_err(|error| match error {
        ExportError::Content { error, .. } => ExportError::Content { path: Some(path.into()), error },
        other => other,
    })
}

/// Reads a profile from a file's content.
///
/// # Errors
///
/// As [`read`].
pub fn parse(format: Format, bytes: &[u8]) -> Result<Profile, ExportError> {
    let profile = match format {
        Format::Json => json::read(bytes),
        Format::Folded => folded::read(bytes),
        other => return Err(ExportError::OutputOnly(other)),
    };
    profile.map_err(|error| ExportError::Content { path: None, error })
}
