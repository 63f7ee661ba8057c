//! Structures that calls are collected in, from the smallest to the largest.
//!
//! All but the DCG follow each thread with a cursor of its own, and merge what the threads do.

pub mod call_tree;
pub mod ccmap;
pub mod cct;
pub mod dcg;
pub mod dropped;
pub mod forest;
pub mod kccf;
pub mod ksf;
mod many;
pub mod pcct;
#[cfg(test)]
pub(crate) mod reference;

use crate::ids::EdgeId;
use crate::sample::{BurstEvent, Observed, Sample};
use cranelift_entity::EntityRef;
use std::hash::Hash;

/// What nodes are told apart by: a function (call-site-insensitive) or an edge (call-site-sensitive).
pub trait Label: EntityRef + Hash + Ord {}

impl<T: EntityRef + Hash + Ord> Label for T {}

/// A structure that is built from calls and returns.
pub trait CallStructure {
    /// What nodes are told apart by.
    type Label: Label;
    /// Where a thread stands in the structure.
    type Cursor;

    /// A thread without open calls.
    fn start(&mut self) -> Self::Cursor;

    /// The thread calls; the call counts for `weight`, which may be 0: then it is only passed.
    fn call(&mut self, at: &mut Self::Cursor, label: Self::Label, weight: f64);

    /// The thread's last open call returns. Nothing happens if none is open.
    fn ret(&mut self, at: &mut Self::Cursor);

    /// Counts what a sample has observed.
    fn add(&mut self, sample: &Sample, label: impl Fn(EdgeId) -> Self::Label) {
        let mut at = self.start();
        let (top, below) = match (&sample.observed, sample.stack.split_last()) {
            (Observed::Top, Some((&top, below))) => (Some(top), below),
            (Observed::Top, None) => return,
            (Observed::Burst(_), _) => (None, sample.stack.as_slice()),
        };
        below.iter().for_each(|&edge| self.call(&mut at, label(edge), 0.0));
        if let Some(top) = top {
            self.call(&mut at, label(top), sample.weight);
        }
        let Observed::Burst(events) = &sample.observed else { return };
        for event in events {
            match *event {
                BurstEvent::Call(edge) => self.call(&mut at, label(edge), sample.weight),
                BurstEvent::Entry(edge) => self.call(&mut at, label(edge), 0.0),
                BurstEvent::Return => self.ret(&mut at),
            }
        }
    }
}
