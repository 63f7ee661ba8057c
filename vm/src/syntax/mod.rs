//! Text to syntax tree: lexer, parser, formatter.

pub mod ast;
