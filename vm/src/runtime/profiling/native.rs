//! The profiler of compiled code: what threads ask of it, and its organizer's life.
//!
//! In: packets. Out: samples in the ledger. Invariant: whoever waits for the organizer holds no lock that it needs.

use super::counting::{CallSource, RetiredCalls};
use super::organizer::Organizer;
use super::packet::Packet;
use super::path::{Code, Position};
use super::queue::Message;
use super::thread::ThreadProfiler;
use super::windows::Windows;
use super::{CALL, Ledger, Profiler, Reader, Time};
use crate::runtime::native::NativeEngine;
use jit::native::SiteKind;
use profiler::collect::Collector;
use profiler::counters::Counters;
use profiler::ids::{CallSiteId, EdgeId, FuncId, ThreadId};
use profiler::program::{Edge, Program};
use profiler::sample::Sample;
use profiler::samplers::{Interval, Mode, Random, Sampler};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Instant;

/// A packet that the compiler waits for is handed over with so many samples (CC-Map, Profiling Algorithm: about 10).
const SAMPLES: usize = 10;
/// Any other with so many bytes.
const BYTES: usize = 64 << 10;

impl Profiler {
    /// A thread that is about to run compiled code.
    pub fn thread(self: &Arc<Self>, id: ThreadId) -> ThreadProfiler {
        ThreadProfiler::new(self.clone(), id)
    }

    /// What the current thread has been on a processor, in cycles.
    pub(super) fn thread_ran(&self) -> u64 {
        self.rate().cycles(super::clock::thread_time())
    }

    /// A thread's own, with random numbers of its own.
    pub(super) fn sampler(&self, random: Random) -> Sampler {
        let mut sampler = Sampler::new(&self.options.parameters, self.rate(), random).expect("checked when the profiler was made");
        if self.windows().is_some() {
            sampler.use_windows();
        }
        sampler
    }

    /// Ticks of the virtual clock, if that is what the sampler goes by.
    pub(super) fn virtual_interval(&self) -> Option<Interval> {
        let has_timer = self.options.parameters.has_timer() && self.options.time == Time::Calls;
        has_timer.then(|| self.interval())
    }

    /// The sampler's time on a thread that has made so many calls.
    pub(super) fn now(&self, calls: u64) -> u64 {
        match self.options.time {
            Time::Real => self.cycles.now(),
            Time::Calls => calls.saturating_mul(CALL),
        }
    }

    /// Counts the current thread's calls, where the sampler has a use for it.
    pub(super) fn retired_calls(&self) -> Option<RetiredCalls> {
        (self.call_source() == Some(CallSource::Retired)).then(RetiredCalls::open)?
    }

    /// The first call at which the virtual clock has reached this.
    pub(super) fn call_at(&self, cycles: u64) -> u64 {
        cycles.div_ceil(CALL)
    }

    pub(super) fn empty_packet(&self, thread: ThreadId) -> Packet {
        self.queue.empty(thread).begun(self.marks.now())
    }

    pub(super) fn is_full(&self, packet: &Packet) -> bool {
        packet.bytes() >= BYTES || self.options.reader == Reader::Compiler && packet.len() >= SAMPLES
    }

    /// The program waits rather than lose samples.
    fn is_lossless(&self) -> bool {
        self.options.parameters.mode == Mode::Exhaustive || self.options.time == Time::Calls
    }

    /// Hands the packet's samples over and leaves it empty. Gives how many were lost.
    pub(super) fn hand_over(&self, packet: &mut Packet) -> u64 {
        let full = std::mem::replace(packet, self.empty_packet(packet.thread));
        if self.is_lossless() {
            self.queue.send(full);
            self.marks.sent();
            return 0;
        }
        let Err(refused) = self.queue.try_send(full) else {
            self.marks.sent();
            // Where there are windows their end does, on the timer's thread.
            if self.windows().is_none() {
                self.queue.wake();
            }
            return 0;
        };
        let lost = refused.len() as u64;
        *packet = refused.reuse(packet.thread).begun(self.marks.now());
        lost
    }

    /// What was handed over is looked at now.
    pub(super) fn wake_organizer(&self) {
        self.queue.wake();
    }

    /// The program is stopped, and code is about to be freed for the time with this number: all that was recorded before the stop with the number that this gives has been decoded. `held`: as of [`Marks::stop`](super::marks::Marks::stop).
    pub fn decoded(&self, number: u64, held: impl Iterator<Item = u64>) -> u64 {
        self.marks.stop(number, held)
    }

