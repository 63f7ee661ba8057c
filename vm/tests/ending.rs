//! How `vm run` ends when the world around it does not cooperate: signals, closed pipes, full disks, memory limits.
#![cfg(unix)]

mod running;

use running::{Folder, vm};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};

/// A program in a file of its own; `vm run` on it, streams piped.
fn start(name: &str, options: &[&str], program: &str) -> Child {
    start_as("run", name, options, program)
}

/// The same with another command.
fn start_as(subcommand: &str, name: &str, options: &[&str], program: &str) -> Child {
    let path = std::env::temp_dir().join(format!("vm-ending-{}-{name}.lang", std::process::id()));
    std::fs::write(&path, program).unwrap();
    let piped = || Stdio::piped();
    let mut command = vm();
    command.arg(subcommand).args(options).arg(path).stdin(piped()).stdout(piped()).stderr(piped());
    command.spawn().unwrap()
}

/// Exit code, output, errors.
fn finish(mut child: Child) -> (Option<i32>, String, String) {
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn interrupt(child: &Child) {
    send(child, libc::SIGINT);
}

fn send(child: &Child, signal: i32) {
    // SAFETY: sends a signal to a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn a_program_that_a_signal_ends_writes_its_output_and_its_profile() {
    let folder = Folder::new("ending-signal");
    let (ready, profile) = (folder.path("ready"), folder.path("profile.json"));
    // By a file: what is printed to the error output writes the rest of the output first.
    let program =
        format!("fun main() {{ print(\"partial\")\n eprintln(\"\")\n print(\" more\")\n writeFile({ready:?}, \"\")\n while true {{ }} }}");
    for (signal, expected, says) in
        [(libc::SIGINT, 130, "interrupted\n"), (libc::SIGTERM, 143, "terminated\n"), (libc::SIGHUP, 129, "hung up\n")]
    {
        [&ready, &profile].iter().for_each(|file| _ = std::fs::remove_file(file));
        let mut child = start("signal", &["--profile", "exhaustive", "--profile-out", profile.to_str().unwrap()], &program);
        while !ready.exists() {
            assert_eq!(child.try_wait().unwrap(), None, "it has ended");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        send(&child, signal);
        assert_eq!(finish(child), (Some(expected), "partial more".into(), format!("\n{says}")));
        let calls = folder.read(says).dcg_total();
        assert!(calls > 3.0, "{calls} calls with {says}");
    }
}

#[test]
fn a_file_at_its_limit_is_an_error_that_can_be_caught() {
    let program = "fun main() {\n    try {\n        while true { println(\"text\") }\n    } catch (e: IoError) {\n        eprintln(e.message)\n        exit(3)\n    }\n}\n";
    let path = std::env::temp_dir().join(format!("vm-ending-{}-limit.lang", std::process::id()));
    std::fs::write(&path, program).unwrap();
    let shell = format!("ulimit -f 1; exec '{}' run '{}' > '{}.out'", env!("CARGO_BIN_EXE_vm"), path.display(), path.display());
    let output = Command::new("sh").args(["-c", &shell]).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), errors.as_str()), (Some(3), "cannot write to the standard output: File too large\n"));
}

#[test]
fn a_stack_without_room_is_told_with_its_flag() {
    for (command, size, hint) in
        [("run", "1000000g", "choose a smaller --stack"), ("trace", "1000000g", "smaller --stack"), ("run", "1", "larger --stack")]
    {
        let (code, out, errors) =
            finish(start_as(command, &format!("stack-{command}-{size}"), &["--stack", size], "fun main() { print(1) }\n"));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{errors}");
        assert!(errors.contains(hint), "{errors}");
    }
}

/// Input may come, so that is no deadlock.
#[test]
fn threads_that_wait_forever_can_be_interrupted() {
    let program = "fun main() {\n    let m = Mutex()\n    spawn(() => readLine())\n    lock m {\n        eprintln(\"ready\")\n        while true { m.wait() }\n    }\n}\n";
    let mut child = start("waiting", &[], program);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    errors.read_line(&mut String::new()).unwrap();
    // Open to the end: without it no input would come.
    let _input = child.stdin.take();
    interrupt(&child);
    assert_eq!(finish(child).0, Some(130));
}

