//! `vm replay`: profiles of recorded runs, from the command line.

mod running;

use profiler::clock::Clock;
use profiler::export;
use profiler::profile::{Label, Profile, Structure};
use profiler::program::Program;
use profiler::trace::{Limits, Trace, TraceWriter};
use running::{Folder, streams};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Deref;

/// Recursion and a loop: fib(16) calls itself 3192 times, in 16 contexts and more.
const PROGRAM: &str = "\
fun fib(n: Int): Int = if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
fun leaf(n: Int): Int = n
fun main() {
    let sum = fib(16)
    for i in 0..2000 { leaf(i) }
}
";

/// A folder with the trace `run.trace`.
struct Recorded(Folder);

/// `main` waits for a thread.
const THREADS: &str = "\
fun work(n: Int): Int = if n < 2 { n } else { work(n - 1) + work(n - 2) }
fun main() {
    let thread = spawn(() => work(14))
    thread.join()
}
";

impl Recorded {
    fn new(name: &str) -> Recorded {
        Recorded::of(name, PROGRAM)
    }

    fn of(name: &str, program: &str) -> Recorded {
        let folder = Folder::new(name).with("run.lang", program);
        assert_eq!(folder.vm(&["trace", "run.lang"]).status.code(), Some(0));
        Recorded(folder)
    }

    /// `vm replay run.trace`, which must succeed without a word on stderr. What it prints.
    fn replay(&self, line: &str) -> String {
        let args: Vec<&str> = ["replay", "run.trace"].into_iter().chain(line.split_whitespace()).collect();
        let (code, out, errors) = streams(&self.vm(&args));
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{line}");
        out
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.replay(&format!("{line} --json"))).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn profile(&self, line: &str) -> Profile {
        self.replay(&format!("{line} -o out.json"));
        export::read(&self.path("out.json")).unwrap()
    }

    fn trace(&self) -> Trace {
        Trace::load(std::fs::File::open(self.path("run.trace")).unwrap(), Limits::default()).unwrap()
    }
}

impl Deref for Recorded {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.0
    }
}

/// Calls by path of edges, outermost first, counted by hand.
fn counted(trace: &Trace) -> BTreeMap<Vec<u32>, f64> {
    let mut counts = BTreeMap::new();
    for thread in trace.threads.values() {
        let mut stack = Vec::new();
        for event in &thread.events {
            match event.edge() {
                Some(edge) => {
                    stack.push(edge.as_u32());
                    *counts.entry(stack.clone()).or_default() += 1.0;
                }
                None => drop(stack.pop()),
            }
        }
    }
    counts
}

/// The same as a profile tells it.
fn paths(profile: &Profile) -> BTreeMap<Vec<u32>, f64> {
    let contexts = profile.contexts().expect("contexts");
    let path = |id| {
        let nodes = std::iter::successors(Some(id), |&id| contexts.node(id).parent.expand());
        let labels = nodes.map(|id| if let Label::Edge(edge) = contexts.node(id).label { edge.as_u32() } else { panic!("no edge") });
        let mut path: Vec<u32> = labels.collect();
        path.reverse();
        path
    };
    contexts.nodes().map(|(id, node)| (path(id), node.weight)).collect()
}

#[test]
fn the_exhaustive_profile_is_exact() {
    let folder = Recorded::new("exact");
    let truth = counted(&folder.trace());
    for structure in ["cct", "ccmap"] {
        assert_eq!(paths(&folder.profile(&format!("--profile exhaustive --structure {structure}"))), truth, "{structure}");
    }
    let profile = folder.profile("--structure dcg");
    assert_eq!(profile.contexts(), None);
    let mut edges: BTreeMap<u32, f64> = BTreeMap::new();
    truth.iter().for_each(|(path, calls)| *edges.entry(path[path.len() - 1]).or_default() += calls);
    assert_eq!(profile.dcg().iter().map(|edge| (edge.edge.as_u32(), edge.weight)).collect::<BTreeMap<_, _>>(), edges);
    assert!(profile.dcg().iter().all(|edge| edge.error == Some(0.0) && edge.samples as f64 == edge.weight));
    assert_eq!((&*profile.meta().program, &*profile.meta().mode, profile.meta().seed), ("run", "exhaustive", None));
    assert_eq!((profile.meta().clock, profile.meta().nanoseconds()), (Clock::Steps, None), "of instructions");
    assert!(profile.meta().duration as f64 > profile.dcg_total(), "more of them than calls");
    let modelled = folder.profile("--clock calls");
    assert_eq!((modelled.meta().clock, modelled.meta().duration as f64), (Clock::Steps, profile.dcg_total()));

    let converted = folder.vm(&["convert", "run.trace", "-o", "converted.json"]);
    assert_eq!(streams(&converted), (Some(0), String::new(), String::new()));
    assert_eq!(paths(&export::read(&folder.path("converted.json")).unwrap()), truth);
}

