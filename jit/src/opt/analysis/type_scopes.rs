//! What tests of the class say in the blocks that they lead to.
//!
//! In: a function, its [`Types`], a walk over the dominator tree. Out: [`TypeScopes::of`] at the place of the walk. What a check gave back counts as the object it checked.

use super::classes::Classes;
use super::defs::Defs;
use super::hierarchy::Hierarchy;
use super::types::Types;
use crate::ir::*;
use cranelift_entity::SecondaryMap;

pub struct TypeScopes<'a> {
    module: &'a Module,
    hierarchy: &'a Hierarchy,
    types: &'a Types,
    narrowed: SecondaryMap<Value, Option<Classes>>,
    /// What was known before, to go back to.
    log: Vec<(Value, Option<Classes>)>,
    scopes: Vec<usize>,
}

impl<'a> TypeScopes<'a> {
    pub fn new(module: &'a Module, hierarchy: &'a Hierarchy, types: &'a Types) -> Self {
        TypeScopes { module, hierarchy, types, narrowed: SecondaryMap::new(), log: Vec::new(), scopes: Vec::new() }
    }

    /// Enters a block to which only `pred` leads.
    pub fn enter(&mut self, func: &Function, defs: &Defs, block: Block, pred: Option<Block>) {
        self.scopes.push(self.log.len());
        let Some(pred) = pred else { return };
        let Some(Terminator::Branch { cond, then, .. }) = &func.blocks[pred].terminator else { return };
        let (mut cond, mut taken) = (*cond, then.block == block);
        while let Some(Op::Unary(UnaryOp::BNot, inner)) = defs.op(func, cond) {
            (cond, taken) = (*inner, !taken);
        }
        let (value, below) = match defs.op(func, cond) {
            Some(Op::InstanceOf(class, value)) => (*value, self.hierarchy.concrete(*class).to_vec()),
            Some(Op::HasClass(class, value)) => (*value, vec![*class]),
            _ => return,
        };
        let value = object(func, defs, value);
        let narrow = match (self.classes(value), taken) {
            (Classes::Any, true) => Classes::of(&below),
            (classes @ Classes::Of(_), true) => Classes::of(&classes.among(&below)),
            (Classes::Of(classes), false) => Classes::Of(classes.into_iter().filter(|c| !below.contains(c)).collect()),
            (Classes::Any, false) => return,
        };
        self.log.push((value, self.narrowed[value].replace(narrow)));
    }

    pub fn leave(&mut self) {
        let to = self.scopes.pop().expect("entered before");
        for (value, old) in self.log.drain(to..).rev() {
            self.narrowed[value] = old;
        }
    }

    /// The classes, in order, that the object can be of here, if it must be one of `bound`.
    pub fn among(&self, func: &Function, defs: &Defs, value: Value, bound: ClassId) -> Vec<ClassId> {
        self.of(func, defs, value).among(self.hierarchy.concrete(bound)).to_vec()
    }

    /// What the object can be of here.
    pub fn of(&self, func: &Function, defs: &Defs, value: Value) -> Classes {
        match self.classes(object(func, defs, value)) {
            Classes::Any => self.types.of(value).clone(),
            narrowed => match self.types.of(value) {
                Classes::Any => narrowed,
                Classes::Of(own) => Classes::Of(own.iter().copied().filter(|&c| narrowed.contains(c)).collect()),
            },
        }
    }

    /// What it can be of wherever it may be used.
    pub fn everywhere(&self, value: Value) -> &Classes {
        self.types.of(value)
    }

    pub fn is_below(&self, class: ClassId, bound: ClassId) -> bool {
        self.module.is_subclass(class, bound)
    }

    fn classes(&self, object: Value) -> Classes {
        self.narrowed[object].clone().unwrap_or_else(|| self.types.of(object).clone())
    }
}

/// The value that checks have passed on.
fn object(func: &Function, defs: &Defs, mut value: Value) -> Value {
    while let Some(Op::NullCheck(checked) | Op::CheckCast(_, checked)) = defs.op(func, value) {
        value = *checked;
    }
    value
}
