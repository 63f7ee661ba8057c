//! Error objects: their making, their messages (the same for every tier), their traces.
//!
//! In: failed checks ([`Trap`]), failures of builtins. Out: an error pending in the thread. Invariant: throwing always works: an error for which there is no memory becomes an `OutOfMemoryError`, one
//! for which there is none either becomes the program's one prepared object.

use super::thread::{Handle, OutOfMemory, Ref, Thread};
use super::{trace, view};
use jit::ir::ClassId;
use jit::trap::{Thrown, Trap};

pub const OUT_OF_MEMORY: &str = "out of memory";

/// Throws a new error of a class; the trace is filled.
pub fn throw(thread: &Thread, class: ClassId, message: &str) -> Thrown {
    let scope = thread.scope();
    let error = make(thread, class, message).map(|e| scope.root(e));
    match error {
        Ok(error) => {
            trace::fill(thread, error);
            thread.set_error(error.get());
            Thrown
        }
        Err(OutOfMemory) => throw_out_of_memory(thread),
    }
}

fn make(thread: &Thread, class: ClassId, message: &str) -> Result<Ref, OutOfMemory> {
    let scope = thread.scope();
    let text = scope.root(thread.alloc_str(message.len())?);
    view::bytes_mut(text.get(), |b| b.copy_from_slice(message.as_bytes()));
    let error = thread.alloc_object(class)?;
    set_message(thread, error, text);
    Ok(error)
}

fn set_message(thread: &Thread, error: Ref, text: Handle<'_>) {
    let runtime = &thread.runtime;
    view::store_ref(thread, error, runtime.layout.field_offset[runtime.known.error_message], text.get());
}

/// Throws an `OutOfMemoryError`, from the reserve.
pub fn throw_out_of_memory(thread: &Thread) -> Thrown {
    let known = &thread.runtime.known;
    let scope = thread.scope();
    let error = thread.alloc_object_reserved(known.out_of_memory_error).map(|e| scope.root(e));
    let message = thread.alloc_array_reserved(known.str, OUT_OF_MEMORY.len()).map(|m| scope.root(m));
    let (Ok(error), Ok(message)) = (error, message) else {
        thread.set_error(Ref(thread.runtime.statics.last_error()));
        return Thrown;
    };
    view::bytes_mut(message.get(), |b| b.copy_from_slice(OUT_OF_MEMORY.as_bytes()));
    set_message(thread, error.get(), message);
    trace::fill(thread, error);
    thread.set_error(error.get());
    Thrown
}

impl From<OutOfMemory> for Failure {
    fn from(_: OutOfMemory) -> Self {
        Failure::OutOfMemory
    }
}

/// What a builtin may end with instead of a result, before it is an error object.
#[derive(Debug)]
pub enum Failure {
    OutOfMemory,
    Error(ClassId, String),
    /// The error is pending already.
    Thrown,
}

impl Failure {
    #[cold]
    pub fn throw(self, thread: &Thread) -> Thrown {
        match self {
            Failure::OutOfMemory => throw_out_of_memory(thread),
            Failure::Error(class, message) => throw(thread, class, &message),
            Failure::Thrown => Thrown,
        }
    }
}

/// Throws the error of a failed check.
pub fn trap(thread: &Thread, trap: Trap) -> Thrown {
    let known = &thread.runtime.known;
    let (class, message) = match trap {
        Trap::Null => (known.null_error, NULL.to_string()),
        Trap::Bounds { index, length } => (known.bounds_error, bounds(index, length)),
        Trap::DivisionByZero => (known.division_error, "division by zero".to_string()),
        Trap::Cast { object, target } => (known.cast_error, cast(thread, Ref(object), target)),
        Trap::NegativeLength { length } => (known.argument_error, format!("negative array length {length}")),
        Trap::StackOverflow => (known.stack_overflow_error, "stack overflow".to_string()),
        Trap::OutOfMemory => return throw_out_of_memory(thread),
    };
    throw(thread, class, &message)
}

pub const NULL: &str = "null where an object is needed";

pub fn bounds(index: i64, length: i64) -> String {
    format!("index {index} out of bounds for length {length}")
}

fn cast(thread: &Thread, object: Ref, target: ClassId) -> String {
    let module = &thread.runtime.module;
    let from = if object.is_null() { "null" } else { &module.classes[view::class_of(thread, object)].name };
    format!("cannot cast {from} to {}", module.classes[target].name)
}

/// Whether it is the prepared error, which has no trace and is shared by all threads.
pub fn is_last_error(thread: &Thread, error: Ref) -> bool {
    debug_assert!(!error.is_null());
    error.0 == thread.runtime.statics.last_error()
}
