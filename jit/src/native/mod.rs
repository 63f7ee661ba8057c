//! Machine code through Cranelift: the tiers that compile, and everything around compiled code.
//!
//! In: the [`Module`](crate::ir::Module), where its parts lie in memory ([`Addresses`]), what the runtime does for compiled code ([`RuntimeFns`]). Out: an [`Engine`] that enters functions, walks their frames and finds
//! the references in them.
//!
//! Data meets `translate` (SSA to CLIF), `compile` (CLIF to bytes and metadata), `placement` and `region` (where the bytes go), `tables` (where the metadata goes), `engine` (installs and enters), `versions` (what of it is out of use), `cold` (what nobody calls any more), `watch` (whether functions are called), `osr` (other code for loops that run already), `exits` (code that counts, or does not, for those of optimized code). Running code meets `stubs`, and through them `frames`
//! (walking, unwinding); failing checks come through `signals`.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("native code is for x86-64 Linux: build with --no-default-features to have the interpreter alone");

pub mod api;
mod cells;
mod cold;
mod compile;
mod disasm;
pub mod engine;
mod exits;
mod frames;
mod osr;
mod placement;
mod region;
mod signals;
mod stubs;
mod tables;
mod translate;
mod trap;
mod versions;
mod watch;

pub use api::*;
pub use engine::Engine;
pub use exits::{Renewed, WantedExit};
pub use frames::{FrameView, RawFrame, walk_raw};
pub use region::can_reuse_code_memory;
pub use tables::SiteKind;
