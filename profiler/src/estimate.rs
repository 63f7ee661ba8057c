//! A weight as far as samples can tell: how much, of how many, and how sure.
//!
//! Samples of one tick (or burst) of one thread are not independent of each other and make one *stratum*; strata are taken to be independent. So the spread of a weight over the `n` strata, those in which its key was
//! not seen included, says how far the sum can be off. Strata may stand for unequal parts of the run (windows of live profiling do, by the time between them), of which a stratum contributes more the larger its part `t` is; that is no error,
//! since the sum of the parts is known. Where it is known how many calls there were, a stratum stands for all that it contributes: an error is then only whose calls these are. So with `y` what a stratum contributes, and `r` the sum of all `y` by that of all `t`, the sum's variance is estimated from residuals, as `n / (n - 1) * sum of (y - r t)²` (ratio estimation: W. Cochran,
//! "Sampling Techniques", chapter 6). Where all parts are alike, that is the spread about the mean. For a share `s` of the sum of all keys' contributions `x`, the same is done with `y - s x` (a ratio of two sums, to first order). What was
//! counted exactly has no error and adds none.
//!
//! In: for each key, its contribution to each stratum; what each stratum stands for. Out: [`Estimate`], and whether that is [hot](Heat).

/// What is known of one key's weight.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Estimate {
    /// In calls, if samples are weighted so that they stand for calls.
    pub weight: f64,
    /// Standard deviation of `weight`, in its unit: 0 if all is counted exactly, infinite if there was one stratum only.
    pub standard_error: f64,
    /// Of the total of all keys, 0 to 1.
    pub share: f64,
    /// Standard deviation of `share`: 0 if all is counted exactly, infinite if there was one stratum with calls only.
    pub share_error: f64,
    /// Calls that were seen.
    pub samples: u64,
    /// Strata that contributed to `weight`.
    pub strata: u64,
}

/// What samples can say about a key's being hot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heat {
    /// At or above the threshold.
    Hot,
    /// Below it.
    Cold,
    /// The threshold is within the error.
    Unknown,
}

impl Estimate {
    /// Whether the share is at least `threshold` (0 to 1), by at least `errors` standard errors (2: wrong in one of 40 cases).
    /// A key that samples saw in fewer than two strata is never hot: one observation has no spread.
    pub fn heat(&self, threshold: f64, errors: f64) -> Heat {
        let margin = errors * self.share_error;
        let is_seen_once = self.strata < 2 && self.standard_error > 0.0;
        if self.share - margin >= threshold && !is_seen_once {
            return Heat::Hot;
        }
        if self.share + margin < threshold { Heat::Cold } else { Heat::Unknown }
    }
}

/// What an estimate follows from: sums over strata of one key, or of all keys together.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Sums {
    exact: f64,
    sampled: f64,
    /// Of what each closed stratum contributed.
    squares: f64,
    /// Of that with what all keys together contributed.
    products: f64,
    /// Of that with what the stratum stands for.
    parts: f64,
    samples: u64,
    strata: u64,
}

/// All strata together, those without a call included.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Strata {
    count: u64,
    /// Of what each stands for.
    sum: f64,
    squares: f64,
}

impl Strata {
    /// One more.
    pub fn add(&mut self, stands_for: f64) {
        self.count += 1;
        self.sum += stands_for;
        self.squares += stands_for * stands_for;
    }

    pub fn merge(&mut self, other: &Strata) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Of a sum of what they contribute, from the sums of each contribution's square, and of its product with what its stratum stands for.
    pub fn standard_error(&self, sum: f64, squares: f64, parts: f64) -> f64 {
        if squares == 0.0 {
            return 0.0;
        }
        if self.count < 2 {
            return f64::INFINITY;
        }
        let n = self.count as f64;
        let rate = share(sum, self.sum);
        let residuals = squares - 2.0 * rate * parts + rate * rate * self.squares;
        (n / (n - 1.0) * rounded(residuals, squares)).sqrt()
    }
}

impl Sums {
    pub fn weight(&self) -> f64 {
        self.exact + self.sampled
    }

    /// Calls that were seen.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// A call that is counted exactly.
    pub fn count(&mut self, weight: f64) {
        self.exact += weight;
        self.samples += 1;
    }

    /// Calls that were sampled, of this weight together.
    pub fn observe(&mut self, weight: f64, samples: u64) {
        self.sampled += weight;
        self.samples += samples;
    }

    /// A stratum is over, to which this key contributed `y` in all and all keys `x`.
    pub fn close(&mut self, y: f64, x: f64, stands_for: f64) {
        self.squares += y * y;
        self.products += x * y;
        self.parts += stands_for * y;
        self.strata += u64::from(y != 0.0);
    }

    pub fn merge(&mut self, other: &Sums) {
        self.exact += other.exact;
        self.sampled += other.sampled;
        self.squares += other.squares;
        self.products += other.products;
        self.parts += other.parts;
        self.samples += other.samples;
        self.strata += other.strata;
    }

