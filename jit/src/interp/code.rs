//! What the interpreter runs: functions as flat lists of instructions, operands as slot numbers in the frame.

use super::moves::Move;
use crate::ir::*;
use cranelift_entity::PrimaryMap;

/// A slot of the frame.
pub(super) type Reg = u32;

pub(super) const NO_REG: Reg = Reg::MAX;

/// The result's slot first ([`NO_REG`]: none), then operands in the order of the [`Op`]. 20 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instr {
    /// Low and high half.
    Const(Reg, u32, u32),
    Str(Reg, StrId),
    Unary(UnaryOp, Reg, Reg),
    IAdd(Reg, Reg, Reg),
    ISub(Reg, Reg, Reg),
    IMul(Reg, Reg, Reg),
    IDiv(Reg, Reg, Reg),
    IRem(Reg, Reg, Reg),
    IAnd(Reg, Reg, Reg),
    IOr(Reg, Reg, Reg),
    IXor(Reg, Reg, Reg),
    IShl(Reg, Reg, Reg),
    IShr(Reg, Reg, Reg),
    IUShr(Reg, Reg, Reg),
    FAdd(Reg, Reg, Reg),
    FSub(Reg, Reg, Reg),
    FMul(Reg, Reg, Reg),
    FDiv(Reg, Reg, Reg),
    IEq(Reg, Reg, Reg),
    INe(Reg, Reg, Reg),
    ILt(Reg, Reg, Reg),
    ILe(Reg, Reg, Reg),
    IUlt(Reg, Reg, Reg),
    FCmp(FloatCmp, Reg, Reg, Reg),
    Select(Reg, Reg, Reg, Reg),
    New(Reg, ClassId),
    NewArray(Reg, ClassId, Reg),
    Load(Reg, i32, Reg),
    Store(Ty, i32, Reg, Reg),
    ArrayLen(Reg, Reg),
    CheckBounds(Reg, Reg, Reg),
    LoadElem(ElemKind, Reg, Reg, Reg),
    StoreElem(ElemKind, Reg, Reg, Reg),
    NullCheck(Reg, Reg),
    InstanceOf(Reg, ClassId, Reg),
    HasClass(Reg, ClassId, Reg),
    CheckCast(Reg, ClassId, Reg),
    LoadGlobal(Reg, GlobalId),
    StoreGlobal(GlobalId, Reg),
    AtomicLoad(Reg, i32, Reg),
    AtomicStore(i32, Reg, Reg),
    AtomicFetchAdd(Reg, i32, Reg, Reg),
    /// Operands at an index of the function's `args`, as in the calls: their number, then their slots.
    AtomicCas(Reg, i32, u32),
    Call(Reg, FuncId, u32, CallSiteId),
    /// Result, virtual table slot, operands.
    CallVirtual(Reg, u32, u32, CallSiteId),
    CallBuiltin(Reg, Builtin, u32),
    Poll,
    Jump(u32),
    /// Condition and the first of two edges: then, else.
    Branch(Reg, u32),
    /// Index, first edge, number of cases; the default's edge follows the cases'.
    Switch(Reg, u32, u32),
    Return(Reg),
    ReturnNone,
    Throw(Reg),
    Unreachable,
}

const _: () = assert!(size_of::<Instr>() == 20);

/// Where an edge leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub pc: u32,
    /// A range of the function's `moves`.
    pub moves: (u32, u32),
}

/// Where a frame stands whose code has not begun. No instruction is run there.
pub(super) const ENTRY: u32 = 0;

#[derive(Debug, Default)]
pub(super) struct FuncCode {
    pub code: Vec<Instr>,
    /// Position of each instruction.
    pub locs: Vec<Loc>,
    /// What positions of inlined code mean.
    pub inlined: PrimaryMap<InlinedId, Inlined>,
    pub args: Vec<Reg>,
    pub edges: Vec<Edge>,
    pub moves: Vec<Move>,
    /// Instructions in a `Try`, with the unwind edge; sorted.
    pub handlers: Vec<(u32, u32)>,
    /// Slots of the parameters.
    pub params: Vec<Reg>,
    /// Where the collector may run: the instruction, and where in `live` the slots end of those references that are needed afterwards, and for which it looks. Sorted.
    pub safepoints: Vec<(u32, u32)>,
    pub live: Vec<Reg>,
    pub slots: u32,
    /// Where an error is put for its handler's moves.
    pub error_slot: Reg,
}

impl FuncCode {
    /// The slots of the references that are needed after an instruction.
    pub fn live_at(&self, pc: u32) -> &[Reg] {
        let Ok(i) = self.safepoints.binary_search_by_key(&pc, |s| s.0) else { return &[] };
        let start = i.checked_sub(1).map_or(0, |before| self.safepoints[before].1);
        &self.live[start as usize..self.safepoints[i].1 as usize]
    }
}

/// The whole program, prepared.
#[derive(Debug)]
pub(super) struct Code {
    pub funcs: Vec<FuncCode>,
    /// Virtual tables, one after the other, and where each class's starts.
    pub vtables: Vec<u32>,
    pub vtable_start: Vec<u32>,
    pub classes: Vec<ClassTest>,
}

/// What type tests need.
#[derive(Debug)]
pub(super) struct ClassTest {
    pub lo: u32,
    pub hi: u32,
    pub is_interface: bool,
    /// Sorted.
    pub interfaces: Vec<ClassId>,
}

impl Code {
    pub fn instance_of(&self, class: ClassId, target: ClassId) -> bool {
        let (class, test) = (&self.classes[class.as_u32() as usize], &self.classes[target.as_u32() as usize]);
        if test.is_interface {
            return class.interfaces.binary_search(&target).is_ok();
        }
        (test.lo..test.hi).contains(&class.lo)
    }
}
