//! Statements: one method for each kind, all of the same shape (look at what is in scope, write lines, add to the scope), so they stand together in one file.

use crate::program::Generator;
use crate::scope::Scope;
use crate::ty::{Ty, opt};

#[derive(Clone, Copy)]
enum Kind {
    Print,
    Declare,
    Assign,
    If,
    Narrow,
    TypeTest,
    ForRange,
    ForEach,
    While,
    Match,
    MatchType,
    Try,
    Throw,
    Return,
    Leave,
    Lock,
    Closure,
    Collection,
    Element,
    Call,
    Builder,
    Value,
}

const KINDS: &[(usize, Kind)] = &[
    (8, Kind::Print),
    (12, Kind::Declare),
    (14, Kind::Assign),
    (8, Kind::If),
    (5, Kind::Narrow),
    (4, Kind::TypeTest),
    (8, Kind::ForRange),
    (5, Kind::ForEach),
    (5, Kind::While),
    (5, Kind::Match),
    (3, Kind::MatchType),
    (8, Kind::Try),
    (3, Kind::Throw),
    (3, Kind::Return),
    (6, Kind::Leave),
    (3, Kind::Lock),
    (5, Kind::Closure),
    (6, Kind::Collection),
    (5, Kind::Element),
    (5, Kind::Call),
    (2, Kind::Builder),
    (5, Kind::Value),
];

