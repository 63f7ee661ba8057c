//! A report as a table for people.
//!
//! In: [`Report`]. Out: text, an edge or a context a line, control characters in names escaped.

use super::{Agreement, HotContext, HotEdge, HotFunction, Inlined, PolymorphicSite, Report, Structure, Target, Weighed};
use crate::counters::Counters;
use crate::diff::{arrow, percent, printable, text};
use crate::estimate::share;
use crate::export::{counted, grouped};
use crate::words::plural;
use std::fmt::{self, Display};

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", printable(&self.title))?;
        let seconds = self.nanoseconds / 1e9;
        let cost = self.cost.map_or(String::new(), |cost| format!("; cost {cost:.3} % of its threads' time"));
        writeln!(f, "{} profiled in a run of {seconds:.6} s{cost}", counted(self.calls.round() as u64, "call"))?;
        self.write_inlined(f)?;
        self.write_functions(f)?;
        self.write_edges(f)?;
        self.write_sites(f)?;
        self.write_contexts(f)?;
        self.write_accuracy(f)?;
        self.write_work(f)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))?;
        self.diff.iter().try_for_each(|diff| write!(f, "\nagainst the earlier profile\n{diff}"))
    }
}

fn write_structure(structure: &Structure, calls: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Structure { name, nodes, bytes, dropped, dropped_weight } = structure;
    let (nodes, plural, bytes) = (grouped(*nodes as u64), plural(*nodes as u64), counted(*bytes as u64, "byte"));
    write!(f, "  {:<19} {nodes:>15}  node{plural} of the {name}, {bytes}", "contexts")?;
    match dropped {
        0 => writeln!(f, ", nothing dropped"),
        dropped => {
            let without = 100.0 * share(*dropped_weight, calls);
            writeln!(f, ", {} dropped since it is full: {without:.2} % of all calls have no context", counted(*dropped, "observation"))
        }
    }
}

impl Report {
    /// What is not among the calls, as far as that is known.
    fn write_inlined(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(unseen) = self.unseen {
            writeln!(f, "{unseen:.2} % of all calls are not among them: the optimizer inlined them")?;
        }
        let Some(Inlined { share, frames, calls }) = self.inlined else { return Ok(()) };
        let (frames, calls) = (counted(frames, "frame"), counted(calls, "observed call"));
        writeln!(f, "{share:.2} % of the {frames} on the stacks of {calls} are of inlined functions, whose calls are not counted")?;
        if self.unseen.is_none() {
            writeln!(
                f,
                "  (that is no share of calls: inlined functions that call nothing are on no such stack; --check tells the share)"
            )?;
        }
        Ok(())
    }

    /// What the profiler did, and what that took.
    fn write_work(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nthe profiler's own work")?;
        let times = [
            (
                "slow-paths",
                self.slow_paths,
                "in which the program's threads took samples; what counting takes in their own code is not in it",
            ),
            ("organizer", self.organizer, "that the profiler's own thread worked beside them"),
        ];
        for (name, time, what) in times {
            if let Some(nanoseconds) = time {
                writeln!(f, "  {name:<19} {:>15}  {what}", milliseconds(nanoseconds))?;
            }
        }
        for (counter, _) in Counters::default().all() {
            let value = self.counters.get(counter.name).copied().unwrap_or(0);
            // That nothing was lost is worth a line.
            if value > 0 || counter.name == "samples-dropped" {
                let value = match counter.unit {
                    "ns" => milliseconds(value as f64),
                    _ => grouped(value),
                };
                writeln!(f, "  {:<19} {value:>15}  {}", counter.name, counter.description)?;
            }
        }
        writeln!(f, "  {:<19} {:>15}  that were seen", "edges", grouped(self.edges as u64))?;
        self.contexts.iter().try_for_each(|structure| write_structure(structure, self.calls, f))
    }

