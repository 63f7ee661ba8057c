//! `vm run FILE`: compile, run, report.

#[cfg(feature = "native")]
use super::adapting::{self, Adapting, live_policy};
#[cfg(feature = "native")]
use super::args::{LeftLoops, OptArgs};
use super::args::{RunArgs, TierArg};
use super::compile::{Compiled, compile};
#[cfg(feature = "native")]
use super::jitdump::JitDump;
use super::live::{Counting, Profiled, Session};
#[cfg(feature = "native")]
use super::optimize::Job;
use super::run_stats::RunStats;
use super::{live, report, text};
#[cfg(feature = "native")]
use crate::runtime::native::NativeEngine;
use crate::runtime::{End, Engine, InterpreterEngine, Output, Runtime, RuntimeOptions, names};
use crate::source::SourceMap;
#[cfg(feature = "native")]
use jit::ir::polls::loop_polls;
#[cfg(feature = "native")]
use jit::ir::{Block, Function};
use jit::ir::{FuncId, Module};
use jit::layout::Layout;
#[cfg(feature = "native")]
use jit::native::{Exits, Level, Listener, Osr, Profiling};
use jit::opt::Optimized;
#[cfg(feature = "native")]
use jit::opt::Probes;
#[cfg(feature = "native")]
use jit::opt::osr::enter_at;
use profiler::profile::Profile;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The program's exit code.
pub fn run(args: RunArgs) -> u8 {
    let finished = match check(&args).map_err(Refused::from).and_then(|()| execute(&args, Shown::All, live::TOP)) {
        Ok(finished) => finished,
        Err(refused) => return refused.tell(),
    };
    if args.stats {
        text::complain(&finished.stats);
        finished.profiled.iter().for_each(|profiled| text::complain(&format!("\n{}", profiled.report)));
    }
    let code = finished.write_record(&args, finished.code);
    match (finished.profiled, &args.live.profile_out) {
        (Some(profiled), Some(path)) => live::write(&profiled.profile, path, code),
        _ => code,
    }
}

/// What is given, and nothing asks for: `vm profile` compares with an earlier profile.
fn check(args: &RunArgs) -> Result<(), String> {
    if args.live.profile_in.is_some() && !asks_profile(args) {
        return Err("--profile-in goes with --inline dynamic, weak-static, cost-benefit and context, on the tiers opt and adaptive: nothing else asks a profile (vm profile --profile-in compares with one)".into());
    }
    Ok(())
}

/// Whether anything decides by an earlier profile.
#[cfg(feature = "native")]
fn asks_profile(args: &RunArgs) -> bool {
    match args.tier {
        TierArg::Opt => args.opt.asks_profile(),
        TierArg::Adaptive => args.opt.asks_profile() || args.opt.live_policy().is_some(),
        TierArg::Interp | TierArg::Baseline => false,
    }
}

#[cfg(not(feature = "native"))]
fn asks_profile(_: &RunArgs) -> bool {
    false
}

/// Nothing is random where nothing is sampled, be it for the compiler.
fn check_seed(args: &RunArgs) -> Result<(), String> {
    #[cfg(feature = "native")]
    let is_guided = live_policy(args).is_some();
    #[cfg(not(feature = "native"))]
    let is_guided = false;
    if args.live.sampling.seed.is_some() && args.live.mode().is_none() && !is_guided {
        return Err("--seed goes with --profile MODE, such as --profile adaptive: nothing else is random here".into());
    }
    Ok(())
}

/// What a program leaves.
pub struct Finished {
    pub code: u8,
    pub end: End,
    pub stats: String,
    pub record: RunStats,
    pub profiled: Option<Profiled>,
    /// What the program printed, as far as it is shown, ends within a line.
    pub is_in_line: bool,
    /// What `--profile-in` names.
    pub earlier: Option<Profile>,
}

impl Finished {
    /// `--stats-out`. Gives the exit code: this one if that says something.
    pub fn write_record(&self, args: &RunArgs, code: u8) -> u8 {
        let Some(path) = &args.stats_out else { return code };
        self.record.write(path).map_or_else(
            |error| live::failed(format!("{error}\nhint: the program has run all the same; choose another file with --stats-out"), code),
            |()| code,
        )
    }
}

/// What of a program's output is let through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    All,
    Errors,
    Nothing,
}

/// Why a program did not run.
pub enum Refused {
    /// Its errors have been printed.
    Shown,
    Because(String),
    /// It did, and ended with this code, since its user ended it and with it what was to come of it.
    Interrupted(u8),
}

