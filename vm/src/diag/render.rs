//! Diagnostics as text: title, source excerpt with carets, hint.
//!
//! In: diagnostics and the sources. Out: a string, with or without ANSI colours.
//! Invariant: the length of what one diagnostic prints does not depend on the length of the source's lines: only the lines that carry a label are shown, and of a long
//! line only a window around a label.

use super::{Diagnostic, Diagnostics};
use crate::source::{FileId, SourceMap, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt::Write;

/// Lines up to this many bytes are shown whole.
const WHOLE_LINE: usize = 160;
/// Of longer ones this much is shown before and after a label's start.
const BEFORE: usize = 60;
const AFTER: usize = 80;
/// Labels at most this many lines apart share an excerpt.
const SAME_EXCERPT: u32 = 3;

/// A label with its place worked out: byte offsets are within the line.
struct Label<'a> {
    file: FileId,
    line: u32,
    col: u32,
    start: usize,
    end: usize,
    text: &'a str,
    primary: bool,
}

/// Neighbouring lines of one file, cut to size, and the labels in them (offsets in `text`).
struct Excerpt<'a> {
    path: String,
    first_line: u32,
    /// 1-based line and column of the label that the excerpt is headed with, and its column in `text`.
    line: u32,
    col: u32,
    shown_col: u32,
    text: String,
    labels: Vec<(usize, usize, &'a str, bool)>,
}

impl Diagnostics {
    /// All kept errors in the order of their positions, then the summary line. Empty without errors.
    pub fn render(&self, map: &SourceMap, colour: bool) -> String {
        let mut sorted: Vec<&Diagnostic> = self.kept.iter().collect();
        sorted.sort_by_key(|d| (d.primary.0.lo, d.primary.0.hi, d.code));
        let mut out = String::new();
        for d in sorted {
            let _ = writeln!(out, "{}\n", d.render(map, colour));
        }
        if !self.is_empty() {
            let _ = writeln!(out, "{}", self.summary());
        }
        out
    }
}

impl Diagnostic {
    /// Without a line break at the end.
    pub fn render(&self, map: &SourceMap, colour: bool) -> String {
        let title = Level::ERROR.primary_title(clip(&self.message)).id(self.code.id());
        let excerpts = excerpts(self, map);
        let mut group = Group::with_title(title);
        for e in &excerpts {
            let annotations = e.labels.iter().map(|&(start, end, text, primary)| {
                let kind = if primary { AnnotationKind::Primary } else { AnnotationKind::Context };
                let annotation = kind.span(start..end);
                if text.is_empty() { annotation } else { annotation.label(clip(text)) }
            });
            let snippet = Snippet::source(e.text.as_str()).line_start(e.first_line as usize).path(e.path.as_str());
            group = group.element(snippet.fold(false).annotations(annotations));
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.with_name("hint").message(clip(hint)));
        }
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let mut text = renderer.term_width(400).render(&[group]);
        for e in &excerpts {
            e.correct_column(&mut text);
        }
        text
    }
}

impl Excerpt<'_> {
    /// The renderer counts columns in what it is shown, which of a long line is only a part.
    fn correct_column(&self, text: &mut String) {
        if self.shown_col != self.col {
            let (wrong, right) =
                (format!("{}:{}:{}", self.path, self.line, self.shown_col), format!("{}:{}:{}", self.path, self.line, self.col));
            *text = text.replacen(&wrong, &right, 1);
        }
    }
}

/// Names in messages come from the source and can be of any length.
fn clip(text: &str) -> String {
    const LIMIT: usize = 400;
    match text.char_indices().nth(LIMIT) {
        None => text.to_string(),
        Some((i, _)) => format!("{}…", &text[..i]),
    }
}

