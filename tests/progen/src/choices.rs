//! Where a generator's decisions come from. In: a seed or bytes. Out: numbers below a bound.

/// A source of decisions. From a seed it never ends; from bytes it ends in zeros, which always mean the simplest choice.
#[derive(Clone, Debug)]
pub struct Choices<'a> {
    source: Source<'a>,
}

#[derive(Clone, Debug)]
enum Source<'a> {
    /// State of SplitMix64.
    Seed(u64),
    Bytes(&'a [u8]),
}

impl<'a> Choices<'a> {
    pub fn from_seed(seed: u64) -> Choices<'static> {
        Choices { source: Source::Seed(seed) }
    }

    pub fn from_bytes(bytes: &'a [u8]) -> Choices<'a> {
        Choices { source: Source::Bytes(bytes) }
    }

    fn next(&mut self, bytes: usize) -> u64 {
        match &mut self.source {
            Source::Seed(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ (z >> 31)
            }
            Source::Bytes(rest) => {
                let (taken, left) = rest.split_at(bytes.min(rest.len()));
                *rest = left;
                taken.iter().fold(0, |n, &b| n << 8 | u64::from(b))
            }
        }
    }

    /// A number in `0..n`; `n` is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        let bytes = if n <= 1 << 8 { 1 } else { 4 };
        (self.next(bytes) % n as u64) as usize
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) >= 100 - percent
    }

    /// `items` is not empty.
    pub fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }

    /// An item, as often as its weight says.
    pub fn weighted<T: Copy>(&mut self, items: &[(usize, T)]) -> T {
        let mut at = self.below(items.iter().map(|i| i.0).sum());
        for &(weight, item) in items {
            if at < weight {
                return item;
            }
            at -= weight;
        }
        unreachable!("below the sum")
    }

    pub fn bits(&mut self) -> u64 {
        self.next(8)
    }
}
