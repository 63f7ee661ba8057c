//! Functions and call sites of one program found again in another: in what was compiled from the same source once more, or from a later version of it.
//!
//! In: [`Names`], what identifies functions and call sites whatever their numbers are; a [`Program`]. Out: [`Mapping`], for each the number it has there, if it is there.
//!
//! A function is known again by its name and its file, or by its name alone where its file is unknown. Where nothing but names is known, those that share one are known by what formats in which a function is its name call them, too. A file that is not there any more is the one of its name whose path ends alike, of those that were not there.
//! Several functions of one name and file are looked for together: on their lines if all of them are there; else, if there are as many as
//! before, by their order; else all on lines that are equally far away; else each on its line. Several on one line are told apart by their order. A name that ends with the function's own line, as those of closures do, is taken without it.
//! A call site is known again by its caller and its distance from the caller's first line, or by its line where nothing is at that distance; of several on one line by their order, and so are those whose line both programs do not know.
//! Invariant: two functions, and two call sites, with different names are never found to be the same one as long as there is one for each; of functions that are looked for together, no two are found to be one.

use crate::ids::{CallSiteId, FuncId};
use crate::names::{self, DistinctNames};
use crate::program::{Function, Program};
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// What identifies a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionKey {
    /// Name, file and line.
    pub function: Function,
    /// Which of those with this name (without the line at its end) on this line, in the order of their numbers: 0 for the first.
    pub nth: u32,
}

/// What identifies a call site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SiteKey {
    /// The function it is in.
    pub caller: FuncId,
    /// 1-based; 0 where unknown. In the caller's file.
    pub line: u32,
    /// Which of the caller's on this line, in the order of their numbers: 0 for the first.
    pub nth: u32,
}

/// Functions and call sites, all or some of a program.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Names {
    /// By number.
    pub functions: PrimaryMap<FuncId, FunctionKey>,
    /// By number.
    pub sites: PrimaryMap<CallSiteId, SiteKey>,
}

impl Names {
    /// All of a program, with its numbers.
    pub fn of(program: &Program) -> Names {
        let mut counts: FxHashMap<(&str, &str, u32), u32> = FxHashMap::default();
        let functions = program.functions.values().map(|function| {
            let nth = next(counts.entry((stem(function), &function.file, function.line)).or_default());
            FunctionKey { function: function.clone(), nth }
        });
        let functions = functions.collect();
        let mut counts: FxHashMap<(FuncId, u32), u32> = FxHashMap::default();
        let sites = program.sites.values().map(|site| {
            let nth = next(counts.entry((site.caller, site.line)).or_default());
            SiteKey { caller: site.caller, line: site.line, nth }
        });
        Names { functions, sites: sites.collect() }
    }

    /// What they are in a program.
    pub fn find_in(&self, now: &Program) -> Mapping {
        let index = Index::new(now);
        let mut mapping = Mapping::default();
        let files = files(self.functions.values().map(|key| &*key.function.file), now.functions.values().map(|function| &*function.file));
        let mut namesakes: FxHashMap<(&str, &str), Vec<Placed>> = FxHashMap::default();
        for (id, FunctionKey { function, nth }) in &self.functions {
            let place = Place { line: function.line, nth: *nth };
            namesakes.entry((stem(function), &function.file)).or_default().push((place, id));
        }
        for ((name, file), mut then) in namesakes {
            then.sort_unstable();
            let found = files.get(file).and_then(|file| index.functions.get(&(name, *file)));
            let now = found.map_or(&[][..], |ids| ids);
            pair(&then, &index.placed(now), |id, found| mapping.functions[id] = found.into());
        }
        if names::know_no_places(self.functions.values().map(|key| &key.function), self.sites.values().map(|site| site.line)) {
            self.find_namesakes(now, &mut mapping);
        }
        for (id, site) in &self.sites {
            let Some(caller) = mapping.function(site.caller) else { continue };
            mapping.sites[id] = index.site(caller, site, self.functions[site.caller].function.line).into();
        }
        mapping
    }

    /// Those that were not found are called as functions that share a name are where they have nothing else.
    fn find_namesakes(&self, now: &Program, mapping: &mut Mapping) {
        let names = DistinctNames::new(now);
        let mut free: FxHashMap<&str, FuncId> = names.all().zip(now.functions.keys()).collect();
        let taken: FxHashSet<FuncId> = self.functions.keys().filter_map(|id| mapping.function(id)).collect();
        free.retain(|_, id| !taken.contains(id));
        for (id, FunctionKey { function, .. }) in &self.functions {
            if mapping.function(id).is_none() {
                mapping.functions[id] = free.remove(&*function.name).into();
            }
        }
    }
}

