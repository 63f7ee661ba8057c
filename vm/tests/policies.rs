//! Inlining policies and plans on the command line: what decides by a profile, what a plan keeps, and what is refused with a hint.
#![cfg(feature = "native")]

use std::path::{Path, PathBuf};
use std::process::Command;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("vm-policies-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Exit code, output, errors.
fn vm(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vm")).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// What it prints, all being well.
fn good(args: &[&str]) -> String {
    let (code, out, errors) = vm(args);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{args:?}");
    out
}

/// What it complains of, having done nothing.
fn refused(args: &[&str]) -> String {
    let (code, out, errors) = vm(args);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}: {errors}");
    errors
}

/// Machine code without its addresses, which are others in each process, and may be of another width.
fn without_addresses(asm: &str) -> String {
    let mut out = String::new();
    let mut rest = asm;
    while let Some(at) = rest.find("0x") {
        let (before, number) = rest.split_at(at + 2);
        let digits = number.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(number.len());
        out += before;
        out += if digits > 6 { "…" } else { &number[..digits] };
        rest = &number[digits..];
    }
    out += rest;
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sample(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../lang-samples").join(name).display().to_string()
}

#[test]
fn what_follows_a_plan_is_the_same_code() {
    let folder = Folder::new("follow");
    let [profile, plan, again] = ["p.json", "plan.json", "again.json"].map(|name| folder.path(name));
    for name in ["expression_tree", "event_simulation", "word_count"] {
        let file = sample(&format!("{name}.lang"));
        let printed = good(&["run", &file, "--tier", "baseline", "--profile", "adaptive", "--clock", "calls", "--profile-out", &profile]);
        for policy in ["static", "weak-static", "cost-benefit", "context"] {
            let what = format!("{name} {policy}");
            let by_policy = match policy {
                "static" => vec!["--inline", policy, "--plan-out", &plan],
                _ => vec!["--inline", policy, "--profile-in", &profile, "--plan-out", &plan],
            };
            let by_plan = vec!["--plan-in", &plan, "--plan-out", &again];
            let with = |command: &[&str], flags: &[&str]| good(&[command, flags, &[&file]].concat());

            assert!(with(&["run", "--tier", "opt"], &by_policy) == printed, "{what}");
            let first = folder.read("plan.json");
            assert!(first.contains(&format!("\"policy\":\"{policy}\"")) && first.contains("\"inline\":true"), "{what}: {first}");
            assert!(with(&["run", "--tier", "opt"], &by_plan) == printed, "{what}");
            assert!(folder.read("again.json") == first, "{what}: the plan of what followed a plan");

            let asm = ["dump", "--stage", "asm", "--tier", "opt"];
            let (code, followed) = (with(&asm, &by_policy), with(&asm, &by_plan));
            assert!(without_addresses(&code) == without_addresses(&followed), "{what}");
            assert!(folder.read("plan.json") == first && folder.read("again.json") == first, "{what}: dumped");
            let by_size = with(&asm, &["--inline", "static"]);
            assert_eq!(without_addresses(&code) == without_addresses(&by_size), policy == "static", "{what}: what the profile changes");
        }
    }
}

#[test]
fn decisions_by_a_profile_say_what_it_knows() {
    let folder = Folder::new("evidence");
    let (file, profile) = (sample("expression_tree.lang"), folder.path("p.json"));
    good(&["run", &file, "--tier", "baseline", "--profile", "exhaustive", "--profile-out", &profile]);
    let of = |policy| good(&["dump", "--stage", "inline", "--inline", policy, "--profile-in", &profile, &file]);
    let evidence = |text: &str| text.lines().filter(|line| line.contains(" of all calls; ")).map(str::to_owned).collect::<Vec<_>>();
    for (policy, quantity) in [("dynamic", "callee size (instructions): "), ("cost-benefit", "by instruction of growth: ")] {
        let lines = evidence(&of(policy));
        let told =
            |line: &String| line.contains("weight ") && line.contains(" ± 0 %") && line.contains(quantity) && line.contains(", threshold ");
        assert!(lines.iter().any(told), "{policy}: {lines:?}");
    }
    assert!(evidence(&of("context")).iter().any(|line| line.contains(" behind ")));
    assert_eq!(evidence(&good(&["dump", "--stage", "inline", &file])), [""; 0]);
}

#[test]
fn a_policy_without_a_profile_says_how_to_make_one() {
    let file = sample("hello.lang");
    for policy in ["dynamic", "weak-static", "cost-benefit", "context"] {
        for command in [&["run", "--tier", "opt"][..], &["profile", "--tier", "opt"], &["dump", "--stage", "inline"]] {
            let error = refused(&[command, &["--inline", policy, &file]].concat());
            let hint = format!(
                "hint: make one by `vm run {file} --profile adaptive --profile-out p.json`, and give it with --profile-in p.json\n"
            );
            assert!(error.contains(&format!("--inline {policy} decides by a profile")) && error.ends_with(&hint), "{error}");
        }
        let printed = good(&["run", "--tier", "interp", &file]);
        assert_eq!(good(&["run", "--inline", policy, &file]), printed, "the adaptive tier asks the run's own");
    }
    let missing = refused(&["run", "--tier", "opt", "--plan-in", "/nowhere/plan.json", &file]);
    assert!(missing.contains("plan.json: cannot be read") && missing.contains("hint: plans are made by"), "{missing}");
    let missing = refused(&["run", "--tier", "opt", "--inline", "context", "--profile-in", "/nowhere/p.json", &file]);
    assert!(missing.contains("/nowhere/p.json"), "{missing}");
    let unused = refused(&["dump", "--stage", "opt", "--profile-in", "p.json", &file]);
    assert!(unused.contains("--profile-in goes with --inline"), "{unused}");
}

#[test]
fn plans_that_cannot_be_followed_are_refused_with_a_hint() {
    let folder = Folder::new("refused");
    let (file, plan) = (sample("hello.lang"), folder.path("plan.json"));
    let run = |flags: &[&str]| refused(&[&["run", "--tier", "opt", &file], flags].concat());
    for (text, cause) in [("{", "not an inlining plan"), ("{\"format\":\"call profile\",\"version\":1}", "\"format\" is not")] {
        folder.write("plan.json", text);
        let error = run(&["--plan-in", &plan]);
        assert!(error.contains(&plan) && error.contains(cause) && error.contains("hint: plans are made by `vm run"), "{error}");
    }
    assert!(run(&["--plan-in", "/nowhere/plan.json"]).contains("hint: plans are made by"));
    assert!(run(&["--plan-out", "/nowhere/plan.json"]).contains("there is no folder /nowhere"));
    assert!(run(&["--plan-in", &plan, "--inline", "static"]).contains("cannot be used with"));
    assert!(refused(&["run", "--tier", "baseline", "--plan-out", &plan, &file]).contains("--plan-out"));
    assert!(refused(&["dump", "--stage", "ir", "--plan-in", &plan, &file]).contains("go with the stages opt and inline"));
}

const PROGRAM: &str = "
fun twice(x: Int): Int = x + x

fun gone(x: Int): Int {
    var y = x
    for i in 0..<x { y += i * x }
    return y
}

fun main() {
    println(\"${twice(4)} ${gone(3)}\")
}
";

#[test]
fn documents_of_an_earlier_program_hold_for_what_is_left_with_a_warning() {
    let folder = Folder::new("stale");
    let (file, plan, profile) = (folder.write("p.lang", PROGRAM), folder.path("plan.json"), folder.path("profile.json"));
    let printed = good(&["run", "--tier", "opt", "--plan-out", &plan, &file]);
    good(&["run", "--tier", "baseline", "--profile", "exhaustive", "--profile-out", &profile, &file]);
    folder.write("p.lang", &PROGRAM.replace("gone", "new"));
    for flags in [vec!["--plan-in", &plan], vec!["--inline", "context", "--profile-in", &profile]] {
        for command in [&["run", "--tier", "opt"][..], &["dump", "--stage", "inline"]] {
            let (code, out, warning) = vm(&[command, &flags, &[&file]].concat());
            assert_eq!(code, Some(0), "{warning}");
            assert!(warning.contains("is stale: ") && warning.contains("1 function gone: gone"), "{warning}");
            assert!(command[0] == "dump" || out == printed, "{out}");
        }
        // Once, not for the run that it is checked against too.
        let (code, _, warning) = vm(&[&["profile", "--check", "--tier", "opt"], &flags[..], &[&file]].concat());
        assert_eq!((code, warning.matches("is stale").count()), (Some(0), 1), "{warning}");
    }
    let (_, decisions, _) = vm(&["dump", "--stage", "inline", "--plan-in", &plan, &file]);
    assert!(decisions.contains("the plan says nothing of it") && decisions.contains("inline tiny"), "{decisions}");
}
