//! One text for every function, for formats in which a function is its name, and for those who read them.
//!
//! In: a [`Program`]. Out: names that differ where functions differ: those that share a name also say file and line, and their number if even these are the same.

use crate::ids::FuncId;
use crate::program::{Function, Program};
use cranelift_entity::{EntityRef, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) struct DistinctNames {
    names: SecondaryMap<FuncId, Box<str>>,
}

impl DistinctNames {
    pub fn new(program: &Program) -> Self {
        let mut uses: FxHashMap<&str, usize> = FxHashMap::default();
        program.functions.values().for_each(|function| *uses.entry(name(function)).or_default() += 1);
        let mut taken: FxHashSet<Box<str>> = uses.iter().filter(|&(_, &uses)| uses == 1).map(|(&name, _)| name.into()).collect();
        let mut names = SecondaryMap::with_capacity(program.functions.len());
        for (id, function) in &program.functions {
            names[id] = match uses[name(function)] {
                1 => name(function).into(),
                _ => distinct(id, function, &mut taken),
            };
        }
        DistinctNames { names }
    }

    pub fn get(&self, function: FuncId) -> &str {
        &self.names[function]
    }

    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.names.values().map(|name| &**name)
    }
}

fn distinct(id: FuncId, function: &Function, taken: &mut FxHashSet<Box<str>>) -> Box<str> {
    let place = match (&*function.file, function.line) {
        ("", 0) => format!("{} (#{})", name(function), id.index()),
        (file, line) => format!("{} ({file}:{line})", name(function)),
    };
    let mut text = place.clone();
    // Ends: there are fewer names than numbers.
    for number in id.index().. {
        if !taken.contains(&*text) {
            break;
        }
        text = format!("{place} #{number}");
    }
    taken.insert(text.clone().into());
    text.into()
}

/// Whether functions and call sites (of these lines) are known by nothing but functions' names, as in a file of folded stacks.
pub(crate) fn know_no_places<'a>(functions: impl Iterator<Item = &'a Function>, mut lines: impl Iterator<Item = u32>) -> bool {
    let mut functions = functions.peekable();
    functions.peek().is_some() && functions.all(|function| function.file.is_empty() && function.line == 0) && lines.all(|line| line == 0)
}

/// The program with functions called as [`DistinctNames`] calls them, those whom `other` knows by such a name.
pub(crate) fn as_in(program: &Program, other: &Program) -> Program {
    let known: FxHashSet<&str> = other.functions.values().map(|function| &*function.name).collect();
    let names = DistinctNames::new(program);
    let mut renamed = program.clone();
    for (id, function) in &mut renamed.functions {
        if known.contains(names.get(id)) {
            function.name = names.get(id).into();
        }
    }
    renamed
}

/// The function's name, or a stand-in where it has none.
pub(crate) fn name(function: &Function) -> &str {
    if function.name.is_empty() { "(unnamed)" } else { &function.name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_share_a_name_are_told_apart() {
        let mut program = Program::default();
        for (name, file, line) in
            [("f", "a", 1), ("f", "b", 2), ("f (a:1)", "", 0), ("f", "b", 2), ("g", "a", 1), ("", "", 0), ("h", "", 0), ("h", "", 0)]
        {
            program.functions.push(Function { name: name.into(), file: file.into(), line });
        }
        let names = DistinctNames::new(&program);
        let expected = ["f (a:1) #0", "f (b:2)", "f (a:1)", "f (b:2) #3", "g", "(unnamed)", "h (#6)", "h (#7)"];
        assert_eq!(names.all().collect::<Vec<_>>(), expected);
    }
}
