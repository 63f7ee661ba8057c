//! The profiles that an explanation rests on: the one that the policy asks, and the exhaustive one that its decisions are held against.
//!
//! In: arguments. Out: [`Profiles`]. Runs of the program print nothing but errors; that it fails is told, and its profile is taken as it is.

use super::ExplainArgs;
use super::model::ProfileLine;
#[cfg(feature = "native")]
use crate::cli::args::OptArgs;
use crate::cli::args::{RunArgs, TierArg};
use crate::cli::live::{self, LiveArgs};
use crate::cli::run::{Refused, Shown, execute};
use crate::cli::sampling::ModeArg;
use crate::cli::{notes, policy};
use crate::runtime::End;
use profiler::oracle::{Kind, ProfileView};
use profiler::profile::Profile;
use profiler::program::Program;
use std::num::NonZeroU32;
use std::sync::Arc;

#[derive(Default)]
pub struct Profiles {
    /// Empty where the policy asks none.
    pub view: Arc<ProfileView>,
    pub exhaustive: Option<ProfileView>,
    /// Relative standard error that all weights have in common, beside their own; shares do not have it.
    pub scale_error: f64,
    /// What is told of the profile; `None` where the policy asks none.
    pub line: Option<ProfileLine>,
    pub notes: Vec<String>,
}

impl Profiles {
    pub fn new(args: &ExplainArgs, program: &Program) -> Result<Profiles, Refused> {
        if !args.policy().asks_profile() {
            return Ok(Profiles::default());
        }
        let mut notes = Vec::new();
        let profile = match &args.live.profile_in {
            Some(path) => {
                let earlier = live::earlier(path, || program.clone(), true)?;
                // An explanation is read without the terminal that it was made in.
                notes.extend(live::staleness(path, &earlier, program));
                notes.extend(policy::knows_no_lines(&earlier, program).then(|| policy::NO_LINES.into()));
                earlier
            }
            None => made(args, &mut notes)?,
        };
        if let Some(path) = &args.live.profile_out
            && live::write(&profile, path, 0) != 0
        {
            return Err(Refused::Shown);
        }
        let view = policy::view(&profile, program, true);
        let total = view.total();
        let line = ProfileLine { description: profile.meta().to_string(), calls: total.weight, samples: total.samples };
        if total.weight <= 0.0 {
            notes.push("the profile has no calls".into());
        }
        let exhaustive = args.check.then(|| exhaustive(args, &mut notes)).transpose()?;
        let exhaustive = exhaustive.map(|profile| ProfileView::new(&profile, program));
        let scale_error = profile.scale_error();
        notes.extend(notes::unsampled(&profile.meta().counters, total.weight));
        notes.extend(notes::without_context(&profile).filter(|_| args.policy().kind() == Kind::Context));
        Ok(Profiles { view: Arc::new(view), exhaustive, scale_error, line: Some(line), notes })
    }
}

fn made(args: &ExplainArgs, notes: &mut Vec<String>) -> Result<Profile, Refused> {
    let mut live = args.live.clone();
    let mode = *live.sampling.profile.get_or_insert(ModeArg::Adaptive);
    if mode == ModeArg::Off {
        return Err("vm explain needs a --profile other than off, or --profile-in".to_owned().into());
    }
    // That of the profiles drawn anew.
    if mode == ModeArg::Exhaustive {
        live.sampling.seed = None;
    }
    run(args, live, Shown::Errors, "the run that was profiled", notes)
}

fn exhaustive(args: &ExplainArgs, notes: &mut Vec<String>) -> Result<Profile, Refused> {
    let live = LiveArgs { profile_in: None, ..args.live.exhaustive() };
    run(args, live, Shown::Nothing, "the run that was counted", notes)
}

fn run(args: &ExplainArgs, live: LiveArgs, shown: Shown, what: &str, notes: &mut Vec<String>) -> Result<Profile, Refused> {
    let args = RunArgs {
        file: args.file.clone(),
        tier: TierArg::without_inlining(),
        #[cfg(feature = "native")]
        opt: OptArgs::default(),
        memory: args.memory.clone(),
        gc_stress: 0,
        gc_log: false,
        stats: false,
        stats_out: None,
        repeat: NonZeroU32::MIN,
        live: LiveArgs { profile_out: None, ..live },
        #[cfg(feature = "native")]
        perf_map: false,
        #[cfg(feature = "native")]
        jitdump: None,
        verify: false,
        no_polls: false,
        #[cfg(feature = "native")]
        osr_stress: None,
        #[cfg(feature = "native")]
        adapt_stress: None,
        args: args.args.clone(),
    };
    let finished = execute(&args, shown, 0)?;
    if finished.end == End::Interrupted {
        return Err(Refused::Interrupted(finished.code));
    }
    if finished.code != 0 {
        notes.push(format!("{what} ended with exit code {}", finished.code));
    }
    let profiled = finished.profiled.ok_or_else(|| Refused::Because("there is no profile of the run".into()))?;
    Ok(profiled.profile)
}
