//! HIR as text, for `vm dump --stage hir` and for tests.
//!
//! In: a program. Out: its declarations and bodies, one statement a line, every conversion and capture shown. Library declarations only on request.

use super::hir::*;
use super::types::{Ty, TyKind};
use std::fmt::Write;

/// Text of the functions, classes and globals that `wanted` keeps (by their names' spans).
pub fn dump(program: &Program, wanted: &dyn Fn(crate::source::Span) -> bool) -> String {
    let mut d = Dump { program, out: String::new(), indent: 0 };
    for class in program.classes.iter().filter(|c| wanted(c.span)) {
        d.class(class);
    }
    for global in &program.globals {
        let value = global.init.block.value.as_ref().map(|v| v.span);
        let span = value.or(global.init.block.stmts.first().map(|s| s.span));
        if span.is_some_and(wanted) {
            d.line(&format!("global {}: {}", global.name, type_name(program, global.ty)));
            d.body(&global.init);
        }
    }
    for function in program.functions.iter().filter(|f| wanted(f.span)) {
        d.function(function);
    }
    d.out
}

/// A type as written.
pub fn type_name(program: &Program, ty: Ty) -> String {
    let list = |types: &[Ty]| types.iter().map(|&t| type_name(program, t)).collect::<Vec<_>>().join(", ");
    match program.types.kind(ty) {
        TyKind::Int => "Int".into(),
        TyKind::Float => "Float".into(),
        TyKind::Bool => "Bool".into(),
        TyKind::Unit => "Unit".into(),
        TyKind::Never => "Never".into(),
        TyKind::Null => "Null".into(),
        TyKind::Class(c, args) if args.is_empty() => program.classes[c.index()].name.to_string(),
        TyKind::Class(c, args) => format!("{}<{}>", program.classes[c.index()].name, list(args)),
        TyKind::Fun(params, ret) => format!("({}) -> {}", list(params), type_name(program, *ret)),
        TyKind::Nullable(t) if matches!(program.types.kind(*t), TyKind::Fun(..)) => format!("({})?", type_name(program, *t)),
        TyKind::Nullable(t) => format!("{}?", type_name(program, *t)),
        TyKind::Param(p) => program.type_params[p.0 as usize].name.to_string(),
        TyKind::Infer(v) => format!("?{}", v.0),
        TyKind::Error => "error".into(),
    }
}

struct Dump<'p> {
    program: &'p Program,
    out: String,
    indent: usize,
}

