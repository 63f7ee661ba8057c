//! Profiling where programs are at their worst: many threads, sudden ends, collections all the time, errors everywhere, deep stacks. Programs do what they do unprofiled, nothing hangs, and exhaustive profiles are complete.
#![cfg(all(unix, feature = "native"))]

mod running;

use profiler::profile::Profile;
use running::Folder;
use std::collections::BTreeMap;

const EXACT: &[&str] = &[
    "--tier interp --profile exhaustive",
    "--tier baseline --profile exhaustive",
    "--tier baseline --profile exhaustive --osr-stress",
    "--tier opt --profile exhaustive --profile-inlined",
    "--tier adaptive --profile exhaustive --profile-inlined",
    // Whatever the clock says, something is compiled.
    "--tier adaptive --profile exhaustive --profile-inlined --adapt-stress 1",
];

/// Samplers at rates far beyond what is useful, so that something is always under way.
const SAMPLED: &[&str] = &[
    "--tier baseline --profile stackwalk --interval 50us",
    "--tier opt --profile cbs --interval 50us --antibias latency",
    "--tier baseline --profile burst --interval 100us --burst 1000",
    "--tier baseline --profile burst --interval 100us --burst 300 --osr-stress",
    "--tier opt --profile burst --interval 100us --burst 50us --profile-inlined",
    "--tier baseline --profile adaptive --interval 100us --burst 500 --reenable 0.2",
    WINDOWS,
    BESIDE,
    BY_CALLS,
    "--tier interp --profile adaptive --interval 100us --burst 500",
];

/// Takes samples however fast the program is.
const BY_CALLS: &str = "--tier opt --profile estimator --trigger calls --interval 200 --profile-inlined";

/// The only ones that do not count every call.
const WINDOWS: &str = "--tier baseline --profile adaptive --interval 100";
const BESIDE: &str = "--tier adaptive --profile adaptive --interval 100";

/// Calls of each function from each call site's function; of functions that call themselves only if asked for.
fn calls(profile: &Profile, recursive: bool) -> BTreeMap<String, f64> {
    let program = profile.program();
    let mut calls = BTreeMap::new();
    for counted in profile.dcg() {
        let (caller, callee) = (program.caller(counted.edge), program.callee(counted.edge));
        if recursive || caller != Some(callee) {
            let caller = caller.map_or("", |caller| &program.functions[caller].name);
            let line = program.edges()[counted.edge].site.expand().map_or(0, |site| program.sites[site].line);
            *calls.entry(format!("{caller}:{line} {}", program.functions[callee].name)).or_insert(0.0) += counted.weight;
        }
    }
    calls
}

/// Calls of the functions with this name.
fn calls_of(profile: &Profile, name: &str) -> f64 {
    let program = profile.program();
    profile.dcg().iter().filter(|edge| *program.functions[program.callee(edge.edge)].name == *name).map(|edge| edge.weight).sum()
}

/// Runs a program in every way: exhaustive counts agree, and equal `known`; samplers have counted every call, but those that only do so some of the time.
fn check(name: &str, source: &str, more: &str, known: &[(&str, f64)]) {
    let folder = Folder::with_program(name, source);
    let plain = folder.run(&format!("--tier baseline {more}"));
    assert_eq!((plain.0, plain.2.as_str()), (Some(0), ""), "{}", plain.1);
    let mut exact = None;
    for options in EXACT {
        let profile = folder.profile(&format!("{options} {more}"), &plain);
        for &(function, count) in known {
            assert_eq!(calls_of(&profile, function), count, "{options}: {function}");
        }
        assert_eq!(profile.meta().counters.calls as f64, profile.dcg_total(), "{options}");
        let found = calls(&profile, true);
        assert_eq!(exact.get_or_insert_with(|| found.clone()), &found, "{options}");
    }
    let total: f64 = exact.iter().flat_map(|calls| calls.values()).sum();
    let mut samples = 0;
    for options in SAMPLED {
        let counters = folder.profile(&format!("{options} {more}"), &plain).meta().counters;
        assert!(*options != BY_CALLS || counters.samples > 0, "{options}: no samples");
        samples += if *options == BY_CALLS { 0 } else { counters.samples };
        let counted = counters.calls as f64;
        let is_windowed = [WINDOWS, BESIDE].contains(options);
        let sees_all = !is_windowed && !options.contains("opt") || options.contains("inlined");
        let most = if is_windowed { f64::INFINITY } else { total };
        assert!(if sees_all { counted == total } else { counted <= most && counted > 0.0 }, "{options}: {counted} of {total} calls");
    }
    assert!(samples > 0, "no clock has had a sample taken");
}

const WORK: &str = "
fun leaf(n: Int): Int = n * 3 % 7
fun work(n: Int): Int {
    var sum = 0
    for i in 0..<n { sum += leaf(i) }
    return sum
}
";

#[test]
fn sixty_four_threads() {
    let main = "fun main() {
        let threads = List<Thread<Int>>()
        for t in 0..<64 { threads.add(spawn(() => work(1000 + t) + work(500))) }
        var sum = 0
        for thread in threads { sum += thread.join() }
        println(sum)
    }";
    let leaves = (0..64).map(|t| 1500.0 + f64::from(t)).sum();
    check("threads", &format!("{WORK}{main}"), "", &[("work", 128.0), ("leaf", leaves)]);
}

