//! The class that a reference's objects are of, by what is declared: coarser than [`super::types`], and known without a look at the program.
//!
//! In: a function. Out: [`Declared`]: for each reference the nearest class or interface found that covers all that comes into it.
//! Optimistic: classes only grow, along the superclasses, so it ends.

use crate::ir::*;
use cranelift_entity::SecondaryMap;

pub struct Declared<'a> {
    module: &'a Module,
    func: &'a Function,
    of: SecondaryMap<Value, Known>,
    grew: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Known {
    /// Nothing but null has come in.
    #[default]
    Null,
    Class(ClassId),
    Any,
}

impl<'a> Declared<'a> {
    pub fn new(module: &'a Module, func: &'a Function) -> Declared<'a> {
        let mut declared = Declared { module, func, of: SecondaryMap::with_capacity(func.values.len()), grew: true };
        for (&param, &ty) in func.blocks[func.entry()].params.iter().zip(&func.params) {
            declared.grow(param, known(class_in(ty)));
        }
        while std::mem::take(&mut declared.grew) {
            func.layout.iter().for_each(|&block| declared.block(block));
        }
        declared
    }

    /// How a parameter or field that takes the value is to be declared.
    pub fn of(&self, value: Value) -> TypeDesc {
        match (self.func.values[value], self.of[value]) {
            (Ty::Int, _) => TypeDesc::Int,
            (Ty::Float, _) => TypeDesc::Float,
            (Ty::Bool, _) => TypeDesc::Bool,
            (Ty::Ref, Known::Class(class)) => TypeDesc::Ref { class, nullable: true },
            (Ty::Ref, Known::Null | Known::Any) => TypeDesc::AnyRef,
        }
    }

    fn block(&mut self, block: Block) {
        let func = self.func;
        let data = &func.blocks[block];
        for InstData { op, result, .. } in data.insts.iter().map(|&i| &func.insts[i]) {
            result.iter().for_each(|&result| self.grow(result, self.result(op)));
        }
        let terminator = data.terminator.as_ref().expect("a finished block");
        terminator.for_each_edge(|edge| {
            let params = &func.blocks[edge.block].params;
            edge.args.iter().rev().zip(params.iter().rev()).for_each(|(&arg, &param)| self.grow(param, self.of[arg]));
        });
        if let Terminator::Try { op, normal, unwind } = terminator {
            let params = &func.blocks[normal.block].params;
            if params.len() > normal.args.len() {
                self.grow(params[0], self.result(op));
            }
            self.grow(func.blocks[unwind.block].params[0], known(self.module.known.map(|k| k.error)));
        }
    }

    fn grow(&mut self, value: Value, by: Known) {
        if self.func.values[value] == Ty::Ref {
            let joined = self.join(self.of[value], by);
            self.grew |= joined != self.of[value];
            self.of[value] = joined;
        }
    }

    fn join(&self, a: Known, b: Known) -> Known {
        match (a, b) {
            (Known::Null, other) | (other, Known::Null) => other,
            (Known::Class(a), Known::Class(b)) => {
                let covers = |class: &ClassId| self.module.is_subclass(a, *class) && self.module.is_subclass(b, *class);
                let above = std::iter::successors(Some(a), |&class| self.module.classes[class].superclass);
                known(above.chain([b]).find(covers))
            }
            _ => Known::Any,
        }
    }

    fn result(&self, op: &Op) -> Known {
        match *op {
            Op::Null => Known::Null,
            Op::NullCheck(value) => self.of[value],
            Op::Select { then, els, .. } => self.join(self.of[then], self.of[els]),
            ref op => known(result_class(self.module, op)),
        }
    }
}

fn known(class: Option<ClassId>) -> Known {
    class.map_or(Known::Any, Known::Class)
}

fn class_in(ty: TypeDesc) -> Option<ClassId> {
    match ty {
        TypeDesc::Ref { class, .. } => Some(class),
        TypeDesc::AnyRef | TypeDesc::Int | TypeDesc::Float | TypeDesc::Bool => None,
    }
}

/// A class of which the operation's result is an object, or null.
pub fn result_class(module: &Module, op: &Op) -> Option<ClassId> {
    match *op {
        Op::New(class) | Op::NewArray(class, _) | Op::CheckCast(class, _) => Some(class),
        Op::StrConst(_) => module.known.map(|k| k.str),
        Op::LoadField(field, ..) => class_in(module.fields[field].ty),
        Op::LoadGlobal(global) => class_in(module.globals[global].ty),
        Op::Call { func, .. } => class_in(module.funcs[func].ret?),
        Op::CallVirtual { selector, .. } => class_in(module.selectors[selector].ret?),
        Op::CallBuiltin { builtin, .. } => builtin_class(module, builtin),
        _ => None,
    }
}

/// The class of which a builtin's result, which is a reference, is an object; `None` where it may be of any. (Of builtins that give numbers it says nothing of use.)
pub fn builtin_class(module: &Module, builtin: Builtin) -> Option<ClassId> {
    let known = module.known.as_ref()?;
    match builtin {
        Builtin::ThreadJoin => None,
        Builtin::StrCodePoints => Some(known.int_array),
        Builtin::StrToBytes => Some(known.bytes),
        Builtin::Args => Some(known.str_array),
        _ => Some(known.str),
    }
}
