//! Single runs: `vm run` as a child process, and what it took.
//!
//! In: a program and a value. Out: [`Sample`] of a timed run, [`Counted`] of one in which calls are counted; a profile for the policies that ask one. A run that does not end with 0 is an error that shows the command.

use super::options::Setup;
use super::programs::Program;
use crate::cli::run_stats::{IterationStats, RunStats};
use crate::cli::temporary::{self, Temporary};
use crate::cli::text;
use crate::runtime::interrupt::{self, Signal};
use measure::clock::Slices;
use measure::counters::{self, Counts};
use measure::process::{self, Run};
#[cfg(target_os = "linux")]
use measure::slices::{self, InTurn};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// In seconds, above 0; `None` where the system does not tell, or its clock did not advance.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Times {
    /// Without the turns of others.
    pub wall: Option<f64>,
    pub cpu: Option<f64>,
}

/// A timed run.
#[derive(Clone, Default, Debug)]
pub struct Sample {
    pub process: Times,
    pub iterations: Vec<Times>,
    pub counts: Counts,
    /// Seconds in the optimizer and the code generator, by the clock on the wall; `None` where others had their turns meanwhile.
    pub compile: Option<f64>,
    /// Bytes of what was in use at the end; `None` where nothing became machine code.
    pub code: Option<f64>,
    /// What the optimizer made of it.
    pub optimized: Option<f64>,
    /// Calls that the optimizer inlined; `None` where there is no optimizer.
    pub inlined: Option<f64>,
}

/// A run that is not timed.
pub struct Counted {
    /// Calls that were made, all iterations together.
    pub calls: Option<u64>,
}

/// Arguments under which all calls are counted and next to none is looked at.
const COUNTING: [&str; 3] = ["--profile=estimator", "--interval=1000000000", "--structure=dcg"];

/// Arguments of a run that is profiled for the policies.
const PROFILED: [&str; 2] = ["--tier=baseline", "--profile=adaptive"];

pub struct Runner<'a> {
    setup: &'a Setup,
    vm: PathBuf,
    /// Where children write.
    folder: Temporary,
    /// Of the program, once it was made.
    profile: Option<PathBuf>,
    /// What runs have warned of and was told.
    warnings: RefCell<BTreeSet<String>>,
}

