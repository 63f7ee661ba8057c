//! Questions about the class hierarchy: supertypes with their arguments, members by name, bounds.
//!
//! In: resolved declarations (an acyclic hierarchy). Out: answers in terms of the type that was asked about.
//! A class's own or inherited method goes before an interface's; of several interface methods the one of the most derived interface.

use super::decls::{Checker, Member, Slot, substitute};
use super::hir::{ClassId, ClassKind, FunId};
use super::types::{Ty, TyKind, TypeParamId};
use rustc_hash::FxHashSet;

/// A member with the type (a `Class`, or for methods of primitives the primitive) whose declaration it stands in.
#[derive(Clone, Debug)]
pub struct Found {
    pub member: Member,
    pub class: ClassId,
    /// Arguments of `class`, seen from the type that was asked.
    pub args: Box<[Ty]>,
}

impl<'a> Checker<'a> {
    pub fn class_parts(&self, ty: Ty) -> Option<(ClassId, Box<[Ty]>)> {
        match self.kind(ty) {
            TyKind::Class(c, args) => Some((*c, args.clone())),
            _ => None,
        }
    }

    /// The direct base class, instantiated. `Object` for interfaces and for classes without another.
    pub fn base_of(&mut self, class: ClassId, args: &[Ty]) -> Option<(ClassId, Box<[Ty]>)> {
        let base = self.class(class).base?;
        let base = self.instantiate(base, class, args);
        self.class_parts(base)
    }

    fn interfaces_of(&mut self, class: ClassId, args: &[Ty]) -> Vec<(ClassId, Box<[Ty]>)> {
        let declared = self.class(class).interfaces.clone();
        declared
            .into_iter()
            .filter_map(|i| {
                let i = self.instantiate(i, class, args);
                self.class_parts(i)
            })
            .collect()
    }

    /// The arguments with which `class<args>` is a `target`; `None` if it is none. Every class and interface is an `Object`.
    pub fn as_super(&mut self, class: ClassId, args: &[Ty], target: ClassId) -> Option<Box<[Ty]>> {
        if class == target {
            return Some(args.into());
        }
        if !self.is_subclass(class, target) {
            return (target == self.known.object && self.class(class).kind != ClassKind::Primitive).then(Box::default);
        }
        let base = self.base_of(class, args);
        let supers = base.into_iter().chain(self.interfaces_of(class, args)).collect::<Vec<_>>();
        supers.into_iter().find_map(|(c, a)| self.as_super(c, &a, target))
    }

    pub fn is_subclass(&self, class: ClassId, of: ClassId) -> bool {
        class == of || self.class(class).above.binary_search(&of).is_ok()
    }

    /// Whether the type's class may have any member and be anything, for all that is known of what is above it.
    pub fn is_half_known(&self, ty: Ty) -> bool {
        match *self.kind(ty) {
            TyKind::Class(class, _) => self.class(class).half_known,
            TyKind::Nullable(t) => self.is_half_known(t),
            _ => false,
        }
    }

    /// Finds a member by name: own and inherited ones, then interfaces', then `Object`'s.
    pub fn find_member(&mut self, class: ClassId, args: &[Ty], name: &str) -> Option<Found> {
        let mut chain: Vec<(ClassId, Box<[Ty]>)> = Vec::new();
        let mut next = Some((class, Box::<[Ty]>::from(args)));
        while let Some((c, a)) = next {
            if let Some(&member) = self.class(c).members.get(name) {
                return Some(Found { member, class: c, args: a });
            }
            next = self.base_of(c, &a);
            chain.push((c, a));
        }
        let candidates = self.interface_members(&chain, name);
        if let Some(best) = self.most_derived(&candidates).into_iter().next() {
            return Some(best);
        }
        let object = self.known.object;
        if self.class(class).kind == ClassKind::Primitive {
            return None;
        }
        self.class(object).members.get(name).map(|&member| Found { member, class: object, args: Box::default() })
    }

    /// Members of that name in all interfaces of the classes, each interface once.
    pub fn interface_members(&mut self, classes: &[(ClassId, Box<[Ty]>)], name: &str) -> Vec<Found> {
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        let mut work: Vec<(ClassId, Box<[Ty]>)> = Vec::new();
        for (class, args) in classes {
            work.extend(self.interfaces_of(*class, args));
        }
        work.reverse();
        while let Some((class, args)) = work.pop() {
            if !seen.insert(class) {
                continue;
            }
            if let Some(&member) = self.class(class).members.get(name) {
                found.push(Found { member, class, args: args.clone() });
            }
            work.extend(self.interfaces_of(class, &args));
        }
        found
    }

