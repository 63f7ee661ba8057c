//! Counter-based sampling, CBS(samples, stride): after a tick skip a start that rotates below the stride, then sample every stride-th call until
//! enough samples are taken (TACO'15 section 6 with Jikes RVM's defaults; section 6.2 words the stride as events skipped between two samples, but Jikes RVM takes every stride-th). CBS(1, 1) is timer sampling; asked at any yield point, it is the stack walk.
//!
//! In: ticks and calls. Out: samples of the top of the stack, each with the antibias weight of its tick.
//! Invariants: of `stride` ticks in a row each has another start; a tick that comes before the last sample of the one before changes nothing.

use super::antibias::Antibias;
use super::{Action, Common, Tick, Wake};
use crate::sample::Moment;

#[derive(Clone, Debug)]
pub(super) struct Cbs {
    samples: u32,
    stride: u32,
    antibias: Antibias,
    /// Calls to skip after the next tick.
    start: u32,
    /// Samples still to take of this tick; 0 between ticks.
    left: u32,
    /// The call to sample next, by its number.
    due: u64,
    /// When this tick was raised.
    raised: u64,
    /// Calls of the interval before this tick, for the density.
    interval_calls: u64,
    /// The counter at this tick.
    counted: u64,
    weight: f64,
}

impl Cbs {
    pub(super) fn new(samples: u32, stride: u32, antibias: Antibias) -> Cbs {
        Cbs { samples, stride, antibias, start: 0, left: 0, due: 0, raised: 0, interval_calls: 0, counted: 0, weight: 1.0 }
    }

    pub(super) fn poll(&mut self, at: Moment, tick: Option<Tick>, common: &mut Common) -> Action {
        match tick {
            Some(tick) if self.left == 0 => self.open(at, tick, common),
            _ => {}
        }
        if self.left == 0 {
            return Action::Wait(Wake::Tick);
        }
        if at.calls < self.due {
            return Action::Wait(Wake::After(self.due - at.calls));
        }
        if self.left == self.samples {
            self.weight = self.antibias.weight(self.interval_calls, at.cycles.saturating_sub(self.raised));
        }
        self.left -= 1;
        self.due = at.calls + u64::from(self.stride);
        let next = if self.left == 0 { Wake::Tick } else { Wake::After(u64::from(self.stride)) };
        Action::Top { weight: self.weight, next }
    }

    /// There are samples of the last tick still to take.
    pub(super) fn is_in_tick(&self) -> bool {
        self.left > 0
    }

    fn open(&mut self, at: Moment, tick: Tick, common: &mut Common) {
        common.tick += 1;
        self.left = self.samples;
        self.due = at.calls + u64::from(self.start);
        self.start = (self.start + 1) % self.stride;
        self.raised = tick.raised;
        self.interval_calls = tick.counted.saturating_sub(self.counted);
        self.counted = tick.counted;
    }
}

#[cfg(test)]
mod tests {
    use super::super::antibias::Correction;
    use super::super::random::Random;
    use super::*;

    fn common() -> Common {
        Common::new(Random::new(0))
    }

    /// The calls that are sampled, for ticks that are noticed at the given calls; asks only when told to.
    fn sampled(cbs: &mut Cbs, ticks: &[u64], calls: u64) -> Vec<u64> {
        let (mut common, mut due, mut sampled) = (common(), None, Vec::new());
        for call in 1..=calls {
            let tick = ticks.contains(&call).then_some(Tick { raised: 0, counted: call });
            if tick.is_none() && due != Some(call) {
                continue;
            }
            let action = cbs.poll(Moment { cycles: 0, calls: call }, tick, &mut common);
            due = match action {
                Action::Wait(Wake::After(n)) | Action::Top { next: Wake::After(n), .. } => Some(call + n),
                _ => None,
            };
            if matches!(action, Action::Top { .. }) {
                sampled.push(call);
            }
        }
        sampled
    }

    #[test]
    fn cbs_8_2_takes_every_second_call_and_rotates_its_start() {
        let mut cbs = Cbs::new(8, 2, Antibias::OFF);
        let first = [10, 12, 14, 16, 18, 20, 22, 24];
        let second = [101, 103, 105, 107, 109, 111, 113, 115];
        let third = [200, 202, 204, 206, 208, 210, 212, 214];
        assert_eq!(sampled(&mut cbs, &[10, 100, 200], 300), [first, second, third].concat());
    }

    #[test]
    fn each_of_stride_starts_comes_once() {
        let mut cbs = Cbs::new(1, 3, Antibias::OFF);
        assert_eq!(sampled(&mut cbs, &[10, 20, 30, 40], 50), [10, 21, 32, 40]);
    }

    #[test]
    fn cbs_1_1_samples_the_call_that_notices_the_tick() {
        assert_eq!(sampled(&mut Cbs::new(1, 1, Antibias::OFF), &[3, 4, 9], 20), [3, 4, 9]);
    }

    #[test]
    fn a_tick_between_the_samples_of_another_changes_nothing() {
        assert_eq!(sampled(&mut Cbs::new(3, 4, Antibias::OFF), &[1, 2, 5], 30), [1, 5, 9]);
    }

    #[test]
    fn density_and_latency_are_taken_once_a_tick() {
        let mut cbs = Cbs::new(2, 1, Antibias::with(Correction::DensityAndLatency));
        let mut common = common();
        let mut poll = |cycles, calls, tick| cbs.poll(Moment { cycles, calls }, tick, &mut common);
        assert_eq!(
            poll(30_000, 40_000, Some(Tick { raised: 20_000, counted: 40_000 })),
            Action::Top { weight: 2.0, next: Wake::After(1) },
            "40,000 calls, 10,000 cycles late"
        );
        assert_eq!(poll(90_000, 40_001, None), Action::Top { weight: 2.0, next: Wake::Tick });
        assert_eq!(
            poll(100_000, 45_000, Some(Tick { raised: 100_000, counted: 45_000 })),
            Action::Top { weight: 0.5, next: Wake::After(1) }
        );
    }
}
