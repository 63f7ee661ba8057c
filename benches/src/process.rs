//! Runs child processes to their end, one alone or several in turns, and reports what they took.

use measure::clock::Slices;
use measure::slices;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

pub struct Run {
    pub wall: Duration,
    /// User and system time of all its threads.
    pub cpu: Duration,
    /// Largest resident set, in KiB.
    pub max_rss_kib: i64,
    pub stdout: String,
    pub stderr: String,
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is above this crate").to_path_buf()
}

/// The `vm` beside this program.
pub fn vm() -> Result<PathBuf, String> {
    let path = std::env::current_exe().map_err(|e| e.to_string())?.with_file_name("vm");
    if path.exists() { Ok(path) } else { Err(format!("{} is missing: run `cargo build --release` first", path.display())) }
}

/// A program on the `PATH`, or `None` with a line on stderr: peers are optional.
pub fn peer(name: &str) -> Option<PathBuf> {
    let found = std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|p| p.is_file());
    if found.is_none() {
        eprintln!("{name} is not on this machine: its column is left out");
    }
    found
}

/// Fails where the child does not exit with 0.
pub fn run(command: &mut Command) -> Result<Run, String> {
    let run = measure::process::run(command).map_err(|e| format!("{command:?}: {e}"))?;
    ended(command, run)
}

/// Several side by side, each for so long while the others are stopped: what slows the machine for longer slows all of them alike. With each stands when it was its turn.
/// Fails where one does not exit with 0.
pub fn run_in_turns(commands: &mut [Command], slice: Duration) -> Result<Vec<(Run, Slices)>, String> {
    let runs = slices::run(commands, slice).map_err(|e| format!("{commands:?}: {e}"))?;
    commands.iter().zip(runs).map(|(command, child)| Ok((ended(command, child.run)?, child.slices))).collect()
}

fn ended(command: &Command, run: measure::process::Run) -> Result<Run, String> {
    let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
    if !run.status.success() {
        return Err(format!("{command:?} failed:\n{stderr}"));
    }
    let usage = run.usage.ok_or("this system does not tell what a process has taken")?;
    let stdout = String::from_utf8(run.stdout).map_err(|e| format!("{command:?}: {e}"))?;
    Ok(Run { wall: run.wall, cpu: usage.user + usage.system, max_rss_kib: usage.max_rss_kib, stdout, stderr })
}

/// Seconds that this thread has been on a processor: others on the machine disturb these less than the time on the wall.
pub fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live local.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0, "Linux has this clock");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
