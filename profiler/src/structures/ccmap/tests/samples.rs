//! However a trace is sampled, the map counts what the samples say: continued walks, the paper's way of counting, and bounded stacks.

use super::config;
use super::random::{Step, calls, edge, program};
use super::reference::{Reference, counts};
use crate::event::Event;
use crate::ids::{EdgeId, FuncId, ThreadId};
use crate::program::Program;
use crate::sample::{Observed, Sample};
use crate::structures::CallStructure;
use crate::structures::ccmap::{CcMap, Limits};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Samples taken while a trace runs: at the steps that say so, a stack walk and the calls and returns that follow up to `burst`.
fn samples(program: &Program, steps: &[Step], ticks: &[bool], burst: usize) -> Vec<(Sample, u32)> {
    let mut samples = Vec::new();
    let mut stack = Vec::new();
    let mut open = 0;
    let mut events = steps.iter().zip(ticks.iter().chain(std::iter::repeat(&false)));
    let apply = |stack: &mut Vec<EdgeId>, open: &mut usize, step: &Step| match *step {
        Step::Call { edge: index, .. } => {
            stack.push(edge(program, index));
            Event::call(edge(program, index))
        }
        _ => {
            stack.pop();
            *open = stack.len().min(*open);
            Event::RETURN
        }
    };
    while let Some((step, &tick)) = events.next() {
        apply(&mut stack, &mut open, step);
        if !tick {
            continue;
        }
        let walked = stack.clone();
        let seen = std::mem::replace(&mut open, stack.len());
        let observed = match burst {
            0 => Observed::Top,
            _ => Observed::burst(events.by_ref().take(burst).map(|(step, _)| apply(&mut stack, &mut open, step))),
        };
        open = stack.len();
        samples
            .push((Sample { thread: ThreadId::from_u32(0), stack: walked, observed, weight: 1.0, tick: 0, stands_for: 1.0 }, seen as u32));
    }
    samples
}

proptest! {
    #![proptest_config(config())]

    /// A sample that continues the one before it counts the same as one with its whole stack.
    #[test]
    fn continued_samples_equal_whole_ones(steps in calls(), ticks in vec(any::<bool>(), 0..120), burst in 0..6usize) {
        let program = program();
        let mut whole = CcMap::new(&program, Limits::default()).unwrap();
        let mut continued = whole.clone();
        let mut at = continued.start();
        for (sample, open) in samples(&program, &steps, &ticks, burst) {
            whole.add(&sample, |edge| edge);
            let fresh = sample.stack[open as usize..].to_vec();
            continued.resume(&mut at, open, &Sample { stack: fresh, ..sample });
        }
        continued.check().unwrap();
        prop_assert_eq!(counts(&whole), counts(&continued));
    }

    /// The paper's walks count each call that some walk saw once.
    #[test]
    fn walks_count_each_call_once(steps in calls(), ticks in vec(any::<bool>(), 0..120)) {
        let program = program();
        let mut map = CcMap::new(&program, Limits::default()).unwrap();
        let mut at = map.start();
        let mut expected: BTreeMap<Vec<EdgeId>, f64> = BTreeMap::new();
        for (sample, open) in samples(&program, &steps, &ticks, 0) {
            map.walk(&mut at, open, &sample.stack[open as usize..], 1.0);
            for length in open as usize + 1..=sample.stack.len() {
                *expected.entry(sample.stack[..length].to_vec()).or_default() += 1.0;
            }
        }
        map.check().unwrap();
        prop_assert_eq!(counts(&map).paths, expected);
    }

    /// Stacks that are cut to their innermost frames.
    #[test]
    fn bounded_samples_are_suffixes(steps in calls(), ticks in vec(any::<bool>(), 0..120), frames in 1..5u32) {
        let program = program();
        let mut map = CcMap::new(&program, Limits { frames, ..Limits::default() }).unwrap();
        let mut slow = Reference::new(&program, 1);
        for (sample, _) in samples(&program, &steps, &ticks, 0) {
            map.add(&sample, |edge| edge);
            let stack = &sample.stack[sample.stack.len().saturating_sub(frames as usize)..];
            for (i, &edge) in stack.iter().enumerate() {
                slow.call(0, edge, if i + 1 == stack.len() { 1.0 } else { 0.0 });
            }
            slow.stacks[0].clear();
        }
        map.check().unwrap();
        prop_assert_eq!(counts(&map), slow.counts);
    }

    /// The paper's pseudocode (section 3.1.4) files a sample once for each frame on it, as a chain that begins there. All it counts can be asked here.
    #[test]
    fn the_pseudocode_counts_nothing_more(steps in calls(), ticks in vec(any::<bool>(), 0..120)) {
        let program = program();
        let mut map = CcMap::new(&program, Limits::default()).unwrap();
        let mut refs: BTreeMap<Vec<EdgeId>, f64> = BTreeMap::new();
        let mut profiles: BTreeMap<FuncId, f64> = BTreeMap::new();
        for (sample, _) in samples(&program, &steps, &ticks, 0) {
            let mut at = map.start();
            map.walk(&mut at, 0, &sample.stack, 1.0);
            for (first, &called) in sample.stack.iter().enumerate() {
                *profiles.entry(program.callee(called)).or_default() += 1.0;
                for last in first..sample.stack.len() {
                    *refs.entry(sample.stack[first..=last].to_vec()).or_default() += 1.0;
                }
            }
        }
        for (path, count) in refs {
            prop_assert_eq!(map.path_count(&path), count);
            prop_assert!(path.len() > 1 || map.edge(path[0]).total == count);
        }
        prop_assert!(profiles.iter().all(|(&method, &count)| map.method(method).total == count));
    }
}
