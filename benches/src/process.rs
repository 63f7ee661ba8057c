//! Runs one child process to its end and reports what it took.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
    let start = Instant::now();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|e| format!("{command:?}: {e}"))?;
    let (mut out, mut err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).map(|_| text)
    });
    let mut stdout = String::new();
    out.read_to_string(&mut stdout).map_err(|e| e.to_string())?;
    let stderr = errors.join().expect("the reader does not panic").map_err(|e| e.to_string())?;
    let (status, usage) = wait(child.id())?;
    let wall = start.elapsed();
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        return Err(format!("{command:?} failed:\n{stderr}"));
    }
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    Ok(Run { wall, cpu: time(usage.ru_utime) + time(usage.ru_stime), max_rss_kib: usage.ru_maxrss, stdout, stderr })
}

/// Seconds that this thread has been on a processor: others on the machine disturb these less than the time on the wall.
pub fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live local.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0, "Linux has this clock");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn wait(pid: u32) -> Result<(i32, libc::rusage), String> {
    let mut status = 0;
    // SAFETY: `rusage` is plain data for which all zeros is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals, and `pid` is a child of this process that nothing else waits for.
    let result = unsafe { libc::wait4(pid as i32, &mut status, 0, &mut usage) };
    if result < 0 { Err(std::io::Error::last_os_error().to_string()) } else { Ok((status, usage)) }
}