fn excerpts<'a>(d: &'a Diagnostic, map: &SourceMap) -> Vec<Excerpt<'a>> {
    let primary = std::iter::once((d.primary.0, d.primary.1.as_str(), true));
    let secondary = d.secondary.iter().map(|(span, text)| (*span, text.as_str(), false));
    let mut labels: Vec<Label> = primary.chain(secondary).filter_map(|(span, text, primary)| locate(map, span, text, primary)).collect();
    labels.sort_by_key(|l| (l.file, l.line, l.start, l.end));
    let mut groups: Vec<Vec<Label>> = Vec::new();
    for label in labels {
        match groups.last_mut() {
            Some(g) if g.last().is_some_and(|last| share_excerpt(map, last, &label)) => g.push(label),
            _ => groups.push(vec![label]),
        }
    }
    // The excerpt with the error itself comes first.
    groups.sort_by_key(|g| !g.iter().any(|l| l.primary));
    groups.into_iter().map(|g| excerpt(map, g)).collect()
}

fn share_excerpt(map: &SourceMap, a: &Label, b: &Label) -> bool {
    let near = a.line != b.line || b.start - a.start <= BEFORE || map.line_text(a.file, a.line).len() <= WHOLE_LINE;
    a.file == b.file && b.line - a.line <= SAME_EXCERPT && near
}

fn locate<'a>(map: &SourceMap, span: Span, text: &'a str, primary: bool) -> Option<Label<'a>> {
    let (file, at) = map.line_col(span.lo)?;
    let line = map.line_text(file, at.line);
    let line_start = map.line_start(file, at.line);
    let offset = (span.lo - map.file(file).start) as usize - line_start;
    let start = floor_boundary(line, offset);
    // A span over several lines is marked to the end of its first.
    let end = ceil_boundary(line, offset + (span.hi - span.lo) as usize);
    Some(Label { file, line: at.line, col: at.col, start, end: end.max(start), text, primary })
}

fn excerpt<'a>(map: &SourceMap, labels: Vec<Label<'a>>) -> Excerpt<'a> {
    let file = labels[0].file;
    let (first_line, last_line) = (labels[0].line, labels[labels.len() - 1].line);
    let head = labels.iter().find(|l| l.primary).unwrap_or(&labels[0]);
    let path = map.file(file).path.display().to_string();
    let mut e = Excerpt { path, first_line, line: head.line, col: head.col, shown_col: head.col, text: String::new(), labels: Vec::new() };
    for line in first_line..=last_line {
        if line > first_line {
            e.text.push('\n');
        }
        let line_start = e.text.len();
        let source = map.line_text(file, line);
        let here = || labels.iter().filter(|l| l.line == line);
        let center = here().find(|l| l.primary).or_else(|| here().next()).map_or(0, |l| l.start);
        let (from, to) = window(source, center);
        let shift = e.text.len() + if from > 0 { "…".len() } else { 0 };
        for l in here() {
            let place = |offset: usize| shift + offset.clamp(from, to) - from;
            e.labels.push((place(l.start), place(l.end), l.text, l.primary));
        }
        push_window(&mut e.text, source, from, to);
        if line == head.line && from > 0 {
            let offset = shift + head.start.clamp(from, to) - from;
            e.shown_col = e.text[line_start..offset].chars().count() as u32 + 1;
        }
    }
    // A caret past the last character needs a character to stand under.
    e.text.push('\n');
    e
}

/// The part of a line that is shown, given the offset of what must be in it.
fn window(line: &str, offset: usize) -> (usize, usize) {
    if line.len() <= WHOLE_LINE {
        return (0, line.len());
    }
    (floor_boundary(line, offset.saturating_sub(BEFORE)), ceil_boundary(line, offset + AFTER))
}

fn push_window(out: &mut String, line: &str, from: usize, to: usize) {
    if from > 0 {
        out.push('…');
    }
    out.push_str(&line[from..to]);
    if to < line.len() {
        out.push('…');
    }
}

fn floor_boundary(text: &str, mut i: usize) -> usize {
    i = i.min(text.len());
    while !text.is_char_boundary(i) {
        i -= 1;
    }
    i
}

fn ceil_boundary(text: &str, mut i: usize) -> usize {
    i = i.min(text.len());
    while !text.is_char_boundary(i) {
        i += 1;
    }
    i
}
