//! The checker on whole programs: HIR of small ones as snapshots, errors by code.

use super::*;
use crate::source::{Origin, SourceMap};
use std::path::Path;

/// HIR of a program's own declarations, or its errors.
fn checked(text: &str) -> String {
    compile(text, |program, map| dump::dump(program, &|span| map.file_at(span.lo).is_some_and(|f| map.file(f).origin == Origin::User)))
}

/// What `use_program` makes of a correct program, or the errors.
fn compile(text: &str, use_program: impl FnOnce(&mut hir::Program, &SourceMap) -> String) -> String {
    let mut map = SourceMap::new();
    let mut sink = Diagnostics::new();
    let units = load_text(&mut map, Path::new("test.lang"), text.to_string(), &mut sink);
    if !sink.is_empty() {
        return sink.render(&map, false);
    }
    let (program, problems) = check(&units, Scope::Reachable);
    let Some(mut program) = program else { return problems.render(&map, false) };
    assert!(problems.is_empty());
    let wrong = verify::verify(&mut program);
    assert!(wrong.is_empty(), "{wrong:#?}");
    use_program(&mut program, &map)
}

/// Lowering takes what the checker has accepted, and makes valid code of it.
fn lowers(program: &mut hir::Program, map: &SourceMap) -> String {
    let mut sink = Diagnostics::new();
    let module = crate::lower::lower(program, map, &mut sink);
    let faults = module.map_or_else(Vec::new, |m| jit::ir::verifier::verify(&m).iter().map(ToString::to_string).collect());
    let faults: Vec<String> =
        faults.into_iter().chain(sink.iter().filter(|d| d.code == crate::diag::Code::BrokenLibrary).map(|d| d.message.clone())).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    String::new()
}

/// Of what stands in a broken file, only what is broken is reported.
#[test]
fn syntax_errors_have_no_consequences() {
    let text = "
let g = * 1
class C {
    let f = [1, 2
    fun m(): Int = f.length
}
object O { let z = ) }
fun f(): Int { return (1 + ) }
fun main() {
    let x: Int = *
    var y = )
    y += x
    let z = if x > 1 { 3 } else { * }
    println(\"${g} ${C().f} ${O.z + f()} ${x} ${y.length} ${z + 1}\")
    if x > 3 let w = (
    println(g.h())
}
";
    let mut map = SourceMap::new();
    let mut sink = Diagnostics::new();
    let units = load_text(&mut map, Path::new("test.lang"), text.to_string(), &mut sink);
    let broken = sink.count();
    assert!(broken > 6, "{}", sink.render(&map, false));
    sink.append(check(&units, Scope::Reachable).1);
    assert_eq!(sink.count(), broken, "{}", sink.render(&map, false));
}

/// Errors of a program, those of its syntax included.
fn all_errors(text: &str) -> (Vec<&'static str>, String) {
    let mut map = SourceMap::new();
    let mut sink = Diagnostics::new();
    let units = load_text(&mut map, Path::new("test.lang"), text.to_string(), &mut sink);
    sink.append(check(&units, Scope::Reachable).1);
    (sink.iter().map(|d| d.code.id()).collect(), sink.render(&map, false))
}

/// What recovery has lost is not reported as missing where it is used; errors of their own are.
#[test]
fn lost_declarations_are_not_missed() {
    let cases: [(&str, &[&str]); 11] = [
        (
            "class S {\n let a = List<Int>()\n fun f(x: Int)\n  a.add(x)\n }\n fun g(): Int = a.pop()\n}\nfun main() { println(S().g()) }",
            &["E0124", "E0111"],
        ),
        ("class S {\n a = List<Int>()\n fun g(): Int = a.pop()\n}\nfun main() { println(S().g()) }", &["E0106"]),
        ("class S {\n constructor(x: Int) { }\n}\nfun main() { println(S(1)) }", &["E0118"]),
        ("fun f(s: Str?): Int {\n if s == null { return 0 } return s.length\n}\nfun main() { f(null) }", &["E0109"]),
        ("fun f(xs: Int[]): Int = 3\nfun main() { println(f([1])) }", &["E0118"]),
        ("fun main() { fun g(): Int = 3; println(g()) }", &["E0127"]),
        ("class T { fun area(): Int }\nfun main() { println(T().area()) }", &["E0124"]),
        (
            "fun main() {\n let x = listOf([1]).map { y => y }\n println \"a\"\n raise Error(\"x\")\n when (x) { 1 -> 2 }\n}",
            &["E0109", "E0109", "E0118", "E0118"],
        ),
        ("class C {\n let f = [1].toList().map { x => x }\n fun g() = listOf([1]).map { x => x }\n}\nfun main() { }", &["E0109", "E0109"]),
        ("import \"missing.lang\"\nfun main() { println(f(1)) }", &["E0209"]),
        ("fun main() {\n let a: Int = \"text\"\n let b = f(\n}", &["E0110", "E0301"]),
    ];
    for (text, codes) in cases {
        let (found, shown) = all_errors(text);
        assert_eq!(found, codes, "{shown}");
    }
}

#[test]
fn the_whole_library_is_correct() {
    let mut map = SourceMap::new();
    let mut sink = Diagnostics::new();
    let units = load_text(&mut map, Path::new("test.lang"), "fun main() {}".to_string(), &mut sink);
    let (program, problems) = check(&units, Scope::Everything);
    sink.append(problems);
    assert!(sink.is_empty(), "{}", sink.render(&map, false));
    let wrong = verify::verify(&mut program.expect("a program where there are no errors"));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The `.lang` files of a folder in `vm/tests`, with what the checker makes of each as a snapshot beside it.
fn snapshots(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
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
fn errors_read_well() {
    snapshots("errors/sema");
}

#[test]
fn programs_become_the_hir_they_should() {
    snapshots("hir");
}

/// Programs of the repository to start from.
fn samples() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.join("../lang-samples"), root.join("tests/lang"), root.join("tests/errors/sema"), root.join("tests/hir")];
    let mut files: Vec<_> =
        folders.iter().flat_map(|f| std::fs::read_dir(f).expect("samples")).map(|e| e.expect("an entry").path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "lang"));
    files.sort();
    let read = |path: &Path| std::fs::read_to_string(path).expect("a sample");
    // A program that stands alone can import nothing: what the benchmarks share becomes a part of each of them.
    let shared = read(&root.join("../lang-samples/bench.lang"));
    files.iter().map(|f| read(f).replace("import \"bench.lang\"", &shared)).collect()
}

