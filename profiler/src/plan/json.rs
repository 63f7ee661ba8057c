//! A plan as JSON. `docs/plan-format.md` describes it for others.
//!
//! In: a plan, or a file's bytes. Out: JSON with a line for each decision, so that plans can be read and compared by line; or a plan whose every index has been checked.
//! Invariant: what is written is read back equal.

use super::{About, Guard, Plan, PlanError, Planned};
use crate::ids::{CallSiteId, FuncId};
use crate::matching::{FunctionKey, Names, SiteKey};
use crate::object::Object;
use crate::oracle::{Form, Verdict};
use crate::program::Function;
use cranelift_entity::{EntityRef, PrimaryMap};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const FORMAT: &str = "inlining plan";
/// Grows when a reader of the version before would misunderstand or refuse a file.
const VERSION: u64 = 2;

/// What all versions have, read first.
#[derive(Deserialize)]
struct Header {
    format: Option<String>,
    version: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u64,
    program: Box<str>,
    policy: Box<str>,
    functions: Vec<Object<FunctionPart>>,
    sites: Vec<Object<SitePart>>,
    decisions: Vec<Object<DecisionPart>>,
    guards: Vec<Object<GuardPart>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionPart {
    name: Box<str>,
    file: Box<str>,
    line: u32,
    nth: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SitePart {
    caller: u32,
    line: u32,
    nth: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionPart {
    root: u32,
    form: String,
    chain: Vec<u32>,
    site: u32,
    callee: u32,
    callee_size: u32,
    root_size: u32,
    inline: bool,
    reason: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GuardPart {
    root: u32,
    form: String,
    chain: Vec<u32>,
    site: u32,
    candidates: Vec<u32>,
    targets: Vec<u32>,
}

/// Writes a plan to a file.
///
/// # Errors
/// The file cannot be created or written.
pub fn write(plan: &Plan, path: &Path) -> Result<(), PlanError> {
    let mut out = BufWriter::new(File::create(path).map_err(|error| PlanError::Create { path: path.into(), error })?);
    put(plan, &mut out).and_then(|()| out.flush()).map_err(|error| PlanError::Write { path: path.into(), error })
}

/// Writes a plan to a stream, which should be buffered; it is not flushed.
///
/// # Errors
/// Writing fails.
pub fn render(plan: &Plan, out: &mut dyn Write) -> Result<(), PlanError> {
    put(plan, out).map_err(PlanError::Stream)
}

fn put(plan: &Plan, mut out: &mut dyn Write) -> io::Result<()> {
    let Plan { about: About { program, policy }, names, decisions, guards } = plan;
    write!(out, "{{\"format\":{},\"version\":{VERSION},\"program\":", serde_json::to_string(FORMAT)?)?;
    serde_json::to_writer(&mut out, program)?;
    out.write_all(b",\"policy\":")?;
    serde_json::to_writer(&mut out, policy)?;
    let functions = names.functions.values().map(|FunctionKey { function: Function { name, file, line }, nth }| FunctionPart {
        name: name.clone(),
        file: file.clone(),
        line: *line,
        nth: *nth,
    });
    array(out, "functions", functions)?;
    array(out, "sites", names.sites.values().map(|&SiteKey { caller, line, nth }| SitePart { caller: caller.as_u32(), line, nth }))?;
    array(out, "decisions", decisions.iter().map(decision_part))?;
    array(out, "guards", guards.iter().map(guard_part))?;
    out.write_all(b"}\n")
}

fn array(mut out: &mut dyn Write, name: &str, items: impl Iterator<Item = impl Serialize>) -> io::Result<()> {
    write!(out, ",\n\"{name}\":[")?;
    for (i, item) in items.enumerate() {
        out.write_all(if i == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut out, &item)?;
    }
    out.write_all(b"]")
}

fn decision_part(planned: &Planned) -> DecisionPart {
    DecisionPart {
        root: planned.root.as_u32(),
        form: form_text(planned.form),
        chain: numbers(&planned.chain),
        site: planned.site.as_u32(),
        callee: planned.callee.as_u32(),
        callee_size: planned.callee_size,
        root_size: planned.root_size,
        inline: planned.verdict.is_inlined(),
        reason: planned.verdict.reason().0.into(),
    }
}

fn guard_part(guard: &Guard) -> GuardPart {
    let Guard { root, form, chain, site, candidates, targets } = guard;
    GuardPart {
        root: root.as_u32(),
        form: form_text(*form),
        chain: numbers(chain),
        site: site.as_u32(),
        candidates: numbers(candidates),
        targets: numbers(targets),
    }
}

fn form_text(form: Form) -> String {
    match form {
        Form::Early => "early".into(),
        Form::Whole => "whole".into(),
        Form::Loop(number) => format!("loop {number}"),
    }
}

fn form(text: String) -> Result<Form, PlanError> {
    match text.as_str() {
        "early" => Ok(Form::Early),
        "whole" => Ok(Form::Whole),
        other => match other.strip_prefix("loop ").and_then(|number| number.parse().ok()) {
            Some(number) => Ok(Form::Loop(number)),
            None => Err(PlanError::Form(text)),
        },
    }
}

fn numbers<T: EntityRef>(ids: &[T]) -> Vec<u32> {
    ids.iter().map(|id| id.index() as u32).collect()
}

/// Reads a plan from a file.
///
/// # Errors
/// The file cannot be read, or its content is no plan: says what is wrong with it.
pub fn read(path: &Path) -> Result<Plan, PlanError> {
    let bytes = std::fs::read(path).map_err(|error| PlanError::Open { path: path.into(), error })?;
    parse(&bytes).map_err(|error| PlanError::Content { path: path.into(), error: error.into() })
}

/// Reads a plan from a file's content.
///
/// # Errors
/// The content is no plan.
pub fn parse(bytes: &[u8]) -> Result<Plan, PlanError> {
    let text = std::str::from_utf8(bytes).map_err(|_| PlanError::NotText)?;
    // A newer version may have other fields, so the version decides before they do.
    let header: Header = serde_json::from_str(text).map_err(PlanError::Json)?;
    match header {
        Header { format: Some(format), version: Some(VERSION) } if format == FORMAT && text.trim_start().starts_with('{') => {}
        Header { format: Some(format), version: Some(other) } if format == FORMAT && other != VERSION => {
            return Err(PlanError::Version(other));
        }
        _ => return Err(PlanError::NotAPlan),
    }
    let document: Document = serde_json::from_str(text).map_err(PlanError::Json)?;
    let function = |Object(FunctionPart { name, file, line, nth })| FunctionKey { function: Function { name, file, line }, nth };
    let functions: PrimaryMap<FuncId, FunctionKey> = document.functions.into_iter().map(function).collect();
    let mut sites: PrimaryMap<CallSiteId, SiteKey> = PrimaryMap::new();
    for Object(SitePart { caller, line, nth }) in document.sites {
        sites.push(SiteKey { caller: index(caller, "function", functions.len())?, line, nth });
    }
    let names = Names { functions, sites };
    let check = Check(&names);
    let decisions = document.decisions.into_iter().map(|Object(part)| check.decision(part)).collect::<Result<_, _>>()?;
    let guards = document.guards.into_iter().map(|Object(part)| check.guard(part)).collect::<Result<_, _>>()?;
    Ok(Plan { about: About { program: document.program, policy: document.policy }, names, decisions, guards })
}

/// What indices must lead to.
struct Check<'a>(&'a Names);

impl Check<'_> {
    fn function(&self, at: u32) -> Result<FuncId, PlanError> {
        index(at, "function", self.0.functions.len())
    }

    fn functions(&self, all: Vec<u32>) -> Result<Box<[FuncId]>, PlanError> {
        all.into_iter().map(|at| self.function(at)).collect()
    }

    fn site(&self, at: u32) -> Result<CallSiteId, PlanError> {
        index(at, "site", self.0.sites.len())
    }

    fn sites(&self, all: Vec<u32>) -> Result<Box<[CallSiteId]>, PlanError> {
        all.into_iter().map(|at| self.site(at)).collect()
    }

    fn decision(&self, part: DecisionPart) -> Result<Planned, PlanError> {
        let DecisionPart { root, form: text, chain, site, callee, callee_size, root_size, inline, reason } = part;
        let is_meant = |verdict: &Verdict| verdict.is_inlined() == inline && verdict.reason().0 == reason;
        Ok(Planned {
            root: self.function(root)?,
            form: form(text)?,
            chain: self.sites(chain)?,
            site: self.site(site)?,
            callee: self.function(callee)?,
            callee_size,
            root_size,
            verdict: Verdict::ALL.into_iter().find(is_meant).ok_or(PlanError::Reason(reason))?,
        })
    }

    fn guard(&self, GuardPart { root, form: text, chain, site, candidates, targets }: GuardPart) -> Result<Guard, PlanError> {
        if let Some(&target) = targets.iter().find(|target| !candidates.contains(target)) {
            return Err(PlanError::Target(target));
        }
        Ok(Guard {
            root: self.function(root)?,
            form: form(text)?,
            chain: self.sites(chain)?,
            site: self.site(site)?,
            candidates: self.functions(candidates)?,
            targets: self.functions(targets)?,
        })
    }
}

fn index<T: EntityRef>(index: u32, what: &'static str, len: usize) -> Result<T, PlanError> {
    let index = index as usize;
    if index < len { Ok(T::new(index)) } else { Err(PlanError::NoSuch { what, index, len }) }
}
