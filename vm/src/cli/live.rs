//! Profiles of running programs: `--profile` of `vm run`, and `vm profile`.
//!
//! In: arguments, a program, its engine. Out: a [`Profile`] and what it took. Invariant: the program's output and exit code are those of an unprofiled run, whatever becomes of the profile.

use super::args::TierArg;
use super::notes;
use super::profiles::check_output;
use super::run::Tier;
use super::sampling::{ModeArg, SamplingArgs, TriggerArg, parse_length};
use super::text::counted;
#[cfg(feature = "native")]
use crate::runtime::profiling::Stacks;
use crate::runtime::profiling::{Counting as When, Ledger, ProfileOptions, Profiler, Reader, Time};
use clap::{Args, ValueEnum};
use profiler::clock::Clock;
use profiler::collect::{StructureKind, describe};
use profiler::export;
#[cfg(feature = "native")]
use profiler::oracle::Kind;
use profiler::profile::{Meta, Profile, Staleness};
use profiler::program::Program;
use profiler::report::{Inlined, Report};
use profiler::samplers::{Length, Parameters};
use profiler::tuning;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Contexts of a profile that is for the compiler alone: those of a second, of which it looks for the hot ones.
#[cfg(feature = "native")]
const GUIDING_NODES: u32 = 1 << 13;

#[derive(Args, Clone, Debug)]
pub struct LiveArgs {
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Also count the calls that the optimizer has replaced by the code they go to; with --tier opt, and with --tier adaptive, where windows count them in any case
    #[arg(long)]
    pub profile_inlined: bool,
    /// What ticks come from
    #[arg(long, value_enum, default_value_t)]
    pub clock: ClockArg,
    /// Which calls are counted, for the estimator; adaptive profiling of compiled code counts in windows
    #[arg(long, value_enum, value_name = "WHEN")]
    pub counting: Option<CountingArg>,
    /// Profile and rest in turns of so long each, such as 200ms, and say so on stderr: what iterations take longer in turns of the one kind is what the profile costs. Where calls are counted in windows
    #[arg(long, value_name = "TIME", value_parser = parse_turn)]
    pub rest: Option<Duration>,
    /// Write the profile; the extension says the format: .json, .folded, .svg, .pb.gz, .speedscope.json, .firefox.json, .xml or .dot
    #[arg(long, value_name = "OUT")]
    pub profile_out: Option<PathBuf>,
    /// An earlier profile, as .json or .folded, for --inline, with --tier adaptive until there is enough of the run's own; warns where the program has changed since. vm profile also prints how the new profile differs from it
    #[arg(long, value_name = "FILE")]
    pub profile_in: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, ValueEnum)]
pub enum ClockArg {
    /// The time that passes
    #[default]
    Real,
    /// The calls that a thread makes, 100 million a second: a program with one thread has the same profile in each run, but with --tier adaptive, where it depends on when calls are inlined
    Calls,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CountingArg {
    /// All of them
    Always,
    /// Those in short windows of time, where there are so many that counting all would be felt
    Windows,
}

/// What code has to do for a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    Off,
    /// Each call is counted.
    Calls,
    /// Those that were inlined, too.
    Inlined,
    /// All of these, by code for which threads leave other code some of the time.
    InWindows,
    /// Each call is counted by code that inlines nothing, for which threads leave optimized code some of the time.
    Beside,
}

impl LiveArgs {
    pub fn mode(&self) -> Option<ModeArg> {
        self.sampling.profile.filter(|&mode| mode != ModeArg::Off)
    }

