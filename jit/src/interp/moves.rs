//! Arguments of an edge to parameters of a block: all at once in the IR, one after the other here.

use rustc_hash::FxHashMap;

/// `to = from`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Move {
    pub from: u32,
    pub to: u32,
}

/// Orders `moves` (each `to` at most once), so that doing them one by one has the effect of doing them at once. `scratch` is a slot of no one else, used where they go round in a circle.
pub(super) fn sequence(moves: impl IntoIterator<Item = Move>, scratch: u32) -> Vec<Move> {
    let mut pending: Vec<Move> = moves.into_iter().filter(|m| m.from != m.to).collect();
    let mut reads: FxHashMap<u32, u32> = FxHashMap::default();
    pending.iter().for_each(|m| *reads.entry(m.from).or_default() += 1);
    let into: FxHashMap<u32, usize> = pending.iter().enumerate().map(|(i, m)| (m.to, i)).collect();
    let mut done = vec![false; pending.len()];
    let mut sequence = Vec::with_capacity(pending.len());
    // A slot that no pending move reads may be overwritten.
    let mut ready: Vec<usize> = (0..pending.len()).filter(|&i| !reads.contains_key(&pending[i].to)).collect();
    for start in 0..pending.len() {
        loop {
            while let Some(i) = ready.pop() {
                done[i] = true;
                sequence.push(pending[i]);
                let left = reads.get_mut(&pending[i].from).expect("counted above");
                *left -= 1;
                if *left == 0 {
                    ready.extend(into.get(&pending[i].from).filter(|&&j| !done[j]));
                }
            }
            if done[start] {
                break;
            }
            // Only circles are left: each slot is read once. Saving the one that `start` overwrites opens its circle.
            let to = pending[start].to;
            sequence.push(Move { from: to, to: scratch });
            let reader = pending.iter().zip(&done).position(|(m, &done)| !done && m.from == to).expect("a circle");
            pending[reader].from = scratch;
            reads.insert(scratch, 1);
            ready.push(start);
        }
    }
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ways to write 4 slots from 4 slots, with any subset of them written.
    #[test]
    fn has_the_effect_of_moving_all_at_once() {
        const SLOTS: u32 = 4;
        for code in 0..(SLOTS + 1).pow(SLOTS) {
            // Digit `to` of `code`: where slot `to` comes from; `SLOTS`: it stays.
            let moves = (0..SLOTS).map(|to| Move { from: code / (SLOTS + 1).pow(to) % (SLOTS + 1), to }).filter(|m| m.from < SLOTS);
            let moves: Vec<Move> = moves.collect();
            let mut expected = [0, 1, 2, 3, 99];
            moves.iter().for_each(|m| expected[m.to as usize] = m.from);
            let mut slots = [0, 1, 2, 3, 99];
            for m in sequence(moves.clone(), SLOTS) {
                slots[m.to as usize] = slots[m.from as usize];
            }
            assert_eq!(slots[..4], expected[..4], "{moves:?}");
        }
    }

    #[test]
    fn takes_one_scratch_move_a_circle() {
        let swap = |a, b| [Move { from: a, to: b }, Move { from: b, to: a }];
        assert_eq!(sequence([swap(0, 1), swap(2, 3)].concat(), 9).len(), 6);
    }
}
