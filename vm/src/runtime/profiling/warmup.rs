//! What a window takes from the calls it could have counted, since code runs in it that was not run just before: found in the windows themselves, for it differs by machine and by program.
//!
//! In: of windows that are longer than usual, what was called up to a moment by which code is warm, and from then on ([`Stretch`]). Out: nanoseconds a window ([`Warmup::nanos`]).
//!
//! Most windows lie in one phase of the program, so what their first parts lack of the pace of the rest is lost; those in which a phase begins or ends are left aside as the extremes that they are.

use profiler::tuning;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// A part of a window without its bursts.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub nanos: u64,
    pub calls: u64,
}

impl Stretch {
    /// What the first part lacks of the pace of the second, if that has one.
    fn lost(self, second: Stretch) -> Option<f64> {
        let has_pace = second.calls >= tuning::WINDOW_PACE_CALLS;
        has_pace.then(|| self.nanos as f64 - self.calls as f64 * second.nanos as f64 / second.calls as f64)
    }
}

/// The last windows of all threads; at first, as many as say what is usual.
#[derive(Debug)]
pub struct Warmup(Mutex<Lost>);

#[derive(Debug)]
struct Lost {
    windows: VecDeque<f64>,
    median: f64,
}

impl Default for Warmup {
    fn default() -> Self {
        let windows = VecDeque::from([tuning::WINDOW_WARMUP; KNOWN]);
        Warmup(Mutex::new(Lost { windows, median: tuning::WINDOW_WARMUP }))
    }
}

/// What is known beforehand counts as so many windows.
const KNOWN: usize = 2;

impl Warmup {
    /// Of a usual window.
    pub fn nanos(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).median.max(0.0)
    }

    pub fn tell(&self, first: Stretch, second: Stretch) {
        let Some(lost) = first.lost(second) else { return };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.windows.push_back(lost);
        if all.windows.len() > tuning::WINDOW_WARMUP_WINDOWS {
            all.windows.pop_front();
        }
        let mut sorted: Vec<f64> = all.windows.iter().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        all.median = if sorted.len() % 2 == 1 { sorted[middle] } else { sorted[middle - 1].midpoint(sorted[middle]) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(windows: impl IntoIterator<Item = [(u64, u64); 2]>) -> f64 {
        let warmup = Warmup::default();
        for [first, second] in windows.into_iter().map(|parts| parts.map(|(nanos, calls)| Stretch { nanos, calls })) {
            warmup.tell(first, second);
        }
        warmup.nanos()
    }

    const COLD: [(u64, u64); 2] = [(100_000, 8_000), (200_000, 20_000)];

    #[test]
    fn what_first_parts_lack_of_the_pace_of_the_second_is_lost() {
        assert_eq!(told([]), tuning::WINDOW_WARMUP);
        assert_eq!(told([COLD; 2]), tuning::WINDOW_WARMUP.midpoint(20_000.0), "what is known counts, too");
        assert_eq!(told([COLD; 200]), 20_000.0);
        assert_eq!(told([[(100_000, 80_000), (200_000, 20_000)]; 200]), 0.0, "no window gains");
        assert_eq!(
            told([[(100_000, 1_000), (200_000, tuning::WINDOW_PACE_CALLS - 1)]; 200]),
            tuning::WINDOW_WARMUP,
            "nothing to compare with"
        );
    }

    #[test]
    fn windows_in_which_phases_change_say_nothing() {
        let [ends, begins] = [[(100_000, 8_000), (200_000, 2_000)], [(100_000, 800), (200_000, 20_000)]];
        assert_eq!(told([COLD, ends, COLD, COLD, begins].into_iter().cycle().take(200)), 20_000.0);
    }

    #[test]
    fn the_last_windows_count() {
        let warm = [(100_000, 10_000), (200_000, 20_000)];
        assert_eq!(told(std::iter::repeat_n(COLD, 100).chain(std::iter::repeat_n(warm, tuning::WINDOW_WARMUP_WINDOWS))), 0.0);
    }
}
