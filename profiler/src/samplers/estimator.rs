//! Our own sampler: short bursts at random calls, each worth exactly the calls that it stands for.
//!
//! The weight of a burst's calls is the exact number of calls since the last burst by the calls in this one (a Horvitz-Thompson estimate).
//! - [`Counted`]: bursts come every so many calls, at random; time plays no part, so neither density nor latency can bias it.
//! - [`Timed`]: each tick asks for a burst after a random number of calls, up to those of the interval before it.
//!
//! In: ticks, exact call counts, random numbers. Out: bursts (single samples, where a burst is one call) and their weights.
//! Invariant: weights times recorded calls, and what was left to the driver when windows ended, add up to the calls made; without windows but for those at the end of a thread, after its last burst's interval.

use super::random::Random;
use super::{Action, Common, Ended, EndedWindow, Span, Tick, Wake};
use crate::sample::Moment;
use crate::tuning;

fn begin(burst: u32) -> Action {
    Action::Burst(Span::Calls(u64::from(burst)))
}

/// What each of so many recorded calls stands for.
fn share(of: u64, recorded: u64) -> f64 {
    if recorded == 0 { 0.0 } else { of as f64 / recorded as f64 }
}

/// What becomes of the calls behind a thread's last burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rest {
    /// Nobody tells of them. About as many come before the first burst, which stands for more than those.
    Lost,
    /// A window ends behind them, and leaves them to the driver.
    Left,
}

/// Bursts every `mean` calls or so.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    /// As it was asked for, and as it is now.
    asked: u64,
    mean: u64,
    /// The same.
    asked_burst: u32,
    burst: u32,
    /// The call of the next burst.
    due: u64,
    /// Calls for which the bursts so far stand; `None` before the first.
    ended: Option<u64>,
    rest: Rest,
    /// In the present window; and whether they came equally often throughout.
    bursts: u64,
    is_even: bool,
    /// Calls that the last stack walk must be spread over.
    price: u64,
}

impl Counted {
    pub(super) fn new(mean: u64, burst: u32) -> Counted {
        Counted { asked: mean, mean, asked_burst: burst, burst, due: 0, ended: None, rest: Rest::Lost, bursts: 0, is_even: true, price: 0 }
    }

    /// See [`Sampler::use_windows`](super::Sampler::use_windows).
    pub(super) fn use_windows(&mut self) {
        self.rest = Rest::Left;
    }

    /// The first burst may begin at any of the first `mean` calls, all equally likely. It stands for `mean` calls, not for those that went before it:
    /// of many short threads few are sampled, but they count for the others.
    pub(super) fn start(&mut self, at: Moment, common: &mut Common) -> Action {
        let skip = common.random.below(self.mean);
        if self.burst == 1 {
            return self.wait(at, skip + 1);
        }
        if skip == 0 {
            common.tick += 1;
            return begin(self.burst);
        }
        self.wait(at, skip)
    }

    pub(super) fn poll(&mut self, at: Moment, common: &mut Common) -> Action {
        if at.calls < self.due {
            return Action::Wait(Wake::After(self.due - at.calls));
        }
        common.tick += 1;
        if self.burst > 1 {
            return begin(self.burst);
        }
        let weight = share(self.stands_for(at), 1);
        match self.wait_for_next(at, &mut common.random) {
            Action::Wait(next) => Action::Top { weight, next },
            other => other,
        }
    }

    pub(super) fn end_burst(&mut self, at: Moment, calls: u64, common: &mut Common) -> Ended {
        // One that saw nothing leaves its calls to the next.
        let weight = if calls == 0 { 0.0 } else { share(self.stands_for(at), calls) };
        self.thin_out();
        Ended { weight, next: self.wait_for_next(at, &mut common.random) }
    }

    /// A window that calls much more than the one before would be made of bursts: each time that it has had many, they come half as often, but not more rarely than was asked for.
    fn thin_out(&mut self) {
        self.bursts += 1;
        if self.bursts.is_multiple_of(tuning::WINDOW_MANY) && self.mean < self.asked {
            self.mean = (2 * self.mean).min(self.asked);
            self.is_even = false;
        }
    }

    /// The present window's bursts are over. Says whether they came equally often throughout.
    fn close_window(&mut self) -> bool {
        self.bursts = 0;
        std::mem::replace(&mut self.is_even, true)
    }

    /// Where stacks are deep, bursts are rarer: each stands for the calls since the one before, so that weights stay right. `price` in counted calls.
    pub(super) fn walked(&mut self, price: u64) {
        self.price = price;
    }

