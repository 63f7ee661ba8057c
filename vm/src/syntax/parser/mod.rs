//! Tokens to syntax tree.

use super::ast;
use crate::diag::Diagnostics;
use crate::source::{FileId, SourceMap};

/// Parses one file. Everything wrong with it goes to `sink`; what could not be parsed is an `Error` node in the tree, or left out.
pub fn parse(_map: &SourceMap, _file: FileId, _sink: &mut Diagnostics) -> ast::File {
    ast::File { imports: Vec::new(), items: Vec::new() }
}