impl Refused {
    /// Gives the exit code.
    pub fn tell(self) -> u8 {
        match self {
            Refused::Shown => super::FAILURE,
            Refused::Because(message) => text::fail(message),
            Refused::Interrupted(code) => code,
        }
    }
}

impl From<String> for Refused {
    fn from(message: String) -> Refused {
        Refused::Because(message)
    }
}

/// A profile or a plan may take the place of the one that was read.
fn check_files(args: &RunArgs) -> Result<(), String> {
    let stats = ("--stats-out", args.stats_out.as_deref());
    let profiles = [("--profile-in", args.live.profile_in.as_deref()), ("--profile-out", args.live.profile_out.as_deref())];
    #[cfg(feature = "native")]
    let plans = [("--plan-in", args.opt.plan_in.as_deref()), ("--plan-out", args.opt.plan_out.as_deref())];
    #[cfg(not(feature = "native"))]
    let plans = [("--plan-in", None); 2];
    profiles.iter().flat_map(|&profile| plans.map(|plan| [stats, profile, plan])).try_for_each(text::check_apart)
}

/// Compiles and runs a program.
pub fn execute(args: &RunArgs, shown: Shown, top: usize) -> Result<Finished, Refused> {
    let counting = args.live.counting(args.tier)?;
    check_seed(args)?;
    args.stats_out.as_deref().map_or(Ok(()), text::check_folder)?;
    check_files(args)?;
    #[cfg(feature = "native")]
    check_opt(args)?;
    #[cfg(feature = "native")]
    if (args.perf_map || args.jitdump.is_some()) && args.tier == TierArg::Interp {
        return Err("--perf-map and --jitdump do not go with --tier interp: the interpreter makes no machine code".to_owned().into());
    }
    let Compiled { map, module, times } = compile(&args.file, args.verify).ok_or(Refused::Shown)?;
    text::check_sources(args.stats_out.as_deref().into_iter().chain(args.live.profile_out.as_deref()), &map)?;
    #[cfg(feature = "native")]
    text::check_sources(args.opt.plan_out.as_deref(), &map)?;
    let earlier = args.live.earlier(|| names::program(&module, &map), shown != Shown::Nothing)?;
    let (module, optimized) = optimize(module, &map, args, counting, earlier.as_ref(), shown)?;
    let profiler = args.live.profiler(args.tier, || names::program(&module, &map))?;
    #[cfg(feature = "native")]
    let guiding = match live_policy(args).filter(|_| profiler.is_none()) {
        Some(kind) => Some(args.live.guiding(kind, names::numbers(&module))?),
        None => None,
    };
    #[cfg(feature = "native")]
    let adapting = match args.tier {
        TierArg::Adaptive => {
            let job = job(&map, args, counting, earlier.as_ref(), shown);
            Some(Adapting::new(args, &job, &module, profiler.as_ref().or(guiding.as_ref()))?)
        }
        _ => None,
    };
    let start = Instant::now();
    let module = Arc::new(module);
    let layout = Arc::new(Layout::new(&module));
    let options = RuntimeOptions { profiler: profiler.clone(), ..options(args, shown) };
    #[cfg(feature = "native")]
    let options = RuntimeOptions { profiler: options.profiler.or(guiding.clone()), ..options };
    #[cfg(feature = "native")]
    let options = RuntimeOptions { adaptive: adapting::shared(args)?, ..options };
    let runtime = Runtime::new(module, layout, Box::new(map), options).map_err(|e| args.memory.explain(&e))?;
    let ahead = optimized.as_ref().map_or(&[][..], |o| &o.called);
    #[cfg(feature = "native")]
    let coded = if guiding.is_some() { Counting::Beside } else { counting };
    #[cfg(not(feature = "native"))]
    let coded = counting;
    let engine = engine(args, &runtime, ahead, coded)?;
    // Without its thread nothing is known, and the static policy decides.
    #[cfg(feature = "native")]
    guiding.iter().for_each(|profiler| _ = Session::start(profiler, &engine));
    let session = profiler.map(|profiler| Session::start(&profiler, &engine)).transpose()?;
    #[cfg(feature = "native")]
    let adapting = adapting.map(|adapting| adapting.start(&runtime, &engine)).transpose()?;
    let status = runtime.run_main(engine.clone().start()).map_err(|e| args.memory.explain(&e))?;
    let elapsed = start.elapsed();
    #[cfg(feature = "native")]
    let compiled = adapting.map(|adapting| adapting.finish(&runtime)).transpose()?;
    #[cfg(feature = "native")]
    if let Tier::Native(native) = &engine {
        native.inner().listener().iter().for_each(|listener| listener.ended());
        if args.perf_map {
            super::perf_map::write(native);
        }
    }
    // What the program has done counts, whatever becomes of its profile.
    let profiled = session.map(|session| session.finish(&args.file, args.tier, counting, top)).transpose();
    let (profiled, code) = match profiled {
        Ok(profiled) => (profiled, status.code),
        Err(message) => (None, live::failed(message, status.code)),
    };
    #[cfg(feature = "native")]
    let code = compiled.iter().fold(code, |code, compiled| compiled.write_plan(code));
    let stats = report::stats(&times, optimized.as_ref(), &runtime, &engine, elapsed);
    #[cfg(feature = "native")]
    let stats = compiled.iter().fold(stats, |stats, compiled| stats + &report::adaptive(&compiled.summary));
    let calls = profiled.as_ref().filter(|_| counting != Counting::Off).and_then(|p| p.report.counters.get("calls").copied());
    let record = RunStats { exit_code: status.code, calls, ..RunStats::new(&times, optimized.as_ref(), &runtime, &engine, elapsed) };
    #[cfg(feature = "native")]
    let record = RunStats { optimizer: record.optimizer.or(compiled.map(|compiled| compiled.optimizer_stats())), ..record };
    let is_in_line = shown == Shown::All && runtime.output_ends_in_line();
    Ok(Finished { code, end: status.end, stats, record, profiled, is_in_line, earlier })
}

