//! Inference variables and what they are bound to: greedy unification with undo.
//!
//! In: pairs of types that must be equal, or one assignable to the other. Out: bindings, read by `resolve` and, at the end of each statement, for good.
//! Invariant: a variable is bound at most once, never to a type that contains it; a failed attempt leaves no bindings behind.

use super::decls::Checker;
use super::hir::ClassId;
use super::types::{InferVar, Ty, TyKind, TypeParamId, Types};
use crate::source::Span;
use rustc_hash::FxHashSet;

/// Where a variable comes from, for the message when nothing decides it.
#[derive(Clone, Debug)]
pub struct Origin {
    pub span: Span,
    /// `type argument T of f`, `element type of this array`; `None` for a `null` literal, which may be of any nullable type.
    pub what: Option<String>,
}

#[derive(Default)]
pub struct Infer {
    bound: Vec<Option<Ty>>,
    origins: Vec<Origin>,
    /// Variables in the order in which they were bound, to undo.
    trail: Vec<InferVar>,
}

impl Infer {
    pub fn fresh(&mut self, types: &mut Types, span: Span, what: Option<String>) -> Ty {
        let var = InferVar(self.bound.len() as u32);
        self.bound.push(None);
        self.origins.push(Origin { span, what });
        types.intern(TyKind::Infer(var))
    }

    /// How many variables there are; those from here on are newer.
    pub fn mark(&self) -> usize {
        self.bound.len()
    }

    /// Variables made since `mark` that nothing has decided.
    pub fn undecided_since(&self, mark: usize) -> Vec<InferVar> {
        (mark..self.bound.len()).filter(|&i| self.bound[i].is_none()).map(|i| InferVar(i as u32)).collect()
    }

    pub fn is_undecided(&self, var: InferVar) -> bool {
        self.bound[var.0 as usize].is_none()
    }

    pub fn origin(&self, var: InferVar) -> &Origin {
        &self.origins[var.0 as usize]
    }

    pub fn bind(&mut self, var: InferVar, ty: Ty) {
        debug_assert!(self.bound[var.0 as usize].is_none());
        self.bound[var.0 as usize] = Some(ty);
        self.trail.push(var);
    }

    /// The type with bound variables replaced at its top only.
    pub fn shallow(&self, types: &mut Types, mut ty: Ty) -> Ty {
        loop {
            match *types.kind(ty) {
                TyKind::Infer(v) => match self.bound[v.0 as usize] {
                    Some(t) => ty = t,
                    None => return ty,
                },
                TyKind::Nullable(inner) if types.has_infer(inner) => {
                    let t = self.shallow(types, inner);
                    return types.nullable(t);
                }
                _ => return ty,
            }
        }
    }

    /// The type with all bound variables replaced.
    pub fn resolve(&self, types: &mut Types, mut ty: Ty) -> Ty {
        while types.has_infer(ty) {
            let next = types.substitute_infer(ty, &|v| self.bound[v.0 as usize]);
            if next == ty {
                break;
            }
            ty = next;
        }
        ty
    }

    /// Position to come back to with [`Self::undo_to`].
    pub fn snapshot(&self) -> usize {
        self.trail.len()
    }

    pub fn undo_to(&mut self, snapshot: usize) {
        for var in self.trail.drain(snapshot..) {
            self.bound[var.0 as usize] = None;
        }
    }
}

/// Relations between types, with inference. The methods bind variables; on failure they bind none.
pub struct Relate<'i, 'c, 'a> {
    pub checker: &'c mut Checker<'a>,
    pub infer: &'i mut Infer,
    /// Pairs found equal in this run (shared parts are compared once).
    equal: FxHashSet<(Ty, Ty)>,
}

impl<'i, 'c, 'a> Relate<'i, 'c, 'a> {
    pub fn new(checker: &'c mut Checker<'a>, infer: &'i mut Infer) -> Self {
        Relate { checker, infer, equal: FxHashSet::default() }
    }

    /// Makes the two equal.
    pub fn unify(&mut self, a: Ty, b: Ty) -> bool {
        self.attempt(|r| r.unify_parts(a, b))
    }

    /// Makes `from` assignable to `to`.
    pub fn assign(&mut self, from: Ty, to: Ty) -> bool {
        self.attempt(|r| r.assign_parts(from, to))
    }

    /// Binds what is undecided in a type to `Error`, so that nothing is reported for it: something near it was reported already.
    pub fn give_up(&mut self, ty: Ty) {
        let ty = self.infer.resolve(&mut self.checker.types, ty);
        let mut work = vec![ty];
        let mut seen = FxHashSet::default();
        while let Some(ty) = work.pop() {
            if !self.checker.types.has_infer(ty) || !seen.insert(ty) {
                continue;
            }
            match self.checker.kind(ty).clone() {
                TyKind::Infer(v) if self.infer.is_undecided(v) => self.infer.bind(v, Ty::ERROR),
                TyKind::Nullable(t) => work.push(t),
                TyKind::Class(_, args) => work.extend(args),
                TyKind::Fun(params, ret) => {
                    work.extend(params);
                    work.push(ret);
                }
                _ => {}
            }
        }
    }

