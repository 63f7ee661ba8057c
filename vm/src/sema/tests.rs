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

/// Every file in `vm/tests/errors/sema`, with the messages it gives as a snapshot beside it.
#[test]
fn errors_read_well() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors/sema");
    let mut files: Vec<_> = std::fs::read_dir(&folder).expect("the folder of cases").map(|e| e.expect("an entry").path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "lang"));
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a case");
        let name = file.file_stem().and_then(|s| s.to_str()).expect("a name");
        insta::with_settings!({ snapshot_path => folder.join("snapshots"), prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, checked(&text));
        });
    }
}

#[test]
fn tmp() {
    let Ok(list) = std::env::var("LANG_FILE") else { return };
    for file in list.split_whitespace() {
        let mut map = SourceMap::new();
        let mut sink = Diagnostics::new();
        let t0 = std::time::Instant::now();
        let units = load(&mut map, Path::new(file), &mut sink);
        let t1 = std::time::Instant::now();
        let (program, problems) = check(&units, Scope::Reachable);
        let t2 = std::time::Instant::now();
        if std::env::var("TIME").is_ok() {
            println!(
                "{file} load {:?} check {:?} {}",
                t1 - t0,
                t2 - t1,
                program.as_ref().map_or(0, |p| p.functions.iter().filter(|f| matches!(f.kind, hir::FunctionKind::Body(_))).count())
            );
        }
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