/// Bytes that wait in a pipe.
fn unread(pipe: &impl AsRawFd) -> i32 {
    let mut bytes = 0;
    // SAFETY: the descriptor is open, and the number has room.
    assert_eq!(unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut bytes) }, 0);
    bytes
}

/// The output is full, and nobody is waiting for it: the one who writes what is left of it must not be waited for.
#[test]
fn an_interrupt_ends_a_program_whose_output_nobody_reads() {
    let program = "fun main() {\n    print(\"x\".repeat(65536))\n    print(\"more\")\n    while true { }\n}\n";
    let mut child = start("unread", &[], program);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let out = child.stdout.as_ref().unwrap();
    while unread(out) < 65536 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    interrupt(&child);
    let code = child.wait().unwrap().code();
    let mut line = String::new();
    errors.read_to_string(&mut line).unwrap();
    assert_eq!((code, line.as_str()), (Some(130), "interrupted\n"));
}

#[test]
fn a_large_object_for_which_no_range_is_long_enough_is_out_of_memory() {
    let program = "
        let held = Array<Array<Int>?>(8)
        fun put(at: Int, mb: Int) { held[at] = if mb == 0 { null } else { Array<Int>(mb * 131072 - 2) } }
        fun pin(at: Int) { held[at] = Array<Int>(1100) }
        fun main() {
            put(0, 28)
            pin(2)
            put(1, 28)
            pin(3)
            put(0, 0)
            put(1, 0)
            put(0, 29)
            put(1, 29)
            put(0, 0)
            try { put(0, 30) } catch (e: OutOfMemoryError) { println(e) }
        }";
    let (code, out, errors) = finish(start("ranges", &["--heap", "64m", "--nursery", "1m"], program));
    assert_eq!((code, out.as_str(), errors.as_str()), (Some(0), "OutOfMemoryError: out of memory\n", ""));
}

