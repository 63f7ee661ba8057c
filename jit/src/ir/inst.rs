//! Operations, terminators and their properties.
//!
//! Exceptions: an operation for which [`Op::may_throw`] holds throws out of the function, unless it stands in a [`Terminator::Try`], which gives it an unwind edge.
//! So control flow inside a function is always explicit, inlining into a handler only turns operations into `Try`s, and a frame that traps has no live values.

use super::builtin::Builtin;
use super::entities::*;
use super::types::{ElemKind, Ty};
use smallvec::SmallVec;

pub type Args = SmallVec<[Value; 4]>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    INeg,
    /// Bitwise complement.
    INot,
    /// Boolean negation.
    BNot,
    FNeg,
    FAbs,
    FSqrt,
    FFloor,
    FCeil,
    FTrunc,
    /// Halfway cases to even.
    FNearest,
    IntToFloat,
    /// Truncates, saturates, NaN to 0.
    FloatToInt,
    /// Every NaN gives 0x7ff8000000000000, so that no tier shows which one the machine made.
    FloatBits,
    FloatFromBits,
    BoolToInt,
    PopCount,
    LeadingZeros,
    TrailingZeros,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    IAdd,
    ISub,
    IMul,
    /// Truncates; MIN / -1 = MIN; throws on zero.
    IDiv,
    /// MIN % -1 = 0; throws on zero.
    IRem,
    IAnd,
    IOr,
    IXor,
    /// Shift counts modulo 64.
    IShl,
    /// Arithmetic.
    IShr,
    /// Logical.
    IUShr,
    FAdd,
    FSub,
    FMul,
    FDiv,
    BAnd,
    BOr,
    BXor,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntCmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Unsigned less than.
    Ult,
}

/// IEEE: every comparison with NaN is false but `Ne`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatCmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Sequentially consistent operations on an `Int` field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicOp {
    Load,
    Store,
    /// Gives the old value.
    FetchAdd,
}

/// What an access does with an object that is null.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Null {
    /// Throws NullError. What the front end emits.
    Throws,
    /// It is not null: a [`Op::NullCheck`] or the object's origin says so on every way here. The access needs no check and never throws.
    Never,
}

/// Whether a reference store tells the collector.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Barrier {
    Needed,
    /// The object was allocated, or went through a barrier, since the last safepoint.
    Elided,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    IConst(i64),
    /// Bits of the double.
    FConst(u64),
    BConst(bool),
    Null,
    StrConst(StrId),
    Unary(UnaryOp, Value),
    Binary(BinaryOp, Value, Value),
    ICmp(IntCmp, Value, Value),
    FCmp(FloatCmp, Value, Value),
    /// `RefEq a, b`: same object, or both null.
    RefEq(Value, Value),
    /// Both arms of the same type.
    Select {
        cond: Value,
        then: Value,
        els: Value,
    },

    /// A zeroed object. Throws OutOfMemoryError.
    New(ClassId),
    /// A zeroed array of the given array class. Throws ArgumentError for a negative length, OutOfMemoryError.
    NewArray(ClassId, Value),
    /// Throws NullError as [`Null`] says.
    LoadField(FieldId, Value, Null),
    /// Throws NullError as [`Null`] says.
    StoreField {
        field: FieldId,
        object: Value,
        value: Value,
        null: Null,
        barrier: Barrier,
    },
    /// Of arrays, `Bytes` and `Str`; never changes. Throws NullError as [`Null`] says.
    ArrayLen(Value, Null),
    /// `array`, `index` → the index, for [`Op::LoadElem`] and [`Op::StoreElem`] to depend on. Throws NullError, BoundsError.
    CheckBounds(Value, Value),
    /// [`Op::CheckBounds`] once the array is known not to be null and its length was loaded → the index. Throws BoundsError.
    CheckIndex {
        array: Value,
        index: Value,
        length: Value,
    },
    /// `array`, checked index. Never throws.
    LoadElem(ElemKind, Value, Value),
    /// `array`, checked index, value. Never throws.
    StoreElem(ElemKind, Value, Value, Value, Barrier),
    /// The value itself. Throws NullError.
    NullCheck(Value),
    /// False for null.
    InstanceOf(ClassId, Value),
    /// Whether the object, which is not null, is of exactly this class. Never throws.
    HasClass(ClassId, Value),
    /// The value itself. Throws CastError, also for null.
    CheckCast(ClassId, Value),
    LoadGlobal(GlobalId),
    StoreGlobal(GlobalId, Value),
    /// `object`, and `value` for all but `Load`. Throws NullError. `Store` has no result.
    Atomic(AtomicOp, FieldId, Value, Option<Value>),
    /// `object`, `expected`, `new` → Bool. Throws NullError.
    AtomicCas(FieldId, Value, Value, Value),

    Call {
        func: FuncId,
        args: Args,
        site: CallSiteId,
    },
    /// `args[0]` is the receiver; NullError if it is null.
    CallVirtual {
        selector: SelectorId,
        args: Args,
        site: CallSiteId,
    },
    CallBuiltin {
        builtin: Builtin,
        args: Args,
    },
    /// Yield point of a loop's back-edge; safepoint.
    Poll,
    /// The same in code that may be left there for code that counts calls, or does not: with what lives behind it and is not constant. [`crate::opt::exits`] makes it, behind all passes.
    ExitPoll {
        exit: Exit,
        live: Args,
    },
    /// The same in a loop inside of one that is left at an exit: what is done there while code of the other kind is to run is found out, and if that takes long, the loop gets an exit in place of this.
    WatchedPoll {
        exit: Exit,
    },
    /// A call of an inlined function begins here; the position says which. It has an effect (somebody counts), but touches no memory.
    Probe,
}

