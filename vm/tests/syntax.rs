//! The lexer, the parser and the formatter, from the outside.
//!
//! `errors/syntax/*.lang` are programs with syntax errors; the snapshot beside each is what the user reads. `format/*.lang` are programs that the snapshot beside each shows formatted.
//! Meaning is tested by pairs of texts that must have the same tree. The random tests state what must hold for every input: `vm::syntax::fuzz_one`.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use vm::diag::{Code, Diagnostics};
use vm::source::{FileId, Origin, SourceMap};
use vm::syntax::{Positions, dump_ast, dump_tokens, format, fuzz_one, lex, parse};

fn source(text: &str) -> (SourceMap, FileId) {
    let mut map = SourceMap::new();
    let file = map.add("test.lang".into(), text.to_string(), Origin::User).expect("small");
    (map, file)
}

/// The tree without positions; panics on errors.
fn tree(text: &str) -> String {
    let (map, file) = source(text);
    let mut sink = Diagnostics::new();
    let tree = parse(&map, file, &mut sink);
    assert!(sink.is_empty(), "{}", sink.render(&map, false));
    dump_ast(&map, &tree, Positions::Hidden)
}

fn errors(text: &str) -> (Vec<Code>, String) {
    let (map, file) = source(text);
    let mut sink = Diagnostics::new();
    parse(&map, file, &mut sink);
    let mut codes: Vec<_> = sink.iter().map(|d| (d.primary.0.lo, d.code)).collect();
    codes.sort();
    (codes.into_iter().map(|(_, code)| code).collect(), sink.render(&map, false))
}

fn files(directory: impl AsRef<Path>) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut files: Vec<_> = entries.map(|e| e.expect("readable").path()).filter(|p| p.extension().is_some_and(|e| e == "lang")).collect();
    files.sort();
    files
}

/// Compares what `run` makes of each file's text with the snapshot beside it; all files are looked at before the test fails.
fn snapshots(directory: &str, run: impl Fn(&str) -> String) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join(directory));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut failed = Vec::new();
    for path in files(directory) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("readable");
        let check = || settings.bind(|| insta::assert_snapshot!(name.as_str(), run(&text)));
        if catch_unwind(AssertUnwindSafe(check)).is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "other snapshots: {failed:?}");
}

#[test]
fn errors_read_as_recorded() {
    snapshots("tests/errors/syntax", |text| errors(text).1);
}

/// Every code of the lexer and the parser has an example among the recorded errors.
#[test]
fn every_syntax_code_is_recorded() {
    let of_loader = [Code::FileNotFound, Code::NotUtf8, Code::TooLarge];
    let expected = Code::ALL.iter().copied().filter(|c| c.id() < "E0200" && !of_loader.contains(c));
    let recorded: BTreeSet<Code> =
        files("tests/errors/syntax").iter().flat_map(|p| errors(&std::fs::read_to_string(p).expect("readable")).0).collect();
    let missing: Vec<_> = expected.filter(|c| !recorded.contains(c)).collect();
    assert!(missing.is_empty(), "no example of {missing:?}");
}

#[test]
fn formatted_programs_look_as_recorded() {
    snapshots("tests/format", |text| {
        let (map, file) = source(text);
        format(&map, file).unwrap_or_else(|errors| panic!("{}", errors.render(&map, false)))
    });
}

/// Formatting keeps tokens, comments and meaning, and is idempotent, for every program in the repository.
#[test]
fn formatted_lines_end_alike() {
    let (map, file) =
        source("fun main() {\r\n    // one\r\n    /* several\r\n       lines */\r\n    f(/* of\r\n       them */ 1)\r\n}\r\n");
    let formatted = format(&map, file).expect("no errors");
    assert!(!formatted.contains('\r') && formatted.contains("several\n"), "{formatted:?}");
}

