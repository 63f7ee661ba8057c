//! Child processes measured, and what the differences between their times are worth.
//!
//! What `vm bench` and the crate `benches` share: [`process`] runs a child and says what it took, `slices` several in turn, [`counters`] asks the processor about it, [`stats`] and [`ratio`] make numbers with errors of it. By [`clock`] processes agree about time. Knows nothing of what the children do.

pub mod clock;
pub mod counters;
pub mod process;
pub mod ratio;
#[cfg(target_os = "linux")]
pub mod slices;
pub mod stats;
