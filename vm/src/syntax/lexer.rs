//! Source text to tokens.
//!
//! In: one file of the source map. Out: its tokens, ended by one `Eof`, and its comments; errors go to the sink.
//! Invariants: tokens stand in order and do not overlap; between two tokens there is only white space, comments, and characters that an error was reported for; string tokens are
//! balanced (every `StrStart` has its `StrEnd`, every `InterpOpen` its `InterpClose`) whatever the input; time is linear.
//!
//! `logos` recognizes tokens; around it stands a stack of modes, because a string may hold expressions that hold strings: code until a `"`, text until a `"` or a `${`,
//! code again until its `}`.

use super::token::{Comment, Token, TokenKind};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::{FileId, SourceMap, Span};
use logos::{Lexer as Logos, Logos as _};

pub struct Lexed {
    /// Ends with `Eof`.
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
}

/// What stands inside a string.
#[derive(logos::Logos)]
enum StrToken {
    #[regex(r#"[^"\\$\n\r]+"#)]
    Text,
    #[regex(r"\\[^\n\r]")]
    Escape,
    /// At the end of the line.
    #[token("\\")]
    Backslash,
    #[token("${")]
    Open,
    #[token("$")]
    Dollar,
    #[token("\"")]
    Close,
    #[regex(r"\r?\n|\r")]
    LineEnd,
}

/// An interpolation that the lexer is in.
struct Interpolation {
    /// The string's opening quote.
    quote: Span,
    /// Braces opened inside and not closed yet.
    braces: u32,
}

struct Lexer<'a> {
    text: &'a str,
    base: u32,
    sink: &'a mut Diagnostics,
    out: Lexed,
    newline: bool,
    stack: Vec<Interpolation>,
    /// End of the last unknown character, to report a run of them once.
    unknown_end: usize,
}

/// Splits a file into tokens.
pub fn lex(map: &SourceMap, file: FileId, sink: &mut Diagnostics) -> Lexed {
    let source = map.file(file);
    let text = source.text.as_str();
    let out = Lexed { tokens: Vec::with_capacity(text.len() / 4 + 1), comments: Vec::new() };
    let mut lexer = Lexer { text, base: source.start, sink, out, newline: true, stack: Vec::new(), unknown_end: usize::MAX };
    lexer.run();
    lexer.out
}

