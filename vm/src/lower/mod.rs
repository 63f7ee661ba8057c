//! HIR to SSA: generics instantiated, sugar-free trees turned into blocks and values.
//!
//! In: a checked [`Program`]. Out: a closed [`Module`] with everything that can be reached from `main` and nothing else.
//!
//! One worklist drives it. A job is a function *instance*: a declaration with concrete type arguments. Lowering a job's body mentions classes, calls functions and creates objects; each first mention makes
//! the class or function instance, and new functions become jobs. Virtual methods follow rapid type analysis (Bacon & Sweeney, OOPSLA 1996): a class's method becomes a job once an object of the class
//! can exist *and* a selector it answers is called ([`methods`]). So hello world lowers a handful of functions, not the library.
//!
//! | module | what it decides |
//! |---|---|
//! | [`types`] | how a concrete type is represented; names; size limits |
//! | [`classes`] | class instances: fields, supertypes, boxes, cells, function types, closures |
//! | [`methods`] | which function a method name means, selectors, who answers them |
//! | [`functions`] | function instances and the jobs that lower their bodies |
//! | [`natives`] | what `native fun`s stand for |
//! | [`body`] | one function's lowering: locals, operations, scopes; `expr`, `calls`, `convert`, `compare`, `text`, `arrays`, `control`, `loops`, `matching`, `tries`, `closures` extend it |
//! | [`entry`] | the entry points, globals and the classes known to the runtime |
//!
//! Invariants: every class mentioned is complete in the module; `ClassKind::Concrete` means an object can exist (a class that is never constructed is `Abstract` here); every instruction has the position of its
//! expression; every call its own call site.
//!
//! Lowering recurses over the tree, whose depth the parser and the checker bound, on a thread with room for that.

mod arrays;
mod body;
mod calls;
mod classes;
mod closures;
mod compare;
mod control;
mod convert;
mod entry;
mod expr;
mod functions;
mod loops;
mod matching;
mod methods;
mod natives;
mod text;
mod tries;
mod types;

#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod tests;

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::sema::hir::{self, FunId, GlobalId, Program};
use crate::sema::types::{Ty, TypeParamId, Types};
use crate::source::{SourceMap, Span};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use jit::ir::{self, Module};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::rc::Rc;

/// Classes and functions together; beyond it, generic code is taken to need itself without end.
const MAX_INSTANCES: usize = 50_000;

/// Address space for the recursion, of which only what is used costs memory.
const STACK: usize = 256 << 20;

/// Lowers the whole program, or reports why it cannot be (`None`): generic code without end, or a program too large.
/// `program` must be free of errors; it is only borrowed mutably because new types are interned on the way.
pub fn lower(program: &mut Program, map: &SourceMap, sink: &mut Diagnostics) -> Option<Module> {
    let lowered = std::thread::scope(|threads| {
        let worker = std::thread::Builder::new().name("lower".to_string()).stack_size(STACK);
        match worker.spawn_scoped(threads, || lower_here(program, map)) {
            Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => {
                let message = format!("the system gives no thread to compile on: {error}");
                Err(Diagnostic::new(Code::TooManyThings, Span::default(), message))
            }
        }
    });
    lowered.map_err(|diagnostic| sink.push(diagnostic)).ok()
}

fn lower_here(program: &mut Program, map: &SourceMap) -> Result<Module, Diagnostic> {
    let types = std::mem::take(&mut program.types);
    let mut cx = Cx::new(program, types, map);
    cx.run();
    let Cx { types, module, failure, .. } = cx;
    program.types = types;
    failure.map_or(Ok(module), Err)
}

/// What type parameters stand for in an instance.
type Subst = Rc<[(TypeParamId, Ty)]>;

