//! The high-level IR: the program with every name resolved, every expression typed, and sugar removed; generics are still generic.
//!
//! In: the syntax tree, through `sema`. Out: what `lower` instantiates per set of type arguments and turns into SSA.
//! Invariants of finished HIR (a program without errors): no `Infer` or `Error` types; wherever a value's type differs from the type its place wants there
//! is an explicit [`ExprKind::Convert`]; narrowing shows as a `Convert` around the narrowed read; `?.`, `?:`, `!is`, compound assignment, index sugar on classes, `for` over
//! iterables and named constants in patterns are gone; every `Break`/`Continue` is inside a loop of the same body. A `null` literal has the nullable type
//! its place wants. A block in a value's place that has no `value` never reaches its end.

use super::types::{Ty, TypeParamId, Types};
use crate::source::Span;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub struct $name(pub u32);
        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
ids! {
    /// A class, interface or built-in type's declaration (generic ones once).
    ClassId;
    /// A function, method or constructor's declaration.
    FunId;
    GlobalId;
    /// A parameter or local variable of one [`Body`].
    LocalId;
    /// A field declared by one class: index into that class's own `fields`.
    FieldId;
}

#[derive(Debug)]
pub struct Program {
    pub types: Types,
    pub type_params: Vec<TypeParam>,
    pub classes: Vec<Class>,
    pub functions: Vec<Function>,
    /// In initialization order.
    pub globals: Vec<Global>,
    pub main: FunId,
    pub known: Known,
}

/// Declarations of the library that the compiler itself refers to.
#[derive(Clone, Debug)]
pub struct Known {
    pub object: ClassId,
    pub str: ClassId,
    pub bytes: ClassId,
    pub array: ClassId,
    /// Where the methods of the primitives are declared.
    pub int: ClassId,
    pub float: ClassId,
    pub bool: ClassId,
    pub range: ClassId,
    pub iterable: ClassId,
    pub iterator: ClassId,
    pub comparable: ClassId,
    pub mutex: ClassId,
    pub error: ClassId,
    pub null_error: ClassId,
    pub bounds_error: ClassId,
    pub division_error: ClassId,
    pub cast_error: ClassId,
    pub stack_overflow_error: ClassId,
    pub out_of_memory_error: ClassId,
    pub argument_error: ClassId,
    pub state_error: ClassId,
    pub io_error: ClassId,
}

