//! Arithmetic on floats: signed zeros, infinities and NaN in loops, comparisons and conversions.
//!
//! Out: functions over an array of floats and two floats, whose results are compared to the bit.

use crate::choices::Choices;
use crate::part::Part;

const CONSTANTS: &[&str] = &[
    "0.0",
    "-0.0",
    "1.0",
    "-1.0",
    "0.5",
    "2.0",
    "-4.0",
    "3.0",
    "0.1",
    "1.0e300",
    "5.0e-324",
    "9223372036854775808.0",
    "-9223372036854775808.0",
    "9007199254740993.0",
    "Float.MAX",
    "Float.INFINITY",
    "-Float.INFINITY",
    "Float.NAN",
    "2.2250738585072014e-308",
    "4503599627370496.5",
];
const COMPARES: &[&str] = &["<", "<=", ">", ">=", "==", "!="];

const BITS: &str = "
fun bits(f: Float): Int = f.toBits()
";

/// The text of such functions; the last one has this name.
pub fn floats(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(BITS);
    let count = part.functions(name, function);
    part.driver(name, |p| {
        let elements: Vec<&str> = (0..4).map(|_| p.pick(CONSTANTS)).collect();
        p.line(format!("let a = [{}]", elements.join(", ")));
        for _ in 0..3 + p.choices.below(6) {
            let (number, x, y) = (p.choices.below(count), argument(p), argument(p));
            p.guarded(&format!("{name}{number}(a, {x}, {y}, start)"));
        }
        p.line("println(a)");
    });
    part.finish()
}

fn argument(p: &mut Part<'_, '_>) -> &'static str {
    if p.choices.chance(20) { "start.toFloat()" } else { p.pick(CONSTANTS) }
}

fn function(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}(a: Array<Float>, x: Float, y: Float, n: Int): Int {{"), |p| {
        p.line("var s = 0");
        p.line("var u = x");
        p.line("var on = false");
        p.some(5, |p| statement(p, 0));
        p.line("return s * 31 + bits(u) + on.toInt()");
    });
}

fn statement(p: &mut Part<'_, '_>, depth: usize) {
    match p.choices.below(if depth < 2 { 12 } else { 9 }) {
        0 | 1 => {
            let value = float(p, 2);
            p.line(format!("u = {value}"));
        }
        2 => {
            let (op, value) = (p.pick(&["+=", "-=", "*=", "/="]), float(p, 1));
            p.line(format!("u {op} {value}"));
        }
        3 => {
            let (value, at) = (float(p, 1), p.pick(&["0", "1", "n & 3", "s & 3"]));
            p.line(format!("a[{at}] = {value}"));
        }
        4 => {
            let value = int(p);
            p.line(format!("s = s * 31 + {value}"));
        }
        5 | 6 => {
            let (cond, a, b) = (cond(p, 1), float(p, 1), float(p, 1));
            p.line(format!("u = if {cond} {{ {a} }} else {{ {b} }}"));
        }
        7 => {
            let cond = cond(p, 2);
            p.line(format!("on = {cond}"));
        }
        8 => {
            let cond = cond(p, 2);
            p.line(format!("if {cond} {{ s += 3 }} else {{ s ^= 5 }}"));
        }
        9 => {
            let cond = cond(p, 1);
            p.two_blocks(format!("if {cond} {{"), |p| statement(p, depth + 1), "else {", |p| statement(p, depth + 1));
        }
        _ => looped(p, depth),
    }
}

