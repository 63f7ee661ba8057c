//! More classes at one call than any set or test of classes holds, within recursion: trees and lists of objects of 16 to 20 classes, which call each other through one interface.
//!
//! Out: small classes with random fields and methods, a function that builds trees of them, and functions that walk these; first trees of a few classes, then of all, so that what was inlined for some meets the others.
//! Invariants: each object is the child of one other at most, and trees are a few levels deep, so that walks end soon.

use crate::choices::Choices;
use crate::part::Part;

/// A kind of field: its type, its first value, what it is worth as an `Int`, and a statement that changes it. `@` is the field, `n` and `depth` are the arguments of the function that builds.
struct Field {
    ty: &'static str,
    first: &'static str,
    value: &'static str,
    change: &'static str,
}

const fn field(ty: &'static str, first: &'static str, value: &'static str, change: &'static str) -> Field {
    Field { ty, first, value, change }
}

const PLAIN: &[Field] = &[
    field("Int", "n", "@", "@ += by"),
    field("Float", "n.toFloat() * 0.5", "(@ * 2.0).toInt()", "@ = @ * 0.5 + by.toFloat()"),
    field("Bool", "n > 3", "@.toInt()", "@ = !@"),
    field("Str", "\"t${n}\"", "@.length", "@ = \"u${by & 255}\""),
    field("Array<Int>", "[n, 2, depth]", "@[by & 1]", "@[1] ^= by"),
    field("Array<Float>", "[0.5, n.toFloat()]", "@[by & 1].toInt()", "@[by & 1] = 1.5"),
    field("(Int) -> Int", "(q => q * 3 + n)", "@(by & 63)", "@ = (q => q - by)"),
    field("Int?", "if n > 2 { n } else { null }", "(@ ?: by)", "@ = by"),
    field("Cell<Int>", "Cell<Int>(n)", "@.value", "@.put(by)"),
];

/// Of those, a class has one at most.
const CHILDREN: &[Field] = &[
    field("Crowd?", "crowd(n * 3 + 1, depth - 1, most)", "(@?.walk(by + 1) ?: 2)", "@ = Crowd0(by, null)"),
    field("Crowd?", "crowd(n + 1, depth - 1, most)", "(@?.walk(by - 1) ?: 5)", "@ = null"),
    field("Crowd", "(crowd(n + 7, depth - 1, most) ?: Crowd0(n, null))", "@.walk(by ^ 1)", "@ = Crowd0(by, null)"),
    field("Array<Crowd?>", "[crowd(n + 5, depth - 1, most), crowd(n * 2, depth - 2, most)]", "each(@, by)", "@[1] = null"),
    field("List<Crowd?>", "listOf<Crowd?>([null, crowd(n + 3, depth - 1, most)])", "each(@.toArray(), by)", "@.reverse()"),
];

const INTERFACE: &str = "
var crowdLog = 3

interface Crowd {
    fun walk(by: Int): Int
    fun weigh(f: Float): Float = f + 0.5
    fun find(n: Int): Crowd? = if walk(1) % 7 == n { this } else { null }
    fun child(): Crowd? = null
    fun deep(n: Int): Int {
        let next = child()
        return if n <= 0 { 1 } else { (next?.deep(n - 1) ?: 3) * 3 + n }
    }
}

fun each(all: Array<Crowd?>, by: Int): Int {
    var sum = all.length
    for c in all { sum = sum * 3 + (c?.walk(by - 1) ?: 1) }
    return sum
}

// A list, by recursion over its places.
fun along(all: Array<Crowd>, at: Int, by: Int): Int =
    if at >= all.length { by } else { all[at].walk(by & 7) + along(all, at + 1, by + 1) * 3 }

// Two that call each other, and the interface between.
fun ping(c: Crowd?, n: Int): Int = if c == null || n <= 0 { n } else { pong(c.child(), n - 1) * 3 + c.weigh(0.5).toInt() }

fun pong(c: Crowd?, n: Int): Int = if c == null { -n } else { ping(c.child(), n) + c.walk(n & 3) }
";

