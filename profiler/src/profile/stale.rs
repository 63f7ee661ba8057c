//! Whether an earlier profile still fits a program: functions and call sites that are gone, or that have moved.
//!
//! In: a [`Profile`], or another document that speaks of calls; the [`Program`] of now. Out: [`Staleness`]. Functions and call sites are known again as [`matching`](crate::matching) says. Where the profile knows no line,
//! nothing is said of a call site. Only what has calls counts.

use super::Profile;
use crate::diff::{FunctionName, printable, text};
use crate::estimate::share;
use crate::ids::{CallSiteId, FuncId};
use crate::matching::Names;
use crate::program::Program;
use crate::words::plural;
use cranelift_entity::SecondaryMap;
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
    /// What the two parts that follow are parts of.
    pub of: Told,
    /// Of the profile's calls, those from or to what is gone, from 0 to 1.
    pub gone: f64,
    /// Those of the rest from or to what has moved, from 0 to 1.
    pub moved: f64,
}

/// What a document tells of calls.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Told {
    /// How many there were.
    #[default]
    Calls,
    /// What was decided about them.
    Decisions,
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
        let calls = profile.dcg().iter().map(|edge| {
            let known = program.edges()[edge.edge];
            Call { site: known.site.expand(), callee: known.callee, weight: edge.weight }
        });
        Staleness::of_calls(Told::Calls, &Names::of(program), calls, now)
    }

    /// What has become of functions and call sites, told in parts of all these calls.
    pub(crate) fn of_calls(of: Told, names: &Names, all: impl IntoIterator<Item = Call>, now: &Program) -> Staleness {
        let mapping = names.find_in(now);
        let function = |id: FuncId| match mapping.function(id) {
            None => Fate::Gone,
            Some(found) if [0, now.functions[found].line].contains(&names.functions[id].function.line) => Fate::Same,
            Some(_) => Fate::Moved,
        };
        let site = |id: CallSiteId| {
            let site = names.sites[id];
            match mapping.site(id) {
                None if site.line > 0 => Fate::Gone,
                _ => function(site.caller),
            }
        };
        let mut calls = Calls::default();
        let (mut gone, mut moved) = (0.0, 0.0);
        for Call { site: from, callee, weight } in all.into_iter().filter(|call| call.weight > 0.0) {
            calls.total += weight;
            calls.functions[callee] += weight;
            if let Some(from) = from {
                calls.callers[names.sites[from].caller] = true;
                calls.sites[from] += weight;
            }
            match from.map_or(Fate::Same, site).max(function(callee)) {
                Fate::Same => {}
                Fate::Moved => moved += weight,
                Fate::Gone => gone += weight,
            }
        }
        let name = |id: FuncId| FunctionName::from(&names.functions[id].function);
        let has_calls = |id: &FuncId| calls.functions[*id] > 0.0 || calls.callers[*id];
        let mut ids: Vec<FuncId> = names.functions.keys().filter(has_calls).collect();
        ids.sort_by(|&a, &b| calls.functions[b].total_cmp(&calls.functions[a]));
        let mut sites: Vec<CallSiteId> = names.sites.keys().filter(|&id| calls.sites[id] > 0.0).collect();
        sites.sort_by(|&a, &b| calls.sites[b].total_cmp(&calls.sites[a]));
        let is_gone_site = |id: &CallSiteId| site(*id) == Fate::Gone && function(names.sites[*id].caller) != Fate::Gone;
        Staleness {
            gone_functions: ids.iter().filter(|&&id| function(id) == Fate::Gone).map(|&id| name(id)).collect(),
            moved_functions: ids
                .iter()
                .filter(|&&id| function(id) == Fate::Moved)
                .filter_map(|&id| Some((name(id), now.functions[mapping.function(id)?].line)))
                .collect(),
            gone_sites: sites.into_iter().filter(is_gone_site).map(|id| (name(names.sites[id].caller), names.sites[id].line)).collect(),
            of,
            gone: share(gone, calls.total),
            moved: share(moved, calls.total),
        }
    }

    /// Nothing is gone, and nothing has moved.
    pub fn is_empty(&self) -> bool {
        self.gone_functions.is_empty() && self.moved_functions.is_empty() && self.gone_sites.is_empty()
    }
}

/// What a document says of a call.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// `None`: the first function of a thread.
    pub site: Option<CallSiteId>,
    pub callee: FuncId,
    pub weight: f64,
}

/// Calls of the earlier document.
#[derive(Default)]
struct Calls {
    total: f64,
    functions: SecondaryMap<FuncId, f64>,
    callers: SecondaryMap<FuncId, bool>,
    sites: SecondaryMap<CallSiteId, f64>,
}

/// A warning of some lines, with the share of the calls or decisions.
impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gone, moved) = (100.0 * self.gone, 100.0 * self.moved);
        match self.of {
            Told::Calls => {
                write!(f, "{gone:.2} % of its calls are from or to what this program no longer has, {moved:.2} % from or to what has moved")
            }
            Told::Decisions => {
                write!(f, "{gone:.2} % of its decisions are about what this program no longer has, {moved:.2} % about what has moved")
            }
        }?;
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
    let plural = plural(count as u64);
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
            edges.push(DcgEdge { edge: program.edge(edge), weight, error: None, share_error: None, samples: 0 });
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
