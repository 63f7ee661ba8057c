//! Antibias weights: what a sample of a tick counts for, so that samples of busy and of idle times are worth what they stand for (TACO'15 section 3.2).
//!
//! In: the calls of a thread since its previous tick, and how long the sample came after its tick. Out: a weight; only ratios of weights mean something.
//! Counters that the processor keeps and counters in software serve alike.

use crate::tuning;

/// Which of the two biases is corrected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Correction {
    /// Every sample counts 1.
    Off,
    /// Samples of times with many calls count more.
    Density,
    /// And those that came late after their tick count less.
    DensityAndLatency,
}

/// The weight's formula with its constants.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Antibias {
    /// Which of the terms are used.
    pub correction: Correction,
    /// The sampling period in cycles that stands for a weight of one call per 1000 cycles.
    pub lambda: f64,
    /// What a cycle of latency counts against a cycle of the period.
    pub alpha: f64,
}

impl Antibias {
    /// No correction: each sample counts 1.
    pub const OFF: Antibias = Antibias::with(Correction::Off);

    /// The source's constants.
    pub const fn with(correction: Correction) -> Antibias {
        Antibias { correction, lambda: tuning::ANTIBIAS_LAMBDA, alpha: tuning::ANTIBIAS_ALPHA }
    }

    /// The weight of each sample of a tick: `calls / (λ/1000 + α/1000 · latency)`. `latency` in cycles from the tick to its first sample.
    pub fn weight(&self, calls: u64, latency: u64) -> f64 {
        let latency = match self.correction {
            Correction::Off => return 1.0,
            Correction::Density => 0.0,
            Correction::DensityAndLatency => latency as f64,
        };
        calls as f64 / (self.lambda / 1000.0 + self.alpha / 1000.0 * latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_the_source() {
        assert_eq!(Antibias::OFF.weight(500, 7), 1.0);
        // One call per 1000 cycles of the period and no latency is the unit.
        assert_eq!(Antibias::with(Correction::DensityAndLatency).weight(10_000, 0), 1.0);
        assert_eq!(Antibias::with(Correction::DensityAndLatency).weight(10_000, 30_000), 0.25);
        assert_eq!(Antibias::with(Correction::Density).weight(10_000, 30_000), 1.0);
        assert_eq!(Antibias::with(Correction::Density).weight(0, 30_000), 0.0);
    }
}
