//! A benchmark sample at a length that is worth profiling, and its exact profile.
//!
//! Length is given by `--iterations`: the sample does its work so many times over and says how long each took, so that start-up and compiling count for nothing in overheads.
//! Exact profiles take tens of times as long as the run they are of, so they are of one iteration: overlap compares shares, and all iterations have the same. They lie in `target/profiles/`, as does the time that an iteration takes,
//! under a name that says what they are of, the `vm` and the sample's text included, and are made once.

use crate::iterations;
use crate::process;
use crate::suite::Benchmark;
use profiler::export;
use profiler::profile::Profile;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

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
    /// Of the `vm` and the sample.
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
        let mut subject = Subject { benchmark, tier, iterations: CALIBRATION, iteration: 0.0, hash: hasher.finish() };
        let known = subject.file("iteration")?;
        subject.iteration = match fs::read_to_string(&known).ok().and_then(|text| text.parse::<f64>().ok()).filter(|_| !again) {
            Some(iteration) => iteration,
            None => {
                let shortest = subject.unprofiled()?.into_iter().fold(f64::INFINITY, f64::min);
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

    /// Seconds of the iterations of a run without profiling.
    pub fn unprofiled(&self) -> Result<Vec<f64>, String> {
        self.run(&["--tier", self.tier.name(), "--profile", "off"])
    }

    /// A run with these flags, which name a mode.
    pub fn profiled(&self, flags: &[&str], seed: u32) -> Result<Profiled, String> {
        let seed = seed.to_string();
        let out = self.file(&format!("{}.json", std::process::id()))?;
        let seconds = self.run(&[self.tier.profiled(), flags, &["--seed", &seed, "--profile-out", &out.to_string_lossy()]].concat())?;
        let profile = export::read(&out).map_err(|error| error.to_string());
        _ = fs::remove_file(&out);
        Ok(Profiled { seconds, profile: profile? })
    }

    /// What really happened, in one iteration: the others do the same.
    pub fn exact(&self, again: bool) -> Result<Profile, String> {
        let once = Subject { iterations: 1, tier: self.tier.exact(), ..*self };
        let kept = once.file("exact.json")?;
        if again || !kept.exists() {
            let unfinished = once.file("unfinished.json")?;
            once.run(&[once.tier.profiled(), &["--profile", "exhaustive", "--profile-out", &unfinished.to_string_lossy()]].concat())?;
            fs::rename(&unfinished, &kept).map_err(|e| format!("{}: {e}", kept.display()))?;
        }
        export::read(&kept).map_err(|error| error.to_string())
    }

    fn run(&self, flags: &[&str]) -> Result<Vec<f64>, String> {
        let run = process::run(self.benchmark.command(flags)?.args(["--iterations", &self.iterations.to_string()]))?;
        iterations::nanoseconds(&run.stderr, self.iterations)
            .map(|nanoseconds| nanoseconds.iter().map(|t| t / 1e9).collect())
            .map_err(|e| format!("{}: {e}", self.benchmark.name))
    }
}

/// Iterations that are run to see how long one takes.
const CALIBRATION: u32 = 3;
