//! A whole program: prelude, globals, interfaces, classes, functions, `main`.

use crate::calls::calls;
use crate::carried::carried;
use crate::choices::Choices;
use crate::choosing::choosing;
use crate::classes::{ClassInfo, InterfaceInfo};
use crate::crowds::crowds;
use crate::floats::floats;
use crate::huge::huge;
use crate::ints::ints;
use crate::items::items;
use crate::kernels::kernels;
use crate::kinds::kinds;
use crate::memory::memory;
use crate::nulls::nulls;
use crate::objects::objects;
use crate::picks::picks;
use crate::promises::promises;
use crate::scope::{Scope, Var};
use crate::templates::{EXTRAS, PRELUDE};
use crate::texts::texts;
use crate::threads::threads;
use crate::ty::{Ty, array, fun, list, opt};

/// A function that may be called from later ones.
#[derive(Clone, Debug)]
pub struct FunInfo {
    pub name: String,
    pub params: Vec<Ty>,
    pub ret: Option<Ty>,
}

/// How `main` ends. (Not by `exit`: in the process of a test its thread would never go.)
#[derive(Clone, Copy, PartialEq)]
enum End {
    Returns,
    /// With a code.
    Code,
    /// By an error that nothing catches.
    Error,
}

pub struct Generator<'a> {
    pub choices: Choices<'a>,
    out: String,
    indent: usize,
    /// Names given so far.
    names: usize,
    /// Statements that may still be written.
    pub budget: usize,
    pub classes: Vec<ClassInfo>,
    pub interfaces: Vec<InterfaceInfo>,
    pub funs: Vec<FunInfo>,
    pub globals: Vec<Var>,
}

/// A part about one subject: of how many programs in 100 it is part, its name, and what writes it.
type Part = (usize, &'static str, fn(&mut Choices<'_>, &str) -> String);

const PARTS: &[Part] = &[
    (45, "kernel", kernels),
    (16, "objects", objects),
    (16, "memory", memory),
    (16, "floats", floats),
    (16, "ints", ints),
    (16, "choosing", choosing),
    (16, "promises", promises),
    (16, "calls", calls),
    (16, "texts", texts),
    (16, "nulls", nulls),
    (16, "carried", carried),
    (16, "kinds", kinds),
    (14, "picks", picks),
    (14, "items", items),
    (10, "crowds", crowds),
    (10, "threads", threads),
    (3, "huge", huge),
];

impl<'a> Generator<'a> {
    pub fn new(choices: Choices<'a>) -> Self {
        Generator {
            choices,
            out: String::new(),
            indent: 0,
            names: 0,
            budget: 0,
            classes: Vec::new(),
            interfaces: Vec::new(),
            funs: Vec::new(),
            globals: Vec::new(),
        }
    }

    pub fn program(mut self) -> String {
        self.out.push_str(PRELUDE);
        let traces = self.choices.chance(50);
        self.line(format!("\nlet TRACES = {traces}"));
        let extras: Vec<_> = EXTRAS.iter().filter(|_| self.choices.chance(25)).collect();
        for (name, text) in &extras {
            self.line("");
            self.out.push_str(text);
            self.funs.push(FunInfo { name: name.to_string(), params: vec![Ty::Int], ret: Some(Ty::Int) });
        }
        for &(percent, name, part) in PARTS {
            if self.choices.chance(percent) {
                let text = part(&mut self.choices, name);
                self.out.push_str(&text);
                self.funs.push(FunInfo { name: name.into(), params: vec![Ty::Int], ret: Some(Ty::Int) });
            }
        }
        // Those run long or print: they are called from `main` only.
        let from_main: Vec<FunInfo> = std::mem::take(&mut self.funs);
        self.line("");
        self.globals();
        for _ in 0..self.choices.below(3) {
            self.interface();
        }
        for _ in 0..1 + self.choices.below(2) {
            self.hierarchy();
            for _ in 0..1 + self.choices.below(3) {
                self.function();
            }
        }
        if self.choices.chance(60) {
            self.recursive_function();
        }
        self.main(&from_main);
        self.out
    }

    // Text.

    pub fn line(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        if !text.is_empty() {
            self.out.push_str(&"    ".repeat(self.indent));
            self.out.push_str(text);
        }
        self.out.push('\n');
    }

    /// A line that opens a block.
    pub fn open(&mut self, text: impl AsRef<str>) {
        self.line(text);
        self.indent += 1;
    }

    /// A line that ends a block and opens the next: `} else {`.
    pub fn reopen(&mut self, text: impl AsRef<str>) {
        self.indent -= 1;
        self.open(text);
    }