#[test]
fn formatting_is_safe_for_all_programs() {
    for directory in ["tests/format", "tests/errors/syntax", "src/lib", "../lang-samples"] {
        for path in files(directory) {
            let text = std::fs::read(&path).expect("readable");
            assert!(catch_unwind(|| fuzz_one(&text)).is_ok(), "{}", path.display());
        }
    }
}

/// What is broken for its width must not look to the next run as if the author had broken it for another reason.
#[test]
fn formatting_broken_lines_again_changes_nothing() {
    let wide = "w".repeat(40);
    for text in [
        format!(
            "fun f({wide}: Int, from: {wide}, over: Str): Int = if n == 0 {{ 0 }} else {{ f(n - 1, from, over) + 1 + f(n - 1, over, 2) }}"
        ),
        format!("class C(let {wide}: Int, let b: {wide}, let c: Str) : B(c) {{ fun f(): Int = 1 }}"),
        format!("class C(first: {wide}, second: Int, third: Int) : {wide}({wide}, 2, {wide}) {{ fun f(): Int = 1 }}"),
        format!("fun main() {{ let x = {wide}({wide}, {wide}) => if a {{ 0 }} else {{ 1 }} }}"),
        format!("fun main() {{\n    let f = ({wide}: Int, {wide}: Int, b: Int) => if a {{ 0 }} else {{ 1 }}\n}}"),
        format!("fun main() {{\n    {wide}[f({wide}, {wide})] = if a {{ 0 }} else {{ 1 }}\n}}"),
        format!("fun main() {{\n    try {{ f({wide}) }} catch (e: NullError) {{ /* c */ g({wide}) }}\n}}"),
        format!("fun main() {{\n    if a {{ f({wide}); /* c */ g({wide}) /* d */ }}\n}}"),
        "fun main() {\n    println(max(/* a\n x */ 1, 2))\n    println(max(1, /* a\n x */ 2))\n    f(1 + /* a\n x */ 2)\n}".to_string(),
    ] {
        fuzz_one(text.as_bytes());
    }
}

#[test]
fn the_reference_parses_and_formats() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/language.md");
    let text = std::fs::read_to_string(path).expect("readable");
    let blocks: Vec<&str> = text.split("\n```lang\n").skip(1).filter_map(|rest| Some(rest.split_once("\n```")?.0)).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        tree(block);
        fuzz_one(block.as_bytes());
    }
}

#[test]
fn the_library_parses() {
    for path in files("src/lib") {
        let mut map = SourceMap::new();
        let text = std::fs::read_to_string(&path).expect("readable");
        let file = map.add(path, text, Origin::Library).expect("small");
        let mut sink = Diagnostics::new();
        parse(&map, file, &mut sink);
        assert!(sink.is_empty(), "{}", sink.render(&map, false));
    }
}

// Meaning.

fn same_expressions(pairs: &[(&str, &str)]) {
    for (a, b) in pairs {
        assert_eq!(tree(&format!("let x = {a}")), tree(&format!("let x = {b}")), "{a}   {b}");
    }
}

