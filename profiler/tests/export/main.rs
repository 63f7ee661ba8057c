//! Profiles as files: every format against a snapshot and through a reader, round trips, damaged input, comparison.
//!
//! `BLESS=1` writes the snapshots; read them before they are committed.
#![cfg(feature = "export")]

mod build;
mod damage;
mod diff;
mod formats;
mod readers;
mod roundtrip;
mod sample;
mod writing;
