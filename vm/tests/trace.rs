//! `vm trace`: what it writes is exactly what the program did.

mod running;

use profiler::trace::{Clock, Limits, Problem, ThreadTrace, Trace};
use running::Folder;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A program and its trace beside it, in a folder.
struct Case {
    source: PathBuf,
    trace: PathBuf,
    /// Removed at the end.
    _folder: Folder,
}

impl Case {
    fn new(name: &str, program: &str) -> Case {
        let folder = Folder::with_program(name, program);
        Case { source: folder.path("program.lang"), trace: folder.path("program.trace"), _folder: folder }
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = running::vm();
        command.arg("trace").arg(&self.source).args(options);
        command
    }

    fn output(&self, options: &[&str]) -> Output {
        self.command(options).output().unwrap()
    }

    /// Runs the program, which must end with this code, and loads its trace, which must be whole.
    fn trace(&self, options: &[&str], code: i32) -> Trace {
        let output = self.output(options);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let trace = self.load();
        assert!(trace.damage.is_none(), "{:?}", trace.damage);
        assert_eq!((trace.lost, trace.clock), (0, Clock::Steps));
        trace
    }

    fn load(&self) -> Trace {
        Trace::load(std::fs::File::open(&self.trace).unwrap(), Limits::default()).unwrap()
    }
}

fn thread<'t>(trace: &'t Trace, name: &str) -> &'t ThreadTrace {
    let found = trace.threads.values().find(|thread| *thread.name == *name);
    found.unwrap_or_else(|| panic!("no thread {name}"))
}

/// A thread's events: a call is its site's line, an arrow and the callee's name and line, a return is a dot; indented by depth.
fn tree(trace: &Trace, name: &str) -> String {
    let (mut text, mut depth) = (String::new(), 0);
    for event in &thread(trace, name).events {
        let Some(id) = event.edge() else {
            depth -= 1;
            text += &format!("{}.\n", "  ".repeat(depth));
            continue;
        };
        let edge = trace.program.edges()[id];
        let from = edge.site.expand().map_or("-".to_string(), |site| trace.program.sites[site].line.to_string());
        let callee = &trace.program.functions[edge.callee];
        let file = callee.file.rsplit(['/', '\\']).next().filter(|_| callee.file.starts_with("<lib>")).unwrap_or("");
        // A closure's name has its file's, which is the test's own.
        let name = callee.name.split(" at ").next().unwrap_or("");
        text += &format!("{}{from} > {name} {file}:{}\n", "  ".repeat(depth), callee.line);
        depth += 1;
    }
    text
}

fn calls_of(trace: &Trace, name: &str) -> usize {
    let edges = trace.threads.values().flat_map(|thread| &thread.events).filter_map(|event| event.edge());
    edges.filter(|&edge| *trace.program.functions[trace.program.callee(edge)].name == *name).count()
}

/// Each call is made by the function that is innermost then, the first one by nobody, and every call has its return at the thread's end.
fn check_balance(trace: &Trace) {
    for thread in trace.threads.values() {
        let mut open = Vec::new();
        for event in &thread.events {
            let Some(edge) = event.edge() else {
                assert!(open.pop().is_some(), "{} returns too often", thread.name);
                continue;
            };
            assert_eq!(trace.program.caller(edge), open.last().copied(), "in {}", thread.name);
            open.push(trace.program.callee(edge));
        }
        assert_eq!(open, [], "calls of {} are open", thread.name);
        assert!(thread.end.is_some_and(|end| end >= thread.start));
    }
}

