//! Functions beyond what passes look at: each of their limits (places that are followed, operations of a loop, versions, what lives at a poll, arms, fields, operands …) is aimed at, so that what they do of it in part, or not at all, is still right.
//!
//! Out: one function of several hundred statements, a few sections of which each is long in its own way, and calls of it. What would be wrong if the rest behind a limit were forgotten stands at the section's end.

use crate::choices::Choices;
use crate::part::Part;

/// Fields of `Broad`: more than are kept in registers, and more than stores are kept in mind.
const FIELDS: usize = 40;

const CLASSES: &str = "
class Wide(var n0: Int) {
    var n1 = 1
    var n2 = 2
    var n3 = 3
    var n4 = 4
    var n5 = 5
    var f = 0.5
    var o: Wide? = null

    fun sum(): Int = n0 + n1 * 3 + n2 * 5 + n3 * 7 + n4 * 11 + n5 * 13 + f.toInt() + (o?.n0 ?: 17)
}

var keptWide: Wide? = null
var hugeLog = 1

fun keep(w: Wide): Int {
    keptWide = w
    return w.n1
}

fun small(n: Int): Int = n * 3 + 1

fun noted(n: Int): Int {
    hugeLog = hugeLog * 31 + n
    return n & 255
}

fun fussy(n: Int): Int {
    if n % 97 == 41 { throw AppError(\"huge\", n) }
    return n & 63
}

fun chosenOf(a: Int, b: Int, c: Int): Int = if a > b { c } else { a - c }
";

const SECTIONS: &[fn(&mut Part<'_, '_>)] =
    &[locals, places, writes, stores, loops, nested, arms, broad, operands, conditions, calls, literal, mixed];

/// The text of such a function and of what calls it.
pub fn huge(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(CLASSES);
    part.function("class Broad(x: Int) {", |p| {
        for n in 0..FIELDS {
            p.line(format!("var m{n} = x + {n}"));
        }
    });
    part.function(format!("fun {name}0(w: Wide, v: Wide, a: Array<Int>, x: Int): Int {{"), |p| {
        p.line("var s = 1");
        let section = |p: &mut Part<'_, '_>| (*p.choices.pick(SECTIONS))(p);
        section(p);
        p.some(2, section);
        p.line("return s * 31 + w.sum() + v.sum() + (keptWide?.sum() ?: 3)");
    });
    part.driver(name, |p| {
        p.block("for x in 0..<6 {", |p| {
            p.line("let w = Wide(start & 63)");
            p.line("let v = if x % 3 == 2 { w } else { Wide(x) }");
            p.line("let a = Array<Int>(16, x)");
            p.guarded(&format!("{name}0(w, v, a, x)"));
            p.line("sum = sum * 31 + w.sum() + v.sum() + a[3] + a[15] + hugeLog");
        });
    });
    part.finish()
}

fn between(p: &mut Part<'_, '_>, least: usize, most: usize) -> usize {
    least + p.choices.below(most - least)
}

/// More variables than may live where running code is left, carried by a loop with branches.
fn locals(p: &mut Part<'_, '_>) {
    let (count, name, i) = (between(p, 34, 170), p.fresh("l"), p.fresh("i"));
    for n in 0..count {
        let first = p.pick(&["x", "x * 3", "s", "w.n1", "7"]);
        p.line(format!("var {name}x{n} = {first} + {n}"));
    }
    p.block(format!("for {i} in 0..<7 {{"), |p| {
        for _ in 0..count / 2 {
            let (to, one, other) = (p.choices.below(count), p.choices.below(count), p.choices.below(count));
            let by = p.pick(&["+", "^", "-"]);
            if p.choices.chance(25) {
                p.line(format!("if {name}x{one} > {name}x{other} {{ {name}x{to} {by}= {i} }} else {{ {name}x{one} += 3 }}"));
            } else {
                p.line(format!("{name}x{to} {by}= {name}x{one} + {i}"));
            }
        }
        p.line(format!("s += small({name}x{})", count - 1));
    });
    (0..count).for_each(|n| p.line(format!("s = s * 31 + {name}x{n}")));
}

/// More places than loads are followed of, the last of which are written through another name.
fn places(p: &mut Part<'_, '_>) {
    let (count, name) = (between(p, 68, 80), p.fresh("w"));
    for n in 0..count {
        p.line(format!("let {name}x{n} = Wide(x + {n})"));
        // Most are known to others: those that are not are no objects in the end.
        if p.choices.chance(97) {
            p.line(format!("s += keep({name}x{n})"));
        }
    }
    for n in 0..count {
        for field in ["n0", "n1", "n2", "n3", "n4", "n5"] {
            let from = p.choices.below(n + 1);
            p.line(format!("{name}x{n}.{field} += {name}x{from}.{field} + s & 1023"));
        }
        p.line(format!("{name}x{n}.f += 0.5"));
        p.line(format!("{name}x{n}.o = w"));
    }
    for n in [count - 1, count - 2, count - 3, 0] {
        let (any, field, cond) = (p.fresh("any"), p.pick(&["n0", "n3", "n5"]), p.pick(&["x > 2", "(s & 1) == 0", "x == 0"]));
        p.line(format!("let {any} = if {cond} {{ {name}x{n} }} else {{ {name}x1 }}"));
        p.line(format!("{any}.{field} = x + {n}"));
        p.line(format!("{any}.f = {name}x{n}.f * 2.0"));
        p.line(format!("s = s * 31 + {name}x{n}.{field} + {name}x{n}.f.toInt() + (keptWide?.sum() ?: 1)"));
    }
    (0..count).for_each(|n| p.line(format!("s = s * 31 + {name}x{n}.sum()")));
}

/// What is read first in a loop, and what writes it last.
const READ_AND_WRITTEN: &[(&str, &str)] = &[
    ("w.n0", "w.n0 += 1"),
    ("w.n0", "v.n0 = x + 5"),
    ("v.n3", "v.n3 = s & 255"),
    ("a[0]", "a[0] += 3"),
    ("w.f.toInt()", "w.f += 1.5"),
    ("hugeLog", "s += noted(x)"),
    ("(w.o?.n0 ?: 3)", "w.o = v"),
];

/// A loop with more writes, all to other places, than are compared with its loads; the last one is to what was loaded first.
fn writes(p: &mut Part<'_, '_>) {
    let (count, i, t) = (between(p, 258, 300), p.fresh("i"), p.fresh("t"));
    let &(read, write) = p.choices.pick(READ_AND_WRITTEN);
    p.line(format!("let {t} = Array<Int>({count}, x)"));
    p.block(format!("for {i} in 0..<4 {{"), |p| {
        p.line(format!("s = s * 31 + {read} + a.length"));
        for n in 0..count {
            p.line(format!("{t}[{n}] = s ^ {n}"));
            if p.choices.chance(5) {
                let line = p.pick(&["w.n1 = s", "w.n2 = #", "v.n1 += #", "a[#] = s & 7", "v.n5 = s ^ #"]);
                p.line(line.replace('#', &(n % 15 + 1).to_string()));
            }
        }
        p.line(write);
    });
    p.line(format!("for n{i} in {t} {{ s = s * 31 + n{i} }}"));
}

/// More stores in a row than are kept in mind, with loads of the first ones before those are overwritten.
fn stores(p: &mut Part<'_, '_>) {
    let b = p.fresh("b");
    p.line(format!("let {b} = Broad(x)"));
    p.line(format!("let {b}o = if x > 3 {{ {b} }} else {{ Broad(s & 7) }}"));
    for round in 0..2 + p.choices.below(2) {
        for n in 0..FIELDS {
            p.line(format!("{b}.m{n} = s + {}", n * (round + 1)));
            if p.choices.chance(8) {
                let field = p.choices.below(FIELDS);
                p.line(format!("s = s * 31 + {b}o.m{field}"));
            }
        }
    }
    (0..FIELDS).for_each(|n| p.line(format!("s = s * 31 + {b}.m{n} - {b}o.m{n}")));
}

/// More loops than are unrolled or made in two versions, with calls and errors between.
fn loops(p: &mut Part<'_, '_>) {
    for n in 0..between(p, 24, 44) {
        let i = p.fresh("i");
        let to = p.pick(&["x", "6", "a.length", "3", "(x & 3) + 9", "(w.n1 & 7)"]);
        let line = p.pick(&[
            "a[@] += s & 15",
            "s = s * 31 + a[@]",
            "s += a[@ + #]; w.n1 ^= a[@]",
            "a[15 - @] = @ + x",
            "s ^= a[@ * 1]; a[@] = s & 63; a[(@ + #) & 15] += 1",
            "if a[@] > # { s += 1 } else { v.n2 += a[@] }",
        ]);
        // Here and there an element that is not there: not in most functions, or none would come to its end.
        let to = if line.contains("@ + #]") && to == "a.length" && p.choices.chance(98) { "12" } else { to };
        let line = line.replace('@', &i).replace('#', &(n % 5).to_string());
        p.block(format!("for {i} in 0..<{to} {{"), |p| line.split("; ").for_each(|line| p.line(line)));
        if p.choices.chance(10) {
            p.line("s += fussy(s & 255)");
        }
    }
}

/// Deeper than code is searched; most loops run once.
fn nested(p: &mut Part<'_, '_>) {
    let depth = between(p, 20, 45);
    inside(p, depth, 4);
}

fn inside(p: &mut Part<'_, '_>, depth: usize, loops: usize) {
    let line = p.pick(&["s += 1", "s = s * 31 + w.n0", "w.n1 += x", "s ^= fussy(s & 127)", "a[s & 15] += 1", "s += small(x)"]);
    p.line(line);
    if depth == 0 {
        return;
    }
    let (i, cond) = (p.fresh("i"), p.pick(&["s > x", "x != 3", "(s & 3) != 1", "w.n0 >= 0", "a[3] < 999"]));
    let next = |p: &mut Part<'_, '_>| inside(p, depth - 1, loops);
    match p.choices.below(8) {
        0 | 1 => p.block(format!("if {cond} {{"), next),
        2 => p.two_blocks(format!("if {cond} {{"), next, "else {", |p| p.line("s += 7")),
        3 if loops > 0 => p.block(format!("for {i} in 0..<2 {{"), |p| inside(p, depth - 1, loops - 1)),
        3 => p.block(format!("for {i} in 0..<1 {{"), next),
        4 => p.two_blocks("try {", next, "catch (e: AppError) {", |p| p.line("s = s * 31 + e.code")),
        5 => p.two_blocks("try {", next, "finally {", |p| p.line("s = s * 3 + w.n1")),
        6 => {
            p.line(format!("var {i} = 0"));
            p.block(format!("while {i} < 1 && {cond} {{"), |p| {
                p.line(format!("{i} += 1"));
                next(p);
            });
        }
        _ => p.block("match x & 3 {", |p| {
            p.line("0 => s += 3");
            p.block("else => {", next);
        }),
    }
    let line = p.pick(&["s += w.n1", "v.n2 ^= s", "s = s * 3 + a[15]", "s -= 1"]);
    p.line(line);
}

/// More ways than are followed to where they meet, one of which leads astray.
fn arms(p: &mut Part<'_, '_>) {
    let (count, k, i) = (between(p, 17, 120), p.fresh("k"), p.fresh("i"));
    p.block(format!("for {i} in 0..<20 {{"), |p| {
        let bad = p.choices.below(count * 2);
        let values: Vec<String> = (0..count)
            .map(|n| {
                if n == bad { format!("{n} => 16") } else { format!("{n} => {}", p.pick(&["x", "3", "15", "s & 15", "a.length - 1", "7"])) }
            })
            .collect();
        p.line(format!("let {k} = match s & 127 {{ {}; else => 0 }}", values.join("; ")));
        p.line(format!("s = s * 31 + (if {k} < a.length {{ a[{k}] }} else {{ fussy({k}) }})"));
        p.block(format!("match s + {i} & 63 {{"), |p| {
            for n in 0..count.min(63) {
                let line = p.pick(&["s += small(x)", "w.n1 += 1", "s ^= v.n2", "a[3] += 1", "s += noted(x)"]);
                p.line(format!("{n} => {line}"));
            }
            p.line("else => s += 1");
        });
        p.line(format!("a[{k} & 15] += 1"));
    });
}

/// An object that need not be, with more fields than are kept apart, and more such objects than are tried.
fn broad(p: &mut Part<'_, '_>) {
    let (b, i) = (p.fresh("b"), p.fresh("i"));
    p.block(format!("for {i} in 0..<5 {{"), |p| {
        p.line(format!("let {b} = Broad(x + {i})"));
        for n in 0..FIELDS / 2 {
            p.line(format!("{b}.m{n} += {b}.m{} + {i}", FIELDS - 1 - n));
        }
        p.line(format!("if {b}.m1 > 9 {{ {b}.m39 = s }}"));
        (0..FIELDS).for_each(|n| p.line(format!("s = s * 3 + {b}.m{n}")));
    });
    let objects = between(p, 20, 40);
    for n in 0..objects {
        p.line(format!("let {b}x{n} = Wide(s & {n})"));
        p.line(format!("{b}x{n}.n2 = x + {n}"));
        if p.choices.chance(20) {
            p.line(format!("if x == 4 {{ s += keep({b}x{n}) }}"));
        }
    }
    (0..objects).for_each(|n| p.line(format!("s = s * 31 + {b}x{n}.n0 + {b}x{n}.n2 + {b}x{n}.n5")));
}

/// One expression of many operands.
fn operands(p: &mut Part<'_, '_>) {
    let mut text = String::from("x");
    for n in 0..between(p, 60, 200) {
        let (op, operand) =
            (p.pick(&["+", "^", "-", "|", "+"]), p.pick(&["x", "w.n0", "a[#]", "small(s)", "v.n3 * #", "noted(x)", "(s & #)"]));
        text += &format!(" {op} {}", operand.replace('#', &(n % 16).to_string()));
    }
    p.line(format!("s = s * 31 + ({text})"));
}

/// One condition of many parts, the last of which decides what follows.
fn conditions(p: &mut Part<'_, '_>) {
    for op in ["&&", "||"] {
        let mut text = String::new();
        for n in 0..between(p, 17, 40) {
            let part = if op == "&&" {
                p.pick(&["x < 5#", "x >= 0", "w.n0 != 1#00", "a.length > x", "s != 7#"])
            } else {
                p.pick(&["x > 7#", "w.n0 == 9#9", "a.length < x", "s == -#", "x < 0"])
            };
            text += &format!("{} {op} ", part.replace('#', &n.to_string()));
        }
        let last = p.pick(&["x < a.length", "x == 3", "x < 4", "a[x] > 2"]);
        p.line(format!("if {text}{last} {{ s = s * 31 + a[x] }} else {{ s += a[x + 9] }}"));
    }
}

/// More calls than come in.
fn calls(p: &mut Part<'_, '_>) {
    let (count, i) = (between(p, 100, 220), p.fresh("i"));
    p.block(format!("for {i} in 0..<3 {{"), |p| {
        for n in 0..count {
            let call = p.pick(&[
                "small(s)",
                "noted(s & #)",
                "chosenOf(s, x, #)",
                "fussy(@ + #)",
                "w.sum()",
                "v.sum()",
                "chosenOf(w.n0, small(#), s)",
            ]);
            p.line(format!("s = s * 31 + {}", call.replace('#', &n.to_string()).replace('@', &i)));
        }
    });
}

/// An array that is larger than what is allocated in line, some of whose items are calls.
fn literal(p: &mut Part<'_, '_>) {
    let (t, count) = (p.fresh("t"), between(p, 1020, 1100));
    let items: Vec<String> = (0..count)
        .map(|n| match p.choices.below(40) {
            0 => format!("noted({n})"),
            1 => "small(s)".into(),
            2 => "w.n0".into(),
            3 => format!("Wide({n}).sum()"),
            _ => n.to_string(),
        })
        .collect();
    p.line(format!("let {t} = [{}]", items.join(", ")));
    p.line(format!("s = s * 31 + {t}[{}] + {t}[x] + {t}.length + {t}[s & 1015]", count - 1));
}

/// Statements of all kinds, many. (Loops are few in such a function: each is compiled with all that follows it where running code is left.)
fn mixed(p: &mut Part<'_, '_>) {
    for n in 0..between(p, 150, 400) {
        let line = p.pick(&[
            "s = s * 31 + w.n1",
            "w.n2 = s & 255",
            "a[s & 15] += #",
            "if s > # { v.n1 += 1 } else { w.n3 ^= s }",
            "s += small(v.n2)",
            "s ^= noted(#)",
            "s = s * 3 + a[(s + #) & 15]",
            "if x == # { return s }",
            "s += [x, s, #][x & 1]",
            "if w === v { s += 3 }",
            "w.f = v.f + 0.25",
            "keptWide = if s > 0 { w } else { null }",
            "try { s += fussy(s & 127) } catch (e#: AppError) { s = s * 31 + e#.code }",
            "s = s * 31 + (keptWide?.n0 ?: #)",
            "let % = Wide(x); %.n1 = s & 63; s += %.sum()",
        ]);
        let name = p.fresh("q");
        for line in line.replace('#', &(n + 7).to_string()).replace('%', &name).split("; ") {
            p.line(line);
        }
    }
}