    /// Calls that were sampled, with sums over closed strata of the square of what each contributed, of its product with what all keys contributed, and with what the stratum stands for.
    pub fn of(sampled: f64, squares: f64, products: f64, parts: f64) -> Sums {
        Sums { sampled, squares, products, parts, ..Sums::default() }
    }

    /// `all`: of all keys together.
    pub fn estimate(&self, all: &Sums, strata: &Strata) -> Estimate {
        let share = share(self.weight(), all.weight());
        let squares = rounded(self.squares - 2.0 * share * self.products + share * share * all.squares, self.squares);
        // Those without a call say nothing of shares, and one alone has its own share exactly, whatever that is.
        let telling = Strata { count: all.strata, ..*strata };
        let is_known = all.squares == 0.0 || telling.count > 1;
        let of_known = || telling.standard_error(self.sampled - share * all.sampled, squares, self.parts - share * all.parts);
        let residuals = if is_known { of_known() } else { f64::INFINITY };
        Estimate {
            weight: self.weight(),
            standard_error: strata.standard_error(self.sampled, self.squares, self.parts),
            share,
            share_error: self::share(residuals, all.weight()),
            samples: self.samples,
            strata: self.strata,
        }
    }
}

/// What is left of a sum of squares: nothing, if rounding alone may have left it.
fn rounded(left: f64, of: f64) -> f64 {
    const ROUNDING: f64 = 1e-12;
    if left <= ROUNDING * of { 0.0 } else { left }
}

/// A part of a whole; 0 if there is none.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alike.
    fn strata(count: u64) -> Strata {
        let mut strata = Strata::default();
        (0..count).for_each(|_| strata.add(1.0));
        strata
    }

    #[test]
    fn heat_needs_the_errors_to_agree() {
        let estimate = |share, share_error| Estimate { share, share_error, strata: 9, ..Estimate::default() };
        assert_eq!(estimate(1.0, 0.0).heat(0.1, 2.0), Heat::Hot);
        assert_eq!(estimate(0.3, 0.05).heat(0.1, 2.0), Heat::Hot);
        assert_eq!(estimate(0.15, 0.05).heat(0.1, 2.0), Heat::Unknown);
        assert_eq!(estimate(0.05, 0.05).heat(0.1, 2.0), Heat::Unknown);
        assert_eq!(estimate(0.01, 0.02).heat(0.1, 2.0), Heat::Cold);
    }

    #[test]
    fn one_stratum_is_never_hot_and_an_exact_count_can_be() {
        let mut sums = Sums::default();
        sums.observe(8.0, 8);
        sums.close(8.0, 8.0, 1.0);
        let once = sums.estimate(&sums, &strata(1));
        assert_eq!((once.share, once.samples), (1.0, 8));
        assert_eq!((once.standard_error, once.share_error), (f64::INFINITY, f64::INFINITY));
        assert_eq!(once.heat(0.1, 2.0), Heat::Unknown);
        // A second stratum without a call says something of the weight, and nothing of the share.
        let twice = sums.estimate(&sums, &strata(2));
        assert!(twice.standard_error.is_finite() && twice.share_error.is_infinite(), "{twice:?}");
        assert_eq!(twice.heat(0.1, 2.0), Heat::Unknown);
        let mut exact = Sums::default();
        exact.count(8.0);
        assert_eq!(exact.estimate(&exact, &strata(0)).heat(0.1, 2.0), Heat::Hot);
    }

    #[test]
    fn exact_counts_take_from_the_error_of_a_share() {
        // Strata of 4, 0 and 2, of all keys 4, 2 and 6; and 12 calls of other keys that were counted.
        let (mut sums, mut all) = (Sums::default(), Sums::default());
        for (y, x) in [(4.0, 4.0), (0.0, 2.0), (2.0, 6.0)] {
            sums.observe(y, 1);
            sums.close(y, x, 1.0);
            all.observe(x, 2);
            all.close(x, x, 1.0);
        }
        all.count(12.0);
        let estimate = sums.estimate(&all, &strata(3));
        assert_eq!((estimate.weight, estimate.share, estimate.strata), (6.0, 0.25, 2));
        // y - x / 4: 3, -0.5, 0.5, of mean 1; squares about it 4 + 2.25 + 0.25; by a total of 24.
        assert!((estimate.share_error - (1.5f64 * 6.5).sqrt() / 24.0).abs() < 1e-12);
    }

    #[test]
    fn what_strata_stand_for_is_no_error() {
        // 3 a unit, but for 1 more in the first and 1 less in the second stratum.
        let (mut sums, mut strata) = (Sums::default(), Strata::default());
        for (y, stands_for) in [(4.0, 1.0), (5.0, 2.0), (30.0, 10.0)] {
            sums.observe(y, 1);
            sums.close(y, y, stands_for);
            strata.add(stands_for);
        }
        let estimate = sums.estimate(&sums, &strata);
        assert_eq!((estimate.weight, estimate.share_error), (39.0, 0.0));
        assert!((estimate.standard_error - (1.5f64 * 2.0).sqrt()).abs() < 1e-9, "{estimate:?}");
    }
}
