//! What the checker knows of every declaration, and the small look-ups on it.
//!
//! In: filled by `collect` and `hierarchy`. Out: read by everything else in `sema`; turned into [`Program`](super::hir::Program) at the end.
//! Invariant: ids are indices into the vectors here and become the HIR's ids unchanged.

use super::hir::{self, ClassId, ClassKind, FieldId, FunId, GlobalId, Known};
use super::types::{Ty, TyKind, TypeParamId, Types};
use crate::diag::{Code, Diagnostic, Diagnostics, suggest};
use crate::source::Span;
use crate::syntax::ast;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ObjectId(pub u32);

/// A type that is written down, or found by checking an initializer or body when first needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    Known(Ty),
    Unknown,
    /// Being worked out: needing it now is a recursion.
    InProgress,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    None,
    Class(ClassId),
    Object(ObjectId),
}

pub struct TypeParamInfo<'a> {
    pub name: &'a str,
    pub bounds: Vec<Ty>,
}

#[derive(Clone, Copy)]
pub enum ClassSource<'a> {
    Class(&'a ast::ClassDecl),
    Interface(&'a ast::InterfaceDecl),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Member {
    Field(FieldId),
    Method(FunId),
}

pub struct ClassInfo<'a> {
    pub name: &'a ast::Name,
    pub library: bool,
    pub kind: ClassKind,
    pub source: ClassSource<'a>,
    pub type_params: Vec<TypeParamId>,
    /// What `this` is.
    pub ty: Ty,
    pub base: Option<Ty>,
    pub interfaces: Vec<Ty>,
    /// All classes and interfaces above it, without itself, sorted.
    pub above: Box<[ClassId]>,
    /// Something above it is unknown (reported): what it lacks may be there, so nothing more is said of that.
    pub half_known: bool,
    pub fields: Vec<FieldInfo<'a>>,
    pub methods: Vec<FunId>,
    /// Declared by the class itself.
    pub members: FxHashMap<&'a str, Member>,
    pub constructor: Option<FunId>,
    /// Objects of it may exist (or it is an interface of such a class): its methods are worth checking.
    pub live: bool,
}

pub struct FieldInfo<'a> {
    pub name: &'a ast::Name,
    pub ty: Slot,
    pub mutable: bool,
    /// `None` for header fields.
    pub init: Option<&'a ast::VarDecl>,
}

pub struct ObjectInfo<'a> {
    pub name: &'a ast::Name,
    pub library: bool,
    pub members: FxHashMap<&'a str, ValueName>,
}

#[derive(Clone, Copy)]
pub enum FunSource<'a> {
    Decl(&'a ast::FunDecl),
    Constructor(&'a ast::ClassDecl),
}

pub struct FunInfo<'a> {
    pub name: &'a ast::Name,
    pub library: bool,
    pub owner: Owner,
    pub source: FunSource<'a>,
    pub type_params: Vec<TypeParamId>,
    pub params: Vec<Ty>,
    pub ret: Slot,
    pub state: BodyState,
    pub body: Option<hir::Body>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyState {
    /// Nobody asked for it yet.
    Idle,
    Queued,
    Checked,
}

impl FunInfo<'_> {
    pub fn is_constructor(&self) -> bool {
        matches!(self.source, FunSource::Constructor(_))
    }

    pub fn is_native(&self) -> bool {
        matches!(self.source, FunSource::Decl(d) if d.modifiers.is_native.is_some())
    }

    pub fn has_body(&self) -> bool {
        match self.source {
            FunSource::Decl(d) => !matches!(d.body, ast::FunBody::None),
            FunSource::Constructor(_) => true,
        }
    }
}

pub struct GlobalInfo<'a> {
    pub owner: Option<ObjectId>,
    pub library: bool,
    pub decl: &'a ast::VarDecl,
    pub ty: Slot,
    pub init: Option<hir::Body>,
}

/// What a name in an expression can stand for, besides locals, members and classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueName {
    Fun(FunId),
    Global(GlobalId),
    Object(ObjectId),
}

/// Type parameters in scope, and whose code it is.
#[derive(Clone, Default)]
pub struct TyScope<'a> {
    pub params: Vec<(&'a str, TypeParamId)>,
    pub library: bool,
}

