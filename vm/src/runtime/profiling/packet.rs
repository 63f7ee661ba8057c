//! What a thread hands over: some samples as the machine shows them, addresses only.
//!
//! In: stack walks and the records that compiled code makes of calls. Out: a [`Packet`], which the organizer decodes. Writing one costs a thread two words a frame and three a call; nothing is looked up.
//! Invariant: the samples' frames and calls lie one after the other, in the order of the samples.

use jit::context::CallSeen;
use jit::native::RawFrame;
use profiler::ids::ThreadId;
use std::mem::MaybeUninit;
use std::ops::Range;

/// What of a sample counts; see [`profiler::sample::Observed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Top,
    Burst,
    /// The call on top of the stack is the first of the burst.
    BurstFromTop,
    /// That no call was made: it stands for its time like any other.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
pub struct RawSample {
    pub kind: Kind,
    pub weight: f64,
    pub tick: u64,
    /// See [`profiler::sample::Sample::stands_for`].
    pub stands_for: f64,
    /// End of its frames in the packet.
    frames_end: u32,
    /// End of its calls in the packet.
    calls_end: u32,
}

/// Samples of one thread.
#[derive(Debug)]
pub struct Packet {
    pub thread: ThreadId,
    /// The last stop at which code was freed before anything in it was recorded.
    pub begun: u64,
    samples: Vec<RawSample>,
    /// Of each sample the innermost first.
    frames: Vec<RawFrame>,
    calls: Vec<CallSeen>,
}

impl Packet {
    pub fn new(thread: ThreadId) -> Packet {
        Packet { thread, begun: 0, samples: Vec::new(), frames: Vec::new(), calls: Vec::new() }
    }

    /// Begun after the stop with this number.
    pub fn begun(self, begun: u64) -> Packet {
        Packet { begun, ..self }
    }

    /// Empty again, for another thread, its memory kept.
    pub fn reuse(mut self, thread: ThreadId) -> Packet {
        self.thread = thread;
        self.clear();
        self
    }

    pub fn clear(&mut self) {
        self.samples.clear();
        self.frames.clear();
        self.calls.clear();
    }

    pub fn len(&self) -> usize {
        self.samples.len()
    }

    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Nothing was recorded, not even of a sample that is being made.
    pub fn is_blank(&self) -> bool {
        self.samples.is_empty() && self.frames.is_empty() && self.calls.is_empty()
    }

