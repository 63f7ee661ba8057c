//! Errors in a user's program, as values: what is wrong, where, why, and what to do about it.
//!
//! In: what the lexer, the parser, the checker and the lowering find. Out: text with source excerpts, sorted by position.
//! Invariants: a [`Code`] keeps its meaning for ever; one place is reported at most once per code; after [`Diagnostics::LIMIT`] errors the rest
//! is only counted, so that neither memory nor output grows with absurd input.

mod codes;
mod render;

pub use codes::Code;

use crate::source::Span;
use std::collections::HashSet;

/// One error. `Span::default()` as the primary span means that it has no place in a source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub code: Code,
    /// One sentence without a full stop, in the words of the language.
    pub message: String,
    /// Where, and what to write under the caret (may be empty).
    pub primary: (Span, String),
    /// Other places that explain the error: "declared here".
    pub secondary: Vec<(Span, String)>,
    /// What the user can do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic { code, message: message.into(), primary: (span, String::new()), secondary: Vec::new(), hint: None }
    }

    /// Text under the primary span's caret.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.1 = text.into();
        self
    }

    /// Another place that explains the error.
    pub fn secondary(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push((span, text.into()));
        self
    }

    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hint = Some(text.into());
        self
    }

    /// As [`Self::hint`], where there may be nothing to advise.
    pub fn maybe_hint(mut self, text: Option<String>) -> Self {
        self.hint = text.or(self.hint);
        self
    }
}

/// Collects the errors of one compilation.
#[derive(Default, Debug)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    seen: HashSet<(u32, Code)>,
    /// Errors beyond the limit.
    dropped: usize,
}

impl Diagnostics {
    /// Errors kept; the rest is counted.
    pub const LIMIT: usize = 100;

    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error, unless the same code was reported at the same position before.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.kept.len() >= Self::LIMIT {
            self.dropped += 1;
            return;
        }
        let lo = diagnostic.primary.0.lo;
        if lo == 0 || self.seen.insert((lo, diagnostic.code)) {
            self.kept.push(diagnostic);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// All errors, those beyond the limit too.
    pub fn count(&self) -> usize {
        self.kept.len() + self.dropped
    }

    /// The errors kept, as reported.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.kept.iter()
    }

    /// Drops the kept errors with this code.
    pub fn forget(&mut self, code: Code) {
        self.kept.retain(|d| d.code != code);
    }

    /// Adds another collection's errors.
    pub fn append(&mut self, other: Diagnostics) {
        other.kept.into_iter().for_each(|d| self.push(d));
        self.dropped += other.dropped;
    }

    /// `1 error`, `2 errors`, `137 errors (the first 100 are shown)`; empty without errors.
    pub fn summary(&self) -> String {
        match (self.count(), self.dropped) {
            (0, _) => String::new(),
            (1, _) => "1 error".to_string(),
            (n, 0) => format!("{n} errors"),
            (n, _) => format!("{n} errors (the first {} are shown)", self.kept.len()),
        }
    }
}

/// The candidate a user who typed `name` most likely meant; `None` where nothing is close. Case alone counts as close.
pub fn suggest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > 64 {
        return None;
    }
    let limit = match length {
        0..=1 => 0,
        2..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    let lower = name.to_lowercase();
    let score = |candidate: &'a str| {
        if candidate.len() > name.len() * 4 + 8 || candidate == name {
            return None;
        }
        if candidate.to_lowercase() == lower {
            return Some((0, candidate));
        }
        let distance = strsim::damerau_levenshtein(name, candidate);
        (distance <= limit).then_some((distance, candidate))
    };
    candidates.into_iter().filter_map(score).min().map(|(_, candidate)| candidate)
}
