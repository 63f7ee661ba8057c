//! How alike two profiles are: definitions in one place for tests, tables and the command line.

pub mod ccmap;
