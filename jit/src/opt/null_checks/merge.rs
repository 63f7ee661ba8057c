//! Of several checks of one value the first that dominates the others.
//!
//! In: a function in split form. Out: [`Checked`]: what dropped checks stand for; operands of accesses and calls have been replaced by the results of checks that dominate them.
//! A walk down the dominator tree with scoped knowledge; takes linear time.

use crate::ir::dominators::{Dominators, Visit};
use crate::ir::rewrite::Aliases;
use crate::ir::*;
use crate::opt::analysis::defs::Defs;
use crate::opt::analysis::loops::{Predecessors, predecessors};
use cranelift_entity::SecondaryMap;
use std::cmp::Reverse;

/// What is known of a value at a place.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Known {
    #[default]
    Nothing,
    /// A branch says so.
    NotNull,
    /// This is the same object, and its definition proves it.
    As(Value),
}

#[derive(Default)]
pub(super) struct Checked {
    pub aliases: Aliases,
    pub changed: bool,
    /// Arguments of edges for which there is a checked value: the edge, the argument's place counted from the end, the value.
    edges: SecondaryMap<Block, Vec<(usize, usize, Value)>>,
}

impl Checked {
    pub fn edges(&self, block: Block) -> &[(usize, usize, Value)] {
        &self.edges[block]
    }

    pub fn find(&self, block: Block, edge: usize, arg: usize) -> Option<Value> {
        let edges = &self.edges[block];
        edges.binary_search_by_key(&(edge, Reverse(arg)), |e| (e.0, Reverse(e.1))).ok().map(|i| edges[i].2)
    }
}

pub(super) fn run(func: &mut Function) -> Checked {
    let dominators = Dominators::new(func);
    let mut merger = Merger {
        defs: Defs::new(func),
        preds: predecessors(func),
        func,
        known: SecondaryMap::new(),
        log: Vec::new(),
        checked: Checked::default(),
    };
    let mut scopes = Vec::new();
    for visit in dominators.walk() {
        match visit {
            Visit::Enter(block) => {
                scopes.push(merger.log.len());
                merger.enter(block);
                merger.insts(block);
                merger.terminator(block);
            }
            Visit::Leave(_) => merger.forget(scopes.pop().expect("entered before")),
        }
    }
    merger.checked
}

struct Merger<'a> {
    func: &'a mut Function,
    defs: Defs,
    preds: Predecessors,
    known: SecondaryMap<Value, Known>,
    /// What was known before, to go back to.
    log: Vec<(Value, Known)>,
    checked: Checked,
}

