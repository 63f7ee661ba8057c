//! Names and members: what a name stands for, fields, methods found on a value, index methods.

use super::{Body, Want, expr, member_expr};
use crate::diag::{Code, Diagnostic};
use crate::sema::decls::{ClassSource, Member, Owner, ValueName};
use crate::sema::hir::{self, ClassId, Dispatch, ExprKind, FieldId, FunId};
use crate::sema::members::Found;
use crate::sema::show::article;
use crate::sema::types::{Ty, TyKind};
use crate::source::Span;
use crate::syntax::ast::{self, Name};

/// What a name that is no local variable stands for.
pub enum Resolved {
    /// A member of `this`.
    Member(Found),
    Value(ValueName),
    Class(ClassId),
}

impl<'a> Body<'_, 'a> {
    fn visible(&self, name: &str) -> bool {
        self.library() || !name.starts_with("__")
    }

    /// Looks a name up that is no local variable; reports unknown ones.
    pub fn resolve_name(&mut self, name: &'a Name) -> Option<Resolved> {
        let found = self.find_name(&name.text);
        if found.is_none() {
            self.unknown_name(name);
        }
        found
    }

    pub fn find_name(&mut self, text: &str) -> Option<Resolved> {
        if !self.visible(text) {
            return None;
        }
        match self.owner {
            Owner::Class(class) if !self.before_this && self.this.is_some() => {
                let args = self.ck.own_args(class);
                if let Some(found) = self.ck.find_member(class, &args, text) {
                    return Some(Resolved::Member(found));
                }
            }
            Owner::Object(object) => {
                if let Some(&value) = self.objects[object.0 as usize].members.get(text) {
                    return Some(Resolved::Value(value));
                }
            }
            _ => {}
        }
        let value = self.value_names.get(text).map(|&v| Resolved::Value(v));
        let class = self.type_names.get(text).map(|&c| Resolved::Class(c));
        value.or(class)
    }

    /// As [`Self::find_name`], for the callee of a call: a class goes before an object of its name.
    pub fn resolve_callee(&mut self, name: &'a Name) -> Option<Resolved> {
        match self.resolve_name(name)? {
            Resolved::Value(ValueName::Object(_)) if self.type_names.contains_key(&*name.text) => {
                self.type_names.get(&*name.text).map(|&c| Resolved::Class(c))
            }
            found => Some(found),
        }
    }

    /// Whether any name may be a member of `this`.
    pub fn may_inherit_names(&self) -> bool {
        matches!(self.owner, Owner::Class(class) if self.this.is_some() && self.class(class).half_known)
    }

    fn unknown_name(&mut self, name: &'a Name) {
        if self.may_inherit_names() {
            return;
        }
        let problem = Diagnostic::new(Code::UnknownName, name.span, format!("there is no `{}` here", name.text));
        let hint = match self.owner {
            Owner::Class(class) if self.this.is_some() => self.header_hint(class, &name.text),
            _ => None,
        };
        let hint = hint.or_else(|| self.near_name(&name.text).map(|n| format!("did you mean `{n}`?")));
        self.report(problem.maybe_hint(hint));
    }

    /// For what is only a parameter in the header of `class`, and was taken for a field.
    fn header_hint(&self, class: ClassId, name: &str) -> Option<String> {
        let ClassSource::Class(decl) = self.class(class).source else { return None };
        let is_parameter = decl.params.iter().any(|p| p.field.is_none() && &*p.name.text == name);
        is_parameter.then(|| format!("it is only a parameter of `{}`: write `let {name}` in the class's header to keep it", decl.name.text))
    }

    /// A name in scope that the user may have meant.
    pub fn near_name(&mut self, text: &str) -> Option<String> {
        let foreign = match text {
            "nil" | "None" | "undefined" | "NULL" => "null",
            "self" | "Self" => "this",
            "True" => "true",
            "False" => "false",
            "print_line" | "printf" | "puts" | "echo" | "console" | "System" => "println",
            _ => "",
        };
        if !foreign.is_empty() {
            return Some(foreign.to_string());
        }
        let members = match self.owner {
            Owner::Class(class) if self.this.is_some() => self.member_names(class, self.library()),
            Owner::Object(object) => self.objects[object.0 as usize].members.keys().copied().collect(),
            _ => Vec::new(),
        };
        let library = self.library();
        let globals = self.value_names.keys().chain(self.type_names.keys()).copied();
        let all = self.names.keys().copied().chain(members).chain(globals);
        self.near(text, all.filter(|n| library || !n.starts_with("__"))).map(str::to_string)
    }

    /// A member of an `object`, where `object` names one. `Some(None)`: it has no such member (reported).
    pub fn namespace_member(&mut self, object: &'a ast::Expr, name: &'a Name) -> Option<Option<ValueName>> {
        let ast::ExprKind::Name(space) = &object.kind else { return None };
        if self.lookup_var(&space.text).is_some() {
            return None;
        }
        let id = match self.find_name(&space.text)? {
            Resolved::Value(ValueName::Object(id)) => id,
            Resolved::Class(class) => {
                let class_name = self.class(class).name.text.clone();
                let problem = Diagnostic::new(
                    Code::NotAValue,
                    space.span,
                    format!("`{class_name}` is a class, and classes have no members of their own"),
                );
                self.report(problem.hint("only an `object` is a namespace; a member is reached on a value of the class"));
                return Some(None);
            }
            _ => return None,
        };
        let members = &self.objects[id.0 as usize].members;
        match members.get(&*name.text) {
            Some(&value) if self.visible(&name.text) => Some(Some(value)),
            _ => {
                let library = self.library();
                let near = self.near(&name.text, members.keys().copied().filter(|n| library || !n.starts_with("__")));
                let near = near.map(|n| format!("did you mean `{n}`?"));
                let problem = Diagnostic::new(Code::UnknownMember, name.span, format!("`{}` has no `{}`", space.text, name.text));
                self.report(problem.maybe_hint(near));
                Some(None)
            }
        }
    }

    /// Finds a member on a value's type, and where that is narrowed, on the declared one; reports why there is none. Also gives the value as what it was found on.
    pub fn member_of(&mut self, receiver: hir::Expr, name: &'a Name) -> Option<(hir::Expr, Found)> {
        let ty = self.shallow(receiver.ty);
        if ty == Ty::ERROR {
            return None;
        }
        if self.visible(&name.text) {
            if let Some(found) = self.find_on(ty, &name.text) {
                return Some((receiver, found));
            }
            if let Some(declared) = self.as_declared(&receiver)
                && let Some(found) = self.find_on(declared.ty, &name.text)
            {
                return Some((declared, found));
            }
        }
        if !self.is_half_known(ty) {
            self.no_member(&receiver, ty, name);
        }
        None
    }

    fn find_on(&mut self, ty: Ty, name: &str) -> Option<Found> {
        match self.kind_of(ty) {
            TyKind::Param(p) => self.find_param_member(p, name),
            _ => self.class_of(ty).and_then(|(c, args)| self.find_member(c, &args, name)),
        }
    }

    fn no_member(&mut self, receiver: &hir::Expr, ty: Ty, name: &'a Name) {
        let (text, shown) = (&*name.text, self.show_ty(ty));
        match self.kind_of(ty) {
            TyKind::Nullable(_) | TyKind::Null => {
                let problem = Diagnostic::new(
                    Code::MaybeNull,
                    receiver.span,
                    format!("this is {a_shown}, which may be null", a_shown = article(&shown)),
                );
                let test = self.null_test_hint(receiver);
                return self.report(problem.hint(format!("reach `{text}` by `?.{text}`, {test}, or insist with `!!`")));
            }
            TyKind::Infer(_) => {
                let problem = Diagnostic::new(Code::CannotInfer, receiver.span, "the type of this is not known yet");
                return self.report(problem.hint("write the type of the parameter or variable it comes from"));
            }
            TyKind::Unit | TyKind::Never => return self.error(Code::UnitValue, receiver.span, "this gives no value"),
            _ => {}
        }
        let names = match self.kind_of(ty) {
            TyKind::Param(p) => {
                let bounds = self.type_params[p.0 as usize].bounds.clone();
                let classes: Vec<_> =
                    bounds.into_iter().filter_map(|b| self.class_parts(b)).map(|(c, _)| c).chain([self.known.object]).collect();
                classes.into_iter().flat_map(|c| self.member_names(c, self.library())).collect()
            }
            _ => self.class_of(ty).map_or_else(Vec::new, |(c, _)| self.member_names(c, self.library())),
        };
        if let Some(hint) = self.class_of(ty).and_then(|(class, _)| self.header_hint(class, text)) {
            let problem = Diagnostic::new(Code::UnknownMember, name.span, format!("`{shown}` has no `{text}`"));
            return self.report(problem.hint(hint));
        }
        // That of arrays and texts is no member of a class.
        let has_length = self.has_length(ty);
        let is_there = |name: &&&'static str| names.contains(*name) || **name == "length" && has_length;
        let near = foreign_members(text).iter().find(is_there).copied().or_else(|| self.near(text, names.iter().copied()));
        let hint = match (near, self.kind_of(ty)) {
            (_, TyKind::Param(_)) if text == "equals" => Some(format!("`{shown}` may stand for numbers and for null: compare with `==`")),
            (Some(near), _) => Some(format!("did you mean `{near}`?")),
            (None, TyKind::Param(_)) => {
                Some(format!("`{shown}` may be any type: give it a bound that has `{text}`, as in `<{shown}: Interface>`"))
            }
            (None, _) => None,
        };
        let problem = Diagnostic::new(Code::UnknownMember, name.span, format!("`{shown}` has no `{text}`"));
        self.report(problem.maybe_hint(hint));
    }

    // Fields.

    pub fn as_field(&mut self, found: &Found, name: &'a Name) -> Option<FieldId> {
        match found.member {
            Member::Field(field) => Some(field),
            Member::Method(_) => {
                let problem = Diagnostic::new(Code::MethodAsValue, name.span, format!("`{}` is a method, not a value", name.text));
                self.report(problem.hint(format!("call it: `{}(…)`, or write a closure: `x => ….{}(x)`", name.text, name.text)));
                None
            }
        }
    }

    /// A field that is to be assigned, and the object as what has it.
    pub fn find_field(&mut self, object: hir::Expr, name: &'a Name) -> Option<(hir::Expr, Found, FieldId)> {
        if &*name.text == "length" && self.has_length(object.ty) {
            self.error(Code::AssignImmutable, name.span, "the length cannot be changed");
            return None;
        }
        let (object, found) = self.member_of(object, name)?;
        let field = self.as_field(&found, name)?;
        Some((object, found, field))
    }

    /// A field's type, seen from where it was found.
    pub fn field_type(&mut self, found: &Found, field: FieldId) -> Ty {
        let ty = self.ck.field_ty(found.class, field);
        self.ck.instantiate(ty, found.class, &found.args)
    }

    pub fn has_length(&mut self, ty: Ty) -> bool {
        let TyKind::Class(c, _) = self.kind_of(ty) else { return false };
        [self.known.array, self.known.bytes, self.known.str].contains(&c)
    }

    /// `object.name` as a value.
    pub fn read_member(&mut self, object: hir::Expr, name: &'a Name, span: Span) -> hir::Expr {
        if &*name.text == "length" && self.has_length(object.ty) {
            return member_expr(ExprKind::Length(Box::new(object)), Ty::INT, span, name.span);
        }
        let Some((object, found)) = self.member_of(object, name) else { return super::error_expr(span) };
        self.read_found(object, found, name, span)
    }

    pub fn read_found(&mut self, object: hir::Expr, found: Found, name: &'a Name, span: Span) -> hir::Expr {
        let Some(field) = self.as_field(&found, name) else { return super::error_expr(span) };
        let ty = self.field_type(&found, field);
        member_expr(ExprKind::Field { object: Box::new(object), class: found.class, field }, ty, span, name.span)
    }

    // Indexing.

    /// What indexing an `Array`, `Bytes` or `Str` gives.
    pub fn element_type(&mut self, object: &hir::Expr) -> Option<Ty> {
        match self.kind_of(object.ty) {
            TyKind::Class(c, args) if c == self.known.array => Some(args[0]),
            TyKind::Class(c, _) if c == self.known.bytes || c == self.known.str => Some(Ty::INT),
            _ => None,
        }
    }

    /// Parameters and result of the `get` or `set` method that indexing stands for; reports where there is none that fits.
    pub fn accessor(&mut self, object: &hir::Expr, name: &'static str, arguments: usize, span: Span) -> Option<(Vec<Ty>, Ty)> {
        let ty = self.shallow(object.ty);
        if ty == Ty::ERROR {
            return None;
        }
        if let Some((found, fun)) = self.method_named(ty, name) {
            let (params, ret) = self.ck.signature(fun, found.class, &found.args, &[]);
            if params.len() == arguments && self.fun(fun).type_params.is_empty() {
                return Some((params, ret));
            }
        }
        if self.is_half_known(ty) {
            return None;
        }
        let shown = self.show_ty(ty);
        let problem = match self.non_null(ty) {
            Some(_) => Diagnostic::new(Code::MaybeNull, span, format!("this is {a_shown}, which may be null", a_shown = article(&shown)))
                .hint(format!("{}, or insist with `!!`", self.null_test_hint(object))),
            None => Diagnostic::new(Code::NotIndexable, span, format!("{a_shown} cannot be indexed", a_shown = article(&shown))).hint(
                match name {
                    "get" => "`x[i]` works on arrays, `Bytes`, `Str` and classes with a method `get(index)`",
                    _ => "`x[i] = v` works on arrays, `Bytes` and classes with a method `set(index, value)`",
                },
            ),
        };
        self.report(problem);
        None
    }

    fn method_named(&mut self, ty: Ty, name: &str) -> Option<(Found, FunId)> {
        let found = self.find_on(ty, name)?;
        match found.member {
            Member::Method(fun) => Some((found, fun)),
            Member::Field(_) => None,
        }
    }

    /// Calls a method that is known to exist, with checked arguments.
    pub fn call_accessor(&mut self, name: &'static str, receiver: hir::Expr, args: Vec<hir::Expr>, span: Span) -> hir::Expr {
        let ty = self.shallow(receiver.ty);
        let Some((found, fun)) = self.method_named(ty, name) else { return super::error_expr(span) };
        let (params, ret) = self.ck.signature(fun, found.class, &found.args, &[]);
        let args: Vec<hir::Expr> = args.into_iter().zip(params).map(|(a, p)| self.coerce(a, p)).collect();
        self.ck.reach_method(fun);
        let kind = ExprKind::CallMethod { receiver: Box::new(receiver), fun, type_args: Vec::new(), args, dispatch: Dispatch::Virtual };
        expr(kind, ret, span)
    }

    pub fn call_named(&mut self, name: &'static str, receiver: hir::Expr, span: Span) -> hir::Expr {
        self.call_accessor(name, receiver, Vec::new(), span)
    }

    /// Whether a name stands for a type, and for nothing that has a value.
    fn names_type(&mut self, name: &str) -> bool {
        self.lookup_var(name).is_none()
            && self.type_names.contains_key(name)
            && matches!(self.find_name(name), Some(Resolved::Class(_) | Resolved::Value(ValueName::Object(_))))
    }

    /// `a[i]` as a value.
    pub fn index(&mut self, object: &'a ast::Expr, index: &'a ast::Expr, span: Span) -> hir::Expr {
        if let ast::ExprKind::Name(name) = &object.kind
            && self.names_type(&name.text)
        {
            let problem = Diagnostic::new(Code::NotAValue, name.span, format!("`{}` is a type and cannot be indexed", name.text));
            self.report(problem.hint("an array is written `[a, b]`, or made by `Array<Int>(n)`"));
            return super::error_expr(span);
        }
        let object = self.expr(object, Want::Any);
        if let Some(ty) = self.element_type(&object) {
            let index = self.value(index, Ty::INT);
            return expr(ExprKind::Index { object: Box::new(object), index: Box::new(index) }, ty, span);
        }
        let Some((params, _)) = self.accessor(&object, "get", 1, object.span) else {
            self.expr(index, Want::Any);
            return super::error_expr(span);
        };
        let index = self.value(index, params[0]);
        self.call_accessor("get", object, vec![index], span)
    }
}

/// What a member of other languages may be called here.
fn foreign_members(name: &str) -> &'static [&'static str] {
    match name {
        "push" | "append" | "push_back" => &["add"],
        "len" | "count" | "size" | "length" => &["length", "size"],
        "toStr" | "str" | "to_string" => &["toString"],
        "hashCode" => &["hash"],
        "put" => &["set"],
        "containsKey" | "has" | "includes" => &["contains"],
        "toUpperCase" | "uppercase" => &["toUpper"],
        "toLowerCase" | "lowercase" => &["toLower"],
        "charAt" => &["get"],
        "toDouble" => &["toFloat"],
        _ => &[],
    }
}