#[derive(Debug)]
pub struct TypeParam {
    pub name: Box<str>,
    /// May mention the parameter itself (`T: Comparable<T>`).
    pub bounds: Vec<Ty>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassKind {
    Class {
        is_abstract: bool,
    },
    Interface,
    /// `Int`, `Float`, `Bool`: only methods; values are not objects.
    Primitive,
}

#[derive(Debug)]
pub struct Class {
    pub name: Box<str>,
    pub kind: ClassKind,
    pub type_params: Vec<TypeParamId>,
    /// A `Class` type; `None` for `Object`, interfaces and primitives.
    pub base: Option<Ty>,
    /// As declared, not the transitive ones. For an interface: those it extends. For `Int`, `Float`: the bounds they satisfy.
    pub interfaces: Vec<Ty>,
    /// Declared here, in layout order (header fields first).
    pub fields: Vec<Field>,
    /// Methods declared here (inherited ones are found through `base` and `interfaces`). Names are unique.
    pub methods: Vec<FunId>,
    /// `fun init(this, header parameters…)`: base construction, field initializers, `init` blocks. `None` for interfaces, primitives and the built-in `Str`, `Bytes`, `Array`.
    pub constructor: Option<FunId>,
    pub span: Span,
}

#[derive(Debug)]
pub struct Field {
    pub name: Box<str>,
    pub ty: Ty,
    pub mutable: bool,
}

#[derive(Debug)]
pub struct Global {
    /// `Math.PI` for members of an `object`.
    pub name: Box<str>,
    pub ty: Ty,
    pub mutable: bool,
    pub init: Body,
}

#[derive(Debug)]
pub struct Function {
    /// `name`, `Class.name`, `Class.init` or `Object.name`.
    pub name: Box<str>,
    /// The class whose method or constructor this is; its type parameters are in scope, and the body's `params[0]` is `this`.
    pub owner: Option<ClassId>,
    pub type_params: Vec<TypeParamId>,
    /// Without `this`.
    pub params: Vec<Ty>,
    pub ret: Ty,
    pub kind: FunctionKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum FunctionKind {
    Body(Body),
    /// No body: an abstract method or an interface's function without default.
    Abstract,
    /// Implemented by the VM; looked up by `name`.
    Native,
    /// A library function whose body was not checked because nothing can call it: no reachable code mentions it, or (a method) no object of its class
    /// is ever made or no method of its name is ever called. Its place in a method table may stay empty.
    Unused,
}

/// Code of a function, a lambda or a global's initializer.
#[derive(Debug)]
pub struct Body {
    pub locals: Vec<Local>,
    /// `this` first where there is one, then the parameters. For a lambda: its parameters.
    pub params: Vec<LocalId>,
    /// The value of the last expression is returned where the function returns one and control reaches the end (expression bodies, initializers, expression lambdas).
    pub block: Block,
}

#[derive(Debug)]
pub struct Local {
    pub name: Box<str>,
    pub ty: Ty,
    /// Captured by a closure and assigned after its declaration (anywhere): lives in a heap cell that owner and closures share. Captured otherwise: copied.
    pub boxed: bool,
    pub span: Span,
}

#[derive(Debug)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    /// The block's value, where it is used as one.
    pub value: Option<Box<Expr>>,
}

#[derive(Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum StmtKind {
    Let {
        local: LocalId,
        init: Expr,
    },
    SetLocal {
        local: LocalId,
        value: Expr,
    },
    SetGlobal {
        global: GlobalId,
        value: Expr,
    },
    /// `class` declares the field; `object`'s type is that class or below it.
    SetField {
        object: Expr,
        class: ClassId,
        field: FieldId,
        value: Expr,
    },
    /// On `Array` or `Bytes`.
    SetIndex {
        object: Expr,
        index: Expr,
        value: Expr,
    },
    /// Value dropped.
    Expr(Expr),
    While {
        cond: Expr,
        body: Block,
    },
    /// `step` is not zero; bounds are evaluated once, in order.
    ForRange {
        local: LocalId,
        start: Expr,
        end: Expr,
        inclusive: bool,
        step: i64,
        body: Block,
    },
    /// Over an `Array` or `Bytes`; the length is read once.
    ForArray {
        local: LocalId,
        array: Expr,
        body: Block,
    },
    Lock {
        mutex: Expr,
        body: Block,
    },
}

#[derive(Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Ty,
    pub span: Span,
    /// Where traces say that it is done: at a member's name, which may stand lines below the object, or where the span begins.
    pub at: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dispatch {
    Virtual,
    /// `super.m()`, constructors' base calls, and methods with type parameters of their own.
    Static,
}

