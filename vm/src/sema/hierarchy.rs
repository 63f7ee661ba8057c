//! Supertypes: resolved, made acyclic, and laid flat.
//!
//! In: class headers as written. Out: `base`, `interfaces` and `above` of every class; an edge that is wrong or closes a cycle is reported and left out, so
//! every later walk up the hierarchy ends. Then the bounds of all types written in declarations.

use super::decls::{Checker, ClassSource, TyScope, substitute};
use super::hir::{ClassId, ClassKind};
use super::types::{Ty, TyKind, TypeParamId};
use crate::diag::{Code, Diagnostic};
use crate::sema::show::article;
use crate::source::Span;
use crate::syntax::ast;
use rustc_hash::FxHashMap;

/// Classes above a class in a straight line; walks up the hierarchy recurse this deep.
const MAX_DEPTH: u32 = 200;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

impl<'a> Checker<'a> {
    pub fn resolve_supers(&mut self, id: ClassId, scope: &TyScope<'a>) {
        match self.class(id).source {
            ClassSource::Interface(decl) => {
                for super_type in &decl.supers {
                    let ty = self.resolve_type(scope, super_type);
                    self.add_super(id, ty, super_type.span, None);
                }
            }
            ClassSource::Class(decl) => {
                for s in &decl.supers {
                    let ty = self.resolve_type(scope, &s.ty);
                    self.add_super(id, ty, s.ty.span, Some(s));
                }
            }
        }
        let is_class = matches!(self.class(id).kind, ClassKind::Class { .. });
        if is_class && self.class(id).base.is_none() && id != self.known.object {
            self.classes[id.index()].base = Some(self.object_ty());
        }
    }

    fn add_super(&mut self, id: ClassId, ty: Ty, span: Span, written: Option<&'a ast::Super>) {
        let shown = self.show(ty);
        let TyKind::Class(up, _) = *self.kind(ty) else {
            if ty != Ty::ERROR {
                self.error(Code::BadBase, span, format!("`{shown}` cannot be extended: it is neither a class nor an interface"));
            }
            self.classes[id.index()].half_known = true;
            return;
        };
        let has_args = written.is_some_and(|s| s.args.is_some());
        if self.class(up).kind == ClassKind::Interface {
            return self.add_interface(id, ty, up, span, has_args);
        }
        let is_interface = self.class(id).kind == ClassKind::Interface;
        if is_interface || self.class(id).kind == ClassKind::Primitive {
            return self.error(Code::BadBase, span, format!("an interface extends interfaces only, and `{shown}` is a class"));
        }
        if self.is_builtin(up) {
            return self.error(Code::BadBase, span, format!("`{shown}` cannot be extended"));
        }
        if !has_args {
            let problem = Diagnostic::new(Code::BaseArguments, span, format!("the base class `{shown}` needs its arguments"));
            self.report(problem.hint(format!("write `{shown}(…)`, or `{shown}()` if it takes none")));
        }
        if let Some(first) = self.class(id).base {
            let first = self.show(first);
            return self.error(Code::BadBase, span, format!("a class has one base class, and this one already extends `{first}`"));
        }
        self.classes[id.index()].base = Some(ty);
    }

    fn add_interface(&mut self, id: ClassId, ty: Ty, up: ClassId, span: Span, has_args: bool) {
        let shown = self.show(ty);
        if has_args {
            let problem = Diagnostic::new(Code::BaseArguments, span, format!("`{shown}` is an interface and takes no arguments"));
            self.report(problem.hint("leave out the parentheses"));
        }
        let listed = self.class(id).interfaces.iter().any(|&i| matches!(self.kind(i), TyKind::Class(c, _) if *c == up));
        if listed {
            return self.error(Code::BadBase, span, format!("`{}` is listed twice", self.class(up).name.text));
        }
        self.classes[id.index()].interfaces.push(ty);
    }

    /// Leaves out edges that close cycles or go too deep, and fills in `above`.
    pub fn close_hierarchy(&mut self) {
        let mut visits = vec![Visit::New; self.classes.len()];
        let mut depths = vec![0u32; self.classes.len()];
        for i in 0..self.classes.len() {
            if visits[i] == Visit::New {
                self.close_from(ClassId(i as u32), &mut visits, &mut depths);
            }
        }
    }

    fn close_from(&mut self, start: ClassId, visits: &mut [Visit], depths: &mut [u32]) {
        let mut stack = vec![(start, 0)];
        visits[start.index()] = Visit::Open;
        while let Some((class, edge)) = stack.last_mut() {
            let class = *class;
            let Some(up) = self.direct_supers(class).get(*edge).copied() else {
                self.finish_class(class, depths);
                visits[class.index()] = Visit::Done;
                stack.pop();
                continue;
            };
            *edge += 1;
            match visits[up.index()] {
                Visit::Done => {}
                Visit::New => {
                    visits[up.index()] = Visit::Open;
                    stack.push((up, 0));
                }
                Visit::Open => {
                    *edge -= 1;
                    let name = self.class(class).name;
                    let problem = Diagnostic::new(Code::InheritanceCycle, name.span, format!("`{}` is above itself", name.text));
                    self.report(
                        problem.secondary(self.class(up).name.span, format!("it extends `{}`, which extends it", self.class(up).name.text)),
                    );
                    self.cut(class, up);
                }
            }
        }
    }

