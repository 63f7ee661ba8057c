//! Runs one child process to its end and reports what it took.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A process that has ended.
pub struct Run {
    pub status: ExitStatus,
    /// From its start until it was seen to have ended.
    pub wall: Duration,
    /// `None` where the system does not tell.
    pub usage: Option<Usage>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Of all threads of a process.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Time on a processor in the program itself.
    pub user: Duration,
    /// And in the system's code for it.
    pub system: Duration,
    /// Largest resident set, in KiB.
    pub max_rss_kib: i64,
}

/// Who is told of a child's life, on the thread that runs it.
pub(crate) trait Observer {
    /// With this id.
    fn started(&self, id: u32);
    /// Its id is still its own.
    fn ended(&self);
}

struct Nobody;

impl Observer for Nobody {
    fn started(&self, _: u32) {}
    fn ended(&self) {}
}

/// With an empty input. That the child fails is no error here.
///
/// # Errors
/// If the child cannot be started, or its output not be read.
pub fn run(command: &mut Command) -> io::Result<Run> {
    run_observed(command, &Nobody)
}

pub(crate) fn run_observed(command: &mut Command, observer: &dyn Observer) -> io::Result<Run> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    observer.started(child.id());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let errors = std::thread::spawn(move || read(err));
    let stdout = read(out);
    let stderr = errors.join().unwrap_or_else(|_| Err(io::Error::other("the reader of the child's errors has failed")));
    let (status, usage) = wait(&mut child, observer)?;
    Ok(Run { status, wall: start.elapsed(), usage, stdout: stdout?, stderr: stderr? })
}

fn read(from: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.map_or(Ok(0), |mut from| from.read_to_end(&mut bytes)).map(|_| bytes)
}

#[cfg(unix)]
fn wait(child: &mut Child, observer: &dyn Observer) -> io::Result<(ExitStatus, Option<Usage>)> {
    use std::os::unix::process::ExitStatusExt;
    see(child.id(), libc::WEXITED)?;
    observer.ended();
    let mut status = 0;
    // SAFETY: `rusage` is plain data for which all zeros is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals, and the process is a child of this one that nothing else waits for.
    repeat(|| unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) })?;
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    let usage = Usage { user: time(usage.ru_utime), system: time(usage.ru_stime), max_rss_kib: usage.ru_maxrss };
    Ok((ExitStatus::from_raw(status), Some(usage)))
}

/// Waits until a child of this process is in one of these states, in which others can see it, too: it stays to be waited for.
#[cfg(unix)]
pub(crate) fn see(child: u32, states: libc::c_int) -> io::Result<()> {
    // SAFETY: `siginfo_t` is plain data for which all zeros is valid.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: a pointer to a live local.
    repeat(|| unsafe { libc::waitid(libc::P_PID, child, &mut info, states | libc::WNOWAIT) })
}

/// A call of the system, until no signal has interrupted it.
#[cfg(unix)]
fn repeat(mut call: impl FnMut() -> i32) -> io::Result<()> {
    while call() < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn wait(child: &mut Child, observer: &dyn Observer) -> io::Result<(ExitStatus, Option<Usage>)> {
    let status = child.wait()?;
    observer.ended();
    Ok((status, None))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_told_apart_from_others() {
        let shell = |script: &str| run(Command::new("sh").args(["-c", script])).unwrap();
        let busy = shell("echo out; echo err >&2; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3");
        assert_eq!((busy.status.code(), busy.stdout.as_slice(), busy.stderr.as_slice()), (Some(3), &b"out\n"[..], &b"err\n"[..]));
        let usage = busy.usage.unwrap();
        assert!(usage.user > Duration::ZERO && usage.max_rss_kib > 0, "{usage:?}");
        assert_eq!(shell("kill -9 $$").status.code(), None, "a signal is no exit code");
        assert!(run(&mut Command::new("/no/such/program")).is_err());
    }

    #[test]
    fn much_output_on_both_sides_does_not_block() {
        let script = "i=0; while [ $i -lt 20000 ]; do echo 0123456789; echo 0123456789 >&2; i=$((i+1)); done";
        let run = run(Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!((run.stdout.len(), run.stderr.len()), (220_000, 220_000));
    }
}