impl Generator<'_> {
    /// Up to `count` statements; what they declare is gone afterwards, unless the scope is the function's own.
    pub fn statements(&mut self, scope: &mut Scope, count: usize) {
        for _ in 0..count {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            self.statement(scope);
        }
    }

    /// The statements of a block, which is opened and closed outside. Never empty.
    fn block(&mut self, scope: &mut Scope, change: impl FnOnce(&mut Scope)) {
        let mut inner = scope.clone();
        inner.depth += 1;
        change(&mut inner);
        let count = 1 + self.choices.below(3);
        let percent = if self.budget == 0 { 100 } else { 25 };
        self.print(&mut inner, percent);
        self.statements(&mut inner, count);
    }

    /// In some cases.
    fn print(&mut self, scope: &mut Scope, percent: usize) {
        if self.choices.chance(percent) {
            let printable: Vec<(String, Ty)> =
                scope.visible().iter().filter(|v| v.ty.is_printable()).map(|v| (v.name.clone(), v.ty.clone())).collect();
            if printable.is_empty() {
                let tag = self.fresh("");
                return self.line(format!("println(\"{tag}\")"));
            }
            let (name, ty) = self.choices.pick(&printable).clone();
            self.print_value(&name, &ty);
        }
    }

    fn statement(&mut self, scope: &mut Scope) {
        match self.choices.weighted(KINDS) {
            Kind::Print => self.print_expr(scope),
            Kind::Assign => self.assign(scope),
            Kind::If if scope.has_room() => self.if_statement(scope),
            Kind::Narrow if scope.has_room() => self.narrow(scope),
            Kind::TypeTest if scope.has_room() => self.type_test(scope),
            Kind::ForRange if scope.may_loop() => self.for_range(scope),
            Kind::ForEach if scope.may_loop() => self.for_each(scope),
            Kind::While if scope.may_loop() => self.while_loop(scope),
            Kind::Match if scope.has_room() => self.match_statement(scope),
            Kind::MatchType if scope.has_room() => self.match_type(scope),
            Kind::Try if scope.has_room() => self.try_statement(scope),
            Kind::Throw => self.throw(scope),
            Kind::Return if scope.may_return => self.return_early(scope),
            Kind::Leave if scope.loops > 0 => self.leave(scope),
            Kind::Lock if scope.has_room() => {
                self.open("lock mutex {");
                self.block(scope, |_| {});
                self.close("}");
            }
            Kind::Closure if scope.has_room() => self.closure_statement(scope),
            Kind::Collection => self.collection(scope),
            Kind::Element => self.element(scope),
            Kind::Call => self.call(scope),
            Kind::Builder => self.builder(scope),
            Kind::Value => self.block_value(scope),
            _ => self.declare(scope),
        }
    }

    /// Prints an expression's value.
    fn print_expr(&mut self, scope: &mut Scope) {
        let ty = self.scalar();
        let value = self.expr(scope, &ty, 2);
        if ty == Ty::Str || value.contains('"') {
            let x = self.fresh("x");
            self.line(format!("let {x}: {ty} = {value}"));
            self.print_value(&x, &ty);
            scope.add(&x, ty, false, true);
        } else {
            let tag = self.fresh("");
            self.line(format!("println(\"{tag} ${{{value}}}\")"));
        }
    }

    pub fn declare(&mut self, scope: &mut Scope) {
        let ty = self.ty();
        let value = self.stored(scope, &ty, 2);
        let (mutable, narrowable) = (self.choices.chance(55), self.choices.chance(50));
        // Now and then a name from an outer block, which is hidden until the block ends.
        let x = self.fresh("x");
        let keyword = if mutable { "var" } else { "let" };
        let annotation =
            if matches!(ty, Ty::Int | Ty::Float | Ty::Bool) && self.choices.chance(50) { String::new() } else { format!(": {ty}") };
        self.line(format!("{keyword} {x}{annotation} = {value}"));
        scope.add(&x, ty, mutable, narrowable || !mutable);
    }

    fn assign(&mut self, scope: &mut Scope) {
        let targets: Vec<(String, Ty)> = scope.assignable().iter().map(|v| (v.name.clone(), v.ty.clone())).collect();
        let fields = self.assignable_fields(scope);
        let all: Vec<(String, Ty)> = targets.into_iter().chain(fields).collect();
        if all.is_empty() {
            return self.declare(scope);
        }
        let (target, ty) = self.choices.pick(&all).clone();
        match ty {
            Ty::Int if self.choices.chance(60) => {
                let op = *self.choices.pick(&["+=", "-=", "*=", "^=", "|=", "&=", "<<=", ">>=", ">>>=", "%=", "/="]);
                let value = self.expr(scope, &Ty::Int, 1);
                let value = if op == "%=" || op == "/=" { format!("({value} | 1)") } else { value };
                self.line(format!("{target} {op} {value}"));
            }
            Ty::Float if self.choices.chance(50) => {
                let op = *self.choices.pick(&["+=", "-=", "*=", "/="]);
                let value = self.expr(scope, &Ty::Float, 1);
                self.line(format!("{target} {op} {value}"));
            }
            ty => {
                let value = self.stored(scope, &ty, 2);
                self.line(format!("{target} = {value}"));
            }
        }
    }

    /// Fields of objects in sight.
    fn assignable_fields(&self, scope: &Scope) -> Vec<(String, Ty)> {
        let mut found = Vec::new();
        for v in scope.visible() {
            match &v.ty {
                Ty::Class(c) if self.classes[*c].ready => {
                    let fields = self.classes[*c].fields.iter().filter(|f| f.mutable);
                    found.extend(fields.map(|f| (format!("{}.{}", v.name, f.name), f.ty.clone())));
                }
                Ty::Cell(t) => found.push((format!("{}.value", v.name), (**t).clone())),
                _ => {}
            }
        }
        found
    }

    fn if_statement(&mut self, scope: &mut Scope) {
        let cond = self.expr(scope, &Ty::Bool, 2);
        self.open(format!("if {cond} {{"));
        self.block(scope, |_| {});
        if self.choices.chance(30) {
            let cond = self.expr(scope, &Ty::Bool, 1);
            self.reopen(format!("}} else if {cond} {{"));
            self.block(scope, |_| {});
        }
        if self.choices.chance(50) {
            self.reopen("} else {");
            self.block(scope, |_| {});
        }
        self.close("}");
    }

    fn narrow(&mut self, scope: &mut Scope) {
        let optional: Vec<(String, Ty)> = scope
            .visible()
            .iter()
            .filter(|v| v.narrowable && !(v.mutable && scope.in_closure))
            .filter_map(|v| if let Ty::Opt(t) = &v.ty { Some((v.name.clone(), (**t).clone())) } else { None })
            .collect();
        if optional.is_empty() {
            // Make something to narrow.
            let ty = self.scalar();
            let (x, value) = (self.fresh("x"), self.stored(scope, &opt(ty.clone()), 2));
            self.line(format!("let {x}: {} = {value}", opt(ty.clone())));
            scope.add(&x, opt(ty), false, true);
            return;
        }
        let (name, ty) = self.choices.pick(&optional).clone();
        match self.choices.below(3) {
            0 => {
                let cond = self.expr(&mut scope.clone(), &Ty::Bool, 1);
                let both = self.choices.chance(30);
                self.open(if both { format!("if {name} != null && {cond} {{") } else { format!("if {name} != null {{") });
                self.block(scope, |s| s.narrow(&name, ty));
                self.close("}");
            }
            1 => {
                self.open(format!("if {name} == null {{"));
                self.block(scope, |_| {});
                self.reopen("} else {");
                self.block(scope, |s| s.narrow(&name, ty));
                self.close("}");
            }
            _ => {
                let mut seen = scope.clone();
                seen.narrow(&name, ty);
                let (x, value) = (self.fresh("x"), self.expr(&mut seen, &Ty::Bool, 1));
                self.line(format!("let {x} = {name} != null && {value}"));
                scope.add(&x, Ty::Bool, false, true);
            }
        }
    }

    fn type_test(&mut self, scope: &mut Scope) {
        let objects: Vec<(String, usize)> = scope
            .visible()
            .iter()
            .filter(|v| v.narrowable && !v.mutable)
            .filter_map(|v| if let Ty::Class(c) = v.ty { Some((v.name.clone(), c)) } else { None })
            .collect();
        let tests: Vec<(String, usize)> = objects
            .iter()
            .flat_map(|(n, c)| {
                (0..self.classes.len()).filter(|&d| d != *c && self.is_below(d, *c) && self.classes[d].ready).map(|d| (n.clone(), d))
            })
            .collect();
        if tests.is_empty() {
            return self.declare(scope);
        }
        let (name, class) = self.choices.pick(&tests).clone();
        self.open(format!("if {name} is C{class} {{"));
        self.block(scope, |s| s.narrow(&name, Ty::Class(class)));
        self.close("}");
    }

    fn loop_body(&mut self, scope: &mut Scope, change: impl FnOnce(&mut Scope)) {
        self.block(scope, |s| {
            s.loops += 1;
            s.nesting += 1;
            change(s);
        });
        self.close("}");
    }

    fn for_range(&mut self, scope: &mut Scope) {
        let i = self.fresh("i");
        let header = match self.choices.below(6) {
            0 | 1 => format!("0..<{}", 1 + self.choices.below(8)),
            2 => {
                let (from, to) = (self.choices.below(4), self.choices.below(10));
                format!("{from}..{to} step {}", 1 + self.choices.below(3))
            }
            3 => format!("{}..{} step -{}", self.choices.below(10), self.choices.below(3), 1 + self.choices.below(3)),
            4 => {
                let bound = self.expr(scope, &Ty::Int, 1);
                format!("0..<({bound} & 7)")
            }
            _ => {
                let start = self.literal(&Ty::Int);
                format!("{start}..<({start} + {})", self.choices.below(5))
            }
        };
        self.open(format!("for {i} in {header} {{"));
        self.loop_body(scope, |s| s.add(&i, Ty::Int, false, false));
    }

    fn for_each(&mut self, scope: &mut Scope) {
        let walkable: Vec<(String, Ty)> = scope
            .visible()
            .iter()
            .filter_map(|v| match &v.ty {
                Ty::Array(t) | Ty::List(t) | Ty::Set(t) => Some((v.name.clone(), (**t).clone())),
                Ty::Map(k, t) => Some((format!("{}.entries()", v.name), Ty::Pair(k.clone(), t.clone()))),
                Ty::Str => Some((format!("{}.toBytes()", v.name), Ty::Int)),
                _ => None,
            })
            .collect();
        let (over, ty) = if walkable.is_empty() {
            let ty = self.scalar();
            (self.literal(&Ty::Array(Box::new(Ty::Int))), ty).clone()
        } else {
            self.choices.pick(&walkable).clone()
        };
        let (over, ty) = if over.starts_with('[') { (over, Ty::Int) } else { (over, ty) };
        let e = self.fresh("e");
        if over.starts_with('[') && self.choices.chance(50) {
            let (from, to) = (self.choices.below(3), self.choices.below(7));
            self.open(format!("for {e} in ({from}..{to}) {{"));
        } else {
            self.open(format!("for {e} in {over} {{"));
        }
        self.loop_body(scope, |s| s.add(&e, ty, false, false));
    }

    fn while_loop(&mut self, scope: &mut Scope) {
        let w = self.fresh("w");
        let bound = 1 + self.choices.below(8);
        self.line(format!("var {w} = 0"));
        let cond = self.expr(scope, &Ty::Bool, 1);
        match self.choices.below(3) {
            0 => self.open(format!("while {w} < {bound} {{")),
            1 => self.open(format!("while {w} < {bound} && {cond} {{")),
            _ => {
                self.open("while true {");
                self.line(format!("if {w} >= {bound} || {cond} {{ break }}"));
            }
        }
        self.line(format!("{w} += 1"));
        scope.add(&w, Ty::Int, false, false);
        self.loop_body(scope, |_| {});
    }

    fn match_statement(&mut self, scope: &mut Scope) {
        let ty = self.choices.pick(&[Ty::Int, Ty::Int, Ty::Str, Ty::Bool, opt(Ty::Int)]).clone();
        let subject = self.stored(scope, &ty, 2);
        let subject = if ty == Ty::Int && self.choices.chance(60) { format!("({subject} & 7)") } else { subject };
        let x = self.fresh("x");
        self.line(format!("let {x}: {ty} = {subject}"));
        scope.add(&x, ty.clone(), false, true);
        self.open(format!("match {x} {{"));
        let arms: Vec<String> = match ty {
            Ty::Int => {
                let mut next = 0;
                let mut arms = Vec::new();
                for _ in 0..1 + self.choices.below(3) {
                    let from = next + self.choices.below(2);
                    next = from + 1 + self.choices.below(3);
                    arms.push(match self.choices.below(4) {
                        0 => format!("{from}..<{next}"),
                        1 => format!("{from}..{}", next - 1),
                        2 => format!("{from}, {}", from + 100),
                        _ => from.to_string(),
                    });
                }
                arms.push("else".into());
                arms
            }
            Ty::Str => vec!["\"a\", \"abc\"".into(), "\"12\"".into(), "else".into()],
            Ty::Bool => vec!["true".into(), "false".into()],
            _ => vec!["null".into(), "0, 1".into(), "else".into()],
        };
        for arm in arms {
            self.open(format!("{arm} => {{"));
            self.block(scope, |_| {});
            self.close("}");
        }
        self.close("}");
    }

    fn match_type(&mut self, scope: &mut Scope) {
        let objects: Vec<(String, usize)> =
            scope.visible().iter().filter_map(|v| if let Ty::Class(c) = v.ty { Some((v.name.clone(), c)) } else { None }).collect();
        if objects.is_empty() {
            return self.declare(scope);
        }
        let (name, class) = self.choices.pick(&objects).clone();
        let below: Vec<usize> =
            (0..self.classes.len()).rev().filter(|&c| c != class && self.is_below(c, class) && self.classes[c].ready).collect();
        // On a copy, which nothing else tests: inside an arm the subject has the arm's type.
        let subject = self.fresh("x");
        self.line(format!("let {subject} = same<C{class}>({name})"));
        self.open(format!("match {subject} {{"));
        for c in below.into_iter().take(3) {
            let v = self.fresh("v");
            self.open(format!("is C{c} as {v} => {{"));
            self.block(scope, |s| s.add(&v, Ty::Class(c), false, true));
            self.close("}");
        }
        self.open("else => {");
        self.block(scope, |_| {});
        self.close("}");
        self.close("}");
    }

    fn try_statement(&mut self, scope: &mut Scope) {
        self.open("try {");
        self.block(scope, |_| {});
        if self.choices.chance(40) {
            self.throw(scope);
        }
        let with_finally = self.choices.chance(45);
        let catches = if with_finally { self.choices.below(3) } else { 1 + self.choices.below(2) };
        for i in 0..catches {
            let e = self.fresh("e");
            let class = if i == 0 {
                *self.choices.pick(&["AppError", "DivisionError", "BoundsError", "FatalError", "CastError", "NullError", "Error"])
            } else {
                "Error"
            };
            self.reopen(format!("}} catch ({e}: {class}) {{"));
            self.line(format!("report({e})"));
            self.block(scope, |_| {});
            match self.choices.below(10) {
                0 => self.line(format!("throw {e}")),
                1 => self.line(format!("throw AppError(\"again\", {})", self.names_so_far() % 50)),
                _ => {}
            }
            if class == "Error" {
                break;
            }
        }
        if with_finally {
            self.reopen("} finally {");
            self.block(scope, |s| (s.may_return, s.loops) = (false, 0));
        }
        self.close("}");
    }

    fn throw(&mut self, scope: &mut Scope) {
        let cond = self.expr(scope, &Ty::Bool, 1);
        let code = self.expr(scope, &Ty::Int, 1);
        let error = match self.choices.below(3) {
            0 => format!("FatalError({code})"),
            1 => format!("ArgumentError(\"argument {}\")", self.names_so_far()),
            _ => format!("AppError(\"app\", {code})"),
        };
        self.line(format!("if {cond} {{ throw {error} }}"));
    }

    fn return_early(&mut self, scope: &mut Scope) {
        let cond = self.expr(scope, &Ty::Bool, 1);
        match scope.ret.clone() {
            None => self.line(format!("if {cond} {{ return }}")),
            Some(ret) => {
                let value = self.stored(scope, &ret, 1);
                self.line(format!("if {cond} {{ return {value} }}"));
            }
        }
    }

    fn leave(&mut self, scope: &mut Scope) {
        let cond = self.expr(scope, &Ty::Bool, 1);
        let how = *self.choices.pick(&["break", "continue"]);
        self.line(format!("if {cond} {{ {how} }}"));
    }

    /// A closure with statements in it, kept in a variable and called.
    fn closure_statement(&mut self, scope: &mut Scope) {
        let ret = self.scalar();
        let takes = self.choices.chance(60);
        let params = if takes { vec![Ty::Int] } else { vec![] };
        let (f, q) = (self.fresh("f"), self.fresh("q"));
        let ty = Ty::Fun(params.clone(), Box::new(ret.clone()));
        let head = if takes { format!("({q}: Int)") } else { "()".into() };
        self.open(format!("let {f}: {ty} = {head}: {ret} => {{"));
        self.line("burn()");
        let mut inner = self.inside_closure(scope);
        inner.ret = Some(ret.clone());
        if takes {
            inner.add(&q, Ty::Int, false, true);
        }
        let count = 1 + self.choices.below(3);
        self.statements(&mut inner, count);
        let value = self.stored(&mut inner, &ret, 1);
        self.line(format!("return {value}"));
        self.close("}");
        scope.add(&f, ty.clone(), false, true);
        if self.choices.chance(70) {
            let arg = if takes { self.expr(scope, &Ty::Int, 1) } else { String::new() };
            let x = self.fresh("x");
            self.line(format!("let {x}: {ret} = {f}({arg})"));
            self.print_value(&x, &ret);
            scope.add(&x, ret, false, true);
        }
    }

    /// Changes a list, map, set or cell.
    fn collection(&mut self, scope: &mut Scope) {
        let found: Vec<(String, Ty)> = scope
            .visible()
            .iter()
            .filter(|v| matches!(v.ty, Ty::List(_) | Ty::Map(..) | Ty::Set(_) | Ty::Cell(_)))
            .map(|v| (v.name.clone(), v.ty.clone()))
            .collect();
        if found.is_empty() {
            return self.declare(scope);
        }
        let (name, ty) = self.choices.pick(&found).clone();
        match ty {
            Ty::List(t) => {
                let value = self.expr(scope, &t, 1);
                match self.choices.below(6) {
                    0..=2 => self.line(format!("if {name}.size() < 50 {{ {name}.add({value}) }}")),
                    3 => self.line(format!("if !{name}.isEmpty() {{ {name}.removeLast() }}")),
                    4 => self.line(format!("{name}.reverse()")),
                    _ if *t == Ty::Int => self.line(format!("{name}.sort((a: Int, b: Int) => a.compareTo(b))")),
                    _ => self.line(format!("if !{name}.isEmpty() {{ {name}[0] = {value} }}")),
                }
            }
            Ty::Map(k, v) => {
                let (key, value) = (self.expr(scope, &k, 1), self.expr(scope, &v, 1));
                match self.choices.below(5) {
                    0 => self.line(format!("{name}.remove({key})")),
                    _ => self.line(format!("if {name}.size() < 50 {{ {name}[{key}] = {value} }}")),
                }
            }
            Ty::Set(t) => {
                let value = self.expr(scope, &t, 1);
                let x = self.fresh("x");
                match self.choices.below(4) {
                    0 => self.line(format!("let {x} = {name}.remove({value})")),
                    _ => self.line(format!("let {x} = {name}.size() < 50 && {name}.add({value})")),
                }
                scope.add(&x, Ty::Bool, false, true);
            }
            Ty::Cell(t) => {
                let value = self.expr(scope, &t, 1);
                let x = self.fresh("x");
                self.line(format!("let {x}: {t} = {name}.put({value})"));
                scope.add(&x, *t, false, true);
            }
            _ => {}
        }
    }

    /// Writes an array's element, now and then one that is not there.
    fn element(&mut self, scope: &mut Scope) {
        let arrays: Vec<(String, Ty)> = scope
            .visible()
            .iter()
            .filter_map(|v| if let Ty::Array(t) = &v.ty { Some((v.name.clone(), (**t).clone())) } else { None })
            .collect();
        if arrays.is_empty() {
            let (x, value) = (self.fresh("x"), self.expr(scope, &Ty::Array(Box::new(Ty::Int)), 2));
            self.line(format!("let {x}: Array<Int> = {value}"));
            scope.add(&x, Ty::Array(Box::new(Ty::Int)), false, true);
            return;
        }
        let (name, ty) = self.choices.pick(&arrays).clone();
        let (index, value) = (self.expr(scope, &Ty::Int, 1), self.expr(scope, &ty, 1));
        let index = if self.choices.chance(90) { format!("({index} & 255) % {name}.length") } else { index };
        if ty == Ty::Int && self.choices.chance(40) {
            self.line(format!("{name}[{index}] += {value}"));
        } else {
            self.line(format!("{name}[{index}] = {value}"));
        }
    }

    /// A call for its effects.
    fn call(&mut self, scope: &mut Scope) {
        let mut calls: Vec<(String, Vec<Ty>)> = Vec::new();
        for v in scope.visible() {
            let methods = match &v.ty {
                Ty::Class(c) if self.classes[*c].ready => &self.classes[*c].methods,
                Ty::Interface(i) => &self.interfaces[*i].methods,
                _ => continue,
            };
            calls.extend(methods.iter().map(|m| (format!("{}.{}", v.name, m.name), m.params.clone())));
        }
        if let Some((class, limit)) = scope.this {
            calls.extend(self.classes[class].methods[..limit].iter().map(|m| (format!("this.{}", m.name), m.params.clone())));
        }
        let functions = self.funs[..scope.level].iter().filter(|f| !f.name.starts_with('r'));
        calls.extend(functions.map(|f| (f.name.clone(), f.params.clone())));
        if calls.is_empty() {
            return self.declare(scope);
        }
        let (callee, params) = self.choices.pick(&calls).clone();
        let args: Vec<String> = params.iter().map(|p| self.expr(scope, p, 1)).collect();
        self.line(format!("{callee}({})", args.join(", ")));
    }

    fn builder(&mut self, scope: &mut Scope) {
        let (b, i, x) = (self.fresh("b"), self.fresh("i"), self.fresh("x"));
        let (text, number) = (self.expr(scope, &Ty::Str, 1), self.expr(scope, &Ty::Int, 1));
        self.line(format!("let {b} = StringBuilder()"));
        let last = self.choices.below(4);
        self.open(format!("for {i} in 0..{last} {{"));
        self.line(format!("{b}.append({text}).appendInt({number}).appendChar('a' + {i})"));
        self.close("}");
        self.line(format!("let {x} = clip({b}.toString())"));
        scope.add(&x, Ty::Str, false, true);
    }

    /// `if`, `match` or `try` as a value, with blocks.
    fn block_value(&mut self, scope: &mut Scope) {
        let ty = self.ty();
        let x = self.fresh("x");
        let subject = self.expr(scope, &Ty::Int, 1);
        let cond = self.expr(scope, &Ty::Bool, 1);
        let kind = self.choices.below(3);
        let (head, seconds): (String, Vec<String>) = match kind {
            0 => (format!("if {cond} {{"), vec!["} else {".into()]),
            1 => ("try {".into(), vec![format!("}} catch ({}: Error) {{", self.fresh("e"))]),
            _ => (format!("match {subject} & 3 {{"), vec![]),
        };
        self.open(format!("let {x}: {ty} = {head}"));
        if kind == 2 {
            for arm in ["0", "1..2", "else"] {
                let value = self.stored(&mut scope.clone(), &ty, 1);
                self.line(format!("{arm} => {value}"));
            }
        } else {
            self.value_block(scope, &ty);
            for second in seconds {
                self.reopen(second);
                self.value_block(scope, &ty);
            }
        }
        self.close("}");
        scope.add(&x, ty, false, true);
    }

    fn value_block(&mut self, scope: &mut Scope, ty: &Ty) {
        let mut inner = scope.clone();
        inner.depth += 1;
        let count = self.choices.below(3);
        self.statements(&mut inner, count);
        let value = self.stored(&mut inner, ty, 1);
        self.line(value);
    }
}
