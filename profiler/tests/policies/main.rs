//! Inlining policies that ask a profile: what they see, what they decide, how near that is to the opposite, and plans that decide it again.

#[path = "../common/mod.rs"]
mod common;
mod context;
mod fallback;
mod kept;
mod plans;
mod robust;
mod rules;
mod support;
mod views;
