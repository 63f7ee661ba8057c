//! `vm run --profile`: what is counted while a program runs is what it did.
#![cfg(feature = "native")]

mod running;

use profiler::diff::{DiffOptions, diff};
use profiler::ids::{EdgeId, FuncId};
use profiler::profile::{DcgEdge, Label, Profile};
use running::Folder;
use std::collections::BTreeMap;
use std::path::Path;

/// Runs a program profiled, which must end with this code, and reads what was written.
fn profile(folder: &Folder, source: &Path, options: &[&str], code: i32) -> Profile {
    _ = std::fs::remove_file(folder.path("profile.json"));
    let output = folder.vm(&[&["run", source.to_str().unwrap(), "--profile-out", "profile.json"], options].concat());
    assert_eq!(output.status.code(), Some(code), "{source:?} {options:?}: {output:?}");
    folder.read(&format!("{source:?} {options:?}"))
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
        let exact = profile(&folder, &path, INTERP, 0);
        let check = if path.ends_with("errors.lang") { assert_same_but_endless } else { assert_same };
        for tier in [BASELINE, OPT] {
            check(&profile(&folder, &path, tier, 0), &exact, &format!("{path:?} {tier:?}"));
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
    let source = folder.write("program.lang", TWISTED);
    let exact = profile(&folder, &source, INTERP, 0);
    for tier in [BASELINE, OPT] {
        assert_same(&profile(&folder, &source, tier, 0), &exact, &format!("{tier:?}"));
    }
}

#[test]
fn without_probes_inlined_calls_are_missing_and_their_contexts_are_not() {
    let folder = Folder::new("inlined");
    let source = folder.write("program.lang", TWISTED);
    let exact = profile(&folder, &source, INTERP, 0);
    let seen = profile(&folder, &source, &["--tier", "opt", "--profile", "exhaustive"], 0);
    assert!(seen.dcg_total() < exact.dcg_total());
    // What is seen is what happened: no edge has more calls than it really had.
    let found = diff(&seen, &exact, &DiffOptions { changes: 1000, ..DiffOptions::default() });
    assert!(!found.changes.is_empty() && found.changes.iter().all(|change| change.calls_before <= change.calls_after), "{found}");
    let (seen, exact) = (calls_by_path(&seen), calls_by_path(&exact));
    for (path, calls) in &seen {
        assert!(exact.get(path).is_some_and(|all| calls <= all), "{path:?}: {calls} calls, not {:?}", exact.get(path));
    }
    let is_unseen = |path: &[String]| seen.get(path).is_none_or(|&calls| calls == 0.0);
    let through_inlined = |path: &&Vec<String>| (1..path.len()).any(|len| is_unseen(&path[..len]));
    assert!(seen.iter().any(|(path, &calls)| calls > 0.0 && through_inlined(&path)), "{seen:?}");
}

/// Calls by the edges that lead to them, outermost first, told so that two profiles can be compared.
fn calls_by_path(profile: &Profile) -> BTreeMap<Vec<String>, f64> {
    let (program, contexts) = (profile.program(), profile.contexts().unwrap());
    let edge = |id| {
        let Label::Edge(edge) = contexts.node(id).label else { panic!("no edge") };
        format!("{:?} {}", program.edges()[edge].site.expand(), program.functions[program.callee(edge)].name)
    };
    let path = |id| {
        let mut path: Vec<String> = std::iter::successors(Some(id), |&id| contexts.node(id).parent.expand()).map(edge).collect();
        path.reverse();
        path
    };
    contexts.nodes().map(|(id, node)| (path(id), node.weight)).collect()
}

#[test]
fn by_the_clock_of_calls_profiles_are_the_same_in_every_run() {
    let folder = Folder::new("virtual");
    let source = folder.write("program.lang", TWISTED);
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
            let first = profile(&folder, &source, &options, 0);
            assert!(first.meta().counters.samples > 3, "{options:?}: {}", first.meta());
            assert!(first == profile(&folder, &source, &options, 0), "{options:?}");
        }
    }
}

/// The interpreter's clock, too, shows who runs, not who waits. How much of its time a thread gets for its work is up to the machine.
#[test]
fn a_thread_that_is_blocked_is_not_sampled() {
    let folder = Folder::new("blocked");
    for tier in ["interp", "baseline"] {
        let has_samples = |times: u64| {
            let source = SLEEPS_AND_WORKS.replace("SLEEP", &(100 * times).to_string()).replace("WORK", &(20 * times).to_string());
            let source = folder.write("program.lang", &source);
            let seen = profile(&folder, &source, &["--tier", tier, "--profile", "stackwalk", "--interval", "1ms"], 0);
            let samples = seen.meta().counters.samples;
            assert!(samples < 150 * times, "{tier}: {samples} samples in {times} times 300 ms of sleep and 60 of work");
            samples >= 5
        };
        assert!([1, 10].into_iter().any(has_samples), "{tier}: no samples");
    }
}

const SLEEPS_AND_WORKS: &str = "
fun work(): Int { var sum = 0; for i in 0..<300 { sum += i }; return sum }
fun main() {
    for k in 0..<3 {
        sleep(SLEEP)
        let end = clockNanos() + WORK * 1_000_000
        while clockNanos() < end { work() }
    }
}
";