    /// Those that no other one of the list is derived from.
    pub fn most_derived(&self, candidates: &[Found]) -> Vec<Found> {
        let hidden = |c: &Found| candidates.iter().any(|d| d.class != c.class && self.is_subclass(d.class, c.class));
        candidates.iter().filter(|c| !hidden(c)).cloned().collect()
    }

    /// Names of all members of a class, for suggestions.
    pub fn member_names(&self, class: ClassId, library: bool) -> Vec<&'a str> {
        let classes = self.class(class).above.iter().copied().chain([class, self.known.object]);
        let names = classes.flat_map(|c| self.class(c).members.keys().copied());
        names.filter(|n| library || !n.starts_with("__")).collect()
    }

    /// Whether every type that can stand for the parameter is a reference: it has a bound that no primitive meets.
    pub fn is_reference_param(&self, param: TypeParamId) -> bool {
        let primitive = |class: ClassId| [self.known.int, self.known.float, self.known.bool].iter().any(|&p| self.is_subclass(p, class));
        self.type_params[param.0 as usize].bounds.iter().any(|&b| matches!(self.kind(b), TyKind::Class(c, _) if !primitive(*c)))
    }

    /// The arguments with which one of the parameter's bounds is a `target`.
    pub fn param_as_super(&mut self, param: TypeParamId, target: ClassId) -> Option<Box<[Ty]>> {
        let bounds = self.type_params[param.0 as usize].bounds.clone();
        bounds.into_iter().find_map(|b| {
            let (c, args) = self.class_parts(b)?;
            self.as_super(c, &args, target)
        })
    }

    /// A member of a type parameter: of its bounds, or of `Object`. Of numbers and null, for which the parameter may stand, nothing can be asked by `equals`: that takes an `Object?`.
    pub fn find_param_member(&mut self, param: TypeParamId, name: &str) -> Option<Found> {
        let bounds = self.type_params[param.0 as usize].bounds.clone();
        let parts: Vec<_> = bounds.into_iter().filter_map(|b| self.class_parts(b)).collect();
        let object = self.known.object;
        let found = parts.into_iter().chain([(object, Box::default())]).find_map(|(c, args)| self.find_member(c, &args, name))?;
        let needs_object = name == "equals" && found.class == object;
        (!needs_object || self.is_reference_param(param)).then_some(found)
    }

    /// Whether `ty` (without inference variables) may stand for a parameter with this bound.
    pub fn meets(&mut self, ty: Ty, bound: Ty) -> bool {
        let Some((target, wanted)) = self.class_parts(bound) else { return true };
        let found = match self.kind(ty).clone() {
            TyKind::Error | TyKind::Never => return true,
            TyKind::Param(p) => self.param_as_super(p, target),
            TyKind::Nullable(_) | TyKind::Null | TyKind::Unit | TyKind::Infer(_) => None,
            TyKind::Fun(..) => (target == self.known.object).then(Box::default),
            _ => self.class_of(ty).and_then(|(c, args)| self.as_super(c, &args, target)),
        };
        found.map_or_else(|| self.is_half_known(ty), |found| found == wanted)
    }

    /// A function's parameters and result as seen from `class<args>` (the owner of a method), and with its own type parameters replaced. The result may have to
    /// be inferred first.
    pub fn signature(&mut self, fun: FunId, class: ClassId, args: &[Ty], own_args: &[Ty]) -> (Vec<Ty>, Ty) {
        let ret = self.ret_of(fun);
        let params: Vec<TypeParamId> = self.class(class).type_params.iter().chain(&self.fun(fun).type_params).copied().collect();
        let all_args: Vec<Ty> = args.iter().chain(own_args).copied().collect();
        self.replace_params(fun, ret, &params, &all_args)
    }

    /// The same for a function that is no method.
    pub fn free_signature(&mut self, fun: FunId, own_args: &[Ty]) -> (Vec<Ty>, Ty) {
        let ret = self.ret_of(fun);
        let params = self.fun(fun).type_params.clone();
        self.replace_params(fun, ret, &params, own_args)
    }

    fn replace_params(&mut self, fun: FunId, ret: Ty, params: &[TypeParamId], args: &[Ty]) -> (Vec<Ty>, Ty) {
        let types = self.fun(fun).params.clone();
        let types = types.into_iter().map(|p| substitute(&mut self.types, p, params, args)).collect();
        (types, substitute(&mut self.types, ret, params, args))
    }

    /// A function's result type, inferred from its body where it has none.
    pub fn ret_of(&mut self, fun: FunId) -> Ty {
        match self.fun(fun).ret {
            Slot::Known(ty) => ty,
            Slot::Unknown => {
                self.check_function(fun);
                match self.fun(fun).ret {
                    Slot::Known(ty) => ty,
                    _ => Ty::ERROR,
                }
            }
            Slot::InProgress => self.recursive_inference(fun),
        }
    }
}
