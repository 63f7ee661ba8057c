//! From SSA to CLIF, operation by operation: nothing is moved and nothing merged here.
//!
//! In: a function and where the program's parts lie. Out: CLIF, and the [`Site`]s that its source locations index.
//!
//! Invariants:
//! - Every reference that is live where the collector may run stands in a stack slot then (`refs`, `ir::liveness`). Addresses derived from references are computed where they are used.
//!   Cranelift's optimizer may share and move these, but not over a safepoint: behind it the reference is another CLIF value (loaded from its slot, or a block's parameter where ways with and without a stop meet), so an address
//!   computed from the old one is no equal of one computed from the new. Slots keep it apart from calls, because a call is a fence to it: it forwards no store over one and drops none before one.
//! - Accesses to memory, calls and traps keep their order: only pure operations move, and no access is marked as movable.
//! - Source locations are indices of sites (`sites`), which tables look up by code offset. (Debug tags would be the obvious way, but for a `try_call` they end up behind the jump that follows the call.)
//! - Blocks for rare events are cold and call stubs that keep all registers.
//!
//! `checks` has what fails, `objects` what touches memory, `homes` what stays in memory, `calls` what calls, `countdown` what counts calls, `arith` the rest.

mod arith;
mod calls;
mod checks;
mod countdown;
mod free_checks;
mod homes;
mod objects;
mod osr;
mod refs;
mod sites;

pub use sites::{Site, Sites};

use super::api::{Addresses, Level, Options, Osr, Profiling};
use super::cells::EntryCells;
use super::exits::ExitCells;
use super::osr::OsrCells;
use super::stubs::Stub;
use super::tables::SiteKind;
use super::trap::TrapKind;
use crate::context::offset;
use crate::ir::dominators::Dominators;
use crate::ir::liveness::{Liveness, Point};
use crate::ir::polls::{LoopPoll, loop_polls};
use crate::ir::{self as ir, BlockCall, Function, Loc, Module, Op, Start, Terminator, Ty, TypeDesc};
use crate::layout::Layout;
use crate::opt::analysis::loops::Loops;
use countdown::Countdown;
use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, FuncRef, InstBuilder, InstructionData, JumpTableData, MemFlagsData, SigRef, Signature, SourceLoc, Type,
    Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use free_checks::FreeChecks;
use homes::{Facts, Homes};
use osr::WayOut;
use refs::Refs;
use std::collections::HashMap;

/// What the translation of every function needs.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    pub module: &'a Module,
    pub layout: &'a Layout,
    pub addresses: &'a Addresses,
    pub options: &'a Options,
    /// What this version of the function tells of calls.
    pub profiling: Profiling,
    pub cells: &'a EntryCells,
    pub osr: &'a OsrCells,
    pub exits: &'a ExitCells,
}

impl Env<'_> {
    /// What objects of the class hold in their headers.
    pub fn class_word(&self, class: ir::ClassId) -> u32 {
        (self.addresses.class_table - self.addresses.class_base) as u32 + self.layout.class_word[class]
    }
}

/// Namespaces of external names.
pub mod namespace {
    /// Index: a [`Stub`](super::Stub).
    pub const STUB: u32 = 0;
    /// Index: a [`Builtin`](crate::ir::Builtin).
    pub const BUILTIN: u32 = 1;
    /// Index: a function.
    pub const FUNCTION: u32 = 2;
}

#[derive(PartialEq, Eq, Hash)]
enum SigKey {
    Stub,
    Func(ir::FuncId),
    Selector(ir::SelectorId),
}

struct Translator<'a, 'b> {
    env: Env<'a>,
    id: ir::FuncId,
    source: &'a Function,
    b: FunctionBuilder<'b>,
    blocks: SecondaryMap<ir::Block, PackedOption<Block>>,
    /// Values that are not variables.
    values: SecondaryMap<ir::Value, PackedOption<Value>>,
    /// References that must survive collections.
    variables: SecondaryMap<ir::Value, PackedOption<Variable>>,
    live: Liveness,
    refs: Refs,
    homes: Homes,
    /// Of optimized code.
    loops: Option<Loops>,
    /// Where the collector may run next.
    point: Point,
    /// For each block, edges to it that are not translated yet.
    open_edges: SecondaryMap<ir::Block, u32>,
    sites: Sites,
    loc: Loc,
    free_checks: FreeChecks,
    /// The position of the check that the current operation's access makes.
    access_checks: Option<Loc>,
    /// The block in which a reference was last found not to be null.
    checked: SecondaryMap<ir::Value, PackedOption<ir::Block>>,
    current: ir::Block,
    /// Where the current operation's failure goes: set while a `Try` is translated.
    unwind: Option<BlockCall>,
    /// A block that is never reached, for calls that do not return.
    dead: Option<Block>,
    callees: HashMap<(u32, u32), FuncRef>,
    signatures: HashMap<SigKey, SigRef>,
    countdown: Countdown,
    /// Where the code can be left.
    exits: Vec<LoopPoll>,
    /// See [`Translator::leaving_blocks`].
    leaves: Vec<WayOut>,
}

