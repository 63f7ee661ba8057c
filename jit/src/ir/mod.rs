//! The SSA intermediate representation: data, builder, text form, verifier.

pub mod builder;
pub mod builtin;
pub mod copy;
pub mod dominators;
pub mod entities;
pub mod eval;
pub mod inst;
pub mod liveness;
mod mnemonic;
pub mod module;
pub mod parser;
pub mod polls;
pub mod printer;
pub mod repair;
pub mod rewrite;
mod ssa;
pub(crate) mod straighten;
pub mod types;
pub mod variables;
pub mod verifier;

pub use builder::{FunctionBuilder, Variable};
pub use builtin::Builtin;
pub use entities::*;
pub use inst::*;
pub use module::*;
pub use types::*;
