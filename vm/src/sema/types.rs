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
    flags: Vec<Flags>,
    ids: HashMap<TyKind, Ty>,
}

/// What occurs in a type, at any depth: lets walks over types stop early.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Flags {
    param: bool,
    infer: bool,
    error: bool,
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
        let mut types = Types { kinds: Vec::new(), flags: Vec::new(), ids: HashMap::new() };
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
        self.flags.push(self.flags_of(&kind));
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

    /// Whether a type parameter occurs in `ty`.
    pub fn has_param(&self, ty: Ty) -> bool {
        self.flags[ty.0 as usize].param
    }

    /// Whether an inference variable occurs in `ty`.
    pub fn has_infer(&self, ty: Ty) -> bool {
        self.flags[ty.0 as usize].infer
    }

    pub fn has_error(&self, ty: Ty) -> bool {
        self.flags[ty.0 as usize].error
    }

    /// Replaces type parameters; `subst` gives `None` for those it leaves.
    pub fn substitute(&mut self, ty: Ty, subst: &dyn Fn(TypeParamId) -> Option<Ty>) -> Ty {
        if !self.has_param(ty) {
            return ty;
        }
        if let TyKind::Param(p) = *self.kind(ty) {
            return subst(p).unwrap_or(ty);
        }
        self.replace(ty, &mut HashMap::new(), &|types, t| match *types.kind(t) {
            TyKind::Param(p) => Some(subst(p).unwrap_or(t)),
            _ => (!types.has_param(t)).then_some(t),
        })
    }

    /// Replaces inference variables; `subst` gives `None` for those it leaves.
    pub fn substitute_infer(&mut self, ty: Ty, subst: &dyn Fn(InferVar) -> Option<Ty>) -> Ty {
        if !self.has_infer(ty) {
            return ty;
        }
        self.replace(ty, &mut HashMap::new(), &|types, t| match *types.kind(t) {
            TyKind::Infer(v) => Some(subst(v).unwrap_or(t)),
            _ => (!types.has_infer(t)).then_some(t),
        })
    }

    /// `leaf` says what stands for a type, or `None` to look into its parts. Shared parts are visited once (a type may be exponentially larger than its graph).
    fn replace(&mut self, ty: Ty, done: &mut HashMap<Ty, Ty>, leaf: &dyn Fn(&Types, Ty) -> Option<Ty>) -> Ty {
        if let Some(found) = leaf(self, ty) {
            return found;
        }
        if let Some(&found) = done.get(&ty) {
            return found;
        }
        let new = match self.kind(ty).clone() {
            TyKind::Nullable(t) => {
                let t = self.replace(t, done, leaf);
                self.nullable(t)
            }
            TyKind::Class(c, args) => {
                let args: Vec<Ty> = args.iter().map(|&a| self.replace(a, done, leaf)).collect();
                self.class(c, &args)
            }
            TyKind::Fun(params, ret) => {
                let params: Vec<Ty> = params.iter().map(|&a| self.replace(a, done, leaf)).collect();
                let ret = self.replace(ret, done, leaf);
                self.fun(&params, ret)
            }
            _ => ty,
        };
        done.insert(ty, new);
        new
    }

    fn flags_of(&self, kind: &TyKind) -> Flags {
        let all = |parts: &[Ty]| {
            parts.iter().map(|t| self.flags[t.0 as usize]).fold(Flags::default(), |a, b| Flags {
                param: a.param || b.param,
                infer: a.infer || b.infer,
                error: a.error || b.error,
            })
        };
        match kind {
            TyKind::Param(_) => Flags { param: true, ..Flags::default() },
            TyKind::Infer(_) => Flags { infer: true, ..Flags::default() },
            TyKind::Error => Flags { error: true, ..Flags::default() },
            TyKind::Nullable(t) => all(&[*t]),
            TyKind::Class(_, args) => all(args),
            TyKind::Fun(params, ret) => {
                let (a, b) = (all(params), all(&[*ret]));
                Flags { param: a.param || b.param, infer: a.infer || b.infer, error: a.error || b.error }
            }
            _ => Flags::default(),
        }
    }
}
