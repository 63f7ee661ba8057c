//! A CC-Map as XML (CC-Map sections 3.1.2 and 5): the general nodes with totals, the context trees, and the links between them.
//!
//! In: a profile with or without contexts. Out: `method-profile` > `call-site` > `callee` with calls in any context (the DCG), then `call-site-ref` > `callee-ref` with calls in one context.
//! A `callee` lists its contexts' numbers, a `callee-ref` says its edge's. Methods are known by name, file and line, so that files of two runs can be compared. Nothing is rounded; errors are those of the profile, without that of the factor that all weights have in common.
//! Trees stand as deep as they are, one element a line and not indented, since indentation would take the square of the depth.

use super::links::{Links, Visit};
use super::text;
use super::{ExportError, Format};
use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::names::name;
use crate::profile::{ContextId, Contexts, DcgEdge, Label, Profile, Structure};
use cranelift_entity::SecondaryMap;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, Event};
use std::io::{self, Write};

pub(super) fn check(profile: &Profile) -> Result<(), ExportError> {
    profile.contexts().map_or(Ok(()), |contexts| check_structure(contexts.structure()))
}

pub(super) fn check_structure(structure: Structure) -> Result<(), ExportError> {
    if structure.is_reversed() { Err(ExportError::Reversed(Format::Xml, structure)) } else { Ok(()) }
}

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut xml = Xml(Writer::new(out));
    xml.event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let meta = profile.meta();
    let mut attributes = vec![("version", "1".to_owned()), ("unit", "calls".into()), ("program", meta.program.to_string())];
    attributes.extend([("mode", meta.mode.to_string()), ("total", profile.dcg_total().to_string())]);
    attributes.extend(meta.seed.map(|seed| ("seed", seed.to_string())));
    attributes.extend([("samples", meta.counters.samples.to_string()), ("samples-dropped", meta.counters.samples_dropped.to_string())]);
    xml.start("cc-map", &attributes)?;
    for (name, value) in &meta.parameters {
        xml.empty("parameter", &[("name", name.to_string()), ("value", value.to_string())])?;
    }
    xml.start("general", &[])?;
    write_general(profile, &mut xml)?;
    xml.end("general")?;
    if let Some(contexts) = profile.contexts() {
        let attributes = [
            ("structure", contexts.structure().to_string()),
            ("total", contexts.total().to_string()),
            ("dropped", contexts.dropped.to_string()),
        ];
        xml.start("contexts", &attributes)?;
        write_trees(profile, contexts, &mut xml)?;
        xml.end("contexts")?;
    }
    xml.end("cc-map")?;
    Ok(())
}

/// The general nodes, put together by method and site.
#[derive(Default)]
struct General<'a> {
    calls: SecondaryMap<FuncId, f64>,
    sites: SecondaryMap<FuncId, Vec<CallSiteId>>,
    callees: SecondaryMap<CallSiteId, Vec<&'a DcgEdge>>,
    entries: Vec<&'a DcgEdge>,
    of_edge: SecondaryMap<EdgeId, Vec<ContextId>>,
    of_method: SecondaryMap<FuncId, Vec<ContextId>>,
}

impl<'a> General<'a> {
    fn new(profile: &'a Profile) -> Self {
        let mut general = General::default();
        let program = profile.program();
        for edge in profile.dcg() {
            general.calls[program.callee(edge.edge)] += edge.weight;
            match program.edges()[edge.edge].site.expand() {
                Some(site) => {
                    if general.callees[site].is_empty() {
                        general.sites[program.sites[site].caller].push(site);
                    }
                    general.callees[site].push(edge);
                }
                None => general.entries.push(edge),
            }
        }
        for (id, node) in profile.contexts().into_iter().flat_map(Contexts::nodes) {
            match node.label {
                Label::Edge(edge) => general.of_edge[edge].push(id),
                Label::Function(function) => general.of_method[function].push(id),
            }
        }
        general
    }
}

