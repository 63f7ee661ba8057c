//! `vm run FILE`: compile, run, report.

use super::args::{RunArgs, TierArg};
use super::compile::{Compiled, compile};
use super::{report, text};
use crate::runtime::{Engine, InterpreterEngine, Runtime, RuntimeOptions};
use jit::layout::Layout;
use std::sync::Arc;
use std::time::Instant;

/// The program's exit code.
pub fn run(args: RunArgs) -> u8 {
    let Some(Compiled { map, module, times }) = compile(&args.file, args.verify) else { return super::FAILURE };
    let start = Instant::now();
    let module = Arc::new(module);
    let layout = Arc::new(Layout::new(&module));
    let outcome = Runtime::new(module, layout, Box::new(map), options(&args)).map_err(|e| e.to_string()).and_then(|runtime| {
        let engine = engine(&args, &runtime)?;
        let status = runtime.run_main(engine.clone().start()).map_err(|e| e.to_string())?;
        Ok((runtime, engine, status))
    });
    match outcome {
        Ok((runtime, engine, status)) => {
            if args.stats {
                text::complain(&report::stats(&times, &runtime, &engine, start.elapsed()));
            }
            status.code
        }
        Err(message) => {
            text::complain(&format!("error: {message}\n"));
            super::FAILURE
        }
    }
}

fn options(args: &RunArgs) -> RuntimeOptions {
    RuntimeOptions {
        heap: args.heap,
        nursery: args.nursery,
        stack: args.stack,
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
    Baseline(Arc<crate::runtime::native::NativeEngine>),
}

impl Tier {
    fn start(self) -> Arc<dyn Engine> {
        match self {
            Tier::Interp(engine) => engine,
            #[cfg(feature = "native")]
            Tier::Baseline(engine) => engine,
        }
    }
}

fn engine(args: &RunArgs, runtime: &Runtime) -> Result<Tier, String> {
    match args.tier {
        TierArg::Interp => {
            let stack = usize::try_from(args.stack).unwrap_or(usize::MAX);
            Ok(Tier::Interp(Arc::new(InterpreterEngine::new(&runtime.module, &runtime.layout, stack))))
        }
        #[cfg(feature = "native")]
        TierArg::Baseline => {
            let options = jit::native::Options {
                polls: !args.no_polls,
                inline_alloc: args.gc_stress == 0,
                verify: args.verify || cfg!(debug_assertions),
                ..jit::native::Options::default()
            };
            crate::runtime::native::NativeEngine::new(runtime, options).map(|e| Tier::Baseline(Arc::new(e))).map_err(|e| e.to_string())
        }
    }
}
