//! Many ways: `match` with many arms, chains of comparisons with constants, automata in loops, and conditions of which one decides the next.
//!
//! Out: functions of a number, a text and a boxed number, called with numbers in and around what the arms name.

use crate::choices::Choices;
use crate::part::Part;

const LIMITS: &str = "
let LOW = -40
let HIGH = 400

object Limit { let FAR = 1000 }
";
const COMPARES: &[&str] = &["<", "<=", ">", ">=", "==", "!="];

/// The text of such functions; the last one has this name.
pub fn choosing(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(LIMITS);
    let count = part.functions(name, function);
    part.driver(name, |p| {
        p.some(3, |p| {
            let number = p.choices.below(count);
            let (text, k) = (p.pick(&["\"a\"", "\"abc\"", "\"\"", "\"b${x}\""]), p.pick(&["null", "x", "3", "maybe<Int>(start)"]));
            p.block("for x in -3..12 {", |p| p.guarded(&format!("{name}{number}(x, {text}, {k})")));
            p.block("for x in [start, 100, 999, 1000, 1001, Int.MAX, Int.MIN] {", |p| {
                p.guarded(&format!("{name}{number}(x, {text}, {k})"));
            });
        });
    });
    part.finish()
}

fn function(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}(x: Int, text: Str, k: Int?): Int {{"), |p| {
        p.line("var s = 0");
        p.line("var y = x & 7");
        p.some(5, |p| statement(p, 0));
        p.line("return s * 31 + y");
    });
}

fn statement(p: &mut Part<'_, '_>, depth: usize) {
    match p.choices.below(if depth < 3 { 16 } else { 5 }) {
        0 | 1 => {
            let value = value(p);
            p.line(format!("s = s * 31 + {value}"));
        }
        2 => {
            let value = value(p);
            p.line(format!("y = {value}"));
        }
        3 => {
            let (cond, value) = (cond(p), value(p));
            p.line(format!("if {cond} {{ return s + {value} }}"));
        }
        4 => {
            let cond = cond(p);
            p.line(format!("if {cond} {{ throw AppError(\"arm\", s) }}"));
        }
        5..8 => arms(p, depth),
        8 => {
            let head = chosen(p);
            p.line(format!("y = {head}"));
        }
        9 => chain(p, depth),
        10 | 11 => {
            let (cond, with_else) = (cond(p), p.choices.chance(70));
            if with_else {
                p.two_blocks(
                    format!("if {cond} {{"),
                    |p| p.some(2, |p| statement(p, depth + 1)),
                    "else {",
                    |p| p.some(2, |p| statement(p, depth + 1)),
                );
            } else {
                p.block(format!("if {cond} {{"), |p| p.some(2, |p| statement(p, depth + 1)));
            }
        }
        12 => {
            let (a, b) = (value(p), value(p));
            p.block("match text {", |p| {
                p.line(format!("\"a\", \"abc\" => s += {a}"));
                p.line(format!("\"\" => s ^= {b}"));
                p.line("else => s += text.length");
            });
        }
        13 => {
            let (a, b) = (value(p), value(p));
            p.block("match maybe<Int>(k) {", |p| {
                p.line(format!("null => s += {a}"));
                p.line(format!("3, 4 => s ^= {b}"));
                p.line("else => s -= 1");
            });
        }
        _ => automaton(p, depth),
    }
}

/// Constants that do not meet, most of them one after the other.
fn patterns(p: &mut Part<'_, '_>) -> Vec<String> {
    let mut next = p.choices.below(4) as i64 - 3;
    let sparse = p.choices.chance(20);
    let mut patterns = Vec::new();
    for _ in 0..2 + p.choices.below(7) {
        let (from, width) = (next, p.choices.below(3) as i64);
        next += if sparse { 37 } else { 1 + width };
        patterns.push(match p.choices.below(5) {
            0 => format!("{from}..{}", from + width),
            1 => format!("{from}..<{}", from + width.max(1)),
            2 if width > 0 => format!("{from}, {}", from + width),
            _ => from.to_string(),
        });
        next += i64::from(p.choices.chance(15));
    }
    if p.choices.chance(30) {
        patterns.reverse();
    }
    if p.choices.chance(15) {
        patterns.push(p.pick(&["LOW", "HIGH", "Limit.FAR", "LOW..HIGH"]).into());
    }
    patterns
}

