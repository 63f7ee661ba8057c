//! A host for tests: objects in a vector, and a collector that "moves" every object at every safepoint, so that a reference the interpreter kept anywhere but in its stack is found stale at its next use.

#![allow(dead_code)]

use jit::context::ThreadContext;
use jit::interp::{Host, Interpreter, Slot, Stack};
use jit::ir::*;
use jit::layout::{FIRST_FIELD, Layout};
use jit::trap::{Thrown, Trap};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

pub struct Object {
    pub class: Option<ClassId>,
    /// References as object number + 1.
    pub slots: Vec<u64>,
    pub text: String,
    pub trap: Option<Trap>,
}

pub struct MockHost<'a> {
    pub module: &'a Module,
    pub objects: Vec<Object>,
    pub output: String,
    /// What the last `fill_trace` saw.
    pub trace: Vec<(FuncId, Loc)>,
    /// What the interpreter told of calls.
    pub calls: Vec<(Option<CallSiteId>, FuncId)>,
    /// Calls without their return: must be the frames on the stack.
    open: usize,
    pub yields: usize,
    /// After this many more yields, the yield throws.
    pub yields_until_throw: usize,
    /// Objects that may still be allocated.
    pub room: usize,
    /// References are object number times 65536 plus the epoch, or plus 0 if it is a literal's, which does not move; a safepoint starts a new epoch.
    epoch: u64,
    context: Box<ThreadContext>,
    stack: *const Stack,
    globals: Vec<u64>,
    literals: HashMap<StrId, usize>,
    layout: &'a Layout,
}

impl<'a> MockHost<'a> {
    pub fn new(module: &'a Module, layout: &'a Layout) -> Self {
        let context = Box::new(ThreadContext::new(std::ptr::null_mut()));
        MockHost {
            module,
            objects: Vec::new(),
            output: String::new(),
            trace: Vec::new(),
            calls: Vec::new(),
            open: 0,
            yields: 0,
            yields_until_throw: usize::MAX,
            room: usize::MAX,
            epoch: 1,
            context,
            stack: std::ptr::null(),
            globals: vec![0; module.globals.len()],
            literals: HashMap::new(),
            layout,
        }
    }

    pub fn poison(&self) {
        self.context.stack_limit.store(u64::MAX, Ordering::Relaxed);
    }

    pub fn ask_to_yield(&self) {
        self.context.yield_flag.store(1, Ordering::Relaxed);
    }

    /// The error left pending, and takes it.
    pub fn pending(&mut self) -> &Object {
        let error = self.take_error();
        let index = self.index(error);
        &self.objects[index]
    }

    fn stack(&self) -> Option<&Stack> {
        // SAFETY: the interpreter keeps the stack alive and in place between `attach` and `detach`, and lets go of no exclusive reference to it.
        unsafe { self.stack.as_ref() }
    }

    /// Object number of a reference of this epoch.
    fn index(&self, object: Slot) -> usize {
        assert_ne!(object, 0, "the host got a null");
        let index = (object / 65536) as usize - 1;
        let epoch = if self.is_literal(index) { 0 } else { self.epoch };
        assert_eq!(object % 65536, epoch, "stale reference to object {index}");
        index
    }

    fn is_literal(&self, index: usize) -> bool {
        self.literals.values().any(|&literal| literal == index)
    }

    fn encode(&self, stored: u64) -> Slot {
        match stored.checked_sub(1) {
            None => 0,
            Some(index) if self.is_literal(index as usize) => stored * 65536,
            Some(_) => stored * 65536 + self.epoch,
        }
    }

    fn decode(&self, value: Slot) -> u64 {
        if value == 0 { 0 } else { self.index(value) as u64 + 1 }
    }

    /// Moves everything.
    fn safepoint(&mut self) {
        let old = self.epoch;
        self.epoch = 1 + old % 65535;
        let new = self.epoch;
        let update = |value: &mut u64| {
            if !value.is_multiple_of(65536) {
                assert_eq!(*value % 65536, old, "a root is stale");
                *value = *value - old + new;
            }
        };
        self.stack().into_iter().for_each(|stack| stack.for_each_root(update));
        update(&mut self.context.pending_error);
    }

    fn allocate(&mut self, object: Object) -> Slot {
        self.objects.push(object);
        self.encode(self.objects.len() as u64)
    }

    fn text_object(&mut self, text: String) -> Slot {
        self.allocate(Object { class: None, slots: text.bytes().map(u64::from).collect(), text, trap: None })
    }

    fn is_ref(&self, object: usize, slot: usize) -> bool {
        let class = &self.module.classes[self.objects[object].class.expect("has a class")];
        match class.kind {
            ClassKind::Array(kind) => kind == ElemKind::Ref,
            _ => self.module.fields[class.fields[slot]].ty.ty() == Ty::Ref,
        }
    }

