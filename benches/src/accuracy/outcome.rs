//! What several seeds give together: mean and standard deviation; and the mean of that over traces.

use super::run::Accuracy;
use std::fmt;

/// Mean and standard deviation.
#[derive(Clone, Copy, Default, Debug)]
pub struct Mean {
    pub mean: f64,
    pub deviation: f64,
}

impl Mean {
    pub fn of(sample: &[f64]) -> Mean {
        let count = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / count;
        let squares: f64 = sample.iter().map(|x| (x - mean) * (x - mean)).sum();
        Mean { mean, deviation: if sample.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 } }
    }
}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ± {:.1}", self.mean, self.deviation)
    }
}

/// Of one sampler.
#[derive(Clone, Copy, Default, Debug)]
pub struct Outcome {
    pub cost: Mean,
    pub dcg: Mean,
    pub cct: Mean,
    pub hot: Mean,
    pub samples: Mean,
    pub disabled: Mean,
    pub sample_cost: Mean,
}

impl Outcome {
    /// Of the same sampler with several seeds.
    pub fn of(sample: &[Accuracy]) -> Outcome {
        let spread = |f: fn(&Accuracy) -> f64| Mean::of(&sample.iter().map(f).collect::<Vec<_>>());
        Outcome {
            cost: spread(|a| a.cost),
            dcg: spread(|a| a.dcg),
            cct: spread(|a| a.cct),
            hot: spread(|a| a.hot),
            samples: spread(|a| a.samples),
            disabled: spread(|a| a.disabled),
            sample_cost: spread(|a| a.sample_cost),
        }
    }

    /// Of the same sampler on several traces: the deviations are between traces.
    pub fn mean(traces: &[Outcome]) -> Outcome {
        let spread = |f: fn(&Outcome) -> f64| Mean::of(&traces.iter().map(f).collect::<Vec<_>>());
        Outcome {
            cost: spread(|o| o.cost.mean),
            dcg: spread(|o| o.dcg.mean),
            cct: spread(|o| o.cct.mean),
            hot: spread(|o| o.hot.mean),
            samples: spread(|o| o.samples.mean),
            disabled: spread(|o| o.disabled.mean),
            sample_cost: spread(|o| o.sample_cost.mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_by_hand() {
        assert_eq!(Mean::of(&[1.0, 3.0]).to_string(), "2.0 ± 1.4");
        assert_eq!(Mean::of(&[7.0]).to_string(), "7.0 ± 0.0");
    }
}
