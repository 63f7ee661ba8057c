//! When the timer ticks, and for whom.
//!
//! In: a schedule ([`Ticks`]), or two that share one timer ([`Both`]). Out: when the next tick is due ([`Due`]), for the timer's thread ([`World::run_timer`](super::safepoint::World::run_timer)).
//! Invariant: time in which the process was stopped does not count, nor does time in which no thread of the program ran. Of a process with several busy threads a stop is not seen that is made up for on other processors between two ticks.

use super::processors;
use std::time::{Duration, Instant};

/// For whom a tick is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tick {
    /// For the profiler: when it was raised, in its cycles.
    pub sampled: Option<u64>,
    /// One of those that come at the program's own pace.
    pub is_pace: bool,
}

impl Tick {
    fn and(self, other: Tick) -> Tick {
        Tick { sampled: self.sampled.or(other.sampled), is_pace: self.is_pace || other.is_pace }
    }
}

/// What the timer does, and when.
pub trait Ticks: Send {
    /// From one tick to the next.
    fn interval(&mut self) -> Duration;

    /// Right before a tick is raised: gives what those who notice it are told.
    fn before(&mut self) -> Tick;

    /// Right after it was raised.
    fn after(&mut self) {}

    /// No thread has run for so long since this was told last: the next tick comes so much later.
    fn idled(&mut self, _time: Duration) {}
}

/// The program's own pace: always the same time from tick to tick.
impl Ticks for Duration {
    fn interval(&mut self) -> Duration {
        *self
    }

    fn before(&mut self) -> Tick {
        Tick { is_pace: true, ..Tick::default() }
    }
}

/// Two schedules on one timer, neither of which changes the other's pace.
pub struct Both {
    parts: [Part; 2],
}

struct Part {
    ticks: Box<dyn Ticks>,
    /// Until its next tick, from the last one of either.
    left: Duration,
}

impl Part {
    fn is_due(&self) -> bool {
        self.left.is_zero()
    }
}

impl Both {
    pub fn new(one: Box<dyn Ticks>, other: Box<dyn Ticks>) -> Both {
        Both { parts: [one, other].map(|ticks| Part { ticks, left: Duration::ZERO }) }
    }

    fn due(&mut self) -> impl Iterator<Item = &mut Part> {
        self.parts.iter_mut().filter(|part| part.is_due())
    }
}

impl Ticks for Both {
    fn interval(&mut self) -> Duration {
        self.due().for_each(|part| part.left = part.ticks.interval());
        let next = self.parts.iter().map(|part| part.left).min().unwrap_or_default();
        self.parts.iter_mut().for_each(|part| part.left -= next);
        next
    }

    fn before(&mut self) -> Tick {
        self.due().fold(Tick::default(), |tick, part| tick.and(part.ticks.before()))
    }

    fn after(&mut self) {
        self.due().for_each(|part| part.ticks.after());
    }

    fn idled(&mut self, time: Duration) {
        self.parts.iter_mut().for_each(|part| part.ticks.idled(time));
    }
}

/// Where a process has used so much less time on processors than has passed, it was stopped, or others had them. Not less: the system knows of threads that run what they have used up to its last own tick.
const STOPPED: Duration = Duration::from_millis(10);

/// A moment: on the clock, and what the process had used of processors by then.
#[derive(Clone, Copy)]
struct Moment {
    at: Instant,
    /// [`Duration::MAX`] where the system does not tell: then no time is ever missing.
    used: Duration,
}

impl Moment {
    fn now() -> Moment {
        Moment { at: Instant::now(), used: processors::used().unwrap_or(Duration::MAX) }
    }

    /// How much less than time has passed since then the process has used.
    fn missed(self, since: Moment) -> Duration {
        let used = if self.used == Duration::MAX { Duration::MAX } else { self.used.saturating_sub(since.used) };
        (self.at - since.at).saturating_sub(used)
    }
}

/// The calling thread's sleeps end when they are to, as nearly as the system can. Linux otherwise lets them last up to 50 us longer, to end several at once: as long as a window of the profiler is to last.
pub fn be_punctual() {
    #[cfg(target_os = "linux")]
    {
        const NANOSECONDS: libc::c_ulong = 1;
        // SAFETY: it takes a number, and changes nothing but how long the thread's own sleeps may last. If it fails they last as long as before.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, NANOSECONDS) };
    }
}