#[derive(Debug)]
pub enum ExprKind {
    Int(i64),
    Float(f64),
    Bool(bool),
    Null,
    Unit,
    Str(Box<str>),
    Local(LocalId),
    Global(GlobalId),
    Field {
        object: Box<Expr>,
        class: ClassId,
        field: FieldId,
    },
    /// `length` of `Array`, `Bytes`, `Str`.
    Length(Box<Expr>),
    /// Checked; on `Array`, `Bytes`, `Str`.
    Index {
        object: Box<Expr>,
        index: Box<Expr>,
    },
    /// A top-level function (or a function of an `object`).
    CallFun {
        fun: FunId,
        type_args: Vec<Ty>,
        args: Vec<Expr>,
    },
    /// `fun` is the declaration found on the receiver's static type (for a type parameter: on its bound or `Object`); the receiver may be a primitive. `type_args` are the method's own.
    /// Lowering finds the callee by name on the receiver's concrete class.
    CallMethod {
        receiver: Box<Expr>,
        fun: FunId,
        type_args: Vec<Ty>,
        args: Vec<Expr>,
        dispatch: Dispatch,
    },
    CallClosure {
        callee: Box<Expr>,
        args: Vec<Expr>,
    },
    /// A base constructor run on `this` (first statement of a constructor's body). `class` is the base as a type.
    CallBaseInit {
        class: Ty,
        args: Vec<Expr>,
    },
    /// Allocates an object of the expression's type and runs its constructor.
    New {
        args: Vec<Expr>,
    },
    /// `Array<T>(len)`, `Array<T>(len, fill)`, `Bytes(len)`; the expression's type names the elements. The library's unchecked `newArray<T>` has no fill either.
    NewArray {
        len: Box<Expr>,
        fill: Option<Box<Expr>>,
    },
    ArrayLit(Vec<Expr>),
    Lambda(Box<Lambda>),
    FunRef {
        fun: FunId,
        type_args: Vec<Ty>,
    },
    /// Concatenation of the parts' `toString()`; parts of type `Str` stand as they are.
    Concat(Vec<Expr>),
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    /// On two `Int`s, two `Float`s, two `Bool`s, or two `Str`s (`Lt` … `Ge`; `Str + Str` is `Concat`).
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `==` by the operands' type (both converted to one type): value, IEEE, text, or null-safe `equals`.
    Equals {
        left: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
    },
    /// `===`; also every comparison with `null`.
    Same {
        left: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
    },
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    /// The expression's type is `Unit` where the value is not used.
    If {
        cond: Box<Expr>,
        then: Block,
        els: Option<Block>,
    },
    /// `subject` is evaluated once into a local. Arms are tried in order; without a fitting arm (statements, or complete matches) nothing happens.
    Match {
        subject: LocalId,
        init: Box<Expr>,
        arms: Vec<Arm>,
    },
    Try {
        body: Block,
        catches: Vec<Catch>,
        finally: Option<Block>,
    },
    Block(Block),
    /// To the expression's type, never failing: a widening (boxes a number that becomes nullable), or a narrowing that flow analysis has proved (unboxes).
    Convert(Box<Expr>),
    /// Checked: `CastError`, or null where `safe`. A null passes where the expression's type is nullable.
    Cast {
        value: Box<Expr>,
        safe: bool,
    },
    /// False for null, unless `ty` is nullable.
    Is {
        value: Box<Expr>,
        ty: Ty,
    },
    /// `!!`
    NonNull(Box<Expr>),
    Return(Option<Box<Expr>>),
    Throw(Box<Expr>),
    Break,
    Continue,
}

#[derive(Debug)]
pub struct Lambda {
    /// Locals of the enclosing body, each with the local of the lambda's own body that stands for it. `this` is captured as a local like any other.
    pub captures: Vec<Capture>,
    pub body: Body,
    pub ret: Ty,
}

#[derive(Clone, Copy, Debug)]
pub struct Capture {
    pub outer: LocalId,
    pub inner: LocalId,
}

#[derive(Debug)]
pub struct Arm {
    /// Any of them; empty means `else`.
    pub patterns: Vec<Pattern>,
    pub body: Block,
    pub span: Span,
}

#[derive(Debug)]
pub enum Pattern {
    Int(i64),
    /// Both ends included; empty ranges are dropped by the checker.
    IntRange(i64, i64),
    Float(f64),
    Bool(bool),
    Str(Box<str>),
    Null,
    /// `bind` receives the subject, converted.
    Is {
        ty: Ty,
        bind: Option<LocalId>,
    },
}

#[derive(Debug)]
pub struct Catch {
    pub local: LocalId,
    /// `Error` or a class below it.
    pub ty: Ty,
    pub body: Block,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    Neg,
    Not,
    BitNot,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    UShr,
    And,
    Or,
    Xor,
    Lt,
    Le,
    Gt,
    Ge,
}
