//! A benchmark sample at a length that is worth profiling, and its exact profile.
//!
//! Length is given by `--repeat`: the sample does its work so many times over, and the run's statistics say how long each took, so that start-up and compiling count for nothing in overheads. What is compared runs in turns of [`SLICE`].
//! Exact profiles take tens of times as long as the run they are of, so they are of one iteration: overlap compares shares, and all iterations have the same. They lie in `target/profiles/`, as does the time that an iteration takes,
//! under a name that says what they are of, the `vm` and the sample's text included, and are made once.

use crate::process;
use crate::suite::Benchmark;
use measure::clock::Slices;
use profiler::export;
use profiler::profile::Profile;
use serde_json::Value;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How code is compiled; the same for all that is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Tier {
    Baseline,
    /// With probes in inlined functions wherever something is profiled
    Opt,
    /// Against exact profiles of the baseline tier, which makes the same calls
    Adaptive,
}

impl Tier {
    pub fn name(self) -> &'static str {
        match self {
            Tier::Baseline => "baseline",
            Tier::Opt => "opt",
            Tier::Adaptive => "adaptive",
        }
    }

    /// On which exact profiles are made.
    pub fn exact(self) -> Tier {
        match self {
            Tier::Adaptive => Tier::Baseline,
            tier => tier,
        }
    }

    /// Of a run with `--profile MODE`.
    pub fn profiled(self) -> &'static [&'static str] {
        match self {
            Tier::Baseline => &["--tier", "baseline"],
            Tier::Opt => &["--tier", "opt", "--profile-inlined"],
            Tier::Adaptive => &["--tier", "adaptive"],
        }
    }
}

/// A sample, a tier, and how many iterations take the time asked for.
pub struct Subject<'a> {
    pub benchmark: &'a Benchmark,
    pub tier: Tier,
    pub iterations: u32,
    /// Seconds of an iteration without profiling.
    iteration: f64,
    /// Of the `vm`, the sample and its arguments.
    hash: u64,
}

/// A profiled run.
pub struct Profiled {
    /// Of its iterations.
    pub seconds: Vec<f64>,
    pub profile: Profile,
}

impl<'a> Subject<'a> {
    /// Finds out how long an iteration takes, unless that is known.
    pub fn new(benchmark: &'a Benchmark, tier: Tier, seconds: f64, again: bool) -> Result<Subject<'a>, String> {
        let mut hasher = DefaultHasher::new();
        for file in [process::vm()?, benchmark.path()] {
            fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?.hash(&mut hasher);
        }
        benchmark.args.hash(&mut hasher);
        let mut subject = Subject { benchmark, tier, iterations: CALIBRATION, iteration: 0.0, hash: hasher.finish() };
        let known = subject.file("iteration")?;
        subject.iteration = match fs::read_to_string(&known).ok().and_then(|text| text.parse::<f64>().ok()).filter(|_| !again) {
            Some(iteration) => iteration,
            None => {
                let shortest = subject.run(&[subject.unprofiled()])?.concat().into_iter().fold(f64::INFINITY, f64::min);
                fs::write(&known, shortest.to_string()).map_err(|e| format!("{}: {e}", known.display()))?;
                shortest
            }
        };
        Ok(subject.lasting(seconds))
    }

    /// The same for about so long, at least one iteration.
    pub fn lasting(&self, seconds: f64) -> Subject<'a> {
        Subject { iterations: (seconds / self.iteration).ceil().max(1.0) as u32, ..*self }
    }

    /// Where something about this subject is kept.
    fn file(&self, what: &str) -> Result<PathBuf, String> {
        let target = process::vm()?.ancestors().nth(2).map(PathBuf::from).ok_or("the vm is not in a target folder")?;
        let folder = target.join("profiles");
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(folder.join(format!("{}-{}-{:016x}.{what}", self.benchmark.name, self.tier.name(), self.hash)))
    }

    /// A run without profiling and one in each of these modes (flags of `vm run`), in turns: seconds of the iterations of the first, and the others.
    pub fn round(&self, modes: &[Vec<&str>], seed: u32) -> Result<(Vec<f64>, Vec<Profiled>), String> {
        let (outs, seed) = (self.temporaries("json", modes.len())?, seed.to_string());
        let names: Vec<_> = outs.iter().map(|out| out.to_string_lossy()).collect();
        let mut flags = vec![self.unprofiled()];
        flags.extend(
            modes.iter().zip(&names).map(|(mode, out)| [self.tier.profiled(), mode, &["--seed", &seed, "--profile-out", out]].concat()),
        );
        let seconds = self.run(&flags);
        let profiles: Vec<_> = outs.iter().map(|out| export::read(out).map_err(|error| error.to_string())).collect();
        outs.iter().for_each(|out| _ = fs::remove_file(out));
        let mut seconds = seconds?.into_iter();
        let unprofiled = seconds.next().ok_or("no run without profiling")?;
        let profiled = seconds.zip(profiles).map(|(seconds, profile)| Ok(Profiled { seconds, profile: profile? }));
        Ok((unprofiled, profiled.collect::<Result<_, String>>()?))
    }

