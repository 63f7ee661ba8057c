//! Tokens and trees as readable text, for `vm dump --stage tokens|ast` and for tests.
//!
//! In: what the lexer and the parser made. Out: a line per token; a line per node, indented by depth. With [`Positions::Shown`] each has its line and column.

use super::ast::*;
use super::token::{Token, TokenKind};
use crate::source::{SourceMap, Span};
use std::fmt::Write;

/// Whether a dump says where things stand in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Positions {
    Shown,
    Hidden,
}

/// `line:col kind text`, with a `↵` before the first token of a line.
pub fn dump_tokens(map: &SourceMap, tokens: &[Token]) -> String {
    let mut out = String::new();
    for token in tokens {
        let at = map.line_col(token.span.lo).map_or((0, 0), |(_, at)| (at.line, at.col));
        let text = map.text(token.span).escape_debug().to_string();
        let newline = if token.newline { "↵ " } else { "" };
        let kind = format!("{:?}", token.kind);
        let _ = match token.kind {
            TokenKind::Eof => writeln!(out, "{}:{} {newline}{kind}", at.0, at.1),
            _ => writeln!(out, "{}:{} {newline}{kind} {text}", at.0, at.1),
        };
    }
    out
}

pub fn dump_ast(map: &SourceMap, file: &File, positions: Positions) -> String {
    let mut dump = Dump { map, positions, out: String::new(), depth: 0 };
    for import in &file.imports {
        dump.line(import.span, format_args!("import {:?}", import.path));
    }
    for item in &file.items {
        dump.item(item);
    }
    dump.out
}

struct Dump<'a> {
    map: &'a SourceMap,
    positions: Positions,
    out: String,
    depth: usize,
}