    /// A window of so many calls is over, after which none are counted for a while if it is `brief`. None of its calls is left to the next burst.
    ///
    /// In brief windows of threads that call little bursts come closer, so that there are some in each, but never follow each other; in others they come more rarely where calls are frequent.
    /// Bursts of the next are of up to `burst` calls, but not of more than half of those from one to the next: else most would be cut off where the window ends.
    pub(super) fn end_window(&mut self, at: Moment, calls: u64, brief: bool, burst: u32, random: &mut Random) -> EndedWindow {
        let mean = calls / tuning::WINDOW_BURSTS;
        let mean = if brief { mean.min(self.asked) } else { mean.max(self.asked) };
        self.burst = (u64::from(burst).min(mean / 2) as u32).max(self.asked_burst);
        self.mean = mean.max(2 * u64::from(self.burst));
        let is_even = self.close_window();
        let mut left = 0;
        // The first burst stands for the calls among which it was placed.
        if let Some(ended) = &mut self.ended {
            left = at.calls.saturating_sub(*ended);
            *ended = at.calls.max(*ended);
            let most = self.mean.max(self.price);
            if self.due > at.calls + most {
                self.due = at.calls + 1 + random.below(most);
            }
        }
        EndedWindow { left, is_even, next: Wake::After(self.due.saturating_sub(at.calls).max(1)) }
    }

    /// A brief window begins. What the one before was like tells how far bursts may be apart, but for a much longer one: they would skip this one. The first burst stands for the calls among which it was placed, and comes where it was.
    pub(super) fn begin_brief_window(&mut self, at: Moment, random: &mut Random) -> Wake {
        self.mean = self.mean.min(self.asked.max(2 * u64::from(self.burst)));
        let most = self.mean.max(self.price);
        if self.ended.is_some() && self.due > at.calls + most {
            self.due = at.calls + 1 + random.below(most);
        }
        Wake::After(self.due.saturating_sub(at.calls).max(1))
    }

    /// Calls that were counted and are told of by no window, nor by the next burst.
    pub(super) fn forget(&mut self, at: Moment) {
        self.close_window();
        if let Some(ended) = &mut self.ended {
            *ended = at.calls.max(*ended);
        }
    }

    fn stands_for(&mut self, at: Moment) -> u64 {
        let Some(ended) = self.ended else {
            self.ended = Some(match self.rest {
                Rest::Lost => at.calls,
                Rest::Left => self.asked,
            });
            return self.asked;
        };
        self.ended = Some(at.calls.max(ended));
        at.calls.saturating_sub(ended)
    }

    /// From the end of a burst to the start of the next: half of the mean up to one and a half, so that bursts keep no step with any loop.
    fn wait_for_next(&mut self, at: Moment, random: &mut Random) -> Action {
        let mean = self.mean.max(self.price) - u64::from(self.burst) + u64::from(self.burst == 1);
        let least = mean.div_ceil(2);
        let skip = least + random.below(2 * (mean - least) + 1);
        self.wait(at, skip.max(1))
    }

    fn wait(&mut self, at: Moment, calls: u64) -> Action {
        self.due = at.calls + calls;
        Action::Wait(Wake::After(calls))
    }
}

/// Where in its interval a burst begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At the call that notices the tick.
    Tick,
    /// After a random number of calls, up to those of the interval before.
    Random,
}

/// One burst an interval of the timer.
///
/// The calls since the last burst are counted from tick to tick, not from burst to burst: else a burst late in its interval would count for more than
/// an early one, and a program that runs in step with the timer would show it.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    burst: u32,
    start: Start,
    /// Calls made when the last tick was noticed.
    last_tick: u64,
    /// Calls of the intervals since the one that the last burst stood for.
    pending: u64,
    /// The call of this interval's burst, if it is still to come.
    due: Option<u64>,
}

impl Timed {
    pub(super) fn new(burst: u32, start: Start) -> Timed {
        Timed { burst, start, last_tick: 0, pending: 0, due: None }
    }

    pub(super) fn poll(&mut self, at: Moment, tick: Option<Tick>, common: &mut Common) -> Action {
        if tick.is_some() {
            self.open(at, common);
        }
        let Some(due) = self.due else { return Action::Wait(Wake::Tick) };
        if at.calls < due {
            return Action::Wait(Wake::After(due - at.calls));
        }
        self.due = None;
        common.tick += 1;
        if self.burst > 1 {
            return begin(self.burst);
        }
        Action::Top { weight: share(std::mem::take(&mut self.pending), 1), next: Wake::Tick }
    }

