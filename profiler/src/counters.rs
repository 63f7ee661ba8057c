//! Everything the profiler counts about itself: name, unit and description. With feature `export`, counters are an object of JSON with these names.
//!
//! In: samplers and their drivers (the virtual machine, or a replay) increment fields. Out: sums, and a table for people.
//! Invariant: counters only grow; those of threads are merged by adding.

use crate::tuning;

/// What a counter is called and counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Lower case, with hyphens.
    pub name: &'static str,
    /// Of the value, in the plural.
    pub unit: &'static str,
    /// A clause for people.
    pub description: &'static str,
}

macro_rules! counters {
    ($($field:ident, $name:literal, $unit:literal, $description:literal;)*) => {
        /// Counts of one thread or of a whole run.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        #[cfg_attr(feature = "export", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
        pub struct Counters {
            $(
                #[cfg_attr(feature = "export", serde(rename = $name))]
                #[doc = concat!("In ", $unit, ": ", $description, ".")]
                pub $field: u64,
            )*
        }

        impl Counters {
            /// Adds what another thread has counted.
            pub fn merge(&mut self, other: &Counters) {
                $(self.$field = self.$field.saturating_add(other.$field);)*
            }

            /// Every counter with its value, in the order of this file.
            pub fn all(&self) -> impl Iterator<Item = (Counter, u64)> + use<> {
                [$((Counter { name: $name, unit: $unit, description: $description }, self.$field)),*].into_iter()
            }
        }
    };
}

counters! {
    calls, "calls", "calls", "calls that the program has made, or is reckoned to have made where they were counted in windows";
    unmatched, "unmatched-returns", "returns", "returns without an open call, ignored";
    ticks, "ticks", "ticks", "ticks that a sampler was asked about";
    ticks_unaffordable, "ticks-unaffordable", "ticks", "ticks that were passed over since the walk of a deep stack was not yet paid for";
    ticks_merged, "ticks-merged", "ticks", "ticks that came while an earlier one still waited for the thread";
    samples, "samples", "samples", "stack walks and bursts that were handed over";
    samples_empty, "samples-empty", "samples", "samples that saw no call: no call was open, or none came in the burst";
    samples_dropped, "samples-dropped", "samples", "samples that were lost because a queue was full";
    threads_left, "threads-left", "threads", "threads that still ran when the program had ended, and whose last calls are missing";
    walks, "walks", "walks", "stack walks, for samples and for signatures";
    frames, "frames", "frames", "frames that stack walks have looked at";
    bursts, "bursts", "bursts", "bursts that were recorded";
    bursts_skipped, "bursts-skipped", "bursts", "bursts that the history table has prevented";
    bursts_re_enabled, "bursts-re-enabled", "bursts", "bursts of known signatures, compensated by the re-enable ratio";
    burst_calls, "burst-calls", "calls", "calls recorded in bursts";
    windows, "windows", "windows", "times in which calls were counted, where they were not counted all the time; several count as one in which a thread was blocked";
    calls_counted, "calls-counted", "calls", "calls that were counted in windows";
    calls_corrected, "calls-corrected", "calls", "calls among those reckoned that make up for what counting itself takes of a window";
    time_ran, "time-ran", "ns", "time that threads were on a processor, where calls were counted in windows";
    time_told, "time-told", "ns", "time that windows stand for: as much, but for threads that end early and are met by chance";
    intervals_missed, "intervals-missed", "intervals", "intervals that ended before the random start of their burst";
    repetitions, "repetitions", "samples", "stack walks whose top frame an earlier walk had seen";
}

impl Counters {
    /// Calls that were made, if they were counted all the time.
    pub fn counted_calls(&self) -> Option<u64> {
        (self.windows == 0 || self.calls_counted >= self.calls).then_some(self.calls)
    }

    /// Relative standard error of a factor that all numbers of calls have in common, and shares do not: where calls were counted in windows of time, how much counting slows down the windows of this program is only known in the mean
    /// over programs, so what makes up for it is taken to be as uncertain as it is large; a few windows say little of the time between them; and the time that windows stand for may be another than that which threads took. 0 where all calls
    /// were counted.
    pub fn scale_error(&self) -> f64 {
        if self.counted_calls().is_some() {
            return 0.0;
        }
        let part = |calls: u64| calls as f64 / self.calls as f64;
        let of_few = tuning::WINDOW_FEW / self.windows as f64 * (1.0 - part(self.calls_counted));
        let of_time = if self.time_told > 0 { self.time_ran as f64 / self.time_told as f64 - 1.0 } else { 0.0 };
        part(self.calls_corrected).hypot(tuning::WINDOW_SCALE).hypot(of_few).hypot(of_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_and_the_table_shows_each_counter_once() {
        let mut all = Counters { calls: 3, samples: 1, ..Counters::default() };
        all.merge(&Counters { calls: 4, repetitions: 2, ..Counters::default() });
        assert_eq!((all.calls, all.samples, all.repetitions), (7, 1, 2));
        let mut names: Vec<&str> = all.all().map(|(counter, _)| counter.name).collect();
        assert_eq!(all.all().map(|(_, value)| value).sum::<u64>(), 10);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn numbers_of_calls_share_an_error_where_windows_stand_for_more_than_they_counted() {
        let windows =
            |calls_counted, calls_corrected| Counters { calls: 1000, windows: 7, calls_counted, calls_corrected, ..Counters::default() };
        assert_eq!(Counters { calls: 1000, ..Counters::default() }.scale_error(), 0.0);
        assert_eq!(windows(1000, 0).scale_error(), 0.0);
        let least = tuning::WINDOW_SCALE.powi(2) + (tuning::WINDOW_FEW / 7.0 * 0.98).powi(2);
        let is = |counters: Counters, squares: f64| (counters.scale_error().powi(2) - squares).abs() < 1e-12;
        assert!(is(windows(20, 0), least) && is(windows(20, 100), least + 0.01));
        let timed = |time_told| Counters { time_ran: 1000, time_told, ..windows(20, 0) };
        assert!(is(timed(1000), least) && is(timed(500), least + 1.0) && is(timed(2000), least + 0.25));
    }
}
