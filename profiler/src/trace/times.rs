//! Time in a trace: the stamps of a thread, in the clock of the whole file.
//!
//! A stamp is the clock's value just before an event. Stamps may be as rare as the writer likes; the events between two of them are spread evenly ([`Times`]).

/// When an event of a thread happened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stamp {
    /// The event that followed, counted from the first of the block or of the thread in which the stamp stands; their number for a stamp after the last.
    pub at: u64,
    /// In the trace's clock.
    pub cycles: u64,
}

/// The time of each event of a block or of a thread, in the trace's clock: that of its stamp, or on the straight line between the stamps around it.
#[derive(Clone, Debug)]
pub struct Times<'a> {
    next: u64,
    events: u64,
    last: Stamp,
    stamps: &'a [Stamp],
    /// Where the events after the last stamp go to.
    end: Option<u64>,
}

impl<'a> Times<'a> {
    /// The times of `events` events that begin not before `start`. After the last stamp time goes on to `end`, or stands still.
    pub fn new(start: u64, stamps: &'a [Stamp], end: Option<u64>, events: u64) -> Self {
        Times { next: 0, events, last: Stamp { at: 0, cycles: start }, stamps, end }
    }

    fn following(&self) -> Option<Stamp> {
        self.stamps.first().copied().or_else(|| self.end.map(|cycles| Stamp { at: self.events, cycles }))
    }
}

impl Iterator for Times<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.next == self.events {
            return None;
        }
        while let Some((&stamp, rest)) = self.stamps.split_first()
            && stamp.at <= self.next
        {
            (self.last, self.stamps) = (stamp, rest);
        }
        let passed = self.next - self.last.at;
        self.next += 1;
        let Some(following) = self.following() else { return Some(self.last.cycles) };
        let (cycles, events) = (following.cycles.saturating_sub(self.last.cycles), following.at - self.last.at);
        // Below `cycles`, as `passed < events`.
        let part = u128::from(cycles) * u128::from(passed) / u128::from(events);
        Some(self.last.cycles + part as u64)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.events - self.next) as usize;
        (left, Some(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(start: u64, stamps: &[(u64, u64)], end: Option<u64>, events: u64) -> Vec<u64> {
        let stamps: Vec<Stamp> = stamps.iter().map(|&(at, cycles)| Stamp { at, cycles }).collect();
        Times::new(start, &stamps, end, events).collect()
    }

    #[test]
    fn events_are_spread_evenly_between_stamps() {
        assert_eq!(times(0, &[(0, 10), (4, 50)], None, 6), [10, 20, 30, 40, 50, 50]);
        assert_eq!(times(0, &[(2, 10)], Some(30), 4), [0, 5, 10, 20]);
    }

    #[test]
    fn without_stamps_the_ends_of_the_thread_tell() {
        assert_eq!(times(7, &[], None, 3), [7, 7, 7]);
        assert_eq!(times(0, &[], Some(40), 4), [0, 10, 20, 30]);
        assert_eq!(times(0, &[], Some(40), 0), [0; 0]);
    }

    #[test]
    fn a_clock_that_steps_back_stands_still() {
        assert_eq!(times(100, &[(2, 50)], None, 3), [100, 100, 50]);
    }
}
