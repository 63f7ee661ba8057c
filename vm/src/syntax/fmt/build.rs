//! Tokens and comments to a document with its possible line breaks.
//!
//! In: tokens without syntax errors, so that all brackets match, with the parser's marks. Out: a [`Doc`] that contains every token and comment once, in order.
//!
//! A *sequence* is what stands between two statement ends, commas or brackets. It is cut into *parts*: single tokens, and whole brackets, blocks and strings. Keywords, `=`,
//! `=>` and blocks divide it into *runs*, which are expressions; a run is filled at its loosest operators, each operand again at its own, down to chains of calls.

use super::doc::Doc;
use super::space;
use crate::source::{FileId, SourceMap, Span};
use crate::syntax::lexer::Lexed;
use crate::syntax::parser::expr::prec;
use crate::syntax::parser::{Mark, Role};
use crate::syntax::token::{Comment, Token, TokenKind};

pub(super) const INDENT: usize = 4;
/// Of an expression's lines after its first.
const CONTINUATION: usize = 4;
/// Calls in a chain from which on it is broken at its dots rather than in its arguments.
const CHAIN: usize = 3;

pub fn document(map: &SourceMap, file: FileId, lexed: &Lexed, marks: &[Mark]) -> Doc {
    let source = map.file(file);
    let tokens = &lexed.tokens;
    let mut comments = vec![0; tokens.len() + 1];
    let mut next = 0;
    for (i, token) in tokens.iter().enumerate() {
        comments[i] = next;
        next += lexed.comments[next..].partition_point(|c| c.span.lo < token.span.lo);
    }
    comments[tokens.len()] = next;
    let partners = partners(tokens);
    let b = Builder { text: &source.text, base: source.start, tokens, marks, all_comments: &lexed.comments, comments, partners };
    let mut items = Vec::new();
    b.lines(0, tokens.len() - 1, &mut items);
    Doc::concat(items)
}

/// For each opening bracket, block and string the token that ends it, and the other way round.
fn partners(tokens: &[Token]) -> Vec<usize> {
    use TokenKind::*;
    let mut partners = vec![0; tokens.len()];
    let mut open = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        match token.kind {
            LParen | LBracket | LBrace | StrStart => open.push(i),
            RParen | RBracket | RBrace | StrEnd => {
                if let Some(start) = open.pop() {
                    partners[start] = i;
                    partners[i] = start;
                }
            }
            _ => {}
        }
    }
    partners
}

pub(super) struct Builder<'a> {
    text: &'a str,
    base: u32,
    pub(super) tokens: &'a [Token],
    pub(super) marks: &'a [Mark],
    all_comments: &'a [Comment],
    /// Index of the first comment that stands before token `i` and after the one before it.
    comments: Vec<usize>,
    pub(super) partners: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartKind {
    /// Divides runs.
    Divider,
    /// Between operands, with its precedence; a comma is the loosest.
    Operator(u8),
    /// `.` or `?.`
    Dot,
    /// Arguments of a call.
    Parens,
    Other,
}

/// Where a sequence stands: inside brackets the author's line breaks next to operators are not kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Line,
    List,
}

/// A token, or a whole bracket, block or string that begins at token `first`.
struct Part {
    kind: PartKind,
    first: usize,
    doc: Doc,
}

/// What stands behind an `=`, a `=>`, or the `:` before base classes (which begins it).
#[derive(Default)]
struct Level {
    docs: Vec<Doc>,
    with_blocks: bool,
    /// A block stands in it: what follows does not hang, so that all blocks of a statement are on one level.
    has_block: bool,
}

fn innermost(levels: &mut [Level]) -> &mut Vec<Doc> {
    let last = levels.len() - 1;
    &mut levels[last].docs
}

/// Comments before a token.
#[derive(Default)]
pub(super) struct Gap {
    /// On the line of the token before, with nothing else behind them.
    pub(super) trailing: Vec<Doc>,
    /// The others, with the spaces and line breaks around them.
    pub(super) own: Vec<Doc>,
}

impl<'a> Builder<'a> {
    pub(super) fn kind(&self, i: usize) -> TokenKind {
        self.tokens[i].kind
    }

