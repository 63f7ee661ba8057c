//! The runtime: memory, threads, builtins, errors of a running program.
//!
//! In: a lowered module and an [`Engine`] that runs its functions. Out: the program's output and exit status. Modules stand in the order in which a program meets them.

pub mod metrics;
pub mod tuning;

pub mod iterations;
mod processors;
pub mod program;

pub mod classes;
pub mod heap;
pub mod statics;

pub mod safepoint;
pub mod thread;
mod threads;
pub mod timer;

#[cfg(feature = "native")]
pub mod adaptive;
pub mod engine;
mod host;
pub mod names;
pub mod profiling;
pub mod recorder;

mod builtins;
mod input;
pub mod interrupt;
mod monitor;
mod output;
mod view;

mod errors;
mod report;
pub mod symbols;
mod trace;

#[cfg(feature = "native")]
pub mod native;

#[cfg(test)]
mod tests;

pub use engine::{Engine, Frames, InterpreterEngine};
pub use input::Input;
pub use iterations::Iteration;
pub use metrics::{Metrics, Row};
pub use output::Output;
pub use program::{End, ExitStatus, Runtime, RuntimeOptions, StartError};
pub use recorder::Recorder;
pub use symbols::{NoSymbols, Position, Symbols};
