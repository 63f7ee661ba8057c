//! Calls whose target changes: methods of interfaces and classes on objects from arrays, functions from fields and arrays, generic code for several types; and errors that go through them, with the way they came.
//!
//! Out: classes below an interface with a default and a generic holder, functions that call them in loops on one, two or many classes of objects, and what catches their errors. Here and there an error's stack trace is printed.

use crate::choices::Choices;
use crate::part::Part;

const INTERFACE: &str = "
interface Shape {
    fun area(by: Int): Int
    fun name(): Str
    fun grown(by: Int): Shape
    fun twice(by: Int): Int = area(by) * 2 + area(by + 1)
    fun code(): Int? = null
}

class Holder<T>(var value: T, let change: (T) -> T) {
    fun step(): T {
        value = change(value)
        return value
    }
    fun steps(n: Int): T {
        var last = value
        for i in 0..<n { last = step() }
        return last
    }
    fun or(other: T, mine: Bool): T = if mine { value } else { other }
}

fun firstOf<T>(items: Array<T>, wanted: (T) -> Bool): T? {
    for item in items {
        if wanted(item) { return item }
    }
    return null
}

fun sumOf<T: Shape>(items: Array<T>, by: Int): Int {
    var sum = 0
    for item in items { sum = sum * 3 + item.area(by) }
    return sum
}

fun apply(f: (Int) -> Int, n: Int): Int = f(n)

fun trace(error: Error): Int {
    println(error.stackTrace())
    return error.message.length
}
";

/// The text of such functions; the last one has this name.
pub fn calls(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(INTERFACE);
    let classes = 2 + part.choices.below(3);
    for number in 0..classes {
        class(&mut part, number);
    }
    let count = part.functions(name, |p, name| function(p, name, classes));
    part.driver(name, |p| {
        p.some(5, |p| {
            let number = p.choices.below(count);
            let kinds = 1 + p.choices.below(classes);
            let shapes: Vec<String> = (0..1 + p.choices.below(5)).map(|_| format!("Shape{}(start, 2)", p.choices.below(kinds))).collect();
            let n = p.pick(&["start", "start & 7", "0", "3", "6", "-1"]);
            p.two_blocks(
                "try {",
                |p| p.line(format!("sum = sum * 31 + {name}{number}([{}], {n})", shapes.join(", "))),
                "catch (e: Error) {",
                |p| {
                    p.line("report(e)");
                    p.line("sum += trace(e)");
                },
            );
        });
    });
    part.finish()
}

fn class(p: &mut Part<'_, '_>, number: usize) {
    let below = number > 0 && p.choices.chance(40);
    let head = if below {
        format!("class Shape{number}(a: Int, b: Int) : Shape{}(a + {number}, b) {{", number - 1)
    } else {
        format!("class Shape{number}(var a: Int, var b: Int) : Shape {{")
    };
    p.function(head, |p| {
        let (body, all) = (area(p), !below);
        p.line(format!("override fun area(by: Int): Int {body}"));
        if all || p.choices.chance(50) {
            p.line(format!("override fun name(): Str = \"shape{number} ${{a}}\""));
        }
        if all || p.choices.chance(50) {
            let grown = p.pick(&["Shape0(a + by, b)", "this", "if by % 2 == 0 { same<Shape>(this) } else { same<Shape>(Shape0(by, a)) }"]);
            p.line(format!("override fun grown(by: Int): Shape = {grown}"));
        }
        if p.choices.chance(30) {
            let twice = p.pick(&["by", "area(by) + a", "apply(x => area(x) + by, b)", "fail(by)"]);
            p.line(format!("override fun twice(by: Int): Int = {twice}"));
        }
        if p.choices.chance(50) {
            let code = p.pick(&["a", "if b > 1 { a } else { null }", "maybe<Int>(b)"]);
            p.line(format!("override fun code(): Int? = {code}"));
        }
        if p.choices.chance(40) {
            p.line("override fun equals(other: Object?): Bool = other is Shape && other.area(1) == area(1)");
            p.line("override fun hash(): Int = area(1)");
        }
        p.line("override fun toString(): Str = name()");
    });
}

fn area(p: &mut Part<'_, '_>) -> &'static str {
    p.pick(&[
        "= a * b + by",
        "= a - by",
        "{\n        a += by\n        return a ^ b\n    }",
        "= a / by",
        "{\n        if by % 5 == 4 { throw AppError(\"area ${by}\", a) }\n        return b\n    }",
        "{\n        try {\n            return a % by\n        } catch (e: DivisionError) {\n            return trace(e)\n        } finally {\n            b += 1\n        }\n    }",
        "= [a, b, by][by & 3]",
        "= tick(3, by) + a",
    ])
}