    /// A new interval: where its burst is to begin.
    fn open(&mut self, at: Moment, common: &mut Common) {
        let calls = at.calls.saturating_sub(self.last_tick);
        self.last_tick = at.calls;
        self.pending += calls;
        common.counters.intervals_missed += u64::from(self.due.is_some());
        let skip = match self.start {
            Start::Tick => 0,
            Start::Random => common.random.below(calls),
        };
        self.due = Some(at.calls + skip);
    }

    pub(super) fn end_burst(&mut self, calls: u64) -> Ended {
        let weight = share(self.pending, calls);
        if calls > 0 {
            self.pending = 0;
        }
        Ended { weight, next: Action::Wait(Wake::Tick) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Option<Tick> = Some(Tick { raised: 0, counted: 0 });

    fn at(calls: u64) -> Moment {
        Moment { cycles: 0, calls }
    }

    fn waited(action: Action) -> u64 {
        match action {
            Action::Wait(Wake::After(calls)) | Action::Top { next: Wake::After(calls), .. } => calls,
            other => panic!("{other:?} waits for no call"),
        }
    }

    #[test]
    fn the_first_counted_burst_stands_for_the_mean_and_each_other_for_the_calls_since() {
        for seed in 0..200 {
            let mut common = Common::new(Random::new(seed));
            let mut counted = Counted::new(100, 8);
            let first = match counted.start(at(0), &mut common) {
                Action::Burst(span) => {
                    assert_eq!(span, Span::Calls(8));
                    0
                }
                other => waited(other),
            };
            assert!(first < 100);
            if first > 0 {
                assert_eq!(counted.poll(at(first), &mut common), Action::Burst(Span::Calls(8)));
            }
            let ended = counted.end_burst(at(first + 8), 8, &mut common);
            assert_eq!(ended.weight, 100.0 / 8.0);
            let skip = waited(ended.next);
            assert!((46..=138).contains(&skip), "{skip}");
            assert_eq!(counted.poll(at(first + 9), &mut common), Action::Wait(Wake::After(skip - 1)), "asked too early");
            assert_eq!(counted.poll(at(first + 8 + skip), &mut common), Action::Burst(Span::Calls(8)));
            let ended = counted.end_burst(at(first + 16 + skip), 8, &mut common);
            assert_eq!(ended.weight, (skip + 8) as f64 / 8.0);
        }
    }

    #[test]
    fn intervals_have_the_mean_that_was_asked_for() {
        for (mean, burst) in [(100, 8), (101, 8), (100, 1), (7, 2), (2, 1), (16, 8)] {
            let mut common = Common::new(Random::new(5));
            let mut counted = Counted::new(mean, burst);
            counted.start(at(0), &mut common);
            let calls: u64 = (0..20_000)
                .map(|i| u64::from(burst > 1) * u64::from(burst) + waited(counted.end_burst(at(i * mean), 1, &mut common).next))
                .sum();
            let found = calls as f64 / 20_000.0;
            assert!((found / mean as f64 - 1.0).abs() < 0.02, "{found} instead of {mean} with bursts of {burst}");
        }
    }

    #[test]
    fn a_counted_burst_of_one_call_is_a_sample_of_the_top() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(10, 1);
        let first = waited(counted.start(at(0), &mut common));
        assert!((1..=10).contains(&first));
        let action = counted.poll(at(first), &mut common);
        assert!(matches!(action, Action::Top { weight: 10.0, .. }));
        let skip = waited(action);
        let Action::Top { weight, .. } = counted.poll(at(first + skip), &mut common) else { panic!("no sample") };
        assert_eq!(weight, skip as f64);
    }

    #[test]
    fn where_stacks_are_deep_bursts_are_rarer_and_stand_for_more() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(100, 8);
        let mean = 1_000_000;
        counted.walked(mean);
        let skip = waited(counted.end_burst(at(8), 8, &mut common).next);
        assert!((mean / 2 - 8..=mean * 3 / 2).contains(&skip), "{skip}");
        assert_eq!(counted.end_burst(at(16 + skip), 8, &mut common).weight, (skip + 8) as f64 / 8.0);
    }

