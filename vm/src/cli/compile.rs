//! A file on disk to a lowered module, with the time each stage took.

use super::text;
use crate::diag::Diagnostics;
use crate::lower;
use crate::sema::{self, Scope};
use crate::source::SourceMap;
use jit::ir::{Module, verifier};
use std::path::Path;
use std::time::{Duration, Instant};

pub struct Compiled {
    pub map: SourceMap,
    pub module: Module,
    pub times: Vec<(&'static str, Duration)>,
}

/// Errors are printed; `None` means there were some. `verify`: also in release builds.
pub fn compile(path: &Path, verify: bool) -> Option<Compiled> {
    let mut map = SourceMap::new();
    let mut errors = Diagnostics::new();
    let mut times = Vec::new();
    let result = lowered(path, &mut map, &mut errors, &mut times);
    let Some(module) = result.filter(|_| errors.is_empty()) else {
        text::show(&errors, &map);
        return None;
    };
    if verify || cfg!(debug_assertions) {
        let start = Instant::now();
        let faults = verifier::verify(&module);
        if !faults.is_empty() {
            let faults: Vec<String> = faults.iter().map(|f| format!("  {f}\n")).collect();
            text::complain(&format!(
                "error: the compiler made invalid code of {}; this is a bug in it\n{}",
                path.display(),
                faults.concat()
            ));
            return None;
        }
        times.push(("verify", start.elapsed()));
    }
    Some(Compiled { map, module, times })
}

/// `None` where there are errors.
pub fn lowered(path: &Path, map: &mut SourceMap, errors: &mut Diagnostics, times: &mut Vec<(&'static str, Duration)>) -> Option<Module> {
    let mut start = Instant::now();
    let mut lap = |name| {
        times.push((name, start.elapsed()));
        start = Instant::now();
    };
    let units = sema::load(map, path, errors);
    lap("parse");
    let (program, found) = sema::check(&units, Scope::Reachable);
    errors.append(found);
    lap("check");
    let module = lower::lower(&mut program.filter(|_| errors.is_empty())?, map, errors);
    lap("lower");
    module
}
