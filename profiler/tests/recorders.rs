//! The recorders for other people's programs, on small programs whose calls are known: `recorders/calls.py` and `recorders/calls.c` beside this file.
//!
//! Where there is no `python3` or `cc` a test says so and passes.

use profiler::ids::ThreadId;
use profiler::trace::{Clock, Limits, ThreadTrace, Trace};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository")
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorders").join(name)
}

/// A directory of the test's own, gone when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("recorders-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn is_missing(tool: &str) -> bool {
    if tool == "cc" && !cfg!(target_os = "linux") {
        eprintln!("passed over: record.c is for Linux");
        return true;
    }
    let is_missing = Command::new(tool).arg("--version").output().is_err();
    if is_missing {
        eprintln!("passed over: there is no {tool} here");
    }
    is_missing
}

fn load(path: &Path) -> Trace {
    let trace = Trace::load(std::fs::File::open(path).unwrap(), Limits::default()).unwrap();
    if let Some(damage) = &trace.damage {
        panic!("{damage}");
    }
    for thread in trace.threads.values() {
        let times: Vec<u64> = thread.times().collect();
        assert!(times.is_sorted() && times.iter().all(|&time| time >= thread.start));
    }
    assert_eq!(trace.clock, Clock::Nanoseconds);
    trace
}

