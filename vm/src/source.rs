//! Source files and positions: every file of a program is laid end to end in one position space, so a position is one `u32`.
//!
//! In: file names and texts. Out: [`Span`]s, and the file, line and column of any of them.
//! Invariant: files never overlap and never move once added; position 0 is reserved for "no position".

use std::path::PathBuf;

/// A half-open range of positions in the [`SourceMap`]'s space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    pub lo: u32,
    pub hi: u32,
}

impl Span {
    pub fn new(lo: u32, hi: u32) -> Self {
        debug_assert!(lo <= hi);
        Span { lo, hi }
    }

    /// The smallest span that covers both.
    pub fn to(self, end: Span) -> Span {
        Span { lo: self.lo.min(end.lo), hi: self.hi.max(end.hi) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// Whether a file is the user's or part of the library compiled into the VM (`native` is allowed only there).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    User,
    Library,
}

#[derive(Debug)]
pub struct SourceFile {
    /// As the user wrote it on the command line or in an `import`, resolved; `<lib>/list.lang` for the library.
    pub path: PathBuf,
    pub text: String,
    /// Position of the first byte.
    pub start: u32,
    pub origin: Origin,
    /// Byte offsets of line starts.
    lines: Vec<u32>,
}

/// 1-based line and column (in characters).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineCol {
    pub line: u32,
    pub col: u32,
}

#[derive(Default, Debug)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

/// The sources together would pass 4 GiB.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

impl SourceMap {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, path: PathBuf, text: String, origin: Origin) -> Result<FileId, TooLarge> {
        let start = self.files.last().map_or(1, |f| f.start + f.text.len() as u32 + 1);
        if text.len() as u64 + u64::from(start) >= u64::from(u32::MAX) {
            return Err(TooLarge);
        }
        let lines = std::iter::once(0).chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1)).collect();
        self.files.push(SourceFile { path, text, start, origin, lines });
        Ok(FileId(self.files.len() as u32 - 1))
    }

    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }

    /// The file that contains `pos`; `None` for position 0 and past the end.
    pub fn file_at(&self, pos: u32) -> Option<FileId> {
        let i = self.files.partition_point(|f| f.start <= pos).checked_sub(1)?;
        (pos <= self.files[i].start + self.files[i].text.len() as u32).then_some(FileId(i as u32))
    }

    pub fn line_col(&self, pos: u32) -> Option<(FileId, LineCol)> {
        let id = self.file_at(pos)?;
        let file = self.file(id);
        let offset = pos - file.start;
        let line = file.lines.partition_point(|&l| l <= offset) - 1;
        let col = file.text.get(file.lines[line] as usize..offset as usize).map_or(0, |s| s.chars().count());
        Some((id, LineCol { line: line as u32 + 1, col: col as u32 + 1 }))
    }

    /// Text of a span; empty where it is not within one file.
    pub fn text(&self, span: Span) -> &str {
        let Some(id) = self.file_at(span.lo) else { return "" };
        let file = self.file(id);
        file.text.get((span.lo - file.start) as usize..(span.hi - file.start) as usize).unwrap_or("")
    }

    /// Byte offset in the file at which the 1-based line starts; the file's length past its last line.
    pub fn line_start(&self, id: FileId, line: u32) -> usize {
        let file = self.file(id);
        file.lines.get(line as usize - 1).map_or(file.text.len(), |&l| l as usize)
    }

    /// The 1-based line's text without its end.
    pub fn line_text(&self, id: FileId, line: u32) -> &str {
        self.file(id).text[self.line_start(id, line)..].lines().next().unwrap_or("")
    }
}
