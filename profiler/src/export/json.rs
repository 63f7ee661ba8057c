//! Our own format: everything that is in a profile, as JSON. `docs/profile-format.md` describes it for others.
//!
//! In: a profile, or a file's bytes. Out: one line of JSON, or a profile whose every index and number has been checked.
//! Invariant: what is written is read back equal, floats to the last bit.

use super::{ExportError, ReadError};
use crate::clock::Clock;
use crate::counters::Counters;
use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::object::Object;
use crate::profile::{Certainty, ContextId, Contexts, DcgEdge, Label, Labels, Meta, Profile, ProfileError, Seen, Structure};
use crate::program::{CallSite, Edge, Function, Program};
use cranelift_entity::EntityRef;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::io::Write;
use std::num::{NonZeroU32, NonZeroU64};

pub(super) const FORMAT: &str = "call profile";
/// Grows when a reader of the version before would misunderstand or refuse a file.
pub(super) const VERSION: u64 = 3;
/// The oldest that is still read. Version 1 did not say how sure weights of contexts are, version 2 not how sure shares are.
pub(super) const OLDEST: u64 = 1;

/// What all versions have, read first.
#[derive(Deserialize)]
struct Header {
    format: Option<String>,
    version: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u64,
    unit: Unit,
    meta: Object<MetaPart>,
    functions: Vec<Object<FunctionPart>>,
    sites: Vec<Object<SitePart>>,
    edges: Vec<Object<EdgePart>>,
    dcg: Vec<Object<DcgPart>>,
    #[serde(deserialize_with = "nullable")]
    contexts: Option<Object<ContextsPart>>,
}

/// A field that may be null, but has to be there.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(field)
}

