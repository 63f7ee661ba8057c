//! Concrete types: how they are represented, what they are called, and how large they may get.
//!
//! In: types without type parameters. Out: [`TypeDesc`]s, names, and a diagnostic where generics grow without end.

use super::Cx;
use crate::diag::{Code, Diagnostic};
use crate::sema::types::{Ty, TyKind};
use jit::ir::{self, TypeDesc};
use std::rc::Rc;

/// Deepest nesting of type arguments: `List<List<Int>>` has 2.
const MAX_DEPTH: u32 = 64;
/// Most names in one type, written out.
const MAX_NODES: u32 = 1000;

/// Measures of a type written out (a type is a graph with shared parts: the tree can be exponentially larger).
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    depth: u32,
    nodes: u32,
}

impl Cx<'_> {
    /// Whether values of the type are bare words: `Int`, `Float`, `Bool`, and `Unit`, which is an `Int` 0 where a value is needed.
    pub(super) fn is_word(&self, ty: Ty) -> bool {
        matches!(self.types.kind(ty), TyKind::Int | TyKind::Float | TyKind::Bool | TyKind::Unit | TyKind::Never)
    }

    /// For `Int?` and its kin: the type that stands in the box.
    pub(super) fn boxed_word(&self, ty: Ty) -> Option<Ty> {
        match *self.types.kind(ty) {
            TyKind::Nullable(inner) if self.is_word(inner) => Some(inner),
            _ => None,
        }
    }

    /// `T` of `T?`, other types themselves.
    pub(super) fn non_null(&self, ty: Ty) -> Ty {
        match *self.types.kind(ty) {
            TyKind::Nullable(inner) => inner,
            _ => ty,
        }
    }

    pub(super) fn is_nullable(&self, ty: Ty) -> bool {
        matches!(self.types.kind(ty), TyKind::Nullable(_) | TyKind::Null)
    }

    /// Whether functions with this result return nothing.
    pub(super) fn is_void(&self, ty: Ty) -> bool {
        matches!(self.types.kind(ty), TyKind::Unit | TyKind::Never)
    }

    pub(super) fn value_ty(&self, ty: Ty) -> ir::Ty {
        match self.types.kind(ty) {
            TyKind::Int | TyKind::Unit | TyKind::Never => ir::Ty::Int,
            TyKind::Float => ir::Ty::Float,
            TyKind::Bool => ir::Ty::Bool,
            _ => ir::Ty::Ref,
        }
    }

    pub(super) fn desc(&mut self, ty: Ty) -> TypeDesc {
        match *self.types.kind(ty) {
            TyKind::Int | TyKind::Unit | TyKind::Never => TypeDesc::Int,
            TyKind::Float => TypeDesc::Float,
            TyKind::Bool => TypeDesc::Bool,
            _ => TypeDesc::Ref { class: self.class_of(ty), nullable: self.is_nullable(ty) },
        }
    }

    pub(super) fn ret_desc(&mut self, ty: Ty) -> Option<TypeDesc> {
        (!self.is_void(ty)).then(|| self.desc(ty))
    }

    /// As the language writes it: `Map<Str, (Int) -> Bool>?`.
    pub(super) fn type_name(&mut self, ty: Ty) -> Rc<str> {
        if let Some(name) = self.type_names.get(&ty) {
            return name.clone();
        }
        let name: Rc<str> = match self.types.kind(ty).clone() {
            TyKind::Int => "Int".into(),
            TyKind::Float => "Float".into(),
            TyKind::Bool => "Bool".into(),
            TyKind::Unit => "Unit".into(),
            TyKind::Never => "Never".into(),
            TyKind::Null => "Null".into(),
            TyKind::Class(class, args) => {
                let name = &self.program.classes[class.index()].name;
                match args.is_empty() {
                    true => (&**name).into(),
                    false => format!("{name}<{}>", self.type_list(&args)).into(),
                }
            }
            TyKind::Fun(params, ret) => format!("({}) -> {}", self.type_list(&params), self.type_name(ret)).into(),
            TyKind::Nullable(inner) => match self.types.kind(inner) {
                TyKind::Fun(..) => format!("({})?", self.type_name(inner)).into(),
                _ => format!("{}?", self.type_name(inner)).into(),
            },
            TyKind::Param(_) | TyKind::Infer(_) | TyKind::Error => "?".into(),
        };
        self.type_names.insert(ty, name.clone());
        name
    }

    pub(super) fn type_list(&mut self, types: &[Ty]) -> String {
        types.iter().map(|&t| self.type_name(t)).collect::<Vec<_>>().join(", ")
    }

    /// Reports a type that has grown beyond all reason; `false` then.
    pub(super) fn check_size(&mut self, ty: Ty) -> bool {
        let size = self.size(ty);
        if size.depth <= MAX_DEPTH && size.nodes <= MAX_NODES {
            return true;
        }
        let message = format!("a type that is needed here is nested more than {MAX_DEPTH} deep, or has more than {MAX_NODES} parts");
        self.fail(Diagnostic::new(Code::InfiniteInstances, self.blame, message).label("needed by this").hint(
            "generic code is compiled once for each set of type arguments: it cannot call or contain itself with a type built around its own parameter",
        ));
        false
    }

    /// Recursion is bounded: a type is only built from types that passed [`Self::check_size`] and what the source writes around them.
    fn size(&mut self, ty: Ty) -> Size {
        if let Some(&size) = self.type_sizes.get(&ty) {
            return size;
        }
        let of_parts = |cx: &mut Self, parts: &[Ty]| {
            parts.iter().fold(Size { depth: 0, nodes: 1 }, |sum, &part| {
                let size = cx.size(part);
                Size { depth: sum.depth.max(size.depth + 1), nodes: sum.nodes.saturating_add(size.nodes) }
            })
        };
        let size = match self.types.kind(ty).clone() {
            TyKind::Class(_, args) => of_parts(self, &args),
            TyKind::Fun(params, ret) => of_parts(self, &[&*params, &[ret]].concat()),
            TyKind::Nullable(inner) => self.size(inner),
            _ => Size { depth: 0, nodes: 1 },
        };
        self.type_sizes.insert(ty, size);
        size
    }
}
