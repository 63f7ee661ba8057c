//! Our own sampler: short bursts at random calls, each worth exactly the calls that it stands for.
//!
//! Without windows the weight of a burst's calls is the exact number of calls since the last burst by the calls in this one; among a thread's first calls, and of a burst that was cut off, the mean number from burst to burst (Horvitz-Thompson estimates).
//! - [`Counted`]: bursts come every so many calls, at random; time plays no part, so neither density nor latency can bias it.
//! - [`Timed`]: each tick asks for a burst after a random number of calls, up to those of the interval before it.
//!
//! One file, since both are one estimator with two ways to say when; half of it is tests.
//!
//! In: ticks, exact call counts, random numbers. Out: bursts (single samples, where a burst is one call) and their weights.
//! Invariant: without windows, weights times recorded calls add up to the calls made but for those at a thread's beginning, which are told right in the mean of many threads, and at its end, after its last burst's interval. In windows a weight says what a call counts for beside the window's other ones, by how likely
//! it was to be recorded, and what all of them stand for together is told when the window ends: what lies between a burst and the window's beginning depends on where that is, and a program that does the same whenever a window begins would show it.

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

/// Bursts after which a thread has made so many calls that they are told as they are.
const FEW: u64 = 3;

/// Calls of which windows have told.
#[derive(Clone, Copy, Default, Debug)]
struct Told {
    /// The call behind which they lie.
    from: u64,
    /// Among so many from there on the thread's first burst was placed, if it was.
    first: u64,
    /// Up to this call a thread has made so few that of many threads those that met a burst are to stand for the others, and each call for one in the mean. If the number of calls of each were told as it is, calls would weigh more where they are
    /// recorded alone.
    enough: u64,
    /// How many they are, so far.
    calls: f64,
}

impl Told {
    fn are_few(&self, calls: u64) -> bool {
        calls < self.enough
    }

    /// The thread has made so many calls by now, of which those that were recorded stand for so many.
    fn until(&self, calls: u64, recorded: f64) -> f64 {
        let told = if self.are_few(calls) { recorded } else { (calls - self.from) as f64 };
        told.max(self.calls)
    }

    /// The thread has made so many calls, and its next burst is far away: calls are told as they are behind those for which the last one stands.
    fn end_with(&mut self, calls: u64) {
        self.enough = self.from + (calls - self.from).next_multiple_of(self.first);
    }
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
    /// From burst to burst when that one was placed, in the mean.
    spacing: u64,
    /// Calls of the next burst, if that had begun before the window.
    cut: Option<u32>,
    /// Calls of the present one, if nothing cuts it off.
    whole: u32,
    /// The call at which the last burst ended.
    ended: u64,
    /// For how many calls those stand that were recorded, once there was a burst.
    recorded: Option<f64>,
    rest: Rest,
    /// In the present brief window.
    bursts: u64,
    told: Told,
    /// Calls that the last stack walk must be spread over.
    price: u64,
}

impl Counted {
    pub(super) fn new(mean: u64, burst: u32) -> Counted {
        Counted {
            asked: mean,
            mean,
            asked_burst: burst,
            burst,
            due: 0,
            spacing: mean,
            cut: None,
            whole: burst,
            ended: 0,
            recorded: None,
            rest: Rest::Lost,
            bursts: 0,
            told: Told::default(),
            price: 0,
        }
    }

    /// See [`Sampler::use_windows`](super::Sampler::use_windows).
    pub(super) fn use_windows(&mut self) {
        self.rest = Rest::Left;
    }

    /// Any of the first `mean` calls is as likely to be in the first burst, which stands for `mean` calls if it is whole, not for those that went before it: of many short threads few are sampled, but they count for the others.
    pub(super) fn start(&mut self, at: Moment, common: &mut Common) -> Action {
        self.place_first(at, &mut common.random);
        if self.due == at.calls && self.rest == Rest::Lost {
            return self.poll(at, common);
        }
        self.wait(at, self.due - at.calls)
    }