#[derive(Clone, PartialEq, Debug)]
pub struct BlockCall {
    pub block: Block,
    pub args: Args,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Terminator {
    Jump(BlockCall),
    Branch {
        cond: Value,
        then: BlockCall,
        els: BlockCall,
    },
    /// Case `i` goes to `targets[i]`, everything else to `default`.
    Switch {
        index: Value,
        targets: Vec<BlockCall>,
        default: BlockCall,
    },
    Return(Option<Value>),
    /// Leaves the function; inside a handler's reach the front end jumps instead. Null: NullError.
    Throw(Value),
    /// Runs `op`. `normal` gets the result (if `op` has one) before its own arguments, `unwind` the error object before its own.
    Try {
        op: Op,
        normal: BlockCall,
        unwind: BlockCall,
    },
    /// Goes on in the code that was made for the exit, which has this live: of code that goes on for a loop itself, at an exit of a loop around that one. Nobody but [`crate::opt::osr`] makes it.
    Leave {
        exit: Exit,
        live: Args,
    },
    Unreachable,
}

/// Operands of an operation in their order, by shared or by mutable reference.
macro_rules! for_each_operand {
    ($op:expr, $iter:ident, $f:expr) => {{
        let mut f = $f;
        match $op {
            Op::IConst(_) | Op::FConst(_) | Op::BConst(_) | Op::Null | Op::StrConst(_) | Op::New(_) | Op::LoadGlobal(_) => {}
            Op::Poll | Op::WatchedPoll { .. } | Op::Probe => {}
            Op::Unary(_, a) | Op::NewArray(_, a) | Op::LoadField(_, a, _) | Op::ArrayLen(a, _) | Op::NullCheck(a) => f(a),
            Op::InstanceOf(_, a) | Op::HasClass(_, a) | Op::CheckCast(_, a) | Op::StoreGlobal(_, a) => f(a),
            Op::Binary(_, a, b) | Op::ICmp(_, a, b) | Op::FCmp(_, a, b) | Op::RefEq(a, b) => [a, b].into_iter().for_each(&mut f),
            Op::StoreField { object: a, value: b, .. } | Op::CheckBounds(a, b) | Op::LoadElem(_, a, b) => {
                [a, b].into_iter().for_each(&mut f)
            }
            Op::Select { cond: a, then: b, els: c } | Op::StoreElem(_, a, b, c, _) | Op::AtomicCas(_, a, b, c) => {
                [a, b, c].into_iter().for_each(&mut f)
            }
            Op::CheckIndex { array, index, length } => [array, index, length].into_iter().for_each(&mut f),
            Op::Atomic(_, _, a, b) => {
                f(a);
                b.$iter().for_each(&mut f);
            }
            Op::Call { args, .. } | Op::CallVirtual { args, .. } | Op::CallBuiltin { args, .. } => args.$iter().for_each(&mut f),
            Op::ExitPoll { live, .. } => live.$iter().for_each(&mut f),
        }
    }};
}

impl Op {
    /// As the front end emits it, with all checks and barriers.
    pub fn load_field(field: FieldId, object: Value) -> Op {
        Op::LoadField(field, object, Null::Throws)
    }