/// Whether the optimizer's flags go with the tier, and have what they need.
#[cfg(feature = "native")]
fn check_opt(args: &RunArgs) -> Result<(), String> {
    match args.tier {
        TierArg::Opt => args.opt.check(&args.file, args.live.profile_in.as_deref()),
        _ if args.opt == OptArgs::default() => Ok(()),
        TierArg::Adaptive if args.opt.time_passes => Err("--time-passes goes with --tier opt".into()),
        TierArg::Adaptive if live_policy(args).is_some() => args.opt.check_files(),
        TierArg::Adaptive => args.opt.check(&args.file, args.live.profile_in.as_deref()),
        _ => {
            Err("--inline, --plan-in, --plan-out and --passes go with --tier opt and --tier adaptive, --time-passes with --tier opt".into())
        }
    }
}

/// The module for the tier, and what was left of optimizing it but the module.
#[cfg(feature = "native")]
fn optimize(
    module: Module,
    map: &SourceMap,
    args: &RunArgs,
    counting: Counting,
    profile: Option<&Profile>,
    shown: Shown,
) -> Result<(Module, Option<Optimized>), String> {
    if args.tier != TierArg::Opt {
        return Ok((module, None));
    }
    let mut optimized = job(map, args, counting, profile, shown).optimize(module)?;
    if args.opt.time_passes {
        text::complain(&super::optimize::time_table(&optimized));
    }
    let module = std::mem::take(&mut optimized.module);
    Ok((module, Some(optimized)))
}

/// What the optimizer has to know.
#[cfg(feature = "native")]
fn job<'a>(map: &'a SourceMap, args: &'a RunArgs, counting: Counting, profile: Option<&'a Profile>, shown: Shown) -> Job<'a> {
    let probes = probes(counting);
    Job { file: &args.file, map, args: &args.opt, profile, probes, verify: args.verify, warn: shown != Shown::Nothing }
}

#[cfg(feature = "native")]
fn probes(counting: Counting) -> Probes {
    match counting {
        Counting::Inlined => Probes::Inlined,
        Counting::InWindows => Probes::Sampled,
        Counting::Off | Counting::Calls | Counting::Beside => Probes::None,
    }
}

#[cfg(not(feature = "native"))]
fn optimize(
    module: Module,
    _: &SourceMap,
    _: &RunArgs,
    _: Counting,
    _: Option<&Profile>,
    _: Shown,
) -> Result<(Module, Option<Optimized>), String> {
    Ok((module, None))
}

fn options(args: &RunArgs, shown: Shown) -> RuntimeOptions {
    RuntimeOptions {
        output: if shown == Shown::All { Output::Stdout } else { Output::Nowhere },
        errors: if shown == Shown::Nothing { Output::Nowhere } else { Output::Stderr },
        gc_stress: std::num::NonZeroU32::new(args.gc_stress),
        verify_heap: args.verify,
        gc_log: args.gc_log,
        repeat: args.repeat,
        tick: tick(args.tier),
        ..args.memory.options(&args.args)
    }
}

