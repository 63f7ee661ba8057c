//! One function through Cranelift: CLIF in, code with relocations applied and its metadata out.
//!
//! In: a function's body, and a [`Level`] that each [`Compiler`] has. Out: [`Code`], ready to be copied into the region; its tables ([`CodeMetadata`]) are put together from Cranelift's records: call sites with their handlers, stack maps, traps, all with their [`Site`].
//!
//! Settings follow measurements: no mid-end at the baseline level (it wants to be fast and to keep operations where they are), but the backtracking register allocator, because the single-pass one makes loops 3–12 times slower. Very
//! large functions get that one nevertheless (`Options::large_function`). The optimized level has Cranelift's mid-end, too, for what is not done before it (division by constants, shared constants and addresses).

use super::api::{Level, NativeError, Options, Position};
use super::placement;
use super::tables::{CallRecord, CodeMetadata, SiteKind, TrapRecord};
use super::translate::{Env, Site, Sites, namespace, translate};
use super::trap::TrapKind;
use crate::ir::{FuncId, Function, Loc, frames_at};
use crate::opt::loop_edges::with_loop_edges;
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{ExternalName, UserExternalName, UserFuncName};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CompiledCode, Context, FinalizedMachExceptionHandler, FinalizedRelocTarget};
use cranelift_frontend::FunctionBuilderContext;

/// Machine code that still has to be placed.
pub struct Code {
    pub bytes: Vec<u8>,
    pub align: usize,
    /// How far into a line of the instruction cache it wants to start.
    pub lead: usize,
    pub calls: Vec<DirectCall>,
    pub meta: CodeMetadata,
    /// Empty where nobody listens.
    pub positions: Vec<Position>,
}

/// A relative call to be filled in.
#[derive(Clone, Debug)]
pub struct DirectCall {
    /// Of the 32-bit distance.
    pub offset: u32,
    pub target: UserExternalName,
    pub addend: i64,
}

impl Code {
    /// Fills the relative calls in `bytes`, a copy of the code that runs at `address`.
    pub fn relocate(&self, address: u64, bytes: &mut [u8], resolve: impl Fn(&UserExternalName) -> u64) {
        for call in &self.calls {
            let at = call.offset as usize;
            let distance = resolve(&call.target).wrapping_add_signed(call.addend).wrapping_sub(address + at as u64) as i64;
            let distance = i32::try_from(distance).expect("the region spans at most 1 GiB");
            bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
    }
}

/// Parameters a function may have: it pops those on the stack when it returns, and the machine's instruction for that counts bytes in 16 bits. More than the language allows, with those that it adds.
const MAX_PARAMS: usize = 4096;

/// Cranelift with its buffers, used for one function at a time.
pub struct Compiler {
    pub level: Level,
    isa: OwnedTargetIsa,
    /// For large functions.
    quick: OwnedTargetIsa,
    context: Context,
    builder: FunctionBuilderContext,
}

impl Compiler {
    pub fn new(level: Level, options: &Options) -> Result<Compiler, NativeError> {
        let (isa, quick) = (isa(level, options, "backtracking")?, isa(level, options, "single_pass")?);
        Ok(Compiler { level, isa, quick, context: Context::new(), builder: FunctionBuilderContext::new() })
    }

    /// Leaves the CLIF of a version of the function in `self.context`.
    fn translate(&mut self, env: Env<'_>, func: FuncId, body: &Function) -> Sites {
        self.context.clear();
        self.context.func.name = UserFuncName::user(namespace::FUNCTION, func.as_u32());
        // What may be left for a loop's code is known by the body's own blocks.
        let is_as_declared = env.has_osr_exits(func, body);
        let with_edges = if self.level == Level::Optimized && !is_as_declared { with_loop_edges(body) } else { None };
        let body = with_edges.as_ref().unwrap_or(body);
        translate(env, func, body, self.level, &mut self.context.func, &mut self.builder, self.isa.frontend_config())
    }

    pub fn clif(&mut self, env: Env<'_>, func: FuncId, body: &Function) -> String {
        self.translate(env, func, body);
        self.context.func.display().to_string()
    }

