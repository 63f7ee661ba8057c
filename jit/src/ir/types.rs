//! Types of values and of the places that hold them.

use super::entities::ClassId;

/// Type of an SSA value: what a register holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// 64-bit two's complement.
    Int,
    /// IEEE-754 double.
    Float,
    /// 0 or 1.
    Bool,
    /// Null or a pointer to a heap object; the collector may move it at any safepoint.
    Ref,
}

/// Declared type of a field, global, parameter or result: [`Ty`] and, for references, what the front end knows of the class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypeDesc {
    Int,
    Float,
    Bool,
    Ref {
        class: ClassId,
        /// `false` is a promise of the source types, kept except for fields read before their initializer ran: code may omit tests on it, never a check that an access needs.
        nullable: bool,
    },
    /// A reference of which nobody knows the class: what comes into the middle of a function may be one.
    AnyRef,
}

impl TypeDesc {
    pub fn ty(self) -> Ty {
        match self {
            TypeDesc::Int => Ty::Int,
            TypeDesc::Float => Ty::Float,
            TypeDesc::Bool => Ty::Bool,
            TypeDesc::Ref { .. } | TypeDesc::AnyRef => Ty::Ref,
        }
    }
}

/// How an array's elements lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ElemKind {
    /// 8 bytes.
    Int,
    /// 8 bytes.
    Float,
    /// 1 byte, 0 or 1.
    Bool,
    /// 1 byte, read as an `Int` 0–255, stored from an `Int`'s low bits (`Bytes`, `Str`).
    Byte,
    /// 8 bytes.
    Ref,
}

impl ElemKind {
    /// Type of an element as an SSA value.
    pub fn ty(self) -> Ty {
        match self {
            ElemKind::Int | ElemKind::Byte => Ty::Int,
            ElemKind::Float => Ty::Float,
            ElemKind::Bool => Ty::Bool,
            ElemKind::Ref => Ty::Ref,
        }
    }

    /// Bytes an element takes.
    pub fn size(self) -> usize {
        match self {
            ElemKind::Int | ElemKind::Float | ElemKind::Ref => 8,
            ElemKind::Bool | ElemKind::Byte => 1,
        }
    }
}
