//! Tokens: their kinds, spelling and what the parser asks of them.
//!
//! The kinds with a `logos` attribute are those that one regular expression can recognize; comments, numbers, strings, names and keywords are finished by `lexer`.

use crate::source::Span;
use logos::Logos;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: TokenKind,
    /// A line break stands between the token before and this one; true for the first token.
    pub newline: bool,
    pub span: Span,
}

/// A comment, kept for the formatter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comment {
    pub span: Span,
    /// `//` to the end of the line, without the line break.
    pub line: bool,
}

macro_rules! kinds {
    (
        keywords { $($kw:ident = $kw_text:literal,)* }
        punctuation { $($p:ident = $p_text:literal,)* }
    ) => {
        #[derive(Logos, Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[logos(skip r"[ \t\r\f]+")]
        pub enum TokenKind {
            /// Never leaves the lexer.
            #[token("\n")]
            Newline,
            /// Never leaves the lexer.
            #[token("//")]
            LineComment,
            /// Never leaves the lexer.
            #[token("/*")]
            BlockComment,

            #[regex("[a-zA-Z_][a-zA-Z0-9_]*")]
            Name,
            #[regex("[0-9]")]
            Int,
            Float,
            /// A character that begins no token; reported by the lexer.
            Unknown,
            /// `'a'`, quotes included.
            #[token("'")]
            Char,
            /// `"` that begins a string.
            #[token("\"")]
            StrStart,
            /// Text and escape sequences between the quotes and interpolations; never empty.
            StrText,
            /// `${`
            InterpOpen,
            /// `}` that ends an interpolation.
            InterpClose,
            /// `"` that ends a string; empty where it was missing.
            StrEnd,

            $($kw,)*
            $(#[token($p_text)] $p,)*

            Eof,
        }

        impl TokenKind {
            /// The keyword spelled `text`.
            pub fn keyword(text: &str) -> Option<TokenKind> {
                match text {
                    $($kw_text => Some(TokenKind::$kw),)*
                    _ => None,
                }
            }

            pub fn is_keyword(self) -> bool {
                matches!(self, $(TokenKind::$kw)|*)
            }

            /// What a token of this kind looks like, for messages: `` `while` ``, `a name`.
            pub fn describe(self) -> &'static str {
                match self {
                    TokenKind::Newline => "a line break",
                    TokenKind::LineComment | TokenKind::BlockComment => "a comment",
                    TokenKind::Name => "a name",
                    TokenKind::Unknown => "an unknown character",
                    TokenKind::Int | TokenKind::Float => "a number",
                    TokenKind::Char => "a character literal",
                    TokenKind::StrStart | TokenKind::StrText => "a string",
                    TokenKind::StrEnd => "the end of the string",
                    TokenKind::InterpOpen => "`${`",
                    TokenKind::InterpClose => "`}`",
                    $(TokenKind::$kw => concat!("`", $kw_text, "`"),)*
                    $(TokenKind::$p => concat!("`", $p_text, "`"),)*
                    TokenKind::Eof => "the end of the file",
                }
            }
        }
    };
}

kinds! {
    keywords {
        Abstract = "abstract",
        As = "as",
        Break = "break",
        Catch = "catch",
        Class = "class",
        Continue = "continue",
        Else = "else",
        False = "false",
        Finally = "finally",
        For = "for",
        Fun = "fun",
        If = "if",
        Import = "import",
        In = "in",
        Init = "init",
        Interface = "interface",
        Is = "is",
        Let = "let",
        Lock = "lock",
        Match = "match",
        Native = "native",
        Null = "null",
        Object = "object",
        Override = "override",
        Return = "return",
        Super = "super",
        This = "this",
        Throw = "throw",
        True = "true",
        Try = "try",
        Var = "var",
        While = "while",
    }
    punctuation {
        LParen = "(",
        RParen = ")",
        LBracket = "[",
        RBracket = "]",
        LBrace = "{",
        RBrace = "}",
        Comma = ",",
        Semi = ";",
        Colon = ":",
        Dot = ".",
        DotDot = "..",
        DotDotLt = "..<",
        Ellipsis = "...",
        Question = "?",
        QuestionDot = "?.",
        Elvis = "?:",
        Bang = "!",
        BangBang = "!!",
        Tilde = "~",
        Eq = "=",
        EqEq = "==",
        EqEqEq = "===",
        BangEq = "!=",
        BangEqEq = "!==",
        FatArrow = "=>",
        Arrow = "->",
        Lt = "<",
        Le = "<=",
        Gt = ">",
        Ge = ">=",
        Shl = "<<",
        Shr = ">>",
        UShr = ">>>",
        Plus = "+",
        Minus = "-",
        Star = "*",
        Slash = "/",
        Percent = "%",
        Amp = "&",
        Pipe = "|",
        Caret = "^",
        AmpAmp = "&&",
        PipePipe = "||",
        PlusPlus = "++",
        MinusMinus = "--",
        PlusEq = "+=",
        MinusEq = "-=",
        StarEq = "*=",
        SlashEq = "/=",
        PercentEq = "%=",
        AmpEq = "&=",
        PipeEq = "|=",
        CaretEq = "^=",
        ShlEq = "<<=",
        ShrEq = ">>=",
        UShrEq = ">>>=",
    }
}

impl TokenKind {
    /// What is left of a token that begins with `>` once that one is taken off: `Some(None)` for `>` itself, `None` for tokens that do not begin so.
    pub fn without_gt(self) -> Option<Option<TokenKind>> {
        Some(match self {
            TokenKind::Gt => None,
            TokenKind::Ge => Some(TokenKind::Eq),
            TokenKind::Shr => Some(TokenKind::Gt),
            TokenKind::UShr => Some(TokenKind::Shr),
            TokenKind::ShrEq => Some(TokenKind::Ge),
            TokenKind::UShrEq => Some(TokenKind::ShrEq),
            _ => return None,
        })
    }

    /// `=` and its compound kin.
    pub fn is_assign(self) -> bool {
        use TokenKind::*;
        matches!(self, Eq | PlusEq | MinusEq | StarEq | SlashEq | PercentEq | AmpEq | PipeEq | CaretEq | ShlEq | ShrEq | UShrEq)
    }

    /// Begins a declaration at the top level.
    pub fn starts_item(self) -> bool {
        use TokenKind::*;
        matches!(self, Fun | Class | Interface | Object | Abstract | Native | Import | Let | Var)
    }

    /// A keyword that can only begin a statement: a line that starts with one cannot continue what is above it.
    pub fn starts_statement(self) -> bool {
        use TokenKind::*;
        matches!(self, Let | Var | While | For | Lock | Return | Fun | Class | Interface | Object | Abstract | Override | Import | Init)
    }
}
