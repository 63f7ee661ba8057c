//! The generator behind every random decision of a sampler: the same numbers for the same seed on every machine and in every version.
//!
//! SplitMix64 (G. Steele, D. Lea, C. Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014; constants as in S. Vigna's public domain version).
//! Eight bytes of state and a few cycles a number: right for a yield point. Not for secrets.

/// A stream of random numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream that a seed begins.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The stream of that number below a seed: streams of one seed have nothing to do with each other.
    pub fn stream(seed: u64, number: u64) -> Random {
        Random(Random(seed).word() ^ Random(!number).word().rotate_left(32))
    }

    /// 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number from 0 up to and without `limit`, all equally likely; 0 if `limit` is.
    ///
    /// By multiplication, with rejection of the few words that would favour some numbers (D. Lemire: Fast Random Integer Generation in an Interval, 2019).
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 {
            return 0;
        }
        loop {
            let product = u128::from(self.word()) * u128::from(limit);
            let low = product as u64;
            if low >= limit || low >= limit.wrapping_neg() % limit {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number from 0 up to and without 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_published_generator() {
        let mut random = Random::new(1_234_567);
        let words: Vec<u64> = (0..5).map(|_| random.word()).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(words, published);
    }

    #[test]
    fn numbers_below_a_limit_are_equally_likely() {
        let mut random = Random::new(1);
        let mut counts = [0u32; 6];
        (0..60_000).for_each(|_| counts[random.below(6) as usize] += 1);
        // Six standard deviations of a count are 550.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 550), "{counts:?}");
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert!((0..100).all(|_| random.below(u64::MAX) < u64::MAX));
    }

    #[test]
    fn streams_differ() {
        let words: std::collections::BTreeSet<u64> =
            (0..50).flat_map(|seed| (0..50).map(move |number| Random::stream(seed, number).word())).collect();
        assert_eq!(words.len(), 2500);
    }
}
