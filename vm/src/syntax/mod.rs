//! Text to syntax tree: lexer, parser, formatter.

pub mod ast;
pub mod token;

pub mod lexer;
mod literal;

mod parser;

pub mod dump;

pub mod fmt;

mod fuzz;

pub use dump::{Positions, dump_ast, dump_tokens};
pub use fmt::format;
pub use fuzz::fuzz_one;
pub use lexer::lex;
pub use parser::{MAX_DEPTH, parse};
