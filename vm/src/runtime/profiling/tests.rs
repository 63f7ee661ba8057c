//! The organizer against a machine that knows what it does: random calls, inlined ones, returns and throws, recorded as compiled code records them.

use super::organizer::Organizer;
use super::packet::{Kind, Packet};
use super::path::{Code, Path, Position, Step};
use jit::context::CallSeen;
use jit::native::RawFrame;
use profiler::ids::{CallSiteId, EdgeId, FuncId, ThreadId};
use profiler::sample::{BurstEvent, Observed, Sample};
use profiler::samplers::Random;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

const FUNCS: u64 = 5;
const THREAD: u32 = 0;

type Chain = SmallVec<[(FuncId, Option<CallSiteId>); 4]>;

/// A call as both sides see it: the open calls around it, and its own.
type Context = Vec<EdgeId>;

/// What addresses mean, edges, and the contexts of the calls that samples say.
#[derive(Default)]
struct Meanings {
    positions: Vec<Position>,
    edges: FxHashMap<(Option<CallSiteId>, FuncId), EdgeId>,
    seen: Vec<Context>,
    /// Frames and events that samples have.
    length: usize,
}

impl Meanings {
    fn address(&mut self, position: Position) -> u64 {
        let index = self.positions.iter().position(|known| *known == position).unwrap_or_else(|| {
            self.positions.push(position);
            self.positions.len() - 1
        });
        0x1000 + index as u64
    }
}

impl Code for Meanings {
    fn position(&mut self, pc: u64) -> Option<Rc<Position>> {
        self.positions.get(pc.checked_sub(0x1000)? as usize).cloned().map(Rc::new)
    }

    fn edge(&mut self, site: Option<CallSiteId>, callee: FuncId) -> EdgeId {
        let next = EdgeId::from_u32(self.edges.len() as u32);
        *self.edges.entry((site, callee)).or_insert(next)
    }

    fn add(&mut self, sample: &Sample) {
        let mut path = sample.stack.clone();
        self.length += path.len();
        let Observed::Burst(events) = &sample.observed else { return self.seen.push(path) };
        self.length += events.len();
        for &event in events {
            match event {
                BurstEvent::Call(edge) => {
                    path.push(edge);
                    self.seen.push(path.clone());
                }
                BurstEvent::Entry(edge) => path.push(edge),
                BurstEvent::Return => assert!(path.pop().is_some(), "more returns than open calls"),
            }
        }
    }
}

/// A frame with the functions inlined into its code that are open, outermost first: each with the edge over which it was called.
struct Frame {
    fp: u64,
    ret: u64,
    funcs: Vec<(FuncId, EdgeId)>,
    /// Where each but the innermost stands; where the innermost does, once it has called.
    sites: Vec<CallSiteId>,
    /// Goes on in other code, with a frame of another size.
    is_replaced: bool,
}

impl Frame {
    /// Of the code that runs in it.
    fn size(&self) -> u32 {
        let func = self.funcs[0].0.as_u32();
        if self.is_replaced { 16 * (func % 4) } else { 16 * (func % 3) }
    }

    /// Innermost first, the innermost at `site`.
    fn chain(&self, site: Option<CallSiteId>) -> Chain {
        let inner = self.funcs.len() - 1;
        let site_of = |index: usize| if index == inner { site } else { Some(self.sites[index]) };
        (0..=inner).rev().map(|index| (self.funcs[index].0, site_of(index))).collect()
    }
}

struct Machine {
    random: Random,
    frames: Vec<Frame>,
    meanings: Meanings,
    has_probes: bool,
    packet: Packet,
    /// Calls until the burst that is going on ends.
    burst: u64,
    truth: Vec<Context>,
}

impl Machine {
    fn open(&self) -> Context {
        self.frames.iter().flat_map(|frame| frame.funcs.iter().map(|func| func.1)).collect()
    }

