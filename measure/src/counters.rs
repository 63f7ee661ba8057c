//! What the processor counts of a child process: instructions, and misses of the instruction cache, in user mode.
//!
//! A counter is opened on the thread that starts the child, stands still there, is inherited by the child and begins to count when the child executes its program, in all its threads. Virtual machines often have no such counters.

use crate::process::{self, Run};
use std::io;
use std::process::Command;

/// `None`: the processor has no such counter, or the system does not let programs use it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Counts {
    /// Retired instructions.
    pub instructions: Option<f64>,
    /// Reads that missed the first-level instruction cache.
    pub l1i_misses: Option<f64>,
}

/// [`process::run`], counted.
///
/// # Errors
/// As of [`process::run`].
pub fn run(command: &mut Command) -> io::Result<(Run, Counts)> {
    let watch = Watch::open();
    let run = process::run(command)?;
    Ok((run, watch.read()))
}

/// The same with somebody who is told of it.
#[cfg(target_os = "linux")]
pub(crate) fn run_observed(command: &mut Command, observer: &dyn process::Observer) -> io::Result<(Run, Counts)> {
    let watch = Watch::open();
    let run = process::run_observed(command, observer)?;
    Ok((run, watch.read()))
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
struct Watch;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
impl Watch {
    fn open() -> Watch {
        Watch
    }

    fn read(self) -> Counts {
        Counts::default()
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use perf::Watch;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod perf {
    use super::Counts;
    use perf_event_open::config::{Cpu, Inherit, OnExecve, Opts, Priv, Proc, StatFormat};
    use perf_event_open::count::Counter;
    use perf_event_open::event::Event;
    use perf_event_open::event::hw::{Hardware, Op, OpResult, Type};

    pub struct Watch {
        instructions: Option<Counter>,
        l1i_misses: Option<Counter>,
    }

    impl Watch {
        /// For children that this thread starts from now on.
        pub fn open() -> Watch {
            let l1i_misses = Hardware::Cache(Type::L1i, Op::Read, OpResult::Miss);
            Watch { instructions: open(Hardware::Instr), l1i_misses: open(l1i_misses) }
        }

        /// Once they have ended.
        pub fn read(self) -> Counts {
            Counts { instructions: self.instructions.as_ref().and_then(read), l1i_misses: self.l1i_misses.as_ref().and_then(read) }
        }
    }

    pub fn open(event: impl TryInto<Event, Error = std::io::Error>) -> Option<Counter> {
        let opts = Opts {
            exclude: Priv { kernel: true, hv: true, ..Priv::default() },
            inherit: Some(Inherit::NewChild),
            on_execve: Some(OnExecve::Enable),
            stat_format: StatFormat { time_enabled: true, time_running: true, ..StatFormat::default() },
            ..Opts::default()
        };
        Counter::new(event, (Proc::CURRENT, Cpu::ALL), opts).ok()
    }

    /// Scaled up where counters had to take turns.
    pub fn read(counter: &Counter) -> Option<f64> {
        let stat = counter.stat().ok()?;
        let (enabled, running) = (stat.time_enabled?, stat.time_running?);
        (running > 0).then(|| stat.count as f64 * (enabled as f64 / running as f64))
    }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::perf::{open, read};
    use super::*;
    use perf_event_open::event::sw::Software;

    fn busy(loops: u32) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("i=0; while [ $i -lt {loops} ]; do i=$((i+1)); done"));
        command
    }

    /// A software event takes the same way as one of the processor, and most systems have it.
    #[test]
    fn the_child_is_counted_and_not_its_parent() {
        let Some(counter) = open(Software::TaskClock) else { return };
        let mut sum = 0u64;
        for i in 0..50_000_000u64 {
            sum = std::hint::black_box(sum ^ i);
        }
        assert_eq!(read(&counter), None, "nothing counts before a child runs");
        process::run(&mut busy(50_000)).unwrap();
        let nanoseconds = read(&counter).expect("the child was counted");
        assert!(nanoseconds > 1e5, "{nanoseconds}");
    }

    #[test]
    fn longer_work_has_more_instructions_where_they_are_counted() {
        let (few, many) = (run(&mut busy(1_000)).unwrap().1, run(&mut busy(100_000)).unwrap().1);
        assert_eq!(few.instructions.is_some(), many.instructions.is_some());
        if let (Some(few), Some(many)) = (few.instructions, many.instructions) {
            assert!(many > 2.0 * few, "{few} {many}");
        }
    }
}