    /// As [`Op::load_field`].
    pub fn store_field(field: FieldId, object: Value, value: Value) -> Op {
        Op::StoreField { field, object, value, null: Null::Throws, barrier: Barrier::Needed }
    }

    /// As [`Op::load_field`].
    pub fn array_len(array: Value) -> Op {
        Op::ArrayLen(array, Null::Throws)
    }

    /// As [`Op::load_field`].
    pub fn store_elem(kind: ElemKind, array: Value, index: Value, value: Value) -> Op {
        Op::StoreElem(kind, array, index, value, Barrier::Needed)
    }

    /// Type of the result; `None` where there is none. Needs the module for fields, globals and signatures.
    pub fn result_ty(&self, module: &super::module::Module, value_ty: impl Fn(Value) -> Ty) -> Option<Ty> {
        use UnaryOp::*;
        Some(match self {
            Op::IConst(_) | Op::ArrayLen(..) | Op::CheckBounds(..) | Op::CheckIndex { .. } => Ty::Int,
            Op::FConst(_) => Ty::Float,
            Op::BConst(_) | Op::ICmp(..) | Op::FCmp(..) | Op::RefEq(..) | Op::InstanceOf(..) => Ty::Bool,
            Op::HasClass(..) | Op::AtomicCas(..) => Ty::Bool,
            Op::Null | Op::StrConst(_) | Op::New(_) | Op::NewArray(..) | Op::NullCheck(_) | Op::CheckCast(..) => Ty::Ref,
            Op::Unary(op, _) => match op {
                INeg | INot | FloatToInt | FloatBits | BoolToInt | PopCount | LeadingZeros | TrailingZeros => Ty::Int,
                BNot => Ty::Bool,
                FNeg | FAbs | FSqrt | FFloor | FCeil | FTrunc | FNearest | IntToFloat | FloatFromBits => Ty::Float,
            },
            Op::Binary(op, ..) => op.operand_ty(),
            Op::Select { then, .. } => value_ty(*then),
            Op::LoadField(f, ..) => module.fields[*f].ty.ty(),
            Op::LoadElem(kind, ..) => kind.ty(),
            Op::LoadGlobal(g) => module.globals[*g].ty.ty(),
            Op::Atomic(AtomicOp::Load | AtomicOp::FetchAdd, ..) => Ty::Int,
            Op::Atomic(AtomicOp::Store, ..) | Op::StoreField { .. } | Op::StoreElem(..) | Op::StoreGlobal(..) => return None,
            Op::Poll | Op::ExitPoll { .. } | Op::WatchedPoll { .. } | Op::Probe => return None,
            Op::Call { func, .. } => return module.funcs[*func].ret.map(|t| t.ty()),
            Op::CallVirtual { selector, .. } => return module.selectors[*selector].ret.map(|t| t.ty()),
            Op::CallBuiltin { builtin, .. } => return builtin.signature().ret,
        })
    }

    /// Whether its value, which is always the same, is as well made anew.
    pub fn is_constant(&self) -> bool {
        matches!(self, Op::IConst(_) | Op::FConst(_) | Op::BConst(_) | Op::Null | Op::StrConst(_))
    }

    /// Whether it can leave the function (or take the unwind edge of a `Try`).
    pub fn may_throw(&self) -> bool {
        match self {
            Op::Binary(op, ..) => matches!(op, BinaryOp::IDiv | BinaryOp::IRem),
            Op::LoadField(.., null) | Op::StoreField { null, .. } | Op::ArrayLen(_, null) => *null == Null::Throws,
            Op::New(_)
            | Op::NewArray(..)
            | Op::CheckBounds(..)
            | Op::CheckIndex { .. }
            | Op::NullCheck(_)
            | Op::CheckCast(..)
            | Op::Atomic(..)
            | Op::AtomicCas(..) => true,
            Op::Call { .. } | Op::CallVirtual { .. } => true,
            Op::CallBuiltin { builtin, .. } => builtin.signature().may_throw,
            _ => false,
        }
    }

