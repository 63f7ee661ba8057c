//! `vm run --profile`: what is counted while a program runs is what it did.
#![cfg(feature = "native")]

use profiler::diff::{DiffOptions, diff};
use profiler::export;
use profiler::ids::{EdgeId, FuncId};
use profiler::profile::Profile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("vm-live-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn source(&self, text: &str) -> PathBuf {
        let path = self.0.join("program.lang");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs a program profiled, which must end with this code, and reads what was written.
    fn profile(&self, source: &Path, options: &[&str], code: i32) -> Profile {
        let out = self.0.join("profile.json");
        _ = std::fs::remove_file(&out);
        let output = run(source, &[options, &["--profile-out", out.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(code), "{source:?} {options:?}: {output:?}");
        export::read(&out).unwrap_or_else(|error| panic!("{source:?} {options:?}: {error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(source: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vm")).arg("run").arg(source).args(options).output().unwrap()
}

/// Both count the same on every edge, but for the calls of a function that recurses until the stack overflows: how deep a stack is, is a tier's own matter.
fn assert_same_but_endless(ours: &Profile, theirs: &Profile, what: &str) {
    let counts = |profile: &Profile| -> BTreeMap<String, f64> {
        let program = profile.program();
        let name = |func: FuncId| program.functions[func].name.to_string();
        let edge = |edge: EdgeId| (program.caller(edge).map(name), name(program.callee(edge)), program.edges()[edge].site.expand());
        let all = profile.dcg().iter().map(|counted| (edge(counted.edge), counted.weight));
        all.filter(|((caller, callee, _), _)| caller.as_ref() != Some(callee)).map(|(edge, calls)| (format!("{edge:?}"), calls)).collect()
    };
    assert_eq!(counts(ours), counts(theirs), "{what}");
}

/// Both count the same calls on the same edges in the same contexts.
fn assert_same(ours: &Profile, theirs: &Profile, what: &str) {
    let found = diff(ours, theirs, &DiffOptions::default());
    assert_eq!(ours.dcg_total(), theirs.dcg_total(), "{what}: calls\n{found}");
    assert!(found.changes.is_empty(), "{what}\n{found}");
    let nodes = |profile: &Profile| profile.contexts().map(|contexts| contexts.nodes().filter(|(_, node)| node.weight > 0.0).count());
    assert_eq!(nodes(ours), nodes(theirs), "{what}: contexts\n{found}");
    assert!(found.context_overlap.is_some_and(|overlap| overlap > 100.0 - 1e-9), "{what}\n{found}");
}

const INTERP: &[&str] = &["--tier", "interp", "--profile", "exhaustive"];
const BASELINE: &[&str] = &["--tier", "baseline", "--profile", "exhaustive"];
const OPT: &[&str] = &["--tier", "opt", "--profile-inlined", "--profile", "exhaustive"];

#[test]
fn exhaustive_counts_of_every_tier_are_the_interpreters() {
    let folder = Folder::new("samples");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lang-samples");
    let mut compared = 0;
    for entry in std::fs::read_dir(samples).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        // What threads do is another thing in each run; a library has no main.
        if path.extension().is_none_or(|extension| extension != "lang") || text.contains("spawn(") || !text.contains("fun main(") {
            continue;
        }
        let exact = folder.profile(&path, INTERP, 0);
        let check = if path.ends_with("errors.lang") { assert_same_but_endless } else { assert_same };
        for tier in [BASELINE, OPT] {
            check(&folder.profile(&path, tier, 0), &exact, &format!("{path:?} {tier:?}"));
        }
        compared += 1;
    }
    assert!(compared >= 15, "only {compared} samples");
}

/// Errors that leave many functions, also inlined ones and from within a burst; recursion; virtual calls; closures.
const TWISTED: &str = r#"
class Failure(message: Str) : Error(message) {}

class Shape {
    fun area(): Int { return 1 }
}

class Square(let side: Int) : Shape() {
    override fun area(): Int { return twice(side) * side / 2 }
}

fun twice(x: Int): Int { return x + x }

fun dive(depth: Int, at: Int): Int {
    if depth == at { throw Failure("at ${depth}") }
    return 1 + dive(depth + 1, at)
}

fun attempt(at: Int): Int {
    try {
        return dive(0, at)
    } catch (e: Failure) {
        return twice(at)
    }
}

fun apply(f: (Int) -> Int, times: Int): Int {
    var sum = 0
    for i in 0..<times { sum += f(i) }
    return sum
}

fun main() {
    let shapes: List<Shape> = List<Shape>()
    shapes.add(Shape())
    shapes.add(Square(3))
    var total = 0
    for i in 0..<3000 {
        total += attempt(i % 40)
        total += shapes[i % 2].area()
        total += apply(x => twice(x) + i, i % 7)
    }
    println("${total}")
}
"#;

#[test]
fn errors_recursion_and_closures_leave_the_contexts_right() {
    let folder = Folder::new("twisted");
    let source = folder.source(TWISTED);
    let exact = folder.profile(&source, INTERP, 0);
    for tier in [BASELINE, OPT] {
        assert_same(&folder.profile(&source, tier, 0), &exact, &format!("{tier:?}"));
    }
}

#[test]
fn without_probes_inlined_calls_are_missing_and_their_contexts_are_not() {
    let folder = Folder::new("inlined");
    let source = folder.source(TWISTED);
    let exact = folder.profile(&source, INTERP, 0);
    let seen = folder.profile(&source, &["--tier", "opt", "--profile", "exhaustive"], 0);
    assert!(seen.dcg_total() < exact.dcg_total());
    // What is seen is what happened: no edge has more calls than it really had.
    let found = diff(&seen, &exact, &DiffOptions { changes: 1000, ..DiffOptions::default() });
    assert!(found.changes.iter().all(|change| change.calls_before <= change.calls_after), "{found}");
}

#[test]
fn by_the_clock_of_calls_profiles_are_the_same_in_every_run() {
    let folder = Folder::new("virtual");
    let source = folder.source(TWISTED);
    for mode in [
        "--profile stackwalk --interval 10us",
        "--profile cbs --interval 10us --antibias latency",
        "--profile burst --interval 20us --burst 300",
        "--profile burst --interval 20us --burst 2us",
        "--profile adaptive --interval 20us --burst 300 --reenable 0.2",
        "--profile adaptive --interval 500",
        "--profile estimator --interval 10us",
    ] {
        for tier in ["baseline", "opt", "interp"] {
            let options = format!("--tier {tier} --clock calls --seed 7 {mode}");
            let options: Vec<&str> = options.split_whitespace().collect();
            let first = folder.profile(&source, &options, 0);
            assert!(first.meta().counters.samples > 3, "{options:?}: {}", first.meta());
            assert!(first == folder.profile(&source, &options, 0), "{options:?}");
        }
    }
}
