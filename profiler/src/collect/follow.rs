//! A structure with the place of every thread in it, so that the part of a stack that the thread's last sample had too is not walked again.
//!
//! In: samples, each thread's in their order. Out: the structure that [`CallStructure::add`] would make of them. Memory: a stack a thread, of four bytes a frame, and the structure's cursor.

use crate::ids::{EdgeId, ThreadId};
use crate::sample::{Observed, Sample};
use crate::structures::CallStructure;
use rustc_hash::FxHashMap;

pub(super) struct Follower<S: CallStructure> {
    structure: S,
    threads: FxHashMap<ThreadId, Place<S::Cursor>>,
}

/// Where a thread's last sample has ended.
struct Place<C> {
    at: C,
    stack: Vec<EdgeId>,
}

impl<S: CallStructure<Label = EdgeId>> Follower<S> {
    pub fn new(structure: S) -> Self {
        Follower { structure, threads: FxHashMap::default() }
    }

    pub fn structure(&self) -> &S {
        &self.structure
    }

    pub fn structure_mut(&mut self) -> &mut S {
        &mut self.structure
    }

    pub fn end(&mut self, thread: ThreadId) {
        self.threads.remove(&thread);
    }

    /// Memory of the threads' places, without what the structure keeps in its cursors.
    pub fn bytes(&self) -> usize {
        let stacks: usize = self.threads.values().map(|place| place.stack.capacity() * size_of::<EdgeId>()).sum();
        self.threads.capacity() * (size_of::<(ThreadId, Place<S::Cursor>)>() + 1) + stacks
    }

    pub fn add(&mut self, sample: &Sample) {
        let Follower { structure, threads } = self;
        let place = threads.entry(sample.thread).or_insert_with(|| Place { at: structure.start(), stack: Vec::new() });
        match (&sample.observed, sample.stack.split_last()) {
            (Observed::Top, None) => {}
            (Observed::Top, Some((&top, below))) => {
                place.go_to(structure, below);
                place.call(structure, top, sample.weight);
            }
            (Observed::Burst(events), _) => {
                place.go_to(structure, &sample.stack);
                for event in events {
                    match event.edge() {
                        Some(edge) => place.call(structure, edge, sample.weight),
                        None => place.ret(structure),
                    }
                }
            }
        }
    }
}

impl<C> Place<C> {
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

    #[test]
    fn only_frames_that_differ_are_walked() {
        let mut follower = Follower::new(Moves::default());
        let deep = Sample { stack: vec![edge(0); 1000], ..sample("", Observed::Top) };
        (0..10).for_each(|_| follower.add(&deep));
        let Moves { calls, returns } = follower.structure;
        assert_eq!((calls, returns), (1009, 9), "the top is called again");
        follower.add(&Sample { observed: Observed::Burst(events("b c .")), ..deep.clone() });
        follower.add(&Sample { stack: [deep.stack.clone(), vec![edge(1), edge(2)]].concat(), ..deep.clone() });
        let Moves { calls, returns } = follower.structure;
        assert_eq!((calls, returns), (1012, 10), "b is open since the burst");
        follower.end(deep.thread);
        follower.add(&deep);
        assert_eq!(follower.structure.calls, 2012);
    }
}
