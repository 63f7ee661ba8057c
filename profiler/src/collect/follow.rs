//! A structure with the place of every thread in it, so that the part of a stack that the thread's last sample had too is not walked again.
//!
//! In: samples, each thread's in their order. Out: the structure that [`CallStructure::add`] would make of them, and if asked for, how far what its nodes count differs from tick to tick. Memory: a stack a thread, of four bytes a frame, and the
//! structure's cursor; with [`Spread`] a side table.

use super::spread::{OpenTick, Spread};
use crate::ids::{EdgeId, ThreadId};
use crate::sample::{BurstEvent, Observed, Sample};
use crate::structures::CallStructure;
use crate::structures::forest::Grown;
use rustc_hash::FxHashMap;
use std::hash::Hash;

pub(super) struct Follower<S: Grown> {
    structure: S,
    threads: FxHashMap<ThreadId, Thread<S>>,
    /// `None`: nobody asks for errors.
    spread: Option<Spread<S::Node>>,
}

struct Thread<S: Grown> {
    place: Place<S::Cursor>,
    open: OpenTick<S::Node>,
}

/// Where a thread's last sample has ended.
struct Place<C> {
    at: C,
    stack: Vec<EdgeId>,
}

impl<S> Follower<S>
where
    S: Grown + CallStructure<Label = EdgeId>,
    S::Node: Hash,
{
    pub fn new(structure: S, spread: Option<Spread<S::Node>>) -> Self {
        Follower { structure, threads: FxHashMap::default(), spread }
    }

    pub fn structure(&self) -> &S {
        &self.structure
    }

    pub fn structure_mut(&mut self) -> &mut S {
        &mut self.structure
    }

    pub fn end(&mut self, thread: ThreadId) {
        if let (Some(thread), Some(spread)) = (self.threads.remove(&thread), &mut self.spread) {
            spread.close(&thread.open, &self.structure);
        }
    }

    /// With all ticks closed; `None` where there is none.
    pub fn spread(&self) -> Option<Spread<S::Node>> {
        let mut spread = self.spread.clone()?;
        self.threads.values().for_each(|thread| spread.close(&thread.open, &self.structure));
        Some(spread)
    }

    /// Memory of the threads' places and of the side table, without what the structure keeps in its cursors.
    pub fn bytes(&self) -> usize {
        let of = |Thread { place, open }: &Thread<S>| place.stack.capacity() * size_of::<EdgeId>() + open.bytes();
        let threads = self.threads.capacity() * (size_of::<(ThreadId, Thread<S>)>() + 1) + self.threads.values().map(of).sum::<usize>();
        threads + self.spread.as_ref().map_or(0, Spread::bytes)
    }

    pub fn add(&mut self, sample: &Sample) {
        let Follower { structure, threads, spread } = self;
        let Thread { place, open } = threads
            .entry(sample.thread)
            .or_insert_with(|| Thread { place: Place { at: structure.start(), stack: Vec::new() }, open: OpenTick::new() });
        match spread {
            None => place.observe(structure, sample, |_, _| {}),
            Some(spread) => {
                spread.enter(open, sample, structure);
                place.observe(structure, sample, |structure, at| {
                    open.count(structure.counted_at(at), sample.weight);
                });
            }
        }
    }
}

impl<C> Place<C> {
    /// Counts what the sample has seen; says so of each call.
    fn observe<S>(&mut self, structure: &mut S, sample: &Sample, mut counted: impl FnMut(&S, &C))
    where
        S: CallStructure<Label = EdgeId, Cursor = C>,
    {
        match (&sample.observed, sample.stack.split_last()) {
            (Observed::Top, None) => {}
            (Observed::Top, Some((&top, below))) => {
                self.go_to(structure, below);
                self.call(structure, top, sample.weight);
                counted(structure, &self.at);
            }
            (Observed::Burst(events), _) => {
                self.go_to(structure, &sample.stack);
                for event in events {
                    match *event {
                        BurstEvent::Call(edge) => {
                            self.call(structure, edge, sample.weight);
                            counted(structure, &self.at);
                        }
                        BurstEvent::Entry(edge) => self.call(structure, edge, 0.0),
                        BurstEvent::Return => self.ret(structure),
                    }
                }
            }
        }
    }

    /// Returns from the calls that are not on the stack, and passes those that are.
    fn go_to<S: CallStructure<Label = EdgeId, Cursor = C>>(&mut self, structure: &mut S, stack: &[EdgeId]) {
        let common = self.stack.iter().zip(stack).take_while(|(here, there)| here == there).count();
        while self.stack.len() > common {
            self.ret(structure);
        }
        stack[common..].iter().for_each(|&edge| self.call(structure, edge, 0.0));
    }

    fn call<S: CallStructure<Label = EdgeId, Cursor = C>>(&mut self, structure: &mut S, edge: EdgeId, weight: f64) {
        structure.call(&mut self.at, edge, weight);
        self.stack.push(edge);
    }

    fn ret<S: CallStructure<Label = EdgeId, Cursor = C>>(&mut self, structure: &mut S) {
        structure.ret(&mut self.at);
        self.stack.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structures::forest::Forest;
    use crate::structures::reference::{edge, events, sample};

    /// Counts how it is moved.
    #[derive(Default)]
    struct Moves {
        calls: u32,
        returns: u32,
    }

    impl CallStructure for Moves {
        type Label = EdgeId;
        type Cursor = ();

        fn start(&mut self) {}

        fn call(&mut self, (): &mut (), _: EdgeId, _: f64) {
            self.calls += 1;
        }

        fn ret(&mut self, (): &mut ()) {
            self.returns += 1;
        }
    }

    /// Without nodes.
    impl Forest for Moves {
        type Label = EdgeId;
        type Node = EdgeId;

        fn nodes(&self) -> impl Iterator<Item = EdgeId> + '_ {
            std::iter::empty()
        }

        fn label(&self, node: EdgeId) -> EdgeId {
            node
        }

        fn parent(&self, _: EdgeId) -> Option<EdgeId> {
            None
        }

        fn weight(&self, _: EdgeId) -> f64 {
            0.0
        }
    }

    impl Grown for Moves {
        fn counted_at(&self, (): &()) -> Option<EdgeId> {
            None
        }
    }

    #[test]
    fn only_frames_that_differ_are_walked() {
        let mut follower = Follower::new(Moves::default(), None);
        let deep = Sample { stack: vec![edge(0); 1000], ..sample("", Observed::Top) };
        (0..10).for_each(|_| follower.add(&deep));
        let Moves { calls, returns } = follower.structure;
        assert_eq!((calls, returns), (1009, 9), "the top is called again");
        follower.add(&Sample { observed: Observed::burst(events("b c .")), ..deep.clone() });
        follower.add(&Sample { stack: [deep.stack.clone(), vec![edge(1), edge(2)]].concat(), ..deep.clone() });
        let Moves { calls, returns } = follower.structure;
        assert_eq!((calls, returns), (1012, 10), "b is open since the burst");
        follower.end(deep.thread);
        follower.add(&deep);
        assert_eq!(follower.structure.calls, 2012);
    }
}
