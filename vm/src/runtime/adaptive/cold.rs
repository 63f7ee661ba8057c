//! Optimized code that has gone cold: whose function nobody has called, and in which no tick has met a frame, for twice as long as the program had run before. Mostly the code of functions that have come into their callers since, and of loops that were
//! entered once.
//!
//! In: what was compiled, where ticks stand, how long the program has run. Out: what may be given up. As with compiling ([`super::model`]), what did not matter for so long is not expected to matter for as long again; if it does, it is compiled again.
//! Invariant: a pure state machine without a clock.

use super::model::Job;
use rustc_hash::FxHashMap;

/// Nanoseconds that a program has run when it is looked at for the first time: before, all that is compiled is new.
const FIRST: f64 = 5e8;
/// At each look the program has run so many times as long as at the one before. With less it is better known when code was met last, but more calls are slow, since they are noticed.
const STEP: f64 = 1.25;
/// Code is cold once the program has run so many times as long as when it was met last. With 2, what is called every so many seconds from the start on would be due just when it is called for the second time.
const PATIENCE: f64 = 3.0;

pub struct Cold {
    /// By entry.
    versions: FxHashMap<u64, Version>,
    /// Nanoseconds that the program will have run at the next look.
    next: f64,
}

struct Version {
    job: Job,
    /// Since the last look, or it is new.
    was_met: bool,
    /// Nanoseconds that the program had run at the last look that found it met.
    met: f64,
}

impl Default for Cold {
    fn default() -> Self {
        Cold { versions: FxHashMap::default(), next: FIRST }
    }
}

impl Cold {
    /// There is code for this from now on, instead of what there was.
    pub fn installed(&mut self, job: Job, entry: u64) {
        self.gone(job);
        self.versions.insert(entry, Version { job, was_met: true, met: 0.0 });
    }

    /// There is none any more.
    pub fn gone(&mut self, job: Job) {
        self.versions.retain(|_, version| version.job != job);
    }

    /// What there is code for, in an order that only depends on these.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs: Vec<Job> = self.versions.values().map(|version| version.job).collect();
        jobs.sort_unstable();
        jobs
    }

    /// A tick has met a frame of the code that begins here.
    pub fn met(&mut self, entry: u64) {
        if let Some(version) = self.versions.get_mut(&entry) {
            version.was_met = true;
        }
    }

    /// When it is time, after so many nanoseconds that the program has run: what is cold. `was_called`: since this was asked about it before; asked of all there is code for.
    pub fn look(&mut self, ran: f64, mut was_called: impl FnMut(Job) -> bool) -> Vec<Job> {
        if ran < self.next {
            return Vec::new();
        }
        self.next = STEP * ran;
        for version in self.versions.values_mut() {
            if was_called(version.job) | std::mem::take(&mut version.was_met) {
                version.met = ran;
            }
        }
        let cold = self.versions.values().filter(|version| ran >= PATIENCE * version.met);
        cold.map(|version| version.job).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jit::ir::FuncId;
    use jit::opt::Entry;

    fn start(func: u32) -> Job {
        Job { func: FuncId::from_u32(func), entry: Entry::Start }
    }

    #[test]
    fn code_is_cold_that_nobody_met_for_twice_as_long_as_the_program_had_run() {
        let mut cold = Cold::default();
        cold.installed(start(1), 100);
        cold.installed(start(2), 200);
        cold.installed(start(3), 300);
        let mut look = |ran: f64, met: &[u64], called: &[u32]| {
            met.iter().for_each(|&entry| cold.met(entry));
            let mut asked = 0;
            let found = cold.look(ran * FIRST, |job| {
                asked += 1;
                called.contains(&job.func.as_u32())
            });
            let mut found: Vec<u32> = found.iter().map(|job| job.func.as_u32()).collect();
            found.sort_unstable();
            (asked, found)
        };
        assert_eq!(look(0.9, &[], &[]), (0, vec![]), "all is new");
        assert_eq!(look(1.0, &[], &[]), (3, vec![]), "they are new");
        assert_eq!(look(1.2, &[], &[]), (0, vec![]), "not yet a quarter longer");
        assert_eq!(look(1.5, &[], &[2]), (3, vec![]));
        assert_eq!(look(2.0, &[300, 500], &[]), (3, vec![]), "what is met, perhaps at once before a look");
        assert_eq!(look(3.0, &[], &[]), (3, vec![1]), "three times as long as when it was new");
        assert_eq!(look(4.5, &[100], &[]), (3, vec![2]), "three times as long as when it was called");
        assert_eq!(look(6.0, &[], &[2]), (3, vec![3]), "it was not given up, and was called");
    }

    #[test]
    fn code_that_was_replaced_does_not_count() {
        let mut cold = Cold::default();
        cold.installed(start(1), 100);
        cold.installed(start(2), 200);
        assert_eq!(cold.look(FIRST, |_| false), []);
        cold.gone(start(2));
        cold.installed(start(1), 400);
        assert_eq!(cold.look(2.0 * FIRST, |_| false), [], "it is new");
        cold.met(100);
        assert_eq!(cold.look(6.0 * FIRST, |_| false), [start(1)]);
        assert_eq!(cold.jobs(), [start(1)]);
    }
}
