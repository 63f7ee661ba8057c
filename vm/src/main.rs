//! The `vm` binary: hands the command line to [`vm::cli`].

fn main() {}
