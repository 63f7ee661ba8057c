//! What must hold for every input, for fuzzers and for the suite's random tests.

use super::{Positions, dump_ast, dump_tokens, format, lex, parse};
use crate::diag::Diagnostics;
use crate::source::{FileId, Origin, SourceMap};

/// Lexes, parses, dumps, renders and formats any bytes.
///
/// # Panics
/// If tokens do not cover the text in order, if a text with errors has none reported, or if formatting changes the program or is not idempotent.
pub fn fuzz_one(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (map, file) = source(text);
    check_tokens(&map, file);
    let mut sink = Diagnostics::new();
    let tree = parse(&map, file, &mut sink);
    let dumped = dump_ast(&map, &tree, Positions::Hidden);
    let rendered = sink.render(&map, bytes.len().is_multiple_of(2));
    assert_eq!(sink.is_empty(), rendered.is_empty());
    match format(&map, file) {
        Err(errors) => assert!(!errors.is_empty() && !sink.is_empty()),
        Ok(formatted) => {
            assert!(sink.is_empty());
            check_formatted(&map, file, &dumped, formatted);
        }
    }
}

fn source(text: String) -> (SourceMap, FileId) {
    let mut map = SourceMap::new();
    let Ok(file) = map.add("fuzz.lang".into(), text, Origin::Library) else { panic!("more than 4 GiB of input") };
    (map, file)
}

fn check_tokens(map: &SourceMap, file: FileId) {
    let lexed = lex(map, file, &mut Diagnostics::new());
    let ordered = lexed.tokens.windows(2).all(|w| w[0].span.lo <= w[0].span.hi && w[0].span.hi <= w[1].span.lo);
    assert!(ordered, "tokens overlap:\n{}", dump_tokens(map, &lexed.tokens));
}

/// The formatted text has the same tokens, comments and tree, and formats to itself.
fn check_formatted(map: &SourceMap, file: FileId, tree: &str, formatted: String) {
    let original = map.file(file).text.as_str();
    assert_eq!(essence(original), essence(&formatted), "formatting changed the tokens of:\n{original}\nto:\n{formatted}");
    let (map, file) = source(formatted);
    let mut sink = Diagnostics::new();
    let again = dump_ast(&map, &parse(&map, file, &mut sink), Positions::Hidden);
    let formatted = map.file(file).text.as_str();
    assert!(sink.is_empty(), "formatting broke:\n{original}\nto:\n{formatted}\n{}", sink.render(&map, false));
    assert_eq!(tree, again, "formatting changed the meaning of:\n{original}\nto:\n{formatted}");
    let twice = format(&map, file).unwrap_or_default();
    assert_eq!(formatted, twice, "formatting twice differs for:\n{original}");
}

/// The text without white space (and a byte order mark).
fn essence(text: &str) -> String {
    text.trim_start_matches('\u{feff}').chars().filter(|c| !c.is_whitespace()).collect()
}
