//! From a module to what the interpreter runs. In: a verified [`Module`] and its [`Layout`]. Out: [`Code`].
//!
//! Every value gets a slot of its own, but for those that are another one checked. The last two slots of a frame belong to no value: one breaks circles among an edge's moves,
//! the other carries a `Try`'s result or error to its edge's moves.

use super::code::*;
use super::moves::{Move, sequence};
use crate::ir::dominators::preorder;
use crate::ir::liveness::{Liveness, Point};
use crate::ir::*;
use crate::layout::Layout;
use cranelift_entity::{EntityRef, SecondaryMap};

pub(super) fn prepare(module: &Module, layout: &Layout) -> Code {
    let mut vtables = Vec::new();
    let mut vtable_start = Vec::new();
    let mut classes = Vec::new();
    for (id, class) in module.classes.iter() {
        vtable_start.push(vtables.len() as u32);
        vtables.extend(layout.vtable(module, id).into_iter().map(|f| f.map_or(u32::MAX, |f| f.as_u32())));
        let (lo, hi) = layout.range[id];
        classes.push(ClassTest { lo, hi, is_interface: class.kind == ClassKind::Interface, interfaces: class.interfaces.clone() });
    }
    let funcs = module.funcs.values().map(|func| Translator::new(module, layout, func).run()).collect();
    Code { funcs, vtables, vtable_start, classes }
}

struct Translator<'a> {
    module: &'a Module,
    layout: &'a Layout,
    func: &'a Function,
    slot: SecondaryMap<Value, Reg>,
    live: Liveness,
    out: FuncCode,
    block_pc: SecondaryMap<Block, u32>,
    /// Targets of the edges in `out.edges`, to be resolved when all blocks have their place.
    targets: Vec<Block>,
    /// Scratch of the moves; the other spare slot is `out.error_slot`.
    scratch: Reg,
}

impl<'a> Translator<'a> {
    fn new(module: &'a Module, layout: &'a Layout, func: &'a Function) -> Self {
        let order = if func.layout.is_empty() { Vec::new() } else { preorder(func) };
        let live = Liveness::new(func, &order);
        let mut slot = SecondaryMap::with_default(NO_REG);
        let mut count = 0;
        for data in func.layout.iter().map(|&b| &func.blocks[b]) {
            let results = data.insts.iter().filter_map(|&i| func.insts[i].result);
            for value in data.params.iter().copied().chain(results).filter(|&v| live.root(v) == v) {
                slot[value] = count;
                count += 1;
            }
        }
        for value in func.values.keys() {
            slot[value] = slot[live.root(value)];
        }
        let out = FuncCode { slots: count + 2, error_slot: count + 1, inlined: func.inlined.clone(), ..FuncCode::default() };
        Translator { module, layout, func, slot, live, out, block_pc: SecondaryMap::new(), targets: Vec::new(), scratch: count }
    }

    fn run(mut self) -> FuncCode {
        self.safepoint(Point::Entry);
        self.push(Instr::Unreachable, self.func.loc);
        let Some(&entry) = self.func.layout.first() else {
            self.push(Instr::Unreachable, self.func.loc);
            return self.out;
        };
        self.out.params = self.func.blocks[entry].params.iter().map(|&v| self.slot[v]).collect();
        for &block in &self.func.layout {
            self.block_pc[block] = self.pc();
            let data = &self.func.blocks[block];
            // The host is told of calls that are made, not of those that were inlined.
            for (&id, inst) in data.insts.iter().map(|i| (i, &self.func.insts[*i])).filter(|(_, inst)| inst.op != Op::Probe) {
                let dst = inst.result.map_or(NO_REG, |v| self.slot[v]);
                self.safepoint(Point::Inst(id));
                self.op(&inst.op, dst, inst.loc);
            }
            self.safepoint(Point::Try(block));
            self.terminator(data.terminator.as_ref().expect("blocks are terminated"), data.terminator_loc);
        }
        for (edge, &target) in self.out.edges.iter_mut().zip(&self.targets) {
            edge.pc = self.block_pc[target];
        }
        self.out.locs[ENTRY as usize] = self.out.locs[ENTRY as usize + 1];
        self.out
    }

    fn pc(&self) -> u32 {
        self.out.code.len() as u32
    }

