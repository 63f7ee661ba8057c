//! Expressions: the dispatch over their kinds, and the simple ones.

use super::calls::CallSite;
use super::members::Resolved;
use super::{Body, Ret, Want, error_expr, expr, stmt, unit_expr};
use crate::diag::{Code, Diagnostic};
use crate::sema::decls::{Owner, ValueName};
use crate::sema::flow::State;
use crate::sema::hir::{self, ExprKind, StmtKind};
use crate::sema::show::article;
use crate::sema::types::{Ty, TyKind};
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp, Name, StrPart, UnaryOp};

impl<'a> Body<'_, 'a> {
    /// Checks an expression. Its type is what it is by itself; `coerce` makes it fit its place.
    pub fn expr(&mut self, e: &'a ast::Expr, want: Want) -> hir::Expr {
        let checked = if self.enter(e.span) { self.expr_inner(e, want) } else { error_expr(e.span) };
        self.leave();
        if checked.ty == Ty::NEVER {
            self.state.dead = true;
        }
        checked
    }

    fn expr_inner(&mut self, e: &'a ast::Expr, want: Want) -> hir::Expr {
        let span = e.span;
        match &e.kind {
            ast::ExprKind::Int(n) => expr(ExprKind::Int(*n), Ty::INT, span),
            ast::ExprKind::Char(c) => expr(ExprKind::Int(i64::from(u32::from(*c))), Ty::INT, span),
            ast::ExprKind::Float(x) => expr(ExprKind::Float(*x), Ty::FLOAT, span),
            ast::ExprKind::Bool(b) => expr(ExprKind::Bool(*b), Ty::BOOL, span),
            ast::ExprKind::Null => expr(ExprKind::Null, Ty::NULL, span),
            ast::ExprKind::Str(parts) => self.string(parts, span),
            ast::ExprKind::Array(items) => self.array(items, want, span),
            ast::ExprKind::Name(name) => self.name(name, span),
            ast::ExprKind::This => match self.read_this(span) {
                Some(this) => this,
                None => self.no_this("this", span),
            },
            ast::ExprKind::Super => {
                self.error(Code::BadSuper, span, "`super` is only the receiver of a method call: `super.method(…)`");
                error_expr(span)
            }
            ast::ExprKind::Field { object, name, safe } => self.field(object, name, *safe, want, span),
            ast::ExprKind::Call { callee, type_args, args } => {
                let site = CallSite { type_args, args, want, span };
                self.call(callee, site)
            }
            ast::ExprKind::Index { object, index } => self.index(object, index, span),
            ast::ExprKind::Unary { op, op_span, operand } => self.unary(e, *op, *op_span, operand, span),
            ast::ExprKind::Binary { op, op_span, left, right } => match op {
                BinaryOp::And | BinaryOp::Or => self.cond_value(e),
                BinaryOp::Eq | BinaryOp::Ne | BinaryOp::RefEq | BinaryOp::RefNe => self.equality(*op, *op_span, left, right, span),
                BinaryOp::Elvis => self.elvis(left, right, want, span),
                _ => {
                    let left = self.expr(left, Want::Any);
                    let right = self.expr(right, Want::Any);
                    self.arithmetic(*op, left, right, *op_span, span)
                }
            },
            ast::ExprKind::Cast { value, ty, safe } => self.cast(value, ty, *safe, span),
            ast::ExprKind::Is { .. } => self.cond_value(e),
            ast::ExprKind::Range { start, end, inclusive } => self.range(start, end, *inclusive, span),
            ast::ExprKind::If { cond, then, els } => self.if_expr(cond, then, els.as_deref(), want, span),
            ast::ExprKind::Match { subject, arms } => self.match_expr(subject, arms, want, span),
            ast::ExprKind::Try { body, catches, finally } => self.try_expr(body, catches, finally.as_ref(), want, span),
            ast::ExprKind::Lambda { params, ret, body } => self.lambda(params, ret.as_ref(), body, want, span),
            ast::ExprKind::Return(value) => self.return_expr(value.as_deref(), span),
            ast::ExprKind::Throw(value) => self.throw(value, span),
            ast::ExprKind::Break => self.jump(true, span),
            ast::ExprKind::Continue => self.jump(false, span),
            ast::ExprKind::Error => error_expr(span),
        }
    }

    fn no_this(&mut self, what: &str, span: Span) -> hir::Expr {
        let message = match self.owner {
            Owner::Class(_) if self.before_this => {
                format!("there is no `{what}` yet: the base class's arguments are evaluated before the object is built")
            }
            _ => format!("`{what}` is only known inside the methods of a class"),
        };
        self.error(Code::NoThis, span, message);
        error_expr(span)
    }

    // Names.

    fn name(&mut self, name: &'a Name, span: Span) -> hir::Expr {
        if let Some(var) = self.lookup_var(&name.text) {
            return self.read_var(var, span);
        }
        match self.resolve_name(name) {
            None => error_expr(span),
            Some(Resolved::Member(found)) => match self.read_this(span) {
                Some(this) => self.read_found(this, found, name, span),
                None => error_expr(span),
            },
            Some(Resolved::Value(value)) => self.read_value(value, name),
            Some(Resolved::Class(_)) => {
                let problem = Diagnostic::new(Code::NotAValue, span, format!("`{}` is a class, not a value", name.text));
                self.report(problem.hint(format!("`{}(…)` makes an instance of it", name.text)));
                error_expr(span)
            }
        }
    }

    pub fn read_value(&mut self, value: ValueName, name: &'a Name) -> hir::Expr {
        match value {
            ValueName::Global(global) => {
                let ty = self.ck.global_ty(global);
                expr(ExprKind::Global(global), ty, name.span)
            }
            ValueName::Fun(fun) => {
                let site = CallSite { type_args: &[], args: &[], want: Want::Any, span: name.span };
                let (type_args, own) = self.own_type_args(fun, None, site);
                let (params, ret) = self.ck.free_signature(fun, &own);
                self.ck.reach_fun(fun);
                let ty = self.types.fun(&params, ret);
                expr(ExprKind::FunRef { fun, type_args }, ty, name.span)
            }
            ValueName::Object(_) => {
                let problem =
                    Diagnostic::new(Code::NotAValue, name.span, format!("`{}` is an object, a namespace, not a value", name.text));
                self.report(problem.hint(format!("reach its members: `{}.name`", name.text)));
                error_expr(name.span)
            }
        }
    }

    // Literals.

    fn string(&mut self, parts: &'a [StrPart], span: Span) -> hir::Expr {
        let str = self.str_ty();
        let mut out = Vec::new();
        for part in parts {
            match part {
                StrPart::Text(text) => out.push(expr(ExprKind::Str(text.clone()), str, span)),
                StrPart::Expr(e) => {
                    let part = self.expr(e, Want::Any);
                    out.push(self.plain_null(part));
                }
            }
        }
        match &mut out[..] {
            [] => expr(ExprKind::Str("".into()), str, span),
            [expr_] if matches!(expr_.kind, ExprKind::Str(_)) => out.remove(0),
            _ => expr(ExprKind::Concat(out), str, span),
        }
    }

    fn array(&mut self, items: &'a [ast::Expr], want: Want, span: Span) -> hir::Expr {
        let element = self.fresh(span, "element type of this array");
        let array = self.known.array;
        let ty = self.types.class(array, &[element]);
        if let Want::Type(want) = want {
            self.hint_result(ty, want);
        }
        if self.bare_infer(element).is_none() {
            let items = items.iter().map(|item| self.value(item, element)).collect();
            return expr(ExprKind::ArrayLit(items), ty, span);
        }
        let items: Vec<hir::Expr> = items.iter().map(|item| self.expr(item, Want::Any)).collect();
        let types: Vec<_> = items.iter().map(|item| (item.ty, item.span)).collect();
        let joined = self.join_all(&types).unwrap_or_else(|clash| {
            let (a, b) = (self.show_ty(clash.joined), self.show_ty(clash.ty));
            let problem = Diagnostic::new(Code::TypeMismatch, clash.span, format!("the elements have no common type: `{a}` and `{b}`"));
            self.report(problem.hint("write the array's type where it is stored: `let name: Array<Type> = …`"));
            Ty::ERROR
        });
        if !matches!(joined, Ty::NEVER | Ty::NULL) {
            self.relate().unify(element, joined);
        }
        let items = items.into_iter().map(|item| self.coerce(item, element)).collect();
        expr(ExprKind::ArrayLit(items), ty, span)
    }

    fn range(&mut self, start: &'a ast::Expr, end: &'a ast::Expr, inclusive: bool, span: Span) -> hir::Expr {
        let start = self.value(start, Ty::INT);
        let end = self.value(end, Ty::INT);
        let range = self.known.range;
        let ty = self.types.class(range, &[]);
        self.ck.reach_class(range);
        let args = vec![start, end, expr(ExprKind::Bool(inclusive), Ty::BOOL, span)];
        expr(ExprKind::New { args }, ty, span)
    }

    // Members.

    fn field(&mut self, object: &'a ast::Expr, name: &'a Name, safe: bool, want: Want, span: Span) -> hir::Expr {
        if matches!(object.kind, ast::ExprKind::Super) {
            self.error(Code::BadSuper, span, "`super` is only for calls of methods: there is one field of a name, reached by `this`");
            return error_expr(span);
        }
        match self.namespace_member(object, name) {
            Some(Some(value)) => {
                let mut e = self.read_value(value, name);
                e.span = span;
                return e;
            }
            Some(None) => return error_expr(span),
            None => {}
        }
        let receiver = self.expr(object, Want::Any);
        if safe {
            return self.safe_access(receiver, want, span, |b, receiver, _| b.read_member(receiver, name, span));
        }
        self.read_member(receiver, name, span)
    }

    /// `receiver?.…`: null where the receiver is.
    pub fn safe_access(
        &mut self,
        receiver: hir::Expr,
        want: Want,
        span: Span,
        access: impl FnOnce(&mut Self, hir::Expr, Want) -> hir::Expr,
    ) -> hir::Expr {
        let at = receiver.span;
        let Some(inner) = self.where_not_null(&receiver) else {
            self.check_nullable(&receiver, "?.");
            return access(self, receiver, want);
        };
        let mut stmts = Vec::new();
        let nullable = receiver.ty;
        let held = self.temp(receiver, &mut stmts);
        let read = |ty| expr(ExprKind::Local(held), ty, at);
        let test = self.null_test(read(nullable), true, at);
        let before = self.state.clone();
        let inner = expr(ExprKind::Convert(Box::new(read(nullable))), inner, at);
        let found = access(self, inner, if want == Want::Unused { want } else { Want::Any });
        let after = std::mem::take(&mut self.state);
        self.state = self.join_states(before, after);
        let found_ty = self.shallow(found.ty);
        if want == Want::Unused {
            let then = hir::Block { stmts: vec![stmt(StmtKind::Expr(found), span)], value: None };
            return block_expr(stmts, expr(ExprKind::If { cond: Box::new(test), then, els: None }, Ty::UNIT, span));
        }
        // Of what never returns, null is all that can be seen.
        let ty = self.types.nullable(found_ty);
        let found = self.coerce(found, ty);
        let then = self.expr_block(found, Want::Any).0;
        let els = Some(hir::Block { stmts: Vec::new(), value: Some(Box::new(expr(ExprKind::Null, ty, span))) });
        block_expr(stmts, expr(ExprKind::If { cond: Box::new(test), then, els }, ty, span))
    }

    /// The type that the value has where it is not null; `None`: it never is. A field or a global of a type without null is null until its initializer has run.
    fn where_not_null(&mut self, e: &hir::Expr) -> Option<Ty> {
        if let Some(inner) = self.without_null(e.ty) {
            return Some(inner);
        }
        let ty = self.shallow(e.ty);
        let may_be_early = matches!(e.kind, ExprKind::Field { .. } | ExprKind::Global(_));
        let may_be_reference = matches!(self.kind_of(ty), TyKind::Class(..) | TyKind::Fun(..) | TyKind::Param(_));
        (may_be_early && may_be_reference).then_some(ty)
    }

    /// `e != null` (`negated`) or `e == null`.
    pub fn null_test(&mut self, e: hir::Expr, negated: bool, span: Span) -> hir::Expr {
        let ty = self.types.nullable(e.ty);
        let e = self.coerce(e, ty);
        let null = expr(ExprKind::Null, ty, span);
        expr(ExprKind::Same { left: Box::new(e), right: Box::new(null), negated }, Ty::BOOL, span)
    }

    /// Reports a null test on what is never null: a number. (References may be null before their field is initialized.)
    pub fn check_nullable(&mut self, e: &hir::Expr, what: &str) {
        let ty = self.shallow(e.ty);
        let narrowed = matches!(e.kind, ExprKind::Convert(_));
        if !narrowed && matches!(self.kind_of(ty), TyKind::Int | TyKind::Float | TyKind::Bool | TyKind::Unit) {
            let shown = self.show_ty(ty);
            self.error(
                Code::UselessSafe,
                e.span,
                format!("`{what}` is of no use here: {a_shown} is never null", a_shown = article(&shown)),
            );
        }
    }

    fn elvis(&mut self, left: &'a ast::Expr, right: &'a ast::Expr, want: Want, span: Span) -> hir::Expr {
        let hint = match want {
            Want::Type(t) => Want::Type(self.types.nullable(t)),
            _ => Want::Any,
        };
        let subject = self.named_var(left);
        let l = self.expr(left, hint);
        let l_ty = self.shallow(l.ty);
        if l_ty == Ty::NULL {
            let r = self.expr(right, want);
            return self.in_order(l, r);
        }
        let Some(inner) = self.where_not_null(&l) else {
            self.check_nullable(&l, "?:");
            let before = self.state.clone();
            self.expr(right, want);
            self.state = before;
            return l;
        };
        let mut stmts = Vec::new();
        let at = l.span;
        let held = self.temp(l, &mut stmts);
        let test = self.null_test(expr(ExprKind::Local(held), l_ty, at), true, at);
        let mut present = self.state.clone();
        if let Some(var) = subject {
            self.narrow_non_null(&mut present, var);
        }
        let r_want = match want {
            // It has a left side of its own to go by, and may be null.
            Want::Any if matches!(right.kind, ast::ExprKind::Binary { op: ast::BinaryOp::Elvis, .. }) => Want::Any,
            Want::Type(t) if self.bare_infer(t).is_some() => Want::Type(inner),
            Want::Any => Want::Type(inner),
            want => want,
        };
        let r = self.expr(right, r_want);
        let absent = std::mem::take(&mut self.state);
        self.state = self.join_states(present, absent);
        if want == Want::Unused {
            let r = self.plain_null(r);
            let els = hir::Block { stmts: vec![stmt(StmtKind::Expr(r), span)], value: None };
            let present = hir::Block { stmts: Vec::new(), value: None };
            return block_expr(stmts, expr(ExprKind::If { cond: Box::new(test), then: present, els: Some(els) }, Ty::UNIT, span));
        }
        let value = expr(ExprKind::Convert(Box::new(expr(ExprKind::Local(held), l_ty, at))), inner, at);
        let ty = match want {
            Want::Type(t) if self.bare_infer(t).is_none() => t,
            _ => match self.join_types(inner, r.ty) {
                Some(ty) => ty,
                None => {
                    let (a, b) = (self.show_ty(inner), self.show_ty(r.ty));
                    self.error(Code::TypeMismatch, r.span, format!("the two sides of `?:` have no common type: `{a}` and `{b}`"));
                    return error_expr(span);
                }
            },
        };
        let value = self.coerce(value, ty);
        let r = self.coerce(r, ty);
        let then = hir::Block { stmts: Vec::new(), value: Some(Box::new(value)) };
        let r_span = r.span;
        let els = match r.ty {
            Ty::NEVER => hir::Block { stmts: vec![stmt(StmtKind::Expr(r), r_span)], value: None },
            _ => hir::Block { stmts: Vec::new(), value: Some(Box::new(r)) },
        };
        let choice = expr(ExprKind::If { cond: Box::new(test), then, els: Some(els) }, ty, span);
        block_expr(stmts, choice)
    }

    /// The second value, after the first one has been evaluated.
    pub fn in_order(&mut self, first: hir::Expr, second: hir::Expr) -> hir::Expr {
        if matches!(first.kind, ExprKind::Null) {
            return second;
        }
        let (first, at) = (self.plain_null(first), second.span);
        block_expr(vec![stmt(StmtKind::Expr(first), at)], second)
    }

    // Casts.

    fn cast(&mut self, value: &'a ast::Expr, written: &'a ast::TypeExpr, safe: bool, span: Span) -> hir::Expr {
        let subject = self.named_var(value);
        let value = self.expr(value, Want::Any);
        let target = self.ck.resolve_type(&self.ty_scope, written);
        self.settle_written();
        if target == Ty::ERROR || self.shallow(value.ty) == Ty::ERROR {
            return error_expr(span);
        }
        let result = if safe { self.types.nullable(target) } else { target };
        if self.relate().assign(value.ty, target) {
            let mut e = self.coerce(value, result);
            e.span = span;
            return e;
        }
        self.check_testable(value.ty, target, written.span, if safe { "as?" } else { "as" });
        let value = self.plain_null(value);
        if let Some(var) = subject.filter(|_| !safe) {
            let mut state = std::mem::take(&mut self.state);
            self.narrow_to(&mut state, var, target);
            self.state = state;
        }
        expr(ExprKind::Cast { value: Box::new(value), safe }, result, span)
    }

    fn settle_written(&mut self) {
        if !self.written.is_empty() {
            self.ck.check_written_types();
        }
    }

    /// `x!!`
    pub fn non_null_assert(&mut self, operand: &'a ast::Expr, span: Span) -> hir::Expr {
        let subject = self.named_var(operand);
        let e = self.expr(operand, Want::Any);
        let ty = self.shallow(e.ty);
        if ty == Ty::NULL {
            self.error(Code::MaybeNull, span, "`null!!` always fails");
            return error_expr(span);
        }
        let Some(inner) = self.non_null(ty) else {
            self.check_nullable(&e, "!!");
            let keep = !self.is_reference(ty) && !matches!(self.kind_of(ty), TyKind::Param(_));
            return if keep || ty == Ty::ERROR { e } else { expr(ExprKind::NonNull(Box::new(e)), ty, span) };
        };
        if let Some(var) = subject {
            self.narrow_here(var, inner);
        }
        expr(ExprKind::NonNull(Box::new(e)), inner, span)
    }

    fn unary(&mut self, whole: &'a ast::Expr, op: UnaryOp, op_span: Span, operand: &'a ast::Expr, span: Span) -> hir::Expr {
        match op {
            UnaryOp::NonNull => self.non_null_assert(operand, span),
            UnaryOp::Not => self.cond_value(whole),
            UnaryOp::Neg | UnaryOp::BitNot => {
                let e = self.expr(operand, Want::Any);
                self.negate(op, op_span, e, span)
            }
        }
    }

    // Jumps.

    fn return_expr(&mut self, value: Option<&'a ast::Expr>, span: Span) -> hir::Expr {
        let ret = std::mem::replace(&mut self.frame().ret, Ret::None);
        let (value, ret) = self.returned(value, ret, span);
        self.frame().ret = ret;
        if !self.frame().finally.is_empty() {
            self.error(Code::LeavesFinally, span, "`return` would leave `finally`");
        }
        expr(ExprKind::Return(value.map(Box::new)), Ty::NEVER, span)
    }

    fn returned(&mut self, value: Option<&'a ast::Expr>, ret: Ret, span: Span) -> (Option<hir::Expr>, Ret) {
        match (ret, value) {
            (Ret::None, value) => {
                self.error(Code::ReturnOutside, span, "`return` is only for the bodies of functions and closures");
                (value.map(|e| self.expr(e, Want::Any)), Ret::None)
            }
            (Ret::Inferring, value) => {
                let problem =
                    Diagnostic::new(Code::CannotInfer, span, "a function with `return` in an expression body needs its result type");
                self.report(problem.hint("write it after the parameters: `fun name(…): Type = …`"));
                (value.map(|e| self.expr(e, Want::Any)), Ret::Inferring)
            }
            (Ret::Collect(found), value) => self.collect_return(value, found, span),
            (Ret::Known(ty), None) => {
                if !matches!(self.shallow(ty), Ty::UNIT | Ty::ERROR) {
                    let shown = self.show_ty(ty);
                    self.error(Code::NoReturnValue, span, format!("this `return` needs a value, {a_shown}", a_shown = article(&shown)));
                }
                (None, Ret::Known(ty))
            }
            (Ret::Known(ty), Some(e)) => {
                self.frame().ret = Ret::Known(ty);
                if self.shallow(ty) == Ty::UNIT {
                    let gives_nothing = matches!(e.kind, ast::ExprKind::If { els: None, .. });
                    let value = self.expr(e, if gives_nothing { Want::Type(Ty::UNIT) } else { Want::Any });
                    if !matches!(self.shallow(value.ty), Ty::UNIT | Ty::NEVER | Ty::ERROR) {
                        let problem =
                            Diagnostic::new(Code::NoReturnValue, e.span, "this function gives no value, and so takes none from `return`");
                        self.report(problem.hint("write the result type after the parameters: `fun name(…): Type`"));
                    }
                    return (Some(value), Ret::Known(ty));
                }
                (Some(self.value(e, ty)), Ret::Known(ty))
            }
        }
    }

    fn collect_return(&mut self, value: Option<&'a ast::Expr>, found: Vec<(Ty, Span)>, span: Span) -> (Option<hir::Expr>, Ret) {
        // The operand may itself contain a `return`.
        self.frame().ret = Ret::Collect(found);
        let value = match value {
            Some(e) => {
                let ret_ty = self.frame().ret_ty;
                self.expr(e, Want::Type(ret_ty))
            }
            None => unit_expr(span),
        };
        let Ret::Collect(mut found) = std::mem::replace(&mut self.frame().ret, Ret::None) else { return (None, Ret::None) };
        found.push((value.ty, span));
        let ret_ty = self.frame().ret_ty;
        let value = if value.ty == Ty::NEVER { value } else { expr(ExprKind::Convert(Box::new(value)), ret_ty, span) };
        (Some(value), Ret::Collect(found))
    }

    fn throw(&mut self, value: &'a ast::Expr, span: Span) -> hir::Expr {
        let e = self.expr(value, Want::Any);
        let error = self.known.error;
        let wanted = self.types.class(error, &[]);
        let ty = self.shallow(e.ty);
        if let Some(inner) = self.non_null(ty)
            && self.relate().assign(inner, wanted)
        {
            let shown = article(&self.show_ty(ty));
            let test = self.null_test_hint(&e);
            let problem =
                Diagnostic::new(Code::MaybeNull, e.span, format!("this is {shown}, which may be null, and `throw` needs a value"));
            self.report(problem.hint(format!("{test}, give another value by `?: …`, or insist with `!!`")));
        } else if !self.relate().assign(ty, wanted) {
            let shown = self.show_ty(ty);
            let str = self.str_ty();
            let problem = Diagnostic::new(
                Code::NotAnError,
                e.span,
                format!("{a_shown} cannot be thrown: it is no `Error`", a_shown = article(&shown)),
            );
            let hint = if ty == str { "write `throw Error(…)`" } else { "only `Error` and classes that extend it can be thrown" };
            self.report(problem.hint(hint));
        }
        let e = self.plain_null(e);
        expr(ExprKind::Throw(Box::new(e)), Ty::NEVER, span)
    }

    /// The state in which a `break` arrives: every `finally` on the way may have assigned.
    fn state_at_jump(&mut self) -> State {
        let loops = self.frame().loops.len();
        let on_the_way: Vec<Span> = self.frame().guarded.iter().filter(|g| g.0 >= loops).map(|g| g.1).collect();
        let here = self.state.clone();
        on_the_way.into_iter().for_each(|finally| self.widen(finally));
        std::mem::replace(&mut self.state, here)
    }

    fn jump(&mut self, is_break: bool, span: Span) -> hir::Expr {
        let name = if is_break { "break" } else { "continue" };
        let state = self.state_at_jump();
        let frame = self.frame();
        let outside = frame.finally.last().is_some_and(|&loops| frame.loops.len() <= loops);
        if frame.loops.is_empty() {
            self.error(Code::NotInLoop, span, format!("`{name}` is only for the bodies of loops"));
        } else if outside {
            self.error(Code::LeavesFinally, span, format!("`{name}` would leave `finally`"));
        } else if is_break {
            let before = self.frame().loops.last_mut().map(|l| std::mem::take(&mut l.breaks));
            let joined = before.map(|before| self.join_states(before, state));
            if let (Some(l), Some(joined)) = (self.frame().loops.last_mut(), joined) {
                l.breaks = joined;
            }
        }
        expr(if is_break { ExprKind::Break } else { ExprKind::Continue }, Ty::NEVER, span)
    }
}

/// Statements before an expression, as one expression.
pub fn block_expr(stmts: Vec<hir::Stmt>, value: hir::Expr) -> hir::Expr {
    let (ty, span) = (value.ty, value.span);
    let block = match ty {
        Ty::NEVER | Ty::UNIT => {
            let mut stmts = stmts;
            stmts.push(stmt(StmtKind::Expr(value), span));
            hir::Block { stmts, value: if ty == Ty::UNIT { Some(Box::new(unit_expr(span))) } else { None } }
        }
        _ => hir::Block { stmts, value: Some(Box::new(value)) },
    };
    expr(ExprKind::Block(block), ty, span)
}
