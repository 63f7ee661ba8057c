//! The way of packets from threads to the organizer, and of empty ones back.
//!
//! Who sends a packet says whether the organizer is to be woken: that takes tens of microseconds of a thread's time.
//! Invariants: sending never waits unless it is asked to; packets under way and kept take bounded memory, however deep the stacks in them are; whoever waits for the organizer has woken it.

use super::packet::Packet;
use crossbeam::channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};
use profiler::ids::ThreadId;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard};

/// Packets under way at most: about a second of samples of one thread, or a moment of 64 threads.
const CAPACITY: usize = 1024;
/// Bytes under way at most, or one packet: 40 walks of stacks of 100,000 frames, or 40 threads' records of exhaustive profiling.
const BYTES: usize = 64 << 20;
/// Bytes under way with which the organizer is woken in any case.
const MANY: usize = 4 << 20;
/// Packets kept to be used again, and how large they are at most: two for each of 64 threads, records of exhaustive profiling included.
const KEPT: usize = 128;
const KEPT_BYTES: usize = 2 << 20;

pub enum Message {
    Samples(Packet),
    /// The thread has ended: nothing of it comes any more.
    Ended(ThreadId),
    /// Everything has been sent.
    Finish,
}

pub struct Queue {
    sender: Sender<Message>,
    receiver: Receiver<Message>,
    empty_sender: Sender<Packet>,
    empty_receiver: Receiver<Packet>,
    /// Holds something if the organizer is to look for messages.
    ring: Sender<()>,
    rung: Receiver<()>,
    /// Bytes of packets under way.
    used: Mutex<usize>,
    /// They have become fewer.
    freed: Condvar,
    /// What is under way is not wanted any more.
    is_abandoned: AtomicBool,
}

impl Queue {
    pub fn new() -> Queue {
        let (sender, receiver) = bounded(CAPACITY);
        let (empty_sender, empty_receiver) = bounded(KEPT);
        let (ring, rung) = bounded(1);
        Queue {
            ring,
            rung,
            sender,
            receiver,
            empty_sender,
            empty_receiver,
            used: Mutex::default(),
            freed: Condvar::new(),
            is_abandoned: AtomicBool::new(false),
        }
    }

    /// A packet without samples.
    pub fn empty(&self, thread: ThreadId) -> Packet {
        self.empty_receiver.try_recv().map_or_else(|_| Packet::new(thread), |packet| packet.reuse(thread))
    }

    /// Gives the packet back if there is no room. Leaves it to others to wake the organizer, unless much is under way.
    pub fn try_send(&self, packet: Packet) -> Result<(), Packet> {
        let bytes = packet.bytes();
        let under_way = {
            let mut used = self.used();
            if !has_room(*used, bytes) {
                return Err(packet);
            }
            *used += bytes;
            *used
        };
        let sent = self.sender.try_send(Message::Samples(packet));
        if under_way >= MANY || sent.is_err() {
            self.wake();
        }
        match sent {
            Err(TrySendError::Full(Message::Samples(packet)) | TrySendError::Disconnected(Message::Samples(packet))) => {
                self.free(bytes);
                Err(packet)
            }
            _ => Ok(()),
        }
    }

    /// The organizer looks for messages.
    pub fn wake(&self) {
        // If there is no room, it will look in any case.
        let _ = self.ring.try_send(());
    }

    /// Waits for room.
    pub fn send(&self, packet: Packet) {
        let bytes = packet.bytes();
        let used = self.used();
        *self.freed.wait_while(used, |used| !has_room(*used, bytes)).unwrap_or_else(|e| e.into_inner()) += bytes;
        self.tell(Message::Samples(packet));
    }

    /// Says so if there is room: it only lets the organizer forget something.
    pub fn thread_ended(&self, thread: ThreadId) {
        let _ = self.sender.try_send(Message::Ended(thread));
        self.wake();
    }

    /// Waits until the message has a place.
    pub fn tell(&self, message: Message) {
        // There is always a receiver: the queue's own. If there is no room, it makes some.
        self.wake();
        let _ = self.sender.send(message);
        self.wake();
    }

