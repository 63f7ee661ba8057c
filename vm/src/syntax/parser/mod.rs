//! Tokens to syntax tree: recursive descent, with precedence climbing for operators.
//!
//! In: a file's tokens. Out: its tree, and a [`Mark`] per token for the formatter; errors go to the sink.
//! Invariants: every input ends, in time linear in its length, with a tree of at most [`MAX_DEPTH`] levels: neither this parser nor any later pass over the tree (nor its `Drop`)
//! can run out of stack. A construct that could not be parsed returns [`Abort`]; the statement, member or declaration it is in catches that, skips to its own end and leaves an
//! `Error` node (or nothing). A token is blamed at most once.
//!
//! Line breaks (§1 of the reference) are asked for where a construct could be over: [`Parser::same_line`]. Wherever something is still missing they mean nothing.

mod control;
pub(super) mod expr;
mod foreign;
mod item;
mod lambda;
mod stmt;
mod types;
mod words;

use super::ast::{self, Expr, ExprKind, Name, VarDecl};
use super::lexer::{Lexed, lex};
use super::token::{Token, TokenKind};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::{FileId, Origin, SourceMap, Span};

/// Levels that a tree may have. Operands of one long chain (`a + b + c …`, `a.b().c() …`, `else if …`) nest, too.
pub const MAX_DEPTH: u32 = 500;

/// An error was reported, and the construct given up.
pub(super) struct Abort;
pub(super) type PResult<T> = Result<T, Abort>;

/// What the formatter needs to know of a token beyond its kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Mark {
    /// First token of a declaration, member, statement or `match` arm.
    pub starts: bool,
    pub role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Role {
    #[default]
    Plain,
    /// `<` of type parameters or arguments.
    TypeOpen,
    /// Token whose first character closes such a list.
    TypeClose,
    /// Prefix operator.
    Prefix,
    /// `step`, where it is a keyword.
    Step,
    /// `:` before base classes and interfaces.
    Bases,
    /// `?` of `as?`.
    SafeCast,
    /// Binary operator; the number is its precedence (smaller is looser).
    Binary(u8),
}

/// Parses one file. Everything wrong with it goes to `sink`; what could not be parsed is an `Error` node in the tree, or left out.
pub fn parse(map: &SourceMap, file: FileId, sink: &mut Diagnostics) -> ast::File {
    let lexed = lex(map, file, sink);
    parse_tokens(map, file, &lexed, sink).0
}

/// As [`parse`], of tokens at hand; the marks are parallel to them.
pub(super) fn parse_tokens(map: &SourceMap, file: FileId, lexed: &Lexed, sink: &mut Diagnostics) -> (ast::File, Vec<Mark>) {
    let source = map.file(file);
    let mut parser = Parser {
        text: &source.text,
        base: source.start,
        origin: source.origin,
        tokens: &lexed.tokens,
        pos: 0,
        cur: lexed.tokens[0],
        prev_end: source.start,
        sink,
        marks: vec![Mark::default(); lexed.tokens.len()],
        opens: Vec::new(),
        depth: 0,
        height: 0,
        dead: false,
        blamed: None,
        uninitialized: None,
    };
    let file = parser.file();
    (file, parser.marks)
}

struct Parser<'a> {
    text: &'a str,
    /// Position of the file's first byte.
    base: u32,
    origin: Origin,
    tokens: &'a [Token],
    pos: usize,
    /// The token at `pos`, or what is left of it after a `>` was split off.
    cur: Token,
    /// End of the last token taken.
    prev_end: u32,
    sink: &'a mut Diagnostics,
    marks: Vec<Mark>,
    /// `(` and `[` open in the current block: line breaks mean nothing in them.
    opens: Vec<Span>,
    /// Scopes ([`Parser::nested`]) around the current token.
    depth: u32,
    /// Levels of the highest tree built in the current scope.
    height: u32,
    /// The nesting limit was passed: the rest of the file is not looked at.
    dead: bool,
    /// Token last reported about.
    blamed: Option<usize>,
    /// The declaration that is being given up for its initializer: its name is declared all the same.
    uninitialized: Option<VarDecl>,
}

impl<'a> Parser<'a> {
    fn at(&self, kind: TokenKind) -> bool {
        self.cur.kind == kind
    }

    /// Kind of the `n`th token after the current one.
    fn nth(&self, n: usize) -> Token {
        self.tokens[(self.pos + n).min(self.tokens.len() - 1)]
    }

    fn nth_kind(&self, n: usize) -> TokenKind {
        self.nth(n).kind
    }

    /// The current token could continue what stands before it.
    fn same_line(&self) -> bool {
        !self.cur.newline || !self.opens.is_empty()
    }

