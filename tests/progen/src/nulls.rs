//! References that may be null, checked at one place and used at others: under several names, in another order, behind choices, class tests and writes.
//!
//! Out: functions over objects and arrays of which any may be null, called with all kinds of them; where an error comes from is printed, so that it counts which check fails first.

use crate::choices::Choices;
use crate::part::Part;

const CLASSES: &str = "
class Knot(var n: Int, var f: Float) {
    var next: Knot? = null
    var items: Array<Int>? = null

    fun sum(): Int = n + f.toInt()
}

class Tied(n: Int, let extra: Int) : Knot(n, 0.5) {
    var other: Tied? = null
}

fun failedAt(e: Error): Int {
    println(e.stackTrace())
    return 7
}
";

/// What may be null.
const LINKS: &[&str] = &["a", "b", "c", "a?.next", "b?.next", "(a ?: b)", "(c as? Tied)"];
const ARRAYS: &[&str] = &["t", "u", "a?.items", "(t ?: u)"];

/// What is known not to be null so far.
#[derive(Clone, Default)]
struct Known {
    links: Vec<String>,
    arrays: Vec<String>,
}

/// The text of such functions; the last one has this name.
pub fn nulls(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(CLASSES);
    let count = part.functions(name, function);
    part.driver(name, |p| {
        p.line("let x = Knot(start & 63, 2.5)");
        p.line("let y = Tied(5, start)");
        p.line("x.next = y");
        p.line("x.items = [start, 2]");
        p.line("y.other = Tied(3, 4)");
        p.block("for i in 0..<32 {", |p| {
            p.line("let a = if (i & 1) == 0 { x } else { maybe<Knot>(null) }");
            p.line("let b = if (i & 2) == 0 { y } else { maybe<Knot>(null) }");
            p.line("let c = if (i & 4) == 0 { y } else { maybe<Knot>(null) }");
            p.line("let t = if (i & 8) == 0 { [1, 2, i] } else { maybe<Array<Int>>(null) }");
            p.line("let u = if (i & 16) == 0 { [4, i] } else { maybe<Array<Int>>(null) }");
            p.some(3, |p| {
                let number = p.choices.below(count);
                p.two_blocks(
                    "try {",
                    |p| p.line(format!("sum = sum * 31 + {name}{number}(a, b, c, t, u, i)")),
                    "catch (e: Error) {",
                    |p| p.line("sum = sum * 31 + failedAt(e)"),
                );
            });
        });
        p.line("sum = sum * 31 + x.n + y.n");
    });
    part.finish()
}

fn function(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}(a: Knot?, b: Knot?, c: Knot?, t: Array<Int>?, u: Array<Int>?, x: Int): Int {{"), |p| {
        p.line("var s = x");
        let mut known = Known::default();
        if p.choices.chance(40) {
            chosen_twice(p, &mut known, 0);
        } else {
            // Most are checked first, and used later.
            for _ in 0..1 + p.choices.below(4) {
                check(p, &mut known);
            }
        }
        for _ in 0..2 + p.choices.below(7) {
            statement(p, &mut known, 0);
        }
        p.line("return s");
    });
}

fn check(p: &mut Part<'_, '_>, known: &mut Known) {
    if p.choices.chance(30) {
        let (name, array) = (p.fresh("d"), p.pick(ARRAYS));
        p.line(format!("let {name} = {array}!!"));
        return known.arrays.push(name);
    }
    let (name, link) = (p.fresh("l"), p.pick(LINKS));
    p.line(format!("let {name} = {link}!!"));
    known.links.push(name);
}

/// One of those that are known.
fn one(p: &mut Part<'_, '_>, of: &[String]) -> Option<String> {
    // The last ones have been used least.
    let from = if p.choices.chance(60) { of.len().saturating_sub(2) } else { 0 };
    (!of.is_empty()).then(|| of[from + p.choices.below(of.len() - from)].clone())
}

fn link(p: &mut Part<'_, '_>, known: &Known) -> String {
    one(p, &known.links).filter(|_| p.choices.chance(90)).unwrap_or_else(|| format!("{}!!", p.pick(LINKS)))
}

fn array(p: &mut Part<'_, '_>, known: &Known) -> String {
    one(p, &known.arrays).filter(|_| p.choices.chance(90)).unwrap_or_else(|| format!("{}!!", p.pick(ARRAYS)))
}

fn cond(p: &mut Part<'_, '_>, known: &Known) -> String {
    match p.choices.below(8) {
        0 => format!("{} === {}", link(p, known), p.pick(&["a", "b", "c"])),
        1 => format!("{} is Tied", link(p, known)),
        2 => format!("{} != null", p.pick(&["a", "b", "c", "t", "u"])),
        3 => format!("{}.n > s", link(p, known)),
        _ => p.pick(&["(x & 1) == 0", "x < 9", "s > x", "(s & 3) != 1", "x == 5"]).into(),
    }
}

