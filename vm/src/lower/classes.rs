//! Class instances: which IR class stands for a concrete reference type, and what it inherits.
//!
//! In: concrete types. Out: [`ir::Class`]es with superclass, interfaces and fields. A class is *declared* when a type mentions it (so types may be cyclic), *completed* before its fields or supertypes are
//! asked for (bases first, without recursion), and *instantiated* when an object of it can exist.
//!
//! | type | class |
//! |---|---|
//! | class, interface | one per set of type arguments |
//! | `Array<T>`, `Bytes`, `Str` | an array class |
//! | `(A) -> R` | an abstract class with the selector `invoke`; each closure is a final class below it |
//! | `Int?`, `Float?`, `Bool?`, `Unit?` | a box named like the type in it, with one final field; below no class, since it never flows into `Object` |
//! | a captured variable that is assigned | a cell with one field |

use super::Cx;
use super::methods::SelectorInfo;
use crate::sema::hir;
use crate::sema::types::{Ty, TyKind, TypeParamId};
use jit::ir::{self, ClassId, ClassKind, ElemKind, FieldId, FuncId, SelectorId, TypeDesc};
use std::collections::BTreeMap;

/// What a class was made for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// A class or interface of the program: a `TyKind::Class`.
    Declared(Ty),
    /// A function type.
    Function,
    /// A closure or a function reference: below the class of its function type.
    Closure { function_class: ClassId, invoke: FuncId },
    /// Boxes and cells: `value` is what the one field holds.
    Holder(Ty),
}

#[derive(Debug)]
pub(super) struct ClassInfo {
    pub origin: Origin,
    complete: bool,
    instantiated: bool,
    /// First of the fields declared by this very class; they are numbered in a row.
    first_field: Option<FieldId>,
    /// Function types: their one method, once it is called.
    invoke: Option<SelectorId>,
    /// Selectors declared here that something calls.
    pub called: Vec<SelectorId>,
    /// Instantiated classes that are this one or below it.
    pub below: Vec<ClassId>,
}

impl<'a> Cx<'a> {
    /// The class of a reference type, or the box of a word.
    pub(super) fn class_of(&mut self, ty: Ty) -> ClassId {
        if let Some(&class) = self.class_ids.get(&ty) {
            return class;
        }
        let class = match *self.types.kind(ty) {
            TyKind::Nullable(inner) => self.class_of(inner),
            TyKind::Null => self.object_class(),
            TyKind::Class(..) | TyKind::Fun(..) => self.declare(ty),
            TyKind::Int | TyKind::Float | TyKind::Bool | TyKind::Unit | TyKind::Never => {
                let name = self.type_name(ty);
                self.push_class(name.as_ref().into(), ClassKind::Abstract, Origin::Holder(ty))
            }
            TyKind::Param(_) | TyKind::Infer(_) | TyKind::Error => {
                self.bug(self.blame, "a type is not concrete");
                ClassId::from_u32(0)
            }
        };
        self.class_ids.insert(ty, class);
        class
    }

    pub(super) fn object_ty(&mut self) -> Ty {
        self.types.class(self.program.known.object, &[])
    }

    pub(super) fn object_class(&mut self) -> ClassId {
        let ty = self.object_ty();
        self.class_of(ty)
    }

    fn declare(&mut self, ty: Ty) -> ClassId {
        if !self.check_size(ty) {
            // Lowering ends soon; any class will do. `Object` is declared before all others.
            return ClassId::from_u32(0);
        }
        let name: Box<str> = self.type_name(ty).as_ref().into();
        let (kind, origin) = match *self.types.kind(ty) {
            TyKind::Class(class, ref args) => (self.declared_kind(class, args), Origin::Declared(ty)),
            _ => (ClassKind::Abstract, Origin::Function),
        };
        self.push_class(name, kind, origin)
    }

