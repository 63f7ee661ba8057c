//! Where each value is defined and how often it is used.
//!
//! In: a function. Out: [`Defs`], true until the function changes.

use crate::ir::*;
use cranelift_entity::SecondaryMap;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Def {
    /// Not defined in a block of the layout.
    #[default]
    None,
    Inst(Block, Inst),
    /// Parameter of a block, by position. A `Try`'s result and error are parameters too.
    Param(Block, u32),
}

#[derive(Debug)]
pub struct Defs {
    defs: SecondaryMap<Value, Def>,
    uses: SecondaryMap<Value, u32>,
}

impl Defs {
    pub fn new(func: &Function) -> Defs {
        let (mut defs, mut uses) = (SecondaryMap::new(), SecondaryMap::new());
        defs.resize(func.values.len());
        uses.resize(func.values.len());
        for &block in &func.layout {
            let data = &func.blocks[block];
            data.params.iter().enumerate().for_each(|(i, &param)| defs[param] = Def::Param(block, i as u32));
            for &inst in &data.insts {
                let InstData { op, result, .. } = &func.insts[inst];
                result.iter().for_each(|&result| defs[result] = Def::Inst(block, inst));
                op.for_each_arg(|v| uses[v] += 1);
            }
            let terminator = data.terminator.as_ref().expect("a finished block");
            terminator.for_each_operand(|v| uses[v] += 1);
            terminator.for_each_edge(|edge| edge.args.iter().for_each(|&v| uses[v] += 1));
        }
        Defs { defs, uses }
    }

    pub fn def(&self, value: Value) -> Def {
        self.defs[value]
    }

    pub fn block(&self, value: Value) -> Option<Block> {
        match self.defs[value] {
            Def::None => None,
            Def::Inst(block, _) | Def::Param(block, _) => Some(block),
        }
    }

    /// The operation that computes a value; `None` for parameters.
    pub fn op<'a>(&self, func: &'a Function, value: Value) -> Option<&'a Op> {
        match self.defs[value] {
            Def::Inst(_, inst) => Some(&func.insts[inst].op),
            Def::None | Def::Param(..) => None,
        }
    }

    /// What checks have passed on as the value, which must be one of reachable code: elsewhere checks may go round in circles.
    pub fn unchecked(&self, func: &Function, mut value: Value) -> Value {
        while let Some(Op::NullCheck(checked) | Op::CheckCast(_, checked)) = self.op(func, value) {
            value = *checked;
        }
        value
    }

    pub fn int_const(&self, func: &Function, value: Value) -> Option<i64> {
        match self.op(func, value) {
            Some(Op::IConst(n)) => Some(*n),
            _ => None,
        }
    }

    /// Operands and edge arguments that are this value.
    pub fn uses(&self, value: Value) -> u32 {
        self.uses[value]
    }
}
