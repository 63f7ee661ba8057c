//! A module with the library's classes and nothing else, and an [`Engine`] whose functions are Rust closures: they see a running thread, and keep references in handles, so no frames need scanning.

use crate::runtime::engine::{Engine, Frames};
use crate::runtime::program::{End, ExitStatus, Runtime, RuntimeOptions};
use crate::runtime::symbols::{Position, Symbols};
use crate::runtime::thread::{Ref, Thread};
use crate::runtime::{Output, builtins, view};
use jit::interp::Slot;
use jit::ir::*;
use jit::layout::Layout;
use jit::trap::Thrown;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock};

pub type Body = dyn Fn(&Thread) -> Result<i64, Thrown> + Send + Sync;

/// Functions by the number that closures carry.
#[derive(Default)]
pub struct RustEngine {
    main: OnceLock<Box<Body>>,
    bodies: Mutex<Vec<Arc<Body>>>,
    /// What every stack looks like.
    pub frames: Mutex<Vec<(FuncId, Loc)>>,
}

impl Frames for RustEngine {
    fn visit_roots(&self, _thread: &Thread, _f: &mut dyn FnMut(&mut u64)) {}

    fn walk(&self, _thread: &Thread, f: &mut dyn FnMut(FuncId, Loc) -> ControlFlow<()>) {
        for &(func, loc) in self.frames.lock().unwrap().iter() {
            if f(func, loc).is_break() {
                return;
            }
        }
    }
}

impl Engine for RustEngine {
    fn run(&self, thread: &Thread, func: FuncId, args: &[Slot]) -> Result<Slot, Thrown> {
        if func == thread.runtime.entry.main {
            return self.main.get().expect("set before the start")(thread).map(|code| code as u64);
        }
        let body = self.bodies.lock().unwrap()[view::load(Ref(args[0]), 8) as usize].clone();
        body(thread).map(|_| 0)
    }
}

pub struct Ids {
    pub node: ClassId,
    pub closure: ClassId,
    pub mutex: ClassId,
    pub ref_array: ClassId,
}

/// Offsets of a node's fields: next, number.
pub const NEXT: i32 = 8;
pub const NUMBER: i32 = 16;

fn class(m: &mut Module, name: &str, kind: ClassKind, superclass: Option<ClassId>, fields: &[(&str, bool)]) -> (ClassId, Vec<FieldId>) {
    let id = ClassId::from_u32(m.classes.len() as u32);
    let own: Vec<FieldId> = fields
        .iter()
        .map(|&(name, is_ref)| {
            let ty = if is_ref { TypeDesc::Ref { class: id, nullable: true } } else { TypeDesc::Int };
            m.fields.push(Field { name: name.into(), class: id, ty, is_final: false })
        })
        .collect();
    let mut all = superclass.map_or_else(Vec::new, |s| m.classes[s].fields.clone());
    all.extend(&own);
    m.classes.push(Class { name: name.into(), kind, superclass, interfaces: vec![], fields: all, methods: Default::default() });
    (id, own)
}

pub fn module() -> (Module, Ids) {
    let mut m = Module::default();
    let plain = |m: &mut Module, name: &str, kind, superclass| class(m, name, kind, superclass, &[]).0;
    let object = plain(&mut m, "Object", ClassKind::Concrete, None);
    let str = plain(&mut m, "Str", ClassKind::Array(ElemKind::Byte), Some(object));
    let bytes = plain(&mut m, "Bytes", ClassKind::Array(ElemKind::Byte), Some(object));
    let str_array = plain(&mut m, "Array<Str>", ClassKind::Array(ElemKind::Ref), Some(object));
    let int_array = plain(&mut m, "Array<Int>", ClassKind::Array(ElemKind::Int), Some(object));
    let (error, error_fields) = class(&mut m, "Error", ClassKind::Concrete, Some(object), &[("message", true), ("trace", true)]);
    let [
        null_error,
        bounds_error,
        division_error,
        cast_error,
        stack_overflow_error,
        out_of_memory_error,
        argument_error,
        state_error,
        io_error,
    ] = [
        "NullError",
        "BoundsError",
        "DivisionError",
        "CastError",
        "StackOverflowError",
        "OutOfMemoryError",
        "ArgumentError",
        "StateError",
        "IoError",
    ]
    .map(|name| plain(&mut m, name, ClassKind::Concrete, Some(error)));
    let fields = [("state", false), ("owner", false), ("depth", false), ("key", false)];
    let (mutex, f) = class(&mut m, "Mutex", ClassKind::Concrete, Some(object), &fields);
    let (node, _) = class(&mut m, "Node", ClassKind::Concrete, Some(object), &[("next", true), ("number", false)]);
    m.globals.push(Global { name: "shared".into(), ty: TypeDesc::Ref { class: object, nullable: true } });
    let (closure, _) = class(&mut m, "closure", ClassKind::Concrete, Some(object), &[("body", false)]);
    let ref_array = plain(&mut m, "Array<Object>", ClassKind::Array(ElemKind::Ref), Some(object));
    let int = Some(TypeDesc::Int);
    let main = m.funcs.push(Function::new("main", vec![], int, Loc::default()));
    let thread = m.funcs.push(Function::new("thread", vec![TypeDesc::Ref { class: closure, nullable: false }], None, Loc::default()));
    // Two functions for traces to name.
    for name in ["inner", "outer"] {
        m.funcs.push(Function::new(name, vec![], None, Loc(1)));
    }
    m.entry = Some(Entry { main, thread });
    m.known = Some(Known {
        object,
        str,
        bytes,
        str_array,
        int_array,
        error,
        error_message: error_fields[0],
        error_trace: error_fields[1],
        null_error,
        bounds_error,
        division_error,
        cast_error,
        stack_overflow_error,
        out_of_memory_error,
        argument_error,
        state_error,
        io_error,
        mutex: MutexFields { state: f[0], owner: f[1], depth: f[2], key: f[3] },
    });
    (m, Ids { node, closure, mutex, ref_array })
}

