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
use std::path::{Path, PathBuf};

/// Profiles drawn anew where nobody says otherwise: stability is then told to a few percent.
const RESAMPLES: u32 = 200;
/// Of so many, half a percent; each is drawn for every decision.
const MOST_RESAMPLES: i64 = 10_000;

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
    /// Draw so many profiles anew from the samples, to tell how many of them decide the same: 1 to 10000, by default 200
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_RESAMPLES))]
    pub resamples: Option<u32>,
    /// Measure what the most frequent decisions are worth, by default 3 of them: the program is run with each, and with its opposite, in turn
    ///
    /// As vm bench does it: each run is a process, the program finds its input at the end, has to end with 0, and to print the same each time.
    #[cfg(feature = "native")]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "3")]
    pub measure: Option<NonZeroU32>,
    #[cfg(feature = "native")]
    #[command(flatten, next_help_heading = "With --measure")]
    pub effort: Effort,
    /// How the explanation is shown; by default as the extension of --out says, without --out as text
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Write the explanation to this file; without --format, the extension says what it is: .txt, .json, .html or .htm
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

impl Format {
    /// The one that a file's extension asks for; letter case does not matter.
    fn of(path: &Path) -> Result<Format, String> {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match extension.as_str() {
            "txt" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            "html" | "htm" => Ok(Format::Html),
            _ => Err(format!(
                "{}: the extension says no format; known are .txt, .json, .html and .htm; or choose a --format",
                path.display()
            )),
        }
    }
}

impl ExplainArgs {
    pub fn policy(&self) -> InlineArg {
        self.inline.unwrap_or(InlineArg::Context)
    }

    pub fn resamples(&self) -> u32 {
        self.resamples.unwrap_or(RESAMPLES)
    }

    pub fn format(&self) -> Result<Format, String> {
        match (self.format, &self.out) {
            (Some(format), _) => Ok(format),
            (None, Some(path)) => Format::of(path),
            (None, None) => Ok(Format::Text),
        }
    }

    /// What can be seen before anything is done of what is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.format()?;
        self.out.as_deref().map_or(Ok(()), text::check_folder)?;
        let live = &self.live;
        text::check_apart([
            ("--out", self.out.as_deref()),
            ("--profile-out", live.profile_out.as_deref()),
            ("--profile-in", live.profile_in.as_deref()),
        ])?;
        self.check_effort()?;
        if self.live.profile_inlined {
            return Err("--profile-inlined has nothing to do here: the run that is profiled inlines nothing".into());
        }
        if !self.policy().asks_profile() {
            let stray = self.without_profile();
            return stray.map_or(Ok(()), |flag| Err(format!("{flag} goes with policies that ask a profile, such as --inline context")));
        }
        if self.live.profile_in.is_some() {
            let stray = self.live.given().or(self.live.mode().map(|_| "--profile"));
            return stray
                .map_or(Ok(()), |flag| Err(format!("{flag} is about a profile to be made, and --profile-in names one that is there")));
        }
        self.live.check_output()
    }

    /// An argument that was given and means nothing where no profile is asked.
    fn without_profile(&self) -> Option<&'static str> {
        let given = [
            ("--check", self.check),
            ("--profile-in", self.live.profile_in.is_some()),
            ("--profile", self.live.mode().is_some()),
            ("--resamples", self.resamples.is_some()),
            ("--seed", self.live.sampling.seed.is_some() && !self.measures()),
        ];
        self.live.given().or(given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag)))
    }

    #[cfg(feature = "native")]
    fn measures(&self) -> bool {
        self.measure.is_some()
    }

    #[cfg(not(feature = "native"))]
    fn measures(&self) -> bool {
        false
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
