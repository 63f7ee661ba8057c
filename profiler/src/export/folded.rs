//! Folded stacks: a line a stack, frames from the outermost with `;` between them, a space, and the number of calls. The unit is always a call.
//!
//! In: a profile, or lines. Out: lines, or a profile. The format has no way to write a `;` or a line break in a name; where a name holds what would be misread, the file begins with [`HEADER`], a comment to other readers,
//! and all its names are escaped. Without the header a name is taken as it stands, backslashes too.

use super::links::Visit;
use super::stacks::{Order, Stacks};
use super::text::Rounder;
use super::{ExportError, ReadError};
use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::names::DistinctNames;
use crate::profile::{ContextId, Contexts, Label, Labels, Meta, Profile, Structure};
use crate::program::{CallSite, Edge, Function, Program};
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::FxHashMap;
use std::io::Write;

const HEADER: &str = r"# names are escaped: \\ is a backslash, \u{3b} the character of that number";

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), ExportError> {
    let names = DistinctNames::new(profile.program());
    let stacks = Stacks::new(profile, Order::Calls);
    let is_hard = |visit| match visit {
        Visit::Enter(id) => hard(names.get(stacks.get(id).function)),
        Visit::Leave(_) => false,
    };
    let escaping = stacks.walk().any(is_hard);
    if escaping {
        writeln!(out, "{HEADER}")?;
    }
    let mut rounder = Rounder::default();
    let mut path = String::new();
    let mut lengths = Vec::new();
    for visit in stacks.walk() {
        let Visit::Enter(id) = visit else {
            path.truncate(lengths.pop().unwrap_or(0));
            continue;
        };
        lengths.push(path.len());
        if !path.is_empty() {
            path.push(';');
        }
        let stack = stacks.get(id);
        match escaping {
            true => escape(names.get(stack.function), &mut path),
            false => path.push_str(names.get(stack.function)),
        }
        match rounder.next(stack.weight) {
            0 => {}
            calls => writeln!(out, "{path} {calls}")?,
        }
    }
    Ok(())
}

fn hard(name: &str) -> bool {
    name.char_indices().any(|(at, _)| must_escape(name, at))
}

/// Byte order mark: some editors begin a file with it.
const MARK: char = '\u{feff}';

/// Whether the character at `at` would be misread: as a separator, as a comment or a byte order mark, as space around a line, or as a second number (of two profiles that are compared).
fn must_escape(name: &str, at: usize) -> bool {
    let rest = &name[at..];
    let Some(c) = rest.chars().next() else { return false };
    let is_edge = at == 0 || rest.len() == c.len_utf8();
    match c {
        ';' => true,
        '#' | MARK => at == 0,
        ' ' if rest.len() > 1 && rest[1..].chars().all(|c| c.is_ascii_digit() || c == '.') => true,
        _ => c.is_control() || c.is_whitespace() && is_edge,
    }
}

fn escape(name: &str, out: &mut String) {
    for (at, c) in name.char_indices() {
        match c {
            '\\' => out.push_str(r"\\"),
            _ if must_escape(name, at) => out.push_str(&format!(r"\u{{{:x}}}", u32::from(c))),
            _ => out.push(c),
        }
    }
}

fn unescape(text: &str) -> Result<String, &'static str> {
    let mut name = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        name.push_str(before);
        rest = if let Some(after) = after.strip_prefix('\\') {
            name.push('\\');
            after
        } else {
            let (number, after) =
                after.strip_prefix("u{").and_then(|after| after.split_once('}')).ok_or(r"a \ is followed by neither \ nor u{…}")?;
            let c = u32::from_str_radix(number, 16).ok().and_then(char::from_u32).ok_or(r"the number in \u{…} is no character's")?;
            name.push(c);
            after
        };
    }
    name.push_str(rest);
    Ok(name)
}

/// The profile that lines of folded stacks stand for, with one call site in each caller.
pub(super) fn read(bytes: &[u8]) -> Result<Profile, ReadError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ReadError::NotText)?;
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let escaped = text.lines().next() == Some(HEADER);
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        reader.line(line, escaped).map_err(|what| ReadError::Line(number + 1, what))?;
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    program: Program,
    functions: FxHashMap<Box<str>, FuncId>,
    sites: FxHashMap<FuncId, CallSiteId>,
    nodes: Vec<Node>,
    children: FxHashMap<(PackedOption<ContextId>, FuncId), ContextId>,
}

