//! What every part of the system says about calls: the identities of functions and call sites, and the policies that decide what is inlined.
//!
//! This crate knows no compiler, no threads and no clock; it depends on nothing above it.
#![forbid(unsafe_code)]

pub mod event;
pub mod ids;
pub mod oracle;
pub mod program;
pub mod sample;
pub mod structures;
pub mod trace;