#[test]
fn errors_of_threads_that_were_joined_are_not_kept() {
    let program = "
        class Failed(let n: Int, let ballast: Array<Int>) : Error(\"failed\")
        fun main() {
            var caught = 0
            for n in 1..600 {
                let thread = spawn(() => {
                    if n > 0 { throw Failed(n, Array<Int>(1000)) }
                    return n
                })
                for times in 1..2 {
                    try { thread.join() } catch (e: Failed) { if e.n == n { caught += 1 } }
                }
            }
            println(caught)
        }";
    let (code, out, errors) = finish(start("joined", &["--heap", "3m"], program));
    assert_eq!((code, out.as_str(), errors.as_str()), (Some(0), "1200\n", ""));
}

/// What would come after the program's run does not: another run would never end.
#[test]
#[cfg(feature = "native")]
fn an_interrupted_run_is_not_checked_and_not_explained() {
    let program = "fun main() {\n    eprintln(\"ready\")\n    while true { }\n}\n";
    for (subcommand, options, told) in [("profile", &["--check"][..], "not checked: the program was interrupted"), ("explain", &[], "")] {
        let mut child = start_as(subcommand, subcommand, options, program);
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{subcommand}");
        interrupt(&child);
        let (code, out, _) = finish(child);
        assert!(code == Some(130) && out.contains(told) && out.is_empty() == told.is_empty(), "{subcommand}: {code:?} {out}");
    }
}

/// In the terminal it was started from, with the run that it has begun.
#[test]
#[cfg(feature = "native")]
fn an_interrupted_bench_leaves_nothing() {
    use std::os::unix::process::CommandExt;
    let folder = std::env::temp_dir().join(format!("vm-ending-{}-bench", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("endless.lang");
    std::fs::write(&file, "fun main() { while true { } }").unwrap();
    let mut command = vm();
    command.args(["bench", "--compare", "inline=none,static"]).arg(&file).env("TMPDIR", &folder).process_group(0);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let count = || std::fs::read_dir(&folder).unwrap().count();
    while count() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // SAFETY: sends a signal to the group of a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(-(child.id() as i32), libc::SIGINT) }, 0);
    let (code, out, errors) = finish(child);
    assert_eq!((code, out.as_str()), (Some(130), ""));
    assert!(errors.ends_with("interrupted\n"), "{errors}");
    assert_eq!(count(), 1, "the program alone");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_closed_pipe_ends_a_program_quietly() {
    let mut child = start("pipe", &[], "fun main() {\n    while true { println(\"y\") }\n}\n");
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    drop(out);
    let (code, _, errors) = finish(child);
    assert_eq!((line.as_str(), code, errors.as_str()), ("y\n", Some(141), ""));
}

#[test]
fn exit_writes_what_was_printed() {
    let program = "fun main() {\n    spawn(() => { while true { } })\n    print(\"last words\")\n    exit(9)\n}\n";
    assert_eq!(finish(start("exit", &[], program)), (Some(9), "last words".into(), String::new()));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_that_can_be_caught() {
    let program = "fun main() {\n    try {\n        while true { println(\"text\") }\n    } catch (e: IoError) {\n        eprintln(e.message)\n        exit(3)\n    }\n}\n";
    let path = std::env::temp_dir().join(format!("vm-ending-{}-full.lang", std::process::id()));
    std::fs::write(&path, program).unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = vm().arg("run").arg(path).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "cannot write to the standard output: No space left on device\n");
}

/// With whatever else ends the program.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_at_the_end() {
    let path = std::env::temp_dir().join(format!("vm-ending-{}-told.lang", std::process::id()));
    for (end, told) in
        [("", ""), ("throw StateError(\"end\")", "StateError: end"), ("let m = Mutex()\n    lock m { m.wait() }", "no thread can go on")]
    {
        std::fs::write(&path, format!("fun main() {{\n    print(\"text\")\n    {end}\n}}\n")).unwrap();
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = vm().arg("run").arg(&path).stdout(full).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(told) && errors.contains("cannot write to the standard output: No space left"), "{errors}");
        assert_eq!(output.status.code(), Some(1), "{errors}");
    }
}

#[test]
fn input_is_read_line_by_line() {
    let program = "fun main() {\n    print(\"name? \")\n    let name = readLine()\n    println(\"hello ${name}\")\n    println(\"${readLine()}\")\n}\n";
    let mut child = start("input", &[], program);
    let mut question = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut question).unwrap();
    child.stdin.as_mut().unwrap().write_all("Zoë\r\n".as_bytes()).unwrap();
    assert_eq!(&question, b"name? ");
    assert_eq!(finish(child), (Some(0), "hello Zoë\nnull\n".into(), String::new()));
}

/// Most resident memory of a run, in bytes. The program prints it itself, as the system counts it for the process.
#[cfg(all(target_os = "linux", feature = "native"))]
fn peak(options: &[&str], program: &str) -> u64 {
    let report = "\nfun peak() {\n    for line in readLines(\"/proc/self/status\") {\n        if line.startsWith(\"VmHWM:\") { println(line) }\n    }\n}\n";
    let (code, out, errors) = finish(start(&format!("peak{}", options.len()), options, &format!("{program}{report}")));
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let kib: u64 = out.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

#[test]
#[cfg(all(target_os = "linux", feature = "native"))]
fn the_heap_limit_holds_for_resident_memory() {
    // In baseline code: the optimizer's own memory is another matter.
    let idle = peak(&["--tier", "baseline"], "fun main() {\n    peak()\n}\n");
    // Fills the heap until nothing fits, twice, with small objects, growing arrays and garbage.
    let program = "class Node(var next: Node?, let data: Array<Int>)
fun fill(): Int {
    var list: Node? = null
    var count = 0
    try {
        while true {
            list = Node(list, Array<Int>(count % 40, count))
            if count % 500 == 0 { Array<Int>(20000) }
            count += 1
        }
    } catch (e: OutOfMemoryError) {
        list = null
    }
    return count
}
fun main() {
    if fill() < 50000 || fill() < 50000 { throw StateError(\"too early\") }
    peak()
}
";
    let full = peak(&["--tier", "baseline", "--heap", "32m"], program);
    assert!(full - idle <= 32 << 20, "{} KiB more than idle", (full - idle) >> 10);
    assert!(full - idle >= 24 << 20, "the program did not fill its heap");
}

#[test]
fn each_collection_has_a_line_in_the_log() {
    // Where the heap is nearly full, young collections do not make room enough, and full ones follow them at once.
    let program = "class Node(let next: Node?)
var hold: Node? = null
fun main() {
    try { while true { hold = Node(hold) } } catch (e: OutOfMemoryError) { hold = null }
}
";
    let (code, _, errors) = finish(start("gc-log", &["--heap", "4m", "--gc-log", "--stats"], program));
    assert_eq!(code, Some(0), "{errors}");
    let numbers: Vec<&str> =
        errors.lines().filter_map(|line| line.split_once("GC(")?.1.split_once(')')).map(|(number, _)| number).collect();
    let counter = |name: &str| -> usize {
        let line = errors.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert!(counter("gc.major ") > 1, "{errors}");
    assert_eq!(numbers, (0..counter("gc.minor ") + counter("gc.major ")).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[test]
#[cfg(target_os = "linux")]
fn threads_that_the_system_refuses_are_not_counted() {
    let program = "fun main() {
    let threads = List<Thread<Int>>()
    for i in 1..20 {
        try { threads.add(spawn(() => {
            sleep(100)
            return i
        })) } catch (e: StateError) { }
    }
    for t in threads { t.join() }
    println(\"${threads.size()}\")
}
";
    let path = std::env::temp_dir().join(format!("vm-ending-{}-refused.lang", std::process::id()));
    std::fs::write(&path, program).unwrap();
    // Room for some stacks of 1 GiB in 6 of address space.
    let command = format!("ulimit -v 6000000; exec \"$0\" run --tier interp --heap 16m --stack 1g --stats \"{}\"", path.display());
    let output = Command::new("sh").args(["-c", &command, env!("CARGO_BIN_EXE_vm")]).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let started: usize = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap_or_else(|_| panic!("{errors}"));
    assert!((1..20).contains(&started), "{started} threads");
    let counted = errors.lines().find_map(|line| line.strip_prefix("threads.started")?.split_whitespace().next()).unwrap();
    assert_eq!(counted, (started + 1).to_string());
}

#[test]
fn a_map_is_whole_after_memory_ran_out_while_it_was_cleared() {
    // So that memory runs out at one allocation of `clear` or another.
    let program = "class Node(let next: Node?)

var hold: Node? = null

fun more(n: Int) {
    for i in 1..n { hold = Node(hold) }
}

fun filled(): Map<Int, Int> {
    let map = Map<Int, Int>()
    for i in 1..8 { map[i] = i }
    return map
}

fun isWhole(map: Map<Int, Int>): Bool {
    if map.size() != map.keys().size() || map.size() == 8 && map[5] != 5 { return false }
    for i in 1..100 { map[i] = -i }
    return map.size() == 100 && map[5] == -5
}

fun main() {
    var thrown = 0
    var broken = 0
    for round in 1..30 {
        let maps = tabulate(1000, i => filled())
        var clearing: Map<Int, Int>? = null
        try {
            try {
                while true { more(1) }
            } catch (e: OutOfMemoryError) { }
            for map in maps {
                clearing = null
                more(round)
                clearing = map
                map.clear()
            }
        } catch (e: OutOfMemoryError) { }
        hold = null
        if clearing != null {
            thrown += 1
            if !isWhole(clearing) { broken += 1 }
        }
    }
    println(\"${thrown > 0} ${broken}\")
}
";
    let (code, out, errors) = finish(start("clear", &["--heap", "2m"], program));
    assert_eq!((code, out.as_str(), errors.as_str()), (Some(0), "true 0\n", ""));
}

#[test]
fn what_is_not_needed_any_more_takes_no_memory_in_any_tier() {
    // One list fits in the heap, two do not: neither temporaries, nor arguments, nor variables keep the one before.
    let program = "class Node(let next: Node?)
fun build(n: Int): Node? {
    var list: Node? = null
    for i in 1..n { list = Node(list) }
    return list
}
fun size(list: Node?): Int {
    var count = 0
    var node = list
    while node != null {
        count += 1
        node = node.next
    }
    return count
}
fun drop(list: Node?): Int = size(build(size(list)))
fun main() {
    println(size(build(300_000)))
    println(drop(build(300_000)))
    let list = build(300_000)
    println(size(list))
    println(size(build(300_000)))
}
";
    for tier in ["interp", "baseline", "opt", "adaptive"].iter().filter(|&&tier| cfg!(feature = "native") || tier == "interp") {
        let (code, out, errors) = finish(start(&format!("dead-{tier}"), &["--tier", tier, "--heap", "8m"], program));
        assert_eq!((code, out.as_str(), errors.as_str()), (Some(0), "300000\n300000\n300000\n300000\n", ""), "{tier}");
    }
}
