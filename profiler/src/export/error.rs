//! What can go wrong with files, each with its cause and what to do about it.

use super::Format;
use crate::profile::{ProfileError, Structure};
use std::fmt;
use std::io;
use std::path::Path;

/// Why a file was not written or read.
#[derive(Debug)]
pub enum ExportError {
    /// A path whose extension is no format's.
    UnknownExtension(Box<Path>),
    /// The format cannot be read.
    OutputOnly(Format),
    /// The file was not even begun.
    Create {
        /// The file.
        path: Box<Path>,
        /// The cause.
        error: io::Error,
    },
    /// The file was begun.
    Write {
        /// The file.
        path: Box<Path>,
        /// The cause.
        error: io::Error,
    },
    /// As `Write`, where the stream has no name.
    Stream(io::Error),
    /// The file cannot be read.
    Open {
        /// The file.
        path: Box<Path>,
        /// The cause.
        error: io::Error,
    },
    /// The file is there, but no profile is in it.
    Content {
        /// The file, where there is one.
        path: Option<Box<Path>>,
        /// The cause.
        error: ReadError,
    },
    /// No call has been counted, so there is nothing to draw.
    NoCalls(Format),
    /// The format shows edges, and the profile has weights of contexts alone.
    NoEdges(Format),
    /// The format writes every stack in full, and these stacks together have more than 2²⁷ frames.
    TooManyFrames(Format),
    /// As [`ExportError::TooManyFrames`], of contexts that have callees above their callers: no format but JSON takes them without writing every stack in full.
    TooManyReversed(Format),
    /// The format writes the names of every stack in full, and these together have more than 2³² bytes.
    TooManyBytes(Format),
    /// The format shows callers above callees, the structure is the other way round.
    Reversed(Format, Structure),
}

/// What is wrong with a file's content.
#[derive(Debug)]
pub enum ReadError {
    /// Not UTF-8.
    NotText,
    /// Not JSON, or JSON of other fields; says line and column.
    Json(serde_json::Error),
    /// JSON of another kind.
    NotAProfile,
    /// A version that this program does not know.
    Version(u64),
    /// The parts do not fit together.
    Profile(ProfileError),
    /// A column is shorter or longer than another.
    Columns {
        /// The column.
        what: &'static str,
        /// Entries, as in the first column.
        expected: usize,
        /// Entries.
        found: usize,
    },
    /// Contexts of a file of this version do not say how sure they are, or do where they must not.
    Certainty(u64),
    /// Edges or contexts of a file of this version do not say how sure shares are, or do where they must not.
    ShareErrors(u64),
    /// The edge of this index is the same as an earlier one.
    RepeatedEdge(usize),
    /// A structure of a name that this program does not know, or one without its k or percentage.
    Structure(String),
    /// A line of folded stacks (1-based) and what is wrong with it.
    Line(usize, &'static str),
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        ExportError::Stream(error)
    }
}

impl From<serde_json::Error> for ExportError {
    fn from(error: serde_json::Error) -> Self {
        ExportError::Stream(error.into())
    }
}

impl From<serde_json::Error> for ReadError {
    fn from(error: serde_json::Error) -> Self {
        ReadError::Json(error)
    }
}

impl From<ProfileError> for ReadError {
    fn from(error: ProfileError) -> Self {
        ReadError::Profile(error)
    }
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::UnknownExtension(path) => {
                let known: Vec<&str> = Format::ALL.iter().map(|format| format.extension()).collect();
                write!(f, "{}: the extension says no format; known are {}", path.display(), known.join(", "))
            }
            ExportError::OutputOnly(format) => {
                write!(f, "{} files can be written but not read; a profile is read from .json or .folded", format.extension())
            }
            ExportError::Create { path, error } => write!(f, "{}: cannot be created: {error}", path.display()),
            ExportError::Write { path, error } => write!(f, "{}: writing failed, the file is incomplete: {error}", path.display()),
            ExportError::Stream(error) => write!(f, "writing failed: {error}"),
            ExportError::Open { path, error } => write!(f, "{}: cannot be read: {error}", path.display()),
            ExportError::Content { path: Some(path), error } => write!(f, "{}: {error}", path.display()),
            ExportError::Content { path: None, error } => error.fmt(f),
            ExportError::NoCalls(format) => {
                write!(f, "the profile counts no calls: there is nothing to show in a {} file", format.extension())
            }
            ExportError::NoEdges(format) => write!(
                f,
                "{} shows weights of edges, but this profile has weights of contexts alone; replay with --structure dcg",
                format.extension()
            ),
            ExportError::TooManyFrames(format) => {
                let (name, limit) = (format.extension(), super::text::grouped(super::stacks::FRAMES));
                write!(
                    f,
                    "{name} writes every stack in full, here more than {limit} frames; .json, .speedscope.json and .firefox.json do not"
                )
            }
            ExportError::TooManyReversed(format) => {
                let (name, limit) = (format.extension(), super::text::grouped(super::stacks::FRAMES));
                write!(
                    f,
                    "{name} writes every stack of a structure that has callees above their callers in full, here more than {limit} frames; .json does not"
                )
            }
            ExportError::TooManyBytes(format) => {
                let (name, limit) = (format.extension(), super::text::grouped(super::stacks::BYTES));
                write!(
                    f,
                    "{name} writes the names of every stack in full, here more than {limit} bytes; .json, .pb.gz, .speedscope.json and .firefox.json write each name once"
                )
            }
            ExportError::Reversed(format, structure) => {
                write!(f, "{} shows callees below their callers, but a {structure} has it the other way round; ", format.extension())?;
                f.write_str("use .json or .svg, or replay with another structure (cct, ccmap)")
            }
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NotText => f.write_str("not text in UTF-8"),
            ReadError::Json(error) => write!(f, "not a profile: {error}"),
            ReadError::NotAProfile => write!(f, "JSON, but not a profile: \"format\" is not {:?}", super::json::FORMAT),
            ReadError::Version(version) => {
                let (oldest, newest) = (super::json::OLDEST, super::json::VERSION);
                write!(f, "a profile of version {version}; this program reads versions {oldest} to {newest}: use a newer program")
            }
            ReadError::Profile(error) => write!(f, "not a valid profile: {error}"),
            ReadError::Columns { what, expected, found } => {
                write!(f, "not a valid profile: {found} {what} for {expected} context nodes")
            }
            ReadError::Certainty(version) => {
                write!(
                    f,
                    "not a valid profile: contexts of version {version} {}",
                    if *version == super::json::OLDEST {
                        "have none of `certainty`, `error` and `samples`"
                    } else {
                        "have `certainty`, `error` and `samples`"
                    }
                )
            }
            ReadError::ShareErrors(version) => {
                write!(
                    f,
                    "not a valid profile: `share_error` is a field of edges and of contexts from version 3 on, and this is version {version}"
                )
            }
            ReadError::RepeatedEdge(at) => write!(f, "not a valid profile: edge {at} is the same as an earlier one"),
            ReadError::Structure(what) => write!(f, "not a valid profile: {what}"),
            ReadError::Line(line, what) => write!(f, "line {line}: {what}"),
        }
    }
}

impl std::error::Error for ExportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ExportError::Create { error, .. }
            | ExportError::Write { error, .. }
            | ExportError::Open { error, .. }
            | ExportError::Stream(error) => Some(error),
            ExportError::Content { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl std::error::Error for ReadError {}