/// Of all weights and errors.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Calls,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetaPart {
    program: Box<str>,
    mode: Box<str>,
    parameters: Vec<Object<ParameterPart>>,
    #[serde(deserialize_with = "nullable")]
    seed: Option<u64>,
    #[serde(deserialize_with = "clock")]
    clock: Clock,
    duration: u64,
    counters: Object<Counters>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockPart {
    unit: ClockUnit,
    /// `None` where it is not there, which is not null.
    #[serde(default, deserialize_with = "given")]
    per_second: Option<Option<NonZeroU64>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ClockUnit {
    Nanoseconds,
    Cycles,
    Steps,
}

fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

/// With a rate where it is one of cycles, and only there.
fn clock<'de, D: Deserializer<'de>>(field: D) -> Result<Clock, D::Error> {
    let Object(ClockPart { unit, per_second }) = Object::deserialize(field)?;
    match (unit, per_second) {
        (ClockUnit::Cycles, Some(per_second)) => Ok(Clock::Cycles { per_second }),
        (ClockUnit::Nanoseconds, None) => Ok(Clock::Nanoseconds),
        (ClockUnit::Steps, None) => Ok(Clock::Steps),
        (ClockUnit::Cycles, None) => Err(D::Error::missing_field("per_second")),
        (ClockUnit::Nanoseconds | ClockUnit::Steps, Some(_)) => Err(D::Error::custom("only a clock of cycles has a field `per_second`")),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParameterPart {
    name: Box<str>,
    value: Box<str>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionPart {
    name: Box<str>,
    file: Box<str>,
    line: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SitePart {
    caller: u32,
    line: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgePart {
    #[serde(deserialize_with = "nullable")]
    site: Option<u32>,
    callee: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DcgPart {
    edge: u32,
    weight: f64,
    #[serde(deserialize_with = "nullable")]
    error: Option<f64>,
    /// `None` where it is not there, which is not null: it came with version 3.
    #[serde(default, deserialize_with = "given")]
    share_error: Option<Option<f64>>,
    samples: u64,
}

/// Columns, since there may be many nodes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextsPart {
    structure: String,
    #[serde(deserialize_with = "nullable")]
    k: Option<NonZeroU32>,
    #[serde(deserialize_with = "nullable")]
    percent: Option<f64>,
    labels: LabelsPart,
    dropped: u64,
    label: Vec<u32>,
    parent: Vec<Option<u32>>,
    weight: Vec<f64>,
    /// This, `error` and `samples` came with version 2.
    certainty: Option<CertaintyPart>,
    /// This and the next two are columns if `certainty` is `sampled`, else empty.
    error: Option<Vec<Option<f64>>>,
    /// Came with version 3.
    share_error: Option<Vec<Option<f64>>>,
    samples: Option<Vec<u64>>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CertaintyPart {
    Unknown,
    Exact,
    Sampled,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LabelsPart {
    Functions,
    Edges,
}

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), ExportError> {
    let Meta { program, mode, parameters, seed, clock, duration, counters } = profile.meta().clone();
    let parameters = parameters.into_iter().map(|(name, value)| Object(ParameterPart { name, value })).collect();
    let names = profile.program();
    let file = File {
        format: FORMAT.into(),
        version: VERSION,
        unit: Unit::Calls,
        meta: Object(MetaPart { program, mode, parameters, seed, clock, duration, counters: Object(counters) }),
        functions: names
            .functions
            .values()
            .cloned()
            .map(|Function { name, file, line }| Object(FunctionPart { name, file, line }))
            .collect(),
        sites: names.sites.values().map(|site| Object(SitePart { caller: site.caller.as_u32(), line: site.line })).collect(),
        edges: names.edges().values().map(|edge| Object(edge_part(edge))).collect(),
        dcg: profile.dcg().iter().map(|edge| Object(dcg_part(edge))).collect(),
        contexts: profile.contexts().map(|contexts| Object(contexts_part(contexts))),
    };
    serde_json::to_writer(&mut *out, &file)?;
    out.write_all(b"\n")?;
    Ok(())
}

fn edge_part(edge: &Edge) -> EdgePart {
    EdgePart { site: edge.site.expand().map(CallSiteId::as_u32), callee: edge.callee.as_u32() }
}

fn dcg_part(edge: &DcgEdge) -> DcgPart {
    DcgPart { edge: edge.edge.as_u32(), weight: edge.weight, error: edge.error, share_error: Some(edge.share_error), samples: edge.samples }
}

fn contexts_part(contexts: &Contexts) -> ContextsPart {
    let (structure, k, percent) = match contexts.structure() {
        Structure::CallTree => ("call-tree", None, None),
        Structure::Cct => ("cct", None, None),
        Structure::Pcct => ("pcct", None, None),
        Structure::CcMap => ("cc-map", None, None),
        Structure::Ksf { k } => ("k-sf", Some(k), None),
        Structure::Kccf { k } => ("k-ccf", k, None),
        Structure::SimilarCcf { percent } => ("similar-ccf", None, Some(percent)),
    };
    let label = |label| match label {
        Label::Function(function) => FuncId::as_u32(function),
        Label::Edge(edge) => EdgeId::as_u32(edge),
    };
    ContextsPart {
        structure: structure.into(),
        k,
        percent,
        labels: match contexts.labels() {
            Labels::Functions => LabelsPart::Functions,
            Labels::Edges => LabelsPart::Edges,
        },
        dropped: contexts.dropped,
        label: contexts.nodes().map(|(_, node)| label(node.label)).collect(),
        parent: contexts.nodes().map(|(_, node)| node.parent.expand().map(ContextId::as_u32)).collect(),
        weight: contexts.nodes().map(|(_, node)| node.weight).collect(),
        certainty: Some(match contexts.certainty() {
            Certainty::Unknown => CertaintyPart::Unknown,
            Certainty::Exact => CertaintyPart::Exact,
            Certainty::Sampled(_) => CertaintyPart::Sampled,
        }),
        error: Some(seen(contexts).map(|seen| seen.error).collect()),
        share_error: Some(seen(contexts).map(|seen| seen.share_error).collect()),
        samples: Some(seen(contexts).map(|seen| seen.samples).collect()),
    }
}

fn seen(contexts: &Contexts) -> impl Iterator<Item = &Seen> {
    let Certainty::Sampled(seen) = contexts.certainty() else { return [].iter() };
    seen.as_values_slice().iter()
}

pub(super) fn read(bytes: &[u8]) -> Result<Profile, ReadError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ReadError::NotText)?;
    // A newer version may have other fields, so the version decides before they do.
    let header: Header = serde_json::from_str(text)?;
    if header.format.as_deref() != Some(FORMAT) || !text.trim_start().starts_with('{') {
        return Err(ReadError::NotAProfile);
    }
    match header.version {
        Some(OLDEST..=VERSION) => {}
        Some(other) => return Err(ReadError::Version(other)),
        None => return Err(ReadError::NotAProfile),
    }
    let File { format: _, version, unit: Unit::Calls, meta, functions, sites, edges, dcg, contexts } = serde_json::from_str(text)?;
    let mut program = Program::default();
    program.functions = functions.into_iter().map(|Object(FunctionPart { name, file, line })| Function { name, file, line }).collect();
    for Object(SitePart { caller, line }) in sites {
        let caller = index(caller, "function", program.functions.len())?;
        program.sites.push(CallSite { caller, line });
    }
    for (at, Object(part)) in edges.into_iter().enumerate() {
        let site: Option<CallSiteId> = part.site.map(|site| index(site, "site", program.sites.len())).transpose()?;
        let callee = index(part.callee, "function", program.functions.len())?;
        let edge = program.edge(Edge { site: site.into(), callee });
        if edge.index() != at {
            return Err(ReadError::RepeatedEdge(at));
        }
    }
    // Where every call was counted, shares are known as well as weights.
    let is_exact = dcg.iter().all(|Object(part)| part.error == Some(0.0) && part.samples as f64 == part.weight);
    let dcg = dcg.into_iter().map(|Object(DcgPart { edge, weight, error, share_error, samples })| {
        let edge = index(edge, "edge", program.edges().len())?;
        let share_error = since_3(version, share_error, is_exact.then_some(0.0))?;
        Ok(DcgEdge { edge, weight, error, share_error, samples })
    });
    let dcg = dcg.collect::<Result<Vec<_>, ReadError>>()?;
    let contexts = contexts.map(|Object(part)| read_contexts(part, version, &program)).transpose()?;
    let mut builder = Profile::builder(read_meta(meta.0), program).dcg(dcg);
    if let Some(contexts) = contexts {
        builder = builder.contexts(contexts);
    }
    Ok(builder.build()?)
}

/// Errors of shares, or what stands for them in older files.
fn since_3<T>(version: u64, given: Option<T>, older: T) -> Result<T, ReadError> {
    match given {
        Some(given) if version >= 3 => Ok(given),
        None if version < 3 => Ok(older),
        _ => Err(ReadError::ShareErrors(version)),
    }
}

/// A checked index: the largest 32-bit number is none at all.
fn index<T: EntityRef>(index: u32, what: &'static str, len: usize) -> Result<T, ReadError> {
    let index = index as usize;
    if index < len { Ok(T::new(index)) } else { Err(ProfileError::NoSuch { what, index, len }.into()) }
}

fn read_meta(part: MetaPart) -> Meta {
    let MetaPart { program, mode, parameters, seed, clock, duration, counters } = part;
    Meta {
        program,
        mode,
        parameters: parameters.into_iter().map(|Object(ParameterPart { name, value })| (name, value)).collect(),
        seed,
        clock,
        duration,
        counters: counters.0,
    }
}

fn read_contexts(part: ContextsPart, version: u64, program: &Program) -> Result<Contexts, ReadError> {
    let (certainty, error, samples) = match (part.certainty, part.error, part.samples) {
        (Some(certainty), Some(error), Some(samples)) if version > OLDEST => (certainty, error, samples),
        (None, None, None) if version == OLDEST => (CertaintyPart::Unknown, Vec::new(), Vec::new()),
        _ => return Err(ReadError::Certainty(version)),
    };
    let expected = part.label.len();
    let seen = if certainty == CertaintyPart::Sampled { expected } else { 0 };
    let share_error = since_3(version, part.share_error, vec![None; seen])?;
    for (what, expected, found) in [
        ("parents", expected, part.parent.len()),
        ("weights", expected, part.weight.len()),
        ("errors", seen, error.len()),
        ("errors of shares", seen, share_error.len()),
        ("numbers of samples", seen, samples.len()),
    ] {
        if found != expected {
            return Err(ReadError::Columns { what, expected, found });
        }
    }
    let structure = structure(&part.structure, part.k, part.percent)?;
    let labels = match part.labels {
        LabelsPart::Functions => Labels::Functions,
        LabelsPart::Edges => Labels::Edges,
    };
    let mut contexts = Contexts::new(structure, labels);
    for ((label, parent), weight) in part.label.into_iter().zip(part.parent).zip(part.weight) {
        let label = match labels {
            Labels::Functions => Label::Function(index(label, "function", program.functions.len())?),
            Labels::Edges => Label::Edge(index(label, "edge", program.edges().len())?),
        };
        let parent = parent.map(|parent| index(parent, "earlier context", contexts.len())).transpose()?;
        contexts.push(label, parent, weight)?;
    }
    contexts.dropped = part.dropped;
    let columns = || error.iter().zip(&share_error).zip(&samples);
    let seen = || columns().map(|((&error, &share_error), &samples)| Seen { error, share_error, samples });
    Ok(contexts.with_certainty(match certainty {
        CertaintyPart::Unknown => Certainty::Unknown,
        CertaintyPart::Exact => Certainty::Exact,
        CertaintyPart::Sampled => Certainty::Sampled(seen().collect()),
    })?)
}

fn structure(name: &str, k: Option<NonZeroU32>, percent: Option<f64>) -> Result<Structure, ReadError> {
    let structure = match (name, k, percent) {
        ("call-tree", None, None) => Structure::CallTree,
        ("cct", None, None) => Structure::Cct,
        ("pcct", None, None) => Structure::Pcct,
        ("cc-map", None, None) => Structure::CcMap,
        ("k-sf", Some(k), None) => Structure::Ksf { k },
        ("k-ccf", k, None) => Structure::Kccf { k },
        ("similar-ccf", None, Some(percent)) => Structure::SimilarCcf { percent },
        ("k-sf", None, _) => return Err(ReadError::Structure("a k-sf needs its k".into())),
        ("similar-ccf", _, None) => return Err(ReadError::Structure("a similar-ccf needs its percent".into())),
        ("call-tree" | "cct" | "pcct" | "cc-map" | "k-sf" | "k-ccf" | "similar-ccf", ..) => {
            return Err(ReadError::Structure(format!("k or percent do not belong to a {name}")));
        }
        _ => {
            return Err(ReadError::Structure(format!(
                "structure {name:?} is none of call-tree, cct, pcct, cc-map, k-sf, k-ccf, similar-ccf"
            )));
        }
    };
    Ok(structure)
}