fn function(p: &mut Part<'_, '_>, name: &str, classes: usize) {
    p.function(format!("fun {name}(all: Array<Shape>, n: Int): Int {{"), |p| {
        p.line("var s = 0");
        p.line("var o = all[0]");
        p.line("let fs = [(q: Int) => q + s, (q: Int) => all[0].area(q), (q: Int) => fail(q)]");
        p.line("let h = Holder<Int>(n, q => q * 3 + s)");
        p.line("let g = Holder<Shape>(o, q => q.grown(n))");
        p.line("let t = Holder<Float>(0.5, q => q + n.toFloat())");
        p.some(6, |p| statement(p, classes, 0));
        p.line("println(\"${o} ${h.value} ${g.value} ${t.value}\")");
        p.line("return s");
    });
}

fn statement(p: &mut Part<'_, '_>, classes: usize, depth: usize) {
    match p.choices.below(if depth < 3 { 16 } else { 8 }) {
        0..4 => {
            let (op, value) = (p.pick(&["s +=", "s ^=", "s = s * 31 +"]), int(p));
            p.line(format!("{op} {value}"));
        }
        4 => {
            let to = p.pick(&[
                "o = o.grown(n)",
                "o = all[(s & 255) % all.length]",
                "o = g.step()",
                "o = firstOf<Shape>(all, q => q.area(1) > n) ?: o",
            ]);
            p.line(to);
        }
        5 => {
            let class = p.choices.below(classes);
            let (v, value) = (p.fresh("v"), int(p));
            p.line(format!("let {v} = same<Shape>(o)"));
            p.line(format!("if {v} is Shape{class} {{ s += {v}.a; {v}.b = n }} else {{ s += {value} }}"));
        }
        6 => {
            let class = p.choices.below(classes);
            p.line(format!("s += ((same<Object>(o) as? Shape{class})?.a ?: 17)"));
        }
        7 => {
            let class = p.choices.below(classes);
            let value = int(p);
            p.line(format!("match same<Shape>(o) {{ is Shape{class} as v => s += v.b; else => s ^= {value} }}"));
        }
        8 | 9 => {
            let i = p.fresh("i");
            p.block(format!("for {i} in 0..<(n & 7) {{"), |p| {
                let method = p.pick(&["area", "twice", "area"]);
                p.line(format!("s = s * 3 + all[{i} % all.length].{method}({i})"));
                p.some(2, |p| statement(p, classes, depth + 1));
            });
        }
        10 | 11 => p.block("for a in all {", |p| {
            let call = p.pick(&[
                "s += a.area(n)",
                "s ^= a.twice(1)",
                "o = a",
                "s += a.name().length",
                "s += (a.code() ?: 5)",
                "s += (a == o).toInt()",
            ]);
            p.line(call);
            p.some(2, |p| statement(p, classes, depth + 1));
        }),
        12 => {
            let cond = cond(p);
            p.two_blocks(format!("if {cond} {{"), |p| statement(p, classes, depth + 1), "else {", |p| statement(p, classes, depth + 1));
        }
        _ => caught(p, classes, depth),
    }
}

fn caught(p: &mut Part<'_, '_>, classes: usize, depth: usize) {
    if p.choices.chance(40) {
        let last = p.pick(&["s += 1", "o = all[0]", "s += o.area(2)", "println(\"left ${s}\")"]);
        p.two_blocks("try {", |p| guarded(p, classes, depth), "finally {", |p| p.line(last));
    } else {
        guarded(p, classes, depth);
    }
}

fn guarded(p: &mut Part<'_, '_>, classes: usize, depth: usize) {
    let e = p.fresh("e");
    let error = p.pick(&["AppError", "DivisionError", "BoundsError", "Error", "FatalError"]);
    let end = p.pick(&["s += 3", "s += trace(#)", "throw #", "throw AppError(\"again\", s)", "s ^= #.message.length"]).replace('#', &e);
    let body = |p: &mut Part<'_, '_>| p.some(3, |p| statement(p, classes, depth + 1));
    p.two_blocks("try {", body, format!("catch ({e}: {error}) {{"), |p| p.line(end));
}

fn int(p: &mut Part<'_, '_>) -> &'static str {
    p.pick(&[
        "n",
        "o.area(n)",
        "o.area(0)",
        "o.twice(s & 7)",
        "all[0].area(1)",
        "all[n & 3].area(3)",
        "sumOf<Shape>(all, n)",
        "fs[0](n)",
        "fs[(s & 255) % 3](n)",
        "apply(fs[1], 2)",
        "h.step()",
        "h.steps(n & 3)",
        "h.or(n, s > 0)",
        "g.step().area(1)",
        "g.or(o, n > 2).area(2)",
        "t.step().toInt()",
        "apply(q => q * s + o.area(q), n)",
        "(o.code() ?: 8)",
        "o.name().length",
        "(o === all[0]).toInt()",
        "o.hash() * 0",
    ])
}

fn cond(p: &mut Part<'_, '_>) -> String {
    match p.choices.below(3) {
        0 => p.pick(&["o === all[0]", "o == g.value", "o.code() == null", "o.code() == n", "o is Shape1"]).into(),
        _ => format!("{} {} {}", int(p), p.pick(&["<", ">", "==", "!="]), int(p)),
    }
}