/// The text of such functions; the last one has this name.
pub fn crowds(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(INTERFACE);
    let classes = 16 + part.choices.below(5);
    part.text("\nclass Crowd0(var own: Int, var next: Crowd?) : Crowd {\n");
    part.text("    override fun walk(by: Int): Int = own + by + (next?.walk(by + 1) ?: 1)\n    override fun child(): Crowd? = next\n}\n");
    let news: Vec<String> = (1..classes).map(|number| class(&mut part, number)).collect();
    part.function("fun crowd(n: Int, depth: Int, most: Int): Crowd? {", |p| {
        p.line("if depth <= 0 { return null }");
        p.block("return match (n & 255) % most {", |p| {
            for (at, new) in news.iter().enumerate() {
                p.line(format!("{} => {new}", at + 1));
            }
            p.line("else => Crowd0(n, crowd(n + 2, depth - 1, most))");
        });
    });
    part.function("fun crowdOf(n: Int, depth: Int, most: Int): Crowd = crowd(n, depth, most) ?: Crowd0(n, null)\n\nfun row(from: Int, count: Int, most: Int): Array<Crowd> {", |p| {
        p.line("return tabulate<Crowd>(count, q => crowdOf(from + q, 2, most))");
    });
    let functions = part.functions(name, |p, name| function(p, name, classes));
    part.driver(name, |p| {
        p.line("crowdLog = 3");
        p.some(3, |p| {
            let (number, few) = (p.choices.below(functions), 1 + p.choices.below(6));
            let rounds = p.pick(&["9", "14", "20"]);
            p.block(format!("for x in 0..<{rounds} {{"), |p| {
                p.line(format!("let most = if x < 7 {{ {few} }} else {{ {classes} }}"));
                p.guarded(&format!("{name}{number}(crowdOf(x + start & 63, 4, most), row(x, 3, most), x)"));
            });
        });
        p.line("sum = sum * 31 + crowdLog");
    });
    part.finish()
}

/// A class; gives what makes an object of it.
fn class(p: &mut Part<'_, '_>, number: usize) -> String {
    let mut fields: Vec<&Field> = Vec::new();
    for _ in 0..p.choices.below(3) {
        fields.push(p.choices.pick(PLAIN));
    }
    if p.choices.chance(65) {
        fields.push(p.choices.pick(CHILDREN));
    }
    let last = fields.len();
    let params: Vec<String> = fields.iter().enumerate().map(|(at, f)| format!("var f{at}: {}", f.ty)).collect();
    let head = if params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
    p.function(format!("class Crowd{number}{head} : Crowd {{"), |p| {
        walk(p, &fields);
        if last > 0 && fields[last - 1].ty.starts_with("Crowd") {
            p.line(format!("override fun child(): Crowd? = f{}", last - 1));
        }
        if p.choices.chance(40) {
            let weigh = p.pick(&[
                "f * 0.5",
                "f + walk(2).toFloat()",
                "if f > 4.0 { f } else { weigh(f + 1.5) }",
                "f - 1.0",
                "child()?.weigh(f) ?: f",
            ]);
            p.line(format!("override fun weigh(f: Float): Float = {weigh}"));
        }
        if p.choices.chance(40) {
            let find = p.pick(&["child()?.find(n + 1)", "if n > 3 { this } else { null }", "child()?.find(n) ?: this"]);
            p.line(format!("override fun find(n: Int): Crowd? = {find}"));
        }
        if p.choices.chance(25) {
            let deep = p.pick(&["if n <= 0 { 2 } else { deep(n - 1) + walk(n) }", "walk(n) * 3 + 1", "(child()?.deep(n - 2) ?: n)"]);
            p.line(format!("override fun deep(n: Int): Int = {deep}"));
        }
    });
    let values: Vec<&str> = fields.iter().map(|f| f.first).collect();
    format!("Crowd{number}({})", values.join(", "))
}

