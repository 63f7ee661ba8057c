//! Which classes' objects get into each field, global, array, parameter and result anywhere in the program: one set for each, as in F. Tip, J. Palsberg, "Scalable Propagation-Based Call Graph Construction Algorithms", OOPSLA 2000
//! (section 3.3), but with the values of a function kept apart.
//!
//! In: a closed module as lowered. Out: [`TypeFlow`], true of the program however its code is changed later.
//! Invariant: what the runtime stores and passes is in the sets from the start. A fixpoint over all functions; where it takes long, nothing is known.

use super::classes::Classes;
use super::hierarchy::Hierarchy;
use super::types::Types;
use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// Times the whole program is looked at.
const ROUNDS: usize = 32;

#[derive(Default, Debug)]
pub struct TypeFlow {
    fields: SecondaryMap<FieldId, Classes>,
    globals: SecondaryMap<GlobalId, Classes>,
    /// By class of the array.
    elements: SecondaryMap<ClassId, Classes>,
    /// Stored into arrays of unknown class.
    any_element: Classes,
    params: SecondaryMap<FuncId, Vec<Classes>>,
    results: SecondaryMap<FuncId, Classes>,
    grew: bool,
}

impl TypeFlow {
    pub(super) fn new(module: &Module, hierarchy: &Hierarchy) -> TypeFlow {
        let mut flow = TypeFlow::from_outside(module, hierarchy);
        for _ in 0..ROUNDS {
            flow.grew = false;
            for (id, func) in module.funcs.iter().filter(|(_, f)| !f.layout.is_empty()) {
                let types = Types::with_flow(module, hierarchy, &flow, id, func);
                Adding { module, hierarchy, types: &types, flow: &mut flow }.function(id, func);
            }
            if !flow.grew {
                return flow;
            }
        }
        TypeFlow::unknown()
    }

    pub fn field(&self, field: FieldId) -> Classes {
        self.fields[field].clone()
    }

    pub fn global(&self, global: GlobalId) -> Classes {
        self.globals[global].clone()
    }

    pub fn param(&self, func: FuncId, index: usize) -> Classes {
        self.params[func].get(index).cloned().unwrap_or(Classes::Any)
    }

    pub fn result(&self, func: FuncId) -> Classes {
        self.results[func].clone()
    }

    /// Of arrays of one of these classes.
    pub fn elements(&self, arrays: &Classes) -> Classes {
        let Classes::Of(arrays) = arrays else { return Classes::Any };
        let mut classes = self.any_element.clone();
        for &array in arrays {
            classes.join(&self.elements[array]);
        }
        classes
    }

    fn unknown() -> TypeFlow {
        TypeFlow {
            fields: SecondaryMap::with_default(Classes::Any),
            globals: SecondaryMap::with_default(Classes::Any),
            elements: SecondaryMap::with_default(Classes::Any),
            any_element: Classes::Any,
            params: SecondaryMap::new(),
            results: SecondaryMap::with_default(Classes::Any),
            grew: false,
        }
    }

    /// What gets in without code of the program: what the runtime stores, and what it passes to the entries. Without entries every function may be called from outside.
    fn from_outside(module: &Module, hierarchy: &Hierarchy) -> TypeFlow {
        let mut flow = TypeFlow::default();
        for (id, func) in module.funcs.iter() {
            let is_entry = module.entry.is_none_or(|e| id == e.main || id == e.thread);
            let from_outside = |ty: &TypeDesc| if is_entry { hierarchy.declared(*ty) } else { Classes::default() };
            flow.params[id] = func.params.iter().map(from_outside).collect();
            if func.layout.is_empty() {
                flow.results[id] = Classes::Any;
            }
        }
        if let Some(known) = &module.known {
            flow.fields[known.error_message] = Classes::one(known.str);
            flow.fields[known.error_trace] = Classes::one(known.int_array);
            flow.elements[known.str_array] = Classes::one(known.str);
        }
        flow
    }
}

/// Adds what one function stores and passes.
struct Adding<'a> {
    module: &'a Module,
    hierarchy: &'a Hierarchy,
    types: &'a Types,
    flow: &'a mut TypeFlow,
}

impl Adding<'_> {
    fn function(&mut self, id: FuncId, func: &Function) {
        for &block in &func.layout {
            let data = &func.blocks[block];
            data.insts.iter().for_each(|&inst| self.op(func, &func.insts[inst].op));
            match data.terminator.as_ref().expect("a finished block") {
                Terminator::Try { op, .. } => self.op(func, op),
                Terminator::Return(Some(value)) if func.values[*value] == Ty::Ref => {
                    self.flow.grew |= self.flow.results[id].join(self.types.of(*value));
                }
                _ => {}
            }
        }
    }

    fn op(&mut self, func: &Function, op: &Op) {
        let is_ref = |value: Value| func.values[value] == Ty::Ref;
        match op {
            Op::StoreField { field, value, .. } if is_ref(*value) => self.flow.grew |= self.flow.fields[*field].join(self.types.of(*value)),
            Op::StoreGlobal(global, value) if is_ref(*value) => self.flow.grew |= self.flow.globals[*global].join(self.types.of(*value)),
            Op::StoreElem(ElemKind::Ref, array, _, value, _) => match self.types.of(*array) {
                Classes::Of(arrays) => {
                    for &array in arrays {
                        self.flow.grew |= self.flow.elements[array].join(self.types.of(*value));
                    }
                }
                Classes::Any => self.flow.grew |= self.flow.any_element.join(self.types.of(*value)),
            },
            Op::Call { func: callee, args, .. } => self.pass(func, *callee, 0, args),
            Op::CallVirtual { selector, args, .. } => self.call_virtual(func, *selector, args),
            _ => {}
        }
    }

    fn call_virtual(&mut self, func: &Function, selector: SelectorId, args: &[Value]) {
        let receivers = self.types.of(args[0]).among(self.hierarchy.concrete(self.module.selectors[selector].class));
        for &class in &receivers {
            if let Some(&callee) = self.module.classes[class].methods.get(&selector) {
                self.flow.grew |= self.flow.params[callee][0].join(&Classes::one(class));
                self.pass(func, callee, 1, args);
            }
        }
    }

    /// The arguments from `first` on.
    fn pass(&mut self, func: &Function, callee: FuncId, first: usize, args: &[Value]) {
        for (i, &arg) in args.iter().enumerate().skip(first).filter(|&(_, &arg)| func.values[arg] == Ty::Ref) {
            self.flow.grew |= self.flow.params[callee][i].join(self.types.of(arg));
        }
    }
}
