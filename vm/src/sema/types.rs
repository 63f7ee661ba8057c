//! Types of the language, interned: equal types have equal [`Ty`]s.
//!
//! In: declarations resolved by `sema`. Out: [`Ty`] handles used by HIR and lowering.
//! Invariant: `Nullable` never wraps `Nullable`, `Null`, `Never` or `Error`; a [`Ty`] without `Param` or `Infer` inside is concrete.

use super::hir::ClassId;
use std::collections::HashMap;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ty(u32);

impl std::fmt::Debug for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ty{}", self.0)
    }
}

/// A type parameter, unique in the program (of a class, an interface or a function).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TypeParamId(pub u32);

/// A type not known yet; only inside the checker, never in finished HIR.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct InferVar(pub u32);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TyKind {
    Int,
    Float,
    Bool,
    Unit,
    /// Type of expressions that do not return; assignable to everything.
    Never,
    /// Type of `null`; assignable to every `Nullable`.
    Null,
    /// Classes and interfaces, the library's `Object`, `Str`, `Bytes` and `Array<T>` included.
    Class(ClassId, Box<[Ty]>),
    Fun(Box<[Ty]>, Ty),
    Nullable(Ty),
    Param(TypeParamId),
    Infer(InferVar),
    /// Something wrong was reported already; assignable to and from everything.
    Error,
}

/// The interner.
#[derive(Debug)]
pub struct Types {
    kinds: Vec<TyKind>,
    ids: HashMap<TyKind, Ty>,
}

macro_rules! fixed {
    ($($name:ident = $index:literal $kind:ident;)*) => {
        impl Ty { $(pub const $name: Ty = Ty($index);)* }
        const FIXED: &[TyKind] = &[$(TyKind::$kind),*];
    };
}
fixed! {
    INT = 0 Int;
    FLOAT = 1 Float;
    BOOL = 2 Bool;
    UNIT = 3 Unit;
    NEVER = 4 Never;
    NULL = 5 Null;
    ERROR = 6 Error;
}

impl Default for Types {
    fn default() -> Self {
        let mut types = Types { kinds: Vec::new(), ids: HashMap::new() };
        for kind in FIXED {
            types.intern(kind.clone());
        }
        types
    }
}

impl Types {
    pub fn intern(&mut self, kind: TyKind) -> Ty {
        if let Some(&ty) = self.ids.get(&kind) {
            return ty;
        }
        let ty = Ty(self.kinds.len() as u32);
        self.kinds.push(kind.clone());
        self.ids.insert(kind, ty);
        ty
    }

    pub fn kind(&self, ty: Ty) -> &TyKind {
        &self.kinds[ty.0 as usize]
    }

    /// `ty?`, collapsed where `ty` already admits null.
    pub fn nullable(&mut self, ty: Ty) -> Ty {
        match self.kind(ty) {
            TyKind::Nullable(_) | TyKind::Null | TyKind::Error => ty,
            TyKind::Never => Ty::NULL,
            _ => self.intern(TyKind::Nullable(ty)),
        }
    }

    pub fn class(&mut self, class: ClassId, args: &[Ty]) -> Ty {
        self.intern(TyKind::Class(class, args.into()))
    }

    pub fn fun(&mut self, params: &[Ty], ret: Ty) -> Ty {
        self.intern(TyKind::Fun(params.into(), ret))
    }

    /// Replaces type parameters; `subst` gives `None` for those it leaves.
    pub fn substitute(&mut self, ty: Ty, subst: &dyn Fn(TypeParamId) -> Option<Ty>) -> Ty {
        match self.kind(ty).clone() {
            TyKind::Param(p) => subst(p).unwrap_or(ty),
            TyKind::Nullable(t) => {
                let t = self.substitute(t, subst);
                self.nullable(t)
            }
            TyKind::Class(c, args) => {
                let args: Vec<Ty> = args.iter().map(|&a| self.substitute(a, subst)).collect();
                self.class(c, &args)
            }
            TyKind::Fun(params, ret) => {
                let params: Vec<Ty> = params.iter().map(|&a| self.substitute(a, subst)).collect();
                let ret = self.substitute(ret, subst);
                self.fun(&params, ret)
            }
            _ => ty,
        }
    }
}