    /// An argument that was given and is about a profile to be made.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--profile-inlined", self.profile_inlined),
            ("--profile-out", self.profile_out.is_some()),
            ("--counting", self.counting.is_some()),
            ("--rest", self.rest.is_some()),
            ("--clock", self.clock == ClockArg::Calls),
        ];
        self.sampling.given().or(given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag)))
    }

    /// What can be seen now of what would go wrong when the program is through.
    pub fn check_output(&self) -> Result<(), String> {
        let kind = self.sampling.kind()?;
        self.profile_out.as_deref().map_or(Ok(()), |path| check_output(path, kind))
    }

    /// What the program's code has to do. Errors say what to change.
    pub fn counting(&self, tier: TierArg) -> Result<Counting, String> {
        self.check_output()?;
        let Some(mode) = self.mode() else {
            let stray = self.given();
            return stray.map_or(Ok(Counting::Off), |flag| Err(format!("{flag} goes with --profile MODE, such as --profile adaptive")));
        };
        self.parameters(mode, tier)?;
        match (self.profile_inlined, tier.inlines()) {
            _ if tier.adapts() && self.when(mode, tier)? == When::Windows => Ok(Counting::InWindows),
            (false, _) => Ok(Counting::Calls),
            (true, true) => Ok(Counting::Inlined),
            (true, false) => Err("--profile-inlined goes with --tier opt and --tier adaptive: no other tier inlines".into()),
        }
    }

    /// The earlier profile. `warn`: where it does not fit the program.
    pub fn earlier(&self, program: impl FnOnce() -> Program, warn: bool) -> Result<Option<Profile>, String> {
        self.profile_in.as_ref().map(|path| earlier(path, program, warn)).transpose()
    }

    /// The same structure and program, compiled by the same earlier profile, but each call counted, and with room for its contexts.
    pub fn exhaustive(&self) -> LiveArgs {
        let SamplingArgs { structure, k, .. } = self.sampling;
        let sampling = SamplingArgs { profile: Some(ModeArg::Exhaustive), structure, k, ..SamplingArgs::default() };
        LiveArgs { sampling, counting: None, rest: None, profile_out: None, ..self.clone() }
    }

    /// Who takes the samples; `None` without a mode.
    pub fn profiler(&self, tier: TierArg, program: impl FnOnce() -> Program) -> Result<Option<Arc<Profiler>>, String> {
        let Some(mode) = self.mode() else { return Ok(None) };
        let options = ProfileOptions {
            parameters: self.parameters(mode, tier)?,
            structure: self.sampling.kind()?,
            max_nodes: self.sampling.max_nodes(),
            time: match self.clock {
                ClockArg::Real => Time::Real,
                ClockArg::Calls => Time::Calls,
            },
            counting: self.when(mode, tier)?,
            longest_burst: self.longest_burst(mode, tier)?,
            rest: self.rest,
            seed: self.sampling.seed(),
            reader: Reader::Document,
        };
        Profiler::new(options, program()).map(|profiler| Some(Arc::new(profiler))).map_err(|error| error.to_string())
    }

    /// Who takes samples for the compiler alone.
    #[cfg(feature = "native")]
    pub fn guiding(&self, kind: Kind, program: Program) -> Result<Arc<Profiler>, String> {
        let options = ProfileOptions {
            parameters: Parameters::beside_estimator(),
            structure: if kind == Kind::Context { StructureKind::Cct } else { StructureKind::Dcg },
            max_nodes: GUIDING_NODES,
            time: Time::Real,
            counting: When::Beside,
            longest_burst: None,
            rest: None,
            seed: self.sampling.seed(),
            reader: Reader::Compiler,
        };
        Profiler::new(options, program).map(Arc::new).map_err(|error| error.to_string())
    }

    /// When calls are counted.
    fn when(&self, mode: ModeArg, tier: TierArg) -> Result<When, String> {
        let goes = matches!(mode, ModeArg::Adaptive | ModeArg::Estimator)
            && !self.asks_for_source()
            && matches!(self.sampling.trigger, None | Some(TriggerArg::Calls))
            && !matches!(self.sampling.interval, Some(Length::Time(_)));
        let can = self.clock == ClockArg::Real && tier.has_machine_code() && (!self.profile_inlined || tier.adapts());
        let when = match self.counting {
            Some(_) if !goes => Err("--counting goes with --profile adaptive and --profile estimator, triggered by calls".to_string()),
            Some(CountingArg::Windows) if !can => {
                Err("--counting windows goes with --clock real, not with --tier interp, and with --profile-inlined only where that is --tier adaptive".to_string())
            }
            Some(CountingArg::Windows) => Ok(When::Windows),
            None if goes && can && mode == ModeArg::Adaptive => Ok(When::Windows),
            Some(CountingArg::Always) | None => Ok(When::Always),
        }?;
        match self.rest {
            Some(_) if when == When::Always => Err("--rest goes with calls that are counted in windows, as with --profile adaptive".into()),
            _ => Ok(when),
        }
    }

    /// Up to which bursts may grow: not those whose length was asked for.
    fn longest_burst(&self, mode: ModeArg, tier: TierArg) -> Result<Option<u32>, String> {
        let has_contexts = self.sampling.kind()? != StructureKind::Dcg;
        let may_grow = self.when(mode, tier)? == When::Windows && self.sampling.burst.is_none() && has_contexts;
        Ok(may_grow.then_some(tuning::WINDOW_LONGEST))
    }

    fn asks_for_source(&self) -> bool {
        self.sampling.reenable.is_some() || self.sampling.history.is_some()
    }

    /// The mode with its numbers. Adaptive profiling is our own estimator, unless the arguments ask for the one of PLDI'06.
    fn parameters(&self, mode: ModeArg, tier: TierArg) -> Result<Parameters, String> {
        let estimator = match self.when(mode, tier)? {
            When::Always => Parameters::estimator(),
            When::Windows => Parameters::windowed_estimator(),
            When::Beside => Parameters::beside_estimator(),
        };
        let preset = match mode {
            ModeArg::Adaptive if !self.asks_for_source() => self.sampling.estimator(estimator),
            ModeArg::Estimator => self.sampling.estimator(estimator),
            _ => mode.preset(),
        };
        self.sampling.parameters(preset)
    }
}

