//! Trace files: what is written comes back, what is made by hand from the specification is read, and a damaged file gives its good part and says where it ends.

mod damage;
mod made_by_hand;
mod round_trip;
mod timeline;
mod writer;

use profiler::program::{CallSite, Function, Program};
use profiler::trace::{Limits, Trace};

fn function(name: &str, line: u32) -> Function {
    Function { name: name.into(), file: "test.lang".into(), line }
}

/// A program of so many functions with two call sites each, and no edges yet.
fn program(functions: u32) -> Program {
    let mut program = Program::default();
    for line in 0..functions {
        let caller = program.functions.push(function(&format!("f{line}"), line));
        program.sites.push(CallSite { caller, line: line + 100 });
        program.sites.push(CallSite { caller, line: line + 200 });
    }
    program
}

fn load(file: &[u8]) -> Trace {
    Trace::load(file, Limits::default()).expect("a good header")
}
