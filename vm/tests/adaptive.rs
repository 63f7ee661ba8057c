//! The adaptive tier where it has most to do: versions of functions and loops follow each other at random yield points, in many threads, while collections come all the time and old code is freed; and programs whose phases prove
//! earlier profiles wrong. What programs print is what the interpreter prints.
#![cfg(all(unix, feature = "native"))]

mod running;

use profiler::matching::SiteKey;
use profiler::oracle::Form;
use profiler::plan::Planned;
use running::{Ended, Folder};
use std::collections::{BTreeMap, BTreeSet};

/// Four classes whose methods are called from one place, each in a phase of its own.
const PHASES: &str = "
interface Shape { fun area(n: Int): Int }
class Square(let side: Int) : Shape { override fun area(n: Int): Int = side * side + n % 3 }
class Strip(let width: Int) : Shape { override fun area(n: Int): Int = if n % 7 == 0 { width } else { width * 2 + n % 5 } }
class Hole : Shape { override fun area(n: Int): Int = -n % 11 }
class Both(let a: Shape, let b: Shape) : Shape { override fun area(n: Int): Int = a.area(n) + b.area(n + 1) }

fun areas(shape: Shape, rounds: Int): Int {
    var sum = 0
    for n in 0..<rounds { sum = (sum * 31 + shape.area(n)) % 1000003 }
    return sum
}

fun phase(shape: Shape, rounds: Int): Int {
    var sum = 0
    for k in 0..<6 { sum += areas(shape, rounds + k) }
    return sum
}