/// The number that `count` has had, which grows.
fn next(count: &mut u32) -> u32 {
    *count += 1;
    *count - 1
}

/// The numbers of another program.
#[derive(Clone, Default, Debug)]
pub struct Mapping {
    /// It is the same program: no names are needed.
    is_same: bool,
    functions: SecondaryMap<FuncId, PackedOption<FuncId>>,
    sites: SecondaryMap<CallSiteId, PackedOption<CallSiteId>>,
}

impl Mapping {
    /// Of a program to itself.
    pub fn same() -> Mapping {
        Mapping { is_same: true, ..Mapping::default() }
    }

    /// `None`: it is gone.
    pub fn function(&self, id: FuncId) -> Option<FuncId> {
        if self.is_same { Some(id) } else { self.functions[id].expand() }
    }

    /// `None`: it is gone.
    pub fn site(&self, id: CallSiteId) -> Option<CallSiteId> {
        if self.is_same { Some(id) } else { self.sites[id].expand() }
    }
}

/// Where a function stands among those of its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place {
    line: u32,
    /// Which on this line.
    nth: u32,
}

type Placed = (Place, FuncId);

/// Tells for each of the functions of a name which one it is now. Both are in order.
fn pair(then: &[Placed], now: &[Placed], mut tell: impl FnMut(FuncId, Option<FuncId>)) {
    /// Distances that are tried, the shortest first.
    const TRIED: usize = 64;
    let places: FxHashMap<Place, FuncId> = now.iter().copied().collect();
    let moved = |place: Place, by: i64| {
        let line = u32::try_from(i64::from(place.line) + by).ok()?;
        places.get(&Place { line, ..place }).copied()
    };
    let fits = |&by: &i64| then.iter().all(|&(place, _)| moved(place, by).is_some());
    if !fits(&0) && then.len() == now.len() {
        return then.iter().zip(now).for_each(|(&(_, id), &(_, found))| tell(id, Some(found)));
    }
    let first = then.first().map_or(0, |(place, _)| i64::from(place.line));
    let mut distances: Vec<i64> = now.iter().map(|(place, _)| i64::from(place.line) - first).collect();
    distances.dedup();
    distances.sort_by_key(|by| by.abs());
    let by = distances.into_iter().take(TRIED).find(fits).unwrap_or(0);
    then.iter().for_each(|&(place, id)| tell(id, moved(place, by)));
}

/// A program by name.
struct Index<'a> {
    program: &'a Program,
    /// By name and file, and by name alone.
    functions: FxHashMap<(&'a str, &'a str), Vec<FuncId>>,
    sites: FxHashMap<(FuncId, u32), Vec<CallSiteId>>,
}

impl<'a> Index<'a> {
    pub fn new(program: &'a Program) -> Index<'a> {
        let mut functions: FxHashMap<(&str, &str), Vec<FuncId>> = FxHashMap::default();
        for (id, function) in &program.functions {
            let (name, file) = (stem(function), &*function.file);
            functions.entry((name, file)).or_default().push(id);
            if !file.is_empty() {
                functions.entry((name, "")).or_default().push(id);
            }
        }
        let mut sites: FxHashMap<(FuncId, u32), Vec<CallSiteId>> = FxHashMap::default();
        program.sites.iter().for_each(|(id, site)| sites.entry((site.caller, site.line)).or_default().push(id));
        Index { program, functions, sites }
    }

    /// In order.
    fn placed(&self, ids: &[FuncId]) -> Vec<Placed> {
        let mut placed: Vec<Placed> = ids.iter().map(|&id| (Place { line: self.program.functions[id].line, nth: 0 }, id)).collect();
        placed.sort_unstable();
        for same in placed.chunk_by_mut(|a, b| a.0.line == b.0.line) {
            (0..).zip(same).for_each(|(nth, (place, _))| place.nth = nth);
        }
        placed
    }

    /// The call site in `caller` that was in the same function when that began on the line `first`.
    pub fn site(&self, caller: FuncId, site: &SiteKey, first: u32) -> Option<CallSiteId> {
        let on = |line| self.sites.get(&(caller, line));
        let moved = site.line.saturating_add(self.program.functions[caller].line).saturating_sub(first);
        let found = if site.line == 0 { on(0) } else { on(moved).or_else(|| on(site.line)) };
        found?.get(site.nth as usize).copied()
    }
}

/// For each file the one that it is now, if it is there: of the same path, or else of the same name, those first that have most folders in common from there up.
fn files<'a>(then: impl Iterator<Item = &'a str>, now: impl Iterator<Item = &'a str>) -> FxHashMap<&'a str, &'a str> {
    let (then, now): (BTreeSet<&str>, BTreeSet<&str>) = (then.collect(), now.collect());
    // What has no file is looked for everywhere.
    let mut found: FxHashMap<&str, &str> = then.intersection(&now).chain([&""]).map(|&file| (file, file)).collect();
    let mut others: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    now.difference(&then).for_each(|&file| others.entry(base(file)).or_default().push(file));
    let moved = then.difference(&now).flat_map(|&was| others.get(base(was)).into_iter().flatten().map(move |&is| (was, is)));
    let mut moved: Vec<_> = moved.map(|(was, is)| (Reverse(alike(was, is)), was, is)).collect();
    moved.sort_unstable();
    let mut taken: FxHashSet<&str> = FxHashSet::default();
    for (_, was, is) in moved {
        if !found.contains_key(was) && taken.insert(is) {
            found.insert(was, is);
        }
    }
    found
}

