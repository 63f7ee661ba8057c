//! What is varied between runs, and the values it can have: those of the flag of `vm run` with the same name (of `--plan-in`, for plans).

#[cfg(feature = "native")]
use crate::cli::args::InlineArg;
use crate::cli::args::TierArg;
#[cfg(feature = "native")]
use crate::cli::policy::read_plan;
use crate::cli::sampling::ModeArg;
use clap::ValueEnum;
#[cfg(feature = "native")]
use jit::opt::PassSet;
use serde::Serialize;
#[cfg(feature = "native")]
use std::path::Path;
use std::str::FromStr;

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// The inlining policy
    #[cfg(feature = "native")]
    Inline,
    /// The inlining plan that is followed; values are files
    #[cfg(feature = "native")]
    Plan,
    Tier,
    /// The profiler's mode
    Profile,
    /// Passes of the optimizer
    #[cfg(feature = "native")]
    Passes,
}

/// At least two different values that the axis has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    pub axis: Axis,
    pub values: Vec<String>,
}

impl Axis {
    pub fn name(self) -> String {
        name_of(&self)
    }

    /// The argument of `vm run` that sets it.
    pub fn argument(self, value: &str) -> String {
        #[cfg(feature = "native")]
        if self == Axis::Passes {
            return format!("--passes={}", pass_list(value));
        }
        #[cfg(feature = "native")]
        if self == Axis::Plan {
            return format!("--plan-in={value}");
        }
        format!("--{}={value}", self.name())
    }

    /// The tier that shows a difference.
    pub fn usual_tier(self) -> TierArg {
        match self {
            #[cfg(feature = "native")]
            Axis::Inline | Axis::Plan | Axis::Passes => TierArg::Opt,
            Axis::Tier | Axis::Profile => TierArg::best(),
        }
    }

    /// `Err` says what there is.
    fn check(self, value: &str) -> Result<(), String> {
        let known = match self {
            #[cfg(feature = "native")]
            Axis::Inline => names::<InlineArg>(),
            #[cfg(feature = "native")]
            Axis::Plan => return read_plan(Path::new(value)).map(drop),
            Axis::Tier => names::<TierArg>(),
            Axis::Profile => names::<ModeArg>(),
            #[cfg(feature = "native")]
            Axis::Passes => return pass_list(value).parse::<PassSet>().map(drop).map_err(|e| e.to_string()),
        };
        if known.iter().any(|name| name == value) {
            return Ok(());
        }
        Err(format!("{} has no value `{value}`; there are: {}", self.name(), known.join(", ")))
    }
}

/// Commas are between values already.
#[cfg(feature = "native")]
fn pass_list(value: &str) -> String {
    value.replace('+', ",")
}

impl FromStr for Comparison {
    type Err = String;

    fn from_str(text: &str) -> Result<Comparison, String> {
        let (name, values) = text.split_once('=').unwrap_or((text, ""));
        let axis = Axis::from_str(name, false)
            .map_err(|_| format!("there is no axis `{name}`; there are: {}; such as tier=interp,baseline", names::<Axis>().join(", ")))?;
        let values: Vec<String> = values.split(',').map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned).collect();
        values.iter().try_for_each(|value| axis.check(value))?;
        if values.len() < 2 {
            return Err(format!("at least two values are needed, with a comma between them, such as {name}=A,B"));
        }
        match (1..values.len()).find(|&at| values[..at].contains(&values[at])) {
            Some(at) => Err(format!("`{}` stands there twice", values[at])),
            None => Ok(Comparison { axis, values }),
        }
    }
}

/// As on the command line.
pub fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

fn names<T: ValueEnum>() -> Vec<String> {
    T::value_variants().iter().map(name_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_the_flag_is_one_of_the_axis() {
        for name in names::<TierArg>() {
            assert_eq!(Axis::Tier.check(&name), Ok(()));
        }
        let modes = names::<ModeArg>();
        let all: Comparison = format!("profile={}", modes.join(",")).parse().unwrap();
        assert_eq!((all.axis, all.values), (Axis::Profile, modes));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_there_is() {
        for (text, words) in [
            ("speed=a,b", &["no axis `speed`", "tier, profile"][..]),
            ("tier", &["at least two values"]),
            ("tier=interp", &["at least two values"]),
            ("tier=interp,warp", &["no value `warp`", "there are: interp"]),
            ("profile=off,off", &["`off` stands there twice"]),
        ] {
            let error = text.parse::<Comparison>().expect_err(text);
            assert!(words.iter().all(|word| error.contains(word)), "{text}: {error}");
        }
    }

    #[cfg(feature = "native")]
    #[test]
    fn a_value_of_passes_is_a_list() {
        let passes: Comparison = "passes=all,-gvn+-licm,gvn".parse().unwrap();
        assert_eq!(passes.axis.argument(&passes.values[1]), "--passes=-gvn,-licm");
        assert!("passes=all,gvm".parse::<Comparison>().is_err_and(|error| error.contains("no pass `gvm`")));
        assert_eq!(Axis::Inline.argument("static"), "--inline=static");
        assert_eq!(Axis::Inline.usual_tier(), TierArg::Opt);
    }
}
