//! The command line's view of the optimizer: its flags, what they refuse, and what is reported.

use std::process::Command;

const PROGRAM: &str = "fun half(x: Int): Int {
    return x / 2
}

fun main() {
    var sum = 0
    for i in 0..10 {
        sum += half(i)
    }
    println(\"${sum}\")
}
";

const VIRTUAL: &str = "abstract class Shape {
    abstract fun corners(): Int
}

class Square : Shape() {
    override fun corners(): Int = 4
}

class Triangle : Shape() {
    override fun corners(): Int = 3
}

fun main() {
    let shapes: Array<Shape> = [Square(), Triangle()]
    for shape in shapes {
        println(\"${shape.corners()}\")
    }
}
";

/// Exit code, output, errors of `vm ARGS FILE`.
fn vm(name: &str, args: &[&str]) -> (Option<i32>, String, String) {
    vm_on(PROGRAM, name, args)
}

fn vm_on(program: &str, name: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let path = std::env::temp_dir().join(format!("vm-optimizer-{}-{name}.lang", std::process::id()));
    std::fs::write(&path, program).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_vm")).args(args).arg(&path).output().unwrap();
    std::fs::remove_file(path).unwrap();
    let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_optimized_form_is_shown() {
    let (code, all, errors) = vm("opt", &["dump", "--stage", "opt"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let (_, one, note) = vm("opt-one", &["dump", "--stage", "opt", "--function", "main"]);
    assert_eq!(note, "note: main is inlined wherever it is called; these functions contain it\n");
    assert!(all.contains("\"<thread>\"") && one.starts_with("fn") && one.contains("\"<start>\"") && one.len() < all.len(), "{one}");
    let lowered = vm("ir", &["dump", "--stage", "ir", "--function", "main"]);
    assert!(lowered.0 == Some(0) && lowered.1.contains("\"main\""), "{lowered:?}");
    assert_eq!(vm("none", &["dump", "--stage", "opt", "--inline", "none", "--passes=none", "--function", "main"]), lowered);
}

#[test]
fn decisions_come_with_their_evidence() {
    let (code, of_main, errors) = vm("inline", &["dump", "--stage", "inline", "--function", "main"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let line = of_main.lines().find(|l| l.contains("half")).unwrap_or_else(|| panic!("no decision about half:\n{of_main}"));
    assert!(line.contains("inline tiny") && line.contains("main (") && line.contains(".lang:8:16)"), "{line}");
    assert!(of_main.ends_with("inlined, tiny: not larger than the call\n"), "{of_main}");
    let (_, none, _) = vm("inline-none", &["dump", "--stage", "inline", "--inline", "none", "--function", "main"]);
    assert!(none.contains("called,  disabled: nothing is inlined"), "{none}");
}

#[test]
fn decisions_behind_tests_say_of_how_many_targets() {
    let (code, decisions, errors) = vm_on(VIRTUAL, "virtual", &["dump", "--stage", "inline", "--function", "main"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    for class in ["Square", "Triangle"] {
        assert!(decisions.contains(&format!("{class}.corners (1 of 2 targets)  main (")), "{decisions}");
    }
}

#[test]
fn a_list_names_passes() {
    let passes = |list: &str| {
        let (code, _, table) = vm("time", &["dump", "--stage", "opt", "--time-passes", list]);
        assert_eq!(code, Some(0), "{table}");
        move |name: &str| table.lines().any(|l| l.split_whitespace().next() == Some(name))
    };
    let (all_but, only, all) = (passes("--passes=-gvn,-licm"), passes("--passes=gvn,dce"), passes("--inline=static"));
    assert!(all_but("dce") && !all_but("gvn") && !all_but("licm"));
    assert!(only("dce") && only("gvn") && !only("licm"));
    assert!(all("dce") && all("gvn") && all("licm") && all("inlining") && all("all"));
}

#[test]
fn an_unknown_pass_is_answered_with_the_list() {
    let (code, _, errors) = vm("unknown", &["dump", "--stage", "opt", "--passes=-gvm"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("there is no pass `gvm`") && errors.contains("null-checks, simplify"), "{errors}");
}

#[test]
fn flags_go_with_the_optimizer() {
    for args in [
        &["dump", "--stage", "ir", "--passes=gvn"][..],
        &["dump", "--stage", "tokens", "--inline=none"],
        &["dump", "--stage", "ast", "--time-passes"],
    ] {
        let (code, out, errors) = vm("misplaced", args);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}");
        assert!(errors.starts_with("error: --inline, --plan-in, --plan-out, --passes and --time-passes go with"), "{errors}");
    }
}

#[cfg(feature = "native")]
mod native {
    use super::vm;

    #[test]
    fn the_tier_runs_programs_and_reports() {
        let (code, out, errors) = vm("run", &["run", "--tier", "opt"]);
        assert_eq!((code, out.as_str(), errors.as_str()), (Some(0), "25\n", ""));
        let (code, out, report) = vm("stats", &["run", "--tier", "opt", "--stats", "--inline", "none", "--passes=-gvn"]);
        assert_eq!((code, out.as_str()), (Some(0), "25\n"));
        for row in ["opt.time", "opt.inlining", "native.compile", "native.functions"] {
            assert!(report.lines().any(|l| l.starts_with(row)), "{row} is missing:\n{report}");
        }
        assert!(!vm("baseline", &["run", "--tier", "baseline", "--stats"]).2.contains("opt.time"));
    }

    #[test]
    fn other_tiers_have_no_such_flags() {
        for tier in ["interp", "baseline"] {
            let (code, _, errors) = vm("tier", &["run", "--tier", tier, "--inline", "none"]);
            let expected = "error: --inline, --plan-in, --plan-out and --passes go with --tier opt and --tier adaptive, --time-passes with --tier opt\n";
            assert_eq!((code, errors.as_str()), (Some(2), expected));
        }
        let (code, _, errors) = vm("stage", &["dump", "--stage", "ir", "--tier", "opt"]);
        assert_eq!((code, errors.as_str()), (Some(2), "error: --tier goes with the stages clif and asm\n"));
        assert_eq!(vm("code", &["dump", "--stage", "asm", "--inline", "none"]).0, Some(2));
    }

    #[test]
    fn machine_code_of_either_tier_is_shown() {
        let asm = |tier| vm("asm", &["dump", "--stage", "asm", "--tier", tier, "--function", "main"]).1;
        assert!(asm("baseline").contains("ret") && asm("opt").contains("ret"));
        assert!(vm("clif", &["dump", "--stage", "clif", "--tier", "opt", "--passes=none", "--function", "main"]).1.contains("function"));
    }

    #[test]
    fn what_counting_adds_to_code_is_shown() {
        // Of all there is: `half` is inlined.
        let code = |stage, more: &[&str]| {
            let (code, out, errors) = vm("counting", &[&["dump", "--stage", stage], more].concat());
            assert_eq!((code, errors.as_str()), (Some(0), ""), "{more:?}");
            out
        };
        for stage in ["clif", "asm"] {
            let baseline = [&[][..], &["--profile-code", "calls"]].map(|more| code(stage, more));
            let opt = [&[][..], &["--profile-code", "calls"], &["--profile-code", "inlined"]];
            let opt = opt.map(|more| code(stage, &[&["--tier", "opt"], more].concat()));
            // Texts always differ: addresses in them are those of a process.
            let grows = |texts: &[String]| texts.is_sorted_by(|less, more| less.lines().count() < more.lines().count());
            assert!(grows(&baseline), "{stage}: {baseline:?}");
            assert!(grows(&opt), "{stage}: {opt:?}");
        }
        for (args, expected) in [
            (["--stage", "opt", "--tier=opt", "--profile-code=calls"], "--tier goes with the stages clif and asm"),
            (["--stage", "ir", "--function=main", "--profile-code=calls"], "--profile-code goes with the stages clif and asm"),
            (["--stage", "asm", "--tier=baseline", "--profile-code=inlined"], "--profile-code inlined goes with --tier opt"),
        ] {
            let (code, out, errors) = vm("refused", &[&["dump"], &args[..]].concat());
            assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}");
            assert!(errors.contains(expected), "{args:?}: {errors}");
        }
    }
}
