//! `vm check FILE…`: every error of every file. Each is checked as a program, but may lack a `main`: it can be a part that others import.

use super::text;
use crate::diag::{Code, Diagnostics};
use crate::sema::{self, Scope};
use crate::source::SourceMap;
use std::path::PathBuf;

/// 2 if any file has errors.
pub fn run(files: &[PathBuf]) -> u8 {
    let mut failed = false;
    for path in files {
        let mut map = SourceMap::new();
        let mut errors = Diagnostics::new();
        let units = sema::load(&mut map, path, &mut errors);
        errors.append(sema::check(&units, Scope::Reachable).1);
        errors.forget(Code::NoMain);
        text::show(&errors, &map);
        failed |= !errors.is_empty();
    }
    if failed { super::FAILURE } else { 0 }
}