    /// A site of the function that runs: each function has three, and sites are unique.
    fn site(&mut self, func: FuncId) -> CallSiteId {
        CallSiteId::from_u32(func.as_u32() * 3 + self.random.below(3) as u32)
    }

    fn call(&mut self) {
        let func = FuncId::from_u32(self.random.below(FUNCS) as u32);
        let Some(frame) = self.frames.last() else {
            let edge = self.meanings.edge(None, func);
            self.frames.push(Frame { fp: 1 << 20, ret: 0, funcs: vec![(func, edge)], sites: Vec::new(), is_replaced: false });
            return self.called(false);
        };
        let (caller, depth) = (frame.funcs[frame.funcs.len() - 1].0, frame.funcs.len());
        let site = self.site(caller);
        let edge = self.meanings.edge(Some(site), func);
        let is_inlined = depth < 4 && self.random.chance(0.4);
        let frame = self.frames.last_mut().expect("looked at above");
        let size = frame.size();
        if is_inlined {
            frame.sites.truncate(depth - 1);
            frame.sites.push(site);
            frame.funcs.push((func, edge));
            return self.called(true);
        }
        let (chain, fp) = (frame.chain(Some(site)), frame.fp - 16 - u64::from(size));
        frame.sites.truncate(depth - 1);
        frame.sites.push(site);
        let ret = self.meanings.address(Position { chain, is_probe: false, frame_size: size });
        self.frames.push(Frame { fp, ret, funcs: vec![(func, edge)], sites: Vec::new(), is_replaced: false });
        self.called(false);
    }

    /// The innermost function has just been called: compiled code may record it, or begin a burst.
    fn called(&mut self, is_inlined: bool) {
        if is_inlined && !self.has_probes {
            return;
        }
        let frame = self.frames.last().expect("the callee's");
        let pc = self.meanings.address(Position { chain: frame.chain(None), is_probe: is_inlined, frame_size: frame.size() });
        let call = CallSeen { pc, fp: frame.fp, ret: frame.ret };
        if self.burst > 0 {
            self.packet.call(call);
            self.truth.push(self.open());
            self.burst -= 1;
            if self.burst == 0 {
                self.packet.seal(Kind::Burst, 1.0, 0);
            }
        } else if self.random.chance(0.05) {
            self.walk(pc);
            if self.random.chance(0.3) {
                self.packet.seal(Kind::Top, 1.0, 0);
                self.truth.push(self.open());
            } else {
                self.burst = 1 + self.random.below(30);
            }
        }
    }

    fn walk(&mut self, mut pc: u64) {
        for index in (0..self.frames.len()).rev() {
            let (fp, ret) = (self.frames[index].fp, self.frames[index].ret);
            self.packet.frame(RawFrame { pc, fp, is_entry: index == 0 });
            pc = ret;
        }
    }

    fn ret(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        frame.funcs.pop();
        if frame.funcs.is_empty() {
            self.frames.pop();
        }
    }

    /// The innermost function goes on in other code, if nothing is inlined into what it runs.
    fn replace(&mut self) {
        if let Some(frame) = self.frames.last_mut().filter(|frame| frame.funcs.len() == 1) {
            frame.is_replaced = true;
        }
    }

    fn run(&mut self, steps: u64) {
        for _ in 0..steps {
            match self.random.below(100) {
                0..47 => self.call(),
                47..94 => self.ret(),
                94..96 => self.replace(),
                // An error leaves many functions at once.
                _ => (0..self.random.below(8)).for_each(|_| self.ret()),
            }
        }
        if self.burst > 0 {
            self.packet.seal(Kind::Burst, 1.0, 0);
        }
    }
}

fn machine(seed: u64, has_probes: bool) -> Machine {
    let packet = Packet::new(ThreadId::from_u32(THREAD));
    let (random, meanings) = (Random::new(seed), Meanings::default());
    Machine { random, frames: Vec::new(), meanings, has_probes, packet, burst: 0, truth: Vec::new() }
}

