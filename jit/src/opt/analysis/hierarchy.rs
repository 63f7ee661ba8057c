//! Which classes objects can be of, and which functions answer a virtual call: class hierarchy analysis (J. Dean, D. Grove, C. Chambers, "Optimization of Object-Oriented Programs Using Static Class Hierarchy Analysis", ECOOP 1995) on
//! the closed program, of the classes that are instantiated somewhere (D. Bacon, P. Sweeney, "Fast Static Analysis of C++ Virtual Function Calls", OOPSLA 1996).
//!
//! In: a module. Out: for each class its instantiated subclasses, for each selector its answers, and what flows where ([`TypeFlow`]).

use super::call_graph::for_each_op;
use super::classes::Classes;
use super::type_flow::TypeFlow;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

#[derive(Debug)]
pub struct Hierarchy {
    /// For each class or interface the classes at or below it that the program allocates, in order.
    concrete: SecondaryMap<ClassId, Vec<ClassId>>,
    flow: TypeFlow,
}

impl Hierarchy {
    pub fn new(module: &Module) -> Hierarchy {
        let instantiated = instantiated(module);
        let mut concrete: SecondaryMap<ClassId, Vec<ClassId>> = SecondaryMap::new();
        for (id, class) in module.classes.iter().filter(|(id, _)| instantiated.contains(*id)) {
            std::iter::successors(Some(id), |&c| module.classes[c].superclass).for_each(|c| concrete[c].push(id));
            class.interfaces.iter().for_each(|&i| concrete[i].push(id));
        }
        let mut hierarchy = Hierarchy { concrete, flow: TypeFlow::default() };
        hierarchy.flow = TypeFlow::new(module, &hierarchy);
        hierarchy
    }

    /// The classes an object of static type `class` can be of.
    pub fn concrete(&self, class: ClassId) -> &[ClassId] {
        &self.concrete[class]
    }

    /// The same for what is declared so.
    pub fn declared(&self, ty: TypeDesc) -> Classes {
        match ty {
            TypeDesc::Ref { class, .. } => Classes::of(self.concrete(class)),
            TypeDesc::AnyRef => Classes::Any,
            TypeDesc::Int | TypeDesc::Float | TypeDesc::Bool => Classes::default(),
        }
    }

    pub fn flow(&self) -> &TypeFlow {
        &self.flow
    }

    /// The functions that can answer `selector` on a receiver of one of `classes`, each with the classes it answers for; `None` where a class does not understand it (then the receiver's type says too little).
    pub fn targets(&self, module: &Module, selector: SelectorId, classes: &[ClassId]) -> Option<Vec<(FuncId, Vec<ClassId>)>> {
        let mut targets: Vec<(FuncId, Vec<ClassId>)> = Vec::new();
        for &class in classes {
            let func = *module.classes[class].methods.get(&selector)?;
            match targets.iter_mut().find(|t| t.0 == func) {
                Some(target) => target.1.push(class),
                None => targets.push((func, vec![class])),
            }
        }
        Some(targets)
    }
}

/// Classes that code or the runtime makes objects of.
fn instantiated(module: &Module) -> EntitySet<ClassId> {
    let mut found = EntitySet::with_capacity(module.classes.len());
    for func in module.funcs.values() {
        for_each_op(func, |op| {
            if let Op::New(class) | Op::NewArray(class, _) = *op {
                found.insert(class);
            }
        });
    }
    let Some(known) = &module.known else {
        // Nobody says which class texts are of.
        found.extend(module.classes.iter().filter(|(_, c)| c.kind == ClassKind::Array(ElemKind::Byte)).map(|(id, _)| id));
        return found;
    };
    let named = known.classes().into_iter().map(|(_, class)| class);
    found.extend(named.filter(|&c| !matches!(module.classes[c].kind, ClassKind::Abstract | ClassKind::Interface)));
    found
}