/// Recursion, virtual calls, closures, an error caught two frames up, a thread. Lines are counted from that of the interface.
const EXACT: &str = "\
interface Shape { fun area(): Int }
class Square(let side: Int) : Shape {
    override fun area(): Int = side * side
}
class Both(let a: Shape, let b: Shape) : Shape {
    override fun area(): Int = a.area() + b.area()
}
fun down(n: Int): Int {
    if n == 0 { throw StateError(\"bottom\") }
    return down(n - 1)
}
fun careful(): Int {
    return try { down(1) } catch (e: StateError) { 7 }
}
fun twice(f: (Int) -> Int): Int = f(f(1))
fun main() {
    let shape: Shape = Both(Square(2), Square(3))
    shape.area()
    twice(x => x + 1)
    careful()
    let work = spawn(() => careful())
    work.join()
}
";

const EXACT_MAIN: &str = "\
- > <start> :0
  0 > main :16
    17 > Square.init :2
    .
    17 > Square.init :2
    .
    17 > Both.init :5
    .
    18 > Both.area :6
      6 > Square.area :3
      .
      6 > Square.area :3
      .
    .
    19 > twice :15
      15 > closure :19
      .
      15 > closure :19
      .
    .
    20 > careful :12
      13 > down :8
        10 > down :8
          9 > StateError.init error.lang:30
            30 > Error.init error.lang:6
            .
          .
        .
      .
    .
    21 > spawn<Int> thread.lang:29
      30 > Thread<Int>.init thread.lang:14
      .
    .
    22 > Thread<Int>.join thread.lang:20
    .
  .
.
";

const EXACT_THREAD: &str = "\
- > <thread> :0
  0 > closure thread.lang:31
    33 > closure :21
      21 > careful :12
        13 > down :8
          10 > down :8
            9 > StateError.init error.lang:30
              30 > Error.init error.lang:6
              .
            .
          .
        .
      .
    .
  .
.
";

const FIB: &str = "\
fun fib(n: Int): Int {
    if n < 2 { return n }
    return fib(n - 1) + fib(n - 2)
}
fun main(): Int {
    println(\"${fib(20)}\")
    return 3
}
";
/// The naive fib(n) is called 2 · fib(n + 1) - 1 times.
const CALLS_OF_FIB: usize = 2 * 10_946 - 1;

#[test]
fn every_event_of_a_program_is_there() {
    let case = Case::new("exact", EXACT);
    let trace = case.trace(&[], 0);
    check_balance(&trace);
    assert_eq!(tree(&trace, "main"), EXACT_MAIN);
    assert_eq!(tree(&trace, "thread 1"), EXACT_THREAD);
    assert_eq!(trace.threads.len(), 2);
}

#[test]
fn calls_are_as_many_as_there_were() {
    let case = Case::new("count", FIB);
    let trace = case.trace(&[], 3);
    check_balance(&trace);
    assert_eq!(calls_of(&trace, "fib"), CALLS_OF_FIB);
    // One call from `main`, and as many from the first site in `fib` as from the second.
    let calls_from = |line| {
        let events = thread(&trace, "main").events.iter().filter_map(|event| trace.program.edges()[event.edge()?].site.expand());
        let mut count = std::collections::BTreeMap::new();
        events.filter(|&site| trace.program.sites[site].line == line).for_each(|site| *count.entry(site).or_insert(0) += 1);
        count.into_values().collect::<Vec<usize>>()
    };
    assert_eq!(calls_from(3), [CALLS_OF_FIB / 2; 2]);
}

#[test]
fn ids_are_those_of_the_module() {
    let case = Case::new("ids", EXACT);
    let trace = case.trace(&[], 0);
    let dump = Command::new(env!("CARGO_BIN_EXE_vm")).args(["dump", "--stage", "ir"]).arg(&case.source).output().unwrap();
    let ir = String::from_utf8(dump.stdout).unwrap();
    let module = jit::ir::parser::parse(&ir).unwrap();
    assert_eq!((trace.program.functions.len(), trace.program.sites.len()), (module.funcs.len(), module.call_sites.len()));
    for (id, function) in &trace.program.functions {
        assert_eq!(function.name, module.funcs[id].name);
    }
    for (id, site) in &trace.program.sites {
        assert_eq!(site.caller, module.call_sites[id].caller);
    }
}

#[test]
fn a_thread_alone_has_the_same_trace_each_time() {
    let case = Case::new("same", FIB);
    let bytes = || {
        case.trace(&[], 3);
        std::fs::read(&case.trace).unwrap()
    };
    let first = bytes();
    assert!(first == bytes() && first == bytes());
    let other = case.trace.with_extension("other");
    case.trace(&["-o", other.to_str().unwrap()], 3);
    assert!(first == std::fs::read(&other).unwrap(), "-o changes what is written");
    std::fs::remove_file(other).unwrap();
}

#[test]
fn the_clock_counts_instructions() {
    let case = Case::new("clock", FIB);
    let every = case.trace(&["--stamps", "1"], 3);
    let main = thread(&every, "main");
    let times: Vec<u64> = main.times().collect();
    assert_eq!(main.stamps.iter().filter(|stamp| stamp.at < times.len() as u64).count(), times.len());
    // Nothing runs before the first call; the instruction that calls or returns has been counted when its event happens, so no two events are at one time.
    assert!(times[0] == 0 && times.windows(2).all(|t| t[0] < t[1]), "{:?}", &times[..8]);
    assert_eq!(main.end, times.last().copied());
    let seldom = case.trace(&["--stamps", "1000"], 3);
    let stamps = &thread(&seldom, "main").stamps;
    assert!(stamps.len() >= times.len() / 1000);
    assert!(stamps.iter().all(|stamp| times.get(stamp.at as usize).is_none_or(|&time| time == stamp.cycles)));
    assert_eq!(thread(&seldom, "main").events, main.events);
}

#[test]
fn output_arguments_and_code_are_those_of_a_run() {
    let program = "fun main(): Int {\n    println(args()[0])\n    eprintln(args()[1])\n    return 40 + args().length\n}\n";
    let case = Case::new("run", program);
    let output = case.output(&["--", "one", "-o"]);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!((output.status.code(), text(&output.stdout), text(&output.stderr)), (Some(42), "one\n".into(), "-o\n".into()));
    check_balance(&case.load());
}

#[test]
fn errors_close_the_calls_that_they_leave() {
    let program = "\
fun dive(n: Int): Int = 1 + dive(n + 1)
fun fail(n: Int): Int = if n == 0 { 1 / n } else { fail(n - 1) }
fun main() {
    for i in 1..3 {
        try { dive(0) } catch (e: StackOverflowError) { }
    }
    fail(9)
}
";
    let case = Case::new("errors", program);
    let trace = case.trace(&["--stack", "1m"], 1);
    check_balance(&trace);
    assert_eq!(calls_of(&trace, "fail"), 10);
    let dives = calls_of(&trace, "dive");
    assert!(dives > 3000 && dives.is_multiple_of(3), "{dives}");
    let errors = case.output(&["--stack", "1m"]).stderr;
    assert!(String::from_utf8(errors).unwrap().starts_with("error: DivisionError: division by zero\n"));
}

#[test]
fn threads_have_their_own_calls() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../lang-samples/threads.lang");
    let case = Case::new("threads", &std::fs::read_to_string(sample).unwrap());
    let trace = case.trace(&["--stamps", "1"], 0);
    check_balance(&trace);
    // Four count primes, four add to a tally, one fails.
    let mut names: Vec<&str> = trace.threads.values().map(|thread| &*thread.name).collect();
    names.sort();
    let expected: Vec<String> = std::iter::once("main".into()).chain((1..=9).map(|i| format!("thread {i}"))).collect();
    assert_eq!(names, expected);
    assert_eq!((calls_of(&trace, "isPrime"), calls_of(&trace, "Tally.add"), calls_of(&trace, "parseInt")), (10_000, 400, 1));
    // The clock is one for all: `main` had to wait for the others.
    let main = thread(&trace, "main");
    assert!(trace.threads.values().all(|thread| thread.end <= main.end && thread.start >= main.start));
}

#[test]
fn calls_are_open_when_the_program_exits() {
    let program = "\
fun spin() { while true { } }
fun leave(n: Int) {
    if n == 0 { exit(9) }
    leave(n - 1)
}
fun main() {
    let ready = AtomicInt(0)
    spawn(() => {
        ready.set(1)
        spin()
    })
    while ready.get() == 0 { }
    leave(2)
}
";
    let case = Case::new("exit", program);
    let trace = case.trace(&[], 9);
    let main = tree(&trace, "main");
    let last: Vec<&str> = main.lines().rev().take_while(|line| !line.ends_with('.')).collect();
    assert!(last[0].trim().starts_with("3 > exit"), "{main}");
    assert_eq!(last[1..], ["        4 > leave :2", "      4 > leave :2", "    13 > leave :2"]);
    assert!(tree(&trace, "thread 1").starts_with("- > <thread> :0\n"));
    assert!(trace.threads.values().all(|thread| thread.end.is_none()));
}

#[test]
fn a_trace_that_cannot_be_made_is_a_clear_error() {
    let case = Case::new("unmade", FIB);
    let failure = |output: Output| {
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let folder = case.source.with_extension("missing").join("x.trace");
    let error = failure(case.output(&["-o", folder.to_str().unwrap()]));
    assert!(error.starts_with("error: cannot create ") && error.contains("missing"), "{error}");
    let error = failure(case.output(&["-o", case.source.to_str().unwrap()]));
    assert!(error.contains("is a source of the program"), "{error}");
    assert_eq!(std::fs::read_to_string(&case.source).unwrap(), FIB);
    assert!(failure(case.output(&["--stamps", "0"])).contains("--stamps"));
    #[cfg(target_os = "linux")]
    assert!(failure(case.output(&["-o", "/dev/full"])).starts_with("error: /dev/full: cannot write the trace: No space left on device"));
    std::fs::write(&case.trace, "old").unwrap();
    std::fs::write(&case.source, "fun main() { x }").unwrap();
    failure(case.output(&[]));
    assert_eq!(std::fs::read_to_string(&case.trace).unwrap(), "old", "a program that does not compile has no trace");
}

#[cfg(unix)]
mod ending {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Stdio};

    /// Starts a program and waits until it says that it is ready, on stderr.
    fn ready(case: &Case) -> Child {
        let mut child = case.command(&[]).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child
    }

    const ENDLESS: &str = "\
fun fib(n: Int): Int = if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
fun main() {
    fib(22)
    eprintln(\"ready\")
    while true { }
}
";

    #[test]
    fn an_interrupted_program_has_a_whole_trace() {
        let case = Case::new("interrupt", ENDLESS);
        let mut child = ready(&case);
        // SAFETY: sends a signal to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let trace = case.load();
        assert!(trace.damage.is_none());
        // 2 · fib(23) - 1
        assert_eq!(calls_of(&trace, "fib"), 2 * 28_657 - 1);
    }

    #[test]
    fn a_killed_program_leaves_what_was_written() {
        let case = Case::new("kill", ENDLESS);
        let mut child = ready(&case);
        child.kill().unwrap();
        child.wait().unwrap();
        let trace = case.load();
        assert!(matches!(trace.damage.as_ref().map(|d| &d.problem), Some(Problem::NoEnd)), "{:?}", trace.damage);
        assert!(trace.events() >= 65_535);
        assert_eq!(trace.program.functions.values().filter(|f| &*f.name == "fib").count(), 1);
    }

    #[test]
    fn a_disk_that_fills_up_stops_the_trace_and_not_the_program() {
        for (program, code) in [(FIB.to_string(), 3), (FIB.replace("return 3", "return 0"), 2)] {
            let case = Case::new(&format!("full{code}"), &program);
            // A limit of one block for files stands for the disk; without the signal a write past it fails.
            let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" trace \"$1\"";
            let output = Command::new("sh").args(["-c", limited, env!("CARGO_BIN_EXE_vm")]).arg(&case.source).output().unwrap();
            assert_eq!((output.status.code(), &*output.stdout), (Some(code), &b"6765\n"[..]), "{output:?}");
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(error.contains(": cannot write the trace: File too large"), "{error}");
            assert!(error.ends_with("; the program ran to its end, its trace ends before\n"), "{error}");
            assert!(case.load().damage.is_some());
        }
    }
}
