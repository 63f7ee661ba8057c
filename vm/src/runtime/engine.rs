//! What runs functions: the runtime's view of the interpreter and of machine code, and their frames.
//!
//! An engine enters functions on the current OS thread, and knows where the references in a stopped thread's frames are and which functions they belong to.

use super::host::ThreadHost;
use super::profiling::interpreted::ThreadCalls;
use super::program::Runtime;
use super::recorder::Recorder;
use super::thread::Thread;
use jit::interp::{Interpreter, Slot};
use jit::ir::{FuncId, Loc, Module};
use jit::layout::Layout;
use jit::trap::Thrown;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The frames of a thread that stands outside program code: in a call to the runtime (the caller's own), or stopped.
pub trait Frames {
    /// Calls `f` on every reference slot of the frames, nulls included.
    fn visit_roots(&self, thread: &Thread, f: &mut dyn FnMut(&mut u64));

    /// Calls `f` on every frame's function and present position, innermost first, until it breaks.
    fn walk(&self, thread: &Thread, f: &mut dyn FnMut(FuncId, Loc) -> ControlFlow<()>);
}

/// A tier, or several that call each other.
pub trait Engine: Frames + Send + Sync {
    /// Calls a function on the current thread, which is Running. Gives its result (0 if it has none), or leaves the error pending in the context.
    fn run(&self, thread: &Thread, func: FuncId, args: &[Slot]) -> Result<Slot, Thrown>;

    /// Its code meets yield points, at which a thread's sampler can be asked; the interpreter says each call instead.
    fn samples_at_yield_points(&self) -> bool {
        false
    }

    /// Lets calls go to code that counts them, or to code that does not, as far as there are both.
    fn count_calls(&self, _counts: bool) {}

    /// Some code is better than what functions begin in.
    fn has_optimized_code(&self) -> bool {
        false
    }

    /// Makes code that does not count for what has only code that does. May take long.
    fn complete_twins(&self) {}

    /// Frees code that is out of use.
    ///
    /// # Safety
    /// These are all threads of the runtime; all but the caller's are stopped, and the caller's stands outside program code.
    unsafe fn reclaim(&self, _runtime: &Runtime, _threads: &[&Thread]) {}
}

/// The reference interpreter as an engine.
pub struct InterpreterEngine {
    interpreter: Interpreter,
    recorder: Option<Arc<Recorder>>,
}

impl InterpreterEngine {
    /// `stack_bytes`: of each thread's interpreter stack.
    pub fn new(module: &Module, layout: &Layout, stack_bytes: usize) -> Self {
        InterpreterEngine { interpreter: Interpreter::new(module, layout).with_stack_bytes(stack_bytes), recorder: None }
    }

    /// Every call and return goes to the recorder.
    pub fn recorded_by(self, recorder: Arc<Recorder>) -> Self {
        InterpreterEngine { recorder: Some(recorder), ..self }
    }
}

impl Frames for InterpreterEngine {
    fn visit_roots(&self, thread: &Thread, f: &mut dyn FnMut(&mut u64)) {
        // SAFETY: the interpreter says when its stack is there, and it is read only while the thread is inside a call to the runtime.
        if let Some(stack) = unsafe { thread.interpreter_stack().as_ref() } {
            stack.for_each_root(f);
        }
    }

    fn walk(&self, thread: &Thread, f: &mut dyn FnMut(FuncId, Loc) -> ControlFlow<()>) {
        // SAFETY: as above.
        if let Some(stack) = unsafe { thread.interpreter_stack().as_ref() } {
            stack.walk(f);
        }
    }
}

impl Engine for InterpreterEngine {
    fn run(&self, thread: &Thread, func: FuncId, args: &[Slot]) -> Result<Slot, Thrown> {
        let result = match (&self.recorder, &thread.runtime.options.profiler) {
            (Some(recorder), _) => self.interpreter.run(&mut ThreadHost::heard_by(thread, recorder.thread(thread.id)), func, args),
            (None, Some(profiler)) => {
                self.interpreter.run(&mut ThreadHost::heard_by(thread, ThreadCalls::new(profiler, thread)), func, args)
            }
            (None, None) => self.interpreter.run(&mut ThreadHost::new(thread), func, args),
        };
        result.map(|r| r.unwrap_or(0))
    }
}
