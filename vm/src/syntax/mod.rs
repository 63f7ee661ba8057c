//! Text to syntax tree: lexer, parser, formatter.

pub mod ast;
mod parser;

pub use parser::parse;