    /// What really happened, in one iteration: the others do the same.
    pub fn exact(&self, again: bool) -> Result<Profile, String> {
        let once = Subject { iterations: 1, tier: self.tier.exact(), ..*self };
        let kept = once.file("exact.json")?;
        if again || !kept.exists() {
            let unfinished = once.file("unfinished.json")?;
            once.run(&[[once.tier.profiled(), &["--profile", "exhaustive", "--profile-out", &unfinished.to_string_lossy()]].concat()])?;
            fs::rename(&unfinished, &kept).map_err(|e| format!("{}: {e}", kept.display()))?;
        }
        export::read(&kept).map_err(|error| error.to_string())
    }

    /// Flags of a run without profiling.
    fn unprofiled(&self) -> Vec<&'static str> {
        vec!["--tier", self.tier.name(), "--profile", "off"]
    }

    /// Files for so many runs of this process.
    fn temporaries(&self, what: &str, count: usize) -> Result<Vec<PathBuf>, String> {
        (0..count).map(|at| self.file(&format!("{}-{at}.{what}", std::process::id()))).collect()
    }

    /// Runs with these flags, in turns: seconds of each one's iterations.
    fn run(&self, flags: &[Vec<&str>]) -> Result<Vec<Vec<f64>>, String> {
        let outs = self.temporaries("stats", flags.len())?;
        let commands = flags.iter().zip(&outs).map(|(flags, out)| self.command(flags, out));
        let mut commands = commands.collect::<Result<Vec<_>, _>>()?;
        let runs = process::run_in_turns(&mut commands, SLICE);
        let stats: Vec<_> = outs.iter().map(|out| fs::read_to_string(out).map_err(|e| format!("{}: {e}", out.display()))).collect();
        outs.iter().for_each(|out| _ = fs::remove_file(out));
        let seconds = runs?.iter().zip(stats).map(|((_, own), stats)| seconds(&stats?, own)).collect::<Result<Vec<_>, _>>();
        seconds.map_err(|e| format!("{}: {e}", self.benchmark.name))
    }

    fn command(&self, flags: &[&str], stats: &Path) -> Result<Command, String> {
        let (count, stats) = (self.iterations.to_string(), stats.to_string_lossy());
        self.benchmark.command(&[flags, &["--repeat", &count, "--stats-out", &stats]].concat())
    }
}

/// Of each iteration that the statistics of a run tell of, what was its own turn.
fn seconds(stats: &str, own: &Slices) -> Result<Vec<f64>, String> {
    let stats: Value = serde_json::from_str(stats).map_err(|e| format!("statistics: {e}"))?;
    let iterations = stats["iterations"].as_array().ok_or("the statistics have no iterations")?;
    let number = |iteration: &Value, name: &str| iteration[name].as_u64().ok_or_else(|| format!("the statistics have no {name}"));
    let time = |iteration| {
        let (begun, lasts) = (number(iteration, "begun_ns")?, number(iteration, "wall_ns")?);
        // A clock that did not advance would make a ratio infinite.
        Ok(own.within(begun..begun + lasts).as_secs_f64().max(1e-9))
    };
    iterations.iter().map(time).collect()
}

/// Longer than what a program needs to fill the caches again, and shorter than the times in which the machine is slower or faster.
const SLICE: Duration = Duration::from_millis(50);
/// Iterations that are run to see how long one takes.
const CALIBRATION: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_takes_what_was_its_own_turn() {
        let mut own = Slices::default();
        [1_000_000_000..1_500_000_000, 2_000_000_000..2_250_000_000].into_iter().for_each(|slice| own.push(slice));
        let stats = r#"{"iterations": [{"begun_ns": 1200000000, "wall_ns": 900000000}, {"begun_ns": 2100000000, "wall_ns": 100000000}]}"#;
        assert_eq!(seconds(stats, &own), Ok(vec![0.4, 0.1]));
        assert!(seconds(r#"{"iterations": [{"wall_ns": 5}]}"#, &own).is_err() && seconds("{}", &own).is_err());
    }
}
