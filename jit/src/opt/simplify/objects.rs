//! Questions about objects whose origin is in sight: allocations, literals, what was checked before.
//!
//! In: an operation on references. Out: its answer, where the origin gives it. Only checks that cannot fail go; those that must fail stay for their error.

use super::{Rule, Simplifier, bool, int, op, value};
use crate::ir::*;

/// Checks that give their operand, seen through in a row.
const CHECKS: usize = 8;

impl Simplifier<'_> {
    pub(super) fn object(&mut self, op: &Op) -> Rule {
        match *op {
            Op::RefEq(a, b) => self.ref_eq(a, b),
            Op::NullCheck(v) if self.is_object(v) => value(v),
            Op::ArrayLen(array, _) => self.array_len(array),
            Op::CheckBounds(array, index) => self.check_bounds(array, index),
            Op::CheckIndex { index, length, .. } => self.check_index(index, length),
            Op::LoadElem(ElemKind::Byte, array, index) => self.load_byte(array, index),
            Op::InstanceOf(class, v) => self.instance_of(class, v),
            Op::HasClass(class, v) => bool(self.class_of(v)? == class),
            Op::CheckCast(class, v) if self.is_instance(class, v) == Some(true) => value(v),
            Op::CallBuiltin { builtin, ref args } => self.builtin(builtin, args),
            _ => None,
        }
    }

    /// The object before checks that only pass it on.
    fn origin(&self, mut value: Value) -> Value {
        for _ in 0..CHECKS {
            match self.def(value) {
                Some(&(Op::NullCheck(inner) | Op::CheckCast(_, inner))) => value = inner,
                _ => break,
            }
        }
        value
    }

    /// It is certainly not null where it is defined.
    fn is_object(&self, value: Value) -> bool {
        let is_object = |op: &Op| matches!(op, Op::New(_) | Op::NewArray(..) | Op::StrConst(_) | Op::NullCheck(_) | Op::CheckCast(..));
        self.def(value).is_some_and(is_object)
    }

    fn is_null(&self, value: Value) -> bool {
        matches!(self.def(value), Some(Op::Null))
    }

    fn is_fresh(&self, value: Value) -> bool {
        matches!(self.def(value), Some(Op::New(_) | Op::NewArray(..)))
    }

    /// The exact class, known from an allocation or literal.
    fn class_of(&self, value: Value) -> Option<ClassId> {
        match *self.def(self.origin(value))? {
            Op::New(class) | Op::NewArray(class, _) => Some(class),
            Op::StrConst(_) => self.module.known.map(|known| known.str),
            _ => None,
        }
    }

    fn ref_eq(&mut self, a: Value, b: Value) -> Rule {
        let (x, y) = (self.origin(a), self.origin(b));
        if x == y {
            return bool(true);
        }
        match (self.is_null(a), self.is_null(b)) {
            (true, true) => return bool(true),
            (true, false) if self.is_object(b) => return bool(false),
            (false, true) if self.is_object(a) => return bool(false),
            (true, false) => return op(Op::RefEq(b, a)),
            _ => {}
        }
        // Two allocations are two objects, and no allocation is a literal or what was there at the function's start.
        let other = |v: Value| self.is_fresh(v) || matches!(self.def(v), Some(Op::StrConst(_)));
        (self.is_fresh(x) && other(y) || self.is_fresh(y) && other(x)).then_some(super::Reduced::Op(Op::BConst(false)))
    }

    fn text(&self, value: Value) -> Option<&str> {
        match *self.def(self.origin(value))? {
            Op::StrConst(str) => Some(&self.module.strings[str]),
            _ => None,
        }
    }

    /// An array that was allocated has the length that was asked for.
    fn array_len(&mut self, array: Value) -> Rule {
        match *self.def(self.origin(array))? {
            Op::NewArray(_, length) => value(length),
            Op::StrConst(str) => int(self.module.strings[str].len() as i64),
            _ => None,
        }
    }

    fn check_bounds(&mut self, array: Value, index: Value) -> Rule {
        match *self.def(self.origin(array))? {
            Op::NewArray(_, length) => self.check_index(index, length),
            Op::StrConst(str) => self.in_range(index, self.module.strings[str].len() as i64),
            _ => None,
        }
    }

    fn check_index(&mut self, index: Value, length: Value) -> Rule {
        match self.def(index) {
            // The same check has passed.
            Some(&Op::CheckIndex { length: checked, .. }) if checked == length => value(index),
            _ => self.in_range(index, self.int(length)?),
        }
    }

    fn in_range(&self, index: Value, length: i64) -> Rule {
        let range = self.range(index);
        if range.is_natural() && range.hi < length { value(index) } else { None }
    }

    fn load_byte(&mut self, array: Value, index: Value) -> Rule {
        let at = usize::try_from(self.int(index)?).ok()?;
        int(i64::from(*self.text(array)?.as_bytes().get(at)?))
    }

    fn instance_of(&mut self, class: ClassId, v: Value) -> Rule {
        if self.is_null(v) {
            return bool(false);
        }
        bool(self.is_instance(class, v)?)
    }

    /// `None`: who knows. What passed a cast to a subclass is one.
    fn is_instance(&self, class: ClassId, v: Value) -> Option<bool> {
        if let Some(exact) = self.class_of(v) {
            return Some(self.module.is_subclass(exact, class));
        }
        match *self.def(v)? {
            Op::CheckCast(cast, _) if self.module.is_subclass(cast, class) => Some(true),
            _ => None,
        }
    }

    fn builtin(&mut self, builtin: Builtin, args: &[Value]) -> Rule {
        match (builtin, args) {
            (Builtin::StrEq, &[a, b]) if self.origin(a) == self.origin(b) => bool(true),
            (Builtin::StrCmp, &[a, b]) if self.origin(a) == self.origin(b) => int(0),
            (Builtin::StrEq, &[a, b]) => {
                if self.is_null(a) && self.is_object(b) || self.is_null(b) && self.is_object(a) {
                    return bool(false);
                }
                bool(self.text(a)? == self.text(b)?)
            }
            (Builtin::StrCmp, &[a, b]) => (self.text(a)? == self.text(b)?).then_some(super::Reduced::Op(Op::IConst(0))),
            _ => None,
        }
    }
}
