//! A sampler over a recorded program that runs on and on: which calls it saw, what that cost, and how good its profile is.
//!
//! In: tapes, parameters, a seed. Out: [`Accuracy`] against the complete profile. A replay jumps from one event that matters to the next, so seconds of modelled time take milliseconds.
//! Contexts are told apart by call sites; the DCG is the tree's sums by edge.

use super::tape::{NANOSECONDS_A_CALL, Pace, Tape};
use profiler::event::Event;
use profiler::ids::{EdgeId, ThreadId};
use profiler::metrics::Comparison;
use profiler::replay::{Options, Replay, Summary, Time};
use profiler::sample::{Moment, Sample};
use profiler::samplers::Parameters;
use profiler::structures::CallStructure;
use profiler::structures::cct::Cct;
use profiler::trace::Trace;

/// Events that are replayed rather than jumped over.
const SHORT: u64 = 16;

/// A trace as it is replayed.
pub struct Subject {
    tapes: Vec<(ThreadId, Tape)>,
    /// The complete profile of one run.
    exact: Cct<EdgeId>,
    edges: usize,
}

/// How good a profile is and what it cost, in percent.
#[derive(Clone, Copy, Default, Debug)]
pub struct Accuracy {
    /// Modelled, of the time that threads have lived.
    pub cost: f64,
    /// Degree of overlap.
    pub dcg: f64,
    pub cct: f64,
    /// Hot-edge coverage of the CCT, threshold 0.1.
    pub hot: f64,
    /// Stack walks or bursts that were taken.
    pub samples: f64,
    /// Of the ticks, those at which the history table has prevented the burst.
    pub disabled: f64,
    /// Modelled nanoseconds of one sample.
    pub sample_cost: f64,
}

impl Subject {
    /// Fails if the trace is too long, or has no call.
    pub fn new(trace: &Trace, is_even: bool) -> Result<Subject, String> {
        let pace = if is_even { Pace::Even } else { recorded_pace(trace) };
        let mut tapes = Vec::new();
        for (id, thread) in &trace.threads {
            tapes.push((id, Tape::new(thread, pace)?));
        }
        tapes.retain(|(_, tape)| tape.calls() > 0);
        if tapes.is_empty() {
            return Err("there is no call in the trace".into());
        }
        let mut exact = Cct::new();
        for thread in trace.threads.values() {
            let mut at = exact.start();
            exact.run(&mut at, &thread.events, 1.0, |edge| edge);
        }
        Ok(Subject { tapes, exact, edges: trace.program.edges().len() })
    }

    pub fn contexts(&self) -> u32 {
        self.exact.len()
    }

    /// Calls of one run, all threads together.
    pub fn calls(&self) -> u64 {
        self.tapes.iter().map(|(_, tape)| tape.calls()).sum()
    }

    /// The program runs as often as it must for so many seconds, all threads together. Parameters are good ones.
    pub fn measure(&self, parameters: Parameters, seconds: f64, seed: u64) -> Result<Accuracy, String> {
        let runs = (seconds * 1e9 / NANOSECONDS_A_CALL / self.calls() as f64).ceil() as u64;
        let options = Options { time: Time::Stamps, ..Options::new(parameters, seed) };
        let mut replay = Replay::new(options).map_err(|e| e.to_string())?;
        let mut tree = Cct::new();
        let mut sink = |sample: &Sample| tree.add(sample, |edge| edge);
        for (thread, tape) in &self.tapes {
            replay_runs(&mut replay, *thread, tape, runs, &mut sink);
        }
        let summary = replay.finish(&mut sink);
        Ok(self.judge(&tree, &summary))
    }

