//! How samples get into a map: whole stacks, suffixes of a bounded length, and walks that continue the thread's walk before (CC-Map section 3.1.4).
//! There each new frame counts, as in [`CcMap::walk`]; else, only the innermost call does: weights stand for calls like that one.

use super::{CallStructure, CcMap, Cursor};
use crate::ids::EdgeId;
use crate::sample::{BurstEvent, Observed, Sample};
use cranelift_entity::packed_option::PackedOption;

impl CcMap {
    /// Counts a sample whose stack walk stopped at a frame that the thread's previous walk had seen (CC-Map section 3.1.4). `open` of the calls that `at` stands in
    /// are still open, counted from the outermost; the sample's stack has the calls above them. With an empty stack, [`Observed::Top`] counts
    /// the last of the open ones again. `at` ends where the sample does.
    ///
    /// If `at` has fewer open calls than that (a sample in between was lost), the new part is filed as a suffix, under its outermost caller. A lost sample that
    /// left enough open calls cannot be noticed here: whoever loses one continues with a new cursor.
    pub fn resume(&mut self, at: &mut Cursor, open: u32, sample: &Sample) {
        self.unwind(at, open);
        self.observe(at, sample, |edge| edge);
    }

    /// Like [`CcMap::resume`], but counts as the paper does: each call that no earlier walk saw, not only the last one.
    pub fn walk(&mut self, at: &mut Cursor, open: u32, fresh: &[EdgeId], weight: f64) {
        self.unwind(at, open);
        self.innermost(at, fresh).iter().for_each(|&edge| self.call(at, edge, weight));
    }

    /// Returns until `open` calls are left.
    fn unwind(&mut self, at: &mut Cursor, open: u32) {
        if open > at.depth {
            *at = Cursor { depth: open, ..self.start() };
        }
        while at.depth > open {
            self.ret(at);
        }
    }

    /// The part of a stack within the limit. `at` leaves its context if that is not all.
    fn innermost<'a>(&self, at: &mut Cursor, stack: &'a [EdgeId]) -> &'a [EdgeId] {
        let skipped = stack.len().saturating_sub(self.limits.frames as usize);
        if skipped > 0 {
            *at = Cursor { node: PackedOption::default(), lost: 0, depth: at.depth.saturating_add(skipped as u32), epoch: self.epoch };
        }
        &stack[skipped..]
    }

    pub(super) fn observe(&mut self, at: &mut Cursor, sample: &Sample, label: impl Fn(EdgeId) -> EdgeId) {
        let stack = self.innermost(at, &sample.stack);
        match (&sample.observed, stack.split_last()) {
            (Observed::Top, Some((&top, below))) => {
                below.iter().for_each(|&edge| self.call(at, label(edge), 0.0));
                self.call(at, label(top), sample.weight);
            }
            (Observed::Top, None) => self.count_again(at, sample.weight),
            (Observed::Burst(events), _) => {
                stack.iter().for_each(|&edge| self.call(at, label(edge), 0.0));
                for event in events {
                    match *event {
                        BurstEvent::Call(edge) => self.call(at, label(edge), sample.weight),
                        BurstEvent::Entry(edge) => self.call(at, label(edge), 0.0),
                        BurstEvent::Return => self.ret(at),
                    }
                }
            }
        }
    }

    /// Counts the call that the thread is in.
    fn count_again(&mut self, at: &Cursor, weight: f64) {
        let node = at.context().filter(|_| at.epoch == self.epoch);
        match node {
            Some(node) => {
                self.count(self.callee_refs[node].edge, weight);
                self.callee_refs[node].count += weight;
            }
            None if at.depth > 0 && weight > 0.0 => self.unknown += 1,
            None => {}
        }
    }
}
