//! How near a decision was to the opposite one, and whether it was right.
//!
//! In: a policy, the facts of a decision, what was seen ([`Evidence`](super::Evidence)). Out: at which share it flips ([`flip_margin`]), how often profiles that could as well have been drawn decide the same ([`stability`]), and
//! what an exhaustive profile would have made of it ([`regret`]). All by asking the policy again, none by knowing its rules.

use super::policy::Policy;
use super::{CallSiteFacts, Seen, Verdict};
use crate::estimate::share;
use crate::samplers::Random;

/// Where a decision flips.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlipMargin {
    /// The least share of all calls (0 to 1) at which the call is inlined; below it, it is not.
    pub share: f64,
    /// From the call's own share to that, in standard errors of its share; infinite where it was counted exactly, `None` where the error is unknown.
    pub errors: Option<f64>,
}

/// The share at which the decision would flip, to the last bit; `None` if it is the same for all shares from 0 to 1.
pub fn flip_margin(policy: &dyn Policy, facts: &CallSiteFacts<'_>, seen: &Seen) -> Option<FlipMargin> {
    let is_inlined = |share: f64| policy.judge(facts, &seen.with_share(share)).verdict.is_inlined();
    if is_inlined(0.0) || !is_inlined(1.0) {
        return None;
    }
    // Floats that are not negative are in the order of their bits.
    let (mut below, mut from) = (0.0f64.to_bits(), 1.0f64.to_bits());
    while from - below > 1 {
        let middle = below + (from - below) / 2;
        let end = if is_inlined(f64::from_bits(middle)) { &mut from } else { &mut below };
        *end = middle;
    }
    let share = f64::from_bits(from);
    let errors = seen.share_error().map(|error| (seen.share() - share).abs() / error);
    Some(FlipMargin { share, errors: errors.filter(|errors| !errors.is_nan()) })
}

/// The part of so many resampled profiles (0 to 1) that decide as this one did. `None` where the numbers of samples are unknown, or nothing is resampled.
///
/// A bootstrap: samples of the callee, of the site's other calls and of all others are drawn again, each from a Poisson distribution around its number (which for the shares is the multinomial one). Samples that came in bursts and
/// are not independent count for fewer: for as many as would have the weight's standard error. A call that no sample has seen is in none of the drawn profiles either, whatever it may be worth; so there is an answer only if it is the same for
/// [`UNSEEN_AT_MOST`] samples. Exact profiles stay as they are.
pub fn stability(policy: &dyn Policy, facts: &CallSiteFacts<'_>, seen: &Seen, resamples: u32, seed: u64) -> Option<f64> {
    if resamples == 0 {
        return None;
    }
    if seen.error == Some(0.0) {
        return Some(1.0);
    }
    let (own, site, all) = (seen.samples?, seen.site_samples?, seen.total_samples?);
    let verdict = policy.judge(facts, seen).verdict.is_inlined();
    if seen.weight <= 0.0 {
        let most = seen.with_share((UNSEEN_AT_MOST / all as f64).min(1.0));
        return (policy.judge(facts, &most).verdict.is_inlined() == verdict).then_some(1.0);
    }
    // Of a copy's part of the samples there may be less than one.
    let own_samples = (own as f64).max(share(seen.weight, seen.total) * all as f64);
    let independent = match seen.error {
        Some(error) if error.is_finite() => (seen.weight / error).powi(2).min(own_samples),
        _ => own_samples,
    };
    let (at_site, elsewhere) = (site.saturating_sub(own) as f64, all.saturating_sub(site) as f64);
    let (site_weight, rest) = ((seen.site_weight - seen.weight).max(0.0), (seen.total - seen.site_weight).max(0.0));
    let mut random = Random::new(seed);
    let same = (0..resamples).filter(|_| {
        let weight = seen.weight * drawn(&mut random, independent);
        let site_weight = weight + site_weight * drawn(&mut random, at_site);
        let total = site_weight + rest * drawn(&mut random, elsewhere);
        policy.judge(facts, &Seen { weight, site_weight, total, ..*seen }).verdict.is_inlined() == verdict
    });
    Some(same.count() as f64 / f64::from(resamples))
}

/// Samples that a call may be worth of which none was seen: with more, none is seen in less than 5 % of all profiles (the rule of three, J. Hanley, A. Lippman-Hand 1983).
const UNSEEN_AT_MOST: f64 = 3.0;

/// A number drawn around so many samples, as a multiple of them; 1 where there are none.
fn drawn(random: &mut Random, samples: f64) -> f64 {
    if samples > 0.0 { poisson(random, samples) / samples } else { 1.0 }
}

/// From this mean on, the normal distribution with the same variance is taken: no quantile differs by more than a tenth of a standard deviation.
const NORMAL_FROM: f64 = 100.0;

/// By inversion: the smallest number whose probability together with all below it is above a random one.
fn poisson(random: &mut Random, mean: f64) -> f64 {
    if mean >= NORMAL_FROM {
        // G. Box, M. Muller 1958. The logarithm is of a number above 0 and at most 1.
        let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * random.unit()).cos();
        return (mean + mean.sqrt() * normal).round().max(0.0);
    }
    let at = random.unit();
    let (mut number, mut probability) = (0.0, (-mean).exp());
    let mut sum = probability;
    // Beyond this nothing is left but rounding errors of the sum.
    while sum <= at && number < 10.0 * NORMAL_FROM {
        number += 1.0;
        probability *= mean / number;
        sum += probability;
    }
    number
}

/// What an exhaustive profile would have made of a decision.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Regret {
    /// With the reason.
    pub verdict: Verdict,
    /// What the exhaustive profile says of the call.
    pub seen: Seen,
    /// The share that the decision went by, less the true one.
    pub share_error: f64,
    /// The true weight, in calls, of what was inlined and should not have been, or the other way round; 0 if the decision was right.
    pub calls: f64,
}

/// Compares a decision with the one that would have been made on the same facts by what an exhaustive profile says of the call, `exact`.
pub fn regret(policy: &dyn Policy, facts: &CallSiteFacts<'_>, seen: &Seen, exact: Seen) -> Regret {
    let verdict = policy.judge(facts, &exact).verdict;
    let is_same = policy.judge(facts, seen).verdict.is_inlined() == verdict.is_inlined();
    let calls = if is_same { 0.0 } else { exact.weight };
    Regret { verdict, seen: exact, share_error: seen.share() - exact.share(), calls }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_numbers_have_mean_and_variance_of_their_distribution() {
        for mean in [0.3, 4.0, 99.0, 101.0, 5_000.0] {
            let mut random = Random::new(3);
            let numbers: Vec<f64> = (0..20_000).map(|_| poisson(&mut random, mean)).collect();
            let count = numbers.len() as f64;
            let average = numbers.iter().sum::<f64>() / count;
            let variance = numbers.iter().map(|number| (number - average).powi(2)).sum::<f64>() / count;
            // Six standard deviations of the average, and of the variance (which is wider for small means).
            assert!((average - mean).abs() < 6.0 * (mean / count).sqrt(), "{mean}: {average}");
            assert!((variance - mean).abs() < 6.0 * ((2.0 * mean * mean + mean) / count).sqrt(), "{mean}: {variance}");
            assert!(numbers.iter().all(|number| *number >= 0.0 && number.fract() == 0.0));
        }
    }
}
