//! Calls: what is called, type arguments, arguments, constructors.
//!
//! Arguments are checked in three rounds, so that each knows what the others decide: first those whose parameter has a structure (`List<T>`), then those whose
//! parameter is a bare type parameter (which becomes the join of their types), then closures. Each is checked once.

use super::members::Resolved;
use super::{Body, PendingBounds, Want, error_expr, expr, member_expr};
use crate::diag::{Code, Diagnostic};
use crate::sema::decls::{Member, Owner, ValueName, substitute};
use crate::sema::hir::{self, ClassId, ClassKind, Dispatch, ExprKind, FunId};
use crate::sema::members::Found;
use crate::sema::show::{article, count};
use crate::sema::types::{InferVar, Ty, TyKind, TypeParamId};
use crate::source::Span;
use crate::syntax::ast::{self, Name};

/// The written parts of a call.
#[derive(Clone, Copy)]
pub struct CallSite<'a> {
    pub type_args: &'a [ast::TypeExpr],
    pub args: &'a [ast::Expr],
    pub want: Want,
    pub span: Span,
}

impl<'a> Body<'_, 'a> {
    pub fn call(&mut self, callee: &'a ast::Expr, site: CallSite<'a>) -> hir::Expr {
        match &callee.kind {
            ast::ExprKind::Name(name) if self.lookup_var(&name.text).is_none() => self.call_name(name, site),
            ast::ExprKind::Field { object, name, safe } => self.call_member(object, name, *safe, callee.span, site),
            _ => {
                let callee = self.expr(callee, Want::Any);
                self.call_value(callee, site)
            }
        }
    }

    fn call_name(&mut self, name: &'a Name, site: CallSite<'a>) -> hir::Expr {
        match self.resolve_callee(name) {
            None => self.check_args_anyway(site),
            Some(Resolved::Member(found)) => match self.read_this(name.span) {
                Some(this) => self.call_found(this, found, name, Dispatch::Virtual, site),
                None => self.check_args_anyway(site),
            },
            Some(Resolved::Value(value)) => self.call_named_value(value, name, site),
            Some(Resolved::Class(class)) => self.construct(class, name, site),
        }
    }

    fn call_named_value(&mut self, value: ValueName, name: &'a Name, site: CallSite<'a>) -> hir::Expr {
        match value {
            ValueName::Fun(fun) => self.call_fun(fun, site),
            ValueName::Global(_) => {
                let callee = self.read_value(value, name);
                self.call_value(callee, site)
            }
            ValueName::Object(_) => {
                self.error(Code::NotCallable, name.span, format!("`{}` is an object, a namespace, and cannot be called", name.text));
                self.check_args_anyway(site)
            }
        }
    }

    fn call_member(&mut self, object: &'a ast::Expr, name: &'a Name, safe: bool, callee_span: Span, site: CallSite<'a>) -> hir::Expr {
        if matches!(object.kind, ast::ExprKind::Super) {
            return self.call_super(object.span, name, site);
        }
        match self.namespace_member(object, name) {
            Some(Some(value)) => return hir::Expr { at: name.span.lo, ..self.call_named_value(value, name, site) },
            Some(None) => return self.check_args_anyway(site),
            None => {}
        }
        let receiver = self.expr(object, Want::Any);
        if safe {
            return self.safe_access(receiver, site.want, site.span, |b, receiver, want| {
                b.call_on(receiver, name, callee_span, CallSite { want, ..site })
            });
        }
        self.call_on(receiver, name, callee_span, site)
    }

    fn call_on(&mut self, receiver: hir::Expr, name: &'a Name, callee_span: Span, site: CallSite<'a>) -> hir::Expr {
        if &*name.text == "length" && self.has_length(receiver.ty) {
            let problem = Diagnostic::new(Code::NotCallable, name.span, "`length` is not a method here");
            self.report(problem.hint("write it without the parentheses: `.length`"));
            return self.check_args_anyway(site);
        }
        let Some((receiver, found)) = self.member_of(receiver, name) else { return self.check_args_anyway(site) };
        if let Member::Field(_) = found.member {
            let callee = self.read_found(receiver, found, name, callee_span);
            return hir::Expr { at: name.span.lo, ..self.call_value(callee, site) };
        }
        self.call_found(receiver, found, name, Dispatch::Virtual, site)
    }

    fn call_found(&mut self, receiver: hir::Expr, found: Found, name: &'a Name, dispatch: Dispatch, site: CallSite<'a>) -> hir::Expr {
        let Member::Method(fun) = found.member else {
            let callee = self.read_found(receiver, found, name, name.span);
            return hir::Expr { at: name.span.lo, ..self.call_value(callee, site) };
        };
        let (type_args, own) = self.own_type_args(fun, Some(&found), site);
        let (params, ret) = self.ck.signature(fun, found.class, &found.args, &own);
        let args = self.args(&params, ret, site, &name.text, self.fun(fun).name.span);
        let dispatch = if type_args.is_empty() { dispatch } else { Dispatch::Static };
        match dispatch {
            Dispatch::Virtual => self.ck.reach_method(fun),
            Dispatch::Static => self.ck.reach_fun(fun),
        }
        let kind = ExprKind::CallMethod { receiver: Box::new(receiver), fun, type_args, args, dispatch };
        member_expr(kind, ret, site.span, name.span)
    }

    fn call_super(&mut self, at: Span, name: &'a Name, site: CallSite<'a>) -> hir::Expr {
        let (Some(this), Owner::Class(class)) = (self.read_this(at), self.owner) else {
            self.error(Code::NoThis, at, "`super` is only known inside the methods of a class");
            return self.check_args_anyway(site);
        };
        let args = self.ck.own_args(class);
        let Some(found) = self.super_member(class, &args, name) else {
            if !self.class(class).half_known {
                let class = self.class(class).name;
                self.error(Code::UnknownMember, name.span, format!("nothing above `{}` has a method `{}`", class.text, name.text));
            }
            return self.check_args_anyway(site);
        };
        if let Member::Method(fun) = found.member
            && self.ck.is_abstract(fun)
        {
            let first = self.fun(fun).name.span;
            let problem =
                Diagnostic::new(Code::AbstractSuper, name.span, format!("`{}` is abstract there: it has no body to call", name.text));
            self.report(problem.secondary(first, "declared here"));
        }
        self.call_found(this, found, name, Dispatch::Static, site)
    }

    /// A member of the base class, or where none of the classes above has it, of the interfaces: the default that stands for it, of which there must not be several.
    fn super_member(&mut self, class: ClassId, args: &[Ty], name: &Name) -> Option<Found> {
        if !self.library() && name.text.starts_with("__") {
            return None;
        }
        let object = self.known.object;
        let in_base = self.ck.base_of(class, args).and_then(|(c, a)| self.ck.find_member(c, &a, &name.text));
        let stands = |f: &Found| self.class(f.class).kind != ClassKind::Interface && (f.class != object || class != object);
        if in_base.as_ref().is_some_and(|f| stands(f) && !matches!(f.member, Member::Method(m) if self.ck.is_abstract(m))) {
            return in_base;
        }
        // A base class may have the interfaces instead of this one.
        let inherited = in_base.as_ref().is_some_and(|f| self.class(f.class).kind == ClassKind::Interface);
        let classes = if inherited { self.ck.line(class, args) } else { vec![(class, args.into())] };
        let from_interfaces = self.ck.interface_members(&classes, &name.text);
        let best = self.ck.most_derived(&from_interfaces);
        let mut defaults = best.iter().filter(|found| self.ck.has_default(found));
        match (defaults.next(), defaults.next()) {
            (Some(one), Some(other)) => {
                let (a, b) = (&self.class(one.class).name.text, &self.class(other.class).name.text);
                let problem =
                    Diagnostic::new(Code::ConflictingDefaults, name.span, format!("`{}` may be that of `{a}` or of `{b}`", name.text));
                self.report(problem.hint("`super` cannot choose: write here what the method is to do"));
                Some(one.clone())
            }
            (Some(one), None) => Some(one.clone()),
            (None, _) => best.into_iter().next().or(in_base),
        }
    }

    pub fn call_fun(&mut self, fun: FunId, site: CallSite<'a>) -> hir::Expr {
        let (type_args, own) = self.own_type_args(fun, None, site);
        let (params, ret) = self.ck.free_signature(fun, &own);
        let name = &self.fun(fun).name.text;
        let mut args = self.args(&params, ret, site, name, self.fun(fun).name.span);
        if &**name == "__newArray" && args.len() == 1 {
            let len = Box::new(args.remove(0));
            return expr(ExprKind::NewArray { len, fill: None }, ret, site.span);
        }
        self.ck.reach_fun(fun);
        expr(ExprKind::CallFun { fun, type_args, args }, ret, site.span)
    }

    /// Calls a value of a function type.
    pub fn call_value(&mut self, callee: hir::Expr, site: CallSite<'a>) -> hir::Expr {
        if !site.type_args.is_empty() {
            self.error(Code::TypeArgumentCount, site.span, "a function value takes no type arguments");
        }
        match self.kind_of(callee.ty) {
            TyKind::Fun(params, ret) => {
                let args = self.args(&params, ret, site, "", callee.span);
                expr(ExprKind::CallClosure { callee: Box::new(callee), args }, ret, site.span)
            }
            TyKind::Error => self.check_args_anyway(site),
            kind => {
                let shown = self.show_ty(callee.ty);
                let problem = match kind {
                    TyKind::Nullable(_) => Diagnostic::new(
                        Code::MaybeNull,
                        callee.span,
                        format!("this is {a_shown}, which may be null", a_shown = article(&shown)),
                    )
                    .hint(format!("{}, or insist with `!!`", self.null_test_hint(&callee))),
                    TyKind::Infer(_) => Diagnostic::new(Code::CannotInfer, callee.span, "the type of this is not known yet"),
                    _ => Diagnostic::new(Code::NotCallable, callee.span, format!("{a_shown} cannot be called", a_shown = article(&shown))),
                };
                self.report(problem);
                self.check_args_anyway(site)
            }
        }
    }

    /// Checks arguments of a call that is wrong already.
    pub fn check_args_anyway(&mut self, site: CallSite<'a>) -> hir::Expr {
        for arg in site.args {
            if !matches!(arg.kind, ast::ExprKind::Lambda { .. }) {
                self.expr(arg, Want::Any);
            }
        }
        error_expr(site.span)
    }

    // Type arguments.

    /// Written or to be inferred, for the function's own type parameters; bounds are checked later.
    pub fn own_type_args(&mut self, fun: FunId, found: Option<&Found>, site: CallSite<'a>) -> (Vec<Ty>, Vec<Ty>) {
        let params = self.fun(fun).type_params.clone();
        let name = &self.fun(fun).name.text;
        let args = self.type_args(&params, name, site);
        let class = found.map(|f| (f.class, f.args.clone()));
        self.expect_bounds(params, args.clone(), class, site.span, format!("`{name}`"));
        (args.clone(), args)
    }

    pub fn expect_bounds(
        &mut self,
        params: Vec<TypeParamId>,
        args: Vec<Ty>,
        class: Option<(ClassId, Box<[Ty]>)>,
        span: Span,
        what: String,
    ) {
        if params.iter().any(|p| !self.type_params[p.0 as usize].bounds.is_empty()) {
            self.pending.push(PendingBounds { params, args, class, span, what });
        }
    }

    fn type_args(&mut self, params: &[TypeParamId], name: &str, site: CallSite<'a>) -> Vec<Ty> {
        let given: Vec<Ty> = site.type_args.iter().map(|t| self.ck.resolve_type(&self.ty_scope, t)).collect();
        if given.is_empty() || given.len() != params.len() {
            if !given.is_empty() {
                let wanted = params.len();
                self.error(
                    Code::TypeArgumentCount,
                    site.span,
                    format!("`{name}` takes {}, not {}", count(wanted, "type argument"), given.len()),
                );
            }
            let origin = |b: &Self, p: TypeParamId| format!("type argument `{}` of `{name}`", b.type_params[p.0 as usize].name);
            return params
                .iter()
                .map(|&p| {
                    let what = origin(self, p);
                    self.fresh(site.span, what)
                })
                .collect();
        }
        given
    }

    // Arguments.

    /// Checks the arguments of `name` (empty for a function value); `ret` is the result's type, from which and the wanted type more may be inferred.
    pub fn args(&mut self, params: &[Ty], ret: Ty, site: CallSite<'a>, name: &str, declared: Span) -> Vec<hir::Expr> {
        if params.len() != site.args.len() {
            let what = if name.is_empty() { "this function".to_string() } else { format!("`{name}`") };
            let message = format!("{what} takes {}, not {}", count(params.len(), "argument"), site.args.len());
            let problem = Diagnostic::new(Code::ArgumentCount, site.span, message);
            let empty_line = name == "println" && site.args.is_empty();
            let hint = empty_line.then(|| "an empty line is `println(\"\")`".to_string());
            self.report(problem.secondary(declared, "declared here").maybe_hint(hint));
            self.check_args_anyway(site);
            params.iter().chain([&ret]).for_each(|&ty| self.relate().give_up(ty));
            return Vec::new();
        }
        if let Want::Type(want) = site.want
            && self.bare_infer(ret).is_none()
        {
            self.hint_result(ret, want);
        }
        let mut slots: Vec<Option<hir::Expr>> = params.iter().map(|_| None).collect();
        let mut bare = Vec::new();
        let mut closures = Vec::new();
        for (i, (&param, arg)) in params.iter().zip(site.args).enumerate() {
            if matches!(arg.kind, ast::ExprKind::Lambda { .. }) {
                closures.push(i);
                continue;
            }
            let inner = self.non_null(param).unwrap_or(param);
            if self.bare_infer(inner).is_some() {
                slots[i] = Some(self.expr(arg, Want::Any));
                bare.push(i);
            } else {
                slots[i] = Some(self.value(arg, param));
            }
        }
        self.decide_bare(params, &mut slots, &bare);
        self.infer_from_bounds();
        if let Want::Type(want) = site.want {
            match self.bare_infer(ret) {
                // Null may come from a closure, unless a bound forbids it.
                Some(var) if !self.is_bounded(var) && self.bare_infer(want).is_none() => _ = self.relate().unify(ret, want),
                _ => self.hint_result(ret, want),
            }
        }
        for i in closures {
            slots[i] = Some(self.value(&site.args[i], params[i]));
        }
        slots.into_iter().map(|slot| slot.unwrap_or_else(|| error_expr(site.span))).collect()
    }

    /// Binds parameters that are bare variables to the join of their arguments' types.
    fn decide_bare(&mut self, params: &[Ty], slots: &mut [Option<hir::Expr>], bare: &[usize]) {
        for (n, &i) in bare.iter().enumerate() {
            let inner = self.non_null(params[i]).unwrap_or(params[i]);
            let Some(var) = self.bare_infer(inner) else { continue };
            let mut types = Vec::new();
            for &j in &bare[n..] {
                let other = self.non_null(params[j]);
                let same = self.bare_infer(other.unwrap_or(params[j])) == Some(var);
                let Some(arg) = slots[j].as_ref().filter(|_| same) else { continue };
                // What meets a `T?` says nothing about whether `T` admits null.
                let ty = if other.is_some() { self.non_null(arg.ty).unwrap_or(arg.ty) } else { arg.ty };
                let ty = if other.is_some() && ty == Ty::NULL { Ty::NEVER } else { ty };
                types.push((ty, arg.span));
            }
            // Types without a join: the first decides, and the others are reported.
            let joined = match self.join_all(&types) {
                Ok(joined) => joined,
                Err(_) => types.iter().fold(Ty::NEVER, |joined, &(ty, _)| self.join_types(joined, ty).unwrap_or(joined)),
            };
            if !matches!(joined, Ty::NEVER | Ty::NULL) {
                self.relate().unify(inner, joined);
            }
        }
        for &i in bare {
            if let Some(arg) = slots[i].take() {
                slots[i] = Some(self.coerce(arg, params[i]));
            }
        }
    }

    /// Whether a variable stands for a type parameter with bounds.
    fn is_bounded(&mut self, var: InferVar) -> bool {
        (0..self.pending.len()).any(|i| {
            (0..self.pending[i].params.len()).any(|n| {
                let (param, arg) = (self.pending[i].params[n], self.pending[i].args[n]);
                self.bare_infer(arg) == Some(var) && !self.type_params[param.0 as usize].bounds.is_empty()
            })
        })
    }

    /// A type argument that is decided may decide others that its bound mentions (`M: Monoid<T>`).
    fn infer_from_bounds(&mut self) {
        for i in 0..self.pending.len() {
            for n in 0..self.pending[i].params.len() {
                let (param, arg) = (self.pending[i].params[n], self.pending[i].args[n]);
                let bounds = self.type_params[param.0 as usize].bounds.clone();
                if bounds.is_empty() || self.bare_infer(arg).is_some() {
                    continue;
                }
                for bound in bounds {
                    let pending = &self.pending[i];
                    let mut wanted = substitute(&mut self.ck.types, bound, &pending.params, &pending.args);
                    if let Some((class, args)) = &pending.class {
                        wanted = substitute(&mut self.ck.types, wanted, &self.ck.classes[class.index()].type_params, args);
                    }
                    let wanted = self.resolved(wanted);
                    if self.types.has_infer(wanted) {
                        self.meet_bound(arg, wanted);
                    }
                }
            }
        }
    }

    fn meet_bound(&mut self, arg: Ty, wanted: Ty) {
        let arg = self.shallow(arg);
        let Some((target, args)) = self.class_parts(wanted) else { return };
        let found = match self.kind_of(arg) {
            TyKind::Param(p) => self.param_as_super(p, target),
            _ => self.class_of(arg).and_then(|(c, args)| self.as_super(c, &args, target)),
        };
        for (have, want) in found.iter().flat_map(|f| f.iter()).zip(args.iter()) {
            self.relate().unify(*have, *want);
        }
    }

    /// Infers from the wanted result what it can; a contradiction is found later.
    pub fn hint_result(&mut self, ret: Ty, want: Ty) {
        let want = self.non_null(want).unwrap_or(want);
        let ret = self.non_null(ret).unwrap_or(ret);
        let resolved = self.resolved(ret);
        if self.types.has_infer(resolved) && self.bare_infer(want).is_none() {
            self.relate().assign(ret, want);
        }
    }

    // Constructors.

    fn construct(&mut self, class: ClassId, name: &'a Name, site: CallSite<'a>) -> hir::Expr {
        if class == self.known.array {
            return self.new_array(site);
        }
        if class == self.known.bytes {
            return self.new_bytes(site);
        }
        let info = self.class(class);
        let (kind, constructor, first) = (info.kind, info.constructor, info.name.span);
        let problem = match kind {
            ClassKind::Interface => Some("an interface"),
            ClassKind::Class { is_abstract: true } => Some("abstract"),
            _ => None,
        };
        if let Some(what) = problem {
            let problem =
                Diagnostic::new(Code::AbstractInstance, name.span, format!("`{}` is {what}: it has no instances of its own", name.text));
            self.report(problem.secondary(first, "declared here").hint("make an instance of a class that extends it"));
        }
        let Some(constructor) = constructor else {
            if problem.is_none() {
                let problem = Diagnostic::new(Code::NotCallable, name.span, format!("`{}` has no constructor", name.text));
                let hint = match &*name.text {
                    "Str" => "write `\"${…}\"`, or `.toString()`",
                    "Int" => "write `.toInt()`, or `parseInt(…)` for text",
                    "Float" => "write `.toFloat()`, or `parseFloat(…)` for text",
                    _ => "write `true` or `false`, or a comparison",
                };
                self.report(problem.hint(hint));
            }
            return self.check_args_anyway(site);
        };
        let params = self.class(class).type_params.clone();
        let args = self.type_args(&params, &name.text, site);
        self.expect_bounds(params, args.clone(), None, site.span, format!("`{}`", name.text));
        let ty = self.types.class(class, &args);
        let (param_types, _) = self.ck.signature(constructor, class, &args, &[]);
        let args = self.args(&param_types, ty, site, &name.text, first);
        self.ck.reach_class(class);
        expr(ExprKind::New { args }, ty, site.span)
    }

    fn new_bytes(&mut self, site: CallSite<'a>) -> hir::Expr {
        if !site.type_args.is_empty() {
            self.error(Code::TypeArgumentCount, site.span, "`Bytes` takes no type arguments");
        }
        let bytes = self.known.bytes;
        let ty = self.types.class(bytes, &[]);
        let mut args = self.args(&[Ty::INT], ty, site, "Bytes", self.class(bytes).name.span);
        match args.pop() {
            Some(len) => expr(ExprKind::NewArray { len: Box::new(len), fill: None }, ty, site.span),
            None => error_expr(site.span),
        }
    }

    /// `Array<T>(n)`, `Array<T>(n, fill)`
    fn new_array(&mut self, site: CallSite<'a>) -> hir::Expr {
        let array = self.known.array;
        let params = self.class(array).type_params.clone();
        let element = self.type_args(&params, "Array", site);
        let Some(&element) = element.first() else { return error_expr(site.span) };
        let ty = self.types.class(array, &[element]);
        let wanted: &[Ty] = if site.args.len() == 1 { &[Ty::INT] } else { &[Ty::INT, element] };
        let mut args = self.args(wanted, ty, site, "Array", self.class(array).name.span).into_iter();
        let (len, fill) = (args.next(), args.next());
        let Some(len) = len else { return error_expr(site.span) };
        if fill.is_none() {
            self.expect_zero(element, site.span);
        }
        expr(ExprKind::NewArray { len: Box::new(len), fill: fill.map(Box::new) }, ty, site.span)
    }

    /// Elements of the type must have a zero value that is a proper value. Where the type is still to be inferred, that is checked once it is.
    pub fn expect_zero(&mut self, element: Ty, span: Span) {
        match self.kind_of(element) {
            TyKind::Int | TyKind::Float | TyKind::Bool | TyKind::Nullable(_) | TyKind::Error => {}
            TyKind::Infer(_) => self.pending_zeros.push((element, span)),
            _ => {
                let shown = self.show_ty(element);
                let problem = Diagnostic::new(Code::CannotInfer, span, format!("an `Array<{shown}>` needs a value to fill it with"));
                let hint = "only Int, Float, Bool and nullable elements start as zero: write `Array<T>(n, value)`, or use `tabulate`";
                self.report(problem.hint(hint));
            }
        }
    }
}
