//! Objects that need not be: made, passed on, exchanged and stored into each other in loops, and known to others on some ways only.
//!
//! Out: functions over small objects, arrays of constant length, pairs, boxed numbers, closures over variables and errors that carry an object; what happens to them is random. What is rare (a list that keeps an object, a call that
//! does) really happens now and then.

use crate::choices::Choices;
use crate::part::Part;

const CLASSES: &str = "
class Spot(var x: Int, var y: Int) {
    fun sum(): Int = x * 3 + y
    fun moved(by: Int): Spot = if by == 0 { this } else { Spot(x + by, y - by) }
    fun turned(): Spot {
        let old = x
        x = -y
        y = old
        return this
    }
    override fun toString(): Str = \"(${x}, ${y})\"
}

class Far(x: Int, y: Int, var other: Spot?) : Spot(x, y) {
    override fun sum(): Int = x - y
    override fun moved(by: Int): Spot = Far(y, x + by, this.other)
}

class Lost(let spot: Spot) : Error(\"lost ${spot}\")

var kept: Spot? = null

fun keepRarely(spot: Spot, n: Int): Int {
    if n % 23 == 5 { kept = spot }
    return spot.x ^ n
}

fun exchange(a: Spot, b: Spot) {
    let x = a.x
    a.x = b.x
    b.x = x
}

fun nearer(a: Spot, b: Spot): Spot = if a.x * a.x < b.x * b.x { a } else { b }

fun lose(spot: Spot, n: Int): Int {
    if n % 5 == 3 { throw Lost(spot) }
    return n
}
";

const INTS: &[&str] = &[
    "n", "s", "(s & 15)", "p.x", "q.y", "p.y + 1", "f.x", "t[0]", "t[2]", "z.first", "(k ?: 9)", "3", "0", "-1", "(n ^ s)", "p.sum()",
    "f.sum()",
];
const SPOTS: &[&str] = &["p", "q", "f", "nearer(p, q)", "p.moved(n & 1)", "f.moved(0)", "q.turned()", "(f.other ?: q)", "(kept ?: p)"];

/// The text of such functions; the last one has this name.
pub fn objects(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text(CLASSES);
    let count = 1 + part.choices.below(2);
    for number in 0..count {
        function(&mut part, &format!("{name}{number}"));
    }
    part.driver(name, |p| {
        p.line("let keep = List<Spot>()");
        p.some(6, |p| {
            let (number, n) = (p.choices.below(count), p.pick(&["start", "start & 7", "5", "3", "0", "28", "Int.MAX"]));
            p.guarded(&format!("{name}{number}({n}, keep)"));
        });
        p.line("println(\"kept ${kept} ${keep}\")");
    });
    part.finish()
}

fn function(p: &mut Part<'_, '_>, name: &str) {
    p.function(format!("fun {name}(n: Int, keep: List<Spot>): Int {{"), |p| {
        p.line("var s = 1");
        p.line("var p = Spot(n, 2)");
        p.line("var q = Spot(1, n)");
        p.line("var f = Far(n, n + 1, null)");
        p.line("var t = [n, 4, 5]");
        p.line("var z = Pair<Int, Int>(n, 7)");
        p.line("var k: Int? = null");
        p.some(6, |p| statement(p, 0));
        p.line("println(\"${p} ${q} ${f} ${f.other} ${t} ${z} ${k}\")");
        p.line("return s");
    });
}

fn statement(p: &mut Part<'_, '_>, depth: usize) {
    match p.choices.below(if depth < 3 { 30 } else { 24 }) {
        0..3 => assign_spot(p),
        3..6 => field(p),
        6 => {
            let h = p.fresh("h");
            p.line(format!("let {h} = p"));
            p.line("p = q");
            p.line(format!("q = {h}"));
        }
        7 | 8 => link(p),
        9 | 10 => element(p),
        11 => {
            let (a, b) = (int(p), p.pick(&["z.second", "z.first", "n"]));
            p.line(format!("z = Pair<Int, Int>({b}, {a})"));
        }
        12 => boxed(p),
        13 => closure(p),
        14 => {
            let (cond, spot) = (cond(p), spot(p));
            p.line(format!("if {cond} && keep.size() < 9 {{ keep.add({spot}) }}"));
        }
        15 => {
            let (a, n) = (spot(p), int(p));
            p.line(format!("s += keepRarely({a}, {n})"));
        }
        16 => p.line("exchange(p, q)"),
        17 => {
            let (a, b) = (spot(p), spot(p));
            p.line(format!("s += if {a} === {b} {{ 3 }} else {{ 5 }}"));
        }
        18 => {
            let (a, n) = (spot(p), int(p));
            p.line(format!("s ^= lose({a}, {n})"));
        }
        19 => {
            let (cond, spot) = (cond(p), spot(p));
            p.line(format!("if {cond} {{ throw Lost({spot}) }}"));
        }
        20 => {
            let (a, spot) = (p.fresh("a"), spot(p));
            p.line(format!("let {a} = {spot}"));
            let n = int(p);
            p.line(format!("if {a} is Far {{ s += {a}.x - {n} }} else {{ {a}.y += 1 }}"));
        }
        21..24 => {
            let n = int(p);
            p.line(format!("s = s * 31 + {n}"));
        }
        24 | 25 => {
            let cond = cond(p);
            p.two_blocks(
                format!("if {cond} {{"),
                |p| p.some(2, |p| statement(p, depth + 1)),
                "else {",
                |p| p.some(2, |p| statement(p, depth + 1)),
            );
        }
        26..28 => looped(p, depth),
        _ => caught(p, depth),
    }
}

fn looped(p: &mut Part<'_, '_>, depth: usize) {
    let (i, to) = (p.fresh("i"), p.pick(&["4", "(n & 7)", "2", "t.length"]));
    p.block(format!("for {i} in 0..<{to} {{"), |p| {
        p.some(3, |p| statement(p, depth + 1));
        match p.choices.below(4) {
            0 => p.line(format!("p = Spot(p.y, {i})")),
            1 => p.line(format!("t[{i} % 3] += {i}")),
            2 => {
                let (cond, leave) = (cond(p), p.pick(&["break", "continue"]));
                p.line(format!("if {cond} {{ {leave} }}"));
            }
            _ => p.line(format!("s += {i}")),
        }
    });
}

fn caught(p: &mut Part<'_, '_>, depth: usize) {
    let e = p.fresh("e");
    let what = p.pick(&["Lost", "Lost", "BoundsError"]);
    p.two_blocks(
        "try {",
        |p| p.some(3, |p| statement(p, depth + 1)),
        format!("catch ({e}: {what}) {{"),
        |p| {
            if what == "Lost" {
                let to = p.pick(&["p = ", "q = ", "s += 1; f.other = "]);
                p.line(format!("{to}{e}.spot"));
            }
            p.some(2, |p| statement(p, depth + 1));
        },
    );
}

fn int(p: &mut Part<'_, '_>) -> &'static str {
    p.pick(INTS)
}