/// A time in which something can happen.
fn parse_turn(text: &str) -> Result<Duration, String> {
    match parse_length(text)? {
        Length::Time(time) if time >= Duration::from_millis(1) => Ok(time),
        _ => Err("a time of 1ms or more is needed".into()),
    }
}

/// An earlier profile of a program. `warn`: where it does not fit.
pub fn earlier(path: &Path, program: impl FnOnce() -> Program, warn: bool) -> Result<Profile, String> {
    let earlier = export::read(path).map_err(|error| error.to_string())?;
    let stale = if warn { staleness(path, &earlier, &program()) } else { None };
    if let Some(stale) = stale {
        super::text::complain(&format!("warning: {stale}\n"));
    }
    Ok(earlier)
}

/// Where an earlier profile does not fit the program.
pub fn staleness(path: &Path, earlier: &Profile, program: &Program) -> Option<String> {
    let stale = Staleness::new(earlier, program);
    (!stale.is_empty()).then(|| format!("{} is stale: {stale}", path.display()))
}

/// A profile, and what it took.
pub struct Profiled {
    pub profile: Profile,
    /// With so many of the hottest edges and contexts.
    pub report: Report,
}

/// Edges and contexts in a report that nobody asked for more of.
pub const TOP: usize = 10;

/// A run that is being profiled.
pub struct Session {
    profiler: Arc<Profiler>,
    organizer: Option<JoinHandle<()>>,
}

impl Session {
    /// Before the program starts.
    pub fn start(profiler: &Arc<Profiler>, tier: &Tier) -> Result<Session, String> {
        let organizer = match tier {
            Tier::Interp(_) => None,
            #[cfg(feature = "native")]
            Tier::Native(engine) => {
                let started = crate::runtime::profiling::start_organizer(profiler, engine);
                Some(started.map_err(|error| format!("cannot start the profiler's thread: {error}"))?)
            }
        };
        Ok(Session { profiler: profiler.clone(), organizer })
    }

