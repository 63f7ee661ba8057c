//! Which places in memory a function's operations name, which of them may be the same, and what may change them.
//!
//! In: a function, the summaries of what it calls. Out: [`Memory`], true until the function's values change.
//! Places are named by values: an object (checks of it looked through) and an index (as base and offset). Two names may mean the same place unless
//! - they are of different fields, kinds of element or globals, or of indices with one base and different offsets;
//! - one object is allocated here where the other one was known already, or both are allocated here;
//! - one object is private: the function never gives it to anybody before it ends. Calls do not touch such an object either.

use super::summaries::{BuiltinWrites, Space, Summaries, builtin_writes};
use crate::ir::dominators::Dominators;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};

/// What is accessed; equal names mean the same place (while the values they name are the same).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub space: Space,
    /// `None` for a global.
    pub object: PackedOption<Value>,
    pub index: Index,
}

/// A base (`None` for a constant) and an offset, wrapping.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Index {
    pub base: PackedOption<Value>,
    pub offset: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Load,
    Store(Value),
}

pub struct Memory<'a> {
    pub dominators: Dominators,
    module: &'a Module,
    summaries: &'a Summaries,
    unchecked: SecondaryMap<Value, PackedOption<Value>>,
    indices: SecondaryMap<Value, Option<Index>>,
    /// Objects allocated here.
    fresh: EntitySet<Value>,
    /// Objects that get known to others.
    shared: EntitySet<Value>,
    /// Block and position of each definition; parameters stand at 0.
    defs: SecondaryMap<Value, (PackedOption<Block>, u32)>,
}

