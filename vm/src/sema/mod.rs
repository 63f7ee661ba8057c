//! Syntax tree to HIR: files loaded, names resolved, types inferred and checked, sugar removed.
//!
//! In: a path. Out: an [`hir::Program`], or [`Diagnostics`]. The stages: `load`, `collect` (declarations), `hierarchy` (supertypes), `overrides` (rules between
//! members), `body` (code), `finish` (types decided). Library bodies are only checked where the program can reach them (`reach`).

pub mod hir;
pub mod types;

pub mod load;

mod assigned;
mod body;
mod collect;
mod decls;
pub mod dump;
mod finish;
mod flow;
mod hierarchy;
mod infer;
mod members;
mod overrides;
mod program;
mod reach;
mod resolve;
mod show;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod verify;

pub use load::{Unit, load, load_library, load_text};

use crate::diag::Diagnostics;

/// Which bodies of the library are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// Those that the program may call.
    #[default]
    Reachable,
    /// All of them, for tests of the library.
    Everything,
}

/// Stack for checking: expressions may nest as deep as the checker's limit allows.
const STACK: usize = 256 << 20;

/// Checks a loaded program. There is a program exactly where there are no diagnostics, neither of loading it nor here.
pub fn check(units: &[Unit], scope: Scope) -> (Option<hir::Program>, Diagnostics) {
    std::thread::scope(|threads| {
        let worker = std::thread::Builder::new().name("check".to_string()).stack_size(STACK);
        match worker.spawn_scoped(threads, || program::check(units, scope)) {
            Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // Without a thread, on the stack there is.
            Err(_) => program::check(units, scope),
        }
    })
}
