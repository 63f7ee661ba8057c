//! What a profiler costs a program: time with it over time without, with a confidence interval.
//!
//! In: for each round the times of a program's iterations, unprofiled and profiled; both runs of a round take turns, and do the same work iteration by iteration. Out: [`Overhead`].
//! A round counts as the median of the ratios of iterations with the same number, so that what disturbs single iterations on a shared machine does not count. Iterations of one process are alike in what processes differ by (their memory
//! lies elsewhere in each), so the interval is of the rounds ([`Ratio`]): with a single one there is none, and with two or three it is wide.

use measure::ratio::Ratio;

/// With the profiler over without it.
#[derive(Clone, Copy, Debug)]
pub struct Overhead(Ratio);

impl Overhead {
    /// Seconds of iterations by round: first without the profiler, then with it. `None` if there is no round, or no time in one.
    pub fn of(rounds: &[(Vec<f64>, Vec<f64>)]) -> Option<Overhead> {
        let ratio = |(off, on): &(Vec<f64>, Vec<f64>)| {
            let ratios: Vec<f64> = off.iter().zip(on).map(|(off, on)| on / off).collect();
            (!ratios.is_empty()).then(|| (crate::stats::spread(ratios).median, 1.0))
        };
        let rounds: Option<Vec<(f64, f64)>> = rounds.iter().map(ratio).collect();
        Ratio::of(rounds?).map(Overhead)
    }

    /// Of several programs, each with the same weight. `None` if there are none.
    pub fn mean(of: impl Iterator<Item = Overhead>) -> Option<Overhead> {
        Ratio::mean(&of.map(|overhead| overhead.0).collect::<Vec<_>>()).map(Overhead)
    }

    /// In percent.
    pub fn estimate(&self) -> f64 {
        percent(self.0.estimate())
    }

    /// The 95 % confidence interval, in percent; `None` of a single round.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.0.interval().map(|(low, high)| (percent(low), percent(high)))
    }
}

/// With the interval, in percent.
impl std::fmt::Display for Overhead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2}", self.estimate())?;
        self.interval().map_or(Ok(()), |(low, high)| write!(f, " ({low:.2} to {high:.2})"))
    }
}

fn percent(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbed_iteration_does_not_count() {
        let off = vec![1.0, 2.0, 1.0, 4.0, 1.0];
        let mut on: Vec<f64> = off.iter().map(|seconds| seconds * 1.01).collect();
        on[3] = 100.0;
        let overhead = Overhead::of(&[(off, on)]).unwrap();
        assert_eq!(format!("{overhead}"), "1.00", "one process says nothing of others");
    }

    #[test]
    fn intervals_are_of_rounds_and_means_are_narrower() {
        let round = |ratio: f64| (vec![1.0; 3], vec![ratio; 3]);
        // Student's intervals: 4.303 standard errors of 0.01 / √3, and of the mean of four 2.306 (8 degrees of freedom) of half as much.
        let wide = Overhead::of(&[round(1.00), round(1.01), round(1.02)]).unwrap();
        assert_eq!(format!("{wide}"), "1.00 (-1.46 to 3.51)");
        let mean = Overhead::mean([wide; 4].into_iter()).unwrap();
        assert_eq!(format!("{mean}"), "1.00 (0.33 to 1.66)");
        assert!(Overhead::of(&[]).is_none() && Overhead::mean(std::iter::empty()).is_none());
    }
}