    #[test]
    fn bursts_come_closer_in_brief_windows_of_few_calls_and_rarer_where_many_are_counted() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(1000, 8);
        counted.end_burst(at(0), 8, &mut common);
        let mut skip = |calls, brief| {
            counted.end_window(at(0), calls * tuning::WINDOW_BURSTS, brief, 8, &mut common.random);
            waited(counted.end_burst(at(0), 8, &mut common).next)
        };
        assert!((46..=138).contains(&skip(100, true)));
        assert!((4..=12).contains(&skip(3, true)), "half of the calls are not recorded");
        assert!((496..=1488).contains(&skip(5000, true)));
        assert!((2496..=7488).contains(&skip(5000, false)));
        assert!((496..=1488).contains(&skip(100, false)));
    }

    #[test]
    fn a_window_that_calls_much_more_than_the_last_is_not_made_of_bursts() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(1000, 8);
        counted.end_burst(at(0), 8, &mut common);
        assert!(counted.end_window(at(8), 30, true, 8, &mut common.random).is_even);
        let wake = counted.begin_brief_window(at(8), &mut common.random);
        let Wake::After(first) = wake else { panic!("bursts come after calls") };
        let (mut now, mut bursts, mut told) = (8 + first, 0, 0.0);
        while now < 100_000 {
            now += 8;
            let ended = counted.end_burst(at(now), 8, &mut common);
            (told, bursts) = (told + 8.0 * ended.weight, bursts + 1);
            now += waited(ended.next);
        }
        assert!((100..250).contains(&bursts), "a hundred of the usual distance, and some before: {bursts}");
        let ended = counted.end_window(at(now), now - 8, true, 8, &mut common.random);
        assert!(!ended.is_even);
        assert_eq!((told + ended.left as f64).round(), now as f64 - 8.0);
        counted.begin_brief_window(at(now), &mut common.random);
        (0..100).for_each(|_| _ = counted.end_burst(at(now), 8, &mut common));
        assert!(counted.end_window(at(now), 30_000, true, 8, &mut common.random).is_even, "they were as far apart as they are to be");
    }

    #[test]
    fn a_brief_window_has_bursts_whatever_the_one_before_was_like() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(1000, 8);
        counted.end_burst(at(0), 8, &mut common);
        counted.end_window(at(0), 5_000_000, false, 8, &mut common.random);
        let Wake::After(next) = counted.begin_brief_window(at(100), &mut common.random) else { panic!("bursts come after calls") };
        assert!((1..=1000).contains(&next), "{next}");
        assert_eq!(counted.begin_brief_window(at(100), &mut common.random), Wake::After(next), "that stays as it is");
        counted.walked(50_000);
        counted.end_burst(at(200), 8, &mut common);
        let Wake::After(next) = counted.begin_brief_window(at(300), &mut common.random) else { panic!("bursts come after calls") };
        assert!(next > 10_000, "its walk is to be paid for: {next}");
    }

    /// It stands for the thousand calls among which it was placed: nearer, it would for more than there are.
    #[test]
    fn the_first_burst_of_a_thread_stays_where_it_is_in_brief_windows() {
        for seed in 0..50 {
            let mut common = Common::new(Random::new(seed));
            let mut counted = Counted::new(1000, 8);
            let Action::Wait(Wake::After(first)) = counted.start(at(0), &mut common) else { continue };
            if first <= 30 {
                continue;
            }
            counted.end_window(at(30), 30, true, 8, &mut common.random);
            assert_eq!(counted.begin_brief_window(at(30), &mut common.random), Wake::After(first - 30));
        }
    }

    #[test]
    fn calls_that_are_forgotten_are_told_of_by_no_burst() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(1000, 8);
        counted.end_burst(at(2000), 8, &mut common);
        counted.forget(at(2700));
        assert_eq!(counted.end_burst(at(3000), 10, &mut common).weight, 30.0);
    }

    #[test]
    fn bursts_of_a_window_take_half_of_its_calls_at_most() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(1000, 8);
        counted.end_burst(at(0), 8, &mut common);
        for (of_window, longest, burst, mean) in
            [(9000, 64, 64, 1000), (9000, 8, 8, 1000), (9000, 600, 500, 1000), (300, 600, 50, 100), (30, 600, 8, 16)]
        {
            counted.end_window(at(0), of_window, true, longest, &mut common.random);
            assert_eq!(counted.poll(at(10_000), &mut common), begin(burst));
            let burst = u64::from(burst);
            assert!(((mean - burst) / 2..=mean * 3 / 2).contains(&waited(counted.end_burst(at(0), burst, &mut common).next)));
        }
    }

    /// What bursts and windows of 700 calls tell of a thread that makes so many.
    fn told_in_windows(calls: u64, seed: u64) -> f64 {
        let mut common = Common::new(Random::new(seed));
        let mut counted = Counted::new(1000, 8);
        counted.use_windows();
        let (mut told, mut window) = (0.0, 0);
        let mut next = match counted.start(at(0), &mut common) {
            Action::Burst(_) => 0,
            other => waited(other),
        };
        while next < calls {
            let end = calls.min(window + 700);
            if next >= end {
                let ended = counted.end_window(at(end), end - window, false, 8, &mut common.random);
                (told, window) = (told + ended.left as f64, end);
                let Wake::After(wait) = ended.next else { panic!("bursts come after calls") };
                next = end + wait;
                continue;
            }
            let recorded = 8.min(end - next);
            let ended = counted.end_burst(at(next + recorded), recorded, &mut common);
            told += ended.weight * recorded as f64;
            next += recorded + waited(ended.next);
        }
        told + counted.end_window(at(calls), calls - window, false, 8, &mut common.random).left as f64
    }

    #[test]
    fn in_windows_all_calls_are_told_of_once() {
        for calls in [1_000, 1_001, 1_500, 20_000] {
            let other = (0..300).map(|seed| told_in_windows(calls, seed)).find(|told| (told - calls as f64).abs() > 1e-6);
            assert_eq!(other, None, "{calls}");
        }
        for calls in [50, 400, 900] {
            let mean = (0..4000).map(|seed| told_in_windows(calls, seed)).sum::<f64>() / 4000.0;
            assert!((mean / calls as f64 - 1.0).abs() < 0.15, "of threads that make {calls} some stand for the others: {mean}");
        }
    }

    #[test]
    fn what_a_window_leaves_is_no_part_of_the_next_one() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(1000, 8);
        let first = 60 + waited(counted.start(at(60), &mut common));
        assert_eq!(
            counted.end_window(at(50), 300, true, 8, &mut common.random),
            EndedWindow { left: 0, is_even: true, next: Wake::After(first - 50) },
            "no burst yet"
        );
        assert_eq!(counted.end_burst(at(58), 8, &mut common).weight, 1000.0 / 8.0, "as it was placed");
        let EndedWindow { left: 12, next: Wake::After(next), .. } = counted.end_window(at(70), 300, true, 8, &mut common.random) else {
            panic!("12 are left")
        };
        assert!((1..=100).contains(&next), "the next one comes as soon as in any other window: {next}");
        assert_eq!(counted.end_burst(at(80), 8, &mut common).weight, 10.0 / 8.0);
    }

    #[test]
    fn a_timed_burst_begins_at_random_within_the_calls_of_the_last_interval() {
        let mut starts = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let mut common = Common::new(Random::new(seed));
            let mut timed = Timed::new(4, Start::Random);
            let action = timed.poll(at(20), TICK, &mut common);
            let skip = if action == Action::Burst(Span::Calls(4)) { 0 } else { waited(action) };
            starts.insert(skip);
            if skip > 0 {
                assert_eq!(timed.poll(at(20 + skip), None, &mut common), Action::Burst(Span::Calls(4)));
            }
            assert_eq!(timed.end_burst(4), Ended { weight: 5.0, next: Action::Wait(Wake::Tick) });
        }
        assert_eq!(starts.into_iter().collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn an_interval_that_ends_before_its_burst_leaves_its_calls_to_the_next() {
        let mut common = Common::new(Random::new(1));
        let mut timed = Timed::new(4, Start::Random);
        assert!(waited(timed.poll(at(1000), TICK, &mut common)) > 5);
        // The next tick comes after five calls only: the burst is due anew, within five calls.
        let action = timed.poll(at(1005), TICK, &mut common);
        assert_eq!(common.counters.intervals_missed, 1);
        if action != Action::Burst(Span::Calls(4)) {
            timed.poll(at(1005 + waited(action)), None, &mut common);
        }
        assert_eq!(timed.end_burst(3).weight, 1005.0 / 3.0);
        assert_eq!(timed.poll(at(1020), None, &mut common), Action::Wait(Wake::Tick));
    }

    #[test]
    fn a_burst_that_saw_no_call_leaves_its_calls_to_the_next() {
        let mut common = Common::new(Random::new(1));
        let mut timed = Timed::new(4, Start::Tick);
        assert_eq!(timed.poll(at(10), TICK, &mut common), Action::Burst(Span::Calls(4)));
        assert_eq!(timed.end_burst(0).weight, 0.0);
        timed.poll(at(30), TICK, &mut common);
        assert_eq!(timed.end_burst(3).weight, 10.0);
    }
}
