//! Conversions between types: boxes of nullable numbers, type tests, casts.
//!
//! In: values with their concrete types. Out: the same values as other types. References need no code to widen; words (`Int`, `Float`, `Bool`, `Unit`) become nullable by being put into a box.

use super::body::{Flow, FnLower};
use super::expr::loc;
use crate::sema::hir::Expr;
use crate::sema::types::{Ty, TyKind};
use jit::ir::{self, BinaryOp, Loc, Op, Value};

impl<'a> FnLower<'_, 'a> {
    pub(super) fn str_ty(&mut self) -> Ty {
        let str = self.cx.program.known.str;
        self.cx.types.class(str, &[])
    }

    /// The value as another type that it is known to fit.
    pub(super) fn convert(&mut self, value: Value, from: Ty, to: Ty, at: Loc) -> Value {
        if from == to {
            return value;
        }
        // A type parameter's value may be narrowed to a type that it never has in this instance: such code is never reached, and any value will do.
        match (self.cx.is_word(from), self.cx.is_word(to)) {
            (true, true) if self.cx.value_ty(from) == self.cx.value_ty(to) => value,
            (true, true) => self.zero(to, at),
            (true, false) => match self.cx.boxed_word(to) {
                Some(word) if self.cx.value_ty(word) == self.cx.value_ty(from) => self.box_word(value, word, at),
                _ => self.null(at),
            },
            (false, true) if to == Ty::UNIT || to == Ty::NEVER => self.unit(at),
            (false, true) => self.unbox(value, to, at),
            (false, false) => value,
        }
    }

    pub(super) fn box_word(&mut self, value: Value, word: Ty, at: Loc) -> Value {
        let (class, field) = self.cx.word_box(word);
        let object = self.value(Op::New(class), at);
        self.op_safe_effect(Op::store_field(field, object, value), at);
        object
    }

    /// Of a box that is there.
    pub(super) fn unbox(&mut self, object: Value, word: Ty, at: Loc) -> Value {
        let (_, field) = self.cx.word_box(word);
        self.op_safe(Op::load_field(field, object), at)
    }

    /// `value!!`: in generic code it may stay nullable, where a type parameter stands for a nullable type.
    pub(super) fn non_null(&mut self, expr: &'a Expr, inner: &'a Expr, at: Loc) -> Flow<Value> {
        let (from, to) = (self.ty(inner.ty), self.ty(expr.ty));
        let value = self.expr(inner)?;
        if let Some(word) = self.cx.boxed_word(from).filter(|&word| word == to) {
            let (_, field) = self.cx.word_box(word);
            return Ok(self.value(Op::load_field(field, value), at));
        }
        match self.cx.is_nullable(from) {
            true => {
                let value = self.value(Op::NullCheck(value), at);
                Ok(self.convert(value, from, to, at))
            }
            // It may have no value yet.
            false => {
                self.check_not_null(inner, value, at);
                Ok(value)
            }
        }
    }

    /// Whether `value` of type `from` is a `to`.
    pub(super) fn is_instance(&mut self, value: Value, from: Ty, to: Ty, at: Loc) -> Value {
        if self.cx.is_word(from) {
            return self.bool(self.cx.non_null(to) == from, at);
        }
        let null_fits = self.cx.is_nullable(to);
        let target = self.cx.non_null(to);
        let fits = match self.cx.boxed_word(from) {
            // Null or a box of that very word.
            Some(word) if word == target => {
                let null = self.is_null(value, at);
                Some(self.not(null, at))
            }
            Some(_) => None,
            // Numbers are no objects.
            None if self.cx.is_word(target) || target == Ty::NULL => None,
            None => {
                let class = self.cx.class_of(target);
                Some(self.op_safe(Op::InstanceOf(class, value), at))
            }
        };
        match (fits, null_fits) {
            (Some(fits), false) => fits,
            (Some(fits), true) => {
                let null = self.is_null(value, at);
                self.op_safe(Op::Binary(BinaryOp::BOr, null, fits), at)
            }
            (None, true) => self.is_null(value, at),
            (None, false) => self.bool(false, at),
        }
    }

    /// `value as T`, `value as? T`; `expr.ty` is `T`, or `T?` for the latter.
    pub(super) fn cast(&mut self, expr: &'a Expr, value: &'a Expr, safe: bool) -> Flow<Value> {
        let at = loc(expr);
        let (from, to) = (self.ty(value.ty), self.ty(expr.ty));
        let value = self.expr(value)?;
        if safe {
            return Ok(self.safe_cast(value, from, to, at));
        }
        let target = self.cx.non_null(to);
        if self.cx.is_word(from) && from == target {
            return Ok(self.convert(value, from, to, at));
        }
        // As a reference; numbers in boxes, whose classes are named like the numbers.
        let object = if self.cx.is_word(from) { self.box_word(value, from, at) } else { value };
        if !self.cx.is_nullable(to) {
            return Ok(self.checked(object, target, at));
        }
        // Null passes; everything is a reference from here on.
        let null = self.is_null(object, at);
        Ok(self.choose(
            null,
            ir::Ty::Ref,
            at,
            |l| l.null(at),
            |l| {
                let class = l.cx.class_of(target);
                l.value(Op::CheckCast(class, object), at)
            },
        ))
    }

    /// The object as a `target`, which is not nullable.
    fn checked(&mut self, object: Value, target: Ty, at: Loc) -> Value {
        let class = self.cx.class_of(target);
        let object = self.value(Op::CheckCast(class, object), at);
        match self.cx.is_word(target) {
            true => self.unbox(object, target, at),
            false => object,
        }
    }

    fn safe_cast(&mut self, value: Value, from: Ty, to: Ty, at: Loc) -> Value {
        let target = self.cx.non_null(to);
        if self.cx.is_word(from) {
            return match from == target {
                true => self.convert(value, from, to, at),
                false => self.null(at),
            };
        }
        let fits = self.is_instance(value, from, target, at);
        let null = self.null(at);
        self.op_safe(Op::Select { cond: fits, then: value, els: null }, at)
    }

    pub(super) fn is_class(&self, ty: Ty, class: crate::sema::hir::ClassId) -> bool {
        matches!(*self.cx.types.kind(ty), TyKind::Class(c, _) if c == class)
    }
}
