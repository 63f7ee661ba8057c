//! The optimizer as the command line drives it, and what it reports: time by pass, decisions by reason, every decision with its evidence.
//!
//! In: a lowered module and the flags. Out: [`Optimized`], and the plan as a file; text.

use super::args::OptArgs;
use super::policy::Policy;
use crate::runtime::{Symbols, names};
use crate::source::SourceMap;
use jit::ir::{CallSiteId, FuncId, Module};
use jit::opt::{self, Optimized, Options, PassSet, Probes, Timing};
#[cfg(feature = "native")]
use profiler::oracle::Oracle;
use profiler::oracle::{Certainty, Evidence, InlineDecision, Verdict};
use profiler::plan::{self, About, Plan, Recorder};
use profiler::profile::Profile;
use profiler::program::Program;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
#[cfg(feature = "native")]
use std::sync::Arc;

/// A program to optimize.
pub struct Job<'a> {
    pub file: &'a Path,
    pub map: &'a SourceMap,
    pub args: &'a OptArgs,
    /// What `--profile-in` names.
    pub profile: Option<&'a Profile>,
    pub probes: Probes,
    /// Check the code after each pass, also in release builds.
    pub verify: bool,
    /// Say where a plan does not fit the program.
    pub warn: bool,
}

impl Job<'_> {
    /// Writes the plan, too.
    pub fn optimize(&self, module: Module) -> Result<Optimized, String> {
        let args = self.args;
        let program = self.program(&module);
        let Policy { oracle, name } = self.policy(&program)?;
        let options = self.options();
        let Some(path) = &args.plan_out else { return Ok(opt::optimize(module, &*oracle, &options)) };
        let recorder = Recorder::new(&*oracle);
        let optimized = opt::optimize(module, &recorder, &options);
        let plan = Plan::from_recorder(self.about(name), &program, recorder).map_err(|error| error.to_string())?;
        plan::write(&plan, path).map_err(|error| format!("{error}\nhint: choose another file with --plan-out"))?;
        Ok(optimized)
    }

    /// The program's names, if the policy looks them up: they take time and memory.
    fn program(&self, module: &Module) -> Program {
        if self.args.needs_names() { names::program(module, self.map) } else { Program::default() }
    }

    fn policy(&self, program: &Program) -> Result<Policy, String> {
        Policy::new(self.args, self.file, self.profile, program, self.warn)
    }

    /// Who decides what is inlined while the program runs, and what plans call that.
    #[cfg(feature = "native")]
    pub fn oracle(&self, module: &Module) -> Result<(Arc<dyn Oracle>, Box<str>), String> {
        let Policy { oracle, name } = self.policy(&self.program(module))?;
        Ok((oracle.into(), name))
    }

    /// How a plan came about.
    pub fn about(&self, policy: Box<str>) -> About {
        About { program: self.file.file_stem().unwrap_or_default().to_string_lossy().into(), policy }
    }

    pub fn options(&self) -> Options {
        let passes = self.args.passes.unwrap_or(PassSet::ALL);
        Options { passes, verify: self.verify || cfg!(debug_assertions), probes: self.probes }
    }
}

/// `--time-passes`: what took longest first.
pub fn time_table(optimized: &Optimized) -> String {
    let passes = optimized.timings.iter().map(|(pass, timing)| (pass.name(), *timing));
    let mut rows: Vec<(&str, Timing)> = passes.chain([("inlining", optimized.inlining)]).filter(|(_, t)| t.runs > 0).collect();
    rows.sort_by_key(|(_, t)| std::cmp::Reverse(t.time));
    let total = optimized.total.as_secs_f64();
    let share = |seconds: f64| 100.0 * seconds / total.max(f64::MIN_POSITIVE);
    let mut out = format!("{:<14} {:>10} {:>8} {:>8} {:>7}\n", "pass", "ms", "runs", "changed", "share");
    for (name, Timing { time, runs, changed }) in rows {
        let seconds = time.as_secs_f64();
        _ = writeln!(out, "{name:<14} {:>10.3} {runs:>8} {changed:>8} {:>5.1} %", seconds * 1e3, share(seconds));
    }
    _ = writeln!(out, "{:<14} {:>10.3} {:>8} {:>8} {:>5.1} %", "all", total * 1e3, "", "", 100.0);
    out
}