    /// The next message that is received is the end, whatever is under way. Does not wait.
    pub fn abandon(&self) {
        self.is_abandoned.store(true, Relaxed);
        // For who waits for a message; if there is no room there are some.
        let _ = self.sender.try_send(Message::Finish);
        self.wake();
    }

    /// Waits for a message.
    pub fn receive(&self) -> Message {
        let message = loop {
            match self.receiver.try_recv() {
                Ok(message) => break message,
                Err(TryRecvError::Disconnected) => break Message::Finish,
                // What was sent before this fails is there when it has been woken.
                Err(TryRecvError::Empty) => _ = self.rung.recv(),
            }
        };
        if self.is_abandoned.load(Relaxed) {
            return Message::Finish;
        }
        if let Message::Samples(packet) = &message {
            self.free(packet.bytes());
        }
        message
    }

    fn used(&self) -> MutexGuard<'_, usize> {
        self.used.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn free(&self, bytes: usize) {
        *self.used() -= bytes;
        self.freed.notify_all();
    }

    /// Keeps the packet's memory for another one, unless that is much.
    pub fn recycle(&self, packet: Packet) {
        if packet.capacity() <= KEPT_BYTES {
            let _ = self.empty_sender.try_send(packet);
        }
    }
}

/// Whether a packet of so many bytes may be on its way beside those that are. One alone may be of any size.
fn has_room(used: usize, bytes: usize) -> bool {
    used == 0 || used.saturating_add(bytes) <= BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::profiling::packet::Kind;
    use jit::native::RawFrame;
    use std::thread;

    /// The walk of a deep stack: two of them are more than may be under way.
    fn deep() -> Packet {
        let mut packet = Packet::new(ThreadId::from_u32(0));
        (0..BYTES / 2 / size_of::<RawFrame>()).for_each(|_| packet.frame(RawFrame { pc: 1, fp: 2, is_entry: false }));
        packet.seal(Kind::Top, 1.0, 0);
        packet
    }

    #[test]
    fn deep_stacks_are_dropped_rather_than_piled_up() {
        let queue = Queue::new();
        assert!(queue.try_send(deep()).is_ok());
        let refused = queue.try_send(deep()).unwrap_err();
        assert!(queue.try_send(Packet::new(ThreadId::from_u32(0))).is_ok(), "small ones still find room");
        assert!(matches!(queue.receive(), Message::Samples(packet) if packet.len() == 1));
        assert!(queue.try_send(refused).is_ok());
    }

    #[test]
    fn who_waits_goes_on_when_there_is_room() {
        let queue = Queue::new();
        let received = thread::scope(|scope| {
            scope.spawn(|| (0..5).for_each(|_| queue.send(deep())));
            (0..5).filter(|_| matches!(queue.receive(), Message::Samples(_))).count()
        });
        assert_eq!((received, *queue.used()), (5, 0));
    }

    #[test]
    fn what_was_sent_before_the_organizer_is_woken_is_received() {
        let queue = Queue::new();
        let received = thread::scope(|scope| {
            let receiver = scope.spawn(|| [(); 4].map(|()| queue.receive()));
            assert!(queue.try_send(Packet::new(ThreadId::from_u32(0))).is_ok());
            assert!(queue.try_send(Packet::new(ThreadId::from_u32(1))).is_ok());
            queue.wake();
            queue.thread_ended(ThreadId::from_u32(0));
            queue.tell(Message::Finish);
            receiver.join().expect("it only receives")
        });
        assert!(matches!(received, [Message::Samples(_), Message::Samples(_), Message::Ended(_), Message::Finish]));
    }

    #[test]
    fn what_is_abandoned_is_not_received() {
        let queue = Queue::new();
        while queue.try_send(Packet::new(ThreadId::from_u32(0))).is_ok() {}
        queue.abandon();
        assert!(matches!(queue.receive(), Message::Finish), "though it is full");
    }

    #[test]
    fn large_packets_are_not_kept() {
        let queue = Queue::new();
        queue.recycle(deep());
        assert_eq!(queue.empty(ThreadId::from_u32(1)).capacity(), 0);
    }
}
