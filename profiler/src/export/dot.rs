//! The DCG as a graph for Graphviz.
//!
//! In: a profile. Out: one node a function, one arrow an edge (so several between two functions that call from several sites), as thick as it is hot, labelled with line, calls with standard error (that of the factor that all have in common included, as in reports), and share.
//! Cold edges are left out, and a note says how many they are and what they count.

use super::text;
use super::{ExportError, Format};
use crate::ids::FuncId;
use crate::names::name;
use crate::profile::{DcgEdge, Profile};
use std::collections::BTreeSet;
use std::io::Write;

/// The share of all calls from which an edge is shown.
const HOT: f64 = 0.005;
/// So many are shown however cold.
const FEWEST: usize = 40;
/// More cannot be read.
const MOST: usize = 300;
/// Of the hottest edge's arrow, in points beyond the 1 of the coldest.
const WIDTH: f64 = 7.0;

pub(super) fn check(profile: &Profile) -> Result<(), ExportError> {
    let has_contexts = profile.contexts().is_some_and(|contexts| contexts.total() > 0.0);
    if has_contexts && profile.dcg().is_empty() { Err(ExportError::NoEdges(Format::Dot)) } else { Ok(()) }
}

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), ExportError> {
    let total = profile.dcg_total();
    let mut edges: Vec<&DcgEdge> = profile.dcg().iter().filter(|edge| edge.weight > 0.0).collect();
    edges.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.edge.cmp(&b.edge)));
    let shown = edges.iter().enumerate().take(MOST).take_while(|(at, edge)| *at < FEWEST || edge.weight >= HOT * total).count();
    let (shown, cold) = edges.split_at(shown);

    writeln!(out, "digraph {} {{", quoted(&profile.meta().program))?;
    let title = format!("{}\ncalls by edge (DCG), {} in total", profile.meta(), text::calls(total));
    writeln!(out, "  graph [label={}, labelloc=t];", quoted(&title))?;
    writeln!(out, "  node [shape=box];")?;
    write_nodes(profile, shown, out)?;
    for edge in shown {
        write_edge(profile, edge, total, shown[0].weight, out)?;
    }
    if !cold.is_empty() {
        let weight: f64 = cold.iter().map(|edge| edge.weight).sum();
        let (edges, calls) = (text::counted(cold.len() as u64, "colder edge"), text::counted(weight.round() as u64, "call"));
        let note = format!("not shown: {edges}\nwith {calls} ({:.2} %)", 100.0 * weight / total);
        writeln!(out, "  cold [shape=note, label={}];", quoted(&note))?;
    }
    writeln!(out, "}}")?;
    Ok(())
}

fn write_nodes(profile: &Profile, edges: &[&DcgEdge], out: &mut dyn Write) -> Result<(), ExportError> {
    let program = profile.program();
    if edges.iter().any(|edge| program.caller(edge.edge).is_none()) {
        writeln!(out, "  start [shape=point, xlabel=\"thread start\"];")?;
    }
    let functions: BTreeSet<FuncId> =
        edges.iter().flat_map(|edge| program.caller(edge.edge).into_iter().chain([program.callee(edge.edge)])).collect();
    for id in functions {
        let function = &program.functions[id];
        let label = match (&*function.file, function.line) {
            ("", _) => name(function).to_owned(),
            (file, 0) => format!("{}\n{file}", name(function)),
            (file, line) => format!("{}\n{file}:{line}", name(function)),
        };
        writeln!(out, "  f{} [label={}];", id.as_u32(), quoted(&label))?;
    }
    Ok(())
}

fn write_edge(profile: &Profile, edge: &DcgEdge, total: f64, hottest: f64, out: &mut dyn Write) -> Result<(), ExportError> {
    let program = profile.program();
    let from = program.caller(edge.edge).map_or("start".into(), |caller| format!("f{}", caller.as_u32()));
    let to = program.callee(edge.edge).as_u32();
    let line = program.edges()[edge.edge].site.expand().map_or(0, |site| program.sites[site].line);
    let mut label = if line > 0 { format!("line {line}\n") } else { String::new() };
    let error = edge.error.map(|error| error.hypot(profile.scale_error() * edge.weight)).filter(|&error| error > 0.0);
    label += &match error {
        Some(error) => format!("{} ± {} calls", text::calls(edge.weight), text::grouped(error.ceil() as u64)),
        None => text::counted(edge.weight.round() as u64, "call"),
    };
    label += &format!("\n{:.2} %", 100.0 * edge.weight / total);
    let width = 1.0 + WIDTH * edge.weight / hottest;
    writeln!(out, "  {from} -> f{to} [label={}, penwidth={width:.2}];", quoted(&label))?;
    Ok(())
}

/// A quoted string of the DOT language. Line breaks become its `\n`, other control characters visible signs.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            // Labels are read like HTML in this one respect.
            '&' => quoted.push_str("&amp;"),
            _ => quoted.push(text::control_picture(c)),
        }
    }
    quoted.push('"');
    quoted
}
