//! Arithmetic on integers and truth values that can be simplified: constants that meet, what undoes itself, ranges that decide comparisons, divisions and shifts at their limits.
//!
//! Out: functions of two numbers and a truth value, called with the limits of `Int` and numbers near them.

use crate::choices::Choices;
use crate::part::{EDGES, Part};

const COMPARES: &[&str] = &["<", "<=", ">", ">=", "==", "!="];
const SHIFTS: &[&str] = &["<<", ">>", ">>>"];
const COUNTS: &[&str] = &["0", "1", "3", "31", "32", "62", "63", "64", "65", "-1", "y"];
const MASKS: &[&str] = &["1", "7", "255", "-8", "Int.MAX", "Int.MIN", "4294967295", "-1", "0"];
const DIVISORS: &[&str] =
    &["1", "-1", "2", "-2", "3", "-7", "8", "64", "10", "1000000007", "Int.MIN", "Int.MAX", "4611686018427387904", "(y | 1)", "y"];

/// The text of such functions; the last one has this name.
pub fn ints(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    let count = part.functions(name, function);
    part.driver(name, |p| {
        p.some(3, |p| {
            let number = p.choices.below(count);
            let (mut xs, mut ys) = (Vec::new(), Vec::new());
            (0..5).for_each(|_| xs.push(p.pick(EDGES)));
            (0..3).for_each(|_| ys.push(p.pick(EDGES)));
            p.block(format!("for x in [start, {}] {{", xs.join(", ")), |p| {
                p.block(format!("for y in [{}] {{", ys.join(", ")), |p| p.guarded(&format!("{name}{number}(x, y, x < y)")));
            });
        });
        // With what is known when it is compiled.
        let (number, x, y) = (p.choices.below(count), p.pick(EDGES), p.pick(EDGES));
        p.guarded(&format!("{name}{number}({x}, {y}, true)"));
    });
    part.finish()
}

fn function(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}(x: Int, y: Int, on: Bool): Int {{"), |p| {
        let value = int(p, 2);
        p.line(format!("var s = {value}"));
        p.some(5, |p| statement(p));
        p.line("return s");
    });
}

fn statement(p: &mut Part<'_, '_>) {
    match p.choices.below(8) {
        0..3 => {
            let value = int(p, 3);
            p.line(format!("s = s * 31 + {value}"));
        }
        3 => {
            let value = int(p, 2);
            p.line(format!("s ^= {value}"));
        }
        4 => {
            let (cond, a, b) = (bool(p, 2), int(p, 2), int(p, 2));
            p.line(format!("s += if {cond} {{ {a} }} else {{ {b} }}"));
        }
        5 => {
            let (cond, inner) = (bool(p, 2), bool(p, 2));
            p.two_blocks(
                format!("if {cond} {{"),
                |p| p.line(format!("if {inner} {{ s += 1 }} else {{ s = -s }}")),
                "else {",
                |p| {
                    let value = int(p, 2);
                    p.line(format!("s -= {value}"));
                },
            );
        }
        6 => {
            let cond = bool(p, 3);
            p.line(format!("s += ({cond}).toInt()"));
        }
        _ => {
            let divisor = p.pick(DIVISORS);
            let op = p.pick(&["/", "%"]);
            p.two_blocks("try {", |p| p.line(format!("s += x {op} {divisor}")), "catch (e: DivisionError) {", |p| p.line("s += 13"));
        }
    }
}