/// The state of one lowering.
struct Cx<'a> {
    program: &'a Program,
    /// The program's interner (taken out of it).
    types: Types,
    map: &'a SourceMap,
    module: Module,
    jobs: VecDeque<functions::Job<'a>>,
    /// The first thing that went wrong. Lowering stops soon after.
    failure: Option<Diagnostic>,
    /// Declaration that is being lowered or completed, to blame for failures.
    blame: Span,

    // types
    type_names: FxHashMap<Ty, Rc<str>>,
    type_sizes: FxHashMap<Ty, types::Size>,

    // classes
    class_ids: FxHashMap<Ty, ir::ClassId>,
    /// How many classes, from the first on, are complete for good.
    completed: usize,
    class_info: PrimaryMap<ir::ClassId, classes::ClassInfo>,
    cells: FxHashMap<Ty, ir::ClassId>,
    supers: FxHashMap<(Ty, hir::ClassId), Option<Ty>>,

    // methods
    method_table: FxHashMap<(hir::ClassId, &'a str), FunId>,
    found_methods: FxHashMap<(Ty, &'a str), Option<methods::Method>>,
    selector_ids: FxHashMap<(ir::ClassId, FunId), ir::SelectorId>,
    called_selectors: FxHashMap<(Ty, FunId), ir::SelectorId>,
    selector_info: PrimaryMap<ir::SelectorId, methods::SelectorInfo<'a>>,

    // functions
    function_ids: FxHashMap<functions::FunctionKey, ir::FuncId>,
    /// Result types as the language has them.
    function_rets: SecondaryMap<ir::FuncId, Option<Ty>>,
    fun_refs: FxHashMap<ir::FuncId, entry::FunRef>,
    /// Globals that code must give their first value, in order.
    initializers: Vec<(GlobalId, ir::FuncId)>,
    thread_entry: Option<ir::FuncId>,

    // constants
    strings: FxHashMap<&'a str, ir::StrId>,
    global_ids: Vec<Option<ir::GlobalId>>,
}

impl<'a> Cx<'a> {
    fn new(program: &'a Program, types: Types, map: &'a SourceMap) -> Self {
        Cx {
            program,
            types,
            map,
            module: Module::default(),
            jobs: VecDeque::new(),
            failure: None,
            blame: Span::default(),
            type_names: FxHashMap::default(),
            type_sizes: FxHashMap::default(),
            class_ids: FxHashMap::default(),
            completed: 0,
            class_info: PrimaryMap::new(),
            cells: FxHashMap::default(),
            supers: FxHashMap::default(),
            method_table: methods::method_table(program),
            found_methods: FxHashMap::default(),
            selector_ids: FxHashMap::default(),
            called_selectors: FxHashMap::default(),
            selector_info: PrimaryMap::new(),
            function_ids: FxHashMap::default(),
            function_rets: SecondaryMap::new(),
            fun_refs: FxHashMap::default(),
            initializers: Vec::new(),
            thread_entry: None,
            strings: FxHashMap::default(),
            global_ids: vec![None; program.globals.len()],
        }
    }

    fn run(&mut self) {
        self.declare_known();
        self.declare_main();
        loop {
            while let Some(job) = self.jobs.pop_front() {
                self.run_job(job);
                if self.failure.is_some() {
                    return;
                }
            }
            self.complete_all_classes();
            if self.failure.is_some() {
                return;
            }
            if self.jobs.is_empty() {
                break;
            }
        }
        self.build_entry();
        self.inherit_methods();
    }

    fn fail(&mut self, diagnostic: Diagnostic) {
        self.failure.get_or_insert(diagnostic);
    }

    /// A contract between stages is broken.
    fn bug(&mut self, span: Span, message: impl std::fmt::Display) {
        let diagnostic = Diagnostic::new(Code::Internal, span, format!("internal error in lowering: {message}"));
        self.fail(diagnostic.hint("this is a mistake in the VM, not in the program: please report it"));
    }

    fn string(&mut self, text: &'a str) -> ir::StrId {
        let strings = &mut self.module.strings;
        *self.strings.entry(text).or_insert_with(|| strings.push(text.into()))
    }

    fn global(&mut self, id: GlobalId) -> ir::GlobalId {
        if let Some(known) = self.global_ids[id.index()] {
            return known;
        }
        let global = &self.program.globals[id.index()];
        let ty = self.desc(global.ty);
        let new = self.module.globals.push(ir::Global { name: global.name.clone(), ty });
        self.global_ids[id.index()] = Some(new);
        new
    }

    /// Counts instances; reports once there are too many.
    fn check_instances(&mut self) {
        if self.module.classes.len() + self.module.funcs.len() > MAX_INSTANCES && self.failure.is_none() {
            let message = format!("the program needs more than {MAX_INSTANCES} instances of its classes and functions");
            self.fail(
                Diagnostic::new(Code::TooManyInstances, self.blame, message).label("reached while this was being instantiated").hint(
                    "generic code is compiled once for each set of type arguments: look for code that calls itself with ever more of them",
                ),
            );
        }
    }
}
