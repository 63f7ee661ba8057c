//! One running program's machine code: compiles functions on their first call, enters them, and knows their frames.
//!
//! In: a module and where it lies. Out: results of calls.
//!
//! Every function has an entry cell, through which compiled code calls it, and the slots of virtual tables that answer with it. All hold the address of a lazy thunk until the function is compiled; installing stores the code's
//! address in them (release), after its tables are published. Threads that race for a function's first call compile it once: the others wait, and count as running while they do, so no collection can start meanwhile.

use super::api::*;
use super::compile::Compiler;
use super::frames::{self, FrameView};
use super::region::{CodeRegion, Pages};
use super::signals::{self, Registration};
use super::stubs::{self, Registers, Thunks};
use super::tables::CodeTables;
use super::translate::{Env, namespace};
use super::{disasm, stubs::Stub};
use crate::context::ThreadContext;
use crate::ir::*;
use crate::layout::{Layout, VTABLE};
use crate::trap::Thrown;
use cranelift_codegen::ir::UserExternalName;
use cranelift_entity::{EntityRef, PrimaryMap};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Shared by all threads of the program.
pub struct Engine {
    // First, so that it goes before the tables.
    _registration: Registration,
    module: Arc<Module>,
    layout: Arc<Layout>,
    addresses: Addresses,
    runtime: RuntimeFns,
    options: Options,
    /// On the heap: the signal handler knows its address.
    tables: Box<CodeTables>,
    region: CodeRegion,
    thunks: Thunks,
    cells: Pages,
    /// Addresses of the virtual table slots that answer with each function.
    slots: PrimaryMap<FuncId, Vec<u64>>,
    state: Mutex<State>,
    counters: Counters,
}

/// What one compilation at a time may touch.
struct State {
    compiler: Compiler,
    /// Why functions could not be compiled.
    failures: Vec<NativeError>,
}

#[derive(Default)]
struct Counters {
    functions: AtomicU64,
    compile_nanos: AtomicU64,
    code_bytes: AtomicU64,
}

impl Engine {
    /// # Errors
    /// [`NativeError::Unsupported`] off x86-64 Linux or without SSE 4.1, [`NativeError::Memory`] where the system refuses to map code memory.
    pub fn new(
        module: Arc<Module>,
        layout: Arc<Layout>,
        addresses: Addresses,
        runtime: RuntimeFns,
        options: Options,
    ) -> Result<Engine, NativeError> {
        if !std::arch::is_x86_feature_detected!("sse4.1") {
            return Err(NativeError::Unsupported("the processor lacks SSE 4.1".into()));
        }
        let funcs = module.funcs.len();
        let region = CodeRegion::new(options.code_size)?;
        let thunks = Thunks::new(&region, &runtime, funcs)?;
        let tables = Box::new(CodeTables::new(region.base(), region.size())?);
        let cells = Pages::zeroed_low((8 * funcs).max(8))?;
        let state = Mutex::new(State { compiler: Compiler::new(&options)?, failures: Vec::new() });
        let slots = slots(&module, &layout, &addresses);
        // SAFETY: the field order drops the registration before the tables.
        let registration = unsafe { Registration::new(&tables) };
        let engine = Engine {
            _registration: registration,
            module,
            layout,
            addresses,
            runtime,
            options,
            tables,
            region,
            thunks,
            cells,
            slots,
            state,
            counters: Counters::default(),
        };
        engine.module.funcs.keys().for_each(|func| engine.point(func, engine.thunks.lazy(func)));
        Ok(engine)
    }