    /// The thread's last samples, and all that it has counted.
    pub(super) fn thread_ended(&self, mut rest: Packet, mut counters: Counters, spent: u64) {
        let thread = rest.thread;
        if !rest.is_empty() {
            counters.samples_dropped += self.hand_over(&mut rest);
        }
        if self.is_lossless() {
            self.queue.tell(Message::Ended(thread));
        } else {
            self.queue.thread_ended(thread);
        }
        self.merge_counters(&counters);
        self.spent.fetch_add(spent, Relaxed);
    }

    /// The organizer's life: until [`Profiler::finish`].
    fn organize(&self, engine: &NativeEngine) {
        let (mut organizer, mut positions) = (Organizer::default(), Positions::default());
        loop {
            match self.queue.receive() {
                Message::Samples(packet) => {
                    self.windows().into_iter().for_each(Windows::let_pass);
                    self.enter(&mut organizer, &mut positions, &packet, engine);
                    self.marks.decoded();
                    self.queue.recycle(packet);
                }
                Message::Ended(thread) => {
                    organizer.thread_ended(thread);
                    self.ledger().collector.end(thread);
                }
                Message::Finish => return,
            }
        }
    }

    fn enter(&self, organizer: &mut Organizer, positions: &mut Positions, packet: &Packet, engine: &NativeEngine) {
        let start = Instant::now();
        if organizer.freed(engine.inner().freed()) {
            positions.clear();
        }
        let mut ledger = self.ledger();
        let Ledger { program, collector, .. } = &mut *ledger;
        let before = (organizer.stacks.calls, collector.nodes());
        organizer.decode(packet, &mut Decoder { engine, program, collector, positions });
        let novelty = organizer.novelty.add(organizer.stacks.calls - before.0, ledger.collector.nodes() - before.1);
        self.windows().into_iter().for_each(|windows| windows.set_novelty(novelty));
        (ledger.lost, ledger.stacks) = (organizer.lost, organizer.stacks);
        self.windows().into_iter().for_each(|windows| windows.set_doubt(ledger.collector.dcg().doubt()));
        ledger.organizer += start.elapsed();
    }

    /// Lets the organizer end once it has seen all that was handed over, or, if nobody wants that, at once.
    pub(super) fn finish_organizer(&self) {
        if self.is_read_at_the_end() {
            self.queue.tell(Message::Finish);
        } else {
            self.queue.abandon();
        }
    }
}

/// Starts the thread that owns the structures. It ends after [`Profiler::finish`]; then the ledger is complete.
///
/// # Errors
/// The system has no thread.
pub fn start_organizer(profiler: &Arc<Profiler>, engine: &Arc<NativeEngine>) -> std::io::Result<JoinHandle<()>> {
    let (profiler, engine) = (profiler.clone(), engine.clone());
    std::thread::Builder::new().name("organizer".into()).spawn(move || profiler.organize(&engine))
}

/// What addresses mean that were looked up before, as long as no code is freed.
type Positions = FxHashMap<u64, Rc<Position>>;

/// What addresses mean; edges and samples go to the ledger.
struct Decoder<'a> {
    engine: &'a NativeEngine,
    program: &'a mut Program,
    collector: &'a mut Collector,
    positions: &'a mut Positions,
}

impl Code for Decoder<'_> {
    fn position(&mut self, pc: u64) -> Option<Rc<Position>> {
        if let Some(position) = self.positions.get(&pc) {
            return Some(position.clone());
        }
        let mut is_probe = false;
        let engine = self.engine.inner();
        let chain = engine.decode(pc)?.map(|view| match view.site {
            Some(SiteKind::Call(site)) => (view.func, Some(site)),
            site => {
                is_probe = site == Some(SiteKind::Probe);
                (view.func, None)
            }
        });
        let chain = chain.collect();
        let position = Rc::new(Position { chain, is_probe, frame_size: engine.frame_size(pc)? });
        self.positions.insert(pc, position.clone());
        Some(position)
    }

    fn edge(&mut self, site: Option<CallSiteId>, callee: FuncId) -> EdgeId {
        self.program.edge(Edge { site: site.into(), callee })
    }

    fn add(&mut self, sample: &Sample) {
        // Edges are of the module's own functions and call sites, which the program has.
        let _ = self.collector.learn(self.program);
        self.collector.add(sample);
    }
}