    fn direct_supers(&self, class: ClassId) -> Vec<ClassId> {
        let info = self.class(class);
        let class_of = |ty: &Ty| if let TyKind::Class(c, _) = self.kind(*ty) { Some(*c) } else { None };
        info.base.iter().chain(&info.interfaces).filter_map(class_of).collect()
    }

    fn cut(&mut self, class: ClassId, up: ClassId) {
        let object = self.object_ty();
        let is_up = |c: &Checker, ty: Ty| matches!(c.kind(ty), TyKind::Class(c, _) if *c == up);
        if self.class(class).base.is_some_and(|b| is_up(self, b)) {
            self.classes[class.index()].base = (class != self.known.object).then_some(object);
        }
        let kept = self.class(class).interfaces.iter().copied().filter(|&i| !is_up(self, i)).collect();
        self.classes[class.index()].interfaces = kept;
    }

    fn finish_class(&mut self, class: ClassId, depths: &mut [u32]) {
        for up in self.direct_supers(class) {
            if depths[up.index()] >= MAX_DEPTH {
                let name = self.class(class).name;
                self.error(Code::TooManyThings, name.span, format!("`{}` has more than {MAX_DEPTH} classes in a line above it", name.text));
                self.cut(class, up);
                self.classes[class.index()].half_known = true;
            }
        }
        let supers = self.direct_supers(class);
        depths[class.index()] = supers.iter().map(|up| depths[up.index()] + 1).max().unwrap_or(0);
        let mut above: Vec<ClassId> = supers.iter().flat_map(|up| self.class(*up).above.iter().copied().chain([*up])).collect();
        above.sort_unstable();
        above.dedup();
        self.classes[class.index()].half_known |= above.iter().any(|&up| self.class(up).half_known);
        self.classes[class.index()].above = above.into();
    }

    /// Reports type arguments that do not meet their bounds, of all types written since the last call.
    pub fn check_written_types(&mut self) {
        for written in std::mem::take(&mut self.written) {
            if let TyKind::Class(class, args) = self.kind(written.ty).clone() {
                let params = self.class(class).type_params.clone();
                let what = format!("`{}`", self.class(class).name.text);
                self.check_bounds(&params, &args, None, written.span, &what);
            }
        }
    }

    /// Reports arguments that do not meet the bounds of `params`; `outer` are further parameters that the bounds may mention.
    pub fn check_bounds(&mut self, params: &[TypeParamId], args: &[Ty], outer: Option<(&[TypeParamId], &[Ty])>, span: Span, what: &str) {
        for (&param, &arg) in params.iter().zip(args) {
            for bound in self.type_params[param.0 as usize].bounds.clone() {
                let mut wanted = substitute(&mut self.types, bound, params, args);
                if let Some((params, args)) = outer {
                    wanted = substitute(&mut self.types, wanted, params, args);
                }
                if self.types.has_error(arg) || self.types.has_error(wanted) || self.meets(arg, wanted) {
                    continue;
                }
                let (shown, bound, name) = (self.show(arg), self.show(wanted), self.type_params[param.0 as usize].name);
                let problem = Diagnostic::new(
                    Code::BoundNotMet,
                    span,
                    format!("`{shown}` cannot be the type argument `{name}` of {what}: it is no `{bound}`"),
                );
                self.report(problem);
            }
        }
    }

    /// Reports a class that is one generic interface in two ways.
    pub fn check_one_instance(&mut self, class: ClassId) {
        let mut seen: FxHashMap<ClassId, Ty> = FxHashMap::default();
        let mut work = vec![self.class(class).ty];
        while let Some(ty) = work.pop() {
            let Some((c, args)) = self.class_parts(ty) else { continue };
            match seen.insert(c, ty) {
                Some(first) if first == ty => continue,
                Some(first) => {
                    let (a, b, name) = (self.show(first), self.show(ty), self.class(class).name);
                    return self.error(
                        Code::BadBase,
                        name.span,
                        format!("`{}` is both {a_a} and {a_b}", name.text, a_a = article(&a), a_b = article(&b)),
                    );
                }
                None => {}
            }
            let supers: Vec<Ty> = self.class(c).base.iter().chain(&self.class(c).interfaces).copied().collect();
            for up in supers {
                let up = self.instantiate(up, c, &args);
                work.push(up);
            }
        }
    }
}
