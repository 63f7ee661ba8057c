//! Whether an object must have the field or the elements that an access names, by where the object comes from.
//!
//! In: a function, a value, the classes that it can be of where they are known ([`Types`]). Out: an answer that holds wherever the value is defined. An access of an object whose class only a test proves has no such answer: above the test it would read past the end of another object, or take
//! something else for a reference.

use super::classes::Classes;
use super::declared::result_class;
use super::defs::{Def, Defs};
use super::loops::Predecessors;
use super::types::Types;
use crate::ir::*;

/// Values that are looked at for one answer.
const STEPS: usize = 16;

/// What an access needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Field(FieldId),
    Elems(ElemKind),
    /// Of any array.
    Length,
    /// Of a text: other arrays have bytes, too, but need not be UTF-8.
    Text,
}

impl Shape {
    /// The object and what it must have; `None` for other operations.
    pub fn of_access(op: &Op) -> Option<(Value, Shape)> {
        Some(match *op {
            Op::LoadField(field, object, _) | Op::StoreField { field, object, .. } => (object, Shape::Field(field)),
            Op::LoadElem(kind, array, _) | Op::StoreElem(kind, array, ..) => (array, Shape::Elems(kind)),
            Op::ArrayLen(array, _) => (array, Shape::Length),
            _ => return None,
        })
    }
}

pub struct Shapes<'a> {
    pub module: &'a Module,
    pub func: &'a Function,
    pub defs: &'a Defs,
    /// Of each block, in layout order.
    pub preds: &'a Predecessors,
    pub types: Option<&'a Types>,
}

impl Shapes<'_> {
    /// The value is an object with this shape, or null.
    pub fn has(&self, value: Value, shape: Shape) -> bool {
        if let Some(Classes::Of(classes)) = self.types.map(|types| types.of(value))
            && !classes.is_empty()
            && classes.iter().all(|&class| self.class_has(class, shape))
        {
            return true;
        }
        let mut seen = vec![value];
        let mut next = 0;
        while let Some(&value) = seen.get(next) {
            next += 1;
            if seen.len() > STEPS || !self.comes_with(value, shape, &mut seen) {
                return false;
            }
        }
        true
    }

    /// False if its definition does not say so. What it may be besides is added to `seen`.
    fn comes_with(&self, value: Value, shape: Shape, seen: &mut Vec<Value>) -> bool {
        let mut look = |value: Value| {
            if !seen.contains(&value) {
                seen.push(value);
            }
            true
        };
        match self.defs.def(value) {
            Def::None => false,
            Def::Inst(_, inst) => match self.func.insts[inst].op {
                Op::NullCheck(value) => look(value),
                Op::Select { then, els, .. } => look(then) && look(els),
                Op::Null => true,
                ref op => result_class(self.module, op).is_some_and(|class| self.class_has(class, shape)),
            },
            Def::Param(block, index) if block == self.func.entry() => match self.func.params[index as usize] {
                TypeDesc::Ref { class, .. } => self.class_has(class, shape),
                _ => false,
            },
            Def::Param(block, index) => {
                let count = self.func.blocks[block].params.len();
                self.preds[block].iter().all(|&pred| {
                    let mut all = true;
                    self.func.blocks[pred].terminator.as_ref().expect("a finished block").for_each_edge(|edge| {
                        if edge.block == block {
                            let given = (index as usize).checked_sub(count - edge.args.len());
                            all &= given.is_some_and(|i| look(edge.args[i]));
                        }
                    });
                    all
                })
            }
        }
    }

    fn class_has(&self, class: ClassId, shape: Shape) -> bool {
        match (shape, self.module.classes[class].kind) {
            (Shape::Field(field), _) => self.module.is_subclass(class, self.module.fields[field].class),
            (Shape::Elems(kind), ClassKind::Array(own)) => kind == own,
            (Shape::Length, ClassKind::Array(_)) => true,
            (Shape::Text, _) => self.module.known.is_some_and(|known| known.str == class),
            _ => false,
        }
    }
}