#[test]
fn ten_thousand_short_threads() {
    let main = "fun main() {
        var sum = 0
        for round in 0..<400 {
            let threads = List<Thread<Int>>()
            for t in 0..<25 { threads.add(spawn(() => work(t))) }
            for thread in threads { sum += thread.join() }
        }
        println(sum)
    }";
    check("churn", &format!("{WORK}{main}"), "", &[("work", 10_000.0), ("leaf", 400.0 * 300.0)]);
}

#[test]
fn more_threads_than_there_may_be_are_an_error_that_harms_none() {
    let main = "fun main() {
        let gate = Mutex()
        let threads = List<Thread<Int>>()
        lock gate {
            try {
                while true { threads.add(spawn(() => { lock gate { return 1 } })) }
            } catch (e: StateError) {
                println(e.message.startsWith(\"cannot start a thread: \"))
            }
        }
        var sum = 0
        for thread in threads { sum += thread.join() }
        println(sum == threads.size() && spawn(() => sum).join() == sum)
    }";
    let folder = Folder::with_program("many-threads", main);
    assert_eq!(folder.run("--tier baseline --profile adaptive"), (Some(0), "true\ntrue\n".into(), String::new()));
}

#[test]
fn collections_all_the_time() {
    let main = "
    class Node(let next: Node?, let value: Int)
    fun build(n: Int): Node? = if n == 0 { null } else { Node(build(n - 1), leaf(n)) }
    fun total(list: Node?): Int {
        var sum = 0
        var at = list
        while at != null {
            sum += at!!.value
            at = at!!.next
        }
        return sum
    }
    fun main() {
        let threads = List<Thread<Int>>()
        for t in 0..<8 { threads.add(spawn(() => {
            var sum = 0
            for i in 0..<10 { sum += total(build(20 + t)) + \"${i}\".length }
            return sum
        })) }
        var sum = 0
        for thread in threads { sum += thread.join() }
        println(sum)
    }";
    let source = format!("{WORK}{main}");
    let known = [("total", 80.0), ("leaf", (0..8).map(|t| 10.0 * (20.0 + f64::from(t))).sum())];
    check("gc-every", &source, "--gc-stress 1", &known);
    check("gc-some", &source, "--gc-stress 7 --verify", &known);
    check("gc-small", &source.replace("0..<10 {", "0..<1000 {"), "--nursery 64k", &known.map(|(name, count)| (name, 100.0 * count)));
}

const ERRORS: &str = "
class Failure(let depth: Int) : Error(\"deep\") {}
class Box(let value: Int) {}

fun dive(depth: Int, at: Int, how: Int): Int {
    if depth == at {
        let none: Box? = if at >= 0 { null } else { Box(1) }
        let numbers = [1, 2, 3]
        if how == 0 { throw Failure(depth) }
        if how == 1 { return none!!.value }
        if how == 2 { return numbers[at + 3] }
        if how == 3 { return 7 / (at - depth) }
    }
    return leaf(depth) + dive(depth + 1, at, how)
}

fun cleans(at: Int, how: Int): Int {
    try { return dive(0, at, how) } finally { leaf(1) }
}

fun again(at: Int, how: Int): Int {
    try {
        return cleans(at, how)
    } catch (e: Failure) {
        leaf(2)
        throw e
    }
}

fun middle(at: Int, how: Int): Int {
    try { return again(at, how) } catch (e: Failure) { return work(2) } catch (e: Error) { return leaf(3) }
}

fun endless(n: Int): Int = 1 + endless(n + 1)

fun overflow(n: Int): Int {
    try { return endless(n) } catch (e: StackOverflowError) { return work(3) }
}
";

#[test]
fn errors_in_bursts() {
    let main = "fun main() {
        var sum = 0
        for i in 0..<4000 { sum += middle(i % 50, i % 4) + leaf(i) }
        println(sum)
    }";
    check("errors", &format!("{WORK}{ERRORS}{main}"), "", &[("middle", 4000.0), ("cleans", 4000.0)]);
}

#[test]
fn overflows_in_bursts() {
    let main = "fun main() {
        var sum = 0
        for i in 0..<40 { sum += overflow(i) + middle(i, i % 4) }
        println(sum)
    }";
    let folder = Folder::with_program("overflows", &format!("{WORK}{ERRORS}{main}"));
    let plain = folder.run("--stack 256k");
    let exact = calls(&folder.profile(&format!("{} --stack 256k", EXACT[0]), &plain), false);
    for options in EXACT {
        assert_eq!(calls(&folder.profile(&format!("{options} --stack 256k"), &plain), false), exact, "{options}");
    }
    for options in SAMPLED {
        folder.profile(&format!("{options} --stack 256k"), &plain);
    }
}

#[test]
fn a_million_frames() {
    let main = "
    fun down(n: Int): Int = if n == 0 { 0 } else { 1 + down(n - 1) }
    fun main() {
        var sum = 0
        for i in 0..<3 { sum += down(1_000_000) + work(1000) }
        println(sum)
    }";
    check("deep", &format!("{WORK}{main}"), "--stack 1g", &[("down", 3_000_003.0), ("leaf", 3000.0)]);
}
