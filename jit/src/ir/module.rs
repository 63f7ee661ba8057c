//! The whole program in SSA form: classes, selectors, functions, globals and literals, all instantiated.
//!
//! In: what the front end lowers, or the text parser reads. Out: what the verifier, interpreter, optimizer and code generator work on.
//! Invariants: the program is closed (no class or function appears later); a class lists all fields and all selectors it understands, inherited ones included, in an order that its superclass's
//! lists begin with (fields); tree-shaped single inheritance.

use super::entities::*;
use super::inst::{Op, Terminator};
use super::types::{ElemKind, Ty, TypeDesc};
use cranelift_entity::PrimaryMap;
use std::collections::BTreeMap;

#[derive(Clone, Default, Debug)]
pub struct Module {
    pub classes: PrimaryMap<ClassId, Class>,
    pub fields: PrimaryMap<FieldId, Field>,
    pub selectors: PrimaryMap<SelectorId, Selector>,
    pub funcs: PrimaryMap<FuncId, Function>,
    pub globals: PrimaryMap<GlobalId, Global>,
    pub strings: PrimaryMap<StrId, Box<str>>,
    pub call_sites: PrimaryMap<CallSiteId, CallSite>,
    pub entry: Option<Entry>,
    pub known: Option<Known>,
}

/// Where a program starts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Entry {
    /// `() -> ()`: runs the globals' initializers, then `main`. Returns the exit code.
    pub main: FuncId,
    /// `(closure: Ref) -> ()`: what a spawned thread runs.
    pub thread: FuncId,
}

/// Classes and fields that the runtime itself makes objects of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Known {
    pub object: ClassId,
    pub str: ClassId,
    pub bytes: ClassId,
    /// `Array<Str>`
    pub str_array: ClassId,
    /// `Array<Int>`
    pub int_array: ClassId,
    pub error: ClassId,
    pub error_message: FieldId,
    /// `Array<Int>?`: two words a frame, function and [`Loc`], innermost first; filled where the error is first thrown.
    pub error_trace: FieldId,
    pub null_error: ClassId,
    pub bounds_error: ClassId,
    pub division_error: ClassId,
    pub cast_error: ClassId,
    pub stack_overflow_error: ClassId,
    pub out_of_memory_error: ClassId,
    pub argument_error: ClassId,
    pub state_error: ClassId,
    pub io_error: ClassId,
    pub mutex: MutexFields,
}