/// Parts at the ends of two paths that are the same.
fn alike(one: &str, other: &str) -> usize {
    one.rsplit('/').zip(other.rsplit('/')).take_while(|(a, b)| a == b).count()
}

/// A file's name without its folder.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A function's name, without its line if that is the end of it.
fn stem(function: &Function) -> &str {
    match function.name.rsplit_once(':') {
        Some((stem, line)) if line.parse() == Ok(function.line) => stem,
        _ => &function.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::CallSite;

    /// Functions as name and line; call sites as caller and line.
    fn program(functions: &[(&str, u32)], sites: &[(u32, u32)]) -> Program {
        let mut program = Program::default();
        for &(name, line) in functions {
            program.functions.push(Function { name: name.into(), file: "dir/a.x".into(), line });
        }
        for &(caller, line) in sites {
            program.sites.push(CallSite { caller: FuncId::from_u32(caller), line });
        }
        program
    }

    fn mapped(then: &Program, now: &Program) -> (Vec<Option<u32>>, Vec<Option<u32>>) {
        let names = Names::of(then);
        let mapping = names.find_in(now);
        let functions = names.functions.keys().map(|id| mapping.function(id).map(FuncId::as_u32)).collect();
        (functions, names.sites.keys().map(|id| mapping.site(id).map(CallSiteId::as_u32)).collect())
    }

    #[test]
    fn a_program_is_found_in_itself_whatever_is_alike() {
        let twins = program(&[("f", 1), ("closure", 3), ("closure", 3), ("f", 9)], &[(0, 2), (0, 2), (1, 3), (2, 3), (0, 4), (3, 9)]);
        assert_eq!(mapped(&twins, &twins), ((0..4).map(Some).collect(), (0..6).map(Some).collect()));
    }

    /// Functions `f` on the same line of these files, each with a call.
    fn in_files(files: &[&str]) -> Program {
        let mut program = Program::default();
        for file in files {
            let caller = program.functions.push(Function { name: "f".into(), file: (*file).into(), line: 2 });
            program.sites.push(CallSite { caller, line: 2 });
        }
        program
    }

    #[test]
    fn files_of_one_name_are_told_apart_by_their_folders() {
        let found = |then: &[&str], now: &[&str]| {
            let (functions, sites) = mapped(&in_files(then), &in_files(now));
            assert_eq!(functions, sites);
            functions
        };
        let both = ["a/work.x", "b/work.x"];
        assert_eq!(found(&both, &both), [Some(0), Some(1)]);
        assert_eq!(found(&both, &["b/work.x", "a/work.x"]), [Some(1), Some(0)]);
        assert_eq!(found(&both, &["b/work.x"]), [None, Some(0)]);
        assert_eq!(found(&["b/work.x"], &both), [Some(1)]);
        assert_eq!(found(&both, &["/new/b/work.x", "/new/a/work.x"]), [Some(1), Some(0)], "all is elsewhere now");
        assert_eq!(found(&both, &["/new/b/work.x"]), [None, Some(0)]);
        assert_eq!(found(&["work.x"], &["/a/work.x"]), [Some(0)]);
        assert_eq!(found(&both, &["c/work.x", "d/work.x", "a/other.x"]), [Some(0), Some(1)], "by their order");
        assert_eq!(found(&["", "a/work.x"], &["a/work.x"]), [Some(0), Some(0)], "what has no file may be in any");
        assert_eq!(found(&["a/work.x"], &[""]), [None]);
    }

    #[test]
    fn where_names_are_all_those_who_share_one_are_known_by_what_tells_them_apart() {
        let now = program(&[("f", 1), ("closure at a.x:3", 3), ("closure at a.x:5", 5), ("f", 9)], &[]);
        let mut then = Program::default();
        for name in ["f (dir/a.x:9)", "closure at a.x:5", "gone (dir/a.x:9)", "f (dir/a.x:1)"] {
            then.functions.push(Function { name: name.into(), file: "".into(), line: 0 });
        }
        assert_eq!(mapped(&then, &now).0, [Some(3), Some(2), None, Some(0)]);
        let named = |names: &[&str]| {
            let mut program = Program::default();
            names.iter().for_each(|&name| _ = program.functions.push(Function { name: name.into(), file: "".into(), line: 0 }));
            program
        };
        assert_eq!(mapped(&named(&["init", "init"]), &named(&["init"])).0, [Some(0), None], "no two are one");
        let taken = ["g", "g", "g (#0)", "g (#0)"];
        assert_eq!(mapped(&named(&taken), &named(&taken)).0, (0..4).map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn names_with_and_without_their_line_are_not_one() {
        let twins = program(&[("f:3", 3), ("f", 3)], &[(0, 3), (1, 3)]);
        assert_eq!(mapped(&twins, &twins).0, [Some(0), Some(1)]);
    }

    #[test]
    fn numbers_may_change_and_lines_may_move_together() {
        let then = program(&[("main", 1), ("work", 10)], &[(0, 3), (1, 12), (1, 12)]);
        let now = program(&[("new", 1), ("work", 14), ("main", 5)], &[(1, 16), (2, 7), (1, 16), (0, 2)]);
        assert_eq!(mapped(&then, &now), (vec![Some(2), Some(1)], vec![Some(1), Some(0), Some(2)]));
    }

    #[test]
    fn what_is_gone_is_not_taken_for_another() {
        let then = program(&[("main", 1), ("gone", 10), ("closure", 20), ("closure", 20)], &[(0, 3), (0, 3), (1, 11), (0, 0)]);
        let now = program(&[("main", 1), ("closure", 20)], &[(0, 3), (0, 9)]);
        let (functions, sites) = mapped(&then, &now);
        assert_eq!(functions, [Some(0), None, Some(1), None], "the second closure is not the first");
        assert_eq!(sites, [Some(0), None, None, None]);
    }

    #[test]
    fn functions_of_one_name_are_known_by_their_order_and_not_taken_for_each_other() {
        let functions = |then: &[u32], now: &[u32]| {
            let closures = |lines: &[u32]| {
                let names: Vec<String> = lines.iter().map(|line| format!("closure at a.x:{line}")).collect();
                let functions: Vec<_> = names.iter().zip(lines).map(|(name, &line)| (name.as_str(), line)).collect();
                program(&functions, &[])
            };
            mapped(&closures(then), &closures(now)).0
        };
        assert_eq!(functions(&[7, 9], &[9, 11]), [Some(0), Some(1)], "moved by two");
        assert_eq!(functions(&[9, 7], &[8, 20]), [Some(1), Some(0)], "whatever their numbers are");
        assert_eq!(functions(&[7, 9], &[9, 11, 30]), [Some(0), Some(1)], "moved, and one more");
        assert_eq!(functions(&[7, 9], &[7, 8, 9]), [Some(0), Some(2)], "one more between them");
        assert_eq!(functions(&[7, 9, 30], &[7, 30]), [Some(0), None, Some(1)], "one is gone");
        let twins: Vec<u32> = vec![1; 100_000];
        assert!(functions(&twins, &twins).into_iter().eq((0..100_000).map(Some)));
    }

    #[test]
    fn call_sites_of_unknown_lines_go_by_their_order() {
        let then = program(&[("start", 0)], &[(0, 0), (0, 0), (0, 0)]);
        let now = program(&[("start", 0)], &[(0, 0), (0, 4), (0, 0)]);
        assert_eq!(mapped(&then, &now).1, [Some(0), Some(2), None]);
        let elsewhere = program(&[("start", 7)], &[(0, 7)]);
        assert_eq!(mapped(&then, &elsewhere).1, [None; 3]);
    }
}
