//! The recorded runs that the profiler is measured on, and where their traces lie.
//!
//! In: names. Out: what runs, and traces in memory. Traces are large and come from whatever Python and compiler the machine has, so they are recorded (`record-traces`) and never committed.
//! Invariant: each program does the same in each run, and is recorded to its end; but lines, addresses and versions are the machine's.

use profiler::trace::{Limits, Trace};
use std::fs::File;
use std::path::PathBuf;

/// What runs.
pub enum Source {
    /// A sample of `lang-samples/`, recorded by the reference interpreter.
    Sample(&'static str),
    /// A script of `benches/traced/`, recorded by `recorders/record.py`.
    Python(&'static str),
    /// A program of `benches/traced/`, built with `recorders/record.c`.
    C(&'static str),
}

pub struct Traced {
    pub name: &'static str,
    /// Why it is among them.
    pub shape: &'static str,
    pub source: Source,
    /// For several million calls.
    pub args: &'static [&'static str],
}

pub const TRACED: &[Traced] = &[
    Traced { name: "richards", shape: "few contexts, virtual calls", source: Source::Sample("richards"), args: &["10", "10000"] },
    Traced { name: "deltablue", shape: "phases", source: Source::Sample("deltablue"), args: &["2000", "3"] },
    Traced { name: "recursive_descent", shape: "recursion", source: Source::Sample("recursive_descent"), args: &["20000"] },
    Traced { name: "expression_tree", shape: "visitors", source: Source::Sample("expression_tree"), args: &["10000"] },
    Traced { name: "event_simulation", shape: "closures", source: Source::Sample("event_simulation"), args: &["100000", "3"] },
    Traced { name: "work_queue", shape: "threads that wait", source: Source::Sample("work_queue"), args: &["400000", "4"] },
    Traced { name: "python_text", shape: "Python: phases", source: Source::Python("text.py"), args: &[] },
    Traced { name: "python_unparse", shape: "Python: very many contexts", source: Source::Python("unparse.py"), args: &["168"] },
    Traced { name: "c_formulas", shape: "C: recursion, phases", source: Source::C("formulas.c"), args: &["4000"] },
    Traced { name: "c_sorting", shape: "C: threads, function pointers", source: Source::C("sorting.c"), args: &["10000", "3"] },
];

/// `traces/` in the target folder.
pub fn folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let target = program.ancestors().nth(2).ok_or_else(|| format!("{} is in no target folder", program.display()))?;
    Ok(target.join("traces"))
}

impl Traced {
    pub fn path(&self) -> Result<PathBuf, String> {
        Ok(folder()?.join(self.name).with_extension("trace"))
    }

    /// All of it.
    pub fn load(&self) -> Result<Trace, String> {
        let path = self.path()?;
        let fail = |e: &dyn std::fmt::Display| format!("{}: {e}; `benches -- record-traces --again --only {}`", path.display(), self.name);
        let trace = Trace::load(File::open(&path).map_err(|e| fail(&e))?, Limits::default()).map_err(|e| fail(&e))?;
        match &trace.damage {
            Some(damage) => Err(fail(damage)),
            None if trace.lost > 0 => Err(fail(&format_args!("{} events were lost", trace.lost))),
            None => Ok(trace),
        }
    }
}

/// Those of these names, or all.
pub fn chosen(only: &[String]) -> Result<Vec<&'static Traced>, String> {
    if let Some(name) = only.iter().find(|name| !TRACED.iter().any(|traced| traced.name == name.as_str())) {
        let names: Vec<&str> = TRACED.iter().map(|traced| traced.name).collect();
        return Err(format!("no trace {name:?}; there are {}", names.join(", ")));
    }
    Ok(TRACED.iter().filter(|traced| only.is_empty() || only.iter().any(|name| name == traced.name)).collect())
}

/// As [`chosen`], without those that this machine could not record.
pub fn recorded(only: &[String]) -> Result<Vec<&'static Traced>, String> {
    let mut found = Vec::new();
    for traced in chosen(only)? {
        if traced.path()?.exists() {
            found.push(traced);
        } else {
            eprintln!("{} is not recorded: left out", traced.name);
        }
    }
    if found.is_empty() { Err("no trace is recorded: run `benches -- record-traces` first".into()) } else { Ok(found) }
}