    pub(super) fn slice(&self, span: Span) -> &'a str {
        &self.text[(span.lo - self.base) as usize..(span.hi - self.base) as usize]
    }

    pub(super) fn token_text(&self, i: usize) -> String {
        let text = self.slice(self.tokens[i].span);
        // `List<Int>= x`: the parser took this token apart.
        match text.strip_suffix('=') {
            Some(closing) if self.marks[i].role == Role::TypeClose => format!("{closing} ="),
            _ => text.to_string(),
        }
    }

    fn space_before(&self, i: usize) -> bool {
        i > 0 && space::between((self.tokens[i - 1], self.marks[i - 1]), (self.tokens[i], self.marks[i]))
    }

    /// `>=` that closes type arguments and assigns.
    fn closes_and_assigns(&self, i: usize) -> bool {
        self.marks[i].role == Role::TypeClose && matches!(self.kind(i), TokenKind::Ge | TokenKind::ShrEq | TokenKind::UShrEq)
    }

    // Comments.

    fn comments_before(&self, i: usize) -> &'a [Comment] {
        &self.all_comments[self.comments[i]..self.comments[i + 1]]
    }

    /// Its lines end as all others do.
    fn comment_text(&self, c: &Comment) -> String {
        self.slice(c.span).trim_end().replace("\r\n", "\n")
    }

    pub(super) fn has_comments(&self, i: usize) -> bool {
        self.comments[i] < self.comments[i + 1]
    }

    /// Line breaks in the source before position `lo`, back to the token or comment before; two stand for any more.
    fn breaks_before(&self, lo: u32) -> usize {
        let before = &self.text[..(lo - self.base) as usize];
        let white = &before[before.trim_end_matches([' ', '\t', '\r', '\n', '\u{c}']).len()..];
        white.bytes().filter(|b| *b == b'\n').count().min(2)
    }

    /// Line breaks in the source before token `i` itself.
    fn breaks(&self, i: usize) -> usize {
        self.breaks_before(self.tokens[i].span.lo)
    }

    pub(super) fn gap(&self, i: usize) -> Gap {
        let comments = self.comments_before(i);
        let mut gap = Gap::default();
        for (n, c) in comments.iter().enumerate() {
            let next_lo = comments.get(n + 1).map_or(self.tokens[i].span.lo, |next| next.span.lo);
            let ends_line = c.line || self.breaks_before(next_lo) > 0;
            let starts_line = self.breaks_before(c.span.lo) > 0 || (i == 0 && n == 0);
            let text = self.comment_text(c);
            if ends_line && !starts_line && gap.own.is_empty() {
                gap.trailing.push(Doc::space());
                gap.trailing.push(Doc::suffix(&text));
                continue;
            }
            let lead = if starts_line { Doc::hard() } else { Doc::space() };
            let end = if ends_line { Doc::hard() } else { Doc::space() };
            gap.own.extend([lead, Doc::comment(&text), end]);
        }
        if !gap.trailing.is_empty() {
            gap.trailing.push(Doc::hard());
        }
        gap
    }

    /// Everything between token `i` and the one before it, on one line where comments allow it.
    fn plain_gap(&self, i: usize, out: &mut Vec<Doc>) {
        if !self.has_comments(i) {
            if self.space_before(i) {
                out.push(Doc::space());
            }
            return;
        }
        let gap = self.gap(i);
        out.extend(gap.trailing);
        out.extend(gap.own);
    }

    // Lines: statements, members, declarations, arms.

    /// Tokens `from..to` line by line, and the comments before token `to`. Begins and ends without a line break.
    fn lines(&self, from: usize, to: usize, out: &mut Vec<Doc>) {
        let mut i = from;
        let mut first = true;
        while i < to {
            let end = self.line_end(i, to);
            self.comment_lines(i, &mut first, out);
            if !first {
                out.push(self.line_break(self.breaks(i)));
            }
            first = false;
            out.push(self.sequence(i, end, Place::Line));
            i = end;
        }
        self.comment_lines(to, &mut first, out);
    }

    fn line_break(&self, breaks: usize) -> Doc {
        if breaks > 1 { Doc::blank() } else { Doc::hard() }
    }

    /// The comments before token `i`, which begins a line or ends the block.
    fn comment_lines(&self, i: usize, first: &mut bool, out: &mut Vec<Doc>) {
        for c in self.comments_before(i) {
            let breaks = self.breaks_before(c.span.lo);
            let text = self.comment_text(c);
            if breaks == 0 && c.span.lo > self.base && i > 0 {
                out.extend([Doc::space(), Doc::suffix(&text)]);
                *first = false;
                continue;
            }
            if !*first {
                out.push(self.line_break(breaks));
            }
            out.push(Doc::text(text));
            *first = false;
        }
    }

    /// End of the line's tokens that begin at `i`: where the next one starts.
    fn line_end(&self, i: usize, to: usize) -> usize {
        let mut j = i;
        loop {
            j = self.skip(j) + 1;
            if j >= to || self.marks[j].starts {
                return j.min(to);
            }
        }
    }

    /// The last token of the bracket, block or string that begins at `i`, or `i` itself.
    pub(super) fn skip(&self, i: usize) -> usize {
        use TokenKind::*;
        if matches!(self.kind(i), LParen | LBracket | LBrace | StrStart) { self.partners[i] } else { i }
    }

    /// `{ … }` from token `open` on. `one_line`: as the author wrote all blocks of this statement, which holds where there is room.
    fn block(&self, open: usize, one_line: bool) -> Doc {
        let close = self.partners[open];
        let empty = close == open + 1;
        if empty && !self.has_comments(close) {
            return Doc::text("{}");
        }
        if one_line {
            return self.block_on_one_line(open, close);
        }
        let mut inner = Vec::new();
        // A comment behind the brace stays there.
        let trails = self.comments_before(open + 1).first().is_some_and(|c| self.breaks_before(c.span.lo) == 0);
        if !trails {
            inner.push(Doc::hard());
        }
        self.lines(open + 1, close, &mut inner);
        Doc::block(vec![Doc::text("{"), Doc::indent(INDENT, inner), Doc::hard(), Doc::text("}")])
    }

    fn block_on_one_line(&self, open: usize, close: usize) -> Doc {
        let mut inner = vec![Doc::line()];
        let mut i = open + 1;
        while i < close {
            let end = self.line_end(i, close);
            self.comments_in_block(i, &mut inner);
            inner.push(self.sequence(i, end, Place::Line));
            inner.push(Doc::line());
            i = end;
        }
        self.comments_in_block(close, &mut inner);
        inner.pop();
        Doc::concat(vec![Doc::text("{"), Doc::indent(INDENT, inner), Doc::line(), Doc::text("}")])
    }

    /// The comments before token `i` of a block in one line: where that does not fit, they get lines of their own.
    fn comments_in_block(&self, i: usize, out: &mut Vec<Doc>) {
        out.extend(self.comments_before(i).iter().flat_map(|c| [Doc::text(self.comment_text(c)), Doc::line()]));
    }

    fn is_on_one_line(&self, open: usize) -> bool {
        let close = self.partners[open];
        let tokens = open + 1..=close;
        let comments = &self.all_comments[self.comments[open + 1]..self.comments[close + 1]];
        !tokens.into_iter().any(|i| self.tokens[i].newline) && !comments.iter().any(|c| c.line || self.slice(c.span).contains('\n'))
    }

    // Sequences.

    /// Tokens `from..to`, without the comments before the first of them.
    pub(super) fn sequence(&self, from: usize, to: usize, place: Place) -> Doc {
        // Innermost last; every one but the first hangs from the end of the one before.
        let mut levels = vec![Level::default()];
        let mut run: Vec<Part> = Vec::new();
        for part in self.parts(from, to) {
            if part.kind != PartKind::Divider {
                run.push(part);
                continue;
            }
            self.push_run(&mut run, from, place, &mut levels);
            self.push_divider(part, from, to, &mut levels);
        }
        self.push_run(&mut run, from, place, &mut levels);
        let mut inner: Option<Doc> = None;
        while let Some(mut level) = levels.pop() {
            level.docs.extend(inner);
            if levels.is_empty() {
                return Doc::sequence(level.docs);
            }
            inner = Some(Doc::hang(level.docs, CONTINUATION, level.with_blocks));
        }
        Doc::concat(Vec::new())
    }

    fn push_run(&self, run: &mut Vec<Part>, from: usize, place: Place, levels: &mut [Level]) {
        let Some(first) = run.first().map(|p| p.first) else { return };
        self.level_gap(first, from, levels);
        let doc = self.run(std::mem::take(run), place);
        innermost(levels).push(doc);
    }

    fn push_divider(&self, part: Part, from: usize, to: usize, levels: &mut Vec<Level>) {
        let i = part.first;
        if self.marks[i].role == Role::Bases && !self.has_comments(i) {
            levels.push(Level { docs: vec![part.doc], with_blocks: true, has_block: false });
            return;
        }
        self.level_gap(i, from, levels);
        innermost(levels).push(part.doc);
        let level = levels.len() - 1;
        levels[level].has_block |= self.kind(i) == TokenKind::LBrace;
        if levels[level].has_block {
            return;
        }
        if self.hangs_behind(i, to) {
            levels.push(Level::default());
        }
    }

    /// What follows token `i` hangs from it.
    fn hangs_behind(&self, i: usize, to: usize) -> bool {
        let divides = self.kind(i).is_assign() || self.closes_and_assigns(i) || self.kind(i) == TokenKind::FatArrow;
        divides && i + 1 < to && self.kind(i + 1) != TokenKind::LBrace && !self.has_comments(i + 1)
    }

    /// The gap before token `i`, unless a sequence begins there or the level does, which brings its own.
    fn level_gap(&self, i: usize, from: usize, levels: &mut [Level]) {
        let fresh = levels.len() > 1 && levels.last().is_some_and(|l| l.docs.is_empty());
        if i > from && !fresh {
            self.plain_gap(i, innermost(levels));
        }
    }

    /// The last token of the type parameters or arguments that begin at `open`, without what closes them: that may be an assignment as well.
    fn types_end(&self, open: usize) -> usize {
        let mut depth = 0;
        let mut i = open;
        loop {
            match self.marks[i].role {
                Role::TypeOpen => depth += 1,
                Role::TypeClose => depth -= self.slice(self.tokens[i].span).matches('>').count() as isize,
                _ => {}
            }
            if depth <= 0 {
                return i - 1;
            }
            i = self.skip(i) + 1;
        }
    }

    /// Type parameters or arguments, filled at their commas: one operand with what stands before them and behind.
    fn types(&self, open: usize, last: usize) -> Doc {
        let mut items = Vec::new();
        let mut content = vec![Doc::text(self.token_text(open))];
        let mut i = open + 1;
        while i <= last {
            if self.kind(i - 1) == TokenKind::Comma {
                let (separator, own) = self.after_operator(i - 1, false, &mut content);
                items.push(Doc::concat(std::mem::replace(&mut content, own)));
                items.push(separator);
            } else {
                self.plain_gap(i, &mut content);
            }
            content.push(if self.kind(i) == TokenKind::LParen { self.list(i) } else { Doc::text(self.token_text(i)) });
            i = self.skip(i) + 1;
        }
        items.push(Doc::concat(content));
        Doc::fill(items, CONTINUATION)
    }

    fn parts(&self, from: usize, to: usize) -> Vec<Part> {
        use TokenKind::*;
        let mut parts = Vec::new();
        let mut blocks = Vec::new();
        // The blocks of one `if … else …` have one layout: in one line only if nothing on their level is in several.
        let mut one_line = true;
        let mut i = from;
        while i < to {
            let last = if self.marks[i].role == Role::TypeOpen { self.types_end(i) } else { self.skip(i) };
            let (kind, doc) = match self.kind(i) {
                _ if self.marks[i].role == Role::TypeOpen => (PartKind::Other, self.types(i, last)),
                LBrace => {
                    one_line &= self.is_on_one_line(i);
                    blocks.push(parts.len());
                    (PartKind::Divider, Doc::space())
                }
                LParen | LBracket => (if self.kind(i) == LParen { PartKind::Parens } else { PartKind::Other }, self.list(i)),
                StrStart => (PartKind::Other, Doc::text(self.slice(self.tokens[i].span.to(self.tokens[last].span)))),
                _ => (self.part_kind(i), Doc::text(self.token_text(i))),
            };
            let open_chain = kind == PartKind::Dot && self.tokens[i].newline;
            one_line &= !(doc.blocky || doc.forces || open_chain);
            one_line |= blocks.is_empty() && (self.marks[i].role == Role::Bases || self.hangs_behind(i, to));
            parts.push(Part { kind, first: i, doc });
            i = last + 1;
        }
        for n in blocks {
            parts[n].doc = self.block(parts[n].first, one_line);
        }
        parts
    }

    fn part_kind(&self, i: usize) -> PartKind {
        use TokenKind::*;
        let kind = self.kind(i);
        match self.marks[i].role {
            Role::Binary(level) => return PartKind::Operator(level),
            Role::Step => return PartKind::Divider,
            _ if self.closes_and_assigns(i) => return PartKind::Divider,
            _ => {}
        }
        match kind {
            Comma => PartKind::Operator(prec::LOWEST),
            Dot | QuestionDot => PartKind::Dot,
            This | Super | True | False | Null | Break | Continue => PartKind::Other,
            // Second half of `!is`.
            Is if i > 0 && self.kind(i - 1) == Bang => PartKind::Other,
            FatArrow | Colon | Semi | Arrow => PartKind::Divider,
            _ if kind.is_assign() || kind.is_keyword() => PartKind::Divider,
            _ => PartKind::Other,
        }
    }

    /// An expression: filled at its loosest operators.
    fn run(&self, parts: Vec<Part>, place: Place) -> Doc {
        let levels = parts.iter().filter_map(|p| if let PartKind::Operator(level) = p.kind { Some(level) } else { None });
        let Some(level) = levels.min() else { return self.chain(parts) };
        let mut items = Vec::new();
        let mut operand: Vec<Part> = Vec::new();
        // The line that is being put together: an operand, and an operator before or behind it.
        let mut content: Vec<Doc> = Vec::new();
        let mut rest = parts.into_iter().peekable();
        while let Some(part) = rest.next() {
            if part.kind != PartKind::Operator(level) {
                operand.push(part);
                continue;
            }
            if !operand.is_empty() {
                content.push(self.run(std::mem::take(&mut operand), place));
            }
            let by_author = place == Place::Line && level != prec::LOWEST;
            let op = part.first;
            if self.tokens[op].newline && self.begins_line(op) && !content.is_empty() {
                items.push(Doc::concat(std::mem::take(&mut content)));
                items.push(if by_author { Doc::hard() } else { Doc::line() });
                content.push(part.doc);
                self.plain_gap(op + 1, &mut content);
                continue;
            }
            if !content.is_empty() {
                self.plain_gap(op, &mut content);
            }
            content.push(part.doc);
            if rest.peek().is_some() {
                let (separator, own) = self.after_operator(op, by_author, &mut content);
                items.push(Doc::concat(std::mem::replace(&mut content, own)));
                items.push(separator);
            }
        }
        if !operand.is_empty() {
            content.push(self.run(operand, place));
        }
        items.push(Doc::concat(content));
        Doc::fill(items, CONTINUATION)
    }

    /// Operators that may begin a line, and do here without comments in between.
    fn begins_line(&self, op: usize) -> bool {
        matches!(self.kind(op), TokenKind::Elvis | TokenKind::AmpAmp | TokenKind::PipePipe)
            && !self.has_comments(op)
            && !self.has_comments(op + 1)
    }

    /// What separates an operator from the operand behind it, and the comments before that operand.
    fn after_operator(&self, op: usize, by_author: bool, content: &mut Vec<Doc>) -> (Doc, Vec<Doc>) {
        let next = op + 1;
        if self.has_comments(next) {
            let gap = self.gap(next);
            let hard = !gap.trailing.is_empty();
            content.extend(gap.trailing);
            return (if hard { Doc::hard() } else { Doc::space() }, gap.own);
        }
        let is_word = matches!(self.kind(op), TokenKind::As | TokenKind::Is | TokenKind::Bang);
        let separator = match self.space_before(next) {
            false => Doc::concat(Vec::new()),
            true if is_word => Doc::space(),
            true if self.tokens[next].newline && by_author => Doc::hard(),
            true => Doc::line(),
        };
        (separator, Vec::new())
    }

    /// An operand: a chain of members, calls and indexes.
    fn chain(&self, parts: Vec<Part>) -> Doc {
        let dots: Vec<usize> = (0..parts.len()).filter(|&i| parts[i].kind == PartKind::Dot).collect();
        let is_call = |&n: &usize| {
            let end = dots.get(n + 1).copied().unwrap_or(parts.len());
            parts[dots[n]..end].iter().any(|p| p.kind == PartKind::Parens)
        };
        let calls: Vec<usize> = (0..dots.len()).filter(is_call).map(|n| dots[n]).collect();
        let by_author = dots.iter().any(|&i| self.tokens[parts[i].first].newline);
        let breakable = calls.len() >= CHAIN || by_author;
        let mut pieces: Vec<Vec<Doc>> = vec![Vec::new()];
        for (i, part) in parts.into_iter().enumerate() {
            let later_call = calls.first() != Some(&i) && calls.binary_search(&i).is_ok();
            let last = pieces.len() - 1;
            if i > 0 && breakable && part.kind == PartKind::Dot && (self.tokens[part.first].newline || later_call) {
                let gap = self.gap(part.first);
                pieces[last].extend(gap.trailing);
                let mut link = gap.own;
                link.push(part.doc);
                pieces.push(link);
                continue;
            }
            if i > 0 {
                self.plain_gap(part.first, &mut pieces[last]);
            }
            pieces[last].push(part.doc);
        }
        let head = pieces.remove(0);
        if pieces.is_empty() {
            return Doc::concat(head);
        }
        Doc::chain(head, pieces.into_iter().map(Doc::concat).collect(), INDENT, by_author)
    }
}
