//! Which stacks a sampler has met before: a signature of a stack, and a table of the signatures seen (PLDI'06 section 5.3).
//!
//! In: the frames of a stack, each as a number that names its method and call site. Out: a signature, and whether it was in the table.
//! Two stacks may share a signature, and a signature may push another out of the table: both only change which bursts are skipped.

use crc32fast::Hasher;

/// A CRC over the frames of a stack, top first or bottom first, but always the same way.
#[derive(Clone, Default, Debug)]
pub struct Signature(Hasher);

impl Signature {
    /// Adds a frame: any number that is equal for equal method and call site (an edge; a return address).
    pub fn frame(&mut self, frame: u64) {
        self.0.update(&frame.to_le_bytes());
    }

    /// The signature of the frames so far.
    pub fn finish(self) -> u32 {
        self.0.finalize()
    }
}

/// A direct-mapped table of signatures.
#[derive(Clone, Debug)]
pub struct History {
    /// A signature plus one, 0 where none is. Where the table has several places for a signature's index, the last one came wins.
    entries: Box<[u64]>,
}

impl History {
    /// A table with room for so many signatures (at least one).
    pub fn new(entries: u32) -> History {
        History { entries: vec![0; entries.max(1) as usize].into_boxed_slice() }
    }

    /// Enters the signature; true if it was there.
    pub fn visit(&mut self, signature: u32) -> bool {
        let at = signature as usize % self.entries.len();
        let entry = u64::from(signature) + 1;
        std::mem::replace(&mut self.entries[at], entry) == entry
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(frames: &[u64]) -> u32 {
        let mut signature = Signature::default();
        frames.iter().for_each(|&frame| signature.frame(frame));
        signature.finish()
    }

    #[test]
    fn signatures_depend_on_frames_and_their_order() {
        assert_eq!(signature(&[1, 2, 3]), signature(&[1, 2, 3]));
        assert_ne!(signature(&[1, 2, 3]), signature(&[1, 3, 2]));
        assert_ne!(signature(&[1, 2]), signature(&[1, 2, 0]));
    }

    #[test]
    fn a_signature_is_new_once_until_another_takes_its_place() {
        let mut history = History::new(4);
        assert!(!history.visit(0), "an empty entry is not signature 0");
        assert!(history.visit(0));
        assert!(!history.visit(5));
        assert!(history.visit(0) && history.visit(5));
        assert!(!history.visit(4), "4 goes where 0 was");
        assert!(!history.visit(0));
        assert!(!history.visit(u32::MAX));
        assert!(history.visit(u32::MAX));
    }
}
