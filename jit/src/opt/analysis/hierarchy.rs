//! Which classes objects can be of, and which functions answer a virtual call: class hierarchy analysis (J. Dean, D. Grove, C. Chambers, "Optimization of Object-Oriented Programs Using Static Class Hierarchy Analysis", ECOOP 1995) on
//! the closed program.
//!
//! In: a module. Out: for each class its instantiable subclasses, for each selector its answers.

use crate::ir::*;
use cranelift_entity::SecondaryMap;

#[derive(Debug)]
pub struct Hierarchy {
    /// For each class or interface the classes at or below it that the program allocates, in order.
    concrete: SecondaryMap<ClassId, Vec<ClassId>>,
}

impl Hierarchy {
    pub fn new(module: &Module) -> Hierarchy {
        let mut concrete: SecondaryMap<ClassId, Vec<ClassId>> = SecondaryMap::new();
        for (id, class) in module.classes.iter() {
            if matches!(class.kind, ClassKind::Abstract | ClassKind::Interface) {
                continue;
            }
            std::iter::successors(Some(id), |&c| module.classes[c].superclass).for_each(|c| concrete[c].push(id));
            class.interfaces.iter().for_each(|&i| concrete[i].push(id));
        }
        Hierarchy { concrete }
    }

    /// The classes an object of static type `class` can be of.
    pub fn concrete(&self, class: ClassId) -> &[ClassId] {
        &self.concrete[class]
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
