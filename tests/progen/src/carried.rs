//! What loops carry from round to round in memory: references, floats and truth values in one place, arrays of every kind that need not be, last round's object beside the new one, objects that others know before they are finished.
//!
//! Out: functions over such places whose loops end in every way (a condition, `break`, `return`, an error, `continue` through `finally`), hold locks, and call what reads the same places.

use crate::choices::Choices;
use crate::part::Part;

const CLASSES: &str = "
var held: Bead? = null
var level = 0.5
var raised = false
let carriedLock = Mutex()
let atomicCount = AtomicInt(0)
let known = List<Bead>()

class Bead(var n: Int, var f: Float, var on: Bool) {
    var next: Bead? = null

    fun bump(): Int {
        n += 1
        return n
    }
}

/// Others know it before it is finished.
class Leaky(n: Int) : Bead(n, 1.5, true) {
    var early: Int = leak(this)
    var late: Int = n * 3 + early
}

fun leak(l: Bead): Int {
    held = l
    return l.n + l.f.toInt()
}

fun peek(): Int = (held?.n ?: 5) + (held?.next?.n ?: 7) + level.toInt() + raised.toInt()

fun lastKnown(): Int = if known.size() > 0 { known[known.size() - 1].n } else { 13 }

fun ticked(l: Bead, most: Int): Int {
    if l.bump() > most { throw AppError(\"ticked\", l.n) }
    return l.n
}

fun string(l: Bead?): Int {
    var sum = 0
    var at = l
    for i in 0..<6 {
        if at == null { break }
        sum = sum * 31 + at.n + at.f.toInt() + at.on.toInt()
        at = at.next
    }
    return sum
}
";

const INTS: &[&str] =
    &["s", "x", "i", "a.n", "b.n", "peek()", "lastKnown()", "string(a)", "a.f.toInt()", "level.toInt()", "a.on.toInt()", "3", "-1"];
const BEADS: &[&str] = &["a", "b", "o", "(o.next ?: a)", "(held ?: b)"];
const CONDS: &[&str] =
    &["(i & 1) == 0", "i == 3", "s > x", "a.on", "raised", "o === a", "a.f > b.f", "held != null", "null == a.next", "o.n > 4", "x < 2"];

/// The text of such functions; the last one has this name.
pub fn carried(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(CLASSES);
    let count = part.functions(name, function);
    part.driver(name, |p| {
        p.some(5, |p| {
            p.line("held = null");
            p.line("known.clear()");
            let (number, x) = (p.choices.below(count), p.pick(&["start", "0", "3", "start & 7", "6", "-1"]));
            let a = p.fresh("a");
            p.line(format!("let {a} = Bead(start & 15, 2.5, true)"));
            let b = if p.choices.chance(30) { a.clone() } else { "Bead(2, 0.25, false)".into() };
            p.guarded(&format!("{name}{number}({a}, {b}, {x})"));
            p.line(format!("sum = sum * 31 + string({a}) + peek()"));
        });
    });
    part.finish()
}

fn function(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}(a: Bead, b: Bead, x: Int): Int {{"), |p| {
        p.line("var s = 1");
        p.line("let i = x & 3");
        p.line("var o = a");
        p.some(4, |p| statement(p, 0, "i"));
        p.line("return s * 31 + string(o)");
    });
}

fn statement(p: &mut Part<'_, '_>, depth: usize, i: &str) {
    match p.choices.below(if depth < 2 { 20 } else { 9 }) {
        0..3 => place(p, i),
        3 | 4 => {
            let value = int(p, i);
            p.line(format!("s = s * 31 + {value}"));
        }
        5 => {
            let line = p.pick(&["o = a", "o = b", "o = Bead(s & 7, level, !a.on)", "o = o.next ?: b", "o = Leaky(x & 7)"]);
            p.line(line);
        }
        6 => {
            let (cond, leave) = (cond(p, i), p.pick(&["s += 1", "return s", "throw AppError(\"left\", s)", "held = o", "o.next = null"]));
            p.line(format!("if {cond} {{ {leave} }}"));
        }
        7 => published(p, i),
        8 => {
            let line = p.pick(&["s += a.bump()", "s ^= ticked(b, 40)", "s += leak(o)", "s += peek()"]);
            p.line(line);
        }
        9 => {
            let cond = cond(p, i);
            p.two_blocks(format!("if {cond} {{"), |p| statement(p, depth + 1, i), "else {", |p| statement(p, depth + 1, i));
        }
        10 | 11 => arrays(p, i),
        12 => endless(p, i),
        15 | 16 => one_element(p, i),
        13 => through_finally(p, depth, i),
        14 => p.block("lock carriedLock {", |p| p.some(3, |p| statement(p, depth + 1, i))),
        _ => {
            let (j, to) = (p.fresh("j"), p.pick(&["5", "(x & 7)", "3"]));
            p.block(format!("for {j} in 0..<{to} {{"), |p| {
                p.some(4, |p| statement(p, depth + 1, &j));
                if p.choices.chance(30) {
                    let cond = cond(p, &j);
                    p.line(format!("if {cond} {{ break }}"));
                }
            });
        }
    }
}

/// One place is written, perhaps in some rounds only; of every kind, null and new objects included.
fn place(p: &mut Part<'_, '_>, i: &str) {
    let line = p.pick(&[
        "a.next = o",
        "a.next = null",
        "a.next = Bead(@, 0.5, false)",
        "held = o",
        "held = if @ > 2 { o } else { null }",
        "a.f += 1.25",
        "level = a.f * 0.5",
        "a.f = level + b.f",
        "a.on = !a.on",
        "raised = a.on ^ b.on",
        "b.on = @ > 2",
        "a.n += @",
        "b.n += s & 63",
        "o.next = a",
        "o.f -= 0.75",
        "atomicCount.add(@ & 3)",
        "s += atomicCount.get()",
    ]);
    let line = line.replace('@', i);
    if p.choices.chance(30) {
        let cond = cond(p, i);
        return p.line(format!("if {cond} {{ {line} }}"));
    }
    p.line(line);
}

/// A new object is known to others, and written to after.
fn published(p: &mut Part<'_, '_>, i: &str) {
    let (new, made) = (p.fresh("l"), p.pick(&["Bead(s & 7, 0.5, true)", "Leaky(x & 3)"]));
    p.line(format!("let {new} = {made}"));
    let to = p.pick(&["if known.size() < 9 { known.add(@) }", "held = @", "@.next = o", "o = @", "a.next = @"]);
    p.line(to.replace('@', &new));
    let (value, between) = (int(p, i), p.pick(&["s += lastKnown()", "s += peek()", "s ^= ticked(b, 60)", "s += string(a)"]));
    p.line(between);
    p.line(format!("{new}.n = {value} & 255"));
    p.line(format!("s = s * 31 + lastKnown() + peek() + {new}.n"));
}

/// Arrays that need not be, of every kind of element, one of two of equal or unequal length.
fn arrays(p: &mut Part<'_, '_>, i: &str) {
    let (t, u) = (p.fresh("t"), p.fresh("t"));
    let cond = cond(p, i);
    match p.choices.below(6) {
        0 => {
            p.line(format!("let {t} = [level, a.f, 0.5]"));
            p.line(format!("let {u} = if {cond} {{ {t} }} else {{ [b.f, 1.5, -0.0] }}"));
            p.line(format!("{u}[1] = {t}[0] + 0.25"));
            p.line(format!("s += ({u}[1] + {t}[1] + {u}[2]).toInt()"));
        }
        1 => {
            p.line(format!("let {t} = [a.on, raised, {cond}]"));
            p.line(format!("{t}[{i} & 1] = !{t}[2]"));
            p.line(format!("if {t}[0] != {t}[1] {{ s += 3 }}"));
        }
        2 => {
            p.line(format!("let {t} = [a, b, o]"));
            p.line(format!("{t}[({i} & 255) % 3] = if {cond} {{ {t}[2] }} else {{ Bead(s & 3, 0.5, true) }}"));
            p.line(format!("s = s * 31 + {t}[0].n + string({t}[1])"));
        }
        3 => {
            p.line(format!("let {t} = [[s, 1], [x, 2, 3]]"));
            p.line(format!("let {u} = if {cond} {{ {t}[0] }} else {{ {t}[1] }}"));
            p.line(format!("{u}[1] += {i}"));
            p.line(format!("s = s * 31 + {t}[0][1] + {u}.length"));
        }
        4 => of_one_length(p),
        _ => {
            p.line(format!("let {t} = Array<Bead?>(4, null)"));
            p.line(format!("{t}[{i} & 3] = o"));
            p.line(format!("if {cond} {{ {t}[1] = a }}"));
            p.line(format!("s += ({t}[1]?.n ?: 9) + ({t}[{i} & 3]?.bump() ?: 4)"));
        }
    }
}

/// Two arrays of one length, and an index of one used on the other.
fn of_one_length(p: &mut Part<'_, '_>) {
    let (t, u, j, n) = (p.fresh("t"), p.fresh("t"), p.fresh("j"), p.fresh("n"));
    let length = p.pick(&["5", "(x & 7) + 1", "(s & 3) + 1"]);
    p.line(format!("let {n} = {length}"));
    p.line(format!("let {t} = Array<Int>({n}, 1)"));
    p.line(format!("let {u} = Array<Int>({n}, s & 7)"));
    let index = p.pick(&[
        "@",
        "@ % #.length",
        "min<Int>(@, #.length - 1)",
        "(if @ < 2 { @ } else { 0 })",
        "(if @ > 1 { #.length - 1 } else { @ })",
    ]);
    let index = index.replace('@', &j).replace('#', &t);
    p.block(format!("for {j} in 0..<{n} {{"), |p| {
        p.line(format!("{t}[{index}] += {u}[{j}]"));
        p.line(format!("s = s * 31 + {u}[{index}]"));
        if p.choices.chance(40) {
            p.line(format!("{u}[{j}] = {t}[{j}] & 15"));
        }
    });
}

/// An element that is written in every round, behind a branch, and read in some: of an array that another name may mean too.
fn one_element(p: &mut Part<'_, '_>, i: &str) {
    let (t, u, j) = (p.fresh("t"), p.fresh("t"), p.fresh("j"));
    let (of, made, next, seen) = *p.choices.pick(&[
        ("Int", "Array<Int>(4, s)", "@ * 3 + #", "@"),
        ("Float", "[0.5, level, 2.0, a.f]", "@ * 0.5 + #.toFloat()", "@.toInt()"),
        ("Bool", "[true, a.on, false, true]", "@ != (# > 1)", "@.toInt()"),
        ("Bead", "[a, b, o, Bead(3, 0.5, true)]", "if # > 2 { a } else { Bead(#, 1.5, false) }", "@.n"),
    ]);
    let k = p.fresh("k");
    let (at, other) = (p.pick(&["2", "(x & 3)", "(s & 1)"]), p.pick(&["@", "@", "2", "(x & 1)"]).replace('@', &k));
    p.line(format!("let {k} = {at}"));
    p.line(format!("let {t}: Array<{of}> = {made}"));
    let alias = match p.choices.below(4) {
        0 => t.clone(),
        way => format!("if {} {{ {t} }} else {{ {made} }}", ["s > x", "x != 17", "x != 18"][way - 1]),
    };
    p.line(format!("let {u} = {alias}"));
    let element = format!("{t}[{k}]");
    let read = |of: &str| seen.replace('@', of);
    p.line(format!("s += {} + {}", read(&element), read(&format!("{u}[{other}]"))));
    let rounds = p.pick(&["5", "(x & 7) + 2", "(x & 3)", "(s & 3) + 1"]);
    p.block(format!("for {j} in 0..<{rounds} {{"), |p| {
        let branch = p.pick(&["s > x", "(# & 1) == 0", "(s & 4) == 0", "# > 2"]).replace('#', &j);
        p.line(format!("if {branch} {{ s += 3 }} else {{ s ^= {i} }}"));
        if p.choices.chance(70) {
            p.line(format!("s = s * 31 + {}", read(&format!("{u}[{other}]"))));
        }
        p.line(format!("{element} = {}", next.replace('@', &element).replace('#', &j)));
        if p.choices.chance(40) {
            let leave = p.pick(&["break", "continue", "return s"]);
            p.line(format!("if (s & 3) == 1 {{ {leave} }}"));
        }
        if p.choices.chance(50) {
            p.line(format!("s = s * 31 + {}", read(&element)));
        }
    });
    p.line(format!("s = s * 31 + {} + {}", read(&element), read(&format!("{u}[{other}]"))));
}

/// Left by an error, or from within. The error comes: no place makes the number smaller that `ticked` counts up.
fn endless(p: &mut Part<'_, '_>, i: &str) {
    let most = p.pick(&["20", "(x & 15) + 1", "3"]);
    let way = p.choices.below(3);
    p.two_blocks(
        "try {",
        |p| {
            p.block("while true {", |p| {
                place(p, i);
                if way == 1 {
                    let cond = cond(p, i);
                    p.line(format!("if {cond} {{ break }}"));
                }
                place(p, i);
                p.line(format!("s += ticked(a, {most})"));
            });
        },
        "catch (e: AppError) {",
        |p| p.line("s = s * 31 + e.code + string(a) + peek()"),
    );
    if p.choices.chance(50) {
        place(p, i);
    }
}

/// A loop whose `finally` is entered in every way, and has a loop of its own.
fn through_finally(p: &mut Part<'_, '_>, depth: usize, i: &str) {
    let (j, k) = (p.fresh("j"), p.fresh("k"));
    p.block(format!("for {j} in 0..<5 {{"), |p| {
        p.two_blocks(
            "try {",
            |p| {
                statement(p, depth + 2, &j);
                for leave in ["continue", "break", "return s", "s ^= ticked(b, 30)"] {
                    if p.choices.chance(35) {
                        let cond = cond(p, &j);
                        p.line(format!("if {cond} {{ {leave} }}"));
                    }
                }
                statement(p, depth + 2, &j);
            },
            "finally {",
            |p| {
                place(p, &j);
                p.block(format!("for {k} in 0..<({i} & 3) {{"), |p| place(p, &k));
            },
        );
    });
}

fn int(p: &mut Part<'_, '_>, i: &str) -> String {
    let value = p.pick(INTS);
    if value == "i" { i.into() } else { value.into() }
}

fn cond(p: &mut Part<'_, '_>, i: &str) -> String {
    let cond = p.pick(CONDS);
    match p.choices.below(8) {
        0 => format!("{} === {}", p.pick(BEADS), p.pick(BEADS)),
        _ => cond.replace("(i &", &format!("({i} &")).replace("i ==", &format!("{i} ==")),
    }
}