    fn bump(&mut self) -> Token {
        let token = self.cur;
        self.prev_end = token.span.hi;
        if self.pos + 1 < self.tokens.len() {
            self.pos += 1;
        }
        self.cur = self.tokens[self.pos];
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Behind what could be over, its line goes on with something that begins no statement: that is an error, and what was parsed may be half of what was meant.
    fn goes_on(&self) -> bool {
        let over = self.cur.newline || matches!(self.cur.kind, TokenKind::Semi | TokenKind::RBrace | TokenKind::Eof);
        !over && !self.cur.kind.starts_statement()
    }

    /// The expression that ends a declaration, unless the line goes on behind it: that is reported where the declaration ends.
    fn last_expr(&mut self) -> PResult<Expr> {
        let mut e = self.expr()?;
        if self.goes_on() {
            e.kind = ExprKind::Error;
        }
        Ok(e)
    }

    fn mark(&mut self, role: Role) {
        self.marks[self.pos].role = role;
    }

    fn mark_start(&mut self) {
        self.marks[self.pos].starts = true;
    }

    fn text_of(&self, span: Span) -> &'a str {
        self.text.get((span.lo - self.base) as usize..(span.hi - self.base) as usize).unwrap_or("")
    }

    /// Text of the current token if it is a name.
    fn cur_name(&self) -> Option<&'a str> {
        self.at(TokenKind::Name).then(|| self.text_of(self.cur.span))
    }

    fn span_from(&self, lo: u32) -> Span {
        Span::new(lo, self.prev_end.max(lo))
    }

    /// The current token stands in a line's first column.
    fn at_column_zero(&self) -> bool {
        let offset = (self.cur.span.lo - self.base) as usize;
        offset == 0 || self.text.as_bytes()[offset - 1] == b'\n'
    }

    // Nesting.

    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep(
                self.cur.span,
                "this code is nested too deeply",
                "move inner parts into functions or variables of their own",
            ));
        }
        let outer = std::mem::take(&mut self.height);
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        self.height = outer.max(self.height + 1);
        result
    }

    /// The tree built last becomes part of one a level higher.
    fn grow(&mut self) -> PResult<()> {
        self.height += 1;
        if self.depth + self.height > MAX_DEPTH {
            let hint = "split it with `let`; build long texts with a `StringBuilder`, long lists with a loop or an array";
            // What has just become part of it: the next token may be another statement's.
            let last = Span::new(self.prev_end.saturating_sub(1), self.prev_end);
            return Err(self.too_deep(last, "this expression has too many parts", hint));
        }
        Ok(())
    }

    /// Reports, and gives up the rest of the file: its structure cannot be known without following all of it.
    #[cold]
    #[inline(never)]
    fn too_deep(&mut self, at: Span, message: &str, hint: &str) -> Abort {
        let d = Diagnostic::new(Code::TooDeep, at, message).label(format!("more than {MAX_DEPTH} levels")).hint(hint);
        self.report(d);
        self.dead = true;
        self.pos = self.tokens.len() - 1;
        self.cur = self.tokens[self.pos];
        Abort
    }

    // Errors.

    #[cold]
    #[inline(never)]
    fn report(&mut self, d: Diagnostic) {
        if !self.dead && self.blamed != Some(self.pos) && !self.lexer_blamed() {
            self.blamed = Some(self.pos);
            self.sink.push(d);
        }
    }

    /// The lexer has reported something here: an unknown character, or that a string before is not closed.
    fn lexer_blamed(&self) -> bool {
        let before = self.pos.checked_sub(1).map(|i| self.tokens[i]);
        self.at(TokenKind::Unknown)
            || before.is_some_and(|t| t.kind == TokenKind::Unknown || (t.kind == TokenKind::StrEnd && t.span.lo == t.span.hi))
    }

    #[cold]
    #[inline(never)]
    fn abort(&mut self, d: Diagnostic) -> Abort {
        self.report(d);
        Abort
    }

    /// A diagnostic about the current token.
    fn diag(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.cur.span, message)
    }

    /// The current token as messages show it.
    #[cold]
    #[inline(never)]
    fn found(&self) -> String {
        match self.cur.kind {
            TokenKind::Name | TokenKind::Int | TokenKind::Float | TokenKind::Char => {
                let text = self.text_of(self.cur.span);
                let shown: String = text.chars().take(40).collect();
                let dots = if shown.len() < text.len() { "…" } else { "" };
                format!("`{shown}{dots}`")
            }
            kind => kind.describe().to_string(),
        }
    }

    /// "expected …, found …" at the current token.
    #[cold]
    #[inline(never)]
    fn expected(&mut self, code: Code, what: &str) -> Abort {
        let d = self.expected_diag(code, what);
        self.abort(d)
    }

    #[cold]
    #[inline(never)]
    fn expected_diag(&self, code: Code, what: &str) -> Diagnostic {
        let over = match self.cur.kind {
            TokenKind::Eof => true,
            TokenKind::RBrace => self.cur.newline,
            kind => self.cur.newline && kind.starts_statement(),
        };
        if over && let Some(&open) = self.opens.last() {
            return self.unclosed(open);
        }
        self.diag(code, format!("expected {what}, found {}", self.found()))
    }

    fn expect(&mut self, kind: TokenKind, hint: Option<&str>) -> PResult<Token> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        let d = self.expected_diag(Code::ExpectedToken, kind.describe()).maybe_hint(hint.map(str::to_string));
        Err(self.abort(d))
    }

    #[cold]
    #[inline(never)]
    fn unclosed(&self, open: Span) -> Diagnostic {
        let text = self.text_of(open);
        let close = match text {
            "(" => ")",
            "[" => "]",
            "<" => ">",
            _ => "}",
        };
        let d = Diagnostic::new(Code::Unclosed, open, format!("this `{text}` is never closed")).label("opened here");
        d.secondary(self.cur.span, format!("`{close}` was expected before {}", self.found()))
    }

    fn name(&mut self, what: &str) -> PResult<Name> {
        if self.at(TokenKind::Name) {
            let token = self.bump();
            return Ok(Name { text: self.text_of(token.span).into(), span: token.span });
        }
        if self.cur.kind.is_keyword() && self.same_line() {
            let text = self.text_of(self.cur.span);
            let d = self.diag(Code::KeywordAsName, format!("`{text}` is a keyword and cannot name {what}"));
            return Err(self.abort(d.hint(format!("choose another name, for example `{text}_`"))));
        }
        Err(self.expected(Code::ExpectedName, &format!("the name of {what}")))
    }

    // Lists in brackets.

    /// From an opening `(` or `[` to its end; line breaks in between mean nothing.
    fn bracketed<T>(&mut self, close: TokenKind, f: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        let open = self.bump().span;
        self.opens.push(open);
        let result = f(self)?;
        if !self.at(close) {
            return Err(self.missing_close(open, close));
        }
        self.opens.pop();
        self.bump();
        Ok(result)
    }

    #[cold]
    #[inline(never)]
    fn missing_close(&mut self, open: Span, close: TokenKind) -> Abort {
        if self.at(TokenKind::Eof) || self.at(TokenKind::RBrace) {
            let d = self.unclosed(open);
            return self.abort(d);
        }
        if let Some(d) = self.assign_as_expression() {
            return self.abort(d);
        }
        // Where a list goes on with a comma, this is none.
        let comma = self.at(TokenKind::Comma);
        let what = if comma { close.describe().to_string() } else { format!("`,` or {}", close.describe()) };
        let mut d = self.expected_diag(Code::ExpectedToken, &what);
        if d.code == Code::ExpectedToken {
            let hint =
                if comma { Some("there are no tuples: two values stand in a `Pair(a, b)`".to_string()) } else { self.bracket_hint(close) };
            d = d.secondary(open, "opened here").maybe_hint(hint);
        }
        self.abort(d)
    }

    /// `open item, item, … close`; a comma may stand behind the last one.
    fn list<T>(&mut self, close: TokenKind, mut item: impl FnMut(&mut Self) -> PResult<T>) -> PResult<Vec<T>> {
        self.bracketed(close, |p| {
            let mut items = Vec::new();
            while !p.at(close) {
                items.push(item(p)?);
                if !p.eat(TokenKind::Comma) {
                    break;
                }
            }
            Ok(items)
        })
    }

    // Recovery.

    /// After an error in a statement that began at token `start`: skips to where the next one may begin.
    #[cold]
    #[inline(never)]
    fn sync_statement(&mut self, start: usize) {
        let mut parens = self.opens.len();
        self.opens.clear();
        loop {
            let fresh_line = self.cur.newline && self.pos != start;
            match self.cur.kind {
                TokenKind::Eof | TokenKind::RBrace => return,
                kind if fresh_line && kind.starts_statement() => return,
                kind if fresh_line && parens == 0 && !continues_line(kind) => return,
                TokenKind::Semi if parens == 0 => {
                    self.bump();
                    return;
                }
                TokenKind::LParen | TokenKind::LBracket => parens += 1,
                TokenKind::RParen | TokenKind::RBracket => parens = parens.saturating_sub(1),
                TokenKind::LBrace => {
                    self.skip_braces();
                    continue;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// From a `{` past its `}`, or to a declaration in a line's first column, where the `}` was forgotten.
    fn skip_braces(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.cur.kind {
                TokenKind::Eof => return,
                TokenKind::LBrace => depth += 1,
                TokenKind::RBrace => depth -= 1,
                _ if self.at_outer_item() => return,
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
    }

    /// At what looks like the next top-level declaration.
    fn at_outer_item(&self) -> bool {
        use TokenKind::*;
        matches!(self.cur.kind, Fun | Class | Interface | Object | Abstract | Native | Import) && self.at_column_zero()
    }
}

/// A line that begins so belongs to the one above.
fn continues_line(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(kind, Dot | QuestionDot | Elvis | AmpAmp | PipePipe | Else | Catch | Finally | RParen | RBracket | LBrace)
}