    fn env(&self) -> Env<'_> {
        let (module, layout, addresses, options) = (&*self.module, &*self.layout, &self.addresses, &self.options);
        Env { module, layout, addresses, options, cells: self.cells.address() }
    }

    fn cell(&self, func: FuncId) -> &AtomicU64 {
        assert!(func.index() < self.module.funcs.len(), "{func} is not in the module");
        // SAFETY: inside the cells, which are only used as atomics, by Rust and by compiled code.
        unsafe { &*self.cells.start().cast::<AtomicU64>().add(func.index()) }
    }

    /// Lets all calls of the function go to `entry`.
    fn point(&self, func: FuncId, entry: u64) {
        self.cell(func).store(entry, Ordering::Release);
        for &slot in &self.slots[func] {
            // SAFETY: a slot of a virtual table in the class table, writable by the contract of `Addresses`; other threads read it as one word.
            unsafe { &*(slot as *const AtomicU64) }.store(entry, Ordering::Release);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The function's entry point; compiles it if that has not happened yet.
    ///
    /// # Errors
    /// [`NativeError::Compile`] where it exceeds a limit of the compiler, [`NativeError::Memory`] where the code region is full. Kept in [`Engine::failures`], too.
    pub fn compile(&self, func: FuncId) -> Result<u64, NativeError> {
        let mut state = self.state();
        let entry = self.cell(func).load(Ordering::Acquire);
        if entry != self.thunks.lazy(func) {
            return Ok(entry);
        }
        let started = Instant::now();
        let result = self.compile_into_region(&mut state.compiler, func);
        self.counters.compile_nanos.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        match &result {
            Ok(entry) => self.point(func, *entry),
            Err(error) => state.failures.push(error.clone()),
        }
        result
    }

    fn compile_into_region(&self, compiler: &mut Compiler, func: FuncId) -> Result<u64, NativeError> {
        let code = compiler.compile(self.env(), func)?;
        let place = self.region.place(&code.bytes, code.align, code.lead, |address, bytes| {
            code.relocate(address, bytes, |name| self.resolve(name));
        });
        let entry = place.ok_or_else(|| NativeError::Memory("code: the region is full".into()))?;
        self.counters.functions.fetch_add(1, Ordering::Relaxed);
        self.counters.code_bytes.fetch_add(code.bytes.len() as u64, Ordering::Relaxed);
        self.tables.add(entry, code.bytes.len() as u32, code.meta);
        Ok(entry)
    }

    fn resolve(&self, name: &UserExternalName) -> u64 {
        match name.namespace {
            namespace::STUB => self.thunks.stub(Stub::ALL[name.index as usize]),
            namespace::BUILTIN => self.thunks.builtin(Builtin::ALL[name.index as usize]),
            _ => unreachable!("functions are called through cells"),
        }
    }

    /// Calls a function. A `Float` argument or result travels as its bits, a `Bool` as 0 or 1. On `Err` the error is in `pending_error`.
    ///
    /// # Safety
    /// `ctx` is the current thread's, stays where it is, and its limits are set; arguments fit the function's parameters, references among them alive.
    pub unsafe fn enter(&self, ctx: *mut ThreadContext, func: FuncId, args: &[u64]) -> Result<u64, Thrown> {
        signals::prepare_thread();
        let function = &self.module.funcs[func];
        assert_eq!(args.len(), function.params.len(), "arguments of {}", function.name);
        let mut registers = Registers::default();
        let (mut ints, mut floats) = (registers.ints.iter_mut(), registers.floats.iter_mut());
        let mut stack = Vec::new();
        for (&arg, param) in args.iter().zip(&function.params) {
            let taken = match param.ty() {
                Ty::Float => floats.next().map(|f| *f = f64::from_bits(arg)),
                Ty::Int | Ty::Ref | Ty::Bool => ints.next().map(|i| *i = arg),
            };
            if taken.is_none() {
                stack.push(arg);
            }
        }
        // The stack pointer stays a multiple of 16.
        stack.resize(stack.len().next_multiple_of(2), 0);
        let entry = self.cell(func).load(Ordering::Acquire);
        // SAFETY: by contract, with arguments where the calling convention wants them.
        unsafe { stubs::enter(ctx, entry, &mut registers, stack.as_ptr(), stack.len() as u64, self) };
        if registers.thrown != 0 {
            return Err(Thrown);
        }
        Ok(match function.ret.map(TypeDesc::ty) {
            None => 0,
            Some(Ty::Int | Ty::Ref) => registers.int_result,
            Some(Ty::Bool) => registers.int_result & 1,
            Some(Ty::Float) => registers.float_result,
        })
    }

    /// Calls `f` on every reference in the compiled frames of the thread. Those of the context itself (`pending_error`, `trap_object`) are the runtime's.
    ///
    /// # Safety
    /// The thread stands outside compiled code (this thread, in something compiled code called; or another one that is stopped), and `f` leaves valid references.
    pub unsafe fn visit_roots(&self, ctx: *const ThreadContext, f: &mut dyn FnMut(&mut u64)) {
        // SAFETY: by contract.
        unsafe { frames::visit_roots(&self.tables, &*ctx, f) }
    }

    /// Calls `f` on the thread's frames, innermost first, until it breaks.
    ///
    /// # Safety
    /// As for [`Engine::visit_roots`].
    pub unsafe fn walk(&self, ctx: *const ThreadContext, f: &mut dyn FnMut(FuncId, Loc) -> ControlFlow<()>) {
        // SAFETY: by contract.
        unsafe { frames::walk(&self.tables, &*ctx, &mut |frame| f(frame.func, frame.loc)) }
    }

    /// As [`Engine::walk`], with what each frame stands at.
    ///
    /// # Safety
    /// As for [`Engine::visit_roots`].
    pub unsafe fn walk_sites(&self, ctx: *const ThreadContext, f: &mut dyn FnMut(FrameView) -> ControlFlow<()>) {
        // SAFETY: by contract.
        unsafe { frames::walk(&self.tables, &*ctx, f) }
    }

    /// What stands at a return address that a walk or a [`CallSeen`](crate::context::CallSeen) gave, innermost first, from any thread: the function with what it stands at (a call's site, or its entry or probe, where its own call has just begun),
    /// then those it is inlined into with the calls that lead there. `None` for an address that no compiled call returns to, such as that of a function Rust called.
    pub fn decode(&self, return_address: u64) -> Option<impl Iterator<Item = FrameView>> {
        frames::decode(&self.tables, return_address)
    }

    /// The function as it is handed to Cranelift, in its text form.
    pub fn dump_clif(&self, func: FuncId) -> String {
        self.state().compiler.clif(self.env(), func)
    }

    /// The function's machine code as it lies in memory, with addresses, source positions, traps and names of what it calls.
    ///
    /// # Errors
    /// As for [`Engine::compile`].
    pub fn dump_asm(&self, func: FuncId) -> Result<String, NativeError> {
        let entry = self.compile(func)?;
        Ok(disasm::listing(self, entry))
    }

    /// Calls `f` on the function, address and length in bytes of all code there is so far.
    pub fn each_code(&self, mut f: impl FnMut(FuncId, u64, u32)) {
        self.tables.each(|version| f(version.func, version.start, version.len));
    }

    pub fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            functions: read(&self.counters.functions),
            compile_nanos: read(&self.counters.compile_nanos),
            code_bytes: read(&self.counters.code_bytes),
            table_bytes: self.tables.table_bytes(),
        }
    }

    /// Why functions could not be compiled; calling one threw `OutOfMemoryError`.
    pub fn failures(&self) -> Vec<NativeError> {
        self.state().failures.clone()
    }

    pub fn module(&self) -> &Module {
        &self.module
    }

    pub(super) fn runtime(&self) -> &RuntimeFns {
        &self.runtime
    }

    pub(super) fn tables(&self) -> &CodeTables {
        &self.tables
    }

    pub(super) fn region(&self) -> &CodeRegion {
        &self.region
    }

    /// What compiled code calls directly, by address.
    pub(super) fn thunk_names(&self) -> HashMap<u64, String> {
        let stubs = Stub::ALL.iter().map(|&s| (self.thunks.stub(s), s.name().to_string()));
        stubs.chain(Builtin::ALL.iter().map(|&b| (self.thunks.builtin(b), b.name().to_string()))).collect()
    }

    /// Name of the function whose entry cell lies at an address.
    pub(super) fn cell_name(&self, address: u64) -> Option<&str> {
        let index = address.wrapping_sub(self.cells.address());
        let func = self.module.funcs.get(FuncId::new(usize::try_from(index / 8).ok().filter(|&i| i < self.module.funcs.len())?))?;
        index.is_multiple_of(8).then_some(&*func.name)
    }
}

fn slots(module: &Module, layout: &Layout, addresses: &Addresses) -> PrimaryMap<FuncId, Vec<u64>> {
    let mut slots: PrimaryMap<FuncId, Vec<u64>> = module.funcs.values().map(|_| Vec::new()).collect();
    for class in module.classes.keys() {
        let table = addresses.class_table + u64::from(layout.class_word[class]) + VTABLE as u64;
        for (slot, func) in layout.vtable(module, class).into_iter().enumerate() {
            if let Some(func) = func {
                slots[func].push(table + 8 * slot as u64);
            }
        }
    }
    slots
}