impl Dump<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = self.indent * 2);
    }

    fn ty(&self, ty: Ty) -> String {
        type_name(self.program, ty)
    }

    fn class(&mut self, class: &Class) {
        let what = match class.kind {
            ClassKind::Class { is_abstract: true } => "abstract class",
            ClassKind::Class { .. } => "class",
            ClassKind::Interface => "interface",
            ClassKind::Primitive => "primitive",
        };
        let supers: Vec<String> = class.base.iter().chain(&class.interfaces).map(|&t| self.ty(t)).collect();
        let supers = if supers.is_empty() { String::new() } else { format!(": {}", supers.join(", ")) };
        self.line(&format!("{what} {}{supers}", class.name));
        for field in &class.fields {
            let text = format!("  {} {}: {}", if field.mutable { "var" } else { "let" }, field.name, self.ty(field.ty));
            self.line(&text);
        }
    }

    fn function(&mut self, f: &Function) {
        let params: Vec<String> = f.params.iter().map(|&t| self.ty(t)).collect();
        let head = format!("fun {}({}): {}", f.name, params.join(", "), self.ty(f.ret));
        match &f.kind {
            FunctionKind::Abstract => self.line(&format!("{head} abstract")),
            FunctionKind::Native => self.line(&format!("{head} native")),
            FunctionKind::Unused => self.line(&format!("{head} unused")),
            FunctionKind::Body(body) => {
                self.line(&head);
                self.body(body);
            }
        }
    }

    fn body(&mut self, body: &Body) {
        self.indent += 1;
        let params = body.params.iter().map(|&p| self.local_decl(body, p)).collect::<Vec<_>>().join(", ");
        if !params.is_empty() {
            self.line(&format!("params {params}"));
        }
        self.block(body, &body.block);
        self.indent -= 1;
    }

    fn local_decl(&self, body: &Body, local: LocalId) -> String {
        let l = &body.locals[local.index()];
        format!("{}{}: {}", if l.boxed { "boxed " } else { "" }, self.local(body, local), self.ty(l.ty))
    }

    fn local(&self, body: &Body, local: LocalId) -> String {
        format!("{}#{}", body.locals[local.index()].name, local.0)
    }

    fn block(&mut self, body: &Body, block: &Block) {
        for stmt in &block.stmts {
            self.stmt(body, &stmt.kind);
        }
        if let Some(value) = &block.value {
            let text = self.expr(body, value);
            self.line(&format!("=> {text}"));
        }
    }

    fn nested(&mut self, body: &Body, head: &str, block: &Block) {
        self.line(head);
        self.indent += 1;
        self.block(body, block);
        self.indent -= 1;
    }

    fn stmt(&mut self, body: &Body, stmt: &StmtKind) {
        match stmt {
            StmtKind::Let { local, init } => {
                let text = format!("let {} = {}", self.local_decl(body, *local), self.expr(body, init));
                self.line(&text);
            }
            StmtKind::SetLocal { local, value } => {
                let text = format!("{} = {}", self.local(body, *local), self.expr(body, value));
                self.line(&text);
            }
            StmtKind::SetGlobal { global, value } => {
                let text = format!("{} = {}", self.program.globals[global.index()].name, self.expr(body, value));
                self.line(&text);
            }
            StmtKind::SetField { object, class, field, value } => {
                let text = format!("{}.{} = {}", self.expr(body, object), self.field(*class, *field), self.expr(body, value));
                self.line(&text);
            }
            StmtKind::SetIndex { object, index, value } => {
                let text = format!("{}[{}] = {}", self.expr(body, object), self.expr(body, index), self.expr(body, value));
                self.line(&text);
            }
            StmtKind::Expr(e) => {
                let text = self.expr(body, e);
                self.line(&text);
            }
            StmtKind::While { cond, body: block } => {
                let head = format!("while {}", self.expr(body, cond));
                self.nested(body, &head, block);
            }
            StmtKind::ForRange { local, start, end, inclusive, step, body: block } => {
                let dots = if *inclusive { ".." } else { "..<" };
                let head = format!(
                    "for {} in {}{dots}{} step {step}",
                    self.local_decl(body, *local),
                    self.expr(body, start),
                    self.expr(body, end)
                );
                self.nested(body, &head, block);
            }
            StmtKind::ForArray { local, array, body: block } => {
                let head = format!("for {} in array {}", self.local_decl(body, *local), self.expr(body, array));
                self.nested(body, &head, block);
            }
            StmtKind::Lock { mutex, body: block } => {
                let head = format!("lock {}", self.expr(body, mutex));
                self.nested(body, &head, block);
            }
        }
    }

    fn field(&self, class: ClassId, field: FieldId) -> String {
        self.program.classes[class.index()].fields[field.index()].name.to_string()
    }

    fn args(&mut self, body: &Body, args: &[Expr]) -> String {
        args.iter().map(|a| self.expr(body, a)).collect::<Vec<_>>().join(", ")
    }

    fn type_args(&self, args: &[Ty]) -> String {
        if args.is_empty() { String::new() } else { format!("<{}>", args.iter().map(|&t| self.ty(t)).collect::<Vec<_>>().join(", ")) }
    }

    /// A block inside an expression: on lines of its own, in braces.
    fn inline(&mut self, body: &Body, block: &Block) -> String {
        let outer = std::mem::take(&mut self.out);
        self.indent += 1;
        self.block(body, block);
        self.indent -= 1;
        let inner = std::mem::replace(&mut self.out, outer);
        if inner.is_empty() { "{}".into() } else { format!("{{\n{inner}{:width$}}}", "", width = self.indent * 2) }
    }

    fn expr(&mut self, body: &Body, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Int(n) => n.to_string(),
            ExprKind::Float(x) => format!("{x:?}"),
            ExprKind::Bool(b) => b.to_string(),
            ExprKind::Null => format!("null:{}", self.ty(e.ty)),
            ExprKind::Unit => "()".into(),
            ExprKind::Str(text) => format!("{text:?}"),
            ExprKind::Local(local) => self.local(body, *local),
            ExprKind::Global(global) => self.program.globals[global.index()].name.to_string(),
            ExprKind::Field { object, class, field } => format!("{}.{}", self.expr(body, object), self.field(*class, *field)),
            ExprKind::Length(object) => format!("{}.length", self.expr(body, object)),
            ExprKind::Index { object, index } => format!("{}[{}]", self.expr(body, object), self.expr(body, index)),
            ExprKind::CallFun { fun, type_args, args } => {
                format!("{}{}({})", self.program.functions[fun.index()].name, self.type_args(type_args), self.args(body, args))
            }
            ExprKind::CallMethod { receiver, fun, type_args, args, dispatch } => {
                let how = if *dispatch == Dispatch::Static { "static " } else { "" };
                let name = self.program.functions[fun.index()].name.clone();
                format!("{}.{how}{name}{}({})", self.expr(body, receiver), self.type_args(type_args), self.args(body, args))
            }
            ExprKind::CallClosure { callee, args } => format!("call {}({})", self.expr(body, callee), self.args(body, args)),
            ExprKind::CallBaseInit { class, args } => format!("base {}({})", self.ty(*class), self.args(body, args)),
            ExprKind::New { args } => format!("new {}({})", self.ty(e.ty), self.args(body, args)),
            ExprKind::NewArray { len, fill } => {
                let fill = fill.as_ref().map_or(String::new(), |f| format!(", {}", self.expr(body, f)));
                format!("new {}({}{fill})", self.ty(e.ty), self.expr(body, len))
            }
            ExprKind::ArrayLit(items) => format!("{}[{}]", self.ty(e.ty), self.args(body, items)),
            ExprKind::Lambda(lambda) => self.lambda(body, lambda),
            ExprKind::FunRef { fun, type_args } => format!("&{}{}", self.program.functions[fun.index()].name, self.type_args(type_args)),
            ExprKind::Concat(parts) => format!("concat({})", self.args(body, parts)),
            ExprKind::Unary { op, operand } => format!("{op:?}({})", self.expr(body, operand)),
            ExprKind::Binary { op, left, right } => format!("{op:?}({}, {})", self.expr(body, left), self.expr(body, right)),
            ExprKind::Equals { left, right, negated } => {
                format!("({} {} {})", self.expr(body, left), if *negated { "!=" } else { "==" }, self.expr(body, right))
            }
            ExprKind::Same { left, right, negated } => {
                format!("({} {} {})", self.expr(body, left), if *negated { "!==" } else { "===" }, self.expr(body, right))
            }
            ExprKind::And(a, b) => format!("({} && {})", self.expr(body, a), self.expr(body, b)),
            ExprKind::Or(a, b) => format!("({} || {})", self.expr(body, a), self.expr(body, b)),
            ExprKind::If { cond, then, els } => {
                let head = format!("if:{} {} ", self.ty(e.ty), self.expr(body, cond));
                let then = self.inline(body, then);
                let els = els.as_ref().map_or(String::new(), |b| format!(" else {}", self.inline(body, b)));
                format!("{head}{then}{els}")
            }
            ExprKind::Match { subject, init, arms } => self.match_expr(body, e.ty, *subject, init, arms),
            ExprKind::Try { body: block, catches, finally } => {
                let mut text = format!("try:{} {}", self.ty(e.ty), self.inline(body, block));
                for c in catches {
                    let head = format!(" catch {} ", self.local_decl(body, c.local));
                    text += &head;
                    text += &self.inline(body, &c.body);
                }
                if let Some(f) = finally {
                    text += " finally ";
                    text += &self.inline(body, f);
                }
                text
            }
            ExprKind::Block(block) => format!("do:{} {}", self.ty(e.ty), self.inline(body, block)),
            ExprKind::Convert(inner) => format!("convert:{}({})", self.ty(e.ty), self.expr(body, inner)),
            ExprKind::Cast { value, safe } => format!("cast{}:{}({})", if *safe { "?" } else { "" }, self.ty(e.ty), self.expr(body, value)),
            ExprKind::Is { value, ty } => format!("is:{}({})", self.ty(*ty), self.expr(body, value)),
            ExprKind::NonNull(value) => format!("{}!!", self.expr(body, value)),
            ExprKind::Return(None) => "return".into(),
            ExprKind::Return(Some(value)) => format!("return {}", self.expr(body, value)),
            ExprKind::Throw(value) => format!("throw {}", self.expr(body, value)),
            ExprKind::Break => "break".into(),
            ExprKind::Continue => "continue".into(),
        }
    }

    fn lambda(&mut self, body: &Body, lambda: &Lambda) -> String {
        let inner = &lambda.body;
        let params = inner.params.iter().map(|&p| self.local_decl(inner, p)).collect::<Vec<_>>().join(", ");
        let captures: Vec<String> =
            lambda.captures.iter().map(|c| format!("{} as {}", self.local(body, c.outer), self.local_decl(inner, c.inner))).collect();
        let captures = if captures.is_empty() { String::new() } else { format!(" [{}]", captures.join(", ")) };
        format!("({params}): {}{captures} => {}", self.ty(lambda.ret), self.inline(inner, &inner.block))
    }

    fn match_expr(&mut self, body: &Body, ty: Ty, subject: LocalId, init: &Expr, arms: &[Arm]) -> String {
        let mut text = format!("match:{} {} = {} {{\n", self.ty(ty), self.local_decl(body, subject), self.expr(body, init));
        self.indent += 1;
        for arm in arms {
            let patterns: Vec<String> = arm.patterns.iter().map(|p| self.pattern(body, p)).collect();
            let patterns = if patterns.is_empty() { "else".to_string() } else { patterns.join(", ") };
            let block = self.inline(body, &arm.body);
            let _ = writeln!(text, "{:width$}{patterns} => {block}", "", width = self.indent * 2);
        }
        self.indent -= 1;
        let _ = write!(text, "{:width$}}}", "", width = self.indent * 2);
        text
    }

    fn pattern(&self, body: &Body, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Int(n) => n.to_string(),
            Pattern::IntRange(a, b) => format!("{a}..{b}"),
            Pattern::Float(x) => format!("{x:?}"),
            Pattern::Bool(b) => b.to_string(),
            Pattern::Str(text) => format!("{text:?}"),
            Pattern::Null => "null".into(),
            Pattern::Is { ty, bind: None } => format!("is {}", self.ty(*ty)),
            Pattern::Is { ty, bind: Some(local) } => format!("is {} as {}", self.ty(*ty), self.local(body, *local)),
        }
    }
}
