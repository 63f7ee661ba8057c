//! Who is compared: the papers' samplers with the numbers of their papers, and our estimator.

use profiler::samplers::{Antibias, Correction, Length, Mode, Parameters, Trigger};
use profiler::tuning;

/// A sampler of the papers. The order is that of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paper {
    StackWalk,
    Adaptive,
    AdaptiveReEnable,
    Static,
    Timer,
    Cbs,
    CbsDensity,
    CbsLatency,
}

impl Paper {
    pub const ALL: [Paper; 8] = [
        Paper::StackWalk,
        Paper::Adaptive,
        Paper::AdaptiveReEnable,
        Paper::Static,
        Paper::Timer,
        Paper::Cbs,
        Paper::CbsDensity,
        Paper::CbsLatency,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Paper::StackWalk => "stack walk",
            Paper::Adaptive => "adaptive",
            Paper::AdaptiveReEnable => "adaptive, RR 5 %",
            Paper::Static => "static bursts",
            Paper::Timer => "CBS(1,1)",
            Paper::Cbs => "CBS(8,2)",
            Paper::CbsDensity => "CBS(8,2), density",
            Paper::CbsLatency => "CBS(8,2), density and latency",
        }
    }

    pub fn parameters(self) -> Parameters {
        let adaptive = |re_enable| Mode::AdaptiveBursting { length: Length::SOURCE, history: tuning::HISTORY_ENTRIES, re_enable };
        let cbs = |correction| Parameters::cbs(tuning::CBS_SAMPLES, tuning::CBS_STRIDE, Antibias::with(correction));
        match self {
            Paper::StackWalk => Parameters::stack_walk(),
            Paper::Adaptive => Parameters::new(adaptive(None)),
            Paper::AdaptiveReEnable => Parameters::new(adaptive(Some(tuning::RE_ENABLE_RATIO))),
            Paper::Static => Parameters::new(Mode::StaticBursting { length: Length::SOURCE }),
            Paper::Timer => Parameters::cbs(1, 1, Antibias::OFF),
            Paper::Cbs => cbs(Correction::Off),
            Paper::CbsDensity => cbs(Correction::Density),
            Paper::CbsLatency => cbs(Correction::DensityAndLatency),
        }
    }
}

/// Ours, with so many calls from burst to burst in the mean.
pub fn estimator(mean: u64) -> Parameters {
    let burst = tuning::ESTIMATOR_BURST;
    Parameters::new(Mode::Estimator { trigger: Trigger::Calls { mean: mean.max(2 * u64::from(burst)) }, burst })
}