    pub fn close(&mut self, text: impl AsRef<str>) {
        self.indent -= 1;
        self.line(text);
    }

    pub fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    // Types.

    /// A type for a variable, parameter or result.
    pub fn ty(&mut self) -> Ty {
        let scalar = self.scalar();
        match self.choices.below(20) {
            0..=7 => scalar,
            8 => opt(scalar),
            9 | 10 => self.class_ty().unwrap_or(scalar),
            11 => opt(self.class_ty().unwrap_or(scalar)),
            12 => self.interface_ty().unwrap_or(scalar),
            13 => array(scalar),
            14 => list(scalar),
            15 => list(self.class_ty().unwrap_or(scalar)),
            16 => {
                let key = if self.choices.chance(50) { Ty::Str } else { Ty::Int };
                Ty::Map(Box::new(key), Box::new(scalar))
            }
            17 => fun(if self.choices.chance(70) { vec![Ty::Int] } else { vec![] }, scalar),
            18 => Ty::Cell(Box::new(scalar)),
            19 => match self.choices.below(2) {
                0 => Ty::Set(Box::new(Ty::Int)),
                _ => Ty::Pair(Box::new(Ty::Int), Box::new(scalar)),
            },
            _ => Ty::Int,
        }
    }

    pub fn scalar(&mut self) -> Ty {
        self.choices.pick(&[Ty::Int, Ty::Int, Ty::Int, Ty::Str, Ty::Bool, Ty::Float]).clone()
    }

    fn class_ty(&mut self) -> Option<Ty> {
        let ready: Vec<usize> = (0..self.classes.len()).filter(|&c| self.classes[c].ready).collect();
        (!ready.is_empty()).then(|| Ty::Class(*self.choices.pick(&ready)))
    }

    fn interface_ty(&mut self) -> Option<Ty> {
        let ready: Vec<usize> = (0..self.interfaces.len()).filter(|&i| self.interfaces[i].ready).collect();
        (!ready.is_empty()).then(|| Ty::Interface(*self.choices.pick(&ready)))
    }

    pub fn names_so_far(&self) -> usize {
        self.names
    }

    // Parts.

    fn globals(&mut self) {
        for _ in 0..2 + self.choices.below(3) {
            let ty = match self.choices.below(6) {
                0 => array(Ty::Int),
                1 => list(Ty::Str),
                2 => Ty::Map(Box::new(Ty::Int), Box::new(Ty::Int)),
                _ => self.scalar(),
            };
            let name = self.fresh("g");
            let mutable = self.choices.chance(70);
            let value = self.literal(&ty);
            self.line(format!("{} {name}: {ty} = {value}", if mutable { "var" } else { "let" }));
            self.globals.push(Var { name, ty, mutable, narrowable: false, until_assigned: false });
        }
        self.line("");
    }

    /// A scope with the globals in sight.
    pub fn scope(&self, ret: Option<Ty>) -> Scope {
        Scope { vars: self.globals.clone(), ret, may_return: true, level: self.funs.len(), ..Scope::default() }
    }

    pub fn params(&mut self, count: usize) -> Vec<(String, Ty)> {
        (0..count).map(|_| (self.fresh("p"), self.ty())).collect()
    }

    fn function(&mut self) {
        let count = self.choices.below(4);
        let params = self.params(count);
        let ret = if self.choices.chance(85) { Some(self.ty()) } else { None };
        let name = self.fresh("f");
        self.budget = 4 + self.choices.below(14);
        self.write_function(&name, &params, ret.clone(), |_, _| {});
        self.funs.push(FunInfo { name, params: params.into_iter().map(|p| p.1).collect(), ret });
    }

    pub fn signature(params: &[(String, Ty)], ret: &Option<Ty>) -> String {
        let params: Vec<String> = params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        let ret = ret.as_ref().map_or(String::new(), |ty| format!(": {ty}"));
        format!("({}){ret}", params.join(", "))
    }

    fn write_function(&mut self, name: &str, params: &[(String, Ty)], ret: Option<Ty>, first: impl FnOnce(&mut Self, &mut Scope)) {
        self.open(format!("fun {name}{} {{", Self::signature(params, &ret)));
        let mut scope = self.scope(ret);
        params.iter().for_each(|(name, ty)| scope.add(name, ty.clone(), false, true));
        self.line("burn()");
        first(self, &mut scope);
        self.body(&mut scope);
        self.close("}");
        self.line("");
    }