fn looped(p: &mut Part<'_, '_>, depth: usize) {
    let i = p.fresh("i");
    match p.choices.below(3) {
        0 => p.block(format!("for {i} in 0..<a.length {{"), |p| {
            let op = p.pick(&["u += ", "u = u * 0.5 + ", "u = max<Float>(u, ", "a[0] += "]);
            let end = if op.ends_with(", ") { ")" } else { "" };
            p.line(format!("{op}a[{i}]{end}"));
            p.some(2, |p| statement(p, depth + 1));
        }),
        1 => p.block(format!("for {i} in a {{"), |p| {
            let op = p.pick(COMPARES);
            p.line(format!("if {i} {op} u {{ u = {i}; s += 1 }}"));
            p.some(2, |p| statement(p, depth + 1));
        }),
        // By a float that counts.
        _ => {
            let (r, step) = (p.fresh("r"), p.pick(&["0.1", "1.0", "-0.5", "x", "0.0"]));
            let from = p.pick(&["0.0", "x", "-3.0"]);
            p.line(format!("var {i} = {from}"));
            p.line(format!("var {r} = 0"));
            let (op, to) = (p.pick(&["<", "<=", "!=", ">"]), p.pick(&["2.0", "y", "0.0"]));
            p.block(format!("while {i} {op} {to} && {r} < 20 {{"), |p| {
                p.line(format!("{i} += {step}"));
                p.line(format!("{r} += 1"));
                p.some(2, |p| statement(p, depth + 1));
            });
            p.line(format!("s += bits({i}) ^ {r}"));
        }
    }
}

fn float(p: &mut Part<'_, '_>, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return match p.choices.below(4) {
            0 => format!("({})", p.pick(CONSTANTS)),
            _ => p.pick(&["x", "y", "u", "a[1]", "a[n & 3]"]).into(),
        };
    };
    match p.choices.below(13) {
        0..5 => format!("({} {} {})", float(p, depth), p.pick(&["+", "-", "*", "/", "%"]), float(p, depth)),
        5 => format!("(-{})", float(p, depth)),
        6 => format!("{}.abs()", float(p, depth)),
        7 => format!("{}.toFloat()", p.pick(&["n", "s", "(n & 7)", "Int.MAX", "Int.MIN", "9007199254740993", "(s >>> 1)"])),
        8 => format!("{}<Float>({}, {})", p.pick(&["min", "max"]), float(p, depth), float(p, depth)),
        9 => format!("{}.toInt().toFloat()", float(p, depth)),
        10 => format!("Math.{}({})", p.pick(&["sqrt", "floor", "ceil", "trunc", "round", "abs"]), float(p, depth)),
        11 => {
            let (a, b) = (float(p, depth), float(p, depth));
            p.pick(&["(-(-@))", "@.abs().abs()", "(-@).abs()", "(@ - (-#))", "((-@) * (-#))", "((-@) / (-#))", "((-@) + #)", "(@ + (-#))"])
                .replace('@', &a)
                .replace('#', &b)
        }
        _ => format!("Float.fromBits({})", p.pick(&["n & 15", "Int.MIN", "4607182418800017408 + (s & 3)", "(n & 1) << 63"])),
    }
}

fn int(p: &mut Part<'_, '_>) -> String {
    match p.choices.below(6) {
        0 | 1 => format!("{}.toInt()", float(p, 1)),
        2 => format!("{}.compareTo({})", float(p, 1), float(p, 1)),
        3 => format!("{}.hash()", p.pick(&["n.toFloat()", "(x * 0.0).abs()", "0.5"])),
        4 => format!("\"${{{}}}\".length", float(p, 1)),
        _ => format!("bits({})", float(p, 2)),
    }
}

fn cond(p: &mut Part<'_, '_>, depth: usize) -> String {
    match p.choices.below(8) {
        0 => format!("{}.isNaN()", float(p, 1)),
        1 => format!("!({} {} {})", float(p, 1), p.pick(COMPARES), float(p, 0)),
        2 | 3 if depth > 0 => format!("({} {} {})", cond(p, depth - 1), p.pick(&["&&", "||", "&", "|", "^", "=="]), cond(p, depth - 1)),
        4 => p.pick(&["(x == x)", "(u != u)", "(x < y)", "(x >= y)", "(y > x)"]).into(),
        _ => format!("({} {} {})", float(p, 1), p.pick(COMPARES), float(p, 1)),
    }
}
