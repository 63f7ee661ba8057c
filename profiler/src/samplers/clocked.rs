//! Our estimator where nothing is counted: bursts at ticks of a timer, weighted by the time that they stand for.
//!
//! Code that counts its calls knows how many an interval has had. Counting is dear where calls are very frequent, so here none are counted: a burst of `n` calls that takes the time `w` stands for the
//! time `t` that the thread has run since the burst before, in which it then made about `n t / w` calls; each observed call counts for `t / w`. The pace within a burst stands for that of its interval, so a burst must not be too short;
//! recording slows the program down, which is taken off `w`.
//!
//! Where calls take less time than recording one, that is as good as unknown, and weights come out too small: shares within a phase are right, numbers of calls are not.
//!
//! A tick is noticed at a yield point, often the same one: right after a lock was won, say. So the burst begins a random number of calls later.

use super::{Action, Common, Ended, Span, Tick, Wake};
use crate::sample::Moment;
use crate::tuning;

#[derive(Clone, Debug)]
pub(super) struct Clocked {
    burst: u32,
    /// What recording a call takes, in cycles.
    pub record_cost: u64,
    /// What the thread has run, in cycles, where somebody says it; else the time that has passed.
    pub ran: Option<u64>,
    /// The same when the last burst was over, or the thread began.
    ended: u64,
    /// When the present burst began, in cycles.
    pub begun: u64,
    /// A tick has been noticed, and its burst is still to come.
    is_pending: bool,
    /// Until when no stack is walked again, since the last one was deep.
    rests_until: u64,
}

impl Clocked {
    pub(super) fn new(burst: u32) -> Clocked {
        Clocked { burst, record_cost: 0, ran: None, ended: 0, begun: 0, is_pending: false, rests_until: 0 }
    }

    pub(super) fn start(&mut self, at: Moment) -> Action {
        self.ended = self.ran.unwrap_or(at.cycles);
        Action::Wait(Wake::Tick)
    }

    pub(super) fn poll(&mut self, at: Moment, tick: Option<Tick>, common: &mut Common) -> Action {
        if std::mem::take(&mut self.is_pending) {
            return self.begin(at, common);
        }
        if tick.is_none() {
            return Action::Wait(Wake::Tick);
        }
        if at.cycles < self.rests_until {
            common.counters.ticks_unaffordable += 1;
            return Action::Wait(Wake::Tick);
        }
        let skip = common.random.below(tuning::CLOCK_SKIP);
        if skip == 0 {
            return self.begin(at, common);
        }
        self.is_pending = true;
        Action::Wait(Wake::After(skip))
    }

    fn begin(&mut self, at: Moment, common: &mut Common) -> Action {
        common.tick += 1;
        self.begun = at.cycles;
        Action::Burst(Span::Calls(u64::from(self.burst)))
    }

    /// A stack was walked that is to be paid for with so many cycles of the program's own.
    pub(super) fn walked(&mut self, at: Moment, price: u64) {
        self.rests_until = at.cycles.saturating_add(price);
    }

    pub(super) fn end_burst(&mut self, at: Moment, calls: u64) -> Ended {
        let took = at.cycles.saturating_sub(self.begun);
        // However dear recording seems, some of the time was the program's.
        let own = took.saturating_sub(calls.saturating_mul(self.record_cost)).max(took / 8).max(1);
        let now = self.ran.unwrap_or(at.cycles);
        let stands_for = now.saturating_sub(self.ended).max(own);
        if calls > 0 {
            self.ended = now;
        }
        Ended { weight: stands_for as f64 / own as f64, next: Action::Wait(Wake::Tick) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    const TICK: Option<Tick> = Some(Tick { raised: 0, counted: 0 });
    const BURST: Action = Action::Burst(Span::Calls(4));

    fn at(cycles: u64) -> Moment {
        Moment { cycles, calls: 0 }
    }

    fn started(record_cost: u64) -> (Clocked, Common) {
        let mut clocked = Clocked { record_cost, ..Clocked::new(4) };
        clocked.start(at(100));
        (clocked, Common::new(Random::new(1)))
    }

    /// A burst that begins here, whatever is skipped before.
    fn burst(clocked: &mut Clocked, common: &mut Common, from: u64) {
        let action = clocked.poll(at(from), TICK, common);
        if action != BURST {
            assert!(matches!(action, Action::Wait(Wake::After(1..))), "{action:?}");
            assert_eq!(clocked.poll(at(from), None, common), BURST);
        }
    }

    #[test]
    fn a_burst_stands_for_the_time_since_the_one_before() {
        let (mut clocked, mut common) = started(0);
        assert_eq!(clocked.poll(at(600), None, &mut common), Action::Wait(Wake::Tick));
        burst(&mut clocked, &mut common, 1080);
        // 4 calls in 20 cycles: 200 in the 1000 since the start.
        assert_eq!(clocked.end_burst(at(1100), 4).weight, 50.0);
        burst(&mut clocked, &mut common, 2080);
        clocked.record_cost = 2;
        // Of the 20 cycles 8 were spent on records.
        assert_eq!(clocked.end_burst(at(2100), 4).weight, 1000.0 / 12.0);
        assert_eq!(common.tick, 2);
    }

    #[test]
    fn bursts_begin_after_different_numbers_of_calls() {
        let (mut clocked, mut common) = started(0);
        let mut skips = std::collections::BTreeSet::new();
        for _ in 0..50 {
            if let Action::Wait(Wake::After(skip)) = clocked.poll(at(0), TICK, &mut common) {
                skips.insert(skip);
                assert_eq!(clocked.poll(at(0), None, &mut common), BURST);
            }
            clocked.end_burst(at(1), 4);
        }
        assert!(skips.len() > 30 && skips.iter().all(|&skip| skip < tuning::CLOCK_SKIP), "{skips:?}");
    }

    #[test]
    fn standing_still_is_no_time_in_which_calls_were_made() {
        let mut clocked = Clocked { ran: Some(0), ..Clocked::new(4) };
        let mut common = Common::new(Random::new(1));
        clocked.start(at(0));
        burst(&mut clocked, &mut common, 1_000_000);
        clocked.ran = Some(2000);
        assert_eq!(clocked.end_burst(at(1_000_020), 4).weight, 100.0);
    }

    #[test]
    fn a_burst_without_calls_leaves_its_time_to_the_next() {
        let (mut clocked, mut common) = started(0);
        burst(&mut clocked, &mut common, 1000);
        clocked.end_burst(at(1010), 0);
        burst(&mut clocked, &mut common, 1590);
        assert_eq!(clocked.end_burst(at(1600), 2).weight, 150.0);
    }

    #[test]
    fn the_walk_of_a_deep_stack_is_paid_for_before_the_next() {
        let (mut clocked, mut common) = started(0);
        burst(&mut clocked, &mut common, 1000);
        clocked.walked(at(1000), 50_000);
        clocked.end_burst(at(1100), 4);
        assert_eq!(clocked.poll(at(2000), TICK, &mut common), Action::Wait(Wake::Tick));
        assert_eq!(common.counters.ticks_unaffordable, 1);
        burst(&mut clocked, &mut common, 51_000);
        // The burst stands for all the time in which no stack was walked.
        assert_eq!(clocked.end_burst(at(51_100), 4).weight, 50_000.0 / 100.0);
    }

    #[test]
    fn recording_never_takes_all_of_the_time() {
        let (mut clocked, mut common) = started(1000);
        burst(&mut clocked, &mut common, 1020);
        assert_eq!(clocked.end_burst(at(1100), 4).weight, 100.0);
    }
}
