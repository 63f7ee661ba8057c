//! An explanation for the terminal: a tree for each function, a line for each call, and below it the evidence.

use super::model::{Benefit, Call, Evidence, Explanation, Function};
use crate::cli::optimize::short;
use crate::cli::text::counted;
use std::fmt::Write;

/// `all`: also calls that the profile has not seen.
pub fn text(explanation: &Explanation, all: bool) -> String {
    let mut out = head(explanation);
    let is_shown = shown(explanation, all);
    for (at, function) in explanation.functions.iter().enumerate() {
        let calls: Vec<&Call> = explanation.calls.iter().filter(|call| call.function == at).collect();
        let hidden = calls.iter().filter(|call| !is_shown[call.id]).count();
        if hidden == calls.len() {
            continue;
        }
        _ = writeln!(out, "\n{}", root(function));
        calls.iter().filter(|call| is_shown[call.id]).for_each(|call| put(&mut out, explanation, call));
        if hidden > 0 {
            let (s, are) = if hidden == 1 { ("", "is") } else { ("s", "are") };
            _ = writeln!(out, "  ({hidden} call{s} that the profile has not seen {are} left out; --all shows all)");
        }
    }
    out
}

fn head(explanation: &Explanation) -> String {
    let Explanation { program, policy, profile, resamples, checked, notes, .. } = explanation;
    let mut out = format!("{program}: what is inlined by the policy {policy}\n");
    if let Some(profile) = profile {
        let samples = profile.samples.map_or(String::new(), |samples| format!(", known from {samples}"));
        _ = writeln!(out, "profile of {}; {} calls{samples}", profile.description, short(profile.calls));
        _ = writeln!(out, "stability: how many of {resamples} profiles drawn anew from the samples decide the same");
        if !checked {
            _ = writeln!(out, "--check tells what an exhaustive profile would have decided");
        }
    }
    notes.iter().for_each(|note| _ = writeln!(out, "note: {note}"));
    out
}

/// By call: whether it, or one that came in with it, has been seen.
fn shown(explanation: &Explanation, all: bool) -> Vec<bool> {
    let is_seen = |call: &Call| all || call.evidence.as_ref().is_none_or(|evidence| evidence.weight > 0.0);
    let mut shown: Vec<bool> = explanation.calls.iter().map(is_seen).collect();
    for call in explanation.calls.iter().rev() {
        if let (true, Some(parent)) = (shown[call.id], call.parent) {
            shown[parent] = true;
        }
    }
    shown
}

fn root(function: &Function) -> String {
    match function.line {
        0 => function.name.clone(),
        line => format!("{} ({}:{line})", function.name, function.file),
    }
}

fn put(out: &mut String, explanation: &Explanation, call: &Call) {
    let depth = std::iter::successors(call.parent, |&parent| explanation.calls[parent].parent).count();
    let indent = "  ".repeat(depth + 1);
    let verdict = if call.inlined { "inline" } else { "call" };
    let place = if call.line == 0 { String::new() } else { format!(", line {}", call.line) };
    let targets = call.targets.map_or(String::new(), |targets| format!(", 1 of {targets} targets"));
    let (callee, reason, size) = (&call.callee, call.reason, call.callee_size);
    _ = writeln!(out, "{indent}{verdict} {callee} ({reason}{place}{targets}, size {size})");
    if !call.selected {
        return;
    }
    let mut line = |text: &str| _ = writeln!(out, "{indent}    {text}");
    if let Some(function) = &call.decided_in {
        line(&format!("decided for all copies of {function}"));
    }
    if let Some(evidence) = &call.evidence {
        line(&seen(evidence));
        line(&decided(evidence, call.inlined));
        line(&sure(evidence, call.inlined));
    }
    if let Some(benefit) = &call.benefit {
        line(&worth(benefit, call.inlined));
        benefit.also_changed.iter().for_each(|other| line(&format!("and with it changed {other}")));
    }
}

fn error(error: Option<f64>) -> String {
    error.map_or("?".into(), short)
}

fn seen(evidence: &Evidence) -> String {
    let Evidence { weight, share, share_error, context, edge_weight, edge_error, edge_raw_weight, .. } = evidence;
    let behind = match context {
        0 => String::new(),
        calls => format!(" behind {}", counted(u64::from(*calls), "call")),
    };
    let raw = edge_raw_weight.map_or("unknown".into(), short);
    let (weight, share, edge) = (weight_with(*weight, evidence.error), short(*share), weight_with(*edge_weight, *edge_error));
    format!(
        "weight {weight}{behind}, {share} ± {} % of all calls; the edge in any context: corrected {edge}, raw {raw}",
        error(*share_error)
    )
}

fn weight_with(weight: f64, of: Option<f64>) -> String {
    format!("{} ± {}", short(weight), error(of))
}

/// In percent: no profile tells such a share from none.
const NEVER: f64 = 1e-9;

fn decided(evidence: &Evidence, inlined: bool) -> String {
    let Evidence { cost, quantity, value, threshold, flip, .. } = evidence;
    let flips = match flip {
        None => "no share of the calls would flip it".to_owned(),
        Some(flip) if flip.share < NEVER => {
            format!("would flip {}", if inlined { "if it were never seen" } else { "if it were seen at all" })
        }
        Some(flip) => {
            let away = flip.errors.map_or(String::new(), |errors| format!(" ({} standard errors away)", short(errors)));
            let (share, way) = (short(flip.share), if inlined { "below" } else { "from" });
            format!("would flip {way} {share} %{away}")
        }
    };
    format!("cost {}; {quantity}: {}, threshold {}; {flips}", short(*cost), short(*value), short(*threshold))
}

fn sure(evidence: &Evidence, inlined: bool) -> String {
    let stability = evidence.stability.map_or("unknown".into(), |part| format!("{:.1} %", 100.0 * part));
    let regret = evidence.regret.as_ref().map_or(String::new(), |regret| {
        let exact = format!("{} calls, {} %", short(regret.weight), short(regret.share));
        if regret.verdict.inlined == inlined {
            return format!("; regret 0: so decides the exhaustive profile ({exact})");
        }
        let opposite = if regret.verdict.inlined { "inline" } else { "call" };
        format!("; regret {} calls: the exhaustive profile ({exact}) decides {opposite} ({})", short(regret.calls), regret.verdict.reason)
    });
    let size = &evidence.by_size;
    let by_size = format!("{} ({})", if size.inlined { "inline" } else { "call" }, size.reason);
    format!("stability {stability}{regret}; without a profile: {by_size}")
}

/// The interval says whether there is a difference.
fn worth(benefit: &Benefit, inlined: bool) -> String {
    let Benefit { otherwise, speedup, low, high, verdict, rounds, phase, time, calls, calls_otherwise, .. } = benefit;
    let interval = low.zip(*high).map_or(String::new(), |(low, high)| format!(" ({low:.3}–{high:.3})"));
    let what = format!("{} against {otherwise}", if inlined { "inlined" } else { "called" });
    let calls = match (calls, calls_otherwise) {
        (Some(calls), Some(otherwise)) => format!("; {} in a run against {otherwise}", counted(*calls, "call")),
        _ => String::new(),
    };
    let rounds = counted(*rounds as u64, "round");
    let reach = if benefit.reach == "everywhere" { ", in all copies" } else { "" };
    format!("measured, {what}{reach}: {verdict}, {speedup:.3}{interval} × in {rounds}, {time} time of the {phase}{calls}")
}