/// `Int` fields of the library's `Mutex`, for the builtins that implement it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MutexFields {
    /// 0 free, 1 held, 2 held and awaited.
    pub state: FieldId,
    /// Thread id + 1 of the holder, 0 if free.
    pub owner: FieldId,
    /// How often the holder has locked it.
    pub depth: FieldId,
    /// Unique number that waiters queue under; never 0 once assigned.
    pub key: FieldId,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClassKind {
    /// Can be allocated.
    Concrete,
    Abstract,
    Interface,
    /// `Str` is an array of `Byte` whose elements never change.
    Array(ElemKind),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Class {
    /// As the user knows it: `List<Int>`, `closure at main.lang:3`.
    pub name: Box<str>,
    pub kind: ClassKind,
    pub superclass: Option<ClassId>,
    /// All interfaces, transitive ones included, sorted.
    pub interfaces: Vec<ClassId>,
    /// All fields, inherited ones first.
    pub fields: Vec<FieldId>,
    /// All selectors understood, with the function that answers (for abstract classes those that have one).
    pub methods: BTreeMap<SelectorId, FuncId>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    pub name: Box<str>,
    pub class: ClassId,
    pub ty: TypeDesc,
    /// Assigned only while its object is constructed.
    pub is_final: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Selector {
    pub name: Box<str>,
    /// The class or interface that declares it first.
    pub class: ClassId,
    /// Receiver included.
    pub params: Vec<TypeDesc>,
    pub ret: Option<TypeDesc>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Global {
    pub name: Box<str>,
    pub ty: TypeDesc,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CallSite {
    pub caller: FuncId,
    pub loc: Loc,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// As the user knows it: `List<Int>.add`, `main`, `closure at main.lang:3`.
    pub name: Box<str>,
    pub params: Vec<TypeDesc>,
    pub ret: Option<TypeDesc>,
    /// Position of its declaration.
    pub loc: Loc,
    /// Entry first; the layout order is the order of this list.
    pub layout: Vec<Block>,
    pub blocks: PrimaryMap<Block, BlockData>,
    pub insts: PrimaryMap<Inst, InstData>,
    pub values: PrimaryMap<Value, Ty>,
    /// What the positions of inlined code mean.
    pub inlined: PrimaryMap<InlinedId, Inlined>,
    pub start: Start,
}

/// Where a function's code begins.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Start {
    /// Where it is called.
    #[default]
    Call,
    /// Behind a loop's poll, with what lives there as its parameters: the rest of a call that another version of the function has begun (`opt::osr`).
    Loop,
}

/// A position inside of a callee that stands in its caller's code: a trace shows it as a frame of its own, above that of the call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inlined {
    pub callee: FuncId,
    /// In the callee's source.
    pub loc: Loc,
    pub site: CallSiteId,
    /// Of the call; itself inside of a callee where inlining went deeper.
    pub call: Loc,
}

/// The frames that a position in the code of `own` stands for, innermost first; `inlined` is [`Function::inlined`] of that code.
pub fn frames_at(inlined: &PrimaryMap<InlinedId, Inlined>, own: FuncId, loc: Loc) -> impl Iterator<Item = (FuncId, Loc)> {
    let mut next = Some(loc);
    std::iter::from_fn(move || {
        let Some(id) = next?.inlined() else { return next.take().map(|loc| (own, loc)) };
        let Inlined { callee, loc, call, .. } = inlined[id];
        next = Some(call);
        Some((callee, loc))
    })
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct BlockData {
    /// The entry block's are the function's parameters.
    pub params: Vec<Value>,
    pub insts: Vec<Inst>,
    /// `None` only while the block is being built.
    pub terminator: Option<Terminator>,
    pub terminator_loc: Loc,
}

#[derive(Clone, PartialEq, Debug)]
pub struct InstData {
    pub op: Op,
    pub result: Option<Value>,
    pub loc: Loc,
}

impl Function {
    pub fn new(name: impl Into<Box<str>>, params: Vec<TypeDesc>, ret: Option<TypeDesc>, loc: Loc) -> Self {
        Function {
            name: name.into(),
            params,
            ret,
            loc,
            layout: Vec::new(),
            blocks: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            values: PrimaryMap::new(),
            inlined: PrimaryMap::new(),
            start: Start::Call,
        }
    }

    pub fn entry(&self) -> Block {
        self.layout[0]
    }
}

impl Module {
    /// Superclass chain, then interfaces.
    pub fn is_subclass(&self, sub: ClassId, sup: ClassId) -> bool {
        std::iter::successors(Some(sub), |&c| self.classes[c].superclass).any(|c| c == sup)
            || self.classes[sub].interfaces.binary_search(&sup).is_ok()
    }
}

/// The fields of a struct of ids, with the names that the text form gives them.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident, $name_mut:ident: $id:ident; $($word:literal $($field:ident).+),* $(,)?) => {
        $(#[$doc])*
        pub fn $name(&self) -> Vec<(&'static str, $id)> {
            vec![$(($word, self.$($field).+)),*]
        }

        pub(super) fn $name_mut(&mut self) -> Vec<(&'static str, &mut $id)> {
            vec![$(($word, &mut self.$($field).+)),*]
        }
    };
}

impl Known {
    named! {
        /// The classes with their names.
        classes, classes_mut: ClassId;
        "object" object, "str" str, "bytes" bytes, "str_array" str_array, "int_array" int_array, "error" error, "null_error" null_error,
        "bounds_error" bounds_error, "division_error" division_error, "cast_error" cast_error, "stack_overflow_error" stack_overflow_error,
        "out_of_memory_error" out_of_memory_error, "argument_error" argument_error, "state_error" state_error, "io_error" io_error,
    }
    named! {
        /// The fields with their names.
        fields, fields_mut: FieldId;
        "error_message" error_message, "error_trace" error_trace, "mutex_state" mutex.state, "mutex_owner" mutex.owner,
        "mutex_depth" mutex.depth, "mutex_key" mutex.key,
    }
}
