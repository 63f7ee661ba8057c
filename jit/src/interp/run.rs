//! The interpreter's loop: one thread's run of prepared code.
//!
//! In: a function and arguments. Out: its result, or an error that no frame handles. Calls push frames on the explicit [`Stack`], never on the machine's.
//! Invariants: `stack.pc` is up to date wherever the host may walk the stack (safepoints and checks that fail); the host hears of every frame that is pushed or popped.

use super::code::*;
use super::host::{Host, Slot};
use super::prepare::{at, handler};
use super::stack::{Frame, Stack};
use crate::ir::*;
use crate::trap::{Thrown, Trap};
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::atomic::Ordering;

pub(super) struct Run<'a, H: Host + ?Sized> {
    pub code: &'a Code,
    pub stack: &'a Stack,
    pub host: &'a mut H,
}

/// Why the loop over one view of the stack's memory ended.
enum Exit {
    /// The first frame returned.
    Done(Option<Slot>),
    /// The memory must grow to this slot; then the function is called.
    Grow {
        end: usize,
        call: NewFrame,
    },
    Thrown,
}

/// A frame about to be pushed, with its arguments.
struct NewFrame {
    /// The call; `None` for a thread's first function.
    site: Option<CallSiteId>,
    func: FuncId,
    base: u32,
    dst: Reg,
    args: SmallVec<[Slot; 8]>,
}

