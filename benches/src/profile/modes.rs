//! Who is compared: the papers' samplers with the numbers of their papers, and our own; as arguments of `vm run`, with what the papers say of them.
//!
//! Sources of the numbers: PLDI'06 (Zhuang et al., adaptive bursting), TACO'15 (Lee, antibias weights).

use clap::ValueEnum;

/// In the order of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Mode {
    /// The call on top of the stack every 10 ms
    Stackwalk,
    /// CBS(1,1): plain timer sampling every 4 ms
    Timer,
    /// CBS(8,2)
    Cbs,
    /// CBS(8,2) with weights for call density
    CbsDensity,
    /// CBS(8,2) with weights for call density and latency
    CbsLatency,
    /// A burst of 0.2 ms every 10 ms
    Burst,
    /// Adaptive bursting of PLDI'06 without re-enablement
    Pldi,
    /// Adaptive bursting of PLDI'06, re-enable ratio 5 %
    PldiReenable,
    /// Our estimator, triggered by a timer
    EstimatorTimer,
    /// `--profile adaptive` as it is: our estimator, triggered by calls
    Adaptive,
}

impl Mode {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Mode::Stackwalk => "stack walk",
            Mode::Timer => "CBS(1,1)",
            Mode::Cbs => "CBS(8,2)",
            Mode::CbsDensity => "CBS(8,2), density",
            Mode::CbsLatency => "CBS(8,2), density and latency",
            Mode::Burst => "static bursts",
            Mode::Pldi => "adaptive bursts",
            Mode::PldiReenable => "adaptive bursts, RR 5 %",
            Mode::EstimatorTimer => "ours, timer of 0.2 ms",
            Mode::Adaptive => "**ours, `adaptive`**",
        }
    }

    /// Of `vm run`.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Mode::Stackwalk => &["--profile", "stackwalk"],
            Mode::Timer => &["--profile", "cbs", "--samples", "1", "--stride", "1"],
            Mode::Cbs => &["--profile", "cbs"],
            Mode::CbsDensity => &["--profile", "cbs", "--antibias", "density"],
            Mode::CbsLatency => &["--profile", "cbs", "--antibias", "latency"],
            Mode::Burst => &["--profile", "burst", "--burst", "0.2ms"],
            Mode::Pldi => &["--profile", "adaptive", "--burst", "0.2ms", "--reenable", "0"],
            Mode::PldiReenable => &["--profile", "adaptive", "--burst", "0.2ms", "--reenable", "0.05"],
            Mode::EstimatorTimer => &["--profile", "estimator", "--trigger", "timer"],
            Mode::Adaptive => &["--profile", "adaptive"],
        }
    }

    /// Weights are numbers of calls.
    pub fn counts_calls(self) -> bool {
        matches!(self, Mode::EstimatorTimer | Mode::Adaptive)
    }

    /// Accuracy and overhead in the paper that the mode comes from.
    pub fn paper(self) -> &'static str {
        match self {
            Mode::Stackwalk => "CCT of methods 49.8, hot 52.9; < 1 % (PLDI'06)",
            Mode::Timer => "DCG 48 (TACO'15)",
            Mode::Cbs => "DCG 61; 0.2 % above CBS(1,1) (TACO'15)",
            Mode::CbsDensity => "DCG 71 (TACO'15)",
            Mode::CbsLatency => "DCG 72; 0.2 % above CBS(1,1) (TACO'15)",
            Mode::Burst => "CCT of methods 91.4, hot 88.1; 117 % (PLDI'06)",
            Mode::Pldi => "CCT of methods 68.8, hot 79.1; 14.8 % (PLDI'06)",
            Mode::PldiReenable => "CCT of methods 85.2, hot 88.2; 18.8 % (PLDI'06)",
            Mode::EstimatorTimer | Mode::Adaptive => "–",
        }
    }
}
