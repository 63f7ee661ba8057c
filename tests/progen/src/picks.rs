//! Indices that come out of choices: a `match` with many arms says which element is read or written, so that where its arms meet, what each says of the index has to be put together.
//!
//! Out: functions over arrays of several kinds, whose indices (and now and then arrays and lengths) are values of `match`, of `match` in `match`, and of choices that loops carry. Most arms give an element that is there; errors of the others are caught, close by or far away.

use crate::choices::Choices;
use crate::part::Part;

/// What can be seen at a place.
#[derive(Clone)]
struct Sight {
    /// Chosen indices.
    picks: Vec<String>,
    /// The innermost loop's variable.
    i: String,
    depth: usize,
}

impl Sight {
    fn deeper(&self) -> Sight {
        Sight { depth: self.depth + 1, ..self.clone() }
    }
}

const ARRAYS: &[&str] = &["a", "a", "b", "d", "rows[1]"];

/// The text of such functions; the last one has this name.
pub fn picks(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    let count = part.functions(name, function);
    part.driver(name, |p| {
        p.some(3, |p| {
            let (number, a, b) = (p.choices.below(count), length(p), length(p));
            let n = p.pick(&["3", "start & 7", "a.length", "7", "0", "start"]);
            let over = p.pick(&["-1..8", "0..16", "[start, 3, Int.MAX, 5]"]);
            p.block(format!("for x in {over} {{"), |p| {
                p.line(format!("let a = Array<Int>({a}, x)"));
                p.guarded(&format!("{name}{number}(a, Bytes({b}), tabulate<Float>({b}, q => q.toFloat()), x, {n})"));
            });
        });
    });
    part.finish()
}

fn length(p: &mut Part<'_, '_>) -> &'static str {
    p.pick(&["8", "8", "6", "16", "5", "3", "1", "(start & 7)"])
}

fn function(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}(a: Array<Int>, b: Bytes, d: Array<Float>, x: Int, n: Int): Int {{"), |p| {
        p.line("var s = 0");
        p.line("let rows = [a, [x, n, 3, 4, 5], [7]]");
        let mut sight = Sight { picks: Vec::new(), i: "(x & 3)".into(), depth: 0 };
        picked(p, &mut sight);
        p.some(5, |p| statement(p, &mut sight));
        p.line("return s * 31 + a.length");
    });
}

fn statement(p: &mut Part<'_, '_>, sight: &mut Sight) {
    match p.choices.below(if sight.depth < 3 { 22 } else { 11 }) {
        0 | 1 => picked(p, sight),
        2..8 => element(p, sight),
        8 => array(p, sight),
        9 => {
            let (cond, leave) = (cond(p, sight), p.pick(&["s += 1", "return s", "throw AppError(\"left\", s)"]));
            p.line(format!("if {cond} {{ {leave} }}"));
        }
        10 => {
            let value = index(p, sight);
            p.line(format!("s = s * 31 + {value}"));
        }
        11 => caught(p, sight),
        12 => {
            let (cond, mut then, mut els) = (cond(p, sight), sight.deeper(), sight.deeper());
            p.two_blocks(
                format!("if {cond} {{"),
                |p| p.some(2, |p| statement(p, &mut then)),
                "else {",
                |p| p.some(2, |p| statement(p, &mut els)),
            );
        }
        13 => assigned(p, sight),
        14 | 15 => carried(p, sight),
        16 => down(p, sight),
        17 | 18 => of_known_length(p, sight),
        _ => looped(p, sight),
    }
}

/// What a `match` is of, and numbers up to which it has arms.
fn subject(p: &mut Part<'_, '_>, sight: &Sight) -> (String, usize) {
    let i = &sight.i;
    match p.choices.below(9) {
        0 | 1 => (format!("({i} & 3)"), 4),
        2 => (i.clone(), 6),
        3 => (format!("({i} + x & 7)"), 8),
        4 => ("(s & 7)".into(), 8),
        5 => ("(x & 15)".into(), 16),
        // More ways than are looked at.
        6 => ("(x + s & 31)".into(), 22),
        7 => ("n".into(), 5),
        _ => (sight.picks.last().cloned().unwrap_or("x".into()), 5),
    }
}

