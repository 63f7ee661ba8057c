//! One running program's machine code: compiles functions on their first call and anew when asked to, enters them, and knows their frames.
//!
//! In: a module and where it lies, better bodies of its functions. Out: results of calls.
//!
//! Every function has an entry cell, through which compiled code calls it, and the slots of virtual tables that answer with it (`cells`). They hold the address of a lazy thunk while there is no code for the function, or its next call is to be noticed (`cold`, `watch`); installing a version stores its
//! code's address in them (release), after its tables are published. Threads that race for a function's first call compile it once: the others wait, and count as running while they do, so no collection can start meanwhile. Each level
//! compiles one function at a time and waits for no other level. Where calls are counted a function may have two versions at a time ([`Engine::count_calls`]). What was installed before is retired, and freed when nobody can run it any more (`versions`).
//!
//! Locks are taken in this order: a compiler, the versions, then those of tables or region, one at a time.

use super::api::*;
use super::cells::EntryCells;
use super::cold::Calls;
use super::compile::Compiler;
use super::exits::{ExitCells, Families};
use super::frames::{self, FrameView};
use super::osr::OsrCells;
use super::region::{CodeRegion, can_reuse_code_memory};
use super::signals::{self, Registration};
use super::stubs::{self, Registers, Thunks};
use super::tables::CodeTables;
use super::translate::{Env, namespace};
use super::versions::OutOfUse;
use super::{disasm, stubs::Stub};
use crate::context::ThreadContext;
use crate::ir::*;
use crate::layout::Layout;
use crate::opt::exits::WithExits;
use crate::trap::Thrown;
use cranelift_codegen::ir::UserExternalName;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Of code that checks the stack's limit itself, in bytes.
const ANY_FRAME: u32 = u32::MAX;

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
    cells: EntryCells,
    osr: OsrCells,
    exits: ExitCells,
    /// By [`Level`].
    compilers: [Mutex<Compiler>; 2],
    versions: Mutex<Versions>,
    counters: Counters,
}

/// Held while cells change, and while code is freed.
#[derive(Default)]
pub(super) struct Versions {
    pub out_of_use: OutOfUse,
    pub families: Families,
    /// Why functions could not be compiled when they were called, the last reason of each.
    failures: BTreeMap<FuncId, NativeError>,
    /// Of functions that are compiled, in the order in which they were.
    twins: Vec<Twins>,
    /// Where they stand there.
    index: FxHashMap<FuncId, usize>,
    pub calls: Calls,
}

impl Versions {
    /// Exceeds a limit of the compiler, as it stands in the module: trying again does not help. (Memory may be there the next time.)
    fn limit_exceeded(&self, func: FuncId) -> Option<&NativeError> {
        self.failures.get(&func).filter(|error| matches!(error, NativeError::Compile { .. }))
    }

    /// Nothing leads to this code any more, by entries and lengths. All that was made of the same body goes with it.
    pub fn retire(&mut self, code: &[(u64, u32)]) {
        let mut gone = Vec::new();
        for &(entry, len) in code {
            if !gone.contains(&(entry, len)) {
                let group = self.families.take(entry).unwrap_or_else(|| vec![(entry, len)]);
                self.out_of_use.retire(&group);
                gone.extend(group);
            }
        }
    }

    /// Of a function that was compiled once.
    pub fn twins(&mut self, func: FuncId) -> Option<&mut Twins> {
        self.index.get(&func).map(|&i| &mut self.twins[i])
    }
}

/// The versions of a function: where calls are counted some of the time there may be two, one of which may be missing until somebody asks for it ([`Engine::complete_twins`]); otherwise what runs is `plain`.
#[derive(Clone)]
pub(super) struct Twins {
    func: FuncId,
    pub plain: Option<VersionInfo>,
    pub counted: Option<VersionInfo>,
    /// Calls that would go to `plain` come to [`Engine::compile`] ([`Engine::arm`]), where [`Calls::are_noticed`].
    pub is_armed: bool,
    /// All calls do ([`Engine::was_called`]).
    pub is_watched: bool,
    /// What the one that counts was made of; `None`: the function as it stands in the module.
    body: Option<Arc<Function>>,
}

