//! Two profiles side by side: degree of overlap, hot-edge coverage, correlation (PLDI'06 sections 3.1 and 3.2, CC-Map section 5).
//!
//! In: weights by key of both, or pairs of weights. Out: percentages from 0 to 100, never something that is no number.
//! Invariants: an edge with weight 0 is in no profile (structures have nodes that were only passed); weights below 0 and those that are no numbers count 0.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// The weights of each edge in two profiles, A and B.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Comparison {
    /// 0 where the edge is not in the profile.
    pairs: Vec<(f64, f64)>,
}

fn sane(weight: f64) -> f64 {
    if weight.is_finite() { weight.max(0.0) } else { 0.0 }
}

impl Comparison {
    /// Of profiles whose edges have keys: edges of a DCG, paths of a CCT. A key that comes twice has the sum of its weights.
    pub fn new<K: Eq + Hash>(a: impl IntoIterator<Item = (K, f64)>, b: impl IntoIterator<Item = (K, f64)>) -> Comparison {
        let mut weights: FxHashMap<K, (f64, f64)> = FxHashMap::default();
        for (key, weight) in a {
            weights.entry(key).or_default().0 += sane(weight);
        }
        for (key, weight) in b {
            weights.entry(key).or_default().1 += sane(weight);
        }
        let mut pairs: Vec<(f64, f64)> = weights.into_values().collect();
        // Sums of floating-point numbers depend on their order: the result must not depend on that of a hash table.
        pairs.sort_unstable_by(|x, y| x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1)));
        Comparison { pairs }
    }

    /// Of pairs of weights, as a walk over two trees finds them: one for each edge of either, 0 where it has no equivalent.
    pub fn of_pairs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Comparison {
        Comparison { pairs: pairs.into_iter().map(|(a, b)| (sane(a), sane(b))).collect() }
    }

    /// The sum of the weights of each profile.
    pub fn totals(&self) -> (f64, f64) {
        self.pairs.iter().fold((0.0, 0.0), |(a, b), pair| (a + pair.0, b + pair.1))
    }

    /// Degree of overlap in percent: the sum over all edges of the smaller share. Two empty profiles overlap fully, one empty with another not at all.
    pub fn overlap(&self) -> f64 {
        let (a, b) = self.totals();
        if a == 0.0 || b == 0.0 {
            return if a == b { 100.0 } else { 0.0 };
        }
        let shares: f64 = self.pairs.iter().map(|pair| (pair.0 / a).min(pair.1 / b)).sum();
        (shares * 100.0).min(100.0)
    }

    /// Hot-edge coverage of A over B in percent: how many of the edges of B that have at least `threshold` (0 to 1) of the weight of its hottest are hot
    /// in A by the same measure. 100 if B is empty.
    pub fn hot_edge_coverage(&self, threshold: f64) -> f64 {
        self.clear_hot_edge_coverage(threshold, 0.0)
    }

    /// The same of the edges of B that lie above the threshold by a `margin` of it (0.1: a tenth): which side of the threshold an edge comes out on that lies close to it is chance in any sample.
    pub fn clear_hot_edge_coverage(&self, threshold: f64, margin: f64) -> f64 {
        let hottest = self.pairs.iter().fold((0.0f64, 0.0f64), |(a, b), pair| (a.max(pair.0), b.max(pair.1)));
        /// Of the threshold: products round, so that an edge that lies at it could come out below.
        const ROUNDING: f64 = 1e-12;
        let is_hot = |weight: f64, threshold: f64| weight > 0.0 && weight >= threshold * (1.0 - ROUNDING);
        let clear = threshold * (1.0 + margin) * hottest.1;
        let (mut hot, mut covered) = (0u64, 0u64);
        for pair in self.pairs.iter().filter(|pair| is_hot(pair.1, clear)) {
            hot += 1;
            covered += u64::from(is_hot(pair.0, threshold * hottest.0));
        }
        if hot == 0 { 100.0 } else { 100.0 * covered as f64 / hot as f64 }
    }

    /// Pearson's correlation of the weights, from -1 to 1. `None` with fewer than two edges, or if all weights of a profile are equal.
    pub fn correlation(&self) -> Option<f64> {
        let count = self.pairs.len() as f64;
        let (a, b) = self.totals();
        let (mean_a, mean_b) = (a / count, b / count);
        let (mut aa, mut bb, mut ab) = (0.0, 0.0, 0.0);
        for pair in &self.pairs {
            let (x, y) = (pair.0 - mean_a, pair.1 - mean_b);
            aa += x * x;
            bb += y * y;
            ab += x * y;
        }
        let scale = aa.sqrt() * bb.sqrt();
        (scale > 0.0).then(|| (ab / scale).clamp(-1.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn overlap_by_hand() {
        // Shares of A: 50, 30, 20 %. Shares of B: 25, 50, 0, 25 %.
        let comparison = Comparison::new([('x', 5.0), ('y', 3.0), ('z', 2.0)], [('x', 1.0), ('y', 2.0), ('w', 1.0)]);
        assert!(close(comparison.overlap(), 55.0));
        assert_eq!(comparison.totals(), (10.0, 4.0));
    }

    #[test]
    fn hot_edge_coverage_by_hand() {
        let a = [("hot", 100.0), ("warm", 40.0), ("cold", 9.0), ("other", 50.0)];
        let b = [("hot", 10.0), ("warm", 6.0), ("cold", 1.0), ("tepid", 5.0)];
        let comparison = Comparison::new(a, b);
        // Hot in B from 5: hot, warm, tepid. Hot in A from 50: hot, other.
        assert!(close(comparison.hot_edge_coverage(0.5), 100.0 / 3.0));
        // From 1 and 10: all four in B; hot and warm of these in A.
        assert!(close(comparison.hot_edge_coverage(0.1), 50.0));
        assert!(close(comparison.hot_edge_coverage(1.0), 100.0));
        assert!(close(comparison.hot_edge_coverage(0.0), 75.0), "an edge that is not in A is not hot in it");
        // 0.07 times 100 is more than 7.
        assert!(close(Comparison::of_pairs([(100.0, 200.0), (7.0, 15.0)]).hot_edge_coverage(0.07), 100.0));
        // From 6: hot and warm of B, of which only hot has 50 in A.
        assert!(close(comparison.clear_hot_edge_coverage(0.5, 0.2), 50.0));
    }

    #[test]
    fn correlation_by_hand() {
        let correlation = |pairs: &[(f64, f64)]| Comparison::of_pairs(pairs.iter().copied()).correlation();
        assert!(close(correlation(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]).unwrap(), 1.0));
        assert!(close(correlation(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]).unwrap(), -1.0));
        assert!(close(correlation(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)]).unwrap(), 0.5));
        assert_eq!(correlation(&[(1.0, 1.0), (1.0, 3.0)]), None);
        assert_eq!(correlation(&[]), None);
    }

    #[test]
    fn empty_profiles_and_bad_weights_give_numbers() {
        let empty: [(u32, f64); 0] = [];
        assert_eq!(Comparison::new(empty, empty).overlap(), 100.0);
        assert_eq!(Comparison::new(empty, [(1, 1.0)]).overlap(), 0.0);
        assert_eq!(Comparison::new([(1, 1.0)], empty).hot_edge_coverage(0.1), 100.0);
        assert_eq!(Comparison::new(empty, [(1, 1.0)]).hot_edge_coverage(0.1), 0.0);
        let bad = Comparison::of_pairs([(f64::NAN, 1.0), (f64::INFINITY, 1.0), (-3.0, 1.0), (2.0, 1.0)]);
        assert!(close(bad.overlap(), 25.0));
        assert!(bad.correlation().is_some_and(|it| it == 0.0) || bad.correlation().is_none());
    }

    #[test]
    fn a_key_that_comes_twice_has_the_sum() {
        assert_eq!(Comparison::new([(1, 1.0), (1, 2.0), (2, 3.0)], [(1, 5.0), (2, 5.0)]).overlap(), 100.0);
    }

    proptest! {
        #[test]
        fn overlap_is_symmetric_bounded_and_full_with_itself(pairs in proptest::collection::vec((0.0..1e6f64, 0.0..1e6f64), 1..40)) {
            let ab = Comparison::of_pairs(pairs.iter().copied());
            let ba = Comparison::of_pairs(pairs.iter().map(|&(a, b)| (b, a)));
            prop_assert!(close(ab.overlap(), ba.overlap()));
            prop_assert!((0.0..=100.0).contains(&ab.overlap()));
            let aa = Comparison::of_pairs(pairs.iter().map(|&(a, _)| (a, 3.0 * a)));
            prop_assert!((aa.overlap() - 100.0).abs() < 1e-6);
            for threshold in [0.0, 0.1, 0.95, 1.0] {
                prop_assert!((0.0..=100.0).contains(&ab.hot_edge_coverage(threshold)));
            }
            if let Some(correlation) = ab.correlation() {
                prop_assert!((-1.0..=1.0).contains(&correlation));
            }
        }
    }
}
