//! Syntax tree to HIR: files loaded, names resolved, types inferred and checked, sugar removed.

pub mod hir;
pub mod types;