impl Dump<'_> {
    fn line(&mut self, span: Span, text: std::fmt::Arguments) {
        let _ = write!(self.out, "{:1$}{text}", "", self.depth * 2);
        if self.positions == Positions::Shown
            && let (Some((_, lo)), Some((_, hi))) = (self.map.line_col(span.lo), self.map.line_col(span.hi))
        {
            let _ = match lo.line == hi.line {
                true => write!(self.out, "  @{}:{}-{}", lo.line, lo.col, hi.col),
                false => write!(self.out, "  @{}:{}-{}:{}", lo.line, lo.col, hi.line, hi.col),
            };
        }
        self.out.push('\n');
    }

    /// A line, and below it what `children` writes.
    fn node(&mut self, span: Span, text: std::fmt::Arguments, children: impl FnOnce(&mut Self)) {
        self.line(span, text);
        self.depth += 1;
        children(self);
        self.depth -= 1;
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Fun(f) => self.fun(f),
            Item::Class(c) => self.class(c),
            Item::Interface(i) => {
                let supers = list(": ", i.supers.iter().map(ty_text), ", ", "");
                self.node(i.span, format_args!("interface {}{}{supers}", i.name.text, type_params(&i.type_params)), |d| {
                    i.funs.iter().for_each(|f| d.fun(f))
                });
            }
            Item::Object(o) => self.node(o.span, format_args!("object {}", o.name.text), |d| {
                o.globals.iter().for_each(|g| d.var(g));
                o.funs.iter().for_each(|f| d.fun(f));
            }),
            Item::Global(v) => self.var(v),
        }
    }

    fn fun(&mut self, f: &FunDecl) {
        let params = list("(", f.params.iter().map(|p| format!("{}: {}", p.name.text, ty_text(&p.ty))), ", ", ")");
        let params = if params.is_empty() { "()".to_string() } else { params };
        let ret = f.ret.as_ref().map_or(String::new(), |t| format!(": {}", ty_text(t)));
        let head = format!("{}fun {}{}{params}{ret}", modifiers(&f.modifiers), f.name.text, type_params(&f.type_params));
        self.node(f.span, format_args!("{head}"), |d| match &f.body {
            FunBody::Block(b) => d.block(b),
            FunBody::Expr(e) => d.node(e.span, format_args!("="), |d| d.expr(e)),
            FunBody::None => {}
        });
    }

    fn class(&mut self, c: &ClassDecl) {
        let params = list("(", c.params.iter().map(|p| format!("{}{}: {}", field(p.field), p.name.text, ty_text(&p.ty))), ", ", ")");
        let head = format!("{}class {}{}{params}", modifiers(&c.modifiers), c.name.text, type_params(&c.type_params));
        self.node(c.span, format_args!("{head}"), |d| {
            for s in &c.supers {
                d.node(s.span, format_args!("super {}{}", ty_text(&s.ty), if s.args.is_some() { "()" } else { "" }), |d| {
                    s.args.iter().flatten().for_each(|a| d.expr(a));
                });
            }
            for member in &c.members {
                match member {
                    Member::Field(v) => d.var(v),
                    Member::Init(b) => d.node(b.span, format_args!("init"), |d| d.block(b)),
                    Member::Fun(f) => d.fun(f),
                }
            }
        });
    }

    fn var(&mut self, v: &VarDecl) {
        let ty = v.ty.as_ref().map_or(String::new(), |t| format!(": {}", ty_text(t)));
        self.node(v.span, format_args!("{}{}{ty}", field(Some(v.mutability)), v.name.text), |d| d.expr(&v.init));
    }

    fn block(&mut self, b: &Block) {
        b.stmts.iter().for_each(|s| self.stmt(s));
    }

    /// A labelled block, as loops and branches have them.
    fn part(&mut self, label: &str, b: &Block) {
        self.node(b.span, format_args!("{label}"), |d| d.block(b));
    }

    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Var(v) => self.var(v),
            StmtKind::Assign { target, op, value, .. } => {
                let op = op.map_or("", BinaryOp::symbol);
                self.node(s.span, format_args!("assign {op}="), |d| {
                    d.expr(target);
                    d.expr(value);
                });
            }
            StmtKind::Expr(e) => self.expr(e),
            StmtKind::While { cond, body } => self.node(s.span, format_args!("while"), |d| {
                d.expr(cond);
                d.part("do", body);
            }),
            StmtKind::For { var, iter, step, body } => self.node(s.span, format_args!("for {}", var.text), |d| {
                d.expr(iter);
                step.iter().for_each(|e| d.node(e.span, format_args!("step"), |d| d.expr(e)));
                d.part("do", body);
            }),
            StmtKind::Lock { mutex, body } => self.node(s.span, format_args!("lock"), |d| {
                d.expr(mutex);
                d.part("do", body);
            }),
            StmtKind::Error => self.line(s.span, format_args!("error")),
        }
    }

    fn expr(&mut self, e: &Expr) {
        let span = e.span;
        match &e.kind {
            ExprKind::Int(v) => self.line(span, format_args!("{v}")),
            ExprKind::Char(c) => self.line(span, format_args!("{c:?}")),
            ExprKind::Float(v) => self.line(span, format_args!("{v:?}")),
            ExprKind::Bool(v) => self.line(span, format_args!("{v}")),
            ExprKind::Null => self.line(span, format_args!("null")),
            ExprKind::Name(n) => self.line(span, format_args!("{}", n.text)),
            ExprKind::This => self.line(span, format_args!("this")),
            ExprKind::Super => self.line(span, format_args!("super")),
            ExprKind::Break => self.line(span, format_args!("break")),
            ExprKind::Continue => self.line(span, format_args!("continue")),
            ExprKind::Error => self.line(span, format_args!("error")),
            ExprKind::Str(parts) => self.string(span, parts),
            ExprKind::Array(items) => self.node(span, format_args!("array"), |d| items.iter().for_each(|i| d.expr(i))),
            ExprKind::Field { object, name, safe } => {
                self.node(span, format_args!("{}{}", if *safe { "?." } else { "." }, name.text), |d| d.expr(object));
            }
            ExprKind::Call { callee, type_args, args } => {
                let types = list("<", type_args.iter().map(ty_text), ", ", ">");
                self.node(span, format_args!("call{types}"), |d| {
                    d.expr(callee);
                    args.iter().for_each(|a| d.expr(a));
                });
            }
            ExprKind::Index { object, index } => self.pair(span, "index", object, index),
            ExprKind::Unary { op, operand, .. } => self.node(span, format_args!("{}", unary_text(*op)), |d| d.expr(operand)),
            ExprKind::Binary { op, left, right, .. } => self.pair(span, op.symbol(), left, right),
            ExprKind::Range { start, end, inclusive } => self.pair(span, range_text(*inclusive), start, end),
            ExprKind::Cast { value, ty, safe } => {
                self.node(span, format_args!("as{} {}", if *safe { "?" } else { "" }, ty_text(ty)), |d| d.expr(value));
            }
            ExprKind::Is { value, ty, negated } => {
                self.node(span, format_args!("{}is {}", if *negated { "!" } else { "" }, ty_text(ty)), |d| d.expr(value));
            }
            ExprKind::Return(value) => self.node(span, format_args!("return"), |d| value.iter().for_each(|v| d.expr(v))),
            ExprKind::Throw(value) => self.node(span, format_args!("throw"), |d| d.expr(value)),
            _ => self.compound(e),
        }
    }

    /// Expressions with blocks in them.
    fn compound(&mut self, e: &Expr) {
        let span = e.span;
        match &e.kind {
            ExprKind::If { cond, then, els } => self.node(span, format_args!("if"), |d| {
                d.expr(cond);
                d.part("then", then);
                match els.as_deref() {
                    Some(Else::Block(b)) => d.part("else", b),
                    Some(Else::If(e)) => d.node(e.span, format_args!("else"), |d| d.expr(e)),
                    None => {}
                }
            }),
            ExprKind::Match { subject, arms } => self.node(span, format_args!("match"), |d| {
                d.expr(subject);
                arms.iter().for_each(|a| d.arm(a));
            }),
            ExprKind::Try { body, catches, finally } => self.node(span, format_args!("try"), |d| {
                d.part("do", body);
                for c in catches {
                    d.node(c.name.span, format_args!("catch {}: {}", c.name.text, ty_text(&c.ty)), |d| d.block(&c.body));
                }
                finally.iter().for_each(|b| d.part("finally", b));
            }),
            ExprKind::Lambda { params, ret, body } => {
                let names = params
                    .iter()
                    .map(|p| format!("{}{}", p.name.text, p.ty.as_ref().map_or(String::new(), |t| format!(": {}", ty_text(t)))));
                let ret = ret.as_ref().map_or(String::new(), |t| format!(": {}", ty_text(t)));
                self.node(span, format_args!("({}){ret} =>", names.collect::<Vec<_>>().join(", ")), |d| match body {
                    LambdaBody::Expr(e) => d.expr(e),
                    LambdaBody::Block(b) => d.part("do", b),
                });
            }
            _ => {}
        }
    }

    fn pair(&mut self, span: Span, text: &str, a: &Expr, b: &Expr) {
        self.node(span, format_args!("{text}"), |d| {
            d.expr(a);
            d.expr(b);
        });
    }

    fn string(&mut self, span: Span, parts: &[StrPart]) {
        match parts {
            [] => self.line(span, format_args!("\"\"")),
            [StrPart::Text(text)] => self.line(span, format_args!("{text:?}")),
            _ => self.node(span, format_args!("string"), |d| {
                for part in parts {
                    match part {
                        StrPart::Text(text) => d.line(Span::default(), format_args!("{text:?}")),
                        StrPart::Expr(e) => d.expr(e),
                    }
                }
            }),
        }
    }

    fn arm(&mut self, arm: &Arm) {
        self.node(arm.span, format_args!("arm"), |d| {
            arm.patterns.iter().for_each(|p| d.pattern(p));
            d.depth += 1;
            match &arm.body {
                ArmBody::Expr(e) => d.expr(e),
                ArmBody::Block(b) => d.part("do", b),
                ArmBody::Stmt(s) => d.stmt(s),
            }
            d.depth -= 1;
        });
    }

    fn pattern(&mut self, p: &Pattern) {
        match &p.kind {
            PatternKind::Value(e) => self.node(p.span, format_args!("value"), |d| d.expr(e)),
            PatternKind::Range { start, end, inclusive } => self.pair(p.span, range_text(*inclusive), start, end),
            PatternKind::Is { ty, bind } => {
                let bind = bind.as_ref().map_or(String::new(), |n| format!(" as {}", n.text));
                self.line(p.span, format_args!("is {}{bind}", ty_text(ty)));
            }
            PatternKind::Else => self.line(p.span, format_args!("else")),
        }
    }
}

