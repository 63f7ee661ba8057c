//! Equality: `==` by the operands' type, `===`, and comparisons with null.

use super::body::{Flow, FnLower};
use crate::sema::hir::{Expr, ExprKind};
use crate::sema::types::{Ty, TyKind};
use jit::ir::{self, BinaryOp, Builtin, FloatCmp, IntCmp, Loc, Op, Value};

impl<'a> FnLower<'_, 'a> {
    pub(super) fn equals(&mut self, left: &'a Expr, right: &'a Expr, negated: bool, at: Loc) -> Flow<Value> {
        let ty = self.ty(left.ty);
        let equal = match self.cx.boxed_word(ty) {
            Some(word) => self.equals_boxed(left, right, word, at)?,
            None => {
                let a = self.expr(left)?;
                let b = self.expr(right)?;
                if ty == Ty::FLOAT && negated {
                    return Ok(self.op_safe(Op::FCmp(FloatCmp::Ne, a, b), at));
                }
                if ty == Ty::INT && negated {
                    return Ok(self.op_safe(Op::ICmp(IntCmp::Ne, a, b), at));
                }
                self.values_equal(a, b, ty, at)
            }
        };
        Ok(if negated { self.not(equal, at) } else { equal })
    }

    /// `Int?` and its kin. An operand that is only nullable because the other one is (`m.get(k) == 3`) is not boxed.
    fn equals_boxed(&mut self, left: &'a Expr, right: &'a Expr, word: Ty, at: Loc) -> Flow<Value> {
        let (left_word, right_word) = (self.widened_word(left), self.widened_word(right));
        let a = self.expr(left_word.unwrap_or(left))?;
        let b = self.expr(right_word.unwrap_or(right))?;
        Ok(match (left_word.is_some(), right_word.is_some()) {
            (true, true) => self.values_equal(a, b, word, at),
            (true, false) => self.box_holds(b, a, word, at),
            (false, true) => self.box_holds(a, b, word, at),
            (false, false) => {
                let nullable = self.cx.types.nullable(word);
                self.values_equal(a, b, nullable, at)
            }
        })
    }

    /// What stands in a `Convert` from a word to its nullable type.
    fn widened_word(&mut self, expr: &'a Expr) -> Option<&'a Expr> {
        let ExprKind::Convert(inner) = &expr.kind else { return None };
        let (from, to) = (self.ty(inner.ty), self.ty(expr.ty));
        (self.cx.boxed_word(to) == Some(from)).then_some(&**inner)
    }

    /// Whether the box is there and holds `value`.
    fn box_holds(&mut self, object: Value, value: Value, word: Ty, at: Loc) -> Value {
        let null = self.is_null(object, at);
        self.choose(
            null,
            ir::Ty::Bool,
            at,
            |l| l.bool(false, at),
            |l| {
                let content = l.unbox(object, word, at);
                l.values_equal(content, value, word, at)
            },
        )
    }

    /// `a == b`, both of type `ty`.
    pub(super) fn values_equal(&mut self, a: Value, b: Value, ty: Ty, at: Loc) -> Value {
        if let Some(word) = self.cx.boxed_word(ty) {
            let null = self.is_null(a, at);
            return self.choose(
                null,
                ir::Ty::Bool,
                at,
                |l| l.is_null(b, at),
                |l| {
                    let content = l.unbox(a, word, at);
                    l.box_holds(b, content, word, at)
                },
            );
        }
        let inner = self.cx.non_null(ty);
        match *self.cx.types.kind(inner) {
            TyKind::Int => self.op_safe(Op::ICmp(IntCmp::Eq, a, b), at),
            TyKind::Float => self.op_safe(Op::FCmp(FloatCmp::Eq, a, b), at),
            TyKind::Bool => {
                let differ = self.op_safe(Op::Binary(BinaryOp::BXor, a, b), at);
                self.not(differ, at)
            }
            TyKind::Unit | TyKind::Never | TyKind::Null => self.bool(true, at),
            TyKind::Class(class, _) if class == self.cx.program.known.str => {
                self.op_safe(Op::CallBuiltin { builtin: Builtin::StrEq, args: [a, b].into_iter().collect() }, at)
            }
            _ => self.objects_equal(a, b, ty, at),
        }
    }

    /// Identity first, then null-safe `equals`.
    fn objects_equal(&mut self, a: Value, b: Value, ty: Ty, at: Loc) -> Value {
        let Some(&equals) = self.cx.method_table.get(&(self.cx.program.known.object, "equals")) else {
            self.cx.bug(self.cx.blame, "Object has no method equals");
            return self.bool(false, at);
        };
        let inner = self.cx.non_null(ty);
        let same = self.op_safe(Op::RefEq(a, b), at);
        let ask = |l: &mut Self| {
            let called = l.call_virtual(inner, equals, &[a, b], false, false, at);
            called.ok().and_then(|(v, _)| v).unwrap_or_else(|| l.bool(false, at))
        };
        let nullable = self.cx.is_nullable(ty);
        self.choose(
            same,
            ir::Ty::Bool,
            at,
            |l| l.bool(true, at),
            |l| {
                if !nullable {
                    return ask(l);
                }
                let null = l.is_null(a, at);
                l.choose(null, ir::Ty::Bool, at, |l| l.bool(false, at), ask)
            },
        )
    }

    /// `===`, and every comparison with `null`. A number is never null (generic code may ask), and is not boxed to find that out.
    pub(super) fn same(&mut self, left: &'a Expr, right: &'a Expr, negated: bool, at: Loc) -> Flow<Value> {
        let (left_word, right_word) = (self.as_word(left), self.as_word(right));
        let equal = match (left_word, right_word) {
            (None, None) => {
                let ty = self.ty(left.ty);
                let against_null = matches!(left.kind, ExprKind::Null) || matches!(right.kind, ExprKind::Null);
                let a = self.expr(left)?;
                let b = self.expr(right)?;
                // Boxes have no identity.
                if self.cx.boxed_word(ty).is_some() && !against_null {
                    self.values_equal(a, b, ty, at)
                } else {
                    self.op_safe(Op::RefEq(a, b), at)
                }
            }
            (Some((a, ty)), Some((b, _))) => {
                let a = self.expr(a)?;
                let b = self.expr(b)?;
                self.values_equal(a, b, ty, at)
            }
            (Some((a, ty)), None) => {
                let a = self.expr(a)?;
                let b = self.expr(right)?;
                self.word_same(a, ty, b, right, at)
            }
            (None, Some((b, ty))) => {
                let a = self.expr(left)?;
                let b = self.expr(b)?;
                self.word_same(b, ty, a, left, at)
            }
        };
        Ok(if negated { self.not(equal, at) } else { equal })
    }

    fn word_same(&mut self, word: Value, ty: Ty, other: Value, other_expr: &'a Expr, at: Loc) -> Value {
        let other_ty = self.ty(other_expr.ty);
        if matches!(other_expr.kind, ExprKind::Null) || self.cx.boxed_word(other_ty) != Some(ty) {
            return self.bool(false, at);
        }
        self.box_holds(other, word, ty, at)
    }

    /// The expression without widening, if its value is a word.
    fn as_word(&mut self, expr: &'a Expr) -> Option<(&'a Expr, Ty)> {
        let expr = self.widened_word(expr).unwrap_or(expr);
        let ty = self.ty(expr.ty);
        self.cx.is_word(ty).then_some((expr, ty))
    }
}
