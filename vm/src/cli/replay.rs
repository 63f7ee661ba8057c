//! `vm replay TRACE`: a recorded run under any profiler, and what the profile is worth.
//!
//! In: a trace, read block by block, so that memory does not grow with the run, but for stretches without time stamps ([`Timeline`]). Out: a report on stdout, a profile as a file.
//! A damaged trace gives the profile of its good part, and the damage as an error.

use super::args::{ClockArg, CompareArg, ReplayArgs};
use super::notes;
use super::profiles::check_output;
use super::progress::Progress;
use super::sampling::ModeArg;
use super::text;
use profiler::clock::{Clock, Rate};
use profiler::collect::{self, Collector, StructureKind, Weights};
use profiler::export;
use profiler::ids::ThreadId;
use profiler::profile::{Meta, Profile};
use profiler::replay::{Options, Replay, Summary, Time};
use profiler::report::Report;
use profiler::samplers::Parameters;
use profiler::trace::{Limits, Step, Timeline, TraceError, TraceReader};
use profiler::tuning::CONTEXT_NODES;
use std::fs::File;
use std::path::Path;

/// Time passes as in compiled code that makes so many calls a second.
const CALLS_A_SECOND: u64 = 100_000_000;
/// The rate of clocks that do not know their own.
const STEPS_A_SECOND: u64 = 1_000_000_000;
/// Cycles of a call with its return, where time is counted in calls.
const CYCLES_A_CALL: u64 = 10;

pub fn run(args: &ReplayArgs) -> u8 {
    match replay(args) {
        Ok(code) => code,
        Err(message) => text::fail(&message),
    }
}

fn replay(args: &ReplayArgs) -> Result<u8, String> {
    let mode = args.sampling.profile.unwrap_or(ModeArg::Exhaustive);
    if mode == ModeArg::Off {
        return Err("vm replay needs a --profile other than off".into());
    }
    let preset = if mode == ModeArg::Estimator { args.sampling.estimator(mode.preset()) } else { mode.preset() };
    let parameters = args.sampling.parameters(preset)?;
    let kind = args.sampling.kind()?;
    args.output.as_deref().map_or(Ok(()), |output| check_output(output, kind))?;
    text::check_apart([("TRACE", Some(&*args.trace)), ("--output", args.output.as_deref())])?;
    let mut source = Source::open(&args.trace)?;
    let options = source.options(parameters, args)?;
    let collected = collect::Options { kind, weights: Weights::of(&parameters.mode), max_nodes: args.sampling.max_nodes() };
    let mut runs = vec![Run::new(options, collected)?];
    if args.compare == Some(CompareArg::Exhaustive) {
        let exact = Options { parameters: Parameters::exhaustive(), ..options };
        runs.push(Run::new(exact, collect::Options { weights: Weights::Exact, max_nodes: CONTEXT_NODES, ..collected })?);
    }
    let damage = source.stream(&mut runs, args.json)?;
    let mut runs = runs.into_iter().map(|run| run.finish(&source));
    let Some(measured) = runs.next().transpose()? else { return Ok(super::FAILURE) };
    let exact = runs.next().transpose()?;

    let mut report = Report::new(&measured.profile, &measured.summary.counters, &measured.collected, args.top);
    (report.nanoseconds, report.cost) = (measured.summary.nanoseconds, Some(100.0 * measured.summary.share()));
    report.notes = told(&measured, &options, kind, source.reader.lost());
    if let Some(exact) = exact {
        notes::compare(&mut report, &measured.profile, &exact.profile)?;
    }
    report.damage = damage.as_ref().map(TraceError::to_string);
    let printed = if args.json { text::print(&(report.to_json() + "\n")) } else { text::print(&report.to_string()) };
    let code = damage.map_or(printed, |damage| complain(&args.trace, &damage));
    if let Some(output) = &args.output {
        export::write(&measured.profile, output).map_err(|error| error.to_string())?;
    }
    Ok(code)
}

/// The exact profile of a trace with a CCT, and what is wrong with the trace. `quiet`: without a progress bar.
pub fn exact(path: &Path, quiet: bool) -> Result<(Profile, Option<TraceError>), String> {
    let mut source = Source::open(path)?;
    let clock = source.clock(None)?;
    let options = Options { time: Time::Stamps, clock, ..Options::new(Parameters::exhaustive(), 0) };
    let collected = collect::Options { kind: StructureKind::Cct, weights: Weights::Exact, max_nodes: CONTEXT_NODES };
    let run = Run::new(options, collected)?;
    let mut runs = [run];
    let damage = source.stream(&mut runs, quiet)?;
    if source.reader.lost() > 0 {
        text::complain(&format!("warning: {}: {}: counts are too low\n", path.display(), lost_events(source.reader.lost())));
    }
    let [run] = runs;
    Ok((run.finish(&source)?.profile, damage))
}

/// Tells that only a part of a trace was used. Gives the exit code.
pub fn complain(path: &Path, damage: &TraceError) -> u8 {
    text::fail(format!("{}: {damage}\nhint: what stands before was used", path.display()))
}

