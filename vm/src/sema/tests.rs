//! The checker on whole programs: HIR of small ones as snapshots, errors by code.

use super::*;
use crate::source::{Origin, SourceMap};
use std::path::Path;

/// HIR of a program's own declarations, or its errors.
pub(super) fn checked(text: &str) -> String {
    let mut map = SourceMap::new();
    let mut sink = Diagnostics::new();
    let units = load_text(&mut map, Path::new("test.lang"), text.to_string(), &mut sink);
    if !sink.is_empty() {
        return sink.render(&map, false);
    }
    let (program, problems) = check(&units, Scope::Reachable);
    match program {
        Some(program) => dump::dump(&program, &|span| map.file_at(span.lo).is_some_and(|f| map.file(f).origin == Origin::User)),
        None => problems.render(&map, false),
    }
}

#[test]
fn the_whole_library_is_correct() {
    let mut map = SourceMap::new();
    let mut sink = Diagnostics::new();
    let units = load_text(&mut map, Path::new("test.lang"), "fun main() {}".to_string(), &mut sink);
    let (program, problems) = check(&units, Scope::Everything);
    sink.append(problems);
    assert!(program.is_some() && sink.is_empty(), "{}", sink.render(&map, false));
}

#[test]
fn tmp() {
    let Ok(list) = std::env::var("LANG_FILE") else { return };
    for file in list.split_whitespace() {
        let mut map = SourceMap::new();
        let mut sink = Diagnostics::new();
        let units = load(&mut map, Path::new(file), &mut sink);
        let (program, problems) = check(&units, Scope::Reachable);
        sink.append(problems);
        if std::env::var("DUMP").is_ok()
            && let Some(program) = &program
        {
            println!("{}", dump::dump(program, &|span| map.file_at(span.lo).is_some_and(|f| map.file(f).origin == Origin::User)));
        }
        if !sink.is_empty() {
            println!("=== {file}\n{}", sink.render(&map, false));
        }
    }
}