/// Times of dense calls and of sparse ones, shorter than a window and longer, for some seconds of baseline code, half of each: some tens of windows meet either, however busy others keep the machine.
const DENSE_AND_SPARSE: &str = r#"
fun compute(x: Int): Int {
    var y = x
    for i in 0..<10 { y = y * 3 % 1001 }
    return y
}
fun tick(x: Int): Int { return x + 1 }

fun dense(rounds: Int): Int {
    var sum = 0
    for i in 0..<rounds { sum = (sum + compute(i)) % 1000003 }
    return sum
}

fun sparse(rounds: Int): Int {
    var sum = 0
    for i in 0..<rounds {
        for j in 0..<100 { sum = (sum * 7 + j) % 1000003 }
        sum += tick(sum)
    }
    return sum
}

fun main() {
    var sum = 0
    for i in 1..200 { sum += dense(500 * (i % 20)) + sparse(25 * (i % 20)) }
    for i in 1..ROUNDS { sum += dense(500000) + sparse(25000) }
    print(sum)
}
"#;

/// Others that keep the machine busy make windows few. That is to be in the errors; how long a run must be to be near the truth is up to the machine.
#[test]
fn calls_that_are_counted_in_windows_are_estimated_as_they_are() {
    let folder = Folder::new("windows");
    // Each is called at one place.
    let edge_to = |profile: &Profile, name: &str| {
        let program = profile.program();
        let is_called = |counted: &DcgEdge| *program.functions[program.callee(counted.edge)].name == *name;
        *profile.dcg().iter().find(|counted| is_called(counted)).expect("it is called")
    };
    let is_near = |rounds: u32| {
        let source = folder.write("program.lang", &DENSE_AND_SPARSE.replace("ROUNDS", &rounds.to_string()));
        let exact = profile(&folder, &source, BASELINE, 0);
        let found = profile(&folder, &source, &["--tier", "baseline", "--profile", "adaptive"], 0);
        let counters = found.meta().counters;
        assert!(counters.windows > 2 && counters.calls_counted < counters.calls / 2, "all calls were counted: {}", found.meta());
        ["compute", "tick"].into_iter().all(|name| {
            let (found, exact) = (edge_to(&found, name), edge_to(&exact, name).weight);
            let error = found.error.expect("it was sampled") / found.weight;
            let off = (found.weight / exact).ln().abs();
            assert!(off < 4.0 * error, "{name}: {found:?} with an error of {error} instead of {exact}");
            off < 0.7
        })
    };
    assert!([80, 320].into_iter().any(is_near), "the calls of dense times or of sparse ones are off by more than half");
}

/// Threads that make a hundred calls, of which few meet a burst: those stand for the others, with their first calls and their last ones, too.
const SHORT_THREADS: &str = "
fun step(x: Int): Int {
    var y = x
    for i in 0..<300 { y = y * 3 % 1001 }
    return y
}
fun first(x: Int): Int { return step(x) }
fun last(x: Int): Int { return step(x) }

fun work(): Int {
    var sum = first(1)
    for i in 0..<100 { sum += step(i) }
    return last(sum)
}

fun main() {
    var sum = 0
    for i in 0..<1500 {
        let workers = tabulate(4, i => spawn(() => work()))
        for worker in workers { sum += worker.join() }
    }
    println(sum)
}
";

#[test]
fn first_and_last_calls_of_short_threads_are_told_as_often_as_they_are_made() {
    let folder = Folder::new("short");
    let source = folder.write("program.lang", SHORT_THREADS);
    let found = profile(&folder, &source, &["--tier", "baseline", "--profile", "adaptive"], 0);
    let program = found.program();
    for name in ["work", "first", "last"] {
        let calls: f64 = found
            .dcg()
            .iter()
            .filter(|counted| *program.functions[program.callee(counted.edge)].name == *name)
            .map(|counted| counted.weight)
            .sum();
        let told = calls / 6000.0;
        // A hundred of each are recorded, or somewhat fewer where a busy machine makes windows brief.
        assert!((0.4..2.0).contains(&told), "{name}: {told}");
    }
}

/// A thread that wakes in a window may find the lock taken, and sleep again: several windows go together then, and their samples stand for all that was counted in them.
#[test]
fn samples_of_threads_that_wait_for_a_lock_stand_for_all_of_their_calls() {
    let folder = Folder::new("locked");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lang-samples/lock_latency.lang");
    // How many windows there are in a run is up to the machine.
    let found = ["60000", "240000", "960000"].iter().find_map(|rounds| {
        let found = profile(&folder, &source, &["--tier", "baseline", "--profile", "adaptive", "--", "4", rounds], 0);
        let counters = found.meta().counters;
        (counters.windows > 4 && counters.calls_counted < counters.calls).then_some(found)
    });
    let found = found.expect("seconds are enough for some windows between which calls are not counted");
    let counters = found.meta().counters;
    let told = found.dcg_total() / counters.calls as f64;
    // Where a thread ends, there may be no sample any more to stand for what it has called last.
    assert!((0.7..1.01).contains(&told), "{told} of {} calls", counters.calls);
}