    pub(super) fn poll(&mut self, at: Moment, common: &mut Common) -> Action {
        if at.calls < self.due {
            return Action::Wait(Wake::After(self.due - at.calls));
        }
        common.tick += 1;
        if self.burst > 1 {
            self.whole = self.cut.take().unwrap_or(self.burst);
            return begin(self.whole);
        }
        match self.end_burst(at, 1, common) {
            Ended { weight, next: Action::Wait(next) } => Action::Top { weight, next },
            Ended { next, .. } => next,
        }
    }

    /// A burst is over in which so many calls were recorded, or a sample of one.
    pub(super) fn end_burst(&mut self, at: Moment, calls: u64, common: &mut Common) -> Ended {
        let of_whole = share(self.spacing, u64::from(self.burst));
        let is_whole = calls >= u64::from(self.whole);
        let are_few = self.told.are_few(at.calls);
        let mut weight = 0.0;
        // One that saw nothing leaves its calls to the next.
        if calls > 0 {
            let since = at.calls.saturating_sub(std::mem::replace(&mut self.ended, at.calls));
            *self.recorded.get_or_insert(0.0) += of_whole * calls as f64;
            weight = match self.rest {
                Rest::Lost if is_whole && !are_few => share(since, calls),
                _ => of_whole,
            };
        }
        let next = match are_few {
            true if is_whole => self.wait_for_nth(at, &mut common.random),
            true => self.go_on(at, calls),
            false => self.wait_for_next(at, &mut common.random),
        };
        Ended { weight, next }
    }

    /// What is left of a burst that a window cut off is recorded in the next one.
    fn go_on(&mut self, at: Moment, calls: u64) -> Action {
        self.cut = Some(self.whole - calls as u32);
        self.wait(at, 0)
    }

    /// With the first one anywhere, each call is as likely to be recorded as any other where bursts are always as far apart, and where they begin to come at random as if they always had.
    fn wait_for_nth(&mut self, at: Moment, random: &mut Random) -> Action {
        if self.price > self.spacing {
            self.told.end_with(at.calls);
        }
        let (skip, left) = (self.skipped(), self.told.enough - at.calls);
        if skip < left {
            return self.wait(at, skip);
        }
        self.spacing = self.mean.max(self.price);
        let skip = left + self.skip_under_way(random);
        self.wait(at, skip)
    }

    /// A window that calls much more than the one before would be made of bursts: each time that it has had many, they come half as often, but not more rarely than was asked for.
    fn thin_out(&mut self) {
        self.bursts += 1;
        if self.bursts.is_multiple_of(tuning::WINDOW_MANY) {
            self.mean = self.mean.max((2 * self.mean).min(self.asked));
        }
    }

