//! Which policy decides what is inlined: one by its name, with the profile that it asks, or a plan that is followed.
//!
//! In: flags, the profile that `--profile-in` names, the program as profiles name it. Out: [`Policy`]. Invariant: a policy that asks a profile has one; errors say how to make it.

use super::args::{InlineArg, OptArgs};
use super::text;
use clap::ValueEnum;
use profiler::oracle::{Kind, Oracle, ProfileView};
use profiler::plan::{self, Plan, PlanOracle};
use profiler::profile::Profile;
use profiler::program::{CallSite, Program};
#[cfg(feature = "native")]
use profiler::tuning;
use std::path::Path;
use std::sync::Arc;

/// What the adaptive tier goes by if nobody says otherwise.
#[cfg(feature = "native")]
const ADAPTIVE: Kind = Kind::Context;

pub struct Policy {
    pub oracle: Box<dyn Oracle>,
    /// As plans say where they come from.
    pub name: Box<str>,
}

impl InlineArg {
    pub fn kind(self) -> Kind {
        match self {
            InlineArg::None => Kind::None,
            InlineArg::Static => Kind::Static,
            InlineArg::Dynamic => Kind::Dynamic,
            InlineArg::WeakStatic => Kind::WeakStatic,
            InlineArg::CostBenefit => Kind::CostBenefit,
            InlineArg::Context => Kind::Context,
        }
    }

    pub fn asks_profile(self) -> bool {
        self.kind().policy().is_some()
    }
}

impl OptArgs {
    fn policy(&self) -> InlineArg {
        self.inline.unwrap_or(InlineArg::Static)
    }

    pub fn asks_profile(&self) -> bool {
        self.plan_in.is_none() && self.policy().asks_profile()
    }

    /// Of the adaptive tier: the policy that decides by the run's own profile; `None` where none does.
    #[cfg(feature = "native")]
    pub fn live_policy(&self) -> Option<Kind> {
        let kind = self.inline.map_or(ADAPTIVE, InlineArg::kind);
        (self.plan_in.is_none() && kind.policy().is_some()).then_some(kind)
    }

    /// Whether functions and call sites are looked up by what they are called.
    pub fn needs_names(&self) -> bool {
        self.asks_profile() || self.plan_in.is_some() || self.plan_out.is_some()
    }

    /// What can be seen before the program is compiled of what is missing.
    pub fn check(&self, file: &Path, profile: Option<&Path>) -> Result<(), String> {
        if self.asks_profile() && profile.is_none() {
            return Err(no_profile(self.policy(), file));
        }
        self.check_files()
    }

    /// What can be seen now of what would go wrong when files are written.
    pub fn check_files(&self) -> Result<(), String> {
        self.plan_out.as_deref().map_or(Ok(()), text::check_folder)
    }
}

fn no_profile(policy: InlineArg, file: &Path) -> String {
    let name = policy.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
    format!(
        "--inline {name} decides by a profile of the program, and there is none\n\
         hint: make one by `vm run {} --profile adaptive --profile-out p.json`, and give it with --profile-in p.json",
        file.display()
    )
}

impl Policy {
    /// `warn`: where a plan does not fit the program.
    pub fn new(args: &OptArgs, file: &Path, profile: Option<&Profile>, program: &Program, warn: bool) -> Result<Policy, String> {
        if let Some(path) = &args.plan_in {
            return Policy::follow(path, program, warn);
        }
        let kind = args.policy().kind();
        let view = match (args.asks_profile(), profile) {
            (true, None) => return Err(no_profile(args.policy(), file)),
            (true, Some(profile)) => view(profile, program, warn),
            (false, _) => ProfileView::default(),
        };
        Ok(Policy { oracle: kind.oracle(Arc::new(view)), name: kind.name().into() })
    }

    fn follow(path: &Path, program: &Program, warn: bool) -> Result<Policy, String> {
        let plan = read_plan(path)?;
        let stale = plan.staleness(program);
        if warn && !stale.is_empty() {
            text::complain(&format!("warning: {} is stale: {stale}\n", path.display()));
        }
        Ok(Policy { oracle: Box::new(PlanOracle::new(&plan, program)), name: plan.about().policy.clone() })
    }
}

/// What policies ask of a profile. `warn`: where it has nothing to say to them.
pub fn view(profile: &Profile, program: &Program, warn: bool) -> ProfileView {
    if warn && knows_no_lines(profile, program) {
        text::complain(&format!("warning: {NO_LINES}\n"));
        text::complain("hint: folded stacks have none; keep profiles for --inline as .json\n");
    }
    ProfileView::new(profile, program)
}

/// Of a profile that the adaptive tier does not ask ([`Fallback::would_ask`](profiler::oracle::Fallback::would_ask)).
#[cfg(feature = "native")]
pub fn warn_of_few_samples(profile: &ProfileView) {
    let samples = text::counted(profile.total().samples.unwrap_or(0), "sample");
    text::complain(&format!(
        "warning: the earlier profile has {samples} of this program's calls, and is asked from {} on: until the run's own has as many, sizes decide\n",
        tuning::INLINE_LEAST_SAMPLES
    ));
    text::complain("hint: a longer run has more, and --profile exhaustive has all\n");
}

/// What there is to say of a profile that [`knows_no_lines`].
pub const NO_LINES: &str = "the earlier profile knows no lines, by which call sites are found again: it says nothing of what to inline";

/// Though there are lines to know in the program as it is now.
pub fn knows_no_lines(profile: &Profile, program: &Program) -> bool {
    let has_line = |site: &CallSite| site.line > 0;
    let sites = &profile.program().sites;
    !sites.is_empty() && !sites.values().any(has_line) && program.sites.values().any(has_line)
}

pub fn read_plan(path: &Path) -> Result<Plan, String> {
    plan::read(path).map_err(|error| format!("{error}\nhint: plans are made by `vm run FILE --plan-out plan.json`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_called_on_the_command_line_what_plans_call_them() {
        let names: Vec<String> =
            InlineArg::value_variants().iter().filter_map(|policy| Some(policy.to_possible_value()?.get_name().to_owned())).collect();
        let kinds = InlineArg::value_variants().iter().map(|policy| policy.kind());
        assert_eq!(kinds.collect::<Vec<_>>(), Kind::ALL);
        assert_eq!(names, Kind::ALL.map(Kind::name));
    }
}
