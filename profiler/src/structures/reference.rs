//! For tests: random traces and samples, and a slow, obvious account of what they count, which the structures must agree with.

use crate::event::Event;
use crate::ids::{EdgeId, ThreadId};
use crate::sample::{BurstEvent, Observed, Sample};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

pub type Path = Vec<EdgeId>;

pub fn edge(number: u32) -> EdgeId {
    EdgeId::from_u32(number)
}

/// Letters are calls of the edges 0, 1, ... from `a` on, `.` is a return; blanks are for the eye.
pub fn events(text: &str) -> Vec<Event> {
    let event = |c: char| if c == '.' { Event::RETURN } else { Event::call(letter(c)) };
    text.chars().filter(|c| !c.is_whitespace()).map(event).collect()
}

pub fn path(text: &str) -> Path {
    text.chars().map(letter).collect()
}

fn letter(c: char) -> EdgeId {
    edge(c as u32 - 'a' as u32)
}

/// A sample of one tick a thread, of weight 1.
pub fn sample(stack: &str, observed: Observed) -> Sample {
    Sample { thread: ThreadId::from_u32(0), stack: path(stack), observed, weight: 1.0, tick: 0, stands_for: 1.0 }
}

/// Counted calls, each with the calls that were open when it was made, itself last.
pub fn counted(sample: &Sample) -> Vec<Path> {
    if sample.observed == Observed::Top {
        return if sample.stack.is_empty() { Vec::new() } else { vec![sample.stack.clone()] };
    }
    passed(sample).into_iter().filter_map(|(path, counts)| counts.then_some(path)).collect()
}

/// Functions called or entered in a burst, each with those that were open and itself last, and whether it counts.
fn passed(sample: &Sample) -> Vec<(Path, bool)> {
    let mut stack = sample.stack.clone();
    let mut paths = Vec::new();
    let Observed::Burst(events) = &sample.observed else { return paths };
    for &event in events {
        match event {
            BurstEvent::Call(edge) | BurstEvent::Entry(edge) => {
                stack.push(edge);
                paths.push((stack.clone(), event.counted().is_some()));
            }
            BurstEvent::Return => drop(stack.pop()),
        }
    }
    paths
}

/// The weight of each context, of those too that are only passed.
pub fn contexts(samples: &[Sample]) -> BTreeMap<Path, f64> {
    let mut weights = BTreeMap::new();
    for sample in samples {
        for length in 1..=sample.stack.len() {
            weights.entry(sample.stack[..length].to_vec()).or_default();
        }
        for (path, _) in passed(sample) {
            weights.entry(path).or_default();
        }
        for path in counted(sample) {
            *weights.entry(path).or_default() += sample.weight;
        }
    }
    weights
}

/// Calls of few edges, twice as many as returns: deep enough, and with returns that have no call.
pub fn any_events() -> impl Strategy<Value = Vec<Event>> {
    vec(any_event(), 0..80)
}

fn any_event() -> impl Strategy<Value = Event> {
    let call = (0..6u32).prop_map(|number| Event::call(edge(number)));
    prop_oneof![2 => call, 1 => Just(Event::RETURN)]
}

/// Samples of three threads, each thread's in the order of its ticks. Weights are halves, so that sums are exact.
pub fn any_samples() -> impl Strategy<Value = Vec<Sample>> {
    let event = (any_event(), any::<bool>()).prop_map(|(event, is_seen)| match BurstEvent::from(event) {
        BurstEvent::Call(edge) if !is_seen => BurstEvent::Entry(edge),
        event => event,
    });
    let observed = prop_oneof![Just(Observed::Top), vec(event, 0..80).prop_map(Observed::Burst)];
    let stack = vec((0..6u32).prop_map(edge), 0..6);
    let sample = (0..3u32, stack, observed, 1..20u32, 0..2u64);
    vec(sample, 0..12).prop_map(|samples| {
        let mut ticks = [0; 3];
        let sample = |(thread, stack, observed, halves, passed): (u32, _, _, u32, u64)| {
            let tick = &mut ticks[thread as usize];
            *tick += passed;
            let stands_for = 1.0 + (*tick % 3) as f64;
            Sample { thread: ThreadId::from_u32(thread), stack, observed, weight: f64::from(halves) / 2.0, tick: *tick, stands_for }
        };
        samples.into_iter().map(sample).collect()
    })
}

/// The complete trace of a thread, as one sample.
pub fn trace(events: Vec<Event>) -> Sample {
    sample("", Observed::burst(events))
}
