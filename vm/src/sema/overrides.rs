//! Rules between a class's members and those it inherits: `override`, signatures, abstract methods, defaults.
//!
//! In: the closed hierarchy. Out: reports only.

use super::decls::{Checker, ClassSource, FunSource, Member};
use super::hir::{ClassId, ClassKind, FunId};
use super::members::Found;
use super::show::{article, count};
use super::types::{Ty, TyKind};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast::{FunBody, FunDecl};
use rustc_hash::FxHashSet;

impl<'a> Checker<'a> {
    pub fn check_class_rules(&mut self, class: ClassId) {
        self.check_one_instance(class);
        let names: Vec<&'a str> = match self.class(class).source {
            ClassSource::Class(decl) => {
                let fields: Vec<_> = self.class(class).fields.iter().map(|f| f.name).collect();
                for field in fields {
                    self.check_field_name(class, &field.text, field.span);
                }
                let methods =
                    decl.members.iter().filter_map(|m| if let crate::syntax::ast::Member::Fun(f) = m { Some(&*f.name.text) } else { None });
                methods.collect()
            }
            ClassSource::Interface(decl) => decl.funs.iter().map(|f| &*f.name.text).collect(),
        };
        for (index, name) in names.into_iter().enumerate() {
            let fun = self.class(class).methods[index];
            self.check_method(class, fun, name);
        }
        if self.class(class).kind == (ClassKind::Class { is_abstract: false }) || self.class(class).kind == ClassKind::Primitive {
            self.check_implemented(class);
        }
        self.check_inherited_signatures(class);
    }

    fn decl_of(&self, fun: FunId) -> Option<&'a FunDecl> {
        match self.fun(fun).source {
            FunSource::Decl(decl) => Some(decl),
            FunSource::Constructor(_) => None,
        }
    }

    pub fn is_abstract(&self, fun: FunId) -> bool {
        !self.fun(fun).has_body() && !self.fun(fun).is_native()
    }

    /// The declarations of `name` directly above `class`: in its base class's line, and in its interfaces.
    fn inherited(&mut self, class: ClassId, name: &str) -> Vec<Found> {
        let args = self.own_args(class);
        let mut found = Vec::new();
        let mut chain = vec![(class, args.clone())];
        let mut next = self.base_of(class, &args);
        while let Some((c, a)) = next {
            if found.is_empty()
                && let Some(&member) = self.class(c).members.get(name)
            {
                found.push(Found { member, class: c, args: a.clone() });
            }
            next = self.base_of(c, &a);
            chain.push((c, a));
        }
        let from_interfaces = self.interface_members(&chain, name);
        found.extend(self.most_derived(&from_interfaces));
        if found.is_empty() && self.class(class).kind == ClassKind::Interface {
            let object = self.known.object;
            found.extend(self.class(object).members.get(name).map(|&member| Found { member, class: object, args: Box::default() }));
        }
        found
    }

    pub fn own_args(&mut self, class: ClassId) -> Box<[Ty]> {
        let params = self.class(class).type_params.clone();
        params.into_iter().map(|p| self.types.intern(TyKind::Param(p))).collect()
    }

    fn check_field_name(&mut self, class: ClassId, name: &str, span: Span) {
        if let Some(found) = self.inherited(class, name).first() {
            let (first, owner) = (self.member_span(found.class, found.member), &self.class(found.class).name.text);
            let problem = Diagnostic::new(Code::FieldOverride, span, format!("`{name}` is already a member of `{owner}`"))
                .secondary(first, "declared here");
            let in_header = matches!(self.class(class).source, ClassSource::Class(decl) if decl.params.iter().any(|p| p.name.span == span));
            self.report(problem.hint(match found.member {
                Member::Field(_) if in_header => "without `let` or `var` it is only a parameter, to be handed to the base class",
                _ => "fields are not overridden: choose another name",
            }));
        }
    }

    fn check_method(&mut self, class: ClassId, fun: FunId, name: &'a str) {
        let Some(decl) = self.decl_of(fun) else { return };
        let has_body = !matches!(decl.body, FunBody::None) || decl.modifiers.is_native.is_some();
        let is_interface = self.class(class).kind == ClassKind::Interface;
        let class_is_abstract = is_interface || self.class(class).kind == (ClassKind::Class { is_abstract: true });
        // Without the word `abstract` the parser has asked for a body.
        if !has_body && decl.modifiers.is_abstract.is_some() && !class_is_abstract {
            let problem = Diagnostic::new(
                Code::AbstractMember,
                decl.name.span,
                format!("`{name}` is abstract, but `{}` is not", self.class(class).name.text),
            );
            self.report(problem.hint("give it a body, or make the class `abstract`"));
        }
        if !has_body && !decl.type_params.is_empty() {
            self.error(Code::GenericMethod, decl.name.span, format!("`{name}` has type parameters of its own and cannot be abstract"));
        }
        if is_interface && has_body && self.useless_default(decl, name) {
            return;
        }
        let inherited = self.inherited(class, name);
        if inherited.is_empty() {
            if let Some(span) = decl.modifiers.is_override
                && !self.class(class).half_known
            {
                let names = self.member_names(class, self.class(class).library);
                let near = self.near(name, names).map(|n| format!("did you mean `{n}`?"));
                let problem = Diagnostic::new(Code::NothingToOverride, span, format!("`{name}` overrides nothing")).maybe_hint(near);
                self.report(problem);
            }
            return;
        }
        for found in inherited {
            self.check_override(class, fun, decl, &found);
        }
    }

    /// Reports an interface's default for a method of `Object`: what a class inherits goes before defaults, and every class inherits those.
    fn useless_default(&mut self, decl: &'a FunDecl, name: &str) -> bool {
        let object = self.known.object;
        let Some(&member) = self.class(object).members.get(name) else { return false };
        let message = format!("no object would have this default: every class has a method `{name}`, that of `Object` if no other");
        let problem = Diagnostic::new(Code::UselessDefault, decl.name.span, message);
        let problem = problem.secondary(self.member_span(object, member), "declared here");
        self.report(problem.hint(format!("override `{name}` in the classes, or in a base class that they share")));
        true
    }

    fn check_override(&mut self, class: ClassId, fun: FunId, decl: &'a FunDecl, found: &Found) {
        let (name, owner) = (&*decl.name.text, &self.class(found.class).name.text);
        let first = self.member_span(found.class, found.member);
        let Member::Method(above) = found.member else {
            let problem = Diagnostic::new(Code::FieldOverride, decl.name.span, format!("`{name}` is already a field of `{owner}`"));
            return self.report(problem.secondary(first, "declared here").hint("choose another name"));
        };
        if decl.modifiers.is_override.is_none() {
            let problem = Diagnostic::new(Code::MissingOverride, decl.name.span, format!("`{name}` redefines a method of `{owner}`"));
            return self.report(problem.secondary(first, "declared here").hint("write `override` before `fun`"));
        }
        if !self.fun(above).type_params.is_empty() || !decl.type_params.is_empty() {
            let problem = Diagnostic::new(
                Code::GenericMethod,
                decl.name.span,
                format!("`{name}` cannot be overridden: it has type parameters of its own"),
            );
            return self.report(problem.secondary(first, "declared here"));
        }
        let args = self.own_args(class);
        if let Some(problem) = self.signature_problem(fun, class, &args, found) {
            let problem = Diagnostic::new(Code::OverrideMismatch, decl.name.span, problem).secondary(first, "declared here");
            self.report(problem.hint("an override has the same parameter types, and the same result or a class below it"));
        }
    }

    /// What keeps `fun` of `class<args>` from standing for the method found above.
    fn signature_problem(&mut self, fun: FunId, class: ClassId, args: &[Ty], found: &Found) -> Option<String> {
        let Member::Method(above) = found.member else { return None };
        let (params, ret) = self.signature(fun, class, args, &[]);
        let (wanted, wanted_ret) = self.signature(above, found.class, &found.args.clone(), &[]);
        let (name, owner) = (&self.fun(fun).name.text, &self.class(found.class).name.text);
        if self.fun(fun).type_params.len() != self.fun(above).type_params.len() {
            return Some(format!("`{name}` has other type parameters here than in `{owner}`"));
        }
        if params.len() != wanted.len() {
            return Some(format!("`{name}` takes {} here, and {} in `{owner}`", count(params.len(), "parameter"), wanted.len()));
        }
        for (&have, &want) in params.iter().zip(&wanted) {
            if have != want && !self.types.has_error(have) && !self.types.has_error(want) {
                let (have, want) = (article(&self.show(have)), article(&self.show(want)));
                return Some(format!("`{name}` takes {have} here, and {want} in `{owner}`"));
            }
        }
        if !self.result_fits(ret, wanted_ret) {
            return Some(format!(
                "`{name}` gives `{}` here, and `{}` in `{}`",
                self.show(ret),
                self.show(wanted_ret),
                self.class(found.class).name.text
            ));
        }
        None
    }

    /// The same, or a subtype with the same representation: both are references.
    fn result_fits(&mut self, have: Ty, want: Ty) -> bool {
        if have == want || self.types.has_error(have) || self.types.has_error(want) {
            return true;
        }
        let mut infer = super::infer::Infer::default();
        let assignable = super::infer::Relate::new(self, &mut infer).assign(have, want);
        assignable && self.is_reference(have) && self.is_reference(want)
    }

    /// Whether all values of the type are references whatever its parameters stand for (`Never` has no values).
    pub fn is_reference(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Class(..) | TyKind::Fun(..) | TyKind::Never => true,
            TyKind::Nullable(t) => self.is_reference(*t),
            TyKind::Param(p) => self.is_reference_param(*p),
            _ => false,
        }
    }

    fn names_above(&self, class: ClassId) -> Vec<&'a str> {
        let classes = self.class(class).above.iter().copied().chain([class]);
        let mut names: Vec<&str> =
            classes.flat_map(|c| self.class(c).members.iter()).filter(|(_, m)| matches!(m, Member::Method(_))).map(|(n, _)| *n).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether a member found in a class's line still has to be implemented (and that is not reported elsewhere).
    fn is_missing(&self, class: ClassId, found: &Found) -> bool {
        matches!(found.member, Member::Method(m) if self.is_abstract(m) && found.class != class)
    }

    /// Every abstract method must be implemented, and no two unrelated defaults may compete.
    fn check_implemented(&mut self, class: ClassId) {
        if self.class(class).half_known {
            return;
        }
        let args = self.own_args(class);
        let mut missing = Vec::new();
        for name in self.names_above(class) {
            let candidates = match self.in_line(class, &args, name) {
                Some(found) if !self.is_missing(class, &found) => continue,
                Some(found) => vec![found],
                None => {
                    let line = self.line(class, &args);
                    let all = self.interface_members(&line, name);
                    self.most_derived(&all)
                }
            };
            let (defaults, abstracts): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|found| self.has_default(found));
            if defaults.len() > 1 {
                let (a, b) = (&self.class(defaults[0].class).name.text, &self.class(defaults[1].class).name.text);
                let place = self.class(class).name;
                let problem = Diagnostic::new(
                    Code::ConflictingDefaults,
                    place.span,
                    format!("`{}` inherits `{name}` from both `{a}` and `{b}`", place.text),
                );
                self.report(problem.hint(format!("override `{name}` in `{}`", place.text)));
            } else if defaults.is_empty()
                && let Some(found) = abstracts.first()
                && matches!(found.member, Member::Method(m) if self.fun(m).type_params.is_empty())
            {
                missing.push((name, found.class, self.member_span(found.class, found.member)));
            }
        }
        let Some(&(name, owner, first)) = missing.first() else { return };
        let place = self.class(class).name;
        let names: Vec<String> = missing.iter().map(|(name, owner, _)| format!("`{name}` of `{}`", self.class(*owner).name.text)).collect();
        let problem =
            Diagnostic::new(Code::MissingImplementation, place.span, format!("`{}` does not implement {}", place.text, names.join(", ")));
        let hint = format!("add `override fun {name}`, or make `{}` abstract", place.text);
        let label = format!("`{name}` is declared in `{}`", self.class(owner).name.text);
        self.report(problem.secondary(first, label).hint(hint));
    }

    /// The class and its base classes.
    pub fn line(&mut self, class: ClassId, args: &[Ty]) -> Vec<(ClassId, Box<[Ty]>)> {
        let mut line = Vec::new();
        let mut next = Some((class, Box::<[Ty]>::from(args)));
        while let Some((c, a)) = next {
            next = self.base_of(c, &a);
            line.push((c, a));
        }
        line
    }

    fn in_line(&mut self, class: ClassId, args: &[Ty], name: &str) -> Option<Found> {
        let line = self.line(class, args);
        line.into_iter().find_map(|(c, args)| self.class(c).members.get(name).map(|&member| Found { member, class: c, args }))
    }

    /// What stands for a method that the class's line does not have: the default of an interface, if there is one.
    fn inherited_default(&mut self, line: &[(ClassId, Box<[Ty]>)], name: &str) -> Option<Found> {
        let all = self.interface_members(line, name);
        self.most_derived(&all).into_iter().find(|found| self.has_default(found))
    }

    /// It is a method that has a body.
    pub fn has_default(&self, found: &Found) -> bool {
        matches!(found.member, Member::Method(fun) if !self.is_abstract(fun))
    }

    /// Methods of a base class must also fit the interfaces that this class adds, and defaults all interfaces that have a method of this name.
    fn check_inherited_signatures(&mut self, class: ClassId) {
        if self.class(class).kind == ClassKind::Interface || self.class(class).interfaces.is_empty() {
            return;
        }
        let args = self.own_args(class);
        let line = self.line(class, &args);
        let mut reported = FxHashSet::default();
        for name in self.names_above(class) {
            let (found, below) = match self.in_line(class, &args, name) {
                Some(found) if found.class == class => continue,
                Some(found) => (found, &line[..1]),
                None => match self.inherited_default(&line, name) {
                    Some(found) => (found, &line[..]),
                    None => continue,
                },
            };
            let wanted = self.interface_members(below, name);
            for above in wanted.into_iter().filter(|above| above.class != found.class) {
                let problem = match found.member {
                    Member::Method(fun) => self.signature_problem(fun, found.class, &found.args.clone(), &above),
                    Member::Field(_) => Some(format!(
                        "`{name}` is a field of `{}` and a method of `{}`",
                        self.class(found.class).name.text,
                        self.class(above.class).name.text
                    )),
                };
                if let Some(problem) = problem
                    && reported.insert(name)
                {
                    let place = self.class(class).name.span;
                    let (own, first) = (self.member_span(found.class, found.member), self.member_span(above.class, above.member));
                    let problem = Diagnostic::new(Code::OverrideMismatch, place, problem);
                    self.report(problem.secondary(own, "what is inherited").secondary(first, "what it must fit"));
                }
            }
        }
    }
}