fn value(p: &mut Part<'_, '_>, known: &Known) -> String {
    match p.choices.below(10) {
        0..4 => format!("{}.n", link(p, known)),
        4 => format!("{}.f.toInt()", link(p, known)),
        5 => format!("{}.sum()", link(p, known)),
        6 => format!("{}.length", array(p, known)),
        7 => format!("{}[0]", array(p, known)),
        8 => format!("({}.next?.n ?: 3)", link(p, known)),
        _ => p.pick(&["x", "s", "1", "-3", "(maybe<Knot>(a)?.n ?: 11)", "(maybe<Array<Int>>(t)?.length ?: 12)"]).into(),
    }
}

fn statement(p: &mut Part<'_, '_>, known: &mut Known, depth: usize) {
    match p.choices.below(if depth < 2 { 16 } else { 11 }) {
        0..4 => {
            let value = value(p, known);
            p.line(format!("s = s * 31 + {value}"));
        }
        4 => {
            let (a, b) = (value(p, known), value(p, known));
            p.line(format!("s ^= {a} + {b}"));
        }
        5 | 6 => {
            if p.choices.chance(30) {
                return chosen_twice(p, known, depth);
            }
            // One of two, by another name: read before these are, perhaps.
            if p.choices.chance(50) {
                check(p, known);
                check(p, known);
            }
            let (name, cond) = (p.fresh("l"), cond(p, known));
            let (one, other) = (link(p, known), link(p, known));
            p.line(format!("let {name} = if {cond} {{ {one} }} else {{ {other} }}"));
            if p.choices.chance(50) {
                p.line(format!("s = s * 31 + {name}.n + {other}.n * 3 - {one}.n"));
            }
            known.links.push(name);
        }
        7 => {
            let (name, cond) = (p.fresh("d"), cond(p, known));
            let (one, other) = (array(p, known), array(p, known));
            p.line(format!("let {name} = if {cond} {{ {one} }} else {{ {other} }}"));
            known.arrays.push(name);
        }
        8 => check(p, known),
        9 => {
            let (to, value) = (link(p, known), value(p, known));
            p.line(format!("{to}.n = ({value}) & 255"));
        }
        10 => {
            let (to, value) = (array(p, known), value(p, known));
            p.line(format!("{to}[0] = {value}"));
        }
        11 => {
            let (cond, leave) = (cond(p, known), p.pick(&["s += 1", "return s", "throw AppError(\"left\", s)"]));
            p.line(format!("if {cond} {{ {leave} }}"));
        }
        12 => {
            let (cond, mut then, mut els) = (cond(p, known), known.clone(), known.clone());
            p.two_blocks(
                format!("if {cond} {{"),
                |p| p.some(3, |p| statement(p, &mut then, depth + 1)),
                "else {",
                |p| p.some(2, |p| statement(p, &mut els, depth + 1)),
            );
        }
        13 => {
            let (i, mut inner) = (p.fresh("i"), known.clone());
            p.block(format!("for {i} in 0..3 {{"), |p| p.some(3, |p| statement(p, &mut inner, depth + 1)));
        }
        14 => {
            let mut inner = known.clone();
            p.two_blocks(
                "try {",
                |p| p.some(3, |p| statement(p, &mut inner, depth + 1)),
                "catch (e: NullError) {",
                |p| p.line("s = s * 31 + failedAt(e)"),
            );
        }
        _ => {
            let (name, mut inner) = (p.fresh("v"), known.clone());
            let of = link(p, known);
            p.line(format!("let {name} = {of}"));
            p.block(format!("if {name} is Tied {{"), |p| {
                p.line(format!("s += {name}.extra + {name}.other!!.n"));
                inner.links.push(name);
                p.some(2, |p| statement(p, &mut inner, depth + 1));
            });
        }
    }
}

/// The same choice of what is not checked and, later, perhaps only in some rounds of a loop, of what is.
fn chosen_twice(p: &mut Part<'_, '_>, known: &mut Known, depth: usize) {
    let (which, any, cond) = (p.fresh("k"), p.fresh("l"), cond(p, known));
    p.line(format!("let {which} = {cond}"));
    p.line(format!("let {any} = if {which} {{ a }} else {{ b }}"));
    let both = |p: &mut Part<'_, '_>, known: &mut Known| {
        let (one, other, chosen) = (p.fresh("l"), p.fresh("l"), p.fresh("l"));
        p.line(format!("let {one} = a!!"));
        p.line(format!("let {other} = b!!"));
        p.line(format!("let {chosen} = if {which} {{ {one} }} else {{ {other} }}"));
        p.line(format!("s = s * 31 + {chosen}.n"));
        known.links.extend([one, other, chosen]);
    };
    if depth < 2 && p.choices.chance(60) {
        let (i, mut inner, from) = (p.fresh("i"), known.clone(), p.pick(&["1", "2", "5", "(x & 7)"]));
        p.block(format!("for {i} in 0..4 {{"), |p| {
            p.block(format!("if {i} >= {from} {{"), |p| {
                both(p, &mut inner);
                p.some(2, |p| statement(p, &mut inner, depth + 2));
            });
        });
    } else {
        both(p, known);
    }
    p.line(format!("s += ({any} == null).toInt()"));
}