#[test]
fn contexts_of_bounded_length_have_their_k() {
    let folder = Recorded::new("k");
    let truth = counted(&folder.trace());
    let kccf = folder.profile("--structure kccf --k 2");
    let structure = kccf.contexts().map(|contexts| contexts.structure());
    assert_eq!(structure, Some(Structure::Kccf { k: std::num::NonZeroU32::new(2) }));
    for (reversed, weight) in paths(&kccf) {
        assert!(reversed.len() <= 3, "at most two calls before the last");
        let ends_so = |full: &Vec<u32>| full.iter().rev().zip(&reversed).filter(|(a, b)| a == b).count() == reversed.len();
        assert_eq!(truth.iter().filter(|(full, _)| ends_so(full)).map(|(_, calls)| calls).sum::<f64>(), weight, "{reversed:?}");
    }
    let ksf = folder.json("--structure ksf --k 3");
    assert_eq!(ksf["contexts"]["name"], "3-SF");
    assert!(folder.json("--structure kccf")["contexts"]["name"].as_str().is_some_and(|name| name.contains("10")));
}

#[test]
fn every_mode_profiles_with_every_structure() {
    let folder = Recorded::new("modes");
    let calls = counted(&folder.trace()).values().sum::<f64>();
    for mode in [
        "exhaustive",
        "stackwalk --interval 2us --antibias density",
        "cbs --interval 4us --samples 4 --stride 3 --antibias latency",
        "burst --interval 8us --burst 1us",
        "adaptive --interval 4us --burst 20 --reenable 0.5 --history 16",
        "estimator --interval 20 --burst 4",
        "estimator --trigger timer --interval 2us",
    ] {
        for structure in ["dcg", "cct", "ccmap", "ksf", "kccf"] {
            let seed = if mode == "exhaustive" { "" } else { "--seed 7" };
            let line = format!("--profile {mode} --structure {structure} --compare exhaustive {seed}");
            let report = folder.json(&line);
            let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{line}: {value} is no number"));
            assert!((number(&report["calls"]) / calls - 1.0).abs() < 0.15, "{line}: {}", report["calls"]);
            assert_eq!(number(&report["counters"]["calls"]), calls);
            assert!(number(&report["counters"]["samples"]) > 0.0, "{line}");
            // Few samples, and those of a stack walk are of time instead of calls.
            assert!(number(&report["accuracy"]["edges"]["overlap"]) > 50.0, "{line}: {}", report["accuracy"]);
            assert_eq!(report["accuracy"]["contexts"].is_null(), structure == "dcg", "{line}");
            assert!(number(&report["cost"]) > 0.0 && number(&report["nanoseconds"]) > 0.0, "{line}");
            assert_eq!(report["damage"], Value::Null);
        }
    }
    let skipped = folder.json("--profile adaptive --interval 1us --burst 20 --reenable 0.5");
    assert!(skipped["counters"]["bursts-skipped"].as_u64() > Some(0) && skipped["counters"]["bursts-re-enabled"].as_u64() > Some(0));
}

