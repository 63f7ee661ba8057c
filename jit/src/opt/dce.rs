//! Dead code: what nobody uses and nobody sees.
//!
//! In: a function. Out: the same without unused operations that have no effect, block parameters that only feed each other or nobody, `Try`s of such operations, and blocks that can no longer be reached.
//! Mark and sweep (R. Cytron et al., "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph", TOPLAS 1991, section 7.1), without control dependence: a loop that computes nothing stays.
//! Optimistic: everything is dead, a `Try`'s handler included, until something reached needs it. Takes linear time.

use super::Context;
use super::analysis::defs::{Def, Defs};
use super::analysis::effects::is_unseen;
use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

pub fn run(func: &mut Function, _cx: &Context<'_>) -> bool {
    let live = Marks::new(func).live;
    let changed = sweep(func, &live);
    if changed {
        func.rewrite(&Aliases::default());
    }
    changed
}

/// What stays of a function.
struct Live {
    blocks: EntitySet<Block>,
    values: EntitySet<Value>,
    /// Operations that are seen whether or not their result is used.
    insts: EntitySet<Inst>,
    /// Blocks whose `Try` stays one.
    tries: EntitySet<Block>,
}

/// What an edge gives its block: these arguments, after what a `Try` gives itself (result or error).
#[derive(Clone, Copy)]
struct Incoming<'a> {
    from: Block,
    args: &'a [Value],
}

struct Marks<'a> {
    func: &'a Function,
    defs: Defs,
    live: Live,
    /// Edges from blocks that were reached.
    incoming: SecondaryMap<Block, Vec<Incoming<'a>>>,
    values: Vec<Value>,
    blocks: Vec<Block>,
}

impl<'a> Marks<'a> {
    fn new(func: &'a Function) -> Marks<'a> {
        let live = Live {
            blocks: EntitySet::with_capacity(func.blocks.len()),
            values: EntitySet::with_capacity(func.values.len()),
            insts: EntitySet::with_capacity(func.insts.len()),
            tries: EntitySet::with_capacity(func.blocks.len()),
        };
        let mut marks = Marks {
            func,
            defs: Defs::new(func),
            live,
            incoming: SecondaryMap::with_capacity(func.blocks.len()),
            values: Vec::new(),
            blocks: vec![func.entry()],
        };
        marks.live.blocks.insert(func.entry());
        // The signature is not the body's to change.
        func.blocks[func.entry()].params.iter().for_each(|&p| marks.mark(p));
        loop {
            if let Some(value) = marks.values.pop() {
                marks.value(value);
            } else if let Some(block) = marks.blocks.pop() {
                marks.block(block);
            } else {
                return marks;
            }
        }
    }

    fn mark(&mut self, value: Value) {
        if self.live.values.insert(value) {
            self.values.push(value);
        }
    }

    fn value(&mut self, value: Value) {
        match self.defs.def(value) {
            Def::None => {}
            Def::Inst(_, inst) => self.func.insts[inst].op.for_each_arg(|v| self.mark(v)),
            Def::Param(block, index) => {
                for i in 0..self.incoming[block].len() {
                    self.argument(self.incoming[block][i], block, index as usize);
                }
            }
        }
    }

    /// Parameter `index` of `to` is live, and an edge leads there.
    fn argument(&mut self, edge: Incoming<'a>, to: Block, index: usize) {
        let implicit = self.func.blocks[to].params.len() - edge.args.len();
        match index.checked_sub(implicit) {
            Some(place) => self.mark(edge.args[place]),
            None => self.keep_try(edge.from),
        }
    }

    fn block(&mut self, block: Block) {
        for &inst in &self.func.blocks[block].insts {
            let op = &self.func.insts[inst].op;
            if !is_unseen(self.func, &self.defs, op) {
                self.live.insts.insert(inst);
                op.for_each_arg(|v| self.mark(v));
            }
        }
        match terminator(self.func, block) {
            Terminator::Try { op, normal, .. } => {
                self.reach(block, normal);
                if !is_unseen(self.func, &self.defs, op) {
                    self.keep_try(block);
                }
            }
            other => {
                other.for_each_operand(|v| self.mark(v));
                other.edges().for_each(|edge| self.reach(block, edge));
            }
        }
    }

    /// The block's `Try` stays: with its operands, its handler, and the places for its result and error.
    fn keep_try(&mut self, block: Block) {
        if !self.live.tries.insert(block) {
            return;
        }
        let Terminator::Try { op, normal, unwind } = terminator(self.func, block) else {
            unreachable!("only a `Try` gives parameters of its own")
        };
        op.for_each_arg(|v| self.mark(v));
        let params = &self.func.blocks[normal.block].params;
        if params.len() > normal.args.len() {
            self.mark(params[0]);
        }
        self.mark(self.func.blocks[unwind.block].params[0]);
        self.reach(block, unwind);
    }

    fn reach(&mut self, from: Block, edge: &'a BlockCall) {
        let incoming = Incoming { from, args: &edge.args };
        self.incoming[edge.block].push(incoming);
        if self.live.blocks.insert(edge.block) {
            self.blocks.push(edge.block);
        }
        let params = &self.func.blocks[edge.block].params;
        for i in (0..params.len()).filter(|&i| self.live.values.contains(params[i])).collect::<Vec<_>>() {
            self.argument(incoming, edge.block, i);
        }
    }
}

fn terminator(func: &Function, block: Block) -> &Terminator {
    func.blocks[block].terminator.as_ref().expect("a finished block")
}

/// Says whether anything went away.
fn sweep(func: &mut Function, live: &Live) -> bool {
    let blocks = func.layout.len();
    func.layout.retain(|&b| live.blocks.contains(b));
    let mut changed = blocks != func.layout.len();
    for &block in &func.layout {
        let insts = &func.insts;
        let data = &mut func.blocks[block];
        let before = data.insts.len();
        data.insts.retain(|&i| live.insts.contains(i) || insts[i].result.is_some_and(|r| live.values.contains(r)));
        changed |= before != data.insts.len();
        changed |= drop_try(data, live.tries.contains(block));
    }
    func.drop_params(|p| !live.values.contains(p)) || changed
}

/// A `Try` that nobody needs only goes on.
fn drop_try(data: &mut BlockData, stays: bool) -> bool {
    match &data.terminator {
        Some(Terminator::Try { normal, .. }) if !stays => {
            data.terminator = Some(Terminator::Jump(normal.clone()));
            true
        }
        _ => false,
    }
}