impl Merger<'_> {
    fn learn(&mut self, value: Value, new: Known) {
        let value = self.checked.aliases.find(value);
        let old = self.known[value];
        if matches!((old, new), (Known::Nothing, _) | (Known::NotNull, Known::As(_))) {
            self.log.push((value, old));
            self.known[value] = new;
        }
    }

    fn forget(&mut self, to: usize) {
        self.log.drain(to..).rev().for_each(|(value, old)| self.known[value] = old);
    }

    fn known(&mut self, value: Value) -> Known {
        self.known[self.checked.aliases.find(value)]
    }

    /// What the only edge to a block says.
    fn enter(&mut self, block: Block) {
        let &[pred] = self.preds[block].as_slice() else { return };
        match *self.func.blocks[pred].terminator.as_ref().expect("a finished block") {
            Terminator::Try { op: Op::NullCheck(object) | Op::CheckCast(_, object), ref normal, .. } if normal.block == block => {
                self.learn(object, Known::As(self.func.blocks[block].params[0]));
            }
            Terminator::Branch { cond, ref then, .. } => {
                if let Some(value) = self.not_null_if(cond, then.block == block) {
                    self.learn(value, Known::NotNull);
                }
            }
            _ => {}
        }
    }

    /// The value that is not null where `cond` is `taken`.
    fn not_null_if(&self, mut cond: Value, mut taken: bool) -> Option<Value> {
        loop {
            match *self.defs.op(self.func, cond)? {
                Op::Unary(UnaryOp::BNot, inner) => (cond, taken) = (inner, !taken),
                Op::RefEq(a, b) if !taken => return self.other_than_null(a, b),
                Op::InstanceOf(_, value) if taken => return Some(value),
                _ => return None,
            }
        }
    }

    fn is_null(&self, value: Value) -> bool {
        matches!(self.defs.op(self.func, value), Some(Op::Null))
    }

    fn other_than_null(&self, a: Value, b: Value) -> Option<Value> {
        match (self.is_null(a), self.is_null(b)) {
            (false, true) => Some(a),
            (true, false) => Some(b),
            _ => None,
        }
    }

    fn insts(&mut self, block: Block) {
        let mut insts = std::mem::take(&mut self.func.blocks[block].insts);
        let before = insts.len();
        insts.retain(|&inst| self.inst(inst));
        self.checked.changed |= insts.len() != before;
        self.func.blocks[block].insts = insts;
    }

    /// Whether it stays.
    fn inst(&mut self, inst: Inst) -> bool {
        let mut op = self.func.insts[inst].op.clone();
        self.use_checked(&mut op);
        match (&op, self.func.insts[inst].result) {
            (&Op::NullCheck(object), Some(result)) => {
                if let Known::As(checked) = self.known(object) {
                    self.checked.aliases.replace(result, checked);
                    return false;
                }
                self.learn(object, Known::As(result));
            }
            (&Op::CheckCast(_, object), Some(result)) => self.learn(object, Known::As(result)),
            (&Op::RefEq(a, b), _) => {
                if let Some(value) = self.other_than_null(a, b)
                    && self.known(value) != Known::Nothing
                {
                    op = Op::BConst(false);
                    self.checked.changed = true;
                }
            }
            (Op::CallVirtual { args, .. }, _) => self.learn(args[0], Known::NotNull),
            (&Op::Atomic(_, _, object, _) | &Op::AtomicCas(_, object, ..), _) => self.learn(object, Known::NotNull),
            _ => {}
        }
        self.func.insts[inst].op = op;
        true
    }

    /// Puts checked values in place of objects that are accessed or passed on.
    fn use_checked(&mut self, op: &mut Op) {
        for_each_object_mut(op, |object| {
            if let Known::As(checked) = self.known(*object) {
                *object = checked;
                self.checked.changed = true;
            }
        });
    }

    fn terminator(&mut self, block: Block) {
        let loc = self.func.blocks[block].terminator_loc;
        let mut terminator = self.func.blocks[block].terminator.take().expect("a finished block");
        if let Terminator::Try { op, normal, .. } = &mut terminator {
            self.use_checked(op);
            let object = match *op {
                Op::NullCheck(object) => Some((object, self.known(object))),
                _ => None,
            };
            if let Some((object, known @ (Known::NotNull | Known::As(_)))) = object {
                let checked = match known {
                    Known::As(checked) => checked,
                    _ => {
                        let (inst, result) = self.func.add_inst(Op::NullCheck(object), Ty::Ref, loc);
                        self.func.blocks[block].insts.push(inst);
                        self.learn(object, Known::As(result));
                        result
                    }
                };
                normal.args.insert(0, checked);
                terminator = Terminator::Jump(normal.clone());
                self.checked.changed = true;
            }
        }
        let mut index = 0;
        terminator.for_each_edge(|edge| {
            for (i, &arg) in edge.args.iter().enumerate() {
                if let Known::As(checked) = self.known(arg) {
                    self.checked.edges[block].push((index, edge.args.len() - i, checked));
                }
            }
            index += 1;
        });
        self.func.blocks[block].terminator = Some(terminator);
    }
}

/// Calls `f` on every operand that is accessed, or handed to a function that may be inlined.
fn for_each_object_mut(op: &mut Op, mut f: impl FnMut(&mut Value)) {
    match op {
        Op::LoadField(_, a, _) | Op::StoreField { object: a, .. } | Op::ArrayLen(a, _) | Op::CheckBounds(a, _) => f(a),
        Op::CheckIndex { array: a, .. } | Op::LoadElem(_, a, _) | Op::StoreElem(_, a, ..) | Op::HasClass(_, a) => f(a),
        Op::Atomic(_, _, a, _) | Op::AtomicCas(_, a, ..) => f(a),
        Op::Call { args, .. } | Op::CallVirtual { args, .. } => args.iter_mut().for_each(f),
        _ => {}
    }
}
