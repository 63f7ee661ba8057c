//! Which classes the objects of a function's references can be of.
//!
//! In: a function, the program's facts ([`Hierarchy`], [`TypeFlow`]). Out: [`Types`]: for each reference a set of classes that holds wherever the value may be used. What a test of the class says in the blocks it leads to is not
//! in it.
//! Optimistic: starts with no class and adds until nothing changes.

use super::classes::Classes;
use super::declared::builtin_class;
use super::hierarchy::Hierarchy;
use super::type_flow::TypeFlow;
use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// Times all operations of a function are looked at before everything counts as unknown: a few more than loops nest.
const ROUNDS: usize = 24;

#[derive(Debug)]
pub struct Types {
    of: SecondaryMap<Value, Classes>,
}

impl Types {
    pub fn new(module: &Module, hierarchy: &Hierarchy, id: FuncId, func: &Function) -> Types {
        Types::with_flow(module, hierarchy, hierarchy.flow(), id, func)
    }

    pub fn of(&self, value: Value) -> &Classes {
        &self.of[value]
    }

    /// As [`Types::new`], from facts that may not be final.
    pub(super) fn with_flow(module: &Module, hierarchy: &Hierarchy, flow: &TypeFlow, id: FuncId, func: &Function) -> Types {
        let mut typing = Typing { module, hierarchy, flow, func, of: SecondaryMap::with_capacity(func.values.len()), grew: false };
        for (i, &param) in func.blocks[func.entry()].params.iter().enumerate() {
            let classes = match func.start {
                Start::Call => flow.param(id, i),
                // What flows into the function's parameters says nothing of these.
                Start::Loop => hierarchy.declared(func.params[i]),
            };
            typing.grow(param, &classes);
        }
        for _ in 0..ROUNDS {
            typing.grew = false;
            func.layout.iter().for_each(|&block| typing.block(block));
            if !typing.grew {
                return Types { of: typing.of };
            }
        }
        Types { of: SecondaryMap::with_default(Classes::Any) }
    }
}

struct Typing<'a> {
    module: &'a Module,
    hierarchy: &'a Hierarchy,
    flow: &'a TypeFlow,
    func: &'a Function,
    of: SecondaryMap<Value, Classes>,
    grew: bool,
}

impl Typing<'_> {
    fn grow(&mut self, value: Value, by: &Classes) {
        self.grew |= self.of[value].join(by);
    }

    fn block(&mut self, block: Block) {
        let data = &self.func.blocks[block];
        for InstData { op, result, .. } in data.insts.iter().map(|&i| &self.func.insts[i]) {
            if let Some(result) = *result
                && self.func.values[result] == Ty::Ref
            {
                let classes = self.result(op);
                self.grow(result, &classes);
            }
        }
        let terminator = data.terminator.as_ref().expect("a finished block");
        terminator.for_each_edge(|edge| {
            let params = &self.func.blocks[edge.block].params;
            for (&arg, &param) in edge.args.iter().rev().zip(params.iter().rev()) {
                if self.func.values[param] == Ty::Ref {
                    let classes = self.of[arg].clone();
                    self.grow(param, &classes);
                }
            }
        });
        if let Terminator::Try { op, normal, unwind } = terminator {
            let params = &self.func.blocks[normal.block].params;
            if params.len() > normal.args.len() && self.func.values[params[0]] == Ty::Ref {
                let classes = self.result(op);
                self.grow(params[0], &classes);
            }
            let error = self.func.blocks[unwind.block].params[0];
            let classes = self.module.known.as_ref().map_or(Classes::Any, |k| Classes::of(self.hierarchy.concrete(k.error)));
            self.grow(error, &classes);
        }
    }

    fn result(&self, op: &Op) -> Classes {
        match op {
            Op::Null => Classes::default(),
            Op::New(class) | Op::NewArray(class, _) => Classes::one(*class),
            Op::StrConst(_) => self.module.known.as_ref().map_or(Classes::Any, |k| Classes::one(k.str)),
            Op::NullCheck(value) => self.of[*value].clone(),
            Op::CheckCast(class, value) => Classes::of(&self.of[*value].among(self.hierarchy.concrete(*class))),
            Op::Select { then, els, .. } => {
                let mut classes = self.of[*then].clone();
                classes.join(&self.of[*els]);
                classes
            }
            Op::LoadField(field, ..) => self.flow.field(*field),
            Op::LoadGlobal(global) => self.flow.global(*global),
            Op::LoadElem(_, array, _) => self.flow.elements(&self.of[*array]),
            Op::Call { func, .. } => self.flow.result(*func),
            Op::CallVirtual { selector, args, .. } => {
                let receivers = self.of[args[0]].among(self.hierarchy.concrete(self.module.selectors[*selector].class));
                let Some(targets) = self.hierarchy.targets(self.module, *selector, &receivers) else { return Classes::Any };
                let mut classes = Classes::default();
                for (func, _) in targets {
                    classes.join(&self.flow.result(func));
                }
                classes
            }
            Op::CallBuiltin { builtin, .. } => builtin_class(self.module, *builtin).map_or(Classes::Any, Classes::one),
            _ => Classes::Any,
        }
    }
}
