//! Classes whose fields at one offset are of different kinds, or are not there: what is known of a class must not be believed where it does not hold.
//!
//! Out: an interface with many classes, functions that test objects which stay the same in a loop that makes others, choose receivers, cast under handlers, and go through trees by recursion with arguments exchanged.

use crate::choices::Choices;
use crate::part::Part;

/// Each has its first own field at the same offset; `#` is the class's number.
const SHAPES: &[&str] = &[
    "class Kind#(var a: Int) : Kind { override fun read(by: Int): Int = a + by }",
    "class Kind#(var a: Float) : Kind { override fun read(by: Int): Int = (a * 2.0).toInt() - by }",
    "class Kind#(var a: Kind?) : Kind { override fun read(by: Int): Int = if by > 3 { 1 } else { (a?.read(by + 2) ?: by) + 1 } }",
    "class Kind#(var a: Str) : Kind { override fun read(by: Int): Int = a.length + by }",
    "class Kind#(var a: Array<Int>) : Kind { override fun read(by: Int): Int = a[(by & 1)] + a.length }",
    "class Kind# : Kind { override fun read(by: Int): Int = 77 - by }",
    "class Kind#(var a: Bool) : Kind { override fun read(by: Int): Int = if a { by } else { -by } }",
    "class Kind#(a: Int) : Kind0(a) { var own: Kind? = null\n    override fun read(by: Int): Int = super.read(by) * 3 + (own?.read(5) ?: 2) }",
];

/// Of an object that is one of those: what its field is worth, as an `Int`.
const VALUES: &[&str] = &[
    "@.a",
    "@.a.toInt()",
    "(@.a?.read(4) ?: 8)",
    "@.a.length",
    "(@.a[1] + @.a.length)",
    "@.read(2)",
    "@.a.toInt()",
    "(@.a + (@.own?.read(4) ?: 3))",
];

const NEW: &[&str] = &[
    "Kind#(n & 63)",
    "Kind#(n.toFloat() * 0.5)",
    "Kind#(other)",
    "Kind#(\"text\")",
    "Kind#([n, 5, 6])",
    "Kind#()",
    "Kind#(n > 3)",
    "Kind#(n)",
];

const TREES: &str = "
class Branch(var n: Int, var left: Branch?, var right: Branch?) {
    fun deep(by: Int): Int = n + (left?.deep(by + 1) ?: by) * 3 + (right?.deep(by - 1) ?: 1)
    fun first(): Branch {
        let l = left
        return if l == null { this } else { l.first() }
    }
}

fun grow(n: Int, depth: Int): Branch? = if depth <= 0 { null } else { Branch(n, grow(n * 2 + 1, depth - 1), grow(n - 3, depth - 2)) }

/// Writes to its second argument, and calls itself with both exchanged.
fun exchanged(a: Branch, b: Branch, depth: Int): Int {
    b.n += depth
    if depth <= 0 { return a.n }
    return a.n + exchanged(b, a, depth - 1)
}

fun sameAs(a: Branch, n: Int): Branch = if n % 11 == 4 { Branch(n, a, null) } else { a }

fun even(b: Branch?, n: Int): Int = if b == null { n } else { odd(b.left, n + b.n) }

fun odd(b: Branch?, n: Int): Int = if b == null { -n } else { even(b.right, n ^ b.n) }
";

const TREE_USES: &[&str] = &[
    "s += tree?.deep(1) ?: 4",
    "s += even(tree, 1)",
    "if tree != null { s = s * 31 + exchanged(tree, tree.first(), x & 3) }",
    "if tree != null { s = s * 31 + exchanged(Branch(s & 7, null, null), tree, 3) + tree.n }",
    "if tree != null { s ^= sameAs(tree, x + (s & 7)).n + sameAs(Branch(3, null, tree), s & 15).n }",
];

/// So many classes are more than sets of classes hold.
const MANY: usize = 18;

/// The text of such functions; the last one has this name.
pub fn kinds(choices: &mut Choices<'_>, name: &str) -> String {
    let mut part = Part::new(choices);
    part.text("\ninterface Kind {\n    fun read(by: Int): Int\n}\n\n");
    let count = if part.choices.chance(25) { MANY } else { SHAPES.len() };
    for number in 0..count {
        part.line(SHAPES[number % SHAPES.len()].replace('#', &number.to_string()));
    }
    part.function("fun kind(n: Int, other: Kind?): Kind {", |p| {
        p.block(format!("return match n % {count} {{"), |p| {
            for number in 1..count {
                p.line(format!("{number} => {}", NEW[number % NEW.len()].replace('#', &number.to_string())));
            }
            p.line("else => Kind0(n)");
        });
    });
    part.text(TREES);
    let functions = part.functions(name, |p, name| function(p, name, count));
    part.driver(name, |p| {
        p.block(format!("for i in 0..<{} {{", count + 2), |p| {
            p.line("let k = kind(i, null)");
            p.line("let m = kind(start & 63, k)");
            p.line("let maybe = if i % 3 == 0 { null } else { kind(i + 1, m) }");
            p.some(2, |p| {
                let (number, a, b) = (p.choices.below(functions), p.pick(&["k", "m"]), p.pick(&["k", "m"]));
                p.guarded(&format!("{name}{number}({a}, {b}, maybe, i)"));
            });
        });
    });
    part.finish()
}