impl<'a> Runner<'a> {
    pub fn new(setup: &'a Setup) -> Result<Runner<'a>, String> {
        let vm = std::env::current_exe().map_err(|e| format!("cannot find the program file of this vm: {e}"))?;
        Ok(Runner { setup, vm, folder: Temporary::new("bench")?, profile: None, warnings: RefCell::default() })
    }

    /// Makes the profile that later runs of this program decide by, in a run of its own that is not timed. Gives what it printed; `None` if nobody asks a profile.
    pub fn make_profile(&mut self, program: &Program) -> Result<Option<Vec<u8>>, String> {
        let Setup { comparison, memory, .. } = self.setup;
        if !(0..comparison.values.len()).any(|value| self.setup.asks_profile(value)) {
            return Ok(None);
        }
        let profile = self.folder.file("profile.json");
        let flags = [&PROFILED.map(str::to_owned)[..], &memory[..], &[format!("--profile-out={}", profile.display())]].concat();
        let mut command = Command::new(&self.vm);
        command.arg("run").args(&flags).arg("--repeat").arg(self.setup.iterations.to_string());
        command.arg(&program.file).arg("--").args(&program.args);
        let run = process::run(&mut command).map_err(|e| self.cannot_start(&e))?;
        let words = self.words(program, &flags);
        check(&run, &format!("{} with a profiler", program.name), &format!("hint: the run was {words}"))?;
        self.profile = Some(profile);
        Ok(Some(run.stdout))
    }

    /// What it printed, and what it took.
    pub fn timed(&self, program: &Program, value: usize) -> Result<(Vec<u8>, Sample), String> {
        let (run, counts) = counters::run(&mut self.command(program, value, &self.flags(value))).map_err(|e| self.cannot_start(&e))?;
        self.sample(program, value, run, counts, None)
    }

    /// The same for some values, which take turns of this length.
    #[cfg(target_os = "linux")]
    pub fn timed_in_turns(&self, program: &Program, values: &[usize], slice: Duration) -> Result<Vec<(Vec<u8>, Sample)>, String> {
        let mut commands: Vec<Command> = values.iter().map(|&value| self.command(program, value, &self.flags(value))).collect();
        let runs = slices::run(&mut commands, slice).map_err(|e| self.cannot_start(&e))?;
        let sample = |(&value, InTurn { run, counts, slices }): (&usize, InTurn)| self.sample(program, value, run, counts, Some(slices));
        values.iter().zip(runs).map(sample).collect()
    }

    /// `own`: where it was not stopped.
    fn sample(&self, program: &Program, value: usize, run: Run, counts: Counts, own: Option<Slices>) -> Result<(Vec<u8>, Sample), String> {
        let stats = self.finish(program, value, &self.flags(value), &run)?;
        let cpu = run.usage.and_then(|usage| measured(usage.user + usage.system));
        let iteration = |i: &IterationStats| {
            let own = own.as_ref().zip(i.begun_ns).map(|(own, begun)| own.within(begun..begun + i.wall_ns));
            Times {
                wall: measured(own.unwrap_or(Duration::from_nanos(i.wall_ns))),
                cpu: i.cpu_ns.map(Duration::from_nanos).and_then(measured),
            }
        };
        let sample = Sample {
            process: Times { wall: measured(own.as_ref().map_or(run.wall, Slices::total)), cpu },
            iterations: stats.iterations.iter().map(iteration).collect(),
            counts,
            compile: own.is_none().then(|| Duration::from_nanos(stats.compile_ns()).as_secs_f64()),
            code: stats.code.as_ref().map(|code| code.code_bytes.saturating_sub(code.retired_bytes) as f64),
            optimized: stats.code.as_ref().and_then(|code| code.optimized_bytes).map(|bytes| bytes as f64),
            inlined: stats.optimizer.as_ref().map(|optimizer| optimizer.inlined as f64),
        };
        Ok((run.stdout, sample))
    }

    /// What it printed, and what it called. `None` where code is compiled by what it does: counted, it would become other code.
    pub fn counted(&self, program: &Program, value: usize) -> Result<Option<(Vec<u8>, Counted)>, String> {
        if self.setup.tier(value).adapts() {
            return Ok(None);
        }
        // A profiler counts inlined calls only if it is asked to, so these are calls that the machine makes.
        let mut flags = self.flags(value);
        flags.retain(|flag| !flag.starts_with("--profile="));
        flags.extend(COUNTING.map(str::to_owned));
        let run = process::run(&mut self.command(program, value, &flags)).map_err(|e| self.cannot_start(&e))?;
        let stats = self.finish(program, value, &flags, &run)?;
        Ok(Some((run.stdout, Counted { calls: stats.calls })))
    }

    fn flags(&self, value: usize) -> Vec<String> {
        let comparison = &self.setup.comparison;
        let mut flags = self.setup.flags.clone();
        flags.push(comparison.axis.argument(&comparison.values[value]));
        let profile = self.profile.iter().filter(|_| self.setup.asks_profile(value));
        flags.extend(profile.map(|profile| format!("--profile-in={}", profile.display())));
        flags
    }

    fn command(&self, program: &Program, value: usize, flags: &[String]) -> Command {
        let mut command = Command::new(&self.vm);
        command.arg("run").args(flags).arg("--repeat").arg(self.setup.iterations.to_string());
        command.arg("--stats-out").arg(self.stats(value)).arg(&program.file).arg("--").args(&program.args);
        command
    }

    fn stats(&self, value: usize) -> PathBuf {
        self.folder.file(&format!("stats-{value}.json"))
    }

    fn cannot_start(&self, error: &std::io::Error) -> String {
        format!("cannot run {}: {error}", self.vm.display())
    }

    fn repeat(&self) -> String {
        match self.setup.iterations.get() {
            1 => String::new(),
            times => format!(" --repeat {times}"),
        }
    }

    /// The command line of a run.
    fn words(&self, program: &Program, flags: &[String]) -> String {
        let repeat = self.repeat();
        let dashes = if program.args.is_empty() { "" } else { " -- " };
        format!("vm run {}{repeat} {}{dashes}{}", flags.join(" "), program.file.display(), program.args.join(" "))
    }

    fn finish(&self, program: &Program, value: usize, flags: &[String], run: &Run) -> Result<RunStats, String> {
        let comparison = &self.setup.comparison;
        let under = format!("{} with {}={}", program.name, comparison.axis.name(), comparison.values[value]);
        let profiled = if self.setup.asks_profile(value) {
            format!("; the profile is of vm run {}{}", PROFILED.join(" "), self.repeat())
        } else {
            String::new()
        };
        let hint = format!("hint: the run was {}{profiled}", self.words(program, flags));
        check(run, &under, &hint)?;
        self.tell_warnings(&under, run);
        let stats = RunStats::read(&self.stats(value))?;
        let (done, asked) = (stats.iterations.len(), self.setup.iterations.get() as usize);
        // One that calls exit() has done its work once.
        if done < asked && asked > 1 {
            return Err(format!(
                "{under} ends in iteration {} of {asked}: --iterations goes with programs that return from main\n{hint}",
                done + 1
            ));
        }
        Ok(stats)
    }

    /// Each once: of a plan that fits no more the numbers say little.
    fn tell_warnings(&self, under: &str, run: &Run) {
        let errors = String::from_utf8_lossy(&run.stderr);
        for warning in errors.lines().filter(|line| line.starts_with("warning: ")) {
            let told = format!("{under}: {warning}\n");
            if !self.warnings.borrow().contains(&told) {
                text::complain(&told);
                self.warnings.borrow_mut().insert(told);
            }
        }
    }
}

/// In seconds. A clock that did not advance has measured nothing: of 0 there is no ratio.
fn measured(time: Duration) -> Option<f64> {
    (!time.is_zero()).then_some(time.as_secs_f64())
}

/// Shows what a run says that did not end with 0.
fn check(run: &Run, under: &str, hint: &str) -> Result<(), String> {
    if run.status.success() {
        return Ok(());
    }
    if was_interrupted(run) {
        // Whoever has interrupted it means this process, too.
        temporary::end(Signal::Interrupt);
    }
    let errors = String::from_utf8_lossy(&run.stderr);
    Err(format!("{under} fails ({}):\n{}\n{hint}", run.status, first_lines(&errors)))
}

/// By SIGINT, before it could say so or after.
fn was_interrupted(run: &Run) -> bool {
    #[cfg(unix)]
    if std::os::unix::process::ExitStatusExt::signal(&run.status) == Some(libc::SIGINT) {
        return true;
    }
    run.status.code() == Some(interrupt::CODE.into()) && run.stderr.ends_with(b"interrupted\n")
}

/// A report of an error begins with what it is, and may have a long trace.
fn first_lines(text: &str) -> String {
    const MOST: usize = 12;
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let mark = if lines.len() > MOST { "\n  …" } else { "" };
    lines.iter().take(MOST).map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n") + mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_stood_still_has_measured_nothing() {
        assert_eq!([0, 1, 2_000_000_000].map(|nanos| measured(Duration::from_nanos(nanos))), [None, Some(1e-9), Some(2.0)]);
    }
}
