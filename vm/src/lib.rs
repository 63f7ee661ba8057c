//! The virtual machine: front end, runtime and command line. Modules stand in the order in which a program meets them.

pub mod source;

pub mod library;

pub mod diag;
pub mod syntax;

pub mod sema;

pub mod lower;

pub mod runtime;

pub mod cli;