/// What a reader of the report has to know.
fn told(measured: &Measured, options: &Options, kind: StructureKind, lost: u64) -> Vec<String> {
    let Measured { profile, summary: Summary { counters, nanoseconds, threads, .. }, .. } = measured;
    let hint = match options.time {
        Time::Stamps if options.parameters.has_timer() => {
            "take a shorter --interval, a lower --rate, or --clock calls if the trace has no time stamps"
        }
        Time::PerCall(_) if options.parameters.has_timer() => "take a shorter --interval, or a lower --rate",
        Time::Stamps | Time::PerCall(_) => "take a shorter --interval",
    };
    let found = [
        notes::no_sample(counters, *nanoseconds, hint),
        notes::unsampled(counters, profile.dcg_total()),
        notes::shorter(profile, kind),
        notes::waiting(options, *threads),
        (lost > 0).then(|| lost_events(lost)),
    ];
    found.into_iter().flatten().collect()
}

fn lost_events(lost: u64) -> String {
    format!("{} {} lost when the trace was recorded", text::counted(lost, "event"), if lost == 1 { "was" } else { "were" })
}

/// A trace being read.
struct Source<'a> {
    path: &'a Path,
    bytes: u64,
    reader: TraceReader<File>,
}

impl<'a> Source<'a> {
    fn open(path: &'a Path) -> Result<Source<'a>, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = File::open(path).map_err(|error| failed(&format!("cannot be read: {error}")))?;
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        let reader = TraceReader::new(file, Limits::default()).map_err(|error| failed(&error))?;
        Ok(Source { path, bytes, reader })
    }

    /// The trace's, with a rate: the one that was asked for, its own, or a guess.
    fn clock(&self, rate: Option<u64>) -> Result<Clock, String> {
        clock_of(rate.unwrap_or_else(|| self.reader.clock().rate().map_or(STEPS_A_SECOND, Rate::per_second)), 1)
    }

    fn options(&self, parameters: Parameters, args: &ReplayArgs) -> Result<Options, String> {
        let (time, clock) = match args.clock {
            ClockArg::Stamps => (Time::Stamps, self.clock(args.rate)?),
            ClockArg::Calls => (Time::PerCall(CYCLES_A_CALL), clock_of(args.rate.unwrap_or(CALLS_A_SECOND), CYCLES_A_CALL)?),
        };
        Ok(Options { time, clock, ..Options::new(parameters, args.sampling.seed()) })
    }

    /// Runs the whole file, or its good part, and says what is wrong with it.
    fn stream(&mut self, runs: &mut [Run], quiet: bool) -> Result<Option<TraceError>, String> {
        let progress = Progress::new(self.bytes, quiet);
        let needs_time = runs.iter().any(|run| run.options.time == Time::Stamps);
        let mut timeline = if needs_time { Timeline::default() } else { Timeline::with_limit(0) };
        let damage = loop {
            match self.reader.next_block() {
                Ok(Some(block)) => {
                    runs.iter_mut().try_for_each(|run| run.collector.learn(block.program)).map_err(|error| error.to_string())?;
                    timeline.block(&block, &mut |thread, step| runs.iter_mut().for_each(|run| run.step(thread, step)));
                }
                Ok(None) => break None,
                Err(damage) => break Some(damage),
            }
            progress.at(self.reader.offset());
        };
        timeline.finish(&self.reader, &mut |thread, step| runs.iter_mut().for_each(|run| run.step(thread, step)));
        Ok(damage)
    }

    /// As profiles tell a replay's time: what stamps count is known, how fast they are taken to pass is not.
    fn profile_clock(&self, options: &Options, summary: &Summary) -> (Clock, u64) {
        match options.time {
            Time::PerCall(_) => (Clock::Steps, summary.counters.calls),
            Time::Stamps => (self.reader.clock(), summary.cycles),
        }
    }
}

/// A clock of so many units a second, each of so many cycles.
fn clock_of(rate: u64, cycles: u64) -> Result<Clock, String> {
    let clock = rate.checked_mul(cycles).map(Clock::cycles).filter(|clock| clock.rate().is_some());
    clock.ok_or_else(|| format!("--rate {rate} is not between 1 and {} a second", Rate::FASTEST / cycles))
}

/// A replay that fills a collector.
struct Run {
    options: Options,
    replay: Replay,
    collector: Collector,
}

/// What is left of it.
struct Measured {
    profile: Profile,
    summary: Summary,
    collected: collect::Collected,
}

impl Run {
    fn new(options: Options, collected: collect::Options) -> Result<Run, String> {
        let replay = Replay::new(options).map_err(|error| error.to_string())?;
        let collector = Collector::new(collected).map_err(|error| error.to_string())?;
        Ok(Run { options, replay, collector })
    }

    fn step(&mut self, thread: ThreadId, step: Step) {
        let mut sink = |sample: &_| self.collector.add(sample);
        match step {
            Step::Start(stamp) => self.replay.start(thread, stamp, &mut sink),
            Step::Event(event, stamp) => self.replay.event(thread, event, stamp, &mut sink),
            Step::End(stamp) => {
                self.replay.end(thread, stamp, &mut sink);
                self.collector.end(thread);
            }
        }
    }

    fn finish(mut self, source: &Source<'_>) -> Result<Measured, String> {
        let summary = self.replay.finish(&mut |sample| self.collector.add(sample));
        let name = source.path.file_stem().unwrap_or_default().to_string_lossy();
        let (clock, duration) = source.profile_clock(&self.options, &summary);
        let described = collect::describe(&self.options.parameters, self.options.seed, &summary.counters);
        let meta = Meta { program: name.into(), clock, duration, ..described };
        let program = source.reader.program().clone();
        let calls = summary.counters.counted_calls();
        let (profile, collected) = self.collector.finish(meta, program, calls).map_err(|error| error.to_string())?;
        Ok(Measured { profile, summary, collected })
    }
}
