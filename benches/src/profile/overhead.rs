//! What a profiler costs a program: time with it over time without, with a confidence interval.
//!
//! In: for each round the times of a program's iterations, unprofiled and profiled; both runs of a round stand next to each other, and do the same work iteration by iteration. Out: [`Overhead`].
//! The estimate is the median of the ratios of iterations with the same number, so that what disturbs single iterations on a shared machine does not count. The interval is a bootstrap's: rounds are drawn, and iterations
//! within them. With a single round it therefore tells how iterations scatter, not how processes do (whose memory lies elsewhere in each).

use profiler::samplers::Random;

/// Drawn samples behind an interval.
const DRAWS: usize = 1000;

/// In percent.
#[derive(Clone, Default, Debug)]
pub struct Overhead {
    pub estimate: f64,
    /// From a bootstrap; [`DRAWS`] of them.
    draws: Vec<f64>,
}

/// Ratios of a round.
type Round = Vec<f64>;

impl Overhead {
    /// Seconds of iterations by round: first without the profiler, then with it. There is a round, and each has an iteration.
    pub fn of(rounds: &[(Vec<f64>, Vec<f64>)]) -> Overhead {
        let ratios: Vec<Round> = rounds.iter().map(|(off, on)| off.iter().zip(on).map(|(off, on)| on / off).collect()).collect();
        let mut random = Random::new(1);
        let draws = (0..DRAWS).map(|_| percent(median(draw(&ratios, &mut random)))).collect();
        Overhead { estimate: percent(median(ratios.concat())), draws }
    }

    /// Of several programs, each with the same weight.
    pub fn mean<'a>(of: impl Iterator<Item = &'a Overhead> + Clone) -> Overhead {
        let count = of.clone().count() as f64;
        let mean = |value: &dyn Fn(&Overhead) -> f64| of.clone().map(value).sum::<f64>() / count;
        Overhead { estimate: mean(&|o| o.estimate), draws: (0..DRAWS).map(|i| mean(&|o| o.draws[i])).collect() }
    }

    /// The 95 % confidence interval.
    pub fn interval(&self) -> (f64, f64) {
        let mut sorted = self.draws.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| sorted[(part * (sorted.len() - 1) as f64).round() as usize];
        (at(0.025), at(0.975))
    }
}

/// With the interval, in percent.
impl std::fmt::Display for Overhead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (low, high) = self.interval();
        write!(f, "{:.2} ({low:.2} to {high:.2})", self.estimate)
    }
}

fn percent(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

/// As many rounds as there are, and of each as many iterations, any of them several times.
fn draw(rounds: &[Round], random: &mut Random) -> Vec<f64> {
    let mut drawn = Vec::new();
    for _ in rounds {
        let round = &rounds[random.below(rounds.len() as u64) as usize];
        drawn.extend(round.iter().map(|_| round[random.below(round.len() as u64) as usize]));
    }
    drawn
}

fn median(values: Vec<f64>) -> f64 {
    crate::stats::spread(values).median
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbed_iteration_does_not_count() {
        let off = vec![1.0, 2.0, 1.0, 4.0, 1.0];
        let mut on: Vec<f64> = off.iter().map(|seconds| seconds * 1.01).collect();
        on[3] = 100.0;
        let overhead = Overhead::of(&[(off, on)]);
        assert!((overhead.estimate - 1.0).abs() < 1e-9, "{overhead}");
        assert!((overhead.interval().0 - 1.0).abs() < 1e-9, "{overhead}");
    }

    #[test]
    fn intervals_hold_what_rounds_differ_by_and_means_are_narrower() {
        let round = |ratio: f64| (vec![1.0; 3], vec![ratio; 3]);
        let wide = Overhead::of(&[round(1.00), round(1.02), round(1.04)]);
        assert_eq!(format!("{wide}"), "2.00 (0.00 to 4.00)");
        let mean = Overhead::mean([&wide, &Overhead::of(&[round(1.0)])].into_iter());
        assert_eq!(format!("{mean}"), "1.00 (0.00 to 2.00)");
    }
}