#[test]
fn operators_bind_as_in_the_table() {
    same_expressions(&[
        ("a + b * c", "a + (b * c)"),
        ("a * b + c", "(a * b) + c"),
        ("a - b - c", "(a - b) - c"),
        ("a / b % c", "(a / b) % c"),
        ("a << b + c", "a << (b + c)"),
        ("a >> b >>> c << d", "((a >> b) >>> c) << d"),
        ("a..b + 1", "a..(b + 1)"),
        ("a << 1..<b", "(a << 1)..<b"),
        ("a ?: b..c", "a ?: (b..c)"),
        ("a ?: b ?: c", "a ?: (b ?: c)"),
        ("a ?: b < c", "(a ?: b) < c"),
        ("a < b == c >= d", "(a < b) == (c >= d)"),
        ("a == b != c", "(a == b) != c"),
        ("a is T == b !is U", "(a is T) == (b !is U)"),
        ("a === b !== c", "(a === b) !== c"),
        ("a & b == c", "a & (b == c)"),
        ("a & b ^ c | d", "((a & b) ^ c) | d"),
        ("a | b ^ c & d", "a | (b ^ (c & d))"),
        ("a && b | c", "a && (b | c)"),
        ("a || b && c", "a || (b && c)"),
        ("a && b && c", "(a && b) && c"),
        ("-a.b", "-(a.b)"),
        ("-a * b", "(-a) * b"),
        ("!a == b", "(!a) == b"),
        ("!!a", "!(!a)"),
        ("~-a", "~(-a)"),
        ("-a as T", "(-a) as T"),
        ("a * b as T", "a * (b as T)"),
        ("a as T as? U", "(a as T) as? U"),
        ("a as T + b", "(a as T) + b"),
        ("a as List<T> + b", "(a as List<T>) + b"),
        ("a!!.b", "(a!!).b"),
        ("a.b(c)[d]!!(e)", "((((a.b)(c))[d])!!)(e)"),
        ("x => x + 1", "x => (x + 1)"),
        ("x => y => x", "x => (y => x)"),
        ("a + if b { c } else { d } + e", "a + (if b { c } else { d }) + e"),
        ("a ?: throw b + c", "a ?: (throw (b + c))"),
    ]);
}

#[test]
fn generic_calls_and_comparisons_are_told_apart() {
    same_expressions(&[
        ("f<A>(b)", "f<A,>(b)"),
        ("a < b", "(a) < (b)"),
        ("f(a < b, c > d)", "f((a < b), (c > d))"),
        ("f(a<b, c>(d))", "f((a<b, c>(d)))"),
        ("x as T < y", "(x as T) < y"),
        ("x as List<T> < y", "(x as List<T>) < y"),
        ("x is Map<A, List<B>> && y", "(x is Map<A, List<B>>) && y"),
        ("f<List<List<A>>>(b)", "f< List< List<A> > >(b)"),
        ("a<b && c>d", "(a < b) && (c > d)"),
        ("f<(A) -> B>(c)", "f<((A) -> B)>(c)"),
        ("f<A?>(c)", "f<A??>(c)"),
        ("a >> b", "(a) >> (b)"),
        ("a >= b", "(a) >= (b)"),
    ]);
    assert_ne!(tree("let x = f(a<b, c>(d))"), tree("let x = f((a<b), (c>(d)))"));
}

#[test]
fn closing_angles_are_split() {
    let a = tree("let x: List<List<Int>>= y\nlet z: Map<A, List<List<Int>>>= y");
    let b = tree("let x: List< List<Int> > = y\nlet z: Map<A, List< List<Int> > > = y");
    assert_eq!(a, b);
}