fn arms(p: &mut Part<'_, '_>, depth: usize) {
    let (of, patterns) = (value(p), patterns(p));
    p.block(format!("match {of} {{"), |p| {
        for pattern in patterns {
            if p.choices.chance(60) {
                let (to, value) = (p.pick(&["s +=", "s ^=", "y =", "s ="]), value(p));
                p.line(format!("{pattern} => {to} {value}"));
            } else {
                p.block(format!("{pattern} => {{"), |p| p.some(2, |p| statement(p, depth + 1)));
            }
        }
        if p.choices.chance(60) {
            p.block("else => {", |p| statement(p, depth + 1));
        }
    });
}

/// A `match` as a value.
fn chosen(p: &mut Part<'_, '_>) -> String {
    let (of, patterns) = (value(p), patterns(p));
    let arms: Vec<String> = patterns.iter().map(|pattern| format!("{pattern} => {}", value(p))).collect();
    format!("match {of} {{ {}; else => {} }}", arms.join("; "), value(p))
}

/// Comparisons of one value with one constant after the other.
fn chain(p: &mut Part<'_, '_>, depth: usize) {
    let (of, first) = (p.pick(&["x", "y", "(x & 15)"]), p.choices.below(5));
    let count = 3 + p.choices.below(4);
    let op = if p.choices.chance(75) { "==" } else { p.pick(COMPARES) };
    let mut text = String::new();
    for i in 0..count {
        let (cond, value) = (format!("{of} {op} {}", first + i), value(p));
        let to = p.pick(&["s +=", "y =", "s ^="]);
        text += &format!("{}if {cond} {{ {to} {value} }}", if i == 0 { "" } else { " else " });
    }
    p.line(text);
    if p.choices.chance(40) {
        statement(p, depth + 1);
    }
}

fn automaton(p: &mut Part<'_, '_>, depth: usize) {
    let (state, i) = (p.fresh("state"), p.fresh("i"));
    let start = value(p);
    p.line(format!("var {state} = {start} & 3"));
    p.block(format!("for {i} in 0..<12 {{"), |p| {
        p.block(format!("match {state} {{"), |p| {
            for n in 0..4 {
                p.block(format!("{n} => {{"), |p| {
                    if p.choices.chance(50) {
                        statement(p, depth + 2);
                    }
                    let (cond, a, b) = (cond(p), p.choices.below(5), p.choices.below(4));
                    match p.choices.below(4) {
                        0 => p.line(format!("{state} = {a}")),
                        1 => p.line(format!("if {cond} {{ {state} = {a}; continue }}")),
                        2 => p.line(format!("if {cond} {{ break }}")),
                        _ => p.line(format!("{state} = if {cond} {{ {a} }} else {{ {b} }}")),
                    }
                });
            }
            let how = p.pick(&["break", "s += 1"]);
            p.line(format!("else => {how}"));
        });
        p.line(format!("s = s * 3 + {state} + {i}"));
    });
}

fn value(p: &mut Part<'_, '_>) -> &'static str {
    p.pick(&[
        "x",
        "y",
        "x",
        "y",
        "(x & 7)",
        "(y + 1)",
        "s",
        "(s & 3)",
        "(x - 3)",
        "0",
        "1",
        "5",
        "-1",
        "100",
        "(k ?: 2)",
        "text.length",
        "(x >>> 60)",
    ])
}

fn cond(p: &mut Part<'_, '_>) -> String {
    match p.choices.below(6) {
        0 => {
            let of = p.pick(&["x", "y"]);
            format!("{of} {} {} && {of} {} {}", p.pick(COMPARES), p.choices.below(8), p.pick(COMPARES), p.choices.below(8))
        }
        1 => format!("x {} {} || y {} {}", p.pick(COMPARES), p.choices.below(8), p.pick(COMPARES), p.choices.below(8)),
        2 => p.pick(&["k == null", "k != null && k > 2", "text == \"a\"", "x == y", "x > y", "k == x"]).into(),
        _ => format!("{} {} {}", p.pick(&["x", "y", "(s & 7)"]), p.pick(COMPARES), p.choices.below(9)),
    }
}
