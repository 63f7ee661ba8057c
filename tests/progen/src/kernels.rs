//! Loops over arrays, for what the optimizer does with checks: counted loops in a row and in each other, with one or two variables, with indices at the limits of `Int` and tests of classes in between.
//!
//! Out: functions over two arrays, bytes and a text, and one `Int -> Int` that calls them with arguments of all sizes and prints what comes of it, errors included.
//! Invariant: each loop ends after [`ROUNDS`] rounds or so: its bounds are small, or it leaves by a `break`.

use crate::choices::Choices;
use std::fmt::Write;

/// Rounds of a loop whose bounds may be anything.
const ROUNDS: usize = 40;

const FACTORS: &[&str] =
    &["1", "2", "3", "-1", "7", "2147483648", "-4611686018427387904", "4611686018427387904", "Int.MIN", "(x + 1)", "x"];
const OFFSETS: &[&str] = &["0", "1", "-1", "2", "x", "-x", "Int.MAX", "Int.MIN", "Int.MIN + 3", "4611686018427387904", "n", "(x ^ n)"];
const SHIFTS: &[&str] = &["1", "2", "31", "62", "63"];

pub struct Kernels<'a, 'b> {
    choices: &'a mut Choices<'b>,
    out: String,
    names: usize,
}

/// The text of such functions; the last one has this name.
pub fn kernels(choices: &mut Choices<'_>, name: &str) -> String {
    let count = 1 + choices.below(3);
    let mut kernels = Kernels { choices, out: String::new(), names: 0 };
    for number in 0..count {
        kernels.function(&format!("{name}{number}"));
    }
    kernels.driver(name, count);
    kernels.out
}

impl Kernels<'_, '_> {
    fn line(&mut self, indent: usize, text: &str) {
        _ = writeln!(self.out, "{:1$}{text}", "", 4 * indent);
    }

    fn function(&mut self, name: &str) {
        self.line(0, &format!("\nfun {name}(a: Array<Int>, b: Array<Int>, c: Bytes, t: Str, o: Object, x: Int, n: Int): Int {{"));
        let start = *self.choices.pick(&["0", "a.length", "a.length + b.length", "o.toString().length"]);
        self.line(1, &format!("var s = {start}"));
        for _ in 0..1 + self.choices.below(3) {
            match self.choices.below(5) {
                0 => {
                    let condition = self.condition("n");
                    self.line(1, &format!("if {condition} {{"));
                    self.counted(2, 0, "x");
                    self.line(1, "}");
                }
                1 => self.meeting(1),
                _ => self.counted(1, 0, "x"),
            }
        }
        self.line(1, "return s");
        self.line(0, "}");
    }

    /// `outer`: the variable of the loop around, or a parameter.
    fn counted(&mut self, indent: usize, depth: usize, outer: &str) {
        self.names += 1;
        let i = format!("i{}", self.names);
        let next = format!("{outer} + 1");
        let low = *self.choices.pick(&["0", "1", "(x & 7)", "-2", outer, "(n & 3)", next.as_str()]);
        let high = *self.choices.pick(&["n", "10", "a.length", "b.length", "(x & 15)", "n + 2", "c.length", "t.length", outer]);
        // From or to anywhere.
        let is_wild = low.starts_with(outer) || high.starts_with('n') || high == outer;
        let step = *self.choices.pick(&["", "", "", " step 2", " step 3"]);
        let dots = if self.choices.chance(70) { "..<" } else { ".." };
        let by_while = step.is_empty() && self.choices.chance(30);
        if is_wild {
            self.line(indent, &format!("var r{} = 0", self.names));
        }
        if by_while {
            self.line(indent, &format!("var {i} = {low}"));
            self.line(indent, &format!("while {i} < {high} {{"));
        } else if self.choices.chance(20) {
            self.line(indent, &format!("for {i} in {high}..{low} step -1 {{"));
        } else {
            self.line(indent, &format!("for {i} in {low}{dots}{high}{step} {{"));
        }
        if is_wild {
            self.line(indent + 1, &format!("r{} += 1", self.names));
            self.line(indent + 1, &format!("if r{} > {ROUNDS} {{ break }}", self.names));
        }
        self.body(indent + 1, depth, &i, by_while);
        if by_while {
            self.line(indent + 1, &format!("{i} += 1"));
        }
        self.line(indent, "}");
    }