    /// The next instruction is at this point, if the collector may run there.
    fn safepoint(&mut self, point: Point) {
        let live = self.live.at(point);
        if !live.is_empty() {
            self.out.live.extend(live.iter().map(|&v| self.slot[v]));
            self.out.safepoints.push((self.pc(), self.out.live.len() as u32));
        }
    }

    fn push(&mut self, instr: Instr, loc: Loc) {
        self.out.code.push(instr);
        self.out.locs.push(loc);
    }

    fn args(&mut self, args: &[Value]) -> u32 {
        let start = self.out.args.len() as u32;
        self.out.args.push(args.len() as u32);
        self.out.args.extend(args.iter().map(|&v| self.slot[v]));
        start
    }

    /// `first`: the slot of what the block gets before the edge's own arguments.
    fn edge(&mut self, to: &BlockCall, first: Option<Reg>) -> u32 {
        let from = first.into_iter().chain(to.args.iter().map(|&v| self.slot[v]));
        let params = self.func.blocks[to.block].params.iter().map(|&v| self.slot[v]);
        let moves = sequence(from.zip(params).map(|(from, to)| Move { from, to }), self.scratch);
        let start = self.out.moves.len() as u32;
        self.out.moves.extend(moves);
        self.targets.push(to.block);
        self.out.edges.push(Edge { pc: 0, moves: (start, self.out.moves.len() as u32) });
        self.out.edges.len() as u32 - 1
    }

    fn terminator(&mut self, terminator: &Terminator, loc: Loc) {
        let instr = match terminator {
            Terminator::Jump(to) => Instr::Jump(self.edge(to, None)),
            Terminator::Branch { cond, then, els } => {
                let first = self.edge(then, None);
                self.edge(els, None);
                Instr::Branch(self.slot[*cond], first)
            }
            Terminator::Switch { index, targets, default } => {
                let first = self.out.edges.len() as u32;
                targets.iter().chain([default]).for_each(|to| _ = self.edge(to, None));
                Instr::Switch(self.slot[*index], first, targets.len() as u32)
            }
            Terminator::Return(Some(value)) => Instr::Return(self.slot[*value]),
            Terminator::Return(None) => Instr::ReturnNone,
            Terminator::Throw(error) => Instr::Throw(self.slot[*error]),
            // What goes on for an exit is machine code.
            Terminator::Leave { .. } | Terminator::Unreachable => Instr::Unreachable,
            Terminator::Try { op, normal, unwind } => {
                let has_result = op.result_ty(self.module, |v| self.func.values[v]).is_some();
                let spare = self.out.error_slot;
                let at = self.pc();
                self.op(op, if has_result { spare } else { NO_REG }, loc);
                let normal = self.edge(normal, has_result.then_some(spare));
                let unwind = self.edge(unwind, Some(spare));
                self.out.handlers.push((at, unwind));
                Instr::Jump(normal)
            }
        };
        self.push(instr, loc);
    }

    /// One instruction, so that a `Try`'s handler covers exactly it.
    fn op(&mut self, op: &Op, d: Reg, loc: Loc) {
        let instr = self.instr(op, d);
        self.push(instr, loc);
    }