/// Patterns for most of the numbers up to a limit.
fn patterns(p: &mut Part<'_, '_>, most: usize) -> Vec<String> {
    let mut patterns = Vec::new();
    let mut next = 0;
    while next < most {
        let width = if most > 16 { 0 } else { p.choices.below(3) };
        patterns.push(match width {
            0 => next.to_string(),
            1 => format!("{next}, {}", next + 1),
            _ => format!("{next}..{}", next + width),
        });
        next += 1 + width + usize::from(p.choices.chance(10));
    }
    patterns
}

/// An index as a choice of many.
fn choice(p: &mut Part<'_, '_>, sight: &Sight, depth: usize) -> String {
    let (of, most) = subject(p, sight);
    let arms = patterns(p, most);
    let value = |p: &mut Part<'_, '_>| match p.choices.below(12) {
        0 if depth < 1 => choice(p, sight, depth + 1),
        1 => format!("if {} {{ {} }} else {{ {} }}", cond(p, sight), index(p, sight), index(p, sight)),
        _ => index(p, sight),
    };
    let arms: Vec<String> = arms.into_iter().map(|arm| format!("{arm} => {}", value(p))).collect();
    let last = match p.choices.below(12) {
        0 => "throw AppError(\"no arm\", s)".into(),
        1 => "return s".into(),
        _ => value(p),
    };
    format!("match {of} {{ {}; else => {last} }}", arms.join("; "))
}

/// Mostly of an element that is there.
fn index(p: &mut Part<'_, '_>, sight: &Sight) -> String {
    match p.choices.below(12) {
        0..4 => p.choices.below(5).to_string(),
        4 => sight.i.clone(),
        5 => "a.length - 1".into(),
        6 => p.pick(&["(x & 7)", "(n & 3)", "(s & 3)", "(x & 1) + 2"]).into(),
        7 => p.pick(&["b.length - 1", "min<Int>(n, a.length - 1)", "d.length >> 1", "rows[1].length - 1"]).into(),
        8 => format!("({} & 255) % a.length", sight.i),
        9 => sight.picks.last().cloned().unwrap_or("1".into()),
        10 if !sight.picks.is_empty() => p.choices.pick(&sight.picks).clone(),
        // Not there, most of them.
        _ => p.pick(&["-1", "8", "a.length", "x", "n", "16", "6", "Int.MIN", "0"]).into(),
    }
}

fn picked(p: &mut Part<'_, '_>, sight: &mut Sight) {
    let (k, choice) = (p.fresh("k"), choice(p, sight, 0));
    p.line(format!("let {k} = {choice}"));
    sight.picks.push(k);
}

/// The same by assignments, with more in the arms.
fn assigned(p: &mut Part<'_, '_>, sight: &mut Sight) {
    let (k, first, (of, most)) = (p.fresh("k"), index(p, sight), subject(p, sight));
    p.line(format!("var {k} = {first}"));
    p.block(format!("match {of} {{"), |p| {
        for pattern in patterns(p, most) {
            let value = index(p, sight);
            if p.choices.chance(70) {
                p.line(format!("{pattern} => {k} = {value}"));
            } else {
                p.block(format!("{pattern} => {{"), |p| {
                    element(p, sight);
                    p.line(format!("{k} = {value}"));
                });
            }
        }
        p.line(format!("else => s += {k}"));
    });
    sight.picks.push(k);
}

