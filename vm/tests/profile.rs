//! `vm profile`: the report of a run, its check against the exact profile, and what becomes of an earlier profile. And `--perf-map`.
#![cfg(feature = "native")]

mod running;

use running::Folder;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Shapes of two classes at one call site, three to one; 4,000 virtual calls, of which `small` is inlined by the optimizer.
const SHAPES: &str = r#"
abstract class Shape {
    abstract fun area(): Int
}

class Square(let side: Int) : Shape() {
    override fun area(): Int = small(side)
}

class Dot() : Shape() {
    override fun area(): Int = 1
}

fun small(side: Int): Int = side * side

fun sum(shapes: Array<Shape>): Int {
    var sum = 0
    for i in 0..<4000 { sum += shapes[i % 4].area() }
    return sum
}

fun main() {
    let shapes = Array<Shape>(4, Square(2))
    shapes[3] = Dot()
    println(sum(shapes))
}
"#;

/// In baseline code, where each call is made, unless the options say otherwise.
fn vm(command: &str, source: &Path, options: &[&str]) -> Output {
    let tier: &[&str] = if options.contains(&"--tier") { &[] } else { &["--tier", "baseline"] };
    Command::new(env!("CARGO_BIN_EXE_vm")).arg(command).arg(source).args(tier).args(options).output().unwrap()
}

