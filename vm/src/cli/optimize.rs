//! The optimizer as the command line drives it, and what it reports: time by pass, decisions by reason, every decision with its evidence.
//!
//! In: a lowered module and the flags. Out: [`Optimized`]; text.

use super::args::{InlineArg, OptArgs};
use crate::runtime::Symbols;
use crate::source::SourceMap;
use jit::ir::{CallSiteId, FuncId, Module};
use jit::opt::{self, Optimized, Options, PassSet, Probes, Timing};
use profiler::oracle::{InlineDecision, NoInlining, Oracle, StaticOracle, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;

/// `verify`: check the code after each pass, also in release builds.
pub fn optimize(module: Module, args: &OptArgs, probes: Probes, verify: bool) -> Optimized {
    let oracle: &dyn Oracle = match args.inline.unwrap_or(InlineArg::Static) {
        InlineArg::None => &NoInlining,
        InlineArg::Static => &StaticOracle::default(),
    };
    let options = Options { passes: args.passes.unwrap_or(PassSet::ALL), verify: verify || cfg!(debug_assertions), probes };
    opt::optimize(module, oracle, &options)
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

/// `--stage inline`: a paragraph for each function, a line for each call in it that could be inlined: the decision, the reason, the callee with its size in SSA instructions, and the positions of the call and of those
/// around it that were inlined before, innermost first.
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
            _ = writeln!(out, "  {what:<7}{word:<17}{:>5}  {}  {}", d.callee_size, module.funcs[d.callee].name, chain.join(" < "));
        }
        out.push('\n');
    }
    for (verdict, count) in verdicts(decisions) {
        let (word, clause) = verdict.reason();
        _ = writeln!(out, "{count:>7} {} {word}: {clause}", if verdict.is_inlined() { "inlined," } else { "called, " });
    }
    out
}

fn place(module: &Module, map: &SourceMap, site: CallSiteId) -> String {
    let call = module.call_sites[site];
    let caller = &module.funcs[call.caller].name;
    match map.position(call.loc) {
        Some(at) => format!("{caller} ({}:{}:{})", at.path, at.line, at.col),
        None => caller.to_string(),
    }
}