/// The method that goes down the tree.
fn walk(p: &mut Part<'_, '_>, fields: &[&Field]) {
    let mut value = String::from("by");
    for (at, f) in fields.iter().enumerate() {
        value = format!("{value} {} {}", p.pick(&["+", "-", "^", "+"]), f.value.replace('@', &format!("f{at}")));
    }
    if p.choices.chance(40) {
        return p.line(format!("override fun walk(by: Int): Int = {value}"));
    }
    p.block("override fun walk(by: Int): Int {", |p| {
        if !fields.is_empty() && p.choices.chance(50) {
            let (at, often) = (p.choices.below(fields.len()), 2 + p.choices.below(4));
            let change = fields[at].change.replace('@', &format!("f{at}"));
            p.line(format!("if by % {often} == 1 {{ {change} }}"));
        }
        match p.choices.below(6) {
            0 => p.line("if by % 11 == 7 { throw AppError(\"crowd\", by) }"),
            1 => {
                p.two_blocks(
                    "try {",
                    |p| p.line(format!("return {value}")),
                    "catch (e: AppError) {",
                    |p| {
                        p.line("crowdLog = crowdLog * 31 + e.code");
                    },
                );
                return p.line("return by * 5");
            }
            2 => p.line("crowdLog = crowdLog * 31 + by"),
            3 => p.line("let kept = Crowd0(by, this)\n        if kept.own == 3 { return kept.own }"),
            _ => {}
        }
        p.line(format!("return {value}"));
    });
}

fn function(p: &mut Part<'_, '_>, name: &str, classes: usize) {
    p.function(format!("fun {name}(c: Crowd, all: Array<Crowd>, x: Int): Int {{"), |p| {
        p.line("var s = 1");
        p.line("var o = c");
        p.some(5, |p| statement(p, 0, classes));
        p.line("return s");
    });
}

fn statement(p: &mut Part<'_, '_>, depth: usize, classes: usize) {
    match p.choices.below(if depth < 2 { 13 } else { 8 }) {
        0..4 => {
            let value = p.pick(&[
                "o.walk(x & 3)",
                "c.walk(1)",
                "along(all, 0, x)",
                "ping(o, 6)",
                "pong(c, 4)",
                "o.deep(5)",
                "o.weigh(1.5).toInt()",
                "all[x % 3].walk(s & 3)",
                "(o.find(x & 3)?.walk(2) ?: 6)",
            ]);
            p.line(format!("s = s * 31 + {value}"));
        }
        4 => {
            let line = p.pick(&["o = all[(s & 255) % 3]", "o = o.find(2) ?: c", "o = o.child() ?: all[1]", "o = crowdOf(s & 63, 3, 20)"]);
            p.line(line);
        }
        5 | 6 => {
            let (number, v) = (p.choices.below(classes), p.fresh("v"));
            p.line(format!("let {v} = same<Crowd>(o)"));
            p.line(format!("s = s * 31 + (if {v} is Crowd{number} {{ {v}.walk(3) }} else {{ c.walk(2) }})"));
        }
        7 => {
            let (cond, leave) = (cond(p), p.pick(&["s += 1", "return s", "o = c"]));
            p.line(format!("if {cond} {{ {leave} }}"));
        }
        8 => p.two_blocks(
            "try {",
            |p| p.some(3, |p| statement(p, depth + 1, classes)),
            "catch (e: AppError) {",
            |p| p.line("s = s * 31 + e.code + o.deep(2)"),
        ),
        9 => {
            let cond = cond(p);
            p.two_blocks(format!("if {cond} {{"), |p| statement(p, depth + 1, classes), "else {", |p| statement(p, depth + 1, classes));
        }
        _ => {
            let (i, from) = (p.fresh("i"), p.pick(&["i", "x + i", "s & 63"]));
            p.block(format!("for {i} in 0..<3 {{"), |p| {
                p.line(format!("let m{i} = crowdOf({}, 2, 20)", from.replace('i', &i)));
                p.line(format!("s = s * 31 + m{i}.walk({i}) + all[{i}].walk(x & 1)"));
                p.some(2, |p| statement(p, depth + 1, classes));
            });
        }
    }
}

fn cond(p: &mut Part<'_, '_>) -> &'static str {
    p.pick(&["(x & 1) == 0", "s > x", "o === c", "o.child() == null", "o is Crowd3", "all[0] is Crowd0", "(s & 3) == 1"])
}