impl<'a> Lexer<'a> {
    fn run(&mut self) {
        let mut logos = TokenKind::lexer(self.text);
        if self.text.starts_with('\u{feff}') {
            logos.bump('\u{feff}'.len_utf8());
        }
        while let Some(result) = logos.next() {
            logos = match result {
                Ok(kind) => self.token(kind, logos),
                Err(()) => self.unknown(logos),
            };
        }
        self.close_strings(self.text.len());
        let end = self.text.len();
        self.push(TokenKind::Eof, end, end);
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.base + start as u32, self.base + end as u32)
    }

    fn push(&mut self, kind: TokenKind, start: usize, end: usize) {
        let span = self.span(start, end);
        self.out.tokens.push(Token { kind, newline: std::mem::take(&mut self.newline), span });
    }

    fn token(&mut self, kind: TokenKind, mut logos: Logos<'a, TokenKind>) -> Logos<'a, TokenKind> {
        let start = logos.span().start;
        match kind {
            TokenKind::Newline => self.line_end(start),
            TokenKind::LineComment => self.line_comment(&mut logos),
            TokenKind::BlockComment => self.block_comment(&mut logos),
            TokenKind::Name => self.name(&mut logos),
            TokenKind::Int => self.number(&mut logos),
            TokenKind::Char => self.char_literal(&mut logos),
            TokenKind::StrStart => {
                self.push(kind, start, start + 1);
                let quote = self.span(start, start + 1);
                return self.string(quote, logos.morph());
            }
            TokenKind::LBrace => {
                self.stack.last_mut().into_iter().for_each(|i| i.braces += 1);
                self.push(kind, start, start + 1);
            }
            TokenKind::RBrace => match self.stack.last_mut() {
                Some(i) if i.braces == 0 => {
                    let quote = i.quote;
                    self.stack.pop();
                    self.push(TokenKind::InterpClose, start, start + 1);
                    return self.string(quote, logos.morph());
                }
                top => {
                    top.into_iter().for_each(|i| i.braces -= 1);
                    self.push(kind, start, start + 1);
                }
            },
            _ => self.push(kind, start, logos.span().end),
        }
        logos
    }

    fn line_end(&mut self, at: usize) {
        self.close_strings(at);
        self.newline = true;
    }

    /// Ends every open string and interpolation: none goes on past its line.
    fn close_strings(&mut self, at: usize) {
        let Some(outermost) = self.stack.first() else { return };
        let quote = outermost.quote;
        for _ in 0..std::mem::take(&mut self.stack).len() {
            self.push(TokenKind::InterpClose, at, at);
            self.push(TokenKind::StrEnd, at, at);
        }
        self.unclosed_string(quote, "the line ends inside this string's `${…}`");
    }

    fn unclosed_string(&mut self, quote: Span, message: &str) {
        let hint = "a string ends on its own line with `\"`; write `\\n` for a line break, and join long texts with `+`";
        self.sink.push(Diagnostic::new(Code::UnclosedString, quote, message).label("begins here").hint(hint));
    }

    /// The rest of a string, after its opening quote or an interpolation, up to the next of those ends.
    fn string(&mut self, quote: Span, mut logos: Logos<'a, StrToken>) -> Logos<'a, TokenKind> {
        let mut text_start = None;
        loop {
            let token = logos.next();
            let (start, end) = (logos.span().start, logos.span().end);
            if matches!(token, Some(Ok(StrToken::Text | StrToken::Escape | StrToken::Dollar | StrToken::Backslash) | Err(()))) {
                text_start.get_or_insert(start);
                continue;
            }
            let at = if token.is_some() { start } else { self.text.len() };
            if let Some(text_start) = text_start {
                self.push(TokenKind::StrText, text_start, at);
            }
            match token {
                Some(Ok(StrToken::Close)) => self.push(TokenKind::StrEnd, start, end),
                Some(Ok(StrToken::Open)) => {
                    self.push(TokenKind::InterpOpen, start, end);
                    self.stack.push(Interpolation { quote, braces: 0 });
                }
                _ => {
                    self.push(TokenKind::StrEnd, at, at);
                    self.unclosed_string(quote, "this string is not closed");
                    self.stack_line_end(at);
                }
            }
            return logos.morph();
        }
    }

    /// A line end met inside a string. The strings around it end too, without an error each.
    fn stack_line_end(&mut self, at: usize) {
        for _ in 0..std::mem::take(&mut self.stack).len() {
            self.push(TokenKind::InterpClose, at, at);
            self.push(TokenKind::StrEnd, at, at);
        }
        self.newline = true;
    }

    fn line_comment(&mut self, logos: &mut Logos<'a, TokenKind>) {
        let start = logos.span().start;
        let rest = logos.remainder();
        let length = rest.find('\n').unwrap_or(rest.len());
        logos.bump(length);
        let end = self.text[..logos.span().end].trim_end().len();
        let span = self.span(start, end.max(start + 2));
        self.out.comments.push(Comment { span, line: true });
    }

    fn block_comment(&mut self, logos: &mut Logos<'a, TokenKind>) {
        let start = logos.span().start;
        let bytes = logos.remainder().as_bytes();
        let (mut depth, mut i, mut newline) = (1u32, 0, false);
        while i < bytes.len() && depth > 0 {
            match (bytes[i], bytes.get(i + 1)) {
                (b'/', Some(b'*')) => (depth, i) = (depth + 1, i + 2),
                (b'*', Some(b'/')) => (depth, i) = (depth - 1, i + 2),
                (byte, _) => {
                    newline |= byte == b'\n';
                    i += 1;
                }
            }
        }
        logos.bump(i);
        let span = self.span(start, logos.span().end);
        if depth > 0 {
            let d = Diagnostic::new(Code::UnclosedComment, self.span(start, start + 2), "this comment is not closed");
            self.sink.push(d.label("begins here").hint("comments nest: every `/*` needs its own `*/`"));
        }
        self.out.comments.push(Comment { span, line: false });
        if newline {
            self.line_end(start);
        }
    }

    fn name(&mut self, logos: &mut Logos<'a, TokenKind>) {
        let rest = logos.remainder();
        if rest.as_bytes().first().is_some_and(|b| !b.is_ascii()) {
            logos.bump(rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len()));
        }
        let kind = TokenKind::keyword(logos.slice()).unwrap_or(TokenKind::Name);
        self.push(kind, logos.span().start, logos.span().end);
    }

    /// Takes everything that looks like part of the number; whether it is a correct one is checked where its value is read.
    fn number(&mut self, logos: &mut Logos<'a, TokenKind>) {
        let text = &self.text[logos.span().start..];
        let bytes = text.as_bytes();
        let word = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
        // `1e` followed by a sign and a digit: the exponent goes on behind the sign.
        let exponent = |end: usize| {
            let signed = matches!(bytes[end - 1], b'e' | b'E') && matches!(bytes.get(end), Some(b'+' | b'-')) && digit(end + 1);
            if signed { word(end + 1) } else { end }
        };
        let radix = matches!(bytes.get(1), Some(b'x' | b'X' | b'b' | b'B' | b'o' | b'O')) && bytes[0] == b'0';
        let mut end = word(0);
        let mut float = false;
        if !radix {
            let first = exponent(end);
            if first == end && bytes.get(end) == Some(&b'.') && digit(end + 1) {
                end = exponent(word(end + 1));
                float = true;
            } else {
                end = first;
            }
            float |= bytes[..end].iter().any(|b| matches!(b, b'e' | b'E'));
        }
        logos.bump(end - 1);
        self.push(if float { TokenKind::Float } else { TokenKind::Int }, logos.span().start, logos.span().end);
    }

    /// Up to the next quote on the line that no backslash stands before; checked where its value is read.
    fn char_literal(&mut self, logos: &mut Logos<'a, TokenKind>) {
        let start = logos.span().start;
        let bytes = logos.remainder().as_bytes();
        let mut i = 0;
        let closed = loop {
            match bytes.get(i) {
                None | Some(b'\n' | b'\r') => break false,
                Some(b'\'') => break true,
                Some(b'\\') if bytes.get(i + 1).is_some_and(|b| b.is_ascii() && !matches!(b, b'\n' | b'\r')) => i += 2,
                Some(_) => i += 1,
            }
        };
        if closed {
            logos.bump(i + 1);
            return self.push(TokenKind::Char, start, logos.span().end);
        }
        // Without its end the quote alone is the mistake: what follows is lexed as code.
        let message = "this character literal is not closed";
        let hint = "a character stands in single quotes: `'a'`; texts stand in double quotes: `\"text\"`";
        self.sink.push(Diagnostic::new(Code::BadChar, self.span(start, start + 1), message).hint(hint));
    }

    fn unknown(&mut self, mut logos: Logos<'a, TokenKind>) -> Logos<'a, TokenKind> {
        let start = logos.span().start;
        let Some(c) = self.text[start..].chars().next() else { return logos };
        let end = start + c.len_utf8();
        // What `logos` took may be less than a character.
        logos.bump(end.saturating_sub(logos.span().end));
        if c.is_alphabetic() {
            let rest = logos.remainder();
            logos.bump(rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len()));
            self.push(TokenKind::Name, start, logos.span().end);
            return logos;
        }
        if self.unknown_end != start {
            let shown = match c {
                '`' => "a backquote".to_string(),
                c if c.is_control() || c.is_whitespace() => format!("U+{:04X}", c as u32),
                c => format!("`{c}`"),
            };
            let d = Diagnostic::new(Code::UnknownCharacter, self.span(start, end), format!("{shown} begins no token of the language"));
            self.sink.push(d.maybe_hint(unknown_hint(c)));
        }
        match c {
            // Another language's comment, preprocessor or annotation is left out as a whole.
            '#' | '@' => {
                let rest = logos.remainder();
                let is_end = |x: char| if c == '#' { x == '\n' } else { !is_name_char(x) };
                logos.bump(rest.find(is_end).unwrap_or(rest.len()));
            }
            '\\' => {}
            c if is_invisible(c) => {}
            _ if self.unknown_end != start => self.push(TokenKind::Unknown, start, end),
            _ => {}
        }
        self.unknown_end = logos.span().end;
        logos
    }
}

/// What looks like a space or like nothing.
fn is_invisible(c: char) -> bool {
    c.is_control() || c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}')
}

fn is_name_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn unknown_hint(c: char) -> Option<String> {
    let hint = match c {
        '#' => "comments begin with `//`",
        '@' => "there are no annotations; `override` is a keyword",
        '`' => "strings stand in double quotes: `\"text\"`",
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' => "use the straight double quote `\"`",
        '\u{2018}' | '\u{2019}' => "use the straight single quote `'`",
        '\u{a0}' | '\u{200b}' | '\u{feff}' => "an invisible character: delete it, or replace it by a space",
        '$' => "`$` stands only in strings: `\"${name}\"`",
        '\\' => "a statement that goes on in the next line needs no `\\`: end the line with an operator or a comma",
        '\u{2013}' | '\u{2014}' | '\u{2212}' => "use the minus sign `-` of the keyboard",
        '\u{d7}' => "use `*`",
        '\u{2260}' => "use `!=`",
        '\u{2264}' => "use `<=`",
        '\u{2265}' => "use `>=`",
        _ => return None,
    };
    Some(hint.to_string())
}
