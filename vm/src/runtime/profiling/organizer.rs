//! Packets become samples: the organizer's half of the profiler (CC-Map, Profiling Algorithm).
//!
//! In: [`Packet`]s of all threads. Out: [`Sample`]s, in the order of each thread, for the collector. Runs on one thread of its own, and looks up what addresses mean there.

use super::packet::{Kind, Packet};
use super::path::{Code, Path, Step};
use jit::context::CallSeen;
use profiler::ids::{EdgeId, ThreadId};
use profiler::sample::{BurstEvent, Observed, Sample};
use rustc_hash::FxHashMap;

/// What is known of each thread that hands over packets.
#[derive(Default)]
pub struct Organizer {
    paths: FxHashMap<ThreadId, Path>,
    /// Records that fit to nothing: a bug, shown in the report.
    pub lost: u64,
    pub stacks: Stacks,
    pub novelty: Novelty,
    /// Pieces of code that had been freed when the paths were made.
    freed: u64,
}

/// How many new contexts each of the calls observed last has brought, about: nodes of the structure, those of frames below a call included.
#[derive(Default)]
pub struct Novelty {
    calls: f64,
    new: f64,
}

impl Novelty {
    /// So many calls with so many new nodes. Gives the nodes a call, over the last ones.
    pub fn add(&mut self, calls: u64, new: u64) -> f64 {
        const LAST: f64 = 65536.0;
        self.calls += calls as f64;
        self.new += new as f64;
        if self.calls > LAST {
            self.calls /= 2.0;
            self.new /= 2.0;
        }
        self.new / self.calls.max(1.0)
    }
}

/// The stacks of observed calls, all together.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stacks {
    /// With the call's own function on top.
    pub calls: u64,
    /// Inlined functions' included.
    pub frames: u64,
    pub inlined: u64,
}

impl Stacks {
    /// Of the call on top. A path without calls is that of a lost one.
    fn add(&mut self, path: &Path) {
        self.calls += u64::from(!path.edges().is_empty());
        self.frames += path.edges().len() as u64;
        self.inlined += path.inlined() as u64;
    }
}

impl Organizer {
    /// So many pieces of code have been freed. Where others lie now, an address means something else than in the paths: they are not compared with what comes.
    /// Says whether that is so.
    pub fn freed(&mut self, pieces: u64) -> bool {
        let is_new = std::mem::replace(&mut self.freed, pieces) != pieces;
        if is_new {
            self.paths.clear();
        }
        is_new
    }

    /// Every sample of the packet.
    pub fn decode(&mut self, packet: &Packet, code: &mut impl Code) {
        let path = self.paths.entry(packet.thread).or_default();
        let mut sample =
            Sample { thread: packet.thread, stack: Vec::new(), observed: Observed::Top, weight: 0.0, tick: 0, stands_for: 1.0 };
        for (raw, frames, calls) in packet.samples() {
            path.walked(frames, code);
            (sample.weight, sample.tick, sample.stands_for) = (raw.weight, raw.tick, raw.stands_for);
            keep(path, &mut sample);
            let stacks = &mut self.stacks;
            match raw.kind {
                Kind::Top => {
                    stacks.add(path);
                    sample.observed = Observed::Top;
                    code.add(&sample);
                }
                Kind::Burst => self.lost += burst(path, None, calls, &mut sample, stacks, code),
                Kind::BurstFromTop => {
                    stacks.add(path);
                    let first = sample.stack.pop();
                    self.lost += burst(path, first, calls, &mut sample, stacks, code);
                }
                // Nobody has looked at the stack: it has no top.
                Kind::Nothing => {
                    sample.observed = Observed::Top;
                    code.add(&sample);
                }
            }
        }
    }

    /// The thread has handed over its last packet.
    pub fn thread_ended(&mut self, thread: ThreadId) {
        self.paths.remove(&thread);
    }
}

/// A burst of calls, of which the first may be known already. Gives how many records were lost.
fn burst(
    path: &mut Path,
    first: Option<EdgeId>,
    calls: &[CallSeen],
    sample: &mut Sample,
    stacks: &mut Stacks,
    code: &mut impl Code,
) -> u64 {
    let mut events = match std::mem::replace(&mut sample.observed, Observed::Top) {
        Observed::Burst(mut events) => {
            events.clear();
            events
        }
        Observed::Top => Vec::with_capacity(2 * calls.len()),
    };
    events.extend(first.map(BurstEvent::Call));
    let mut lost = 0;
    for &call in calls {
        let open = path.edges().len();
        let step = path.call(call, code);
        stacks.add(path);
        match step {
            Step::Call { returns, entered } => {
                let (&called, below) = path.edges().split_last().expect("the call's own edge");
                events.extend(std::iter::repeat_n(BurstEvent::Return, returns));
                events.extend(below[below.len() - entered..].iter().map(|&edge| BurstEvent::Entry(edge)));
                events.push(BurstEvent::Call(called));
            }
            Step::Lost => {
                events.extend(std::iter::repeat_n(BurstEvent::Return, open));
                lost += 1;
            }
        }
    }
    let has_seen = !events.is_empty();
    sample.observed = Observed::Burst(events);
    if has_seen {
        code.add(sample);
    }
    lost
}

fn keep(path: &Path, sample: &mut Sample) {
    sample.stack.clear();
    sample.stack.extend_from_slice(path.edges());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn novelty_is_that_of_the_last_calls() {
        let mut novelty = Novelty::default();
        assert_eq!(novelty.add(0, 0), 0.0, "nothing is known");
        assert_eq!(novelty.add(1000, 500), 0.5);
        (0..100).for_each(|_| _ = novelty.add(10_000, 0));
        assert!(novelty.add(10_000, 0) < 0.001, "long ago");
        let last = (0..20).map(|_| novelty.add(10_000, 1000)).last();
        assert!(last.is_some_and(|part| (0.08..=0.1).contains(&part)), "{last:?}");
    }
}