    /// Compiles a version of the function.
    ///
    /// # Errors
    /// [`NativeError::Compile`] where it exceeds Cranelift's limits (frame or code too large).
    pub fn compile(&mut self, env: Env<'_>, func: FuncId, body: &Function) -> Result<Code, NativeError> {
        let fail = |message: String| NativeError::Compile { func, message };
        if body.params.len() > MAX_PARAMS {
            return Err(fail(format!("more than {MAX_PARAMS} parameters")));
        }
        let sites = self.translate(env, func, body);
        let isa = if body.insts.len() > env.options.large_function { &self.quick } else { &self.isa };
        let compiled = self.context.compile(&**isa, &mut ControlPlane::default()).map_err(|e| fail(format!("{:?}", e.inner)))?;
        let names = compiled.buffer.relocs().iter().map(|r| (r.offset, r.kind, &r.target, r.addend));
        let mut calls = Vec::new();
        for (offset, kind, target, addend) in names {
            let FinalizedRelocTarget::ExternalName(ExternalName::User(name)) = target else {
                return Err(fail(format!("a relocation to {target:?}")));
            };
            if !matches!(kind, Reloc::X86CallPCRel4 | Reloc::X86PCRel4) {
                return Err(fail(format!("a relocation of kind {kind:?}")));
            }
            calls.push((offset, *name, addend));
        }
        let meta = metadata(compiled, &sites, func, self.level, body).map_err(fail)?;
        let positions = if env.options.listener.is_some() { positions(compiled, &sites, func, body) } else { Vec::new() };
        let (bytes, align) = (compiled.code_buffer().to_vec(), compiled.buffer.alignment as usize);
        let lead = match self.level {
            Level::Baseline => 0,
            Level::Optimized => placement::start_in_line(&bytes, align),
        };
        let named = self.context.func.params.user_named_funcs();
        let calls = calls.into_iter().map(|(offset, name, addend)| DirectCall { offset, target: named[name].clone(), addend }).collect();
        Ok(Code { bytes, align, lead, calls, meta, positions })
    }
}

fn isa(level: Level, options: &Options, allocator: &str) -> Result<OwnedTargetIsa, NativeError> {
    let unsupported = |what: String| NativeError::Unsupported(what);
    let opt_level = match level {
        Level::Baseline => "none",
        Level::Optimized => "speed",
    };
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", opt_level),
        ("regalloc_algorithm", allocator),
        ("enable_pinned_reg", "true"),
        ("preserve_frame_pointers", "true"),
        ("unwind_info", "false"),
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        ("probestack_size_log2", "12"),
        ("enable_verifier", if options.verify { "true" } else { "false" }),
    ] {
        flags.set(name, value).map_err(|e| unsupported(format!("{name}={value}: {e}")))?;
    }
    let isa = cranelift_native::builder().map_err(|e| unsupported(e.into()))?;
    isa.finish(settings::Flags::new(flags)).map_err(|e| unsupported(e.to_string()))
}

/// What comes from nowhere (code of Cranelift's own making, constants) goes with what stands before it; at the start, with the function.
fn positions(compiled: &CompiledCode, sites: &Sites, func: FuncId, body: &Function) -> Vec<Position> {
    let innermost = |loc: Loc| frames_at(&body.inlined, func, loc).next();
    let placed = compiled.buffer.get_srclocs_sorted().iter().filter(|range| !range.loc.is_default());
    let known = placed.map(|range| (range.start, sites.get(range.loc.bits()).loc)).filter(|&(_, loc)| loc != Loc::default());
    let all = std::iter::once((0, body.loc)).chain(known);
    let mut positions: Vec<Position> =
        all.filter_map(|(offset, loc)| innermost(loc).map(|(func, loc)| Position { offset, func, loc })).collect();
    // Of several at one offset the last, of equal ones in a row the first.
    positions.reverse();
    positions.dedup_by_key(|p| p.offset);
    positions.reverse();
    positions.dedup_by_key(|p| (p.func, p.loc));
    positions
}

fn metadata(compiled: &CompiledCode, sites: &Sites, func: FuncId, level: Level, source: &Function) -> Result<CodeMetadata, String> {
    let loc = source.loc;
    let buffer = &compiled.buffer;
    let frame_size = buffer.frame_layout().ok_or("no frame layout")?.frame_to_fp_offset;
    let ranges = buffer.get_srclocs_sorted();
    // Index of the site that the byte at `offset` comes from.
    let exact = |offset: u32| {
        let range = &ranges[ranges.partition_point(|r| r.start <= offset).checked_sub(1)?];
        (offset < range.end && !range.loc.is_default()).then(|| range.loc.bits())
    };
    // The same for instructions of Cranelift's own making: that of the last one before that has a site.
    let near = |offset: u32| {
        let before = &ranges[..ranges.partition_point(|r| r.start <= offset)];
        before.iter().rev().find(|r| !r.loc.is_default()).map(|r| r.loc.bits())
    };
    let mut maps = buffer.user_stack_maps().iter().peekable();
    let mut calls = Vec::new();
    for call in buffer.call_sites() {
        while maps.next_if(|(at, ..)| *at < call.ret_addr).is_some() {}
        let roots = maps.next_if(|(at, ..)| *at == call.ret_addr).map(|(.., map)| map.entries().map(|(_, sp)| frame_size - sp).collect());
        let handler_offset = call.exception_handlers.iter().find_map(|h| match h {
            FinalizedMachExceptionHandler::Default(offset) => Some(*offset),
            _ => None,
        });
        if call.frame_offset.is_some_and(|f| f != frame_size) {
            return Err(format!("a call with a frame of {:?} bytes in one of {frame_size}", call.frame_offset));
        }
        let site = exact(call.ret_addr - 1).map_or(Site { loc, kind: SiteKind::Runtime }, |index| sites.get(index));
        calls.push(CallRecord {
            return_offset: call.ret_addr,
            loc: site.loc,
            site: site.kind,
            handler_offset,
            roots: roots.unwrap_or_default(),
        });
    }
    let mut traps: Vec<TrapRecord> = buffer
        .traps()
        .iter()
        .filter_map(|trap| {
            let kind = TrapKind::from_code(trap.code)?;
            Some(TrapRecord { offset: trap.offset, kind, loc: near(trap.offset).map_or(loc, |index| sites.of_trap(trap.code, index).loc) })
        })
        .collect();
    traps.sort_by_key(|t| t.offset);
    Ok(CodeMetadata { func, level, loc, inlined: source.inlined.clone(), frame_size, calls, traps })
}