/// New versions of a function, one at least.
struct Made {
    plain: Option<VersionInfo>,
    counted: Option<VersionInfo>,
    /// As in [`Twins`].
    body: Option<Arc<Function>>,
}

impl Made {
    fn plain(version: VersionInfo) -> Made {
        Made { plain: Some(version), counted: None, body: None }
    }

    fn counted(version: VersionInfo, body: Option<Arc<Function>>) -> Made {
        Made { plain: None, counted: Some(version), body }
    }
}

#[derive(Default)]
struct Counters {
    /// By [`Level`].
    compiled: [LevelCounters; 2],
    freed: AtomicU64,
    code_bytes: AtomicU64,
}

#[derive(Default)]
struct LevelCounters {
    versions: AtomicU64,
    nanos: AtomicU64,
}

impl LevelCounters {
    fn read(&self) -> Compiled {
        Compiled { versions: self.versions.load(Ordering::Relaxed), nanos: self.nanos.load(Ordering::Relaxed) }
    }
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
        let cells = EntryCells::new(&module, &layout, &addresses)?;
        let [baseline, optimized] = Level::ALL.map(|level| Compiler::new(level, &options).map(Mutex::new));
        let compilers = [baseline?, optimized?];
        let osr = OsrCells::new(options.osr)?;
        let exits = ExitCells::new(options.exits != Exits::Off)?;
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
            osr,
            exits,
            compilers,
            versions: Mutex::default(),
            counters: Counters::default(),
        };
        for func in engine.module.funcs.keys() {
            engine.cells.point(func, engine.thunks.lazy(func));
        }
        Ok(engine)
    }

    fn env(&self) -> Env<'_> {
        self.env_for(self.options.profiling)
    }

    fn env_for(&self, profiling: Profiling) -> Env<'_> {
        let (module, layout, addresses, options) = (&*self.module, &*self.layout, &self.addresses, &self.options);
        Env { module, layout, addresses, options, profiling, cells: &self.cells, osr: &self.osr, exits: &self.exits }
    }

    /// Where calls of the function go, if there is code for it. This is such a call: it leads to what was armed again.
    fn find(&self, versions: &mut Versions, func: FuncId) -> Option<u64> {
        let calls = versions.calls;
        if let Some(twins) = versions.twins(func).filter(|twins| twins.is_armed || twins.is_watched) {
            let is_counted = twins.counted.is_some() && !calls.are_plain;
            twins.is_armed &= is_counted || !calls.are_noticed();
            twins.is_watched = false;
            self.connect(twins, calls);
        }
        let entry = self.cells.entry(func);
        (entry != self.thunks.lazy(func)).then_some(entry)
    }

    /// What is known of the function without compiling it: where calls go, or that there can be no code.
    fn known(&self, func: FuncId) -> Option<Result<u64, NativeError>> {
        let mut versions = self.versions();
        let found = self.find(&mut versions, func).map(Ok);
        found.or_else(|| versions.limit_exceeded(func).cloned().map(Err))
    }

    fn compiler(&self, level: Level) -> MutexGuard<'_, Compiler> {
        self.compilers[level as usize].lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(super) fn versions(&self) -> MutexGuard<'_, Versions> {
        self.versions.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The function's entry point; compiles it as it stands in the module if there is no code. For program threads: what is found is good until their next safepoint.
    ///
    /// # Errors
    /// [`NativeError::Compile`] where it exceeds a limit of the compiler, [`NativeError::Memory`] where the code region is full. Kept in [`Engine::failures`], too.
    pub fn compile(&self, func: FuncId) -> Result<u64, NativeError> {
        // Who only comes back to code that is there does not wait for what is being compiled.
        if let Some(known) = self.known(func) {
            return known;
        }
        let mut compiler = self.compiler(self.options.level);
        if let Some(known) = self.known(func) {
            return known;
        }
        // The version that is to run now; the other one is made when it is to run. Where optimized code does not count, all other code does, always.
        let mut profiling =
            if self.versions().calls.are_plain && self.options.profile_optimized { Profiling::Off } else { self.options.profiling };
        loop {
            let version = self.build(&mut compiler, func, &self.module.funcs[func], profiling, ANY_FRAME);
            let version = version.inspect_err(|error| _ = self.versions().failures.insert(func, error.clone()))?;
            let mut versions = self.versions();
            // Meanwhile a version may have been installed that somebody has chosen.
            if let Some(entry) = self.find(&mut versions, func) {
                versions.retire(&[(version.entry, version.len)]);
                return Ok(entry);
            }
            // Or calls are counted by now, and nobody would ask for the other version as long as they are.
            if profiling != self.options.profiling && !versions.calls.are_plain {
                versions.retire(&[(version.entry, version.len)]);
                profiling = self.options.profiling;
                continue;
            }
            let made = if profiling == Profiling::Off { Made::plain(version) } else { Made::counted(version, None) };
            self.lead_to(&mut versions, func, made);
            return Ok(version.entry);
        }
    }

    /// All calls that begin from now on go to what was made, but those that are counted: while it has no version that counts they go where they went, if that counts. What nobody calls any more is retired, unless it is of the family of what was made.
    fn lead_to(&self, versions: &mut Versions, func: FuncId, made: Made) {
        let next = versions.twins.len();
        let i = *versions.index.entry(func).or_insert(next);
        if i == next {
            versions.twins.push(Twins { func, plain: None, counted: None, is_armed: false, is_watched: false, body: None });
        }
        let twins = &mut versions.twins[i];
        let mut replaced = Vec::new();
        if made.counted.is_some() {
            replaced.extend(std::mem::replace(&mut twins.counted, made.counted));
            twins.body = made.body;
        }
        replaced.extend(std::mem::replace(&mut twins.plain, made.plain));
        (twins.is_armed, twins.is_watched) = (false, false);
        self.connect(twins, versions.calls);
        replaced.retain(|old| made.plain.is_none_or(|new| !versions.families.are_one(old.entry, new.entry)));
        let replaced: Vec<_> = replaced.iter().map(|version| (version.entry, version.len)).collect();
        versions.retire(&replaced);
    }

    /// Leads calls to the version that they are for, or to the other where that is missing. Where there is none, calls compile one; those that are to be noticed come there, too.
    pub(super) fn connect(&self, twins: &Twins, calls: Calls) {
        let counted = twins.counted.filter(|_| !calls.are_plain);
        let is_noticed = twins.is_armed && calls.are_noticed();
        let version = counted.or(twins.plain.or(twins.counted).filter(|_| !is_noticed)).filter(|_| !twins.is_watched);
        self.cells.point(twins.func, version.map_or(self.thunks.lazy(twins.func), |version| version.entry));
    }

    pub(super) fn connect_all(&self, versions: &Versions) {
        versions.twins.iter().for_each(|twins| self.connect(twins, versions.calls));
    }

    /// Code of this level is made in both kinds at once ([`Options::exits`]).
    pub(super) fn makes_both(&self, level: Level) -> bool {
        self.options.exits != Exits::Off && level == Level::Optimized
    }

    /// What code of this level tells of calls, if it is made in one kind at a time.
    pub(super) fn profiling(&self, level: Level) -> Profiling {
        if level == Level::Optimized && !self.options.profile_optimized { Profiling::Off } else { self.options.profiling }
    }

    /// Compiles what functions that are there lack: code without what [`Options::profiling`] adds, or code with it, for [`Engine::count_calls`]. What cannot be compiled again has one version, and so has what is not optimized where
    /// [`Options::profile_optimized`] is off.
    pub fn complete_twins(&self) {
        let mut made = Vec::new();
        for i in 0.. {
            // The program's own first calls come in between.
            let Some(twins) = self.versions().twins.get(i).cloned() else { break };
            let own = &self.module.funcs[twins.func];
            let (level, body, profiling) = match twins {
                Twins { plain: Some(_), counted: Some(_), .. } | Twins { plain: None, counted: None, .. } => continue,
                Twins { counted: Some(_), .. } if !self.options.profile_optimized => continue,
                Twins { counted: Some(counted), ref body, .. } => (counted.level, body.as_deref().unwrap_or(own), Profiling::Off),
                Twins { counted: None, .. } => (self.options.level, own, self.options.profiling),
            };
            if let Ok(version) = self.build(&mut self.compiler(level), twins.func, body, profiling, ANY_FRAME) {
                made.push((i, twins, version));
            }
        }
        let versions = &mut *self.versions();
        for (i, seen, made) in made {
            let twins = &mut versions.twins[i];
            if (twins.plain, twins.counted) == (seen.plain, seen.counted) {
                let missing = if seen.plain.is_none() { &mut twins.plain } else { &mut twins.counted };
                *missing = Some(made);
                self.connect(twins, versions.calls);
            } else {
                versions.retire(&[(made.entry, made.len)]);
            }
        }
    }

    /// Lets all calls go to code that counts them, as [`Options::profiling`] says, or from now on to code that does not: what runs stays where it is until its next call. Of what only counts, or only does not, there is nothing to choose.
    pub fn count_calls(&self, counts: bool) {
        let versions = &mut *self.versions();
        versions.calls.set_counted(counts);
        versions.families.switches += 1;
        self.exits.count_calls(counts);
        self.connect_all(versions);
    }

    /// Compiles a body of the function, and lets all calls that begin from now on go there. What they went to is retired.
    ///
    /// # Errors
    /// As for [`Engine::compile`], but not kept; calls go where they went.
    ///
    /// # Panics
    /// The body's parameters or result are not those of the function.
    pub fn install(&self, func: FuncId, body: &Function, level: Level) -> Result<VersionInfo, NativeError> {
        let declared = &self.module.funcs[func];
        assert_eq!((&body.params, body.ret), (&declared.params, declared.ret), "the signature of {}", declared.name);
        if self.makes_both(level) {
            return self.install_both(func, self.leavable(func, body));
        }
        let profiling = self.profiling(level);
        let version = self.compile_version(func, body, level, profiling, ANY_FRAME)?;
        let made = match profiling {
            Profiling::Off => Made::plain(version),
            Profiling::Calls | Profiling::Inlined => Made::counted(version, Some(Arc::new(body.clone()))),
        };
        self.lead_to(&mut self.versions(), func, made);
        Ok(version)
    }

    /// The same where optimized code is made in both kinds.
    pub(super) fn install_both(&self, func: FuncId, made: WithExits) -> Result<VersionInfo, NativeError> {
        let body = made.body.clone();
        let code @ [plain, counted] = self.compile_both(func, &body, ANY_FRAME)?;
        let versions = &mut *self.versions();
        self.add_family(versions, made, None, &code);
        self.lead_to(versions, func, Made { plain: Some(plain), counted: Some(counted), body: Some(body) });
        Ok(plain)
    }

    /// Optimized code that does not count, and optimized code that does.
    pub(super) fn compile_both(&self, func: FuncId, body: &Function, max_frame: u32) -> Result<[VersionInfo; 2], NativeError> {
        let plain = self.compile_version(func, body, Level::Optimized, Profiling::Off, max_frame)?;
        let counted = self.compile_version(func, body, Level::Optimized, self.options.profiling, max_frame);
        if counted.is_err() {
            self.versions().retire(&[(plain.entry, plain.len)]);
        }
        Ok([plain, counted?])
    }

    /// Something that may replace other code, and to which nothing leads yet; it stands for the function in traces. Code whose frame takes more than `max_frame` bytes is refused.
    pub(super) fn compile_version(
        &self,
        func: FuncId,
        body: &Function,
        level: Level,
        profiling: Profiling,
        max_frame: u32,
    ) -> Result<VersionInfo, NativeError> {
        // Here, not at a stop, where all threads would wait for it.
        can_reuse_code_memory();
        self.build(&mut self.compiler(level), func, body, profiling, max_frame)
    }

    /// Nothing leads to the code that begins here any more: it is freed once no thread runs it.
    pub(super) fn retire_entry(&self, entry: u64) {
        let mut versions = self.versions();
        let len = self.tables.version(entry).expect("code that is not retired is known").len;
        versions.retire(&[(entry, len)]);
    }

    /// Code in the region, its tables published. Code whose frame takes more than `max_frame` bytes is refused.
    fn build(
        &self,
        compiler: &mut Compiler,
        func: FuncId,
        body: &Function,
        profiling: Profiling,
        max_frame: u32,
    ) -> Result<VersionInfo, NativeError> {
        let started = Instant::now();
        let level = compiler.level;
        let placed = self.compile_into_region(compiler, func, body, profiling, max_frame);
        let time = started.elapsed();
        let counters = &self.counters.compiled[level as usize];
        counters.nanos.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        let (entry, len) = placed?;
        counters.versions.fetch_add(1, Ordering::Relaxed);
        Ok(VersionInfo { func, level, entry, len, time })
    }

    fn compile_into_region(
        &self,
        compiler: &mut Compiler,
        func: FuncId,
        body: &Function,
        profiling: Profiling,
        max_frame: u32,
    ) -> Result<(u64, u32), NativeError> {
        let code = compiler.compile(self.env_for(profiling), func, body)?;
        let frame = code.meta.frame_size;
        if frame > max_frame {
            return Err(NativeError::Compile { func, message: format!("a frame of {frame} bytes is too large here") });
        }
        let place = self.region.place(&code.bytes, code.align, code.lead, |address, bytes| {
            code.relocate(address, bytes, |name| self.resolve(name));
        });
        let entry = place.ok_or_else(|| NativeError::Memory("code: the region is full".into()))?;
        let len = code.bytes.len() as u32;
        self.counters.code_bytes.fetch_add(u64::from(len), Ordering::Relaxed);
        self.tables.add(entry, len, code.meta);
        if let Some(listener) = self.listener() {
            // SAFETY: nobody has got the entry, so nobody can retire it.
            let bytes = unsafe { self.region.bytes(entry, code.bytes.len()) };
            listener.compiled(&NewCode { func, name: &self.module.funcs[func].name, address: entry, bytes, positions: &code.positions });
        }
        Ok((entry, len))
    }

    /// Frees retired versions that no thread runs or can come to run, and of which no address waits to be decoded. Waits for nobody: if an address is being decoded at this moment, all stays for the next time.
    ///
    /// Addresses that were recorded ([`CallSeen`](crate::context::CallSeen), [`walk_raw`](super::walk_raw)) may be decoded after their code is retired, even after it has ended. So whoever records tells how far decoding is: `decoded` says that all
    /// that was recorded before the reclaim with this number has been decoded or dropped; `u64::MAX` where nothing is recorded. A version that this reclaim, number N, finds unused is freed at once if `decoded` is N or more, which is only
    /// known beforehand where nothing is recorded, or else by a later one. An address that is decoded against this rule means nothing, or code that lies there now. Who keeps addresses to compare them with later ones drops them when something
    /// was freed.
    ///
    /// # Safety
    /// All threads that run the program's code stand at safepoints, and stay there until this returns; none has code to run that is not reached from its frames, cells or virtual tables. `in_use` calls its argument with every address at
    /// which one of their frames stands, as [`walk_raw`](super::walk_raw) gives them. They are not told to stop while they hold what [`Engine::compile`] gave.
    pub unsafe fn reclaim(&self, decoded: u64, in_use: &mut FrameAddresses<'_>) -> Reclaimed {
        let out_of_use = &mut self.versions().out_of_use;
        let (number, in_use) = out_of_use.stop(&mut |f| in_use(&mut |pc| f(pc & !frames::TRAPPED)));
        let mut ended = out_of_use.ended(decoded);
        // SAFETY: threads are stopped, so they look nothing up, nor do their signal handlers. They will find no address in this code: no frame is there, nor will be.
        if ended.is_empty() || !unsafe { self.tables.remove(ended.iter().map(|v| v.0)) } {
            ended.clear();
        }
        let mut bytes = 0;
        for &(entry, len) in &ended {
            // SAFETY: nobody runs it, as above. Listings hold the versions' lock.
            unsafe { self.region.release(entry, len as usize) };
            out_of_use.forget(entry);
            bytes += u64::from(len);
        }
        self.counters.code_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.counters.freed.fetch_add(ended.len() as u64, Ordering::Relaxed);
        Reclaimed { number, freed: ended.len() as u64, bytes, in_use, waiting: out_of_use.len() as u64 - in_use }
    }

    /// Versions that were freed.
    pub fn freed(&self) -> u64 {
        self.counters.freed.load(Ordering::Relaxed)
    }

    /// Bytes of code that was retired and is not freed yet.
    pub fn retired_bytes(&self) -> u64 {
        self.versions().out_of_use.bytes()
    }

    /// Bytes of code of this level that is not retired. Looks at all code there is.
    pub fn bytes_in_use(&self, level: Level) -> u64 {
        let out_of_use = &self.versions().out_of_use;
        let mut bytes = 0;
        self.tables.each(|version| {
            let counts = version.level == level && !out_of_use.contains(version.start);
            bytes += if counts { u64::from(version.len) } else { 0 };
        });
        bytes
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
        let entry = self.cells.entry(func);
        // SAFETY: by contract.
        unsafe { (*ctx).exit_cells = self.exits.address() };
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

    /// What stands at a return address that a walk or a [`CallSeen`](crate::context::CallSeen) gave, innermost first, from any thread, also in code that was retired (see [`Engine::reclaim`]; none is freed before the result is dropped): the function with what it stands at (a call's site, or its entry or probe, where its own call has just begun),
    /// then those it is inlined into with the calls that lead there. `None` for an address that no compiled call returns to, such as that of a function Rust called.
    pub fn decode(&self, return_address: u64) -> Option<impl Iterator<Item = FrameView>> {
        frames::decode(&self.tables, return_address)
    }

    /// Where the code begins that a return address lies in, and how it was compiled, from any thread. `None` as for [`Engine::decode`].
    pub fn version_at(&self, return_address: u64) -> Option<(u64, Level)> {
        frames::version_at(&self.tables, return_address)
    }

    /// Bytes of the frame that a call stands in, by its return address: from the frame pointer down to the stack pointer at the call. `None` as for [`Engine::decode`].
    pub fn frame_size(&self, return_address: u64) -> Option<u32> {
        frames::size(&self.tables, return_address)
    }

    /// The function as it is handed to Cranelift, in its text form.
    pub fn dump_clif(&self, func: FuncId) -> String {
        self.compiler(self.options.level).clif(self.env(), func, &self.module.funcs[func])
    }

    /// The machine code to which the function's calls go, as it lies in memory, with addresses, source positions, traps and names of what it calls.
    ///
    /// # Errors
    /// As for [`Engine::compile`].
    pub fn dump_asm(&self, func: FuncId) -> Result<String, NativeError> {
        let (entry, _versions) = loop {
            self.compile(func)?;
            let mut versions = self.versions();
            // It may be given up at once.
            if let Some(entry) = self.find(&mut versions, func) {
                break (entry, versions);
            }
        };
        // SAFETY: no code is freed while the versions are locked.
        Ok(unsafe { disasm::listing(self, entry) })
    }

    /// Calls `f` on the function, address and length in bytes of all code there is, by address.
    pub fn each_code(&self, mut f: impl FnMut(FuncId, u64, u32)) {
        self.tables.each(|version| f(version.func, version.start, version.len));
    }

    /// Who is told of all code.
    pub fn listener(&self) -> Option<&dyn Listener> {
        self.options.listener.as_deref()
    }

    pub fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let [baseline, optimized] = &self.counters.compiled;
        Stats {
            baseline: baseline.read(),
            optimized: optimized.read(),
            freed: read(&self.counters.freed),
            code_bytes: read(&self.counters.code_bytes),
            code_span: self.region.touched() as u64,
            table_bytes: self.tables.table_bytes(),
        }
    }

    /// Why functions could not be compiled when they were called, one reason each; that threw `OutOfMemoryError`.
    pub fn failures(&self) -> Vec<NativeError> {
        self.versions().failures.values().cloned().collect()
    }

    pub fn module(&self) -> &Module {
        &self.module
    }

    pub(super) fn runtime(&self) -> &RuntimeFns {
        &self.runtime
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn osr(&self) -> Osr {
        self.options.osr
    }

    pub(super) fn osr_cells(&self) -> &OsrCells {
        &self.osr
    }

    pub(super) fn exits(&self) -> &ExitCells {
        &self.exits
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

    /// Says whose entry cell lies at an address.
    pub(super) fn cell_name(&self, address: u64) -> Option<String> {
        let func = self.cells.find(address)?;
        Some(format!("cell of {}", self.module.funcs[func].name))
    }
}