struct Node {
    edge: EdgeId,
    parent: PackedOption<ContextId>,
    weight: f64,
}

impl Reader {
    fn line(&mut self, line: &str, escaped: bool) -> Result<(), &'static str> {
        let (stack, weight) = line.rsplit_once(' ').ok_or("no number of calls after the stack")?;
        if !weight.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Err("what follows the last space is no number of calls");
        }
        let weight: f64 = weight.parse().map_err(|_| "what follows the last space is no number of calls")?;
        let stack = stack.trim_end();
        if stack.is_empty() {
            return Err("no stack before the number of calls");
        }
        let mut parent: Option<(ContextId, FuncId)> = None;
        for frame in stack.split(';') {
            let function = match escaped {
                true => self.function(&unescape(frame)?),
                false => self.function(frame),
            };
            parent = Some((self.child(parent, function)?, function));
        }
        if let Some((node, _)) = parent {
            self.nodes[node.as_u32() as usize].weight += weight;
        }
        Ok(())
    }

    fn function(&mut self, name: &str) -> FuncId {
        if let Some(&function) = self.functions.get(name) {
            return function;
        }
        let function = self.program.functions.push(Function { name: name.into(), file: "".into(), line: 0 });
        self.functions.insert(name.into(), function);
        function
    }

    fn child(&mut self, parent: Option<(ContextId, FuncId)>, callee: FuncId) -> Result<ContextId, &'static str> {
        let key = (parent.map(|(node, _)| node).into(), callee);
        if let Some(&child) = self.children.get(&key) {
            return Ok(child);
        }
        let site = parent.map(|(_, caller)| self.site(caller));
        let edge = self.program.edge(Edge { site: site.into(), callee });
        let next = u32::try_from(self.nodes.len()).ok().filter(|&next| next < u32::MAX - 1).ok_or("more stacks than 32 bits can count")?;
        let child = ContextId::from_u32(next);
        self.nodes.push(Node { edge, parent: key.0, weight: 0.0 });
        self.children.insert(key, child);
        Ok(child)
    }

    fn site(&mut self, caller: FuncId) -> CallSiteId {
        let sites = &mut self.program.sites;
        *self.sites.entry(caller).or_insert_with(|| sites.push(CallSite { caller, line: 0 }))
    }

    fn finish(self) -> Result<Profile, ReadError> {
        let mut contexts = Contexts::new(Structure::Cct, Labels::Edges);
        for node in self.nodes {
            contexts.push(Label::Edge(node.edge), node.parent.expand(), node.weight)?;
        }
        let meta = Meta { mode: "folded stacks".into(), ..Meta::default() };
        Ok(Profile::builder(meta, self.program).contexts(contexts).dcg_from_contexts().build()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(name: &str) -> String {
        let mut out = String::new();
        escape(name, &mut out);
        out
    }

    #[test]
    fn what_would_be_misread_is_escaped() {
        for (name, expected) in [
            ("Vec<[u8; 4]>::push", r"Vec<[u8\u{3b} 4]>::push"),
            ("a\nb", r"a\u{a}b"),
            (" a b ", r"\u{20}a b\u{20}"),
            ("lambda 3", r"lambda\u{20}3"),
            ("lambda 3b", "lambda 3b"),
            ("# no comment", r"\u{23} no comment"),
            (r"App\new", r"App\\new"),
            ("größer\u{3000}", r"größer\u{3000}"),
            ("\u{3000}größer", r"\u{3000}größer"),
        ] {
            assert_eq!(escaped(name), expected);
            assert_eq!(unescape(expected).as_deref(), Ok(name));
        }
    }

    #[test]
    fn bad_escapes_are_errors() {
        for text in [r"\", r"a\n", r"\u{", r"\u{110000}", r"\u{}", r"\u{zz}"] {
            assert!(unescape(text).is_err(), "{text}");
        }
    }
}
