//! Profiled programs that end suddenly: the profile of what ran is written, and the program's output and exit code are those of an unprofiled run. A profile that cannot be written takes nothing from the program either.
#![cfg(all(unix, feature = "native"))]

mod running;

use profiler::profile::Profile;
use running::{Folder, LIMIT};
use std::process::Stdio;
use std::time::Instant;

const MODES: &[&str] = &[
    "--tier interp --profile exhaustive",
    "--tier baseline --profile exhaustive",
    "--tier opt --profile exhaustive --profile-inlined",
    "--tier interp --profile adaptive --interval 200us --burst 1000",
    "--tier baseline --profile burst --interval 200us --burst 1000",
    "--tier opt --profile cbs --interval 100us",
    "--tier opt --profile estimator --trigger calls --interval 1000",
    "--tier baseline --profile adaptive",
    "--tier adaptive --profile adaptive",
];

/// Threads that call for ever, and a main thread's work that is known.
const SPINNING: &str = "
fun leaf(n: Int): Int = n * 3 % 7
fun step(n: Int): Int = leaf(n) + 1
fun work(n: Int): Int {
    var sum = 0
    for i in 0..<n { sum += leaf(i) }
    return sum
}
fun forever(n: Int): Int {
    var at = n
    while at >= 0 { at = step(at) }
    return at
}
fun spin() {
    for t in 0..<8 { spawn(() => forever(t)) }
}
fun mine(): Int = work(1000)
";

fn calls_of(profile: &Profile, name: &str) -> f64 {
    let program = profile.program();
    profile.dcg().iter().filter(|edge| *program.functions[program.callee(edge.edge)].name == *name).map(|edge| edge.weight).sum()
}

fn check(name: &str, main: &str, code: i32) {
    let folder = Folder::with_program(name, &format!("{SPINNING}{main}"));
    let plain = folder.run("");
    assert_eq!(plain.0, Some(code), "{plain:?}");
    for mode in MODES {
        let profile = folder.profile(mode, &plain);
        if mode.contains("exhaustive") {
            assert_eq!((calls_of(&profile, "mine"), calls_of(&profile, "work")), (1.0, 1.0), "{mode}");
        }
        assert!(profile.meta().counters.calls >= if mode.contains("estimator") || mode.contains("cbs") { 1 } else { 1000 }, "{mode}");
    }
}

#[test]
fn exit_while_others_run() {
    check("exit", "fun main() { spin()\n println(mine())\n exit(7) }", 7);
}

#[test]
fn exit_from_another_thread() {
    check("exit-other", "fun main() { spin()\n spawn(() => { println(mine())\n exit(9) })\n forever(3) }", 9);
}

#[test]
fn an_error_that_nothing_catches() {
    check("uncaught", "fun main() { println(mine())\n spawn(() => { throw StateError(\"gone\") })\n throw ArgumentError(\"too\") }", 1);
}

#[test]
fn an_interrupt() {
    let folder =
        Folder::with_program("interrupt", &format!("{SPINNING}fun main() {{ spin()\n mine()\n eprintln(\"ready\")\n forever(1) }}"));
    for mode in MODES {
        _ = std::fs::remove_file(folder.0.join("profile.json"));
        let child = folder.start(&format!("{mode} --profile-out profile.json"));
        let start = Instant::now();
        while folder.text("errors").is_empty() {
            assert!(start.elapsed() < LIMIT, "{mode}: does not start");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        // SAFETY: sends a signal to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
        assert_eq!(folder.end(child, mode), (Some(130), String::new(), "ready\ninterrupted\n".into()), "{mode}");
        let profile = folder.read(mode);
        assert!(!mode.contains("exhaustive") || calls_of(&profile, "mine") == 1.0, "{mode}");
    }
}

#[test]
fn a_reader_that_goes_away() {
    let folder = Folder::with_program("pipe", &format!("{SPINNING}fun main() {{ spin()\n mine()\n while true {{ println(\"y\") }} }}"));
    for mode in MODES {
        _ = std::fs::remove_file(folder.0.join("profile.json"));
        let mut command = folder.command(&format!("{mode} --profile-out profile.json"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(folder.end(child, mode).0, Some(141), "{mode}");
        let profile = folder.read(mode);
        assert!(!mode.contains("exhaustive") || calls_of(&profile, "mine") == 1.0, "{mode}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn profiles_that_cannot_be_written() {
    for (main, code, after) in [("println(mine())", 0, 2), ("println(mine())\n exit(5)", 5, 5)] {
        let folder = Folder::with_program(&format!("write-{code}"), &format!("{SPINNING}fun main() {{ {main} }}"));
        std::os::unix::fs::symlink("/dev/full", folder.0.join("full.json")).unwrap();
        std::os::unix::fs::symlink("nowhere/at/all.json", folder.0.join("gone.json")).unwrap();
        // Where nobody may create files, whoever runs the tests.
        std::os::unix::fs::symlink("/sys/profile.json", folder.0.join("denied.json")).unwrap();
        let plain = folder.run("");
        assert_eq!(plain.0, Some(code));
        for mode in MODES {
            let refusals = ["Permission denied", "Read-only file system"];
            for (file, causes) in
                [("full.json", &["No space left on device"][..]), ("gone.json", &["No such file or directory"]), ("denied.json", &refusals)]
            {
                let (ended, out, errors) = folder.run(&format!("{mode} --profile-out {file}"));
                assert_eq!((ended, &out), (Some(after), &plain.1), "{mode} {file}: {errors}");
                let is_told = causes.iter().any(|cause| errors.contains(cause));
                assert!(errors.contains(file) && is_told && errors.contains("hint: "), "{mode}: {errors}");
            }
        }
    }
}

#[test]
fn a_folder_that_is_removed_meanwhile() {
    let folder = Folder::with_program("removed", &format!("{SPINNING}fun main() {{ eprintln(\"ready\")\n readLine()\n println(mine()) }}"));
    std::fs::create_dir(folder.0.join("gone")).unwrap();
    let mut command = folder.command("--profile exhaustive --profile-out gone/profile.json");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while folder.text("errors").is_empty() {
        assert!(start.elapsed() < LIMIT, "does not start");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    std::fs::remove_dir(folder.0.join("gone")).unwrap();
    drop(child.stdin.take());
    let (code, out, errors) = folder.end(child, "removed");
    assert_eq!((code, out.lines().count()), (Some(2), 1), "{errors}");
    assert!(errors.contains("gone/profile.json: cannot be created") && errors.contains("hint: "), "{errors}");
}
