//! A program that is run several times over in one process, so that its start can be told from its steady state: how long each time took.
//!
//! Invariants: an iteration begins with all globals as they are before a program starts and with no thread but the main one; compiled code, the heap with what is still in it, and input and output go on. So a program cannot tell its
//! iterations apart, but by the clock, by its input, which is read once, and by the numbers of its threads.

use super::processors;
use measure::clock::monotonic;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What one iteration took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Iteration {
    /// When it began: [`monotonic`].
    pub begun: Option<u64>,
    pub wall: Duration,
    /// Time on processors of all the process's threads, in user and in system mode; `None` where the system does not tell.
    pub cpu: Option<Duration>,
    /// Of that, what the program's main thread has used.
    pub thread: Option<Duration>,
}

/// Of one program, in order.
#[derive(Default)]
pub struct Iterations(Mutex<Vec<Iteration>>);

impl Iterations {
    /// Takes the time of what the closure does, on the program's main thread.
    pub fn time<T>(&self, body: impl FnOnce() -> T) -> T {
        let since = |before: Option<Duration>, now: Option<Duration>| now.zip(before).map(|(now, before)| now.saturating_sub(before));
        let (begun, start) = (monotonic(), Instant::now());
        let (process, thread) = (processors::used(), processors::used_by_thread());
        let result = body();
        // First of what was read last: it is a part of the process's.
        let thread = since(thread, processors::used_by_thread());
        let cpu = since(process, processors::used());
        let wall = start.elapsed();
        self.0.lock().unwrap_or_else(|e| e.into_inner()).push(Iteration { begun, wall, cpu, thread });
        result
    }

    /// Those that have ended; one in which the program ends itself is not among them.
    pub fn all(&self) -> Vec<Iteration> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}
