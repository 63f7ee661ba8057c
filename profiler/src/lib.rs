//! What every part of the system says about calls: the identities of functions and call sites, and the policies that decide what is inlined.
//!
//! This crate knows no compiler, no threads and no clock; it depends on nothing above it.
#![forbid(unsafe_code)]

pub mod counters;
pub mod diff;
pub mod event;
#[cfg(feature = "export")]
pub mod export;
pub mod ids;
pub mod metrics;
pub mod oracle;
pub mod profile;
pub mod program;
pub mod replay;
pub mod sample;
pub mod samplers;
pub mod structures;
pub mod trace;
pub mod tuning;
