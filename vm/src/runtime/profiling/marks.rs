//! How far decoding is: code may be freed once every address in it that a thread has recorded was looked up.
//!
//! In: the stops at which code is freed, with what threads still hold at each of them; packets as they are sent and decoded. Out: the number of a stop before which all that was recorded has been decoded or dropped
//! ([`Marks::stop`], for [`jit::native::Engine::reclaim`]).
//!
//! What a thread holds lies in one packet, which remembers the last stop before it was begun. Packets on their way are decoded in the order in which they were sent. So at each stop it is known what is on its way or decoded: all that was
//! recorded before the oldest packet that a thread holds was begun.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

#[derive(Default, Debug)]
pub struct Marks {
    /// The number of the last stop.
    last: AtomicU64,
    /// Packets, while threads run.
    sent: AtomicU64,
    decoded: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default, Debug)]
struct State {
    /// In the order of stops.
    waiting: VecDeque<Mark>,
    /// All that was recorded before the stop with this number has been decoded.
    decoded: u64,
}

/// Once so many packets are decoded, so is all that was recorded before the stop with this number.
#[derive(Debug)]
struct Mark {
    packets: u64,
    stop: u64,
}

impl Marks {
    /// The number of the last stop, for a packet that is begun.
    pub fn now(&self) -> u64 {
        self.last.load(SeqCst)
    }

    /// A thread that runs has sent a packet.
    pub fn sent(&self) {
        self.sent.fetch_add(1, SeqCst);
    }

    /// The packets come in the order in which they were sent.
    pub fn decoded(&self) {
        self.decoded.fetch_add(1, SeqCst);
    }

    /// No thread runs at the stop with this number; `held`: of each thread that holds something the last stop before it was begun, at most `number`.
    pub fn stop(&self, number: u64, held: impl Iterator<Item = u64>) -> u64 {
        self.last.store(number, SeqCst);
        let (packets, stop) = (self.sent.load(SeqCst), held.fold(number, u64::min));
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        // Only the last of several stops without packets in between counts: at most as many wait as there are packets on their way.
        if state.waiting.back().is_some_and(|mark| mark.packets == packets) {
            state.waiting.pop_back();
        }
        state.waiting.push_back(Mark { packets, stop });
        let decoded = self.decoded.load(SeqCst);
        while let Some(mark) = state.waiting.pop_front_if(|mark| mark.packets <= decoded) {
            state.decoded = state.decoded.max(mark.stop);
        }
        state.decoded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(marks: &Marks, held: &[u64]) -> u64 {
        marks.stop(marks.now() + 1, held.iter().copied())
    }

    #[test]
    fn nothing_recorded_is_nothing_to_wait_for() {
        let marks = Marks::default();
        assert_eq!((stop(&marks, &[]), stop(&marks, &[])), (1, 2));
        assert_eq!(stop(&marks, &[2, 3]), 2, "a thread holds something since stop 2");
        assert_eq!(stop(&marks, &[4, 4]), 4);
    }

    #[test]
    fn packets_under_way_are_waited_for() {
        let marks = Marks::default();
        marks.sent();
        marks.sent();
        assert_eq!((stop(&marks, &[]), stop(&marks, &[])), (0, 0));
        marks.decoded();
        assert_eq!(stop(&marks, &[]), 0);
        marks.decoded();
        marks.sent();
        assert_eq!(stop(&marks, &[]), 3, "what came later was recorded later");
        marks.decoded();
        assert_eq!(stop(&marks, &[]), 5);
    }

    #[test]
    fn what_a_thread_held_is_still_to_be_decoded_when_it_is_sent() {
        let marks = Marks::default();
        assert_eq!(stop(&marks, &[0]), 0);
        marks.sent();
        assert_eq!(stop(&marks, &[]), 0, "sent after stop 1, begun before it");
        marks.decoded();
        assert_eq!(stop(&marks, &[]), 3);
    }

    #[test]
    fn stops_without_packets_take_no_memory() {
        let marks = Marks::default();
        marks.sent();
        (0..1000).for_each(|_| _ = stop(&marks, &[]));
        assert_eq!(marks.state.lock().unwrap().waiting.len(), 1);
    }
}