fn clif_type(ty: Ty) -> Type {
    match ty {
        Ty::Int | Ty::Ref => types::I64,
        Ty::Float => types::F64,
        Ty::Bool => types::I8,
    }
}

/// Signature of a compiled function.
fn signature(params: &[TypeDesc], ret: Option<TypeDesc>) -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.extend(params.iter().map(|p| AbiParam::new(clif_type(p.ty()))));
    signature.returns.extend(ret.map(|r| AbiParam::new(clif_type(r.ty()))));
    signature
}

/// Translates a version of the function `id` into the empty `clif`.
pub fn translate(
    env: Env<'_>,
    id: ir::FuncId,
    source: &Function,
    level: Level,
    clif: &mut cranelift_codegen::ir::Function,
    context: &mut FunctionBuilderContext,
    config: TargetFrontendConfig,
) -> Sites {
    // Code that goes on for a loop stands in for the function that was called, and takes its frame.
    let params = if source.start == Start::Loop { &env.module.funcs[id].params } else { &source.params };
    clif.signature = signature(params, source.ret);
    clif.params.ensure_base_srcloc(SourceLoc::new(0));
    let order = source.reverse_postorder();
    let live = Liveness::new(source, &order);
    let probes_count = env.profiling == Profiling::Inlined;
    let free_checks = FreeChecks::new(source, &order, &live, probes_count, |op| checks::faults(&env, op));
    let countdown = Countdown::new(source, &order, probes_count);
    let dominators = (level == Level::Optimized).then(|| Dominators::new(source));
    let loops = dominators.as_ref().map(|dominators| Loops::new(source, dominators));
    let is_large = source.insts.len() > env.options.large_function;
    let looped = dominators.as_ref().zip(loops.as_ref()).filter(|(_, loops)| !loops.loops.is_empty() && !is_large);
    let homes = looped.map(|(dominators, loops)| {
        let facts = Facts::new(source, &order, &live, dominators, loops);
        Homes::new(&facts, env.options.loop_registers)
    });
    let exits = if env.has_osr_exits(id, source) { loop_polls(source) } else { Vec::new() };
    let mut t = Translator {
        env,
        id,
        source,
        b: FunctionBuilder::new(clif, context),
        blocks: SecondaryMap::with_capacity(source.blocks.len()),
        values: SecondaryMap::with_capacity(source.values.len()),
        variables: SecondaryMap::new(),
        live,
        refs: Refs::default(),
        homes: homes.unwrap_or_default(),
        loops,
        point: Point::Entry,
        open_edges: SecondaryMap::new(),
        sites: Sites::default(),
        loc: source.loc,
        free_checks,
        access_checks: None,
        checked: SecondaryMap::new(),
        current: source.entry(),
        unwind: None,
        dead: None,
        callees: HashMap::new(),
        signatures: HashMap::new(),
        countdown,
        exits,
        leaves: Vec::new(),
    };
    t.function(&order);
    t.b.seal_all_blocks();
    t.b.finalize(config);
    t.sites
}

/// Whether a trace may name the operation's position.
fn has_position(op: &Op) -> bool {
    op.may_throw() || op.is_safepoint() || matches!(op, Op::CallBuiltin { .. })
}