/// Between ticks of the timer.
fn tick(tier: TierArg) -> Duration {
    #[cfg(feature = "native")]
    if tier == TierArg::Adaptive {
        return crate::runtime::tuning::ADAPTIVE_TICK;
    }
    _ = tier;
    RuntimeOptions::default().tick
}

/// The tier that runs a program, kept for its statistics.
#[derive(Clone)]
pub enum Tier {
    Interp(Arc<InterpreterEngine>),
    #[cfg(feature = "native")]
    Native(Arc<NativeEngine>),
}

impl Tier {
    fn start(self) -> Arc<dyn Engine> {
        match self {
            Tier::Interp(engine) => engine,
            #[cfg(feature = "native")]
            Tier::Native(engine) => engine,
        }
    }
}

/// `ahead`: the functions to compile before the program starts.
#[cfg_attr(not(feature = "native"), expect(unused_variables))]
fn engine(args: &RunArgs, runtime: &Runtime, ahead: &[FuncId], counting: Counting) -> Result<Tier, String> {
    match args.tier {
        TierArg::Interp => Ok(Tier::Interp(Arc::new(InterpreterEngine::new(&runtime.module, &runtime.layout, args.memory.stack())))),
        #[cfg(feature = "native")]
        TierArg::Baseline | TierArg::Opt | TierArg::Adaptive => native(args, runtime, ahead, counting).map(|e| Tier::Native(Arc::new(e))),
    }
}

/// What goes on for a loop where every one is left.
#[cfg(feature = "native")]
fn leave_loop(module: &Module, func: FuncId, block: Block) -> Option<Function> {
    enter_at(module, &module.funcs[func], block)
}

/// The same where it is one of each fourth of a function's loops.
#[cfg(feature = "native")]
fn leave_fourth<const FIRST: usize>(module: &Module, func: FuncId, block: Block) -> Option<Function> {
    let number = loop_polls(&module.funcs[func]).iter().position(|poll| poll.block == block)?;
    if number % 4 == FIRST { leave_loop(module, func, block) } else { None }
}

#[cfg(feature = "native")]
impl LeftLoops {
    fn leave(self) -> Osr {
        Osr::Always(match self {
            LeftLoops::All => leave_loop,
            LeftLoops::First => leave_fourth::<0>,
            LeftLoops::Second => leave_fourth::<1>,
            LeftLoops::Third => leave_fourth::<2>,
            LeftLoops::Fourth => leave_fourth::<3>,
        })
    }
}

#[cfg(feature = "native")]
fn native(args: &RunArgs, runtime: &Runtime, ahead: &[FuncId], counting: Counting) -> Result<NativeEngine, String> {
    let dump = args.jitdump.as_deref().map(|folder| JitDump::create(folder, runtime.symbols.clone())).transpose()?;
    let defaults = jit::native::Options::default();
    let options = jit::native::Options {
        polls: !args.no_polls,
        // Optimized code finds no room in its buffer then, each time.
        inline_alloc: args.gc_stress == 0 || args.tier == TierArg::Opt,
        verify: args.verify || cfg!(debug_assertions),
        level: if args.tier == TierArg::Opt { Level::Optimized } else { Level::Baseline },
        profiling: match counting {
            Counting::Off => Profiling::Off,
            Counting::Calls | Counting::Beside => Profiling::Calls,
            Counting::Inlined | Counting::InWindows => Profiling::Inlined,
        },
        profile_optimized: counting != Counting::Beside,
        osr: match (args.osr_stress, args.tier) {
            (Some(left), _) => left.leave(),
            (None, TierArg::Adaptive) => Osr::Installed,
            _ => Osr::Off,
        },
        exits: if counting == Counting::InWindows { crate::runtime::tuning::EXITS } else { Exits::Off },
        // Whatever can stay in memory does, where collections find it.
        loop_registers: if args.gc_stress == 0 { defaults.loop_registers } else { 0 },
        listener: dump.map(|dump| Arc::new(dump) as Arc<dyn Listener>),
        ..defaults
    };
    let engine = NativeEngine::new(runtime, options).map_err(|e| e.to_string())?;
    engine.compile_ahead(ahead);
    Ok(engine)
}
