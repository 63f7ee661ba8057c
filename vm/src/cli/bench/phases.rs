//! Parts of a run that are timed on their own, and the clocks that time them.

use super::runner::{Sample, Times};
use clap::ValueEnum;
use measure::stats;
use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Time {
    /// What passes
    #[default]
    Wall,
    /// On processors, of all threads together, with what compiles and collects beside the program
    Cpu,
}

/// Invariant: `First` and `Steady` are told only of runs with several iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The whole process, compiling included.
    Process,
    /// The first iteration.
    First,
    /// The median of the iterations that come after the warm-up.
    Steady,
}

/// How a program comes to its steady state, seen over all rounds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct WarmUp {
    /// Iterations that are no part of the steady state.
    pub iterations: usize,
    /// There is an iteration that is as fast as those of the last half before them; otherwise more iterations are needed to be sure.
    pub settled: bool,
}

/// An iteration is slow that takes more than this times the median of the last half.
const SLOW: f64 = 1.05;

impl WarmUp {
    /// Of the rounds of one value: by the median over the rounds of each iteration. The last half counts as steady in any case.
    pub fn of(samples: &[Sample]) -> WarmUp {
        let count = samples.iter().map(|sample| sample.iterations.len()).min().unwrap_or(0);
        if count == 0 {
            return WarmUp::default();
        }
        // What is too short for the clock is not slow.
        let median = |at: usize| median(samples.iter().filter_map(|sample| sample.iterations[at].wall)).unwrap_or(0.0);
        let curve: Vec<f64> = (0..count).map(median).collect();
        let (before, tail) = curve.split_at(count / 2);
        let steady = stats::spread(tail.to_vec()).median;
        let iterations = before.iter().rposition(|&seconds| seconds > SLOW * steady).map_or(0, |slow| slow + 1);
        WarmUp { iterations, settled: iterations < before.len() }
    }
}

/// `None` of nothing.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| stats::spread(values).median)
}

/// What a part of a run took. `None` where the system does not tell, and in a steady state of which not each iteration has a time.
pub fn seconds(sample: &Sample, phase: Phase, time: Time, warm_up: WarmUp) -> Option<f64> {
    let of = |times: &Times| match time {
        Time::Wall => times.wall,
        Time::Cpu => times.cpu,
    };
    match phase {
        Phase::Process => of(&sample.process),
        Phase::First => sample.iterations.first().and_then(of),
        Phase::Steady => {
            let steady: Option<Vec<f64>> = sample.iterations.get(warm_up.iterations..)?.iter().map(of).collect();
            steady.and_then(|steady| median(steady.into_iter()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(walls: &[f64]) -> Sample {
        let iterations = walls.iter().map(|&wall| Times { wall: Some(wall), cpu: Some(2.0 * wall) }).collect();
        Sample { iterations, process: Times { wall: Some(100.0), cpu: None }, ..Sample::default() }
    }

    #[test]
    fn warm_up_ends_with_the_last_slow_iteration() {
        let of = |walls: &[f64]| WarmUp::of(&[sample(walls)]);
        assert_eq!(of(&[9.0, 1.0, 3.0, 1.0, 1.0, 1.0, 1.02, 1.0, 1.0, 1.0]), WarmUp { iterations: 3, settled: true });
        assert_eq!(of(&[1.0; 6]), WarmUp { iterations: 0, settled: true });
        assert_eq!(of(&[5.0, 4.0, 3.0, 2.0, 1.0, 1.0]), WarmUp { iterations: 3, settled: false });
        assert_eq!(of(&[1.0, 1.0, 1.0, 9.0, 1.0, 1.0]), WarmUp { iterations: 0, settled: true }, "a late disturbance is no warm-up");
    }

    #[test]
    fn a_round_that_was_disturbed_is_no_warm_up() {
        let quiet = [3.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let disturbed = [3.0, 1.0, 7.0, 1.0, 1.0, 1.0];
        let warm_up = WarmUp::of(&[sample(&quiet), sample(&disturbed), sample(&quiet)]);
        assert_eq!(warm_up, WarmUp { iterations: 1, settled: true });
    }

    #[test]
    fn an_iteration_without_a_time_is_not_taken_for_a_short_one() {
        let mut sample = sample(&[8.0, 1.0, 2.0, 3.0]);
        sample.iterations[2].wall = None;
        let warm_up = WarmUp::of(std::slice::from_ref(&sample));
        assert_eq!(warm_up.iterations, 1);
        assert_eq!(seconds(&sample, Phase::Steady, Time::Wall, warm_up), None);
        assert_eq!(seconds(&sample, Phase::Steady, Time::Cpu, warm_up), Some(4.0));
    }

    #[test]
    fn phases_are_parts_of_a_run() {
        let (sample, warm_up) = (sample(&[8.0, 1.0, 2.0, 3.0]), WarmUp { iterations: 1, settled: true });
        let of = |phase, time| seconds(&sample, phase, time, warm_up);
        assert_eq!((of(Phase::Process, Time::Wall), of(Phase::Process, Time::Cpu)), (Some(100.0), None));
        assert_eq!((of(Phase::First, Time::Wall), of(Phase::First, Time::Cpu)), (Some(8.0), Some(16.0)));
        assert_eq!((of(Phase::Steady, Time::Wall), of(Phase::Steady, Time::Cpu)), (Some(2.0), Some(4.0)));
    }
}
