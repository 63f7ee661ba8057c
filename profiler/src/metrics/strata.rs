//! How sure a profile is of each weight: standard errors from strata.
//!
//! Samples of one tick (or burst) of one thread are not independent of each other and make one stratum; strata are. So the spread of an edge's weight over
//! strata, those in which it was not seen included, says how far the sum can be off.
//!
//! In: weights by key, stratum by stratum. Out: for each key its weight and share, with standard errors and the number of samples; whether it is hot.
//! Invariant: the samples of a stratum come one after another; where another thread's come between, the stratum counts as two.

use crate::ids::ThreadId;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// What samples say of one key.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Estimate {
    /// In calls, where weights are.
    pub weight: f64,
    /// Standard error of the weight, in the same unit.
    pub error: f64,
    /// Of the total of all keys, 0 to 1.
    pub share: f64,
    /// Standard error of the share.
    pub share_error: f64,
    /// Calls recorded.
    pub samples: u64,
    /// Strata in which it was seen.
    pub strata: u64,
}

/// What samples can say about an edge's being hot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heat {
    Hot,
    Cold,
    /// The threshold is within the error.
    Unknown,
}

impl Estimate {
    /// Whether the share is at least `threshold` (0 to 1), by at least `errors` standard errors (2: wrong in one of 40 cases).
    /// A key seen in fewer than two strata is never hot: one sample has no spread.
    pub fn heat(&self, threshold: f64, errors: f64) -> Heat {
        let margin = errors * self.share_error;
        if self.share - margin >= threshold && self.strata > 1 {
            return Heat::Hot;
        }
        if self.share + margin < threshold { Heat::Cold } else { Heat::Unknown }
    }
}

/// Sums over strata of one key: its weight y, and that of all keys x.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    y: f64,
    yy: f64,
    xy: f64,
    samples: u64,
    strata: u64,
}

/// Weights by key, with what is needed for their errors.
#[derive(Clone, Debug)]
pub struct Strata<K> {
    sums: FxHashMap<K, Sums>,
    /// The stratum that samples are being added to.
    open: Option<(ThreadId, u64)>,
    /// Its weights.
    now: FxHashMap<K, (f64, u64)>,
    strata: u64,
    x: f64,
    xx: f64,
}

impl<K: Eq + Hash + Clone> Default for Strata<K> {
    fn default() -> Strata<K> {
        Strata { sums: FxHashMap::default(), open: None, now: FxHashMap::default(), strata: 0, x: 0.0, xx: 0.0 }
    }
}

impl<K: Eq + Hash + Clone> Strata<K> {
    /// A recorded call of this weight, in the thread's stratum of this number ([`Sample::tick`](crate::sample::Sample::tick)).
    pub fn add(&mut self, thread: ThreadId, tick: u64, key: K, weight: f64) {
        if self.open != Some((thread, tick)) {
            self.close();
            self.open = Some((thread, tick));
        }
        let entry = self.now.entry(key).or_default();
        entry.0 += weight;
        entry.1 += 1;
    }

    /// Ends the open stratum. Must come before estimates are asked for; adding goes on after it.
    pub fn close(&mut self) {
        if self.open.take().is_none() {
            return;
        }
        // In a fixed order of weights, for sums do not depend on the table's order then.
        let mut weights: Vec<f64> = self.now.values().map(|entry| entry.0).collect();
        weights.sort_unstable_by(f64::total_cmp);
        let x: f64 = weights.iter().sum();
        self.strata += 1;
        self.x += x;
        self.xx += x * x;
        for (key, (y, samples)) in self.now.drain() {
            let sums = self.sums.entry(key).or_default();
            sums.y += y;
            sums.yy += y * y;
            sums.xy += x * y;
            sums.samples += samples;
            sums.strata += 1;
        }
    }

    /// Strata that are closed.
    pub fn strata(&self) -> u64 {
        self.strata
    }

    /// The weight of all keys.
    pub fn total(&self) -> f64 {
        self.x
    }

    /// What is known of the key; all zeros for one that was never seen.
    pub fn estimate(&self, key: &K) -> Estimate {
        self.sums.get(key).map_or(Estimate::default(), |sums| self.of(sums))
    }

