//! A comparison as a table for people.
//!
//! In: [`Diff`]. Out: text, one edge a line, control characters in names escaped.

use super::{Diff, EdgeChange, FunctionName, HotEdgeCoverage, MatchedBy, Side};
use crate::words::counted;
use std::fmt::{self, Display};

impl Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (which, Side { title, calls, dropped }) in [("before: ", &self.before), ("after:  ", &self.after)] {
            let dropped = if *dropped > 0 { format!("; {} without a context", counted(*dropped, "observation")) } else { String::new() };
            writeln!(f, "{which}{} ({}{dropped})", printable(title), counted(calls.round() as u64, "call"))?;
        }
        if self.matched_by == MatchedBy::Names {
            writeln!(f, "One of them knows functions by their names alone: all calls from one function to another are one edge here.")?;
        }
        writeln!(f)?;
        writeln!(f, "degree of overlap, edges     {:>9}", percent(self.overlap))?;
        if self.context_overlap.is_some() {
            writeln!(f, "degree of overlap, contexts  {:>9}", percent(self.context_overlap))?;
        }
        for HotEdgeCoverage { threshold, before_over_after, after_over_before } in &self.hot_edge_coverage {
            let label = format!("hot-edge coverage, T = {threshold}");
            let (forth, back) = (percent(*before_over_after), percent(*after_over_before));
            writeln!(f, "{label:<28} {forth:>9} of the hot edges after were hot before, {back} the other way round")?;
        }
        writeln!(f, "edges in both {}, only before {}, only after {}", self.edges.both, self.edges.only_before, self.edges.only_after)?;
        if self.changed == 0 {
            return writeln!(f, "no edge's share changed");
        }
        if self.changes.is_empty() {
            return Ok(());
        }
        writeln!(f)?;
        writeln!(
            f,
            "{:>9} {:>9} {:>19}  edge (share of all calls, change in percentage points ± standard error)",
            "before", "after", "change"
        )?;
        self.changes.iter().try_for_each(|change| write_change(change, f))
    }
}

fn write_change(change: &EdgeChange, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let error = match change.error {
        Some(0.0) => String::new(),
        Some(error) => format!(" ± {error:.2}"),
        None => " ± unknown".into(),
    };
    let difference = format!("{:+.2}{error}", change.change());
    let edge = arrow(change.caller.as_ref(), change.line, &change.callee);
    writeln!(f, "{:>7.2} % {:>7.2} % {difference:>19}  {edge}", change.share_before, change.share_after)
}

/// An edge: caller, line of the call, callee.
pub(crate) fn arrow(caller: Option<&FunctionName>, line: u32, callee: &FunctionName) -> String {
    let caller = caller.map_or("(thread start)".into(), text);
    let line = if line > 0 { format!(" line {line}") } else { String::new() };
    format!("{caller}{line} → {}", text(callee))
}

/// A function with where it stands.
pub(crate) fn text(function: &FunctionName) -> String {
    let FunctionName { name, file, line } = function;
    match (&**file, line) {
        ("", 0) => printable(name),
        (file, line) => format!("{} ({}:{line})", printable(name), printable(file)),
    }
}

/// A name cannot break lines or move the cursor.
pub(crate) fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if c.is_control() {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
        shown
    })
}

pub(crate) fn percent(value: Option<f64>) -> String {
    value.map_or("–".into(), |value| format!("{value:.2} %"))
}
