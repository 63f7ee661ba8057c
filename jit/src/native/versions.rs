//! Code that is out of use: from where nothing leads to it any more until its memory is free.
//!
//! In: versions as they are replaced or given back; while the program is stopped, the addresses at which its frames stand. Out: versions that can be freed.
//!
//! A stop that finds no frame in a retired version is the end of that version: no thread comes to run it again. A thread runs code from its entry on, or goes on where a frame of it stands.
//! - Frames are what the stop looked through. Where a thread unwinds to it finds from a frame, and goes there at once.
//! - Entries are loaded from cells and virtual tables, by compiled code right before its call, by `Engine::enter`, and by the thunk of calls that find no code or are to be noticed, which gets it from `Engine::compile`. From there to the jump none of them is at a
//!   safepoint: calls load behind their arguments' last safepoint, entering and compiling call nothing of the runtime. So at a stop no thread has an entry in its hands. And nobody loads a retired one afterwards: it was taken out of
//!   cells and tables before it was retired, and that happened before the stop, which happened before threads go on (they synchronize with whoever stopped them).
//! - Whoever keeps an entry in a cell of his own does the same: takes it out first, and loads it without a safepoint before the jump.
//! - Code that leads to each other, and to which nothing else leads, is retired together (a group), and ends together: as long as a thread stands in some of it, it may come to the rest.
//!
//! What remains are addresses that were written down for a profile and are decoded later, by another thread. None is in a version that has ended, unless it was written down before the stop. So stops are numbered, and a version is freed only
//! when all that was written down before the stop that ended it has been decoded.

use super::api::FrameAddresses;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

struct Retired {
    len: u32,
    /// The first entry of its group.
    group: u64,
}

struct Group {
    members: u32,
    /// The last stop at which a thread may have run some of it.
    last_used: u64,
}

/// Versions that were retired and are not freed yet.
#[derive(Default)]
pub struct OutOfUse {
    /// By entry.
    versions: BTreeMap<u64, Retired>,
    groups: BTreeMap<u64, Group>,
    bytes: u64,
    stops: u64,
}

impl OutOfUse {
    /// Nothing leads to this code from now on, entries and lengths, but from each other.
    pub fn retire(&mut self, code: &[(u64, u32)]) {
        let Some(&(group, _)) = code.first() else { return };
        for &(entry, len) in code {
            let last = self.versions.insert(entry, Retired { len, group });
            assert!(last.is_none(), "the code at {entry:#x} is retired twice");
            self.bytes += u64::from(len);
        }
        self.groups.insert(group, Group { members: code.len() as u32, last_used: self.stops });
    }

    fn last_used(&self, version: &Retired) -> u64 {
        self.groups[&version.group].last_used
    }

    /// The program is stopped: looks which versions have frames. Gives the stop's number, and that of versions in whose groups there are some.
    pub fn stop(&mut self, addresses: &mut FrameAddresses<'_>) -> (u64, u64) {
        self.stops += 1;
        let number = self.stops;
        if self.versions.is_empty() {
            return (number, 0);
        }
        let mut in_use = 0;
        addresses(&mut |pc| {
            // A return address may lie behind the code's last byte, which is nobody else's first: code starts at granules.
            if let Some((entry, version)) = self.versions.range(..=pc).next_back()
                && pc <= entry + u64::from(version.len)
                && let Some(group) = self.groups.get_mut(&version.group).filter(|group| group.last_used != number)
            {
                group.last_used = number;
                in_use += u64::from(group.members);
            }
        });
        (number, in_use)
    }

    /// Versions that ended at the last stop or before, and of which no address is still to be decoded: all that was written down before the stop number `decoded` has been. Entries and lengths.
    pub fn ended(&self, decoded: u64) -> Vec<(u64, u32)> {
        let ended = self.versions.iter().filter(|(_, v)| self.last_used(v) < decoded.min(self.stops));
        ended.map(|(&entry, v)| (entry, v.len)).collect()
    }

    /// Its memory is free.
    pub fn forget(&mut self, entry: u64) {
        let Some(version) = self.versions.remove(&entry) else { return };
        self.bytes -= u64::from(version.len);
        if let Entry::Occupied(mut group) = self.groups.entry(version.group) {
            group.get_mut().members -= 1;
            if group.get().members == 0 {
                group.remove();
            }
        }
    }

    pub fn contains(&self, entry: u64) -> bool {
        self.versions.contains_key(&entry)
    }

    /// Of their code.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn len(&self) -> usize {
        self.versions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(versions: &mut OutOfUse, pcs: &[u64]) -> (u64, u64) {
        versions.stop(&mut |f| pcs.iter().for_each(|&pc| f(pc)))
    }

    #[test]
    fn frames_keep_code() {
        let mut versions = OutOfUse::default();
        versions.retire(&[(1000, 50)]);
        versions.retire(&[(1064, 10)]);
        assert_eq!(versions.ended(u64::MAX), [], "there was no stop yet");
        assert_eq!(stop(&mut versions, &[1050, 1020, 999]), (1, 1), "one frame stands behind the last instruction");
        assert_eq!(versions.ended(u64::MAX), [(1064, 10)]);
        versions.forget(1064);
        assert_eq!(stop(&mut versions, &[1000, 1064]), (2, 1));
        assert_eq!(versions.ended(u64::MAX), []);
        assert_eq!(stop(&mut versions, &[1051]), (3, 0));
        assert_eq!(versions.ended(u64::MAX), [(1000, 50)]);
        assert_eq!((versions.len(), versions.bytes()), (1, 50));
    }

    #[test]
    fn addresses_that_were_written_down_keep_code() {
        let mut versions = OutOfUse::default();
        versions.retire(&[(1000, 50)]);
        stop(&mut versions, &[]);
        assert_eq!(versions.ended(0), [], "what was written down before stop 1 may name it");
        assert_eq!(versions.ended(1), [(1000, 50)]);
        versions.retire(&[(2000, 50)]);
        stop(&mut versions, &[2001]);
        stop(&mut versions, &[]);
        assert_eq!(versions.ended(2), [(1000, 50)], "the other ended at stop 3");
        assert_eq!(versions.ended(3), [(1000, 50), (2000, 50)]);
    }
    #[test]
    fn code_that_leads_to_each_other_ends_together() {
        let mut versions = OutOfUse::default();
        versions.retire(&[(2000, 50), (1000, 50)]);
        versions.retire(&[(3000, 50)]);
        assert_eq!(stop(&mut versions, &[1010, 2010]), (1, 2));
        assert_eq!(versions.ended(u64::MAX), [(3000, 50)]);
        versions.forget(3000);
        assert_eq!(stop(&mut versions, &[1010]), (2, 2));
        assert_eq!(versions.ended(u64::MAX), [], "from there a thread may come to the other");
        assert_eq!(stop(&mut versions, &[]), (3, 0));
        assert_eq!(versions.ended(u64::MAX), [(1000, 50), (2000, 50)]);
        [1000, 2000].into_iter().for_each(|entry| versions.forget(entry));
        assert_eq!((versions.len(), versions.bytes(), versions.groups.len()), (0, 0, 0));
    }
}
