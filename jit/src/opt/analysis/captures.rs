//! Which arguments a call may keep: whether, once it has returned, anybody else may still know an object that it was given. LLVM calls an argument that is not kept `nocapture`; in J.-D. Choi et al., "Escape Analysis for Java",
//! OOPSLA 1999, section 3, it is an `ArgEscape`, and summaries of functions go up the call graph as here.
//!
//! In: a module. Out: [`Captures`], also of virtual calls. They stay true while the program is optimized: that takes uses away and adds none.
//! An argument is kept if it is stored into memory, returned, thrown, made one of several values, or given to what keeps it or is not known: functions without a body and builtins (of which some tell objects apart by their address).
//! That a callee loads from it, stores into it, asks for its class or compares it is nothing that lasts.

use super::defs::Defs;
use super::hierarchy::Hierarchy;
use crate::ir::dominators::preorder;
use crate::ir::*;
use cranelift_entity::EntityRef;

#[derive(Debug)]
pub struct Captures {
    /// A bit for each position; functions, then selectors.
    kept: Vec<u64>,
    funcs: usize,
}

/// A parameter that is passed on: its position there, and whose it is here, at which position.
type Passed = (usize, (usize, usize));

impl Captures {
    pub fn new(module: &Module, hierarchy: &Hierarchy) -> Captures {
        let funcs = module.funcs.len();
        let mut captures = Captures { kept: vec![0; funcs + module.selectors.len()], funcs };
        // By callee.
        let mut passed: Vec<Vec<Passed>> = vec![Vec::new(); captures.kept.len()];
        for (id, func) in module.funcs.iter() {
            if func.layout.is_empty() {
                captures.kept[id.index()] = u64::MAX;
            } else {
                captures.function(id, func, &mut passed);
            }
        }
        for (id, selector) in module.selectors.iter() {
            for target in hierarchy.concrete(selector.class).iter().filter_map(|&c| module.classes[c].methods.get(&id)) {
                let params = module.funcs[*target].params.len();
                passed[target.index()].extend((0..params).map(|at| (at, (funcs + id.index(), at))));
            }
        }
        captures.propagate(&passed);
        captures
    }

    /// What a function does itself, and to whom it passes its parameters on.
    fn function(&mut self, id: FuncId, func: &Function, passed: &mut [Vec<Passed>]) {
        let (defs, params) = (Defs::new(func), &func.blocks[func.entry()].params);
        let param = |value: Value| {
            let object = defs.unchecked(func, value);
            params.iter().position(|&p| p == object)
        };
        let keep = |value: Value| param(value).map_or(0, bit);
        let mut kept_by = |op: &Op| {
            let (mut kept, mut at) = (0, 0);
            match op {
                Op::StoreField { value, .. } | Op::StoreElem(.., value, _) => kept = keep(*value),
                op if only_looks(op) => {}
                op => op.for_each_arg(|value| {
                    match self.index(op) {
                        Some(callee) => passed[callee].extend(param(value).map(|own| (at, (id.index(), own)))),
                        None => kept |= keep(value),
                    }
                    at += 1;
                }),
            }
            kept
        };
        let mut kept = 0;
        for block in preorder(func) {
            let data = &func.blocks[block];
            data.insts.iter().for_each(|&i| kept |= kept_by(&func.insts[i].op));
            let terminator = data.terminator.as_ref().expect("a finished block");
            terminator.for_each_edge(|edge| edge.args.iter().for_each(|&v| kept |= keep(v)));
            match terminator {
                // Its result may be the object.
                Terminator::Try { op: Op::NullCheck(value) | Op::CheckCast(_, value), .. } => kept |= keep(*value),
                Terminator::Try { op, .. } => kept |= kept_by(op),
                other => other.for_each_operand(|v| kept |= keep(v)),
            }
        }
        self.kept[id.index()] = kept;
    }

    fn propagate(&mut self, passed: &[Vec<Passed>]) {
        let mut work: Vec<usize> = (0..self.kept.len()).collect();
        while let Some(callee) = work.pop() {
            let kept = self.kept[callee];
            for &(_, (caller, own)) in passed[callee].iter().filter(|&&(at, _)| kept & bit(at) != 0) {
                if self.kept[caller] & bit(own) == 0 {
                    self.kept[caller] |= bit(own);
                    work.push(caller);
                }
            }
        }
    }