pub fn ids() -> Ids {
    module().1
}

/// What came of a program.
pub struct Outcome {
    pub status: ExitStatus,
    pub out: String,
    pub errors: String,
    pub runtime: Arc<Runtime>,
}

pub fn options() -> RuntimeOptions {
    RuntimeOptions { heap: Some(16 << 20), nursery: Some(1 << 20), stack: 256 << 10, verify_heap: true, ..RuntimeOptions::default() }
}

pub fn run(main: impl Fn(&Thread) -> Result<i64, Thrown> + Send + Sync + 'static) -> Outcome {
    run_with(options(), Vec::new(), main)
}

/// Runs a program in which something panics, be it an assertion of a test.
pub fn run_panicking(main: impl Fn(&Thread) -> Result<i64, Thrown> + Send + Sync + 'static) -> Outcome {
    run_to_any_end(options(), Vec::new(), main)
}

/// Position `n` is line `n` of a file without text.
struct Lines;

impl Symbols for Lines {
    fn position(&self, loc: Loc) -> Option<Position> {
        (loc.0 > 0).then(|| Position { path: "test.lang".into(), line: loc.0, col: 1, text: String::new(), in_library: true })
    }
}

/// Runs a program whose stacks all look like `frames`. What tests assert on its threads holds: a panic there ends the program, and is passed on here.
pub fn run_with(
    options: RuntimeOptions,
    frames: Vec<(FuncId, Loc)>,
    main: impl Fn(&Thread) -> Result<i64, Thrown> + Send + Sync + 'static,
) -> Outcome {
    let outcome = run_to_any_end(options, frames, main);
    assert_ne!(outcome.status.end, End::Panic, "on a thread of the program, which has told it: {}", outcome.errors);
    outcome
}

fn run_to_any_end(
    mut options: RuntimeOptions,
    frames: Vec<(FuncId, Loc)>,
    main: impl Fn(&Thread) -> Result<i64, Thrown> + Send + Sync + 'static,
) -> Outcome {
    let (module, _) = module();
    let layout = Arc::new(Layout::new(&module));
    let (out_stream, out) = Output::buffer();
    let (error_stream, errors) = Output::buffer();
    (options.output, options.errors) = (out_stream, error_stream);
    let runtime = Runtime::new(Arc::new(module), layout, Box::new(Lines), options).unwrap();
    let engine = Arc::new(RustEngine::default());
    *engine.frames.lock().unwrap() = frames;
    assert!(engine.main.set(Box::new(main)).is_ok());
    ENGINES.lock().unwrap().push((Arc::as_ptr(&runtime) as usize, engine.clone()));
    let status = runtime.run_main(engine).unwrap();
    ENGINES.lock().unwrap().retain(|e| e.0 != Arc::as_ptr(&runtime) as usize);
    let text = |bytes: &Mutex<Vec<u8>>| String::from_utf8(bytes.lock().unwrap().clone()).unwrap();
    Outcome { status, out: text(&out), errors: text(&errors), runtime }
}

/// The engines of running programs, for [`spawn`] to find its own.
static ENGINES: Mutex<Vec<(usize, Arc<RustEngine>)>> = Mutex::new(Vec::new());

fn engine(thread: &Thread) -> Arc<RustEngine> {
    let key = Arc::as_ptr(&thread.runtime) as usize;
    ENGINES.lock().unwrap().iter().find(|e| e.0 == key).expect("running").1.clone()
}

/// Starts a thread; gives its number.
pub fn spawn(thread: &Thread, body: impl Fn(&Thread) -> Result<i64, Thrown> + Send + Sync + 'static) -> Result<i64, Thrown> {
    let number = {
        let engine = engine(thread);
        let mut bodies = engine.bodies.lock().unwrap();
        bodies.push(Arc::new(body));
        bodies.len() - 1
    };
    let closure = thread.alloc_object(ids().closure).unwrap();
    view::store(closure, 8, number as u64);
    call(thread, Builtin::ThreadStart, &[closure.0]).map(|n| n as i64)
}

pub fn join(thread: &Thread, number: i64) -> Ref {
    Ref(call(thread, Builtin::ThreadJoin, &[number as u64]).unwrap())
}

pub fn call(thread: &Thread, builtin: Builtin, args: &[Slot]) -> Result<Slot, Thrown> {
    builtins::call(thread, builtin, args)
}

pub fn str(thread: &Thread, text: &str) -> Ref {
    let str = thread.alloc_str(text.len()).unwrap();
    view::bytes_mut(str, |b| b.copy_from_slice(text.as_bytes()));
    str
}

/// Class and message of the pending error, which is taken.
pub fn error(thread: &Thread) -> (String, String) {
    let error = thread.take_error();
    assert!(!error.is_null(), "no error is pending");
    let runtime = &thread.runtime;
    let message = view::load_ref(error, runtime.layout.field_offset[runtime.known.error_message]);
    (runtime.module.classes[view::class_of(thread, error)].name.to_string(), view::text(message).to_string())
}

pub fn println(thread: &Thread, text: &str) {
    let text = str(thread, text);
    call(thread, Builtin::PrintLine, &[text.0]).unwrap();
}

/// What a loop's back-edge does.
pub fn poll(thread: &Thread) {
    if thread.ctx().yield_flag.load(std::sync::atomic::Ordering::Relaxed) != 0 {
        thread.yield_slow();
    }
}