    /// After its end.
    pub fn finish(mut self, name: &Path, tier: TierArg, counting: Counting, top: usize) -> Result<Profiled, String> {
        let elapsed = self.profiler.elapsed();
        if self.organizer.take().is_some_and(|organizer| organizer.join().is_err()) {
            return Err("the profiler's thread has failed; this is a bug".into());
        }
        let counters = self.profiler.counters();
        let options = self.profiler.options();
        let ledger = self.profiler.ledger();
        let described = describe(&options.parameters, options.seed, &counters);
        let mut parameters = described.parameters;
        parameters.extend(options.longest_burst.map(|calls| ("longest burst".into(), counted(calls.into(), "call").into())));
        parameters.push(("tier".into(), tier.name().into()));
        let (clock, duration) = match options.time {
            Time::Real => (Clock::Nanoseconds, u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)),
            Time::Calls => (Clock::Steps, counters.calls),
        };
        let program = name.file_stem().unwrap_or_default().to_string_lossy().into();
        let meta = Meta { program, parameters, clock, duration, ..described };
        let calls = counters.counted_calls();
        let (profile, collected) = ledger.collector.finish(meta, ledger.program.clone(), calls).map_err(|error| error.to_string())?;
        let mut report = Report::new(&profile, &counters, &collected, top);
        report.nanoseconds = elapsed.as_nanos() as f64;
        // The interpreter tells a replay of each event, which nobody takes the time of.
        if tier.has_machine_code() {
            report.slow_paths = Some(self.profiler.spent().as_nanos() as f64);
        }
        report.organizer = (!ledger.organizer.is_zero()).then_some(ledger.organizer.as_nanos() as f64);
        report.inlined = inlined(&ledger, tier, counting);
        report.notes = self.notes(&ledger, tier, counting);
        report.notes.extend(notes::no_sample(&counters, report.nanoseconds, self.hint()));
        report.notes.extend(notes::unsampled(&counters, profile.dcg_total()));
        report.notes.extend(notes::shorter(&profile, options.structure));
        Ok(Profiled { profile, report })
    }

    /// How there would be samples.
    fn hint(&self) -> &'static str {
        let options = self.profiler.options();
        match (options.time, options.counting) {
            (Time::Real, When::Always) if options.parameters.has_timer() => "take a shorter --interval, or --clock calls",
            (_, When::Always) => "take a shorter --interval",
            (_, When::Windows | When::Beside) => "take a shorter --interval, or --counting always",
        }
    }

    fn notes(&self, ledger: &Ledger, tier: TierArg, counting: Counting) -> Vec<String> {
        let mut notes = Vec::new();
        if self.profiler.options().time == Time::Real && self.profiler.has_timer() {
            notes.push(format!("cycles are those of {}", self.profiler.cycle_source()));
        }
        let counters = self.profiler.counters();
        if counters.windows > 0 && counters.calls_counted < counters.calls {
            let share = 100.0 * counters.calls_counted as f64 / counters.calls as f64;
            let windows = if counters.windows == 1 { "a window".into() } else { format!("{} windows", counters.windows) };
            notes.push(format!(
                "calls were counted in {windows} of time, {share:.2} % of them; how many there were besides follows from the time"
            ));
            if counting != Counting::Beside {
                let corrected = 100.0 * counters.calls_corrected as f64 / counters.calls as f64;
                notes.push(format!(
                    "counting slows windows down: {corrected:.1} % of the calls make up for that by what it takes on average, and as many more or fewer may be right for this program; errors of calls have that in them, those of shares do not, since it scales all calls of a phase alike"
                ));
            }
        }
        if let Some(source) = self.profiler.call_source() {
            notes.push(format!("call densities come from {source}"));
        }
        if ledger.lost > 0 {
            notes.push(format!("{} recorded calls came from frames that nothing is known of, and are left out", ledger.lost));
        }
        match counting {
            Counting::Calls if tier.inlines() => notes.push(
                "calls that the optimizer inlined are not counted; --profile-inlined counts them, vm profile --check tells their share"
                    .into(),
            ),
            Counting::InWindows => {
                notes.push("inlined calls are counted, too: in windows running loops go over to code that counts them".into())
            }
            Counting::Off | Counting::Calls | Counting::Inlined | Counting::Beside => {}
        }
        notes
    }
}

/// What can be seen of calls that are not counted since they were inlined, where that is so.
#[cfg(feature = "native")]
fn inlined(ledger: &Ledger, tier: TierArg, counting: Counting) -> Option<Inlined> {
    let Stacks { calls, frames, inlined } = ledger.stacks;
    let is_asked = tier.inlines() && counting == Counting::Calls && frames > 0;
    is_asked.then(|| Inlined { share: 100.0 * inlined as f64 / frames as f64, frames, calls })
}

#[cfg(not(feature = "native"))]
fn inlined(_: &Ledger, _: TierArg, _: Counting) -> Option<Inlined> {
    None
}

/// Writes the profile. Gives the exit code: the program's own if that says something.
pub fn write(profile: &Profile, path: &Path, code: u8) -> u8 {
    match export::write(profile, path) {
        Ok(()) => code,
        Err(error) => failed(format!("{error}\nhint: the program has run all the same; choose another file with --profile-out"), code),
    }
}

/// Says why there is no profile of a program that ended with this code. Gives the exit code.
pub fn failed(error: impl Display, code: u8) -> u8 {
    let failure = super::text::fail(error);
    if code == 0 { failure } else { code }
}