    /// A class is abstract until it is instantiated.
    fn declared_kind(&self, class: hir::ClassId, args: &[Ty]) -> ClassKind {
        let known = &self.program.known;
        if class == known.str || class == known.bytes {
            return ClassKind::Array(ElemKind::Byte);
        }
        if class == known.array {
            return ClassKind::Array(match self.value_ty(args[0]) {
                ir::Ty::Int => ElemKind::Int,
                ir::Ty::Float => ElemKind::Float,
                ir::Ty::Bool => ElemKind::Bool,
                ir::Ty::Ref => ElemKind::Ref,
            });
        }
        match self.program.classes[class.index()].kind {
            hir::ClassKind::Interface => ClassKind::Interface,
            hir::ClassKind::Class { .. } | hir::ClassKind::Primitive => ClassKind::Abstract,
        }
    }

    fn push_class(&mut self, name: Box<str>, kind: ClassKind, origin: Origin) -> ClassId {
        self.check_instances();
        let info = ClassInfo {
            origin,
            complete: false,
            instantiated: false,
            first_field: None,
            invoke: None,
            called: Vec::new(),
            below: Vec::new(),
        };
        self.class_info.push(info);
        self.module.classes.push(ir::Class {
            name,
            kind,
            superclass: None,
            interfaces: Vec::new(),
            fields: Vec::new(),
            methods: BTreeMap::new(),
        })
    }

    /// The class of a closure: a final class with the captured variables (names and types) as fields.
    pub(super) fn closure_class(
        &mut self,
        name: &str,
        function_class: ClassId,
        invoke: FuncId,
        fields: &[(Box<str>, TypeDesc)],
    ) -> ClassId {
        let class = self.push_class(name.into(), ClassKind::Abstract, Origin::Closure { function_class, invoke });
        self.complete(class);
        for (name, ty) in fields {
            self.push_field(class, name.clone(), *ty, true);
        }
        self.instantiate(class);
        class
    }

    /// The cell of captured variables of type `ty`, and its field.
    pub(super) fn cell(&mut self, ty: Ty) -> (ClassId, FieldId) {
        let class = match self.cells.get(&ty) {
            Some(&class) => class,
            None => {
                let name = format!("Cell<{}>", self.type_name(ty));
                let class = self.push_class(name.into(), ClassKind::Abstract, Origin::Holder(ty));
                self.complete_with_field(class, ty, false);
                self.instantiate(class);
                self.cells.insert(ty, class);
                class
            }
        };
        (class, self.class_info[class].first_field.expect("cells have a field"))
    }

    /// The box of a word type, and its field.
    pub(super) fn word_box(&mut self, word: Ty) -> (ClassId, FieldId) {
        let class = self.class_of(word);
        if !self.class_info[class].complete {
            self.complete_with_field(class, word, true);
        }
        (class, self.class_info[class].first_field.expect("boxes have a field"))
    }

    fn complete_with_field(&mut self, class: ClassId, ty: Ty, is_final: bool) {
        self.class_info[class].complete = true;
        let ty = self.desc(ty);
        self.push_field(class, "value".into(), ty, is_final);
    }

    fn push_field(&mut self, class: ClassId, name: Box<str>, ty: TypeDesc, is_final: bool) {
        let field = self.module.fields.push(ir::Field { name, class, ty, is_final });
        self.class_info[class].first_field.get_or_insert(field);
        self.module.classes[class].fields.push(field);
    }

    /// Gives the class its superclass, interfaces and fields.
    pub(super) fn complete(&mut self, class: ClassId) {
        let mut stack = vec![class];
        while let Some(&top) = stack.last() {
            if self.failure.is_some() {
                return;
            }
            if self.class_info[top].complete {
                stack.pop();
                continue;
            }
            let (superclass, interfaces) = self.direct_supers(top);
            let known = stack.len();
            stack.extend(superclass.iter().chain(&interfaces).filter(|&&c| !self.class_info[c].complete));
            if stack.len() == known {
                self.finish_class(top, superclass, &interfaces);
                stack.pop();
            }
        }
    }

