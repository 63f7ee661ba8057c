//! The adaptive tier with its compile thread in the hands of a seed: what is compiled anew, when and by which policy is random.
//!
//! In: a runtime, its engine, a seed. Out: the compile thread.

use crate::adversary::{Adversary, mix};
use jit::opt::{self, PassSet, Probes};
use std::io;
use std::sync::Arc;
use vm::runtime::Runtime;
use vm::runtime::adaptive::{self, Adaptive, Controller, Pace};
use vm::runtime::native::NativeEngine;

/// Yield points from one version to the next, at most, and versions of all functions and loops of a run.
const GAP: u64 = 40;
const TIMES: u32 = 24;

/// What the program's threads share with the compile thread.
pub fn shared(seed: u64) -> Arc<Adaptive> {
    Arc::new(Adaptive::forced(Pace { seed, gap: GAP, times: TIMES }))
}

/// The compile thread, which has another policy each time.
pub fn start(runtime: &Runtime, engine: &Arc<NativeEngine>, seed: u64, probes: Probes) -> io::Result<Controller> {
    let shared = runtime.options.adaptive.clone().expect("the tier is adaptive");
    let options = opt::Options { verify: true, passes: PassSet::ALL, probes };
    let funcs = runtime.module.funcs.len();
    let mut turn = 0;
    let policy = Box::new(move || -> Arc<dyn profiler::oracle::Oracle> {
        turn += 1;
        Arc::new(Adversary::new(mix(seed, turn), funcs))
    });
    adaptive::start(shared, engine.clone(), runtime, options, policy, false)
}

/// After the program's end.
pub fn end(shared: &Adaptive, compiler: Controller) -> Result<(), String> {
    shared.close();
    if compiler.has_failed() { Err("the compile thread has failed".into()) } else { Ok(()) }
}
