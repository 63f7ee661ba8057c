//! Whether an earlier profile still fits a program: functions and call sites that are gone, or that have moved.
//!
//! In: a [`Profile`], the [`Program`] of now. Out: [`Staleness`]. A function is known again by its name and its file's name (in whichever folder), or by its name alone where the profile knows no file.
//! A call site is known again by its line, or by its distance from the function's first line where that has moved. Where the profile knows no line, nothing is said of it. Only what has calls counts.

use super::Profile;
use crate::diff::{FunctionName, printable, text};
use crate::estimate::share;
use crate::ids::{CallSiteId, FuncId};
use crate::program::Program;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

/// Names that a warning lists of each kind.
const LISTED: usize = 3;

/// What a profile knows that a program does not have, or has elsewhere.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Staleness {
    /// Not in the program, the most called first.
    pub gone_functions: Vec<FunctionName>,
    /// On another line, with that line.
    pub moved_functions: Vec<(FunctionName, u32)>,
    /// Lines with calls in functions that the program has, which now have no call there.
    pub gone_sites: Vec<(FunctionName, u32)>,
    /// Of the profile's calls, those from or to what is gone, from 0 to 1.
    pub gone: f64,
    /// Those of the rest from or to what has moved, from 0 to 1.
    pub moved: f64,
}

/// What has become of a function or a call site. What is worse is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
enum Fate {
    #[default]
    Same,
    Moved,
    Gone,
}

impl Staleness {
    /// What has become of the things that the profile speaks of.
    pub fn new(profile: &Profile, now: &Program) -> Staleness {
        let program = profile.program();
        let index = Index::new(now);
        let functions: PrimaryMap<FuncId, Option<FuncId>> =
            program.functions.values().map(|function| index.function(&function.into())).collect();
        let function = |id: FuncId| match functions[id] {
            None => Fate::Gone,
            Some(found) if program.functions[id].line == 0 || now.functions[found].line == program.functions[id].line => Fate::Same,
            Some(_) => Fate::Moved,
        };
        let site = |id: CallSiteId| {
            let site = program.sites[id];
            match functions[site.caller] {
                Some(found) if site.line > 0 && !index.has_call(found, site.line, program.functions[site.caller].line) => Fate::Gone,
                _ => function(site.caller),
            }
        };
        let mut calls = Calls::default();
        let (mut gone, mut moved) = (0.0, 0.0);
        for edge in profile.dcg().iter().filter(|edge| edge.weight > 0.0) {
            let callee = program.callee(edge.edge);
            calls.functions[callee] += edge.weight;
            let from = program.edges()[edge.edge].site.expand();
            if let Some(from) = from {
                calls.callers[program.sites[from].caller] = true;
                calls.sites[from] += edge.weight;
            }
            match from.map_or(Fate::Same, site).max(function(callee)) {
                Fate::Same => {}
                Fate::Moved => moved += edge.weight,
                Fate::Gone => gone += edge.weight,
            }
        }
        let name = |id: FuncId| FunctionName::from(&program.functions[id]);
        let has_calls = |id: &FuncId| calls.functions[*id] > 0.0 || calls.callers[*id];
        let mut ids: Vec<FuncId> = program.functions.keys().filter(has_calls).collect();
        ids.sort_by(|&a, &b| calls.functions[b].total_cmp(&calls.functions[a]));
        let mut sites: Vec<CallSiteId> = program.sites.keys().filter(|&id| calls.sites[id] > 0.0).collect();
        sites.sort_by(|&a, &b| calls.sites[b].total_cmp(&calls.sites[a]));
        let is_gone_site = |id: &CallSiteId| site(*id) == Fate::Gone && function(program.sites[*id].caller) != Fate::Gone;
        Staleness {
            gone_functions: ids.iter().filter(|&&id| function(id) == Fate::Gone).map(|&id| name(id)).collect(),
            moved_functions: ids
                .iter()
                .filter(|&&id| function(id) == Fate::Moved)
                .filter_map(|&id| Some((name(id), now.functions[functions[id]?].line)))
                .collect(),
            gone_sites: sites.into_iter().filter(is_gone_site).map(|id| (name(program.sites[id].caller), program.sites[id].line)).collect(),
            gone: share(gone, profile.dcg_total()),
            moved: share(moved, profile.dcg_total()),
        }
    }

    /// Nothing is gone, and nothing has moved.
    pub fn is_empty(&self) -> bool {
        self.gone_functions.is_empty() && self.moved_functions.is_empty() && self.gone_sites.is_empty()
    }
}

/// Calls of the earlier profile.
#[derive(Default)]
struct Calls {
    functions: SecondaryMap<FuncId, f64>,
    callers: SecondaryMap<FuncId, bool>,
    sites: SecondaryMap<CallSiteId, f64>,
}

/// The program of now, by name.
struct Index<'a> {
    program: &'a Program,
    functions: FxHashMap<&'a str, Vec<FuncId>>,
    sites: FxHashSet<(FuncId, u32)>,
}

