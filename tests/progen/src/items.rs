//! Calls that stand among the items of array literals and among arguments: while one of them runs, collects, is compiled anew or throws, the values of those before it wait.
//!
//! Out: functions over chains of objects, whose array literals, calls and constructions have items that loop, allocate, throw, choose and catch, in loops and under handlers that look at the objects again.

use crate::choices::Choices;
use crate::part::Part;

const CLASSES: &str = "
var itemLog = 7

class Item(var n: Int, var next: Item?) {
    var half = 0.5

    fun joined(a: Item, b: Item?): Int = n * 7 + a.n * 3 + (b?.n ?: 4)

    fun pair(a: Item, n: Int): Array<Item> = [this, made(n, a), a]
}

/// Notes that it was called, and when.
fun made(n: Int, next: Item?): Item {
    itemLog = itemLog * 31 + n
    return Item(n & 1023, next)
}

/// Loops, and makes objects of which the last stays.
fun turned(l: Item, n: Int): Item {
    var at = l
    for i in 0..<(n & 7) { at = Item(at.n * 3 + i & 1023, l) }
    return at
}

fun brittle(n: Int, l: Item): Item {
    if n % 5 == 3 { throw AppError(\"item\", n) }
    itemLog += n
    return Item(n & 63, l)
}

fun chained(l: Item?): Int {
    var sum = 0
    var at = l
    for i in 0..<5 {
        if at == null { break }
        sum = sum * 31 + at.n + (at.half * 4.0).toInt()
        at = at.next
    }
    return sum
}

fun three(a: Item, b: Item, c: Item): Int = a.n * 49 + b.n * 7 + c.n

fun mixed(a: Item, n: Int, f: Float, b: Item?, on: Bool, t: Str): Int =
    chained(a) * 3 + n + (f * 2.0).toInt() + (b?.n ?: 9) + on.toInt() + t.length

fun all(items: Array<Item>): Int {
    var sum = items.length
    for item in items { sum = sum * 31 + item.n + (item.next?.n ?: 2) }
    return sum
}

fun floatOf(l: Item, n: Int): Float {
    let l2 = turned(l, n)
    l2.half += 0.25
    return l2.half + l.n.toFloat()
}

fun textOf(l: Item, n: Int): Str = \"${turned(l, n).n}|${l.n}\"

fun later(by: (Int) -> Item, n: Int): Item = by(n)

/// Three deep, each with something that waits.
fun nested(l: Item, n: Int): Item = if n <= 0 { l } else { [l, nested(made(n, l), n - 1), l][1] }
";

const CONDS: &[&str] = &["(@ & 1) == 0", "s > x", "o === a", "a.n > b.n", "@ == 2", "o.next == null", "x < 2", "(s & 3) == 1"];

/// The text of such functions; the last one has this name.
pub fn items(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(CLASSES);
    let count = part.functions(name, function);
    part.driver(name, |p| {
        p.some(4, |p| {
            let (number, x) = (p.choices.below(count), p.pick(&["x", "start & 7", "x + start"]));
            p.block("for x in 0..<5 {", |p| {
                p.line("let a = Item(start & 15, null)");
                let b = p.pick(&["Item(x, a)", "a", "turned(a, 3)"]);
                p.guarded(&format!("{name}{number}(a, {b}, {x})"));
                p.line("sum = sum * 31 + chained(a) + itemLog");
            });
        });
    });
    part.finish()
}

fn function(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}(a: Item, b: Item, x: Int): Int {{"), |p| {
        p.line("var s = 1");
        p.line("var o = a");
        p.some(5, |p| statement(p, 0, "x"));
        p.line("return s * 31 + chained(o)");
    });
}

fn statement(p: &mut Part<'_, '_>, depth: usize, i: &str) {
    match p.choices.below(if depth < 3 { 19 } else { 12 }) {
        0..4 => literal(p, i),
        4..7 => {
            let value = call(p, i, 0);
            p.line(format!("s = s * 31 + {value}"));
        }
        7 => other_kinds(p, i),
        8 | 9 => {
            let item = item(p, i, 0);
            p.line(format!("o = {item}"));
        }
        10 => {
            let (to, item) = (p.pick(&["a", "b", "o"]), item(p, i, 1));
            // The chain ends: what follows is new, or has nothing behind it.
            p.line(format!("{to}.next = Item({item}.n, null)"));
        }
        11 => {
            let (cond, leave) = (cond(p, i), p.pick(&["s += 1", "return s", "throw AppError(\"left\", s)", "b.n += 1"]));
            p.line(format!("if {cond} {{ {leave} }}"));
        }
        12 => {
            let cond = cond(p, i);
            p.two_blocks(format!("if {cond} {{"), |p| statement(p, depth + 1, i), "else {", |p| statement(p, depth + 1, i));
        }
        13 | 14 => {
            let (end, literal_after) = (call(p, i, 1), p.choices.chance(50));
            p.two_blocks(
                "try {",
                |p| p.some(3, |p| statement(p, depth + 1, i)),
                "catch (e: AppError) {",
                |p| {
                    p.line("s = s * 31 + e.code + chained(o) + chained(b)");
                    if literal_after {
                        p.line(format!("try {{ s ^= {end} }} catch (f: Error) {{ s += 5 }}"));
                    }
                },
            );
        }
        15 => p.two_blocks(
            "try {",
            |p| p.some(2, |p| statement(p, depth + 1, i)),
            "finally {",
            |p| {
                let kept = p.pick(&["o", "a", "b"]);
                p.line(format!("s ^= all([{kept}, made(s & 7, {kept}), turned({kept}, 2)])"));
            },
        ),
        _ => {
            let (j, to) = (p.fresh("j"), p.pick(&["4", "(x & 7)", "3", "6"]));
            p.block(format!("for {j} in 0..<{to} {{"), |p| p.some(3, |p| statement(p, depth + 1, &j)));
        }
    }
}

/// An array of objects, and what stands in it, read in any order and after other calls.
fn literal(p: &mut Part<'_, '_>, i: &str) {
    let (t, count) = (p.fresh("t"), 2 + p.choices.below(4));
    let items: Vec<String> = (0..count).map(|_| item(p, i, 0)).collect();
    p.line(format!("let {t} = [{}]", items.join(", ")));
    if p.choices.chance(30) {
        let from = p.choices.below(count);
        p.line(format!("o = turned({t}[{from}], 5)"));
    }
    let (one, other) = (p.choices.below(count), p.choices.below(count));
    p.line(format!("s = s * 31 + all({t}) + {t}[{one}].n * 3 + chained({t}[{other}])"));
    if p.choices.chance(30) {
        let item = item(p, i, 1);
        p.line(format!("{t}[{one}] = {item}"));
        p.line(format!("s += all({t})"));
    }
}

/// An expression that gives an object, most by a call; nothing deeper than two calls.
fn item(p: &mut Part<'_, '_>, i: &str, depth: usize) -> String {
    let of = |p: &mut Part<'_, '_>| if depth < 2 && p.choices.chance(35) { item(p, i, depth + 1) } else { p.pick(&["a", "b", "o"]).into() };
    let n = p.pick(&["x", "@", "@ + 1", "s & 15", "3", "o.n"]).replace('@', i);
    match p.choices.below(16) {
        0..3 => format!("made({n}, {})", of(p)),
        3 | 4 => format!("turned({}, {n})", of(p)),
        5..8 => format!("brittle({n}, {})", of(p)),
        8 => format!("Item({n}, {})", of(p)),
        9 => format!("nested({}, {n} & 3)", of(p)),
        10 => format!("(if {} {{ {} }} else {{ {} }})", cond(p, i), of(p), of(p)),
        11 => format!("(try {{ brittle({n}, {}) }} catch (e: AppError) {{ made(e.code, {}) }})", of(p), of(p)),
        12 => format!("(match {n} & 3 {{ 0 => {}; 1, 2 => {}; else => brittle({n}, a) }})", of(p), of(p)),
        13 => format!("later(q => Item(q, {}), {n})", of(p)),
        14 => format!("[{}, turned(b, {n}), {}][{}]", of(p), of(p), p.choices.below(3)),
        _ => p.pick(&["a", "b", "o", "(o.next ?: a)"]).into(),
    }
}

/// A call with such arguments, as an `Int`.
fn call(p: &mut Part<'_, '_>, i: &str, depth: usize) -> String {
    let mut of = || item(p, i, depth);
    let (a, b, c) = (of(), of(), of());
    match p.choices.below(8) {
        0 | 1 => format!("three({a}, {b}, {c})"),
        2 => format!("{a}.joined({b}, {c})"),
        3 => format!("all({a}.pair({b}, {i}))"),
        4 => format!("mixed({a}, chained({b}), floatOf({c}, {i}), {}, {}, textOf(a, 2))", p.pick(&["null", "o", "o.next"]), cond(p, i)),
        5 => format!("all([{a}, {b}]) * 3 + chained({c})"),
        6 => format!("listOf<Item>([{a}, {b}, {c}]).fold<Int>(1, (u, v) => u * 31 + v.n)"),
        _ => format!("Pair<Item, Item>({a}, {b}).second.joined({c}, a)"),
    }
}

/// Arrays of numbers, truth values, texts and arrays, whose items are calls all the same.
fn other_kinds(p: &mut Part<'_, '_>, i: &str) {
    let (t, a, b) = (p.fresh("t"), item(p, i, 1), item(p, i, 1));
    let (items, value) = match p.choices.below(6) {
        0 => (format!("[{a}.n, x, chained({b}), s]"), "#[0] * 7 + #[1] + #[2] + #[3]"),
        1 => (format!("[floatOf({a}, 2), 0.5, floatOf({b}, {i})]"), "(#[0] + #[1] - #[2]).toInt()"),
        2 => (format!("[{a} === a, true, {b}.n > 3]"), "#[0].toInt() * 2 + #[2].toInt()"),
        3 => (format!("[textOf({a}, 3), \"x\", \"${{{i}}}\", textOf({b}, 1)]"), "#[0].length + #[2].length + #[3].hash()"),
        4 => (format!("[[{a}, o], [{b}], [a, b, turned(o, {i})]]"), "all(#[0]) * 3 + all(#[1]) + all(#[2])"),
        _ => (format!("[{a}, null, {b}, o.next]"), "(#[0]?.n ?: 3) + (#[1]?.n ?: 4) * 5 + (#[2]?.n ?: 6)"),
    };
    p.line(format!("let {t} = {items}"));
    p.line(format!("s = s * 31 + {}", value.replace('#', &t)));
}

fn cond(p: &mut Part<'_, '_>, i: &str) -> String {
    p.pick(CONDS).replace('@', i)
}