impl<'a> Memory<'a> {
    pub fn new(func: &Function, module: &'a Module, summaries: &'a Summaries) -> Memory<'a> {
        let mut memory = Memory {
            dominators: Dominators::new(func),
            module,
            summaries,
            unchecked: SecondaryMap::with_capacity(func.values.len()),
            indices: SecondaryMap::with_capacity(func.values.len()),
            fresh: EntitySet::with_capacity(func.values.len()),
            shared: EntitySet::with_capacity(func.values.len()),
            defs: SecondaryMap::with_capacity(func.values.len()),
        };
        // Definitions come before their uses in this order.
        let order: Vec<Block> = memory.dominators.preorder().to_vec();
        for &block in &order {
            let data = &func.blocks[block];
            data.params.iter().for_each(|&p| memory.defs[p] = (block.into(), 0));
            for (i, &inst) in data.insts.iter().enumerate() {
                let InstData { op, result, .. } = &func.insts[inst];
                if let Some(result) = *result {
                    memory.defs[result] = (block.into(), i as u32 + 1);
                    memory.define(op, result);
                }
            }
        }
        for &block in &order {
            let data = &func.blocks[block];
            data.insts.iter().for_each(|&i| memory.share_operands(&func.insts[i].op));
            let terminator = data.terminator.as_ref().expect("a finished block");
            if let Terminator::Try { op, .. } = terminator {
                memory.share_operands(op);
                // Its result would be a second name.
                if let Op::NullCheck(value) | Op::CheckCast(_, value) = op {
                    memory.share(*value);
                }
            }
            terminator.for_each_edge(|edge| edge.args.iter().for_each(|&arg| memory.share(arg)));
        }
        memory
    }

    fn define(&mut self, op: &Op, result: Value) {
        match *op {
            Op::New(_) | Op::NewArray(..) => _ = self.fresh.insert(result),
            Op::NullCheck(value) | Op::CheckCast(_, value) => self.unchecked[result] = self.root(value).into(),
            Op::CheckIndex { index, .. } | Op::CheckBounds(_, index) => self.indices[result] = Some(self.index(index)),
            Op::IConst(n) => self.indices[result] = Some(Index { base: None.into(), offset: n }),
            Op::Binary(BinaryOp::IAdd, a, b) => {
                let (a, b) = (self.index(a), self.index(b));
                if a.base.is_none() || b.base.is_none() {
                    self.indices[result] =
                        Some(Index { base: a.base.expand().or(b.base.expand()).into(), offset: a.offset.wrapping_add(b.offset) });
                }
            }
            Op::Binary(BinaryOp::ISub, a, b) => {
                let (a, b) = (self.index(a), self.index(b));
                if b.base.is_none() {
                    self.indices[result] = Some(Index { base: a.base, offset: a.offset.wrapping_sub(b.offset) });
                }
            }
            _ => {}
        }
    }

    /// Notes operands by which objects get known to others.
    fn share_operands(&mut self, op: &Op) {
        match *op {
            Op::LoadField(..) | Op::ArrayLen(..) | Op::LoadElem(..) | Op::CheckIndex { .. } | Op::CheckBounds(..) => {}
            Op::NullCheck(_) | Op::CheckCast(..) | Op::InstanceOf(..) | Op::HasClass(..) | Op::RefEq(..) => {}
            Op::StoreField { value, .. } | Op::StoreElem(_, _, _, value, _) => self.share(value),
            _ => op.for_each_arg(|v| self.share(v)),
        }
    }

    fn share(&mut self, value: Value) {
        self.shared.insert(self.root(value));
    }

    /// The same value before checks.
    pub fn root(&self, value: Value) -> Value {
        self.unchecked[value].expand().unwrap_or(value)
    }

    pub fn index(&self, value: Value) -> Index {
        self.indices[value].unwrap_or(Index { base: value.into(), offset: 0 })
    }

    /// Allocated here.
    pub fn is_fresh(&self, object: Value) -> bool {
        self.fresh.contains(object)
    }

    fn is_private(&self, object: Value) -> bool {
        self.fresh.contains(object) && !self.shared.contains(object)
    }

    /// What a load or store names; `None` for other operations.
    pub fn access(&self, op: &Op) -> Option<(Place, Access)> {
        let field = |field: FieldId, object: Value| self.place(Space::Field(field), Some(object), Index::default());
        Some(match *op {
            Op::LoadField(f, object, _) => (field(f, object), Access::Load),
            Op::StoreField { field: f, object, value, .. } => (field(f, object), Access::Store(value)),
            Op::LoadElem(kind, array, index) => (self.place(Space::Elems(kind), Some(array), self.index(index)), Access::Load),
            Op::StoreElem(kind, array, index, value, _) => {
                (self.place(Space::Elems(kind), Some(array), self.index(index)), Access::Store(value))
            }
            Op::LoadGlobal(global) => (self.place(Space::Global(global), None, Index::default()), Access::Load),
            Op::StoreGlobal(global, value) => (self.place(Space::Global(global), None, Index::default()), Access::Store(value)),
            _ => return None,
        })
    }

    fn place(&self, space: Space, object: Option<Value>, index: Index) -> Place {
        Place { space, object: object.map(|o| self.root(o)).into(), index }
    }

    pub fn may_alias(&self, a: &Place, b: &Place) -> bool {
        let same_base = a.index.base == b.index.base;
        a.space == b.space && (!same_base || a.index.offset == b.index.offset) && self.may_be_same(a.object, b.object)
    }

    fn may_be_same(&self, a: PackedOption<Value>, b: PackedOption<Value>) -> bool {
        let (Some(a), Some(b)) = (a.expand(), b.expand()) else { return true };
        if a == b {
            return true;
        }
        let newer = |new: Value, old: Value| self.is_fresh(new) && (self.is_fresh(old) || self.defined_before(old, new));
        !(self.is_private(a) || self.is_private(b) || newer(a, b) || newer(b, a))
    }

    /// `a` is known wherever `b` is computed.
    pub fn defined_before(&self, a: Value, b: Value) -> bool {
        let ((Some(x), i), (Some(y), j)) = (self.def(a), self.def(b)) else { return false };
        if x == y { i < j } else { self.dominators.dominates(x, y) }
    }

    fn def(&self, value: Value) -> (Option<Block>, u32) {
        let (block, position) = self.defs[value];
        (block.expand(), position)
    }

    /// Whether what a place holds may be another value after the operation.
    pub fn clobbers(&self, op: &Op, place: &Place) -> bool {
        if let Some((written, access)) = self.access(op) {
            return access != Access::Load && self.may_alias(&written, place);
        }
        let is_private = place.object.expand().is_some_and(|o| self.is_private(o));
        match op {
            Op::Atomic(..) | Op::AtomicCas(..) => !is_private,
            Op::CallBuiltin { builtin, args } => match builtin_writes(self.module, *builtin) {
                BuiltinWrites::Nothing => false,
                BuiltinWrites::Spaces(spaces, object) => {
                    spaces.contains(&place.space) && self.may_be_same(place.object, self.root(args[object]).into())
                }
                BuiltinWrites::Synchronizes => !is_private,
            },
            Op::Call { args, .. } | Op::CallVirtual { args, .. } if !is_private => {
                let summary = self.summaries.of(op).expect("a call");
                let first = || args.first().is_none_or(|&first| self.may_be_same(place.object, self.root(first).into()));
                summary.synchronizes() || summary.writes(place.space) || summary.writes_in_first(place.space) && first()
            }
            _ => false,
        }
    }
}