/// Line breaks as in §1 of the reference: each pair is the same program.
#[test]
fn line_breaks_end_statements_only_where_they_may() {
    let pairs = [
        ("a\nb", "a; b"),
        ("a +\nb", "a + b"),
        ("a\n-b", "a; -b"),
        ("a\n(b)", "a; (b)"),
        ("a\n[b]", "a; [b]"),
        ("a\n.b\n?.c", "a.b?.c"),
        ("a\n?: b", "a ?: b"),
        ("a\n&& b\n|| c", "a && b || c"),
        ("(a\n+ b)", "(a + b)"),
        ("f(a\n- b,\nc\n(d))", "f(a - b, c(d))"),
        ("[a,\nb\n]", "[a, b]"),
        ("x =\na", "x = a"),
        ("x +=\na", "x += a"),
        ("let x =\na", "let x = a"),
        ("if a { b }\nelse { c }", "if a { b } else { c }"),
        ("if a { b }\nelse\nif c { d }", "if a { b } else if c { d }"),
        ("if a\n{ b }", "if a { b }"),
        ("try { a }\ncatch (e: E) { b }\nfinally { c }", "try { a } catch (e: E) { b } finally { c }"),
        ("return\na", "return; a"),
        ("return a\n+b()", "return a; z"),
        ("throw\na", "throw a"),
        ("f(() => {\na\n-b\n})", "f(() => { a; -b })"),
        ("f(() => {\na\n(b)\n})", "f(() => { a; (b) })"),
        ("x =>\na", "x => a"),
        ("match a {\n1 => if b { c }\nelse => d\n}", "match a { 1 => if b { c }; else => d }"),
        ("match a {\n1 => b\n-1 => c\n}", "match a { 1 => b; -1 => c }"),
        ("match a {\n1,\n2\n=> b }", "match a { 1, 2 => b }"),
        ("for i in a..\nb step\nc { }", "for i in a..b step c { }"),
        ("a!\n!b", "a!; !b"),
        ("a\n!b", "a; !b"),
        ("a // c\n.b", "a.b"),
        ("a /* \n */ b", "a; b"),
        ("a /* c */ .b", "a.b"),
    ];
    let wrong = ["return a\n+b()", "a!\n!b"];
    for (a, b) in pairs.iter().filter(|(a, _)| !wrong.contains(a)) {
        assert_eq!(tree(&format!("fun f() {{\n{a}\n}}")), tree(&format!("fun f() {{ {b} }}")), "{a}   {b}");
    }
    for a in wrong {
        assert!(!errors(&format!("fun f() {{\n{a}\n}}")).0.is_empty(), "{a}");
    }
}

#[test]
fn declarations_may_be_spread_over_lines() {
    let a = "abstract class A<T>\n(let x: T,\n)\n: B(x),\nC\n{\noverride\nfun f()\n: Int\n= 1\n}\nfun g(a: Int,)\n{\n}";
    let b = "abstract class A<T>(let x: T) : B(x), C { override fun f(): Int = 1 }\nfun g(a: Int) { }";
    assert_eq!(tree(a), tree(b));
}

#[test]
fn assignments_may_be_bodies_of_closures_and_arms() {
    assert_eq!(tree("let f = x => n += x"), tree("let f = x => { n += x }"));
    assert!(tree("fun f() { match x { 1 => n = 2 } }").contains("assign ="));
}

/// The parser knows words of other languages only to explain errors: they are names like any other.
#[test]
fn words_of_other_languages_are_names() {
    let words = [
        "val",
        "const",
        "final",
        "auto",
        "public",
        "private",
        "static",
        "open",
        "data",
        "async",
        "new",
        "not",
        "await",
        "function",
        "def",
        "fn",
        "func",
        "switch",
        "when",
        "case",
        "default",
        "do",
        "loop",
        "repeat",
        "foreach",
        "unless",
        "until",
        "elif",
        "then",
        "extends",
        "implements",
        "constructor",
        "throws",
        "except",
        "vararg",
        "enum",
        "struct",
        "type",
        "package",
        "and",
        "or",
        "to",
        "mut",
        "of",
        "step",
        "get",
        "set",
        "int",
        "string",
    ];
    for w in words {
        tree(&format!(
            "let {w} = 1\nfun {w}({w}: Int, x: {w}): {w} {{ {w}({w}); return {w} }}\n\
             class {w}<{w}: {w}>(let {w}: {w}, {w}: Int) : {w}({w}), {w} {{\n let {w} = {w}\n fun {w}() = {w}\n}}\n\
             fun main() {{\n {w}({w} => {w})\n {w}((x) => {{ {w} }})\n {w} = {w} + {w}\n {w}[{w}] -= {w}\n {w} !is {w}\n {w}\n -{w}\n {w}.{w}?.{w}\n let {w}: {w} = {w}!!\n \
             if {w} {{ {w} }} else if {w} {{ {w} }}\n for {w} in {w}..{w} step {w} {{ {w} }}\n match {w} {{ {w} => {w}; {w}.{w}, {w} => {w}; is {w} as {w} => {w} }}\n \
             try {{ {w} }} catch ({w}: {w}) {{ {w} }}\n f({w}, [{w}], \"${{{w}}}\")\n}}"
        ));
    }
}

