//! How sure a profile is of each weight, whatever its keys are: contexts, sites, functions. For edges, a [`Dcg`](crate::structures::dcg::Dcg) knows it itself.
//!
//! In: weights by key, stratum by stratum. Out: for each key its weight and share, with standard errors and the number of samples; whether it is hot.
//! Invariant: the samples of a stratum come one after another; where another thread's come between, the stratum counts as two.

use crate::estimate::{self, Estimate, Sums};
use crate::ids::ThreadId;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Weights by key, with what is needed for their errors.
#[derive(Clone, Debug)]
pub struct Strata<K> {
    sums: FxHashMap<K, Sums>,
    /// The stratum that samples are being added to.
    open: Option<(ThreadId, u64)>,
    /// Its weights.
    now: FxHashMap<K, (f64, u64)>,
    strata: estimate::Strata,
    all: Sums,
}

impl<K: Eq + Hash + Clone> Default for Strata<K> {
    fn default() -> Strata<K> {
        Strata {
            sums: FxHashMap::default(),
            open: None,
            now: FxHashMap::default(),
            strata: estimate::Strata::default(),
            all: Sums::default(),
        }
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
        // All stand for themselves.
        self.strata.add(1.0);
        self.all.observe(x, self.now.values().map(|entry| entry.1).sum());
        self.all.close(x, x, 1.0);
        for (key, (y, samples)) in self.now.drain() {
            let sums = self.sums.entry(key).or_default();
            sums.observe(y, samples);
            sums.close(y, x, 1.0);
        }
    }

    /// Strata that are closed.
    pub fn strata(&self) -> u64 {
        self.strata.count()
    }

    /// The weight of all keys.
    pub fn total(&self) -> f64 {
        self.all.weight()
    }

    /// What is known of the key; all zeros for one that was never seen.
    pub fn estimate(&self, key: &K) -> Estimate {
        self.sums.get(key).map_or(Estimate::default(), |sums| sums.estimate(&self.all, &self.strata))
    }

    /// Every key seen, in no order.
    pub fn estimates(&self) -> impl Iterator<Item = (&K, Estimate)> {
        self.sums.iter().map(|(key, sums)| (key, sums.estimate(&self.all, &self.strata)))
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
        assert!((a.standard_error - 27f64.sqrt()).abs() < 1e-12);
        // y - 0.75 x with x = 4, 2, 6: 0, -1.5, 1.5: 4.5 · 3/2 = 6.75, by a total of 12.
        assert!((a.share_error - 6.75f64.sqrt() / 12.0).abs() < 1e-12);
        assert_eq!(strata.estimate(&'c'), Estimate::default());
    }

    #[test]
    fn a_stratum_that_is_closed_twice_counts_once() {
        let mut strata = Strata::default();
        (0..8).for_each(|_| strata.add(thread(0), 0, 'a', 1.0));
        strata.close();
        strata.close();
        let estimate = strata.estimate(&'a');
        assert_eq!((estimate.weight, estimate.samples, strata.strata()), (8.0, 8, 1));
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
            within += u32::from((a.weight - 2400.0).abs() <= 2.0 * a.standard_error);
            within_share += u32::from((a.share - 0.3).abs() <= 2.0 * a.share_error);
        }
        assert!((920..=980).contains(&within), "{within}");
        assert!((920..=980).contains(&within_share), "{within_share}");
    }
}
