//! From a [`Loc`] to what a person reads: file, line, column and the line's text.
//!
//! In: positions that the front end put into the module. Out: [`Position`]s, for stack traces and error reports.

use crate::source::{Origin, SourceMap};
use jit::ir::Loc;

/// 1-based line and column (in characters).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    pub path: String,
    pub line: u32,
    pub col: u32,
    /// The whole line, without its end.
    pub text: String,
    /// Not the user's own code.
    pub in_library: bool,
}

pub trait Symbols: Send + Sync {
    /// `None` where the position is unknown.
    fn position(&self, loc: Loc) -> Option<Position>;
}

/// For modules without sources.
pub struct NoSymbols;

impl Symbols for NoSymbols {
    fn position(&self, _loc: Loc) -> Option<Position> {
        None
    }
}

impl Symbols for SourceMap {
    fn position(&self, loc: Loc) -> Option<Position> {
        if loc.0 == 0 {
            return None;
        }
        let (id, at) = self.line_col(loc.0)?;
        let file = self.file(id);
        Some(Position {
            path: file.path.display().to_string(),
            line: at.line,
            col: at.col,
            text: self.line_text(id, at.line).to_string(),
            in_library: file.origin == Origin::Library,
        })
    }
}

impl<T: Symbols> Symbols for std::sync::Arc<T> {
    fn position(&self, loc: Loc) -> Option<Position> {
        (**self).position(loc)
    }
}
