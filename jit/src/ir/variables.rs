//! Variables in a finished function: what was memory becomes values, with block parameters where they meet.
//!
//! In: a function, definitions of variables at the ends of blocks ([`Variables::define`]), then questions for their values ([`Variables::at_start`]). Out ([`Variables::finish`]): the function with the parameters that the answers need.
//! The way is that of `ssa`, which builds functions: only blocks between questions and definitions are looked at.
//!
//! Invariants: nothing unreachable stands in the layout; edges do not change in between; all definitions come before the first question. A variable that no way has defined is its type's zero.

use super::builder::Variable;
use super::entities::*;
use super::module::Function;
use super::rewrite::Aliases;
use super::ssa::Ssa;
use super::types::Ty;
use rustc_hash::FxHashSet;

pub struct Variables {
    ssa: Ssa,
    defined: FxHashSet<(Block, Variable)>,
}

impl Variables {
    pub fn new(func: &mut Function) -> Variables {
        Variables { ssa: Ssa::of_finished(func), defined: FxHashSet::default() }
    }

    pub fn declare(&mut self, ty: Ty) -> Variable {
        self.ssa.declare(ty)
    }

    pub fn ty(&self, var: Variable) -> Ty {
        self.ssa.var_ty(var)
    }

    /// The variable's value at the end of a block.
    pub fn define(&mut self, block: Block, var: Variable, value: Value) {
        self.ssa.write(block, var, value);
        self.defined.insert((block, var));
    }

    /// The variable's value at the start of a block.
    pub fn at_start(&mut self, func: &mut Function, block: Block, var: Variable) -> Value {
        if self.defined.contains(&(block, var)) {
            return self.ssa.read_at_start(func, block, var);
        }
        self.ssa.read(func, block, var)
    }

    /// Adds parameters to blocks and arguments to edges. `aliases` says what some of the values given stand for; the function is in order once [`Function::rewrite`] has put the result in place.
    pub fn finish(self, func: &mut Function, aliases: Aliases) -> Aliases {
        self.ssa.add_params(func, aliases)
    }
}
