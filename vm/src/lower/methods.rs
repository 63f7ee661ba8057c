//! Methods: what a name means on a concrete type, and who answers a virtual call.
//!
//! A *selector* is a method as first declared at the top of a class or interface hierarchy. Selectors and objects meet here: when a selector is called for the first time, every class instantiated so far
//! below its declaring class gets its function; when a class is instantiated, it gets the functions for every selector called so far. Either way the function instance is made then, and not before.

use super::Cx;
use super::classes::Origin;
use crate::sema::hir::{self, FunId, FunctionKind, Program};
use crate::sema::types::{Ty, TyKind};
use cranelift_entity::SecondaryMap;
use jit::ir::{self, ClassId, SelectorId};
use rustc_hash::FxHashMap;

/// A method's declaration and the class or interface instance that declares it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Method {
    pub fun: FunId,
    pub owner: Ty,
}

#[derive(Debug)]
pub(super) struct SelectorInfo<'a> {
    name: &'a str,
    pub ret: Ty,
    called: bool,
}

impl<'a> SelectorInfo<'a> {
    pub(super) fn new(name: &'a str, ret: Ty) -> Self {
        SelectorInfo { name, ret, called: false }
    }
}

/// A method's name without its class.
pub(super) fn simple_name(function: &hir::Function) -> &str {
    function.name.rsplit('.').next().unwrap_or(&function.name)
}

pub(super) fn method_table(program: &Program) -> FxHashMap<(hir::ClassId, &str), FunId> {
    let classes = program.classes.iter().enumerate();
    classes
        .flat_map(|(i, class)| {
            class.methods.iter().map(move |&f| ((hir::ClassId(i as u32), simple_name(&program.functions[f.index()])), f))
        })
        .collect()
}

impl<'a> Cx<'a> {
    fn declared(&self, ty: Ty, name: &'a str) -> Option<FunId> {
        let class = match *self.types.kind(ty) {
            TyKind::Class(class, _) => class,
            TyKind::Int => self.program.known.int,
            TyKind::Float => self.program.known.float,
            TyKind::Bool => self.program.known.bool,
            _ => return None,
        };
        self.method_table.get(&(class, name)).copied()
    }

    /// The method that an object of exactly type `ty` answers `name` with: its class's own or inherited one, or the most specific default of its interfaces.
    pub(super) fn find_method(&mut self, ty: Ty, name: &'a str) -> Option<Method> {
        if let Some(&found) = self.found_methods.get(&(ty, name)) {
            return found;
        }
        let mut defaults: Vec<Method> = Vec::new();
        let mut found = None;
        for owner in self.super_types(ty) {
            let Some(fun) = self.declared(owner, name) else { continue };
            if matches!(self.program.functions[fun.index()].kind, FunctionKind::Abstract) {
                continue;
            }
            if !self.is_interface(owner) {
                found = Some(Method { fun, owner });
                break;
            }
            defaults.push(Method { fun, owner });
        }
        if found.is_none() {
            found = self.most_specific(&defaults);
        }
        self.found_methods.insert((ty, name), found);
        found
    }

    fn most_specific(&mut self, defaults: &[Method]) -> Option<Method> {
        defaults.iter().copied().find(|a| {
            defaults.iter().all(|b| {
                let TyKind::Class(above, _) = *self.types.kind(a.owner) else { return true };
                a == b || self.as_super(b.owner, above) != Some(a.owner)
            })
        })
    }

    /// Where `name`, as seen from `ty`, is declared first: in the topmost class, else in the topmost interface.
    fn root(&mut self, ty: Ty, name: &'a str) -> Option<Method> {
        let mut above = self.super_types(ty);
        above.push(self.object_ty());
        let all = above.iter().filter_map(|&owner| self.declared(owner, name).map(|fun| Method { fun, owner })).collect::<Vec<_>>();
        // Superclasses stand bottom-up, interfaces before those they extend: the last one is at a top.
        all.iter().rev().find(|m| !self.is_interface(m.owner)).or(all.last()).copied()
    }

    /// The selector for calling `fun` on a receiver of type `receiver`.
    pub(super) fn selector(&mut self, receiver: Ty, fun: FunId) -> Option<SelectorId> {
        if let Some(&known) = self.called_selectors.get(&(receiver, fun)) {
            return Some(known);
        }
        let program = self.program;
        let root = self.root(receiver, simple_name(&program.functions[fun.index()]))?;
        let class = self.class_of(root.owner);
        let selector = match self.selector_ids.get(&(class, root.fun)) {
            Some(&selector) => selector,
            None => self.declare_selector(class, root),
        };
        self.called_selectors.insert((receiver, fun), selector);
        self.call_selector(selector);
        Some(selector)
    }

    fn declare_selector(&mut self, class: ClassId, root: Method) -> SelectorId {
        let program = self.program;
        let function = &program.functions[root.fun.index()];
        let subst = self.class_subst(root.owner);
        let params = std::iter::once(root.owner).chain(function.params.iter().copied());
        let params = params.map(|t| self.substitute(&subst, t)).collect::<Vec<_>>();
        let params = params.into_iter().map(|t| self.desc(t)).collect();
        let ret = self.substitute(&subst, function.ret);
        let ret_desc = self.ret_desc(ret);
        let name = simple_name(function);
        let selector = self.module.selectors.push(ir::Selector { name: name.into(), class, params, ret: ret_desc });
        self.selector_info.push(SelectorInfo::new(name, ret));
        self.selector_ids.insert((class, root.fun), selector);
        selector
    }

    pub(super) fn call_selector(&mut self, selector: SelectorId) {
        if std::mem::replace(&mut self.selector_info[selector].called, true) {
            return;
        }
        let class = self.module.selectors[selector].class;
        self.class_info[class].called.push(selector);
        for below in self.class_info[class].below.clone() {
            self.bind(below, selector);
        }
    }

    /// Gives an instantiated class the function that answers a called selector.
    pub(super) fn bind(&mut self, class: ClassId, selector: SelectorId) {
        let ty = match self.class_info[class].origin {
            Origin::Declared(ty) => ty,
            Origin::Closure { function_class, invoke } if self.module.selectors[selector].class == function_class => {
                self.module.classes[class].methods.insert(selector, invoke);
                return;
            }
            _ => self.object_ty(),
        };
        let name = self.selector_info[selector].name;
        let Some(method) = self.find_method(ty, name) else {
            let name = format!("{} has no method {name}", self.type_name(ty));
            return self.bug(self.blame, name);
        };
        let program = self.program;
        if matches!(program.functions[method.fun.index()].kind, FunctionKind::Unused) {
            return;
        }
        let function = self.function(method.fun, Some(method.owner), &[]);
        let function = self.bridge(function, selector);
        self.module.classes[class].methods.insert(selector, function);
    }

    /// Classes without instances list what they inherit, as the module's invariants have it. (Nothing is made for what they override: it cannot be called.)
    pub(super) fn inherit_methods(&mut self) {
        let mut done: SecondaryMap<ClassId, bool> = SecondaryMap::new();
        let classes = &mut self.module.classes;
        for start in classes.keys() {
            let chain: Vec<ClassId> = std::iter::successors(Some(start), |&c| classes[c].superclass).take_while(|&c| !done[c]).collect();
            for class in chain.into_iter().rev() {
                done[class] = true;
                let Some(superclass) = classes[class].superclass else { continue };
                if classes[class].kind == ir::ClassKind::Abstract {
                    for (selector, function) in classes[superclass].methods.clone() {
                        classes[class].methods.entry(selector).or_insert(function);
                    }
                }
            }
        }
    }
}