/// Nothing without items.
fn list(open: &str, items: impl Iterator<Item = String>, separator: &str, close: &str) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { String::new() } else { format!("{open}{}{close}", items.join(separator)) }
}

fn type_params(params: &[TypeParam]) -> String {
    let text = |p: &TypeParam| format!("{}{}", p.name.text, list(": ", p.bounds.iter().map(ty_text), " & ", ""));
    list("<", params.iter().map(text), ", ", ">")
}

/// A type as one would write it.
pub fn ty_text(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeKind::Named { name, args } => format!("{}{}", name.text, list("<", args.iter().map(ty_text), ", ", ">")),
        TypeKind::Fun { params, ret } => format!("({}) -> {}", params.iter().map(ty_text).collect::<Vec<_>>().join(", "), ty_text(ret)),
        TypeKind::Nullable(inner) if matches!(inner.kind, TypeKind::Fun { .. }) => format!("({})?", ty_text(inner)),
        TypeKind::Nullable(inner) => format!("{}?", ty_text(inner)),
        TypeKind::Error => "<error>".to_string(),
    }
}

fn modifiers(m: &Modifiers) -> String {
    let words = [(m.is_override, "override "), (m.is_abstract, "abstract "), (m.is_native, "native ")];
    words.iter().filter(|(span, _)| span.is_some()).map(|(_, word)| *word).collect()
}

fn field(mutability: Option<Mutability>) -> &'static str {
    match mutability {
        Some(Mutability::Let) => "let ",
        Some(Mutability::Var) => "var ",
        None => "",
    }
}

fn range_text(inclusive: bool) -> &'static str {
    if inclusive { ".." } else { "..<" }
}

fn unary_text(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "neg",
        UnaryOp::Not => "!",
        UnaryOp::BitNot => "~",
        UnaryOp::NonNull => "!!",
    }
}
