//! The command line of `vm explain`.

use crate::cli::args::{InlineArg, MemoryArgs};
#[cfg(feature = "native")]
use crate::cli::bench::Effort;
use crate::cli::bench::parse_passes;
use crate::cli::live::LiveArgs;
use crate::cli::text;
use clap::{Args, ValueEnum};
#[cfg(feature = "native")]
use std::num::NonZeroU32;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct ExplainArgs {
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only the calls on this line of this function, wherever they are inlined
    #[arg(long, value_name = "FUNC:LINE")]
    pub site: Option<String>,
    /// The policy that decides, by default context
    #[arg(long, value_enum)]
    pub inline: Option<InlineArg>,
    /// Passes of the optimizer: gvn,dce runs only these, -gvn,-licm all but these
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = parse_passes)]
    pub passes: Option<String>,
    /// Run the program again with every call counted, and tell which decisions the exact profile would have changed
    ///
    /// The program finds its input at the end then: one that reads some does something else.
    #[arg(long)]
    pub check: bool,
    /// Draw so many profiles anew from the samples, to tell how many of them decide the same
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub resamples: u32,
    /// Measure what the most frequent decisions are worth, by default 3 of them: the program is run with each, and with its opposite, in turn
    ///
    /// As vm bench does it: each run is a process, the program finds its input at the end, has to end with 0, and to print the same each time.
    #[cfg(feature = "native")]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "3")]
    pub measure: Option<NonZeroU32>,
    #[cfg(feature = "native")]
    #[command(flatten, next_help_heading = "With --measure")]
    pub effort: Effort,
    /// How the explanation is shown; by default as the extension of --out says, or as text
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Write the explanation to this file
    #[arg(long, value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// As text, also list calls that the profile has not seen
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub live: LiveArgs,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    Text,
    /// For programs to read: docs/explain.md describes it
    Json,
    /// A page for a browser, with the source beside the calls; it needs nothing but itself
    Html,
}

impl ExplainArgs {
    pub fn policy(&self) -> InlineArg {
        self.inline.unwrap_or(InlineArg::Context)
    }

    pub fn format(&self) -> Format {
        let extension = self.out.as_deref().and_then(|path| path.extension()).and_then(|extension| extension.to_str());
        self.format.unwrap_or(match extension {
            Some("json") => Format::Json,
            Some("html" | "htm") => Format::Html,
            _ => Format::Text,
        })
    }

    /// What can be seen before anything is done of what is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.out.as_deref().map_or(Ok(()), text::check_folder)?;
        self.check_effort()?;
        if self.live.profile_inlined {
            return Err("--profile-inlined has nothing to do here: the run that is profiled inlines nothing".into());
        }
        if !self.policy().asks_profile() {
            let stray = self.live.sampling.given().or(self.check.then_some("--check"));
            let stray = stray.or(self.live.profile_in.is_some().then_some("--profile-in")).or(self.live.mode().map(|_| "--profile"));
            return stray.map_or(Ok(()), |flag| Err(format!("{flag} goes with policies that ask a profile, such as --inline context")));
        }
        if self.live.profile_in.is_some() {
            let stray = self.live.sampling.given().or(self.live.mode().map(|_| "--profile"));
            let stray = stray.or(self.live.profile_out.is_some().then_some("--profile-out"));
            return stray
                .map_or(Ok(()), |flag| Err(format!("{flag} is about a profile to be made, and --profile-in names one that is there")));
        }
        Ok(())
    }

    #[cfg(feature = "native")]
    fn check_effort(&self) -> Result<(), String> {
        if self.measure.is_some() && self.site.is_none() && !self.policy().asks_profile() {
            return Err("--measure needs a --site here: without a profile nobody knows which calls are frequent".into());
        }
        if self.measure.is_none() && self.effort != Effort::usual() {
            return Err("--rounds, --precision, --max-time, --iterations, --time and --slices go with --measure".into());
        }
        Ok(())
    }

    #[cfg(not(feature = "native"))]
    fn check_effort(&self) -> Result<(), String> {
        Ok(())
    }
}
