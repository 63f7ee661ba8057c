//! pprof's format: gzip over the protocol buffer `profile.proto`.
//!
//! In: a profile. Out: one sample a context, with one value: calls, in whole numbers (unit `count`). A frame's line is that of the call that is open in it; the innermost frame's is where its function begins.
//! Samples are written in portions, which the encoding allows, so that memory does not grow with the depth of stacks.

pub mod proto;

use super::ExportError;
use super::links::{Links, Visit};
use super::stacks::upwards;
use super::text::{self, Rounder};
use crate::ids::FuncId;
use crate::names::name;
use crate::profile::{Contexts, Label, Profile};
use flate2::{Compression, write::GzEncoder};
use prost::Message;
use proto::{Function, Line, Location, Mapping, Sample, ValueType};
use rustc_hash::FxHashMap;
use std::io::Write;

/// Samples encoded at once.
const PORTION: usize = 1024;
/// The only mapping: it tells readers that nothing is left to symbolize.
const MAPPING: u64 = 1;

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut encoder = Encoder {
        out: GzEncoder::new(out, Compression::default()),
        profile,
        tables: proto::Profile { string_table: vec![String::new()], ..proto::Profile::default() },
        strings: FxHashMap::default(),
        locations: FxHashMap::default(),
        functions: FxHashMap::default(),
        samples: Vec::new(),
        rounder: Rounder::default(),
    };
    match profile.contexts() {
        Some(contexts) => encoder.contexts(contexts)?,
        None => encoder.pairs()?,
    }
    encoder.flush()?;
    encoder.describe();
    encoder.out.write_all(&encoder.tables.encode_to_vec())?;
    encoder.out.finish()?;
    Ok(())
}

struct Encoder<'a> {
    out: GzEncoder<&'a mut dyn Write>,
    profile: &'a Profile,
    /// All but the samples.
    tables: proto::Profile,
    strings: FxHashMap<String, i64>,
    locations: FxHashMap<(FuncId, u32), u64>,
    functions: FxHashMap<FuncId, u64>,
    samples: Vec<Sample>,
    rounder: Rounder,
}

impl Encoder<'_> {
    fn contexts(&mut self, contexts: &Contexts) -> Result<(), ExportError> {
        let own = contexts.own_weights();
        let links = Links::new(contexts.nodes().map(|(id, node)| (id, node.parent)));
        let mut labels = Vec::new();
        for visit in links.walk() {
            let Visit::Enter(id) = visit else { continue };
            if own[id] == 0.0 {
                continue;
            }
            labels.clear();
            labels.extend(upwards(contexts, id).map(|id| contexts.node(id).label));
            if contexts.structure().is_reversed() {
                labels.reverse();
            }
            self.sample(&labels, own[id])?;
        }
        Ok(())
    }

    fn pairs(&mut self) -> Result<(), ExportError> {
        for edge in self.profile.dcg() {
            let caller = self.profile.program().caller(edge.edge).map(Label::Function);
            let labels: Vec<Label> = std::iter::once(Label::Edge(edge.edge)).chain(caller).collect();
            self.sample(&labels, edge.weight)?;
        }
        Ok(())
    }

    /// Labels from the innermost.
    fn sample(&mut self, labels: &[Label], weight: f64) -> Result<(), ExportError> {
        let calls = self.rounder.next(weight);
        if calls == 0 {
            return Ok(());
        }
        let mut callee = None;
        let mut location_id = Vec::with_capacity(labels.len());
        for &label in labels {
            location_id.push(self.location(label, callee));
            callee = Some(label);
        }
        self.samples.push(Sample { location_id, value: vec![i64::try_from(calls).unwrap_or(i64::MAX)] });
        if self.samples.len() == PORTION { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        let portion = proto::Profile { sample: std::mem::take(&mut self.samples), ..proto::Profile::default() };
        self.out.write_all(&portion.encode_to_vec())?;
        Ok(())
    }

    fn location(&mut self, label: Label, callee: Option<Label>) -> u64 {
        let function = self.profile.function(label);
        let names = self.profile.program();
        let line = match callee {
            None => names.functions[function].line,
            Some(callee) => self.profile.site(callee).map_or(0, |site| names.sites[site].line),
        };
        if let Some(&id) = self.locations.get(&(function, line)) {
            return id;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.insert((function, line), id);
        let line = Line { function_id: self.function(function), line: line.into(), column: 0 };
        self.tables.location.push(Location { id, mapping_id: MAPPING, line: vec![line], ..Location::default() });
        id
    }

    fn function(&mut self, function: FuncId) -> u64 {
        if let Some(&id) = self.functions.get(&function) {
            return id;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(function, id);
        let described = &self.profile.program().functions[function];
        let (name, filename) = (self.string(name(described)), self.string(&described.file));
        self.tables.function.push(Function { id, name, system_name: name, filename, start_line: described.line.into() });
        id
    }

    fn string(&mut self, text: &str) -> i64 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&at) = self.strings.get(text) {
            return at;
        }
        let at = self.tables.string_table.len() as i64;
        self.tables.string_table.push(text.into());
        self.strings.insert(text.into(), at);
        at
    }

    fn describe(&mut self) {
        let meta = self.profile.meta();
        let (calls, count) = (self.string("calls"), self.string("count"));
        let filename = self.string(&meta.program);
        let comment = vec![self.string(&meta.to_string()), self.string(&text::what(self.profile))];
        self.tables.sample_type = vec![ValueType { r#type: calls, unit: count }];
        self.tables.default_sample_type = calls;
        self.tables.comment = comment;
        self.tables.duration_nanos = meta.nanoseconds().and_then(|time| i64::try_from(time).ok()).unwrap_or(0);
        let mapping =
            Mapping { id: MAPPING, filename, has_functions: true, has_filenames: true, has_line_numbers: true, ..Mapping::default() };
        self.tables.mapping = vec![mapping];
    }
}
