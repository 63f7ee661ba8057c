//! `vm run FILE`: compile, run, report.

#[cfg(feature = "native")]
use super::args::OptArgs;
use super::args::{RunArgs, TierArg};
use super::compile::{Compiled, compile};
use super::live::{Counting, Profiled, Session};
use super::{live, report, text};
#[cfg(feature = "native")]
use crate::runtime::native::NativeEngine;
use crate::runtime::{Engine, InterpreterEngine, Output, Runtime, RuntimeOptions, names};
use jit::ir::{FuncId, Module};
use jit::layout::Layout;
#[cfg(feature = "native")]
use jit::native::Profiling;
use jit::opt::Optimized;
#[cfg(feature = "native")]
use jit::opt::Probes;
use profiler::profile::Profile;
use std::sync::Arc;
use std::time::Instant;

/// The program's exit code.
pub fn run(args: RunArgs) -> u8 {
    let finished = match execute(&args, Shown::All, live::TOP) {
        Ok(finished) => finished,
        Err(refused) => return refused.tell(),
    };
    if args.stats {
        text::complain(&finished.stats);
        finished.profiled.iter().for_each(|profiled| text::complain(&format!("\n{}", profiled.report)));
    }
    match (finished.profiled, &args.live.profile_out) {
        (Some(profiled), Some(path)) => live::write(&profiled.profile, path, finished.code),
        _ => finished.code,
    }
}

/// What a program leaves.
pub struct Finished {
    pub code: u8,
    pub stats: String,
    pub profiled: Option<Profiled>,
    /// What `--profile-in` names.
    pub earlier: Option<Profile>,
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
}

impl Refused {
    /// Gives the exit code.
    pub fn tell(self) -> u8 {
        match self {
            Refused::Shown => super::FAILURE,
            Refused::Because(message) => text::fail(message),
        }
    }
}

impl From<String> for Refused {
    fn from(message: String) -> Refused {
        Refused::Because(message)
    }
}

/// Compiles and runs a program.
pub fn execute(args: &RunArgs, shown: Shown, top: usize) -> Result<Finished, Refused> {
    let counting = args.live.counting(args.tier)?;
    #[cfg(feature = "native")]
    if args.perf_map && args.tier == TierArg::Interp {
        return Err("--perf-map goes with --tier baseline and --tier opt: the interpreter makes no machine code".to_owned().into());
    }
    let Compiled { map, module, times } = compile(&args.file, args.verify).ok_or(Refused::Shown)?;
    let earlier = args.live.earlier(|| names::program(&module, &map))?;
    let start = Instant::now();
    let (module, optimized) = optimize(module, args, counting)?;
    let profiler = args.live.profiler(|| names::program(&module, &map))?;
    let module = Arc::new(module);
    let layout = Arc::new(Layout::new(&module));
    let options = RuntimeOptions { profiler: profiler.clone(), ..options(args, shown) };
    let runtime = Runtime::new(module, layout, Box::new(map), options).map_err(|e| e.to_string())?;
    let ahead = optimized.as_ref().map_or(&[][..], |o| &o.called);
    let engine = engine(args, &runtime, ahead, counting)?;
    let session = profiler.map(|profiler| Session::start(&profiler, &engine)).transpose()?;
    let status = runtime.run_main(engine.clone().start()).map_err(|e| e.to_string())?;
    #[cfg(feature = "native")]
    if let (true, Tier::Native(native)) = (args.perf_map, &engine) {
        super::perf_map::write(native);
    }
    // What the program has done counts, whatever becomes of its profile.
    let profiled = session.map(|session| session.finish(&args.file, args.tier, counting, top)).transpose();
    let (profiled, code) = match profiled {
        Ok(profiled) => (profiled, status.code),
        Err(message) => (None, live::failed(message, status.code)),
    };
    let stats = report::stats(&times, optimized.as_ref(), &runtime, &engine, start.elapsed());
    Ok(Finished { code, stats, profiled, earlier })
}

/// The module for the tier, and what was left of optimizing it but the module.
#[cfg(feature = "native")]
fn optimize(module: Module, args: &RunArgs, counting: Counting) -> Result<(Module, Option<Optimized>), String> {
    if args.tier != TierArg::Opt {
        if args.opt != OptArgs::default() {
            return Err("--inline, --passes and --time-passes go with --tier opt".into());
        }
        return Ok((module, None));
    }
    let probes = if counting == Counting::Inlined { Probes::Inlined } else { Probes::None };
    let mut optimized = super::optimize::optimize(module, &args.opt, probes, args.verify);
    if args.opt.time_passes {
        text::complain(&super::optimize::time_table(&optimized));
    }
    let module = std::mem::take(&mut optimized.module);
    Ok((module, Some(optimized)))
}

#[cfg(not(feature = "native"))]
fn optimize(module: Module, _: &RunArgs, _: Counting) -> Result<(Module, Option<Optimized>), String> {
    Ok((module, None))
}

fn options(args: &RunArgs, shown: Shown) -> RuntimeOptions {
    RuntimeOptions {
        output: if shown == Shown::All { Output::Stdout } else { Output::Nowhere },
        errors: if shown == Shown::Nothing { Output::Nowhere } else { Output::Stderr },
        gc_stress: std::num::NonZeroU32::new(args.gc_stress),
        verify_heap: args.verify,
        gc_log: args.gc_log,
        ..args.memory.options(&args.args)
    }
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
        TierArg::Baseline | TierArg::Opt => {
            native(args, runtime, ahead, counting).map(|e| Tier::Native(Arc::new(e))).map_err(|e| e.to_string())
        }
    }
}

#[cfg(feature = "native")]
fn native(args: &RunArgs, runtime: &Runtime, ahead: &[FuncId], counting: Counting) -> Result<NativeEngine, jit::native::NativeError> {
    let options = jit::native::Options {
        polls: !args.no_polls,
        inline_alloc: args.gc_stress == 0,
        verify: args.verify || cfg!(debug_assertions),
        optimize: args.tier == TierArg::Opt,
        profiling: match counting {
            Counting::Off => Profiling::Off,
            Counting::Calls => Profiling::Calls,
            Counting::Inlined => Profiling::Inlined,
        },
        ..jit::native::Options::default()
    };
    let engine = NativeEngine::new(runtime, options)?;
    engine.compile_ahead(ahead);
    Ok(engine)
}