// Tokens and literals.

#[test]
fn tokens() {
    let text = "1..2 1.5 1.x 1e9 1e-9 1.5e+3x 0xff 0b1_0 'a' '\\'' 'ab\n\"a${b + \"c${d}\"}e$\" \"\\\"\" \"open\n\
                a?.b?:c?d!!e !=f !==g =>-> >>>=>>>>=>= ..<...... /* a /* b */ c */ größe if_ if // end\n'";
    let (map, file) = source(text);
    let mut sink = Diagnostics::new();
    let lexed = lex(&map, file, &mut sink);
    insta::assert_snapshot!(dump_tokens(&map, &lexed.tokens));
    insta::assert_snapshot!(sink.render(&map, false));
}

#[test]
fn integers_reach_to_both_ends() {
    let values = [
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("- 9223372036854775808", "-9223372036854775808"),
        ("0x8000000000000000", "-9223372036854775808"),
        ("0xffff_ffff_ffff_ffff", "-1"),
        ("-0b11", "-3"),
        ("1_000_000", "1000000"),
        ("'\\u{1F600}'", "'😀'"),
        ("-0.0", "-0.0"),
        ("5e-324", "5e-324"),
        ("1_0.0_1", "10.01"),
    ];
    for (text, value) in values {
        assert_eq!(tree(&format!("let x = {text}")), format!("let x\n  {value}\n"), "{text}");
    }
    for text in ["9223372036854775808", "-9223372036854775808.f()", "-(9223372036854775808)", "0x1_0000_0000_0000_0000", "1e309", "-1e309"]
    {
        assert_eq!(errors(&format!("let x = {text}")).0, [Code::NumberRange], "{text}");
    }
}

// Limits.

/// Each of these inputs would overflow a stack or take for ever without a limit.
#[test]
fn absurd_input_ends_in_few_errors() {
    let n = 200_000;
    let inside = |text: String| format!("fun f() {{ {text} }}");
    let inputs = [
        inside(format!("{}x{}", "(".repeat(n), ")".repeat(n))),
        inside("[".repeat(n)),
        inside("a + ".repeat(n)),
        inside(format!("a{}", ".b()".repeat(n))),
        inside("!".repeat(n)),
        inside("x => ".repeat(n)),
        inside("(x) => ".repeat(n)),
        inside("if a { ".repeat(n)),
        inside(format!("if a {{ }}{}", " else if a { }".repeat(n))),
        inside("match a { 1 => ".repeat(n)),
        inside("\"${".repeat(n)),
        inside("f<".repeat(n)),
        inside("a ?: ".repeat(n)),
        inside("return ".repeat(n)),
        inside("try { ".repeat(n)),
        format!("let x: {}A{} = 1", "A<".repeat(n), ">".repeat(n)),
        format!("let x: {}A = 1", "(A) -> ".repeat(n)),
        "{".repeat(n),
        "class A { ".repeat(n),
        "/*".repeat(n),
    ];
    for text in inputs {
        let (codes, rendered) = errors(&text);
        let start: String = text.chars().take(30).collect();
        assert!((1..=3).contains(&codes.len()), "{start}: {} errors\n{rendered}", codes.len());
        assert!(rendered.len() < 3000, "{start}: {} bytes of errors", rendered.len());
    }
    // What is only long is fine.
    for text in [
        inside("f(1);".repeat(n)),
        inside(format!("[{}]", "f<a, a, a, a, ".repeat(n))),
        format!("let x = [{}]", "1, ".repeat(n)),
        format!("let x: A{} = 1", "?".repeat(n)),
    ] {
        assert_eq!(errors(&text).0, []);
    }
    // Many errors are counted, not kept.
    let (codes, rendered) = errors(&format!("fun f() {{\n{}}}", "x y z\n".repeat(n)));
    assert_eq!(codes.len(), Diagnostics::LIMIT);
    assert!(rendered.ends_with("200000 errors (the first 100 are shown)\n"), "{}", &rendered[rendered.len() - 100..]);
}

