//! Machine code through Cranelift: the tiers that compile, and everything around compiled code.
//!
//! In: the [`Module`](crate::ir::Module), where its parts lie in memory ([`Addresses`]), what the runtime does for compiled code ([`RuntimeFns`]). Out: an [`Engine`] that enters functions, walks their frames and finds
//! the references in them.

pub mod api;
pub mod engine;

pub use api::*;
pub use engine::Engine;
