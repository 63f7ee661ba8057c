//! The programs to measure, with their arguments.

use super::options::BenchArgs;
use std::path::{Path, PathBuf};

#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Unique.
    pub name: String,
    pub file: PathBuf,
    pub args: Vec<String>,
}

/// Those of the command line, then those of the list.
pub fn programs(args: &BenchArgs) -> Result<Vec<Program>, String> {
    let words = split(args.args.as_deref().unwrap_or_default());
    let mut all: Vec<(PathBuf, Vec<String>)> = args.files.iter().map(|file| (file.clone(), words.clone())).collect();
    if args.files.is_empty() && !words.is_empty() {
        return Err("--args goes with FILE…; programs of a --suite have theirs in the list".into());
    }
    if let Some(path) = &args.suite {
        let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        all.extend(list(&text, path.parent().unwrap_or(Path::new(""))));
    }
    let programs = named(all);
    if let Some(name) = args.only.iter().find(|name| !programs.iter().any(|program| program.name == **name)) {
        let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        return Err(format!("there is no program `{name}`; there are: {}", names.join(", ")));
    }
    let chosen: Vec<Program> = programs.into_iter().filter(|program| args.only.is_empty() || args.only.contains(&program.name)).collect();
    if chosen.is_empty() { Err("there are no programs in the list".into()) } else { Ok(chosen) }
}

/// Of files with their arguments, relative to a folder.
fn list(text: &str, folder: &Path) -> Vec<(PathBuf, Vec<String>)> {
    let lines = text.lines().map(|line| split(line.split('#').next().unwrap_or_default()));
    lines.filter(|words| !words.is_empty()).map(|mut words| (folder.join(words.remove(0)), words)).collect()
}

fn split(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// By the file's name, where that tells programs apart; else by path and arguments, and by number.
fn named(all: Vec<(PathBuf, Vec<String>)>) -> Vec<Program> {
    let stem = |file: &Path| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let long = |(file, args): &(PathBuf, Vec<String>)| [&[file.display().to_string()], args.as_slice()].concat().join(" ");
    let name = |(at, program): (usize, &(PathBuf, Vec<String>))| {
        let others = || all.iter().enumerate().filter(move |(other, _)| *other != at).map(|(_, other)| other);
        if others().all(|other| stem(&other.0) != stem(&program.0)) {
            stem(&program.0)
        } else if others().all(|other| long(other) != long(program)) {
            long(program)
        } else {
            format!("{} ({})", long(program), at + 1)
        }
    };
    let names: Vec<String> = all.iter().enumerate().map(name).collect();
    names.into_iter().zip(all).map(|(name, (file, args))| Program { name, file, args }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_files_with_arguments() {
        let found = list("# sizes\n\na.lang 1 2 # short\n  sub/b.lang\n", Path::new("dir"));
        let expected = [("dir/a.lang", vec!["1", "2"]), ("dir/sub/b.lang", vec![])];
        assert_eq!(found, expected.map(|(file, args)| (PathBuf::from(file), args.into_iter().map(str::to_owned).collect())));
    }

    #[test]
    fn names_are_unique() {
        let program = |file: &str, arg: &str| (PathBuf::from(file), vec![arg.to_owned()]);
        let all = [program("x/a.lang", "1"), program("y/b.lang", "1"), program("y/a.lang", "1"), program("x/a.lang", "1")];
        let names: Vec<String> = named(all.to_vec()).into_iter().map(|program| program.name).collect();
        assert_eq!(names, ["x/a.lang 1 (1)", "b", "y/a.lang 1", "x/a.lang 1 (4)"]);
    }
}
