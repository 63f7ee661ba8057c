//! What a window takes from the calls it could have counted, since code runs in it that was not run just before: found in the windows themselves, for it differs by machine and by program.
//!
//! In: of windows that are longer than usual, what was called up to a moment by which code is warm, and from then on ([`Stretch`]). Out: nanoseconds a window ([`Warmup::nanos`]).
//!
//! Windows come at random times, so a program calls as fast in their first parts as in the rest of them, in the mean, but for what the first ones lose.

use profiler::tuning;
use std::sync::{Mutex, PoisonError};

/// A part of a window without its bursts.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub nanos: u64,
    pub calls: u64,
}

/// Sums over the last windows of all threads, each window less than the one behind it; by part.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    windows: f64,
    nanos: [f64; 2],
    calls: [f64; 2],
}

impl Sums {
    fn add(&mut self, parts: [Stretch; 2]) {
        const KEPT: f64 = 1.0 - 1.0 / tuning::WINDOW_WARMUP_WINDOWS;
        self.windows = self.windows * KEPT + 1.0;
        for (i, part) in parts.into_iter().enumerate() {
            self.nanos[i] = self.nanos[i] * KEPT + part.nanos as f64;
            self.calls[i] = self.calls[i] * KEPT + part.calls as f64;
        }
    }

    /// Of all of them together: what the first parts lack of the pace of the second ones.
    fn lost(&self) -> f64 {
        let usual = if self.calls[1] > 0.0 { self.calls[0] * self.nanos[1] / self.calls[1] } else { self.nanos[0] };
        (self.nanos[0] - usual).max(0.0)
    }
}

/// What is usual, until enough windows have told of theirs.
#[derive(Default, Debug)]
pub struct Warmup(Mutex<Sums>);

impl Warmup {
    /// Of a usual window.
    pub fn nanos(&self) -> f64 {
        let sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What is known beforehand counts as one window.
        (tuning::WINDOW_WARMUP + sums.lost()) / (1.0 + sums.windows)
    }

    pub fn tell(&self, first: Stretch, second: Stretch) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add([first, second]);
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

    #[test]
    fn what_first_parts_lack_of_the_pace_of_the_second_is_lost() {
        let near = |nanos: f64, of: f64| assert!((nanos - of).abs() < 0.1 * of, "{nanos} for {of}");
        assert_eq!(told([]), tuning::WINDOW_WARMUP);
        near(told([[(100_000, 8_000), (200_000, 20_000)]; 200]), 20_000.0);
        // Chance goes both ways: a phase begins or ends in the window.
        let phases = [[(100_000, 8_000), (200_000, 2_000)], [(100_000, 800), (200_000, 20_000)]];
        near(told(phases.into_iter().cycle().take(400)), 20_000.0);
        assert!(told([[(100_000, 11_000), (200_000, 20_000)]; 200]) < 200.0, "no window gains");
        assert!(told([[(100_000, 11_000), (200_000, 0)]; 200]) < 200.0, "nothing to compare with");
    }

    #[test]
    fn the_last_windows_count_most() {
        let (cold, warm) = ([(100_000, 6_000), (200_000, 20_000)], [(100_000, 10_000), (200_000, 20_000)]);
        let told = told(std::iter::repeat_n(cold, 100).chain(std::iter::repeat_n(warm, 100)));
        assert!(told < 4_000.0, "{told}");
    }
}
