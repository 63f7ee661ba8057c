//! `vm check FILE…`: every error of every file, each checked as a program's main file.

use super::text;
use crate::diag::Diagnostics;
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
        text::show(&errors, &map);
        failed |= !errors.is_empty();
    }
    if failed { super::FAILURE } else { 0 }
}
