//! How two things compare that were measured side by side: a ratio with a confidence interval.
//!
//! In: pairs of times, each pair from one round, so that what disturbs a round disturbs both sides. Out: [`Ratio`]. The estimate is the 20 % trimmed mean of the pairs' logarithms, its error that of K. Yuen, "The Two-Sample Trimmed t for
//! Unequal Population Variances", Biometrika 61 (1974), for one sample: a few rounds that a shared machine has disturbed move neither much. With fewer than 5 pairs nothing is trimmed, and it is Student's interval.
//! Swapping the sides gives the reciprocal.

/// Part of the pairs that is left out at each end.
const TRIMMED: f64 = 0.2;

/// By how much rounding may take from degrees of freedom, as a part of them: whole ones would else lose a whole one.
const ROUNDING: f64 = 1e-9;

/// Of times, lengths, counts: numbers above 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// Natural logarithm of the estimate.
    log: f64,
    /// Standard error of it, squared.
    variance: f64,
    /// Degrees of freedom of the variance; below 1 there is none.
    freedom: f64,
}

impl Ratio {
    /// Of the first to the second of each pair. `None` without pairs, or where a number is not above 0 and finite.
    pub fn of(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Ratio> {
        let mut logs: Vec<f64> = pairs.into_iter().map(|(a, b)| a.ln() - b.ln()).collect();
        if logs.is_empty() || logs.iter().any(|log| !log.is_finite()) {
            return None;
        }
        logs.sort_by(f64::total_cmp);
        let trimmed = (TRIMMED * logs.len() as f64) as usize;
        let kept = &logs[trimmed..logs.len() - trimmed];
        let (low, high, count) = (kept[0], kept[kept.len() - 1], kept.len() as f64);
        // What is cut off counts like the last that is kept (winsorized).
        let winsorized: Vec<f64> = logs.iter().map(|log| log.clamp(low, high)).collect();
        let center = mean(&winsorized);
        let squares: f64 = winsorized.iter().map(|log| (log - center).powi(2)).sum();
        let freedom = count - 1.0;
        let variance = if freedom > 0.0 { squares / (count * freedom) } else { f64::INFINITY };
        Some(Ratio { log: mean(kept), variance, freedom })
    }

    /// The geometric mean of several, which were measured independently. The interval tells how sure the mean of these is, and nothing of others like them. `None` if there are none.
    pub fn mean(of: &[Ratio]) -> Option<Ratio> {
        if of.is_empty() {
            return None;
        }
        let count = of.len() as f64;
        let sum: f64 = of.iter().map(|r| r.variance).sum();
        // Welch and Satterthwaite. A mean of what does not vary is as sure as its surest part.
        let parts: f64 = of.iter().map(|r| r.variance.powi(2) / r.freedom).sum();
        let most = of.iter().map(|r| r.freedom).fold(0.0, f64::max);
        let known = of.iter().all(|r| r.freedom >= 1.0);
        let freedom = match (known, parts > 0.0) {
            (false, _) => 0.0,
            (true, true) => sum.powi(2) / parts * (1.0 + ROUNDING),
            (true, false) => most,
        };
        let variance = if known { sum / (count * count) } else { f64::INFINITY };
        Some(Ratio { log: of.iter().map(|r| r.log).sum::<f64>() / count, variance, freedom })
    }

    pub fn estimate(&self) -> f64 {
        self.log.exp()
    }

    /// 95 % confidence interval; `None` with a single pair.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let half = self.half_width()?;
        Some(((self.log - half).exp(), (self.log + half).exp()))
    }

    /// How far the interval reaches from the estimate, as a part of it: 0.01 is 1 % to both sides.
    pub fn precision(&self) -> Option<f64> {
        self.half_width().map(f64::exp_m1)
    }