impl<'a> Translator<'a, '_> {
    fn function(&mut self, order: &[ir::Block]) {
        let entry = self.b.create_block();
        self.b.append_block_params_for_function_params(entry);
        self.b.switch_to_block(entry);
        self.b.seal_block(entry);
        let params: Vec<Value> = match self.source.start {
            Start::Call => self.b.block_params(entry).to_vec(),
            Start::Loop => self.handed_over(),
        };
        for (&param, value) in self.source.blocks[self.source.entry()].params.iter().zip(params) {
            self.define(param, value);
        }
        for &block in order {
            self.terminator_of(block).for_each_edge(|edge| self.open_edges[edge.block] += 1);
            if block == self.source.entry() {
                continue;
            }
            let clif = self.b.create_block();
            self.blocks[block] = clif.into();
            for &param in &self.source.blocks[block].params {
                self.b.append_block_param(clif, clif_type(self.source.values[param]));
            }
        }
        self.leaves = self.leaving_blocks(order);
        if self.source.start == Start::Loop && !self.leaves.is_empty() {
            let on = self.b.create_block();
            self.seem_to_leave(on);
            self.enter(on);
        }
        if self.source.start == Start::Call {
            self.check_stack();
            if self.env.profiling != Profiling::Off {
                self.count_call(SiteKind::Entry);
            }
        }
        for &block in order {
            if let Some(clif) = self.blocks[block].expand() {
                self.b.switch_to_block(clif);
                for (i, &param) in self.source.blocks[block].params.iter().enumerate() {
                    self.define(param, self.b.block_params(clif)[i]);
                }
            }
            self.block(block);
            self.terminator_of(block).for_each_edge(|edge| {
                self.open_edges[edge.block] -= 1;
                if self.open_edges[edge.block] == 0 {
                    self.b.seal_block(self.blocks[edge.block].expect("no edge leads to the entry"));
                }
            });
        }
        self.leave_all();
        if let Some(dead) = self.dead {
            self.b.switch_to_block(dead);
            self.b.set_cold_block(dead);
            self.b.ins().trap(TrapKind::Unreachable.code());
        }
    }

    fn terminator_of(&self, block: ir::Block) -> &'a Terminator {
        self.source.blocks[block].terminator.as_ref().expect("a finished block")
    }

    fn block(&mut self, block: ir::Block) {
        self.current = block;
        self.start_at_home(block);
        // At the entry a call has been counted before.
        if block != self.source.entry() {
            self.countdown.start_block(block);
        }
        let data = &self.source.blocks[block];
        for &inst in &data.insts {
            self.at_point(Point::Inst(inst));
            if self.free_checks.has_no_code(inst) {
                continue;
            }
            self.access_checks = self.free_checks.made_by(inst);
            let inst = &self.source.insts[inst];
            self.loc = inst.loc;
            if has_position(&inst.op) {
                self.mark(SiteKind::Runtime);
            }
            let result = self.op(&inst.op);
            if let (Some(value), Some(result)) = (inst.result, result) {
                self.define(value, result);
            }
        }
        self.at_point(Point::Try(block));
        self.loc = data.terminator_loc;
        if matches!(data.terminator, Some(Terminator::Try { .. } | Terminator::Throw(_))) {
            self.mark(SiteKind::Runtime);
        }
        self.terminator(self.terminator_of(block));
    }

    /// Everything emitted from now on comes from the current position, and calls are of this kind.
    fn mark(&mut self, kind: SiteKind) {
        let site = self.sites.push(Site { loc: self.loc, kind });
        self.b.set_srcloc(SourceLoc::new(site));
    }

    fn define(&mut self, value: ir::Value, clif: Value) {
        if self.live.root(value) != value {
            return;
        }
        if !self.live.is_crossing(value) {
            self.values[value] = clif.into();
            return;
        }
        let variable = self.b.declare_var(types::I64);
        self.variables[value] = variable.into();
        self.b.def_var(variable, clif);
    }

    fn value(&mut self, value: ir::Value) -> Value {
        let value = self.live.root(value);
        match self.variable(value) {
            Some(variable) => self.use_reference(value, variable),
            None => self.plain(value),
        }
    }

    /// A value that is no variable.
    fn plain(&self, value: ir::Value) -> Value {
        self.values[value].expand().unwrap_or_else(|| panic!("{value} is used before its definition in {}", self.source.name))
    }

    /// The integer a value is known to be.
    fn const_of(&self, value: Value) -> Option<i64> {
        use cranelift_codegen::ir::Opcode;
        let inst = self.b.func.dfg.value_def(value).inst()?;
        match self.b.func.dfg.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits()),
            _ => None,
        }
    }

    fn iconst(&mut self, value: i64) -> Value {
        self.b.ins().iconst(types::I64, value)
    }

    fn args(&mut self, values: &[ir::Value]) -> Vec<BlockArg> {
        values.iter().map(|&v| BlockArg::Value(self.value(v))).collect()
    }

    fn edge(&mut self, to: &BlockCall) -> (Block, Vec<BlockArg>) {
        (self.blocks[to.block].expect("no edge leads to the entry"), self.args(&to.args))
    }

    /// Loads a word of the thread's context.
    fn load_context(&mut self, ty: Type, offset: i32) -> Value {
        let context = self.b.ins().get_pinned_reg(types::I64);
        self.b.ins().load(ty, MemFlagsData::trusted(), context, offset)
    }

    fn store_context(&mut self, offset: i32, value: Value) {
        let context = self.b.ins().get_pinned_reg(types::I64);
        self.b.ins().store(MemFlagsData::trusted(), value, context, offset);
    }

    fn cold_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    /// Ends the block: goes to a new cold block if `cond`, on to a new block otherwise. The cold block is current; returns the other.
    fn branch_to_cold(&mut self, cond: Value) -> Block {
        let cold = self.cold_block();
        let on = self.b.create_block();
        self.b.ins().brif(cond, cold, &[], on, &[]);
        self.enter(cold);
        on
    }

    /// Goes on in a block to which all edges are there.
    fn enter(&mut self, block: Block) {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }

    /// At the function's entry: is there stack, does anybody ask for attention?
    fn check_stack(&mut self) {
        self.mark(SiteKind::Entry);
        let sp = self.b.ins().get_stack_pointer(types::I64);
        let limit = self.load_context(types::I64, offset::STACK_LIMIT);
        let is_low = self.b.ins().icmp(IntCC::UnsignedLessThan, sp, limit);
        let body = self.branch_to_cold(is_low);
        self.call_stub(Stub::Entry, SiteKind::Entry);
        if self.leaves.is_empty() {
            self.b.ins().jump(body, &[]);
        } else {
            self.seem_to_leave(body);
        }
        self.enter(body);
    }

    fn poll(&mut self) {
        if !self.env.options.polls {
            return;
        }
        let exit = self.exit_here();
        let flag = match self.env.options.osr {
            Osr::Always(_) if exit.is_some() => self.b.ins().iconst(types::I8, 1),
            _ => self.load_context(types::I8, offset::YIELD_FLAG),
        };
        let on = self.branch_to_cold(flag);
        match exit {
            Some((poll, cell)) => {
                self.call_stub(Stub::Poll, SiteKind::Loop(poll.block));
                let code = self.code_behind(cell);
                let leave = self.cold_block();
                self.b.ins().brif(code, leave, &[], on, &[]);
                self.enter(leave);
                self.leave_for(code, &poll.live);
            }
            None => {
                self.call_stub(Stub::Poll, SiteKind::Poll);
                self.b.ins().jump(on, &[]);
            }
        }
        self.enter(on);
    }

    fn op(&mut self, op: &Op) -> Option<Value> {
        match *op {
            Op::IConst(v) => Some(self.iconst(v)),
            Op::FConst(bits) => Some(self.b.ins().f64const(f64::from_bits(bits))),
            Op::BConst(v) => Some(self.b.ins().iconst(types::I8, i64::from(v))),
            Op::Null => Some(self.iconst(0)),
            Op::StrConst(s) => Some(self.iconst(self.env.addresses.strings[s] as i64)),
            Op::Unary(op, a) => Some(self.unary(op, a)),
            Op::Binary(op, a, b) => Some(self.binary(op, a, b)),
            Op::ICmp(cmp, a, b) => Some(self.int_compare(cmp, a, b)),
            Op::FCmp(cmp, a, b) => Some(self.float_compare(cmp, a, b)),
            Op::RefEq(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                Some(self.b.ins().icmp(IntCC::Equal, a, b))
            }
            Op::Select { cond, then, els } => {
                let (cond, then, els) = (self.value(cond), self.value(then), self.value(els));
                Some(self.b.ins().select(cond, then, els))
            }
            Op::New(class) => Some(self.new_object(class)),
            Op::NewArray(class, length) => Some(self.new_array(class, length)),
            Op::LoadField(field, object, null) => Some(self.load_field(field, object, null)),
            Op::StoreField { field, object, value, null, barrier } => self.store_field(field, object, value, null, barrier),
            Op::ArrayLen(array, null) => Some(self.array_len(array, null)),
            Op::CheckBounds(array, index) => Some(self.check_bounds(array, index)),
            Op::CheckIndex { array, index, length } => Some(self.check_index(array, index, length)),
            Op::LoadElem(kind, array, index) => Some(self.load_elem(kind, array, index)),
            Op::StoreElem(kind, array, index, value, barrier) => self.store_elem(kind, array, index, value, barrier),
            Op::NullCheck(object) => Some(self.null_check(object)),
            Op::InstanceOf(class, object) => Some(self.instance_of(class, object)),
            Op::HasClass(class, object) => Some(self.has_class(class, object)),
            Op::CheckCast(class, object) => Some(self.check_cast(class, object)),
            Op::LoadGlobal(global) => Some(self.load_global(global)),
            Op::StoreGlobal(global, value) => self.store_global(global, value),
            Op::Atomic(op, field, object, value) => self.atomic(op, field, object, value),
            Op::AtomicCas(field, object, expected, new) => Some(self.atomic_cas(field, object, expected, new)),
            Op::Call { .. } | Op::CallVirtual { .. } | Op::CallBuiltin { .. } => self.call(op),
            Op::Poll => {
                self.poll();
                None
            }
            Op::ExitPoll { exit, ref live } => {
                self.exit_poll(exit, live);
                None
            }
            Op::WatchedPoll { exit } => {
                self.watched_poll(exit);
                None
            }
            Op::Probe => {
                if self.env.profiling == Profiling::Inlined {
                    self.count_call(SiteKind::Probe);
                }
                None
            }
        }
    }

    fn terminator(&mut self, terminator: &Terminator) {
        if !matches!(terminator, Terminator::Try { .. }) {
            self.settle(terminator);
            self.go_home(terminator);
            self.settle_countdown(terminator);
        }
        match terminator {
            Terminator::Jump(to) => {
                let (block, args) = self.edge(to);
                self.b.ins().jump(block, &args);
            }
            Terminator::Branch { cond, then, els } => {
                let cond = self.value(*cond);
                self.branch(cond, then, els);
            }
            Terminator::Switch { index, targets, default } => self.switch(*index, targets, default),
            Terminator::Return(value) => {
                self.give_up_countdown();
                let values: Vec<Value> = value.iter().map(|&v| self.value(v)).collect();
                self.b.ins().return_(&values);
            }
            Terminator::Throw(error) => self.throw(*error),
            Terminator::Try { op, normal, unwind } => self.try_op(terminator, op, normal, unwind),
            Terminator::Leave { exit, live } => self.leave(*exit, live),
            Terminator::Unreachable => {
                self.b.ins().trap(TrapKind::Unreachable.code());
            }
        }
    }

    /// Where only the second way leaves a loop it is the first one to Cranelift, which comes to what lies behind that last: behind blocks of the loop that it comes to before, it moves nothing out of the loop any more (135.8,
    /// `elaborate.rs`, `start_block`).
    fn branch(&mut self, cond: Value, then: &BlockCall, els: &BlockCall) {
        let leaves = |to: &BlockCall| self.loops.as_ref().is_some_and(|loops| loops.is_left(self.current, to.block));
        let is_turned = leaves(els) && !leaves(then);
        let (then, els) = (self.edge(then), self.edge(els));
        let (cond, then, els) = if is_turned { (self.inverse(cond), els, then) } else { (cond, then, els) };
        self.b.ins().brif(cond, then.0, &then.1, els.0, &els.1);
    }

    fn inverse(&mut self, cond: Value) -> Value {
        let inst = self.b.func.dfg.value_def(cond).inst();
        match inst.map(|inst| self.b.func.dfg.insts[inst]) {
            Some(InstructionData::IntCompare { cond, args: [a, b], .. }) => self.b.ins().icmp(cond.complement(), a, b),
            Some(InstructionData::FloatCompare { cond, args: [a, b], .. }) => self.b.ins().fcmp(cond.complement(), a, b),
            _ => self.b.ins().icmp_imm_u(IntCC::Equal, cond, 0),
        }
    }

    fn switch(&mut self, index: ir::Value, targets: &[BlockCall], default: &BlockCall) {
        let index = self.value(index);
        let (default, default_args) = self.edge(default);
        let in_table = self.b.create_block();
        let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, targets.len() as i64);
        self.b.ins().brif(inside, in_table, &[], default, &default_args);
        self.enter(in_table);
        let calls: Vec<_> = targets
            .iter()
            .map(|to| {
                let (block, args) = self.edge(to);
                self.b.func.dfg.block_call(block, &args)
            })
            .collect();
        let default = self.b.func.dfg.block_call(default, &default_args);
        let table = self.b.create_jump_table(JumpTableData::new(default, &calls));
        let index = self.b.ins().ireduce(types::I32, index);
        self.b.ins().br_table(index, table);
    }

    fn try_op(&mut self, terminator: &Terminator, op: &Op, normal: &BlockCall, unwind: &BlockCall) {
        self.unwind = Some(unwind.clone());
        let has_result = op.result_ty(self.env.module, |v| self.source.values[v]).is_some();
        if matches!(op, Op::Call { .. } | Op::CallVirtual { .. } | Op::CallBuiltin { .. }) && op.may_throw() {
            self.try_call(op, normal, has_result);
        } else {
            let result = self.op(op);
            self.settle(terminator);
            self.settle_countdown(terminator);
            let (block, rest) = self.edge(normal);
            let args: Vec<BlockArg> = result.filter(|_| has_result).map(BlockArg::Value).into_iter().chain(rest).collect();
            self.b.ins().jump(block, &args);
        }
        self.unwind = None;
    }
}