/// How often each reason decided.
pub fn verdicts<'a>(decisions: impl Iterator<Item = &'a InlineDecision>) -> BTreeMap<Verdict, u64> {
    let mut counts = BTreeMap::new();
    decisions.for_each(|d| *counts.entry(d.verdict).or_default() += 1);
    counts
}

/// `--stage inline`: a paragraph for each function, a line for each call in it that could be inlined: the decision, the reason, the callee with its size in SSA instructions, of how many it is one behind tests of the class, and the positions of the call and of those
/// around it that were inlined before, innermost first. Where a profile was asked, a second line says what it knows of the call, and what decided.
pub fn decisions<'a>(module: &Module, map: &SourceMap, decisions: impl Iterator<Item = &'a InlineDecision> + Clone) -> String {
    let mut roots: Vec<(FuncId, Vec<&InlineDecision>)> = Vec::new();
    for decision in decisions.clone() {
        match roots.last_mut().filter(|(root, _)| *root == decision.root) {
            Some((_, lines)) => lines.push(decision),
            None => roots.push((decision.root, vec![decision])),
        }
    }
    let mut out = String::new();
    for (root, lines) in roots {
        _ = writeln!(out, "{}", module.funcs[root].name);
        for d in lines {
            let (word, _) = d.verdict.reason();
            let what = if d.verdict.is_inlined() { "inline" } else { "call" };
            let chain: Vec<String> = [d.site].iter().chain(d.chain.iter().rev()).map(|&site| place(module, map, site)).collect();
            let of = match d.certainty {
                Certainty::Only => String::new(),
                Certainty::Guarded { targets } => format!(" (1 of {targets} targets)"),
            };
            _ = writeln!(out, "  {what:<7}{word:<17}{:>5}  {}{of}  {}", d.callee_size, module.funcs[d.callee].name, chain.join(" < "));
            d.evidence.iter().for_each(|evidence| _ = writeln!(out, "{:>32}{}", "", told(evidence)));
        }
        out.push('\n');
    }
    for (verdict, count) in verdicts(decisions) {
        let (word, clause) = verdict.reason();
        _ = writeln!(out, "{count:>7} {} {word}: {clause}", if verdict.is_inlined() { "inlined," } else { "called, " });
    }
    out
}

/// What the profile knows of the call, and the comparison that decided.
fn told(Evidence { seen, comparison, .. }: &Evidence) -> String {
    let error = seen.share_error().map_or("?".into(), |error| short(100.0 * error));
    let context = match seen.context {
        0 => String::new(),
        1 => " behind 1 call".into(),
        calls => format!(" behind {calls} calls"),
    };
    let (weight, share) = (short(seen.weight), short(100.0 * seen.share()));
    let (quantity, value, threshold) = (comparison.quantity.name(), short(comparison.value), short(comparison.threshold));
    format!("weight {weight}{context}, {share} ± {error} % of all calls; {quantity}: {value}, threshold {threshold}")
}

/// With three digits, and all before the point as long as these are exact.
pub fn short(number: f64) -> String {
    const MOST: i32 = 9;
    if number.abs() >= 1e15 {
        return format!("{number:.2e}");
    }
    let digits = if number == 0.0 { 0 } else { (2 - number.abs().log10().floor() as i32).clamp(0, MOST) };
    format!("{number:.*}", digits as usize)
}

fn place(module: &Module, map: &SourceMap, site: CallSiteId) -> String {
    let call = module.call_sites[site];
    let caller = &module.funcs[call.caller].name;
    match map.position(call.loc) {
        Some(at) => format!("{caller} ({}:{}:{})", at.path, at.line, at.col),
        None => caller.to_string(),
    }
}
