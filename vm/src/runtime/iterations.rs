//! A program that is run several times over in one process, so that its start can be told from its steady state: how long each time took.
//!
//! Invariants: an iteration begins with all globals as they are before a program starts and with no thread but the main one; compiled code, the heap with what is still in it, and input and output go on. So a program cannot tell its
//! iterations apart, but by the clock, by its input, which is read once, and by the numbers of its threads.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What one iteration took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Iteration {
    pub wall: Duration,
    /// Time on processors of all the process's threads, in user and in system mode; `None` where the system does not tell.
    pub cpu: Option<Duration>,
}

/// Of one program, in order.
#[derive(Default)]
pub struct Iterations(Mutex<Vec<Iteration>>);

impl Iterations {
    /// Takes the time of what the closure does.
    pub fn time<T>(&self, body: impl FnOnce() -> T) -> T {
        let (start, before) = (Instant::now(), cpu());
        let result = body();
        let cpu = cpu().zip(before).map(|(after, before)| after.saturating_sub(before));
        self.0.lock().unwrap_or_else(|e| e.into_inner()).push(Iteration { wall: start.elapsed(), cpu });
        result
    }

    /// Those that have ended; one in which the program ends itself is not among them.
    pub fn all(&self) -> Vec<Iteration> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}

/// What this process has used.
#[cfg(unix)]
fn cpu() -> Option<Duration> {
    // SAFETY: `rusage` is plain data for which all zeros is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live local.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    (result == 0).then(|| time(usage.ru_utime) + time(usage.ru_stime))
}

#[cfg(not(unix))]
fn cpu() -> Option<Duration> {
    None
}