    fn field(&self, object: Slot, offset: i32) -> (usize, usize) {
        (self.index(object), ((offset - FIRST_FIELD) / 8) as usize)
    }
}

impl Host for MockHost<'_> {
    fn attach(&mut self, stack: *const Stack) {
        self.stack = stack;
    }

    fn detach(&mut self) {
        assert_eq!(self.open, 0, "calls without return");
        self.stack = std::ptr::null();
    }

    fn context(&self) -> &ThreadContext {
        &self.context
    }

    fn take_error(&mut self) -> Slot {
        std::mem::take(&mut self.context.pending_error)
    }

    fn throw(&mut self, error: Slot) -> Thrown {
        self.index(error);
        self.context.pending_error = error;
        Thrown
    }

    fn trap(&mut self, trap: Trap) -> Thrown {
        self.safepoint();
        self.context.pending_error = self.allocate(Object { class: None, slots: vec![], text: String::new(), trap: Some(trap) });
        Thrown
    }

    fn new_object(&mut self, class: ClassId) -> Result<Slot, Thrown> {
        self.safepoint();
        if self.room == 0 {
            return Err(self.trap(Trap::OutOfMemory));
        }
        self.room -= 1;
        let slots = vec![0; self.module.classes[class].fields.len()];
        Ok(self.allocate(Object { class: Some(class), slots, text: String::new(), trap: None }))
    }

    fn new_array(&mut self, class: ClassId, length: i64) -> Result<Slot, Thrown> {
        self.safepoint();
        Ok(self.allocate(Object { class: Some(class), slots: vec![0; length as usize], text: String::new(), trap: None }))
    }

    fn str_const(&mut self, str: StrId) -> Slot {
        let text = self.module.strings[str].to_string();
        if let Some(&index) = self.literals.get(&str) {
            return self.encode(index as u64 + 1);
        }
        self.literals.insert(str, self.objects.len());
        self.text_object(text)
    }

    fn class_of(&self, object: Slot) -> ClassId {
        self.objects[self.index(object)].class.expect("has a class")
    }

    fn load_field(&self, object: Slot, offset: i32) -> Slot {
        let (object, slot) = self.field(object, offset);
        let value = self.objects[object].slots[slot];
        if self.is_ref(object, slot) { self.encode(value) } else { value }
    }

    fn store_field(&mut self, object: Slot, offset: i32, ty: Ty, value: Slot) {
        let (object, slot) = self.field(object, offset);
        assert_eq!(ty == Ty::Ref, self.is_ref(object, slot));
        self.objects[object].slots[slot] = if ty == Ty::Ref { self.decode(value) } else { value };
    }

    fn atomic(&mut self, op: AtomicOp, object: Slot, offset: i32, value: Slot) -> Slot {
        let (object, slot) = self.field(object, offset);
        let place = &mut self.objects[object].slots[slot];
        let old = *place;
        match op {
            AtomicOp::Load => {}
            AtomicOp::Store => *place = value,
            AtomicOp::FetchAdd => *place = old.wrapping_add(value),
        }
        old
    }

    fn atomic_cas(&mut self, object: Slot, offset: i32, expected: Slot, new: Slot) -> bool {
        let (object, slot) = self.field(object, offset);
        let place = &mut self.objects[object].slots[slot];
        let equal = *place == expected;
        if equal {
            *place = new;
        }
        equal
    }

    fn array_len(&self, array: Slot) -> i64 {
        self.objects[self.index(array)].slots.len() as i64
    }

    fn load_elem(&self, kind: ElemKind, array: Slot, index: i64) -> Slot {
        let value = self.objects[self.index(array)].slots[index as usize];
        if kind == ElemKind::Ref { self.encode(value) } else { value }
    }

    fn store_elem(&mut self, kind: ElemKind, array: Slot, index: i64, value: Slot) {
        let value = match kind {
            ElemKind::Ref => self.decode(value),
            ElemKind::Byte => value & 0xff,
            _ => value,
        };
        let array = self.index(array);
        self.objects[array].slots[index as usize] = value;
    }

    fn load_global(&self, global: GlobalId) -> Slot {
        let value = self.globals[global.as_u32() as usize];
        if self.module.globals[global].ty.ty() == Ty::Ref { self.encode(value) } else { value }
    }

    fn store_global(&mut self, global: GlobalId, value: Slot) {
        let value = if self.module.globals[global].ty.ty() == Ty::Ref { self.decode(value) } else { value };
        self.globals[global.as_u32() as usize] = value;
    }

    fn builtin(&mut self, builtin: Builtin, args: &[Slot]) -> Result<Slot, Thrown> {
        let first = args.first().copied().unwrap_or(0);
        match builtin {
            Builtin::PrintLine => {
                let text = self.objects[self.index(first)].text.clone();
                self.output += &text;
                self.output.push('\n');
                self.safepoint();
                Ok(0)
            }
            Builtin::IntToStr => {
                self.safepoint();
                Ok(self.text_object((first as i64).to_string()))
            }
            Builtin::FillTrace => {
                let mut trace = Vec::new();
                self.stack().expect("running").walk(|func, loc| {
                    trace.push((func, loc));
                    ControlFlow::Continue(())
                });
                self.trace = trace;
                self.safepoint();
                Ok(0)
            }
            Builtin::MathPow => Ok(f64::from_bits(args[0]).powf(f64::from_bits(args[1])).to_bits()),
            other => panic!("the test host has no {other:?}"),
        }
    }

    fn yield_point(&mut self) -> Result<(), Thrown> {
        self.context.stack_limit.store(0, Ordering::Relaxed);
        self.context.yield_flag.store(0, Ordering::Relaxed);
        self.safepoint();
        self.yields += 1;
        if self.yields > self.yields_until_throw { Err(self.trap(Trap::StackOverflow)) } else { Ok(()) }
    }

    fn call(&mut self, site: Option<CallSiteId>, callee: FuncId) {
        self.calls.push((site, callee));
        self.open += 1;
        assert_eq!(self.stack().expect("running").depth(), self.open, "told of {callee} when it is not there");
    }

    fn ret(&mut self) {
        self.open -= 1;
        assert_eq!(self.stack().expect("running").depth(), self.open, "a return too many, or too few");
    }
}

