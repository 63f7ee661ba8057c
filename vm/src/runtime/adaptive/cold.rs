//! Optimized code that has gone cold: whose function nobody has called, and in which no tick has met a frame, for as long as the program had run before. Mostly the code of functions that have come into their callers since, and of loops that were
//! entered once.
//!
//! In: what was compiled, where ticks stand, how long the program has run. Out: what may be given up. As with compiling ([`super::model`]), what did not matter for so long is not expected to matter for as long again; if it does, it is compiled again.
//! Invariant: a pure state machine without a clock.

use super::model::{Job, order};
use rustc_hash::FxHashMap;

/// Nanoseconds that a program has run when it is looked at for the first time: before, all that is compiled is new.
const FIRST: f64 = 5e8;

pub struct Cold {
    /// By entry.
    versions: FxHashMap<u64, Version>,
    /// Nanoseconds that the program will have run.
    next: f64,
}

struct Version {
    job: Job,
    /// Since the last look, or it is new.
    was_met: bool,
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
        self.versions.insert(entry, Version { job, was_met: true });
    }

    /// There is none any more.
    pub fn gone(&mut self, job: Job) {
        self.versions.retain(|_, version| version.job != job);
    }

    /// What there is code for, in an order that only depends on these.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs: Vec<Job> = self.versions.values().map(|version| version.job).collect();
        jobs.sort_unstable_by_key(order);
        jobs
    }

    /// A tick has met a frame of the code that begins here.
    pub fn met(&mut self, entry: u64) {
        if let Some(version) = self.versions.get_mut(&entry) {
            version.was_met = true;
        }
    }

    /// When the program has run so long, in nanoseconds, twice as long as the last time: what there is code for, and whether a tick has met it since.
    pub fn look(&mut self, ran: f64) -> Option<Vec<(Job, bool)>> {
        if ran < self.next {
            return None;
        }
        self.next = 2.0 * ran;
        Some(self.versions.values_mut().map(|version| (version.job, std::mem::take(&mut version.was_met))).collect())
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
    fn code_is_cold_that_nobody_met_for_as_long_as_the_program_had_run() {
        let mut cold = Cold::default();
        cold.installed(start(1), 100);
        cold.installed(start(2), 200);
        let look = |cold: &mut Cold, ran| {
            let mut jobs = cold.look(ran)?;
            jobs.sort_unstable_by_key(|(job, _)| job.func);
            Some(jobs)
        };
        assert_eq!(look(&mut cold, 0.9 * FIRST), None);
        assert_eq!(look(&mut cold, FIRST), Some(vec![(start(1), true), (start(2), true)]), "they are new");
        cold.met(100);
        cold.met(300);
        assert_eq!(look(&mut cold, 1.9 * FIRST), None);
        assert_eq!(look(&mut cold, 2.1 * FIRST), Some(vec![(start(1), true), (start(2), false)]));
        assert_eq!(look(&mut cold, 4.1 * FIRST), None, "twice as long as the last time");
        cold.installed(start(1), 400);
        cold.gone(start(2));
        cold.met(100);
        assert_eq!(look(&mut cold, 4.2 * FIRST), Some(vec![(start(1), true)]));
        assert_eq!(look(&mut cold, 10.0 * FIRST), Some(vec![(start(1), false)]), "the code that was replaced does not count");
    }
}
