//! On-stack replacement in compiled code: the way out of a loop's code, and the way into the code that goes on for it.
//!
//! Of baseline code, behind the slow path of a loop's poll the loop's cell is looked at ([`OsrCells`](crate::native::osr::OsrCells)). If code for the rest of the call is installed, the values that live there are put into the thread's context
//! (`osr_values`) and that code is jumped to: a tail call, so the frame that is left makes place for the new one, which returns and throws to the same caller. Nothing of the old one is seen by whoever walks the stack.
//!
//! Of optimized code the same happens at exits ([`crate::native::exits`]), where the thread wants code of the other kind.
//!
//! The machine wants to know how many arguments the function was called with on the stack, to drop them when it returns. So the code that goes on has the function's own signature; the arguments themselves are not looked at.
//! It checks no stack, because it makes no call ([`super::super::osr`] bounds its frame), and counts none.

use super::{Env, Point, Translator, clif_type};
use crate::context::offset;
use crate::ir::polls::LoopPoll;
use crate::ir::{self, FuncId, Function, Start};
use crate::native::api::{Osr, Profiling};
use crate::native::stubs::Stub;
use crate::native::tables::SiteKind;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlagsData, Type, Value, types};

impl Env<'_> {
    /// Code for a loop is made of the function as it stands in the module: only that is left for it. Of a better body the blocks and what lives in them may be others.
    pub fn has_osr_exits(&self, func: FuncId, source: &Function) -> bool {
        let is_declared = std::ptr::eq(source, &self.module.funcs[func]);
        !matches!(self.options.osr, Osr::Off) && is_declared && source.start == Start::Call && source.inlined.is_empty()
    }
}

/// The way out at an exit.
#[derive(Clone, Copy)]
pub(super) struct WayOut {
    inst: ir::Inst,
    /// Where it stands.
    left: ir::Block,
    block: Block,
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

    /// What the cell of a loop holds: where code is to go over into, or 0.
    pub(super) fn code_behind(&mut self, cell: u64) -> Value {
        let cell = self.iconst(cell as i64);
        self.b.ins().load(types::I64, MemFlagsData::trusted(), cell, 0)
    }

    /// Ends the cold block of a poll: goes over into that code.
    pub(super) fn leave_for(&mut self, code: Value, live: &[ir::Value]) {
        let live: Vec<Value> = live.iter().map(|&value| self.value_in_cold(value)).collect();
        self.hand_over(code, &live);
    }

    fn hand_over(&mut self, code: Value, live: &[Value]) {
        for (i, &value) in live.iter().enumerate() {
            self.store_context(place(i), value);
        }
        self.go_on_in(code);
    }

    fn go_on_in(&mut self, code: Value) {
        let callee = &self.env.module.funcs[self.id];
        let sig = self.own_signature();
        let args: Vec<Value> = callee.params.iter().map(|param| self.zero(clif_type(param.ty()))).collect();
        self.b.ins().return_call_indirect(sig, code, &args);
    }

    /// For each exit the block in which the function is left there: it gets the code to go over into, and of what is handed over what has no home.
    ///
    /// Each seems to be entered from the function's entry, too ([`Translator::seem_to_leave`]). If it were not, it would be in no loop but dominated by the exit's, before the rest of which Cranelift would come to it, and take the loop to be
    /// over: nothing of what stands behind an exit would be moved out of the loop (135.8, `elaborate.rs`, `start_block`; `mandelbrot` takes 1.3 times as long). And the register allocator would come to it amid the loop's blocks, and take what
    /// is done there for as frequent as those: what lives across the loop would take registers from what is used in it.
    pub(super) fn leaving_blocks(&mut self, order: &[ir::Block]) -> Vec<WayOut> {
        let source = self.source;
        let insts = order.iter().flat_map(|&block| source.blocks[block].insts.iter().map(move |&inst| (block, inst)));
        let mut leaves = Vec::new();
        for (left, inst) in insts {
            if let ir::Op::ExitPoll { live, .. } = &source.insts[inst].op {
                let block = self.cold_block();
                self.b.append_block_param(block, types::I64);
                for &value in live.iter().filter(|&&value| !self.homes.has(left, value)) {
                    self.b.append_block_param(block, clif_type(source.values[value]));
                }
                leaves.push(WayOut { inst, left, block });
            }
        }
        leaves
    }

    /// Goes on in the block, but seems to come to where the function is left. These blocks come first on the way through the function, so they stand behind all others.
    pub(super) fn seem_to_leave(&mut self, on: Block) {
        let engine = self.load_context(types::I64, offset::ENGINE);
        let is_missing = self.b.ins().icmp_imm_u(IntCC::Equal, engine, 0);
        let never = self.cold_block();
        self.b.ins().brif(is_missing, never, &[], on, &[]);
        self.enter(never);
        let mut leaves = self.leaves.clone();
        let last = leaves.pop();
        for WayOut { block: leave, .. } in leaves {
            let next = self.cold_block();
            let args = self.nothing_for(leave);
            self.b.ins().brif(engine, leave, &args, next, &[]);
            self.enter(next);
        }
        if let Some(WayOut { block: leave, .. }) = last {
            let args = self.nothing_for(leave);
            self.b.ins().jump(leave, &args);
        }
    }

