//! Expressions of a wanted type. Every compound expression stands in parentheses, so its text can be put anywhere; strings inside `"${…}"` are avoided.

use crate::program::{FunInfo, Generator};
use crate::scope::Scope;
use crate::ty::Ty;

/// Something in sight that gives a value of a type.
enum Source {
    Text(String),
    Function(FunInfo),
    /// Receiver or callee with everything up to the parenthesis, and the parameters.
    Call(String, Vec<Ty>),
    /// Of a variable with elements.
    Element(String),
    ListElement(String),
    MapElement(String, Ty),
    OrElse(String),
}

const TEXTS: &[&str] = &[
    "\"\"",
    "\"a\"",
    "\"abc\"",
    "\"héé\"",
    "\"x,y,,z\"",
    "\" pad \"",
    "\"12\"",
    "\"-7\"",
    "\"Zürich\"",
    "\"0\"",
    "\"ab\\tc\\n\"",
    "\"\\u{1F600}\"",
];

/// A receiver of `.`: numbers need parentheses.
fn dot(text: String) -> String {
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '\'') { format!("({text})") } else { text }
}

impl Generator<'_> {
    /// Whether a value of type `from` fits where `to` is wanted.
    pub fn fits(&self, from: &Ty, to: &Ty) -> bool {
        match (from, to) {
            (a, b) if a == b => true,
            (Ty::Opt(a), Ty::Opt(b)) => self.fits(a, b) && !matches!(**a, Ty::Int | Ty::Float | Ty::Bool),
            (a, Ty::Opt(b)) => self.fits(a, b),
            (Ty::Class(a), Ty::Class(b)) => self.is_below(*a, *b),
            (Ty::Class(a), Ty::Interface(i)) => self.classes[*a].interfaces.contains(i),
            _ => false,
        }
    }

    pub fn expr(&mut self, scope: &mut Scope, ty: &Ty, depth: usize) -> String {
        let known = if depth == 0 { 75 } else { 35 };
        if let Some(text) = if self.choices.chance(known) { self.known(scope, ty, depth) } else { None } {
            return text;
        }
        if depth == 0 {
            return self.literal(ty);
        }
        self.composite(scope, ty, depth - 1)
    }

    /// For what is kept in a variable: the variable does not get a narrower type by it.
    pub fn stored(&mut self, scope: &mut Scope, ty: &Ty, depth: usize) -> String {
        let value = self.expr(scope, ty, depth);
        match ty {
            Ty::Opt(inner) => format!("maybe<{inner}>({value})"),
            Ty::Class(_) | Ty::Interface(_) => format!("same<{ty}>({value})"),
            _ => value,
        }
    }

    /// A constant, or an object made of constants.
    pub fn literal(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Int => match self.choices.below(16) {
                0..=7 => self.choices.below(20).to_string(),
                8 | 9 => format!("(-{})", 1 + self.choices.below(9)),
                10 => self.choices.pick(&["Int.MAX", "Int.MIN", "0xff", "0b1011", "1_000_000_007", "(-1)", "63", "64"]).to_string(),
                11 => self.choices.pick(&["'a'", "'Z'", "'\\n'", "'é'"]).to_string(),
                12 => ((self.choices.bits() >> 1) as i64).to_string(),
                _ => self.choices.below(1000).to_string(),
            },
            Ty::Float => match self.choices.below(8) {
                0 => self.choices.pick(&["(-0.0)", "1.0e300", "5.0e-324", "(1.0 / 0.0)", "Float.MAX", "0.1"]).to_string(),
                _ => format!("{}.{}", self.choices.below(50), self.choices.below(100)),
            },
            Ty::Bool => self.choices.pick(&["true", "false"]).to_string(),
            Ty::Str => self.choices.pick(TEXTS).to_string(),
            Ty::Opt(inner) if self.choices.chance(60) => self.literal(inner),
            Ty::Opt(_) => "null".into(),
            Ty::Array(t) => format!("[{}]", self.literals(t, 1)),
            Ty::List(t) => format!("listOf<{t}>([{}])", self.literals(t, 0)),
            Ty::Set(t) => format!("setOf<{t}>([{}])", self.literals(t, 0)),
            Ty::Map(k, v) => format!("mapOf<{k}, {v}>()"),
            Ty::Pair(a, b) => format!("Pair<{a}, {b}>({}, {})", self.literal(a), self.literal(b)),
            Ty::Cell(t) => format!("Cell<{t}>({})", self.literal(t)),
            Ty::Fun(params, ret) => {
                let params: Vec<String> = params.iter().map(|p| format!("{}: {p}", self.fresh("q"))).collect();
                format!("(({}) => {})", params.join(", "), self.literal(ret))
            }
            Ty::Class(_) | Ty::Interface(_) => {
                // The first: a later one's constructor might want another value of this type.
                let class = self.constructible(ty)[0];
                let args: Vec<String> = self.classes[class].header.clone().iter().map(|t| self.literal(t)).collect();
                format!("C{class}({})", args.join(", "))
            }
        }
    }

    fn literals(&mut self, ty: &Ty, least: usize) -> String {
        let all: Vec<String> = (0..least + self.choices.below(4)).map(|_| self.literal(ty)).collect();
        all.join(", ")
    }

    /// A value of a type from what is in sight.
    fn known(&mut self, scope: &mut Scope, ty: &Ty, depth: usize) -> Option<String> {
        let sources = self.sources(scope, ty, depth > 0);
        if sources.is_empty() {
            return None;
        }
        let at = self.choices.below(sources.len());
        let inner = depth.saturating_sub(1);
        Some(match sources.into_iter().nth(at).expect("below the length") {
            Source::Text(text) => text,
            Source::Function(f) => {
                let args = self.call_args(scope, &f, inner);
                format!("{}({args})", f.name)
            }
            Source::Call(callee, params) => {
                let args: Vec<String> = params.iter().map(|p| self.expr(scope, p, inner)).collect();
                format!("{callee}({})", args.join(", "))
            }
            Source::Element(array) => {
                let index = self.index(scope, inner);
                format!("{array}[{index} % {array}.length]")
            }
            Source::ListElement(list) => {
                let (index, other) = (self.index(scope, inner), self.literal(ty));
                format!("(if {list}.isEmpty() {{ {other} }} else {{ {list}[{index} % {list}.size()] }})")
            }
            Source::MapElement(map, key) => {
                let (key, other) = (self.expr(scope, &key, inner), self.literal(ty));
                format!("{map}.getOr({key}, {other})")
            }
            Source::OrElse(value) if self.choices.chance(15) => format!("{value}!!"),
            Source::OrElse(value) => {
                let other = self.expr(scope, ty, inner);
                format!("({value} ?: {other})")
            }
        })
    }

    fn index(&mut self, scope: &mut Scope, depth: usize) -> String {
        match self.choices.below(20) {
            // Mostly out of bounds.
            0 => format!("({} | 1048575)", self.expr(scope, &Ty::Int, depth)),
            1..=9 => self.choices.below(8).to_string(),
            _ => format!("({} & 255)", self.expr(scope, &Ty::Int, depth)),
        }
    }

    fn sources(&self, scope: &Scope, ty: &Ty, calls: bool) -> Vec<Source> {
        let mut found = Vec::new();
        for v in scope.visible() {
            let name = &v.name;
            if self.fits(&v.ty, ty) {
                // Variables count more than what is reached through them.
                (0..3).for_each(|_| found.push(Source::Text(name.clone())));
            }
            match &v.ty {
                Ty::Opt(inner) if **inner == *ty => found.push(Source::OrElse(name.clone())),
                Ty::Array(t) if **t == *ty => found.push(Source::Element(name.clone())),
                Ty::List(t) if **t == *ty => found.push(Source::ListElement(name.clone())),
                Ty::Map(k, t) if **t == *ty => found.push(Source::MapElement(name.clone(), (**k).clone())),
                Ty::Cell(t) if **t == *ty => found.push(Source::Text(format!("{name}.value"))),
                Ty::Pair(a, _) if **a == *ty => found.push(Source::Text(format!("{name}.first"))),
                Ty::Pair(_, b) if **b == *ty => found.push(Source::Text(format!("{name}.second"))),
                Ty::Fun(params, ret) if **ret == *ty && calls => found.push(Source::Call(name.clone(), params.clone())),
                Ty::Array(_) | Ty::Str if *ty == Ty::Int => found.push(Source::Text(format!("{name}.length"))),
                Ty::List(_) | Ty::Map(..) | Ty::Set(_) if *ty == Ty::Int => found.push(Source::Text(format!("{name}.size()"))),
                _ => {}
            }
            self.member_sources(scope, &v.ty, name, ty, calls, &mut found);
        }
        if let Some((class, limit)) = scope.this.filter(|_| calls) {
            for m in self.classes[class].methods[..limit].iter().filter(|m| m.ret.as_ref() == Some(ty)) {
                found.push(Source::Call(format!("this.{}", m.name), m.params.clone()));
            }
        }
        if calls {
            let functions = self.funs[..scope.level].iter().filter(|f| f.ret.as_ref().is_some_and(|r| self.fits(r, ty)));
            found.extend(functions.map(|f| Source::Function(f.clone())));
        }
        found
    }

    /// Fields and methods of a variable's class or interface.
    fn member_sources(&self, _scope: &Scope, of: &Ty, name: &str, ty: &Ty, calls: bool, found: &mut Vec<Source>) {
        let (fields, methods, access) = match of {
            Ty::Class(c) if self.classes[*c].ready => (self.classes[*c].fields.as_slice(), self.classes[*c].methods.as_slice(), "."),
            Ty::Interface(i) => (&[][..], self.interfaces[*i].methods.as_slice(), "."),
            Ty::Opt(inner) => match (&**inner, ty) {
                (Ty::Class(c), Ty::Opt(_)) if self.classes[*c].ready => (self.classes[*c].fields.as_slice(), &[][..], "?."),
                _ => return,
            },
            _ => return,
        };
        for f in fields {
            let reached = if access == "?." && !matches!(f.ty, Ty::Opt(_)) { Ty::Opt(Box::new(f.ty.clone())) } else { f.ty.clone() };
            if reached == *ty {
                found.push(Source::Text(format!("{name}{access}{}", f.name)));
            }
        }
        for m in methods.iter().filter(|m| calls && m.ret.as_ref() == Some(ty)) {
            found.push(Source::Call(format!("{name}.{}", m.name), m.params.clone()));
        }
    }

    fn composite(&mut self, scope: &mut Scope, ty: &Ty, depth: usize) -> String {
        if self.choices.chance(12) {
            return self.conditional(scope, ty, depth);
        }
        match ty {
            Ty::Int => self.int(scope, depth),
            Ty::Float => self.float(scope, depth),
            Ty::Bool => self.bool(scope, depth),
            Ty::Str => self.str(scope, depth),
            Ty::Opt(inner) => self.opt(scope, inner, depth),
            Ty::Array(t) => match self.choices.below(3) {
                0 => format!("[{}]", self.exprs(scope, t, 1, depth)),
                1 => format!("Array<{t}>({}, {})", 1 + self.choices.below(6), self.expr(scope, t, depth)),
                _ => {
                    let make = self.closure(scope, &[Ty::Int], t, depth);
                    format!("tabulate<{t}>({}, {make})", 1 + self.choices.below(6))
                }
            },
            Ty::List(t) => self.list(scope, t, depth),
            Ty::Set(t) => format!("setOf<{t}>([{}])", self.exprs(scope, t, 0, depth)),
            Ty::Map(..) => self.literal(ty),
            Ty::Pair(a, b) => format!("Pair<{a}, {b}>({}, {})", self.expr(scope, a, depth), self.expr(scope, b, depth)),
            Ty::Cell(t) => {
                let cell = format!("Cell<{t}>({})", self.expr(scope, t, depth));
                match self.choices.below(3) {
                    0 => cell,
                    1 => format!("{cell}.change({})", self.closure(scope, &[(**t).clone()], t, depth)),
                    _ => format!("{cell}.map<{t}>({})", self.closure(scope, &[(**t).clone()], t, depth)),
                }
            }
            Ty::Fun(params, ret) => self.closure(scope, params, ret, depth),
            Ty::Class(c) => {
                let casts: Vec<String> = scope
                    .visible()
                    .iter()
                    .filter(|v| matches!(v.ty, Ty::Class(p) if p != *c && self.is_below(*c, p)))
                    .map(|v| v.name.clone())
                    .collect();
                if !casts.is_empty() && self.choices.chance(30) {
                    // Of a copy: a cast would narrow the variable itself.
                    return format!("(same<Object>({}) as C{c})", self.choices.pick(&casts));
                }
                self.construct(scope, ty, depth)
            }
            Ty::Interface(_) => self.construct(scope, ty, depth),
        }
    }

    fn exprs(&mut self, scope: &mut Scope, ty: &Ty, least: usize, depth: usize) -> String {
        let all: Vec<String> = (0..least + self.choices.below(3)).map(|_| self.expr(scope, ty, depth)).collect();
        all.join(", ")
    }

    fn construct(&mut self, scope: &mut Scope, ty: &Ty, depth: usize) -> String {
        let choices = self.constructible(ty);
        let class = *self.choices.pick(&choices);
        let args: Vec<String> = self.classes[class].header.clone().iter().map(|t| self.expr(scope, t, depth)).collect();
        format!("C{class}({})", args.join(", "))
    }

    fn conditional(&mut self, scope: &mut Scope, ty: &Ty, depth: usize) -> String {
        let cond = self.expr(scope, &Ty::Bool, depth);
        let (a, b) = (self.expr(scope, ty, depth), self.expr(scope, ty, depth));
        if self.choices.chance(70) { format!("(if {cond} {{ {a} }} else {{ {b} }})") } else { format!("pick<{ty}>({cond}, {a}, {b})") }
    }

    /// With an expression as body.
    pub fn closure(&mut self, scope: &mut Scope, params: &[Ty], ret: &Ty, depth: usize) -> String {
        // A function of the program, where one has this very type.
        let same = |f: &&FunInfo| f.params == params && f.ret.as_ref() == Some(ret) && !f.name.starts_with('r');
        let functions: Vec<String> = self.funs[..scope.level].iter().filter(same).map(|f| f.name.clone()).collect();
        if !functions.is_empty() && self.choices.chance(40) {
            return self.choices.pick(&functions).clone();
        }
        let mut inner = self.inside_closure(scope);
        let mut names = Vec::new();
        for ty in params {
            let name = self.fresh("q");
            names.push(format!("{name}: {ty}"));
            inner.add(&name, ty.clone(), false, true);
        }
        let body = self.expr(&mut inner, ret, depth);
        format!("(({}) => {body})", names.join(", "))
    }

    /// What a closure sees of the scope it is in.
    pub fn inside_closure(&self, scope: &Scope) -> Scope {
        let mut inner = scope.clone();
        inner.vars.retain(|v| !v.until_assigned);
        (inner.in_closure, inner.closure_base, inner.loops, inner.may_return) = (true, inner.vars.len(), 0, true);
        inner.depth += 1;
        inner
    }

    fn int(&mut self, scope: &mut Scope, depth: usize) -> String {
        let mut int = |g: &mut Self| g.expr(scope, &Ty::Int, depth);
        match self.choices.below(24) {
            0..=6 => {
                let op = *self.choices.pick(&["+", "-", "*", "+", "-", "*", "&", "|", "^"]);
                format!("({} {op} {})", int(self), int(self))
            }
            7 => {
                let op = *self.choices.pick(&["<<", ">>", ">>>"]);
                format!("({} {op} {})", int(self), int(self))
            }
            8 | 9 => {
                let op = *self.choices.pick(&["/", "%"]);
                let left = int(self);
                if self.choices.chance(75) { format!("({left} {op} ({} | 1))", int(self)) } else { format!("({left} {op} {})", int(self)) }
            }
            10 => format!("(-{})", int(self)),
            11 => format!("(~{})", int(self)),
            12 => format!("tick({}, {})", self.choices.below(100), int(self)),
            13 => {
                let method = *self.choices.pick(&["abs", "bitCount", "leadingZeros", "trailingZeros", "hash"]);
                format!("{}.{method}()", dot(int(self)))
            }
            14 => format!("{}.compareTo({})", dot(int(self)), int(self)),
            15 => format!("{}<Int>({}, {})", self.choices.pick(&["min", "max"]), int(self), int(self)),
            16 => format!("{}.toInt()", dot(self.expr(scope, &Ty::Float, depth))),
            17 => format!("{}.toInt()", dot(self.expr(scope, &Ty::Bool, depth))),
            18 => {
                let text = self.expr(scope, &Ty::Str, depth);
                match self.choices.below(4) {
                    0 => format!("{text}.length"),
                    1 => format!("{text}.hash()"),
                    2 => format!("{text}.indexOf({})", self.literal(&Ty::Str)),
                    _ => format!("{text}.compareTo({})", self.expr(scope, &Ty::Str, depth)),
                }
            }
            19 => {
                let text = self.expr(scope, &Ty::Str, depth);
                format!("(tryParseInt({text}) ?: {})", self.expr(scope, &Ty::Int, depth))
            }
            20 => {
                let by = self.closure(scope, &[Ty::Int], &Ty::Int, depth);
                format!("twice<Int>({by}, {})", self.expr(scope, &Ty::Int, depth))
            }
            21 => self.fold(scope, depth),
            22 if self.choices.chance(20) => format!("fail({})", self.choices.below(9)),
            _ => {
                let value = self.expr(scope, &Ty::Opt(Box::new(Ty::Int)), depth);
                format!("orElse<Int>({value}, {})", self.expr(scope, &Ty::Int, depth))
            }
        }
    }

    /// Over a list in sight, or one made for it.
    fn fold(&mut self, scope: &mut Scope, depth: usize) -> String {
        let lists: Vec<(String, Ty)> = scope
            .visible()
            .iter()
            .filter_map(|v| if let Ty::List(t) = &v.ty { Some((v.name.clone(), (**t).clone())) } else { None })
            .collect();
        let (list, ty) =
            if lists.is_empty() { (self.literal(&Ty::List(Box::new(Ty::Int))), Ty::Int) } else { self.choices.pick(&lists).clone() };
        let start = self.expr(scope, &Ty::Int, depth);
        let combine = self.closure(scope, &[Ty::Int, ty], &Ty::Int, depth);
        format!("{list}.fold<Int>({start}, {combine})")
    }

    fn float(&mut self, scope: &mut Scope, depth: usize) -> String {
        match self.choices.below(10) {
            0..=4 => {
                let op = *self.choices.pick(&["+", "-", "*", "/", "+", "*", "%"]);
                format!("({} {op} {})", self.expr(scope, &Ty::Float, depth), self.expr(scope, &Ty::Float, depth))
            }
            5 | 6 => format!("{}.toFloat()", dot(self.expr(scope, &Ty::Int, depth))),
            7 => format!("(-{})", self.expr(scope, &Ty::Float, depth)),
            8 => {
                let name = *self.choices.pick(&["sqrt", "floor", "ceil", "trunc", "abs", "round", "sin", "exp", "atan"]);
                format!("Math.{name}({})", self.expr(scope, &Ty::Float, depth))
            }
            _ => format!(
                "{}<Float>({}, {})",
                self.choices.pick(&["min", "max"]),
                self.expr(scope, &Ty::Float, depth),
                self.expr(scope, &Ty::Float, depth)
            ),
        }
    }

    fn bool(&mut self, scope: &mut Scope, depth: usize) -> String {
        let classes: Vec<(String, usize)> =
            scope.visible().iter().filter_map(|v| if let Ty::Class(c) = v.ty { Some((v.name.clone(), c)) } else { None }).collect();
        let optional: Vec<String> = scope.visible().iter().filter(|v| matches!(v.ty, Ty::Opt(_))).map(|v| v.name.clone()).collect();
        match self.choices.below(14) {
            0..=3 => {
                let op = *self.choices.pick(&["<", "<=", ">", ">=", "==", "!="]);
                format!("({} {op} {})", self.expr(scope, &Ty::Int, depth), self.expr(scope, &Ty::Int, depth))
            }
            4 => {
                let op = *self.choices.pick(&["<", "<=", ">", ">=", "==", "!="]);
                format!("({} {op} {})", self.expr(scope, &Ty::Float, depth), self.expr(scope, &Ty::Float, depth))
            }
            5 => {
                let op = *self.choices.pick(&["<", ">=", "==", "!="]);
                format!("({} {op} {})", self.expr(scope, &Ty::Str, depth), self.expr(scope, &Ty::Str, depth))
            }
            6 | 7 => {
                let op = *self.choices.pick(&["&&", "||", "&", "|", "^"]);
                format!("({} {op} {})", self.expr(scope, &Ty::Bool, depth), self.expr(scope, &Ty::Bool, depth))
            }
            8 => format!("(!{})", self.expr(scope, &Ty::Bool, depth)),
            9 => format!("flag({}, {})", self.choices.below(100), self.expr(scope, &Ty::Bool, depth)),
            10 if !classes.is_empty() => {
                let (name, class) = self.choices.pick(&classes).clone();
                let below: Vec<usize> = (0..self.classes.len()).filter(|&c| self.is_below(c, class)).collect();
                // What the test tells must not narrow the variable: later tests might then never succeed.
                format!("flag({}, {name} {} C{})", self.choices.below(100), self.choices.pick(&["is", "!is"]), self.choices.pick(&below))
            }
            11 if !optional.is_empty() => format!("({} {} null)", self.choices.pick(&optional), self.choices.pick(&["==", "!="])),
            12 if classes.len() > 1 => {
                let (a, b) = (self.choices.pick(&classes).clone(), self.choices.pick(&classes).clone());
                if self.is_below(a.1, b.1) || self.is_below(b.1, a.1) {
                    format!("({} {} {})", a.0, self.choices.pick(&["===", "!==", "=="]), b.0)
                } else {
                    "true".into()
                }
            }
            _ => {
                let method = *self.choices.pick(&["contains", "startsWith", "endsWith"]);
                format!("{}.{method}({})", self.expr(scope, &Ty::Str, depth), self.literal(&Ty::Str))
            }
        }
    }

    fn str(&mut self, scope: &mut Scope, depth: usize) -> String {
        match self.choices.below(12) {
            0..=2 => format!("clip({} + {})", self.expr(scope, &Ty::Str, depth), self.expr(scope, &Ty::Str, depth)),
            3..=5 => {
                let names: Vec<String> = scope
                    .visible()
                    .iter()
                    .filter(|v| v.ty.is_printable() && !matches!(v.ty, Ty::List(_) | Ty::Map(..) | Ty::Set(_)))
                    .map(|v| v.name.clone())
                    .collect();
                if names.is_empty() {
                    return self.literal(&Ty::Str);
                }
                format!("clip(\"<${{{}}}|${{{}}}>\")", self.choices.pick(&names), self.choices.pick(&names))
            }
            6 => format!("{}.toString()", dot(self.expr(scope, &Ty::Int, depth))),
            7 => format!("{}.toRadix({})", dot(self.expr(scope, &Ty::Int, depth)), 2 + self.choices.below(35)),
            8 => {
                let method = *self.choices.pick(&["toUpper", "toLower", "trim"]);
                format!("{}.{method}()", self.expr(scope, &Ty::Str, depth))
            }
            9 => {
                let (text, part, by) = (self.expr(scope, &Ty::Str, depth), self.literal(&Ty::Str), self.literal(&Ty::Str));
                if part == "\"\"" { text } else { format!("clip({text}.replace({part}, {by}))") }
            }
            10 => format!("clip({}.repeat({}))", self.expr(scope, &Ty::Str, depth), self.choices.below(4)),
            _ => format!("charToStr(97 + ({} & 15))", self.expr(scope, &Ty::Int, depth)),
        }
    }

    fn opt(&mut self, scope: &mut Scope, inner: &Ty, depth: usize) -> String {
        if self.choices.chance(25) {
            return "null".into();
        }
        match inner {
            Ty::Int if self.choices.chance(40) => format!("tryParseInt({})", self.expr(scope, &Ty::Str, depth)),
            Ty::Class(c) => {
                let objects: Vec<String> = scope
                    .visible()
                    .iter()
                    .filter(|v| matches!(v.ty, Ty::Class(p) if p != *c && self.is_below(*c, p)))
                    .map(|v| v.name.clone())
                    .collect();
                if objects.is_empty() {
                    self.expr(scope, inner, depth)
                } else {
                    format!("(same<Object>({}) as? C{c})", self.choices.pick(&objects))
                }
            }
            _ => {
                let maps: Vec<(String, Ty)> = scope
                    .visible()
                    .iter()
                    .filter_map(|v| match &v.ty {
                        Ty::Map(k, t) if **t == *inner => Some((v.name.clone(), (**k).clone())),
                        _ => None,
                    })
                    .collect();
                if maps.is_empty() || self.choices.chance(50) {
                    return self.expr(scope, inner, depth);
                }
                let (map, key) = self.choices.pick(&maps).clone();
                format!("{map}.get({})", self.expr(scope, &key, depth))
            }
        }
    }

    fn list(&mut self, scope: &mut Scope, ty: &Ty, depth: usize) -> String {
        let made = format!("listOf<{ty}>([{}])", self.exprs(scope, ty, 0, depth));
        match self.choices.below(4) {
            0 => format!("{made}.filter({})", self.closure(scope, std::slice::from_ref(ty), &Ty::Bool, depth)),
            1 => format!("{made}.map<{ty}>({})", self.closure(scope, std::slice::from_ref(ty), ty, depth)),
            2 if matches!(ty, Ty::Int | Ty::Str) => format!("sorted<{ty}>({made})"),
            _ => made,
        }
    }
}
