//! What can go wrong with plans, each with its cause and what to do about it.

use std::fmt;
use std::io;
use std::path::Path;

/// Why there is no plan, or no file of one.
#[derive(Debug)]
pub enum PlanError {
    /// An index that leads nowhere.
    NoSuch {
        /// Of which kind.
        what: &'static str,
        /// The index.
        index: usize,
        /// How many there are.
        len: usize,
    },
    /// A class is tested for whose function, of this index, the call does not reach.
    Target(u32),
    /// No [`Form`](crate::oracle::Form).
    Form(String),
    /// A reason that this program does not know, or one of the other answer.
    Reason(String),
    /// Not UTF-8.
    NotText,
    /// Not JSON, or JSON of other fields; says line and column.
    #[cfg(feature = "export")]
    Json(serde_json::Error),
    /// JSON of another kind.
    NotAPlan,
    /// A version that this program does not know.
    Version(u64),
    /// The file cannot be read.
    Open {
        /// The file.
        path: Box<Path>,
        /// The cause.
        error: io::Error,
    },
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
    /// A stream cannot be written.
    Stream(io::Error),
    /// A file's content is no plan.
    Content {
        /// The file.
        path: Box<Path>,
        /// The cause.
        error: Box<PlanError>,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::NoSuch { what, index, len } => {
                write!(f, "not a valid plan: there is no {what} {index}: there are {len}, numbered from 0")
            }
            PlanError::Target(index) => write!(f, "not a valid plan: a guard's target {index} is none of its candidates"),
            PlanError::Form(form) => {
                write!(f, "not a valid plan: {form:?} is neither \"early\" nor \"whole\" nor a loop's number, as in \"loop 0\"")
            }
            PlanError::Reason(reason) => write!(f, "not a valid plan: no call is so decided by the reason {reason:?}"),
            PlanError::NotText => f.write_str("not text in UTF-8"),
            #[cfg(feature = "export")]
            PlanError::Json(error) => write!(f, "not an inlining plan: {error}"),
            PlanError::NotAPlan => f.write_str("JSON, but not an inlining plan: \"format\" is not \"inlining plan\""),
            PlanError::Version(version) => {
                write!(f, "a plan of version {version}, which this program does not know: use the one that wrote it, or make a new plan")
            }
            PlanError::Open { path, error } => write!(f, "{}: cannot be read: {error}", path.display()),
            PlanError::Create { path, error } => write!(f, "{}: cannot be created: {error}", path.display()),
            PlanError::Write { path, error } => write!(f, "{}: writing failed, the file is incomplete: {error}", path.display()),
            PlanError::Stream(error) => write!(f, "writing failed: {error}"),
            PlanError::Content { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for PlanError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PlanError::Open { error, .. } | PlanError::Create { error, .. } | PlanError::Write { error, .. } | PlanError::Stream(error) => {
                Some(error)
            }
            PlanError::Content { error, .. } => Some(error),
            #[cfg(feature = "export")]
            PlanError::Json(error) => Some(error),
            _ => None,
        }
    }
}