    /// Whether the collector may run inside: every reference live across it can move.
    pub fn is_safepoint(&self) -> bool {
        match self {
            Op::New(_) | Op::NewArray(..) | Op::Call { .. } | Op::CallVirtual { .. } => true,
            Op::Poll | Op::ExitPoll { .. } | Op::WatchedPoll { .. } => true,
            Op::CallBuiltin { builtin, .. } => builtin.signature().is_safepoint,
            _ => false,
        }
    }

    /// Calls `f` on every operand.
    pub fn for_each_arg(&self, mut f: impl FnMut(Value)) {
        for_each_operand!(self, iter, |v: &Value| f(*v));
    }

    /// Calls `f` on every operand, which it may replace.
    pub fn for_each_arg_mut(&mut self, f: impl FnMut(&mut Value)) {
        for_each_operand!(self, iter_mut, f);
    }
}

impl IntCmp {
    /// What holds where this does not.
    pub fn negated(self) -> Option<IntCmp> {
        Some(match self {
            IntCmp::Eq => IntCmp::Ne,
            IntCmp::Ne => IntCmp::Eq,
            IntCmp::Lt => IntCmp::Ge,
            IntCmp::Le => IntCmp::Gt,
            IntCmp::Gt => IntCmp::Le,
            IntCmp::Ge => IntCmp::Lt,
            IntCmp::Ult => return None,
        })
    }

    /// The same with the operands the other way round.
    pub fn swapped(self) -> Option<IntCmp> {
        Some(match self {
            IntCmp::Eq | IntCmp::Ne => self,
            IntCmp::Lt => IntCmp::Gt,
            IntCmp::Le => IntCmp::Ge,
            IntCmp::Gt => IntCmp::Lt,
            IntCmp::Ge => IntCmp::Le,
            IntCmp::Ult => return None,
        })
    }

    /// For which of less, equal, greater a signed comparison holds, as bits 0 to 2.
    pub fn outcomes(self) -> Option<u8> {
        Some(match self {
            IntCmp::Lt => 0b001,
            IntCmp::Eq => 0b010,
            IntCmp::Gt => 0b100,
            IntCmp::Le => 0b011,
            IntCmp::Ne => 0b101,
            IntCmp::Ge => 0b110,
            IntCmp::Ult => return None,
        })
    }

    /// The comparison that holds for these outcomes; `Err` where it holds for none or all.
    pub fn with_outcomes(outcomes: u8) -> Result<IntCmp, bool> {
        Ok(match outcomes & 0b111 {
            0b001 => IntCmp::Lt,
            0b010 => IntCmp::Eq,
            0b100 => IntCmp::Gt,
            0b011 => IntCmp::Le,
            0b101 => IntCmp::Ne,
            0b110 => IntCmp::Ge,
            all => return Err(all != 0),
        })
    }

    /// What holds if this does, or if the operands are equal.
    pub fn or_equal(self) -> IntCmp {
        match self {
            IntCmp::Lt => IntCmp::Le,
            IntCmp::Gt => IntCmp::Ge,
            other => other,
        }
    }

    /// Whether `other` holds of the same operands wherever this does.
    pub fn implies(self, other: IntCmp) -> bool {
        self == other
            || match self {
                IntCmp::Eq => matches!(other, IntCmp::Le | IntCmp::Ge),
                IntCmp::Lt => matches!(other, IntCmp::Le | IntCmp::Ne),
                IntCmp::Gt => matches!(other, IntCmp::Ge | IntCmp::Ne),
                _ => false,
            }
    }
}

impl BinaryOp {
    /// Type of both operands and of the result.
    pub fn operand_ty(self) -> Ty {
        use BinaryOp::*;
        match self {
            IAdd | ISub | IMul | IDiv | IRem | IAnd | IOr | IXor | IShl | IShr | IUShr => Ty::Int,
            FAdd | FSub | FMul | FDiv => Ty::Float,
            BAnd | BOr | BXor => Ty::Bool,
        }
    }
}

impl BinaryOp {
    /// Operands may change places. (What NaN comes out of two is not defined.)
    pub fn is_commutative(self) -> bool {
        use BinaryOp::*;
        matches!(self, IAdd | IMul | IAnd | IOr | IXor | FAdd | FMul | BAnd | BOr | BXor)
    }
}

impl FloatCmp {
    /// `a ? b` is `b swapped a`.
    pub fn swapped(self) -> FloatCmp {
        match self {
            FloatCmp::Eq | FloatCmp::Ne => self,
            FloatCmp::Lt => FloatCmp::Gt,
            FloatCmp::Le => FloatCmp::Ge,
            FloatCmp::Gt => FloatCmp::Lt,
            FloatCmp::Ge => FloatCmp::Le,
        }
    }
}

impl Terminator {
    /// The edges, in the order of [`Terminator::for_each_edge`].
    pub fn edges(&self) -> impl Iterator<Item = &BlockCall> {
        let (first, rest): (&[BlockCall], [Option<&BlockCall>; 2]) = match self {
            Terminator::Jump(to) => (&[], [Some(to), None]),
            Terminator::Branch { then: a, els: b, .. } | Terminator::Try { normal: a, unwind: b, .. } => (&[], [Some(a), Some(b)]),
            Terminator::Switch { targets, default, .. } => (targets, [Some(default), None]),
            Terminator::Return(_) | Terminator::Throw(_) | Terminator::Leave { .. } | Terminator::Unreachable => (&[], [None, None]),
        };
        first.iter().chain(rest.into_iter().flatten())
    }

