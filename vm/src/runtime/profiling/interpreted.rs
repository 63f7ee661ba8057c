//! Profiles of interpreted programs: the interpreter says every call and return, and the samplers run over them as in a replay.
//!
//! In: calls and returns of one thread, as [`Calls`] hears them. Out: samples in the ledger. Invariants: the time that samplers see stands still while the thread is blocked; a thread takes the ledger's lock for a sample, or for an edge that it has not seen; each thread's replay is finished once, by the
//! thread or, if it never ends (as after `exit`), by [`Profiler::finish`].

use super::{CALL, Ledger, Profiler, Time, thread_id};
use crate::runtime::host::Calls;
use crate::runtime::thread::Thread;
use jit::ir::{CallSiteId, FuncId};
use profiler::clock::Clock;
use profiler::event::Event;
use profiler::ids::{EdgeId, ThreadId};
use profiler::program::Edge;
use profiler::replay::{self, Options, Replay};
use profiler::sample::Sample;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// A thread's sampler at work; `None` once finished.
type Running = Mutex<Option<Replay>>;

/// Those of all threads that have not finished.
#[derive(Default)]
pub struct Interpreted(Mutex<Vec<Arc<Running>>>);

/// Hears one thread's calls.
pub struct ThreadCalls<'p> {
    profiler: &'p Profiler,
    of: &'p Thread,
    thread: ThreadId,
    running: Arc<Running>,
    edges: FxHashMap<Edge, EdgeId>,
}

impl<'p> ThreadCalls<'p> {
    pub fn new(profiler: &'p Profiler, of: &'p Thread) -> Self {
        let options = profiler.options();
        let time = match options.time {
            Time::Real => replay::Time::Stamps,
            Time::Calls => replay::Time::PerCall(CALL),
        };
        let options =
            Options { time, clock: Clock::cycles(profiler.rate().per_second()), ..Options::new(options.parameters, options.seed) };
        // The profiler has checked the parameters already.
        let running = Arc::new(Mutex::new(Replay::new(options).ok()));
        lock(&profiler.interpreted.0).push(running.clone());
        ThreadCalls { profiler, of, thread: thread_id(of.id), running, edges: FxHashMap::default() }
    }

    fn event(&mut self, event: Event) {
        let stamp = match self.profiler.options.time {
            Time::Real => self.profiler.cycles().saturating_sub(self.profiler.rate().cycles(self.of.blocked_time())),
            Time::Calls => 0,
        };
        if let Some(replay) = &mut *lock(&self.running) {
            replay.event(self.thread, event, stamp, &mut |sample| self.profiler.add(sample));
        }
    }
}

impl Calls for ThreadCalls<'_> {
    fn call(&mut self, site: Option<CallSiteId>, callee: FuncId) {
        let edge = Edge { site: site.into(), callee };
        let id = *self.edges.entry(edge).or_insert_with(|| self.profiler.ledger().program.edge(edge));
        self.event(Event::call(id));
    }

    fn ret(&mut self) {
        self.event(Event::RETURN);
    }
}

impl Drop for ThreadCalls<'_> {
    fn drop(&mut self) {
        lock(&self.profiler.interpreted.0).retain(|running| !Arc::ptr_eq(running, &self.running));
        self.profiler.finish_replay(&self.running);
    }
}

impl Profiler {
    pub(super) fn finish_interpreted(&self) {
        let left = std::mem::take(&mut *lock(&self.interpreted.0));
        left.iter().for_each(|running| self.finish_replay(running));
    }

    fn add(&self, sample: &Sample) {
        let mut ledger = self.ledger();
        let Ledger { collector, program, .. } = &mut *ledger;
        // Edges are of the module's own functions and call sites, which the program has.
        let _ = collector.learn(program);
        collector.add(sample);
    }

    fn finish_replay(&self, running: &Running) {
        let Some(replay) = lock(running).take() else { return };
        let summary = replay.finish(&mut |sample| self.add(sample));
        self.merge_counters(&summary.counters);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
