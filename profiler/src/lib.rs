//! Identities that every part of the system shares: functions and call sites.
//!
//! This crate knows no compiler, no threads and no clock; it depends on nothing above it.
#![forbid(unsafe_code)]

pub mod ids;
