//! How the degree of overlap grows in the course of a run (PLDI'06 section 6.4, Figure 11).
//!
//! In: at checkpoints, the overlap of the profile so far with the exact one at the same point. Out: the points of the curve.
//! Invariant: points come in order of calls; a checkpoint comes at least `every` calls after the one before.

/// A point of the curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Calls made so far.
    pub calls: u64,
    /// Degree of overlap in percent.
    pub overlap: f64,
}

/// The curve, and when its next point is due.
#[derive(Clone, PartialEq, Debug)]
pub struct OverTime {
    every: u64,
    next: u64,
    points: Vec<Point>,
}

impl OverTime {
    /// A checkpoint every so many calls (at least one).
    pub fn new(every: u64) -> OverTime {
        let every = every.max(1);
        OverTime { every, next: every, points: Vec::new() }
    }

    /// It is time for a checkpoint after so many calls: cheap, to be asked at every call.
    pub fn is_due(&self, calls: u64) -> bool {
        calls >= self.next
    }

    /// Adds a point: the overlap in percent after so many calls.
    pub fn record(&mut self, calls: u64, overlap: f64) {
        self.points.push(Point { calls, overlap });
        self.next = calls.saturating_add(self.every);
    }

    /// The curve so far.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The first checkpoint from which on the overlap never was further than `within` percent points from the last.
    pub fn settled(&self, within: f64) -> Option<Point> {
        let last = self.points.last()?.overlap;
        let unsettled = self.points.iter().rposition(|point| (point.overlap - last).abs() > within);
        self.points.get(unsettled.map_or(0, |at| at + 1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_come_when_due_and_the_curve_settles() {
        let mut curve = OverTime::new(10);
        assert_eq!(curve.settled(1.0), None);
        let mut overlaps = [20.0, 60.0, 79.0, 82.0, 80.0].into_iter();
        for calls in 1..=53 {
            if curve.is_due(calls) {
                curve.record(calls, overlaps.next().unwrap());
            }
        }
        assert_eq!(curve.points().iter().map(|point| point.calls).collect::<Vec<_>>(), [10, 20, 30, 40, 50]);
        assert_eq!(curve.settled(2.0), Some(Point { calls: 30, overlap: 79.0 }));
        assert_eq!(curve.settled(1.0), Some(Point { calls: 50, overlap: 80.0 }));
        assert_eq!(curve.settled(100.0).unwrap().calls, 10);
    }
}
