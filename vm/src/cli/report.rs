//! `--stats`: what a run took, as a table on stderr.

use super::optimize::verdicts;
use super::run::Tier;
use crate::runtime::Runtime;
#[cfg(feature = "native")]
use crate::runtime::adaptive::Summary;
use jit::opt::Optimized;
use profiler::oracle::InlineDecision;
use std::fmt::Write;
use std::time::Duration;

pub fn stats(times: &[(&'static str, Duration)], optimized: Option<&Optimized>, runtime: &Runtime, tier: &Tier, run: Duration) -> String {
    let mut out = String::new();
    for (stage, time) in times {
        row(&mut out, &format!("compile.{stage}"), &millis(time.as_nanos() as u64), "front end");
    }
    row(&mut out, "compile.instances", &runtime.module.funcs.len().to_string(), "functions lowered");
    if let Some(optimized) = optimized {
        opt_rows(&mut out, optimized);
    }
    native_rows(&mut out, tier);
    row(&mut out, "run", &millis(run.as_nanos() as u64), "from loading the module to the program's end");
    for metric in runtime.metrics.rows() {
        let value = match metric.unit {
            "ns" => millis(metric.value),
            "bytes" => bytes(metric.value),
            _ => metric.value.to_string(),
        };
        row(&mut out, metric.name, &value, metric.description);
    }
    out
}

/// What the adaptive tier has compiled.
#[cfg(feature = "native")]
pub fn adaptive(summary: &Summary) -> String {
    let mut out = String::new();
    row(&mut out, "adaptive.functions", &summary.functions.to_string(), "functions compiled with optimization");
    row(&mut out, "adaptive.again", &summary.again.to_string(), "of these, compiled anew since the profile had moved");
    row(&mut out, "adaptive.loops", &summary.loops.to_string(), "loops compiled for calls that stood in them");
    row(&mut out, "adaptive.discarded", &summary.discarded.to_string(), "functions whose code was given up since nothing ran it any more");
    row(&mut out, "adaptive.discarded-loops", &summary.discarded_loops.to_string(), "loops of which the same holds");
    row(&mut out, "adaptive.refused", &summary.refused.to_string(), "functions and loops for which there can be no such code");
    row(&mut out, "adaptive.time", &millis(summary.time.as_nanos() as u64), "that the compile thread has worked beside the program");
    row(&mut out, "adaptive.optimizer", &millis(summary.optimizing.as_nanos() as u64), "of it, in the optimizer");
    inlining_rows(&mut out, summary.decisions.iter());
    out
}

fn opt_rows(out: &mut String, optimized: &Optimized) {
    row(out, "opt.time", &millis(optimized.total.as_nanos() as u64), "time in the optimizer, inlining included");
    row(out, "opt.inlining", &millis(optimized.inlining.time.as_nanos() as u64), "of it, in the inliner itself");
    inlining_rows(out, optimized.decisions.iter());
}

fn inlining_rows<'a>(out: &mut String, decisions: impl Iterator<Item = &'a InlineDecision>) {
    for (verdict, count) in verdicts(decisions) {
        let (word, clause) = verdict.reason();
        let (name, what) = if verdict.is_inlined() { ("inline.yes", "calls inlined") } else { ("inline.no", "calls not inlined") };
        row(out, &format!("{name}.{word}"), &count.to_string(), &format!("{what}: {clause}"));
    }
}

#[cfg(feature = "native")]
fn native_rows(out: &mut String, tier: &Tier) {
    let Tier::Native(engine) = tier else { return };
    let engine = engine.inner();
    let stats = engine.stats();
    let compiled = stats.compiled();
    row(out, "native.functions", &compiled.versions.to_string(), "functions compiled to machine code");
    row(out, "native.compile", &millis(compiled.nanos), "time in Cranelift and its lowering");
    row(out, "native.code", &bytes(stats.code_bytes), "machine code");
    row(out, "native.retired", &bytes(engine.retired_bytes()), "of it, code that was replaced and is not freed yet");
    let optimized = engine.bytes_in_use(jit::native::Level::Optimized);
    row(out, "native.optimized", &bytes(optimized), "of it, optimized code in use");
    row(out, "native.freed", &stats.freed.to_string(), "pieces of code that were replaced and are freed");
    row(out, "native.tables", &bytes(stats.table_bytes), "tables that describe it: traps, frames, positions");
}

#[cfg(not(feature = "native"))]
fn native_rows(_: &mut String, _: &Tier) {}

fn row(out: &mut String, name: &str, value: &str, description: &str) {
    let _ = writeln!(out, "{name:<27} {value:>14}  {description}");
}

fn millis(nanos: u64) -> String {
    format!("{:.3} ms", nanos as f64 / 1e6)
}

/// With a binary unit from 10 KiB on.
fn bytes(n: u64) -> String {
    match n {
        0..10_240 => format!("{n} B"),
        10_240..10_485_760 => format!("{:.1} KiB", n as f64 / 1024.0),
        _ => format!("{:.1} MiB", n as f64 / (1 << 20) as f64),
    }
}
