//! Copies the bodies of callees to where they are called.
//!
//! In: a function and the calls of it that are accepted. Out: the function with the callees' code in their place, renumbered.
//!
//! - The callee's entry becomes part of the calling block, parameters becoming the arguments. A single return joins what comes behind the call, several meet in a block that has the result as parameter; behind a
//!   callee without return nothing is reached.
//! - Where the call is a `Try`'s, whatever would leave the callee by an error takes the `Try`'s unwind edge: operations become `Try`s, `Throw` becomes a jump (behind a check: to throw null is a NullError). Its
//!   returns take the normal edge.
//! - Where the caller wants [`Probes`], one stands before each body.
//! - Bodies are those of the module, never the one that is being changed: a function that calls itself gets one more round of its loop.

use super::positions::Positions;
use crate::ir::rewrite::{Aliases, reachable_blocks};
use crate::ir::*;
use crate::opt::Probes;
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};

/// Direct calls whose callees have bodies, in blocks that can be reached.
#[derive(Default)]
pub struct Accepted {
    insts: EntitySet<Inst>,
    tries: EntitySet<Block>,
}

impl Accepted {
    /// Without `inst` it is the block's `Try`.
    pub fn add(&mut self, block: Block, inst: Option<Inst>) {
        match inst {
            Some(inst) => self.insts.insert(inst),
            None => self.tries.insert(block),
        };
    }

    pub fn is_empty(&self) -> bool {
        self.insts.is_empty() && self.tries.is_empty()
    }
}

pub fn splice(func: &mut Function, module: &Module, accepted: &Accepted, probes: Probes) {
    let blocks = std::mem::take(&mut func.layout);
    let mut splicer = Splicer { func, module, accepted, probes, layout: Vec::new(), aliases: Aliases::default() };
    blocks.into_iter().for_each(|b| splicer.block(b));
    let Splicer { layout, aliases, .. } = splicer;
    func.layout = layout;
    func.rewrite(&aliases);
}

struct Splicer<'a> {
    func: &'a mut Function,
    module: &'a Module,
    accepted: &'a Accepted,
    probes: Probes,
    layout: Vec<Block>,
    aliases: Aliases,
}

/// What is left of a call when its callee stands in its place.
enum Ways {
    /// Errors leave the function; the result is that of the call's instruction.
    Plain(Option<Value>),
    Try {
        normal: BlockCall,
        unwind: BlockCall,
    },
}

impl Splicer<'_> {
    fn block(&mut self, block: Block) {
        self.layout.push(block);
        let data = &mut self.func.blocks[block];
        let (insts, terminator, loc) = (std::mem::take(&mut data.insts), data.terminator.take(), data.terminator_loc);
        let mut at = block;
        for inst in insts {
            if !self.accepted.insts.contains(inst) {
                self.func.blocks[at].insts.push(inst);
                continue;
            }
            let InstData { op, result, loc } = self.func.insts[inst].clone();
            match self.call(&op, loc, at, Ways::Plain(result)) {
                Some(behind) => at = behind,
                None => return,
            }
        }
        if self.accepted.tries.contains(block)
            && let Some(Terminator::Try { op, normal, unwind }) = terminator
        {
            self.call(&op, loc, at, Ways::Try { normal, unwind });
            return;
        }
        let data = &mut self.func.blocks[at];
        (data.terminator, data.terminator_loc) = (terminator, loc);
    }

    /// Puts the callee behind the instructions of the block `at`. Gives the block, still open, that code behind the call goes on in; `None` if there is none.
    fn call(&mut self, op: &Op, loc: Loc, at: Block, ways: Ways) -> Option<Block> {
        let Op::Call { func: id, args, site } = op else { unreachable!("direct calls are accepted") };
        let module = self.module;
        let callee = &module.funcs[*id];
        let mut copy = Copy {
            positions: Positions::new(loc, *site, *id, &callee.inlined),
            splicer: self,
            callee,
            order: reachable(callee),
            values: SecondaryMap::with_capacity(callee.values.len()),
            blocks: SecondaryMap::with_capacity(callee.blocks.len()),
        };
        if copy.splicer.probes != Probes::None {
            copy.probe(at);
        }
        copy.name(at, args);
        copy.body(&ways)
    }

    fn new_block(&mut self) -> Block {
        let block = self.func.blocks.push(BlockData::default());
        self.layout.push(block);
        block
    }
}

/// The blocks that can be reached, in layout order.
fn reachable(func: &Function) -> Vec<Block> {
    let reachable = reachable_blocks(func);
    func.layout.iter().copied().filter(|&b| reachable.contains(b)).collect()
}

/// One callee on its way in.
struct Copy<'a, 'b> {
    splicer: &'a mut Splicer<'b>,
    callee: &'b Function,
    /// Its blocks, the entry first.
    order: Vec<Block>,
    values: SecondaryMap<Value, PackedOption<Value>>,
    /// The first block of each copy; a `Try`'s reach cuts copies into several.
    blocks: SecondaryMap<Block, PackedOption<Block>>,
    positions: Positions<'b>,
}

impl Copy<'_, '_> {
    /// At the position of the callee itself, so that its chain of frames begins with the callee.
    fn probe(&mut self, at: Block) {
        let loc = self.loc(self.callee.loc);
        let inst = self.splicer.func.insts.push(InstData { op: Op::Probe, result: None, loc });
        self.splicer.func.blocks[at].insts.push(inst);
    }