fn check(seed: u64, has_probes: bool) -> usize {
    let mut machine = machine(seed, has_probes);
    machine.run(2000);
    let Machine { packet, mut meanings, truth, .. } = machine;
    let mut organizer = Organizer::default();
    organizer.decode(&packet, &mut meanings);
    assert_eq!(organizer.lost, 0, "seed {seed}");
    let differs = meanings.seen.iter().zip(&truth).position(|(seen, truth)| seen != truth);
    assert_eq!(differs.map(|at| (at, &meanings.seen[at], &truth[at])), None, "seed {seed}");
    assert_eq!(meanings.seen.len(), truth.len(), "seed {seed}");
    truth.len()
}

#[test]
fn contexts_are_those_of_the_run_with_probes() {
    let calls: usize = (0..300).map(|seed| check(seed, true)).sum();
    assert!(calls > 50_000, "only {calls} calls were compared");
}

#[test]
fn contexts_are_those_of_the_run_without_probes() {
    let calls: usize = (0..300).map(|seed| check(seed, false)).sum();
    assert!(calls > 30_000, "only {calls} calls were compared");
}

/// Recursion that is inlined into itself: nearly every call stands in functions that were entered unseen.
#[test]
fn what_samples_hold_grows_with_the_calls_alone() {
    const CALLS: usize = 2000;
    let mut machine = machine(1, false);
    machine.burst = u64::MAX;
    (0..CALLS).for_each(|_| machine.call());
    machine.packet.seal(Kind::Burst, 1.0, 0);
    let Machine { packet, mut meanings, truth, .. } = machine;
    Organizer::default().decode(&packet, &mut meanings);
    assert_eq!(meanings.seen, truth);
    assert!(truth.len() > CALLS / 2 && meanings.length <= CALLS, "{} of {}", meanings.length, truth.len());
}

/// It is told, so that its tick counts, with no call in it.
#[test]
fn a_window_without_a_call_is_a_sample_of_nothing() {
    let mut packet = Packet::new(ThreadId::from_u32(THREAD));
    packet.seal(Kind::Nothing, 0.0, 0);
    let mut meanings = Meanings::default();
    Organizer::default().decode(&packet, &mut meanings);
    assert_eq!(meanings.seen, [Context::new()]);
}

#[test]
fn records_that_fit_to_nothing_are_counted() {
    let mut packet = Packet::new(ThreadId::from_u32(THREAD));
    packet.call(CallSeen { pc: 7, fp: 64, ret: 0 });
    packet.seal(Kind::Burst, 1.0, 0);
    let mut organizer = Organizer::default();
    organizer.decode(&packet, &mut Meanings::default());
    assert_eq!(organizer.lost, 1);
}

/// `main` has called `f` through code that does not count, and `f` calls: `main` is not the caller.
#[test]
fn who_calls_from_a_frame_that_is_not_known_is_taken_for_nobody_else() {
    let mut meanings = Meanings::default();
    let [main, f, g] = [0, 1, 2].map(FuncId::from_u32);
    let mut at = |func, site: Option<u32>, frame_size| {
        let chain = Chain::from_elem((func, site.map(CallSiteId::from_u32)), 1);
        meanings.address(Position { chain, is_probe: false, frame_size })
    };
    let (in_main, in_f, g) = (at(main, Some(0), 32), at(f, Some(1), 16), at(g, None, 0));
    let frames = [RawFrame { pc: in_main, fp: 1000, is_entry: true }];
    let mut path = Path::default();
    path.walked(&frames, &mut meanings);
    // `f` has its frame at 952.
    assert_eq!(path.call(CallSeen { pc: g, fp: 920, ret: in_f }, &mut meanings), Step::Lost);
    path.walked(&frames, &mut meanings);
    assert_eq!(path.call(CallSeen { pc: g, fp: 952, ret: in_main }, &mut meanings), Step::Call { returns: 0, entered: 0 });
}