fn write_general(profile: &Profile, xml: &mut Xml<'_>) -> Result<(), ExportError> {
    let general = General::new(profile);
    let callee = |edge: &DcgEdge| {
        let (number, method) = (edge.edge.as_u32(), profile.program().callee(edge.edge).as_u32());
        let mut attributes = vec![("edge", number.to_string()), ("method", method.to_string()), ("calls", edge.weight.to_string())];
        attributes.extend(edge.error.map(|error| ("error", error.to_string())));
        attributes.extend([("samples", edge.samples.to_string()), ("contexts", list(&general.of_edge[edge.edge]))]);
        attributes
    };
    for edge in &general.entries {
        xml.empty("entry", &callee(edge))?;
    }
    for (id, function) in &profile.program().functions {
        let mut attributes =
            vec![("id", id.as_u32().to_string()), ("name", name(function).to_owned()), ("file", function.file.to_string())];
        attributes.extend([("line", function.line.to_string()), ("calls", general.calls[id].to_string())]);
        if !general.of_method[id].is_empty() {
            attributes.push(("contexts", list(&general.of_method[id])));
        }
        xml.start("method-profile", &attributes)?;
        for &site in &general.sites[id] {
            let line = profile.program().sites[site].line;
            xml.start("call-site", &[("id", site.as_u32().to_string()), ("line", line.to_string())])?;
            for edge in &general.callees[site] {
                xml.empty("callee", &callee(edge))?;
            }
            xml.end("call-site")?;
        }
        xml.end("method-profile")?;
    }
    Ok(())
}

fn list(contexts: &[ContextId]) -> String {
    let numbers: Vec<String> = contexts.iter().map(|id| id.as_u32().to_string()).collect();
    numbers.join(" ")
}

/// Siblings that are called from one site stand together, in one `call-site-ref`.
fn write_trees(profile: &Profile, contexts: &Contexts, xml: &mut Xml<'_>) -> Result<(), ExportError> {
    let site = |id: ContextId| profile.site(contexts.node(id).label);
    let mut nodes: Vec<ContextId> = contexts.nodes().map(|(id, _)| id).collect();
    nodes.sort_by_key(|&id| site(id));
    let links = Links::new(nodes.into_iter().map(|id| (id, contexts.node(id).parent)));
    let mut open_site = false;
    for visit in links.walk() {
        match visit {
            Visit::Enter(id) => {
                if let (Some(site), false) = (site(id), open_site) {
                    xml.start("call-site-ref", &[("site", site.as_u32().to_string())])?;
                }
                open_site = false;
                let node = contexts.node(id);
                let method = profile.function(node.label).as_u32().to_string();
                let mut attributes = vec![("id", id.as_u32().to_string()), ("method", method)];
                if let Label::Edge(edge) = node.label {
                    attributes.push(("edge", edge.as_u32().to_string()));
                }
                attributes.push(("calls", node.weight.to_string()));
                xml.start("callee-ref", &attributes)?;
            }
            Visit::Leave(id) => {
                xml.end("callee-ref")?;
                open_site = site(id).is_some() && links.next_sibling(id).is_some_and(|next| site(next) == site(id));
                if site(id).is_some() && !open_site {
                    xml.end("call-site-ref")?;
                }
            }
        }
    }
    Ok(())
}

struct Xml<'a>(Writer<&'a mut dyn Write>);

impl Xml<'_> {
    fn event(&mut self, event: Event<'_>) -> io::Result<()> {
        self.0.write_event(event)?;
        self.0.get_mut().write_all(b"\n")
    }

    fn start(&mut self, name: &str, attributes: &[(&str, String)]) -> io::Result<()> {
        self.event(Event::Start(element(name, attributes)))
    }

    fn empty(&mut self, name: &str, attributes: &[(&str, String)]) -> io::Result<()> {
        self.event(Event::Empty(element(name, attributes)))
    }

    fn end(&mut self, name: &str) -> io::Result<()> {
        self.event(Event::End(BytesEnd::new(name)))
    }
}

fn element<'a>(name: &'a str, attributes: &[(&str, String)]) -> BytesStart<'a> {
    let mut element = BytesStart::new(name);
    for (key, value) in attributes {
        element.push_attribute((key.as_bytes(), escaped(value).as_bytes()));
    }
    element
}

/// An attribute's value. Line breaks and tabs would be read as spaces if they were not numbers; other control characters become visible signs, since XML has no way to write them.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' | '\r' | '\t' => escaped.push_str(&format!("&#{};", u32::from(c))),
            _ => escaped.push(text::control_picture(c)),
        }
    }
    escaped
}