    /// Of all that is in it.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.samples) + size_of_val(&*self.frames) + size_of_val(&*self.calls)
    }

    /// Bytes of the memory that it keeps when it is empty.
    pub fn capacity(&self) -> usize {
        self.samples.capacity() * size_of::<RawSample>()
            + self.frames.capacity() * size_of::<RawFrame>()
            + self.calls.capacity() * size_of::<CallSeen>()
    }

    /// Takes memory for so many frames and calls more: no page of it is then met for the first time while a program is looked at.
    pub fn take_memory(&mut self, frames: usize, calls: usize) {
        take(&mut self.frames, frames);
        take(&mut self.calls, calls);
    }

    /// A frame of the sample that is being made, after those inside of it.
    pub fn frame(&mut self, frame: RawFrame) {
        self.frames.push(frame);
    }

    /// A call of the burst that is being recorded.
    pub fn call(&mut self, call: CallSeen) {
        self.calls.push(call);
    }

    /// Calls of the burst that is being recorded.
    pub fn recorded(&self) -> usize {
        self.calls.len() - self.samples.last().map_or(0, |sample| sample.calls_end as usize)
    }

    /// The sample that was being made is complete.
    pub fn seal(&mut self, kind: Kind, weight: f64, tick: u64) {
        let (frames_end, calls_end) = (self.frames.len() as u32, self.calls.len() as u32);
        self.samples.push(RawSample { kind, weight, tick, stands_for: 1.0, frames_end, calls_end });
    }

    /// Multiplies the weights of all samples from this one on, whose ticks stand for so many nanoseconds together.
    pub fn scale(&mut self, from: usize, factor: f64, nanos: f64) {
        let samples = &mut self.samples[from..];
        let ticks = samples.chunk_by(|a, b| a.tick == b.tick).count();
        for sample in samples {
            sample.weight *= factor;
            sample.stands_for = nanos / ticks as f64;
        }
    }

    /// The calls that were recorded in samples from this one on stand for so many calls together. Says whether there are any.
    pub fn share_out(&mut self, from: usize, calls: f64) -> bool {
        let told = self.told(from);
        if told > 0.0 {
            self.samples[from..].iter_mut().for_each(|sample| sample.weight *= calls / told);
        }
        told > 0.0
    }

    /// For how many calls those stand that were recorded in samples from this one on.
    pub fn told(&self, from: usize) -> f64 {
        let mut before = from.checked_sub(1).map_or(0, |before| self.samples[before].calls_end);
        let of_sample = |sample: &RawSample| {
            let top = u32::from(matches!(sample.kind, Kind::Top | Kind::BurstFromTop));
            sample.weight * f64::from(sample.calls_end - std::mem::replace(&mut before, sample.calls_end) + top)
        };
        self.samples[from..].iter().map(of_sample).sum()
    }

    /// The sample that was being made saw nothing.
    pub fn discard(&mut self) {
        let (frames, calls) = self.samples.last().map_or((0, 0), |sample| (sample.frames_end, sample.calls_end));
        self.frames.truncate(frames as usize);
        self.calls.truncate(calls as usize);
    }

    /// Room for so many calls, which compiled code fills from its beginning on; until [`Packet::recorded_up_to`] nothing else happens to the packet.
    pub fn room(&mut self, calls: usize) -> Range<*mut CallSeen> {
        self.calls.reserve(calls);
        let free = self.calls.spare_capacity_mut()[..calls].as_mut_ptr_range();
        free.start.cast()..free.end.cast()
    }

    /// Takes what compiled code has recorded.
    ///
    /// # Safety
    /// `cursor` began at the start of the last [`Packet::room`] and has moved on only over records that were written, at most to its end.
    pub unsafe fn recorded_up_to(&mut self, cursor: *const CallSeen) {
        // SAFETY: both lie in the vector's memory, by contract.
        let calls = unsafe { cursor.offset_from(self.calls.as_ptr()) };
        // SAFETY: written, by contract.
        unsafe { self.calls.set_len(calls as usize) };
    }

    /// Every sample with its frames, innermost first, and its calls.
    pub fn samples(&self) -> impl Iterator<Item = (&RawSample, &[RawFrame], &[CallSeen])> {
        let starts = std::iter::once((0, 0)).chain(self.samples.iter().map(|sample| (sample.frames_end, sample.calls_end)));
        self.samples.iter().zip(starts).map(|(sample, (frames, calls))| {
            let frames = &self.frames[frames as usize..sample.frames_end as usize];
            (sample, frames, &self.calls[calls as usize..sample.calls_end as usize])
        })
    }
}

fn take<T: Copy>(records: &mut Vec<T>, more: usize) {
    const PAGE: usize = 4096;
    // Of memory that a packet has kept, pages have been met.
    if records.capacity() - records.len() >= more {
        return;
    }
    records.reserve(more);
    let free = records.spare_capacity_mut().iter_mut();
    free.step_by(PAGE / size_of::<T>()).for_each(|record| *record = MaybeUninit::zeroed());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(packet: &mut Packet, kind: Kind, calls: usize, weight: f64) {
        (0..calls).for_each(|_| packet.call(CallSeen::default()));
        packet.seal(kind, weight, 0);
    }

    fn weights(packet: &Packet) -> Vec<f64> {
        packet.samples().map(|(sample, ..)| sample.weight).collect()
    }

    #[test]
    fn calls_that_were_recorded_in_a_window_stand_for_all_of_them() {
        let mut packet = Packet::new(ThreadId::from_u32(0));
        burst(&mut packet, Kind::Burst, 5, 7.0);
        assert!(!packet.share_out(1, 100.0), "no sample");
        packet.seal(Kind::Nothing, 0.0, 0);
        assert!(!packet.share_out(1, 100.0), "no call");
        burst(&mut packet, Kind::Burst, 2, 10.0);
        burst(&mut packet, Kind::BurstFromTop, 3, 5.0);
        burst(&mut packet, Kind::Top, 0, 60.0);
        assert_eq!(packet.told(1), 100.0, "of six calls, two of which were on top of the stack");
        assert!(packet.share_out(1, 200.0));
        assert_eq!(weights(&packet), [7.0, 0.0, 20.0, 10.0, 120.0], "those that were recorded more rarely weigh more");
    }

    #[test]
    fn memory_that_was_taken_is_there_when_it_is_needed() {
        let mut packet = Packet::new(ThreadId::from_u32(0));
        burst(&mut packet, Kind::Burst, 5, 7.0);
        packet.take_memory(4096, 4096);
        let taken = packet.capacity();
        (0..1000).for_each(|_| packet.call(CallSeen::default()));
        assert_eq!((packet.calls.len(), packet.capacity()), (1005, taken));
    }
}
