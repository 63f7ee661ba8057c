//! Run-time failures of checks, as both tiers report them to the runtime, which makes the error objects.

/// What failed, with the operands its message needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trap {
    Null,
    Bounds {
        index: i64,
        length: i64,
    },
    DivisionByZero,
    /// Object (null where a null was cast) and target class.
    Cast {
        object: u64,
        target: crate::ir::ClassId,
    },
    NegativeLength {
        length: i64,
    },
    StackOverflow,
    OutOfMemory,
}

/// An operation threw: the error object is in [`crate::context::ThreadContext::pending_error`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thrown;
