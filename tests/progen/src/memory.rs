//! Places in memory that may be one: fields, globals and elements of every kind, read and written in loops, around calls and through two names of one object.
//!
//! Out: functions over two stores (often the same, or sharing arrays), whose loops add up in fields, hold bounds in fields, write bytes that do not fit, walk matrices, and copy parts of arrays onto themselves.

use crate::choices::Choices;
use crate::part::Part;

const CLASSES: &str = "
var total = 0
var ratio = 0.5
var last: Store? = null

class Store(var n: Int, var f: Float, var on: Bool, var text: Str, var ints: Array<Int>, let bytes: Bytes) {
    var floats = [0.5, -0.0, 3.0]
    var flags = [true, false, true, false]
    var rows = [[1, 2], [n], [3, 4, 5]]
    var objects: Array<Object> = [\"abc\", ints, Cell<Int>(n)]
    var next: Store? = null

    fun bump(by: Int): Int {
        n += by
        total += 1
        return n
    }

    fun size(): Int = ints.length

    fun check(): Int {
        var sum = n * 31 + total + f.toInt() + on.toInt() + text.length
        for b in bytes { sum = sum * 31 + b }
        for i in ints { sum = sum * 31 + i }
        return sum
    }
}

fun touch(s: Store) { s.n ^= 21 }

fun look(s: Store): Int = s.n + s.bytes[0]

fun failOn(s: Store, n: Int): Int {
    if n % 7 == 3 { throw AppError(\"touched\", s.n) }
    return n
}
";

const INTS: &[&str] =
    &["s.n", "t.n", "total", "x", "r", "i", "s.ints.length", "t.bytes.length", "s.size()", "1", "-1", "300", "s.text.length", "(r & 3)"];

/// The text of such functions; the last one has this name.
pub fn memory(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(CLASSES);
    let count = part.functions(name, function);
    part.driver(name, |p| {
        p.line("total = 0");
        p.line("last = null");
        p.line("let a = Store(start, 1.5, true, \"abc\", [1, 2, 3, 4, 5, 6], Bytes(9))");
        p.line("let b = Store(5, -0.0, false, \"\", [start, 9], Bytes(3))");
        p.line("let c = Store(2, 2.5, true, \"c${start}\", a.ints, a.bytes)");
        p.line("a.next = b");
        p.some(5, |p| {
            let (number, s, t) = (p.choices.below(count), p.pick(&["a", "a", "b", "c"]), p.pick(&["a", "b", "c"]));
            let x = p.pick(&["start", "0", "3", "start & 7", "Int.MAX", "-1"]);
            p.guarded(&format!("{name}{number}({s}, {t}, {x})"));
        });
        p.line("println(\"${a.check()} ${b.check()} ${c.check()} ${a.floats} ${a.flags} ${b.rows} ${total} ${ratio} ${last?.n}\")");
    });
    part.finish()
}

fn function(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}(s: Store, t: Store, x: Int): Int {{"), |p| {
        p.line("var r = 0");
        p.line("let i = x & 1");
        p.some(5, |p| statement(p, 0, "i"));
        p.line("return r");
    });
}

fn statement(p: &mut Part<'_, '_>, depth: usize, i: &str) {
    match p.choices.below(if depth < 2 { 24 } else { 15 }) {
        0..3 => {
            let (to, op, value) = (p.pick(&["s.n", "t.n", "total", "s.n"]), p.pick(&["+=", "=", "^=", "-="]), int(p, i));
            p.line(format!("{to} {op} {value}"));
        }
        3 | 4 => {
            let value = int(p, i);
            p.line(format!("r = r * 31 + {value}"));
        }
        5 | 6 => {
            let place = element(p, i);
            let (op, value) = (p.pick(&["=", "+="]), int(p, i));
            p.line(format!("{place} {op} {value}"));
        }
        7 | 8 => {
            let place = element(p, i);
            p.line(format!("r += {place}"));
        }
        9 | 22 => other_kind(p, i),
        10 => {
            let call =
                p.pick(&["touch(s)", "touch(t)", "r += s.bump(x)", "r += look(t)", "last = s", "r ^= failOn(t, r)", "r += t.check()"]);
            p.line(call);
        }
        11 => {
            let (cond, leave) = (cond(p, i), p.pick(&["r += 1", "return r", "throw AppError(\"left\", r)", "s.n = r"]));
            p.line(format!("if {cond} {{ {leave} }}"));
        }
        12 | 23 => whole(p),
        13 => {
            let to = p.pick(&["s.ints = t.ints", "t.ints = [r, x, 3]", "s.next = t", "s.text = t.text + \"x\"", "t.rows[0] = s.rows[1]"]);
            p.line(format!("if s.text.length < 40 {{ {to} }}"));
        }
        14 => {
            // Twice in a row.
            let (place, a, b) = (p.pick(&["s.n", "t.n", "total", "s.ints[0]", "t.bytes[1]"]), int(p, i), int(p, i));
            let between = p.pick(&["", "r += s.n", "r += t.ints[0]", "touch(t)", "r ^= failOn(s, r)"]);
            p.line(format!("{place} = {a}"));
            if !between.is_empty() {
                p.line(between);
            }
            p.line(format!("{place} = {b}"));
            p.line(format!("r += {place}"));
        }
        15 => {
            let cond = cond(p, i);
            p.two_blocks(format!("if {cond} {{"), |p| statement(p, depth + 1, i), "else {", |p| statement(p, depth + 1, i));
        }
        16 => p.two_blocks(
            "try {",
            |p| p.some(3, |p| statement(p, depth + 1, i)),
            "catch (e: AppError) {",
            |p| {
                p.line("r += s.n + e.code");
                statement(p, depth + 1, i);
            },
        ),
        17 => {
            p.block("for row in s.rows {", |p| {
                p.block("for e in row {", |p| {
                    p.line("r = r * 3 + e");
                    statement(p, 2, i);
                });
            });
        }
        _ => looped(p, depth),
    }
}

fn looped(p: &mut Part<'_, '_>, depth: usize) {
    let i = p.fresh("i");
    match p.choices.below(5) {
        0..3 => {
            let to = p.pick(&["s.ints.length", "t.ints.length", "s.bytes.length", "s.size()", "6", "(x & 7)"]);
            p.block(format!("for {i} in 0..<{to} {{"), |p| p.some(3, |p| statement(p, depth + 1, &i)));
        }
        3 => {
            // Its bound may change in it.
            p.line(format!("var {i} = 0"));
            let to = p.pick(&["s.n", "s.ints.length", "(t.n & 15)", "s.rows[0].length"]);
            p.block(format!("while {i} < {to} && {i} < 25 {{"), |p| {
                p.some(3, |p| statement(p, depth + 1, &i));
                p.line(format!("{i} += 1"));
            });
        }
        // What stays in it can go to registers.
        _ => {
            let (to, add) = (
                p.pick(&["s.n", "total", "s.ints[0]", "t.n"]),
                p.pick(&["s.ints[{i}]", "{i}", "x", "s.n", "total", "(s.on & t.on).toInt()"]),
            );
            let cond = cond(p, &i);
            p.block(format!("for {i} in 0..<s.ints.length {{"), |p| {
                let line = format!("{to} += {}", add.replace("{i}", &i));
                let may = p.choices.chance(40);
                p.line(if may { format!("if {cond} {{ {line} }}") } else { line });
                if p.choices.chance(40) {
                    p.line(format!("if {cond} {{ break }}"));
                }
                if p.choices.chance(40) {
                    p.line(format!("r ^= {to}"));
                }
            });
        }
    }
}

fn int(p: &mut Part<'_, '_>, i: &str) -> String {
    match p.choices.below(8) {
        0 => i.into(),
        1 => element(p, i),
        _ => p.pick(INTS).into(),
    }
}

/// An element, mostly one that is there.
fn element(p: &mut Part<'_, '_>, i: &str) -> String {
    let array = p.pick(&["s.ints", "t.ints", "s.bytes", "t.bytes", "s.rows[2]", "s.rows[0]"]);
    match p.choices.below(6) {
        0 => format!("{array}[0]"),
        1 => format!("{array}[{i}]"),
        2 => format!("{array}[({i} + 1) % {array}.length]"),
        3 => format!("{array}[(r & 255) % {array}.length]"),
        4 => format!("{array}[{array}.length - 1]"),
        _ => format!("{array}[({} & 255) % {array}.length]", p.pick(&["s.n", "x", "t.n"])),
    }
}

fn other_kind(p: &mut Part<'_, '_>, i: &str) {
    let line = p.pick(&[
        "s.f = t.f * 2.0",
        "ratio += s.f",
        "s.floats[@ % 3] += s.f",
        "s.f = s.floats[@ % 3]",
        "s.on = !t.on",
        "s.flags[@ & 3] = t.on",
        "t.on = s.flags[@ & 3] ^ s.on",
        "if s.on != t.flags[1] { r += 1 }",
        "s.objects[@ % 3] = t.text",
        "r += \"${s.objects[@ % 3]}\".length",
        "if s.objects[@ % 3] is Array<Int> { r += 5 }",
        "let next# = s.next; if next# != null { r += next#.n; next#.n = r }",
        "last = s.next ?: t",
        "r += (last ?: s).n",
    ]);
    let name = p.fresh("");
    p.line(line.replace('@', &format!("({i} & 255)")).replace('#', &name));
}

/// Of whole arrays.
fn whole(p: &mut Part<'_, '_>) {
    let line = p.pick(&[
        "s.ints.copyInto(t.ints, 0, 0, 2)",
        "s.ints.copyInto(s.ints, 1, 0, s.ints.length - 1)",
        "s.bytes.copyInto(t.bytes, 0, 1, 3)",
        "s.ints.fill(r)",
        "t.ints = s.ints.slice(0, 2)",
        "t.ints = s.ints.copy()",
        "s.ints.sort((a, b) => a.compareTo(b))",
        "r += s.ints.indexOf(t.ints[0])",
        "s.flags.fill(t.on)",
        "s.objects.copyInto(t.objects, 1, 0, 2)",
    ]);
    p.line(line);
}

fn cond(p: &mut Part<'_, '_>, i: &str) -> String {
    match p.choices.below(4) {
        0 => p.pick(&["s === t", "s.on", "s.ints === t.ints", "s.next != null", "last === s"]).into(),
        _ => format!("{} {} {}", int(p, i), p.pick(&["<", ">", "==", "!="]), int(p, i)),
    }
}