    fn attempt(&mut self, relate: impl FnOnce(&mut Self) -> bool) -> bool {
        let snapshot = self.infer.snapshot();
        let ok = relate(self);
        if !ok {
            self.infer.undo_to(snapshot);
            self.equal.clear();
        }
        ok
    }

    fn shallow(&mut self, ty: Ty) -> Ty {
        self.infer.shallow(&mut self.checker.types, ty)
    }

    fn unify_parts(&mut self, a: Ty, b: Ty) -> bool {
        let (a, b) = (self.shallow(a), self.shallow(b));
        if a == b || self.equal.contains(&(a, b)) {
            return true;
        }
        if a == Ty::ERROR || b == Ty::ERROR {
            self.give_up(if a == Ty::ERROR { b } else { a });
            return true;
        }
        let ok = match (self.checker.kind(a).clone(), self.checker.kind(b).clone()) {
            (TyKind::Infer(v), TyKind::Infer(w)) => {
                let (newer, older) = if v.0 > w.0 { (v, b) } else { (w, a) };
                self.infer.bind(newer, older);
                true
            }
            (TyKind::Infer(v), _) => self.bind(v, b),
            (_, TyKind::Infer(v)) => self.bind(v, a),
            (TyKind::Nullable(s), TyKind::Nullable(t)) => self.unify_parts(s, t),
            (TyKind::Class(c, xs), TyKind::Class(d, ys)) => c == d && self.unify_all(&xs, &ys),
            (TyKind::Fun(ps, r), TyKind::Fun(qs, s)) => self.unify_all(&ps, &qs) && self.unify_parts(r, s),
            _ => false,
        };
        if ok {
            self.equal.insert((a, b));
        }
        ok
    }

    fn unify_all(&mut self, xs: &[Ty], ys: &[Ty]) -> bool {
        xs.len() == ys.len() && xs.iter().zip(ys).all(|(&x, &y)| self.unify_parts(x, y))
    }

    fn bind(&mut self, var: InferVar, ty: Ty) -> bool {
        if matches!(ty, Ty::NEVER | Ty::NULL) {
            return false;
        }
        let whole = self.infer.resolve(&mut self.checker.types, ty);
        if self.checker.types.has_infer(whole) && occurs(&self.checker.types, var, whole, &mut FxHashSet::default()) {
            return false;
        }
        self.infer.bind(var, whole);
        true
    }

    fn assign_parts(&mut self, from: Ty, to: Ty) -> bool {
        let (from, to) = (self.shallow(from), self.shallow(to));
        if from == to || from == Ty::NEVER {
            return true;
        }
        if from == Ty::ERROR || to == Ty::ERROR {
            return self.unify_parts(from, to);
        }
        match (self.checker.kind(from).clone(), self.checker.kind(to).clone()) {
            (TyKind::Null, TyKind::Nullable(_)) => true,
            (TyKind::Infer(_), _) | (_, TyKind::Infer(_)) => self.unify_parts(from, to),
            (TyKind::Nullable(s), TyKind::Nullable(t)) => self.assign_parts(s, t),
            (_, TyKind::Nullable(t)) => self.assign_parts(from, t),
            (TyKind::Class(c, args), TyKind::Class(d, wanted)) => self.assign_class(c, &args, d, &wanted),
            (TyKind::Fun(..), TyKind::Class(d, _)) => d == self.checker.known.object,
            (TyKind::Param(p), TyKind::Class(d, wanted)) => self.assign_param(p, d, &wanted),
            _ => self.unify_parts(from, to),
        }
    }

    fn assign_class(&mut self, c: ClassId, args: &[Ty], d: ClassId, wanted: &[Ty]) -> bool {
        if d == self.checker.known.object {
            return true;
        }
        match self.checker.as_super(c, args, d) {
            Some(found) => self.unify_all(&found, wanted),
            None => {
                let half_known = self.checker.class(c).half_known;
                wanted.iter().filter(|_| half_known).for_each(|&t| self.give_up(t));
                half_known
            }
        }
    }

    fn assign_param(&mut self, p: TypeParamId, d: ClassId, wanted: &[Ty]) -> bool {
        if !self.checker.is_reference_param(p) {
            return false;
        }
        if d == self.checker.known.object {
            return true;
        }
        self.checker.param_as_super(p, d).is_some_and(|found| self.unify_all(&found, wanted))
    }
}

fn occurs(types: &Types, var: InferVar, ty: Ty, seen: &mut FxHashSet<Ty>) -> bool {
    if !types.has_infer(ty) || !seen.insert(ty) {
        return false;
    }
    match types.kind(ty) {
        TyKind::Infer(v) => *v == var,
        TyKind::Nullable(t) => occurs(types, var, *t, seen),
        TyKind::Class(_, args) => args.iter().any(|&t| occurs(types, var, t, seen)),
        TyKind::Fun(params, ret) => params.iter().any(|&t| occurs(types, var, t, seen)) || occurs(types, var, *ret, seen),
        _ => false,
    }
}
