//! Reads what a program run with `--iterations N` says on stderr: N lines `iteration K: NANOS ns`, K counting from 1.

use crate::stats;

/// Nanoseconds of one iteration.
#[derive(Debug, PartialEq)]
pub struct Times {
    pub first: f64,
    /// The median of the last half of all iterations (with an odd number of them, the middle one included).
    pub steady: f64,
}

impl Times {
    /// As [`nanoseconds`].
    pub fn read(stderr: &str, expected: u32) -> Result<Times, String> {
        let nanos = nanoseconds(stderr, expected)?;
        Ok(Times { first: nanos[0], steady: stats::spread(nanos[nanos.len() / 2..].to_vec()).median })
    }
}

/// Of each iteration. Other lines are passed over. Fails unless there are as many iterations as asked for.
pub fn nanoseconds(stderr: &str, expected: u32) -> Result<Vec<f64>, String> {
    let nanos: Vec<f64> = stderr.lines().filter_map(iteration).enumerate().filter(|(i, (k, _))| i + 1 == *k).map(|(_, (_, t))| t).collect();
    if nanos.len() != expected as usize || nanos.is_empty() {
        return Err(format!("{expected} iterations expected, {} reported:\n{stderr}", nanos.len()));
    }
    Ok(nanos)
}

/// Number and nanoseconds of a line about an iteration.
pub fn iteration(line: &str) -> Option<(usize, f64)> {
    let (number, nanos) = line.strip_prefix("iteration ")?.strip_suffix(" ns")?.split_once(": ")?;
    // A clock that did not advance would make a ratio infinite.
    Some((number.parse().ok()?, nanos.parse::<u64>().ok()?.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_is_the_median_of_the_last_half() {
        let text = "iteration 1: 900 ns\niteration 2: 800 ns\na warning\niteration 3: 100 ns\niteration 4: 30 ns\niteration 5: 50 ns\n";
        assert_eq!(Times::read(text, 5), Ok(Times { first: 900.0, steady: 50.0 }));
        assert_eq!(Times::read("iteration 1: 7 ns\n", 1), Ok(Times { first: 7.0, steady: 7.0 }));
    }

    #[test]
    fn lost_iterations_are_noticed() {
        for text in ["", "iteration 1: 5 ns\n", "iteration 1: 5 ns\niteration 3: 5 ns\n", "iteration 1: 5 ns\niteration 2: -5 ns\n"] {
            assert!(Times::read(text, 2).is_err(), "{text}");
        }
    }
}
