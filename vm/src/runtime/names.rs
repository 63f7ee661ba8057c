//! The compiled program as profiles name it: functions and call sites with files and lines.
//!
//! In: a module and its [`Symbols`]. Out: a [`Program`] without edges. Invariant: its ids are the module's.

use super::symbols::Symbols;
use jit::ir::{CallSite, Module};
use profiler::program::{self, Program};

/// Functions and call sites of a module by number alone, for who needs no names: takes next to no time.
pub fn numbers(module: &Module) -> Program {
    let mut program = Program::default();
    let nameless = || program::Function { name: Box::default(), file: Box::default(), line: 0 };
    program.functions.extend(module.funcs.keys().map(|_| nameless()));
    program.sites.extend(module.call_sites.values().map(|site| program::CallSite { caller: site.caller, line: 0 }));
    program
}

/// Functions and call sites of a module. Those that stand in no file (what calls `main`, and what a thread starts with) have no file and line 0.
pub fn program(module: &Module, symbols: &dyn Symbols) -> Program {
    let mut program = Program::default();
    for func in module.funcs.values() {
        let (file, line) = symbols.position(func.loc).map_or_else(Default::default, |at| (at.path.into(), at.line));
        program.functions.push(program::Function { name: func.name.clone(), file, line });
    }
    for &CallSite { caller, loc } in module.call_sites.values() {
        // A line alone means one in the caller's file.
        let at = symbols.position(loc).filter(|at| *at.path == *program.functions[caller].file);
        program.sites.push(program::CallSite { caller, line: at.map_or(0, |at| at.line) });
    }
    program
}
