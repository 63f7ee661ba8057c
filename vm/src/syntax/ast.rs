//! The syntax tree, as written: no names resolved, no types inferred.
//!
//! In: tokens (through the parser). Out: what name resolution, the formatter's checks and `vm dump --stage ast` read.
//! Invariant: every node carries the span it was written at; where the parser recovered from an error it leaves an `Error` node, so later stages never
//! see invented code.

use crate::source::Span;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    pub text: Box<str>,
    pub span: Span,
}

#[derive(Debug)]
pub struct File {
    pub imports: Vec<Import>,
    pub items: Vec<Item>,
}

#[derive(Debug)]
pub struct Import {
    pub path: Box<str>,
    pub span: Span,
}

#[derive(Debug)]
pub enum Item {
    Fun(FunDecl),
    Class(ClassDecl),
    Interface(InterfaceDecl),
    Object(ObjectDecl),
    Global(VarDecl),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutability {
    Let,
    Var,
}

/// `let`/`var` as a global, a field or a local.
#[derive(Debug)]
pub struct VarDecl {
    pub mutability: Mutability,
    pub name: Name,
    pub ty: Option<TypeExpr>,
    pub init: Expr,
    pub span: Span,
}

#[derive(Debug)]
pub struct FunDecl {
    pub modifiers: Modifiers,
    pub name: Name,
    pub type_params: Vec<TypeParam>,
    pub params: Vec<Param>,
    pub ret: Option<TypeExpr>,
    pub body: FunBody,
    pub span: Span,
}

/// Spans of the modifiers that stand before a declaration.
#[derive(Clone, Copy, Default, Debug)]
pub struct Modifiers {
    pub is_override: Option<Span>,
    pub is_abstract: Option<Span>,
    pub is_native: Option<Span>,
}

#[derive(Debug)]
pub enum FunBody {
    Block(Block),
    /// `= expr`
    Expr(Expr),
    /// Abstract and native functions.
    None,
}

#[derive(Debug)]
pub struct Param {
    pub name: Name,
    pub ty: TypeExpr,
}

#[derive(Debug)]
pub struct TypeParam {
    pub name: Name,
    pub bounds: Vec<TypeExpr>,
}

#[derive(Debug)]
pub struct ClassDecl {
    pub modifiers: Modifiers,
    pub name: Name,
    pub type_params: Vec<TypeParam>,
    pub params: Vec<ClassParam>,
    pub supers: Vec<Super>,
    pub members: Vec<Member>,
    pub span: Span,
}

#[derive(Debug)]
pub struct ClassParam {
    /// `Some`: also a field.
    pub field: Option<Mutability>,
    pub name: Name,
    pub ty: TypeExpr,
}

/// `Base(args)` (the base class, `args` present) or an interface.
#[derive(Debug)]
pub struct Super {
    pub ty: TypeExpr,
    pub args: Option<Vec<Expr>>,
    pub span: Span,
}

#[derive(Debug)]
pub enum Member {
    Field(VarDecl),
    Init(Block),
    Fun(FunDecl),
}

#[derive(Debug)]
pub struct InterfaceDecl {
    pub name: Name,
    pub type_params: Vec<TypeParam>,
    pub supers: Vec<TypeExpr>,
    pub funs: Vec<FunDecl>,
    pub span: Span,
}

#[derive(Debug)]
pub struct ObjectDecl {
    pub name: Name,
    pub globals: Vec<VarDecl>,
    pub funs: Vec<FunDecl>,
    pub span: Span,
}

#[derive(Debug)]
pub struct TypeExpr {
    pub kind: TypeKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum TypeKind {
    /// `Int`, `List<Int>`
    Named {
        name: Name,
        args: Vec<TypeExpr>,
    },
    /// `(A, B) -> R`
    Fun {
        params: Vec<TypeExpr>,
        ret: Box<TypeExpr>,
    },
    /// `T?`
    Nullable(Box<TypeExpr>),
    Error,
}

#[derive(Debug)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    pub span: Span,
}

#[derive(Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum StmtKind {
    Var(VarDecl),
    /// `target = value` (`op` is `None`) or `target op= value`.
    Assign {
        target: Expr,
        op: Option<BinaryOp>,
        op_span: Span,
        value: Expr,
    },
    Expr(Expr),
    While {
        cond: Expr,
        body: Block,
    },
    For {
        var: Name,
        iter: Expr,
        step: Option<Expr>,
        body: Block,
    },
    Lock {
        mutex: Expr,
        body: Block,
    },
    Error,
}