/// Standard output and error of a run that must end well.
fn good(command: &str, source: &Path, options: &[&str]) -> (String, String) {
    let output = vm(command, source, options);
    assert_eq!(output.status.code(), Some(0), "{options:?}: {output:?}");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn json(source: &Path, options: &[&str]) -> Value {
    let (out, _) = good("profile", source, &[&["--quiet", "--json"], options].concat());
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

#[test]
fn the_report_follows_the_programs_output() {
    let folder = Folder::new("report");
    let source = folder.write("shapes.lang", SHAPES);
    let (out, err) = good("profile", &source, &["--profile", "exhaustive"]);
    assert!(out.starts_with("13000\nshapes: exhaustive"), "{out}");
    assert_eq!(err, "");
    let (interpreted, _) = good("profile", &source, &["--tier", "interp"]);
    assert!(out.contains("slow-paths") && !interpreted.contains("slow-paths"), "nobody takes it: {interpreted}");
    let of = |tier| json(&source, &["--tier", tier]);
    assert!(of("baseline")["slow_paths"].as_f64() > Some(0.0));
    assert_eq!(
        (&of("baseline")["cost"], &of("interp")["slow_paths"]),
        (&Value::Null, &Value::Null),
        "a run has no other to be compared with"
    );
    for part in [
        "hottest functions",
        "hottest edges",
        "that called more than one function",
        "hottest contexts of the CCT",
        "the profiler's own work",
    ] {
        assert!(out.contains(part), "no {part} in {out}");
    }
    let (quiet, _) = good("profile", &source, &["--quiet", "--structure", "kccf", "--k", "2", "--interval", "50"]);
    assert!(quiet.starts_with("shapes: estimator"), "adaptive without a mode: {quiet}");
    assert!(quiet.contains("hottest contexts of the 2-CCF"), "{quiet}");
    let (shown, _) = good("profile", &source, &["--top", "1", "--profile", "exhaustive"]);
    assert!(!shown.contains("Dot"), "a site's second target is not among the hottest one: {shown}");
}

#[test]
fn receivers_are_told_by_call_site() {
    let folder = Folder::new("receivers");
    let report = json(&folder.write("shapes.lang", SHAPES), &["--profile", "exhaustive"]);
    let site = &report["polymorphic_sites"][0];
    assert_eq!((&report["polymorphic"], &site["weight"], &site["caller"]["name"]), (&1.into(), &4000.0.into(), &"sum".into()), "{report}");
    let targets: Vec<_> = site["targets"].as_array().unwrap().iter().map(|t| (&t["callee"]["name"], &t["share"], &t["samples"])).collect();
    assert_eq!(targets.len(), 2);
    assert!(targets[0].0.as_str().unwrap().contains("Square") && targets[1].0.as_str().unwrap().contains("Dot"), "{targets:?}");
    assert_eq!([targets[0].1, targets[1].1], [&Value::from(75.0), &Value::from(25.0)]);
    assert_eq!([targets[0].2, targets[1].2], [&Value::from(3000), &Value::from(1000)]);
    let small = report["hottest_functions"].as_array().unwrap().iter().find(|f| f["function"]["name"] == "small").unwrap();
    assert_eq!((&small["weight"], &small["error"], &small["edges"]), (&3000.0.into(), &0.0.into(), &1.into()));
}

#[test]
fn a_check_tells_overlap_and_what_inlining_hid() {
    let folder = Folder::new("check");
    let source = folder.write("shapes.lang", SHAPES);
    let exact = json(&source, &["--check", "--profile", "exhaustive"]);
    for of in ["edges", "contexts"] {
        let overlap = exact["accuracy"][of]["overlap"].as_f64().unwrap();
        assert!(overlap > 100.0 - 1e-9, "{of}: {overlap}");
    }
    assert_eq!(exact["unseen"], Value::Null, "baseline code inlines nothing");
    let sampled = json(&source, &["--check", "--clock", "calls", "--profile", "estimator", "--interval", "100", "--burst", "2"]);
    let overlap = sampled["accuracy"]["edges"]["overlap"].as_f64().unwrap();
    assert!((50.0..99.999).contains(&overlap), "{overlap}: close, but not the same");
    let unseen = json(&source, &["--check", "--tier", "opt", "--profile", "exhaustive"])["unseen"].as_f64().unwrap();
    let inlined = json(&source, &["--check", "--tier", "opt", "--profile-inlined", "--profile", "exhaustive"]);
    assert!(unseen > 0.0 && unseen < 100.0, "{unseen}");
    assert_eq!((&inlined["unseen"], &inlined["calls"]), (&Value::Null, &exact["calls"]), "with probes every call is seen");
    let (out, _) = good("profile", &source, &["--check"]);
    assert_eq!(out.matches("13000\n").count(), 1, "the second run prints nothing: {out}");
}

#[test]
fn what_a_profile_has_no_room_or_no_sample_for_is_told() {
    let folder = Folder::new("room");
    let source = folder
        .write("fib.lang", "fun fib(n: Int): Int = if n < 2 { n } else { fib(n - 1) + fib(n - 2) }\nfun main() { println(fib(16)) }\n");
    let report = json(&source, &["--check", "--profile", "exhaustive", "--max-nodes", "3"]);
    let overlap = |of: &str| report["accuracy"][of]["overlap"].as_f64().unwrap();
    assert!(overlap("edges") > 100.0 - 1e-9 && overlap("contexts") < 20.0, "against all contexts: {report}");
    let notes = |options: &[&str]| json(&source, options)["notes"].to_string();
    let shorter = notes(&["--profile", "exhaustive", "--structure", "kccf", "--max-nodes", "60"]);
    assert!(shorter.contains("contexts reach back") && shorter.contains("not 10"), "{shorter}");
    let blind = notes(&["--profile", "estimator", "--interval", "100000000"]);
    assert!(blind.contains("no sample was taken") && blind.contains("take a shorter --interval\""), "{blind}");
    let late = notes(&["--profile", "stackwalk", "--interval", "1000s"]);
    assert!(late.contains("or --clock calls"), "{late}");
    let modelled = notes(&["--profile", "stackwalk", "--interval", "1000s", "--clock", "calls"]);
    assert!(modelled.contains("no sample was taken") && !modelled.contains("--clock"), "{modelled}");
}

/// `outer` calls itself through `middle`, which is inlined, as `leaf` is, which calls nothing.
const NESTED: &str = r#"
fun leaf(x: Int): Int = x * 3 % 7

fun middle(x: Int): Int = leaf(x) + outer(x - 1)

fun outer(x: Int): Int = if x <= 0 { 0 } else { middle(x) }

fun main() {
    var sum = 0
    for i in 0..<300 { sum += outer(i % 10) }
    println(sum)
}
"#;

#[test]
fn inlined_frames_are_told_where_their_calls_are_not_counted() {
    let folder = Folder::new("frames");
    let source = folder.write("nested.lang", NESTED);
    let report = json(&source, &["--tier", "opt", "--profile", "exhaustive"]);
    let inlined = &report["inlined"];
    let number = |name: &str| inlined[name].as_f64().unwrap_or_else(|| panic!("{name}: {report}"));
    assert_eq!(number("calls"), report["calls"].as_f64().unwrap(), "every call has a stack");
    assert!(number("share") > 0.0 && number("share") < 100.0 && number("frames") > number("calls"), "{inlined}");
    let (text, _) = good("profile", &source, &["--tier", "opt", "--profile", "estimator", "--interval", "20", "--clock", "calls"]);
    assert!(text.contains("observed calls are of inlined functions") && text.contains("that is no share of calls"), "{text}");
    for options in [&["--tier", "opt", "--profile-inlined"][..], &["--tier", "baseline"], &["--tier", "interp"]] {
        let report = json(&source, &[options, &["--profile", "exhaustive"]].concat());
        assert_eq!(report["inlined"], Value::Null, "{options:?}");
    }
}

#[test]
fn contexts_have_errors_and_samples() {
    let folder = Folder::new("errors");
    let source = folder.write("shapes.lang", SHAPES);
    for structure in ["cct", "ccmap", "ksf", "kccf"] {
        let rows = |mode: &[&str]| json(&source, &[&["--structure", structure, "--profile"], mode].concat())["hottest_contexts"].clone();
        let exact = rows(&["exhaustive"]);
        assert!(
            exact.as_array().unwrap().iter().all(|row| row["error"] == 0.0 && row["samples"].as_f64() == row["weight"].as_f64()),
            "{exact}"
        );
        let sampled = rows(&["estimator", "--interval", "100", "--burst", "4", "--clock", "calls"]);
        let hottest = &sampled[0];
        let (weight, error) = (hottest["weight"].as_f64().unwrap(), hottest["error"].as_f64().unwrap());
        assert!(error > 0.0 && error < weight && hottest["samples"].as_u64() > Some(10), "{structure}: {hottest}");
    }
}

#[test]
fn the_report_begins_with_a_line_of_its_own() {
    let folder = Folder::new("lines");
    for (name, print, ends) in [("open", "print(\"done\")", "done\n"), ("closed", "println(\"done\")", "done\n"), ("nothing", "", "")] {
        let source = folder.write(&format!("{name}.lang"), &format!("fun main() {{ {print} }}"));
        let (text, _) = good("profile", &source, &[]);
        assert!(text.starts_with(&format!("{ends}{name}: ")), "{text}");
        let (data, _) = good("profile", &source, &["--json"]);
        assert!(data.starts_with(&format!("{ends}{{")), "{data}");
        let (quiet, _) = good("profile", &source, &["--quiet"]);
        assert!(quiet.starts_with(&format!("{name}: ")), "{quiet}");
    }
}

#[test]
fn the_exit_code_is_the_programs() {
    let folder = Folder::new("code");
    let source = folder.write("exit.lang", "fun main() {\n    print(1)\n    exit(3)\n}\n");
    for options in [&[][..], &["--check"], &["--quiet", "--json"]] {
        let output = vm("profile", &source, options);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(!output.stdout.is_empty(), "the report is there");
    }
    let off = vm("profile", &source, &["--profile", "off"]);
    assert_eq!((off.status.code(), off.stdout.len()), (Some(2), 0));
}

#[test]
fn a_stale_profile_is_told() {
    let folder = Folder::new("stale");
    let source = folder.write("shapes.lang", SHAPES);
    for name in ["earlier.json", "earlier.folded"] {
        let earlier = folder.0.join(name);
        let earlier = earlier.to_str().unwrap();
        folder.write("shapes.lang", SHAPES);
        good("run", &source, &["--profile", "exhaustive", "--profile-out", earlier]);
        let asked = ["--tier", "adaptive", "--profile-in", earlier];
        let (_, err) = good("run", &source, &asked);
        assert!(!err.contains("is stale"), "{name}: the program is the same: {err}");
        for used in [&["--tier", "adaptive"][..], &["--tier", "opt", "--inline", "context"]] {
            let (_, err) = good("run", &source, &[used, &["--profile-in", earlier]].concat());
            assert_eq!(err.contains("says nothing of what to inline"), name.ends_with(".folded"), "{name}: {err}");
        }
        let (out, _) = good("profile", &source, &["--profile", "exhaustive", "--profile-in", earlier]);
        assert!(out.contains("against the earlier profile"), "{name}: {out}");
        assert!(out.contains("no edge's share changed"), "{name}: {out}");
        folder.write("shapes.lang", &SHAPES.replace("small", "square"));
        let (out, err) = good("run", &source, &asked);
        assert_eq!(out, "13000\n");
        assert!(err.contains("is stale") && err.contains("1 function gone: small"), "{name}: {err}");
    }
    let missing = vm("profile", &source, &["--profile-in", "nowhere.json"]);
    let folder_out = folder.0.join("folder.json");
    std::fs::create_dir_all(&folder_out).unwrap();
    let taken = vm("run", &source, &["--profile", "exhaustive", "--profile-out", folder_out.to_str().unwrap()]);
    assert_eq!((taken.status.code(), taken.stdout.len()), (Some(2), 0), "before it runs: {taken:?}");
    let own = source.to_str().unwrap();
    for (command, options) in [
        ("run", &["--tier", "opt", "--plan-out", own][..]),
        ("run", &["--stats-out", own]),
        ("explain", &["--format", "text", "--out", own]),
        ("dump", &["--stage", "opt", "--plan-out", own]),
        ("dump", &["--stage", "inline", "--plan-out", own]),
        ("dump", &["--stage", "asm", "--tier", "opt", "--plan-out", own]),
    ] {
        let refused = Command::new(env!("CARGO_BIN_EXE_vm")).arg(command).arg(&source).args(options).output().unwrap();
        assert!(
            refused.status.code() == Some(2) && String::from_utf8_lossy(&refused.stderr).contains("is a source of the program"),
            "{refused:?}"
        );
        assert!(std::fs::read_to_string(&source).unwrap().contains("fun main"), "{command} {options:?}");
    }
    assert_eq!((missing.status.code(), missing.stdout.len()), (Some(2), 0), "{missing:?}");
}

#[test]
fn what_would_have_no_effect_is_refused() {
    let folder = Folder::new("no-effect");
    let source = folder.write("shapes.lang", SHAPES);
    for (options, words) in [
        (&["--tier", "baseline", "--profile-in", "p.json"][..], "--profile-in goes with --inline dynamic"),
        (&["--tier", "interp", "--profile-in", "p.json"], "nothing else asks a profile"),
        (&["--tier", "opt", "--profile-in", "p.json"], "nothing else asks a profile"),
        (&["--tier", "adaptive", "--inline", "none", "--profile-in", "p.json"], "nothing else asks a profile"),
        (&["--tier", "adaptive", "--plan-in", "plan.json", "--profile-in", "p.json"], "nothing else asks a profile"),
        (&["--tier", "baseline", "--seed", "3"], "--seed goes with --profile MODE"),
        (&["--tier", "adaptive", "--inline", "static", "--seed", "3"], "--seed goes with --profile MODE"),
        (&["--profile", "exhaustive", "--seed", "3"], "not with exhaustive"),
        (&["--profile", "cbs", "--structure", "dcg", "--max-nodes", "3"], "--max-nodes goes with structures"),
    ] {
        let refused = vm("run", &source, options);
        let errors = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && errors.contains(words), "{options:?}: {errors}");
    }
    assert_eq!(good("run", &source, &["--tier", "adaptive", "--seed", "3"]).0, "13000\n", "of the samples for the compiler");
}

#[test]
fn a_perf_map_names_compiled_functions() {
    let folder = Folder::new("perf");
    let source = folder.write("shapes.lang", SHAPES);
    for tier in ["baseline", "opt"] {
        let child = Command::new(env!("CARGO_BIN_EXE_vm"))
            .args(["run", "--perf-map", "--tier", tier])
            .arg(&source)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let path = PathBuf::from(format!("/tmp/perf-{}.map", child.id()));
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for line in text.lines() {
            let [start, len, _name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            ranges.push((u64::from_str_radix(start, 16).unwrap(), u64::from_str_radix(len, 16).unwrap()));
        }
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{tier}: code overlaps: {text}");
        assert!(text.lines().any(|line| line.ends_with(" <start>")), "{tier}: {text}");
    }
    let interp = vm("run", &source, &["--perf-map", "--tier", "interp"]);
    assert_eq!((interp.status.code(), interp.stdout.len()), (Some(2), 0));
}
