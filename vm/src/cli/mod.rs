//! The command line: arguments in, exit code out. 0 or the program's own code, 1 for an uncaught error, 2 for wrong usage and programs that do not compile.

#[cfg(feature = "native")]
mod adapting;
mod args;
mod bench;
mod check;
mod compile;
mod dump;
mod explain;
mod fmt;
#[cfg(feature = "native")]
mod jitdump;
mod live;
mod notes;
mod optimize;
#[cfg(feature = "native")]
mod perf_map;
mod policy;
mod profile;
mod profiles;
mod progress;
mod replay;
mod report;
mod run;
mod run_stats;
mod sampling;
mod temporary;
mod text;
mod trace;

use crate::runtime::interrupt;
use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;

/// Wrong usage, unreadable input, a program that does not compile.
const FAILURE: u8 = 2;

/// Bytes of stack for the compiler, which recurses over the syntax tree (its depth is bounded by the parser). Only touched pages cost memory.
const COMPILER_STACK: usize = 256 << 20;

/// Runs the process's command line.
pub fn main() -> ExitCode {
    interrupt::ignore_file_limits();
    // While there is one thread: later the first optimized function would wait for it for ten milliseconds and more.
    #[cfg(feature = "native")]
    jit::native::can_reuse_code_memory();
    let cli = Cli::parse();
    let worker = std::thread::Builder::new().name("main".into()).stack_size(COMPILER_STACK);
    match worker.spawn(move || dispatch(cli.command)).map(|thread| thread.join()) {
        Ok(Ok(code)) => ExitCode::from(code),
        // The panic's own message is on stderr already.
        Ok(Err(_)) => ExitCode::from(101),
        Err(e) => {
            eprintln!("error: cannot start a thread: {e}");
            ExitCode::from(FAILURE)
        }
    }
}

fn dispatch(command: Command) -> u8 {
    match command {
        Command::Run(args) => run::run(args),
        Command::Profile(args) => profile::run(args),
        Command::Bench(args) => bench::run(&args),
        Command::Trace(args) => trace::run(args),
        Command::Replay(args) => replay::run(&args),
        Command::Diff(args) => profiles::compare(&args),
        Command::Convert(args) => profiles::convert(&args),
        Command::Check { files } => check::run(&files),
        Command::Dump(args) => dump::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Fmt { files, check } => fmt::run(&files, check),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "vm", &mut script);
            text::print(&String::from_utf8_lossy(&script))
        }
    }
}
