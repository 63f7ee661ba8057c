//! `--measure`: what single decisions are worth.
//!
//! In: an explanation; the program as it was optimized. Out: the explanation with benefits. Each decision is measured by two plans that differ in it, run in turn. What else comes out differently with the opposite is told: nothing,
//! unless the optimizer cannot help it.

use super::Subject;
use super::build::Built;
use super::model::{Benefit, Call};
use crate::cli::bench::{Compared, PlanPair, name_of, phase_title};
use crate::cli::temporary::Temporary;
use crate::cli::text;
use jit::ir::CallSiteId;
use jit::opt::Optimized;
use profiler::ids::FuncId;
use profiler::oracle::{InlineDecision, Oracle};
use profiler::plan::{self, About, Held, Outcome, Plan, Reach, Recorder, Toggle};
use std::collections::BTreeMap;
use std::path::Path;

/// The explanation with the benefits that could be measured, and why others could not.
pub fn measure(subject: &Subject<'_>, optimized: &Optimized, mut built: Built, most: usize) -> (Built, Option<String>) {
    let chosen = chosen(&built, most);
    if chosen.is_empty() {
        built.explanation.notes.push("there is no decision to measure: the profile has seen none of these calls".into());
        return (built, None);
    }
    let failed = measure_all(subject, optimized, &mut built, &chosen).err();
    if failed.is_some() {
        built.explanation.notes.push("not all that was to be measured was: an error came first".into());
    }
    (built, failed)
}

fn measure_all(subject: &Subject<'_>, optimized: &Optimized, built: &mut Built, chosen: &[usize]) -> Result<(), String> {
    if cfg!(debug_assertions) {
        text::complain("warning: this is a debug build of vm, whose times say nothing about a release build\n");
    }
    let folder = Temporary::new("explain")?;
    let (one, other) = (folder.file("as-decided.json"), folder.file("otherwise.json"));
    write(subject, subject.oracle, &one)?;
    for (at, &id) in chosen.iter().enumerate() {
        let toggle = &built.toggles[id];
        let call = &mut built.explanation.calls[id];
        let held = Held::new(&optimized.decisions, subject.oracle, toggle.clone());
        let otherwise = write(subject, &held, &other)?;
        if !has_flipped(&otherwise, toggle) {
            let (callee, line) = (&call.callee, call.line);
            built.explanation.notes.push(format!("{callee} on line {line} cannot be decided otherwise: there is no room for it"));
            continue;
        }
        let compared = compare(subject, &one, &other)?;
        let (callee, line, count) = (&call.callee, call.line, chosen.len());
        text::complain(&format!(
            "decision {} of {count}, {callee} on line {line}: {} in {:.1} s\n",
            at + 1,
            text::counted(compared.rounds as u64, "round"),
            compared.seconds
        ));
        call.benefit = Some(benefit(toggle, compared, also_changed(subject, optimized, &otherwise, toggle)));
    }
    Ok(())
}

/// The calls that are made most often, as far as they are known, each decision once.
fn chosen(built: &Built, most: usize) -> Vec<usize> {
    let weight = |call: &Call| call.evidence.as_ref().map_or(1.0, |evidence| evidence.weight);
    let mut calls: Vec<&Call> = built.explanation.calls.iter().filter(|call| call.selected && weight(call) > 0.0).collect();
    calls.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let mut chosen: Vec<usize> = Vec::new();
    for call in calls {
        if chosen.len() < most && chosen.iter().all(|&other| built.toggles[other] != built.toggles[call.id]) {
            chosen.push(call.id);
        }
    }
    chosen
}

/// The plan of what an oracle decides.
fn write(subject: &Subject<'_>, oracle: &dyn Oracle, path: &Path) -> Result<Optimized, String> {
    let recorder = Recorder::new(oracle);
    let optimized = subject.optimize(&recorder);
    let args = subject.args;
    let program = args.file.file_stem().unwrap_or_default().to_string_lossy().into();
    let about = About { program, policy: args.policy().kind().name().into() };
    let plan = Plan::from_recorder(about, subject.program, recorder).map_err(|error| error.to_string())?;
    plan::write(&plan, path).map_err(|error| error.to_string())?;
    Ok(optimized)
}

fn compare(subject: &Subject<'_>, one: &Path, other: &Path) -> Result<Compared, String> {
    let args = subject.args;
    let pair = PlanPair {
        file: &args.file,
        args: &args.args,
        one,
        other,
        passes: args.passes.clone(),
        memory: &args.memory,
        effort: &args.effort,
        seed: args.live.sampling.seed(),
    };
    pair.compare()
}

fn is_of(toggle: &Toggle, decision: &InlineDecision) -> bool {
    toggle.is_meant(decision.root, &decision.chain, decision.site, decision.callee)
}

fn has_flipped(otherwise: &Optimized, toggle: &Toggle) -> bool {
    let mut decisions = otherwise.decisions.iter().filter(|decision| is_of(toggle, decision));
    match toggle.outcome {
        Outcome::Inlined => decisions.any(|decision| decision.verdict.is_inlined()),
        Outcome::Called | Outcome::Virtual => decisions.all(|decision| !decision.verdict.is_inlined()),
    }
}

type Key<'a> = (FuncId, &'a [CallSiteId], CallSiteId, FuncId);

/// Whether each call was inlined in the end.
fn verdicts(optimized: &Optimized) -> BTreeMap<Key<'_>, bool> {
    let mut verdicts: BTreeMap<Key<'_>, bool> = BTreeMap::new();
    for d in &optimized.decisions {
        *verdicts.entry((d.root, &d.chain, d.site, d.callee)).or_default() |= d.verdict.is_inlined();
    }
    verdicts
}

fn also_changed(subject: &Subject<'_>, optimized: &Optimized, otherwise: &Optimized, toggle: &Toggle) -> Vec<String> {
    let (before, after) = (verdicts(optimized), verdicts(otherwise));
    let changed = before.into_iter().filter(|((root, chain, site, callee), inlined)| {
        let now = after.get(&(*root, *chain, *site, *callee));
        now.is_some_and(|now| now != inlined) && !toggle.is_meant(*root, chain, *site, *callee)
    });
    let functions = &subject.program.functions;
    let sites = &subject.program.sites;
    let told = |((root, _, site, callee), inlined): (Key<'_>, bool)| {
        let (root, callee) = (&functions[root].name, &functions[callee].name);
        format!("{callee} on line {} in {root}: {}", sites[site].line, if inlined { "called" } else { "inlined" })
    };
    changed.map(told).collect()
}

fn benefit(toggle: &Toggle, compared: Compared, also_changed: Vec<String>) -> Benefit {
    let time = name_of(&compared.time);
    let [calls, calls_otherwise] = compared.calls;
    let [code_bytes, code_bytes_otherwise] = compared.code_bytes;
    Benefit {
        reach: match toggle.reach {
            Reach::Here => "here",
            Reach::Everywhere => "everywhere",
        },
        otherwise: match toggle.outcome {
            Outcome::Inlined => "inlined",
            Outcome::Called => "called",
            Outcome::Virtual => "virtual",
        },
        speedup: compared.speedup.estimate,
        low: compared.speedup.low,
        high: compared.speedup.high,
        verdict: compared.verdict.to_string(),
        rounds: compared.rounds,
        phase: phase_title(compared.phase).into(),
        time,
        calls,
        calls_otherwise,
        code_bytes,
        code_bytes_otherwise,
        also_changed,
    }
}
