//! What tests of samplers share: traces by hand and at random, and the simplest structures that can be filled from samples.

#![allow(dead_code)]

use cranelift_entity::EntityRef;
use profiler::event::Event;
use profiler::ids::{EdgeId, ThreadId};
use profiler::metrics::Comparison;
use profiler::replay::{Options, Replay, Summary, Time};
use profiler::sample::{Observed, Sample};
use profiler::samplers::{Parameters, Random};
use profiler::structures::CallStructure;
use std::collections::BTreeMap;

pub fn edge(index: usize) -> EdgeId {
    EdgeId::new(index)
}

pub fn thread(index: usize) -> ThreadId {
    ThreadId::new(index)
}

/// A trace being written: one thread, and a clock that is moved by hand.
#[derive(Default)]
pub struct Script {
    pub events: Vec<(ThreadId, Event, u64)>,
    pub now: u64,
    pub thread: usize,
}

impl Script {
    pub fn pass(&mut self, cycles: u64) -> &mut Script {
        self.now += cycles;
        self
    }

    pub fn call(&mut self, index: usize) -> &mut Script {
        self.events.push((thread(self.thread), Event::call(edge(index)), self.now));
        self
    }

    pub fn ret(&mut self) -> &mut Script {
        self.events.push((thread(self.thread), Event::RETURN, self.now));
        self
    }

    /// So many calls over an edge, each of which takes so long and calls nothing.
    pub fn leaves(&mut self, index: usize, calls: usize, cycles: u64) -> &mut Script {
        for _ in 0..calls {
            self.call(index).pass(cycles).ret();
        }
        self
    }
}

/// Random calls and returns over a few edges, several threads mixed.
pub fn random_trace(seed: u64, events: usize, threads: u64) -> Vec<(ThreadId, Event, u64)> {
    let mut random = Random::new(seed);
    let mut now = 0;
    (0..events)
        .map(|_| {
            now += random.below(40);
            let event = if random.chance(0.55) { Event::call(edge(random.below(7) as usize)) } else { Event::RETURN };
            (thread(random.below(threads) as usize), event, now)
        })
        .collect()
}

/// A calling context tree as a table of paths: slow and obvious.
#[derive(Default)]
pub struct Paths(pub BTreeMap<Vec<EdgeId>, f64>);

impl CallStructure for Paths {
    type Label = EdgeId;
    type Cursor = Vec<EdgeId>;

    fn start(&mut self) -> Vec<EdgeId> {
        Vec::new()
    }

    fn call(&mut self, at: &mut Vec<EdgeId>, label: EdgeId, weight: f64) {
        at.push(label);
        *self.0.entry(at.clone()).or_default() += weight;
    }

    fn ret(&mut self, at: &mut Vec<EdgeId>) {
        at.pop();
    }
}

impl Paths {
    /// The complete tree of a trace.
    pub fn exact(trace: &[(ThreadId, Event, u64)]) -> Paths {
        let (mut paths, mut stacks) = (Paths::default(), BTreeMap::<ThreadId, Vec<EdgeId>>::new());
        for &(thread, event, _) in trace {
            let stack = stacks.entry(thread).or_default();
            match event.edge() {
                Some(edge) => paths.call(stack, edge, 1.0),
                None => paths.ret(stack),
            }
        }
        paths
    }

    pub fn weights(&self) -> impl Iterator<Item = (&[EdgeId], f64)> {
        self.0.iter().map(|(path, &weight)| (path.as_slice(), weight))
    }
}

/// A dynamic call graph as a list of weights.
#[derive(Clone, Default, Debug)]
pub struct Edges(pub Vec<f64>);

impl Edges {
    pub fn count(&mut self, edge: EdgeId, weight: f64) {
        let index = edge.index();
        if self.0.len() <= index {
            self.0.resize(index + 1, 0.0);
        }
        self.0[index] += weight;
    }

    pub fn add(&mut self, sample: &Sample) {
        match &sample.observed {
            Observed::Top => sample.stack.iter().last().into_iter().for_each(|&edge| self.count(edge, sample.weight)),
            Observed::Burst(events) => events.iter().filter_map(|event| event.counted()).for_each(|edge| self.count(edge, sample.weight)),
        }
    }

    pub fn exact(trace: &[(ThreadId, Event, u64)]) -> Edges {
        let mut edges = Edges::default();
        trace.iter().filter_map(|(_, event, _)| event.edge()).for_each(|edge| edges.count(edge, 1.0));
        edges
    }

    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    pub fn share(&self, index: usize) -> f64 {
        self.0.get(index).copied().unwrap_or(0.0) / self.total()
    }

    pub fn overlap(&self, other: &Edges) -> f64 {
        let weights = |edges: &Edges| edges.0.clone().into_iter().enumerate();
        Comparison::new(weights(self), weights(other)).overlap()
    }
}

pub fn stamped(parameters: Parameters, seed: u64) -> Options {
    Options { time: Time::Stamps, ..Options::new(parameters, seed) }
}

/// All samples of a replay.
pub fn samples(options: Options, trace: &[(ThreadId, Event, u64)]) -> (Vec<Sample>, Summary) {
    let mut samples = Vec::new();
    let summary = Replay::run(options, trace.iter().copied(), |sample| samples.push(sample.clone())).expect("good parameters");
    (samples, summary)
}

/// The DCG that a replay finds.
pub fn profile(options: Options, trace: &[(ThreadId, Event, u64)]) -> Edges {
    let mut edges = Edges::default();
    Replay::run(options, trace.iter().copied(), |sample| edges.add(sample)).expect("good parameters");
    edges
}

/// The DCGs of as many replays with other seeds, added up.
pub fn mean_profile(options: Options, trace: &[(ThreadId, Event, u64)], seeds: u64) -> Edges {
    let mut edges = Edges::default();
    for seed in 0..seeds {
        Replay::run(Options { seed, ..options }, trace.iter().copied(), |sample| edges.add(sample)).expect("good parameters");
    }
    edges.0.iter_mut().for_each(|weight| *weight /= seeds as f64);
    edges
}
