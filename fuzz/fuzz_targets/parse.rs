//! Any bytes: the lexer, the parser, the formatter and the rendering of errors neither panic nor hang, and keep what they promise of each other.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| vm::syntax::fuzz_one(bytes));