fun main() {
    let shapes = List<Shape>()
    shapes.add(Square(3))
    shapes.add(Strip(4))
    shapes.add(Hole())
    shapes.add(Both(Square(5), Hole()))
    let last = if args().length > 0 { 1 } else { shapes.size() }
    for round in 0..<3 {
        for i in 0..<last { println(\"${i} ${phase(shapes[i], 150)}\") }
    }
}
";

/// The number in a row of `--stats`, times in milliseconds.
fn row<T: std::str::FromStr>(errors: &str, name: &str) -> T {
    let row = errors.lines().find(|line| line.split_whitespace().next() == Some(name));
    let value = row.and_then(|row| row.split_whitespace().nth(1)).unwrap_or_else(|| panic!("no {name} in\n{errors}"));
    value.parse().unwrap_or_else(|_| panic!("{name} is {value}"))
}

fn stat(errors: &str, name: &str) -> u64 {
    row(errors, name)
}

fn same(folder: &Folder, options: &str, plain: &Ended) {
    assert_eq!(&folder.run(options), plain, "{options}");
}

/// Whatever is replaced is freed again: of hundreds of versions only those remain that are called now, those whose loops may be left for them, and what the last stops have found in use.
#[test]
fn code_of_fast_changes_is_freed() {
    let folder = Folder::with_program("freed", PHASES);
    let plain = folder.run("--tier interp");
    for seed in 1..4 {
        let (code, printed, errors) = folder.run(&format!("--tier adaptive --adapt-stress {seed} --stats"));
        assert_eq!((code, &printed), (plain.0, &plain.1), "{errors}");
        let [made, freed, functions] = ["native.functions", "native.freed", "compile.instances"].map(|name| stat(&errors, name));
        // Code is freed at every third of the forced moments, in the mean; 30 in a row without are next to impossible, and the same in every run.
        let (loops, between) = (4, 30);
        assert!(made > 250, "{made} versions");
        assert!(stat(&errors, "adaptive.discarded") > 2 && stat(&errors, "adaptive.discarded-loops") > 2, "{errors}");
        assert!(errors.contains("inline.yes.") && errors.contains("inline.no."), "decisions are told");
        assert!(made - freed <= functions + loops + between, "{made} versions were made and {freed} freed, of {functions} functions");
    }
}

/// What a profile of the first phase promises does not hold in the others: tests of classes fail, and the calls behind them go where they must.
#[test]
fn tests_of_classes_that_fail_after_a_change_of_phase() {
    let folder = Folder::with_program("guards", PHASES);
    let plain = folder.run("--tier interp");
    let first = folder.run("--tier interp -- first");
    same(&folder, "--tier baseline --profile exhaustive --profile-out profile.json -- first", &first);
    for policy in ["dynamic", "cost-benefit", "context"] {
        let asked = format!("--inline {policy} --profile-in profile.json");
        same(&folder, &format!("--tier opt {asked} --plan-out guards.json"), &plain);
        let tested = tested(&folder, "guards.json");
        assert!(tested.iter().any(|(caller, callee)| caller == "areas" && callee == "Square.area"), "{policy}: {tested:?}");
        same(&folder, &format!("--tier adaptive {asked}"), &plain);
        same(&folder, &format!("--tier adaptive {asked} --adapt-stress 5"), &plain);
        same(&folder, &format!("--tier adaptive {asked} --adapt-stress 6 --gc-stress 3"), &plain);
    }
}

/// Caller and callee of what came in behind a test of the receiver's class.
fn tested(folder: &Folder, plan: &str) -> Vec<(String, String)> {
    let plan = profiler::plan::read(&folder.path(plan)).unwrap();
    let name = |func| plan.names().functions[func].function.name.to_string();
    let is_behind_test = |decision: &&Planned| {
        let mut tests =
            plan.guards().iter().filter(|guard| (guard.root, &guard.chain, guard.site) == (decision.root, &decision.chain, decision.site));
        decision.verdict.is_inlined() && tests.any(|guard| guard.candidates.len() > 1 && guard.targets.contains(&decision.callee))
    };
    let behind_tests = plan.decisions().iter().filter(is_behind_test);
    behind_tests.map(|decision| (name(plan.names().sites[decision.site].caller), name(decision.callee))).collect()
}

#[test]
fn an_earlier_profile_of_few_samples_is_told() {
    let folder = Folder::with_program("few", "fun twice(n: Int): Int = n * 2\nfun main() { for i in 0..<5 { println(\"${twice(i)}\") } }");
    let plain = folder.run("--tier baseline --profile exhaustive --profile-out profile.json");
    let (code, printed, errors) = folder.run("--inline context --profile-in profile.json");
    assert_eq!((code, printed), (plain.0, plain.1), "{errors}");
    assert!(errors.starts_with("warning: the earlier profile has ") && errors.contains(" and is asked from 1000 on"), "{errors}");
    assert_eq!(folder.run("--tier opt --inline context --profile-in profile.json").2, "", "it decides there");
}

const THREADS: &str = "
class Node(let next: Node?, let value: Int)
interface Step { fun next(n: Int): Int }
class Twice : Step { override fun next(n: Int): Int = n * 2 % 1009 }
class Plus(let by: Int) : Step { override fun next(n: Int): Int = (n + by) % 1013 }

fun build(n: Int, step: Step): Node? = if n == 0 { null } else { Node(build(n - 1, step), step.next(n)) }
fun total(list: Node?, step: Step): Int {
    var sum = 0
    var at = list
    while at != null {
        sum = step.next(sum + at!!.value)
        at = at!!.next
    }
    return sum
}
fun work(t: Int): Int {
    let step: Step = if t % 2 == 0 { Twice() } else { Plus(t) }
    var sum = 0
    for i in 0..<30 {
        try { sum += total(build(10 + i % 7, step), step) + \"${i}\".length + 100 / (i % 10) }
        catch (e: DivisionError) { sum += 1 }
    }
    return sum
}
fun main() {
    let threads = List<Thread<Int>>()
    for t in 0..<8 { threads.add(spawn(() => work(t))) }
    for thread in threads { println(thread.join()) }
}
";

/// Threads run, leave and throw through code that others replace and free.
#[test]
fn many_threads_while_code_is_replaced_and_freed() {
    let folder = Folder::with_program("threads", THREADS);
    let plain = folder.run("--tier interp");
    assert_eq!((plain.0, plain.2.as_str()), (Some(0), ""), "{}", plain.1);
    for seed in 1..5 {
        same(&folder, &format!("--tier adaptive --adapt-stress {seed}"), &plain);
        same(&folder, &format!("--tier adaptive --adapt-stress {seed} --gc-stress 5"), &plain);
    }
    let (code, printed, errors) = folder.run("--tier adaptive --adapt-stress 1 --stats");
    assert_eq!((code, printed), (plain.0, plain.1), "{errors}");
    assert!(stat(&errors, "native.freed") > 0, "nothing was freed:\n{errors}");
}

/// Addresses that were recorded in code which is replaced are decoded before it is freed: every call is counted, where it belongs.
#[test]
fn profiles_of_code_that_is_replaced_and_freed() {
    let folder = Folder::with_program("profiled", PHASES);
    let plain = folder.run("--tier interp");
    let edges = |options: &str| {
        let profile = folder.profile(options, &plain);
        let program = profile.program();
        let edge = |counted: &profiler::profile::DcgEdge| {
            let caller = program.caller(counted.edge).map_or("", |caller| &program.functions[caller].name);
            (caller.to_owned(), program.functions[program.callee(counted.edge)].name.to_string(), counted.weight as u64)
        };
        let mut edges: Vec<_> = profile.dcg().iter().map(edge).collect();
        edges.sort();
        edges
    };
    let exact = edges("--tier interp --profile exhaustive");
    for seed in 1..4 {
        let found = edges(&format!("--tier adaptive --adapt-stress {seed} --profile exhaustive --profile-inlined"));
        assert_eq!(exact, found, "seed {seed}");
    }
}

#[test]
fn forcing_goes_with_the_tier() {
    let folder = Folder::with_program("flag", "fun main() {}");
    let (code, _, errors) = folder.run("--tier opt --adapt-stress 1");
    assert_eq!((code, errors.as_str()), (Some(2), "error: --adapt-stress goes with --tier adaptive\n"));
}

/// Long enough for much to be compiled.
fn long_phases() -> String {
    PHASES.replace("150", "40000")
}

/// Policies that ask a profile need none from outside, and whoever takes the run's samples: what the program prints is the same.
#[test]
fn policies_ask_the_profile_of_the_run_itself() {
    let folder = Folder::with_program("own", &long_phases());
    let plain = folder.run("--tier baseline");
    assert_eq!(plain.0, Some(0), "{}", plain.2);
    same(&folder, "--tier baseline --profile exhaustive --profile-out profile.json", &plain);
    for options in [
        "",
        "--inline dynamic",
        "--inline weak-static --nursery 64k",
        "--inline context",
        "--inline context --profile-in profile.json",
        "--inline static",
        "--inline none",
    ] {
        same(&folder, &format!("--tier adaptive {options}"), &plain);
    }
    for mode in ["adaptive", "estimator", "cbs", "exhaustive --profile-inlined", "adaptive --clock calls"] {
        folder.profile(&format!("--tier adaptive --profile {mode}"), &plain);
    }
    let (code, _, errors) = folder.run("--tier adaptive --adapt-stress 1 --inline dynamic");
    assert!(code == Some(2) && errors.contains("hint: make one by"), "where all is forced nothing depends on when: {errors}");
}

/// What the first phase has had compiled is compiled anew when the profile has moved. How long a phase must be for that is up to the machine.
#[test]
fn what_a_later_phase_calls_is_compiled_again() {
    let folder = Folder::with_program("again", include_str!("../../benches/programs/phases.lang"));
    let found = ["200 10", "500 6", "500 16", "1000 16", "4000 16"].iter().any(|phases| {
        let (code, _, errors) = folder.run(&format!("--tier adaptive --stats -- {phases}"));
        assert_eq!(code, Some(0), "{errors}");
        let again = stat(&errors, "adaptive.again");
        assert!(again <= stat(&errors, "adaptive.functions"), "{errors}");
        again > 0
    });
    assert!(found, "nothing was compiled again");
}

/// A second part in which nothing of the first is called: what that had is given up, without a flag. How long is long enough is up to the machine.
#[test]
fn code_that_nothing_runs_any_more_is_given_up() {
    let folder = Folder::new("cold");
    let found = [400_000, 4_000_000, 12_000_000, 40_000_000].iter().any(|rounds| {
        let parts = STEADY.replace("60000", &rounds.to_string())
            + "\n"
            + &STEADY
                .replace("main", "second")
                .replace("leaf", "other")
                .replace("twig", "sprig")
                .replace("branch", "bough")
                .replace("60000", &(4 * rounds).to_string());
        folder.write("program.lang", &parts.replacen("println(sum)\n}", "println(sum)\n    second()\n}", 1));
        let (code, printed, errors) = folder.run("--tier adaptive --stats");
        assert_eq!((code, printed.lines().count()), (Some(0), 2), "{errors}");
        stat(&errors, "adaptive.discarded") > 0
    });
    assert!(found, "nothing was given up");
}

/// The same from beginning to end.
const STEADY: &str = "
fun leaf(n: Int): Int = n * 3 % 7
fun twig(n: Int): Int = leaf(n) + leaf(n + 1)
fun branch(n: Int): Int {
    var sum = 0
    for i in 0..<50 { sum += twig(n + i) % 5 }
    return sum + leaf(n)
}
fun main() {
    var sum = 0
    for n in 0..<60000 { sum = (sum + branch(n)) % 1000003 }
    println(sum)
}
";

/// It never runs for as long as from one tick to the next. Whether the timer gets a processor while it runs is up to the machine, too.
#[test]
fn a_program_that_sleeps_often_is_compiled_all_the_same() {
    let source = "
fun burst(): Int { var s = 0; for i in 0..<60000 { s = s * 31 + i }; return s }
fun main() { var sum = 0; for k in 0..<TIMES { sum += burst(); sleep(1) }; println(sum) }
";
    let folder = Folder::new("bursts");
    let found = [300, 3000, 20_000].iter().any(|times| {
        folder.write("program.lang", &source.replace("TIMES", &times.to_string()));
        let (code, _, errors) = folder.run("--tier adaptive --stats");
        assert_eq!(code, Some(0), "{errors}");
        stat(&errors, "yield.ticks") > 10 && stat(&errors, "adaptive.functions") > 0
    });
    assert!(found, "nothing was compiled");
}

/// What optimized code has inlined is in the profile all the same, and what it is checked against has it, too.
#[test]
fn windows_beside_optimized_code() {
    let folder = Folder::with_program("beside", STEADY);
    let options = ["--tier", "adaptive", "--profile", "adaptive", "--inline", "static", "--check", "--quiet", "--json"];
    let (code, printed, errors) = running::streams(&folder.vm(&[&["profile", "program.lang"], &options[..]].concat()));
    assert_eq!(code, Some(0), "{errors}");
    let report: serde_json::Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let overlap = report["accuracy"]["edges"]["overlap"].as_f64();
    assert!(overlap.is_some_and(|overlap| overlap > 50.0), "{report}");
    assert_eq!(report["unseen"], serde_json::Value::Null, "{report}");
}

/// Of each call, by its root, the calls around it, and the callee: whether it came in, at the first or a later time that it was asked about. Loops count where there is no code from the start.
fn inlined(folder: &Folder, plan: &str) -> BTreeMap<String, bool> {
    let plan = profiler::plan::read(&folder.path(plan)).unwrap();
    let name = |func| plan.names().functions[func].function.name.to_string();
    let place = |&site: &_| format!("{} {}", name(plan.names().sites[site].caller), plan.names().sites[site].line);
    let mut calls = BTreeMap::new();
    let has_whole = |root| plan.decisions().iter().any(|other| other.root == root && other.form == Form::Whole);
    for decision in plan.decisions().iter().filter(|decision| !matches!(decision.form, Form::Loop(_)) || !has_whole(decision.root)) {
        let chain: Vec<String> = decision.chain.iter().chain([&decision.site]).map(place).collect();
        *calls.entry(format!("{}: {chain:?} {}", name(decision.root), name(decision.callee))).or_default() |= decision.verdict.is_inlined();
    }
    calls
}

/// What was decided in each code: by its function, and which code of it that is.
fn decided(folder: &Folder, plan: &str) -> BTreeMap<(String, Form), BTreeSet<String>> {
    let plan = profiler::plan::read(&folder.path(plan)).unwrap();
    let name = |func| plan.names().functions[func].function.name.to_string();
    let place = |&site: &_| {
        let SiteKey { caller, line, nth } = plan.names().sites[site];
        format!("{} {line}.{nth}", name(caller))
    };
    let mut all: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for decision in plan.decisions() {
        let chain: Vec<String> = decision.chain.iter().chain([&decision.site]).map(place).collect();
        let told =
            format!("{chain:?} {} of {} in {}: {:?}", name(decision.callee), decision.callee_size, decision.root_size, decision.verdict);
        all.entry((name(decision.root), decision.form)).or_default().insert(told);
    }
    all
}

/// One call that never ends has code for its loop alone: its decisions are in the plan, too, and followed.
#[test]
fn plans_of_loops() {
    let folder = Folder::new("planned-loop");
    const LOOP: &str = "
fun step(n: Int): Int = if n % 3 == 0 { n * 7 % 1009 } else { n + 5 }
fun main() {
    var sum = 0
    for i in 0..<ROUNDS { sum = step(sum + i) + step(sum) }
    println(sum)
}
";
    let compiles_loops = |options: &str| {
        let (code, _, errors) = folder.run(&format!("--tier adaptive {options} --stats"));
        assert_eq!(code, Some(0), "{errors}");
        let [whole, part]: [f64; 2] = ["adaptive.time", "adaptive.optimizer"].map(|name| row(&errors, name));
        assert!(whole >= part, "the whole is less than a part:\n{errors}");
        assert!(!errors.contains("not-in-plan"), "{errors}");
        stat(&errors, "adaptive.loops") > 0
    };
    // How soon something is compiled is up to the machine.
    let found = [4_000_000, 40_000_000, 400_000_000].iter().any(|rounds| {
        folder.write("program.lang", &LOOP.replace("ROUNDS", &rounds.to_string()));
        compiles_loops("--inline static --plan-out loop.json") && compiles_loops("--plan-in loop.json")
    });
    assert!(found, "seconds are enough to compile something");
    let planned = inlined(&folder, "loop.json");
    assert!(planned.iter().any(|(call, comes_in)| call.starts_with("main: ") && *comes_in), "{planned:?}");
}

/// What is asked about again is decided as it was while the program ran, on this tier and on the other.
#[test]
fn plans_of_what_was_compiled_beside_the_program() {
    let folder = Folder::new("planned");
    // How soon something is compiled is up to the machine.
    let (plain, first) = [40_000, 400_000, 4_000_000]
        .iter()
        .find_map(|rounds| {
            folder.write("program.lang", &PHASES.replace("150", &rounds.to_string()));
            let plain = folder.run("--tier baseline");
            same(&folder, "--tier adaptive --plan-out first.json", &plain);
            let first = inlined(&folder, "first.json");
            first.keys().any(|call| call.starts_with("areas") || call.starts_with("phase")).then_some((plain, first))
        })
        .expect("seconds are enough to compile something");
    same(&folder, "--tier adaptive --plan-in first.json --plan-out again.json", &plain);
    same(&folder, "--tier opt --plan-in first.json --plan-out whole.json", &plain);
    let (before, again) = (decided(&folder, "first.json"), decided(&folder, "again.json"));
    // Which of the loops have made an early form of the rest is up to the moment.
    for (code, decisions) in again.iter().filter(|(code, _)| code.1 != Form::Early && before.contains_key(*code)) {
        assert_eq!(*decisions, before[code], "{code:?}");
    }
    let whole = inlined(&folder, "whole.json");
    let both: Vec<&String> = first.keys().filter(|call| whole.contains_key(*call)).collect();
    assert!(!both.is_empty(), "all that is called has code: {first:?} {whole:?}");
    both.into_iter().for_each(|call| assert_eq!(first[call], whole[call], "{call}"));
    let (code, _, errors) = folder.run("--tier adaptive --plan-out /nowhere/plan.json");
    assert!(code == Some(2) && errors.contains("there is no folder /nowhere"), "{errors}");
}
