//! `vm bench`: what its tables and files hold, and what it refuses. And what it builds on: `--stats-out` and runs of a program that is run several times in one process.
#![cfg(feature = "native")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// 500 calls of `half`, one of `work`; the optimizer inlines all of them.
const CALLS: &str = "
fun half(x: Int): Int = x / 2

fun work(n: Int): Int {
    var sum = 0
    for i in 0..<n { sum += half(i) }
    return sum
}

fun main() {
    println(work(parseInt(args()[0])))
}
";

/// Global state, objects and threads: prints the same in each iteration only if globals begin anew.
const STATE: &str = "
fun peek(): Int = later
let early = peek()
var later = 5
var counter = 10
let names = List<Str>()
let guard = Mutex()

fun main() {
    later += 1
    for i in 0..<3 {
        counter += 1
        names.add(\"name ${counter}\")
    }
    let threads = List<Thread<Int>>()
    for t in 0..<2 { threads.add(spawn(() => t * counter)) }
    var sum = 0
    for thread in threads { sum += thread.join() }
    lock (guard) { println(\"${early} ${later} ${counter} ${names.size()} ${sum}\") }
}
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("vm-bench-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn vm(args: &[&str], paths: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vm")).args(args).args(paths).output().unwrap()
}

/// Exit code, standard output and error of `vm bench`.
fn bench(args: &[&str], paths: &[&Path]) -> (Option<i32>, String, String) {
    let output = vm(&[&["bench"], args].concat(), paths);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Of a bench that ends well: standard output and error, and the folder of its files.
fn measured(folder: &Folder, args: &[&str], paths: &[&Path]) -> (String, String, Folder) {
    let out = folder.0.join("made/results");
    let (code, table, errors) = bench(&[args, &["--out", out.to_str().unwrap()]].concat(), paths);
    assert_eq!(code, Some(0), "{errors}");
    (table, errors, Folder(out))
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// Columns of a line of a file without quoted fields.
fn fields(line: &str) -> Vec<&str> {
    line.split(',').collect()
}

#[test]
fn two_programs_under_two_policies() {
    let folder = Folder::new("policies");
    let (first, second) = (folder.write("first.lang", CALLS), folder.write("second.lang", CALLS));
    let args = ["--compare", "inline=none,static", "--args", "500", "--rounds", "2"];
    let (table, errors, results) = measured(&folder, &args, &[&first, &second]);
    assert!(table.starts_with("inline: static against none\n"), "{table}");
    assert!(table.contains("geometric mean") && table.contains("calls removed") && table.contains("--tier=opt"), "{table}");
    assert!(errors.contains("first: 2 rounds in ") && errors.contains("debug build"), "{errors}");

    let json = results.json("bench.json");
    assert_eq!((&json["axis"], &json["baseline"], texts(&json["values"])), (&"inline".into(), &"none".into(), vec!["none", "static"]));
    assert_eq!((&json["phase"], &json["time"], texts(&json["flags"])), (&"process".into(), &"wall".into(), vec!["--tier=opt"]));
    let programs = json["programs"].as_array().unwrap();
    assert_eq!(programs.iter().map(|p| p["name"].as_str().unwrap()).collect::<Vec<_>>(), ["first", "second"]);
    for program in programs {
        assert_eq!((&program["rounds"], &program["stopped"], texts(&program["args"])), (&2.into(), &"rounds".into(), vec!["500"]));
        let [none, inlined] = [0, 1].map(|at| &program["values"][at]);
        for value in [none, inlined] {
            let times = value["times"].as_array().unwrap();
            assert_eq!(times.len(), 2, "by two clocks: {value}");
            for time in times {
                assert_eq!(time["seconds"].as_array().unwrap().len(), 2);
                let at = |name: &str| time[name].as_f64().unwrap();
                assert!(0.0 < at("low_quartile") && at("low_quartile") <= at("median") && at("median") <= at("high_quartile"));
            }
            assert!(value["compile_seconds"].as_f64().unwrap() > 0.0 && value["code_bytes"].as_f64().unwrap() > 0.0);
        }
        assert_eq!((&none["verdict"], &none["times"][0]["speedup"], &none["inlined"]), (&Value::Null, &Value::Null, &0.0.into()));
        let speedup = &inlined["times"][0]["speedup"];
        let at = |name: &str| speedup[name].as_f64().unwrap();
        assert!(0.0 < at("low") && at("low") < at("estimate") && at("estimate") < at("high"), "{speedup}");
        let (low, high) = (at("low"), at("high"));
        let verdict = if low > 1.0 {
            "faster"
        } else if high < 1.0 {
            "slower"
        } else {
            "no-detectable-difference"
        };
        assert_eq!(inlined["verdict"], verdict);
        // What is printed calls the library, too; of the program's own calls 501 are gone.
        let calls = |value: &Value| value["calls"].as_u64().unwrap();
        assert!(calls(none) - calls(inlined) >= 501 && calls(inlined) > 0, "{} {}", calls(none), calls(inlined));
        let removed = inlined["calls_removed_percent"].as_f64().unwrap();
        assert!((removed - 100.0 * (1.0 - calls(inlined) as f64 / calls(none) as f64)).abs() < 1e-9);
        assert!(inlined["inlined"].as_f64().unwrap() >= 2.0);
    }
    let mean = &json["means"][0];
    let estimate = |value: &Value| value["speedup"]["estimate"].as_f64().unwrap();
    let product: f64 = programs.iter().map(|p| estimate(&p["values"][1]["times"][0])).product();
    assert_eq!((&mean["value"], &mean["phase"], &mean["programs"]), (&"static".into(), &"process".into(), &2.into()));
    assert!((estimate(mean) - product.sqrt()).abs() < 1e-9, "{mean}");

    let csv = results.read("bench.csv");
    let lines: Vec<Vec<&str>> = csv.lines().map(fields).collect();
    assert_eq!(lines.len(), 1 + 2 * 2 * 2, "{csv}");
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{csv}");
    let column = |name: &str| lines[0].iter().position(|title| *title == name).unwrap();
    assert_eq!(lines[3][column("speedup")].parse::<f64>().unwrap(), estimate(&programs[0]["values"][1]["times"][0]));
    assert_eq!((lines[1][column("value")], lines[1][column("speedup")], lines[1][column("verdict")]), ("none", "", ""));

    let markdown = results.read("bench.md");
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 2 + 4 + 1, "{markdown}");
    assert!(rows.iter().all(|row| row.matches('|').count() == rows[0].matches('|').count()), "{markdown}");
    let svg = results.read("bench.svg");
    let parts = [">first<", ">second<", ">geometric mean<", "static against none", "<title>first, static: "];
    assert!(parts.iter().all(|part| svg.contains(part)) && svg.ends_with("</svg>\n"), "{svg}");
    assert_eq!(svg.matches("<title>").count(), 3, "a dot for each program and their mean");
}

#[test]
fn iterations_are_told_apart() {
    let folder = Folder::new("iterations");
    let source = folder.write("state.lang", STATE);
    let args =
        ["--compare", "tier=interp,baseline,opt,adaptive", "--baseline", "baseline", "--iterations", "4", "--rounds", "1", "--time", "cpu"];
    let (table, _, results) = measured(&folder, &args, &[&source]);
    assert!(table.contains("steady state: cpu ms") && table.contains("speedup of the first"), "{table}");
    assert!(table.contains("one round tells nothing"), "{table}");
    let json = results.json("bench.json");
    assert_eq!((&json["phase"], &json["time"], &json["baseline"]), (&"steady".into(), &"cpu".into(), &"baseline".into()));
    let values = json["programs"][0]["values"].as_array().unwrap();
    for value in values {
        let phases: Vec<&str> = value["times"].as_array().unwrap().iter().map(|time| time["phase"].as_str().unwrap()).collect();
        assert_eq!(phases, ["process", "process", "first", "first", "steady", "steady"]);
        assert!(value["warm_up"]["iterations"].as_u64().unwrap() <= 2);
    }
    assert_eq!((&values[0]["code_bytes"], &values[0]["inlined"]), (&Value::Null, &Value::Null), "the interpreter makes no code");
    assert!(values[0]["calls"].is_u64() && values[0]["calls"] == values[1]["calls"], "both make each call");
    assert_eq!(values[3]["calls"], Value::Null, "counted, it would be compiled otherwise");
    assert!(table.contains("note: calls are not counted on the adaptive tier"), "{table}");
    assert_eq!(values[0]["times"][2]["speedup"]["low"], Value::Null, "one round has no interval");
}

/// Each value prints the same as alone, and its times are without those of the others.
#[cfg(target_os = "linux")]
#[test]
fn processes_of_a_round_take_turns() {
    let folder = Folder::new("turns");
    let source = folder.write("state.lang", STATE);
    let args = ["--compare", "tier=interp,baseline,opt", "--iterations", "3", "--rounds", "2", "--slices", "2"];
    let (table, _, results) = measured(&folder, &args, &[&source]);
    assert!(table.contains("take turns of 2 ms") && !table.contains("compile ms"), "{table}");
    assert_eq!(results.json("bench.json")["slice_ms"], 2);
}

/// With the turns of the others, two of three iterations would last for longer than the process without them.
#[cfg(target_os = "linux")]
#[test]
fn the_turns_of_others_are_not_in_the_time_of_an_iteration() {
    let folder = Folder::new("own");
    let source = folder.write("calls.lang", CALLS);
    let args = ["--args=30000000", "--compare", "tier=baseline,opt", "--iterations", "3", "--rounds", "1", "--slices", "2"];
    let measure = || {
        let (_, _, results) = measured(&folder, &args, &[&source]);
        let json = results.json("bench.json");
        let times = json["programs"][0]["values"][1]["times"].as_array().unwrap();
        ["first", "steady", "process"].map(|phase| {
            let time = times.iter().find(|time| time["phase"] == phase && time["time"] == "wall").unwrap();
            time["seconds"][0].as_f64().unwrap()
        })
    };
    // Others may disturb one iteration more than the rest of the process, but not each time.
    let mut found = Vec::new();
    let holds = (0..4).any(|_| {
        let [first, steady, process] = measure();
        found.push([first, steady, process]);
        first + steady > 0.0 && first + steady < 0.9 * process
    });
    assert!(holds, "first, steady, process: {found:?}");
}

#[test]
fn every_iteration_begins_anew() {
    let folder = Folder::new("anew");
    let source = folder.write("state.lang", STATE);
    let stats = folder.0.join("stats.json");
    for tier in ["interp", "baseline", "opt"] {
        let output = vm(&["run", "--tier", tier, "--repeat", "3", "--stats-out", stats.to_str().unwrap()], &[&source]);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "0 6 13 3 13\n".repeat(3), "{tier}");
        assert_eq!(output.status.code(), Some(0), "{tier}");
        let stats = folder.json("stats.json");
        let iterations = stats["iterations"].as_array().unwrap();
        assert_eq!(iterations.len(), 3, "{tier}");
        assert!(iterations.iter().all(|iteration| iteration["wall_ns"].as_u64().unwrap() > 0), "{tier}");
        let is_part = |iteration: &Value| iteration["thread_ns"].as_u64().unwrap() <= iteration["cpu_ns"].as_u64().unwrap();
        assert!(iterations.iter().all(is_part), "{tier}");
    }
}

#[test]
fn what_does_not_end_well_is_not_repeated() {
    let folder = Folder::new("ends");
    let stats = folder.0.join("stats.json");
    for (program, code, iterations) in [
        ("fun main(): Int {\n    println(1)\n    return 3\n}\n", 3, 1),
        ("fun main() {\n    println(1)\n    throw Error(\"no\")\n}\n", 1, 1),
        ("fun main() {\n    println(1)\n    exit(0)\n}\n", 0, 0),
    ] {
        let source = folder.write("ends.lang", program);
        let output = vm(&["run", "--repeat", "5", "--stats-out", stats.to_str().unwrap()], &[&source]);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(code), &b"1\n"[..]), "{program}");
        let stats = folder.json("stats.json");
        let found = stats["iterations"].as_array().unwrap().len();
        assert_eq!((&stats["exit_code"], found), (&code.into(), iterations), "{program}");
    }
}

