//! The `vm` binary: hands the command line to [`vm::cli`].

fn main() -> std::process::ExitCode {
    vm::cli::main()
}