    /// New blocks and values for all of the callee's.
    fn name(&mut self, at: Block, args: &[Value]) {
        let callee = self.callee;
        for (i, &block) in self.order.iter().enumerate() {
            let data = &callee.blocks[block];
            let results = data.insts.iter().filter_map(|&i| callee.insts[i].result);
            if i == 0 {
                self.blocks[block] = at.into();
                data.params.iter().zip(args).for_each(|(&param, &arg)| self.values[param] = arg.into());
            } else {
                let new = self.splicer.func.blocks.push(BlockData::default());
                self.blocks[block] = new.into();
                for &param in &data.params {
                    let value = self.splicer.func.values.push(callee.values[param]);
                    self.values[param] = value.into();
                    self.splicer.func.blocks[new].params.push(value);
                }
            }
            results.for_each(|v| self.values[v] = self.splicer.func.values.push(callee.values[v]).into());
        }
    }

    fn body(&mut self, ways: &Ways) -> Option<Block> {
        let callee = self.callee;
        let is_return = |b: &&Block| matches!(callee.blocks[**b].terminator, Some(Terminator::Return(_)));
        let returns = self.order.iter().filter(is_return).count();
        let mut behind = None;
        for block in std::mem::take(&mut self.order) {
            let start = self.block(block);
            if start != self.block(callee.entry()) {
                self.splicer.layout.push(start);
            }
            let data = &callee.blocks[block];
            let at = self.insts(start, data, ways);
            let terminator = data.terminator.as_ref().expect("a finished block");
            if let (Terminator::Return(value), Ways::Plain(result), 1) = (terminator, ways, returns) {
                value.zip(*result).into_iter().for_each(|(value, result)| self.splicer.aliases.replace(result, self.value(value)));
                behind = Some(at);
                continue;
            }
            let loc = self.loc(data.terminator_loc);
            match (terminator, ways) {
                (Terminator::Return(value), Ways::Plain(result)) => {
                    let to = *behind.get_or_insert_with(|| self.meeting(*result));
                    let args = value.map(|v| self.value(v)).into_iter().collect();
                    self.end(at, Terminator::Jump(BlockCall { block: to, args }), loc);
                }
                (Terminator::Return(value), Ways::Try { normal, .. }) => {
                    let args = value.map(|v| self.value(v)).into_iter().chain(normal.args.iter().copied()).collect();
                    self.end(at, Terminator::Jump(BlockCall { block: normal.block, args }), loc);
                }
                (Terminator::Throw(error), Ways::Try { unwind, .. }) => self.throw(at, data, *error, unwind, loc),
                (other, _) => {
                    let mut terminator = other.clone();
                    terminator.for_each_arg_mut(|v| *v = self.value(*v));
                    terminator.for_each_edge_mut(|edge| edge.block = self.block(edge.block));
                    self.end(at, terminator, loc);
                }
            }
        }
        if returns > 1 {
            // Behind the callee's blocks.
            self.splicer.layout.extend(behind);
        }
        behind
    }

    /// Where several returns meet; not in the layout yet.
    fn meeting(&mut self, result: Option<Value>) -> Block {
        self.splicer.func.blocks.push(BlockData { params: result.into_iter().collect(), ..BlockData::default() })
    }

    /// The instructions of a block, from `at` on; gives the block they end in.
    fn insts(&mut self, mut at: Block, data: &BlockData, ways: &Ways) -> Block {
        for inst in data.insts.iter().map(|&i| &self.callee.insts[i]) {
            let mut op = inst.op.clone();
            op.for_each_arg_mut(|v| *v = self.value(*v));
            let (loc, result) = (self.loc(inst.loc), inst.result.map(|v| self.value(v)));
            match ways {
                Ways::Try { unwind, .. } if op.may_throw() => at = self.attempt(at, op, result, unwind, loc),
                _ => {
                    let inst = self.splicer.func.insts.push(InstData { op, result, loc });
                    self.splicer.func.blocks[at].insts.push(inst);
                }
            }
        }
        at
    }

    /// Ends `at` with a `Try`; gives the block behind it.
    fn attempt(&mut self, at: Block, op: Op, result: Option<Value>, unwind: &BlockCall, loc: Loc) -> Block {
        let behind = self.splicer.new_block();
        self.splicer.func.blocks[behind].params.extend(result);
        let normal = BlockCall { block: behind, args: Args::new() };
        self.end(at, Terminator::Try { op, normal, unwind: unwind.clone() }, loc);
        behind
    }

    fn throw(&mut self, at: Block, data: &BlockData, error: Value, unwind: &BlockCall, loc: Loc) {
        let known = data.insts.iter().any(|&i| fills_trace_of(&self.callee.insts[i].op, error));
        let (op, checked) = (Op::NullCheck(self.value(error)), self.splicer.func.values.push(Ty::Ref));
        let at = if known {
            // It never fails: it says where the error is used that it is there.
            let inst = self.splicer.func.insts.push(InstData { op, result: Some(checked), loc });
            self.splicer.func.blocks[at].insts.push(inst);
            at
        } else {
            self.attempt(at, op, Some(checked), unwind, loc)
        };
        let args = std::iter::once(checked).chain(unwind.args.iter().copied()).collect();
        self.end(at, Terminator::Jump(BlockCall { block: unwind.block, args }), loc);
    }

    fn end(&mut self, at: Block, terminator: Terminator, loc: Loc) {
        let data = &mut self.splicer.func.blocks[at];
        (data.terminator, data.terminator_loc) = (Some(terminator), loc);
    }

    fn loc(&mut self, loc: Loc) -> Loc {
        self.positions.get(&mut self.splicer.func.inlined, loc)
    }

    fn value(&self, value: Value) -> Value {
        self.values[value].expect("a used value is defined")
    }

    fn block(&self, block: Block) -> Block {
        self.blocks[block].expect("edges of reachable blocks lead to reachable blocks")
    }
}

/// What has a trace is not null.
fn fills_trace_of(op: &Op, error: Value) -> bool {
    matches!(op, Op::CallBuiltin { builtin: Builtin::FillTrace, args } if args.contains(&error))
}
