//! Diagnostics: rendering at awkward places, bounds, suggestions; what `vm check` finds.

mod running;

use running::{Folder, streams};
use vm::diag::{Code, Diagnostic, Diagnostics, suggest};
use vm::source::{FileId, Origin, SourceMap, Span};

fn map(texts: &[&str]) -> (SourceMap, Vec<FileId>) {
    let mut map = SourceMap::new();
    let files =
        texts.iter().enumerate().map(|(i, text)| map.add(format!("file{i}.lang").into(), text.to_string(), Origin::User).expect("small"));
    let files = files.collect();
    (map, files)
}

/// Bytes `from..to` of a file.
fn span(map: &SourceMap, file: FileId, from: usize, to: usize) -> Span {
    let start = map.file(file).start;
    Span::new(start + from as u32, start + to as u32)
}

fn at(span: Span) -> Diagnostic {
    Diagnostic::new(Code::UnknownName, span, "something is wrong")
}

#[test]
fn awkward_places() {
    let text = "let größe = 日本 + x\n\ttab\tx\n\nlast";
    let (map, files) = map(&[text, "other\nfile\n", ""]);
    let find = |what: &str| {
        let from = text.find(what).expect("in the text");
        span(&map, files[0], from, from + what.len())
    };
    let whole = span(&map, files[0], 0, text.len());
    let end = span(&map, files[0], text.len(), text.len());
    let other = |from, to| span(&map, files[1], from, to);
    let cases = [
        ("no place", at(Span::default()).hint("only a hint")),
        ("several bytes a character", at(find("日本")).label("two characters").hint("and a hint")),
        ("tabs", at(find("tab"))),
        ("several lines", at(whole).label("from here on")),
        ("end of the file", at(end).label("here")),
        ("no characters", at(span(&map, files[0], 4, 4))),
        ("an empty line", at(span(&map, files[0], text.len() - 5, text.len() - 5))),
        ("an empty file", at(span(&map, files[2], 0, 0))),
        ("line end", at(other(5, 6)).label("the end")),
        ("labels on one line", at(find("größe")).label("this").secondary(find("x"), "and that").secondary(find("日本"), "and those")),
        ("labels far apart", at(find("last")).label("here").secondary(other(6, 10), "in another file").secondary(other(0, 5), "above it")),
        ("inside a character", at(span(&map, files[0], 7, 8)).label("not at a boundary")),
        ("past the end", at(span(&map, files[0], text.len() - 1, text.len() + 3))),
    ];
    let out: String = cases.iter().map(|(title, d)| format!("-- {title}\n{}\n\n", d.render(&map, false))).collect();
    insta::assert_snapshot!(out);
}

#[test]
fn long_lines_are_cut_around_the_label() {
    for (filler, at_byte) in [("a", 0), ("a", 500_000), ("ä", 500_000), ("日", 600_000), ("\t", 400_000), ("e\u{301}", 300_000)] {
        let text = filler.repeat(1_000_000 / filler.len());
        let (map, files) = map(&[&text]);
        let d = at(span(&map, files[0], at_byte, text.len())).label("here").secondary(span(&map, files[0], 10, 20), "there");
        let out = d.render(&map, false);
        assert!(out.len() < 3000, "{} bytes", out.len());
        let column = text.get(..at_byte).map_or(0, |t| t.chars().count()) + 1;
        assert!(out.contains(&format!("file0.lang:1:{column}\n")), "column {column} in:\n{out}");
        assert!(out.contains("^"), "{out}");
    }
}

#[test]
fn long_names_are_cut() {
    let (map, files) = map(&["x"]);
    let d = Diagnostic::new(Code::UnknownName, span(&map, files[0], 0, 1), "n".repeat(1_000_000))
        .label("l".repeat(1_000_000))
        .hint("h".repeat(1_000_000));
    assert!(d.render(&map, false).len() < 5000);
}

#[test]
fn colours_are_only_where_wanted() {
    let (map, files) = map(&["x"]);
    let mut sink = Diagnostics::new();
    sink.push(at(span(&map, files[0], 0, 1)));
    assert!(sink.render(&map, true).contains("\x1b["));
    assert!(!sink.render(&map, false).contains("\x1b["));
}

#[test]
fn errors_are_sorted_counted_and_not_repeated() {
    let text = "x".repeat(300);
    let (map, files) = map(&[&text]);
    let mut sink = Diagnostics::new();
    assert_eq!((sink.summary(), sink.render(&map, false)), (String::new(), String::new()));
    for i in [7, 3, 7, 3] {
        sink.push(at(span(&map, files[0], i, i + 1)));
    }
    sink.push(Diagnostic::new(Code::UnknownType, span(&map, files[0], 3, 4), "another code at the same place"));
    assert_eq!(sink.summary(), "3 errors");
    let lines: Vec<String> = sink.render(&map, false).lines().filter(|l| l.contains("-->")).map(|l| l.trim().to_string()).collect();
    assert_eq!(lines, ["--> file0.lang:1:4", "--> file0.lang:1:4", "--> file0.lang:1:8"]);

    for i in 10..250 {
        sink.push(at(span(&map, files[0], i, i + 1)));
    }
    assert_eq!(sink.count(), 243);
    assert_eq!(sink.iter().count(), Diagnostics::LIMIT);
    assert_eq!(sink.summary(), "243 errors (the first 100 are shown)");
}

#[test]
fn suggestions_are_close() {
    let names = ["println", "length", "Length", "append", "x", "i"];
    let cases = [
        ("prinln", Some("println")),
        ("printnl", Some("println")),
        ("PrintLn", Some("println")),
        ("lenght", Some("length")),
        ("LENGTH", Some("Length")),
        ("push", None),
        ("y", None),
        ("length", Some("Length")),
        ("", None),
    ];
    for (typed, meant) in cases {
        assert_eq!(suggest(typed, names), meant, "{typed}");
    }
    assert_eq!(suggest(&"a".repeat(1_000_000), names), None);
    assert_eq!(suggest("abc", ["a".repeat(1_000_000).as_str()]), None);
}

/// Ids stand in order and are unique; each has a description.
#[test]
fn codes_are_well_formed() {
    assert!(Code::ALL.windows(2).all(|w| w[0].id() < w[1].id()));
    for code in Code::ALL {
        let (letter, digits) = code.id().split_at(1);
        assert!(letter == "E" && digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()), "{code}");
        assert!(!code.description().is_empty() && !code.description().ends_with('.'), "{code}");
    }
}

/// What only shows when generic code is instantiated, too; but a library is not a program.
#[test]
fn a_check_finds_what_keeps_a_program_from_running() {
    let endless = "fun grow<T>(x: T) { grow(Pair(x, x)) }\n";
    let folder = Folder::new("check-instances").with("library.lang", endless);
    folder.write("program.lang", &format!("{endless}fun main() {{ grow(1) }}\n"));
    folder.write("good.lang", "fun main() { println(1) }\n");
    for (file, code, error) in [("program.lang", 2, "E0603"), ("library.lang", 0, ""), ("good.lang", 0, "")] {
        let (found, out, errors) = streams(&folder.vm(&["check", file]));
        assert_eq!((found, out.as_str()), (Some(code), ""), "{file}: {errors}");
        assert!(errors.contains(error) && errors.is_empty() == error.is_empty(), "{file}: {errors}");
    }
}
