//! The runtime as a whole, driven by Rust closures in place of program functions.

mod builtins;
mod end;
mod harness;
mod memory;
mod mutexes;
mod threads;