    /// Completes what is only mentioned so far, which may mention more and make jobs. Arrays count as instantiated: the runtime makes some.
    pub(super) fn complete_all_classes(&mut self) {
        while self.completed < self.module.classes.len() && self.failure.is_none() {
            let class = ClassId::from_u32(self.completed as u32);
            self.complete(class);
            if matches!(self.module.classes[class].kind, ClassKind::Array(_)) {
                self.instantiate(class);
            }
            self.completed += 1;
        }
    }

    fn direct_supers(&mut self, class: ClassId) -> (Option<ClassId>, Vec<ClassId>) {
        match self.class_info[class].origin {
            Origin::Holder(_) => (None, Vec::new()),
            Origin::Function => (Some(self.object_class()), Vec::new()),
            Origin::Closure { function_class, .. } => (Some(function_class), Vec::new()),
            Origin::Declared(ty) => {
                let (base, interfaces) = self.direct_super_types(ty);
                (base.map(|t| self.class_of(t)), interfaces.into_iter().map(|t| self.class_of(t)).collect())
            }
        }
    }

    fn finish_class(&mut self, class: ClassId, superclass: Option<ClassId>, direct: &[ClassId]) {
        self.class_info[class].complete = true;
        let classes = &mut self.module.classes;
        let mut interfaces: Vec<ClassId> = direct.to_vec();
        for &above in direct.iter().chain(&superclass) {
            interfaces.extend_from_slice(&classes[above].interfaces);
        }
        interfaces.sort_unstable();
        interfaces.dedup();
        let fields = superclass.map_or(Vec::new(), |s| classes[s].fields.clone());
        let data = &mut classes[class];
        (data.superclass, data.interfaces, data.fields) = (superclass, interfaces, fields);
        match self.class_info[class].origin {
            Origin::Declared(ty) => self.declare_fields(class, ty),
            Origin::Holder(ty) => self.complete_with_field(class, ty, true),
            Origin::Function | Origin::Closure { .. } => {}
        }
    }

    fn declare_fields(&mut self, class: ClassId, ty: Ty) {
        let TyKind::Class(declaration, _) = *self.types.kind(ty) else { return };
        let program = self.program;
        let declaration = &program.classes[declaration.index()];
        let blame = std::mem::replace(&mut self.blame, declaration.span);
        for field in &declaration.fields {
            let field_ty = self.substitute_class(ty, field.ty);
            let desc = self.desc(field_ty);
            self.push_field(class, field.name.clone(), desc, !field.mutable);
        }
        self.blame = blame;
    }

    /// The selector that calls a value of function type `ty`.
    pub(super) fn invoke_selector(&mut self, ty: Ty) -> Option<SelectorId> {
        let class = self.class_of(ty);
        if let Some(known) = self.class_info[class].invoke {
            return Some(known);
        }
        let TyKind::Fun(params, ret) = self.types.kind(ty).clone() else { return None };
        self.complete(class);
        let this = TypeDesc::Ref { class, nullable: false };
        let params = std::iter::once(this).chain(params.iter().map(|&p| self.desc(p))).collect();
        let ret_desc = self.ret_desc(ret);
        let selector = self.module.selectors.push(ir::Selector { name: "invoke".into(), class, params, ret: ret_desc });
        self.selector_info.push(SelectorInfo::new("invoke", ret));
        self.class_info[class].invoke = Some(selector);
        self.call_selector(selector);
        Some(selector)
    }

    /// An object of the class can exist from now on.
    pub(super) fn instantiate(&mut self, class: ClassId) {
        if std::mem::replace(&mut self.class_info[class].instantiated, true) {
            return;
        }
        self.complete(class);
        let data = &mut self.module.classes[class];
        if data.kind == ClassKind::Abstract {
            data.kind = ClassKind::Concrete;
        }
        for above in self.ancestors(class) {
            self.class_info[above].below.push(class);
            for selector in self.class_info[above].called.clone() {
                self.bind(class, selector);
            }
        }
    }

