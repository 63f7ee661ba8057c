//! The formatter behind `vm fmt`.
//!
//! In: a file without syntax errors. Out: its text in the one layout: four spaces a level, lines of at most [`WIDTH`] columns where that can be, spaces as everybody sets them, at
//! most one empty line in a row. Invariants: the tokens and comments stay the same and in the same order, so the program does; formatting formatted text changes nothing.
//!
//! It works on tokens, not on the tree: the tree knows neither comments nor parentheses. What the tokens alone do not tell (is this `<` a bracket, does a statement begin
//! here) the parser has marked. A line break of the author's survives where layout is a matter of taste: after the opening bracket of a list, between the items of such a list,
//! next to operators and before `.` of a chain, and in blocks.

mod build;
mod doc;
mod lists;
mod space;

pub use doc::WIDTH;

use super::lexer::lex;
use super::parser::parse_tokens;
use crate::diag::Diagnostics;
use crate::source::{FileId, SourceMap};

/// The file's text, formatted; or what is wrong with its syntax.
pub fn format(map: &SourceMap, file: FileId) -> Result<String, Diagnostics> {
    let mut sink = Diagnostics::new();
    let lexed = lex(map, file, &mut sink);
    let (_, marks) = parse_tokens(map, file, &lexed, &mut sink);
    if !sink.is_empty() {
        return Err(sink);
    }
    let doc = build::document(map, file, &lexed, &marks);
    Ok(doc::print(&doc))
}
