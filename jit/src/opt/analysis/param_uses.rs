//! What functions do with their parameters that could be done while they are compiled, if the argument were known: the "formal parameter summaries" of policies that look at arguments (J. Dean, C. Chambers, "Towards Better Inlining
//! Decisions Using Inlining Trials", LFP 1994, find the same by trying).
//!
//! In: a module. Out: [`ParamUses`] of the program as lowered. Only what a function does itself counts, not what those do that it passes the parameter on to: they are asked about once it is inlined.

use super::hierarchy::Hierarchy;
use crate::ir::*;
use cranelift_entity::SecondaryMap;

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ParamUse {
    /// The receiver of a virtual call that can reach several functions.
    pub is_invoked: bool,
    /// Its class is tested, or cast to.
    pub is_tested: bool,
    /// Compared with a constant, or branched on.
    pub decides: bool,
}

#[derive(Debug)]
pub struct ParamUses {
    of: SecondaryMap<FuncId, Box<[ParamUse]>>,
}

impl ParamUses {
    pub fn new(module: &Module, hierarchy: &Hierarchy) -> ParamUses {
        let mut of = SecondaryMap::with_capacity(module.funcs.len());
        for (id, func) in module.funcs.iter().filter(|(_, f)| !f.layout.is_empty()) {
            of[id] = Scan::new(module, hierarchy, id, func).run();
        }
        ParamUses { of }
    }

    /// By position; nothing is known of functions without a body.
    pub fn of(&self, func: FuncId) -> &[ParamUse] {
        &self.of[func]
    }
}

struct Scan<'a> {
    module: &'a Module,
    hierarchy: &'a Hierarchy,
    id: FuncId,
    func: &'a Function,
    /// The parameter that a value is, checked or not.
    params: SecondaryMap<Value, Option<usize>>,
    constants: SecondaryMap<Value, bool>,
    found: Box<[ParamUse]>,
}

impl<'a> Scan<'a> {
    fn new(module: &'a Module, hierarchy: &'a Hierarchy, id: FuncId, func: &'a Function) -> Scan<'a> {
        let mut params: SecondaryMap<Value, Option<usize>> = SecondaryMap::with_capacity(func.values.len());
        let mut constants: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(func.values.len());
        let own = &func.blocks[func.entry()].params;
        own.iter().enumerate().for_each(|(i, &param)| params[param] = Some(i));
        // A check stands in layout order after what it checks almost everywhere; where it does not, less is known.
        for &inst in func.layout.iter().flat_map(|&b| &func.blocks[b].insts) {
            let InstData { op, result: Some(result), .. } = &func.insts[inst] else { continue };
            match op {
                Op::NullCheck(value) | Op::CheckCast(_, value) => params[*result] = params[*value],
                Op::IConst(_) | Op::FConst(_) | Op::BConst(_) | Op::Null => constants[*result] = true,
                _ => {}
            }
        }
        Scan { module, hierarchy, id, func, params, constants, found: vec![ParamUse::default(); own.len()].into() }
    }

    fn run(mut self) -> Box<[ParamUse]> {
        for &block in &self.func.layout {
            let data = &self.func.blocks[block];
            data.insts.iter().for_each(|&i| self.op(&self.func.insts[i].op));
            match data.terminator.as_ref().expect("a finished block") {
                Terminator::Try { op, .. } => self.op(op),
                Terminator::Branch { cond: value, .. } | Terminator::Switch { index: value, .. } => self.decide(*value),
                _ => {}
            }
        }
        self.found
    }

    fn op(&mut self, op: &Op) {
        match *op {
            Op::CallVirtual { selector, ref args, .. } => {
                if let Some(param) = self.params[args[0]] {
                    self.found[param].is_invoked |= self.is_open(selector, param);
                }
            }
            Op::InstanceOf(_, value) | Op::HasClass(_, value) | Op::CheckCast(_, value) => {
                if let Some(param) = self.params[value] {
                    self.found[param].is_tested = true;
                }
            }
            Op::ICmp(_, a, b) | Op::FCmp(_, a, b) | Op::RefEq(a, b) => match (self.constants[a], self.constants[b]) {
                (true, false) => self.decide(b),
                (false, true) => self.decide(a),
                _ => {}
            },
            Op::Unary(UnaryOp::BNot, value) => self.decide(value),
            _ => {}
        }
    }

    fn decide(&mut self, value: Value) {
        if let Some(param) = self.params[value] {
            self.found[param].decides = true;
        }
    }

    /// Whether the classes that get in leave several functions to call.
    fn is_open(&self, selector: SelectorId, param: usize) -> bool {
        let classes = self.hierarchy.flow().param(self.id, param);
        let receivers = classes.among(self.hierarchy.concrete(self.module.selectors[selector].class));
        self.hierarchy.targets(self.module, selector, &receivers).is_none_or(|targets| targets.len() > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parser::parse;
    use crate::ir::verifier::verify;

    const USES: &str = r#"class0 abstract "Op"
class1 "Add" extends class0 {
  sel0 -> fn0
}
class2 "Mul" extends class0 {
  sel0 -> fn1
}
sel0 class0 "apply"(class0, int) -> int
fn0 "add"(class1, int) -> int {
block0(v0: ref, v1: int):
  return v1
}
fn1 "mul"(class2, int) -> int {
block0(v0: ref, v1: int):
  return v1
}
fn2 "f"(class0?, class0?, class1, int, int, bool, class0?) -> int {
block0(v0: ref, v1: ref, v2: ref, v3: int, v4: int, v5: bool, v6: ref):
  v7 = null_check v0
  v8 = call_virtual sel0(v7, v3) site0
  v9 = instance_of class1, v1
  branch v5, block1, block2
block1():
  v10 = call_virtual sel0(v2, v8) site1
  return v10
block2():
  v11 = iconst 3
  v12 = icmp lt v11, v3
  v13 = icmp lt v4, v3
  v14 = null
  v15 = ref_eq v6, v14
  branch v9, block3, block4
block3():
  return v4
block4():
  v16 = new class1
  v17 = new class2
  return v3
}
"#;

    #[test]
    fn uses_are_told_apart() {
        let module = parse(USES).unwrap();
        assert_eq!(verify(&module), []);
        let found = ParamUses::new(&module, &Hierarchy::new(&module));
        let invoked = ParamUse { is_invoked: true, ..ParamUse::default() };
        let tested = ParamUse { is_tested: true, ..ParamUse::default() };
        let decides = ParamUse { decides: true, ..ParamUse::default() };
        let none = ParamUse::default();
        assert_eq!(found.of(FuncId::from_u32(2)), [invoked, tested, none, decides, none, decides, decides]);
    }
}
