//! What the library's `native fun`s stand for: a builtin of the runtime, or an operation of the IR.
//!
//! In: a native function's name. Out: a [`Native`]. Convention: `__strConcat` is the builtin `str_concat`, for every builtin; the table below names those that are operations.

use super::body::{Flow, FnLower};
use crate::sema::hir::Function;
use crate::sema::types::{Ty, TyKind};
use jit::ir::{AtomicOp, Builtin, FieldId, Loc, Op, UnaryOp, Value};

#[derive(Clone, Copy, Debug)]
pub(super) enum Native {
    Builtin(Builtin),
    Unary(UnaryOp),
    /// On the first field of an object.
    Atomic(AtomicOp),
    AtomicCas,
    /// Zeroed, whatever the element type.
    NewArray,
    /// What an element of such an array holds.
    Zero,
}

pub(super) fn find(name: &str) -> Option<Native> {
    let name = name.strip_prefix("__")?;
    Some(match name {
        "floatSqrt" => Native::Unary(UnaryOp::FSqrt),
        "floatFloor" => Native::Unary(UnaryOp::FFloor),
        "floatCeil" => Native::Unary(UnaryOp::FCeil),
        "floatTrunc" => Native::Unary(UnaryOp::FTrunc),
        "floatNearest" => Native::Unary(UnaryOp::FNearest),
        "floatAbs" => Native::Unary(UnaryOp::FAbs),
        "floatToBits" => Native::Unary(UnaryOp::FloatBits),
        "floatFromBits" => Native::Unary(UnaryOp::FloatFromBits),
        "intToFloat" => Native::Unary(UnaryOp::IntToFloat),
        "floatToInt" => Native::Unary(UnaryOp::FloatToInt),
        "intPopCount" => Native::Unary(UnaryOp::PopCount),
        "intLeadingZeros" => Native::Unary(UnaryOp::LeadingZeros),
        "intTrailingZeros" => Native::Unary(UnaryOp::TrailingZeros),
        "boolToInt" => Native::Unary(UnaryOp::BoolToInt),
        "atomicGet" => Native::Atomic(AtomicOp::Load),
        "atomicSet" => Native::Atomic(AtomicOp::Store),
        "atomicFetchAdd" => Native::Atomic(AtomicOp::FetchAdd),
        "atomicCas" => Native::AtomicCas,
        "newArray" => Native::NewArray,
        "zero" => Native::Zero,
        _ => Native::Builtin(Builtin::by_name(&snake_case(name))?),
    })
}

/// Whether a null in place of an object shows nowhere: a builtin that cannot throw takes it as an empty text. That nulls are equal is what `==` means.
pub(super) fn takes_null_silently(native: Native) -> bool {
    matches!(native, Native::Builtin(builtin) if builtin != Builtin::StrEq && !builtin.signature().may_throw)
}

fn snake_case(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 4);
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

impl FnLower<'_, '_> {
    /// A native function's code in place of a call. `params` and the result are concrete types.
    pub(super) fn native_call(
        &mut self,
        native: Native,
        function: &Function,
        type_args: &[Ty],
        params: &[Ty],
        args: &[Value],
        loc: Loc,
    ) -> Flow<Option<Value>> {
        if !self.native_fits(native, params, type_args) {
            self.cx.bug(function.span, format!("native function {} has other parameters in the VM", function.name));
            return Ok(Some(self.unit(loc)));
        }
        let op = match native {
            Native::Builtin(builtin) => Op::CallBuiltin { builtin, args: args.into() },
            Native::Unary(op) => Op::Unary(op, args[0]),
            Native::NewArray => return Ok(Some(self.new_array(type_args[0], args[0], loc))),
            Native::Zero => return Ok(Some(self.zero(type_args[0], loc))),
            Native::Atomic(op) => Op::Atomic(op, self.first_field(params[0]), args[0], args.get(1).copied()),
            Native::AtomicCas => Op::AtomicCas(self.first_field(params[0]), args[0], args[1], args[2]),
        };
        let value = self.op(op, loc);
        if function.ret == Ty::NEVER {
            return self.dead(loc);
        }
        Ok(value)
    }

    fn native_fits(&mut self, native: Native, params: &[Ty], type_args: &[Ty]) -> bool {
        let arity = match native {
            Native::Builtin(builtin) => {
                let want = builtin.signature().params;
                return want.len() == params.len() && want.iter().zip(params).all(|(&w, &p)| w == self.cx.value_ty(p));
            }
            Native::Unary(_) => return params.len() == 1,
            Native::NewArray => return params == [Ty::INT] && type_args.len() == 1,
            Native::Zero => return params.is_empty() && type_args.len() == 1,
            Native::Atomic(AtomicOp::Load) => 1,
            Native::Atomic(_) => 2,
            Native::AtomicCas => 3,
        };
        params.len() == arity && params[1..].iter().all(|&p| p == Ty::INT) && matches!(self.cx.types.kind(params[0]), TyKind::Class(..))
    }

    fn first_field(&mut self, object: Ty) -> FieldId {
        let class = self.cx.class_of(object);
        self.cx.complete(class);
        match self.cx.module.classes[class].fields.first() {
            Some(&field) => field,
            None => {
                self.cx.bug(self.cx.blame, "an atomic operation on a class without fields");
                FieldId::from_u32(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every builtin has a native name, and no table entry hides one.
    #[test]
    fn builtins_are_reachable_by_their_camel_case_names() {
        for &builtin in Builtin::ALL {
            let mut name = "__".to_string();
            for (i, word) in builtin.name().split('_').enumerate() {
                let (first, rest) = word.split_at(1);
                name += &if i == 0 { first.to_string() } else { first.to_uppercase() };
                name += rest;
            }
            assert!(matches!(find(&name), Some(Native::Builtin(b)) if b == builtin), "{name} for {}", builtin.name());
        }
    }

    #[test]
    fn unknown_names_are_unknown() {
        assert!(find("__frobnicate").is_none());
        assert!(find("print").is_none());
    }
}