    /// `None` for what is no call of a function.
    fn index(&self, op: &Op) -> Option<usize> {
        match op {
            Op::Call { func, .. } => Some(func.index()),
            Op::CallVirtual { selector, .. } => Some(self.funcs + selector.index()),
            _ => None,
        }
    }

    /// Whether the argument at this position may be kept.
    pub fn keeps(&self, op: &Op, position: usize) -> bool {
        self.index(op).is_none_or(|index| self.kept[index] & bit(position) != 0)
    }
}

/// Positions far back share one.
fn bit(position: usize) -> u64 {
    1 << position.min(63)
}

/// The operation takes no part of the object away that outlasts it, whichever operand it is.
fn only_looks(op: &Op) -> bool {
    matches!(
        op,
        Op::LoadField(..)
            | Op::ArrayLen(..)
            | Op::CheckBounds(..)
            | Op::CheckIndex { .. }
            | Op::LoadElem(..)
            | Op::NullCheck(_)
            | Op::InstanceOf(..)
            | Op::HasClass(..)
            | Op::CheckCast(..)
            | Op::RefEq(..)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parser::parse;
    use crate::ir::verifier::verify;

    const CALLS: &str = r#"class0 abstract "Shape" {
  field0 "next": class0?
}
class1 "Near" extends class0 {
  sel0 -> fn3
}
class2 "Far" extends class0 {
  sel0 -> fn4
}
sel0 class0 "meet"(class0, class0?)
fn0 "looks"(class0?, class0?, int) -> bool {
block0(v0: ref, v1: ref, v2: int):
  v3 = null_check v0
  v4 = load v3.field0 nonnull
  v5 = ref_eq v4, v1
  return v5
}
fn1 "stores"(class0, class0?, class0?) -> class0? {
block0(v0: ref, v1: ref, v2: ref):
  store v0.field0, v1
  return v2
}
fn2 "passes"(class0, class0?) -> class0? {
block0(v0: ref, v1: ref):
  v2 = iconst 0
  v3 = call fn0(v0, v1, v2) site0
  v4 = call fn2(v0, v1) site1
  v5 = call fn1(v0, v4, v1) site2
  return v4
}
fn3 "near"(class1, class0?) {
block0(v0: ref, v1: ref):
  return
}
fn4 "far"(class2, class0?) {
block0(v0: ref, v1: ref):
  v2 = call fn1(v0, v1, v0) site3
  return
}
fn5 "virtual"(class0, class0, class0?) {
block0(v0: ref, v1: ref, v2: ref):
  call_virtual sel0(v1, v2) site4
  v3 = null_check v2
  throw v0
}
fn6 "merges"(class0, class0, bool) -> int {
block0(v0: ref, v1: ref, v2: bool):
  branch v2, block1(v0), block1(v1)
block1(v3: ref):
  v4 = iconst 1
  return v4
}
fn7 "unreached"(class0) {
block0(v0: ref):
  return
block1():
  v1 = null_check v1
  store_global global0, v1
  return
}
global0 "g": class0
fn8 "makes"() {
block0():
  v0 = new class1
  v1 = new class2
  return
}
"#;

    #[test]
    fn what_is_kept_goes_up_the_calls() {
        let module = parse(CALLS).unwrap();
        assert_eq!(verify(&module), []);
        let captures = Captures::new(&module, &Hierarchy::new(&module));
        let kept = |func: usize, count| -> Vec<usize> {
            let op = Op::Call { func: FuncId::from_u32(func as u32), args: Args::new(), site: CallSiteId::from_u32(0) };
            (0..count).filter(|&at| captures.keeps(&op, at)).collect()
        };
        assert_eq!(kept(0, 3), [0; 0]);
        assert_eq!(kept(1, 3), [1, 2]);
        assert_eq!(kept(2, 2), [1], "its second is fn1's third");
        assert_eq!((kept(3, 2), kept(4, 2)), (vec![], vec![0, 1]));
        assert_eq!(kept(5, 3), [0, 1, 2], "one target is enough");
        assert_eq!(kept(6, 2), [0, 1]);
        assert_eq!(kept(7, 1), [0; 0], "checks may go round in circles where control does not come");
        let builtin = Op::CallBuiltin { builtin: Builtin::IdentityHash, args: Args::new() };
        assert!(captures.keeps(&builtin, 0));
    }
}
