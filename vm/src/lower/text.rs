//! Text: values to strings, concatenation.

use super::body::{Flow, FnLower};
use crate::sema::hir::{Expr, ExprKind};
use crate::sema::types::{Ty, TyKind};
use jit::ir::{self, Builtin, ElemKind, Loc, Op, Value};

impl<'a> FnLower<'_, 'a> {
    /// Each part is evaluated and turned into text before the next one is evaluated.
    pub(super) fn concat(&mut self, parts: &'a [Expr], at: Loc) -> Flow<Value> {
        let mut all = Vec::new();
        flatten(parts, &mut all);
        if all.len() > 3 {
            return self.concat_many(&all, at);
        }
        let texts = all.into_iter().map(|p| self.part(p)).collect::<Flow<Vec<_>>>()?;
        let builtin = match texts[..] {
            [] => return Ok(self.str("", at)),
            // A field that has no value yet has no text either.
            [text] => return Ok(self.value(Op::NullCheck(text), at)),
            [_, _] => Builtin::StrConcat,
            _ => Builtin::StrConcat3,
        };
        Ok(self.value(Op::CallBuiltin { builtin, args: texts.as_slice().into() }, at))
    }

    fn concat_many(&mut self, parts: &[&'a Expr], at: Loc) -> Flow<Value> {
        let str = self.str_ty();
        let array_ty = self.cx.types.class(self.cx.program.known.array, &[str]);
        let class = self.cx.class_of(array_ty);
        let length = self.int(parts.len() as i64, at);
        let array = self.value(Op::NewArray(class, length), at);
        for (i, &part) in parts.iter().enumerate() {
            let text = self.part(part)?;
            let index = self.int(i as i64, at);
            self.op_safe_effect(Op::store_elem(ElemKind::Ref, array, index, text), at);
        }
        Ok(self.value(Op::CallBuiltin { builtin: Builtin::StrConcatAll, args: [array].into_iter().collect() }, at))
    }

    fn part(&mut self, part: &'a Expr) -> Flow<Value> {
        let ty = self.ty(part.ty);
        let value = self.expr(part)?;
        Ok(self.text_of(value, ty, super::expr::loc(part)))
    }

    /// What interpolation shows: `toString()`, or `null`.
    pub(super) fn text_of(&mut self, value: Value, ty: Ty, at: Loc) -> Value {
        let inner = self.cx.non_null(ty);
        if inner != ty {
            return self.nullable_text(value, ty, inner, at);
        }
        let builtin = match *self.cx.types.kind(ty) {
            TyKind::Int => Builtin::IntToStr,
            TyKind::Float => Builtin::FloatToStr,
            TyKind::Bool => {
                let (then, els) = (self.str("true", at), self.str("false", at));
                return self.op_safe(Op::Select { cond: value, then, els }, at);
            }
            TyKind::Unit | TyKind::Never => return self.str("Unit", at),
            TyKind::Null => return self.str("null", at),
            TyKind::Class(class, _) if class == self.cx.program.known.str => return value,
            _ => return self.object_text(value, ty, at),
        };
        self.value(Op::CallBuiltin { builtin, args: [value].into_iter().collect() }, at)
    }

    fn nullable_text(&mut self, value: Value, ty: Ty, inner: Ty, at: Loc) -> Value {
        let null = self.is_null(value, at);
        if self.is_class(inner, self.cx.program.known.str) {
            let then = self.str("null", at);
            return self.op_safe(Op::Select { cond: null, then, els: value }, at);
        }
        self.choose(
            null,
            ir::Ty::Ref,
            at,
            |l| l.str("null", at),
            |l| {
                let value = l.convert(value, ty, inner, at);
                l.text_of(value, inner, at)
            },
        )
    }

    fn object_text(&mut self, value: Value, ty: Ty, at: Loc) -> Value {
        let Some(&fun) = self.cx.method_table.get(&(self.cx.program.known.object, "toString")) else {
            self.cx.bug(self.cx.blame, "Object has no method toString");
            return self.str("", at);
        };
        let called = self.call_virtual(ty, fun, &[value], false, false, at);
        called.ok().and_then(|(v, _)| v).unwrap_or_else(|| self.null(at))
    }
}

/// `a + b + c` is one concatenation, not two.
fn flatten<'a>(parts: &'a [Expr], all: &mut Vec<&'a Expr>) {
    for part in parts {
        match &part.kind {
            ExprKind::Concat(inner) => flatten(inner, all),
            _ => all.push(part),
        }
    }
}