/// A chosen index is used; before or after, perhaps, code says where it lies.
fn element(p: &mut Part<'_, '_>, sight: &Sight) {
    let (array, k) = (p.pick(ARRAYS), chosen(p, sight));
    let value = if array == "d" { format!("d[{k}].toInt()") } else { format!("{array}[{k}]") };
    let store = if array == "d" { format!("d[{k}] += 0.5") } else { format!("{array}[{k}] += s & 15") };
    let line = match p.choices.below(8) {
        0..3 => format!("s = s * 31 + {value}"),
        3 => store,
        4 => format!("if {k} < {array}.length {{ s += {value} }}"),
        5 => format!("if {k} >= 0 && {k} < {array}.length {{ {store} }}"),
        6 => format!("s = s * 31 + {value} + a[{k} & 3]"),
        _ => format!("s += rows[{k} % 3][0]"),
    };
    p.line(line);
}

fn chosen(p: &mut Part<'_, '_>, sight: &Sight) -> String {
    if sight.picks.is_empty() {
        return sight.i.clone();
    }
    let k = if p.choices.chance(60) { sight.picks.last().expect("not empty").clone() } else { p.choices.pick(&sight.picks).clone() };
    match p.choices.below(8) {
        0 => format!("({k} + 1)"),
        1 => format!("({k} - 1)"),
        2 => format!("({k} & 7)"),
        _ => k,
    }
}

/// An array that is a choice, with the index that the same choice gives.
fn array(p: &mut Part<'_, '_>, sight: &Sight) {
    let (t, k, m, (of, most)) = (p.fresh("t"), p.fresh("k"), p.fresh("m"), subject(p, sight));
    p.line(format!("let {m} = {of}"));
    let patterns = patterns(p, most.min(8));
    let (mut arrays, mut indices) = (Vec::new(), Vec::new());
    for pattern in &patterns {
        let (array, index) = [("a", "a.length - 1"), ("rows[1]", "4"), ("rows[2]", "0"), ("[s, 1, 2]", "2"), ("a", "3"), ("rows[1]", "5")]
            [p.choices.below(6)];
        arrays.push(format!("{pattern} => {array}"));
        indices.push(format!("{pattern} => {index}"));
    }
    p.line(format!("let {t} = match {m} {{ {}; else => a }}", arrays.join("; ")));
    p.line(format!("let {k} = match {m} {{ {}; else => 0 }}", indices.join("; ")));
    p.line(format!("s = s * 31 + {t}[{k}] + {t}.length"));
}

/// The error of an index that is not there is caught here, and what was chosen used behind it.
fn caught(p: &mut Part<'_, '_>, sight: &Sight) {
    let mut inner = sight.deeper();
    let end = chosen(p, sight);
    p.two_blocks(
        "try {",
        |p| {
            picked(p, &mut inner);
            p.some(3, |p| statement(p, &mut inner));
        },
        "catch (e: BoundsError) {",
        |p| {
            p.line(format!("s = s * 31 + e.message.length + {end}"));
            element(p, sight);
        },
    );
}

/// A state that is an index, and says what the next one is.
fn carried(p: &mut Part<'_, '_>, sight: &Sight) {
    let (k, j, first) = (p.fresh("k"), p.fresh("j"), index(p, sight));
    let to = p.pick(&["6", "a.length", "(n & 7)", "9"]);
    p.line(format!("var {k} = {first}"));
    p.block(format!("for {j} in 0..<{to} {{"), |p| {
        let mut inner = Sight { i: j.clone(), ..sight.deeper() };
        inner.picks.push(k.clone());
        p.some(2, |p| statement(p, &mut inner));
        element(p, &inner);
        let next = choice(p, &inner, 0);
        p.line(format!("{k} = {next}"));
    });
    p.line(format!("s += {k}"));
}