#[derive(Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum ExprKind {
    /// Two's complement bits of the literal. A decimal 9223372036854775808 is only legal under a minus, which the parser folds.
    Int(i64),
    /// Code point of a `'c'` literal, an `Int`.
    Char(char),
    Float(f64),
    Bool(bool),
    Null,
    /// A string without interpolation has one `Text` part, or none where it is empty.
    Str(Vec<StrPart>),
    /// `[a, b]`
    Array(Vec<Expr>),
    Name(Name),
    This,
    /// Only legal as the receiver of a `Call` to a `Field`.
    Super,
    /// `x.f`, `x?.f` (`safe`)
    Field {
        object: Box<Expr>,
        name: Name,
        safe: bool,
    },
    /// `f(x)`, `x.m(y)` (callee is a `Field`), `List<Int>()` (explicit `type_args`)
    Call {
        callee: Box<Expr>,
        type_args: Vec<TypeExpr>,
        args: Vec<Expr>,
    },
    Index {
        object: Box<Expr>,
        index: Box<Expr>,
    },
    Unary {
        op: UnaryOp,
        op_span: Span,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        op_span: Span,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `x as T`, `x as? T` (`safe`)
    Cast {
        value: Box<Expr>,
        ty: TypeExpr,
        safe: bool,
    },
    /// `x is T`, `x !is T` (`negated`)
    Is {
        value: Box<Expr>,
        ty: TypeExpr,
        negated: bool,
    },
    /// `a..b`, `a..<b`
    Range {
        start: Box<Expr>,
        end: Box<Expr>,
        inclusive: bool,
    },
    If {
        cond: Box<Expr>,
        then: Block,
        els: Option<Box<Else>>,
    },
    Match {
        subject: Box<Expr>,
        arms: Vec<Arm>,
    },
    Try {
        body: Block,
        catches: Vec<Catch>,
        finally: Option<Block>,
    },
    Lambda {
        params: Vec<LambdaParam>,
        ret: Option<TypeExpr>,
        body: LambdaBody,
    },
    Return(Option<Box<Expr>>),
    Throw(Box<Expr>),
    Break,
    Continue,
    Error,
}

#[derive(Debug)]
pub enum StrPart {
    Text(Box<str>),
    Expr(Expr),
}

#[derive(Debug)]
pub enum Else {
    Block(Block),
    /// Always an `ExprKind::If`.
    If(Expr),
}

#[derive(Debug)]
pub struct Arm {
    pub patterns: Vec<Pattern>,
    pub body: ArmBody,
    pub span: Span,
}

#[derive(Debug)]
pub enum ArmBody {
    Expr(Expr),
    Block(Block),
    /// An assignment; any other statement of one line is an expression.
    Stmt(Box<Stmt>),
}

#[derive(Debug)]
pub struct Pattern {
    pub kind: PatternKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum PatternKind {
    /// A literal (with its sign folded), `null`, or the name of a constant (`Name`, or `Field` on an `object`'s `Name`).
    Value(Expr),
    Range {
        start: Expr,
        end: Expr,
        inclusive: bool,
    },
    Is {
        ty: TypeExpr,
        bind: Option<Name>,
    },
    Else,
}

#[derive(Debug)]
pub struct Catch {
    pub name: Name,
    pub ty: TypeExpr,
    pub body: Block,
}

#[derive(Debug)]
pub struct LambdaParam {
    pub name: Name,
    pub ty: Option<TypeExpr>,
}

#[derive(Debug)]
pub enum LambdaBody {
    Expr(Box<Expr>),
    Block(Block),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    Neg,
    Not,
    BitNot,
    /// Postfix `!!`
    NonNull,
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
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Eq,
    Ne,
    /// `===`
    RefEq,
    /// `!==`
    RefNe,
    Lt,
    Le,
    Gt,
    Ge,
    /// `?:`
    Elvis,
}

impl BinaryOp {
    /// As written in the source.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::UShr => ">>>",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::RefEq => "===",
            BinaryOp::RefNe => "!==",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Elvis => "?:",
        }
    }
}