    /// Statements, and the result.
    pub fn body(&mut self, scope: &mut Scope) {
        for _ in 0..self.choices.below(3) {
            let (x, value) = (self.fresh("x"), self.expr(scope, &Ty::Int, 1));
            self.line(format!("var {x} = {value}"));
            scope.add(&x, Ty::Int, true, false);
        }
        let count = 1 + self.choices.below(6);
        self.statements(scope, count);
        if let Some(ret) = scope.ret.clone() {
            let value = self.stored(scope, &ret, 2);
            self.line(format!("return {value}"));
        }
    }

    /// Calls itself up to twice, with a smaller number.
    fn recursive_function(&mut self) {
        let name = self.fresh("r");
        let ret = self.scalar();
        let params = vec![(self.fresh("n"), Ty::Int), (self.fresh("p"), ret.clone())];
        self.budget = 8;
        let own = name.clone();
        let (count, same) = (params[0].0.clone(), ret.clone());
        self.write_function(&name, &params, Some(ret.clone()), |g, scope| {
            let base = g.stored(scope, &same, 1);
            g.line(format!("if {count} <= 0 {{ return {base} }}"));
            for _ in 0..1 + g.choices.below(2) {
                let arg = g.stored(scope, &same, 1);
                let x = g.fresh("x");
                let less = 1 + g.choices.below(2);
                g.line(format!("let {x} = {own}({count} - {less}, {arg})"));
                scope.add(&x, same.clone(), false, true);
            }
        });
        // Callers pass the depth as a literal: see `call_args`.
        self.funs.push(FunInfo { name, params: vec![Ty::Int, ret.clone()], ret: Some(ret) });
    }

    fn main(&mut self, from_main: &[FunInfo]) {
        let end = *self.choices.pick(&[End::Returns, End::Returns, End::Returns, End::Code, End::Error]);
        self.open(if end == End::Code { "fun main(): Int {" } else { "fun main() {" });
        let mut scope = self.scope(None);
        scope.may_return = false;
        self.line("fuel = 2000");
        for _ in 0..self.choices.below(3) {
            self.declare(&mut scope);
        }
        let rounds = 1 + self.choices.below(2);
        let all: Vec<FunInfo> = self.funs.iter().chain(from_main).cloned().collect();
        for f in all {
            for _ in 0..rounds {
                self.call_from_main(&mut scope, &f);
            }
        }
        self.budget = 10;
        self.open("try {");
        self.line("fuel = 2000");
        self.statements(&mut scope, 5);
        self.reopen("} catch (e: Error) {");
        self.line("report(e)");
        self.close("}");
        for v in self.globals.clone() {
            self.print_value(&v.name, &v.ty);
        }
        self.line("println(\"trail ${trail}\")");
        match end {
            End::Returns => {}
            End::Code => self.line("return trail & 63"),
            End::Error => self.line("fail(trail & 7)"),
        }
        self.close("}");
    }

    fn call_from_main(&mut self, scope: &mut Scope, f: &FunInfo) {
        self.open("try {");
        self.line("fuel = 2000");
        let args = self.call_args(scope, f, 2);
        let call = format!("{}({args})", f.name);
        match &f.ret {
            None => self.line(call),
            Some(ret) => {
                let x = self.fresh("x");
                self.line(format!("let {x}: {ret} = {call}"));
                self.print_value(&x, ret);
            }
        }
        self.reopen("} catch (e: Error) {");
        self.line("report(e)");
        self.close("}");
    }

    /// Arguments for a call; a recursive function's depth is small.
    pub fn call_args(&mut self, scope: &mut Scope, f: &FunInfo, depth: usize) -> String {
        let mut args = Vec::new();
        for (i, ty) in f.params.iter().enumerate() {
            if i == 0 && f.name.starts_with('r') {
                args.push((2 + self.choices.below(6)).to_string());
            } else {
                args.push(self.expr(scope, ty, depth));
            }
        }
        args.join(", ")
    }

    /// Prints a value's text, if that is the same in every run.
    pub fn print_value(&mut self, name: &str, ty: &Ty) {
        let tag = self.fresh("");
        match ty {
            Ty::Fun(params, ret) if params.is_empty() && ret.is_printable() => self.line(format!("println(\"{tag} ${{{name}()}}\")")),
            Ty::Fun(params, ret) if params == &[Ty::Int] && ret.is_printable() => {
                self.line(format!("println(\"{tag} ${{{name}({})}}\")", self.names % 10));
            }
            ty if ty.is_printable() => self.line(format!("println(\"{tag} ${{{name}}}\")")),
            _ => self.line(format!("println(\"{tag}\")")),
        }
    }
}
