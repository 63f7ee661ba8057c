//! How near to the truth a profile can be expected to come by so many observations: what a sampler is up against, whoever it is.
//!
//! In: exact weights. Out: the degree of overlap to be expected of a profile in which each observation is of a call chosen at random and independently of all others. Calls that are observed together, as in bursts, tell less than as many apart.
//!
//! A key of share p is observed X times among n, and Σ min(X/n, p) is the overlap. X is taken to be a Poisson variable of mean m = n·p, whose mean absolute deviation is 2·exp(-m)·m^(⌊m⌋+1)/⌊m⌋! (E. L. Crow, 1958); E min(X, m) is m less half of it.

/// Numbers of observations that are told apart lie between these.
const LEAST: f64 = 1e-3;
const MOST: f64 = 1e15;

/// The parts that keys have of a total: how many keys have each.
pub struct Shares(Vec<(f64, f64)>);

impl Shares {
    /// Weights that are not above 0 do not count.
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Shares {
        let mut weights: Vec<f64> = weights.into_iter().filter(|&weight| weight > 0.0).collect();
        weights.sort_unstable_by(f64::total_cmp);
        let total: f64 = weights.iter().sum();
        Shares(weights.chunk_by(|a, b| a == b).map(|alike| (alike[0] / total, alike.len() as f64)).collect())
    }

    /// Degree of overlap, in percent, to be expected after so many observations (which need not be a whole number); 100 if there is no weight at all.
    pub fn overlap(&self, observations: f64) -> f64 {
        let missed: f64 = self.0.iter().map(|&(share, keys)| keys * share * missed(observations * share)).sum();
        100.0 * (1.0 - missed)
    }

    /// How many observations are needed for this overlap in percent, to a thousandth. Infinite where more than 10^15 are.
    pub fn needed(&self, overlap: f64) -> f64 {
        if self.overlap(MOST) < overlap {
            return f64::INFINITY;
        }
        let (mut least, mut most) = (LEAST, MOST);
        while most > 1.001 * least {
            let middle = f64::sqrt(least * most);
            *(if self.overlap(middle) < overlap { &mut least } else { &mut most }) = middle;
        }
        most
    }
}

/// The part of a key's share that is expected to be missed if it is observed `mean` times in the mean.
fn missed(mean: f64) -> f64 {
    if mean <= 0.0 {
        return 1.0;
    }
    let whole = mean.floor();
    (whole * mean.ln() - mean - ln_factorial(whole)).exp()
}

/// Stirling's series, to better than 0.001.
fn ln_factorial(n: f64) -> f64 {
    if n < 1.0 {
        return 0.0;
    }
    n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln() + 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Comparison;
    use crate::samplers::Random;

    #[test]
    fn it_is_what_random_observations_come_to() {
        let weights: Vec<f64> = (0..200).map(|key| 1.0 + f64::from(key % 7) * f64::from(key)).collect();
        let total: f64 = weights.iter().sum();
        let mut random = Random::stream(1, 2);
        for observations in [50u64, 1_000, 20_000] {
            let mean = (0..20).map(|_| observed(&weights, total, observations, &mut random)).sum::<f64>() / 20.0;
            let expected = Shares::new(weights.iter().copied()).overlap(observations as f64);
            assert!((mean - expected).abs() < 0.7, "{observations}: {mean} {expected}");
        }
    }

    fn observed(weights: &[f64], total: f64, observations: u64, random: &mut Random) -> f64 {
        let mut seen = vec![0.0; weights.len()];
        for _ in 0..observations {
            let mut at = random.below(total as u64) as f64;
            let key = weights.iter().position(|&weight| {
                at -= weight;
                at < 0.0
            });
            seen[key.expect("below the total")] += 1.0;
        }
        let keyed = |weights: &[f64]| weights.iter().copied().enumerate().collect::<Vec<_>>();
        Comparison::new(keyed(&seen), keyed(weights)).overlap()
    }

    #[test]
    fn as_many_as_are_needed_suffice() {
        let shares = Shares::new((1..=1000).map(f64::from));
        for percent in [10.0, 75.0, 99.0] {
            let needed = shares.needed(percent);
            let reached = [0.99, 1.01].map(|part| shares.overlap(needed * part));
            assert!(reached[0] < percent && percent < reached[1], "{percent}: {needed} {reached:?}");
        }
        assert_eq!(shares.needed(100.0), f64::INFINITY);
        assert!(Shares::new([]).overlap(5.0) == 100.0 && Shares::new([0.0, 3.0]).overlap(1e9) > 99.99, "what has no weight is not missed");
    }
}