    /// Where stacks are deep, bursts are rarer, and weigh more. `price` in counted calls.
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
        // The first burst stays as it was placed.
        let burst = self.recorded.map_or(self.burst, |_| (u64::from(burst).min(mean / 2) as u32).max(self.asked_burst));
        (self.burst, self.mean) = (burst, mean.max(2 * u64::from(burst)));
        let mut calls = 0.0;
        if let Some(recorded) = self.recorded {
            calls = self.told.until(at.calls, recorded);
            if !self.told.are_few(at.calls) {
                self.cut = None;
                self.come_closer(at, random);
            }
        }
        EndedWindow { told: calls - std::mem::replace(&mut self.told.calls, calls), next: self.wake(at) }
    }

    /// A brief window begins, and others like it have gone before: any of its calls is as likely to be in a burst as any other. So one may have begun before; what would be left of it is recorded. What the window before was like tells how far
    /// bursts may be apart, but for a much longer one: they would skip this one, in which so many `calls` are expected.
    ///
    /// A thread's first burst stands for the calls among which it is placed, and those are of this window alone. Placed among calls of later ones, too, it would mostly come in none of a thread that calls little, and stand for many times what is there where it did.
    pub(super) fn begin_brief_window(&mut self, at: Moment, calls: u64, random: &mut Random) -> Wake {
        self.bursts = 0;
        self.mean = self.mean.min(self.asked.max(2 * u64::from(self.burst)));
        let mean = calls / tuning::WINDOW_BURSTS;
        if mean < self.mean {
            self.burst = (u64::from(self.burst).min(mean / 2) as u32).max(self.asked_burst);
            self.mean = mean.max(2 * u64::from(self.burst));
        }
        match self.recorded {
            Some(_) => {
                self.place(at, random);
                self.told = Told { from: at.calls, ..Told::default() };
            }
            None => self.place_first(at, random),
        }
        self.wake(at)
    }

    /// The next burst was placed when they were farther apart.
    fn come_closer(&mut self, at: Moment, random: &mut Random) {
        let spacing = self.mean.max(self.price);
        self.spacing = self.spacing.min(spacing).max(u64::from(self.burst));
        if self.due > at.calls + spacing {
            self.due = at.calls + 1 + random.below(spacing);
        }
    }

    /// Any of the next calls, as many as there are from burst to burst, is as likely to be in the first one as any other.
    fn place_first(&mut self, at: Moment, random: &mut Random) {
        self.spacing = self.mean.max(self.price);
        self.told = Told { from: at.calls, first: self.spacing, enough: at.calls + FEW * self.spacing, calls: 0.0 };
        let position = random.below(self.spacing);
        self.place_at(at, position, position.saturating_sub(self.length()));
    }

    /// Where the next burst is, of some that began long ago.
    fn place(&mut self, at: Moment, random: &mut Random) {
        self.spacing = self.mean.max(self.price);
        let (position, skip) = (random.below(self.spacing), self.skip_under_way(random));
        self.place_at(at, position, skip);
    }

    /// What is left of a burst is recorded, if that is where it is; or the next one begins after so many calls more than one.
    fn place_at(&mut self, at: Moment, position: u64, skip: u64) {
        self.cut = (position < self.length()).then_some(position as u32 + 1);
        self.due = at.calls + if self.cut.is_some() { 0 } else { 1 + skip };
    }

    /// Calls that a burst records from its beginning on.
    fn length(&self) -> u64 {
        if self.burst > 1 { u64::from(self.burst) } else { 0 }
    }

    /// What is left of a gap between bursts in which a window begins: the longer one is, the more likely that is, and anywhere in it.
    fn skip_under_way(&self, random: &mut Random) -> u64 {
        let most = self.most_skipped();
        loop {
            let (skip, left) = (self.skip(random), random.below(most));
            if left < skip {
                return left;
            }
        }
    }

    fn wake(&self, at: Moment) -> Wake {
        Wake::After(self.due.saturating_sub(at.calls))
    }

    fn wait_for_next(&mut self, at: Moment, random: &mut Random) -> Action {
        self.thin_out();
        self.spacing = self.mean.max(self.price);
        let skip = self.skip(random);
        self.wait(at, skip)
    }

    /// From the end of a burst to the start of the next: half of the mean up to one and a half, so that bursts keep no step with any loop, but for a thread's first ones.
    fn skip(&self, random: &mut Random) -> u64 {
        let least = self.skipped().div_ceil(2);
        (least + random.below(self.most_skipped() - least + 1)).max(1)
    }

    /// In the mean.
    fn skipped(&self) -> u64 {
        self.spacing - u64::from(self.burst) + u64::from(self.burst == 1)
    }

    fn most_skipped(&self) -> u64 {
        2 * self.skipped() - self.skipped().div_ceil(2)
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
            let (first, calls) = match counted.start(at(0), &mut common) {
                Action::Burst(Span::Calls(left)) => (0, left),
                other => (waited(other), 8),
            };
            assert!(first <= 92 && (1..=8).contains(&calls));
            if first > 0 {
                assert_eq!(counted.poll(at(first), &mut common), Action::Burst(Span::Calls(8)));
            }
            let end = first + calls;
            let ended = counted.end_burst(at(end), calls, &mut common);
            assert_eq!(ended.weight, 100.0 / 8.0, "also of what is left of one");
            let skip = waited(ended.next);
            assert_eq!(skip, 92);
            assert_eq!(counted.poll(at(end + 1), &mut common), Action::Wait(Wake::After(skip - 1)), "asked too early");
            assert_eq!(counted.poll(at(end + skip), &mut common), Action::Burst(Span::Calls(8)));
            let (mut ended, mut last) = (counted.end_burst(at(end + skip + 8), 8, &mut common), end + skip + 8);
            for _ in 0..4 {
                let end = last + waited(ended.next) + 8;
                ended = counted.end_burst(at(end), 8, &mut common);
                let wanted = if end < 300 { 100 } else { end - last };
                assert_eq!(ended.weight, wanted as f64 / 8.0);
                last = end;
            }
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

    /// In brief windows, of which there have been some in its first thousand calls: bursts of up to 8 calls, one in a thousand calls or more.
    fn in_brief_windows(common: &mut Common) -> Counted {
        let mut counted = Counted::new(1000, 8);
        counted.use_windows();
        counted.end_burst(at(0), 8, common);
        counted
    }

    /// Begins a brief window and makes so many calls in it: the first of each burst, how many it has recorded, and the weight of each.
    fn brief_window(counted: &mut Counted, begin: u64, calls: u64, common: &mut Common) -> Vec<(u64, u64, f64)> {
        let first = counted.begin_brief_window(at(begin), u64::MAX, &mut common.random);
        bursts_in_window(counted, first, begin, calls, common)
    }

    fn bursts_in_window(counted: &mut Counted, first: Wake, begin: u64, calls: u64, common: &mut Common) -> Vec<(u64, u64, f64)> {
        let Wake::After(mut next) = first else { panic!("bursts come after calls") };
        let mut bursts = Vec::new();
        while next < calls {
            let Action::Burst(Span::Calls(span)) = counted.poll(at(begin + next), common) else { panic!("{next} is due") };
            let recorded = span.min(calls - next);
            let ended = counted.end_burst(at(begin + next + recorded), recorded, common);
            bursts.push((next + 1, recorded, ended.weight));
            next += recorded + waited(ended.next);
        }
        bursts
    }

    #[test]
    fn any_call_of_a_brief_window_is_as_likely_to_be_recorded_as_any_other() {
        const WINDOWS: usize = 60_000;
        let calls = 40 * tuning::WINDOW_BURSTS;
        for price in [0, 60] {
            let mut common = Common::new(Random::new(5));
            let mut counted = in_brief_windows(&mut common);
            counted.end_window(at(1000), calls, true, 8, &mut common.random);
            counted.walked(price);
            let mut recorded = vec![0.0; calls as usize + 1];
            for window in 1..=WINDOWS as u64 {
                for (first, calls, _) in brief_window(&mut counted, 1000 + window * calls, calls, &mut common) {
                    (first..first + calls).for_each(|call| recorded[call as usize] += 1.0 / WINDOWS as f64);
                }
            }
            let likely = 8.0 / price.max(40) as f64;
            let off = (1..recorded.len()).find(|&call| (recorded[call] / likely - 1.0).abs() > 0.05);
            assert_eq!(off, None, "{likely}: {recorded:?}");
        }
    }

    #[test]
    fn a_window_that_calls_much_more_than_the_last_is_not_made_of_bursts() {
        let mut told = 0.0;
        for seed in 0..200 {
            let mut common = Common::new(Random::new(seed));
            let mut counted = in_brief_windows(&mut common);
            counted.end_window(at(1000), 20 * tuning::WINDOW_BURSTS, true, 8, &mut common.random);
            let bursts = brief_window(&mut counted, 1000, 100_000, &mut common);
            assert!((100..300).contains(&bursts.len()), "a hundred of the usual distance, and some before: {}", bursts.len());
            let weights: Vec<_> = bursts.iter().map(|burst| burst.2).collect();
            assert!(weights.is_sorted() && weights[0] == 20.0 / 8.0 && weights.ends_with(&[1000.0 / 8.0]), "{weights:?}");
            told += bursts.iter().map(|burst| burst.1 as f64 * burst.2).sum::<f64>();
            assert_eq!(counted.end_window(at(101_000), 100_000, true, 8, &mut common.random).told, 100_000.0);
        }
        assert!((told / 200.0 / 100_000.0 - 1.0).abs() < 0.03, "by the chance of each burst: {told}");
    }

    #[test]
    fn a_window_that_calls_much_more_than_the_last_is_not_made_of_single_samples() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(1000, 1);
        counted.use_windows();
        counted.poll(at(0), &mut common);
        counted.end_window(at(1000), 2 * tuning::WINDOW_BURSTS, true, 1, &mut common.random);
        let Wake::After(mut next) = counted.begin_brief_window(at(1000), u64::MAX, &mut common.random) else {
            panic!("samples come after calls")
        };
        let mut samples = 0;
        while next < 100_000 {
            next += waited(counted.poll(at(1000 + next), &mut common));
            samples += 1;
        }
        assert!((100..500).contains(&samples), "a hundred of the usual distance, and some before: {samples}");
    }

    #[test]
    fn a_brief_window_has_bursts_whatever_the_one_before_was_like() {
        let mut common = Common::new(Random::new(5));
        let mut counted = in_brief_windows(&mut common);
        counted.end_window(at(0), 5_000_000, false, 8, &mut common.random);
        assert!(!brief_window(&mut counted, 100, 1500, &mut common).is_empty());
        counted.walked(50_000);
        let bursts: usize = (1..=20).map(|window| brief_window(&mut counted, window * 1500, 1500, &mut common).len()).sum();
        assert!(bursts < 5, "their walks are to be paid for: {bursts}");
    }

    #[test]
    fn a_brief_window_behind_a_time_in_which_all_calls_were_counted_has_bursts() {
        for seed in 0..50 {
            let mut common = Common::new(Random::new(seed));
            let mut counted = in_brief_windows(&mut common);
            counted.end_window(at(0), 5_000_000, false, 8, &mut common.random);
            let first = counted.begin_brief_window(at(100), 40 * tuning::WINDOW_BURSTS, &mut common.random);
            assert!(matches!(first, Wake::After(calls) if calls <= 2 * 40), "{first:?} in some {} calls", 40 * tuning::WINDOW_BURSTS);
        }
    }

    /// Threads that make fewer calls than there are from burst to burst, as many, and many more.
    #[test]
    fn each_call_of_a_thread_counts_for_one() {
        const THREADS: usize = 100_000;
        let usual = 40 * tuning::WINDOW_BURSTS;
        for (is_brief, calls, most) in
            [(false, 20, 0.1), (false, 250, 0.1), (false, 590, 0.1), (false, 2000, 0.15), (true, 5, 0.1), (true, 30, 0.1), (true, 50, 0.1)]
        {
            let mut counts = vec![0.0; calls as usize + 1];
            let mut common = Common::new(Random::new(5));
            for _ in 0..THREADS {
                let mut counted = Counted::new(200, 8);
                counted.use_windows();
                let first = match counted.start(at(0), &mut common) {
                    Action::Wait(first) if !is_brief => first,
                    _ => counted.begin_brief_window(at(0), usual, &mut common.random),
                };
                let bursts = bursts_in_window(&mut counted, first, 0, calls, &mut common);
                let told = counted.end_window(at(calls), calls, is_brief, 8, &mut common.random).told;
                let sum: f64 = bursts.iter().map(|burst| burst.1 as f64 * burst.2).sum();
                for (first, recorded, weight) in bursts {
                    (first..first + recorded).for_each(|call| counts[call as usize] += weight * told / sum / THREADS as f64);
                }
            }
            let off = (1..counts.len()).find(|&call| (counts[call] - 1.0_f64).abs() > most);
            assert_eq!(off, None, "{calls} calls: {counts:?}");
        }
    }

    /// The window turns out to be one in which all calls are counted, and contexts are new.
    #[test]
    fn a_first_burst_that_was_placed_in_a_brief_window_stays_as_it_is() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(1000, 8);
        counted.use_windows();
        counted.start(at(0), &mut common);
        counted.begin_brief_window(at(0), 0, &mut common.random);
        counted.end_window(at(0), 100_000, false, 30, &mut common.random);
        let mut at_calls = 0;
        while counted.poll(at(at_calls), &mut common) != begin(8) {
            at_calls += 1;
            counted.cut = None;
        }
        let ended = counted.end_burst(at(at_calls + 8), 8, &mut common);
        assert_eq!((ended.weight, waited(ended.next)), (2.0, 8), "eight of sixteen");
    }

    /// It would stand for a thousand calls of each of the times for which the window stands, which has fewer.
    #[test]
    fn the_first_burst_of_a_thread_in_brief_windows_stands_for_calls_of_one() {
        const THREADS: u64 = 4000;
        let usual = 100 * tuning::WINDOW_BURSTS;
        for (exact, calls) in [(0, 30), (0, 70), (0, usual), (200, 30), (200, usual)] {
            let mut sum = 0.0;
            for seed in 0..THREADS {
                let mut common = Common::new(Random::new(seed));
                let mut counted = Counted::new(1000, 8);
                counted.use_windows();
                let first = match counted.start(at(0), &mut common) {
                    Action::Burst(_) => 0,
                    other => waited(other),
                };
                bursts_in_window(&mut counted, Wake::After(first), 0, exact, &mut common);
                counted.end_window(at(exact), usual, true, 8, &mut common.random);
                let first = counted.begin_brief_window(at(exact), usual, &mut common.random);
                bursts_in_window(&mut counted, first, exact, calls, &mut common);
                let told = counted.end_window(at(exact + calls), calls, true, 8, &mut common.random).told;
                assert!(told <= calls.max(100) as f64, "{told} of {calls}");
                sum += told;
            }
            let mean = sum / THREADS as f64;
            assert!((mean / calls as f64 - 1.0).abs() < 0.1, "threads that make {calls} calls stand for each other: {mean}");
        }
    }

    #[test]
    fn bursts_of_a_window_take_half_of_its_calls_at_most() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(1000, 8);
        counted.end_burst(at(0), 8, &mut common);
        for (of_window, longest, burst, mean) in
            [(3000, 64, 64, 1000), (3000, 8, 8, 1000), (3000, 600, 500, 1000), (100, 600, 50, 100), (10, 600, 8, 16)]
        {
            counted.end_window(at(0), of_window * tuning::WINDOW_BURSTS, true, longest, &mut common.random);
            assert_eq!(counted.poll(at(10_000), &mut common), begin(burst));
            let burst = u64::from(burst);
            assert!(((mean - burst) / 2..=mean * 3 / 2).contains(&waited(counted.end_burst(at(0), burst, &mut common).next)));
        }
    }

    /// What bursts and windows of so many calls tell of a thread that makes so many.
    fn told_in_windows(burst: u32, length: u64, calls: u64, seed: u64) -> f64 {
        let mut common = Common::new(Random::new(seed));
        let mut counted = Counted::new(1000, burst);
        counted.use_windows();
        let (mut told, mut window) = (0.0, 0);
        let mut next = waited(counted.start(at(0), &mut common));
        while next < calls {
            let end = calls.min(window + length);
            if next >= end {
                let ended = counted.end_window(at(end), end - window, false, burst, &mut common.random);
                (told, window) = (told + ended.told, end);
                let Wake::After(wait) = ended.next else { panic!("bursts come after calls") };
                next = end + wait;
                continue;
            }
            let Action::Burst(Span::Calls(span)) = counted.poll(at(next), &mut common) else { panic!("{next} is due") };
            let recorded = span.min(end - next);
            let ended = counted.end_burst(at(next + recorded), recorded, &mut common);
            next += recorded + waited(ended.next);
        }
        told + counted.end_window(at(calls), calls - window, false, burst, &mut common.random).told
    }

    #[test]
    fn in_windows_all_calls_are_told_of_once() {
        // The second: a burst goes on from one window to the next ones.
        for (burst, length) in [(8, 700), (64, 12)] {
            let told = |calls, seed| told_in_windows(burst, length, calls, seed);
            for calls in [3_000, 3_001, 20_000] {
                let other = (0..300).map(|seed| told(calls, seed)).find(|told| (told - calls as f64).abs() > 1e-6);
                assert_eq!(other, None, "{calls}");
            }
            for calls in [50, 400, 900, 1_100, 2_000] {
                let mean = (0..40_000).map(|seed| told(calls, seed)).sum::<f64>() / 40_000.0;
                assert!((mean / calls as f64 - 1.0).abs() < 0.15, "of threads that make {calls} some stand for the others: {mean}");
            }
        }
    }

    /// Bursts are so far apart then that none would come for long.
    #[test]
    fn calls_of_a_thread_with_deep_stacks_are_told_as_they_are_from_its_first_burst_on() {
        for seed in 0..100 {
            let mut common = Common::new(Random::new(seed));
            let mut counted = Counted::new(1000, 8);
            counted.use_windows();
            let first = waited(counted.start(at(0), &mut common));
            let Action::Burst(Span::Calls(recorded)) = counted.poll(at(first), &mut common) else { panic!("it is due") };
            counted.walked(20_000);
            counted.end_burst(at(first + recorded), recorded, &mut common);
            if recorded == 8 {
                assert_eq!(counted.end_window(at(1001), 1001, false, 8, &mut common.random).told, 1001.0);
            }
        }
    }

    #[test]
    fn what_a_window_leaves_is_no_part_of_the_next_one() {
        let mut common = Common::new(Random::new(5));
        let mut counted = Counted::new(1000, 8);
        counted.use_windows();
        let first = waited(counted.start(at(0), &mut common));
        let ended = counted.end_window(at(first - 5), 100 * tuning::WINDOW_BURSTS, true, 8, &mut common.random);
        assert_eq!(ended, EndedWindow { told: 0.0, next: Wake::After(5) }, "no burst yet");
        let ended = counted.end_burst(at(first + 8), 8, &mut common);
        assert_eq!(ended.weight, 1000.0 / 8.0, "as it was placed");
        let due = waited(ended.next);
        let (mut end, mut due) = (first + 8, due);
        for _ in 0..4 {
            end += due + 8;
            due = waited(counted.end_burst(at(end), 8, &mut common).next);
        }
        let end = end + due - 1;
        let ended = counted.end_window(at(end), 100 * tuning::WINDOW_BURSTS, true, 8, &mut common.random);
        assert_eq!(ended.told, end as f64, "what comes behind the last burst belongs to it");
        let Wake::After(next) = ended.next else { panic!("bursts come after calls") };
        assert!((1..=100).contains(&next), "the next one comes as soon as in any other window: {next}");
        assert_eq!(counted.end_burst(at(end + 8), 8, &mut common).weight, 100.0 / 8.0);
        assert_eq!(counted.end_window(at(end + 18), 100 * tuning::WINDOW_BURSTS, true, 8, &mut common.random).told, 18.0);
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