    /// The class itself, its superclasses, all its interfaces.
    fn ancestors(&self, class: ClassId) -> Vec<ClassId> {
        let classes = &self.module.classes;
        let chain = std::iter::successors(Some(class), |&c| classes[c].superclass);
        chain.chain(classes[class].interfaces.iter().copied()).collect()
    }

    /// The IR field for a field of `class`, seen from an object of type `object` (that class or below it).
    pub(super) fn field(&mut self, object: Ty, class: hir::ClassId, field: hir::FieldId) -> Option<FieldId> {
        let owner = self.as_super(object, class)?;
        let class = self.class_of(owner);
        self.complete(class);
        let first = self.class_info[class].first_field?;
        Some(FieldId::from_u32(first.as_u32() + field.0))
    }

    /// Type parameters of the class of `ty`, with what they stand for.
    pub(super) fn class_subst(&self, ty: Ty) -> Vec<(TypeParamId, Ty)> {
        match self.types.kind(ty) {
            TyKind::Class(class, args) => {
                self.program.classes[class.index()].type_params.iter().copied().zip(args.iter().copied()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// `ty`, which the class of `owner` mentions, as it is in `owner`.
    fn substitute_class(&mut self, owner: Ty, ty: Ty) -> Ty {
        if !self.types.has_param(ty) {
            return ty;
        }
        let subst = self.class_subst(owner);
        self.substitute(&subst, ty)
    }

    pub(super) fn substitute(&mut self, subst: &[(TypeParamId, Ty)], ty: Ty) -> Ty {
        self.types.substitute(ty, &|p| subst.iter().find(|(q, _)| *q == p).map(|&(_, t)| t))
    }

    /// Base class and interfaces as declared. Everything but `Object`, interfaces and primitives has a base.
    pub(super) fn direct_super_types(&mut self, ty: Ty) -> (Option<Ty>, Vec<Ty>) {
        let class = match *self.types.kind(ty) {
            TyKind::Class(class, _) => class,
            TyKind::Fun(..) => return (Some(self.object_ty()), Vec::new()),
            _ => return (None, Vec::new()),
        };
        let program = self.program;
        let declaration = &program.classes[class.index()];
        let base = match declaration.base {
            Some(base) => Some(self.substitute_class(ty, base)),
            None if class == program.known.object || !matches!(declaration.kind, hir::ClassKind::Class { .. }) => None,
            None => Some(self.object_ty()),
        };
        (base, declaration.interfaces.iter().map(|&i| self.substitute_class(ty, i)).collect())
    }

    /// The instance of `class` that `ty` is or extends.
    pub(super) fn as_super(&mut self, ty: Ty, class: hir::ClassId) -> Option<Ty> {
        if matches!(*self.types.kind(ty), TyKind::Class(c, _) if c == class) {
            return Some(ty);
        }
        if let Some(&found) = self.supers.get(&(ty, class)) {
            return found;
        }
        let found = self.super_types(ty).into_iter().find(|&t| matches!(*self.types.kind(t), TyKind::Class(c, _) if c == class));
        self.supers.insert((ty, class), found);
        found
    }

    /// `ty` and everything above it: superclasses bottom-up, then interfaces, those of lower classes first, each before those it extends.
    pub(super) fn super_types(&mut self, ty: Ty) -> Vec<Ty> {
        let (mut chain, mut interfaces) = (Vec::new(), Vec::new());
        let mut next = Some(ty);
        while let Some(ty) = next {
            let (base, direct) = self.direct_super_types(ty);
            chain.push(ty);
            interfaces.extend(direct);
            next = base;
        }
        let mut i = 0;
        while i < interfaces.len() {
            let (_, above) = self.direct_super_types(interfaces[i]);
            for t in above {
                if !interfaces.contains(&t) {
                    interfaces.push(t);
                }
            }
            i += 1;
        }
        chain.extend(interfaces);
        chain
    }

    pub(super) fn is_interface(&self, ty: Ty) -> bool {
        matches!(*self.types.kind(ty), TyKind::Class(c, _) if self.program.classes[c.index()].kind == hir::ClassKind::Interface)
    }
}
