//! `vm trace FILE`: compile, run on the reference interpreter, and write every call and return to a file.
//!
//! The program's output and exit code are those of `vm run`; all that is said about the trace goes to stderr.

use super::args::TraceArgs;
use super::compile::{Compiled, compile};
use super::text::{check_sources, fail};
use crate::runtime::{InterpreterEngine, Recorder, Runtime, names};
use jit::layout::Layout;
use std::fs::File;
use std::sync::Arc;

/// The program's exit code; [`super::FAILURE`] if it could not be run, or if it succeeded and its trace did not.
pub fn run(args: TraceArgs) -> u8 {
    let Some(Compiled { map, module, .. }) = compile(&args.file, false) else { return super::FAILURE };
    let path = args.output.clone().unwrap_or_else(|| args.file.with_extension("trace"));
    if let Err(error) = check_sources([&*path], &map) {
        return fail(error);
    }
    let program = names::program(&module, &map);
    let module = Arc::new(module);
    let layout = Arc::new(Layout::new(&module));
    let runtime = match Runtime::new(module, layout, Box::new(map), args.memory.options(&args.args)) {
        Ok(runtime) => runtime,
        Err(e) => return fail(args.memory.explain(&e)),
    };
    let file = match File::create(&path) {
        Ok(file) => file,
        Err(e) => return fail(format!("cannot create {}: {e}", path.display())),
    };
    let recorder = match Recorder::new(Box::new(file), &program, args.stamps) {
        Ok(recorder) => recorder,
        Err(e) => return fail(format!("{}: {e}", path.display())),
    };
    let engine = InterpreterEngine::new(&runtime.module, &runtime.layout, args.memory.stack()).recorded_by(recorder.clone());
    let outcome = runtime.run_main(Arc::new(engine));
    let recorded = recorder.finish();
    let code = match outcome {
        Ok(status) => status.code,
        Err(e) => return fail(args.memory.explain(&e)),
    };
    match recorded {
        Ok(()) => code,
        Err(e) => {
            let failure = fail(format!("{}: {e}; the program ran to its end, its trace ends before", path.display()));
            if code == 0 { failure } else { code }
        }
    }
}