/// A token of a text, roughly: words, numbers, and single other characters.
fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let len = if word(c) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { c.len_utf8() };
        out.push(&rest[..len]);
        rest = &rest[len..];
    }
    out
}

/// Changed at random, programs are right or wrong, but the checker always says which, and the next stage agrees.
#[test]
fn mutated_programs_do_not_break_the_compiler() {
    let rounds = std::env::var("MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let samples = samples();
    let all: Vec<Vec<&str>> = samples.iter().map(|s| pieces(s)).collect();
    let mut seed = std::env::var("SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0x9E37_79B9_7F4A_7C15u64);
    let mut random = |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as usize % n.max(1)
    };
    for _ in 0..rounds {
        let base = random(all.len());
        let mut text: Vec<&str> = all[base].clone();
        for _ in 0..1 + random(4) {
            let (at, other) = (random(text.len()), random(all.len()));
            if text.len() < 2 || all[other].is_empty() {
                continue;
            }
            let words: Vec<usize> = (0..text.len()).filter(|&i| text[i].starts_with(char::is_alphanumeric)).collect();
            let Some(&word) = words.get(random(words.len())) else { continue };
            match random(5) {
                0 => drop(text.remove(at)),
                1 => text[word] = all[other][random(all[other].len())],
                2 => text[word] = text[words[random(words.len())]],
                3 => text.insert(at, all[other][random(all[other].len())]),
                _ => {
                    let end = (at + random(30)).min(text.len());
                    let copy: Vec<&str> = text[at..end].to_vec();
                    let to = random(text.len());
                    text.splice(to..to, copy);
                }
            }
        }
        let text = text.concat();
        let result = std::panic::catch_unwind(|| compile(&text, lowers));
        assert!(result.is_ok(), "panic on:\n{text}");
    }
}

/// A folder for one test's files.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("sema-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// Names of the loaded user files in order, and the errors.
    fn load(&self, main: &str) -> (Vec<String>, String) {
        let mut map = SourceMap::new();
        let mut sink = Diagnostics::new();
        let units = load(&mut map, &self.0.join(main), &mut sink);
        let user = units.iter().filter(|u| u.origin == Origin::User);
        let names = user.map(|u| map.file(u.file).path.file_name().expect("a name").to_string_lossy().into_owned()).collect();
        (names, sink.render(&map, false).replace(&*self.0.to_string_lossy(), "DIR"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn imports_come_first_and_once() {
    let folder = Folder::new("imports");
    folder.write("main.lang", "import \"b.lang\"\nimport \"sub/c.lang\"\nimport \"./b.lang\"\nfun main() {}\n");
    folder.write("b.lang", "import \"main.lang\"\nlet b = 1\n");
    folder.write("sub/c.lang", "import \"../b.lang\"\nimport \"d.lang\"\nlet c = 1\n");
    folder.write("sub/d.lang", "import \"c.lang\"\nlet d = 1\n");
    assert_eq!(folder.load("main.lang"), (["b.lang", "d.lang", "c.lang", "main.lang"].map(String::from).to_vec(), String::new()));
}

#[test]
fn long_import_chains_are_no_problem() {
    let folder = Folder::new("chain");
    for i in 0..3000 {
        folder.write(&format!("{i}.lang"), format!("import \"{}.lang\"\n", i + 1));
    }
    folder.write("3000.lang", "fun main() {}");
    let (names, errors) = folder.load("0.lang");
    assert_eq!((names.len(), names[0].as_str(), errors.as_str()), (3001, "3000.lang", ""));
}

#[test]
fn files_that_cannot_be_read_are_reported_where_they_are_imported() {
    let folder = Folder::new("unreadable");
    folder.write("main.lang", "import \"missing.lang\"\nimport \"sub\"\nimport \"latin.lang\"\nimport \"ok.lang\"\nfun main() {}\n");
    folder.write("sub/x.lang", "");
    folder.write("latin.lang", b"// a\n// caf\xe9\n");
    folder.write("ok.lang", "");
    let (names, errors) = folder.load("main.lang");
    assert_eq!(names, ["ok.lang", "main.lang"]);
    insta::assert_snapshot!(errors, @r#"
    error[E0209]: there is no file `DIR/missing.lang`
     --> DIR/main.lang:1:1
      |
    1 | import "missing.lang"
      | ^^^^^^^^^^^^^^^^^^^^^
      |
      = hint: the path of an import is relative to the file that it stands in

    error[E0001]: `DIR/sub` is a directory, not a source file
     --> DIR/main.lang:2:1
      |
    2 | import "sub"
      | ^^^^^^^^^^^^

    error[E0002]: `DIR/latin.lang` is not UTF-8 text: line 2 of it is the first that is wrong
     --> DIR/main.lang:3:1
      |
    3 | import "latin.lang"
      | ^^^^^^^^^^^^^^^^^^^
      |
      = hint: save the file with the encoding UTF-8

    3 errors
    "#);
    let (names, errors) = folder.load("nowhere.lang");
    assert!(names.is_empty());
    insta::assert_snapshot!(errors, @"
    error[E0001]: there is no file `DIR/nowhere.lang`

    1 error
    ");
}

/// A result type that is inferred starts another body: thousands in a row must neither overflow the stack nor take long.
#[test]
fn chains_of_inferred_results_end() {
    let text: String = (0..5000).map(|i| format!("fun f{i}(x: Int) = f{}(x) + 1\n", i + 1)).collect();
    let out = checked(&format!("{text}fun f5000(x: Int) = x\nfun main() {{ println(f0(1)) }}\n"));
    assert!(out.contains("E0112"), "{out}");
}

/// What is checked once a level would take 2^100 steps if it were checked twice.
#[test]
fn nesting_costs_no_more_than_length() {
    let depth = 100;
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(depth), close.repeat(depth));
    let cases = [
        nested("id(() => ", ")"),
        nested("listOf([1]).map(a => ", ")"),
        nested("listOf([", "])"),
        nested("Pair(() => ", ", 1)"),
        nested("if x > 0 { ", " } else { 2 }"),
        nested("match x { 1 => ", "; else => 2 }"),
    ];
    for case in cases {
        let out = checked(&format!("fun id<T>(f: () -> T): T = f()\nfun main() {{\n    let x = 1\n    let y = {case}\n}}\n"));
        assert!(!out.contains("error["), "{out}");
    }
    // The type of `p100` has 2^100 parts.
    let pairs: String = (0..100).map(|i| format!("    let p{} = Pair(p{i}, p{i})\n", i + 1)).collect();
    let out = checked(&format!("fun f<T>(p0: T) {{\n{pairs}    let wrong: Int = p100\n}}\nfun main() {{ f(1) }}\n"));
    assert!(out.contains("E0301") && out.len() < 4000, "{out}");
}

/// All orders of the values.
fn permutations<'v>(values: &[&'v str]) -> Vec<Vec<&'v str>> {
    if values.is_empty() {
        return vec![Vec::new()];
    }
    let first = |i: usize| (values[i], [&values[..i], &values[i + 1..]].concat());
    let starting = |(value, rest): (&'v str, Vec<&'v str>)| permutations(&rest).into_iter().map(move |p| [vec![value], p].concat());
    (0..values.len()).map(first).flat_map(starting).collect()
}

#[test]
fn the_common_type_does_not_depend_on_the_order() {
    let one_order = |(n, values): (usize, Vec<&str>)| {
        let [a, b, c, d, e] = values[..] else { panic!("five values") };
        // A statement decides all that it makes, so a `return` has nothing undecided.
        let [ra, rb, rc, rd, re] = [a, b, c, d, e].map(|value| if value == "make()" { "C()" } else { value });
        format!(
            "fun f{n}(x: Int) {{
    let array = [{a}, {b}, {c}, {d}, {e}]
    let sameArray: Array<I?> = array
    let chosen = [match x {{ 1 => {a}; 2 => {b}; 3 => {c}; 4 => {d}; else => {e} }}]
    let sameChosen: Array<I?> = chosen
    let tried = [try {{ {a} }} catch (x: NullError) {{ {b} }} catch (x: CastError) {{ {c} }} catch (x: IoError) {{ {d} }} catch (x: Error) {{ {e} }}]
    let sameTried: Array<I?> = tried
    let f = () => {{
        if x == 1 {{ return {ra} }}
        if x == 2 {{ return {rb} }}
        if x == 3 {{ return {rc} }}
        if x == 4 {{ return {rd} }}
        return {re}
    }}
    let sameFunction: () -> I? = f
    let picked = [pick({a}, {b}, {c}, {d}, {e})]
    let samePicked: Array<I?> = picked
}}
"
        )
    };
    let functions: String = permutations(&["D()", "C()", "any()", "null", "make()"]).into_iter().enumerate().map(one_order).collect();
    let out = checked(&format!(
        "interface I
class D : I
class C : I
fun any(): I = D()
fun make<T>(): T {{ throw Error(\"nothing\") }}
fun pick<T>(a: T, b: T, c: T, d: T, e: T): T = a
{functions}
fun main() {{}}
"
    ));
    assert!(!out.contains("error["), "{out}");
}

#[test]
fn every_code_of_the_checker_has_a_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors/sema/snapshots");
    let texts: String = std::fs::read_dir(folder)
        .expect("snapshots")
        .map(|e| std::fs::read_to_string(e.expect("an entry").path()).expect("text"))
        .collect();
    // Files, generics and limits are tested elsewhere.
    let of_the_checker = |id: &&str| ("E0201".."E0603").contains(id) && *id != "E0209";
    let missing: Vec<_> = crate::diag::Code::ALL.iter().map(|c| c.id()).filter(of_the_checker).filter(|id| !texts.contains(id)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn limits_and_broken_libraries_are_errors() {
    let line: String = (0..400).map(|i| format!("class C{} : C{i}()\n", i + 1)).collect();
    assert!(checked(&format!("class C0\n{line}fun main() {{}}\n")).contains("E0605"));
    // What is above the limit is not missed below it.
    let out =
        checked(&format!("class C0 {{ fun f() {{}} }}\n{line}class D : C400() {{ override fun f() {{}} }}\nfun main() {{ D().g() }}\n"));
    assert!(out.contains("E0605") && !out.contains("E0402") && !out.contains("E0203"), "{out}");
    let params = |count: usize| (0..count).map(|i| format!("a{i}: Int")).collect::<Vec<_>>().join(", ");
    let declared = |count: usize| {
        let params = params(count);
        ["fun f(LIST) {}", "class C(LIST)", "class C { fun f(LIST) {} }", "interface I { fun f(LIST) }", "fun f() { let g = (LIST) => 1 }"]
            .map(|declaration| checked(&format!("{}\nfun main() {{}}\n", declaration.replace("LIST", &params))))
    };
    assert!(declared(4000).iter().all(|out| !out.contains("error[")));
    assert!(declared(4001).iter().all(|out| out.contains("E0605") && out.contains("a4000")));
    let mut map = SourceMap::new();
    let file = map.add("test.lang".into(), "fun main() {}".to_string(), Origin::User).expect("a small file");
    let ast = crate::syntax::parse(&map, file, &mut Diagnostics::new());
    let (program, problems) = check(&[Unit { file, origin: Origin::User, ast, broken: false }], Scope::Reachable);
    assert!(program.is_none() && problems.render(&map, false).contains("E0606"));
}
