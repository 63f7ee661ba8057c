//! From typed SSA to running code: the IR, the reference interpreter that defines what it means, and the tiers that compile it.
//!
//! Knows neither the language's syntax nor the heap's policy nor files.

pub mod ir;

pub mod context;
pub mod layout;
pub mod trap;

pub mod interp;

pub mod opt;

#[cfg(feature = "native")]
pub mod native;