    fn judge(&self, tree: &Cct<EdgeId>, summary: &Summary) -> Accuracy {
        let found = self.exact.equivalents(tree);
        let weight = |node| found[node].expand().map_or(0.0, |its| tree.weight(its));
        let contexts = Comparison::of_pairs(self.exact.nodes().map(|node| (weight(node), self.exact.weight(node))));
        let mut edges = vec![(0.0, 0.0); self.edges];
        for node in self.exact.nodes() {
            let edge = &mut edges[self.exact.label(node).as_u32() as usize];
            *edge = (edge.0 + weight(node), edge.1 + self.exact.weight(node));
        }
        let counters = &summary.counters;
        Accuracy {
            cost: summary.share() * 100.0,
            dcg: Comparison::of_pairs(edges).overlap(),
            cct: contexts.overlap(),
            hot: contexts.hot_edge_coverage(0.1),
            samples: counters.samples as f64,
            disabled: counters.bursts_skipped as f64 * 100.0 / (counters.ticks as f64).max(1.0),
            sample_cost: summary.cost / (counters.samples as f64).max(1.0),
        }
    }
}

/// All threads together make 100 million calls in each second that they run.
fn recorded_pace(trace: &Trace) -> Pace {
    let calls: usize = trace.threads.values().map(|thread| thread.events.iter().filter(|&&event| event != Event::RETURN).count()).sum();
    let last = |thread: &profiler::trace::ThreadTrace| thread.end.or(thread.stamps.last().map(|stamp| stamp.cycles));
    let recorded: u64 = trace.threads.values().filter_map(|thread| Some(last(thread)?.saturating_sub(thread.start))).sum();
    if recorded == 0 { Pace::Even } else { Pace::Recorded(calls as f64 * NANOSECONDS_A_CALL / recorded as f64) }
}

fn replay_runs(replay: &mut Replay, thread: ThreadId, tape: &Tape, runs: u64, sink: &mut impl FnMut(&Sample)) {
    let (mut place, end) = (0, runs * tape.len());
    while place < end {
        let quiet = if place == 0 { None } else { replay.quiet() };
        let next = quiet.map_or(place, |quiet| {
            let tick = if quiet.cycles == u64::MAX { end } else { tape.place_of_time(quiet.cycles) };
            let call = if quiet.calls == u64::MAX { end } else { tape.place_of_call(quiet.calls) };
            tick.min(call).min(end)
        });
        if next >= place + SHORT {
            jump(replay, tape, next);
            place = next;
            continue;
        }
        replay.event(thread, tape.event(place), tape.time(place), sink);
        place += 1;
    }
}

fn jump(replay: &mut Replay, tape: &Tape, to: u64) {
    let mut stack: Vec<EdgeId> = tape.stack(to).collect();
    stack.reverse();
    replay.jump(Moment { cycles: tape.time(to - 1), calls: tape.calls_before(to) }, stack);
}

#[cfg(test)]
mod tests {
    use super::super::samplers::{Paper, estimator};
    use super::super::tape::tests::thread;
    use super::*;

    fn replayed(parameters: Parameters, all: impl FnOnce(&mut Replay, &mut dyn FnMut(&Sample))) -> (Summary, Vec<Sample>) {
        let mut samples = Vec::new();
        let mut replay = Replay::new(Options { time: Time::Stamps, ..Options::new(parameters, 1) }).unwrap();
        let mut sink = |sample: &Sample| samples.push(sample.clone());
        all(&mut replay, &mut sink);
        let mut summary = replay.finish(&mut sink);
        summary.counters.repetitions = 0;
        (summary, samples)
    }

    #[test]
    fn jumps_give_the_samples_of_every_event() {
        let tape = Tape::new(&thread(3, 20_000), Pace::Recorded(10.0)).unwrap();
        let thread = ThreadId::from_u32(0);
        let estimators = [Parameters::timed_estimator(), estimator(1000)];
        for parameters in Paper::ALL.map(Paper::parameters).into_iter().chain(estimators) {
            let jumping = replayed(parameters, |replay, mut sink| replay_runs(replay, thread, &tape, 30, &mut sink));
            let plain = replayed(parameters, |replay, mut sink| {
                (0..30 * tape.len()).for_each(|place| replay.event(thread, tape.event(place), tape.time(place), &mut sink));
            });
            assert!(plain.1.len() > 3, "{parameters:?}");
            assert_eq!(jumping.0, plain.0, "{parameters:?}");
            assert!(jumping.1 == plain.1, "{parameters:?}");
        }
    }
}