/// Goes down by a step that is chosen.
fn down(p: &mut Part<'_, '_>, sight: &Sight) {
    let (k, from) = (p.fresh("k"), p.pick(&["a.length - 1", "b.length - 1", "7", "(x & 7)", "n & 7"]));
    p.line(format!("var {k} = {from}"));
    p.block(format!("while {k} >= 0 {{"), |p| {
        let array = p.pick(&["a", "a", "b"]);
        p.line(format!("s = s * 31 + {array}[{k}]"));
        let mut inner = sight.deeper();
        inner.picks.push(k.clone());
        statement(p, &mut inner);
        let (one, other, third) = (1 + p.choices.below(3), 1 + p.choices.below(3), 1 + p.choices.below(3));
        p.line(format!("{k} = match {k} & 3 {{ 0 => {k} - {one}; 1 => {k} - {other}; 2 => {k} - 1; else => {k} - {third} }}"));
    });
}

/// An array whose length is known, and a choice of which one arm at most is out of it: if that one is forgotten, all seems well.
fn of_known_length(p: &mut Part<'_, '_>, sight: &Sight) {
    let (t, k, length, (of, most)) = (p.fresh("t"), p.fresh("k"), 4 + p.choices.below(5), subject(p, sight));
    let items: Vec<String> = (0..length).map(|n| format!("x + {n}")).collect();
    let made = if p.choices.chance(50) { format!("Array<Int>({length}, x)") } else { format!("[{}]", items.join(", ")) };
    p.line(format!("let {t} = {made}"));
    let mut arms = patterns(p, most);
    arms.push("else".into());
    let bad = p.choices.below(arms.len() * 2);
    let arms: Vec<String> = arms.iter().enumerate().map(|(at, arm)| format!("{arm} => {}", known(p, &t, length, at == bad))).collect();
    let choice = format!("match {of} {{ {} }}", arms.join("; "));
    let used = |p: &mut Part<'_, '_>| {
        p.line(format!("let {k} = {choice}"));
        let line = p.pick(&["s = s * 31 + #[@]", "#[@] += s & 7", "s ^= #[@] + #[@ & 3]", "#[@] = x; s += #[0]"]);
        line.replace('#', &t).replace('@', &k).split("; ").for_each(|line| p.line(line));
    };
    if p.choices.chance(50) {
        p.two_blocks("try {", used, "catch (e: BoundsError) {", |p| p.line(format!("s = s * 31 + e.message.length + {t}[1]")));
    } else {
        let cond = cond(p, sight);
        p.block(format!("if {cond} {{"), used);
    }
    p.line(format!("s += {t}[{t}.length - 1]"));
}

/// An index of an array of known length, or one out of it.
fn known(p: &mut Part<'_, '_>, t: &str, length: usize, is_bad: bool) -> String {
    match p.choices.below(6) {
        _ if is_bad => p.pick(&["#.length", "-1", "x", "(x & 15)", "(s & 15) - 1", "100"]).replace('#', t),
        0 => p.pick(&["(x & 3)", "(n & 3)", "(s & 3)"]).into(),
        1 => p.pick(&["#.length - 1", "#.length - 2", "min<Int>(x & 7, #.length - 1)"]).replace('#', t),
        _ => p.choices.below(length).to_string(),
    }
}

fn looped(p: &mut Part<'_, '_>, sight: &Sight) {
    let (j, to) = (p.fresh("j"), p.pick(&["a.length", "5", "(n & 7)", "b.length", "3"]));
    p.block(format!("for {j} in 0..<{to} {{"), |p| {
        let mut inner = Sight { i: j.clone(), ..sight.deeper() };
        picked(p, &mut inner);
        element(p, &inner);
        p.some(2, |p| statement(p, &mut inner));
    });
}

fn cond(p: &mut Part<'_, '_>, sight: &Sight) -> String {
    match p.choices.below(4) {
        0 => p.pick(&["(s & 1) == 0", "x > 3", "n > a.length", "b.length == 8"]).into(),
        1 => format!("{} == 2", sight.i),
        _ => format!("{} {} {}", chosen(p, sight), p.pick(&["<", ">=", "==", "!="]), p.pick(&["a.length", "3", "5", "b.length", "0"])),
    }
}
