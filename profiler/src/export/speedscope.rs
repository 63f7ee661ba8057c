//! speedscope's file format: frames, and the openings and closings of frames along an axis of calls.
//!
//! In: a profile. Out: JSON of the schema <https://www.speedscope.app/file-format-schema.json>, an evented profile, which grows with the tree and not with the length of stacks. The axis has calls on it, not time; it is not rounded.

use super::ExportError;
use super::links::Visit;
use super::stacks::{Order, Stacks};
use super::text;
use crate::names::name;
use crate::profile::Profile;
use cranelift_entity::EntityRef;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: [Evented; 1],
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    line: u32,
}

fn is_zero(line: &u32) -> bool {
    *line == 0
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Evented {
    r#type: &'static str,
    name: String,
    /// The schema knows times and bytes; calls are neither.
    unit: &'static str,
    start_value: f64,
    end_value: f64,
    events: Vec<Event>,
}

#[derive(Serialize)]
struct Event {
    r#type: Kind,
    /// An index of `frames`.
    frame: usize,
    /// Calls counted before.
    at: f64,
}

#[derive(Serialize)]
enum Kind {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), ExportError> {
    let functions = profile.program().functions.values();
    let frames = functions.map(|function| Frame { name: name(function), file: &function.file, line: function.line }).collect();
    let stacks = Stacks::new(profile, Order::Calls);
    let mut at = 0.0;
    let mut events = Vec::new();
    for visit in stacks.walk() {
        let (kind, id, weight) = match visit {
            Visit::Enter(id) => (Kind::Open, id, stacks.get(id).weight),
            Visit::Leave(id) => (Kind::Close, id, 0.0),
        };
        events.push(Event { r#type: kind, frame: stacks.get(id).function.index(), at });
        at += weight;
    }
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: concat!("profiler ", env!("CARGO_PKG_VERSION")),
        name: profile.meta().to_string(),
        active_profile_index: 0,
        shared: Shared { frames },
        profiles: [Evented { r#type: "evented", name: text::what(profile), unit: "none", start_value: 0.0, end_value: at, events }],
    };
    serde_json::to_writer(out, &file)?;
    Ok(())
}