/// The calls of a thread, each as `name:line(calls)`, the line being the call site's, of functions in files that end in `file` only. A `!` stands for each call that is open at the end.
fn calls(trace: &Trace, thread: &ThreadTrace, file: &str) -> String {
    let (mut text, mut open) = (String::new(), Vec::new());
    for event in &thread.events {
        let Some(edge) = event.edge() else {
            if open.pop().expect("an open call") {
                text.push(')');
            }
            continue;
        };
        let function = &trace.program.functions[trace.program.callee(edge)];
        let is_shown = function.file.ends_with(file);
        if is_shown {
            let line = trace.program.edges()[edge].site.expand().map_or(0, |site| trace.program.sites[site].line);
            let before = if text.is_empty() || text.ends_with('(') { "" } else { " " };
            text.push_str(&format!("{before}{}:{line}(", function.name));
        }
        open.push(is_shown);
    }
    text.extend(open.iter().filter(|&&is_shown| is_shown).map(|_| '!'));
    text.replace("()", "")
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn python(scratch: &Scratch, options: &[&str], script: &Path) -> (Trace, Output) {
    let file = scratch.file("python.trace");
    let record = root().join("recorders/record.py");
    let output = run(Command::new("python3").arg(record).args(["-o", file.to_str().unwrap()]).args(options).arg(script));
    (load(&file), output)
}

/// What `calls.py` does in its main thread.
fn expected_python() -> String {
    [
        "<module>:0(Counter:40 factorial:57(factorial:7(factorial:7)) factorial:57(factorial:7)",
        "catches:58(fails:18(fails:13) factorial:20)",
        "generators:59(numbers:33(factorial:24) numbers:34 numbers:35(factorial:28) numbers:36 factorial:37)",
        "__init__:60 step:60 step:60",
        "called_back:61(factorial:50) called_back:61(factorial:50))",
    ]
    .join(" ")
}

#[test]
fn python_calls_are_exact() {
    if is_missing("python3") {
        return;
    }
    let scratch = Scratch::new("python");
    for options in [&["-s", "1"][..], &["-s", "5"], &["-c"], &["-c", "-s", "100000"]] {
        let (trace, output) = python(&scratch, options, &program("calls.py"));
        assert_eq!((output.status.code(), trace.lost), (Some(3), 0));
        let threads: Vec<_> = trace.threads.values().collect();
        assert_eq!(threads.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["MainThread", "worker 1", "worker 2"]);
        assert!(threads.iter().all(|it| it.end.is_some_and(|end| end >= it.start)));
        // Names have their classes in them since Python 3.11.
        assert_eq!(calls(&trace, threads[0], "calls.py").replace("Counter.", ""), expected_python(), "{options:?}");
        let site = trace.threads[ThreadId::from_u32(1)].events[1].edge().and_then(|edge| trace.program.caller(edge));
        assert!(trace.program.functions[site.unwrap()].name.ends_with("run"));
        let worker = |thread| calls(&trace, thread, "calls.py").split_once('(').map(|(_, calls)| calls.to_owned());
        assert_eq!(worker(threads[1]), Some("factorial:54)".into()));
        assert_eq!(worker(threads[2]), Some("factorial:54(factorial:7))".into()));
    }
}

#[test]
fn python_c_functions_are_recorded_on_demand() {
    if is_missing("python3") {
        return;
    }
    let scratch = Scratch::new("python-c");
    let script = scratch.file("c.py");
    std::fs::write(&script, "def key(x):\n    return len(x)\n\nsorted(['a', 'bb'], key=key)\n").unwrap();
    let (trace, _) = python(&scratch, &["-c"], &script);
    let main = &trace.threads[ThreadId::from_u32(0)];
    assert_eq!(calls(&trace, main, ""), "<module>:0(builtins.sorted:4(key:4(builtins.len:2) key:4(builtins.len:2)))");
    let (trace, _) = python(&scratch, &[], &script);
    assert_eq!(calls(&trace, &trace.threads[ThreadId::from_u32(0)], ""), "<module>:0(key:4 key:4)");
}

/// Blocks of full length with codes of one byte and of two; a name that is not ASCII; an exception that nobody catches.
#[test]
fn python_blocks_are_cut() {
    if is_missing("python3") {
        return;
    }
    let scratch = Scratch::new("python-blocks");
    let script = scratch.file("many.py");
    let functions: String = (0..300).map(|number| format!("def größe{number}(): pass\n")).collect();
    let text = format!(
        "{functions}def once():\n    größe0()\n\
         for i in range(40000): once()\n\
         all_of_them = [v for k, v in list(globals().items()) if k[0] == 'g']\n\
         for i in range(300):\n    for f in all_of_them: f()\n"
    );
    std::fs::write(&script, text).unwrap();
    let (trace, _) = python(&scratch, &["-s", "7"], &script);
    let main = &trace.threads[ThreadId::from_u32(0)];
    let mut called = std::collections::BTreeMap::new();
    for edge in main.events.iter().filter_map(|event| event.edge()) {
        let name = &*trace.program.functions[trace.program.callee(edge)].name;
        *called.entry(name).or_insert(0) += u32::from(name.starts_with("größe"));
    }
    called.retain(|_, count| *count > 0);
    assert_eq!(called.remove("größe0"), Some(40_300));
    assert!(called.len() == 299 && called.values().all(|&count| count == 300), "{called:?}");
    assert!(main.events.len() >= 2 * (80_000 + 90_000 + 1));
    assert_eq!(calls(&trace, main, "many.py").matches(')').count(), 1 + 40_000, "the module and each call of once");
}

/// What the parent had not written yet is not the child's to write.
#[test]
fn python_programs_that_fork_are_recorded_without_their_children() {
    if is_missing("python3") {
        return;
    }
    let scratch = Scratch::new("python-forks");
    let script = scratch.file("forks.py");
    std::fs::write(&script, "import os\ndef f(): pass\nf()\nif os.fork() == 0: f(); os._exit(0)\nos.wait()\nf()\n").unwrap();
    let (trace, _) = python(&scratch, &[], &script);
    assert_eq!(calls(&trace, &trace.threads[ThreadId::from_u32(0)], ""), "<module>:0(f:3 f:6)");
}

/// What goes wrong in a program is said as without the recorder, and what was recorded until then is there.
#[test]
fn python_programs_that_fail_are_recorded() {
    if is_missing("python3") {
        return;
    }
    let scratch = Scratch::new("python-fails");
    let (script, file) = (scratch.file("fails.py"), scratch.file("fails.trace"));
    let run = |text: &str| {
        std::fs::write(&script, text).unwrap();
        let mut command = Command::new("python3");
        let output = command.arg(root().join("recorders/record.py")).args(["-o", file.to_str().unwrap()]).arg(&script).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, message) = run("def f():\n    raise KeyError('it')\nf()\n");
    assert!(code == Some(1) && message.ends_with("KeyError: 'it'\n") && !message.contains("record.py"), "{message}");
    let trace = load(&file);
    assert_eq!(calls(&trace, &trace.threads[ThreadId::from_u32(0)], ""), "<module>:0(f:3)");

    let (code, message) = run("import sys\ndef f(): pass\nf(); sys.setprofile(None); f()\n");
    assert!(code == Some(0) && message.contains("has ended the recording"), "{message}");
    let trace = load(&file);
    assert_eq!((calls(&trace, &trace.threads[ThreadId::from_u32(0)], ""), trace.lost), ("<module>:0(f:3!".into(), 1));

    let (code, message) = run("f(\n");
    assert!(code == Some(1) && message.contains("SyntaxError") && !message.contains("record.py"), "{message}");
}

fn compile(scratch: &Scratch, level: &str) -> PathBuf {
    let out = scratch.file(&format!("calls{level}"));
    let mut command = Command::new("cc");
    command.args(["-Wall", "-Wextra", "-Werror", "-finstrument-functions", level]);
    run(command.arg(program("calls.c")).arg(root().join("recorders/record.c")).arg("-o").arg(&out).args(["-lpthread", "-ldl"]));
    out
}

#[test]
fn c_calls_are_exact() {
    if is_missing("cc") {
        return;
    }
    let scratch = Scratch::new("c");
    for level in ["-O0", "-O2"] {
        let program = compile(&scratch, level);
        for every in ["1", "7", "100000"] {
            let file = scratch.file("c.trace");
            let output = run(Command::new(&program).env("TRACE_FILE", &file).env("TRACE_STAMPS", every));
            let trace = load(&file);
            assert_eq!((output.status.code(), trace.lost, trace.threads.len()), (Some(3), 0, 3));
            let main = &trace.threads[ThreadId::from_u32(0)];
            assert!(&*main.name == "main" && trace.threads.values().all(|thread| thread.end.is_some()));
            let text = calls(&trace, main, "").replace(":0", "");
            let once = "main(factorial(factorial(factorial)) catches(catches(jumps(jumps(jumps)) factorial)) sorts(compare) forks";
            let many = " factorial(factorial)".repeat(40_000);
            assert_eq!(text, format!("{once}{many} leaves(!!"), "{level}");
            let mut workers: Vec<_> = trace.threads.values().skip(1).map(|thread| calls(&trace, thread, "").replace(":0", "")).collect();
            workers.sort();
            assert_eq!(workers, ["works(factorial(factorial(factorial)))", "works(factorial(factorial))"]);
        }
    }
}

/// Recursion has one call site, what calls it has another. And where no file can be written, a program runs on without.
#[test]
fn c_call_sites_are_told_apart() {
    if is_missing("cc") {
        return;
    }
    let scratch = Scratch::new("c-sites");
    let (file, compiled) = (scratch.file("c.trace"), compile(&scratch, "-O1"));
    run(Command::new(&compiled).env("TRACE_FILE", &file));
    let program = load(&file).program;
    let to_factorial = program.edges().values().filter(|edge| &*program.functions[edge.callee].name == "factorial");
    let callers: Vec<_> = to_factorial.map(|edge| &*program.functions[program.sites[edge.site.expand().unwrap()].caller].name).collect();
    let count = |name| callers.iter().filter(|&&caller| caller == name).count();
    assert_eq!([count("main"), count("factorial"), count("catches"), count("works")], [2, 1, 1, 1], "{callers:?}");

    let output = Command::new(&compiled).env("TRACE_FILE", "/nowhere/at/all.trace").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/at/all.trace: No such file"));
}
