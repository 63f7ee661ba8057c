//! `vm run FILE`: compile, run, report.

#[cfg(feature = "native")]
use super::args::OptArgs;
use super::args::{RunArgs, TierArg};
use super::compile::{Compiled, compile};
use super::{report, text};
#[cfg(feature = "native")]
use crate::runtime::native::NativeEngine;
use crate::runtime::{Engine, InterpreterEngine, Runtime, RuntimeOptions};
use jit::ir::{FuncId, Module};
use jit::layout::Layout;
use jit::opt::Optimized;
use std::sync::Arc;
use std::time::Instant;

/// The program's exit code.
pub fn run(args: RunArgs) -> u8 {
    let Some(Compiled { map, module, times }) = compile(&args.file, args.verify) else { return super::FAILURE };
    let start = Instant::now();
    let (module, optimized) = match optimize(module, &args) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let module = Arc::new(module);
    let layout = Arc::new(Layout::new(&module));
    let outcome = Runtime::new(module, layout, Box::new(map), options(&args)).map_err(|e| e.to_string()).and_then(|runtime| {
        let ahead = optimized.as_ref().map_or(&[][..], |o| &o.called);
        let engine = engine(&args, &runtime, ahead)?;
        let status = runtime.run_main(engine.clone().start()).map_err(|e| e.to_string())?;
        Ok((runtime, engine, status))
    });
    match outcome {
        Ok((runtime, engine, status)) => {
            if args.stats {
                text::complain(&report::stats(&times, optimized.as_ref(), &runtime, &engine, start.elapsed()));
            }
            status.code
        }
        Err(message) => {
            text::complain(&format!("error: {message}\n"));
            super::FAILURE
        }
    }
}

/// The module for the tier, and what was left of optimizing it but the module.
#[cfg(feature = "native")]
fn optimize(module: Module, args: &RunArgs) -> Result<(Module, Option<Optimized>), u8> {
    if args.tier != TierArg::Opt {
        if args.opt != OptArgs::default() {
            text::complain("error: --inline, --passes and --time-passes go with --tier opt\n");
            return Err(super::FAILURE);
        }
        return Ok((module, None));
    }
    let mut optimized = super::optimize::optimize(module, &args.opt, args.verify);
    if args.opt.time_passes {
        text::complain(&super::optimize::time_table(&optimized));
    }
    let module = std::mem::take(&mut optimized.module);
    Ok((module, Some(optimized)))
}

#[cfg(not(feature = "native"))]
fn optimize(module: Module, _: &RunArgs) -> Result<(Module, Option<Optimized>), u8> {
    Ok((module, None))
}

fn options(args: &RunArgs) -> RuntimeOptions {
    RuntimeOptions {
        heap: args.memory.heap,
        nursery: args.memory.nursery,
        stack: args.memory.stack,
        gc_stress: std::num::NonZeroU32::new(args.gc_stress),
        verify_heap: args.verify,
        gc_log: args.gc_log,
        args: args.args.clone(),
        handle_interrupt: true,
        ..RuntimeOptions::default()
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
fn engine(args: &RunArgs, runtime: &Runtime, ahead: &[FuncId]) -> Result<Tier, String> {
    match args.tier {
        TierArg::Interp => {
            let stack = usize::try_from(args.memory.stack).unwrap_or(usize::MAX);
            Ok(Tier::Interp(Arc::new(InterpreterEngine::new(&runtime.module, &runtime.layout, stack))))
        }
        #[cfg(feature = "native")]
        TierArg::Baseline | TierArg::Opt => native(args, runtime, ahead).map(|e| Tier::Native(Arc::new(e))).map_err(|e| e.to_string()),
    }
}

#[cfg(feature = "native")]
fn native(args: &RunArgs, runtime: &Runtime, ahead: &[FuncId]) -> Result<NativeEngine, jit::native::NativeError> {
    let options = jit::native::Options {
        polls: !args.no_polls,
        inline_alloc: args.gc_stress == 0,
        verify: args.verify || cfg!(debug_assertions),
        optimize: args.tier == TierArg::Opt,
        ..jit::native::Options::default()
    };
    let engine = NativeEngine::new(runtime, options)?;
    engine.compile_ahead(ahead);
    Ok(engine)
}
