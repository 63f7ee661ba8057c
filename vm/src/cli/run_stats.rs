//! `--stats-out`: what `--stats` reports, for programs to read; `vm bench` does.
//!
//! In: a run that has ended. Out: [`RunStats`] as JSON; times in nanoseconds, sizes in bytes. Fields are added with time, and mean the same as long as [`VERSION`] does not change.

use super::optimize::verdicts;
use super::run::Tier;
use crate::runtime::{Iteration, Runtime};
use jit::opt::Optimized;
use profiler::oracle::InlineDecision;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

pub const VERSION: u32 = 1;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunStats {
    pub version: u32,
    /// The program's.
    pub exit_code: u8,
    /// Time of each stage of the front end.
    pub front_end_ns: BTreeMap<String, u64>,
    /// Functions that the front end made.
    pub instances: u64,
    /// `None` on tiers that do not optimize.
    pub optimizer: Option<OptimizerStats>,
    /// `None` where nothing became machine code.
    pub code: Option<CodeStats>,
    /// From loading the module to the program's end.
    pub run_ns: u64,
    /// The program's runs in this process.
    pub iterations: Vec<IterationStats>,
    /// Calls that were made, where a profiler counted them; calls that were inlined are in it only with `--profile-inlined`.
    pub calls: Option<u64>,
    /// The runtime's counters by name: nanoseconds, bytes, or how often.
    pub counters: BTreeMap<String, u64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OptimizerStats {
    /// Time in the optimizer, inlining included.
    pub time_ns: u64,
    /// The inliner's share of it.
    pub inlining_ns: u64,
    /// Calls that were inlined.
    pub inlined: u64,
    /// Calls that could have been, and were not.
    pub not_inlined: u64,
    /// How often each reason decided.
    pub reasons: BTreeMap<String, u64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CodeStats {
    /// Compiled functions.
    pub functions: u64,
    /// Time in the code generator.
    pub compile_ns: u64,
    /// Machine code with its constants.
    pub code_bytes: u64,
    /// Of it, what was replaced and is not freed yet.
    #[serde(default)]
    pub retired_bytes: u64,
    /// What the optimizer made and is in use; `None` from builds that did not tell.
    #[serde(default)]
    pub optimized_bytes: Option<u64>,
    /// Tables that describe it.
    pub table_bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct IterationStats {
    /// When it began, by the system's monotonic clock; `None` where there is none, and from builds that did not tell.
    #[serde(default)]
    pub begun_ns: Option<u64>,
    pub wall_ns: u64,
    /// Of all the process's threads, in user and in system mode; `None` where the system does not tell.
    pub cpu_ns: Option<u64>,
    /// Of that, what the program's main thread has used; `None` from builds that did not tell, too.
    #[serde(default)]
    pub thread_ns: Option<u64>,
}

impl RunStats {
    pub fn new(
        times: &[(&'static str, Duration)],
        optimized: Option<&Optimized>,
        runtime: &Runtime,
        tier: &Tier,
        run: Duration,
    ) -> RunStats {
        RunStats {
            version: VERSION,
            exit_code: 0,
            front_end_ns: times.iter().map(|(stage, time)| ((*stage).to_owned(), nanos(*time))).collect(),
            instances: runtime.module.funcs.len() as u64,
            optimizer: optimized.map(|o| OptimizerStats::new(o.total, o.inlining.time, o.decisions.iter())),
            code: code(tier),
            run_ns: nanos(run),
            iterations: runtime.iterations.all().into_iter().map(IterationStats::new).collect(),
            calls: None,
            counters: runtime.metrics.rows().into_iter().map(|row| (row.name.to_owned(), row.value)).collect(),
        }
    }

    /// In the optimizer and the code generator.
    pub fn compile_ns(&self) -> u64 {
        self.optimizer.as_ref().map_or(0, |o| o.time_ns) + self.code.as_ref().map_or(0, |code| code.compile_ns)
    }

    pub fn write(&self, path: &Path) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", path.display());
        let text = serde_json::to_string_pretty(self).map_err(|e| failed(&e))?;
        std::fs::write(path, text + "\n").map_err(|e| failed(&e))
    }

    pub fn read(path: &Path) -> Result<RunStats, String> {
        let failed = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| failed(&e))?;
        serde_json::from_str(&text).map_err(|e| failed(&e))
    }
}

impl OptimizerStats {
    pub fn new<'a>(time: Duration, inlining: Duration, decisions: impl Iterator<Item = &'a InlineDecision>) -> OptimizerStats {
        let verdicts = verdicts(decisions);
        let count = |inlined: bool| verdicts.iter().filter(|(verdict, _)| verdict.is_inlined() == inlined).map(|(_, count)| count).sum();
        OptimizerStats {
            time_ns: nanos(time),
            inlining_ns: nanos(inlining),
            inlined: count(true),
            not_inlined: count(false),
            reasons: verdicts.iter().map(|(verdict, &count)| (verdict.reason().0.to_owned(), count)).collect(),
        }
    }
}

impl IterationStats {
    fn new(iteration: Iteration) -> IterationStats {
        IterationStats {
            begun_ns: iteration.begun,
            wall_ns: nanos(iteration.wall),
            cpu_ns: iteration.cpu.map(nanos),
            thread_ns: iteration.thread.map(nanos),
        }
    }
}

#[cfg(feature = "native")]
fn code(tier: &Tier) -> Option<CodeStats> {
    let Tier::Native(engine) = tier else { return None };
    let engine = engine.inner();
    let (stats, retired_bytes) = (engine.stats(), engine.retired_bytes());
    let optimized_bytes = Some(engine.bytes_in_use(jit::native::Level::Optimized));
    let jit::native::Compiled { versions, nanos } = stats.compiled();
    let jit::native::Stats { code_bytes, table_bytes, .. } = stats;
    Some(CodeStats { functions: versions, compile_ns: nanos, code_bytes, retired_bytes, optimized_bytes, table_bytes })
}

#[cfg(not(feature = "native"))]
fn code(_: &Tier) -> Option<CodeStats> {
    None
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