    fn write_functions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hottest_functions.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{WEIGHT}  hottest functions")?;
        for HotFunction { function, calls, edges } in &self.hottest_functions {
            let places = counted(*edges as u64, "place");
            writeln!(f, "{}  {}, called from {places}", weighed(calls), text(function))?;
        }
        Ok(())
    }

    fn write_sites(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.polymorphic_sites.is_empty() {
            return Ok(());
        }
        let count = match self.polymorphic {
            1 => "the call site".into(),
            count if count > self.polymorphic_sites.len() => format!("hottest of {} call sites", grouped(count as u64)),
            count => format!("the {count} call sites"),
        };
        writeln!(f, "\n{WEIGHT}  {count} that called more than one function")?;
        for PolymorphicSite { caller, line, calls, targets } in &self.polymorphic_sites {
            let line = if *line > 0 { format!(" line {line}") } else { String::new() };
            writeln!(f, "{}  {}{line}", weighed(calls), text(caller))?;
            for Target { callee, weight, share, samples } in targets {
                writeln!(
                    f,
                    "{:>15} {:>13} {share:>7.2} % {:>8} {:>12}    → {}",
                    rounded(*weight),
                    "of these",
                    "",
                    grouped(*samples),
                    text(callee)
                )?;
            }
        }
        Ok(())
    }

    fn write_accuracy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(accuracy) = &self.accuracy else { return Ok(()) };
        write!(f, "\n{:<27} {:>10}", "against the exact profile", "overlap")?;
        for coverage in &accuracy.edges.hot_edge_coverage {
            write!(f, " {:>14}", format!("hot, T = {}", coverage.threshold))?;
        }
        writeln!(f, " {:>12}", "correlation")?;
        write_agreement("edges", &accuracy.edges, f)?;
        accuracy.contexts.iter().try_for_each(|contexts| write_agreement("contexts", contexts, f))
    }

    fn write_edges(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hottest_edges.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{WEIGHT}  hottest edges")?;
        for HotEdge { caller, line, callee, calls } in &self.hottest_edges {
            writeln!(f, "{}  {}", weighed(calls), arrow(caller.as_ref(), *line, callee))?;
        }
        Ok(())
    }

    fn write_contexts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hottest_contexts.is_empty() {
            return Ok(());
        }
        let structure = self.contexts.as_ref().map_or(String::new(), |structure| format!(" of the {}", structure.name));
        writeln!(f, "\n{WEIGHT}  hottest contexts{structure}")?;
        for HotContext { frames, omitted, calls } in &self.hottest_contexts {
            let names: Vec<String> = frames.iter().map(|frame| printable(&frame.name)).collect();
            let omitted = if *omitted > 0 { format!("({} more) → ", grouped(*omitted as u64)) } else { String::new() };
            writeln!(f, "{}  {omitted}{}", weighed(calls), names.join(" → "))?;
        }
        Ok(())
    }
}

fn write_agreement(of: &str, agreement: &Agreement, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{:<27} {:>10}", format!("  {of}"), percent(agreement.overlap))?;
    for coverage in &agreement.hot_edge_coverage {
        write!(f, " {:>14}", percent(coverage.covered))?;
    }
    writeln!(f, " {:>12}", agreement.correlation.map_or("–".into(), |correlation| format!("{correlation:.4}")))
}

/// The head of the columns that [`weighed`] fills.
const WEIGHT: &str = "          calls       ± error     share  ± error     observed";

fn weighed(calls: &Weighed) -> String {
    let error = calls.error.map_or("unknown".into(), rounded);
    let share_error = calls.share_error.map_or("unknown".into(), |error| format!("{error:.2} %"));
    format!("{:>15} {error:>13} {:>7.2} % {share_error:>8} {:>12}", rounded(calls.weight), calls.share, grouped(calls.samples))
}

fn milliseconds(nanoseconds: f64) -> String {
    format!("{:.3} ms", nanoseconds / 1e6)
}

/// Whole calls.
fn rounded(weight: f64) -> String {
    grouped(weight.round() as u64)
}
