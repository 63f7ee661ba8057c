//! Tokens of the text form. In: text. Out: tokens with positions; line ends and `//` comments mean nothing.

use super::ParseError;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// A keyword, mnemonic or id.
    Word(&'a str),
    /// Digits, maybe with sign, point and exponent; `0x…`; `-inf`.
    Number(&'a str),
    Text(String),
    /// One of `( ) [ ] { } , : = . ? @`, or `->` as `>`.
    Mark(char),
    End,
}

/// 1-based; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    pub line: u32,
    pub col: u32,
}

pub(super) fn tokenize(text: &str) -> Result<Vec<(Token<'_>, Position)>, ParseError> {
    let mut lexer = Lexer { text, offset: 0, at: Position { line: 1, col: 1 } };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let at = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((token, at));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    offset: usize,
    at: Position,
}

impl<'a> Lexer<'a> {
    fn peek(&self) -> Option<char> {
        self.text[self.offset..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.offset += c.len_utf8();
        self.at = match c {
            '\n' => Position { line: self.at.line + 1, col: 1 },
            _ => Position { col: self.at.col + 1, ..self.at },
        };
        Some(c)
    }

    fn take_while(&mut self, mut wanted: impl FnMut(char) -> bool) -> &'a str {
        let start = self.offset;
        while self.peek().is_some_and(&mut wanted) {
            self.bump();
        }
        &self.text[start..self.offset]
    }

    fn skip_blank(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.text[self.offset..].starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn token(&mut self) -> Result<Token<'a>, ParseError> {
        let start = self.at;
        let Some(c) = self.peek() else { return Ok(Token::End) };
        if c.is_ascii_alphabetic() || c == '_' {
            return Ok(Token::Word(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')));
        }
        if self.text[self.offset..].starts_with("->") {
            self.bump();
            self.bump();
            return Ok(Token::Mark('>'));
        }
        if c.is_ascii_digit() || c == '-' {
            return Ok(self.number());
        }
        self.bump();
        match c {
            '"' => self.quoted(start),
            '(' | ')' | '[' | ']' | '{' | '}' | ',' | ':' | '=' | '.' | '?' | '@' => Ok(Token::Mark(c)),
            c => Err(ParseError::new(start, format!("unexpected character {c:?}"))),
        }
    }

    fn number(&mut self) -> Token<'a> {
        let start = self.offset;
        self.bump();
        let hex = self.text[start..].starts_with("0x");
        let mut last = '0';
        self.take_while(|c| {
            let exponent_sign = matches!(c, '+' | '-') && matches!(last, 'e' | 'E') && !hex;
            last = c;
            c.is_ascii_alphanumeric() || c == '.' || exponent_sign
        });
        Token::Number(&self.text[start..self.offset])
    }

    fn quoted(&mut self, start: Position) -> Result<Token<'a>, ParseError> {
        let mut text = String::new();
        loop {
            match self.bump() {
                Some('"') => return Ok(Token::Text(text)),
                Some('\\') => text.push(self.escape()?),
                None | Some('\n') => return Err(ParseError::new(start, "this text does not end on its line")),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ParseError> {
        let start = self.at;
        let bad = || ParseError::new(start, "unknown escape");
        Ok(match self.bump().ok_or_else(bad)? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            c @ ('"' | '\\') => c,
            'u' => {
                let digits = self.take_while(|c| c.is_ascii_hexdigit() || c == '{');
                let code = digits.strip_prefix('{').and_then(|d| u32::from_str_radix(d, 16).ok());
                let c = code.and_then(char::from_u32).ok_or_else(bad)?;
                self.bump().filter(|&c| c == '}').ok_or_else(bad)?;
                c
            }
            _ => return Err(bad()),
        })
    }
}
