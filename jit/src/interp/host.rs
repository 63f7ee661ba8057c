//! What the interpreter asks of the runtime (memory, builtins, yield points), and what it tells whoever wants to know (calls and returns).
//!
//! Slots are 64-bit: an `Int`, the bits of a `Float`, 0/1 for a `Bool`, an address (or 0 for null) for a `Ref`. Object arguments are not null, and offsets come from the [`crate::layout::Layout`].

use super::stack::Stack;
use crate::context::ThreadContext;
use crate::ir::*;
use crate::trap::{Thrown, Trap};

pub type Slot = u64;

/// One thread's access to the runtime. Whatever may allocate or stop (marked *safepoint*) can move objects: the interpreter keeps every live reference in its [`Stack`], which the runtime knows and updates.
pub trait Host {
    /// Called before the first frame: the stack stays at this address until `detach`. It may be read through a shared reference from any other of these functions, and while the thread is stopped.
    fn attach(&mut self, stack: *const Stack);
    /// Called after the last frame.
    fn detach(&mut self);
    fn context(&self) -> &ThreadContext;
    /// Takes the pending error.
    fn take_error(&mut self) -> Slot;
    /// Makes an error object (not null) pending.
    fn throw(&mut self, error: Slot) -> Thrown;
    /// *Safepoint.* Makes the error object for a failed check, trace filled, and leaves it pending.
    fn trap(&mut self, trap: Trap) -> Thrown;

    /// *Safepoint.*
    fn new_object(&mut self, class: ClassId) -> Result<Slot, Thrown>;
    /// *Safepoint.* `length` is not negative.
    fn new_array(&mut self, class: ClassId, length: i64) -> Result<Slot, Thrown>;
    fn str_const(&mut self, str: StrId) -> Slot;
    fn class_of(&self, object: Slot) -> ClassId;
    fn load_field(&self, object: Slot, offset: i32) -> Slot;
    fn store_field(&mut self, object: Slot, offset: i32, ty: Ty, value: Slot);
    fn atomic(&mut self, op: AtomicOp, object: Slot, offset: i32, value: Slot) -> Slot;
    fn atomic_cas(&mut self, object: Slot, offset: i32, expected: Slot, new: Slot) -> bool;
    fn array_len(&self, array: Slot) -> i64;
    fn load_elem(&self, kind: ElemKind, array: Slot, index: i64) -> Slot;
    fn store_elem(&mut self, kind: ElemKind, array: Slot, index: i64, value: Slot);
    fn load_global(&self, global: GlobalId) -> Slot;
    fn store_global(&mut self, global: GlobalId, value: Slot);
    /// *Safepoint* where the builtin's signature says so. The result is 0 for builtins without one.
    fn builtin(&mut self, builtin: Builtin, args: &[Slot]) -> Result<Slot, Thrown>;
    /// *Safepoint.* The slow path of a yield point; called when the context's flag or limit asks for it.
    fn yield_point(&mut self) -> Result<(), Thrown>;

    // --- What is told, not asked: no safepoints, and no code where nobody listens.

    /// An instruction is about to run.
    fn step(&mut self) {}
    /// A function's frame is there, its code has not begun; from `site`, or as the first of a run. A call for which there is no room on the stack is not made, and its caller throws.
    fn call(&mut self, site: Option<CallSiteId>, callee: FuncId) {
        _ = (site, callee);
    }
    /// The innermost frame is gone: it returned, or an error that it does not handle left it. As many of these as of calls come before a run's end.
    fn ret(&mut self) {}
}