    /// Every key seen, in no order.
    pub fn estimates(&self) -> impl Iterator<Item = (&K, Estimate)> {
        self.sums.iter().map(|(key, sums)| (key, self.of(sums)))
    }

    /// The variance of a sum of n independent terms is n / (n - 1) times that of the terms about their mean, summed. For the share, terms are
    /// y - share · x (a ratio of two sums, to first order).
    fn of(&self, sums: &Sums) -> Estimate {
        let n = self.strata as f64;
        let share = if self.x > 0.0 { sums.y / self.x } else { 0.0 };
        let seen = Estimate { weight: sums.y, share, samples: sums.samples, strata: sums.strata, ..Estimate::default() };
        if self.strata < 2 {
            return seen;
        }
        let correct = n / (n - 1.0);
        let spread = (sums.yy - sums.y * sums.y / n).max(0.0) * correct;
        let about_share = (sums.yy - 2.0 * share * sums.xy + share * share * self.xx).max(0.0) * correct;
        let share_error = if self.x > 0.0 { about_share.sqrt() / self.x } else { 0.0 };
        Estimate { error: spread.sqrt(), share_error, ..seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::Random;
    use cranelift_entity::EntityRef;

    fn thread(index: usize) -> ThreadId {
        ThreadId::new(index)
    }

    #[test]
    fn errors_by_hand() {
        // Three strata: a has weights 3, 0, 6 and b has 1, 2, 0.
        let mut strata = Strata::default();
        strata.add(thread(0), 1, 'a', 1.0);
        strata.add(thread(0), 1, 'b', 1.0);
        strata.add(thread(0), 1, 'a', 2.0);
        strata.add(thread(0), 2, 'b', 2.0);
        strata.add(thread(1), 2, 'a', 6.0);
        strata.close();
        assert_eq!((strata.strata(), strata.total()), (3, 12.0));
        let a = strata.estimate(&'a');
        assert_eq!((a.weight, a.samples, a.strata, a.share), (9.0, 3, 2, 0.75));
        // Mean 3, deviations 0, -3, 3: 18 · 3/2 = 27.
        assert!((a.error - 27f64.sqrt()).abs() < 1e-12);
        // y - 0.75 x with x = 4, 2, 6: 0, -1.5, 1.5: 4.5 · 3/2 = 6.75, by a total of 12.
        assert!((a.share_error - 6.75f64.sqrt() / 12.0).abs() < 1e-12);
        assert_eq!(strata.estimate(&'c'), Estimate::default());
    }

    #[test]
    fn one_stratum_has_no_error_and_is_not_called_hot() {
        let mut strata = Strata::default();
        (0..8).for_each(|_| strata.add(thread(0), 0, 'a', 1.0));
        strata.close();
        strata.close();
        let estimate = strata.estimate(&'a');
        assert_eq!((estimate.share, estimate.samples, strata.strata()), (1.0, 8, 1));
        assert_eq!(estimate.heat(0.1, 2.0), Heat::Unknown);
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

    /// The true weight lies within two standard errors in about 95 % of profiles: with errors half as large it would in 68 %, with twice in all.
    #[test]
    fn the_true_weight_lies_within_two_errors_as_often_as_it_should() {
        let (mut within, mut within_share) = (0, 0);
        const PROFILES: u32 = 1000;
        for seed in 0..PROFILES {
            let mut random = Random::stream(11, u64::from(seed));
            let mut strata = Strata::default();
            for tick in 0..100 {
                // All eight samples of a tick are alike: they are worth one.
                let key = if random.chance(0.3) { 'a' } else { 'b' };
                (0..8).for_each(|_| strata.add(thread(0), tick, key, 10.0));
            }
            strata.close();
            let a = strata.estimate(&'a');
            within += u32::from((a.weight - 2400.0).abs() <= 2.0 * a.error);
            within_share += u32::from((a.share - 0.3).abs() <= 2.0 * a.share_error);
        }
        assert!((920..=980).contains(&within), "{within}");
        assert!((920..=980).contains(&within_share), "{within_share}");
    }
}
