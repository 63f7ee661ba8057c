//! The reference interpreter: runs the SSA IR directly and thereby defines what a program means. Every other tier is tested against it.

pub mod host;
pub mod stack;