impl<'a> Index<'a> {
    fn new(program: &'a Program) -> Index<'a> {
        let mut functions: FxHashMap<&str, Vec<FuncId>> = FxHashMap::default();
        program.functions.iter().for_each(|(id, function)| functions.entry(&function.name).or_default().push(id));
        Index { program, functions, sites: program.sites.values().map(|site| (site.caller, site.line)).collect() }
    }

    /// Of several with the name, the one on the same line, or else the first.
    fn function(&self, FunctionName { name, file, line }: &FunctionName) -> Option<FuncId> {
        let candidates = self.functions.get(&**name)?;
        let fits = |id: &&FuncId| file.is_empty() || base(&self.program.functions[**id].file) == base(file);
        let same_line = candidates.iter().filter(fits).find(|&&id| self.program.functions[id].line == *line);
        same_line.or_else(|| candidates.iter().find(fits)).copied()
    }

    /// Whether the function calls something on that line, or as far from its own first line as when that was `first`.
    fn has_call(&self, caller: FuncId, line: u32, first: u32) -> bool {
        let moved = line.saturating_add(self.program.functions[caller].line).saturating_sub(first);
        self.sites.contains(&(caller, moved)) || self.sites.contains(&(caller, line))
    }
}

/// A file's name without its folder.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A warning of some lines, with the share of the calls.
impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gone, moved) = (100.0 * self.gone, 100.0 * self.moved);
        write!(f, "{gone:.2} % of its calls are from or to what this program no longer has, {moved:.2} % from or to what has moved")?;
        let line = |(function, line): &(FunctionName, u32)| format!("{} line {line}", printable(&function.name));
        let moved = |(function, now): &(FunctionName, u32)| format!("{} now line {now}", text(function));
        list(f, "function", "gone", self.gone_functions.iter().map(text))?;
        list(f, "call site", "gone", self.gone_sites.iter().map(line))?;
        list(f, "function", "moved", self.moved_functions.iter().map(moved))
    }
}

fn list(f: &mut fmt::Formatter<'_>, what: &str, fate: &str, names: impl ExactSizeIterator<Item = String>) -> fmt::Result {
    let count = names.len();
    if count == 0 {
        return Ok(());
    }
    let plural = if count == 1 { "" } else { "s" };
    let more = if count > LISTED { ", …" } else { "" };
    write!(f, "\n  {count} {what}{plural} {fate}: {}{more}", names.take(LISTED).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{DcgEdge, Meta};
    use crate::program::{CallSite, Edge, Function};

    /// Functions as name and line; call sites as caller and line.
    fn program(file: &str, functions: &[(&str, u32)], sites: &[(u32, u32)]) -> Program {
        let mut program = Program::default();
        for &(name, line) in functions {
            program.functions.push(Function { name: name.into(), file: file.into(), line });
        }
        for &(caller, line) in sites {
            program.sites.push(CallSite { caller: FuncId::from_u32(caller), line });
        }
        program
    }

    /// `main` calls `work` in line 3, ten times, and `rest` in line 4, ninety times; `unused` is never called.
    fn earlier(file: &str) -> Profile {
        let mut program = program(file, &[("main", 1), ("work", 10), ("rest", 20), ("unused", 30)], &[(0, 3), (0, 4)]);
        let mut edges = Vec::new();
        for (site, callee, weight) in [(0, 1, 10.0), (1, 2, 90.0)] {
            let edge = Edge { site: Some(CallSiteId::from_u32(site)).into(), callee: FuncId::from_u32(callee) };
            edges.push(DcgEdge { edge: program.edge(edge), weight, error: None, samples: 0 });
        }
        Profile::builder(Meta::default(), program).dcg(edges).build().expect("a good profile")
    }

    fn found(functions: &[(&str, u32)], sites: &[(u32, u32)]) -> Staleness {
        Staleness::new(&earlier("old/a.x"), &program("a.x", functions, sites))
    }

    #[test]
    fn the_same_program_in_another_folder_is_not_stale() {
        let same = found(&[("rest", 20), ("main", 1), ("work", 10)], &[(1, 4), (1, 3)]);
        assert!(same.is_empty() && same.gone == 0.0 && same.moved == 0.0, "{same:?}");
    }

    #[test]
    fn what_is_gone_takes_its_calls_along() {
        let gone = found(&[("main", 1), ("rest", 20)], &[(0, 3), (0, 4)]);
        assert_eq!((gone.gone_functions.len(), gone.gone_sites.len(), gone.gone, gone.moved), (1, 0, 0.1, 0.0));
        let text = gone.to_string();
        assert!(text.contains("10.00 % of its calls") && text.contains("1 function gone: work (old/a.x:10)"), "{text}");
        let site = found(&[("main", 1), ("work", 10), ("rest", 20)], &[(0, 3), (0, 7)]);
        assert_eq!((site.gone_functions.len(), site.gone, site.moved), (0, 0.9, 0.0));
        assert!(site.to_string().contains("1 call site gone: main line 4"), "{site}");
    }

    #[test]
    fn what_moves_together_is_not_gone() {
        let moved = found(&[("main", 6), ("work", 10), ("rest", 20)], &[(0, 8), (0, 9)]);
        assert_eq!((moved.gone, moved.moved, moved.gone_sites.len()), (0.0, 1.0, 0));
        assert!(moved.to_string().contains("1 function moved: main (old/a.x:1) now line 6"), "{moved}");
        let all = Staleness::new(&earlier("b.x"), &program("a.x", &[("main", 1)], &[(0, 3)]));
        assert_eq!((all.gone_functions.len(), all.gone), (3, 1.0), "another file's main: {all}");
    }
}