#[test]
fn exhaustive_against_exhaustive_agrees_fully() {
    let folder = Recorded::new("same");
    let report = folder.json("--compare exhaustive --structure kccf --k 4");
    for of in ["edges", "contexts"] {
        let agreement = &report["accuracy"][of];
        assert!((agreement["overlap"].as_f64().unwrap() - 100.0).abs() < 1e-9);
        assert!(agreement["hot_edge_coverage"].as_array().unwrap().iter().all(|coverage| coverage["covered"] == 100.0));
        assert!((agreement["correlation"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_profile_without_room_is_held_against_a_whole_one() {
    let folder = Recorded::new("room");
    for (room, most) in [("0", 0.0), ("3", 20.0)] {
        let report = folder.json(&format!("--compare exhaustive --max-nodes {room}"));
        let overlap = |of: &str| report["accuracy"][of]["overlap"].as_f64().unwrap();
        assert!(overlap("edges") > 100.0 - 1e-9 && overlap("contexts") <= most, "{room}: {report}");
    }
    let shorter = folder.replay("--compare exhaustive --structure kccf --k 9 --max-nodes 60");
    assert!(shorter.contains("note: contexts are not compared: those of the exact profile reach back 9 calls"), "{shorter}");
}

#[test]
fn the_same_seed_gives_the_same_profile() {
    let folder = Recorded::new("seeds");
    let profile = |seed: &str| folder.profile(&format!("--profile estimator --interval 50 --seed {seed}"));
    assert_eq!(profile("3"), profile("3"));
    assert_ne!(profile("3").dcg(), profile("4").dcg());
}

#[test]
fn the_clock_and_its_rate_say_when_ticks_come() {
    let folder = Recorded::new("clock");
    let report = |line: &str| folder.json(&format!("--profile cbs --interval 1us {line}"));
    let calls = report("")["counters"]["calls"].as_f64().unwrap();
    let of = |report: &Value, name: &str| report[name].as_f64().unwrap();
    let modelled = report("--clock calls");
    assert!((of(&modelled, "nanoseconds") - 10.0 * calls).abs() < 10.0, "100 million calls a second: {modelled}");
    assert!((of(&report("--clock calls --rate 1000000000"), "nanoseconds") - calls).abs() < 10.0);
    let (stamps, slower) = (report(""), report("--rate 100000000"));
    assert!((of(&slower, "nanoseconds") / of(&stamps, "nanoseconds") - 10.0).abs() < 1e-6);
    assert!(slower["counters"]["ticks"].as_u64() > stamps["counters"]["ticks"].as_u64());
}

#[test]
fn however_rare_time_stamps_are_a_run_takes_the_same_time() {
    let folder = Folder::new("replay-stamps").with("run.lang", PROGRAM);
    let time = |stamps: &str| {
        assert_eq!(folder.vm(&["trace", "run.lang", "--stamps", stamps]).status.code(), Some(0));
        let (code, out, errors) = streams(&folder.vm(&["replay", "run.trace", "--profile", "stackwalk", "--interval", "1us", "--json"]));
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        let report: Value = serde_json::from_str(&out).unwrap();
        assert!(report["counters"]["samples"].as_u64() > Some(10), "{out}");
        report["nanoseconds"].as_f64().unwrap()
    };
    let every = time("1");
    assert!(["32", "1000", "1000000"].iter().all(|stamps| time(stamps) == every));
}

#[test]
fn nothing_is_no_agreement() {
    let recorded = Recorded::new("replay-empty");
    let empty = TraceWriter::new(Vec::new(), Clock::Nanoseconds, &Program::default()).and_then(TraceWriter::finish).unwrap();
    std::fs::write(recorded.path("run.trace"), empty).unwrap();
    let report = recorded.json("--profile cbs --compare exhaustive");
    assert!(report["accuracy"]["edges"]["overlap"].is_null(), "{report}");
}

#[test]
fn the_table_tells_what_is_hot_and_how_sure_that_is() {
    let folder = Recorded::new("table");
    let table = folder.replay("--profile estimator --interval 20 --compare exhaustive --top 2");
    for part in ["run: estimator", "bursts", "overlap", "hot, T = 0.1", "hottest edges", "± error", "fib (", "hottest contexts", "→ leaf"]
    {
        assert!(table.contains(part), "no {part} in {table}");
    }
    let rows = |of: &str| table.split(of).nth(1).map_or(0, |rest| rest.lines().skip(1).take_while(|line| !line.is_empty()).count());
    assert_eq!((rows("hottest edges"), rows("hottest contexts")), (2, 2));
    let none = folder.replay("--profile stackwalk");
    assert!(none.contains("note: no sample was taken") && none.contains("--interval"), "{none}");
    let full = folder.replay("--structure cct --max-nodes 3");
    assert!(full.contains("dropped since it is full: ") && !full.contains(" 0.00 % of all calls have no context"), "{full}");
    let shorter = folder.replay("--structure kccf --k 9 --max-nodes 60");
    assert!(shorter.contains("note: contexts reach back"), "{shorter}");
}

#[test]
fn threads_have_one_clock_and_walks_do_not_know_who_waits() {
    let folder = Recorded::of("threads", THREADS);
    let report = folder.json("--profile stackwalk --interval 1us --rate 1000000000");
    let note =
        report["notes"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().contains("2 threads and does not say when one waits"));
    assert!(note, "{report}");
    // An instruction is a nanosecond.
    let end = folder.trace().threads.values().map(|thread| thread.end.unwrap()).max().unwrap();
    assert_eq!(report["nanoseconds"].as_f64(), Some(end as f64), "{report}");
    assert!(!folder.replay("--profile stackwalk --interval 1us --clock calls").contains("waits for another"));
}

#[test]
fn every_format_comes_out() {
    let folder = Recorded::new("formats");
    for name in ["a.json", "a.folded", "a.svg", "a.pb.gz", "a.speedscope.json", "a.firefox.json", "a.xml", "a.dot"] {
        folder.replay(&format!("--profile estimator --interval 20 -o {name}"));
        assert!(std::fs::metadata(folder.path(name)).is_ok_and(|file| file.len() > 0), "{name}");
    }
    assert_eq!(folder.vm(&["diff", "a.json", "run.trace"]).status.code(), Some(0));
}

#[test]
fn damage_is_told_and_what_stands_before_it_is_used() {
    let folder = Recorded::new("damage");
    let whole = std::fs::read(folder.path("run.trace")).unwrap();
    std::fs::write(folder.path("cut.trace"), &whole[..whole.len() - 1]).unwrap();
    let calls = folder.json("")["calls"].clone();
    for args in [&["replay", "cut.trace", "--json", "-o", "cut.json"][..], &["convert", "cut.trace", "-o", "other.json"]] {
        let (code, out, errors) = streams(&folder.vm(args));
        assert_eq!(code, Some(2));
        assert!(errors.starts_with("error: cut.trace: trace unreadable from byte") && errors.contains("hint: "), "{errors}");
        if args.contains(&"--json") {
            let report: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out:?}"));
            assert_eq!(report["calls"], calls);
            assert!(report["damage"].as_str().is_some_and(|damage| damage.contains("cut off")));
        }
    }
    let profile = |name: &str| export::read(&folder.path(name)).unwrap();
    assert_eq!(profile("cut.json").dcg_total(), calls.as_f64().unwrap());
    assert_eq!(profile("other.json").dcg_total(), calls.as_f64().unwrap());
}

#[test]
fn a_trace_that_lacks_events_says_so_wherever_it_is_used() {
    use profiler::ids::FuncId;
    use profiler::program::{Function, Program};
    use profiler::trace::TraceWriter;
    let folder = Folder::new("lacks");
    let mut program = Program::default();
    program.functions.push(Function { name: "main".into(), file: "".into(), line: 0 });
    let mut writer = TraceWriter::new(Vec::new(), Clock::Steps, &program).unwrap();
    let thread = writer.start_thread("main", 0).unwrap();
    writer.call(thread, None, FuncId::from_u32(0)).unwrap();
    writer.lost(7);
    std::fs::write(folder.path("lacks.trace"), writer.finish().unwrap()).unwrap();
    for args in [&["convert", "lacks.trace", "-o", "lacks.json"][..], &["diff", "lacks.trace", "lacks.trace"]] {
        let output = folder.vm(args);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(0) && errors.contains("7 events were lost"), "{args:?}: {errors}");
    }
}

#[test]
fn what_cannot_be_replayed_is_an_error_with_a_hint() {
    let folder = Recorded::new("errors");
    std::fs::write(folder.path("bad.trace"), "no trace at all, but long enough").unwrap();
    std::fs::copy(folder.path("run.trace"), folder.path("run.json")).unwrap();
    for (args, expected) in [
        (&["replay", "missing.trace"][..], "missing.trace: cannot be read"),
        (&["replay", "bad.trace"], "not a trace file"),
        (&["convert", "bad.trace", "-o", "b.json"], "hint: profiles are read from .json"),
        (&["replay", "run.trace", "-o", "out.txt"], ".speedscope.json"),
        (&["replay", "run.trace", "-o", "no/such/folder.json"], "no/such/folder.json"),
        (&["replay", "run.trace", "--structure", "kccf", "-o", "out.xml"], "another structure"),
        (&["run", "run.lang", "--profile", "exhaustive", "--structure", "kccf", "--profile-out", "out.xml"], "another structure"),
        (&["replay", "run.trace", "--profile", "burst", "--stride", "2"], "--profile cbs"),
        (&["replay", "run.trace", "--profile", "off"], "other than off"),
        (&["replay", "run.trace", "--profile", "cbs", "--stride", "0"], "stride is 0; it must be from 1"),
        (&["replay", "run.trace", "--profile", "cbs", "--interval", "0ms"], "interval"),
        (&["replay", "run.trace", "--profile", "often"], "estimator"),
        (&["replay", "run.trace", "--k", "3"], "--structure ksf"),
        (&["replay", "run.trace", "--structure", "dcg", "--max-nodes", "3"], "--max-nodes goes with structures"),
        (&["replay", "run.trace", "--seed", "3"], "--seed goes with --profile stackwalk"),
        (&["replay", "run.trace", "--profile", "adaptive", "--reenable", "2"], "must be 0, for none, or from 0.000001 to 1"),
        (&["replay", "run.trace", "--structure", "ksf", "--k", "0"], "--k"),
        (&["replay", "run.trace", "--rate", "0"], "--rate"),
        (&["replay", "run.trace", "--clock", "calls", "--rate", "99999999999999"], "--rate 99999999999999 is not between 1 and"),
        (&["replay", "run.trace", "--compare", "cbs"], "exhaustive"),
        (&["replay", "run.json", "-o", "./run.json"], "TRACE and --output name one file"),
    ] {
        let (code, out, errors) = streams(&folder.vm(args));
        assert_eq!((code, out.as_str()), (Some(2), ""), "before anything is done: {args:?}");
        assert!(errors.starts_with("error: ") && errors.contains(expected), "{args:?}: {errors}");
    }
    assert!(!folder.path("out.xml").exists() && !folder.path("out.txt").exists());
}
