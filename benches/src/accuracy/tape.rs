//! One thread's events on an endless tape: the recorded run, again and again, with any place of it reached at once.
//!
//! In: a thread of a trace. Out: event, time, open calls and calls before any place. A place is the number of events that lie before it.
//! Invariants: all calls of a run return within it (what is missing is added, what has no call is left out), so that each begins with an empty stack; times never go back.

use profiler::event::Event;
use profiler::ids::EdgeId;
use profiler::trace::ThreadTrace;

/// Modelled nanoseconds of a call with its return, in the mean: 100 million calls a second.
pub const NANOSECONDS_A_CALL: f64 = 10.0;

/// No call is open.
const NONE: u32 = u32::MAX;

/// How the modelled time goes forward.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// As recorded, times this factor.
    Recorded(f64),
    /// By the same for each call and return.
    Even,
}

pub struct Tape {
    events: Vec<Event>,
    /// For each event the last call before it that is open there.
    open: Vec<u32>,
    /// Of each event, in nanoseconds from the run's begin.
    times: Vec<u32>,
    /// The places of the calls.
    calls: Vec<u32>,
    /// Of a run, in nanoseconds.
    duration: u64,
}

impl Tape {
    /// Fails if a run is too long for numbers of 32 bits: four billion events or four seconds.
    pub fn new(thread: &ThreadTrace, pace: Pace) -> Result<Tape, String> {
        let recorded = |time: u64| match pace {
            Pace::Recorded(factor) => (time - thread.start.min(time)) as f64 * factor,
            Pace::Even => 0.0,
        };
        let end = thread.end.or(thread.stamps.last().map(|stamp| stamp.cycles)).unwrap_or(thread.start);
        let mut tape = Tape { events: vec![], open: vec![], times: vec![], calls: vec![], duration: 0 };
        let mut stack = Vec::new();
        for (&event, time) in thread.events.iter().zip(thread.times()) {
            tape.push(event, recorded(time), pace, &mut stack)?;
        }
        for _ in 0..stack.len() {
            tape.push(Event::RETURN, recorded(end), pace, &mut stack)?;
        }
        let last = tape.times.last().copied().unwrap_or(0);
        tape.duration = (recorded(end) as u64).max(u64::from(last) + NANOSECONDS_A_CALL as u64 / 2);
        Ok(tape)
    }

    fn push(&mut self, event: Event, time: f64, pace: Pace, stack: &mut Vec<u32>) -> Result<(), String> {
        let at = self.events.len() as u32;
        let open = stack.last().copied().unwrap_or(NONE);
        match event.edge() {
            Some(_) => {
                stack.push(at);
                self.calls.push(at);
            }
            None if stack.pop().is_none() => return Ok(()),
            None => {}
        }
        let time = if pace == Pace::Even { f64::from(at) * NANOSECONDS_A_CALL / 2.0 } else { time };
        if time >= f64::from(u32::MAX) || at == NONE - 1 {
            return Err("the trace is too long: record a shorter run".into());
        }
        self.events.push(event);
        self.open.push(open);
        self.times.push((time as u32).max(self.times.last().copied().unwrap_or(0)));
        Ok(())
    }

    /// Events of a run.
    pub fn len(&self) -> u64 {
        self.events.len() as u64
    }

    /// Calls of a run.
    pub fn calls(&self) -> u64 {
        self.calls.len() as u64
    }

    /// The run that a place is in, and where.
    fn split(&self, place: u64) -> (u64, usize) {
        (place / self.len(), (place % self.len()) as usize)
    }

    /// The event behind a place.
    pub fn event(&self, place: u64) -> Event {
        self.events[self.split(place).1]
    }

    /// When the event behind a place happens.
    pub fn time(&self, place: u64) -> u64 {
        let (run, at) = self.split(place);
        run * self.duration + u64::from(self.times[at])
    }

    /// The place before the first event at this time or later.
    pub fn place_of_time(&self, time: u64) -> u64 {
        let (run, rest) = (time / self.duration, time % self.duration);
        run * self.len() + self.times.partition_point(|&at| u64::from(at) < rest) as u64
    }

    /// The place before the call of this number, from 1.
    pub fn place_of_call(&self, number: u64) -> u64 {
        let (run, rest) = ((number - 1) / self.calls(), (number - 1) % self.calls());
        run * self.len() + u64::from(self.calls[rest as usize])
    }

    /// Calls before a place.
    pub fn calls_before(&self, place: u64) -> u64 {
        let (run, at) = self.split(place);
        run * self.calls() + self.calls.partition_point(|&call| (call as usize) < at) as u64
    }

    /// The calls that are open at a place, innermost first.
    pub fn stack(&self, place: u64) -> impl Iterator<Item = EdgeId> + '_ {
        let open = |call: u32| (call != NONE).then_some(call);
        let calls = std::iter::successors(open(self.open[self.split(place).1]), move |&call| open(self.open[call as usize]));
        calls.filter_map(|call| self.events[call as usize].edge())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use profiler::samplers::Random;
    use profiler::trace::Stamp;

    /// Calls and returns at random, some of them without a call and some calls without a return.
    pub fn thread(seed: u64, events: usize) -> ThreadTrace {
        let mut random = Random::new(seed);
        let mut event = |_| if random.chance(0.5) { Event::call(EdgeId::from_u32(random.below(5) as u32)) } else { Event::RETURN };
        let events: Vec<Event> = (0..events).map(&mut event).collect();
        let mut cycles = 500;
        let mut stamp = |at| {
            cycles += random.below(1000);
            Stamp { at, cycles }
        };
        let stamps = (0..events.len() as u64).step_by(7).map(&mut stamp).collect();
        ThreadTrace { name: "".into(), start: 500, end: None, events, stamps }
    }

    #[test]
    fn every_place_is_that_of_a_run_event_by_event() {
        for pace in [Pace::Recorded(0.7), Pace::Even] {
            let tape = Tape::new(&thread(1, 1000), pace).unwrap();
            let (mut stack, mut calls, mut last) = (Vec::new(), 0, 0);
            for place in 0..3 * tape.len() {
                let mut open: Vec<EdgeId> = tape.stack(place).collect();
                open.reverse();
                assert_eq!(open, stack);
                assert!(stack.is_empty() || place % tape.len() > 0);
                assert_eq!(tape.calls_before(place), calls);
                let time = tape.time(place);
                assert!(time >= last);
                let first = tape.place_of_time(time);
                assert!(first <= place && tape.time(first) == time && (first == 0 || tape.time(first - 1) < time));
                last = time;
                match tape.event(place).edge() {
                    Some(edge) => {
                        calls += 1;
                        assert_eq!(tape.place_of_call(calls), place);
                        stack.push(edge);
                    }
                    None => assert!(stack.pop().is_some()),
                }
            }
            assert!(stack.is_empty());
        }
    }

    #[test]
    fn an_even_pace_is_a_hundred_million_calls_a_second() {
        let tape = Tape::new(&thread(2, 1000), Pace::Even).unwrap();
        assert_eq!(tape.time(tape.len() * 10), tape.calls() * 100);
    }
}
