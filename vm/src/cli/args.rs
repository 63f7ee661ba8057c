//! The command line as data: what `clap` parses, prints as help and completes.

use super::bench::BenchArgs;
use super::explain::ExplainArgs;
use super::live::LiveArgs;
use super::sampling::SamplingArgs;
use crate::runtime::{RuntimeOptions, StartError};
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
    /// Run a program profiled, and report what it called: hot functions, edges, call sites with several callees, contexts
    ///
    /// The report follows the program's own output on stdout. Without --profile, the mode is adaptive; the exit code is the program's.
    Profile(ProfileArgs),
    /// Measure programs in several ways of running them, and tell what the difference is worth
    ///
    /// Each run is a process of its own. A round runs a program once under each value, in random order; a speedup is formed within the round, so what disturbs the machine disturbs both sides. Rounds go on until the 95 % confidence intervals are narrow enough.
    /// Calls are counted in runs of their own, which are not timed. All runs must end with 0 and print the same; what they print is not shown, and they find their input at the end.
    ///
    /// A program that fails is left out of the tables; the exit code is then 1.
    Bench(BenchArgs),
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
    /// Profile a recorded run: what a profiler would have seen of it, and at what cost
    ///
    /// All is as if the run were made again under the profiler, but for the cost, which is that of a model: 20 ns a call in a burst, 30 ns a stack walk and 1.5 ns each of its frames, 150 ns a tick.
    /// The same trace, arguments and seed give the same profile. Without --profile it is the exact one.
    ///
    /// Of a trace that is damaged or was cut off, what stands before the damage is profiled; the exit code is then 2.
    Replay(ReplayArgs),
    /// Compare two profiles: how much they agree, and which calls differ most
    Diff(DiffArgs),
    /// Write a profile, or the exact profile of a trace, in another format
    Convert(ConvertArgs),
    /// Report every error in the files, without running anything
    Check {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Print what a stage of the compiler makes of a program
    Dump(DumpArgs),
    /// Show what is inlined and why: each function's tree of calls, with what the profile says of each call, what decided, and how sure that is
    ///
    /// The profile is that of a run of the program with these arguments, whose output is dropped; or --profile-in names one. The program is optimized as for vm run --tier opt.
    Explain(ExplainArgs),
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

#[derive(Args, Clone, Debug)]
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
    /// Collect at every Nth allocation and at a yield point soon after, and check the heap after each collection (0: never)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub gc_stress: u32,
    /// Print one line on stderr for each collection
    #[arg(long)]
    pub gc_log: bool,
    /// Report compile times, inlining, code size, collections, pauses, allocation and polls on stderr
    #[arg(long)]
    pub stats: bool,
    /// Write these numbers to a file when the program has ended, as JSON: times in nanoseconds, sizes in bytes
    #[arg(long, value_name = "OUT")]
    pub stats_out: Option<PathBuf>,
    /// Run the program so often, one time after the other, in this process, as long as it ends with 0; --stats-out tells how long each time took
    #[arg(long, value_name = "N", default_value = "1", hide = true)]
    pub repeat: NonZeroU32,
    #[command(flatten)]
    pub live: LiveArgs,
    /// When the program ends, write address, length and name of each compiled function to /tmp/perf-PID.map, where perf report looks for them
    #[cfg(feature = "native")]
    #[arg(long)]
    pub perf_map: bool,
    /// Write all machine code with names and lines to the file jit-PID.dump in this folder, for perf inject --jit
    ///
    /// Record with perf record -k mono: the file's times are of that clock. Unlike --perf-map it tells code from other code that lay there before, and knows instructions and lines (perf annotate).
    #[cfg(feature = "native")]
    #[arg(long, value_name = "DIR")]
    pub jitdump: Option<PathBuf>,
    /// Run the verifier after each compiler stage
    #[arg(long)]
    pub verify: bool,
    /// Leave the yield points out of loops, to measure what they cost: a loop that calls nothing then cannot be stopped
    #[arg(long, hide = true)]
    pub no_polls: bool,
    /// Leave loops at their first back-edge for code that does the rest of the call, to test that: a call leaves one, so each fourth of a function's are left, from this one on, or all
    #[cfg(feature = "native")]
    #[arg(long, hide = true, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub osr_stress: Option<LeftLoops>,
    /// Compile functions and loops anew at random moments that follow from this number, to test that; with --tier adaptive
    #[cfg(feature = "native")]
    #[arg(long, hide = true, value_name = "SEED")]
    pub adapt_stress: Option<u64>,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

// By default on a tier that makes each call of the source: then numbers of calls are the program's.
#[derive(Args, Debug)]
#[command(mut_arg("tier", |tier| tier.default_value(TierArg::without_inlining().name())))]
pub struct ProfileArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Drop what the program prints; its errors are shown
    #[arg(long)]
    pub quiet: bool,
    /// Run the program again with every call counted, and tell how far the profile agrees with that
    ///
    /// What the program prints the second time is dropped. It finds its input at the end: a program that reads some does something else then.
    ///
    /// Where inlined calls are not counted (--tier opt and --tier adaptive without --profile-inlined, but for windows on the adaptive tier), it runs a third time with these counted, too, to tell their share.
    #[arg(long)]
    pub check: bool,
    /// List so many of the hottest functions, edges, call sites and contexts
    #[arg(long, value_name = "N", default_value_t = super::live::TOP)]
    pub top: usize,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// A trace of vm trace, or of a program in recorders/
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Tell how far the profile agrees with that of another mode on the same run
    #[arg(long, value_enum, value_name = "MODE")]
    pub compare: Option<CompareArg>,
    /// What ticks come from, and the time that the cost is a part of
    #[arg(long, value_enum, default_value_t = ClockArg::Stamps)]
    pub clock: ClockArg,
    /// How many units of the clock a second has
    ///
    /// Of stamps by default as the trace says, and 1000000000 where it does not know: the instructions that vm trace counts then pass about as fast as in compiled code.
    /// Of calls by default 100000000, as compiled code makes them.
    #[arg(long, value_name = "N")]
    pub rate: Option<u64>,
    /// Write the profile; the extension says the format: .json, .folded, .svg, .pb.gz, .speedscope.json, .firefox.json, .xml or .dot
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// List so many of the hottest functions, edges, call sites and contexts
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sampling: SamplingArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CompareArg {
    /// Every call and return
    Exhaustive,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ClockArg {
    /// The trace's time stamps
    Stamps,
    /// Each call with its return takes the same time
    Calls,
}

#[derive(Args, Debug)]
pub struct DiffArgs {
    /// A profile, as .json or .folded, or a trace, for its exact profile
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
    /// A profile, as .json or .folded, or a trace, for its exact profile (with a CCT; vm replay has others)
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The extension says the format: .json, .folded, .svg, .pb.gz, .speedscope.json, .firefox.json, .xml or .dot
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
}

/// How much a program may take.
#[derive(Args, Clone, Debug)]
pub struct MemoryArgs {
    /// Most memory the heap may take, with a suffix k, m or g
    ///
    /// By default a quarter of the machine's memory.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub heap: Option<u64>,
    /// Size of the nursery, where objects are born
    ///
    /// By default it begins with 8m and grows while collections have much to do, to a quarter of the heap or 64m at most. It is never below 64k or above a quarter of the heap: what is given beyond is taken as that.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub nursery: Option<u64>,
    /// Stack of each of the program's threads
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64m")]
    pub stack: u64,
}

impl MemoryArgs {
    /// For a run with these arguments of the program that can be interrupted.
    pub fn options(&self, args: &[String]) -> RuntimeOptions {
        RuntimeOptions {
            heap: self.heap,
            nursery: self.nursery,
            stack: self.stack,
            args: args.to_vec(),
            handle_interrupt: true,
            ..RuntimeOptions::default()
        }
    }

    /// Why a program could not be run, with what to change.
    pub fn explain(&self, error: &StartError) -> String {
        match error {
            StartError::NoThread { .. } => {
                format!("{error}\nhint: choose a smaller --stack than {} bytes, or raise the limit (ulimit -v)", self.stack)
            }
            StartError::StackTooSmall { .. } => format!("{error}\nhint: choose a larger --stack"),
            _ => error.to_string(),
        }
    }

    /// Stack of a thread, as far as the machine can address it.
    pub fn stack(&self) -> usize {
        usize::try_from(self.stack).unwrap_or(usize::MAX)
    }
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
    /// Show code as it is compiled for a profile: what counting calls adds to it
    #[cfg(feature = "native")]
    #[arg(long, value_enum, value_name = "CALLS")]
    pub profile_code: Option<ProfileCodeArg>,
    #[command(flatten)]
    pub opt: OptArgs,
    /// An earlier profile, as .json or .folded, for --inline; warns where the program has changed since
    #[arg(long, value_name = "FILE")]
    pub profile_in: Option<PathBuf>,
}

/// What goes with the optimizer.
#[derive(Args, Clone, Default, PartialEq, Debug)]
pub struct OptArgs {
    /// Which calls the optimizer replaces by the code they go to; dynamic and all behind it decide by a profile
    ///
    /// With --tier adaptive it is the profile of the run itself as it grows, after that of --profile-in if there is one, and the default is context. Everywhere else it is the profile that --profile-in names, and the default is static.
    #[arg(long, value_enum)]
    pub inline: Option<InlineArg>,
    /// Decide about each call as this plan does; warns where the program has changed since
    #[arg(long, value_name = "FILE", conflicts_with = "inline")]
    pub plan_in: Option<PathBuf>,
    /// Write what is decided about each call, as a plan for --plan-in
    #[arg(long, value_name = "OUT")]
    pub plan_out: Option<PathBuf>,
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
    /// By size, up to a limit that grows with the call's share of all calls
    Dynamic,
    /// As dynamic, with a lower limit for calls that the profile has not seen
    WeakStatic,
    /// By what a copy saves against what it costs
    CostBenefit,
    /// As cost-benefit, by how often the call runs behind the calls that lead to it
    Context,
}

/// A tier that makes machine code.
#[cfg(feature = "native")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CodeTier {
    Baseline,
    Opt,
}

/// Code compiled for a profile.
#[cfg(feature = "native")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ProfileCodeArg {
    /// Each call that is made is counted, as with --profile
    Calls,
    /// Those that the optimizer inlined, too, as with --profile-inlined
    Inlined,
}