/// How a run ended, as the tests write it.
pub fn outcome(host: &mut MockHost<'_>, ret: Option<Ty>, result: Result<Option<Slot>, Thrown>) -> String {
    let value = match result {
        Ok(value) => value,
        Err(Thrown) => {
            let error = host.pending();
            return match (error.trap, error.class) {
                (Some(Trap::Bounds { index, length }), _) => format!("throws Bounds {index} of {length}"),
                (Some(Trap::Cast { target, .. }), _) => format!("throws Cast {target}"),
                (Some(Trap::NegativeLength { length }), _) => format!("throws NegativeLength {length}"),
                (Some(trap), _) => format!("throws {trap:?}"),
                (None, Some(class)) => format!("throws {class}"),
                (None, None) => "throws text".to_string(),
            };
        }
    };
    match (ret, value) {
        (None, None) => "()".to_string(),
        (Some(Ty::Int), Some(v)) => (v as i64).to_string(),
        (Some(Ty::Float), Some(v)) => format!("{:?}", f64::from_bits(v)),
        (Some(Ty::Bool), Some(0)) => "false".to_string(),
        (Some(Ty::Bool), Some(1)) => "true".to_string(),
        (Some(Ty::Ref), Some(0)) => "null".to_string(),
        (Some(Ty::Ref), Some(_)) => "object".to_string(),
        other => panic!("{other:?} is no result"),
    }
}

fn argument(text: &str) -> u64 {
    match text {
        "true" => 1,
        "false" | "null" => 0,
        "min" => i64::MIN as u64,
        "max" => i64::MAX as u64,
        float if float.contains(['.', 'N', 'f']) => float.parse::<f64>().unwrap().to_bits(),
        int => int.parse::<i64>().unwrap() as u64,
    }
}

/// Runs the lines of `text` that start with `//>` on `module`: `//> fn0(1, 2.5, true, null) = result` calls a function, `//> prints text` says what the calls before it printed. Returns those that do not hold.
pub fn broken_promises(module: &Module, text: &str) -> Vec<String> {
    let layout = Layout::new(module);
    let interpreter = Interpreter::new(module, &layout).with_stack_bytes(1 << 20);
    let mut host = MockHost::new(module, &layout);
    let mut failures = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let Some(line) = line.strip_prefix("//> ") else { continue };
        let found = if let Some(expected) = line.strip_prefix("prints ") {
            let found = std::mem::take(&mut host.output).trim_end().replace('\n', " ");
            (found != expected).then_some(found)
        } else {
            let (call, expected) = line.split_once(" = ").expect("a call, ` = `, and its result");
            let (func, args) = call.trim_end_matches(')').split_once('(').unwrap();
            let func = FuncId::from_u32(func.strip_prefix("fn").unwrap().parse().unwrap());
            let args: Vec<u64> = args.split(',').map(str::trim).filter(|a| !a.is_empty()).map(argument).collect();
            assert_eq!(args.len(), module.funcs[func].params.len(), "line {}", i + 1);
            let result = interpreter.run(&mut host, func, &args);
            let found = outcome(&mut host, module.funcs[func].ret.map(|t| t.ty()), result);
            (found != expected).then_some(found)
        };
        failures.extend(found.map(|found| format!("{}: {line}\n   but it was {found}", i + 1)));
    }
    failures
}
