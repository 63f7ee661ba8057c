//! How a program is profiled, as arguments: mode, its numbers, and the structure that contexts are kept in. The same group for every command that profiles.
//!
//! In: what `clap` parsed. Out: [`Parameters`] of a sampler, and the [`StructureKind`] to collect in. Invariant: an argument that would have no effect in the mode is an error that names the modes it goes with.

use clap::{Args, ValueEnum};
use profiler::collect::StructureKind;
use profiler::samplers::{Antibias, Correction, Length, Mode, Parameters, Start, Trigger};
use profiler::tuning;
use std::num::NonZeroU32;
use std::time::Duration;

#[derive(Args, Clone, PartialEq, Default, Debug)]
#[command(next_help_heading = "Profiling")]
pub struct SamplingArgs {
    /// What of the run is observed
    #[arg(long, value_enum, value_name = "MODE")]
    pub profile: Option<ModeArg>,
    /// From one tick to the next, with a unit such as 4ms; for the estimator without a timer, calls from burst to burst in the mean
    ///
    /// By default 10ms; for cbs 4ms; for the estimator 10000 calls, at most 4000 where they are counted in windows, and 0.2ms with --trigger timer.
    #[arg(long, value_name = "TIME", value_parser = parse_length)]
    pub interval: Option<Length>,
    /// Samples that cbs takes at a tick, by default 8
    #[arg(long, value_name = "N")]
    pub samples: Option<u32>,
    /// Calls from one sample of cbs to the next, by default 2
    #[arg(long, value_name = "N")]
    pub stride: Option<u32>,
    /// Length of a burst in calls, or in time with a unit such as 0.2ms; by default 20000 calls; for the estimator 8; where calls are counted in windows 64, on the baseline and opt tiers up to 512 while many have new contexts
    #[arg(long, value_name = "LENGTH", value_parser = parse_length)]
    pub burst: Option<Length>,
    /// Part of the bursts at known stacks that adaptive bursting takes all the same, from 0 (none) to 1; by default 0.05
    #[arg(long, value_name = "RATIO", value_parser = parse_ratio)]
    pub reenable: Option<f64>,
    /// Entries of the table in which adaptive bursting remembers stacks, by default 2048
    #[arg(long, value_name = "N")]
    pub history: Option<u32>,
    /// Which bias of timer samples their weights correct, by default off
    #[arg(long, value_enum, value_name = "BIAS")]
    pub antibias: Option<AntibiasArg>,
    /// What begins a burst of the estimator, by default calls; all other modes have a timer
    #[arg(long, value_enum, value_name = "TRIGGER")]
    pub trigger: Option<TriggerArg>,
    /// Seed of everything random, by default 1
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Where the contexts of calls are kept, by default cct; the edges of the call graph are counted in any case
    #[arg(long, value_enum, value_name = "NAME")]
    pub structure: Option<StructureArg>,
    /// Calls that contexts of a ksf or kccf reach back behind the call itself, by default 10; calls from different sites are told apart, so 1 already tells who called the caller
    #[arg(long, value_name = "N")]
    pub k: Option<NonZeroU32>,
    /// Most nodes that the structure may have, by default 16777216
    #[arg(long, value_name = "N")]
    pub max_nodes: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ModeArg {
    /// Nothing
    Off,
    /// Every call and return
    Exhaustive,
    /// The call on top of the stack at each tick
    Stackwalk,
    /// A few calls after each tick, with a stride between them
    Cbs,
    /// All calls and returns for a while after each tick
    Burst,
    /// Of a running program the estimator, unless --reenable or --history ask for what it is of a recorded one: bursts where the stack is new, and a part of the others
    Adaptive,
    /// Short bursts at random calls, weighted by the exact number of calls
    Estimator,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum AntibiasArg {
    Off,
    /// Samples of times with many calls count more
    Density,
    /// And those that came late after their tick count less
    Latency,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TriggerArg {
    /// Ticks
    Timer,
    /// The program's own calls
    Calls,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum StructureArg {
    /// Nowhere: only edges are counted
    Dcg,
    /// Calling context tree
    Cct,
    /// CC-Map
    Ccmap,
    /// k-slab forest
    Ksf,
    /// k-calling-context forest
    Kccf,
}

impl ModeArg {
    /// The numbers of the mode's source.
    pub fn preset(self) -> Parameters {
        match self {
            ModeArg::Off | ModeArg::Exhaustive => Parameters::exhaustive(),
            ModeArg::Stackwalk => Parameters::stack_walk(),
            ModeArg::Cbs => Parameters::cbs(tuning::CBS_SAMPLES, tuning::CBS_STRIDE, Antibias::OFF),
            ModeArg::Burst => Parameters::static_bursting(),
            ModeArg::Adaptive => Parameters::adaptive_re_enable(),
            ModeArg::Estimator => Parameters::estimator(),
        }
    }

    fn of(mode: &Mode) -> ModeArg {
        match mode {
            Mode::Exhaustive => ModeArg::Exhaustive,
            Mode::StackWalk { .. } => ModeArg::Stackwalk,
            Mode::Cbs { .. } => ModeArg::Cbs,
            Mode::StaticBursting { .. } => ModeArg::Burst,
            Mode::AdaptiveBursting { .. } => ModeArg::Adaptive,
            Mode::Estimator { .. } => ModeArg::Estimator,
        }
    }
}

impl SamplingArgs {
    /// An argument that was given and means nothing without a mode.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--interval", self.interval.is_some()),
            ("--samples", self.samples.is_some()),
            ("--stride", self.stride.is_some()),
            ("--burst", self.burst.is_some()),
            ("--reenable", self.reenable.is_some()),
            ("--history", self.history.is_some()),
            ("--antibias", self.antibias.is_some()),
            ("--trigger", self.trigger.is_some()),
            ("--structure", self.structure.is_some()),
            ("--k", self.k.is_some()),
            ("--max-nodes", self.max_nodes.is_some()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// Of the estimator, with the numbers that suit its trigger.
    pub fn estimator(&self, preset: Parameters) -> Parameters {
        match self.trigger {
            Some(TriggerArg::Timer) => Parameters::timed_estimator(),
            Some(TriggerArg::Calls) | None => preset,
        }
    }

    /// The preset with what was given. Errors say what to give instead.
    pub fn parameters(&self, preset: Parameters) -> Result<Parameters, String> {
        self.check(ModeArg::of(&preset.mode))?;
        let mode = match preset.mode {
            Mode::Exhaustive => Mode::Exhaustive,
            Mode::StackWalk { antibias } => Mode::StackWalk { antibias: self.antibias(antibias) },
            Mode::Cbs { samples, stride, antibias } => Mode::Cbs {
                samples: self.samples.unwrap_or(samples),
                stride: self.stride.unwrap_or(stride),
                antibias: self.antibias(antibias),
            },
            Mode::StaticBursting { length } => Mode::StaticBursting { length: self.burst.unwrap_or(length) },
            Mode::AdaptiveBursting { length, history, re_enable } => Mode::AdaptiveBursting {
                length: self.burst.unwrap_or(length),
                history: self.history.unwrap_or(history),
                re_enable: self.reenable.map_or(re_enable, |ratio| (ratio != 0.0).then_some(ratio)),
            },
            Mode::Estimator { trigger, burst } => {
                let trigger = self.trigger(trigger)?;
                Mode::Estimator { trigger, burst: self.calls_of_burst(trigger, burst)? }
            }
        };
        let mut parameters = Parameters { mode, ..preset };
        match self.interval {
            Some(Length::Time(time)) => parameters.interval = time,
            Some(Length::Calls(_)) if parameters.has_timer() => return Err("--interval needs a unit: ns, us, ms or s, as in 4ms".into()),
            Some(Length::Calls(_)) | None => {}
        }
        parameters.check().map_err(|error| error.to_string())?;
        Ok(parameters)
    }

    /// Whether what was given goes with the mode.
    fn check(&self, mode: ModeArg) -> Result<(), String> {
        use ModeArg::{Adaptive, Burst, Cbs, Estimator, Stackwalk};
        let calls = self.trigger == Some(TriggerArg::Calls);
        let given: [(&str, bool, &[ModeArg]); 10] = [
            ("--interval", self.interval.is_some(), &[Stackwalk, Cbs, Burst, Adaptive, Estimator]),
            ("--samples", self.samples.is_some(), &[Cbs]),
            ("--stride", self.stride.is_some(), &[Cbs]),
            ("--burst", self.burst.is_some(), &[Burst, Adaptive, Estimator]),
            ("--reenable", self.reenable.is_some(), &[Adaptive]),
            ("--history", self.history.is_some(), &[Adaptive]),
            ("--antibias", self.antibias.is_some(), &[Stackwalk, Cbs]),
            ("--seed", self.seed.is_some(), &[Stackwalk, Cbs, Burst, Adaptive, Estimator]),
            ("--trigger calls", calls, &[Estimator]),
            ("--trigger timer", self.trigger == Some(TriggerArg::Timer), &[Stackwalk, Cbs, Burst, Adaptive, Estimator]),
        ];
        match given.into_iter().find(|(_, is_given, modes)| *is_given && !modes.contains(&mode)) {
            None => Ok(()),
            Some((flag, _, modes)) => {
                let names: Vec<String> = modes.iter().map(|&mode| format!("--profile {}", name(mode))).collect();
                // What adaptive stands for is not what was written.
                Err(format!("{flag} goes with {}, not with {}", names.join(", "), name(self.profile.unwrap_or(mode))))
            }
        }
    }

    fn antibias(&self, preset: Antibias) -> Antibias {
        let correction = self.antibias.map_or(preset.correction, |antibias| match antibias {
            AntibiasArg::Off => Correction::Off,
            AntibiasArg::Density => Correction::Density,
            AntibiasArg::Latency => Correction::DensityAndLatency,
        });
        Antibias { correction, ..preset }
    }

    /// Of the estimator: an interval in time asks for a timer.
    fn trigger(&self, preset: Trigger) -> Result<Trigger, String> {
        let timer = if matches!(preset, Trigger::Timer(_)) { preset } else { Trigger::Timer(Start::Random) };
        let counted = match preset {
            Trigger::Timer(_) => Trigger::Calls { mean: tuning::ESTIMATOR_MEAN },
            Trigger::Calls { .. } => preset,
        };
        match (self.trigger, self.interval) {
            (Some(TriggerArg::Calls), Some(Length::Time(_))) => {
                Err("--trigger calls needs an --interval in calls, without a unit, such as 10000".into())
            }
            (None | Some(TriggerArg::Calls), Some(Length::Calls(mean))) => Ok(Trigger::Calls { mean }),
            (Some(TriggerArg::Calls), None) => Ok(counted),
            (Some(TriggerArg::Timer), _) | (None, Some(Length::Time(_))) => Ok(timer),
            (None, None) => Ok(preset),
        }
    }

    /// By default the shorter bursts where the preset's do not fit.
    fn calls_of_burst(&self, trigger: Trigger, preset: u32) -> Result<u32, String> {
        match self.burst {
            None => Ok(match trigger {
                Trigger::Calls { mean } if mean < 2 * u64::from(preset) => preset.min(tuning::ESTIMATOR_BURST),
                Trigger::Calls { .. } | Trigger::Timer(_) => preset,
            }),
            Some(Length::Calls(calls)) => u32::try_from(calls).map_err(|_| format!("--burst {calls} is too long for the estimator")),
            Some(Length::Time(_)) => Err("--burst of the estimator is a number of calls, without a unit, such as 8".into()),
        }
    }

    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Of the structure.
    pub fn max_nodes(&self) -> u32 {
        self.max_nodes.unwrap_or(tuning::CONTEXT_NODES)
    }

    /// Where contexts are kept.
    pub fn kind(&self) -> Result<StructureKind, String> {
        let k = self.k.or(NonZeroU32::new(tuning::K)).unwrap_or(NonZeroU32::MIN);
        let kind = match self.structure.unwrap_or(StructureArg::Cct) {
            StructureArg::Ksf => StructureKind::Ksf(k),
            StructureArg::Kccf => StructureKind::Kccf(k),
            _ if self.k.is_some() => return Err("--k goes with --structure ksf and --structure kccf".into()),
            StructureArg::Dcg if self.max_nodes.is_some() => {
                return Err("--max-nodes goes with structures that keep contexts, not with --structure dcg".into());
            }
            StructureArg::Dcg => StructureKind::Dcg,
            StructureArg::Cct => StructureKind::Cct,
            StructureArg::Ccmap => StructureKind::CcMap,
        };
        Ok(kind)
    }
}

/// As on the command line.
fn name(mode: ModeArg) -> String {
    mode.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// Part of the bursts that the history table would prevent.
fn parse_ratio(text: &str) -> Result<f64, String> {
    const LEAST: f64 = 1e-6;
    let ratio: f64 = text.parse().map_err(|_| "a number from 0 to 1 is needed".to_string())?;
    let is_good = ratio == 0.0 || (LEAST..=1.0).contains(&ratio);
    if is_good { Ok(ratio) } else { Err(format!("the re-enable ratio must be 0, for none, or from {LEAST} to 1")) }
}

/// Calls, or a time if there is a unit.
pub fn parse_length(text: &str) -> Result<Length, String> {
    let bad = || "a number of calls, or a time with one of the units ns, us, ms and s, is needed, such as 0.2ms".to_string();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let seconds = match unit {
        "" => return number.parse().map(Length::Calls).map_err(|_| bad()),
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(bad()),
    };
    let number: f64 = number.parse().map_err(|_| bad())?;
    Duration::try_from_secs_f64(number * seconds).map(Length::Time).map_err(|_| "the time is too long".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        sampling: SamplingArgs,
    }

    fn parse(line: &str) -> Result<Parameters, String> {
        let args = std::iter::once("vm").chain(line.split_whitespace());
        let sampling = Line::try_parse_from(args).map_err(|error| error.to_string())?.sampling;
        sampling.parameters(sampling.profile.unwrap_or(ModeArg::Exhaustive).preset())
    }

    fn mode(line: &str) -> Mode {
        parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).mode
    }

    #[test]
    fn without_numbers_modes_have_their_presets() {
        for &mode in ModeArg::value_variants() {
            assert_eq!(parse(&format!("--profile {}", name(mode))), Ok(mode.preset()));
        }
    }

    #[test]
    fn numbers_reach_the_parameters() {
        let cbs = parse("--profile cbs --samples 3 --stride 7 --antibias latency --interval 2ms --trigger timer").unwrap();
        let antibias = Antibias::with(Correction::DensityAndLatency);
        assert_eq!(cbs, Parameters { interval: Duration::from_millis(2), ..Parameters::cbs(3, 7, antibias) });
        assert_eq!(mode("--profile burst --burst 0.2ms"), Mode::StaticBursting { length: Length::Time(Duration::from_micros(200)) });
        let adaptive = |re_enable| Mode::AdaptiveBursting { length: Length::Calls(500), history: 64, re_enable };
        assert_eq!(mode("--profile adaptive --burst 500 --history 64 --reenable 0.5"), adaptive(Some(0.5)));
        assert_eq!(mode("--profile adaptive --burst 500 --history 64 --reenable 0"), adaptive(None));
    }

    #[test]
    fn the_estimator_is_triggered_by_what_its_interval_is_counted_in() {
        let counted = |mean, burst| Mode::Estimator { trigger: Trigger::Calls { mean }, burst };
        let timed = Mode::Estimator { trigger: Trigger::Timer(Start::Random), burst: 8 };
        assert_eq!(mode("--profile estimator --interval 300 --burst 2"), counted(300, 2));
        assert_eq!(mode("--profile estimator --interval 300 --trigger calls"), counted(300, 8));
        let parameters = parse("--profile estimator --interval 3ms").unwrap();
        assert_eq!((parameters.mode, parameters.interval), (timed, Duration::from_millis(3)));
        assert_eq!(parse("--profile estimator --trigger timer"), Ok(Parameters::timed_estimator()));
    }

    #[test]
    fn what_does_not_go_together_is_an_error_that_says_what_does() {
        for (line, word) in [
            ("--interval 4ms", "--profile stackwalk, --profile cbs"),
            ("--profile burst --stride 2", "--stride goes with --profile cbs, not with burst"),
            ("--profile adaptive --samples 2", "--profile cbs"),
            ("--profile cbs --burst 2", "--profile burst"),
            ("--profile burst --reenable 0.1", "--profile adaptive"),
            ("--profile stackwalk --history 9", "--profile adaptive"),
            ("--profile estimator --antibias off", "--profile cbs"),
            ("--profile cbs --trigger calls", "--profile estimator"),
            ("--trigger timer", "--profile estimator"),
            ("--profile cbs --interval 4", "unit"),
            ("--profile estimator --trigger timer --interval 4", "unit"),
            ("--profile estimator --trigger calls --interval 4ms", "without a unit"),
            ("--profile estimator --burst 4ms", "without a unit"),
            ("--profile estimator --burst 99999999999", "too long"),
            ("--profile estimator --interval 10", "at least 16 calls"),
            ("--profile adaptive --reenable 1.5", "re-enable"),
            ("--profile cbs --stride 0", "stride"),
            ("--profile burst --burst 1h", "ns, us, ms"),
            ("--profile burst --burst .ms", "ns, us, ms"),
            ("--profile burst --burst 1e3", "ns, us, ms"),
            ("--profile burst --burst 99999999999999999999s", "too long"),
            ("--profile none", "estimator"),
            ("--seed 3", "--profile estimator, not with exhaustive"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(word), "{line}: {error}");
        }
    }

    #[test]
    fn k_goes_with_what_has_one() {
        let kind = |structure, k| SamplingArgs { structure: Some(structure), k: NonZeroU32::new(k), ..SamplingArgs::default() }.kind();
        assert_eq!(kind(StructureArg::Kccf, 3).ok(), NonZeroU32::new(3).map(StructureKind::Kccf));
        assert_eq!(kind(StructureArg::Ksf, 0).ok(), NonZeroU32::new(tuning::K).map(StructureKind::Ksf));
        assert_eq!(kind(StructureArg::Dcg, 0), Ok(StructureKind::Dcg));
        let limited = SamplingArgs { structure: Some(StructureArg::Dcg), max_nodes: Some(9), ..SamplingArgs::default() };
        assert!(limited.kind().is_err_and(|error| error.contains("--max-nodes goes with structures that keep contexts")));
        assert!(kind(StructureArg::Cct, 3).is_err_and(|error| error.contains("kccf")));
    }

    #[test]
    fn a_mode_is_called_what_it_was_called() {
        let sampling = SamplingArgs { profile: Some(ModeArg::Adaptive), samples: Some(3), ..SamplingArgs::default() };
        let error = sampling.parameters(Parameters::estimator()).expect_err("samples are of CBS");
        assert!(error.ends_with("goes with --profile cbs, not with adaptive"), "{error}");
    }
}