    fn nothing_for(&mut self, block: Block) -> Vec<BlockArg> {
        let params = self.b.block_params(block).to_vec();
        let types: Vec<Type> = params.into_iter().map(|param| self.b.func.dfg.value_type(param)).collect();
        types.into_iter().map(|ty| BlockArg::Value(self.zero(ty))).collect()
    }

    /// Where the function is left.
    pub(super) fn leave_all(&mut self) {
        for WayOut { inst, left, block } in std::mem::take(&mut self.leaves) {
            let ir::Op::ExitPoll { live, .. } = &self.source.insts[inst].op else { unreachable!("a way out is an exit's") };
            self.b.switch_to_block(block);
            let mut params = self.b.block_params(block).to_vec().into_iter();
            let code = params.next().expect("the code comes first");
            for (i, &value) in live.iter().enumerate() {
                let value = if self.homes.has(left, value) { self.load_home(value) } else { params.next().expect("the rest follows") };
                self.store_context(place(i), value);
            }
            self.go_on_in(code);
        }
    }

    /// A poll behind which the code is left where the thread wants the other kind, and there is code to go over into. The exit's cells are found through the thread's context: their addresses, as constants, would be kept in registers throughout the loop.
    pub(super) fn exit_poll(&mut self, exit: ir::Exit, live: &[ir::Value]) {
        let leave = self.leaves.iter().find(|leave| self.point == Point::Inst(leave.inst)).map(|leave| leave.block);
        let Some((cells, leave)) = self.env.exits.offsets(exit, !self.counts()).zip(leave) else { return self.poll() };
        self.poll_for_kind(|t, on| {
            t.pass_constants(&cells);
            t.call_stub(Stub::ExitPoll, SiteKind::Poll);
            let code = t.load_context(types::I64, offset::STUB_ARGS);
            let live: Vec<ir::Value> = live.iter().copied().filter(|&value| !t.homes.has(t.current, value)).collect();
            let live: Vec<Value> = live.into_iter().map(|value| t.value_in_cold(value)).collect();
            let handed_over: Vec<BlockArg> = [code].into_iter().chain(live).map(BlockArg::Value).collect();
            t.b.ins().brif(code, leave, &handed_over, on, &[]);
        });
    }

    /// A poll of a loop that is not left, inside of one that is: rounds while the thread wants the other kind are counted.
    pub(super) fn watched_poll(&mut self, exit: ir::Exit) {
        self.poll_for_kind(|t, on| {
            t.pass_constants(&[i32::from(t.counts())]);
            t.call_stub(Stub::WatchedPoll, SiteKind::Watched(exit));
            t.b.ins().jump(on, &[]);
        });
    }

    /// A poll at which the thread attends also where it wants the other kind of code: ends the block, and goes on in the one given, or elsewhere. One look at its flags says whether that is so, or anybody asks for attention: nearly always neither.
    /// Which of them it is, the stub finds out: to the loop it is one call, as of any poll. What is computed in the cold, and how many edges come back from there, changes which registers the loop gets.
    fn poll_for_kind(&mut self, attend: impl FnOnce(&mut Self, Block)) {
        if !self.env.options.polls {
            return;
        }
        let flags = self.load_context(types::I32, offset::YIELD_FLAG);
        let usual = i64::from(self.counts()) << (8 * (offset::COUNTS_CALLS - offset::YIELD_FLAG));
        let differs = self.b.ins().icmp_imm_u(IntCC::NotEqual, flags, usual);
        let on = self.branch_to_cold(differs);
        attend(self, on);
        self.enter(on);
    }

    /// Whether this code counts calls.
    fn counts(&self) -> bool {
        self.env.profiling != Profiling::Off
    }

    /// To a stub.
    fn pass_constants(&mut self, args: &[i32]) {
        for (index, &arg) in args.iter().enumerate() {
            let arg = self.iconst(i64::from(arg));
            self.store_context(offset::STUB_ARGS + 8 * index as i32, arg);
        }
    }

    /// Ends the block: goes over into the code that goes on for the exit, which there is ([`Engine::has_exit_code`](crate::native::Engine::has_exit_code)), of the kind that is to run.
    pub(super) fn leave(&mut self, exit: ir::Exit, live: &[ir::Value]) {
        let [cell, _] = self.env.exits.offsets(exit, false).expect("code was made for the exit");
        self.give_up_countdown();
        let live: Vec<Value> = live.iter().map(|&value| self.value(value)).collect();
        let cells = self.load_context(types::I64, offset::EXIT_CELLS);
        let counts = self.load_context(types::I8, offset::COUNTS_CALLS);
        let counts = self.b.ins().uextend(types::I64, counts);
        let words = self.b.ins().ishl_imm_u(counts, 3);
        let cells = self.b.ins().iadd(cells, words);
        let code = self.b.ins().load(types::I64, MemFlagsData::trusted(), cells, cell);
        self.hand_over(code, &live);
    }

    fn zero(&mut self, ty: Type) -> Value {
        match ty {
            types::F64 => self.b.ins().f64const(0.0),
            ty => self.b.ins().iconst(ty, 0),
        }
    }
}