impl<H: Host + ?Sized> Run<'_, H> {
    pub fn run(mut self, func: FuncId, args: &[Slot]) -> Result<Option<Slot>, Thrown> {
        let code = &self.code.funcs[at(func)];
        let Ok(base) = self.stack.next_base(code.slots) else { return Err(self.host.trap(Trap::StackOverflow)) };
        let mut enter = Some(NewFrame { site: None, func, base, dst: NO_REG, args: args.into() });
        self.stack.grow(base as usize + code.slots as usize);
        loop {
            match self.segment(enter.take()) {
                Exit::Done(result) => return Ok(result),
                Exit::Thrown => return Err(Thrown),
                Exit::Grow { end, call } => {
                    self.stack.grow(end);
                    enter = Some(call);
                }
            }
        }
    }

    /// Runs until the end, or until the memory must grow. Enters the frame `enter` first if there is one.
    fn segment(&mut self, enter: Option<NewFrame>) -> Exit {
        let slots = self.stack.slots();
        let slots: &[Cell<u64>] = &slots;
        let all = self.code;
        let mut func: &FuncCode;
        let mut code: &[Instr];
        let mut regs: &[Cell<u64>];
        let mut pc: usize;

        // Makes the innermost frame the one whose registers are at hand.
        macro_rules! load_frame {
            () => {{
                let frame = self.stack.top().expect("a frame");
                func = &all.funcs[at(frame.func)];
                code = &func.code;
                regs = &slots[frame.base as usize..][..func.slots as usize];
            }};
        }
        macro_rules! get {
            ($reg:expr) => {
                regs[$reg as usize].get()
            };
        }
        macro_rules! set {
            ($reg:expr, $value:expr) => {{
                let value: u64 = $value;
                regs[$reg as usize].set(value);
            }};
        }
        // Finds the handler of what was thrown at `pc`, and goes there.
        macro_rules! unwind {
            () => {{
                match self.unwind(pc as u32) {
                    None => return Exit::Thrown,
                    Some(edge) => {
                        load_frame!();
                        set!(func.error_slot, self.host.take_error());
                        take_edge!(edge);
                    }
                }
                continue;
            }};
        }
        macro_rules! trap {
            ($trap:expr) => {{
                self.stack.pc.set(pc as u32);
                let trap = $trap;
                let Thrown = self.host.trap(trap);
                unwind!();
            }};
        }
        // What a safepoint gave, with the frame's position known during it.
        macro_rules! safepoint {
            ($result:expr) => {{
                self.stack.pc.set(pc as u32);
                match $result {
                    Ok(value) => value,
                    Err(Thrown) => unwind!(),
                }
            }};
        }
        macro_rules! non_null {
            ($reg:expr) => {{
                let object = get!($reg);
                if object == 0 {
                    trap!(Trap::Null);
                }
                object
            }};
        }
        macro_rules! take_edge {
            ($edge:expr) => {{
                let edge = func.edges[$edge as usize];
                for m in &func.moves[edge.moves.0 as usize..edge.moves.1 as usize] {
                    set!(m.to, get!(m.from));
                }
                pc = edge.pc as usize;
            }};
        }
        // The frame of `$call` is the innermost from now on.
        macro_rules! enter {
            ($call:expr) => {{
                let call: NewFrame = $call;
                self.stack.push(Frame { func: call.func, base: call.base, pc: pc as u32, dst: call.dst });
                self.host.call(call.site, call.func);
                load_frame!();
                for (&param, &arg) in func.params.iter().zip(&call.args) {
                    set!(param, arg);
                }
                if self.host.context().stack_limit.load(Ordering::Relaxed) == u64::MAX {
                    self.stack.pc.set(ENTRY);
                    if let Err(Thrown) = self.host.yield_point() {
                        // The callee has not begun: the call throws.
                        self.stack.pop();
                        self.host.ret();
                        unwind!();
                    }
                }
                pc = ENTRY as usize + 1;
            }};
        }
        macro_rules! call {
            ($site:expr, $callee:expr, $dst:expr, $args:expr) => {{
                let callee: FuncId = $callee;
                let slots_needed = all.funcs[at(callee)].slots;
                let Ok(base) = self.stack.next_base(slots_needed) else { trap!(Trap::StackOverflow) };
                let call = NewFrame { site: Some($site), func: callee, base, dst: $dst, args: operands(func, regs, $args) };
                let end = base as usize + slots_needed as usize;
                if end > slots.len() {
                    self.stack.pc.set(pc as u32);
                    return Exit::Grow { end, call };
                }
                enter!(call);
                continue;
            }};
        }
        macro_rules! binary {
            ($op:ident, $d:expr, $a:expr, $b:expr) => {
                match eval::binary(BinaryOp::$op, get!($a), get!($b)) {
                    Some(value) => set!($d, value),
                    None => trap!(Trap::DivisionByZero),
                }
            };
        }
        macro_rules! int_cmp {
            ($cmp:ident, $d:expr, $a:expr, $b:expr) => {
                set!($d, u64::from(eval::int_cmp(IntCmp::$cmp, get!($a), get!($b))))
            };
        }

        // Only to give the variables values: a segment starts by entering a frame.
        func = &all.funcs[0];
        code = &func.code;
        regs = &[];
        pc = self.stack.pc.get() as usize;
        let mut enter = enter;
        loop {
            if let Some(call) = enter.take() {
                enter!(call);
            }
            let instr = code[pc];
            self.host.step();
            match instr {
                Instr::Const(d, low, high) => set!(d, u64::from(low) | u64::from(high) << 32),
                Instr::Str(d, str) => set!(d, self.host.str_const(str)),
                Instr::Unary(op, d, a) => set!(d, eval::unary(op, get!(a))),
                Instr::IAdd(d, a, b) => binary!(IAdd, d, a, b),
                Instr::ISub(d, a, b) => binary!(ISub, d, a, b),
                Instr::IMul(d, a, b) => binary!(IMul, d, a, b),
                Instr::IDiv(d, a, b) => binary!(IDiv, d, a, b),
                Instr::IRem(d, a, b) => binary!(IRem, d, a, b),
                Instr::IAnd(d, a, b) => binary!(IAnd, d, a, b),
                Instr::IOr(d, a, b) => binary!(IOr, d, a, b),
                Instr::IXor(d, a, b) => binary!(IXor, d, a, b),
                Instr::IShl(d, a, b) => binary!(IShl, d, a, b),
                Instr::IShr(d, a, b) => binary!(IShr, d, a, b),
                Instr::IUShr(d, a, b) => binary!(IUShr, d, a, b),
                Instr::FAdd(d, a, b) => binary!(FAdd, d, a, b),
                Instr::FSub(d, a, b) => binary!(FSub, d, a, b),
                Instr::FMul(d, a, b) => binary!(FMul, d, a, b),
                Instr::FDiv(d, a, b) => binary!(FDiv, d, a, b),
                Instr::IEq(d, a, b) => int_cmp!(Eq, d, a, b),
                Instr::INe(d, a, b) => int_cmp!(Ne, d, a, b),
                Instr::ILt(d, a, b) => int_cmp!(Lt, d, a, b),
                Instr::ILe(d, a, b) => int_cmp!(Le, d, a, b),
                Instr::IUlt(d, a, b) => int_cmp!(Ult, d, a, b),
                Instr::FCmp(cmp, d, a, b) => set!(d, u64::from(eval::float_cmp(cmp, get!(a), get!(b)))),
                Instr::Select(d, cond, then, els) => set!(d, if get!(cond) != 0 { get!(then) } else { get!(els) }),

                Instr::New(d, class) => set!(d, safepoint!(self.host.new_object(class))),
                Instr::NewArray(d, class, n) => {
                    let length = get!(n) as i64;
                    if length < 0 {
                        trap!(Trap::NegativeLength { length });
                    }
                    set!(d, safepoint!(self.host.new_array(class, length)));
                }
                Instr::Load(d, offset, o) => set!(d, self.host.load_field(non_null!(o), offset)),
                Instr::Store(ty, offset, o, v) => self.host.store_field(non_null!(o), offset, ty, get!(v)),
                Instr::ArrayLen(d, a) => set!(d, self.host.array_len(non_null!(a)) as u64),
                Instr::CheckBounds(d, a, i) => {
                    let length = self.host.array_len(non_null!(a));
                    let index = get!(i);
                    if index >= length as u64 {
                        trap!(Trap::Bounds { index: index as i64, length });
                    }
                    set!(d, index);
                }
                Instr::LoadElem(kind, d, a, i) => set!(d, self.host.load_elem(kind, get!(a), get!(i) as i64)),
                Instr::StoreElem(kind, a, i, v) => self.host.store_elem(kind, get!(a), get!(i) as i64, get!(v)),
                Instr::NullCheck(d, v) => set!(d, non_null!(v)),
                Instr::InstanceOf(d, target, v) => {
                    let object = get!(v);
                    set!(d, u64::from(object != 0 && all.instance_of(self.host.class_of(object), target)));
                }
                Instr::HasClass(d, target, v) => {
                    let object = get!(v);
                    set!(d, u64::from(object != 0 && self.host.class_of(object) == target));
                }
                Instr::CheckCast(d, target, v) => {
                    let object = get!(v);
                    if object == 0 || !all.instance_of(self.host.class_of(object), target) {
                        trap!(Trap::Cast { object, target });
                    }
                    set!(d, object);
                }
                Instr::LoadGlobal(d, global) => set!(d, self.host.load_global(global)),
                Instr::StoreGlobal(global, v) => self.host.store_global(global, get!(v)),
                Instr::AtomicLoad(d, offset, o) => set!(d, self.host.atomic(AtomicOp::Load, non_null!(o), offset, 0)),
                Instr::AtomicStore(offset, o, v) => _ = self.host.atomic(AtomicOp::Store, non_null!(o), offset, get!(v)),
                Instr::AtomicFetchAdd(d, offset, o, v) => set!(d, self.host.atomic(AtomicOp::FetchAdd, non_null!(o), offset, get!(v))),
                Instr::AtomicCas(d, offset, args) => {
                    let [o, expected, new] = [1, 2, 3].map(|i| func.args[args as usize + i]);
                    set!(d, u64::from(self.host.atomic_cas(non_null!(o), offset, get!(expected), get!(new))));
                }

                Instr::Call(d, callee, args, site) => call!(site, callee, d, args),
                Instr::CallVirtual(d, slot, args, site) => {
                    let receiver = non_null!(func.args[args as usize + 1]);
                    let table = all.vtable_start[at(self.host.class_of(receiver))];
                    call!(site, FuncId::from_u32(all.vtables[(table + slot) as usize]), d, args);
                }
                Instr::CallBuiltin(d, builtin, args) => {
                    let operands = operands(func, regs, args);
                    let result = safepoint!(self.host.builtin(builtin, &operands));
                    if d != NO_REG {
                        set!(d, result);
                    }
                }
                Instr::Poll => {
                    if self.host.context().yield_flag.load(Ordering::Relaxed) != 0 {
                        safepoint!(self.host.yield_point());
                    }
                }

                Instr::Jump(edge) => {
                    take_edge!(edge);
                    continue;
                }
                Instr::Branch(cond, then) => {
                    take_edge!(then + u32::from(get!(cond) == 0));
                    continue;
                }
                Instr::Switch(index, first, cases) => {
                    take_edge!(first + get!(index).min(u64::from(cases)) as u32);
                    continue;
                }
                Instr::Return(_) | Instr::ReturnNone => {
                    let result = if let Instr::Return(v) = instr { Some(get!(v)) } else { None };
                    let left = self.stack.pop().expect("a frame returns");
                    self.host.ret();
                    if self.stack.depth() == 0 {
                        return Exit::Done(result);
                    }
                    load_frame!();
                    pc = left.pc as usize;
                    if left.dst != NO_REG {
                        set!(left.dst, result.unwrap_or(0));
                    }
                }
                Instr::Throw(v) => {
                    let error = non_null!(v);
                    self.stack.pc.set(pc as u32);
                    let Thrown = self.host.throw(error);
                    unwind!();
                }
                Instr::Unreachable => {
                    let top = self.stack.top().expect("a frame");
                    panic!("{} reached code that its lowering promised unreachable, or has no body", top.func);
                }
            }
            pc += 1;
        }
    }

    /// Pops frames until one handles what was thrown at `pc` of the innermost: gives its unwind edge. `None` if none does; then the stack is empty.
    fn unwind(&mut self, mut pc: u32) -> Option<u32> {
        while let Some(frame) = self.stack.top() {
            if let Some(edge) = handler(&self.code.funcs[at(frame.func)], pc) {
                return Some(edge);
            }
            self.stack.pop();
            self.host.ret();
            pc = frame.pc;
        }
        None
    }
}

fn operands(func: &FuncCode, regs: &[Cell<u64>], start: u32) -> SmallVec<[Slot; 8]> {
    let (&len, rest) = func.args[start as usize..].split_first().expect("a length");
    rest[..len as usize].iter().map(|&reg| regs[reg as usize].get()).collect()
}