/// A class type that was written down; its arguments must meet the bounds.
pub struct WrittenType {
    pub ty: Ty,
    pub span: Span,
}

pub struct Checker<'a> {
    pub types: Types,
    pub type_params: Vec<TypeParamInfo<'a>>,
    pub classes: Vec<ClassInfo<'a>>,
    pub objects: Vec<ObjectInfo<'a>>,
    pub functions: Vec<FunInfo<'a>>,
    pub globals: Vec<GlobalInfo<'a>>,
    pub type_names: FxHashMap<&'a str, ClassId>,
    pub value_names: FxHashMap<&'a str, ValueName>,
    pub known: Known,
    pub sink: Diagnostics,
    pub written: Vec<WrittenType>,
    /// Functions whose bodies are still to be checked.
    pub queue: Vec<FunId>,
    /// Names of methods that some code calls.
    pub called: FxHashSet<&'a str>,
    /// Nesting of expressions, over all functions being checked at the moment.
    pub depth: u32,
    pub check_all: bool,
    /// Declarations may be missing, because of errors that were reported already.
    pub has_gaps: bool,
}

impl<'a> Checker<'a> {
    pub fn report(&mut self, diagnostic: Diagnostic) {
        if !(self.has_gaps && diagnostic.code.follows_from_gaps()) {
            self.sink.push(diagnostic);
        }
    }

    /// What the user may have meant by `name`; nothing any more where errors are only counted.
    pub fn near<'n>(&self, name: &str, candidates: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
        let wanted = self.sink.count() < Diagnostics::LIMIT;
        wanted.then(|| suggest(name, candidates)).flatten()
    }

    pub fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::new(code, span, message));
    }

    pub fn class(&self, id: ClassId) -> &ClassInfo<'a> {
        &self.classes[id.index()]
    }

    pub fn fun(&self, id: FunId) -> &FunInfo<'a> {
        &self.functions[id.index()]
    }

    pub fn kind(&self, ty: Ty) -> &TyKind {
        self.types.kind(ty)
    }

    /// The class whose members a type has, with its arguments: its own, or that of a primitive.
    pub fn class_of(&self, ty: Ty) -> Option<(ClassId, Box<[Ty]>)> {
        let none: Box<[Ty]> = Box::default();
        match self.kind(ty) {
            TyKind::Int => Some((self.known.int, none)),
            TyKind::Float => Some((self.known.float, none)),
            TyKind::Bool => Some((self.known.bool, none)),
            TyKind::Class(c, args) => Some((*c, args.clone())),
            TyKind::Fun(..) => Some((self.known.object, none)),
            _ => None,
        }
    }

    pub fn object_ty(&mut self) -> Ty {
        let object = self.known.object;
        self.types.class(object, &[])
    }

    pub fn str_ty(&mut self) -> Ty {
        let str = self.known.str;
        self.types.class(str, &[])
    }

    /// Objects of these exist from the start, or are made by the VM.
    pub fn is_builtin(&self, class: ClassId) -> bool {
        let k = &self.known;
        [k.int, k.float, k.bool, k.str, k.bytes, k.array].contains(&class)
    }

    pub fn type_params_of(&self, class: ClassId) -> Vec<(&'a str, TypeParamId)> {
        self.classes[class.index()].type_params.iter().map(|&p| (self.type_params[p.0 as usize].name, p)).collect()
    }

    /// Replaces a class's type parameters.
    pub fn instantiate(&mut self, ty: Ty, class: ClassId, args: &[Ty]) -> Ty {
        let params = &self.classes[class.index()].type_params;
        substitute(&mut self.types, ty, params, args)
    }

    /// `Class.name`
    pub fn full_name(&self, fun: FunId) -> String {
        let info = self.fun(fun);
        let own = if info.is_constructor() { "init" } else { &*info.name.text };
        match info.owner {
            Owner::None => own.to_string(),
            Owner::Class(c) => format!("{}.{own}", self.class(c).name.text),
            Owner::Object(o) => format!("{}.{own}", self.objects[o.0 as usize].name.text),
        }
    }
}

pub fn substitute(types: &mut Types, ty: Ty, params: &[TypeParamId], args: &[Ty]) -> Ty {
    types.substitute(ty, &|p| params.iter().position(|&q| q == p).and_then(|i| args.get(i).copied()))
}