fn int(p: &mut Part<'_, '_>, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return match p.choices.below(5) {
            0 => format!("({})", p.pick(EDGES)),
            _ => p.pick(&["x", "y", "x", "y", "s0()"]).replace("s0()", "(x & 255)"),
        };
    };
    match p.choices.below(14) {
        0 | 1 => format!("({} {} {})", int(p, depth), p.pick(&["+", "-", "*", "&", "|", "^"]), int(p, depth)),
        // A constant after a constant.
        2 => {
            let op = p.pick(&["+", "*", "&", "|", "^", "-"]);
            format!("(({} {op} ({})) {op} ({}))", int(p, depth), p.pick(EDGES), p.pick(EDGES))
        }
        3 => format!("(({}) - {})", p.pick(EDGES), int(p, depth)),
        4 => format!("({} {} {})", int(p, depth), p.pick(SHIFTS), p.pick(COUNTS)),
        5 => format!("(({} {} {}) {} {})", int(p, depth), p.pick(SHIFTS), p.pick(COUNTS), p.pick(SHIFTS), p.pick(COUNTS)),
        6 => format!("({} & ({}))", int(p, depth), p.pick(MASKS)),
        7 => format!("({} {} {})", int(p, depth), p.pick(&["/", "%"]), p.choices.pick(&DIVISORS[..14])),
        // Of what is not negative.
        8 => format!(
            "(({} {}) {} {})",
            int(p, depth),
            p.pick(&["& 255", ">>> 8", "& Int.MAX", "& 7"]),
            p.pick(&["/", "%"]),
            p.choices.pick(&DIVISORS[..13])
        ),
        9 => format!("({}{})", p.pick(&["-", "~"]), int(p, depth)),
        10 => undone(p),
        11 => format!("{}.{}()", p.pick(&["x", "y", "(x & 7)", "(x ^ y)"]), p.pick(&["abs", "bitCount", "leadingZeros", "trailingZeros"])),
        12 => format!("({}).toInt()", bool(p, depth)),
        _ => format!("(if {} {{ {} }} else {{ {} }})", bool(p, depth), int(p, depth), int(p, depth)),
    }
}

/// One operand twice.
fn undone(p: &mut Part<'_, '_>) -> String {
    let (op, inner) = (p.pick(&["+", "-", "&", "|", "^"]), p.pick(&["+", "-", "&", "|", "^"]));
    let (a, b) = if p.choices.chance(50) { ("x", "y") } else { ("y", "x") };
    match p.choices.below(4) {
        0 => format!("({a} {op} ({a} {inner} {b}))"),
        1 => format!("(({a} {inner} {b}) {op} {b})"),
        2 => format!("(({a} {inner} {b}) {op} {a})"),
        _ => format!("({a} {op} (-{b}))"),
    }
}

fn bool(p: &mut Part<'_, '_>, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return p.pick(&["on", "(x < y)", "(x == y)", "(x > 0)", "((x & 1) == 0)"]).into();
    };
    match p.choices.below(12) {
        0 | 1 => format!("({} {} {})", int(p, depth), p.pick(COMPARES), int(p, depth)),
        2 | 3 => format!("({} {} ({}))", int(p, depth), p.pick(COMPARES), p.pick(EDGES)),
        // Of one value, twice.
        4 => {
            let (of, join) = (int(p, depth), p.pick(&["&&", "||", "&", "|"]));
            format!("({of} {} ({}) {join} {of} {} ({}))", p.pick(COMPARES), p.pick(EDGES), p.pick(COMPARES), p.pick(EDGES))
        }
        // Of sums that share a part.
        5 => {
            let op = p.pick(&["+", "-", "^"]);
            format!(
                "(({} {op} {}) {} ({} {op} {}))",
                p.pick(&["x", "y"]),
                p.pick(&["y", "5", "x"]),
                p.pick(COMPARES),
                p.pick(&["x", "y"]),
                p.pick(&["5", "x"])
            )
        }
        6 => format!("({} % {} {} 0)", int(p, depth), p.pick(&["2", "8", "-4", "3", "Int.MIN"]), p.pick(COMPARES)),
        7 | 8 => format!("({} {} {})", bool(p, depth), p.pick(&["&&", "||", "&", "|", "^", "==", "!="]), bool(p, depth)),
        9 => format!("(!{})", bool(p, depth)),
        10 => {
            let choice = |p: &mut Part<'_, '_>, first: &str| {
                let (cond, other) = (bool(p, depth), p.pick(EDGES));
                if p.choices.chance(50) {
                    format!("(if {cond} {{ {first} }} else {{ {other} }})")
                } else {
                    format!("(if {cond} {{ {other} }} else {{ {first} }})")
                }
            };
            let constant = p.pick(EDGES);
            let mut choice_of = choice(p, constant);
            if p.choices.chance(40) {
                choice_of = choice(p, &choice_of);
            }
            format!("({choice_of} {} {})", p.pick(COMPARES), p.pick(EDGES))
        }
        _ => format!("(if {} {{ {} }} else {{ {} }})", bool(p, depth), bool(p, depth), p.pick(&["true", "false", "on"])),
    }
}
