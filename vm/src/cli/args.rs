//! The command line as data: what `clap` parses, prints as help and completes.

use clap::{Args, Parser, Subcommand, ValueEnum};
use jit::opt::PassSet;
use std::num::NonZeroU32;
use std::path::PathBuf;

#[derive(Parser, Debug)]
#[command(
    name = "vm",
    version,
    about = "Runs, checks, formats and dissects programs of a small object-oriented language",
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Compile a program and run it
    Run(RunArgs),
    /// Run a program and write every call and return of every thread to a file
    ///
    /// The program runs on the reference interpreter; its output and exit code are those of `vm run`. The trace is complete and exact: each call with its call
    /// site, and each return, also from functions that an error leaves. docs/trace-format.md describes the file.
    ///
    /// Its clock counts the interpreter's instructions, those of all threads together. It does not depend on the machine: a program with one thread and the same
    /// input has the same trace in each run, byte for byte.
    ///
    /// Calls that are open when the program ends through exit() or an interrupt stay open in the trace. If the process is killed, about the last second of its work is missing,
    /// and the file says that it was cut off. If the file cannot be begun, the program does not run. If it cannot be written later on (a full disk), the program
    /// runs to its end without it; the exit code is then 2, unless the program's own is not 0.
    Trace(TraceArgs),
    /// Compare two profiles: how much they agree, and which calls differ most
    Diff(DiffArgs),
    /// Write a profile in another format
    Convert(ConvertArgs),
    /// Report every error in the files, without running anything
    Check {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Print what a stage of the compiler makes of a program
    Dump(DumpArgs),
    /// Format source files in place
    Fmt {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Change nothing; list the files that are not formatted and exit with 1 if there are any
        #[arg(long)]
        check: bool,
    },
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
}

#[derive(Args, Debug)]
pub struct RunArgs {
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How the program is executed
    #[arg(long, value_enum, default_value_t = TierArg::best())]
    pub tier: TierArg,
    #[cfg(feature = "native")]
    #[command(flatten)]
    pub opt: OptArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// Collect at every Nth allocation and check the heap after each collection (0: never)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub gc_stress: u32,
    /// Print one line on stderr for each collection
    #[arg(long)]
    pub gc_log: bool,
    /// Report compile times, inlining, code size, collections, pauses, allocation and polls on stderr
    #[arg(long)]
    pub stats: bool,
    /// Seed of everything that the VM itself draws at random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run the verifier after each compiler stage
    #[arg(long)]
    pub verify: bool,
    /// Leave the yield points out of loops, to measure what they cost: a loop that calls nothing then cannot be stopped
    #[arg(long, hide = true)]
    pub no_polls: bool,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

#[derive(Args, Debug)]
pub struct DiffArgs {
    /// A profile, as .json or .folded
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// Calls are hot from this part of the hottest call's weight on, between 0 and 1; may be given several times
    ///
    /// By default 0.01, 0.1 and 0.5.
    #[arg(long = "threshold", value_name = "PART", value_parser = parse_part)]
    pub thresholds: Vec<f64>,
    /// List so many of the calls that changed most
    ///
    /// By default 20.
    #[arg(long, value_name = "N")]
    pub changes: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// A profile, as .json or .folded
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The extension says the format: .json, .folded, .svg, .pb.gz, .speedscope.json, .firefox.json, .xml or .dot
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
}

/// How much a program may take.
#[derive(Args, Debug)]
pub struct MemoryArgs {
    /// Most memory the heap may take, with a suffix k, m or g
    ///
    /// By default a quarter of the machine's memory.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub heap: Option<u64>,
    /// Size of the nursery, where objects are born
    ///
    /// By default a quarter of the heap, at most 64m.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub nursery: Option<u64>,
    /// Stack of each of the program's threads
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64m")]
    pub stack: u64,
}

#[derive(Args, Debug)]
pub struct TraceArgs {
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Where the trace goes, by default FILE with the extension trace
    #[arg(short, long, value_name = "TRACE")]
    pub output: Option<PathBuf>,
    /// Take the time before every Nth event of a thread
    ///
    /// The events between are spread evenly. With 1 the time of each is exact, and the file larger.
    #[arg(long, value_name = "N", default_value = "32")]
    pub stamps: NonZeroU32,
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

#[derive(Args, Debug)]
pub struct DumpArgs {
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[arg(long, value_enum)]
    pub stage: Stage,
    /// Only functions whose name is NAME or contains it
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// The tier whose machine code is shown, by default baseline
    #[cfg(feature = "native")]
    #[arg(long, value_enum)]
    pub tier: Option<CodeTier>,
    #[command(flatten)]
    pub opt: OptArgs,
}

/// What goes with the optimizer.
#[derive(Args, Clone, Copy, Default, PartialEq, Debug)]
pub struct OptArgs {
    /// Which calls the optimizer replaces by the code they go to, by default static
    #[arg(long, value_enum)]
    pub inline: Option<InlineArg>,
    /// Passes of the optimizer: gvn,dce runs only these, -gvn,-licm all but these
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub passes: Option<PassSet>,
    /// Report what each pass of the optimizer took on stderr
    #[arg(long)]
    pub time_passes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum InlineArg {
    /// None
    None,
    /// By size, loops and arguments, without a profile
    Static,
}

/// A tier that makes machine code.
#[cfg(feature = "native")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CodeTier {
    Baseline,
    Opt,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TierArg {
    /// The reference interpreter
    Interp,
    /// Machine code, compiled on first call without optimization
    #[cfg(feature = "native")]
    Baseline,
    /// Machine code of the optimized program, compiled before it starts
    #[cfg(feature = "native")]
    Opt,
}

impl TierArg {
    fn best() -> Self {
        #[cfg(feature = "native")]
        return TierArg::Baseline;
        #[cfg(not(feature = "native"))]
        TierArg::Interp
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Stage {
    /// Tokens with their positions
    Tokens,
    /// The syntax tree
    Ast,
    /// The SSA form
    Ir,
    /// The SSA form after the optimizer
    Opt,
    /// What the optimizer inlined and what not: the reason, the callee and its size, the calls around it
    Inline,
    /// Cranelift's input
    #[cfg(feature = "native")]
    Clif,
    /// Machine code
    #[cfg(feature = "native")]
    Asm,
}

fn parse_part(text: &str) -> Result<f64, String> {
    let part: f64 = text.parse().map_err(|_| "a number between 0 and 1 is needed".to_string())?;
    if (0.0..=1.0).contains(&part) { Ok(part) } else { Err("it must lie between 0 and 1".into()) }
}

/// Bytes: a number, optionally followed by `k`, `m` or `g` (binary multiples, any case).
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().next_back() {
        Some((i, 'k' | 'K')) => (&text[..i], 10),
        Some((i, 'm' | 'M')) => (&text[..i], 20),
        Some((i, 'g' | 'G')) => (&text[..i], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "a size is a number, optionally with k, m or g, such as 64m".to_string())?;
    number.checked_mul(1 << shift).ok_or_else(|| "the size is too large".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("64m"), Ok(64 << 20));
        assert_eq!(parse_size("512K"), Ok(512 << 10));
        assert_eq!(parse_size("7"), Ok(7));
        assert!(parse_size("m").is_err());
        assert!(parse_size("1.5g").is_err());
        assert!(parse_size("99999999999g").is_err());
        assert!(parse_size("").is_err());
        assert!(parse_size("5é").is_err());
    }

    #[test]
    fn command_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