    /// Calls `f` on every edge.
    pub fn for_each_edge(&self, mut f: impl FnMut(&BlockCall)) {
        match self {
            Terminator::Jump(to) => f(to),
            Terminator::Branch { then: a, els: b, .. } | Terminator::Try { normal: a, unwind: b, .. } => {
                f(a);
                f(b);
            }
            Terminator::Switch { targets, default, .. } => targets.iter().chain([default]).for_each(f),
            Terminator::Return(_) | Terminator::Throw(_) | Terminator::Leave { .. } | Terminator::Unreachable => {}
        }
    }

    /// Calls `f` on every edge, in the order of [`Terminator::for_each_edge`].
    pub fn for_each_edge_mut(&mut self, mut f: impl FnMut(&mut BlockCall)) {
        match self {
            Terminator::Jump(to) => f(to),
            Terminator::Branch { then, els, .. } => [then, els].into_iter().for_each(f),
            Terminator::Switch { targets, default, .. } => targets.iter_mut().chain([default]).for_each(f),
            Terminator::Try { normal, unwind, .. } => [normal, unwind].into_iter().for_each(f),
            Terminator::Return(_) | Terminator::Throw(_) | Terminator::Leave { .. } | Terminator::Unreachable => {}
        }
    }

    /// The edge at `index` in the order of [`Terminator::for_each_edge`].
    pub fn edge_mut(&mut self, index: usize) -> Option<&mut BlockCall> {
        match self {
            Terminator::Jump(to) => (index == 0).then_some(to),
            Terminator::Branch { then: a, els: b, .. } | Terminator::Try { normal: a, unwind: b, .. } => match index {
                0 => Some(a),
                1 => Some(b),
                _ => None,
            },
            Terminator::Switch { targets, default, .. } => {
                if index == targets.len() {
                    return Some(default);
                }
                targets.get_mut(index)
            }
            Terminator::Return(_) | Terminator::Throw(_) | Terminator::Leave { .. } | Terminator::Unreachable => None,
        }
    }

    /// Calls `f` on every operand that is not an edge's argument.
    pub fn for_each_operand(&self, mut f: impl FnMut(Value)) {
        match self {
            Terminator::Branch { cond: v, .. } | Terminator::Switch { index: v, .. } => f(*v),
            Terminator::Return(Some(v)) | Terminator::Throw(v) => f(*v),
            Terminator::Try { op, .. } => op.for_each_arg(f),
            Terminator::Leave { live, .. } => live.iter().copied().for_each(f),
            Terminator::Jump(_) | Terminator::Return(None) | Terminator::Unreachable => {}
        }
    }

    /// Calls `f` on every value used, which it may replace: operands, then the edges' arguments.
    pub fn for_each_arg_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        match self {
            Terminator::Branch { cond: v, .. } | Terminator::Switch { index: v, .. } => f(v),
            Terminator::Return(Some(v)) | Terminator::Throw(v) => f(v),
            Terminator::Try { op, .. } => op.for_each_arg_mut(&mut f),
            Terminator::Leave { live, .. } => live.iter_mut().for_each(&mut f),
            Terminator::Jump(_) | Terminator::Return(None) | Terminator::Unreachable => {}
        }
        self.for_each_edge_mut(|edge| edge.args.iter_mut().for_each(&mut f));
    }
}