/// A tree at the limit can be dropped, dumped and formatted.
#[test]
fn the_deepest_tree_is_safe() {
    let accepted = |depth: usize| errors(&format!("let x = {}1{}", "f(".repeat(depth), ")".repeat(depth))).0.is_empty();
    let depth = (1..1000).take_while(|&d| accepted(d)).last().expect("some depth is accepted");
    assert!(depth >= 200, "only {depth} levels");
    assert_eq!(errors(&format!("fun f() {{ if a {{ }}{} }}", " else if a { }".repeat(490))).0, [], "each `else if` is one level");
    fuzz_one(format!("let x = {}1{}", "f(".repeat(depth), ")".repeat(depth)).as_bytes());
    fuzz_one(format!("let x = {}1{}", "(x => { if a { ".repeat(100), " } })".repeat(100)).as_bytes());
}

// Random input.

const SOUP: &[&str] = &[
    "abstract",
    "as",
    "break",
    "catch",
    "class",
    "continue",
    "else",
    "false",
    "finally",
    "for",
    "fun",
    "if",
    "import",
    "in",
    "init",
    "interface",
    "is",
    "let",
    "lock",
    "match",
    "native",
    "null",
    "object",
    "override",
    "return",
    "super",
    "this",
    "throw",
    "true",
    "try",
    "var",
    "while",
    "step",
    "a",
    "b",
    "f",
    "T",
    "Int",
    "new",
    "val",
    "int",
    "1",
    "2.5",
    "'c'",
    "\"s\"",
    "\"${",
    "}",
    "\"",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "{",
    "}",
    ",",
    ";",
    ":",
    ".",
    "..",
    "..<",
    "...",
    "?",
    "?.",
    "?:",
    "!",
    "!!",
    "~",
    "=",
    "==",
    "===",
    "!=",
    "!==",
    "=>",
    "->",
    "<",
    "<=",
    ">",
    ">=",
    "<<",
    ">>",
    ">>>",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "&&",
    "||",
    "++",
    "--",
    "+=",
    ">>=",
    ">>>=",
    "\n",
    "\n",
    "\n",
    "// c\n",
    "/* c */",
    "/*",
    "#",
    "é",
    "\\",
    "'",
    "0x",
    "1e",
];