#[test]
fn stats_are_written_for_programs_to_read() {
    let folder = Folder::new("stats");
    let source = folder.write("calls.lang", CALLS);
    let path = folder.0.join("stats.json");
    let of = |command: &str, flags: &[&str]| {
        let args = [&[command, "--stats-out", path.to_str().unwrap()], flags].concat();
        let mut vm = Command::new(env!("CARGO_BIN_EXE_vm"));
        assert_eq!(vm.args(args).arg(&source).args(["--", "500"]).output().unwrap().status.code(), Some(0), "{flags:?}");
        folder.json("stats.json")
    };
    let opt = of("run", &["--tier", "opt"]);
    assert!(opt["optimizer"]["inlined"].as_u64().unwrap() >= 2 && opt["optimizer"]["time_ns"].as_u64().unwrap() > 0, "{opt}");
    let reasons: u64 = opt["optimizer"]["reasons"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(reasons, opt["optimizer"]["inlined"].as_u64().unwrap() + opt["optimizer"]["not_inlined"].as_u64().unwrap());
    assert_eq!((&opt["version"], &opt["exit_code"], &opt["calls"]), (&1.into(), &0.into(), &Value::Null));
    assert!(opt["counters"]["threads.started"] == 1 && opt["front_end_ns"]["parse"].is_u64(), "{opt}");
    let interp = of("run", &["--tier", "interp"]);
    assert_eq!((&interp["optimizer"], &interp["code"]), (&Value::Null, &Value::Null));
    let adaptive = of("run", &["--tier", "adaptive"]);
    assert!(adaptive["optimizer"]["time_ns"].is_u64() && adaptive["code"]["retired_bytes"].is_u64(), "{adaptive}");
    let counted = of("profile", &["--profile", "exhaustive", "--quiet"]);
    assert!(counted["calls"].as_u64().unwrap() > 501 && counted["code"]["functions"].as_u64().unwrap() > 2, "{counted}");
}

#[test]
fn a_list_names_programs_with_arguments() {
    let folder = Folder::new("suite");
    folder.write("a.lang", CALLS);
    folder.write("b.lang", CALLS);
    let list = folder.write("list.txt", "# two programs\na.lang 10\nb.lang 20 # longer\na.lang 30\n");
    let suite = ["--suite", list.to_str().unwrap(), "--compare", "tier=baseline,opt", "--rounds", "1"];
    let (code, table, errors) = bench(&[&suite[..], &["--only", "b"]].concat(), &[]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(table.contains("\nb ") && !table.contains("a.lang") && !table.contains("geometric mean"), "{table}");
    let (code, _, errors) = bench(&[&suite[..], &["--only", "c"]].concat(), &[]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("there is no program `c`; there are: ") && errors.contains("a.lang 30"), "{errors}");
    let (code, _, errors) = bench(&[&suite[..], &["--args", "1"]].concat(), &[]);
    assert!(code == Some(2) && errors.contains("--args goes with FILE"), "{errors}");
}

#[test]
fn wrong_usage_is_told_with_what_there_is() {
    let folder = Folder::new("usage");
    let source = folder.write("calls.lang", CALLS);
    for (args, words) in [
        (&["--compare", "colour=a,b"][..], &["no axis `colour`", "inline, plan, tier, profile, passes"][..]),
        (&["--compare", "inline=none,magic"], &["no value `magic`", "none, static"]),
        (&["--compare", "inline=none"], &["at least two values"]),
        (&["--compare", "passes=all,-gvm"], &["no pass `gvm`", "licm"]),
        (&["--compare", "inline=none,static", "--baseline", "dynamic"], &["--baseline", "none, static"]),
        (&["--compare", "tier=interp,opt", "--tier", "opt"], &["--tier cannot be given"]),
        (&["--compare", "tier=interp,opt", "--rounds", "0"], &["--rounds"]),
        (&["--compare", "tier=interp,opt", "--precision", "much"], &["--precision", "such as 1%"]),
        (&["--compare", "tier=interp,opt", "--suite", "/no/such/list"], &["cannot read /no/such/list"]),
    ] {
        let (code, out, errors) = bench(args, &[&source]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}: {errors}");
        assert!(errors.starts_with("error: ") && words.iter().all(|word| errors.contains(word)), "{args:?}: {errors}");
    }
    let missing = folder.0.join("missing.lang");
    let (code, out, errors) = bench(&["--compare", "tier=interp,opt"], &[&source, &missing]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(errors.contains("missing.lang") && !errors.contains("rounds"), "nothing is measured before all programs compile: {errors}");
    let stats = vm(&["run", "--stats-out", "/no/such/folder/stats.json"], &[&source]);
    assert_eq!((stats.status.code(), stats.stdout.len()), (Some(2), 0));
}

#[test]
fn a_program_that_fails_is_left_out() {
    let folder = Folder::new("fails");
    let good = folder.write("good.lang", CALLS);
    let deep =
        "fun down(n: Int): Int = if n == 0 { 0 } else { 1 + down(n - 1) }\n\nfun main() {\n    println(down(parseInt(args()[0])))\n}\n";
    let bad = folder.write("bad.lang", &deep.replace("n == 0", "false"));
    let results = Folder(folder.0.join("results"));
    let out = format!("--out={}", results.0.display());
    let (code, table, errors) = bench(&["--compare", "tier=baseline,opt", "--rounds", "1", "--args", "9", &out], &[&bad, &good]);
    assert_eq!(code, Some(1), "{errors}");
    for words in
        ["error: bad with tier=baseline fails (exit status: 1)", "StackOverflowError", "hint: the run was vm run --tier=baseline", " -- 9"]
    {
        assert!(errors.contains(words), "{words}: {errors}");
    }
    assert!(table.contains("\ngood ") && !table.contains("\nbad "), "{table}");
    let note = "left out, since they could not be measured: bad\n";
    assert!(table.contains(note) && results.read("bench.md").contains(note), "{table}");
    let failed = &results.json("bench.json")["failed"];
    assert_eq!((failed.as_array().unwrap().len(), &failed[0]["name"], texts(&failed[0]["args"])), (1, &"bad".into(), vec!["9"]));
    assert!(failed[0]["error"].as_str().unwrap().contains("StackOverflowError"), "{failed}");

    // Where all fail, no results of an earlier run stay behind.
    let (code, table, errors) =
        bench(&["--compare", "tier=baseline,opt", "--rounds", "1", "--iterations", "2", "--args", "9", &out], &[&bad]);
    assert_eq!((code, table.as_str()), (Some(1), ""));
    assert!(errors.contains("--repeat 2"), "{errors}");
    let all = results.json("bench.json");
    assert_eq!((&all["programs"], all["failed"].as_array().unwrap().len()), (&serde_json::json!([]), 1));
    assert!(results.read("bench.md").contains(note));

    let ends = folder.write("ends.lang", "fun main() {\n    exit(0)\n}\n");
    let (code, table, errors) = bench(&["--compare", "tier=baseline,opt", "--rounds", "1", "--iterations", "3"], &[&ends]);
    assert_eq!((code, table.as_str()), (Some(1), ""));
    assert!(
        errors.contains("ends with tier=baseline ends in iteration 1 of 3: --iterations goes with programs that return from main"),
        "{errors}"
    );
    let (code, table, errors) = bench(&["--compare", "tier=baseline,opt", "--rounds", "1"], &[&ends]);
    assert!(code == Some(0) && table.contains("ends"), "once it may: {errors}");
}

#[test]
fn outputs_must_agree() {
    let folder = Folder::new("outputs");
    let clock = folder.write("clock.lang", "fun main() {\n    println(\"now\")\n    println(clockNanos())\n}\n");
    let (code, table, errors) = bench(&["--compare", "tier=baseline,opt", "--rounds", "2"], &[&clock]);
    assert_eq!((code, table.as_str()), (Some(1), ""));
    assert!(errors.contains("clock does not print the same in each run with tier=baseline: line 2 is `"), "{errors}");

    // How deep a stack of 64 KiB goes depends on the size of frames: each tier has its own, the same in each run.
    let depth = "
fun down(n: Int, depths: List<Int>) {
    depths[0] = n
    down(n + 1, depths)
}

fun main() {
    let depths = List<Int>()
    depths.add(0)
    try { down(0, depths) } catch (e: StackOverflowError) { println(depths[0]) }
}
";
    let depth = folder.write("depth.lang", depth);
    let (code, table, errors) = bench(&["--compare", "tier=interp,baseline", "--rounds", "1", "--stack", "64k"], &[&depth]);
    assert_eq!((code, table.as_str()), (Some(1), ""), "{errors}");
    assert!(errors.contains("depth with tier=baseline does not print what it prints with tier=interp: line 1 is `"), "{errors}");
    assert!(errors.contains("--stack"), "{errors}");
}

#[test]
fn policies_that_ask_a_profile_get_one() {
    let folder = Folder::new("profiles");
    let file = folder.write("calls.lang", CALLS);
    let args = ["--compare", "inline=static,cost-benefit", "--args", "300000", "--rounds", "1", "--iterations", "2", "--heap", "64m"];
    let (table, _, results) = measured(&folder, &args, &[&file]);
    assert!(table.starts_with("inline: cost-benefit against static\n"), "{table}");
    let json = results.json("bench.json");
    let inlined = json["programs"][0]["values"][1]["inlined"].as_f64().unwrap();
    assert!(inlined > 0.0, "{json}");
    let fixed = ["--compare", "passes=all,-gvn", "--inline", "context", "--args", "10", "--rounds", "1"];
    assert_eq!(bench(&fixed, &[&file]).0, Some(0));
    let failing = folder.write("failing.lang", "fun main() { exit(3) }");
    let (code, _, errors) = bench(&["--compare", "inline=static,context", "--rounds", "1"], &[&failing]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("failing with a profiler fails") && errors.contains("vm run --tier=baseline --profile=adaptive"), "{errors}");
}

#[test]
fn plans_are_compared() {
    let folder = Folder::new("plans");
    let file = folder.write("calls.lang", CALLS);
    let [some, none] = ["some.json", "none.json"].map(|name| folder.0.join(name).display().to_string());
    for (policy, plan) in [("static", &some), ("none", &none)] {
        let run = vm(&["run", "--tier", "opt", "--inline", policy, "--plan-out", plan], &[&file, Path::new("--"), Path::new("1")]);
        assert!(run.status.success());
    }
    let compare = format!("plan={none},{some}");
    let (table, _, results) = measured(&folder, &["--compare", &compare, "--args", "500", "--rounds", "1"], &[&file]);
    assert!(table.contains("--tier=opt"), "{table}");
    let json = results.json("bench.json");
    let inlined = [0, 1].map(|at| json["programs"][0]["values"][at]["inlined"].as_f64().unwrap());
    assert!(inlined[0] == 0.0 && inlined[1] > 0.0, "{json}");

    let changed = folder.write("changed.lang", &CALLS.replace("half", "halve"));
    let (_, errors, _) = measured(&folder, &["--compare", &compare, "--args", "500", "--rounds", "2"], &[&changed]);
    let stale = |plan: &str| errors.matches(&format!("{plan} is stale")).count();
    assert_eq!((stale(&some), stale(&none)), (1, 1), "{errors}");

    let second = folder.write("second.lang", CALLS);
    for (args, paths, cause) in [
        (vec!["--compare", compare.as_str()], vec![&*file, &*second], "goes with one program"),
        (vec!["--compare", compare.as_str(), "--inline", "static"], vec![&*file], "a plan decides what is inlined"),
        (vec!["--compare", "plan=/nowhere/a.json,/nowhere/b.json"], vec![&*file], "/nowhere/a.json"),
    ] {
        let (code, _, errors) = bench(&args, &paths);
        assert!(code == Some(2) && errors.contains(cause), "{errors}");
    }
}
