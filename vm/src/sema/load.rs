//! Source files of a program: the library, the main file and what it imports, each once.
//!
//! In: a path (or a text). Out: parsed files in initialization order: library first, then imports before the files that import them.
//! Invariant: a file that cannot be read is reported where it is imported, and left out. Import chains and cycles of any length are walked without recursion.

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::library;
use crate::source::{FileId, Origin, SourceMap, Span};
use crate::syntax::{ast, parse};
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// In bytes. A path may also name a device that never ends.
const MAX_FILE: u64 = 256 << 20;

/// A file of the program with its tree.
#[derive(Debug)]
pub struct Unit {
    pub file: FileId,
    pub origin: Origin,
    pub ast: ast::File,
    /// Has errors of syntax, or imports that cannot be read: declarations may be missing.
    pub broken: bool,
}

/// Loads the program that starts in the file `main`. Errors of reading and of syntax go to `sink`.
pub fn load(map: &mut SourceMap, main: &Path, sink: &mut Diagnostics) -> Vec<Unit> {
    let mut loader = Loader::with_library(map, sink);
    if let Some(text) = loader.read(main, Span::default()) {
        loader.seen.insert(identity(main));
        loader.walk(main, text);
    }
    loader.units
}

/// The same for a program whose main file is not on disk; `name` stands for its path, and imports are relative to it.
pub fn load_text(map: &mut SourceMap, name: &Path, text: String, sink: &mut Diagnostics) -> Vec<Unit> {
    let mut loader = Loader::with_library(map, sink);
    loader.walk(name, text);
    loader.units
}

/// The library alone.
pub fn load_library(map: &mut SourceMap, sink: &mut Diagnostics) -> Vec<Unit> {
    Loader::with_library(map, sink).units
}

struct Loader<'m> {
    map: &'m mut SourceMap,
    sink: &'m mut Diagnostics,
    units: Vec<Unit>,
    seen: HashSet<PathBuf>,
}

/// A file whose imports are being walked.
struct Open {
    unit: Unit,
    dir: PathBuf,
    next: usize,
}

impl<'m> Loader<'m> {
    fn with_library(map: &'m mut SourceMap, sink: &'m mut Diagnostics) -> Self {
        let mut loader = Loader { map, sink, units: Vec::new(), seen: HashSet::new() };
        for (name, text) in library::FILES {
            let path = Path::new("<lib>").join(name);
            if let Some(unit) = loader.parse(path, (*text).to_string(), Origin::Library, Span::default()) {
                loader.units.push(unit);
            }
        }
        loader
    }

    fn walk(&mut self, main: &Path, text: String) {
        let mut stack = Vec::new();
        self.open(main, text, Span::default(), &mut stack);
        while let Some(top) = stack.last_mut() {
            let Some(import) = top.unit.ast.imports.get(top.next) else {
                self.units.extend(stack.pop().map(|open| open.unit));
                continue;
            };
            let (path, span) = (top.dir.join(&*import.path), import.span);
            top.next += 1;
            if !self.seen.insert(identity(&path)) {
                continue;
            }
            match self.read(&path, span) {
                Some(text) => self.open(&path, text, span, &mut stack),
                None => top.unit.broken = true,
            }
        }
    }

    fn open(&mut self, path: &Path, text: String, span: Span, stack: &mut Vec<Open>) {
        let dir = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        if let Some(unit) = self.parse(path.to_path_buf(), text, Origin::User, span) {
            stack.push(Open { unit, dir, next: 0 });
        }
    }

    fn parse(&mut self, path: PathBuf, text: String, origin: Origin, span: Span) -> Option<Unit> {
        let Ok(file) = self.map.add(path, text, origin) else {
            self.sink.push(Diagnostic::new(Code::TooLarge, span, "the source files together are larger than 4 GiB"));
            return None;
        };
        let before = self.sink.count();
        let ast = parse(self.map, file, self.sink);
        Some(Unit { file, origin, ast, broken: self.sink.count() > before })
    }

    fn read(&mut self, path: &Path, span: Span) -> Option<String> {
        let shown = path.display();
        let problem = match read_file(path) {
            Ok(bytes) if bytes.len() as u64 > MAX_FILE => {
                Diagnostic::new(Code::TooLarge, span, format!("`{shown}` is larger than {} MiB", MAX_FILE >> 20))
            }
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => return Some(text),
                Err(e) => {
                    let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
                    let line = valid.iter().filter(|&&b| b == b'\n').count() + 1;
                    Diagnostic::new(
                        Code::NotUtf8,
                        span,
                        format!("`{shown}` is not UTF-8 text: line {line} of it is the first that is wrong"),
                    )
                    .hint("save the file with the encoding UTF-8")
                }
            },
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let code = if span == Span::default() { Code::FileNotFound } else { Code::ImportNotFound };
                let problem = Diagnostic::new(code, span, format!("there is no file `{shown}`"));
                if span == Span::default() {
                    problem
                } else {
                    problem.hint("the path of an import is relative to the file that it stands in")
                }
            }
            Err(_) if path.is_dir() => Diagnostic::new(Code::FileNotFound, span, format!("`{shown}` is a directory, not a source file")),
            Err(e) => Diagnostic::new(Code::FileNotFound, span, format!("`{shown}` cannot be read: {e}")),
        };
        self.sink.push(problem);
        None
    }
}

fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// One path for one file, however it is written.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