    fn instr(&mut self, op: &Op, d: Reg) -> Instr {
        let constant = |bits: u64| Instr::Const(d, bits as u32, (bits >> 32) as u32);
        let s = |v: &Value| self.slot[*v];
        let offset = |f: &FieldId| self.layout.field_offset[*f];
        match op {
            Op::IConst(n) => constant(*n as u64),
            Op::FConst(bits) => constant(*bits),
            Op::BConst(b) => constant(u64::from(*b)),
            Op::Null => constant(0),
            Op::StrConst(str) => Instr::Str(d, *str),
            Op::Unary(op, a) => Instr::Unary(*op, d, s(a)),
            Op::Binary(op, a, b) => binary(*op)(d, s(a), s(b)),
            Op::ICmp(cmp, a, b) => int_cmp(*cmp, d, s(a), s(b)),
            Op::FCmp(cmp, a, b) => Instr::FCmp(*cmp, d, s(a), s(b)),
            Op::RefEq(a, b) => Instr::IEq(d, s(a), s(b)),
            Op::Select { cond, then, els } => Instr::Select(d, s(cond), s(then), s(els)),
            Op::New(class) => Instr::New(d, *class),
            Op::NewArray(class, n) => Instr::NewArray(d, *class, s(n)),
            Op::LoadField(field, o, _) => Instr::Load(d, offset(field), s(o)),
            Op::StoreField { field, object, value, .. } => {
                Instr::Store(self.module.fields[*field].ty.ty(), offset(field), s(object), s(value))
            }
            Op::ArrayLen(a, _) => Instr::ArrayLen(d, s(a)),
            Op::CheckBounds(a, i) => Instr::CheckBounds(d, s(a), s(i)),
            // The array knows its length.
            Op::CheckIndex { array, index, .. } => Instr::CheckBounds(d, s(array), s(index)),
            Op::LoadElem(kind, a, i) => Instr::LoadElem(*kind, d, s(a), s(i)),
            Op::StoreElem(kind, a, i, v, _) => Instr::StoreElem(*kind, s(a), s(i), s(v)),
            Op::NullCheck(v) => Instr::NullCheck(d, s(v)),
            Op::InstanceOf(class, v) => Instr::InstanceOf(d, *class, s(v)),
            Op::HasClass(class, v) => Instr::HasClass(d, *class, s(v)),
            Op::CheckCast(class, v) => Instr::CheckCast(d, *class, s(v)),
            Op::LoadGlobal(global) => Instr::LoadGlobal(d, *global),
            Op::StoreGlobal(global, v) => Instr::StoreGlobal(*global, s(v)),
            Op::Atomic(op, field, o, v) => {
                let value = v.as_ref().map_or(NO_REG, s);
                match op {
                    AtomicOp::Load => Instr::AtomicLoad(d, offset(field), s(o)),
                    AtomicOp::Store => Instr::AtomicStore(offset(field), s(o), value),
                    AtomicOp::FetchAdd => Instr::AtomicFetchAdd(d, offset(field), s(o), value),
                }
            }
            Op::AtomicCas(field, o, expected, new) => Instr::AtomicCas(d, offset(field), self.args(&[*o, *expected, *new])),
            Op::Call { func, args, site } => Instr::Call(d, *func, self.args(args), *site),
            Op::CallVirtual { selector, args, site } => Instr::CallVirtual(d, self.layout.slot[*selector], self.args(args), *site),
            Op::CallBuiltin { builtin, args } => Instr::CallBuiltin(d, *builtin, self.args(args)),
            Op::Poll | Op::ExitPoll { .. } | Op::WatchedPoll { .. } => Instr::Poll,
            Op::Probe => unreachable!("left out, and in no `Try`, as it does not throw"),
        }
    }
}

fn binary(op: BinaryOp) -> fn(Reg, Reg, Reg) -> Instr {
    match op {
        BinaryOp::IAdd => Instr::IAdd,
        BinaryOp::ISub => Instr::ISub,
        BinaryOp::IMul => Instr::IMul,
        BinaryOp::IDiv => Instr::IDiv,
        BinaryOp::IRem => Instr::IRem,
        BinaryOp::IAnd | BinaryOp::BAnd => Instr::IAnd,
        BinaryOp::IOr | BinaryOp::BOr => Instr::IOr,
        BinaryOp::IXor | BinaryOp::BXor => Instr::IXor,
        BinaryOp::IShl => Instr::IShl,
        BinaryOp::IShr => Instr::IShr,
        BinaryOp::IUShr => Instr::IUShr,
        BinaryOp::FAdd => Instr::FAdd,
        BinaryOp::FSub => Instr::FSub,
        BinaryOp::FMul => Instr::FMul,
        BinaryOp::FDiv => Instr::FDiv,
    }
}

fn int_cmp(cmp: IntCmp, d: Reg, a: Reg, b: Reg) -> Instr {
    match cmp {
        IntCmp::Eq => Instr::IEq(d, a, b),
        IntCmp::Ne => Instr::INe(d, a, b),
        IntCmp::Lt => Instr::ILt(d, a, b),
        IntCmp::Le => Instr::ILe(d, a, b),
        IntCmp::Gt => Instr::ILt(d, b, a),
        IntCmp::Ge => Instr::ILe(d, b, a),
        IntCmp::Ult => Instr::IUlt(d, a, b),
    }
}

/// The unwind edge of the instruction at `pc`.
pub(super) fn handler(func: &FuncCode, pc: u32) -> Option<u32> {
    let i = func.handlers.binary_search_by_key(&pc, |h| h.0).ok()?;
    Some(func.handlers[i].1)
}

/// Index of an id in a plain vector.
pub(super) fn at(id: impl EntityRef) -> usize {
    id.index()
}