fn function(p: &mut Part<'_, '_>, name: &str, count: usize) {
    p.function(format!("fun {name}(k: Kind, m: Kind, maybe: Kind?, x: Int): Int {{"), |p| {
        p.line("var s = 1");
        p.line("let tree = grow(x, 4)");
        // Proven to be there before all loops, or not.
        let sure = p.pick(&["maybe!!", "maybe!!", "kind(x + 1, k)"]);
        p.line(format!("let sure: Kind = {sure}"));
        p.some(5, |p| statement(p, 0, count));
        p.line("return s");
    });
}

/// A class and what its objects' field is worth.
fn class(p: &mut Part<'_, '_>, count: usize) -> (usize, &'static str) {
    let number = p.choices.below(count);
    (number, VALUES[number % VALUES.len()])
}

fn object(p: &mut Part<'_, '_>) -> &'static str {
    p.pick(&["k", "m", "sure", "sure", "kind(x, k)", "kind(s & 7, m)"])
}

fn statement(p: &mut Part<'_, '_>, depth: usize, count: usize) {
    match p.choices.below(if depth < 2 { 14 } else { 8 }) {
        0 | 1 => tested(p, count),
        2 | 3 => cast(p, count),
        4 => {
            let cond = cond(p);
            let (one, other) = (p.pick(&["k", "m", "maybe!!"]), p.pick(&["m", "k", "kind(3, k)"]));
            p.line(format!("s = s * 31 + (if {cond} {{ {one} }} else {{ {other} }}).read(x & 3)"));
        }
        5 => {
            let line = p.pick(TREE_USES);
            p.line(line);
        }
        6 => {
            let object = object(p);
            p.line(format!("s = s * 31 + {object}.read(s & 3)"));
        }
        7 => {
            let (cond, leave) = (cond(p), p.pick(&["s += 1", "return s", "throw AppError(\"left\", s)"]));
            p.line(format!("if {cond} {{ {leave} }}"));
        }
        8 => {
            let cond = cond(p);
            p.two_blocks(format!("if {cond} {{"), |p| statement(p, depth + 1, count), "else {", |p| statement(p, depth + 1, count));
        }
        _ => looped(p, depth, count),
    }
}

/// What is read depends on the class.
fn tested(p: &mut Part<'_, '_>, count: usize) {
    let ((number, value), v, object) = (class(p, count), p.fresh("v"), object(p));
    let (value, other) = (value.replace('@', &v), p.pick(&["s += 3", "s ^= k.read(1)", "s -= x"]));
    p.line(format!("let {v}: Kind = {object}"));
    let test = if p.choices.chance(70) {
        format!("if {v} is Kind{number} {{ s = s * 31 + {value} }} else {{ {other} }}")
    } else {
        format!("if {v} !is Kind{number} {{ {other} }} else {{ s = s * 31 + {value} }}")
    };
    p.line(test);
}

fn cast(p: &mut Part<'_, '_>, count: usize) {
    let ((number, value), v, object) = (class(p, count), p.fresh("v"), p.pick(&["maybe", "sure", "k", "m"]));
    let value = value.replace('@', &v);
    if p.choices.chance(50) {
        p.line(format!("let {v} = {object} as? Kind{number}"));
        return p.line(format!("if {v} != null {{ s = s * 31 + {value} }}"));
    }
    p.two_blocks(
        "try {",
        |p| {
            p.line(format!("let {v} = {object} as Kind{number}"));
            p.line(format!("s = s * 31 + {value}"));
            p.line(format!("s ^= ({object} as Kind).read(x & 1)"));
        },
        "catch (e: CastError) {",
        |p| p.line("s = s * 31 + 5"),
    );
}

/// Objects are made in it, so that what was loaded too early is moved or found out.
fn looped(p: &mut Part<'_, '_>, depth: usize, count: usize) {
    let (i, made, to) = (p.fresh("i"), p.fresh("made"), p.pick(&["4", "(x & 7)", "2"]));
    p.line(format!("var {made}: Kind = k"));
    p.block(format!("for {i} in 0..<{to} {{"), |p| {
        p.some(3, |p| statement(p, depth + 1, count));
        p.line(format!("{made} = kind({i} + x, {made})"));
    });
    p.line(format!("s += {made}.read(0)"));
}

fn cond(p: &mut Part<'_, '_>) -> &'static str {
    p.pick(&[
        "(x & 1) == 0",
        "s > x",
        "k === m",
        "maybe != null",
        "null == maybe",
        "x == 5",
        "(k is Kind0).toInt() == 1",
        "(m is Kind2).toInt() == 1",
        "(maybe is Kind7).toInt() == 1",
        "(s & 3) == 1",
    ])
}
