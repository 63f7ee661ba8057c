//! `vm check FILE…`: every error of every file. Each is compiled as a program, but may lack a `main`: it can be a part that others import, of which nothing is known that only shows in what a program makes of it.

use super::compile::lowered;
use super::text;
use crate::diag::{Code, Diagnostics};
use crate::source::SourceMap;
use std::path::PathBuf;

/// 2 if any file has errors.
pub fn run(files: &[PathBuf]) -> u8 {
    let mut failed = false;
    for path in files {
        let mut map = SourceMap::new();
        let mut errors = Diagnostics::new();
        lowered(path, &mut map, &mut errors, &mut Vec::new());
        errors.forget(Code::NoMain);
        text::show(&errors, &map);
        failed |= !errors.is_empty();
    }
    if failed { super::FAILURE } else { 0 }
}
