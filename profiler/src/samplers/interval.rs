//! When the next tick comes: intervals with jitter, and an interval that tunes itself (CC-Map, Tuning Sampling Interval).
//!
//! In: random numbers; of each stack walk, whether its top frame had been seen before. Out: cycles to the next tick.
//! Invariant: an interval is at least one cycle, and a self-tuned one stays within its bounds.

use super::random::Random;
use crate::clock::Rate;
use crate::tuning;
use std::time::Duration;

/// The length of the intervals, in cycles.
#[derive(Clone, Debug)]
pub struct Interval {
    cycles: f64,
    jitter: f64,
    tuner: Option<Tuner>,
}

/// Counts repetitions: many mean that the program is sampled more often than it moves.
#[derive(Clone, Debug)]
struct Tuner {
    samples: u32,
    repetitions: u32,
    shortest: f64,
    longest: f64,
}

impl Interval {
    /// Intervals of this time; each is longer or shorter by up to the share `jitter` of it.
    pub fn new(time: Duration, jitter: f64, self_tuning: bool, clock: Rate) -> Interval {
        let bound = |ns| clock.cycles(Duration::from_nanos(ns)) as f64;
        let tuner = Tuner { samples: 0, repetitions: 0, shortest: bound(tuning::TUNING_SHORTEST), longest: bound(tuning::TUNING_LONGEST) };
        Interval { cycles: clock.cycles(time).max(1) as f64, jitter, tuner: self_tuning.then_some(tuner) }
    }

    /// Cycles of an interval without jitter.
    pub fn cycles(&self) -> u64 {
        (self.cycles as u64).max(1)
    }

    /// It follows the share of repetitions.
    pub fn is_self_tuning(&self) -> bool {
        self.tuner.is_some()
    }

    /// Cycles from one tick to the next.
    pub fn next(&self, random: &mut Random) -> u64 {
        if self.jitter == 0.0 {
            return self.cycles();
        }
        let factor = 1.0 + self.jitter * (2.0 * random.unit() - 1.0);
        ((self.cycles * factor).round() as u64).max(1)
    }

    /// A stack was walked. `repeated`: the walk before it had seen the top frame already, that is, the same activation.
    pub fn walked(&mut self, repeated: bool) {
        let Some(tuner) = &mut self.tuner else { return };
        tuner.samples += 1;
        tuner.repetitions += u32::from(repeated);
        if tuner.samples < tuning::TUNING_SAMPLES {
            return;
        }
        let share = f64::from(tuner.repetitions) / f64::from(tuner.samples);
        let factor = match share {
            few if few < tuning::TUNING_FEW => 1.0 / tuning::TUNING_FACTOR,
            many if many > tuning::TUNING_MANY => tuning::TUNING_FACTOR,
            _ => 1.0,
        };
        // An interval that was set outside the bounds is not pulled into them by growing where it should shrink.
        let (low, high) = (tuner.shortest.min(self.cycles), tuner.longest.max(self.cycles));
        self.cycles = (self.cycles * factor).clamp(low, high);
        (tuner.samples, tuner.repetitions) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Rate = Rate::NANOSECONDS;

    fn tuned(time: Duration) -> Interval {
        Interval::new(time, 0.0, true, CLOCK)
    }

    /// A thousand walks, so many of them repeated.
    fn walk(interval: &mut Interval, repeated: u32) {
        (0..tuning::TUNING_SAMPLES).for_each(|walk| interval.walked(walk < repeated));
    }

    #[test]
    fn a_thousand_samples_decide_by_the_share_of_repetitions() {
        let mut interval = tuned(Duration::from_millis(9));
        walk(&mut interval, 10);
        assert_eq!(interval.cycles(), 9_000_000, "1 % is not below 1 %");
        walk(&mut interval, 150);
        assert_eq!(interval.cycles(), 9_000_000, "15 % is not above 15 %");
        walk(&mut interval, 9);
        assert_eq!(interval.cycles(), 6_000_000);
        (0..999).for_each(|_| interval.walked(true));
        assert_eq!(interval.cycles(), 6_000_000, "one sample is missing");
        interval.walked(true);
        assert_eq!(interval.cycles(), 9_000_000);
    }

    #[test]
    fn the_interval_stays_within_bounds() {
        let mut interval = tuned(Duration::from_millis(1));
        (0..20).for_each(|_| walk(&mut interval, 0));
        assert_eq!(interval.cycles(), tuning::TUNING_SHORTEST);
        (0..40).for_each(|_| walk(&mut interval, 1000));
        assert_eq!(interval.cycles(), tuning::TUNING_LONGEST);
    }

    #[test]
    fn an_interval_that_is_not_tuned_keeps_its_length_and_jitter_its_bounds() {
        let mut interval = Interval::new(Duration::from_micros(1), 0.25, false, CLOCK);
        walk(&mut interval, 1000);
        let mut random = Random::new(1);
        let lengths: Vec<u64> = (0..10_000).map(|_| interval.next(&mut random)).collect();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&750), Some(&1250)));
        let mean = lengths.iter().sum::<u64>() as f64 / 10_000.0;
        assert!((mean - 1000.0).abs() < 6.0, "{mean}");
        assert_eq!(Interval::new(Duration::ZERO, 0.0, false, CLOCK).next(&mut random), 1);
    }
}