/// Expressions, statements and declarations that are correct, with line breaks, comments and spaces wherever they may stand.
fn program() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a",
        "12",
        "-3",
        "\"s${a + 1}t\"",
        "this",
        "null",
        "[]",
        "x => x",
        "() => {}",
        "1.5",
        "'q'",
        "a.b",
        "T.C",
    ]);
    let expr = leaf.prop_map(str::to_string).prop_recursive(5, 60, 4, |inner| {
        let op = prop::sample::select(vec![
            " + ", "*", " &&\n", "\n|| ", "\n?: ", " == ",
            "..7 == ", " + // c\n ", " /* c */ - ", " < 3 || ", " >> ", "|", " as T + ", " is List<T> && ", " as? T? ?: ",
        ]);
        let name = prop::sample::select(vec!["f", "long_function_name_that_takes_room", "g<Int, List<T>>", "a.b", "h?.i"]);
        prop_oneof![
            3 => (inner.clone(), op, inner.clone()).prop_map(|(a, op, b)| format!("({a}){op}{b}")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} + {b})")),
            3 => (name, prop::collection::vec(inner.clone(), 0..4), prop::bool::ANY, prop::bool::ANY).prop_map(|(name, args, open, sep)| {
                format!("{name}({}{})", if open { "\n" } else { "" }, args.join(if sep { ", // c\n" } else { ", " }))
            }),
            2 => (inner.clone(), prop::collection::vec((prop::sample::select(vec![".m", "\n.n", " // c\n.p", "?.q"]), inner.clone()), 1..5))
                .prop_map(|(a, calls)| format!("({a}){}", calls.iter().map(|(name, arg)| format!("{name}({arg})")).collect::<String>())),
            1 => prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(",\n"))),
            1 => (inner.clone(), inner.clone(), inner.clone(), prop::bool::ANY).prop_map(|(c, a, b, lines)| {
                let n = if lines { "\n" } else { " " };
                format!("if {c} {{{n}{a}{n}}} else {{ {b} }}")
            }),
            1 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(s, a, b)| format!("match {s} {{ 1, 2 => {a}\n is T as v => {{ {b} }}\n\n\n else => a = {b} }}")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("f({a}, (x: Int, y): T => {{\n{b} /* c */\n}})")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| format!("try {{ {a} }} catch (e: E) {{ {b}; 1 }} finally {{}}")),
        ]
    });
    let stmt = (
        expr,
        prop::sample::select(vec![
            "let v: Map<T, List<Int>>= @",
            "@",
            "a = @",
            "a[i] += @ // c",
            "return @",
            "while @ { f() }",
            "for i in 0..<(@) step -1 {\n\n// c\n}",
            "lock m { @ }",
            "/* c */ x = @;",
            "if @ { a } // c\n\nelse { b }",
            "throw @; b",
            "{}",
        ]),
    );
    let stmt = stmt.prop_map(|(e, form)| if form == "{}" { format!("f({e})") } else { form.replace('@', &e) });
    let body = prop::collection::vec(stmt, 0..6).prop_map(|s| s.join("\n"));
    let item = (
        body,
        prop::sample::select(vec![
            "fun f<T: A & B<T>>(a: Int, b: (Int) -> Str?): List<T> {\n@\n}\n",
            "// c\n\n\nabstract class A<T>(let a: Int, b: T) : B(a), C {\n let x = 1\n init {\n@\n}\n\n\n abstract fun g()\n override fun f() { // c\n @\n }\n}\n",
            "object O {\n var a: Int = 2\n fun f() {\n@\n} }",
            "interface I : J, K { fun f(): Int\n fun g() {\n@\n} // c\n }",
        ]),
    );
    prop::collection::vec(item.prop_map(|(body, form)| form.replace('@', &body)), 1..3).prop_map(|items| items.join("\n"))
}

/// The same few programs in every run; `PROPTEST_CASES` asks for that many others.
fn config() -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return default;
    }
    ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(1), ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_one(&bytes);
    }

    #[test]
    fn any_tokens_are_safe(tokens in prop::collection::vec((prop::sample::select(SOUP), prop::bool::weighted(0.7)), 0..80)) {
        let text: String = tokens.iter().flat_map(|(token, space)| [*token, if *space { " " } else { "" }]).collect();
        fuzz_one(text.as_bytes());
        fuzz_one(format!("fun f() {{ {text} }}").as_bytes());
    }

    #[test]
    fn correct_programs_parse_and_format(text in program()) {
        let (codes, rendered) = errors(&text);
        prop_assert!(codes.is_empty(), "{text}\n{rendered}");
        fuzz_one(text.as_bytes());
    }

    #[test]
    fn damaged_programs_are_safe(text in program(), cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6, prop::sample::select(SOUP)), 1..4)) {
        let mut text = text;
        for (at, length, insert) in cuts {
            let mut start = at.index(text.len() + 1);
            while !text.is_char_boundary(start) { start -= 1; }
            let mut end = (start + length).min(text.len());
            while !text.is_char_boundary(end) { end += 1; }
            text.replace_range(start..end, insert);
        }
        fuzz_one(text.as_bytes());
    }
}