    /// A loop of two variables, which come from both ends.
    fn meeting(&mut self, indent: usize) {
        self.names += 1;
        let (low, high, rounds) = (format!("l{}", self.names), format!("h{}", self.names), format!("r{}", self.names));
        let (from, to) = (*self.choices.pick(&["0", "x", "1", "-1"]), *self.choices.pick(&["a.length", "a.length - 1", "n", "b.length"]));
        self.line(indent, &format!("var {low} = {from}"));
        self.line(indent, &format!("var {high} = {to}"));
        self.line(indent, &format!("var {rounds} = 0"));
        let cmp = *self.choices.pick(&["<", "<=", "!="]);
        self.line(indent, &format!("while {low} {cmp} {high} && {rounds} < {ROUNDS} {{"));
        self.line(indent + 1, &format!("{rounds} += 1"));
        self.body(indent + 1, 1, &low, true);
        for _ in 0..1 + self.choices.below(2) {
            let steps = [
                "{l} += 1",
                "{h} -= 1",
                "{l} += 2",
                "if (s & 1) == 0 { {l} += 1 } else { {h} -= 1 }",
                "{h} = {l} + ({h} - {l}) / 2",
                "{l} += (n & 3)",
            ];
            let step = self.choices.pick(&steps).replace("{l}", &low).replace("{h}", &high);
            self.line(indent + 1, &step);
        }
        let index = *self.choices.pick(&["- 1", "", "& 7"]);
        self.line(indent + 1, &format!("s += a[{high} {index}]"));
        self.line(indent, "}");
    }

    fn body(&mut self, indent: usize, depth: usize, i: &str, by_while: bool) {
        for _ in 0..1 + self.choices.below(3) {
            let (array, index) = (*self.choices.pick(&["a", "a", "b", "c"]), self.index(i));
            match self.choices.below(10) {
                0..3 => self.line(indent, &format!("s += {array}[{index}]")),
                9 => self.line(indent, &format!("s = s * 3 + t[{index}]")),
                3 => self.line(indent, &format!("{array}[{index}] = {i}")),
                4 => self.line(indent, &format!("{array}[{index}] += 1")),
                5 => {
                    let (condition, leave) = (self.condition(i), if by_while || self.choices.chance(50) { "break" } else { "continue" });
                    self.line(indent, &format!("if {condition} {{ {leave} }}"));
                }
                6 => {
                    self.line(indent, "if !(o is Str) { break }");
                    let text = *self.choices.pick(&["o.hash() & 7", "o.length", "o.compareTo(\"abc\")", "o.indexOf(\"b\")"]);
                    self.line(indent, &format!("s += {text}"));
                }
                7 => {
                    let condition = self.condition(i);
                    self.line(indent, &format!("if {condition} {{ s ^= {array}[{index}] }}"));
                }
                _ if depth < 1 => self.counted(indent, depth + 1, i),
                _ => self.line(indent, &format!("s = s * 31 + {i}")),
            }
        }
    }

    fn condition(&mut self, i: &str) -> String {
        let (of, to) = (*self.choices.pick(&[i, "x", "s", "n"]), *self.choices.pick(&["x", "n", "3", "0", "a.length"]));
        let cmp = *self.choices.pick(&["==", "<", ">", "!=", ">="]);
        format!("{of} {cmp} {to}")
    }

    fn index(&mut self, i: &str) -> String {
        let choices = &mut self.choices;
        let (factor, offset) = (*choices.pick(FACTORS), *choices.pick(OFFSETS));
        match choices.below(12) {
            0..3 => i.into(),
            3 => format!("{i} + {offset}"),
            4 => format!("{offset} - {i}"),
            5 => format!("{i} * {factor}"),
            6 => format!("{i} * {factor} + {offset}"),
            7 => format!("{offset} + ({i} * {factor} + {i} * {factor})"),
            8 => format!("{i} >>> {}", choices.pick(SHIFTS)),
            9 => format!("({i} << {}) + {offset}", choices.pick(SHIFTS)),
            10 => format!("{i} & 7"),
            _ => format!("{offset} - (0 - {i})"),
        }
    }

    fn driver(&mut self, name: &str, count: usize) {
        self.line(0, &format!("\nfun {name}(start: Int): Int {{"));
        self.line(1, "var sum = 0");
        for _ in 0..4 + self.choices.below(6) {
            let number = self.choices.below(count);
            let (a, b) = (*self.choices.pick(&["0", "3", "10", "40"]), *self.choices.pick(&["1", "10", "16"]));
            let (c, t) = (*self.choices.pick(&["0", "7", "30"]), *self.choices.pick(&["\"\"", "\"abcdefghij\"", "\"t${start}\""]));
            let o = *self.choices.pick(&["\"abc\"", "\"b${start}\"", "Cell<Int>(start)", "AppError(\"app\", start)"]);
            let x = *self.choices.pick(&["start", "start & 15", "0", "3", "4611686018427387903", "Int.MAX", "Int.MIN", "-1"]);
            let n = *self.choices.pick(&["0", "5", "20", "start & 31", "9", "Int.MAX", "Int.MIN"]);
            self.line(1, "try {");
            self.line(
                2,
                &format!("sum = sum * 31 + {name}{number}(Array<Int>({a}, 2), Array<Int>({b}, 1), Bytes({c}), {t}, {o}, {x}, {n})"),
            );
            self.line(1, "} catch (e: BoundsError) {");
            self.line(2, "println(\"caught ${e.message}\")");
            self.line(1, "}");
        }
        self.line(1, "return sum");
        self.line(0, "}");
    }
}