/// Of a function, in the order of its blocks.
#[cfg(feature = "native")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LeftLoops {
    All,
    First,
    Second,
    Third,
    Fourth,
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
    /// Machine code, compiled on first call, and anew with optimization where that pays
    #[cfg(feature = "native")]
    Adaptive,
}

impl TierArg {
    pub fn name(self) -> &'static str {
        match self {
            TierArg::Interp => "interp",
            #[cfg(feature = "native")]
            TierArg::Baseline => "baseline",
            #[cfg(feature = "native")]
            TierArg::Opt => "opt",
            #[cfg(feature = "native")]
            TierArg::Adaptive => "adaptive",
        }
    }

    /// Calls may be replaced by the code they go to.
    pub fn inlines(self) -> bool {
        #[cfg(feature = "native")]
        return matches!(self, TierArg::Opt | TierArg::Adaptive);
        #[cfg(not(feature = "native"))]
        false
    }

    /// Functions become machine code.
    pub fn has_machine_code(self) -> bool {
        self != TierArg::Interp
    }

    /// Code is compiled while the program runs, by what it does.
    pub fn adapts(self) -> bool {
        #[cfg(feature = "native")]
        return self == TierArg::Adaptive;
        #[cfg(not(feature = "native"))]
        false
    }

    /// Without --tier.
    pub fn best() -> Self {
        #[cfg(feature = "native")]
        return TierArg::Adaptive;
        #[cfg(not(feature = "native"))]
        TierArg::Interp
    }

    /// The fastest one that inlines nothing: each call is made, and a profile has them all.
    pub fn without_inlining() -> Self {
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
