//! On-stack replacement in compiled code: the way out of a loop's code, and the way into the code that goes on for it.
//!
//! Behind the slow path of a loop's poll the loop's cell is looked at ([`OsrCells`](crate::native::osr::OsrCells)). If code for the rest of the call is installed, the values that live there are put into the thread's context
//! (`osr_values`) and that code is jumped to: a tail call, so the frame that is left makes place for the new one, which returns and throws to the same caller. Nothing of the old one is seen by whoever walks the stack.
//!
//! The machine wants to know how many arguments the function was called with on the stack, to drop them when it returns. So the code that goes on has the function's own signature; the arguments themselves are not looked at.
//! It checks no stack, because it makes no call ([`super::super::osr`] bounds its frame), and counts none.

use super::{Env, Point, Translator, clif_type};
use crate::context::offset;
use crate::ir::polls::LoopPoll;
use crate::ir::{self, FuncId, Function, Start};
use crate::native::api::Osr;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Type, Value, types};

impl Env<'_> {
    /// Code for a loop is made of the function as it stands in the module: only that is left for it. Of a better body the blocks and what lives in them may be others.
    pub fn has_osr_exits(&self, func: FuncId, source: &Function) -> bool {
        let is_declared = std::ptr::eq(source, &self.module.funcs[func]);
        !matches!(self.options.osr, Osr::Off) && is_declared && source.start == Start::Call && source.inlined.is_empty()
    }
}

fn place(index: usize) -> i32 {
    offset::OSR_VALUES + 8 * index as i32
}

impl Translator<'_, '_> {
    /// The function's parameters, as the code that was left has put them into the context.
    pub(super) fn handed_over(&mut self) -> Vec<Value> {
        let types = self.source.params.iter().map(|param| clif_type(param.ty()));
        types.enumerate().map(|(i, ty)| self.load_context(ty, place(i))).collect()
    }

    /// Whether the current operation is a poll behind which the code can be left, and the cell that says what for.
    pub(super) fn exit_here(&self) -> Option<(LoopPoll, u64)> {
        let Point::Inst(inst) = self.point else { return None };
        let poll = self.exits.iter().find(|poll| poll.inst == inst)?;
        Some((poll.clone(), self.env.osr.address(self.id, poll.block)?))
    }

    /// Ends the cold block of a poll: goes over into other code for the loop if there is some, and otherwise on.
    pub(super) fn leave_for(&mut self, cell: u64, live: &[ir::Value], on: Block) {
        let cell = self.iconst(cell as i64);
        let code = self.b.ins().load(types::I64, MemFlagsData::trusted(), cell, 0);
        let leave = self.cold_block();
        self.b.ins().brif(code, leave, &[], on, &[]);
        self.enter(leave);
        for (i, &value) in live.iter().enumerate() {
            let value = self.value_in_cold(value);
            self.store_context(place(i), value);
        }
        let callee = &self.env.module.funcs[self.id];
        let sig = self.own_signature();
        let args: Vec<Value> = callee.params.iter().map(|param| self.zero(clif_type(param.ty()))).collect();
        self.b.ins().return_call_indirect(sig, code, &args);
    }

    fn zero(&mut self, ty: Type) -> Value {
        match ty {
            types::F64 => self.b.ins().f64const(0.0),
            ty => self.b.ins().iconst(ty, 0),
        }
    }
}
