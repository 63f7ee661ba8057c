//! The reference interpreter: runs the SSA IR and thereby defines what a program means. Every other tier is tested against it.
//!
//! In: a verified module, its layout, and a [`Host`] (the runtime) for memory, builtins and yield points. Out: the called function's result, or an error pending in the thread context.
//! Recursion of the program never becomes recursion of the interpreter: frames lie on an explicit [`Stack`] with a limit of its own, past which the program gets its StackOverflowError.

pub mod host;
pub mod stack;

mod code;
mod moves;
mod prepare;
mod run;

pub use host::{Host, Slot};
pub use stack::Stack;

use crate::ir::{FuncId, Module};
use crate::layout::Layout;
use crate::trap::Thrown;
use code::Code;
use std::sync::Arc;

/// A program ready to run on any number of threads.
#[derive(Debug)]
pub struct Interpreter {
    code: Arc<Code>,
    stack_bytes: usize,
}

impl Interpreter {
    /// A thread's stack is 8 MiB, unless [`Interpreter::with_stack_bytes`] says otherwise.
    pub fn new(module: &Module, layout: &Layout) -> Self {
        Interpreter { code: Arc::new(prepare::prepare(module, layout)), stack_bytes: 8 << 20 }
    }

    /// Size of a thread's stack: a frame takes 8 bytes for each value of its function, and 32 more.
    pub fn with_stack_bytes(self, stack_bytes: usize) -> Self {
        Interpreter { stack_bytes, ..self }
    }

    /// Runs `func` on the current thread; `None` for functions without result. An error that the program does not handle is pending in the host's context.
    pub fn run<H: Host + ?Sized>(&self, host: &mut H, func: FuncId, args: &[Slot]) -> Result<Option<Slot>, Thrown> {
        let stack = Stack::new(self.code.clone(), self.stack_bytes);
        host.attach(&stack);
        let result = run::Run { code: &self.code, stack: &stack, host }.run(func, args);
        host.detach();
        result
    }
}