/// When the next tick comes.
pub struct Due {
    at: Instant,
    /// What comes after it is not reckoned with yet.
    since: Moment,
}

impl Due {
    /// From now on.
    pub fn after(interval: Duration) -> Due {
        let since = Moment::now();
        Due { at: since.at + interval, since }
    }

    /// It comes later by a time in which no thread ran: one that runs for less than an interval at a time would meet no tick otherwise.
    pub fn idled(&mut self, time: Duration) {
        self.at += time;
        self.since.at += time;
    }

    pub fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// Once it has come: if the process was stopped meanwhile, it comes later by how long it was.
    pub fn put_off(&mut self) -> Option<Duration> {
        self.put_off_at(Moment::now())
    }

    fn put_off_at(&mut self, now: Moment) -> Option<Duration> {
        let missed = now.missed(self.since);
        // Less may be nothing, or add up.
        if !missed.is_zero() && missed < STOPPED {
            return None;
        }
        self.since = now;
        self.at += missed;
        (!missed.is_zero()).then_some(missed)
    }

    /// The one after this. Missed ticks are not made up for.
    pub fn next(self, interval: Duration) -> Due {
        Due { at: (self.at + interval).max(Instant::now() + interval / 2), since: self.since }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For a profiler, at these times after each other.
    struct Listed(Vec<u64>);

    impl Ticks for Listed {
        fn interval(&mut self) -> Duration {
            Duration::from_micros(self.0.remove(0))
        }

        fn before(&mut self) -> Tick {
            Tick { sampled: Some(7), is_pace: false }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_punctual_thread_is_one_alone() {
        // SAFETY: it takes nothing, and tells a number.
        let slack = || unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        let before = slack();
        let there = std::thread::spawn(move || (be_punctual(), slack()).1);
        assert_eq!((there.join().unwrap(), slack()), (1, before));
    }

    #[test]
    fn two_schedules_keep_their_paces_and_their_listeners() {
        let mut both = Both::new(Box::new(Duration::from_millis(1)), Box::new(Listed(vec![300, 900, 800, 2500, 1])));
        let mut at = Duration::ZERO;
        let mut seen = Vec::new();
        for _ in 0..7 {
            at += both.interval();
            let Tick { sampled, is_pace } = both.before();
            seen.push((at.as_micros(), sampled, is_pace));
            both.after();
        }
        let (sampled, pace) = (Some(7), None);
        let expected = [
            (300, sampled, false),
            (1000, pace, true),
            (1200, sampled, false),
            (2000, sampled, true),
            (3000, pace, true),
            (4000, pace, true),
            (4500, sampled, false),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn time_in_which_the_process_was_stopped_does_not_count() {
        let ms = Duration::from_millis;
        let start = Moment { at: Instant::now(), used: ms(500) };
        let after = |at, used: u64| Moment { at: start.at + ms(at), used: ms(500 + used) };
        let mut due = Due { at: start.at + ms(30), since: start };
        assert_eq!(due.put_off_at(after(31, 25)), None, "it was not told of its last ticks yet");
        assert_eq!(due.put_off_at(after(71, 45)), Some(ms(26)));
        assert_eq!(due.at, start.at + ms(56));
        assert_eq!(due.put_off_at(after(171, 245)), None, "two processors");
        assert_eq!(due.put_off_at(after(191, 245)), Some(ms(20)));
        assert_eq!(
            [(195, 246), (199, 247), (203, 248)].map(|(at, used)| due.put_off_at(after(at, used))),
            [None, None, None],
            "nine in all"
        );
        assert_eq!(due.put_off_at(after(207, 249)), Some(ms(12)), "short stops add up");
        due.idled(ms(300));
        assert_eq!((due.at, due.put_off_at(after(511, 252))), (start.at + ms(388), None), "of that nothing is missing");
        let unknown = |at| Moment { used: Duration::MAX, ..after(at, 0) };
        assert_eq!(unknown(100).missed(unknown(0)), Duration::ZERO, "the system does not tell");
    }
}
