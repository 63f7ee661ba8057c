//! Comparisons of one value with several constants in a row: a switch.
//!
//! In: a function. Out: the same where a chain of at least [`CASES`] blocks, each of which only asks whether the value is some number, is one switch over the numbers from the smallest to the largest, if most of these are asked for.

use super::append;
use crate::ir::*;
use crate::opt::analysis::defs::Defs;
use crate::opt::analysis::loops::Predecessors;
use cranelift_entity::EntitySet;

/// Fewer comparisons are faster than a table.
const CASES: usize = 4;

/// Places in the table for each case.
const SPARSE: usize = 2;

/// Whether anything changed. Blocks of a chain are cut off, but still stand in the layout.
pub(super) fn run(func: &mut Function, preds: &Predecessors, defs: &Defs) -> bool {
    let mut taken = EntitySet::with_capacity(func.blocks.len());
    let mut changed = false;
    for i in 0..func.layout.len() {
        let head = func.layout[i];
        if taken.contains(head) {
            continue;
        }
        let Some(chain) = Chain::new(func, preds, defs, head) else { continue };
        taken.extend(chain.blocks.iter().copied());
        if let Some((low, size)) = chain.table() {
            chain.replace(func, head, low, size);
            changed = true;
        }
    }
    changed
}

struct Chain {
    value: Value,
    /// Number and where it leads; the first of equal numbers counts.
    cases: Vec<(i64, BlockCall)>,
    default: BlockCall,
    /// All but the first.
    blocks: Vec<Block>,
}

impl Chain {
    /// The chain that begins at the end of a block, where it is not part of a longer one that was looked at.
    fn new(func: &Function, preds: &Predecessors, defs: &Defs, head: Block) -> Option<Chain> {
        let (value, number, to, default) = case(func, defs, head)?;
        let mut chain = Chain { value, cases: vec![(number, to)], default, blocks: Vec::new() };
        while let Some(next) = chain.next(func, preds, defs) {
            chain.blocks.push(chain.default.block);
            chain.cases.push((next.1, next.2));
            chain.default = next.3;
        }
        Some(chain)
    }

    fn next(&self, func: &Function, preds: &Predecessors, defs: &Defs) -> Option<Case> {
        let block = self.default.block;
        let data = &func.blocks[block];
        let only_asks = data.insts.iter().all(|&i| matches!(func.insts[i].op, Op::IConst(_) | Op::ICmp(..)));
        if preds[block].len() != 1 || !data.params.is_empty() || !only_asks {
            return None;
        }
        case(func, defs, block).filter(|next| next.0 == self.value)
    }

    /// Smallest number and how many places there are from it to the largest, where a table is worth it.
    fn table(&self) -> Option<(i64, usize)> {
        let numbers = || self.cases.iter().map(|c| c.0);
        let (low, high) = (numbers().min()?, numbers().max()?);
        let size = usize::try_from(high.checked_sub(low)?).ok()?.checked_add(1)?;
        (self.cases.len() >= CASES && size <= SPARSE * self.cases.len()).then_some((low, size))
    }

    fn replace(self, func: &mut Function, head: Block, low: i64, size: usize) {
        // Others may use the constants.
        for &block in &self.blocks {
            let insts = std::mem::take(&mut func.blocks[block].insts);
            func.blocks[head].insts.extend(insts);
        }
        let mut targets = vec![self.default.clone(); size];
        for (number, to) in self.cases.into_iter().rev() {
            targets[(number - low) as usize] = to;
        }
        let minus = append(func, head, Op::IConst(low.wrapping_neg()), Ty::Int);
        let index = append(func, head, Op::Binary(BinaryOp::IAdd, self.value, minus), Ty::Int);
        func.blocks[head].terminator = Some(Terminator::Switch { index, targets, default: self.default });
    }
}

/// Value, number, where to go if they are equal, and where if not.
type Case = (Value, i64, BlockCall, BlockCall);

fn case(func: &Function, defs: &Defs, block: Block) -> Option<Case> {
    let Some(Terminator::Branch { cond, then, els }) = &func.blocks[block].terminator else { return None };
    match *defs.op(func, *cond)? {
        Op::ICmp(IntCmp::Eq, value, c) => Some((value, defs.int_const(func, c)?, then.clone(), els.clone())),
        Op::ICmp(IntCmp::Ne, value, c) => Some((value, defs.int_const(func, c)?, els.clone(), then.clone())),
        _ => None,
    }
}