    fn half_width(&self) -> Option<f64> {
        (self.freedom >= 1.0).then(|| student(self.freedom) * self.variance.sqrt())
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The quantile 0.975 of Student's distribution, for at least 1 degree of freedom (rounded down to whole ones, which is the safe side).
///
/// For 1 and 2 in closed form, else by the expansion around the normal quantile (M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 26.7.5), which is off by 0.1 % at 3 and less above.
fn student(freedom: f64) -> f64 {
    const Z: f64 = 1.959_963_984_540_054;
    match freedom.floor() {
        n if n <= 1.0 => (std::f64::consts::PI * 0.475).tan(),
        n if n <= 2.0 => 0.95 * (2.0 / (1.0 - 0.95f64.powi(2))).sqrt(),
        n => {
            let z = |power: i32| Z.powi(power);
            let terms = [
                (z(3) + z(1)) / 4.0,
                (5.0 * z(5) + 16.0 * z(3) + 3.0 * z(1)) / 96.0,
                (3.0 * z(7) + 19.0 * z(5) + 17.0 * z(3) - 15.0 * z(1)) / 384.0,
                (79.0 * z(9) + 776.0 * z(7) + 1482.0 * z(5) - 1920.0 * z(3) - 945.0 * z(1)) / 92_160.0,
            ];
            Z + terms.iter().zip(1..).map(|(term, power)| term / n.powi(power)).sum::<f64>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, within: f64) {
        assert!((a / b - 1.0).abs() < within, "{a} {b}");
    }

    #[test]
    fn students_quantiles_are_those_of_tables() {
        for (n, t) in [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (4.9, 2.776), (9.0, 2.262), (30.0, 2.042), (1e6, 1.960)] {
            close(student(n), t, 2e-3);
        }
    }

    #[test]
    fn few_pairs_have_students_interval() {
        // Logarithms 0, 0.1, 0.2, 0.3: mean 0.15, standard error 0.129099 / 2.
        let ratio = Ratio::of([0.0f64, 0.1, 0.2, 0.3].map(|log| (log.exp(), 1.0))).unwrap();
        close(ratio.estimate(), 0.15f64.exp(), 1e-12);
        let (low, high) = ratio.interval().unwrap();
        close(low, (0.15f64 - 3.182 * 0.064_549_7).exp(), 1e-3);
        close(high, (0.15f64 + 3.182 * 0.064_549_7).exp(), 1e-3);
        close(ratio.precision().unwrap(), high / ratio.estimate() - 1.0, 1e-9);
        assert_eq!(Ratio::of([(1.0, 2.0)]).unwrap().interval(), None, "one round says nothing of its error");
    }

    #[test]
    fn what_is_no_ratio_is_none() {
        assert_eq!(Ratio::of([]), None);
        assert_eq!(Ratio::of([(1.0, 1.0), (0.0, 1.0)]), None);
        assert_eq!(Ratio::of([(1.0, f64::NAN)]), None);
        assert_eq!(Ratio::mean(&[]), None);
    }

    #[test]
    fn sides_can_be_swapped() {
        let pairs = [(1.0, 2.0), (1.1, 1.9), (0.9, 2.2), (1.0, 2.1), (3.0, 2.0), (1.2, 2.3)];
        let there = Ratio::of(pairs).unwrap();
        let back = Ratio::of(pairs.map(|(a, b)| (b, a))).unwrap();
        close(there.estimate() * back.estimate(), 1.0, 1e-12);
        close(there.interval().unwrap().0 * back.interval().unwrap().1, 1.0, 1e-12);
    }

    #[test]
    fn a_disturbed_round_moves_little() {
        let quiet: Vec<(f64, f64)> = (0..10).map(|i| (1.2 + 0.001 * f64::from(i), 1.0)).collect();
        let mut disturbed = quiet.clone();
        disturbed[4].0 = 50.0;
        let (quiet, disturbed) = (Ratio::of(quiet).unwrap(), Ratio::of(disturbed).unwrap());
        close(quiet.estimate(), disturbed.estimate(), 2e-3);
        assert!(disturbed.precision().unwrap() < 0.01, "{disturbed:?}");
    }

    #[test]
    fn a_mean_is_surer_than_its_parts_and_unknown_with_an_unknown_part() {
        let noisy = |by: f64| Ratio::of((0..6).map(|i| ((by + 0.02 * f64::from(i % 3)).exp(), 1.0))).unwrap();
        let parts = [noisy(0.1), noisy(-0.1), noisy(0.3), noisy(0.2)];
        let mean = Ratio::mean(&parts).unwrap();
        close(mean.estimate(), parts.iter().map(Ratio::estimate).product::<f64>().powf(0.25), 1e-12);
        assert!(mean.precision() < parts[0].precision());
        close(Ratio::mean(&parts[..1]).unwrap().precision().unwrap(), parts[0].precision().unwrap(), 1e-9);
        let rounded = Ratio { log: 0.1, variance: 2.3814779299440825e-5, freedom: 7.0 };
        assert_eq!(Ratio::mean(&[rounded]).unwrap().interval(), rounded.interval());
        let single = Ratio::of([(2.0, 1.0)]).unwrap();
        assert_eq!(Ratio::mean(&[parts[0], single]).unwrap().interval(), None);
        let still = Ratio::of([(2.0, 1.0); 6]).unwrap();
        assert_eq!(Ratio::mean(&[still, still]).unwrap().precision(), Some(0.0));
    }

    /// Of noise as on a shared machine, where every tenth round is far off, intervals hold the truth as often as they say.
    #[test]
    fn intervals_hold_the_truth() {
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for rounds in [2, 4, 5, 6, 10, 20] {
            let mut held = 0;
            for _ in 0..4000 {
                let pairs: Vec<(f64, f64)> = (0..rounds)
                    .map(|_| {
                        let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                        let scale = if uniform() < 0.1 { 0.2 } else { 0.01 };
                        ((scale * normal).exp(), 1.0)
                    })
                    .collect();
                let (low, high) = Ratio::of(pairs).unwrap().interval().unwrap();
                held += u32::from((low..=high).contains(&1.0));
            }
            let share = f64::from(held) / 4000.0;
            assert!((0.93..=0.995).contains(&share), "{rounds} rounds: {share}");
        }
    }
}