fn spot(p: &mut Part<'_, '_>) -> String {
    match p.choices.below(4) {
        0 => format!("Spot({}, {})", int(p), int(p)),
        _ => p.pick(SPOTS).into(),
    }
}

fn cond(p: &mut Part<'_, '_>) -> String {
    match p.choices.below(6) {
        0 => p.pick(&["p === q", "p is Far", "k == null", "f.other == null", "f.other === p", "z.first == z.second"]).into(),
        1 => "s == 123456".into(),
        2 => format!("{} % 4 == 1", int(p)),
        _ => format!("{} {} {}", int(p), p.pick(&["<", ">", "==", "!="]), int(p)),
    }
}

fn assign_spot(p: &mut Part<'_, '_>) {
    let to = p.pick(&["p", "q"]);
    let a = spot(p);
    match p.choices.below(4) {
        0 => {
            let (cond, b) = (cond(p), spot(p));
            p.line(format!("{to} = if {cond} {{ {a} }} else {{ {b} }}"));
        }
        1 => {
            let (x, y) = (int(p), int(p));
            let other = p.pick(&["p", "null", "q", "f", "f.other"]);
            p.line(format!("f = Far({x}, {y}, {other})"));
        }
        _ => p.line(format!("{to} = {a}")),
    }
}

fn field(p: &mut Part<'_, '_>) {
    let (object, field) = (p.pick(&["p", "q", "f"]), p.pick(&["x", "y"]));
    let (op, value) = (p.pick(&["=", "+=", "-=", "^="]), int(p));
    p.line(format!("{object}.{field} {op} {value}"));
}

fn link(p: &mut Part<'_, '_>) {
    match p.choices.below(3) {
        0 => {
            let o = p.fresh("o");
            p.line(format!("let {o} = f.other"));
            let n = int(p);
            p.line(format!("if {o} != null {{ s += {o}.x; {o}.y = {n} }}"));
        }
        1 => {
            let a = spot(p);
            p.line(format!("f.other = {a}"));
        }
        _ => p.line("f.other = null"),
    }
}

fn element(p: &mut Part<'_, '_>) {
    let value = int(p);
    match p.choices.below(5) {
        0 => {
            let (a, b) = (int(p), int(p));
            p.line(format!("t = [{a}, {b}, {value}]"));
        }
        1 => p.line(format!("t[{value} & 3] = s")),
        2 => p.line(format!("s += t[({value} & 255) % 3]")),
        _ => {
            let at = p.pick(&["0", "1", "2"]);
            p.line(format!("t[{at}] = {value}"));
        }
    }
}

fn boxed(p: &mut Part<'_, '_>) {
    let value = int(p);
    match p.choices.below(4) {
        0 => p.line("k = null"),
        1 => p.line(format!("if k == maybe<Int>({value}) {{ s += 11 }}")),
        2 => p.line(format!("k = maybe<Int>({value})")),
        _ => p.line(format!("s += (k ?: {value})")),
    }
}

fn closure(p: &mut Part<'_, '_>) {
    let g = p.fresh("g");
    let body = p.pick(&["s += p.x + by", "p = Spot(by, s)", "q.x += by", "k = by", "t[by & 1] = s", "f.other = p"]);
    p.line(format!("let {g} = (by: Int) => {{ {body} }}"));
    let (a, b) = (int(p), int(p));
    p.line(format!("{g}({a})"));
    if p.choices.chance(50) {
        p.line(format!("{g}({b})"));
    }
}
